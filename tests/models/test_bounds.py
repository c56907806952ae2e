"""Public bounds: draws are truncated to them and never clipped, and the mass is that of the
truncated draws.
"""

import numpy as np
import pandas as pd
import pytest
from brute import assert_clear
from records import terms
from riskweighted_models.normal_parts import NormalParts, draw_truncated, log_normal_mass
from scipy import stats

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.runs.models import build_synthesizer

N = 400


def frame():
    rng = np.random.default_rng(3)
    x = rng.normal(0, 1, N)
    return pd.DataFrame(
        {"x": x, "g": np.resize(list("ab"), N), "y": np.exp(1 + 0.5 * x + rng.normal(0, 0.5, N))}
    )


@pytest.mark.parametrize(
    ("lower", "upper", "mean"),
    [
        (-1.0, 2.0, 0.3),
        (5.0, 6.0, 0.0),
        (-np.inf, -9.0, 0.0),
        (30.0, np.inf, 0.0),
        (40.0, 40.5, -3.0),
        (-0.2, 0.1, 50.0),
        (-2.0, np.inf, 8.0),
    ],
)
def test_truncated_normals_are_those_of_scipy_far_out_too(lower, upper, mean):
    sd = 1.3
    reference = stats.truncnorm((lower - mean) / sd, (upper - mean) / sd, loc=mean, scale=sd)
    rng = np.random.default_rng(1)
    drawn = draw_truncated(lower, upper, np.full(4000, mean), sd, rng)
    assert ((drawn >= lower) & (drawn <= upper)).all()
    assert len(set(drawn)) == 4000  # truncated: no value piles up at a bound
    assert stats.kstest(drawn, reference.cdf).pvalue > 1e-4
    middle = reference.median()
    halves = [
        log_normal_mass(*ends, np.array([mean]), sd) for ends in ((lower, middle), (middle, upper))
    ]
    whole = log_normal_mass(lower, upper, np.array([mean]), sd)
    np.testing.assert_allclose(np.logaddexp(*halves), whole, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.exp(halves[0] - whole), 0.5, rtol=1e-6)


def test_a_mixture_between_bounds_weighs_its_components_by_what_they_have_there():
    mean, sd, share = np.array([[0.0, 30.0]]), np.array([1.0, 2.0]), np.array([[0.7, 0.3]])
    parts = NormalParts(mean, sd, np.log(share), np.zeros(20_000, dtype=int), (3.0, 27.0))
    inside = share[0] * [stats.norm.sf(3), stats.norm.cdf(-1.5)]
    drawn = parts.draw(np.random.default_rng(2))
    low = (drawn < 10).mean()
    expected = inside[0] / inside.sum()
    assert abs(low - expected) < 5 * np.sqrt(expected * (1 - expected) / 20_000)
    everything = np.full(20_000, np.inf)
    np.testing.assert_allclose(
        parts.mass(-everything, np.full(20_000, 10.0))[:3], expected, rtol=1e-9
    )
    np.testing.assert_allclose(parts.mass(-everything, everything)[:3], 1.0, rtol=1e-12)
    np.testing.assert_array_equal(parts.mass(np.full(20_000, 28.0), everything)[:3], 0.0)


THETA = {
    "linear-regression": {"coefficient": np.array([0.2, 1.5]), "sigma": np.array(2.0)},
    "normal-mixture": {
        "centre": np.array([0.2, 4.0]),
        "sigma": np.array([2.0, 1.0]),
        "weight": np.array([0.6, 0.4]),
        "slope": np.array([1.5]),
        "slope_spread": np.array(0.0),
        "slope_deviation": np.zeros((2, 1)),
    },
}


@pytest.mark.parametrize("name", list(THETA))
@pytest.mark.parametrize("transform", ["log", "identity", "asinh"])
def test_no_draw_leaves_the_bounds_and_none_stands_on_them(name, transform):
    settings = {"transform": transform, "location": 0.0, "scale": 1.0, "support": (0.01, 100)}
    synthesizer = rw.load_synthesizer(name)(
        "y ~ x", **settings | ({"components": 2} if name == "normal-mixture" else {})
    )
    data = frame()
    prepared = synthesizer.prepare(data)
    drawn = np.concatenate(
        [
            synthesizer.distribution(THETA[name], prepared).draw(np.random.default_rng(seed))
            for seed in range(50)
        ]
    )
    assert drawn.min() >= 0.01
    assert drawn.max() <= 100
    assert np.isin(drawn, [0.01, 100]).sum() == 0
    free = rw.load_synthesizer(name)(
        "y ~ x",
        **settings | {"support": None} | ({"components": 2} if name == "normal-mixture" else {}),
    )
    ends = np.quantile(drawn, [0.3, 0.9])
    inside = free.distribution(THETA[name], prepared).mass(0.01, 100.0)
    np.testing.assert_allclose(
        synthesizer.distribution(THETA[name], prepared).mass(*ends),
        free.distribution(THETA[name], prepared).mass(*ends) / inside,
        rtol=1e-9,
    )
    np.testing.assert_array_equal(
        synthesizer.distribution(THETA[name], prepared).mass(100.5, np.inf), 0.0
    )
    np.testing.assert_array_equal(
        *(terms(model, THETA[name], prepared, data) for model in (synthesizer, free))
    )


@pytest.mark.parametrize(
    "support",
    [
        (1, 1),
        (2, 1),
        (0,),
        (0, 1, 2),
        7,
        "0, 1",
        ("0", 1),
        (np.nan, 1),
        (0, np.nan),
        (True, 2),
        {0: 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", list(THETA))
def test_bounds_that_are_none_are_refused_at_once(name, support):
    with pytest.raises(InputError) as caught:
        rw.load_synthesizer(name)("y ~ x", support=support)
    assert_clear(caught, "support")


@pytest.mark.parametrize("name", list(THETA))
def test_bounds_that_exclude_confidential_values_are_refused_with_their_count(name):
    data = frame()
    high = float(data["y"].nlargest(8).iloc[-1])
    outside = int((data["y"] > high).sum())
    assert outside == 7
    with pytest.raises(InputError) as caught:
        rw.load_synthesizer(name)("y ~ x", support=(0, high)).prepare(data)
    assert_clear(caught, "support", f"7 of {N}", "'y'")


def test_a_study_file_gives_bounds_as_a_list():
    made = build_synthesizer("linear-regression", "y ~ x", {"support": [0, 1_000_000]})
    assert made == build_synthesizer("linear-regression", "y ~ x", {"support": [0.0, 1e6]})
    assert hash(made) == hash(
        build_synthesizer("linear-regression", "y ~ x", {"support": (0, 1_000_000)})
    )
    assert made.support == (0.0, 1e6)
    assert rw.load_synthesizer("normal-mixture")("y ~ x", support=[None, 5]).support == (
        -np.inf,
        5.0,
    )
