"""What is nearer to the truth than chance is found; what is not, passes."""

import numpy as np
import pandas as pd
import pytest
from brute_nearness import BruteChance, brute_clusters

from riskweighted.design.precision import find_precision, round_to
from riskweighted.release.leak_check import check_synthesized, recorded
from riskweighted.release.nearness import _clusters, chance_of, find_nearness

N = 383


def draws(kind, rng, n=N):
    """One dataset after the other of a log-normal regression, as such columns are recorded."""
    x = rng.normal(size=n)
    mean = np.exp(1.5 + 0.6 * x)
    while True:
        y = np.exp(9.5 + rng.normal(0, 0.03) + 0.6 * x + 0.7 * rng.normal(size=n))
        yield {
            "full": lambda y=y: y,
            "heaped": lambda y=y: np.where(rng.random(n) < 0.5, np.round(y, -3), np.round(y)),
            "cents": lambda y=y: np.round(y, 2),
            "whole": lambda y=y: np.round(y),
            "thousands": lambda y=y: np.round(y / 1000, 3),
            "negative": lambda y=y: np.round(y - 9000, 2),
            "counts": lambda: rng.poisson(mean * rng.gamma(2, 0.5, n)).astype(float),
        }[kind]()


def world(kind, seed, n=N):
    """The truth, its precision, the chance of one posterior, and a clean dataset of it."""
    source = draws(kind, np.random.default_rng(seed), n)
    truth = next(source)
    unit = find_precision(pd.Series(truth))
    clean, *fresh = (round_to(next(source), unit) for _ in range(21))
    return truth, unit, chance_of(fresh, truth, unit), clean


@pytest.mark.parametrize("kind", ["full", "heaped", "cents", "whole", "thousands", "negative", "counts"])
def test_clean_data_pass(kind):
    for seed in range(8):
        _, unit, chance, clean = world(kind, seed, n=(120, N)[seed % 2])
        assert check_synthesized(clean, chance, unit, {}) == []


def some(clean, count, leaked, rng):
    rows = rng.permutation(len(clean))[:count]
    column = clean.copy()
    column[rows] = leaked[rows]
    return column


def largest(clean, truth, count):
    column, rows = clean.copy(), np.argsort(-truth)[:count]
    column[rows] = truth[rows]
    return column


def order_of_most(clean, truth, rng):
    mixed = np.where(rng.random(len(truth)) < 0.2, rng.permutation(truth), truth)
    return np.sort(clean)[np.argsort(np.argsort(mixed))]


PLANTS = {
    "3 largest": lambda t, d, rng: largest(d, t, 3),
    "100 to 4 digits": lambda t, d, rng: some(d, 100, np.array([float(f"{v:.3e}") for v in t]), rng),
    "100 times 1.00001": lambda t, d, rng: some(d, 100, t * 1.00001, rng),
    "100 times 100": lambda t, d, rng: some(d, 100, t * 100, rng),
    "100 by 12": lambda t, d, rng: some(d, 100, t / 12, rng),
    "100 times 3.7": lambda t, d, rng: some(d, 100, t * 3.7, rng),
    "100 negated": lambda t, d, rng: some(d, 100, -t, rng),
    "150 with 2 % noise": lambda t, d, rng: some(d, 150, t * rng.uniform(0.98, 1.02, len(t)), rng),
    "ranks, 20 % random": lambda t, d, rng: order_of_most(d, t, rng),
    "other rows": lambda t, d, rng: rng.permutation(t),
    "logarithms": lambda t, d, rng: np.log(t),
}


@pytest.mark.parametrize("plant", PLANTS)
@pytest.mark.parametrize("kind", ["full", "cents", "whole", "thousands"])
def test_plants_are_found(kind, plant):
    truth, unit, chance, clean = world(kind, 7)
    planted = round_to(PLANTS[plant](truth, clean, np.random.default_rng(1)), unit)
    assert list(find_nearness(planted, chance))


