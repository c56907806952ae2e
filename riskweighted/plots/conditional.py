"""How a variable is distributed within each group of another one, confidential and synthetic."""

import itertools
from collections.abc import Callable, Mapping
from typing import Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from riskweighted.common.frames import require_columns
from riskweighted.common.native import Frame, GivenFrames, as_pandas
from riskweighted.evaluation.measure_rows import CONFIDENTIAL
from riskweighted.intruder.pairing import as_frames
from riskweighted.plots.binning import merged_histogram
from riskweighted.plots.level_plot import MISSING, OTHERS, merged_levels
from riskweighted.plots.style import (
    LABEL_SIZE,
    OnAxes,
    Panel,
    dress_all,
    multiples,
    printable,
    scheme_styles,
    short_names,
    title,
)

__all__ = ["plot_conditional"]

_GROUPS = 5  # about so many, of a number
_MOST_LEVELS = 8
_BAR = 0.8


def plot_conditional(
    confidential: Frame,
    synthetic: "Mapping[str, GivenFrames]",
    variable: str,
    given: str,
    *,
    minimum_count: int | None = None,
    **axes: Unpack[OnAxes],
) -> Axes:
    """Draw how a variable is distributed within each group of another: a panel for each group,
    grey bars for the confidential data, a marker for each label; return the first panel's axes.

    Numbers are cut into about five parts of equally many confidential records, missing values are
    a level, and rare levels are shown together.

    Parameters
    ----------
    confidential : DataFrame, n rows
    synthetic : mapping of label to a DataFrame or list of L
        Shares are means over a label's datasets.
    variable, given : str
        What is shown, and what makes the groups.
    minimum_count : int, optional
        Groups and parts hold at least this many confidential records, and counts of confidential
        records are rounded to multiples of it.
    **axes
        ``figsize``, (width, height) of a new figure in inches.

    Raises
    ------
    InputError
        If a column is absent, or has fewer than two groups that may be shown.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, synthetic
    >>> rw.plot_conditional(data, {"drawn": synthetic}, "income", "region").get_xlabel()
    'income'
    """
    confidential = as_pandas(confidential)
    others = {label: as_frames(frames) for label, frames in as_pandas(synthetic).items()}
    for label, frames in {CONFIDENTIAL: [confidential], **others}.items():
        for frame in frames:
            require_columns(frame, [variable, given], f"data of {label!r}")
    groups, group_of = _cut(confidential[given], minimum_count)
    parts, part_of = _cut(confidential[variable], minimum_count)

    def shares(frame: pd.DataFrame, unit: int = 1) -> np.ndarray:
        """By group and part, (groups, parts); NaN where a group is empty."""
        counts = pd.crosstab(group_of(frame[given]), part_of(frame[variable]))
        found = counts.reindex(index=range(len(groups)), columns=range(len(parts)), fill_value=0)
        sizes = found.sum(axis=1).to_numpy(dtype=float)
        held = unit * np.round(found.to_numpy() / unit)
        within: np.ndarray = np.divide(
            held, sizes[:, None], out=np.full(held.shape, np.nan), where=sizes[:, None] > 0
        )
        return within

    true = shares(confidential, minimum_count or 1)
    drawn = {
        label: np.nanmean([shares(frame) for frame in frames], axis=0)
        for label, frames in others.items()
    }
    styles, names = scheme_styles(drawn), short_names(drawn)
    panels = multiples(axes, groups, (3.5, 2.6))
    for place, (ax, _, _) in enumerate(panels):
        ax.bar(range(len(parts)), true[place], _BAR, color="#cccccc", label=CONFIDENTIAL)
        for turn, (label, held) in enumerate(drawn.items(), 1):
            places = np.arange(len(parts)) - _BAR / 2 + _BAR * turn / (len(drawn) + 1)
            marks = styles[label].points(7, linestyle="none", label=names[label])
            ax.plot(places, held[place], **marks)
    # room for the legend; the panels share their scale
    panels[0].ax.set_ylim(0, 1.3 * max(np.nanmax(each) for each in (true, *drawn.values())))
    rounded = (
        f"Counts of confidential records are rounded to multiples of {minimum_count}."
        if minimum_count
        else ""
    )
    first = dress_all(
        [
            Panel(ax, {}, {group: printable(f"{given}: {group}")})
            for (ax, _, _), group in zip(panels, groups, strict=True)
        ],
        title(variable),
        title(f"share of the group, {variable}"),
        f"{printable(variable)} within each group of {printable(given)}.",
        rounded,
    )
    for ax, _, _ in panels:
        ax.set_xticks(range(len(parts)), [printable(part) for part in parts], fontsize=9.5)
        ax.tick_params(axis="x", labelrotation=30)
        for text in ax.get_xticklabels():
            text.set(horizontalalignment="right", rotation_mode="anchor")
        ax.title.set_fontsize(LABEL_SIZE)
    return first


def _cut(
    column: pd.Series, minimum_count: int | None
) -> tuple[list[str], Callable[[pd.Series], np.ndarray]]:
    """Names of the groups of a column, and what finds the place of each value among them, -1 for
    none.
    """
    least, present = minimum_count or 1, column.dropna()
    if pd.api.types.is_numeric_dtype(column.dtype) and present.nunique() > _MOST_LEVELS:
        values = present.to_numpy(dtype=float)
        # parts of equally many records, of which a missing value is none
        edges = merged_histogram(values, max(least, -(-len(values) // (_GROUPS + 1)), 2), bins=200)
        inner = edges.edges[1:-1]
        ends = [f"{end:,.12g}" for end in inner]
        names = [f"< {ends[0]}"] if ends else ["all"]
        names += [f"{low} - {high}" for low, high in itertools.pairwise(ends)]
        names += [f">= {ends[-1]}"] if ends else []
        missing = len(column) - len(present)
        named = [*names, MISSING] if missing >= max(least, 1) else names

        def place(other: pd.Series) -> np.ndarray:
            amounts = other.to_numpy(dtype=float, na_value=np.nan)
            found = np.searchsorted(inner, amounts, side="right")
            return np.where(
                np.isnan(amounts), len(named) - 1 if len(named) > len(names) else -1, found
            )

        return named, place
    levels = column.astype(object).where(column.notna(), MISSING).value_counts()
    rare = int(levels.iloc[_MOST_LEVELS - 1]) + 1 if len(levels) > _MOST_LEVELS else 1
    groups = merged_levels(column, max(least, rare))
    shown = list(dict.fromkeys(groups.values()))

    def place_level(other: pd.Series) -> np.ndarray:
        named = other.astype(object).where(other.notna(), MISSING).map(groups)
        codes = pd.Categorical(named.fillna(OTHERS), categories=shown).codes
        return np.asarray(codes, dtype=int)

    return shown, place_level
