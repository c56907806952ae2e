"""Two-way tables as a heat map: which value stands where."""

import io

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.evaluation.measure_rows import Statistic, as_row, as_table
from riskweighted.measures.measure import Value

pytestmark = pytest.mark.versions


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def rows(label, values):
    for statistic, value in values.items():
        yield as_row(
            label,
            Value(
                statistic.measure, value, statistic.variable, statistic.parameter, statistic.term
            ),
        )


def table(**changed):
    values = {
        Statistic("one-way-table", "job"): 1.25,
        Statistic("one-way-table", "income"): 0.8,
        Statistic("two-way-table", "job", term="income"): 12.34,
        Statistic("two-way-table", "job", term="sex"): 3.0,
        Statistic("two-way-table", "income", term="sex"): 123.4,
        Statistic("two-way-mean"): 46.2,
    }
    return as_table(
        [
            *rows("unweighted", dict.fromkeys(values, 1.0)),
            *rows("pairwise", values | changed.pop("values", {})),
        ]
    )


def texts(ax):
    return [
        [text.get_text() for text in ax.texts if text.get_position()[1] == row] for row in range(2)
    ]


def test_every_pair_stands_on_both_sides_and_a_variable_alone_on_the_diagonal():
    ax = rw.plot_two_way(table(), "pairwise")
    assert texts(ax) == [["1.2", "12.3", "3.0"], ["12.3", "0.8", "123"]]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["job", "income", "sex"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["job", "income"]
    (image,) = ax.images
    np.testing.assert_allclose(image.get_array(), [[1.25, 12.34, 3], [12.34, 0.8, 123.4]])
    assert image.norm.vmin == 1
    assert image.norm.vmax == pytest.approx(123.4)
    assert "pairwise" in ax.get_title(loc="left")


def test_near_their_null_the_scale_still_ends_at_ten_and_what_is_undefined_says_so():
    ax = rw.plot_two_way(table(), "unweighted")
    assert ax.images[0].norm.vmax == 10
    undefined = table(values={Statistic("one-way-table", "job"): np.nan})
    assert texts(rw.plot_two_way(undefined, "pairwise"))[0] == ["none", "12.3", "3.0"]


def test_a_table_read_from_a_file_gives_the_same_figure():
    again = pd.read_csv(io.StringIO(table().to_csv(index=False)))
    assert texts(rw.plot_two_way(again, "pairwise")) == texts(rw.plot_two_way(table(), "pairwise"))


def test_refuses():
    with pytest.raises(
        InputError,
        match="has no two-way tables of 'nope'; it has those of 'unweighted', 'pairwise'",
    ):
        rw.plot_two_way(table(), "nope")
    with pytest.raises(InputError, match=r"it has those of \(none\)"):
        rw.plot_two_way(table()[lambda found: found["key"] != "two-way-table"], "pairwise")
    with pytest.raises(InputError, match="no column 'term'"):
        rw.plot_two_way(table().drop(columns="term"), "pairwise")
    with pytest.raises(InputError, match="figsize"):
        rw.plot_two_way(table(), "pairwise", figsize=(0, 1))
