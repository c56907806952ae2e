"""`init` finds what holds together: rules stand in the study file, and a recode never empties a
formula.
"""

import tomllib

import numpy as np
import pandas as pd
import pytest

from riskweighted.runs.study import make_study
from riskweighted.suggest.columns import look_at
from riskweighted.suggest.study_file import carries_values, study_file_text
from riskweighted.suggest.suggestion import suggest

N = 1200


def file(seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = 5 * rng.integers(4, 18, N)
    region = rng.choice(list("NESW"), N)
    sex = rng.choice(["m", "f"], N)
    income = np.round(
        np.exp(8 + 0.01 * age + 0.3 * (sex == "m") + 0.3 * (region == "N") + rng.normal(0, 0.4, N))
    )
    frame = {
        "sex": sex,
        "region": region,
        "age": age,
        "children": rng.poisson(1, N),
        "cars": rng.poisson(1, N),
        "Income": income,
    }
    return pd.DataFrame(frame)


@pytest.mark.parametrize("recode", ["code", "half", "band", "both"])
def test_a_recode_of_a_predictor_is_left_out_and_named(recode):
    data = file()
    made = {
        "code": data["region"].map({"N": 1, "E": 2, "S": 3, "W": 4}),
        "half": np.where(data["region"].isin(["N", "E"]), "upper", "lower"),
        "band": pd.cut(data["age"], [0, 30, 50, 99], labels=["young", "middle", "old"]).astype(str),
        "both": data["children"] + data["cars"],
    }
    plain = suggest(data, look_at(data), ["Income"])
    mended = data.assign(**{recode: made[recode]})
    told = suggest(mended, look_at(mended), ["Income"])
    assert {"sex", "region", "age"} <= set(plain.predictors)
    if recode != "both":  # which of the three leaves is open: one does at most
        assert set(told.predictors) == set(plain.predictors)
        # unless another column leaves already
        assert recode in told.told_by or set(told.predictors) - set(told.known)
    assert len(set(told.predictors) - set(told.known)) <= 1
    assert "~ 1" not in told.formula


def test_rules_stand_in_the_study_and_each_can_be_struck_out(tmp_path):
    data, rng = file(), np.random.default_rng(3)
    data["tax"] = np.where(data["Income"] < 5000, 0, (data["Income"] * 0.2 * rng.random(N)).round())
    data["rest"] = data["Income"] - data["tax"]
    data["paid"] = np.where(data["tax"] == 0, 0, rng.lognormal(5, 1, N).round())
    path = tmp_path / "data.csv"
    data.to_csv(path, index=False)
    targets = ["Income", "tax", "paid", "rest"]
    suggestion = suggest(data, look_at(data), targets)
    assert carries_values(suggestion)
    text = study_file_text(suggestion, path, tmp_path)
    chain = make_study(tomllib.loads(text), tmp_path).make_synthesizer()
    assert ("Income", "tax", "rest") in [rule.names for rule in chain.rules.rules]
    assert chain.rules.broken(data) == ()
    lines = text.splitlines()
    struck = next(
        number
        for number, line in enumerate(lines)
        if line.startswith('  ["Income", "tax", "rest"]')
    )
    fewer = make_study(
        tomllib.loads("\n".join(lines[:struck] + lines[struck + 1 :])), tmp_path
    ).make_synthesizer()
    assert len(fewer.rules.rules) == len(chain.rules.rules) - 1
    assert 0.0 in chain.codes["paid"]
    assert 0.0 in chain.codes["tax"]


def test_a_rule_that_one_record_breaks_is_said_and_not_kept(tmp_path):
    data = file()
    data["paid"] = (data["Income"] * np.random.default_rng(5).random(N)).round()
    data.loc[3, "paid"] = 1e6
    text = study_file_text(
        suggest(data, look_at(data), ["Income", "paid"]), tmp_path / "data.csv", tmp_path
    )
    assert "1 record breaks it: paid <= Income" in text
    assert "order" not in tomllib.loads(text)["synthesizer"]
