"""Fits of rows that stand for several records, and a posterior for other records of its file: parts
of it give what the whole gives.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from counted import COUNTED, counted_file
from laplace_fit import laplace_fit
from riskweighted_models.hierarchical import Hierarchical

import riskweighted as rw
from riskweighted.common.errors import ExplosionWarning, InputError
from riskweighted.disclosure.attribution import attribution_of_fit
from riskweighted.disclosure.setting import Asked
from riskweighted.evaluation.expected import find_mechanism
from riskweighted.intruder.world import make_world
from riskweighted.measures.settings import EvaluationSettings
from riskweighted.risk.masses import ball_masses
from riskweighted.sampling.block_fit import prepare_model
from riskweighted.sampling.fitting import compile_prepared
from riskweighted.sampling.modes import block_modes
from riskweighted.sampling.released import released_quantities
from riskweighted.sampling.settings import Sampling
from riskweighted.sequence.fitting import fit_sequence
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sequence.saved import read_fit

FILE = counted_file(300, largest=20)
ALPHA = np.random.default_rng(8).uniform(0.1, 1, len(FILE.rows))
SHORT = Sampling(draws=150, tune=150, chains=2)
CUT = [
    "normal-mixture",
    "negative-binomial",
    "transformation",
    "transformation found",
    "two-part",
    "two-part of a mixture",
    "logistic",
]
few = pytest.mark.filterwarnings("ignore::riskweighted.common.errors.FewRecordsWarning")


def series(alpha):
    return pd.Series(alpha, name="alpha")


@pytest.fixture(scope="module")
def both():
    """A fit of counted rows, and one of the file."""
    model = COUNTED["logistic"]
    counted = fit_sequence(
        prepare_sequence(model, FILE.rows, counts=FILE.counts), series(ALPHA), SHORT, 1
    )
    return counted, fit_sequence(
        prepare_sequence(model, FILE.records), series(ALPHA[FILE.row]), SHORT, 1
    )


def test_a_fit_of_counted_rows_is_that_of_the_file(both):
    counted, whole = both
    one, other = (fit.posterior["coefficient"].values.reshape(300, -1) for fit in both)
    assert (
        np.abs(one.mean(axis=0) - other.mean(axis=0)) < 5 * other.std(axis=0) * np.sqrt(2 / 300)
    ).all()
    np.testing.assert_allclose(one.std(axis=0), other.std(axis=0), rtol=0.25)
    assert counted.diagnostics.index.tolist() == whole.diagnostics.index.tolist()
    assert counted.converged
    np.testing.assert_allclose(counted.weights, ALPHA * FILE.counts)
    assert counted.block.counts.tolist() == counted.prepared.counts.tolist() == FILE.counts.tolist()
    theta = counted.draw(0, 3)
    np.testing.assert_allclose(
        counted.contributions(theta).sum(), whole.contributions(theta).sum(), rtol=1e-10
    )


@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.ConvergenceWarning")
def test_chains_run_on_counted_rows():
    prepared = prepare_sequence(
        COUNTED["normal-mixture gating"], FILE.rows, counts=pd.Series(FILE.counts)
    )
    # graph and density are held to log_density
    fit = fit_sequence(prepared, series(ALPHA), Sampling(draws=50, tune=100, chains=2), 1)
    assert fit.sizes == {"chain": 2, "draw": 50}


@few
@pytest.mark.parametrize("name", ["transformation", "two-part", "ordinal", "negative-binomial"])
def test_what_is_judged_is_of_records_that_stand_for_the_file(name):
    model = COUNTED[name]
    counted = laplace_fit(model, FILE.rows, series(ALPHA), draws=20, counts=FILE.counts)
    whole = laplace_fit(model, FILE.records, series(ALPHA[FILE.row]), draws=20)
    held = replace(whole.block, posterior=counted.posterior)
    found, stated = released_quantities(counted.block), released_quantities(held)
    assert found.keys() == stated.keys()
    for quantity, values in found.items():
        np.testing.assert_allclose(values, stated[quantity], rtol=1e-8, err_msg=quantity)
    assert counted.precision == whole.precision
    assert counted.categories is not None or counted.block._limit == whole.block._limit


class Laplace(rw.Regression):
    """A class of another package, sampled by its graph."""

    def priors(self, predictors):
        slope = pm.Normal("slope", 0, 50, shape=predictors)
        return {
            "level": pm.Normal("level", 300, 100),
            "slope": slope,
            "width": pm.HalfNormal("width", 200),
        }

    def values(self, theta, x):
        return pm.Laplace.dist(theta["level"] + x @ theta["slope"], theta["width"])


@pytest.mark.slow
def test_a_class_of_another_package_is_fitted_to_counted_rows():
    """Whether its draws see the sensitive values is tried with each row as one record, since moved
    rows would stand for others.
    """
    prepared = prepare_sequence(Laplace("rent ~ group + age"), FILE.rows, counts=FILE.counts)
    fit = fit_sequence(prepared, series(ALPHA), replace(SHORT, draws=2 * SHORT.draws), 1)
    assert fit.converged
    weight = ALPHA * FILE.counts
    order = np.argsort(FILE.rows["rent"].to_numpy(), kind="stable")
    median = FILE.rows["rent"].to_numpy()[order][
        np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)
    ]
    assert abs(float(fit.posterior["level"].mean()) - median) < 30


def test_modes_of_counted_rows_are_those_of_the_file(both):
    counted, whole = both
    modes = [
        block_modes(compile_prepared(block.model), fit.block).find(alpha)
        for fit, alpha in ((counted, ALPHA), (whole, ALPHA[FILE.row]))
        for block in fit.prepared.blocks
    ]
    # each found from a start of its own, to far less than a standard deviation
    np.testing.assert_allclose(*modes, rtol=1e-4, atol=5e-4)


def test_survey_weights_have_mean_one_over_the_records():
    survey = FILE.rows["size"].to_numpy(dtype=float)
    counted = prepare_model(COUNTED["logistic"], FILE.rows, survey, FILE.counts)
    whole = prepare_model(COUNTED["logistic"], FILE.records, survey[FILE.row])
    np.testing.assert_allclose(counted.survey.to_numpy()[FILE.row], whole.survey, rtol=1e-12)
    np.testing.assert_allclose(counted.weights(series(ALPHA)), ALPHA * FILE.counts * counted.survey)


def test_a_saved_fit_is_read_back_with_the_same_counts_alone(both, tmp_path):
    counted, path = both[0], tmp_path / "counted.fit"
    counted.save(path)
    again = read_fit(
        path, prepare_sequence(counted.synthesizer, FILE.rows, counts=FILE.counts), series(ALPHA)
    )
    assert again.posterior.equals(counted.posterior)
    assert again.prepared.fingerprint == counted.data
    with pytest.raises(InputError, match="other data"):
        read_fit(path, prepare_sequence(counted.synthesizer, FILE.rows), series(ALPHA))
    with pytest.raises(InputError, match="other data"):
        read_fit(
            path,
            prepare_sequence(counted.synthesizer, FILE.rows, counts=FILE.counts + 1),
            series(ALPHA),
        )
    with pytest.raises(InputError, match="other weights"):
        read_fit(
            path,
            prepare_sequence(counted.synthesizer, FILE.rows, counts=FILE.counts),
            series(ALPHA / 2),
        )


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        (FILE.counts[:-1], "one whole number for each of 300 rows"),
        (FILE.counts - 1, "whole numbers >= 1: "),
        (FILE.counts + 0.5, "300 of 300"),
        (pd.Series(FILE.counts, FILE.rows.index + 1), "on the index"),
        (FILE.counts.astype(str), "got dtype"),
    ],
)
def test_counts_are_whole_numbers_on_the_index(counts, text):
    with pytest.raises(InputError, match=text):
        prepare_sequence(COUNTED["logistic"], FILE.rows, counts=counts)


def test_what_takes_no_counts_says_so():
    with pytest.raises(InputError, match="Hierarchical takes no counted rows"):
        prepare_sequence(
            Hierarchical("rent ~ size", groups=("group",)), FILE.rows, counts=FILE.counts
        )
    chain = rw.load_synthesizer("sequential")(["owner", "rooms"], predictors=["group"])
    with pytest.raises(InputError, match="counts are of one variable"):
        prepare_sequence(chain, FILE.rows, counts=FILE.counts)
    model = rw.load_synthesizer("linear-regression")("rent ~ size", location=300, scale=200)
    with pytest.raises(InputError, match="a guarantee clips what each record adds"):
        fit_sequence(
            prepare_sequence(model, FILE.rows, counts=FILE.counts),
            None,
            SHORT,
            1,
            guarantee=rw.Guarantee(epsilon=2.0),
        )


SCENARIOS = {
    name: rw.Scenario(synthetic=model.target, known=["group", "size"], radius=0.2)
    for name, model in COUNTED.items()
}


def halves(fit, alpha):
    """The fit on each half of the file, and where that stands."""
    n = len(FILE.records)
    for part in (slice(0, n // 2), slice(n // 2, n)):
        yield part, fit.on(FILE.records[part], series(alpha)[part])


@few
@pytest.mark.parametrize("name", CUT)
def test_parts_of_a_file_give_what_the_whole_gives(name):
    alpha = ALPHA[FILE.row]
    whole = laplace_fit(COUNTED[name], FILE.records, series(alpha), draws=12)
    theta, world = whole.draw(0, 5), make_world(FILE.records, SCENARIOS[name])
    with np.errstate(all="ignore"):
        masses = ball_masses(whole, world)(
            whole.thetas(0, 5), np.random.default_rng(0), FILE.records
        )
    for part, held in halves(whole, alpha):
        np.testing.assert_allclose(
            held.block.terms(theta), whole.block.terms(theta)[part], rtol=1e-12, atol=1e-12
        )
        np.testing.assert_allclose(
            held.contributions(theta), whole.contributions(theta)[part], rtol=1e-12, atol=1e-12
        )
        of_part = make_world(FILE.records[part], SCENARIOS[name])
        of_balls = ball_masses(held, of_part)(
            held.thetas(0, 5), np.random.default_rng(0), FILE.records[part]
        )
        np.testing.assert_allclose(of_balls, masses[part], rtol=1e-12, atol=1e-12)
        assert held.precision == whole.precision
        assert held.diagnostics is not None
        assert held.diagnostics.equals(whole.diagnostics)
        assert held.of_part
        assert not whole.of_part


@few
@pytest.mark.parametrize("name", ["two-part", "logistic"])
def test_a_fit_of_counted_rows_serves_the_records(name):
    alpha = ALPHA[FILE.row]
    counted = laplace_fit(COUNTED[name], FILE.rows, series(ALPHA), draws=60, counts=FILE.counts)
    whole = laplace_fit(COUNTED[name], FILE.records, series(alpha), draws=60)
    held = counted.on(FILE.records, alpha)
    theta = counted.draw(0, 1)
    np.testing.assert_allclose(
        held.contributions(theta), whole.contributions(theta), rtol=1e-8, atol=1e-8
    )
    world = make_world(FILE.records, SCENARIOS[name])
    mechanism = find_mechanism("half", held, world, EvaluationSettings(risk_draws=40), 1)
    stated = find_mechanism(
        "half", held.changed(file=None), world, EvaluationSettings(risk_draws=40), 1
    )
    np.testing.assert_array_equal(mechanism.risk.risk, stated.risk.risk)
    assert len(mechanism.influence) == len(FILE.records)
    table = attribution_of_fit(held, world, Asked(shuffled=False), L=5, random_seed=1)
    assert table["with"].between(0, 1).all()
    drawn = next(held.synthetic(1, random_seed=3))
    assert drawn.index.equals(FILE.records.index)
    assert drawn.drop(columns=held.variables[0]).equals(
        FILE.records.drop(columns=held.variables[0])
    )


def test_what_is_of_the_file_stays_of_the_file():
    """A part of coarse and small values is drawn as finely as the file, and no value that the file
    may have is told of as an explosion.
    """
    rows = FILE.rows.assign(gain=FILE.rows["rent"])
    rows.loc[:5, "gain"] = [3.0, 7.0, 11.0, 20_000.0, 21_000.0, 5.0]
    whole = laplace_fit(COUNTED["linear-regression alone"].unbounded(), rows, draws=30)
    part = rows[rows["gain"].between(40, 60)]
    held = whole.on(part, None)
    alone = laplace_fit(COUNTED["linear-regression alone"].unbounded(), part, draws=30)
    assert (whole.precision, held.precision, alone.precision) == (1.0, 1.0, 10.0)
    assert held.block._limit == whole.block._limit > 100 * alone.block._limit
    values = pd.Series([5_000.0, 250_000.0])
    assert (held.block.count_far(values), alone.block.count_far(values)) == (1, 2)
    assert held.on(rows, None).block._limit == whole.block._limit


def test_other_records_are_refused_where_they_would_mean_something_else(both):
    fit = both[1]
    with pytest.raises(InputError, match="records has no column 'group'"):
        fit.on(FILE.records.drop(columns="group"), None)
    with pytest.raises(InputError, match="weights"):
        fit.on(FILE.records[:10], np.full(10, 1.5))
    chain = rw.load_synthesizer("sequential")(["owner"], predictors=["group"])
    with pytest.raises(InputError, match="this one is of a chain of 'owner'"):
        laplace_fit(chain, FILE.records, draws=5).on(FILE.records, None)
    with pytest.warns(ExplosionWarning):
        fit.block.warn_of_far(1, 2)
