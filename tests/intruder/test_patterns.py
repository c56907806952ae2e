import numpy as np
import pandas as pd
import pytest
from brute import KNOWN, frames, pattern, rows
from hypothesis import given, settings as hypothesis_settings, strategies as st

from riskweighted.intruder.patterns import Patterns, cells, known_patterns

pytestmark = pytest.mark.quick


def test_two_known_variables_worked_by_hand():
    data = pd.DataFrame({"sex": ["f", "m", "f", "f", "m"], "age": [30, 30, 30, 40, 30]})
    patterns = known_patterns(data, ["sex", "age"])
    assert patterns.codes[0] == patterns.codes[2]
    assert patterns.codes[1] == patterns.codes[4]
    assert len(set(patterns.codes)) == 3
    np.testing.assert_array_equal(patterns.in_pattern, [2, 2, 2, 1, 2])
    assert sorted(patterns.sizes) == [1, 2, 2]
    assert patterns.singletons == 1


def test_no_known_variable_is_one_pattern_of_all():
    patterns = known_patterns(pd.DataFrame({"y": [1.0, 2.0, 3.0]}), ())
    np.testing.assert_array_equal(patterns.codes, [0, 0, 0])
    np.testing.assert_array_equal(patterns.sizes, [3])
    assert patterns.singletons == 0


def test_every_kind_of_missing_is_one_level():
    data = pd.DataFrame({"a": pd.Series([None, np.nan, pd.NA, "x", "x"], dtype=object)})
    patterns = known_patterns(data, ["a"])
    np.testing.assert_array_equal(patterns.in_pattern, [3, 3, 3, 2, 2])


def test_missing_in_two_variables_are_different_levels():
    data = pd.DataFrame({"a": [None, "x", None], "b": ["y", None, None]})
    np.testing.assert_array_equal(known_patterns(data, ["a", "b"]).in_pattern, [1, 1, 1])


@pytest.mark.parametrize("kind", sorted(KNOWN))
def test_missing_is_a_level_of_its_own_in_every_dtype(kind):
    levels, dtype = KNOWN[kind]
    column = pd.Series([levels[0], levels[-1], levels[0], levels[1]], dtype=dtype)
    in_pattern = known_patterns(pd.DataFrame({"a": column}), ["a"]).in_pattern
    np.testing.assert_array_equal(
        in_pattern, [2, 1, 2, 1] if kind not in ("integer",) else [2, 2, 2, 2]
    )


def test_unused_categories_are_no_patterns():
    column = pd.Series(["a", "b"], dtype=pd.CategoricalDtype(["z", "b", "y", "a"]))
    np.testing.assert_array_equal(known_patterns(pd.DataFrame({"a": column}), ["a"]).sizes, [1, 1])


@given(frame=frames(max_size=12), known=st.sampled_from([(), ("a",), ("b", "a"), ("a", "b", "g")]))
@hypothesis_settings(max_examples=60)
def test_codes_and_sizes_are_those_of_the_loops(frame, known):
    patterns = known_patterns(frame, known)
    records = rows(frame)
    for i in range(len(frame)):
        members = pattern(records, i, known)
        np.testing.assert_array_equal(np.flatnonzero(patterns.codes == patterns.codes[i]), members)
        assert patterns.in_pattern[i] == len(members)
    np.testing.assert_array_equal(np.unique(patterns.codes), np.arange(len(patterns.sizes)))
    assert patterns.sizes.sum() == len(frame)


def test_cells_refine_and_keep_the_order_of_the_codes_they_start_from():
    start = np.array([1, 0, 1, 0, 2])
    codes = cells([pd.Series(["x", "z", "y", "z", "x"])], start)
    assert len(set(codes)) == 4
    assert codes[1] == codes[3] < min(codes[0], codes[2])
    assert max(codes[0], codes[2]) < codes[4]


def test_cells_of_no_column_are_the_start():
    np.testing.assert_array_equal(cells([], np.array([4, 2])), [4, 2])


def test_many_known_variables_do_not_overflow():
    n, p = 50, 40
    rng = np.random.default_rng(3)
    base = rng.integers(0, 1000, size=(n, p))
    data = pd.DataFrame(np.vstack([base, base]), columns=[f"v{j}" for j in range(p)])
    patterns = known_patterns(data, data.columns)
    np.testing.assert_array_equal(patterns.codes[:n], patterns.codes[n:])
    np.testing.assert_array_equal(patterns.in_pattern, np.full(2 * n, 2))


def test_singletons_count_patterns_of_one():
    assert Patterns(np.array([0, 1, 1, 2]), np.array([1, 2, 1])).singletons == 2
