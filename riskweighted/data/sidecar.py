"""What is said of the columns of a file, in a file of its own beside it: TOML, or a csv that a
spreadsheet can make.

The csv has the columns variable, value, label, missing, type, unit, source. A row without a value
is about the variable; one with a value gives the label of that value, and "yes" under missing says
that it is a code for a missing one. A range is written ``-99 thru -90``; its ends may be ``lowest``
and ``highest``. An empty text is written ``""``, and texts of quotation marks alone with one more
at both ends.
"""

import csv
import io
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from riskweighted.common.atomic import write_file
from riskweighted.common.errors import InputError, listing
from riskweighted.common.settings import as_toml, from_table
from riskweighted.data.variable import TEXTS, Variable, missing_in_words

__all__ = ["SIDECARS", "read_sidecar", "sidecar_text", "write_sidecar"]

SIDECARS = (".toml", ".csv")
_COLUMNS = ("variable", "value", "label", "missing", "type", "unit", "source")
_OF_VARIABLE = ("label", "type", "unit", "source")
_MISSING = {"yes": True, "": False, "no": False}
_ENDS = {"lowest": -math.inf, "highest": math.inf}


def read_sidecar(path: Path) -> dict[str, Variable]:
    """What a TOML or csv file says, by variable."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path.name!r} cannot be read (it is not in UTF-8)") from None
    tables = (
        _from_toml(text, path.name)
        if path.suffix.lower() == ".toml"
        else _from_csv(text, path.name)
    )
    try:
        return {name: from_table(Variable, table, name) for name, table in tables.items()}
    except InputError as error:
        raise InputError(f"{path.name!r}: {error}") from None


def write_sidecar(variables: Mapping[str, Variable], path: Path) -> None:
    """Write what is known of variables as TOML or csv, by the ending of the name."""
    if path.suffix.lower() not in SIDECARS:
        raise InputError(f"cannot write {path.name!r}: valid are {listing(SIDECARS)}")
    write_file(path, sidecar_text(variables, path.suffix.lower()))


def sidecar_text(variables: Mapping[str, Variable], ending: str) -> str:
    """The text of such a file."""
    tables = {name: variable.to_table() for name, variable in variables.items()}
    return as_toml(tables).lstrip("\n") if ending == ".toml" else _to_csv(tables)


def _from_toml(text: str, name: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{name!r} is not valid TOML: {str(error).splitlines()[0]}") from None


def _from_csv(text: str, name: str) -> dict[str, dict[str, Any]]:
    rows = list(csv.reader(io.StringIO(text)))
    header = [cell.strip() for cell in rows[0]] if rows else []
    unknown = [column for column in header if column not in _COLUMNS]
    if unknown or "variable" not in header or len(set(header)) < len(header):
        raise InputError(
            f"{name!r} must have the columns {listing(_COLUMNS)} (only the first is needed); it "
            f"has {listing(header)}"
        )
    tables: dict[str, dict[str, Any]] = {}
    for number, row in enumerate(rows[1:], start=2):
        cells = dict(zip(header, row, strict=False))
        if not any(cells.values()):
            continue
        if not cells.get("variable") or len(row) > len(header):
            raise InputError(
                f"{name!r}: line {number} must name a variable, in at most {len(header)} cells"
            )
        _add_row(
            tables.setdefault(cells["variable"], {"values": {}, "missing": []}),
            cells,
            f"{name!r}: line {number}",
        )
    return tables


def _add_row(table: dict[str, Any], cells: Mapping[str, str], place: str) -> None:
    """One row of a csv: about the variable, or about one of its values."""
    value, said = cells.get("value", ""), cells.get("missing", "").strip().lower()
    if said not in _MISSING:
        raise InputError(f"{place}: missing must be 'yes' or empty")
    if not value:
        told = {name: cells[name] for name in _OF_VARIABLE if cells.get(name)}
        if repeated := [name for name in told if name in table]:
            raise InputError(
                f"{place} gives the {listing(repeated)} of a variable for the second time"
            )
        table |= told
        return
    value, label = _without_marks(value), cells.get("label", "")
    if _MISSING[said]:
        table["missing"].append(_code(value, table.get("type", "")))
    if isinstance(_code(value, table.get("type", "")), list):
        if label:
            raise InputError(f"{place}: a range of codes has no label of its own; label its values")
        return
    if label or not _MISSING[said]:
        if value in table["values"]:
            raise InputError(f"{place}: a second label for a value of {cells['variable']!r}")
        table["values"][value] = label


def _with_marks(value: str) -> str:
    """A value as a cell that is not empty."""
    return value if value.strip('"') else f'"{value}"'


def _without_marks(cell: str) -> str:
    return cell if cell.strip('"') or len(cell) < 2 else cell[1:-1]


def _code(text: str, kind: str) -> Any:
    """A value of a csv: a number, a range as a list, or a text."""
    if kind in TEXTS:
        return text
    parts = [part.strip() for part in text.split(" thru ")]
    numbers = [_ENDS[part.lower()] if part.lower() in _ENDS else _as_number(part) for part in parts]
    if len(parts) == 2 and None not in numbers:
        return numbers
    return text if numbers[0] is None or len(parts) > 1 else numbers[0]


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _to_csv(tables: Mapping[str, Mapping[str, Any]]) -> str:
    lines = io.StringIO()
    writer = csv.DictWriter(lines, _COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for name, table in tables.items():
        rows: list[dict[str, object]] = [{key: table.get(key, "") for key in _OF_VARIABLE}]
        missing = [code for code in table.get("missing", []) if not isinstance(code, list)]
        texts = [str(code) for code in missing]
        rows += [
            {
                "value": _with_marks(value),
                "label": label,
                "missing": "yes" if value in texts else "",
            }
            for value, label in table.get("values", {}).items()
        ]
        rows += [
            {"value": _with_marks(code), "missing": "yes"}
            for code in texts
            if code not in table.get("values", {})
        ]
        ranges = [code for code in table.get("missing", []) if isinstance(code, list)]
        rows += [
            {"value": missing_in_words((least, most)), "missing": "yes"} for least, most in ranges
        ]
        writer.writerows({"variable": name, **row} for row in rows)
    return lines.getvalue()
