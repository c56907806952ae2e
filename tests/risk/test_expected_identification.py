"""Expected identification risk and influence, of posterior draws given by hand: no sampler is
run.
"""

import numpy as np
import pandas as pd
import pytest
from handmade import given_fit
from records import kind_of
from scipy import stats

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.contract.synthesizer import ContractError
from riskweighted.intruder.world import make_world
from riskweighted.risk.expected_identification import ExpectedRisk, expected_risk
from riskweighted.risk.identification import identification_risks

OTHER = rw.Scenario(known=[], synthetic="area", categorical=["area"])
CHAINS, DRAWS, N = 2, 60, 80
SCENARIO = rw.Scenario(known=[], synthetic="jobs", radius=0.2)


@pytest.fixture(scope="module")
def confidential():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "jobs": rng.negative_binomial(5, 5 / 55, N),
            "area": rng.choice(["a", "b"], N, p=[0.8, 0.2]),
        }
    )
    return frame.set_axis([f"r{place}" for place in range(N)])


def terms_at(fit, *place):
    """log p(y_i | theta) at one draw, (n,)."""
    return fit.block.terms(fit.block.draw(*place))


def exact(fit, draws):
    """p_i (1 - (1 + (n - 1) p_i) / n) over the draws, for one pattern without predictors (METHODS
    section 2).
    """
    values = fit.confidential["jobs"].to_numpy()
    low, high = np.ceil(0.8 * values - 1e-9), np.floor(1.2 * values + 1e-9)
    found = []
    for place in draws:
        mean = np.exp(fit.block.draw(*place)["intercept"][0])
        law = stats.nbinom(5, 5 / (5 + mean))
        p = law.cdf(high) - law.cdf(low - 1)
        found.append(p * (1 - (1 + (N - 1) * p) / N))
    return np.mean(found, axis=0)


def test_it_is_the_closed_form_without_predictors(confidential):
    fit = given_fit(confidential)
    table = rw.expected_identification_risk(fit, SCENARIO, draws=CHAINS * DRAWS, random_seed=1)
    assert list(table) == ["risk", "se", "own_mass"]
    assert table.index.equals(confidential.index)
    truth = exact(fit, [(chain, draw) for chain in range(CHAINS) for draw in range(DRAWS)])
    z = (table["risk"] - truth) / np.maximum(table["se"], 1e-4)
    assert abs(table["risk"].mean() - truth.mean()) < 0.002
    assert np.abs(z).max() < 5
    assert 0.7 < np.sqrt((z**2).mean()) < 1.4  # the errors are those that are seen


def test_it_is_the_average_of_eq_1_over_many_datasets(confidential):
    fit = given_fit(confidential, draws=200)
    scenario = rw.Scenario(known=["area"], synthetic="jobs", radius=0.3)
    table = rw.expected_identification_risk(fit, scenario, draws=400, random_seed=2)
    risks = identification_risks(
        make_world(confidential, scenario).pair(fit.synthesize(400, random_seed=5))
    )
    error = np.sqrt(table["se"] ** 2 + risks.var(axis=0) / 400)
    assert np.abs((table["risk"] - risks.mean(axis=0)) / error).max() < 5


def test_a_record_alone_in_its_pattern_is_found_by_it(confidential):
    alone = confidential.assign(area=["only", *["rest"] * (N - 1)])
    found = {}
    for rule in ("protect", "paper"):
        scenario = rw.Scenario(known=["area"], synthetic="jobs", radius=0.2, singletons=rule)
        found[rule] = rw.expected_identification_risk(
            given_fit(alone), scenario, draws=40, random_seed=1
        ).iloc[0]
    assert found["protect"]["risk"] == pytest.approx(found["protect"]["own_mass"])
    assert found["protect"]["risk"] > 0
    assert found["paper"]["risk"] == 0


def test_the_same_seed_gives_the_same_and_blocks_leave_one_out(confidential):
    fit, world = given_fit(confidential), make_world(confidential, SCENARIO)
    once, again = (expected_risk(fit, world, 50, random_seed=4) for _ in range(2))
    np.testing.assert_array_equal(once.blocks, again.blocks)
    assert once.sizes.sum() == 50
    rest = [once.without(block) for block in range(len(once.sizes))]
    np.testing.assert_allclose(np.average(rest, axis=0, weights=50 - once.sizes), once.risk)
    assert ((once.outside >= 0) & (once.outside < 1)).all()


