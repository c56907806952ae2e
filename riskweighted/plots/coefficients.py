"""Coefficients of all regressions, each against its confidential interval: a forest plot."""

import textwrap
from typing import Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from riskweighted.common.errors import InputError
from riskweighted.common.frames import require_columns
from riskweighted.evaluation.measure_rows import CONFIDENTIAL
from riskweighted.measures import analyses
from riskweighted.plots.style import (
    CONFIDENTIAL_COLOUR,
    MULTIPLES,
    TICK_SIZE,
    OnAxes,
    add_legend,
    finish,
    panel,
    printable,
)

__all__ = ["plot_coefficients"]

_BAND = 0.7  # of the height of a row, which the labels share
_NAME = 26  # characters of a line of a row's name


def plot_coefficients(utility: pd.DataFrame, **axes: Unpack[OnAxes]) -> Axes:
    """Draw every coefficient of the regressions with its interval, a row for each, and return the
    axes.

    Coefficients have different units, so each is shown as its distance from the confidential
    estimate, divided by half the length of the confidential interval: that interval is the band
    from -1 to 1 in every row.

    Parameters
    ----------
    utility : DataFrame
        `Evaluation.utility`, or ``tables/utility.csv`` of a run whose evaluation lists
        ``regressions``.
    **axes
        ``ax``, the axes to draw on, or ``figsize``, (width, height) of a new figure in inches.

    Raises
    ------
    InputError
        If a column is absent, or no coefficient has an interval in the confidential data.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario, synthetic
    >>> settings = rw.EvaluationSettings(regressions=["income ~ C(region)"])
    >>> found = rw.evaluate(data, {"drawn": synthetic}, scenario, settings=settings, random_seed=1)
    >>> ax = rw.plot_coefficients(found.utility)
    >>> bool(ax.get_xlim()[0] < -1)
    True
    """
    require_columns(
        utility, ["label", "key", "variable", "term", "value", "lower", "upper"], "utility"
    )
    rows = utility[
        (utility["key"] == analyses.ESTIMATE.key)
        & utility["lower"].notna()
        & utility["variable"].notna()
    ]
    true = rows[rows["label"] == CONFIDENTIAL].set_index(["variable", "term"])
    half = (true["upper"] - true["lower"]) / 2
    true = true[np.isfinite(half) & (half > 0)]
    if true.empty:
        raise InputError(
            "no coefficient of a regression has an interval in the confidential data: state "
            "regressions in the evaluation"
        )
    labels = [label for label in dict.fromkeys(rows["label"]) if label != CONFIDENTIAL]
    ax, styles, names = panel(
        axes, [CONFIDENTIAL, *labels], (5.4, 1.9 + 0.5 * len(true)), shown=labels
    )
    if axes.get("ax") is None:
        ax.get_figure(root=True).set_label(MULTIPLES)  # type: ignore[union-attr]
    ax.axvspan(
        -1, 1, color=CONFIDENTIAL_COLOUR, alpha=0.15, linewidth=0, label="confidential interval"
    )
    ax.axvline(0, color=CONFIDENTIAL_COLOUR, linewidth=1.5)
    for turn, label in enumerate(labels, 1):
        style = styles[label]
        shown = rows[rows["label"] == label].set_index(["variable", "term"]).reindex(true.index)
        scaled = shown[["value", "lower", "upper"]].sub(true["value"], axis=0)
        scaled = scaled.div(half.reindex(true.index), axis=0)
        reach = np.abs(scaled[["lower", "upper"]].sub(scaled["value"], axis=0)).to_numpy().T
        ax.errorbar(
            scaled["value"],
            np.arange(len(true)) - _BAND / 2 + _BAND * turn / (len(labels) + 1),
            xerr=reach,
            capsize=3,
            elinewidth=1.8,
            ecolor=style.colour,
            label=names[label],
            **style.points(7, linestyle="none"),
        )
    named = [_row_name(str(term)) for _, term in true.index]
    finish(ax, "distance from the confidential estimate, in half lengths of its interval", grid="x")
    ax.set_yticks(range(len(true)), named, fontsize=TICK_SIZE)
    ax.set_ylim(len(true) - 0.5, -0.5)
    add_legend(ax, "below", ncols=2)
    return ax


def _row_name(term: str) -> str:
    """A coefficient and its regression, in lines that are not cut."""
    return "\n".join(textwrap.wrap(printable(term), _NAME, break_long_words=True))
