import pandas as pd
import pytest

from riskweighted.errors import InputError
from riskweighted.io import file_hash, read_table, write_table


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
        ("latin.csv", "UnicodeDecode"),
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
