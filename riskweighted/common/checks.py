"""Checks of single settings: numbers, counts, seeds; each refuses in one line."""

import math
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from riskweighted.common.errors import InputError, listing

__all__ = [
    "MOST_RESAMPLES",
    "check_choice",
    "check_count",
    "check_function",
    "check_given",
    "check_names",
    "check_number",
    "check_path",
    "check_reasons",
    "check_seed",
    "check_sequence",
    "check_share",
    "check_text",
    "function_name",
    "is_number",
    "path_from",
    "real_path",
]


# 8 MB a dataset and statistic; the interval's own Monte Carlo error is then 0.1 % of its length
MOST_RESAMPLES = 1_000_000


def is_number(value: object) -> bool:
    """Whether a setting is a finite real number (and not a truth value)."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def check_seed(seed: object, what: str = "random_seed") -> None:
    """Refuse a random seed that is neither None nor a whole number >= 0."""
    if seed is not None and (not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0):
        raise InputError(f"{what} must be a whole number >= 0 or None, got {seed!r}")


def check_count(count: int, what: str = "L", most: int | None = None, least: int = 1) -> int:
    """Refuse a count that is not whole, below `least`, or above `most`; of datasets that is the
    number of posterior draws.
    """
    if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < least:
        raise InputError(f"{what} must be a whole number >= {least}, got {count!r}")
    if most is not None and count > most:
        raise InputError(
            f"{what} must be at most "
            f"{most}{' (the number of posterior draws)' if what == 'L' else ''}, got {count}"
        )
    return int(count)


def check_number(value: object, what: str, least: float | None = None) -> float:
    """Refuse what is not a finite number, or is below `least`."""
    if not isinstance(value, Real) or not is_number(value) or (least is not None and value < least):
        raise InputError(
            f"{what} must be a finite number{'' if least is None else f' >= {least:g}'}, got "
            f"{value!r}"
        )
    return float(value)


def check_share(value: object, what: str) -> float:
    """Refuse what is not a number strictly between 0 and 1."""
    if not isinstance(value, Real) or not is_number(value) or not 0 < float(value) < 1:
        raise InputError(f"{what} must lie between 0 and 1, got {value!r}")
    return float(value)


def check_choice(value: object, valid: Collection[str], what: str) -> None:
    """Refuse what is none of the valid names."""
    if not isinstance(value, str) or value not in valid:
        raise InputError(f"{what} must be one of {listing(valid)}, got {value!r}")


def check_text(value: object, what: str, *, optional: bool = False) -> None:
    """Refuse what is not text, or None where that is allowed."""
    if not (isinstance(value, str) or (optional and value is None)):
        raise InputError(f"{what} must be text, got {type(value).__name__}")


def check_function(value: object, what: str) -> None:
    """Refuse what is neither a callable nor the name of one, "package.module:function", of which
    nothing is imported.
    """
    if callable(value) or (
        isinstance(value, str) and re.fullmatch(r"\w+(\.\w+)*:\w+(\.\w+)*", value)
    ):
        return
    got = repr(value) if isinstance(value, str) else type(value).__name__
    raise InputError(
        f"{what} must be 'package.module:function' or, in Python, a callable; got {got}"
    )


def function_name(function: str | Callable[..., Any]) -> str:
    """What a function is called in tables and in a study file: "package.module:function", of a
    script or a notebook its name alone.
    """
    if isinstance(function, str):
        return function
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", type(function).__name__)
    return str(name) if module in (None, "__main__") else f"{module}:{name}"


def check_sequence(value: object, what: str) -> tuple[object, ...]:
    """A list as a tuple; refuses text, tables and single values."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InputError(f"{what} must be a list, got {type(value).__name__}")
    return tuple(value)


def check_reasons(value: object, what: str) -> dict[str, str]:
    """A table of reasons by column."""
    if not isinstance(value, Mapping):
        raise InputError(
            f'{what} must be a table of reasons by column, such as {{ age = "it is public" }}, '
            f"got {type(value).__name__}"
        )
    for name, reason in value.items():
        check_text(reason, f"{what}.{name}")
        if not reason.strip():
            raise InputError(f"{what}.{name} must give a reason, got an empty text")
    return dict(value)


def check_path(value: object, what: str) -> Path:
    """The name of a file or folder as a path."""
    if not isinstance(value, (str, Path)) or not str(value):
        raise InputError(f"{what} must be the name of a file or folder, got {type(value).__name__}")
    if "\0" in str(value):
        raise InputError(
            f"{what} must be the name of a file or folder, and no name holds a NUL character"
        )
    return Path(value)


def real_path(path: Path) -> Path:
    """Absolute and without links, as `Path.resolve`; which raises where links lead in a circle, and
    this does not.
    """
    return Path(os.path.realpath(path))


def path_from(folder: Path, path: Path) -> str:
    """A path as a file in `folder` names it on any system: relative, with slashes; absolute from
    another drive.
    """
    try:
        return Path(os.path.relpath(path.absolute(), folder.absolute())).as_posix()
    except ValueError:  # another drive
        return path.absolute().as_posix()


def check_given(value: object, name: str, attribute: str, kind: str, made_by: str) -> None:
    """Refuse a name, a table or nothing where an object of ours is expected: one has this
    attribute, and what makes it is said.
    """
    if isinstance(value, type) or not hasattr(value, attribute):
        raise InputError(f"{name} must be a {kind}, as {made_by} gives, got {type(value).__name__}")


def check_names(value: object, what: str) -> tuple[str, ...]:
    """One name or several as a tuple; refuses what is no text, and repeats."""
    if not isinstance(value, (str, Sequence)):
        raise InputError(
            f"{what} must be a column name or a sequence of them, got {type(value).__name__}"
        )
    names = (value,) if isinstance(value, str) else tuple(value)
    if any(not isinstance(name, str) for name in names):
        raise InputError(
            f"{what} must be column names (strings), got {listing(type(n).__name__ for n in names)}"
        )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(f"{what} names {listing(repeated)} more than once")
    return names
