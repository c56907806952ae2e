"""The pages keep to plain English: phrases that were read as translated do not come back."""

import re
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
