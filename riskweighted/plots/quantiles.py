"""Quantiles of the synthetic data against those of the confidential data, on a logarithmic scale,
so that tails are seen.
"""

from collections.abc import Mapping
from typing import Unpack

import numpy as np
from matplotlib.axes import Axes

from riskweighted.common.errors import InputError
from riskweighted.common.native import Frame, GivenFrames, as_pandas
from riskweighted.common.numbers import rounded_from, shared_digits
from riskweighted.evaluation.fit_statistics import QUANTILES
from riskweighted.plots.style import OnAxes, dress_all, mark_powers, multiples, title
from riskweighted.plots.utility_plots import numeric_columns

__all__ = ["plot_quantiles", "shown_quantiles"]

_TAIL, _MIDDLE = 30, 200  # points at each end, and between


def shown_quantiles(values: np.ndarray, minimum_count: int) -> dict[float, tuple[float, float]]:
    """Between what the quantiles lie that may be shown, with so many values beyond each: all
    numbers that are the same in the digits that `minimum_count` values share. A rounded number
    beside an exact one would read as a difference.
    """
    quantiles = {
        q: float(np.quantile(values, q))
        for q in QUANTILES
        if min(q, 1 - q) * len(values) >= minimum_count
    }
    digits = {q: shared_digits(value, values, minimum_count) for q, value in quantiles.items()}
    return {q: rounded_from(value, digits[q]) for q, value in quantiles.items() if digits[q]}


def plot_quantiles(
    confidential: Frame,
    synthetic: "Mapping[str, GivenFrames]",
    variable: str,
    *,
    minimum_count: int | None = None,
    **axes: Unpack[OnAxes],
) -> Axes:
    """Draw quantiles of L synthetic datasets per label (their mean) against the confidential ones
    of the same shares, a panel for each label; return the first panel's axes.

    Logarithmic, about zero linear where values are zero or negative. A label on the line y = x has
    the confidential distribution.

    Parameters
    ----------
    confidential : DataFrame, n rows
    synthetic : mapping of label to a DataFrame or list of L
    variable : str
        A numeric column.
    minimum_count : int, optional
        Show the quantiles .01 to .99 only, those with this many confidential records beyond them,
        each as the interval of numbers that are the same in the digits that as many share. Without
        it all values are shown, the largest one by one.
    **axes
        ``ax``, axes on which all labels are drawn, or ``figsize``, (width, height) of a new figure
        in inches.

    Raises
    ------
    InputError
        If the variable is absent, not numeric or not finite, or fewer than two quantiles may be
        shown.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, synthetic
    >>> rw.plot_quantiles(data, {"drawn": synthetic}, "income").get_xlabel()
    'income, confidential quantile'
    """
    confidential, synthetic = as_pandas(confidential), as_pandas(synthetic)
    true, others = numeric_columns(confidential, synthetic, variable)
    if minimum_count is None:
        shares = _shares(len(true))
        ends = np.tile(np.quantile(true, shares), (2, 1))
    else:
        shown = shown_quantiles(true, minimum_count)
        shares, ends = np.array(list(shown)), np.array(list(shown.values())).reshape(-1, 2).T
        if len(set(shown.values())) < 2:
            raise InputError(
                f"fewer than 2 quantiles of {variable!r} may be shown: too few confidential "
                "records lie beyond the others"
            )
    curves = {
        label: np.mean([np.quantile(values, shares) for values in sets], axis=0)
        for label, sets in others.items()
    }
    panels = multiples(axes, curves, (3.5, 3.2))
    x = ends.mean(axis=0)
    corners = [
        min(map(np.min, [ends, *curves.values()])),
        max(map(np.max, [ends, *curves.values()])),
    ]
    size, line = (4, "") if minimum_count is None else (8, None)
    for ax, styles, names in panels:
        _scale(ax, true, [*ends, *curves.values()])
        if len(panels) > 1:
            ax.tick_params(axis="x", labelrotation=45)
        ax.plot(corners, corners, color="#888888", linewidth=2.5, label="the same")
        for label, name in names.items():
            y, style = curves[str(label)], styles[label]
            marks = style.points(
                size, markeredgewidth=0.4, linestyle=style.line if line is None else line
            )
            ax.plot(x, y, label=name, **marks)
            if minimum_count is not None:
                ax.hlines(y, *ends, color=style.colour, linewidth=2)
    note = "Every value"
    if minimum_count is not None:
        note = (
            f"Quantiles {shares[0]:g} to {shares[-1]:g}; bars: the confidential one, in digits "
            f"that {minimum_count} records share"
        )
    note += "; on the line the distributions are the same."
    x_name = title(f"{variable}, confidential quantile")
    return dress_all(
        panels,
        x_name,
        "synthetic quantile",
        note,
        grid="both",
        legend="beside",
        markerscale=2 if minimum_count is None else 1,
    )


def _shares(n: int) -> np.ndarray:
    """Shares below the values of n records: each of those at the ends, and some between."""
    every = (np.arange(n) + 0.5) / n
    if n <= 2 * _TAIL + _MIDDLE:
        return np.asarray(every)
    return np.concatenate(
        [every[:_TAIL], np.linspace(every[_TAIL], every[-_TAIL - 1], _MIDDLE), every[-_TAIL:]]
    )


def _scale(ax: Axes, true: np.ndarray, shown: list[np.ndarray]) -> None:
    """Logarithmic, or about zero linear to the scale of the confidential values, which is not shown
    exactly.
    """
    least = float(min(values.min() for values in shown))
    if least > 0:
        ax.set(xscale="log", yscale="log")
        for axis in (ax.xaxis, ax.yaxis):
            mark_powers(axis, least, float(max(values.max() for values in shown)))
        return
    middle = float(np.quantile(np.abs(true), 0.5)) or 1.0
    linear = 10.0 ** np.floor(np.log10(middle))
    ax.set_xscale("symlog", linthresh=linear)
    ax.set_yscale("symlog", linthresh=linear)
