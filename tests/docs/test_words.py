"""The pages keep to plain English: phrases that were read as translated do not come back."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "SECURITY.md",
    ROOT / "models" / "README.md",
    *sorted((ROOT / "docs" / "methods").glob("*.md")),
    # what is generated for API has words of its own
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.stem != "api"),
]
ROOMS = sorted(
    folder
    for folder in [*(ROOT / "riskweighted").iterdir(), ROOT / "models" / "riskweighted_models"]
    if any(folder.glob("*.py"))
)
BANNED = {  # a phrase, and what to write
    r"stands?(?! out)": "is, is listed",
    r"stood": "was",
    r"leaves?": "is released, omits",
    r"whoever|whichever": "somebody who",
    r"nothing of|somebody's|none of ours": "name the thing",
    r"in the place of|takes the place of": "instead of, replaces",
    r"tells?|told": "says, discloses",
    r"gives? (\w+ )?away|gave (\w+ )?away|given away": "discloses",
    r"(a |our )?faults? of ours": "internal error",
    r"straight|bends?|bent": "unbiased, biases",
    r"makes? anew|made anew|drawn anew": "again, for every dataset",
    r"is asked of": "is measured on",
    r"mends?": "corrects, helps",
    r"hold(s)? against|held against": "compare with",
    r"beyond inference, above": "disclosure (D)",
    r"label of a scheme|way to synthesize": "scheme",
}
ALLOWED = [  # what a phrase means here
    r"(larger|default|with|Its) leaves|leaves of \d|leave-one-out|"
    r"weights leave|\w+ leaves? little|leaves? them out|leaving out|leaves the diagonal",
    r"straight lines",
]
# in messages: what is not named, taken away or changed by a reader
ALLOWED_IN_MESSAGES = [
    r"leave[s]? ((\S+ ){1,6}out\b|out|empty|\w+ (as|so)\b|(them|it) so|the (prior|agency)|"
    r"no (degree|room))|(must|never|not|may) leaves? the agency",
    r"\|stand\|",  # a foot line in German
    r"^of datasets that do not leave$",  # stored in fits, and read back
]


def prose(page: str) -> str:
    """A page without code, links' targets and what is allowed."""
    page = re.sub(r"^( *)```.*?^\1```|<!--.*?-->", "", page, flags=re.DOTALL | re.MULTILINE)
    page = re.sub(r"`[^`]*`|\]\([^)]*\)|\*\*|\"[^\"\n]*\"", " ", page)
    page = re.sub(r"\s+", " ", page)
    return re.sub("|".join(ALLOWED), " ", page, flags=re.IGNORECASE)


def words(page: str) -> int:
    """The words of a page without code, tables and displayed formulas."""
    page = re.sub(
        r"^( *)```.*?^\1```|<!--.*?-->|^\$\$.*?^\$\$", "", page, flags=re.DOTALL | re.MULTILINE
    )
    return len(re.sub(r"^\s*\|.*$", "", page, flags=re.MULTILINE).split())


def found(text: str) -> list[str]:
    """The banned phrases of a text, each with its neighbours and what to write."""
    return [
        f"...{text[max(match.start() - 40, 0) : match.end() + 20]}...: {better}"
        for phrase, better in BANNED.items()
        for match in re.finditer(rf"\b({phrase})\b", text, flags=re.IGNORECASE)
    ]


@pytest.mark.quick
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_no_banned_phrase(page):
    assert found(prose(page.read_text(encoding="utf-8"))) == []


def messages(tree: ast.Module) -> Iterator[str]:
    """The texts of three words and more that are no docstrings; what is filled in is braces."""
    skipped = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            skipped.add(body[0].value)
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            skipped |= set(node.values)
            yield "".join(parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            yield node.value


@pytest.mark.quick
@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_messages_have_no_banned_phrase(room):
    allowed = "|".join(ALLOWED_IN_MESSAGES)
    assert [
        f"{path.name}: {phrase}"
        for path in sorted(room.rglob("*.py"))
        for text in messages(ast.parse(path.read_text(encoding="utf-8")))
        if text.count(" ") > 1
        for phrase in found(re.sub(allowed, " ", prose(text)))
    ] == []


@pytest.mark.quick
def test_messages_are_found_and_docstrings_are_not():
    code = 'def f(x):\n    """It stands."""\n    raise ValueError(f"the {x} stands there")\n'
    assert list(messages(ast.parse(code))) == ["the {} stands there"]


@pytest.mark.quick
def test_a_banned_phrase_is_found_in_prose_and_not_in_code():
    assert len(found(prose("The reason stands\non the sheet, and it gives it away."))) == 2
    assert found(prose("`leaves unaltered`\n```text\nstands\n```\nRecords stand out.")) == []


@pytest.mark.quick
def test_readme_and_pages_have_at_most_45_000_words():
    pages = [
        ROOT / "README.md",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs/methods").glob("*.md"),
    ]
    count = sum(words(page.read_text(encoding="utf-8")) for page in pages)
    assert 30_000 < count <= 45_000


@pytest.mark.quick
def test_words_of_code_tables_and_formulas_are_not_counted():
    assert words("One two\n```sh\na b\n```\n| a | b |\n\n$$\nx = y\n$$\n\nthree `four`") == 4
