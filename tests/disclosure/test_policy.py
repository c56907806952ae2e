"""Verdicts on tables of which it is known what they break."""

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.disclosure.policy import Broken, judge

CLEAN = {
    **{"variables": "income", "release": "shuffled", "group": "all", "records": 1_000},
    **{
        "D": 0.0,
        "upper": 0.003,
        "lower": -0.003,
        "bound": 0.0,
        "largest_D": 0.01,
        "own_value_with": 0.02,
        "own_value_out": 0.01,
        "named": 2.0,
        "reversed": 0.0,
    },
}


def verdict(settings=None, worst=-1.0, group="all", leaves="shuffled", **changes):
    table = pd.DataFrame([CLEAN, CLEAN | {"group": group} | changes])
    table.attrs = {
        "worst_groups": (
            {
                "of": "released pattern",
                "release": "shuffled",
                "lower": worst,
                "D": 0.3,
                "variables": "income",
            },
        )
    }
    table.attrs["leaves"] = leaves
    return judge(table, settings)


def test_looks_of_earlier_runs_leave_less_room_for_chance():
    levels = [rw.DisclosureSettings(earlier=earlier).level for earlier in (0, 1, 2)]
    assert levels == pytest.approx([0.05, 0.05 / 4, 0.05 / 9])


def test_what_gives_nothing_away_passes():
    assert verdict() == ("pass", (), (), (), (), ())


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"upper": 0.021}, "not shown"),
        ({"D": 0.03, "upper": 0.04, "lower": 0.021}, "refuse"),
        ({"D": 0.025, "upper": 0.03, "lower": 0.019}, "not shown"),
        ({"D": 0.006, "upper": 0.01}, "warn"),
        ({"group": "isolated", "upper": 0.049}, "pass"),
        ({"group": "isolated", "upper": 0.051}, "not shown"),
        ({"group": "isolated", "D": 0.021, "upper": 0.04}, "warn"),
        ({"group": "top 1 %", "D": 0.5, "upper": 0.6}, "pass"),
        ({"largest_D": 0.06}, "warn"),
        ({"largest_D": 0.21}, "refuse"),
        ({"own_value_with": 0.07}, "refuse"),
        ({"own_value_with": 0.3, "own_value_out": 0.26}, "pass"),
        ({"named": 4.0}, "refuse"),
        ({"named": 40.0, "reversed": 38.0}, "pass"),
        ({"worst": 0.06}, "refuse"),
        ({"release": "aligned", "D": 0.013, "upper": 0.022}, "pass"),
        ({"release": "aligned", "D": 0.04, "upper": 0.05, "lower": 0.03}, "refuse"),
        ({"release": "aligned", "largest_D": 0.21}, "pass"),
        ({"release": "aligned", "leaves": "aligned", "D": 0.013, "upper": 0.022}, "not shown"),
        ({"release": "shuffled", "leaves": "aligned", "D": 0.013, "upper": 0.022}, "pass"),
        ({"group": "inside", "upper": 0.009}, "pass"),
        ({"group": "inside", "D": 0.3, "upper": 0.4, "lower": 0.2}, "warn"),
        ({"group": "earlier", "upper": 0.011}, "warn"),
        ({"group": "inside, best guess", "upper": 0.4}, "pass"),
        ({"upper": np.nan}, "not shown"),
        ({"D": np.nan, "upper": np.nan}, "not judged"),
    ],
    ids=str,
)
def test_each_limit_is_one(changes, expected):
    assert verdict(**changes).verdict == expected


def test_what_is_not_shown_names_the_limit_from_which_it_would_be():
    found = verdict(group="isolated", upper=0.095)
    assert found.verdict == "not shown"
    assert found.reasons == (
        "mean D of isolated records (shuffled, income): upper limit 0.095 at the limit 0.05, "
        "shown small only from 0.095",
    )
    accepted = verdict(rw.DisclosureSettings(accept={"not_shown": "the board, 3 May"}), upper=0.03)
    assert (accepted.verdict, len(accepted.accepted)) == ("warn", 1)


def test_whatever_does_not_leave_names_what_mends_it_and_how_many_datasets_would_pass():
    table = pd.DataFrame([CLEAN | {"D": 0.03, "lower": 0.025, "upper": 0.04}])
    assert len(judge(table).cures) == 1
    assert judge(table).rules == ("mean",)
    table.attrs["fewer"] = 10
    first, second = judge(table).cures
    assert "L = 10" in first
    assert "prior" in second
    for rule in ("isolated", "largest", "group", "copies", "copied", "not_judged"):
        table.attrs = {"broken": (Broken(rule, "something"),)}
        assert judge(table).cures, rule
    assert judge(pd.DataFrame([CLEAN | {"D": 0.006, "upper": 0.01}])).cures == ()


def test_of_a_fit_own_values_and_named_records_are_left_to_the_tests_of_copies():
    table = pd.DataFrame([CLEAN | {"own_value_with": 0.5, "named": 50.0}])
    assert judge(table).verdict == "refuse"
    table.attrs["own"] = True
    assert judge(table).verdict == "pass"


def test_what_else_is_broken_is_worse_than_not_judged():
    table = pd.DataFrame([CLEAN])
    table.attrs = {"not_judged": ("nobody knows",), "broken": (Broken("largest", "a person"),)}
    assert judge(table).verdict == "refuse"
    table.attrs["broken"] = ()
    assert judge(table).reasons == ("nobody knows",)


def test_groups_are_refused_by_their_lower_limit_and_else_must_be_shown_small():
    table = pd.DataFrame([CLEAN])
    of = {
        "of": "released pattern",
        "release": "shuffled",
        "D": 0.06,
        "groups": 9,
        "lower": 0.01,
        "variables": "income",
    }
    cases = {
        "pass": {"unshown": 0},
        "warn": {"unshown": 0, "above": 1},
        "not shown": {"unshown": 2},
        "refuse": {"unshown": 2, "lower": 0.07},
    }
    for expected, changes in cases.items():
        table.attrs = {"worst_groups": (of | changes,)}
        assert judge(table).verdict == expected
    table.attrs = {"worst_groups": (of | {"unshown": 2, "release": "aligned"},)}
    assert judge(table).verdict == "pass"


def test_a_rule_may_be_broken_for_a_reason_which_is_told():
    accepted = verdict(
        rw.DisclosureSettings(accept={"mean": "the board, 3 May"}), D=0.03, lower=0.025, upper=0.03
    )
    assert accepted.verdict == "warn"
    assert "the board, 3 May" in accepted.accepted[0]


@pytest.mark.parametrize(
    "given",
    [{"mean": 0.03}, {"accept": {"means": "x"}}, {"accept": {"mean": ""}}, {"max_identified": -1}],
    ids=str,
)
def test_limits_without_a_reason_or_of_no_rule_are_refused(given):
    with pytest.raises(rw.InputError):
        rw.DisclosureSettings(**given)


def test_a_stricter_limit_needs_no_reason():
    assert verdict(rw.DisclosureSettings(mean=0.001)).verdict == "not shown"
