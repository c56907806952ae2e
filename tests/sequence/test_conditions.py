"""A condition says what it says, agrees with pandas, and runs no code."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from riskweighted.common.errors import InputError
from riskweighted.sequence.conditions import Condition

pytestmark = pytest.mark.quick

FRAME = pd.DataFrame(
    {
        "age": [15, 16, 40, 70],
        "inc": [np.nan, 0.0, 1200.5, -8.0],
        "marital": ["MARRIED", None, "SINGLE", "MARRIED"],
        "own": [True, False, True, False],
        "edu": pd.Categorical(["low", "mid", None, "high"], ["low", "mid", "high"], ordered=True),
        "school": pd.Categorical(
            ["mid", "mid", "low", "low"], ["low", "mid", "high"], ordered=True
        ),
        "size": pd.Categorical([3, 1, 2, None], [3, 2, 1]),
        "net worth": [1.0, 2.0, 3.0, 4.0],
        "class": pd.array([1, None, 3, 15], dtype="Int64"),
        "trust": ["IT`S SO", "it's so", 'so "so"', "C:\\new"],
        "µ": [1, 2, 3, 4],
        "day": pd.to_datetime(["2020-01-01"] * 4),
        "empty": [None] * 4,
    }
)


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ("age < 16", "0"),
        ("16 > age", "0"),
        ("16 <= age", "123"),
        ("age == 16", "1"),
        ("age != +16.0", "023"),
        ("16 <= age < 70", "12"),
        ("15 < age <= 40 != inc", "12"),
        ("inc == -8", "3"),
        ("inc >= -8.0e0", "123"),
        ("inc < 0", "3"),
        ("inc != 0", "23"),  # a missing value meets no comparison
        ("not inc == 0", "023"),  # but the negation of one that it does not meet
        ("not (inc == 0) and not missing(inc)", "23"),
        ("missing(inc) or missing ( marital )", "01"),
        ("inc in [0, 1200.5]", "12"),
        ("inc not in [0, 5]", "23"),
        ("marital == 'MARRIED'", "03"),
        ('"MARRIED" == marital', "03"),
        ("marital != 'MARRIED'", "2"),
        ("marital in ['SINGLE', \"MARRIED\"]", "023"),
        ("marital not in ['SINGLE']", "03"),
        ("marital == 'nobody'", ""),
        ("own == true", "02"),
        ("own == False", "13"),
        ("own != 1", "13"),
        ("edu == 'mid'", "1"),
        ("edu < 'high'", "01"),
        ("'low' < edu", "13"),
        ("edu >= 'mid'", "13"),
        ("edu < school", "0"),
        ("edu == school", "1"),
        ("size == 2", "2"),
        ("size < 3", "12"),  # without an order of its own, by value
        ("size in [3, 1]", "01"),
        ("`net worth` > 2 and age > 20", "23"),
        ("`class` > 1", "23"),
        ("`class` == age", ""),
        ("`class` < age", "023"),
        ("trust == 'IT`S SO'", "0"),
        ("trust == 'it''s so'", "1"),
        ('trust == "it\'s so"', "1"),
        ('trust == "so ""so"""', "2"),
        ("trust == 'C:\\new'", "3"),
        ("µ == 3", "2"),  # a parser that normalises names would look for another letter
        ("empty == 1 or empty != 'x' or empty < age", ""),
        ("missing(empty)", "0123"),
        ("age < 16 or age > 50 and own == true", "0"),
        ("(age < 16 or age > 50) and not own == true", "3"),
        ("age < 16\n\tor age > 50", "03"),
    ],
)
def test_hand_worked(text: str, records: str) -> None:
    held = Condition.parse(text).holds(FRAME)
    assert held.dtype == bool
    assert held.shape == (4,)
    assert "".join(map(str, np.flatnonzero(held))) == records


def test_names_in_their_order_and_once() -> None:
    condition = Condition.parse(
        "`net worth` > 2 and (age < 3 or `net worth` in [1]) and missing(inc) and age < own"
    )
    assert condition.names == ("net worth", "age", "inc", "own")


def test_missing_is_a_name_too() -> None:
    frame = pd.DataFrame({"missing": [1, 2], "true": [3.0, np.nan]})
    assert Condition.parse("missing == 1 and `true` == 3").holds(frame).tolist() == [True, False]
    assert Condition.parse("missing(`true`) and not missing(missing)").holds(frame).tolist() == [
        False,
        True,
    ]


def test_a_value_that_is_equal_hashes_and_pickles() -> None:
    one, other = Condition("age < 3", "here"), Condition.parse("age < 3", "there")
    assert one == other
    assert hash(one) == hash(other)
    assert pickle.loads(pickle.dumps(one)).holds(FRAME).tolist() == [False] * 4


def test_no_records() -> None:
    assert Condition.parse("age < 3 and marital == 'x' or edu in ['low']").holds(
        FRAME.iloc[:0]
    ).shape == (0,)


