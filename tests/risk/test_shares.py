"""Where a risk comes from: against what a model without the source, or a scenario without it,
gives.
"""

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.intruder.world import make_world
from riskweighted.risk.expected_identification import expected_risk
from riskweighted.risk.shares import RiskShares

N = 600
pytestmark = pytest.mark.filterwarnings("ignore::riskweighted.common.errors.RiskWeightedWarning")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    region, grade, other = rng.integers(0, 3, N), rng.integers(0, 6, N), rng.integers(0, 4, N)
    income = np.exp(3 + 0.1 * region + 0.6 * grade + 0.15 * rng.normal(size=N)).round(2)
    smokes = np.where(rng.random(N) < 0.2 + 0.1 * region, "yes", "no")
    return pd.DataFrame(
        {"region": region, "grade": grade, "other": other, "income": income, "smokes": smokes}
    )


def shares_of(synthesizer, data, scenario, predictors):
    fit = rw.fit(synthesizer, data, random_seed=1, draws=100, tune=150, chains=2)
    return RiskShares(
        fit, make_world(data, scenario), np.ones(len(data), dtype=bool), predictors, 1
    )


@pytest.fixture(scope="module")
def scenario():
    return rw.Scenario(known=["region"], synthetic="income", radius=0.2)


@pytest.fixture(scope="module")
def one(data, scenario):
    model = rw.load_synthesizer("linear-regression")(
        "income ~ C(region) + C(grade) + C(other)", transform="log"
    )
    return shares_of(model, data, scenario, ["region", "grade", "other"])


def of(table, kind, names):
    return table.set_index(["kind", "names"]).loc[(kind, names)]


def test_without_a_predictor_the_risk_is_about_that_of_a_model_without_it(one, data, scenario):
    table = one.table()
    assert table.iloc[0][["kind", "names"]].tolist() == ["predictor", "grade"]
    assert abs(of(table, "predictor", "other")["share"]) < 0.02
    less = rw.fit(
        rw.load_synthesizer("linear-regression")("income ~ C(region) + C(other)", transform="log"),
        data,
        random_seed=1,
        draws=100,
    )
    truth = expected_risk(less, one.world, 20, 1).risk.mean()
    assert of(table, "predictor", "grade")["without"] == pytest.approx(truth, rel=0.15)
    assert one.figure > 1.5 * truth
    assert one.told > 0.5


def test_known_variables_and_groups_are_those_of_the_definitions(one, data):
    table = one.table()
    unknown = make_world(data, rw.Scenario(synthetic="income", radius=0.2))
    truth = expected_risk(one.fit, unknown, len(one.draws), 1).risk.mean()
    assert of(table, "known", "region")["without"] == pytest.approx(truth, rel=1e-9)
    risk = expected_risk(one.fit, one.world, len(one.draws), 1).risk
    rest = (data["region"] != 1).to_numpy()
    group = of(table, "group", "region = 1")
    assert group["without"] == pytest.approx(risk[rest].mean(), rel=1e-9)
    assert group["records"] == (~rest).sum()
    assert (table["share"].diff().dropna() <= 0).all()


@pytest.mark.slow
def test_a_chain_and_levels_have_shares_too(data):
    chain = rw.load_synthesizer("sequential")(
        ["smokes", "income"], predictors=["region", "grade", "other"]
    )
    several = rw.Scenario(known=["region"], synthetic=["smokes", "income"], radius=0.2)
    table = shares_of(chain, data, several, ["region", "grade", "other"]).table()
    assert table.iloc[0]["names"] == "grade"
    assert abs(of(table, "predictor", "other")["share"]) < 0.1
    level = rw.load_synthesizer("logistic")("smokes ~ C(region) + C(grade)")
    assert np.isfinite(
        shares_of(
            level, data, rw.Scenario(known=["region"], synthetic="smokes"), ["region", "grade"]
        ).table()["share"]
    ).all()


def test_codes_and_small_patterns_are_groups(data):
    coded = data.assign(
        income=data["income"].mask(data.index < 100, -9.0),
        street=np.where(data.index < 30, data.index + 1000, 0),
    )
    given = rw.Scenario(known=["street"], synthetic="income", radius=0.2, codes={"income": [-9]})
    chain = rw.load_synthesizer("sequential")(
        ["income"], predictors=["grade"], settings={"income": {"codes": [-9]}}
    )
    table = shares_of(chain, coded, given, ["grade"]).table()
    assert of(table, "code", "income: a code or no value")["records"] == 100
    assert of(table, "group", "known patterns of fewer than 5 records")["records"] == 30
