import itertools

import numpy as np
import pytest
from scipy import stats

from riskweighted.common.errors import InputError
from riskweighted.evaluation.settings import EvaluationSettings
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
    assert stats.chisquare(observed[large], expected[large] * observed[large].sum() / expected[large].sum()).pvalue > 1e-3


@pytest.mark.parametrize("values", [np.arange(50.0), np.repeat([1.0, 5.0], [60, 40])])  # resampled one by one, and by counts
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


def test_pooled_interval_spans_within_and_between():
    rng = np.random.default_rng(4)
    datasets = [rng.normal(center, 1, 400) for center in (-1.0, 1.0)]
    interval = pooled_bootstrap(datasets, None, rng, resamples=4000)
    assert interval.estimate == pytest.approx(np.mean(datasets), abs=0.01)
    pooled_variance = np.mean([d.var() / 400 for d in datasets]) + np.var([d.mean() for d in datasets])
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
    with pytest.raises(InputError, match=r"^resamples must be (a whole number >= 1|at most 1000000), got "):
        pooled_bootstrap([np.arange(5.0)], None, np.random.default_rng(1), resamples=resamples)
    with pytest.raises(InputError, match=r"^resamples must be "):
        EvaluationSettings(resamples=resamples)
