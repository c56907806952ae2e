"""The section on several variables: shown where a run measured them, inside and outside the
agency.
"""

import dataclasses
import html
import re

import numpy as np
import pandas as pd
import pytest
from finished_run import confidential_data, finished_run

import riskweighted as rw
from riskweighted.evaluation.measure_rows import Statistic, by_label, distinct
from riskweighted.measures import cross_tables
from riskweighted.measures.registry import measures
from riskweighted.release.leak_check import gather_secrets
from riskweighted.release.leak_text import problems_in_text
from riskweighted.reports.render import render_report
from riskweighted.reports.summary_table import summary_table
from riskweighted.runs.finished import load_run
from riskweighted.runs.folder import check_tables

SCENARIO = rw.Scenario(
    synthetic=("income", "group", "size"),
    radius={"income": 0.2, "size": 0.5},
    radius_kind={"size": "absolute"},
)

OF_SEVERAL = {
    one.key
    for one in measures().values()
    if one.compute is cross_tables.select_pairs and one.needs != "data alone"
} | {"expected-match", "isolated-risk"}


def bootstrapped(data, seed):
    rows = np.random.default_rng(seed).integers(0, len(data), len(data))
    return data.assign(**{name: data[name].array[rows] for name in SCENARIO.synthetic})


@pytest.fixture(scope="module")
def several():
    """The run of one variable with what an evaluation of three says beside its own rows."""
    run, data = load_run(finished_run()), confidential_data()
    frames = {
        label: [bootstrapped(data, 10 * place + seed) for seed in range(3)]
        for place, label in enumerate(run.schemes)
    }
    found = rw.evaluate(
        data,
        frames,
        SCENARIO,
        settings=rw.EvaluationSettings(resamples=5),
        unaltered=["id"],
        random_seed=0,
    )
    tables = dict(run.tables)
    for name, rows in (("risk", found.risk), ("utility", found.utility)):
        alone = (rows["key"] == "mean-risk") & rows["variable"].notna()
        wanted = rows[rows["key"].isin(OF_SEVERAL) | alone]
        tables[name] = pd.concat([run.tables[name], wanted], ignore_index=True)
    summary = found.summary()
    added = summary[
        [column.name for column in found.columns() if column.statistic.key in OF_SEVERAL]
    ]
    tables["summary"] = run.tables["summary"].merge(added, left_on="label", right_index=True)
    return dataclasses.replace(run, tables=tables)


@pytest.fixture(scope="module")
def pages(several):
    return {internal: render_report(several, internal=internal) for internal in (False, True)}


def tables_of(page):
    found = {}
    for key, body in re.findall(
        r'<div class="block table-block" id="([\w-]+)">.*?(<thead>.*?</table>)', page, re.S
    ):
        rows = re.findall(r"<tr>(.*?)</tr>", body, re.S)
        found[key] = [
            [html.unescape(cell) for cell in re.findall(r"<bdi>(.*?)</bdi>", row, re.S)]
            for row in rows
        ]
    return found


@pytest.mark.parametrize("internal", [False, True])
def test_the_tables_hold_what_was_measured(several, pages, internal):
    shown = tables_of(pages[internal])
    utility = several.tables["utility"]
    risk = several.tables["risk"]
    labels = list(several.schemes)
    assert shown["one-way"][0] == ["Variable", *labels]
    for row in shown["one-way"][1:]:
        expected = by_label(utility, Statistic("one-way-table", row[0]))[labels]
        np.testing.assert_allclose([float(cell) for cell in row[1:]], expected, rtol=5e-3)
    assert [row[0] for row in shown["one-way"][1:]] == list(SCENARIO.synthetic)
    assert [tuple(row[:2]) for row in shown["two-way-table"][1:]] == [
        *(
            ("income", "group"),
            ("income", "size"),
            ("income", "id"),
            ("group", "size"),
            ("group", "id"),
            ("size", "id"),
        ),
    ]
    for row in shown["two-way-table"][1:]:
        expected = by_label(utility, Statistic("two-way-table", row[0], term=row[1]))[labels]
        np.testing.assert_allclose([float(cell) for cell in row[2:]], expected, rtol=5e-3)
    assert "file" not in shown
    of_file = [measures()[key].words.lower() for key in ("two-way-mean", "file-propensity")]
    assert [
        name for name in (row[0].lower() for row in shown["main"]) if name in of_file
    ] == of_file
    holes = [row for row in shown["own-risk"][1:] if row[1].startswith("Gap attack")]
    assert {row[2] for row in holes} <= {"n/a", "not shown"}  # nobody attacks the confidential data
    of_risk = [row for row in shown["own-risk"][1:] if row not in holes]
    for row in of_risk:
        key = {
            "Mean risk": "mean-risk",
            "Risk of isolated records": "isolated-risk",
        }[row[1]]
        expected = by_label(risk, Statistic(key, row[0]))[["confidential", *labels]]
        if internal or key == "mean-risk":
            np.testing.assert_allclose([float(cell) for cell in row[2:]], expected, atol=6e-4)
        else:
            # of at least 6 of 120 records, fewer than the minimum count
            assert set(row[2:]) == {"not shown"}
    assert len(of_risk) == 2 * 3
    numeric = [
        name
        for name in SCENARIO.synthetic
        if ("gap-attack", name) in set(zip(risk["key"], risk["variable"], strict=True))
    ]
    assert [row[0] for row in holes] == numeric
    assert "income" in numeric


