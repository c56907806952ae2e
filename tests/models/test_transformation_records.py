"""Records of a transformation model, design by design, against arrays of all records by all
bins.
"""

import gc
import weakref

import numpy as np
import pandas as pd
import pytest
from riskweighted_models import grid
from riskweighted_models.kernels.bins import bin_probabilities
from riskweighted_models.transformation_posterior import gamma_of, point_weight, predictor_of

import riskweighted as rw
from riskweighted.contract.distribution import interval_masses, read_only
from riskweighted.sampling.graphs import start_of

N = 3000


def probabilities(theta, prepared):
    rows, which = prepared.distinct
    return bin_probabilities(
        predictor_of(theta, rows), gamma_of(theta), theta["tilt"], prepared.grid.hats
    )[which]


def share_below(grid, bins, units, weight):
    first, end = grid.edges[bins], grid.edges[bins + 1] + (bins == len(grid.edges) - 2) * grid.whole
    if not grid.whole:
        return (np.clip(units, first, end) - first) * weight[bins, 0]
    stop = np.clip(np.floor(units) + 1, first, end)
    multiples = np.ceil(stop[:, None] / grid.heaps) - np.ceil(first[:, None] / grid.heaps)
    points = multiples - np.column_stack([multiples[:, 1:], np.zeros(len(units))])
    return (points * weight[bins]).sum(axis=1)


def slow_mass(theta, prepared, lower, upper):
    found = probabilities(theta, prepared)
    grid = prepared.grid
    weight = point_weight(theta, prepared.grid, prepared.heap_of)
    cumulated = np.column_stack([np.zeros(len(found)), np.cumsum(found, axis=1)])
    records = np.arange(len(found))
    lowest, highest = grid.edges[0], grid.edges[-1]

    def below(units):
        inside = np.clip(units, lowest - 1, highest)
        bins = np.clip(
            np.searchsorted(grid.edges[1:-1], inside, side="right"), 0, len(grid.band) - 1
        )
        share = np.where(inside < lowest, 0.0, share_below(grid, bins, inside, weight))
        return cumulated[records, bins] + found[records, bins] * share

    first, last = (np.clip(bound / grid.unit, lowest - 2, highest + 2) for bound in (lower, upper))
    if grid.whole:
        slack = 1e-9 + 16 * np.finfo(float).eps * np.abs(last)
        first, last = np.ceil(first - slack) - 1, np.floor(last + slack)
    return np.maximum(below(last) - below(first), 0.0)


