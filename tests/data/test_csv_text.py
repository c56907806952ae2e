"""A csv is what pandas writes, byte for byte, and reads back the same; columns that datasets share
are those of the first.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from riskweighted.common.datasets import Datasets
from riskweighted.data import csv_text
from riskweighted.data.csv_text import CsvTable
from riskweighted.data.io import DatasetWriter, read_datasets, read_table, write_table

pytestmark = pytest.mark.quick

TEXTS = ["a", "b,c", 'q"x', " lead", "trail ", "", "é", "NA", "007", "=1+1", "'", "a;b", None]
FLOATS = (
    st.floats(width=64)
    | st.floats(-1e12, 1e12)
    | st.integers(-(10**12), 10**12).map(lambda cents: cents / 100)
)


def as_pandas(table, path):
    """The slow twin."""
    table.to_csv(path, index=False, lineterminator="\n")
    return path.read_bytes()


@settings(max_examples=60)
@given(data=st.data())
def test_a_table_is_written_as_pandas_writes_it(data, tmp_path_factory):
    n, folder = data.draw(st.integers(1, 30)), tmp_path_factory.mktemp("csv")
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    text = rng.choice(np.array(TEXTS, dtype=object), n)
    table = pd.DataFrame(
        {
            "number": data.draw(st.lists(FLOATS, min_size=n, max_size=n)),
            "cents": np.round(np.exp(rng.normal(9, 4, n)), 2),
            "whole": rng.integers(-5, 10**9, n),
            "text, quoted": text,
            "level": pd.Categorical(text),
            "code": pd.Categorical(rng.choice([1, 2], n)),
            "gaps": pd.array(np.where(rng.random(n) < 0.3, None, 3), dtype="Int64"),
            "yes": rng.random(n) < 0.5,
        }
    )
    write_table(table, folder / "ours.csv")
    assert (folder / "ours.csv").read_bytes() == as_pandas(table, folder / "theirs.csv")
    assert CsvTable(table, ["cents"]).is_in(folder / "theirs.csv", table) is not False


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["a\nb", "c"]),
        pd.Series(["a\rb", None]),
        pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"]) + pd.Timedelta("3h")),
        pd.Series([1, True, "x"], dtype=object),
        pd.Series([0.1, 2.0], dtype="float32"),
        pd.Series([0.1, None], dtype="Float64"),
    ],
)
def test_what_only_pandas_can_write_it_writes(tmp_path, column):
    table = pd.DataFrame({"x": column, "y": 1}).iloc[: len(column)]
    table = pd.concat([table] * 2, ignore_index=True)
    write_table(table, tmp_path / "ours.csv")
    assert (tmp_path / "ours.csv").read_bytes() == as_pandas(table, tmp_path / "theirs.csv")


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": ["", None]}),
        pd.DataFrame({"a": [], "b": []}),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
    ],
)
def test_unusual_tables(tmp_path, table):
    write_table(table, tmp_path / "ours.csv")
    assert (tmp_path / "ours.csv").read_bytes() == as_pandas(table, tmp_path / "theirs.csv")


def test_an_index_is_written_first(tmp_path):
    for index in (pd.Index([3, 5], name="row"), pd.Index([3, 5])):
        table = pd.DataFrame({"a": [0.5, 1]}, index=index)
        write_table(table, tmp_path / "x.csv", index=True)
        assert (tmp_path / "x.csv").read_text() == table.to_csv(lineterminator="\n")


def some_datasets(n=50, count=4):
    rng = np.random.default_rng(1)
    base = pd.DataFrame(
        {
            "id": np.arange(n),
            "sex": rng.choice(["f", "m"], n),
            "income": 0.0,
            "zip": rng.choice(["01", "20"], n),
            "job": "x",
        }
    )
    columns = [
        {
            "income": pd.Series(np.round(np.exp(rng.normal(9, 1, n)), 2)),
            "job": pd.Series(rng.choice(["a", "b"], n)),
        }
        for _ in range(count)
    ]
    return Datasets(base, columns)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_datasets_are_written_and_read_as_single_tables(tmp_path, ending, monkeypatch):
    monkeypatch.setattr(csv_text, "_ROWS", 7)  # so that rows come in several parts
    datasets = some_datasets()
    writer = DatasetWriter(datasets)
    paths = [tmp_path / f"{place}{ending}" for place in range(len(datasets))]
    for place, (path, frame) in enumerate(zip(paths, datasets, strict=True)):
        writer.write(place, path)
        write_table(frame, tmp_path / f"alone{ending}")
        assert path.read_bytes() == (tmp_path / f"alone{ending}").read_bytes()
        assert writer.is_in(path, place)
        assert not writer.is_in(path, (place + 1) % len(datasets))
    base = read_table(paths[0])
    for path, altered in zip(paths, read_datasets(paths, base, ["income", "job"]), strict=True):
        assert not isinstance(altered, pd.DataFrame)
        pd.testing.assert_frame_equal(base.assign(**altered), read_table(path))


CHANGES = {
    "one altered cell": lambda frame: frame.assign(sex=frame["sex"].where(frame.index != 7, "x")),
    "two rows swapped": lambda frame: frame.iloc[[1, 0, *range(2, len(frame))]].reset_index(
        drop=True
    ),
    "a row less": lambda frame: frame.iloc[:-1],
    "a column more": lambda frame: frame.assign(more=1),
    "columns in another order": lambda frame: frame[list(frame)[::-1]],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_file_with_other_columns_is_read_as_it_is(tmp_path, change, ending):
    datasets = some_datasets()
    changed = CHANGES[change](datasets[2])
    for place, frame in enumerate([datasets[0], datasets[1], changed]):
        write_table(frame, tmp_path / f"{place}{ending}")
    base = read_table(tmp_path / f"0{ending}")
    found = list(
        read_datasets(
            [tmp_path / f"{place}{ending}" for place in range(3)], base, ["income", "job"]
        )
    )
    assert [isinstance(one, pd.DataFrame) for one in found] == [False, False, True]
    pd.testing.assert_frame_equal(found[2], read_table(tmp_path / f"2{ending}"))
    assert not DatasetWriter(datasets).is_in(tmp_path / f"2{ending}", 2)


def test_codes_with_zeros_in_front_and_other_spellings_are_read_as_read_table_reads_them(tmp_path):
    base = pd.DataFrame({"a": ["x", "y"], "b": [1, 2]})
    write_table(base, tmp_path / "0.csv")
    for place, cells in enumerate([("01", "02"), ("1.50", "2"), ("True", "False"), ("NA", "1")], 1):
        (tmp_path / "1.csv").write_text(
            "a,b\n" + "".join(f"{a},{b}\n" for a, b in zip("xy", cells, strict=True))
        )
        (found,) = read_datasets([tmp_path / "1.csv"], base, ["b"])
        pd.testing.assert_series_equal(found["b"], read_table(tmp_path / "1.csv")["b"]), place


def test_datasets_hold_what_differs_only():
    datasets = some_datasets()
    assert len(datasets) == len(list(datasets)) == 4
    assert list(datasets[1]) == list(datasets.base)
    assert len(datasets[1:3]) == 2
    pd.testing.assert_frame_equal(datasets[1:3][0], datasets[1])
    assert list(datasets.only(["income", "id"])[0]) == ["income", "id"]
