"""A finished run read back, and everything that can be wrong with its folder."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from finished_run import confidential_data, copied_run, finished_run

from riskweighted.common.datasets import Datasets
from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import file_hash
from riskweighted.data.variable import Variable
from riskweighted.data.variables import Variables
from riskweighted.runs.finished import TABLES, _typed, find_confidential, load_run

pytestmark = pytest.mark.slow


def test_a_run_reads_back_as_it_was_written():
    run = load_run(finished_run())
    data = confidential_data()
    assert run.schemes == ("unweighted", "pairwise")
    assert tuple(run.tables) == TABLES
    assert run.study.evaluation.coefficient == "C(size)[T.2]"
    assert list(run.records.columns) == ["confidential", "unweighted", "pairwise"]
    assert list(run.weights.columns) == ["unweighted", "pairwise"]
    assert (run.weights["unweighted"] == 1).all()
    assert run.posteriors["pairwise"].sizes["draw"] == 400
    assert [len(frames) for frames in run.synthetic.values()] == [3, 3]
    for frame in run.synthetic["pairwise"]:
        pd.testing.assert_frame_equal(frame.drop(columns="income"), data[["group", "size"]])
        assert (frame["income"] != data["income"]).all()
    assert "income" not in repr(run)


def test_datasets_come_in_the_order_of_their_numbers():
    run = load_run(finished_run())
    for number, frame in enumerate(run.synthetic["unweighted"], 1):
        pd.testing.assert_frame_equal(
            frame, pd.read_csv(run.folder / "synthetic" / "unweighted" / f"synthetic_{number}.csv")
        )


def damaged(run, **changes):
    manifest = json.loads((run / "manifest.json").read_text())
    for key, value in changes.items():
        manifest[key] = value(manifest[key]) if callable(value) else value
    (run / "manifest.json").write_text(json.dumps(manifest))


def without(name):
    return lambda files: {key: value for key, value in files.items() if key != name}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda run: (run / "tables" / "risk.csv").unlink(), r"incomplete: 'tables/risk\.csv'"),
        (
            lambda run: shutil.rmtree(run / "confidential"),
            r"incomplete: .*'confidential/expected_risk\.csv'",
        ),
        (
            lambda run: (run / "tables" / "risk.csv").write_text("label\n98765.4321\n"),
            r"changed since its manifest.*'tables/risk\.csv'",
        ),
        (lambda run: (run / "notes.txt").write_text("98765.4321"), r"does not name: 'notes\.txt'"),
        (
            lambda run: damaged(run, versions={"riskweighted": "0.0.9"}),
            r"of riskweighted 0\.0\.9, and this is",
        ),
        (
            lambda run: (run / "manifest.json").write_text("{98765.4321"),
            "not the manifest of a run",
        ),
        (lambda run: (run / "manifest.json").write_text("[]"), "not the manifest of a run"),
        (lambda run: (run / "manifest.json").write_bytes(b"\xff\xfe"), "not the manifest of a run"),
        (lambda run: damaged(run, files=[1]), "not the manifest of a run"),
        (lambda run: (run / "manifest.json").unlink(), r"no manifest\.json"),
        (lambda run: (run / ".riskweighted").touch(), "unfinished run"),
        (
            lambda run: damaged(run, files=without("tables/summary.csv")),
            r"lacks 'tables/summary\.csv'",
        ),
        (
            lambda run: damaged(run, files=without("confidential/posterior/pairwise.zip")),
            r"lacks 'confidential/posterior/pairwise\.zip'",
        ),
        (
            lambda run: damaged(run, files=without("synthetic/pairwise/synthetic_2.csv")),
            "2 of 3 synthetic datasets of scheme 'pairwise'",
        ),
        (
            lambda run: damaged(run, files=lambda files: files | {"../data.csv": "0"}),
            r"outside the folder: '\.\./data\.csv'",
        ),
    ],
)
def test_a_folder_that_is_not_as_it_was_written_is_refused(tmp_path, damage, message):
    run = copied_run(tmp_path)
    damage(run)
    with pytest.raises(InputError, match=message) as caught:
        load_run(run)
    assert "98765" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="there is no run folder"):
        load_run(tmp_path / "nope")


def test_the_confidential_data_are_found_and_held_against_the_manifest(tmp_path):
    folder = copied_run(tmp_path)
    run, data = load_run(folder), confidential_data()
    pd.testing.assert_frame_equal(find_confidential(run), data)
    (tmp_path / "data.csv").rename(tmp_path / "moved.csv")
    with pytest.raises(InputError, match="--confidential FILE"):
        find_confidential(run)
    pd.testing.assert_frame_equal(find_confidential(run, tmp_path / "moved.csv"), data)
    data.assign(income=data["income"].where(data.index != 5, 1.0)).to_csv(
        tmp_path / "moved.csv", index=False
    )
    with pytest.raises(InputError, match="SHA-256 differs"):
        find_confidential(run, tmp_path / "moved.csv")
    damaged(folder, input={"records": 120, "sha256": None})
    data.head(100).to_csv(tmp_path / "moved.csv", index=False)
    with pytest.raises(InputError, match="100 records, and the run was made from 120"):
        find_confidential(load_run(folder), tmp_path / "moved.csv")


def rewritten(name, content):
    """Another content of a file, under its right hash."""

    def damage(run):
        text = content((run / name).read_bytes())
        (run / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        damaged(run, files=lambda files: files | {name: file_hash(run / name)})

    return damage


FIRST = "synthetic/unweighted/synthetic_1.csv"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "tables/summary.csv",
            lambda old: "a,b\n98765.4321,1\n",
            r"'tables/summary\.csv' of the run lacks the column 'label'",
        ),
        (
            "tables/summary.csv",
            lambda old: old.replace(b"pairwise", b"98765.4321"),
            "lacks 'pairwise'",
        ),
        (
            "tables/convergence.csv",
            lambda old: "label\nunweighted\n",
            r"'tables/convergence\.csv' of the run lacks the column 'quantity'",
        ),
        (
            "tables/convergence.csv",
            lambda old: old.replace(b",1.0", b",x98765"),
            r"must hold numbers in 'r_hat'",
        ),
        ("tables/risk.csv", lambda old: "a\n98765.4321\n", "a table 'risk' of another version"),
        (
            "tables/risk.csv",
            lambda old: old.replace(b"0.", b"x98765"),
            "must hold numbers in 'value'",
        ),
        ("tables/risk.csv", lambda old: b"\xff\xfe\x00", "cannot be read"),
        ("tables/utility.csv", lambda old: old.replace(b"ecdf-maximum", b"98765.4321"), None),
        (
            "confidential/weights.csv",
            lambda old: "row\n98765.4321\n",
            r"'confidential/weights\.csv' of the run lacks the column",
        ),
        (
            "confidential/weights.csv",
            lambda old: b"\n".join(old.split(b"\n")[:9]),
            "has 8 rows, and the run was made from 120",
        ),
        (
            "confidential/identification_risk.csv",
            lambda old: "row,a\n1,2\n",
            "lacks the column 'confidential'",
        ),
        (
            "confidential/posterior/pairwise.zip",
            lambda old: b"98765.4321",
            r"'pairwise\.zip' of the run holds no posterior draws",
        ),
        (
            "confidential/posterior/pairwise.zip",
            lambda old: old[:200],
            r"'pairwise\.zip' of the run holds no posterior draws",
        ),
        (FIRST, lambda old: "id,income\n1,98765.4321\n", "lacks the column 'group'"),
        (
            FIRST,
            lambda old: b"\n".join(old.split(b"\n")[:9]),
            "has 8 rows, and the run was made from 120",
        ),
        ("synthetic/pairwise/synthetic_2.csv", lambda old: old.replace(b"\n1,", b"\n1,x", 1), None),
        (
            "synthetic/pairwise/synthetic_2.csv",
            lambda old: old[:-8] + b"x98765\n",
            "must hold numbers in 'income'",
        ),
    ],
)
def test_another_content_under_the_right_hash_is_refused_where_it_is_read(
    tmp_path, name, content, message
):
    run = copied_run(tmp_path)
    rewritten(name, content)(run)

    def read():
        found = load_run(run)
        return found.synthetic, found.records, found.weights, found.posteriors

    if message is None:  # still a run of ours, of other values
        read()
        return
    with pytest.raises(InputError, match=message) as caught:
        read()
    assert "98765" not in str(caught.value).replace("'98765.4321'", "")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [
        lambda old: [],
        lambda old: old | {"release": [3]},
        lambda old: old | {"release": {"L": "3"}},
        lambda old: old | {"weights": {"schemes": []}},
        lambda old: old | {"weights": {"schemes": "pairwise"}},
        lambda old: old | {"scenario": {"known": 98765.4321}},
        lambda old: old | {"nonsense": 98765.4321},
        lambda old: {name: old[name] for name in ("weights", "release")},
    ],
)
def test_settings_of_a_manifest_that_are_no_study_are_refused(tmp_path, settings):
    run = copied_run(tmp_path)
    damaged(run, settings=settings)
    with pytest.raises(InputError) as caught:
        load_run(run)
    assert "98765" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_datasets_have_the_stated_types_and_the_same_levels(tmp_path):
    run = load_run(finished_run())
    run.__dict__["described"] = Variables(
        {
            "size": Variable(type="category"),
            "group": Variable("Group"),
            "income": Variable(type="number"),
        }
    )
    for frames in run.synthetic.values():
        assert isinstance(frames, Datasets)
        assert all(frame["size"].cat.categories.tolist() == [1, 2, 3] for frame in frames)
        assert all(frame.dtypes.equals(frames[0].dtypes) for frame in frames)
    plain = load_run(finished_run()).synthetic["pairwise"]
    assert [frame["income"].tolist() for frame in run.synthetic["pairwise"]] == [
        frame["income"].tolist() for frame in plain
    ]
    drawn = Datasets(
        pd.DataFrame({"a": [1, 2, 3]}),
        [{"a": pd.Series([1, 2, 2])}, {"a": pd.Series([1.0, 3.0, np.nan])}],
    )
    levels = [
        frame["a"].cat.categories.tolist()
        for frame in _typed(drawn, Variables({"a": Variable(type="category")}))
    ]
    assert levels == [[1, 2, 3]] * 2
