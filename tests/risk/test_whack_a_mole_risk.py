"""Counts that chance makes likely: the closed sums against simulated datasets, and against
enumeration.
"""

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from riskweighted.risk.expected_identification import ExpectedRisk
from riskweighted.risk.whack_a_mole_risk import expected_over, expected_whack_a_mole_records

N, L = 200, 7


def given(seed):
    rng = np.random.default_rng(seed)
    mass, outside = rng.uniform(size=N), rng.uniform(0.3, 1, N)
    mass[:2], outside[2] = (0, 1), 0
    return ExpectedRisk((mass * outside)[None], np.array([1]), mass, outside)


def simulated(risk, repeats, rng):
    return rng.binomial(L, risk.own_mass, (repeats, N)) / L * risk.outside


def test_the_sums_are_the_means_of_simulated_counts():
    ours, baseline, rng = given(1), given(2), np.random.default_rng(3)
    repeats = 4000
    risk, before = simulated(ours, repeats, rng), simulated(baseline, repeats, rng)
    for found, counts in (
        (expected_over(ours, L, 0.5), (risk > 0.5).sum(axis=1)),
        (
            expected_whack_a_mole_records(ours, baseline, L, 0.25),
            (risk - before >= 0.25).sum(axis=1),
        ),
    ):
        assert abs(found - counts.mean()) < 4 * counts.std() / np.sqrt(repeats)
        assert counts.mean() > 10


def test_ties_count_as_the_definitions_say():
    """All outside: IR is a multiple of 1/4, so 0.5 itself is often reached and not counted as over,
    a rise of 0.25 is.
    """
    risk = ExpectedRisk(np.ones((1, 1)), np.array([1]), np.array([0.4]), np.array([1.0]))
    other = ExpectedRisk(np.ones((1, 1)), np.array([1]), np.array([0.3]), np.array([1.0]))
    assert expected_over(risk, 4, 0.5) == pytest.approx(binom.sf(2, 4, 0.4))
    pairs = itertools.product(range(5), range(5))
    rises = sum(binom.pmf(a, 4, 0.4) * binom.pmf(b, 4, 0.3) for a, b in pairs if a - b >= 1)
    assert expected_whack_a_mole_records(risk, other, 4, 0.25) == pytest.approx(rises)
