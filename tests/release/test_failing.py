"""A scheme that does not keep to the thresholds: its release needs a reason, which its sign-off
sheet holds.
"""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from command_line import riskweighted
from finished_run import ENTROPY, SETTINGS, confidential_data, copied_run, finished_run

from riskweighted.common.errors import InputError
from riskweighted.disclosure.policy import Broken, DisclosureSettings, judge
from riskweighted.evaluation.verdicts import WARN, is_of_disclosure
from riskweighted.release.contents import Contents, write_pack
from riskweighted.release.pack import release_run
from riskweighted.runs.finished import load_run
from riskweighted.runs.plan import plan_study
from riskweighted.runs.run import run_study
from riskweighted.runs.study import make_study

LIMIT = {"thresholds": {"expected-mean-risk": 0.0001}}


@pytest.mark.slow
@pytest.mark.parametrize("accepted", [True, False])
def test_the_sign_off_sheet_holds_why_the_board_accepts_what_is_not_shown(tmp_path, accepted):
    """A limit of nothing, below which no finite number of packs shows D to be."""
    confidential_data().to_csv(tmp_path / "data.csv", index=False)
    accept = dict.fromkeys(("mean", "isolated", "not_shown"), "seen by the board in May")
    limits = {"mean": 0, "isolated": 0} | ({"accept": accept} if accepted else {})
    study = SETTINGS | {
        "weights": {"schemes": ["unweighted"]},
        "release": SETTINGS.get("release", {}) | {"disclosure": limits},
    }
    run = run_study(make_study(study, tmp_path), tmp_path / "results", entropy=ENTROPY)
    if not accepted:
        with pytest.raises(InputError, match=r"disclosure\] accept"):
            release_run(tmp_path / "results", tmp_path / "pack")
        return
    release_run(tmp_path / "results", tmp_path / "pack")
    sheet = (tmp_path / "pack" / "sign_off.md").read_text()
    assert "accepted: seen by the board in May" in sheet
    assert {verdict.verdict for verdict in run.verdicts if is_of_disclosure(verdict)} == {WARN}


@pytest.mark.parametrize(
    ("rule", "outside"),
    [("copies", "copies lie nearer to true values"), ("not_judged", "is not judged")],
)
def test_the_sheet_holds_why_copies_and_what_is_not_judged_were_accepted(tmp_path, rule, outside):
    """With the limits, and without figures."""
    found = pd.DataFrame({"group": ["all"], "D": [np.nan]})
    found.attrs = {
        "own": True,
        "broken": (Broken(rule, "12 copies where 3 are expected"),),
        "not_judged": (),
    }
    if rule == "copies":
        found = found.iloc[:0].assign(release="shuffled")
        found.attrs |= {"not_judged": ("nothing is left out",)}
    told = judge(
        found,
        DisclosureSettings(accept=dict.fromkeys((rule, "not_judged"), "seen by the board in May")),
    )
    assert told.verdict == WARN
    run = load_run(finished_run())
    words = run.tables["disclosure_verdicts"].set_index("label").astype(object)
    words.loc["pairwise", ["verdict", "reasons", "accepted", "outside"]] = [
        told.verdict,
        "",
        *map("; ".join, (told.accepted, told.outside)),
    ]
    run = run.with_tables(run.tables | {"disclosure_verdicts": words.reset_index()})
    write_pack(Contents(run, run.synthetic, ("pairwise",), ("csv",), {}, None), tmp_path)
    sheet = (tmp_path / "sign_off.md").read_text()
    assert outside in sheet
    assert "accepted: seen by the board in May" in sheet
    assert "12 copies" not in sheet


