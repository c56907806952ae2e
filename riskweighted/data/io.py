"""Tables in and out: csv, parquet, and the files of Stata, SPSS and SAS, with errors that never
quote a value.
"""

import csv
import filecmp
import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from riskweighted.common.atomic import whole_file
from riskweighted.common.datasets import Datasets
from riskweighted.common.errors import InputError, listing
from riskweighted.common.folders import temporary_folder
from riskweighted.common.frames import (
    holds_numbers,
    one_name_each,
    plain_numbers,
    require_plain_values,
    with_columns,
)
from riskweighted.common.text import for_spreadsheet, reads_as_number
from riskweighted.data.csv_layout import CsvLayout, check_header, decode_text, plain_text
from riskweighted.data.csv_text import CsvTable, csv_text
from riskweighted.data.foreign import more_dates, require_reader, shown_to_the_right, write_foreign
from riskweighted.data.formats import FORMATS, WRITABLE
from riskweighted.data.metadata import META, meta_text
from riskweighted.data.variable import TEXTS, Variable
from riskweighted.data.variables import Variables

__all__ = [
    "MISSING",
    "DatasetWriter",
    "cells_without_number",
    "read_datasets",
    "read_table",
    "require_reader",
    "spells_alike",
    "write_aggregates",
    "write_table",
]

_STATA_BEGINS, _LEFT = "1960-01-01", ("floating", "mixed")
_LABEL = "label"  # key of a parquet file's metadata
# in a column of numbers; in text only "" is missing
MISSING = ["", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "."]


def read_table(
    path: str | Path, layout: CsvLayout | None = None, variables: Variables | None = None
) -> pd.DataFrame:
    """Read a table: csv (first line: column names), parquet, Stata .dta, SPSS .sav, SAS .xpt or
    .sas7bdat, R .rds, .rda or .RData.

    A csv column is numeric where every entry is a number, "NA" or the like counting as missing; it
    stays text where some entry is none, or is a code with leading zeros. Of a file of Stata, SPSS
    or SAS the codes are read, not their labels; user-missing codes are missing, and so is an empty
    text; numbers of SPSS and SAS that are all whole become integers. Files of R hold one data
    frame; factors become categories. Decimals of parquet become floats, and a named index a column.
    Files of SPSS, SAS and R need `pip install "riskweighted[formats]"`. Errors name the file and
    what is wrong with it, and quote no value.

    `layout`: of a csv, where it is not a plain one. `variables`: what is known of the columns: they
    have the types that are stated, codes that mean missing stay codes, and numbers of Stata that
    are all whole become integers too, as those of SPSS and SAS do.
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        what = (
            "it is a folder; valid is a file of a format of"
            if path.is_dir()
            else "valid formats are"
        )
        raise InputError(f"cannot read {str(path)!r}: {what} {listing(FORMATS)}")
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}")
    try:
        table = plain_numbers(_read(path, layout, variables))
    except InputError:
        raise
    except UnicodeDecodeError:
        decode_text(path.read_bytes(), "utf-8", path.name)  # says in which encoding it is not
        raise InputError(f"{path.name!r} cannot be read (it is not in UTF-8)") from None
    except Exception as error:  # a parser's own message may quote the data
        where = re.search(r"Expected \d+ fields in line \d+, saw \d+", str(error))
        why = where[0] if where else type(error).__name__
        raise InputError(f"{path.name!r} cannot be read ({why})") from None
    if len(table) == 0:
        raise InputError(f"{path.name!r} has no records")
    require_plain_values(table, table.columns, repr(path.name))
    return table if variables is None else variables.typed(table)


def _read(path: Path, layout: CsvLayout | None, variables: Variables | None) -> pd.DataFrame:
    """A table by the ending of the file's name."""
    ending = path.suffix.lower()
    if ending == ".csv":
        texts = _texts(variables)
        if layout is None or layout == CsvLayout():
            return _read_csv(path, texts=texts)
        return _read_csv(path, texts=texts, plain=plain_text(path, layout, MISSING, texts))
    if ending in (".sav", ".xpt", ".sas7bdat"):
        return _read_spss_or_sas(path, keep_codes=variables is not None)
    if ending == ".dta":
        table = _read_stata(path)
        return table if variables is None else _with_whole_numbers(_as_plain_numbers(table))
    return _read_parquet(path) if ending == ".parquet" else _read_r(path)


def _texts(variables: Mapping[str, Variable] | None) -> list[str]:
    """The columns that are stated to be text, of which a csv keeps every sign."""
    return [name for name, variable in (variables or {}).items() if variable.type in TEXTS]


