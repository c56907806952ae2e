"""Tables in and out: csv, parquet, and the files of Stata, SPSS and SAS, with errors that never quote a value."""

import csv
import datetime
import filecmp
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from riskweighted.common.atomic import whole_file
from riskweighted.common.datasets import Datasets
from riskweighted.common.errors import InputError, listing
from riskweighted.common.extras import optional
from riskweighted.common.frames import holds_numbers, require_plain_values
from riskweighted.common.text import for_spreadsheet, reads_as_number
from riskweighted.data.csv_text import CsvTable
from riskweighted.data.formats import FORMATS, WRITABLE

__all__ = ["DatasetWriter", "numbers_in_text", "read_datasets", "read_table", "require_reader", "write_aggregates", "write_table"]

_LABEL = "label"  # key of a parquet file's metadata
_PACKAGE = {".dta": "Stata", ".sav": "SPSS", ".xpt": "SAS"}
_READS = {**dict.fromkeys((".sav", ".xpt", ".sas7bdat"), "pyreadstat"), **dict.fromkeys((".rds", ".rda", ".rdata"), "pyreadr")}
_TEXT_BYTES = {".dta": 2045, ".sav": 32767, ".xpt": 200}
_MISSING = ["", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "."]  # in a column of numbers; in text only "" is missing


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a table: csv (first line: column names), parquet, Stata .dta, SPSS .sav, SAS .xpt or .sas7bdat, R .rds, .rda or .RData.

    A csv column is numeric where every entry is a number, "NA" or the like counting as missing; it stays text where some entry is
    none, or is a code with leading zeros. Of a file of Stata, SPSS or SAS the codes are read, not their labels; user-missing codes are
    missing, and so is an empty text; numbers of SPSS and SAS that are all whole become integers. Files of R hold one data frame;
    factors become categories. Files of SPSS, SAS and R need `pip install "riskweighted[formats]"`. Errors name the file and what is
    wrong with it, and quote no value.
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        what = "it is a folder; valid is a file of a format of" if path.is_dir() else "valid formats are"
        raise InputError(f"cannot read {str(path)!r}: {what} {listing(FORMATS)}")
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}")
    try:
        table = _READERS[path.suffix.lower()](path)
    except InputError:
        raise
    except Exception as error:  # a parser's own message may quote the data
        where = re.search(r"Expected \d+ fields in line \d+, saw \d+", str(error))
        why = "it is not in UTF-8" if isinstance(error, UnicodeDecodeError) else where[0] if where else type(error).__name__
        raise InputError(f"{path.name!r} cannot be read ({why})") from None
    if len(table) == 0:
        raise InputError(f"{path.name!r} has no records")
    require_plain_values(table, table.columns, repr(path.name))
    return table


def _read_csv(path: Path, names: Sequence[str] | None = None) -> pd.DataFrame:
    """All columns, or some."""
    with path.open(newline="", encoding="utf-8-sig") as handle:
        header = next(csv.reader(handle), [])
    if not header:
        raise InputError(f"{path.name!r} is empty: the first line must hold the column names")
    other = next((mark for mark in ";\t|" if len(header) == 1 and mark in header[0]), None)
    if other is not None:
        raise InputError(f"{path.name!r} has {other!r} between its columns; valid is a comma, with a point before decimals")
    repeated = [name for name, count in Counter(header).items() if count > 1]
    if repeated:
        raise InputError(f"{path.name!r} has column {listing(repeated)} more than once: column names must be unique")
    numbers = sum(reads_as_number(name) for name in header)
    if numbers:
        raise InputError(f"{path.name!r}: {numbers} of {len(header)} column names are numbers; the first line must hold the column names")
    text = pd.read_csv(path, encoding="utf-8-sig", dtype=str, keep_default_na=False, usecols=names)
    if not isinstance(text.index, pd.RangeIndex):
        raise InputError(f"{path.name!r} has more fields in its rows than column names in its first line")
    kept = [name for name in text.columns if _stays_text(text[name])]
    missing = {name: [""] if name in kept else _MISSING for name in text.columns}
    kinds = dict.fromkeys(kept, str)
    return pd.read_csv(path, encoding="utf-8-sig", dtype=kinds, na_values=missing, keep_default_na=False, usecols=names)


def _stays_text(column: pd.Series) -> bool:
    """Whether a csv column is text: some entry is no number, or a code with leading zeros that a number would lose."""
    entries = pd.Series(column.unique())
    entries = entries[~entries.isin(_MISSING)]
    return bool(pd.to_numeric(entries, errors="coerce").isna().any() or entries.str.match(r"[+-]?0\d").any())


def numbers_in_text(column: pd.Series) -> tuple[pd.Series, int] | None:
    """A text column as numbers, missing where a cell holds none, and how many such cells there are; None where it cannot be one.

    What says that a number is missing in a csv file is no such cell. Codes with leading zeros are no numbers.
    """
    texts = column.where(~column.isin(_MISSING))
    if texts.map(lambda cell: isinstance(cell, str) or pd.isna(cell)).all() and not texts.str.match(r"[+-]?0\d").any():
        numbers = pd.to_numeric(texts, errors="coerce")
        return numbers, int(texts.notna().sum() - numbers.notna().sum())
    return None


