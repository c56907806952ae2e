"""The claims judged: chance against enumeration, numbers against hand-made arrays, words against
numbers, and the recorded table.
"""

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from handmade import given_fit

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.intruder.world import make_world
from riskweighted.risk.expected_identification import ExpectedRisk, expected_risk

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # experiments are no part of the package
from experiments.claims import (  # noqa: E402
    cases,
    chance,
    figures,
    measured,
    radii,
    radii_text,
    results,
    riddle,
    tables,
    text,
)
from experiments.claims.recorded import measure as recorded  # noqa: E402

COUNTS = pd.DataFrame({"jobs": np.random.default_rng(1).negative_binomial(5, 5 / 55, 120)})
WORLD = make_world(COUNTS, rw.Scenario(synthetic="jobs", radius=0.2))


@pytest.fixture(scope="module")
def fits():
    """Handmade fits: the second has another spread of its draws, so other risks."""
    alphas = {"unweighted": (1.0, 0.02), "marginal": (0.4, 0.8), "pairwise": (0.6, 0.1)}
    return {
        label: measured.measure(
            given_fit(COUNTS, alpha, spread=spread), WORLD, draws=40, groups=3, L=5
        )
        for label, (alpha, spread) in alphas.items()
    }


class Landing(NamedTuple):
    own_mass: np.ndarray
    outside: np.ndarray


def test_largest_of_sets_by_hand():
    one = Landing(np.array([0.25]), np.array([0.8]))
    assert chance.largest_of_sets(one, 2) == 0  # no hit: 0.5625; 0.4 for one, 0.8 for two
    many = Landing(np.full(50, 0.25), np.full(50, 0.8))
    assert chance.largest_of_sets(many, 2) == pytest.approx(0.8)


def test_groups_hold_all_ties_at_the_cut():
    groups = tables.groups_of(WORLD)
    risk = rw.identification_risk(COUNTS, scenario=WORLD.scenario).to_numpy()
    assert groups.isolated.sum() >= 6
    assert risk[groups.isolated].min() > risk[~groups.isolated].max()
    values = COUNTS["jobs"].to_numpy()
    assert values[groups.largest].min() > values[~groups.largest].max()


def test_measured_holds_what_the_library_measures_and_comes_back(fits):
    found = fits["unweighted"]
    fit = given_fit(COUNTS)
    np.testing.assert_allclose(found.risk, expected_risk(fit, WORLD, 40, 1).risk)
    np.testing.assert_allclose(found.influence[0], rw.influence(fit)[list(measured.INFLUENCE)])
    assert found.p_eff[0] == pytest.approx(rw.influence(fit).attrs["p_eff"])
    assert found.statistics.shape == (15, 3)
    again = measured.Measured.from_bytes(found.to_bytes())
    np.testing.assert_array_equal(again.blocks, found.blocks)
    np.testing.assert_array_equal(again.risks, found.risks)


def test_errors_need_chains_beside_each_other():
    with pytest.raises(InputError, match="at least 2"):
        measured.measure(given_fit(COUNTS, chains=1), WORLD)


def test_numbers_and_their_errors(fits):
    found = tables.measures_of(fits["marginal"], fits["unweighted"], WORLD, 5)
    risk, base = fits["marginal"].risk, fits["unweighted"].risk
    assert found["mean risk"].value == pytest.approx(risk.mean())
    blocks = fits["marginal"].blocks.mean(axis=1)
    # the jackknife of a mean
    assert found["mean risk"].error == pytest.approx(blocks.std(ddof=1) / np.sqrt(len(blocks)))
    assert found["maximum risk"].value == risk.max() <= 0.25 + 0.01  # p (1 - p) bounds it
    assert found["falls >= 0.05"].value == (risk - base <= -0.05).sum() > 0
    assert found["Delta"].value >= found["Delta, least chain"].value
    own = tables.measures_of(fits["unweighted"], fits["unweighted"], WORLD, 5)
    assert own["rises >= 0.05"] == (0, 0)
    assert own["rises >= 0.05 in sets, expected"] == own["rises >= 0.05 in sets, chance alone"]
    shown, expected = (own[f"rises >= 0.1 in sets{what}"] for what in ("", ", expected"))
    assert shown.value == pytest.approx(expected.value, abs=5 * shown.error + 3)


