"""What all commands have in common: help, examples, exit codes, how much they say, JSON, lines of a
log.
"""

import errno
import json
import os
import re
import shlex
import subprocess
import sys
import warnings

import pandas as pd
import pytest
from command_line import LOG_LINE, riskweighted, without_log
from finished_run import confidential_data, finished_run
from study_text import study_text
from typer.testing import CliRunner

from riskweighted.commands.main import PANELS, app, main
from riskweighted.commands.registering import EXAMPLES, EXIT_CODES
from riskweighted.commands.release import schemes_of
from riskweighted.commands.terminal import default_out
from riskweighted.common.errors import InputError

COMMANDS = [command.__name__ for commands in PANELS.values() for command in commands]
STUDY = study_text(
    '[weights]\nschemes = ["unweighted", "pairwise"]',
    "[evaluation]\nresamples = 50",
    reproducible=True,
)


@pytest.fixture
def folder(tmp_path):
    confidential_data().to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def command(*arguments, columns=80):
    return CliRunner().invoke(
        app,
        list(map(str, arguments)),
        terminal_width=columns,
        env={"COLUMNS": str(columns), "TERM": "dumb"},
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples_exit_codes_and_both_names(name):
    done = command(name, "-h")
    assert done.exit_code == 0
    assert done.output == command(name, "--help").output
    text = " ".join(re.sub(r"[│\n]", " ", done.output).split())
    for option in ("--quiet", "--verbose", "--json", "-h", "--help"):
        assert option in text
    for code, meaning in EXIT_CODES.items():
        assert f"{code} {meaning}" in text
    for example in EXAMPLES[name]:
        assert " ".join(example.split()) in text
    assert max(map(len, done.output.splitlines())) <= 80


def test_help_of_all_commands_names_the_first_steps():
    done = command("-h")
    assert done.output == command("--help").output
    for text in (
        "Start here",
        "riskweighted init households.csv",
        "--install-completion",
        "--show-completion",
        *COMMANDS,
    ):
        assert text in done.output


@pytest.mark.parametrize(
    ("name", "example"),
    [(name, example) for name, examples in EXAMPLES.items() for example in examples],
)
def test_examples_name_options_that_there_are(name, example):
    words = shlex.split(example)
    assert words[:2] == ["riskweighted", name]
    options = {word for word in words if word.startswith("--")}
    shown = command(name, "--help", columns=200).output
    assert options <= set(re.findall(r"--[A-Za-z-]+", shown))


def test_quiet_and_verbose_exclude_each_other():
    done = command("synthesizers", "-q", "-v")
    assert isinstance(done.exception, InputError)
    assert "choose one" in str(done.exception)


def ended(monkeypatch, capsys, *arguments):
    """The whole command line in this process: exit code, stdout, stderr."""
    monkeypatch.setattr(sys, "argv", ["riskweighted", *arguments])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # which `main` replaces
    with pytest.raises(SystemExit) as left:
        main()
    return left.value.code, *capsys.readouterr()


@pytest.mark.parametrize("name", [*COMMANDS, "nope"])
def test_an_error_is_an_object_too_where_one_is_asked_for(monkeypatch, capsys, name):
    code, shown, told = ended(monkeypatch, capsys, name, "-q", "-v", "--json")
    assert code == 2
    assert told.startswith("error: ")
    assert json.loads(shown) == {
        "command": name if name in COMMANDS else "riskweighted",
        "error": told.removeprefix("error: ").removesuffix("\n"),
        "exit_code": 2,
    }
    assert ended(monkeypatch, capsys, name, "-q", "-v") == (2, "", told)


@pytest.mark.parametrize(
    ("raised", "code", "says"),
    [
        (KeyboardInterrupt(), 130, "interrupted; fits and cells"),
        (ZeroDivisionError("98765"), 1, "its text is withheld"),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            2,
            "No space left on device; fits and cells that a run or a sweep had finished",
        ),
        (
            OSError(errno.EDQUOT, "Disk quota exceeded"),
            2,
            "make room, and the same command goes on from there",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "x.csv"),
            2,
            "cannot read or write 'x.csv': Permission denied",
        ),
    ],
)
def test_what_is_said_of_faults_and_of_a_full_disk(monkeypatch, capsys, raised, code, says):
    def stop(*arguments, **options):
        raise raised

    monkeypatch.setattr("riskweighted.commands.main.app", stop)
    found, shown, told = ended(monkeypatch, capsys, "run", "study.toml", "--out", "x", "--json")
    assert found == json.loads(shown)["exit_code"] == code
    assert says in told
    assert says in json.loads(shown)["error"]
    assert "98765" not in shown + told


