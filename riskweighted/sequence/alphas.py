"""Risk weights as they are given, for one variable or several, checked."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import check_weights
from riskweighted.contract.centring import CentredWeights, OwnFunction

__all__ = ["Alpha", "alphas_of", "functions_of"]

Alpha: TypeAlias = pd.DataFrame | pd.Series | np.ndarray | CentredWeights | None


def alphas_of(variables: tuple[str, ...], alpha: Alpha, index: pd.Index) -> pd.DataFrame:
    """Checked weights of every variable, (n, V), in [0, 1]: given so, or one for all variables, or
    1 everywhere.
    """
    alpha = alpha.alpha if isinstance(alpha, CentredWeights) else alpha
    if isinstance(alpha, pd.DataFrame):
        if sorted(map(str, alpha.columns)) != sorted(variables):
            raise InputError(
                f"alpha has columns {listing(alpha.columns)}; they must be the synthesized "
                f"variables {listing(variables)}"
            )
        given: dict[str, Any] = {name: alpha[name] for name in variables}
    elif isinstance(alpha, np.ndarray) and alpha.ndim == 2:
        if alpha.shape != (len(index), len(variables)):
            raise InputError(
                f"weights: alpha has shape {alpha.shape}; valid are ({len(index)},) and "
                f"({len(index)}, {len(variables)})"
            )
        given = dict(zip(variables, alpha.T, strict=True))
    else:
        given = dict.fromkeys(variables, np.ones(len(index)) if alpha is None else alpha)
    return pd.DataFrame(
        {name: check_weights(weights, index) for name, weights in given.items()}, index
    )


def functions_of(alpha: Alpha) -> Mapping[str, OwnFunction] | None:
    """The weights of every variable as functions of a record's own value, where they are
    centred.
    """
    return alpha.functions if isinstance(alpha, CentredWeights) else None
