import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from riskweighted import Scenario, rank_measure
from riskweighted.common.errors import InputError

# toy data are small
pytestmark = [pytest.mark.filterwarnings("ignore::riskweighted.common.errors.UnscoredWarning")]

values = st.sampled_from([-3.0, -1.0, 0.0, 1.0, 2.0, 5.0])


def test_hand_worked():
    confidential = pd.DataFrame({"g": ["a"] * 4 + ["b"], "y": [1.0, 2.0, 3.0, 4.0, 1.0]})
    synthetic = confidential.assign(y=[4.0, 3.0, 2.0, 1.0, 9.0])
    # Strictly between 1 and 4: 3, 2. Between 2 and 3: none. Alone in b: none.
    assert rank_measure(confidential, synthetic, Scenario(known="g", synthetic="y")).tolist() == [
        0.5,
        0,
        0,
        0.5,
        0,
    ]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), values, values), min_size=1, max_size=12))
def test_equals_loops(rows):
    table = pd.DataFrame(rows, columns=["g", "y", "s"])
    measure = rank_measure(
        table[["g", "y"]],
        table[["g"]].assign(y=table["s"]),
        Scenario(known="g", synthetic="y", singletons="paper"),
    )
    for i, (g, y, s) in enumerate(rows):
        pattern = [row[2] for row in rows if row[0] == g]
        assert measure[i] == pytest.approx(
            sum(min(y, s) < other < max(y, s) for other in pattern) / len(pattern)
        )


def test_averages_datasets_and_is_zero_for_the_data_itself():
    confidential = pd.DataFrame({"y": np.arange(6.0)})
    far = confidential.assign(y=np.arange(6.0)[::-1])
    scenario = Scenario(synthetic="y")
    assert (rank_measure(confidential, confidential, scenario) == 0).all()
    both = rank_measure(confidential, [confidential, far], scenario)
    assert both.tolist() == (rank_measure(confidential, far, scenario) / 2).tolist()


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(["a", "b"]), *[values] * 6), min_size=1, max_size=12),
    st.sampled_from([2, 3]),
)
def test_of_several_variables_a_record_lies_between_in_every_one(rows, count):
    names = ["y", "z", "w"][:count]
    table = pd.DataFrame(rows, columns=["g", "y", "z", "w", "ys", "zs", "ws"])
    synthetic = table.assign(**{name: table[f"{name}s"] for name in names})
    scenario = Scenario(known="g", synthetic=names, singletons="paper")
    measure = rank_measure(table, synthetic, scenario)
    for i, g in enumerate(table["g"]):
        ends = [sorted((table.at[i, name], synthetic.at[i, name])) for name in names]
        pattern = synthetic[table["g"] == g]
        inside = [
            (low < pattern[name]) & (pattern[name] < high)
            for name, (low, high) in zip(names, ends, strict=True)
        ]
        assert measure[i] == pytest.approx(np.logical_and.reduce(inside).mean())


def test_needs_a_numeric_variable():
    frame = pd.DataFrame({"y": [1.0], "c": ["a"]})
    with pytest.raises(InputError, match="needs a numeric"):
        rank_measure(frame, frame, Scenario(synthetic="c"))