def test_a_synthesizer_without_mass_is_averaged_over_draws(confidential, monkeypatch):
    fit = given_fit(confidential)
    exactly = rw.expected_identification_risk(fit, SCENARIO, draws=100, random_seed=1)
    monkeypatch.delattr(kind_of(fit.block), "mass")
    counted = rw.expected_identification_risk(fit, SCENARIO, draws=100, random_seed=1)
    assert abs(exactly["own_mass"] - counted["own_mass"]).max() < 0.06
    assert counted["risk"].mean() == pytest.approx(exactly["risk"].mean(), abs=0.004)


def test_a_tail_record_of_weight_zero_has_no_influence_and_others_have_theirs(confidential):
    alpha = np.where(np.arange(N) % 4 == 0, 0.0, 0.5)
    fit = given_fit(confidential, alpha)
    table = rw.influence(fit)
    assert list(table) == ["lipschitz", "range", "information"]
    assert (table[alpha == 0] == 0).all(axis=None)
    attributed = rw.influence(fit, SCENARIO)[alpha == 0]
    np.testing.assert_allclose(attributed["attributable"], 0, atol=1e-12)
    assert (attributed["pareto_k"] == 0).all()
    terms = np.array(
        [0.5 * terms_at(fit, chain, draw) for chain in range(CHAINS) for draw in range(DRAWS)]
    )
    half = table[alpha > 0]
    np.testing.assert_allclose(half["lipschitz"], np.abs(terms).max(axis=0)[alpha > 0])
    np.testing.assert_allclose(half["range"], np.ptp(terms, axis=0)[alpha > 0])
    np.testing.assert_allclose(half["information"], terms.var(axis=0, ddof=1)[alpha > 0] / 2)
    assert table.attrs["draws"] == CHAINS * DRAWS
    assert table.attrs["p_eff"] == pytest.approx(2 * table["information"].sum())
    assert (table["range"] <= 2 * table["lipschitz"]).all()


def test_influence_of_a_cluster_is_that_of_its_sum(confidential):
    fit = given_fit(confidential)
    table = rw.influence(fit, cluster="area")
    terms = np.array([terms_at(fit, c, d) for c in range(CHAINS) for d in range(DRAWS)])
    inside = (confidential["area"] == "b").to_numpy()
    assert table.loc["b", "lipschitz"] == pytest.approx(np.abs(terms[:, inside].sum(axis=1)).max())
    assert set(table.index) == {"a", "b"}


def test_attributable_probability_is_what_leaving_the_record_out_takes_away(confidential):
    """With theta on two points the posterior without a record is known exactly."""
    fit = given_fit(confidential, spread=0.05, draws=500)
    table = rw.influence(fit, SCENARIO)
    terms = np.array([terms_at(fit, c, d) for c in range(CHAINS) for d in range(500)])
    values = confidential["jobs"].to_numpy()
    means = np.exp(fit.posterior["intercept"].to_numpy().reshape(-1))
    law = stats.nbinom(5, (5 / (5 + means))[:, None])
    p = law.cdf(np.floor(1.2 * values + 1e-9)) - law.cdf(np.ceil(0.8 * values - 1e-9) - 1)
    weights = np.exp(-terms) / np.exp(-terms).sum(axis=0)
    np.testing.assert_allclose(
        table["attributable"], p.mean(axis=0) - (weights * p).sum(axis=0), atol=2e-4
    )
    assert (table["pareto_k"] < 0.7).all()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda fit: rw.expected_identification_risk(fit, SCENARIO, draws=121),
            "at most the 120 that the fit has, got 121",
        ),
        (lambda fit: rw.expected_identification_risk(fit, SCENARIO, draws=0), "draws"),
        (
            lambda fit: rw.expected_identification_risk(fit, OTHER),
            r"'area'.*'jobs'",
        ),
        (lambda fit: rw.influence(fit, draws=121), "draws"),
        (lambda fit: rw.influence(fit, cluster="nobody"), "nobody"),
        (lambda fit: rw.influence(fit, SCENARIO, cluster="area"), "leave out scenario, or cluster"),
    ],
)
def test_what_makes_no_sense_is_refused(confidential, call, text):
    with pytest.raises(InputError, match=text):
        call(given_fit(confidential))


