"""What a fit's release would be without each record, by weights and by refits."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, norm

import riskweighted as rw
from experiments.disclosure.refits import households, off_from_refits
from riskweighted.disclosure import own_packs
from riskweighted.disclosure.anew import Weighting
from riskweighted.disclosure.attribution import attribution_of_fit
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.comparing import Records, _least_upper, error
from riskweighted.disclosure.own_fit import draw_copies, leave_out, what_is_held
from riskweighted.disclosure.own_packs import FittedPacks
from riskweighted.disclosure.setting import Asked, Setting, some_rows
from riskweighted.intruder.world import make_world
from riskweighted.risk.kernels.draws import smoothed_weights
from riskweighted.sampling.loo import importance_weights

SCENARIO = rw.Scenario(known="region", synthetic="income")


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    return households()


def fitted(data: pd.DataFrame, scheme: str, seed: int = 1) -> rw.Fit:
    synthesizer = rw.load_synthesizer("linear-regression")("income ~ C(region)", transform="log")
    return rw.fit(synthesizer, data, rw.scheme_weights(scheme, data, SCENARIO), random_seed=seed, draws=500, tune=300)


def test_smoothed_weights_are_those_of_arviz():
    terms = np.random.default_rng(1).normal(size=(40, 300)) * np.linspace(0, 3, 40)[:, None]
    weights, shapes = smoothed_weights(-terms)
    expected, pareto_k = importance_weights(terms)
    assert weights == pytest.approx(expected, rel=1e-6)
    assert shapes == pytest.approx(pareto_k, abs=1e-6)


@pytest.mark.quick
def test_a_fit_of_many_records_gives_little_away_and_is_judged(data):
    fit = fitted(data, "marginal")
    table = rw.attribution(data, None, SCENARIO, fit=fit, scheme="marginal", random_seed=3)
    assert set(table["group"]) == {"all", "isolated", "top 1 %"}
    told = table.set_index(["release", "group"])
    assert abs(told.loc[("shuffled", "all"), "D"]) < 0.03
    assert told.loc[("aligned", "all"), "named"] == 0
    assert 0 < told.loc[("aligned", "all"), "copy_D"] < 0.02
    assert "the choice of the model, if it was made on these data" in table.attrs["held"]
    assert "risk weights of the other records" not in table.attrs["held"]
    assert "risk weights of the other records" in rw.attribution(data, None, SCENARIO, fit=fit, random_seed=3).attrs["held"]


def test_of_a_large_file_packs_of_some_patterns_say_what_those_of_all_do(data, monkeypatch):
    fit = fitted(data, "unweighted")
    whole = rw.attribution(data, None, SCENARIO, fit=fit, scheme="unweighted", random_seed=3)
    monkeypatch.setattr("riskweighted.disclosure.attribution.LOOKED_AT", len(data) // 3)
    some = rw.attribution(data, None, SCENARIO, fit=fit, scheme="unweighted", random_seed=3)
    assert (some["records"] < whole["records"]).all()
    assert some["records"].iloc[0] <= len(data) // 3
    off = (some["D"] - whole["D"]) / np.hypot(some["se"], whole["se"])
    assert off[whole["group"] == "all"].abs().max() < 3
    of_copy = ["copy_D", "largest_D", "above_.01", "above_.05"]  # of every record, whoever is looked at
    pd.testing.assert_frame_equal(some[of_copy], whole[of_copy])
    assert some.attrs["alone"] == whole.attrs["alone"]


def test_the_error_of_some_patterns_is_over_patterns_and_a_part_of_one_stands_for_all(data):
    rng = np.random.default_rng(4)
    big = pd.DataFrame({"region": np.repeat(np.arange(31), [900, *[10] * 30]), "income": np.exp(rng.normal(7, 1, 1_200))})
    setting = Setting(make_world(big, SCENARIO), Asked(), np.random.default_rng(2), most=250)
    of_large = big["region"].to_numpy()[setting.rows] == 0
    assert of_large.sum() in (0, 50)
    records = setting.records(Coding(setting.world, setting.rows), np.ones(1_200, dtype=bool))
    assert records.weights[of_large].sum() in (0, pytest.approx(900))
    codes = np.unique(setting.patterns, return_inverse=True)[1]
    by_pattern = rng.normal(0, 0.02, codes.max() + 1)[codes][None]
    everybody = np.ones(len(codes), dtype=bool)
    assert error(by_pattern, everybody, records) > 2 * error(by_pattern, everybody, replace(records, drawn=None))


@pytest.mark.quick
def test_who_is_looked_at_are_whole_patterns_and_a_part_of_large_ones():
    rng = np.random.default_rng(1)
    patterns = rng.permutation(np.concatenate([np.repeat(np.arange(300), 5), np.full(2_000, 300)]))
    rows = some_rows(patterns, 400, rng)
    sizes = np.bincount(patterns[rows], minlength=301)
    assert set(sizes[:300]) == {0, 5}
    assert sizes[300] in (0, 80)
    assert 400 <= len(rows) < 480
    assert (np.diff(rows) > 0).all()
    assert len(some_rows(np.zeros(3_000, dtype=np.int64), 400, rng)) == 80


def test_true_values_in_a_pack_of_a_fit_are_found(data):
    fit, rng = fitted(data, "unweighted"), np.random.default_rng(4)
    honest = fit.synthesize(20, random_seed=5)
    few = rw.DisclosureSettings(accept={"isolated": "15 records cannot show it"})
    told = rw.attribution(data, honest, SCENARIO, fit=fit, scheme="unweighted", settings=few, random_seed=3).attrs
    assert (told["verdict"], len(told["accepted"])) == ("warn", 1)
    assert "15 records cannot show that it is small" in told["accepted"][0]
    true = rng.random(len(data)) < 0.08
    spoilt = [frame.assign(income=frame["income"].where(~true, data["income"])) for frame in honest]
    table = rw.attribution(data, spoilt, SCENARIO, fit=fit, scheme="unweighted", settings=few, random_seed=3)
    assert table.attrs["verdict"] == "refuse"
    assert table["named"].max() >= 0.7 * true.sum()


def test_records_of_one_unit_are_left_out_together(data):
    fit, units = fitted(data, "unweighted"), np.arange(len(data)) // 2
    world, rng = make_world(data, SCENARIO), np.random.default_rng(5)
    drawn = draw_copies(fit, Coding(world), rng)
    together = leave_out(fit, world, drawn, Weighting("unweighted"), units).weights
    assert (together[::2] == together[1::2]).all()
    terms = drawn.terms["income"]
    expected, _ = smoothed_weights(-(terms[::2] + terms[1::2]))
    assert together[::2] == pytest.approx(expected)
    alone = leave_out(fit, world, drawn, Weighting("unweighted")).weights
    assert not np.allclose(alone, together)


def test_disclosure_tells_of_every_pack_and_every_refit_how_far_it_is(data, monkeypatch):
    fit, world, seen = fitted(data, "unweighted"), make_world(data, SCENARIO), []
    few = partial(attribution_of_fit, fit, world, Asked(), L=5, weighting=Weighting("unweighted"), random_seed=3)
    few(progress=lambda *far: seen.append(far))
    assert seen == [(done, 8) for done in range(1, 9)]  # the weights; five packs as they leave, two the other way
    monkeypatch.setattr(own_packs, "refit_without", lambda *told: fit)
    failing = replace(leave_out(fit, world, draw_copies(fit, Coding(world), np.random.default_rng(1))), judged=np.arange(len(data)) > 2)
    monkeypatch.setattr(own_packs, "leave_out", lambda *told: failing)
    seen.clear()
    few(progress=lambda *far: seen.append(far))
    assert seen == [(done, 11) for done in range(1, 12)]


def test_figures_of_how_the_datasets_leave_stand_first(data):
    fit = fitted(data, "unweighted")
    table = rw.attribution(data, None, SCENARIO, fit=fit, scheme="unweighted", shuffled=False, random_seed=3)
    assert (table["release"].iloc[0], table.attrs["leaves"]) == ("aligned", "aligned")
    assert rw.attribution(data, None, SCENARIO, fit=fit, scheme="unweighted", random_seed=3)["release"].iloc[0] == "shuffled"


def test_weights_made_at_another_radius_are_made_anew_there(data):
    narrow = rw.Scenario(known="region", synthetic="income", radius=0.05)
    fit, world = fitted(data, "marginal"), make_world(data, narrow)
    drawn = draw_copies(fit, Coding(world), np.random.default_rng(5))
    made = leave_out(fit, world, drawn, Weighting("marginal", world=make_world(data, SCENARIO)))
    same = leave_out(fit, make_world(data, SCENARIO), drawn, Weighting("marginal"))
    assert (made.weights == same.weights).all()
    with pytest.raises(rw.InputError, match="not those of scheme"):
        leave_out(fit, world, drawn, Weighting("marginal"))


@pytest.mark.filterwarnings("ignore::riskweighted.ConvergenceWarning")
def test_a_record_whose_weights_fail_is_left_out_by_a_fit_of_its_own(monkeypatch):
    data = households(60)
    data.loc[0, "income"] = 5e7  # alone it widens the whole distribution
    world = make_world(data, SCENARIO)
    fit = fitted(data, "unweighted")
    coding, rng = Coding(world), np.random.default_rng(1)
    weighted = leave_out(fit, world, draw_copies(fit, coding, rng), Weighting("unweighted"))
    assert not weighted.judged[0]
    setting = Setting(world, Asked(), rng)
    packs = FittedPacks.of(fit, coding, setting, Weighting("unweighted"), copies=10, repeats=3, refits=1)
    assert packs.judged[0]
    assert list(packs.refitted) == [0]
    assert np.log(packs.refitted[0]).std() < 0.7 < np.log(packs.values).std()
    none = FittedPacks.of(fit, coding, setting, Weighting("unweighted"), copies=10, repeats=3, refits=0)
    assert not none.judged[0]
    monkeypatch.setattr(own_packs, "REFITTED", 59)  # as if the file were large
    assert not FittedPacks.of(fit, coding, setting, Weighting("unweighted"), copies=10, repeats=3, refits=1).judged[0]


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["unweighted", "marginal", "delete(q=0.05)"])
def test_one_copy_without_a_record_is_what_refits_give(scheme, data):
    """z of the probability that a copy lands in the ball, against fits without the record whose weights are made anew."""
    off = off_from_refits(data, scheme, 15, 2)["z"]
    assert np.sqrt(np.mean(np.square(off))) < 1.4
    assert np.abs(off).max() < norm.isf(0.0005)


def test_of_a_strangers_class_it_is_said_that_its_draws_are_taken_on_trust(data, monkeypatch):
    fit = fitted(data, "unweighted")
    assert not any("not the package's" in what for what in what_is_held(fit, None))
    monkeypatch.setattr("riskweighted.disclosure.own_fit.is_strange", lambda synthesizer: True)
    told = "draws of a class that is not the package's, taken not to see the values: folds judge them"
    assert what_is_held(fit, None)[-2] == told


def test_of_a_fit_that_did_not_converge_there_are_no_figures(data, monkeypatch):
    fit = fitted(data, "unweighted")
    monkeypatch.setattr(rw.Fit, "converged", False)
    table = rw.attribution(data, None, SCENARIO, fit=fit, scheme="unweighted", random_seed=3)
    assert table.attrs["verdict"] == "not judged"
    assert "did not converge" in table.attrs["reasons"][0]
    assert table[["D", "upper", "out", "named", "largest_D"]].isna().all(axis=None)


def test_few_records_that_agree_do_not_show_that_nothing_is_given_away(data):
    n = 30
    everybody = np.ones(n, dtype=bool)
    of_all = {"all": everybody}
    records = Records(everybody[None], everybody, everybody, everybody, of_all, of_all)
    for mean in (0.0, -0.1):
        assert _least_upper(mean, everybody, records) == pytest.approx(1 - 0.05 ** (1 / n))
    assert _least_upper(1 / n, everybody, records) == pytest.approx(binomtest(1, n, alternative="less").proportion_ci(0.95).high)
    of_units = replace(records, units=np.arange(n) // 3)
    assert _least_upper(0.0, everybody, of_units) == pytest.approx(1 - 0.05 ** (3 / n))
    few = data.iloc[:n].reset_index(drop=True)
    table = rw.attribution(few, [few.assign(income=1.0)] * 2, SCENARIO, folds=None)
    assert np.isnan(table["upper"]).all()
    fit = fitted(data, "unweighted")
    told = rw.attribution(data, None, SCENARIO, fit=fit, scheme="unweighted", random_seed=3).set_index(["release", "group"])
    for group in ("all", "isolated", "top 1 %"):
        row = told.loc[("shuffled", group)]
        assert row["upper"] >= 1 - 0.05 ** (1 / row["records"]) - 1e-9
