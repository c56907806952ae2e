"""The censored mode: what is proved, what is sampled, what is refused. The bound itself is tried on
a grid in tests/statistical.
"""

import math
import warnings
from collections import OrderedDict

import numpy as np
import pandas as pd
import pytensor
import pytest
import records
import xarray as xr
from brute import assert_clear
from scipy import stats
from small_graph import PoissonGraph

import riskweighted as rw
from riskweighted.common.fingerprints import fingerprint
from riskweighted.guarantee.clip import DATA, censor
from riskweighted.guarantee.ledger import open_ledger
from riskweighted.guarantee.statement import ADD_DROP, REPLACE, epsilon_at
from riskweighted.sampling import compilation
from riskweighted.sampling.block_fit import prepare_model
from riskweighted.sampling.graphs import PLAIN
from riskweighted.sampling.isolation import refuse_dependence
from riskweighted.sampling.saving import data_hash

N = 80
SHORT = {"draws": 120, "tune": 150, "chains": 2, "cores": 1, "random_seed": 3}
NB80 = rw.Reference("nbinom", {"n": 2, "p": 2 / 82})


def frame():
    rng = np.random.default_rng(8)
    size = rng.choice(["small", "large"], N)
    return pd.DataFrame(
        {
            "size": size,
            "age": rng.normal(20, 5, N),
            "jobs": rng.negative_binomial(3, np.where(size == "small", 0.3, 0.05)),
            "rent": rng.normal(700, 90, N).round(1),
        },
        index=[f"firm {i}" for i in range(N)],
    )


def counts(**settings):
    return rw.load_synthesizer("negative-binomial")("jobs ~ 1", **settings)


# compiled in seconds; what is clipped of the others' graphs is compared below without a compilation
SMALL = PoissonGraph("jobs ~ 1")


def rents(**settings):
    return rw.load_synthesizer("linear-regression")(
        "rent ~ age", **{"location": 700.0, "scale": 100.0, **settings}
    )


def fitted(synthesizer, guarantee, alpha=None, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rw.ConvergenceWarning)
        return rw.fit(synthesizer, frame(), alpha, guarantee=guarantee, **{**SHORT, **settings})


@pytest.fixture(scope="module")
def compilations():
    calls, original = [], compilation._compile
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compilation, "_compile", lambda model: calls.append(model) or original(model))
        patch.setattr(compilation, "_recent", OrderedDict())
        yield calls


@pytest.fixture(scope="module")
def jobs(compilations):
    """A fit with epsilon = 2 for one dataset."""
    return fitted(SMALL, rw.Guarantee(epsilon=2), L=1)


# The statement


@pytest.mark.parametrize(
    ("settings", "mass", "clip"),
    [
        ({"epsilon": 2, "neighbours": "add-drop"}, True, (-0.1, 0)),  # w = 2 / 20
        ({"epsilon": 2}, True, (-0.05, 0)),  # 2 w = 2 / 20
        ({"epsilon": 2, "neighbours": "add-drop"}, False, (-0.05, 0.05)),
        ({"epsilon": 2}, False, (-0.025, 0.025)),
        ({"epsilon": 2, "reference": NB80}, True, (-0.025, 0.025)),
        ({"M": 1}, True, (-1, 0)),
        ({"M": 1, "reference": NB80}, True, (-1, 1)),
        ({"M": 0.5}, False, (-0.5, 0.5)),
    ],
)
@pytest.mark.quick
def test_the_clip_follows_from_epsilon_and_the_other_way_round(settings, mass, clip):
    stated = rw.Guarantee(**settings).statement(20, mass)
    assert (stated.lower, stated.upper) == pytest.approx(clip)
    if "epsilon" in settings:
        assert stated.epsilon() == pytest.approx(2)


@pytest.mark.quick
def test_the_numbers_of_a_statement_by_hand():
    """w = 0.2, L = 5."""
    stated = rw.Guarantee(M=0.1).statement(5)
    table = stated.table().set_index(["neighbours", "datasets"])
    assert table.loc[("add-drop", 1), ["epsilon", "rho"]].tolist() == pytest.approx([0.2, 0.04 / 8])
    assert table.loc[("add-drop", 5), ["epsilon", "rho"]].tolist() == pytest.approx([1.0, 0.025])
    assert table.loc[("replace", 1), ["epsilon", "rho"]].tolist() == pytest.approx([0.4, 0.04 / 2])
    assert table.loc[("replace", 5), ["epsilon", "rho"]].tolist() == pytest.approx([2.0, 0.1])
    assert table.loc[("replace", 5), "epsilon_delta"] == pytest.approx(2.0)  # zCDP gives 2.45 there
    assert epsilon_at(0.1, 1e-6) == pytest.approx(0.1 + 2 * math.sqrt(0.1 * math.log(1e6)))
    assert table["stated"].tolist() == [True, True, False, False]
    many = rw.Guarantee(M=0.1, delta=1e-5).statement(400).table().iloc[1]
    assert many["epsilon"] == pytest.approx(160)
    assert many["epsilon_delta"] == pytest.approx(8 + 2 * math.sqrt(8 * math.log(1e5)))


