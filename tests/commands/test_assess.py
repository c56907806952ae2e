"""`assess`: may this leave, said first by terminal, machine and page alike; a planted copy is found
and named, and codes are asked for.
"""

import html
import json
import re
import subprocess
import sys

import pytest
from assessed import assessed_page, planted_files
from typer.testing import CliRunner

from riskweighted.commands.main import app

pytestmark = pytest.mark.usefixtures("no_pictures")


@pytest.fixture
def no_pictures(monkeypatch):
    monkeypatch.setattr(
        "riskweighted.reports.page_blocks.inline_svg", lambda figure, key, words: "<svg></svg>"
    )


@pytest.fixture
def files(tmp_path):
    return planted_files(tmp_path)


def text_of(markup):
    return html.unescape(" ".join(re.sub("<[^>]*>", " ", markup).split()))


def rows_of(page, kind):
    """The cells of a table of the answer."""
    (table,) = re.findall(rf'<table class="{kind}.*?</table>', page, re.S)
    return [
        [text_of(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)]
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.S)
    ]


def test_a_planted_copy_is_named_on_the_page_and_fails(tmp_path):
    page = assessed_page(tmp_path)
    (section,) = re.findall(r'<section aria-labelledby="answer".*?</section>', page, re.S)
    assert text_of(section).startswith("May this be released?")
    (noisy, donors) = rows_of(section, "verdicts")[1:]
    assert noisy[:2] == ["noisy", "Refuse"]
    assert donors[:2] == ["donors", "Not judged"]
    assert re.search(r"\d+ % of income lie within 5 % of the record's own value", noisy[2])
    assert "income lie within" not in donors[2]
    assert re.search(r"Largest reason: noisy: \d+ % of income", text_of(section))
    assert page.count("CONFIDENTIAL - do not release") == 1
    assert "</section>\n<nav" in page  # nothing stands before the answer


def test_every_variable_is_a_row_of_the_answer_beside_yardsticks(tmp_path):
    page = assessed_page(tmp_path)
    figures = rows_of(page, "figures")
    assert figures[0] == [
        "Measure",
        "noisy",
        "donors",
        "confidential itself",
        "independent of known",
    ]
    costs = [row[0] for row in figures if row[0].startswith("Cost")]
    assert [any(name in cost for cost in costs) for name in ("income", "cigs")] == [True, True]
    copied = next(row for row in figures if row[0].startswith("Copied records"))
    assert copied[3] == "1.000"
    used = set(re.findall(r'aria-describedby="(term-\d+)-text"', page))
    entries = set(re.findall(r'<dd id="(term-\d+)-text"', page))
    assert used == entries != set()


def test_columns_that_look_as_if_they_had_codes_are_named_everywhere(tmp_path, files):
    page = assessed_page(tmp_path)
    told = re.findall(r"<b>Warning\.</b> <bdi>(\w+) has 1 likely code .*?--codes", page)
    assert told == ["income", "cigs"]
    found = json.loads(CliRunner().invoke(app, [*files, "--json"]).stdout)
    assert [note.split()[0] for note in found["notes"]] == told
    given = json.loads(
        CliRunner()
        .invoke(app, [*files, "--codes", "income=-8", "--codes", "cigs=-8", "--json"])
        .stdout
    )
    assert given["notes"] == []
    assert {name: told["verdict"] for name, told in given["disclosure"].items()} == {
        "noisy": "refuse",
        "donors": "not judged",
    }
    assert all(
        set(told) == {"verdict", "reasons", "D", "upper"} and told["reasons"]
        for told in given["disclosure"].values()
    )
    assert {row["label"] for row in given["disclosure_rows"]} == {"noisy", "donors"}


@pytest.mark.parametrize(
    "options",
    [(), ("--codes", "income=-8", "--codes", "cigs=-8")],
    ids=["without codes", "with codes"],
)
def test_the_terminal_says_what_the_page_says_in_eight_lines(files, options):
    done = CliRunner().invoke(app, [*files, *options])
    lines = done.stdout.splitlines()
    assert len(lines) <= 8
    assert lines[0].split()[:2] == ["noisy", "refuse"]
    assert lines[1].split()[:3] == ["donors", "not", "judged"]
    assert any(line.startswith("Why: noisy: ") for line in lines)
    assert any(line.startswith("Next: ") for line in lines)


def test_a_tool_alone_that_is_not_judged_is_told_how_it_can_be(tmp_path, files):
    alone = [*files[:2], "--tool", files[5], *files[6:]]
    done = CliRunner().invoke(app, [*alone, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "out" / "confidential" / "report.html").read_text()
    (following,) = re.findall(r'<p class="next">(.*?)</p>', page)
    assert text_of(following).startswith("Next: riskweighted folds ")
    assert text_of(following).endswith("--synthetic income,cigs --out folds")
    # a long path is broken across lines
    assert "".join(text_of(following).split()) in "".join(done.stdout.split())


@pytest.mark.filterwarnings("ignore:rows of")
def test_rows_that_do_not_pair_are_said_to_be_left_out(tmp_path):
    page = assessed_page(tmp_path, "--unpaired", "donors")
    assert "Left out of donors, whose rows do not pair" in html.unescape(page)
    assert rows_of(page, "verdicts")[2][1] == "Not judged"


def test_the_terminal_needs_no_package_of_pages(tmp_path, files):
    """Without --out the template engine is not loaded."""
    code = (
        "import sys; sys.modules['jinja2'] = None; "
        "from typer.testing import CliRunner; from riskweighted.commands.main import app; done "
        f"= CliRunner().invoke(app, {files!r}); "
        "print(done.output); sys.exit(done.exit_code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "noisy" in done.stdout
