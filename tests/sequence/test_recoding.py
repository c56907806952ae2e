"""Columns of any type as numeric predictors."""

import numpy as np
import pandas as pd
import pytest

from riskweighted.common.errors import InputError
from riskweighted.design.spline_basis import independent
from riskweighted.sequence.recoding import make_recipes

pytestmark = pytest.mark.quick


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "region": ["north", "south", "south", None, "south", "west"],
            "income": [100.0, -8.0, 300.0, np.nan, 500.0, 300.0],
            "yes": [True, False, True, True, False, False],
        }
    )


def test_levels_are_dummies_and_a_missing_one_is_a_level():
    recipe = make_recipes(frame(), ["region"], {})["region"]
    assert recipe.names == ("region_north", "region_west", "region_missing")
    assert recipe.columns(frame()["region"]).tolist() == [
        [1, 0, 0],
        [0, 0, 0],
        [0, 0, 0],
        [0, 0, 1],
        [0, 0, 0],
        [0, 1, 0],
    ]
    filled = recipe.filled(frame()["region"])
    assert filled.tolist() == ["north", "south", "south", "missing", "south", "west"]


def test_amounts_are_centred_and_codes_and_gaps_have_indicators():
    recipe = make_recipes(frame(), ["income"], {"income": (-8,)})["income"]
    assert recipe.names == ("income", "income_is_minus_8", "income_missing")
    columns = recipe.columns(frame()["income"])
    assert columns[:, 0].tolist() == [-200, 0, 0, 0, 200, 0]  # 300 is the mean of the amounts
    assert columns[:, 1].tolist() == [0, 1, 0, 0, 0, 0]
    assert columns[:, 2].tolist() == [0, 0, 0, 1, 0, 0]
    assert recipe.filled(frame()["income"]).tolist() == [100, 300, 300, 300, 500, 300]


def test_a_synthetic_column_is_read_by_the_confidential_recipe():
    recipes = make_recipes(frame(), ["income", "region"], {"income": (-8,)})
    other = pd.DataFrame({"income": [300.0, 700.0, -8.0], "region": ["west", "south", None]})
    assert recipes["income"].columns(other["income"])[:, 0].tolist() == [0, 400, 0]
    assert recipes["region"].columns(other["region"]).tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 1]]


def test_a_level_or_a_gap_that_the_confidential_data_lack_is_refused_without_its_value():
    recipes = make_recipes(frame(), ["region", "yes"], {})
    with pytest.raises(
        InputError, match="'region' has a level that the confidential data lack in 1 of 2 records"
    ) as error:
        recipes["region"].columns(pd.Series(["north", "secret-east"]))
    assert "secret" not in str(error.value)
    whole = make_recipes(frame().assign(income=1.0), ["income"], {})["income"]
    with pytest.raises(InputError, match="'income' is missing in 1 of 2 records"):
        whole.columns(pd.Series([1.0, np.nan]))


@pytest.mark.parametrize(("n", "bends"), [(1_999, 3), (2_000, 5)])
def test_bends_are_uncorrelated_straight_beyond_the_knots_and_of_one_size(n, bends):
    rng = np.random.default_rng(1)
    values = pd.Series(rng.uniform(16, 90, n).round(), name="age")
    recipe = make_recipes(values.to_frame(), ["age"], {})["age"]
    columns = recipe.columns(values)
    assert recipe.names == ("age", *(f"age_bend_{place}" for place in range(1, bends + 1)))
    assert np.abs(columns.mean(axis=0)).max() < 1e-8
    correlation = np.corrcoef(columns.T) - np.eye(bends + 1)
    assert np.abs(correlation).max() < 1e-8
    assert np.ptp(columns.std(axis=0)) < 1e-8 * columns.std()
    beyond = recipe.columns(pd.Series([100.0, 110.0, 120.0]))
    assert beyond[2] - beyond[1] == pytest.approx(beyond[1] - beyond[0])


