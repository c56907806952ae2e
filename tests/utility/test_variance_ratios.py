"""What centred weights cost an estimate, against sandwiches worked out by hand, and where it is not
judged.
"""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from laplace_fit import laplace_fit
from riskweighted_models.linear_regression import LinearRegression
from scipy import optimize, stats

import riskweighted as rw
from riskweighted.utility.variance_ratios import stated_ratio

N = 300
SCENARIO = rw.Scenario(synthetic="y", radius=0.5, radius_kind="absolute")
MODEL = rw.load_synthesizer("linear-regression")("y ~ x", location=0.0, scale=1.0)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    x = rng.normal(size=N)
    return pd.DataFrame({"x": x, "y": 1 + x / 2 + rng.normal(size=N), "z": rng.normal(size=N)})


@pytest.fixture(scope="module")
def centred(data):
    return laplace_fit(MODEL, data, rw.centred_weights("marginal+", data, SCENARIO))


def ratio(table, estimand):
    return float(table.set_index("estimand").loc[estimand, "ratio"])


def slopes_of(function, theta, step=1e-5):
    """Central differences of a function of three parameters, (3, ...)."""
    return np.array(
        [(function(theta + step * e) - function(theta - step * e)) / (2 * step) for e in np.eye(3)]
    )


def hand_worked(data, held):
    """Sandwiches of (intercept, slope of x in standard deviations, log sigma), centred and
    unweighted, by differences alone.
    """
    y, x = data["y"].to_numpy(), data["x"].to_numpy()
    u, alpha, n = (x - x.mean()) / x.std(), held.alpha.to_numpy(), len(y)
    weight, (lower, upper, _) = held.centring.inside(np.arange(n)), held.centring.intervals

    def logs(theta):
        return stats.norm.logpdf(y, theta[0] + theta[1] * u, np.exp(theta[2]))

    def adds(theta):
        mean, sigma = theta[0] + theta[1] * u[:, None], np.exp(theta[2])
        expected = (
            weight * (stats.norm.cdf(upper, mean, sigma) - stats.norm.cdf(lower, mean, sigma))
        ).sum(axis=1)
        return alpha * logs(theta) - expected

    def prior(theta):
        return (
            stats.norm.logpdf(theta[:2]).sum() + stats.halfnorm.logpdf(np.exp(theta[2])) + theta[2]
        )

    sandwiches = []
    for each in (adds, logs):

        def height(theta, each=each):
            return each(theta).sum() + prior(theta)

        mode = optimize.minimize(
            lambda theta: -height(theta),
            np.array([1.0, 0.5, 0.0]),
            method="BFGS",
            options={"gtol": 1e-6},
        ).x
        gradients = slopes_of(each, mode)
        bread = np.linalg.inv(-slopes_of(lambda theta: slopes_of(height, theta, 1e-4), mode, 1e-4))
        sandwiches.append((mode, bread @ (gradients @ gradients.T) @ bread))
    return sandwiches


def test_ratios_are_those_of_sandwiches_worked_out_by_differences(data, centred):
    table = rw.variance_ratios(centred, ["y ~ x"])
    found = hand_worked(data, centred.block)
    weighted, plain = (sandwich for _, sandwich in found)
    assert ratio(table, "coefficient x in y ~ x") == pytest.approx(
        weighted[1, 1] / plain[1, 1], rel=0.02
    )
    assert ratio(table, "mean") == pytest.approx(weighted[0, 0] / plain[0, 0], rel=0.02)
    at = float(np.quantile(data["y"], 0.9))
    u = ((data["x"] - data["x"].mean()) / data["x"].std(ddof=0)).to_numpy()
    below = [
        slopes_of(
            lambda theta: stats.norm.cdf(at, theta[0] + theta[1] * u, np.exp(theta[2])).mean(), mode
        )
        for mode, _ in found
    ]
    worked = [share @ sandwich @ share for share, (_, sandwich) in zip(below, found, strict=True)]
    assert ratio(table, "0.9 quantile") == pytest.approx(worked[0] / worked[1], rel=0.05)
    assert stated_ratio(table) >= table["ratio"].max() - 1e-6


@pytest.mark.quick
def test_constant_weights_cost_nothing_and_plain_ones_are_not_judged(data):
    for weights in (None, np.full(N, 0.4)):
        table = rw.variance_ratios(laplace_fit(MODEL, data, weights), ["y ~ x"])
        assert (table["ratio"] == 1).all()
        assert stated_ratio(table) == 1
    table = rw.variance_ratios(
        laplace_fit(MODEL, data, rw.marginal_weights(data, SCENARIO)), ["y ~ x"]
    )
    assert table["ratio"].isna().all()
    assert table["why"].str.contains("not centred").all()
    assert np.isnan(stated_ratio(table))


def test_weights_that_take_less_away_cost_less(data, centred):
    mild = laplace_fit(MODEL, data, rw.centred_weights("mix+(t=0.5)", data, SCENARIO))
    name = "coefficient x in y ~ x"
    assert ratio(rw.variance_ratios(mild, ["y ~ x"]), name) < ratio(
        rw.variance_ratios(centred, ["y ~ x"]), name
    )


