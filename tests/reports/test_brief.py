"""One verdict everywhere: terminal, page, table, machine and release say the same of every scheme,
whatever became of its run.
"""

import dataclasses
import html
import itertools
import re
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from finished_run import confidential_data, finished_run

from riskweighted.evaluation.judgement import MISFITS, MODEL
from riskweighted.evaluation.main_table import FIT_COLUMNS
from riskweighted.evaluation.measure_rows import as_row
from riskweighted.evaluation.verdicts import (
    FAIL,
    NOT_JUDGED,
    NOT_SHOWN,
    PASS,
    REFUSE,
    WARN,
    find_verdicts,
    overall,
)
from riskweighted.measures.disclosure_measures import HIDDEN
from riskweighted.measures.measure import Value
from riskweighted.measures.released import UNIQUES
from riskweighted.reports.brief import MOST_LABELS, brief
from riskweighted.reports.output_rules import INTERNAL, outside as seen_outside
from riskweighted.reports.render import render_report
from riskweighted.reports.verdict_sentences import sentences, verdict_records
from riskweighted.runs.advice import advise
from riskweighted.runs.evaluation_tables import summary_table
from riskweighted.runs.finished import load_run
from riskweighted.runs.refusals import Accepted, outlook, refusal

pytestmark = pytest.mark.usefixtures("no_figures")
OUTSIDE = seen_outside(120)
_KEPT = {"expected-mean-risk": 0.9}
_BROKEN = {"expected-mean-risk": 0.0001}
_UNMEASURED = {"dcap-zero": 0.5}
_DISCLOSED = (
    *itertools.product(("pass",), ({}, _KEPT, _BROKEN, _UNMEASURED)),
    *itertools.product(("warn", "refuse", "not judged", "not shown"), ({}, _BROKEN)),
)
STATES = [
    (converged, fits, *disclosed)  # the model; None: no fit is unweighted, as of a survey
    for converged, fits, disclosed in itertools.product(
        ("yes", "NO"), ("yes", "NO", None), _DISCLOSED
    )
]
PAGES = [("yes", "yes", word, {}) for word in ("pass", "warn", "refuse", "not judged", "not shown")]
PAGES += [("yes", None, "pass", _KEPT), ("NO", "NO", "refuse", _BROKEN)]


@cache
def finished():
    return load_run(finished_run())


def run_in(converged, fits, disclosed, limits):
    """A finished run of which all that is judged came out as said, its second scheme always well
    but for the model.
    """
    run = finished()
    tables = {name: table.copy() for name, table in run.tables.items()}
    tables["summary"] = tables["summary"].assign(
        converged=[np.nan, converged, "yes"], **{"model fits": [np.nan, fits, np.nan]}
    )
    checks = tables["fit_check"]
    if fits is None:
        tables["fit_check"] = checks[checks["verdict"] == "cost"]
    elif fits == "NO":
        tables["fit_check"] = checks.assign(
            verdict=checks["verdict"].mask(
                (checks["check"] == MODEL) | (checks.index == 1), MISFITS
            )
        )
    words = tables["disclosure_verdicts"].astype(object)
    why = "" if disclosed == "pass" else "for a test"
    inside = {"reasons": [why and f"{why}, D is 0.007", ""], "accepted": "", "outside": [why, ""]}
    tables["disclosure_verdicts"] = words.assign(verdict=[disclosed, "pass"], **inside)
    settings = {**run.manifest["settings"], "thresholds": limits}
    return dataclasses.replace(run, manifest={**run.manifest, "settings": settings}, tables=tables)


def diverged():
    """The same run of which 3 draws of a fit diverged, and the word of that in its main table."""
    run = run_in("yes", "yes", "pass", {})
    convergence = run.tables["convergence"]
    convergence = convergence.assign(
        divergences=np.where(convergence["label"] == "unweighted", 3, 0)
    )
    summary = run.tables["summary"].set_index("label")
    made = SimpleNamespace(
        summary=lambda: summary.drop(columns=[column.name for column in FIT_COLUMNS])
    )
    fits = {str(label): rows for label, rows in convergence.groupby("label", sort=False)}
    table = summary_table(
        made, fits, summary["mean weight"].dropna().to_dict(), run.tables["fit_check"]
    ).reset_index()
    return dataclasses.replace(
        run, tables={**run.tables, "convergence": convergence, "summary": table}
    )


