"""The frontier figure shows what its table says."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection

import riskweighted as rw
from riskweighted.common.errors import InputError

pytestmark = pytest.mark.versions


def frontier():
    rows = []
    for family, cost in (("mix", 1.0), ("drop-riskiest", 0.6)):
        for setting in (0.0, 0.3, 0.6, 0.9):
            rows.append(
                (
                    f"{family}(t={setting})",
                    family,
                    0.06 - 0.05 * setting,
                    cost * setting * 0.05,
                    "plug-in",
                    False,
                    False,
                )
            )
    rows += [
        ("marginal", "marginal", 0.01, 0.06, "plug-in", True, False),
        ("uniform(c=0.1)", "uniform", 0.06, 0.01, "plug-in", True, False),
    ]
    rows += [
        ("unweighted", "unweighted", 0.06, 0.005, "sampled", True, False),
        ("mix(t=0.5)", "mix", 0.031, 0.03, "sampled", False, True),
    ]
    table = pd.DataFrame(
        rows, columns=["scheme", "family", "target", "loss", "kind", "reference", "chosen"]
    )
    table = table.assign(target_error=0.001, loss_error=[*[np.nan] * 10, 0.001, 0.001])
    table = table.assign(
        isolated_information=table["target"] ** 2,
        largest_information=3 * table["target"],
        attributable=np.nan,
    )
    table["verdict"] = np.where(table["chosen"], "warn", "not judged")
    table.attrs = {"target": "isolated risk", "loss": "U_m of $income$", "target_max": 0.03}
    return table


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_curve_a_family_and_every_point_where_it_belongs():
    table = frontier()
    ax = rw.plot_frontier(table, axis="target")
    curves = {line.get_label(): line for line in ax.get_lines()}
    for family in ("mix", "drop-riskiest"):
        rows = table[(table["family"] == family) & (table["kind"] == "plug-in")]
        np.testing.assert_allclose(curves[family].get_xydata(), rows[["target", "loss"]])
    assert texts(ax) == [
        "mix",
        "drop-riskiest",
        "marginal",
        "uniform(c=0.1)",
        "unweighted, sampled: not judged",
        "mix(t=0.5), sampled: warn",
    ]
    points = [collection for collection in ax.collections if isinstance(collection, PathCollection)]
    places = np.concatenate([collection.get_offsets() for collection in points])
    ringed = [collection for collection in points if collection.get_sizes()[0] > 400]
    np.testing.assert_allclose(ringed[0].get_offsets(), [[0.031, 0.03]])
    assert len(ringed) == 1
    assert (np.abs(places - [0.01, 0.06]).max(axis=1) < 1e-12).any()
    assert any(np.allclose(line.get_xdata(), 0.03) for line in ax.get_lines())
    assert ax.get_xscale() == "linear"
    assert "lower is better" in ax.get_xlabel()
    assert "\\$income\\$" in ax.get_ylabel()
    ax.figure.canvas.draw()


def test_a_far_target_has_a_logarithmic_axis_and_a_file_needs_no_attributes():
    table = frontier()
    assert rw.plot_frontier(table, axis="target", target_max=0.011).get_xscale() == "log"
    table.attrs = {}
    ax = rw.plot_frontier(table, axis="target")
    assert ax.get_xlabel().startswith("target")
    ax.figure.canvas.draw()


@pytest.mark.parametrize(
    ("options", "column", "words"),
    [
        ({}, "isolated_information", "information of an isolated record"),
        ({"axis": "largest"}, "largest_information", "largest information of a record"),
    ],
)
def test_what_records_teach_is_the_axis_unless_the_target_is_asked_for(options, column, words):
    table = frontier()
    table.loc[1, column] = np.nan  # a mode where it is no number is left out
    ax = rw.plot_frontier(table, **options)
    (curve,) = (line for line in ax.get_lines() if line.get_label() == "mix")
    np.testing.assert_allclose(curve.get_xydata(), table.loc[[0, 2, 3], [column, "loss"]])
    assert ax.get_xlabel() == f"{words} (lower is better)"
    # the line is that of a target
    assert not any(np.allclose(line.get_xdata(), 0.03) for line in ax.get_lines())
    assert ax.get_xscale() == ("log" if column == "isolated_information" else "linear")
    ax.figure.canvas.draw()
    with pytest.raises(
        InputError, match="axis must be one of 'target', 'isolated', 'largest', got 'risk'"
    ):
        rw.plot_frontier(table, axis="risk")


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("frontier.csv", "must be a Tuning or its frontier, got str"),
        (frontier().drop(columns="loss"), "'loss'"),
        (frontier().head(0), "frontier has no records"),
        (frontier().assign(loss=np.nan), "12 of 12"),
    ],
)
def test_what_cannot_be_drawn_is_refused(table, text):
    with pytest.raises(InputError, match=text):
        rw.plot_frontier(table)
