"""How the text of a csv file is laid out: what stands between columns, before decimals and
thousands, the encoding, what means missing.
"""

import codecs
import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from riskweighted.common.checks import check_text
from riskweighted.common.errors import InputError, listing

__all__ = ["CsvLayout", "guess_layout", "plain_text"]

_WESTERN = ("cp1252", "iso8859-1", "iso8859-15")
# a letter of UTF-8, which hardly any western word spells in one byte a letter
_TWICE = re.compile(rb"[\xc2\xc3][\x80-\xbf]")
_THOUSANDS = (".", ",", "'", "\u2019", " ", "\u00a0", "\u202f")
_DATES = re.compile(r"(?=.*\d)[\d\s.,:/TZ+-]+")  # and times, and numbers with other marks
_SEEN = 20_000  # rows that a guess looks at
# What offices write where a number is missing, besides what always counts as missing
# (`riskweighted.data.io`).
_USUAL = (
    "-",
    "--",
    "..",
    "...",
    "?",
    "*",
    "/",
    ":",
    "x",
    "X",
    "n.a.",
    "n. a.",
    "k.A.",
    "k. A.",
    "#N/A",
    "#NV",
    "NV",
    "ND",
    "s.d.",
)


@dataclass(frozen=True)
class CsvLayout:
    """How a csv file is laid out; the defaults are those of a plain one, which need not be stated.

    ``delimiter``: one character between columns; ``decimal``: a point or a comma; ``thousands``:
    what stands between groups of three digits, if anything; ``encoding``: such as "cp1252",
    "latin-1" or "utf-8-sig" (with a byte order mark); ``missing``: texts that mean that there is no
    value in a column of numbers or dates, besides an empty cell and those that always do in a
    column of numbers.
    """

    delimiter: str = ","
    decimal: str = "."
    thousands: str | None = None
    encoding: str = "utf-8"
    missing: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("delimiter", "decimal", "encoding"):
            check_text(getattr(self, name), name)
        check_text(self.thousands, "thousands", optional=True)
        if len(self.delimiter) != 1 or self.delimiter.isalnum() or self.delimiter in '"\n\r\\.':
            raise InputError(
                'delimiter must be one character such as "," ";" "|" or a tab ("\\t"), got '
                f"{self.delimiter!r}"
            )
        if self.decimal not in (".", ","):
            raise InputError(f'decimal must be "." or ",", got {self.decimal!r}')
        if self.thousands is not None and self.thousands not in _THOUSANDS:
            raise InputError(
                f"thousands must be one of {listing(_THOUSANDS)}, got {self.thousands!r}"
            )
        # of thousands that are commas the cells are quoted, or the rows too long
        if self.decimal in (self.thousands, self.delimiter):
            raise InputError(
                "decimal must differ from delimiter and thousands, got "
                f"{listing([self.decimal, self.delimiter, self.thousands or ''])}"
            )
        _codec(self.encoding)
        missing = (self.missing,) if isinstance(self.missing, str) else tuple(self.missing)
        for text in missing:
            check_text(text, "a text of missing")
        object.__setattr__(self, "missing", missing)

    @property
    def is_plain(self) -> bool:
        """Whether it is that of a plain file, whatever means missing."""
        return (self.delimiter, self.decimal, self.encoding) == (",", ".", "utf-8")

    @property
    def stated(self) -> dict[str, Any]:
        """The settings that are not those of a plain file."""
        given = {setting.name: getattr(self, setting.name) for setting in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in given.items()
            if value != getattr(_PLAIN, name)
        }


def _codec(name: str) -> str:
    """The name of an encoding as Python has it; refuses what is none of texts."""
    try:
        "a".encode(name)
        return codecs.lookup(name).name
    except (LookupError, TypeError, UnicodeError, ValueError):
        raise InputError(
            'encoding must be one that Python knows, such as "utf-8", "cp1252" or "latin-1", '
            f"got {name!r}"
        ) from None


_PLAIN = CsvLayout()


def decode_text(content: bytes, encoding: str, name: str) -> str:
    """The text of a file; refuses one in another encoding, or in two of them."""
    codec = _codec(encoding)
    if codec in _WESTERN:
        if not content.isascii() and _in_utf8(content):
            raise InputError(
                f"{name!r} is in UTF-8, and the setting encoding says {encoding!r}: leave the "
                "setting out"
            )
        _refuse_mixed(content, name)
    try:
        return content.decode("utf-8-sig" if codec == "utf-8" else encoding)
    except UnicodeDecodeError:
        if codec.startswith("utf-8"):
            _refuse_mixed(content, name)
        raise InputError(
            f"{name!r} cannot be read (it is not in "
            f"{encoding.upper() if codec == 'utf-8' else encoding})"
        ) from None


