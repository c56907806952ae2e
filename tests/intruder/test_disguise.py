"""Numbers, amounts and dates that were read as text must not be matched by equality."""

import numpy as np
import pandas as pd
import pytest
from brute import assert_clear

from riskweighted.common.errors import InputError
from riskweighted.intruder.scenario import Scenario
from riskweighted.risk.identification import identification_risk

pytestmark = pytest.mark.quick

INCOMES = np.linspace(1_234.5, 98_765.4, 60)
STYLES = {
    "grouped": lambda v: f"{v:,.2f}",
    "dollars": lambda v: f"${v:.0f}",
    "dollars grouped": lambda v: f"$ {v:,.0f}",
    "pounds": lambda v: f"£{v:.2f}",
    "code before": lambda v: f"USD {v:.0f}",
    "code after": lambda v: f"{v:.0f} EUR",
    "euro after": lambda v: f"{v:.2f} €",
    "zloty": lambda v: f"{v:.0f} zł",
    "krona": lambda v: f"{v:.0f} kr",
    "decimal comma": lambda v: f"{v:.2f}".replace(".", ","),
    "german": lambda v: f"{v:,.2f}".translate(str.maketrans(",.", ".,")),
    "swiss": lambda v: f"{v:,.2f}".replace(",", "\u2019"),
    "spaces": lambda v: f"{v:,.0f}".replace(",", " "),
    "thin spaces": lambda v: f"{v:,.0f}".replace(",", "\u202f"),
    "underscores": lambda v: f"{int(v):_}",
    "per cent": lambda v: f"{v / 1000:.1f} %",
    "per mille": lambda v: f"{v / 1000:.1f}‰",
    "thousands": lambda v: f"{v / 1000:.1f}k",
    "signed": lambda v: f"+{v:.0f}",
    "accounting": lambda v: f"({v:,.0f})",
    "trailing minus": lambda v: f"{v:.0f}-",
    "unicode minus": lambda v: f"\u2212{v:.0f}",
    "scientific": lambda v: f"{v:.3e}",
    "blanks": lambda v: f"  {v:.1f} ",
    "indian": lambda v: f"12,{int(v) % 90 + 10},{int(v) % 900 + 100}",
    "ISO date": lambda v: f"20{int(v) % 20:02d}-{int(v) % 12 + 1:02d}-{int(v) % 28 + 1:02d}",
    "date and time": lambda v: f"2024-01-{int(v) % 28 + 1:02d} 12:{int(v) % 60:02d}",
    "US date": lambda v: f"{int(v) % 12 + 1}/{int(v) % 28 + 1}/2024",
    "German date": lambda v: f"{int(v) % 28 + 1}.{int(v) % 12 + 1}.2024",
    "month by name": lambda v: f"{int(v) % 28 + 1} {['Jan', 'May', 'October'][int(v) % 3]} 2024",
}
CATEGORIES = {
    "yes and no": ["yes", "no"],
    "regions": ["North East", "South", "3rd district", "Yorkshire"],
    "codes": ["A1", "B2", "SIC 47", "12-digit"],
    "bands": ["under 10,000", "10,000 to 19,999", "20,000 and over"],
    "mostly words": ["low", "high", "unknown", "5"],
}


def frame(values):
    return pd.DataFrame({"group": np.arange(60) % 3, "income": list(values)})


@pytest.mark.parametrize("style", STYLES)
def test_numbers_in_disguise_are_refused_and_the_remedy_named(style):
    disguised = frame(STYLES[style](value) for value in INCOMES)
    with pytest.raises(InputError) as caught:
        identification_risk(disguised, scenario=Scenario(known="group", synthetic="income"))
    assert_clear(caught, "'income'", "60 of 60", "convert it to numbers", "categorical")
    assert not any(value in str(caught.value) for value in disguised["income"])


@pytest.mark.parametrize("style", STYLES)
def test_categorical_says_that_they_are_codes(style):
    disguised = frame(STYLES[style](value) for value in INCOMES)
    scenario = Scenario(known="group", synthetic="income", categorical="income")
    assert identification_risk(disguised, scenario=scenario).between(0, 1).all()


@pytest.mark.parametrize("name", CATEGORIES)
def test_categories_are_matched_by_equality_unasked(name):
    values = (CATEGORIES[name] * 60)[:60]
    assert (
        identification_risk(frame(values), scenario=Scenario(known="group", synthetic="income"))
        .notna()
        .all()
    )


def test_half_the_values_are_enough():
    few, many = (["n/a"] * (60 - count) + ["$5"] * count for count in (29, 30))
    identification_risk(frame(few), scenario=Scenario(synthetic="income"))
    with pytest.raises(InputError, match="30 of 60"):
        identification_risk(frame(many), scenario=Scenario(synthetic="income"))


def test_text_of_many_different_values_needs_categorical():
    names = [f"household {chr(97 + place // 26)}{chr(97 + place % 26)}" for place in range(60)]
    with pytest.raises(InputError) as caught:
        identification_risk(frame(names), scenario=Scenario(synthetic="income"))
    assert_clear(
        caught, "'income'", "60 different values in 60 records", "at most 20", "categorical"
    )
    identification_risk(frame(names), scenario=Scenario(synthetic="income", categorical="income"))
    identification_risk(frame(names[:20] * 3), scenario=Scenario(synthetic="income"))


def test_a_share_of_one_and_more_is_refused_unless_said_twice():
    for radius in (1, 20, {"income": 20}):
        with pytest.raises(InputError) as caught:
            Scenario(synthetic="income", radius=radius)
        assert_clear(caught, "'income'", "below 1", "allow_wide")
        assert Scenario(synthetic="income", radius=radius, allow_wide=True).radius_of("income") >= 1
    assert Scenario(synthetic="income", radius=20, radius_kind="absolute").radius_of("income") == 20
    mixed = {"synthetic": ("income", "age"), "radius": {"income": 0.2, "age": 5}}
    assert Scenario(**mixed, radius_kind={"income": "relative", "age": "absolute"})
    with pytest.raises(InputError, match="'age'"):
        Scenario(**mixed)


def test_allow_wide_is_true_or_false():
    with pytest.raises(InputError, match="allow_wide must be true or false, got 1"):
        Scenario(synthetic="income", allow_wide=1)
