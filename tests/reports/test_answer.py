"""The first screen: verdicts and numbers of every scheme, red where a fit is not to be trusted, and
no more of a count than it may show.
"""

import dataclasses
import html
import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from finished_run import finished_run
from records import Asked

import riskweighted as rw
from riskweighted.evaluation.fit_check import MISFITS
from riskweighted.evaluation.measure_rows import Statistic, distinct
from riskweighted.evaluation.thresholds import Limit, Thresholds
from riskweighted.evaluation.verdicts import FAIL, PASS, Verdict
from riskweighted.reports.about import about_section
from riskweighted.reports.answer import find_answer
from riskweighted.reports.brief import reason_and_next
from riskweighted.reports.output_rules import INTERNAL, outside
from riskweighted.reports.render import render_report
from riskweighted.reports.source import gather
from riskweighted.reports.utility_section import _intervals
from riskweighted.reports.verdict_sentences import UNTOLD, sentences, shown_verdict, verdict_records
from riskweighted.runs.finished import load_run
from riskweighted.runs.refusals import outlook
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sampling.convergence import no_diagnostics
from riskweighted.sequence.fit import Fit

answer_alone = pytest.mark.usefixtures("no_figures")
LIMITS = {"expected-mean-risk": 0.001, "ecdf-maximum": 0.9, "expected-maximum-risk": 0.9}


def finished():
    """The finished run, of which the policy has nothing to say."""
    read = load_run(finished_run())
    words = (
        read.tables["disclosure_verdicts"]
        .astype(object)
        .assign(verdict="pass", accepted="", outside="")
    )
    return read.with_tables(read.tables | {"disclosure_verdicts": words})


@pytest.fixture(scope="module")
def run():
    found = finished()
    settings = {**found.manifest["settings"], "thresholds": LIMITS}
    return dataclasses.replace(found, manifest={**found.manifest, "settings": settings})


def answer_of(page):
    """Rows of the verdicts and of the figures as text, and all of the section."""
    (section,) = re.findall(r'<section aria-labelledby="answer".*?</section>', page, re.S)
    found = []
    for table in re.findall(r"<table.*?</table>", section, re.S):
        rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.S)
        cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in rows]
        found.append(
            [
                [html.unescape(" ".join(re.sub("<[^>]*>", " ", cell).split())) for cell in row]
                for row in cells
            ]
        )
    verdicts, figures = found
    return verdicts, figures, section


@pytest.mark.slow
@answer_alone
def test_it_says_what_comes_first_and_what_next(run):
    """The verdicts, the largest reason and the next command, in that order, before any figure; no
    folder is told.
    """
    for internal in (False, True):
        *_, section = answer_of(render_report(run, internal=internal))
        places = [
            section.index(text)
            for text in ('class="verdicts', "Largest reason:", "Next:", 'class="figures')
        ]
        assert places == sorted(places)
        text = html.unescape(re.sub("<[^>]*>", "", section))
        reason = re.search("Largest reason: (.*)", text)[1]
        assert re.fullmatch(
            r"pairwise: expected risk, mean over all is 0\.\d+( ± <?0\.\d+)?, at most 0\.001 is "
            r"allowed",
            reason,
        )
        assert "Next: riskweighted advise RUN" in text
        assert str(run.folder.parent) not in section
    passing = finished()
    *_, section = answer_of(render_report(passing))
    assert "Largest reason" not in section
    assert "riskweighted release RUN --scheme pairwise --out pack" in section


@pytest.mark.quick
def test_a_reason_that_may_not_be_seen_is_not_what_comes_next(run):
    """A limit on the largest risk of a record fails alone: outside, neither it nor its measure is
    named.
    """
    settings = {**run.manifest["settings"], "thresholds": {"expected-maximum-risk": 1e-6}}
    judged = dataclasses.replace(run, manifest={**run.manifest, "settings": settings})
    checks = judged.tables["fit_check"]
    inside, out = (
        reason_and_next(
            judged.verdicts, judged.schemes, checks, judged.reasons, view, outlook(judged), "RUN"
        )
        for view in (INTERNAL, outside(120))
    )
    assert "largest expected risk" in inside[0]
    assert out[0] == ""
    assert inside[1] == out[1]
    assert "riskweighted advise RUN" in out[1]


