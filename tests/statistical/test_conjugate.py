"""Sampled posteriors against what is known exactly: slow."""

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytest
from scipy import optimize, stats

from riskweighted.contract.synthesizer import load_synthesizer
from riskweighted.sequence.fitting import fit

pytestmark = [pytest.mark.long, pytest.mark.slow]


def effective_draws(values):
    return float(az.ess(values, method="bulk"))


def mean_and_sd(values):
    """Mean and standard deviation of chains (m, n), each with its Monte Carlo standard error from
    the effective draws.
    """
    mean, sd = values.mean(), values.std()
    squares = (values - mean) ** 2
    error_of_variance = squares.std() / np.sqrt(effective_draws(squares))
    return (mean, sd / np.sqrt(effective_draws(values))), (sd, error_of_variance / (2 * sd))


def within_error(values, mean, sd):
    """Chains (m, n) whose mean and sd are these within Monte Carlo error, which is small beside the
    sd.
    """
    (got_mean, mean_error), (got_sd, sd_error) = mean_and_sd(values)
    assert abs(got_mean - mean) < 5 * mean_error
    assert abs(got_sd - sd) < 5 * sd_error
    assert mean_error < 0.1 * sd  # so that the comparison says something


def exact_linear(X, z, alpha):  # noqa: N803
    """Mean and sd of every coefficient and of sigma under weights alpha (n,).

    Given sigma the coefficients are normal; sigma itself is summed over a fine grid.
    """
    d, (steps, step) = X.shape[1], np.linspace(np.log(0.05), np.log(20), 4001, retstep=True)
    log_weight, means, variances = np.empty(4001), np.empty((4001, d)), np.empty((4001, d))
    for k, sigma in enumerate(np.exp(steps)):
        precision = np.eye(d) + X.T @ (alpha[:, None] * X) / sigma**2
        covariance, pull = np.linalg.inv(precision), X.T @ (alpha * z) / sigma**2
        means[k], variances[k] = covariance @ pull, np.diag(covariance)
        evidence = (
            0.5 * pull @ covariance @ pull
            - 0.5 * (alpha * z**2).sum() / sigma**2
            - 0.5 * np.linalg.slogdet(precision)[1]
        )
        prior = stats.halfnorm.logpdf(sigma) + np.log(sigma)  # the grid is even in log sigma
        log_weight[k] = evidence - alpha.sum() * np.log(sigma) + prior
    weight = np.exp(log_weight - log_weight.max()) * step
    weight /= weight.sum()
    assert weight[[0, -1]].max() < 1e-8  # the grid holds the whole posterior
    exact_mean = weight @ means
    exact_sd = np.sqrt(weight @ (variances + means**2) - exact_mean**2)
    sigma_mean = weight @ np.exp(steps)
    return [
        *zip(exact_mean, exact_sd, strict=True),
        (sigma_mean, np.sqrt(weight @ np.exp(2 * steps) - sigma_mean**2)),
    ]


def test_linear_regression_samples_the_exact_weighted_posterior():
    """As users get it; at a target acceptance of .95 the negative binomial is compared with a grid
    (`test_calibration`).
    """
    rng = np.random.default_rng(41)
    n = 30  # few records and a response off-centre, so that the priors count
    frame = pd.DataFrame({"x": rng.normal(5, 2, n), "g": np.resize(list("abc"), n)})
    frame["y"] = 3 + 0.8 * frame["x"] + (frame["g"] == "b") + rng.standard_t(4, n)
    alpha = np.where(rng.random(n) < 0.2, 0.0, rng.random(n))
    synthesizer = load_synthesizer("linear-regression")("y ~ x + C(g)", location=1.0, scale=2.0)
    fitted = fit(synthesizer, frame, alpha, random_seed=3, draws=1000, tune=500, chains=4)

    dummies = [(frame["g"] == level).to_numpy(dtype=float) for level in "bc"]
    X = np.column_stack(  # noqa: N806
        [np.ones(n), stats.zscore(frame["x"]), *(column - column.mean() for column in dummies)]
    )
    exact = exact_linear(X, (frame["y"].to_numpy() - 1) / 2, alpha)
    sampled = [
        *np.moveaxis(fitted.posterior["coefficient"].values, -1, 0),
        fitted.posterior["sigma"].values,
    ]
    assert len(sampled) == 5
    for values, (mean, sd) in zip(sampled, exact, strict=True):
        assert values.shape == (4, 1000)
        within_error(values, mean, sd)


