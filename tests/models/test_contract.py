"""What every synthesizer of this package promises, tried on simulated data and without compiling a
sampler.

`riskweighted.check_synthesizer` runs the contract; what stands here besides holds the models
against scipy.
"""

import dataclasses
import functools
import math
from importlib.metadata import distribution

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytest
import xarray as xr
from brute import SECRET, assert_clear
from posteriors import compiled_log_posterior
from pytensor.compile.mode import Mode
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.tensor.elemwise import Elemwise
from records import terms as terms_of
from scipy import stats

import riskweighted
from riskweighted.common.errors import InputError
from riskweighted.contract.vector_layout import free_shapes, n_parameters
from riskweighted.design.design import build_design
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sequence.fit import Fit

pytestmark = pytest.mark.versions

N = 150
# The rewrites of the sampled model, run in plain Python; fusion is for compiled code (in Python it
# loses digits).
MODE = Mode(linker="py", optimizer=RewriteDatabaseQuery(include=["fast_run"], exclude=["fusion"]))


def simulated():
    """Counts, incomes, rents, predictors of several kinds, and columns that no formula names."""
    return _simulated().copy()


@functools.cache
def _simulated():
    rng = np.random.default_rng(20)
    region = rng.choice(["north", "south", "west"], N, p=[0.5, 0.3, 0.2])
    race = rng.choice(np.array(["a", "b", None], dtype=object), N, p=[0.5, 0.3, 0.2])
    x = rng.normal(40, 8, N)
    spending = rng.lognormal(8, 0.5, N)
    frame = pd.DataFrame(
        {
            "note": pd.Categorical(
                rng.choice(["u", "v"], N), categories=["v", "unused", "u"], ordered=True
            ),
            "count": rng.negative_binomial(2, 0.15, N),
            "income": 30 * spending**0.7 * rng.lognormal(0, 0.4, N),
            "rent": (300 + 10 * x + rng.normal(0, 50, N)).astype("int32"),
            "x": x,
            "grade": rng.integers(1, 4, N),
            "region": pd.Categorical(region),
            "race": race,
            "urban": rng.choice(["yes", "no"], N),
            "spending": spending,
        },
        index=[f"person {i}" for i in range(N)],
    )
    frame.loc["person 0", ["count", "income"]] = [987654, SECRET]
    kind = rng.choice(3, N, p=[0.2, 0.15, 0.65])
    frame["profit"] = np.array([0.0, -1.0, 1.0])[kind] * np.rint(rng.lognormal(6, 0.8, N))
    return frame


# Registered name -> examples: one formula with settings each.
EXAMPLES = {
    "negative-binomial": [
        {"formula": "count ~ 1"},
        {"formula": "count ~ x + C(region)"},
        {"formula": "count ~ grade * x", "components": 2, "slope_spread": 0.5},
        {"formula": "count ~ 1", "components": 3, "concentration": "gamma"},
    ],
    "normal-mixture": [
        {"formula": "income ~ x + C(region)", "components": 2},
        {
            "formula": "income ~ 1",
            "components": 3,
            "concentration": "gamma",
            "transform": "asinh",
            "transform_constant": 100.0,
        },
        {"formula": "income ~ spending", "components": 1, "location": 9.0, "scale": 2.0},
        {"formula": "income ~ x + C(region)", "components": 3, "gating": True, "slope_spread": 0.3},
    ],
    "linear-regression": [
        {"formula": "rent ~ x + C(region) + grade"},
        {"formula": "income ~ log(spending)", "transform": "log"},
        {"formula": "income ~ 1", "transform": "shifted-log", "transform_constant": 50.0},
    ],
    "hierarchical": [
        {
            "formula": "income ~ log(spending)",
            "groups": ("race", "urban"),
            "scale_groups": ("race",),
            "transform": "log",
        },
        {"formula": "income ~ log(spending) + x", "groups": "region", "transform": "log"},
        {
            "formula": "income ~ 1",
            "groups": ("race",),
            "scale_groups": ("region", "grade"),
            "transform": "log",
        },
    ],
    "transformation": [
        {"formula": "income ~ x + C(region)"},
        {"formula": "rent ~ grade + x", "support": (100, 5000), "heaping": False},
        {"formula": "rent ~ 1", "knots": (200.0, 600.0, 900.0)},
    ],
    "two-part": [
        {"formula": "profit ~ x + C(region)", "support": (-1e6, 1e6)},
        {
            "formula": "income ~ grade",
            "value": "linear-regression",
            "value_settings": (("location", 9.0), ("scale", 2.0)),
        },
        {
            "formula": "profit ~ 1",
            "value": "normal-mixture",
            "value_settings": (("components", 2),),
        },
    ],
    "top-coding": [
        {"formula": "income ~ 1"},
        {"formula": "rent ~ 1", "quantile": 0.5},
        {"formula": "count ~ 1", "value": 12},
    ],
}

