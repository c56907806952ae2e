"""Thresholds are read, shared and refused as they should be, and each is held against the right
numbers.
"""

import numpy as np
import pandas as pd
import pytest

from riskweighted.common.errors import InputError
from riskweighted.common.settings import as_toml, read_toml, to_table
from riskweighted.evaluation.fit_check import MODEL
from riskweighted.evaluation.measure_rows import Statistic, as_row, as_table
from riskweighted.evaluation.thresholds import Limit, Thresholds
from riskweighted.evaluation.verdicts import (
    FAIL,
    NOT_JUDGED,
    PASS,
    WARN,
    find_verdicts,
    overall,
    verdict_table,
)
from riskweighted.measures.measure import Value

pytestmark = pytest.mark.quick


def thresholds(**limits):
    return Thresholds.from_table(
        {name.replace("_", "-"): value for name, value in limits.items()}, "thresholds"
    )


def rows(key, values, errors=(np.nan, np.nan), **which):
    statistic = Statistic(key, **which)
    return [
        as_row(label, Value(statistic.measure, value, *statistic[1:4], error=error))
        for label, value, error in zip("ab", values, errors, strict=True)
    ]


def tables(risk=(), utility=(), *, converged=("yes", "yes"), fits=("yes", None), checks=()):
    summary = pd.DataFrame(
        {
            "label": ["confidential", "a", "b"],
            "model fits": [None, *fits],
            "mean weight": [np.nan, 1.0, 0.4],
            "largest R-hat": [np.nan, 1.0, 1.1],
        }
    ).assign(converged=[np.nan, *converged])
    check = pd.DataFrame(
        [("a", MODEL, "", 1.0, "fits"), *checks],
        columns=["label", "check", "parameter", "effect", "verdict"],
    )
    return {
        "summary": summary,
        "risk": as_table(risk),
        "utility": as_table(utility),
        "fit_check": check,
    }


def verdicts_of(found):
    return {(one.label, one.statistic.key): one.verdict for one in found if one.limit is not None}


def test_each_limit_is_held_against_every_statistic_of_its_measure():
    risk = [
        *rows("expected-isolated-risk", (0.05, 0.051), (0.001, 0.001)),
        *rows("records-riskier", (3, 0), parameter=0.1),
    ]
    utility = [
        *rows("ecdf-maximum", (0.1, 0.3), variable="x"),
        *rows("ecdf-maximum", (0.05, 0.01), variable="y"),
    ]
    asked = Thresholds.from_table(
        {
            "expected-isolated-risk": 0.05,
            "records-riskier(0.1)": 0,
            "ecdf-maximum": 0.2,
            "ecdf-maximum(y)": {"at_most": 0.02},
        },
        "thresholds",
    )
    found = find_verdicts(asked, tables(risk, utility))
    by = {
        (one.label, one.statistic.key, one.statistic.variable, one.limit.name): one.verdict
        for one in found
        if one.limit
    }
    # the limit itself is kept
    assert by["a", "expected-isolated-risk", None, "expected-isolated-risk"] == PASS
    assert by["b", "expected-isolated-risk", None, "expected-isolated-risk"] == FAIL
    assert (
        by["a", "records-riskier", None, "records-riskier(0.1)"],
        by["b", "records-riskier", None, "records-riskier(0.1)"],
    ) == (FAIL, PASS)
    assert (
        by["b", "ecdf-maximum", "x", "ecdf-maximum"],
        by["b", "ecdf-maximum", "y", "ecdf-maximum"],
    ) == (FAIL, PASS)
    assert (
        by["a", "ecdf-maximum", "y", "ecdf-maximum(y)"],
        by["b", "ecdf-maximum", "y", "ecdf-maximum(y)"],
    ) == (FAIL, PASS)
    assert ("a", "ecdf-maximum", "x", "ecdf-maximum(y)") not in by
    assert [one.close for one in found if one.statistic.key == "expected-isolated-risk"] == [
        True,
        True,
    ]
    assert (overall(found, "a"), overall(found, "b")) == (FAIL, FAIL)


def test_overlaps_weights_chains_and_effects():
    utility = [
        row | {"overlap": value}
        for row, value in zip(rows("mean", (1.0, 1.0), variable="x"), (0.9, 0.2), strict=True)
    ]
    checks = [
        ("a", "check-sd", "", 0.05, "fits"),
        ("b", "check-sd", "", 0.7, "cost"),
        ("a", "check-quantile", "0.99", 0.3, "misfits"),
    ]
    asked = thresholds(
        overlap=0.5, mean_weight={"at_least": 0.5}, r_hat=1.02, check_sd=0.5, check_quantile=0.2
    )
    found = verdicts_of(find_verdicts(asked, tables(utility=utility, checks=checks)))
    assert [
        found["a", key] for key in ("overlap", "mean-weight", "r-hat", "check-sd", "check-quantile")
    ] == [PASS, PASS, PASS, PASS, FAIL]
    assert [found["b", key] for key in ("overlap", "mean-weight", "r-hat", "check-sd")] == [
        FAIL
    ] * 4
    assert found["b", "check-quantile"] == NOT_JUDGED


