"""Who is asked what: gaps, codes and zeros that another column tells, and what `init` makes of
them.
"""

import tomllib

import numpy as np
import pandas as pd
import pytest

from riskweighted.derivation.derived import derived
from riskweighted.runs.check_study import check_study
from riskweighted.runs.derivation import refuse_derived
from riskweighted.runs.study import make_study
from riskweighted.sequence.conditions import Condition
from riskweighted.suggest.columns import look_at
from riskweighted.suggest.study_file import study_file_text
from riskweighted.suggest.suggestion import suggest
from riskweighted.suggest.universes import find_universes

N = 600


def people():
    rng = np.random.default_rng(4)
    age, work = rng.integers(0, 90, N), rng.choice(["employed", "retired", "child", "none"], N)
    pay = pd.Series(rng.lognormal(7, 0.6, N).round(2))
    gift = np.where(rng.random(N) < 0.5, rng.integers(1, 40, N), 0)
    return pd.DataFrame(
        {"sex": rng.choice(["f", "m"], N), "age": age, "work": work, "pay": pay, "gift": gift}
    )


def told(data, variable, *askers, **how):
    return {
        (rule.by, rule.when, rule.zeros) for rule in find_universes(data, [variable], askers, **how)
    }


@pytest.mark.quick
def test_gaps_below_a_cut_and_at_levels_are_told_by_a_round_number_and_by_the_levels():
    data = people()
    data["pay"] = data["pay"].where(data["age"] >= 16)
    assert told(data, "pay", "sex", "age", "work") == {("age", "age >= 16", False)}
    # nobody between 15 and 28: no person's age is the cut
    data["age"] = data["age"].where(data["age"] < 16, data["age"] + 12)
    assert told(data, "pay", "age") == {("age", "age >= 20", False)}
    assert told(data, "pay", "age", uncut=["age"]) == set()
    data = people()
    data["pay"] = data["pay"].where(data["work"] == "employed")
    assert told(data, "pay", "work") == {("work", "work == 'employed'", False)}


@pytest.mark.quick
def test_a_level_with_an_exception_counts_with_the_others():
    rng = np.random.default_rng(1)
    data = pd.DataFrame(
        {"work": np.repeat(["child", "retired", "ill", "employed"], [400, 400, 400, 1000])}
    )
    data["pay"] = pd.Series(rng.lognormal(7, 0.6, len(data)).round(2)).where(
        data["work"] == "employed"
    )
    # of 400 children one is more than .1 %, and of all who are not asked it is less
    data.loc[3, "pay"] = 812.3
    (rule,) = find_universes(data, ["pay"], ["work"])
    assert (rule.when, rule.exceptions) == ("work == 'employed'", 1)
    assert derived(data, "pay", released=["work"])["verdict"].tolist() == ["warn"]
    data.loc[4, "pay"] = 923.1
    assert told(data, "pay", "work") == set()


@pytest.mark.quick
def test_what_is_explained_must_be_most_of_it_and_rare_elsewhere():
    data, rng = people(), np.random.default_rng(2)
    child = (data["age"] < 16).to_numpy()
    data["pay"] = data["pay"].where(~child & (rng.random(N) > 0.4))  # most gaps lie elsewhere
    assert told(data, "pay", "age") == set()
    data = people()
    data["gift"] = np.where(data["work"] == "none", 0, np.maximum(data["gift"], 1))
    assert told(data, "gift", "work", "age") == {("work", "work != 'none'", True)}
    # once
    assert told(data, "gift", "work", codes={"gift": (0.0,)}) == {("work", "work != 'none'", True)}
    few = people().iloc[:19].assign(pay=np.nan)
    assert told(few, "pay", "age", "work") == set()


@pytest.mark.quick
def test_a_column_that_has_gaps_itself_tells_by_its_levels_alone():
    data = people()
    data["pay"] = data["pay"].where(~data["work"].isin(["child", "none"]))
    data["work"] = data["work"].where((data.index % 7 > 0) | data["pay"].isna())
    ((by, when, _),) = told(data, "pay", "work")
    assert by == "work"
    asked = Condition.parse(when).holds(data)
    assert not (~asked & data["pay"].notna()).any()
    assert asked.sum() == data["pay"].notna().sum()
    data["age"] = data["age"].where(data["pay"].notna())
    assert told(data, "pay", "age") == set()  # which is missing where the pay is