CASES = [(name, settings) for name, examples in EXAMPLES.items() for settings in examples]
BAYESIAN = [(name, settings) for name, settings in CASES if name != "top-coding"]
# Against scipy; the grid of the others is tested in test_grid.py, their equations in
# test_transformation.py.
CENTRED = "what centred weights take off is what mass says"
CLIPPED = "what a centred clip takes off is what mass says"
ON_A_GRID = {"transformation", "two-part"}
# in test_categorical.py and test_counts.py
OF_LEVELS = {"counts", "logistic", "multinomial", "ordinal"}
REFERENCED = [(name, settings) for name, settings in BAYESIAN if name not in ON_A_GRID]
FIRST = [(name, examples[0]) for name, examples in EXAMPLES.items()]
MIXED = [
    ("negative-binomial", EXAMPLES["negative-binomial"][2]),
    ("normal-mixture", EXAMPLES["normal-mixture"][3]),
]


def label(value):
    return value if isinstance(value, str) else " ".join(str(setting) for setting in value.values())


def cases(chosen, first=None):
    """Each case is a test; where `first` is given the others are long."""
    marked = [
        case
        if first is None or case in first
        else pytest.param(*case, marks=[pytest.mark.long, pytest.mark.slow])
        for case in chosen
    ]
    return pytest.mark.parametrize(("name", "settings"), marked, ids=label)


def make(name, settings):
    return riskweighted.load_synthesizer(name)(**settings)


class Graph:
    """The blueprint's graph as a NumPy function of unconstrained values and alpha, in plain
    Python.
    """

    def __init__(self, blueprint):
        self.blueprint = blueprint
        model = blueprint.model
        self.names = [variable.name for variable in (*model.free_RVs, *model.deterministics)]
        outputs = model.replace_rvs_by_values(
            [*model.free_RVs, *model.deterministics, blueprint.weighted_log_likelihood]
        )
        with pytensor.config.change_flags(cxx=""):
            self.function = pytensor.function(
                model.value_vars, outputs, mode=MODE, on_unused_input="ignore"
            )
        self.shapes = [
            np.shape(model.initial_point()[variable.name]) for variable in model.value_vars
        ]

    def outputs(self, rng, spread=None):
        # farther out a bin has no probability
        spread = (0.2 if "tilt" in "".join(self.names) else 0.6) if spread is None else spread
        return [
            np.asarray(value)
            for value in self.function(*(rng.normal(0, spread, shape) for shape in self.shapes))
        ]

    def __call__(self, rng, alpha, spread=None):
        """theta at a random place, and the weighted log-likelihood there."""
        with self.blueprint.model:
            pm.set_data(self.blueprint.weigh(alpha))
        values = self.outputs(rng, spread)
        return dict(zip(self.names, values[:-1], strict=True)), float(values[-1])


_graphs = {}


def graph_of(name, settings):
    """Synthesizer, prepared data and graph; made once for each case."""
    key = make(name, settings)
    if key not in _graphs:
        prepared = key.prepare(simulated())
        blueprint = key.build(prepared)
        _graphs[key] = (key, prepared, Graph(blueprint))
    return _graphs[key]


# a plug-in is tested where it lives
OURS = set(
    distribution("riskweighted").entry_points.select(group="riskweighted.synthesizers").names
)


def test_what_is_tried_here_is_registered():
    assert OF_LEVELS | set(EXAMPLES) <= OURS <= set(riskweighted.synthesizer_names())
    assert set(REFERENCES) == set(EXAMPLES) - {"top-coding"} - ON_A_GRID


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(OURS - OF_LEVELS - set(EXAMPLES)) or ["linear-regression"])
def test_a_model_without_an_example_keeps_the_contract_as_it_comes(name):
    """Every model that is registered without a line in `EXAMPLES`, with its own settings, on the
    first column that it takes.
    """
    frame = simulated()
    for target in ("income", "rent", "count", "urban"):
        try:
            make(name, {"formula": f"{target} ~ x + C(region)"}).prepare(frame)
        except InputError:
            continue
        break
    else:
        pytest.fail(f"{name} takes no column of the simulated data as it comes: give it an example")
    table = riskweighted.check_synthesizer(
        lambda: make(name, {"formula": f"{target} ~ x + C(region)"}), frame
    )
    assert "failed" not in set(table["result"]), table


# Draws and mass are truncated to public bounds; far from the data, so that the models' own tails
# are what is cut.
BOUNDED = [
    ("linear-regression", {"formula": "income ~ x", "transform": "log", "support": [None, 2e6]}),
    (
        "normal-mixture",
        {
            "formula": "income ~ x + C(region)",
            "gating": True,
            "transform": "asinh",
            "support": (-50.0, np.inf),
        },
    ),
]


# Nothing is taken from the data, which the check then tries.
PUBLIC = (
    "normal-mixture",
    {"formula": "income ~ x", "components": 2, "location": 9.0, "scale": 1.0, "support": [0, 1e6]},
)


# Every setting of a model once: transforms, bounds and public scales of the linear regression are
# those of the mixture. What differs by formula alone is held below, where the graph is compared
# with the distribution in every case.
REPEATED = [
    (name, EXAMPLES[name][place])
    for name, place in {"linear-regression": 1, "normal-mixture": 2, "hierarchical": 1}.items()
]
REPEATED += [("negative-binomial", EXAMPLES["negative-binomial"][place]) for place in (1, 3)]
WHOLE = [case for case in CASES if case not in REPEATED]


