"""The tables and the figure of docs/frontier.md from frontier.csv: `python -m
experiments.claims.frontier_shown [--figure PNG]`.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.claims.frontier import FRONTIER, families

__all__ = ["drawn", "means", "shown"]

_AXES = {
    "information_isolated": "information of an isolated record, mean",
    "information_largest": "largest information of a record",
}
TOLD = (
    *(
        "unweighted",
        "mix+(t=0.25)",
        "mix+(t=0.5)",
        "mix+(t=0.75)",
        "mix+(t=0.9)",
        "mix(t=0.5)",
        "3-way+",
        "pairwise+",
        "pairwise",
    ),
    *(
        "power+(g=0.25)",
        "power+(g=0.5)",
        "power(g=0.5)",
        "marginal+",
        "marginal",
        "others-in-ball+",
        "others-in-ball",
        "drop-riskiest+(q=0.05)",
        "drop-riskiest(q=0.05)",
    ),
    *("lipschitz", "lipschitz-target(D=2)"),
    *(
        "bounded+(b=0.3)",
        "bounded+(b=0.1)",
        "bounded+(b=0.03)",
        "bounded(b=0.1)",
        "budget+(b=0.5)",
        "budget+(b=0.2)",
        "budget+(b=0.05)",
    ),
    *("budget(b=0.2)", "uniform(c=0.5)", "uniform(c=0.2)", "uniform(c=0.1)", "uniform(c=0.03)"),
)  # what docs/frontier.md holds
_REACH = 300  # times below the unweighted fit's information, that the figure shows
_NAMES = {"demo": "401ksubs, 9,275 households", "SD2011": "SD2011, 4,317 records with a code"}
_FAMILIES = (
    "mix",
    "power",
    "pairwise",
    "3-way",
    "marginal",
    "others-in-ball",
    "drop-riskiest",
    "lipschitz-target",
    "lipschitz",
    "reweighted",
)
_COLOURS = (
    "#1b6ca8",
    "#d1495b",
    "#2a9d4a",
    "#8a5fbf",
    "#7a4a12",
    "#e08a1e",
    "#999999",
    "#17a2b8",
    "#b08968",
    "#c77dba",
)
_COLOUR = dict(
    zip(
        (*_FAMILIES, "bounded", "budget", "uniform"),
        (*_COLOURS, "#000000", "#6b8e23", "#ff5da2"),
        strict=True,
    )
)


def means(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds, a row a file and scheme, in the order in which families are listed."""
    numbers = rows.select_dtypes("number").columns.drop("seed")
    table = rows.groupby(["data", "family", "scheme"], sort=False)[list(numbers)].mean()
    table["seeds"] = rows.groupby(["data", "family", "scheme"], sort=False).size()
    table["converged"] = rows.groupby(["data", "family", "scheme"], sort=False)["converged"].all()
    return table.reset_index()


def shown(table: pd.DataFrame, name: str, schemes: Sequence[str] = ()) -> str:
    """One file's table as Markdown, of all schemes or of some."""
    part = table[(table["data"] == name) & table["U_m"].notna()]
    order = ("unweighted", *(scheme for of in families().values() for scheme in of))
    part = part.set_index("scheme").reindex(
        [scheme for scheme in schemes or order if scheme in set(part["scheme"])]
    )
    lines = [
        "| scheme | U_m | overlap | .9 quantile | .99 quantile | information, isolated | largest "
        "| attributable, isolated | Delta |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in part.itertuples():
        told = (row.information_isolated, row.information_largest, row.attributable_isolated)
        cells = [
            f"`{row.Index}`",
            f"{row.U_m:.4f}",
            f"{row.overlap:.2f}",
            f"{100 * row.q90:+.1f} %",
            f"{100 * row.q99:+.1f} %",
        ]
        lines.append(f"| {' | '.join([*cells, *map(_thousandth, told), f'{row.Delta:.1f}'])} |")
    return "\n".join(lines)


def _thousandth(value: float) -> str:
    return f"{1000 * value:.2f}".rstrip("0").rstrip(".") if value < 0.1 else f"{1000 * value:.0f}"


def drawn(table: pd.DataFrame) -> Figure:
    """U_m against information: a column a file, the isolated records' mean above, the largest of a
    record below.
    """
    names = [name for name in _NAMES if (table["data"] == name).any()]
    figure = Figure(figsize=(7.2 * len(names), 9.4), layout="constrained")
    axes = figure.subplots(2, len(names), squeeze=False)
    for column, name in enumerate(names):
        part = table[(table["data"] == name) & table["U_m"].notna()]
        for row, (axis, words) in enumerate(_AXES.items()):
            _panel(axes[row, column], part, axis)
            axes[row, column].set(
                xlabel=f"{words} (lower is better)",
                ylabel="U_m (lower is better)",
                title=_NAMES[name],
            )
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=7, frameon=False, fontsize=9)
    return figure


def _panel(ax: Axes, part: pd.DataFrame, axis: str) -> None:
    """Centred families as filled points on full lines, plain ones hollow on broken lines; the
    unweighted fit as a star.
    """
    start = part[part["scheme"] == "unweighted"].iloc[0]
    for family, schemes in families().items():
        rows = part.set_index("scheme").reindex(list(schemes)).dropna(subset=["U_m"])
        if rows.empty:
            continue
        base, centred = family.removesuffix("+"), family.endswith("+") or family == "uniform"
        look: dict[str, Any] = {
            "color": _COLOUR[base],
            "markersize": 6 if centred else 5,
            "linewidth": 1.6 if centred else 0.9,
        }
        look |= {
            "marker": "o",
            "linestyle": "-" if centred else ":",
            "markerfacecolor": _COLOUR[base] if centred else "white",
        }
        label = f"{base}, centred" if family.endswith("+") else base
        ax.plot(
            [start[axis], *rows[axis]],
            [start["U_m"], *rows["U_m"]],
            label=label,
            alpha=0.95 if centred else 0.6,
            **look,
        )
    ax.plot(
        start[axis],
        start["U_m"],
        marker="*",
        markersize=16,
        color="black",
        linestyle="none",
        label="unweighted",
        zorder=5,
    )
    ax.set_xscale("log")
    ax.set_xlim(start[axis] / _REACH, 2 * start[axis])  # beyond, weights leave nothing
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.yaxis.set_minor_formatter(
        lambda value, _: f"{value:g}" if f"{value:.0e}"[0] in "235" else ""
    )
    ax.grid(which="major", color="#e6e6e6", linewidth=0.7)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.claims.frontier_shown", description=__doc__
    )
    parser.add_argument("--results", type=Path, default=FRONTIER)
    parser.add_argument("--figure", type=Path, help="where the figure goes")
    parser.add_argument("--all", action="store_true", help="every scheme")
    given = parser.parse_args()
    table = means(pd.read_csv(given.results))
    for name in table["data"].unique():
        print(f"\n{_NAMES[name]}\n\n{shown(table, name, () if given.all else TOLD)}")
    if given.figure is not None:
        drawn(table).savefig(given.figure, dpi=90, metadata={"Software": None})


if __name__ == "__main__":
    main()
