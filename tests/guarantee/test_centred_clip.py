"""The clip of a guarantee, centred: what is taken off, what it mends, and that what is proved still
holds.
"""

import itertools
import math
from collections import OrderedDict
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from brute import assert_clear
from scipy import stats
from scipy.special import logsumexp
from small_graph import PoissonGraph

import riskweighted as rw
from riskweighted.contract.distribution import read_only
from riskweighted.guarantee.clip import DATA
from riskweighted.guarantee.interval_cells import cells_of
from riskweighted.sampling import compilation
from riskweighted.sampling.block_fit import prepare_model
from riskweighted.sampling.graphs import compile_log_prior
from riskweighted.sampling.isolation import refuse_dependence
from riskweighted.sampling.laplace import modes_from
from riskweighted.sequence.alphas import alphas_of
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sequence.tasks import block_tasks

N = 60
NORMAL = rw.Reference("norm", {"loc": 0.2, "scale": 1.3})
COUNTED = rw.Reference("nbinom", {"n": 2, "p": 0.1})
EVEN = rw.Reference("randint", {"low": 0, "high": 3})


def frame():
    rng = np.random.default_rng(2)
    age = rng.integers(0, 4, N).astype(float)
    rent = np.exp(6 + 0.1 * age + 0.3 * rng.normal(size=N)).round(1)
    kind = np.where(rent > 500, "high", np.where(rent > 350, "middle", "low"))
    return pd.DataFrame(
        {
            "age": age,
            "rent": rent,
            "kind": kind,
            "rich": rent > 400,
            "jobs": (rent // 40).astype(int),
        }
    )


def model_of(name, formula, **settings):
    return rw.load_synthesizer(name)(formula, **settings)


UNITS = {"transform": "log", "location": 6.0, "scale": 0.3}
MODELS = {
    "linear": (model_of("linear-regression", "rent ~ age", **UNITS), NORMAL),
    "bounded": (model_of("linear-regression", "rent ~ age", support=(100, 5000), **UNITS), NORMAL),
    "mixture": (model_of("normal-mixture", "rent ~ age", components=2, **UNITS), NORMAL),
    "hierarchical": (
        model_of("hierarchical", "rent ~ 1", groups="age", transform="log"),
        rw.Reference("norm", {"loc": 6.0, "scale": 0.5}),
    ),
    "counts": (model_of("negative-binomial", "jobs ~ age"), COUNTED),
    "logistic": (model_of("logistic", "rich ~ age", levels=(False, True)), None),
    "multinomial": (model_of("multinomial", "kind ~ age", levels=("high", "low", "middle")), EVEN),
}


def guarantee_of(reference, bound=0.5, centred=True, **more):
    return rw.Guarantee(
        M=bound, reference=reference, public=["age", "kind", "rich"], centred=centred, **more
    )


def block_of(model, data, guarantee, alpha=1.0):
    """A fit of a block without draws, which knows what each record adds at any parameters."""
    prepared, weights = prepare_model(model, data), pd.Series(alpha, data.index)
    return prepared.fitted(weights, xr.Dataset(), 1, prepared.censor(guarantee, weights, 3))


def term_at(block, theta):
    return block.clip_term.each(theta, float(block.alpha.iloc[0]), block.statement)


# The statement


@pytest.mark.quick
def test_the_term_counts_where_a_contribution_is_left_out_and_nowhere_else():
    plain, centred = (
        rw.Guarantee(M=0.1, centred=centred).statement(5) for centred in (False, True)
    )
    assert (centred.lower, centred.upper) == (plain.lower, plain.upper)
    assert centred.epsilon("replace") == plain.epsilon("replace") == pytest.approx(2.0)
    each = 0.2 + 1 - math.exp(-0.2)
    assert centred.epsilon("add-drop") == pytest.approx(5 * each)
    assert centred.rho("add-drop") == pytest.approx(5 * each**2 / 8)
    assert centred.rho("replace") == plain.rho("replace")
    assert "term" not in plain.table()
    assert centred.table()["term"].tolist() == pytest.approx([1 - math.exp(-0.2)] * 4)
    of_levels = rw.Guarantee(M=0.1, centred=True).statement(5, True)
    assert of_levels.epsilon("add-drop", draws=1) == pytest.approx(0.1 + 1 - math.exp(-0.1))


@pytest.mark.quick
@pytest.mark.parametrize("epsilon", [1e-5, 0.3, 2.0, 40.0, 5000.0])
@pytest.mark.parametrize("neighbours", ["add-drop", "replace"])
@pytest.mark.parametrize("mass", [False, True])
def test_the_clip_follows_from_epsilon(epsilon, neighbours, mass):
    stated = rw.Guarantee(epsilon=epsilon, neighbours=neighbours, centred=True).statement(4, mass)
    assert stated.epsilon() == pytest.approx(epsilon, rel=1e-9)
    plain = rw.Guarantee(epsilon=epsilon, neighbours=neighbours).statement(4, mass)
    assert stated.M == plain.M if neighbours == "replace" else 0.49 * plain.M < stated.M < plain.M


@pytest.mark.quick
def test_the_accountant_counts_the_term():
    stated = rw.Guarantee(M=0.1, centred=True).statement(5)
    table = rw.accountant({"one": stated, "two": stated}).set_index(["neighbours", "release"])
    assert table.loc[("add-drop", "all together"), "epsilon"] == pytest.approx(
        2 * stated.epsilon("add-drop")
    )
    assert table.loc[("replace", "all together"), "epsilon"] == pytest.approx(
        2 * stated.epsilon("replace")
    )
    for wrong in (
        {"width": 1.0, "term": -1.0},
        {"lipschitz": 1.0, "term": 1.0},
        {"width": 1.0, "term": float("nan")},
    ):
        with pytest.raises(rw.InputError, match="term of release 'a'"):
            rw.Release("a", 1, **wrong)


@pytest.mark.quick
def test_the_sentences_say_whether_the_clip_is_centred():
    plain, centred = (
        " ".join(rw.Guarantee(M=0.1, centred=centred).statement(5).sentences())
        for centred in (False, True)
    )
    assert "the clip is not centred" in plain
    assert "the clip is centred" in centred
    assert f"{1 - math.exp(-0.2):.4g}" in centred


# The term


@pytest.mark.quick
def test_the_cells_are_those_of_the_reference():
    model, reference = MODELS["linear"]
    cells = cells_of(model, model.prepare(frame()), guarantee_of(reference))
    ends = (np.log(cells.upper[:-1]) - 6.0) / 0.3
    np.testing.assert_allclose(
        stats.norm(0.2, 1.3).cdf(ends), np.cumsum(cells.reference)[:-1], atol=1e-9
    )
    assert cells.reference.sum() == pytest.approx(1)
    assert np.ptp(cells.reference) < 1e-9
    counted = cells_of(
        MODELS["counts"][0], MODELS["counts"][0].prepare(frame()), guarantee_of(COUNTED)
    )
    assert (counted.upper[:-1] % 1 == 0.5).all()
    np.testing.assert_allclose(
        np.cumsum(counted.reference)[:-1], stats.nbinom(2, 0.1).cdf(counted.upper[:-1]), atol=1e-9
    )


def test_the_term_is_the_integral_of_the_clipped_ratio():
    """Over the density itself, by quadrature: to .003 of 1."""
    model, reference = MODELS["linear"]
    block, r = block_of(model, frame(), guarantee_of(reference), 0.8), stats.norm(0.2, 1.3)
    z = np.linspace(-12, 12, 200_001)
    for level, sigma in ((0.0, 1.0), (0.7, 0.4), (-1.5, 2.0)):
        ratio = np.clip(
            stats.norm.pdf(z, level, sigma) / r.pdf(z), np.exp(-0.5 / 0.8), np.exp(0.5 / 0.8)
        )
        whole = 0.8 * np.trapezoid(ratio * r.pdf(z), z)
        found = term_at(block, {"coefficient": np.array([level, 0.0]), "sigma": np.array(sigma)})
        np.testing.assert_allclose(found, whole, atol=3e-3)


@pytest.mark.quick
def test_the_term_of_levels_is_a_sum_over_levels():
    for name in ("logistic", "multinomial"):
        model, reference = MODELS[name]
        block = block_of(model, frame(), guarantee_of(reference), 0.6)
        size = 2 if name == "logistic" else 4
        theta = {"coefficient": np.random.default_rng(1).normal(size=size)}
        levels = np.arange(2.0 if name == "logistic" else 3.0)
        each = np.array(
            [
                np.exp(block.distribution(theta).log_density(read_only(np.full(N, level))))
                for level in levels
            ]
        )
        r = 1.0 if reference is None else 1 / 3
        upper = 1.0 if reference is None else np.exp(0.5 / 0.6)
        np.testing.assert_allclose(
            term_at(block, theta),
            0.6 * np.clip(each, r * np.exp(-0.5 / 0.6), r * upper).sum(axis=0),
            rtol=1e-12,
        )


def wild(blueprint, count=8):
    """Parameters from near the start of the sampler to far out."""
    from riskweighted.sampling.graphs import parameters_at

    start, rng = blueprint.model.initial_point(), np.random.default_rng(4)
    sizes = np.geomspace(0.1, 4, count)
    points = [
        [
            start[str(value.name)] + size * rng.normal(size=np.shape(start[str(value.name)]))
            for value in blueprint.model.value_vars
        ]
        for size in sizes
    ]
    return parameters_at(blueprint, points)


@pytest.mark.parametrize("name", MODELS)
def test_the_graph_is_what_the_records_add_and_the_term_keeps_to_its_range(monkeypatch, name):
    """It depends on no value either: with others in their place it is the same."""
    monkeypatch.setattr(compilation, "_compile", lambda model: model)
    monkeypatch.setattr(compilation, "_recent", OrderedDict())
    model, reference = MODELS[name]
    data = frame()
    block = block_of(model, data, guarantee_of(reference), 0.7)
    compiled = compilation.compile_prepared(
        prepare_model(model, data), True, None, block.censoring.cells
    )
    values = block.censoring.values(block.alpha.to_numpy())
    order = np.random.default_rng(5).permutation(N)
    other = block_of(
        model,
        data.assign(**{model.target: data[model.target].to_numpy()[order]}),
        guarantee_of(reference),
        0.7,
    )
    width, lowest, highest = block.statement.width, np.inf, -np.inf
    for theta in wild(compiled.blueprint):
        parts = block.contributions(theta)
        assert compiled.censored.clipped(theta, values) == pytest.approx(
            parts.sum(), rel=1e-9, abs=1e-7
        )
        term = term_at(block, theta)
        np.testing.assert_array_equal(term, term_at(other, theta))
        lowest, highest = min(lowest, term.min()), max(highest, term.max())
    assert highest - lowest <= 0.7 * (1 - np.exp(-width / 0.7)) + 1e-12 <= block.statement.term
    assert set(DATA) <= {variable.name for variable in compiled.blueprint.model.data_vars}


@pytest.mark.parametrize(("sigma", "bound"), [(1.0, 0.5), (0.6, 1.0), (0.4, 0.5)])
def test_at_the_truth_the_expected_score_is_zero_where_the_clip_is_centred(sigma, bound):
    """Of log sigma; without the term it is not."""
    z = stats.norm(0, sigma).ppf((np.arange(4000) + 0.5) / 4000)
    data = pd.DataFrame({"y": z})
    model = model_of("linear-regression", "y ~ 1", location=0.0, scale=1.0)
    scores = {}
    for centred in (False, True):
        block = block_of(model, data, rw.Guarantee(M=bound, reference=NORMAL, centred=centred))
        up, down = (
            block.contributions(
                {"coefficient": np.zeros(1), "sigma": np.array(sigma * np.exp(step))}
            ).mean()
            for step in (0.1, -0.1)
        )
        scores[centred] = (up - down) / 0.2
    assert abs(scores[True]) < 0.02
    assert abs(scores[False]) > 0.1


# The bound, by brute force


SMALL = pd.DataFrame(
    {
        "group": ["a", "b", "b", "a"],
        "y": [0.0, 1.0, -1.0, 0.5],
        "kind": ["low", "high", "middle", "low"],
    }
)
LINE = model_of("linear-regression", "y ~ group", location=0.0, scale=1.0)
KINDS = model_of("multinomial", "kind ~ 1", levels=("low", "middle", "high"))
AXIS = np.linspace(-5, 5, 7)
BRUTE = {
    "numbers": (
        LINE,
        NORMAL,
        (-1e6, 0.1, 0.9, 4.0),
        [
            {"coefficient": np.array([level, slope]), "sigma": np.array(sigma)}
            for level, slope, sigma in itertools.product(AXIS, AXIS, np.geomspace(0.02, 8, 10))
        ],
    ),
    "levels": (
        KINDS,
        None,
        ("low", "middle", "high"),
        [{"coefficient": np.array(pair)} for pair in itertools.product(3 * AXIS, 3 * AXIS)],
    ),
    "levels beside a reference": (
        KINDS,
        EVEN,
        ("low", "middle", "high"),
        [{"coefficient": np.array(p)} for p in itertools.product(AXIS, AXIS)],
    ),
}


def table_of(model, reference, values, thetas, bound, alpha):
    """At every place: what each record's clipped part is with each value (places, records, values),
    its term, and the log prior.
    """
    public = ["group", "kind"]
    guarantee = rw.Guarantee(M=bound, reference=reference, public=public, centred=True)
    block, clipped = block_of(model, SMALL, guarantee, alpha), []
    log_prior = compile_log_prior(model.build(block.prepared))
    prior = np.array([log_prior(theta, np.ones(len(SMALL))) for theta in thetas])
    for value in values:
        data = SMALL.assign(**{model.target: [value] * len(SMALL)})
        at, censoring = block.prepared.at(data), block.censoring.at(model, block.prepared, data)
        numbers = read_only(block.numbers(data))
        terms = (
            np.asarray(model.distribution(theta, at).log_density(numbers), dtype=float)
            for theta in thetas
        )
        clipped.append(
            [censoring.contributions(np.full(len(SMALL), alpha), each) for each in terms]
        )
    return (
        np.moveaxis(np.array(clipped), 0, 2),
        np.array([term_at(block, theta) for theta in thetas]),
        prior,
        block.statement,
    )


def largest_ratios(case, bound, alpha):
    """Over all data of four records and all their neighbours: the largest absolute log ratio of the
    posteriors, of either kind.
    """
    clipped, term, prior, statement = table_of(*case, bound, alpha)
    values, found = range(clipped.shape[2]), {"replace": 0.0, "add-drop": 0.0}

    def posterior(total):
        return prior + total - logsumexp(prior + total)

    for held in itertools.product(values, repeat=len(SMALL)):
        own = np.stack([clipped[:, record, value] for record, value in enumerate(held)], axis=1)
        total = (own - term).sum(axis=1)
        before = posterior(total)
        for record in range(len(SMALL)):
            dropped = posterior(total - own[:, record] + term[:, record])
            found["add-drop"] = max(found["add-drop"], np.abs(dropped - before).max())
            for value in values:
                replaced = posterior(total - own[:, record] + clipped[:, record, value])
                found["replace"] = max(found["replace"], np.abs(replaced - before).max())
    return found, statement


@pytest.mark.parametrize("name", BRUTE)
@pytest.mark.parametrize(("bound", "alpha"), [(0.1, 1.0), (1.0, 1.0), (1.0, 0.4)])
def test_no_record_moves_the_exact_posterior_by_more_than_epsilon(name, bound, alpha):
    """On a grid of parameters, which is an exact posterior of a prior on its places."""
    found, statement = largest_ratios(BRUTE[name], bound, alpha)
    for relation, largest in found.items():
        assert largest <= statement.epsilon(relation, draws=1) + 1e-9
    assert found["replace"] > 0.4 * statement.epsilon("replace", draws=1)


def test_without_the_term_counted_the_bound_would_not_hold():
    """What the test above looks for is there to be found: dropping a record moves the posterior by
    more than w.
    """
    found, statement = largest_ratios(BRUTE["numbers"], 0.1, 1.0)
    assert found["add-drop"] > 1.05 * statement.width


# What is refused


def of_chain(settings):
    prepared = prepare_sequence(
        rw.load_synthesizer("sequential")(list(settings), predictors=["age"], settings=settings),
        frame(),
    )
    asked = rw.Guarantee(M=1, public=["age", "kind", "rich"], centred=True)
    return block_tasks(prepared, alphas_of(prepared.variables, None, frame().index), None, asked, 3)


RICH = {"model": "logistic", "formula": "rich ~ age", "levels": (False, True)}
KIND = {"model": "multinomial", "formula": "kind ~ age", "levels": ("high", "low", "middle")}
RENT = {"model": "linear-regression", "formula": "rent ~ age", **UNITS}


class Dumb(type(MODELS["linear"][0])):
    from_response = None


@pytest.mark.quick
@pytest.mark.parametrize(
    ("attempt", "named"),
    [
        (lambda: rw.Guarantee(M=1, centred="yes"), ["centred", "true or false", "'yes'"]),
        (
            lambda: block_of(MODELS["linear"][0], frame(), guarantee_of(None)),
            ["centred of LinearRegression", "a reference", "leave centred out"],
        ),
        (
            lambda: block_of(MODELS["linear"][0], frame(), guarantee_of(lambda z, public: 0 * z)),
            ["no function"],
        ),
        (
            lambda: block_of(MODELS["counts"][0], frame(), guarantee_of(NORMAL)),
            ["its own kind", "'norm' has a density"],
        ),
        (
            lambda: block_of(
                MODELS["multinomial"][0],
                frame(),
                guarantee_of(rw.Reference("randint", {"low": 0, "high": 2})),
            ),
            ["every level"],
        ),
        (
            lambda: block_of(Dumb("rent ~ age", **UNITS), frame(), guarantee_of(NORMAL)),
            ["Dumb", "from_response", "leave centred out"],
        ),
        (
            lambda: of_chain({"rich": RICH, "rent": RENT}),
            ["centred of LinearRegression", "a reference"],
        ),
    ],
)
def test_what_cannot_be_centred_is_refused_in_a_line(attempt, named):
    with pytest.raises(rw.InputError) as caught:
        attempt()
    assert_clear(caught, *named)


class Peeking(type(MODELS["linear"][0])):
    """Its masses look at the value of the first record of the data that it was prepared with
    last.
    """

    seen = 0.0

    def prepare(self, data):
        type(self).seen = float(data[self.target].iloc[0])
        return super().prepare(data)

    def distribution(self, theta, prepared):
        return PeekingRecords(super().distribution(theta, prepared), self.seen)


class PeekingRecords:
    def __init__(self, held, seen):
        self.held, self.seen = held, seen

    def __getattr__(self, name):
        return getattr(self.held, name)

    def mass(self, lower, upper):
        return self.held.mass(lower + 1e-3 * self.seen, upper + 1e-3 * self.seen)


@pytest.mark.quick
def test_masses_that_see_the_values_are_refused():
    model = Peeking("rent ~ age", **UNITS)
    thetas = [{"coefficient": np.array([0.1, 0.2]), "sigma": np.array(0.9)}]
    prepared = model.prepare(frame())
    refuse_dependence(model, prepared, frame(), thetas)
    cells = cells_of(model, prepared, guarantee_of(NORMAL))
    with pytest.raises(rw.ContractError, match="what a centred clip takes off changes"):
        refuse_dependence(model, prepared, frame(), thetas, cells)


def test_a_model_without_masses_of_expressions_is_never_fitted_uncentred():
    model = PoissonGraph("jobs ~ 1")
    with pytest.raises(rw.ContractError, match="PoissonGraph cannot be censored by a centred clip"):
        rw.fit(
            model,
            frame()[["jobs"]],
            guarantee=rw.Guarantee(M=1, reference=COUNTED, centred=True),
            L=1,
            draws=20,
            tune=20,
            chains=1,
        )


@pytest.mark.quick
def test_a_chain_of_levels_is_centred_block_by_block():
    tasks = of_chain({"rich": RICH, "kind": KIND})
    assert [len(task.cells.lower) for task in tasks] == [2, 3]
    together = rw.Statement.together([task.censoring.statement for task in tasks])
    assert together.term == pytest.approx(2 * (1 - math.exp(-0.5)))
    assert together.epsilon("add-drop", draws=1) == pytest.approx(1 + 2 * (1 - math.exp(-0.5)))


# A fit


@pytest.mark.quick
def test_chains_begin_at_every_mode_that_counts():
    def two(vector):
        heights = -0.5 * (vector[0] + np.array([4.0, -4.0])) ** 2 / 0.25 + np.array([0.0, -1.0])
        share = np.exp(heights - logsumexp(heights))
        return float(logsumexp(heights)), np.array(
            [(-share * (vector[0] + np.array([4.0, -4.0])) / 0.25).sum()]
        )

    starts = [np.array([-3.0]), np.array([3.5])]
    np.testing.assert_allclose(modes_from(two, starts).ravel(), [-4, 4], atol=0.05)


@pytest.mark.long
def test_a_fit_is_sampled_saved_and_read_back_under_its_own_clip_alone(tmp_path):
    """And the spread, which a plain clip narrows, is that of the data."""
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"age": np.tile([0.0, 1.0], 200), "y": 1 + rng.normal(size=400)})
    model = model_of("linear-regression", "y ~ age", location=0.0, scale=1.0)
    reference, fits = rw.Reference("norm", {"loc": 1, "scale": 1.3}), {}
    for centred in (False, True):
        asked = guarantee_of(reference, 0.5, centred)
        fits[centred] = rw.fit(
            model,
            data,
            guarantee=replace(asked, public=["age"]),
            L=2,
            draws=400,
            tune=400,
            chains=2,
            cores=1,
            random_seed=1,
        )
    off = {
        centred: abs(float(np.log(fit.posterior["sigma"] / data["y"].std()).mean()))
        for centred, fit in fits.items()
    }
    assert off[True] < 0.6 * off[False]
    fit, own = fits[True], {"guarantee": replace(guarantee_of(reference), public=["age"]), "L": 2}
    fit.save(tmp_path / "one.fit")
    again = rw.load_fit(tmp_path / "one.fit", model, data, None, **own)
    first, second = (
        of.with_drawing(rw.DrawingSettings(0.1)).synthesize(2)[1] for of in (again, fit)
    )
    assert first.equals(second)
    with pytest.raises(rw.InputError, match="another guarantee"):
        rw.load_fit(
            tmp_path / "one.fit",
            model,
            data,
            None,
            guarantee=replace(own["guarantee"], centred=False),
            L=2,
        )
    assert (rw.influence(fit)["range"] <= fit.statement.epsilon("add-drop", draws=1) + 1e-9).all()
