"""The mass of a ball is the share of released draws in it, however values are rounded, stored,
bounded and coded: counted in draws.
"""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from laplace_fit import laplace_fit

import riskweighted as rw
from riskweighted.design.precision import round_within
from riskweighted.intruder.world import make_world
from riskweighted.risk.cells import Rounding
from riskweighted.risk.masses import ball_masses

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
    world = make_world(frame, rw.Scenario(known=["region"], synthetic="income", radius=radius))
    masses = ball_masses(fit, world, precision)
    rng = np.random.default_rng(2)
    found = 0
    mass = 0.0
    variance = 0.0
    for draw in range(DRAWS):
        theta = fit.thetas(0, draw)
        made = fit.released(fit.draw(0, draw), rng, precision)
        each = masses(theta, rng, made)
        found = found + world.find(made).own_inside.sum()
        mass = mass + each.sum()
        variance = variance + (each * (1 - each)).sum()
    assert mass > 0.01
    assert abs(found - mass) < 4 * np.sqrt(variance) + 0.5


@pytest.mark.parametrize("precision", [1.0, 5.0, 0.1, None])
def test_cells_are_what_rounding_takes_to_a_number(precision):
    rounding = Rounding(
        SimpleNamespace(categories=None, synthesizer=SimpleNamespace(support=(-3.0, 12.4))),
        precision,
    )
    values = np.random.default_rng(1).uniform(-3.0, 12.4, 4_000)
    released = round_within(values, precision, (-3.0, 12.4))
    ends = rounding.ends(released, released)
    assert not ends.empty.any()
    for other in (values, np.roll(values, 1)):
        apart = np.abs(other[:, None] - np.column_stack([ends.lower, ends.upper])).min(
            axis=1
        ) > 1e-3 * (precision or 1e-5)
        inside = (ends.lower <= other) & (other <= ends.upper)
        np.testing.assert_array_equal(
            (round_within(other, precision, (-3.0, 12.4)) == released)[apart], inside[apart]
        )
    assert rounding.ends(np.array([13.0, -3.5]), np.array([13.0, -3.4])).empty.all()


def test_a_number_is_read_as_it_was_before_it_was_stored():
    rounding = Rounding(SimpleNamespace(categories=None, synthesizer=None), 0.01)
    held = pd.Series([27.28, 1234.56, 0.0, np.nan], dtype=np.float32)
    for column in (held, held.astype(float)):
        np.testing.assert_array_equal(rounding.read(column), [27.28, 1234.56, 0.0, np.nan])
    np.testing.assert_array_equal(rounding.read(pd.Series([27.285])), [27.285])  # on no grid
