"""Units: how records are arranged in them, and what is refused of settings and data."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.errors import InputError, UnitsWarning
from riskweighted.common.units import join_units

FAMILY = rw.Units(id="house", role="relation", first="head", order=["line"], unit_level=["region"])
PANEL = rw.Units(id="person", time="year")


def families():
    """Three households, of three, one and two persons, not in order."""
    return pd.DataFrame(
        {
            "house": [7, 7, 3, 7, 9, 9],
            "relation": ["child", "head", "head", "spouse", "spouse", "head"],
            "line": [1, 1, 1, 1, 2, 1],
            "region": ["n", "n", "s", "n", "s", "s"],
            "age": [5, 40, 70, 38, 33, 30],
        }
    )


def waves():
    return pd.DataFrame(
        {"person": ["a", "b", "a", "a", "b"], "year": [1981, 1980, 1980, 1983, 1983]}
    )


def test_members_stand_by_role_and_the_first_role_first():
    arranged = FAMILY.check(families())
    assert arranged.roles == ("head", "spouse", "child")
    assert arranged.position.tolist() == [2, 0, 0, 1, 1, 0]
    assert arranged.first.tolist() == [1, 1, 2, 1, 5, 5]
    assert arranged.previous.tolist() == [3, -1, -1, 1, 5, -1]
    assert arranged.previous_alike.tolist() == [-1] * 6
    assert arranged.holder(1).tolist() == [3, -1, -1, -1, -1, -1]
    assert arranged.alone_in_role(1)
    assert [rows.tolist() for rows in arranged.by_position] == [
        [1, 2, 5],
        [3, 4],
        [0],
    ]


def test_the_stated_order_of_roles_and_columns_decides():
    levels = pd.CategoricalDtype(["child", "spouse", "head"], ordered=True)
    stated = families().astype({"relation": levels})
    assert rw.Units(id="house", role="relation", first="head").check(stated).roles == (
        "head",
        "child",
        "spouse",
    )
    backwards = families().assign(line=[3, 0, 0, 2, 1, 5])
    assert rw.Units(id="house", order=["line"]).check(backwards).position.tolist() == [
        2,
        0,
        0,
        1,
        0,
        1,
    ]


def test_waves_stand_in_time_whatever_form_it_has():
    expected = [1, 0, 0, 2, 1]
    years = waves()
    assert PANEL.check(years).position.tolist() == expected
    for make in (
        lambda year: f"{year} Q3",
        lambda year: f"{year}-M11",
        lambda year: f"{year}-05-01",
        lambda year: pd.Timestamp(f"{year}-05-01"),
    ):
        other = years.assign(year=years["year"].map(make))
        assert PANEL.check(other).position.tolist() == expected
    quarters = pd.DataFrame({"person": [1, 1], "year": ["1980 Q1", "1979Q3"]})
    assert np.ptp(PANEL.check(quarters).times) == 2


def test_a_tie_is_broken_by_chance_and_the_same_whoever_stands_beside():
    units = rw.Units(id="house")
    data = pd.DataFrame({"house": np.repeat(np.arange(300), 4)})
    arranged = units.check(data)
    assert arranged.ties == 900
    places = arranged.position.reshape(300, 4)
    assert (np.sort(places, axis=1) == np.arange(4)).all()
    shares = [(places[:, column] == 0).mean() for column in range(4)]
    assert shares == pytest.approx([0.25] * 4, abs=0.1), "no place in the file is first more often"
    some = data["house"].isin([5, 17, 200]).to_numpy()
    assert units.arranged(data[some]).position.tolist() == arranged.position[some].tolist()


def test_units_repeated_for_some_records_are_arranged_as_they_were():
    arranged = FAMILY.check(families())
    rows, again, asked = arranged.repeated(np.array([0, 5, 0, 3]))
    assert rows[asked].tolist() == [0, 5, 0, 3]
    assert sorted(rows.tolist()) == [0, 0, 1, 1, 3, 3, 4, 5]
    assert again.unit[asked[0]] == again.unit[asked[3]] != again.unit[asked[2]]
    made = families().iloc[rows].reset_index(drop=True).assign(house=again.unit)
    anew = FAMILY.arranged(made, like=arranged)
    for name in ("unit", "position", "role", "first", "previous"):
        assert getattr(again, name).tolist() == getattr(anew, name).tolist()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"id": 3}, "id must be text"),
        ({"id": "house", "role": "relation"}, "role and first go together"),
        ({"id": "house", "first": "head"}, "role and first go together"),
        ({"id": "house", "time": "year", "order": ["line"]}, "time orders the records"),
        ({"id": "house", "time": "year", "role": "a", "first": "b"}, "time orders the records"),
        ({"id": "house", "order": ["house"]}, "'house' twice"),
        ({"id": "house", "unit_level": ["region", "region"]}, "more than once"),
        ({"id": "house", "most_members": 0}, "most_members must be a whole number >= 1"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings, says):
    with pytest.raises(InputError, match=says):
        rw.Units(**settings)


def changed(**columns):
    return families().assign(**columns)


@pytest.mark.parametrize(
    ("units", "data", "says"),
    [
        (FAMILY, families().drop(columns="relation"), "lacks|has no|no column"),
        (FAMILY, changed(house=[7, 7, None, 7, 9, 9]), "'house' is missing in 1 of 6"),
        (FAMILY, changed(house=[7, 7, 3.5, 7, 9, 9]), "no whole number in 1 of 6"),
        (FAMILY, changed(house=[True, True, False, True, False, False]), "truth values"),
        (
            FAMILY,
            changed(house=pd.Series([7, "7", 3, 7, 9, 9], dtype=object)),
            "1 identifiers in several forms",
        ),
        (FAMILY, changed(region=["n", "s", "s", "n", "s", "s"]), "differs within 1 of 3 units"),
        (
            FAMILY,
            changed(relation=["child", "child", "head"] * 2),
            r"1 of 3 units do not have .* \(1 never",
        ),
        (
            FAMILY,
            changed(relation=["head"] * 6),
            r"2 of 3 units do not have .* \(0 never, 2 several",
        ),
        (FAMILY, changed(relation=["child", "boss"] * 3), "first is no level of the role"),
        (FAMILY, changed(relation=["child", "head", "head", None] + ["head"] * 2), "missing in 1"),
        (
            rw.Units(id="house", role="relation", first="head", most_members=2),
            families(),
            "1 of 3 units have more than 2 members",
        ),
        (rw.Units(id="age"), families(), "each of the 6 units of 'age' has one record"),
        (PANEL, waves().assign(year=[1981, 1980, 1981, 1983, 1983]), "1 records have the unit and"),
        (PANEL, waves().assign(year=["spring", "x", "y", "z", "t"]), "no time in 5 of 5"),
        (PANEL, waves().assign(year=["1980 Q5"] * 5), "no time in 5 of 5"),
        (PANEL, waves().assign(year=[1981, None, 1980, 1983, 1983]), "missing in 1 of 5"),
    ],
)
def test_data_that_are_no_units_are_refused_with_a_count(units, data, says):
    with pytest.raises(InputError, match=says):
        units.check(data)


@pytest.mark.parametrize("name", ["house", "relation", "line"])
def test_what_arranges_the_records_cannot_be_synthesized(name):
    with pytest.raises(InputError, match=f"arranged by '{name}', which is synthesized"):
        FAMILY.check(families(), ["age", name])


def test_levels_are_merged_before_roles_are_read():
    units = rw.Units(
        id="house",
        role="relation",
        first="head",
        coarsen={"relation": {"other": ["spouse", "child"]}},
    )
    text = families()
    category = text.astype({"relation": pd.CategoricalDtype(["child", "head", "spouse"])})
    for data in (text, category):
        made = units.coarsened(data)
        assert made["relation"].dtype.kind == data["relation"].dtype.kind
        assert made["relation"].tolist() == ["other", "head", "head", "other", "other", "head"]
        assert units.check(made).roles == ("head", "other")
        assert units.coarsened(made).equals(made), "what is coarsened stays so"
    assert list(units.coarsened(category)["relation"].cat.categories) == ["other", "head"]


def test_large_units_are_cut_after_their_first_members():
    units = dataclasses.replace(FAMILY, coarsen={"most_members": 2}, most_members=2)
    with pytest.raises(InputError, match=r"cut them by coarsen = \{ most_members = 2 \}"):
        units.check(families())
    with pytest.warns(UnitsWarning, match="1 members beyond the first 2 of 1 units"):
        cut = units.coarsened(families())
    assert cut["age"].tolist() == [40, 70, 38, 33, 30], "the child of three goes"
    assert cut.index.tolist() == list(range(5))
    assert units.check(units.coarsened(cut)).sizes.tolist() == [2, 1, 2]


@pytest.mark.parametrize(
    ("coarsen", "says"),
    [
        ({"most_members": 0}, "coarsen.most_members must be a whole number >= 1"),
        ({"relation": {}}, "new levels with those that each replaces"),
        ({"relation": {"a": ["head"], "b": ["head"]}}, "named once"),
        ({"relation": ["head"]}, "must be a table"),
        ({"relation": {"other": ["lodger"]}}, "1 of the levels it names are those of no record"),
        ({"age": {"other": ["5"]}}, "holds numbers"),
        ({"nope": {"other": ["5"]}}, "'nope'"),
    ],
)
def test_what_merges_no_level_is_refused(coarsen, says):
    with pytest.raises(InputError, match=says):
        dataclasses.replace(FAMILY, coarsen=coarsen).coarsened(families())


def test_members_take_the_columns_of_their_unit():
    members = pd.DataFrame({"house": [7, 9, 7], "age": [40, 31, 9]}, index=[5, 6, 8])
    houses = pd.DataFrame({"house": ["9", "7"], "rent": [300.0, 520.5], "region": ["n", "s"]})
    made = join_units(members, houses, "house")
    assert made.index.tolist() == [5, 6, 8]
    assert made["rent"].tolist() == [520.5, 300.0, 520.5]
    assert list(made) == ["house", "age", "rent", "region"]


@pytest.mark.parametrize(
    ("units", "says"),
    [
        ({"house": [7, 9], "age": [1, 2]}, "the file of members also has 'age'"),
        ({"house": [7, 9, 9], "rent": [1, 2, 2]}, "1 of 3 rows have the 'house' of another one"),
        ({"house": [7, 8], "rent": [1, 2]}, "1 of 3 members have a 'house' that"),
        ({"house": [7, None], "rent": [1, 2]}, "missing in 1 of 2"),
        ({"home": [7, 9], "rent": [1, 2]}, "'house'"),
    ],
)
def test_files_that_do_not_fit_each_other_are_refused(units, says):
    members = pd.DataFrame({"house": [7, 9, 7], "age": [40, 31, 9]})
    with pytest.raises(InputError, match=says):
        join_units(members, pd.DataFrame(units), "house")


def test_units_without_a_member_are_left_out_and_counted():
    members = pd.DataFrame({"house": [7, 7], "age": [40, 31]})
    houses = pd.DataFrame({"house": [9, 7], "rent": [300.0, 520.5]})
    with pytest.warns(UnitsWarning, match="1 of 2 units have no member"):
        assert join_units(members, houses, "house")["rent"].tolist() == [520.5, 520.5]


def test_identifiers_in_one_form_are_the_same_units_as_text_and_as_numbers():
    text, floats = (changed(house=families()["house"].astype(kind)) for kind in (str, float))
    mixed = changed(house=pd.Series([7, 7.0, 3, 7, 9, 9], dtype=object))
    for data in (text, floats, mixed):
        assert FAMILY.check(data).position.tolist() == [2, 0, 0, 1, 1, 0]


def test_a_role_that_the_fit_never_saw_is_refused():
    arranged = FAMILY.check(families())
    with pytest.raises(InputError, match="level that the confidential data lack in 1 of 6"):
        FAMILY.arranged(
            changed(relation=["lodger", "head", "head", "spouse", "spouse", "head"]), arranged
        )


def test_a_file_of_nearly_only_units_of_one_warns():
    data = pd.DataFrame({"house": [*range(30), 0]})
    with pytest.warns(UnitsWarning, match="29 of 30 units"):
        assert rw.Units(id="house").check(data).sizes.tolist() == [2, *[1] * 29]
