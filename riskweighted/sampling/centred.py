"""The centring term of a model (METHODS section 15): by its distribution in numbers, and in its
graph as sums of interval masses.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.contract.centring import Centring
from riskweighted.contract.synthesizer import Blueprint, ContractError, Draw, Synthesizer, Tensor
from riskweighted.sampling.design_masses import DesignMasses

__all__ = ["EXPECTED", "CentredTerm", "graph_coefficients", "term_graph"]

EXPECTED = "expected_weight"  # the pm.Data of a centred graph
_KEPT = 30_000_000  # weights that are held rather than made for every draw


@dataclass(frozen=True, eq=False)
class CentredTerm:
    """What centring takes off for each record, as a function of a posterior draw. Confidential."""

    synthesizer: Synthesizer
    prepared: Any = field(repr=False)
    confidential: pd.DataFrame = field(repr=False)
    centring: Centring = field(repr=False)

    @cached_property
    def of_designs(self) -> DesignMasses:
        """The masses of the intervals, each kind among all."""
        intervals = self.centring.intervals
        return DesignMasses(
            self.synthesizer, self.prepared, self.confidential, intervals.lower, intervals.upper
        )

    @property
    def designs(self) -> tuple[np.ndarray, np.ndarray]:
        """See `riskweighted.sampling.design_masses.designs_of`."""
        return self.of_designs.designs

    def masses(self, theta: Draw) -> np.ndarray:
        """P(interval) of every design, (m, G)."""
        masses = self.of_designs.at(theta)
        return np.asarray(masses - masses @ self._also)

    @cached_property
    def _also(self) -> np.ndarray:
        """Which single values, each a kind of its own, lie in which interval of another kind too,
        (G, G).
        """
        lower, upper, kind = self.centring.intervals
        single = (lower == upper) & (np.bincount(kind)[kind] == 1)
        inside = (
            (lower <= lower[:, None])
            & (upper[:, None] <= upper)
            & (kind[:, None] != kind)
            & single[:, None]
            & ~single
        )
        return np.asarray(inside.astype(float))

    @cached_property
    def _weights(self) -> np.ndarray | None:
        """Of all records, where there is room."""
        centring = self.centring
        return (
            centring.weights(np.arange(centring.n))
            if centring.n * len(centring.intervals.lower) <= _KEPT
            else None
        )

    def each(self, theta: Draw) -> tuple[np.ndarray, np.ndarray]:
        """What is taken off for every record, and the log probability of its kind of value, (n,)
        each.
        """
        centring, which, masses = self.centring, self.designs[0], self.masses(theta)
        kind = centring.intervals.kind
        shares = np.stack(
            [masses[:, kind == place].sum(axis=1) for place in range(int(kind.max()) + 1)], axis=1
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            given = np.where(shares[:, kind] > 0, masses / shares[:, kind], 0.0)
            log_kind = np.log(shares)[which, centring.own]
        off = np.empty(centring.n)
        for records in centring.chunks():
            weights = centring.weights(records) if self._weights is None else self._weights[records]
            off[records] = np.einsum("rg,rg->r", weights, given[which[records]])
        if centring.kinds is not None:
            off += centring.survey * (centring.kinds * shares[which]).sum(axis=1)
        return off, log_kind if centring.kinds is not None else np.zeros(centring.n)

    def contributions(self, theta: Draw, alpha: np.ndarray, terms: np.ndarray) -> np.ndarray:
        """What each record adds to the log posterior, (n,): alpha (n,), survey weights within,
        times log densities (n,), less that.
        """
        off, log_kind = self.each(theta)
        added = np.where(alpha > 0, alpha * (np.where(alpha > 0, terms, 0.0) - log_kind), 0.0)
        if self.centring.kinds is not None:
            added = added + self.centring.of_kinds * log_kind
        return np.asarray(added - off)


def graph_coefficients(term: CentredTerm) -> np.ndarray:
    """The values of `EXPECTED`: by design and interval, laid end to end."""
    which, first = term.designs
    return term.centring.sums(which, len(first)).ravel()


def term_graph(term: CentredTerm, blueprint: Blueprint) -> Tensor:
    """The term in a model's graph, with `EXPECTED` as its ``pm.Data``, which is put into the model.

    ContractError where the synthesizer cannot be centred.
    """
    import pymc as pm

    if term.centring.kinds is not None:
        name = type(term.synthesizer).__name__
        raise ContractError(
            f"{name} draws the kind of a value first and has no centred density: it takes "
            "uncentred weights alone"
        )
    mass = term.of_designs.graph(blueprint, "centred", "uncentred weights")
    with blueprint.model:
        data = pm.Data(
            EXPECTED, np.zeros(len(term.designs[1]) * len(term.centring.intervals.lower))
        )
    return (data * mass).sum()
