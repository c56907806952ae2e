"""Tables as files of Stata, SPSS and SAS, with what is known of their columns as far as these
formats hold it.
"""

import contextlib
import datetime
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.extras import optional
from riskweighted.common.frames import with_columns
from riskweighted.data.typed import as_plain_numbers
from riskweighted.data.variable import Code, Variable, truncate

__all__ = [
    "more_dates",
    "refuse_names",
    "require_reader",
    "shown_to_the_right",
    "takes_name",
    "type_of_format",
    "write_foreign",
]

_READS = {
    **dict.fromkeys((".sav", ".xpt", ".sas7bdat"), "pyreadstat"),
    **dict.fromkeys((".rds", ".rda", ".rdata"), "pyreadr"),
}
_PACKAGE = {".dta": "Stata", ".sav": "SPSS", ".xpt": "SAS"}
_TEXT_BYTES = {".dta": 2045, ".sav": 32767, ".xpt": 200}
_DATES = {  # bytes of the header, the date it holds, and the one that stands there instead
    ".sav": (176, rb"\d\d [A-Z][a-z]{2} \d\d\d\d:\d\d:\d\d", b"01 Jan 7000:00:00"),
    ".xpt": (560, rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d", b"01JAN70:00:00:00"),
}
# of a variable: characters in Stata, bytes in SPSS and SAS
_LABEL = {".dta": 80, ".sav": 256, ".xpt": 256}
_VALUE_LABEL = {".dta": 32_000, ".sav": 120}  # bytes
_STATA_CODES = 2**31 - 100
_SHORT_TEXT = 8  # bytes of a text that SPSS labels or calls missing
_EDGE = 1.7976931348623157e308  # LOWEST and HIGHEST of SPSS
_MOST_MISSING = 3
_FIRST_LETTER = 192  # of signs beyond ASCII, as the writer of Stata has them
_NAMES = {
    ".dta": "at most 32 letters, digits and _, no digit first, and no word that Stata keeps for "
    "itself, such as long and in",
    ".sav": "letters, digits and . _ @ # $ of at most 64 bytes, a letter first, no point last, and "
    "no word of SPSS, such as BY and TO",
    ".xpt": "at most 32 letters a-z, digits and _, no digit first",
}
_KEPT = {  # words that mean something else; of Stata also those that the writer renames
    ".dta": "aggregate array boolean break byte case catch class colvector complex const continue "
    "default delegate delete do double else "
    "eltypedef end enum explicit export external float for friend function global goto if in "
    "inline int local long NULL pragma protected "
    "quad rowvector short strL typedef typename using virtual with _all _b _coef _cons _cv _n _N "
    "_pi _pred _rc _se _skip",
    ".sav": "ALL AND BY EQ GE GT LE LT NE NOT OR TO WITH",
    ".xpt": "_ALL_ _CHARACTER_ _ERROR_ _N_ _NUMERIC_",
}
_WORDS = {ending: frozenset(words.split()) for ending, words in _KEPT.items()}
# How SPSS and SAS show dates, besides the ways of which the reader knows that they are dates;
# before the width.
_MORE_DATES = {
    ".sav": ("MOYR", "QYR", "WKYR"),
    ".xpt": (
        *(
            "DAY",
            "DOWNAME",
            "JULDAY",
            "JULIAN",
            "MONNAME",
            "MONTH",
            "MONYY",
            "NLDATE",
            "QTR",
            "WEEKDAY",
            "WORDDATE",
            "WORDDATX",
            "YEAR",
            "YYMON",
        ),
        *(
            shown + mark
            for shown in ("MMYY", "YYMM", "YYQ")
            for mark in ("", "C", "D", "N", "P", "S")
        ),
    ),
}
_MORE_MOMENTS = ("DTMONYY", "DTWKDATX", "DTYEAR", "DTYYQC", "NLDATM", "YMDHMS")  # of SAS
_DATE = re.compile(
    r"%(d|t[dwmqhy]).*|[AESJ]?DATE|DTDATE|WEEKDAT[EX]|([BE]8|IS8)601DA|(MMDDYY|DDMMYY|YYMMDD)[A-Z]?"
)
_MOMENT = re.compile(r"%t[cC].*|DATETIME|DATEAMPM|MDYAMPM|YMDHMS|([BE]8|IS8)601D[TNXZ]")
_TIME = re.compile(r"%tb.*|[DM]?TIME|HHMM|HOUR|MMSS|TOD|TIMEAMPM|([BE]8|IS8)601TM")


def require_reader(ending: str) -> Any:
    """The package that reads and writes files of an ending, None where no extra does; refuses where
    it is not installed.
    """
    package = _READS.get(ending.lower())
    return package and optional(package, f"a {ending} file")


def takes_name(name: str, ending: str) -> bool:
    """Whether the package of an ending can name a column so."""
    if name in _WORDS[ending] or (ending != ".dta" and name.upper() in _WORDS[ending]):
        return False
    letters = all(
        sign.isascii() or (sign.isalnum() and ord(sign) >= _FIRST_LETTER) for sign in name
    )
    if ending == ".sav":
        return (
            letters
            and re.fullmatch(r"[^\W\d_]([\w.@#$]*[\w@#$])?", name) is not None
            and len(name.encode()) <= 64
        )
    if ending == ".dta":
        return letters and re.fullmatch(r"(?!str\d+$)[^\W\d]\w{0,31}", name) is not None
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,31}", name) is not None