@pytest.mark.quick
def test_the_sentences_hold_the_numbers_and_the_conditions():
    text = " ".join(rw.Guarantee(epsilon=2).statement(20, True).sentences("'jobs'"))
    for part in (
        "'jobs'",
        "epsilon = 2 ",
        "epsilon = 1",
        "rho = 0.025",
        "[-0.05, 0]",
        "MCMC",
        "number of records",
        "tuning on the data",
    ):
        assert part in text


def test_one_dataset_has_one_row_a_relation():
    assert rw.Guarantee(M=1).statement(1).table()["datasets"].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({}, ["epsilon or M"]),
        ({"epsilon": 1, "M": 1}, ["epsilon or M"]),
        ({"epsilon": 0}, ["epsilon", "> 0", "0"]),
        ({"epsilon": -1}, ["epsilon", "> 0"]),
        ({"epsilon": float("inf")}, ["epsilon", "finite"]),
        ({"epsilon": True}, ["epsilon"]),
        ({"M": 0}, ["M must", "> 0"]),
        ({"M": "1"}, ["M must"]),
        ({"M": 1, "neighbours": "remove"}, ["neighbours", "'replace'", "'add-drop'"]),
        ({"M": 1, "delta": 0}, ["delta"]),
        ({"M": 1, "reference": "norm"}, ["reference"]),
    ],
)
@pytest.mark.quick
def test_settings_that_state_no_guarantee_are_refused(settings, named):
    with pytest.raises(rw.InputError) as caught:
        rw.Guarantee(**settings)
    assert_clear(caught, *named)


@pytest.mark.parametrize(
    ("distribution", "parameters", "named"),
    [
        ("normal", {}, ["scipy.stats", "'normal'"]),
        ("describe", {}, ["scipy.stats"]),
        (3, {}, ["distribution"]),
        ("norm", {"mean": 3}, ["loc, scale", "mean"]),
        ("nbinom", {"n": 2}, ["n, p, loc", "got n"]),
        ("norm", {"scale": -1}, ["outside its range"]),
        ("norm", {"scale": "1"}, ["finite numbers"]),
        ("norm", [1], ["table"]),
    ],
)
def test_references_that_are_none_are_refused(distribution, parameters, named):
    with pytest.raises(rw.InputError) as caught:
        rw.Reference(distribution, parameters)
    assert_clear(caught, *named)


@pytest.mark.quick
def test_a_reference_is_the_log_density_of_scipy():
    values = np.array([0.0, 3.0, 80.0])
    np.testing.assert_allclose(NB80(values, frame()), stats.nbinom.logpmf(values, 2, 2 / 82))
    np.testing.assert_allclose(
        rw.Reference("norm", {"loc": 1, "scale": 2})(values, frame()),
        stats.norm.logpdf(values, 1, 2),
    )


# What is sampled


def at_a_point(model):
    """The model's parameters by name and its one Potential near the start of the sampler, by PyMC,
    with the data of when it is asked.
    """
    named = [*model.free_RVs, *model.deterministics]
    with pytensor.config.change_flags(cxx=""):
        outputs = model.replace_rvs_by_values([*named, *model.potentials])
        function = pytensor.function(
            model.value_vars, outputs, mode=PLAIN, on_unused_input="ignore"
        )
    rng, start = np.random.default_rng(2), model.initial_point()
    point = [
        start[str(value.name)] + rng.normal(0, 0.1, np.shape(start[str(value.name)]))
        for value in model.value_vars
    ]

    def evaluated():
        *values, total = function(*point)
        return {
            str(variable.name): np.asarray(value)
            for variable, value in zip(named, values, strict=True)
        }, float(total)

    return evaluated


