"""Parts of a page of results that a command makes, between two comments that bear their name."""

import re
from pathlib import Path

__all__ = ["part_of", "table_of", "write_part"]


def _pattern(name: str) -> re.Pattern[str]:
    begin, end = (f"<!-- {word} {re.escape(name)} -->" for word in ("made:", "end of"))
    return re.compile(rf"({begin}\n)(.*?)({end}\n)", re.DOTALL)


def part_of(page: Path, name: str) -> str:
    """What stands in a page under the name of a part."""
    match = _pattern(name).search(page.read_text(encoding="utf-8"))
    if match is None:
        raise ValueError(f"{str(page)!r} has no part {name!r}")
    return match[2].strip("\n")


def write_part(page: Path, name: str, text: str) -> None:
    """Replace a part of a page; the rest stays as it is."""
    part_of(page, name)
    whole = page.read_text(encoding="utf-8")
    made = _pattern(name).sub(lambda match: f"{match[1]}\n{text.strip()}\n\n{match[3]}", whole)
    page.write_text(made, encoding="utf-8")


def table_of(text: str, heading: str) -> list[dict[str, str]]:
    """The rows of the first table behind a line that begins so, by the names of its columns."""
    behind = text[f"\n{text}".index(f"\n{heading}") :]
    table = re.search(r"(?:^\|.*\n?)+", behind, re.MULTILINE)
    assert table is not None
    rows = [
        [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]
        for line in table[0].splitlines()
    ]
    return [dict(zip(rows[0], row, strict=True)) for row in rows[2:]]
