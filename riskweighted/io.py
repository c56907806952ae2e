"""Tables in and out: csv and parquet, with errors that never quote a value."""

import csv
import hashlib
import re
from collections import Counter
from pathlib import Path

import pandas as pd

from riskweighted.errors import InputError, listing

__all__ = ["FORMATS", "file_hash", "read_table", "write_table"]

FORMATS = (".csv", ".parquet")
_MISSING = ["", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "."]  # in a column of numbers; in text only "" is missing


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a csv (first line: column names) or parquet file.

    A csv column is numeric where every entry is a number, "NA" or the like counting as missing; it stays text where some
    entry is none, or is a code with leading zeros.

    Raises
    ------
    InputError
        If the file is absent, of another format, unreadable, empty, or names a column twice.
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"cannot read {path.name!r}: valid formats are {listing(FORMATS)}")
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}")
    try:
        table = pd.read_parquet(path) if path.suffix.lower() == ".parquet" else _read_csv(path)
    except InputError:
        raise
    except Exception as error:  # a parser's own message may quote the data
        where = re.search(r"Expected \d+ fields in line \d+, saw \d+", str(error))
        raise InputError(f"{path.name!r} cannot be read ({where[0] if where else type(error).__name__})") from None
    if len(table) == 0:
        raise InputError(f"{path.name!r} has no records")
    return table


def _read_csv(path: Path) -> pd.DataFrame:
    with path.open(newline="", encoding="utf-8-sig") as handle:
        header = next(csv.reader(handle), [])
    if not header:
        raise InputError(f"{path.name!r} is empty: the first line must hold the column names")
    repeated = [name for name, count in Counter(header).items() if count > 1]
    if repeated:
        raise InputError(f"{path.name!r} has column {listing(repeated)} more than once: column names must be unique")
    numbers = sum(_reads_as_number(name) for name in header)
    if numbers:
        raise InputError(f"{path.name!r}: {numbers} of {len(header)} column names are numbers; the first line must hold the column names")
    text = pd.read_csv(path, encoding="utf-8-sig", dtype=str, keep_default_na=False)
    if not isinstance(text.index, pd.RangeIndex):
        raise InputError(f"{path.name!r} has more fields in its rows than column names in its first line")
    kept = [name for name in text.columns if _stays_text(text[name])]
    missing = {name: [""] if name in kept else _MISSING for name in text.columns}
    return pd.read_csv(path, encoding="utf-8-sig", dtype=dict.fromkeys(kept, str), na_values=missing, keep_default_na=False)


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _stays_text(column: pd.Series) -> bool:
    """Whether a csv column is text: some entry is no number, or a code with leading zeros that a number would lose."""
    entries = column[~column.isin(_MISSING)]
    return bool(pd.to_numeric(entries, errors="coerce").isna().any() or entries.str.match(r"[+-]?0\d").any())


def write_table(table: pd.DataFrame, path: Path, *, index: bool = False) -> None:
    """Write a csv or parquet file, by the ending of its name; the same table gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        table.to_parquet(path, index=index)
    else:
        table.to_csv(path, index=index, lineterminator="\n")


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
