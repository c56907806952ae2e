"""Units as sampling units: of a survey design, and of regressions without one."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from houses import households

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.intruder.world import make_world
from riskweighted.measures.analyses import ESTIMATE, coefficients
from riskweighted.measures.context import Context, EvaluationInputs
from riskweighted.measures.survey_values import checked_design
from riskweighted.runs.undeclared import _of_design
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.utility.regressions import checked_analysis

UNITS = rw.Units(id="house", role="relation", first="head", unit_level=["rent"])
SCENARIO = rw.Scenario(known=["region"], synthetic=["age", "rent"], radius=0.2)


@pytest.fixture(scope="module")
def data():
    made = households(80)
    of_house = made["house"].astype("category").cat.codes.to_numpy()
    return made.assign(
        w=1.0 + of_house % 3, h=np.where(of_house < 40, "a", "b"), area=of_house // 4
    )


def settings(**more):
    return rw.EvaluationSettings(survey="w", strata="h", **more)


def test_a_unit_is_the_sampling_unit_unless_psu_is_stated(data):
    alone = checked_design(data, settings(), ["age"])
    of_units = checked_design(data, settings(), ["age"], UNITS)
    assert alone.df == len(data) - 2
    assert of_units.df == 80 - 2
    assert of_units.columns == ("w", "h", "house")
    assert checked_design(data, settings(psu="area"), ["age"], UNITS).df == 20 - 2


def test_units_in_several_strata_whose_weights_differ_are_refused(data):
    second = data.index == data.index[data["house"] == data["house"].mode()[0]][0]
    moved = data.assign(h=data["h"].mask(second, "c").replace("c", "a"))
    moved.loc[second, "h"] = np.where(data.loc[second, "h"] == "a", "b", "a")
    assert checked_design(moved, settings(), ["age"], UNITS).df == 81 - 2, "one in each"
    weighed = moved.assign(w=moved["w"] + second)
    with pytest.raises(InputError, match="strata 'h' and the survey weights differ within 1 of 80"):
        checked_design(weighed, settings(), ["age"], UNITS)
    study = SimpleNamespace(
        units=UNITS,
        evaluation=settings(),
        weights=SimpleNamespace(survey="w"),
    )
    told = list(_of_design(study, weighed))
    assert [each.partition(":")[0] for each in told] == [
        "'w' differs within 1 of 80 units",
        "'h' differs within 1 of 80 units",
    ]
    assert list(_of_design(study, data)) == []


def test_regressions_without_a_survey_have_errors_robust_to_clusters(data):
    formula = "age ~ rent + C(region)"
    world = make_world(data, SCENARIO, UNITS)
    subject = EvaluationInputs(
        world, rw.EvaluationSettings(), analyses=[checked_analysis(data, formula)]
    )
    context = Context("confidential", subject, (data,), np.random.default_rng(1), paired=True)
    found = {
        value.term.split(" in ")[0]: value
        for value in coefficients(context, ESTIMATE, subject.analyses[0], "{term}")
    }
    X = np.column_stack([np.ones(len(data)), data["rent"], data["region"] == "s"]).astype(float)  # noqa: N806
    y = data["age"].to_numpy()
    bread = np.linalg.inv(X.T @ X)
    slopes = bread @ X.T @ y
    scores = pd.DataFrame(X * (y - X @ slopes)[:, None]).groupby(data["house"].to_numpy()).sum()
    covariance = 80 / 79 * bread @ (scores.T.to_numpy() @ scores.to_numpy()) @ bread
    value = found["rent"]
    assert value.value == pytest.approx(slopes[1])
    half = (value.interval[1] - value.interval[0]) / 2
    assert half == pytest.approx(1.990450 * np.sqrt(covariance[1, 1]), rel=1e-4)
    assert "clusters by house" in value.rule
    assert value.definition.endswith("(Liang & Zeger 1986)")


def test_what_is_of_the_unit_has_the_mean_survey_weight(data):
    models = {name: {"model": "linear-regression"} for name in ("age", "rent")}
    chain = rw.load_synthesizer("sequential")(("age", "rent"), ["region"], models, units=UNITS)
    rng = np.random.default_rng(2)
    weights = pd.Series(rng.uniform(0.5, 2, len(data)), data.index)
    weights /= weights.mean()
    prepared = prepare_sequence(chain, data, weights)
    survey = {block.variable: (block.member, block.model.survey) for block in prepared.blocks}
    member, of_rent = survey["rent"]
    assert member.sum() == 80
    means = weights.groupby(data["house"]).transform("mean")
    assert of_rent.to_numpy() == pytest.approx(means[member].to_numpy())
    member, of_age = survey["age"]
    assert of_age.to_numpy() == pytest.approx(weights[member].to_numpy())
