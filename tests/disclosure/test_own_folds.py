"""Own fits whose scores are learned of others' values are judged by folds, in which scores are made
anew: a part that leaks is found.
"""

import numpy as np
import pandas as pd
import pytest
from laplace_fit import laplace_fit

import riskweighted as rw
from experiments.disclosure.held import by_level, levels, made_again
from riskweighted.common.progress import Forward
from riskweighted.disclosure import attribution, own_folds, refits
from riskweighted.disclosure.attribution import attribution_of_fit
from riskweighted.disclosure.attribution_inputs import AttributionRequest
from riskweighted.disclosure.leave_one_out_weights import Weighting
from riskweighted.disclosure.own_folds import why_folds
from riskweighted.disclosure.refits import means_of_targets, refit_without
from riskweighted.intruder.world import make_world
from riskweighted.sampling import compilation, compiled, density_parts, importance
from riskweighted.sequence import learning

pytest.importorskip("sklearn", reason="the extra 'learned' is not installed")

N = 400
SCENARIO = rw.Scenario(known="region", synthetic="income", radius=0.1)
EAGER = {
    "max_iter": 40,
    "learning_rate": 0.5,
    "max_leaf_nodes": 64,
    "min_samples_leaf": 1,
    "max_bins": 255,
    "early_stopping": False,
}


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    """Income of which the predictors tell little, and which are nearly all different."""
    rng = np.random.default_rng(8)
    age, hours = rng.uniform(20, 70, N).round(1), rng.uniform(0, 60, N).round(1)
    income = np.round(np.exp(7 + 0.01 * age + rng.normal(0, 0.5, N)))
    return pd.DataFrame(
        {"age": age, "hours": hours, "region": rng.choice(["north", "south"], N), "income": income}
    )


def fitted(data: pd.DataFrame, alpha=None) -> rw.Fit:
    predictors = ["age", "hours", "region"]
    own = {"income": {"model": "linear-regression", "transform": "log"}}
    chain = rw.load_synthesizer("sequential")(
        ["income"], predictors, own, recoding="statuses", learned=predictors
    )
    return rw.fit(chain, data, alpha, random_seed=1, draws=200, tune=200, chains=2)


@pytest.fixture(scope="module")
def plain(data) -> rw.Fit:
    """The unweighted fit, its scores learned as they are for users."""
    return fitted(data)


def told(data: pd.DataFrame, fit: rw.Fit, **more) -> pd.DataFrame:
    return attribution_of_fit(
        fit,
        make_world(data, SCENARIO),
        AttributionRequest(shuffled=False),
        L=5,
        random_seed=2,
        **more,
    )


def of_all(table: pd.DataFrame, release: str = "aligned") -> pd.Series:
    return table.set_index(["release", "group"]).loc[(release, "all")]


@pytest.mark.slow
def test_a_part_in_which_records_predict_themselves_is_found_by_folds_and_not_by_weights(
    data, monkeypatch
):
    monkeypatch.setattr(learning, "_ENSEMBLE", EAGER)
    monkeypatch.setattr(
        learning, "_teaches", lambda fold_of, fold: np.ones(len(fold_of), dtype=bool)
    )
    fit = fitted(data)
    table = told(data, fit)
    leaking = of_all(table)
    assert leaking["D"] - 4 * leaking["se"] > 0.1
    assert table.attrs["verdict"] == "refuse"
    by_weights = told(data, fit, refits=0)  # which hold the scores, and so see none of it
    assert of_all(by_weights)["D"] < 0.5 * leaking["D"]
    assert "scores of the learned part" in by_weights.attrs["held"]
    assert "scores of the learned part" not in table.attrs["held"]


@pytest.mark.slow
@pytest.mark.parametrize("eager", [False, True], ids=["few small trees", "many large trees"])
def test_a_learned_part_that_tells_gives_no_more_away_than_folds_do(
    eager, data, plain, monkeypatch
):
    if eager:
        monkeypatch.setattr(learning, "_ENSEMBLE", EAGER)
    table = told(data, fitted(data) if eager else plain)
    assert of_all(table)["D"] - 2 * of_all(table)["se"] < 0.01
    assert of_all(table)["upper"] < 0.05
    assert table.attrs["not_judged"] == ()
    assert np.isnan(of_all(table)["copy_D"])  # of single copies weights alone would tell


