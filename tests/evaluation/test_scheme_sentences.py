"""The sentences of a run are made of its numbers."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from handmade import given_fit

import riskweighted as rw
from riskweighted.common.numbers import format_column
from riskweighted.evaluation.measure_rows import Statistic, by_label
from riskweighted.evaluation.scheme_sentences import _change, scheme_sentences

N = 90
SCENARIO = rw.Scenario(synthetic="jobs", radius=0.2)


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(1)
    confidential = pd.DataFrame({"jobs": rng.negative_binomial(5, 5 / 55, N)})
    fits = {
        "unweighted": given_fit(confidential),
        "lower": given_fit(confidential, 0.1, spread=0.1),
    }
    synthetic = {label: fit.synthesize(4, random_seed=1) for label, fit in fits.items()}
    return rw.evaluate(
        confidential,
        synthetic,
        SCENARIO,
        settings=rw.EvaluationSettings(resamples=10),
        baseline="unweighted",
        fits=fits,
        random_seed=0,
    )


def test_every_number_is_the_run_s(result):
    first, second = scheme_sentences(result, "unweighted")
    mean = by_label(result.risk, Statistic("expected-mean-risk"))
    assert first.startswith("Weights do not change average identification risk")
    assert all(f"{label} {mean[label]:.3f} ± " in first for label in ("unweighted", "lower"))
    isolated = by_label(result.risk, Statistic("expected-isolated-risk"))
    change = 100 * abs(isolated["lower"] / isolated["unweighted"] - 1)
    which = "lower" if isolated["lower"] < isolated["unweighted"] else "higher"
    assert f"lower: isolated records' expected risk {change:.0f} ± " in second
    assert f" % {which} ({isolated['lower']:.3f} ± " in second
    delta = by_label(result.risk, Statistic("influence-lipschitz"))
    assert (
        f"{delta['unweighted'] / delta['lower']:.1f} times less (Delta "
        f"{' for '.join(format_column(delta[['lower', 'unweighted']]))})" in second
    )
    distance = by_label(result.utility, Statistic("ecdf-maximum", "jobs"))
    assert f"U_m of jobs {distance['lower']:.3f} for {distance['unweighted']:.3f}" in second
    assert "0.9 quantile of jobs" in second


def test_nothing_is_said_without_fits_or_a_baseline(result):
    assert scheme_sentences(result, "another") == []
    synthetic = {"unweighted": [pd.DataFrame({"jobs": np.arange(N)})]}
    plain = rw.evaluate(
        pd.DataFrame({"jobs": np.arange(N)}),
        synthetic,
        SCENARIO,
        settings=rw.EvaluationSettings(resamples=10),
    )
    assert scheme_sentences(plain, "unweighted") == []


def test_no_direction_is_told_that_the_numbers_do_not_show(result):
    """Of a mean that is as uncertain as it moved, of an isolated risk within its error, and of the
    same influence.
    """
    risk = result.risk.copy()
    for key, moved, error in (
        ("expected-mean-risk", 0.03, 0.03),
        ("expected-isolated-risk", 0.001, 0.001),
        ("influence-lipschitz", 0, 0),
    ):
        of_key = risk["key"] == key
        (before,) = risk.loc[of_key & (risk["label"] == "unweighted"), "value"].unique()
        risk.loc[of_key & (risk["label"] == "lower"), "value"] = before + moved
        risk.loc[of_key & risk["label"].isin(["lower", "unweighted"]), "error"] = error
    first, second = scheme_sentences(dataclasses.replace(result, risk=risk), "unweighted")
    assert first.startswith("Weights do not change average identification risk")
    assert "isolated records' expected risk not changed beyond its error" in second
    assert "influence of any one record as before" in second


@pytest.mark.quick
def test_a_quantile_that_stays_is_neither_lower_nor_higher():
    assert [_change(share) for share in (1.0, 1.004, 0.996, 0.95, 1.05)] == ["as before"] * 3 + [
        "5% lower",
        "5% higher",
    ]
