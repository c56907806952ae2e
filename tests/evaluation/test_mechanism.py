"""The rows of the mechanism's risk: each is what its definition says of the records, and its error
is that of repetitions.
"""

import numpy as np
import pandas as pd
import pytest
from handmade import given_chain_fit, given_fit

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.evaluation.mechanism import expected_seed
from riskweighted.measures.expected_measures import RISES
from riskweighted.measures.registry import measures
from riskweighted.risk.expected_identification import isolated_records, top_values

N = 90
SCENARIO = rw.Scenario(known=["area"], synthetic="jobs", radius=0.2)


@pytest.fixture(scope="module")
def confidential():
    rng = np.random.default_rng(1)
    jobs = rng.negative_binomial(5, 5 / 55, N)
    return pd.DataFrame(
        {"jobs": jobs, "area": rng.choice(["a", "b"], N), "house": np.arange(N) // 3},
        [f"r{i}" for i in range(N)],
    )


@pytest.fixture(scope="module")
def fits(confidential):
    alpha = np.where(confidential["jobs"] > 80, 0.2, 1.0)
    return {
        "unweighted": given_fit(confidential),
        "weighted": given_fit(confidential, alpha, spread=0.8),
    }


@pytest.fixture(scope="module")
def result(confidential, fits):
    return scored(confidential, fits)


def scored(confidential, fits, seed=0, baseline="unweighted", **settings):
    synthetic = {label: fit.synthesize(4, random_seed=1) for label, fit in fits.items()}
    return rw.evaluate(
        confidential,
        synthetic,
        SCENARIO,
        settings=rw.EvaluationSettings(resamples=10, increase=0.1, **settings),
        baseline=baseline,
        fits=fits,
        random_seed=seed,
    )


def value(result, label, key, column="value", parameter=None, variable=None):
    of_variable = (
        result.risk["variable"].isna() if variable is None else result.risk["variable"] == variable
    )
    rows = result.risk[(result.risk["label"] == label) & (result.risk["key"] == key) & of_variable]
    (found,) = (
        rows.loc[rows["parameter"] == parameter, column] if parameter is not None else rows[column]
    )
    return found


def test_isolated_and_top_records_are_the_largest_with_all_ties():
    assert isolated_records(np.arange(100.0)).sum() == 5
    assert isolated_records(np.arange(101.0)).sum() == 6
    assert isolated_records(np.r_[np.zeros(90), np.ones(10)]).sum() == 10
    assert isolated_records(np.array([0.5])).all()
    assert np.flatnonzero(top_values(np.arange(200.0)[::-1])).tolist() == [0, 1]


def test_rows_summarise_the_expected_risk_of_the_records(confidential, fits, result):
    own = rw.identification_risk(confidential, scenario=SCENARIO).to_numpy()
    isolated, top = isolated_records(own), top_values(confidential["jobs"].to_numpy())
    expected = result.expected
    assert list(expected) == ["confidential", "unweighted", "weighted"]
    np.testing.assert_array_equal(expected["confidential"], own)
    for label in expected:
        risk = expected[label].to_numpy()
        assert value(result, label, "expected-mean-risk") == pytest.approx(risk.mean())
        assert value(result, label, "expected-maximum-risk") == risk.max()
        assert value(result, label, "expected-isolated-risk") == pytest.approx(
            risk[isolated].mean()
        )
        assert value(result, label, "expected-top-risk") == pytest.approx(risk[top].mean())
        assert value(result, label, "expected-records-over") == (risk > 0.5).sum()
    other = scored(confidential, fits, baseline="weighted")
    rise = (expected["unweighted"] - expected["weighted"]).to_numpy()
    for limit in RISES:
        assert (
            value(other, "unweighted", "records-riskier", parameter=limit) == (rise >= limit).sum()
        )
        assert (
            value(result, "weighted", "records-riskier", parameter=limit) == (-rise >= limit).sum()
        )
    assert (rise >= 0.05).sum() > 0
    assert "records-riskier" not in set(
        result.risk.loc[result.risk["label"] == "unweighted", "key"]
    )
    alone = rw.expected_identification_risk(fits["weighted"], SCENARIO, draws=100, random_seed=5)
    assert abs(alone["risk"] - expected["weighted"]).mean() < 0.01


def test_the_errors_are_those_of_repetitions(confidential, fits):
    """Other posterior draws of the same posterior, other synthetic values."""
    keys = ("expected-mean-risk", "expected-isolated-risk", "expected-maximum-risk")
    found = {key: [] for key in keys}
    for seed in range(16):
        again = {"unweighted": given_fit(confidential, spread=0.3, seed=seed)}
        result = scored(confidential, again, seed=seed)
        for key in keys:
            found[key].append(
                (value(result, "unweighted", key), value(result, "unweighted", key, "error"))
            )
    for key, pairs in found.items():
        values, errors = np.array(pairs).T
        assert 0.5 < errors.mean() / values.std(ddof=1) < 2, key


def test_influence_stands_in_the_table(confidential, fits):
    result = scored(confidential, fits, cluster="house", risk_draws=120)
    table = rw.influence(fits["weighted"], SCENARIO)
    assert value(result, "weighted", "influence-lipschitz") == pytest.approx(
        table["lipschitz"].max()
    )
    assert value(result, "weighted", "influence-range") == pytest.approx(table["range"].max())
    assert value(result, "weighted", "influence-information") == pytest.approx(
        table["information"].sum()
    )
    assert 2 * value(result, "weighted", "influence-information") == pytest.approx(
        table.attrs["p_eff"]
    )
    own = rw.identification_risk(confidential, scenario=SCENARIO).to_numpy()
    attributable = table["attributable"][isolated_records(own)].mean()
    assert value(result, "weighted", "attributable-isolated") == pytest.approx(attributable)
    houses = rw.influence(fits["weighted"], cluster="house")
    assert value(result, "weighted", "influence-lipschitz", variable="house") == pytest.approx(
        houses["lipschitz"].max()
    )
    definition = value(result, "weighted", "influence-lipschitz", "definition", variable="house")
    assert "same house" in definition
    assert "120 posterior draws" in definition
    assert "no guarantee" in definition


def test_without_fits_the_table_is_that_of_the_datasets(confidential, fits):
    synthetic = {"unweighted": fits["unweighted"].synthesize(3, random_seed=1)}
    plain = rw.evaluate(
        confidential,
        synthetic,
        SCENARIO,
        settings=rw.EvaluationSettings(resamples=10),
        random_seed=0,
    )
    assert not any(measures()[key].needs == "fit" for key in plain.risk["key"])
    assert plain.expected.shape == (N, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"fits": {"other": given_fit(pd.DataFrame({"jobs": [1, 2]}))}},
            "fits names .other., which the synthetic data does not hold",
        ),
        (
            {"settings": {"risk_draws": 121}},
            "draws must be at most the 120 that the fit has, got 121",
        ),
        ({"settings": {"risk_draws": 0}}, "risk_draws must be"),
        ({"settings": {"cluster": "flat"}}, "confidential data lacks 'flat'|'flat'"),
        ({"fits": "shorter"}, "the fit of 'unweighted' is of other data"),
        ({"fits": "shuffled"}, "the fit of 'unweighted' is of other data"),
        ({"fits": {"unweighted": 3}}, "fits must be a mapping of label to Fit"),
        ({"fits": [1]}, "fits must be a mapping of label to Fit"),
    ],
)
def test_wrong_fits_are_refused(confidential, fits, change, message):
    synthetic = {"unweighted": fits["unweighted"].synthesize(3, random_seed=1)}
    given = {"fits": {"unweighted": fits["unweighted"]}} | change
    if given["fits"] == "shorter":
        given["fits"] = {"unweighted": given_fit(confidential.iloc[:50])}
    if given["fits"] == "shuffled":
        given["fits"] = {
            "unweighted": given_fit(
                confidential.sample(frac=1, random_state=1).set_axis(confidential.index)
            )
        }
    settings = given.pop("settings", {})
    with pytest.raises(InputError, match=message):
        rw.evaluate(
            confidential,
            synthetic,
            SCENARIO,
            settings=rw.EvaluationSettings(resamples=10, **settings),
            **given,
        )