def test_records_that_are_drawn_again_keep_the_scores_of_their_own_fold(plain):
    fit, every = plain, np.arange(N)
    theta = fit.thetas(0, 0)
    whole, again = (
        of.made(theta, np.random.default_rng(1))
        for of in (fit.drawing, fit.drawing.of_records(every))
    )
    assert again["income"].tolist() == whole["income"].tolist()


def test_a_fold_is_left_out_with_the_weights_that_the_others_have_alone(data):
    world, gone = make_world(data, SCENARIO), np.arange(0, N, 5)
    fit = fitted(data, rw.scheme_weights("marginal", data, SCENARIO))
    rest = np.setdiff1d(np.arange(N), gone)
    made = refit_without(fit, world, gone, Weighting("marginal"), np.random.default_rng(1))
    alpha = made.alphas["income"].to_numpy()
    assert (alpha[gone] == 0).all()
    assert np.allclose(alpha[rest], rw.scheme_weights("marginal", data.iloc[rest], SCENARIO))
    assert not np.allclose(alpha[rest], fit.alphas["income"].to_numpy()[rest])
    one, other = (each.prepared.scores["scores of income"].held for each in (made, fit))
    assert not np.array_equal(one.rows[one.which], other.rows[other.which])


def test_what_compares_a_graph_with_its_distribution_is_not_compiled_again_without_a_fold(
    monkeypatch,
):
    def refuse(*given):
        raise AssertionError("compiled again")

    rng = np.random.default_rng(5)
    data = pd.DataFrame(
        {"region": rng.choice(["n", "s"], 200), "income": np.exp(7 + rng.normal(size=200))}
    )
    fit = rw.fit(
        rw.load_synthesizer("linear-regression")("income ~ C(region)", transform="log"),
        data,
        random_seed=1,
        draws=200,
        chains=2,
    )

    def without() -> rw.Fit:
        return refit_without(
            fit, make_world(data, SCENARIO), np.arange(0, 200, 5), None, np.random.default_rng(1)
        )

    compared_again = refits.fit_sequence
    with monkeypatch.context() as patched:
        patched.setattr(refits, "fit_sequence", lambda *given, compared: compared_again(*given))
        expected = without()
    monkeypatch.setattr(compilation, "compile_weighted_sum", refuse)
    assert without().posterior.identical(expected.posterior)
    # what others brought is compared each time
    monkeypatch.setattr(compilation, "is_strange", lambda synthesizer: True)
    monkeypatch.setattr(compilation, "_recent", compilation.OrderedDict())
    with pytest.raises(AssertionError, match="compiled again"):
        without()


def test_a_part_that_importance_is_refused_for_has_short_chains_alone_without_a_fold(monkeypatch):
    rng = np.random.default_rng(5)
    data = pd.DataFrame(
        {"region": rng.choice(["n", "s"], 200), "income": np.exp(7 + rng.normal(size=200)).round()}
    )
    kind = rw.load_synthesizer("transformation")("income ~ C(region)")
    fit = rw.fit(kind, data, random_seed=1, draws=100)
    gone, ran = np.arange(0, 200, 5), []

    def without() -> rw.Fit:
        return refit_without(
            fit, make_world(data, SCENARIO), gone, None, np.random.default_rng(1), 100
        )

    def sampled(*given, short=False):
        ran.append((given[2].tune, given[2].draws, short))
        return run_density(*given, short=short)

    by_importance, run_density = without(), density_parts.run_density
    monkeypatch.setattr(density_parts, "run_density", sampled)
    monkeypatch.setattr(importance.ImportanceProposals, "accepted", property(lambda self: False))
    by_chains = without()
    assert ran[0] == (50, 25, True)
    for name, drawn in by_importance.posterior.data_vars.items():
        off = (by_chains.posterior[name] - drawn.mean(("chain", "draw"))).mean(
            ("chain", "draw")
        ) / drawn.std(("chain", "draw"))
        # of their standard deviation, which a mean of 100 dependent draws is off by .1 to .2 of
        assert np.abs(off).max() < 0.8
    # where short chains disagree longer ones are run
    for agreeing, expected in ((True, {True}), (False, {True, False})):
        monkeypatch.setattr(compiled, "chains_agree", lambda diagnostics, said=agreeing: said)
        ran.clear()
        without()
        assert {short for _, _, short in ran} == expected


