"""Levels of a categorical variable as a figure: what is shown together, and which shares."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.plots.level_plot import OTHERS, level_shares, merged_levels

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def column(**counts):
    return pd.Series([level for level, count in counts.items() for _ in range(count)], name="job")


def test_small_levels_stand_together_and_are_never_few():
    assert merged_levels(column(a=30, b=20, c=2)) == {"a": "a", "b": "b", "c": "c"}
    assert merged_levels(column(a=30, b=12, c=6, d=5), 10) == {
        "a": "a",
        "b": "b",
        "c": OTHERS,
        "d": OTHERS,
    }
    # 4 others alone would be few: the next smallest joins them
    found = merged_levels(column(a=30, b=12, c=4), 10)
    assert found == {"a": "a", "b": OTHERS, "c": OTHERS}
    ordered = column(a=30, b=20, c=15).astype(
        pd.CategoricalDtype(["c", "a", "b", "never"], ordered=True)
    )
    assert list(merged_levels(ordered, 10)) == ["c", "a", "b"]
    with pytest.raises(
        InputError, match="fewer than 2 levels of 'job' are held by 10 records or more"
    ):
        merged_levels(column(a=30, b=4), 10)


def test_shares_are_those_of_the_names():
    values = column(a=30, b=10, c=6, d=4)
    names = merged_levels(values, 10)
    np.testing.assert_allclose(level_shares(values, names), [0.6, 0.2, 0.2])
    np.testing.assert_allclose(level_shares(column(a=1, d=1, unheard=2), names), [0.25, 0, 0.75])


def test_bars_and_markers_are_the_shares():
    data = column(a=30, b=12, c=8).to_frame()
    synthetic = {
        "unweighted": [column(a=25, b=15, c=10).to_frame(), column(a=35, b=15).to_frame()],
        "marginal": [data],
    }
    ax = rw.plot_levels(data, synthetic, "job")
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], [0.6, 0.24, 0.16])
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    np.testing.assert_allclose(lines["unweighted"], [0.6, 0.3, 0.1])
    np.testing.assert_allclose(lines["marginal"], [0.6, 0.24, 0.16])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["a", "b", "c"]
    with pytest.raises(InputError, match="'nope'"):
        rw.plot_levels(data, synthetic, "nope")


@pytest.mark.parametrize("dtype", ["object", "category"])
def test_missing_is_shown_as_a_level(dtype):
    values = pd.Series(["a"] * 5 + [None] * 3 + ["b"] * 2, name="job", dtype=dtype)
    names = merged_levels(values)
    assert list(names) == (["a", "b", "missing"])
    np.testing.assert_allclose(level_shares(values, names), [0.5, 0.2, 0.3])
