"""The tests hold where packages of somebody else have registered a synthesizer, a baseline and
measures.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = """
import riskweighted as rw

Ours = rw.load_synthesizer("negative-binomial")


class Stranger(Ours):
    '''A synthesizer of somebody else.'''


def share_beyond(context):
    return float("nan") if not context.is_numeric else 0.5


def measure(key, compute, **more):
    texts = {"source": "a handbook", "direction": "less useful", "kind": "share"}
    given = {**texts, "table": "utility", "each": True, **more}
    return rw.Measure(key, key.replace("-", " "), "share of " + key, compute=compute, **given)


BEYOND = measure("a-stranger-beyond", share_beyond, disclosure=rw.Disclosure.TWO_DECIMALS)
SECRET = measure("zz-stranger-secret", share_beyond)
"""
POINTS = """
[riskweighted.synthesizers]
a-stranger = strangers_package:Stranger
zz-stranger = strangers_package:Stranger
[riskweighted.baselines]
zz-stranger = strangers_package:Stranger
[riskweighted.measures]
a-stranger-beyond = strangers_package:BEYOND
zz-stranger-secret = strangers_package:SECRET
"""
ROOMS = [
    f"tests/{room}"
    for room in (
        "commands",
        "conformance",
        "contract",
        "evaluation",
        "plots",
        "release",
        "reports",
        "runs",
    )
]
LISTING = (
    "tests/statistical/test_calibration.py::test_every_synthesizer_that_estimates_is_calibrated",
    "tests/runs/test_study.py",
    "tests/models/test_contract.py::test_what_is_tried_here_is_registered",
    "tests/models/test_contract.py::test_a_model_without_an_example_keeps_the_contract_as_it_comes",
    "tests/models/test_symbolic.py::test_every_model_of_this_package_is_held_to_its_numbers",
)


def with_strangers(folder, *command):
    """What became of a command where the package is installed."""
    info = folder / "strangers-1.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strangers\nVersion: 1\n")
    (info / "entry_points.txt").write_text(POINTS)
    (folder / "strangers_package.py").write_text(PACKAGE)
    settings = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER")
    }
    settings["PYTHONPATH"] = os.pathsep.join(
        [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=settings,
        capture_output=True,
        text=True,
        timeout=1800,
    )


@pytest.mark.long
@pytest.mark.slow
def test_the_tests_hold_beside_strangers(tmp_path):
    seen = (
        "import riskweighted as rw; from riskweighted.measures.registry import measures; "
        "print(rw.synthesizer_names(), list(measures()))"
    )
    shown = with_strangers(tmp_path, "-c", seen).stdout
    assert shown.count("a-stranger") == shown.count("zz-stranger") == 2
    words = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    sessions = [[*words, "-m", "quick", *ROOMS], [*words, *LISTING]]
    code = f"import sys, pytest; sys.exit(max(pytest.main(given) for given in {sessions}))"
    done = with_strangers(tmp_path, "-c", code)
    assert done.returncode == 0, done.stdout[-5000:]
    assert done.stdout.count(" passed") == 2
