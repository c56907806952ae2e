"""A scheme that does not keep to the thresholds: its release needs a reason, which its sign-off sheet holds."""

import json

import pytest
from command_line import riskweighted
from finished_run import ENTROPY, SETTINGS, confidential_data, finished_run

from riskweighted.common.errors import InputError
from riskweighted.release.pack import release_run
from riskweighted.runs.run import run_study
from riskweighted.runs.study import make_study

LIMIT = {"thresholds": {"expected-mean-risk": 0.0001}}


def test_the_sign_off_sheet_and_the_command_say_that_a_scheme_fails(tmp_path):
    confidential_data().to_csv(tmp_path / "data.csv", index=False)
    schemes = {"weights": {"schemes": ["unweighted"]}}
    run_study(make_study(SETTINGS | schemes | LIMIT, tmp_path), tmp_path / "results", entropy=ENTROPY)
    refused = riskweighted("release", "results", "--out", "pack", cwd=tmp_path)
    assert refused.returncode == 2
    assert "does not pass" in refused.stderr
    assert "--accept-fail" in refused.stderr
    assert not (tmp_path / "pack").exists()
    done = riskweighted("release", "results", "--out", "pack", "--accept-fail", "a training set, of nobody's data", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (warning,) = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert "unweighted does not pass: " in warning
    sheet = (tmp_path / "pack" / "sign_off.md").read_text()
    assert "**unweighted does not pass: " in sheet
    assert "nobody" in sheet
    assert riskweighted("release", "results", "--check", "pack", cwd=tmp_path).returncode == 0
    no_reason = json.loads((tmp_path / "pack" / "manifest.json").read_text()) | {"accepted_fail": ""}
    (tmp_path / "pack" / "manifest.json").write_text(json.dumps(no_reason))
    assert riskweighted("release", "results", "--check", "pack", cwd=tmp_path).returncode == 2


def test_a_reason_where_nothing_fails_is_refused(tmp_path):
    with pytest.raises(InputError, match="leave it out"):
        release_run(finished_run(), tmp_path / "pack", schemes=["pairwise"], accept_fail="why not")
