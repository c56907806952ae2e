"""The pack that may leave: what is in it, what its code computes, and that nothing is left where it
is refused.
"""

import contextlib
import dataclasses
import io
import json
import os
import re
import runpy
import stat
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import typer
from finished_run import confidential_data, copied_run, finished_run
from labels import read_label
from typer.testing import CliRunner

from riskweighted.commands.release import release
from riskweighted.common.datasets import Datasets
from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import file_hash
from riskweighted.data.io import read_table
from riskweighted.data.variable import Variable
from riskweighted.data.variables import Variables
from riskweighted.release.analysis_code import (
    Predictor,
    PublishedAnalysis,
    combining_code,
    find_analysis,
)
from riskweighted.release.codebook import codebook, codebook_markdown, parse_units
from riskweighted.release.contents import Contents, write_pack
from riskweighted.release.pack import FORMATS, release_run
from riskweighted.release.released_datasets import leaving_datasets
from riskweighted.runs.finished import load_run
from riskweighted.utility.combining_rules import combine_partially_synthetic

pytestmark = pytest.mark.versions

ALL = ("csv", "parquet", "dta", "sav", "xpt")


@pytest.fixture(scope="module")
def run():
    return load_run(finished_run())


@pytest.fixture(scope="module")
def pack(run, tmp_path_factory):
    out = tmp_path_factory.mktemp("release") / "pack"
    units = {"income": "1,000 $ <b>"}
    return release_run(
        run,
        out,
        schemes=["pairwise"],
        formats=ALL,
        units=units,
        report=lambda run: "<p>aggregates</p>",
    ).folder


def numbers_printed(script, apart=False):
    """What the script prints; `apart`: in a process of its own, as its reader runs it."""
    if apart:
        printed = subprocess.run(
            [sys.executable, "-W", "error", script], capture_output=True, text=True, check=True
        ).stdout
    else:
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            runpy.run_path(str(script), run_name="__main__")
        printed = shown.getvalue()
    return [float(number) for number in re.findall(r"-?\d+\.\d+", printed)]


@pytest.mark.slow
def test_every_format_holds_the_synthetic_values_and_says_so(run, pack):
    assert FORMATS == ALL
    for ending in ALL:
        for number, frame in enumerate(leaving_datasets(run, confidential_data(), "pairwise"), 1):
            path = pack / "data" / "pairwise" / f"synthetic_pairwise_{number}.{ending}"
            read = read_table(path)
            pd.testing.assert_frame_equal(read, frame, check_dtype=False)
            assert read_label(path) == ("" if ending == "csv" else f"SYNTHETIC DATA {number} of 3")
    assert "SYNTHETIC" in (pack / "data" / "pairwise" / "README.txt").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("ending", ALL)
def test_the_python_code_reproduces_the_published_interval(run, tmp_path, ending):
    pack = release_run(run, tmp_path / "pack", schemes=["pairwise"], formats=[ending]).folder
    utility = run.tables["utility"]
    row = utility[
        (utility["label"] == "pairwise") & (utility["measure"] == "coefficient C(size)[T.2]")
    ].iloc[0]
    np.testing.assert_allclose(
        numbers_printed(pack / "combine.py", apart=ending == "csv"),
        row[["value", "lower", "upper"]].astype(float),
        rtol=1e-9,
    )
    page = (pack / "how_to_combine.md").read_text()
    for value in (row["value"], row["lower"], row["upper"]):
        assert f"{value:.5g}" in page
    assert (pack / "combine.py").read_text() in page
    assert (pack / "combine.R").is_file()
    assert (pack / "combine.sas").is_file() == (ending in ("csv", "xpt"))
    assert (pack / "combine.do").is_file() == (ending != "parquet")


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet", "dta"])
def test_code_codebook_and_xml_have_the_stated_types(run, tmp_path, ending):
    """The sizes 1, 2 and 3 are levels, which the regression need not say again."""
    other = changed(run, regression="income ~ group + size", coefficient="size[T.2]")
    other.tables["utility"] = run.tables["utility"].replace({"term": {"C(size)[T.2]": "size[T.2]"}})
    other.__dict__["described"] = Variables({"size": Variable("Size", type="category")})
    leaving = leaving_datasets(other, other.described.typed(confidential_data()), "pairwise")
    pack = tmp_path / "pack"
    write_pack(Contents(other, {"pairwise": leaving}, ("pairwise",), (ending,), {}, None), pack)
    utility = run.tables["utility"]
    row = utility[(utility["label"] == "pairwise") & (utility["term"] == "C(size)[T.2]")].iloc[0]
    np.testing.assert_allclose(
        numbers_printed(pack / "combine.py"),
        row[["value", "lower", "upper"]].astype(float),
        rtol=1e-9,
    )
    assert read_table(pack / "codebook.csv").set_index("variable").loc["size", "type"] == "category"
    assert "<notes>category, unaltered: 1; 2; 3</notes>" in (pack / "codebook.xml").read_text(
        encoding="utf-8"
    )
    third = changed(other, regression="income ~ group + size", coefficient="size[T.4]")
    third.__dict__["described"] = other.described
    assert find_analysis(third, "pairwise").what == "mean of income"  # no dataset has the level


