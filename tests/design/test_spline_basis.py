"""Numbers as predictors on a grid: round knots, few different rows, zero with an indicator; the
same in `spline()` and in a chain.
"""

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.design.formulas import drop_splines, split_formula
from riskweighted.design.spline_basis import (
    independent,
    largest_round,
    make_spline_basis,
    zero_is_status,
)

pytestmark = pytest.mark.quick
N = 2_500


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    wage = np.where(rng.random(N) < 0.3, 0.0, np.round(np.exp(rng.normal(7, 0.8, N)), 2))
    return pd.DataFrame(
        {
            "y": rng.normal(size=N),
            "wage": wage,
            "age": rng.integers(18, 80, N),
            "rooms": rng.integers(1, 5, N),
        }
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1.0, 1.0), (1.99, 1.0), (2.0, 2.0), (4.9, 2.0), (5.0, 5.0), (0.034, 0.02), (7e5, 5e5)],
)
def test_round_numbers_are_one_two_and_five(value, expected):
    assert largest_round(value) == expected


def test_knots_and_amounts_lie_on_a_grid_that_one_record_hardly_moves(data):
    amounts = data["wage"].to_numpy()[data["wage"] > 0]
    bends = make_spline_basis(amounts, on_grid=True)
    assert bends.step == largest_round(bends.step)
    assert bends.knots / bends.step == pytest.approx(np.rint(bends.knots / bends.step), abs=1e-9)
    assert len(np.unique(bends.columns(amounts), axis=0)) < 200 < len(np.unique(amounts))
    other = make_spline_basis(np.append(amounts[1:], 1e9), on_grid=True)
    assert (other.unit, other.step) == (bends.unit, bends.step)
    assert np.abs(other.knots - bends.knots).max() < 1.5 * bends.step  # to the next place at most
    plain = make_spline_basis(amounts)
    near = [
        np.corrcoef(a, b)[0, 1]
        for a, b in zip(plain.columns(amounts).T, bends.columns(amounts).T, strict=True)
    ]
    assert np.abs(near).min() > 0.98


def test_whole_numbers_of_a_small_spread_stay_apart():
    ages = np.arange(18, 40).repeat(20).astype(float)
    assert len(np.unique(make_spline_basis(ages, on_grid=True).columns(ages), axis=0)) == 22


def test_zero_keeps_its_place_on_the_line_and_has_an_indicator(data):
    wage = data["wage"].to_numpy()
    assert zero_is_status(wage)
    columns = make_spline_basis(wage, on_grid=True).columns(wage)
    zero = wage == 0
    assert columns[:, -1].tolist() == zero.astype(float).tolist()
    assert (columns[zero, 1:-1] == 0).all()
    assert columns[zero, 0].max() < columns[~zero, 0].min()
    assert columns[~zero, :-1].mean(axis=0) == pytest.approx(
        np.zeros(columns.shape[1] - 1), abs=1e-8
    )


@pytest.mark.parametrize(
    "values",
    [np.resize([0.0, 1.0], 100), np.append(np.zeros(9), np.arange(1.0, 100)), np.arange(1.0, 100)],
)
def test_zero_is_no_status_of_two_values_of_few_records_or_where_there_is_none(values):
    assert not zero_is_status(values)


def test_a_spline_in_a_formula_reads_another_frame_as_the_confidential_one(data):
    design = rw.build_design("y ~ spline(wage) + spline(age) + spline(rooms)", data)
    again = design.at(data.iloc[::-1])
    np.testing.assert_allclose(again.centred[::-1], design.centred, atol=1e-10)
    assert design.spec.column_names[-1] == "spline(rooms)[1]"  # four values: a straight line
    far = design.at(data.assign(wage=[1e7, *data["wage"].iloc[1:]]))
    np.testing.assert_allclose(far.centred[1:], design.centred[1:], atol=1e-10)
    assert (
        len(rw.build_design("y ~ spline(wage)", data).distinct.rows) < 150 < data["wage"].nunique()
    )


def test_the_slopes_of_a_spline_are_those_of_its_columns_before_they_were_merged(data):
    design = rw.build_design("y ~ spline(wage)", data)
    columns = make_spline_basis(data["wage"].to_numpy(), on_grid=True).columns(
        data["wage"].to_numpy()
    )
    columns = columns[:, independent(columns)]
    np.testing.assert_allclose(design.centred, columns - columns.mean(axis=0), atol=1e-9)


def test_a_straightened_formula_has_the_same_columns(data):
    formula = "y ~ spline(wage) + C(rooms) + spline(`a b`):age"
    assert drop_splines(formula) == "y ~ wage + C(rooms) + `a b`:age"
    assert split_formula(formula).names == split_formula(drop_splines(formula)).names
    with pytest.raises(InputError, match=r"spline\(\)"):
        rw.build_design("y ~ spline(wage, 4)", data)
    with pytest.raises(InputError, match="is constant"):
        rw.build_design("y ~ spline(wage)", data.assign(wage=3.0))
    with pytest.raises(InputError, match="cannot be evaluated"):
        rw.build_design("y ~ spline(wage)", data.assign(wage="a lot"))
