from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from brute import SECRET, assert_clear
from handmade import given_chain_fit
from records import Asked, terms
from scipy import stats

from riskweighted.common.errors import InputError
from riskweighted.contract.centring import Centring, Intervals
from riskweighted.contract.synthesizer import load_synthesizer
from riskweighted.guarantee.clip import Censoring
from riskweighted.guarantee.statement import Guarantee, Reference
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import make_world
from riskweighted.risk.recovery import _near, recovery_probability
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sequence.centring import centring_of
from riskweighted.sequence.fit import Fit
from riskweighted.weights.functions import OwnWeights


class Values(NamedTuple):
    y: np.ndarray
    rescale: bool

    def at(self, frame):
        return self._replace(y=frame["y"].to_numpy(dtype=float))


@dataclass(frozen=True)
class NormalMean:
    """y_i ~ N(theta, 1), theta ~ N(0, 1): everything about it is known in closed form."""

    formula: str = "y ~ 1"
    rescale: bool = False

    @property
    def target(self):
        return "y"

    def prepare(self, data):
        return Values(data["y"].to_numpy(dtype=float), self.rescale)

    def build(self, prepared):
        return None

    def distribution(self, theta, prepared):
        return Asked(self, theta, prepared)

    def log_density(self, theta, prepared, y):
        values = y - y.mean() if self.rescale else y
        return -0.5 * (values - theta["theta"]) ** 2 - 0.5 * np.log(2 * np.pi)

    def draw(self, theta, prepared, rng):
        return rng.normal(theta["theta"], 1.0, len(prepared.y))

    def response(self, prepared):
        return prepared.y


FRAME = pd.DataFrame({"y": [1.0, -0.4, 2.5, 0.3, 0.9]}, index=list("abcde"))
ALPHA = pd.Series([1.0, 0.5, 0.8, 0.0, 1.0], FRAME.index)
RELEASES = [
    FRAME.assign(y=values)
    for values in ([0.2, 1.4, 1.9, 0.8, 0.1], [1.6, 0.9, 2.2, 1.1, 0.4], [-0.5, 0.6, 1.0, 0.7, 1.5])
]
GUESSES = np.array([-2.0, 0.0, 2.0, 4.0])
BALL = Scenario(synthetic="y", radius=1.0, allow_wide=True)


def by_hand(synthesizer, frame, alpha, **draws):
    """A Fit of posterior draws given as arrays (chain, draw, ...)."""
    variables = {
        name: (("chain", "draw", *(f"{name} {i}" for i in range(v.ndim - 2))), v)
        for name, v in draws.items()
    }
    return Fit.of(
        BlockFit(
            synthesizer,
            alpha,
            xr.Dataset(variables),
            pd.DataFrame(),
            frame,
            synthesizer.prepare(frame),
        )
    )


def posterior_of(values, alpha):
    """Mean and variance of the pseudo posterior of theta."""
    precision = 1 + alpha.sum()
    return (alpha * values).sum() / precision, 1 / precision


def normal_fit(theta_quantiles, alpha=ALPHA, chains=2):
    mean, variance = posterior_of(FRAME["y"].to_numpy(), alpha.to_numpy())
    theta = mean + np.sqrt(variance) * stats.norm.ppf(theta_quantiles)
    return by_hand(NormalMean(), FRAME, alpha, theta=theta.reshape(chains, -1))


def exact(label, releases, alpha=ALPHA):
    """p(y' | Z, y_-i) over the truth and GUESSES: each release is normal with mean m and covariance
    I + v 11'.
    """
    place, log_p = FRAME.index.get_loc(label), []
    for guess in [FRAME.loc[label, "y"], *GUESSES]:
        values = FRAME["y"].to_numpy().copy()
        values[place] = guess
        mean, variance = posterior_of(values, alpha.to_numpy())
        normal = stats.multivariate_normal(np.full(5, mean), np.eye(5) + variance)
        log_p.append(sum(normal.logpdf(one["y"]) for one in releases))
    p = np.exp(np.array(log_p) - max(log_p))
    return p / p.sum()