def test_schemes_meet_at_equal_risk(fits):
    families = {"one": ["unweighted", "pairwise", "marginal"], "two": ["unweighted", "marginal"]}
    found = tables.at_equal_risk(fits, WORLD, families, {"of pairwise": "pairwise"}).set_index(
        "family"
    )
    assert found.loc["one", "fits"] == "pairwise"
    assert found.loc["one", "U_m"] == pytest.approx(fits["pairwise"].statistics[:, 0].mean())
    isolated = tables.groups_of(WORLD).isolated
    if fits["marginal"].risk[isolated].mean() <= fits["pairwise"].risk[isolated].mean():
        assert found.loc["two", "fits"] == "unweighted to marginal"
        ends = [fits[label].statistics[:, 0].mean() for label in ("unweighted", "marginal")]
        assert min(ends) <= found.loc["two", "U_m"] <= max(ends)
    else:
        assert "two" not in found.index


def test_words_follow_the_numbers():
    rows = pd.DataFrame(
        [
            ("c", "unweighted", "mean risk", 0.2, 0.001),
            ("c", "marginal", "mean risk", 0.1, 0.001),
            ("c", "pairwise", "mean risk", 0.2015, 0.001),
        ],
        columns=["case", "label", "measure", "value", "error"],
    )
    found = results.Results(rows)
    assert (
        found.change("c", "marginal", "mean risk")
        == "falls from 0.2000 (0.001) to 0.1000 (0.001), -50 %"
    )
    assert found.change("c", "unweighted", "mean risk", "marginal").startswith("rises from")
    assert found.change("c", "pairwise", "mean risk").startswith("does not move beyond its error")


