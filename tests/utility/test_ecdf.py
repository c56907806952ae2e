import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from riskweighted.common.errors import InputError
from riskweighted.common.value_counts import LevelCounts
from riskweighted.utility.ecdf import ecdf_distance, mean_ecdf_distance, mean_total_variation

pytestmark = pytest.mark.quick

values = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=15)


def test_hand_worked():
    # F_conf steps at 1, 2; F_syn at 2, 3. At 1: |.5 - 0|, at 2 (twice): |1 - .5|, at 3: 0.
    distance = ecdf_distance(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    assert distance.maximum == 0.5
    assert distance.mean_square == pytest.approx((0.25 + 0.25 + 0.25 + 0) / 4)


@settings(max_examples=60)
@given(values, values)
def test_equals_a_loop_over_the_merged_values(confidential, synthetic):
    merged = confidential + synthetic
    gaps = []
    for z in merged:
        share = [sum(v <= z for v in side) / len(side) for side in (confidential, synthetic)]
        gaps.append(share[0] - share[1])
    distance = ecdf_distance(np.array(confidential), np.array(synthetic))
    assert distance.maximum == pytest.approx(max(map(abs, gaps)), abs=1e-12)
    assert distance.mean_square == pytest.approx(sum(g * g for g in gaps) / len(gaps), abs=1e-12)


def test_mean_over_datasets():
    y = np.array([1.0, 2.0])
    assert mean_ecdf_distance(y, [y, np.array([2.0, 3.0])]).maximum == 0.25


@pytest.mark.parametrize("bad", [[], [np.nan, 1.0]])
def test_refuses_empty_and_missing(bad):
    with pytest.raises(InputError, match="non-empty"):
        ecdf_distance(np.array(bad), np.array([1.0]))


def test_total_variation_of_levels():
    column = pd.Series(["a", "a", "b", "c"])
    other = pd.Series(["a", "b", "b", "d"])  # shares .25 .5 0 .25 against .5 .25 .25 0
    data, *frames = map(LevelCounts.of, (column, other, column.astype("category")))
    assert mean_total_variation(data, frames[:1]) == pytest.approx(0.5)
    assert mean_total_variation(data, frames) == pytest.approx(0.25)


@pytest.mark.parametrize("dtype", ["object", "string", "category"])
def test_missing_is_a_level(dtype):
    own, theirs = (
        LevelCounts.of(pd.Series(values, dtype=dtype))
        for values in (["a", "a", "b", None], ["a", None, None, "c"])
    )
    assert mean_total_variation(own, [theirs, own]) == pytest.approx(
        (0.25 + 0.25 + 0.25 + 0.25) / 2 / 2
    )
