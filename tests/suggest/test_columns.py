"""What a column is found to be, without being told."""

import numpy as np
import pandas as pd
import pytest

from riskweighted.data.variable import Variable
from riskweighted.suggest.columns import as_stated, look_at

pytestmark = pytest.mark.quick

N = 1000
rng = np.random.default_rng(7)
MONEY = np.round(rng.lognormal(10, 1, N)).astype(int)
TYPES = {
    "id": (np.arange(1, N + 1), "whole number", "record id"),
    "nothing": ([None] * N, "nothing", "constant"),
    "days": (pd.date_range("2020-01-01", periods=N), "date", "dates"),
    "days as text": (
        [f"{1 + place % 28:02}.{1 + place % 12:02}.2020" for place in range(N)],
        "date",
        "dates",
    ),
    "grouped thousands": ([f"{value:,}" for value in MONEY], "text", "numbers as text"),
    "without end": (np.r_[MONEY[1:], np.inf], "whole number", "infinite values"),
    "money": (MONEY, "whole number", ""),
    "money with cents": (MONEY + 0.25, "number", ""),
    "levels": (rng.choice(["a", "b"], N), "text", ""),
    "truth": (rng.random(N) < 0.5, "truth value", ""),
    "years": (rng.integers(1930, 2020, N), "whole number", ""),
    "quarters": ([f"{2000 + place % 4} Q{1 + place % 4}" for place in range(N)], "text", ""),
}


@pytest.mark.parametrize("name", TYPES)
def test_types_of_columns_and_what_keeps_them_from_use(name):
    values, kind, obstacle = TYPES[name]
    (found,) = look_at(pd.DataFrame({name: values}))
    assert found.type == kind
    assert obstacle in found.obstacle
    assert found.usable == (obstacle == "")


def test_whole_numbers_that_are_levels_are_read_so_where_a_study_says_it():
    data = pd.DataFrame(
        {
            "nace": rng.choice([1, 5, 10, 41, 45, 49, 55, 58, 62, 68, 85, 999], N),
            "few": rng.integers(1, 6, N),
        }
    )
    nace, few = look_at(data)
    assert (nace.needs_stating, nace.is_number, nace.codes, nace.width) == (True, False, (), 11)
    assert (few.needs_stating, few.is_number, few.width) == (False, True, 4)
    read = as_stated(data, [nace, few], ["few"])
    assert list(read["nace"].cat.categories) == sorted(data["nace"].unique())
    assert read["few"].dtype == data["few"].dtype  # a target of few numbers may be a count
    assert list(as_stated(data, [nace, few])["few"].cat.categories) == [1, 2, 3, 4, 5]


def test_gaps_zeros_losses_spikes_and_rounding():
    values = np.round(rng.lognormal(9, 1, N), 2)
    values[:100], values[100:150], values[150:250] = 0, -12.5, 500
    column = pd.Series(values, name="x").mask(np.arange(N) >= 900)
    (found,) = look_at(column.to_frame())
    assert (found.missing, found.codes, found.precision) == (100, (), 0.01)
    assert (found.zero, found.negative) == (0.1, 0.05)
    assert (found.spikes, found.largest_spike) == (2, pytest.approx(100 / 900))  # -12.5 is one, too
    (found,) = look_at(pd.DataFrame({"x": MONEY // 1000 * 1000 + 100}))
    assert found.multiples["100"] == 1
    assert found.multiples["1000"] == 0


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        (np.r_[MONEY, [-8] * 30], (-8,)),
        (np.r_[MONEY, [-8] * 30, [-9] * 20], (-8, -9)),
        (np.r_[MONEY, [-8] * 9], ()),  # held by too few
        (np.r_[MONEY, [-7.5] * 30], ()),
        (np.r_[MONEY, -MONEY[:50], [-8] * 30], ()),  # among losses
        (np.r_[rng.integers(0, 40, N), [99] * 30], (99,)),
        (np.r_[rng.integers(0, 40, N), [97] * 30, [98] * 20, [99] * 10], (97, 98, 99)),
        (np.r_[rng.integers(16, 99, N), [99] * 30], ()),  # no gap: an age
        (np.r_[MONEY, [9999] * 30], ()),  # in the midst of amounts
        (np.r_[rng.integers(1, 5, N), [9] * 30], ()),  # one digit may be an amount
    ],
)
def test_codes_stand_apart_at_an_end(values, codes):
    (found,) = look_at(pd.DataFrame({"x": values}))
    assert found.codes == codes
    assert found.of_codes == pytest.approx(np.isin(values, codes).mean())
    assert not np.isin(found.amounts, codes).any()


def test_no_value_of_a_column_is_in_its_text():
    (found,) = look_at(pd.DataFrame({"x": np.r_[MONEY, [-8] * 30]}))
    assert "-8" not in repr(found)
    assert str(MONEY[0]) not in repr(found)


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "float32", "category", "boolean", "string"])
def test_dtypes_of_all_kinds(dtype):
    values = rng.integers(0, 2, N) if dtype == "boolean" else rng.integers(0, 3, N)
    (found,) = look_at(
        pd.DataFrame({"x": pd.Series(values).astype(str if dtype == "string" else dtype)})
    )
    assert found.distinct == len(np.unique(values))


def test_codes_that_are_declared_to_mean_missing_are_codes_wherever_they_stand():
    values = [*range(200, 300), *[250] * 3, *[-7] * 2, *[999] * 20, None]
    data = pd.DataFrame(
        {"x": np.array(values, dtype=float), "text": ["a"] * len(values)}, index=[0] * len(values)
    )
    found = look_at(data)[0]
    assert found.codes == (999.0,)
    declared = {"x": Variable(missing=(250, 4711, (-9, -5)))}
    column = look_at(data, declared)[0]
    assert column.codes == (-7.0, 250.0, 999.0)
    assert not set(column.codes) & set(column.amounts)
    assert look_at(data, {"x": Variable("no codes")})[0].codes == found.codes
