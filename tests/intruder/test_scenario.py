import tomllib

import numpy as np
import pandas as pd
import pytest
from brute import SECRET, assert_clear
from hypothesis import given, settings as hypothesis_settings, strategies as st

from riskweighted.common.errors import InputError, listing
from riskweighted.common.settings import as_toml, from_table, to_table
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import make_world
from riskweighted.risk.identification import confidential_risk


def test_one_name_stands_for_a_tuple_of_one():
    scenario = Scenario(known="age", synthetic="wage", categorical="wage")
    assert (scenario.known, scenario.synthetic, scenario.categorical) == (
        ("age",),
        ("wage",),
        ("wage",),
    )
    assert Scenario(known=["b", "a"], synthetic=["y"]).known == ("b", "a")


def test_defaults_are_those_of_the_paper():
    scenario = Scenario(synthetic="y")
    assert scenario.known == ()
    assert scenario.radius == 0.2
    assert (scenario.radius_kind, scenario.boundary, scenario.singletons) == (
        "relative",
        "closed",
        "protect",
    )
    assert scenario.min_radius == 0


def test_the_radius_mapping_is_a_copy():
    radius = {"y": 0.1}
    scenario = Scenario(synthetic="y", radius=radius)
    radius["y"] = 0.9
    assert scenario.radius_of("y") == 0.1


def test_a_mapping_gives_each_variable_its_radius():
    scenario = Scenario(synthetic=("y", "z"), radius={"y": 0.1, "z": 3}, allow_wide=True)
    assert scenario.radius_of("y") == 0.1
    assert scenario.radius_of("z") == 3.0
    assert Scenario(synthetic=("y", "z"), radius=0.4).radius_of("z") == 0.4


def test_codes_are_a_copy_one_or_several():
    codes = {"y": -8, "z": [-8, -9]}
    scenario = Scenario(synthetic=("y", "z", "x"), codes=codes)
    codes["y"] = 0
    assert (scenario.codes_of("y"), scenario.codes_of("z"), scenario.codes_of("x")) == (
        (-8.0,),
        (-8.0, -9.0),
        (),
    )
    assert hash(Scenario(synthetic="y")) == hash(Scenario(synthetic="y"))


@pytest.mark.parametrize(
    "code", [np.nan, np.inf, "x", True, None, [], [1, 1], [1, np.nan], [[1]], {"a": 1}]
)
def test_a_code_must_be_a_finite_number(code):
    with pytest.raises(InputError) as caught:
        Scenario(synthetic="y", codes={"y": code})
    assert_clear(caught, "codes of 'y'")


def test_codes_come_from_a_settings_file_and_go_back():
    table = tomllib.loads('synthetic = ["y", "z"]\n[codes]\ny = -8\nz = [-8, -9.5]\n')
    scenario = from_table(Scenario, table, "scenario")
    assert scenario.codes == {"y": (-8.0,), "z": (-8.0, -9.5)}
    assert from_table(Scenario, tomllib.loads(as_toml(to_table(scenario)))) == scenario
    with pytest.raises(
        InputError, match=r"setting 'scenario\.codes': codes of 'y' must be a finite number"
    ):
        from_table(Scenario, {"synthetic": "y", "codes": {"y": "x"}}, "scenario")


def test_codes_of_what_is_no_number_are_refused():
    with pytest.raises(InputError, match=r"dtype (object|str).*codes are for numbers"):
        Scenario(synthetic="y", codes={"y": -8}).check(frame(y=["a", "b", "a"]))
    with pytest.raises(InputError, match="missing values and special codes only"):
        Scenario(synthetic="y", codes={"y": -8}).check(frame(y=[-8, -8, np.nan]))


def test_a_variable_without_radius_is_named():
    with pytest.raises(InputError) as caught:
        Scenario(synthetic=("y", "z"), radius={"y": 0.1}).radius_of("z")
    assert_clear(caught, "radius", "'z'", "'y'")