def long_run_logistic(X, y, alpha, draws=200_000):  # noqa: N803
    """Mean and sd of the coefficients of a weighted logistic regression, N(0, 2) of the intercept
    and N(0, 1) of slopes: by importance sampling from a t of 5 degrees of freedom about the
    mode."""
    sd = np.array([2.0, *np.ones(X.shape[1] - 1)])

    def log_posterior(b):
        logits = b @ X.T
        return (alpha * (y * logits - np.logaddexp(0, logits))).sum(axis=-1) - 0.5 * (
            (b / sd) ** 2
        ).sum(axis=-1)

    mode = optimize.minimize(lambda b: -log_posterior(b), np.zeros(len(sd)), tol=1e-10).x
    share = 1 / (1 + np.exp(-X @ mode))
    covariance = np.linalg.inv(
        X.T @ ((alpha * share * (1 - share))[:, None] * X) + np.diag(sd**-2.0)
    )
    around = stats.multivariate_t(mode, covariance, df=5, seed=1)
    b = around.rvs(draws)
    log_weight = np.concatenate(
        [log_posterior(part) for part in np.array_split(b, 100)]
    ) - around.logpdf(b)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    assert 1 / (weight**2).sum() > draws / 2
    mean = weight @ b
    return list(zip(mean, np.sqrt(weight @ (b - mean) ** 2), strict=True))


def test_a_chain_samples_the_exact_posterior_of_every_block_under_its_own_weights():
    """An amount, a binary variable given it, and an amount given both; as users get it, by chains
    and directly.
    """
    rng, n = np.random.default_rng(46), 60
    frame = pd.DataFrame({"x": rng.normal(5, 2, n)})
    frame["rent"] = 2 + 0.5 * frame["x"] + rng.standard_t(4, n)
    frame["owner"] = np.where(rng.random(n) < 1 / (1 + np.exp(4 - frame["rent"])), "yes", "no")
    frame["cost"] = 1 + 0.3 * frame["rent"] - (frame["owner"] == "yes") + rng.normal(0, 0.7, n)
    alphas = pd.DataFrame(
        np.where(rng.random((n, 3)) < 0.2, 0.0, rng.random((n, 3))),
        columns=["rent", "owner", "cost"],
    )
    units = {"model": "linear-regression", "location": 1.0, "scale": 2.0}
    settings = {
        "rent": {**units, "formula": "rent ~ x"},
        "owner": {"model": "logistic", "levels": ("no", "yes"), "formula": "owner ~ x + rent"},
        "cost": {**units, "formula": "cost ~ x + rent + C(owner)"},
    }
    fitted = fit(
        load_synthesizer("sequential")(list(settings), predictors=["x"], settings=settings),
        frame,
        alphas,
        random_seed=6,
    )
    assert fitted.converged

    x, rent = stats.zscore(frame["x"]), stats.zscore(frame["rent"])
    owner = (frame["owner"] == "yes").to_numpy(dtype=float)
    designs = [
        np.column_stack([np.ones(n), *columns])
        for columns in ([x], [x, rent], [x, rent, owner - owner.mean()])
    ]
    z = {name: (frame[name].to_numpy() - 1) / 2 for name in ("rent", "cost")}
    exact = {
        "rent": exact_linear(designs[0], z["rent"], alphas["rent"].to_numpy()),
        "owner": long_run_logistic(designs[1], owner, alphas["owner"].to_numpy()),
        "cost": exact_linear(designs[2], z["cost"], alphas["cost"].to_numpy()),
    }
    for name, known in exact.items():
        posterior = fitted.blocks[name].posterior
        sampled = [
            *np.moveaxis(posterior["coefficient"].values, -1, 0),
            *([posterior["sigma"].values] if "sigma" in posterior else []),
        ]
        for values, (mean, sd) in zip(sampled, known, strict=True):
            within_error(values, mean, sd)


def test_weights_of_zero_and_one_are_the_fit_without_those_records():
    rng = np.random.default_rng(42)
    n = 200
    frame = pd.DataFrame({"y": rng.negative_binomial(2, 0.1, n)})
    keep = frame["y"] < 25
    assert 0.1 * n < (~keep).sum() < 0.5 * n
    synthesizer = load_synthesizer("negative-binomial")("y ~ 1")
    settings = {"draws": 1000, "tune": 500, "chains": 4, "target_accept": 0.9}
    weighted = fit(synthesizer, frame, keep.astype(float), random_seed=1, **settings)
    everyone = fit(synthesizer, frame, random_seed=2, **settings)
    subset = fit(synthesizer, frame[keep], random_seed=3, **settings)

    def distances(one, other):
        """Differences of means and of standard deviations, in combined Monte Carlo standard
        errors.
        """
        for name, values in (
            ("intercept", ...),
            ("inverse_phi", ...),
            ("predictive_mean", ...),
            ("predictive_sd", ...),
        ):
            pair = [np.squeeze(fitted.posterior[name].values[values]) for fitted in (one, other)]
            for (first, first_error), (second, second_error) in zip(
                *map(mean_and_sd, pair), strict=True
            ):
                yield abs(first - second) / np.hypot(first_error, second_error)

    assert max(distances(weighted, subset)) < 5
    assert max(distances(weighted, everyone)) > 50  # the records dropped matter


