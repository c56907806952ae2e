"""What commands write, seen from outside: who may read it, two at once, stale and refused
places.
"""

import functools
import os
import stat
import time

import numpy as np
import pandas as pd
import pytest
from command_line import Command, riskweighted, without_log
from finished_run import confidential_data
from full_disk import fill
from study_text import study_text

from riskweighted.common.folders import open_folder

STUDY = study_text()
SWEEP = 'study = "study.toml"\n[grid]\n"release.L" = [2]\n'
REIDENTIFY = (
    '[files]\npuf = "data.csv"\neif = "data.csv"\niuf = "data.csv"\n[linking]\nincome = "numeric"\n'
)
ASSESS = ("assess", "data.csv", "data.csv", "--known", "group", "--synthetic", "income")
COMMANDS = {
    "a run": ("run", "study.toml"),
    "a sweep": ("sweep", "sweep.toml", "--workers", "1"),
    "a re-identification study": ("reidentify", "reidentify.toml"),
    "an assessment": ASSESS,
    "a release": ("release", "results"),
}


@pytest.fixture
def folder(tmp_path):
    before = os.umask(0o022)
    rng = np.random.default_rng(1)
    pd.DataFrame({"group": rng.choice(["a", "b"], 60), "income": rng.lognormal(3, 1, 60)}).to_csv(
        tmp_path / "data.csv", index=False
    )
    for name, text in (("study", STUDY), ("sweep", SWEEP), ("reidentify", REIDENTIFY)):
        (tmp_path / f"{name}.toml").write_text(text)
    yield tmp_path
    os.umask(before)


def modes(folder):
    return {
        path.relative_to(folder).as_posix(): stat.S_IMODE(path.lstat().st_mode)
        for path in folder.rglob("*")
    }


def assert_refused(done, *named):
    assert done.returncode == 2, done.stderr
    told = without_log(done.stderr)
    assert told.startswith("error: ")
    assert told.count("\n") == 1
    for text in named:
        assert text in done.stderr