@pytest.mark.parametrize(
    "releases", [RELEASES[:1], RELEASES], ids=["one release", "three releases"]
)
def test_recovery_is_the_exact_posterior_of_the_conjugate_model(releases):
    # quantiles: the posterior itself, almost without noise
    even = (np.random.default_rng(5).permutation(2000) + 0.5) / 2000
    found = recovery_probability(normal_fit(even), releases, BALL, list("abcd"), GUESSES)
    for label, row in found.iterrows():
        p = exact(label, releases)
        truth = FRAME.loc[label, "y"]
        near = np.abs(np.array([truth, *GUESSES]) - truth) <= abs(truth)
        assert row["probability"] == pytest.approx(p[0], abs=2e-3)
        assert row["ball_probability"] == pytest.approx(p[near].sum(), abs=2e-3)
        assert row["rank"] == 1 + (p > p[0]).sum() or np.abs(p[1:] - p[0]).min() < 2e-3
        assert row["prior"] == pytest.approx(1 / 5)
        assert row["ball_prior"] == pytest.approx(near.mean())
        assert row["trusted"]
    # so that the comparison says something
    assert found.loc["a", "probability"] != pytest.approx(1 / 5, abs=0.01)


def test_random_draws_agree_within_their_monte_carlo_error():
    rng = np.random.default_rng(6)
    found = [
        recovery_probability(normal_fit(rng.random(300)), RELEASES[:2], BALL, ["c"], GUESSES)[
            "probability"
        ]["c"]
        for _ in range(30)
    ]
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert error < 0.01
    assert abs(np.mean(found) - exact("c", RELEASES[:2])[0]) < 4 * error


def test_a_record_of_weight_zero_teaches_the_intruder_nothing():
    found = recovery_probability(
        normal_fit(np.linspace(0.01, 0.99, 200)), RELEASES, BALL, ["d"], GUESSES
    )
    assert found.loc["d", "probability"] == pytest.approx(1 / 5, abs=1e-12)
    assert found.loc["d", "rank"] == 1
    assert found.loc["d", "ess"] == pytest.approx(200)
    assert found.loc["d", "release_ess"] < 200


def censored_grid(values, alpha, guarantee):
    """The censored posterior of theta, by its log on a grid: contributions of N(theta, 1) above the
    reference, clipped at M.
    """
    theta = np.linspace(-6, 6, 4001)
    reference = 0.0 if guarantee.reference is None else guarantee.reference(values, FRAME)
    above = alpha * (stats.norm.logpdf(values, theta[:, None], 1.0) - reference)
    log_p = -0.5 * theta**2 + np.clip(above, -guarantee.M, guarantee.M).sum(axis=1)
    p = np.exp(log_p - log_p.max())
    return theta, p / p.sum()


@pytest.mark.parametrize(
    "reference", [None, Reference("norm", {"loc": 0.0, "scale": 2.0})], ids=["r = 0", "centred"]
)
def test_under_a_guarantee_the_intruder_knows_the_clipped_likelihood(reference):
    """Against the censored posterior of every candidate on a grid, which asks nothing of the
    importance weights.
    """
    guarantee = Guarantee(M=0.3, reference=reference)
    alpha = pd.Series(0.8, FRAME.index)
    y = FRAME["y"].to_numpy()
    theta, p = censored_grid(y, 0.8, guarantee)
    draws = np.interp(
        (np.random.default_rng(5).permutation(4000) + 0.5) / 4000, np.cumsum(p) - p / 2, theta
    ).reshape(2, -1)
    plain = by_hand(NormalMean(), FRAME, alpha, theta=draws).block
    at = np.zeros(5) if reference is None else reference(y, FRAME)
    clipped = Fit.of(replace(plain, censoring=Censoring(guarantee.statement(1), at, guarantee)))
    found = recovery_probability(clipped, RELEASES[:1], BALL, list("abcd"), GUESSES)
    unclipped = recovery_probability(Fit.of(plain), RELEASES[:1], BALL, list("abcd"), GUESSES)
    for place, label in enumerate("abcd"):
        log_p = []
        for guess in [y[place], *GUESSES]:
            values = np.where(np.arange(5) == place, guess, y)
            theta, p = censored_grid(values, 0.8, guarantee)
            log_p.append(
                np.log(
                    (
                        p
                        * np.exp(
                            stats.norm.logpdf(RELEASES[0]["y"].to_numpy(), theta[:, None], 1.0).sum(
                                axis=1
                            )
                        )
                    ).sum()
                )
            )
        exact = np.exp(np.array(log_p) - max(log_p))
        assert found.loc[label, "probability"] == pytest.approx(exact[0] / exact.sum(), abs=1e-3)
    # so that the comparison says something
    assert (found["probability"] - unclipped["probability"]).abs().max() > 0.02


