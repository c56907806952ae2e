"""`tune` on the counts of the paper's simulation, where a fine grid says what is right; every
refusal.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from handmade import given_fit
from scipy import integrate, stats
from small_graph import PoissonGraph

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.intruder.world import make_world
from riskweighted.risk.expected_identification import isolated_records, top_values
from riskweighted.risk.identification import confidential_risk
from riskweighted.tuning.tuning_settings import find_target

DATA = (
    Path(__file__).resolve().parents[2] / "experiments" / "simulation_data" / "nb_mixture_n1000.csv"
)
SCENARIO = rw.Scenario(known=(), synthetic="outcome", radius=0.2)
SHORT = {"draws": 300, "tune": 300, "chains": 2}  # long enough for what the mode is held to


@pytest.fixture(scope="module")
def counts():
    return pd.read_csv(DATA)


@pytest.fixture(scope="module")
def synthesizer():
    return rw.load_synthesizer("negative-binomial")("outcome ~ 1", components=1)


@pytest.fixture(scope="module")
def unweighted(counts, synthesizer):
    return rw.fit(synthesizer, counts, random_seed=1)


@pytest.fixture(scope="module")
def isolated(counts, synthesizer, unweighted):
    """All families, isolated risk at most .015: half of the unweighted."""
    return rw.tune(
        synthesizer,
        counts,
        SCENARIO,
        target="isolated-risk",
        target_max=0.015,
        fit=unweighted,
        random_seed=3,
        **SHORT,
    )


class Grid:
    """The pseudo posterior of the negative binomial on a grid of (intercept, log 1/phi), exact but
    for the grid.
    """

    def __init__(self, counts):
        self.values = counts["outcome"].to_numpy()
        self.risk = confidential_risk(make_world(counts, SCENARIO)).to_numpy()
        self.intercept, self.log_inverse = (
            axis.ravel()
            for axis in np.meshgrid(np.arange(3.6, 5.3, 0.01), np.arange(-3.6, 0.4, 0.03))
        )
        self.law = stats.nbinom(*self._shapes())
        self.terms = np.array([self.law.logpmf(value) for value in np.unique(self.values)])
        kept, self.times = np.unique(self.values[isolated_records(self.risk)], return_counts=True)
        low, high = np.ceil(0.8 * kept - 1e-9), np.floor(1.2 * kept + 1e-9)
        self.mass = np.array(
            [self.law.sf(down - 1) - self.law.sf(up) for down, up in zip(low, high, strict=True)]
        )
        spread = [
            integrate.quad(lambda s, b=b: stats.norm.pdf(b, 0, s) * stats.t.pdf(s, 3), 1e-6, 60)[0]
            for b in np.unique(self.intercept)
        ]
        prior = np.log(np.interp(self.intercept, np.unique(self.intercept), spread))
        self.prior = (
            prior + stats.halfcauchy(scale=5).logpdf(np.exp(self.log_inverse)) + self.log_inverse
        )

    def _shapes(self):
        phi = np.exp(-self.log_inverse)
        return phi, phi / (phi + np.exp(self.intercept))

    def isolated_risk(self, alpha):
        totals = pd.Series(alpha).groupby(self.values).sum().to_numpy()
        height = self.prior + totals @ self.terms
        weight = np.exp(height - height.max())
        n = len(self.values)
        each = self.mass * (1 - (1 + (n - 1) * self.mass) / n)
        return float(np.average(each @ (weight / weight.sum()), weights=self.times))


@pytest.fixture(scope="module")
def grid(counts):
    return Grid(counts)


@pytest.mark.long
def test_the_grid_has_the_figures_of_the_methods(grid):
    assert grid.isolated_risk(np.ones(1000)) == pytest.approx(0.030, abs=0.001)
    assert grid.isolated_risk(1 - grid.risk) == pytest.approx(0.0040, abs=0.0003)
    assert grid.isolated_risk(np.full(1000, 0.01)) > 0.05  # shrinking all weights raises it


@pytest.mark.long
@pytest.mark.parametrize("family", ["mix", "drop-riskiest"])
def test_it_ends_where_a_fine_scan_of_the_exact_posterior_does(
    family, counts, synthesizer, unweighted, grid
):
    found = rw.tune(
        synthesizer,
        counts,
        SCENARIO,
        target="isolated-risk",
        target_max=0.015,
        family=family,
        fit=unweighted,
        random_seed=3,
    )
    exact = grid.isolated_risk(found.alpha.to_numpy())
    assert found.family == family
    assert found.fits <= 2
    assert found.reached == pytest.approx(exact, abs=4 * found.error)
    assert 0.0142 < exact < 0.0152
    scan = np.arange(0.7, 0.82, 0.005) if family == "mix" else np.arange(0.04, 0.07, 0.001)
    ((name, setting),) = found.settings.items()
    met = [
        value
        for value in scan
        if grid.isolated_risk(rw.scheme_weights(family, counts, SCENARIO, **{name: value})) <= 0.015
    ]
    assert setting == pytest.approx(met[0], abs=0.012 if family == "mix" else 0.005)


@pytest.mark.slow
def test_the_result_says_what_was_done(isolated, counts, unweighted):
    name, settings = isolated.family, isolated.settings
    pd.testing.assert_series_equal(
        isolated.alpha, rw.scheme_weights(name, counts, SCENARIO, **settings)
    )
    assert (isolated.fit.alpha == isolated.alpha).all()
    assert isolated.unweighted is unweighted
    assert isolated.met
    assert isolated.reached <= 0.015 + isolated.error
    assert abs(isolated.reached - 0.015) < 0.001
    assert isolated.scheme in isolated.why
    assert f"{isolated.reached:.3f}" in isolated.why
    risk = rw.expected_identification_risk(isolated.fit, SCENARIO, draws=400, random_seed=9)["risk"]
    kept = isolated_records(rw.identification_risk(counts, scenario=SCENARIO).to_numpy())
    assert risk[kept].mean() == pytest.approx(isolated.reached, abs=5 * isolated.error)


@pytest.mark.slow
def test_the_frontier_holds_every_family_the_references_and_the_fits(isolated):
    frontier = isolated.frontier
    curves = frontier[(frontier["kind"] == "plug-in") & ~frontier["reference"]]
    assert set(curves["family"]) == {"mix", "power", "drop-riskiest"}
    assert {"marginal", "pairwise", "drop-riskiest(q=0.05)", "uniform(c=0.1)"} <= set(
        frontier.loc[frontier["reference"], "scheme"]
    )
    for _, rows in curves.groupby("family"):
        assert rows["target"].is_monotonic_decreasing
        assert rows["target"].iloc[0] == pytest.approx(0.0306, abs=0.001)
    (chosen,) = frontier[frontier["chosen"]].itertuples()
    assert (chosen.kind, chosen.scheme, chosen.target) == (
        "sampled",
        isolated.scheme,
        isolated.reached,
    )
    assert frontier["feasible"].sum() > 3
    plug_in = curves[curves["feasible"]].groupby("family")["loss"].min()
    families = isolated.families.set_index("family")
    assert families.loc[isolated.family, "result"] == "chosen"
    assert families["loss"].idxmin() == isolated.family
    assert (families["loss"] >= plug_in[families.index] - 1e-12).all()


@pytest.mark.long
def test_the_mode_says_what_the_posterior_does(isolated, grid, counts):
    """The plug-in frontier, scaled once to the unweighted fit, against the exact posterior."""
    rows = isolated.frontier[
        (isolated.frontier["family"] == "mix") & (isolated.frontier["kind"] == "plug-in")
    ]
    for row in rows.itertuples():
        exact = grid.isolated_risk(
            rw.scheme_weights("mix", counts, SCENARIO, t=row.setting)
            if row.setting > 0
            else np.ones(1000)
        )
        assert row.target == pytest.approx(exact, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "target_max", "family"), [("lipschitz", 2.0, "uniform"), ("information", 0.5, "mix")]
)
def test_targets_of_influence(target, target_max, family, counts, synthesizer, unweighted):
    found = rw.tune(
        synthesizer,
        counts,
        SCENARIO,
        target=target,
        target_max=target_max,
        family=family,
        fit=unweighted,
        random_seed=3,
        draws=300,
        tune=300,
    )
    table = rw.influence(found.fit)
    measured = table["lipschitz"].max() if target == "lipschitz" else table["information"].sum()
    assert found.reached == pytest.approx(measured)
    assert found.reached == pytest.approx(target_max, rel=0.15)
    assert 1 <= found.fits <= 2


@pytest.mark.slow
def test_nothing_is_weighted_where_nothing_need_be(counts, synthesizer, unweighted):
    found = rw.tune(
        synthesizer,
        counts,
        SCENARIO,
        target="isolated-risk",
        target_max=0.04,
        family="mix",
        fit=unweighted,
        random_seed=1,
    )
    assert (found.scheme, found.family, dict(found.settings), found.fits) == (
        "unweighted",
        "unweighted",
        {},
        0,
    )
    assert found.fit is unweighted
    assert "meets the target as it is" in found.why


@pytest.mark.slow
def test_a_target_that_is_not_reached_says_what_is(counts, synthesizer, unweighted):
    with pytest.raises(
        InputError,
        match=r"'isolated-risk' cannot be brought to at most 0.001: it goes along 'mix' from about "
        r"0.00\d+ to 0.03",
    ):
        rw.tune(
            synthesizer,
            counts,
            SCENARIO,
            target="isolated-risk",
            target_max=0.001,
            family="mix",
            fit=unweighted,
            random_seed=1,
        )


def call(counts, fit=None, **settings):
    synthesizer = rw.load_synthesizer("negative-binomial")("outcome ~ 1", components=1)
    given = {"target": "isolated-risk", "target_max": 0.02, **settings}
    return rw.tune(synthesizer, counts, SCENARIO, fit=fit, **given)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (
            {"target": "mean-risk"},
            "'mean-risk' is no target: the mean of the expected risk hardly moves under any "
            "weights",
        ),
        ({"target": "maximum-risk"}, "'maximum-risk' is no target: .*mostly chance"),
        ({"target": "risk"}, "target must be one of 'isolated-risk', .* got 'risk'"),
        (
            {"family": "uniform"},
            "cannot be tuned along 'uniform': shrinking all weights lets the prior take over",
        ),
        ({"family": "lipschitz-target"}, "shrinking all weights"),
        (
            {"target": "information", "family": "lipschitz-target"},
            "'information' cannot be tuned along 'lipschitz-target'",
        ),
        ({"target": "lipschitz", "family": "reweighted"}, "nothing bounds it there"),
        (
            {"family": "marginal"},
            "family 'marginal' has no parameter to tune; valid for 'isolated-risk' are 'mix', "
            "'power', 'drop-riskiest'",
        ),
        ({"family": "unweighted"}, "no parameter"),
        ({"family": "3-way"}, "no parameter"),
        ({"family": "nobody's"}, "unknown family"),
        ({"target_max": 0}, "target_max must be a number > 0, got 0"),
        ({"target_max": 5}, "must be below 1, as it is a probability .*got 5"),
        ({"target_max": -1}, "target_max must be a finite number >= 0"),
        ({"target_max": float("nan")}, "target_max"),
        ({"target_max": "much"}, "target_max"),
        ({"loss": "beauty"}, "loss must be one of 'U_m', 'overlap'"),
        ({"loss": "overlap"}, "give regression and coefficient"),
        (
            {"target": "disclosure-largest"},
            "'disclosure-largest' is no target: no family of weights is sure to lower it; .* in "
            "constraints",
        ),
        (
            {"constraints": {"beauty": 1}},
            "constraint must be one of 'disclosure-largest', .* or another measure's key, got "
            "'beauty'",
        ),
        (
            {"constraints": {"mean-risk": 0.1}},
            "'mean-risk' is no constraint: the mean of the expected risk hardly moves",
        ),
        (
            {"constraints": {"information": 0}},
            "constraints.information must be a number > 0, got 0",
        ),
        (
            {"constraints": {"information": "much"}},
            "constraints.information must be a finite number",
        ),
        ({"constraints": ["information"]}, "constraints must be a table of limits by measure"),
        ({"risk_draws": 0}, "risk_draws"),
        (
            {"draws": 100, "chains": 1, "risk_draws": 101},
            "risk_draws must be at most the 100 draws",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_sampled(
    counts, settings, text, monkeypatch
):
    monkeypatch.setattr("riskweighted.tuning.search.fit_sequence", None)
    with pytest.raises(InputError, match=text):
        call(counts, **settings)


def test_a_fit_that_is_not_the_unweighted_one_is_refused(counts, unweighted):
    with pytest.raises(InputError, match="weighted one"):
        call(counts, unweighted.changed(alpha=unweighted.alpha * 0.5))
    with pytest.raises(InputError, match="other data"):
        call(counts, given_fit(pd.DataFrame({"jobs": [1, 2, 3]}), chains=4))


def test_ties_at_the_cut_are_all_isolated():
    risk = np.array([*[0.9] * 3, *[0.8] * 4, *[0.1] * 93])
    assert isolated_records(risk).sum() == 7
    assert isolated_records(risk)[:7].all()
    assert isolated_records(np.linspace(0, 1, 41)).sum() == 3  # ceil(.05 n)
    assert top_values(np.arange(101.0)).sum() == 2
    assert top_values(np.ones(50)).all()
    assert set(find_target("isolated-risk").families) == {"mix", "power", "drop-riskiest"}


def test_what_is_walked_where_no_family_is_named():
    """Bent models lower what is guessed; centred ones limit what a record teaches, by no cut that
    moves with the data.
    """
    assert set(find_target("isolated-risk").walked) == {"mix", "power", "drop-riskiest"}
    assert set(find_target("isolated-information-mean").walked) == {
        "mix+",
        "power+",
        "bounded+",
        "budget+",
        "uniform",
    }
    assert set(find_target("largest-information").walked) == {
        "mix+",
        "power+",
        "bounded+",
        "budget+",
        "uniform",
    }


@pytest.mark.long
def test_a_search_of_information_walks_centred_families(counts, synthesizer, unweighted):
    found = rw.tune(
        synthesizer,
        counts,
        SCENARIO,
        target="largest-information",
        target_max=0.02,
        fit=unweighted,
        random_seed=3,
        **SHORT,
    )
    assert found.met
    assert set(found.families["family"]) == set(find_target("largest-information").walked)
    information = rw.influence(found.fit)["information"].to_numpy()
    assert information.max() == pytest.approx(found.reached)
    (chosen,) = found.frontier[found.frontier["chosen"]].itertuples()
    isolated = isolated_records(confidential_risk(make_world(counts, SCENARIO)).to_numpy())
    assert chosen.largest_information == pytest.approx(information.max())
    assert chosen.isolated_information == pytest.approx(information[isolated].mean())
    assert 0 < chosen.attributable < 0.05
    curves = found.frontier[(found.frontier["kind"] == "plug-in") & ~found.frontier["reference"]]
    for _, rows in curves.groupby("family"):
        assert rows["largest_information"].to_numpy() == pytest.approx(
            rows["target"].to_numpy(), rel=1e-6
        )


@pytest.mark.long
def test_a_model_that_cannot_be_centred_at_a_mode_is_searched_uncentred(counts):
    model = PoissonGraph("outcome ~ 1", components=1)
    unweighted = rw.fit(model, counts, draws=200, tune=200, random_seed=1)
    half = rw.influence(unweighted)["information"].sum() / 2
    asked = {
        "target": "information",
        "target_max": half,
        "fit": unweighted,
        "draws": 200,
        "tune": 200,
        "random_seed": 1,
    }
    found = rw.tune(model, counts, SCENARIO, **asked)
    assert set(found.families["family"]) == {"mix", "power", "uniform"}
    assert (
        "'mix+', 'power+' cannot be centred here and went uncentred, and 'bounded+', 'budget+' "
        "cannot be made of this fit" in found.why
    )
    assert found.frontier["attributable"].isna().all()  # it has no mass()
    with pytest.raises(InputError, match="centred in its graph alone"):
        rw.tune(model, counts, SCENARIO, family="mix+", **asked)


@pytest.mark.slow
def test_centred_families_limit_what_is_learned_and_leave_the_model_straight(
    counts, synthesizer, unweighted
):
    asked = {
        "target": "information",
        "target_max": 0.5,
        "fit": unweighted,
        "random_seed": 3,
        **SHORT,
    }
    centred = rw.tune(synthesizer, counts, SCENARIO, family="mix+", **asked)
    assert centred.met
    assert next(iter(centred.fit.blocks.values())).centring is not None
    assert centred.scheme.startswith("mix+(")
    with pytest.raises(InputError, match="as it would a stranger"):
        rw.tune(
            synthesizer, counts, SCENARIO, target="isolated-risk", target_max=0.01, family="mix+"
        )
