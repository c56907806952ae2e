"""The columns that the priors of slopes stand on, and the coordinates in which they are sampled."""

import numpy as np
import pandas as pd
import pytensor
import pytest
from riskweighted_models.raw_columns import raw_columns, ridge, root_of_inverse

import riskweighted as rw
from riskweighted.design.design import build_design
from riskweighted.sampling.graphs import PLAIN

pytestmark = pytest.mark.quick

N = 120


def frame():
    rng = np.random.default_rng(5)
    group = np.repeat(["a", "b", "c"], [80, 37, 3])
    data = pd.DataFrame(
        {
            "x": rng.normal(40, 8, N),
            "g": group,
            "b": rng.integers(0, 2, N),
            "k": rng.integers(1, 3, N),
        }
    )
    return data.assign(y=rng.normal(0, 1, N) + (group == "b"))


def test_columns_of_two_values_have_unit_of_their_difference_and_others_their_standard_deviation():
    data = frame()
    raw = raw_columns(build_design("y ~ x + C(g) + b + k", data))
    expected = [data["x"].std(ddof=0), 1, 1, 1, 1]
    np.testing.assert_allclose(raw.unit, expected)
    recorded = np.column_stack(
        [data["x"], data["g"] == "b", data["g"] == "c", data["b"], data["k"]]
    ).astype(float)
    np.testing.assert_allclose(
        raw.columns, (recorded - recorded.mean(axis=0)) / expected, atol=1e-12
    )


@pytest.mark.parametrize("holders", [3, 30, 60, 61])
def test_the_unit_of_an_amount_that_few_have_is_how_far_it_lies_from_zero(holders):
    amount = np.where(np.arange(N) < holders, np.linspace(1, 3, N), 0.0)
    data = frame().assign(x=amount)
    design = build_design("y ~ x + k", data)
    spread = np.sqrt((amount[:holders] ** 2).mean()) if holders <= N / 2 else amount.std()
    np.testing.assert_allclose(raw_columns(design).unit, [spread, 1])


def test_other_rows_keep_the_confidential_unit():
    data = frame()
    design = build_design("y ~ x + C(g) + b", data)
    raw = raw_columns(design)
    other = data.iloc[[3, 5, 9]].assign(x=lambda rows: rows["x"] * 10, b=1)
    moved = raw.at(design.at(other))
    np.testing.assert_array_equal(moved.unit, raw.unit)
    np.testing.assert_allclose(
        moved.columns[:, 0], (other["x"] - data["x"].mean()) / data["x"].std(ddof=0)
    )
    np.testing.assert_allclose(moved.columns[:, 3], 1 - data["b"].mean())


def test_no_predictors_make_no_columns():
    raw = raw_columns(build_design("y ~ 1", frame()))
    assert raw.columns.shape == (N, 0)
    assert raw.unit.shape == (0,)


def test_the_ridge_is_the_posterior_of_its_own_residual_variance():
    rng = np.random.default_rng(6)
    columns, alpha = rng.normal(size=(N, 3)), rng.random(N)
    z = columns @ [1.0, -1.0, 0.0] + rng.normal(0, 0.3, N)
    mean, covariance, variance = ridge(columns, z, alpha)
    precision = columns.T @ np.diag(alpha / variance) @ columns + np.eye(3)
    np.testing.assert_allclose(precision @ covariance, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(precision @ mean, columns.T @ (alpha / variance * z), atol=1e-8)
    assert 0.2**2 < variance < 0.4**2
    root = root_of_inverse(precision)
    np.testing.assert_allclose(root @ root.T, covariance, atol=1e-12)


SETTINGS = [
    ("linear-regression", {}),
    ("normal-mixture", {"components": 2, "transform": "identity"}),
    ("normal-mixture", {"components": 3, "transform": "identity", "gating": True}),
]


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_the_posterior_does_not_depend_on_the_coordinates(name, settings):
    """The log density at one theta is the same whatever the geometry, up to one constant: here,
    differences of two.
    """
    data = frame()
    synthesizer = rw.load_synthesizer(name)("y ~ x + C(g)", **settings)
    blueprint = synthesizer.build(synthesizer.prepare(data))
    model = blueprint.model
    free = model.free_RVs
    (total,) = model.replace_rvs_by_values([blueprint.weighted_log_likelihood])
    held = {variable.name: variable for variable in model.data_vars}
    with pytensor.config.change_flags(cxx=""):
        density = pytensor.function(
            model.value_vars, [model.logp() + total, *model.replace_rvs_by_values(free)], mode=PLAIN
        )
        back = [
            model.rvs_to_transforms[rv].forward(rv, *rv.owner.inputs)
            if model.rvs_to_transforms[rv]
            else rv
            for rv in free
        ]
        where = pytensor.function(list(free), back, mode=PLAIN, on_unused_input="ignore")
    start = model.initial_point()
    rng = np.random.default_rng(8)
    places = [
        [
            np.asarray(start[value.name] + rng.normal(0, 0.4, start[value.name].shape))
            for value in model.value_vars
        ]
        for _ in range(3)
    ]
    alpha = rng.random(N)
    for key, value in blueprint.weigh(alpha).items():
        held[key].set_value(np.asarray(value, dtype=float))
    before = [density(*place) for place in places]
    for geometry in (
        blueprint.geometry(alpha),
        blueprint.geometry(np.where(data["g"] == "c", 0.0, 1.0)),
    ):
        assert any(np.abs(value).max() > 0 for value in geometry.values())
        for key, value in geometry.items():
            held[key].set_value(value)
        for first, *theta in before:
            again, *moved = density(*where(*theta))
            assert again == pytest.approx(first, rel=1e-9)
            for one, other in zip(moved, theta, strict=True):
                np.testing.assert_allclose(one, other, atol=1e-9)
