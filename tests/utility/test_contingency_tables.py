import itertools

import numpy as np
import pandas as pd
import pytest
from brute import SECRET, assert_clear
from scipy import stats

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.common.groups import group_codes
from riskweighted.utility.contingency_tables import table_utility
from tests.tools.propensity import formula_pmse

pytestmark = pytest.mark.versions


def yes_no(no, yes):
    return pd.DataFrame({"smoke": ["NO"] * no + ["YES"] * yes})


def mixed(rng, n):
    """Age class, an income that depends on it with zeros and gaps, and smoking that depends on
    both.
    """
    age = rng.integers(0, 4, n)
    income = np.where(rng.random(n) < 0.3, 0.0, np.exp(rng.normal(7 + 0.3 * age, 0.8)))
    smoke = rng.random(n) < 0.2 + 0.1 * (age == 2) + 0.1 * (income > 0)
    frame = pd.DataFrame(
        {"age": age.astype(str), "income": income, "smoke": np.where(smoke, "YES", "NO")}
    )
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    return frame


def resampled(frame, rng, rows=None):
    return frame.iloc[rng.integers(0, len(frame), rows or len(frame))].reset_index(drop=True)


def test_a_table_of_two_by_two_worked_by_hand():
    """40 confidential records NO 30, YES 10; 40 synthetic ones NO 20, YES 20: N = 80, c = 1/2.

    Scores: NO 20/50 = .4, YES 20/30 = 2/3. pMSE = (50 (.1)^2 + 30 (1/6)^2) / 80 = (.5 + .8333) / 80
    = 1/60. k - 1 = 1 and (1 - c)^2 c / N = (1/8) / 80 = 1/640, so S_pMSE = 640/60 = 10.667.
    """
    table = rw.table_utility(yes_no(30, 10), yes_no(20, 20), ways=1)
    assert list(table.columns) == [
        "variables",
        "ways",
        "pmse",
        "s_pmse",
        "s_pmse_min",
        "s_pmse_max",
        "df",
        "total_variation",
        "tables",
    ]
    assert table["total_variation"][0] == 0.25  # half of |.75 - .5| + |.25 - .5|
    row = table.iloc[0]
    assert (row["variables"], row["ways"], row["df"], row["tables"]) == ("smoke", 1, 1, 1)
    assert row["pmse"] == pytest.approx(1 / 60, rel=1e-12)
    assert (
        row["s_pmse"]
        == row["s_pmse_min"]
        == row["s_pmse_max"]
        == pytest.approx(640 / 60, rel=1e-12)
    )


def test_three_groups_and_files_of_unequal_size_worked_by_hand():
    """30 confidential records, 10 in each of three groups; 60 synthetic ones, 10, 20 and 30: N =
    90, c = 2/3.

    s - c (d + s): 10 - 40/3 = -10/3, 20 - 20 = 0, 30 - 80/3 = 10/3. pMSE = (100/9/20 + 0 +
    100/9/40) / 90 = (5/9 + 5/18) / 90 = (5/6) / 90 = 1/108. k - 1 = 2 and (1 - c)^2 c / N =
    (1/9)(2/3) / 90 = 2/2430, so S_pMSE = (1/108) / (4/2430) = 2430/432 = 5.625.
    """
    confidential = pd.DataFrame({"edu": np.repeat(["low", "middle", "high"], 10)})
    synthetic = pd.DataFrame({"edu": np.repeat(["low", "middle", "high"], [10, 20, 30])})
    row = table_utility(confidential, synthetic, ["edu"], ways=1).iloc[0]
    assert (row["pmse"], row["s_pmse"], row["df"]) == (
        pytest.approx(1 / 108),
        pytest.approx(5.625),
        2,
    )