@pytest.mark.slow
@cases([*WHOLE, *BOUNDED, PUBLIC], first=[*FIRST, MIXED[0], BOUNDED[1], PUBLIC])
def test_the_whole_contract_holds(name, settings):
    table = riskweighted.check_synthesizer(lambda: make(name, settings), simulated()).set_index(
        "clause"
    )["result"]
    skipped = table.index[table == "skipped"]
    if name == "top-coding":  # no likelihood; what it has to say is that its values are true ones
        assert table["true values are declared"] == "passed"
        assert make(name, settings).keeps_true_values is True
    else:
        # of an inverse, as all that are not on a grid
        without = {"two-part"} if "value" in settings else set()
        # two parts on no grid; counts too many to be summed over
        uncentred = "value" in settings or name == "negative-binomial"
        # which no guarantee takes
        needless = ({CENTRED} if uncentred else set()) | ({CLIPPED} if name in ON_A_GRID else set())
        assert [clause for clause in skipped if clause not in needless] == (
            [] if name in ON_A_GRID - without else ["inverse inverts mass"]
        )


# (a) the graph that is sampled against the log-likelihood that is reported


def weightings():
    rng = np.random.default_rng(3)
    single, tiny = np.zeros(N), np.full(N, 1e-20)
    single[17] = tiny[3] = 1.0
    return {
        "ones": np.ones(N),
        "random": rng.random(N),
        "a third zero": np.where(rng.random(N) < 1 / 3, 0.0, rng.random(N)),
        "zero and one": rng.integers(0, 2, N).astype(float),
        "one record": single,
        "nearly one record": tiny,
        "above one": 5 * rng.gamma(0.5, size=N),  # times survey weights
    }


@cases(BAYESIAN, first=[*FIRST, *MIXED])
def test_the_weighted_graph_is_the_weighted_sum_of_record_log_likelihoods(name, settings):
    synthesizer, prepared, graph = graph_of(name, settings)
    rng = np.random.default_rng(1)
    for kind, alpha in weightings().items():
        for _ in range(2):
            theta, total = graph(rng, alpha)
            terms = alpha * terms_of(synthesizer, theta, prepared, simulated())
            assert abs(total - terms.sum()) <= 1e-12 * np.abs(terms).sum(), kind


LEVELS = [
    ("logistic", {"formula": "urban ~ x"}),
    ("multinomial", {"formula": "region ~ x"}),
    ("ordinal", {"formula": "grade ~ x + spending", "levels": (1, 2, 3)}),
]


@cases([*BAYESIAN, *LEVELS], first=[*FIRST, *LEVELS])
def test_the_check_of_a_fit_runs_nothing_of_the_size_of_the_data_number_by_number(name, settings):
    """Where NumPy has no function, PyTensor in plain Python calls its own for every number: a
    second for 10^6 records, at each sum.
    """
    synthesizer = make(name, settings)
    _, function = compiled_log_posterior(synthesizer.build(synthesizer.prepare(simulated())))
    for node in function.maker.fgraph.apply_nodes:
        if isinstance(node.op, Elemwise) and (
            node.op.nfunc_spec is None or node.op.nfunc_spec[1] != len(node.inputs)
        ):
            shape = node.outputs[0].type.shape
            assert None not in shape, node.op
            assert np.prod(shape) < 20, node.op


@cases(BAYESIAN, first=[*REFERENCED, *FIRST])
def test_zero_weights_leave_the_prior(name, settings):
    _, _, graph = graph_of(name, settings)
    rng = np.random.default_rng(2)
    for _ in range(5):
        assert graph(rng, np.zeros(N))[1] == 0.0


@cases(BAYESIAN, first=[*REFERENCED, *FIRST])
def test_the_blueprint_holds_priors_alone_and_names_what_it_monitors(name, settings):
    synthesizer, prepared, graph = graph_of(name, settings)
    blueprint = graph.blueprint
    shapes = free_shapes(blueprint.model)
    assert n_parameters(synthesizer, prepared) == sum(map(math.prod, shapes.values()))
    assert blueprint.model.observed_RVs == []
    assert blueprint.model.potentials == []
    assert blueprint.weighted_log_likelihood.ndim == 0
    assert set(blueprint.monitored) <= set(graph.names)
    assert len(blueprint.monitored) > 0
    assert blueprint.density_terms > 0
    geometry = {} if blueprint.geometry is None else blueprint.geometry(np.ones(N))
    weights = blueprint.weigh(np.ones(N))
    assert set(weights).isdisjoint(geometry)
    assert {*weights, *geometry} == {variable.name for variable in blueprint.model.data_vars}


@cases(BAYESIAN)
def test_the_model_starts_out_unweighted(name, settings):
    synthesizer = make(name, settings)
    blueprint = synthesizer.build(synthesizer.prepare(simulated()))
    for data_name, value in blueprint.weigh(np.ones(N)).items():
        np.testing.assert_array_equal(blueprint.model[data_name].get_value(), value)


def test_top_coding_has_nothing_to_estimate():
    synthesizer = make("top-coding", {"formula": "income ~ 1"})
    prepared = synthesizer.prepare(simulated())
    assert synthesizer.build(prepared) is None
    assert not any(
        hasattr(synthesizer.distribution({}, prepared), name)
        for name in ("log_density", "mass", "inverse")
    )


# (b) record log-likelihoods against scipy.stats; each reference gives (frozen distributions by
#     component, weights, z)


