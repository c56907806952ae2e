"""Regressions of a list: against statsmodels and survey software, complete cases, and what is
refused.
"""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from surveyed import file

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.utility.combining_rules import combine_partially_synthetic
from riskweighted.utility.regressions import (
    analyse,
    checked_analysis,
    coefficient_intervals,
)

pytestmark = pytest.mark.versions


def people(n=400, seed=1):
    rng = np.random.default_rng(seed)
    age, edu = rng.integers(20, 80, n).astype(float), rng.choice(["low", "mid", "top"], n)
    income = np.exp(7 + 0.01 * age + (edu == "top") + rng.normal(size=n)).round()
    smoke = np.where(rng.random(n) < 1 / (1 + np.exp(0.05 * (age - 50))), "yes", "no")
    return pd.DataFrame(
        {
            "age": age,
            "edu": edu,
            "income": income,
            "smoke": pd.Categorical(smoke, categories=["no", "unused", "yes"]),
        }
    )


def dummies(frame):
    levels = [(frame["edu"] == level).astype(float) for level in ("mid", "top")]
    return np.column_stack([np.ones(len(frame)), frame["age"], *levels])


def test_least_squares_are_those_of_statsmodels():
    data = people()
    found = analyse(checked_analysis(data, "log(income) ~ age + C(edu)"), data)
    reference = sm.OLS(np.log(data["income"].to_numpy()), dummies(data)).fit()
    np.testing.assert_allclose(found.values, reference.params, rtol=1e-9)
    np.testing.assert_allclose(np.sqrt(found.variances), reference.bse, rtol=1e-9)
    assert (found.df, found.records) == (396, 400)


@pytest.mark.parametrize(
    "right",
    ["bs(income, df=4)", "bs(income, df=4) + C(edu)", "cs(income, df=4)", "poly(income, 2)"],
)
def test_a_value_beyond_the_confidential_ones_leaves_the_coefficients_estimable(right):
    data = people()
    beyond = data.assign(
        income=data["income"].replace(
            {data["income"].max(): 1.2 * data["income"].max(), data["income"].min(): 1.0}
        )
    )
    analysis = checked_analysis(data, f"age ~ {right}")
    assert np.isfinite(analyse(analysis, beyond).values).all()


@pytest.mark.parametrize("kind", ["categories", "text", "truth values", "numbers"])
def test_a_response_of_two_values_is_logistic(kind):
    data = people()
    event = (data["smoke"] == "yes").to_numpy()
    columns = {
        "categories": data["smoke"],
        "text": data["smoke"].astype(str),
        "truth values": event,
        "numbers": event.astype(int),
    }
    data = data.assign(smoke=columns[kind])
    found = analyse(checked_analysis(data, "smoke ~ age + edu"), data)
    reference = sm.Logit(event.astype(float), dummies(data)).fit(disp=0)
    np.testing.assert_allclose(found.values, reference.params, rtol=1e-6)
    np.testing.assert_allclose(np.sqrt(found.variances), reference.bse, rtol=1e-6)
    assert found.df == np.inf


# Standard errors of y ~ x and b ~ x: without strata of statsmodels 0.15 (WLS, HC0, times n/(n - 1))
# and samplics 0.6.1; within strata of svy 0.35.0 (5 decimals) and, logistic, of samplics.
SANDWICHES = {
    ("y", None): ((21.12817425, 0.1019162), (3.89900727, 0.29108361), 1e-7),
    ("b", None): ((-0.11125483, -0.00757186), (0.71808747, 0.05345438), 1e-6),
    ("y", "h"): ((21.12817425, 0.1019162), (3.90407, 0.28955), 2e-5),
    ("b", "h"): ((-0.11125483, -0.00757186), (0.72651986, 0.05382774), 1e-6),
}


@pytest.mark.parametrize(("response", "strata"), SANDWICHES)
def test_design_based_errors_are_those_of_other_software(response, strata):
    values, errors, digits = SANDWICHES[response, strata]
    found = analyse(
        checked_analysis(file(), f"{response} ~ x"), file(), rw.survey_design(file(), "w", strata)
    )
    np.testing.assert_allclose(found.values, values, rtol=1e-6)
    np.testing.assert_allclose(np.sqrt(found.variances), errors, rtol=digits)
    assert found.df == 40 - (1 if strata is None else 3)


def test_incomplete_records_are_left_out():
    """Missing values, and a response without a logarithm; under a design they still count in their
    stratum.
    """
    data = people().assign(w=np.random.default_rng(2).gamma(2, size=400), h=["a", "b"] * 200)
    rough = data.copy()
    (
        rough.loc[:19, "income"],
        rough.loc[20:29, "income"],
        rough.loc[30:49, "age"],
        rough.loc[50:54, "edu"],
    ) = np.nan, -8.0, np.nan, None
    complete = data.iloc[55:]
    analysis = checked_analysis(rough, "log(income) ~ age + edu")
    found = analyse(analysis, rough)
    reference = analyse(checked_analysis(complete, analysis.formula), complete)
    np.testing.assert_allclose(found.values, reference.values, rtol=1e-9)
    np.testing.assert_allclose(found.variances, reference.variances, rtol=1e-9)
    assert (found.records, found.df) == (345, 341)
    rule = coefficient_intervals(analysis, [rough], synthetic=False)["age"].rule
    assert rule == "one dataset: t interval of least squares; of 345 of 400 records"
    whole = analyse(analysis, rough, rw.survey_design(rough, "w", "h"))
    alone = analyse(analysis, complete, rw.survey_design(complete, "w", "h"))
    np.testing.assert_allclose(whole.values, alone.values, rtol=1e-9)
    assert (np.abs(whole.variances / alone.variances - 1) > 1e-6).any()


