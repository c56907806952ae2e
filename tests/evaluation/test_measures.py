"""The registry of measures, and the one schema of their tables."""

import io
import re

import numpy as np
import pandas as pd
import pytest

from riskweighted import EvaluationSettings, Scenario, assess, evaluate
from riskweighted.common.errors import InputError
from riskweighted.common.replaced import REPLACED
from riskweighted.evaluation.evaluate import evaluate_world
from riskweighted.evaluation.main_table import direction_of
from riskweighted.evaluation.measure_rows import (
    COLUMNS,
    Statistic,
    as_row,
    as_table,
    by_label,
    distinct,
    statistics_of,
)
from riskweighted.evaluation.thresholds import Limit
from riskweighted.intruder.world import make_world
from riskweighted.measures.measure import Disclosure, Value
from riskweighted.measures.registry import measures
from riskweighted.risk.whack_a_mole_risk import risk_rise, whack_a_mole_records
from riskweighted.tuning.tuning_settings import find_target, loss_of

pytestmark = pytest.mark.quick

scenario = Scenario(known="group", synthetic="income")


@pytest.fixture(scope="module")
def confidential():
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b"], 120)
    return pd.DataFrame(
        {"group": group, "income": np.exp(3 + (group == "b") + rng.normal(size=120))}
    )


@pytest.fixture(scope="module")
def frames(confidential):
    rng = np.random.default_rng(2)
    noises = {"near": 0.1, "far": 1.0}
    return {
        label: [
            confidential.assign(
                income=confidential["income"] * np.exp(noise * rng.normal(size=120))
            )
            for _ in range(3)
        ]
        for label, noise in noises.items()
    }


@pytest.fixture(scope="module")
def result(confidential, frames):
    settings = {
        "regression": "income ~ group",
        "coefficient": "group[T.b]",
        "quantiles": [0.5, 0.25],
        "threshold": 0.4,
        "increase": 0.1,
    }
    return evaluate(
        confidential,
        frames,
        scenario,
        settings=EvaluationSettings(resamples=20, **settings),
        baseline="far",
        random_seed=0,
    )


@pytest.fixture(scope="module")
def assessment(confidential, frames):
    return assess(confidential, frames["near"], scenario)


def test_every_measure_says_all_that_it_must():
    assert len(measures()) > 30
    for key, measure in measures().items():
        assert key == measure.key == key.lower().strip()
        assert " " not in key
        assert all(
            (measure.label, measure.definition, measure.source, measure.direction, measure.kind)
        ), key
    labels = [measure.label for measure in measures().values()]
    assert len(set(labels)) == len(labels)
    extremes = {
        key
        for key, measure in measures().items()
        if measure.kind == "extreme" and measure.disclosure is not None
    }
    left_out = {
        key for key, measure in measures().items() if measure.disclosure is Disclosure.LEFT_OUT
    }
    compared = {
        key for key, measure in measures().items() if measure.disclosure is Disclosure.COMPARED
    }
    assert left_out <= extremes <= left_out | compared  # of which whether it fits may leave
    assert {"maximum-risk", "influence-lipschitz", "influence-range"} <= left_out


GONE = REPLACED["measure"]


@pytest.mark.parametrize("key", GONE)
def test_a_measure_that_is_gone_says_what_to_write(key):
    assert key not in measures()
    written = re.findall(r"'([a-z0-9-]+)'", GONE[key].partition("write ")[2])
    assert set(written) <= set(measures())
    for refuse in (
        lambda: Limit(key, at_most=1),
        lambda: find_target(key),
        lambda: loss_of(key, None, None),
    ):
        with pytest.raises(InputError) as refused:
            refuse()
        assert GONE[key] in str(refused.value)


def test_evaluate_and_assess_share_one_schema(result, assessment):
    for table in (result.risk, result.utility, assessment.measures[list(COLUMNS)]):
        assert tuple(table.columns) == COLUMNS
        assert all(statistic.unregistered is None for statistic in statistics_of(table))
        assert not table.duplicated(["label", "key", "variable", "parameter", "term"]).any()
    assert list(assessment.measures["release"]) == list(assessment.measures["label"])
    assert set(assessment.measures["key"]) >= {
        "mean-risk",
        "expected-match",
        "dcap-zero",
        "copied-records",
        "gap-attack",
    }


