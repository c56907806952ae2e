"""Re-identification rates per stratum: suspected, confirmed, and confirmed among suspected (Census
Bureau primer).
"""

from typing import Any, Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns
from riskweighted.plots.binning import protect_counts
from riskweighted.plots.style import (
    NOTE_SIZE,
    OnAxes,
    add_legend,
    add_note,
    finish,
    new_axes,
    numbers,
    short_names,
    title,
)

__all__ = ["plot_reidentification"]

_COUNTS = ("suspected", "confirmed", "puf_records")
# rate -> (numerator, denominator, entry of the legend, colour, hatch)
_RATES = {
    "suspected_rate": ("suspected", "puf_records", "suspected of PUF records", "#56B4E9", ""),
    "confirmed_rate": ("confirmed", "puf_records", "confirmed of PUF records", "#E69F00", "//"),
    "conditional_rate": ("confirmed", "suspected", "confirmed of suspected", "#0072B2", "xx"),
}
_THICKNESS = 0.27


def plot_reidentification(
    table: pd.DataFrame,
    metric: str | None = None,
    *,
    minimum_count: int | None = None,
    **axes: Unpack[OnAxes],
) -> Axes:
    """Draw the re-identification rates of every stratum under one metric, with the counts behind
    them, and return the axes.

    Parameters
    ----------
    table : DataFrame
        Columns stratum, metric, suspected, confirmed, puf_records (counts), suspected_rate,
        confirmed_rate, conditional_rate (in [0, 1]; the last is missing where nothing is
        suspected).
    metric : str, optional
        Needed where the table holds several.
    minimum_count : int, optional
        Withhold rates that rest on fewer records, and so many others that none follows by
        subtraction from a total over the strata: see `riskweighted.plots.binning.protect_counts`.
        Such a total should not stand among the strata.
    **axes
        ``ax``, the axes to draw on, or ``figsize``, (width, height) of a new figure in inches.

    Raises
    ------
    InputError
        If a column is absent, the metric is unknown, a stratum stands there twice, or a rate lies
        outside [0, 1].

    Examples
    --------
    >>> rates = {"suspected_rate": [0.5], "confirmed_rate": [0.25], "conditional_rate": [0.5]}
    >>> counts = {"suspected": [20], "confirmed": [10], "puf_records": [40]}
    >>> ax = rw.plot_reidentification(
    ...     pd.DataFrame({"stratum": ["all"], "metric": ["unicity"]} | counts | rates)
    ... )
    """
    require_columns(table, ["stratum", "metric", *_COUNTS, *_RATES], "re-identification table")
    metrics = list(dict.fromkeys(table["metric"]))
    if metric is None and len(metrics) > 1:
        raise InputError(
            "the re-identification table holds several metrics; set metric to one of "
            f"{listing(metrics)}"
        )
    rows = table if metric is None else table[table["metric"] == metric]
    if rows.empty:
        raise InputError(
            f"the re-identification table has no metric {metric!r}; valid are {listing(metrics)}"
        )
    if rows["stratum"].duplicated().any():
        raise InputError(
            f"stratum {listing(rows['stratum'][rows['stratum'].duplicated()].unique())} "
            "occurs more than once"
        )
    counts = {name: numbers(rows[name], name) for name in _COUNTS}
    rates = {
        name: _rate(rows[name], name, counts["suspected"] if name == "conditional_rate" else None)
        for name in _RATES
    }
    open_to_show = {
        name: np.full(len(rows), True)
        if minimum_count is None
        else protect_counts(counts[name], minimum_count)
        for name in _COUNTS
    }
    ax = new_axes((7.5, 1.6 + 0.85 * len(rows)), **axes)
    hidden = 0
    for position, (rate, (above, below, name, colour, hatch)) in enumerate(_RATES.items()):
        shown = open_to_show[above] & open_to_show[below] & open_to_show["puf_records"]
        heights = np.arange(len(rows)) + (position - 1) * _THICKNESS
        bars: dict[str, Any] = {
            "color": colour,
            "hatch": hatch,
            "edgecolor": "black",
            "linewidth": 0.8,
        }
        ax.barh(
            heights,
            np.where(shown, 100 * np.nan_to_num(rates[rate]), 0),
            0.92 * _THICKNESS,
            label=name,
            **bars,
        )
        for height, share, seen, part, whole in zip(
            heights, rates[rate], shown, counts[above], counts[below], strict=True
        ):
            text = (
                "withheld"
                if not seen
                else "none suspected"
                if np.isnan(share)
                else f"{100 * share:.3g} % ({part:,.0f} of {whole:,.0f})"
            )
            end = (100 * share if seen and share > 0 else 0, height)
            ax.annotate(
                text, end, (4, 0), textcoords="offset points", va="center", fontsize=NOTE_SIZE
            )
        hidden += int((~shown).sum())
    withheld = (
        f"{hidden} rates are withheld: they or what follows from them rest on fewer than "
        f"{minimum_count} records."
    )
    return _dressed(ax, rows, withheld if hidden else "")


def _rate(column: pd.Series, name: str, suspected: np.ndarray | None) -> np.ndarray:
    """A checked rate; missing only where it is one of no suspected record."""
    undefined = (
        np.zeros(len(column), dtype=bool)
        if suspected is None
        else (suspected == 0) & column.isna().to_numpy()
    )
    rate = np.where(undefined, np.nan, numbers(column.mask(undefined, 0.0), name))
    outside = int(((rate < 0) | (rate > 1)).sum())
    if outside:
        raise InputError(f"{name} must lie in [0, 1]: {outside} of {len(rate)} values lie outside")
    return rate


def _dressed(ax: Axes, rows: pd.DataFrame, note: str) -> Axes:
    finish(ax, "% of records (higher is riskier)", grid="x")
    ax.set_yticks(range(len(rows)), list(short_names(rows["stratum"]).values()))
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.margins(x=0.0)
    right = ax.get_xlim()[1]
    ax.set_xlim(0, right * 1.45 if right > 0 else 1)
    ax.set_xticks([tick for tick in ax.get_xticks() if tick <= 100])
    ax.set_xlim(0, right * 1.45 if right > 0 else 1)
    add_note(ax, f"Metric: {title(rows['metric'].iloc[0])}.", note)
    add_legend(ax, "below")
    return ax
