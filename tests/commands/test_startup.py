"""What a short command loads: a list of names or a finished table must not wait for the machinery
that made it.
"""

import json
import os
import subprocess
import sys

import pytest
from finished_run import finished_run

HEAVY = {"arviz", "matplotlib", "nutpie", "numba", "pandas", "pymc", "pytensor", "scipy"}
SAMPLING = {"arviz", "nutpie", "numba", "pymc", "pytensor"}

CODE = """
import json, sys
from riskweighted.commands.main import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
finally:
    print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
"""


def loaded(*arguments):
    """The packages in memory at the end of a command, and what it printed."""
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(
        [sys.executable, "-c", CODE, *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1])), done.stdout


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("--help", "synthesizers"),
        ("--version", "."),
        ("synthesizers", "normal-mixture         Finite mixture"),
    ],
)
def test_help_version_and_list_load_nothing_heavy(argument, shown):
    packages, printed = loaded(argument)
    assert shown in printed
    assert "riskweighted" in packages
    assert not packages & HEAVY


def test_version_loads_no_package_that_help_does_not():
    assert not loaded("--version")[0] - loaded("--help")[0]


@pytest.mark.parametrize("form", ["terminal", "markdown", "latex"])
def test_summary_loads_nothing_that_samples(form):
    packages, printed = loaded("summary", finished_run(), "--format", form)
    assert "Disclosure beyond inference" in printed
    assert "pandas" in packages
    assert not packages & (SAMPLING | {"scipy", "matplotlib"})
