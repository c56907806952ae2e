"""Risk against utility of every label, and those that no other beats in both."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns
from riskweighted.evaluation.main_table import direction_of
from riskweighted.evaluation.measure_rows import CONFIDENTIAL
from riskweighted.measures import (
    disclosure_measures,
    expected_measures,
    identification_measures,
    influence_measures,
)
from riskweighted.plots.style import (
    LABEL_SIZE,
    OnAxes,
    Panel,
    SchemeStyle,
    dress,
    numbers,
    panel,
    title,
)

__all__ = ["pareto_front", "plot_risk_utility"]

Better = Literal["lower", "higher"]
_REFERENCE, _REFERENCE_MARKERS = SchemeStyle("#bbbbbb", "s", "-", ""), ("s", "d", "p")
_RISKS = (  # of a map where none is named, the first that was measured
    influence_measures.ISOLATED,
    disclosure_measures.MEAN,
    expected_measures.ISOLATED,
    expected_measures.MEAN,
    identification_measures.MEAN,
)
_DISCLOSURE = [measure.label for measure in disclosure_measures.MEASURES]
_LACKING = dict.fromkeys(_DISCLOSURE, "not judged")  # what it means that a label lacks the risk
_LACKING |= {
    measure.label: "no fit" for measure in (influence_measures.ISOLATED, influence_measures.LARGEST)
}
# by what a higher value is
_BETTER: dict[str, Better] = {"more useful": "higher", "less useful": "lower"}


def pareto_front(risk: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Which points no other point beats: none is at most as large in both and smaller in one;
    boolean (n,).
    """
    no_worse = (risk[:, None] <= risk) & (loss[:, None] <= loss)  # [other, own]
    smaller = (risk[:, None] < risk) | (loss[:, None] < loss)
    return np.asarray(~(no_worse & smaller).any(axis=0))


def plot_risk_utility(
    summary: pd.DataFrame,
    risk: str | None,
    utility: str,
    *,
    better: Better | None = None,
    error: str | None = None,
    references: Sequence[str] = (),
    verdicts: Mapping[str, str] | None = None,
    **axes: Unpack[OnAxes],
) -> Axes:
    """Draw a map of the labels by a risk and a utility measure, with the Pareto front, and return
    the axes.

    The better corner is named; labels on the front are enlarged and joined. Labels that lack a
    measure are left out, and so are the confidential data. Labels that lack information have no
    fit, and those that lack disclosure beyond inference are not judged, which is no pass: where one
    of these is the risk, they stand hollow in a strip at the right, off the front.

    Parameters
    ----------
    summary : DataFrame
        `Evaluation.summary()`, `Run.summary`, or ``tables/summary.csv`` with its column "label".
    risk : str or None
        Measure on the x axis, for example "mean risk"; lower is better. None: what an isolated
        record's own value teaches the fit ("information of an isolated record") where fits were
        measured, else "disclosure beyond inference", the expected risk of isolated records, or of
        all, or the mean risk, the first that was.
    utility : str
        Measure on the y axis, for example "U_m of income" or "mean of income: overlap".
    better : {"lower", "higher"}, optional
        Which values of `utility` are better; known for U_m and U_a (lower) and overlaps (higher),
        else needed.
    error : str, optional
        Column of the standard errors of the risk, drawn as bars of two to either side.
    references : sequence of str, optional
        Labels that stand for comparison only, such as the yardsticks of an assessment: drawn in
        grey, and not on the front.
    verdicts : mapping of str to str, optional
        The word of each label that was judged, "pass" or "refuse" for example: its entry of the
        legend says it.
    **axes
        ``ax``, the axes to draw on, or ``figsize``, (width, height) of a new figure in inches.

    Raises
    ------
    InputError
        If a measure is no column or was not measured, no label has both, or the better direction is
        not known.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario, synthetic
    >>> evaluation = rw.evaluate(
    ...     data, {"drawn": synthetic, "unaltered": [data]}, scenario, random_seed=1
    ... )
    >>> rw.plot_risk_utility(evaluation.summary(), "mean risk", "U_m of income").get_xlabel()
    'mean risk (lower is better)'
    """
    table = (
        summary.set_index("label")
        if isinstance(summary, pd.DataFrame) and "label" in summary.columns
        else summary
    )
    require_columns(table, [utility], "summary")
    risk = _measured_risk(table) if risk is None else risk
    require_columns(table, [risk, utility, *([] if error is None else [error])], "summary")
    if not table.index.is_unique:
        raise InputError(
            f"summary has label {listing(table.index[table.index.duplicated()].unique())} more "
            "than once"
        )
    direction = _BETTER.get(str(direction_of(utility))) if better is None else better
    if direction not in ("lower", "higher"):
        raise InputError(
            f"set better to 'lower' or 'higher': whether more of {utility!r} is better is not "
            f"known, got {better!r}"
        )
    labels = table.index.drop(list(references), errors="ignore")
    table = table.drop(index=CONFIDENTIAL, errors="ignore")
    points, unjudged = table[[risk, utility]].dropna(), _unjudged(table, risk, utility, references)
    if points.empty:
        raise InputError(
            f"no label but the confidential data has both {risk!r} and {utility!r}; choose other "
            "measures"
        )
    x, y = numbers(points[risk], repr(risk)), numbers(points[utility], repr(utility))
    compared = ~points.index.isin(list(references))
    front = compared.copy()
    front[compared] = pareto_front(x[compared], (y if direction == "lower" else -y)[compared])
    drawn = panel(axes, labels, (7.5, 4.5), shown=[*points.index, *unjudged.index])
    ax, styles = drawn.ax, drawn.styles
    styles |= {
        label: replace(_REFERENCE, marker=marker)
        for label, marker in zip(references, _REFERENCE_MARKERS, strict=False)
    }
    words = {
        label: f"{drawn.names[label]}: {word}"
        for label, word in (verdicts or {}).items()
        if label in drawn.names
    }
    drawn = drawn._replace(names=drawn.names | words)
    _draw_points(drawn, pd.DataFrame({"x": x, "y": y, "front": front}, points.index))
    notes = ["Large and joined: no other label is as good in both and better in one."]
    apart = "which the verdicts judge" if verdicts else "which is judged apart"
    is_disclosure = (
        "disclosure beyond inference"
        if risk in _DISCLOSURE
        else f"no disclosure beyond inference, {apart}"
    )
    notes.append(f"The risk is {is_disclosure}.")
    if error is not None:
        ax.errorbar(
            x,
            y,
            xerr=2 * np.nan_to_num(table.loc[points.index, error].to_numpy(float)),
            fmt="none",
            color="#777777",
            zorder=1.5,
        )
        notes.append("Bars: two standard errors of the risk.")
    ax.locator_params(axis="x", nbins=6)
    ax.margins(0.12)
    if len(unjudged):
        _draw_unjudged(drawn, unjudged, _LACKING[risk])
        notes.append(f"Hollow, in the strip: {_LACKING[risk]}, which is no pass.")
    absent = len(table) - len(points) - len(unjudged)
    notes += [f"{absent} labels lack a measure and are not shown."] if absent else []
    x_name, y_name = f"{title(risk)} (lower is better)", f"{title(utility)} ({direction} is better)"
    return dress(ax, x_name, y_name, *notes, grid="both", legend="beside", labelspacing=0.9)