def test_other_sections_leave_these_rows_to_this_one(pages):
    for page in pages.values():
        shown = tables_of(page)
        assert "None" not in {row[0] for row in shown["main"]}
        assert not any(
            re.search("own (mean )?risk", row[0], re.I)
            for key in ("main", "risk-measures")
            for row in shown[key]
        )
        assert "Expected match risk" in {row[0] for row in shown["main"]}


def test_the_figure_is_of_the_first_weighted_scheme_and_named_in_words(pages):
    for page in pages.values():
        (block,) = re.findall(
            r'<div class="block figure-block" id="two-way">.*?<figure '
            r'tabindex="0"><svg[^>]*aria-label="([^"]*)"',
            page,
            re.S,
        )
        assert "under pairwise" in block
        assert re.search(r"The largest: \w+ with \w+ \d", block)


def test_every_measure_has_one_entry_in_the_glossary(pages):
    for page in pages.values():
        terms = [html.unescape(term) for term in re.findall(r"<dt><bdi>(.*?)</bdi></dt>", page)]
        assert len(set(terms)) == len(terms)
        wanted = {
            "Distance of its table over chance (S_pMSE)",
            "Distance of its table with another variable over chance (S_pMSE)",
            "How well a model distinguishes the files, over chance (pMSE ratio)",
            "Expected match risk",
        }
        assert wanted <= set(terms)
        assert any(term.startswith("Mean risk") for term in terms)
        assert not any(term.startswith("Distance of its table of") for term in terms)


def test_the_main_table_and_its_definitions(several, pages):
    rows = {row[0]: row[1:] for row in summary_table(several).rows}
    cells, definition = rows["Distance of tables of two variables over chance, mean, S_pMSE"]
    assert cells[0] == "-"
    assert "mean over the pairs" in definition
    assert "higher is riskier" in rows["Expected match risk"][1]
    assert "Distance of tables of two variables over chance, mean" in {
        row[0] for row in tables_of(pages[False])["main"]
    }


def test_the_releasable_page_passes_the_leak_check(several, pages):
    secrets = gather_secrets(load_run(finished_run()), confidential_data(), ["pairwise"]).text
    assert problems_in_text(pages[False], secrets) == []


@pytest.mark.usefixtures("no_pictures")
def test_a_column_that_the_data_lack_is_withheld(several):
    utility = several.tables["utility"]
    one = utility[utility["key"] == "one-way-table"].head(1).assign(variable="7654321")
    pair = utility[utility["key"] == "two-way-table"].head(1)
    pair = pair.assign(term="7654321", measure="two-way S_pMSE with 7654321")
    changed = dataclasses.replace(
        several,
        tables={**several.tables, "utility": pd.concat([utility, one, pair], ignore_index=True)},
    )
    assert "7654321" not in render_report(changed)
    assert "7654321" in render_report(changed, internal=True)


def test_a_run_of_several_variables_has_the_tables_that_it_must(several, tmp_path):
    check_tables(several.tables, several.schemes, SCENARIO.synthetic, tmp_path)
    assert {one.key for one in distinct(several.tables["utility"])} >= {"two-way-mean"}
    short = {
        **several.tables,
        "summary": several.tables["summary"].drop(columns="mean two-way S_pMSE"),
    }
    with pytest.raises(rw.InputError, match="lacks the column 'mean two-way S_pMSE'"):
        check_tables(short, several.schemes, SCENARIO.synthetic, tmp_path)


def test_a_run_of_one_variable_has_no_such_section():
    assert "several" not in re.findall(
        r'aria-labelledby="([\w-]+)"', render_report(load_run(finished_run()))
    )
