"""Figures within units: by hand, and in the tables of an evaluation."""

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.utility.within_units import (
    autocorrelations,
    intraclass,
    pairs_with_first,
    random_intercept,
    share_alike,
    share_of_moves,
    spreads,
)

PANEL = rw.Units(id="person", time="year", unit_level=["sex"])


def panel(persons=40, waves=4, seed=3):
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(persons), waves)
    wage = np.exp(2 + rng.normal(size=persons)[person] + 0.3 * rng.normal(size=len(person)))
    return pd.DataFrame(
        {
            "person": person,
            "year": np.tile(np.arange(waves), persons),
            "sex": rng.choice(["m", "f"], persons)[person],
            "union": rng.choice(["yes", "no"], len(person)),
            "wage": np.round(wage, 2),
        }
    ).sample(frac=1.0, random_state=2, ignore_index=True)


def test_figures_are_those_of_their_formulas():
    data = panel()
    of, wage = PANEL.check(data), data["wage"].to_numpy(dtype=float)
    wide = data.pivot(index="person", columns="year", values="wage").to_numpy()
    m, size = wide.shape
    within = ((wide - wide.mean(axis=1, keepdims=True)) ** 2).sum() / (m * (size - 1))
    assert intraclass(wage, of) == pytest.approx(1 - within / wide.var(ddof=1))
    found = dict(autocorrelations(wage, of))
    assert list(found) == [1, 2, 3]
    for lag, figure in found.items():
        one, other = wide[:, lag:].ravel(), wide[:, :-lag].ravel()
        assert figure == pytest.approx(np.corrcoef(one, other)[0, 1])
    means, changes = spreads(wage, of)
    assert means == pytest.approx(wide.mean(axis=1).std(ddof=1) / wide.std())
    assert changes == pytest.approx(np.diff(wide).ravel().std(ddof=1) / wide.std())
    levels = data.pivot(index="person", columns="year", values="union").to_numpy()
    codes = pd.factorize(data["union"])[0]
    assert share_of_moves(codes, of) == pytest.approx((levels[:, 1:] != levels[:, :-1]).mean())
    assert share_alike(codes, of) == pytest.approx((levels == levels[:, :1]).all(axis=1).mean())


def test_a_random_intercept_is_found_from_units_of_unlike_sizes():
    rng = np.random.default_rng(4)
    unit = np.repeat(np.arange(900), rng.integers(1, 6, 900))
    frame = pd.DataFrame({"unit": unit, "x": rng.normal(size=len(unit))})
    of = rw.Units(id="unit").check(frame)
    common, own = 2 * rng.normal(size=900)[unit], rng.normal(size=len(unit))
    found = random_intercept(common + own, of)
    assert found == pytest.approx(2, abs=0.15)
    gone = np.where(of.position == 1, np.nan, common + own)
    assert random_intercept(gone, of) == pytest.approx(2, abs=0.2)
    assert random_intercept(own, of) < 0.3
    assert np.isnan(random_intercept(own[unit < 4], rw.Units(id="unit").check(frame[unit < 4])))


def test_missing_amounts_and_few_units_tell_nothing():
    data = panel(9)
    of, wage = PANEL.check(data), data["wage"].to_numpy(dtype=float)
    assert np.isnan(intraclass(wage, of))
    assert list(autocorrelations(wage, of)) == []
    assert np.isnan(spreads(wage, of)).all()
    data = panel()
    of, wage = PANEL.check(data), data["wage"].to_numpy(dtype=float)
    gone = np.where(of.position == 1, np.nan, wage)
    there = of.position != 1
    kept = PANEL.check(data[there])
    assert intraclass(gone, of) == pytest.approx(intraclass(wage[there], kept))


def test_first_members_stand_beside_each_role_that_is_single():
    rng = np.random.default_rng(1)
    rows = [
        (house, role, rng.normal())
        for house in range(30)
        for role in ("head", "spouse", "child", "child")[: 1 + house % 4]
    ]
    data = pd.DataFrame(rows, columns=["house", "role", "age"])
    units = rw.Units(id="house", role="role", first="head")
    pairs = {
        name: values
        for name, *values in pairs_with_first(data["age"].to_numpy(), units.check(data))
    }
    assert list(pairs) == ["spouse"]
    wide = data.drop_duplicates(["house", "role"]).pivot(
        index="house", columns="role", values="age"
    )
    both = wide.dropna(subset="spouse")
    assert sorted(pairs["spouse"][0] - pairs["spouse"][1]) == pytest.approx(
        sorted(both["head"] - both["spouse"])
    )
    plain = rw.Units(id="house").check(data)
    assert [name for name, *_ in pairs_with_first(data["age"].to_numpy(), plain)] == [
        "second member"
    ]


def test_an_evaluation_holds_the_figures_of_the_data_beside_those_drawn():
    data = panel(80)
    chain = rw.load_synthesizer("sequential")(
        ["union", "wage"],
        ["sex"],
        {"wage": {"model": "linear-regression", "transform": "log"}},
        units=PANEL,
    )
    fit = rw.fit(chain, data, draws=100, tune=100, random_seed=1)
    scenario = rw.Scenario(known=["sex", "year"], synthetic=["union", "wage"], radius=0.2)
    made = rw.evaluate(
        data,
        {"drawn": fit.synthesize(3, random_seed=2)},
        scenario,
        fits={"drawn": fit},
        random_seed=1,
        settings=rw.EvaluationSettings(regressions=["log(wage) ~ C(sex)", "union ~ wage"]),
    ).utility
    of, wage = PANEL.check(data), data["wage"].to_numpy(dtype=float)

    def shown(label, measure, variable, term=None):
        rows = made[(made["label"] == label) & (made["key"] == measure)]
        rows = rows[rows["variable"] == variable]
        rows = rows if term is None else rows[rows["term"] == term]
        (value,) = rows["value"]
        return value

    assert shown("confidential", "unit-alike", "wage") == pytest.approx(intraclass(wage, of))
    lags = dict(autocorrelations(wage, of))
    assert shown("confidential", "unit-waves", "wage", "lag 3") == pytest.approx(lags[3])
    assert shown("drawn", "unit-waves", "wage", "lag 1") > 0.4
    assert set(made.loc[made["key"] == "unit-intercept", "term"]) == {"log(wage) ~ C(sex)"}
    assert shown("confidential", "unit-intercept", "wage") == pytest.approx(1, abs=0.25)
    assert 0.5 < shown("drawn", "unit-intercept", "wage") < 1.5
    assert 0 < shown("drawn", "unit-waves", "union", "share that moves") < 1
