"""The page of an assessment: one tool that adds 2 % noise to confidential values, one that draws
them from other records.
"""

from pathlib import Path

import numpy as np
from finished_run import chain_data
from typer.testing import CliRunner

from riskweighted.commands.main import app

VARIABLES = ("income", "cigs")


def planted_files(folder: Path) -> list[str]:
    """The arguments of `assess` for both tools, whose files are written to the folder."""
    rng, data = np.random.default_rng(1), chain_data()
    data.to_csv(folder / "confidential.csv", index=False)
    for number in range(2):
        amounts = data["income"] != -8  # a code stays what it is
        noisy = data.assign(
            income=data["income"].where(
                ~amounts, data["income"] * (1 + 0.02 * rng.normal(size=len(data)))
            )
        )
        rows = rng.integers(0, len(data), len(data))
        donors = data.assign(**{name: data[name].array[rows] for name in VARIABLES})
        for name, frame in (("noisy", noisy), ("donors", donors)):
            frame.to_csv(folder / f"{name}{number}.csv", index=False)
    named = (f"{name}={folder / name}0.csv,{folder / name}1.csv" for name in ("noisy", "donors"))
    tools = [text for each in named for text in ("--tool", each)]
    return [
        "assess",
        str(folder / "confidential.csv"),
        *tools,
        "--known",
        "region,age",
        "--synthetic",
        ",".join(VARIABLES),
    ]


def assessed_page(folder: Path, *options: str) -> str:
    """The page of the two tools."""
    done = CliRunner().invoke(
        app, [*planted_files(folder), *options, "--out", str(folder / "out"), "--quiet"]
    )
    assert done.exit_code == 0, done.output
    return (folder / "out" / "confidential" / "report.html").read_text(encoding="utf-8")
