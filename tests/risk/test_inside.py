"""Values drawn inside balls: by the model's inverse, and by halving."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.contract.vector_layout import layout_of
from riskweighted.risk.balls import Inside, drawn_balls
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sequence.rounding import Rounding

N = 300


PLAIN = SimpleNamespace(categories=None, synthesizer=None)


class Halving:
    """A model whose distribution has no `inverse`."""

    def __init__(self, synthesizer):
        self.whole = synthesizer

    def distribution(self, theta, prepared):
        return SimpleNamespace(mass=self.whole.distribution(theta, prepared).mass)


def test_the_inverse_draws_what_halving_draws():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"x": rng.normal(size=N), "count": rng.poisson(3, N).clip(max=9)})
    synthesizer = rw.load_synthesizer("counts")("count ~ x")
    prepared = synthesizer.prepare(data)
    theta = {"coefficient": rng.normal(0, 0.4, len(synthesizer._prior(len(prepared.levels), 1)[0]))}
    fit = BlockFit(synthesizer, pd.Series(1.0, data.index), None, None, data, prepared)
    scenario = rw.Scenario(known=["x"], synthetic="count", min_radius=2)
    balls = drawn_balls(
        scenario, "count", data["count"].to_numpy(dtype=float), True, Rounding(fit, 1.0)
    )
    drawn = Inside(fit, theta, prepared, balls, np.random.default_rng(2)).values()
    halved = Inside(fit, theta, prepared, balls, np.random.default_rng(2))
    object.__setattr__(fit, "categories", None)
    object.__setattr__(fit, "synthesizer", Halving(synthesizer))
    object.__setattr__(fit, "precision", 1.0)
    np.testing.assert_array_equal(drawn, halved.values())
    assert (np.abs(drawn - data["count"]) <= 2).all()
    assert len(np.unique(drawn - data["count"])) > 2


def test_the_inverse_of_amounts_draws_what_halving_draws():
    rng = np.random.default_rng(3)
    x = rng.normal(size=N).round(1)
    data = pd.DataFrame(
        {
            "x": x,
            "income": np.rint(np.exp(7 + 0.4 * x + rng.normal(size=N)))
            * rng.choice([-1, 0, 1], N, p=[0.2, 0.1, 0.7]),
        }
    )
    synthesizer = rw.load_synthesizer("two-part")("income ~ x", support=(-1e6, 1e6))
    prepared = synthesizer.prepare(data)
    layout = layout_of(synthesizer.build(prepared))
    theta = {
        name: value[0]
        for name, value in layout.parameters(rng.normal(0, 0.2, (1, layout.size))).items()
    }
    fit = BlockFit(synthesizer, pd.Series(1.0, data.index), None, None, data, prepared)
    balls = drawn_balls(
        rw.Scenario(known=["x"], synthetic="income", min_radius=40),
        "income",
        data["income"].to_numpy(),
        True,
        Rounding(fit, 1.0),
    )
    drawn = Inside(fit, theta, prepared, balls, np.random.default_rng(4)).values()
    object.__setattr__(fit, "synthesizer", Halving(synthesizer))
    halved = Inside(fit, theta, prepared, balls, np.random.default_rng(4)).values()
    np.testing.assert_array_equal(drawn, halved)
    assert len(np.unique(drawn - data["income"])) > 100


@pytest.mark.parametrize(
    ("boundary", "lower", "upper"),
    [
        ("closed", [79.5, -0.5, 3.5], [120.5, 0.5, 6.5]),
        ("open", [80.5, 0.5, 4.5], [119.5, 0.5, 5.5]),
    ],
)
def test_what_rounds_into_an_open_ball_is_what_lies_strictly_within(boundary, lower, upper):
    """Of 100, 0 and 5, rounded to whole numbers: the open balls hold 81 to 119, nothing, and 5."""
    balls = drawn_balls(
        rw.Scenario(synthetic="y", boundary=boundary),
        "y",
        np.array([100.0, 0.0, 5.0]),
        True,
        Rounding(PLAIN, 1.0),
    )
    there = ~balls.empty
    np.testing.assert_array_equal(there, [True, boundary == "closed", True])
    np.testing.assert_allclose(balls.lower[there], np.array(lower)[there], atol=2e-4)
    np.testing.assert_allclose(balls.upper[there], np.array(upper)[there], atol=2e-4)