@pytest.mark.parametrize(
    ("given_settings", "named"),
    [
        ({"synthetic": ()}, ["synthetic"]),
        ({"synthetic": ("y", "y")}, ["synthetic", "'y'", "more than once"]),
        ({"synthetic": "y", "known": ["a", "b", "a"]}, ["known", "'a'", "more than once"]),
        ({"synthetic": "y", "known": ["a", 3]}, ["known", "strings", "int"]),
        ({"synthetic": "y", "known": ("a", "y")}, ["'y'", "known and synthetic"]),
        ({"synthetic": "y", "categorical": "g"}, ["categorical", "'g'", "'y'"]),
        (
            {"synthetic": "y", "radius_kind": "percent"},
            ["radius_kind", "percent", "'relative'", "'absolute'"],
        ),
        ({"synthetic": "y", "boundary": "half"}, ["boundary", "half", "'closed'", "'open'"]),
        (
            {"synthetic": "y", "singletons": "drop"},
            ["singletons", "drop", "'protect'", "'paper'", "'error'"],
        ),
        ({"synthetic": "y", "radius": {"z": 0.2}}, ["radius", "'z'", "'y'"]),
        ({"synthetic": "y", "codes": {"z": -8}}, ["codes", "'z'", "'y'"]),
        ({"synthetic": "y", "codes": [-8]}, ["codes", "table", "list"]),
        (
            {"synthetic": "y", "codes": {"y": -8}, "categorical": "y"},
            ["codes", "'y'", "categorical"],
        ),
    ],
)
def test_bad_settings_are_refused(given_settings, named):
    with pytest.raises(InputError) as caught:
        Scenario(**given_settings)
    assert_clear(caught, *named)


@pytest.mark.parametrize(
    "number", [-0.1, np.nan, np.inf, -np.inf, "0.2", None, True, [0.2], np.float64("nan")]
)
@pytest.mark.parametrize("setting", ["radius", "mapping", "min_radius"])
def test_a_radius_must_be_a_finite_number_of_at_least_zero(setting, number):
    changed = {"radius": {"y": number}} if setting == "mapping" else {setting: number}
    with pytest.raises(InputError) as caught:
        Scenario(synthetic="y", **changed)
    assert_clear(
        caught, "min_radius" if setting == "min_radius" else "radius", repr(number), ">= 0"
    )


@pytest.mark.parametrize("number", [0, 1, np.float32(0.5), np.int64(2)])
def test_whole_and_numpy_radii_are_accepted(number):
    assert Scenario(synthetic="y", radius=number, allow_wide=True).radius_of("y") == float(number)


@pytest.mark.parametrize(
    ("dtype", "values", "numeric"),
    [
        ("int64", [1, 2], True),
        ("float32", [1, 2], True),
        ("Int64", [1, 2], True),
        ("Float64", [1, 2], True),
        ("bool", [True, False], False),
        ("boolean", [True, False], False),
        ("object", ["a", "b"], False),
        ("string", ["a", "b"], False),
        ("category", [1, 2], False),
    ],
)
def test_numbers_are_matched_in_a_ball_and_the_rest_by_equality(dtype, values, numeric):
    assert Scenario(synthetic="y").is_numeric(pd.Series(values, dtype=dtype, name="y")) is numeric


def test_numeric_codes_named_in_categorical_are_matched_by_equality():
    scenario = Scenario(synthetic=("y", "code"), categorical="code")
    assert not scenario.is_numeric(pd.Series([1, 2], name="code"))
    assert scenario.is_numeric(pd.Series([1, 2], name="y"))


@pytest.mark.parametrize(
    ("changed", "lower", "upper"),
    [
        ({"radius": 0.25}, [-10.0, 0.0, 6.0], [-6.0, 0.0, 10.0]),
        ({"radius": 2, "allow_wide": True}, [-24.0, 0.0, -8.0], [8.0, 0.0, 24.0]),
        ({"radius": {"y": 0.25}}, [-10.0, 0.0, 6.0], [-6.0, 0.0, 10.0]),
        ({"radius": 3, "radius_kind": "absolute"}, [-11.0, -3.0, 5.0], [-5.0, 3.0, 11.0]),
        ({"radius": 0.25, "min_radius": 1}, [-10.0, -1.0, 6.0], [-6.0, 1.0, 10.0]),
        ({"radius": 0.25, "min_radius": {"y": 4}}, [-12.0, -4.0, 4.0], [-4.0, 4.0, 12.0]),
        (
            {"radius": 3, "radius_kind": "absolute", "min_radius": 4},
            [-12.0, -4.0, 4.0],
            [-4.0, 4.0, 12.0],
        ),
        ({"radius": 0}, [-8.0, 0.0, 8.0], [-8.0, 0.0, 8.0]),
    ],
)
def test_closed_balls_worked_by_hand(changed, lower, upper):
    balls = Scenario(synthetic="y", **changed).balls("y", np.array([-8.0, 0.0, 8.0]))
    np.testing.assert_array_equal(balls.lower, lower)
    np.testing.assert_array_equal(balls.upper, upper)