@pytest.mark.parametrize(
    ("command_line", "kept"),
    [
        ("run study.toml", True),
        ("sweep s.toml", True),
        ("release RUN", False),
        ("tune s.toml", False),
    ],
)
@pytest.mark.parametrize(
    "raised",
    [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")],
    ids=["Ctrl-C", "full"],
)
def test_only_a_command_that_keeps_what_it_finished_says_so(
    monkeypatch, capsys, command_line, kept, raised
):
    def stop(*arguments, **options):
        raise raised

    monkeypatch.setattr("riskweighted.commands.main.app", stop)
    told = ended(monkeypatch, capsys, *command_line.split())[2]
    assert ("goes on from there" in told, "nothing was kept" in told) == (kept, not kept)


def test_where_nothing_may_be_written_beside_a_study_another_folder_is_asked_for(
    monkeypatch, tmp_path
):
    assert default_out(tmp_path / "study.toml") == tmp_path / "results" / "study"
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(InputError, match="--out"):
        default_out(tmp_path / "study.toml")


def test_a_manner_ends_with_its_command():
    assert json.loads(command("synthesizers", "--json").output)["command"] == "synthesizers"
    assert command("synthesizers").output.startswith("counts")


AS_INSTALLED = (
    "import sys; sys.argv[0] = 'riskweighted'; from riskweighted.commands.main import main; main()"
)


def in_bash(tmp_path, *arguments, **environment):
    """The command by its own name, started by bash as at a prompt, with a home of its own."""
    line = shlex.join([sys.executable, "-c", AS_INSTALLED, *arguments])
    environment = os.environ | {"HOME": str(tmp_path)} | environment
    return subprocess.run(
        ["bash", "-c", f"{line}; exit $?"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_completion_of_bash_is_shown_and_installed(tmp_path):
    shown = in_bash(tmp_path, "--show-completion")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "_RISKWEIGHTED_COMPLETE=complete_bash" in shown.stdout
    installed = in_bash(tmp_path, "--install-completion")
    assert installed.returncode == 0, installed.stdout + installed.stderr
    assert (
        "_RISKWEIGHTED_COMPLETE" in (tmp_path / ".bash_completions" / "riskweighted.sh").read_text()
    )


@pytest.mark.parametrize(
    ("words", "offered"),
    [("riskweighted sy", ["synthesizers"]), ("riskweighted run --dry", ["--dry-run"])],
)
def test_completion_offers_commands_and_options(tmp_path, words, offered):
    asked = {
        "_RISKWEIGHTED_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    assert in_bash(tmp_path, **asked).stdout.split() == offered


def only_json(done, name):
    """The one object on stdout; nothing on stderr but lines of a log, warnings and notes."""
    found = json.loads(done.stdout)
    assert found["command"] == name
    rest = re.sub(r"(?m)^(warning|note): .*\n", "", without_log(done.stderr))
    assert rest == ""
    return found


def test_json_of_what_is_installed(tmp_path):
    found = only_json(riskweighted("synthesizers", "--json", cwd=tmp_path), "synthesizers")
    assert {"name": "sequential", "several": True}.items() <= {
        key: found["synthesizers"][-1][key] for key in ("name", "several")
    }.items()
    assert {one["name"] for one in found["synthesizers"]} >= {"two-part", "counts"}


@pytest.mark.slow
def test_check_is_the_dry_run(folder):
    before = sorted(folder.iterdir())
    checked = riskweighted("check", "study.toml", "--estimate", cwd=folder)
    dry = riskweighted("run", "study.toml", "--out", "x", "--dry-run", cwd=folder)
    assert checked.returncode == dry.returncode == 0, checked.stderr
    names = [line[:22].strip() for line in checked.stdout.splitlines()]
    assert names.pop().startswith("Next: riskweighted run")
    assert [*names[:-1], "results", names[-1]] == [
        line[:22].strip() for line in dry.stdout.splitlines()
    ]
    assert names[:3] == ["released unaltered", "synthesized", "stays"]
    assert {"records", "known patterns"} <= set(names)
    assert re.match(LOG_LINE, checked.stderr)
    assert (
        only_json(riskweighted("check", "study.toml", "--json", cwd=folder), "check")["estimate"]
        is None
    )
    found = only_json(
        riskweighted("check", "study.toml", "--estimate", "--json", cwd=folder), "check"
    )
    assert (found["records"], found["patterns"], found["results"]) == (120, 2, None)
    assert found["estimate"]["total"] == pytest.approx(sum(found["estimate"]["seconds"].values()))
    assert found["shift"]["pairwise"][0]["variable"] == "income"
    assert (
        riskweighted("check", "study.toml", "-q", cwd=folder).stdout
        == "Nothing was written: this was a dry run.\n"
    )
    assert sorted(folder.iterdir()) == before


@pytest.mark.long
@pytest.mark.slow
def test_a_run_says_as_much_as_it_is_asked_to(folder):
    quiet = riskweighted("run", "study.toml", "--out", "quiet", "-q", cwd=folder)
    assert quiet.returncode == 0, quiet.stderr
    assert quiet.stdout.startswith("Results: quiet/")
    assert quiet.stdout.count("\n") == 1
    assert without_log(quiet.stderr) == quiet.stderr
    done = riskweighted("run", "study.toml", "--out", "json", "--json", cwd=folder)
    steps = [
        line for line in done.stderr.splitlines() if re.match(LOG_LINE.removesuffix(r"\n"), line)
    ]
    assert any("done in" in line and "unweighted" in line for line in steps)
    found = only_json(done, "run")
    assert (found["exit_code"], found["results"], found["converged"]) == (0, "json", True)
    assert [row["label"] for row in found["summary"]] == ["confidential", "unweighted", "pairwise"]
    assert found["summary"][0]["converged"] is None
    loud = riskweighted("run", "study.toml", "--out", "loud", "--verbose", cwd=folder, columns=60)
    lines = [line for line in loud.stderr.splitlines() if not line.startswith("note: ")]
    assert all(re.fullmatch(LOG_LINE, f"{line}\n") for line in lines)
    assert (
        sum("begins" in line for line in lines) == sum("at the peak" in line for line in lines) > 4
    )
    assert "\x1b" not in loud.stderr + loud.stdout
    assert "\r" not in loud.stderr + loud.stdout
    assert max(map(len, loud.stdout.splitlines())) <= 60
    assert "…" not in loud.stdout


@pytest.mark.slow
def test_json_of_a_finished_run(tmp_path):
    run = finished_run()
    found = only_json(riskweighted("summary", run, "--json", cwd=tmp_path), "summary")
    assert set(found["rows"][0]) == {"measure", "values", "definition"}
    assert set(found["rows"][0]["values"]) == {"confidential", "unweighted", "pairwise"}
    risk = next(
        row["values"] for row in found["rows"] if row["measure"].startswith("Expected risk")
    )
    assert all(isinstance(value, float) for value in risk.values())
    assert [one["scheme"] for one in found["verdicts"]] == ["unweighted", "pairwise"]
    found = only_json(riskweighted("accountant", run, "--json", cwd=tmp_path), "accountant")
    assert found["proved"] == []
    assert found["measured"][0]["datasets"] == 3
    found = only_json(
        riskweighted("report", run, "--out", tmp_path / "r.html", "--json", cwd=tmp_path), "report"
    )
    assert found["results"] == str(tmp_path / "r.html")
    pack = riskweighted(
        "release",
        run,
        "--scheme",
        "pairwise",
        "--out",
        tmp_path / "pack",
        "--accept-uniques",
        "--json",
        cwd=tmp_path,
    )
    assert only_json(pack, "release")["check"][0]["files"] == 3


@pytest.mark.quick
def test_files_of_a_pack_are_of_the_schemes_of_the_run():
    files = pd.Series(["data/mix-plus-t-0.5/x.csv", "data/unweighted/y.csv"])
    schemes = ["unweighted", "mix+(t=0.5)"]
    assert schemes_of(files, schemes).tolist() == ["mix+(t=0.5)", "unweighted"]


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, pytest.param(100, marks=pytest.mark.long)])
def test_tables_of_a_finished_run_keep_to_the_width(tmp_path, width):
    run = finished_run()
    shown = riskweighted("summary", run, "--full", cwd=tmp_path, columns=width).stdout
    assert max(map(len, shown.splitlines())) <= width
    assert "…" not in shown
    assert "mean over records of IR" in " ".join(shown.split())
    quiet = riskweighted("summary", run, "--quiet", cwd=tmp_path, columns=width).stdout
    assert "mean over records of IR" not in quiet
    assert "Converged" in quiet
    short = riskweighted("summary", run, cwd=tmp_path, columns=width).stdout
    assert len(short.splitlines()) < len(shown.splitlines()) / 2
    assert "Disclosure beyond" in " ".join(short.split())
    assert "summary.csv" not in short


def test_json_of_weights_and_of_an_assessment(folder):
    options = ("--known", "group", "--synthetic", "income")
    found = only_json(
        riskweighted("weights", "data.csv", *options, "--out", "w.csv", "--json", cwd=folder),
        "weights",
    )
    assert found["distribution"][0]["records"] == 120
    assert found["results"] == "w.csv"
    done = riskweighted("assess", "data.csv", "data.csv", *options, "--json", cwd=folder)
    found = only_json(done, "assess")
    assert found["results"] is None
    assert {"label", "key", "value", "definition"} <= set(found["measures"][0])
    wrong = riskweighted("assess", "data.csv", "none.csv", *options, "--json", cwd=folder)
    assert wrong.returncode == 2
    assert json.loads(wrong.stdout) == {
        "command": "assess",
        "error": "there is no file 'none.csv'",
        "exit_code": 2,
    }
    assert wrong.stderr.endswith("error: there is no file 'none.csv'\n")


def test_an_error_is_the_last_line_and_the_only_one_without_a_stamp(folder):
    (folder / "data.csv").write_text("group,income\na,1\n")
    done = riskweighted("check", "study.toml", cwd=folder)
    assert done.returncode == 2
    assert re.fullmatch(r"error: [^\n]+\n", without_log(done.stderr))


@pytest.mark.slow
def test_json_of_a_sweep_and_of_a_search(folder):
    (folder / "sweep.toml").write_text('study = "study.toml"\n[grid]\n"release.L" = [2]\n')
    found = only_json(
        riskweighted(
            "sweep", "sweep.toml", "--out", "swept", "--workers", "1", "--json", cwd=folder
        ),
        "sweep",
    )
    assert (found["cells"], found["failed"], found["results"]) == (3, 0, "swept")
    options = ("--target", "isolated-risk", "--target-max", "0.05", "--family", "mix")
    found = only_json(riskweighted("tune", "study.toml", *options, "--json", cwd=folder), "tune")
    assert (found["target"], found["results"], found["families"][0]["family"]) == (
        "isolated-risk",
        None,
        "mix",
    )