def study_of(data, targets, tmp_path):
    data.to_csv(tmp_path / "people.csv", index=False)
    text = study_file_text(suggest(data, look_at(data), targets), tmp_path / "people.csv", tmp_path)
    return text, make_study(tomllib.loads(text), tmp_path)


def test_a_question_of_adults_is_a_rule_of_the_study_that_is_written(tmp_path):
    data = people()
    data["age"] = data["age"] // 10 * 10
    data["pay"] = data["pay"].where(data["age"] >= 20)
    text, study = study_of(data, ["pay"], tmp_path)
    table = tomllib.loads(text)["synthesizer"]["variables"]["pay"]
    assert (table["applies_if"], table["else_value"]) == ("age >= 20", "missing")
    assert "age" in study.released(data)
    check_study(study, study.read_data())


def test_a_code_in_the_place_of_a_gap_is_a_rule_of_the_study(tmp_path):
    """As in census extracts: 999998 is who did not answer, whom nothing tells, and 999999 who was
    not asked.
    """
    data = people().drop(columns="gift")
    data["age"] = data["age"] // 10 * 10
    data["pay"] = (
        data["pay"]
        .round()
        .mask(np.random.default_rng(2).random(N) < 0.05, 999_998)
        .where(data["age"] >= 20, 999_999)
    )
    codes = {"pay": [999_998, 999_999]}
    (rule,) = find_universes(data, ["pay"], ["age", "sex"], codes)
    assert (rule.when, rule.else_value, rule.zeros) == ("age >= 20", 999_999, False)
    table = derived(data, "pay", released=["age", "sex"], codes=codes)
    assert table[["columns", "rule", "verdict"]].to_numpy().tolist() == [
        [("age",), "universe", "warn"]
    ]
    text, study = study_of(data, ["pay"], tmp_path)
    stated = tomllib.loads(text)["synthesizer"]["variables"]["pay"]
    assert (stated["applies_if"], stated["else_value"], stated["codes"]) == (
        "age >= 20",
        999_999,
        [999_998, 999_999, "found"],
    )
    assert "age" in study.released(data)
    check_study(study, study.read_data())


def test_a_number_most_of_whose_records_share_a_value_tells_nothing_by_its_order():
    """Of those with occupation 0 half have the code: they stand together in its order, and are not
    told apart.
    """
    data, rng = people(), np.random.default_rng(2)
    data["pay"] = data["pay"].mask(data["age"] < 30, -7)
    data["occupation"] = np.where(
        (data["age"] < 30) | (rng.random(N) < 0.5), 0, rng.integers(10, 9_000, N)
    )
    found = derived(data, "pay", released=["occupation"], codes={"pay": [-7]})
    assert not {"status", "universe"} & {*found["rule"]}
    data["born"] = 2000 - data["age"] - rng.random(N)
    assert derived(data.drop(columns="age"), "pay", released=["born"], codes={"pay": [-7]})[
        "rule"
    ].tolist() == ["universe"]


def test_that_a_gift_is_zero_is_for_a_person_to_declare(tmp_path):
    data = people()
    data["answered"] = np.where(data["gift"] > 0, 1, 0)
    text, study = study_of(data, ["gift", "pay"], tmp_path)
    assert "answered" not in study.released(data)
    refuse_derived(study, data)
    assert "applies_if" not in tomllib.loads(text)["synthesizer"]["variables"]["gift"]
    declared = text.replace(
        '# applies_if = "answered != 0"', 'applies_if = "answered != 0"'
    ).replace("# else_value = 0", "else_value = 0")
    assert tomllib.loads(declared)["synthesizer"]["variables"]["gift"]["else_value"] == 0


def test_a_fine_column_that_would_leave_few_alike_is_left_to_be_banded(tmp_path):
    data = people()
    data["born"] = np.random.default_rng(3).integers(0, 400, N)
    data["pay"] = data["pay"].where(data["born"] >= 60)
    text, study = study_of(data.drop(columns="age"), ["pay"], tmp_path)
    assert "born" not in study.released(study.read_data())
    refuse_derived(study, study.read_data())
    assert "applies_if" not in tomllib.loads(text)["synthesizer"]["variables"]["pay"]
    assert '# applies_if = "born >= 60"' in text
