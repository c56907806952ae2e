"""The picture of the README, made of a finished run of the households that come with the package:
three records before and after, all incomes, and how often an intruder guesses right.

``python -m benchmarks.readme RUN --scheme SCHEME --out docs/screenshots/readme.png``
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from riskweighted.data.embedded import load_households
from riskweighted.runs.finished import load_run

__all__ = ["draw"]

_GREY, _BLUE, _INK = "#9a9a9a", "#1f5fa8", "#222222"
_ROWS = 3
_UP_TO = 150.0  # thousand dollars; 1 % of the incomes lie above


def draw(run: Path, scheme: str, out: Path) -> None:
    """Write the picture of a scheme of a run."""
    finished, data = load_run(run), load_households()
    synthetic = finished.synthetic[scheme][0]
    figure = Figure(figsize=(10.4, 3.5), layout="constrained", facecolor="white")
    rows, curves, bars = figure.subplots(1, 3, width_ratios=(1.35, 1, 1.1))
    _rows(rows, data, synthetic)
    _curves(curves, data["inc"], synthetic["inc"])
    _bars(bars, finished.tables["disclosure"], scheme)
    figure.savefig(out, dpi=150)


def _titled(ax: Axes, title: str) -> None:
    ax.set_title(title, fontsize=11, loc="left", color=_INK, fontweight="bold")


def _rows(ax: Axes, data: pd.DataFrame, synthetic: pd.DataFrame) -> None:
    _titled(ax, "Incomes are replaced, all else is kept")
    ax.axis("off")
    some = data.index[:_ROWS]
    columns = {"married": "married", "male": "male", "age_band": "age", "family_size": "persons"}
    cells = [
        [
            *(str(data.at[row, name]) for name in columns),
            f"{data.at[row, 'inc']:.1f}",
            f"{synthetic.at[row, 'inc']:.1f}",
        ]
        for row in some
    ]
    table = ax.table(
        cells,
        colLabels=[*columns.values(), "true\nincome", "synthetic\nincome"],
        cellLoc="center",
        colWidths=[0.16, 0.12, 0.15, 0.17, 0.18, 0.22],
        bbox=(0, 0.16, 1, 0.8),
    )
    table.auto_set_font_size(False)
    table.set_fontsize(9.5)
    for (row, column), cell in table.get_celld().items():
        cell.set_edgecolor("#dddddd")
        cell.set_text_props(color=_INK)
        if row == 0:
            cell.set_facecolor("#f2f2f2")
        if column == 4:
            cell.set_text_props(color="#8a8a8a")
        if column == 5:
            cell.set_text_props(color=_BLUE, fontweight="bold")
    ax.text(
        0, 0.07, "thousand dollars a year; true incomes are not released", fontsize=8.5, color=_INK
    )


def _curves(ax: Axes, true: pd.Series, made: pd.Series) -> None:
    _titled(ax, "The distribution stays")
    bins = np.linspace(0, _UP_TO, 51)
    ax.hist(true, bins, density=True, color=_GREY, alpha=0.6, label="true")
    ax.hist(
        made, bins, density=True, histtype="step", color=_BLUE, linewidth=1.8, label="synthetic"
    )
    ax.set_xlabel("income, thousand dollars", fontsize=9)
    ax.set_yticks([])
    ax.tick_params(labelsize=9)
    ax.spines[["left", "top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9)


def _bars(ax: Axes, table: pd.DataFrame, scheme: str) -> None:
    _titled(ax, "Guessed within 20 %")
    of = table[(table["label"] == scheme) & (table["group"] == "all")].iloc[0]
    shown = {
        "no release at all": (of["none"], _GREY),
        "release made\nwithout your record": (of["out"], "#7fa6d3"),
        "release made\nwith your record": (of["with"], _BLUE),
    }
    for place, (value, colour) in enumerate(shown.values()):
        ax.barh(place, value, color=colour, height=0.62)
        ax.text(value + 0.006, place, f"{value:.1%}", va="center", fontsize=10, color=_INK)
    ax.set_yticks(range(len(shown)), list(shown), fontsize=9)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.3 * of["with"])
    ax.set_xticks([])
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.set_xlabel(
        f"disclosure D = {of['D']:.1%} (standard error {of['se']:.2%})", fontsize=9, color=_INK
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="the folder of a finished run of the households")
    parser.add_argument("--scheme", default="mix+(t=0.5)")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    draw(given.run, given.scheme, given.out)