def test_a_long_tail_is_taken_as_a_signed_log():
    rng = np.random.default_rng(2)
    values = pd.Series(np.exp(rng.normal(8, 1.2, 3_000)), name="income")
    recipe = make_recipes(values.to_frame(), ["income"], {})["income"]
    assert recipe.bends.unit == pytest.approx(values.median())
    at = recipe.columns(pd.Series([1e6, 1e7, 1e8]))[:, 0]
    assert at[2] - at[1] == pytest.approx(at[1] - at[0], rel=1e-3)


def test_with_statuses_zero_has_an_indicator_and_a_formula_still_finds_its_zeros():
    rng = np.random.default_rng(5)
    hours = pd.Series(np.where(rng.random(500) < 0.3, 0.0, rng.integers(5, 60, 500)), name="hours")
    hours[:20], hours[20:40] = np.nan, -8.0
    plain, with_statuses = (
        make_recipes(hours.to_frame(), ["hours"], {"hours": (-8,)}, recoding=recoding)["hours"]
        for recoding in ("plain", "statuses")
    )
    assert "hours_is_0" in set(with_statuses.names) - set(plain.names)
    columns = pd.DataFrame(with_statuses.columns(hours), columns=with_statuses.names)
    assert columns["hours_is_0"].tolist() == (hours == 0).tolist()
    assert (
        columns.loc[hours.isin([-8]) | hours.isna(), ["hours", "hours_bend_1", "hours_is_0"]] == 0
    ).all(axis=None)
    assert [
        name for name, kept in zip(with_statuses.names, with_statuses.straight, strict=True) if kept
    ] == [
        "hours",
        "hours_is_0",
        "hours_is_minus_8",
        "hours_missing",
    ]
    pd.testing.assert_series_equal(with_statuses.filled(hours), plain.filled(hours))


def test_names_are_words_and_never_twice():
    data = pd.DataFrame(
        {"a b": ["x", "x+y", "x-y", "x", "x", "z"], "a_b": ["x_y", "q", "q", "r", "q", "q"]}
    )
    recipes = make_recipes(data, ["a b", "a_b"], {})
    names = [name for recipe in recipes.values() for name in recipe.names]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() for name in names)


def test_names_are_none_of_what_is_predicted_and_further_levels_take_none():
    data = pd.DataFrame(
        {"region": ["north", "south", "south"], "a b": [1.0, 2.0, 3.0], "a_b": [1.0, 2.0, 3.0]}
    )
    recipes = make_recipes(data, ["region", "a b", "a_b"], {}, ["region_north", "a b"])
    assert [name for recipe in recipes.values() for name in recipe.names] == [
        "region_north_2",
        "a_b",
        "a_b_2",
    ]
    assert recipes["region"].with_levels(["south", "west"], ["region_west"]).names == (
        "region_north_2",
        "region_west_2",
    )


@pytest.mark.parametrize("dtype", ["boolean", "string"])
def test_further_levels_of_a_column_that_is_missing_more_often_than_not(dtype):
    column = pd.Series([True, pd.NA, pd.NA, False], dtype="boolean", name="yes").astype(dtype)
    recipe = make_recipes(column.to_frame(), ["yes"], {})["yes"]
    held = [level for level in recipe.levels or () if not pd.isna(level)]
    assert recipe.with_levels(held).levels == recipe.levels
    assert len(recipe.with_levels([*held, "other"]).names) == 3


def test_independent_columns_leave_out_constants_and_combinations():
    x, z = np.random.default_rng(3).normal(size=(2, 50))
    columns = np.column_stack([np.full(50, 1e6), x, 2 * x + 1, z, x - z, z**2])
    assert independent(columns).tolist() == [False, True, False, True, False, True]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.Series([np.nan] * 3, name="x"), "'x' is missing in all 3 records"),
        (pd.Series([1.0, np.inf, 2.0], name="x"), "'x' is infinite in 1 of 3 records"),
        (pd.Series(pd.to_datetime(["2020-01-01"] * 3), name="x"), "'x' holds dates"),
        (
            pd.Series([f"name {k}" for k in range(100)], name="x"),
            "'x' has 100 levels for 100 records, which allow 20",
        ),
    ],
)
def test_columns_that_cannot_predict_are_refused(column: pd.Series, message: str):
    with pytest.raises(InputError, match=message):
        make_recipes(column.to_frame(), ["x"], {})
