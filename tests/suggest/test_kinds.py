"""What every column of a file is, by its values and its name, and what is asked where that is not
certain.
"""

import numpy as np
import pandas as pd
import pytest

from riskweighted.common.errors import InputError
from riskweighted.data.variable import Variable
from riskweighted.suggest.kinds import kinds_of

pytestmark = pytest.mark.quick

N = 1000
rng = np.random.default_rng(7)
MONEY = np.round(rng.lognormal(10, 1, N)).astype(int)
HOUSEHOLDS = np.sort(rng.integers(0, 350, N))
SHUFFLED = rng.permutation(N)


def found(name, values, *others, **said):
    """The kind of one column, beside others if need be."""
    data = pd.concat([pd.Series(values, name=name), *others], axis=1)
    return kinds_of(data, **said)[0]


ALONE = {
    "numbers from 1 on": ("x", np.arange(1, N + 1), "record id"),
    "a key": ("person_id", rng.permutation(10 * N)[:N], "record id"),
    "evenly spread": ("x", rng.permutation(10 * N)[:N], "record id"),
    "texts of their own": ("x", [f"person {place}" for place in range(N)], "record id"),
    "long texts of their own": (
        "x",
        [f"person {place} who said what everybody said in so many words" for place in range(N)],
        "text",
    ),
    "texts of many values": ("x", [f"answer {place // 2}" for place in range(N)], "text"),
    "family names": ("last_name", [f"Smith{place % 60}" for place in range(N)], "text"),
    "texts with a few numbers": ("x", rng.choice(["some", "3", "5+"], N), "levels"),
    "one value": ("x", np.full(N, 3), "constant"),
    "nothing": ("x", [None] * N, "constant"),
    "ticked by X": ("x", np.where(np.arange(N) % 3 > 0, "X", None), "levels"),
    "ticked by 1": ("x", np.where(np.arange(N) % 3 > 0, 1, np.nan), "levels"),
    "0 or empty": ("x", np.where(np.arange(N) % 3 > 0, 0, np.nan), "constant"),
    "hardly ever ticked": ("x", np.where(np.arange(N) % 100 == 0, "X", None), "constant"),
    "dates": ("x", pd.date_range("2020-01-01", periods=N), "time"),
    "dates as text": (
        "x",
        [f"{1 + place % 28:02}.{1 + place % 12:02}.2020" for place in range(N)],
        "time",
    ),
    "quarters as text": (
        "x",
        [f"{1970 + place % 9}:{1 + place % 4}" for place in range(N)],
        "time",
    ),
    "years as text": ("x", (1970 + np.arange(N) % 30).astype(str), "time"),
    "years": ("x", rng.integers(1930, 2020, N), "time"),
    "years of two digits": ("birth_yr", rng.integers(11, 60, N), "time"),
    "a year of nine": ("year", 76 + np.arange(N) % 9, "time"),
    "waves": ("wave", 1 + np.arange(N) % 7, "time"),
    "years as a duration": ("years", rng.integers(0, 40, N), "number"),
    "an age in years, in German": ("Alter in Jahren", rng.normal(40, 9, N).round(), "number"),
    "years of birth in German": ("Geburtsjahr", rng.integers(30, 90, N), "time"),
    "months of the year": ("month", rng.integers(1, 13, N), "time"),
    "months as a duration": ("months", rng.integers(1, 13, N), "number"),
    "dates of eight digits": ("x", 20200100 + rng.integers(1, 31, N), "time"),
    "a weight": ("pspwght", rng.uniform(0.2, 3, N), "weight"),
    "a weight called so": ("weight", rng.uniform(0.2, 3, N), "weight"),
    "strata": ("SDMVSTRA", rng.integers(1, 40, N), "design"),
    "grouped thousands": ("x", [f"{value:,}" for value in MONEY], "text"),
    "money": ("x", MONEY, "number"),
    "money with cents": ("x", MONEY + 0.25, "number"),
    "money in order": ("x", np.sort(MONEY), "number"),
    "texts of few values": ("x", rng.choice(["a", "b", "c"], N), "levels"),
    "truth": ("x", rng.random(N) < 0.5, "levels"),
    "few whole numbers": ("x", rng.integers(1, 6, N), "levels"),
    "two numbers": ("x", rng.choice([0.5, 2], N), "levels"),
    "industries": ("nace", rng.choice([1, 5, 10, 41, 45, 49, 55, 58, 62, 68, 85], N), "levels"),
    "industries with a code": (
        "nace",
        rng.choice([1, 5, 10, 41, 45, 49, 55, 58, 62, 68, 85, 999], N),
        "levels",
    ),
    "industries of six digits": (
        "NAICS6",
        rng.choice([236115, 238220, 311811, 423450, 445110, 484121, 511210, 541110, 722511], N),
        "levels",
    ),
    "counties without their zero": (
        "FIPS",
        rng.choice([1001, 1003, 6037, 6059, 6073, 12086, 17031, 36047, 36061, 48201], N),
        "levels",
    ),
    "races in detail": (
        "RACED",
        rng.choice([100, 200, 300, 400, 500, 600, 610, 620, 700, 801], N),
        "levels",
    ),
    "few places called keys": ("plot_id", rng.integers(1, 16, N), "levels"),
    "counties as text": (
        "fips",
        rng.choice([f"0{code}" for code in range(1001, 1068)], N),
        "levels",
    ),
    "without end": ("x", np.r_[MONEY[1:], np.inf], "number"),
}


