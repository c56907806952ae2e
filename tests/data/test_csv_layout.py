"""A csv as offices write it: read when that is stated, guessed for a study, and written as it was
read.
"""

import io

import numpy as np
import pandas as pd
import pytest

from riskweighted.common.errors import InputError
from riskweighted.data.csv_layout import CsvLayout, guess_layout
from riskweighted.data.io import read_table, write_table
from riskweighted.data.variable import Variable
from riskweighted.data.variables import Variables

pytestmark = pytest.mark.quick

TABLE = pd.DataFrame(
    {
        "name": ["Jürgen", "Zoë; de", 'a "b"', "é"],
        "income": [1234.5, -1234567.25, np.nan, 0.5],
        "count": [1, 20, 300, 4000],
        "code": ["03", "10", "11", "04"],
        "day": ["01.02.2020", "31.12.2021", "01.01.2020", "02.02.2022"],
    }
)
EUROPE = """name;income;count;code;day
Jürgen;1.234,5;1;03;01.02.2020
"Zoë; de";-1.234.567,25;20;10;31.12.2021
"a ""b\""";k.A.;300;11;01.01.2020
é;0,5;4.000;04;02.02.2022
"""


@pytest.mark.parametrize(
    ("text", "encoding", "layout"),
    [
        (EUROPE, "cp1252", CsvLayout(";", ",", ".", "cp1252", ("k.A.",))),
        (EUROPE, "utf-8", CsvLayout(";", ",", ".", "utf-8", ("k.A.",))),
        (EUROPE, "utf-8-sig", CsvLayout(";", ",", ".", "utf-8-sig", ("k.A.",))),
        (
            EUROPE.replace("Zoë; de", "Zoë, de").replace(";", "\t"),
            "cp1252",
            CsvLayout("\t", ",", ".", "cp1252", ("k.A.",)),
        ),
        (
            EUROPE.replace("Zoë; de", "Zoë, de").replace(";", "|"),
            "utf-16",
            CsvLayout("|", ",", ".", "utf-16", ("k.A.",)),
        ),
        (
            EUROPE.replace("1.234.567", "1 234 567")
            .replace("1.234", "1 234")
            .replace("4.000", "4 000"),
            "latin-1",
            None,
        ),
    ],
)
def test_a_layout_is_guessed_and_gives_the_table(tmp_path, text, encoding, layout):
    path = tmp_path / "x.csv"
    path.write_bytes(text.encode(encoding))
    guessed = guess_layout(path)
    assert guessed == (layout or CsvLayout(";", ",", " ", "cp1252", ("k.A.",)))
    expected = TABLE.assign(
        name=TABLE["name"].str.replace(";", "," if layout and layout.delimiter != ";" else ";")
    )
    pd.testing.assert_frame_equal(read_table(path, guessed), expected)
    # without the settings a run reads no other way than it did
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert "234" not in str(caught.value)


def test_a_plain_file_has_the_plain_layout(tmp_path):
    TABLE.to_csv(tmp_path / "x.csv", index=False)
    assert guess_layout(tmp_path / "x.csv").stated == {}
    # points before decimals, or thousands: as they are elsewhere
    (tmp_path / "y.csv").write_text("a;b\n1.5;2.25\n3.125;4\n")
    assert guess_layout(tmp_path / "y.csv").stated == {"delimiter": ";"}


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "latin-1", "utf-16"])
def test_a_table_is_written_as_it_was_read(tmp_path, delimiter, encoding):
    layout = CsvLayout(delimiter, ",", ".", encoding)
    write_table(TABLE, tmp_path / "x.csv", layout=layout)
    pd.testing.assert_frame_equal(read_table(tmp_path / "x.csv", layout), TABLE)
    plain = io.StringIO((tmp_path / "x.csv").read_bytes().decode(encoding))
    pd.testing.assert_frame_equal(
        pd.read_csv(plain, sep=delimiter, decimal=",", dtype={"code": str}),
        TABLE,
        check_dtype=False,
    )
    for name in ("y", "z"):
        write_table(read_table(tmp_path / "x.csv", layout), tmp_path / f"{name}.csv", layout=layout)
        assert (tmp_path / f"{name}.csv").read_bytes() == (tmp_path / "x.csv").read_bytes()


