"""What holds together in a file is found, with who could have broken it; in columns that have
nothing to do with each other nothing is.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.derivation.find import MOST_COLUMNS
from riskweighted.derivation.rule_findings import LEAST, log_chance, log_chance_of_order
from riskweighted.sequence.edit_rules import Rules

pytestmark = pytest.mark.quick

N = 800


def planted(n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    age, smoke = rng.integers(16, 90, n), rng.choice(["YES", "NO", "it's"], n)
    wage = np.where(rng.random(n) < 0.3, 0, rng.lognormal(8, 1, n).round())
    rent, heat = rng.integers(0, 900, n) / 100, rng.integers(0, 500, n) / 100
    asked = rng.random(n) < 0.2
    frame = {
        "age": age,
        "band": pd.cut(age, [0, 24, 64, 99], labels=["young", "middle", "old"]),
        "smoke": smoke,
        "code": pd.Series(smoke).map({"YES": 1, "NO": 2, "it's": 1}),
        "cigarettes": np.where(smoke == "NO", -8, rng.integers(1, 60, n)),
        "wage": wage,
        "tax": np.where(wage == 0, 0, (wage * rng.uniform(0.1, 0.5, n)).round()),
        "rent": rent,
        "heat": heat,
        "cost": (rent + heat).round(2),
        "one": 1,
        "first": np.where(asked, np.nan, rng.normal(size=n)),
        "second": np.where(asked, np.nan, rng.normal(size=n)),
        "pupil": np.where(age < 25, rng.choice(["in school", "not"], n), "not"),
    }
    return pd.DataFrame(frame)


@pytest.fixture(scope="module")
def found():
    return rw.find_structure(planted(), codes={"cigarettes": [-8]})


def of_kind(found, kind):
    return {
        tuple(row.columns)
        for row in found.table.itertuples()
        if row.kind == kind and row.exceptions == 0
    }


def test_planted_rules_are_found_with_those_that_could_have_broken_them(found):
    table = found.table
    assert ("age", "band") in of_kind(found, "bands")
    assert ("smoke", "code") in of_kind(found, "recode")
    assert ("cost", "rent", "heat") in of_kind(found, "sum")
    assert ("tax", "wage") in of_kind(found, "order")
    assert {("smoke", "cigarettes"), ("wage", "tax"), ("first", "second")} <= of_kind(
        found, "implies"
    )
    assert ("pupil", "band") in of_kind(found, "implies")
    assert (table["could_break"] >= LEAST).all()
    data, row = planted(), table[table["rule"] == "cigarettes == -8 where smoke == 'NO'"].iloc[0]
    assert row["could_break"] == min(
        (data["smoke"] == "NO").sum(), (data["cigarettes"] != -8).sum()
    )


def test_every_rule_that_is_kept_holds_in_the_data_as_a_chain_reads_it(found):
    data = planted()
    variables = (
        "band",
        "smoke",
        "code",
        "cigarettes",
        "wage",
        "tax",
        "rent",
        "heat",
        "cost",
        "first",
        "second",
        "pupil",
    )
    rules = Rules(variables, codes={"cigarettes": [-8]}, **found.settings(variables))
    assert len(rules.rules) >= 12
    rules.check(data)
    assert rules.broken(data) == ()
    assert "one" not in found.columns


def test_differences_are_sums_and_sums_of_three_are_found():
    rng = np.random.default_rng(1)
    parts = rng.integers(1, 5000, (3, 400))
    data = pd.DataFrame(
        {
            "a": parts[0],
            "b": parts[1],
            "c": parts[2],
            "less": parts[0] - parts[1],
            "all": parts.sum(0),
        }
    )
    assert of_kind(rw.find_structure(data), "sum") == {("a", "b", "less"), ("all", "a", "b", "c")}


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_found_where_columns_have_nothing_to_do_with_each_other(seed):
    rng, n = np.random.default_rng(seed), 600
    levels = {f"l{k}": rng.choice(list("abcdefgh")[: k + 2], n) for k in range(4)}
    amounts = {
        f"x{k}": np.where(rng.random(n) < 0.3, 0, rng.lognormal(8, 1, n).round()) for k in range(4)
    }
    counts = {f"c{k}": rng.poisson(1.5, n) for k in range(4)}
    gaps = {f"m{k}": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)) for k in range(3)}
    table = rw.find_structure(
        pd.DataFrame({**levels, **amounts, **counts, **gaps, "id": np.arange(n)})
    ).table
    assert not len(table), table["rule"].tolist()


@pytest.mark.parametrize(
    ("column", "row", "value", "kind"),
    [
        ("cigarettes", "NO", 3, "implies"),
        ("cost", None, 1e6, "sum"),
        ("tax", None, 1e9, "order"),
        ("band", None, "old", "recode"),
    ],
)
def test_what_all_but_one_record_keep_is_named_and_not_kept(column, row, value, kind):
    data = planted()
    place = (
        data.index[data["smoke"] == row][3]
        if row
        else data.index[(data["wage"] > 0) & (data["age"] < 25)][3]
    )
    data.loc[place, column] = value
    told = rw.find_structure(data, codes={"cigarettes": [-8]})
    rows = told.table[
        (told.table["kind"] == kind) & told.table["columns"].map(lambda names: column in names)
    ]
    assert 1 in rows["exceptions"].tolist()
    assert not rows.loc[rows["exceptions"] > 0, "kept"].any()
    assert all(not rule.exceptions for rule in told.kept([column]))


def test_too_few_records_make_no_rule():
    rng, n = np.random.default_rng(0), 500
    rare = np.arange(n) < LEAST - 1
    data = pd.DataFrame(
        {
            "rare": np.where(rare, "yes", "no"),
            "amount": np.where(rare, 0, rng.lognormal(8, 1, n).round()),
        }
    )
    assert not len(rw.find_structure(data).table)
    rare = np.arange(n) < LEAST + 1
    data = pd.DataFrame(
        {
            "rare": np.where(rare, "yes", "no"),
            "amount": np.where(rare, 0, rng.lognormal(8, 1, n).round()),
        }
    )
    assert of_kind(rw.find_structure(data), "implies")


def test_a_file_of_copies_and_recodes_only():
    region = np.random.default_rng(0).choice(list("abcd"), 300)
    code = pd.Series(region).map({"a": 1, "b": 2, "c": 3, "d": 4})
    data = pd.DataFrame(
        {"r": region, "again": region, "code": code, "side": np.isin(region, ["a", "b"])}
    )
    told = rw.find_structure(data)
    assert told.recodes == {"again": "r", "code": "r", "side": "r"}
    assert set(told.table["kind"]) == {"copy", "recode", "bands"}


def test_rules_that_follow_are_left_out_in_the_order_in_which_columns_are_known():
    gap = np.random.default_rng(0).random(500) < 0.2
    rng = np.random.default_rng(1)
    data = pd.DataFrame({name: np.where(gap, np.nan, rng.normal(size=500)) for name in "abcd"})
    pairs = [rule.columns for rule in rw.find_structure(data).findings]
    # missing here where missing before, and the other way round, along the four
    assert len(pairs) == 6
    rules = Rules(list("abcd"), **rw.find_structure(data).settings("abcd"))
    for column in "bcd":
        assert rules.at(column), "each is held to those before it"


@pytest.mark.parametrize("columns", [["a"], ["a", "b"], ["x"], ["one"], ["a", "x"]])
def test_files_without_numbers_or_of_one_column_have_no_rules(columns):
    rng = np.random.default_rng(0)
    data = pd.DataFrame(
        {
            "a": rng.choice(list("pq"), 99),
            "b": rng.choice(list("rst"), 99),
            "x": rng.normal(size=99),
            "one": 1,
        }
    )
    assert not len(rw.find_structure(data[columns]).table)


def test_limits_and_wrong_names_are_refused():
    with pytest.raises(InputError, match=f"at most {MOST_COLUMNS}"):
        rw.find_structure(pd.DataFrame(np.zeros((2, MOST_COLUMNS + 1))).rename(columns=str))
    with pytest.raises(InputError, match="no column"):
        rw.find_structure(planted(), ["age", "agee"])
    with pytest.raises(InputError, match="codes name"):
        rw.find_structure(planted(), codes={"nobody": [1]})


def test_chances_by_brute_force():
    rng = np.random.default_rng(0)
    low, high = rng.integers(0, 6, 5).astype(float), rng.integers(2, 9, 5).astype(float)
    dealt = [np.mean(low <= rng.permutation(high)) == 1 for _ in range(20_000)]
    assert np.exp(log_chance_of_order(low, high)) == pytest.approx(np.mean(dealt), abs=0.02)
    for broken in (0, 2):
        exact = binom.cdf(broken, 20, 0.4) - 1e-12
        assert np.exp(log_chance(np.array(broken), np.array(20), np.array(0.4))) >= exact


def test_200_columns_within_a_minute():
    rng, n = np.random.default_rng(0), 2000
    kinds = (
        lambda: rng.choice(list("abcdefgh"), n),
        lambda: rng.lognormal(8, 1, n).round(),
        lambda: rng.poisson(2, n),
    )
    data = pd.DataFrame({f"v{k}": kinds[k % 3]() for k in range(200)})
    assert not len(rw.find_structure(data).table)
