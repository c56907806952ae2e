"""Every command that an output prints is one that can be typed there: each is collected from real
outputs and run.
"""

import html
import re
import shlex
import shutil
from dataclasses import replace

import pandas as pd
import pytest
from command_line import riskweighted
from finished_run import confidential_data, finished_run
from study_text import study_text

from riskweighted.reports.brief import brief
from riskweighted.runs.finished import load_run

_END = r"(?=  \(|\s+\(|[;`']|, then |: |$)"
SAID = re.compile(
    r"riskweighted "
    r"((?:init|check|run|advise|tune|sweep|weights|assess|folds|reidentify|report|summary|release) "
    r".*?)" + _END
)
SMALL = study_text(
    '[weights]\nschemes = ["unweighted", "marginal"]',
    "[evaluation]\nresamples = 10",
    draws=300,
    tune=200,
).replace("L = 3", "L = 2")


def commands_in(text):
    """The commands of a text, each once; a word that is shown in a help, or named without its
    arguments, is none.
    """
    lines = (line.strip().lstrip("# ") for line in text.splitlines())
    found = [
        command.strip(" .,") for line in lines for command in SAID.findall(html.unescape(line))
    ]
    return list(
        dict.fromkeys(
            each.removesuffix(")") if each.count(")") > each.count("(") else each for each in found
        )
    )


def run_as_typed(text, folder, **named):
    """A printed command with the words that it leaves open in place of others."""
    words = [named.get(word, word) for word in shlex.split(text)]
    done = riskweighted(*words, cwd=folder)
    assert done.returncode in (0, 3), f"{text}: {done.stderr}"
    return done.stdout


def follow(text, folder, seen=(), **named):
    """Run what a text names, and what that names in turn; what was run stands in the list that
    comes back.
    """
    seen = list(seen)
    for command in commands_in(text):
        if command not in seen:
            seen.append(command)
            said = run_as_typed(command, folder, **named)
            # a help names what can be typed anywhere
            seen = seen if command.endswith(" -h") else follow(said, folder, seen, **named)
    return seen


@pytest.fixture
def folder(tmp_path):
    confidential_data().to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "study.toml").write_text(SMALL)
    return tmp_path


def test_from_a_study_to_its_report_each_command_is_the_one_that_was_printed(folder):
    seen = follow(
        riskweighted("check", "study.toml", cwd=folder).stdout,
        folder,
        RUN="results/study",
        **{"STUDY.toml": "study.toml"},
    )
    assert seen[0] == "run study.toml"
    assert "summary results/study" in seen
    assert {"advise results/study", "release results/study"} & {
        " ".join(command.split()[:2]) for command in seen
    }
    assert (folder / "results" / "study" / "manifest.json").is_file()


@pytest.fixture
def copied(tmp_path):
    """A finished run whose data lie in another folder than it does, and not where its study does
    either.
    """
    shutil.copytree(finished_run().parent, tmp_path / "made")
    return tmp_path


@pytest.mark.slow
def test_what_the_page_names_next_is_typed_with_the_run_s_folder(copied):
    run = "made/results"
    page = run_as_typed(f"report {run} --out made/page.html", copied) and (
        copied / "made" / "page.html"
    ).read_text(encoding="utf-8")
    commands = commands_in(re.sub("<[^>]*>", "\n", page))
    assert commands, "the page says what comes next"
    for command in commands:
        run_as_typed(command, copied, RUN=run, **{"STUDY.toml": "study.toml"})


@pytest.mark.long
def test_init_tune_sweep_folds_and_assess_print_what_can_be_typed(folder):
    begun = riskweighted(
        "init", "data.csv", "--synthetic", "income", "--out", "begun.toml", cwd=folder
    )
    assert commands_in(begun.stdout) == ["check begun.toml"]
    assert commands_in((folder / "begun.toml").read_text()) == ["check FILE", "run FILE"]
    run_as_typed("check begun.toml", folder)
    tuned = "tune study.toml --target isolated-risk --target-max 0.5 --family mix"
    assert "run study.toml" in follow(run_as_typed(tuned, folder), folder)
    # of a release that was typed, where the scheme passed
    shutil.rmtree(folder / "pack", ignore_errors=True)
    assert any(
        "tuned-results" in command
        for command in follow(run_as_typed(f"{tuned} --out tuned", folder), folder)
    )
    (folder / "sweep.toml").write_text(
        'study = "study.toml"\ngrid = { "release.L" = [2, 3], "weights.schemes" = ["marginal"] }\n'
    )
    follow(run_as_typed("sweep sweep.toml --workers 1", folder), folder)
    assert (folder / "results" / "sweep" / "results.csv").is_file()
    for place in (1, 2):
        confidential_data().sample(frac=1, random_state=place).to_csv(
            folder / f"synthetic_{place}.csv", index=False
        )
    files = "synthetic_1.csv synthetic_2.csv"
    printed = run_as_typed(f"assess data.csv {files} --known group --synthetic income", folder)
    assert [command.split()[0] for command in follow(printed, folder)] == ["folds"]
    guide = (folder / "folds" / "README.txt").read_text()
    for fold in (folder / "folds").glob("[0-9]*"):
        shutil.copy(fold / "rows.csv", fold / "synthetic_1.csv")
        rows = pd.read_csv(fold / "rows.csv")
        for place in (1, 2):
            rows.assign(income=1000.5).to_csv(fold / f"synthetic_{place}.csv", index=False)
    for command in commands_in(guide):
        typed = (
            command.replace("SYNTHETIC...", files)
            .replace("A,B", "group")
            .replace("DATA", "data.csv")
        )
        run_as_typed(typed, folder)


@pytest.mark.long
def test_a_demonstration_is_released_as_the_demo_says(tmp_path):
    done = riskweighted("demo", "--out", "results/demo", cwd=tmp_path)
    seen = follow(done.stdout, tmp_path)
    assert {"release", "summary"} <= {command.split()[0] for command in seen}
    assert (tmp_path / "pack" / "manifest.json").is_file()


def test_a_reproducible_run_of_a_file_is_not_said_to_be_released():
    run = load_run(finished_run())
    for reproducible, said in ((False, "release"), (True, "advise")):
        manifest = run.manifest | {
            "settings": {**run.manifest["settings"], "reproducible": reproducible}
        }
        *_, following = brief(replace(run, manifest=manifest))
        assert following.startswith(f"Next: riskweighted {said} ")
