"""Records that nothing shuffles: alone in their pattern of released columns, and which columns make
them so (METHODS section 13.1).
"""

import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd

from riskweighted.common.errors import SingletonWarning, listing
from riskweighted.disclosure.shuffle import released_patterns

__all__ = ["columns_that_part", "warn_of_columns_that_part"]

_MANY = 0.5  # share of records alone from which on columns are named


def _share_alone(patterns: np.ndarray) -> float:
    """The share of the records that are alone in their pattern, of codes (n,)."""
    return float((np.bincount(patterns)[patterns] == 1).mean()) if len(patterns) else 0.0


def columns_that_part(
    confidential: pd.DataFrame, released: Sequence[str]
) -> tuple[tuple[str, ...], float, float]:
    """Return the columns that leave most records alone in their released pattern, and the share
    that is alone with and without them.

    Columns of the most distinct values are taken away one by one, until fewer than half of the
    records are alone. No column is named where fewer are alone anyway.
    """
    left, taken = list(dict.fromkeys(released)), list[str]()
    with_all = share = _share_alone(released_patterns(confidential, left))
    distinct = {name: confidential[name].nunique(dropna=False) for name in left}
    while share >= _MANY and left:
        taken.append(max(left, key=distinct.__getitem__))
        left.remove(taken[-1])
        share = _share_alone(released_patterns(confidential, left))
    return (tuple(taken) if share < with_all else ()), with_all, share


def warn_of_columns_that_part(confidential: pd.DataFrame, released: Sequence[str]) -> None:
    """Warn (`SingletonWarning`) of released columns, such as a survey weight or an id, that leave
    most records alone.
    """
    names, share, without = columns_that_part(confidential, released)
    if names:
        warnings.warn(
            f"released {listing(names)} leaves {share:.0%} of the records alone in their "
            f"released pattern ({without:.0%} without): "
            "shuffling does nothing for them, whose L datasets are joined by row; leave it out, "
            "round or group it, or release replicate "
            "weights by group",
            SingletonWarning,
            stacklevel=4,
        )
