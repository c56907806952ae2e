"""A study with a column of the agency's own weights, from a file of weights to the pack."""

import json

import pandas as pd
import pytest
from finished_run import ENTROPY, SETTINGS, accepting, confidential_data

from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import file_hash
from riskweighted.release.pack import release_run
from riskweighted.runs.check_study import check_study
from riskweighted.runs.finished import load_run
from riskweighted.runs.run import run_study
from riskweighted.runs.study import make_study

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::UserWarning")]


def settings(**weights):
    stated = {"schemes": ["column:mine"], "file": "weights.csv", **weights}
    return {**SETTINGS, "weights": stated, "sampling": {"draws": 300, "tune": 200}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, data = tmp_path_factory.mktemp("own"), confidential_data()
    data.to_csv(folder / "data.csv", index=False)
    mine = (1 - data["income"].rank(pct=True) / 2).round(4)
    pd.DataFrame({"id": data["id"], "mine": mine}).to_csv(folder / "weights.csv", index=False)
    return folder


def test_a_file_of_weights_reaches_the_pack(folder):
    study = make_study(settings(depends="own", made_by="our methods unit"), folder)
    run_study(study, folder / "results", entropy=ENTROPY)
    run, digest = load_run(folder / "results"), file_hash(folder / "weights.csv")
    told = run.tables["disclosure"]
    assert told["D"].notna().all()
    assert "risk weights of the other records" not in str(run.tables["disclosure_verdicts"]["held"])
    (folder / "weights.csv").rename(folder / "moved.csv")
    release_run(folder / "results", folder / "pack", schemes=["column:mine"], **accepting(run))
    (folder / "moved.csv").rename(folder / "weights.csv")
    record = json.loads((folder / "pack" / "disclosure_record.json").read_text(encoding="utf-8"))
    assert record["own_weights"] == [
        {
            "scheme": "column:mine",
            "source": "column 'mine'",
            "made_by": "our methods unit",
            "depends": "own",
            "sha256": digest,
        }
    ]
    for page in ("sign_off.md", "methods.md"):
        told = (folder / "pack" / page).read_text(encoding="utf-8")
        assert digest in told
        assert "our methods unit" in told
    assert len(list((folder / "pack" / "data" / "column-mine").glob("*.csv"))) == 3


def test_weights_that_may_read_others_leave_disclosure_unjudged(folder):
    given = settings()
    given["release"] = {**given["release"], "disclosure": {}}
    run_study(make_study(given, folder), folder / "unjudged", entropy=ENTROPY)
    tables = load_run(folder / "unjudged").tables
    assert tables["disclosure"]["D"].isna().all()
    assert "may depend on others' values" in str(tables["disclosure_verdicts"]["reasons"].iloc[0])


@pytest.mark.parametrize(
    ("section", "changes"),
    [
        ("scenario", {"known": ["group", "mine"]}),
        ("synthesizer", {"formula": "income ~ group + mine"}),
        ("release", {"columns": ["mine"]}),
    ],
)
def test_a_column_of_weights_plays_no_other_part(folder, section, changes):
    given = settings()
    study = make_study({**given, section: {**given[section], **changes}}, folder)
    with pytest.raises(InputError, match=f"{section}.*names 'mine', a column of weights"):
        check_study(study, study.read_data())
