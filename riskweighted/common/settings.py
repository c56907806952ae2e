"""Settings files: TOML tables to the frozen classes that declare the settings, and back.

A settings class is a frozen dataclass that checks itself when it is made, in Python as from a file,
so that each setting is declared once. A class with settings of its own naming offers ``from_table``
and ``to_table``.
"""

import dataclasses
import json
import math
import re
import tomllib
import typing
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from riskweighted.common.checks import check_path
from riskweighted.common.errors import InputError, listing
from riskweighted.common.replaced import refuse_replaced

__all__ = [
    "APART",
    "UNSAID",
    "as_table",
    "as_toml",
    "as_tuples",
    "fields_to_table",
    "flat",
    "from_table",
    "read_by",
    "read_fields",
    "read_toml",
    "setting_names",
    "to_table",
]

T = TypeVar("T")
# metadata of a field that came later, and is in no key while it has its default
UNSAID = {"unsaid": True}
APART = {"apart": True}  # metadata of a field that stands in no file under its own name


def read_by(*stages: str, why: str) -> dict[str, object]:
    """Metadata of a field that these stages alone read of those that read its class
    (`riskweighted.runs.stages`), and the reason.

    Without a stage: a field that changes no result. A field that says nothing is read by every
    stage that reads its class.
    """
    return {"read_by": stages, "why": why}


def flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The values of nested tables, by names with dots: ``release.L`` of a table in a table."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def read_toml(path: str | Path, what: str) -> dict[str, Any]:
    """The tables of a TOML file; `what` names its kind in an error."""
    path = check_path(path, f"{what} file")
    if not path.is_file():
        raise InputError(f"there is no {what} file {str(path)!r}")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name!r} is not valid TOML: {str(error).splitlines()[0]}") from None


def as_toml(table: Mapping[str, Any], above: str = "") -> str:
    """Plain tables, lists and values (`to_table`) as TOML; what is None is left out, or infinite as
    an open end in a list.
    """
    lines = [
        f"{_key(name)} = {_value(value)}"
        for name, value in table.items()
        if not isinstance(value, Mapping) and not _are_tables(value) and value is not None
    ]
    parts = ["".join(f"{line}\n" for line in lines)]
    for name, inner in table.items():
        below = _dotted(above, _key(name))
        if isinstance(inner, Mapping):
            parts.append(f"\n[{below}]\n{as_toml(inner, below)}")
        elif _are_tables(inner):
            parts += [f"\n[[{below}]]\n{as_toml(each, below)}" for each in inner]
    return "".join(parts)


def _are_tables(value: Any) -> bool:
    """Whether a value is a list of tables."""
    return isinstance(value, (list, tuple)) and bool(value) and isinstance(value[0], Mapping)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        open_ends = [
            ("inf" if number else "-inf") if inner is None else _value(inner)
            for number, inner in enumerate(value)
        ]
        return f"[{', '.join(open_ends)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def from_table(kind: type[T], table: object, above: str = "") -> T:
    """A checked instance of a settings class, a frozen dataclass, from a table as TOML or JSON
    gives it; tables in it become the settings classes of their fields. `above` is the dotted name
    of the table, for errors: a setting that is unknown (the valid ones are listed), missing, or
    refused by the class.
    """
    reader = getattr(kind, "from_table", None)
    return (
        read_fields(kind, table, above) if reader is None else typing.cast(T, reader(table, above))
    )


def read_fields(
    kind: type[T], table: object, above: str, others: Iterable[str] = (), **more: Any
) -> T:
    """The fields of a class from a table; `more` are those that stand elsewhere, under the names of
    `others`.
    """
    given = as_table(table, above)
    names = [field.name for field in _fields(kind)]
    unknown = [name for name in given if name not in names]
    if unknown:
        refuse_replaced("setting", _dotted(above, unknown[0]))
        raise InputError(
            f"unknown setting {_dotted(above, unknown[0])!r}; valid here are "
            f"{listing([*names, *others])}"
        )
    missing = [
        field.name for field in _fields(kind) if _required(field) and field.name not in given
    ]
    if missing:
        raise InputError(f"setting {_dotted(above, missing[0])!r} is missing")
    sections = _sections(kind)
    read = {
        name: from_table(sections[name], value, _dotted(above, name))
        if name in sections and value is not None
        else value
        for name, value in given.items()
    }
    try:
        return kind(**read, **more)
    except InputError as error:
        first = str(error).split(" ", 1)[0]
        raise InputError(
            f"setting {_dotted(above, first)!r}: {error}" if first in names else str(error)
        ) from None


def as_table(table: object, above: str) -> Mapping[str, Any]:
    """Refuse what is no table."""
    if not isinstance(table, Mapping):
        raise InputError(
            f"{f'setting {above!r}' if above else 'the settings'} must be a table, got "
            f"{type(table).__name__}"
        )
    return table


def as_tuples(value: Any) -> Any:
    """Lists as tuples, those in lists too: what is made of such settings has a hash."""
    return tuple(map(as_tuples, value)) if isinstance(value, (list, tuple)) else value


def to_table(settings: Any) -> Any:
    """Settings as plain tables, lists and values, which `from_table` reads back; paths become text.

    An infinite end in a list is None, as JSON has no infinite numbers: (0, inf) becomes [0, None],
    which settings take alike.
    """
    writer = getattr(settings, "to_table", None)
    if writer is not None:
        return writer()
    if dataclasses.is_dataclass(settings) and not isinstance(settings, type):
        return fields_to_table(settings)
    if isinstance(settings, Mapping):
        return {name: to_table(value) for name, value in settings.items()}
    if isinstance(settings, (list, tuple)):
        return [
            None if isinstance(value, float) and math.isinf(value) else to_table(value)
            for value in settings
        ]
    return str(settings) if isinstance(settings, Path) else settings


def fields_to_table(settings: Any) -> dict[str, Any]:
    """The fields of a settings class as plain values."""
    return {
        field.name: to_table(getattr(settings, field.name)) for field in _fields(type(settings))
    }


def setting_names(kind: type[Any]) -> list[str]:
    """The settings of a class by name, those of its sections with a dot."""
    sections = _sections(kind)
    names = []
    for field in _fields(kind):
        inner = sections.get(field.name)
        names += (
            [f"{field.name}.{name}" for name in setting_names(inner)] if inner else [field.name]
        )
    return names


def _fields(kind: type[Any]) -> list["dataclasses.Field[Any]"]:
    return [field for field in dataclasses.fields(kind) if not field.metadata.get("apart")]


def _required(field: "dataclasses.Field[Any]") -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _sections(kind: type[Any]) -> dict[str, type[Any]]:
    """Fields that are settings classes themselves, optional ones too."""
    hints = typing.get_type_hints(kind)
    candidates = {
        field.name: [hints[field.name], *typing.get_args(hints[field.name])]
        for field in _fields(kind)
    }
    return {
        name: hint
        for name, types in candidates.items()
        for hint in types
        if isinstance(hint, type) and dataclasses.is_dataclass(hint)
    }


def _dotted(above: str, name: str) -> str:
    return f"{above}.{name}" if above else name
