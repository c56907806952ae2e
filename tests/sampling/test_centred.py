"""Centred weights in every model: gradients, the term against brute force, what is unbiased, what
is refused.
"""

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
from small_graph import PoissonGraph

import riskweighted as rw
from riskweighted.contract.vector_layout import layout_of
from riskweighted.runs.study import demo_study
from riskweighted.sampling.centred import CentredTerm
from riskweighted.sequence.alphas import alphas_of, functions_of
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sequence.tasks import block_tasks
from riskweighted.weights.margins import FLOOR, overfill_factor
from riskweighted.weights.scheme_names import is_centred

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

N = 240


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "group": rng.choice(["a", "b", "c"], N),
            "age": rng.integers(0, 4, N),
            "half": rng.random(N),
        }
    )
    income = np.exp(
        3 + 0.2 * (frame["group"] == "a") + 0.1 * frame["age"] + 0.5 * rng.normal(size=N)
    ).round(1)
    mixed = np.where(rng.random(N) < 0.1, 0.0, np.where(rng.random(N) < 0.1, -income, income))
    kinds = np.where(income > 25, "high", np.where(income > 15, "middle", "low"))
    return frame.assign(
        income=income, mixed=mixed, kind=kinds, rich=income > 25, count=(income // 4).astype(int)
    )


FORMULA = "{} ~ group + age"
MODELS = {
    "linear-regression": ("income", {"transform": "log"}),
    "linear-regression with bounds": ("income", {"transform": "log", "support": (1, 200)}),
    "normal-mixture": ("income", {"components": 2}),
    "normal-mixture with gates": ("income", {"components": 2, "gating": True}),
    "transformation": ("income", {}),
    "two-part": ("mixed", {}),
    "logistic": ("rich", {}),
    "multinomial": ("kind", {}),
    "ordinal": ("kind", {"levels": ("low", "middle", "high")}),
    "counts": ("count", {}),
    "negative-binomial": ("count", {"components": 1}),
    "negative-binomial of two": ("count", {"components": 2}),
}


def synthesizer_of(name):
    target, settings = MODELS[name]
    return rw.load_synthesizer(name.split(" ")[0])(FORMULA.format(target), **settings)


def scenario_of(target):
    return rw.Scenario(
        known="group", synthetic=target, **({} if target in ("kind", "rich") else {"radius": 0.3})
    )


def task_of(data, name, scheme="marginal+"):
    model = synthesizer_of(name)
    weights = rw.centred_weights(scheme, data, scenario_of(model.target))
    prepared = prepare_sequence(model, data)
    (task,) = block_tasks(
        prepared,
        alphas_of(prepared.variables, weights, data.index),
        functions=functions_of(weights),
    )
    return model, task


@pytest.mark.parametrize("name", list(MODELS))
def test_the_gradient_is_that_of_the_density_and_the_term_that_of_the_distribution(data, name):
    model, task = task_of(data, name)
    prepared = task.block.model.prepared
    blueprint = task.block.model.build()
    alpha = task.alpha.to_numpy()
    centred = blueprint.weighted(alpha, task.centring)
    plain = blueprint.weighted(alpha)
    layout = layout_of(blueprint)
    term = CentredTerm(model, prepared, data, task.centring)
    rng, over = np.random.default_rng(0), []
    for _ in range(3):
        vector = 0.3 * rng.normal(size=layout.size)
        height, gradient = centred(vector)
        for place in rng.choice(layout.size, min(layout.size, 6), replace=False):
            step = np.zeros(layout.size)
            step[place] = 1e-5
            slope = (centred(vector + step)[0] - centred(vector - step)[0]) / 2e-5
            assert gradient[place] == pytest.approx(slope, rel=1e-5, abs=1e-4)
        if task.centring.kinds is None:
            theta = {key: value[0] for key, value in layout.parameters(vector[None]).items()}
            over.append(plain(vector)[0] - height - term.each(theta)[0].sum())
    assert np.ptp(over or [0.0]) < 1e-8  # the same but for a constant


@pytest.mark.quick
def test_the_term_is_the_sum_over_intervals_of_mean_weight_times_probability(data):
    model, task = task_of(data, "linear-regression", "pairwise+")
    term = CentredTerm(model, task.block.model.prepared, data, task.centring)
    theta = {"coefficient": np.array([0.1, 0.2, -0.1, 0.3]), "sigma": np.array(0.8)}
    intervals, weights = task.centring.intervals, task.centring.inside(np.arange(N))
    off = np.zeros(N)
    for number, (low, high) in enumerate(zip(intervals.lower, intervals.upper, strict=True)):
        off += weights[:, number] * model.distribution(theta, task.block.model.prepared).mass(
            np.full(N, low), np.full(N, high)
        )
    assert np.allclose(term.each(theta)[0], off, rtol=1e-12)
    assert np.allclose(term.masses(theta).sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("name", ["transformation", "linear-regression", "multinomial"])
def test_weights_that_are_alike_give_the_fit_of_today(data, name):
    model = synthesizer_of(name)
    alike = rw.centred_weights(
        lambda rows, values: np.full((len(rows), len(values)), 0.5), data, scenario_of(model.target)
    )
    settings = {"draws": 40, "tune": 40, "chains": 2, "random_seed": 1}
    centred = rw.fit(model, data, alike, **settings)
    plain = rw.fit(model, data, np.full(N, 0.5), **settings)
    for block in plain.blocks:
        for variable, values in plain.blocks[block].posterior.items():
            assert (centred.blocks[block].posterior[variable].to_numpy() == values.to_numpy()).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two-part", "transformation", "counts", "normal-mixture"])
def test_a_fit_is_checked_saved_and_measured(data, name, tmp_path):
    model = synthesizer_of(name)
    weights = rw.centred_weights("mix+(t=0.5)", data, scenario_of(model.target))
    fit = rw.fit(model, data, weights, draws=60, tune=100, chains=2, random_seed=1)
    fit.save(tmp_path / "one.fit")
    again = rw.load_fit(tmp_path / "one.fit", model, data, weights)
    assert again.synthesize(1, random_seed=2)[0].equals(fit.synthesize(1, random_seed=2)[0])
    with pytest.raises(rw.InputError, match="centred"):
        rw.load_fit(tmp_path / "one.fit", model, data, weights.alpha[model.target])
    plain = rw.fit(
        model, data, weights.alpha[model.target], draws=60, tune=100, chains=2, random_seed=1
    )
    assert 0 < rw.influence(fit)["information"].sum() < 2 * rw.influence(plain)["information"].sum()


class Poisson(rw.Regression):
    """Counts, given by equations alone."""

    def priors(self, predictors):
        return {
            "level": pm.Normal("level", 1, 1),
            "slope": pm.Normal("slope", 0, 1, shape=predictors),
        }

    def values(self, theta, x):
        return pm.Poisson.dist(pt.exp(theta["level"] + x @ theta["slope"]))


@pytest.mark.slow
def test_a_synthesizer_of_equations_is_centred_in_its_graph(data):
    weights = rw.centred_weights("marginal+", data, scenario_of("count"))
    fit = rw.fit(
        Poisson("count ~ age"), data, weights, draws=100, tune=100, chains=2, random_seed=1
    )
    assert next(iter(fit.blocks.values())).centring is not None
    # never uncentred silently
    with pytest.raises(rw.ContractError, match="cannot be centred: mass"):
        rw.fit(
            PoissonGraph("count ~ age"), data, weights, draws=20, tune=20, chains=1, random_seed=1
        )


def test_several_variables_each_by_its_own(data):
    chain = rw.load_synthesizer("sequential")(
        ["rich", "mixed"], predictors=["group", "age"], settings={"mixed": {"codes": [0]}}
    )
    scenario = rw.Scenario(
        known="group", synthetic=["rich", "mixed"], radius=0.3, codes={"mixed": [0]}
    )
    weights = rw.centred_weights("marginal+", data, scenario)
    fit = rw.fit(chain, data, weights, draws=60, tune=100, chains=2, random_seed=1)
    assert all(block.centring is not None for block in fit.blocks.values())
    status = fit.blocks["mixed is 0"]
    of_group = pd.DataFrame(
        {"group": data["group"], "zero": data["mixed"] == 0, "alpha": status.alpha}
    )
    # a status weighs by itself alone
    assert (of_group[of_group["zero"]].groupby("group")["alpha"].nunique() == 1).all()
    assert fit.synthesize(1, random_seed=1)[0]["mixed"].isin([0]).any()


@pytest.mark.parametrize("scheme", ["marginal+", "pairwise+", "mix+(t=0.5)", "others-in-ball+"])
def test_the_category_law(scheme):
    """Shares of levels: centred modes are the shares, where plain ones are p^2 / sum p^2 (METHODS
    section 15).
    """
    shares = np.array([0.55, 0.25, 0.12, 0.05, 0.03])
    data = pd.DataFrame(
        {"level": np.repeat(list("abcde"), (4000 * shares).astype(int)), "all": "x"}
    )
    model = rw.load_synthesizer("multinomial")("level ~ 1")
    scenario = rw.Scenario(known="all", synthetic="level")
    weights = rw.centred_weights(scheme, data, scenario)
    fit = rw.fit(model, data, weights, draws=500, chains=2, random_seed=1)
    released = np.mean(
        [
            frame["level"].value_counts(normalize=True).sort_index()
            for frame in fit.synthesize(100, random_seed=2)
        ],
        axis=0,
    )
    assert np.abs(released - shares).max() < 0.02


@pytest.fixture(scope="module")
def rare():
    """Of eight levels, one of .001: by scheme, its posterior mean, and its smallest weight."""
    counts = [1400, 1000, 700, 450, 250, 136, 60, 4]
    levels = pd.DataFrame({"level": np.repeat(list("abcdefgh"), counts), "all": "x"})
    model = rw.load_synthesizer("multinomial")("level ~ 1")
    scenario = rw.Scenario(known="all", synthetic="level")

    def mean_of(scheme):
        weights = None if scheme == "unweighted" else rw.centred_weights(scheme, levels, scenario)
        (block,) = rw.fit(
            model, levels, weights, draws=400, chains=2, random_seed=1
        ).blocks.values()
        last, place = np.full(4000, 7.0), range(0, 400, 4)
        mean = np.mean(
            [
                block.distribution(block.draw(chain, draw)).mass(last, last)[0]
                for chain in range(2)
                for draw in place
            ]
        )
        return mean, 1.0 if weights is None else weights.alpha["level"].min()

    return mean_of


OFFERED = [scheme for scheme in demo_study().weights.schemes if is_centred(scheme)]


@pytest.mark.parametrize(
    "scheme", dict.fromkeys([*OFFERED, "mix+(t=0.5)", "marginal+", "power+(g=0.5)"])
)
def test_a_rare_level_is_overfilled_by_no_more_than_is_said(rare, scheme):
    """Within a factor 1.5 of the unweighted posterior mean, or below the floor and warned of with a
    factor that is no less.
    """
    (mean, least), (unweighted, _) = rare(scheme), rare("unweighted")
    if least >= FLOOR:
        assert mean / unweighted < 1.5
    else:
        assert 1.3 < mean / unweighted < 1.15 * overfill_factor(least)


def window(rows, values):
    """Weight in the middle alone."""
    return np.tile(np.where(np.abs(values.to_numpy(dtype=float)) < 1, 1.0, 0.01), (len(rows), 1))


@pytest.mark.parametrize("fits", [True, False])
def test_a_second_mode_is_refused(fits):
    """Records left and right of where the weight is, under one normal distribution: it flees to one
    side or the other, and chains at one of these agree with each other."""
    rng = np.random.default_rng(1)
    y = rng.normal(size=200) if fits else rng.choice([-1.5, 1.5], 200) + 0.3 * rng.normal(size=200)
    frame = pd.DataFrame({"y": y})
    model = rw.load_synthesizer("linear-regression")("y ~ 1", location=0.0, scale=1.0)
    weights = rw.centred_weights(window, frame, rw.Scenario(synthetic="y", radius=0.2))
    settings = {"draws": 40, "tune": 40, "chains": 2, "random_seed": 1}
    if fits:
        assert (
            abs(
                float(
                    next(iter(rw.fit(model, frame, weights, **settings).blocks.values()))
                    .posterior["coefficient"]
                    .mean()
                )
            )
            < 0.5
        )
    else:
        with pytest.raises(rw.InputError, match="two modes"):
            rw.fit(model, frame, weights, **settings)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("marginal", "plus behind its name"),
        ("uniform+(c=0.5)", "nothing to centre"),
        (lambda rows, values: np.ones(3), "a function of weights must give"),
        (lambda rows, values: np.full((len(rows), len(values)), 2.0), "in \\[0, 1\\]"),
    ],
)
def test_what_cannot_be_centred_is_refused(data, given, says):
    with pytest.raises(rw.InputError, match=says):
        rw.centred_weights(given, data, scenario_of("income"))


def test_a_value_model_without_a_grid_takes_no_centred_weights_in_two_parts(data):
    weights = rw.centred_weights("marginal+", data, scenario_of("mixed"))
    with pytest.raises(rw.InputError, match="'transformation'"):
        rw.fit(
            rw.load_synthesizer("two-part")(FORMULA.format("mixed"), value="normal-mixture"),
            data,
            weights,
        )


def test_weights_without_their_function_are_refused(data):
    model = synthesizer_of("linear-regression")
    weights = rw.centred_weights("marginal+", data, scenario_of("income"))
    for broken, says in [
        (
            rw.CentredWeights(weights.alpha * 0.5, weights.functions),
            "differ from what their function gives",
        ),
        (
            rw.CentredWeights(weights.alpha, {}),
            "lack the function of a record's own value of 'income'",
        ),
    ]:
        with pytest.raises(rw.InputError, match=says):
            rw.fit(model, data, broken, random_seed=1)
    with pytest.raises(rw.InputError, match="got NoneType"):
        rw.CentredWeights(weights.alpha, None)
    with pytest.raises(rw.InputError, match="2 of 2 are not"):
        rw.centred_weights(
            lambda rows, values: np.full((len(rows), len(values)), 2.0), data, scenario_of("income")
        )
