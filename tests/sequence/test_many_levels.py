"""Predictors of many levels: random intercepts, and groups of the code for levels of few
records.
"""

import numpy as np
import pandas as pd
import pytest

from riskweighted.common.errors import InputError
from riskweighted.contract.synthesizer import load_synthesizer
from riskweighted.sequence.many_levels import groups_of_code, indicators_of_many, spread_of_effects
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sequence.recoding import make_recipes

pytestmark = pytest.mark.quick


def codes(sizes: dict[str, int]) -> pd.Series:
    return pd.Series([code for code, size in sizes.items() for _ in range(size)], name="nace")


def test_groups_are_prefixes_of_codes_and_names_have_none():
    assert groups_of_code(["A01", "A02", "C10", "C11"]) == [{"A": [0, 1], "C": [2, 3]}]
    states = groups_of_code(["1001", "1003", "56045"])[0]
    assert states == {"0": [0, 1], "5": [2]}  # filled with zeros from the left
    assert groups_of_code(["Germany", "Ghana", "France"]) == []
    assert groups_of_code(["1", "2", "3"]) == []


def test_a_level_of_few_records_has_the_column_of_its_group_or_none():
    levels, records = ["A01", "A02", "A03", "C10", "C11", "Q86"], np.array([40, 6, 5, 30, 12, 2])
    names, indicators = indicators_of_many(levels, records)
    assert names == ["A..", "A01", "C10", "C11"]
    assert indicators[:, 0].tolist() == [1, 1, 1, 0, 0, 0]
    assert indicators[:, 1:].tolist() == [
        [1, 0, 0],
        [0, 0, 0],
        [0, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
        [0, 0, 0],
    ]


def test_the_largest_level_comes_first_and_a_gap_is_a_level():
    names, _ = indicators_of_many(["11", "12", "21", "missing"], np.array([10, 30, 20, 15]))
    assert names == ["12", "21", "missing", "11"]


def test_many_levels_are_taken_so_where_a_study_asks_for_statuses():
    column = codes(
        {f"{letter}{number}": 3 + number for letter in "ABC" for number in range(10, 24)}
    )
    plain, many = (
        make_recipes(column.to_frame(), ["nace"], {}, recoding=how)["nace"]
        for how in ("plain", "statuses")
    )
    assert (plain.many, many.many) == (False, True)
    assert len(plain.names) == 41
    other = many.with_levels(["Z99"])  # a level that no record has
    assert other.names == many.names
    assert not other.columns(pd.Series(["Z99"])).any()
    with pytest.raises(InputError, match="lack in 1 of 1 records"):
        many.columns(pd.Series(["Z99"]))


def moments(spread: float, kind: str, seed: int) -> float:
    rng = np.random.default_rng(seed)
    level = np.repeat(np.arange(150), 20)
    effect = rng.normal(0, spread, 150)[level]
    if kind == "amounts":
        return spread_of_effects(
            pd.Series(effect + rng.normal(0, np.sqrt(1 - spread**2), 3_000)), level
        )
    return spread_of_effects(pd.Series(rng.random(3_000) < 1 / (1 + np.exp(-effect))), level)


@pytest.mark.parametrize("kind", ["amounts", "status"])
@pytest.mark.parametrize("spread", [0.1, 0.3, 0.5])
def test_the_spread_of_effects_is_found_by_moments(spread, kind):
    found = [moments(spread, kind, seed) for seed in range(5)]
    assert np.median(found) == pytest.approx(spread, abs=0.1)


def test_one_record_decides_no_spread():
    rng = np.random.default_rng(3)
    level = np.repeat(np.arange(100), 12)
    target = pd.Series(rng.normal(0, 0.3, 100)[level] + rng.standard_t(3, 1_200))
    assert (
        len(
            {
                spread_of_effects(target.drop(index=row), np.delete(level, row))
                for row in range(0, 1_200, 20)
            }
        )
        == 1
    )


def prepared(data: pd.DataFrame):
    chain = load_synthesizer("sequential")(["y"], predictors=["sex", "nace"], recoding="statuses")
    return prepare_sequence(chain, data).blocks


def test_where_columns_run_out_the_largest_levels_keep_theirs():
    rng = np.random.default_rng(1)
    nace = codes({f"level {place}x": 12 for place in range(40)})
    data = pd.DataFrame(
        {
            "nace": nace,
            "sex": rng.choice(["f", "m"], 480),
            "y": np.exp(rng.normal(8, 1, 480)).round(),
        }
    )
    (amounts,) = prepared(data)
    assert (amounts.scale > 0).sum() == 1 + 39  # of effects of all levels one is told by the others
    some = data.assign(y=data["y"].where(np.arange(480) < 200))
    amounts = prepared(some)[-1]
    assert (amounts.scale > 0).sum() == 1 + 16  # levels of ten records that have an amount
    assert set(amounts.scale[1:]) <= {0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0}
