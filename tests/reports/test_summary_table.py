"""The main table in its three forms, with names of every kind."""

import io
import re

import pytest
import typer
from finished_run import finished_run
from hypothesis import given, strategies as st
from rich.console import Console
from typer.testing import CliRunner

from riskweighted.commands.summary import summary
from riskweighted.common.errors import InputError
from riskweighted.common.text import escape_latex, escape_markdown, plain
from riskweighted.reports.summary_table import (
    SummaryTable,
    summary_table,
    to_latex,
    to_markdown,
    to_terminal,
)
from riskweighted.runs.finished import load_run

pytestmark = pytest.mark.versions

HOSTILE = "$_%&#~^\\{}<b>\"quoted\" 'x' |`"
NAMES = [HOSTILE, "🙂", "מחיר", "\u202eevil\u2066", "\x1b[31mred", "two\nlines", "long" * 75]
ROWS = [(plain(name), ("1", "-", "yes"), f"definition of {plain(name)}") for name in NAMES]
TABLE = SummaryTable(NAMES[0], tuple(NAMES[1:4]), (*ROWS, ("a", ("1", "2", "3"), "b")))


def printed(table, width=100):
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(to_terminal(table))
    return console.file.getvalue()


@pytest.mark.slow
def test_the_table_of_a_run_is_the_summary_turned():
    run = load_run(finished_run())
    table = summary_table(run, units={"income": "1,000 $"})
    own = run.tables["summary"].set_index("label")
    assert table.columns == ("confidential", "unweighted", "pairwise")
    assert len(table.rows) == own.shape[1]
    cells = {title: row for title, row, _ in table.rows}
    assert cells["Mean risk in these datasets (0 to 1)"] == tuple(
        f"{value:.3f}" for value in own["mean risk"]
    )
    assert cells["Converged"] == ("-", "yes", "yes")
    assert cells["Records at risk over 0.5 in these datasets (of 120 records)"] == tuple(
        f"{value:.0f}" for value in own["records over 0.5"]
    )
    assert cells["Mean of income (1,000 $)"] == tuple(
        f"{value:,.0f}" for value in own["mean of income"]
    )
    definitions = {title: definition for title, _, definition in table.rows}
    assert definitions["Mean risk in these datasets (0 to 1)"].startswith(
        "mean over records of IR; higher is riskier"
    )
    assert [text.partition(":")[0] for text in table.terms] == [
        "E[IR]",
        "IR",
        "isolated records",
        "g",
        "the attacks name the value",
        "x",
    ]
    assert "Reiter 2003" in definitions["Coefficient C(size)[T.2] of income"]
    assert "pooled bootstrap, 3 x 50" in definitions["Mean of income (1,000 $)"]
    assert summary_table(str(run.folder), units={"income": "1,000 $"}) == table
    with pytest.raises(InputError, match="units names 'nope'; the table holds 'income'"):
        summary_table(run, units={"nope": "x"})


@pytest.mark.slow
def test_the_command_prints_each_form(tmp_path):
    app = typer.Typer()
    app.command()(summary)
    for form, expected in (
        ("terminal", "Thresholds: the study states none"),
        ("markdown", "|:--|--:|--:|--:|"),
        ("latex", r"\toprule"),
    ):
        done = CliRunner().invoke(
            app, [str(finished_run()), "--format", form, "--measured-in", "income=$"]
        )
        assert done.exit_code == 0, done.exception
        assert expected in done.stdout


@pytest.mark.quick
def test_markdown_keeps_its_shape_and_shows_text():
    lines = to_markdown(TABLE).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 2 + len(TABLE.rows)
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}
    for line in lines[1:]:
        assert not re.search(r"(?<!\\)[<>`$_]", line), line
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x1b]", "".join(lines))
    assert "long" * 75 in to_markdown(TABLE)
    assert "🙂" in to_markdown(TABLE)


@pytest.mark.quick
def test_latex_by_hand():
    assert escape_latex("a_b & 5 % of $x^2$ ~ #1 {y} \\z") == (
        r"a\_\allowbreak{}b \& 5 \% of \$x\textasciicircum{}2\$ \textasciitilde{} \#1 \{y\} "
        r"\textbackslash{}z"
    )
    assert escape_latex("<i>") == r"\textless{}i\textgreater{}"
    assert escape_latex("a--b---c") == "a-{}-b-{}-{}-c"
    assert escape_latex("x" * 45) == r"\allowbreak{}".join(["x" * 20, "x" * 20, "x" * 5])


@given(st.text(max_size=40))
def test_latex_leaves_no_character_with_a_meaning(text):
    escaped = escape_latex(text)
    rest = re.sub(r"\\(text[a-z]+|allowbreak)\{\}|\\[{}$&#%_]|-\{\}(?=-)", "", escaped)
    assert not re.search(r"[\\{}$&#%_~^\n\r]", rest)


@given(st.text(max_size=40))
def test_markdown_leaves_no_character_with_a_meaning(text):
    assert not re.search(r"[`*_{}\[\]<>|&~^$#!\n\r]", re.sub(r"\\.", "", escape_markdown(text)))


@pytest.mark.quick
def test_latex_keeps_its_shape():
    text = to_latex(TABLE)
    body = text.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
    assert len(body) == len(TABLE.rows)
    for line in body:
        assert len(re.findall(r"(?<!\\)&", line)) == 3
        assert line.endswith(r" \\")
    assert "XeLaTeX" in text.splitlines()[0]
    for part in ("toprule", "midrule", "bottomrule"):
        assert text.count(f"\\{part}") == 1
    bare = re.sub(r"\\.", "", text)
    assert bare.count("{") == bare.count("}")


@pytest.mark.parametrize("width", [60, 100])
def test_the_terminal_is_not_steered(width):
    text = printed(TABLE, width)
    assert all(len(line) <= width for line in text.splitlines())
    assert "\x1b[31m" not in text
    assert "\u202e" not in text
    assert "🙂" in text
    assert "<b>" in text
    assert re.sub(r"[\s│]", "", "long" * 75)[:20] in text
