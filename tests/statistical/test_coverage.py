"""Intervals hold the truth as often as they say, for every rule; the script behind docs/trust.md
has more replications.
"""

import sys
from pathlib import Path

import arviz as az
import numpy as np
import pytest

from riskweighted import compile_model, marginal_weights
from riskweighted.sampling.sampling_settings import Sampling

# experiments are no part of the package
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from experiments.trust.coverage import (
    SCENARIO,
    SYNTHESIZER,
    coverage,
    exact_draws,
    population,
    summarise,
)

pytestmark = [pytest.mark.long, pytest.mark.slow]

FALSE_ALARM = 1e-4  # per interval, were it exactly nominal


@pytest.fixture(scope="module")
def summary():
    """L = 4, so that b / L is a large part of the variance, and an error in it shows."""
    found = coverage(1000, 3, L=4, resamples=0)
    return summarise(found).set_index(["scheme", "rule", "estimand"])


def test_rules_that_claim_a_level_keep_it(summary):
    partial, fully = "partially synthetic, vbar + b/L", "fully synthetic, (1 + 1/L) b - vbar"
    nominal = [
        ("confidential data", "t interval", "mean"),
        ("confidential data", "Wilson", "share above 2"),
        ("unweighted", partial, "mean"),
        ("unweighted", partial, "slope"),
        ("unweighted", "joint test, partially synthetic", "both coefficients"),
    ]
    for key in nominal:
        assert summary.loc[key, "p"] > FALSE_ALARM, (key, summary.loc[key])
    # With L = 4 the variance of this rule is often not positive, and the adjustment is
    # conservative.
    assert summary.loc[("unweighted", fully, "slope"), "coverage"] > 0.93


def test_a_rule_without_its_variance_between_datasets_would_be_caught(summary):
    for estimand in ("mean", "slope"):
        row = summary.loc[
            ("unweighted", "vbar alone (no rule: what leaving out b/L does)", estimand)
        ]
        assert row["p"] < FALSE_ALARM
        assert row["coverage"] < 0.93


def test_the_pooled_bootstrap_is_wider_than_its_level_says():
    summary = summarise(coverage(150, 4, L=20, resamples=200)).set_index(
        ["scheme", "rule", "estimand"]
    )
    for estimand in ("mean", "median"):
        row = summary.loc[("unweighted", "pooled bootstrap, about vbar + b", estimand)]
        assert row["coverage"] > 0.97


def test_marginal_weights_break_the_level_of_a_slope(summary):
    """What the report says beside intervals of weighted schemes."""
    assert summary.loc[("marginal", "partially synthetic, vbar + b/L", "slope"), "coverage"] < 0.7


def test_nuts_finds_the_posterior_that_the_coverage_draws_from():
    """Means and standard deviations of every parameter, in Monte Carlo errors, unweighted and
    weighted.
    """
    rng, compared = np.random.default_rng(11), 0
    frame = population(200, rng)
    model = compile_model(SYNTHESIZER, frame)
    columns = np.column_stack([np.ones(200), model.models[0].model.prepared.raw.columns])
    for alpha in (np.ones(200), marginal_weights(frame, SCENARIO).to_numpy()):
        exact = exact_draws(columns, model.models[0].model.prepared.z, alpha, 40_000, rng)
        fitted = model.sample(
            alpha,
            random_seed=int(rng.integers(1000)),
            sampling=Sampling(draws=1500, tune=500, chains=2),
        )
        sampled = {"sigma": fitted.posterior["sigma"].values}
        sampled |= {place: fitted.posterior["coefficient"].values[..., place] for place in range(2)}
        for name, chains in sampled.items():
            ours = np.array(
                [
                    theta["sigma"] if name == "sigma" else theta["coefficient"][name]
                    for theta in exact
                ]
            )
            for function in (lambda values, at: values, lambda values, at: (values - at) ** 2):
                one, other = function(chains, ours.mean()), function(ours, ours.mean())
                error = np.hypot(
                    one.std() / np.sqrt(float(az.ess(one, method="mean"))),
                    other.std() / np.sqrt(len(other)),
                )
                assert abs(one.mean() - other.mean()) < 5 * error
                compared += 1
    assert compared == 12
