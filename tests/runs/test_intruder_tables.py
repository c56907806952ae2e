"""Several intruders of one study: what each knows, whose risk makes the weights, and what cannot be
said of several.
"""

import copy
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.common.progress import Quiet
from riskweighted.common.settings import as_toml, to_table
from riskweighted.evaluation.verdicts import WORDS, overall, verdicts_of_intruder
from riskweighted.release.record import record_schema
from riskweighted.reports.intruder_section import intruder_table
from riskweighted.reports.output_rules import INTERNAL
from riskweighted.runs.again import refuse_what_is_not_made
from riskweighted.runs.examples import data
from riskweighted.runs.stages import Stages
from riskweighted.runs.study import load_study, make_study
from riskweighted.runs.tuned_scheme import tune_study
from riskweighted.runs.work import Work
from riskweighted.tuning.tuning_settings import TuningSettings
from tests.release.test_record import broken

INTRUDERS = [
    {"name": "neighbour", "known": ["region"], "radius": 0.3},
    {"name": "employer", "known": ["smokes"], "radius": 0.25},
    {"name": "together", "union": True},
]
SETTINGS = {
    "data": {"path": "households.csv"},
    "scenario": {"synthetic": "income"},
    "intruders": INTRUDERS,
    "synthesizer": {
        "name": "linear-regression",
        "formula": "income ~ region + age",
        "transform": "log",
        "support": "none",
    },
    "weights": {"schemes": ["unweighted", "marginal"]},
    "sampling": {"chains": 2, "draws": 60, "tune": 100},
    "release": {"L": 3},
    "evaluation": {"resamples": 50},
    "reproducible": True,
}
SCENARIOS = [
    rw.Scenario(known="region", synthetic="income", radius=0.3),
    rw.Scenario(known="smokes", synthetic="income", radius=0.25),
    rw.Scenario(known=["region", "smokes"], synthetic="income"),
]


def settings(**sections):
    table = copy.deepcopy(SETTINGS)
    for name, value in sections.items():
        table[name] = {**table.get(name, {}), **value} if isinstance(value, dict) else value
    return table


def test_a_study_of_several_intruders_is_read_and_written_alike(tmp_path):
    study = make_study(settings(weights={"intruder": "worst"}))
    assert study.scenario.known == ("region", "smokes")
    assert [study.judged_by(each.name).evaluating_scenario() for each in study.intruders] == (
        SCENARIOS
    )
    assert list(study.weighting_scenarios()) == SCENARIOS
    data.to_csv(tmp_path / "households.csv", index=False)
    (tmp_path / "study.toml").write_text(as_toml(to_table(study)))
    again = load_study(tmp_path / "study.toml")
    assert again.intruders == study.intruders
    assert again.scenario == study.scenario
    assert replace(again, seed=3).weighting_scenarios() == study.weighting_scenarios()


@pytest.mark.parametrize("scheme", ["marginal", "pairwise", "mix(t=0.5)"])
def test_the_worst_weight_is_the_smallest_over_intruders(scheme):
    each = [rw.match_weights(data, one, scheme)["income"] for one in SCENARIOS]
    assert (np.ptp(np.array(each), axis=0) > 0.01).any()
    worst = rw.match_weights(data, SCENARIOS, scheme)["income"]
    assert worst.to_numpy() == pytest.approx(np.min(each, axis=0), abs=1e-15)
    study = make_study(settings(weights={"intruder": "worst", "schemes": ["unweighted", scheme]}))
    assert Work.of(study, data).weights(scheme)["income"].equals(worst)
    named = make_study(
        settings(weights={"intruder": "employer", "schemes": ["unweighted", scheme]})
    )
    assert Work.of(named, data).weights(scheme)["income"].equals(each[1])