@pytest.mark.slow
def test_the_sign_off_sheet_and_the_command_say_that_a_scheme_fails(tmp_path):
    confidential_data().to_csv(tmp_path / "data.csv", index=False)
    schemes = {"weights": {"schemes": ["unweighted"]}}
    run_study(
        make_study(SETTINGS | schemes | LIMIT, tmp_path), tmp_path / "results", entropy=ENTROPY
    )
    refused = riskweighted("release", "results", "--out", "pack", cwd=tmp_path)
    assert refused.returncode == 2
    assert "does not pass" in refused.stderr
    assert "--accept-fail" in refused.stderr
    assert not (tmp_path / "pack").exists()
    done = riskweighted(
        "release",
        "results",
        "--out",
        "pack",
        "--accept-fail",
        "a training set, of nobody's data",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("unweighted  fail ")
    assert any(line.startswith("Why: unweighted: ") for line in lines)
    assert sum(-(-len(line) // 80) for line in lines) <= 8
    (warning,) = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert "unweighted does not pass: " in warning
    sheet = (tmp_path / "pack" / "sign_off.md").read_text()
    assert "**unweighted: fail: " in sheet
    assert "nobody" in sheet
    assert riskweighted("release", "results", "--check", "pack", cwd=tmp_path).returncode == 0
    no_reason = json.loads((tmp_path / "pack" / "manifest.json").read_text()) | {
        "accepted_fail": ""
    }
    (tmp_path / "pack" / "manifest.json").write_text(json.dumps(no_reason))
    assert riskweighted("release", "results", "--check", "pack", cwd=tmp_path).returncode == 2


def test_a_reason_where_nothing_fails_is_refused(tmp_path):
    with pytest.raises(InputError, match="leave it out"):
        release_run(finished_run(), tmp_path / "pack", schemes=["pairwise"], accept_fail="why not")


@pytest.mark.slow
def test_a_pack_takes_few_lines_of_which_scheme_it_is_its_verdict_and_where(tmp_path):
    copied_run(tmp_path)
    done = riskweighted("release", "results", "--scheme", "pairwise", "--out", "pack", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first, why, following, last = done.stdout.splitlines()
    assert first.startswith("pairwise  warn ")  # the study accepts that so few records show little
    assert "3 files" in first
    assert why.startswith("Why: pairwise: ")
    assert following.startswith("Next: ")
    assert "pack/sign_off.md" in following
    assert last == "Released to pack/"
    assert not any(line.endswith("...") for line in done.stdout.splitlines())  # a reason is whole
    full = riskweighted(
        "release",
        "results",
        "--scheme",
        "pairwise",
        "--out",
        "again",
        "--full",
        cwd=tmp_path,
        columns=120,
    )
    assert "most equal rows" in full.stdout


def test_a_run_folder_of_an_older_version_says_in_one_line_what_to_do(tmp_path):
    folder = copied_run(tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["versions"]["riskweighted"] = "0.0.9"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    for command in (
        ("release", "results", "--scheme", "pairwise", "--out", "pack"),
        ("report", "results"),
        ("summary", "results"),
    ):
        done = riskweighted(*command, cwd=tmp_path)
        assert done.returncode == 2
        (line,) = (line for line in done.stderr.splitlines() if "error: " in line)
        assert "0.0.9" in line
        assert "run the study again" in line
        assert done.stdout == ""


def test_an_identifier_among_the_released_columns_is_refused_by_its_name(tmp_path):
    data = confidential_data()
    data["person"] = 1000 + np.random.default_rng(1).permutation(len(data))
    data.to_csv(tmp_path / "data.csv", index=False)
    released = SETTINGS["release"] | {"columns": ["size", "person"]}
    study = make_study(
        SETTINGS | {"weights": {"schemes": ["unweighted"]}, "release": released}, tmp_path
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert any(
            "'person'" in remark and "release" in remark
            for remark in plan_study(study, estimated=False).remarks
        )
        run_study(study, tmp_path / "results", entropy=ENTROPY)
    with pytest.raises(InputError, match="'person' out, whose values name the records"):
        release_run(tmp_path / "results", tmp_path / "pack")
