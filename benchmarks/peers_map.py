"""The risk-utility map of the peers' comparison, one panel for each data set."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from benchmarks.peers_methods import PLUG_IN
from riskweighted.plots.style import NOTE_SIZE, finish, printable, scheme_styles

__all__ = ["plot_peers"]

_MARKERS = ("o", "D", "s", "^", "P", "X")
_PEER_MARKERS = ("v", "<", ">", "h", "*")
_PEER_COLOUR = "#777777"
_TICKS = [base * 10.0**power for power in (-3, -2, -1, 0) for base in (1, 2, 5)]


def plot_peers(table: pd.DataFrame, path: Path) -> None:
    """Mean identification risk against U_m, both better when lower.

    Ours by model (marker) and weights (colour), with plug-in parameters hollow; peers in grey.

    Parameters
    ----------
    table : DataFrame
        As `benchmarks.peers` makes it.
    path : Path
        Of the picture.
    """
    names = list(dict.fromkeys(table["data"]))
    figure = Figure(figsize=(5.2 * len(names), 6.4), layout="constrained")
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    ours = list(dict.fromkeys(table.loc[table["weights"] != "", "method"]))
    peers = list(dict.fromkeys(table.loc[table["weights"] == "", "method"]))
    schemes = list(dict.fromkeys(table.loc[table["weights"] != "", "weights"]))
    colours = {scheme: style.colour for scheme, style in scheme_styles(schemes).items()}
    for ax, name in zip(panels, names, strict=True):
        rows = table[table["data"] == name]
        for (method, weights, parameters), point in rows.groupby(["method", "weights", "parameters"], sort=False):
            x, y = (float(point.loc[point["measure"] == measure, "value"].iloc[0]) for measure in ("identification risk", "U_m"))
            marker = _PEER_MARKERS[peers.index(method) % 5] if not weights else _MARKERS[ours.index(method) % 6]
            colour = colours.get(weights, _PEER_COLOUR)
            hollow = bool(weights) and parameters == PLUG_IN
            ax.scatter(x, y, s=95, marker=marker, facecolor="none" if hollow else colour, edgecolor=colour if hollow else "black", zorder=2)
        _logarithmic(ax)
        finish(ax, "Mean identification risk", "U_m", grid="both")
        ax.set_title(printable(f"{name} (lower is better, both)"), loc="left", fontsize=NOTE_SIZE + 1)
    handles = [_handle(_MARKERS[k % 6], "white", method) for k, method in enumerate(ours)]
    handles += [_handle("o", colours[scheme], scheme) for scheme in schemes]
    handles += [_handle(_PEER_MARKERS[k % 5], _PEER_COLOUR, method) for k, method in enumerate(peers)]
    if ((table["weights"] != "") & (table["parameters"] == PLUG_IN)).any():
        handles.append(_handle("o", "none", "ours, hollow: plug-in"))
    figure.legend(handles=handles, loc="outside lower center", ncols=2 * len(names), fontsize=NOTE_SIZE, frameon=False)
    figure.savefig(path, dpi=120)


def _logarithmic(ax: Axes) -> None:
    """Both axes in logarithms, with room around the points and ticks in plain numbers."""
    for axis, scale in ((ax.xaxis, ax.set_xscale), (ax.yaxis, ax.set_yscale)):
        scale("log")
        axis.set_major_locator(FixedLocator(_TICKS))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_locator(NullLocator())
    ax.margins(0.1)
    low, high = ax.get_ylim()
    ax.set_ylim(min(low, 0.0098), max(high, 0.052))
    low, high = ax.get_xlim()
    ax.set_xlim(min(low, 0.098), max(high, 0.52))


def _handle(marker: str, colour: str, label: str) -> Line2D:
    look = {"markerfacecolor": colour, "markeredgecolor": "black", "markersize": 9.0}
    return Line2D([], [], marker=marker, linestyle="", label=printable(label), **look)  # type: ignore[arg-type]
