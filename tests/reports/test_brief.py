"""One verdict everywhere: terminal, page, table, machine and release say the same of every scheme, whatever became of its run."""

import dataclasses
import html
import itertools
import re
from functools import cache

import numpy as np
import pytest
from finished_run import finished_run

from riskweighted.common.errors import InputError
from riskweighted.evaluation.judgement import MISFITS, MODEL
from riskweighted.evaluation.verdicts import FAIL, NOT_JUDGED, PASS, overall
from riskweighted.release.contents import refuse_failing
from riskweighted.reports.brief import MOST_LABELS, brief
from riskweighted.reports.disclosure import INTERNAL
from riskweighted.reports.render import render_report
from riskweighted.reports.verdicts import sentences, verdict_records
from riskweighted.runs.finished import load_run

pytestmark = pytest.mark.usefixtures("no_pictures")
STATES = list(
    itertools.product(
        ("yes", "NO"),  # converged
        ("yes", "NO", None),  # the model; None: no fit is unweighted, as of a survey
        ("pass", "refuse", "not judged"),  # what the datasets disclose
        ({}, {"expected-mean-risk": 0.9}, {"expected-mean-risk": 0.0001}, {"tcap": 0.5}),  # no limit, kept, not kept, not measured
    )
)


@cache
def finished():
    return load_run(finished_run())


def run_in(converged, fits, disclosed, limits):
    """A finished run of which all that is judged came out as said, its second scheme always well but for the model."""
    run = finished()
    tables = {name: table.copy() for name, table in run.tables.items()}
    tables["summary"] = tables["summary"].assign(converged=[np.nan, converged, "yes"], **{"model fits": [np.nan, fits, np.nan]})
    checks = tables["fit_check"]
    if fits is None:
        tables["fit_check"] = checks[checks["verdict"] == "cost"]
    elif fits == "NO":
        tables["fit_check"] = checks.assign(verdict=checks["verdict"].mask((checks["check"] == MODEL) | (checks.index == 1), MISFITS))
    words = tables["disclosure_verdicts"].astype(object)
    tables["disclosure_verdicts"] = words.assign(verdict=[disclosed, "pass"], reasons=["" if disclosed == "pass" else "for a test", ""])
    settings = {**run.manifest["settings"], "thresholds": limits}
    return dataclasses.replace(run, manifest={**run.manifest, "settings": settings}, tables=tables)


def expected(converged, fits, disclosed, limits):
    measured = not limits or "expected-mean-risk" in limits
    if converged == "NO" or fits == "NO" or disclosed == "refuse" or limits.get("expected-mean-risk", 1) < 0.001:
        return FAIL
    return PASS if fits == "yes" and disclosed == "pass" and measured else NOT_JUDGED


@pytest.mark.parametrize("state", STATES, ids=str)
def test_every_output_has_the_same_verdict_and_none_is_vacuous(state):
    run = run_in(*state)
    word = expected(*state)
    assert overall(run.verdicts, "unweighted") == word
    lines = list(brief(run.verdicts, run.schemes, run.tables["fit_check"], run.reasons, run.folder))
    assert lines[0].split("  ")[0] == "unweighted"
    assert lines[0].removeprefix("unweighted").strip().startswith(word)
    (sentence,) = (line for line in sentences(run.verdicts, run.study.thresholds, INTERNAL) if line.startswith("unweighted: "))
    assert sentence.startswith(f"unweighted: {word}: ")
    (record,) = verdict_records(run.verdicts, ["unweighted"], INTERNAL)
    assert record["verdict"] == word
    told = f"{sentence} {lines[0]}"
    assert ("misfits" in told or "does not suit" in told) == (state[1] == "NO")
    assert ("no convergence" in told or "did not converge" in told) == (state[0] == "NO")
    if word == PASS:
        refuse_failing(run, ["unweighted"], "")
        assert any(line.startswith("Next: riskweighted release") for line in lines)
    else:
        assert any(line.startswith("Why: ") for line in lines)
        with pytest.raises(InputError, match="does not pass"):
            refuse_failing(run, ["unweighted"], "")


@pytest.mark.parametrize("state", [STATES[0], STATES[7], STATES[13], STATES[25], STATES[46], STATES[-1]], ids=str)
def test_both_pages_have_that_verdict_too(state):
    run = run_in(*state)
    for internal in (False, True):
        page = render_report(run, internal=internal)
        (section,) = re.findall(r'<section aria-labelledby="answer".*?</section>', page, re.S)
        text = html.unescape(" ".join(re.sub("<[^>]*>", " ", section).split()))
        assert re.search(rf"\bunweighted {expected(*state).capitalize()}\b", text)
        assert ("The model is not judged" in text) == (state[1] is None)


def test_thirty_schemes_take_eight_lines_with_that_of_the_folder():
    run = run_in("NO", "NO", "refuse", {"expected-mean-risk": 0.0001})
    many = [f"mix+(t={place / 100})" for place in range(30)]
    verdicts = [each._replace(label=name) for name in many for each in run.verdicts if each.label == "unweighted"]
    lines = list(brief(verdicts, many, run.tables["fit_check"], run.reasons, run.folder))
    assert len(lines) == MOST_LABELS + 3 == 7
    assert lines[MOST_LABELS] == "26 more: 26 fail"
    assert max(map(len, lines[:-1])) <= 80


def test_reasons_of_disclosure_stand_first():
    run = run_in("NO", "NO", "refuse", {"expected-mean-risk": 0.0001})
    (why,) = (
        line for line in brief(run.verdicts, ["unweighted"], run.tables["fit_check"], run.reasons, run.folder) if line.startswith("Why: ")
    )
    assert why == "Why: unweighted: for a test"
