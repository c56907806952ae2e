"""Totals of units: they hold in every dataset as in the data, and nothing else may tell them."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from houses import SETTINGS, households

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.intruder.world import make_world
from riskweighted.measures.unit_measures import of_totals
from riskweighted.release import leak_check
from riskweighted.runs.check_study import check_study
from riskweighted.runs.study import make_study
from riskweighted.sequence.prepare import prepare_sequence

TOTALS = {"ages": {"sum": "age"}, "grown": {"count": "age >= 18 and region == 'n'"}}
UNITS = rw.Units(id="house", role="relation", first="head", unit_level=["rent"], totals=TOTALS)


def with_totals(frame):
    grown = (frame["age"] >= 18) & (frame["region"] == "n")
    return frame.assign(
        ages=frame.groupby("house")["age"].transform("sum").round(1),
        grown=grown.groupby(frame["house"]).transform("sum"),
    )


@pytest.fixture(scope="module")
def data():
    return with_totals(households(120))


def chain(units=UNITS, **more):
    models = {name: {"model": "linear-regression"} for name in ("rent", "age")}
    return rw.load_synthesizer("sequential")(
        ("rent", "age"), ["region"], models, units=units, **more
    )


@pytest.fixture(scope="module")
def drawn(data):
    fit = rw.fit(chain(), data, draws=50, tune=50, random_seed=1)
    return fit, fit.synthesize(3, random_seed=2)


def test_totals_hold_in_every_dataset_and_are_like_the_data_s(data, drawn):
    for frame in drawn[1]:
        made = with_totals(frame)
        assert frame["ages"].to_numpy() == pytest.approx(made["ages"].to_numpy(), abs=1e-9)
        assert frame["grown"].tolist() == made["grown"].tolist()
        assert frame.dtypes.equals(data.dtypes)
        assert (frame["ages"] != data["ages"]).mean() > 0.9


def test_some_records_have_the_totals_of_their_units(drawn):
    fit = drawn[0]
    some = fit.drawing.of_records(np.array([3, 50, 3]))
    frame = some.released(fit.thetas(0, 0), np.random.default_rng(1))
    assert len(frame) == 3
    assert (frame["ages"] >= frame["age"] - 1e-9).all()


def test_their_spread_and_deciles_stand_beside_those_of_the_data(data, drawn):
    world = make_world(data, rw.Scenario(known=["region"], synthetic=["rent", "age"]), UNITS)
    contexts = {"a": drawn[1], "confidential": [data]}
    of = {
        (label, value.term): value.value
        for label, frames in contexts.items()
        for value in of_totals(SimpleNamespace(world=world, synthetic=frames))
        if value.variable == "ages"
    }
    once = data.drop_duplicates("house")["ages"]
    assert of["confidential", "standard deviation"] == pytest.approx(once.std())
    assert of["confidential", "0.3 quantile"] == pytest.approx(once.quantile(0.3))
    middles = [frame.drop_duplicates("house")["ages"].median() for frame in drawn[1]]
    assert of["a", "0.5 quantile"] == pytest.approx(np.mean(middles))


def test_a_total_leaves_and_the_check_of_a_pack_looks_at_it(data, drawn):
    units = {**SETTINGS["units"], "totals": TOTALS}
    study = make_study(SETTINGS | {"units": units})
    leaving = ["house", "relation", "age", "rent", "region", "ages", "grown"]
    assert study.released(data) == leaving
    assert study.altered == ("rent", "age", "ages", "grown")
    run = SimpleNamespace(study=study)
    rows = np.argsort(data["house"].to_numpy(), kind="stable")
    frame = drawn[1][0].iloc[rows].assign(house=np.repeat(range(1, 121), 1 + np.arange(120) % 4))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(leak_check, "rows_of", lambda run, data: rows)
        secrets = leak_check.Secrets(data[leaving], (), {}, None, run, {"a": [frame]})
        leak_check._check_units("a", secrets)
        wrong = frame.assign(grown=frame["grown"] + (frame["house"] == 7))
        with pytest.raises(InputError, match=r"1 units in which .grown = count of"):
            leak_check._check_units("a", dataclasses.replace(secrets, leaving={"a": [wrong]}))


@pytest.mark.parametrize(
    ("totals", "says"),
    [
        ({"ages": {"sum": "rent"}}, "does not hold in [0-9]+ of 120 units"),
        ({"ages": {"sum": "ages"}}, "a total itself"),
        ({"grown": {"count": "region == 'n'"}}, "names no synthesized variable"),
        ({"relation2": {"sum": "age"}}, "relation2"),
        ({"ages": {"sum": "nope"}}, "no synthesized"),
        ({"region": {"sum": "age"}}, "predicts or is in a rule"),
    ],
)
def test_totals_that_do_not_hold_or_play_another_part_are_refused(data, totals, says):
    with pytest.raises(InputError, match=says):
        prepare_sequence(chain(dataclasses.replace(UNITS, totals=totals)), data)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"release": {**SETTINGS["release"], "columns": ["ages"]}}, "units.totals has 'ages'"),
        ({"scenario": {**SETTINGS["scenario"], "known": ["ages"]}}, "units.totals has 'ages'"),
        (
            {"synthesizer": {**SETTINGS["synthesizer"], "predictors": ["ages"]}},
            "units.totals has 'ages'",
        ),
        ({"units": {"id": "house", "totals": {"ages": {"mean": "age"}}}}, "totals.ages must be"),
        ({"units": {"id": "house", "totals": {"house": {"sum": "age"}}}}, "'house' twice"),
    ],
)
def test_a_study_that_tells_a_total_is_refused(changed, says):
    units = {**SETTINGS["units"], "totals": TOTALS}
    with pytest.raises(InputError, match=says):
        make_study(SETTINGS | {"units": units} | changed)


def test_what_is_counted_must_leave(data):
    units = {**SETTINGS["units"], "totals": {"grown": {"count": "age >= 18 and region == 'n'"}}}
    settings = {"known": ["relation"], "synthetic": ["rent", "age"], "radius": 0.2}
    without = {"name": "sequential", "variables": SETTINGS["synthesizer"]["variables"]}
    study = make_study(SETTINGS | {"units": units, "scenario": settings, "synthesizer": without})
    with pytest.raises(InputError, match="'region', which is not released"):
        check_study(study, data)
