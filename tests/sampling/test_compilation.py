"""Compile once, sample, judge, save: tried on one compiled model of counts."""

import contextlib
import dataclasses
import errno
import io
import os
import signal
import sys
import time
import warnings
import zipfile
from collections import OrderedDict

import numpy as np
import nutpie
import pandas as pd
import pymc as pm
import pytensor
import pytest
import xarray as xr
from brute import SECRET, assert_clear
from records import Asked
from riskweighted_models.negative_binomial import NegativeBinomial
from scipy import stats
from small_graph import PoissonGraph

import riskweighted as rw
from riskweighted.common.errors import ConvergenceWarning, InputError
from riskweighted.contract.synthesizer import load_synthesizer
from riskweighted.sampling import compilation, compiled as compiled_model
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sampling.convergence import (
    ESS_LIMIT,
    R_HAT_LIMIT,
    PosteriorDraws,
    judge,
    verdict_of,
)
from riskweighted.sampling.sampling_settings import Sampling
from riskweighted.sequence.fitting import compile_model, fit
from riskweighted.sequence.saved import load_fit, read_fit

pytestmark = pytest.mark.versions

N = 150
SHORT = {"draws": 600, "tune": 400, "chains": 2, "target_accept": 0.9}


@dataclasses.dataclass(frozen=True)
class NegativeBinomialGraph(NegativeBinomial):
    """The built-in model as a plug-in would have it that gives a PyMC graph and nothing else."""

    def build(self, prepared):
        return super().build(prepared)._replace(density=None, layout=None)


COUNTS = PoissonGraph("employees ~ 1")
TOP = load_synthesizer("top-coding")("employees ~ 1", quantile=0.9)


def confidential():
    rng = np.random.default_rng(31)
    frame = pd.DataFrame(
        {
            "text": rng.choice(["p", "q", None], N),
            "grade": pd.Categorical(
                rng.choice(["low", "high"], N), categories=["low", "unused", "high"], ordered=True
            ),
            "employees": rng.negative_binomial(3, 0.1, N).astype("int32"),
            "turnover": rng.lognormal(10, 1, N).astype("float32"),
            "branches": pd.array(rng.integers(0, 9, N), dtype="Int64"),
            "since": pd.Timestamp("2001-01-01")
            + pd.to_timedelta(rng.integers(0, 9999, N), unit="D"),
        },
        index=pd.Index([f"firm {i}" for i in rng.permutation(N)], name="firm"),
    )
    frame.loc["firm 7", "branches"] = pd.NA
    return frame


def risky_weights():
    """Like marginal weights: smaller where the count is rarer, some zero."""
    frame = confidential()
    rank = frame["employees"].rank(pct=True)
    return (1.1 - rank).clip(0, 1).where(rank < 0.97, 0.0).rename("weights")


@pytest.fixture(scope="module")
def compilations():
    """The models compiled so far in this module; the cache starts empty."""
    calls = []
    original = compilation._compile
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compilation, "_compile", lambda model: calls.append(model) or original(model))
        patch.setattr(compilation, "_recent", OrderedDict())
        yield calls


def compiled_of(synthesizer, frame):
    """The model of the one block."""
    return compile_model(synthesizer, frame).models[0]


@pytest.fixture(scope="module")
def compiled(compilations):
    return compile_model(COUNTS, confidential())


@pytest.fixture(scope="module")
def unweighted(compiled):
    return fit(COUNTS, confidential(), random_seed=5, cores=2, **SHORT)


@pytest.fixture
def no_compiler(monkeypatch):
    """A fresh cache, and a compiler that counts what it is given and returns it."""
    calls = []
    monkeypatch.setattr(compilation, "_compile", lambda model: calls.append(model) or model)
    monkeypatch.setattr(compilation, "_recent", OrderedDict())
    return calls


def bytes_of(posterior):
    return {
        str(name): np.ascontiguousarray(values.values).tobytes()
        for name, values in posterior.items()
    }


def assert_same_frames(first, second):
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
        assert one["employees"].to_numpy().tobytes() == other["employees"].to_numpy().tobytes()


# Compile once


@pytest.mark.slow
def test_pymc_gives_the_posterior_of_the_model_that_a_fit_hands_out(compiled):
    own = fit(COUNTS, confidential(), risky_weights(), random_seed=1, **SHORT)
    graph = own.pymc_model()
    with pytensor.config.change_flags(cxx="", mode="FAST_COMPILE"):
        theirs = pm.sample(
            600, tune=400, chains=2, cores=1, random_seed=2, progressbar=False, model=graph
        ).posterior["intercept"]
    ours = own.posterior["intercept"]
    assert float(theirs.mean()) == pytest.approx(float(ours.mean()), abs=0.25 * float(ours.std()))
    assert float(theirs.std()) == pytest.approx(float(ours.std()), rel=0.15)
    with pytest.raises(InputError, match="block must be one of 'employees', got 'jobs'"):
        own.pymc_model("jobs")
    with pytest.raises(InputError, match="estimates nothing"):
        fit(TOP, confidential(), random_seed=1).pymc_model()


