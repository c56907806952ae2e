import numpy as np
import pandas as pd
import pytest

from riskweighted.utility.contingency_tables import groupings_of
from tests.tools.propensity import file_propensity, formula_pmse

pytestmark = pytest.mark.versions


def test_hand_worked_for_files_of_unequal_size():
    # 40 confidential, 20 synthetic: c = 1/3. The cells' shares of synthetic records are 5/35 and
    # 15/25.
    confidential = pd.DataFrame({"y": [0] * 30 + [1] * 10})
    synthetic = pd.DataFrame({"y": [0] * 5 + [1] * 15})
    (result,) = file_propensity(confidential, [synthetic], ["y"], ["y"])
    pmse = (35 * (5 / 35 - 1 / 3) ** 2 + 25 * (15 / 25 - 1 / 3) ** 2) / 60
    null = (2 / 3) ** 2 * (1 / 3) / 60
    assert result.pmse == pytest.approx(pmse)
    assert result.ratio == pytest.approx(pmse / null)
    assert result.standardised == pytest.approx((pmse - null) / (np.sqrt(2) * null))


def test_identical_files_cannot_be_told_apart():
    frame = pd.DataFrame({"y": np.arange(20.0)})
    assert file_propensity(frame, [frame], ["y"], ["y"])[0].pmse == pytest.approx(0, abs=1e-20)


def test_hand_worked_for_a_binary_variable():
    # The saturated model scores each cell by its share of synthetic records.
    confidential = pd.DataFrame({"y": [0] * 30 + [1] * 10})
    synthetic = pd.DataFrame({"y": [0] * 10 + [1] * 30})
    (result,) = file_propensity(confidential, [synthetic], ["y"], ["y"])
    assert result.pmse == pytest.approx(0.0625)
    assert result.ratio == pytest.approx(0.0625 / (0.125 / 80))
    assert result.standardised == pytest.approx((0.0625 - 0.125 / 80) / (np.sqrt(2) * 0.125 / 80))


def two_letters(first, second):
    """Records whose two variables take all four pairs of values so often."""
    pairs = np.repeat(
        [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")],
        [first[0], first[1], second[0], second[1]],
        axis=0,
    )
    return pd.DataFrame(pairs, columns=["one", "two"])


def test_the_file_of_two_binary_variables_is_their_saturated_model():
    """40 confidential records 10, 10, 10, 10 and 40 synthetic ones 5, 15, 15, 5: cells of 15, 25,
    25, 15, scores 1/3, .6, .6, 1/3.

    pMSE = (30 (1/6)^2 + 50 (.1)^2) / 80 = 1/60. Two dummies and their product: 3 columns, null 3
    (1/8) / 80 = 3/640.
    """
    confidential, synthetic = two_letters((10, 10), (10, 10)), two_letters((5, 15), (15, 5))
    (found,) = file_propensity(confidential, [synthetic], ["one", "two"], ["one", "two"])
    assert found.pmse == pytest.approx(1 / 60, rel=1e-9)
    assert found.ratio == pytest.approx(640 / 180, rel=1e-9)
    assert found.standardised == pytest.approx((1 / 60 - 3 / 640) / (np.sqrt(6) / 640), rel=1e-9)
    # Where `one` was not synthesized its dummy is no column of the null, which has 2.
    (partial,) = file_propensity(confidential, [synthetic], ["one", "two"], ["two"])
    assert partial.pmse == pytest.approx(1 / 60, rel=1e-9)
    assert partial.ratio == pytest.approx(640 / 120, rel=1e-9)


def file_of(rng, n=400):
    x = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "x": x,
            "y": x + rng.normal(size=n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "g": rng.integers(0, 2, n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "y"] = np.nan
    return frame


def test_the_file_agrees_with_the_same_model_written_as_a_formula():
    rng = np.random.default_rng(4)
    confidential = file_of(rng)
    synthetic = confidential.assign(y=file_of(rng)["y"], colour=file_of(rng)["colour"])
    names = ["x", "y", "colour", "g"]
    (found,) = file_propensity(confidential, [synthetic], names, ["y", "colour"])
    groupings = groupings_of(confidential, [synthetic], names, None)
    codes = [
        pd.DataFrame({name: groupings[name].codes(frame[name]) for name in names}, dtype=float)
        for frame in (confidential, synthetic)
    ]
    # x:g is of unsynthesized variables, colour has no order
    formula = "C(x) + C(y) + C(colour) + C(g) + x:y + y:g"
    pmse, free = (
        formula_pmse(*codes, formula),
        sum(codes[0][name].nunique() - 1 for name in ("y", "colour")) + 2,
    )
    assert found.pmse == pytest.approx(pmse, rel=1e-6)
    assert found.ratio == pytest.approx(pmse / (free / 8 / 800), rel=1e-6)


def test_a_file_drawn_from_the_confidential_one_has_ratio_one_and_one_of_the_same_population_two():
    rng = np.random.default_rng(5)
    names = ["x", "y", "colour", "g"]
    drawn, sampled = [], []
    for _ in range(60):
        confidential = file_of(rng)
        drawn += file_propensity(
            confidential, [confidential.sample(400, replace=True, random_state=rng)], names, names
        )
        sampled += file_propensity(confidential, [file_of(rng)], names, names)
    assert pd.DataFrame(drawn)["ratio"].mean() == pytest.approx(1, abs=0.12)
    assert pd.DataFrame(drawn)["standardised"].mean() == pytest.approx(0, abs=0.5)
    assert pd.DataFrame(sampled)["ratio"].mean() == pytest.approx(2, abs=0.25)


def test_columns_that_follow_from_others_count_once_and_separated_files_stay_finite():
    rng = np.random.default_rng(6)
    confidential = file_of(rng).drop(columns="y")
    twice = confidential.assign(again=confidential["x"])
    synthetic = confidential.assign(x=rng.permutation(confidential["x"]))
    once = file_propensity(confidential, [synthetic], ["x", "g"], ["x"])[0]
    both = file_propensity(
        twice, [synthetic.assign(again=synthetic["x"])], ["x", "again", "g"], ["x", "again"]
    )[0]
    assert both == pytest.approx(once)  # nor has x times x anything that the dummies of x lack
    apart = file_propensity(
        pd.DataFrame({"x": np.zeros(50)}), [pd.DataFrame({"x": np.ones(50)})], ["x"], ["x"]
    )[0]
    assert apart.pmse == pytest.approx(0.25, abs=1e-4)
    constant = file_propensity(
        confidential.assign(c=1), [confidential.assign(c=1)], ["c", "g"], ["c"]
    )[0]
    assert constant.pmse == pytest.approx(0, abs=1e-12)
    assert np.isnan(constant.ratio)
