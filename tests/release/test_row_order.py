"""Nothing that leaves tells the order of the confidential file: rows, levels, numbers, groups of
rows, names of files, in every format.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from finished_run import ENTROPY, SETTINGS, accepting
from typer.testing import CliRunner

from riskweighted.commands.main import app
from riskweighted.common.errors import InputError
from riskweighted.data.io import read_table, write_table
from riskweighted.data.variables import Variables
from riskweighted.disclosure.row_order import UNLIKELY, order_chance
from riskweighted.disclosure.shuffle import leaving_rows
from riskweighted.release import released_datasets
from riskweighted.release.contents import Contents, write_pack
from riskweighted.release.pack import FORMATS, check_release, release_run
from riskweighted.runs.file_order import (
    numbered_anew,
    numbered_columns,
    order_told,
    states_order,
    units_together,
)
from riskweighted.runs.finished import load_run
from riskweighted.runs.run import run_study
from riskweighted.runs.study import make_study

N = 120
RELEASE = {
    "columns": ["household", "person", "code", "place"],
    "unique_share": 1.0,
    "unit": "household",
}


def sorted_file(seed=4):
    """Households of two in the order of what correlates with income, numbered in it, with levels in
    the order of their appearance.

    ``code`` is in no order: it tells which record a row is of.
    """
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], N // 2).repeat(2)
    logs = 6.5 + (group == "b") + 0.5 * rng.normal(size=N)
    key = pd.Series(logs + 0.6 * rng.normal(size=N)).groupby(np.arange(N) // 2).transform("mean")
    order = np.argsort(key.to_numpy(), kind="stable")
    place = np.repeat(["delta", "alpha", "charlie", "bravo"], N // 4)
    place[rng.permutation(np.arange(1, N))[: N // 2]] = "bravo"
    columns = {
        "household": 1 + np.arange(N) // 2,
        "person": [f"P{number:04d}" for number in range(N)],
        "code": 5 + 37 * rng.permutation(N),
    }
    frame = pd.DataFrame(
        {**columns, "group": group[order], "place": place, "key": key[order].to_numpy()}
    )
    return frame.assign(
        place=pd.Categorical(place, pd.unique(place)), income=np.round(np.exp(logs[order]), 4)
    )


def made_study(folder, **release):
    stated = {**SETTINGS["release"], **RELEASE, **release}
    data = {"path": "data.parquet", "variables": "data.parquet"}
    small = {
        "data": data,
        "weights": {"schemes": ["unweighted", "uniform(c=0.5)"]},
        "release": stated,
        "evaluation": {},
    }
    return make_study(SETTINGS | small, folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sorted")
    sorted_file().to_parquet(folder / "data.parquet", index=False)
    run_study(
        made_study(folder, shuffle=False, unshuffled_reason="a test"),
        folder / "results",
        entropy=ENTROPY,
    )
    return load_run(folder / "results")


@pytest.fixture(scope="module")
def pack(run):
    made = release_run(
        run, run.folder.parent / "pack", schemes=run.schemes, formats=FORMATS, **accepting(run)
    )
    return made.folder


def require_no_order(carrier, truth, what):
    """That numbers (n,) rise with no column of the file, nor with its rows, and that neighbours in
    them are no more alike.
    """
    for name, values in {
        **{name: pd.Series(in_order_of_values(truth[name])) for name in truth},
        "row": pd.Series(truth.index),
    }.items():
        ranks = values.reset_index(drop=True).rank()[np.argsort(carrier, kind="stable")].to_numpy()
        assert abs(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1]) < 0.4, (what, name)
        if name != "place" and name != "group":
            assert np.abs(np.diff(ranks)).mean() > 0.2 * len(ranks), (what, name)


def in_order_of_values(column):
    return pd.factorize(column, sort=True)[0]


def whose(table, data):
    """Which record of the file stands in each row."""
    return pd.Index(data["code"]).get_indexer(table["code"].astype(int))


@pytest.mark.slow
def test_no_file_of_a_pack_tells_the_order_of_the_data(run, pack):
    data, numbers, orders = sorted_file(), {}, set()
    for path in sorted(path for path in pack.rglob("synthetic_*") if path.is_file()):
        table = read_table(path)
        records = whose(table, data)
        assert sorted(records) == list(range(N))
        orders.add(tuple(records))
        households = table["household"].to_numpy(dtype=float)
        assert (households[::2] == households[1::2]).all()  # those of one stand together
        truth = data.iloc[records]
        require_no_order(np.arange(N // 2), truth[::2], path.name)
        for name in ("household", "person"):
            new = table[name].astype(str).str.extract(r"(\d+)")[0].astype(int)
            require_no_order(new.to_numpy()[::2], truth[::2], f"{name} in {path.name}")
            pairs = dict(zip(truth[name], new, strict=True))
            assert numbers.setdefault(name, pairs) == pairs  # one table for all files
            assert len(set(pairs.values())) == truth[name].nunique()
    assert len(orders) == 1  # one order for the datasets of both schemes, in every format
    assert len(check_release(pack, run)) == 2 * 3 * len(FORMATS)
    sheet, readme = ((pack / name).read_text() for name in ("sign_off.md", "README.md"))
    assert "one secret random order" in sheet
    assert "New numbers" in readme
    assert set(
        pd.read_csv(pack / "codebook.csv").set_index("variable")["status"][["household", "person"]]
    ) == {"new numbers"}


@pytest.mark.slow
def test_levels_and_groups_of_rows_stand_in_no_order_of_the_data(run, pack):
    by_name = sorted(set(sorted_file()["place"]))
    assert list(sorted_file()["place"].cat.categories) != by_name
    for path in sorted(pack.rglob("*.parquet")):
        file = pq.ParquetFile(path)
        assert file.num_row_groups == 1
        assert json.loads(file.schema_arrow.metadata[b"pandas"])["index_columns"] == []
        stored = file.read().column("place").combine_chunks()
        assert stored.dictionary.to_pylist() == by_name
        texts = (
            pq.read_table(path, read_dictionary=["person"])
            .column("person")
            .combine_chunks()
            .dictionary.to_pylist()
        )
        assert texts == read_table(path)["person"].tolist()
    assert list(Variables.read(pack / "variables.toml")["place"].values) == by_name
    assert pd.read_csv(pack / "codebook.csv").set_index("variable").loc[
        "place", "values"
    ] == "; ".join(by_name)
    xml = (pack / "codebook.xml").read_text()
    assert sorted(by_name, key=lambda level: xml.index(f"<catValu>{level}</catValu>")) == by_name


def as_before(monkeypatch):
    """Datasets leave as they did: in the order of the file."""
    monkeypatch.setattr(
        released_datasets, "leaving_rows", lambda count, *others, **settings: np.arange(count)
    )
    monkeypatch.setattr(released_datasets, "numbered_columns", lambda *others: [])
    monkeypatch.setattr(released_datasets, "order_by_labels", lambda column, stated: column)


@pytest.mark.slow
def test_a_release_in_the_order_of_the_file_is_refused(run, tmp_path, monkeypatch):
    as_before(monkeypatch)
    with pytest.raises(InputError, match="rows in an order that is that of 'income'"):
        release_run(run, tmp_path / "pack", schemes=["unweighted"], **accepting(run, "unweighted"))


@pytest.mark.slow
def test_of_an_older_pack_it_is_said_what_it_gives_away(run, tmp_path, monkeypatch):
    data = sorted_file()
    with monkeypatch.context() as patch:
        as_before(patch)
        datasets = {"unweighted": released_datasets.leaving_datasets(run, data, "unweighted")}
        contents = Contents(
            run,
            datasets,
            ("unweighted",),
            ("csv", "parquet"),
            {},
            lambda run: "bounds found in the data, which are not public, 0 to 7",
            accepting(run, "unweighted")["accept_fail"],
        )
        write_pack(contents, tmp_path / "pack")
    path = tmp_path / "pack" / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["rows"]
    manifest["settings"]["synthesizer"]["support"] = [0, 7, "found"]
    path.write_text(json.dumps(manifest))
    asked = CliRunner().invoke(app, ["release", str(run.folder), "--check", str(tmp_path / "pack")])
    lines = [line for line in asked.stderr.splitlines() if line.startswith("earlier version: ")]
    assert isinstance(asked.exception, InputError)
    for what in (
        "numbers that were found in the data are in 'synthesizer.support'",
        "'report.html': it holds bounds that were found in the data",
        "(and 1 more): rows are in the order of the file, which is that of 'household', "
        "'person', 'group', 'place', 'key', 'income'",
        "'household', 'person' is released with its numbers",
        "the levels of 'place' are in the order in which they first appear",
        "a pack does not show whether",
    ):
        assert sum(what in line for line in lines) == 1, what
    assert len(lines) == 6
    with pytest.raises(
        InputError, match=r"made by an earlier version.*rows are in the order of the file"
    ):
        check_release(tmp_path / "pack", run)
    for name in ("csv", "parquet"):  # the same pack with its rows by what was drawn
        file = tmp_path / "pack" / "data" / "unweighted" / f"synthetic_unweighted_1.{name}"
        write_table(read_table(file).sort_values("income", ignore_index=True), file)
    with pytest.raises(InputError, match=r"rows are in the order of .*'income'"):
        check_release(tmp_path / "pack", run)


@pytest.mark.quick
def test_every_order_of_units_is_as_likely_and_rows_of_one_stay_together():
    rng, units = np.random.default_rng(1), np.array([1, 0, 1, 2])
    drawn = np.array([leaving_rows(4, rng, units) for _ in range(6_000)])
    assert (np.sort(drawn, axis=1) == np.arange(4)).all()
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == 12  # 3! of the units, 2! within one
    assert ((counts - 500) ** 2 / 500).sum() < 40
    kept = np.array([leaving_rows(4, rng, units, keep=True) for _ in range(50)])
    assert {tuple(rows[np.isin(rows, [0, 2])]) for rows in kept} == {(0, 2)}
    panel = pd.DataFrame({"year": [2001, 2001, 2002, 2001], "other": [3, 1, 2, 2]})
    assert states_order(units, panel)
    assert not states_order(units, panel[["other"]])
    assert not states_order(np.arange(4), panel)  # no unit has two rows


@pytest.mark.quick
@pytest.mark.parametrize(
    "how", ["sorted", "by a key", "in blocks", "within patterns", "levels", "units"]
)
def test_an_order_is_found_and_a_random_one_is_not(how):
    rng = np.random.default_rng(3)
    n, units = 600, None
    values = pd.Series(rng.normal(size=n))
    patterns = rng.integers(0, 6, n)
    carrier = values.to_numpy()
    if how == "by a key":
        carrier = carrier + 3 * rng.normal(size=n)
    elif how == "in blocks":
        carrier = (
            rng.permutation(6)[values.rank().to_numpy(dtype=int) % 6]
            + (carrier - carrier.min()) / 100
        )
    elif how == "within patterns":  # odd patterns fall where even ones rise
        carrier = np.where(patterns % 2, -carrier, carrier)
    elif how == "levels":
        values = pd.Series(np.where(values > 1, "x", "y"))
    elif how == "units":  # members are alike, and units in the order of their means
        units = np.arange(n) // 3
        values = values.groupby(units).transform("mean")
        carrier = np.lexsort((np.arange(n), values)).argsort()
    assert order_chance(values, carrier, patterns, units) < UNLIKELY
    moved = leaving_rows(n, rng, units).argsort()
    assert order_chance(values, moved, patterns, units) > UNLIKELY


@pytest.mark.quick
def test_a_column_in_the_order_of_the_file_has_new_numbers_or_is_refused_or_declared():
    data, rng = sorted_file().drop(columns=["code"]), np.random.default_rng(1)
    study = made_study(Path())
    assert numbered_columns(study, data) == ["household", "person"]
    assert units_together(study, data) is not None
    # rows that stand together would tell it
    assert units_together(made_study(Path(), columns=["place"]), data) is None
    new = numbered_anew(data["person"].sample(frac=1, random_state=1))
    assert new.tolist() == [f"P{number:04d}" for number in range(N)]
    gaps = pd.Series([5, None, 7, 5], dtype="Int64")
    assert numbered_anew(gaps).tolist() == [5, pd.NA, 6, 5]
    assert numbered_anew(gaps).dtype == "Int64"
    # no numbers of records: that is refused
    measured = data.assign(person=np.sort(rng.lognormal(8, 1, N).round()))
    assert numbered_columns(study, measured) == ["household"]
    (line,) = order_told(study, measured)
    assert (
        "'person' is released unaltered and in the order of the file, which discloses 'income'"
        in line
    )
    declared = made_study(Path(), derived={"person": "a test", "household": "a test"})
    assert numbered_columns(declared, data) == []
    assert list(order_told(declared, measured)) == []
    mixed = measured.assign(income=rng.permutation(measured["income"]))
    assert list(order_told(study, mixed)) == []