@pytest.mark.slow
def test_one_compilation_serves_every_weight_vector(compiled, compilations, unweighted):
    weights = risky_weights()
    before = bytes_of(fit(COUNTS, confidential(), random_seed=1, **SHORT).posterior)
    weighted = fit(COUNTS, confidential(), weights, random_seed=1, **SHORT)
    fit(COUNTS, confidential().copy(), weights.to_numpy(), random_seed=1, **SHORT)
    after = bytes_of(fit(COUNTS, confidential(), np.ones(N), random_seed=1, **SHORT).posterior)
    assert len(compilations) == 1
    assert before == after
    assert before != bytes_of(weighted.posterior)
    pd.testing.assert_series_equal(weighted.alpha, weights, check_names=False)
    assert (fit(COUNTS, confidential(), random_seed=1, **SHORT).alpha == 1).all()


def test_nothing_that_another_process_compiled_is_called(monkeypatch):
    """PyTensor's functions on disk share their names; one of another process was called for its
    namesake, and sampling failed.
    """
    seen = []
    monkeypatch.setattr(
        nutpie,
        "compile_pymc_model",
        lambda model, backend: seen.append(pytensor.config.numba__cache),
    )
    compilation._compile(None)
    assert seen == [False]


def test_weights_move_and_widen_the_posterior(compiled, unweighted):
    """Large counts weigh less, so the mean falls; a fifth of the information has sqrt(5) times the
    spread.
    """
    log_mean, low, vague = (
        fitted.posterior["intercept"].values
        for fitted in (
            unweighted,
            *(
                fit(COUNTS, confidential(), alpha, random_seed=1, **SHORT)
                for alpha in (risky_weights(), np.full(N, 0.2))
            ),
        )
    )
    assert low.mean() < log_mean.mean() - 3 * log_mean.std()
    assert 1.8 < vague.std() / log_mean.std() < 2.8


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.rename(columns={"employees": "staff"}),
        lambda frame: frame.rename(columns={"turnover": "sales"}),
        lambda frame: frame.assign(employees=frame["employees"].where(np.arange(N) != 3, 400)),
        lambda frame: frame.assign(employees=frame["employees"].to_numpy()[::-1]),
        lambda frame: frame.assign(turnover=frame["turnover"] + 1),
        lambda frame: frame.iloc[:-1],
        lambda frame: (
            frame[["turnover", "employees"]]
            .set_axis(["employees", "turnover"], axis=1)
            .astype({"employees": "int64"})
        ),
    ],
    ids=[
        "renamed target",
        "renamed column",
        "one value",
        "order of values",
        "predictor",
        "fewer rows",
        "swapped names",
    ],
)
def test_the_cache_tells_other_data_apart(no_compiler, change):
    frame, other = confidential(), change(confidential())
    synthesizer = NegativeBinomialGraph("employees ~ turnover")
    target = "staff" if "staff" in other else "employees"
    predictor = "sales" if "sales" in other else "turnover"
    first = compiled_of(synthesizer, frame)
    second = compiled_of(dataclasses.replace(synthesizer, formula=f"{target} ~ {predictor}"), other)
    assert len(no_compiler) == 2
    assert first.model.prepared is not second.model.prepared
    assert compiled_of(synthesizer, confidential()).compiled is first.compiled
    assert len(no_compiler) == 2


def test_the_cache_tells_columns_of_swapped_names_apart(no_compiler):
    """Same values in the same order, other names: another model."""
    frame = confidential()[["employees", "branches", "turnover"]].fillna(1).astype("int64")
    synthesizer = NegativeBinomialGraph("employees ~ turnover")
    first = compiled_of(synthesizer, frame)
    second = compiled_of(synthesizer, frame.set_axis(["branches", "employees", "turnover"], axis=1))
    assert len(no_compiler) == 2
    assert not np.array_equal(first.model.prepared.counts, second.model.prepared.counts)


def test_the_cache_tells_orders_of_categories_apart(no_compiler):
    """The order decides the reference level, so it decides the whitened predictors and, with a
    seed, the draws.
    """
    grades = pd.Categorical(
        np.random.default_rng(1).choice(["low", "middle", "high"], N),
        categories=["low", "middle", "high"],
    )
    frame = confidential().assign(grade=grades)
    other = frame.assign(grade=grades.reorder_categories(["middle", "high", "low"]))
    synthesizer = load_synthesizer("normal-mixture")("turnover ~ C(grade)")
    before = compiled_of(synthesizer, frame).model.prepared.design.whitened
    assert not np.array_equal(before, synthesizer.prepare(other).design.whitened)
    np.testing.assert_array_equal(
        compiled_of(synthesizer, other).model.prepared.design.whitened,
        synthesizer.prepare(other).design.whitened,
    )


def test_the_cache_tells_settings_apart_and_keeps_the_last_few(no_compiler, monkeypatch):
    monkeypatch.setattr(compilation, "_KEPT", 4)
    frame = confidential()
    kinds = [NegativeBinomialGraph("employees ~ 1", components=k) for k in (1, 2, 3, 4, 5)]
    first = [compiled_of(kind, frame) for kind in kinds]
    assert len(no_compiler) == 5
    assert all(
        compiled_of(kind, frame).compiled is model.compiled
        for kind, model in list(zip(kinds, first, strict=True))[1:]
    )
    assert len(no_compiler) == 5
    compiled_of(kinds[0], frame)
    assert len(no_compiler) == 6