def test_two_variables_worked_by_hand():
    """Cells of (sex, smoke): confidential 10, 10, 10, 10; synthetic 15, 5, 10, 10. N = 80, c = 1/2.

    s - (d + s)/2: 2.5, -2.5, 0, 0. pMSE = (6.25/25 + 6.25/15) / 80 = (.25 + .41667) / 80 = 1/120.
    Four cells, df 3: S_pMSE = (1/120) * 640 / 3 = 16/9. With sex as recorded its two totals are
    fixed, df 2: S_pMSE = 8/3.
    """

    def file(counts):
        return pd.DataFrame(
            {
                "sex": np.repeat(["F", "F", "M", "M"], counts),
                "smoke": np.repeat([1, 0, 1, 0], counts),
            }
        )

    confidential, synthetic = file([10, 10, 10, 10]), file([15, 5, 10, 10])
    row = table_utility(confidential, synthetic).iloc[0]
    assert (row["variables"], row["ways"], row["df"]) == ("sex, smoke", 2, 3)
    assert (row["pmse"], row["s_pmse"]) == (pytest.approx(1 / 120), pytest.approx(16 / 9))
    known = table_utility(confidential, synthetic, synthesized=["smoke"]).iloc[0]
    assert (known["df"], known["pmse"], known["s_pmse"]) == (2, row["pmse"], pytest.approx(8 / 3))


def test_it_is_the_chi_square_statistic_of_the_table_and_the_saturated_propensity_model():
    rng = np.random.default_rng(1)
    confidential, synthetic = (
        {"a": rng.choice(list("xyz"), n), "b": rng.choice(list("uv"), n)} for n in (300, 700)
    )
    confidential, synthetic = pd.DataFrame(confidential), pd.DataFrame(synthetic)
    row = table_utility(confidential, synthetic).iloc[0]
    both = pd.concat([confidential, synthetic])
    crossed = pd.crosstab(
        np.repeat([0, 1], [300, 700]), both["a"].to_numpy() + both["b"].to_numpy()
    )
    chi = stats.chi2_contingency(crossed)
    assert row["df"] == chi.dof == 5
    assert row["s_pmse"] == pytest.approx(chi.statistic / chi.dof / (1 - 0.7), rel=1e-10)
    assert row["pmse"] == pytest.approx(
        formula_pmse(confidential, synthetic, "C(a) * C(b)"), rel=1e-8
    )


@pytest.mark.parametrize(("ways", "ratio"), [(1, 3), (2, 1)])
def test_draws_from_the_confidential_distribution_have_one_and_another_sample_has_more(ways, ratio):
    # Another sample has the sampling error of both files: 1 / (1 - c), that is 1 + ratio, instead
    # of 1.
    rng = np.random.default_rng(2)
    drawn, other = [], []
    for _ in range(160):
        confidential = mixed(rng, 1500)
        drawn.append(
            table_utility(confidential, resampled(confidential, rng, 1500 * ratio), ways=ways)[
                "s_pmse"
            ].mean()
        )
        other.append(
            table_utility(confidential, mixed(rng, 1500 * ratio), ways=ways)["s_pmse"].mean()
        )
    for values, expected in ((drawn, 1), (other, 1 + ratio)):
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        assert error < 0.06 * expected
        assert np.mean(values) == pytest.approx(expected, abs=4 * error)


@pytest.mark.parametrize(("drawn", "expected"), [(True, 2.0), (False, 1 + 4 / 8)])
def test_a_right_model_of_fewer_parameters_than_cells(drawn, expected):
    # Two independent variables of three levels, 8 free cells. Synthetic noise has 8 dimensions, the
    # confidential counts differ from the model's in the 4 that it leaves out, and drawn parameters
    # differ from the fitted ones in its 4: 2 in all, 1.5 at fitted ones.
    rng = np.random.default_rng(6)
    shares = {"a": [0.5, 0.3, 0.2], "b": [0.4, 0.4, 0.2]}
    results = []
    for _ in range(160):
        confidential = pd.DataFrame({name: rng.choice(3, 2000, p=p) for name, p in shares.items()})
        counts = {name: np.bincount(confidential[name], minlength=3) for name in shares}
        fitted = {
            name: rng.dirichlet(own + 0.5) if drawn else own / 2000 for name, own in counts.items()
        }
        synthetic = pd.DataFrame({name: rng.choice(3, 2000, p=p) for name, p in fitted.items()})
        results.append(table_utility(confidential, synthetic)["s_pmse"][0])
    error = np.std(results, ddof=1) / np.sqrt(len(results))
    assert error < 0.1
    assert np.mean(results) == pytest.approx(expected, abs=4 * error)