MODELS = [
    (counts(), None),
    (counts(components=2), NB80),
    (rents(), None),
    (rents(), rw.Reference("norm")),
    (
        rw.load_synthesizer("normal-mixture")(
            "rent ~ C(size)", transform="identity", components=2, location=700.0, scale=100.0
        ),
        None,
    ),
    (
        rw.load_synthesizer("hierarchical")("rent ~ age", groups="size"),
        rw.Reference("norm", {"loc": 700, "scale": 100}),
    ),
    (rw.load_synthesizer("logistic")("size ~ age", levels=("small", "large")), None),
]


@pytest.mark.parametrize(("synthesizer", "reference"), MODELS)
def test_the_potential_is_the_clip_in_numpy(monkeypatch, synthesizer, reference):
    monkeypatch.setattr(compilation, "_compile", lambda model: model)
    monkeypatch.setattr(compilation, "_recent", OrderedDict())
    model, alpha = prepare_model(synthesizer, frame()), pd.Series(0.7, frame().index)
    compiled = compilation.compile_prepared(model, censored=True).blueprint.model
    evaluated = at_a_point(compiled)
    for bound in (0.05, 4.0):
        censoring = model.censor(rw.Guarantee(M=bound, reference=reference), alpha, 3)
        for name, value in censoring.values(alpha.to_numpy()).items():
            compiled[name].set_value(value)
        theta, found = evaluated()
        terms = records.terms(synthesizer, theta, model.prepared, frame())
        by_hand = 0.7 * (
            terms
            - (0 if reference is None else reference(synthesizer.response(model.prepared), frame()))
        )
        upper = 0.0 if synthesizer.target in ("jobs", "size") and reference is None else bound
        clipped = np.clip(by_hand, -bound, upper)
        assert found == pytest.approx(clipped.sum(), rel=1e-9)
        np.testing.assert_allclose(censoring.contributions(alpha.to_numpy(), terms), clipped)
        assert not np.array_equal(clipped, by_hand) or bound > 1


def test_a_contribution_that_is_no_number_counts_as_the_lower_bound():
    model = prepare_model(counts(), frame())
    censoring = model.censor(rw.Guarantee(M=1), pd.Series(1.0, frame().index), 1)
    terms = np.full(N, -0.5)
    terms[:3] = np.nan, -np.inf, np.inf
    assert censoring.contributions(np.ones(N), terms).tolist() == [
        -1.0,
        -1.0,
        0.0,
        *[-0.5] * (N - 3),
    ]


@pytest.mark.long
def test_a_model_is_compiled_once_for_every_guarantee_and_not_at_all_without(compilations, jobs):
    before = len(compilations)
    other = fitted(SMALL, rw.Guarantee(M=3, reference=NB80, neighbours="add-drop"), np.full(N, 0.5))
    assert len(compilations) == before
    assert [potential.name for potential in compilations[-1].potentials] == [
        "weighted_log_likelihood"
    ]
    assert set(DATA) <= {variable.name for variable in compilations[-1].data_vars}
    plain = fitted(counts(), None)
    assert len(compilations) == before  # without one, a density of a vector is sampled
    assert plain.statement is None
    assert other.statement.width == 6
    assert other.posterior["intercept"].values.std() != plain.posterior["intercept"].values.std()


def test_convergence_and_influence_are_those_of_clipped_contributions(jobs):
    theta = jobs.block.draw(0, 0)
    terms = jobs.block.terms(theta)
    np.testing.assert_allclose(jobs.block.contributions(theta), np.clip(terms, -1, 0))
    assert (rw.influence(jobs)["lipschitz"] <= jobs.statement.M).all()


def test_a_mechanism_that_clips_hard_is_told_less(compilations, jobs):
    """With M = 0.0001 the posterior is nearly the prior, whatever the data; with M = 1,000 nothing
    is clipped.
    """
    blind, told = (
        fitted(SMALL, rw.Guarantee(M=bound, neighbours="add-drop")) for bound in (1e-4, 1e3)
    )
    assert blind.posterior["intercept"].values.std() > 5 * told.posterior["intercept"].values.std()


def test_a_compiled_model_wants_a_guarantee_when_it_was_compiled_for_one(compilations, jobs):
    censored = rw.compile_model(SMALL, frame(), censored=True)
    plain = rw.compile_model(counts(), frame())
    for model, guarantee in ((censored, None), (plain, rw.Guarantee(M=1))):
        with pytest.raises(rw.InputError, match=r"guarantee: .* compile it again"):
            model.sample(None, guarantee=guarantee)


# What leaves


