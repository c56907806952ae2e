"""Lines of a csv file that are no records: the column names again, units below them, and totals,
notes and empty lines.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from riskweighted.data.csv_layout import CsvLayout, decode_text

__all__ = ["odd_lines"]

_FOOT = re.compile(
    r"\W*((grand|sub)[ -]?)?(totals?|sum|all|overall|count|n|alle|anzahl|summe|gesamt|insgesamt"
    r"|zusammen|ensemble|mean|average|mittelwert|sources?|quellen?|notes?|remarks?|anmerkung(en)?"
    r"|stand|copyright|end of file|eof)\b.*|[*(\u00a9].*",
    re.IGNORECASE | re.DOTALL,
)
# whatever its marks
_NUMBER = re.compile(r"[-+]?[\d.,'\u2019\s]*\d[\d.,'\u2019\s]*([eE][-+]?\d+)?")
# lines at the end that may be no records, and records at the beginning that tell numbers
_LAST, _FIRST = 10, 20


def odd_lines(path: Path, layout: CsvLayout, missing: Sequence[str]) -> Iterator[str]:
    """A sentence on each kind of line that seems to be no record; it names lines by number.
    `missing`: what is no number and no unit.
    """
    lines = [
        line.rstrip("\r")
        for line in decode_text(path.read_bytes(), layout.encoding, path.name)
        .rstrip("\r\n")
        .split("\n")
    ]
    cells = [_cells(line, layout.delimiter) for line in lines[: _FIRST + 2]]
    if len(lines) > 2 and _are_units(
        cells[1], [row for row in cells[2:] if row], {"", *missing, *layout.missing}
    ):
        yield _told([2], "to hold units or descriptions of the columns")
    yield from _told_if(
        [number for number, line in enumerate(lines[1:], 2) if line == lines[0]],
        "to repeat the column names",
    )
    bare = f'{layout.delimiter} \t"'
    yield from _told_if(
        [number for number, line in enumerate(lines[1:], 2) if line and not line.strip(bare)],
        "to be empty",
    )
    body, foot = {line.split(layout.delimiter)[0] for line in lines[1:-_LAST]}, list[int]()
    for number in range(len(lines), max(len(lines) - _LAST, 1), -1):
        filled = [cell for cell in _cells(lines[number - 1], layout.delimiter) if cell]
        if filled and (
            filled[0] in body
            or not (_FOOT.fullmatch(filled[0]) or (len(filled) == 1 and len(cells[0]) > 2))
        ):
            break
        foot += [number] if filled else []
    yield from _told_if(foot[::-1], "to hold a total or a note")


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:  # a cell that is longer than most may be
        return []


def _are_units(row: Sequence[str], records: Sequence[Sequence[str]], missing: set[str]) -> bool:
    """Whether the cells of a row are no numbers where those of the records are, in two columns or
    with nothing beside that records hold.
    """
    columns = [
        [
            record[place]
            for record in records
            if place < len(record) and record[place] not in missing
        ]
        for place in range(len(row))
    ]
    numbers = [
        place
        for place, column in enumerate(columns)
        if column and all(map(_NUMBER.fullmatch, column))
    ]
    strange = [
        place
        for place in numbers
        if row[place] not in missing and not _NUMBER.fullmatch(row[place])
    ]
    held = any(cell and cell in columns[place] for place, cell in enumerate(row))
    return bool(strange) and len(strange) == len(numbers) and (len(strange) > 1 or not held)


def _told_if(numbers: Sequence[int], what: str) -> Iterator[str]:
    if numbers:
        yield _told(numbers, what)


def _told(numbers: Sequence[int], what: str) -> str:
    shown = ", ".join(
        f"{number:,}" for number in numbers[:3]
    ) + f" and {len(numbers) - 3:,} more" * (len(numbers) > 3)
    if len(numbers) == 1:
        return f"line {shown} of the file seems {what}, and counts as a record: take it out"
    return f"lines {shown} of the file seem {what}, and count as records: take them out"
