"""Columns of every type through the files of a run: none is refused for its bytes, and what leaves
has the types of the data.
"""

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from random_frames import random_frame

from riskweighted.common.datasets import Datasets
from riskweighted.common.errors import InputError
from riskweighted.data.formats import WRITABLE
from riskweighted.data.io import DatasetWriter, read_table, spells_alike, write_table
from riskweighted.data.variable import Variable
from riskweighted.data.variables import Variables
from riskweighted.release.leak_check import Secrets, _check_unaltered
from riskweighted.release.released_datasets import restore_spelling, restrict_levels
from riskweighted.runs.sections import DataSettings

pytestmark = pytest.mark.versions


def secrets_of(frame):
    fields = {field.name: None for field in dataclasses.fields(Secrets)}
    run = SimpleNamespace(study=SimpleNamespace(altered=()))
    return Secrets(**{**fields, "confidential": frame, "variables": (), "run": run})


@pytest.mark.long
@pytest.mark.parametrize("block", range(4))
def test_none_of_sixty_random_frames_is_refused_for_its_bytes(tmp_path, block):
    """What happens in one frame of twenty is missed once in twenty times."""
    # others than those of tests/data/test_variables.py
    for seed in range(60 + 15 * block, 75 + 15 * block):
        frame = random_frame(seed)
        write_table(frame, tmp_path / "run.csv")
        base = read_table(tmp_path / "run.csv")
        _check_unaltered(base, "run.csv", secrets_of(frame))
        leaving = restore_spelling(Datasets(base, [{}]), frame, list(frame), None)
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
    """Numbers, texts and gaps; what a format without a type of its own spells as text or as a
    number is that text or number.
    """
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
    frame = pd.DataFrame(
        {
            "gaps": pd.array([1, None, 3], dtype="Int64"),
            "text": ["1.50", "2", "3"],
            "x": [1.0, 2.0, 3.5],
        },
        index=[4, 4, 1],
    )
    write_table(frame, tmp_path / "run.csv")
    base = read_table(tmp_path / "run.csv")
    assert base["text"].tolist() == [1.5, 2.0, 3.0]
    _check_unaltered(base, "run.csv", secrets_of(frame))
    leaving = restore_spelling(Datasets(base, [{}]), frame, list(frame), None)[0]
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
        writer = DatasetWriter(restore_spelling(Datasets(base, [{}]), data, ["x", "y"], None))
        for other in WRITABLE:
            writer.write(0, tmp_path / f"out{other}")
            assert writer.is_in(tmp_path / f"out{other}", 0)
            pd.testing.assert_frame_equal(
                read_table(tmp_path / f"out{other}"), data, check_dtype=False
            )


@pytest.mark.quick
@pytest.mark.parametrize("described", [True, False])
def test_a_category_that_nobody_drew_and_no_label_names_is_in_no_file(tmp_path, described):
    data = pd.DataFrame(
        {
            "diag": ["flu", "hiv-rare", "cold"] * 4,
            "place": ["Rome", "Bonn", "Rome"] * 4,
            "told": ["a", "b", "a"] * 4,
        }
    )
    data = data.assign(
        diag=pd.Categorical(data["diag"], categories=["hiv-rare", "flu", "cold"], ordered=True),
        place=pd.Categorical(data["place"], categories=["Rome", "Oslo", "Bonn"]),
        told=pd.Categorical(data["told"], categories=["b", "c", "a"]),
    )
    data.to_parquet(tmp_path / "data.parquet")
    variables = Variables.read(tmp_path / "data.parquet") if described else Variables({})
    variables = Variables({**variables, "told": Variable(values={"c": "See"}, type="category")})
    drawn = [["flu", "cold"] * 6, ["cold"] * 12]
    altered = [
        {"diag": pd.Series(pd.Categorical(texts, dtype=data["diag"].dtype), name="diag")}
        for texts in drawn
    ]
    leaving = restrict_levels(Datasets(data.assign(**altered[0]), altered), variables)
    # the same in each, in their order
    assert [list(frame["diag"].cat.categories) for frame in leaving] == [["flu", "cold"]] * 2
    assert leaving[1]["diag"].cat.ordered
    # by name: in the file they may stand as they first appear
    assert list(leaving[0]["place"].cat.categories) == ["Bonn", "Rome"]
    assert list(leaving[0]["told"].cat.categories) == ["c", "a", "b"]  # what has a label first
    released = variables.as_released(leaving[0], ["diag"])
    released.write(tmp_path / "variables.toml")
    DatasetWriter(leaving, variables=released if described else None).write(
        1, tmp_path / "out.parquet"
    )
    for name in ("variables.toml", "out.parquet"):
        content = (tmp_path / name).read_bytes()
        assert b"hiv-rare" not in content
        assert b"Oslo" not in content
    same = Datasets(data, [{"diag": data["diag"]}])
    labelled = Variables(
        {"place": Variable(values={"Oslo": "Oslo"}, type="category"), "told": variables["told"]}
    )
    assert list(restrict_levels(same, labelled).base["place"].cat.categories) == [
        "Oslo",
        "Bonn",
        "Rome",
    ]