def test_importance_is_tried_without_a_fold_where_a_fit_drew_some_parts_by_it(monkeypatch):
    rng, asked = np.random.default_rng(5), []
    data = pd.DataFrame(
        {"region": rng.choice(["n", "s"], 200), "income": np.exp(7 + rng.normal(size=200))}
    )
    fit = rw.fit(
        rw.load_synthesizer("linear-regression")("income ~ C(region)", transform="log"),
        data,
        random_seed=1,
        draws=200,
        chains=2,
    )
    # what rows of a fit with both say
    of_both = fit.diagnostics.assign(engine="nuts", pareto_k=0.3)

    def refitted(prepared, made, sampling, *given, **more):
        asked.append(sampling.engine)
        return fit

    monkeypatch.setattr(refits, "fit_sequence", refitted)
    for diagnostics in (of_both, of_both.assign(pareto_k=np.nan)):
        monkeypatch.setattr(rw.Fit, "diagnostics", property(lambda self, told=diagnostics: told))
        refit_without(
            fit, make_world(data, SCENARIO), np.arange(0, 200, 5), None, np.random.default_rng(1)
        )
    assert asked == ["auto", "nuts"]


def test_a_predictor_that_is_the_mean_of_the_target_by_level_is_made_again_without_a_record(
    monkeypatch,
):
    rng = np.random.default_rng(4)
    cell = np.arange(200) // 2
    income = np.round(np.exp(7 + rng.normal(size=200)))
    pooled = pd.Series(np.log(income)).groupby(cell).transform("mean")
    data = pd.DataFrame(
        {
            "pooled": pooled,
            "age": rng.uniform(20, 70, 200),
            "region": rng.choice(["n", "s"], 200),
            "income": income,
        }
    )
    kind = rw.load_synthesizer("linear-regression")("income ~ pooled + age", transform="log")
    fit = rw.fit(kind, data, random_seed=1, draws=200, tune=200, chains=2)
    assert means_of_targets(fit) == {"pooled": "income"}
    # reads no such column
    other = rw.load_synthesizer("linear-regression")("income ~ age", transform="log")
    assert means_of_targets(rw.fit(other, data, random_seed=1, draws=200, tune=200, chains=2)) == {}
    assert "made again without a record" in why_folds(fit)[0]
    totals = data.assign(pooled=pd.Series(income).groupby(cell).transform("sum").astype(int))
    of_totals = rw.load_synthesizer("linear-regression")(
        "income ~ log(pooled) + age", transform="log"
    )
    assert means_of_targets(
        rw.fit(of_totals, totals, random_seed=1, draws=200, tune=200, chains=2)
    ) == {"pooled": "income"}
    without = refit_without(
        fit, make_world(data, SCENARIO), np.array([6]), None, np.random.default_rng(1)
    )
    made = without.confidential["pooled"]
    # what the other of the level has
    assert made[[6, 7]].tolist() == pytest.approx([np.log(income[7])] * 2)
    assert made.drop([6, 7]).equals(pooled.drop([6, 7]))
    monkeypatch.setattr(attribution, "can_refit", lambda weighting: False)
    assert (
        attribution_of_fit(
            fit, make_world(data, SCENARIO), AttributionRequest(), L=5, random_seed=2
        ).attrs["verdict"]
        == "not judged"
    )


def test_location_and_scale_of_a_strangers_class_are_held_as_our_own_are(monkeypatch):
    rng = np.random.default_rng(4)
    data = pd.DataFrame(
        {
            "region": rng.choice(["n", "s"], 100),
            "income": np.round(np.exp(7 + rng.normal(size=100))),
        }
    )
    kind = rw.load_synthesizer("linear-regression")("income ~ C(region)", transform="log")
    monkeypatch.setattr("riskweighted.disclosure.own_folds.is_strange", lambda synthesizer: True)
    assert why_folds(laplace_fit(kind, data)) == ()


