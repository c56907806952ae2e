"""What is marked as found in the data keeps its mark in a study, and its number leaves with
nothing.
"""

import json

import numpy as np
import pandas as pd
import pytest
from finished_run import finished_run

from riskweighted.common.errors import InputError
from riskweighted.common.found import NOT_SHOWN, hide_found, is_found
from riskweighted.common.settings import as_toml, from_table, to_table
from riskweighted.evaluation.judgement import MISFITS, worst_misfits
from riskweighted.intruder.scenario import Scenario
from riskweighted.release.leak_text import make_text_secrets, problems_in_text
from riskweighted.release.pack import release_run
from riskweighted.release.record import disclosure_record
from riskweighted.runs.finished import load_run
from riskweighted.sequence.declared import stated_codes

MARKED = {
    "synthetic": ["income", "age"],
    "radius": {"income": 0.2, "age": [3, "found"]},
    "radius_kind": {"age": "absolute"},
}
MARKED |= {"min_radius": [4321.5, "found"], "codes": {"income": [-8765, -9, "found"], "age": [-1]}}


@pytest.mark.quick
def test_a_mark_is_kept_and_changes_no_number():
    scenario = from_table(Scenario, MARKED)
    assert (scenario.min_radius, scenario.radius_of("age"), scenario.codes_of("income")) == (
        4321.5,
        3,
        (-8765, -9),
    )
    assert is_found(scenario.codes_of("income"))
    assert not is_found(scenario.codes_of("age"))
    table = to_table(scenario)
    assert table["min_radius"] == [4321.5, "found"]
    assert table["codes"] == {"income": [-8765, -9, "found"], "age": [-1]}
    assert to_table(from_table(Scenario, table)) == table
    assert '[4321.5, "found"]' in as_toml(table)
    assert is_found(stated_codes("income", {"codes": [-8, "found"]}))
    hidden = json.dumps(hide_found(table))
    assert not any(number in hidden for number in ("4321", "8765", "3.0"))
    assert hidden.count(NOT_SHOWN) == 3


@pytest.mark.quick
@pytest.mark.parametrize(
    "value", [["found"], [1, 2, "found"], [True, "found"], ["found", 1], [1, "lost"]]
)
def test_a_mark_of_another_form_is_refused(value):
    with pytest.raises(InputError, match="min_radius"):
        Scenario(synthetic="income", min_radius=value)


@pytest.mark.quick
@pytest.mark.parametrize(
    "text",
    [
        '"support": [\n 0,\n 5e4,\n "found"\n]',
        "min_radius = [500, &quot;found&quot;]",
        "codes [-8, 'found']",
    ],
)
def test_a_text_that_holds_what_was_found_is_refused(text):
    secrets = make_text_secrets({"income": np.array([1.5])}, {}, np.empty(0), np.empty(0))
    assert problems_in_text(text, secrets) == ["a setting that was found in the data"]
    assert problems_in_text("bounds found in the data, not shown [1]", secrets) == []


def test_no_file_of_a_pack_holds_a_found_number(tmp_path, monkeypatch):
    run = load_run(finished_run())
    settings = run.manifest["settings"]
    monkeypatch.setitem(settings["scenario"], "min_radius", [4321.5, "found"])
    monkeypatch.setitem(settings["synthesizer"], "support", [-76543, 987654, "found"])
    record = disclosure_record(run, ["pairwise"], "hash")
    assert record["scenario"]["min_radius"] == NOT_SHOWN
    pack = release_run(run, tmp_path / "pack", schemes=["pairwise"], formats=["csv"]).folder
    told = "".join(
        path.read_text()
        for path in pack.rglob("*")
        if path.suffix in (".json", ".md", ".html", ".py", ".txt", ".R")
    )
    assert NOT_SHOWN in told
    assert not any(number in told for number in ("4321.5", "76543", "987654"))


@pytest.mark.quick
def test_the_worst_misfit_names_no_value_and_no_level():
    row = {
        "variable": "pay",
        "effect": 1.0,
        "threshold": 0.1,
        "confidential": 0.081,
        "synthetic": 0.02,
        "verdict": MISFITS,
    }
    told = [
        {"check": "check-share", "parameter": "exactly 99.48431564", "where": ""},
        {"check": "check-share", "parameter": "level nun", "where": ""},
    ]
    told.append({"check": "check-pair", "parameter": "pay and rank", "where": "rank=nun"})
    lines = worst_misfits(pd.DataFrame([{**row, **each} for each in told]), 3)
    assert lines[0] == "pay, share: 0.081 in the data, 0.020 synthetic"
    assert not any(word in line for line in lines for word in ("99.48", "nun"))
