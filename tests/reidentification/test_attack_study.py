"""`riskweighted reidentify`: from files, and from a finished run."""

import json
import os
import stat

import pandas as pd
import pytest
from command_line import riskweighted
from finished_run import copied_run

from riskweighted import (
    InputError,
    load_reidentification_study,
    reidentify,
    run_reidentification_study,
)

STUDY = """
metrics = ["unicity", "taxicab", "adhoc"]
strata = "state"
[files]
puf = "puf.csv"
eif = "eif.csv"
iuf = "iuf.csv"
pufid = ["house", "person"]
[linking]
age = "numeric"
sex = "categorical"
[scores]
age = "age.csv"
sex = "sex.csv"
"""


@pytest.fixture
def folder(tmp_path):
    puf = pd.DataFrame(
        {
            "house": [1, 1, 2, 3, 4, 5],
            "person": [1, 2, 1, 1, 1, 1],
            "state": list("xxxyyy"),
            "sex": list("mfmfmf"),
        }
    )
    puf["age"] = [20, 30, 40, 50, 60, 70]
    puf.to_csv(tmp_path / "puf.csv", index=False)
    eif = puf[["state", "sex", "age"]].assign(eifid=list("abcdef"))
    eif.to_csv(tmp_path / "eif.csv", index=False)
    puf[["house", "person"]].assign(eifid=list("abcdfe")).to_csv(tmp_path / "iuf.csv", index=False)
    (tmp_path / "age.csv").write_text("up_to,score\n5,5\n,0\n")
    (tmp_path / "sex.csv").write_text("puf,eif,score\nm,f,1\n")
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def test_the_command_line(folder):
    done = riskweighted("reidentify", "study.toml", "--out", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "conditional_rate" in done.stdout
    rates = pd.read_csv(folder / "out/tables/rates.csv")
    assert rates["stratum"].tolist() == ["all", "x", "y"] * 3
    kinds = {"age": "numeric", "sex": "categorical"}
    direct = reidentify(
        folder / "puf.csv",
        folder / "eif.csv",
        folder / "iuf.csv",
        kinds,
        ["house", "person"],
        "eifid",
        strata="state",
    )
    assert rates["conditional_rate"].iloc[0] == direct.conditional_rate == pytest.approx(4 / 6)
    assert len(pd.read_csv(folder / "out/confidential/unicity.csv")) == len(direct.pairs)
    assert {path.name for path in (folder / "out/figures").iterdir()} == {
        f"PUF_{m}.png" for m in ("unicity", "taxicab", "adhoc")
    }
    manifest = json.loads((folder / "out/manifest.json").read_text())
    assert set(manifest["inputs"]) == {"puf.csv", "eif.csv", "iuf.csv"}
    again = riskweighted("reidentify", "study.toml", "--out", "out", cwd=folder)
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "exists" in again.stderr
    found = json.loads(
        riskweighted("reidentify", "study.toml", "--out", "again", "--json", cwd=folder).stdout
    )
    assert (found["command"], found["results"]) == ("reidentify", "again")
    assert found["comparison"][0]["metric"] == "unicity"


def test_nothing_is_left_after_an_error(folder):
    (folder / "sex.csv").write_text("puf,eif,score\nm,f,7\n")
    with pytest.raises(InputError, match="between 0 and 5"):
        run_reidentification_study(
            load_reidentification_study(folder / "study.toml"), folder / "out"
        )
    assert not (folder / "out").exists()
    assert not (folder / "out.partial").exists()


def test_the_pairs_are_their_owners_only(folder):
    before = os.umask(0o022)
    try:
        run_reidentification_study(
            load_reidentification_study(folder / "study.toml"), folder / "out"
        )
    finally:
        os.umask(before)
    for path in [folder / "out", *(folder / "out").rglob("*")]:
        secret = "confidential" in path.parts
        expected = (0o700 if secret else 0o755) if path.is_dir() else (0o600 if secret else 0o644)
        assert stat.S_IMODE(path.stat().st_mode) == expected, path


def test_what_lay_in_the_working_folder_is_not_published(folder):
    stale = folder / "out.partial" / "confidential" / "old.csv"
    stale.parent.mkdir(parents=True)
    stale.write_text("old")
    with pytest.raises(InputError, match="not the working folder of a re-identification study"):
        run_reidentification_study(
            load_reidentification_study(folder / "study.toml"), folder / "out"
        )
    assert stale.read_text() == "old"


def test_an_interrupt_leaves_nothing(folder):
    class Stops:
        steps = 0

        def step(self, description):
            Stops.steps += 1
            if Stops.steps == 2:
                raise KeyboardInterrupt
            from riskweighted.common.progress import Quiet

            return Quiet().step(description)

    with pytest.raises(KeyboardInterrupt):
        run_reidentification_study(
            load_reidentification_study(folder / "study.toml"), folder / "out", reporter=Stops()
        )
    assert not list(folder.glob("out*"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[linking]", "[linkage]"), "unknown setting 'linkage'; valid here are 'files'"),
        (
            ('puf = "puf.csv"', 'pfu = "puf.csv"'),
            "setting 'files.puf' is missing|unknown setting 'files.pfu'",
        ),
        (('"taxicab"', '"cosine"'), "metrics must be different ones of 'unicity'"),
        (('age = "numeric"', 'age = "number"'), "linking.age"),
        (("[scores]", "[score]"), "unknown setting 'score'"),
        (('iuf = "iuf.csv"', 'iuf = "none.csv"'), "there is no file"),
        (("strata =", "strata"), "not valid TOML"),
    ],
)
def test_wrong_studies_are_refused(folder, change, message):
    (folder / "study.toml").write_text(STUDY.replace(*change))
    with pytest.raises(InputError, match=message) as error:
        run_reidentification_study(
            load_reidentification_study(folder / "study.toml"), folder / "out"
        )
    assert "\n" not in str(error.value)
    assert not (folder / "out").exists()


def test_synthetic_data_of_a_run(tmp_path):
    """PUF: each synthetic dataset; EIF: the confidential file; the truth: row by row."""
    run = copied_run(tmp_path)
    (tmp_path / "study.toml").write_text(
        'metrics = ["unicity"]\n[run]\nfolder = "results"\nconfidential = "data.csv"\n'
    )
    result = run_reidentification_study(
        load_reidentification_study(tmp_path / "study.toml"), tmp_path / "out"
    )
    assert result.rates.groupby("release")["dataset"].apply(list).to_dict() == {
        "pairwise": [1, 2, 3],
        "unweighted": [1, 2, 3],
    }
    data = pd.read_csv(tmp_path / "data.csv")
    first = pd.read_csv(next((run / "synthetic/pairwise").glob("*1.csv")))
    rows = pd.DataFrame({"pufid": range(120), "eifid": range(120)})
    kinds = {"group": "categorical", "income": "numeric"}
    direct = reidentify(first.assign(pufid=range(120)), data.assign(eifid=range(120)), rows, kinds)
    own = result.rates.set_index(["release", "dataset"]).loc[("pairwise", 1)]
    assert own["suspected_rate"] == direct.suspected_rate
    (tmp_path / "study.toml").write_text(
        '[run]\nfolder = "results"\nconfidential = "data.csv"\nschemes = ["marginal"]\n'
    )
    with pytest.raises(InputError, match="the run has no scheme 'marginal'; valid are"):
        run_reidentification_study(
            load_reidentification_study(tmp_path / "study.toml"), tmp_path / "none"
        )


@pytest.mark.parametrize("key", ["house", "eifid"])
def test_a_truth_that_names_no_pair_is_refused(folder, key):
    pd.read_csv(folder / "iuf.csv").assign(**{key: None}).head(1).to_csv(
        folder / "iuf.csv", index=False
    )
    with pytest.raises(InputError, match=r"^the IUF names no pair: each of its 1 rows lacks a key"):
        run_reidentification_study(
            load_reidentification_study(folder / "study.toml"), folder / "out"
        )
    assert not list(folder.glob("out*"))


def test_a_stratum_is_no_formula_of_a_spreadsheet(folder):
    for name in ("puf", "eif"):
        table = pd.read_csv(folder / f"{name}.csv")
        table["state"] = table["state"].replace({"x": '=HYPERLINK("http://a.example")', "y": "-1"})
        table.to_csv(folder / f"{name}.csv", index=False)
    run_reidentification_study(load_reidentification_study(folder / "study.toml"), folder / "out")
    strata = pd.read_csv(folder / "out/tables/rates.csv", dtype=str)["stratum"].unique()
    assert list(strata) == ["all", '\'=HYPERLINK("http://a.example")', "-1"]