def _in_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _refuse_mixed(content: bytes, name: str) -> None:
    """Refuse lines of UTF-8 beside lines that are none, as files that were joined have them."""
    lines = [line for line in content.split(b"\n") if not line.isascii()]
    both = sum(bool(_TWICE.search(line)) for line in lines if _in_utf8(line))
    others = sum(not _in_utf8(line) for line in lines)
    if both and others:
        raise InputError(
            f"{name!r} is in two encodings: {both} lines with letters of UTF-8, and {others} "
            "that are not UTF-8; save it in one"
        )


def plain_text(
    path: Path, layout: CsvLayout, missing: Iterable[str], kept: Iterable[str] = ()
) -> str:
    """The text of a file as a plain csv spells it: commas, points before decimals, no thousands,
    and an empty cell where `layout` says that a value is missing, in columns of numbers or dates.
    Columns of `kept` names are text and stay as they are.

    ``missing``: what always means missing in a column of numbers.
    """
    table, always = _cells(path, layout), {*missing, ""}
    for name in table.columns.difference(list(kept), sort=False):
        none = always | {text for text in table[name].unique() if text.strip() in always}
        table[name] = _without_missing(table[name], layout, none)
        if (layout.decimal, layout.thousands) != (".", None):
            table[name] = _plain_numbers(table[name], layout, none)
    return str(table.to_csv(index=False, lineterminator="\n"))


def _without_missing(column: pd.Series, layout: CsvLayout, always: set[str]) -> pd.Series:
    """A column of numbers or dates with empty cells where the layout says that a value is missing;
    in another these may be values.
    """
    gone = set(layout.missing) - always
    entries = pd.Series(column.unique()) if gone else column[:0]
    there = entries[~entries.isin(gone | always)]
    pattern = _number(layout.decimal, layout.thousands)
    counted = [
        pattern.fullmatch(text) is not None or _DATES.fullmatch(text) is not None for text in there
    ]
    return column.where(~column.isin(gone), "") if counted and all(counted) else column


def check_header(header: Sequence[str], name: str) -> None:
    """Refuse a first line without names of columns, or with a name twice."""
    repeated = [column for column, count in Counter(header).items() if count > 1]
    if not header:
        raise InputError(f"{name!r} is empty: the first line must hold the column names")
    if "" in repeated:
        raise InputError(
            f"{name!r} names {sum(map(bool, header))} of {len(header)} columns in its first "
            "line: take a title out of the file"
        )
    if repeated:
        raise InputError(
            f"{name!r} has column {listing(repeated)} more than once: column names must be unique"
        )


def _cells(path: Path, layout: CsvLayout, rows: int | None = None) -> pd.DataFrame:
    """Every cell as text."""
    text = decode_text(path.read_bytes(), layout.encoding, path.name)
    header = next(csv.reader(io.StringIO(text, newline=""), delimiter=layout.delimiter), [])
    check_header(header, path.name)
    table = pd.read_csv(
        io.StringIO(text), sep=layout.delimiter, dtype=str, keep_default_na=False, nrows=rows
    )
    if not isinstance(table.index, pd.RangeIndex):
        raise InputError(
            f"{path.name!r} has more fields in its rows than column names in its first line; "
            "take a title out of the file"
        )
    return table


def _number(decimal: str, thousands: str | None) -> "re.Pattern[str]":
    """A number with these marks; groups of thousands do not begin with 0."""
    point, grouped = re.escape(decimal), ""
    if thousands is not None:
        grouped = rf"[1-9]\d{{0,2}}(?:{re.escape(thousands)}\d{{3}})+(?:{point}\d*)?|"
    return re.compile(rf"\s*[+-]?(?:{grouped}\d+(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?\s*")


def _plain_numbers(column: pd.Series, layout: CsvLayout, missing: set[str]) -> pd.Series:
    """A column of numbers with points before decimals; one that holds anything else as it is."""
    pattern, entries = _number(layout.decimal, layout.thousands), pd.Series(column.unique())
    there = entries[~entries.isin(missing)]
    if not there.map(lambda text: pattern.fullmatch(text) is not None).all():
        return _plain_spelt_otherwise(column, there, layout)
    spelled = {
        text: text.strip().replace(layout.thousands or "\0", "").replace(layout.decimal, ".")
        for text in there
    }
    return column.map(lambda text: spelled.get(text, text))


