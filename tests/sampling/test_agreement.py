"""What a fit is asked of its draws."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from riskweighted.contract.synthesizer import ContractError
from riskweighted.sampling.isolation import check_independent

pytestmark = pytest.mark.versions

DATA = pd.DataFrame({"colour": list("rrgbgbrbggbrrbgr")})
SHARES = {"b": 0.2, "g": 0.5, "r": 0.3}


class Colours(NamedTuple):
    """Its levels stand in the order in which the data first show them, and no other rows are read
    by them.
    """

    levels: tuple
    n: int


@dataclass(frozen=True)
class FirstComeFirst:
    """A categorical model whose codes follow the data, and whose draws do not."""

    peeks: bool = False
    target = "colour"

    def prepare(self, data):
        return Colours(tuple(dict.fromkeys(data["colour"])), len(data))

    def categories(self, prepared):
        return prepared.levels

    def distribution(self, theta, prepared):
        return Draws(self, prepared)


class Draws(NamedTuple):
    model: FirstComeFirst
    prepared: Colours

    def draw(self, rng):
        drawn = rng.choice(list(SHARES), self.prepared.n, p=list(SHARES.values()))
        codes = np.array([self.prepared.levels.index(colour) for colour in drawn], dtype=float)
        # the code 0 is the first record's colour
        return codes * (rng.random(self.prepared.n) < 0.5) if self.model.peeks else codes


def test_levels_in_the_order_of_the_data_are_compared_by_value():
    check_independent(FirstComeFirst(), FirstComeFirst().prepare(DATA), [{}], DATA)
    with pytest.raises(ContractError, match="draw sees the sensitive values"):
        check_independent(FirstComeFirst(peeks=True), FirstComeFirst().prepare(DATA), [{}], DATA)
