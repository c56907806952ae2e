"""A run, its report and its pack of a file whose columns have names that mean something else to
Python, pandas or us.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from finished_run import ACCEPTED, ENTROPY, accepting

from riskweighted.release.pack import release_run
from riskweighted.reports.render import render_report
from riskweighted.runs.finished import load_run
from riskweighted.runs.run import run_study
from riskweighted.runs.study import make_study

pytestmark = pytest.mark.versions


def _file(names):
    rng = np.random.default_rng(1)
    region, age = rng.integers(0, 3, 90), rng.normal(size=90).round(3)
    smoker = np.where(rng.random(90) < 1 / (1 + np.exp(-age)), "YES", "NO")
    income = np.exp(6 + 0.5 * age + (region == 1) + 0.3 * rng.normal(size=90)).round(2)
    columns = [np.array(["a", "b", "c"])[region], age, rng.integers(1, 3, 90), smoker, income]
    return pd.DataFrame(dict(zip(names, columns, strict=True)))


NAMES = [
    ("class", "Intercept", "in", "None", "self"),
    ("a[b]", "a~b", "riskweighted weight", "it's", "e\u0301t\u0301"),
]


@pytest.mark.parametrize("names", NAMES, ids=["words", "signs"])
def test_columns_of_any_name_go_from_the_file_to_the_pack(names, tmp_path):
    data = _file(names)
    known, predictor, stays, levels, amount = names
    synthetic = [levels, amount] if "self" in names else [amount]  # a chain and a variable alone
    data.to_parquet(tmp_path / "data.parquet")
    settings = {
        "data": {"path": "data.parquet"},
        "scenario": {"known": [known], "synthetic": synthetic},
        "weights": {"schemes": ["pairwise"]},
        "sampling": {"draws": 200, "tune": 100, "chains": 2},
        "release": {"L": 2, "columns": [stays], "disclosure": ACCEPTED},
        "evaluation": {
            "regression": f"`{amount}` ~ `{known}` + C(`{stays}`)",
            "coefficient": f"C(`{stays}`)[T.2]",
            "resamples": 20,
        },
        "seed": 3,
    }
    model = {"model": "linear-regression", "transform": "log"}
    settings["synthesizer"] = {
        "name": "sequential",
        "predictors": [known, predictor],
        "variables": {amount: model},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_study(make_study(settings, tmp_path), tmp_path / "results", entropy=ENTROPY)
    assert "<html" in render_report(load_run(tmp_path / "results"))
    release_run(
        tmp_path / "results",
        tmp_path / "pack",
        formats=("parquet",),
        accept_uniques=True,
        **accepting(tmp_path / "results"),
    )
    (made, *_) = sorted(tmp_path.glob("pack/**/*.parquet"))
    assert set(pd.read_parquet(made).columns) == {known, stays, *synthetic}