def slopes(theta, components, predictors):
    """Component slopes (K, p) from the parameters that the docstrings name."""
    if predictors == 0:
        return np.zeros((components, 0))
    if components == 1:
        return theta["slope"][None, :]
    return np.stack(
        [
            theta["slope"] + theta["slope_spread"] * theta["slope_deviation"][k]
            for k in range(components)
        ]
    )


def raw_columns(synthesizer, frame):
    """The centred model matrix; what holds other values than 0 and 1 in units of its standard
    deviation, (n, p).
    """
    design = build_design(synthesizer.formula, frame)
    binary = [set(column) == {0, 1} for column in np.round(design.centred + design.centre, 9).T]
    columns = [
        column if dummy else stats.zscore(column)
        for column, dummy in zip(design.centred.T, binary, strict=True)
    ]
    return np.array(columns).reshape(-1, len(frame)).T


def negative_binomial(synthesizer, frame, theta):
    design = build_design(synthesizer.formula, frame).whitened
    beta = slopes(theta, synthesizer.components, design.shape[1])
    parts = []
    for k in range(synthesizer.components):
        mean, phi = np.exp(theta["intercept"][k] + design @ beta[k]), 1 / theta["inverse_phi"][k]
        parts.append(stats.nbinom(phi, phi / (phi + mean)))
    return parts, theta.get("weight", np.ones(1)), frame[synthesizer.target].to_numpy(dtype=float)


def standard_units(synthesizer, frame, values):
    forward = {
        "log": np.log,
        "identity": np.positive,
        "asinh": lambda y: np.arcsinh(y / synthesizer.transform_constant),
    }
    forward["shifted-log"] = lambda y: np.log(y + synthesizer.transform_constant)
    change = forward[synthesizer.transform]
    original = change(frame[synthesizer.target].to_numpy(dtype=float))
    location = original.mean() if synthesizer.location is None else synthesizer.location
    scale = (
        np.sqrt(((original - original.mean()) ** 2).mean())
        if synthesizer.scale is None
        else synthesizer.scale
    )
    return (change(values) - location) / scale


def normal_mixture(synthesizer, frame, theta):
    design = raw_columns(synthesizer, frame)
    beta = slopes(theta, synthesizer.components, design.shape[1])
    parts = [
        stats.norm(theta["centre"][k] + design @ beta[k], theta["sigma"][k])
        for k in range(synthesizer.components)
    ]
    weight = theta.get("weight", np.ones(1))
    if "gate" in theta:
        weight = weight[:, None] * np.exp(theta["gate"] @ design.T)
        weight = weight / weight.sum(axis=0)
    return (
        parts,
        weight,
        standard_units(synthesizer, frame, frame[synthesizer.target].to_numpy(dtype=float)),
    )


def linear_regression(synthesizer, frame, theta):
    design = raw_columns(synthesizer, frame)
    mean = theta["coefficient"][0] + design @ theta["coefficient"][1:]
    z = standard_units(synthesizer, frame, frame[synthesizer.target].to_numpy(dtype=float))
    return [stats.norm(mean, theta["sigma"])], np.ones(1), z


def hierarchical(synthesizer, frame, theta):
    prepared = synthesizer.prepare(frame)
    for codes, names in (
        (prepared.group, synthesizer.groups),
        (prepared.scale_group, synthesizer.scale_groups),
    ):
        by_pandas = frame.groupby(list(names), dropna=False, observed=True).ngroup().to_numpy()
        assert (
            len(set(zip(codes, by_pandas, strict=True))) == len(set(codes)) == len(set(by_pandas))
        )
    columns = {
        "1": [],
        "log(spending)": [np.log(frame["spending"])],
        "log(spending) + x": [np.log(frame["spending"]), frame["x"]],
    }
    mean = theta["intercept"][prepared.group]
    for q, column in enumerate(columns[synthesizer.formula.split(" ~ ")[1]]):
        mean = mean + theta["slope"][prepared.group, q] * column.to_numpy()
    sd = theta["precision"][prepared.scale_group] ** -0.5
    return [stats.norm(mean, sd)], np.ones(1), np.log(frame[synthesizer.target].to_numpy())


REFERENCES = {
    "negative-binomial": negative_binomial,
    "normal-mixture": normal_mixture,
    "linear-regression": linear_regression,
    "hierarchical": hierarchical,
}


@cases(REFERENCED)
def test_record_log_likelihoods_are_those_of_scipy(name, settings):
    synthesizer, prepared, graph = graph_of(name, settings)
    frame = simulated()
    rng = np.random.default_rng(4)
    for _ in range(5):
        theta, _ = graph(rng, np.ones(N))
        parts, weight, z = REFERENCES[name](synthesizer, frame, theta)
        density = getattr(parts[0], "logpmf", None) or parts[0].logpdf
        by_component = [
            getattr(part, density.__name__)(z) + np.log(share)
            for part, share in zip(parts, weight, strict=True)
        ]
        got = terms_of(synthesizer, theta, prepared, simulated())
        assert got.shape == (N,)
        np.testing.assert_allclose(
            got, np.logaddexp.reduce(by_component, axis=0), rtol=1e-9, atol=1e-9
        )


