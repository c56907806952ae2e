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


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a csv (first line: column names) or parquet file.

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
    return pd.read_csv(path, encoding="utf-8-sig")


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
