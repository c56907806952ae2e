"""A release makes everything again by which its run was judged, and believes nothing that a run
folder only says.
"""

import json

import numpy as np
import pandas as pd
import pytest
from finished_run import confidential_data, copied_run, finished_run

from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import file_hash
from riskweighted.common.progress import Quiet
from riskweighted.release.pack import check_release, release_run
from riskweighted.runs.again import refuse_other_tables, refuse_what_is_not_made, work_of
from riskweighted.runs.finished import TABLES, load_run

VERDICTS = "tables/disclosure_verdicts.csv"


@pytest.fixture(scope="module")
def run():
    return load_run(finished_run())


def edited(folder, name, change):
    """The folder with another content of a file, under its right hash."""
    path = folder / name
    text = path.read_text()
    path.write_text(change(text))
    assert path.read_text() != text
    if name != "manifest.json":
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["files"][name] = file_hash(path)
        (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def of_setting(section, **values):
    def change(text):
        manifest = json.loads(text)
        manifest["settings"][section] |= values
        return json.dumps(manifest)

    return change


def other_number(text):
    """The last number of the second line, another one."""
    head, line, *more = text.splitlines(keepends=True)
    *cells, last = line.split(",")
    return "".join([head, ",".join([*cells, f"{float(last) + 1}\n"]), *more])


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (
            VERDICTS,
            lambda text: text.replace("warn", "pass"),
            rf"'{VERDICTS}' of the run is not what",
        ),
        ("confidential/weights.csv", other_number, "weights"),
        (
            "synthetic/pairwise/synthetic_2.csv",
            other_number,
            r"synthetic_2\.csv' of the run is not what its fits",
        ),
        (
            "manifest.json",
            of_setting("release", unique_share=1.0),
            "the settings in the run's manifest",
        ),
        (
            "manifest.json",
            of_setting("release", disclosure={"mean": 0.9, "accept": {"mean": "x"}}),
            "the settings in the run's manifest",
        ),
        (
            "manifest.json",
            of_setting("release", hidden={"size": "x"}),
            "the settings in the run's manifest",
        ),
        (
            "manifest.json",
            of_setting("thresholds", **{"mean-risk": {"at_most": 1.0}}),
            "the settings in the run's manifest",
        ),
        (
            "manifest.json",
            lambda text: text.replace('"tuning": null', '"tuning": {}'),
            "'tuning' in a run's manifest",
        ),
        (
            "manifest.json",
            of_setting("evaluation", resamples=51),
            r"tables/\w+\.csv' of the run is not what",
        ),
    ],
)
def test_what_was_edited_and_hashed_again_does_not_leave(tmp_path, name, change, message):
    folder = edited(copied_run(tmp_path), name, change)
    with pytest.raises(InputError, match=message) as caught:
        release_run(folder, tmp_path / "pack", schemes=["pairwise"])
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "pack").exists()


def test_what_a_fit_says_of_its_convergence_is_held_to_its_draws(tmp_path):
    """Archive and table agree with each other, and the archive is sealed anew."""
    folder, archive = copied_run(tmp_path), "confidential/posterior/pairwise.zip"
    fit = work_of(load_run(folder), confidential_data(), Quiet()).fit("pairwise")
    fit.changed(diagnostics=fit.block.diagnostics.assign(ess_bulk=999.0)).save(folder / archive)
    convergence = pd.read_csv(folder / "tables/convergence.csv")
    convergence.loc[convergence["label"] == "pairwise", "ess_bulk"] = 999.0
    edited(folder, "tables/convergence.csv", lambda text: convergence.to_csv(index=False))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][archive] = file_hash(folder / archive)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="what its posterior draws do not show"):
        release_run(folder, tmp_path / "pack", schemes=["pairwise"])
    assert not (tmp_path / "pack").exists()


@pytest.mark.slow
def test_a_pack_is_not_checked_against_a_run_that_was_edited(tmp_path):
    folder = copied_run(tmp_path)
    pack = release_run(folder, tmp_path / "pack", schemes=["pairwise"]).folder
    edited(folder, VERDICTS, lambda text: text.replace("warn", "pass"))
    with pytest.raises(InputError, match=VERDICTS):
        check_release(pack, folder)


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_held_to_what_the_run_makes(run, name):
    refuse_what_is_not_made(run, confidential_data(), Quiet())
    made, table = run.tables, run.tables[name]
    refuse_other_tables(run, {label: each.copy() for label, each in made.items()})
    for column in table:
        cell = table[column].iloc[-1]
        other = table.astype({column: object})
        other.loc[other.index[-1], column] = (
            cell + 0.01 if isinstance(cell, float) and np.isfinite(cell) else "other"
        )
        with pytest.raises(InputError, match=f"tables/{name}.csv"):
            refuse_other_tables(run.with_tables(made | {name: other.infer_objects()}), made)
    with pytest.raises(InputError, match=f"tables/{name}.csv"):
        refuse_other_tables(run.with_tables(made | {name: pd.concat([table, table.tail(1)])}), made)
