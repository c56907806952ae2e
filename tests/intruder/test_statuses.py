"""Missing values and special codes: near their like, and to nothing else. Six records worked by
hand, then against literal comparison.
"""

import numpy as np
import pandas as pd
import pytest
from brute import SECRET, assert_clear
from hypothesis import given, settings, strategies as st

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.intruder.neighbours import sort_centres
from riskweighted.intruder.point_balls import point_balls
from riskweighted.intruder.statuses import find_statuses, status_name
from riskweighted.intruder.world import make_world

pytestmark = pytest.mark.quick

NAN = np.nan
INCOME = rw.Scenario(synthetic="income", codes={"income": -8})
SIX = pd.DataFrame({"income": [10.0, 11.0, 40.0, NAN, NAN, -8.0]}, index=list("abcdef"))
RELEASED = SIX.assign(income=[12.0, NAN, 40.0, NAN, 5.0, -8.0])


@pytest.mark.parametrize("dtype", ["float64", "float32", "Float64", "Int64", "int64[pyarrow]"])
def test_a_column_is_told_apart(dtype):
    found = find_statuses(
        pd.Series(SIX["income"].to_list(), name="income").astype("Float64").astype(dtype),
        (-8.0, 11.0),
    )
    assert found.status.tolist() == [0, 3, 0, 1, 1, 2]
    assert found.values.tolist() == [10, 0, 40, 0, 0, 0]
    assert found.amounts.tolist() == [10, 40]
    assert found.present == [1, 2, 3]
    assert [status_name(status, (-8.0, 11.0)) for status in range(4)] == [
        "amount",
        "missing",
        "-8",
        "11",
    ]


def test_a_code_in_half_precision_is_found():
    assert find_statuses(pd.Series([-99.9, 1.5], dtype="float32"), (-99.9,)).status.tolist() == [
        2,
        0,
    ]


def test_confidential_risk_and_weights_of_six_records():
    """Balls hold {a, b}, {a, b}, {c}, {d, e}, {d, e}, {f}; two records together leave out four,
    three or two.
    """
    assert make_world(SIX, INCOME).neighbours.within.tolist() == [2, 2, 1, 2, 2, 1]
    risk = rw.identification_risk(SIX, scenario=INCOME)
    np.testing.assert_allclose(risk, np.array([4, 4, 5, 4, 4, 5]) / 6)
    np.testing.assert_allclose(rw.marginal_weights(SIX, INCOME), np.array([2, 2, 1, 2, 2, 1]) / 6)
    # a: with b 4 are left out, with c 3, with d 2, with e 2, with f 3; c: 3, 3, 3, 3 and with f 4.
    np.testing.assert_allclose(
        rw.pairwise_weights(SIX, INCOME), 1 - np.array([14, 14, 16, 14, 14, 16]) / 30
    )


def test_synthetic_risk_match_and_rank_of_six_records():
    """b and e: a status of another kind than the truth is not near."""
    risk = rw.identification_risk(SIX, RELEASED, INCOME)
    np.testing.assert_allclose(risk, np.array([5, 0, 5, 4, 0, 5]) / 6)
    found = rw.matching_risk(SIX, RELEASED, INCOME)
    assert found.records["c"].tolist() == [1, 1, 1, 2, 2, 1]
    assert found.expected_match_risk == 1 + 0 + 1 + 0.5 + 0 + 1
    # b is an amount, so three released amounts are closer than its missing one; e is missing, and
    # two released ones are.
    np.testing.assert_allclose(
        rw.rank_measure(SIX, RELEASED, INCOME), np.array([0, 3, 0, 0, 2, 0]) / 6
    )


def test_attribution_of_six_records():
    scenario = rw.Scenario(known="g", synthetic="income", codes={"income": -8})
    found = rw.correct_attribution(SIX.assign(g="x"), RELEASED.assign(g="x"), scenario)
    np.testing.assert_allclose(found.cap, np.array([1, 1, 1, 2, 2, 1]) / 6)
    assert found.baseline == pytest.approx((2 + 2 + 1 + 2 + 2 + 1) / 36)


def test_an_amount_is_not_near_a_code_however_near_it_is():
    frame = pd.DataFrame({"income": [-9.0, -8.0, -8.0, -7.5]})
    assert make_world(frame, rw.Scenario(synthetic="income")).neighbours.within.tolist() == [
        4,
        4,
        4,
        4,
    ]
    assert make_world(frame, INCOME).neighbours.within.tolist() == [2, 2, 2, 2]
    wide = rw.Scenario(synthetic="income", codes={"income": -8}, min_radius=1e6)
    assert make_world(frame, wide).neighbours.within.tolist() == [2, 2, 2, 2]