def test_effective_draws_by_hand_and_the_flag():
    alpha = pd.Series(1.0, FRAME.index)
    fit = by_hand(NormalMean(), FRAME, alpha, theta=np.array([[0.0, 1.0]]))
    far = recovery_probability(fit, RELEASES[:1], BALL, ["a"], [31.0]).loc["a"]
    # Ratio of the weights of theta = 1 and 0: exp((31 - 0.5) - (1 - 0.5)) = exp(30).
    assert far["ess"] == pytest.approx(1, abs=1e-9)
    near = recovery_probability(fit, RELEASES[:1], BALL, ["a"], [1.0 + np.log(3)]).loc["a"]
    assert near["ess"] == pytest.approx(1 / (0.75**2 + 0.25**2))
    total = RELEASES[0]["y"].sum() - 2.5  # log p(Z | 1) - log p(Z | 0)
    shares = np.array([1, 3 * np.exp(total)]) / (1 + 3 * np.exp(total))
    both = np.array([1, np.exp(total)]) / (1 + np.exp(total))
    assert near["release_ess"] == pytest.approx(min(1 / (shares**2).sum(), 1 / (both**2).sum()))
    assert not near["trusted"]
    odds = (1 + 3 * np.exp(total)) / 4 / ((1 + np.exp(total)) / 2)
    assert near["probability"] == pytest.approx(1 / (1 + odds))


def test_default_guesses_stand_around_the_truth_and_repeated_ones_count_once():
    fit = normal_fit(np.linspace(0.01, 0.99, 50))
    found = recovery_probability(fit, RELEASES[:1], Scenario(synthetic="y"), ["a", "b"])
    assert found["prior"].tolist() == pytest.approx([1 / 11] * 2)
    assert found["ball_prior"].tolist() == pytest.approx([5 / 11] * 2)  # 0.8 to 1.2, ends included
    doubled = recovery_probability(fit, RELEASES[:1], BALL, ["a"], [1.0, 2.0, 2.0, 3.0])
    once = recovery_probability(fit, RELEASES[:1], BALL, ["a"], [2.0, 3.0])
    pd.testing.assert_frame_equal(doubled, once)
    assert once.loc["a", "prior"] == pytest.approx(1 / 3)


def test_the_prior_and_the_draws_may_be_chosen():
    fit = normal_fit(np.linspace(0.01, 0.99, 50))
    found = recovery_probability(
        fit,
        RELEASES[:1],
        BALL,
        ["d"],
        [2.0, 3.0],
        prior=lambda y: np.where(y > 2.5, 0.0, 1 + (y == 2.0)),
    )
    assert found.loc["d", "probability"] == pytest.approx(1 / 3)
    assert found.loc["d", "rank"] == 2
    few = recovery_probability(fit, RELEASES[:1], BALL, ["d"], [2.0, 3.0], draws=20)
    assert few.loc["d", "ess"] == pytest.approx(20)


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_candidate_that_no_draw_allows_gets_nothing():
    found = recovery_probability(
        normal_fit(np.linspace(0.01, 0.99, 50)), RELEASES[:1], BALL, ["a"], [1.5, 1e200]
    )
    once = recovery_probability(
        normal_fit(np.linspace(0.01, 0.99, 50)), RELEASES[:1], BALL, ["a"], [1.5]
    )
    columns = ["probability", "ball_probability", "rank", "ess", "release_ess"]
    pd.testing.assert_frame_equal(found[columns], once[columns])