def test_the_frame_is_left_alone() -> None:
    before = FRAME.copy(deep=True)
    held = Condition.parse("missing(inc)").holds(FRAME)
    held[:] = False
    assert before.equals(FRAME)
    assert Condition.parse("missing(inc)").holds(FRAME).any()


ATTACKS = [
    "__import__('os').system('touch escaped')",
    "__import__('os')",
    "age.__class__",
    "age.__class__ == 1",
    "age . real == 1",
    "(age).__class__ == 1",
    "'x'.__class__ == age",
    "1 .real == age",
    "open('escaped', 'w') == age",
    "missing(open('escaped', 'w'))",
    "missing(age)(age)",
    "missing(age, inc)",
    "missing(age=inc)",
    "missing(*age)",
    "missing('age')",
    "missing()",
    "missing(age) == true",
    "missing",
    "eval('1')",
    "(lambda: 1)() == age",
    "lambda: age",
    "lambda age == 1",
    "[age for age in [1]] == age",
    "age if own else inc",
    "age := 1",
    "(age := 1) == 1",
    "f'{age}' == marital",
    "b'x' == marital",
    "r'x' == marital",
    "'a' 'b' == marital",
    "age[0] == 1",
    "age + 1 == 2",
    "age - 1 == 2",
    "age * 9 == 2",
    "9 ** 9 ** 9 == age",
    "age @ inc == 1",
    "age % 2 == 1",
    "age | inc",
    "age & inc",
    "~own",
    "age ^ 1 == 1",
    "age // 2 == 1",
    "{age: 1} == 1",
    "{1} == age",
    "age == 1; import os",
    "age == 1 # rest",
    "age == 1 \\\n or age == 2",
    "age == 1) or (age == 2",
    "age == 1\0",
    "yield age",
    "await age",
    "print == print()",
    "... == age",
    "age is inc",
    "age is None",
    "None == age()",
    "age == None()",
    "import os",
    "del age",
    "@age",
    "age = 1",
    "age <> 1",
    "age ! 1",
    "age",
    "own and age == 1",
    "not own",
    "'x'",
    "1",
    "1 == 1",
    "'a' == 'b'",
    "1 in [1]",
    "age in inc",
    "age in []",
    "age in 1",
    "age in [inc]",
    "age in [[1]]",
    "age in ('a')",
    "age in [1] in [2]",
    "age in [missing(inc)]",
    "age == -'x'",
    "age == -inc",
    "age == --1",
    "age == - - 1",
    "age == -true",
    "age == 1 2",
    "age == 1e999",
    "age == 0x10",
    "age == 1_000",
    "age == 1j",
    "age == 12a",
    "age == 1.2.3",
    "age == 'x",
    'age == "x',
    "`age == 1",
    "`` == 1",
    "age == (1",
    "age == 1,",
    "age == 1, inc == 2",
    "(age == 1) (inc == 2)",
    "age ==",
    "== 1",
    "and",
    "age == 1 AND inc == 2",
    "",
    " ",
    "()",
    "[]",
    "not",
]


@pytest.mark.parametrize("text", ATTACKS)
def test_anything_else_is_refused_in_a_line(text: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        Condition.parse(text, "forbidden[0]")
    assert str(caught.value).startswith(f"forbidden[0] {text!r}: ")
    assert "missing(column)" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    [
        "(" * 3000 + "age == 1" + ")" * 1900,
        "(" * 2400 + "age == 1" + ")" * 2400,
        "not " * 1200 + "age == 1",
        "not (" * 800 + "age == 1" + ")" * 800,
        "[" * 4000,
        "-" * 4000 + "1 == age",
        "age == 1 or " * 400 + "age ==",
        "age == 1 or " * 500_000 + "age == 2",
        "'" * 4_999,
        "age == " + "9" * 4_900,
        "a" * 10_000_000,
        "age <" * 900 + "age ==",
    ],
    ids=lambda text: f"{text[:5]}...{len(text)}",
)
def test_deep_or_long_text_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        Condition.parse(text)
    assert len(str(caught.value)) < 700


def test_long_but_flat_is_fine() -> None:
    assert Condition.parse(" or ".join(f"age == {k}" for k in range(300))).holds(FRAME).all()
    assert Condition.parse("(" * 100 + "age == 15" + ")" * 100).holds(FRAME).sum() == 1
    assert Condition.parse("not " * 50 + "age == 15").holds(FRAME).sum() == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("nobody == 1", "no column 'nobody'"),
        ("age == 'x'", "holds numbers and is compared with text"),
        ("age in [1, 'x']", "holds numbers and is compared with text"),
        ("marital == 1", "holds text and is compared with numbers"),
        ("marital == true", "holds text and is compared with numbers"),
        ("marital == age", "holds text and is compared with numbers"),
        ("marital < 'MARRIED'", "without an order"),
        ("marital < trust", "without an order"),
        ("edu < 'nothing'", "none of them"),
        ("edu < marital", "the same ordered categories"),
        ("size < edu", "holds numbers and is compared with text"),
        ("day == 1", "datetime64"),
        ("age == day", "datetime64"),
    ],
)
def test_columns_that_cannot_be_compared_so(text: str, found: str) -> None:
    with pytest.raises(InputError, match=re.escape(found)) as caught:
        Condition.parse(text, "forbidden[2]").holds(FRAME)
    assert str(caught.value).startswith("forbidden[2] ")
    assert "SINGLE" not in str(caught.value)


