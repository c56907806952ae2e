"""The mass of a ball is the share of released draws in it, however values are rounded, stored,
bounded and coded: counted in draws.
"""

import numpy as np
import pandas as pd
import pytest
from laplace_fit import laplace_fit

import riskweighted as rw
from riskweighted.intruder.world import make_world
from riskweighted.risk.ball_masses import ball_masses

N, DRAWS = 300, 60


def incomes(seed=1, *, size=7.0, spread=0.8):
    rng = np.random.default_rng(seed)
    region = rng.choice(["a", "b", "c"], N)
    return pd.DataFrame(
        {
            "region": region,
            "income": np.exp(size + 0.3 * (region == "a") + spread * rng.normal(size=N)),
        }
    )


def exact():
    """Amounts of any number of digits: released with 7 significant ones, which a tenth of them
    have.
    """
    frame = incomes()
    values = 1000 + 0.01 * np.log(frame["income"])
    return (
        "linear-regression",
        {},
        frame.assign(income=np.where(np.arange(N) % 10 == 0, values.round(3), values)),
        None,
    )


def single():
    """Cents in single precision: 27.28 is held as 27.2800007."""
    frame = incomes(size=3.0, spread=0.1)
    return (
        "linear-regression",
        {"transform": "log"},
        frame.assign(income=frame["income"].round(2).astype(np.float32)),
        None,
    )


def coarser():
    """Values on a grid of fives, released in tens: half points go to the even multiple."""
    frame = incomes(spread=0.1, size=5.0)
    return "transformation", {}, frame.assign(income=5 * np.rint(frame["income"] / 5)), 10.0


def counted():
    """Counts, released in tens."""
    rng = np.random.default_rng(4)
    frame = incomes().assign(income=rng.poisson(40, N))
    return "negative-binomial", {"components": 1}, frame, 10.0


def bounded():
    """Public bounds, which are no multiples: what is rounded beyond them steps back."""
    frame = incomes(size=4.0, spread=0.3)
    frame["income"] = frame["income"].round(-1).clip(40, 50)
    return "linear-regression", {"support": (31.0, 58.0)}, frame, None


def off_grid():
    """A code of the model between two multiples, beside amounts around it."""
    frame = incomes(size=2.0, spread=0.5)
    frame["income"] = np.where(np.arange(N) % 4 == 0, 7.5, frame["income"].round() + 1)
    return "two-part", {"codes": (7.5,)}, frame, 1.0


CASES = {
    "exact": exact,
    "single": single,
    "coarser": coarser,
    "counted": counted,
    "bounded": bounded,
    "off_grid": off_grid,
}


@pytest.mark.parametrize("radius", [0.0, 0.04])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_mass_of_balls_is_the_share_of_released_draws_in_them(case, radius):
    name, settings, frame, precision = case()
    fit = laplace_fit(
        rw.load_synthesizer(name)("income ~ C(region)", **settings), frame, draws=DRAWS
    )
    fit = fit.with_drawing(rw.DrawingSettings(precision))
    world = make_world(frame, rw.Scenario(known=["region"], synthetic="income", radius=radius))
    masses = ball_masses(fit, world)
    rng = np.random.default_rng(2)
    found = 0
    mass = 0.0
    variance = 0.0
    for draw in range(DRAWS):
        theta = fit.thetas(0, draw)
        made = fit.released(fit.draw(0, draw), rng)
        each = masses(theta, rng, made)
        found = found + world.find(made).own_inside.sum()
        mass = mass + each.sum()
        variance = variance + (each * (1 - each)).sum()
    assert mass > 0.01
    assert abs(found - mass) < 4 * np.sqrt(variance) + 0.5