def test_a_mixture_is_recovered_and_its_synthetic_data_follow_it():
    rng = np.random.default_rng(43)
    n = 1500
    frame = pd.DataFrame({"x": rng.normal(0, 1, n), "g": rng.choice(["a", "b"], n)})
    weight, centre, sigma = np.array([0.35, 0.65]), np.array([8.5, 11.0]), np.array([0.35, 0.5])
    # shared: the prior shrinks differences
    slope, step = np.array([0.3, 0.3]), np.array([-0.4, -0.4])
    which = rng.choice(2, n, p=weight)
    b = (frame["g"] == "b").to_numpy(dtype=float)
    log_y = (
        centre[which]
        + slope[which] * frame["x"]
        + step[which] * b
        + sigma[which] * rng.normal(size=n)
    )
    frame["y"] = np.exp(log_y)
    synthesizer = load_synthesizer("normal-mixture")("y ~ x + C(g)", components=2)
    fitted = fit(synthesizer, frame, random_seed=4, draws=1000, tune=500, chains=2)
    assert fitted.converged

    posterior, prepared = fitted.posterior.stack(sample=("chain", "draw")), fitted.block.prepared
    draws = {name: np.moveaxis(posterior[name].values, -1, 0) for name in posterior.data_vars}
    order = np.argsort(draws["centre"], axis=1)  # components by centre, whatever their label
    tau = draws["slope_spread"][:, None, None]
    slopes = (
        prepared.scale
        * (draws["slope"][:, None, :] + tau * draws["slope_deviation"])
        / prepared.raw.unit
    )
    level = prepared.location + prepared.scale * draws["centre"] - slopes @ prepared.design.centre
    got = {
        "weight": draws["weight"],
        "sigma": prepared.scale * draws["sigma"],
        "centre": level,
        "x": slopes[..., 0],
        "g": slopes[..., 1],
    }
    true = {"weight": weight, "sigma": sigma, "centre": centre, "x": slope, "g": step}
    for name, values in got.items():
        ordered = np.take_along_axis(values, order, axis=1)
        np.testing.assert_array_less(
            np.abs(ordered.mean(axis=0) - true[name]), 4 * ordered.std(axis=0), err_msg=name
        )
        assert (ordered.std(axis=0) < 0.1).all()

    frames = fitted.synthesize(20, random_seed=5)
    synthetic = np.sort(np.log(np.concatenate([released["y"] for released in frames])))
    share = np.linspace(0.05, 0.95, 19)
    found = np.searchsorted(synthetic, np.quantile(log_y, share)) / len(synthetic)
    assert (np.abs(found - share) < 3 * np.sqrt(share * (1 - share) / n)).all()

    def slopes_of(response):
        return np.linalg.lstsq(np.column_stack([np.ones(n), frame["x"], b]), response, rcond=None)[
            0
        ][1:]

    error = log_y.std() / np.sqrt(n) * np.array([1, 2])
    released = np.mean([slopes_of(np.log(other["y"])) for other in frames], axis=0)
    assert (np.abs(released - slopes_of(log_y)) < 3 * error).all()


def prior_of_hierarchical(draws=4000):
    """Draws from the prior of the blueprint, likelihood left out: groups of unequal size and
    distant predictor means.
    """
    rng = np.random.default_rng(44)
    group = np.repeat(["a", "b", "c"], [60, 25, 5])
    frame = pd.DataFrame(
        {
            "g": group,
            "x": rng.normal(np.repeat([40.0, -3.0, 7.0], [60, 25, 5]), 2),
            "y": rng.normal(size=90),
        }
    )
    synthesizer = load_synthesizer("hierarchical")("y ~ x", groups="g")
    model = synthesizer.build(synthesizer.prepare(frame)).model
    names = ["intercept", "slope", "common", "tau", "precision", "level"]
    with pytensor.config.change_flags(cxx="", mode="FAST_COMPILE"):
        return dict(
            zip(
                names,
                pm.draw([model[name] for name in names], draws=draws, random_seed=7),
                strict=True,
            )
        )


def test_the_shear_of_the_hierarchical_model_leaves_its_prior():
    """B_q[g] ~ N(b_q, 1 / sqrt(tau_q)) for intercepts too, independent of slopes and of other
    groups.
    """
    prior = prior_of_hierarchical()
    count = len(prior["common"])
    assert prior["common"].shape == prior["tau"].shape == (count, 2)
    assert prior["intercept"].shape == (count, 3)
    intercept = (prior["intercept"] - prior["common"][:, :1]) * np.sqrt(prior["tau"][:, :1])
    slope = (prior["slope"][..., 0] - prior["common"][:, 1:]) * np.sqrt(prior["tau"][:, 1:])
    for standard in (*intercept.T, *slope.T, *prior["common"].T):
        assert stats.kstest(standard, "norm").pvalue > 1e-3
    for variance in (*prior["tau"].T, *prior["precision"].T):
        assert stats.kstest(variance, "expon").pvalue > 1e-3
    # Correlations of the magnitudes too: a shear left in would tie the spread of one to the other.
    columns = np.column_stack([intercept, slope, prior["common"], np.log(prior["tau"])])
    for numbers in (columns, np.abs(columns)):
        correlation = np.corrcoef(numbers, rowvar=False)
        assert np.abs(correlation - np.eye(len(correlation))).max() < 5 / np.sqrt(count)
    # and the sampled level is the group's mean, which is not independent of the slope
    level = (prior["level"] - prior["common"][:, :1]) * np.sqrt(prior["tau"][:, :1])
    assert abs(stats.spearmanr(level[:, 0], slope[:, 0]).statistic) > 0.2