@pytest.mark.parametrize("case", ALONE)
def test_kinds_of_columns_by_themselves(case):
    name, values, kind = ALONE[case]
    column = found(name, values)
    assert (column.name, column.kind, column.question) == (name, kind, "")
    assert column.reason


@pytest.mark.parametrize("dtype", ["float64", "Int64", "Float64", "int64[pyarrow]"])
def test_whole_numbers_are_whole_however_they_are_stored(dtype):
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    sectors = pd.Series(rng.choice(np.arange(11, 60, 4), N)).astype(dtype)
    assert found("sector", sectors).kind == "levels"
    assert found("idhh", pd.Series(np.arange(N) + 10_000_000_000).astype(dtype)).kind == "record id"
    gaps = pd.Series(np.where(np.arange(N) % 50 == 0, np.nan, HOUSEHOLDS)).astype(dtype)
    assert found("household", gaps).kind == "unit id"


def test_units_are_told_by_names_neighbours_periods_and_what_does_not_vary():
    size = pd.Series(np.bincount(HOUSEHOLDS)[HOUSEHOLDS], name="size")
    scattered = rng.permutation(5000)[:350][HOUSEHOLDS]
    assert found("x", HOUSEHOLDS).kind == "unit id"  # equal values are adjacent
    # what does not vary alone is no proof
    assert found("x", scattered[SHUFFLED], size[SHUFFLED].reset_index(drop=True)).question
    assert found("hid", scattered[SHUFFLED]).kind == "unit id"
    firms = np.repeat(np.arange(125), 8)
    years = pd.Series(np.tile(np.arange(1990, 1998), 125), name="year")
    order = SHUFFLED
    assert found("x", (7 * firms)[order], years[order].reset_index(drop=True)).kind == "unit id"
    kinds = kinds_of(pd.DataFrame({"hid": scattered, "size": size, "income": MONEY}))
    assert [column.within for column in kinds] == [(), ("hid",), ()]


def test_no_unit_where_every_record_has_its_own_or_there_are_few():
    # a panel with one record a unit
    assert found("hid", np.arange(N) * 3 % 10_007).kind == "record id"
    assert found("hid", np.ones(N, dtype=int)).kind == "constant"  # a file of one household
    assert found("hid", [1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9]).kind == "levels"
    assert found("age", np.sort(rng.integers(18, 90, N))).kind == "number"  # sorted by it