@pytest.mark.parametrize("internal", [False, True])
@answer_alone
def test_it_says_of_every_scheme_what_it_has_and_whether_it_passes(run, internal):
    verdicts, figures, section = answer_of(render_report(run, internal=internal))
    assert [row[0] for row in verdicts[1:]] == list(run.schemes)
    assert figures[0] == ["Measure", *run.schemes, "confidential data"]
    head = " ".join(row[0] for row in figures)
    for words in (
        "Expected risk, mean over all",
        "Cost: largest distance of distribution functions U_m",
        "at most 0.001",
        "at most 0.9",
    ):
        assert words in head
    summary = run.tables["summary"].set_index("label")
    risks = next(row for row in figures if "mean over all" in row[0])
    for (scheme, verdict, why), cell in zip(verdicts[1:], risks[1:], strict=False):
        assert verdict == "Fail"
        value = float(re.search(r"\d\.\d+", cell)[0])
        assert value == pytest.approx(summary.loc[scheme, "expected mean risk"], abs=6e-4)
        assert re.search(r" ± <?0\.00", cell)
        assert re.search(rf"expected risk, mean over all {value}", why.lower())
    assert "All 2 fits converged" in section
    assert ("Largest expected risk" in section) == internal  # the risk of one record
    assert "alarm" not in section


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limits", "verdict", "why", "state"),
    [
        (
            {"expected-mean-risk": 0.9},
            "Pass",
            "Keeps to the threshold, which is not on utility",
            "open",
        ),
        pytest.param(
            {"expected-mean-risk": 0.9, "check-quantile": 9},
            "Pass",
            "Keeps to all 2 thresholds, none of them on utility",
            "open",
            marks=pytest.mark.long,
        ),
        pytest.param(
            {"expected-mean-risk": 0.9, "overlap": 0},
            "Pass",
            "Keeps to all 2 thresholds",
            "pass",
            marks=pytest.mark.long,
        ),
        ({"ecdf-maximum": 0.9}, "Pass", "Keeps to the threshold", "pass"),
        ({"expected-mean-risk": 0.001}, "Fail", "Expected risk, mean over all 0.", "fail"),
    ],
)
@answer_alone
def test_who_passes_without_a_threshold_on_utility_is_not_judged_on_it(
    run, limits, verdict, why, state
):
    judged = dataclasses.replace(
        run,
        manifest={**run.manifest, "settings": {**run.manifest["settings"], "thresholds": limits}},
    )
    for internal in (False, True):
        verdicts, figures, section = answer_of(render_report(judged, internal=internal))
        for row in verdicts[1:]:
            assert row[1] == verdict
            assert row[2].startswith(why)
        assert f'class="verdict {state}"' in section
        unlimited = not {"overlap", "ecdf-maximum"} & set(limits)
        assert (
            ("no threshold" in " ".join(row[0] for row in figures))
            == unlimited
            == ("passing does not judge the cost" in section)
        )
        costs = [cell for row in figures if row[0].startswith("Cost") for cell in row[1:]]
        assert len(costs) == 6
        # not that of the confidential data
        assert sum(cell.startswith("! ") for cell in costs) == (4 if unlimited else 0)
    (line,) = (
        line
        for line in sentences(judged.verdicts, judged.study.thresholds, INTERNAL)
        if line.startswith("pairwise")
    )
    assert line.lower().startswith(f"pairwise: {verdict.lower()}: ")
    assert {
        one["verdict"] for one in verdict_records(judged.verdicts, judged.schemes, INTERNAL)
    } == {FAIL if state == "fail" else PASS}


