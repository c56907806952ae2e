"""Boxes of two and more numeric synthetic variables, against literal comparison and the brute
force.
"""

import warnings
from unittest import mock

import brute
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from riskweighted import Scenario, identification_risk, kway_weights, marginal_weights
from riskweighted.intruder.neighbours import sort_centres
from riskweighted.intruder.world import make_world

numbers = st.sampled_from([-20.0, -10.0, -1.0, 0.0, 1.0, 9.0, 10.0, 11.0, 12.0, 100.0])


@st.composite
def frames(draw, variables):
    n = draw(st.integers(1, 14))
    columns = {"g": draw(st.lists(st.sampled_from(["a", "b", None]), min_size=n, max_size=n))}
    for name in variables:
        columns[name] = draw(st.lists(numbers, min_size=n, max_size=n))
    columns["c"] = draw(st.lists(st.sampled_from(["x", "y"]), min_size=n, max_size=n))
    return pd.DataFrame(columns)


def literal(confidential, candidates, scenario):
    """inside[i, h]: candidate h shares i's pattern and lies in i's box."""
    n = len(confidential)
    inside = np.ones((n, n), dtype=bool)
    for i in range(n):
        for h in range(n):
            for name in scenario.known:
                a, b = confidential[name].iloc[i], confidential[name].iloc[h]
                inside[i, h] &= (a == b) or (pd.isna(a) and pd.isna(b))
            for name in scenario.synthetic:
                y, z = confidential[name].iloc[i], candidates[name].iloc[h]
                inside[i, h] &= (
                    y == z
                    if isinstance(y, str)
                    else y - scenario.radius_of(name) * abs(y)
                    <= z
                    <= y + scenario.radius_of(name) * abs(y)
                )
    return inside


@settings(max_examples=60)
@given(data=st.data(), count=st.sampled_from([2, 3, 4]), categorical=st.booleans())
def test_sums_and_covering_equal_the_literal_comparison(data, count, categorical):
    variables = [f"y{v}" for v in range(count)]
    frame = data.draw(frames(variables))
    candidates = frame.copy()
    for name in variables:
        candidates[name] = data.draw(st.permutations(frame[name].tolist()))
    radius = {name: data.draw(st.sampled_from([0.0, 0.1, 0.2, 1.5])) for name in variables}
    scenario = Scenario(
        known="g",
        synthetic=(*variables, *(("c",) if categorical else ())),
        radius=radius,
        allow_wide=True,
    )
    patterns = make_world(frame, scenario).patterns
    boxes = sort_centres(frame, scenario, patterns).find(candidates)
    inside = literal(frame, candidates, scenario)
    np.testing.assert_array_equal(boxes.within, inside.sum(axis=1))
    np.testing.assert_array_equal(boxes.covering(), inside.sum(axis=0))
    np.testing.assert_array_equal(boxes.own_inside, np.diag(inside))
    weights = np.arange(len(frame)) ** 2 + 1
    np.testing.assert_array_equal(boxes.sums(weights), inside @ weights)
    np.testing.assert_allclose(
        boxes.sums(weights / 7), inside @ (weights / 7), rtol=1e-12, atol=1e-12
    )


@settings(max_examples=40)
@given(frame=frames(["y0", "y1"]), k=st.sampled_from([1, 2, 3]))
def test_risk_and_weights_on_boxes_equal_brute_force(frame, k):
    keys = {"known": ["g"], "synthetic": ["y0", "y1"], "radius": 0.2}
    scenario = Scenario(**keys)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alpha = kway_weights(frame, scenario, k=k)
        marginal = marginal_weights(frame, scenario)
        risk = identification_risk(frame, [frame, frame.assign(y0=frame["y1"])], scenario)
    np.testing.assert_allclose(alpha, brute.kway_weights(frame, keys, k), atol=1e-12)
    np.testing.assert_allclose(marginal, brute.marginal_weights(frame, keys), atol=1e-12)
    synthetic = [frame, frame.assign(y0=frame["y1"])]
    np.testing.assert_allclose(
        risk,
        np.mean([brute.synthetic_risk(frame, released, keys) for released in synthetic], axis=0),
        atol=1e-12,
    )


@settings(max_examples=60)
@given(
    n=st.integers(1, 150),
    count=st.sampled_from([3, 4, 6]),
    patterns=st.sampled_from([1, 2, 40]),
    distinct=st.sampled_from([2, 12, 1000]),
    boundary=st.sampled_from(["closed", "open"]),
    short=st.sampled_from([-1, 3, 512]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_tree_and_the_scan_equal_the_literal_comparison(
    n, count, patterns, distinct, boundary, short, seed
):
    """Trees of several floors, with ties, values on the boundary and empty boxes; all boxes by the
    tree, some, and none.
    """
    rng = np.random.default_rng(seed)
    variables = [f"y{v}" for v in range(count)]
    frame, candidates = (
        pd.DataFrame(rng.integers(-distinct, distinct, (n, count)).astype(float), columns=variables)
        for _ in range(2)
    )
    frame = frame.assign(g=rng.integers(0, patterns, n))
    scenario = Scenario(
        known="g", synthetic=variables, radius=1, radius_kind="absolute", boundary=boundary
    )
    boxes = sort_centres(frame, scenario, make_world(frame, scenario).patterns).find(
        candidates.assign(g=frame["g"])
    )
    inside = frame["g"].to_numpy()[:, None] == frame["g"].to_numpy()
    for name in variables:
        apart = np.abs(frame[name].to_numpy()[:, None] - candidates[name].to_numpy())
        inside &= apart <= 1 if boundary == "closed" else apart < 1
    weights = rng.integers(0, 2**50, n)
    with mock.patch("riskweighted.intruder.boxes._SHORT", short):
        np.testing.assert_array_equal(boxes.within, inside.sum(axis=1))
        np.testing.assert_array_equal(boxes.covering(), inside.sum(axis=0))
        np.testing.assert_array_equal(boxes.sums(weights), inside @ weights)
        np.testing.assert_allclose(
            boxes.sums(weights / 7), inside @ (weights / 7), rtol=1e-12, atol=0
        )


@pytest.mark.parametrize("count", [2, 3])
def test_a_larger_sample(count):
    rng = np.random.default_rng(count)
    variables = [f"y{v}" for v in range(count)]
    frame = pd.DataFrame({name: np.round(rng.normal(50, 20, 800)) for name in variables}).assign(
        g=rng.integers(0, 3, 800)
    )
    scenario = Scenario(known="g", synthetic=variables, radius=0.4)
    boxes = make_world(frame, scenario).neighbours
    inside = frame["g"].to_numpy()[:, None] == frame["g"].to_numpy()
    for name in variables:
        y = frame[name].to_numpy()
        inside &= (y >= (y - 0.4 * np.abs(y))[:, None]) & (y <= (y + 0.4 * np.abs(y))[:, None])
    np.testing.assert_array_equal(boxes.within, inside.sum(axis=1))
    np.testing.assert_array_equal(boxes.covering(), inside.sum(axis=0))
