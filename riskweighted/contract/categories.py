"""A categorical target as numbers: synthesizers draw codes 0, ..., K - 1 of the levels that they
name.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.contract.synthesizer import ContractError, Synthesizer

__all__ = ["categories_of", "codes_in", "target_numbers"]


def categories_of(synthesizer: Synthesizer, prepared: Any) -> tuple[object, ...] | None:
    """The levels of a categorical target in the order of its codes, two or more different ones;
    None where the synthesizer draws values.
    """
    name = getattr(synthesizer, "categories", None)
    if not callable(name):
        return None
    levels = name(prepared)
    if not isinstance(levels, tuple) or len(levels) < 2 or len(set(levels)) < len(levels):
        raise ContractError(
            f"{type(synthesizer).__name__}: categories must give a tuple of two or more "
            "different values"
        )
    return levels


def codes_in(column: pd.Series, levels: Sequence[object]) -> np.ndarray:
    """Place of each value among the levels, (n,); -1 for a missing one and for none of them."""
    return np.asarray(
        pd.Index(list(levels), dtype=object).get_indexer(
            pd.Index(column.astype(object), dtype=object)
        )
    )


def target_numbers(synthesizer: Synthesizer, prepared: Any, frame: pd.DataFrame) -> np.ndarray:
    """The target of a frame on the scale of ``draw`` and ``mass``, (n,): codes of a categorical
    one, else its values as floats.
    """
    levels, column = categories_of(synthesizer, prepared), frame[synthesizer.target]
    return np.asarray(
        column.to_numpy(dtype=float) if levels is None else codes_in(column, levels).astype(float)
    )
