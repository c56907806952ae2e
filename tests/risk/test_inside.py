"""Values drawn inside balls: by the model's inverse, and by halving."""

import numpy as np
import pandas as pd

import riskweighted as rw
from riskweighted.risk.balls import drawn_balls
from riskweighted.risk.inside import Inside
from riskweighted.synthesis.posterior import Fit

N = 300


class Halving:
    """A model without `inverse`."""

    def __init__(self, synthesizer):
        self.mass = synthesizer.mass


def test_the_inverse_draws_what_halving_draws():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"x": rng.normal(size=N), "count": rng.poisson(3, N).clip(max=9)})
    synthesizer = rw.load_synthesizer("counts")("count ~ x")
    prepared = synthesizer.prepare(data)
    theta = {"coefficient": rng.normal(0, 0.4, len(synthesizer._prior(len(prepared.levels), 1)[0]))}
    fit = Fit(synthesizer, pd.Series(1.0, data.index), None, None, data, prepared)
    scenario = rw.Scenario(known=["x"], synthetic="count", min_radius=2)
    balls = drawn_balls(scenario, "count", data["count"].to_numpy(dtype=float), True, 1.0)
    drawn = Inside(fit, theta, prepared, balls, np.random.default_rng(2)).values()
    halved = Inside(fit, theta, prepared, balls, np.random.default_rng(2))
    object.__setattr__(fit, "categories", None)
    object.__setattr__(fit, "synthesizer", Halving(synthesizer))
    object.__setattr__(fit, "precision", 1.0)
    np.testing.assert_array_equal(drawn, halved.values())
    assert (np.abs(drawn - data["count"]) <= 2).all()
    assert len(np.unique(drawn - data["count"])) > 2