def test_a_condition_names_the_records():
    """It is judged in every dataset by that dataset's own values."""
    data, synthetic = people(), people(seed=2)
    analysis = checked_analysis(data, "log(income) ~ age where income > 1000 and edu != 'low'")
    assert [name for name, _ in analysis.terms] == ["Intercept", "age"]
    for frame in (data, synthetic):
        inside = frame[(frame["income"] > 1000) & (frame["edu"] != "low")]
        found = analyse(analysis, frame)
        reference = sm.OLS(np.log(inside["income"]), sm.add_constant(inside["age"])).fit()
        np.testing.assert_allclose(found.values, reference.params, rtol=1e-9)
        np.testing.assert_allclose(np.sqrt(found.variances), reference.bse, rtol=1e-9)
        assert found.records == len(inside)
    # of three values two are left
    two = analyse(checked_analysis(data, "edu ~ age where edu != 'low'"), data)
    rest = data[data["edu"] != "low"]
    reference = sm.Logit((rest["edu"] == "top").astype(float), sm.add_constant(rest["age"])).fit(
        disp=0
    )
    np.testing.assert_allclose(two.values, reference.params, rtol=1e-6)
    renamed = data.rename(columns={"age": "where"})
    assert "where" in dict(checked_analysis(renamed, "income ~ `where`").terms)


def test_datasets_combine_by_the_rule_of_partially_synthetic_data():
    data, frames = people(), [people(seed=seed) for seed in range(2, 7)]
    analysis = checked_analysis(data, "log(income) ~ age + edu")
    estimates = [analyse(analysis, frame) for frame in frames]
    place = dict(analysis.terms)["age"]
    expected = combine_partially_synthetic(
        [one.values[place] for one in estimates], [one.variances[place] for one in estimates]
    )
    found = coefficient_intervals(analysis, frames, synthetic=True)
    assert found["age"] == expected
    assert list(found) == ["Intercept", "age", "edu[T.mid]", "edu[T.top]"]
    single = coefficient_intervals(analysis, frames[:1], synthetic=True)["age"]
    assert "too short" in single.rule
    assert single.estimate == pytest.approx(estimates[0].values[place])


def test_what_a_dataset_does_not_determine_is_no_number_and_no_error():
    data = people()
    analysis = checked_analysis(data, "smoke ~ age + edu")
    without = data.assign(edu=data["edu"].replace("mid", "low"))
    found = coefficient_intervals(analysis, [data, without], synthetic=True)
    assert np.isnan(found["edu[T.mid]"].estimate)
    assert found["edu[T.mid]"].rule.startswith("not estimable in 1 of 2 datasets: a level")
    assert np.isfinite(found["age"].estimate)
    separated = data.assign(
        smoke=pd.Categorical(
            np.where(data["age"] < 50, "yes", "no"), categories=["no", "unused", "yes"]
        )
    )
    unseen = data.assign(edu="other")
    nothing = data.assign(age=np.nan)
    for frame in (separated, unseen, nothing):
        assert np.isnan(analyse(analysis, frame).values).all()


def test_dummies_of_few_records_are_not_reported():
    data = people()
    data.loc[:8, "edu"] = "rare"
    analysis = checked_analysis(data, "income ~ age + edu")
    assert [name for name, _ in analysis.terms] == ["Intercept", "age", "edu[T.mid]", "edu[T.top]"]
    assert analysis.left_out == 1


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("edu ~ age", "the response must be numeric or have two values, got 3 of dtype"),
        ("log(edu) ~ age", "the response must be numeric or have two values, got 3 of dtype"),
        ("nope ~ age", "no column 'nope'"),
        ("income ~ nope", "no column 'nope'"),
        ("income", "must read 'response ~ predictors'"),
        ("eval(income) ~ age", "one column name on the left"),
        ("income ~ __import__('os')", "calls __import__"),
        ("income ~ age + half", "'half' is a combination of those before it"),
        ("none ~ age", "no complete case"),
        ("income ~ age where age < 0", "no complete case"),
        ("income ~ age where nope > 0", "there is no column 'nope'"),
        ("income ~ age where edu == 'lwo'", "compares 'edu' with a text that no record has"),
        ("income ~ age where income", "the condition of regression 'income ~ age'"),
        ("income ~ age where __import__('os')", "the condition of regression 'income ~ age'"),
        (
            "young ~ age",
            "cannot be estimated from the confidential data: its predictors separate the response",
        ),
        ("once ~ known", "single value among the complete cases"),
    ],
)
def test_what_is_refused(formula, message):
    data = people()
    known = np.where(np.arange(400) < 100, 1.0, np.nan)
    once = np.where(np.arange(400) < 100, "a", "b")
    extra = {
        "half": data["age"] / 2,
        "none": np.nan,
        "young": np.where(data["age"] < 40, "y", "n"),
        "known": known,
        "once": once,
    }
    with pytest.raises(InputError, match=message):
        checked_analysis(data.assign(**extra), formula)
