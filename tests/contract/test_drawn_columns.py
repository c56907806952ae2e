import numpy as np
import pandas as pd
import pytest
from brute import SECRET, assert_clear
from hypothesis import given, settings as hypothesis_settings, strategies as st

from riskweighted.common.checks import check_count
from riskweighted.common.errors import InputError
from riskweighted.contract.drawn_columns import as_column, random_draws, spread_draws

pytestmark = pytest.mark.versions


@given(chains=st.integers(1, 6), draws=st.integers(1, 40), share=st.floats(0, 1))
@hypothesis_settings(max_examples=100)
@pytest.mark.quick
def test_draws_are_distinct_and_evenly_spread(chains, draws, share):
    count = max(1, round(share * chains * draws))
    pairs = spread_draws(chains, draws, count)
    assert len(pairs) == count
    assert len(set(pairs)) == count
    assert all(0 <= chain < chains and 0 <= draw < draws for chain, draw in pairs)
    by_chain = [[draw for chain, draw in pairs if chain == c] for c in range(chains)]
    sizes = [len(places) for places in by_chain]
    assert max(sizes) - min(sizes) <= 1
    for places in by_chain:
        gaps = np.diff(places)
        assert (gaps > 0).all()
        assert len(gaps) == 0 or gaps.max() - gaps.min() <= 1
        # the margins at both ends are half a gap, so no draw sits at the start of its chain when
        # few are taken
        assert len(places) == 0 or abs(places[0] - (draws - 1 - places[-1])) <= 1


@given(
    chains=st.integers(1, 6),
    draws=st.integers(1, 40),
    share=st.floats(0, 1),
    seed=st.integers(0, 1000),
)
@hypothesis_settings(max_examples=100)
def test_random_draws_are_distinct_and_spread(chains, draws, share, seed):
    count = max(1, round(share * chains * draws))
    pairs = random_draws(chains, draws, count, np.random.default_rng(seed))
    assert pairs == random_draws(chains, draws, count, np.random.default_rng(seed))
    assert len(set(pairs)) == len(pairs) == count
    assert all(0 <= chain < chains and 0 <= draw < draws for chain, draw in pairs)
    by_chain = [sorted(draw for chain, draw in pairs if chain == c) for c in range(chains)]
    assert max(map(len, by_chain)) - min(map(len, by_chain)) <= 1
    assert [chain for chain, _ in pairs[:chains]] == [
        chain for chain, _ in pairs[chains : 2 * chains]
    ] or count < 2 * chains
    # one draw of every stretch: from one to the next but one lies at least a stretch
    for places in by_chain:
        around = [*places, *(place + draws for place in places[:2])]
        assert all(
            later - one > draws // len(places)
            for one, later in zip(around, around[2:], strict=False)
        )


@pytest.mark.parametrize(
    ("chains", "draws", "count"), [(3, 7, 4), (4, 10, 6), (2, 5, 9), (1, 8, 3)]
)
def test_every_draw_is_as_likely_as_any_other(chains, draws, count):
    rng, repetitions = np.random.default_rng(5), 20_000
    taken = np.zeros((chains, draws))
    for _ in range(repetitions):
        for place in random_draws(chains, draws, count, rng):
            taken[place] += 1
    share = count / (chains * draws)
    assert np.abs(taken / repetitions - share).max() < 5 * np.sqrt(
        share * (1 - share) / repetitions
    )


@pytest.mark.parametrize(
    ("chains", "draws", "count", "expected"),
    [
        (1, 10, 1, [(0, 5)]),
        (1, 10, 2, [(0, 2), (0, 7)]),
        (2, 10, 4, [(0, 2), (1, 2), (0, 7), (1, 7)]),
        (2, 10, 3, [(0, 2), (1, 5), (0, 7)]),
        (4, 10, 2, [(0, 5), (1, 5)]),
        (2, 2, 4, [(0, 0), (1, 0), (0, 1), (1, 1)]),
    ],
)
@pytest.mark.quick
def test_chains_take_turns(chains, draws, count, expected):
    assert spread_draws(chains, draws, count) == expected


@pytest.mark.parametrize("count", [0, -1, 1.0, "3", None, True, np.nan])
def test_a_count_must_be_a_whole_number_of_at_least_one(count):
    for call in (lambda: spread_draws(2, 10, count), lambda: check_count(count)):
        with pytest.raises(InputError) as caught:
            call()
        assert_clear(caught, "L", ">= 1", repr(count))


def test_more_datasets_than_draws_are_refused():
    with pytest.raises(InputError) as caught:
        spread_draws(2, 10, 21)
    assert_clear(caught, "L", "20", "21")
    with pytest.raises(InputError) as caught:
        random_draws(2, 10, 21, np.random.default_rng(1))
    assert_clear(caught, "L", "20", "21")