@dataclasses.dataclass(frozen=True)
class OfGraph(LinearRegression):
    """The same model, which is centred in its graph alone."""

    def build(self, prepared):
        return super().build(prepared)._replace(centred=None)


def test_what_cannot_be_had_is_not_judged_and_says_why(data, centred):
    graph = centred.changed(synthesizer=OfGraph("y ~ x", location=0.0, scale=1.0))
    table = rw.variance_ratios(graph, ["y ~ x"])
    assert table["ratio"].isna().all()
    assert table["why"].str.contains("OfGraph").all()
    others = rw.variance_ratios(centred, ["x ~ y"])
    assert others.loc[others["variable"] == "x", "why"].tolist() == [
        "its response is not synthesized"
    ]
    assert others.loc[others["variable"] == "y", "ratio"].notna().all()


@pytest.mark.quick
@pytest.mark.parametrize(
    ("ratios", "stated"),
    [([1.31, 1.02], 1.4), ([0.8], 1.0), ([1.3, np.nan], 1.3), ([1.0 + 1e-9], 1.0)],
)
def test_what_is_stated_is_the_largest_rounded_up_and_never_below_one(ratios, stated):
    assert stated_ratio(pd.DataFrame({"ratio": ratios})) == pytest.approx(stated)


def test_levels_and_conditions_have_their_ratios():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"group": rng.choice(["a", "b"], 400), "age": rng.integers(0, 4, 400)})
    chance = 1 / (1 + np.exp(1 - 0.6 * (frame["group"] == "a")))
    frame["rich"] = np.where(rng.random(400) < chance, "yes", "no")
    scenario = rw.Scenario(known="group", synthetic="rich")
    fit = laplace_fit(
        rw.load_synthesizer("logistic")("rich ~ group"),
        frame,
        rw.centred_weights("mix+(t=0.5)", frame, scenario),
    )
    table = rw.variance_ratios(fit, ["rich ~ C(group)", "rich ~ C(group) where age > 0"])
    assert {"share of no", "share of yes"} <= set(table["estimand"])
    assert table["ratio"].between(0.9, 2.0).all()
    of_all, of_some = table[table["estimand"].str.contains("coefficient")]["ratio"]
    assert of_all == pytest.approx(of_some, rel=0.1)  # the same two designs, in other numbers


@pytest.mark.parametrize(
    ("name", "target"), [("transformation", "income"), ("two-part", "mixed"), ("counts", "count")]
)
def test_models_in_other_coordinates_have_ratios_near_those_of_a_regression(name, target):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"group": rng.choice(["a", "b"], 240), "age": rng.integers(0, 4, 240)})
    income = np.exp(
        3 + 0.2 * (frame["group"] == "a") + 0.1 * frame["age"] + 0.5 * rng.normal(size=240)
    ).round(1)
    mixed = np.where(rng.random(240) < 0.1, 0.0, np.where(rng.random(240) < 0.1, -income, income))
    frame = frame.assign(income=income, mixed=mixed, count=(income // 4).astype(int))
    scenario = rw.Scenario(known="group", synthetic=target, radius=0.3)
    model = rw.load_synthesizer(name)(f"{target} ~ group + age")
    table = rw.variance_ratios(
        laplace_fit(model, frame, rw.centred_weights("marginal+", frame, scenario)),
        [f"{target} ~ age"],
    )
    assert table["estimand"].tolist() == [
        "mean",
        "0.5 quantile",
        "0.9 quantile",
        f"coefficient age in {target} ~ age",
    ]
    assert table["ratio"].between(0.7, 3).all()


def test_of_a_chain_each_variable_is_judged_given_those_before_it():
    rng = np.random.default_rng(4)
    x = rng.normal(size=240)
    b = np.where(rng.random(240) < 0.4, "yes", "no")
    frame = pd.DataFrame(
        {
            "x": x,
            "b": b,
            "y": np.where(
                rng.random(240) < 0.15, -8.0, 10 + x + (b == "yes") + rng.normal(size=240)
            ),
        }
    )
    codes = {"y": [-8]}
    settings = {"y": {"model": "linear-regression", "codes": [-8]}}
    chain = rw.load_synthesizer("sequential")(["b", "y"], predictors=["x"], settings=settings)
    scenario = rw.Scenario(synthetic=["b", "y"], radius=0.1, codes=codes)
    fit = laplace_fit(chain, frame, rw.centred_weights("mix+(t=0.5)", frame, scenario))
    table = rw.variance_ratios(fit, ["y ~ x + b", "b ~ x", "b ~ y"], codes=codes).set_index(
        "estimand"
    )
    judged = [
        "share of yes",
        "share of -8",
        "mean",
        "coefficient x in y ~ x + b",
        "coefficient b[T.yes] in y ~ x + b",
        "coefficient x in b ~ x",
    ]
    assert table.loc[judged, "ratio"].between(0.7, 2).all()
    assert "'y'" in table.loc["coefficients of b ~ y", "why"]
    assert np.isnan(table.loc["coefficients of b ~ y", "ratio"])
