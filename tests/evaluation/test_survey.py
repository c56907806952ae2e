"""The utility table under survey weights and from a list of regressions; the rows without them stay
what they are.
"""

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.errors import InputError, RiskWeightedWarning
from riskweighted.evaluation.measure_rows import Statistic, by_label, statistics_of
from riskweighted.evaluation.thresholds import Thresholds
from riskweighted.evaluation.verdicts import NOT_JUDGED, PASS, find_verdicts
from riskweighted.measures.evaluation_settings import EvaluationSettings
from riskweighted.utility.combining_rules import combine_partially_synthetic, interval_overlap
from riskweighted.utility.regressions import checked_analysis, coefficient_intervals

N = 300
FORMULAS = ["log(income) ~ age + C(region)", "job ~ age"]
SCENARIO = rw.Scenario(known=("region",), synthetic=("income", "job"), radius={"income": 0.2})


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    age, region = rng.integers(20, 70, N).astype(float), rng.choice(["n", "s"], N)
    job = pd.Categorical(np.where(rng.random(N) < 0.3 + 0.005 * age, "paid", "none"))
    income = np.exp(7 + 0.01 * age + rng.normal(size=N)).round()
    return pd.DataFrame(
        {
            "age": age,
            "region": region,
            "job": job,
            "income": income,
            "w": rng.gamma(2, size=N),
            "h": region + "1",
        }
    )


@pytest.fixture(scope="module")
def frames(data):
    rng = np.random.default_rng(6)
    return [
        data.assign(
            income=(data["income"] * np.exp(rng.normal(0, 0.2, N))).round(),
            job=data["job"].sample(frac=1, random_state=k).to_numpy(),
        )
        for k in range(4)
    ]


@pytest.fixture(scope="module")
def result(data, frames):
    return rw.evaluate(
        data,
        {"four": frames, "one": frames[:1]},
        SCENARIO,
        settings=rw.EvaluationSettings(survey="w", strata="h", regressions=FORMULAS, resamples=30),
        random_seed=1,
    )


@pytest.fixture(scope="module")
def plain(data, frames):
    """The same without survey weights."""
    return rw.evaluate(
        data,
        {"four": frames, "one": frames[:1]},
        SCENARIO,
        settings=rw.EvaluationSettings(regressions=FORMULAS, resamples=30),
        random_seed=1,
    )


def test_a_study_with_survey_weights_has_the_same_measures_once_and_says_the_weights(plain, result):
    which = ["label", "key", "variable", "parameter", "term"]
    pd.testing.assert_frame_equal(result.risk, plain.risk)
    both = result.utility.merge(plain.utility, on=which, validate="1:1")
    assert len(both) == len(result.utility) == len(plain.utility)
    weighed = {"ecdf-maximum", "total-variation", "mean", "quantile", "level-share"}
    weighed |= {"analysis-estimate"}
    of_variables = result.utility[result.utility["key"].isin(weighed)]
    assert set(of_variables["key"]) == weighed
    assert of_variables["definition"].str.contains("under the survey weights", regex=False).all()
    differ = both[both["label"] == "confidential"].query("value_x != value_y")
    assert {"mean", "level-share", "analysis-estimate"} <= set(differ["key"])


def test_estimates_combine_design_based_variances(data, frames, result):
    design = rw.survey_design(data, "w", "h")
    for statistic, estimate in (
        (
            Statistic("mean", "income"),
            lambda frame: rw.survey_mean(frame["income"].to_numpy(), design),
        ),
        (
            Statistic("quantile", "income", 0.9),
            lambda frame: rw.survey_quantile(frame["income"].to_numpy(), 0.9, design),
        ),
        (
            Statistic("level-share", "job", term="paid"),
            lambda frame: rw.survey_mean((frame["job"] == "paid").to_numpy(dtype=float), design),
        ),
    ):
        found = [estimate(frame) for frame in frames]
        expected = combine_partially_synthetic(
            [one.value for one in found], [one.variance for one in found]
        )
        row = result.utility[[one == statistic for one in statistics_of(result.utility)]].set_index(
            "label"
        )
        assert tuple(row.loc["four", ["value", "lower", "upper"]]) == pytest.approx(expected[:3])
        assert row.loc["four", "rule"].startswith(
            "partially synthetic: vbar + b/L (Reiter 2003), vbar design-based, weights w"
        )
        own, single = estimate(data), found[0]
        assert tuple(row.loc["confidential", ["value", "lower", "upper"]]) == pytest.approx(
            (own.value, own.lower, own.upper)
        )
        assert tuple(row.loc["one", ["value", "lower", "upper"]]) == pytest.approx(
            (single.value, single.lower, single.upper)
        )
        assert "too short" in row.loc["one", "rule"]
        assert row.loc["four", "overlap"] == pytest.approx(
            interval_overlap((own.lower, own.upper), expected[1:3])
        )