def test_an_open_ball_excludes_just_its_two_ends():
    values = np.array([-8.0, 8.0])
    closed = Scenario(synthetic="y", radius=0.25).balls("y", values)
    opened = Scenario(synthetic="y", radius=0.25, boundary="open").balls("y", values)
    np.testing.assert_array_equal(opened.lower, np.nextafter(closed.lower, np.inf))
    np.testing.assert_array_equal(opened.upper, np.nextafter(closed.upper, -np.inf))


@pytest.mark.parametrize("boundary", ["closed", "open"])
@given(y=st.floats(-1e100, 1e100), radius=st.sampled_from([0.0, 1e-17, 0.1, 0.2, 1.0, 3.0]))
@hypothesis_settings(max_examples=60)
def test_every_value_lies_in_its_own_ball_but_an_open_one_of_no_width(boundary, y, radius):
    ball = Scenario(synthetic="y", radius=radius, boundary=boundary, allow_wide=True).balls(
        "y", np.array([y])
    )
    assert (ball.lower[0] <= y <= ball.upper[0]) == (
        boundary == "closed" or radius * abs(y) > 0 or radius == 0
    )


def test_making_balls_leaves_the_data_alone():
    values = np.array([-8.0, 0.0, 8.0])
    Scenario(synthetic="y", boundary="open").balls("y", values)
    np.testing.assert_array_equal(values, [-8.0, 0.0, 8.0])


def frame(**columns):
    return pd.DataFrame({"a": [1, 1, 2], "y": [SECRET, 1.0, 2.0]} | columns)


def test_usable_data_pass_whatever_else_they_hold():
    Scenario(known="a", synthetic="y").check(frame(other=[np.nan, np.inf, None]))
    Scenario(known="m", synthetic="y").check(frame(m=[None, np.nan, pd.NA]))
    for values in (
        [SECRET, np.nan, 1.0],
        pd.Series([987654, pd.NA, pd.NA], dtype="Int64"),
        ["b", None, "c"],
    ):
        Scenario(known="a", synthetic="y").check(frame(y=values))


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (frame().drop(columns="a"), ["confidential data", "'a'", "'y'"]),
        (frame().drop(columns="y"), ["confidential data", "'y'", "'a'"]),
        (frame().iloc[:0], ["confidential data", "no records"]),
        (pd.concat([frame(), frame()[["y"]]], axis=1), ["'y'", "more than once"]),
        (pd.concat([frame(), frame()[["a"]]], axis=1), ["'a'", "more than once"]),
        (frame(y=[np.nan, np.nan, np.nan]), ["'y'", "missing in 3 of 3"]),
        (frame(y=pd.Series([pd.NA, pd.NA, pd.NA], dtype="Int64")), ["'y'", "missing in 3 of 3"]),
        (frame(y=[None, None, None]), ["'y'", "missing in 3 of 3"]),
        (frame(y=[SECRET, np.nan, np.inf]), ["'y'", "infinite in 1 of 3"]),
        (frame(y=[SECRET, np.inf, -np.inf]), ["'y'", "infinite in 2 of 3"]),
        (frame(y=pd.array([SECRET, np.inf, 1.0], dtype="Float64")), ["'y'", "infinite in 1 of 3"]),
        ({"a": [1], "y": [SECRET]}, ["DataFrame", "dict"]),
        (frame().to_numpy(), ["DataFrame", "ndarray"]),
    ],
)
def test_unusable_data_are_refused_without_showing_a_value(data, named):
    with pytest.raises(InputError) as caught:
        Scenario(known="a", synthetic="y").check(data)
    assert_clear(caught, *named)


