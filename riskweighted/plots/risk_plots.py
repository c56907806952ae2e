"""Identification risk of records: violins by scheme, and which records a scheme made riskier (Hu et
al. 2022, Fig. 2, 3, 5, 6, 8, 9).
"""

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from riskweighted.common.checks import is_number
from riskweighted.common.errors import InputError
from riskweighted.plots.binning import binned_scatter, merged_histogram
from riskweighted.plots.style import (
    CONFIDENTIAL_COLOUR,
    NOTE_SIZE,
    OnAxes,
    SchemeStyle,
    add_legend,
    add_note,
    chosen_labels,
    finish,
    name_ticks,
    numbers,
    panel,
)
from riskweighted.risk.whack_a_mole_risk import whack_a_mole_records

__all__ = ["plot_risk_violins", "plot_whack_a_mole"]

# risk is a probability: these limits come from its definition, not from the data
_UNIT = (0.0, 1.0)
_HALF_WIDTH = 0.42


def plot_risk_violins(
    records: pd.DataFrame,
    labels: Sequence[str] | None = None,
    *,
    minimum_count: int | None = None,
    **axes: Unpack[OnAxes],
) -> Axes:
    """Draw every record's identification risk, one violin per label with a bar at the mean (Hu et
    al. 2022, Fig. 2); return the axes.

    Parameters
    ----------
    records : DataFrame (n, labels)
        Risk in [0, 1]: `Evaluation.expected` (``confidential/expected_risk.csv`` of a run), or that
        of the datasets at hand, `Evaluation.records` (``confidential/identification_risk.csv``),
        whose extremes are mostly chance.
    labels : sequence of str, optional
        Columns shown, in this order; default all.
    minimum_count : int, optional
        Draw histograms instead, whose bins hold at least this many records each, so that no extreme
        shows: see `riskweighted.plots.binning.merged_histogram`. The mean is given in both.
    **axes
        ``ax``, the axes to draw on, or ``figsize``, (width, height) of a new figure in inches.

    Raises
    ------
    InputError
        If a label is no column, or a risk is missing or outside [0, 1].

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> rw.plot_risk_violins(rw.load_run(folder / "run").expected).get_ylabel()
    'identification risk'
    """
    shown = chosen_labels(records, labels, "records")
    risks = {label: _risk(records, label) for label in shown}
    binned = (
        {}
        if minimum_count is None
        else {
            label: merged_histogram(risk, minimum_count, limits=_UNIT)
            for label, risk in risks.items()
        }
    )
    ax, styles, names = panel(axes, records.columns, (max(7.0, 1.2 * len(shown)), 4.5), shown=shown)
    for position, label in enumerate(shown):
        if label not in binned:
            parts = ax.violinplot(
                risks[label], [position], widths=2 * _HALF_WIDTH, points=200, showextrema=False
            )
            for body in parts["bodies"]:  # type: ignore[attr-defined]
                body.set(**styles[label].patch(linewidth=0.8))
        else:
            edges = binned[label].drawn_edges
            density = binned[label].counts / np.diff(edges)
            half = _HALF_WIDTH * density / density.max()
            ax.barh(
                edges[:-1],
                2 * half,
                np.diff(edges),
                -half + position,
                align="edge",
                **styles[label].patch(linewidth=0.6),
            )
        mean = risks[label].mean()
        ax.hlines(mean, position - 0.3, position + 0.3, color="black", linewidth=3)
        ax.text(position, 1.05, f"mean {mean:.2f}", ha="center", fontsize=NOTE_SIZE)
    finish(ax, y="identification risk")
    name_ticks(ax, list(names.values()))
    ax.set_ylim(-0.02, 1.13)
    ax.set_yticks(np.linspace(0, 1, 6))
    what = (
        ""
        if minimum_count is None
        else f"Bins hold {minimum_count} records or more; up to {minimum_count - 1} beyond either "
        "end."
    )
    add_note(ax, f"{len(records):,} records; higher is riskier. Bar: mean.", what)
    return ax


