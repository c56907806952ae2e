"""The values that stand for others where records are counted: the likelihood does not tell them
apart, and what is found in them stays.
"""

import numpy as np
import pandas as pd
import pytest
from riskweighted_models.scaling import COUNTED_TO

from riskweighted.contract.synthesizer import load_synthesizer

RNG = np.random.default_rng(8)
UNIT = RNG.choice([1, 100, 1000], 4000)
AMOUNTS = pd.Series(
    np.maximum(np.round(np.exp(RNG.normal(10, 0.8, 4000)) / UNIT) * UNIT, 1).astype(int),
    name="income",
)
MIXED = pd.Series(
    np.where(RNG.random(4000) < 0.1, 0, np.where(RNG.random(4000) < 0.1, -AMOUNTS, AMOUNTS)),
    name="income",
)


def distinct(column):
    counted = column.value_counts().sort_index()
    return pd.Series(counted.index.to_numpy(), name=column.name), counted.to_numpy()


@pytest.mark.parametrize("name", ["normal-mixture", "linear-regression"])
def test_of_standard_units_they_lie_within_a_two_hundredth(name):
    model = load_synthesizer(name)("income ~ 1", transform="log", support=(1, 1e7))
    values, counts = distinct(AMOUNTS)
    stated, standing = model.settled(values, counts)
    whole = model.prepare(AMOUNTS.to_frame())
    assert stated.location == pytest.approx(whole.location, rel=1e-12)
    assert stated.scale == pytest.approx(whole.scale, rel=1e-12)
    off = (np.log(standing) - np.log(values)) / whole.scale
    assert np.abs(off).max() <= COUNTED_TO / 2 + 1e-9
    assert len(np.unique(standing)) < len(values)


def test_of_a_transformation_model_they_have_the_same_density():
    model = load_synthesizer("transformation")("income ~ 1", support=(1, 1e7))
    values, counts = distinct(AMOUNTS)
    stated, standing = model.settled(values, counts)
    whole = model.prepare(AMOUNTS.to_frame())
    merged = stated.prepare(pd.Series(standing.astype(int), name="income").to_frame(), counts)
    np.testing.assert_array_equal(merged.grid.edges, whole.grid.edges)
    np.testing.assert_array_equal(merged.grid.knots, whole.grid.knots)
    one, other = (
        whole.at(pd.DataFrame({"income": each})) for each in (values, standing.astype(int))
    )
    np.testing.assert_array_equal(one.bins, other.bins)
    np.testing.assert_array_equal(one.heap, other.heap)
    assert len(np.unique(standing)) < len(values) / 2
    assert set(standing) <= set(values)


def test_of_two_parts_each_kind_stays_what_it_is():
    model = load_synthesizer("two-part")("income ~ 1", support=(-1e7, 1e7))
    values, counts = distinct(MIXED)
    stated, standing = model.settled(values, counts)
    assert (np.sign(standing) == np.sign(values)).all()
    whole = model.prepare(MIXED.to_frame())
    merged = stated.prepare(pd.Series(standing.astype(int), name="income").to_frame(), counts)
    assert merged.statuses == whole.statuses
    for sign, part in whole.parts.items():
        np.testing.assert_array_equal(
            merged.parts[sign].prepared.grid.edges, part.prepared.grid.edges
        )
        np.testing.assert_array_equal(
            merged.parts[sign].prepared.grid.knots, part.prepared.grid.knots
        )
    assert len(np.unique(standing)) < len(values)
