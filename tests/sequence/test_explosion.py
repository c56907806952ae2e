"""Draws far beyond the confidential values are warned of; public bounds hold after rounding too."""

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from brute import SECRET

import riskweighted as rw
from riskweighted.design.precision import round_within
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sequence.fit import Fit

N = 300


def frame():
    rng = np.random.default_rng(4)
    return pd.DataFrame({"x": rng.normal(0, 1, N), "y": np.round(np.exp(rng.normal(3, 1, N)), 1)})


def fit_with(sigma, **settings):
    """A fit that drew one parameter vector: no predictor matters."""
    synthesizer = rw.load_synthesizer("linear-regression")("y ~ x", transform="log", **settings)
    data = frame()
    values = {
        "coefficient": (("chain", "draw", "k"), np.zeros((1, 4, 2))),
        "sigma": (("chain", "draw"), np.full((1, 4), sigma)),
    }
    posterior = xr.Dataset(values, coords={"chain": [0], "draw": np.arange(4)})
    return Fit.of(
        BlockFit(
            synthesizer,
            pd.Series(1.0, data.index),
            posterior,
            pd.DataFrame(),
            data,
            synthesizer.prepare(data),
        )
    )


def test_draws_beyond_ten_times_the_largest_value_are_counted():
    fitted = fit_with(4.0)
    with pytest.warns(rw.ExplosionWarning) as caught:
        frames = fitted.synthesize(4, random_seed=1)
    values = np.concatenate([one["y"] for one in frames])
    far = int((values > 10 * fitted.confidential["y"].max()).sum())
    assert far > 0
    (text,) = [str(warning.message) for warning in caught]
    assert text.startswith(f"{far} of 1,200 drawn values of 'y'")
    assert "\n" not in text
    assert not any(
        number in text
        for number in (str(fitted.confidential["y"].max()), str(SECRET), str(values.max()))
    )


def test_draws_like_the_data_are_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_with(1.0).synthesize(4, random_seed=1)


@pytest.mark.parametrize("precision", [None, 10.0, 25.0, 0.5])
def test_released_values_keep_to_the_bounds_after_rounding(precision):
    support = (0.26, float(frame()["y"].max()) + 3.14159)
    fitted = fit_with(4.0, support=support).with_drawing(rw.DrawingSettings(precision))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frames = fitted.synthesize(4, random_seed=1)
    values = np.concatenate([one["y"] for one in frames])
    assert values.min() >= support[0]
    assert values.max() <= support[1]
    step = precision or 0.1
    np.testing.assert_allclose(values / step, np.rint(values / step), atol=1e-6)


def test_rounding_steps_back_within_the_bounds_and_no_further():
    values = np.array([0.26, 0.3, 0.24, 99.96, 99.9, 50.04])
    np.testing.assert_allclose(
        round_within(values, 0.1, (0.24, 99.97)), [0.3, 0.3, 0.3, 99.9, 99.9, 50.0]
    )
    np.testing.assert_array_equal(
        round_within(values, 0.1, None), round_within(values, 0.1, (-np.inf, np.inf))
    )
    fine = np.array([1234567.84, 1234567.2])
    np.testing.assert_array_equal(
        round_within(fine, None, (0.0, 1234567.9)), [1234567.0, 1234567.0]
    )
