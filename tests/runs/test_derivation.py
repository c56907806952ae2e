"""Columns that give a synthesized variable away, in a study: refused before any fit, declared with
a reason, or warned of.
"""

import warnings

import numpy as np
import pandas as pd
import pytest

from riskweighted.common.errors import DerivedWarning, InputError, SingletonWarning
from riskweighted.runs.advice import advise
from riskweighted.runs.check_study import check_study
from riskweighted.runs.derivation import refuse_derived
from riskweighted.runs.study import make_study
from riskweighted.suggest.columns import look_at
from riskweighted.suggest.suggestion import suggest

# values of their own for every record are what is asked about here
ALONE = "ignore::riskweighted.common.errors.SingletonWarning"
pytestmark = [pytest.mark.quick, pytest.mark.filterwarnings(ALONE)]

N = 400
LINEAR = {"name": "linear-regression", "formula": "income ~ C(sex)", "transform": "log"}


def people():
    rng = np.random.default_rng(8)
    income = np.round(rng.lognormal(9, 0.7, N), 2)
    wages = np.round(income * rng.uniform(0.1, 0.9, N), 2)
    data = pd.DataFrame(
        {"income": income, "sex": rng.choice(["f", "m"], N), "age": rng.integers(18, 90, N)}
    )
    return data.assign(
        wages=wages, other=np.round(income - wages, 2), near=income * np.exp(rng.normal(0, 0.25, N))
    )


def study(**changes):
    settings = {
        "data": {"path": "people.csv"},
        "scenario": {"known": ["sex"], "synthetic": "income"},
        "synthesizer": LINEAR,
        "release": {"L": 2},
        "weights": {"schemes": ["unweighted"]},
    }
    return make_study({**settings, **changes})


def silent(study, data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SingletonWarning)
        check_study(study, data)


def test_what_does_not_leave_is_not_looked_at():
    silent(study(), people())
    silent(study(release={"L": 2, "columns": ["wages"]}), people())


@pytest.mark.parametrize("setting", ["columns", "known"])
def test_two_columns_that_add_up_are_refused_with_the_share_and_the_advice(setting):
    if setting == "columns":
        changed = study(release={"L": 2, "columns": ["wages", "other"]})
    else:
        changed = study(scenario={"known": ["wages", "other"], "synthetic": "income"})
    for check in (check_study, refuse_derived):
        with pytest.raises(InputError) as caught:
            check(changed, people())
        said = str(caught.value)
        assert "\n" not in said
        for words in (
            "wages",
            "other",
            "'income'",
            "a sum",
            "100 % of the records",
            "[release] derived",
        ):
            assert words in said
        assert not any(f"{value:.2f}" in said for value in people()["income"])


def test_every_column_of_a_relation_is_declared_with_a_reason():
    columns = ["wages", "other"]
    with pytest.raises(InputError, match="together they disclose"):
        check_study(
            study(release={"L": 2, "columns": columns, "derived": {"wages": "they are public"}}),
            people(),
        )
    declared = study(
        release={"L": 2, "columns": columns, "derived": dict.fromkeys(columns, "they are public")}
    )
    with pytest.warns(DerivedWarning, match="declared in release.derived: they are public"):
        check_study(declared, people())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refuse_derived(declared, people())


def test_a_strong_predictor_is_warned_of_with_the_number():
    with pytest.warns(
        DerivedWarning,
        match=r"'near' predicts the synthesized 'income': .*predicted; \d+ % of the records",
    ):
        check_study(study(release={"L": 2, "columns": ["near"]}), people())


@pytest.mark.parametrize(
    ("derived", "words"),
    [
        (["wages"], "table of reasons"),
        ({"wages": ""}, "must give a reason"),
        ({"wages": 3}, "derived.wages"),
        ({"nope": "x"}, "nope"),
    ],
)
def test_bad_declarations(derived, words):
    with pytest.raises(InputError, match=words):
        check_study(study(release={"L": 2, "columns": ["wages"], "derived": derived}), people())