def test_the_message_says_which_data_were_meant():
    with pytest.raises(InputError) as caught:
        Scenario(synthetic="y").check(frame().iloc[:0], "synthetic dataset 2")
    assert_clear(caught, "synthetic dataset 2")


def test_a_scenario_cannot_be_changed():
    with pytest.raises(AttributeError):
        Scenario(synthetic="y").radius = 0.5


def test_listing_quotes_and_cuts():
    assert listing(["a", "b"]) == "'a', 'b'"
    assert listing([]) == "(none)"
    assert listing("abcd", limit=2) == "'a', 'b', ... (2 more)"
    assert listing("ab", limit=2) == "'a', 'b'"


@pytest.mark.parametrize("names", [None, 5])
@pytest.mark.parametrize("setting", ["known", "synthetic", "categorical"])
def test_names_that_are_no_sequence_are_refused(setting, names):
    with pytest.raises(InputError) as caught:
        Scenario(**({"synthetic": "y"} | {setting: names}))
    assert_clear(caught, setting)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["1.5", "2.5", "x"], "is text, but 2 of 3 values are numbers"),
        (pd.to_datetime(["2020-01-01", "2021-01-01"]), "dtype datetime64"),
        ([1 + 2j, 3j], "dtype complex128"),
    ],
)
def test_numbers_in_disguise_are_not_matched_by_equality(values, words):
    frame = pd.DataFrame({"y": values})
    with pytest.raises(InputError, match=words):
        Scenario(synthetic="y").check(frame)


def test_text_codes_pass_where_they_are_named_categorical():
    Scenario(synthetic="y", categorical="y").check(pd.DataFrame({"y": ["1", "2"]}))
    Scenario(synthetic="y").check(pd.DataFrame({"y": ["yes", "no"]}))
    Scenario(synthetic="y").check(pd.DataFrame({"y": [True, False]}))


def test_each_variable_has_a_least_half_width_in_its_own_units():
    scenario = Scenario(
        synthetic=["euros", "hours", "plan"],
        min_radius={"euros": 500},
        radius=0.1,
        categorical="plan",
    )
    zeros = np.zeros(1)
    assert [scenario.balls(name, zeros).upper.tolist() for name in ("euros", "hours")] == [
        [500.0],
        [0.0],
    ]
    assert scenario.only(["hours", "plan"]).min_radius == {}
    # codes that lie within 500
    data = pd.DataFrame({"euros": [0.0, 400.0, 900.0], "hours": [0.0, 1.0, 2.0], "plan": [1, 2, 3]})
    found = confidential_risk(
        make_world(data, Scenario(synthetic="plan", categorical="plan", min_radius=500))
    )
    np.testing.assert_allclose(found, 2 / 3)
    with pytest.raises(InputError, match="min_radius names 'pay'"):
        Scenario(synthetic="euros", min_radius={"pay": 500})


def test_only_some_variables_keep_their_own_settings():
    whole = Scenario(
        known=("g", "h"),
        synthetic=("a", "b", "c"),
        radius={"a": 0.1, "b": 3.0},
        radius_kind={"b": "absolute"},
        categorical=("c",),
        boundary="open",
        min_radius=0.5,
    )
    pair = whole.only(["c", "a"])
    assert pair == Scenario(
        known=("g", "h"),
        synthetic=("a", "c"),
        radius={"a": 0.1},
        radius_kind={},
        categorical=("c",),
        boundary="open",
        min_radius=0.5,
    )
    assert whole.only("b").radius_of("b") == 3
    assert whole.only("b").kind_of("b") == "absolute"
    assert whole.only("c").categorical == ("c",)
    assert whole.only(whole.synthetic) == whole
    assert Scenario(synthetic=("a", "b"), radius=0.3).only("b") == Scenario(
        synthetic="b", radius=0.3
    )


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "names none"),
        ("g", "valid are the synthetic variables 'a', 'b'"),
        (["a", "a"], "more than once"),
        (3, "int"),
    ],
)
def test_only_refuses_other_variables(names, message):
    with pytest.raises(InputError, match=message):
        Scenario(known="g", synthetic=("a", "b")).only(names)
