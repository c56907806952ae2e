"""Centred weights of counted rows, as sums over the records of each, are those of the file; and so
they are of its parts.
"""

import numpy as np
import pandas as pd
import pytest
from counted import COUNTED, counted_file
from laplace_fit import laplace_fit

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.contract.centring import CentredSums, summed
from riskweighted.contract.layout import layout_of
from riskweighted.sampling.settings import Sampling
from riskweighted.sequence.alphas import alphas_of, functions_of
from riskweighted.sequence.fitting import fit_sequence
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sequence.tasks import block_tasks

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

FILE = counted_file(150, largest=12)
CENTRED = [
    "linear-regression",
    "normal-mixture",
    "negative-binomial",
    "transformation",
    "two-part",
    "logistic",
    "ordinal",
    "counts",
]
SCHEME = "mix+(t=0.5)"


def scenario_of(target):
    return rw.Scenario(
        known="group",
        synthetic=target,
        **({} if target in ("owner", "health") else {"radius": 0.3}),
    )


def centred_of(model, records):
    return rw.centred_weights(SCHEME, records, scenario_of(model.target))


def task_of(model, records, weights):
    prepared = prepare_sequence(model, records)
    return block_tasks(
        prepared,
        alphas_of(prepared.variables, weights, records.index),
        functions=functions_of(weights),
    )[0]


def sums_of(model, task):
    """What the parts of a file hand over, of all records at once."""
    m, intervals = len(FILE.rows), task.centring.intervals
    first = np.unique(FILE.row, return_index=True)[1]
    inside, kinds = task.centring.by_row(FILE.row, m)
    centring = summed(
        intervals, inside, task.centring.own[first], kinds, FILE.counts, task.centring.label
    )
    alpha = np.bincount(FILE.row, weights=task.alpha) / FILE.counts
    return CentredSums(pd.DataFrame({model.target: alpha}), {model.target: centring})


@pytest.mark.parametrize("name", CENTRED)
def test_the_centred_posterior_is_that_of_the_file(name):
    model = COUNTED[name]
    whole = task_of(model, FILE.records, centred_of(model, FILE.records))
    sums = sums_of(model, whole)
    prepared = prepare_sequence(model, FILE.rows, counts=FILE.counts)
    (counted,) = block_tasks(prepared, sums.alpha, centrings=sums.centrings)
    one, other = (
        task.block.model.build().weighted(
            task.block.model.weights(task.alpha).to_numpy(), task.centring
        )
        for task in (counted, whole)
    )
    size = layout_of(counted.block.model.build()).size
    for vector in np.random.default_rng(4).normal(0, 0.3, (3, size)):
        (height, slope), (stated, stated_slope) = one(vector), other(vector)
        np.testing.assert_allclose(height, stated, rtol=1e-9)
        np.testing.assert_allclose(
            slope, stated_slope, rtol=1e-8, atol=1e-9 * np.abs(stated_slope).max()
        )


@pytest.mark.parametrize("name", ["normal-mixture", "two-part", "logistic"])
def test_parts_of_a_centred_file_give_what_the_whole_gives(name):
    model, order = COUNTED[name], np.argsort(FILE.records["group"].to_numpy(), kind="stable")
    records = FILE.records.iloc[order].reset_index(drop=True)
    whole = laplace_fit(model, records, centred_of(model, records), draws=5)
    theta, cut = whole.draw(0, 2), int((records["group"] == "a").sum())
    added = whole.contributions(theta)
    for part in (slice(0, cut), slice(cut, len(records))):
        some = records[part]
        held = whole.on(some, centred_of(model, some))
        np.testing.assert_allclose(held.contributions(theta), added[part], rtol=1e-10, atol=1e-10)
    with pytest.raises(InputError, match="the weights of this fit are centred"):
        whole.on(records, None)


def test_a_centred_fit_of_counted_rows_is_sampled_and_held_to_its_distribution():
    model = COUNTED["logistic"]
    sums = sums_of(model, task_of(model, FILE.records, centred_of(model, FILE.records)))
    fit = fit_sequence(
        prepare_sequence(model, FILE.rows, counts=FILE.counts),
        sums,
        Sampling(draws=200, chains=2),
        1,
    )
    whole = laplace_fit(model, FILE.records, centred_of(model, FILE.records), draws=400)
    one, other = (held.posterior["coefficient"].values.reshape(-1, 9) for held in (fit, whole))
    assert fit.converged
    assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) < 0.4 * other.std(axis=0)).all()
    theta = fit.draw(0, 1)
    np.testing.assert_allclose(
        fit.contributions(theta).sum(), whole.contributions(theta).sum(), rtol=1e-9
    )
    held = fit.on(FILE.records, centred_of(model, FILE.records))
    np.testing.assert_allclose(
        held.contributions(theta), whole.contributions(theta), rtol=1e-9, atol=1e-9
    )


def test_sums_are_of_counted_rows_alone():
    model = COUNTED["logistic"]
    weights = centred_of(model, FILE.records)
    sums = sums_of(model, task_of(model, FILE.records, weights))
    with pytest.raises(InputError, match="these data have no counts"):
        fit_sequence(prepare_sequence(model, FILE.rows), sums, Sampling(), 1)
    prepared = prepare_sequence(model, FILE.rows, counts=FILE.counts)
    fewer = CentredSums(sums.alpha, {})
    with pytest.raises(InputError, match="must be sums of 150 counted rows"):
        fit_sequence(prepared, fewer, Sampling(), 1)
    with pytest.raises(InputError, match="give their sums"):
        fit_sequence(prepared, rw.CentredWeights(sums.alpha, weights.functions), Sampling(), 1)
