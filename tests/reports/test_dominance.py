"""A mean that gives the largest value away is not shown outside, nor its interval."""

import numpy as np
import pytest
from finished_run import confidential_data, finished_run

from riskweighted.reports.source import gather, is_dominated
from riskweighted.runs.finished import load_run


@pytest.mark.quick
def test_what_the_mean_and_its_interval_tell_of_the_largest_value():
    rng = np.random.default_rng(1)
    incomes = np.exp(10 + 0.5 * rng.normal(size=400))
    assert not is_dominated(incomes)
    one = np.append(incomes, 1_200_000)
    # from the mean and its standard error
    told = one.mean() + np.sqrt(((one - one.mean()) ** 2).sum())
    assert told / 1_200_000 == pytest.approx(1, abs=0.2)
    assert is_dominated(one)
    assert not is_dominated(np.append(incomes, [1_200_000] * 3))
    # who has the second largest subtracts it
    assert is_dominated(np.array([1.0, 2.0, 1_000.0, 900.0]))
    assert not is_dominated(np.array([]))
    assert not is_dominated(np.zeros(5))


@pytest.mark.slow
def test_neither_the_mean_nor_its_interval_is_shown():
    run, data = load_run(finished_run()), confidential_data()
    assert "mean" in set(gather(run, False, data, 10).run.tables["utility"]["key"])
    data.loc[7, "income"] = 1e7
    source = gather(run, False, data, 10)
    assert "mean" not in set(source.run.tables["utility"]["key"])
    assert [*source.withheld["utility"]] == [
        *gather(run, False, confidential_data(), 10).withheld["utility"],
        "mean",
    ]
    assert "mean" in set(gather(run, True, data, 10).run.tables["utility"]["key"])