@cases(FIRST)
def test_the_data_are_left_alone(name, settings):
    frame = simulated()
    make(name, settings).prepare(frame)
    pd.testing.assert_frame_equal(frame, simulated())


# (c) refusals


def refused(name, settings, frame, *named):
    synthesizer = make(name, settings)
    with pytest.raises(InputError) as caught:
        synthesizer.prepare(frame)
    assert_clear(caught, *named)


@cases(FIRST)
@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda y: y.astype(str), "numeric"),
        (lambda y: y.astype(str).astype("category"), "numeric"),
        (lambda y: y > y.median(), "numeric"),
        (lambda y: y.astype(float).where(np.arange(N) != 5), "missing in 1 of 150"),
        (lambda y: y.astype("Float64").where(np.arange(N) > 1), "missing in 2 of 150"),
        (lambda y: y.astype(float).where(np.arange(N) != 5, np.inf), "infinite in 1 of 150"),
        (lambda y: y.astype(float).where(np.arange(N) > 2, -np.inf), "infinite in 3 of 150"),
    ],
    ids=[
        "text",
        "category",
        "boolean",
        "missing",
        "missing, nullable",
        "infinite",
        "minus infinite",
    ],
)
def test_an_unusable_response_is_refused(name, settings, change, named):
    frame = simulated()
    target = make(name, settings).target
    refused(name, settings, frame.assign(**{target: change(frame[target])}), repr(target), named)


@cases(FIRST)
def test_an_unknown_response_an_empty_frame_and_other_things_are_refused(name, settings):
    frame = simulated()
    target = make(name, settings).target
    refused(name, settings, frame.drop(columns=target), repr(target), "no column")
    refused(name, settings, frame.iloc[:0], "no records")
    refused(name, settings, frame.to_numpy(), "DataFrame")
    refused(
        name, settings, pd.concat([frame, frame[[target]]], axis=1), repr(target), "more than once"
    )


@cases([case for case in FIRST if case[0] != "top-coding"])
def test_unusable_predictors_are_refused(name, settings):
    frame = simulated()
    target = make(name, settings).target
    refused(name, settings | {"formula": f"{target} ~ x + nowhere"}, frame, "nowhere", "no column")
    refused(name, settings | {"formula": f"{target} ~ {target}"}, frame, target, "both sides")
    refused(
        name,
        settings | {"formula": f"{target} ~ x"},
        frame.assign(x=frame["x"].where(frame["x"] < 50)),
        "'x'",
        "missing",
    )
    refused(name, settings | {"formula": f"{target} ~ x"}, frame.assign(x=3.7), "'x'", "constant")
    refused(
        name,
        settings | {"formula": f"{target} ~ x + w"},
        frame.assign(w=2 * frame["x"] + 1),
        "'w'",
        "combination",
    )


@pytest.mark.parametrize("settings", EXAMPLES["negative-binomial"], ids=label)
def test_counts_must_be_whole_and_not_negative(settings):
    frame = simulated()
    negative = frame.assign(count=frame["count"].where(np.arange(N) != 3, -1))
    fractional = frame.assign(count=frame["count"].where(np.arange(N) > 1, frame["count"] + 0.5))
    refused("negative-binomial", settings, negative, "'count'", "1 of 150", "negative")
    refused("negative-binomial", settings, fractional, "'count'", "2 fractional")


@pytest.mark.parametrize("name", ["normal-mixture", "linear-regression", "hierarchical"])
@pytest.mark.parametrize("value", [0.0, -3.0])
def test_the_logarithm_of_values_that_are_not_positive_is_refused(name, value):
    settings = {"formula": "income ~ x", "transform": "log"} | (
        {"groups": "urban"} if name == "hierarchical" else {}
    )
    frame = simulated()
    changed = frame["income"].where(np.arange(N) != 4, value)
    refused(
        name, settings, frame.assign(income=changed), "'income'", "1 of 150", "zero or negative"
    )
    shifted = settings | {"transform": "shifted-log", "transform_constant": 2.0}
    if value < 0:
        refused(name, shifted, frame.assign(income=changed), "'income'", "1 of 150")
    else:
        make(name, shifted).prepare(frame.assign(income=changed))


@pytest.mark.parametrize("name", ["normal-mixture", "linear-regression"])
@pytest.mark.parametrize("value", [SECRET, 5, 0.1, 1 / 3])
def test_a_constant_response_is_refused(name, value):
    for transform in ("identity", "log"):
        refused(
            name,
            {"formula": "income ~ x", "transform": transform},
            simulated().assign(income=value),
            "'income'",
            "constant",
        )


def test_unknown_groups_are_refused():
    frame = simulated()
    refused(
        "hierarchical",
        {"formula": "income ~ x", "groups": ("race", "tribe")},
        frame,
        "tribe",
        "no column",
    )
    refused(
        "hierarchical",
        {"formula": "income ~ x", "groups": "race", "scale_groups": "tribe"},
        frame,
        "tribe",
        "no column",
    )


