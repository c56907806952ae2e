"""The frontier of `tune`: every family as a curve of what records teach the fit, or of the target,
against what it costs.
"""

from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from riskweighted.common.checks import check_number
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns
from riskweighted.plots.style import (
    LABEL_SIZE,
    OnAxes,
    dress,
    mark_powers,
    new_axes,
    numbers,
    scheme_styles,
    short_names,
    title,
)

if TYPE_CHECKING:
    from riskweighted.tuning.tune import Tuning

__all__ = ["plot_frontier"]

_COLUMNS = [
    "scheme",
    "family",
    "target",
    "target_error",
    "loss",
    "loss_error",
    "kind",
    "reference",
    "chosen",
    "verdict",
]
_AXES = {
    "isolated": ("isolated_information", "information of an isolated record"),
    "largest": ("largest_information", "largest information of a record"),
}
_FAR = 5.0  # times the line: where targets lie beyond, their axis is logarithmic
_SPAN = 1000.0  # times the smallest one: beyond, powers of ten alone are marked
_WIDE = 20.0  # times the smallest information the largest one: likewise
_BELOW = 10.0  # and ends at that share of the line


def plot_frontier(
    tuning: "Tuning | pd.DataFrame",
    *,
    axis: Literal["isolated", "largest", "target"] = "isolated",
    target_max: float | None = None,
    **axes: Unpack[OnAxes],
) -> Axes:
    """Draw what records teach the fit against the loss along the families that were scanned, both
    better when lower; return the axes.

    A curve a family at the mode of the posterior, references as hollow points, sampled fits as
    large ones, the chosen one ringed.

    Parameters
    ----------
    tuning : Tuning or DataFrame
        Of `tune`, or its ``frontier``.
    axis : {"isolated", "largest", "target"}
        What lies on the x axis: the information of isolated records, mean over them, or the largest
        one of a record, own terms of centred weights within (METHODS section 9.1); or the target
        that was searched, with its line.
    target_max : float, optional
        The target's line, where the table does not say it (as one read from a file).
    **axes
        ``ax``, the axes to draw on, or ``figsize``, (width, height) of a new figure in inches.

    Raises
    ------
    InputError
        If the axis is none of these, or the table lacks a column, is empty, or holds what is not
        finite.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario, synthesizer
    >>> tuning = rw.tune(
    ...     synthesizer,
    ...     data,
    ...     scenario,
    ...     target="lipschitz",
    ...     target_max=3.0,
    ...     family="uniform",
    ...     random_seed=1,
    ... )
    >>> ax = rw.plot_frontier(tuning)
    """
    frame = tuning if isinstance(tuning, pd.DataFrame) else getattr(tuning, "frontier", None)
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"tuning must be a Tuning or its frontier, got {type(tuning).__name__}")
    if axis not in ("target", *_AXES):
        raise InputError(f"axis must be one of {listing(('target', *_AXES))}, got {axis!r}")
    column, name = _AXES.get(axis, ("target", "target"))
    require_columns(frame, [*_COLUMNS, column], "frontier")
    # that of a mode may be no number
    frame = frame if axis == "target" else frame[frame[column].notna()]
    table = frame.assign(x=numbers(frame[column], column), loss=numbers(frame["loss"], "loss"))
    table["x_error"] = frame["target_error"] if axis == "target" else np.nan
    limit = (
        frame.attrs.get("target_max")
        if target_max is None
        else check_number(target_max, "target_max", least=0)
    )
    limit = limit if axis == "target" else None
    ax = new_axes((9.5, 5.0), **axes)
    for order, draw in enumerate((_draw_curves, _draw_references, _draw_sampled)):
        draw(ax, table, order + 2)
    _scale(ax, table["x"], limit)
    if limit is not None:
        ax.axvline(limit, color="black", linewidth=1.2, linestyle=(0, (4, 2)), zorder=1)
        ax.annotate(
            f" at most {limit:g}",
            (limit, 1.0),
            xycoords=("data", "axes fraction"),
            va="top",
            ha="left",
            fontsize=LABEL_SIZE - 2,
        )
    shown = (
        frame.attrs.get("target", name) if axis == "target" else name,
        frame.attrs.get("loss", "loss"),
    )
    target, loss = (f"{title(each)} (lower is better)" for each in shown)
    note = (
        "Curves and hollow points: at the mode of the posterior, where no scheme is judged. "
        "Large filled points: sampled fits with their "
        "verdict; the chosen one is ringed. No axis is disclosure beyond inference, which is in "
        "the verdict."
    )
    dress(ax, target, loss, note, legend="beside", labelspacing=0.7)
    ax.grid(axis="x", color="#eeeeee", linewidth=0.6)
    ax.set_ylim(bottom=0)
    return ax


def _scale(ax: Axes, x: pd.Series, limit: float | None) -> None:
    """The x axis from 0, or logarithmic where that would press most of the points together."""
    least = x[x > 0].min()
    if limit is None:
        logarithmic = x.max() > _WIDE * least
    else:
        logarithmic, least = limit > 0 and x.max() > _FAR * limit, max(least, limit / _BELOW)
    if not logarithmic:
        ax.set_xlim(left=0)
        return
    ax.set_xscale("log")
    mark_powers(ax.xaxis, least, x.max(), _SPAN)
    ax.set_xlim(left=least / 1.1)


def _draw_curves(ax: Axes, table: pd.DataFrame, order: int) -> None:
    styles = scheme_styles(table["family"])
    curves = table[(table["kind"] == "plug-in") & ~table["reference"].astype(bool)]
    for family, rows in curves.groupby("family", sort=False):  # in order of strength
        style = styles[family]
        ax.plot(
            rows["x"], rows["loss"], **style.curve(linewidth=1.8, zorder=order, label=str(family))
        )
        ax.scatter(rows["x"], rows["loss"], color=style.colour, s=12, zorder=order)


def _draw_references(ax: Axes, table: pd.DataFrame, order: int) -> None:
    rows = table[(table["kind"] == "plug-in") & table["reference"].astype(bool)]
    names, styles = short_names(rows["scheme"]), scheme_styles(table["family"])
    for row in rows.itertuples():
        style = styles[row.family]
        look: dict[str, Any] = {
            "facecolor": "white",
            "edgecolor": style.colour,
            "marker": style.marker,
            "s": 70,
            "linewidth": 1.8,
        }
        ax.scatter(row.x, row.loss, label=names[row.scheme], zorder=order, **look)


def _draw_sampled(ax: Axes, table: pd.DataFrame, order: int) -> None:
    rows = table[table["kind"] == "sampled"]
    names, styles = short_names(rows["scheme"]), scheme_styles(table["family"])
    for row in rows.itertuples():
        style = styles[row.family]
        errors: dict[str, Any] = {
            "xerr": np.nan_to_num(row.x_error),
            "yerr": np.nan_to_num(row.loss_error),
        }
        ax.errorbar(row.x, row.loss, **errors, color="black", linewidth=1, zorder=order)
        look: dict[str, Any] = {
            "color": style.colour,
            "edgecolor": "black",
            "marker": style.marker,
            "s": 110,
            "zorder": order,
        }
        ax.scatter(row.x, row.loss, label=f"{names[row.scheme]}, sampled: {row.verdict}", **look)
        if row.chosen:
            ax.scatter(
                row.x,
                row.loss,
                facecolor="none",
                edgecolor="black",
                s=420,
                linewidth=1.6,
                zorder=order,
            )
