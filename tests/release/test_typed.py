"""Columns of every type through the files of a run: none is refused for its bytes, and what leaves has the types of the data."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from random_frames import random_frame

from riskweighted.common.datasets import Datasets
from riskweighted.common.errors import InputError
from riskweighted.data.formats import WRITABLE
from riskweighted.data.io import DatasetWriter, read_table, spells_alike, write_table
from riskweighted.release.leak_check import Secrets, _check_unaltered
from riskweighted.release.leaving import as_the_data_have_it


def secrets_of(frame):
    fields = {field.name: None for field in dataclasses.fields(Secrets)}
    return Secrets(**{**fields, "confidential": frame, "variables": ()})


@pytest.mark.long
@pytest.mark.parametrize("block", range(10))
def test_none_of_two_hundred_random_frames_is_refused_for_its_bytes(tmp_path, block):
    for seed in range(20 * block, 20 * block + 20):
        frame = random_frame(seed)
        write_table(frame, tmp_path / "run.csv")
        base = read_table(tmp_path / "run.csv")
        _check_unaltered(base, "run.csv", secrets_of(frame))
        leaving = as_the_data_have_it(Datasets(base, [{}]), frame, list(frame), None)
        for name in frame:
            assert spells_alike(leaving[0][name], frame[name])
        for ending in WRITABLE:
            writer, path = DatasetWriter(leaving), tmp_path / f"x{ending}"
            writer.write(0, path)
            assert writer.is_in(path, 0)
            read = read_table(path)
            assert list(read) == list(frame)
            for name in frame:
                same_values(read[name], leaving[0][name])


def same_values(read, column):
    """Numbers, texts and gaps; what a format without a type of its own spells as text or as a number is that text or number."""
    assert read.isna().tolist() == column.isna().tolist()
    for one, other in zip(read.dropna(), column.dropna(), strict=True):
        try:
            assert one == other or math.isclose(
                float(one), float(other), rel_tol=1e-12
            )  # pandas 2 reads the last digits of a csv otherwise
        except (TypeError, ValueError):
            assert str(one) == str(other) or pd.Timestamp(str(one)) == pd.Timestamp(str(other))


@pytest.mark.quick
def test_columns_that_a_csv_spells_otherwise_are_those_of_the_data(tmp_path):
    frame = pd.DataFrame({"gaps": pd.array([1, None, 3], dtype="Int64"), "text": ["1.50", "2", "3"], "x": [1.0, 2.0, 3.5]}, index=[4, 4, 1])
    write_table(frame, tmp_path / "run.csv")
    base = read_table(tmp_path / "run.csv")
    assert base["text"].tolist() == [1.5, 2.0, 3.0]
    _check_unaltered(base, "run.csv", secrets_of(frame))
    leaving = as_the_data_have_it(Datasets(base, [{}]), frame, list(frame), None)[0]
    assert leaving["text"].tolist() == ["1.50", "2", "3"]
    assert leaving["gaps"].dtype == "Int64"
    assert leaving["x"].equals(base["x"])
    assert leaving.index.equals(base.index)
    changed = base.assign(text=[1.5, 2.0, 4.0])
    with pytest.raises(InputError, match="unaltered columns that are not those of the data"):
        _check_unaltered(changed, "run.csv", secrets_of(frame))


@pytest.mark.quick
def test_doubles_that_hold_whole_numbers_leave_in_every_format(tmp_path):
    frame = pd.DataFrame({"x": np.arange(5.0), "y": [1.0, np.nan, 3.0, 4.0, 5.0]})
    for ending in WRITABLE:
        write_table(frame, tmp_path / f"data{ending}")
        data = read_table(tmp_path / f"data{ending}")
        write_table(data, tmp_path / "run.csv")
        base = read_table(tmp_path / "run.csv")
        _check_unaltered(base, "run.csv", secrets_of(data))
        writer = DatasetWriter(as_the_data_have_it(Datasets(base, [{}]), data, ["x", "y"], None))
        for other in WRITABLE:
            writer.write(0, tmp_path / f"out{other}")
            assert writer.is_in(tmp_path / f"out{other}", 0)
            pd.testing.assert_frame_equal(read_table(tmp_path / f"out{other}"), data, check_dtype=False)