def test_no_more_datasets_than_stated_and_no_mode(jobs):
    assert len(jobs.synthesize(1, random_seed=1)) == 1
    for attempt, named in (
        (lambda: jobs.synthesize(2), ["L must be at most 1", "got 2"]),
        (lambda: jobs.synthesize(1, parameters="mode"), ["draws", "guarantee"]),
    ):
        with pytest.raises(rw.InputError) as caught:
            attempt()
        assert_clear(caught, *named)


def of_others(jobs, values):
    """The fit as if it were of other values, its ledger opened anew."""
    data, model = jobs.confidential.assign(jobs=values), jobs.block.synthesizer
    ledger = open_ledger(
        jobs.posterior, jobs.censoring.digest(), 1, data_hash(model, fingerprint(data))
    )
    return jobs.changed(confidential=data, prepared=model.prepare(data), posterior=ledger)


def test_the_precision_is_that_of_the_dtype_or_given(jobs):
    """Counts that are all multiples of ten are not released as such: that they are is a fact about
    the data.
    """
    counted = jobs.confidential["jobs"] // 10 * 10 + 10
    # thirty, whatever was drawn
    jobs = jobs.changed(
        posterior=jobs.posterior.assign(intercept=0 * jobs.posterior["intercept"] + 3.4)
    )
    tens = of_others(jobs, counted)
    assert tens.precision == 1.0
    assert any(
        (tens.synthesize(1, random_seed=seed)[0]["jobs"] % 10 != 0).any() for seed in range(5)
    )
    numbers = of_others(jobs, counted.astype(float))
    with pytest.raises(rw.InputError) as caught:
        numbers.synthesize(1)
    assert_clear(caught, "precision must be given", "'jobs'")
    (synthetic,) = numbers.with_drawing(rw.DrawingSettings(7)).synthesize(1, random_seed=1)
    assert (synthetic["jobs"] % 7 == 0).all()


def test_a_saved_fit_is_read_back_under_its_guarantee_alone(jobs, tmp_path):
    path, own = tmp_path / "fit.nc", {"guarantee": rw.Guarantee(epsilon=2), "L": 1}
    jobs.save(path)
    again = rw.load_fit(path, SMALL, frame(), jobs.alpha, **own)
    xr.testing.assert_equal(again.posterior, jobs.posterior)
    assert again.statement == jobs.statement
    others = [
        {},
        {"guarantee": rw.Guarantee(epsilon=2), "L": 2},
        {"guarantee": rw.Guarantee(epsilon=3), "L": 1},
        {"guarantee": rw.Guarantee(epsilon=2, neighbours="add-drop"), "L": 1},
        {"guarantee": rw.Guarantee(epsilon=4, reference=NB80), "L": 1},
    ]
    for other in others:
        with pytest.raises(rw.InputError, match="another guarantee"):
            rw.load_fit(path, SMALL, frame(), jobs.alpha, **other)
    with pytest.raises(rw.InputError, match="was changed"):
        jobs.changed(censoring=None).save(tmp_path / "plain.nc")


# What is refused


class Silent(type(counts())):
    """A count model that does not say what it takes from the data."""

    data_dependent = None


class Liar(type(rents())):
    """Takes its location from the data and says that it does not."""

    data_dependent = ()


class Fussy(type(rents())):
    """Takes no data but those whose first row holds a certain value."""

    data_dependent, first = (), 0.0

    def prepare(self, data):
        if data[self.target].iloc[0] != self.first:
            raise rw.InputError("no")
        return super().prepare(data)


class Mute(type(rents())):
    response = None


@pytest.mark.parametrize(
    ("synthesizer", "alpha", "named"),
    [
        (
            rents(location=None, scale=None),
            None,
            ["2 such things", "location of LinearRegression", "scale of LinearRegression"],
        ),
        (
            rents(location=None, scale=None),
            np.linspace(0.5, 1, N),
            ["3 such things", "location", "scale", "weights alpha that are not all the same"],
        ),
        (counts(), np.linspace(0.5, 1, N), ["weights alpha"]),
        (
            Silent("jobs ~ 1"),
            None,
            ["Silent", "does not say which of its settings depend on the data"],
        ),
        (rw.load_synthesizer("top-coding")("rent ~ 1"), None, ["TopCoding", "confidential values"]),
        (
            rw.load_synthesizer("transformation")("rent ~ 1"),
            None,
            ["support of Transformation", "knots of Transformation", "precision", "3 such things"],
        ),
        (
            rw.load_synthesizer("transformation")(
                "rent ~ 1", support=(0, 2000), knots=(500, 600, 700)
            ),
            None,
            ["1 such thing"],
        ),
        (
            rw.load_synthesizer("two-part")("rent ~ 1"),
            None,
            ["statuses", "knots of value = 'transformation' of TwoPart", "precision"],
        ),
    ],
)
def test_what_depends_on_the_data_is_refused_by_name(synthesizer, alpha, named):
    with pytest.raises(rw.InputError) as caught:
        rw.fit(
            synthesizer, frame(), alpha, guarantee=rw.Guarantee(epsilon=2, public=["age"]), **SHORT
        )
    assert_clear(caught, *named)


