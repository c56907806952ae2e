import numpy as np
import pytest
from scipy import stats

from riskweighted.common.errors import InputError
from riskweighted.measures.evaluation_settings import EvaluationSettings
from riskweighted.utility.bootstrap import pooled_bootstrap
from riskweighted.utility.combining_rules import (
    combine_fully_synthetic,
    combine_partially_synthetic,
    interval_overlap,
    joint_test_partially_synthetic,
    mean_interval,
    proportion_interval,
)

pytestmark = pytest.mark.quick


def test_partial_rule_hand_worked():
    # q = 1, 2, 3: qbar 2, b 1; v = 3, 3, 3. T = 3 + 1/3, nu = 2 (1 + 3 / (1/3))^2 = 200.
    interval = combine_partially_synthetic([1, 2, 3], [3, 3, 3])
    assert interval.estimate == 2
    assert interval.variance == pytest.approx(10 / 3)
    assert interval.df == pytest.approx(200)
    assert interval.upper - interval.estimate == pytest.approx(
        stats.t.ppf(0.975, 200) * np.sqrt(10 / 3)
    )
    assert "b/L" in interval.rule


def test_identical_datasets_use_the_normal_quantile():
    interval = combine_partially_synthetic([2, 2], [4, 4])
    assert interval.upper == pytest.approx(2 + 2 * stats.norm.ppf(0.975))


def test_full_rule_hand_worked():
    # b = 1, vbar = .5: T = 4/3 - 1/2 = 5/6, nu = 2 (1 - .5 / (4/3))^2.
    interval = combine_fully_synthetic([1, 2, 3], [0.5, 0.5, 0.5])
    assert interval.variance == pytest.approx(5 / 6)
    assert interval.df == pytest.approx(2 * (1 - 0.375) ** 2)


def test_full_rule_falls_back_on_the_non_negative_adjustment_and_says_so():
    interval = combine_fully_synthetic([1, 2, 3], [3, 3, 3], size_ratio=0.5)
    assert interval.variance == pytest.approx(1.5)
    assert "non-negative" in interval.rule
    with pytest.raises(InputError, match="size_ratio"):
        combine_fully_synthetic([1, 2, 3], [3, 3, 3])


@pytest.mark.parametrize(
    ("estimates", "variances", "message"),
    [
        ([1], [1], "L >= 2 datasets.*got L = 1"),
        ([1, 2], [1], "equal length"),
        ([1, np.nan], [1, 1], "finite"),
        ([1, 2], [1, -1], ">= 0"),
    ],
)
def test_partial_rule_refuses(estimates, variances, message):
    with pytest.raises(InputError, match=message):
        combine_partially_synthetic(estimates, variances)


def test_joint_test_of_one_coefficient_is_the_square_of_t():
    rng = np.random.default_rng(1)
    q, v = rng.normal(1, 0.5, 9), rng.uniform(0.1, 0.3, 9)
    joint = joint_test_partially_synthetic(q[:, None], v[:, None, None], np.zeros(1))
    single = combine_partially_synthetic(q, v)
    assert joint.statistic == pytest.approx(single.estimate**2 / single.variance)


def test_joint_test_hand_worked_degrees_of_freedom():
    rng = np.random.default_rng(2)
    q, u = rng.normal(size=(6, 2)), np.repeat(np.eye(2)[None], 6, axis=0)
    r = np.trace(np.cov(q.T)) / 12
    joint = joint_test_partially_synthetic(q, u, np.zeros(2))
    assert joint.statistic == pytest.approx((q.mean(0) ** 2).sum() / (2 * (1 + r)))
    assert joint.df_denominator == pytest.approx(4 + 6 * (1 + 0.8 / r) ** 2)


def test_joint_test_needs_enough_datasets():
    with pytest.raises(InputError, match=r"k \(L - 1\) > 4"):
        joint_test_partially_synthetic(np.zeros((2, 2)), np.ones((2, 2, 2)), np.zeros(2))


@pytest.mark.parametrize(
    ("confidential", "synthetic", "overlap"),
    [((10.53, 10.69), (10.52, 10.67), 0.904), ((0.60, 0.81), (0.67, 0.81), 0.833)],
)
def test_overlap_check_values(confidential, synthetic, overlap):
    assert interval_overlap(confidential, synthetic) == pytest.approx(overlap, abs=5e-4)


def test_disjoint_intervals():
    assert interval_overlap((0, 1), (3, 5)) == 0
    assert interval_overlap((0, 1), (3, 5), clip=False) == pytest.approx(0.5 * (-2 - 1))


def test_overlap_refuses_an_empty_interval():
    with pytest.raises(InputError, match="lower < upper"):
        interval_overlap((1, 1), (0, 2))


def test_mean_interval_hand_worked():
    # 1, 2, 6: mean 3, sum of squares 14, variance 14 / 2 = 7; t on 2 degrees of freedom.
    lower, upper = mean_interval(np.array([1.0, 2.0, 6.0]), level=0.9)
    half = stats.t.ppf(0.95, 2) * np.sqrt(7 / 3)
    assert (lower, upper) == (pytest.approx(3 - half), pytest.approx(3 + half))
    assert np.isnan(mean_interval(np.array([1.0]))).all()


@pytest.mark.parametrize(("hits", "count"), [(0, 4), (1, 4), (3, 7), (7, 7)])
def test_a_proportion_has_wilson_s_interval(hits, count):
    expected = stats.binomtest(hits, count).proportion_ci(0.9, method="wilson")
    assert proportion_interval(hits / count, count, level=0.9) == pytest.approx(tuple(expected))
    assert np.isnan(proportion_interval(0.5, 0)).all()


@pytest.mark.parametrize("level", [None, "0.95", 0, 1, 1.5, np.nan, True, 0.9 + 0j], ids=str)
@pytest.mark.parametrize(
    "interval",
    [
        lambda level: mean_interval(np.arange(5.0), level=level),
        lambda level: proportion_interval(0.5, 10, level=level),
        lambda level: combine_partially_synthetic([1, 2], [1, 1], level=level),
        lambda level: combine_fully_synthetic([1, 20], [1, 1], level=level),
        lambda level: pooled_bootstrap(
            [np.arange(5.0)], None, np.random.default_rng(1), resamples=9, level=level
        ),
        lambda level: EvaluationSettings(level=level),
    ],
)
def test_a_level_is_a_number_between_0_and_1(interval, level):
    with pytest.raises(InputError, match=r"^level must lie between 0 and 1, got "):
        interval(level)


def test_kappa_multiplies_vbar_in_the_variance_and_in_the_degrees_of_freedom():
    # q = 1, 2, 3; v = 3; kappa 1.5: T = 4.5 + 1/3, nu = 2 (1 + 4.5 / (1/3))^2
    interval = combine_partially_synthetic([1, 2, 3], [3, 3, 3], kappa=1.5)
    assert interval.variance == pytest.approx(4.5 + 1 / 3)
    assert interval.df == pytest.approx(2 * 14.5**2)
    assert "1.5 vbar" in interval.rule
    assert combine_partially_synthetic(
        [1, 2, 3], [3, 3, 3], kappa=1
    ) == combine_partially_synthetic([1, 2, 3], [3, 3, 3])
    with pytest.raises(InputError, match="kappa"):
        combine_partially_synthetic([1, 2, 3], [3, 3, 3], kappa=0.9)
