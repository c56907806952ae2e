"""Functions of users' own: combined and compared as regressions are, named and not judged where
they fail.
"""

import functools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import riskweighted as rw
from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.common.fingerprints import code_hash
from riskweighted.evaluation.measure_rows import Statistic, by_label
from riskweighted.evaluation.thresholds import Thresholds
from riskweighted.evaluation.verdicts import NOT_JUDGED, PASS, find_verdicts
from riskweighted.measures.registry import measures
from riskweighted.runs.sections import EvaluatingSettings
from riskweighted.utility.combining_rules import (
    combine_fully_synthetic,
    combine_partially_synthetic,
    interval_overlap,
)

N = 200
SCENARIO = rw.Scenario(known=("region",), synthetic="income")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    age = rng.integers(20, 70, N)
    income = np.round(np.exp(6 + 0.02 * age + 0.4 * rng.normal(size=N)), 1)
    return pd.DataFrame(
        {
            "region": rng.choice(["n", "s"], N),
            "age": age,
            "w": rng.uniform(0.5, 2.0, N),
            "income": income,
        }
    )


@pytest.fixture(scope="module")
def frames(data):
    rng = np.random.default_rng(2)
    return [
        data.assign(income=(data["income"] * np.exp(0.3 * rng.normal(size=N))).round(1))
        for _ in range(4)
    ]


def slope(frame):
    fitted = stats.linregress(frame["age"], frame["income"])
    return {
        "age": (fitted.slope, fitted.stderr**2),
        "Intercept": (fitted.intercept, fitted.intercept_stderr**2),
    }


def as_frame(frame):
    found = slope(frame)
    return pd.DataFrame(found.values(), index=list(found), columns=["estimate", "variance"])


def weighted(frame, weights):
    weights = np.ones(len(frame)) if weights is None else weights
    return {"mean": (np.average(frame["income"], weights=weights), 1.0)}


def evaluated(data, frames, *analyses, **settings):
    settings = rw.EvaluationSettings(analyses=analyses, resamples=10, **settings)
    return rw.evaluate(
        data, {"four": frames, "one": frames[:1]}, SCENARIO, settings=settings, random_seed=1
    ).utility


def row(table, label, term, key="analysis-estimate"):
    found = table[(table["label"] == label) & (table["key"] == key) & (table["term"] == term)]
    assert len(found) == 1
    return found.iloc[0]


@pytest.mark.quick
@pytest.mark.parametrize("analysis", [slope, as_frame], ids=["mapping", "frame"])
def test_estimates_combine_by_the_rule_and_overlap(data, frames, analysis):
    table, name = evaluated(data, frames, analysis), f"{__name__}:{analysis.__qualname__}"
    overlaps = []
    for term in ("age", "Intercept"):
        theirs = combine_partially_synthetic(
            *np.transpose([slope(frame)[term] for frame in frames])
        )
        found = row(table, "four", f"{term} in {name}")
        assert (found["value"], found["lower"], found["upper"]) == pytest.approx(theirs[:3])
        assert found["rule"] == theirs.rule
        value, variance = slope(data)[term]
        own = stats.norm.interval(0.95, value, np.sqrt(variance))
        assert tuple(
            row(table, "confidential", f"{term} in {name}")[["value", "lower", "upper"]]
        ) == pytest.approx((value, *own))
        overlaps.append(interval_overlap(own, theirs[1:3]))
        assert found["overlap"] == pytest.approx(overlaps[-1])
        assert "too short" in row(table, "one", f"{term} in {name}")["rule"]
    mean = by_label(table, Statistic("analysis-overlap", term=name))
    assert mean["four"] == pytest.approx(np.mean(overlaps))
    assert list(mean.index) == ["four", "one"]


def test_an_analysis_comes_to_what_the_same_regression_comes_to(data, frames):
    table = evaluated(data, frames, slope, regressions=["income ~ age"])
    ours = row(table, "four", "age in income ~ age", "analysis-estimate")
    theirs = row(table, "four", f"age in {__name__}:slope")
    assert tuple(theirs[["value", "lower", "upper"]]) == pytest.approx(
        tuple(ours[["value", "lower", "upper"]])
    )
    # t with 198 degrees of freedom there
    assert theirs["overlap"] == pytest.approx(ours["overlap"], abs=0.01)


def counted(frame):
    return {"records": (len(frame), 0.0), **slope(frame)}


class Huge(dict):
    def items(self):
        raise RuntimeError("42.5 is the income of somebody")


