"""Files as people have them: each is read for what it is, or refused in a sentence."""

import io
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from riskweighted.common.errors import InputError
from riskweighted.data.io import read_table
from riskweighted.data.variable import Variable
from riskweighted.runs.check_study import check_study
from riskweighted.runs.study import make_study
from riskweighted.suggest.columns import look_at
from riskweighted.suggest.kinds import kinds_of
from riskweighted.suggest.study_file import study_file_text
from riskweighted.suggest.suggestion import simpler_suggestions, suggest
from riskweighted.suggest.universes import find_universes

pytestmark = pytest.mark.quick

N = 600


def noise(seed=5):
    return np.random.default_rng(seed)


def kinds(data, **more):
    return {of.name: of.kind for of in kinds_of(data, **more)}


def read(data: pd.DataFrame, folder: Path) -> pd.DataFrame:
    """The frame as it comes back from a csv."""
    data.to_csv(folder / "file.csv", index=False)
    return read_table(folder / "file.csv")


def test_whole_numbers_with_gaps_that_a_csv_holds_as_decimals(tmp_path):
    rng = noise()
    sector = (
        pd.Series(rng.choice(np.arange(11, 60, 4), N)).astype(float).where(np.arange(N) % 50 > 0)
    )
    # 1 % have none
    household = pd.Series(1_000.0 + 7 * (np.arange(N) // 4)).where(np.arange(N) % 97 > 0)
    data = read(
        pd.DataFrame({"sector": sector, "hhid": household, "pay": rng.lognormal(7, 1, N).round(2)}),
        tmp_path,
    )
    assert "11.0" in (tmp_path / "file.csv").read_text()
    assert kinds(data) == {"sector": "levels", "hhid": "unit id", "pay": "number"}


def test_codes_with_leading_zeros_that_a_file_quotes_stay_codes(tmp_path):
    codes = [f"0{code}" for code in noise().integers(1_001, 1_030, N)]
    data = pd.DataFrame(
        {
            "fips": codes,
            "nace": noise(6).choice(["01", "10", "45"], N),
            "pay": noise().lognormal(7, 1, N),
        }
    )
    assert kinds(data) == {"fips": "levels", "nace": "levels", "pay": "number"}


def test_a_footer_of_totals_is_no_number(tmp_path):
    text = (
        "region,pay\n"
        + "".join(f"north,{value:.1f}\n" for value in noise().lognormal(7, 1, N))
        + "Total,123456.7\n"
    )
    data = pd.read_csv(io.StringIO(text))
    assert kinds(data)["pay"] == "number"
    assert kinds(data)["region"] in ("levels", "constant")


@pytest.mark.parametrize("tick", ["X", 1])
def test_tick_boxes_are_levels_that_a_study_can_synthesize(tick):
    box = pd.Series(np.where(noise().random(N) < 0.3, tick, None), dtype=object)
    data = pd.DataFrame(
        {"sex": noise(2).choice(["f", "m"], N), "ill": box if tick == "X" else pd.to_numeric(box)}
    )
    assert kinds(data)["ill"] == "levels"


def test_sorted_amounts_are_amounts_and_ids_out_of_order_are_ids():
    data = pd.DataFrame(
        {"pay": np.sort(noise().lognormal(9, 1, N).round()), "id": noise().permutation(N) + 1}
    )
    assert kinds(data) == {"pay": "number", "id": "record id"}


def test_a_file_of_one_household_and_a_panel_of_one_record_each_have_no_units():
    rng = noise()
    one = pd.DataFrame(
        {"hid": np.full(N, 7), "pay": rng.lognormal(7, 1, N), "sex": rng.choice(["f", "m"], N)}
    )
    assert not suggest(one, look_at(one), ["pay"]).units
    each = pd.DataFrame(
        {
            "person": 3 * np.arange(N) + 10,
            "year": np.full(N, 2001) + np.arange(N) % 2,
            "pay": rng.lognormal(7, 1, N),
        }
    )
    found = suggest(each, look_at(each), ["pay"])
    assert not found.units
    assert "person" not in {*found.known, *found.predictors}


def test_fewer_than_twenty_records_have_neither_units_nor_universes():
    data = pd.DataFrame(
        {
            "household": np.arange(18) // 2,
            "age": np.arange(18) * 5,
            "pay": [np.nan] * 4 + [100.0 + each for each in range(14)],
        }
    )
    assert "unit id" not in kinds(data).values()
    assert find_universes(data, ["pay"], ["age", "household"]) == []


def test_labels_of_three_of_five_hundred_values_are_codes_of_an_amount():
    amounts = noise().permutation(np.arange(1_000, 1_000 + N) * 3)
    labels = {"pay": Variable(values={-8: "refused", -7: "unknown", 0: "none"})}
    assert (
        kinds(pd.DataFrame({"pay": np.r_[amounts[3:], -8, -7, 0]}), described=labels)["pay"]
        == "number"
    )


def test_all_columns_constant_are_refused_with_the_reason_of_each():
    data = pd.DataFrame({"a": np.ones(N), "b": ["x"] * N})
    with pytest.raises(InputError) as caught:
        suggest(data, look_at(data))
    assert all(word in str(caught.value) for word in ("'a'", "'b'", "constant"))


def test_a_universe_with_one_exception_is_a_comment_that_counts_it():
    rng = noise()
    n = 3_000
    data = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.choice([5, 25, 35, 45, 55], n, p=[0.4, 0.15, 0.15, 0.15, 0.15]),
        }
    )
    data["pay"] = pd.Series(rng.lognormal(7, 0.5, n).round(1)).where(data["age"] >= 16)
    data.loc[data.index[data["age"] == 5][0], "pay"] = 90.0
    suggestion = suggest(data, look_at(data), ["pay"])
    assert suggestion.asked_of("pay") is None
    lines = study_file_text(suggestion, Path("file.csv"), Path()).splitlines()
    assert not any(line.startswith("when =") for line in lines)
    assert any(line.startswith("#") and "1 record breaks" in line for line in lines)


