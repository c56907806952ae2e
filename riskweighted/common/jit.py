"""Compiled functions, typed as what they compute."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["kernel"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def kernel(function: _Function) -> _Function:
    """Compile a function with numba at its first call and keep the machine code beside its file.

    It releases the interpreter's lock, so that it may run in threads. Its arguments are numbers,
    arrays and NamedTuples of them.
    """
    return cast(_Function, numba.njit(cache=True, nogil=True)(function))
