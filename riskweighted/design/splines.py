"""The function `spline` of formulas."""

from typing import Any

import numpy as np
from formulaic.materializers.types import FactorValues
from formulaic.transforms import stateful_transform

from riskweighted.design.bends import independent, make_bends

__all__ = ["spline"]


@stateful_transform  # type: ignore[untyped-decorator]
def spline(x: Any, _state: Any = None) -> FactorValues[np.ndarray]:
    """The function of that name in formulas: numbers (n,) on a grid, bent, and whether they are zero where zero is a status, (n, k).

    What is found in the confidential data, the columns that are no combination of others among it, stands in ``_state``.
    """
    values = np.asarray(x, dtype=float)
    if not _state:
        _state["bends"] = make_bends(values, on_grid=True)
        _state["keep"] = independent(_state["bends"].columns(values))
        _state["keep"][0] = True
    columns = _state["bends"].columns(values)[:, _state["keep"]]
    return FactorValues(columns, column_names=tuple(str(place) for place in range(1, columns.shape[1] + 1)))