def require_reader(ending: str) -> Any:
    """The package that reads and writes files of an ending, None where no extra does; refuses where it is not installed."""
    package = _READS.get(ending.lower())
    return package and optional(package, f"a {ending} file")


def _read_stata(path: Path) -> pd.DataFrame:
    return _with_missing_text(pd.read_stata(path, convert_categoricals=False))


def _read_spss_or_sas(path: Path) -> pd.DataFrame:
    pyreadstat, kind = require_reader(path.suffix), path.suffix.lower()
    read = {".sav": pyreadstat.read_sav, ".xpt": pyreadstat.read_xport, ".sas7bdat": pyreadstat.read_sas7bdat}[kind]
    return _with_whole_numbers(_with_missing_text(read(path)[0]))


def _read_r(path: Path) -> pd.DataFrame:
    """The one data frame of a file of R."""
    tables = require_reader(path.suffix).read_r(str(path))
    if len(tables) != 1:
        raise InputError(f"{path.name!r} must hold one data frame, got {len(tables)}")
    (table,) = tables.values()
    return _with_whole_numbers(pd.DataFrame(table).reset_index(drop=True))  # names of rows are no column


_READERS = {
    ".csv": _read_csv,
    ".parquet": pd.read_parquet,
    ".dta": _read_stata,
    **dict.fromkeys((".sav", ".xpt", ".sas7bdat"), _read_spss_or_sas),
    **dict.fromkeys((".rds", ".rda", ".rdata"), _read_r),
}


def _with_missing_text(table: pd.DataFrame) -> pd.DataFrame:
    text = [name for name in table if not pd.api.types.is_numeric_dtype(table[name].dtype)]
    return table.assign(**{name: table[name].mask(table[name] == "") for name in text})


def _with_whole_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """SPSS and SAS know no integers: a column of whole numbers, none missing, becomes one."""
    floats = table.select_dtypes("float")
    whole = [name for name in floats if ((floats[name] % 1) == 0).all() and (floats[name].abs() < 2**53).all()]
    return table.astype(dict.fromkeys(whole, "int64"))


def write_table(table: pd.DataFrame, path: Path, *, index: bool = False, label: str = "", private: bool = False) -> None:
    """Write a table in the format that the ending of the name says (one of `WRITABLE`), all or nothing; the same table gives the same
    bytes.

    `index`: whether it is written too, first. `label`: in the metadata of the file, at most 80 characters for Stata, 64 for SPSS, 40
    for SAS. `private`: whether the file and every folder made for it are its owner's only from the first byte. A format that cannot
    hold the table is refused.
    """
    if path.suffix not in WRITABLE:
        raise InputError(f"cannot write {path.name!r}: valid formats are {listing(WRITABLE)}")
    with whole_file(path, private=private) as unfinished:
        if path.suffix == ".csv":
            _write_csv(table, unfinished, index)
        elif path.suffix == ".parquet":
            _write_parquet(table, unfinished, index, label)
        else:
            _write_foreign(table.reset_index() if index else table, unfinished, label, path.name)


class DatasetWriter:
    """Writes datasets that differ in some columns only, the same bytes as `write_table`; what is shared is spelled once for csv."""

    def __init__(self, datasets: Sequence[pd.DataFrame]) -> None:
        self._datasets = datasets
        names = sorted({name for columns in datasets.altered for name in columns}) if isinstance(datasets, Datasets) else []
        self._csv = CsvTable(datasets.base, names) if isinstance(datasets, Datasets) else None

    def write(self, number: int, path: Path, *, label: str = "") -> None:
        """Write the dataset at a place."""
        if self._csv is None or path.suffix != ".csv":
            write_table(self._datasets[number], path, label=label)
            return
        with whole_file(path) as unfinished:
            self._csv.write(self._datasets[number], unfinished)

    def is_in(self, path: Path, number: int, *, label: str = "") -> bool:
        """Whether a file is, byte for byte, what `write` makes."""
        if self._csv is not None and path.suffix == ".csv" and (same := self._csv.is_in(path, self._datasets[number])) is not None:
            return same
        with tempfile.TemporaryDirectory() as folder:
            again = Path(folder) / path.name
            self.write(number, again, label=label)
            return filecmp.cmp(path, again, shallow=False)


def read_datasets(paths: Sequence[Path], base: pd.DataFrame, names: Sequence[str]) -> Iterator[Mapping[str, pd.Series] | pd.DataFrame]:
    """Read files that are to differ from `base` in some columns only: these of each, or the whole table where others differ too.

    Of a csv only those columns are read, if it is, byte for byte, what they and the others of `base` make.
    """
    names = [name for name in base if name in names]
    shared = CsvTable(base, names) if any(path.suffix == ".csv" for path in paths) else None
    for path in paths:
        read = _altered_in_csv(path, base, names, shared) if shared is not None and path.suffix == ".csv" else None
        if read is None:
            table = read_table(path)
            same = list(table) == list(base) and len(table) == len(base)
            same = same and all(table[name].equals(base[name]) for name in base if name not in names)
            read = {name: table[name] for name in names} if same else table
        yield read