@pytest.mark.slow
def test_a_few_divergences_are_a_warning_with_its_reason_in_every_output():
    run = diverged()
    assert [overall(run.verdicts, label) for label in ("unweighted", "pairwise")] == [WARN, PASS]
    lines = list(brief(run))
    assert any(line.startswith("unweighted") and "divergences" in line for line in lines)
    (record,) = verdict_records(run.verdicts, ["unweighted"], OUTSIDE)
    assert record["verdict"] == WARN
    for text in (
        record["reason"],
        *(render_report(run, internal=internal) for internal in (False, True)),
    ):
        assert "3 divergences" in text
    advised = [
        each
        for each in advise(run.study, confidential_data(), run.verdicts, run.tables)
        if "unweighted" in each.reason
    ]
    assert any("3 divergences" in each.reason and each.change is not None for each in advised)
    assert not any("did not converge" in each.reason for each in advised)


def expected(converged, fits, disclosed, limits):
    measured = not limits or "expected-mean-risk" in limits
    if disclosed == "refuse":
        return REFUSE
    if converged == "NO" or fits == "NO" or limits.get("expected-mean-risk", 1) < 0.001:
        return FAIL
    return disclosed if fits == "yes" and measured else NOT_JUDGED


@pytest.mark.parametrize("state", STATES, ids=str)
def test_every_output_has_the_same_verdict_and_none_is_vacuous(state):
    run = run_in(*state)
    word = expected(*state)
    assert overall(run.verdicts, "unweighted") == word
    lines = list(brief(run))
    assert lines[0].split("  ")[0] == "unweighted"
    assert re.split("  +", lines[0])[1] == word
    (sentence,) = (
        line
        for line in sentences(run.verdicts, run.study.thresholds, INTERNAL)
        if line.startswith("unweighted: ")
    )
    assert sentence.startswith(f"unweighted: {word}: ")
    (record,) = verdict_records(run.verdicts, ["unweighted"], INTERNAL)
    assert record["verdict"] == word
    assert f"unweighted: {word}" in run._repr_html_()
    for text in (sentence, record["reason"]):
        assert ("for a test, D is 0.007" in text) == (state[2] != "pass")
    if word in (REFUSE, NOT_SHOWN, WARN):  # what is worst stands on the one line
        assert "for a test, D is 0.007" in lines[0]
        assert "for a test, D is 0.007" in run._repr_html_()
    (outside,) = verdict_records(run.verdicts, ["unweighted"], OUTSIDE)
    assert outside["verdict"] == word
    assert ("for a test" in outside["reason"]) == (state[2] != "pass")
    assert "0.007" not in outside["reason"]
    told = f"{sentence} {lines[0]}"
    assert ("misfits" in told or "does not suit" in told) == (state[1] == "NO")
    assert ("no convergence" in told or "did not converge" in told) == (state[0] == "NO")
    taken = word in (PASS, WARN)
    for line in (line for line in lines if line.startswith("Why: ")):
        # what a scheme's own line says is not said again
        assert line.removeprefix("Why: unweighted: ") not in lines[0]
    (following,) = (line for line in lines if line.startswith("Next: "))
    assert outlook(run).scheme == (
        "pairwise" if overall(run.verdicts, "pairwise") == PASS else "unweighted" if taken else None
    )
    assert following.startswith(
        "Next: riskweighted release" if outlook(run).scheme else "Next: riskweighted advise"
    )
    assert (refusal(run, None, ["unweighted"]) is None) == taken
    if not taken:
        accepted = refusal(run, None, ["unweighted"], Accepted(fail="a reason"))
        assert (accepted is None) == (state[0] == "yes" and state[2] in ("pass", "warn"))


@pytest.mark.slow
@pytest.mark.parametrize("state", PAGES, ids=str)
def test_both_pages_have_that_verdict_too(state):
    run = run_in(*state)
    for internal in (False, True):
        page = render_report(run, internal=internal)
        (section,) = re.findall(r'<section aria-labelledby="answer".*?</section>', page, re.S)
        text = html.unescape(" ".join(re.sub("<[^>]*>", " ", section).split()))
        assert re.search(rf"\bunweighted {expected(*state).capitalize()}\b", text)
        assert ("The model is not judged" in text) == (state[1] is None)


