"""How much one record, or one household, can move the pseudo posterior: measures from the draws of
a fit (METHODS section 9.1).

Empirical all of it: a largest value over S draws is a lower bound of a supremum, alpha is held
fixed, and nothing here is a guarantee. Draws are taken in one after the other, so that what is kept
grows with the number of records, and hardly with that of draws.
"""

import itertools
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_count, check_given, check_seed
from riskweighted.common.errors import InputError
from riskweighted.common.frames import require_columns
from riskweighted.contract.drawn_columns import spread_draws
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import make_world
from riskweighted.risk.expected_identification import own_masses, variable_terms
from riskweighted.risk.kernels.draws import (
    add_to_left_out,
    add_to_moments,
    averages_without,
    no_moments,
    nothing_left_out,
)
from riskweighted.sequence.fit import Fit

__all__ = ["Clusters", "InfluenceSums", "clusters_of", "influence"]

_FEWEST = 20  # draws to weight: of fewer no tail can be judged


def influence(
    fit: Fit,
    scenario: Scenario | None = None,
    *,
    draws: int | None = None,
    cluster: str | None = None,
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Return the influence of each record on the pseudo posterior of a fit, or of each cluster of
    records.

    With l_is = log p(y_i | x_i, theta_s) on the scale of the model and s = 1, ..., S:

    - ``lipschitz`` = max_s alpha_i abs(l_is), in units of log density: Delta_i of the pseudo
      posterior mechanism (arXiv 1909.11796);
    - ``range`` = alpha_i (max_s l_is - min_s l_is), free of units, at most twice that;
    - ``information`` = alpha_i^2 Var_s(l_is) / 2: to second order the Kullback-Leibler divergence
      between the posteriors with and without the record. Twice its sum is p_eff.

    Of a cluster, the sum of alpha_i l_is over its members takes the place of alpha_i l_is. Survey
    weights of the fit multiply alpha_i. Under a guarantee the clipped contribution takes that place
    (METHODS section 9.3). Of a chain, whose variables have independent posteriors, each of the
    three is the sum of those of its variables (METHODS section 12).

    Parameters
    ----------
    fit : Fit
    scenario : Scenario, optional
        With it ``attributable``, the probability that the record's synthetic value lands in its
        ball less the same without the record: p_i - sum_s w_s p_i(theta_s), w_s proportional to
        exp(-alpha_i l_is), with its Pareto shape ``pareto_k`` (above 0.7 not to be relied on); NaN
        for fewer than 20 draws. Not for clusters. Of a chain, p_i(theta_s) is an estimate along one
        path.
    draws : int, optional
        S, spread evenly over the chains; default all.
    cluster : str, optional
        A column of the confidential data.
    random_seed : int, optional
        For the paths of a chain.

    Returns
    -------
    DataFrame on the index of the confidential data, or on the clusters; its ``attrs`` hold
    ``draws`` (S), ``units`` and ``p_eff``. Confidential.

    Raises
    ------
    InputError
        If the fit estimates nothing, more draws are asked for than were sampled, the scenario or
        the cluster does not suit, or a synthesizer has no ``mass`` for ``attributable``.

    Examples
    --------
    >>> from riskweighted.runs.examples import fit
    >>> rw.influence(fit).columns.tolist()
    ['lipschitz', 'range', 'information']
    """
    check_given(fit, "fit", "blocks", "Fit", "fit(...)")
    if not fit.estimates:
        raise InputError(
            f"{type(fit.synthesizer).__name__} estimates nothing: no record has an influence"
        )
    if cluster is not None and scenario is not None:
        raise InputError(
            "attributable probability is that of records: leave out scenario, or cluster"
        )
    check_seed(random_seed)
    sizes = fit.sizes
    available = sizes["chain"] * sizes["draw"]
    count = available if draws is None else check_count(draws, "draws", most=available)
    places = spread_draws(sizes["chain"], sizes["draw"], count)
    clusters = None if cluster is None else clusters_of(fit.confidential, cluster)
    index = fit.confidential.index if clusters is None else clusters.index
    world = None if scenario is None else make_world(fit.confidential, scenario)
    masses = (
        itertools.repeat(None) if world is None else own_masses(fit, world, places, random_seed)
    )
    sums = InfluenceSums(index, count, attributes=world is not None)
    for draw, mass in zip(places, masses, strict=False):
        terms = variable_terms(fit, fit.thetas(*draw))
        sums.add(terms if clusters is None else clusters.sums(terms), mass)
    return sums.table()


class Clusters(NamedTuple):
    """``codes`` (n,): which cluster each record belongs to; ``index``: the clusters, a missing one
    being one.
    """

    codes: np.ndarray
    index: pd.Index

    def sums(self, terms: np.ndarray) -> np.ndarray:
        """Contributions (V, n) of records, summed over the members of each cluster (V, m)."""
        return np.array(
            [
                np.bincount(self.codes, of_variable, minlength=len(self.index))
                for of_variable in terms
            ]
        )


def clusters_of(confidential: pd.DataFrame, cluster: str) -> Clusters:
    """Those of a column."""
    require_columns(confidential, [cluster], "confidential data")
    return Clusters(*pd.factorize(confidential[cluster], use_na_sentinel=False))


class InfluenceSums:
    """What `influence` is measured from, in the room of a few numbers a record: it takes in one
    draw of S after the other.

    Of records or clusters, m of them, by `index`; with `attributes` probabilities of the own ball
    come with them. The parameters of several variables are independent: each could be at its worst
    together, so what they can do adds up.
    """

    def __init__(self, index: pd.Index, draws: int, *, attributes: bool) -> None:
        self._index = pd.Index(index)
        self._draws = draws
        self._attributes = attributes
        self._count = 0
        self._moments = no_moments(0, 0)
        self._left = (
            nothing_left_out(len(index), draws) if attributes and draws >= _FEWEST else None
        )

    def add(self, terms: np.ndarray, masses: np.ndarray | None = None) -> None:
        """One draw: what each record adds to the log posterior of each variable (V, m), and p_i
        (m,).
        """
        self._count += 1
        if self._count == 1:
            self._moments = no_moments(*terms.shape)
        terms = np.ascontiguousarray(terms, dtype=float)
        add_to_moments(self._moments, terms, self._count)
        if self._left is not None and masses is not None:
            add_to_left_out(
                self._left, terms, np.ascontiguousarray(masses, dtype=float), self._count
            )

    def table(self) -> pd.DataFrame:
        """What `influence` returns."""
        low, high, _, squares = self._moments
        variance = (
            squares.sum(axis=0) / (self._count - 1)
            if self._count > 1
            else np.full(len(self._index), np.nan)
        )
        spans = high - low
        columns = {
            "lipschitz": np.maximum(high, -low).sum(axis=0),
            "range": spans.sum(axis=0),
            "information": variance / 2,
        }
        if self._left is not None:
            without, pareto_k = averages_without(self._left, self._count)
            columns["pareto_k"] = np.where((spans > 0).any(axis=0), pareto_k, 0.0)
            columns["attributable"] = self._left.values / self._count - without
        elif self._attributes:
            columns["pareto_k"] = columns["attributable"] = np.full(len(self._index), np.nan)
        table = pd.DataFrame(columns, self._index)
        table.attrs = {
            "draws": self._count,
            "units": "log density on the scale of the model",
            "p_eff": float(variance.sum()),
        }
        return table