def test_check_count_names_what_was_counted_and_returns_a_plain_integer():
    assert type(check_count(np.int64(3), most=3)) is int
    with pytest.raises(InputError) as caught:
        check_count(0, what="resamples")
    assert_clear(caught, "resamples")


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "Int64", "Int16", "int64[pyarrow]"])
@pytest.mark.quick
def test_whole_number_columns_are_rounded_and_keep_their_dtype(dtype):
    original = pd.Series([1, 2, 3, 4], index=["p", "q", "r", "s"], name="count").astype(dtype)
    column = as_column(np.array([0.4, 0.6, 1.5, 99.9]), original)
    assert column.tolist() == [0, 1, 2, 100]
    assert column.dtype == original.dtype
    assert column.index.equals(original.index)
    assert column.name == "count"


@pytest.mark.parametrize("dtype", ["float32", "float64", "Float64"])
def test_other_numbers_are_not_rounded_and_keep_their_dtype(dtype):
    original = pd.Series([1.0, 2.0, 3.0], index=[7, 7, 3], name="y").astype(dtype)
    column = as_column(np.array([-0.5, 0.25, 1.5]), original)
    assert column.tolist() == [-0.5, 0.25, 1.5]
    assert column.dtype == original.dtype
    assert column.index.equals(original.index)


def test_negative_draws_of_a_signed_column_are_kept():
    assert as_column(np.array([-2.6, -0.4]), pd.Series([1, 2])).tolist() == [-3, 0]


@pytest.mark.parametrize("dtype", ["int64", "Int64", "float32", "float64", "Float64"])
def test_values_that_are_not_finite_are_refused_and_counted(dtype):
    original = pd.Series([987654, 1, 2, 3], name="income").astype(dtype)
    with pytest.raises(InputError) as caught:
        as_column(np.array([np.nan, np.inf, -np.inf, SECRET]), original)
    assert_clear(caught, "3 values", "'income'", dtype)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int64", 1e19),
        ("int64", 2.0**63),
        ("int64", -1e19),
        ("Int64", 1e19),
        ("int8", 128.0),
        ("int8", -129.0),
        ("uint8", -1.0),
        ("int16", 4e4),
    ],
)
def test_whole_numbers_that_do_not_fit_the_dtype_are_refused(dtype, value):
    with pytest.raises(InputError) as caught:
        as_column(np.array([1.0, value]), pd.Series([1, 2], name="income").astype(dtype))
    assert_clear(caught, "1 values", "'income'", dtype)


def test_the_smallest_whole_number_fits():
    assert as_column(np.array([-128.0, -(2.0**7)]), pd.Series([1, 2], dtype="int8")).tolist() == [
        -128,
        -128,
    ]
    assert as_column(np.array([-(2.0**63)]), pd.Series([1])).tolist() == [-(2**63)]


def test_the_draws_themselves_are_left_alone():
    values = np.array([0.4, 1.6])
    as_column(values, pd.Series([1, 2]))
    np.testing.assert_array_equal(values, [0.4, 1.6])


@pytest.mark.parametrize(
    ("dtype", "most"), [("int8", 127), ("uint8", 255), ("int16", 32767), ("Int32", 2**31 - 1)]
)
def test_the_largest_whole_number_fits(dtype, most):
    assert as_column(np.array([float(most)]), pd.Series([1], dtype=dtype)).tolist() == [most]


def test_a_draw_beyond_float32_is_refused():
    with pytest.raises(InputError) as caught:
        as_column(np.array([1e300]), pd.Series([1.0], dtype="float32", name="income"))
    assert_clear(caught, "'income'", "float32")


@pytest.mark.parametrize(
    "original",
    [
        pd.Series(
            pd.Categorical(["b", "a", "b"], ["a", "b", "unused"], ordered=True),
            index=[4, 2, 9],
            name="y",
        ),
        pd.Series(["b", "a", "b"], index=list("xyz"), name="y", dtype=object),
        pd.Series(["b", "a", "b"], name="y", dtype="string"),
    ],
    ids=["category", "object", "string"],
)
@pytest.mark.quick
def test_codes_become_levels_in_the_dtype_of_the_column(original):
    drawn = as_column(np.array([1, 1, 0]), original, ("a", "b"))
    assert drawn.astype(object).tolist() == ["b", "b", "a"]
    assert drawn.dtype == original.dtype
    assert drawn.index.equals(original.index)
    assert drawn.name == "y"
    assert as_column(np.array([1.0, 0.0, 1.0]), original == "b", (False, True)).tolist() == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("codes", [[0, 1, 2], [0, -1, 1], [0, 0.5, 1]])
def test_codes_of_no_level_are_refused(codes):
    with pytest.raises(InputError) as caught:
        as_column(np.array(codes), pd.Series(["a", "b", "a"], name="y"), ("a", "b"))
    assert_clear(caught, "'y'", "1 values", "0 to 1")
