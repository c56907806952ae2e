"""Figures of counted rows are those of the records, order statistics to the last bit."""

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

from riskweighted.common.counted import (
    cut_of,
    first_records,
    mean_of,
    median_of,
    number_of,
    quantile_of,
    sd_of,
)
from riskweighted.common.survey import checked_survey

PLACES = [0.0, 0.01, 0.25, 0.275, 0.5, 0.6583, 0.75, 0.975, 0.99, 1.0]


@pytest.fixture(params=range(20))
def both(request):
    rng = np.random.default_rng(request.param)
    m = int(rng.integers(1, 40))
    values = rng.normal(size=m).round(int(rng.integers(1, 9))) * 1000
    counts = rng.integers(1, int(rng.integers(2, 80)), m)
    return values, counts, np.repeat(values, counts)


def test_order_statistics_are_those_of_the_records(both):
    values, counts, records = both
    assert np.array_equal(quantile_of(values, PLACES, counts), np.quantile(records, PLACES))
    assert quantile_of(values, 0.3, counts) == np.quantile(records, 0.3)
    assert median_of(values, counts) == np.median(records)
    for place in PLACES:
        assert cut_of(values, place, counts) == np.quantile(records, place, method="inverted_cdf")


def test_sums_are_those_of_the_records(both):
    values, counts, records = both
    assert mean_of(values, counts) == pytest.approx(records.mean(), rel=1e-12, abs=1e-9)
    assert sd_of(values, counts) == pytest.approx(records.std(), rel=1e-12, abs=1e-9)
    assert number_of(values > 0, counts) == (records > 0).sum()
    two = np.column_stack([values, values**2])
    np.testing.assert_allclose(
        mean_of(two, counts), np.repeat(two, counts, axis=0).mean(axis=0), rtol=1e-12, atol=1e-9
    )
    for most in (0, 1, 5, 1000):
        assert (
            first_records(counts, len(values), most).tolist()
            == np.repeat(np.arange(len(values)), counts)[:most].tolist()
        )


def test_without_counts_each_row_is_a_record(both):
    values = both[0]
    assert (mean_of(values), sd_of(values), median_of(values)) == (
        values.mean(),
        values.std(),
        np.median(values),
    )
    assert np.array_equal(quantile_of(values, PLACES), np.quantile(values, PLACES))
    assert (number_of(values > 0), first_records(None, len(values), 3).tolist()) == (
        (values > 0).sum(),
        list(range(min(3, len(values)))),
    )


def test_no_survey_weights_have_no_mean():
    frame = pd.DataFrame({"w": [1.0, 3.0]})
    assert checked_survey(None, frame, pd.Series([2, 1])) is None
    np.testing.assert_allclose(checked_survey("w", frame, pd.Series([2, 1])), [0.6, 1.8])


def test_the_mean_of_counted_rows_does_not_hang_on_threads():
    rng = np.random.default_rng(1)
    values, counts = rng.lognormal(9, 2, 200_000), rng.integers(1, 1000, 200_000)
    means = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads):
            means.append(mean_of(values, counts))
    assert len(set(means)) == 1
