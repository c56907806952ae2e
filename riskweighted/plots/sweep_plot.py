"""How a measure moves with a setting, over repetitions: the radius r, the number of datasets L."""

from typing import Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from riskweighted.common.checks import is_number
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns
from riskweighted.plots.style import OnAxes, dress, numbers, panel, title

__all__ = ["plot_sweep"]


def plot_sweep(
    table: pd.DataFrame,
    setting: str,
    measure: str,
    *,
    quantiles: tuple[float, float] | None = None,
    **axes: Unpack[OnAxes],
) -> Axes:
    """Draw a measure against a setting, one line per label, with Monte Carlo bands, and return the
    axes.

    Lines are means over the repetitions. A single repetition has the band of its standard error,
    where there is a column ``error``.

    Parameters
    ----------
    table : DataFrame
        Tidy: the column `setting` (numbers), label, measure, value, repetition. Of a grid over
        further settings, or a measure of several variables, pass the rows of one.
    setting : str
        Column on the x axis, for example "radius" or "L".
    measure : str
        One of the column "measure".
    quantiles : (low, high), optional
        Bounds of the band, for example (0.05, 0.95); default is mean - 2 sd to mean + 2 sd over the
        repetitions (sd with ddof = 1).
    **axes
        ``ax``, the axes to draw on, or ``figsize``, (width, height) of a new figure in inches.

    Raises
    ------
    InputError
        If a column is absent, the measure is unknown, a value is not finite, or a repetition stands
        there twice.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {
    ...         "radius": [0.1, 0.2],
    ...         "label": "marginal",
    ...         "measure": "mean risk",
    ...         "value": [0.1, 0.2],
    ...         "repetition": 1,
    ...     }
    ... )
    >>> rw.plot_sweep(table, "radius", "mean risk").get_xlabel()
    'radius'
    """
    require_columns(table, [setting, "label", "measure", "value", "repetition"], "sweep table")
    if quantiles is not None and not (
        len(quantiles) == 2
        and all(map(is_number, quantiles))
        and 0 <= quantiles[0] < quantiles[1] <= 1
    ):
        raise InputError(
            f"quantiles must be (low, high) with 0 <= low < high <= 1, got {quantiles!r}"
        )
    rows = table[table["measure"] == measure]
    if rows.empty:
        raise InputError(
            f"the sweep table has no measure {measure!r}; valid are "
            f"{listing(dict.fromkeys(table['measure']))}"
        )
    numbers(rows[setting], repr(setting))
    numbers(rows["value"], f"values of {measure!r}")
    repeated = int(rows.duplicated([setting, "label", "repetition"]).sum())
    if repeated:
        raise InputError(
            f"{repeated} rows of {measure!r} repeat a {setting!r}, label and repetition; "
            "pass the rows of one variable and of one point in the other settings"
        )
    ax, styles, names = panel(
        axes, dict.fromkeys(table["label"]), shown=dict.fromkeys(rows["label"])
    )
    for label, group in rows.groupby("label", sort=False):
        style, band = styles[label], _band(group, setting, quantiles)
        x = band.index.to_numpy(dtype=float)
        ax.fill_between(x, band["low"], band["high"], color=style.colour, alpha=0.2, linewidth=0)
        ax.plot(x, band["mean"], label=names[label], **style.curve() | style.points(9))
    ax.locator_params(axis="x", nbins=6)
    errors = "error" in rows and rows["error"].notna().any()
    note = _explanation(rows.groupby([setting, "label"]).size(), quantiles, errors)
    return dress(
        ax, title(setting), title(measure), note, grid="both", legend="beside", handlelength=4
    )


def _band(group: pd.DataFrame, setting: str, quantiles: tuple[float, float] | None) -> pd.DataFrame:
    """Mean and bounds of the value by setting; of one repetition by its standard error, NaN
    without.
    """
    values = group.groupby(setting)["value"]
    mean = values.mean()
    alone = values.size() == 1
    if quantiles is None or alone.all():
        spread = 2 * values.std()
        if "error" in group:
            spread = spread.mask(alone, 2 * group.groupby(setting)["error"].mean())
        return pd.DataFrame({"mean": mean, "low": mean - spread, "high": mean + spread})
    low, high = (values.quantile(share).where(values.size() > 1) for share in quantiles)
    return pd.DataFrame({"mean": mean, "low": low, "high": high})


def _explanation(
    repetitions: pd.Series, quantiles: tuple[float, float] | None, errors: bool
) -> str:
    least, most = int(np.min(repetitions)), int(np.max(repetitions))
    if most == 1:
        band = "bands: 2 standard errors" if errors else "no Monte Carlo band"
        return f"One repetition each: {band}."
    count = f"{most}" if least == most else f"{least} to {most}"
    band = (
        "mean - 2 sd to mean + 2 sd"
        if quantiles is None
        else f"{100 * quantiles[0]:g} % to {100 * quantiles[1]:g} % quantile"
    )
    return f"Lines: mean of {count} repetitions; bands: {band} over them."
