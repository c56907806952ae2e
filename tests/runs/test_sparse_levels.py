"""Levels of the predictors on which the weights leave little: said by the dry run and by the run,
from one place.
"""

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.runs.check_study import check_study
from riskweighted.runs.plan import plan_study
from riskweighted.runs.study import make_study

SETTINGS = {
    "data": {"path": "households.csv"},
    "scenario": {"known": "group", "synthetic": "income"},
    "synthesizer": {
        "name": "linear-regression",
        "formula": "income ~ C(region)",
        "transform": "log",
        "support": [0, 1e6],
    },
    "weights": {"schemes": ["unweighted", "marginal"]},
}


def households():
    rng = np.random.default_rng(2)
    region = np.array(["north"] * 110 + ["south"] * 86 + ["west"] * 4)
    return pd.DataFrame(
        {
            "group": rng.choice(["a", "b"], 200),
            "region": region,
            "income": np.exp(rng.normal(3, 0.3, 200)).round(2),
        }
    )


MODELS = {
    "linear-regression": SETTINGS["synthesizer"],
    "normal-mixture": {"gating": True, "components": 2},
    "transformation": {},
    "two-part": {},
    "two-part of mixtures": {"value": "normal-mixture"},
}


def planned(study, data):
    return plan_study(study, data, estimated=False)


@pytest.mark.parametrize("begin", [check_study, planned])
@pytest.mark.parametrize("model", MODELS)
def test_rare_levels_are_warned_of_by_name(begin, model):
    named = {
        "name": model.split(" ")[0],
        "formula": "income ~ C(region)",
        "support": [0, 1e6],
    } | MODELS[model]
    with pytest.warns(rw.SparseLevelWarning) as caught:
        found = begin(make_study(SETTINGS | {"synthesizer": named}), households())
    assert found.sparse_levels == {
        "unweighted": ("C(region)[T.west]",),
        "marginal": ("C(region)[T.west]",),
    }
    texts = [str(warning.message) for warning in caught]
    assert [text.split(":")[0] for text in texts] == ["scheme 'unweighted'", "scheme 'marginal'"]
    assert all(
        "1 of 3 levels" in text
        and "of 'C(region)'," in text
        and "west" not in text
        and "\n" not in text
        for text in texts
    )
    sums = study_sums(found) if begin is check_study else ()
    assert not any(f"{total:.2f}" in text for text in texts for total in sums)


def study_sums(checked):
    west = households()["region"].to_numpy() == "west"
    return [
        alpha.to_numpy()[west].sum()
        for scheme, alpha in checked.work.data_weights().items()
        if scheme != "unweighted"
    ]


def test_levels_with_enough_weight_are_not():
    data = households()
    plan = planned(make_study(SETTINGS), data.assign(region=np.resize(["north", "south"], 200)))
    assert plan.sparse_levels == {"unweighted": (), "marginal": ()}


@pytest.mark.parametrize(
    "model", ["linear-regression", "normal-mixture", "transformation", "two-part"]
)
def test_bounds_of_a_study_file_that_exclude_values_are_refused(model):
    named = {"name": model, "formula": "income ~ C(region)", "support": [0, 20]}
    narrow = SETTINGS | {"synthesizer": named}
    data = households()
    count = int((data["income"] > 20).sum())
    with pytest.raises(rw.InputError, match=f"excludes {count} of 200") as caught:
        check_study(make_study(narrow), data)
    assert str(data["income"].max()) not in str(caught.value)