def test_distances_are_means_over_datasets(data, frames, result):
    weights = rw.survey_weights(data, "w").to_numpy()
    distances = [
        rw.weighted_ecdf_distance(data["income"].to_numpy(), frame["income"].to_numpy(), weights)
        for frame in frames
    ]
    found = by_label(result.utility, Statistic("ecdf-maximum", "income"))
    assert found["four"] == pytest.approx(np.mean([one.maximum for one in distances]))
    # only who has the job changed, which is nothing without weights
    assert 0 < by_label(result.utility, Statistic("total-variation", "job"))["four"] < 0.1


def test_every_coefficient_and_the_mean_overlap_of_each_regression(data, frames, plain, result):
    for found, design in ((plain, None), (result, rw.survey_design(data, "w", "h"))):
        for formula in FORMULAS:
            analysis = checked_analysis(data, formula)
            own = coefficient_intervals(analysis, [data], synthetic=False, design=design)
            ours = coefficient_intervals(analysis, frames, synthetic=True, design=design)
            overlaps = []
            for name in own:
                statistic = Statistic(
                    "analysis-estimate", analysis.response, term=f"{name} in {formula}"
                )
                assert by_label(found.utility, statistic)["four"] == pytest.approx(
                    ours[name].estimate
                )
                overlaps.append(by_label(found.utility, statistic, "overlap")["four"])
                assert overlaps[-1] == pytest.approx(
                    interval_overlap(own[name][1:3], ours[name][1:3])
                )
            mean = by_label(
                found.utility,
                Statistic("analysis-overlap", analysis.response, term=formula),
            )
            assert mean["four"] == pytest.approx(np.mean(overlaps))
            assert list(mean.index) == ["four", "one"]


def some_of_another(frame):
    return np.where(frame["age"] > 30, "paid", "other")


LACKING = {
    "a response of one value": ("job ~ age", {"job": "none"}, "the response has one value"),
    "a level that is lacking": (
        "income ~ job",
        {"job": "none"},
        "a level of the confidential data is lacking",
    ),
    "a level of its own": (
        "income ~ job",
        {"job": some_of_another},
        "a level that the confidential data lack",
    ),
    "no number on a predictor's scale": (
        "age ~ log(income)",
        {"income": 0.0},
        "no number on its scale",
    ),
    "no record": ("age ~ income where income > 0", {"income": -1.0}, "no record is complete"),
}


@pytest.mark.parametrize(("formula", "columns", "why"), LACKING.values(), ids=LACKING)
def test_a_regression_that_some_dataset_does_not_determine_is_named_and_not_judged(
    data, frames, formula, columns, why
):
    broken = [frames[0].assign(**columns), *frames[1:]]
    settings = rw.EvaluationSettings(
        survey="w", regressions=[formula, "income ~ age where age > 30"], resamples=10
    )
    with pytest.warns(RiskWeightedWarning, match="regression") as caught:
        table = rw.evaluate(
            data, {"broken": broken, "whole": frames}, SCENARIO, settings=settings, random_seed=1
        ).utility
    texts = [str(each.message) for each in caught if "regression" in str(each.message)]
    assert len(texts) == 1
    assert all(
        repr(formula) in text
        and "'broken'" in text
        and "in 1 of 4 datasets" in text
        and why in text
        for text in texts
    )
    overlaps = table[table["key"].str.endswith("analysis-overlap")].set_index(["label", "term"])[
        "value"
    ]
    assert np.isnan(overlaps.loc["broken", formula])
    assert overlaps.drop(("broken", formula)).notna().all()
    empty = pd.DataFrame(
        {"label": [], "check": [], "parameter": [], "variable": [], "effect": [], "verdict": []}
    )
    summary = pd.DataFrame(
        {
            "label": ["broken", "whole"],
            "mean weight": 1.0,
            "largest R-hat": np.nan,
            "converged": None,
            "fits": None,
        }
    )
    tables = {"summary": summary, "risk": table.iloc[:0], "utility": table, "fit_check": empty}
    limits = {f"analysis-overlap({formula})": 0.0}
    found = find_verdicts(Thresholds.from_table(limits, "thresholds"), tables)
    assert [each.verdict for each in found] == [NOT_JUDGED, PASS]


def test_a_coefficient_that_some_dataset_does_not_determine_passes_no_limit_on_the_overlap(
    data, frames
):
    scenario = rw.Scenario(known=("region",), synthetic="income", radius=0.2)
    settings = rw.EvaluationSettings(
        regression="age ~ income + log(income)", coefficient="income", resamples=10
    )
    drawn = [data.assign(income=frame["income"]) for frame in frames]
    broken = {"broken": [drawn[0].assign(income=0.0), *drawn[1:]]}
    with pytest.warns(RiskWeightedWarning, match="regression"):
        table = rw.evaluate(data, broken, scenario, settings=settings, random_seed=1).utility
    summary = pd.DataFrame(
        {
            "label": ["broken"],
            "mean weight": 1.0,
            "largest R-hat": np.nan,
            "converged": None,
            "fits": None,
        }
    )
    empty = pd.DataFrame(
        {"label": [], "check": [], "parameter": [], "variable": [], "effect": [], "verdict": []}
    )
    tables = {"summary": summary, "risk": table.iloc[:0], "utility": table, "fit_check": empty}
    found = find_verdicts(Thresholds.from_table({"overlap": 0.0}, "thresholds"), tables)
    assert NOT_JUDGED in {each.verdict for each in found}


