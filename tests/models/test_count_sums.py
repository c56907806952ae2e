"""Continuation ratios for numbers of few values: the contract, equations, recovery, refusals."""

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from brute import assert_clear
from riskweighted_models.counts import CountRatio
from riskweighted_models.sequential import Sequential
from scipy import special

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.contract.synthesizer import load_synthesizer

N = 300


def smoked():
    """Cigarettes: half none, heaps at ten and twenty, more by age."""
    rng = np.random.default_rng(5)
    age = rng.integers(18, 80, N)
    some = rng.random(N) < special.expit((age - 45) / 20)
    return pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], N),
            "cigarettes": np.where(
                some, rng.choice([1, 5, 10, 20, 40], N, p=[0.1, 0.2, 0.3, 0.3, 0.1]), 0
            ),
            "change": np.where(some, 1.0, -2.0),
            "packs": np.where(some, rng.choice([0.1, 0.3, 1.5], N), 0.7),
        },
        index=[f"person {i}" for i in range(N)],
    )


MODELS = [
    CountRatio("cigarettes ~ age + sex"),
    CountRatio("cigarettes ~ 1", values=[40, 20, 10, 7, 5, 1, 0]),
    CountRatio("change ~ sex", values=(-2, 0, 1)),
    CountRatio("packs ~ age"),
]


def test_it_is_registered():
    points = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"][
        "entry-points"
    ]
    assert points["riskweighted.synthesizers"]["counts"] == "riskweighted_models.counts:CountRatio"


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_whole_contract_holds(model):
    table = rw.check_synthesizer(model, smoked()).set_index("clause")
    assert set(table["result"]) == {"passed"}
    assert table.loc["what is taken from the data is declared", "why"] == (
        "" if model.values else "declared: values"
    )
    assert model.probability_mass is True
    assert not hasattr(model, "categories")


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_log_likelihood_mass_and_draws_are_those_of_the_equations(model):
    frame = smoked()
    prepared = model.prepare(frame)
    values = np.array(prepared.levels)
    mean, sd = model._prior(len(values), prepared.rows.shape[1])
    theta = {"coefficient": mean + 0.5 * sd * np.random.default_rng(1).normal(size=len(mean))}
    predictors, places = prepared.raw.columns.shape[1], np.linspace(-1, 1, len(values) - 1)
    intercept, slope, drift = np.split(
        theta["coefficient"], [len(values) - 1, len(values) - 1 + predictors]
    )
    assert len(drift) == predictors
    logits = [
        intercept[k] + prepared.raw.columns @ (slope + u * drift) for k, u in enumerate(places)
    ]
    going_on = special.expit(np.column_stack(logits))
    share = np.column_stack([np.ones(N), np.cumprod(going_on, axis=1)]) * np.column_stack(
        [1 - going_on, np.ones(N)]
    )
    y = frame[model.target].to_numpy()
    np.testing.assert_array_equal(model.response(prepared), y)
    own = (share * (values == y[:, None])).sum(axis=1)
    np.testing.assert_allclose(
        model.distribution(theta, prepared).log_density(y), np.log(own), rtol=1e-9
    )
    np.testing.assert_allclose(
        model.distribution(theta, prepared).mass(y - 0.1, y + 0.1), own, rtol=1e-12
    )
    np.testing.assert_allclose(
        model.distribution(theta, prepared).mass(0.5, 12.0),
        share[:, (values > 0.5) & (values < 12)].sum(axis=1),
        rtol=1e-12,
    )
    draws = np.stack(
        [
            model.distribution(theta, prepared).draw(np.random.default_rng(seed))
            for seed in range(2000)
        ]
    )
    assert set(np.unique(draws)) <= set(values)
    for place, value in enumerate(values):
        off = ((draws == value).mean(axis=0) - share[:, place]).sum() / np.sqrt(
            (share[:, place] * (1 - share[:, place])).sum() / 2000
        )
        assert abs(off) < 5


def test_zeros_and_heaps_are_kept_and_risk_is_measured_on_numbers():
    frame = smoked()
    fitted = rw.fit(CountRatio("cigarettes ~ age + sex"), frame, random_seed=1)
    assert fitted.converged
    assert (fitted.diagnostics["engine"] == "direct").all()
    synthetic = fitted.synthesize(20, random_seed=2)
    assert all(one["cigarettes"].dtype == frame["cigarettes"].dtype for one in synthetic)
    drawn = np.concatenate([one["cigarettes"] for one in synthetic])
    for value in (0, 10, 20):
        assert (drawn == value).mean() == pytest.approx(
            (frame["cigarettes"] == value).mean(), abs=0.07
        )
    older = frame["age"].to_numpy() > 60
    assert (synthetic[0]["cigarettes"][older] > 0).mean() > (
        synthetic[0]["cigarettes"][~older] > 0
    ).mean()
    scenario = rw.Scenario(known="sex", synthetic="cigarettes", radius=0.2)
    risk = rw.expected_identification_risk(fitted, scenario, draws=100, random_seed=3)["risk"]
    seen = rw.identification_risk(frame, fitted.synthesize(100, random_seed=4), scenario)
    assert abs(risk.mean() - np.asarray(seen).mean()) < 0.01
    half = np.r_[np.ones(150), np.zeros(150)]
    left = rw.fit(CountRatio("cigarettes ~ 1"), frame, half, random_seed=1).synthesize(
        20, random_seed=1
    )
    share = np.concatenate([one["cigarettes"] for one in left])
    assert (share == 0).mean() == pytest.approx(
        (frame["cigarettes"].iloc[:150] == 0).mean(), abs=0.1
    )


