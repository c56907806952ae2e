"""What a release of units gives away: copies are counted once a unit, and a unit is left out
whole.
"""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.disclosure.attribution_inputs import AttributionInputs, AttributionRequest
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.copy_checks import copy_tests
from riskweighted.disclosure.members import known_by_others, of_mass, told_of
from riskweighted.intruder.world import make_world
from riskweighted.sequence.prepare import prepare_sequence

UNITS = rw.Units(id="house", order=["line"], unit_level=["rent", "region"])
SCENARIO = rw.Scenario(known=["region"], synthetic=["rent", "income"], radius=0.2)


def households(units=110, seed=6):
    rng = np.random.default_rng(seed)
    size = rng.integers(2, 8, units)
    house = np.repeat(np.arange(units), size)
    line = np.concatenate([np.arange(count) for count in size])
    return pd.DataFrame(
        {
            "house": house,
            "line": line,
            "region": rng.choice(["n", "s"], units)[house],
            "rent": np.round(20 + 5 * rng.normal(size=units)[house], 1),
            "income": np.round(
                50 + 8 * rng.normal(size=units)[house] + rng.normal(size=len(house)), 1
            ),
        }
    )


@pytest.fixture(scope="module")
def fit():
    settings = {name: {"model": "linear-regression"} for name in SCENARIO.synthetic}
    chain = rw.load_synthesizer("sequential")(
        SCENARIO.synthetic, ["region"], settings, recoding="statuses", units=UNITS
    )
    return rw.fit(chain, households(), draws=100, tune=100, random_seed=1)


def looked_at(fit, frames=None):
    world = make_world(fit.confidential, SCENARIO, UNITS)
    places = fit.places(5, random_seed=1)
    frames = fit.synthesize(5, random_seed=1) if frames is None else frames
    return copy_tests(fit, world, frames, places, draws=30, random_seed=2)


def test_copies_of_what_is_of_the_unit_are_counted_once_a_unit(fit):
    found = looked_at(fit)
    assert found.broken == ()
    assert found.untold == {}
    table = found.table
    assert set(table["variable"]) == {"rent", "income"}


def test_values_of_units_that_are_copied_are_found(fit):
    data = fit.confidential
    frames = fit.synthesize(5, random_seed=1)
    some = data["house"] < 40
    kept = [frame.assign(rent=frame["rent"].where(~some, data["rent"])) for frame in frames]
    (broken,) = looked_at(fit, kept).broken
    assert "'rent'" in broken.text
    kept = [frame.assign(income=frame["income"].where(~some, data["income"])) for frame in frames]
    assert any("'income'" in each.text for each in looked_at(fit, kept).broken)


def test_a_fit_without_a_unit_has_no_part_of_it(fit):
    """Contributions of all blocks sum over the members, what is of the unit once."""
    theta = fit.thetas(0, 1)
    terms = sum(fit.contributions(theta, name) for name in fit.variables)
    gone = fit.confidential["house"] == 7
    rest = fit.confidential[~gone]
    again = prepare_sequence(fit.synthesizer, rest)
    held = fit.drawing.log_densities(fit.confidential[gone], elsewhere=True)(theta)
    assert sum(held.values()).sum() == pytest.approx(terms[gone.to_numpy()].sum(), abs=1e-9)
    assert [block.name for block in again.blocks] == [block.name for block in fit.prepared.blocks]
    kept = fit.prepared.arrangement.position[~gone.to_numpy()]
    assert again.arrangement.position.tolist() == kept.tolist()


