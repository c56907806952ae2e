"""The centring term of a model (METHODS section 15): by its distribution in numbers, and in its graph as sums of interval masses."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.contract.centring import Centring
from riskweighted.contract.distribution import fixed
from riskweighted.contract.synthesizer import Blueprint, ContractError, Draw, Synthesizer, Tensor
from riskweighted.design.formulas import split_formula
from riskweighted.intruder.patterns import cells

__all__ = ["EXPECTED", "CentredTerm", "columns_seen", "designs_of", "graph_coefficients", "term_graph", "unbounded"]

EXPECTED = "expected_weight"  # the pm.Data of a centred graph
_ROWS = 200_000  # of a frame at a time
_MOST = 2_000_000  # masses of a graph
_KEPT = 30_000_000  # weights that are held rather than made for every draw


def unbounded(synthesizer: Synthesizer) -> Synthesizer:
    """The same model whose distribution is that of its likelihood, where draws are truncated to public bounds and that is not."""
    make = getattr(synthesizer, "unbounded", None)
    made: Synthesizer = make() if callable(make) else synthesizer
    return made


def designs_of(synthesizer: Synthesizer, frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Which records have the same predictors, numbered (n,), and a record of each."""
    which = cells((frame[name] for name in columns_seen(synthesizer, frame)), np.zeros(len(frame), dtype=np.int64))
    return which, np.unique(which, return_index=True)[1]


def columns_seen(synthesizer: Synthesizer, frame: pd.DataFrame) -> list[str]:
    """Those that a synthesizer may look at: of its formula and named in its settings, or all where it has no formula."""
    formula, columns = getattr(synthesizer, "formula", None), [str(name) for name in frame.columns if name != synthesizer.target]
    if not isinstance(formula, str):
        return columns
    settings = [value for value in getattr(synthesizer, "__dict__", {}).values() if isinstance(value, str | tuple)]
    named = {*split_formula(formula).names, *(name for value in settings for name in ([value] if isinstance(value, str) else value))}
    return [name for name in columns if name in named]


@dataclass(frozen=True, eq=False)
class CentredTerm:
    """What centring takes off for each record, as a function of a posterior draw. Confidential."""

    synthesizer: Synthesizer
    prepared: Any = field(repr=False)
    confidential: pd.DataFrame = field(repr=False)
    centring: Centring = field(repr=False)

    @cached_property
    def designs(self) -> tuple[np.ndarray, np.ndarray]:
        """See `designs_of`."""
        return designs_of(self.synthesizer, self.confidential)

    @cached_property
    def _parts(self) -> list[tuple[Any, np.ndarray, np.ndarray]]:
        """Prepared rows, each design once for every interval, and the ends, some designs at a time."""
        intervals, (_, first) = self.centring.intervals, self.designs
        step, parts = max(1, _ROWS // len(intervals.lower)), []
        for begin in range(0, len(first), step):
            some = first[begin : begin + step]
            ends = (fixed(np.tile(end, len(some))) for end in (intervals.lower, intervals.upper))
            parts.append((self._rows(some), *ends))
        return parts

    def _rows(self, records: np.ndarray) -> Any:
        frame = self.confidential.iloc[np.repeat(records, len(self.centring.intervals.lower))].reset_index(drop=True)
        return self.prepared.at(frame.drop(columns=self.synthesizer.target))

    def masses(self, theta: Draw) -> np.ndarray:
        """P(interval) of every design, (m, G)."""
        model = unbounded(self.synthesizer)
        each = [np.asarray(model.distribution(theta, prepared).mass(lower, upper)) for prepared, lower, upper in self._parts]
        masses = np.concatenate(each).reshape(-1, len(self.centring.intervals.lower))
        return np.asarray(masses - masses @ self._also)

    @cached_property
    def _also(self) -> np.ndarray:
        """Which single values, each a kind of its own, lie in which interval of another kind too, (G, G)."""
        lower, upper, kind = self.centring.intervals
        single = (lower == upper) & (np.bincount(kind)[kind] == 1)
        inside = (lower <= lower[:, None]) & (upper[:, None] <= upper) & (kind[:, None] != kind) & single[:, None] & ~single
        return np.asarray(inside.astype(float))

    @cached_property
    def _weights(self) -> np.ndarray | None:
        """Of all records, where there is room."""
        centring = self.centring
        return centring.weights(np.arange(centring.n)) if centring.n * len(centring.intervals.lower) <= _KEPT else None

    def each(self, theta: Draw) -> tuple[np.ndarray, np.ndarray]:
        """What is taken off for every record, and the log probability of its kind of value, (n,) each."""
        centring, which, masses = self.centring, self.designs[0], self.masses(theta)
        kind = centring.intervals.kind
        shares = np.stack([masses[:, kind == place].sum(axis=1) for place in range(int(kind.max()) + 1)], axis=1)
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
        """What each record adds to the log posterior, (n,): alpha (n,), survey weights within, times log densities (n,), less that."""
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
    from pytensor.tensor import TensorVariable

    name, (_, first), intervals = type(term.synthesizer).__name__, term.designs, term.centring.intervals
    if term.centring.kinds is not None:
        raise ContractError(f"{name} tells kinds of value first and has no centred density: it takes uncentred weights alone")
    if len(first) * len(intervals.lower) > _MOST:
        raise ContractError(
            f"{name} has too many different predictors ({len(first)}) to be centred in its graph: it takes uncentred weights alone"
        )
    theta: Any = {str(variable.name): variable for variable in (*blueprint.model.free_RVs, *blueprint.model.deterministics)}
    lower, upper = (np.tile(end, len(first)) for end in (intervals.lower, intervals.upper))
    try:
        mass = unbounded(term.synthesizer).distribution(theta, term._rows(first)).mass(lower, upper)
    except Exception:  # whatever NumPy, SciPy or a stranger's code says to an expression
        mass = None
    if not isinstance(mass, TensorVariable):
        raise ContractError(
            f"{name} cannot be centred: mass() of its distribution gives no expression of PyTensor; it takes uncentred weights alone"
        )
    with blueprint.model:
        data = pm.Data(EXPECTED, np.zeros(len(lower)))
    return (data * mass).sum()
