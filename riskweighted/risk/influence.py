"""How much one record, or one household, can move the pseudo posterior: measures from the draws of a fit (METHODS section 9.1).

All of it is empirical. A largest value over S draws is a lower bound of a supremum, alpha is held fixed, and `lipschitz` depends on the
units of density. Nothing here is a guarantee of privacy.
"""

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_count, check_seed
from riskweighted.common.errors import InputError
from riskweighted.common.frames import require_columns
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import make_world
from riskweighted.risk.expected import own_masses, variable_terms
from riskweighted.synthesis.chain_fit import ChainFit
from riskweighted.synthesis.drawing import spread_draws
from riskweighted.synthesis.loo import importance_weights
from riskweighted.synthesis.posterior import Fit

__all__ = ["cluster_terms", "influence", "influence_of"]

_CHUNK = 65_536  # records at a time
_FEWEST = 20  # draws to weight: of fewer no tail can be judged


def influence(
    fit: Fit | ChainFit,
    scenario: Scenario | None = None,
    *,
    draws: int | None = None,
    cluster: str | None = None,
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Influence of each record on the pseudo posterior of a fit, or of each cluster of records.

    With l_is = log p(y_i | x_i, theta_s) on the scale of the model and s = 1, ..., S:

    - ``lipschitz`` = max_s alpha_i abs(l_is), in units of log density: Delta_i of the pseudo posterior mechanism (arXiv 1909.11796);
    - ``range`` = alpha_i (max_s l_is - min_s l_is), free of units, at most twice that;
    - ``information`` = alpha_i^2 Var_s(l_is) / 2: to second order the Kullback-Leibler divergence between the posteriors with and without
      the record. Twice its sum is p_eff.

    Of a cluster, the sum of alpha_i l_is over its members takes the place of alpha_i l_is. Survey weights of the fit multiply
    alpha_i. Under a guarantee the clipped contribution takes that place (METHODS section 9.3). Of a chain, whose variables have
    independent posteriors, each of the three is the sum of those of its variables (METHODS section 12).

    Parameters
    ----------
    fit : Fit or ChainFit
    scenario : Scenario, optional
        With it ``attributable``, the probability that the record's synthetic value lands in its ball less the same without the record:
        p_i - sum_s w_s p_i(theta_s), w_s proportional to exp(-alpha_i l_is), with its Pareto shape ``pareto_k`` (above 0.7 not to be relied
        on); NaN for fewer than 20 draws. Not for clusters. Of a chain, p_i(theta_s) is an estimate along one path.
    draws : int, optional
        S, spread evenly over the chains; default all.
    cluster : str, optional
        A column of the confidential data.
    random_seed : int, optional
        For the paths of a chain.

    Returns
    -------
    DataFrame on the index of the confidential data, or on the clusters; its ``attrs`` hold ``draws`` (S), ``units`` and ``p_eff``.
    Confidential.

    Raises
    ------
    InputError
        If the fit estimates nothing, more draws are asked for than were sampled, the scenario or the cluster does not suit, or a
        synthesizer has no ``mass`` for ``attributable``.
    """
    if not fit.estimates:
        raise InputError(f"{type(fit.synthesizer).__name__} estimates nothing: no record has an influence")
    if cluster is not None and scenario is not None:
        raise InputError("attributable probability is that of records: leave out scenario, or cluster")
    check_seed(random_seed)
    sizes = fit.sizes
    available = sizes["chain"] * sizes["draw"]
    count = available if draws is None else check_count(draws, "draws", most=available)
    places = spread_draws(sizes["chain"], sizes["draw"], count)
    terms = np.stack([variable_terms(fit, fit.draw(*place)) for place in places], axis=-1)  # (V, n, S)
    index = fit.confidential.index
    if cluster is not None:
        terms, index = cluster_terms(terms, fit.confidential, cluster)
    masses = own_masses(fit, make_world(fit.confidential, scenario), places, random_seed) if scenario is not None else None
    return influence_of(terms, index, masses)


def cluster_terms(terms: np.ndarray, confidential: pd.DataFrame, cluster: str) -> tuple[np.ndarray, pd.Index]:
    """Contributions (V, n, S) of records, summed over the members of each cluster (V, m, S); the clusters, a missing one being one."""
    require_columns(confidential, [cluster], "confidential data")
    codes, index = pd.factorize(confidential[cluster], use_na_sentinel=False)
    summed = np.zeros((terms.shape[0], len(index), terms.shape[2]))
    for each, own in zip(summed, terms, strict=True):
        np.add.at(each, codes, own)
    return summed, pd.Index(index)


def influence_of(terms: np.ndarray, index: pd.Index, masses: np.ndarray | None = None) -> pd.DataFrame:
    """`influence` from contributions to the log posterior of each variable (V, n, S), and from ball probabilities (n, S) if there are any.

    The parameters of the variables are independent: each could be at its worst together, so what they can do adds up.
    """
    count = terms.shape[2]
    variance = terms.var(axis=2, ddof=1).sum(axis=0) if count > 1 else np.full(terms.shape[1], np.nan)
    columns = {"lipschitz": np.abs(terms).max(axis=2).sum(axis=0), "range": np.ptp(terms, axis=2).sum(axis=0), "information": variance / 2}
    terms = terms.sum(axis=0)
    if masses is not None and count < _FEWEST:
        columns["pareto_k"] = columns["attributable"] = np.full(len(terms), np.nan)
    elif masses is not None:
        columns["pareto_k"], columns["attributable"] = np.empty(len(terms)), np.empty(len(terms))
        for start in range(0, len(terms), _CHUNK):
            part = slice(start, start + _CHUNK)
            weights, columns["pareto_k"][part] = importance_weights(terms[part])
            columns["attributable"][part] = masses[part].mean(axis=1) - (weights * masses[part]).sum(axis=1)
    found = pd.DataFrame(columns, index)
    found.attrs = {"draws": count, "units": "log density on the scale of the model", "p_eff": float(variance.sum())}
    return found