def test_disclosure_is_shown_by_the_size_of_units_and_few_of_a_size_are_with_others():
    data = households()
    sizes = data["house"].map(data["house"].value_counts())
    some = (sizes != 6) | (data["house"] < 40)
    data, sizes = data[some].reset_index(drop=True), sizes[some].to_numpy()
    units = {size: int((sizes == size).sum() // size) for size in range(2, 8)}
    assert 0 < units[6] < 10 <= min(units[size] for size in (2, 3, 4, 5))
    world = make_world(data, SCENARIO, UNITS)
    groups = AttributionInputs(world, AttributionRequest(), np.random.default_rng(1)).everyone(
        Coding(world)
    )
    shown = {name: members for name, members in groups.items() if name.startswith("units of")}
    assert list(shown) == [f"units of {size}" for size in (2, 3, 4, 5)] + ["units of 6 to 7"]
    for size in (2, 3, 4, 5):
        assert (shown[f"units of {size}"] == (sizes == size)).all()
    assert (np.sum(list(shown.values()), axis=0) == 1).all()
    alike = make_world(data[sizes == 4].reset_index(drop=True), SCENARIO, UNITS)
    groups = AttributionInputs(alike, AttributionRequest(), np.random.default_rng(1)).everyone(
        Coding(alike)
    )
    assert not any(name.startswith("units of") for name in groups)


CLOSE = dataclasses.replace(SCENARIO, radius=0.02, inside=True)


def masses_by_integration(fit, record, thetas, known):
    """Of the ball of an income given the unit's other values, by densities of whole units; or given
    the earlier ones, by its own density; a unit for each value, one number a draw.
    """
    data = fit.confidential
    unit, truth = data[data["house"] == data.loc[record, "house"]], data.loc[record, "income"]
    grid, at = np.arange(truth - 12, truth + 12, 0.05), unit.index.get_loc(record)
    frame = pd.concat([unit.assign(house=number) for number in range(len(grid))])
    incomes = frame["income"].to_numpy().reshape(len(grid), len(unit)).copy()
    incomes[:, at] = grid
    frame = frame.assign(income=incomes.ravel()).reset_index(drop=True)
    densities = fit.drawing.log_densities(frame, elsewhere=True)
    near = np.abs(grid - truth) < 0.02 * abs(truth) + 0.05  # whole cells of a tenth
    for theta in thetas:
        told = densities(theta)
        each = told["income"] if known == "earlier" else sum(told.values())
        logs = each.reshape(incomes.shape)
        logs = logs[:, at] if known == "earlier" else logs.sum(axis=1)
        density = np.exp(logs - logs.max())
        yield density[near].sum() / density.sum()


@pytest.mark.parametrize("known", ["inside", "earlier"])
def test_a_value_is_predicted_given_all_others_of_the_unit_or_the_earlier_ones(fit, known):
    world = make_world(fit.confidential, CLOSE, UNITS)
    thetas, link = [fit.thetas(0, 1), fit.thetas(1, 2)] * 20, fit.prepared.links[1]
    records = np.array([3, 40, 41])
    weights = np.full((3, 40), 1 / 40)
    told = told_of(fit, world, link, known, records, thetas, weights, np.random.default_rng(1))
    exact = np.array([[*masses_by_integration(fit, i, thetas[:2], known)] for i in records])
    assert ((exact > 0.1) & (exact < 0.98)).all()
    assert told.mass[:, :2] == pytest.approx(exact, abs=0.03)
    assert (told.right[0] == told.right[1]).all()


def test_disclosure_to_a_member_is_what_the_prediction_gains_by_the_unit(fit):
    """Under weights that take all from the draws of the larger masses D is what these were above
    the mean, with its error, and failing records are bounded by their mass."""
    mass = np.array([[0.2, 0.4], [0.5, 0.5], [0.9, 0.7]])
    weights = np.array([[1.0, 0.0], [0.3, 0.7], [0.5, 0.5]])
    using, off, most, _ = of_mass(mass, weights, np.array([False, False, True]), 1.0)
    assert using == pytest.approx([0.3, 0.5, 0.8])
    assert off == pytest.approx([0.1, 0.0, 0.0])
    assert most == pytest.approx([0.0, 0.0, 0.8])
    world = make_world(fit.confidential, CLOSE, UNITS)
    rows = known_by_others(fit, world, None, "shuffled", np.random.default_rng(1))
    assert [(row["variables"], row["group"]) for row in rows] == [
        ("income", "inside"),  # the rent is known to all members
        ("income", "inside, best guess"),
    ]
    row = rows[0]
    assert 200 < row["records"] < len(fit.confidential)  # there is room for copies of these
    assert 0 < row["lower"] < row["D"] < 0.03 < row["out"]
    assert row["D"] < row["upper"] < row["D"] + 2 * row["se"] + row["bound"]


def test_densities_of_some_records_are_those_of_their_whole_units(fit):
    theta, whole = fit.thetas(0, 1), fit.drawing.log_densities(fit.confidential)
    drawing = fit.drawing.of_records(np.array([5, 5, 90]))
    frame, asked = drawing.rows
    some, later = (drawing.log_densities(frame, since=name)(theta) for name in (None, "income"))
    assert len(frame) > 3
    assert list(later) == ["income"]
    for name, values in whole(theta).items():
        assert some[name][asked] == pytest.approx(values[[5, 5, 90]], abs=1e-9)
    assert (later["income"] == some["income"]).all()
