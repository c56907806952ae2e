"""Fenced blocks of a Markdown page, and what a comment above one says about it.

``<!-- not run: REASON -->`` above a block leaves it out; ``<!-- output: near -->`` above an output
lets its numbers differ a little. A ``text`` block after a program or a command is its output.
"""

import re
from typing import NamedTuple

FENCE = re.compile(
    r"^(?:<!-- (?P<key>not run|output): (?P<said>[^>]+) "
    r"-->\n+)?```(?P<language>[^\n`]*)\n(?P<text>.*?)^```$",
    re.M | re.S,
)
NAMED = re.compile(r"# (\S+\.(?:toml|py))\b")
NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?"
FRAME = re.compile(r"[\u2500-\u257f]+")


class Block(NamedTuple):
    """One fenced block: where it begins, its language and text, what the comment above it says, and
    the output that follows it.
    """

    line: int
    language: str
    text: str
    reason: str  # why it is not run, or ""
    output: str | None  # of a program or commands
    near: bool  # numbers of the output may differ a little

    @property
    def name(self) -> str:
        """The file that its first line says it is, or ""."""
        found = NAMED.match(self.text)
        return found[1] if found else ""


def blocks(page: str) -> list[Block]:
    """The blocks of a page in order, an output with the block before it."""
    found: list[Block] = []
    matches = list(FENCE.finditer(page))
    assert len(re.findall(r"^\s*```", page, re.M)) == 2 * len(matches), (
        "a fence is not closed, or stands in a list"
    )
    for match in matches:
        said = {match["key"]: match["said"]}
        if (
            match["language"] == "text"
            and found
            and found[-1].language in ("python", "sh")
            and found[-1].output is None
        ):
            found[-1] = found[-1]._replace(output=match["text"], near=said.get("output") == "near")
        else:
            line = page[: match.start("language")].count("\n") + 1
            found.append(
                Block(line, match["language"], match["text"], said.get("not run", ""), None, False)
            )
    return found


def agree(wanted: str, got: str, near: bool) -> bool:
    """Whether an output is the one that the page shows, but for white space and frames of tables;
    ``...`` stands for anything.

    ``near``: the words are the same, and each number is within a fifth of the page's or within .02
    of it, since draws differ a little between versions and machines.
    """
    wanted, got = (" ".join(FRAME.sub(" ", text).split()) for text in (wanted, got))
    parts = re.split(rf"(\.\.\.|{NUMBER})" if near else r"(\.\.\.)", wanted)
    pattern = "".join(
        ".*?" if part == "..." else f"({NUMBER})" if i % 2 else re.escape(part)
        for i, part in enumerate(parts)
    )
    found = re.fullmatch(pattern, got, re.S)
    numbers = [part for part in parts[1::2] if part != "..."]
    return found is not None and all(
        _close(*pair) for pair in zip(numbers, found.groups(), strict=True)
    )


def _close(wanted: str, got: str) -> bool:
    page, run = (float(text.replace(",", "")) for text in (wanted, got))
    return abs(page - run) <= max(0.2 * abs(page), 0.02)