def refuse_names(names: Iterable[object], ending: str) -> None:
    """Refuse names of columns that the package of an ending cannot have, or takes for the same."""
    columns = list(map(str, names))
    wrong = [name for name in columns if not takes_name(name, ending)]
    if wrong:
        raise InputError(
            f"{_PACKAGE[ending]} cannot name a column {listing(wrong)}: valid are "
            f"{_NAMES[ending]}; rename it, or choose csv or parquet"
        )
    lower = Counter(name.lower() for name in columns)
    same = [name for name in columns if lower[name.lower()] > 1]
    if same and ending != ".dta":
        raise InputError(
            f"{_PACKAGE[ending]} takes the columns {listing(same)} for the same: rename them, or "
            "choose csv or parquet"
        )


def type_of_format(name: str, ending: str) -> str:
    """The type of a number by how a file of an ending shows it, as it is read; "" of a time of the
    day, "numeric" where it is no date.
    """
    shown = shown_to_the_right(name) if ending == ".dta" else re.sub(r"[\d.]+$", "", name.upper())
    if _MOMENT.fullmatch(shown) or (ending != ".sav" and shown in _MORE_MOMENTS):
        return "date and time"
    if _DATE.fullmatch(shown) or shown in _MORE_DATES[".sav" if ending == ".sav" else ".xpt"]:
        return "date"
    return "" if _TIME.fullmatch(shown) else "numeric"


def shown_to_the_right(name: str) -> str:
    """A format of Stata, %-td or %td, as that of a column shown to the right."""
    return re.sub("^%-", "%", name)


def more_dates(ending: str) -> dict[str, list[str]]:
    """What the reader of SPSS and SAS is told of further formats of dates."""
    times = ["MTIME"] if ending == ".sav" else ["HOUR", "MMSS"]
    dates = {
        "extra_date_formats": list(_MORE_DATES[".sav" if ending == ".sav" else ".xpt"]),
        "extra_time_formats": times,
    }
    return dates if ending == ".sav" else {**dates, "extra_datetime_formats": list(_MORE_MOMENTS)}


def write_foreign(
    table: pd.DataFrame,
    path: Path,
    label: str,
    name: str,
    variables: Mapping[str, Variable] | None = None,
) -> None:
    """Write a Stata, SPSS or SAS file, with a fixed date inside so that the same table gives the
    same bytes.

    `variables`: what is known of the columns; without it dates are written as text and nothing is
    labelled.
    """
    ending, stated = path.suffix, variables or {}
    plain = _plain_columns(table, ending, stated)
    pyreadstat = require_reader(ending)
    labels = {
        column: stated[column].short_label(_LABEL[ending], in_bytes=ending != ".dta")
        for column in plain
        if column in stated
    }
    labels = {column: text for column, text in labels.items() if text}
    try:
        if ending == ".dta":
            _write_stata(plain, path, label, labels, stated)
            return
        if ending == ".sav":
            moments = _in_nanoseconds(plain)
            pyreadstat.write_sav(
                moments,
                path,
                file_label=label,
                column_labels=labels or None,
                **_of_spss(moments, stated),
            )
        else:
            pyreadstat.write_xport(
                _in_nanoseconds(plain), path, file_label=label, column_labels=labels or None
            )
    except OSError:
        raise
    except Exception as error:  # its own message may quote the data
        raise InputError(
            f"{name!r} cannot be written ({type(error).__name__}); choose csv or parquet"
        ) from None
    length, stamp, fixed = _DATES[ending]
    content = path.read_bytes()
    path.write_bytes(re.sub(stamp, fixed, content[:length]) + content[length:])


def _write_stata(
    plain: pd.DataFrame,
    path: Path,
    label: str,
    labels: dict[str, str],
    stated: Mapping[str, Variable],
) -> None:
    values = {}
    for name in plain:
        labelled = (
            stated[name].number_labels
            if name in stated and pd.api.types.is_numeric_dtype(plain[name].dtype)
            else {}
        )
        whole = {int(code): text for code, text in labelled.items() if _is_stata_code(code)}
        if whole:
            values[name] = {
                code: truncate(text, _VALUE_LABEL[".dta"], in_bytes=True)
                for code, text in whole.items()
            }
    dates = {
        name: _stata_date(stated[name].type)
        for name in plain
        if pd.api.types.is_datetime64_any_dtype(plain[name].dtype)
    }
    plain.to_stata(
        path,
        write_index=False,
        version=118,
        data_label=label or None,
        time_stamp=datetime.datetime(1970, 1, 1),
        variable_labels=labels or None,
        value_labels=values or None,
        convert_dates=dates or None,
    )


