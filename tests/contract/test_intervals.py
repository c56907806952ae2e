"""In which interval a value lies, and of which kind it is."""

import numpy as np
import pandas as pd
import pytest
from riskweighted_models.two_part import TwoPart

import riskweighted as rw
from riskweighted.contract.centring import Intervals


@pytest.mark.quick
def test_a_value_beyond_all_intervals_is_of_the_nearest_one_s_kind():
    intervals = Intervals(
        np.array([-5.0, 0.0, 1.0]), np.array([-1.0, 0.0, 9.0]), np.array([0, 1, 2])
    )
    values = np.array([-30.0, -5.0, 0.0, 4.0, 12.0, 0.4, 0.6])
    np.testing.assert_array_equal(intervals.of(values), [-1, 0, 1, 2, -1, -1, -1])
    np.testing.assert_array_equal(intervals.kind_of(values), [0, 0, 1, 2, 2, 1, 2])


def test_losses_beyond_bounds_that_were_found_are_losses_to_centred_weights():
    """A fit is refused where its density and what its distribution says that records add are not
    the same.
    """
    rng, n = np.random.default_rng(1), 200
    gain = np.where(rng.random(n) < 0.4, -rng.lognormal(1, 0.6, n), rng.lognormal(1, 0.6, n)).round(
        2
    )
    gain[:2] = -40.0, 60.0
    data = pd.DataFrame({"group": rng.choice(["a", "b"], n), "gain": gain})
    scenario = rw.Scenario(known="group", synthetic="gain", radius=0.3)
    weights = rw.centred_weights("mix+(t=0.5)", data, scenario)
    model = TwoPart("gain ~ group", support=(-20, 30, "found"))
    assert rw.fit(model, data, weights, draws=200, chains=2, random_seed=1).estimates
