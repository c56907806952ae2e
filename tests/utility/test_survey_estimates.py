"""Estimates under survey weights: by hand, against other software, and where they must agree with
those without weights.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy import stats
from surveyed import file

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.utility.survey_estimates import (
    weighted_ecdf,
    weighted_quantile,
    weighted_total_variation,
)

pytestmark = pytest.mark.versions

# Estimate, standard error and 95 % interval of samplics 0.6.1 (TaylorEstimator, with replacement),
# without strata and within h.
SAMPLICS = {
    ("y", None): (22.333333333333332, 1.953280695756907, 18.38245020574275, 26.284216460923915),
    ("y", "h"): (22.333333333333332, 1.999138256845331, 18.28269446476017, 26.383972201906495),
    ("b", None): (0.45, 0.08839338387792557, 0.27120750503879615, 0.6287924949612038),
    ("b", "h"): (0.45, 0.0900608793184823, 0.267519325111117, 0.632480674888883),
}
RATIOS = {
    None: (1.8886539816772374, 0.23602915893229517),
    "h": (1.8886539816772374, 0.23374318610778372),
}
# Median of y of svy 0.35.0 (Woodruff, quantile "higher"): estimate, standard error, interval.
MEDIANS = {None: (20.5, 3.4607, 15.5, 29.5), "h": (20.5, 3.9483, 14.5, 30.5)}


@pytest.mark.parametrize(("variable", "strata"), SAMPLICS)
def test_means_and_shares_are_those_of_samplics(variable, strata):
    found = rw.survey_mean(file()[variable].to_numpy(), rw.survey_design(file(), "w", strata))
    assert (found.value, np.sqrt(found.variance), found.lower, found.upper) == pytest.approx(
        SAMPLICS[variable, strata], rel=1e-10
    )
    assert found.df == 40 - (1 if strata is None else 3)


@pytest.mark.parametrize("strata", [None, "h"])
def test_ratios_and_quantiles_are_those_of_other_software(strata):
    data = file()
    design = rw.survey_design(data, "w", strata)
    ratio = rw.survey_ratio(data["y"].to_numpy(), data["x"].to_numpy(), design)
    assert (ratio.value, np.sqrt(ratio.variance)) == pytest.approx(RATIOS[strata], rel=1e-10)
    median = rw.survey_quantile(data["y"].to_numpy(), 0.5, design)
    assert (median.value, np.sqrt(median.variance), median.lower, median.upper) == pytest.approx(
        MEDIANS[strata], abs=5e-5
    )


def test_a_stratified_mean_by_hand():
    """Weights 1, 1, 2, 2 and values 1, 3 | 2, 4: 16/6; linearised values differ by 1/3 and 2/3
    within strata, so 1/9 + 4/9.
    """
    data = pd.DataFrame({"w": [1, 1, 2, 2], "h": list("aabb")})
    found = rw.survey_mean(np.array([1.0, 3.0, 2.0, 4.0]), rw.survey_design(data, "w", "h"))
    assert found.value == pytest.approx(8 / 3)
    assert found.variance == pytest.approx(5 / 9)
    half = stats.t.ppf(0.975, 2) * np.sqrt(5 / 9)
    assert (found.lower, found.upper) == pytest.approx((8 / 3 - half, 8 / 3 + half))


def test_a_domain_counts_in_its_stratum():
    """A mean over a domain is the ratio of two totals over all records: 0 outside, and n_h of the
    whole stratum.
    """
    data = file()
    design, inside = rw.survey_design(data, "w", "h"), (data["x"] > 8).to_numpy()
    by_missing = rw.survey_mean(np.where(inside, data["y"], np.nan), design)
    by_ratio = rw.survey_ratio(np.where(inside, data["y"], 0.0), inside.astype(float), design)
    assert by_missing == pytest.approx(by_ratio)
    alone = rw.survey_mean(data["y"].to_numpy()[inside], rw.survey_design(data[inside], "w", "h"))
    assert by_missing.value == pytest.approx(alone.value)
    assert by_missing.variance != pytest.approx(alone.variance, rel=1e-3)


def test_equal_weights_give_what_no_weights_give():
    values = np.random.default_rng(1).lognormal(size=300)
    data = pd.DataFrame({"w": np.full(300, 7.0)})
    design = rw.survey_design(data, "w")
    found = rw.survey_mean(values, design)
    assert (found.value, found.variance) == pytest.approx((values.mean(), values.var(ddof=1) / 300))
    other = values * np.exp(np.random.default_rng(2).normal(0, 0.3, 300))
    assert rw.weighted_ecdf_distance(values, other, design.weights) == pytest.approx(
        rw.ecdf_distance(values, other)
    )
    assert rw.survey_quantile(values, 0.3, design).value == np.sort(values)[89]


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 4)), min_size=1, max_size=25).filter(
        lambda rows: any(w for _, w in rows)
    )
)
def test_whole_weights_are_repeated_records(rows):
    values, times = np.array(rows, dtype=float).T
    repeated = np.repeat(values, times.astype(int))
    at = np.arange(-6.0, 7.0)
    shares = [(repeated <= point).mean() for point in at]
    np.testing.assert_allclose(weighted_ecdf(values, times, at), shares, atol=1e-12)
    for quantile in (0.1, 0.25, 0.5, 0.9):
        assert weighted_quantile(values, times, quantile) == np.quantile(
            repeated, quantile, method="inverted_cdf"
        )


def test_distances_by_hand():
    """Weights 3 and 1 on 0 and 1; synthetic 1 and 1: at 0 the shares are 3/4 and 0, at 1 both are
    1.
    """
    weights = np.array([1.5, 0.5])
    distance = rw.weighted_ecdf_distance(np.array([0.0, 1.0]), np.array([1.0, 1.0]), weights)
    assert distance.maximum == pytest.approx(0.75)
    assert distance.mean_square == pytest.approx(0.75**2 * 1.5 / 4)  # the weight at 0 is 1.5 of 4
    assert weighted_total_variation(
        pd.Series(["a", "b"]), pd.Series(["b", "b"]), weights
    ) == pytest.approx(0.75)
    assert weighted_total_variation(
        pd.Series(["a", "b"]), pd.Series([None, "b"], dtype=object), weights
    ) == pytest.approx(0.75)  # its own level


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Drawn with unequal probabilities in two strata; 95 % intervals of 600 samples hold mean and
    median 93 to 97 times in 100.
    """
    rng = np.random.default_rng(3)
    population = {"a": rng.lognormal(0, 0.7, 20_000), "b": rng.lognormal(1, 0.4, 5_000)}
    whole = np.concatenate(list(population.values()))
    held = np.zeros(2)
    data = pd.DataFrame(
        {"h": ["a"] * 150 + ["b"] * 150, "w": [20_000 / 150] * 150 + [5_000 / 150] * 150}
    )
    design = rw.survey_design(data, "w", "h")
    for _ in range(600):
        sample = np.concatenate([rng.choice(values, 150) for values in population.values()])
        mean, median = rw.survey_mean(sample, design), rw.survey_quantile(sample, 0.5, design)
        held += (
            (mean.lower <= whole.mean() <= mean.upper),
            (median.lower <= np.median(whole) <= median.upper),
        )
    assert ((held / 600 > 0.925) & (held / 600 < 0.975)).all()


