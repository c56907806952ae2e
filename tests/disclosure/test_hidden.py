"""What aligned and shuffled copies tell of a predictor that is not released, against closed forms
and simulation.
"""

import numpy as np
import pandas as pd
import pytest
from riskweighted_models.linear_regression import LinearRegression
from scipy.special import logit
from scipy.stats import norm

import riskweighted as rw
from riskweighted.disclosure.hidden import (
    _is_named,
    _of_counts,
    _shuffled,
    hidden_predictors,
    separation,
)

J, L = 0.555, 20


def copies(has, rng):
    """Log likelihood ratios (L, n) of copies whose two levels differ by J."""
    shift = np.sqrt(J)
    return shift * (rng.normal(size=(L, len(has))) + shift * has) - shift**2 / 2


@pytest.mark.quick
@pytest.mark.parametrize(
    ("size", "low", "high"), [(1, 0.62, 0.72), (2, 0.06, 0.10), (3, 0.006, 0.02), (5, 0.0, 0.005)]
)
def test_shuffled_copies_name_holders_in_small_patterns_alone(size, low, high):
    rng = np.random.default_rng(1)
    n = 12_000 // size * size
    has, before = rng.random(n) < 0.25, np.full(n, logit(0.25))
    after = _shuffled(copies(has, rng), np.repeat(np.arange(n // size), size), before)
    assert low <= (_is_named(before, after) & has).sum() / has.sum() <= high


@pytest.mark.quick
def test_the_likelihood_of_a_count_is_the_mean_over_all_choices_of_rows():
    ratio = np.random.default_rng(2).normal(size=(3, 1, 4))
    e = np.exp(ratio[:, 0])
    two = np.mean([e[:, i] * e[:, j] for i in range(4) for j in range(i)], axis=0)
    assert _of_counts(ratio)[0, [0, 2, 4]] == pytest.approx([0, np.log(two).sum(), ratio.sum()])


@pytest.mark.quick
def test_separation_counts_pairs_of_one_pattern_alone():
    score = np.array([1.0, 2.0, 2.0, 9.0, 0.0])
    area, pairs = separation(
        score, np.array([0, 1, 0, 1, 1], dtype=bool), np.array([0, 0, 0, 1, 1])
    )
    assert (area, pairs) == (0.75, 2)


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(3)
    n = 3_000
    data = pd.DataFrame(
        {
            "region": rng.integers(0, 12, n),
            "holds": rng.random(n) < 0.3,
            "size": rng.integers(1, 5, n),
            "age": rng.normal(40, 9, n),
        }
    )
    data["holds"] = data["holds"].map({True: "yes", False: "no"})
    data["income"] = np.exp(
        3
        + 0.1 * data["size"]
        + 0.5 * np.sqrt(J) * (data["holds"] == "yes")
        + 0.5 * rng.normal(size=n)
    ).round(3)
    return rw.fit(
        LinearRegression("income ~ holds + C(size) + age", transform="log"),
        data,
        random_seed=1,
        engine="nuts",
    )


@pytest.mark.slow
def test_the_formula_and_the_attack_agree_on_a_fit(fit):
    table = hidden_predictors(
        fit, fit.synthesize(L, random_seed=4), ["holds", "age"], ["region", "size"], 5
    ).set_index("column")
    data = fit.confidential
    design = np.column_stack(
        [data["holds"] == "yes", pd.get_dummies(data["size"]), data["age"]]
    ).astype(float)
    beta, left = np.linalg.lstsq(design, np.log(data["income"]), rcond=None)[:2]
    estimated = (beta[0] / np.sqrt(left[0] / len(data))) ** 2
    assert table.loc["holds", "J"] == pytest.approx(estimated, rel=0.05)
    assert table["AUC (formula)"].to_numpy() == pytest.approx(
        norm.cdf(np.sqrt(L * table["J"] / 2)), abs=1e-9
    )
    assert table.loc["holds", "AUC (aligned)"] == pytest.approx(
        table.loc["holds", "AUC (formula)"], abs=0.015
    )
    assert table.loc["holds", "named"] < 0.01 < 0.5 < table.loc["holds", "named (aligned)"]
    assert 0.45 < table.loc["age", "AUC (aligned)"] < 0.6  # nothing depends on it


@pytest.mark.slow
def test_shuffling_hides_nothing_of_rows_that_are_alone(fit):
    table = hidden_predictors(fit, fit.synthesize(L, random_seed=4), ["holds"], ["age"], 5)
    assert table["small"].item() == 1.0
    assert table["named"].item() == pytest.approx(table["named (aligned)"].item(), abs=1e-9)
    assert table["named"].item() > 0.4