def test_of_two_that_are_each_other_s_universe_the_first_decides():
    rng = noise()
    here = rng.random(N) < 0.6
    data = pd.DataFrame({"works": np.where(here, "yes", "no"), "sex": rng.choice(["f", "m"], N)})
    data["pay"] = pd.Series(rng.lognormal(7, 0.5, N).round(1)).where(here)
    data["hours"] = pd.Series(rng.gamma(9, 4, N).round(1)).where(here)
    suggestion = suggest(data, look_at(data), ["pay", "hours"])
    study = tomllib.loads(study_file_text(suggestion, Path("file.csv"), Path()))["synthesizer"][
        "variables"
    ]
    assert all("hours" not in table.get("applies_if", "") for table in study.values()), (
        "nothing is asked by what is drawn after it"
    )


def test_two_columns_called_alike_are_refused_by_name(tmp_path):
    (tmp_path / "file.csv").write_text(
        "a,pay,pay\n" + "".join(f"{place % 3},{place}.5,{place}\n" for place in range(60))
    )
    with pytest.raises(InputError, match="pay"):
        read_table(tmp_path / "file.csv")


def test_weights_of_which_some_are_zero_are_remarked_and_none():
    weight = np.where(np.arange(N) % 5 == 0, 0, noise().uniform(1, 2, N))
    (found,) = kinds_of(pd.DataFrame({"wgt": weight}))
    assert found.kind == "number"
    assert "weight" in found.reason


@pytest.mark.parametrize("dtype", ["Int64", "boolean", "string"])
def test_nullable_columns_make_a_study_that_is_checked(dtype, tmp_path):
    rng = noise()
    values = {
        "Int64": rng.integers(1, 5, N),
        "boolean": rng.random(N) < 0.5,
        "string": rng.choice(["a", "b"], N),
    }[dtype]
    data = pd.DataFrame(
        {
            "group": pd.array(values, dtype=dtype),
            "pay": pd.array(rng.integers(100, 9_000, N), dtype="Int64"),
        }
    )
    for suggestion in simpler_suggestions(suggest(data, look_at(data), ["pay"]), data):
        study = make_study(
            tomllib.loads(study_file_text(suggestion, tmp_path / "file.parquet", tmp_path)),
            tmp_path,
        )
        check_study(study, study.data.of_kinds(data))
        break


def test_infinite_values_are_said_to_stand_in_the_way_and_no_kind_is_offered_for_them():
    rng = noise()
    data = pd.DataFrame(
        {"group": rng.choice(["a", "b"], 100), "pay": rng.lognormal(7, 0.5, 100), "same": 1}
    )
    data.loc[0, "pay"] = np.inf
    for name, offered in (("pay", False), ("same", False), ("id", True)):
        with pytest.raises(InputError, match=name) as refused:
            suggest(data.assign(id=range(100)), look_at(data.assign(id=range(100))), (name,))
        assert ("--kind" in str(refused.value)) == offered


def test_a_benefit_that_few_have_is_not_taken_unasked():
    """It is the most skewed column of the file."""
    rng = noise()
    few = np.where(rng.random(400) < 0.1, np.exp(rng.normal(7, 1, 400)), 0)
    data = pd.DataFrame(
        {
            "py120n": few,
            "py010n": np.where(rng.random(400) < 0.6, np.exp(rng.normal(9, 0.5, 400)), 0),
        }
    ).round(2)
    assert suggest(data, look_at(data)).targets == ("py010n",)
    assert suggest(data[["py120n"]], look_at(data[["py120n"]])).targets == ("py120n",)
