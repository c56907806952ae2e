"""Data in parts: found by their footers, read piece by piece as one file would be, refused where
they differ.
"""

import numpy as np
import pandas as pd
import pytest

from riskweighted.common.errors import InputError
from riskweighted.data import parts as module
from riskweighted.data.io import read_table
from riskweighted.data.parts import find_parts
from riskweighted.runs.sections import DataSettings

pytestmark = pytest.mark.versions

RECORDS = pd.DataFrame(
    {
        "group": pd.Categorical(["a", "b", "a", None, "b", "a"]),
        "size": [1, 2, 3, 4, 5, 6],
        "income": [10.5, np.nan, 7.0, 1.0, 2.0, 3.0],
        "note": ["x", None, "y", "z", "x", "y"],
    }
)


@pytest.fixture
def folder(tmp_path):
    for place, rows in enumerate((slice(0, 2), slice(2, 2), slice(2, 6))):
        RECORDS[rows].to_parquet(tmp_path / f"part-{place}.parquet", index=False, row_group_size=2)
    return tmp_path


def read(parts, columns=None):
    return pd.concat([parts.read(piece, list(columns or parts.types)) for piece in parts.pieces])


def test_pieces_hold_all_records_in_the_order_of_the_files(folder):
    parts = find_parts(folder / "*.parquet")
    assert parts.records == 6
    assert len(parts.files) == 3
    made = read(parts)
    assert made.index.tolist() == list(range(6))
    whole = read_table(folder / "part-2.parquet")
    for name in ("size", "income", "note"):
        assert made[name].dtype == whole[name].dtype
        pd.testing.assert_series_equal(made[name], RECORDS[name], check_dtype=False)
    assert made["group"].isna().tolist() == RECORDS["group"].isna().tolist()
    assert made["group"].dtype == RECORDS["group"].dtype  # all files have the same categories


def test_categories_keep_their_order_or_are_refused_where_they_differ(tmp_path):
    levels = ["young", "middle", "old"]
    for place, held in enumerate((["old", "young"], ["middle", None])):
        ages = pd.Categorical(held, categories=levels, ordered=True)
        texts = pd.Categorical(held, categories=levels if place else levels[::-1])
        pd.DataFrame({"age": ages, "text": texts, "few": [1, 2]}).to_parquet(
            tmp_path / f"{place}.parquet"
        )
    parts = find_parts(tmp_path / "*.parquet")
    made = read(parts, ["age", "text"])
    assert made["age"].dtype == pd.CategoricalDtype(levels, ordered=True)
    assert made["age"].tolist()[:3] == ["old", "young", "middle"]
    assert made["text"].tolist()[:3] == ["old", "young", "middle"]  # no order to be lost
    assert not isinstance(made["text"].dtype, pd.CategoricalDtype)
    pd.DataFrame(
        {"age": pd.Categorical(["old"], ordered=True), "text": ["old"], "few": [1]}
    ).to_parquet(tmp_path / "2.parquet")
    parts = find_parts(tmp_path / "*.parquet")
    parts.require(["few"])
    with pytest.raises(
        InputError,
        match=r"ordered categories of 'age' are others in '2\.parquet' than in '0\.parquet'",
    ):
        parts.require(["age"])


def test_columns_that_are_not_read_may_hold_anything(tmp_path):
    pd.DataFrame({"a": [1], "pair": [{"x": 1}]}).to_parquet(tmp_path / "0.parquet")
    parts = find_parts(tmp_path / "*.parquet")
    parts.require(["a"])
    with pytest.raises(InputError, match="column 'pair' of the parts is struct"):
        parts.require(["a", "pair"])


def test_a_part_that_is_damaged_is_named(folder):
    whole = (folder / "part-0.parquet").read_bytes()
    parts = find_parts(folder / "*.parquet")
    (folder / "part-0.parquet").write_bytes(b"PAR1" + bytes(len(whole) - 4))
    with pytest.raises(InputError, match=r"'part-0\.parquet' cannot be read"):
        read(parts)


