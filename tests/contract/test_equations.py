"""A mixture given by equations: the one of docs/own-synthesizer.md has the densities, masses and
draws of its components.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy import stats

import riskweighted as rw

PAGE = (Path(__file__).parents[2] / "docs" / "own-synthesizer.md").read_text(encoding="utf-8")
N = 150


@pytest.fixture(scope="module")
def mixture():
    (text,) = re.findall(r"```python\n(@dataclass[^`]*?NormalMixture.*?)```", PAGE, re.DOTALL)
    assert len(text.strip().splitlines()) <= 15
    made = {"dataclass": dataclass, "np": np, "pm": pm, "pt": pt, "rw": rw}
    exec(text, made)
    return made["NormalMixture"]("gain ~ age + C(group)")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.normal(50, 9, N), "group": rng.choice(["a", "b"], N)})
    return frame.assign(gain=rng.normal(0, 1, N) + (frame["group"] == "a"))


THETA = {
    "share": np.array([0.5, 0.3, 0.2]),
    "centre": np.array([-1.0, 0.5, 30.0]),
    "sigma": np.array([0.4, 1.0, 2.0]),
    "slope": np.array([[0.3, -0.2], [0.0, 0.4], [0.1, 0.1]]),
}


def test_its_numbers_are_those_of_its_components(mixture, data):
    prepared, y = mixture.prepare(data), data["gain"].to_numpy()
    records = mixture.distribution(THETA, prepared)
    x = prepared.rows[prepared.which]
    means = [c + x @ slope for c, slope in zip(THETA["centre"], THETA["slope"], strict=True)]
    laws = [stats.norm(mean, sd) for mean, sd in zip(means, THETA["sigma"], strict=True)]

    def sums(of):
        return sum(share * of(law) for share, law in zip(THETA["share"], laws, strict=True))

    np.testing.assert_allclose(records.log_density(y), np.log(sums(lambda law: law.pdf(y))))
    far = np.full(N, 400.0)  # where the densities are no numbers, and their logarithms are
    expected = np.log(0.2) + laws[2].logpdf(far)
    np.testing.assert_allclose(records.log_density(far), expected)
    np.testing.assert_allclose(
        records.mass(y - 1, np.where(y > 0, np.inf, y)),
        np.where(y > 0, 1, sums(lambda law: law.cdf(y))) - sums(lambda law: law.cdf(y - 1)),
        atol=1e-8,  # PyMC has the root of 2 of the normal distribution function in single precision
    )
    assert records.inverse is None
    drawn = [records.draw(np.random.default_rng(seed)) for seed in range(20)]
    places = [sums(lambda law: law.cdf(values)) for values in drawn]  # noqa: B023
    assert stats.kstest(np.concatenate(places), "uniform").pvalue > 1e-4


def test_it_keeps_the_contract(mixture, data):
    table = rw.check_synthesizer(mixture, data).set_index("clause")["result"]
    assert set(table.index[table == "skipped"]) <= {"inverse inverts mass"}