def test_the_same_numbers_as_of_a_plain_file(tmp_path):
    numbers = pd.DataFrame(
        {
            "x": np.random.default_rng(3).normal(size=2000) * 10.0 ** np.arange(-5, 5).repeat(200),
            "n": range(2000),
        }
    )
    write_table(numbers, tmp_path / "plain.csv")
    write_table(numbers, tmp_path / "other.csv", layout=CsvLayout(";", ","))
    pd.testing.assert_frame_equal(
        read_table(tmp_path / "other.csv", CsvLayout(";", ",")),
        read_table(tmp_path / "plain.csv"),
        check_exact=True,
    )


@pytest.mark.parametrize(
    ("content", "layout", "told"),
    [
        (
            "a;b\nMüller;1\n".encode() + "Møller;2\n".encode("latin-1"),
            None,
            "is in two encodings: 1 lines with letters of UTF-8, and 1",
        ),
        (
            "a;b\nMüller;1\n".encode() + "Møller;2\n".encode("latin-1"),
            CsvLayout(";", encoding="cp1252"),
            "is in two encodings",
        ),
        (
            "a;b\nMüller;1\n".encode(),
            CsvLayout(";", encoding="latin-1"),
            "is in UTF-8, and the setting encoding says 'latin-1'",
        ),
        ("a;b\nMøller;1\n".encode("latin-1"), CsvLayout(";"), "it is not in UTF-8"),
        (
            b"a;b\nx;1.5\ny;2.25\n",
            CsvLayout(";", ","),
            "column 'b' holds numbers that do not have ',' before decimals",
        ),
        (b"a;a\n1;2\n", CsvLayout(";"), "has column 'a' more than once"),
        (b"", CsvLayout(";"), "is empty"),
        (b"a;b\n1;2;77777\n", CsvLayout(";"), "more fields in its rows than column names"),
    ],
)
def test_wrong_files_are_refused_in_a_line_without_a_value(tmp_path, content, layout, told):
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(InputError, match=told) as caught:
        read_table(tmp_path / "x.csv", layout)
    assert "ller" not in str(caught.value)
    assert "2.25" not in str(caught.value)
    assert "77777" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_encodings_are_not_guessed(tmp_path):
    (tmp_path / "x.csv").write_bytes("a;b\nMüller;1\n".encode() + "Møller;2\n".encode("latin-1"))
    with pytest.raises(InputError, match="is in two encodings"):
        guess_layout(tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"delimiter": ";;"}, "delimiter must be one character"),
        ({"delimiter": "a"}, "delimiter must be one character"),
        ({"decimal": ";"}, 'decimal must be "." or ","'),
        ({"delimiter": ";", "decimal": ",", "thousands": ","}, "must differ"),
        ({"decimal": ","}, "must differ"),
        ({"thousands": "x"}, "thousands must be one of"),
        ({"encoding": "klingon"}, "encoding must be one that Python knows"),
        ({"encoding": "base64"}, "encoding must be one that Python knows"),
        ({"missing": [1]}, "a text of missing must be text"),
    ],
)
def test_wrong_settings(settings, told):
    with pytest.raises(InputError, match=told):
        CsvLayout(**settings)


def test_what_an_encoding_cannot_spell_is_refused_without_the_text(tmp_path):
    with pytest.raises(InputError, match="cannot spell some text") as caught:
        write_table(
            pd.DataFrame({"a": ["Łódź"], "b": [1]}),
            tmp_path / "x.csv",
            layout=CsvLayout(";", encoding="latin-1"),
        )
    assert "dź" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("w;x\n1,234;a\n1,001;b\n2,345;c\n", {"delimiter": ";", "decimal": ","}),
        (
            "datum;betrag;nace\n01.02.2020;1,5;45.11\n02.02.2020;2,5;45.12\n",
            {"delimiter": ";", "decimal": ","},
        ),
        ("w;x\n1.234;a\n1.001;b\n", {"delimiter": ";"}),
        ("w;x\n1;a\n2;b\n", {"delimiter": ";"}),
        ("w;x\n1,234.5;a\n1,001;b\n", {"delimiter": ";", "thousands": ","}),
        ("w\tx\n1,234\ta\n1,001\tb\n", {"delimiter": "\t", "thousands": ","}),
    ],
)
def test_a_comma_among_semicolons_stands_before_decimals(tmp_path, text, stated):
    (tmp_path / "x.csv").write_text(text)
    assert guess_layout(tmp_path / "x.csv").stated == stated


