"""What a release of units gives away: copies are counted once a unit, and a unit is left out
whole.
"""

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.copying import copy_tests
from riskweighted.disclosure.setting import Asked, Setting
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
    groups = Setting(world, Asked(), np.random.default_rng(1)).everyone(Coding(world))
    shown = {name: members for name, members in groups.items() if name.startswith("units of")}
    assert list(shown) == [f"units of {size}" for size in (2, 3, 4, 5)] + ["units of 6 to 7"]
    for size in (2, 3, 4, 5):
        assert (shown[f"units of {size}"] == (sizes == size)).all()
    assert (np.sum(list(shown.values()), axis=0) == 1).all()
    alike = make_world(data[sizes == 4].reset_index(drop=True), SCENARIO, UNITS)
    groups = Setting(alike, Asked(), np.random.default_rng(1)).everyone(Coding(alike))
    assert not any(name.startswith("units of") for name in groups)
