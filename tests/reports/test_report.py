"""The report tells what the run's tables say; the releasable one tells nothing about a record."""

import dataclasses
import html
import json
import re

import numpy as np
import pandas as pd
import pytest
import typer
from finished_run import confidential_data, copied_run, finished_run
from hypothesis import given, strategies as st
from shown import read_number, unread
from typer.testing import CliRunner

from riskweighted.commands.report import report
from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import file_hash
from riskweighted.evaluation.measure_rows import Statistic, as_row, as_table, distinct
from riskweighted.measures.measure import Disclosure, Value
from riskweighted.measures.registry import measures
from riskweighted.release.leak_check import gather_secrets
from riskweighted.release.leak_text import problems_in_text
from riskweighted.reports.output_rules import View, number, quantile_digits
from riskweighted.reports.page_blocks import make_table
from riskweighted.reports.render import make_report, render_report
from riskweighted.reports.wording import capital, in_words
from riskweighted.runs.finished import FinishedRun, find_confidential, load_run

pytestmark = pytest.mark.versions


@pytest.fixture(scope="module")
def run():
    return load_run(finished_run())


@pytest.fixture(scope="module")
def releasable(run):
    return render_report(run)


@pytest.fixture(scope="module")
def internal(run):
    return render_report(run, internal=True)


def tables_of(page):
    """Cells of every table by its place in the page."""
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


def test_the_main_table_is_the_summary(run, internal):
    rows = tables_of(internal)["main"]
    summary = run.tables["summary"].set_index("label")
    assert rows[0] == ["Measure", *summary.index]
    shown = {row[0]: row[1:] for row in rows[1:]}
    assert len(shown) == len(summary.columns)
    cells = [read_number(cell) for cell in shown["Mean risk in these datasets (0 to 1)"]]
    np.testing.assert_allclose(cells, summary["mean risk"], atol=5.1e-4)
    assert re.fullmatch(r"0\.\d{3} ± <?0\.\d{3}", shown["Expected risk, mean over all (0 to 1)"][1])


def test_no_row_stands_twice(internal, releasable):
    for page in (internal, releasable):
        tables = tables_of(page)
        named = [
            re.sub(r" (of income )?\(.*\)$| of income$", "", row[0]) for row in tables["main"][1:]
        ]
        further = [row[0] for row in tables["risk-measures"][1:]]
        assert not set(named) & set(further)
        assert "distances" not in tables
        assert "Interquartile range of risk in these datasets" in further
        if page is internal:  # outside it may rest on fewer than ten records, by chance
            # the same for all schemes
            assert "Gap attack of income" in further or "Gap attack of income:" in page
        assert "Expected risk, mean over all" in named
        assert "Largest distance of distribution functions" in named


def test_the_first_maps_are_of_what_isolated_records_teach(internal, releasable):
    main = {row[0]: row[1:] for row in tables_of(internal)["main"]}
    for key, row in (
        ("Risk", "Information that an isolated record gives, on average"),
        ("Attributable probability", None),
    ):
        shown = tables_of(internal)["map-1-table"]
        place = shown[0].index(key)
        row = row or next(
            name
            for name in main
            if name.startswith("Attributable ball probability of isolated records")
        )
        told = {cells[0]: cells[place] for cells in shown[1:]}
        assert told == {label: main[row][main["Measure"].index(label)] for label in told}
        assert len(told) > 1
    # of fewer than ten isolated records
    assert "Attributable probability" not in tables_of(releasable)["map-1-table"][0]