def test_a_model_from_the_cache_carries_the_frame_it_was_asked_for(no_compiler):
    frame, again = confidential(), confidential()
    assert compiled_of(COUNTS, frame).model.confidential is frame
    assert compiled_of(COUNTS, again).model.confidential is again
    assert len(no_compiler) == 1


def test_the_model_has_one_potential_and_no_observed_variable(no_compiler):
    compiled_of(COUNTS, confidential())
    (model,) = no_compiler
    assert [potential.name for potential in model.potentials] == ["weighted_log_likelihood"]
    assert model.observed_RVs == []


# The same seed gives the same bytes


def test_the_same_seed_gives_the_same_bytes_on_one_core_and_on_two(compiled):
    first, second, third = (
        fit(COUNTS, confidential(), risky_weights(), random_seed=9, cores=c, **SHORT)
        for c in (1, 2, None)
    )
    assert bytes_of(first.posterior) == bytes_of(second.posterior) == bytes_of(third.posterior)
    pd.testing.assert_frame_equal(first.diagnostics, second.diagnostics, check_exact=True)
    assert_same_frames(first.synthesize(5, random_seed=2), second.synthesize(5, random_seed=2))


def test_another_seed_gives_another_posterior_and_other_frames(compiled, unweighted):
    first, second = (fit(COUNTS, confidential(), random_seed=seed, **SHORT) for seed in (9, 10))
    assert bytes_of(first.posterior) != bytes_of(second.posterior)
    one, other = unweighted.synthesize(1, random_seed=1), unweighted.synthesize(1, random_seed=2)
    assert not one[0]["employees"].equals(other[0]["employees"])


def test_chains_differ(unweighted):
    values = unweighted.posterior["predictive_mean"].values
    assert values.shape == (2, 600)
    assert not np.array_equal(values[0], values[1])


def test_the_order_of_columns_changes_no_draw(unweighted):
    """Columns that the model does not use change nothing."""
    frame = confidential()
    moved = frame[list(frame.columns[::-1])]
    assert unweighted.synthesize(1, random_seed=1)[0]["employees"].tolist() == (
        unweighted.changed(confidential=moved).synthesize(1, random_seed=1)[0]["employees"].tolist()
    )


# Synthetic frames


def test_frames_keep_rows_index_columns_dtypes_categories_and_predictors(unweighted):
    frame = confidential()
    frames = unweighted.synthesize(6, random_seed=3)
    assert len(frames) == 6
    for synthetic in frames:
        assert synthetic.index.equals(frame.index)
        assert synthetic.index.name == "firm"
        assert list(synthetic.columns) == list(frame.columns)
        pd.testing.assert_series_equal(synthetic.dtypes, frame.dtypes)
        assert list(synthetic["grade"].cat.categories) == ["low", "unused", "high"]
        assert synthetic["grade"].cat.ordered
        pd.testing.assert_frame_equal(
            synthetic.drop(columns="employees"), frame.drop(columns="employees")
        )
        assert not synthetic["employees"].equals(frame["employees"])
        assert (synthetic["employees"] >= 0).all()
    assert len({synthetic["employees"].to_numpy().tobytes() for synthetic in frames}) == 6


def test_the_confidential_frame_is_left_alone(compiled):
    frame, weights = confidential(), risky_weights()
    fitted = fit(COUNTS, frame, weights, random_seed=5, **SHORT)
    for synthetic in fitted.synthesize(2, random_seed=1):
        synthetic.loc[:, "turnover"] = np.float32(0)
        synthetic.loc[:, "employees"] = np.int32(0)
    pd.testing.assert_frame_equal(frame, confidential())
    pd.testing.assert_series_equal(weights, risky_weights())
    pd.testing.assert_frame_equal(fitted.confidential, confidential())


@dataclasses.dataclass(frozen=True)
class Recorder:
    """Notes the posterior draws that it is asked to draw from."""

    seen: list
    formula: str = "employees ~ 1"
    target: str = "employees"

    def distribution(self, theta, prepared):
        return Asked(self, theta, prepared)

    def draw(self, theta, prepared, rng):
        self.seen.append(
            {name: np.asarray(theta[name]) for name in ("which", "intercept")}
            | {"which": float(theta["which"])}
        )
        return rng.poisson(5, N).astype(float)


@pytest.mark.parametrize("count", [1, 7, 1200])
def test_each_frame_comes_from_a_posterior_draw_of_its_own(unweighted, count):
    recorder = Recorder([])
    number = np.arange(1200.0).reshape(2, 600)
    posterior = unweighted.posterior.assign(which=(("chain", "draw"), number))
    fitted = unweighted.changed(synthesizer=recorder, posterior=posterior)
    too_many = count > unweighted.diagnostics["ess_bulk"].min()
    assert too_many == (count == 1200)
    with (
        pytest.warns(ConvergenceWarning, match="^L = 1200 datasets exceed the ")
        if too_many
        else contextlib.nullcontext()
    ):
        frames = fitted.synthesize(count, random_seed=1)
    assert (
        len(frames)
        == len(recorder.seen)
        == len({theta["which"] for theta in recorder.seen})
        == count
    )
    from_second = sum(theta["which"] >= 600 for theta in recorder.seen)
    assert abs(count - 2 * from_second) <= 1
    for theta in recorder.seen:
        chain, draw = divmod(int(theta["which"]), 600)
        assert (
            theta["intercept"].tolist()
            == unweighted.posterior["intercept"].values[chain, draw].tolist()
        )
    assert len({frame["employees"].to_numpy().tobytes() for frame in frames}) == count