MIXTURE = [
    *({"components": value} for value in (0, -1, 1.5, "2", True, None, np.nan)),
    *({"concentration": value} for value in (0, -1, np.nan, np.inf, "dirichlet", None, [1.0])),
    *({"slope_spread": value} for value in (0, -0.2, np.nan, np.inf, "wide", None)),
]
UNITS = [
    *({"location": value} for value in (0.0, 3)),
    *({"scale": value} for value in (1.0, 3)),
    *({"location": 0.0, "scale": value} for value in (0, -1.0, np.nan, np.inf, "wide")),
    *({"location": value, "scale": 1.0} for value in (np.nan, np.inf, "here")),
    {"transform": "sqrt"},
    {"transform": "shifted-log"},
    {"transform": "asinh", "transform_constant": -1.0},
]
TRANSFORMED = [*UNITS[-3:], {"transform": "asinh", "transform_constant": np.nan}]
SETTINGS = [
    *(("negative-binomial", "count ~ x", settings) for settings in MIXTURE),
    *(("normal-mixture", "income ~ x", settings) for settings in (*MIXTURE, *UNITS)),
    *(("linear-regression", "income ~ x", settings) for settings in UNITS),
    *(("hierarchical", "income ~ x", {"groups": "urban"} | settings) for settings in TRANSFORMED),
    *(
        ("hierarchical", "income ~ x", settings)
        for settings in ({}, {"groups": ()}, {"groups": None}, {"scale_groups": "race"})
    ),
    *(
        ("hierarchical", "income ~ x", settings)
        for settings in ({"groups": "income"}, {"groups": "race", "scale_groups": ("income",)})
    ),
    *(
        ("top-coding", "income ~ 1", {"quantile": value})
        for value in (0, 1, 1.5, -0.1, np.nan, "high", None)
    ),
    *(
        ("top-coding", "income ~ 1", {"value": value})
        for value in (np.nan, np.inf, -np.inf, "high")
    ),
]


@pytest.mark.parametrize(("name", "formula", "settings"), SETTINGS, ids=lambda value: str(value))
def test_settings_that_make_no_model_are_refused_at_once(name, formula, settings):
    with pytest.raises(InputError) as caught:
        make(name, {"formula": formula} | settings)
    words = {
        "location": "scale",
        "scale": "scale",
        "transform_constant": "transform",
        "scale_groups": "group",
        "groups": "group",
    }
    last = (
        [*settings, "groups"][-1] if name == "hierarchical" and not settings else list(settings)[-1]
    )
    assert_clear(caught, words.get(last, last))


@cases(FIRST)
@pytest.mark.parametrize(
    "formula", ["income", "income ~", "~ x", "log(income) ~ x", "income ~ x ~ x", None]
)
def test_a_formula_that_does_not_read_is_refused_at_once(name, settings, formula):
    with pytest.raises(InputError) as caught:
        make(name, settings | {"formula": formula})
    assert_clear(caught, "formula")


# (d) draws


def theta_for(name, settings, seed=5, spread=0.3):
    if name == "top-coding":
        synthesizer = make(name, settings)
        return synthesizer, synthesizer.prepare(simulated()), {}
    synthesizer, prepared, graph = graph_of(name, settings)
    return synthesizer, prepared, graph(np.random.default_rng(seed), np.ones(N), spread)[0]


@cases(CASES, first=[*REFERENCED, *FIRST])
def test_draws_are_finite_and_repeat_with_the_seed(name, settings):
    synthesizer, prepared, theta = theta_for(name, settings)
    first, again, other = (
        synthesizer.distribution(theta, prepared).draw(np.random.default_rng(seed))
        for seed in (8, 8, 9)
    )
    assert first.shape == (N,)
    assert np.isfinite(first).all()
    assert first.tobytes() == again.tobytes()
    assert (name == "top-coding") == np.array_equal(first, other)
    if name == "negative-binomial":
        assert (first >= 0).all()
        np.testing.assert_array_equal(first, np.rint(first))


@cases([case for case in FIRST if case[0] not in ON_A_GRID])
@pytest.mark.parametrize("dtype", ["int32", "Int64", "float64", "float32"])
def test_a_fit_returns_draws_in_the_dtype_of_the_column(name, settings, dtype):
    synthesizer, _, theta = theta_for(name, settings)
    frame = simulated()
    whole = frame[synthesizer.target].round().astype("float64")
    frame = frame.assign(**{synthesizer.target: whole.astype(dtype)})
    values = {
        key: ((("chain", "draw", *(f"{key} {i}" for i in range(value.ndim)))), value[None, None])
        for key, value in theta.items()
    }
    posterior = xr.Dataset(values, coords={"chain": [0], "draw": [0]})
    fit = Fit.of(
        BlockFit(
            synthesizer,
            pd.Series(1.0, frame.index),
            posterior,
            pd.DataFrame(),
            frame,
            synthesizer.prepare(frame),
        )
    )
    (synthetic,) = fit.synthesize(1, random_seed=4)
    assert synthetic[synthesizer.target].dtype == frame[synthesizer.target].dtype
    assert np.isfinite(synthetic[synthesizer.target].to_numpy(dtype=float)).all()
    assert not synthetic[synthesizer.target].equals(frame[synthesizer.target])
    pd.testing.assert_frame_equal(
        synthetic.drop(columns=synthesizer.target), frame.drop(columns=synthesizer.target)
    )
    assert list(synthetic.columns) == list(frame.columns)


