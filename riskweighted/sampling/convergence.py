"""Can the draws of a fit be relied on? R-hat and effective sample sizes of chains, k-hat and
effective draws by importance.

What is judged is what leaves (METHODS section 5.13), with limits that know how many quantities are.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from riskweighted.sampling.loo import K_LIMIT
from riskweighted.sampling.mixing import chance_limit, mixing_of
from riskweighted.sampling.sampling_settings import DIRECT, NUTS

__all__ = [
    "DIVERGENT_LIMIT",
    "ESS_LIMIT",
    "FAIL",
    "PASS",
    "RELEASED",
    "R_HAT_LIMIT",
    "WARN",
    "PosteriorDraws",
    "chains_agree",
    "deciding_rows",
    "diagnose",
    "diagnose_direct",
    "failure",
    "judge",
    "no_diagnostics",
    "shown_name",
    "verdict_of",
]

PASS, WARN, FAIL = "pass", "warn", "fail"

R_HAT_LIMIT = 1.02  # no less is asked: a disagreement of this size matters to nobody
ESS_LIMIT = 100.0
RELEASED = "released "  # with which the names of what leaves begin
DIVERGENT_LIMIT = 0.005  # of the draws: fewer that diverged are a reason to look, not to fail
# of the distances from the median, of which draws on either side of it tell less
_SPREAD_LIMIT = 50.0

_COLUMNS = {
    "r_hat": float,
    "ess_bulk": float,
    "ess_tail": float,
    "divergences": int,
    "converged": bool,
    "engine": str,
    "pareto_k": float,
    "approximation": float,
    "limit": float,
    "ess_spread": float,
    "judged": bool,
}
_TAILS = (0.05, 0.95)
_CHANCE = 0.001  # that any R-hat of a block whose chains agree is beyond its limit
_LARGEST = 1.2  # limit, whatever chance gives
_DIGITS = range(3, 10)


class PosteriorDraws(NamedTuple):
    """Draws of a pseudo posterior by (chain, draw), with the log pseudo-likelihood (chains, draws),
    up to a constant.

    ``stats``: of chains ``diverging`` and ``energy`` by (chain, draw). ``off``: where an
    approximation was sampled, the standard deviation over draws of how far its log density is off;
    no posterior mean is off by more of its standard deviations than that, to first order. NaN where
    the density is exact. ``which`` (chains x draws,), by importance: the number of the proposal
    that each draw is, by part (parts, chains x draws) where parts have their own; ``pareto_k`` of
    their weights. With ``stats`` and ``which`` some parts have chains, where each draw stands for
    itself. ``log_posterior`` (chains, draws): the log density that was sampled, up to a constant.
    """

    posterior: xr.Dataset
    log_likelihood: np.ndarray
    stats: xr.Dataset | None = None
    off: float = np.nan
    which: np.ndarray | None = None
    pareto_k: float = np.nan
    log_posterior: np.ndarray | None = None


def judge(
    drawn: PosteriorDraws,
    monitored: tuple[str, ...],
    released: Mapping[str, np.ndarray] | None = None,
) -> pd.DataFrame:
    """The diagnostics of draws: of their log pseudo-likelihood and posterior, of `released` and of
    every scalar of monitored parameters.

    `released`: quantities (chains, draws) of what leaves. Where there are any, parameters decide
    nothing: what no record informs may follow its prior as slowly as it likes, and two components
    may change places.
    """
    quantities = {"log_pseudo_likelihood": drawn.log_likelihood}
    if drawn.log_posterior is not None:
        quantities["log_pseudo_posterior"] = drawn.log_posterior
    quantities |= released or {}
    count = len(quantities)
    for name in monitored:
        values = drawn.posterior[name].values
        for place in np.ndindex(values.shape[2:]):
            label = shown_name(name) + (f"[{', '.join(map(str, place))}]" if place else "")
            quantities[label] = values[(slice(None), slice(None), *place)]
    judged = count if released else len(quantities)
    if drawn.which is None:
        divergences = 0 if drawn.stats is None else int(drawn.stats["diverging"].sum())
        return diagnose(quantities, divergences, judged).assign(approximation=drawn.off)
    by_importance = diagnose_direct(quantities, drawn.which, drawn.pareto_k, judged)
    if drawn.stats is None:
        return by_importance.assign(approximation=drawn.off)
    by_chains = diagnose(quantities, int(drawn.stats["diverging"].sum()), judged)
    return _of_both(by_chains, by_importance, drawn.log_likelihood.size).assign(
        approximation=drawn.off
    )


def _of_both(by_chains: pd.DataFrame, by_importance: pd.DataFrame, draws: int) -> pd.DataFrame:
    """The diagnostics where some independent parts have chains and others were drawn by importance:
    what is asked of either.

    To the error of a mean both add, beside that of as many independent `draws`.
    """
    both = by_chains.assign(pareto_k=by_importance["pareto_k"])
    for name in ("ess_bulk", "ess_tail"):
        both[name] = 1 / (1 / by_chains[name] + 1 / by_importance[name] - 1 / draws).clip(
            lower=1 / draws**2
        )
    both["converged"] = (
        by_chains["converged"] & by_importance["converged"] & (both["ess_bulk"] >= ESS_LIMIT)
    )
    return both


def shown_name(variable: str) -> str:
    """How diagnostics name a stored variable: PyMC writes "::::" after the name of a model within
    the model.
    """
    return variable.replace("::::", ".")


def deciding_rows(diagnostics: pd.DataFrame) -> pd.DataFrame:
    """The rows by which a fit is judged, of a table of diagnostics or of a file of them; all of one
    that does not say.
    """
    return (
        diagnostics[diagnostics["judged"].astype(str) == "True"]
        if "judged" in diagnostics
        else diagnostics
    )


def verdict_of(diagnostics: pd.DataFrame) -> tuple[str, str]:
    """ "pass", "warn" or "fail" of a table of diagnostics or of a file of them, and why, which is
    empty where all passed.

    Chains that pass with some divergent draws warn: there may be places where they do not go.
    """
    rows = deciding_rows(diagnostics)
    passed = rows["converged"].astype(str) == "True"
    if not passed.all():
        return FAIL, failure(rows.assign(converged=passed))
    diverged = int(rows["divergences"].max()) if len(rows) else 0
    told = (
        f"{diverged} divergence{'s'[: diverged != 1]} ({100 * DIVERGENT_LIMIT:g} % of the draws "
        "at most): chains may miss a region"
    )
    return (WARN, told) if diverged else (PASS, "")


def chains_agree(diagnostics: pd.DataFrame) -> bool:
    """Whether chains agree on all that is judged, and none of their draws diverged, however few
    these are.
    """
    rows = deciding_rows(diagnostics)
    return bool(((rows["r_hat"] <= rows["limit"]) & (rows["divergences"] == 0)).all())


def no_diagnostics() -> pd.DataFrame:
    """The empty table of a synthesizer that estimates nothing."""
    return pd.DataFrame(
        {name: pd.Series(dtype=dtype) for name, dtype in _COLUMNS.items()}
    ).rename_axis("quantity")


def diagnose(
    quantities: Mapping[str, np.ndarray], divergences: int, judged: int | None = None
) -> pd.DataFrame:
    """Judge each quantity, (chains, draws): rank-normalised split R-hat within its limit, bulk ESS
    >= 100, and at most .5 % of the draws divergent.

    The first `judged` of them decide; all unless said. The limit of R-hat is 1.02, or more where
    chance alone gives more: what agreeing chains exceed with probability .001 in any of the judged
    quantities (`chance_limit`), 1.2 at most. Of its two parts, of the draws and of their distances
    from the median, the one that is beyond its limit stands in the table, else the larger one. The
    distances must be worth 50 draws (``ess_spread``). A single chain is judged on whether its
    halves agree. What never moves has no R-hat, and does not pass.
    """
    judged = len(quantities) if judged is None else judged
    values = np.array(list(quantities.values()), dtype=float)
    few = divergences <= DIVERGENT_LIMIT * values[0].size
    if values.shape[1] == 1:
        values = values[:, :, : values.shape[2] // 2 * 2].reshape(len(values), 2, -1)
    mixing, halves, draws = mixing_of(values), 2 * values.shape[1], max(values.shape[2] // 2, 2)
    limits = np.clip(
        chance_limit(mixing.within, halves, draws, _CHANCE / (2 * max(judged, 1))),
        R_HAT_LIMIT,
        _LARGEST,
    )
    beyond = mixing.r_hat > limits
    which = np.where(beyond.any(axis=0), beyond.argmax(axis=0), np.argmax(mixing.r_hat, axis=0))
    r_hat, limit = (
        np.take_along_axis(each, which[None], axis=0)[0] for each in (mixing.r_hat, limits)
    )
    bulk, spread = mixing.worth
    passed = (r_hat <= limit) & (bulk >= ESS_LIMIT) & (spread >= _SPREAD_LIMIT) & few
    columns = {
        "r_hat": r_hat,
        "ess_bulk": bulk,
        "ess_tail": mixing.tail,
        "divergences": divergences,
        "converged": passed,
    }
    named = {
        **columns,
        "engine": NUTS,
        "pareto_k": np.nan,
        "approximation": np.nan,
        "limit": limit,
        "ess_spread": spread,
    }
    return _table(quantities, named, judged)


def diagnose_direct(
    quantities: Mapping[str, np.ndarray],
    which: np.ndarray,
    pareto_k: float,
    judged: int | None = None,
) -> pd.DataFrame:
    """Judge each quantity, (chains, draws), of resampled proposals: k-hat <= 0.7, and a mean worth
    100 independent draws or more.

    There are no chains, so there is no R-hat (NaN), and nothing diverges. The effective size in the
    bulk is the variance of the quantity over that of its weighted mean, a proposal weighing as
    often as it was drawn (Owen 2013, section 9.3); in the tails the lesser one of the shares beyond
    the 5 % and the 95 % quantile. A quantity that never moves has none, and does not pass. `which`
    (chains x draws,): the number of the proposal that each draw is; where independent parts were
    proposed each by itself, (parts, chains x draws). The first `judged` quantities decide; all
    unless said.
    """
    effective, bulk, tail = _effective_of(which), [], []
    for values in quantities.values():
        drawn = values.ravel()
        low, high = np.quantile(drawn, _TAILS)
        each, *tails = (effective(part) for part in (drawn, drawn <= low, drawn >= high))
        bulk.append(each)
        tail.append(min(tails))
    passed = np.array(bulk) >= ESS_LIMIT if pareto_k <= K_LIMIT else np.zeros(len(bulk), dtype=bool)
    columns = {
        "r_hat": np.nan,
        "ess_bulk": bulk,
        "ess_tail": tail,
        "divergences": 0,
        "converged": passed,
        "engine": DIRECT,
    }
    named = {
        **columns,
        "pareto_k": pareto_k,
        "approximation": np.nan,
        "limit": np.nan,
        "ess_spread": np.nan,
    }
    return _table(quantities, named, len(bulk) if judged is None else judged)


def _effective_of(which: np.ndarray) -> Callable[[np.ndarray], float]:
    """From values (N,) of draws to how many independent draws their mean is worth.

    Of parts, `which` (parts, N), a mean errs by what each part's proposals have in common, beside
    what draws of their own would.
    """
    if which.ndim == 1:
        _, first, times = np.unique(which, return_index=True, return_counts=True)
        return lambda values: _effective(values[first], times / len(which))

    def effective(values: np.ndarray) -> float:
        off = values - values.mean()
        squares = float(off @ off)
        common = [float((np.bincount(of_part, weights=off) ** 2).sum()) for of_part in which]
        error = squares + sum(max(part - squares, 0.0) for part in common)
        return len(values) * squares / error if error > 0 else np.nan

    return effective


def _effective(values: np.ndarray, weight: np.ndarray) -> float:
    """How many independent draws a weighted mean is worth; NaN where all values are the same."""
    squares = (values - weight @ values) ** 2
    error = float(weight**2 @ squares)
    return float(weight @ squares) / error if error > 0 else np.nan


def _table(
    quantities: Mapping[str, np.ndarray], columns: Mapping[str, object], judged: int
) -> pd.DataFrame:
    table = pd.DataFrame(
        {**columns, "judged": np.arange(len(quantities)) < judged},
        index=pd.Index(list(quantities), name="quantity"),
    )
    return table[list(_COLUMNS)]


def failure(diagnostics: pd.DataFrame) -> str:
    """What the quantities that did not pass have, and which limit they miss, in the digits that
    decide.
    """
    rows = deciding_rows(diagnostics)
    failed = rows[~rows["converged"]]
    least = failed["ess_bulk"].min()
    size = (
        f"bulk ESS down to {least if pd.isna(least) else math.floor(least):.0f} (limit "
        f"{ESS_LIMIT:.0f})"
    )
    count = f"{len(failed)} of {len(rows)} quantities fail"
    if (failed["engine"] == DIRECT).all():
        return f"Pareto k-hat {failed['pareto_k'].max():.2f} (limit {K_LIMIT}), {size}; {count}"
    over = (failed["r_hat"] - failed["limit"]).fillna(np.inf)
    worst = failed.loc[over.idxmax()]
    r_hat, limit = _decided(worst["r_hat"], worst["limit"])
    reached = f"R-hat up to {r_hat}, of {over.idxmax()!r} (limit {limit})"
    return f"{reached}, {size}, {failed['divergences'].max()} divergences; {count}"


def _decided(value: float, limit: float) -> tuple[str, str]:
    """Two numbers with as many decimals as tell which is larger."""
    for digits in _DIGITS:
        texts = f"{value:.{digits}f}", f"{limit:.{digits}f}"
        if texts[0] != texts[1]:
            break
    return texts
