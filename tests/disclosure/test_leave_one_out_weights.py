"""Weights made anew without a record, against the schemes on the data without it."""

import warnings

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.disclosure import leave_one_out_weights
from riskweighted.disclosure.leave_one_out_weights import (
    Weighting,
    can_leave_one_out,
    change_of_weights,
)
from riskweighted.intruder.world import make_world

SCHEMES = (
    "unweighted",
    "uniform(c=0.3)",
    "marginal",
    "pairwise",
    "3-way",
    "power(g=2)",
    "mix(t=0.5)",
    "drop-riskiest(q=0.1)",
)
RNG = np.random.default_rng(1)
N = 80
DATA = pd.DataFrame(
    {
        "region": RNG.choice(7, N, p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.06, 0.04]),
        "income": np.exp(RNG.normal(0, 0.6, N)),
        "smokes": RNG.choice(["yes", "no"], N),
    }
)
TERMS = RNG.normal(size=(N, 5))


def weights(scheme: str, data: pd.DataFrame, scenario: rw.Scenario, scale: float) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alpha = rw.scheme_weights(scheme, data, scenario)
        return (alpha if scale == 1 else rw.adjust_weights(alpha, scale)).to_numpy()


@pytest.mark.parametrize("synthetic", ["income", ["income", "smokes"]], ids=str)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.filterwarnings("ignore::riskweighted.SingletonWarning")
def test_changes_are_those_of_the_scheme_without_the_record(scheme, synthetic):
    scenario = rw.Scenario(known="region", synthetic=synthetic)
    scale = 1.2 if scheme in ("marginal", "pairwise") else 1.0
    world, weighting = make_world(DATA, scenario), Weighting(scheme, scale=scale)
    alpha = weights(scheme, DATA, scenario, scale)
    changes, known = change_of_weights(world, weighting, alpha, TERMS)
    assert known.all()
    for record in range(0, N, 3):
        others = np.delete(np.arange(N), record)
        without = weights(scheme, DATA.iloc[others], scenario, scale)
        expected = (without - alpha[others]) @ TERMS[others] - alpha[record] * TERMS[record]
        assert changes[record] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("scheme", ["marginal", "power(g=2)", "mix(t=0.5)"])
@pytest.mark.parametrize("codes", [(), (0.0,)], ids=["amounts", "with a code"])
@pytest.mark.filterwarnings("ignore::riskweighted.SingletonWarning")
def test_sums_over_sorted_ends_are_those_of_the_matrix(scheme, codes, monkeypatch):
    data = DATA.assign(income=np.round(DATA["income"], 1) * (np.arange(N) % 5 > 0))
    scenario = rw.Scenario(
        known="region", synthetic="income", codes={"income": codes} if codes else {}
    )
    world, scale = make_world(data, scenario), 1.2 if scheme == "marginal" else 1.0
    weighting, alpha = Weighting(scheme, scale=scale), weights(scheme, data, scenario, scale)
    by_matrix, _ = change_of_weights(world, weighting, alpha, TERMS)
    monkeypatch.setattr(leave_one_out_weights, "_SORTED", 1)
    monkeypatch.setattr(
        leave_one_out_weights, "MOST", 1
    )  # so that whoever is known is known by the ends
    by_ends, known = change_of_weights(world, weighting, alpha, TERMS)
    assert known.all()
    np.testing.assert_allclose(by_ends, by_matrix, atol=1e-12)
    with pytest.raises(rw.InputError, match="not those of scheme"):
        change_of_weights(world, Weighting("power(g=3)"), alpha, TERMS)


@pytest.mark.filterwarnings("ignore::riskweighted.SingletonWarning")
def test_weights_of_another_scheme_are_refused():
    world = make_world(DATA, rw.Scenario(known="region", synthetic="income"))
    alpha = weights("marginal", DATA, world.scenario, 1.0)
    with pytest.raises(rw.InputError, match="not those of scheme 'pairwise'"):
        change_of_weights(world, Weighting("pairwise"), alpha, TERMS)


def test_what_is_not_made_anew_here_is_held_and_not_made_wrongly():
    assert can_leave_one_out(Weighting("drop-riskiest(q=0.1)"))
    assert not any(
        map(
            can_leave_one_out,
            (Weighting("others-in-ball"), Weighting("marginal+"), Weighting("reweighted")),
        )
    )


@pytest.mark.parametrize("scheme", ["marginal", "pairwise", "mix(t=0.5)"])
@pytest.mark.filterwarnings("ignore::riskweighted.SingletonWarning")
def test_changes_against_the_worst_of_several_intruders_are_those_without_the_record(scheme):
    """Known patterns of the three overlap, so that a record changes weights of others' patterns."""
    data = DATA.assign(age=RNG.choice(4, N), group=RNG.choice(2, N))
    several = [
        rw.Scenario(known="region", synthetic="income"),
        rw.Scenario(known=["region", "smokes"], synthetic="income", radius=0.1),
        rw.Scenario(known=["group", "region"], synthetic="income", radius=0.3),
    ]
    world = make_world(data, several)
    weighting = Weighting(scheme, world=world)
    assert can_leave_one_out(weighting)
    assert not can_leave_one_out(Weighting("drop-riskiest(q=0.1)", world=world))
    alpha = rw.match_weights(data, several, scheme)["income"].to_numpy()
    changes, known = change_of_weights(world.only("income"), weighting, alpha, TERMS)
    assert known.all()
    for record in range(0, N, 3):
        others = np.delete(np.arange(N), record)
        without = rw.match_weights(data.iloc[others], several, scheme)["income"].to_numpy()
        expected = (without - alpha[others]) @ TERMS[others] - alpha[record] * TERMS[record]
        assert changes[record] == pytest.approx(expected, abs=1e-12)
