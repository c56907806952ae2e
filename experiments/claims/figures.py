"""Figures of the claims: expected risk along the values, rises and falls, and isolated risk against
utility.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.claims.measured import STATISTICS, Measured
from experiments.claims.tables import RISES, Number, expected_of, groups_of, mean_of
from riskweighted.intruder.world import World
from riskweighted.plots.style import (
    CONFIDENTIAL_COLOUR,
    SchemeStyle,
    add_legend,
    add_note,
    finish,
    new_axes,
    printable,
    scheme_styles,
)

__all__ = ["draw_figures", "plot_changes", "plot_frontier", "plot_risk_by_value"]

SHOWN = ("unweighted", "marginal", "pairwise", "delete 5 %", "uniform 0.1")
_BINS = 40


def draw_figures(
    fits: Mapping[str, Measured],
    world: World,
    families: Mapping[str, Sequence[str]],
    case: str,
    out: Path,
) -> None:
    """All three of a case, as png in OUT/figures."""
    (out / "figures").mkdir(exist_ok=True)
    for name, figure in {
        "risk_by_value": plot_risk_by_value(fits, world),
        "changes": plot_changes(fits, world),
        "frontier": plot_frontier(fits, world, families),
    }.items():
        figure.savefig(out / "figures" / f"{name}_{case}.png", dpi=90, bbox_inches="tight")


def plot_risk_by_value(fits: Mapping[str, Measured], world: World) -> Figure:
    """Mean expected risk of groups of records of neighbouring values, by the rank of the value."""
    order = np.argsort(_values(world), kind="stable")
    parts = np.array_split(order, _BINS)
    middles = (np.arange(_BINS) + 0.5) / _BINS * 100
    ax = new_axes((9.0, 5.0))
    for label, style in _styles(fits).items():
        risk = fits[label].risk
        look = {
            "color": style.colour,
            "linestyle": style.line,
            "marker": style.marker,
            "markersize": 4.5,
        }
        ax.plot(middles, [risk[part].mean() for part in parts], label=printable(label), **look)
    finish(
        ax,
        f"rank of {world.scenario.synthetic[0]}, % of the records",
        "expected identification risk",
        grid="both",
    )
    ax.set_ylim(bottom=0)
    add_note(ax, f"Means of {len(order) / _BINS:.0f} records of neighbouring values each.")
    add_legend(ax, "beside", handlelength=4)
    return _figure(ax)


def plot_changes(fits: Mapping[str, Measured], world: World) -> Figure:
    """Expected risk less that under the unweighted synthesizer, record by record, under marginal
    and pairwise weights.
    """
    figure = Figure(figsize=(12.0, 5.2), layout="constrained")
    values, base = _values(world), fits["unweighted"].risk
    rank = (np.argsort(np.argsort(values, kind="stable"), kind="stable") + 0.5) / len(values) * 100
    styles = _styles(fits)
    for ax, label in zip(figure.subplots(1, 2, sharey=True), ("marginal", "pairwise"), strict=True):
        change = fits[label].risk - base
        ax.scatter(
            rank, change, s=6, color=styles[label].colour, alpha=0.4, linewidth=0, rasterized=True
        )
        ax.axhline(0, color=CONFIDENTIAL_COLOUR, linewidth=1)
        for least in RISES:
            for sign in (1, -1):
                ax.axhline(sign * least, color=CONFIDENTIAL_COLOUR, linewidth=1, linestyle=":")
        finish(
            ax,
            f"rank of {world.scenario.synthetic[0]}, % of the records",
            "change of expected risk" if label == "marginal" else "",
        )
        counts = ", ".join(
            f"{least:g}: {(change >= least).sum():,} and {(change <= -least).sum():,}"
            for least in RISES
        )
        add_note(ax, f"{label}: rises and falls by at least {counts} of {len(change):,} records.")
    return figure


def plot_frontier(
    fits: Mapping[str, Measured], world: World, families: Mapping[str, Sequence[str]]
) -> Figure:
    """U_m against the expected risk of isolated records along every family, with crosses of 2
    standard errors each way.
    """
    isolated, place = groups_of(world).isolated, STATISTICS.index("U_m")
    points = {
        label: (
            expected_of(found, lambda risk: risk[isolated].mean()),
            mean_of(found.statistics[:, place]),
        )
        for label, found in fits.items()
    }
    ax = new_axes((9.5, 5.4))
    colours = {
        "marginal, mixed in": "marginal",
        "pairwise to a power": "pairwise",
        "delete": "delete 5 %",
    }
    styles = _styles(fits)
    drawn = set()
    for family, labels in families.items():
        style = styles[colours[family]]
        drawn |= set(labels)
        _curve(
            ax, [points[label] for label in labels], family, style.colour, style.line, style.marker
        )
    others = [label for label in fits if label not in drawn]
    spare = scheme_styles([*SHOWN, *others])
    for label in others:
        style = spare[label]
        _curve(ax, [points[label]], label, style.colour, "", style.marker)
    for label in ("unweighted", "marginal", "pairwise"):
        x, y = points[label]
        ax.annotate(
            label, (x.value, y.value), xytext=(7, 7), textcoords="offset points", fontsize=10.5
        )
    finish(ax, "expected risk of isolated records", "U_m", grid="both")
    ax.set_ylim(bottom=0)
    add_note(ax, "Lower is better, both. Crosses: 2 standard errors each way.")
    add_legend(ax, "beside", handlelength=4)
    return _figure(ax)


def _curve(
    ax: Axes,
    points: Sequence[tuple[Number, Number]],
    label: str,
    colour: str,
    line: Any,
    marker: str,
) -> None:
    (x, xerr), (y, yerr) = (
        [[number[k] for number in column] for k in (0, 1)] for column in zip(*points, strict=True)
    )
    look = {"color": colour, "linestyle": line, "marker": marker, "markersize": 7, "elinewidth": 1}
    ax.errorbar(
        x, y, xerr=2 * np.array(xerr), yerr=2 * np.array(yerr), label=printable(label), **look
    )


def _styles(fits: Mapping[str, Measured]) -> dict[object, SchemeStyle]:
    return {label: style for label, style in scheme_styles(SHOWN).items() if label in fits}


def _values(world: World) -> np.ndarray:
    return world.confidential[world.scenario.synthetic[0]].to_numpy(dtype=float)


def _figure(ax: Axes) -> Figure:
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure
