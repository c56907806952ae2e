import numpy as np
import pandas as pd
import pytest

from riskweighted.design.design import build_design
from riskweighted.design.level_weights import level_members, sparse_levels

pytestmark = pytest.mark.quick

N = 120


def frame():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "y": rng.normal(size=N),
            "x": rng.normal(size=N),
            "g": np.repeat(["a", "b", "c"], [80, 37, 3]),
            "h": pd.Categorical(np.resize(["u", "v", "v"], N), categories=["v", "unused", "u"]),
            "b": np.resize([0, 1], N),
        }
    )


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("y ~ x", {}),
        ("y ~ C(g) + x", {"C(g)[a]": 80, "C(g)[T.b]": 37, "C(g)[T.c]": 3}),
        ("y ~ h + b", {"h[v]": 80, "h[T.u]": 40, "b": 60, "b = 0": 60}),
        (
            "y ~ g + g:b",
            {"g[a]": 80, "g[T.b]": 37, "g[T.c]": 3, "g[a]:b": 40, "g[b]:b": 18, "g[c]:b": 2},
        ),
        ("y ~ g:x", {}),
        ("y ~ 1", {}),
    ],
)
def test_levels_are_found_with_their_records(formula, expected):
    data = frame()
    found = {
        name: int(rows.sum()) for name, rows in level_members(build_design(formula, data)).items()
    }
    assert {name: count for name, count in found.items() if name in expected} == expected
    assert len(found) == len(expected)


def test_levels_of_small_weight_are_named_the_reference_too():
    data = frame()
    members = level_members(build_design("y ~ C(g) + h", data))
    assert sparse_levels(members, np.ones(N)) == ("C(g)[T.c]",)
    # sums 4.8, 5 and 6
    alpha = np.where(data["g"] == "a", 0.06, np.where(data["g"] == "b", 5 / 37 + 1e-9, 2.0))
    assert sparse_levels(members, alpha) == ("C(g)[a]",)
    assert sparse_levels(members, np.zeros(N)) == tuple(members)
