"""A study that says nothing of bounds has those that are found in its data; it may say that there
are none, or give public ones.
"""

import numpy as np
import pandas as pd
import pytest

from riskweighted.common.errors import InputError
from riskweighted.runs.check_study import check_study
from riskweighted.runs.found_bounds import (
    add_found_bounds,
    found_bounds_remarks,
    refuse_heaps_of_few,
)
from riskweighted.runs.study import make_study
from riskweighted.runs.work import Work
from riskweighted.suggest.default_bounds import default_bounds

N = 300


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    earns = np.where(rng.random(N) < 0.2, 0, np.exp(rng.normal(6, 0.7, N))).round(1)
    columns = {
        "age": rng.integers(20, 70, N),
        "earns": np.where(rng.random(N) < 0.1, -8.0, earns),
        "rooms": rng.integers(1, 6, N),
    }
    return pd.DataFrame(columns | {"econ": rng.choice(["a", "b", "c"], N)})


def study(name="sequential", synthetic=("earns", "rooms", "econ"), release=None, **settings):
    table = (
        {"predictors": ["age"]} if name == "sequential" else {"formula": f"{synthetic[0]} ~ age"}
    )
    return make_study(
        {
            "data": {"path": "x.csv"},
            "scenario": {"known": ["age"], "synthetic": list(synthetic), "min_radius": 1.0},
            "synthesizer": {"name": name, **table, **settings},
            "release": release or {"L": 2},
            "weights": {"schemes": ["unweighted"]},
        }
    )


@pytest.mark.quick
def test_amounts_alone_have_bounds_and_codes_are_none_of_them(data):
    coded = {"variables": {"earns": {"codes": [-8]}}}
    tables = add_found_bounds(study(**coded), data).synthesizer.settings["variables"]
    found = default_bounds(data["earns"][data["earns"] >= 0].to_numpy())
    # not rooms, a count, nor econ, levels
    assert tables == {"earns": {"codes": [-8], "support": list(found.support)}}
    assert Work.of(study(**coded), data).study.synthesizer.settings["variables"] == tables
    assert (
        "earns" in found_bounds_remarks(study(**coded), add_found_bounds(study(**coded), data))[0]
    )


@pytest.mark.quick
@pytest.mark.parametrize("support", ["none", [-10, 1e6], [-10, 1e6, "found"]])
def test_what_a_study_says_of_bounds_stands(data, support):
    for written in (
        study(variables={"earns": {"support": support}, "rooms": {"support": "none"}}),
        study("two-part", ("earns",), support=support),
    ):
        used = add_found_bounds(written, data)
        assert used.synthesizer == written.synthesizer
        assert found_bounds_remarks(written, used) == []
    prepared = Work.of(study("two-part", ("earns",), support=support), data).prepared()
    assert np.isinf(prepared.blocks[0].model.prepared.bounds.high) == (support == "none")


@pytest.mark.quick
def test_a_single_model_has_them_and_a_guarantee_and_a_model_to_be_chosen_not(data):
    written = study("two-part", ("earns",))
    assert add_found_bounds(written, data).synthesizer.settings["support"][2] == "found"
    assert add_found_bounds(study("multinomial", ("econ",)), data).synthesizer.settings == {}
    assert add_found_bounds(study("auto", ("earns",)), data).synthesizer.settings == {}
    with pytest.raises(InputError, match="support must be two numbers"):
        study("two-part", ("earns",), support="all")
    guaranteed = make_study(
        {
            "data": {"path": "x.csv"},
            "scenario": {"known": ["age"], "synthetic": "earns"},
            "synthesizer": {"name": "linear-regression", "formula": "earns ~ age"},
            "weights": {"schemes": ["unweighted"]},
            "release": {"L": 2},
            "guarantee": {"epsilon": 2.0},
        }
    )
    assert add_found_bounds(guaranteed, data) is guaranteed


@pytest.mark.quick
def test_bounds_are_those_of_units_where_a_study_names_some(data):
    large = data.assign(
        firm=np.arange(N) % 60, earns=data["earns"].where(np.arange(N) % 60 != 7, 9e6)
    )
    own = {"variables": {"earns": {"codes": [-8]}}}
    written = study(**own)
    of_firms = study(**own, release={"L": 2, "unit": "firm"})
    high = [
        add_found_bounds(each, large).synthesizer.settings["variables"]["earns"]["support"][1]
        for each in (written, of_firms)
    ]
    assert high[0] > 9e6
    assert high[1] < 1e5


@pytest.mark.quick
@pytest.mark.parametrize("chained", [True, False])
def test_heaps_marked_found_are_held_by_ten_units_and_others_are_public(data, chained):
    one = data.assign(firm=np.arange(N) % 60, earns=np.where(data["earns"] < 0, 5.1, data["earns"]))
    of_firm, of_many = one["firm"].isin([3, 4, 5, 6]), one["firm"].isin(range(20, 32))
    one.loc[of_firm, "earns"], one.loc[of_many, "earns"] = 1234.5, 987.6

    def written(heaps, **more):
        setting = {"value_settings": [["heaps", heaps]]}
        return (
            study(variables={"earns": setting}, **more)
            if chained
            else study("two-part", ("earns",), **setting, **more)
        )

    check_study(written([1234.5, 987.6, "found"]), one)
    unit = {"release": {"L": 2, "unit": "firm"}}
    refuse_heaps_of_few(written([1234.5, 987.6], **unit), one)
    refuse_heaps_of_few(written([987.6, "found"], **unit), one)
    with pytest.raises(
        InputError,
        match="heaps of 'earns': 1 of 2 marked 'found' are held by fewer than 10 units of 'firm'",
    ) as refused:
        check_study(written([1234.5, 987.6, "found"], **unit), one)
    assert "1234" not in str(refused.value)
    with pytest.raises(InputError, match="held by fewer than 10 records"):
        check_study(written([1234.5, 4321.5, "found"]), one)
