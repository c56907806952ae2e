"""What an editor sees: frames of every library are taken, settings are completed and checked."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USER = """\
import polars as pl

import riskweighted as rw
from riskweighted_models import TwoPart

frame = pl.DataFrame({"a": [1.0]})
scenario = rw.Scenario(known="a", synthetic="b")
model = TwoPart("b ~ a", support=(0, 1))
rw.identification_risk(frame, [frame, frame], scenario)
rw.evaluate(frame, {"x": [frame]}, scenario)
rw.fit(model, frame, rw.marginal_weights(frame, scenario))
TwoPart("b ~ a", suport=(0, 1))
"""


@pytest.mark.long
def test_a_user_s_program_is_checked(tmp_path):
    (tmp_path / "user.py").write_text(USER)
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary", str(tmp_path / "user.py")]
    told = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT).stdout.splitlines()
    errors = [line for line in told if ": error:" in line]
    assert len(errors) == 1, errors
    assert 'user.py:12: error: Unexpected keyword argument "suport" for "TwoPart"' in errors[0]
