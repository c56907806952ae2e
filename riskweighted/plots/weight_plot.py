"""Weights against the sensitive value: whom a scheme protects."""

from collections.abc import Mapping
from typing import Any, Unpack

import pandas as pd
from matplotlib.axes import Axes

from riskweighted.common.errors import InputError
from riskweighted.common.frames import check_weights
from riskweighted.plots.binning import binned_means
from riskweighted.plots.style import OnAxes, dress, numbers, panel, title

__all__ = ["plot_weights"]


def plot_weights(
    values: pd.Series,
    weights: Mapping[str, pd.Series] | pd.DataFrame,
    *,
    minimum_count: int | None = None,
    **axes: Unpack[OnAxes],
) -> Axes:
    """Draw the weight of every record against its sensitive value, by scheme, and return the axes.

    Parameters
    ----------
    values : Series (n,)
        The sensitive variable, in its own units.
    weights : mapping of scheme to Series (n,), or DataFrame (n, schemes)
        In [0, 1], on the index of `values`; lower means more protection.
        ``confidential/weights.csv`` of a run.
    minimum_count : int, optional
        Draw mean weights, rounded to 2 decimals, in bins of at least this many records instead: see
        `riskweighted.plots.binning.binned_means`.
    **axes
        ``ax``, the axes to draw on, or ``figsize``, (width, height) of a new figure in inches.

    Raises
    ------
    InputError
        If values are not finite, or weights lie outside [0, 1] or on another index.

    Examples
    --------
    >>> from riskweighted.runs.examples import alpha, data
    >>> rw.plot_weights(data["income"], {"marginal": alpha}).get_xlabel()
    'income'
    """
    if not isinstance(values, pd.Series):
        raise InputError(f"values must be a pandas Series, got {type(values).__name__}")
    if (
        not isinstance(weights, Mapping | pd.DataFrame)
        or len(weights.keys()) == 0
        or len(values) == 0
    ):
        raise InputError(
            "weights must be {scheme: Series} or a DataFrame with at least one scheme and record"
        )
    x = numbers(values, f"{values.name!r}")
    alphas = {
        scheme: check_weights(alpha, values.index, what=f"weights {scheme!r}").to_numpy()
        for scheme, alpha in weights.items()
    }
    means = {
        scheme: None if minimum_count is None else binned_means(x, alpha, minimum_count)
        for scheme, alpha in alphas.items()
    }
    ax, styles, names = panel(axes, alphas)
    for scheme, alpha in alphas.items():
        style, binned = styles[scheme], means[scheme]
        if binned is None:
            points: dict[str, Any] = {
                "s": 12,
                "marker": style.marker,
                "color": style.colour,
                "alpha": 0.4,
                "linewidth": 0,
            }
            ax.scatter(x, alpha, label=names[scheme], rasterized=True, **points)
        else:
            edges = binned.histogram.drawn_edges
            ax.stairs(binned.means, edges, baseline=None, **style.curve())
            ax.plot(
                (edges[1:] + edges[:-1]) / 2,
                binned.means,
                label=names[scheme],
                **style.points(7, linestyle="none"),
            )
    ax.locator_params(axis="x", nbins=6)
    ax.set_ylim(-0.03, 1.03)
    what, notes, scale = "weight", [f"{len(x):,} records; a lower weight protects more."], 2.5
    if minimum_count is not None:  # how many have an amount may be too few to tell from all
        what, scale = "mean weight", 1
        notes = [
            "A lower weight protects more.",
            f"Bins hold {minimum_count} records or more; the outer two are open-ended.",
        ]
    dress(ax, title(values.name), what, *notes, grid="both", legend="beside", markerscale=scale)
    for handle in ax.get_legend().legend_handles:  # type: ignore[union-attr]
        handle.set_alpha(1)  # type: ignore[union-attr]
    return ax
