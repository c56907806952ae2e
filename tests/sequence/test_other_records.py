"""A fit for other records: what it says of a record is what it said of it among those that it was
fitted to, what was found in the file stays, and for the rest of the file it draws what the model
has.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from laplace_fit import laplace_fit
from riskweighted_models.linear_regression import LinearRegression
from riskweighted_models.logistic import Logistic
from riskweighted_models.negative_binomial import NegativeBinomial
from riskweighted_models.normal_mixture import NormalMixture
from riskweighted_models.transformation import Transformation
from riskweighted_models.two_part import TwoPart

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.disclosure.attribution import attribution_of_fit
from riskweighted.disclosure.attribution_inputs import AttributionRequest
from riskweighted.evaluation.mechanism import find_mechanism
from riskweighted.intruder.world import make_world
from riskweighted.measures.evaluation_settings import EvaluationSettings
from riskweighted.risk.ball_masses import ball_masses


def people(n, seed=1):
    """A level, an amount that some do not have, and one that is missing at times."""
    rng = np.random.default_rng(seed)
    region, age = rng.choice(list("abc"), n, p=[0.5, 0.3, 0.2]), rng.integers(20, 70, n)
    work = np.where(rng.random(n) < 0.6 + 0.1 * (region == "a"), "yes", "no")
    wage = np.where(work == "yes", np.exp(7 + 0.01 * age + 0.4 * rng.normal(size=n)).round(), 0.0)
    rent = np.exp(5 + 0.2 * (work == "yes") + 0.3 * rng.normal(size=n)).round()
    rent[rng.random(n) < 0.05] = np.nan
    return pd.DataFrame({"region": region, "age": age, "work": work, "wage": wage, "rent": rent})


FILE = people(600)
CHAIN = rw.load_synthesizer("sequential")(
    ["work", "wage", "rent"],
    predictors=["region", "age"],
    settings={"wage": {"codes": [0.0]}},
    implied=[("work == 'no'", "wage == 0")],
)
SCENARIO = rw.Scenario(
    known=["region"], synthetic=["work", "wage", "rent"], radius=0.2, codes={"wage": [0.0]}
)
SETTINGS = EvaluationSettings(risk_draws=10)
# whole regions stand together, as in the parts of a file
COMPLETE = (
    FILE.dropna()
    .assign(visits=lambda rows: np.random.default_rng(2).poisson(rows["age"] / 10))
    .sort_values("region", kind="stable", ignore_index=True)
)
PARTS = [rows for _, rows in COMPLETE.groupby("region")]
MODELS = {
    "normal-mixture": NormalMixture("rent ~ region + spline(age)"),
    "negative-binomial": NegativeBinomial("visits ~ region + age"),
    "transformation": Transformation("rent ~ region + age"),
    "transformation found": Transformation("rent ~ region", support=(80.0, 300.0, "found")),
    "two-part": TwoPart("wage ~ region + spline(age)"),
    "two-part of a mixture": TwoPart("wage ~ region", value="normal-mixture"),
    "logistic": Logistic("work ~ region + spline(age)"),
}


def scenario_of(target):
    return rw.Scenario(
        known="region", synthetic=target, **({} if target == "work" else {"radius": 0.2})
    )


@pytest.fixture(scope="module")
def fit():
    """Of a third of the file, under weights of its records' places."""
    some = FILE[::3]
    alpha = pd.DataFrame(
        {name: np.linspace(0.3, 1, len(some)) for name in CHAIN.variables}, some.index
    )
    return laplace_fit(CHAIN, some, alpha, draws=40)


def test_of_its_own_records_it_is_the_fit(fit):
    held, theta = fit.on(fit.confidential, fit.alphas), fit.thetas(0, 3)
    for name in CHAIN.variables:
        assert np.allclose(held.contributions(theta, name), fit.contributions(theta, name))
    mine, theirs = (
        find_mechanism("a", each, make_world(fit.confidential, SCENARIO), SETTINGS, 1)
        for each in (held, fit)
    )
    assert np.allclose(mine.risk.blocks, theirs.risk.blocks)
    assert np.allclose(mine.influence, theirs.influence, equal_nan=True)
    one, other = (next(each.synthetic(1, random_seed=5)) for each in (held, fit))
    pd.testing.assert_frame_equal(one, other)


