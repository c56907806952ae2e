import traceback

import numpy as np
import pandas as pd
import pytest
from brute import SECRET, assert_clear

from riskweighted.common.errors import InputError
from riskweighted.design.design import build_design, response_values
from riskweighted.design.formulas import response_name

pytestmark = pytest.mark.versions


def data(n=40, **columns):
    rng = np.random.default_rng(7)
    x = rng.normal(50, 3, n)
    base = {"y": rng.lognormal(10, 1, n), "x": x, "z": 0.01 * x + rng.normal(0, 0.02, n)}
    base |= {"g": rng.choice(list("abc"), n), "my col": rng.normal(size=n)}
    base["y"][0] = SECRET
    return pd.DataFrame(base | columns, index=[f"r{i}" for i in range(n)])


FORMULAS = [
    "y ~ x",
    "y ~ x + z",
    "y ~ x + z + C(g)",
    "y ~ x * g",
    "y ~ log(x) + exp(z**2)",
    "y ~ `my col` + log1p(x) + sqrt(x)",
    "y ~ exp(z)",
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_whitened_predictors_have_mean_zero_and_unit_covariance(formula):
    frame = data()
    design = build_design(formula, frame)
    n, p = design.whitened.shape
    assert n == len(frame)
    np.testing.assert_allclose(design.whitened.mean(axis=0), np.zeros(p), atol=1e-10)
    np.testing.assert_allclose(design.whitened.T @ design.whitened / n, np.eye(p), atol=1e-10)


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_turn_maps_predictors_and_slopes(formula):
    design = build_design(formula, data())
    np.testing.assert_allclose(design.centred @ design.turn, design.whitened, atol=1e-9)
    slopes = np.arange(1.0, design.turn.shape[1] + 1)
    np.testing.assert_allclose(
        design.centred @ (design.turn @ slopes), design.whitened @ slopes, atol=1e-8
    )


def test_the_original_columns_are_the_centred_ones_plus_the_centre():
    frame = data()
    design = build_design("y ~ x + C(g)", frame)
    expected = np.column_stack([frame["x"], frame["g"] == "b", frame["g"] == "c"]).astype(float)
    np.testing.assert_allclose(design.centred + design.centre, expected, atol=1e-12)
    np.testing.assert_allclose(design.centre, expected.mean(axis=0), atol=1e-12)
    assert list(design.spec.column_names) == ["Intercept", "x", "C(g)[T.b]", "C(g)[T.c]"]


def test_the_functions_of_a_formula_are_those_of_numpy():
    frame = data()
    for name in ("log", "log1p", "sqrt", "exp"):
        design = build_design(f"y ~ {name}(z)", frame)
        np.testing.assert_allclose(
            design.centred[:, 0] + design.centre, getattr(np, name)(frame["z"]), rtol=1e-12
        )


def test_scale_and_shift_of_a_predictor_do_not_matter():
    frame = data()
    plain = build_design("y ~ x + z", frame).whitened
    moved = build_design(
        "y ~ x + z", frame.assign(x=1e6 * frame["x"] + 1e7, z=1e-6 * frame["z"])
    ).whitened
    np.testing.assert_allclose(np.abs(moved), np.abs(plain), atol=1e-6)


def test_no_predictor_on_purpose():
    design = build_design("y ~ 1", data())
    assert design.whitened.shape == design.centred.shape == (40, 0)
    assert design.turn.shape == (0, 0)
    assert design.centre.shape == (0,)


def test_integer_and_nullable_predictors_are_numbers():
    frame = data(w=np.arange(40))
    expected = build_design("y ~ w", frame).whitened
    for dtype in ("Int64", "Float64", "int32"):
        np.testing.assert_allclose(
            build_design("y ~ w", frame.assign(w=frame["w"].astype(dtype))).whitened,
            expected,
            atol=1e-12,
        )


def test_the_confidential_data_are_left_alone():
    frame = data()
    before = frame.copy()
    build_design("y ~ x * g", frame)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize(
    ("formula", "name"),
    [
        ("y ~ x", "y"),
        ("  y~x", "y"),
        ("`my col` ~ x", "my col"),
        ("y2_b ~ 1", "y2_b"),
        ("`ä-b` ~ x", "ä-b"),
    ],
)
def test_the_response_is_the_name_on_the_left(formula, name):
    assert response_name(formula) == name


def test_the_response_comes_as_floats():
    frame = pd.DataFrame({"my col": pd.Series([1, 2, 3], dtype="Int64"), "x": [1.0, 2.0, 4.0]})
    values = response_values("`my col` ~ x", frame)
    assert values.dtype == float
    assert values.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("column", "named"),
    [
        (["a", "b", "987654.321"], ["'y'", "numeric"]),
        (pd.Series(["a", "b", "987654.321"], dtype="category"), ["'y'", "numeric", "category"]),
        ([True, False, True], ["'y'", "numeric", "bool"]),
        ([SECRET, np.nan, 1.0], ["'y'", "missing in 1 of 3"]),
        ([SECRET, np.inf, 1.0], ["'y'", "infinite in 1 of 3"]),
    ],
)
def test_an_unusable_response_is_refused(column, named):
    with pytest.raises(InputError) as caught:
        response_values("y ~ x", pd.DataFrame({"y": column, "x": [1.0, 2.0, 4.0]}))
    assert_clear(caught, *named)


