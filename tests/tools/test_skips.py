"""The table of skipped tests, seen from outside."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from skips import MUST_RUN, UNTIL

TESTS = """
import pytest

def test_runs():
    assert {holds}

@pytest.mark.parametrize("i", range(3))
def test_of_data(i):
    pytest.skip("x.csv is not there: it lies in ../shared/data beside the checkout")

@pytest.mark.skipif(True, reason="no chromium in PATH: apt-get install chromium")
def test_in_a_browser():
    pass
"""
MODULE = 'import pytest\npytest.importorskip("no_such_linkage")\ndef test_it():\n    pass\n'


def session(folder, *, holds="True", must_run=None, until=None):
    (folder / "test_some.py").write_text(TESTS.format(holds=holds))
    (folder / "test_module.py").write_text(MODULE)
    settings = {
        name: value
        for name, value in os.environ.items()
        if name not in (MUST_RUN, UNTIL, "PYTEST_ADDOPTS")
    }
    settings["PYTHONPATH"] = str(Path(__file__).parent)
    if must_run is not None:
        settings[MUST_RUN] = must_run
    if until is not None:
        settings[UNTIL] = str(until)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "selection",
        "-p",
        "skips",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(folder),
        str(folder),
    ]
    return subprocess.run(
        command, cwd=folder, env=settings, capture_output=True, text=True, timeout=300
    )


@pytest.mark.long
def test_skips_are_counted_by_reason_and_allowed(tmp_path):
    done = session(tmp_path)
    assert done.returncode == 0, done.stdout
    table = done.stdout[done.stdout.index("skipped, by reason") :].splitlines()
    assert "    3  x.csv is not there: it lies in ../shared/data beside the checkout" in table
    assert "    1  no chromium in PATH: apt-get install chromium" in table
    assert "    1  could not import 'no_such_linkage': No module named 'no_such_linkage'" in table
    assert "    5  in all" in table
    assert "FAILED" not in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("must_run", ["chromium", "splink no_such_linkage"])
def test_a_skip_of_what_must_run_fails_the_session(tmp_path, must_run):
    done = session(tmp_path, must_run=must_run)
    assert done.returncode == 1, done.stdout
    assert done.stdout.count("FAILED: ") == 1


@pytest.mark.long
def test_a_session_is_judged_by_its_tests_too(tmp_path):
    # no reason holds these words
    assert session(tmp_path, must_run="splink linkage").returncode == 0
    assert session(tmp_path, holds="False", must_run="splink").returncode == 1


@pytest.mark.parametrize(("until", "ran"), [(0, 0), (4e9, 1)], ids=["over", "not over"])
def test_no_test_begins_when_the_time_is_over(tmp_path, until, ran):
    done = session(tmp_path, holds="False", until=until)  # fails where it begins
    assert ("1 failed" in done.stdout) == ran
    assert ("the time for this run is over" in done.stdout) != ran
    assert done.returncode == ran