@answer_alone
def test_without_thresholds_it_says_so():
    verdicts, _, section = answer_of(render_report(finished()))
    assert {row[1] for row in verdicts[1:]} == {"Pass"}
    assert "states no thresholds" in section


@dataclass(frozen=True)
class Explodes:
    """A mixture that suits the data, but for few draws that are far too large."""

    formula: ClassVar[str] = "income ~ C(group)"
    target: ClassVar[str] = "income"

    def prepare(self, data):
        return data["income"].to_numpy()

    def distribution(self, theta, prepared):
        return Asked(self, theta, prepared)

    def draw(self, theta, prepared, rng):
        values = rng.permutation(prepared) * np.exp(0.01 * rng.normal(size=len(prepared)))
        # so that the standard deviation is more than double
        values[: max(1, len(values) // 1500)] = 40 * prepared.max()
        return rng.permutation(values)


def exploded(n=3000):
    """The checks of a fit whose largest value is 40 times that of the data, and whose density and
    distribution function look perfect.
    """
    rng = np.random.default_rng(3)
    data = pd.DataFrame(
        {"group": rng.choice(["a", "b"], n), "income": np.exp(rng.normal(10, 1, n)).round()}
    )
    posterior = xr.Dataset({"nothing": (("chain", "draw"), np.zeros((2, 50)))})
    fit = Fit.of(
        BlockFit(
            Explodes(),
            pd.Series(1.0, data.index),
            posterior,
            no_diagnostics(),
            data,
            Explodes().prepare(data),
        )
    )
    return data, rw.check_fit(fit, by=(), others=(), draws=30, random_seed=1)


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_a_mixture_whose_largest_value_is_forty_times_the_datas_comes_out_red(run):
    data, checks = exploded()
    found = checks.set_index("check")
    assert found.loc["check-largest", "effect"] == pytest.approx(40)
    assert found.loc["check-sd", "synthetic"] > 2 * found.loc["check-sd", "confidential"]
    assert rw.fit_verdict(checks) == MISFITS
    # all else looks perfect
    assert set(checks.loc[checks["verdict"] == MISFITS, "check"]) == {
        "fits",
        "check-sd",
        "check-largest",
    }
    tables = dict(run.tables)
    others = tables["fit_check"][tables["fit_check"]["label"] != "unweighted"]
    tables["fit_check"] = pd.concat([checks.assign(label="unweighted"), others], ignore_index=True)
    tables["summary"] = tables["summary"].assign(**{"model fits": [np.nan, "NO", np.nan]})
    bad = dataclasses.replace(run, tables=tables)
    for internal in (False, True):
        verdicts, _, section = answer_of(render_report(bad, internal=internal))
        assert 'class="alarm"' in section
        assert "The model does not suit the data" in section
        assert "MISFITS in 2 of" in section
        assert all(row[1] == "Fail" and "model misfits" in row[-1] for row in verdicts[1:])
        assert '<details class="group" id="fit-checks-group" open>' in render_report(
            bad, internal=internal
        )
    page = render_report(bad)
    first = re.search(r'id="fit-checks".*?<tbody>(.*?)</tbody>', page, re.S)[1]
    assert [re.search("<bdi>(.*?)</bdi>", row)[1] for row in first.split("</tr>")[:2]] == [
        "Standard deviation",
        "Largest value over the largest confidential one",
    ]
    assert f"{data['income'].max():.0f}" not in page


@answer_alone
def test_a_fit_that_did_not_converge_comes_out_red(run):
    tables = dict(run.tables)
    tables["summary"] = tables["summary"].assign(converged=[np.nan, "yes", "NO"])
    *_, section = answer_of(render_report(dataclasses.replace(run, tables=tables)))
    assert "Not converged: pairwise." in section
    assert "1 of 2 fits did NOT converge" in section


@pytest.mark.parametrize(
    ("count", "most", "shown"),
    [(3, 2, UNTOLD), (3, 0, UNTOLD), (3, 10, PASS), (47, 47, UNTOLD), (47, 20, FAIL)],
)
@pytest.mark.quick
def test_a_verdict_tells_no_more_of_a_count_than_the_count_that_is_shown(count, most, shown):
    limit = Limit("expected-records-over", "0.5", at_most=most)
    statistic = Statistic("expected-records-over", parameter=0.5)
    one = Verdict("a", statistic, float(count), 0.0, limit, PASS if limit.passes(count) else FAIL)
    assert shown_verdict(one, outside(1000)) == shown
    assert shown_verdict(one, INTERNAL) == one.verdict


@pytest.mark.quick
def test_verdicts_for_a_terminal_and_for_a_machine(run):
    lines = list(sentences(run.verdicts, run.study.thresholds, INTERNAL))
    assert lines[0] == "Thresholds: 3, from the study."
    assert lines[1].startswith("unweighted: fail: expected risk, mean over all is 0.")
    assert lines[1].endswith("at most 0.001 is allowed.")
    (record,) = verdict_records(run.verdicts, ["pairwise"], outside(120))
    assert (record["scheme"], record["verdict"]) == ("pairwise", FAIL)
    limits = {one["measure"]: one for one in record["limits"]}
    assert limits["expected-maximum-risk"]["verdict"] == "withheld"
    assert limits["expected-maximum-risk"]["value"] == "not shown"
    assert limits["expected-mean-risk"]["verdict"] == FAIL
    assert limits["converged"] == {"measure": "converged", "verdict": PASS}
    assert next(sentences((), Thresholds(), INTERNAL)).startswith(
        "Thresholds: the study states none"
    )


@pytest.mark.parametrize(
    ("before", "after", "error", "told"),
    [
        (0.067, 0.0664, 0.0002, "no difference beyond chance"),
        (0.067, 0.02, 0.001, "lower"),
        (0.02, 0.067, 0.001, "higher"),
    ],
)
def test_what_weights_did_to_isolated_records_is_said_as_far_as_the_numbers_show_it(
    run, before, after, error, told
):
    risk = run.tables["risk"].copy()
    for label, value in (("unweighted", before), ("pairwise", after)):
        rows = risk["key"].eq("expected-isolated-risk") & risk["label"].eq(label)
        risk.loc[rows, ["value", "error"]] = value, error
    section = about_section(gather(run.with_tables({**run.tables, "risk": risk}), True, None, 10))
    (sentence,) = (
        text for text in section.paragraphs if text.startswith("Expected risk of isolated records")
    )
    assert f"({told})" in sentence
    assert not any(
        word in sentence
        for word in {"lower", "higher", "no difference"} - {told}
        if word not in told
    )


@pytest.mark.parametrize("internal", [False, True])
def test_how_close_is_close_stays_inside_where_it_was_found_in_the_data(run, internal):
    settings = run.manifest["settings"]
    found = {**settings["scenario"], "radius": [0.12345, "found"], "radius_kind": "absolute"}
    changed = dataclasses.replace(
        run, manifest={**run.manifest, "settings": {**settings, "scenario": found}}
    )
    told = str(find_answer(gather(changed, internal, None, 10)))
    assert ("to within 0.12345" in told) == internal
    assert ("0.12345" in told) == internal


def test_an_interval_is_drawn_where_the_digits_that_may_be_shown_hold_it():
    source = gather(finished(), False, None, 10)
    median = next(
        each
        for each in distinct(source.run.tables["utility"])
        if each.name.startswith("0.5 quantile") or each.parameter == 0.5
    )
    for digits, drawn in ((6, True), (1, False)):
        view = dataclasses.replace(source.view, digits={**source.view.digits, median: digits})
        figure = _intervals(dataclasses.replace(source, view=view), 1, median)
        assert ("narrower" in str(figure)) != drawn