def test_a_body_is_asked_for_and_zeros_are_no_weight():
    height = pd.Series(rng.normal(170, 10, N), name="height")
    body = found("weight", rng.normal(70, 10, N), height)
    assert body.kind == "number"
    assert '"weight" = "weight"' in body.question
    assert "number" in body.question
    for name, beside in (("wt", "ht"), ("wt.1", "ht"), ("wt", "gestation")):
        assert found(name, rng.normal(120, 10, N), height.rename(beside)).kind == "number"
    assert found("wt", rng.normal(120, 10, N), height.rename("hours")).kind == "weight"
    zero = found("wgt", np.where(np.arange(N) % 5 == 0, 0, rng.uniform(1, 2, N)))
    assert (zero.kind, zero.question) == ("number", "")
    assert "weight" in zero.reason


def test_replicate_weights_belong_to_the_design():
    weight = rng.uniform(1, 2, N)
    made = {f"repwt{place}": rng.permutation(weight) for place in range(10)}
    kinds = [column.kind for column in kinds_of(pd.DataFrame({"weight": weight, **made}))]
    assert kinds == ["weight", *10 * ["design"]]


def test_numbers_that_may_be_codes_are_asked_for():
    jumping = rng.permutation(np.repeat(np.arange(1, 21), np.tile([90, 10], 10)))
    assert '"levels"' in found("x", jumping).question
    assert not found("x", rng.binomial(20, 0.4, N)).question
    assert found("yrdispl", 1 + np.arange(N) % 10).question


def test_labels_come_before_rules_where_they_are_of_nearly_all_values():
    labels = {code: f"industry {code}" for code in range(1, 31)}
    values = rng.integers(1, 31, N)
    assert found("x", values).kind == "number"
    assert found("x", values, described={"x": Variable(values=labels)}).kind == "levels"
    of_few = {-8: "refused", -7: "unknown", 0: "none"}
    assert found("x", MONEY, described={"x": Variable(values=of_few)}).kind == "number"
    assert found("x", values, described={"x": Variable(type="category")}).kind == "levels"
    assert (
        found("nace", [*values, 7777], described={"nace": Variable(missing=(7777,))}).kind
        == "levels"
    )


def test_names_of_texts_make_codes_of_numbers():
    towns = rng.permutation(np.arange(100, 112) ** 2)
    town = rng.integers(0, 12, N)
    names = pd.Series([f"town {place}" for place in town], name="town")
    assert found("x", towns[town], names).kind == "levels"
    assert found("population", towns[town], names).kind == "number"


def test_a_footer_makes_no_key_and_names_may_occur_twice():
    assert found("region", [*rng.choice(["north", "south", "west"], N), "Total"]).kind == "levels"
    twice = pd.DataFrame(np.column_stack([np.arange(N), MONEY]), columns=["x", "x"])
    assert [column.kind for column in kinds_of(twice)] == ["record id", "number"]


def test_a_study_says_kinds_and_a_kind_that_cannot_be_is_refused():
    stated = found("x", MONEY, stated={"x": "record id"})
    assert (stated.kind, stated.question) == ("record id", "")
    texts = rng.choice(["a", "b", "c"], N)
    for name, kind, values in (
        ("x", "number", texts),
        ("x", "weight", -MONEY),
        ("x", "constant", MONEY),
        ("y", "levels", MONEY),
    ):
        with pytest.raises(InputError, match=r"\[data.kinds\]"):
            found("x", values, stated={name: kind})


def test_no_value_of_a_column_is_in_what_is_told():
    told = repr(
        kinds_of(
            pd.DataFrame(
                {
                    "x": np.r_[MONEY, [-8] * 30],
                    "text": [f"answer {value}" for value in np.r_[MONEY, [-8] * 30]],
                }
            )
        )
    )
    assert "-8" not in told
    assert str(MONEY[0]) not in told