def test_what_makes_a_count_larger_than_nothing_need_not_make_it_largest():
    """x decides whether there is any and not how many: common slopes would draw far more of the
    largest count at large x.
    """
    rng, n = np.random.default_rng(8), 4000
    x, y = rng.normal(size=n), np.zeros(n, dtype=int)
    for value, slope in enumerate((1.6, 0.8, 0.0, -0.8)):
        y += (y == value) & (rng.random(n) < special.expit(0.3 + slope * x))
    frame = pd.DataFrame({"x": x, "y": y})
    drawn = rw.fit(CountRatio("y ~ x"), frame, random_seed=1).synthesize(20, random_seed=2)
    for group in (x < -0.7, x > 0.7):
        for value in range(5):
            share = np.mean([(one["y"][group] == value).mean() for one in drawn])
            assert share == pytest.approx((y[group] == value).mean(), abs=0.03)


def test_two_values_have_nothing_to_drift():
    frame = smoked().assign(any=lambda own: (own["cigarettes"] > 0).astype(int))
    model = CountRatio("any ~ age + sex")
    prepared = model.prepare(frame)
    assert len(model._prior(2, 2)[0]) == 3
    assert (model.build(prepared).direct(np.ones(N)).mean == 0).all()


def refused(model, frame, *named):
    with pytest.raises(InputError) as caught:
        model.prepare(frame)
    assert_clear(caught, *named)


def test_bad_targets_and_settings_are_refused():
    frame = smoked()
    refused(CountRatio("sex ~ age"), frame, "'sex'", "numbers")
    refused(CountRatio("y ~ age"), frame.assign(y=frame["cigarettes"] > 0), "'y'", "bool")
    refused(CountRatio("y ~ age"), frame.assign(y=7), "'y'", "constant")
    refused(
        CountRatio("y ~ age"),
        frame.assign(y=np.arange(N) + 1000),
        "'y'",
        "300 values",
        "300 records",
    )
    refused(
        CountRatio("y ~ age"),
        frame.assign(y=frame["cigarettes"].where(np.arange(N) > 1)),
        "'y'",
        "missing in 2 of 300",
    )
    refused(
        CountRatio("cigarettes ~ 1", values=(0, 1, 5, 10, 20)),
        frame,
        "'values'",
        f"{(frame['cigarettes'] == 40).sum()} of 300",
    )
    for wrong, named in (
        ((1,), "two or more"),
        ((1, 1, 2), "3, 2 of them"),
        ((0.5, np.inf), "finite"),
        ("0123", "list"),
        ((True, 2), "numbers"),
    ):
        with pytest.raises(InputError) as caught:
            CountRatio("y ~ 1", values=wrong)
        assert_clear(caught, "values", named)


def test_other_frames_hold_known_values_or_none():
    frame, model = smoked(), CountRatio("cigarettes ~ age")
    prepared = model.prepare(frame)
    with pytest.raises(InputError) as caught:
        prepared.at(frame.assign(cigarettes=np.where(np.arange(N) < 3, 77, frame["cigarettes"])))
    assert_clear(caught, "'cigarettes'", "value that the confidential data lack", "3 of 300")
    bare = prepared.at(frame.drop(columns="cigarettes"))
    assert np.isnan(model.response(bare)).all()


def test_a_guarantee_needs_the_values():
    with pytest.raises(InputError) as caught:
        rw.fit(MODELS[0], smoked(), guarantee=rw.Guarantee(epsilon=2))
    assert_clear(caught, "values")


@pytest.mark.parametrize(
    ("values", "model"),
    [
        (np.arange(13) / 2, "counts"),  # ages in half years
        (np.arange(13), "counts"),
        (np.arange(1, 61) / 8, "transformation"),
    ],
)
def test_a_chain_takes_it_for_numbers_of_few_values_on_any_grid(values, model):
    amounts = pd.Series(np.resize(values, 600).astype(float), name="age")
    made = Sequential(("age",)).value_model("age", amounts, "age ~ 1")
    assert type(made) is load_synthesizer(model)
