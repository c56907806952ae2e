import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from formulaic import model_matrix

from riskweighted.common.errors import InputError
from riskweighted.utility.propensity import propensity_distance
from riskweighted.utility.tables import file_codes
from tests.tools.propensity import file_propensity

pytestmark = pytest.mark.versions


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
        results.append(
            propensity_distance(
                confidential.assign(y=y),
                confidential.assign(y=drawn),
                "x + I(x**2) + g + y + y:x",
                ("y",),
            )
        )
    table = pd.DataFrame(results)
    assert table["ratio"].mean() == pytest.approx(1, abs=0.25)
    assert table["standardised"].mean() == pytest.approx(0, abs=0.25)


def test_the_null_holds_for_files_of_unequal_size():
    # Three synthetic records to each confidential one: the null of Snoke et al. (2018) has (1 -
    # c)^2 c, c the synthetic share.
    rng = np.random.default_rng(2)
    results = []
    for _ in range(200):
        confidential = pd.DataFrame({"y": rng.normal(size=200)})
        drawn = rng.normal(confidential["y"].mean(), confidential["y"].std(), size=600)
        results.append(
            propensity_distance(confidential, pd.DataFrame({"y": drawn}), "y + I(y**2)", ("y",))
        )
    assert pd.DataFrame(results)["ratio"].mean() == pytest.approx(1, abs=0.25)


def test_hand_worked_for_files_of_unequal_size():
    # 40 confidential, 20 synthetic: c = 1/3. The cells' shares of synthetic records are 5/35 and
    # 15/25.
    confidential, synthetic = (
        pd.DataFrame({"y": [0] * 30 + [1] * 10}),
        pd.DataFrame({"y": [0] * 5 + [1] * 15}),
    )
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
    confidential, synthetic = (
        pd.DataFrame({"y": [0] * 30 + [1] * 10}),
        pd.DataFrame({"y": [0] * 10 + [1] * 30}),
    )
    result = propensity_distance(confidential, synthetic, "C(y)", ("y",))
    assert result.pmse == pytest.approx(0.0625)
    assert result.ratio == pytest.approx(0.0625 / (0.125 / 80))
    assert result.standardised == pytest.approx((0.0625 - 0.125 / 80) / (np.sqrt(2) * 0.125 / 80))


@pytest.mark.parametrize(
    ("formula", "message"),
    [("x", "no synthesized variable"), ("nope", "cannot be evaluated"), ("y +", "cannot")],
)
def test_refuses(formula, message):
    frame = pd.DataFrame({"y": np.arange(20.0), "x": np.arange(20.0) ** 2})
    with pytest.raises(InputError, match=message):
        propensity_distance(frame, frame, formula, ("y",))


@pytest.mark.parametrize(
    "formula",
    [
        "x + y + g",
        "y + I(y**2) + I(y**3) + C(colour):y",
        "C(g) + C(colour) + C(colour):C(g) + y:g",
        "y + y",
    ],
)
def test_scores_are_those_of_statsmodels(formula):
    rng = np.random.default_rng(3)
    confidential, synthetic = file_of(rng).dropna(), file_of(rng).dropna()
    both = pd.concat([confidential, synthetic], ignore_index=True)
    label = np.repeat([0.0, 1.0], [len(confidential), len(synthetic)])
    fitted = (
        sm.GLM(label, model_matrix(formula, both).astype(float), family=sm.families.Binomial())
        .fit(tol=1e-14)
        .fittedvalues
    )
    expected = ((fitted - label.mean()) ** 2).mean()
    assert propensity_distance(
        confidential, synthetic, formula, ("y", "colour")
    ).pmse == pytest.approx(expected, rel=1e-7)


def test_missing_values_are_named_with_a_remedy():
    frame = pd.DataFrame(
        {"x": [1.0, 2.0, np.nan, 4.0], "xx": [np.nan] * 4, "y": [1.0, 2.0, 1.0, 2.0]}
    )
    with pytest.raises(
        InputError, match=r"'x' is missing in some records; fill it and add a column"
    ):
        propensity_distance(frame, frame, "x + y", ("x",))


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
    codes = [
        pd.DataFrame(
            {name: file_codes([confidential[name], synthetic[name]], 5)[place] for name in names},
            dtype=float,
        )
        for place in (0, 1)
    ]
    # x:g is of unsynthesized variables, colour has no order
    formula = "C(x) + C(y) + C(colour) + C(g) + x:y + y:g"
    expected = propensity_distance(*codes, formula, ("y", "colour"))
    assert found.pmse == pytest.approx(expected.pmse, rel=1e-6)
    assert found.ratio == pytest.approx(expected.ratio, rel=1e-6)


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
