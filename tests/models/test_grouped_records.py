"""Records of equal predictors are taken together: the same sums, means, draws and masses as record
by record.
"""

import numpy as np
import pandas as pd
import pytest
from riskweighted_models.continuation import log_probabilities, probabilities

import riskweighted as rw

N = 300


def frame():
    rng = np.random.default_rng(11)
    group = rng.choice(list("abc"), N, p=[0.7, 0.25, 0.05])
    data = pd.DataFrame({"g": group, "k": rng.integers(1, 5, N), "x": rng.normal(5, 2, N)})
    shift = 0.5 * (group == "b") + 0.1 * data["k"]
    return data.assign(
        y=shift + rng.normal(size=N),
        level=rng.choice(["low", "middle", "high"], N),
        count=rng.poisson(1.5, N).clip(max=4),
    )


def weights(which):
    alpha = np.random.default_rng(12).random(N)
    return {
        "some": alpha,
        "one": np.ones(N),
        "none in a group": np.where(frame()["g"] == "c", 0.0, alpha),
    }[which]


@pytest.mark.parametrize("which", ["some", "one", "none in a group"])
@pytest.mark.parametrize("formula", ["y ~ C(g) + k", "y ~ C(g) + x", "y ~ 1"])
def test_sufficient_statistics_are_those_of_all_records(formula, which):
    data, alpha = frame(), weights(which)
    synthesizer = rw.load_synthesizer("linear-regression")(formula)
    prepared = synthesizer.prepare(data)
    assert (len(prepared.raw.distinct.rows) < N) == ("x" not in formula)
    columns, root = np.column_stack([np.ones(N), prepared.raw.columns]), np.sqrt(alpha)
    coefficients = np.linalg.lstsq(root[:, None] * columns, root * prepared.z, rcond=None)[0]
    blueprint = synthesizer.build(prepared)
    found = blueprint.weigh(alpha)
    np.testing.assert_allclose(found["least_squares"], coefficients, atol=1e-12)
    np.testing.assert_allclose(found["gram"], columns.T @ np.diag(alpha) @ columns, atol=1e-10)
    assert found["residual_squares"] == pytest.approx(
        (alpha * (prepared.z - columns @ coefficients) ** 2).sum(), rel=1e-12
    )
    precision = columns.T @ np.diag(alpha) @ columns
    centre, turn = blueprint.geometry(alpha).values()
    first = np.linalg.solve(precision + np.eye(len(precision)), columns.T @ (alpha * prepared.z))
    variance = (1 + alpha @ (prepared.z - columns @ first) ** 2) / (1 + alpha.sum())
    covariance = np.linalg.inv(precision / variance + np.eye(len(precision)))
    np.testing.assert_allclose(turn @ turn.T, covariance, atol=1e-12)
    np.testing.assert_allclose(
        centre, covariance @ columns.T @ (alpha * prepared.z) / variance, atol=1e-12
    )


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("multinomial", "level ~ C(g) + k"),
        ("multinomial", "level ~ x"),
        ("counts", "count ~ C(g) + k"),
    ],
)
def test_draws_and_masses_of_levels_are_those_of_all_records(name, formula):
    data, rng = frame(), np.random.default_rng(13)
    synthesizer = rw.load_synthesizer(name)(formula)
    prepared = synthesizer.prepare(data)
    levels, columns = len(prepared.levels), prepared.raw.columns
    theta = {
        "coefficient": rng.normal(0, 0.5, len(synthesizer._prior(levels, columns.shape[1])[0]))
    }
    shares = np.exp(synthesizer._log_probabilities(theta["coefficient"], columns, levels)).T
    below = np.cumsum(shares, axis=1)[:, :-1]
    codes = (np.random.default_rng(14).random(N)[:, None] > below).sum(axis=1)
    numbers = np.arange(levels) if name == "multinomial" else np.array(prepared.levels)
    np.testing.assert_array_equal(
        synthesizer.distribution(theta, prepared).draw(np.random.default_rng(14)), numbers[codes]
    )
    low, high = rng.integers(0, levels, (2, N)) - 0.5
    inside = (low[:, None] <= numbers) & (numbers <= high[:, None])
    np.testing.assert_allclose(
        synthesizer.distribution(theta, prepared).mass(low, high),
        (shares * inside).sum(axis=1),
        rtol=1e-12,
    )
    y = numbers[prepared.code].astype(float)
    np.testing.assert_allclose(
        synthesizer.distribution(theta, prepared).log_density(y),
        np.log(shares[np.arange(N), prepared.code]),
        rtol=1e-12,
    )