def test_another_seed_takes_other_posterior_draws(unweighted):
    posterior = unweighted.posterior.assign(
        which=(("chain", "draw"), np.arange(1200.0).reshape(2, 600))
    )

    def taken(seed):
        recorder = Recorder([])
        unweighted.changed(synthesizer=recorder, posterior=posterior).synthesize(
            10, random_seed=seed
        )
        return [theta["which"] for theta in recorder.seen]

    assert taken(1) == taken(1)
    sets = [set(taken(seed)) for seed in range(20)]
    assert len(set().union(*sets)) > 150  # of 200; were the draws fixed, 10


def test_more_datasets_than_effective_draws_are_warned_of_once_with_both_counts(unweighted):
    effective = int(unweighted.diagnostics["ess_bulk"].min())
    unweighted.synthesize(effective, random_seed=1)
    with pytest.warns(ConvergenceWarning) as caught:
        unweighted.synthesize(effective + 2, random_seed=1)
    (warning,) = caught
    assert f"L = {effective + 2} datasets" in str(warning.message)
    assert f"{unweighted.diagnostics['ess_bulk'].min():.0f} effective draws" in str(warning.message)
    assert warning.filename == __file__


@pytest.mark.parametrize("count", [0, -1, 2.5, 2.0, "3", None, True, 1201])
def test_a_number_of_frames_that_cannot_be_is_refused(unweighted, count):
    with pytest.raises(InputError) as caught:
        unweighted.synthesize(count)
    assert_clear(caught, "L", str(count))


def test_frames_without_a_seed_differ(unweighted):
    assert not unweighted.synthesize(1)[0].equals(unweighted.synthesize(1)[0])


# Weights that cannot be


def changed(position, value):
    weights = np.full(N, 0.5)
    weights[position] = value
    return weights


BAD_WEIGHTS = {
    "above one": (changed(3, 1.0001), "[0, 1]"),
    "below zero": (changed(3, -1e-9), "[0, 1]"),
    "infinite": (changed(3, np.inf), "[0, 1]"),
    "missing": (changed(3, np.nan), "1 are missing"),
    "too short": (np.full(N - 1, 0.5), "149 for 150"),
    "one number": (np.float64(0.5), "dimension"),
    "two columns": (np.full((N, 2), 0.5), "shape (150, 2)"),
    "text": (pd.Series("0.5", confidential().index), "numbers"),
    "another index": (pd.Series(np.full(N, 0.5)), "index"),
    "another order": (risky_weights().sort_index(), "index"),
    "all zero": (np.zeros(N), "zero"),
}


@pytest.mark.parametrize("kind", BAD_WEIGHTS)
def test_weights_that_cannot_be_are_refused_before_compiling(no_compiler, kind):
    weights, named = BAD_WEIGHTS[kind]
    with pytest.raises(InputError) as caught:
        fit(COUNTS, confidential(), weights, random_seed=1, **SHORT)
    assert_clear(caught, "weights", named)
    assert no_compiler == []


@pytest.mark.parametrize("kind", BAD_WEIGHTS)
def test_a_compiled_model_refuses_the_same_weights(compiled, kind):
    weights, named = BAD_WEIGHTS[kind]
    with pytest.raises(InputError) as caught:
        compiled.sample(weights, random_seed=1)
    assert_clear(caught, "weights", named)


def test_unsuitable_data_are_refused_before_compiling(no_compiler):
    frame = confidential().assign(employees=lambda data: data["employees"] - 1000)
    with pytest.raises(InputError) as caught:
        fit(COUNTS, frame)
    assert_clear(caught, "negative")
    assert no_compiler == []


@pytest.mark.parametrize(
    "settings",
    [
        *(
            {name: value}
            for name in ("draws", "tune", "chains", "cores")
            for value in (0, -1, 1.5, "4", True)
        ),
        *({name: None} for name in ("draws", "tune", "chains")),
        *({"target_accept": value} for value in (0, 1, -0.5, 1.5, np.nan, "high")),
    ],
    ids=str,
)
def test_sampling_settings_that_cannot_be_are_refused(no_compiler, settings):
    with pytest.raises(InputError) as caught:
        Sampling(**settings)
    assert_clear(caught, *settings)
    with pytest.raises(InputError):
        fit(COUNTS, confidential(), **settings)
    assert no_compiler == []


def test_sampling_is_a_frozen_value():
    assert Sampling(draws=10) == Sampling(draws=10) != Sampling()
    assert hash(Sampling()) == hash(Sampling(cores=None))
    with pytest.raises(dataclasses.FrozenInstanceError):
        Sampling().draws = 3


# Convergence


