"""Both files of a unicity search as compiled code takes them."""

from typing import NamedTuple

import numpy as np

__all__ = ["CodedFiles"]


class CodedFiles(NamedTuple):
    """The linking variables of both files.

    ``puf`` (n, v), ``eif`` (m, v): code of each record in each variable, 0 .. levels - 1, -1 where it is missing; ``levels`` (v,):
    codes of each variable; ``bits`` (v,): its bit in a set of variables.
    """

    puf: np.ndarray
    eif: np.ndarray
    levels: np.ndarray
    bits: np.ndarray