def test_an_assessment_keeps_to_itself_what_never_leaves(folder):
    done = riskweighted(*ASSESS, "--out", "risk", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert modes(folder / "risk") == {
        **dict.fromkeys(
            ("disclosure.csv", "measures.csv", "utility.csv", "map.png", "map.svg"), 0o644
        ),
        "confidential": 0o700,
        "confidential/contributions.csv": 0o600,
        "confidential/report.html": 0o600,
        "confidential/riskiest.csv": 0o600,
    }
    assert not (folder / "risk.partial").exists()


def test_weights_are_their_owners_only(folder):
    arguments = (
        "weights",
        "data.csv",
        "--known",
        "group",
        "--synthetic",
        "income",
        "--out",
        "deep/w.parquet",
    )
    done = riskweighted(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert modes(folder / "deep") == {"w.parquet": 0o600}
    assert modes(folder)["deep"] == 0o700
    (folder / "deep" / "w.parquet").chmod(0o644)
    assert riskweighted(*arguments, "--force", cwd=folder).returncode == 0
    assert modes(folder / "deep") == {"w.parquet": 0o600}


def test_an_assessment_publishes_nothing_that_lay_there(folder):
    stale = folder / "risk.partial" / "confidential" / "old.csv"
    stale.parent.mkdir(parents=True)
    stale.write_text("old")
    assert_refused(
        riskweighted(*ASSESS, "--out", "risk", cwd=folder),
        "not the working folder of an assessment",
    )
    assert not (folder / "risk").exists()
    assert stale.read_text() == "old"


@pytest.mark.parametrize("what", COMMANDS)
def test_a_second_command_on_the_same_folder_is_refused(folder, what):
    with open_folder(folder / "out", "a sweep"):  # of any kind
        before = modes(folder)
        done = riskweighted(*COMMANDS[what], "--out", "out", cwd=folder)
        assert_refused(done, "a command is at work on", "out' already")
        assert done.stdout == ""
        assert modes(folder) == before


@pytest.mark.parametrize("what", COMMANDS)
def test_a_place_that_cannot_be_written_is_refused_before_any_work(folder, what):
    (folder / "data.csv").unlink()  # work would find that out
    (folder / "dangling").symlink_to(folder / "nowhere" / "out")
    before = modes(folder)
    assert_refused(
        riskweighted(*COMMANDS[what], "--out", "dangling", cwd=folder),
        "'dangling' is a link that leads nowhere",
    )
    assert_refused(
        riskweighted(*COMMANDS[what], "--out", "study.toml/out", cwd=folder),
        "cannot read or write",
        "study.toml",
    )
    assert modes(folder) == before


def test_a_file_in_a_place_that_cannot_be_written_is_refused_before_any_work(folder):
    (folder / "w.csv").symlink_to(folder / "nowhere" / "w.csv")
    before = modes(folder)
    done = riskweighted(
        "weights", "absent.csv", "--synthetic", "income", "--out", "w.csv", cwd=folder
    )
    assert_refused(done, "'w.csv' is a link that leads nowhere")
    assert modes(folder) == before


@pytest.mark.slow
def test_a_killed_run_leaves_no_lock(folder):
    (folder / "study.toml").write_text(STUDY.replace("draws = 100", "draws = 1000000"))
    with Command("run", "study.toml", "--out", "out", cwd=folder):  # killed where this ends
        end = time.monotonic() + 300
        while not (folder / "out.partial" / ".riskweighted").exists():
            assert time.monotonic() < end, "waited too long"
            time.sleep(0.05)
        second = riskweighted("run", "study.toml", "--out", "out", cwd=folder)
        assert_refused(second, "a command is at work on")
    assert not (folder / "out").exists()
    done = riskweighted(*ASSESS, "--out", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        "confidential",
        "disclosure.csv",
        "map.png",
        "map.svg",
        "measures.csv",
        "utility.csv",
    ]
    assert not (folder / "out.partial").exists()


WEIGHTS = ("weights", "data.csv", "--known", "group", "--synthetic", "income")


@pytest.mark.parametrize("place", ["console", "fsync", "frame", "name"])
@pytest.mark.parametrize(
    "command",
    [(*WEIGHTS, "--out", "deep/w.csv"), (*ASSESS, "--out", "deep/risk")],
    ids=["weights", "assess"],
)
def test_a_full_disk_leaves_no_file(folder, command, place):
    before = modes(folder)
    done = riskweighted(*command, cwd=folder, before=functools.partial(fill, place))
    assert_refused(done, "cannot read or write", "No space left on device")
    assert modes(folder) == before


@pytest.mark.slow
def test_a_result_is_not_written_into_another(folder):
    (folder / "results").mkdir()
    (folder / "results" / "manifest.json").write_text(
        '{"versions": {"riskweighted": "0.1.0"}, "files": {}}'
    )
    before = modes(folder)
    for command in (*COMMANDS.values(), ("report", "results")):
        assert_refused(
            riskweighted(*command, "--out", "results/out.html", cwd=folder),
            "lies in the finished result",
        )
    assert_refused(
        riskweighted(*WEIGHTS, "--out", "results/w.csv", cwd=folder), "lies in the finished result"
    )
    assert_refused(
        riskweighted("release", "results", "--out", "results", cwd=folder), "'results' exists"
    )
    assert_refused(riskweighted("release", "results", "--out", ".", cwd=folder), "'.' exists")
    assert modes(folder) == before


@pytest.mark.parametrize("name", ["study", "results"])
def test_a_run_goes_beside_its_study_where_no_folder_is_named(tmp_path, name):
    """Wherever it is started; a second one is refused, and a study may be called as the folder."""
    place = tmp_path / "survey"
    place.mkdir()
    confidential_data().to_csv(place / "data.csv", index=False)
    (place / f"{name}.toml").write_text(
        study_text(
            '[weights]\nschemes = ["unweighted"]', "[evaluation]\nresamples = 10", draws=50, tune=50
        )
    )
    said = [riskweighted("run", f"survey/{name}.toml", cwd=tmp_path) for _ in range(2)]
    assert said[0].returncode in (0, 3), said[0].stderr
    assert f"Results: survey/results/{name}/" in said[0].stdout
    assert (place / "results" / name / "manifest.json").is_file()
    assert said[1].returncode == 2
    assert f"'survey/results/{name}' exists" in said[1].stderr


def test_a_file_called_results_in_the_way_is_one_line(tmp_path):
    confidential_data().to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "study.toml").write_text(study_text())
    (tmp_path / "results").write_text("")
    done = riskweighted("run", "study.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert len(without_log(done.stderr).strip().splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "results", "study.toml"]
