"""Utility figures: intervals against the confidential one (Hu et al. 2022, Fig. 7, 10), densities
and distribution functions.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy.stats import gaussian_kde

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns
from riskweighted.common.native import Frame, GivenFrames, as_pandas
from riskweighted.evaluation.measure_rows import CONFIDENTIAL
from riskweighted.intruder.pairing import as_frames
from riskweighted.plots.binning import Histogram, merged_histogram, shares_in_bins
from riskweighted.plots.style import (
    CONFIDENTIAL_COLOUR,
    Legend,
    OnAxes,
    Panel,
    SchemeStyle,
    add_legend,
    add_note,
    dress_all,
    finish,
    multiples,
    name_ticks,
    numbers,
    panel,
    printable,
    title,
)

__all__ = ["numeric_columns", "plot_density", "plot_ecdf", "plot_intervals"]

_POINTS = 400  # of a curve
_MOST_MARKED = 25  # bins, beyond which markers and ranges would hide them


def plot_intervals(
    utility: pd.DataFrame, measure: str, *, variable: str | None = None, **axes: Unpack[OnAxes]
) -> Axes:
    """Draw estimates and intervals of every label against the confidential one (Hu et al. 2022,
    Fig. 7, 10), and return the axes.

    A line and a band bounded by dashes for the confidential estimate and interval, a marker and a
    bar per label.

    Parameters
    ----------
    utility : DataFrame
        `Evaluation.utility`, or ``tables/utility.csv`` of a run: label, variable, measure, value,
        lower, upper.
    measure : str
        One that has intervals, for example "mean".
    variable : str, optional
        Needed where the measure is given for several.
    **axes
        ``ax``, the axes to draw on, or ``figsize``, (width, height) of a new figure in inches.

    Raises
    ------
    InputError
        If a column is absent, the measure or variable is unknown, or an interval is not finite.

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> rw.plot_intervals(rw.load_run(folder / "run").tables["utility"], "mean").get_xlabel()
    ''
    """
    require_columns(utility, ["label", "variable", "measure", "value", "lower", "upper"], "utility")
    with_interval = utility[utility["lower"].notna()]
    known = list(dict.fromkeys(with_interval["measure"]))
    if measure not in known:
        raise InputError(f"no intervals of the measure {measure!r}; valid are {listing(known)}")
    rows = with_interval[with_interval["measure"] == measure]
    variables = list(dict.fromkeys(rows["variable"]))
    if variable is None and len(variables) > 1:
        raise InputError(
            f"measure {measure!r} is given for several variables; set variable to one of "
            f"{listing(variables)}"
        )
    if variable is not None and variable not in variables:
        raise InputError(
            f"measure {measure!r} is not given for {variable!r}; valid are {listing(variables)}"
        )
    rows = rows[rows["variable"] == (variables[0] if variable is None else variable)]
    if rows["label"].duplicated().any():
        raise InputError(
            f"utility has label {listing(rows['label'][rows['label'].duplicated()].unique())} "
            f"more than once for {measure!r}"
        )
    bounds = pd.DataFrame(
        {name: numbers(rows[name], name) for name in ("value", "lower", "upper")},
        index=rows["label"],
    )
    if list(bounds.index) == [CONFIDENTIAL] or CONFIDENTIAL not in bounds.index:
        raise InputError(
            f"intervals are compared with that of {CONFIDENTIAL!r}: need it and another, got "
            f"{listing(bounds.index)}"
        )
    shown = bounds.index.drop(CONFIDENTIAL)
    ax, styles, names = panel(
        axes, dict.fromkeys(utility["label"]), (max(7.5, 2.5 + 1.2 * len(bounds)), 4.5), shown=shown
    )
    _draw_intervals(ax, bounds, styles)
    finish(ax, y=title(f"{measure} of {rows['variable'].iloc[0]}"))
    if "rule" in rows:
        rules = dict.fromkeys(rows.loc[rows["label"] != CONFIDENTIAL, "rule"].dropna())
        add_note(ax, *(f"Interval: {printable(rule)}." for rule in rules))
    name_ticks(ax, list(names.values()))
    return ax


def _draw_intervals(ax: Axes, bounds: pd.DataFrame, styles: Mapping[object, SchemeStyle]) -> None:
    true = bounds.loc[CONFIDENTIAL]
    ax.axhspan(true["lower"], true["upper"], color=CONFIDENTIAL_COLOUR, alpha=0.12, linewidth=0)
    ax.axhline(true["value"], color=CONFIDENTIAL_COLOUR, linewidth=2, label="confidential estimate")
    dashed: dict[str, Any] = {"color": CONFIDENTIAL_COLOUR, "linewidth": 1.5, "linestyle": "--"}
    ax.axhline(true["lower"], label="", **dashed)
    ax.axhline(true["upper"], label="confidential interval", **dashed)
    for position, (label, row) in enumerate(bounds.drop(index=CONFIDENTIAL).iterrows()):
        style = styles[label]
        length = np.abs([[row["value"] - row["lower"]], [row["upper"] - row["value"]]])
        ax.errorbar(
            position,
            row["value"],
            length,
            color=style.colour,
            linewidth=2.5,
            capsize=8,
            capthick=2.5,
            zorder=3,
        )
        ax.plot(position, row["value"], **style.points(10, zorder=4))
    add_legend(ax, "beside")


def plot_density(
    confidential: Frame,
    synthetic: "Mapping[str, GivenFrames]",
    variable: str,
    *,
    minimum_count: int | None = None,
    **axes: Unpack[OnAxes],
) -> Axes:
    """Draw the density of a variable in the confidential data (grey) and in L synthetic datasets
    per label, a panel for each label, and return the first panel's axes.

    A line is the mean over a label's datasets, a band reaches from the least to the greatest of
    them. Curves are Gaussian kernel estimates with Scott's bandwidth, reflected at the smallest and
    the largest value of a dataset, so that none has mass beyond a bound.

    Parameters
    ----------
    confidential : DataFrame, n rows
    synthetic : mapping of label to a DataFrame or list of L
    variable : str
        A numeric column.
    minimum_count : int, optional
        Draw histograms instead, on bins that hold at least this many confidential records each: see
        `riskweighted.plots.binning.merged_histogram`. Without it the figure spans the range of the
        confidential data.
    **axes
        ``ax``, axes on which all labels are drawn over one another, or ``figsize``, (width, height)
        of a new figure in inches.

    Raises
    ------
    InputError
        If the variable is absent, not numeric, not finite, or constant in a dataset.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, synthetic
    >>> rw.plot_density(data, {"drawn": synthetic}, "income").get_xlabel()
    'income'
    """
    confidential, synthetic = as_pandas(confidential), as_pandas(synthetic)
    true, others = numeric_columns(confidential, synthetic, variable)
    if minimum_count is not None:
        histogram = merged_histogram(true, minimum_count)
        width = np.diff(histogram.drawn_edges) / histogram.step
        curves = {
            label: [shares_in_bins(values, histogram) / width for values in sets]
            for label, sets in others.items()
        }
        panels = multiples(axes, others)
        for each in panels:
            _draw_bins(each, histogram, histogram.counts / len(true) / width, _of(each, curves))
        note = "The outer two bins are open-ended."
        if minimum_count > 1:
            note = f"Bins hold {minimum_count} confidential records or more. {note}"
        return _dressed(
            panels,
            variable,
            f"share of records per {histogram.step:g} units",
            others,
            note,
            "best",
        )
    for label, sets in {CONFIDENTIAL: [true], **others}.items():
        if any(np.ptp(values) == 0 for values in sets):
            raise InputError(
                f"{variable!r} is constant in a dataset of {label!r}, which has no density"
            )
    x = _view(true)
    curves = {label: [_kernel(values, x) for values in sets] for label, sets in others.items()}
    panels = multiples(axes, others)
    for each in panels:
        _draw_curves(each, x, _kernel(true, x), _of(each, curves))
    return _dressed(panels, variable, "density", others, _outside(x, others), "best")


def plot_ecdf(
    confidential: Frame,
    synthetic: "Mapping[str, GivenFrames]",
    variable: str,
    *,
    minimum_count: int | None = None,
    **axes: Unpack[OnAxes],
) -> Axes:
    """Draw the distribution function of a variable in the confidential data (grey) and in L
    synthetic datasets per label, a panel for each label, and return the first panel's axes.

    Parameters, returns and errors as in `plot_density`; with `minimum_count` the functions are
    given at the edges of the merged bins only, joined by straight lines.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, synthetic
    >>> rw.plot_ecdf(data, {"drawn": synthetic}, "income").get_ylabel()
    'share up to x'
    """
    confidential, synthetic = as_pandas(confidential), as_pandas(synthetic)
    true, others = numeric_columns(confidential, synthetic, variable)
    if minimum_count is not None:
        histogram = merged_histogram(true, minimum_count)
        x = histogram.edges[1:-1]
        exact = np.cumsum(histogram.counts)[:-1] / len(true)
        curves = {
            label: [np.cumsum(shares_in_bins(values, histogram))[:-1] for values in sets]
            for label, sets in others.items()
        }
        note = (
            f"Given where {minimum_count} confidential records or more lie between; the outer "
            "ends are not shown."
        )
    else:
        x = _view(true)
        exact = _share_up_to(true, x)
        curves = {
            label: [_share_up_to(values, x) for values in sets] for label, sets in others.items()
        }
        note = _outside(x, others)
    panels = multiples(axes, others)
    for each in panels:
        _draw_curves(each, x, exact, _of(each, curves))
        each.ax.set_ylim(-0.02, 1.02)
    return _dressed(panels, variable, "share up to x", others, note, "lower right")


def numeric_columns(
    confidential: pd.DataFrame, synthetic: "Mapping[str, GivenFrames]", variable: str
) -> tuple[np.ndarray, dict[str, list[np.ndarray]]]:
    """The variable's values in the confidential data, and in every synthetic dataset by label."""
    require_columns(confidential, [variable], "confidential data")
    if not isinstance(synthetic, Mapping) or not synthetic:
        raise InputError(
            "synthetic must be {label: DataFrame or list of DataFrames} with at least one label"
        )
    if CONFIDENTIAL in synthetic:
        raise InputError(
            f"the label {CONFIDENTIAL!r} is taken by the confidential data; choose another"
        )
    others: dict[str, list[np.ndarray]] = {}
    for label, frames in synthetic.items():
        for frame in as_frames(frames):
            require_columns(frame, [variable], f"synthetic data {label!r}")
            others.setdefault(label, []).append(
                numbers(frame[variable], f"{variable!r} of {label!r}")
            )
    return numbers(confidential[variable], f"{variable!r} of the confidential data"), others


