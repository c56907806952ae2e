"""Errors and limits of mean D against what is known by hand."""

import numpy as np
import pytest
from scipy.stats import norm

from riskweighted.disclosure.comparison import (
    AttackedRecords,
    _least_upper,
    clustered_variance,
    error,
    worst_group,
)

pytestmark = pytest.mark.quick

N = 40
EVERYBODY = np.ones(N, dtype=bool)


def records(**more):
    nobody, groups = np.zeros(N), {"all": EVERYBODY}
    return AttackedRecords(EVERYBODY[None], nobody, nobody, EVERYBODY, groups, groups, **more)


def test_the_variance_of_a_sum_is_that_of_its_clusters_by_their_degrees_of_freedom():
    off = np.array([1.0, -1.0, 2.0, -2.0])
    assert clustered_variance(off, None) == pytest.approx(10 * 4 / 3)
    assert clustered_variance(off, np.array([7, 3, 7, 3])) == pytest.approx((9 + 9) * 2)


def test_the_error_is_that_of_records_and_of_packs_together():
    rng = np.random.default_rng(1)
    alike = np.repeat(rng.random((6, 1)), N, axis=1)  # in a pack no record differs from another
    of_packs = alike[:, 0].std(ddof=1) / np.sqrt(6)
    assert error(alike, EVERYBODY, records()) == pytest.approx(of_packs)
    one = rng.random((1, N))
    assert error(one, EVERYBODY, records()) == pytest.approx(one.std(ddof=1) / np.sqrt(N))


def test_the_limit_of_the_worst_group_is_that_of_all_groups_together():
    codes = np.repeat(np.arange(4), 10)
    named = np.tile(np.array([0.0, 1.0]), 20)[None] + (codes == 2)
    lower, worst, groups = worst_group(named, codes, records())
    assert (worst, groups) == (pytest.approx(1.5), 4)
    spread = np.sqrt(named.var() / 10)  # more than within the group
    assert lower == pytest.approx(1.5 - norm.isf(0.05 / 4) * spread)


def test_where_nobody_is_named_the_upper_limit_is_the_exact_binomial_one():
    assert _least_upper(0.0, EVERYBODY, records()) == pytest.approx(1 - 0.05 ** (1 / N))
    assert _least_upper(0.0, EVERYBODY, records(), packs=3) == pytest.approx(
        1 - 0.05 ** (1 / (3 * N))
    )
