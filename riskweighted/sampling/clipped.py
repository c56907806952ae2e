"""What a centred clip takes off for each record (METHODS section 9.3): by its distribution in
numbers, and in its graph.

Of a record with predictors x it is, over public cells k to which the reference gives R_k and the
model P_k(x, theta),

    alpha sum_k min(max(P_k, R_k exp(a / alpha)), R_k exp(b / alpha)),

in which its value does not stand. What is proved where a contribution is left out needs its range,
which is kept to whatever a model says.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.contract.synthesizer import Blueprint, Draw, Synthesizer, Tensor
from riskweighted.guarantee.clip import DATA
from riskweighted.guarantee.interval_cells import IntervalCells
from riskweighted.guarantee.statement import Statement
from riskweighted.sampling.design_masses import DesignMasses

__all__ = ["ClipTerm", "clip_term_graph"]

_LARGEST = 700.0  # of what is exponentiated


@dataclass(frozen=True, eq=False)
class ClipTerm:
    """The centring term of a clip, as a function of a draw."""

    masses: DesignMasses = field(repr=False)
    reference: np.ndarray = field(repr=False)

    @classmethod
    def of(
        cls,
        synthesizer: Synthesizer,
        prepared: Any,
        confidential: pd.DataFrame,
        cells: IntervalCells,
    ) -> "ClipTerm":
        """That of a model and its data, over public cells."""
        return cls(
            DesignMasses(synthesizer, prepared, confidential, cells.lower, cells.upper),
            cells.reference,
        )

    @cached_property
    def counts(self) -> np.ndarray:
        """Records of each design, (m,)."""
        return np.bincount(self.masses.designs[0])

    def each(self, theta: Draw, alpha: float, statement: Statement) -> np.ndarray:
        """What is taken off for every record, (n,), of weights that are all alpha."""
        low, high = (
            np.exp(min(end / alpha, _LARGEST)) for end in (statement.lower, statement.upper)
        )
        mass = np.nan_to_num(self.masses.at(theta), nan=0.0)
        total = np.clip(mass, low * self.reference, high * self.reference).sum(axis=1)
        least = low * self.reference.sum()
        return np.asarray(
            alpha * np.clip(total, least, least + 1 - low / high)[self.masses.designs[0]]
        )


def clip_term_graph(term: ClipTerm, blueprint: Blueprint) -> Tensor:
    """The sum of the term over the records in a model's graph, of the ``pm.Data`` that
    `clipped_sum` put there.

    ContractError where the model has no masses of expressions.
    """
    import pytensor.tensor as pt

    mass = term.masses.graph(blueprint, "censored by a centred clip", "an uncentred clip")
    alpha, _, lower, upper = (blueprint.model[name] for name in DATA)
    low, high = (pt.exp(pt.minimum(end / alpha, _LARGEST)) for end in (lower, upper))
    known = pt.switch(pt.isnan(mass), 0.0, mass).reshape((len(term.counts), len(term.reference)))
    total = pt.clip(known, low * term.reference, high * term.reference).sum(axis=1)
    least = low * term.reference.sum()
    return alpha * (term.counts * pt.clip(total, least, least + 1 - low / high)).sum()