def test_with_a_variable_as_recorded_the_null_counts_only_what_may_differ():
    rng = np.random.default_rng(3)
    declared, all_free = [], []
    for _ in range(60):
        confidential = mixed(rng, 1500)[["age", "smoke"]]
        redrawn = confidential.groupby("age")["smoke"].transform(
            lambda own: own.to_numpy()[rng.integers(0, len(own), len(own))]
        )
        synthetic = confidential.assign(smoke=redrawn)
        declared.append(table_utility(confidential, synthetic, synthesized="smoke").iloc[0])
        all_free.append(table_utility(confidential, synthetic).iloc[0])
    declared, all_free = pd.DataFrame(declared), pd.DataFrame(all_free)
    assert (declared["df"] == 4).all()
    assert (all_free["df"] == 7).all()
    error = declared["s_pmse"].astype(float).std() / np.sqrt(60)
    assert declared["s_pmse"].mean() == pytest.approx(1, abs=4 * error)
    assert all_free["s_pmse"].mean() == pytest.approx(declared["s_pmse"].mean() * 4 / 7)


def test_every_pair_stands_once_with_mean_and_range_over_the_datasets():
    rng = np.random.default_rng(4)
    confidential = mixed(rng, 400)
    frames = [resampled(confidential, rng) for _ in range(5)]
    table = table_utility(confidential, frames)
    assert list(table["variables"]) == ["age, income", "age, smoke", "income, smoke"]
    assert (table["tables"] == 5).all()
    single = pd.concat(
        [
            table_utility(confidential, frame).assign(dataset=number)
            for number, frame in enumerate(frames)
        ]
    )
    for name, row in table.set_index("variables").iterrows():
        own = single[single["variables"] == name]
        assert row["pmse"] == pytest.approx(own["pmse"].mean())
        assert (row["s_pmse"], row["s_pmse_min"], row["s_pmse_max"], row["df"]) == pytest.approx(
            (own["s_pmse"].mean(), own["s_pmse"].min(), own["s_pmse"].max(), own["df"].mean())
        )


def test_tables_are_those_of_pandas_crosstab_with_missing_values_a_level():
    rng = np.random.default_rng(5)
    confidential, synthetic = mixed(rng, 300), mixed(rng, 200)
    confidential.loc[:20, "smoke"] = None
    confidential["smoke"] = confidential["smoke"].astype("category")
    codes = group_codes([confidential["income"], synthetic["income"]], 5, numeric=True)
    for names in itertools.combinations(confidential.columns, 2):
        both = pd.concat([confidential, synthetic], ignore_index=True).astype(object)
        both["income"] = np.concatenate(codes)
        cells = both[list(names)].astype(object).fillna("missing").astype(str).agg("|".join, axis=1)
        crossed = pd.crosstab(cells, np.repeat(["d", "s"], [300, 200]))
        size, c = crossed.sum(axis=1), 0.4
        row = table_utility(confidential, synthetic, names).iloc[0]
        assert row["df"] == len(crossed) - 1
        assert row["pmse"] == pytest.approx((size * (crossed["s"] / size - c) ** 2).sum() / 500)


def test_missing_rates_that_differ_are_seen():
    confidential = pd.DataFrame({"y": [1.0, 2, 3, 4, 5, 6, 7, 8, 9, np.nan] * 20})
    filled = confidential.fillna(5.0)
    assert table_utility(confidential, filled, ways=1)["s_pmse"][0] > 3


def test_numbers_that_became_others_and_columns_of_other_dtypes():
    confidential = pd.DataFrame(
        {"y": pd.array([1, 2, 3, 4, None] * 8, dtype="Int64"), "b": [True, False] * 20}
    )
    synthetic = pd.DataFrame({"y": np.array([1, 2, 3, 4, np.nan] * 8), "b": [True, False] * 20})
    table = table_utility(confidential, synthetic, ways=1).set_index("variables")
    assert table.loc["y", ["pmse", "df"]].tolist() == [0, 4]
    assert table.loc["b", "df"] == 1
    emptied = table_utility(confidential, synthetic.assign(y=None), ["y"], ways=1).iloc[0]
    assert emptied["s_pmse"] > 10


