"""Files of which little can be said: they are judged, or not judged with a reason, and never pass
for want of anything to see.
"""

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.errors import ConvergenceWarning, InputError
from riskweighted.disclosure.attribution import attribution_of_fit
from riskweighted.disclosure.attribution_inputs import AttributionRequest
from riskweighted.disclosure.leave_one_out_weights import Weighting
from riskweighted.intruder.world import make_world

N = 60


def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    income = np.exp(3 + 0.5 * rng.normal(size=N))
    return pd.DataFrame(
        {
            "region": rng.choice(list("abc"), N),
            "number": np.arange(N),
            "everywhere": "a",
            "income": income,
        }
    )


def told(data: pd.DataFrame, known: str = "region", draws: int = 400) -> pd.DataFrame:
    """What 5 datasets of a regression on the region give away."""
    model = rw.load_synthesizer("linear-regression")("income ~ C(region)", transform="log")
    fit = rw.fit(model, data, random_seed=1, draws=draws, tune=200, chains=2)
    world = make_world(data, rw.Scenario(known=known, synthetic="income", radius=0.2))
    return attribution_of_fit(
        fit, world, AttributionRequest(), L=5, weighting=Weighting("unweighted"), random_seed=2
    )


def whole(table: pd.DataFrame, release: str) -> pd.Series:
    return table[(table["release"] == release) & (table["group"] == "all")].iloc[0]


@pytest.mark.slow
@pytest.mark.parametrize("known", ["everywhere", "number"])
def test_one_pattern_and_patterns_of_one_record_are_judged_however_rows_leave(known):
    table = told(people(), known)
    ways = [whole(table, release) for release in ("shuffled", "aligned")]
    assert all(0 <= way["bound"] < way["upper"] < 0.05 for way in ways)
    # alone there is nobody to change rows with
    assert ways[0]["D"] == pytest.approx(ways[1]["D"], abs=3 * (ways[0]["se"] + ways[1]["se"]))
    assert table.attrs["verdict"] in ("pass", "warn", "not shown")


@pytest.mark.slow
def test_heaps_are_held_with_and_without_a_record():
    table = told(
        people().assign(income=lambda data: data["income"].round(-1).clip(lower=10)), draws=250
    )
    row = whole(table, "shuffled")
    assert row["with"] > 0.5  # most are named
    assert abs(row["D"]) < 0.02  # and without their own value too
    assert table.attrs["verdict"] != "refuse", table.attrs["reasons"]


def test_fewer_than_a_hundred_draws_never_pass():
    """They are fewer than the effective draws that a fit needs to have converged."""
    with pytest.warns(ConvergenceWarning):
        table = told(people(), draws=45)
    assert (table.attrs["verdict"], len(table.attrs["reasons"])) == ("not judged", 1)


def test_a_constant_target_is_refused_by_name():
    with pytest.raises(InputError, match="'income' is constant"):
        told(people().assign(income=20.0))
