"""The synthesizers of docs/plugins: short, and they keep the contract, fit, give expected risk and
are drawn.
"""

import warnings
from pathlib import Path
from runpy import run_path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import riskweighted as rw

FOLDER = Path(__file__).parents[2] / "docs" / "plugins"
N = 150


def data():
    rng = np.random.default_rng(1)
    age, insured = rng.normal(50, 12, N), rng.choice(["no", "private", "public"], N)
    centre = 0.02 * (age - 50) + 0.4 * (insured == "no")
    return pd.DataFrame(
        {
            "age": age,
            "insured": insured,
            "cost": rng.gamma(2, 200 * np.exp(centre)),
            "gain": 100 * centre + 30 * rng.standard_t(4, N),
        }
    )


def of(name):
    made = run_path(str(FOLDER / f"{name}.py"))
    kind = next(
        value
        for value in made.values()
        if isinstance(value, type)
        and issubclass(value, rw.Regression)
        and value is not rw.Regression
    )
    return (
        kind("cost ~ age + C(insured)", unit=400.0)
        if "gamma" in name
        else kind("gain ~ age + C(insured)", middle=0.0, unit=100.0)
    )


NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_a_plug_in_is_fifty_lines_and_keeps_the_contract(name):
    assert len((FOLDER / f"{name}.py").read_text(encoding="utf-8").splitlines()) <= 50
    table = rw.check_synthesizer(of(name), data()).set_index("clause")["result"]
    assert set(table.index[table == "skipped"]) <= {"inverse inverts mass"}


@pytest.mark.parametrize("name", NAMES)
def test_its_numbers_are_those_of_scipy(name):
    model, frame = of(name), data()
    prepared, rng = model.prepare(frame), np.random.default_rng(2)
    y, slope, eta = frame[model.target].to_numpy(), rng.normal(0, 0.2, 3), None
    eta = prepared.rows[prepared.which] @ slope
    if "gamma" in name:
        theta = {"level": np.array(6.0), "slope": slope, "shape": np.array(1.7)}
        law = stats.gamma(1.7, scale=np.exp(6 + eta) / 1.7)
    else:
        theta = {
            "level": np.array(5.0),
            "slope": slope,
            "width": np.array(40.0),
            "tail": np.array(3.0),
        }
        law = stats.t(5, 5 + eta, 40)
    records = model.distribution(theta, prepared)
    ends = (y - 0.3 * abs(y), np.where(np.arange(N) < 9, np.inf, y + 20))
    np.testing.assert_allclose(records.log_density(y), law.logpdf(y), rtol=1e-10)
    np.testing.assert_allclose(
        records.mass(*ends), law.cdf(ends[1]) - law.cdf(ends[0]), rtol=1e-10, atol=1e-13
    )
    drawn = np.concatenate(
        [(law.cdf(records.draw(np.random.default_rng(seed)))) for seed in range(20)]
    )
    assert stats.kstest(drawn, "uniform").pvalue > 1e-4


@pytest.mark.long
@pytest.mark.slow
def test_a_plug_in_fits_gives_expected_risk_and_is_drawn():
    model, frame = of("gamma_regression"), data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rw.ConvergenceWarning)
        fitted = rw.fit(
            model,
            frame,
            np.linspace(0.2, 1, N),
            random_seed=1,
            draws=150,
            tune=300,
            chains=2,
            cores=1,
        )
    risk = rw.expected_identification_risk(
        fitted, rw.Scenario(known="insured", synthetic="cost", radius=0.2), draws=50, random_seed=2
    )
    assert ((risk["own_mass"] > 0) & (risk["own_mass"] < 1)).all()
    (synthetic,) = fitted.synthesize(1, random_seed=3)
    assert (synthetic["cost"] > 0).all()
    assert synthetic["cost"].mean() == pytest.approx(frame["cost"].mean(), rel=0.4)