@pytest.mark.slow
def test_the_manifest_names_every_file_and_no_place(pack, run):
    manifest = json.loads((pack / "manifest.json").read_text())
    found = {
        path.relative_to(pack).as_posix(): file_hash(path)
        for path in pack.rglob("*")
        if path.is_file()
    }
    assert manifest["files"] == {
        name: digest for name, digest in found.items() if name != "manifest.json"
    }
    assert "seed" not in manifest["settings"]
    assert "entropy" not in (pack / "manifest.json").read_text()
    assert manifest["settings"]["data"]["path"] == "data.csv"
    assert manifest["versions"] == run.manifest["versions"]
    assert manifest["run_manifest_sha256"] == file_hash(run.folder / "manifest.json")
    assert run.manifest["input"]["sha256"] not in (pack / "manifest.json").read_text()
    assert str(run.folder.parent) not in "".join(path.read_text() for path in pack.glob("*.*"))
    sheet = (pack / "sign_off.md").read_text()
    assert all(
        slot in sheet
        for slot in (
            "Data steward",
            "Disclosure reviewer",
            "Approver",
            "date",
            "Unaltered columns: group, size.",
        )
    )
    assert "income: unaltered" not in sheet


@pytest.mark.slow
def test_the_same_run_gives_the_same_bytes(run, pack, tmp_path):
    again = release_run(
        run,
        tmp_path / "pack",
        schemes=["pairwise"],
        formats=ALL,
        units={"income": "1,000 $ <b>"},
        report=lambda run: "<p>aggregates</p>",
    ).folder
    for path in pack.rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (again / path.relative_to(pack)).read_bytes(), path


@pytest.mark.slow
def test_a_pack_is_private_until_it_is_checked(run, tmp_path):
    seen = []

    def look(run):
        seen.append(
            (stat.S_IMODE((tmp_path / "pack.partial").stat().st_mode), (tmp_path / "pack").exists())
        )
        return "<p>aggregates</p>"

    before = os.umask(0o022)
    try:
        folder = release_run(run, tmp_path / "pack", schemes=["pairwise"], report=look).folder
    finally:
        os.umask(before)
    assert seen == [(0o700, False)]
    for path in [folder, *folder.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o755 if path.is_dir() else 0o644), path
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.slow
def test_a_refused_pack_leaves_nothing(run, tmp_path):
    secret = confidential_data()["income"].max()
    with pytest.raises(InputError, match=r"nothing was released: 'report\.html'") as caught:
        release_run(
            run, tmp_path / "pack", schemes=["pairwise"], report=lambda run: f"<p>{secret}</p>"
        )
    assert str(secret) not in str(caught.value)
    assert list(tmp_path.iterdir()) == []

    def broken(run):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        release_run(run, tmp_path / "pack", schemes=["pairwise"], report=broken)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_what_cannot_be_released(run, tmp_path):
    (tmp_path / "there").mkdir()
    out = tmp_path / "pack"
    not_converged = run.tables["summary"].assign(converged="NO")
    failed = dataclasses.replace(run, tables=run.tables | {"summary": not_converged})
    other = confidential_data().assign(income=lambda data: data["income"] + 1)
    for arguments, message in (
        ({"out": tmp_path / "there", "schemes": ["pairwise"]}, "exists"),
        ({"out": out}, r"several schemes.*valid are 'unweighted', 'pairwise'"),
        ({"out": out, "schemes": ["top-coding"]}, "no scheme 'top-coding'"),
        (
            {"out": out, "schemes": ["pairwise"], "formats": ["csv", "xlsx"]},
            "unknown format 'xlsx'",
        ),
        ({"out": out, "schemes": ["pairwise"], "formats": []}, "valid are 'csv'"),
        ({"out": out, "schemes": ["pairwise"], "units": {"nope": "x"}}, "units names 'nope'"),
        ({"out": out, "schemes": ["pairwise"], "confidential": other}, "of other data"),
        ({"out": out, "schemes": ["pairwise"], "run": failed}, "'pairwise' did not converge"),
    ):
        with pytest.raises(InputError, match=message):
            release_run(**({"run": run} | arguments))
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