def test_an_unknown_response_is_refused():
    with pytest.raises(InputError) as caught:
        response_values("income ~ x", data())
    assert_clear(caught, "'income'", "'y'", "'x'")


@pytest.mark.parametrize(
    ("formula", "named"),
    [
        ("y", ["response ~ predictors", "'y'"]),
        ("y ~ x ~ z", ["response ~ predictors"]),
        (None, ["response ~ predictors", "None"]),
        ("y ~", ["no predictor", "y ~ 1"]),
        ("y ~   ", ["no predictor", "y ~ 1"]),
        ("~ x", ["one column name"]),
        ("log(y) ~ x", ["one column name", "transform="]),
        ("y + z ~ x", ["one column name"]),
        ("2y ~ x", ["one column name"]),
        ("`y`z` ~ x", ["one column name"]),
        ("y ~ x + y", ["'y'", "both sides"]),
        ("y ~ log(y)", ["'y'", "both sides"]),
        ("y ~ C(g):log(y**2)", ["'y'", "both sides"]),
        ("y ~ x +", ["cannot be read", "'y ~ x +'"]),
        ("y ~ (x", ["cannot be read"]),
        ("y ~ .", ["cannot be read"]),
        ("y ~ nope", ["'nope'", "'x'"]),
        ("y ~ x + C(nope)", ["'nope'", "'x'"]),
        ("y ~ 0 + x", ["intercept"]),
        ("y ~ x - 1", ["intercept"]),
        ("y ~ sine(x)", ["calls sine()", "log1p()"]),
        ("y ~ log(g)", ["cannot be evaluated", "'y ~ log(g)'", "Error"]),
    ],
)
def test_formulas_that_cannot_be_used_are_refused(formula, named):
    with pytest.raises(InputError) as caught:
        build_design(formula, data())
    assert_clear(caught, *named)


def test_what_a_function_of_the_formula_raises_is_not_passed_on():
    frame = data(t=[str(SECRET)] * 40)
    with pytest.raises(InputError) as caught:
        build_design("y ~ log(t)", frame)
    assert_clear(caught, "cannot be evaluated", "Error")
    assert "987654" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("value", "named"), [(np.nan, "missing in 1 of 40"), (np.inf, "infinite in 1 of 40")]
)
@pytest.mark.parametrize("formula", ["y ~ x", "y ~ log(x) + g"])
def test_missing_and_infinite_predictors_are_refused(formula, value, named):
    frame = data()
    frame.loc["r3", "x"] = value
    with pytest.raises(InputError) as caught:
        build_design(formula, frame)
    assert_clear(caught, "predictor", "'x'", named)


