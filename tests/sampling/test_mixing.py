"""How chains mix, beside ArviZ, and what R-hat chance allows."""

import warnings

import numpy as np
import pytest
from scipy.signal import lfilter

from riskweighted.sampling.convergence import deciding_rows, diagnose, failure
from riskweighted.sampling.mixing import chance_limit, mixing_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)
    import arviz as az

pytestmark = pytest.mark.quick


def walks(count, chains, draws, rho, seed=1):
    """Autoregressions (count, chains, draws)."""
    noise = np.random.default_rng(seed).normal(size=(count, chains, draws + 100))
    return lfilter([1], [1, -rho], noise, axis=2)[..., 100:]


@pytest.mark.parametrize("shape", [(4, 100), (2, 41), (2, 9), (2, 4)])
def test_numbers_are_those_of_arviz(shape):
    for rho in (-0.5, 0.0, 0.9):
        values = walks(6, *shape, rho)
        values[:2] += np.random.default_rng(2).normal(size=(2, shape[0], 1))
        values[2] = np.round(values[2])
        found = mixing_of(values)
        for place, each in enumerate(values):
            if np.isfinite(az.rhat(each)):
                assert found.r_hat[:, place].max() == pytest.approx(float(az.rhat(each)), rel=1e-9)
            assert found.worth[0, place] == pytest.approx(
                float(az.ess(each, method="bulk")), rel=1e-9
            )
            assert found.tail[place] == pytest.approx(
                float(az.ess(each, method="tail", prob=(0.05, 0.95))), rel=1e-9
            )


def test_what_never_moves_or_is_no_number_has_none():
    found = mixing_of(
        np.stack(
            [np.zeros((2, 20)), np.where(np.eye(2, 20) > 0, np.nan, 1.0), walks(1, 2, 20, 0)[0]]
        )
    )
    assert np.isnan(found.r_hat).all(axis=0).tolist() == [True, True, False]
    assert np.isnan(mixing_of(np.ones((1, 2, 3))).worth).all()
    assert mixing_of(np.empty((0, 2, 10))).r_hat.shape == (2, 0)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_chance_exceeds_its_limit_as_often_as_it_says(rho):
    found = mixing_of(walks(2000, 4, 200, rho))
    for of_draws, within in zip(found.r_hat, found.within, strict=True):
        share = (of_draws > chance_limit(within, 8, 100, 0.02)).mean()
        assert share < 0.02 + 4 * np.sqrt(0.02 / 2000)


def test_a_limit_grows_with_the_number_of_quantities_and_falls_with_what_draws_are_worth():
    few, many = (chance_limit(np.array([20.0, 80.0]), 8, 100, 0.001 / count) for count in (1, 1000))
    assert (many > few).all()
    assert few[0] > few[1] > 1


def test_many_quantities_of_slow_chains_that_agree_pass():
    """At an effective size of about 150 the largest R-hat of hundreds is beyond 1.02 by chance
    alone.
    """
    table = diagnose(
        {str(place): values for place, values in enumerate(walks(300, 4, 500, 0.85))}, 0
    )
    assert table["r_hat"].max() > 1.02
    assert (table["r_hat"] <= table["limit"]).all()


def test_only_what_is_judged_decides_and_the_message_names_the_worst_in_the_digits_that_decide():
    quantities = dict(zip("ab", walks(2, 4, 500, 0.0), strict=True))
    off = np.array([0, 0, 0, 0.5])[:, None]
    table = diagnose({**quantities, "c": quantities["a"] + off}, 0, judged=2)
    assert deciding_rows(table)["converged"].all()
    assert not table.loc["c", "converged"]
    table = diagnose({**quantities, "c": quantities["a"] + 2 * off}, 0)
    text = failure(table)
    assert "'c'" in text
    assert "1 of 3 quantities" in text
    close = table.assign(r_hat=1.02004, limit=1.02, converged=False)
    assert "1.02004" in failure(close)
    assert "1.02000" in failure(close)
