"""Rows of an evaluation of several variables: tables, the file, each variable alone."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.errors import InputError, SingletonWarning
from riskweighted.evaluation.measure_rows import (
    COLUMNS,
    Statistic,
    by_label,
    distinct,
    statistics_of,
)
from riskweighted.intruder.world import make_world
from riskweighted.measures import cross_tables
from riskweighted.measures.cross_tables import table_columns
from riskweighted.measures.measure import Disclosure
from riskweighted.measures.registry import measures
from tests.tools.propensity import file_propensity

SYNTHETIC = ("job", "income", "kids")
scenario = rw.Scenario(
    known="sex",
    synthetic=SYNTHETIC,
    radius={"income": 0.2, "kids": 0.5},
    radius_kind={"kids": "absolute"},
    singletons="protect",
)

OF_SEVERAL = {
    *(one.key for one in measures().values() if one.compute is cross_tables.select_pairs),
    *("expected-match", "isolated-risk"),
}


def people(n=150, seed=1):
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 70, n)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": age,
            "job": pd.Categorical(rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])),
            "income": np.round(rng.lognormal(7, 0.5, n)),
            "kids": rng.poisson(1.2, n),
        },
        index=[f"r{i}" for i in range(n)],
    )


def bootstrapped(data, seed):
    """The synthetic columns of other records, within each sex."""
    rng = np.random.default_rng(seed)
    chosen = data.groupby("sex")["age"].transform(lambda rows: rng.choice(len(rows), len(rows)))
    places = {sex: np.flatnonzero(data["sex"] == sex) for sex in data["sex"].unique()}
    rows = np.array([places[sex][place] for sex, place in zip(data["sex"], chosen, strict=True)])
    return data.assign(**{name: data[name].array[rows] for name in SYNTHETIC})


@pytest.fixture(scope="module")
def data():
    return people()


@pytest.fixture(scope="module")
def frames(data):
    return {
        label: [bootstrapped(data, 10 * place + seed) for seed in range(3)]
        for place, label in enumerate(["unweighted", "pairwise"])
    }


@pytest.fixture(scope="module")
def result(data, frames):
    return rw.evaluate(
        data,
        frames,
        scenario,
        settings=rw.EvaluationSettings(resamples=20),
        baseline="unweighted",
        unaltered=["sex", "age"],
        random_seed=0,
    )


def test_tables_are_those_of_table_utility(data, frames, result):
    for label, datasets in frames.items():
        one = rw.table_utility(data, datasets, SYNTHETIC, 1).set_index("variables")["s_pmse"]
        for name in SYNTHETIC:
            assert by_label(result.utility, Statistic("one-way-table", name))[
                label
            ] == pytest.approx(one[name])
        two = rw.table_utility(
            data, datasets, [*SYNTHETIC, "sex", "age"], 2, synthesized=SYNTHETIC
        ).set_index("variables")["s_pmse"]
        pairs = [one for one in distinct(result.utility) if one.key == "two-way-table"]
        assert len(pairs) == len(two) == 3 + 6
        for pair in pairs:
            assert by_label(result.utility, pair)[label] == pytest.approx(
                two[f"{pair.variable}, {pair.term}"]
            )
        assert by_label(result.utility, Statistic("two-way-mean"))[label] == pytest.approx(
            two.mean()
        )


def test_the_file_is_judged_on_all_its_columns(data, frames, result):
    for label, datasets in frames.items():
        found = file_propensity(data, datasets, [*SYNTHETIC, "sex", "age"], SYNTHETIC)
        expected = np.mean([one.ratio for one in found])
        assert by_label(result.utility, Statistic("file-propensity"))[label] == pytest.approx(
            expected
        )


def test_each_variable_s_risk_alone_is_that_of_a_scenario_with_it_alone(data, frames, result):
    alone = {
        "job": rw.Scenario(known="sex", synthetic="job"),
        "income": rw.Scenario(known="sex", synthetic="income"),
        "kids": rw.Scenario(known="sex", synthetic="kids", radius=0.5, radius_kind="absolute"),
    }
    for name, own in alone.items():
        confidential = rw.identification_risk(data, scenario=own)
        # ceil(.05 * 150) = 8, with ties
        isolated = confidential >= confidential.sort_values().iloc[-8]
        mean, most = (
            by_label(result.risk, Statistic(key, name)) for key in ("mean-risk", "isolated-risk")
        )
        assert mean["confidential"] == pytest.approx(confidential.mean())
        assert most["confidential"] == pytest.approx(confidential[isolated].mean())
        for label, datasets in frames.items():
            risk = rw.identification_risk(data, datasets, own)
            assert mean[label] == pytest.approx(risk.mean())
            assert most[label] == pytest.approx(risk[isolated].mean())


def test_joint_rows_stay_and_match_risk_is_of_all_variables_together(data, frames, result):
    isolated = (
        result.records["confidential"] >= result.records["confidential"].sort_values().iloc[-8]
    )
    for label, datasets in {"confidential": [data], **frames}.items():
        joint = (
            rw.identification_risk(data, datasets, scenario)
            if label in frames
            else rw.identification_risk(data, scenario=scenario)
        )
        assert by_label(result.risk, Statistic("mean-risk"))[label] == pytest.approx(joint.mean())
        assert by_label(result.risk, Statistic("isolated-risk"))[label] == pytest.approx(
            joint[isolated].mean()
        )
        expected = rw.matching_risk(data, datasets, scenario).expected_match_risk
        assert by_label(result.risk, Statistic("expected-match"))[label] == pytest.approx(expected)


def test_worked_by_hand():
    """Four records, one pattern: y = 1, 1, 5, 5 and c = x, y, x, y; the released file swaps the y
    of records 1 and 3.

    y alone, balls of 1: released 5, 1, 1, 5. Records 2 and 4 kept theirs, and 2 of the 4 released
    values lie outside: risk 1/2 each, mean 1/4. c alone is as it was: half of the file has another
    level, risk 1/2 for all. Together: record 2 (1, y) finds one such record, itself, and so does
    record 4; 1 and 3 find each other's, not themselves. Match risk 2, mean risk 2 (3/4) / 4 = 3/8.
    """
    data = pd.DataFrame({"y": [1.0, 1.0, 5.0, 5.0], "c": ["x", "y", "x", "y"]})
    both = rw.Scenario(synthetic=("y", "c"), radius=1, radius_kind="absolute")
    found = rw.evaluate(
        data,
        {"swapped": [data.assign(y=[5.0, 1.0, 1.0, 5.0])]},
        both,
        settings=rw.EvaluationSettings(resamples=5),
        random_seed=0,
    )
    values = {
        statistic: by_label(found.risk, statistic)["swapped"] for statistic in distinct(found.risk)
    }
    assert values[Statistic("mean-risk", "y")] == 0.25
    assert values[Statistic("mean-risk", "c")] == 0.5
    assert values[Statistic("expected-match")] == 2
    assert values[Statistic("mean-risk")] == 0.375
    assert by_label(found.risk, Statistic("expected-match"))["confidential"] == 4
    utility = {
        statistic: by_label(found.utility, statistic)["swapped"]
        for statistic in distinct(found.utility)
    }
    # The margins are as they were. Together 4 cells of one record in either file too: nothing tells
    # the files apart.
    tables = [Statistic("one-way-table", "y"), Statistic("two-way-table", "y", term="c")]
    assert [utility[table] for table in tables] == [0, 0]
    assert utility[Statistic("file-propensity")] == pytest.approx(0, abs=1e-12)


def test_one_variable_gives_no_such_row(data, frames):
    one = rw.Scenario(known="sex", synthetic="income")
    found = rw.evaluate(
        data,
        frames,
        one,
        settings=rw.EvaluationSettings(resamples=5),
        baseline="unweighted",
        unaltered=["age"],
        random_seed=0,
    )
    assert not OF_SEVERAL & {*found.utility["key"]}
    assert found.risk.loc[found.risk["key"] == "mean-risk", "variable"].isna().all()


def test_rows_keep_the_schema_and_stand_in_their_tables(result):
    for table in (result.risk, result.utility):
        assert tuple(table.columns) == COLUMNS
        assert not table.duplicated(["label", "key", "variable", "parameter", "term"]).any()
        statistics = statistics_of(table)
        assert all(one.unregistered is None for one in statistics)
        assert {one.of_utility for one in statistics} == {table is result.utility}
        assert statistics_of(pd.read_csv(io.StringIO(table.to_csv(index=False)))) == statistics
    assert {*result.risk["key"], *result.utility["key"]} >= OF_SEVERAL
    assert all(
        measures()[key].disclosure in (Disclosure.THREE_DIGITS, Disclosure.THREE_DECIMALS)
        for key in OF_SEVERAL
    )


def test_the_main_table_has_the_file_s_figures_and_no_row_of_a_pair(result):
    summary = result.summary()
    shown = [
        "expected match risk",
        "risk of isolated records",
        "mean two-way S_pMSE",
        "two-way total variation",
    ]
    assert set(summary.columns) >= {*shown, "pMSE ratio of the file"}
    assert not [name for name in summary.columns if "two-way S_pMSE with" in name]
    assert not [name for name in summary.columns if name.startswith("mean risk of")]
    expected = by_label(result.utility, Statistic("two-way-mean"))
    pd.testing.assert_series_equal(
        summary["mean two-way S_pMSE"].dropna(), expected, check_names=False
    )
    assert np.isnan(summary.loc["confidential", "mean two-way S_pMSE"])
    assert (
        summary.loc["confidential", "expected match risk"]
        > summary.loc["pairwise", "expected match risk"]
    )


def test_codes_are_counted_by_level():
    data = people().assign(job=lambda frame: frame["job"].cat.codes * 10 + np.arange(150) % 7)
    released = data.assign(
        job=np.random.default_rng(1).permutation(data["job"]),
        income=data["income"].to_numpy()[::-1],
    )
    coded = rw.Scenario(synthetic=("job", "income"), categorical="job")
    found = rw.evaluate(
        data,
        {"a": [released]},
        coded,
        settings=rw.EvaluationSettings(resamples=5),
        unaltered=["sex"],
        random_seed=0,
    )
    text = rw.table_utility(
        data.astype({"job": str}),
        released.astype({"job": str}),
        ["job", "sex"],
        2,
        synthesized=["job"],
    )
    assert by_label(found.utility, Statistic("two-way-table", "job", term="sex"))[
        "a"
    ] == pytest.approx(text["s_pmse"][0])


def test_which_unaltered_columns_are_crossed():
    data = people().assign(
        name=[f"n{i}" for i in range(150)],
        born=pd.Timestamp("2000-01-01"),
        country="x",
        empty=np.nan,
        far=[np.inf, *range(149)],
        kids=people()["kids"],
    )
    world = make_world(data, scenario)
    assert table_columns(world, None) == ("sex",)
    assert table_columns(
        world, ["name", "born", "country", "empty", "far", "age", "kids", "sex"]
    ) == ("age", "sex")


def test_gaps_in_unaltered_columns_are_a_group(data, frames):
    gaps = data.assign(age=data["age"].where(data["age"] > 30))
    released = {"a": [frame.assign(age=gaps["age"]) for frame in frames["pairwise"]]}
    found = rw.evaluate(
        gaps,
        released,
        scenario,
        settings=rw.EvaluationSettings(resamples=5),
        unaltered=["age"],
        random_seed=0,
    )
    assert np.isfinite(by_label(found.utility, Statistic("two-way-table", "job", term="age"))["a"])


def test_a_variable_with_one_value_has_no_table_of_its_own(data, frames):
    same = data.assign(job="a")
    released = {"a": [frame.assign(job="a") for frame in frames["pairwise"]]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = rw.evaluate(
            same, released, scenario, settings=rw.EvaluationSettings(resamples=5), random_seed=0
        )
    assert np.isnan(by_label(found.utility, Statistic("one-way-table", "job"))["a"])
    assert np.isfinite(by_label(found.utility, Statistic("two-way-mean"))["a"])


def test_singletons_are_warned_of_as_before(data, frames):
    alone = data.assign(sex=["z", *data["sex"][1:]])
    released = {"a": [frame.assign(sex=alone["sex"]) for frame in frames["pairwise"]]}
    with pytest.warns(SingletonWarning) as caught:
        found = rw.evaluate(
            alone, released, scenario, settings=rw.EvaluationSettings(resamples=5), random_seed=0
        )
    assert len(caught) == 1
    assert by_label(found.risk, Statistic("isolated-risk", "income"))["confidential"] <= 1


@pytest.mark.parametrize(
    ("unaltered", "message"),
    [(["nope"], "no column 'nope'"), (["sex", "sex"], "more than once"), (3, "unaltered must be")],
)
def test_refuses_unaltered(data, frames, unaltered, message):
    with pytest.raises(InputError, match=message):
        rw.evaluate(data, frames, scenario, unaltered=unaltered)


def test_refuses_what_was_altered_or_is_not_there(data, frames):
    other = {"a": [frame.assign(age=frame["age"] + 1) for frame in frames["pairwise"]]}
    with pytest.raises(InputError, match="'age'"):
        rw.evaluate(
            data, other, scenario, settings=rw.EvaluationSettings(resamples=5), unaltered=["age"]
        )
    absent = {"a": [frame.drop(columns="age") for frame in frames["pairwise"]]}
    with pytest.raises(InputError, match="no column 'age'"):
        rw.evaluate(
            data, absent, scenario, settings=rw.EvaluationSettings(resamples=5), unaltered=["age"]
        )
