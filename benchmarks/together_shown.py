"""The table and the map of `benchmarks.together`: `python -m benchmarks.together_shown FOLDER`
writes together.md and .svg there.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

__all__ = ["as_markdown", "draw_map"]

_COLUMNS = {
    "never": "never seen",
    "two-way": "two-way",
    "one-way": "one-way",
    "AUC": "AUC",
    "overlap": "overlap",
    "held out": "held out",
    "risk": "mean risk",
    "isolated": "isolated",
    "D": "D",
    "copied": "copied",
    "beyond": "beyond",
    "seconds": "seconds",
}
_DIGITS = {
    "never": 4,
    "seconds": 0,
    "two-way": 2,
    "one-way": 2,
    "overlap": 2,
    "held out": 2,
    "beyond": 2,
    "copied": 2,
}


def as_markdown(rows: pd.DataFrame) -> str:
    """A table a file: means over seeds, ± the standard deviation over them where it shows; D of one
    seed ± its standard error.
    """
    parts = [
        "# Files of several variables: ours and what others do",
        "Columns and files: `python -m benchmarks.together --help`.",
    ]
    for name, of_file in rows.groupby("data", sort=False):
        head = ["method", *_COLUMNS.values()]
        lines = [f"**{name}**", "", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
        for method, of_method in of_file.groupby("method", sort=False):
            values = of_method.groupby("measure")["value"].agg(["mean", "std"])
            cells = [_cell(values, measure) for measure in _COLUMNS]
            lines.append(f"| {method} | {' | '.join(cells)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _cell(values: pd.DataFrame, measure: str) -> str:
    if measure not in values.index:
        return "-"
    digits, mean = _DIGITS.get(measure, 3), values.loc[measure, "mean"]
    spread = values.loc[f"{measure} se", "mean"] if measure == "D" else values.loc[measure, "std"]
    told = f"{mean:.{digits}f}"
    return (
        told
        if np.isnan(spread) or spread < 0.5 * 10.0**-digits or measure == "seconds"
        else f"{told} ± {spread:.{digits}f}"
    )


def draw_map(rows: pd.DataFrame) -> Figure:
    """A panel a file: two-way distance over its null against disclosure beyond inference; lower and
    further left is better.
    """
    files = list(dict.fromkeys(rows["data"]))
    figure = Figure(figsize=(4.2 * len(files), 4), layout="constrained")
    for ax, name in zip(
        np.atleast_1d(figure.subplots(1, len(files), sharey=True)), files, strict=True
    ):
        values = rows[rows["data"] == name].pivot_table(
            index="method", columns="measure", values="value", sort=False
        )
        for method, row in values.dropna(subset=["D"]).iterrows():
            own = method == "ours"
            ax.errorbar(
                row["D"],
                row["two-way"],
                xerr=row["D se"],
                fmt="o",
                color="#b5361c" if own else "#4a6fa5",
                capsize=2,
            )
            ax.annotate(
                str(method),
                (row["D"], row["two-way"]),
                xytext=(5, 5),
                textcoords="offset points",
                fontsize=8,
            )
        ax.set(title=name, xlabel="D beyond inference, shuffled (five folds)", yscale="log")
        ax.yaxis.set(
            major_locator=LogLocator(subs=(1, 2, 5)),
            major_formatter=StrMethodFormatter("{x:g}"),
            minor_formatter=NullFormatter(),
        )
        ax.margins(x=0.2, y=0.1)
        ax.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    np.atleast_1d(figure.axes)[0].set_ylabel("two-way S_pMSE over its null")
    return figure


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.together_shown", description=__doc__
    )
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    rows = pd.read_csv(folder / "together.csv")
    (folder / "together.md").write_text(as_markdown(rows), encoding="utf-8")
    draw_map(rows).savefig(folder / "together.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
