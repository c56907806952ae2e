"""Expected risk and influence of a chain, of posterior draws given by hand: against probabilities
by hand and against many datasets.
"""

import functools

import numpy as np
import pandas as pd
import pytest
from handmade import given_chain_fit
from records import kind_of
from scipy.special import expit

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.intruder.world import make_world
from riskweighted.risk import expected_identification
from riskweighted.risk.expected_identification import expected_risk
from riskweighted.risk.identification import identification_risks
from tests.tools.importance import reweighted_draws

N, CHAINS, DRAWS = 50, 2, 60
PLACES = [(chain, draw) for chain in range(CHAINS) for draw in range(DRAWS)]
VARIABLES = ("edu", "income", "smoke", "cigs")
OTHERS = (VARIABLES, ("edu", "income"), ("cigs",), ("edu", "smoke"))  # of the long part


@pytest.fixture(scope="module")
def confidential():
    rng = np.random.default_rng(1)
    smoke = rng.random(N) < 0.6
    income = np.round(np.exp(rng.normal(7, 0.6, N)), -1)
    income[:7], income[7:14] = np.nan, -8.0
    columns = {
        "area": rng.choice(["x", "y"], N),
        "edu": rng.choice(list("abc"), N),
        "income": income,
        "smoke": smoke,
    }
    return pd.DataFrame(
        columns | {"cigs": np.where(smoke, rng.integers(1, 30, N), 0).astype(float)}
    )


def chain_of(variables=VARIABLES, *, own=None, **settings):
    models = {
        "income": {"model": "linear-regression", "transform": "log", "codes": [-8]},
        "cigs": {"model": "linear-regression", "applies_if": "smoke == true", "else_value": 0},
    } | (own or {})
    return rw.load_synthesizer("sequential")(
        list(variables),
        predictors=["area"],
        settings={name: models[name] for name in variables if name in models},
        **settings,
    )


@pytest.fixture(scope="module")
def fit(confidential):
    return given_chain_fit(chain_of(), confidential)


def own_masses(*arguments, **settings):
    return np.array(list(expected_identification.own_masses(*arguments, **settings))).T


def scenario_of(*names, **settings):
    codes = {"income": [-8]} if "income" in names else {}
    return rw.Scenario(
        **({"known": ["area"], "synthetic": names, "radius": 0.3, "codes": codes} | settings)
    )


def z_scores(fit, scenario, frames, draws=CHAINS * DRAWS):
    """Of each record's expected risk against the mean of eq. 1 over many datasets."""
    table = rw.expected_identification_risk(fit, scenario, draws=draws, random_seed=1)
    risks = identification_risks(make_world(fit.confidential, scenario).pair(frames))
    # where it never happened its variance is not seen
    counted = np.maximum(risks.var(axis=0), 0.8 * table["risk"])
    return (table["risk"] - risks.mean(axis=0)) / np.sqrt(
        table["se"] ** 2 + counted / len(frames)
    ).clip(lower=1e-6)


def many(fit, repeats):
    seeds = np.random.SeedSequence(5).spawn(repeats * len(PLACES))
    return [
        fit.released(fit.draw(*place), np.random.default_rng(seed))
        for place, seed in zip(PLACES * repeats, seeds, strict=True)
    ]


def test_of_two_binary_variables_it_is_the_product_by_hand():
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"a": rng.random(N) < 0.3, "b": rng.random(N) < 0.5})
    fit = given_chain_fit(rw.load_synthesizer("sequential")(["a", "b"]), data, spread=1.0)
    found = own_masses(
        fit, make_world(data, rw.Scenario(synthetic=["a", "b"])), PLACES, random_seed=1
    )
    for mass, (chain, draw) in zip(found.T, PLACES, strict=True):
        theta = fit.draw(chain, draw)
        of_a, of_b = expit(theta["a"]["coefficient"][0]), theta["b"]["coefficient"]
        true_b = expit(of_b[0] + of_b[1] * (data["a"] - data["a"].mean()))
        by_hand = np.where(data["a"], of_a, 1 - of_a) * np.where(data["b"], true_b, 1 - true_b)
        np.testing.assert_allclose(mass, by_hand, rtol=1e-10)


def test_one_variable_alone_is_the_average_over_those_before_it():
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"a": rng.random(N) < 0.3, "b": rng.random(N) < 0.5})
    fit = given_chain_fit(rw.load_synthesizer("sequential")(["a", "b"]), data, spread=1.0)
    world, theta = make_world(data, rw.Scenario(synthetic="b")), fit.draw(0, 0)
    of_a, of_b = expit(theta["a"]["coefficient"][0]), theta["b"]["coefficient"]
    high, low = (expit(of_b[0] + of_b[1] * (a - data["a"].mean())) for a in (1, 0))
    found = own_masses(fit, world, [(0, 0)] * 400, random_seed=1)
    exact = np.where(
        data["b"], of_a * high + (1 - of_a) * low, of_a * (1 - high) + (1 - of_a) * (1 - low)
    )
    assert np.isclose(found, high).any()  # each is that given one drawn value of a
    np.testing.assert_allclose(found.mean(axis=1), exact, atol=5 * abs(high - low) * 0.5 / 20)
    first = own_masses(fit, make_world(data, rw.Scenario(synthetic="a")), [(0, 0)], random_seed=1)[
        :, 0
    ]
    np.testing.assert_allclose(first, np.where(data["a"], of_a, 1 - of_a))


