"""Risk against utility of every label, and those that no other beats in both."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns
from riskweighted.evaluation.summary import direction_of
from riskweighted.evaluation.tables import CONFIDENTIAL
from riskweighted.plots.style import OnAxes, SchemeStyle, dress, numbers, panel, title

__all__ = ["pareto_front", "plot_risk_utility"]

Better = Literal["lower", "higher"]
_REFERENCE, _REFERENCE_MARKERS = SchemeStyle("#bbbbbb", "s", "-", ""), ("s", "d", "p")
_BETTER: dict[str, Better] = {"more useful": "higher", "less useful": "lower"}  # by what a higher value is


def pareto_front(risk: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Which points no other point beats: none is at most as large in both and smaller in one; boolean (n,)."""
    no_worse = (risk[:, None] <= risk) & (loss[:, None] <= loss)  # [other, own]
    smaller = (risk[:, None] < risk) | (loss[:, None] < loss)
    return np.asarray(~(no_worse & smaller).any(axis=0))


def plot_risk_utility(
    summary: pd.DataFrame, risk: str, utility: str, *, better: Better | None = None, references: Sequence[str] = (), **axes: Unpack[OnAxes]
) -> Axes:
    """Draw a map of the labels by a risk and a utility measure, with the Pareto front, and return the axes.

    The better corner is named; labels on the front are enlarged and joined. Labels that lack a measure are left
    out, and so are the confidential data.

    Parameters
    ----------
    summary : DataFrame
        `Evaluation.summary()`, `Run.summary`, or ``tables/summary.csv`` with its column "label".
    risk : str
        Measure on the x axis, for example "mean risk"; lower is better.
    utility : str
        Measure on the y axis, for example "U_m of income" or "mean of income: overlap".
    better : {"lower", "higher"}, optional
        Which values of `utility` are better; known for U_m and U_a (lower) and overlaps (higher), else needed.
    references : sequence of str, optional
        Labels that stand for comparison only, such as the yardsticks of an assessment: drawn in grey, and not on the front.
    **axes
        ``ax``, the axes to draw on, or ``figsize``, (width, height) of a new figure in inches.

    Raises
    ------
    InputError
        If a measure is no column, no label has both, or the better direction is not known.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario, synthetic
    >>> evaluation = rw.evaluate(data, {"drawn": synthetic, "unaltered": [data]}, scenario, random_seed=1)
    >>> rw.plot_risk_utility(evaluation.summary(), "mean risk", "U_m of income").get_xlabel()
    'mean risk (lower is better)'
    """
    table = summary.set_index("label") if isinstance(summary, pd.DataFrame) and "label" in summary.columns else summary
    require_columns(table, [risk, utility], "summary")
    if not table.index.is_unique:
        raise InputError(f"summary has label {listing(table.index[table.index.duplicated()].unique())} more than once")
    direction = _BETTER.get(str(direction_of(utility))) if better is None else better
    if direction not in ("lower", "higher"):
        raise InputError(f"set better to 'lower' or 'higher': whether more of {utility!r} is better is not known, got {better!r}")
    points = table[[risk, utility]].drop(index=CONFIDENTIAL, errors="ignore").dropna()
    if points.empty:
        raise InputError(f"no label but the confidential data has both {risk!r} and {utility!r}; choose other measures")
    x, y = numbers(points[risk], repr(risk)), numbers(points[utility], repr(utility))
    compared = ~points.index.isin(list(references))
    front = compared.copy()
    front[compared] = pareto_front(x[compared], (y if direction == "lower" else -y)[compared])
    ax, styles, names = panel(axes, table.index.drop(list(references), errors="ignore"), (7.5, 4.5), shown=points.index)
    order = np.flatnonzero(front)[np.argsort(x[front], kind="stable")]
    ax.plot(x[order], y[order], color="black", linewidth=1.5, linestyle="--", zorder=1, label="Pareto front")
    styles |= {label: replace(_REFERENCE, marker=marker) for label, marker in zip(references, _REFERENCE_MARKERS, strict=False)}
    for position, label in enumerate(points.index):
        style = styles[label]
        marks: dict[str, Any] = {"marker": style.marker, "s": 190 if front[position] else 80, "linewidth": 1.8 if front[position] else 0.6}
        ax.scatter(x[position], y[position], color=style.colour, edgecolor="black", label=names[label], zorder=2, **marks)
    absent = len(table.drop(index=CONFIDENTIAL, errors="ignore")) - len(points)
    notes = ["Large and joined: no other label is as good in both and better in one."]
    notes += [f"{absent} labels lack a measure and are not shown."] if absent else []
    ax.locator_params(axis="x", nbins=6)
    ax.margins(0.12)
    x_name, y_name = f"{title(risk)} (lower is better)", f"{title(utility)} ({direction} is better)"
    return dress(ax, x_name, y_name, *notes, grid="both", legend="beside", labelspacing=0.9)