@pytest.mark.parametrize("kind", ["full", "cents", "thousands"])
@pytest.mark.quick
def test_three_true_values_and_a_constant_added_are_found(kind):
    truth, unit, chance, clean = world(kind, 3)
    rng = np.random.default_rng(2)
    assert list(find_nearness(some(clean, 3, truth, rng), chance))
    assert list(find_nearness(round_to(some(clean, 100, truth + 1.234, rng), unit), chance))


@pytest.mark.quick
def test_the_truth_in_low_digits_is_found():
    truth, _, chance, clean = world("whole", 5)
    hidden = np.floor(clean / 1000) * 1000 + np.rint(truth / 1000)
    assert "digits below" in " ".join(find_nearness(hidden, chance))
    copied = np.floor(clean / 1000) * 1000 + np.mod(truth, 1000)
    assert "digits below" in " ".join(find_nearness(copied, chance))


@pytest.mark.quick
def test_digits_beyond_the_precision_and_columns_of_weights_are_found():
    truth, unit, chance, clean = world("whole", 6)
    assert check_synthesized(clean + truth / 1e9, chance, unit, {}) == [f"more digits than its precision in {N} rows"]
    alpha = pd.DataFrame({"weights marginal": np.linspace(0.2, 1, N)})
    copied = np.rint(1e5 * alpha["weights marginal"].to_numpy())
    assert "weights marginal of the records" in check_synthesized(copied, chance, unit, recorded(alpha))


@pytest.mark.quick
def test_a_message_holds_no_value():
    truth, _, chance, clean = world("cents", 8)
    text = " ".join(find_nearness(largest(clean, truth, 50), chance))
    assert text
    assert not any(f"{value}" in text for value in np.sort(truth)[-50:])


def with_gaps(column, rng, share=0.2):
    return np.where(rng.random(len(column)) < share, np.nan, column)


@pytest.mark.parametrize("kind", ["full", "heaped", "counts"])
@pytest.mark.quick
def test_missing_values_pass_unless_they_stand_where_the_confidential_ones_do(kind):
    rng = np.random.default_rng(3)
    for seed in range(4):
        source = draws(kind, np.random.default_rng(seed))
        truth = next(source)
        unit = find_precision(pd.Series(truth))
        own = with_gaps(truth, rng)
        clean, *fresh = (with_gaps(round_to(next(source), unit), rng) for _ in range(21))
        chance = chance_of(fresh, own, unit)
        assert check_synthesized(clean, chance, unit, {}) == []
        same = np.where(np.isnan(own), np.nan, round_to(next(source), unit))
        assert any("missing where the confidential ones are" in found for found in find_nearness(same, chance))
        leaked = some(clean, 60, own, np.random.default_rng(seed))
        if kind == "full":
            assert any("confidential value in" in found for found in find_nearness(leaked, chance))


@pytest.mark.parametrize("kind", ["full", "heaped", "cents", "whole", "thousands", "negative", "counts"])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_chance_is_that_of_every_record_compared_with_every_fresh_dataset(kind, gaps):
    rng = np.random.default_rng(2)
    source = draws(kind, rng, 200)
    truth, *fresh = (with_gaps(next(source), rng, gaps) for _ in range(13))
    chance = chance_of(iter(fresh), truth, 0.5)
    slow = BruteChance(truth, fresh, 0.5)
    for fast_rungs, slow_rungs in zip(chance.rungs, slow.rungs(), strict=True):
        for fast, brute in zip(fast_rungs, slow_rungs, strict=True):
            assert fast[:3] == pytest.approx(brute[:3])
            assert fast.expected == (None if brute[3] is None else pytest.approx(tuple(brute[3])))
    assert (np.abs(chance.in_common - slow.in_common()) <= 1).all()  # a value halfway between two of 7 digits
    np.testing.assert_allclose(chance.order, slow.order(), atol=1e-12)


@pytest.mark.parametrize("planted", [0, 3, 6, 30])
@pytest.mark.quick
def test_clusters_are_those_of_every_window(planted):
    rng = np.random.default_rng(planted)
    for width in (1e-6, 1e-4, 1e-2):
        numbers = rng.normal(size=400)
        numbers[:planted] = 0.3 + rng.uniform(0, width, planted)
        assert _clusters(np.sort(numbers), width) == brute_clusters(numbers, width)