def slow_draw(theta, prepared, rng):
    grid, weight = prepared.grid, point_weight(theta, prepared.grid, prepared.heap_of)
    cumulated = np.cumsum(probabilities(theta, prepared), axis=1)
    bins = (cumulated < rng.random(len(cumulated))[:, None] * cumulated[:, -1:]).sum(axis=1)
    first, last = grid.edges[bins], grid.edges[bins + 1]
    if not grid.whole:
        return grid.unit * (first + rng.random(len(bins)) * (last - first))
    by_heap = np.cumsum(grid.points[bins] * weight[bins], axis=1)
    chosen = (by_heap < rng.random(len(bins))[:, None] * by_heap[:, -1:]).sum(axis=1)
    heap, following = grid.heaps[chosen], np.append(grid.heaps[1:], 0)[chosen]
    ratio = np.where(following > 0, following // np.maximum(heap, 1), np.iinfo(np.int64).max)
    start = np.ceil(first / heap).astype(np.int64) - 1
    number = (
        start
        - start // ratio
        + 1
        + np.floor(rng.random(len(bins)) * grid.points[bins, chosen]).astype(np.int64)
    )
    return (grid.unit * heap * (number + (number - 1) // (ratio - 1))).astype(float)


def frame_of(digits):
    rng = np.random.default_rng(1)
    x, g = rng.normal(size=N).round(1), rng.choice(list("abcd"), N)
    income = np.exp(10 + 0.3 * x + rng.normal(0, 0.8, N))
    income = np.where(rng.random(N) < 0.4, np.rint(income / 500) * 500, income).clip(1)
    return pd.DataFrame({"x": x, "g": g, "income": np.round(income, digits)})


def theta_of(prepared, seed=2):
    rng, p, grid = np.random.default_rng(seed), prepared.raw.columns.shape[1], prepared.grid
    theta = {
        "intercept": np.array(-0.2),
        "slope": rng.normal(0, 0.4, p),
        "log_slope": rng.normal(0, 0.2, p),
    }
    theta |= {
        "log_slope_by_place": rng.normal(0, 0.1, p),
        "gamma_middle": np.array(0.3),
        "step": rng.normal(0, 0.2, len(grid.knots) - 1),
    }
    heaps = prepared.heap_of.max() + 1
    return (
        theta
        | {"tilt": rng.normal(0, 0.2, len(grid.band))}
        | ({"log_heaping": rng.normal(2, 1, heaps)} if heaps else {})
    )


@pytest.fixture(scope="module", params=[0, 2, 12], ids=["whole", "cents", "no grid"])
def case(request):
    model = rw.load_synthesizer("transformation")("income ~ x + C(g)", support=(None, 1e6))
    prepared = model.prepare(frame_of(request.param))
    assert prepared.grid.whole == (request.param < 12)
    return model, prepared, theta_of(prepared), frame_of(request.param)


def test_masses_are_those_of_all_records_by_all_bins(case):
    model, prepared, theta, _frame = case
    rng, values = np.random.default_rng(4), frame_of(2)["income"].to_numpy()
    lower, upper = values * rng.uniform(0.5, 1, N), values * rng.uniform(1, 1.5, N)
    lower[:9], upper[9:20], lower[20:30], upper[30:35], lower[35:40] = (
        -np.inf,
        np.inf,
        2e6,
        0.4,
        -7.5,
    )
    expected = slow_mass(theta, prepared, lower, upper)
    np.testing.assert_allclose(
        model.distribution(theta, prepared).mass(lower, upper), expected, rtol=1e-12, atol=1e-15
    )
    masses, other = interval_masses(model, prepared, lower, upper), theta_of(prepared, 3)
    np.testing.assert_array_equal(
        masses(theta), model.distribution(theta, prepared).mass(lower, upper)
    )
    np.testing.assert_array_equal(
        masses(other), model.distribution(other, prepared).mass(lower, upper)
    )
    np.testing.assert_array_equal(
        model.distribution(theta, prepared).mass(np.full(N, -5.0), np.full(N, -2.0)), 0
    )


def test_draws_are_those_of_the_same_random_numbers(case):
    model, prepared, theta, _frame = case
    expected = slow_draw(theta, prepared, np.random.default_rng(5))
    np.testing.assert_array_equal(
        model.distribution(theta, prepared).draw(np.random.default_rng(5)), expected
    )
    wanted = np.random.default_rng(6).random(N) < 0.1
    some = model.distribution(theta, prepared, wanted).draw(np.random.default_rng(5))
    np.testing.assert_array_equal(some[wanted], expected[wanted])


def test_likelihoods_are_those_of_all_records_by_all_bins(case):
    model, prepared, theta, frame = case
    weight = point_weight(theta, prepared.grid, prepared.heap_of)
    expected = np.log(probabilities(theta, prepared)[np.arange(N), prepared.bins]) + np.log(
        weight[prepared.bins, prepared.heap]
    )
    y = prepared.design.response(frame)
    found = model.distribution(theta, prepared).log_density(y)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    wanted = np.random.default_rng(6).random(N) < 0.1
    np.testing.assert_allclose(
        model.distribution(theta, prepared, wanted).log_density(y)[wanted],
        found[wanted],
        rtol=1e-13,
    )


def check_inverse(model, prepared, theta, lower, upper, step):
    """It is the first value at which the mass from the lower end reaches its share; `step`: of
    values, 0 where they are on no grid.
    """
    share = np.random.default_rng(7).random(N)
    share[:2] = 0.0, 1 - 1e-16
    found = model.distribution(theta, prepared).inverse(lower, upper, share)
    whole = model.distribution(theta, prepared).mass(lower, upper)
    there = whole > 0
    np.testing.assert_array_equal(np.isnan(found), ~there)
    assert 0 < there.sum() < N
    found, slack = np.where(there, found, lower), np.where(step > 0, 1e-12, 1e-9)
    near = 1e-9 * (1 + np.abs(found))
    assert ((lower <= found + near) & (found - near <= upper))[there].all()
    reached, before = (
        model.distribution(theta, prepared).mass(lower, found + off)
        for off in (near, -near - 0.5 * step)
    )
    assert (reached >= share * whole - slack)[there].all()
    assert (before <= share * whole + slack)[there].all()


def test_the_inverse_of_a_mass_is_where_it_reaches_its_share(case):
    model, prepared, theta, _frame = case
    rng, values = np.random.default_rng(4), frame_of(2)["income"].to_numpy()
    lower, upper = (
        np.round(values * rng.uniform(*ends, N), 1) - 0.005 for ends in ((0.5, 1), (1, 1.5))
    )
    lower[:9], upper[9:20], lower[20:30], upper[30:35], upper[35:60] = (
        -np.inf,
        np.inf,
        2e6,
        0.4,
        lower[35:60] + 0.3,
    )
    lower[30:35] = -7.5
    check_inverse(
        model, prepared, theta, lower, upper, prepared.grid.unit if prepared.grid.whole else 0.0
    )
    some, share = rng.random(N) < 0.1, rng.random(N)
    found = model.distribution(theta, prepared, some).inverse(lower, upper, share)
    np.testing.assert_allclose(
        found[some],
        model.distribution(theta, prepared).inverse(lower, upper, share)[some],
        rtol=1e-12,
    )


def signed(digits):
    """Amounts of either sign, zeros and a spike."""
    data, rng = frame_of(digits), np.random.default_rng(8)
    sign = rng.choice([0.0, -1.0, 1.0], N, p=[0.1, 0.2, 0.7])
    return data.assign(income=np.where(rng.random(N) < 0.1, 500.0, sign * data["income"]))


def two_parts(digits, codes=()):
    model = rw.load_synthesizer("two-part")("income ~ x + C(g)", support=(-1e6, 1e6), codes=codes)
    prepared, rng = model.prepare(signed(digits)), np.random.default_rng(9)
    theta = {
        f"{sign}::{name}": value
        for sign, part in prepared.parts.items()
        for name, value in theta_of(part.prepared).items()
    }
    shapes = prepared.cells.shapes
    return (
        model,
        prepared,
        theta | {name: rng.normal(-1, 0.3, shape) for name, shape in shapes.items()},
    )


@pytest.mark.parametrize("digits", [0, 12], ids=["whole", "no grid"])
def test_the_inverse_of_two_parts_goes_from_negative_values_over_zero_to_positive_ones(digits):
    model, prepared, theta = two_parts(digits)
    rng, values = np.random.default_rng(10), signed(2)["income"].to_numpy()
    lower, upper = values - rng.uniform(0, 9000, N), values + rng.uniform(0, 9000, N)
    lower[:9], upper[9:20], lower[20:30], upper[20:30], upper[30:60] = (
        -np.inf,
        np.inf,
        2e6,
        3e6,
        lower[30:60] + 0.3,
    )
    check_inverse(model, prepared, theta, lower, upper, 1.0 if digits == 0 else 0.0)


def test_the_inverse_draws_a_code_as_often_as_it_has_mass():
    model, prepared, theta = two_parts(0, codes=(500.0,))
    lower, upper = np.full(N, -3000.0), np.full(N, 40000.0)
    found = np.array(
        [
            model.distribution(theta, prepared).inverse(lower, upper, share)
            for share in (np.arange(200)[:, None] + np.linspace(0, 1, N)) / 201
        ]
    )
    expected = model.distribution(theta, prepared).mass(
        np.full(N, 500.0), np.full(N, 500.0)
    ) / model.distribution(theta, prepared).mass(lower, upper)
    np.testing.assert_allclose((found == 500).mean(axis=0), expected, atol=0.011)
    negative = model.distribution(theta, prepared).mass(
        lower, np.full(N, -1.0)
    ) / model.distribution(theta, prepared).mass(lower, upper)
    np.testing.assert_allclose((found < 0).mean(axis=0), negative, atol=0.011)


def test_two_parts_without_an_inverse_of_their_amounts_have_none():
    for settings, there in (({"value": "normal-mixture"}, False), ({}, True)):
        model = rw.load_synthesizer("two-part")("income ~ x", support=(-1e6, 1e6), **settings)
        prepared = model.prepare(signed(0))
        assert (
            callable(
                getattr(
                    model.distribution(start_of(model.build(prepared)), prepared), "inverse", None
                )
            )
            == there
        )


@pytest.mark.parametrize("name", ["transformation", "two-part"])
def test_the_same_intervals_are_searched_once_whatever_the_predictors_are_and_let_go(
    name, monkeypatch
):
    searched, count = [], grid._counts_below
    monkeypatch.setattr(grid, "_counts_below", lambda *given: searched.append(0) or count(*given))
    rng = np.random.default_rng(2)
    data = pd.DataFrame(
        {"region": rng.choice(list("abc"), 300), "pay": np.exp(rng.normal(7, 1, 300)).round()}
    )
    data.loc[: 60 if name == "two-part" else -1, "pay"] = 0.0
    kind = rw.load_synthesizer(name)("pay ~ C(region)")
    prepared = kind.prepare(data)
    theta = start_of(kind.build(prepared))
    others = [prepared.at(data.assign(region=list("abc")[place])) for place in range(3)]
    lower, upper = (read_only(factor * data["pay"].to_numpy()) for factor in (0.8, 1.2))
    del searched[:]
    masses = [kind.distribution(theta, other).mass(lower, upper) for other in others]
    assert len(searched) == 1
    again = [kind.distribution(theta, other).mass(lower.copy(), upper.copy()) for other in others]
    assert np.array_equal(masses, again)
    assert len(searched) == 4
    held = weakref.ref(lower)
    del lower
    gc.collect()
    assert held() is None
