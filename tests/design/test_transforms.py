import numpy as np
import pytest
from brute import SECRET, assert_clear
from hypothesis import given, settings as hypothesis_settings, strategies as st

from riskweighted.common.errors import InputError
from riskweighted.design.transforms import TRANSFORMS, Transform

pytestmark = pytest.mark.quick

CASES = [
    (Transform("identity"), [-3.0, 0.0, 7.0], [-3.0, 0.0, 7.0]),
    (Transform("log"), [1.0, np.e, 100.0], [0.0, 1.0, np.log(100.0)]),
    (Transform("shifted-log", 10), [-9.0, 0.0, 90.0], [0.0, np.log(10.0), np.log(100.0)]),
    (Transform("asinh"), [-1.0, 0.0, 2.0], [-np.arcsinh(1.0), 0.0, np.arcsinh(2.0)]),
    (Transform("asinh", 4), [-4.0, 0.0, 8.0], [-np.arcsinh(1.0), 0.0, np.arcsinh(2.0)]),
    (Transform("signed-log"), [-(np.e - 1), 0.0, 9.0], [-1.0, 0.0, np.log(10.0)]),
    (Transform("signed-log", 2), [-2.0, 0.0, 18.0], [-np.log(2.0), 0.0, np.log(10.0)]),
]


def test_the_cases_cover_every_transform():
    assert {case[0].name for case in CASES} == set(TRANSFORMS)


@pytest.mark.parametrize(("transform", "values", "scaled"), CASES)
def test_forward_and_inverse_worked_by_hand(transform, values, scaled):
    np.testing.assert_allclose(
        transform.forward(np.array(values), "y"), scaled, rtol=1e-14, atol=1e-14
    )
    np.testing.assert_allclose(transform.inverse(np.array(scaled)), values, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    "transform",
    [
        Transform("identity"),
        Transform("asinh", 30),
        Transform("signed-log", 30),
        Transform("shifted-log", 2e6),
    ],
    ids=lambda t: t.name,
)
@given(y=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=8))
@hypothesis_settings(max_examples=60)
def test_a_transform_is_increasing_and_undone_by_its_inverse(transform, y):
    values = np.sort(np.array(y))
    scaled = transform.forward(values, "y")
    assert (np.diff(scaled) >= 0).all()
    np.testing.assert_allclose(transform.inverse(scaled), values, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("name", ["asinh", "signed-log"])
def test_signed_scales_are_odd(name):
    values = np.array([0.5, 3.0, 1e4])
    transform = Transform(name, 5)
    np.testing.assert_allclose(transform.forward(-values, "y"), -transform.forward(values, "y"))


@pytest.mark.parametrize("name", ["log", "shifted-log", "asinh", "signed-log"])
def test_a_draw_far_out_becomes_infinite_without_a_warning(name):
    assert Transform(name, 1.0).inverse(np.array([5000.0])) == [np.inf]


def test_log_refuses_and_counts_values_that_are_not_positive():
    with pytest.raises(InputError) as caught:
        Transform("log").forward(np.array([SECRET, 0.0, -SECRET, 1.0]), "income")
    assert_clear(caught, "'log'", "'income'", "2 of 4", "'shifted-log'", "'asinh'", "'signed-log'")


def test_shifted_log_refuses_values_that_the_shift_does_not_make_positive():
    with pytest.raises(InputError) as caught:
        Transform("shifted-log", 10).forward(np.array([SECRET, -10.0, -9.0]), "income")
    assert_clear(caught, "'shifted-log'", "'income'", "1 of 3", "larger transform_constant")


@pytest.mark.parametrize("name", ["identity", "asinh", "signed-log"])
def test_scales_of_the_whole_line_refuse_what_is_not_finite(name):
    with pytest.raises(InputError) as caught:
        Transform(name).forward(np.array([SECRET, np.nan, np.inf]), "income")
    assert_clear(caught, f"'{name}'", "'income'", "2 of 3")


def test_an_unknown_transform_is_refused_with_the_valid_names():
    with pytest.raises(InputError) as caught:
        Transform("sqrt")
    assert_clear(caught, "'sqrt'", *(f"'{name}'" for name in TRANSFORMS))


def test_shifted_log_needs_its_constant():
    with pytest.raises(InputError) as caught:
        Transform("shifted-log")
    assert_clear(caught, "'shifted-log'", "transform_constant")


@pytest.mark.parametrize("name", ["asinh", "signed-log"])
@pytest.mark.parametrize("constant", [0, -1.0, np.nan])
def test_a_scale_must_be_positive(name, constant):
    with pytest.raises(InputError) as caught:
        Transform(name, constant)
    assert_clear(caught, f"'{name}'", "transform_constant", repr(constant))


@pytest.mark.parametrize(
    ("name", "constant"),
    [("shifted-log", np.inf), ("shifted-log", np.nan), ("asinh", np.inf), ("asinh", "a")],
)
def test_a_constant_that_is_no_finite_number_is_refused(name, constant):
    with pytest.raises(InputError) as caught:
        Transform(name, constant)
    assert_clear(caught, f"'{name}'", "transform_constant")


def test_log_refuses_an_infinite_value():
    with pytest.raises(InputError):
        Transform("log").forward(np.array([1.0, np.inf]), "income")


@pytest.mark.parametrize(
    ("name", "constant"),
    [("identity", None), ("log", None), ("shifted-log", 3.0), ("asinh", 2.0), ("signed-log", 2.0)],
)
def test_bounds_map_in_order_and_end_at_infinity(name, constant):
    transform = Transform(name, constant)
    values = np.array([-np.inf, -1e300, -3.0, -2.0, 0.0, 1.0, 1e300, np.inf])
    mapped = transform.bound(values)
    assert mapped[0] == -np.inf
    assert mapped[-1] == np.inf
    assert (mapped[1:] >= mapped[:-1]).all()
    inside = np.isfinite(mapped)
    np.testing.assert_allclose(
        transform.inverse(mapped[inside]), values[inside], rtol=1e-9, atol=1e-12
    )
    lowest = {"log": 0.0, "shifted-log": -3.0}.get(name, -np.inf)
    np.testing.assert_array_equal(inside, (values > lowest) & np.isfinite(values))
    assert transform.bound(5.0).shape == ()
    with pytest.raises(InputError) as caught:
        transform.bound(np.array([1.0, np.nan]))
    assert_clear(caught, "bounds", "1 of 2")