def plot_whack_a_mole(
    records: pd.DataFrame,
    label: str,
    *,
    baseline: str = "unweighted",
    increase: float = 0.25,
    threshold: float = 0.5,
    minimum_count: int | None = None,
    **axes: Unpack[OnAxes],
) -> Axes:
    """Draw every record's risk under a weighted scheme against the unweighted one (Hu et al. 2022,
    Fig. 3, 5b, 9); return the axes.

    Records whose risk rises by at least `increase` are enlarged: moving their neighbours away has
    exposed them.

    Parameters
    ----------
    records : DataFrame (n, labels)
        As in `plot_risk_violins`.
    label, baseline : str
        Columns on the y and the x axis.
    increase, threshold : float
        Rise at which a record is enlarged, and risk that no record should exceed; both in (0, 1).
    minimum_count : int, optional
        Draw counts on a grid instead; cells of fewer records are not shown, and nothing follows by
        subtraction: see `riskweighted.plots.binning.binned_scatter`.
    **axes
        As in `plot_risk_violins`.

    Raises
    ------
    InputError
        If a label is no column, a risk is missing or outside [0, 1], or a setting is not valid.

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> rw.plot_whack_a_mole(rw.load_run(folder / "run").expected, "marginal").get_ylabel()
    'identification risk, marginal'
    """
    chosen_labels(records, [label, baseline], "records")
    for name, share in (("increase", increase), ("threshold", threshold)):
        if not (is_number(share) and 0 < share < 1):
            raise InputError(f"{name} must lie between 0 and 1, got {share!r}")
    x, y = _risk(records, baseline), _risk(records, label)
    cells = (
        None
        if minimum_count is None
        else binned_scatter(x, y, minimum_count, x_limits=_UNIT, y_limits=_UNIT)
    )
    ax, styles, names = panel(axes, records.columns, (6.5, 6.5), shown=[label, baseline])
    finish(
        ax,
        f"identification risk, {names[baseline]}",
        f"identification risk, {names[label]}",
        grid="both",
    )
    if cells is None or minimum_count is None:
        _scatter(ax, x, y, increase, styles[label])
        add_note(ax, f"{len(records):,} records; higher is riskier.")
    else:
        norm = LogNorm(minimum_count, max(cells.counts.max(), minimum_count + 1))
        masked = np.ma.masked_equal(cells.counts.T, 0)
        mesh = ax.pcolormesh(
            cells.x_edges,
            cells.y_edges,
            masked,
            norm=norm,
            cmap="cividis_r",
            edgecolors="white",
            linewidth=0.5,
        )
        bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.8)
        bar.set_label("records in a cell", fontsize=NOTE_SIZE)
        bar.ax.tick_params(labelsize=NOTE_SIZE)
        kept = (
            f"{cells.hidden:,} of {len(records):,} records are in cells left blank, which may "
            f"hold fewer than {minimum_count} each."
        )
        add_note(ax, kept if cells.hidden else f"{len(records):,} records, all in the cells shown.")
    ends = np.array([0.0, 1.0])
    ax.plot(ends, ends, color="#0072B2", linewidth=2, label="y = x")
    ax.plot(
        ends,
        ends + increase,
        color="black",
        linewidth=1.5,
        linestyle="--",
        label=f"rise of {increase:g}",
    )
    ax.axhline(
        threshold, color="black", linewidth=1.5, linestyle=":", label=f"threshold {threshold:g}"
    )
    reach = (
        max(x.max(), y.max())
        if cells is None
        else np.nanmax([*cells.table()[["x below", "y below"]].max(), 0.0])
    )
    top = min(max(1.02 * reach, threshold + 0.1, increase + 0.1), 1.02)
    ax.set(xlim=(-0.02, top), ylim=(-0.02, top), aspect="equal")
    add_legend(ax, "below", ncols=2)
    return ax


def _scatter(ax: Axes, x: np.ndarray, y: np.ndarray, increase: float, style: SchemeStyle) -> None:
    """Records as points; those whose risk rose much are larger and of another shape."""
    rose = whack_a_mole_records(y, x, increase)
    small: dict[str, Any] = {
        "s": 6,
        "color": CONFIDENTIAL_COLOUR,
        "alpha": 0.35,
        "linewidth": 0,
        "rasterized": True,
    }
    ax.scatter(x[~rose], y[~rose], label=f"rose by less, or fell: {int((~rose).sum()):,}", **small)
    large: dict[str, Any] = {
        "s": 48,
        "color": style.colour,
        "marker": style.marker,
        "edgecolor": "black",
        "linewidth": 0.6,
        "zorder": 3,
    }
    ax.scatter(
        x[rose], y[rose], label=f"risk rose by {increase:g} or more: {int(rose.sum()):,}", **large
    )


def _risk(records: pd.DataFrame, label: str) -> np.ndarray:
    risk = numbers(records[label], f"risk of {label!r}")
    outside = int(((risk < 0) | (risk > 1)).sum())
    if outside:
        raise InputError(
            f"risk of {label!r} must lie in [0, 1]: {outside} of {len(risk)} values lie outside"
        )
    return risk