def test_standard_units_stay_those_of_the_confidential_data():
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"x": rng.normal(size=30), "income": rng.lognormal(3, 1, 30)})
    alpha, log = pd.Series(1.0, frame.index), np.log(frame["income"])
    draws = {"coefficient": rng.normal(0, 0.2, (2, 40, 2)), "sigma": 1 + 0.1 * rng.random((2, 40))}
    make = load_synthesizer("linear-regression")
    own = make("income ~ x", transform="log")
    fixed = make("income ~ x", transform="log", location=log.mean(), scale=log.std(ddof=0))
    fits = [by_hand(one, frame, alpha, **draws) for one in (own, fixed)]
    released = fits[0].synthesize(2, random_seed=1)
    scenario = Scenario(synthetic="income")
    one, other = (recovery_probability(fit, released, scenario, [3, 8]) for fit in fits)
    pd.testing.assert_frame_equal(one, other)
    theta = [fits[1].block.draw(c, d) for c in range(2) for d in range(40)]

    def log_p(values):
        prepared = fixed.prepare(frame.assign(income=values))
        return np.array([terms(fixed, t, prepared, frame.assign(income=values)) for t in theta])

    weights = []
    for step in (0, -0.5, -0.4, -0.3, -0.2, -0.1, 0.1, 0.2, 0.3, 0.4, 0.5):
        altered = frame["income"].to_numpy().copy()
        altered[8] *= 1 + step
        w = np.exp(log_p(altered)[:, 8] - log_p(frame["income"])[:, 8])
        weights.append(
            np.prod(
                [(w / w.sum() * np.exp(log_p(one["income"]).sum(axis=1))).sum() for one in released]
            )
        )
    assert one.loc[8, "probability"] == pytest.approx(weights[0] / sum(weights))


def test_whole_numbers_get_whole_guesses():
    frame = pd.DataFrame({"count": [1, 4, 9, 20]})
    draws = {
        "intercept": np.full((1, 6, 1), 2.0) + 0.1 * np.arange(6)[None, :, None],
        "inverse_phi": np.full((1, 6, 1), 0.5),
    }
    fit = by_hand(
        load_synthesizer("negative-binomial")("count ~ 1"),
        frame,
        pd.Series(1.0, frame.index),
        **draws,
    )
    found = recovery_probability(
        fit, fit.synthesize(1, random_seed=1), Scenario(synthetic="count"), [0, 1]
    )
    assert found["prior"].tolist() == pytest.approx([1 / 3, 1 / 5])  # 0, 1, 2 and 2 .. 6


@pytest.mark.filterwarnings("ignore:overflow", "ignore::riskweighted.common.errors.UnscoredWarning")
def test_recovery_refuses():
    fit = normal_fit(np.linspace(0.01, 0.99, 4))
    secret = FRAME.assign(y=[SECRET, 0.0, 2.0, 3.0, 4.0])
    hidden = by_hand(NormalMean(), secret, ALPHA, theta=np.zeros((1, 2)))
    moving = by_hand(NormalMean(rescale=True), secret, ALPHA, theta=np.zeros((1, 2)))
    top = load_synthesizer("top-coding")("y ~ 1")
    empty = Fit.of(
        BlockFit(
            top,
            ALPHA,
            xr.Dataset(coords={"chain": [0], "draw": [0]}),
            pd.DataFrame(),
            secret,
            top.prepare(secret),
        )
    )
    cases = [
        ((fit, RELEASES, Scenario(synthetic="z"), ["a"]), {}, ["'y'", "'z'"]),
        ((fit, RELEASES, Scenario(synthetic="y", categorical="y"), ["a"]), {}, ["numeric"]),
        ((fit, [], BALL, ["a"]), {}, ["no synthetic dataset"]),
        ((fit, [RELEASES[0], RELEASES[0].iloc[:2]], BALL, ["a"]), {}, ["synthetic dataset 2"]),
        ((fit, RELEASES, BALL, []), {}, ["records"]),
        ((fit, RELEASES, BALL, ["a", "z"]), {}, ["records", "1 of 2"]),
        ((fit, RELEASES, BALL, "a"), {}, ["records", "str"]),
        ((fit, RELEASES, BALL, 3), {}, ["records", "int"]),
        ((fit, RELEASES, BALL, ["a"], ["987654"]), {}, ["guesses"]),
        (
            (fit, [RELEASES[0], FRAME.assign(y=1e200)], BALL, ["a"]),
            {},
            ["1 of 2", "probability zero"],
        ),
        ((fit, RELEASES, BALL, ["a"], []), {}, ["guesses"]),
        ((fit, RELEASES, BALL, ["a"], [np.nan]), {}, ["guesses"]),
        ((fit, RELEASES, BALL, ["a"], [[1.0]]), {}, ["guesses"]),
        ((fit, RELEASES, BALL, ["a"]), {"draws": 5}, ["draws"]),
        ((fit, RELEASES, BALL, ["a"]), {"prior": lambda y: y[0]}, ["prior"]),
        ((fit, RELEASES, BALL, ["a"]), {"prior": lambda y: -1 + 0 * y}, ["prior"]),
        ((fit, RELEASES, BALL, ["a"]), {"prior": lambda y: 0 * y}, ["prior"]),
        ((hidden, RELEASES, BALL, ["a", "b"]), {}, ["'y'", "zero in 1 of 2"]),
        ((moving, RELEASES, BALL, ["a"]), {}, ["NormalMean", "values of others"]),
        ((empty, RELEASES, BALL, ["a"]), {}, ["TopCoding", "likelihood"]),
    ]
    for arguments, settings, named in cases:
        with pytest.raises(InputError) as caught:
            recovery_probability(*arguments, **settings)
        assert_clear(caught, *named)


