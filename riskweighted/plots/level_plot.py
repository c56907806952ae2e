"""Levels of a categorical variable: shares in the confidential and the synthetic data, and the
weights of each level's records.
"""

from collections.abc import Mapping
from typing import Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from riskweighted.common.errors import InputError
from riskweighted.common.frames import require_columns
from riskweighted.common.native import Frame, GivenFrames, as_pandas
from riskweighted.evaluation.measure_rows import CONFIDENTIAL
from riskweighted.plots.style import (
    CONFIDENTIAL_COLOUR,
    MULTIPLES,
    OnAxes,
    add_legend,
    add_note,
    finish,
    name_ticks,
    panel,
    short_names,
    title,
)

__all__ = ["OTHERS", "level_shares", "merged_levels", "named_levels", "plot_levels"]

OTHERS, MISSING = "other levels", "missing"
_BAR = 0.8
_FEW = 5  # levels of a figure that a narrow page shows whole


def merged_levels(values: pd.Series, minimum_count: int = 1) -> dict[object, str]:
    """The name under which each level is shown, in the order of an ordered or categorical dtype,
    else by name; missing is a level.

    Levels of fewer than `minimum_count` records are shown together; where these are fewer too, so
    is the smallest of the others. Refused if fewer than two names are left.
    """
    categories = (
        [*values.cat.categories, MISSING] if isinstance(values.dtype, pd.CategoricalDtype) else None
    )
    counts = values.astype(object).where(values.notna(), MISSING).value_counts()
    counts = counts[counts > 0].sort_values(kind="stable")
    few = list(counts.index[counts < minimum_count])
    while few and counts[few].sum() < minimum_count and len(few) < len(counts):
        few.append(counts.index[len(few)])
    kept = {
        level: str(level)
        for level in categories or sorted(counts.index, key=str)
        if level in counts.index and level not in few
    }
    names = kept | dict.fromkeys(few, OTHERS)
    if len(set(names.values())) < 2:
        raise InputError(
            f"fewer than 2 levels of {values.name!r} are held by {minimum_count} records or "
            "more, so none is shown"
        )
    return names


def level_shares(values: pd.Series, names: Mapping[object, str]) -> np.ndarray:
    """Shares of the records under each name, in their order, (k,); a level that is not among the
    names counts as another one.
    """
    shown = list(dict.fromkeys(names.values()))
    named = named_levels(values, names).fillna(OTHERS)
    return np.array([float((named == name).mean()) for name in shown])


def named_levels(values: pd.Series, names: Mapping[object, str]) -> pd.Series:
    """The name under which each value is shown, (n,); a missing one is a level."""
    return values.astype(object).where(values.notna(), MISSING).map(names)


def plot_levels(
    confidential: Frame,
    synthetic: "Mapping[str, GivenFrames]",
    variable: str,
    *,
    minimum_count: int | None = None,
    **axes: Unpack[OnAxes],
) -> Axes:
    """Draw the shares of a categorical variable's levels, a bar for the confidential data and a
    marker for each label; return the axes.

    Parameters
    ----------
    confidential : DataFrame, n rows
    synthetic : mapping of label to DataFrames
        The shares are means over the datasets of a label.
    variable : str
    minimum_count : int, optional
        Show levels of fewer confidential records together: see `merged_levels`.
    **axes
        ``ax``, the axes to draw on, or ``figsize``, (width, height) of a new figure in inches.

    Raises
    ------
    InputError
        If the column is absent, or fewer than two levels can be shown.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, synthetic
    >>> rw.plot_levels(data, {"drawn": synthetic}, "smokes").get_ylabel()
    'share of records, smokes'
    """
    confidential, synthetic = as_pandas(confidential), as_pandas(synthetic)
    for label, frames in {CONFIDENTIAL: [confidential], **synthetic}.items():
        for frame in frames:
            require_columns(frame, [variable], f"data of {label!r}")
    names = merged_levels(confidential[variable], minimum_count or 1)
    shown = list(dict.fromkeys(names.values()))
    ax, styles, short = panel(
        axes, [CONFIDENTIAL, *synthetic], (max(4.8, 0.95 * len(shown) + 1.5), 3.8), shown=synthetic
    )
    ax.bar(
        range(len(shown)),
        level_shares(confidential[variable], names),
        _BAR,
        color=CONFIDENTIAL_COLOUR,
        alpha=0.35,
        label=CONFIDENTIAL,
    )
    for turn, (label, frames) in enumerate(synthetic.items(), 1):
        shares = np.mean([level_shares(frame[variable], names) for frame in frames], axis=0)
        places = np.arange(len(shown)) - _BAR / 2 + _BAR * turn / (len(synthetic) + 1)
        ax.plot(places, shares, **styles[label].points(9, linestyle="", label=short[label]))
    finish(ax, y=title(f"share of records, {variable}"))
    ax.set_ylim(0, 1.3 * ax.dataLim.y1)  # room for the legend
    name_ticks(ax, list(short_names(shown).values()))
    add_legend(ax, "best", ncols=2)
    if axes.get("ax") is None and len(shown) <= _FEW:
        ax.get_figure(root=True).set_label(MULTIPLES)  # type: ignore[union-attr]
    if OTHERS in shown:
        add_note(ax, f"Levels of fewer than {minimum_count} confidential records are merged.")
    return ax
