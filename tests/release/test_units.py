"""Units as they leave: their ids are new, they are whole, and no record of one stands in another.

Nothing is fitted: the datasets are the data with other numbers.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from houses import SETTINGS, households

from riskweighted.common.datasets import Datasets
from riskweighted.common.errors import InputError, UnitsWarning
from riskweighted.common.seeds import ENTROPY_BYTES, Streams
from riskweighted.common.settings import to_table
from riskweighted.evaluation.measure_rows import Statistic
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import make_world
from riskweighted.measures.released import UNIQUES, pattern_values
from riskweighted.plots.panel_plot import plot_waves
from riskweighted.release.contents import _in_units
from riskweighted.release.leak_check import Secrets, _check_units
from riskweighted.release.released_datasets import leaving_datasets, rows_of
from riskweighted.runs.advice import _units_alone
from riskweighted.runs.refusals import refusal
from riskweighted.runs.study import make_study


@pytest.fixture(scope="module")
def data():
    return households()


@pytest.fixture(scope="module")
def run(data):
    """What is asked of a run: two datasets in the rows of the data, and its secret order."""
    rng = np.random.default_rng(2)
    rent = dict(zip(range(7000, 7200), rng.normal(20, 4, 200).round(1), strict=True))
    frames = [
        data.assign(
            age=rng.normal(40, 9, len(data)).round(1), rent=data["house"].map(rent) + number
        )
        for number in (0, 1)
    ]
    return SimpleNamespace(
        study=make_study(SETTINGS),
        described=None,
        synthetic={"unweighted": Datasets.of(data, frames, ("rent", "age"))},
        streams=Streams(3, bytes(ENTROPY_BYTES)),
    )


@pytest.fixture(scope="module")
def leaving(run, data):
    return leaving_datasets(run, data, "unweighted")


def test_the_id_leaves_and_role_is_unaltered(run, data):
    assert run.study.unaltered(data) == ["relation", "region"]
    assert run.study.released(data) == ["house", "relation", "age", "rent", "region"]
    with pytest.raises(InputError, match="which is released with new numbers"):
        make_study(SETTINGS | {"scenario": SETTINGS["scenario"] | {"known": ["house"]}})


def test_units_leave_whole_with_new_numbers_and_their_first_member_first(run, leaving, data):
    held = data["house"].to_numpy()[rows_of(run, data)]
    for left in leaving:
        assert left["house"].drop_duplicates().tolist() == list(range(1, 61))
        assert (left["house"].diff().dropna() >= 0).all(), "those of a unit stand together"
        assert (~left["house"].duplicated() == (left["relation"] == "head")).all()
        assert (pd.factorize(held)[0] == left["house"] - 1).all()
        assert (left.groupby("house")["rent"].nunique() == 1).all()
    assert abs(np.corrcoef(pd.unique(held), np.arange(60))[0, 1]) < 0.4


def test_synthetic_values_move_with_their_units(run, leaving, data):
    for drawn, left in zip(run.synthetic["unweighted"], leaving, strict=True):
        before, after = (
            {frozenset(of) for _, of in frame["age"].groupby(unit.to_numpy())}
            for frame, unit in ((drawn, data["house"]), (left, left["house"]))
        )
        assert before == after
    ages = [leaving[0]["age"].tolist(), run.synthetic["unweighted"][0]["age"][rows_of(run, data)]]
    assert (np.array(ages[0]) != np.array(ages[1])).any(), "units change places besides"


def test_ids_of_the_data_units_in_parts_and_rents_that_differ_are_refused(run, leaving, data):
    secrets = Secrets(data, (), {}, None, run, {"unweighted": leaving})
    _check_units("unweighted", secrets)
    left, held = leaving[0], data["house"].to_numpy()[rows_of(run, data)]
    for wrong, says in (
        (left.assign(house=held), "60 of 60 ids that are those of the data"),
        (left.assign(house=np.roll(left["house"], 1)), "units that are not those of the data"),
        (left.assign(rent=left["age"]), "'rent', which is of the unit, differing"),
    ):
        with pytest.raises(InputError, match=says):
            _check_units("unweighted", replace(secrets, leaving={"unweighted": [wrong] * 2}))


def test_the_codebook_says_what_columns_are_to_the_units(run):
    units = run.study.units
    assert _in_units(units, "house").startswith("names the unit")
    assert "'head'" in _in_units(units, "relation")
    assert _in_units(units, "rent") == "the same for all of a unit"
    assert _in_units(units, "age") == "of each record"


def test_a_record_is_alone_where_its_unit_is_composed_as_no_other(run, data):
    known = ["relation", "region"]
    world = make_world(data, Scenario(known=known, synthetic=["age"]), run.study.units)
    alone = next(iter(pattern_values(world))).value
    kinds = data.groupby("house").apply(
        lambda of: tuple(sorted(zip(of["relation"], of["region"], strict=True))),
        include_groups=False,
    )
    single = kinds.map(kinds.value_counts()) == 1
    assert alone == data["house"].map(single).mean()
    odd = data.assign(region=data["region"].where(data["house"] != data["house"][0], "x"))
    world = make_world(odd, Scenario(known=known, synthetic=["age"]), run.study.units)
    assert next(iter(pattern_values(world))).value > alone


def test_units_alone_are_told_how_they_become_fewer(data):
    study = make_study(SETTINGS | {"release": {"L": 2, "unique_share": 0.01}})
    odd = data.assign(region=data["region"].where(data["house"] != data["house"][0], "x"))
    (advice,) = _units_alone(study, odd)
    assert advice.change is None
    assert "{ relation = { other = [...] }, most_members = 6 }" in advice.what
    assert "4 members or more have 10 units" in advice.what
    size = (odd["house"] == data["house"][0]).sum()
    assert advice.reason.startswith(f"{100 * size / len(odd):.1f} % of the records")
    risk = pd.DataFrame({"label": ["confidential"], "key": UNIQUES.key, "value": 0.2})
    told = Statistic(UNIQUES.key).label
    risk = risk.assign(measure=told, variable=None, parameter=None, term=None)
    why = refusal(SimpleNamespace(study=study, tables={"risk": risk}, verdicts=()), None, [])
    assert "20.0 % of the records are of units with a unique composition" in why
    assert "[units] coarsen" in why
    whole = {"release": {"L": 2, "unique_share": 0.5}}
    assert list(_units_alone(make_study(SETTINGS | whole), odd)) == []


def test_a_study_reads_its_data_coarsened(tmp_path, data):
    of_house = data[["house", "rent", "region"]].drop_duplicates("house")
    of_house.to_csv(tmp_path / "houses.csv", index=False)
    data.drop(columns=["rent", "region"]).to_csv(tmp_path / "data.csv", index=False)
    merged = {"relation": {"other": ["spouse", "child"]}, "most_members": 3}
    units = {**SETTINGS["units"], "coarsen": merged}
    study = make_study(SETTINGS | {"units": units}, tmp_path)
    with pytest.warns(UnitsWarning, match="15 members beyond the first 3 of 15 units"):
        read = study.read_data()
    assert len(read) == len(data) - 15
    assert set(read["relation"]) == {"head", "other"}
    assert to_table(study)["units"]["coarsen"] == {
        "relation": {"other": ["spouse", "child"]},
        "most_members": 3,
    }


def test_a_figure_of_waves_draws_a_line_for_each_label():
    lags = [("confidential", 0.9, 1), ("confidential", 0.8, 3), ("a", 0.7, 1), ("a", 0.5, 3)]
    utility = pd.DataFrame(lags, columns=["label", "value", "lag"])
    utility = utility.assign(
        key="unit-waves", variable="wage", term="lag " + utility["lag"].astype(str)
    )
    first, second = plot_waves(utility, "wage").get_lines()
    assert first.get_xydata().tolist() == [[1, 0.9], [3, 0.8]]
    assert second.get_xydata().tolist() == [[1, 0.7], [3, 0.5]]
    with pytest.raises(InputError, match="has no autocorrelation of 'age'"):
        plot_waves(utility, "age")