@cases(REFERENCED)
def test_draws_have_the_mean_and_the_variance_of_the_model(name, settings):
    synthesizer, prepared, theta = theta_for(name, settings)
    frame = simulated()
    parts, weight, _ = REFERENCES[name](synthesizer, frame, theta)
    mean = sum(share * part.mean() for part, share in zip(parts, weight, strict=True))
    second = sum(
        share * (part.var() + part.mean() ** 2) for part, share in zip(parts, weight, strict=True)
    )
    mean, variance = np.broadcast_to(mean, N), np.broadcast_to(second - mean**2, N)
    rng = np.random.default_rng(6)
    draws = np.stack([synthesizer.distribution(theta, prepared).draw(rng) for _ in range(1500)])
    if name == "hierarchical":
        draws = np.log(draws)
    elif name != "negative-binomial":
        draws = standard_units(synthesizer, frame, draws)
    standard = (draws - mean) / np.sqrt(variance)
    by_record = standard.mean(axis=0) * np.sqrt(len(draws))
    assert np.abs(by_record).max() < 5
    assert abs(by_record.sum() / np.sqrt(N)) < 5
    squares = standard**2
    assert abs(squares.mean() - 1) < 5 * squares.std() / np.sqrt(squares.size)


@pytest.mark.parametrize("settings", EXAMPLES["top-coding"], ids=label)
def test_top_coding_cuts_at_the_bound_and_nowhere_else(settings):
    synthesizer = make("top-coding", settings)
    frame = simulated()
    original = frame[synthesizer.target].to_numpy(dtype=float)
    ordered = np.sort(original)
    place = (N - 1) * settings.get("quantile", 0.97)
    low, high = ordered[int(np.floor(place))], ordered[int(np.ceil(place))]
    bound = settings.get("value", low + (place - np.floor(place)) * (high - low))
    drawn = synthesizer.distribution({}, synthesizer.prepare(frame)).draw(np.random.default_rng(1))
    np.testing.assert_allclose(drawn, np.where(original > bound, bound, original), rtol=1e-12)
    assert 0 < (drawn != original).sum() < N


def test_a_top_coded_frame_may_be_changed_without_changing_the_next():
    synthesizer = make("top-coding", {"formula": "income ~ 1"})
    prepared = synthesizer.prepare(simulated())
    first = synthesizer.distribution({}, prepared).draw(np.random.default_rng(1))
    first[:] = 0
    assert (synthesizer.distribution({}, prepared).draw(np.random.default_rng(1)) > 0).all()


# (e) mass, and other rows


def on_the_model_scale(synthesizer, frame, bounds):
    """Bounds above the domain's end, through scipy's references' own change of scale."""
    if isinstance(synthesizer, riskweighted.load_synthesizer("hierarchical")):
        return np.log(bounds)
    return (
        standard_units(synthesizer, frame, bounds) if hasattr(synthesizer, "location") else bounds
    )


@cases(REFERENCED)
def test_the_mass_of_an_interval_is_that_of_scipy(name, settings):
    synthesizer, prepared, graph = graph_of(name, settings)
    frame, rng = simulated(), np.random.default_rng(14)
    y = frame[synthesizer.target].to_numpy(dtype=float)
    for _ in range(3):
        theta, _ = graph(rng, np.ones(N), 0.3)
        parts, weight, _ = REFERENCES[name](synthesizer, frame, theta)
        for low, high in (
            (0.8 * y + 0.1, 1.2 * y + 0.4),
            (y * rng.uniform(0.1, 0.9, N) + 0.1, y * rng.uniform(1.1, 30, N) + 7),
        ):
            ends = on_the_model_scale(synthesizer, frame, np.stack([low, high]))
            if name == "negative-binomial":
                ends[0] = np.ceil(ends[0]) - 1
            expected = sum(
                share * (part.cdf(ends[1]) - part.cdf(ends[0]))
                for part, share in zip(parts, weight, strict=True)
            )
            np.testing.assert_allclose(
                synthesizer.distribution(theta, prepared).mass(low, high),
                expected,
                rtol=1e-7,
                atol=1e-12,
            )
            upwards = synthesizer.distribution(theta, prepared).mass(low, np.inf)
            above = sum(share * part.sf(ends[0]) for part, share in zip(parts, weight, strict=True))
            np.testing.assert_allclose(upwards, above, rtol=1e-9)  # of a small tail too: no 1 - cdf


@cases(BAYESIAN, first=[*REFERENCED, *FIRST])
def test_a_mass_beyond_the_domain_is_zero_and_over_it_one(name, settings):
    synthesizer, prepared, graph = graph_of(name, settings)
    theta, _ = graph(np.random.default_rng(15), np.ones(N), 0.3)
    floor = {"log": 0.0, "shifted-log": -50.0}.get(getattr(synthesizer, "transform", None), -np.inf)
    floor = -0.5 if name == "negative-binomial" else floor
    np.testing.assert_array_equal(
        synthesizer.distribution(theta, prepared).mass(-np.inf, floor), np.zeros(N)
    )
    np.testing.assert_allclose(
        synthesizer.distribution(theta, prepared).mass(floor, np.inf), np.ones(N), rtol=1e-12
    )
    np.testing.assert_array_equal(
        synthesizer.distribution(theta, prepared).mass(30.0, 20.0), np.zeros(N)
    )
    if name != "negative-binomial":
        with pytest.raises(InputError) as caught:
            synthesizer.distribution(theta, prepared).mass(
                np.where(np.arange(N) == 3, np.nan, 1.0), 2.0
            )
        assert_clear(caught, "bounds", "1 of 150")