@pytest.mark.quick
def test_an_exact_estimate_has_no_overlap_and_the_others_are_judged(data, frames):
    table = evaluated(data, frames, counted, slope)
    mean = {
        name: by_label(table, Statistic("analysis-overlap", term=f"{__name__}:{name}"))
        for name in ("counted", "slope")
    }
    pd.testing.assert_series_equal(mean["counted"], mean["slope"])
    assert mean["counted"].notna().all()


@pytest.mark.parametrize(
    "given", [{"n": (10**400, 1.0)}, Huge(n=(1.0, 1.0))], ids=["overflow", "own mapping"]
)
def test_whatever_a_result_raises_is_not_told(data, frames, given):
    with pytest.warns(RiskWeightedWarning) as told:
        evaluated(data, frames, lambda frame: given)
    assert "42.5" not in " ".join(str(each.message) for each in told)


def test_weights_are_given_to_a_function_that_takes_them(data, frames):
    found = {
        survey: row(
            evaluated(data, frames, weighted, survey=survey), "four", f"mean in {__name__}:weighted"
        )["value"]
        for survey in ("w", None)
    }
    assert found["w"] == pytest.approx(
        np.mean([np.average(frame["income"], weights=data["w"]) for frame in frames])
    )
    assert found[None] == pytest.approx(np.mean([frame["income"].mean() for frame in frames]))


def test_a_function_may_change_its_frame_print_and_warn(data, frames, capsys, recwarn):
    def untidy(frame):
        frame["income"] = frame.pop("income") + 1
        print(frame["income"].iloc[0])
        np.log(np.array(-1.0))
        return {"mean": (frame["income"].mean(), 1.0)}

    table = evaluated(data, frames, untidy)
    term = next(text for text in table["term"].dropna() if text.startswith("mean in "))
    assert row(table, "confidential", term)["value"] == pytest.approx(data["income"].mean() + 1)
    assert capsys.readouterr().out == ""
    assert not recwarn.list