def test_parameters_stand_in_columns_of_their_own(result):
    found = set(distinct(pd.concat([result.risk.dropna(axis=1, how="all"), result.utility])))
    assert {
        Statistic("records-over", parameter=0.4),
        Statistic("whack-a-mole", parameter=0.1),
        Statistic("quantile", "income", 0.5),
        Statistic("quantile", "income", 0.25),
        Statistic("coefficient", "income", term="group[T.b]"),
    } <= found
    assert Statistic("quantile", "income", 0.5).name == "median of income"
    assert Statistic("quantile", "income", 0.25).name == "0.25 quantile of income"


def test_tables_are_read_back_from_a_file_as_the_same_statistics(result):
    for table in (result.risk, result.utility):
        again = pd.read_csv(io.StringIO(table.to_csv(index=False)))
        assert statistics_of(again) == statistics_of(table)


@pytest.mark.parametrize(
    "change",
    [
        {"key": "nope"},
        {"key": None},
        {"measure": "risk of record 17"},
        {"parameter": None},
        {"parameter": 0.7},
        {"parameter": "high"},
        {"term": "x"},
    ],
)
def test_a_row_is_a_measure_s_only_if_all_of_it_agrees(change):
    row = as_row("a", Value(measures()["records-over"], 3.0, parameter=0.5))
    (found,) = statistics_of(pd.DataFrame([row | change]))
    assert found.unregistered is not None
    assert found.measure.disclosure is None
    assert statistics_of(pd.DataFrame([row])) == [Statistic("records-over", parameter=0.5)]


def test_the_summary_knows_what_its_columns_are(result):
    columns, summary = result.columns(), result.summary()
    assert [column.name for column in columns] == list(summary.columns)
    assert [column.name for column in columns[:6]] == [
        "expected match risk",
        "risk of isolated records",
        "mean risk",
        "maximum risk",
        "records over 0.4",
        "whack-a-mole records",
    ]
    overlap = next(
        column for column in columns if column.overlap and column.statistic.key == "coefficient"
    )
    assert overlap.name == "coefficient group[T.b] of income: overlap"
    expected = by_label(result.utility, overlap.statistic, "overlap")
    pd.testing.assert_series_equal(
        summary[overlap.name], expected.reindex(summary.index), check_names=False
    )


def test_a_column_s_direction_is_known_from_its_name_alone(result):
    for column in result.columns():
        if column.measure.direction in ("more useful", "less useful"):
            assert direction_of(column.name) == column.measure.direction
    assert direction_of("U_million of income") is None
    assert direction_of("nope") is None


def test_whack_a_mole_by_hand():
    risk, baseline = np.array([0.5, 0.5, 0.9, 0.0]), np.array([0.25, 0.5, 0.1, 1.0])
    # a rise of exactly the limit counts
    assert whack_a_mole_records(risk, baseline).tolist() == [True, False, True, False]
    assert whack_a_mole_records(risk, baseline, 0.5).tolist() == [False, False, True, False]
    assert risk_rise(risk, baseline).tolist() == [0.25, 0.0, 0.8, -1.0]


def test_a_baseline_may_be_given_as_the_risk_of_its_records(confidential, frames, result):
    settings = EvaluationSettings(resamples=20, increase=0.1)
    world = make_world(confidential, scenario)
    given = evaluate_world(
        world,
        {"near": frames["near"]},
        settings,
        None,
        baseline="far",
        baseline_risk=result.records["far"],
        random_seed=0,
    )
    for statistic in (Statistic("whack-a-mole", parameter=0.1),):
        assert (
            by_label(given.risk, statistic)["near"] == by_label(result.risk, statistic)["near"] > 0
        )
    with pytest.raises(InputError, match="name it in baseline"):
        evaluate_world(
            world, frames, settings, None, baseline="far", baseline_risk=result.records["far"]
        )
    with pytest.raises(InputError, match="each of the 120 records, got 119"):
        evaluate_world(
            world,
            frames,
            settings,
            None,
            baseline="other",
            baseline_risk=result.records["far"].iloc[1:],
        )


def test_rows_fit_the_schema_whatever_they_hold():
    assert tuple(as_table([]).columns) == COLUMNS
    row = as_row("a", Value(measures()["mean"], 1.0, "y", interval=(0.0, 2.0), rule="r"))
    table = as_table([row])
    assert table.loc[
        0, ["label", "key", "measure", "variable", "value", "lower", "upper", "rule", "higher_is"]
    ].tolist() == [
        *("a", "mean", "mean", "y", 1.0, 0.0, 2.0, "r", "neither"),
    ]
