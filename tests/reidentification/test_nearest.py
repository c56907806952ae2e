"""The six best partners against all pairs, on what a tree of sets, ranges and blocks could get
wrong.
"""

import itertools

import numpy as np
import pytest

from riskweighted.reidentification import nearest as nearest_module
from riskweighted.reidentification.nearest import EQUAL, LOGISTIC, STEPS, TABLE, Costs, nearest


def all_pairs(first, second, costs):
    """Cost of every pair, (n, m), one variable after the other."""
    total = np.zeros((len(first), len(second)))
    for variable, kind in enumerate(costs.kinds):
        one, two = first[:, variable][:, None], second[:, variable][None, :]
        away = np.abs(one - two)
        if kind == EQUAL:
            cost = (one != two).astype(float)
        elif kind == LOGISTIC:
            cost = (2 / (1 + np.exp(-np.minimum(away, 6))) - 1) ** 2
        elif kind == STEPS:
            cost = costs.steps[variable][np.searchsorted(costs.breaks[variable] * (1 + 1e-9), away)]
        else:
            codes = [np.where(np.isnan(side), 0, side).astype(int) for side in (one, two)]
            cost = costs.tables[variable][codes[0], codes[1]]
        total += np.where(np.isnan(one) | np.isnan(two), costs.missing, cost)
    return total


def check(first, second, sizes, costs):
    """Costs of the six best below the limit, and the partners that are strictly better than the
    sixth, whoever is tied with it.
    """
    found = nearest(first, second, sizes, costs)
    assert ((found.partner < 0) == np.isinf(found.cost)).all()
    for row, cost in enumerate(all_pairs(first, second, costs)):
        order = np.argsort(cost, kind="stable")
        order = np.repeat(order, np.minimum(sizes, 6)[order])
        order = order[cost[order] < costs.limit - 1e-9][:6]
        best = np.full(6, np.inf)
        mine = np.where(found.cost[row] < costs.limit - 1e-9, found.cost[row], np.inf)
        best[: len(order)] = cost[order]
        np.testing.assert_allclose(mine, best, rtol=0, atol=1e-12)
        assert sorted(found.partner[row][mine < best[5] - 1e-9]) == sorted(
            order[cost[order] < best[5] - 1e-9]
        )


def distinct(values):
    """Distinct rows, where a missing value equals a missing one."""
    return np.array(
        list(
            dict.fromkeys(tuple(None if np.isnan(x) else x for x in row) for row in values.tolist())
        ),
        dtype=float,
    )


def random_case(kinds, seed, n=150, missing=0.15):
    """Profiles of both files, sizes and costs; variables of few codes, of codes too many for a set,
    whole and continuous numbers.
    """
    rng = np.random.default_rng(seed)
    v = len(kinds)
    sides = [np.empty((n, v)), np.empty((n, v))]
    breaks, steps, tables = [np.empty(0)] * v, [np.empty(0)] * v, [np.empty((0, 0))] * v
    for place, kind in enumerate(kinds):
        many = bool(rng.random() < 0.4)
        levels = 90 if many else int(rng.integers(1, 7))
        numbers = rng.normal(size=(2, n)) if many else rng.integers(0, 5, (2, n)).astype(float)
        for side in (0, 1):
            sides[side][:, place] = (
                numbers[side] if kind in (LOGISTIC, STEPS) else rng.integers(0, levels, n)
            )
        if kind == STEPS:
            breaks[place] = np.sort(
                rng.choice([0.0, 0.1, 0.5, 1.0, 2.0], int(rng.integers(0, 4)), replace=False)
            )
            # not always rising
            steps[place] = rng.integers(0, 6, len(breaks[place]) + 1).astype(float)
        if kind == TABLE:
            tables[place] = rng.integers(0, 6, (levels, levels)).astype(float)
            if rng.random() < 0.5:
                np.fill_diagonal(tables[place], 0.0)
    for side in sides:
        side[rng.random(side.shape) < missing] = np.nan
    first, second = distinct(sides[0]), distinct(sides[1])
    sizes = rng.choice([1, 1, 1, 2, 9], len(second))
    highest = 5.0 if {STEPS, TABLE} & set(kinds) else 0.25
    return (
        first,
        second,
        sizes,
        Costs(
            np.array(kinds), highest, highest * v / 2, tuple(breaks), tuple(steps), tuple(tables)
        ),
    )


