"""`check` on a file as an agency has it: quickly, looking through the file once, and naming what
the study forgot.
"""

import os
import subprocess
import sys
import warnings

import pytest
from agency_file import CHAIN, agency_file

from riskweighted.common.settings import as_toml
from riskweighted.derivation.find import find_structure
from riskweighted.runs import plan, undeclared
from riskweighted.runs.study import load_study

# processor seconds on a quiet machine, where a process that imports pandas and SciPy takes 1.3;
# a machine that works on other things besides takes up to three times as many, for both
AT_MOST, IMPORTS, TRIES = 5.0, 1.3, 3
STUDY = {
    "data": {"path": "agency.csv"},
    "scenario": {
        "known": ["sex", "region", "age_band"],
        "synthetic": list(CHAIN),
        "codes": {"income": [-8, -9], "rent": [-8]},
    },
    "synthesizer": {
        "name": "sequential",
        "predictors": [
            "sex",
            "region",
            "age_band",
            "age",
            "school",
            "size",
            "married",
            "q1",
            "q2",
            "s1",
        ],
    },
    "weights": {"schemes": ["unweighted", "mix+(t=0.5)", "marginal"]},
    "release": {"L": 5},
}


@pytest.fixture
def study(tmp_path):
    """The study file, beside 5,000 records and 35 columns."""
    data = agency_file(5000)
    assert data.shape == (5000, 35)
    data.to_csv(tmp_path / "agency.csv", index=False)
    (tmp_path / "study.toml").write_text(as_toml(STUDY))
    return tmp_path / "study.toml"


def seconds_of(*arguments):
    """Processor seconds of Python in a process of its own, from its start to its end, and what
    it said.
    """
    process = subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    with process.stdout as output:
        said = output.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, said
    return used.ru_utime + used.ru_stime, said


@pytest.mark.slow
def test_a_chain_of_four_variables_is_checked_in_five_processor_seconds(study):
    taken = []
    for _ in range(TRIES):
        slow = max(seconds_of("-c", "import pandas, scipy.stats")[0] / IMPORTS, 1)
        seconds, said = seconds_of("-m", "riskweighted", "check", study)
        taken.append(seconds / slow)
        if taken[-1] <= AT_MOST:
            break
    assert min(taken) <= AT_MOST, taken
    assert "income (TwoPart)" in said
    assert "expected time" not in said


def test_a_file_is_looked_through_once_for_what_holds_together(study, monkeypatch):
    looked = []

    def counted(data, *arguments, **settings):
        looked.append(len(data))
        return find_structure(data, *arguments, **settings)

    monkeypatch.setattr(plan, "find_structure", counted)
    monkeypatch.setattr(undeclared, "find_structure", counted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = plan.plan_study(load_study(study), estimated=False)
    assert looked == [5000]
    assert any("age_band from age" in remark for remark in found.remarks)
    assert any("hours" in rule for rule in found.unstated)
