"""The frontier of `tune`: every family as a curve of what is to be lowered against what it costs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from riskweighted.common.checks import check_number
from riskweighted.common.errors import InputError
from riskweighted.common.frames import require_columns
from riskweighted.plots.style import LABEL_SIZE, add_legend, add_note, finish, new_axes, numbers, scheme_styles, short_names, title

if TYPE_CHECKING:
    from riskweighted.tuning.tune import Tuning

__all__ = ["plot_frontier"]

_COLUMNS = ["scheme", "family", "target", "target_error", "loss", "loss_error", "kind", "reference", "chosen"]
_FAR = 5.0  # times the line: where targets lie beyond, their axis is logarithmic
_BELOW = 10.0  # and ends at that share of the line


def plot_frontier(
    tuning: "Tuning | pd.DataFrame",
    *,
    at_most: float | None = None,
    ax: Axes | None = None,
    figsize: tuple[float, float] | None = None,
) -> Axes:
    """Frontier of the families that were scanned: target against loss, both better when lower.

    Parameters
    ----------
    tuning : Tuning or DataFrame
        Of `tune`, or its ``frontier``.
    at_most : float, optional
        The target's line, where the table does not say it (as one read from a file).
    ax : Axes, optional
    figsize : (width, height), optional
        In inches, of a new figure.

    Returns
    -------
    Axes: a curve a family at the mode of the posterior, references as hollow points, sampled fits as large ones, the chosen one ringed.

    Raises
    ------
    InputError
        If the table lacks a column, is empty, or holds what is not finite.
    """
    frame = tuning if isinstance(tuning, pd.DataFrame) else getattr(tuning, "frontier", None)
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"tuning must be a Tuning or its frontier, got {type(tuning).__name__}")
    require_columns(frame, _COLUMNS, "frontier")
    table = frame.assign(target=numbers(frame["target"], "target"), loss=numbers(frame["loss"], "loss"))
    limit = frame.attrs.get("at_most") if at_most is None else check_number(at_most, "at_most", least=0)
    ax = new_axes(ax, figsize, (9.5, 5.0))
    for order, draw in enumerate((_draw_curves, _draw_references, _draw_sampled)):
        draw(ax, table, order + 2)
    if limit is not None and limit > 0 and table["target"].max() > _FAR * limit:
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.set_xlim(left=max(table["target"].min(), limit / _BELOW) / 1.1)
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.xaxis.set_minor_formatter(lambda value, _: "")
    else:
        ax.set_xlim(left=0)
    if limit is not None:
        ax.axvline(limit, color="black", linewidth=1.2, linestyle=(0, (4, 2)), zorder=1)
        ax.annotate(f" at most {limit:g}", (limit, 1.0), xycoords=("data", "axes fraction"), va="top", ha="left", fontsize=LABEL_SIZE - 2)
    finish(
        ax, f"{title(frame.attrs.get('target', 'target'))} (lower is better)", f"{title(frame.attrs.get('loss', 'loss'))} (lower is better)"
    )
    ax.grid(axis="x", color="#eeeeee", linewidth=0.6)
    ax.set_ylim(bottom=0)
    add_note(ax, "Curves and hollow points: at the mode of the posterior. Large filled points: sampled fits; the chosen one is ringed.")
    add_legend(ax, "beside", labelspacing=0.7)
    return ax


def _families(table: pd.DataFrame) -> Iterator[tuple[object, pd.DataFrame]]:
    """The rows of each family's curve, in order of strength."""
    curves = table[(table["kind"] == "plug-in") & ~table["reference"].astype(bool)]
    yield from curves.groupby("family", sort=False)


def _draw_curves(ax: Axes, table: pd.DataFrame, order: int) -> None:
    styles = scheme_styles(table["family"])
    for family, rows in _families(table):
        style = styles[family]
        ax.plot(rows["target"], rows["loss"], color=style.colour, linestyle=style.line, linewidth=1.8, zorder=order, label=str(family))
        ax.scatter(rows["target"], rows["loss"], color=style.colour, s=12, zorder=order)


def _draw_references(ax: Axes, table: pd.DataFrame, order: int) -> None:
    rows = table[(table["kind"] == "plug-in") & table["reference"].astype(bool)]
    names, styles = short_names(rows["scheme"]), scheme_styles(table["family"])
    for row in rows.itertuples():
        style = styles[row.family]
        look: dict[str, Any] = {"facecolor": "white", "edgecolor": style.colour, "marker": style.marker, "s": 70, "linewidth": 1.8}
        ax.scatter(row.target, row.loss, label=names[row.scheme], zorder=order, **look)


def _draw_sampled(ax: Axes, table: pd.DataFrame, order: int) -> None:
    rows = table[table["kind"] == "sampled"]
    names, styles = short_names(rows["scheme"]), scheme_styles(table["family"])
    for row in rows.itertuples():
        style = styles[row.family]
        errors: dict[str, Any] = {"xerr": np.nan_to_num(row.target_error), "yerr": np.nan_to_num(row.loss_error)}
        ax.errorbar(row.target, row.loss, **errors, color="black", linewidth=1, zorder=order)
        ax.scatter(
            row.target,
            row.loss,
            color=style.colour,
            edgecolor="black",
            marker=style.marker,
            s=110,
            zorder=order,
            label=f"{names[row.scheme]}, sampled",
        )
        if row.chosen:
            ax.scatter(row.target, row.loss, facecolor="none", edgecolor="black", s=420, linewidth=1.6, zorder=order)