def test_candidates_near_a_special_code_are_the_code():
    candidates = np.array([[10.0, -8.0, -9.0], [11.0, -9.0, -8.0], [13.0, -8.0, -9.5]])
    scenario = Scenario(synthetic="y", codes={"y": -8})
    assert _near(candidates, scenario).tolist() == [
        [True, True, True],
        [True, False, False],
        [False, True, True],
    ]


PAIRS = pd.DataFrame(
    {"a": [0.4, -1.2, 2.2, 0.9, -0.3, 1.6], "b": [1.0, -0.8, 0.7, 2.4, 0.2, 0.5]},
    index=list("uvwxyz"),
)
TWO = Scenario(synthetic=["a", "b"], radius=0.5)


def pairs_fit(**rules):
    """a ~ N(c0, 0.5), b ~ N(d0 + d1 (a - mean) / sd, 0.5), with posterior draws given by hand."""
    units = {"model": "linear-regression", "location": 0.0, "scale": 1.0}
    settings = {"a": {**units, "formula": "a ~ 1"}, "b": {**units, "formula": "b ~ a"}}
    chain = load_synthesizer("sequential")(["a", "b"], settings=settings, **rules)
    fit = given_chain_fit(chain, PAIRS, chains=2, draws=40)
    return replace(
        fit,
        alphas=pd.DataFrame(
            {"a": [1.0, 0.4, 0.7, 0.0, 1.0, 0.2], "b": [0.9, 0.5, 0.6, 1.0, 0.3, 0.8]}, PAIRS.index
        ),
    )


def log_p_of_pairs(theta, a, b):
    """log p(a_i) and log p(b_i | a_i), (2, n), as the two regressions write it."""
    (c0,), (d0, d1) = theta["a"]["coefficient"], theta["b"]["coefficient"]
    x = (a - PAIRS["a"].mean()) / PAIRS["a"].std(ddof=0)
    return np.array(
        [
            stats.norm.logpdf(a, c0, theta["a"]["sigma"]),
            stats.norm.logpdf(b, d0 + d1 * x, theta["b"]["sigma"]),
        ]
    )


