"""Two files with an income, what an intruder knows of them, and what leaves."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import riskweighted as rw
from riskweighted.data.embedded import load_households

__all__ = ["SD2011", "Case", "demo", "sd2011"]

# not ours to publish
SD2011 = Path(__file__).resolve().parents[3] / "shared" / "data" / "SD2011.csv"


@dataclass(frozen=True)
class Case:
    """One income. ``predictors``: levels, the known ones first; ``released``: those that leave
    besides; the others are hidden.
    """

    name: str
    data: pd.DataFrame = field(repr=False)
    scenario: rw.Scenario
    predictors: tuple[str, ...]
    released: tuple[str, ...]
    two_part: Mapping[str, Any] = field(default_factory=dict)

    @property
    def target(self) -> str:
        return str(self.scenario.synthetic[0])

    @property
    def formula(self) -> str:
        return f"{self.target} ~ " + " + ".join(f"C({name})" for name in self.predictors)

    @cached_property
    def design(self) -> np.ndarray:
        """An intercept and the levels of all predictors, (n, p)."""
        levels = pd.get_dummies(
            self.data[list(self.predictors)].astype(str), drop_first=True
        ).to_numpy(float)
        return np.column_stack([np.ones(len(self.data)), levels])


def demo() -> Case:
    """Family income of 9,275 households (401ksubs), as in the demo."""
    known = ("married", "male", "age_band")
    predictors = (*known, "family_size", "eligible_401k", "has_ira")
    return Case(
        "demo",
        load_households(),
        rw.Scenario(known=known, synthetic="inc"),
        predictors,
        ("eligible_401k",),
    )


def sd2011(path: Path = SD2011, *, codes: bool = False) -> Case | None:
    """Monthly income of SD2011, n = 3,700; with `codes` also of those who are coded -8; None where
    the file is absent.
    """
    if not path.is_file():
        return None
    known, more = ("sex", "agegr"), ("placesize", "edu", "marital")
    data = pd.read_csv(path, usecols=[*known, *more, "income"], low_memory=False).dropna()
    special = {"income": (-8,)} if codes else {}
    data = data[
        (data["income"] > 0) | (data["income"].isin(special.get("income", ())))
    ].reset_index(drop=True)
    scenario = rw.Scenario(known=known, synthetic="income", codes=special)
    return Case(
        "SD2011", data, scenario, (*known, *more), ("placesize",), {"codes": [-8]} if codes else {}
    )