def test_wrong_input():
    data = pd.DataFrame(
        {
            "w": [1.0, 1, 1, 1],
            "h": ["a", "a", "b", "b"],
            "single": ["a", "b", "b", "c"],
            "gap": ["a", None, "b", "b"],
        }
    )
    with pytest.raises(
        InputError, match="'single': 2 of 3 hold a single record and show no variance; merge strata"
    ):
        rw.survey_design(data, "w", "single")
    with pytest.raises(InputError, match="'gap' are missing in 1 of 4 records"):
        rw.survey_design(data, "w", "gap")
    with pytest.raises(InputError, match="no column 'nope'"):
        rw.survey_design(data, "w", "nope")
    with pytest.raises(InputError, match="needs 2 records or more, got 1"):
        rw.survey_design(data.iloc[:1], "w")
    design = rw.survey_design(data, "w", "h")
    with pytest.raises(
        InputError, match=r"one for each of the 4 records of the design, got shapes \(3,\)"
    ):
        rw.survey_mean(np.ones(3), design)
    for wrong in (np.full(4, np.nan), np.zeros(4)):
        with pytest.raises(InputError, match="there is no ratio"):
            rw.survey_ratio(np.ones(4), wrong, design)
    with pytest.raises(InputError, match="there is no quantile"):
        rw.survey_quantile(np.full(4, np.nan), 0.5, design)
    with pytest.raises(InputError, match="quantile must lie between 0 and 1"):
        rw.survey_quantile(np.ones(4), 1.0, design)
    with pytest.raises(InputError, match="level must lie between 0 and 1"):
        rw.survey_mean(np.ones(4), design, level=2)
    with pytest.raises(InputError, match="there is no distribution function"):
        rw.weighted_ecdf_distance(np.full(4, np.nan), np.ones(4), design.weights)
