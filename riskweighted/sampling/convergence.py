"""Can the draws of a fit be relied on? R-hat and effective sample sizes of chains, k-hat and effective draws of the direct engine."""

import math
import warnings
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from riskweighted.sampling.loo import K_LIMIT
from riskweighted.sampling.settings import DIRECT, NUTS

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # ArviZ 0.23 announces ArviZ 1, which we support
    import arviz as az

__all__ = ["ESS_LIMIT", "R_HAT_LIMIT", "Drawn", "diagnose", "diagnose_direct", "failure", "judge", "no_diagnostics"]

R_HAT_LIMIT = 1.02
ESS_LIMIT = 100.0

_COLUMNS = {
    "r_hat": float,
    "ess_bulk": float,
    "ess_tail": float,
    "divergences": int,
    "converged": bool,
    "engine": str,
    "pareto_k": float,
    "approximation": float,
}
_TAILS = (0.05, 0.95)


class Drawn(NamedTuple):
    """Draws of a pseudo posterior by (chain, draw), with the log pseudo-likelihood (chains, draws), up to a constant.

    ``off``: where an approximation was sampled, the standard deviation over draws of how far its log density is off; no posterior mean is
    off by more of its standard deviations than that, to first order. NaN where the density is exact. ``which`` (chains x draws,), of the
    direct engine: the number of the proposal that each draw is, and ``pareto_k`` of their weights.
    """

    posterior: xr.Dataset
    log_likelihood: np.ndarray
    divergences: int = 0
    off: float = np.nan
    which: np.ndarray | None = None
    pareto_k: float = np.nan


def judge(drawn: Drawn, monitored: tuple[str, ...]) -> pd.DataFrame:
    """The diagnostics of draws: of their log pseudo-likelihood and every scalar of the monitored parameters."""
    quantities = {"log_pseudo_likelihood": drawn.log_likelihood}
    for name in monitored:
        values = drawn.posterior[name].values
        for place in np.ndindex(values.shape[2:]):
            label = name.replace("::::", ".")  # PyMC's name of what a model within the model holds
            label += f"[{', '.join(map(str, place))}]" if place else ""
            quantities[label] = values[(slice(None), slice(None), *place)]
    if drawn.which is None:
        return diagnose(quantities, drawn.divergences).assign(approximation=drawn.off)
    return diagnose_direct(quantities, drawn.which, drawn.pareto_k).assign(approximation=drawn.off)


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
            tail = float(az.ess(values, method="tail", prob=_TAILS))
        passed = r_hat <= R_HAT_LIMIT and bulk >= ESS_LIMIT and divergences == 0
        rows[label] = (r_hat, bulk, tail, divergences, passed, NUTS, np.nan, np.nan)
    return _table(rows)


def diagnose_direct(quantities: Mapping[str, np.ndarray], which: np.ndarray, pareto_k: float) -> pd.DataFrame:
    """Judge each quantity, (chains, draws), of resampled proposals: k-hat <= 0.7, and a mean worth 100 independent draws or more.

    There are no chains, so there is no R-hat (NaN), and nothing diverges. The effective size in the bulk is the variance of the quantity
    over that of its weighted mean, a proposal weighing as often as it was drawn (Owen 2013, section 9.3); in the tails the lesser one of
    the shares beyond the 5 % and the 95 % quantile. A quantity that never moves has none, and does not pass.
    `which` (chains x draws,): the number of the proposal that each draw is.
    """
    _, first, times = np.unique(which, return_index=True, return_counts=True)
    weight, rows = times / len(which), {}
    for label, values in quantities.items():
        drawn = values.ravel()
        proposed, (low, high) = drawn[first], np.quantile(drawn, _TAILS)
        bulk, *tails = (_effective(part, weight) for part in (proposed, proposed <= low, proposed >= high))
        rows[label] = (np.nan, bulk, min(tails), 0, bool(pareto_k <= K_LIMIT and bulk >= ESS_LIMIT), DIRECT, pareto_k, np.nan)
    return _table(rows)


def _effective(values: np.ndarray, weight: np.ndarray) -> float:
    """How many independent draws a weighted mean is worth; NaN where all values are the same."""
    squares = (values - weight @ values) ** 2
    error = float(weight**2 @ squares)
    return float(weight @ squares) / error if error > 0 else np.nan


def _table(rows: Mapping[str, tuple[object, ...]]) -> pd.DataFrame:
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(_COLUMNS)).rename_axis("quantity")


def failure(diagnostics: pd.DataFrame) -> str:
    """What the quantities that did not pass have, and which limit they miss."""
    failed = diagnostics[~diagnostics["converged"]]
    least = failed["ess_bulk"].min()
    size = f"bulk ESS down to {least if pd.isna(least) else math.floor(least):.0f} (limit {ESS_LIMIT:.0f})"
    if (failed["engine"] == DIRECT).all():
        return f"Pareto k-hat {failed['pareto_k'].max():.2f} (limit {K_LIMIT}), {size}"
    return f"R-hat up to {failed['r_hat'].max():.3f} (limit {R_HAT_LIMIT}), {size}, {failed['divergences'].max()} divergences"
