import sys
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from labels import read_label

from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import file_hash, fingerprint
from riskweighted.common.frames import require_columns
from riskweighted.data.formats import WRITABLE
from riskweighted.data.io import read_datasets, read_table, write_aggregates, write_table
from riskweighted.data.variable import Variable
from riskweighted.data.variables import Variables

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_round_trip_keeps_values_and_bytes(tmp_path, ending):
    table = pd.DataFrame({"a": [1, 2], "b": [0.1, 1 / 3], "c": ["ä", "b,c"]})
    for name in ("one", "two"):
        write_table(table, tmp_path / f"{name}{ending}")
    pd.testing.assert_frame_equal(read_table(tmp_path / f"one{ending}"), table)
    assert file_hash(tmp_path / f"one{ending}") == file_hash(tmp_path / f"two{ending}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,b\n", "no records"),
        ("a,b,a\n1,2,3\n", "column 'a' more than once"),
        ("a,b\n55555.25,2,\n3,4,\n", "more fields in its rows than column names"),
        ("a,55555.25,7\n1,2,3\n", "2 of 3 column names are numbers"),
        ("a,b\n1,2\n3,4,55555.25,6\n", "Expected 2 fields in line 3, saw 4"),
    ],
)
def test_wrong_csv(tmp_path, text, message):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_table(tmp_path / "x.csv")
    assert "55555" not in str(caught.value)


def test_wrong_files(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"no parquet 987654.321")
    (tmp_path / "latin.csv").write_bytes("a\nM\xfcller\n".encode("latin-1"))
    for name, message in [
        ("nope.csv", "no file"),
        ("x.xlsx", "valid formats are"),
        ("x.parquet", "cannot be read"),
        ("latin.csv", "it is not in UTF-8"),
    ]:
        with pytest.raises(InputError, match=message) as caught:
            read_table(tmp_path / name)
        assert "987654" not in str(caught.value)


def test_byte_order_mark_is_no_part_of_a_name(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"\xef\xbb\xbfa\n1\n")
    assert list(read_table(tmp_path / "x.csv").columns) == ["a"]


def test_codes_and_text_keep_their_spelling(tmp_path):
    (tmp_path / "x.csv").write_text("code,text,number,count\n03,NA,1.5,1\n10,b,NA,2\n")
    table = read_table(tmp_path / "x.csv")
    assert table["code"].tolist() == ["03", "10"]
    assert table["text"].tolist() == ["NA", "b"]
    assert table["number"].isna().tolist() == [False, True]
    assert table["count"].dtype == "int64"
    write_table(table[["code", "text"]], tmp_path / "y.csv")
    assert (tmp_path / "y.csv").read_text() == "code,text\n03,NA\n10,b\n"


@pytest.mark.parametrize("ending", WRITABLE)
def test_every_format_keeps_values_and_says_what_it_is(tmp_path, ending):
    table = pd.DataFrame(
        {
            "id": [1, 2, 3],
            "Region": ["north", None, "süd <&>"],
            "group": pd.Categorical(["b", "a", "b"], categories=["b", "a", "unused"]),
            "income": [1 / 3, 98765.4321, -0.5],
            "hours": [1.5, None, 40.25],
            "big": [2**40, 1, 2],
        }
    )
    path = tmp_path / f"x{ending}"
    write_table(table, path, label="SYNTHETIC data 1 of 3")
    read = read_table(path)
    assert list(read.columns) == list(table.columns)
    expected = table.astype({"group": object}) if ending != ".parquet" else table
    pd.testing.assert_frame_equal(
        read.astype({"Region": object}), expected.astype({"Region": object}), check_dtype=False
    )
    assert pd.api.types.is_integer_dtype(read["id"].dtype)
    assert read_label(path) == ("" if ending == ".csv" else "SYNTHETIC data 1 of 3")


@pytest.mark.parametrize("ending", WRITABLE)
def test_the_bytes_do_not_depend_on_the_hour(tmp_path, ending):
    table = pd.DataFrame({"a": [1, 2], "b": ["01 Jan 2611:22:33", "x"]})
    write_table(table, tmp_path / f"one{ending}")
    time.sleep(1.1)
    write_table(table, tmp_path / f"two{ending}")
    assert file_hash(tmp_path / f"one{ending}") == file_hash(tmp_path / f"two{ending}")
    assert read_table(tmp_path / f"one{ending}")["b"].tolist() == ["01 Jan 2611:22:33", "x"]


@pytest.mark.parametrize(
    ("ending", "table", "message"),
    [
        (".dta", {"my income": [1]}, "Stata cannot name a column 'my income'"),
        (".sav", {"1st": [1]}, "SPSS cannot name a column '1st'"),
        (".xpt", {"x" * 33: [1]}, "SAS cannot name a column"),
        (".sav", {"a": [1], "A": [2]}, "takes the columns 'a', 'A' for the same"),
        (".xpt", {"a": ["€" * 67]}, "at most 200 bytes, and 'a' has 201"),
        (".dta", {"a": [2**53 + 1]}, "beyond 2\\^53"),
        (".sav", {"a": [1 + 2j]}, "type 'complex128'"),
        (".sas7bdat", {"a": [1]}, "cannot write 'x.sas7bdat': valid formats are '.csv'"),
    ],
)
def test_what_a_package_cannot_hold_is_refused_before_a_file_is_there(
    tmp_path, ending, table, message
):
    with pytest.raises(InputError, match=message):
        write_table(pd.DataFrame(table), tmp_path / f"x{ending}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", [".dta", ".sav", ".xpt", ".sas7bdat"])