@pytest.mark.parametrize("attacked", ["a", "b"])
def test_of_several_variables_a_candidate_moves_its_own_likelihood_and_that_of_later_ones(attacked):
    fit, rng = pairs_fit(), np.random.default_rng(4)
    releases = [PAIRS + rng.normal(0, 0.6, PAIRS.shape) for _ in range(3)]
    found = recovery_probability(fit, releases, TWO, list("uwx"), GUESSES, variable=attacked)
    thetas = [fit.thetas(chain, draw) for chain in range(2) for draw in range(40)]
    of_release = np.array(
        [[log_p_of_pairs(theta, one["a"], one["b"]).sum() for theta in thetas] for one in releases]
    )
    truth = np.array([log_p_of_pairs(theta, PAIRS["a"], PAIRS["b"]) for theta in thetas])
    for label, row in found.iterrows():
        place, log_p = PAIRS.index.get_loc(label), []
        for guess in [PAIRS.loc[label, attacked], *GUESSES]:
            changed = PAIRS.copy()
            changed.loc[label, attacked] = guess
            moved = (
                np.array([log_p_of_pairs(theta, changed["a"], changed["b"]) for theta in thetas])
                - truth
            )
            weight = np.exp((moved[:, :, place] * fit.alphas.loc[label].to_numpy()).sum(axis=1))
            log_p.append(
                sum(np.log((weight / weight.sum() * np.exp(each)).sum()) for each in of_release)
            )
        p = np.exp(np.array(log_p) - max(log_p))
        assert row["probability"] == pytest.approx(p[0] / p.sum(), rel=1e-9)
        assert row["rank"] == 1 + (p > p[0] * (1 + 1e-12)).sum()
    assert found["probability"].nunique() == 3


EDGES = np.array([-np.inf, -0.2, 0.6, 1.4, np.inf])


def centred_pairs():
    """The same fit, weights centred by hand: a_i of four intervals, by record and variable, not
    constant in any.
    """
    fit, rng, weights, blocks = pairs_fit(), np.random.default_rng(8), {}, {}
    for name, block in fit.blocks.items():
        weights[name] = rng.uniform(0.1, 1.0, (len(PAIRS), 4))
        intervals = Intervals(EDGES[:-1], EDGES[1:], np.zeros(4, dtype=int))
        inside = partial(lambda table, records: table[records], weights[name])
        centring = Centring(
            intervals, inside, np.zeros(len(PAIRS), dtype=int), None, np.ones(len(PAIRS)), name
        )
        blocks[name] = replace(block, alpha=fit.alphas[name].rename("alpha"), centring=centring)
    return replace(fit, blocks=blocks), weights


def expected_of_pairs(theta, a, weights):
    """E[a_i(A)] and E[a_i(B) given a], (2, n), by normal probabilities of the intervals."""
    (c0,), (d0, d1) = theta["a"]["coefficient"], theta["b"]["coefficient"]
    x = (a - PAIRS["a"].mean()) / PAIRS["a"].std(ddof=0)
    means = {"a": np.full(len(a), c0), "b": d0 + d1 * x.to_numpy()}
    masses = {
        name: np.diff(stats.norm.cdf((EDGES - mean[:, None]) / float(theta[name]["sigma"])), axis=1)
        for name, mean in means.items()
    }
    return np.array([(weights[name] * masses[name]).sum(axis=1) for name in ("a", "b")])


@pytest.mark.slow
@pytest.mark.parametrize("attacked", ["a", "b"])
def test_of_a_centred_fit_a_candidate_moves_the_term_of_later_variables_too(attacked):
    """Brute force: what the record adds with each candidate, terms within, less what it adds with
    the truth.
    """
    (fit, weights), rng = centred_pairs(), np.random.default_rng(4)
    releases = [PAIRS + rng.normal(0, 0.6, PAIRS.shape) for _ in range(2)]
    found = recovery_probability(fit, releases, TWO, list("uwx"), GUESSES, variable=attacked)
    thetas = [fit.thetas(chain, draw) for chain in range(2) for draw in range(40)]
    of_release = np.array(
        [[log_p_of_pairs(theta, one["a"], one["b"]).sum() for theta in thetas] for one in releases]
    )

    def adds(frame, label, term):
        place = PAIRS.index.get_loc(label)
        terms = (
            np.array([log_p_of_pairs(theta, frame["a"], frame["b"])[:, place] for theta in thetas])
            @ fit.alphas.loc[label].to_numpy()
        )
        return terms - term * np.array(
            [expected_of_pairs(theta, frame["a"], weights)[:, place].sum() for theta in thetas]
        )

    def recovered(label, term):
        log_p = []
        for guess in [PAIRS.loc[label, attacked], *GUESSES]:
            changed = PAIRS.copy()
            changed.loc[label, attacked] = guess
            weight = np.exp(adds(changed, label, term) - adds(PAIRS, label, term))
            log_p.append(
                sum(np.log((weight / weight.sum() * np.exp(each)).sum()) for each in of_release)
            )
        p = np.exp(np.array(log_p) - max(log_p))
        return p[0] / p.sum()

    for label, row in found.iterrows():
        assert row["probability"] == pytest.approx(recovered(label, 1), rel=1e-9)
        without = row["probability"] == pytest.approx(recovered(label, 0), rel=1e-6)
        # the last variable's own term is the same for every candidate
        assert without == (attacked == "b")