def _altered_in_csv(path: Path, base: pd.DataFrame, names: list[str], shared: CsvTable) -> dict[str, pd.Series] | None:
    """Some columns of a csv whose other columns are those of `base`; None where it is not, or not surely so."""
    try:
        table = pd.read_csv(path, encoding="utf-8-sig", usecols=names, na_values=_MISSING, keep_default_na=False)
        if not all(holds_numbers(table[name]) for name in names):
            table = _read_csv(path, names)
    except Exception:  # what is wrong is said by who reads the whole file
        return None
    altered = {name: table[name] for name in names}
    return altered if len(table) == len(base) and shared.is_in(path, base.assign(**altered)) else None


def write_aggregates(table: pd.DataFrame, path: Path, *, private: bool = False) -> None:
    """Write a csv of aggregates that people open in a spreadsheet: labels that come from the data are text there, never a formula."""
    named = table.rename(columns=lambda name: for_spreadsheet(str(name)))
    write_table(named.map(lambda cell: for_spreadsheet(cell) if isinstance(cell, str) else cell), path, private=private)


def _write_csv(table: pd.DataFrame, path: Path, index: bool) -> None:
    """As pandas writes it."""
    if index and None in table.index.names:
        table.to_csv(path, lineterminator="\n")
        return
    whole = table.reset_index() if index else table
    CsvTable(whole, list(whole.columns)).write(whole, path)


def _write_parquet(table: pd.DataFrame, path: Path, index: bool, label: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow = pa.Table.from_pandas(table, preserve_index=index)
    described = {_LABEL: label} if label else {}
    pq.write_table(arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), **described}), path)


def _write_foreign(table: pd.DataFrame, path: Path, label: str, name: str) -> None:
    """Write a Stata, SPSS or SAS file, with a fixed date inside so that the same table gives the same bytes."""
    plain = _plain_columns(table, path.suffix)
    pyreadstat = require_reader(path.suffix)
    try:
        if path.suffix == ".dta":
            epoch = datetime.datetime(1970, 1, 1)
            plain.to_stata(path, write_index=False, version=118, data_label=label or None, time_stamp=epoch)
            return
        write = pyreadstat.write_sav if path.suffix == ".sav" else pyreadstat.write_xport
        write(plain, path, file_label=label)
    except OSError:
        raise
    except Exception as error:  # its own message may quote the data
        raise InputError(f"{name!r} cannot be written ({type(error).__name__}); choose csv or parquet") from None
    length, stamp, fixed = _DATES[path.suffix]
    content = path.read_bytes()
    path.write_bytes(re.sub(stamp, fixed, content[:length]) + content[length:])


_DATES = {  # bytes of the header, the date it holds, and the one that stands there instead
    ".sav": (176, rb"\d\d [A-Z][a-z]{2} \d\d\d\d:\d\d:\d\d", b"01 Jan 7000:00:00"),
    ".xpt": (560, rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d", b"01JAN70:00:00:00"),
}


def _plain_columns(table: pd.DataFrame, ending: str) -> pd.DataFrame:
    """Columns as numbers and text, checked against what the package can name and hold."""
    package = _PACKAGE[ending]
    wrong = [name for name in table if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,31}", str(name))]
    if wrong:
        raise InputError(
            f"{package} cannot name a column {listing(wrong)}: valid are at most 32 letters a-z, digits and _, no digit first; "
            "rename it, or choose csv or parquet"
        )
    lower = Counter(str(name).lower() for name in table)
    same = [name for name in table if lower[str(name).lower()] > 1]
    if same and ending != ".dta":
        raise InputError(f"{package} takes the columns {listing(same)} for the same: rename them, or choose csv or parquet")
    return pd.DataFrame({name: _plain_column(table[name], ending) for name in table})


def _plain_column(column: pd.Series, ending: str) -> pd.Series:
    """Numbers (truth values as 0 and 1) or text (missing as empty)."""
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype):
        whole = pd.api.types.is_integer_dtype(column.dtype)
        if whole and (column.abs() > 2**53).any():
            raise InputError(f"{_PACKAGE[ending]} keeps no whole number beyond 2^53, and {column.name!r} has some; choose csv or parquet")
        small = whole and not column.hasnans and (column.abs() < 2**31 - 100).all()
        return column.astype("int32" if small else "float64").reset_index(drop=True)
    kinds = {type(value).__name__ for value in column.dropna().unique()}
    if not kinds <= {"str", "bool", "Timestamp", "datetime", "date"}:
        raise InputError(f"{_PACKAGE[ending]} cannot hold {column.name!r}, which has values of type {listing(sorted(kinds))}")
    text = column.astype(object).where(column.notna(), "").astype(str).reset_index(drop=True)
    longest, most = max(map(len, text.str.encode("utf-8")), default=0), _TEXT_BYTES[ending]
    if longest > most:
        raise InputError(f"{_PACKAGE[ending]} holds text of at most {most} bytes, and {column.name!r} has {longest}; choose csv or parquet")
    return text