def test_a_missing_level_of_a_predictor_is_refused():
    frame = data()
    frame.loc["r3", "g"] = None
    with pytest.raises(InputError) as caught:
        build_design("y ~ x + C(g)", frame)
    assert_clear(caught, "'g'", "missing in 1 of 40")


def test_missing_values_elsewhere_do_not_matter():
    assert build_design("y ~ x", data(other=[np.nan] * 40)).whitened.shape == (40, 1)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("low", "named"), [(0.0, "check log()"), (-1.0, "'y ~ log(x)'")])
def test_a_logarithm_of_what_is_not_positive_is_refused(low, named):
    frame = data()
    frame.loc["r3", "x"] = low
    with pytest.raises(InputError) as caught:
        build_design("y ~ log(x)", frame)
    assert_clear(caught, "'y ~ log(x)'", named)


@pytest.mark.parametrize("constant", [0.0, 0.1, 3.0])
def test_a_constant_predictor_is_named(constant):
    with pytest.raises(InputError) as caught:
        build_design("y ~ x + one", data(one=constant))
    assert_clear(caught, "'one'", "constant")
    assert "'x'" not in str(caught.value)


def test_a_collinear_predictor_is_named():
    frame = data()
    with pytest.raises(InputError) as caught:
        build_design("y ~ x + z + both", frame.assign(both=3 * frame["x"] - 2 * frame["z"] + 5))
    assert_clear(caught, "'both'", "combination")
    assert "'z'" not in str(caught.value)


def test_a_predictor_that_repeats_a_group_is_named():
    frame = data()
    with pytest.raises(InputError) as caught:
        build_design("y ~ C(g) + is_b", frame.assign(is_b=(frame["g"] == "b").astype(float)))
    assert_clear(caught, "combination")


def test_nearly_collinear_predictors_still_pass():
    frame = data()
    noise = np.random.default_rng(1).normal(size=len(frame))
    design = build_design("y ~ x + near", frame.assign(near=frame["x"] + 1e-5 * noise))
    np.testing.assert_allclose(
        design.whitened.T @ design.whitened / len(frame), np.eye(2), atol=1e-10
    )


@pytest.mark.parametrize("n", [2, 3])
def test_more_predictors_than_records_are_refused(n):
    frame = pd.DataFrame(
        {
            "y": [SECRET, 2.0, 3.0][:n],
            "u": [1.0, 2.0, 4.0][:n],
            "v": [1.0, 5.0, 2.0][:n],
            "w": [0.0, 5.0, 9.0][:n],
        }
    )
    with pytest.raises(InputError) as caught:
        build_design("y ~ u + v + w", frame)
    assert_clear(caught, "3 predictor columns", f"{n} records")


def test_fewer_predictors_than_records_by_one_pass():
    frame = pd.DataFrame({"y": [1.0, 2.0, 3.0], "u": [1.0, 2.0, 4.0], "v": [1.0, 5.0, 2.0]})
    assert build_design("y ~ u + v", frame).whitened.shape == (3, 2)


def test_data_must_be_a_frame_with_records():
    for frame, named in ((data().iloc[:0], "no records"), ({"x": [SECRET]}, "DataFrame")):
        with pytest.raises(InputError) as caught:
            build_design("y ~ x", frame)
        assert_clear(caught, named)


def test_a_large_constant_predictor_is_named():
    with pytest.raises(InputError) as caught:
        build_design("y ~ big", data(n=10, big=1234567.89))
    assert_clear(caught, "'big'", "constant")


def test_a_predictor_of_small_units_is_no_constant():
    frame = data()
    assert build_design("y ~ x", frame.assign(x=1e-14 * frame["x"])).whitened.shape == (40, 1)


@pytest.mark.parametrize("formula", ["y ~ same", "y ~ x + C(same)"])
def test_a_predictor_of_one_level_is_named(formula):
    with pytest.raises(InputError) as caught:
        build_design(formula, data(same="u"))
    assert_clear(caught, "same", "constant")