def _read_csv(
    path: Path,
    names: Sequence[str] | None = None,
    *,
    texts: Sequence[str] = (),
    plain: str | None = None,
) -> pd.DataFrame:
    """All columns, or some; those of `texts` stay text. `plain`: the text of the file, where that
    is not as a plain csv spells it.
    """
    with (
        io.StringIO(plain)
        if plain is not None
        else path.open(newline="", encoding="utf-8-sig") as handle
    ):
        header = next(csv.reader(handle), [])
    check_header(header, path.name)
    other = next((mark for mark in ";\t|" if len(header) == 1 and mark in header[0]), None)
    if other is not None:
        raise InputError(
            f"{path.name!r} has {other!r} between its columns; valid is a comma, with a point "
            "before decimals, or say so in the study: "
            "[data] delimiter, decimal"
        )
    numbers = sum(reads_as_number(name) for name in header)
    if numbers:
        raise InputError(
            f"{path.name!r}: {numbers} of {len(header)} column names are numbers; the first line "
            "must hold the column names"
        )

    def opened() -> Path | io.StringIO:
        return path if plain is None else io.StringIO(plain)

    text = pd.read_csv(
        opened(), encoding="utf-8-sig", dtype=str, keep_default_na=False, usecols=names
    )
    if not isinstance(text.index, pd.RangeIndex):
        raise InputError(
            f"{path.name!r} has more fields in its rows than column names in its first line; "
            "take a title out of the file"
        )
    kept = [name for name in text.columns if name in texts or _stays_text(text[name])]
    missing = {name: [""] if name in kept else _no_numbers(text[name]) for name in text.columns}
    kinds = dict.fromkeys(kept, str)
    return pd.read_csv(
        opened(),
        encoding="utf-8-sig",
        dtype=kinds,
        na_values=missing,
        keep_default_na=False,
        usecols=names,
    )


def _stays_text(column: pd.Series) -> bool:
    """Whether a csv column is text: some entry is no number, or a code with leading zeros that a
    number would lose.
    """
    entries = pd.Series(column.unique())
    entries = entries[~entries.isin(_no_numbers(column))]
    return bool(
        pd.to_numeric(entries, errors="coerce").isna().any() or entries.str.match(r"[+-]?0\d").any()
    )


def _no_numbers(column: pd.Series) -> list[str]:
    """What says in a column of numbers that one is missing, with the blanks around it that some
    cells have.
    """
    return [*MISSING, *(text for text in column.unique() if text.strip() in MISSING)]


def cells_without_number(column: pd.Series) -> pd.Series | None:
    """The cells of a text column that hold no number; None where it cannot be one of numbers.

    What says that a number is missing in a csv file is no such cell. Codes with leading zeros are
    no numbers.
    """
    texts = column.where(~column.isin(MISSING)).dropna()
    if (
        texts.map(lambda cell: isinstance(cell, str)).all()
        and not texts.str.match(r"[+-]?0\d").any()
    ):
        return texts[pd.to_numeric(texts, errors="coerce").isna()]
    return None


def _read_parquet(path: Path) -> pd.DataFrame:
    table = pd.read_parquet(path)
    one_name_each(table, repr(path.name))
    return table.reset_index([name for name in table.index.names if name is not None])


def _read_stata(path: Path) -> pd.DataFrame:
    with warnings.catch_warnings():
        # of %tC, milliseconds with leap seconds, which pandas leaves as objects
        warnings.simplefilter("ignore", UserWarning)
        opened: Any = pd.read_stata(path, convert_categoricals=False, iterator=True)
        with opened as reader:
            # reads the head, of which pandas knows dates by a format that is shown to the right
            reader.variable_labels()
            reader._fmtlist = [shown_to_the_right(shown) for shown in reader._fmtlist]
            table = reader.read()
            business = [
                name
                for name, shown in zip(table, reader._fmtlist, strict=True)
                if shown.startswith("%tb")
            ]
    objects = [
        name
        for name in table
        if table[name].dtype == object and pd.api.types.infer_dtype(table[name]) in _LEFT
    ]
    read = {
        name: pd.to_datetime(table[name].astype(float), unit="ms", origin=_STATA_BEGINS)
        for name in objects
    }
    # days of a calendar that the file does not hold
    read |= {name: pd.to_timedelta(table[name], unit="D") for name in business}
    return _with_missing_text(with_columns(table, read))


