"""Weights lowered where the expected risk of their fit rises over the unweighted one's."""

import numpy as np
import pytest

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.disclosure.leave_one_out_weights import Weighting
from riskweighted.disclosure.refits import refit_without
from riskweighted.intruder.world import make_world
from riskweighted.risk.expected_identification import expected_risk
from riskweighted.runs import examples
from riskweighted.weights.scheme_names import parse_scheme
from riskweighted.weights.schemes import order_schemes

SCHEME = "reweighted(by=risk, of=marginal)"


@pytest.mark.quick
def test_the_scheme_as_text():
    assert parse_scheme("reweighted(of=marginal, by=risk)").text == SCHEME
    assert order_schemes([SCHEME, "unweighted", "marginal"])[-1] == SCHEME
    for schemes, says in [
        ([SCHEME, "marginal"], "name 'unweighted'"),
        (["unweighted", SCHEME], "name 'marginal'"),
        (["reweighted(by=risk, of=marginal+)"], "without a plus"),
        (["power(by=risk)"], "'by' is that of"),
        (["reweighted(by=Delta)"], "'by' is that of"),
    ]:
        with pytest.raises(InputError, match=says):
            order_schemes([parse_scheme(scheme).text for scheme in schemes])


def test_weights_fall_where_the_expected_risk_rises():
    data, scenario, weighted = examples.data, examples.scenario, examples.fit
    unweighted = rw.fit(examples.synthesizer, data, draws=200, tune=200, random_seed=1)
    world = make_world(data, scenario)
    before, after = (
        expected_risk(fit, world, random_seed=0).risk for fit in (unweighted, weighted)
    )
    rise = float(np.quantile(after - before, 0.9))
    assert rise > 0
    made = rw.scheme_weights(
        "reweighted(by=risk)", data, scenario, (weighted, unweighted), rise=rise
    )
    rose, alpha = after - before >= rise, weighted.alpha.to_numpy()
    np.testing.assert_array_equal(made[~rose], alpha[~rose])
    np.testing.assert_allclose(made[rose], (alpha * before / after)[rose])
    with pytest.raises(InputError, match="of two fits"):
        rw.scheme_weights(SCHEME, data, scenario, weighted)
    # without some records both stages are made of the others, whatever values those had
    gone, rng = np.arange(40), np.random.default_rng(2)
    fit = rw.fit(examples.synthesizer, data, made, draws=100, tune=100, random_seed=1)
    weighting = Weighting("reweighted(by=risk, rise=0.001)")
    others = refit_without(fit, world, gone, weighting, rng).alpha
    moved = data.assign(income=data["income"].mask(np.arange(len(data)) < 40, 20.0))
    again = refit_without(
        rw.fit(examples.synthesizer, moved, made, draws=100, tune=100, random_seed=1),
        make_world(moved, scenario),
        gone,
        weighting,
        np.random.default_rng(2),
    ).alpha
    assert (others[gone] == 0).all()
    np.testing.assert_array_equal(others[40:], again[40:])
    assert (np.abs(others[40:] - made[40:]) > 1e-3).any()