def test_one_draw_has_a_risk_and_no_error(confidential, fits):
    result = scored(confidential, fits, risk_draws=1)
    assert np.isfinite(value(result, "weighted", "expected-mean-risk"))
    assert np.isnan(value(result, "weighted", "expected-mean-risk", "error"))
    assert np.isnan(value(result, "weighted", "attributable-isolated"))


def test_a_chain_is_measured_as_one_release(confidential):
    rng = np.random.default_rng(4)
    data = confidential.assign(edu=rng.choice(list("abc"), N), smoke=rng.random(N) < 0.4)
    chain = rw.load_synthesizer("sequential")(["edu", "smoke"], predictors=["area"])
    fits = {
        "unweighted": given_chain_fit(chain, data),
        "weighted": given_chain_fit(chain, data, 0.5, seed=5),
    }
    scenario = rw.Scenario(known=["area"], synthetic=["edu", "smoke"])
    synthetic = {
        label: [fit.released(fit.draw(0, k), np.random.default_rng(k)) for k in range(4)]
        for label, fit in fits.items()
    }
    found = rw.evaluate(
        data,
        synthetic,
        scenario,
        settings=rw.EvaluationSettings(resamples=10, increase=0.1, cluster="house"),
        baseline="unweighted",
        fits=fits,
        random_seed=0,
    )
    table = rw.expected_identification_risk(
        fits["weighted"], scenario, draws=100, random_seed=expected_seed(0, "weighted")
    )
    np.testing.assert_allclose(found.expected["weighted"], table["risk"])
    assert value(found, "weighted", "expected-mean-risk") == pytest.approx(table["risk"].mean())
    influence = rw.influence(fits["weighted"], draws=100)
    assert value(found, "weighted", "influence-range") == pytest.approx(influence["range"].max())
    assert value(found, "weighted", "influence-information") == pytest.approx(
        influence["information"].sum()
    )
    clusters = rw.influence(fits["weighted"], draws=100, cluster="house")
    assert value(found, "weighted", "influence-lipschitz", variable="house") == pytest.approx(
        clusters["lipschitz"].max()
    )
    with pytest.raises(InputError, match="other data"):
        rw.evaluate(
            data.assign(edu="a"),
            {"weighted": [data]},
            scenario,
            fits={"weighted": fits["weighted"]},
        )
