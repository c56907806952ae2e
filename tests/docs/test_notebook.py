"""The notebook of the documentation, cell by cell: each runs, and what ends one shows itself."""

import ast
import json
import warnings
from pathlib import Path

import matplotlib as mpl
import pandas as pd
import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"


def run_cell(source: str, names: dict[str, object]) -> object:
    """What the last expression of a cell gives; None where it ends in a statement."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return (
        None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    )


def test_every_cell_runs_and_shows_its_object(capsys):
    mpl.use("Agg")
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    names: dict[str, object] = {}
    shown = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, cell in enumerate(cells):
            assert not cell.get("outputs"), "the notebook is kept without what it printed"
            if cell["cell_type"] == "code":
                shown[number] = run_cell("".join(cell["source"]), names)
    mpl.pyplot.close("all")
    cards = [
        each
        for each in shown.values()
        if hasattr(each, "_repr_html_") and not isinstance(each, pd.DataFrame)
    ]
    assert [type(each).__name__ for each in cards] == ["Scenario", "Fit", "Evaluation", "Figure"]
    assert names["fit"].converged
    summary = next(each for each in shown.values() if isinstance(each, pd.DataFrame))
    assert "slope[C(married)[1]]" in summary.index
    assert capsys.readouterr().out == ""  # progress is told by a kernel alone


@pytest.mark.quick
def test_it_is_a_notebook_of_version_4():
    read = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert (read["nbformat"], read["metadata"]["kernelspec"]["language"]) == (4, "python")
    assert len({cell["id"] for cell in read["cells"]}) == len(read["cells"])
