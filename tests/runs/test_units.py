"""A study of households from its file to a checked pack: ids are new, units whole, and the codebook
says what they are.
"""

import subprocess
import sys
from dataclasses import replace

import houses
import pandas as pd
import pytest
from finished_run import ACCEPTED, ENTROPY, accepting

from riskweighted.common.errors import InputError
from riskweighted.data.io import read_table
from riskweighted.release import leak_check
from riskweighted.release.pack import check_release, release_run
from riskweighted.release.released_datasets import rows_of
from riskweighted.reports.render import render_report
from riskweighted.reports.summary_table import summary_table
from riskweighted.runs.finished import load_run
from riskweighted.runs.plan import plan_study
from riskweighted.runs.run import run_study
from riskweighted.runs.study import make_study

pytestmark = pytest.mark.long  # what needs no fit is held in tests/release
SETTINGS = houses.SETTINGS | {
    "scenario": {"synthetic": ["rent", "age"], "inside": True},
    "intruders": [
        {"name": "neighbour", "known": ["region"]},
        {"name": "kin", "known": ["region", "relation"], "radius": 0.1},
    ],
    "sampling": {"chains": 2, "draws": 75, "tune": 75},
    "release": {**houses.SETTINGS["release"], "disclosure": ACCEPTED},
    "evaluation": {
        "resamples": 20,
        "regression": "age ~ rent + C(relation)",
        "coefficient": "rent",
    },
    "units": {
        **houses.SETTINGS["units"],
        "totals": {"ages": {"sum": "age"}, "grown": {"count": "age >= 18"}},
    },
}


@pytest.fixture(scope="module")
def data():
    frame = houses.households()
    grown = (frame["age"] >= 18).groupby(frame["house"]).transform("sum")
    return frame.assign(ages=frame.groupby("house")["age"].transform("sum").round(1), grown=grown)


