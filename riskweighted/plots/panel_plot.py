"""How a panel goes on: autocorrelation by lag, confidential and synthetic."""

from typing import Unpack

import pandas as pd
from matplotlib.axes import Axes

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns
from riskweighted.evaluation.measure_rows import CONFIDENTIAL
from riskweighted.measures.unit_measures import WAVES
from riskweighted.plots.style import OnAxes, dress, numbers, panel, title

__all__ = ["plot_waves"]

_LAG = "lag "


def plot_waves(utility: pd.DataFrame, variable: str, **axes: Unpack[OnAxes]) -> Axes:
    """Draw the correlation of a variable with itself so many waves later, in the confidential data
    and under every label, and return the axes.

    Parameters
    ----------
    utility : DataFrame
        ``Evaluation.utility`` of a panel, or ``tables/utility.csv`` of its run.
    variable : str
        A synthesized number.
    **axes
        ``ax``, the axes to draw on, or ``figsize``, (width, height) of a new figure in inches.

    Raises
    ------
    InputError
        If the table lacks a column, or has no autocorrelation of the variable.

    Examples
    --------
    >>> rows = [("confidential", 0.9), ("unweighted", 0.8)]
    >>> utility = pd.DataFrame(rows, columns=["label", "value"]).assign(
    ...     key="unit-waves", variable="wage", term="lag 1"
    ... )
    >>> rw.plot_waves(utility, "wage").get_xlabel()
    'waves apart'
    """
    require_columns(utility, ["label", "key", "variable", "term", "value"], "table of utility")
    lags = utility[(utility["key"] == WAVES.key) & utility["term"].astype(str).str.startswith(_LAG)]
    rows = lags[lags["variable"] == variable]
    if rows.empty:
        raise InputError(
            f"the table of utility has no autocorrelation of {variable!r}; it has those of "
            f"{listing(dict.fromkeys(lags['variable']))}"
        )
    figure = panel(axes, dict.fromkeys(utility["label"]), shown=dict.fromkeys(rows["label"]))
    for label, of_label in rows.groupby("label", sort=False):
        style = figure.styles[label]
        thick = {"linewidth": 3} if label == CONFIDENTIAL else {}
        figure.ax.plot(
            of_label["term"].str.removeprefix(_LAG).astype(int),
            numbers(of_label["value"], "value"),
            label=figure.names[label],
            **(style.points(7) | style.curve(**thick)),
        )
    figure.ax.set_xticks(sorted({int(term.removeprefix(_LAG)) for term in rows["term"]}))
    return dress(figure.ax, "waves apart", title(f"correlation of {variable} with itself"))