@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.ExplosionWarning")
def test_the_rest_of_the_file_is_drawn_as_the_model_has_it(fit):
    whole = fit.on(FILE, pd.DataFrame(1.0, FILE.index, list(CHAIN.variables)))
    drawn = pd.concat(whole.synthetic(20, random_seed=2))
    own = pd.concat(fit.synthetic(20, random_seed=3))
    assert len(drawn) == 20 * len(FILE)
    for name, of in {"work": "yes", "wage": 0.0}.items():
        assert (drawn[name] == of).mean() == pytest.approx((own[name] == of).mean(), abs=0.03)
    assert drawn["rent"].isna().mean() == pytest.approx(own["rent"].isna().mean(), abs=0.02)
    medians = [each[each["work"] == "yes"]["wage"].median() for each in (drawn, own)]
    assert medians[0] == pytest.approx(medians[1], rel=0.05)


def test_parts_of_a_file_have_the_risk_of_the_whole(fit):
    alphas = pd.DataFrame(1.0, FILE.index, list(CHAIN.variables))
    parts = np.zeros(len(FILE))
    own_mass = find_mechanism(
        "a", fit.on(FILE, alphas), make_world(FILE, SCENARIO), SETTINGS, 1
    ).risk.own_mass
    for region in "abc":
        rows = np.flatnonzero(FILE["region"] == region)
        part = FILE.iloc[rows]
        held = fit.on(part, alphas.iloc[rows])
        parts[rows] = find_mechanism(
            "a", held, make_world(part, SCENARIO), SETTINGS, 1
        ).risk.own_mass
    assert parts.mean() == pytest.approx(own_mass.mean(), rel=0.05)


@pytest.mark.filterwarnings("ignore::riskweighted.ExplosionWarning")  # of 20 draws
def test_scores_of_trees_are_those_of_records_whose_fold_nobody_knows():
    chain = replace(CHAIN, learned=["region", "age"])
    fit = laplace_fit(chain, FILE[::3], draws=20)
    held = fit.on(FILE, np.ones(len(FILE)))
    drawn = pd.concat(held.synthetic(5, random_seed=2))
    assert (drawn["work"] == "yes").mean() == pytest.approx(
        (FILE["work"] == "yes").mean(), abs=0.06
    )


def test_it_refuses_weights_beyond_one_and_lacking_columns(fit):
    with pytest.raises(InputError):
        fit.on(FILE[:10], np.full(10, 1.5))
    with pytest.raises(InputError):
        fit.on(FILE[:10].drop(columns="age"), np.ones(10))
    with pytest.raises(InputError):
        fit.on(FILE[:10].assign(work="abroad"), np.ones(10))


@pytest.mark.parametrize("name", MODELS)
def test_parts_give_what_the_whole_gives(name):
    alpha = pd.Series(np.linspace(0.2, 1, len(COMPLETE)), COMPLETE.index)
    whole = laplace_fit(MODELS[name], COMPLETE, alpha, draws=12)
    theta, scenario = whole.draw(0, 5), scenario_of(MODELS[name].target)
    terms, added = whole.block.terms(theta), whole.contributions(theta)
    masses = ball_masses(whole, make_world(COMPLETE, scenario))(
        whole.thetas(0, 5), np.random.default_rng(0), COMPLETE
    )
    for part in PARTS:
        held = whole.on(part, alpha.loc[part.index])
        of_part = ball_masses(held, make_world(part, scenario))(
            held.thetas(0, 5), np.random.default_rng(0), part
        )
        close = {"rtol": 1e-12, "atol": 1e-12}
        np.testing.assert_allclose(held.block.terms(theta), terms[part.index], **close)
        np.testing.assert_allclose(held.contributions(theta), added[part.index], **close)
        np.testing.assert_allclose(of_part, masses[part.index], **close)
        assert held.precision == whole.precision
        assert held.diagnostics.equals(whole.diagnostics)
        assert held.of_part
    assert not whole.of_part


