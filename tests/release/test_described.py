"""One survey as files of SPSS and of Stata, and as a csv of Europe: the same study, the same risk,
the same release.
"""

import json
import re
import runpy
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from finished_run import ENTROPY, accepting
from typer.testing import CliRunner

from riskweighted.commands.main import app
from riskweighted.common.errors import InputError
from riskweighted.data.csv_layout import CsvLayout
from riskweighted.data.io import read_table, write_table
from riskweighted.data.variable import Variable
from riskweighted.data.variables import Variables
from riskweighted.release.analysis_code import Predictor, PublishedAnalysis, combining_code
from riskweighted.release.pack import check_release, release_run
from riskweighted.reports.render import render_report
from riskweighted.runs.finished import load_run
from riskweighted.runs.run import run_study
from riskweighted.runs.study import make_study
from riskweighted.weights.scheme_names import stem_of

pytestmark = pytest.mark.versions

pyreadstat = pytest.importorskip("pyreadstat")

N = 200
LABELS = {"region": "Region of residence", "sex": "Sex of the head", "income": "Yearly income"}
VALUES = {
    "region": {1: "north", 2: "süd", 3: "east", 4: "abroad"},
    "sex": {1: "female", 2: "male"},
    "income": {-8: "refused", -9: "unknown"},
}
FORMATS = ("csv", "parquet", "dta", "sav", "xpt")
LAYOUT = CsvLayout(";", ",", ".", "cp1252")
WHY = "a few records of a test"
SMALL = dict.fromkeys(
    (
        "mean",
        "isolated",
        "largest",
        "max_true_value_copies",
        "max_identified",
        "group",
        "not_judged",
        "not_shown",
    ),
    WHY,
)
SCHEME = "uniform(c=0.5)"


