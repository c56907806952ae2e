import numpy as np
import pandas as pd
import pytest

from riskweighted.common.errors import InputError
from riskweighted.utility.propensity import propensity_distance


def test_a_correct_synthesis_has_ratio_one_and_standardised_zero_on_average():
    rng = np.random.default_rng(1)
    results = []
    for _ in range(200):
        confidential = pd.DataFrame({"x": rng.normal(size=300), "g": rng.integers(0, 2, 300)})
        # drawn from the model that was fitted to the confidential data
        y = 1 + confidential["x"] + rng.normal(size=300)
        slope, intercept = np.polyfit(confidential["x"], y, 1)
        fitted = intercept + slope * confidential["x"]
        drawn = fitted + rng.normal(scale=(y - fitted).std(), size=300)
        results.append(propensity_distance(confidential.assign(y=y), confidential.assign(y=drawn), "x + I(x**2) + g + y + y:x", ("y",)))
    table = pd.DataFrame(results)
    assert table["ratio"].mean() == pytest.approx(1, abs=0.25)
    assert table["standardised"].mean() == pytest.approx(0, abs=0.25)


def test_the_null_holds_for_files_of_unequal_size():
    # Three synthetic records to each confidential one: the null of Snoke et al. (2018) has (1 - c)^2 c, c the synthetic share.
    rng = np.random.default_rng(2)
    results = []
    for _ in range(200):
        confidential = pd.DataFrame({"y": rng.normal(size=200)})
        drawn = rng.normal(confidential["y"].mean(), confidential["y"].std(), size=600)
        results.append(propensity_distance(confidential, pd.DataFrame({"y": drawn}), "y + I(y**2)", ("y",)))
    assert pd.DataFrame(results)["ratio"].mean() == pytest.approx(1, abs=0.25)


def test_hand_worked_for_files_of_unequal_size():
    # 40 confidential, 20 synthetic: c = 1/3. The cells' shares of synthetic records are 5/35 and 15/25.
    confidential, synthetic = pd.DataFrame({"y": [0] * 30 + [1] * 10}), pd.DataFrame({"y": [0] * 5 + [1] * 15})
    result = propensity_distance(confidential, synthetic, "C(y)", ("y",))
    pmse = (35 * (5 / 35 - 1 / 3) ** 2 + 25 * (15 / 25 - 1 / 3) ** 2) / 60
    null = (2 / 3) ** 2 * (1 / 3) / 60
    assert result.pmse == pytest.approx(pmse)
    assert result.ratio == pytest.approx(pmse / null)
    assert result.standardised == pytest.approx((pmse - null) / (np.sqrt(2) * null))


def test_identical_files_cannot_be_told_apart():
    frame = pd.DataFrame({"y": np.arange(20.0)})
    assert propensity_distance(frame, frame, "y", ("y",)).pmse == pytest.approx(0, abs=1e-20)


def test_hand_worked_for_a_binary_variable():
    # The saturated model scores each cell by its share of synthetic records.
    confidential, synthetic = pd.DataFrame({"y": [0] * 30 + [1] * 10}), pd.DataFrame({"y": [0] * 10 + [1] * 30})
    result = propensity_distance(confidential, synthetic, "C(y)", ("y",))
    assert result.pmse == pytest.approx(0.0625)
    assert result.ratio == pytest.approx(0.0625 / (0.125 / 80))
    assert result.standardised == pytest.approx((0.0625 - 0.125 / 80) / (np.sqrt(2) * 0.125 / 80))


@pytest.mark.parametrize(("formula", "message"), [("x", "no synthesized variable"), ("nope", "cannot be evaluated"), ("y +", "cannot")])
def test_refuses(formula, message):
    frame = pd.DataFrame({"y": np.arange(20.0), "x": np.arange(20.0) ** 2})
    with pytest.raises(InputError, match=message):
        propensity_distance(frame, frame, formula, ("y",))


def test_missing_values_are_named_with_a_remedy():
    frame = pd.DataFrame({"x": [1.0, 2.0, np.nan, 4.0], "xx": [np.nan] * 4, "y": [1.0, 2.0, 1.0, 2.0]})
    with pytest.raises(InputError, match=r"'x' is missing in some records; fill it and add a column"):
        propensity_distance(frame, frame, "x + y", ("x",))
