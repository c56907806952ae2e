"""What is said first of a study: what leaves, what is a function of what, what the columns of a
survey's design cost.
"""

import numpy as np
import pandas as pd
import pytest

from riskweighted.runs.release_remarks import ids_first, release_remarks
from riskweighted.runs.study import Study, make_study
from riskweighted.suggest.evidence import UNIT_ID, ColumnKind
from riskweighted.suggest.kinds import kinds_of

N = 600


def panel() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    wage = np.round(rng.lognormal(7, 0.5, N), 1)
    return pd.DataFrame(
        {
            "region": rng.choice(list("abc"), N),
            "firm": np.repeat(1_000 + 7 * np.arange(100), 6),
            "weight_x": np.round(rng.uniform(1, 9, N), 3),
            "wage": wage,
            "lwage": np.log(wage).round(6),
            "hours": np.round(rng.gamma(4, 10, N), 1),
        }
    )


def study_of(synthetic: list[str], known=("region",), **release) -> Study:
    chain = {"name": "sequential", "predictors": list(known), "variables": {}}
    scenario = {"known": list(known), "synthetic": synthetic}
    return make_study(
        {
            "data": {"path": "x.csv"},
            "scenario": scenario,
            "synthesizer": chain,
            "release": release,
            "seed": 1,
        }
    )


def told(data: pd.DataFrame, synthetic: list[str], known=("region",), **release) -> str:
    study = study_of(synthetic, known, **release)
    return "\n".join(release_remarks(study, data, kinds_of(data)))


def test_a_target_that_is_a_function_of_another_is_to_be_computed():
    said = told(panel(), ["wage", "hours", "lwage"])
    assert "lwage is a function of 'wage'" in said
    assert "hours is" not in said


@pytest.mark.parametrize(("square", "named"), [("inc", True), ("other", False)])
def test_a_square_is_one_too(square, named):
    data = panel().assign(
        inc=lambda frame: frame["wage"], other=np.random.default_rng(2).lognormal(7, 0.5, N)
    )
    data["incsq"] = data[square] ** 2
    assert ("incsq is a function of 'inc'" in told(data, ["inc", "incsq"])) == named


def test_a_weight_on_offer_is_said_to_single_out_and_none_that_leaves_is_offered():
    data = panel()
    said = told(data, ["wage"])
    (line,) = (line for line in said.splitlines() if "weight_x" in line)
    alone = int((data.groupby(["region", "weight_x"])["wage"].transform("size") == 1).sum())
    assert f"0 records are alone in what is released now, with weight_x (weight) {alone:,}" in line
    assert "weight_x" not in told(data, ["wage"], columns=["weight_x"])


def test_one_record_that_is_alone_is_one():
    assert "1 record is alone in what is released now" in told(
        panel().assign(one=np.arange(N) == 0), ["wage"], columns=["one"]
    )


def test_units_that_are_not_named_are_told():
    assert "100 units in 600 records" in told(panel(), ["wage"])
    assert "100 units" not in told(panel(), ["wage"], unit="firm")


def test_what_numbers_members_or_groups_whole_units_is_no_other_unit():
    data = panel().assign(plant=lambda frame: frame["firm"] // 70)
    data["worker"] = data.groupby("firm").cumcount()
    named = ["firm", "plant", "worker"]
    kinds = [ColumnKind(name, UNIT_ID, "stated") for name in named]
    (line,) = (
        line
        for line in release_remarks(study_of(["wage"], unit="firm"), data, kinds)
        if any(name in line for name in named)
    )
    assert "plant groups" in line
    assert "made of whole units of 'firm'" in line


def test_a_release_of_one_column_is_said_to_be_one_and_stands_first():
    said = told(panel(), ["wage"], known=()).splitlines()
    assert said[0].startswith("analysts get wage alone")


def test_ids_stand_before_other_names():
    assert ids_first(["hours", "firm", "wage"], kinds_of(panel())) == ["firm", "hours", "wage"]
