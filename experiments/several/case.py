"""Seven variables of SD2011: the chain, the scenario and what is asked of the release."""

from pathlib import Path

import pandas as pd

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.sequence.declared import Chain

__all__ = [
    "CODES",
    "DATA",
    "PREDICTORS",
    "REGRESSIONS",
    "SCHEMES",
    "VARIABLES",
    "chain",
    "read",
    "scenario",
]

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "SD2011.csv"  # not ours to publish
KNOWN = ("sex", "agegr")
PREDICTORS = ("sex", "age", "placesize")
VARIABLES = ("edu", "marital", "income", "ls", "smoke", "nociga", "depress")
CODES = {"income": (-8,), "nociga": (-8,)}
SCHEMES = ("unweighted", "marginal", "pairwise")
REGRESSIONS = (
    "log(income) ~ age + sex + edu where income > 0",
    "smoke ~ age + sex",
    "depress ~ age + sex",
)
_SATISFACTION = (
    "TERRIBLE",
    "UNHAPPY",
    "MOSTLY DISSATISFIED",
    "MIXED",
    "MOSTLY SATISFIED",
    "PLEASED",
    "DELIGHTED",
)


def read(path: Path = DATA) -> pd.DataFrame:
    """The columns that are used, n = 5,000 in the whole file."""
    if not path.is_file():
        raise InputError(
            "SD2011.csv is not there: put it in ../shared/data beside the checkout, or name it "
            "with --data"
        )
    columns = list(dict.fromkeys([*KNOWN, *PREDICTORS, *VARIABLES]))
    return pd.read_csv(path, usecols=columns)[columns]


def chain() -> Chain:
    """The chain; two records smoke no longer and state a number of cigarettes, so they add no
    likelihood to it.
    """
    settings = {
        "income": {"codes": list(CODES["income"])},
        "ls": {"levels": list(_SATISFACTION), "drift": True},
        "nociga": {
            "applies_if": "smoke == 'YES'",
            "else_value": -8,
            "codes": list(CODES["nociga"]),
        },
    }
    found: Chain = rw.load_synthesizer("sequential")(
        VARIABLES, predictors=PREDICTORS, settings=settings, violations="exclude"
    )
    return found


def scenario() -> rw.Scenario:
    """Sex and age group are known; a fifth to either side counts as near."""
    return rw.Scenario(known=KNOWN, synthetic=VARIABLES, radius=0.2, codes=CODES)
