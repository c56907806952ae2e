"""A matrix that is read from tables is the matrix itself."""

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.synthesis.chain import prepare_chain
from riskweighted.synthesis.distinct import Distinct
from riskweighted.synthesis.recoding import make_recipes
from riskweighted.synthesis.tables import Tables

N = 200


def tables():
    rng = np.random.default_rng(1)
    parts = [Distinct(rng.normal(size=(u, k)), rng.integers(0, u, N)) for u, k in ((3, 2), (7, 1), (N, 4))]
    return Tables(parts, N), np.hstack([part.rows[part.which] for part in parts])


def test_products_shifts_and_scales_are_those_of_the_matrix():
    held, matrix = tables()
    assert held.shape == matrix.shape
    assert len(held) == N
    np.testing.assert_array_equal(np.asarray(held), matrix)
    vector, square = np.arange(7.0), np.arange(21.0).reshape(7, 3)
    np.testing.assert_allclose(held @ vector, matrix @ vector, atol=1e-12)
    np.testing.assert_allclose(held @ square, matrix @ square, atol=1e-12)
    np.testing.assert_allclose(np.asarray((held - vector) / (1 + vector)), (matrix - vector) / (1 + vector), atol=1e-15)


def test_no_parts_make_no_columns():
    held = Tables((), 5)
    assert np.asarray(held).shape == held.shape == (5, 0)
    np.testing.assert_array_equal(held @ np.empty(0), np.zeros(5))


def frame():
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"g": rng.choice(list("abc"), N), "age": rng.integers(20, 60, N), "x": rng.normal(size=N)})
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
    """Rows of the block's model: by the frame of its columns, as a model without ``placed`` gets them, and by tables."""
    data = frame()
    chain = rw.load_synthesizer("sequential")(("edu", "smoke", "jobs"), predictors=("g", "age", "x"))
    prepared = prepare_chain(chain, data)
    encoded = {name: recipe.table(data[name]) for name, recipe in prepared.recipes.items()}
    rows, rng = np.flatnonzero(data["age"] > 30), np.random.default_rng(3)
    assert len(prepared.blocks) >= 4
    for block in prepared.blocks:
        own, synthesizer = block.model.prepared, block.model.synthesizer
        by_frame = own.at(prepared.columns_of(block, data, encoded, rows))
        by_table = own.placed(prepared.tables_of(block, encoded, rows))
        np.testing.assert_allclose(np.asarray(by_table.rows), by_frame.raw.columns, atol=1e-12)
        theta = {"coefficient": rng.normal(0, 0.3, len(synthesizer._prior(len(own.levels), own.rows.shape[1])[0]))}
        drawn = [synthesizer.draw(theta, held, np.random.default_rng(4)) for held in (by_frame, by_table)]
        np.testing.assert_array_equal(*drawn)