def _plain_spelt_otherwise(column: pd.Series, there: pd.Series, layout: CsvLayout) -> pd.Series:
    """Refuse a column that would be taken for numbers of another kind; text stays."""
    if len(there) and not pd.to_numeric(there, errors="coerce").isna().any():
        raise InputError(
            f"column {column.name!r} holds numbers that do not have {layout.decimal!r} before "
            "decimals, as the settings say: state "
            "the file's own decimal and thousands, or in a file of variables that the column is "
            "text"
        )
    return column


# -- guessed, for a study that somebody then reads


def guess_layout(path: Path) -> CsvLayout:
    """How a csv file seems to be laid out; of a plain one the defaults. Refuses a file in two
    encodings.
    """
    content = path.read_bytes()
    encoding = _guess_encoding(content, path.name)
    text = decode_text(content, encoding, path.name)
    delimiter = _guess_delimiter(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = pd.read_csv(
                io.StringIO(text),
                sep=delimiter,
                dtype=str,
                keep_default_na=False,
                nrows=_SEEN,
                index_col=False,
            )
    except Exception:  # what is wrong with the file is said by who reads all of it
        return CsvLayout()
    columns = [pd.Series(table[name].unique()) for name in table]
    decimal, thousands = _guess_numbers(columns, delimiter)
    return CsvLayout(
        delimiter,
        decimal,
        thousands,
        encoding,
        _guess_missing(columns, _number(decimal, thousands)),
    )


def _guess_encoding(content: bytes, name: str) -> str:
    if content.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if _in_utf8(content):
        return "utf-8"
    _refuse_mixed(content, name)
    try:
        content.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def _guess_delimiter(text: str) -> str:
    """What divides the first lines into most columns, as many in each; a comma where none does."""
    lines = list(islice(io.StringIO(text, newline=None), 100))  # whatever ends a line
    return max(",;\t|", key=lambda mark: _width(lines[:-1] or lines, mark))


def _width(lines: Sequence[str], mark: str) -> int:
    """Into how many columns a mark divides all lines, those aside that are longer than a cell may
    be; 1 where these differ.
    """
    try:
        widths = {len(row) for row in csv.reader(lines, delimiter=mark) if row}
    except csv.Error:
        short = [line for line in lines if len(line) < csv.field_size_limit()]
        return _width(short, mark) if len(short) < len(lines) else 1
    return widths.pop() if len(widths) == 1 else 1


def _guess_numbers(columns: Sequence[pd.Series], delimiter: str) -> tuple[str, str | None]:
    """Decimal mark and thousands mark that make most columns numbers; the plain ones where nothing
    is better.
    """
    candidates = [
        (".", None),
        *((".", mark) for mark in _THOUSANDS[1:]),
        (",", None),
        *((",", mark) for mark in _THOUSANDS if mark != ","),
    ]
    candidates = [pair for pair in candidates if delimiter != pair[0]]
    # which stands there because numbers have commas: "1,234" is a little more than 1
    if delimiter == ";":
        candidates = [(",", None), *candidates]
    # the first of several
    best = max(candidates, key=lambda pair: _readable(columns, _number(*pair)))
    return (
        best
        if _readable(columns, _number(*best)) > _readable(columns, re.compile(r"\s*[+-]?\d+\s*"))
        else (".", None)
    )


def _readable(columns: Sequence[pd.Series], pattern: "re.Pattern[str]") -> int:
    """How many columns are numbers; texts that usually mean missing aside."""
    return sum(_is_number(column, pattern) for column in columns)


def _is_number(column: pd.Series, pattern: "re.Pattern[str]") -> bool:
    entries = [
        text
        for text in column
        if text.strip() not in ("", *_USUAL, "NA", "N/A", "NaN", "nan", "NULL", "null", "None", ".")
    ]
    return bool(entries) and all(pattern.fullmatch(text) for text in entries)


def _guess_missing(columns: Sequence[pd.Series], pattern: "re.Pattern[str]") -> tuple[str, ...]:
    """The usual texts for a missing number that stand in a column of numbers."""
    held = {
        text
        for column in columns
        if _is_number(column, pattern)
        for text in column
        if text in _USUAL
    }
    return tuple(text for text in _USUAL if text in held)
