"""Datasets leave in a random order of rows, shuffled within released patterns besides, which the
run's entropy makes again.
"""

import dataclasses
import json
import shutil
import stat
import warnings
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from finished_run import ENTROPY, SETTINGS, confidential_data, copied_run, finished_run
from pages import without_figures

from riskweighted.common.errors import InputError, RiskWeightedWarning
from riskweighted.common.fingerprints import file_hash
from riskweighted.data.io import read_table
from riskweighted.evaluation.measure_rows import as_row, as_table
from riskweighted.measures.disclosure_measures import HIDDEN
from riskweighted.measures.measure import Value
from riskweighted.release.pack import check_release, release_run
from riskweighted.release.released_datasets import leaving_datasets, rows_of
from riskweighted.reports.render import render_report
from riskweighted.runs.finished import load_run
from riskweighted.runs.run import run_study
from riskweighted.runs.study import make_study

UNALTERED = ["group", "size"]


@pytest.mark.slow
def test_each_dataset_has_the_same_rows_in_an_order_of_its_own(tmp_path):
    run, data = load_run(finished_run()), confidential_data()
    pack = release_run(run, tmp_path / "pack", schemes=["pairwise"]).folder
    frames = [read_table(path) for path in sorted((pack / "data" / "pairwise").glob("*.csv"))]
    orders, rows = [], rows_of(run, data)
    for frame, whole in zip(frames, run.synthetic["pairwise"], strict=True):
        aligned = whole.take(rows).reset_index(drop=True)
        pd.testing.assert_frame_equal(
            frame[UNALTERED], data[UNALTERED].take(rows).reset_index(drop=True)
        )
        assert not frame["income"].equals(aligned["income"])
        names = [*UNALTERED, "income"]
        pd.testing.assert_frame_equal(
            frame.sort_values(names, ignore_index=True),
            aligned.sort_values(names, ignore_index=True)[list(frame)],
            check_exact=True,
        )
        orders.append(frame["income"].rank().to_numpy() - aligned["income"].rank().to_numpy())
    assert not np.array_equal(orders[0], orders[1])
    assert "also shuffled" in (pack / "sign_off.md").read_text()
    assert len(check_release(pack, run)) == 3


@pytest.mark.slow
def test_an_aligned_file_is_not_what_leaves(tmp_path):
    run = load_run(finished_run())
    pack = release_run(run, tmp_path / "pack", schemes=["pairwise"]).folder
    (pack / "data" / "pairwise" / "synthetic_pairwise_1.csv").write_bytes(
        (run.folder / "synthetic" / "pairwise" / "synthetic_1.csv").read_bytes()
    )
    with pytest.raises(InputError, match="not what the run makes"):
        check_release(pack, run)


