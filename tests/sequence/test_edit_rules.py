"""Rules of a chain: where each is checked, which records break it, and what is refused."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from riskweighted.common.errors import InputError
from riskweighted.sequence.conditions import Condition
from riskweighted.sequence.edit_rule_kinds import Forbidden, Order
from riskweighted.sequence.edit_rules import Rules, Structure

pytestmark = pytest.mark.quick

FRAME = pd.DataFrame(
    {
        "age": [15, 30, 40, 70, 20],
        "smoke": ["NO", "YES", None, "NO", "YES"],
        "nociga": [-8.0, 20.0, -8.0, 5.0, np.nan],
        "marital": ["SINGLE", "MARRIED", "SINGLE", "MARRIED", "SINGLE"],
        "start": [1.0, 5.0, -8.0, np.nan, 9.0],
        "end": [2.0, 4.0, -9.0, 3.0, -8.0],
    }
)
VARIABLES = ("marital", "smoke", "nociga", "start", "end")


def smoking(
    applies_if: str = "smoke == 'YES'", else_value: object = -8, variable: str = "nociga"
) -> Structure:
    structure = Structure.read(
        variable, applies_if, else_value, f"synthesizer.variables.{variable}"
    )
    assert structure is not None
    return structure


def test_structure_by_hand() -> None:
    rule = smoking()
    assert rule.fixed(FRAME).tolist() == [True, False, True, True, False]
    assert rule.broken(FRAME).tolist() == [False, False, False, True, False]
    assert rule.value(FRAME["nociga"]) == -8
    assert rule.names == ("smoke", "nociga")


def test_structure_of_missing_values() -> None:
    rule = smoking(else_value="missing")
    assert rule.value(FRAME["nociga"]) is None
    assert rule.broken(FRAME).tolist() == [True, False, True, True, False]
    asked = FRAME.assign(nociga=[np.nan, 3.0, None, np.nan, 1.0])
    assert not rule.broken(asked).any()


def test_missing_is_a_level_where_the_column_has_it() -> None:
    text = pd.DataFrame({"smoke": ["NO", "YES", "NO"], "brand": ["missing", "A", None]})
    rule = smoking(else_value="missing", variable="brand")
    assert rule.value(text["brand"]) == "missing"
    assert rule.value(text["brand"].iloc[1:]) is None
    assert not rule.broken(text).any()
    category = pd.Series(pd.Categorical(["A", None, "A"], ["A", "missing"]), name="brand")
    assert rule.value(category) == "missing"
    assert rule.value(category.cat.remove_categories("missing")) is None


@pytest.mark.parametrize(
    ("column", "else_value", "found"),
    [
        (pd.Series([1, 2]), "missing", "cannot hold missing values"),
        (pd.Series([True, False]), "missing", "cannot hold missing values"),
        (pd.Series([1, 2]), 2.5, "cannot hold parts of whole numbers"),
        (pd.Series([True, False]), 3, "cannot hold numbers other than 0 and 1"),
        (pd.Series([1.0, 2.0]), "NO", "must be of the kind of 'v', which holds numbers"),
        (pd.Series(["a", "b"]), 3, "must be of the kind of 'v', which holds text"),
        (pd.Series(pd.Categorical(["a", "b"])), "c", "must be a category"),
        (pd.Series(pd.to_datetime(["2020-01-01"])), 3, "datetime64"),
    ],
)
def test_otherwise_that_the_column_cannot_hold(
    column: pd.Series, else_value: object, found: str
) -> None:
    rule = smoking(else_value=else_value, variable="v")
    with pytest.raises(InputError, match=found):
        rule.value(column.rename("v"))


@pytest.mark.parametrize("else_value", [float("nan"), float("inf"), [1], {"a": 1}, 1j])
def test_otherwise_of_no_kind(else_value: object) -> None:
    with pytest.raises(
        InputError, match=r"variables\.nociga\.else_value must be a number, true, false or a text"
    ):
        smoking(else_value=else_value)


def test_structure_needs_both_settings_or_none() -> None:
    assert Structure.read("nociga", None, None, "here") is None
    with pytest.raises(InputError, match="here has 'applies_if' without 'else_value'"):
        Structure.read("nociga", "smoke == 'YES'", None, "here")
    with pytest.raises(InputError, match="here has 'else_value' without 'applies_if'"):
        Structure.read("nociga", None, -8, "here")
    with pytest.raises(
        InputError, match=r"here\.applies_if must be a condition in quotes, got int"
    ):
        Structure.read("nociga", 3, -8, "here")
    with pytest.raises(InputError, match="must be a condition, got str"):
        Structure("nociga", "smoke == 'YES'", -8)  # type: ignore[arg-type]


def test_order_skips_missing_values_and_codes() -> None:
    plain = Rules(VARIABLES, order=[["start", "end"]])
    assert plain.broken_by(FRAME, "end").tolist() == [False, True, True, False, True]
    coded = Rules(VARIABLES, order=[["start", "end"]], codes={"start": [-8], "end": (-8, -9.0)})
    assert coded.broken_by(FRAME, "end").tolist() == [False, True, False, False, False]
    equal = pd.DataFrame({"start": [3.0], "end": [3.0]})
    assert not coded.broken_by(equal, "end").any()


def test_each_rule_is_checked_at_the_last_of_its_variables() -> None:
    rules = Rules(
        VARIABLES,
        order=[["end", "start"], ["age", "start"]],
        forbidden=["marital == 'MARRIED' and age < 16", "nociga > 40 and marital == 'SINGLE'"],
        structures=[smoking()],
    )
    where = {
        variable: [rule.text for rule in rules.at(variable)] for variable in (*VARIABLES, "age")
    }
    assert where == {
        "marital": ["never marital == 'MARRIED' and age < 16"],
        "smoke": [],
        "nociga": ["nociga: -8 unless smoke == 'YES'", "never nociga > 40 and marital == 'SINGLE'"],
        "start": ["age <= start"],
        "end": ["end <= start"],
        "age": [],
    }
    assert rules.structure("nociga") == smoking()
    assert rules.structure("smoke") is None
    assert isinstance(rules.at("marital")[0], Forbidden)
    assert isinstance(rules.at("start")[0], Order)


def test_a_rule_needs_no_column_that_is_drawn_later() -> None:
    rules = Rules(
        VARIABLES,
        order=[["start", "end"]],
        structures=[smoking()],
        forbidden=["marital == 'MARRIED' and age < 16"],
    )
    drawn = FRAME[["age"]].copy()
    for variable in VARIABLES:
        drawn[variable] = FRAME[variable]
        assert rules.broken_by(drawn, variable).sum() == {"nociga": 1, "end": 3}.get(variable, 0)


def test_confidential_records_that_break_a_rule() -> None:
    settings = {
        "order": [["start", "end"]],
        "forbidden": ["marital == 'SINGLE' and age == 20", "age > 100 and smoke == 'NO'"],
    }
    rules = Rules(
        VARIABLES, **settings, structures=[smoking()], codes={"start": [-8], "end": [-8, -9]}
    )
    assert rules.broken(FRAME) == (
        ("nociga: -8 unless smoke == 'YES'", 1),
        ("start <= end", 1),
        ("never marital == 'SINGLE' and age == 20", 1),
    )
    with pytest.raises(InputError) as caught:
        rules.refuse_broken(FRAME)
    message = str(caught.value)
    assert message.startswith(
        "of 5 confidential records, 1 break the rule \"nociga: -8 unless smoke == 'YES'\", 1 "
        "break the rule 'start <= end', "
    )
    assert "synthesizer.violations = 'exclude'" in message
    assert len(message.splitlines()) == 1
    assert not rules.left_out(FRAME, "nociga").any()
    aside = Rules(
        VARIABLES,
        **settings,
        structures=[smoking()],
        codes={"start": [-8], "end": [-8, -9]},
        violations="exclude",
    )
    aside.refuse_broken(FRAME)
    left = {
        variable: np.flatnonzero(aside.left_out(FRAME, variable)).tolist() for variable in VARIABLES
    }
    assert left == {"marital": [4], "smoke": [], "nociga": [3], "start": [], "end": [1]}


def test_data_that_obey() -> None:
    rules = Rules(VARIABLES, forbidden=["age < 16 and marital == 'MARRIED'"])
    rules.check(FRAME)
    rules.refuse_broken(FRAME)
    assert rules.broken(FRAME) == ()


def test_no_rules() -> None:
    rules = Rules(["a", "b"])
    assert rules.at("a") == ()
    assert rules.broken_by(FRAME, "a").tolist() == [False] * 5
    rules.check(FRAME)


def test_a_value_that_is_equal_and_hashes() -> None:
    one, other = (
        Rules(VARIABLES, [["start", "end"]], ["age < 3 and end > 2"], [smoking()], {"end": (-8,)})
        for _ in range(2)
    )
    assert one == other
    assert hash(one) == hash(other)
    assert one != Rules(VARIABLES, [["start", "end"]], codes={"end": (-9,)})


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"order": "start"}, "synthesizer.order must be a list"),
        ({"order": [["start"]]}, "pairs of two different columns"),
        ({"order": [["start", "start"]]}, "pairs of two different columns"),
        ({"order": [["start", 3]]}, "pairs of two different columns"),
        ({"order": ["start", "end"]}, "each pair of synthesizer.order must be a list"),
        ({"order": [["start", "end"], ["end", "start"]]}, "refer to each other in a circle"),
        (
            {"order": [["start", "end"], ["end", "nociga"], ["nociga", "start"]]},
            "refer to each other in a circle",
        ),
        ({"order": [["age", "height"]]}, "names no synthesized variable, only 'age', 'height'"),
        ({"forbidden": "age < 3"}, "synthesizer.forbidden must be a list"),
        ({"forbidden": [3]}, "synthesizer.forbidden[0] must be a condition in quotes, got int"),
        ({"forbidden": ["start < 3", "end <"]}, "synthesizer.forbidden[1] 'end <': cannot be read"),
        ({"forbidden": ["age < 3"]}, "names no synthesized variable, only 'age'"),
        ({"violations": "ignore"}, "synthesizer.violations must be one of 'error', 'exclude'"),
        ({"violations": None}, "synthesizer.violations must be one of"),
        ({"variables": ["a", "a"]}, "more than once"),
        ({"codes": {"start": -8}}, "codes of 'start' must be a list"),
        ({"codes": {"start": ["x"]}}, "codes of 'start' must be numbers, got 'str'"),
        (
            {"structures": [smoking("nociga > 3")]},
            "synthesizer.variables.nociga.applies_if names 'nociga' itself",
        ),
        (
            {"structures": [smoking("age > 3 and end > 3")]},
            "applies_if names 'end', drawn after 'nociga'",
        ),
        ({"structures": [smoking(variable="age")]}, "is of 'age', which is not synthesized"),
        ({"structures": [smoking(), smoking()]}, "second structural rule of 'nociga'"),
        (
            {"structures": [smoking("end > 3"), smoking("nociga > 3", -8, "end")]},
            "rules of 'nociga', 'end' refer to each other|rules of 'end', 'nociga' refer to each "
            "other",
        ),
        (
            {
                "structures": [
                    smoking("start > 1"),
                    smoking("end > 1", -8, "start"),
                    smoking("nociga > 1", -8, "end"),
                ]
            },
            "refer to each other",
        ),
    ],
)
def test_wrong_settings(given: dict, found: str) -> None:
    with pytest.raises(InputError) as caught:
        Rules(**{"variables": VARIABLES, **given})
    assert any(part in str(caught.value) for part in found.split("|")), str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"order": [["start", "stop"]]}, "synthesizer.order names 'stop', no column of the data"),
        (
            {"forbidden": ["start < 3 and ags < 2"]},
            "synthesizer.forbidden[0] names 'ags', no column of the data",
        ),
        (
            {"structures": [smoking("smokes == 'YES'")]},
            "synthesizer.variables.nociga names 'smokes', no column",
        ),
        ({"order": [["start", "marital"]]}, "'marital', which holds text"),
        (
            {"forbidden": ["marital < 3"]},
            "synthesizer.forbidden[0] 'marital < 3': column 'marital' holds text",
        ),
        (
            {"forbidden": ["marital == 'MARIED'"]},
            "synthesizer.forbidden[0] compares 'marital' with 'MARIED', which is a value of no "
            "record",
        ),
        ({"structures": [smoking("smoke == 'Yes'")]}, "compares 'smoke' with 'Yes'"),
        ({"structures": [smoking(else_value="NO")]}, "which holds numbers"),
    ],
)
def test_rules_that_do_not_fit_the_data(given: dict, found: str) -> None:
    rules = Rules(**{"variables": VARIABLES, **given})
    with pytest.raises(InputError, match=re.escape(found)) as caught:
        rules.check(FRAME)
    assert "SINGLE" not in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_draws_that_find_no_room() -> None:
    rules = Rules(VARIABLES, order=[["start", "end"]], codes={"start": [-8], "end": [-8, -9]})
    error = rules.unmet(FRAME, "end", 100)
    assert isinstance(error, InputError)
    assert str(error).startswith(
        "after 100 rounds of draws of 'end', 1 break the rule 'start <= end' of 5 records: "
    )


def test_many_orders_are_quick() -> None:
    names = [f"v{k}" for k in range(30)]
    rules = Rules(names, order=[[a, b] for k, a in enumerate(names) for b in names[k + 1 :]])
    assert len(rules.at("v29")) == 29


ROWS = st.lists(st.tuples(*[st.one_of(st.none(), st.integers(0, 4))] * 3), min_size=1, max_size=12)


@settings(max_examples=60)
@given(rows=ROWS, seed=st.integers(0, 99))
def test_drawing_again_until_nothing_is_broken(rows: list[tuple], seed: int) -> None:
    """What a chain does: each variable anew where it breaks a rule; then no rule is broken,
    whatever stood there first.
    """
    structure = smoking("b >= 1", -8, "c")
    rules = Rules(
        ["a", "b", "c"],
        [["a", "b"]],
        ["a == 2 and b == 3", "missing(a) and b == 0"],
        [structure],
        {"c": [-8]},
    )
    frame, rng = pd.DataFrame(rows, columns=list("abc"), dtype=float), np.random.default_rng(seed)
    for variable in "abc":
        rule = rules.structure(variable)
        if rule is not None:
            frame.loc[rule.fixed(frame), variable] = rule.value(frame[variable])
        for _ in range(500):
            again = rules.broken_by(frame, variable)
            if not again.any():
                break
            frame.loc[again, variable] = rng.integers(0, 5, again.sum()).astype(float)
        assert not rules.broken_by(frame, variable).any()
    assert rules.broken(frame) == ()
    assert (frame["a"].isna() | frame["b"].isna() | (frame["a"] <= frame["b"])).all()
    assert (frame["c"][~(frame["b"] >= 1)] == -8).all()


def test_condition_of_a_structure_keeps_its_place() -> None:
    assert smoking().applies_if == Condition("smoke == 'YES'")
    assert smoking().applies_if.place == "synthesizer.variables.nociga.applies_if"
