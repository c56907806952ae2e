"""The risk-utility map of the peers' comparison, one panel for each data set."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from benchmarks.peers_methods import PLUG_IN
from riskweighted.plots.risk_utility import pareto_front
from riskweighted.plots.style import NOTE_SIZE, finish, printable, scheme_styles

__all__ = ["plot_any", "plot_peers"]

_MARKERS = ("o", "D", "s", "^", "P", "X")
_PEER_MARKERS = ("v", "<", ">", "h", "*", "p", "d", "8", "^", "H")
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
    paired = set(table.loc[table["measure"] == "identification risk", "method"])
    peers = [
        method
        for method in dict.fromkeys(table.loc[table["weights"] == "", "method"])
        if method in paired
    ]
    schemes = list(dict.fromkeys(table.loc[table["weights"] != "", "weights"]))
    colours = {scheme: style.colour for scheme, style in scheme_styles(schemes).items()}
    for ax, name in zip(panels, names, strict=True):
        rows = table[(table["data"] == name) & table["method"].isin(paired)]
        for (method, weights, parameters), point in rows.groupby(
            ["method", "weights", "parameters"], sort=False
        ):
            x, y = (
                float(point.loc[point["measure"] == measure, "value"].iloc[0])
                for measure in ("identification risk", "U_m")
            )
            marker = (
                _PEER_MARKERS[peers.index(method) % 10]
                if not weights
                else _MARKERS[ours.index(method) % 6]
            )
            colour = colours.get(weights, _PEER_COLOUR)
            hollow = bool(weights) and parameters == PLUG_IN
            ax.scatter(
                x,
                y,
                s=95,
                marker=marker,
                facecolor="none" if hollow else colour,
                edgecolor=colour if hollow else "black",
                zorder=2,
            )
        _logarithmic(ax)
        finish(ax, "Mean identification risk", "U_m", grid="both")
        ax.set_title(
            printable(f"{name} (lower is better, both)"), loc="left", fontsize=NOTE_SIZE + 1
        )
    handles = [_handle(_MARKERS[k % 6], "white", method) for k, method in enumerate(ours)]
    handles += [_handle("o", colours[scheme], scheme) for scheme in schemes]
    handles += [
        _handle(_PEER_MARKERS[k % 10], _PEER_COLOUR, method) for k, method in enumerate(peers)
    ]
    if ((table["weights"] != "") & (table["parameters"] == PLUG_IN)).any():
        handles.append(_handle("o", "none", "ours, hollow: plug-in"))
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=2 * len(names),
        fontsize=NOTE_SIZE,
        frameon=False,
    )
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


_LOSS = "two-way total variation"
_RISKS = {
    "DCAP, absent keys 0": "Correct attribution (DCAP), lower is safer",
    "copied records": "Share of copied records, lower is safer",
}


def plot_any(table: pd.DataFrame, path: Path) -> None:
    """What any data has, whether or not its rows pair: correct attribution and copies against the
    total variation of two-way tables.

    A row of panels for each data set that was measured so, with the frontier in each. Ours by
    weights (colour) and model (marker), without plug-in parameters; others in grey, those whose
    rows pair with none hollow.

    Parameters
    ----------
    table : DataFrame
        As `benchmarks.peers` makes it.
    path : Path
        Of the picture; the suffix says its kind.
    """
    places = ["data", "method", "weights", "parameters"]
    wide = (
        table[table["parameter"] == ""]
        .pivot(index=places, columns="measure", values="value")
        .reset_index()
    )
    wide = wide[(wide["weights"] == "") | (wide["parameters"] != PLUG_IN)].dropna(
        subset=[_LOSS, *_RISKS]
    )
    names = list(dict.fromkeys(wide["data"]))
    figure = Figure(figsize=(11, 4.4 * len(names)), layout="constrained")
    for row, name in zip(figure.subplots(len(names), 2, squeeze=False), names, strict=True):
        for ax, risk in zip(row, _RISKS, strict=True):
            itself = table.loc[
                (table["data"] == name) & (table["measure"] == risk), "confidential"
            ].iloc[0]
            _panel(ax, wide[wide["data"] == name], risk, itself)
        row[0].set_title(printable(name), loc="left", fontsize=NOTE_SIZE + 1)
        row[1].set_xscale("log")
        row[1].legend(
            fontsize=NOTE_SIZE - 1.5, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False
        )
    figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else None)


def _panel(ax: Axes, rows: pd.DataFrame, risk: str, itself: float) -> None:
    """One data set by one risk: a point a method, the confidential data, the frontier of the
    methods.
    """
    front = rows.sort_values([risk, _LOSS])
    front = front[pareto_front(front[risk].to_numpy(), front[_LOSS].to_numpy())]
    ax.plot(
        front[risk],
        front[_LOSS],
        color="black",
        linestyle="--",
        linewidth=1.2,
        zorder=1,
        label="frontier",
    )
    ax.scatter(itself, 0, s=90, marker="X", color="black", zorder=3, label="the confidential data")
    models = list(dict.fromkeys(rows.loc[rows["weights"] != "", "method"]))
    colours = scheme_styles(dict.fromkeys(rows["weights"]))
    others = list(dict.fromkeys(rows.loc[rows["weights"] == "", "method"]))
    for _, row in rows.sort_values(["weights", "method"], ascending=[False, True]).iterrows():
        ours, paired = row["weights"] != "", pd.notna(row["identification risk"])
        marker = (
            _MARKERS[models.index(row["method"])]
            if ours
            else _PEER_MARKERS[others.index(row["method"]) % 10]
        )
        colour = colours[row["weights"]].colour if ours else _PEER_COLOUR
        look = {
            "facecolor": colour if paired else "none",
            "edgecolor": "black" if paired else colour,
            "linewidth": 1.0 if paired else 2.0,
        }
        label = f"{row['method']}, {row['weights']}" if ours else row["method"]
        ax.scatter(row[risk], row[_LOSS], s=95, marker=marker, label=label, zorder=2, **look)
    finish(ax, _RISKS[risk], "Total variation of two-way tables, lower is more useful", grid="both")
    ax.margins(0.08)
