"""The main job where there is no POSIX: init, check, run, report and release in one process that
finds what Windows has.

It stands in for a machine that is not at hand; `.github/workflows/systems.yml` runs the same job on
real ones.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
JOB = """
import runpy, sys
import another_system
another_system.enter()
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""

HOLDS = """
import os, pathlib, sys, warnings
import another_system
another_system.enter()
def ours(code, error):
    try:
        exec(compile(code, "ours", "exec"), {"__name__": "riskweighted.common.ours"})
    except error:
        return
    raise AssertionError(code)
for name in ("fcntl", "resource", "pwd", "termios"):
    ours(f"import {name}", ModuleNotFoundError)
ours("import os; os.fork()", AttributeError)
ours("import os; os.open('.', os.O_RDONLY)", PermissionError)
ours("import signal; signal.SIGKILL", AttributeError)
ours("from sys import platform; assert platform != 'win32'", AssertionError)
pathlib.Path("open.txt").write_text("x", encoding="utf-8")
ours("import pathlib; pathlib.Path('open.txt').read_text()", EncodingWarning)
with open("open.txt", encoding="utf-8"):
    ours("import pathlib; pathlib.Path('open.txt').rename('closed.txt')", PermissionError)
pathlib.Path("open.txt").rename("closed.txt")
"""


def run_there(code, folder, *arguments):
    """What a process of the other system said; its streams are those of a pipe on Windows."""
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "tests" / "tools"),
        "PYTHONIOENCODING": "cp1252",
    }
    environment.pop("COLUMNS", None)
    command = [
        sys.executable,
        "-X",
        "warn_default_encoding",
        "-W",
        "ignore::EncodingWarning",
        "-c",
        code,
        *map(str, arguments),
    ]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, encoding="cp1252", timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.quick
def test_the_other_system_lacks_what_it_is_said_to_lack(tmp_path):
    run_there(HOLDS, tmp_path)


@pytest.mark.long
@pytest.mark.slow
def test_the_main_job_needs_nothing_that_only_posix_has(tmp_path):
    assert "as they should be" in run_there(
        JOB, tmp_path, ROOT / ".ci" / "main_job.py", tmp_path / "job"
    )