def _read_spss_or_sas(path: Path, *, keep_codes: bool) -> pd.DataFrame:
    """`keep_codes`: whether the codes that SPSS declares to mean missing stay codes."""
    pyreadstat, kind = require_reader(path.suffix), path.suffix.lower()
    read = {
        ".sav": pyreadstat.read_sav,
        ".xpt": pyreadstat.read_xport,
        ".sas7bdat": pyreadstat.read_sas7bdat,
    }[kind]
    given = {
        **({"user_missing": True} if keep_codes and kind == ".sav" else {}),
        **more_dates(kind),
    }
    return _with_whole_numbers(_with_missing_text(read(path, **given)[0]))


def _as_plain_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Numbers of Stata as those of SPSS and SAS are read: not by how they are stored."""
    numbers = table.select_dtypes("number", exclude="timedelta")
    return table.astype(
        {
            name: "float64" if pd.api.types.is_float_dtype(numbers[name].dtype) else "int64"
            for name in numbers
        }
    )


def _read_r(path: Path) -> pd.DataFrame:
    """The one data frame of a file of R."""
    tables = require_reader(path.suffix).read_r(str(path))
    if len(tables) != 1:
        raise InputError(f"{path.name!r} must hold one data frame, got {len(tables)}")
    (table,) = tables.values()
    # names of rows are no column
    return _with_whole_numbers(pd.DataFrame(table).reset_index(drop=True))


def _with_missing_text(table: pd.DataFrame) -> pd.DataFrame:
    text = [name for name in table if not pd.api.types.is_numeric_dtype(table[name].dtype)]
    return with_columns(table, {name: table[name].mask(table[name] == "") for name in text})


def _with_whole_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """SPSS and SAS know no integers: a column of whole numbers, none missing, becomes one."""
    floats = table.select_dtypes("float")
    whole = [
        name
        for name in floats
        if ((floats[name] % 1) == 0).all() and (floats[name].abs() < 2**53).all()
    ]
    return table.astype(dict.fromkeys(whole, "int64"))


def write_table(
    table: pd.DataFrame,
    path: Path,
    *,
    index: bool = False,
    label: str = "",
    private: bool = False,
    layout: CsvLayout | None = None,
    variables: Variables | None = None,
) -> None:
    """Write a table in the format that the ending of the name says (one of `WRITABLE`), all or
    nothing; the same table gives the same bytes.

    `index`: whether it is written too, first. `label`: in the metadata of the file, at most 80
    characters for Stata, 64 for SPSS, 40 for SAS. `private`: whether the file and every folder made
    for it are its owner's only from the first byte. `layout`: of a csv that is not a plain one; a
    missing value is an empty cell all the same. `variables`: what is known of the columns, for
    formats that hold it. A format that cannot hold the table is refused.
    """
    if path.suffix not in WRITABLE:
        raise InputError(f"cannot write {path.name!r}: valid formats are {listing(WRITABLE)}")
    with whole_file(path, private=private) as unfinished:
        if path.suffix == ".csv":
            _write_csv(table, unfinished, index, layout)
        elif path.suffix == ".parquet":
            _write_parquet(table, unfinished, index, label, variables)
        else:
            write_foreign(
                table.reset_index() if index else table, unfinished, label, path.name, variables
            )


class DatasetWriter:
    """Writes datasets that differ in some columns only, the same bytes as `write_table`; what is
    shared is spelled once for csv.
    """

    def __init__(
        self,
        datasets: Sequence[pd.DataFrame],
        *,
        layout: CsvLayout | None = None,
        variables: Variables | None = None,
    ) -> None:
        self._datasets, self._layout, self._variables = datasets, layout, variables
        shared = (
            datasets
            if isinstance(datasets, Datasets) and (layout is None or layout.is_plain)
            else None
        )
        names = (
            []
            if shared is None
            else sorted({name for columns in shared.altered for name in columns})
        )
        self._csv = None if shared is None else CsvTable(shared.base, names)

    def write(self, number: int, path: Path, *, label: str = "") -> None:
        """Write the dataset at a place."""
        if self._csv is None or path.suffix != ".csv":
            write_table(
                self._datasets[number],
                path,
                label=label,
                layout=self._layout,
                variables=self._variables,
            )
            return
        with whole_file(path) as unfinished:
            self._csv.write(self._datasets[number], unfinished)

    def is_in(self, path: Path, number: int, *, label: str = "") -> bool:
        """Whether a file is, byte for byte, what `write` makes."""
        if (
            self._csv is not None
            and path.suffix == ".csv"
            and (same := self._csv.is_in(path, self._datasets[number])) is not None
        ):
            return same
        with temporary_folder() as folder:
            again = folder / path.name
            self.write(number, again, label=label)
            return filecmp.cmp(path, again, shallow=False)


def spells_alike(column: pd.Series, other: pd.Series) -> bool:
    """Whether two columns are, cell for cell, the same in a csv."""
    frames = [values.reset_index(drop=True).to_frame("column") for values in (column, other)]
    if column.dtype == other.dtype and frames[0].equals(frames[1]):
        return True
    spelled = [csv_text(frame["column"]) for frame in frames]
    if any(text is None for text in spelled):
        return bool(frames[0].to_csv(index=False) == frames[1].to_csv(index=False))
    return bool(spelled[0] == spelled[1])


def read_datasets(
    paths: Sequence[Path],
    base: pd.DataFrame,
    names: Sequence[str],
    variables: Variables | None = None,
) -> Iterator[Mapping[str, pd.Series] | pd.DataFrame]:
    """Read files that are to differ from `base` in some columns only: these of each, or the whole
    table where others differ too.

    Of a csv only those columns are read, if it is, byte for byte, what they and the others of
    `base` make. `variables`: as `read_table` has them, with which `base` was read.
    """
    names = [name for name in base if name in names]
    shared = CsvTable(base, names) if any(path.suffix == ".csv" for path in paths) else None
    for path in paths:
        read = (
            _altered_in_csv(path, base, names, shared, variables)
            if shared is not None and path.suffix == ".csv"
            else None
        )
        if read is None:
            table = read_table(path, variables=variables)
            same = list(table) == list(base) and len(table) == len(base)
            same = same and all(
                table[name].equals(base[name]) for name in base if name not in names
            )
            read = {name: table[name] for name in names} if same else table
        yield read


def _altered_in_csv(
    path: Path, base: pd.DataFrame, names: list[str], shared: CsvTable, variables: Variables | None
) -> dict[str, pd.Series] | None:
    """Some columns of a csv whose other columns are those of `base`; None where it is not, or not
    surely so.
    """
    try:
        table = pd.read_csv(
            path, encoding="utf-8-sig", usecols=names, na_values=MISSING, keep_default_na=False
        )
        texts = _texts(variables)
        if not all(holds_numbers(table[name]) and name not in texts for name in names):
            table = _read_csv(path, names, texts=texts)
        table = table if variables is None else variables.typed(table)
    except Exception:  # what is wrong is said by who reads the whole file
        return None
    altered = {name: table[name] for name in names}
    return (
        altered
        if len(table) == len(base) and shared.is_in(path, with_columns(base, altered))
        else None
    )


def write_aggregates(table: pd.DataFrame, path: Path, *, private: bool = False) -> None:
    """Write a csv of aggregates that people open in a spreadsheet: labels that come from the data
    are text there, never a formula.
    """
    named = table.rename(columns=lambda name: for_spreadsheet(str(name)))
    write_table(
        named.map(lambda cell: for_spreadsheet(cell) if isinstance(cell, str) else cell),
        path,
        private=private,
    )


def _write_csv(table: pd.DataFrame, path: Path, index: bool, layout: CsvLayout | None) -> None:
    """As pandas writes it."""
    if layout is not None and not layout.is_plain:
        table = (
            with_columns(table, {name: _with_its_decimals(table[name]) for name in table})
            if layout.decimal != "."
            else table
        )
        try:
            table.to_csv(
                path,
                index=index,
                sep=layout.delimiter,
                decimal=layout.decimal,
                encoding=layout.encoding,
                lineterminator="\n",
            )
        except UnicodeEncodeError:  # which quotes the text
            raise InputError(
                f"{layout.encoding} cannot spell some text of the table; write a plain csv"
            ) from None
        return
    if index and None in table.index.names:
        table.to_csv(path, lineterminator="\n")
        return
    whole = table.reset_index() if index else table
    CsvTable(whole, list(whole.columns)).write(whole, path)


def _with_its_decimals(column: pd.Series) -> pd.Series:
    """A column whose numbers pandas writes with the decimal mark that it is told, which those of
    categories and objects are not.
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        levels = column.cat.categories
        return column.astype("float64") if pd.api.types.is_float_dtype(levels.dtype) else column
    if column.dtype != object:
        return column
    there = column.dropna()
    numbers = all(pd.api.types.is_float(cell) or pd.api.types.is_integer(cell) for cell in there)
    return (
        column.astype("float64") if numbers and any(map(pd.api.types.is_float, there)) else column
    )


def _write_parquet(
    table: pd.DataFrame, path: Path, index: bool, label: str, variables: Variables | None
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow = pa.Table.from_pandas(table, preserve_index=index)
    described = {_LABEL: label} if label else {}
    described |= {META.decode(): meta_text(variables.only(table.columns))} if variables else {}
    pq.write_table(
        arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), **described}), path
    )