@pytest.mark.parametrize("name", ["normal-mixture", "two-part", "logistic"])
def test_parts_of_a_centred_file_give_what_the_whole_gives(name):
    model, scenario = MODELS[name], scenario_of(MODELS[name].target)
    weights = rw.centred_weights("mix+(t=0.5)", COMPLETE, scenario)
    whole = laplace_fit(model, COMPLETE, weights, draws=5)
    theta = whole.draw(0, 2)
    added, uncentred = whole.contributions(theta), whole.block.alpha * whole.block.terms(theta)
    assert not np.allclose(added, uncentred)
    for part in PARTS:
        held = whole.on(part, rw.centred_weights("mix+(t=0.5)", part, scenario))
        np.testing.assert_allclose(
            held.contributions(theta), added[part.index], rtol=1e-10, atol=1e-10
        )
    with pytest.raises(InputError, match="the weights of this fit are centred"):
        whole.on(COMPLETE, None)


def test_a_part_is_attributed_from_its_own_copies():
    model, part = MODELS["two-part"], PARTS[0]
    held = laplace_fit(model, COMPLETE[::2], draws=60).on(part, np.ones(len(part)))
    world = make_world(part, scenario_of("wage"))
    table = attribution_of_fit(held, world, AttributionRequest(shuffled=False), L=5, random_seed=1)
    assert table["with"].between(0, 1).all()
    mechanism = find_mechanism("a", held, world, EvaluationSettings(risk_draws=40), 1)
    assert len(mechanism.influence) == len(mechanism.risk.risk) == len(part)
    drawn = next(held.synthetic(1, random_seed=3))
    assert drawn.index.equals(part.index)
    assert drawn.drop(columns="wage").equals(part.drop(columns="wage"))


def test_what_is_of_the_file_stays_of_the_file():
    """A part of coarse and small values is drawn as finely as the file, and no value that the file
    may have is told of as an explosion.
    """
    rng = np.random.default_rng(4)
    gain = np.round(np.exp(5.5 + 0.8 * rng.normal(size=300)), -1).clip(40)
    rows = pd.DataFrame({"gain": np.r_[3.0, 7.0, 11.0, 20_000.0, 21_000.0, 5.0, gain[6:]]})
    model = LinearRegression("gain ~ 1")
    whole, part = laplace_fit(model, rows, draws=30), rows[rows["gain"].between(40, 60)]
    held, alone = whole.on(part, None), laplace_fit(model, part, draws=30)
    assert (whole.precision, held.precision, alone.precision) == (1.0, 1.0, 10.0)
    values = pd.Series([5_000.0, 250_000.0])
    assert (held.block.count_far(values), alone.block.count_far(values)) == (1, 2)
    again = held.on(rows, None)
    assert again.precision == 1.0
    assert again.block.count_far(values) == whole.block.count_far(values) == 1


def test_a_part_may_lie_beyond_bounds_that_were_found_in_the_file():
    rows = COMPLETE.assign(rent=COMPLETE["rent"].clip(90, 280))
    rows.loc[:7, "rent"] = 20.0
    whole = laplace_fit(MODELS["transformation found"], rows, draws=5)
    theta, part = whole.draw(0, 1), rows[:8]
    held = whole.on(part, np.ones(8))
    np.testing.assert_allclose(held.block.terms(theta), whole.block.terms(theta)[:8], rtol=1e-12)
    public = replace(MODELS["transformation found"], support=(80.0, 300.0))
    with pytest.raises(InputError, match="excludes 8 of 8"):
        laplace_fit(public, rows[8:], draws=5).on(part, np.ones(8))