def test_what_is_given_is_not_refused():
    given = rw.load_synthesizer("transformation")(
        "rent ~ 1", support=(0, 2000), knots=(500, 600, 700)
    )
    assert not any("support" in name or "knots" in name for name in given.data_dependent)
    assert rents().data_dependent == ()
    assert counts().data_dependent == ()


def test_a_class_that_hides_what_it_takes_is_found_out():
    hiding = Liar("rent ~ age")
    model = prepare_model(hiding, frame())
    theta = {"coefficient": np.array([0.1, 0.2]), "sigma": np.array(0.9)}
    with pytest.raises(rw.ContractError, match="nothing is taken from the data"):
        refuse_dependence(hiding, model.prepared, frame(), [theta])
    honest = Liar("rent ~ age", location=700.0, scale=100.0)
    refuse_dependence(honest, honest.prepare(frame()), frame(), [theta])


def test_a_class_that_refuses_the_same_values_in_other_records_is_refused():
    fussy = Fussy("rent ~ age", location=700.0, scale=100.0)
    theta = {"coefficient": np.array([0.1, 0.2]), "sigma": np.array(0.9)}
    data = frame().assign(rent=lambda table: table["rent"].sort_values(ascending=False).to_numpy())
    Fussy.first = data["rent"].iloc[0]
    with pytest.raises(rw.ContractError, match="refuses the data with the sensitive values"):
        refuse_dependence(fussy, rents().prepare(data), data, [theta])


@pytest.mark.parametrize(
    ("reference", "named"),
    [
        (
            lambda values, frame: np.where(values > np.sort(values)[-4], -np.inf, 0.0),
            ["not finite in 3 of 80 records"],
        ),
        (
            lambda values, frame: np.where(np.arange(len(values)) < 2, np.nan, 0.0),
            ["not finite in 2 of 80 records"],
        ),
        (rw.Reference("expon", {"loc": 1.0}), ["not finite in"]),
        (lambda values, frame: ["much"] * len(values), ["reference raised ValueError"]),
        (lambda values, frame: frame["nope"], ["reference raised KeyError"]),
        (lambda values, frame: 0.0, ["one number a record, 80"]),
        (lambda values, frame: stats.norm.logpdf(values, values.mean(), 1), ["each record alone"]),
    ],
)
def test_a_reference_must_be_finite_and_look_at_each_record_alone(reference, named):
    with pytest.raises(rw.InputError) as caught:
        rw.fit(
            rents(),
            frame(),
            guarantee=rw.Guarantee(M=1, reference=reference, public=["age"]),
            **SHORT,
        )
    assert_clear(caught, "reference", *named)


def test_a_reference_sees_what_is_public_and_nothing_else():
    seen = []

    def reference(values, public):
        seen.append(list(public))
        return stats.norm.logpdf(values, 0.02 * (public["age"] - 20), 1)

    model = prepare_model(rents(), frame())
    alpha = pd.Series(1.0, frame().index)
    guarantee = rw.Guarantee(M=1, reference=reference, public=["age"])
    censoring = censor(model.synthesizer, model.prepared, frame(), alpha, guarantee, 5)
    z = (frame()["rent"] - 700) / 100
    np.testing.assert_allclose(
        censoring.reference, stats.norm.logpdf(z, 0.02 * (frame()["age"] - 20), 1)
    )
    assert seen[0] == ["age"]
    mute = prepare_model(Mute("rent ~ age", location=700.0, scale=100.0), frame())
    with pytest.raises(rw.InputError, match=r"Mute has no response\(prepared\)"):
        mute.censor(guarantee, alpha, 5)


def test_relations_are_named_alike_everywhere():
    assert set(rw.Guarantee(M=1).statement(2).table()["neighbours"]) == {REPLACE, ADD_DROP}
