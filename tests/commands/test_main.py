"""The command line as a user meets it: in a process of its own."""

import json
import os
import re
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import Command, riskweighted, without_log
from study_text import study_text

pytestmark = pytest.mark.versions

SECRET = "98765.4321"
STUDY = study_text(
    '[evaluation]\nregression = "income ~ group"\ncoefficient = "group[T.b]"\nresamples = 50',
    "[top_coding]\nquantile = 0.9",
    reproducible=True,
)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b"], 120)
    income = np.round(np.exp(3 + (group == "b") + 0.5 * rng.normal(size=120)), 3)
    income[0] = float(SECRET)
    pd.DataFrame({"id": np.arange(120), "group": group, "income": income}).to_csv(
        tmp_path / "data.csv", index=False
    )
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def files(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def assert_refused(done, folder, before, *named):
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert without_log(done.stderr).startswith("error: ")
    assert without_log(done.stderr).count("\n") == 1
    for name in named:
        assert name in done.stderr
    assert SECRET not in done.stderr
    assert "Traceback" not in done.stderr
    assert set(files(folder)) == before


@pytest.mark.long
@pytest.mark.slow
def test_run_from_file_to_tables_and_again_on_another_number_of_cores(folder):
    done = riskweighted("run", "study.toml", "--out", "results", "--cores", 1, "--full", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "whack-a-mole" in done.stdout
    assert SECRET not in done.stdout + done.stderr
    result = folder / "results"
    original = pd.read_csv(folder / "data.csv")
    for scheme in ("unweighted", "marginal", "pairwise"):
        for number in (1, 2, 3):
            frame = pd.read_csv(result / "synthetic" / scheme / f"synthetic_{number}.csv")
            pd.testing.assert_frame_equal(frame.drop(columns="income"), original[["group"]])
            assert (frame["income"] != original["income"]).mean() > 0.9
    assert sorted(path.name for path in (result / "synthetic").iterdir()) == [
        "marginal",
        "pairwise",
        "unweighted",
    ]
    assert (result / "confidential" / "top-coding.csv").is_file()
    assert (result / "confidential").stat().st_mode & 0o077 == 0
    assert not (folder / "results.partial").exists()
    manifest = json.loads((result / "manifest.json").read_text())
    assert manifest["settings"]["synthesizer"]["transform"] == "log"
    assert set(manifest["files"]) == set(files(result)) - {"manifest.json"}
    for name, content in files(result / "tables").items():
        assert SECRET.encode() not in content, name

    # An existing folder is refused, and with --force replaced by the same bytes.
    before = set(files(folder))
    assert_refused(
        riskweighted("run", "study.toml", "--out", "results", cwd=folder),
        folder,
        before,
        "'results' exists",
        "--force",
    )
    first = files(result)
    again = riskweighted(
        "run", "study.toml", "--out", "results", "--force", "--cores", 2, cwd=folder
    )
    assert again.returncode == 0, again.stderr
    assert files(result) == first
    other = riskweighted("run", "study.toml", "--out", "other", "--seed", 4, cwd=folder)
    assert other.returncode == 0, other.stderr
    assert (
        files(folder / "other")["synthetic/marginal/synthetic_1.csv"]
        != first["synthetic/marginal/synthetic_1.csv"]
    )


@pytest.mark.slow
def test_an_interrupted_run_goes_on_where_it_stopped(folder):
    (folder / "long.toml").write_text(STUDY.replace("draws = 100", "draws = 3000000"))
    with Command("run", "long.toml", "--out", "results", "--verbose", cwd=folder) as command:
        end = time.monotonic() + 300
        while not re.search("fitting unweighted .*: begins", command.stderr):
            assert time.monotonic() < end, command.stderr
            time.sleep(0.1)
        time.sleep(1)  # sampling
        assert (folder / "results.partial").exists()
        os.kill(command.pid, signal.SIGINT)
        done = command.ended()
    assert done.returncode == 130, done.stderr
    assert "the same command goes on" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "results").exists()


@pytest.mark.slow
def test_a_run_that_did_not_converge_is_published_and_exits_with_3(folder):
    (folder / "study.toml").write_text(
        STUDY.replace("draws = 100\ntune = 100", "draws = 10\ntune = 10")
    )
    done = riskweighted("run", "study.toml", "--out", "results", cwd=folder)
    assert done.returncode == 3, done.stderr
    assert "not converged: 'unweighted', 'marginal', 'pairwise'" in done.stderr
    assert "exit code 3" in done.stderr
    assert len(done.stdout.splitlines()) <= 8
    assert sum(" fail " in line for line in done.stdout.splitlines()) == 3
    assert "Next: riskweighted advise results" in done.stdout
    assert (folder / "results" / "manifest.json").is_file()
    assert (
        "model fits"
        in riskweighted("summary", "results", "--format", "markdown", cwd=folder).stdout.lower()
    )


def test_dry_run_says_what_would_happen_and_writes_nothing(folder):
    before = set(files(folder))
    done = riskweighted("run", "study.toml", "--out", "results", "--dry-run", cwd=folder)
    assert done.returncode == 0, done.stderr
    for expected in (
        "120",
        "known patterns",
        "2, with a single record: 0",
        "mean weight",
        "3 per scheme",
        "expected time",
        "dry run",
    ):
        assert expected in done.stdout
    assert set(files(folder)) == before


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('path = "data.csv"', 'path = "nope.csv"', ["no file"]),
        ('known = ["group"]', 'known = ["nope"]', ["'nope'", "'id', 'group', 'income'"]),
        ('synthetic = "income"', 'synthetic = "id"', ["'income'", "'id'", "same variable"]),
        ("income ~ group", "income ~ nope", ["'nope'"]),
        ('coefficient = "group[T.b]"', 'coefficient = "x"', ["'x'", "'group[T.level]'"]),
        ('formula = "income ~ group"', 'formula = "group ~ income"', ["'group'"]),
    ],
)
def test_wrong_studies_are_refused_before_anything_is_written(folder, old, new, named):
    (folder / "study.toml").write_text(STUDY.replace(old, new, 1))
    before = set(files(folder))
    assert_refused(
        riskweighted("run", "study.toml", "--out", "results", cwd=folder), folder, before, *named
    )


