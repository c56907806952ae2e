"""From posterior draws to L synthetic datasets that look like the confidential one."""

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_count
from riskweighted.common.errors import InputError

__all__ = ["as_column", "spread_draws"]


def spread_draws(chains: int, draws: int, count: int) -> list[tuple[int, int]]:
    """`count` distinct (chain, draw) pairs: chains in turn, and within a chain evenly spaced (METHODS section 5)."""
    check_count(count, most=chains * draws)
    pairs = []
    for chain in range(chains):
        share = count // chains + (chain < count % chains)
        places = np.floor((np.arange(share) + 0.5) * draws / max(share, 1)).astype(int)
        pairs.append([(chain, int(place)) for place in places])
    longest = max(len(row) for row in pairs)
    return [row[turn] for turn in range(longest) for row in pairs if turn < len(row)]


def as_column(values: np.ndarray, original: pd.Series) -> pd.Series:
    """Drawn values with the dtype and index of the confidential column; whole-number columns are rounded.

    Raises
    ------
    InputError
        If a drawn value is not finite or does not fit the dtype (a model far from its data).
    """
    numpy_dtype = getattr(original.dtype, "numpy_dtype", original.dtype)
    if pd.api.types.is_integer_dtype(original.dtype):
        values = np.rint(values)
        limits = np.iinfo(numpy_dtype)
        fits = (values >= limits.min) & (values < float(limits.max) + 1)  # max + 1 is a power of two: exact
    else:
        fits = np.abs(values) <= np.finfo(numpy_dtype).max
    unusable = int((~fits).sum())
    if unusable:
        raise InputError(
            f"the model drew {unusable} values of {original.name!r} that do not fit dtype {original.dtype}; "
            "check convergence, the transform and the weights"
        )
    return pd.Series(values, original.index, name=original.name).astype(original.dtype)
