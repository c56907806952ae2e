"""The masses of intervals that cover everything add up to 1, in whatever units the numbers are."""

import numpy as np
import pandas as pd
import pytest
from riskweighted_models.two_part import TwoPart

import riskweighted as rw
from riskweighted.contract.categories import target_numbers
from riskweighted.contract.intervals import intervals_of
from riskweighted.sampling.graphs import start_of

N = 60
MODELS = [
    ("linear-regression", {"transform": "log"}),
    ("normal-mixture", {"components": 2}),
    ("transformation", {}),
    ("two-part", {}),
]


@pytest.mark.parametrize(("name", "settings"), MODELS)
def test_masses_add_up_to_one_whatever_the_units(name, settings):
    target = "profit" if name == "two-part" else "income"
    for unit, decimals in ((1e-6, 8), (1.0, 6), (1e7, 0)):
        rng = np.random.default_rng(1)
        kind = rng.choice([-1.0, 0.0, 1.0], N) if name == "two-part" else 1.0
        data = pd.DataFrame(
            {
                "x": rng.normal(size=N),
                target: (kind * np.exp(rng.normal(7, 1.2, N)) * unit).round(decimals),
            }
        )
        model = rw.load_synthesizer(name)(f"{target} ~ x", **settings)
        prepared = model.prepare(data)
        theta = start_of(model.build(prepared))
        lower, upper, _ = intervals_of(model, prepared, target_numbers(model, prepared, data))
        distribution = model.distribution(theta, prepared)
        masses = np.array(
            [
                distribution.mass(np.full(N, low), np.full(N, high))
                for low, high in zip(lower, upper, strict=True)
            ]
        )
        np.testing.assert_allclose(masses.sum(axis=0), 1, rtol=0, atol=1e-9)


@pytest.mark.quick
@pytest.mark.parametrize("value", ["transformation", "normal-mixture"])
def test_masses_that_are_asked_of_all_records_at_once_are_the_same(value):
    rng, n = np.random.default_rng(1), 120
    kind = rng.choice([-1.0, 0.0, 1.0], n)
    data = pd.DataFrame(
        {"x": rng.normal(size=n), "profit": (kind * np.exp(rng.normal(4, 1, n))).round(1)}
    )
    data.loc[:5, "profit"] = 99.9
    model = TwoPart("profit ~ x", value=value, codes=(99.9,), support=(-5000, 5000))
    prepared = model.prepare(data)
    theta = {name: values + 0.2 for name, values in start_of(model.build(prepared)).items()}
    distribution = model.distribution(theta, prepared)
    if value != "transformation":
        assert distribution.masses_of is None
        return
    lower = np.array([-np.inf, -80.0, -3.0, 0.0, 0.0, 0.1, 99.9, 120.0])
    upper = np.array([np.inf, -2.0, 7.0, 0.0, 99.8, 99.9, 99.9, 90.0])
    each = [
        distribution.mass(np.full(n, low), np.full(n, high))
        for low, high in zip(lower, upper, strict=True)
    ]
    np.testing.assert_allclose(
        distribution.masses_of(lower, upper), np.transpose(each), rtol=0, atol=1e-14
    )
    assert (np.transpose(each)[:, :7] > 0).all()
