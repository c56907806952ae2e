"""The first line on a misfit names the variable, what is off, and the group where it is most."""

from types import SimpleNamespace

import pandas as pd
import pytest

from riskweighted.commands.run import _model

pytestmark = pytest.mark.quick

ROWS = [
    ("fits", "", None, None, 3.0, 1.0, "misfits", "", ""),
    ("check-pairs", "region", 0.03, 0.21, 0.21, 0.07, "misfits", "region=west", "income"),
    ("check-mean", "sex=f", 12.0, 14.0, 0.2, 0.1, "misfits", "", "spending"),
    ("check-sd", "", 1.0, 1.01, 0.01, 0.1, "fits", "", "income"),
]
COLUMNS = [
    "check",
    "parameter",
    "confidential",
    "synthetic",
    "effect",
    "threshold",
    "verdict",
    "where",
    "variable",
]


def line(table):
    return _model(
        SimpleNamespace(fits=False, fit_check=table, summary=pd.DataFrame(index=["unweighted"]))
    )


def test_of_several_variables_the_line_names_which():
    table = pd.DataFrame(ROWS, columns=COLUMNS)
    text = line(table)
    assert "misfits in 2 of 3 checks" in text
    assert "income, pairs region: distance" in text
    assert "most by region;" in text
    assert "spending, mean sex: 12" in text
    alone = line(table.drop(columns="variable"))
    assert "worst are pairs region: distance" in alone