def twin(data):
    data["band"] = pd.qcut(data["income"], 4, labels=list("abcd")).astype(str)
    return data.assign(wage=data["income"] * np.exp(np.random.default_rng(9).normal(0, 0.02, N)))


@pytest.mark.parametrize(
    ("synthesizer", "columns", "relation"),
    [
        ({**LINEAR, "formula": "income ~ log(wage)"}, ["wage"], "recovered"),
        (
            {**LINEAR, "formula": "income ~ C(sex) + wages + log(other)"},
            ["wages", "other"],
            "a sum",
        ),
        ({"name": "sequential", "predictors": ["sex", "wage"]}, ["wage"], "recovered"),
        (
            {
                "name": "hierarchical",
                "formula": "income ~ age",
                "groups": ["band"],
                "transform": "log",
            },
            ["band"],
            "intervals of it",
        ),
        (
            {
                "name": "sequential",
                "predictors": ["sex"],
                "variables": {"income": {"formula": "income ~ wage"}},
            },
            ["wage"],
            "recovered",
        ),
    ],
)
@pytest.mark.filterwarnings(
    "ignore:in the model, .* predicts:riskweighted.common.errors.DerivedWarning"
)
def test_predictors_that_do_not_leave_are_refused_too(synthesizer, columns, relation):
    data, changed = twin(people()), {"synthesizer": synthesizer}
    for check in (check_study, refuse_derived):
        with pytest.raises(InputError, match="to be read by the model") as caught:
            check(study(**changed), data)
        said = str(caught.value)
        assert "\n" not in said
        for words in (
            *columns,
            relation,
            "[release] derived",
            "the model's formula or predictors",
            "may predict",
        ):
            assert words in said
    declared = study(
        **changed, release={"L": 2, "derived": dict.fromkeys(columns, "a study of twins")}
    )
    with pytest.warns(
        DerivedWarning, match="in the model, .*declared in release.derived: a study of twins"
    ):
        check_study(declared, data)
    refuse_derived(declared, data)


def test_a_column_that_leaves_and_one_that_predicts_are_found_together():
    with pytest.raises(InputError, match="to be released unaltered or read by the model"):
        check_study(
            study(
                synthesizer={**LINEAR, "formula": "income ~ other"},
                release={"L": 2, "columns": ["wages"]},
            ),
            people(),
        )


def test_under_a_guarantee_predictors_are_looked_at_too():
    data = people().assign(twice=lambda frame: 2 * frame["income"])
    predicted = {**LINEAR, "formula": "income ~ twice"}
    with pytest.raises(InputError, match="'twice'"):
        refuse_derived(
            study(synthesizer=predicted, guarantee={"epsilon": 2, "public": ["twice"]}), data
        )


def test_under_a_guarantee_no_reason_makes_a_column_public():
    data = people().assign(twice=lambda frame: 2 * frame["income"])
    reasons = {"twice": "we need it"}
    leaving = {"L": 2, "columns": ["twice"], "derived": reasons}
    refuse_derived(study(release=leaving), data)
    for given in ({"public": ["sex"]}, {"public": ["sex", "twice"]}):
        with pytest.raises(InputError, match="no reason makes it public") as caught:
            check_study(study(release=leaving, guarantee={"epsilon": 2, **given}), data)
        assert "\n" not in str(caught.value)


def test_what_a_rule_states_is_a_declaration():
    data = people().assign(works=np.where(np.arange(N) % 4 > 0, "yes", "no"))
    data["income"] = data["income"].where(data["works"] == "yes", 0.0)
    chain = {"name": "sequential", "predictors": ["sex"]}
    stated = {"variables": {"income": {"applies_if": "works == 'yes'", "else_value": 0}}}
    leaving = {"L": 2, "columns": ["works"]}
    with pytest.raises(InputError, match=r"'works'.*its levels reveal its zeros"):
        check_study(study(synthesizer=chain, release=leaving), data)
    silent(study(synthesizer=chain | stated, release=leaving), data)


