"""Weights of several variables tuned to a target of the whole file, or of one variable."""

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.intruder.world import make_world
from riskweighted.tuning.tuning_settings import TuningSettings, check_measurable, find_target

# short chains
pytestmark = pytest.mark.filterwarnings("ignore::riskweighted.common.errors.RiskWeightedWarning")
SHORT = {"draws": 120, "tune": 200, "chains": 2}
SCENARIO = rw.Scenario(known=["area"], synthetic=["income", "smoke"], radius={"income": 0.2})


@pytest.fixture(scope="module")
def data():
    rng, n = np.random.default_rng(1), 300
    area = rng.choice(["a", "b"], n)
    income = np.exp(8 + 0.5 * (area == "b") + 0.7 * rng.normal(size=n)).round()
    return pd.DataFrame(
        {"area": area, "income": income, "smoke": rng.random(n) < 0.3 + 0.2 * (area == "b")}
    )


@pytest.fixture(scope="module")
def chain():
    return rw.load_synthesizer("sequential")(["income", "smoke"], predictors=["area"])


@pytest.fixture(scope="module")
def unweighted(chain, data):
    return rw.fit(chain, data, random_seed=1, **SHORT)


def isolated_risk(fit, data, scenario):
    """Mean expected risk of the isolated records, on all draws that tuning looks at."""
    own = rw.identification_risk(data, scenario=scenario).to_numpy()
    isolated = own >= np.partition(own, -15)[-15]
    return (
        rw.expected_identification_risk(fit, scenario, draws=200, random_seed=5)["risk"]
        .to_numpy()[isolated]
        .mean()
    )


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "variables", "target_max"),
    [("isolated-risk", ["income", "smoke"], 0.012), ("isolated-risk(income)", ["income"], 0.018)],
)
def test_a_target_of_the_file_or_of_a_variable_is_met(
    chain, data, unweighted, target, variables, target_max
):
    tuned = rw.tune(
        chain,
        data,
        SCENARIO,
        target=target,
        target_max=target_max,
        family="mix",
        fit=unweighted,
        random_seed=2,
        **SHORT,
    )
    scenario = rw.Scenario(known=["area"], synthetic=variables, radius={"income": 0.2})
    assert isolated_risk(unweighted, data, scenario) > target_max
    assert tuned.met
    assert tuned.reached == pytest.approx(isolated_risk(tuned.fit, data, scenario), rel=0.05)
    assert list(tuned.alpha) == ["income", "smoke"]
    expected = rw.match_weights(data, SCENARIO, tuned.scheme)
    pd.testing.assert_frame_equal(tuned.alpha, expected, check_names=False)
    assert tuned.fits in (1, 2)
    assert ("income alone" in tuned.why) == (len(variables) == 1)


def test_what_a_target_may_name(data):
    world = make_world(data, SCENARIO)
    assert find_target("influence-lipschitz(smoke)").aim is find_target("lipschitz").aim
    assert find_target("isolated-risk(income)").variable == "income"
    check_measurable(
        TuningSettings(
            "isolated-risk(smoke)",
            0.1,
            loss="two-way-mean",
            constraints={"disclosure-largest(income)": 0.1},
        ),
        world,
    )
    check_measurable(TuningSettings("top-1-percent-risk(income)", 0.1), world)
    for target, named in (
        (
            "isolated-risk(area)",
            "is of 'area', which is not synthesized; valid are 'income', 'smoke'",
        ),
        (
            "top-1-percent-risk",
            r"is of one variable: name it, as in 'top-1-percent-risk\(income\)'",
        ),
        ("top-1-percent-risk(smoke)", "of numbers, and 'smoke' has none"),
    ):
        with pytest.raises(InputError, match=f"target .*{named}"):
            check_measurable(TuningSettings(target, 0.1), world)
        with pytest.raises(InputError, match=f"constraint .*{named}"):
            check_measurable(TuningSettings("isolated-risk", 0.1, constraints={target: 0.1}), world)
    for target in ("quantile", "mean", "one-way-table", "expected-records-over"):
        with pytest.raises(InputError, match=f"'{target}' is no target"):
            find_target(target)
