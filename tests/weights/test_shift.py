import numpy as np
import pandas as pd
import pytest
from brute import SECRET, assert_clear

import riskweighted as rw
from riskweighted.common.errors import InputError

CATEGORY = rw.Scenario(synthetic="c")
SHARES = [(0.745, 0.255), (0.5, 0.3, 0.15, 0.05), (0.25, 0.25, 0.25, 0.25), (0.9, 0.09, 0.01)]


def categories(shares, n=2000):
    """n records whose levels have exactly these shares."""
    levels = np.repeat(
        [f"level {k}" for k in range(len(shares))], np.rint(np.multiply(shares, n)).astype(int)
    )
    return pd.DataFrame({"c": np.random.default_rng(1).permutation(levels)})


def shares_of(data):
    return data["c"].map(data["c"].value_counts(normalize=True)).to_numpy()


@pytest.mark.parametrize("shares", SHARES)
@pytest.mark.parametrize("dtype", ["object", "category"])
def test_marginal_weights_of_a_category_are_its_share_and_square_the_margin(shares, dtype):
    data, p = categories(shares).astype(dtype), np.array(shares)
    alpha = rw.marginal_weights(data, CATEGORY)
    np.testing.assert_allclose(alpha, shares_of(data), rtol=0, atol=1e-15)
    table = rw.margin_shift(data, CATEGORY, alpha, levels=True)
    assert table["level"].tolist() == [f"level {k}" for k in range(len(p))]
    np.testing.assert_allclose(table["raw"], p, atol=1e-15)
    np.testing.assert_allclose(table["weighted"], p**2 / (p**2).sum(), atol=1e-14)
    np.testing.assert_allclose(table["ratio"], p / (p**2).sum(), atol=1e-13)


@pytest.mark.parametrize("shares", SHARES)
def test_pairwise_weights_of_a_category_follow_the_law_of_large_patterns(shares):
    data = categories(shares)
    p_k, squares = shares_of(data), np.square(shares).sum()
    law = squares + p_k * (1 - p_k)
    alpha = rw.pairwise_weights(data, CATEGORY)
    np.testing.assert_allclose(alpha, law, rtol=0, atol=1e-3)
    # Exactly: of the M - 1 others, M p_k - 1 share the level and M p_j have another one, j, and
    # miss 1 - p_k - p_j.
    np.testing.assert_allclose(
        alpha, p_k + len(data) / (len(data) - 1) * (squares - p_k**2), rtol=0, atol=1e-12
    )


def test_a_share_of_255_thousandths_becomes_105_under_marginal_weights_and_stays_under_pairwise():
    data = categories((0.745, 0.255))
    marginal = rw.margin_shift(data, CATEGORY, rw.marginal_weights(data, CATEGORY), levels=True)
    assert marginal["weighted"][1] == pytest.approx(0.105, abs=5e-4)
    pairwise = rw.pairwise_weights(data, CATEGORY)
    assert np.ptp(pairwise) < 1e-3  # constant for a binary variable, in the limit
    assert rw.margin_shift(data, CATEGORY, pairwise)["total_variation"][0] < 1e-3


def test_within_known_patterns_worked_by_hand():
    """Pattern A holds x, x, x, y (weights 3/4, 3/4, 3/4, 1/4) and pattern B x, y (1/2 each).

    x: 9/4 + 1/2 = 11/4 of 14/4, raw 4/6; total variation 11/14 - 2/3 = 5/42. y: 3/14 over 1/3 is
    9/14.
    """
    data = pd.DataFrame({"g": list("AAAABB"), "c": list("xxxyxy")})
    scenario = rw.Scenario(known="g", synthetic="c")
    table = rw.margin_shift(data, scenario, rw.marginal_weights(data, scenario))
    assert list(table.columns) == [
        "variable",
        "levels",
        "alpha",
        "total_variation",
        "least_ratio",
        "erased",
    ]
    assert table.iloc[0].tolist() == [
        "c",
        2,
        pytest.approx(3.5),
        pytest.approx(5 / 42),
        pytest.approx(9 / 14),
        0,
    ]


def incomes(n=1000):
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "income": rng.lognormal(7, 0.8, n),
            "cars": rng.choice([0, 1, 2], n, p=[0.5, 0.4, 0.1]),
            "c": rng.choice(list("ab"), n),
        }
    )


