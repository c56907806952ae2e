"""The diagnostics of a fit, from its draws."""

import numpy as np
import pandas as pd

from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sampling.convergence import diagnose, diagnose_direct
from riskweighted.sampling.direct_fit import DirectFit

__all__ = ["judge"]


def judge(
    fitted: BlockFit, monitored: tuple[str, ...], log_likelihood: np.ndarray, divergences: int, direct: DirectFit | None, off: float
) -> pd.DataFrame:
    """The diagnostics of a fit: of its log pseudo-likelihood (chains, draws) and every scalar of its monitored parameters.

    `direct`: the draws as the direct engine left them, where it made them; `off`: see `Drawn`.
    """
    quantities = {"log_pseudo_likelihood": log_likelihood} | _scalars(fitted, monitored)
    table = diagnose(quantities, divergences) if direct is None else diagnose_direct(quantities, direct.which, direct.pareto_k)
    return table.assign(approximation=off)


def _scalars(fitted: BlockFit, monitored: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Every scalar of the monitored parameters, each (chains, draws)."""
    quantities = {}
    for name in monitored:
        values = fitted.posterior[name].values
        for place in np.ndindex(values.shape[2:]):
            label = name.replace("::::", ".")  # PyMC's name of what a model within the model holds
            label += f"[{', '.join(map(str, place))}]" if place else ""
            quantities[label] = values[(slice(None), slice(None), *place)]
    return quantities
