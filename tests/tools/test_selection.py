"""Quick and long tests are found without importing the others, every room has quick ones, and
Ctrl-C reaches a suite in the background.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ROOMS = [path.parent.name for path in sorted((TESTS.parent / "riskweighted").glob("*/__init__.py"))]
ALL = {
    "test_marked.py": """
import pytest

@pytest.mark.quick
def test_a():
    pass

@pytest.mark.long
def test_b():
    pass

def test_c():
    pass
""",
    "test_slow_to_import.py": "raise RuntimeError\n",
}


def session(folder, *words, plugin="selection", shell=()):
    settings = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"} | {
        "PYTHONPATH": str(TESTS / "tools")
    }
    command = [
        *shell,
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        plugin,
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(folder),
        *words,
    ]
    return subprocess.run(
        command, cwd=folder, env=settings, capture_output=True, text=True, timeout=300
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "passed"),
    [("quick", 1), ("long and not slow", 1), ("(quick or versions) and not slow", 1)],
)
def test_files_without_the_mark_are_not_imported(tmp_path, words, passed):
    for name, text in ALL.items():
        (tmp_path / name).write_text(text)
    done = session(tmp_path, "-m", words)
    assert done.returncode == 0, done.stdout
    assert f"{passed} passed, 2 deselected" in done.stdout
    assert re.search(r"processor time .*: \d+ s", done.stdout)


@pytest.mark.long
@pytest.mark.parametrize("words", ["not long", "quick or long", ""])
def test_other_choices_import_every_file(tmp_path, words):
    for name, text in ALL.items():
        (tmp_path / name).write_text(text)
    assert session(tmp_path, "-m", words).returncode == 2


@pytest.mark.long
def test_a_choice_of_no_test_is_no_success(tmp_path):
    (tmp_path / "test_unmarked.py").write_text("def test_a():\n    pass\n")
    assert session(tmp_path, "-m", "long").returncode == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.long
def test_a_session_ends_with_the_tests_that_took_most_processor_time(tmp_path):
    """Whichever process they ran in; what waits takes none."""
    text = (
        "import time, pytest\n\n@pytest.fixture\ndef made():\n    end = time.process_time() + 1.1\n"
    )
    text += (
        "    while time.process_time() < end:\n        pass\n\ndef test_a(made):\n    "
        "pass\n\ndef test_b():\n    time.sleep(1.1)\n"
    )
    (tmp_path / "test_cost.py").write_text(text)
    said = session(tmp_path, "--numprocesses", "1").stdout
    assert re.search(r"\d\.\d s of processor time: test_cost\.py::test_a\n", said), said
    assert "test_b" not in said


@pytest.mark.parametrize("room", [*ROOMS, "models", "experiments", "benchmarks", "tools"])
@pytest.mark.quick
def test_every_room_has_quick_tests(room):
    texts = {path: path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")}
    own = [
        text
        for path, text in texts.items()
        if path.parent.name == room or f"riskweighted.{room}." in text
    ]
    assert any("mark.quick" in text for text in own), (
        f"no file with tests of {room} holds one that is marked quick"
    )


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_interrupts_reach_a_suite_that_runs_in_the_background(tmp_path):
    text = (
        "import os, signal, pytest\n\ndef test_a():\n    with pytest.raises(KeyboardInterrupt):\n"
    )
    (tmp_path / "test_it.py").write_text(text + "        os.kill(os.getpid(), signal.SIGINT)\n")
    background = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
    # it is what fails without
    assert session(tmp_path, plugin="skips", shell=background).returncode == 1
    assert session(tmp_path, plugin="interruptible", shell=background).returncode == 0