def test_a_formula_of_several_parts_is_refused():
    with pytest.raises(InputError) as caught:
        build_design("y ~ x | g", data())
    assert_clear(caught, "y ~ x | g")


def test_a_response_named_like_a_function_is_found_on_both_sides():
    frame = data().rename(columns={"y": "exp"})
    with pytest.raises(InputError) as caught:
        build_design("exp ~ exp", frame)
    assert_clear(caught, "'exp'", "both sides")


def test_an_unused_category_level_makes_no_column():
    frame = data().assign(
        k=pd.Categorical(["a", "b"] * 20, categories=["a", "b", "never"])[: len(data())]
    )
    assert build_design("y ~ k", frame).centred.shape[1] == 1


def test_a_dependent_level_is_named_by_its_term_alone():
    frame = data()
    frame["a"] = [f"{value}" for value in np.where(np.arange(len(frame)) % 2, SECRET, 1.0)]
    with pytest.raises(InputError) as caught:
        build_design(
            "y ~ C(a) + b", frame.assign(b=(frame["a"] == frame["a"].iloc[0]).astype(float))
        )
    assert_clear(caught)


STRANGE = [
    "self",
    "class",
    "None",
    "log",
    "Intercept",
    "1",
    "a~b",
    "a+b:c",
    "it's",
    'say "hi"',
    "a[b]",
    "a\nb",
    "e\u0301t\u0301",
    "x" * 300,
]


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("right", ["{}", "g + {}", "log({})", "spline({})", "{}:g + g"])
def test_a_predictor_of_any_name_makes_the_columns_of_another(right, name):
    plain = data().assign(x=np.exp(np.linspace(0, 1, len(data()))))
    strange = plain.rename(columns={"x": name})
    design = build_design(f"y ~ {right.format('x')}", plain)
    made = build_design(f"y ~ {right.format(f'`{name}`')}", strange)
    np.testing.assert_array_equal(made.centred, design.centred)
    np.testing.assert_array_equal(made.at(strange).centred, design.centred)
    assert name in "".join(made.columns)
    assert len(set(made.names)) == design.centred.shape[1]


def test_levels_of_a_column_of_any_name_are_named():
    frame = data().rename(columns={"g": "class"})
    assert build_design("y ~ C(`class`)", frame).columns == tuple(
        f"C(class)[{level}]" for level in sorted(set(frame["class"]))[1:]
    )


# The same design for other rows


@pytest.mark.parametrize("formula", FORMULAS)
def test_other_rows_get_the_confidential_centre_and_turn(formula):
    frame = data()
    design = build_design(formula, frame)
    np.testing.assert_allclose(design.at(frame).whitened, design.whitened, atol=1e-9)
    np.testing.assert_allclose(
        design.at(frame.drop(columns="y").iloc[[5]]).whitened, design.whitened[[5]], atol=1e-9
    )
    other = data(n=7).assign(x=lambda d: d["x"] + 10, z=lambda d: d["z"] + 1)
    moved = design.at(other)
    both = build_design(formula, pd.concat([other, frame]))
    np.testing.assert_allclose(
        moved.centred + moved.centre, (both.centred + both.centre)[:7], atol=1e-9
    )
    np.testing.assert_allclose(moved.whitened, (moved.centred) @ design.turn, atol=1e-12)


def test_a_level_that_the_other_rows_lack_keeps_its_column():
    frame = data()
    for column in (frame["g"], frame["g"].astype("category"), frame["g"].astype("string")):
        design = build_design("y ~ C(g) + x", frame.assign(g=column))
        for level in "abc":
            rows = np.flatnonzero(frame["g"] == level)
            other = frame.assign(g=column).iloc[rows]
            np.testing.assert_allclose(design.at(other).whitened, design.whitened[rows], atol=1e-9)
            if isinstance(column.dtype, pd.CategoricalDtype):
                other = other.assign(g=other["g"].cat.remove_unused_categories())
                np.testing.assert_allclose(
                    design.at(other).whitened, design.whitened[rows], atol=1e-9
                )


