"""What `check` says of a file that its study does not."""

import numpy as np
import pandas as pd
import pytest

from riskweighted.runs.study import make_study
from riskweighted.runs.undeclared import remarks

N = 400


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    age = rng.integers(20, 80, N)
    income = np.where(rng.random(N) < 0.2, -8, np.exp(rng.normal(10, 0.5, N)).round(-1))
    columns = {
        "id": np.arange(N) + 1000,
        "hhwt": rng.uniform(0.5, 2, N).round(3),
        "age": age,
        "age_band": age // 20,
    }
    return pd.DataFrame(columns | {"sex": rng.choice(["m", "f"], N), "income": income})


def told(data, folder, **changed):
    study = {
        "data": {"path": "x.csv"},
        "scenario": {"known": ["sex"], "synthetic": "income", "min_radius": 1.0},
        "synthesizer": {
            "name": "linear-regression",
            "formula": "income ~ age + age_band",
            "transform": "asinh",
        },
        "release": {"L": 2, "columns": ["id"]},
    }
    return remarks(make_study(study | changed, folder), data)


def test_codes_identifiers_weights_and_recodes_are_named_without_a_value(data, tmp_path):
    offered, codes, identifiers, weights, recodes = told(data, tmp_path)
    assert "hhwt (weight)" in offered
    assert codes.startswith("income has 1 likely code (")
    assert "8" not in codes.split("(")[0]
    assert "'id'" in identifiers
    assert "'hhwt'" in weights
    assert "age_band from age" in recodes


def test_a_study_that_says_it_all_is_told_nothing(data, tmp_path):
    assert not told(
        data,
        tmp_path,
        scenario={
            "known": ["sex"],
            "synthetic": "income",
            "min_radius": 1.0,
            "codes": {"income": [-8]},
        },
        synthesizer={"name": "linear-regression", "formula": "income ~ age", "transform": "asinh"},
        release={"L": 2, "columns": ["hhwt"]},
        weights={"survey": "hhwt", "schemes": ["unweighted"]},
    )


def test_under_a_guarantee_nothing_is_looked_for(data, tmp_path):
    assert not told(data, tmp_path, guarantee={"epsilon": 5.0})