def test_diagnostics_have_a_row_for_each_monitored_quantity(unweighted):
    diagnostics = unweighted.diagnostics
    numbers = [
        "r_hat",
        "ess_bulk",
        "ess_tail",
        "divergences",
        "converged",
        "engine",
        "pareto_k",
        "approximation",
        "limit",
        "ess_spread",
    ]
    assert list(diagnostics.columns) == [*numbers, "judged"]
    assert list(diagnostics.index) == [
        "log_pseudo_likelihood",
        "log_pseudo_posterior",
        "predictive_mean",
        "predictive_sd",
    ]
    assert diagnostics["judged"].all()  # a model without masses is judged by its parameters
    assert diagnostics.index.name == "quantity"
    assert [dtype.kind for dtype in diagnostics.drop(columns="engine").dtypes] == [
        "f",
        "f",
        "f",
        "i",
        "b",
        "f",
        "f",
        "f",
        "f",
        "b",
    ]
    assert diagnostics.drop(columns=["pareto_k", "approximation"]).notna().all(axis=None)
    assert (diagnostics["engine"] == "nuts").all()
    assert diagnostics["pareto_k"].isna().all()
    assert unweighted.converged
    assert type(unweighted.converged) is bool


def reference_r_hat(values):
    """Rank-normalised split R-hat, the larger of bulk and folded (Vehtari et al. 2021), for chains
    (m, n), n even.
    """
    m, n = values.shape
    halves = values.reshape(2 * m, n // 2)

    def of(numbers):
        ranks = stats.rankdata(numbers).reshape(numbers.shape)
        normal = stats.norm.ppf((ranks - 0.375) / (numbers.size + 0.25))
        half = normal.shape[1]
        within = normal.var(axis=1, ddof=1).mean()
        between = half * normal.mean(axis=1).var(ddof=1)
        return np.sqrt(((half - 1) / half * within + between / half) / within)

    return max(of(halves), of(np.abs(halves - np.median(halves))))


def test_r_hat_is_rank_normalised_and_split(unweighted):
    for name in ("predictive_mean", "predictive_sd"):
        expected = reference_r_hat(unweighted.posterior[name].values)
        assert unweighted.diagnostics.loc[name, "r_hat"] == pytest.approx(expected, rel=1e-9)


def diagnose(chains=4, draws=500, change=lambda values: values, divergences=0):
    rng = np.random.default_rng(2)
    a = change(rng.normal(size=(chains, draws)))
    vector, matrix = rng.normal(size=(chains, draws, 2)), rng.normal(size=(chains, draws, 2, 1))
    posterior = xr.Dataset(
        {
            "a": (("chain", "draw"), a),
            "v": (("chain", "draw", "i"), vector),
            "m": (("chain", "draw", "i", "j"), matrix),
        }
    )
    fitted = BlockFit(
        COUNTS,
        pd.Series([1.0, 1.0, 1.0]),
        posterior,
        pd.DataFrame(),
        pd.DataFrame({"y": [1, 2, 3]}),
        None,
    )
    stats = xr.Dataset(
        {
            "diverging": (
                ("chain", "draw"),
                np.arange(chains * draws).reshape(chains, draws) < divergences,
            )
        }
    )
    return fitted, judge(PosteriorDraws(posterior, 3 * a, stats), ("a", "v", "m"))


def test_the_least_limits_are_those_of_the_documentation():
    assert (R_HAT_LIMIT, ESS_LIMIT) == (1.02, 100)


def test_chains_that_agree_pass_and_every_scalar_is_judged():
    _, table = diagnose()
    assert list(table.index) == ["log_pseudo_likelihood", "a", "v[0]", "v[1]", "m[0, 0]", "m[1, 0]"]
    assert table["converged"].all()
    assert (table["r_hat"] <= 1.02).all()
    assert (table["ess_bulk"] > 1000).all()


# of short chains
@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.ConvergenceWarning")
def few():
    rng = np.random.default_rng(3)
    return pd.DataFrame({"x": rng.normal(size=60), "y": rng.normal(size=60)})


@pytest.mark.parametrize(
    ("synthesizer", "frame"),
    [
        (rw.load_synthesizer("linear-regression")("y ~ x"), few()),
        pytest.param(
            rw.load_synthesizer("normal-mixture")("y ~ x", transform="identity", components=2),
            few(),
            marks=pytest.mark.long,
        ),
        (COUNTS, confidential()),
    ],
    ids=["a density", "a density with bounds", "a graph"],
)
# so short chains need not agree
@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.ConvergenceWarning")
def test_the_log_pseudo_likelihood_is_the_weighted_sum_over_the_records(
    compiled, synthesizer, frame
):
    fitted = fit(
        synthesizer,
        frame,
        np.random.default_rng(4).random(len(frame)),
        random_seed=1,
        draws=100,
        tune=200,
        chains=2,
        engine="nuts",
    )
    own = np.array(
        [
            [fitted.contributions(fitted.draw(chain, draw)).sum() for draw in range(100)]
            for chain in range(2)
        ]
    )
    row = fitted.diagnostics.loc["log_pseudo_likelihood"]
    # folded, the two middle draws tie or do not
    assert row["r_hat"] == pytest.approx(reference_r_hat(own), rel=1e-3)
    assert "log_pseudo_likelihood" not in fitted.posterior


def test_a_quantity_that_never_moves_does_not_pass():
    """Stuck chains; what ArviZ warns of along the way is not for the user."""
    _, table = diagnose(change=np.zeros_like)
    assert table["converged"].tolist() == [False, False, True, True, True, True]


def test_a_chain_that_stands_elsewhere_fails():
    _, table = diagnose(change=lambda values: values + np.array([0, 0, 0, 1.5])[:, None])
    assert table.loc["a", "r_hat"] > 1.02
    assert table["converged"].tolist() == [False, False, True, True, True, True]


def test_a_chain_of_another_width_fails():
    """Same mean: only the folded R-hat sees it."""
    _, table = diagnose(change=lambda values: values * np.array([1, 1, 1, 4.0])[:, None])
    assert not table.loc["a", "converged"]


def test_a_drifting_chain_fails():
    """All chains drift alike: only splitting sees it."""
    _, table = diagnose(change=lambda values: values + np.linspace(-1.5, 1.5, 500))
    assert table.loc["a", "r_hat"] > 1.02
    assert not table.loc["a", "converged"]


def test_too_few_effective_draws_fail():
    _, table = diagnose(chains=2, draws=40)
    assert (table["ess_bulk"] < 100).any()
    within = (
        (table["r_hat"] <= table["limit"])
        & (table["ess_bulk"] >= 100)
        & (table["ess_spread"] >= 50)
    )
    np.testing.assert_array_equal(table["converged"], within)
    _, table = diagnose(change=lambda values: np.cumsum(values, axis=1) * 0.01 + 0 * values)
    assert not table.loc["a", "converged"]


@pytest.mark.parametrize(
    ("divergences", "word"), [(0, "pass"), (1, "warn"), (10, "warn"), (11, "fail")]
)
def test_divergences_of_up_to_half_a_percent_of_the_draws_warn_and_more_fail(divergences, word):
    _, table = diagnose(divergences=divergences)  # of 2,000 draws
    assert table["converged"].all() == (word != "fail")
    assert (table["divergences"] == divergences).all()
    told, why = verdict_of(table.astype({"converged": str}))
    assert told == word
    assert (str(divergences) in why) == (word != "pass")


@pytest.mark.parametrize(("given", "asked"), [(None, [0.8, 0.95]), (0.9, [0.8])])
def test_chains_of_a_graph_that_diverged_are_run_once_again_with_shorter_steps(
    compiled, monkeypatch, given, asked
):
    run, targets = compiled_model.run_chains, []

    def diverging(model, sampling, seed, progress, target_accept=0.8):
        targets.append(target_accept)
        drawn = run(model, sampling, seed, progress, target_accept)
        return drawn._replace(
            stats=drawn.stats.assign(
                diverging=drawn.stats["energy"] == drawn.stats["energy"].values[0, 0]
            )
        )

    monkeypatch.setattr(compiled_model, "run_chains", diverging)
    with pytest.warns(ConvergenceWarning, match="converged with 1 divergence"):
        fitted = compiled.sample(random_seed=1, sampling=Sampling(target_accept=given))
    assert targets == asked
    assert fitted.converged


def test_a_hopeless_fit_warns_and_says_so(compiled):
    with pytest.warns(ConvergenceWarning) as caught:
        fitted = fit(COUNTS, confidential(), random_seed=1, draws=4, tune=1, chains=2)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert "\n" not in message
    assert "did not converge" in message
    assert "(limit 1.2" in message
    assert "4 of 4 quantities" in message
    assert not fitted.converged
    assert not fitted.diagnostics["converged"].any()
    assert fitted.posterior.sizes["draw"] == 4


@pytest.mark.parametrize(
    "settings",
    [{"draws": 1, "chains": 2}, {"draws": 3, "chains": 2}, {"draws": 20, "chains": 1}],
    ids=str,
)
def test_a_fit_too_short_to_judge_does_not_pass(compiled, settings):
    with pytest.warns(ConvergenceWarning) as caught:
        fitted = fit(COUNTS, confidential(), random_seed=1, tune=20, **settings)
    assert [warning.category for warning in caught] == [ConvergenceWarning]
    assert not fitted.converged
    assert len(fitted.synthesize(1)) == 1


def test_the_warning_points_to_the_line_of_the_user(compiled):
    with pytest.warns(ConvergenceWarning) as caught:
        fit(COUNTS, confidential(), random_seed=1, draws=4, tune=1, chains=2)
    assert caught[0].filename == __file__
    with pytest.warns(ConvergenceWarning) as caught:
        compiled.sample(random_seed=1, sampling=Sampling(draws=4, tune=1, chains=2))
    assert caught[0].filename == __file__


# Progress


def test_progress_is_reported_and_ends_with_all_draws_done(compiled):
    calls = []
    with_progress = fit(
        COUNTS,
        confidential(),
        random_seed=4,
        progress=lambda done, total: calls.append((done, total)),
        **SHORT,
    )
    assert calls[-1] == (2000, 2000)
    assert {total for _, total in calls} == {2000}
    done = [count for count, _ in calls]
    assert done == sorted(done)
    assert all(type(number) is int for call in calls for number in call)
    without = fit(COUNTS, confidential(), random_seed=4, **SHORT)
    assert bytes_of(with_progress.posterior) == bytes_of(without.posterior)
    silent = len(calls)
    fit(COUNTS, confidential(), random_seed=4, **SHORT)
    assert len(calls) == silent


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_what_the_progress_report_raises_stops_the_chains(compiled, error, capfd):
    def report(done, total):
        raise error

    begin = time.process_time()  # of all threads, and of nothing that works beside
    with pytest.raises(error):
        compiled.sample(
            random_seed=4, sampling=Sampling(draws=1_000_000, chains=2, cores=2), progress=report
        )
    assert time.process_time() - begin < 20
    assert "Error in progress callback" not in capfd.readouterr().err


def test_an_interrupt_that_the_sampler_swallows_stops_the_fit(compiled, monkeypatch):
    sampler = sys.modules["nutpie.sample"]._BackgroundSampler
    wait, waited = sampler.wait, []

    def swallows(self, **settings):
        try:
            if not waited:
                waited.append(True)
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(5)
        except KeyboardInterrupt:
            pass
        return wait(self, **settings)

    monkeypatch.setattr(sampler, "wait", swallows)
    with pytest.raises(KeyboardInterrupt):
        compiled.sample(random_seed=4, sampling=Sampling(draws=1_000_000, chains=2, cores=2))
    assert waited


# Saved and loaded


def test_a_saved_fit_comes_back_the_same(unweighted, tmp_path):
    weights = risky_weights()
    fitted = unweighted.changed(alpha=weights)
    fitted.save(tmp_path / "fit.nc")
    loaded = load_fit(tmp_path / "fit.nc", COUNTS, confidential(), weights)
    assert bytes_of(loaded.posterior) == bytes_of(fitted.posterior)
    assert loaded.posterior.sizes == fitted.posterior.sizes
    pd.testing.assert_frame_equal(
        loaded.diagnostics, fitted.diagnostics, check_exact=True, check_dtype=False
    )
    assert loaded.diagnostics["converged"].dtype == bool
    assert loaded.converged
    assert loaded.synthesizer == COUNTS
    pd.testing.assert_series_equal(loaded.alpha, weights, check_names=False)
    assert_same_frames(loaded.synthesize(8, random_seed=6), fitted.synthesize(8, random_seed=6))


def test_a_failed_fit_comes_back_failed(compiled, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = fit(COUNTS, confidential(), random_seed=1, draws=4, tune=1, chains=2)
    fitted.save(tmp_path / "fit.nc")
    loaded = load_fit(tmp_path / "fit.nc", COUNTS, confidential(), fitted.alpha)
    assert not loaded.converged
    pd.testing.assert_frame_equal(loaded.diagnostics, fitted.diagnostics, check_dtype=False)


def test_loading_checks_the_weights_and_the_data(unweighted, tmp_path):
    unweighted.save(tmp_path / "fit.nc")
    with pytest.raises(InputError) as caught:
        load_fit(tmp_path / "fit.nc", COUNTS, confidential(), np.full(N, 2.0))
    assert_clear(caught, "weights")
    with pytest.raises(InputError) as caught:
        load_fit(tmp_path / "fit.nc", COUNTS, confidential().drop(columns="employees"), np.ones(N))
    assert_clear(caught, "'employees'")
    for synthesizer, data in (
        (COUNTS, confidential().iloc[:20]),
        (dataclasses.replace(COUNTS, components=2), confidential()),
    ):
        with pytest.raises(InputError, match="another synthesizer or of other data"):
            load_fit(tmp_path / "fit.nc", synthesizer, data, np.ones(len(data)))
    (tmp_path / "broken.nc").write_bytes(b"no netCDF")
    for name in ("broken.nc", "absent.nc"):
        with pytest.raises(InputError, match="no saved fit"):
            load_fit(tmp_path / name, COUNTS, confidential(), np.ones(N))


def test_a_fit_of_other_weights_or_another_seed_is_refused(unweighted, tmp_path):
    weights = risky_weights()
    unweighted.changed(alpha=weights, random_seed=2**63 + 5).save(tmp_path / "fit.nc")
    assert (tmp_path / "fit.nc").stat().st_mode & 0o077 == 0
    for other in (
        np.ones(N),
        weights.where(weights.index != "firm 3", weights + 1e-5).clip(upper=1.0),
    ):
        with pytest.raises(InputError, match="fit of other weights"):
            load_fit(tmp_path / "fit.nc", COUNTS, confidential(), other)
    in_a_csv = (weights * (1 + 2e-16)).clip(upper=1.0)
    assert (
        load_fit(
            tmp_path / "fit.nc", COUNTS, confidential(), in_a_csv, random_seed=2**63 + 5
        ).random_seed
        == 2**63 + 5
    )
    with pytest.raises(InputError, match="another random_seed than 3"):
        load_fit(tmp_path / "fit.nc", COUNTS, confidential(), weights, random_seed=3)
    unweighted.changed(random_seed=None).save(tmp_path / "unknown.nc")
    assert (
        load_fit(tmp_path / "unknown.nc", COUNTS, confidential(), unweighted.alpha).random_seed
        is None
    )


def test_every_damaged_byte_of_a_saved_fit_is_found(unweighted, tmp_path):
    path = tmp_path / "fit.nc"
    unweighted.save(path)
    whole, prepared = path.read_bytes(), unweighted.prepared
    places = np.random.default_rng(1).choice(len(whole), 300, replace=False)
    for place in {*range(500), *places.tolist(), len(whole) - 1}:
        path.write_bytes(
            whole[:place] + bytes([whole[place] ^ (1 << place % 8)]) + whole[place + 1 :]
        )
        with pytest.raises(InputError, match="is damaged: its checksum differs"):
            read_fit(path, prepared, unweighted.alpha)
    for damaged in (whole[:-1], whole + b"x", b""):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="is damaged: its checksum differs"):
            load_fit(path, COUNTS, confidential(), unweighted.alpha)


def test_a_full_disk_keeps_the_fit_that_was_there(unweighted, tmp_path, monkeypatch):
    def full_disk(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    unweighted.save(tmp_path / "fit.nc")
    before = (tmp_path / "fit.nc").read_bytes()
    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        unweighted.changed(random_seed=9).save(tmp_path / "fit.nc")
    assert (tmp_path / "fit.nc").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["fit.nc"]


def test_a_saved_fit_holds_neither_data_nor_weights(compiled, tmp_path):
    frame = confidential()
    alpha = pd.Series(np.random.default_rng(8).uniform(0.5, 1, N), frame.index)
    fitted = fit(COUNTS, frame, alpha, random_seed=2, **SHORT)
    fitted.save(tmp_path / "fit.nc")
    with (
        zipfile.ZipFile(tmp_path / "fit.nc") as archive,
        xr.open_dataset(io.BytesIO(archive.read("000.nc")), engine="scipy") as stored,
    ):
        names, sizes, attributes = set(stored.variables), dict(stored.sizes), stored.attrs
    parameters = {"intercept", "predictive_mean", "predictive_sd"}
    coordinates = {"chain", "draw", "quantity"}
    judged = {
        "_r_hat",
        "_ess_bulk",
        "_ess_tail",
        "_divergences",
        "_converged",
        "_engine",
        "_pareto_k",
        "_approximation",
    }
    judged |= {"_limit", "_ess_spread", "_judged", "_stat_diverging", "_stat_energy"}
    assert names == parameters | coordinates | judged
    assert sizes == {"chain": 2, "draw": 600, "quantity": 4}
    # Hashes, so that no other data and weights pick it up, and no damaged file passes.
    assert set(attributes) == {"made_for", "weights", "random_seed", "checksum"}
    assert len(attributes["made_for"]) == len(attributes["weights"]) == 64
    assert attributes["random_seed"] == "seed 2"
    content = (tmp_path / "fit.nc").read_bytes()
    stored_mean = float(fitted.posterior["predictive_mean"].values[1, 7])
    assert np.array(stored_mean, ">f8").tobytes() in content
    distinct = np.unique(fitted.block.prepared.counts)
    summed = np.bincount(fitted.block.prepared.which, weights=alpha)
    for order in "<>":
        for value in alpha:
            assert np.array(value, f"{order}f8").tobytes() not in content
            assert np.array(value, f"{order}f4").tobytes() not in content
        for kind in ("i4", "i8", "f4", "f8"):
            for column in (frame["employees"], distinct, summed):
                assert np.asarray(column)[-8:].astype(order + kind).tobytes() not in content
    for text in ("firm", "employees", "turnover", "alpha"):
        assert text.encode() not in content


# Nothing to estimate


def test_a_deterministic_synthesizer_needs_no_compilation(no_compiler, tmp_path):
    frame = confidential()
    fitted = fit(TOP, frame, risky_weights(), random_seed=1)
    assert no_compiler == []
    assert fitted.converged
    assert len(fitted.diagnostics) == 0
    assert list(fitted.diagnostics.columns) == [
        "r_hat",
        "ess_bulk",
        "ess_tail",
        "divergences",
        "converged",
        "engine",
        "pareto_k",
        "approximation",
        "limit",
        "ess_spread",
        "judged",
    ]
    frames = fitted.synthesize(5)
    assert len(frames) == 5
    bound = np.quantile(frame["employees"], 0.9)
    for synthetic in frames:
        expected = np.rint(np.minimum(frame["employees"], bound)).astype("int32")
        pd.testing.assert_frame_equal(synthetic, frame.assign(employees=expected))
    fitted.save(tmp_path / "top.nc")
    loaded = load_fit(tmp_path / "top.nc", TOP, frame, risky_weights())
    assert loaded.converged
    assert_same_frames(loaded.synthesize(3), frames[:3])
    assert no_compiler == []


@pytest.mark.parametrize("count", [0, -1, 1.5, True])
def test_a_deterministic_fit_refuses_the_same_numbers_of_frames(no_compiler, count):
    fitted = fit(TOP, confidential())
    with pytest.raises(InputError) as caught:
        fitted.synthesize(count)
    assert_clear(caught, "L", repr(count))


def test_a_repeated_index_is_kept(no_compiler):
    frame = confidential()
    frame.index = pd.Index(np.arange(N) // 3)
    (synthetic,) = fit(TOP, frame).synthesize(1)
    assert synthetic.index.equals(frame.index)
    assert len(synthetic) == N


# Representations


def test_no_representation_shows_data_or_weights(no_compiler):
    frame = confidential().assign(turnover=SECRET)
    alpha = pd.Series(0.123456, frame.index)
    for shown in (fit(TOP, frame, alpha), compile_model(COUNTS, frame), compile_model(TOP, frame)):
        text = repr(shown)
        assert type(shown.prepared.declared).__name__ in text
        for secret in ("987654", "firm", "0.123456", "turnover", "Int64", "array"):
            assert secret not in text


def test_the_representation_of_a_sampled_fit_shows_no_data(unweighted):
    text = repr(unweighted)
    assert "PoissonGraph" in text
    assert "converged" in text
    for secret in ("firm", "turnover", "array", "alpha", "xarray"):
        assert secret not in text
