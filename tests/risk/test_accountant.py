"""Adding up releases: by hand, and what must not be added."""

import math

import pytest
from brute import assert_clear

import riskweighted as rw

pytestmark = pytest.mark.quick


def by_kind(table):
    return table.set_index(["kind", "neighbours", "release"])


def test_two_proved_releases_by_hand():
    """w = 0.1 at L = 20 and w = 0.4 at L = 5."""
    table = by_kind(
        rw.accountant(
            [rw.Release("2024", 20, width=0.1), rw.Release("2025", 5, width=0.4)], delta=1e-5
        )
    )
    assert table.loc[("proved", "add-drop", "2024"), ["epsilon", "rho"]].tolist() == pytest.approx(
        [2.0, 20 * 0.01 / 8]
    )
    total = table.loc[("proved", "replace", "all together")]
    assert total["datasets"] == 25
    assert total["epsilon"] == pytest.approx(4 + 4)
    assert total["rho"] == pytest.approx(20 * 0.01 / 2 + 5 * 0.16 / 2)
    assert total["epsilon_delta"] == pytest.approx(min(8, 0.5 + 2 * math.sqrt(0.5 * math.log(1e5))))
    assert total["epsilon_delta"] < 8
    assert (table["delta"] == 1e-5).all()


def test_what_is_measured_stands_apart():
    table = rw.accountant(
        [
            rw.Release("proved", 10, width=0.1),
            rw.Release("marginal", 20, lipschitz=0.9),
            rw.Release("pairwise", 2, lipschitz=3),
        ]
    )
    found = by_kind(table)
    assert found.loc[
        ("empirical, no guarantee", "fixed alpha", "marginal"), "epsilon"
    ] == pytest.approx(36)
    assert found.loc[
        ("empirical, no guarantee", "fixed alpha", "all together"), "epsilon"
    ] == pytest.approx(48)
    assert found.loc[("proved", "replace", "all together"), "epsilon"] == pytest.approx(2)
    assert (
        found.loc["empirical, no guarantee"][["rho", "delta", "epsilon_delta"]]
        .isna()
        .all(axis=None)
    )


def test_statements_by_name():
    stated = rw.Guarantee(epsilon=1).statement(20)
    table = by_kind(rw.accountant({"2024": stated, "2025": stated}))
    assert table.loc[("proved", "replace", "all together"), "epsilon"] == pytest.approx(2)


@pytest.mark.parametrize(
    ("attempt", "named"),
    [
        (lambda: rw.accountant([]), ["releases", "at least one"]),
        (
            lambda: rw.accountant([rw.Release("a", 1, width=1), rw.Release("a", 2, width=1)]),
            ["different names", "'a'"],
        ),
        (lambda: rw.accountant([rw.Release("a", 1, width=1)], delta=1), ["delta"]),
        (lambda: rw.accountant([3]), ["releases"]),
        (lambda: rw.Release("a", 0, width=1), ["L must"]),
        (lambda: rw.Release("a", 1), ["width or lipschitz", "'a'"]),
        (lambda: rw.Release("a", 1, width=1, lipschitz=1), ["width or lipschitz"]),
        (lambda: rw.Release("a", 1, width=0), ["width", "> 0"]),
        (lambda: rw.Release("a", 1, lipschitz=float("nan")), ["lipschitz", "finite"]),
        (lambda: rw.Release.of("a", rw.Guarantee(M=1).statement(3), 4), ["must be 3", "got 4"]),
        (
            lambda: rw.Release.of("a", rw.Guarantee(M=1).statement(3), 2),
            ["must be 3", "all count", "got 2"],
        ),
    ],
)
def test_releases_that_cannot_be_added_up(attempt, named):
    with pytest.raises(rw.InputError) as caught:
        attempt()
    assert_clear(caught, *named)