@pytest.mark.slow
@pytest.mark.usefixtures("no_pictures")
def test_the_next_maps_are_of_disclosure_where_that_was_judged(run, internal):
    maps = [
        rows for key, rows in tables_of(internal).items() if re.fullmatch(r"map-\d+-table", key)
    ]
    shown = maps[len(maps) // 2]
    assert shown[0][1] == "Risk"
    told = {row[0]: row[1] for row in shown[1:]}
    main = {row[0]: row[1:] for row in tables_of(internal)["main"]}
    judged = main["Disclosure beyond inference"]
    labels = main["Measure"]
    assert told == {label: judged[labels.index(label)].partition(" ±")[0] for label in told}
    verdicts = run.tables["disclosure_verdicts"]
    one = dataclasses.replace(
        run,
        tables={
            **run.tables,
            "disclosure_verdicts": verdicts.assign(verdict=["pass", "not judged"]),
        },
    )
    shown = tables_of(render_report(one))["map-1-table"]
    assert [row[1::2] for row in shown[1:]] == [[shown[1][1], "yes"], ["not judged", "no"]]
    none = dataclasses.replace(
        run, tables={**run.tables, "disclosure_verdicts": verdicts.assign(verdict="not judged")}
    )
    page = render_report(none)
    assert "Map of labels by expected mean risk" in page  # of few records
    header, *rows = tables_of(page)["map-1-table"]
    assert "not judged" not in {cell for row in rows for cell in row[:-1]}
    # the word of the scheme, as in the answer
    assert (header[-1], {row[-1] for row in rows}) == ("Verdict", {"not judged"})


def test_numbers_are_those_that_people_read(internal, releasable):
    """Of all cells but names, settings and hashes."""
    for page in (internal, releasable):
        for key, rows in tables_of(page).items():
            if key in ("settings", "versions", "hashes"):
                continue
            cells = [
                cell
                for row in rows[1:]
                for cell in row[1:]
                if rows[0][row.index(cell)] not in ("Row", "Rule", "Quantity")
            ]
            assert unread(cells) == [], key
        told = [html.unescape(text) for text in re.findall(r'<svg[^>]*aria-label="([^"]*)"', page)]
        assert unread(told) == []


def test_the_riskiest_records_are_named_inside_only(run, internal, releasable):
    rows = tables_of(internal)["riskiest"]
    for label in run.schemes:
        risk = run.expected[label].sort_values(ascending=False, kind="stable")
        named = [row for row in rows if row[0] == label]
        assert [row[1] for row in named] == [str(row) for row in risk.index[:20]]
        np.testing.assert_allclose([float(row[2]) for row in named], risk.iloc[:20], atol=5.1e-4)
    assert "riskiest" not in tables_of(releasable)
    assert "CONFIDENTIAL" in internal
    assert "CONFIDENTIAL" not in releasable


def test_the_releasable_report_passes_the_leak_check(run, releasable, internal):
    secrets = gather_secrets(run, confidential_data(), ["pairwise"]).text
    assert problems_in_text(releasable, secrets) == []


def test_no_extreme_and_no_small_count_leaves(run, releasable):
    tables = tables_of(releasable)
    text = html.unescape(re.sub(r"base64,[^\"]*", "", releasable))
    assert "maximum risk" not in text.lower()
    assert "largest rise" not in text.lower()
    measured = run.tables["risk"].dropna(subset="value")
    labels = {capital(in_words(one)) for one in distinct(measured) if one.measure.kind == "count"}
    found = [
        [re.sub(r" \(of 120 records\)$", "", row[0]), *row[1:]]
        for row in (*tables["main"], *tables["risk-measures"])
    ]
    counts = [row for row in found if row[0] in labels]
    allowed = r"n/a|fewer than 10|more than 110|about \d+0"
    same = re.search(r"The same for all: (.*?)\.</p>", releasable).group(1).split("; ")
    assert {row[0] for row in counts} | {one.partition(":")[0] for one in same} >= labels
    assert len(labels) > 8
    assert all(
        re.fullmatch(f".*: ({allowed}|not shown)", one)
        for one in same
        if one.partition(":")[0] in labels
    )
    assert all(re.fullmatch(f"{allowed}|not shown", cell) for row in counts for cell in row[1:])
    for key, rows in tables.items():
        for place, title in enumerate(rows[0]):
            if title == "Records":
                assert all(int(row[place]) >= 10 for row in rows[1:]), key


@pytest.mark.slow
@pytest.mark.usefixtures("no_pictures")
def test_the_releasable_report_does_not_depend_on_extremes_of_the_sensitive_variable(run):
    data = confidential_data()
    moved = data.copy()
    order = moved["income"].argsort().to_numpy()
    moved.loc[order[-9:], "income"] = moved["income"].max() * np.arange(10, 19)
    pages = [
        re.sub(r"data:image[^\"]*", "", render_report(run, confidential=frame))
        for frame in (data, moved)
    ]
    assert tables_of(pages[0])["density-table"] == tables_of(pages[1])["density-table"]


@pytest.mark.slow
def test_the_same_run_gives_the_same_page(run, releasable):
    assert render_report(run) == releasable


def test_every_figure_has_words_and_a_table(releasable, internal):
    for page in (releasable, internal):
        blocks = re.split(r'<div class="block figure-block[^"]*"', page)[1:]
        assert len(blocks) >= 9
        for block in blocks:
            (alternative,) = re.findall(
                r'<svg[^>]*aria-label="([^"]*)"|<p class="note">(No figure: [^<]*)', block
            )[0:1] or [""]
            alternative = "".join(alternative)
            assert re.search(r"\d", alternative)
            assert len(alternative) > 60
            assert "<table" in block


def test_every_definition_button_has_its_entry(releasable, internal):
    for page in (releasable, internal):
        used = set(re.findall(r'class="tip"[^>]*aria-describedby="([\w-]+)"', page))
        entries = set(re.findall(r'<dd id="([\w-]+)"', page))
        assert used == entries
    assert "Higher is riskier." in releasable
    assert "closed ball" in releasable


def test_nothing_is_loaded_and_nothing_is_bigger_than_allowed(releasable, internal):
    for page in (releasable, internal):
        assert not re.search(
            r"<(link|iframe|object|embed|form)\b|\bon\w+=|style=\"|@import|url\((?!#)|https?://",
            page,
        )
        assert "src=" not in page
        assert set(re.findall(r'href="([^#,"]*)[#,]', page)) == {"", "data:image/png;base64"}
        assert "default-src 'none'" in page
        assert len(page.encode()) < 5e6


@given(value=st.integers(0, 1000), m=st.integers(3, 20))
@pytest.mark.quick
def test_counts_say_no_more_than_they_may(value, m):
    shown = View(False, m, 1000, {}).count(value)
    if value < m:
        assert shown == f"fewer than {m}"
    elif 1000 - value < m:
        assert shown == f"more than {1000 - m}"
    else:
        rounded = int(shown.removeprefix("about "))
        assert rounded % m == 0
        assert abs(rounded - value) <= m / 2
    assert View(True, m, 1000, {}).count(value) == str(value)


@pytest.mark.quick
def test_quantiles_keep_the_digits_that_ten_records_share():
    values = pd.DataFrame({"y": np.r_[np.full(10, 1234.0), np.arange(5000.0, 5012.0), 70000.0]})
    median, high, low = (Statistic("quantile", "y", share) for share in (0.5, 0.9, 0.1))
    mean = Statistic("mean", "y")
    ends = {median: 1234.0, high: 5003.0, low: 70000.0, mean: 1.0}
    table = as_table(
        as_row("confidential", Value(one.measure, value, *one[1:4], interval=(1234.0, 1234.0)))
        for one, value in ends.items()
    )
    assert quantile_digits(table, values, 10) == {median: 3, high: 2, low: 0}
    assert quantile_digits(table, values, 12)[median] == 0
    view = View(False, 10, 23, {median: 2, low: 0})
    assert view.show(median, 1234.0) == "1200"
    assert view.show(low, 70000.0) == "not shown"
    assert view.show(high, 5003.0) == "not shown"  # nobody counted who shares its digits
    assert view.show(mean, 1234.5678) == "1234.6"


@pytest.mark.parametrize(
    "key",
    [
        key
        for key, measure in measures().items()
        if measure.disclosure in (None, Disclosure.LEFT_OUT, Disclosure.COMPARED)
    ],
)
def test_a_measure_without_a_rule_is_never_shown(key):
    measure = measures()[key]
    parameter = 0.5 if measure.parameter in ("threshold", "quantile", "increase") else None
    assert (
        View(False, 10, 100, {}).show(Statistic(key, parameter=parameter), 0.123456) == "not shown"
    )
    assert float(View(True, 10, 100, {}).show(Statistic(key, parameter=parameter), 0.25)) == 0.25


PLANTED = [  # table, key, variable, parameter, term, text
    ("risk", "second-largest-risk", None, None, None, "second largest risk"),
    ("risk", None, None, None, None, "risk of record 17"),
    # a key that we know, under another text
    ("risk", "mean-risk", None, None, None, "mean risk of record 17"),
    # and with a parameter that it does not have
    ("risk", "mean-risk", None, 17.0, None, "mean risk"),
    ("utility", "topmost-value", "income", None, None, "topmost value"),
    ("utility", "mean", "record 17", None, None, "mean"),  # not a variable of the data
    ("utility", "quantile", "income", None, None, "0.999 quantile"),
]
SECRET = 0.738219


def planted(folder, rows):
    """A copy of the run with more rows in its tables, and in the main table, as a whole run under
    its own hashes.
    """
    run = copied_run(folder)
    for name in ("risk", "utility"):
        table = pd.read_csv(run / "tables" / f"{name}.csv")
        columns = ["key", "variable", "parameter", "term", "measure"]
        more = [dict(zip(columns, row[1:], strict=True)) for row in rows if row[0] == name]
        new = [
            {
                "label": "pairwise",
                **row,
                "value": SECRET,
                "higher_is": "riskier",
                "definition": f"{row['measure']}!",
            }
            for row in more
        ]
        pd.DataFrame([*table.to_dict("records"), *new]).to_csv(
            run / "tables" / f"{name}.csv", index=False
        )
    summary = pd.read_csv(run / "tables" / "summary.csv")
    extra = {row[-1]: SECRET for row in rows if row[-1] != "mean risk"}
    summary.assign(**extra).to_csv(run / "tables" / "summary.csv", index=False)
    manifest = json.loads((run / "manifest.json").read_text())
    for name in manifest["files"]:
        manifest["files"][name] = file_hash(run / name)
    (run / "manifest.json").write_text(json.dumps(manifest))
    return load_run(run)


@pytest.mark.slow
@pytest.mark.usefixtures("no_pictures")
def test_what_no_rule_allows_is_withheld_and_counted(tmp_path, releasable):
    run = planted(tmp_path, PLANTED)
    page, before = render_report(run), tables_of(releasable)
    text = html.unescape(re.sub(r"base64,[^\"]*", "", page))
    for hidden in ("second largest", "record 17", "topmost value", "0.999", "0.7382"):
        assert hidden not in text.lower(), hidden
    shown = tables_of(page)
    assert {key: rows for key, rows in shown.items() if key != "hashes"} == {
        key: rows for key, rows in before.items() if key != "hashes"
    }
    assert (
        re.sub(r"data:image[^\"]*", "", page).count("no rule says how to show them outside.") == 3
    )
    assert "4 measures are withheld" in text
    assert "3 measures are withheld" in text
    assert "withheld" not in releasable
    whole = render_report(run, internal=True)
    inside = tables_of(whole)
    rows = [*inside["main"], *inside["risk-measures"]]
    assert {"Mean risk of record 17", "Risk of record 17"} <= {row[0] for row in rows}
    assert "withheld" not in whole


@pytest.mark.slow
@pytest.mark.usefixtures("no_pictures")
def test_one_withheld_measure_is_one(tmp_path):
    page = render_report(planted(tmp_path, PLANTED[:1]))
    # of the main table and of the risk
    assert page.count("1 measure is withheld: no rule says how to show it outside.") == 2


@pytest.mark.slow
def test_two_values_of_one_measure_are_refused(tmp_path):
    with pytest.raises(InputError, match="more than once"):
        render_report(planted(tmp_path, [("risk", "mean-risk", None, None, None, "mean risk")]))


@pytest.mark.quick
def test_numbers_are_readable():
    assert [number(value) for value in (0.123456, 12.0, None, "yes", 123456.0)] == [
        "0.1235",
        "12",
        "n/a",
        "yes",
        "123500",
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("no_pictures")
def test_a_baseline_that_altered_few_records_is_left_out(run, releasable, monkeypatch):
    data = find_confidential(run)
    coded_data = data.assign(income=data["income"].clip(upper=data["income"].quantile(0.97)))
    monkeypatch.setattr(FinishedRun, "baseline", lambda self, name: coded_data)
    study = {**run.manifest["settings"], "top_coding": {"quantile": 0.97, "value": None}}
    tables = {
        name: pd.concat(
            [t, t[t["label"] == "pairwise"].assign(label="top-coding")], ignore_index=True
        )
        for name, t in run.tables.items()
    }
    coded = dataclasses.replace(run, manifest={**run.manifest, "settings": study}, tables=tables)
    coded.__dict__["expected"] = run.expected.assign(**{"top-coding": run.expected["pairwise"]})
    assert tables_of(render_report(coded, internal=True))["main"][0][-1] == "top-coding"
    assert tables_of(render_report(coded))["main"] == tables_of(releasable)["main"]


@pytest.mark.parametrize(
    ("count", "named"), [(0, ">= 1"), (2, "at least 3"), (121, "fewer than minimum_count")]
)
def test_wrong_minimum_counts_are_refused(run, count, named):
    with pytest.raises(InputError, match=named):
        render_report(run, minimum_count=count)


def test_other_data_is_refused(run):
    with pytest.raises(InputError, match="119 records"):
        render_report(run, confidential=confidential_data().iloc[1:])


def command(*arguments):
    app = typer.Typer()
    app.command()(report)
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=True)


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_the_command_writes_once_and_whole(tmp_path):
    folder = copied_run(tmp_path)
    assert command(folder).exit_code == 0
    page = tmp_path / "results-report.html"
    assert page.read_text().startswith("\n<!DOCTYPE html>") or page.read_text().startswith(
        "<!DOCTYPE html>"
    )
    again = command(folder)
    assert isinstance(again.exception, InputError)
    assert "--force" in str(again.exception)
    assert command(folder, "--internal").exit_code == 0
    private = tmp_path / "results-report-CONFIDENTIAL.html"
    assert private.stat().st_mode & 0o077 == 0
    assert command(folder, "--force", "--minimum-count", "12").exit_code == 0
    assert "at least 12 records" in page.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "data.csv",
        "results",
        private.name,
        page.name,
    ]


