"""What a value of a numeric variable is: an amount, missing, or a special code such as -8 for "does
not apply".

Amounts are near each other by their distance. A missing value is near a missing one and a code near
the same code, and nothing else is: whether there is an amount is told by equality, like a category.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_number
from riskweighted.common.errors import InputError
from riskweighted.common.found import FoundNumbers, found_numbers

__all__ = ["AMOUNT", "MISSING", "Statuses", "check_codes", "find_statuses", "status_name"]

AMOUNT, MISSING = 0, 1  # of a status; the special codes follow in their order


class Statuses(NamedTuple):
    """``status`` (n,): 0 an amount, 1 missing, 2, 3, ... the special codes in their order;
    ``values`` (n,): the amounts, 0 elsewhere.
    """

    status: np.ndarray
    values: np.ndarray

    @property
    def is_amount(self) -> np.ndarray:
        """Which records hold an amount, (n,)."""
        return np.asarray(self.status == AMOUNT)

    @property
    def amounts(self) -> np.ndarray:
        """The amounts alone, (m,)."""
        return self.values[self.is_amount] if self.status.any() else self.values

    @property
    def numbers(self) -> np.ndarray:
        """The amounts, NaN elsewhere, (n,)."""
        return np.where(self.is_amount, self.values, np.nan)

    @property
    def present(self) -> list[int]:
        """The statuses that occur, amounts aside."""
        return [
            status
            for status in np.flatnonzero(np.bincount(self.status)).tolist()
            if status != AMOUNT
        ]


def find_statuses(column: pd.Series, codes: Sequence[float] = ()) -> Statuses:
    """The status of every value of a numeric column (n,) of any dtype; in one of half precision
    codes are compared as it stores them.
    """
    values = column.to_numpy(dtype=float, na_value=np.nan, copy=True)
    status = np.isnan(values).astype(np.int16)  # MISSING is 1, AMOUNT 0
    for status_of_code, code in enumerate(codes, start=MISSING + 1):
        status[values == (np.float32(code) if column.dtype == np.float32 else code)] = (
            status_of_code
        )
    if status.any():
        values[status != AMOUNT] = 0.0
    return Statuses(status, values)


def status_name(status: int, codes: Sequence[float]) -> str:
    """A status in words: "amount", "missing", or the code."""
    return (
        ("amount", "missing")[status]
        if status <= MISSING
        else f"{codes[status - MISSING - 1]:.15g}"
    )


def check_codes(given: object) -> dict[str, tuple[float, ...]]:
    """The setting ``codes``, special codes by variable, one or several each; refuses what is no
    table, no finite number, or repeated.
    """
    if not isinstance(given, Mapping):
        raise InputError(
            "codes must be a table of special codes by variable, such as income = [-8], got "
            f"{type(given).__name__}"
        )
    checked: dict[str, tuple[float, ...]] = {}
    for name, codes in given.items():
        codes, found = found_numbers(codes)
        several = list(codes) if isinstance(codes, (list, tuple, np.ndarray)) else [codes]
        for code in several:
            check_number(code, f"codes of {name!r}")
        checked[name] = (FoundNumbers if found else tuple)(float(code) for code in several)
        if not several or len(set(checked[name])) < len(several):
            raise InputError(
                f"codes of {name!r} must be one special code or several different ones, got "
                f"{len(several)}"
            )
    return checked
