"""A matrix that is read from tables is the matrix itself."""

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.contract.vector_layout import layout_of
from riskweighted.design.distinct import Distinct
from riskweighted.design.predictor_tables import Tables
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sequence.recoding import make_recipes

pytestmark = pytest.mark.versions

N = 200


def tables():
    rng = np.random.default_rng(1)
    parts = [
        Distinct(rng.normal(size=(u, k)), rng.integers(0, u, N))
        for u, k in ((3, 2), (7, 1), (N, 4))
    ]
    return Tables(parts, N), np.hstack([part.rows[part.which] for part in parts])


def test_products_shifts_and_scales_are_those_of_the_matrix():
    held, matrix = tables()
    assert held.shape == matrix.shape
    assert len(held) == N
    np.testing.assert_array_equal(np.asarray(held), matrix)
    vector, square = np.arange(7.0), np.arange(21.0).reshape(7, 3)
    np.testing.assert_allclose(held @ vector, matrix @ vector, atol=1e-12)
    np.testing.assert_allclose(held @ square, matrix @ square, atol=1e-12)
    np.testing.assert_allclose(
        np.asarray((held - vector) / (1 + vector)), (matrix - vector) / (1 + vector), atol=1e-15
    )


def test_no_parts_make_no_columns():
    held = Tables((), 5)
    assert np.asarray(held).shape == held.shape == (5, 0)
    np.testing.assert_array_equal(held @ np.empty(0), np.zeros(5))


def frame():
    rng = np.random.default_rng(2)
    data = pd.DataFrame(
        {"g": rng.choice(list("abc"), N), "age": rng.integers(20, 60, N), "x": rng.normal(size=N)}
    )
    data["edu"] = rng.choice(["low", "middle", "high"], N)
    data["jobs"] = (rng.poisson(1.0, N) + (data["edu"] == "high")).clip(upper=4)
    data["smoke"] = pd.Series(rng.choice(["yes", "no"], N)).where(rng.random(N) > 0.15, None)
    return data


@pytest.mark.parametrize("name", ["g", "age", "x", "smoke", "jobs"])
def test_the_table_of_a_column_is_its_columns(name):
    data = frame()
    (recipe,) = make_recipes(data, [name], {"jobs": [0]}).values()
    table = recipe.table(data[name])
    np.testing.assert_array_equal(table.rows[table.which], recipe.columns(data[name]))


def test_an_unknown_level_is_counted_in_records():
    data = frame()
    (recipe,) = make_recipes(data, ["g"], {}).values()
    with pytest.raises(rw.InputError, match=r"'g' has a level .* in 7 of 200 records"):
        recipe.table(data["g"].where(np.arange(N) >= 7, "other"))


def test_a_block_read_from_tables_is_that_of_a_frame():
    """Rows of the block's model: by the frame of its columns, as a model without ``from_tables``
    gets them, and by tables.
    """
    data = frame()
    chain = rw.load_synthesizer("sequential")(
        ("edu", "smoke", "jobs"), predictors=("g", "age", "x")
    )
    prepared = prepare_sequence(chain, data)
    encoded = {name: recipe.table(data[name]) for name, recipe in prepared.recipes.items()}
    rows, rng = np.flatnonzero(data["age"] > 30), np.random.default_rng(3)
    assert len(prepared.blocks) >= 4
    for block in prepared.blocks:
        own, synthesizer = block.model.prepared, block.model.synthesizer
        by_frame = own.at(prepared.columns_of(block, data, encoded, rows))
        by_table = own.from_tables(prepared.tables_of(block, encoded, rows))
        np.testing.assert_allclose(
            np.asarray(by_table.rows)[by_table.which], by_frame.raw.columns, atol=1e-12
        )
        theta = {
            "coefficient": rng.normal(
                0, 0.3, len(synthesizer._prior(len(own.levels), own.rows.shape[1])[0])
            )
        }
        drawn = [
            synthesizer.distribution(theta, held).draw(np.random.default_rng(4))
            for held in (by_frame, by_table)
        ]
        np.testing.assert_array_equal(*drawn)


def test_records_that_are_alike_in_all_parts_are_one_row():
    rng = np.random.default_rng(5)
    parts = [
        Distinct(rng.normal(size=(size, width)), rng.integers(size, size=N))
        for size, width in ((2, 1), (4, 3), (3, 2))
    ]
    table = Tables(parts, N)
    found, whole = table.grouped(), np.asarray(table)
    assert len(found.rows) == len(np.unique(whole, axis=0)) == 24
    np.testing.assert_array_equal(np.asarray(found.rows)[found.which], whole)
    np.testing.assert_array_equal(np.asarray(table[10:20]), whole[10:20])
    np.testing.assert_array_equal(np.asarray(table[np.array([3, 3, 0])]), whole[[3, 3, 0]])
    apart = Tables([*parts, Distinct(rng.normal(size=(N, 1)), rng.permutation(N))], N).grouped()
    assert len(apart.rows) == N
    np.testing.assert_array_equal(apart.which, np.arange(N))
    assert Tables((), 7).grouped().rows.shape == (1, 0)


@pytest.mark.parametrize("name", ["transformation", "two-part"])
def test_amounts_read_from_tables_are_those_of_a_frame(name):
    data, rng = frame(), np.random.default_rng(6)
    amounts = np.rint(np.exp(rng.normal(7, 1, N)))
    data["income"] = (
        amounts
        if name == "transformation"
        else amounts * rng.choice([-1, 0, 1], N, p=[0.05, 0.15, 0.8])
    )
    prepared = prepare_sequence(
        rw.load_synthesizer("sequential")(("edu", "income"), predictors=("g", "smoke")), data
    )
    encoded = {name: recipe.table(data[name]) for name, recipe in prepared.recipes.items()}
    rows, block = np.flatnonzero(data["age"] > 30), prepared.blocks[-1]
    synthesizer, own = block.model.synthesizer, block.model.prepared
    assert (
        type(synthesizer).__name__
        == {"transformation": "Transformation", "two-part": "TwoPart"}[name]
    )
    layout = layout_of(block.model.build())
    theta = {
        name: value[0]
        for name, value in layout.parameters(rng.normal(0, 0.1, (1, layout.size))).items()
    }
    ways = (
        own.at(prepared.columns_of(block, data, encoded, rows)),
        own.from_tables(prepared.tables_of(block, encoded, rows)),
    )
    assert len(ways[1].raw.distinct.rows) < len(rows)
    np.testing.assert_array_equal(
        *(synthesizer.distribution(theta, held).draw(np.random.default_rng(4)) for held in ways)
    )
    ends = data["income"].to_numpy()[rows] - 500.0, data["income"].to_numpy()[rows] + 500.0
    np.testing.assert_allclose(
        *(synthesizer.distribution(theta, held).mass(*ends) for held in ways), rtol=1e-10
    )
    share = rng.random(len(rows))
    np.testing.assert_array_equal(
        *(synthesizer.distribution(theta, held).inverse(*ends, share) for held in ways)
    )