def test_what_is_shown_moves_with_every_fold_and_never_falls(monkeypatch):
    fit, world = by_level(50, areas=2)
    shares, before, again = [0.0], [], own_folds.refit_without

    def without(*given):
        before.append(shares[-1])
        return again(*given)

    monkeypatch.setattr(own_folds, "refit_without", without)
    monkeypatch.setattr(attribution, "why_folds", lambda fit: ())
    # all that its packs could tell
    monkeypatch.setattr(attribution, "judged_by_packs", lambda *given: given[-2](1, 1))
    forward = Forward(lambda done, total: shares.append(done / total))
    attribution_of_fit(fit, world, AttributionRequest(), L=5, random_seed=1, progress=forward)
    assert len(before) == own_folds.K
    assert 0.5 < before[0] < before[-1] < shares[-1] < 1
    assert before == sorted(set(before))
    assert shares == sorted(shares)


@pytest.mark.long
def test_folds_of_a_small_file_decide_whatever_the_seed():
    # of a predictor that is the mean of so many
    for size, words in ((2, {"refuse"}), (50, {"pass", "warn"})):
        fit, world = by_level(size, areas=20)
        told = [
            attribution_of_fit(fit, world, AttributionRequest(), L=5, random_seed=seed).attrs
            for seed in range(2)
        ]
        assert {attrs["verdict"] for attrs in told} <= words
        assert all("looks" not in attrs for attrs in told)  # not judged by weights


@pytest.mark.long
def test_means_of_levels_give_away_by_folds_what_they_do_made_again_record_by_record():
    told = made_again(*levels(2), records=20, packs=20)
    assert abs(told["by_folds"] - told["one_by_one"]) < 0.03 + 2.5 * told["se"]
    assert told["held"] < 0.01  # weights hold the means, and see nothing
    assert told["by_folds"] > told["held"] + 0.04


def test_a_fit_of_fewer_draws_than_two_packs_is_not_judged(data):
    fit = rw.fit(
        rw.load_synthesizer("linear-regression")("income ~ age", transform="log"),
        data,
        random_seed=1,
        draws=400,
        chains=2,
    )
    told = attribution_of_fit(
        fit, make_world(data, SCENARIO), AttributionRequest(), L=401, random_seed=2
    )
    assert told.attrs["verdict"] == "not judged"
    assert "draw more" in told.attrs["reasons"][0]


@pytest.mark.slow
def test_who_stands_out_from_a_fold_that_lacks_an_end_is_left_out_alone(monkeypatch):
    rng = np.random.default_rng(4)
    data = pd.DataFrame(
        {"school": np.arange(300) // 10, "score": np.clip(np.rint(rng.normal(30, 8, 300)), 15, 60)}
    )
    fit = rw.fit(
        rw.load_synthesizer("linear-regression")("score ~ 1"), data, None, random_seed=1, draws=250
    )
    world = make_world(
        data, rw.Scenario(known=(), synthetic="score", radius=1.0, radius_kind="absolute")
    )
    lowest = int(data["score"].argmin())
    first, folds = data["score"].min(), attribution.own_folds

    def without_an_end(*given):
        of_row, packs = folds(*given)
        for pack in packs[1 + of_row[lowest]]:
            pack[pack < first + 3] = first + 4
        return of_row, packs

    monkeypatch.setattr(attribution, "own_folds", without_an_end)
    table = attribution._by_own_folds(
        fit, world, AttributionRequest((), (), "school"), 20, None, np.random.default_rng(2), None
    )
    assert not any("end of the file" in reason for reason in table.attrs["reasons"])
    monkeypatch.setattr(attribution, "_ALONE", 0)
    table = attribution._by_own_folds(
        fit, world, AttributionRequest((), (), "school"), 20, None, np.random.default_rng(2), None
    )
    assert any("end of the file" in reason for reason in table.attrs["reasons"])