@pytest.mark.parametrize(
    ("out", "named"),
    [
        ("results/x.html", "finished result"),
        ("x.txt", ".html"),
        ("no/x.html", "folder that exists"),
    ],
)
def test_the_command_refuses_wrong_places(tmp_path, out, named):
    folder = copied_run(tmp_path)
    done = command(folder, "--out", tmp_path / out)
    assert isinstance(done.exception, InputError)
    assert named in str(done.exception)


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_the_command_names_absent_data(tmp_path):
    folder = copied_run(tmp_path)
    (tmp_path / "data.csv").rename(tmp_path / "moved.csv")
    assert "--confidential FILE" in str(command(folder).exception)
    assert command(folder, "--confidential", tmp_path / "moved.csv").exit_code == 0


def test_intervals_of_weighted_schemes_carry_their_caution(run, internal, releasable):
    for page in (internal, releasable):
        text = html.unescape(page)
        note = r'-table">.*?</table>\s*</div>\s*<p class="note">(.*?)</p>'
        found = {
            key: re.search(f'id="{key}{note}', text, re.S).group(1)
            for key in ("interval-1", "interval-4")
        }
        weighted = [scheme for scheme, alpha in run.weights.items() if (alpha < 1).any()]
        assert weighted
        assert "unweighted" not in weighted
        for key, measure in (("interval-1", "mean"), ("interval-4", "coefficient")):
            sentence = measures()[measure].weighted
            assert sentence[1:] in found[key], (key, found[key])
            assert ", ".join(weighted) in found[key]