@pytest.mark.slow
def test_without_shuffling_the_reason_stands_on_the_sheet_and_units_move_as_one(tmp_path):
    data = confidential_data().assign(household=lambda table: table["id"] // 2)
    data["group"] = data["group"].to_numpy()[data["household"].to_numpy()]
    settings = SETTINGS | {"weights": {"schemes": ["unweighted"]}, "data": {"path": "data.csv"}}
    data.to_csv(tmp_path / "data.csv", index=False)
    kept = settings["release"] | {"shuffle": False, "unshuffled_reason": "a panel of *two* waves"}
    run_study(
        make_study(settings | {"release": kept}, tmp_path), tmp_path / "kept", entropy=ENTROPY
    )
    pack = release_run(tmp_path / "kept", tmp_path / "kept-pack").folder
    aligned = load_run(tmp_path / "kept").synthetic["unweighted"]
    rows = rows_of(load_run(tmp_path / "kept"), data)
    for number, frame in enumerate(aligned, 1):  # joined by row, whatever the order
        left = read_table(pack / "data" / "unweighted" / f"synthetic_unweighted_{number}.csv")
        pd.testing.assert_frame_equal(left, frame.take(rows).reset_index(drop=True))
    assert r"joined by row: a panel of \*two\* waves" in (pack / "sign_off.md").read_text()
    run_study(
        make_study(settings | {"release": settings["release"] | {"unit": "household"}}, tmp_path),
        tmp_path / "linked",
        entropy=ENTROPY,
    )
    run = load_run(tmp_path / "linked")
    aligned, leaving = run.synthetic["unweighted"][0], leaving_datasets(run, data, "unweighted")[0]
    pairs = {frozenset(values) for _, values in aligned["income"].groupby(data["household"])}
    # which does not leave, so that its rows do not stand together
    households = data["household"].to_numpy()[rows_of(run, data)]
    assert {frozenset(values) for _, values in leaving["income"].groupby(households)} == pairs
    assert (households[1:] == households[:-1]).sum() < 10


@pytest.mark.quick
@pytest.mark.parametrize(
    ("release", "what"),
    [
        ({"shuffle": False}, "go together"),
        ({"shuffle": False, "unshuffled_reason": " "}, "go together"),
        ({"unshuffled_reason": "x"}, "go together"),
        ({"shuffle": "no"}, "shuffle must be true or false"),
        ({"unit": 3}, "unit"),
        ({"hidden": ["age"]}, "hidden must be a table of reasons"),
        ({"hidden": {"age": ""}}, "hidden.age"),
    ],
)
def test_settings_that_make_no_sense_are_refused(release, what):
    with pytest.raises(InputError, match=what):
        make_study(SETTINGS | {"release": {**SETTINGS["release"], **release}})


@pytest.mark.slow
def test_a_unit_that_is_not_there_is_named(tmp_path):
    copied_run(tmp_path)
    with pytest.raises(InputError, match=r"release\.unit"):
        run_study(
            make_study(
                SETTINGS | {"release": {**SETTINGS["release"], "unit": "nowhere"}}, tmp_path
            ),
            tmp_path / "out",
        )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A pack with its report; `reported` is a copy of it, with the times and modes of every
    file.
    """
    with without_figures():
        return release_run(
            load_run(finished_run()),
            tmp_path_factory.mktemp("made") / "pack",
            schemes=["pairwise"],
            report=render_report,
        ).folder


@pytest.fixture
def reported(made, tmp_path):
    return shutil.copytree(made, tmp_path / "pack")


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_a_forged_report_whose_hash_is_in_the_manifest_and_an_empty_folder_are_refused(reported):
    run, pack = load_run(finished_run()), reported
    (pack / "data" / "more").mkdir()
    with pytest.raises(InputError, match=r"'data/more' is or holds an empty folder"):
        check_release(pack, run)
    (pack / "data" / "more").rmdir()
    page, manifest = pack / "report.html", pack / "manifest.json"
    told = file_hash(page)
    page.write_text(page.read_text().replace("expected", "expected "))
    manifest.write_text(manifest.read_text().replace(told, file_hash(page)))
    with pytest.raises(InputError, match=r"'report\.html' is or holds not what the run makes"):
        check_release(pack, run)


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_files_tell_neither_when_nor_by_whom_they_were_made(reported):
    run, pack = load_run(finished_run()), reported
    paths = [pack, *pack.rglob("*")]
    assert {path.stat().st_mtime for path in paths} == {
        datetime(1980, 1, 1, tzinfo=UTC).timestamp()
    }
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_file()} == {0o644}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(check_release(pack, run)) == 3
    (pack / "README.md").chmod(0o600)
    (pack / "codebook.csv").touch()
    with pytest.warns(
        RiskWeightedWarning, match="2 files and folders of the pack have other times or modes"
    ):
        check_release(pack, run)


@pytest.mark.slow
def test_a_hidden_predictor_that_is_told_is_refused_unless_it_is_declared(tmp_path, monkeypatch):
    # the run is not what it is said to be
    monkeypatch.setattr("riskweighted.release.pack.refuse_what_is_not_made", lambda *_: None)
    run = load_run(finished_run())
    row = as_row("pairwise", Value(HIDDEN, 0.034, term="age"))
    told = run.with_tables(
        {**run.tables, "risk": pd.concat([run.tables["risk"], as_table([row])], ignore_index=True)}
    )
    with pytest.raises(
        InputError, match=r"disclose 'age', which is not released, of 3\.4 % of the records"
    ):
        release_run(told, tmp_path / "pack", schemes=["pairwise"])
    assert not (tmp_path / "pack").exists()
    manifest = json.loads(json.dumps(told.manifest))
    manifest["settings"]["release"]["hidden"] = {"age": "it is on every *door*"}
    # its model reads no such column
    monkeypatch.setattr("riskweighted.runs.refusals.refuse_derived", lambda *_: None)
    declared = dataclasses.replace(told, manifest=manifest)
    sheet = (
        release_run(declared, tmp_path / "pack", schemes=["pairwise"]).folder / "sign_off.md"
    ).read_text()
    assert (
        r"age is not released, and the datasets may disclose it: it is on every \*door\*" in sheet
    )


@pytest.mark.slow
def test_a_derived_column_is_declared_on_the_sign_off_sheet(tmp_path, monkeypatch):
    # the run is not what it is said to be
    monkeypatch.setattr("riskweighted.release.pack.refuse_what_is_not_made", lambda *_: None)
    run = load_run(finished_run())
    manifest = json.loads(json.dumps(run.manifest))
    manifest["settings"]["release"]["derived"] = {"size": "it is on every *door*"}
    declared = dataclasses.replace(run, manifest=manifest)
    sheet = (
        release_run(declared, tmp_path / "pack", schemes=["pairwise"]).folder / "sign_off.md"
    ).read_text()
    assert (
        r"size is released unaltered, or is read by the model, although it discloses a "
        r"synthesized variable: it is on every \*door\*" in sheet
    )
    manifest["settings"]["release"]["derived"] = {"nope": "x"}
    with pytest.raises(InputError, match="'nope'"):
        release_run(
            dataclasses.replace(run, manifest=manifest), tmp_path / "other", schemes=["pairwise"]
        )
