"""Judgement of a fit: what is compared, what is found, and what is not found where nothing is
wrong.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from laplace_fit import laplace_fit
from records import Asked
from scipy.stats import kstest, norm, t

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.design.precision import round_to
from riskweighted.evaluation.fit_check import COLUMNS, COST, FITS, MISFITS, MODEL, THRESHOLDS
from riskweighted.evaluation.fit_statistics import normal_quantile
from riskweighted.evaluation.judgement import told_statuses
from riskweighted.measures.measure import Disclosure
from riskweighted.measures.registry import measures
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sampling.convergence import no_diagnostics
from riskweighted.sequence.fit import Fit


@dataclass(frozen=True)
class LogNormal:
    """log y ~ N(mean of the group, 1), given or left out; ``kind`` spoils the draws in one way."""

    formula: ClassVar[str] = "income ~ C(group)"
    target: ClassVar[str] = "income"
    kind: str = "right"

    def prepare(self, data):
        return data["group"].to_numpy() == "b"

    def build(self, prepared):
        raise AssertionError("nothing is sampled here")

    def distribution(self, theta, prepared):
        return Asked(self, theta, prepared)

    def _mean(self, theta, prepared):
        return theta["centre"] + (0.5 if self.kind == "no group" else prepared)

    def draw(self, theta, prepared, rng):
        values = np.exp(self._mean(theta, prepared) + rng.normal(size=len(prepared)))
        if self.kind == "explodes":
            return np.where(
                rng.random(len(values)) < 0.002,
                values * np.exp(rng.normal(8, 3, len(values))),
                values,
            )
        return values


class WithMass(LogNormal):
    def mass(self, theta, prepared, lower, upper):
        with np.errstate(divide="ignore"):
            ends = [
                norm.cdf(np.log(np.maximum(end, 0)) - self._mean(theta, prepared))
                for end in (lower, upper)
            ]
        return ends[1] - ends[0]


def made(n, seed=1, **columns):
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], n)
    frame = pd.DataFrame(
        {"group": group, "income": np.exp(3 + (group == "b") + rng.normal(size=n))}
    )
    frame["spending"] = frame["income"] ** 0.5 * np.exp(rng.normal(size=n))
    return frame.assign(**columns)


def fitted(data, synthesizer=LogNormal(), alpha=1.0, draws=50):
    """A posterior as it would be of so many records, made without a sampler."""
    rng = np.random.default_rng(5)
    posterior = xr.Dataset(
        {"centre": (("chain", "draw"), 3 + rng.normal(size=(2, draws)) / np.sqrt(len(data)))}
    )
    weights = pd.Series(np.full(len(data), alpha), data.index)
    return Fit.of(
        BlockFit(synthesizer, weights, posterior, no_diagnostics(), data, synthesizer.prepare(data))
    )


def check(data, synthesizer=LogNormal(), **settings):
    table = rw.check_fit(
        fitted(data, synthesizer, settings.pop("alpha", 1.0)),
        **{"random_seed": 1, "others": []} | settings,
    )
    return table.set_index(["check", "parameter"])


def misfits(table):
    return {name for name, verdict in table["verdict"].items() if verdict == MISFITS}


@pytest.mark.parametrize("kind", [LogNormal, WithMass])
@pytest.mark.parametrize("n", [40, 400, 4000])
def test_a_right_model_fits_with_few_records_and_with_many(kind, n):
    verdicts = [rw.fit_verdict(check(made(n, seed), kind()).reset_index()) for seed in range(10)]
    assert verdicts.count(MISFITS) <= 1, verdicts


SPOILED = {
    "zeros": (
        {"income": lambda d: d["income"].where(np.arange(len(d)) % 12 != 0, 0.0)},
        "right",
        {("check-share", "zero")},
    ),
    "losses": (
        {"income": lambda d: d["income"].where(np.arange(len(d)) % 25 != 0, -d["income"])},
        "right",
        {("check-share", "negative")},
    ),
    "spike": (
        {"income": lambda d: d["income"].where(np.arange(len(d)) % 12 != 0, 31.0)},
        "right",
        {("check-share", "exactly 31")},
    ),
    "group": ({}, "no group", {("check-mean", "group=a"), ("check-mean", "group=b")}),
    "tail": (
        {"income": lambda d: np.exp(3.5 + 2 * (np.log(d["income"]) - 3.5))},
        "right",
        {("check-sd", ""), ("check-quantile", "0.99")},
    ),
    "explosion": ({}, "explodes", {("check-largest", "")}),
}


@pytest.mark.parametrize("name", list(SPOILED))
def test_what_is_wrong_is_found_and_named(name):
    columns, kind, expected = SPOILED[name]
    table = check(made(4000, **columns), LogNormal(kind))
    assert expected <= misfits(table)
    assert table["verdict"].iloc[0] == MISFITS
    model = table.iloc[1:]
    ratios = (model["effect"] / model["threshold"])[model["verdict"] == MISFITS]
    assert table["effect"].iloc[0] == pytest.approx(ratios.max())


def test_heaping_is_found_where_half_of_the_values_are_round():
    data = made(4000).round({"income": 2})
    data["income"] = data["income"].where(data.index % 2 == 0, data["income"].round())
    table = check(data)
    assert {("check-share-of-some", "multiples of 1")} <= misfits(table)
    rows = table.loc["check-share-of-some"]
    assert list(rows.index) == [f"multiples of {step}" for step in ("0.1", "1", "10")]
    hundredths = np.rint(data["income"].to_numpy() * 100).astype(int)
    hundredths = hundredths[hundredths != 0]
    np.testing.assert_allclose(
        rows["confidential"], [(hundredths % m == 0).mean() for m in (10, 100, 1000)]
    )
    np.testing.assert_allclose(rows["synthetic"], [0.1, 0.01, 0.001], atol=0.01)


def test_a_lost_relation_is_found_and_an_explained_one_is_not():
    data = made(4000)
    lost = check(data, others=["spending"])
    # the model does not know spending
    assert misfits(lost) == {(MODEL, ""), ("check-correlation", "spending")}
    own = [
        np.arcsinh((v - v.median()) / ((v.quantile(0.75) - v.quantile(0.25)) / 1.349))
        for v in (data["income"], data["spending"])
    ]
    row = lost.loc[("check-correlation", "spending")]
    assert row["confidential"] == pytest.approx(np.corrcoef(*own)[0, 1])
    copied = data.assign(copy=np.log1p(data["income"]), spare=-data["income"], flat=1.0)
    # others derive from income, or say nothing
    assert set(check(copied, others=None).loc["check-correlation"].index) == {"spending"}
    assert set(check(copied, others=["copy"]).loc["check-correlation"].index) == {"copy"}
    given = check(data.assign(code=(data["group"] == "b").astype(int)), others=["code"])
    assert misfits(given) == set()
    assert abs(given.loc[("check-correlation", "code"), "confidential"]) > 0.3


@pytest.mark.parametrize("datasets", [30, 100])
def test_a_right_model_is_beyond_a_limit_as_often_as_a_normal(datasets):
    drawn = np.random.default_rng(1).normal(size=(datasets + 1, 60_000))
    low, middle, high = np.quantile(drawn[1:], norm.cdf([-1, 0, 1]), axis=0)
    z = normal_quantile((middle - drawn[0]) / ((high - low) / 2), datasets)
    for limit in (2.5, 3.0, 3.5):
        expected = 2 * norm.sf(limit)
        error = np.sqrt(expected / drawn.shape[1])
        assert (np.abs(z) > limit).mean() == pytest.approx(expected, abs=4 * error + 0.1 * expected)
    assert normal_quantile(-2.0, datasets) == -normal_quantile(2.0, datasets)


def test_each_number_against_its_definition():
    data = made(500)
    data.loc[:49, "income"] = 0.0
    # as released
    table, y = check(data, LogNormal(), draws=40), round_to(data["income"].to_numpy(), None)
    # chains in turn, evenly within one
    places = [(turn % 2, int((turn // 2 + 0.5) * 50 / 20)) for turn in range(40)]
    seeds = np.random.SeedSequence(1).spawn(41)
    one = fitted(data).block
    draws = (
        one.distribution(one.draw(*place)).draw(np.random.default_rng(s))
        for place, s in zip(places, seeds, strict=False)
    )
    sets = [round_to(drawn, None) for drawn in draws]
    expected = {
        ("check-share", "zero"): [np.mean(v == 0) for v in (y, *sets)],
        ("check-quantile", "0.9"): [np.quantile(v, 0.9) for v in (y, *sets)],
        ("check-sd", ""): [np.std(v) for v in (y, *sets)],
        ("check-largest", ""): [np.max(v) / y.max() for v in (y, *sets)],
        ("check-mean", "group=a"): [
            np.mean(np.asarray(v)[data["group"] == "a"]) for v in (y, *sets)
        ],
    }
    for name, (own, *drawn) in expected.items():
        row = table.loc[name]
        middle = np.median(drawn)
        error = np.subtract(*np.quantile(drawn, norm.cdf([1, -1]))) / 2
        np.testing.assert_allclose(
            [row["confidential"], row["synthetic"], row["standard_error"]],
            [own, middle, error],
            err_msg=str(name),
        )
        if error > 0:
            tail = t.sf(abs(middle - own) / error / np.sqrt(1 + np.pi / 80), 0.541 * 40)
            assert abs(row["z"]) == pytest.approx(norm.isf(tail))
            assert np.sign(row["z"]) == np.sign(middle - own)
    effects = table["effect"]
    row = table.loc[("check-quantile", "0.9")]
    spread = np.subtract(*np.quantile(y, [0.75, 0.25]))
    assert effects[("check-quantile", "0.9")] == pytest.approx(
        abs(row["synthetic"] - row["confidential"]) / max(row["confidential"], spread)
    )
    row = table.loc[("check-mean", "group=a")]
    assert effects[("check-mean", "group=a")] == pytest.approx(
        abs(row["synthetic"] - row["confidential"]) / np.std(y)
    )


def test_the_transform_is_that_of_the_right_model_from_masses_and_from_draws():
    data = made(3000)
    y, b = data["income"].to_numpy(), (data["group"] == "b").to_numpy()
    exact = kstest(norm.cdf(np.log(y) - 3 - b), "uniform").statistic
    for kind in (LogNormal, WithMass):
        row = check(data, kind()).loc[("check-pit-distance", "")]
        assert row["synthetic"] == pytest.approx(exact, abs=0.01)
        assert row["confidential"] == pytest.approx(0.8687 / np.sqrt(3000), rel=1e-3)
    shifted = check(data.assign(income=y * 1.5), WithMass())
    assert ("check-pit-outer", "above 0.95") in misfits(shifted)
    u = norm.cdf(np.log(1.5 * y) - 3 - b)
    assert shifted.loc[("check-pit-outer", "above 0.95"), "synthetic"] == pytest.approx(
        (u > 0.95).mean(), abs=0.005
    )


def test_rounded_values_have_a_uniform_transform_too():
    data = made(4000).round({"income": -1})  # hundreds of records share a value
    for kind in (LogNormal, WithMass):
        table = check(data, kind())
        assert table.loc[("check-pit-distance", ""), "effect"] < 0.03, kind
        assert misfits(table) == set()


def test_a_weighted_fit_has_a_cost_and_no_verdict():
    table = check(made(500), LogNormal("no group"), alpha=0.5)
    assert set(table["verdict"]) == {COST}
    assert rw.fit_verdict(table.reset_index()) == COST


def test_means_by_known_pattern_or_any_columns_of_enough_records():
    data = made(400)
    data["size"] = np.where(data.index < 40, "few", "many")
    scenario = rw.Scenario(known=["group", "size"], synthetic="income")
    known = rw.check_fit(fitted(data), scenario=scenario, others=[], draws=5)
    by = rw.check_fit(fitted(data), by=["group", "size"], others=[], draws=5)
    for table in (known, by):
        names = table.loc[table["check"] == "check-mean", "parameter"]
        assert sorted(names) == ["group=a, size=many", "group=b, size=many"]
    assert "check-mean" not in set(
        rw.check_fit(fitted(data), scenario=rw.Scenario(synthetic="income"), draws=5)["check"]
    )


def test_the_table_says_what_it_holds_and_shows_no_record():
    data = made(60)
    table = rw.check_fit(fitted(data), random_seed=2)
    assert tuple(table) == COLUMNS
    assert table["check"].iloc[0] == MODEL
    assert set(table["check"]) <= {MODEL, *THRESHOLDS} <= set(measures())
    assert {key for key in THRESHOLDS if measures()[key].disclosure is Disclosure.COMPARED} == {
        "check-sd",
        "check-largest",
    }
    assert measures()[MODEL].disclosure is Disclosure.VERDICT
    assert set(table["verdict"]) <= {FITS, MISFITS}
    text = table.to_csv()
    assert not [value for value in data["income"] if f"{value:.6g}"[:6] in text]
    assert (
        min(
            min(q, 1 - q) * 60
            for q in map(float, table.loc[table["check"] == "check-quantile", "parameter"])
        )
        >= 10
    )
    pd.testing.assert_frame_equal(table, rw.check_fit(fitted(data), random_seed=2))
    assert not table.equals(rw.check_fit(fitted(data), random_seed=3))


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"by": "nope"}, "'nope'"),
        ({"by": "group", "scenario": rw.Scenario(synthetic="income")}, "not both"),
        ({"others": ["nope"]}, "'nope'"),
        ({"draws": 0}, "draws"),
        ({"random_seed": -1}, "random_seed"),
    ],
)
def test_wrong_settings_are_refused(settings, named):
    with pytest.raises(InputError, match=named):
        rw.check_fit(fitted(made(60)), **settings)


def test_there_is_no_model_to_judge_in_a_baseline_and_no_verdict_in_another_table():
    data = made(60)
    top = rw.fit(rw.load_synthesizer("top-coding")("income ~ 1"), data)
    with pytest.raises(InputError, match="keeps true values"):
        rw.check_fit(top)
    with pytest.raises(InputError, match="constant"):
        rw.check_fit(fitted(data.assign(income=3.0)))
    with pytest.raises(InputError, match="one row 'fits', got 0"):
        rw.fit_verdict(rw.check_fit(fitted(data)).iloc[1:])


# Several variables


def two_amounts(n=800, seed=4):
    """``a`` follows ``x``, and ``b`` follows ``a``; survey weights ``w``."""
    rng = np.random.default_rng(seed)
    x = rng.choice(["k", "l", "m"], n)
    a = np.round(np.exp(3 + 0.5 * (x == "l") + 0.3 * rng.normal(size=n)), 2)
    return pd.DataFrame(
        {
            "x": x,
            "a": a,
            "b": np.round(0.5 * a + rng.normal(10, 2, n), 2),
            "w": rng.uniform(0.5, 2, n),
        }
    )


def chain_fit(data, survey=None, alpha=None):
    settings = {name: {"model": "linear-regression"} for name in ("a", "b")}
    chain = rw.load_synthesizer("sequential")(["a", "b"], predictors=["x"], settings=settings)
    return rw.fit(chain, data, alpha, survey=survey, random_seed=1, draws=600, tune=300, chains=2)


def heaped(data):
    """A third of the values of ``b`` on one number, which no line draws."""
    return data.assign(b=data["b"].where(np.arange(len(data)) % 3 > 0, 60.0))


def test_every_variable_of_a_chain_has_the_checks_of_one_variable():
    data = two_amounts()
    table = rw.check_fit(
        chain_fit(data), scenario=rw.Scenario(known=["x"], synthetic=["a", "b"]), random_seed=1
    )
    assert tuple(table) == (*COLUMNS, "variable")
    assert (table["check"].iloc[0], table["variable"].iloc[0]) == (MODEL, "")
    kinds = {name: set(rows["check"]) for name, rows in table.iloc[1:].groupby("variable")}
    assert kinds["a"] >= {
        "check-mean",
        "check-quantile",
        "check-correlation",
        "check-pit-distance",
        "check-largest",
    }
    assert kinds["b"] == kinds["a"] | {"check-pairs"}
    pairs = table[table["check"] == "check-pairs"]
    assert list(zip(pairs["variable"], pairs["parameter"], strict=True)) == [
        ("a", "x"),
        ("b", "x"),
        ("b", "a"),
        ("b", "x by a"),
    ]
    related = table[table["check"] == "check-correlation"]
    # b follows a
    assert set(zip(related["variable"], related["parameter"], strict=True)) == {
        ("a", "w"),
        ("b", "a"),
        ("b", "w"),
    }
    assert set(table["verdict"]) <= {FITS, MISFITS}
    again = rw.check_fit(chain_fit(data), by="x", others=["a", "b", "w"], random_seed=1)
    pd.testing.assert_frame_equal(again, table)


def test_a_misfit_of_one_variable_of_a_chain_is_found_under_its_name():
    table = rw.check_fit(chain_fit(heaped(two_amounts())), random_seed=1)
    assert rw.fit_verdict(table) == MISFITS
    spike = table[(table["check"] == "check-share") & (table["parameter"] == "exactly 60")].iloc[0]
    assert (spike["variable"], spike["verdict"]) == ("b", MISFITS)
    assert table["effect"].iloc[0] >= spike["effect"] / spike["threshold"] > 1


@pytest.mark.parametrize("given", [{"survey": "w"}, {"alpha": 0.5}, {"survey": "w", "alpha": 0.5}])
def test_no_weighted_chain_is_said_to_fit(given):
    """Survey weights weigh too, though alpha is 1: the misfit is there, and it is not judged."""
    data = heaped(two_amounts())
    alpha = given.get("alpha")
    fit = chain_fit(data, given.get("survey"), None if alpha is None else np.full(len(data), alpha))
    table = rw.check_fit(fit, draws=30, random_seed=1)
    assert rw.fit_verdict(table) == COST
    assert set(table["verdict"]) == {COST}
    assert table["effect"].iloc[0] > 1


def test_a_variable_that_is_weighted_is_not_judged_beside_one_that_is_not():
    data = two_amounts()
    table = rw.check_fit(
        chain_fit(data, alpha=pd.DataFrame({"a": 0.5, "b": 1.0}, data.index)), random_seed=1
    )
    verdicts = {name: set(rows["verdict"]) for name, rows in table.groupby("variable")}
    assert verdicts["a"] == verdicts[""] == {COST}
    assert verdicts["b"] <= {FITS, MISFITS}


def test_a_variable_of_one_value_and_gaps_is_judged_by_its_gaps():
    data = pd.DataFrame(
        {"x": np.arange(400.0), "flag": np.where(np.arange(400) % 3 == 0, np.nan, 7.0)}
    )
    fit = rw.fit(
        rw.load_synthesizer("sequential")(["flag"], predictors=["x"]),
        data,
        random_seed=1,
        draws=100,
        tune=100,
        chains=2,
    )
    table = rw.check_fit(fit, random_seed=1)
    (gaps,) = table.iloc[1:].to_dict("records")
    assert (gaps["check"], gaps["parameter"], gaps["variable"]) == (
        "check-share",
        "missing",
        "flag",
    )
    assert gaps["synthetic"] == pytest.approx(1 / 3, abs=0.02)
    assert "flag missing" in told_statuses(table.assign(label="unweighted"))
    assert rw.fit_verdict(table) == FITS


def test_a_model_that_centring_does_not_mend_is_flagged():
    """Skewed errors under a normal model: centred weights leave the mean off by a quarter, and the
    unweighted fit says why.
    """
    rng = np.random.default_rng(3)
    x, wrong = rng.normal(size=400), rng.exponential(size=400) - 1
    scenario = rw.Scenario(synthetic="y", radius=0.5, radius_kind="absolute")
    model = rw.load_synthesizer("linear-regression")("y ~ x", location=0.0, scale=1.0)
    off, verdicts = {}, {}
    for name, errors in (("skewed", wrong), ("normal", rng.normal(size=400))):
        data = pd.DataFrame({"x": x, "y": 1 + x / 2 + errors})
        centred = laplace_fit(model, data, rw.centred_weights("marginal+", data, scenario))
        # predictors are centred
        off[name] = float(centred.posterior["coefficient"][..., 0].mean()) - data["y"].mean()
        verdicts[name] = rw.fit_verdict(rw.check_fit(laplace_fit(model, data), random_seed=1))
        assert rw.fit_verdict(rw.check_fit(centred, random_seed=1)) == COST
    assert verdicts == {"skewed": MISFITS, "normal": FITS}
    assert off["skewed"] < -0.15
    assert abs(off["normal"]) < 0.1


def test_a_predictor_that_the_model_leaves_out_misfits_beside_it_and_the_group_is_named():
    table = check(made(2000), LogNormal("no group"))
    assert ("check-pairs", "group") in misfits(table)
    assert table.loc[("check-pairs", "group"), "where"] in {"group=a", "group=b"}
    assert table.loc[("check-mean", "group=a"), "where"] == ""
    right = check(made(2000))
    assert right.loc[("check-pairs", "group"), "verdict"] == FITS
    assert (
        check(made(2000), LogNormal("no group"), alpha=0.5).loc[("check-pairs", "group"), "verdict"]
        == COST
    )
