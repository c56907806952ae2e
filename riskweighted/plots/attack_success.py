"""The figure that decides: how often attacks find a value from the release, from a release made
without the record, and from public statistics alone.
"""

from collections.abc import Sequence
from typing import Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns
from riskweighted.measures import disclosure_measures
from riskweighted.plots.style import (
    MULTIPLES,
    NOTE_SIZE,
    TICK_SIZE,
    OnAxes,
    add_legend,
    finish,
    new_axes,
    short_names,
)

__all__ = ["SIDES", "plot_attack_success"]

# what an intruder has, by measure: words, colour and hatch of its bar
SIDES = {
    disclosure_measures.WITH.key: ("the release", "#0072B2", ""),
    disclosure_measures.OUT.key: ("a release made without the record", "#56B4E9", "//"),
    disclosure_measures.NONE.key: ("public statistics alone", "#bbbbbb", ".."),
}
_BAR = 0.27


def plot_attack_success(
    risk: pd.DataFrame, labels: Sequence[str] | None = None, **axes: Unpack[OnAxes]
) -> Axes:
    """Draw the share of records whose value attacks find, for each label three bars: from the
    release, from one made without the record, and from public statistics alone; return the axes.

    Only the difference between the first two bars is about the record itself: it is D.

    Parameters
    ----------
    risk : DataFrame
        `Evaluation.risk` with disclosure, or ``tables/risk.csv`` of a run: label, key, value.
    labels : sequence of str, optional
        Those to show, from top to bottom; default all that are judged.
    **axes
        ``ax``, the axes to draw on, or ``figsize``, (width, height) of a new figure in inches.

    Raises
    ------
    InputError
        If a column is absent, a label is unknown, or no label is judged.

    Examples
    --------
    >>> shares = {
    ...     "attack-success": 0.33,
    ...     "attack-success-leave-one-out": 0.32,
    ...     "attack-success-no-release": 0.34,
    ... }
    >>> rows = [("mix+", key, share) for key, share in shares.items()]
    >>> risk = pd.DataFrame(rows, columns=["label", "key", "value"])
    >>> [float(bar.get_width()) for bar in rw.plot_attack_success(risk).patches]
    [0.33, 0.32, 0.34]
    """
    require_columns(risk, ["label", "key", "value"], "table of risk")
    rows = risk[risk["key"].isin(list(SIDES))].drop_duplicates(["label", "key"])
    wide = rows.pivot(index="label", columns="key", values="value").astype(float)
    shares = wide.reindex(index=rows["label"].unique(), columns=list(SIDES))
    judged = shares[[disclosure_measures.WITH.key, disclosure_measures.OUT.key]].notna().all(axis=1)
    known = list(shares.index[judged])
    if unknown := [label for label in labels or [] if label not in known]:
        raise InputError(
            f"disclosure of {listing(unknown)} was not judged; that of {listing(known)} was"
        )
    shares = shares.loc[known if labels is None else list(labels)]
    if shares.empty:
        raise InputError("disclosure was judged of no label, so no share of attacks is shown")
    ax = new_axes((5.2, 1.5 + 0.85 * len(shares)), **axes)
    if axes.get("ax") is None:
        ax.get_figure(root=True).set_label(MULTIPLES)  # type: ignore[union-attr]
    places = np.arange(len(shares))
    for turn, (key, (words, colour, hatch)) in enumerate(SIDES.items()):
        values = shares[key].to_numpy(dtype=float)
        bars = ax.barh(
            places + (turn - 1) * _BAR,
            np.nan_to_num(values),
            0.9 * _BAR,
            color=colour,
            hatch=hatch,
            edgecolor="#4d4d4d",
            linewidth=0.6,
            label=words,
        )
        texts = ["not measured" if np.isnan(value) else f"{100 * value:.3g} %" for value in values]
        ax.bar_label(bars, texts, padding=3, fontsize=NOTE_SIZE)
    finish(ax, "records whose value an attack finds, per cent", grid="x")
    ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g}")
    ax.set_xlim(0, 1.2 * max(float(np.nanmax(shares.to_numpy())), 1e-4))
    ax.set_yticks(places, list(short_names(shares.index).values()), fontsize=TICK_SIZE)
    ax.set_ylim(len(shares) - 0.5, -0.5)
    ax.set_title("Guessed from", loc="left", fontsize=NOTE_SIZE)
    add_legend(ax, "below", ncols=1, title=None)
    return ax