def test_what_no_run_measured_does_not_pass_and_a_baseline_has_no_fit():
    found = find_verdicts(
        thresholds(expected_mean_risk=0.5, check_sd=0.1), tables(converged=("yes", np.nan))
    )
    assert overall(found, "a") == NOT_JUDGED
    assert [one.statistic.key for one in found if one.label == "b"] == ["expected-mean-risk"]


@pytest.mark.parametrize(
    ("converged", "fits", "label", "key"),
    [("NO", "yes", "a", "converged"), ("yes", "NO", "b", "fits")],
)
def test_a_fit_that_fails_fails_its_schemes_whatever_the_thresholds(converged, fits, label, key):
    """One that did not converge fails itself, a model that misfits every scheme."""
    found = find_verdicts(Thresholds(), tables(converged=(converged, "yes"), fits=(fits, None)))
    assert overall(found, label) == FAIL
    assert [one.statistic.key for one in found if one.label == label and one.verdict == FAIL] == [
        key
    ]
    assert overall(find_verdicts(Thresholds(), tables()), "a") == PASS


def test_the_table_holds_every_verdict():
    found = find_verdicts(
        thresholds(expected_mean_risk=0.5),
        tables(rows("expected-mean-risk", (0.2, 0.6), (0.01, 0.02))),
    )
    table = verdict_table(found)
    assert list(table["verdict"]) == [PASS, PASS, PASS, PASS, PASS, FAIL]
    np.testing.assert_array_equal(table["value"].dropna(), [0.2, 0.6])
    np.testing.assert_array_equal(table["at_most"].dropna(), [0.5, 0.5])


def test_a_policy_is_read_beside_the_study_and_the_study_goes_before(tmp_path):
    (tmp_path / "policy.toml").write_text(
        'source = "the board"\nexpected-mean-risk = 0.3\nr-hat = 1.01\n'
    )
    read = Thresholds.from_table(
        {"policy": "policy.toml", "expected-mean-risk": 0.2}, "thresholds"
    ).with_policy(tmp_path)
    assert {limit.name: limit.at_most for limit in read.limits} == {
        "r-hat": 1.01,
        "expected-mean-risk": 0.2,
    }
    assert (read.source, read.policy) == ("the board", None)
    (tmp_path / "again.toml").write_text(as_toml(to_table(read)))
    assert Thresholds.from_table(read_toml(tmp_path / "again.toml", "policy"), "thresholds") == read
    (tmp_path / "two.toml").write_text('policy = "policy.toml"\n')
    with pytest.raises(InputError, match="names another policy"):
        Thresholds(policy="two.toml").with_policy(tmp_path)
    with pytest.raises(InputError, match="there is no policy file"):
        Thresholds(policy="none.toml").with_policy(tmp_path)


def test_the_example_policy_comes_with_the_package():
    read = Thresholds.from_table({"policy": "example"}, "thresholds")
    assert read.policy is None
    assert Limit("expected-isolated-risk", at_most=0.1) in read.limits


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ({"nope": 1}, "'nope' is no measure; valid are 'disclosure'"),
        ({"Mean risk": 1}, "is no measure"),
        ({"converged": 1}, "judged of every run"),
        ({"mean": 1}, "no harmful side"),
        ({"mean-risk": "low"}, "must be a number, got 'low'"),
        ({"mean-risk": {}}, "needs at_most or at_least"),
        ({"mean-risk": {"below": 1}}, "takes 'at_most', 'at_least', got 'below'"),
        ({"mean-risk": {"at_most": 1, "at_least": 2}}, "must not exceed"),
        ({"source": 3}, "source must be text"),
        ({"policy": 3}, "policy must be text"),
    ],
)
def test_wrong_thresholds_are_refused(table, named):
    with pytest.raises(InputError, match=named):
        Thresholds.from_table(table, "thresholds")


@pytest.mark.quick
def test_a_fit_with_some_divergences_is_warned_of_and_says_why():
    given = tables(converged=("warn", "yes"))
    given["convergence"] = pd.DataFrame(
        {"label": ["a", "b"], "converged": ["True", "True"], "divergences": [3, 0], "judged": True}
    )
    found = {
        each.label: each
        for each in find_verdicts(Thresholds(), given)
        if each.statistic.key == "converged"
    }
    assert (found["a"].verdict, found["b"].verdict) == (WARN, PASS)
    assert "3 divergences" in found["a"].why
    assert found["b"].why == ""
