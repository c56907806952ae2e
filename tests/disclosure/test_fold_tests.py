"""The four tests of one release by folds: honest tools pass, also one that is trained once, and a
copied person is found.
"""

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from experiments.disclosure.third_party import (
    PLANTS,
    TOOLS,
    copying,
    regression,
    trained_once,
    try_tool,
    word_of_tests,
)
from riskweighted.disclosure.attribution import attribution_of_folds
from riskweighted.disclosure.attribution_inputs import AttributionRequest
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.comparison import fisher
from riskweighted.disclosure.fold_tests import _tail, fold_tests, is_present
from riskweighted.intruder.world import make_world


def test_who_is_present_is_looked_for_in_the_pattern_alone():
    rng = np.random.default_rng(1)
    values, patterns = rng.integers(0, 30, 200).astype(float), rng.integers(0, 6, 200)
    lower, asked = rng.integers(0, 30, 50) - 0.5, rng.integers(0, 6, 50)
    upper = lower + rng.integers(0, 3, 50)
    expected = [
        ((patterns == of) & (low <= values) & (values <= up)).any()
        for low, up, of in zip(lower, upper, asked, strict=True)
    ]
    assert is_present(values, lower, upper, patterns, asked).tolist() == expected
    assert 0 < sum(expected) < 50


def test_the_tails_are_those_of_tables_worked_by_hand():
    assert fisher(np.array([10]), np.array([0]), 10)[0] == pytest.approx(1 / 184_756)
    assert fisher(np.array([1]), np.array([0]), 1)[0] == pytest.approx(0.5)
    assert _tail(1, 0.5, 0.5) == pytest.approx(1 - np.exp(-0.5))
    assert _tail(1, 1.0, 2.0) == pytest.approx(0.5)  # a geometric number of mean 1


@pytest.mark.parametrize("name", TOOLS)
def test_honest_tools_are_not_refused(name):
    assert [word_of_tests(try_tool(TOOLS[name], 300, 10, seed)) for seed in range(6)].count(
        "refuse"
    ) == 0


@pytest.mark.parametrize("copies", [2, 3])
def test_of_few_files_that_nearly_all_hold_a_value_near_everybody_none_is_refused(copies):
    """How many one file holds, with half a file more and less for each person, would be too few: p
    1e-9 of two files of an honest tool.
    """
    for tool in TOOLS.values():
        assert word_of_tests(try_tool(tool, 1_500, copies, 0)) == "pass"
    assert word_of_tests(try_tool(PLANTS["a fifth of one file"], 1_500, copies, 0)) == "refuse"


@pytest.mark.parametrize("seed", [4, 19])
def test_files_of_one_fit_that_all_come_near_a_person_are_no_copies_of_it(seed):
    """Fisher's test takes them as drawn apart: p .001 and .0009."""
    assert word_of_tests(try_tool(trained_once, 1_500, 20, seed)) == "pass"


@pytest.mark.parametrize("name", [name for name in PLANTS if name != "10 % within 5 %"])
def test_a_tool_that_copies_is_refused(name):
    assert [word_of_tests(try_tool(PLANTS[name], 300, 10, seed)) for seed in range(3)] == [
        "refuse"
    ] * 3


@pytest.mark.long
def test_honest_tools_are_not_refused_of_many_files():
    """None of twenty-two of a tool: were one of ten refused, nine times of ten one would be."""
    for n, files in ((300, 20), (1_500, 2)):
        for tool in TOOLS.values():
            words = [
                word_of_tests(try_tool(tool, n, 10, seed)) for seed in range(1_000, 1_000 + files)
            ]
            assert words.count("refuse") == 0
            assert words.count("warn") <= max(1, files // 8)


def test_one_copied_person_is_refused_whom_the_allowance_for_named_records_would_let_pass():
    tried = try_tool(PLANTS["richest 1"], 300, 10, 3)
    table = attribution_of_folds(tried.world, tried.packs, tried.folds, AttributionRequest(), 1)
    first = table.iloc[0]
    assert first["named"] - first["reversed"] <= 3
    assert table.attrs["verdict"] == "refuse"
    assert any("p =" in reason for reason in table.attrs["reasons"])
    richest = int(tried.world.confidential["income"].to_numpy().argmax())
    assert (richest, 10, 0) in {
        (each.record, each.files, each.without) for each in table.attrs["standing_out"]
    }


def test_one_release_of_a_small_file_is_not_shown_to_give_little_away_and_is_told_how_to():
    tried = try_tool(regression, 300, 10, 0)
    table = attribution_of_folds(tried.world, tried.packs, tried.folds, AttributionRequest(), 1)
    assert table.attrs["verdict"] == "not shown"
    assert table.loc[0, "upper"] > 0.02 > 2 * table.loc[0, "D"] - table.loc[0, "upper"]
    assert f"--packs {table.attrs['packs_needed']}" in table.attrs["reasons"][0]
    assert "no leak was found" in table.attrs["reasons"][0]


def test_packs_narrow_the_error_of_mean_d_and_show_what_copies():
    clean, copies = (
        try_tool(tool, 300, 10, 0, 20)
        for tool in (regression, copying(lambda rows, y, train, rng: train[::10]))
    )
    one = attribution_of_folds(
        clean.world,
        clean.packs[:1],
        try_tool(regression, 300, 10, 0).folds,
        AttributionRequest(),
        1,
    ).iloc[0]
    table = attribution_of_folds(clean.world, clean.packs[:1], clean.folds, AttributionRequest(), 1)
    first = table.iloc[0]
    assert first["se"] < 0.4 * one["se"]
    assert first["upper"] < 0.035
    assert table.attrs["packs"] == 20
    table = attribution_of_folds(
        copies.world, copies.packs[:1], copies.folds, AttributionRequest(), 1
    )
    assert table.iloc[0]["upper"] > 0.02
    assert table.attrs["verdict"] == "refuse"


def test_fewer_than_five_packs_have_the_error_over_records():
    tried = try_tool(trained_once, 300, 10, 3, 4)
    few = attribution_of_folds(
        tried.world, tried.packs[:1], tried.folds, AttributionRequest(), 1
    ).iloc[0]
    assert few["se"] > 0.01
    assert few["upper"] == pytest.approx(few["D"] + 1.645 * few["se"], abs=1e-4)


def test_the_richest_value_in_other_rows_is_refused_where_no_file_holds_it_without_the_person():
    rng, n = np.random.default_rng(3), 300
    data = pd.DataFrame(
        {
            "region": rng.choice(list("abcdef"), n),
            "income": np.exp(9 + 0.5 * rng.normal(size=n)).round(2),
        }
    )
    coding = Coding(make_world(data, rw.Scenario(known="region", synthetic="income")))
    patterns = pd.factorize(data["region"])[0]
    of_row = np.arange(n) % 5
    everybody = {"all": np.ones(n, dtype=bool)}
    richest = int(data["income"].argmax())

    def files():
        return np.exp(9 + 0.5 * rng.normal(size=(1, n, 10))).round(2)

    folds = [files() for _ in range(5)]
    for copied, refused in ((0, False), (1, True)):
        released = files()
        for copy in range(10 * copied):
            released[0, rng.choice(np.flatnonzero(patterns != patterns[richest])), copy] = data[
                "income"
            ][richest]
        broken, _ = fold_tests(coding, released, folds, of_row, patterns, everybody)
        assert any(each.rule == "copied" for each in broken) == refused