def test_a_candidate_of_another_kind_has_no_weight_in_a_centred_chain():
    rng = np.random.default_rng(3)
    data = pd.DataFrame(
        {"y": np.where(rng.random(60) < 0.3, -8.0, np.round(rng.normal(5, 1, 60), 2))}
    )
    scenario = Scenario(synthetic="y", radius=0.5, codes={"y": [-8.0]})
    chain = load_synthesizer("sequential")(
        ["y"], settings={"y": {"model": "linear-regression", "codes": [-8]}}
    )
    fit = given_chain_fit(chain, data)
    function = OwnWeights(make_world(data, scenario), "y", 1, lambda risk, size: 1 - risk)
    blocks = {
        b.name: replace(fit.blocks[b.name], centring=centring_of(fit.prepared, b, function))
        for b in fit.prepared.blocks
    }
    fit = replace(fit, blocks=blocks)
    place = int(np.flatnonzero(data["y"] > 0)[0])
    found = recovery_probability(fit, [data], scenario, [place], [data["y"].max()])
    assert found["probability"].between(0, 1).all()
    with pytest.raises(InputError, match="would reach other models of 'y'"):
        recovery_probability(fit, [data], scenario, [place], [-8.0])


def test_of_several_variables_the_one_attacked_is_named_and_no_rule_cuts_draws():
    fit, ruled = pairs_fit(), pairs_fit(forbidden=["a > 5"])
    for arguments, settings, named in [
        ((fit, PAIRS, TWO, ["u"]), {}, ["variable must name", "'a', 'b'"]),
        ((fit, PAIRS, TWO, ["u"]), {"variable": "c"}, ["variable must name", "'c'"]),
        ((fit, PAIRS, Scenario(synthetic="a"), ["u"]), {"variable": "a"}, ["'a', 'b'"]),
        ((ruled, PAIRS, TWO, ["u"]), {"variable": "a"}, ["rules between variables"]),
    ]:
        with pytest.raises(InputError) as caught:
            recovery_probability(*arguments, **settings)
        assert_clear(caught, *named)


def test_the_density_of_a_chain_counts_statuses_gaps_and_structural_values():
    rng, n = np.random.default_rng(6), 60
    smoke = rng.random(n) < 0.5
    income = np.round(np.exp(rng.normal(7, 0.6, n)), -1)
    income[:9], income[9:20] = np.nan, -8.0
    data = pd.DataFrame(
        {"income": income, "smoke": smoke, "cigs": np.where(smoke, rng.integers(1, 30, n), 0.0)}
    )
    settings = {
        "income": {"model": "linear-regression", "transform": "log", "codes": [-8]},
        "cigs": {"model": "linear-regression", "when": "smoke == true", "otherwise": 0},
    }
    fit = given_chain_fit(
        load_synthesizer("sequential")(["income", "smoke", "cigs"], settings=settings), data
    )
    theta = fit.thetas(1, 3)
    found = fit.drawing.log_densities(data)(theta)
    for name, each in found.items():
        # alpha is 1: log p of the confidential records
        np.testing.assert_allclose(each, fit.contributions(theta, name), rtol=1e-9)
    wrong = data.assign(cigs=np.where(smoke, data["cigs"], 3.0))
    assert (
        np.isneginf(fit.drawing.log_densities(wrong)(theta)["cigs"]).tolist() == (~smoke).tolist()
    )