def test_a_missing_value_and_a_code_have_the_mass_of_their_status(confidential):
    few = confidential.assign(
        income=confidential["income"].mask(confidential.index.isin([4, 5, 6, 11, 12, 13]), 900.0)
    )
    fit = given_chain_fit(chain_of(), few)
    mass = own_masses(fit, make_world(few, scenario_of("income")), [(0, 3)], random_seed=1)[:, 0]
    theta, income = fit.draw(0, 3), few["income"]
    # too few events for slopes
    code, missing = (
        expit(theta[f"income is {what}"]["coefficient"][0]) for what in ("-8", "missing")
    )
    np.testing.assert_allclose(mass[income == -8], code)
    np.testing.assert_allclose(mass[income.isna()], (1 - code) * missing)
    assert (mass[income > 0] < (1 - code) * (1 - missing)).all()


@pytest.fixture(scope="module")
def frames(fit):
    return functools.cache(lambda repeats: many(fit, repeats))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "repeats"),
    [
        (("income", "cigs"), 3),
        *(pytest.param(names, 8, marks=pytest.mark.long) for names in OTHERS),
    ],
)
def test_it_is_the_average_of_eq_1_over_many_datasets(fit, frames, names, repeats):
    """Levels, an amount with a code and gaps, a structural value; variables left out of the
    scenario are drawn freely.
    """
    z = z_scores(fit, scenario_of(*names), frames(repeats))
    assert np.abs(z).max() < 4.5
    assert np.sqrt((z**2).mean()) < 1.4
    assert abs(z.mean()) < 0.6


@pytest.mark.long
@pytest.mark.slow
def test_rules_cut_the_mass_and_what_is_left_of_it(confidential):
    data = confidential.assign(most=confidential["cigs"] + 12)
    banned = "edu == 'a' and smoke == false"
    data.loc[data["edu"].eq("a") & ~data["smoke"], "edu"] = "b"
    own = {
        name: {"model": "linear-regression", "formula": f"{name} ~ 1"} for name in ("cigs", "most")
    }
    chain = chain_of(
        ("edu", "smoke", "cigs", "most"), own=own, order=[("cigs", "most")], forbidden=[banned]
    )
    fit = given_chain_fit(chain, data, spread=0.1)
    frames = many(fit, 4)
    for names in (("edu", "smoke", "cigs", "most"), ("most",)):
        z = z_scores(fit, scenario_of(*names, radius=6.0, radius_kind="absolute"), frames)
        assert np.abs(z).max() < 4.5, names
        assert abs(z.mean()) < 0.6, names


@pytest.mark.long
@pytest.mark.slow
def test_a_spike_of_the_chain_may_lie_in_the_ball_of_an_amount(confidential):
    own = {"cigs": {"model": "linear-regression", "codes": [0]}}
    fit = given_chain_fit(chain_of(("cigs", "smoke"), own=own), confidential)
    z = z_scores(
        fit,
        scenario_of("cigs", "smoke", radius=6.0, radius_kind="absolute", codes={}),
        many(fit, 6),
    )
    assert np.abs(z).max() < 4.5
    assert abs(z.mean()) < 0.6


def test_a_value_drawn_inside_a_ball_is_released_there(fit, confidential):
    """Were it not, the smokers' numbers would follow from incomes outside: the truncated path is
    that of the data itself at radius 0.
    """
    world = make_world(confidential, scenario_of(*VARIABLES, radius=0.0))
    ours = own_masses(fit, world, [(1, 5)], random_seed=1)[:, 0]
    again = own_masses(fit, world, [(1, 5)], random_seed=2)[:, 0]
    np.testing.assert_allclose(ours, again)  # nothing is left to chance
    assert (ours > 0).all()


@pytest.mark.slow
def test_a_model_without_mass_is_counted(fit, confidential, monkeypatch):
    world = make_world(confidential, scenario_of("edu", "income", "smoke"))
    exactly = own_masses(fit, world, PLACES, random_seed=1).mean(axis=1)
    monkeypatch.delattr(kind_of(fit.blocks["income"]), "mass")
    counted = own_masses(fit, world, PLACES, random_seed=1).mean(axis=1)
    assert abs(counted - exactly).max() < 0.05
    assert counted.mean() == pytest.approx(exactly.mean(), rel=0.15)