def test_a_category_missing_is_a_level():
    for dtype in ("object", "string", "category"):
        frame = pd.DataFrame({"job": pd.Series(["a", None, "a", None, "b"], dtype=dtype)})
        assert make_world(frame, rw.Scenario(synthetic="job")).neighbours.within.tolist() == [
            2,
            2,
            2,
            2,
            1,
        ]


def test_codes_are_of_the_world_under_another_scenario():
    world = make_world(SIX, INCOME)
    assert world.under(
        rw.Scenario(synthetic="income", codes={"income": 40})
    ).neighbours.within.tolist() == [2, 2, 1, 2, 2, 1]
    with pytest.raises(InputError, match="special codes only"):
        world.under(rw.Scenario(synthetic="income", codes={"income": [-8, 10, 11, 40]}))


def test_a_zero_that_is_a_code_is_no_ball_of_zero_width():
    frame = pd.DataFrame({"income": [0.0, 0.0, 5.0, NAN]})
    assert point_balls(frame, rw.Scenario(synthetic="income"), "income").tolist() == [
        True,
        True,
        False,
        False,
    ]
    assert not point_balls(
        frame, rw.Scenario(synthetic="income", codes={"income": 0}), "income"
    ).any()


@pytest.mark.parametrize(
    ("confidential", "released", "named"),
    [
        ([SECRET, 1.0, 2.0], [NAN, 1.0, NAN], ["missing in 2 of 3", "none of the confidential"]),
        (
            [SECRET, NAN, 2.0],
            [-8.0, 1.0, -8.0],
            ["special code in 2 of 3", "none of the confidential"],
        ),
        ([SECRET, NAN, -8.0], [-8.0, NAN, NAN], ["missing values and special codes only"]),
        ([SECRET, NAN, -8.0], [-8.0, NAN, np.inf], ["infinite in 1 of 3"]),
    ],
)
def test_synthetic_statuses_that_the_confidential_data_lack_are_refused(
    confidential, released, named
):
    confidential, released = (
        pd.DataFrame({"income": values, "g": 1}) for values in (confidential, released)
    )
    with pytest.raises(InputError) as caught:
        make_world(confidential, INCOME).pair(released)
    assert_clear(caught, "synthetic dataset 1", "'income'", *named)
    with pytest.raises(InputError) as caught:
        rw.correct_attribution(
            confidential, released, rw.Scenario(known="g", synthetic="income", codes={"income": -8})
        )
    assert_clear(caught, "synthetic dataset 1", "'income'", *named)


def test_a_missing_level_that_the_confidential_data_lack_is_refused():
    with pytest.raises(InputError, match="missing in 1 of 2"):
        make_world(pd.DataFrame({"job": ["a", "b"]}), rw.Scenario(synthetic="job")).pair(
            pd.DataFrame({"job": ["a", None]})
        )


NUMBERS = st.sampled_from([-10.0, -9.0, -8.0, 0.0, 8.0, 9.0, 10.0, NAN])


@settings(max_examples=80)
@given(
    data=st.data(), count=st.sampled_from([1, 2, 3]), boundary=st.sampled_from(["closed", "open"])
)
def test_neighbours_equal_the_literal_comparison(data, count, boundary):
    n = data.draw(st.integers(1, 14))
    names = [f"y{v}" for v in range(count)]

    def frame():
        columns = {name: data.draw(st.lists(NUMBERS, min_size=n, max_size=n)) for name in names}
        levels = st.lists(st.sampled_from(["x", "z", None]), min_size=n, max_size=n)
        return pd.DataFrame(columns).assign(job=pd.Series(data.draw(levels), dtype=object))

    own, released = frame(), frame()
    scenario = rw.Scenario(
        synthetic=[*names, "job"], radius=0.2, boundary=boundary, codes={"y0": [-8, 0]}
    )
    patterns = make_world(
        pd.DataFrame({"y0": np.ones(n), "job": "x"}), rw.Scenario(synthetic="y0")
    ).patterns
    found = sort_centres(own, scenario, patterns).find(released)
    inside = [
        [_near(own.iloc[i], released.iloc[h], names, boundary) for h in range(n)] for i in range(n)
    ]
    np.testing.assert_array_equal(found.within, np.sum(inside, axis=1))
    np.testing.assert_array_equal(found.covering(), np.sum(inside, axis=0))
    np.testing.assert_array_equal(found.own_inside, np.diag(inside))


def _near(centre, candidate, names, boundary):
    if not (
        centre["job"] == candidate["job"] or (pd.isna(centre["job"]) and pd.isna(candidate["job"]))
    ):
        return False
    for name in names:
        y, z = centre[name], candidate[name]
        if pd.isna(y) or pd.isna(z):
            near = pd.isna(y) and pd.isna(z)
        elif name == "y0" and (y in (-8, 0) or z in (-8, 0)):
            near = y == z
        else:
            near = abs(z - y) <= 0.2 * abs(y) if boundary == "closed" else abs(z - y) < 0.2 * abs(y)
        if not near:
            return False
    return True