def test_numbers_are_compared_by_quintile_and_codes_by_level():
    data = incomes()
    scenario = rw.Scenario(synthetic=("income", "cars", "c"), categorical="cars")
    alpha = pd.Series(np.random.default_rng(4).random(len(data)), data.index)
    table = rw.margin_shift(data, scenario, alpha, levels=True)
    quintile = pd.qcut(data["income"], 5, labels=False)
    own = table[table["variable"] == "income"]
    assert own["level"].tolist() == [f"{rank} of 5" for rank in range(1, 6)]
    np.testing.assert_allclose(own["raw"], 0.2, atol=1e-12)
    np.testing.assert_allclose(
        own["weighted"], alpha.groupby(quintile).sum() / alpha.sum(), atol=1e-12
    )
    cars = table[table["variable"] == "cars"].set_index("level")
    assert list(cars.index) == [0, 1, 2]
    np.testing.assert_allclose(
        cars["raw"], data["cars"].value_counts(normalize=True).sort_index(), atol=1e-12
    )
    assert table.groupby("variable")[["raw", "weighted"]].sum().to_numpy() == pytest.approx(1)
    by_variable = rw.margin_shift(data, scenario, alpha).set_index("variable")
    assert list(by_variable.index) == ["income", "cars", "c"]
    distance = (table["raw"] - table["weighted"]).abs().groupby(table["variable"]).sum() / 2
    for name in by_variable.index:
        assert by_variable.loc[name, "total_variation"] == pytest.approx(distance[name])


def test_weights_of_the_tail_shift_income_downwards():
    # Marginal weights of a skewed income: few neighbours in the ends, so the middle quintiles gain.
    data, scenario = incomes(), rw.Scenario(synthetic="income")
    ratio = rw.margin_shift(data, scenario, rw.marginal_weights(data, scenario), levels=True)[
        "ratio"
    ].to_numpy()
    assert ratio[4] < 1 < ratio[2]
    assert ratio[0] < 1


def test_equal_weights_shift_nothing_and_a_factor_does_not_matter():
    data, scenario = incomes(), rw.Scenario(synthetic=("income", "c"))
    assert (
        rw.margin_shift(data, scenario, np.full(len(data), 0.3))["total_variation"] < 1e-12
    ).all()
    alpha = np.random.default_rng(5).random(len(data))
    whole, half = (
        rw.margin_shift(data, scenario, factor * alpha, levels=True) for factor in (1, 0.5)
    )
    pd.testing.assert_frame_equal(whole, half)


def test_weights_of_each_variable():
    data, scenario = incomes(), rw.Scenario(synthetic=("income", "c"))
    income, category = np.random.default_rng(6).random((2, len(data)))
    expected = [
        rw.margin_shift(data, rw.Scenario(synthetic=name), own)
        for name, own in (("income", income), ("c", category))
    ]
    expected = pd.concat(expected, ignore_index=True)
    framed = pd.DataFrame({"c": category, "income": income}, index=data.index)
    pd.testing.assert_frame_equal(rw.margin_shift(data, scenario, framed), expected)
    pd.testing.assert_frame_equal(
        rw.margin_shift(data, scenario, np.column_stack([income, category])), expected
    )


def test_a_category_whose_records_all_have_weight_0_is_erased():
    data = categories((0.9, 0.1), 100)
    alpha = (data["c"] == "level 0").astype(float)
    assert rw.margin_shift(data, CATEGORY, alpha).iloc[0].tolist() == [
        "c",
        2,
        90,
        pytest.approx(0.1),
        0,
        1,
    ]


SECRETS = pd.DataFrame({"c": [SECRET, 1.0, 2.0, 3.0], "g": list("aabb")})
NUMBERS = rw.Scenario(synthetic="c", known="g")


@pytest.mark.parametrize(
    ("alpha", "message"),
    [
        (np.ones(3), "one value per record: got 3 for 4"),
        (pd.Series(1.0, index=range(1, 5)), "index"),
        (np.array([1, 1, 1, 1.5]), "1 lie outside"),
        (np.array([1, 1, 1, np.nan]), "1 are missing"),
        (np.zeros(4), "alpha is 0 for all 4 records of 'c'"),
        (np.ones((4, 2)), "2 columns for 1 synthetic"),
        (pd.DataFrame({"g": np.ones(4)}), "must be the synthetic variables 'c'"),
        (np.ones((4, 1, 1)), "one dimension"),
        (pd.Series(list("abcd")), "must be numbers"),
    ],
)
def test_refuses_weights(alpha, message):
    with pytest.raises(InputError, match=message) as caught:
        rw.margin_shift(SECRETS, NUMBERS, alpha)
    assert_clear(caught)


