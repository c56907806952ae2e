"""Influence from draws that are taken in one after the other, against all of them held at once and
ArviZ's Pareto smoothing.
"""

import numpy as np
import pandas as pd
import pytest
from handmade import given_fit

import riskweighted as rw
from riskweighted.evaluation.mechanism import find_mechanism
from riskweighted.intruder.world import make_world
from riskweighted.measures.evaluation_settings import EvaluationSettings
from riskweighted.risk.influence import InfluenceSums
from riskweighted.sampling.loo import importance_weights


def held_at_once(terms, masses):
    """`InfluenceSums` from contributions (V, n, S) and masses (n, S)."""
    variance = terms.var(axis=2, ddof=1).sum(axis=0)
    columns = {
        "lipschitz": np.abs(terms).max(axis=2).sum(axis=0),
        "range": np.ptp(terms, axis=2).sum(axis=0),
        "information": variance / 2,
    }
    weights, columns["pareto_k"] = importance_weights(terms.sum(axis=0))
    columns["attributable"] = masses.mean(axis=1) - (weights * masses).sum(axis=1)
    return pd.DataFrame(columns)


def contributions(variables, n, draws):
    """Records that hardly move the posterior and records that decide it; ties; tails of all
    weights.
    """
    rng = np.random.default_rng(draws)
    terms = rng.normal(size=(variables, n, draws)) * np.exp(rng.normal(-1, 1.5, n))[:, None] - 5
    terms[:, 0], terms[:, 1], terms[:, 2] = -0.3, rng.integers(0, 4, draws), 300 * terms[:, 2]
    terms[:, 3], terms[:, 4] = 3 * rng.standard_t(2, draws), 1e-7 * terms[:, 4]
    masses = rng.random((n, draws))
    # of tied weights any may be the larger one: so are what they weight
    masses[1] = 1 / (1 + terms[:, 1].sum(axis=0) ** 2)
    return terms, masses


@pytest.mark.parametrize("variables", [1, 3])
@pytest.mark.parametrize("draws", [20, 33, 100, 700])
def test_draws_one_after_the_other_give_what_all_at_once_give(variables, draws):
    terms, masses = contributions(variables, 60, draws)
    sums = InfluenceSums(pd.RangeIndex(60), draws, attributes=True)
    for draw in range(draws):
        sums.add(terms[..., draw], masses[:, draw])
    found, expected = sums.table(), held_at_once(terms, masses)
    assert list(found) == list(expected)
    pd.testing.assert_frame_equal(found, expected, rtol=1e-6, atol=1e-8)
    assert found.attrs["p_eff"] == pytest.approx(2 * expected["information"].sum())
    assert found["pareto_k"].iloc[0] == 0


def test_few_draws_attribute_nothing():
    terms, masses = contributions(1, 5, 19)
    sums = InfluenceSums(pd.RangeIndex(5), 19, attributes=True)
    for draw in range(19):
        sums.add(terms[..., draw], masses[:, draw])
    assert sums.table()[["pareto_k", "attributable"]].isna().all(axis=None)


def test_one_walk_over_the_draws_gives_what_influence_gives():
    rng = np.random.default_rng(1)
    data = pd.DataFrame(
        {"jobs": rng.negative_binomial(5, 5 / 55, 80), "area": rng.choice(["a", "b"], 80)}
    )
    fit, scenario = given_fit(data), rw.Scenario(known=[], synthetic="jobs")
    found = find_mechanism(
        "one",
        fit,
        make_world(data, scenario),
        EvaluationSettings(risk_draws=120, cluster="area"),
        1,
    )
    pd.testing.assert_frame_equal(found.influence, rw.influence(fit, scenario), rtol=1e-9)
    pd.testing.assert_frame_equal(found.clusters, rw.influence(fit, cluster="area"), rtol=1e-9)
