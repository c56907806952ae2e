"""A scheme that does not keep to the thresholds: its release is warned of, and its sign-off sheet says so."""

from command_line import riskweighted
from finished_run import ENTROPY, SETTINGS, confidential_data

from riskweighted.runs.run import run_study
from riskweighted.runs.study import make_study

LIMIT = {"thresholds": {"expected-mean-risk": 0.0001}}


def test_the_sign_off_sheet_and_the_command_say_that_a_scheme_fails(tmp_path):
    confidential_data().to_csv(tmp_path / "data.csv", index=False)
    schemes = {"weights": {"schemes": ["unweighted"]}}
    run_study(make_study(SETTINGS | schemes | LIMIT, tmp_path), tmp_path / "results", entropy=ENTROPY)
    done = riskweighted("release", "results", "--out", "pack", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (warning,) = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert "unweighted FAILS: " in warning
    assert "**unweighted FAILS: " in (tmp_path / "pack" / "sign_off.md").read_text()
    assert riskweighted("release", "results", "--check", "pack", cwd=tmp_path).returncode == 0