def test_missing_values_and_special_codes_are_statuses(data, frames):
    """Of amounts alone the mean, of all records the shares; a regression leaves them out."""
    rough = [
        one.assign(
            income=one["income"].where(np.arange(N) % 10 > 0, -8.0).where(np.arange(N) % 15 > 1)
        )
        for one in [data, *frames]
    ]
    scenario = rw.Scenario(known=("region",), synthetic="income", codes={"income": [-8]})
    result = rw.evaluate(
        rough[0],
        {"four": rough[1:]},
        scenario,
        settings=rw.EvaluationSettings(survey="w", regressions=["income ~ age"], resamples=10),
        random_seed=1,
    )
    design, income = rw.survey_design(data, "w"), rough[0]["income"]
    amount = income.notna() & (income != -8)
    for statistic, values in (
        (Statistic("mean", "income"), income.where(amount)),
        (Statistic("level-share", "income", term="-8"), (income == -8).astype(float)),
        (Statistic("level-share", "income", term="missing"), income.isna().astype(float)),
    ):
        own = rw.survey_mean(values.to_numpy(), design)
        assert by_label(result.utility, statistic)["confidential"] == pytest.approx(own.value)
    found = by_label(
        result.utility, Statistic("analysis-estimate", "income", term="age in income ~ age")
    )["confidential"]
    root = np.sqrt(design.weights[amount])  # of squares that polyfit sums
    slope = np.polyfit(data["age"][amount], income[amount], 1, w=root)[0]
    assert found == pytest.approx(slope)


def test_the_main_table_has_overlaps_and_no_row_a_coefficient(result):
    names = list(result.summary().columns)
    assert "mean overlap in job ~ age of job" in names
    assert "mean of income: overlap" in names
    assert not [name for name in names if "estimate" in name or "share of" in name]


def test_a_threshold_on_a_measure_that_went_is_told_the_one_under_the_survey_weights():
    with pytest.raises(InputError, match=r"survey-mean.*write 'mean'"):
        Thresholds.from_table({"survey-mean": 1.0}, "thresholds")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strata": "h"}, "'strata' belong to survey weights: give survey too"),
        ({"survey": 3}, "survey must be text, got int"),
        ({"survey": "w", "strata": 3}, "strata must be text, got int"),
        ({"survey": "nope"}, "no column 'nope'"),
        ({"survey": "region"}, "must be numbers >= 0"),
        ({"survey": "income"}, "survey names 'income', which is synthesized"),
        ({"survey": "w", "strata": "job"}, "strata names 'job', which is synthesized"),
        ({"survey": "w", "strata": "w"}, "hold a single record"),
        ({"replication": "brr"}, "'replication' belong to survey weights: give survey too"),
        (
            {"survey": "w", "replicates": 5},
            "replicates must be a pattern or a list of columns, got int",
        ),
        (
            {"survey": "w", "replicates": "r*", "replicate_factors": "abc"},
            "replicate_factors must be",
        ),
        ({"survey": "w", "psu": "job"}, "psu names 'job', which is synthesized"),
        ({"survey": "w", "replicates": ["w", "nope"], "replication": "brr"}, "nope"),
        (
            {"survey": "w", "replicates": "r*", "strata": "h", "replication": "brr"},
            "replicate weights replace strata",
        ),
        ({"regressions": "job ~ age"}, "regressions must be a list, got str"),
        ({"regressions": [3]}, "each of regressions must be text, got int"),
        ({"regressions": ["job ~ age", "job ~ age"]}, "must each be named once"),
        ({"regressions": ["region ~ nope"]}, "no column 'nope'"),
    ],
)
def test_wrong_settings(data, frames, settings, message):
    with pytest.raises(InputError, match=message):
        rw.evaluate(data, {"four": frames}, SCENARIO, settings=rw.EvaluationSettings(**settings))


def test_datasets_with_other_survey_weights_are_refused(data, frames):
    changed = [frames[0].assign(w=1.0), *frames[1:]]
    with pytest.raises(
        InputError, match="1 datasets of 'four' have another column 'w' than the confidential data"
    ):
        rw.evaluate(
            data,
            {"four": changed},
            SCENARIO,
            settings=rw.EvaluationSettings(survey="w", resamples=10),
        )
    without = [frame.drop(columns=["w", "h"]) for frame in frames]
    assert len(
        rw.evaluate(
            data,
            {"four": without},
            SCENARIO,
            settings=rw.EvaluationSettings(survey="w", strata="h", resamples=10),
        ).utility
    )


def test_settings_hold_a_tuple():
    assert EvaluationSettings(regressions=["a ~ b"]).regressions == ("a ~ b",)