def test_wrong_data_is_refused(folder):
    table = pd.read_csv(folder / "data.csv")
    for change, named in (
        ({"income": table["income"].where(table.index != 5)}, "missing in 1 of 120"),
        ({"income": -table["income"]}, "120 of 120"),
    ):
        table.assign(**change).to_csv(folder / "data.csv", index=False)
        before = set(files(folder))
        assert_refused(
            riskweighted("run", "study.toml", "--out", "results", cwd=folder), folder, before, named
        )


def test_weights_writes_a_file_and_prints_no_record(folder):
    arguments = (
        "weights",
        "data.csv",
        "--known",
        "group",
        "--synthetic",
        "income",
        "--scheme",
        "marginal",
        "--out",
        "w.csv",
    )
    done = riskweighted(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert SECRET not in done.stdout
    table = pd.read_csv(folder / "w.csv")
    assert list(table.columns) == ["row", "alpha"]
    from riskweighted import Scenario, marginal_weights

    expected = marginal_weights(
        pd.read_csv(folder / "data.csv"), Scenario(known="group", synthetic="income")
    )
    np.testing.assert_allclose(table["alpha"], expected)
    before = set(files(folder))
    assert_refused(riskweighted(*arguments, cwd=folder), folder, before, "'w.csv' exists")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--radius", "-1"), "radius"),
        (("--radius", "nan"), "radius"),
        (("--scheme", "nope"), "'nope'"),
        (("--boundary", "ajar"), "'closed', 'open'"),
        (("--known", "group,group"), "more than once"),
        (("--out", "w.xlsx"), "must end in"),
        (("--synthetic", "incom", "--codes", "income=-8"), "no column 'incom'; it has 'income'"),
    ],
)
def test_weights_refuses(folder, arguments, named):
    before = set(files(folder))
    done = riskweighted(
        "weights", "data.csv", "--synthetic", "income", "--out", "w.csv", *arguments, cwd=folder
    )
    assert_refused(done, folder, before, named)


def test_singletons_are_warned_of_once(folder):
    table = pd.read_csv(folder / "data.csv")
    table.loc[0, "group"] = "alone"
    table.to_csv(folder / "data.csv", index=False)
    done = riskweighted(
        "weights",
        "data.csv",
        "--known",
        "group",
        "--synthetic",
        "income",
        "--out",
        "w.csv",
        cwd=folder,
    )
    assert done.returncode == 0
    assert done.stderr.count("1 of 3 known patterns") == 1
    assert done.stderr.count("warning") == 1


def test_version_and_list(folder):
    assert riskweighted("--version", cwd=folder).stdout.strip()
    listed = riskweighted("synthesizers", cwd=folder).stdout
    assert "normal-mixture" in listed
    assert "top-coding" in listed


def test_the_confidential_file_is_never_overwritten(folder):
    content = (folder / "data.csv").read_bytes()
    done = riskweighted(
        "weights", "data.csv", "--synthetic", "income", "--out", "data.csv", "--force", cwd=folder
    )
    assert done.returncode == 2
    assert "confidential file itself" in done.stderr
    assert (folder / "data.csv").read_bytes() == content


def test_what_the_system_refuses_is_one_line(folder):
    (folder / "file").write_text("x")
    done = riskweighted(
        "weights", "data.csv", "--synthetic", "income", "--out", "file/w.csv", cwd=folder
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot read or write")
    assert done.stderr.count("\n") == 1