def test_a_column_that_stands_there_twice() -> None:
    twice = pd.concat([FRAME[["age"]], FRAME[["age"]]], axis=1)
    with pytest.raises(InputError, match="twice"):
        Condition.parse("age == 1").holds(twice)


@pytest.mark.parametrize("text", [None, 3, ["age == 1"], b"age == 1"])
def test_no_text(text: object) -> None:
    with pytest.raises(InputError, match="condition in quotes"):
        Condition.parse(text)  # type: ignore[arg-type]


def test_texts_that_no_record_has() -> None:
    condition = Condition.parse(
        "marital in ['MARRIED', 'MARIED'] and not (edu == 'high' or edu != 'higher') and age < 3"
    )
    assert condition.unknown_texts(FRAME) == (("marital", "MARIED"), ("edu", "higher"))
    # a declared category
    assert Condition.parse("edu == 'high'").unknown_texts(FRAME.iloc[:2]) == ()


NUMBERS = st.one_of(st.none(), st.integers(-3, 3).map(float))
WORDS = st.one_of(st.none(), st.sampled_from("abc"))
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, WORDS, WORDS), min_size=1, max_size=8)
SIGNS = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
LEAVES = st.one_of(
    st.tuples(
        st.sampled_from("xy"), SIGNS, st.one_of(st.sampled_from("xy"), st.integers(-3, 3).map(str))
    ).map(" ".join),
    st.tuples(st.integers(-3, 3).map(str), SIGNS, st.sampled_from("xy")).map(" ".join),
    st.tuples(
        st.sampled_from("uv"),
        st.sampled_from(["==", "!="]),
        st.sampled_from(["u", "v", "'a'", "'b'"]),
    ).map(" ".join),
    st.tuples(st.sampled_from("uv"), st.sampled_from(["in", "not in"]), st.just("['a', 'c']")).map(
        " ".join
    ),
    st.tuples(st.sampled_from("xy"), st.sampled_from(["in", "not in"]), st.just("[-1, 2]")).map(
        " ".join
    ),
)
TEXTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(
            lambda parts: f"({' '.join(parts)})"
        ),
        inner.map(lambda part: f"not ({part})"),
    ),
    max_leaves=6,
)


def complete(rows: list[tuple]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=list("xyuv"))
    return frame.fillna({"x": 0.0, "y": 1.0, "u": "a", "v": "b"}).astype({"x": float, "y": float})


@settings(max_examples=60)
@given(rows=ROWS, text=TEXTS)
def test_agrees_with_pandas_where_nothing_is_missing(rows: list[tuple], text: str) -> None:
    frame = complete(rows)
    expected = frame.eval(text, engine="python")
    assert (
        Condition.parse(text).holds(frame).tolist()
        == np.broadcast_to(expected, len(frame)).tolist()
    )


@settings(max_examples=60)
@given(rows=ROWS, text=TEXTS)
def test_dtypes_do_not_matter(rows: list[tuple], text: str) -> None:
    frame = pd.DataFrame(rows, columns=list("xyuv")).astype(
        {"x": float, "y": float, "u": object, "v": object}
    )
    other = frame.astype({"x": "Int64", "u": "category", "v": "string"})
    condition = Condition.parse(text)
    assert condition.holds(frame).tolist() == condition.holds(other).tolist()
    one_by_one = [bool(condition.holds(frame.iloc[[row]])[0]) for row in range(len(frame))]
    assert condition.holds(frame).tolist() == one_by_one


@settings(max_examples=50)
@given(rows=ROWS, leaf=LEAVES, name=st.sampled_from("xyuv"))
def test_a_missing_value_meets_no_comparison(rows: list[tuple], leaf: str, name: str) -> None:
    frame = pd.DataFrame(rows, columns=list("xyuv")).astype(
        {"x": float, "y": float, "u": object, "v": object}
    )
    condition = Condition.parse(leaf)
    met = condition.holds(frame)
    missing = frame[list(condition.names)].isna().any(axis=1).to_numpy()
    assert not met[missing].any()
    assert (Condition.parse(f"missing({name})").holds(frame) == frame[name].isna().to_numpy()).all()


@settings(max_examples=100)
@given(text=st.text(alphabet="ab01 .()[]'\"`=<>!-,\\_eint\n", max_size=25))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        condition = Condition.parse(text)
    except InputError as found:
        message = str(found)
    else:
        message = condition.names[0]
    assert len(message.splitlines()) == 1