@pytest.mark.parametrize(
    ("data", "scenario", "message"),
    [
        (SECRETS, rw.Scenario(synthetic="nope"), "no column 'nope'"),
        (SECRETS.assign(c=np.nan), NUMBERS, "is missing in 4 of 4"),
        (SECRETS.iloc[:0], NUMBERS, "no records"),
        (SECRETS, "c", "must be a Scenario"),
    ],
)
def test_refuses_data(data, scenario, message):
    with pytest.raises(InputError, match=message) as caught:
        rw.margin_shift(data, scenario, np.ones(4))
    assert_clear(caught)


def test_missing_values_and_codes_are_groups_of_their_own():
    """Ten amounts in quintiles of two, two codes, four missing; the weights keep the amounts
    alone.
    """
    data = pd.DataFrame({"y": [*range(1, 11), -8, -8, *[np.nan] * 4], "c": ["a"] * 6 + [None] * 10})
    scenario = rw.Scenario(synthetic=("y", "c"), codes={"y": -8})
    alpha = np.repeat([1.0, 0.0], [10, 6])
    table = rw.margin_shift(data, scenario, alpha, levels=True)
    assert table["level"].tolist() == [
        *(f"{rank} of 5" for rank in range(1, 6)),
        "-8",
        "missing",
        "a",
        "missing",
    ]
    np.testing.assert_allclose(table["raw"], np.array([2, 2, 2, 2, 2, 2, 4, 6, 10]) / 16)
    np.testing.assert_allclose(table["weighted"], [0.2] * 5 + [0, 0, 0.6, 0.4])
    short = rw.margin_shift(data, scenario, alpha).set_index("variable")
    assert short["levels"].to_dict() == {"y": 7, "c": 2}
    assert short["total_variation"].to_dict() == pytest.approx({"y": 6 / 16, "c": 0.225})
    assert short["least_ratio"]["y"] == 0


def test_a_level_counts_as_erased_below_a_fifth_of_its_share_where_ten_records_hold_it():
    # 80 x, 10 y, 10 z of weights 1, w, 0: 80 + 10 w in all; y keeps w * 100 / (80 + 10 w) of its
    # share, 1/5 at w = 8/49.
    data = pd.DataFrame({"c": np.repeat(["x", "y", "z"], [80, 10, 10])})
    erased = {
        w: rw.margin_shift(data, CATEGORY, np.repeat([1, w, 0], [80, 10, 10]))["erased"][0]
        for w in (8.1 / 49, 7.9 / 49)
    }
    assert list(erased.values()) == [1, 2]
    nine = pd.DataFrame({"c": np.repeat(["x", "y"], [91, 9])})
    assert rw.margin_shift(nine, CATEGORY, np.repeat([1, 0], [91, 9]))["erased"][0] == 0


def test_warns_where_the_prior_would_decide_or_a_level_is_lost():
    data = pd.DataFrame({"c": np.repeat(["x", "y"], [90, 10]), "income": np.arange(1.0, 101)})
    scenario = rw.Scenario(synthetic=("c", "income"))
    alpha = pd.DataFrame({"c": np.repeat([0.1, 0.0], [90, 10]), "income": 1.0}, index=data.index)
    table = rw.margin_shift(data, scenario, alpha)
    with pytest.warns(rw.MarginShiftWarning) as caught:
        texts = rw.warn_of_shift(table, {"c": 10, "income": 100}, "marginal")
    assert [str(one.message) for one in caught] == texts
    assert len(texts) == 2
    assert texts[0].startswith(
        "scheme 'marginal': the weights of 'c' sum to 9, and its model has 10 parameters: the "
        "prior would decide"
    )
    assert texts[1].startswith(
        "scheme 'marginal': 1 of 2 levels or groups of 'c' keep less than a fifth of their share"
    )
    with pytest.warns(rw.MarginShiftWarning, match="^1 of 2 levels"):
        assert len(rw.warn_of_shift(table, {"c": 9})) == 1
    assert rw.warn_of_shift(table[table["variable"] == "income"], {"income": 100}) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parameters": {"nope": 3}}, "parameters names 'nope'; the variables are 'c'"),
        ({"parameters": {"c": 0}}, "parameters of 'c' must be a whole number >= 1"),
        ({"parameters": {"c": 2.5}}, "whole number"),
        (
            {"shift": pd.DataFrame({"variable": ["c"]})},
            "lacks the column 'levels', 'alpha', 'erased'",
        ),
    ],
)
def test_warning_refuses_other_tables_and_counts(change, message):
    table = rw.margin_shift(categories((0.9, 0.1), 100), CATEGORY, np.ones(100))
    with pytest.raises(InputError, match=message):
        rw.warn_of_shift(**{"shift": table, **change})
