"""Records that are alike are evaluated once: the same design as of every record by itself."""

import formulaic
import numpy as np
import pandas as pd
import pytest

from riskweighted.design.design import build_design
from riskweighted.design.distinct import Distinct, distinct_records

pytestmark = pytest.mark.quick

N = 400
FORMULAS = [
    "y ~ g + h",
    "y ~ g * b + k",
    "y ~ log(k) * g + C(h)",
    "y ~ t + h",
    "y ~ x + g",
    "y ~ bs(k, df=4) + g",
    "y ~ poly(k, 2)",
    "y ~ cs(k, df=3, constraints='center')",
]


def frame(n=N):
    rng = np.random.default_rng(3)
    g = rng.choice(list("abc"), n, p=[0.6, 0.3, 0.1])
    return pd.DataFrame(
        {
            "y": rng.normal(size=n),
            "g": g,
            "h": pd.Categorical(
                rng.choice(["u", "v", "w"], n), categories=["w", "never", "v", "u"]
            ),
            "b": rng.random(n) < 0.3,
            "k": rng.integers(1, 6, n),
            "t": pd.array(rng.choice(["one", "two"], n), dtype="string"),
            "x": rng.normal(3, 2, n),
        },
        index=np.arange(n) + 7,
    )


def by_record(formula, data):
    """Centre, centred columns and turn, of all records."""
    plain = data.assign(h=data["h"].cat.remove_unused_categories(), t=data["t"].astype(object))
    matrix = formulaic.model_matrix(
        formula.split("~")[1], plain.reset_index(drop=True), context={"log": np.log}
    )
    columns = np.asarray(matrix, dtype=float)[:, 1:]
    centred = columns - columns.mean(axis=0)
    sd = np.sqrt((centred**2).mean(axis=0))
    return (
        columns.mean(axis=0),
        centred,
        np.linalg.inv(np.linalg.qr(centred / sd)[1]) * np.sqrt(len(data)) / sd[:, None],
    )


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_design_is_that_of_every_record_by_itself(formula):
    data = frame()
    design = build_design(formula, data)
    centre, centred, turn = by_record(formula, data)
    assert (len(design.distinct.rows) < N) == ("x" not in formula)
    np.testing.assert_allclose(design.centre, centre, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(design.centred, centred, atol=1e-12)
    np.testing.assert_allclose(design.turn, turn, rtol=1e-9, atol=1e-10)  # signs too
    np.testing.assert_allclose(design.whitened, centred @ turn, atol=1e-9)
    part = data.iloc[17:60]
    np.testing.assert_allclose(design.at(part).centred, centred[17:60], atol=1e-12)


def test_alike_records_share_a_row_in_the_order_of_the_first():
    data = pd.DataFrame({"g": list("babbcaab"), "k": [1, 2, 1, 3, 1, 2, 2, 1]})
    first, which = distinct_records((data[name] for name in data), len(data))
    assert first.tolist() == [0, 1, 3, 4]
    assert which.tolist() == [0, 1, 0, 2, 3, 1, 1, 0]
    assert distinct_records((), 5)[1].tolist() == [0] * 5


@pytest.mark.parametrize("column", [pd.Series(np.arange(20.0)), pd.Series([{1}, {2}] * 10)])
def test_records_that_differ_or_cannot_be_compared_stay_apart(column):
    first, which = distinct_records([column], 20)
    assert first.tolist() == which.tolist() == list(range(20))


def test_codes_whose_product_is_large_are_kept_apart():
    rng = np.random.default_rng(4)
    # 3^90 combinations, 210 records of zeros
    data = pd.DataFrame(rng.integers(0, 2, (300, 90)) * (np.arange(300) < 90)[:, None])
    first, which = distinct_records((data[name] for name in data), 300)
    rows, expected = np.unique(data.to_numpy(), axis=0, return_inverse=True)
    assert len(first) == len(rows)
    np.testing.assert_array_equal(data.to_numpy()[first][which], data.to_numpy())
    assert len(set(zip(which, expected.ravel(), strict=True))) == len(rows)


def test_missing_values_are_alike():
    data = pd.DataFrame(
        {"a": [np.nan, 1.0, np.nan, 1.0], "c": pd.Categorical([None, "u", None, "u"])}
    )
    assert distinct_records((data[name] for name in data), 4)[1].tolist() == [0, 1, 0, 1]


def test_sums_counts_and_values_by_row():
    distinct = Distinct(np.array([[1.0], [2.0]]), np.array([0, 1, 1]))
    np.testing.assert_array_equal(distinct.counts, [1.0, 2.0])
    np.testing.assert_array_equal(distinct.sums(np.array([0.5, 1.0, 0.25])), [0.5, 1.25])
    np.testing.assert_array_equal(distinct.spread(distinct.rows), [[1.0], [2.0], [2.0]])
    np.testing.assert_array_equal(Distinct.apart(np.ones((3, 2))).which, [0, 1, 2])