def test_what_is_taken_off_is_the_expectation_of_the_minimum_and_no_minimum_of_expectations():
    rows, values = np.arange(len(data)), pd.Series(np.linspace(5_000, 120_000, 200))
    each = [
        rw.centred_weights("mix+(t=0.9)", data, one).functions["income"].at(rows, values)
        for one in SCENARIOS
    ]
    worst = rw.centred_weights("mix+(t=0.9)", data, SCENARIOS)
    made = worst.functions["income"].at(rows, values)
    assert np.array_equal(made, np.min(each, axis=0))
    expected, of_expectations = made.mean(axis=1), np.min([one.mean(axis=1) for one in each], 0)
    assert (expected < of_expectations - 0.001).any()
    own = worst.functions["income"]
    at_own = [own.at(np.array([i]), data["income"].iloc[[i]])[0, 0] for i in range(20)]
    assert at_own == pytest.approx(worst.alpha["income"].iloc[:20].tolist(), abs=1e-12)


@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.RiskWeightedWarning")
def test_a_fit_takes_off_what_the_worst_weight_is_expected_to_be():
    rows, inside = np.arange(len(data)), {}
    for name in (*(each["name"] for each in INTRUDERS), "worst"):
        study = make_study(settings(weights={"intruder": name, "schemes": ["mix+(t=0.9)"]}))
        (block,) = Work.of(study, data).fit("mix+(t=0.9)").blocks.values()
        inside[name] = block.centring.inside(rows)
    smallest = np.min([inside[each["name"]] for each in INTRUDERS], axis=0)
    assert (inside["worst"] <= smallest + 1e-12).all()
    assert (inside["worst"] < smallest - 0.001).any()


BAD = {
    "of one name": (
        {"intruders": [INTRUDERS[0], INTRUDERS[0]]},
        "intruders names 'neighbour' more than once",
    ),
    "known is synthesized": (
        {"intruders": [INTRUDERS[0], {"name": "boss", "known": ["income"]}]},
        "intruder 'boss' knows 'income', which scenario.synthetic names",
    ),
    "unknown of the weights": (
        {"weights": {"intruder": "nobody"}},
        "weights.intruder names 'nobody'; valid are 'neighbour', 'employer', 'together', 'worst'",
    ),
    "known twice": (
        {"scenario": {"known": ["age"]}},
        "scenario.known names 'age', and [[intruders]] say what each knows",
    ),
    "no others": (
        {"intruders": [{"name": "together", "union": True}]},
        "union of 'together' is all that others know, and there are no others",
    ),
    "radius of all": (
        {"evaluation": {"radius": 0.1}},
        "leave out [[intruders]] or evaluation.radius",
    ),
    "a target": (
        {"weights": {"target": "expected-mean-risk", "target_max": 0.5}},
        "leave out [[intruders]] or weights.target",
    ),
    "a guarantee": (
        {
            "guarantee": {
                "epsilon": 2.0,
                "reference": {"distribution": "t", "parameters": {"df": 3.0}},
            },
            "weights": {"schemes": ["unweighted"]},
        },
        "leave out [[intruders]] or [guarantee]",
    ),
    "a sample": ({"data": {"fitted": 100}}, "leave out [[intruders]] or data.fitted"),
    "a radius of its own": (
        {"intruders": [{"name": "boss", "radius": 20}]},
        "intruder 'boss': radius of 'income' is relative and 20",
    ),
    "worst as a name": ({"intruders": [{"name": "worst"}]}, "got 'worst'"),
    "no list": ({"intruders": {"name": "boss"}}, "a list of tables"),
    "unknown setting": (
        {"intruders": [{"name": "boss", "knows": ["age"]}]},
        "unknown setting 'intruders.knows'",
    ),
}


@pytest.mark.parametrize("given", BAD.values(), ids=BAD)
def test_what_cannot_be_said_of_intruders_is_refused_in_one_line(given):
    changes, told = given
    table = settings()
    for name, value in changes.items():
        both = isinstance(value, dict) and name in table and isinstance(table[name], dict)
        table[name] = {**table[name], **value} if both else value
    with pytest.raises(InputError) as refused:
        make_study(table)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_weights_intruder_needs_intruders():
    table = settings(weights={"intruder": "worst"}, scenario={"known": ["region"]})
    del table["intruders"]
    with pytest.raises(InputError, match="the study has no"):
        make_study(table)