FAULTS = {
    "raises": lambda frame: 1 / 0,
    "leaves": lambda frame: (_ for _ in ()).throw(SystemExit("secret 123")),
    "nan": lambda frame: {"a": (np.nan, 1.0)},
    "negative": lambda frame: {"a": (1.0, -1.0), "b": (1.0, 1.0)},
    "no names": lambda frame: [1.0, 2.0],
    "text": lambda frame: {"a": ("one", 1.0)},
    "single": lambda frame: {"a": 1.0},
    "numbered": lambda frame: {1: (1.0, 1.0)},
    "empty": lambda frame: {},
    "columns": lambda frame: pd.DataFrame({"value": [1.0]}, index=["a"]),
    "no arguments": lambda: {"a": (1.0, 1.0)},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_function_that_fails_is_named_and_not_judged_and_the_rest_goes_on(data, frames, fault):
    broken = FAULTS[fault]
    broken.__qualname__ = "broken"
    with pytest.warns(
        RiskWeightedWarning,
        match=r"the analysis '.*:broken' .* on the confidential data: it is not judged",
    ) as caught:
        table = evaluated(data, frames, broken, slope)
    assert "secret" not in str(caught[0].message)
    mean = by_label(table, Statistic("analysis-overlap", term=f"{__name__}:broken"))
    assert mean.isna().all()
    assert list(mean.index) == ["four", "one"]
    assert row(table, "four", f"{__name__}:broken", "analysis-overlap")["rule"].startswith(
        "not judged: "
    )
    assert by_label(table, Statistic("analysis-overlap", term=f"{__name__}:slope")).notna().all()


@pytest.mark.parametrize(
    ("there", "why"),
    [
        (lambda frame: 1 / 0, "raised ZeroDivisionError in 1 of 4 datasets of 'four'"),
        (
            lambda frame: {"other": (1.0, 1.0)},
            "gave other names than for the confidential data in 1 of 4 datasets of 'four'",
        ),
        (
            lambda frame: {"mean": (np.inf, 1.0)},
            "gave a variance below 0, or no finite number, in 1 of 4 datasets of 'four'",
        ),
    ],
    ids=["raises", "other names", "infinite"],
)
def test_one_dataset_on_which_it_fails_is_enough(data, frames, there, why):
    odd = frames[2]["income"].sum()

    def now_and_then(frame):
        return (
            there(frame)
            if frame["income"].sum() == odd
            else {"mean": (frame["income"].mean(), 1.0)}
        )

    with pytest.warns(RiskWeightedWarning, match="now_and_then") as caught:
        table = evaluated(data, frames, now_and_then)
    assert [why in str(each.message) for each in caught] == [True]
    name = next(
        text for text in table["term"].dropna() if text.startswith("mean in ")
    ).removeprefix("mean in ")
    assert np.isnan(row(table, "four", f"mean in {name}")["value"])
    assert row(table, "four", f"mean in {name}")["rule"].startswith("not judged: ")
    mean = by_label(table, Statistic("analysis-overlap", term=name))
    assert np.isnan(mean["four"])
    assert 0 <= mean["one"] <= 1


def test_a_threshold_does_not_pass_what_is_not_judged(data, frames):
    with pytest.warns(RiskWeightedWarning, match="broken"):
        table = evaluated(data, frames, FAULTS["raises"], slope)
    tables = {
        "summary": pd.DataFrame(
            {
                "label": ["four"],
                "mean weight": 1.0,
                "largest R-hat": np.nan,
                "converged": None,
                "fits": None,
            }
        ),
        "risk": table.iloc[:0],
        "utility": table,
        "fit_check": pd.DataFrame(
            columns=["label", "check", "parameter", "variable", "effect", "verdict"]
        ),
    }
    tables["summary"] = tables["summary"].rename(columns={"mean weight": "mean weight"})
    thresholds = Thresholds.from_table({"analysis-overlap": 0.0}, "thresholds")
    found = {each.statistic.term: each.verdict for each in find_verdicts(thresholds, tables)}
    assert found == {f"{__name__}:broken": NOT_JUDGED, f"{__name__}:slope": PASS}


def test_an_assessment_compares_them_too(data, frames):
    other = [frame.sample(150, random_state=number) for number, frame in enumerate(frames)]
    with pytest.warns(RiskWeightedWarning, match="do not pair"):
        result = rw.assess(
            data,
            {"paired": frames, "other": other},
            SCENARIO,
            columns=["age"],
            analyses=[slope],
            random_seed=1,
        )
    term = f"age in {__name__}:slope"
    theirs = combine_fully_synthetic(
        *np.transpose([slope(frame)["age"] for frame in other]), size_ratio=0.75
    )
    assert tuple(row(result.utility, "other", term)[["value", "lower", "upper"]]) == pytest.approx(
        theirs[:3]
    )
    assert row(result.utility, "paired", term)["rule"].startswith("partially synthetic")
    assert "independent of known" in set(
        by_label(result.utility, Statistic("analysis-overlap", term=f"{__name__}:slope")).index
    )


def test_only_names_stand_in_a_study_and_whoever_changes_the_code_changes_its_keys(
    tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "ours.py").write_text("def mean(frame):\n    return {'mean': (1.0, 1.0)}\n")
    import ours

    assert EvaluatingSettings(analyses=[ours.mean]).analyses == ("ours:mean",)
    # nothing is imported to read a study
    assert EvaluatingSettings(analyses=["not_there:mean"]).analyses == ("not_there:mean",)
    for unnamed in (lambda frame: {}, functools.partial(slope)):
        with pytest.raises(rw.InputError, match="cannot be imported by that name"):
            EvaluatingSettings(analyses=[unnamed])
    before = code_hash("ours:mean")
    (tmp_path / "ours.py").write_text("def mean(frame):\n    return {'mean': (2.0, 1.0)}\n")
    assert code_hash("ours:mean") != before
    assert code_hash("not_there:mean") == code_hash("sys:exit") == ""


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["mean"], "package.module:function"),
        (["os.path:join; import os"], "package.module:function"),
        ([3], "got int"),
        ("ours:mean", "must be a list"),
        ([slope, slope], "a name of their own"),
    ],
)
def test_what_is_no_function_is_refused(given, message):
    with pytest.raises(rw.InputError, match=message):
        rw.EvaluationSettings(analyses=given)


@pytest.mark.parametrize(
    "name", ["not_there:mean", "riskweighted:not_there", "riskweighted:__version__"]
)
def test_a_name_that_leads_to_no_function_is_refused_before_anything_is_computed(
    data, frames, name
):
    with pytest.raises(rw.InputError, match=f"analysis '{name}'"):
        evaluated(data, frames, name)


def test_estimates_stay_inside_and_overlaps_may_be_shown():
    assert measures()["analysis-estimate"].disclosure is None
    assert measures()["analysis-overlap"].disclosure == rw.Disclosure.TWO_DECIMALS