def _in_nanoseconds(plain: pd.DataFrame) -> pd.DataFrame:
    """Dates as the writer takes them in every version: of other units it writes a gap as some date
    (pyreadstat 1.3.0).
    """
    made = {}
    for name in plain:
        if pd.api.types.is_datetime64_dtype(plain[name].dtype):
            with contextlib.suppress(pd.errors.OutOfBoundsDatetime, OverflowError):
                made[name] = plain[name].astype("datetime64[ns]")
    return with_columns(plain, made)


def _stata_date(kind: str) -> str:
    return "td" if kind == "date" else "tc"


def _is_stata_code(code: Code) -> bool:
    return float(code).is_integer() and abs(float(code)) < _STATA_CODES


def _of_spss(plain: pd.DataFrame, stated: Mapping[str, Variable]) -> dict[str, Any]:
    """Value labels and missing codes, those that SPSS can hold: at most three codes, or one range
    and one code.
    """
    values, missing = {}, {}
    for name in plain:
        variable = stated.get(name)
        if variable is None:
            continue
        number = pd.api.types.is_numeric_dtype(plain[name].dtype)
        labels = variable.number_labels if number else variable.values
        labelled = {
            code: truncate(text, _VALUE_LABEL[".sav"], in_bytes=True)
            for code, text in labels.items()
            if text
        }
        labelled = {
            code: text
            for code, text in labelled.items()
            if isinstance(code, str) != number and _is_short(code)
        }
        if labelled and (number or _is_text(plain[name])):
            values[name] = labelled
        codes = _spss_missing(variable, number)
        if codes and (number or _is_text(plain[name])):
            missing[name] = codes
    return {"variable_value_labels": values or None, "missing_ranges": missing or None}


def _is_text(column: pd.Series) -> bool:
    return bool(column.map(lambda cell: isinstance(cell, str)).all())


def _is_short(code: object) -> bool:
    return not isinstance(code, str) or len(code.encode()) <= _SHORT_TEXT


def _spss_missing(variable: Variable, number: bool) -> list[Any]:
    if not number:
        texts = [text for text in variable.missing_texts if _is_short(text)]
        return texts if len(texts) <= _MOST_MISSING else []
    ranges = [
        {"lo": max(least, -_EDGE), "hi": min(most, _EDGE)}
        for least, most in variable.missing_ranges
    ]
    codes = list(variable.missing_numbers)
    fits = len(codes) <= _MOST_MISSING if not ranges else len(ranges) == 1 and len(codes) <= 1
    return [*ranges, *codes] if fits else []


def _plain_columns(
    table: pd.DataFrame, ending: str, stated: Mapping[str, Variable]
) -> pd.DataFrame:
    """Columns as numbers, text and stated dates, checked against what the package can name and
    hold.
    """
    refuse_names(table, ending)
    return pd.DataFrame(
        {name: _plain_column(table[name], ending, stated.get(str(name))) for name in table}
    )


def _plain_column(column: pd.Series, ending: str, stated: Variable | None) -> pd.Series:
    """Numbers (truth values as 0 and 1), dates where that is stated, or text (missing as empty)."""
    if (
        stated is not None
        and pd.api.types.is_datetime64_dtype(column.dtype)
        and stated.type in ("date", "date and time")
    ):
        moments = column.reset_index(drop=True).astype("datetime64[us]")
        days = [None if pd.isna(moment) else moment.date() for moment in moments]
        return (
            pd.Series(days, dtype=object, name=column.name)
            if stated.type == "date" and ending != ".dta"
            else moments
        )
    column = as_plain_numbers(column)
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(
        column.dtype
    ):
        whole = pd.api.types.is_integer_dtype(column.dtype)
        if whole and (column.abs() > 2**53).any():
            raise InputError(
                f"{_PACKAGE[ending]} keeps no whole number beyond 2^53, and {column.name!r} has "
                "some; choose csv or parquet"
            )
        small = whole and not column.hasnans and (column.abs() < 2**31 - 100).all()
        return column.astype("int32" if small else "float64").reset_index(drop=True)
    kinds = {type(value).__name__ for value in column.dropna().unique()}
    if not kinds <= {"str", "bool", "Timestamp", "datetime", "date"}:
        raise InputError(
            f"{_PACKAGE[ending]} cannot hold {column.name!r}, which has values of type "
            f"{listing(sorted(kinds))}"
        )
    text = column.astype(object).where(column.notna(), "").astype(str).reset_index(drop=True)
    longest, most = max(map(len, text.str.encode("utf-8")), default=0), _TEXT_BYTES[ending]
    if longest > most:
        raise InputError(
            f"{_PACKAGE[ending]} holds text of at most {most} bytes, and {column.name!r} has "
            f"{longest}; choose csv or parquet"
        )
    return text