def test_files_that_are_not_what_their_name_says(tmp_path, ending):
    (tmp_path / f"x{ending}").write_bytes(b"55555.25 nonsense")
    with pytest.raises(InputError, match="cannot be read") as caught:
        read_table(tmp_path / f"x{ending}")
    assert "55555" not in str(caught.value)


@pytest.mark.parametrize("cell", [[98765.4], {"a": 98765.4}], ids=["list", "table"])
def test_nested_cells_are_refused(tmp_path, cell):
    pd.DataFrame({"a": [1, 2], "nested": [cell, None]}).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(
        InputError, match=r"^'x\.parquet': 'nested' holds lists or tables"
    ) as caught:
        read_table(tmp_path / "x.parquet")
    assert "98765" not in str(caught.value)
    frame = pd.DataFrame({"a": [1, 2], "nested": [cell, (1,)]})
    with pytest.raises(InputError, match="'nested' holds lists or tables"):
        require_columns(frame, ["nested"], "data")
    require_columns(frame, ["a"], "data")
    with pytest.raises(InputError, match="'nested' holds lists or tables"):
        fingerprint(frame)


def test_labels_of_aggregates_are_no_formulas(tmp_path):
    table = pd.DataFrame(
        {
            "=name": ["=1+1", "+x", "-x", "@x", "\t=x", "a\r=x", " =x", "a", "-5", "+1e3"],
            "value": -1.5,
        }
    )
    write_aggregates(table, tmp_path / "t.csv")
    read = pd.read_csv(tmp_path / "t.csv", dtype=str)
    assert read["'=name"].tolist() == [
        "'=1+1",
        "'+x",
        "'-x",
        "'@x",
        "' =x",
        "a =x",
        "' =x",
        "a",
        "-5",
        "+1e3",
    ]
    assert set(read["value"]) == {"-1.5"}


def test_a_file_of_r_is_its_one_data_frame(tmp_path):
    pyreadr = pytest.importorskip("pyreadr")
    table = pd.DataFrame(
        {
            "y": [1.5, np.nan, 3.0],
            "n": [1, 2, 3],
            "g": pd.Categorical(["a", "b", None]),
            "t": ["x", "y", "z"],
        }
    )
    pyreadr.write_rds(str(tmp_path / "x.rds"), table)
    pyreadr.write_rdata(str(tmp_path / "x.RData"), table, df_name="d")
    for name in ("x.rds", "x.RData"):
        read = read_table(tmp_path / name)
        pd.testing.assert_frame_equal(read, table, check_dtype=False, check_categorical=False)
        assert read["n"].dtype == "int64"
        assert list(read["g"].cat.categories) == ["a", "b"]


def test_a_file_of_r_needs_its_reader_and_one_data_frame(tmp_path, monkeypatch):
    (tmp_path / "x.rda").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyreadr", None)
    with pytest.raises(
        InputError,
        match=r'needs pyreadr, which is not installed: pip install "riskweighted\[formats\]"',
    ):
        read_table(tmp_path / "x.rda")
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    for tables in ({}, {"a": frame, "b": frame}):
        monkeypatch.setitem(
            sys.modules, "pyreadr", SimpleNamespace(read_r=lambda path, tables=tables: tables)
        )
        with pytest.raises(InputError, match=f"must hold one data frame, got {len(tables)}"):
            read_table(tmp_path / "x.rda")
    monkeypatch.setitem(sys.modules, "pyreadr", SimpleNamespace(read_r=lambda path: {None: frame}))
    assert read_table(tmp_path / "x.rda")["a"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"sex;income\nm;1\n", "has ';' between its columns; valid is a comma"),
        (b"sex\tincome\nm\t1\n", "between its columns; valid is a comma"),
        ("sex,name\nm,J\xf8rgen\n".encode("latin-1"), "it is not in UTF-8"),
    ],
)
def test_files_as_offices_save_them_are_told_what_is_wrong(tmp_path, content, told):
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(InputError, match=told) as caught:
        read_table(tmp_path / "x.csv")
    assert "rgen" not in str(caught.value)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(InputError, match="it is a folder"):
        read_table(tmp_path)


def test_a_synthesized_column_that_is_stated_to_be_text_keeps_its_codes(tmp_path):
    stated = Variables({"isco": Variable(type="text"), "name": Variable(type="text")})
    base = pd.DataFrame(
        {"isco": ["45.10", "45.1", "NA"], "name": ["NA", "1.0", "x"], "x": [1.5, 2.0, 3.0]}
    )
    paths = [tmp_path / f"{number}.csv" for number in range(2)]
    for path, codes in zip(paths, (["45.10", "45.1", "NA"], ["1", "2", "3.0"]), strict=True):
        write_table(base.assign(isco=codes), path)
    first = read_table(paths[0], variables=stated)
    assert first["name"].tolist() == ["NA", "1.0", "x"]
    read = list(read_datasets(paths, first, ["isco"], stated))
    assert [list(each) for each in read] == [["isco"], ["isco"]]  # these alone were read
    assert [each["isco"].tolist() for each in read] == [["45.10", "45.1", "NA"], ["1", "2", "3.0"]]
    changed = first.assign(x=[1.5, 2.0, 4.0])
    assert [
        each["isco"].tolist() for each in read_datasets(paths[1:], changed, ["isco"], stated)
    ] == [["1", "2", "3.0"]]