def test_the_mass_of_counts_is_exact_far_out_and_near_poisson():
    synthesizer = make("negative-binomial", {"formula": "count ~ 1"})
    prepared = synthesizer.prepare(pd.DataFrame({"count": [0, 1, 7]}))
    for mean, phi in ((20.0, 1e13), (20.0, 0.01), (1e-4, 3.0), (1e5, 2.0)):
        theta = {"intercept": np.log([mean]), "inverse_phi": np.array([1 / phi])}
        for low, high in ((-0.5, 0.5), (0.5, 1.5), (6.5, 7.5), (149.5, 160.5), (0, 7), (3.2, 9.9)):
            counts = np.arange(np.ceil(low), np.floor(high) + 1)
            expected = (
                stats.nbinom.pmf(counts, phi, phi / (phi + mean)).sum()
                if phi < 1e12
                else stats.poisson.pmf(counts, mean).sum()
            )
            got = synthesizer.distribution(theta, prepared).mass(low, high)
            np.testing.assert_allclose(got, np.full(3, expected), rtol=1e-8, atol=1e-300)


def test_a_group_that_the_confidential_data_lack_is_refused_and_an_absent_one_keeps_its_code():
    synthesizer = make("hierarchical", EXAMPLES["hierarchical"][0])
    frame = simulated()
    prepared = synthesizer.prepare(frame)
    rows = np.flatnonzero(frame["race"].isna())
    np.testing.assert_array_equal(prepared.at(frame.iloc[rows]).group, prepared.group[rows])
    np.testing.assert_array_equal(
        prepared.at(frame.iloc[rows[:1]]).scale_group, prepared.scale_group[rows[:1]]
    )
    complete = frame[frame["race"].notna()]
    whole, n = synthesizer.prepare(complete), len(complete)
    unseen = np.where(np.arange(n) < 3, "987654.321", complete["urban"])
    for changed, count in ((complete.assign(race=None), n), (complete.assign(urban=unseen), 3)):
        with pytest.raises(InputError) as caught:
            whole.at(changed)
        assert_clear(caught, f"{count} of {n}", "groups")
    with pytest.raises(InputError) as caught:
        prepared.at(frame.drop(columns="urban"))
    assert_clear(caught, "'urban'", "no column")


def test_top_coding_elsewhere_cuts_at_the_confidential_bound():
    synthesizer = make("top-coding", {"formula": "income ~ 1", "quantile": 0.5})
    frame = simulated()
    prepared = synthesizer.prepare(frame)
    other = frame.iloc[:7].assign(income=[1.0, 1e9, 2.0, 1e8, 3.0, 4.0, 5.0])
    cut = synthesizer.distribution({}, prepared.at(other)).draw(np.random.default_rng(1))
    np.testing.assert_array_equal(
        cut, np.minimum(other["income"], np.quantile(frame["income"], 0.5))
    )
    with pytest.raises(InputError) as caught:
        prepared.at(frame.drop(columns="income"))
    assert_clear(caught, "'income'", "no column")


@cases([case for case in REFERENCED if case[0] != "hierarchical"])
def test_the_response_of_other_rows_stands_on_the_confidential_scale(name, settings):
    """Checked against scipy with the confidential location, scale and whitening, on values that are
    not in the data.
    """
    synthesizer, prepared, graph = graph_of(name, settings)
    frame = simulated()
    theta, _ = graph(np.random.default_rng(16), np.ones(N), 0.3)
    y = np.round(1.5 * frame[synthesizer.target].to_numpy(dtype=float) + 3)
    parts, weight, _ = REFERENCES[name](synthesizer, frame, theta)
    z = y if name == "negative-binomial" else standard_units(synthesizer, frame, y)
    density = "logpmf" if name == "negative-binomial" else "logpdf"
    terms = [
        getattr(part, density)(z) + np.log(share) for part, share in zip(parts, weight, strict=True)
    ]
    got = synthesizer.distribution(theta, prepared).log_density(y)
    np.testing.assert_allclose(got, np.logaddexp.reduce(terms, axis=0), rtol=1e-8, atol=1e-8)


# (f) values, not things


@functools.cache
def _all():
    return [make(*case) for case in CASES]


@cases(CASES)
def test_synthesizers_are_frozen_hashable_values(name, settings):
    one, same = make(name, settings), make(name, settings)
    assert one == same
    assert hash(one) == hash(same)
    assert one.target == settings["formula"].split(" ~ ")[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.formula = "rent ~ 1"
    assert one != make(name, settings | {"formula": "rent ~ grade"})
    assert one not in [
        other for case, other in zip(CASES, _all(), strict=True) if case != (name, settings)
    ]
    assert one in {same: 1}


def test_groups_may_be_a_name_or_any_sequence_of_names():
    first = make("hierarchical", {"formula": "income ~ x", "groups": "race"})
    for groups in (["race"], ("race",)):
        other = make(
            "hierarchical", {"formula": "income ~ x", "groups": groups, "scale_groups": ["race"]}
        )
        assert other == first
        assert hash(other) == hash(first)