def test_page_and_figures_of_small_fits(fits, tmp_path, monkeypatch):
    monkeypatch.setitem(results.NAMES, "small", "small data")
    extra = [
        "delete 5 %",
        "uniform 0.1",
        "pairwise, total of marginal",
        "uniform, total of marginal",
    ]
    everything = fits | dict.fromkeys([*extra, "marginal, total of pairwise"], fits["pairwise"])
    families = {
        "marginal, mixed in": ["unweighted", "marginal"],
        "pairwise to a power": ["unweighted", "pairwise"],
    }
    rows = tables.tidy(everything, WORLD, "small", 5)
    equal = tables.at_equal_risk(everything, WORLD, families, {"of pairwise": "pairwise"}).assign(
        case="small"
    )
    rows.to_csv(tmp_path / "results.csv", index=False)
    equal.to_csv(tmp_path / "equal_risk.csv", index=False)
    again = {
        "marginal+": "unweighted",
        "pairwise+": "pairwise",
        "pairwise+, total of marginal+": "pairwise",
        "mix 0.5+": "marginal",
        "mix 0.9+": "marginal",
    }
    centred = {"unweighted": fits["unweighted"]} | {label: fits[of] for label, of in again.items()}
    tables.tidy(centred, WORLD, "small", 5).to_csv(tmp_path / "centred.csv", index=False)
    page = text.write_results(tmp_path)
    assert page == (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert page.count("**Verdict.**") == 4
    # marginal+ is the unweighted fit here
    assert "0 % of the fall of isolated risk under marginal weights is left" in page
    assert "(c) pairwise weights mitigate whack-a-mole | moot" in page
    assert "nan" not in page
    figures.draw_figures(everything, WORLD, families, "small", tmp_path)
    assert sorted(path.stem for path in (tmp_path / "figures").glob("*.png")) == [
        "changes_small",
        "frontier_small",
        "risk_by_value_small",
    ]


def test_weights_of_a_case_meet_at_their_totals():
    alphas = cases.weights_of(cases.simulation())
    assert alphas["pairwise, total of marginal"].sum() == pytest.approx(alphas["marginal"].sum())
    assert alphas["marginal, total of pairwise"].sum() == pytest.approx(alphas["pairwise"].sum())
    assert (alphas["pairwise ^ 2"] == alphas["pairwise"] ** 2).all()
    assert {
        label for labels in cases.families(cases.simulation()).values() for label in labels
    } <= set(alphas)


def landed(n=400):
    rng = np.random.default_rng(2)
    prepared = recorded.LandedPrepared(rng.normal(size=n), rng.normal(size=(n, 2)), 3.0, 0.5)
    theta = {
        "centre": np.array([-1.0, 1.0]),
        "sigma": np.array([0.4, 0.8]),
        "weight": np.array([0.3, 0.7]),
        "slope": np.array([0.2, -0.1]),
        "slope_spread": np.array(0.1),
        "slope_deviation": np.array([[1.0, 0.0], [0.0, -1.0]]),
    }
    return recorded.LandedMixture(), prepared, theta


def test_the_landed_mixture_draws_what_its_mass_says():
    model, prepared, theta = landed()
    lower, upper = np.full(400, 15.0), np.full(400, 25.0)
    mass = model.distribution(theta, prepared).mass(lower, upper)
    rng = np.random.default_rng(1)
    inside = np.mean(
        [
            (lower <= drawn) & (drawn <= upper)
            for drawn in (model.distribution(theta, prepared).draw(rng) for _ in range(400))
        ],
        axis=0,
    )
    assert abs(inside.mean() - mass.mean()) < 0.005
    assert np.abs((inside - mass) / np.sqrt(mass * (1 - mass) / 400)).max() < 5
    np.testing.assert_allclose(
        model.distribution(theta, prepared).mass(np.full(400, -5.0), np.full(400, np.inf)), 1.0
    )


def test_the_landed_mixture_has_the_density_of_its_mass():
    model, prepared, theta = landed()
    step = 1e-4
    lower, upper = (
        np.exp(prepared.location + prepared.scale * (prepared.z + sign * step / 2))
        for sign in (-1, 1)
    )
    density = model.distribution(theta, prepared).mass(lower, upper) / step
    np.testing.assert_allclose(
        np.log(density),
        model.distribution(theta, prepared).log_density(
            np.exp(prepared.location + prepared.scale * prepared.z)
        ),
        atol=1e-4,
    )


def test_the_recorded_table_is_what_was_stated():
    rows = pd.read_csv(ROOT / "experiments" / "claims" / "recorded" / "measured.csv")
    beside = recorded.beside_issue(rows)
    exact = beside[
        beside["measure"].isin(
            ["mean risk", "isolated risk", "top 1 % risk", "maximum risk", "U_m"]
        )
    ]
    assert len(exact) == 5 * 2 + 3 + 3 + 5
    assert (exact["within"] == "yes").all()
    assert set(rows["case"]) == set(recorded.MODELS)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::riskweighted.ConvergenceWarning")
def test_the_mixture_of_the_riddle_is_fitted_and_drawn():
    rng = np.random.default_rng(3)
    data = pd.DataFrame(
        {"group": rng.choice(["a", "b"], 150), "income": rng.lognormal(3, 0.6, 150)}
    )
    model = riddle.IndependentMixture("income ~ C(group)", transform="log", components=2)
    # checks that graph and log-likelihood agree
    fit = rw.fit(model, data, random_seed=1, draws=50, tune=100, chains=2)
    values = [frame["income"].to_numpy() for frame in fit.synthesize(20, random_seed=1)]
    found = riddle.statistics(data["income"].to_numpy(), values)
    assert found["lower"] < found["mean"] < found["upper"]
    assert found["median"] == pytest.approx(data["income"].median(), rel=0.25)
    assert (
        found["least set"] <= found["median set"] <= found["largest set"] <= found["largest value"]
    )


def test_the_verdict_on_the_riddle_follows_its_numbers():
    columns = dict.fromkeys(
        [
            "its error",
            "least set",
            "median set",
            "largest set",
            "median",
            "q90",
            "largest value",
            "U_m",
            "r_hat",
        ],
        1.0,
    )
    rows = pd.DataFrame(
        [
            {
                "priors": "wide",
                "K": 3,
                "weights": "marginal",
                "mean": 76_000.0,
                "lower": 70_000.0,
                "upper": 88_000.0,
            },
            {
                "priors": "narrow",
                "K": 3,
                "weights": "marginal",
                "mean": 64_000.0,
                "lower": 61_000.0,
                "upper": 67_000.0,
            },
        ]
    ).assign(**columns, **{"mean of all sets": 1.0, "divergences": 0})
    words = riddle.riddle_text(rows)
    assert (
        "with: wide priors, K = 3. The published mean lies in the interval with: wide priors, K "
        "= 3;" in words
    )


def test_a_rise_and_its_error_by_hand():
    sizes = np.array([10, 10])
    after = ExpectedRisk(np.array([[0.2, 0.5], [0.4, 0.5]]), sizes, np.ones(2), np.ones(2))
    before = ExpectedRisk(np.array([[0.1, 0.5], [0.1, 0.5]]), sizes, np.ones(2), np.ones(2))
    found = radii.judged(lambda now, base: (now - base).max(), after, before)
    assert found.value == pytest.approx(0.2)
    assert found.error == pytest.approx(0.1)  # of two blocks, 0.2 apart


def rows_of_radii(**rises: list[float]) -> pd.DataFrame:
    """Rows of radii.csv at 5, 15 and 70 %: rises by fit, and U_m that grows as the radius falls."""
    rows = []
    for fit, counts in rises.items():
        for radius, count in zip((0.05, 0.15, 0.7), counts, strict=True):
            row = {"case": "simulation", "radius": radius, "fit": fit, "converged": "yes"}
            for name in ("rises by a fifth", "largest rise", "isolated risk"):
                row |= {name: 0.1, f"{name} error": 0.01}
            row |= {"mean risk": 0.1 + count / 1e4, "mean risk error": 0.01}
            row |= {"risk 95 % quantile": 0.3, "risk 95 % quantile error": 0.01, "mean weight": 0.5}
            row |= {"rises >= 0.02": count, "rises >= 0.02 error": 2.0}
            rows.append(row | {"U_m": 0.2 - radius / 10, "U_m error": 0.001})
    return pd.DataFrame(rows)


LENGTHS = pd.DataFrame(
    [("simulation", "marginal", L, 100, 0.5, length, 0.3) for L, length in
     [(1, 3.0), (5, 5.0), (10, 5.4), (20, 5.7), (30, 5.7), (50, 5.7)]],
    columns=["case", "fit", "L", "mean", "mean sd", "length", "length sd"],
)  # fmt: skip


def test_claims_are_judged_where_they_are_made():
    rows = rows_of_radii(
        unweighted=[0, 0, 0], control=[0, 1, 0], marginal=[450, 440, 0], pairwise=[1, 0, 0]
    )
    more = rows.copy()
    more.loc[more["radius"] == 0.7, "radius"] = 0.3
    judged = radii_text.claims(more, LENGTHS).set_index("section")["verdict"]
    assert judged["2.4.2, Fig. 5b"] == judged["3.1, 3.2.1, Fig. 9"] == "holds"
    assert list(judged["2.4.2"]) == [
        "absolute rises: holds; relative ones: does not hold throughout",
        "holds",
    ]
    assert judged["2.4.3, Table 5"].startswith("the reverse is found")
    assert judged["2.4.4, Table 6"] == "too short at 1; the same at 20 as at 50"
    none = radii_text.claims(
        rows_of_radii(unweighted=[0, 0, 0], control=[1, 1, 1], marginal=[3, 2, 1]), LENGTHS
    )
    assert none.set_index("section").loc["2.4.2, Fig. 5b", "verdict"] == "not found"
    page = radii_text.page(rows, LENGTHS)
    assert "none of 12 rows" in page
    rows.loc[0, "converged"] = "NO"
    assert "unweighted at 5% (simulation) of 12 rows" in radii_text.page(rows, LENGTHS)