def test_a_column_in_other_numbers_can_be_text(tmp_path):
    (tmp_path / "x.csv").write_text("betrag;nace\n1,5;45.10\n2,25;45.1\n")
    layout = guess_layout(tmp_path / "x.csv")
    with pytest.raises(InputError, match="in a file of variables that the column is text"):
        read_table(tmp_path / "x.csv", layout)
    table = read_table(tmp_path / "x.csv", layout, Variables({"nace": Variable(type="text")}))
    assert (table["betrag"].tolist(), table["nace"].tolist()) == ([1.5, 2.25], ["45.10", "45.1"])


@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_lines_may_end_otherwise_and_be_long(tmp_path, delimiter, end):
    long = "z" * 140_000
    for name, text in (("short", "x"), ("long", long)):
        lines = ["a,b,c", f"{text},1,2", "y,2,3.5", ""]
        (tmp_path / f"{name}.csv").write_bytes(end.join(lines).replace(",", delimiter).encode())
        guessed = guess_layout(tmp_path / f"{name}.csv")
        assert guessed.delimiter == delimiter
        table = read_table(tmp_path / f"{name}.csv", guessed)
        assert table["a"].tolist() == [text, "y"]
        assert table["c"].tolist() == [2.0, 3.5]
    # of which each is one cell where another mark is looked for
    wide = [delimiter.join(["z" * 60_000] * 3)] * 2
    (tmp_path / "wide.csv").write_bytes(end.join([delimiter.join("abc"), *wide, ""]).encode())
    assert guess_layout(tmp_path / "wide.csv").delimiter == delimiter


def test_numbers_of_categories_and_objects_have_the_decimal_mark(tmp_path):
    layout = CsvLayout(";", ",")
    table = pd.DataFrame(
        {
            "level": pd.Categorical([1.5, 2.5, np.nan], categories=[2.5, 1.5], ordered=True),
            "whole": pd.Categorical([1, 2, 1]),
            "objects": pd.Series([1.5, 2, None], dtype=object),
            "mixed": pd.Series([1.5, "a", None], dtype=object),
            "x": [1.5, 2.5, 3.5],
        }
    ).set_axis([7, 7, 1])
    write_table(table, tmp_path / "x.csv", layout=layout)
    assert (
        tmp_path / "x.csv"
    ).read_text() == "level;whole;objects;mixed;x\n1,5;1;1,5;1.5;1,5\n2,5;2;2,0;a;2,5\n;1;;;3,5\n"
    read = read_table(tmp_path / "x.csv", layout)
    assert read["level"].tolist()[:2] == read["x"].tolist()[:2] == [1.5, 2.5]


def test_what_means_missing_among_numbers_may_be_a_value_elsewhere(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("state,inc,day,code\nNV,1,2020-01-01,45.10\nCA,NV,NV,NV\nND,3,2020-01-02,4\n")
    guessed = guess_layout(path)
    assert guessed.missing == ("NV",)
    table = read_table(path, guessed)
    assert table["state"].tolist() == ["NV", "CA", "ND"]
    assert table["inc"].isna().tolist() == table["day"].isna().tolist() == [False, True, False]
    text = read_table(path, guessed, Variables({"code": Variable(type="text")}))
    assert text["code"].tolist() == ["45.10", "NV", "4"]
    # nothing says that a column of these alone is one of numbers
    path.write_text("state;inc\nNV;1,5\nNV;NV\n")
    assert read_table(path, CsvLayout(";", ",", missing=("NV",)))["state"].tolist() == ["NV", "NV"]
