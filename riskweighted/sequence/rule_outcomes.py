"""What implications and sums decide of some records of a frame, while a variable is drawn (METHODS
section 12).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from riskweighted.sequence.blocks import Block, ChainVariable
from riskweighted.sequence.outcomes import Outcomes
from riskweighted.sequence.rule_effects import AllowedOutcomes, RuleEffects

__all__ = ["RuleOutcomes", "sample_places"]

_DIGITS = 8  # after the point: what adding takes off numbers that have fewer


@dataclass(frozen=True, eq=False)
class RuleOutcomes:
    """Of m records: what is ``left`` to the variable, and what it is ``computed`` to be (m,), NaN
    where it is not. Confidential.
    """

    decider: RuleEffects
    left: AllowedOutcomes
    computed: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, link: ChainVariable, frame: pd.DataFrame) -> "RuleOutcomes | None":
        """What a link's rules say of the records of a frame; None where it has none that decide."""
        if link.decider is None:
            return None
        return cls(
            link.decider, link.decider.left(frame), np.round(link.decider.computed(frame), _DIGITS)
        )

    def set_decided(self, values: np.ndarray, left: np.ndarray, outcomes: Outcomes) -> np.ndarray:
        """Set the values that are decided among those left; which are left then."""
        only = self.left.only[left]
        for place in np.unique(only[only >= 0]):
            values[left[only == place]] = outcomes.number(self.decider.outcomes[place])
        return np.asarray(left[only < 0])

    def asked(
        self, block: Block, coming: np.ndarray, left: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Of those left: for which a status is to be drawn, and which have it without a draw, since
        nothing else is left to them.
        """
        may, must = self.left.at(left).status(self.decider.place(block.outcome), coming)
        return left[may & ~must], left[must]

    def set_computed(self, values: np.ndarray, left: np.ndarray) -> np.ndarray:
        """Set the values that a sum gives among those left; which are left then."""
        there = ~np.isnan(self.computed[left])
        values[left[there]] = self.computed[left[there]]
        return np.asarray(left[~there])

    def landed(self, values: np.ndarray, left: np.ndarray, outcomes: Outcomes) -> np.ndarray:
        """Which of those left were drawn as an outcome that is ruled out, such as an amount that is
        a code by chance.
        """
        wrong = np.zeros(len(left), dtype=bool)
        for place, outcome in enumerate(self.decider.outcomes):
            wrong |= (values[left] == outcomes.number(outcome)) & ~self.left.allowed[left, place]
        return np.asarray(left[wrong])

    def levels(self, categories: Sequence[object], left: np.ndarray) -> np.ndarray:
        """Which levels of a model are left to some records, (k, K); of those that no record of the
        data has nothing is said.
        """
        held = self.decider.outcomes
        columns = [
            self.left.allowed[left, held.index(level)]
            if level in held
            else np.ones(len(left), dtype=bool)
            for level in categories
        ]
        allowed = np.column_stack(columns)
        return np.where(allowed.any(axis=1, keepdims=True), allowed, True)


def sample_places(masses: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A place for each row of masses (m, K), in proportion to them."""
    below = np.cumsum(masses, axis=1)
    aim = rng.random(len(masses)) * below[:, -1]
    return np.asarray(
        np.minimum((aim[:, None] >= below).sum(axis=1), masses.shape[1] - 1), dtype=float
    )