@pytest.mark.slow
def test_the_command(tmp_path, run):
    app = typer.Typer()
    app.command()(release)
    folder = copied_run(tmp_path)
    (tmp_path / "data.csv").rename(tmp_path / "moved.csv")
    arguments = [
        str(folder),
        "--out",
        str(tmp_path / "pack"),
        "--scheme",
        "pairwise,unweighted",
        "--format",
        "csv,dta",
        "--measured-in",
        "income=$",
    ]
    missing = CliRunner().invoke(app, arguments)
    assert isinstance(missing.exception, InputError)
    assert not (tmp_path / "pack").exists()
    done = CliRunner().invoke(app, [*arguments, "--confidential", str(tmp_path / "moved.csv")])
    assert done.exit_code == 0, done.exception
    assert len(list((tmp_path / "pack" / "data").rglob("*.dta"))) == 6
    assert (
        read_table(tmp_path / "pack" / "codebook.csv").set_index("variable").loc["income", "unit"]
        == "$"
    )


def changed(run, **evaluation):
    manifest = json.loads(json.dumps(run.manifest))
    manifest["settings"]["evaluation"] |= evaluation
    return dataclasses.replace(run, manifest=manifest, tables=dict(run.tables))


@pytest.mark.slow
def test_without_a_regression_of_main_effects_the_mean_is_reproduced(run, tmp_path):
    values = [frame["income"] for frame in run.synthetic["pairwise"]]
    expected = combine_partially_synthetic(
        [v.mean() for v in values], [v.var() / 120 for v in values]
    )
    for other in (
        {"regression": None, "coefficient": None},
        {"regression": "income ~ group * C(size)"},
        {"regression": "income ~ log(size)"},
    ):
        analysis = find_analysis(changed(run, **other), "pairwise")
        assert (analysis.what, analysis.predictors) == ("mean of income", ())
    files = {
        "csv": [
            str(run.folder / "synthetic" / "pairwise" / f"synthetic_{number}.csv")
            for number in (1, 2, 3)
        ]
    }
    codes, missing = combining_code(analysis, run.synthetic["pairwise"][0], files)
    assert (set(codes), missing) == ({"Python", "R", "SAS", "Stata"}, {})
    (tmp_path / "combine.py").write_text(codes["Python"][1])
    np.testing.assert_allclose(numbers_printed(tmp_path / "combine.py"), expected[:3], rtol=1e-9)
    np.testing.assert_allclose(analysis.published, expected[:3], rtol=1e-12)


@pytest.mark.slow
def test_a_regression_on_columns_that_stay_is_not_reproduced(run):
    other = dataclasses.replace(run)
    other.__dict__["synthetic"] = {
        name: [frame.drop(columns="size") for frame in frames]
        for name, frames in run.synthetic.items()
    }
    assert find_analysis(other, "pairwise").what == "mean of income"


@pytest.mark.slow
def test_one_dataset_has_no_rule(run):
    manifest = json.loads(json.dumps(run.manifest))
    manifest["settings"]["release"]["L"] = 1
    assert find_analysis(dataclasses.replace(run, manifest=manifest), "pairwise") is None