def test_the_same_seed_gives_the_same_and_a_coarse_precision_widens_balls(fit, confidential):
    world = make_world(confidential, scenario_of("income"))
    once, again = (expected_risk(fit, world, 10, random_seed=4) for _ in range(2))
    np.testing.assert_array_equal(once.blocks, again.blocks)
    rough = fit.with_drawing(rw.DrawingSettings({"income": 10_000.0}))
    coarse = expected_risk(rough, world, 10, random_seed=4)
    amounts = (confidential["income"] > 0).to_numpy()
    assert (coarse.own_mass[amounts] == 0).all()  # no multiple of it lies in a ball
    np.testing.assert_allclose(coarse.own_mass[~amounts], once.own_mass[~amounts], atol=1e-9)


@pytest.mark.slow
def test_influence_is_the_sum_of_that_of_the_variables(confidential):
    alpha = np.where(np.arange(N) % 4 == 0, 0.0, 0.5)
    fit = given_chain_fit(chain_of(), confidential, alpha)
    table, clusters = rw.influence(fit), rw.influence(fit, cluster="area")
    # (S, V, n)
    terms = np.array(
        [[fit.contributions(fit.draw(*place), name) for name in VARIABLES] for place in PLACES]
    )
    np.testing.assert_allclose(table["lipschitz"], np.abs(terms).max(axis=0).sum(axis=0))
    np.testing.assert_allclose(table["range"], np.ptp(terms, axis=0).sum(axis=0))
    np.testing.assert_allclose(table["information"], terms.var(axis=0, ddof=1).sum(axis=0) / 2)
    np.testing.assert_allclose(
        terms.sum(axis=1), [fit.contributions(fit.draw(*place)) for place in PLACES]
    )
    assert (table[alpha == 0] == 0).all(axis=None)
    # each variable at its worst
    assert (table["range"] >= np.ptp(terms.sum(axis=1), axis=0) - 1e-12).all()
    inside = (confidential["area"] == "x").to_numpy()
    assert clusters.loc["x", "range"] == pytest.approx(
        np.ptp(terms[:, :, inside].sum(axis=2), axis=0).sum()
    )
    attributed = rw.influence(fit, scenario_of("edu", "income"), random_seed=1)
    np.testing.assert_allclose(attributed["attributable"][alpha == 0], 0, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda fit: rw.expected_identification_risk(fit, rw.Scenario(synthetic="area")),
            "valid are the fit's variables",
        ),
        (
            lambda fit: rw.expected_identification_risk(fit, scenario_of("edu"), draws=121),
            "at most the 120 that the fit has, got 121",
        ),
        (
            lambda fit: rw.influence(fit, scenario_of("edu"), cluster="area"),
            "leave out scenario, or cluster",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(fit, call, text):
    with pytest.raises(InputError, match=text):
        call(fit)


def test_numbers_drawn_as_levels_are_matched_by_equality(confidential):
    data = confidential.assign(grade=np.arange(N) % 3)
    chain = rw.load_synthesizer("sequential")(
        ["edu", "grade"], settings={"grade": {"model": "ordinal", "levels": [0, 1, 2]}}
    )
    fit = given_chain_fit(chain, data)
    assert set(fit.released(fit.draw(0, 0), np.random.default_rng(1))["grade"]) <= {0, 1, 2}
    with pytest.raises(InputError, match=r"name it in scenario\.categorical"):
        rw.expected_identification_risk(fit, rw.Scenario(synthetic=["edu", "grade"]))
    equal = rw.Scenario(synthetic=["edu", "grade"], categorical="grade")
    assert rw.expected_identification_risk(fit, equal)["own_mass"].between(0.01, 0.5).all()


def test_neighbouring_weights_of_a_chain_are_those_of_its_blocks_together(fit, confidential):
    """The logarithms are sums over the blocks; under the same weights nothing is to be done."""
    assert reweighted_draws(fit, fit.alphas).spread == 0
    other = fit.alphas.assign(income=0.999 * fit.alphas["income"])
    logs = [
        ((other - fit.alphas)["income"].to_numpy() * _log_density(fit, "income", *place)).sum()
        for place in np.ndindex(2, 60)
    ]
    found = reweighted_draws(fit, other)
    assert found.spread == pytest.approx(np.std(logs, ddof=1))
    assert found.weights.sum() == pytest.approx(1)
    assert found.accepted


def _log_density(fit, variable, *place):
    """What the records add to a variable's log posterior at one draw, (n,)."""
    return fit.contributions(fit.draw(*place), variable)


def test_the_accountant_takes_a_chain(fit):
    release = rw.Release.of("several", fit, L=5)
    assert release.lipschitz == pytest.approx(rw.influence(fit)["lipschitz"].max())