@pytest.mark.quick
def test_labelled_numbers_that_a_study_says_are_levels_leave_as_the_numbers_that_labels_are_of(
    tmp_path,
):
    """With gaps and without, in every format, whatever the run's own csv made of them."""
    data = pd.DataFrame(
        {
            "job": [3, 1, 2, 1],
            "area": [2.0, np.nan, 1.0, 2.0],
            "class": pd.Categorical([1, 2, 1, 2]),
        }
    )
    said = {
        "job": Variable("Job", {1: "clerk", 2: "smith", 3: "cook"}, type="numeric"),
        "area": Variable("Area", {1: "town", 2: "land"}),
    }
    described = Variables(
        {**said, "class": Variable(values={"1": "low", "2": "high"}, type="category")}
    )
    levels = DataSettings(embedded="demo", kinds={"job": "levels", "area": "levels"}).of_kinds(data)
    assert [isinstance(levels[name].dtype, pd.CategoricalDtype) for name in levels] == [True] * 3
    write_table(levels, tmp_path / "run.csv")
    base = described.typed(read_table(tmp_path / "run.csv"))
    for stated in (described, None):
        leaving = restore_spelling(Datasets(base, [{}]), levels, list(data), stated)[0]
        assert [leaving["job"].dtype, leaving["area"].dtype] == ["int64", "Int64"]
        assert leaving["class"].dtype == "category"
    released = described.as_released(
        restore_spelling(Datasets(base, [{}]), levels, list(data), described)[0], []
    )
    assert [released[name].type for name in released] == [
        "whole number",
        "whole number",
        "category",
    ]
    assert [dict(released[name].values) for name in ("job", "area")] == [
        dict(said[name].values) for name in ("job", "area")
    ]


@pytest.mark.quick
@pytest.mark.parametrize("ending", [".sav", ".dta", ".parquet"])
def test_synthesized_codes_leave_with_their_value_labels(tmp_path, ending):
    pytest.importorskip("pyreadstat")
    job = Variable("Job", {1: "clerk", 2: "smith", 9: "unknown"}, (9,), type="numeric")
    said = Variables({"job": job, "area": Variable("", {1: "town"})})
    data = DataSettings(embedded="demo", kinds={"job": "levels", "area": "levels"}).of_kinds(
        pd.DataFrame({"area": [1, 2, 1], "job": [2, 1, 9]})
    )
    write_table(data.assign(job=data["job"].iloc[::-1].array), tmp_path / "run.csv")
    base = said.typed(read_table(tmp_path / "run.csv"))
    leaving = restore_spelling(Datasets(base, [{"job": base["job"]}]), data, ["area"], said)
    DatasetWriter(leaving, variables=said.as_released(leaving[0], ["job"])).write(
        0, tmp_path / f"out{ending}"
    )
    told = Variables.read(tmp_path / f"out{ending}")
    assert [dict(told[name].values) for name in ("job", "area")] == [
        dict(said[name].values) for name in ("job", "area")
    ]
    assert told["job"].label == "Job (synthetic)"
    read = read_table(tmp_path / f"out{ending}", variables=told)
    assert [read[name].tolist() for name in ("area", "job")] == [[1, 2, 1], [9, 1, 2]]