def test_a_constant_has_no_ratio():
    frame = pd.DataFrame({"y": [1.0] * 10, "z": ["a", "b"] * 5})
    table = table_utility(frame, frame, ways=1).set_index("variables")
    assert table.loc["y", "df"] == 0
    assert np.isnan(table.loc["y", "s_pmse"])
    assert table.loc["z", "s_pmse"] == 0
    assert table_utility(frame, frame)["df"][0] == 1


GOOD = pd.DataFrame({"x": [f"{SECRET}a", "b"] * 10, "y": np.arange(20.0), "z": [1, 2, 3, 4] * 5})


@pytest.mark.parametrize(
    ("synthetic", "options", "message"),
    [
        (GOOD, {"variables": ["nope"]}, "has no column 'nope'"),
        (GOOD.drop(columns="z"), {}, "synthetic dataset 1 has no column 'z'"),
        (GOOD.assign(w=1), {}, "has columns 'w'"),
        (
            [GOOD, GOOD.assign(x="other")],
            {},
            "'x' has no level in common in the confidential data and synthetic dataset 2",
        ),
        (
            GOOD.assign(y=GOOD["y"].astype(str)),
            {},
            "'y' is numeric in the confidential data and not in the synthetic dataset 1",
        ),
        (GOOD.assign(y=np.inf), {}, "infinite in 20 of 20"),
        (GOOD.assign(y=pd.Timestamp("2020-01-01")), {}, "dtype datetime64"),
        (GOOD.assign(x=pd.Timestamp("2020-01-01").date()), {}, "'x' holds dates"),
        (GOOD.iloc[:0], {}, "no records"),
        ([], {}, "no synthetic dataset"),
        ("GOOD", {}, "DataFrame"),
        (GOOD, {"ways": 3}, "ways must be 1 or 2, got 3"),
        (GOOD, {"ways": True}, "ways must be 1 or 2"),
        (GOOD, {"groups": 1}, "groups must be at least 2"),
        (GOOD, {"groups": 2.5}, "groups must be a whole number"),
        (GOOD, {"variables": []}, "names none"),
        (GOOD, {"variables": ["x"]}, "no table of ways=2 is left"),
        (GOOD, {"variables": ["x", "x"]}, "more than once"),
        (GOOD, {"synthesized": ["w"]}, "synthesized names 'w'; the variables are"),
        (GOOD.assign(z=1), {"synthesized": ["y"]}, "leaves out 'z'"),
        (GOOD, {"synthesized": []}, "no table"),
    ],
)
def test_refuses(synthetic, options, message):
    with pytest.raises(InputError, match=message) as caught:
        table_utility(GOOD, synthetic, **options)
    assert_clear(caught)


def test_refuses_an_empty_confidential_file():
    with pytest.raises(InputError, match="confidential data has no records"):
        table_utility(GOOD.iloc[:0], GOOD)


def test_special_codes_and_missing_values_are_groups_of_their_own():
    """100 amounts in fifths, 3 codes, 2 missing: seven groups, six where the code counts as an
    amount.
    """
    own = pd.DataFrame({"y": [*np.arange(1.0, 101.0), -8, -8, -8, np.nan, np.nan]})
    # amounts now, of the lowest fifth
    released = own.assign(y=[*np.arange(1.0, 101.0), -7, -7, -7, np.nan, np.nan])
    plain, told = (
        table_utility(own, released, ways=1, special=special).iloc[0]
        for special in (None, {"y": [-8]})
    )
    assert (plain["df"], told["df"]) == (5, 6)
    assert plain["pmse"] == 0
    # Cells (20, 23) and (3, 0), in equal halves of 210 records: (1.5^2 / 43 + 1.5^2 / 3) / 210.
    assert told["pmse"] == pytest.approx((1.5**2 / 43 + 1.5**2 / 3) / 210)
