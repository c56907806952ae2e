"""What a data file says of its own columns: labels, value labels, missing codes and types, by
format.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from riskweighted.common.errors import InputError
from riskweighted.common.settings import from_table
from riskweighted.data.foreign import require_reader, type_of_format
from riskweighted.data.sidecar import sidecar_text
from riskweighted.data.variable import Missing, Variable

__all__ = ["DESCRIBING", "META", "codes_of_kinds", "meta_text", "read_metadata"]

# what holds anything of the kind; a csv and a file of R do not
DESCRIBING = (".sav", ".dta", ".xpt", ".sas7bdat", ".parquet")
META = b"riskweighted.variables"  # key of a parquet file's metadata: a sidecar file's text, as TOML
_ATTRS = b"PANDAS_ATTRS"
_LOWEST = 1.7e308  # beyond it an end of a range of SPSS is open
_PACKAGE = {
    ".sav": "SPSS",
    ".dta": "Stata",
    ".xpt": "SAS",
    ".sas7bdat": "SAS",
    ".parquet": "parquet",
}


def read_metadata(path: Path) -> dict[str, Variable]:
    """What a file of SPSS, Stata, SAS or parquet says, by column in its order. Of SPSS, Stata and
    SAS a number's type is "numeric": they have one type for numbers, or one that says how they are
    stored.
    """
    try:
        read: Callable[[Path], dict[str, Variable]] = (
            _from_parquet if path.suffix.lower() == ".parquet" else _from_package
        )
        return read(path)
    except InputError:
        raise
    except Exception as error:  # a parser's own message may quote the data
        raise InputError(f"{path.name!r} cannot be read ({type(error).__name__})") from None


def _from_package(path: Path) -> dict[str, Variable]:
    kind = path.suffix.lower()
    pyreadstat = require_reader(".sav" if kind == ".dta" else kind)
    read = {
        ".sav": pyreadstat.read_sav,
        ".dta": pyreadstat.read_dta,
        ".xpt": pyreadstat.read_xport,
        ".sas7bdat": pyreadstat.read_sas7bdat,
    }
    meta = read[kind](
        path, metadataonly=True, **({"user_missing": True} if kind == ".sav" else {})
    )[1]
    described = {}
    for name in meta.column_names:
        format_ = str(meta.original_variable_types.get(name) or "")
        is_text = meta.readstat_variable_types.get(name) == "string"
        labels = {
            code: str(text)
            for code, text in meta.variable_value_labels.get(name, {}).items()
            if isinstance(code, str) == is_text
        }
        ranges = tuple(
            _range(given["lo"], given["hi"]) for given in meta.missing_ranges.get(name, ())
        )
        described[str(name)] = Variable(
            str(meta.column_names_to_labels.get(name) or ""),
            labels,
            ranges,
            type="text" if is_text else type_of_format(format_, kind),
            source=f"{path.name} ({_PACKAGE[kind]}{' ' if format_ else ''}{format_})",
        )
    return described


def _range(least: Any, most: Any) -> Missing:
    if least == most or isinstance(least, str):
        return str(least) if isinstance(least, str) else float(least)
    # NaN is open, too
    return (
        float(least) if least >= -_LOWEST else -float("inf"),
        float(most) if most <= _LOWEST else float("inf"),
    )


def _from_parquet(path: Path) -> dict[str, Variable]:
    """Ours, where we wrote it; else the types, the labels that a field has, and what pandas kept of
    ``frame.attrs``.
    """
    import pyarrow.parquet as pq

    schema = pq.read_schema(path)
    meta = schema.metadata or {}
    ours = _own_tables(meta[META].decode()) if META in meta else {}
    attrs = json.loads(meta[_ATTRS]) if _ATTRS in meta else {}
    labels, values = (_table(attrs.get(name)) for name in ("variable_labels", "value_labels"))
    index = _names_of_index(meta)
    described = {}
    for field in schema:
        if field.name in index:
            continue
        own = {
            key.decode().lower(): value.decode(errors="replace")
            for key, value in (field.metadata or {}).items()
        }
        table = {
            "label": str(
                labels.get(field.name) or own.get("label") or own.get("description") or ""
            ),
            "values": _table(values.get(field.name)) or _levels(path, field),
            "type": _type_of_arrow(field.type),
            "source": f"{path.name} (parquet {_short(field.type)})",
        }
        described[field.name] = from_table(
            Variable, {**table, **ours.get(field.name, {})}, field.name
        )
    return described


def _levels(path: Path, field: Any) -> dict[str, str]:
    """The levels of a category, which have no labels."""
    import pyarrow.parquet as pq
    import pyarrow.types as of

    if not of.is_dictionary(field.type):
        return {}
    column = pq.read_table(path, columns=[field.name]).column(0)
    return {
        str(level): ""
        for chunk in column.unify_dictionaries().chunks
        for level in chunk.dictionary.to_pylist()
    }


def _own_tables(text: str) -> Mapping[str, Any]:
    import tomllib

    return tomllib.loads(text)


def _table(given: object) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def _names_of_index(meta: Mapping[bytes, bytes]) -> set[str]:
    """Columns that pandas makes an index without a name again."""
    held = json.loads(meta.get(b"pandas", b"{}"))
    nameless = {
        column["field_name"] for column in held.get("columns", []) if column["name"] is None
    }
    return {
        name for name in held.get("index_columns", []) if isinstance(name, str) and name in nameless
    }


def _short(kind: Any) -> str:
    return str(kind).partition("<")[0]


def _type_of_arrow(kind: Any) -> str:
    import pyarrow.types as of

    if of.is_dictionary(kind):
        return "ordered category" if kind.ordered else "category"
    rules = {
        "yes or no": of.is_boolean,
        "whole number": of.is_integer,
        "number": of.is_floating,
        "date": of.is_date,
    }
    rules |= {
        "date and time": of.is_timestamp,
        "text": lambda kind: of.is_string(kind) or of.is_large_string(kind),
    }
    return next((name for name, suits in rules.items() if suits(kind)), "")


def meta_text(variables: Mapping[str, Variable]) -> str:
    """What stands under `META`."""
    return sidecar_text(variables, ".toml")


def codes_of_kinds(path: Path) -> dict[str, int]:
    """By column how many kinds of missing values (.a to .z of Stata, .A to .Z of SAS) a file tells
    apart that are all read as missing.
    """
    kind = path.suffix.lower()
    if kind not in (".dta", ".xpt", ".sas7bdat"):
        return {}
    pyreadstat = require_reader(".sav" if kind == ".dta" else kind)
    read = {
        ".dta": pyreadstat.read_dta,
        ".xpt": pyreadstat.read_xport,
        ".sas7bdat": pyreadstat.read_sas7bdat,
    }[kind]
    try:
        found = read(path, **({} if kind == ".xpt" else {"user_missing": True}))[
            1
        ].missing_user_values
    except Exception:  # what is wrong with the file is said by who reads its values
        return {}
    return {str(name): len(kinds) for name, kinds in found.items() if kinds}