@pytest.fixture(scope="module")
def run(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("units")
    of_unit = ["rent", "region", "ages", "grown"]
    of_house = data[["house", *of_unit]].drop_duplicates("house")
    of_house.sample(frac=1.0, random_state=1).to_csv(folder / "houses.csv", index=False)
    data.drop(columns=of_unit).to_csv(folder / "data.csv", index=False)
    run_study(make_study(SETTINGS, folder), folder / "results", entropy=ENTROPY)
    return load_run(folder / "results")


@pytest.fixture(scope="module")
def pack(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pack") / "pack"
    return release_run(run, folder, **accepting(run)).folder


def released(pack, number=1):
    return read_table(pack / "data" / "unweighted" / f"synthetic_unweighted_{number}.csv")


def test_the_codebook_says_what_the_columns_are_to_the_units(pack):
    book = pd.read_csv(pack / "codebook.csv").set_index("variable")
    assert book.loc["house", "status"] == "new numbers"
    assert "7000" not in str(book.loc["house", "values"])
    assert book["in units"].str.partition(":")[0].to_dict() == {
        "house": "names the unit",
        "relation": "role; every unit has 'head' once, listed first",
        "region": "the same for all of a unit",
        "rent": "the same for all of a unit",
        "age": "of each record",
        "ages": "the same for all of a unit",
        "grown": "the same for all of a unit",
    }
    assert book.loc[["ages", "grown"], "status"].tolist() == ["computed"] * 2
    for number in (1, 2):
        left = released(pack, number)
        ages = left.groupby("house")["age"].transform("sum").to_numpy()
        assert left["ages"].to_numpy() == pytest.approx(ages, abs=1e-6)
        assert (left["age"] >= 18).groupby(left["house"]).sum().tolist() == (
            left.groupby("house")["grown"].first().tolist()
        )


def test_a_pack_in_two_files_joins_to_that_in_one(run, pack, tmp_path):
    release = replace(run.study.release, layout="two-files")
    apart = replace(run)
    vars(apart)["study"] = replace(run.study, release=release)
    made = release_run(apart, tmp_path / "pack", formats=("csv", "dta"), **accepting(run))
    folder = made.folder / "data" / "unweighted"
    for number in (1, 2):
        units, members = (
            read_table(folder / f"synthetic_unweighted_{number}_{part}.csv")
            for part in ("units", "members")
        )
        assert units["house"].is_unique
        assert list(members) == ["house", "relation", "age"]
        whole = released(pack, number)
        joined = members.merge(units, on="house", validate="many_to_one")[list(whole)]
        pd.testing.assert_frame_equal(joined, whole)
    parts = made.check["file"].str.extract(r"_(units|members)\.")[0]
    assert set(parts + " " + made.check["variable"]) == {"members age", "units rent"}
    book = (made.folder / "codebook.xml").read_text()
    assert 'type="hierarchical"' in book
    code = made.folder / "combine.py"
    said = subprocess.run([sys.executable, code], capture_output=True, text=True, check=True)
    whole = subprocess.run([sys.executable, pack / "combine.py"], capture_output=True, text=True)
    assert said.stdout == whole.stdout != ""
    assert len(check_release(made.folder, apart)) == 8


@pytest.mark.parametrize("units", [None, {"id": "house", "role": "relation", "first": "head"}])
def test_two_files_need_a_file_of_units(units):
    release = SETTINGS["release"] | {"layout": "two-files"}
    given = {key: value for key, value in houses.SETTINGS.items() if key != "units"}
    with pytest.raises(InputError, match=r"release\.layout = .two-files. asks for"):
        make_study(given | {"release": release} | ({} if units is None else {"units": units}))


def test_a_pack_is_checked_and_refused_with_an_id_of_the_data(run, pack, data):
    secrets = leak_check.gather_secrets(run, data, ["unweighted"])
    contents = leak_check.check_made(pack, run, secrets.leaving, None)
    assert len(leak_check.check_datasets(contents, secrets)) == 4
    path = pack / "data" / "unweighted" / "synthetic_unweighted_1.csv"
    kept, left = path.read_bytes(), released(pack)
    held = data["house"].to_numpy()[rows_of(run, data)]
    left.assign(house=held).to_csv(path, index=False)
    with pytest.raises(InputError, match="not what the run makes"):
        leak_check.check_made(pack, run, secrets.leaving, None)
    path.write_bytes(kept)


def test_disclosure_to_a_member_stands_beside_that_to_others_with_its_definition(run):
    table = summary_table(run, short=True)
    (row,) = (row for row in table.rows if row[0].startswith("Disclosure to a member of the unit"))
    told = run.tables["disclosure"].set_index("group")
    assert float(row[1][1]) == pytest.approx(told.loc["inside", "D"], abs=1e-3)
    assert "all other values of its unit" in row[2]
    assert "Disclosure to a member of the unit" in render_report(run, internal=True)
    study = make_study(SETTINGS, run.folder.parent)
    for without in ({"units": None}, {"scenario": replace(study.scenario, earlier=True)}):
        with pytest.raises(InputError, match=r"scenario\.inside asks for"):
            replace(study, **without)


def test_each_of_several_intruders_is_judged_by_units(run):
    """Who finds fewer values near guesses fewer."""
    told = run.tables["intruder_disclosure"]
    told = told[told["release"] == "shuffled"].set_index(["intruder", "group", "variables"])
    for group, variables in (("all", "rent and age"), ("inside", "age")):
        guessed = [told.loc[(name, group, variables), "with"] for name in ("neighbour", "kin")]
        assert guessed[0] > guessed[1] > 0
    assert run.study.intruder == "neighbour"
    assert {each.intruder for each in run.verdicts} >= {"neighbour", "kin"}


def test_reports_and_check_tell_of_units(run):
    for internal in (False, True):
        page = render_report(run, internal=internal)
        assert 'id="units"' in page
        assert 'id="gap-2-1"' in page
    sizes = {f"units of {size}" for size in (1, 2, 3, 4)}
    assert sizes | {"inside", "inside, best guess"} <= set(run.tables["disclosure"]["group"])
    plan = plan_study(make_study(SETTINGS, run.folder.parent), estimated=False)
    assert plan.units.startswith("60 of 1 to 4 records")