def test_stateful_terms_keep_the_confidential_state():
    frame = data()
    design = build_design("y ~ bs(x, df=4) + poly(z, 2)", frame)
    np.testing.assert_allclose(design.at(frame.iloc[3:9]).whitened, design.whitened[3:9], atol=1e-8)


def test_repeated_labels_of_rows_do_not_matter():
    frame = data().set_axis([0] * 40)
    design = build_design("y ~ x + C(g)", frame)
    np.testing.assert_allclose(design.at(frame).whitened, design.whitened, atol=1e-9)


def test_nullable_text_makes_levels():
    frame = data()
    plain = build_design("y ~ g", frame)
    nullable = build_design("y ~ g", frame.assign(g=frame["g"].astype("string")))
    np.testing.assert_allclose(nullable.whitened, plain.whitened, atol=1e-12)


@pytest.mark.parametrize(
    ("formula", "change", "named"),
    [
        (
            "y ~ g",
            lambda d: d.assign(g=np.where(np.arange(40) < 2, str(SECRET), d["g"])),
            ["'g'", "level", "2 of 40"],
        ),
        (
            "y ~ C(g)",
            lambda d: d.assign(g=pd.Categorical(np.where(np.arange(40) < 2, str(SECRET), d["g"]))),
            ["'g'", "2 of 40"],
        ),
        ("y ~ C(`my g`)", lambda d: d.assign(**{"my g": str(SECRET)}), ["'my g'", "40 of 40"]),
        ("y ~ C(k)", lambda d: d.assign(k=SECRET), ["'k'", "40 of 40"]),
        ("y ~ C(k) + z", lambda d: d.assign(k=2), []),
        ("y ~ x", lambda d: d.drop(columns="x"), ["'x'", "no column"]),
        (
            "y ~ x",
            lambda d: d.assign(x=d["x"].where(d["x"] > d["x"].min())),
            ["'x'", "missing in 1 of 40"],
        ),
        (
            "y ~ x",
            lambda d: d.assign(x=d["x"].where(d["x"] > d["x"].min(), np.inf)),
            ["'x'", "infinite in 1 of 40"],
        ),
        ("y ~ log(x)", lambda d: d.assign(x=0.0), ["missing or infinite"]),
        ("y ~ x", lambda d: d.assign(x=str(SECRET)), ["frame"]),
        ("y ~ g", lambda d: d.assign(g=SECRET), ["'g'", "another kind"]),
        ("y ~ x", lambda d: d.assign(x=pd.Categorical([str(SECRET), "v"] * 20)), ["frame"]),
        ("y ~ x", lambda d: d.iloc[:0], ["no records"]),
        ("y ~ x", lambda d: d.to_numpy(), ["DataFrame"]),
    ],
)
def test_other_rows_that_do_not_suit_are_refused(formula, change, named):
    frame = data()
    frame = frame.assign(k=np.arange(40) % 3, **{"my g": frame["g"]})
    design = build_design(formula, frame)
    if not named:  # every row in one of the confidential levels
        assert design.at(change(frame)).whitened.shape == design.whitened.shape
        return
    with pytest.raises(InputError) as caught:
        design.at(change(frame))
    assert_clear(caught, *named)
    # the refused frame left no trace
    np.testing.assert_allclose(design.at(frame).whitened, design.whitened, atol=1e-9)


def test_the_response_of_other_rows_is_theirs_or_not_a_number():
    frame = data()
    design = build_design("y ~ x", frame)
    np.testing.assert_array_equal(design.response(frame.iloc[:4]), frame["y"].iloc[:4])
    assert np.isnan(design.response(frame.drop(columns="y"))).all()
    with pytest.raises(InputError) as caught:
        design.response(frame.assign(y=frame["y"].where(frame["y"] != SECRET)))
    assert_clear(caught, "'y'", "missing in 1 of 40")