def survey():
    """40 records refuse to tell; no record is of the region "abroad"."""
    rng = np.random.default_rng(2)
    region, sex = rng.integers(1, 4, N), rng.integers(1, 3, N)
    income = np.round(np.exp(8 + 0.3 * region + 0.6 * rng.normal(size=N)), 2)
    income[rng.permutation(N)[:40]] = -8
    return pd.DataFrame(
        {
            "region": region,
            "sex": sex,
            "place": np.where(region == 2, "Köln", "Rom"),
            "income": income,
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("described")
    table = survey()
    missing = {"income": [{"lo": -99, "hi": -90}, -8]}
    pyreadstat.write_sav(
        table,
        root / "s.sav",
        column_labels=LABELS,
        variable_value_labels=VALUES,
        missing_ranges=missing,
    )
    table.to_stata(
        root / "s.dta", write_index=False, version=118, variable_labels=LABELS, value_labels=VALUES
    )
    write_table(table, root / "s.csv", layout=LAYOUT)
    return root


def init(folder, *arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = CliRunner().invoke(app, ["init", *arguments, "--synthetic", "income"])
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


@pytest.fixture(scope="module")
def studies(folder):
    """The settings that `init` writes for each file, and what it says."""
    said = {
        ending: init(folder, f"s.{ending}", "--out", f"{ending}.toml")
        for ending in ("sav", "dta", "csv")
    }
    return {
        ending: tomllib.loads((folder / f"{ending}.toml").read_text(encoding="utf-8"))
        for ending in said
    }, said


@pytest.fixture(scope="module")
def runs(folder, studies):
    """A small run of the file of SPSS and of the csv; what is read of that of Stata is the same as
    of SPSS (below).
    """
    made = {}
    for ending in ("sav", "csv"):
        settings = studies[0][ending]
        small = {
            **settings,
            "synthesizer": {
                "name": "sequential",
                "predictors": ["region", "sex"],
                "variables": {
                    "income": {"codes": [-8], "model": "linear-regression", "transform": "log"}
                },
            },
            "weights": {"schemes": ["unweighted", SCHEME]},
            "sampling": {"draws": 100, "tune": 100, "chains": 2},
            "release": {
                "L": 3,
                "columns": ["place"],
                "unique_share": 1.0,
                "disclosure": {"accept": SMALL},
            },
            "scenario": {
                **settings["scenario"],
                "known": ["region", "sex"],
                "codes": {"income": [-8]},
            },
            "evaluation": {},
        }
        run_study(make_study(small, folder), folder / f"run-{ending}", entropy=ENTROPY)
        made[ending] = load_run(folder / f"run-{ending}")
    return made


@pytest.fixture(scope="module")
def packs(folder, runs):
    made = {}
    for ending, run in runs.items():
        made[ending] = release_run(
            run, folder / f"pack-{ending}", schemes=[SCHEME], formats=FORMATS, **accepting(run)
        ).folder
    return made


def of_data(settings):
    return {name: section for name, section in settings.items() if name != "data"}


@pytest.mark.quick
def test_what_a_study_reads_of_stata_is_what_it_reads_of_spss(folder, studies):
    """The values, and what the survey says of them, but the missing codes, which Stata cannot
    declare: so runs and packs are the same.
    """
    read = {ending: make_study(studies[0][ending], folder) for ending in ("sav", "dta")}
    pd.testing.assert_frame_equal(read["dta"].read_data(), read["sav"].read_data())
    said = {ending: Variables.read(folder / f"s.{ending}") for ending in read}
    for name, label in LABELS.items():
        assert said["dta"][name].label == said["sav"][name].label == label
        assert said["dta"][name].values == said["sav"][name].values == VALUES[name]


@pytest.mark.quick
def test_init_writes_the_same_study_and_says_what_a_file_cannot(studies):
    settings, said = studies
    assert settings["sav"]["scenario"]["codes"] == {"income": [-8]}
    # which no file of Stata can declare
    assert settings["dta"]["scenario"]["codes"] == {"income": [-8, "found"]}
    assert json.dumps(of_data(settings["sav"])) == json.dumps(of_data(settings["dta"])).replace(
        '-8, "found"', "-8"
    )
    assert settings["sav"]["data"] == {
        "path": "s.sav",
        "variables": "s.sav",
        "kinds": {"region": "levels"},
    }
    assert "declares missing codes of 1" in said["sav"]
    assert "cannot say which mean missing" in said["dta"]
    assert "cannot say" not in said["sav"]
    assert settings["csv"]["data"] == {
        "path": "s.csv",
        "delimiter": ";",
        "decimal": ",",
        "encoding": "cp1252",
        "kinds": {"region": "levels"},
    }
    assert "delimiter ';', decimal ',', encoding 'cp1252': guessed" in said["csv"]
    assert not any("-8" in text or "refused" in text for text in said.values())


@pytest.mark.long
def test_the_same_risk_and_the_same_datasets(runs, packs):
    for name, table in runs["sav"].tables.items():
        pd.testing.assert_frame_equal(table, runs["csv"].tables[name], rtol=1e-12)
    for number in (1, 2, 3):
        files = {
            ending: pack / "data" / stem_of(SCHEME) / f"synthetic_{stem_of(SCHEME)}_{number}"
            for ending, pack in packs.items()
        }

        def content(ending, kind, files=files):
            return Path(f"{files[ending]}.{kind}").read_bytes()

        assert content("sav", "csv") != content("csv", "csv")
        assert content("csv", "csv").decode("cp1252").splitlines()[0] == "region;sex;place;income"
        plain = read_table(f"{files['sav']}.csv")
        pd.testing.assert_frame_equal(read_table(f"{files['csv']}.csv", LAYOUT), plain)
        for kind in FORMATS[1:]:
            pd.testing.assert_frame_equal(
                read_table(Path(f"{files['sav']}.{kind}"), variables=Variables({})),
                plain,
                check_dtype=False,
            )


@pytest.mark.long
def test_every_format_of_a_pack_and_its_pages_say_what_the_survey_says(runs, packs):
    pack = packs["sav"]
    sidecar = Variables.read(pack / "variables.toml")
    first = pack / "data" / stem_of(SCHEME) / f"synthetic_{stem_of(SCHEME)}_1.sav"
    for stated in (sidecar, Variables.read(first)):
        assert stated["income"].label == "Yearly income (synthetic)"
        assert stated["income"].missing == ((-99, -90), -8)
        assert {name: stated[name].values for name in VALUES} == VALUES
        assert stated["sex"].label == LABELS["sex"]
    assert [sidecar[name].type for name in sidecar] == [
        "whole number",
        "whole number",
        "text",
        "number",
    ]
    assert sidecar["income"].source == "s.sav (SPSS F8.2)"
    of_stata = Variables.read(first.with_suffix(".dta"))
    assert of_stata["income"].label == "Yearly income (synthetic)"
    assert {name: of_stata[name].values for name in VALUES} == VALUES
    assert Variables.read(first.with_suffix(".parquet"))["income"].missing == ((-99, -90), -8)
    book = pd.read_csv(pack / "codebook.csv").set_index("variable")
    assert book.loc["region", "value labels"] == "north = 1; süd = 2; east = 3; abroad = 4"
    assert book.loc["income", "missing codes"] == "codes -99 thru -90; code -8"
    xml = (pack / "codebook.xml").read_text(encoding="utf-8")
    assert "<labl>Yearly income (synthetic)</labl>" in xml
    assert re.search(r"<catValu>4</catValu>\s*<labl>abroad</labl>", xml)
    assert '<range min="-99" max="-90" />' in xml
    assert "Yearly income (synthetic)" in render_report(runs["sav"])
    assert "variables.toml" in (pack / "README.md").read_text(encoding="utf-8")
    assert not (packs["csv"] / "variables.toml").exists()
    assert "have ';' between columns, ',' before decimals, and are in cp1252" in (
        packs["csv"] / "README.md"
    ).read_text(encoding="utf-8")


@pytest.mark.long
def test_a_pack_is_held_to_what_the_survey_said(folder, runs, packs):
    for ending, pack in packs.items():
        assert len(check_release(pack, runs[ending])) == 3 * len(FORMATS)
    path = packs["sav"] / "variables.toml"
    before = path.read_text(encoding="utf-8")
    try:
        path.write_text(before.replace("refused", "income of Ms M: 7"), encoding="utf-8")
        with pytest.raises(
            InputError, match=r"'variables\.toml' is or holds not what the run makes"
        ):
            check_release(packs["sav"], runs["sav"])
    finally:
        path.write_text(before, encoding="utf-8")
    pack = release_run(
        runs["csv"], folder / "plain", schemes=[SCHEME], plain_csv=True, **accepting(runs["csv"])
    ).folder
    first = f"data/{stem_of(SCHEME)}/synthetic_{stem_of(SCHEME)}_1.csv"
    assert (pack / first).read_bytes() == (packs["sav"] / first).read_bytes()
    check_release(pack, runs["csv"])


@pytest.mark.quick
@pytest.mark.parametrize("kind", ["dta", "sav"])
def test_code_reads_labelled_codes_as_the_numbers_that_they_are(tmp_path, capsys, kind):
    rng = np.random.default_rng(1)
    frames = [
        pd.DataFrame({"y": rng.normal(size=50), "g": rng.integers(1, 4, 50)}) for _ in range(3)
    ]
    stated = Variables({"y": Variable("Y"), "g": Variable("G", {1: "one", 3: "unknown"}, (3,))})
    analysis = PublishedAnalysis(
        "coefficient", "y", (Predictor("g", 2), Predictor("g", 3)), 2, 0.95, (0.0, 0.0, 0.0), True
    )
    printed = []
    for ending, described in (("csv", None), (kind, stated)):
        files = [f"x{number}.{ending}" for number in range(3)]
        for frame, file in zip(frames, files, strict=True):
            write_table(frame, tmp_path / file, variables=described)
        codes, _ = combining_code(
            analysis, frames[0], {ending: files}, labelled=described is not None
        )
        (tmp_path / f"combine_{ending}.py").write_text(codes["Python"][1], encoding="utf-8")
        runpy.run_path(str(tmp_path / f"combine_{ending}.py"), run_name="__main__")
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert "estimate" in printed[0]


@pytest.mark.quick
def test_code_reads_csv_files_as_they_are_laid_out(tmp_path, capsys):
    rng = np.random.default_rng(1)
    frames = [
        pd.DataFrame({"y": rng.normal(size=50), "g": rng.choice(["Köln", "Rom"], 50)})
        for _ in range(3)
    ]
    analysis = PublishedAnalysis(
        "coefficient", "y", (Predictor("g", "Köln", True),), 1, 0.95, (0.0, 0.0, 0.0), True
    )
    printed = []
    for name, layout in (("plain", CsvLayout()), ("europe", CsvLayout(";", ",", None, "latin-1"))):
        folder = tmp_path / name
        files = [f"x{number}.csv" for number in range(3)]
        for frame, file in zip(frames, files, strict=True):
            write_table(frame, folder / file, layout=layout)
        codes, missing = combining_code(analysis, frames[0], {"csv": files}, layout)
        (folder / "combine.py").write_text(codes["Python"][1], encoding="utf-8")
        runpy.run_path(str(folder / "combine.py"), run_name="__main__")
        printed.append(capsys.readouterr().out)
        assert ('sep = ";", dec = ",", fileEncoding = "latin-1"' in codes["R"][1]) == (
            name == "europe"
        )
        assert (
            ("--plain-csv" in missing.get("SAS", ""))
            == ("--plain-csv" in missing.get("Stata", ""))
            == (name == "europe")
        )
    assert printed[0] == printed[1]
    assert "estimate" in printed[0]
