"""Pairs of variables: the right share of false alarms, and a misfit that is found and named."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from riskweighted.evaluation.fit_pairs import pairs_of

N, DRAWS = 600, 40


def frame(seed, n=N):
    rng = np.random.default_rng(seed)
    columns = {
        "region": rng.choice(list("abcdef"), n),
        "sex": rng.choice(["f", "m"], n),
        "age": rng.normal(size=n),
    }
    return pd.DataFrame(columns)


def design(data, crossed=False):
    dummies = pd.get_dummies(data["region"]).to_numpy(dtype=float)
    second = (data["sex"] == "m").to_numpy(dtype=float)[:, None]
    return np.column_stack([dummies, second, data["age"], *([dummies * second] if crossed else [])])


def rows(data, y, seed, left_out=()):
    """The pairs of a normal regression of y with its posterior, without the columns `left_out` of
    its design.
    """
    rng, x = np.random.default_rng(seed), np.delete(design(data), list(left_out), axis=1)
    inverse = np.linalg.pinv(x.T @ x)
    centre = inverse @ x.T @ y
    sigma = np.sqrt(((y - x @ centre) ** 2).sum() / (len(y) - x.shape[1]))
    root = np.linalg.cholesky(inverse + 1e-12 * np.eye(len(inverse)))
    pairs, counted = pairs_of(y, None, data, list(data)), []
    for _ in range(DRAWS):
        slopes = centre + sigma * root @ rng.normal(size=len(centre))
        counted.append(pairs.counted(x @ slopes + sigma * rng.normal(size=len(y))))
    found = list(
        pairs.rows_of(pairs.counted(y), [np.array(each) for each in zip(*counted, strict=True)])
    )
    return {row.name: row for row in found}


def z_of(row):
    return (row.found - row.expected) / row.standard_error


def test_a_right_model_is_not_beyond_a_level_more_often_than_it_says():
    """One-sided 5 % and 1 %; the data are used twice, so that less is expected."""
    found = []
    for seed in range(40):
        data = frame(seed)
        y = design(data) @ np.random.default_rng(seed).normal(size=8) + np.random.default_rng(
            1000 + seed
        ).normal(size=N)
        found += [z_of(row) for row in rows(data, y, seed).values()]
    assert len(found) >= 200
    assert np.mean(np.array(found) > norm.isf(0.05)) < 0.08
    assert np.mean(np.array(found) > norm.isf(0.01)) < 0.025
    assert max(found) < norm.isf(0.01 / 240)


def test_a_group_that_is_off_is_found_and_named():
    data, rng = frame(3, 2000), np.random.default_rng(3)
    y = (
        0.5 * data["age"].to_numpy()
        + 0.8 * (data["region"] == "d").to_numpy()
        + rng.normal(size=2000)
    )
    row = rows(data, y, 1, left_out=range(1, 6))["region"]
    assert (row.check, row.where) == ("check-pairs", "region=d")
    assert row.effect > 0.1
    assert z_of(row) > 6


def test_an_interaction_that_the_model_lacks_is_found_and_named():
    data, rng = frame(4, 2000), np.random.default_rng(4)
    odd = ((data["region"] == "b") & (data["sex"] == "m")).to_numpy()
    found = rows(data, 2.0 * odd + rng.normal(size=2000), 1)
    row = found["region by sex"]
    assert (row.check, row.where) in {
        ("check-pairs", "region=b, sex=m"),
        ("check-pairs", "region=b, sex=f"),
    }
    assert row.effect > 0.1
    assert z_of(row) > 6
    assert found["region"].effect < row.effect


def test_levels_and_gaps_and_small_groups():
    data = frame(5).assign(age=lambda frame: frame["age"].mask(np.arange(N) < 70))
    data.loc[:9, "region"] = "few"
    data.index = np.zeros(N, dtype=int)
    codes = np.random.default_rng(5).integers(3, size=N).astype(float)
    pairs = pairs_of(codes, 3, data, list(data))
    tables = dict(zip([pair.name for pair in pairs.pairs], pairs.counted(codes), strict=True))
    # ten records are no group, and too few for one of the others
    assert tables["region"].shape == (6, 3)
    assert tables["region"].sum() == N - 10
    assert tables["age"][-1].sum() == 70
    assert tables["region by sex"].shape[1] == 3
    assert pairs_of(codes, 3, data.assign(region="a"), ["region"]).pairs == ()


@pytest.mark.quick
def test_a_large_file_is_looked_at_in_part():
    n = 50_000
    y = np.random.default_rng(6).normal(size=n)
    pairs = pairs_of(y, None, pd.DataFrame({"g": np.arange(n) % 3}), ["g"])
    assert len(pairs.rows) == 20_000
    assert pairs.counted(y)[0][:, :-1].sum() == 20_000
