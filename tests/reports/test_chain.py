"""The report of a run of several variables with gaps and codes: what is shown of each, and what is
withheld outside.
"""

import html
import re

import pandas as pd
import pytest
from finished_run import finished_chain

from riskweighted.data.io import read_table
from riskweighted.release.leak_check import gather_secrets
from riskweighted.release.leak_text import problems_in_text
from riskweighted.reports.output_rules import quantile_digits
from riskweighted.reports.render import render_report
from riskweighted.reports.source import gather
from riskweighted.reports.variable_section import variable_blocks
from riskweighted.runs.finished import load_run

pytestmark = [pytest.mark.long, pytest.mark.slow]  # the run of a chain alone takes half a minute
VARIABLES = ("marital", "income", "smoke", "cigs")


@pytest.fixture(scope="module")
def run():
    return load_run(finished_chain())


@pytest.fixture(scope="module")
def data(run):
    return read_table(run.folder.parent / "data.csv")


@pytest.fixture(scope="module")
def pages(run):
    return {internal: render_report(run, internal=internal) for internal in (False, True)}


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


def answer_rows(page):
    """The figures behind the verdicts, as text."""
    (table,) = re.findall(r'<table class="figures.*?</table>', page, re.S)
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.S)
    return [
        [html.unescape(cell) for cell in re.findall(r"<bdi>(.*?)</bdi>", row, re.S)] for row in rows
    ]


@pytest.mark.parametrize("internal", [False, True])
def test_every_variable_is_a_row_of_the_answer(run, pages, internal):
    rows = [row for row in answer_rows(pages[internal]) if row[0].startswith("Cost")]
    for name in VARIABLES:
        (row,) = [row for row in rows if row[0].endswith(f" of {name}") and "overlap" not in row[0]]
        assert ("distribution functions" in row[0]) == (name in ("income", "cigs"))
        utility = run.tables["utility"].query("variable == @name")
        values = utility[utility["key"].isin(["ecdf-maximum", "total-variation"])].set_index(
            "label"
        )["value"][list(run.schemes)]
        assert [float(cell) for cell in row[1:3]] == pytest.approx(list(values), abs=6e-4)


@pytest.mark.parametrize("internal", [False, True])
def test_every_variable_has_a_group_that_the_reader_opens(pages, internal):
    page = pages[internal]
    groups = re.findall(
        r'<details class="group" '
        r'id="variable-(\d)">\s*<summary><bdi>(\w+)</bdi></summary>(.*?)</details>',
        page,
        re.S,
    )
    assert [(int(place), name) for place, name, _ in groups] == list(enumerate(VARIABLES, 1))
    titles = [re.findall(r'<h3 id="([\w-]+)-title">', body) for _, _, body in groups]
    assert titles[0] == ["levels"]
    assert titles[2] == ["levels-3"]
    for place in (2, 4):
        assert titles[place - 1][-4:] == [
            f"{name}-{place}" for name in ("statuses", "density", "ecdf", "weights")
        ]
    reasons = set(
        re.findall(
            r"No figure: (fewer than 10 confidential records share the first digit|intervals of "
            r"[^;<]+ are narrower)?",
            page,
        )
    )
    assert "" not in reasons
    assert not internal or not reasons
    assert len(page.encode()) < 5e6
    keys = re.findall(r'<(?:div|details|h3)[^>]* id="([\w-]+)"', page)
    assert len(set(keys)) == len(keys)


def test_amounts_are_counted_apart_from_gaps_and_codes(pages, data):
    shown = tables_of(pages[True])
    amounts = data["income"].notna() & (data["income"] != -8)
    assert sum(int(row[2]) for row in shown["density-2-table"][1:]) == amounts.sum()
    statuses = {row[0]: int(row[1]) for row in shown["statuses-2-table"][1:]}
    assert statuses == {
        "-8": (data["income"] == -8).sum(),
        "amount": amounts.sum(),
        "missing": data["income"].isna().sum(),
    }


def test_a_few_missing_values_are_not_counted_outside(pages, data):
    """Five records miss `marital`: they stand with the smallest level, as five of another level
    would.
    """
    assert data["marital"].isna().sum() == 5
    inside, outside = (tables_of(pages[internal])["levels-table"][1:] for internal in (True, False))
    assert {row[0]: row[1] for row in inside}["missing"] == "5"
    assert {row[0] for row in outside} == {"married", "single", "other levels"}
    assert all(int(row[1]) >= 10 for row in outside)


def test_a_few_missing_amounts_do_not_follow_by_subtraction(run, data):
    """With three gaps and no code left, exact counts of amounts would tell their number; rounded
    ones do not.
    """
    few = data.assign(
        income=data["income"].where(data["income"].notna() & (data["income"] != -8), 1000.5)
    )
    few.loc[[3, 4, 5], "income"] = None
    source = gather(run, False, few, 10)
    density = next(
        block for block in variable_blocks(source, 2, "income") if block.key == "density-2"
    )
    counts = [row[2] for row in density.tables[0].rows]
    assert all(re.fullmatch(r"about \d+0", count) for count in counts)
    assert {len(cell.partition(".")[2]) for row in density.tables[0].rows for cell in row[3:]} == {
        2
    }
    statuses = next(
        block for block in variable_blocks(source, 2, "income") if block.key == "statuses-2"
    )
    assert (statuses.image, statuses.tables) == ("", ())


def test_no_estimate_rests_on_fewer_amounts_than_the_minimum(run, data):
    few = data.assign(income=data["income"].where(data.index < 9, -8.0).fillna(1.0))
    page = render_report(run, confidential=few)
    shown = tables_of(page)
    costs = {
        name: row
        for row in answer_rows(page)
        for name in VARIABLES
        if row[0].startswith("Cost") and row[0].endswith(f" of {name}")
    }
    assert set(costs["income"][1:]) == {"not shown"}
    assert "not shown" not in costs["cigs"]
    assert any("of cigs" in row[0] for row in shown["main"])
    assert not any("of income" in row[0] for row in shown["main"])


def test_codes_are_no_amounts_that_share_digits():
    utility = pd.DataFrame(
        [
            {
                "label": "confidential",
                "key": "quantile",
                "measure": "0.9 quantile",
                "variable": "y",
                "parameter": 0.9,
                "term": None,
            }
        ]
    ).assign(value=-8.0, lower=-8.0, upper=-8.0)
    data = pd.DataFrame({"y": [-8.0] * 20 + [1.0, 2.0]})
    assert list(quantile_digits(utility, data, 10).values()) == [3]
    assert list(quantile_digits(utility, data, 10, {"y": [-8.0]}).values()) == [0]


def test_shares_of_levels_and_codes_with_intervals_stay_inside(pages):
    inside, outside = tables_of(pages[True]), tables_of(pages[False])
    assert {row[0] for row in inside["shares-2"][1:]} == {"share of missing", "share of -8"}
    assert not any(key.startswith("shares") for key in outside)


def test_the_checks_name_their_variable_and_the_card_its_blocks(pages):
    shown = tables_of(pages[True])
    assert {row[0].rpartition(" of ")[2] for row in shown["fit-checks"][1:]} == set(VARIABLES)
    blocks = {row[0].partition(":")[0] for row in shown["card-1-table"][1:]}
    assert blocks == {"marital is missing", *VARIABLES, "income is -8", "income is missing"}
    assert {row[1] for row in shown["convergence"][1:]} == {"direct"}  # no block needs chains


def test_the_releasable_page_passes_the_leak_check(run, data, pages):
    secrets = gather_secrets(run, data, ["pairwise"]).text
    assert problems_in_text(pages[False], secrets) == []
