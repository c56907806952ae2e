"""What a repository shows: files for the hosted CI and for pre-commit name what exists, the sdist
is complete, no data are committed.
"""

import importlib.util
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def tracked():
    """What git holds, where this is a checkout."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("no checkout of git")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def loaded(name):
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def targets():
    return set(
        re.findall(
            r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
        )
    )


def test_the_workflow_runs_what_exists_on_declared_versions():
    jobs = loaded(".github/workflows/ci.yml")["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert commands == [".ci/run", "make lint"]
    assert (ROOT / ".ci/run").stat().st_mode & 0o100
    assert "lint" in targets()
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "classifiers"
    ]
    for version in jobs["test"]["strategy"]["matrix"]["python"]:
        assert f"Programming Language :: Python :: {version}" in declared
        assert (ROOT / f"constraints/python{version}.txt").is_file()


def test_the_main_job_is_run_on_every_system_and_declared_version():
    job = loaded(".github/workflows/systems.yml")["jobs"]["main-job"]
    assert {name.partition("-")[0] for name in job["strategy"]["matrix"]["system"]} == {
        "ubuntu",
        "windows",
        "macos",
    }
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "classifiers"
    ]
    versions = [name.rpartition(" ")[2] for name in declared if "Python :: 3." in name]
    assert job["strategy"]["matrix"]["python"] == versions
    assert job["runs-on"] == "${{ matrix.system }}"
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert commands[-1] == "python .ci/main_job.py job"
    assert (ROOT / ".ci/main_job.py").is_file()


def test_only_the_job_that_publishes_may_ask_for_an_identity():
    workflow = loaded(".github/workflows/publish.yml")
    assert workflow[True] == {"push": {"tags": ["v*"]}}  # YAML reads "on" as true
    assert workflow["permissions"] == {"contents": "read"}
    granted = {name: job.get("permissions") for name, job in workflow["jobs"].items()}
    assert granted == {"build": None, "publish": {"id-token": "write"}}
    assert workflow["jobs"]["publish"]["needs"] == "build"


def test_hooks_are_local_and_name_what_lint_installs():
    (repository,) = loaded(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    lint = (ROOT / "Makefile").read_text(encoding="utf-8").split("lint:")[1].split("\n\n")[0]
    for hook in repository["hooks"]:
        program = hook["entry"].split()[0]
        assert hook["language"] == "system"
        if program.startswith(".venv/bin/"):
            assert f"$(BIN)/{Path(program).name}" in lint
        else:
            assert (ROOT / program).stat().st_mode & 0o100


@pytest.mark.parametrize("name", ["bug", "feature", "question"])
def test_an_issue_template_is_a_form(name):
    form = loaded(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert {"name", "description", "labels", "body"} == set(form)
    asked = [part for part in form["body"] if part["type"] != "markdown"]
    assert all(part["attributes"]["label"] for part in asked)
    assert len({part["id"] for part in asked}) == len(asked)
    assert (
        name == "feature"
        or "Never paste confidential data" in form["body"][0]["attributes"]["value"]
    )


def test_the_guard_finds_nothing_in_what_is_committed(tracked):
    done = subprocess.run(
        [sys.executable, ".ci/guard"], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("households.csv", b"a\n1\n", "is a data file"),
        ("tests/data/Households.SAV", b"", "is a data file"),
        ("run/confidential/fit.txt", b"", "is confidential"),
        ("docs/a.png", b"0" * 500_001, "500,001 bytes"),
        ("a.py", b"x = 1 \n", "blanks"),
        ("a.md", b"text", "end of line"),
        ("a.py", b"<<<<<<< HEAD\n", "conflict"),
    ],
    ids=["csv", "sav", "confidential", "large", "blanks", "no end", "conflict"],
)
def test_the_guard_refuses(name, content, what, tmp_path):
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    done = subprocess.run(
        [sys.executable, ROOT / ".ci/guard", name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 1
    assert what in done.stdout


def test_the_sdist_holds_what_git_holds(tracked, tmp_path):
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed (pip install 'riskweighted[test]')")
    build = f"import hatchling.build; print(hatchling.build.build_sdist({str(tmp_path)!r}))"
    name = subprocess.run(
        [sys.executable, "-c", build],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout.split()[-1]
    with tarfile.open(tmp_path / name) as archive:
        members = {member.partition("/")[2] for member in archive.getnames()}
    listing = ["git", "ls-files", "-z", "--others", "--exclude-standard"]
    new = subprocess.run(
        listing, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    assert set(tracked) <= members
    assert members <= {*tracked, *new, "PKG-INFO"}