def _view(true: np.ndarray) -> np.ndarray:
    """Points over the range of the confidential data and a little beyond."""
    margin = 0.05 * np.ptp(true)
    return np.linspace(true.min() - margin, true.max() + margin, _POINTS)


def _outside(x: np.ndarray, others: Mapping[str, Sequence[np.ndarray]]) -> str:
    """A remark on the synthetic values that the view cuts off."""
    beyond = sum(
        int(((values < x[0]) | (values > x[-1])).sum())
        for sets in others.values()
        for values in sets
    )
    total = sum(len(values) for sets in others.values() for values in sets)
    return f"{beyond:,} of {total:,} synthetic values lie beyond the range shown." if beyond else ""


def _of(panel_: Panel, curves: Mapping[str, Sequence[np.ndarray]]) -> dict[Any, Any]:
    """The curves of the labels that a panel shows."""
    return {label: curves[str(label)] for label in panel_.names}


def _kernel(values: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A kernel estimate at x, 0 beyond the values; what it would put there is reflected."""
    estimate, (least, most) = gaussian_kde(values), (values.min(), values.max())
    density = estimate(x) + estimate(2 * least - x) + estimate(2 * most - x)
    return np.where((x < least) | (x > most), 0.0, density)


def _share_up_to(values: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.searchsorted(np.sort(values), x, side="right") / len(values)


def _draw_curves(
    figure: Panel, x: np.ndarray, true: np.ndarray, curves: Mapping[str, Sequence[np.ndarray]]
) -> None:
    figure.ax.plot(x, true, color="#888888", linewidth=4, label="confidential")
    for number, (label, sets) in enumerate(curves.items()):
        style, every = figure.styles[label], max(1, len(x) // 12)
        figure.ax.fill_between(
            x,
            np.min(sets, axis=0),
            np.max(sets, axis=0),
            color=style.colour,
            alpha=0.2,
            linewidth=0,
        )
        marks = style.curve() | style.points(7, markevery=(number * every // len(curves), every))
        figure.ax.plot(x, np.mean(sets, axis=0), label=figure.names[label], **marks)


def _draw_bins(
    figure: Panel,
    histogram: Histogram,
    true: np.ndarray,
    curves: Mapping[str, Sequence[np.ndarray]],
) -> None:
    ax, edges = figure.ax, histogram.drawn_edges
    ax.stairs(
        true,
        edges,
        fill=True,
        color="#cccccc",
        edgecolor="#888888",
        linewidth=1.5,
        label="confidential",
    )
    for number, (label, sets) in enumerate(curves.items()):
        style, mean = figure.styles[label], np.mean(sets, axis=0)
        ax.stairs(mean, edges, baseline=None, **style.curve())
        places = edges[:-1] + np.diff(edges) * (number + 1) / (len(curves) + 1)
        if len(mean) > _MOST_MARKED:
            ax.plot([], [], label=figure.names[label], **style.curve())
            continue
        reach = np.abs(np.array([np.min(sets, axis=0), np.max(sets, axis=0)]) - mean)
        ax.errorbar(
            places, mean, reach, label=figure.names[label], **style.points(6, linestyle="none")
        )
    open_ended = ([0] if np.isinf(histogram.edges[0]) else []) + (
        [-1] if np.isinf(histogram.edges[-1]) else []
    )
    ax.bar(
        edges[:-1][open_ended],
        true[open_ended],
        np.diff(edges)[open_ended],
        align="edge",
        fill=False,
        hatch="///",
        linewidth=0,
    )


def _dressed(
    panels: Sequence[Panel],
    variable: str,
    y: str,
    others: Mapping[str, Sequence[np.ndarray]],
    note: str,
    legend: Legend,
) -> Axes:
    count = {len(sets) for sets in others.values()}
    datasets = f"{count.pop()} synthetic datasets" if len(count) == 1 else "the synthetic datasets"
    if len(panels) > 1:
        panels[0].ax.locator_params(axis="x", nbins=4)  # of all, which share it
        panels[0].ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.12g}")
    several = max(map(len, others.values())) > 1
    mean = f"Mean over {datasets}, and the range from least to greatest." if several else ""
    return dress_all(panels, title(variable), y, mean, note, legend=legend)