def asked(rules, **release):
    chain = {"name": "sequential", "predictors": ["sex"]}
    return study(synthesizer=chain | rules, release={"L": 2, **release})


@pytest.mark.parametrize(
    "rules",
    [
        {"variables": {"income": {"applies_if": "works == 'yes'", "else_value": "missing"}}},
        {"implied": [["works == 'no'", "missing(income)"]]},
        {"forbidden": ["works == 'no' and income > 0"]},
    ],
    ids=["when", "implied", "forbidden"],
)
def test_a_rule_that_gives_away_a_column_which_stays_is_refused_until_it_leaves_or_is_declared(
    rules,
):
    data = people().assign(works=np.where(np.arange(N) % 4 > 0, "yes", "no"))
    data["income"] = data["income"].where(data["works"] == "yes")
    for check in (check_study, refuse_derived):
        with pytest.raises(
            InputError, match=r"'works'.*release that, or leave the rule out.*\[release\] hidden"
        ) as caught:
            check(asked(rules), data)
        assert "\n" not in str(caught.value)
    assert any("'works'" in advice.reason for advice in advise(asked(rules), data))
    reason = {"works": "everybody knows it"}
    refuse_derived(asked(rules, hidden=reason), data)
    with pytest.raises(
        InputError,
        match=r"release.hidden names 'age', 'nope', which nothing reads; valid are 'works'$",
    ):
        check_study(asked(rules, hidden={"age": "why", "nope": "why"} | reason), data)
    silent(
        asked(
            {"variables": {"income": {"applies_if": "works == 'yes'", "else_value": "missing"}}},
            columns=["works"],
        ),
        data,
    )


def test_a_universe_is_proposed_and_a_study_that_states_it_is_silent():
    data = people().assign(works=np.where(np.arange(N) % 4 > 0, "yes", "no"))
    data["income"] = data["income"].where(data["works"] == "yes")
    chain = {"name": "sequential", "predictors": ["sex"]}
    leaving = {"L": 2, "columns": ["works"]}
    with pytest.warns(
        DerivedWarning,
        match=r"works': its levels reveal its missing values "
        r".*\[synthesizer.variables.income\] applies_if",
    ):
        check_study(study(synthesizer=chain, release=leaving), data)
    silent(
        study(
            synthesizer=chain
            | {"variables": {"income": {"applies_if": "works == 'yes'", "else_value": "missing"}}},
            release=leaving,
        ),
        data,
    )


def test_what_cannot_be_judged_is_said():
    with pytest.warns(DerivedWarning, match="income: 30 amounts, of which no column can be judged"):
        check_study(study(), people().head(30))
    near = 1_000 + np.random.default_rng(1).normal(0, 50, N).round(2)
    with pytest.warns(
        DerivedWarning,
        match="income: the best guess is within the radius of 99 % .* radius or min_radius is too "
        "wide",
    ):
        check_study(
            study(scenario={"known": ["sex"], "synthetic": "income", "radius": 0.5}),
            people().assign(income=near),
        )


def test_bands_within_the_known_pattern_are_refused_with_what_they_are_told_with():
    data = people()
    data["band"] = data.groupby("sex")["income"].transform(
        lambda income: pd.qcut(income.rank(), 4, labels=False)
    )
    with pytest.raises(
        InputError, match=r"the column 'band' .*its levels are intervals of it.*leave it out of"
    ):
        check_study(study(release={"L": 2, "columns": ["band"]}), data)


def test_a_first_study_holds_no_such_column():
    data = people()
    told = suggest(data, look_at(data), ("income",))
    assert len({"wages", "other"} & {*told.known, *told.predictors, *told.released}) < 2
    assert len({"wages", "other"} & set(told.left_out)) == 1
    assert "a sum" in next(iter(told.left_out.values()))
