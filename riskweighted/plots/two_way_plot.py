"""How far the tables of each pair of variables are from the confidential ones: a heat map of
two-way S_pMSE.
"""

from typing import Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns
from riskweighted.measures.cross_tables import ONE_WAY, TWO_WAY
from riskweighted.plots.style import (
    LABEL_SIZE,
    NOTE_SIZE,
    TICK_SIZE,
    OnAxes,
    add_note,
    name_ticks,
    new_axes,
    short_names,
)

__all__ = ["plot_two_way"]

_COLOURS = "Blues"  # one hue: dark is far, with and without colour vision
_EMPTY = "none"
_LEAST_END = 10.0  # of the scale, so that files near their null do not look as if they were far
_ON_DARK, _ON_LIGHT = "#fefefe", "#010101"  # on cells that look the same on a dark page
_DARK = 0.55  # of the scale, from which on white is read better than black


def plot_two_way(utility: pd.DataFrame, label: str, **axes: Unpack[OnAxes]) -> Axes:
    """Draw the standardised pMSE of the table of every pair of variables under one label, and
    return the axes.

    A row for each synthesized variable, a column for each of them and for each unaltered column;
    the darker, the farther.

    Parameters
    ----------
    utility : DataFrame
        ``Evaluation.utility`` of two or more synthesized variables, or ``tables/utility.csv`` of a
        run.
    label : str
        One of its labels, such as a weighting scheme.
    **axes
        ``ax``, the axes to draw on, or ``figsize``, (width, height) of a new figure in inches.

    Raises
    ------
    InputError
        If the table lacks a column, has no such label, or no table of a pair under it.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, synthetic
    >>> scenario = rw.Scenario(known="region", synthetic=["income", "smokes"])
    >>> evaluation = rw.evaluate(data, {"drawn": synthetic}, scenario, random_seed=1)
    >>> ax = rw.plot_two_way(evaluation.utility, "drawn")
    """
    require_columns(utility, ["label", "key", "variable", "term", "value"], "table of utility")
    pairs = utility[utility["key"] == TWO_WAY.key]
    if label not in set(pairs["label"]):
        raise InputError(
            f"the table of utility has no two-way tables of {label!r}; it has those of "
            f"{listing(dict.fromkeys(pairs['label']))}"
        )
    rows = utility[utility["key"].isin([ONE_WAY.key, TWO_WAY.key]) & (utility["label"] == label)]
    grid = _grid(rows)
    ax = new_axes(
        (max(7.0, 0.85 * grid.shape[1] + 2.5), max(3.0, 0.5 * grid.shape[0] + 2.2)), **axes
    )
    shown = np.ma.masked_invalid(grid.to_numpy(dtype=float))
    shown.mask = np.ma.getmaskarray(shown)
    scale = LogNorm(1.0, max(_LEAST_END, float(shown.max() if shown.count() else 1.0)), clip=True)
    image = ax.imshow(shown, cmap=_COLOURS, norm=scale, aspect="auto")
    for (row, column), value in np.ndenumerate(grid.to_numpy(dtype=float)):
        dark = bool(np.isfinite(value)) and float(scale(value)) > _DARK
        colour = _ON_DARK if dark else _ON_LIGHT if np.isfinite(value) else "#4d4d4d"
        ax.text(
            column, row, _cell(value), ha="center", va="center", fontsize=NOTE_SIZE, color=colour
        )
    names = short_names(dict.fromkeys([*grid.index, *grid.columns]))
    ax.set_yticks(range(len(grid)), [names[name] for name in grid.index], fontsize=TICK_SIZE)
    name_ticks(ax, [names[name] for name in grid.columns])
    ax.set_xlim(-0.5, grid.shape[1] - 0.5)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    bar = ax.get_figure(root=True).colorbar(image, ax=ax, extend="min")  # type: ignore[union-attr]
    bar.set_label("S_pMSE", fontsize=LABEL_SIZE)
    bar.ax.tick_params(labelsize=TICK_SIZE)
    ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if tick <= scale.vmax]  # type: ignore[operator]
    bar.set_ticks(ticks, labels=[str(tick) for tick in ticks])
    bar.ax.minorticks_off()
    name = short_names([label])[label]
    none = (
        f"{_EMPTY}: one filled cell, or not shown, so nothing to compare."
        if shown.mask.any()
        else ""
    )
    add_note(
        ax,
        f"{name}: S_pMSE of two-way tables, and of a variable's own where it meets itself; 1 to "
        "2 is chance.",
        none,
    )
    return ax


def _grid(rows: pd.DataFrame) -> pd.DataFrame:
    """Synthesized variables by all columns; NaN where there is no table. A pair stands on both
    sides of the diagonal.
    """
    of_one, of_two = (rows[rows["key"] == key] for key in (ONE_WAY.key, TWO_WAY.key))
    names = list(dict.fromkeys([*of_one["variable"], *of_two["variable"]]))
    grid = pd.DataFrame(np.nan, index=names, columns=list(dict.fromkeys([*names, *of_two["term"]])))
    for name, value in zip(of_one["variable"], of_one["value"], strict=True):
        grid.loc[name, name] = value
    for name, other, value in zip(of_two["variable"], of_two["term"], of_two["value"], strict=True):
        grid.loc[name, other] = value
        if other in names:
            grid.loc[other, name] = value
    return grid


def _cell(value: float) -> str:
    """Three digits at the most."""
    if not np.isfinite(value):
        return _EMPTY
    return f"{value:.1f}" if value < 99.95 else f"{float(f'{value:.2e}'):.0f}"