@pytest.mark.parametrize("leaf", [1, 4, 64])
@pytest.mark.parametrize("kind", [EQUAL, LOGISTIC, STEPS, TABLE])
def test_one_kind(kind, leaf, monkeypatch):
    monkeypatch.setattr(nearest_module, "_LEAF", leaf)
    for v in (1, 2, 4):
        for seed in range(5):
            check(*random_case([kind] * v, seed))


@pytest.mark.parametrize("missing", [0.0, 0.15, 0.6])
@pytest.mark.quick
def test_kinds_together(missing, monkeypatch):
    monkeypatch.setattr(nearest_module, "_LEAF", 3)
    for seed, kinds in enumerate(
        itertools.product([EQUAL, LOGISTIC], [EQUAL, LOGISTIC], [LOGISTIC, EQUAL])
    ):
        check(*random_case(list(kinds), seed, missing=missing))
    for seed, kinds in enumerate(itertools.product([STEPS, TABLE], repeat=4)):
        check(*random_case(list(kinds), seed, missing=missing))


def test_no_limit_and_a_limit_that_nothing_meets():
    first, second, sizes, costs = random_case([STEPS, TABLE, TABLE], 1)
    check(
        first,
        second,
        sizes,
        Costs(costs.kinds, costs.missing, np.inf, costs.breaks, costs.steps, costs.tables),
    )
    check(
        first,
        second,
        sizes,
        Costs(costs.kinds, costs.missing, -1.0, costs.breaks, costs.steps, costs.tables),
    )


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_columns_that_do_not_vary(value, monkeypatch):
    """Of one value, or missing throughout: nothing to split by but the last column."""
    monkeypatch.setattr(nearest_module, "_LEAF", 2)
    second = np.column_stack([np.full(200, value), np.full(200, value), np.arange(200.0)])
    first = second[::3].copy()
    steps = (np.array([0.0, 3.0]), np.array([0.0, 1.0, 5.0]))
    empty, table = np.empty(0), 5.0 - 5.0 * np.eye(200)
    both = Costs(
        np.array([STEPS, TABLE, TABLE]),
        5.0,
        7.5,
        (steps[0], empty, empty),
        (steps[1], empty, empty),
        (empty, np.zeros((1, 1)), table),
    )
    check(first, second, np.ones(200, dtype=int), both)
    check(
        first,
        second,
        np.ones(200, dtype=int),
        Costs(np.array([LOGISTIC, EQUAL, LOGISTIC]), 0.25, 2.0),
    )


def test_costs_that_tell_nothing_apart(monkeypatch):
    """Every pair costs the same: six of them, whichever."""
    monkeypatch.setattr(nearest_module, "_LEAF", 2)
    second = np.arange(300.0)[:, None]
    flat = Costs(np.array([STEPS]), 5.0, 10.0, (np.array([1e6]),), (np.array([2.0, 2.0]),))
    check(second[:20], second, np.ones(300, dtype=int), flat)
    tables = Costs(
        np.array([TABLE]), 5.0, 10.0, (np.empty(0),), (np.empty(0),), (np.full((20, 300), 2.0),)
    )
    check(second[:20], second, np.ones(300, dtype=int), tables)


def test_a_rare_value_among_equals(monkeypatch):
    """What a sample of a node's profiles does not show: one profile that differs in each
    variable.
    """
    monkeypatch.setattr(nearest_module, "_LEAF", 1)
    second = np.vstack([np.zeros(40), np.eye(40)])
    costs = Costs(np.full(40, EQUAL), 0.5, 40.0)
    check(
        np.vstack([np.zeros(40), np.eye(40)[::7] * 2, np.eye(40)[::5]]),
        second,
        np.ones(41, dtype=int),
        costs,
    )