def test_an_intruder_who_judges_changes_the_world_and_one_of_the_weights_the_fit():
    study = make_study(settings())
    first, other = (Stages(study.judged_by(name), "d") for name in ("neighbour", "employer"))
    assert first.key("fit", "marginal") == other.key("fit", "marginal")
    assert first.key("drawn", "marginal") == other.key("drawn", "marginal")
    for stage in ("world", "expected", "disclosed", "evaluated", "paired"):
        assert first.key(stage, "marginal") != other.key(stage, "marginal")
    of_weights = {
        Stages(make_study(settings(weights={"intruder": name})), "d").key("weights", "marginal")
        for name in ("neighbour", "employer", "together", "worst")
    }
    assert len(of_weights) == 4


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Of weights that no scenario has a part in, so that a study of one intruder fits the same."""
    folder = tmp_path_factory.mktemp("several")
    data.to_csv(folder / "households.csv", index=False)
    return rw.run_study(made(folder, PUBLIC), folder / "run")


PUBLIC = {"schemes": ["unweighted", "uniform(c=0.5)"]}
ACCEPTED = ("mean", "isolated", "largest", "group", "not_shown", "not_judged", "copies")
LIMITS = {"expected-mean-risk": 0.2, "ecdf-maximum": 0.5}


def made(folder, weights, **sections):
    table = settings(weights=weights, thresholds=LIMITS, **sections)
    for name in [name for name, value in table.items() if value is None]:
        del table[name]
    return make_study(table, folder)


def alone(folder, place, weights):
    """The study whose scenario is that of one intruder, which releases what several know."""
    scenario = to_table(SCENARIOS[place])
    further = [name for name in ("region", "smokes") if name not in scenario["known"]]
    return made(
        folder, weights, intruders=None, scenario=scenario, release={"L": 3, "columns": further}
    )


@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.RiskWeightedWarning")
@pytest.mark.parametrize("place", range(3))
def test_what_each_intruder_sees_is_that_of_the_study_of_this_one_alone(run, tmp_path, place):
    name, folder = INTRUDERS[place]["name"], run.folder.parent
    single = rw.run_study(alone(folder, place, PUBLIC), tmp_path / "single")
    for table in ("risk", "disclosure"):
        mine = run.tables[f"intruder_{table}"].query("intruder == @name").drop(columns="intruder")
        other = single.tables[table]
        pd.testing.assert_frame_equal(
            mine.reset_index(drop=True),
            other,
            check_dtype=False,
            check_exact=False,
            rtol=0,
            atol=1e-12,
        )
    of_limits = {
        (each.label, each.statistic): (each.value, each.verdict)
        for each in verdicts_of_intruder(run.verdicts, name)
        if each.limit is not None
    }
    expected = {
        (each.label, each.statistic): (each.value, each.verdict)
        for each in single.verdicts
        if each.limit is not None
    }
    assert of_limits.keys() == expected.keys()
    for which, (value, word) in expected.items():
        assert of_limits[which] == (pytest.approx(value, abs=1e-12), word)


@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.RiskWeightedWarning")
def test_a_study_of_one_intruder_is_that_of_its_scenario(tmp_path):
    data.to_csv(tmp_path / "households.csv", index=False)
    weights = {"schemes": ["unweighted", "marginal", "mix+(t=0.5)"]}
    one = made(tmp_path, weights, intruders=INTRUDERS[:1])
    scenario = made(tmp_path, weights, intruders=None, scenario=to_table(SCENARIOS[0]))
    several, single = (
        rw.run_study(study, tmp_path / name) for study, name in ((one, "one"), (scenario, "other"))
    )
    for name in ("risk", "utility", "summary", "disclosure", "disclosure_verdicts", "verdicts"):
        pd.testing.assert_frame_equal(
            several.tables[name], single.tables[name], check_exact=False, rtol=0, atol=1e-12
        )
    for scheme in weights["schemes"]:
        for mine, other in zip(
            rw.load_run(several.folder).synthetic[scheme],
            rw.load_run(single.folder).synthetic[scheme],
            strict=True,
        ):
            pd.testing.assert_frame_equal(mine, other)
    assert {each.intruder for each in several.verdicts} == {""}


def test_a_scheme_passes_if_it_does_by_all_intruders(run):
    word = {
        name: overall(verdicts_of_intruder(run.verdicts, name), "unweighted")
        for name in (each["name"] for each in INTRUDERS)
    }
    assert overall(run.verdicts, "unweighted") == min(word.values(), key=WORDS.index)
    risks = run.tables["intruder_risk"].query(
        "label == 'unweighted' and key == 'expected-mean-risk'"
    )
    over = set(risks.loc[risks["value"] > 0.2, "intruder"])
    assert 0 < len(over) < 3
    fails = {
        each.intruder
        for each in run.verdicts
        if each.limit is not None and each.label == "unweighted" and each.verdict == "fail"
    }
    assert fails == over


def test_a_run_of_several_is_read_back_and_made_again(run):
    finished = rw.load_run(run.folder)
    assert [repr(each) for each in finished.verdicts] == [repr(each) for each in run.verdicts]
    refuse_what_is_not_made(finished, data, Quiet())
    table = finished.tables["intruder_risk"].copy()
    table.loc[len(table) - 1, "value"] += 0.01
    with pytest.raises(InputError, match=r"tables/intruder_risk.csv"):
        refuse_what_is_not_made(
            finished.with_tables({**finished.tables, "intruder_risk": table}), data, Quiet()
        )


def test_a_sweep_and_a_search_are_of_one_intruder(tmp_path):
    study = make_study(settings())
    with pytest.raises(InputError, match="a sweep is of one intruder"):
        rw.Sweep(study, {"release.L": [2, 3]})
    with pytest.raises(InputError, match="tuning is of one intruder"):
        tune_study(study, TuningSettings("isolated-risk", 0.5))


@pytest.mark.parametrize("internal", [True, False])
def test_the_first_screen_has_a_table_by_intruder(run, internal):
    finished = rw.load_run(run.folder)
    page = rw.render_report(finished, internal=internal, confidential=data)
    first = page[: page.index('<nav aria-label="Sections">')]
    table = first[first.index('id="by-intruder"') :]
    for each in INTRUDERS:
        assert table.count(f"<bdi>{each['name']}</bdi>") == len(PUBLIC["schemes"])
    shown = intruder_table(finished, INTERNAL, finished.schemes)
    risks = run.tables["intruder_risk"].query("key == 'expected-mean-risk'")
    for row in shown.to_dict("records"):
        value = risks[(risks["intruder"] == row["Intruder"]) & (risks["label"] == row["Scheme"])]
        assert float(row["Expected risk"].split(" ")[0]) == pytest.approx(
            value["value"].iloc[0], abs=0.0005
        )
        assert row["Verdict"] == overall(
            verdicts_of_intruder(run.verdicts, row["Intruder"]), row["Scheme"]
        )


def test_the_sign_off_sheet_and_the_record_say_who_is_protected_against(run, tmp_path):
    study = replace(
        run.study,
        reproducible=False,
        release=replace(
            run.study.release,
            disclosure=rw.DisclosureSettings(accept=dict.fromkeys(ACCEPTED, "an example")),
        ),
    )
    rw.run_study(study, tmp_path / "run", confidential=data)
    pack = rw.release_run(
        tmp_path / "run",
        tmp_path / "pack",
        schemes=["uniform(c=0.5)"],
        confidential=data,
        accept_fail="an example",
    )
    rw.check_release(pack.folder, tmp_path / "run", confidential=data)
    sheet = (pack.folder / "sign_off.md").read_text()
    rows = [line for line in sheet.splitlines() if line.startswith("| ")]
    for each in INTRUDERS:
        assert sum(line.startswith(f"| {each['name']} |") for line in rows) == 1
    methods = (pack.folder / "methods.md").read_text()
    for each in INTRUDERS:
        assert (
            sum(line.startswith(f"- {each['name']} knows ") for line in methods.splitlines()) == 1
        )
    assert "Holm, S" in methods
    record = json.loads((pack.folder / "disclosure_record.json").read_text())
    assert [each["name"] for each in record["intruders"]] == [each["name"] for each in INTRUDERS]
    assert record["scenario"]["known"] == ["region", "smokes"]
    assert broken(record, record_schema()) == []
    (scheme,) = record["verdicts"]
    named = {limit["intruder"] for limit in scheme["limits"] if "intruder" in limit}
    assert named <= {each["name"] for each in INTRUDERS}
