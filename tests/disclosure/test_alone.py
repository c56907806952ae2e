"""Records whose released pattern nobody shares, and the columns that are named for it."""

import warnings

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.shuffle import columns_causing_uniques, warn_of_columns_causing_uniques
from riskweighted.disclosure.yardstick import named_by_constant
from riskweighted.intruder.world import make_world

pytestmark = pytest.mark.quick
RNG = np.random.default_rng(3)
DATA = pd.DataFrame(
    {
        "region": RNG.choice(list("abc"), 400),
        "age": RNG.integers(0, 5, 400),
        "weight": RNG.gamma(3, size=400),
        "id": np.arange(400),
    }
)


def test_the_columns_that_leave_rows_alone_are_named_with_what_they_cost():
    names, share, without = columns_causing_uniques(DATA, ["region", "weight", "age"])
    assert names == ("weight",)
    assert share == 1
    assert without < 0.05
    assert set(columns_causing_uniques(DATA, ["id", "region", "weight"])[0]) == {"id", "weight"}
    assert columns_causing_uniques(DATA, ["region", "age"])[0] == ()


def test_they_are_warned_of_and_others_are_not():
    with pytest.warns(rw.SingletonWarning, match="'weight' released, 100%"):
        warn_of_columns_causing_uniques(DATA, ["region", "weight"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_columns_causing_uniques(DATA, ["region", "age"])


def test_one_value_for_all_names_the_largest_share_that_any_does():
    data = DATA.assign(income=np.exp(RNG.normal(9, 0.5, 400)))
    world = make_world(data, rw.Scenario(known="region", synthetic="income"))
    named, y = named_by_constant(Coding(world)), data["income"].to_numpy()
    best = max(np.mean(np.abs(guess - y) <= 0.2 * y) for guess in 0.8 * y)
    assert named.mean() >= best