def _draw_points(drawn: Panel, points: pd.DataFrame) -> None:
    """The labels by ``x`` and ``y``, those on the ``front`` enlarged and joined."""
    front = points[points["front"]].sort_values("x", kind="stable")
    drawn.ax.plot(
        front["x"],
        front["y"],
        color="black",
        linewidth=1.5,
        linestyle="--",
        zorder=1,
        label="Pareto front",
    )
    for label, x, y, of_front in points.itertuples():
        style = drawn.styles[label]
        marks: dict[str, Any] = {
            "marker": style.marker,
            "s": 190 if of_front else 80,
            "linewidth": 1.8 if of_front else 0.6,
        }
        drawn.ax.scatter(
            x, y, color=style.colour, edgecolor="black", label=drawn.names[label], zorder=2, **marks
        )


def _measured_risk(table: pd.DataFrame) -> str:
    """The risk of a map where none is named: the first of the list that some label has."""
    others = table.drop(index=CONFIDENTIAL, errors="ignore")
    for measure in _RISKS:
        if measure.label in others and others[measure.label].notna().any():
            return measure.label
    raise InputError(
        f"summary has none of {listing(measure.label for measure in _RISKS)}: name the risk"
    )


def _unjudged(table: pd.DataFrame, risk: str, utility: str, references: Sequence[str]) -> pd.Series:
    """Utility of the labels that lack the risk, where that says something; else none."""
    if risk not in _LACKING:
        return pd.Series(dtype=float)
    lacks = table[risk].isna() & table[utility].notna() & ~table.index.isin(list(references))
    return table.loc[lacks, utility].astype(float)


def _draw_unjudged(drawn: Panel, unjudged: pd.Series, why: str) -> None:
    """Hollow points in a strip of their own, right of all that was judged."""
    ax = drawn.ax
    low, high = ax.get_xlim()
    end = high + 0.27 * (high - low)
    ax.axvspan(high, end, color="#eeeeee", zorder=0, linewidth=0)
    for label, value in unjudged.items():
        style = drawn.styles[label]
        look: dict[str, Any] = {
            "facecolor": "white",
            "edgecolor": style.colour,
            "marker": style.marker,
            "linewidth": 1.8,
        }
        ax.scatter(
            (high + end) / 2, value, s=80, label=f"{drawn.names[label]} ({why})", zorder=2, **look
        )
    ax.set_xlim(low, end)
    ax.set_xticks([tick for tick in ax.get_xticks() if low <= tick <= high])
    place = ((high + end) / 2, 0.01)
    ax.annotate(
        why,
        place,
        xycoords=ax.get_xaxis_transform(),
        ha="center",
        fontsize=LABEL_SIZE - 2,
        color="#555555",
    )
