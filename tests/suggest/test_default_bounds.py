"""Bounds that are found: a round number that no record decides, beyond which a few lie; draws stay
within, and a guarantee refuses them.
"""

import warnings

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.common.found import most_beyond
from riskweighted.contract.synthesizer import data_dependent
from riskweighted.runs.models import build_synthesizer
from riskweighted.suggest.default_bounds import default_bounds

N = 400


def amounts(n: int = N) -> np.ndarray:
    return np.round(np.exp(np.random.default_rng(1).normal(7, 0.6, n)))


@pytest.mark.quick
def test_the_bound_is_a_round_number_above_what_the_fifth_largest_and_the_tail_below_it_say():
    values = amounts()
    found = default_bounds(values)
    fifth = np.sort(values)[-5]
    assert fifth < found.high <= 2.5 * 10**0.4 * fifth
    assert f"{found.high:.0e}"[0] in "125"
    hours = np.minimum(np.random.default_rng(1).normal(40, 9, N).round(), 60.0)
    assert default_bounds(hours).high == 100.0
    heavy = 1 / (np.arange(N) + 0.7) ** (1 / 1.5)  # the quantiles of a Pareto law
    assert 1 < default_bounds(heavy).high / heavy.max() < 5
    wild = default_bounds(np.append(values[1:], 1e9))
    assert (wild.low, wild.high, wild.beyond) == (0.0, found.high, found.beyond + 1)
    assert default_bounds(amounts(20_000)).rank == 20


@pytest.mark.quick
def test_what_is_never_negative_has_zero_for_its_lower_bound_and_losses_a_round_number():
    values = amounts()
    assert default_bounds(values).support == (0, int(default_bounds(values).high), "found")
    losses = np.concatenate([values, -values[:100] / 10])
    assert default_bounds(losses).low == -default_bounds(values[:100] / 10).high
    few = default_bounds(np.concatenate([values, [-3.0, -2.0, -1.0]]))
    assert (few.low, few.beyond) == (0.0, default_bounds(values).beyond + 3)


@pytest.mark.quick
def test_a_firm_of_five_years_decides_nothing_and_few_firms_leave_no_more_beyond_than_may_lie():
    values, firm = amounts(), np.arange(N) % 80
    large = np.append(values, [9e6] * 5)
    assert default_bounds(large).high > 9e6
    found = default_bounds(large, [np.append(firm, [80] * 5)])
    # the fifth largest unit is the fourth of the others
    assert found.high <= 2 * default_bounds(values, [firm]).high
    assert found.beyond == 5
    # nor do records without a firm
    assert default_bounds(large, [np.append(firm, [-1] * 5)]) == found
    # nor how heavy the tail is
    assert (
        default_bounds(np.append(values, [9e6] * 20), [np.append(firm, [80] * 20)]).high
        <= 2 * found.high
    )
    assert (
        default_bounds(np.append(values, -large), [np.append(firm, np.append(firm, [80] * 5))]).low
        > -1e5
    )
    grown = values * 100.0 ** (firm < 4)  # a twentieth of the records is that of four firms
    assert default_bounds(grown, [firm]).high < default_bounds(grown).high
    few = default_bounds(grown, [np.arange(N) % 8])
    assert few.high > values.max()
    assert few.beyond <= most_beyond(N)
    build_synthesizer("transformation", "income ~ age", {"support": few.support}).prepare(
        household(grown)
    )


@pytest.mark.quick
@pytest.mark.parametrize("values", [np.arange(1.0, 40), np.zeros(100), -np.arange(1.0, 100)])
def test_few_amounts_and_such_as_are_not_positive_have_none(values):
    assert default_bounds(values) is None


def household(values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"age": np.arange(len(values)) % 50, "income": values})


@pytest.mark.quick
@pytest.mark.parametrize(
    "name", ["transformation", "two-part", "linear-regression", "normal-mixture"]
)
def test_a_few_values_may_lie_beyond_found_bounds_and_many_or_any_beyond_public_ones_not(name):
    data = household(np.append(amounts(), [9e6, 8e6]))
    if name == "two-part":
        data = household(np.append(data["income"], np.zeros(40)))
    build_synthesizer(name, "income ~ age", {"support": (0, 20_000, "found")}).prepare(data)
    with pytest.raises(InputError, match=r"support excludes 2 of \d+ confidential values"):
        build_synthesizer(name, "income ~ age", {"support": (0, 20_000)}).prepare(data)
    with pytest.raises(InputError, match=r"support excludes 2\d\d of \d+ .*may exclude 2"):
        build_synthesizer(name, "income ~ age", {"support": (0, 1_000, "found")}).prepare(data)
    assert any(
        "support" in taken
        for taken in data_dependent(
            build_synthesizer(name, "income ~ age", {"support": (0, 20_000, "found")})
        )
    )


@pytest.mark.quick
def test_a_value_beyond_counts_as_the_bound():
    values = amounts()
    prepared = [
        build_synthesizer(
            "transformation", "income ~ age", {"support": (0, 20_000, "found")}
        ).prepare(household(np.append(values, last)))
        for last in (20_000.0, 7_654_321.0)
    ]
    assert prepared[0].bins[-1] == prepared[1].bins[-1] == prepared[0].bins.max()
    assert prepared[0].heap[-1] == prepared[1].heap[-1]
    one = build_synthesizer("two-part", "income ~ age", {"support": (0, 20_000, "found")})
    parts = one.prepare(
        household(np.append(np.append(values, np.zeros(40)), [-5.0, -6.0, -7.0, -8.0]))
    )
    assert parts.statuses == ("zero", "positive")
    assert (parts.status[-4:] == 0).all()


def test_one_value_beyond_counts_once_where_amounts_are_few():
    """Records without an amount are given those of others, so that one beyond the bounds would
    stand there many times.
    """
    values = np.concatenate([amounts(60), [9e6, 8e6], np.zeros(2_000)])
    data = household(values)
    model = build_synthesizer("two-part", "income ~ age", {"support": (0, 20_000, "found")})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = rw.fit(model, data, draws=10, tune=20, chains=2, random_seed=1)
    assert all(
        frame["income"].between(0, 20_000).all() for frame in fit.synthesize(2, random_seed=1)
    )
    assert model.prepare(data).at(data).status.tolist() == model.prepare(data).status.tolist()
    # a code beyond the bounds of amounts
    coded = household(np.concatenate([values, np.full(10, 99_999_999.0)]))
    model = build_synthesizer(
        "two-part", "income ~ age", {"support": (0, 20_000, "found"), "codes": [99_999_999]}
    )
    assert model.prepare(coded).at(coded).status.tolist() == model.prepare(coded).status.tolist()


def test_no_draw_leaves_found_bounds_and_whole_numbers_stay_whole():
    data = household(np.append(amounts(), [9e6, 8e6]).astype(int))
    found = default_bounds(data["income"].to_numpy(dtype=float))
    model = rw.load_synthesizer("transformation")("income ~ age", support=found.support)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = rw.fit(model, data, draws=60, tune=100, chains=2, random_seed=1)
        drawn = [frame["income"] for frame in fit.synthesize(5, random_seed=1)]
        risk = rw.expected_identification_risk(
            fit, rw.Scenario(known="age", synthetic="income"), draws=10, random_seed=1
        )
    assert found.beyond == 2
    assert all(
        values.between(0, found.high).all() and values.dtype == data["income"].dtype
        for values in drawn
    )
    assert risk["risk"].iloc[-2:].tolist() == [0.0, 0.0]  # no draw comes near what lies beyond
    assert np.isfinite(rw.influence(fit)["range"]).all()
