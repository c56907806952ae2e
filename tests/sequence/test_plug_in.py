"""Several variables drawn from their modes: the parameters of every dataset are the modes of its
blocks, and nothing varies but values.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import riskweighted as rw
from riskweighted.contract.distribution import read_only
from riskweighted.sampling.block_fit import plug_in

N, DATASETS = 60, 250
MODELS = {
    "rent": {"model": "linear-regression", "formula": "rent ~ age"},
    "size": {"model": "logistic", "formula": "size ~ age + rent"},
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(8)
    age = rng.integers(20, 70, N).astype(float)
    rent = np.round(700 + 3 * (age - 45) + 90 * rng.normal(size=N), 1)
    large = rng.random(N) < expit((rent - 700) / 60)
    return pd.DataFrame({"age": age, "rent": rent, "size": np.where(large, "large", "small")})


@pytest.fixture(scope="module")
def fitted(data):
    """Under weights of a quarter, so that draws of the parameters would add four times what the
    values alone vary.
    """
    chain = rw.load_synthesizer("sequential")(["rent", "size"], predictors=["age"], settings=MODELS)
    return rw.fit(chain, data, np.full(N, 0.25), random_seed=1, draws=400, tune=300, chains=2)


@pytest.fixture(scope="module")
def frames(fitted):
    return fitted.synthesize(DATASETS, random_seed=2, parameters="mode")


def test_the_first_block_is_drawn_from_its_mode_by_hand(data, fitted, frames):
    """The mode is that of (coefficient, log sigma): coefficients and values are N(0, 1) in units of
    the rents, sigma is half-N(0, 1).
    """
    centre, scale = data["rent"].mean(), data["rent"].std(ddof=0)
    z = ((data["rent"] - centre) / scale).to_numpy()
    columns = np.column_stack(
        [np.ones(N), (data["age"] - data["age"].mean()) / data["age"].std(ddof=0)]
    )

    def minus_log_posterior(vector):
        slope, log_sigma = vector[:2], vector[2]
        off = z - columns @ slope
        likelihood = 0.25 * (-N * log_sigma - 0.5 * np.exp(-2 * log_sigma) * off @ off)
        return -(likelihood - 0.5 * slope @ slope - 0.5 * np.exp(2 * log_sigma) + log_sigma)

    mode = minimize(minus_log_posterior, np.zeros(3), method="BFGS", options={"gtol": 1e-8}).x
    theta = plug_in(fitted.blocks["rent"])
    np.testing.assert_allclose([*theta["coefficient"], np.log(theta["sigma"])], mode, atol=2e-3)

    drawn = np.array([frame["rent"] for frame in frames])
    mean, sd = centre + scale * columns @ mode[:2], scale * np.exp(mode[2])
    standard = (drawn - mean) / sd
    assert abs(standard.mean()) < 4 / np.sqrt(standard.size)
    assert abs(standard.var() - 1) < 4 * np.sqrt(2 / standard.size)
    # 1 at the mode; 5 where every dataset has parameters of its own
    between = standard.mean(axis=1).var(ddof=1) * N
    assert abs(between - 1) < 4 * np.sqrt(2 / DATASETS)
    own = np.array([frame["rent"] for frame in fitted.synthesize(DATASETS, random_seed=2)])
    assert ((own - mean) / sd).mean(axis=1).var(ddof=1) * N > 3


def test_the_second_block_is_drawn_from_its_mode_given_what_the_first_drew(data, fitted, frames):
    block = fitted.blocks["size"]
    theta = plug_in(block)
    assert set(theta) >= set(block.synthesizer.build(block.prepared).monitored)
    codes = np.asarray(block.numbers(data), dtype=float)
    one = codes[(data["size"] == "large").to_numpy()][0]
    expected, seen, spread = 0.0, 0, 0.0
    for frame in frames:
        law = block.synthesizer.distribution(theta, block.prepared.at(frame))
        share = np.exp(np.asarray(law.log_density(read_only(np.full(N, one)))))
        expected = expected + share.sum()
        spread = spread + (share * (1 - share)).sum()
        seen = seen + (frame["size"] == "large").sum()
    assert abs(seen - expected) < 4 * np.sqrt(spread)
    follows = [np.corrcoef(frame["rent"], frame["size"] == "large")[0, 1] for frame in frames]
    assert np.mean(follows) > 0.3  # of the drawn rents, not of the confidential ones
    assert (
        abs(
            np.mean([np.corrcoef(data["rent"], frame["size"] == "large")[0, 1] for frame in frames])
        )
        < np.mean(follows) / 2
    )
