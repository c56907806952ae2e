"""The functions `spline`, `bs` and `cs` of formulas."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from formulaic.materializers.types import FactorValues
from formulaic.transforms import basis_spline, stateful_transform
from formulaic.transforms.cubic_spline import cubic_spline

from riskweighted.design.spline_basis import independent, make_spline_basis

__all__ = ["bs", "cs", "spline"]

# Synthetic values lie beyond the confidential ones: there the outermost polynomials go on, as in R.
bs: Callable[..., Any] = stateful_transform(partial(basis_spline, extrapolation="extend"))
# Without "center" the columns sum to 1, as the intercept does, and could never be told from it.
cs: Callable[..., Any] = stateful_transform(partial(cubic_spline, constraints="center"))


@stateful_transform  # type: ignore[untyped-decorator]
def spline(x: Any, _state: Any = None) -> FactorValues[np.ndarray]:
    """Numbers (n,) on a grid, bent, and whether they are zero where zero is a status, (n, k).

    What is found in the confidential data, the columns that are no combination of others among it,
    stands in the state.
    """
    values = np.asarray(x, dtype=float)
    if not _state:
        _state["bends"] = make_spline_basis(values, on_grid=True)
        _state["keep"] = independent(_state["bends"].columns(values))
        _state["keep"][0] = True
    columns = _state["bends"].columns(values)[:, _state["keep"]]
    return FactorValues(
        columns, column_names=tuple(str(place) for place in range(1, columns.shape[1] + 1))
    )