@pytest.mark.parametrize(
    ("name", "formula"),
    [("multinomial", "level ~ C(g) + k"), ("counts", "count ~ C(g) + k"), ("counts", "count ~ x")],
)
def test_the_inverse_of_the_mass_is_where_it_reaches_its_share(name, formula):
    data, rng = frame(), np.random.default_rng(15)
    synthesizer = rw.load_synthesizer(name)(formula)
    prepared = synthesizer.prepare(data)
    levels = len(prepared.levels)
    numbers = np.arange(levels) if name == "multinomial" else np.array(prepared.levels)
    theta = {
        "coefficient": rng.normal(
            0, 0.5, len(synthesizer._prior(levels, prepared.rows.shape[1])[0])
        )
    }
    lower, upper = np.sort(rng.integers(-1, levels + 1, (2, N)), axis=0) - np.array([[0.5], [0.4]])
    share = rng.random(N)
    found = synthesizer.distribution(theta, prepared).inverse(lower, upper, share)
    whole = synthesizer.distribution(theta, prepared).mass(lower, upper)
    empty = ~((lower[:, None] <= numbers) & (numbers <= upper[:, None])).any(axis=1)
    np.testing.assert_array_equal(np.isnan(found), empty)
    assert empty.any()
    assert not empty.all()
    reached = synthesizer.distribution(theta, prepared).mass(lower, np.where(empty, upper, found))
    before = synthesizer.distribution(theta, prepared).mass(
        lower, np.where(empty, upper, found - 0.5)
    )
    assert (reached >= share * whole - 1e-12)[~empty].all()
    assert (before < share * whole + 1e-12)[~empty].all()


def test_probabilities_of_continuation_ratios_are_exponentials_of_their_logarithms():
    logits = np.random.default_rng(16).normal(0, 20, (5, 9000))
    np.testing.assert_allclose(
        probabilities(logits), np.exp(log_probabilities(logits)), rtol=1e-10, atol=0
    )
    np.testing.assert_allclose(probabilities(logits).sum(axis=0), 1.0, rtol=1e-12)


@pytest.mark.parametrize("far", [1.0, 30.0, 2000.0])
@pytest.mark.parametrize("name", ["ordinal", "counts", "logistic"])
def test_probabilities_of_ratios_from_products_are_those_of_sums_of_logarithms(name, far):
    """However far out; beyond what a product can hold, both are sums."""
    data, rng = frame(), np.random.default_rng(17)
    data = data.assign(
        level=data["level"].where(data["level"] != "middle", "low")
        if name == "logistic"
        else data["level"]
    )
    target = "count" if name == "counts" else "level"
    settings = {"levels": ("low", "middle", "high"), "drift": True} if name == "ordinal" else {}
    synthesizer = rw.load_synthesizer(name)(f"{target} ~ C(g) + x", **settings)
    prepared = synthesizer.prepare(data)
    levels, rows = len(prepared.levels), prepared.rows
    coefficient = far * rng.normal(0, 0.5, len(synthesizer._prior(levels, rows.shape[1])[0]))
    expected = synthesizer._log_probabilities(coefficient, rows, levels)
    np.testing.assert_allclose(
        synthesizer.probabilities(coefficient, rows, levels),
        np.exp(expected),
        rtol=1e-9,
        atol=1e-300,
    )
    y = synthesizer.response(prepared)
    found = synthesizer.distribution({"coefficient": coefficient}, prepared).log_density(y)
    np.testing.assert_allclose(
        found, expected[prepared.code, prepared.which], rtol=1e-10, atol=1e-12
    )
    assert (synthesizer._moderate(coefficient, rows, levels) is None) == (far == 2000)
    empty = rw.load_synthesizer(name)(f"{target} ~ 1", **settings)
    held, theta = empty.prepare(data), {"coefficient": coefficient[: levels - 1]}
    shares = np.exp(empty._log_probabilities(theta["coefficient"], held.rows, levels))
    np.testing.assert_allclose(
        empty.probabilities(theta["coefficient"], held.rows, levels), shares, rtol=1e-9, atol=1e-300
    )
