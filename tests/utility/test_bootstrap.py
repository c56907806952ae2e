import itertools

import numpy as np
import pytest
from scipy import stats

from riskweighted.common.errors import InputError
from riskweighted.common.value_counts import ValueCounts
from riskweighted.measures.evaluation_settings import EvaluationSettings
from riskweighted.utility.bootstrap import bootstrap_means, bootstrap_quantiles, pooled_bootstrap


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.77, 0.9])
def test_quantiles_have_the_exact_resampling_distribution(quantile):
    values = np.array([3.0, -1.0, 4.0, 4.0, 10.0])
    exact: dict[float, float] = {}
    for sample in itertools.product(values, repeat=5):  # all 5^5 equally likely resamples
        key = round(float(np.quantile(sample, quantile)), 9)
        exact[key] = exact.get(key, 0) + 5.0**-5
    draws = np.round(bootstrap_quantiles(values, quantile, 40_000, np.random.default_rng(1)), 9)
    assert set(draws) <= set(exact)
    observed = np.array([(draws == key).sum() for key in exact])
    expected = np.array(list(exact.values())) * 40_000
    large = expected > 5
    assert (
        stats.chisquare(
            observed[large], expected[large] * observed[large].sum() / expected[large].sum()
        ).pvalue
        > 1e-3
    )


# resampled one by one, and by counts
@pytest.mark.parametrize("values", [np.arange(50.0), np.repeat([1.0, 5.0], [60, 40])])
def test_means_have_the_resampling_mean_and_variance(values):
    draws = bootstrap_means(values, 20_000, np.random.default_rng(2))
    variance = values.var() / len(values)
    assert draws.mean() == pytest.approx(values.mean(), abs=5 * np.sqrt(variance / 20_000))
    assert draws.var() == pytest.approx(variance, rel=5 * np.sqrt(2 / 20_000))


def test_blocks_do_not_change_the_number_of_resamples(monkeypatch):
    monkeypatch.setattr("riskweighted.utility.bootstrap._BLOCK", 100)
    draws = bootstrap_means(np.arange(30.0), 10, np.random.default_rng(3))
    assert draws.shape == (10,)
    assert np.isfinite(draws).all()
    assert len(set(draws)) > 5


def resampled_means(values, resamples, rng):
    """The slow way: every sample drawn."""
    return np.array(
        [values[rng.integers(0, len(values), len(values))].mean() for _ in range(resamples)]
    )


LARGE = {
    "normal": np.random.default_rng(5).normal(100, 20, 1000),
    "lognormal": np.exp(1.5 * np.random.default_rng(6).normal(0, 1, 1500)),
    "few far away": np.concatenate([np.random.default_rng(7).normal(0, 1, 1990), np.full(10, 1e6)]),
    "many far away": np.concatenate(
        [np.random.default_rng(8).normal(0, 1, 1600), np.full(400, -1e6)]
    ),
    "heavy": np.random.default_rng(9).standard_cauchy(3000),
    "spike": np.concatenate(
        [np.zeros(2000), np.random.default_rng(10).integers(1, 500, 1000)]
    ).astype(float),
}


@pytest.mark.parametrize("what", LARGE)
def test_means_of_many_values_have_the_law_of_resampling(what):
    values = LARGE[what]
    fast = bootstrap_means(values, 40_000, np.random.default_rng(11))
    slow = resampled_means(values, 20_000, np.random.default_rng(12))
    assert stats.ks_2samp(fast, slow).pvalue > 1e-3
    assert fast.mean() == pytest.approx(
        values.mean(), abs=5 * np.sqrt(values.var() / len(values) / 40_000)
    )
    assert fast.var() == pytest.approx(values.var() / len(values), rel=0.05)


def test_the_rule_says_how_means_of_many_values_were_drawn():
    values, rng = LARGE["lognormal"], np.random.default_rng(13)
    said = "the 100 farthest values, the others by normal theory"
    assert said in pooled_bootstrap([values], None, rng, resamples=50).rule
    assert said not in pooled_bootstrap([values], 0.5, rng, resamples=50).rule
    assert said not in pooled_bootstrap([values[:999]], None, rng, resamples=50).rule
    # counts of two values
    assert said not in pooled_bootstrap([np.repeat([0.0, 1.0], 5000)], None, rng, resamples=50).rule
    counted = bootstrap_means(np.repeat([0.0, 1.0], 5000), 100, rng) * 10_000
    np.testing.assert_allclose(counted, np.rint(counted), atol=1e-9)


@pytest.mark.parametrize(
    "values", [np.arange(40.0), np.repeat([1.0, 5.0], [60, 40]), LARGE["lognormal"], LARGE["spike"]]
)
def test_counts_take_the_place_of_values_in_any_order(values):
    counted = ValueCounts.of(np.random.default_rng(14).permutation(values))
    for quantile in (None, 0.3):
        whole, parts = (
            pooled_bootstrap([given], quantile, np.random.default_rng(15), resamples=50)
            for given in (values, counted)
        )
        assert whole == parts
        assert parts.estimate == pytest.approx(
            values.mean() if quantile is None else np.quantile(values, quantile), rel=1e-12
        )


def test_pooled_interval_spans_within_and_between():
    rng = np.random.default_rng(4)
    datasets = [rng.normal(center, 1, 400) for center in (-1.0, 1.0)]
    interval = pooled_bootstrap(datasets, None, rng, resamples=4000)
    assert interval.estimate == pytest.approx(np.mean(datasets), abs=0.01)
    pooled_variance = np.mean([d.var() / 400 for d in datasets]) + np.var(
        [d.mean() for d in datasets]
    )
    assert interval.variance == pytest.approx(pooled_variance, rel=0.05)
    assert interval.lower < -1 < 1 < interval.upper
    assert "2 x 4000" in interval.rule


@pytest.mark.parametrize("quantile", [0, 1, -0.5, np.nan])
def test_refuses_a_quantile_outside_the_unit_interval(quantile):
    with pytest.raises(InputError, match="quantile"):
        pooled_bootstrap([np.arange(3.0)], quantile, np.random.default_rng(0))


def test_refuses_no_resamples():
    with pytest.raises(InputError, match="resamples"):
        pooled_bootstrap([np.arange(3.0)], None, np.random.default_rng(0), resamples=0)


@pytest.mark.parametrize("resamples", [0, 10**9, 2.5, None, "1000"])
def test_a_count_of_resamples_has_bounds(resamples):
    with pytest.raises(
        InputError, match=r"^resamples must be (a whole number >= 1|at most 1000000), got "
    ):
        pooled_bootstrap([np.arange(5.0)], None, np.random.default_rng(1), resamples=resamples)
    if resamples != 0:  # without a bootstrap, intervals are those of combining rules
        with pytest.raises(InputError, match=r"^resamples must be "):
            EvaluationSettings(resamples=resamples)