def test_a_coarser_precision_is_that_of_the_risk_too(confidential):
    """Values released in twenties: the ball of a record holds what rounds into it."""
    fit, world = given_fit(confidential), make_world(confidential, SCENARIO)
    twenties = fit.with_drawing(rw.DrawingSettings(20.0))
    found = expected_risk(twenties, world, 120, random_seed=1)
    rng, landed = np.random.default_rng(2), np.zeros(N)
    values = confidential["jobs"].to_numpy(dtype=float)
    for turn in range(2000):
        frame = twenties.released(fit.draw(turn % 2, turn % 60), rng)
        landed += abs(frame["jobs"].to_numpy() - values) <= 0.2 * values
    assert abs(found.own_mass - landed / 2000).max() < 4.5 * 0.5 / np.sqrt(2000)
    assert abs(found.own_mass - expected_risk(fit, world, 120, random_seed=1).own_mass).max() > 0.1


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (lambda *_: np.full(N, 1.5), f"probabilities; {N} of {N} are none"),
        (lambda *_: np.full(N, np.nan), f"{N} of {N} are none"),
        (lambda *_: np.full(3, 0.5), r"one a record; got shape \(3,\)"),
    ],
)
def test_a_mass_that_is_no_probability_is_refused(confidential, monkeypatch, given, told):
    fit = given_fit(confidential)
    monkeypatch.setattr(kind_of(fit.block), "mass", given)
    with pytest.raises(ContractError, match=told):
        rw.expected_identification_risk(fit, SCENARIO, draws=20)
    with pytest.raises(ContractError, match=told):
        rw.influence(fit, SCENARIO, draws=20)


@pytest.mark.parametrize("code", [50, 48])
def test_a_special_code_is_near_itself_alone(confidential, code, monkeypatch):
    """A common count that is declared a code: its mass leaves the balls of the amounts around
    it.
    """
    coded = confidential.assign(jobs=[code, code + 1, code - 2, *confidential["jobs"][3:]])
    fit = given_fit(coded, draws=200)
    scenario = rw.Scenario(known=["area"], synthetic="jobs", radius=0.3, codes={"jobs": code})
    table = rw.expected_identification_risk(fit, scenario, draws=400, random_seed=2)
    plain = rw.expected_identification_risk(
        fit, rw.Scenario(known=["area"], synthetic="jobs", radius=0.3), draws=400, random_seed=2
    )
    own = np.mean(
        [
            stats.nbinom(5, 5 / (5 + np.exp(fit.block.draw(*place)["intercept"][0]))).pmf(code)
            for place in np.ndindex(2, 200)
        ]
    )
    assert table["own_mass"].iloc[0] == pytest.approx(own)
    np.testing.assert_allclose(plain["own_mass"].iloc[1:3] - table["own_mass"].iloc[1:3], own)
    risks = identification_risks(
        make_world(coded, scenario).pair(fit.synthesize(400, random_seed=5))
    )
    error = np.sqrt(table["se"] ** 2 + risks.var(axis=0) / 400)
    assert np.abs((table["risk"] - risks.mean(axis=0)) / np.maximum(error, 1e-4)).max() < 5
    monkeypatch.delattr(kind_of(fit.block), "mass")
    counted = rw.expected_identification_risk(fit, scenario, draws=100, random_seed=1)
    assert abs(table["own_mass"] - counted["own_mass"]).max() < 0.06


def test_missing_values_of_the_one_target_are_refused(confidential):
    fit = given_fit(confidential).changed(
        confidential=confidential.assign(jobs=confidential["jobs"].where(np.arange(N) > 1))
    )
    with pytest.raises(InputError, match="'jobs' is missing in 2 of 80 records"):
        rw.expected_identification_risk(fit, SCENARIO)


@pytest.mark.quick
def test_the_error_is_that_of_a_mean_of_blocks():
    blocks, sizes = np.random.default_rng(1).random((7, 3)), np.full(7, 5)
    risk = ExpectedRisk(blocks, sizes, np.zeros(3), np.zeros(3))
    assert risk.error == pytest.approx(blocks.std(axis=0, ddof=1) / np.sqrt(7))
    assert np.isnan(ExpectedRisk(blocks[:1], sizes[:1], np.zeros(3), np.zeros(3)).error).all()
