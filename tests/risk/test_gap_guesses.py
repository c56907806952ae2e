"""The attack on holes: bins worked by hand, a hole that is planted is found, and nothing is found
where nobody looks.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import riskweighted as rw
from riskweighted.evaluation.measure_rows import Statistic, by_label
from riskweighted.intruder.world import make_world
from riskweighted.risk.gap_guesses import WIDTHS, find_by_gaps, lowest_bins


def test_the_lowest_bin_by_hand():
    flat = np.full((1, 81), 100)
    flat[0, 38:43] = 0  # five bins around the 40th, seen from both sides alike
    assert lowest_bins(flat, 0.25).tolist() == [[40]] * len(WIDTHS)
    assert lowest_bins(np.zeros((1, 81), int), 0.25).tolist() == [[-1]] * len(WIDTHS)


def test_gaps_between_the_few_copies_of_a_tail_are_no_holes():
    bell = np.round(200 * np.exp(-(((np.arange(240) - 60) / 15) ** 2) / 2)).astype(int)
    bell[48:53] = 0
    bell[[150, 190, 239]] = 1
    # the widest density does not see a hole that is narrower
    assert (np.abs(lowest_bins(bell[None], 0.25)[:2] - 50) <= 1).all()


def test_the_share_by_hand():
    """Two dents of one width, one half as deep: of the smooth copies less are missing there."""
    counts = np.full((1, 121), 50)
    counts[0, 38:43], counts[0, 78:83] = 25, 10
    assert (np.abs(lowest_bins(counts, 0.25) - 80) <= 1).all()


def pack(values, copies, rng, *, hole, known="a"):
    """Copies log-normal around log 100, but for a hole around a value; the first tenth of the
    records have just that value.
    """
    made = []
    for _ in range(copies):
        drawn = np.log(100) + 0.5 * rng.normal(size=(50, len(values)))
        outside = np.abs(drawn - np.log(hole)) > 0.2
        made.append(
            pd.DataFrame(
                {
                    "known": known,
                    "income": np.exp(drawn[outside.argmax(axis=0), np.arange(len(values))]),
                }
            )
        )
    return made


def incomes(hole, n=200, known="a"):
    values = np.full(n, 1e6)  # far from every guess
    values[: n // 10] = hole
    return pd.DataFrame({"known": known, "income": values})


SCENARIO = rw.Scenario(known="known", synthetic="income", radius=0.2)


@given(st.floats(np.log(70), np.log(140)), st.integers(0, 10**6))
@settings(max_examples=25)
def test_a_planted_hole_is_found(log_hole, seed):
    hole, rng = float(np.exp(log_hole)), np.random.default_rng(seed)
    data = incomes(hole)
    found = find_by_gaps(
        make_world(data, SCENARIO).pair(pack(data["income"], 20, rng, hole=hole)), "income"
    )
    assert found[:2, :20].all()  # by the widths that are narrower than the hole
    assert not found[:, 20:].any()


def test_each_pattern_of_many_copies_has_a_guess_of_its_own():
    rng, holes = np.random.default_rng(1), {"a": 75.0, "b": 130.0}
    data = pd.concat(
        [incomes(hole, known=known) for known, hole in holes.items()], ignore_index=True
    )
    made = [
        pack(data["income"][:200], 20, rng, hole=hole, known=known) for known, hole in holes.items()
    ]
    frames = [pd.concat(both, ignore_index=True) for both in zip(*made, strict=True)]
    found = find_by_gaps(make_world(data, SCENARIO).pair(frames), "income")
    assert found[:2, data["income"] < 1e6].all()
    few = frames[:2]  # 400 copies of each: all are pooled, and there is one guess
    pooled = find_by_gaps(make_world(data, SCENARIO).pair(few), "income")
    assert not (pooled[:, :20].any(axis=1) & pooled[:, 200:220].any(axis=1)).any()


@pytest.mark.parametrize("shift", [0.0, -500.0])
def test_an_absolute_radius_has_holes_on_the_scale_of_the_values(shift):
    rng, n = np.random.default_rng(2), 300
    scenario = rw.Scenario(known=(), synthetic="income", radius=10.0, radius_kind="absolute")
    data = pd.DataFrame({"income": np.append(np.full(30, 50.0), np.full(n - 30, 1e4)) + shift})
    frames = [
        pd.DataFrame({"income": rng.choice(np.r_[0:40, 60:100], n) + rng.random(n) + shift})
        for _ in range(10)
    ]
    found = find_by_gaps(make_world(data, scenario).pair(frames), "income")
    assert found.mean(axis=1).tolist() == [0.1] * len(WIDTHS)


def test_codes_and_missing_values_are_neither_copies_nor_found():
    rng = np.random.default_rng(3)
    data = incomes(90.0)
    data.loc[:4, "income"], data.loc[5:9, "income"] = -8.0, np.nan
    frames = pack(data["income"], 20, rng, hole=90.0)
    for frame in frames:
        frame.loc[rng.random(200) < 0.2, "income"] = -8.0
    scenario = rw.Scenario(known="known", synthetic="income", radius=0.2, codes={"income": -8})
    found = find_by_gaps(make_world(data, scenario).pair(frames), "income")
    assert found.sum(axis=1)[:2].tolist() == [10, 10]
    exact = rw.Scenario(known="known", synthetic="income", radius=0, codes={"income": -8})
    # who looks for the exact value finds nobody
    assert not find_by_gaps(make_world(data, exact).pair(frames), "income").any()


def test_an_evaluation_says_whom_it_finds_of_all_and_of_isolated_records():
    rng, data = np.random.default_rng(4), incomes(90.0)
    data.loc[20:, "income"] = np.exp(np.log(100) + 0.5 * rng.normal(size=180))
    holes = pack(data["income"], 20, rng, hole=90.0)
    smooth = pack(data["income"], 20, rng, hole=1e5)
    risk = rw.evaluate(data, {"holes": holes, "smooth": smooth}, SCENARIO, random_seed=1).risk
    scores = by_label(risk, Statistic("gap-attack", "income"))
    assert list(scores.index) == ["holes", "smooth"]  # nobody attacks the data themselves
    assert scores["holes"] == pytest.approx(
        find_by_gaps(make_world(data, SCENARIO).pair(holes), "income").mean(axis=1).max()
    )
    assert scores["holes"] > 0.1
