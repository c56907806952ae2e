"""Do the chains agree? R-hat and effective sample sizes of the quantities that a fit is judged on."""

import warnings
from collections.abc import Mapping

import numpy as np
import pandas as pd

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # ArviZ 0.23 announces ArviZ 1, which we support
    import arviz as az

__all__ = ["ESS_LIMIT", "R_HAT_LIMIT", "diagnose", "no_diagnostics"]

R_HAT_LIMIT = 1.02
ESS_LIMIT = 100.0

_COLUMNS = {"r_hat": float, "ess_bulk": float, "ess_tail": float, "divergences": int, "converged": bool}


def no_diagnostics() -> pd.DataFrame:
    """The empty table of a synthesizer that estimates nothing."""
    return pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in _COLUMNS.items()}).rename_axis("quantity")


def diagnose(quantities: Mapping[str, np.ndarray], divergences: int) -> pd.DataFrame:
    """Judge each quantity, (chains, draws): rank-normalised split R-hat <= 1.02, bulk ESS >= 100, and no divergence.

    A single chain is judged on whether its halves agree. A quantity that never moves has no R-hat, and does not pass.
    """
    rows = {}
    for label, values in quantities.items():
        if len(values) == 1:
            values = values[:, : values.shape[1] // 2 * 2].reshape(2, -1)
        with np.errstate(all="ignore"):
            r_hat, bulk = float(az.rhat(values)), float(az.ess(values, method="bulk"))
            tail = float(az.ess(values, method="tail", prob=(0.05, 0.95)))
        passed = r_hat <= R_HAT_LIMIT and bulk >= ESS_LIMIT and divergences == 0
        rows[label] = (r_hat, bulk, tail, divergences, passed)
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(_COLUMNS)).rename_axis("quantity")