def test_the_checks_of_the_fits_are_shown_once_and_outside_by_their_rules(
    run, internal, releasable
):
    table = run.tables["fit_check"]
    rows = table[(table["label"] == "unweighted") & (table["check"] != "fits")]
    inside, outside = (tables_of(page)["fit-checks"] for page in (internal, releasable))
    assert inside[0] == [
        "Statistic",
        "Confidential",
        *run.schemes,
        "Effect",
        "Threshold",
        "Verdict",
    ]
    assert outside[0] == ["Statistic", "Confidential", *run.schemes, "Verdict"]
    assert len(inside) == len(outside) == len(rows) + 1
    np.testing.assert_allclose(
        sorted(read_number(row[4]) for row in inside[1:]), sorted(rows["effect"]), atol=5.1e-4
    )
    assert (
        [row[-1] for row in inside[1:]] == [row[-1] for row in outside[1:]] == ["fits"] * len(rows)
    )
    shown = {row[0]: row[1] for row in outside[1:]}
    assert (
        shown["Standard deviation"]
        == shown["Largest value over the largest confidential one"]
        == "not shown"
    )
    assert shown["Share of zero"] == "fewer than 10"
    assert shown["Share of positive"] == "all but fewer than 10"
    for page in (internal, releasable):
        assert "unweighted: the model fits." in page
        assert 'class="alarm"' not in page
    assert tables_of(releasable)["main"][1] == ["Model fits", "n/a", "yes", "n/a"]


@pytest.mark.long
def test_figures_are_saved_on_request(run, tmp_path):
    made = make_report(run)
    written = made.save_figures(tmp_path / "figures")
    assert {path.suffix for path in written} == {".svg", ".pdf", ".png"}
    assert {path.stem for path in written} == {figure.key for figure in made.figures}
    assert made.save_figures(tmp_path / "figures") == written


def test_columns_of_numbers_stand_to_the_right_whatever_is_said_about_them():
    cells = pd.DataFrame(
        {
            "of": ["a", "b", "c"],
            "counts": ["about 1,170", "<0.001", "0.184 ± <0.001"],
            "words": ["yes", "NO", "n/a"],
        }
    )
    assert make_table("key", "caption", cells).numeric == (False, True, False)


@pytest.mark.quick
def test_no_number_is_minus_zero():
    assert View(False, 10, 1000, {}).check("check-correlation", -0.001, 1000) == "0.00"