HOSTILE = [
    '"""\nimport os #',
    "<script>alert(1)</script>",
    "a*/b",
    "a|b",
    "`x`",
    "$x$",
    "\u202ertl",
    "🙂",
    "é" * 300,
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_of_all_kinds_stay_names_in_the_code(tmp_path, name):
    rng = np.random.default_rng(1)
    paths = []
    for number in (1, 2, 3):
        frame = pd.DataFrame({name: rng.choice([name, "b"], 50), "y": rng.normal(size=50)})
        paths.append(str(tmp_path / f"{number}.csv"))
        frame.to_csv(paths[-1], index=False)
    analysis = PublishedAnalysis(
        f"coefficient {name}", "y", (Predictor(name, name, True),), 1, 0.95, (0.0, -1.0, 1.0)
    )
    codes, missing = combining_code(analysis, frame, {"csv": paths})
    assert set(missing) == {"SAS", "Stata"}
    (tmp_path / "combine.py").write_text(codes["Python"][1])
    assert len(numbers_printed(tmp_path / "combine.py")) == 3
    assert codes["R"][1].splitlines()[0].startswith("# Combine")
    assert codes["R"][1].splitlines()[1].startswith("# Needs")
    page = codebook_markdown(codebook([frame], ["y"]))
    assert len(page.splitlines()) == 4
    assert not re.search(r"(?<!\\)<|\u202e", page)


def test_a_codebook_by_hand():
    first = pd.DataFrame(
        {
            "id": ["x", "y", "z", "w"],
            "region": pd.Categorical(["n", "s", None, "n"], categories=["s", "n", "unused"]),
            "age": [31, 40, 31, 31],
            "income": [1.0, 2.0, 3.0, 4.0],
        }
    )
    second = first.assign(income=[5.0, 6.0, 7.0, 987654.5])
    book = codebook([first, second], ["income"], {"age": "years"}).set_index("variable")
    assert book.loc["id", "values"] == "4 different values"
    assert book.loc["region"].tolist() == ["category", "unaltered", "s; n", 1, ""]
    assert book.loc["age"].tolist() == ["whole number", "unaltered", "31; 40", 0, "years"]
    assert book.loc["income", "status"] == "synthesized"
    assert book.loc["income", "values"].startswith(
        "90 % of the synthetic values lie between 1.35 and "
    )
    assert "987654" not in book.to_csv()


def test_synthesized_codes_are_listed_and_have_no_middle():
    jobs = [pd.DataFrame({"job": [1, 7, 7, 3]}), pd.DataFrame({"job": [7, 1, 1, 3]})]
    told = codebook(jobs, ["job"], levels=["job"]).loc[0]
    assert [told["type"], told["status"], told["values"]] == [
        "whole number",
        "synthesized",
        "1; 3; 7",
    ]
    assert codebook(jobs, ["job"]).loc[0, "values"].startswith("90 %")


def test_units_of_a_command_line():
    assert parse_units(["a=b", "c = d=e"]) == {"a": "b", "c": "d=e"}
    with pytest.raises(InputError, match="1 of 2 have no '='"):
        parse_units(["a=b", "98765.4"])


def test_the_codebook_holds_no_formula():
    link = '=HYPERLINK("http://a.example","open")'
    frame = pd.DataFrame({"=cmd": [1.5, 2.5] * 2, "@sum": [link, "b"] * 2, "y": [0.5, 1.5] * 2})
    book = codebook([frame], ["y"], {"y": "+1", "@sum": "-unit"})
    assert book["variable"].tolist() == ["'=cmd", "'@sum", "y"]
    assert book["values"].tolist()[1] == f"'{link}; b"
    assert book["unit"].tolist() == ["", "'-unit", "+1"]


@pytest.mark.slow
def test_cells_that_a_spreadsheet_would_run_are_left_and_named(tmp_path):
    root = copied_run(tmp_path / "run")
    run = load_run(root)
    assert (
        "spreadsheet"
        not in (
            release_run(run, tmp_path / "plain", schemes=["pairwise"]).folder
            / "data/pairwise/README.txt"
        ).read_text()
    )
    base = run.synthetic["pairwise"].base.assign(
        group=lambda frame: frame["group"].replace("a", "=1+1")
    )
    contents = Contents(
        run,
        {"pairwise": Datasets(base, run.synthetic["pairwise"].altered)},
        ("pairwise",),
        ("csv",),
        {},
        None,
    )
    write_pack(contents, tmp_path / "risky")
    told = (tmp_path / "risky/data/pairwise/README.txt").read_text()
    assert "run cells of group as formulas" in told
    assert "=1+1" in (tmp_path / "risky/data/pairwise/synthetic_pairwise_1.csv").read_text()