def test_the_whole_holds_the_levels_of_all_pieces_in_their_order(tmp_path):
    for place in range(30):
        pd.DataFrame({"canton": [f"K{29 - place:02d}"] * 20, "size": range(20)}).to_parquet(
            tmp_path / f"{place:02d}.parquet"
        )
    whole = find_parts(tmp_path / "*.parquet").whole(["canton", "size"])
    assert list(whole["canton"].cat.categories) == [f"K{place:02d}" for place in range(30)]
    assert whole["canton"].iloc[[0, 599]].tolist() == ["K29", "K00"]
    assert whole["size"].nunique() == 20


def test_a_file_is_read_by_its_row_groups(folder, monkeypatch):
    monkeypatch.setattr(module, "_ROWS", 2)
    parts = find_parts(folder / "part-2.parquet")
    assert [(piece.groups, piece.rows, piece.before) for piece in parts.pieces] == [
        ((0,), 2, 0),
        ((1,), 2, 2),
    ]
    pd.testing.assert_frame_equal(
        read(parts, ["size", "note"]),
        RECORDS[2:].reset_index(drop=True)[["size", "note"]],
        check_dtype=False,
    )


def test_whole_numbers_with_gaps_are_floats_in_every_piece(tmp_path):
    pd.DataFrame({"a": pd.array([1, 2], "Int64")}).to_parquet(tmp_path / "1.parquet")
    pd.DataFrame({"a": pd.array([3, None], "Int64")}).to_parquet(tmp_path / "2.parquet")
    parts = find_parts(tmp_path / "*.parquet")
    assert [parts.read(piece, ["a"])["a"].dtype for piece in parts.pieces] == [
        np.float64,
        np.float64,
    ]


def test_a_part_may_lack_all_values_of_a_column(tmp_path):
    pd.DataFrame({"a": ["x", "y"]}).to_parquet(tmp_path / "1.parquet")
    pd.DataFrame({"a": [None, None]}).to_parquet(tmp_path / "2.parquet")
    made = read(find_parts(tmp_path / "*.parquet"))
    assert made["a"].isna().sum() == 2


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (RECORDS.drop(columns="size"), "'part-9.parquet' lacks the column 'size'"),
        (RECORDS.assign(more=1), "'part-9.parquet' has the column 'more'"),
        (
            RECORDS.assign(size=0.5),
            "column 'size' is double in 'part-9.parquet' and int64 in 'part-0.parquet'",
        ),
    ],
)
def test_parts_that_differ_are_refused_by_name(folder, other, says):
    other.to_parquet(folder / "part-9.parquet", index=False)
    with pytest.raises(InputError, match=says):
        find_parts(folder / "*.parquet")


def test_what_is_no_part_is_refused(folder):
    with pytest.raises(InputError, match="no file is called"):
        find_parts(folder / "absent-*.parquet")
    (folder / "x.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match=r"is none; valid are files that end in \.parquet"):
        find_parts(folder / "*")
    (folder / "part-9.parquet").write_text("no parquet")
    with pytest.raises(InputError, match=r"'part-9.parquet' cannot be read \(ArrowInvalid\)"):
        find_parts(folder / "*.parquet")


def test_parts_without_a_record_are_refused(tmp_path):
    RECORDS[:0].to_parquet(tmp_path / "1.parquet")
    with pytest.raises(InputError, match="has no records"):
        find_parts(tmp_path / "*.parquet")


def test_an_identifier_must_not_be_missing(folder):
    parts = find_parts(folder / "*.parquet")
    with pytest.raises(
        InputError, match=r"data\.id 'note' is missing in 1 records of 'part-0\.parquet'"
    ):
        parts.read(parts.pieces[0], ["size"], "note")


def test_settings_say_whether_data_are_in_parts(folder):
    settings = DataSettings(path=folder / "*.parquet", id="size")
    assert settings.in_parts
    assert len(settings.read()) == 6
    assert DataSettings(path=folder / "part-2.parquet", row_groups=True).in_parts
    assert not DataSettings(path=folder / "part-2.parquet").in_parts
    with pytest.raises(InputError, match="id is of data in parts"):
        DataSettings(path=folder / "part-2.parquet", id="size")
    with pytest.raises(InputError, match="row_groups = true is of a parquet file"):
        DataSettings(path=folder / "part-2.csv", row_groups=True)
    assert settings.to_table()["id"] == "size"
    assert "row_groups" not in settings.to_table()