@pytest.mark.slow
def test_the_checks_are_as_many_in_the_answer_as_over_their_table():
    for internal in (False, True):
        page = html.unescape(render_report(finished(), internal=internal))
        (said,) = set(re.findall(r"in (?:all|\d+ of) (\d+) checks", page))
        assert set(re.findall(r"(?:All|\d+ checks of) (\d+)(?: checks|,)", page)) == {said}


def of_schemes(run, schemes, verdicts):
    """The run with other schemes, of which only the verdicts are known."""
    settings = {
        **run.manifest["settings"],
        "weights": {**run.manifest["settings"]["weights"], "schemes": schemes},
    }
    other = dataclasses.replace(run, manifest={**run.manifest, "settings": settings})
    other.__dict__["verdicts"] = verdicts
    return other


def test_thirty_schemes_take_eight_lines_with_that_of_the_folder():
    run = run_in("NO", "NO", "refuse", {"expected-mean-risk": 0.0001})
    many = [f"mix+(t={place / 100})" for place in range(30)]
    verdicts = [
        each._replace(label=name)
        for name in many
        for each in run.verdicts
        if each.label == "unweighted"
    ]
    lines = list(brief(of_schemes(run, many, verdicts)))
    assert len(lines) == MOST_LABELS + 2 == 6
    assert lines[MOST_LABELS] == "26 more: 26 refuse"


def test_reasons_of_disclosure_stand_first():
    run = run_in("NO", "NO", "refuse", {"expected-mean-risk": 0.0001})
    first, *others = brief(of_schemes(run, ["unweighted"], run.verdicts))
    assert re.fullmatch(
        r"unweighted +refuse +for a test, D is 0\.007 \(and \d more: converged, model fits, .+\)",
        first,
    )
    assert not any("for a test" in line for line in others)


def test_a_reason_of_any_length_is_a_whole_sentence():
    run, why = run_in("yes", "yes", "refuse", {}), f"mean D is {'very ' * 60}much above 0.02"
    words = run.tables["disclosure_verdicts"]
    run = run.with_tables(run.tables | {"disclosure_verdicts": words.assign(reasons=[why, ""])})
    assert why in next(brief(run))


def test_what_a_release_refuses_of_the_whole_run_is_said_first():
    run = run_in("yes", "yes", "pass", {})
    alone = run.tables["risk"].assign(
        value=run.tables["risk"]["value"].mask(run.tables["risk"]["key"] == UNIQUES.key, 0.4)
    )
    run = run.with_tables(run.tables | {"risk": alone})
    first, *_, following = brief(run)
    assert first.startswith("A release is refused: 40.0 % of the records are alone")
    assert following.startswith("Next: riskweighted advise")
    assert refusal(run, None, run.schemes, Accepted(uniques=True)) is None
    assert "A release is refused: 40.0 %" in html.unescape(render_report(run))


def test_a_predictor_that_is_told_refuses_its_scheme_until_it_is_declared():
    run = run_in("yes", "yes", "pass", {})
    told = pd.DataFrame([as_row("unweighted", Value(HIDDEN, 0.22, term="age"))])
    tables = run.tables | {
        "risk": pd.concat(
            [run.tables["risk"], told.reindex(columns=list(run.tables["risk"]))], ignore_index=True
        )
    }
    verdicts = find_verdicts(run.study.thresholds, tables)
    assert (overall(verdicts, "unweighted"), overall(verdicts, "pairwise")) == (REFUSE, PASS)
    assert (
        overall(find_verdicts(run.study.thresholds, tables, {"age": "a reason"}), "unweighted")
        == PASS
    )
    hidden = dataclasses.replace(run, tables=tables)
    assert "disclose 'age', which is not released, of 22.0 %" in " ".join(brief(hidden))
    assert next(brief(hidden)).startswith("unweighted  refuse ")
    assert "'age'" in refusal(hidden, None, ["unweighted"])
    assert refusal(hidden, None, ["pairwise"]) is None
    (outside,) = verdict_records(hidden.verdicts, ["unweighted"], OUTSIDE)
    assert "22" not in outside["reason"]


@pytest.mark.parametrize("disclosed", ["warn", "refuse", "not judged", "not shown", "pass"])
def test_advice_says_the_word_or_nothing(disclosed):
    run = run_in("yes", "yes", disclosed, {})
    told = [
        each.reason for each in advise(run.study, confidential_data(), run.verdicts, run.tables)
    ]
    assert any("for a test" in reason for reason in told) == (disclosed != "pass")
    assert any("warn" in reason for reason in told) == (disclosed == "warn")
