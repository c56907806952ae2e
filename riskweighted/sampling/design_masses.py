"""Masses of the same intervals in every design of a model: by its distribution in numbers, and in
its graph.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.contract.distribution import read_only
from riskweighted.contract.synthesizer import Blueprint, ContractError, Draw, Synthesizer, Tensor
from riskweighted.design.formulas import split_formula
from riskweighted.intruder.patterns import cells

__all__ = ["DesignMasses", "columns_seen", "designs_of", "untruncated"]

_ROWS = 200_000  # of a frame at a time
_MOST = 2_000_000  # masses of a graph


def untruncated(synthesizer: Synthesizer) -> Synthesizer:
    """The same model whose distribution is that of its likelihood, where draws are truncated to
    public bounds and that is not.
    """
    make = getattr(synthesizer, "unbounded", None)
    made: Synthesizer = make() if callable(make) else synthesizer
    return made


def designs_of(synthesizer: Synthesizer, frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Which records have the same predictors, numbered (n,), and a record of each."""
    which = cells(
        (frame[name] for name in columns_seen(synthesizer, frame)),
        np.zeros(len(frame), dtype=np.int64),
    )
    return which, np.unique(which, return_index=True)[1]


def columns_seen(synthesizer: Synthesizer, frame: pd.DataFrame) -> list[str]:
    """Those that a synthesizer may look at: of its formula and named in its settings, or all where
    it has no formula.
    """
    formula = getattr(synthesizer, "formula", None)
    columns = [str(name) for name in frame.columns if name != synthesizer.target]
    if not isinstance(formula, str):
        return columns
    settings = [
        value
        for value in getattr(synthesizer, "__dict__", {}).values()
        if isinstance(value, str | tuple)
    ]
    named = {
        *split_formula(formula).names,
        *(name for value in settings for name in ([value] if isinstance(value, str) else value)),
    }
    return [name for name in columns if name in named]


@dataclass(frozen=True, eq=False)
class DesignMasses:
    """P(lower_g <= Y <= upper_g | x, theta) of intervals (G,) in every different design, without
    public bounds. Confidential.
    """

    synthesizer: Synthesizer
    prepared: Any = field(repr=False)
    confidential: pd.DataFrame = field(repr=False)
    lower: np.ndarray = field(repr=False)
    upper: np.ndarray = field(repr=False)

    @cached_property
    def designs(self) -> tuple[np.ndarray, np.ndarray]:
        """See `designs_of`."""
        return designs_of(self.synthesizer, self.confidential)

    @cached_property
    def _once_each(self) -> Any:
        """Prepared rows, a record of each design."""
        return self._rows(self.designs[1])

    @cached_property
    def _parts(self) -> list[tuple[Any, np.ndarray, np.ndarray]]:
        """Prepared rows, each design once for every interval, and the ends, some designs at a
        time.
        """
        _, first = self.designs
        step, parts = max(1, _ROWS // len(self.lower)), []
        for begin in range(0, len(first), step):
            some = first[begin : begin + step]
            ends = (read_only(np.tile(end, len(some))) for end in (self.lower, self.upper))
            parts.append((self._rows(np.repeat(some, len(self.lower))), *ends))
        return parts

    def _rows(self, records: np.ndarray) -> Any:
        frame = self.confidential.iloc[records].reset_index(drop=True)
        return self.prepared.at(frame.drop(columns=self.synthesizer.target))

    def at(self, theta: Draw) -> np.ndarray:
        """Given one draw, (m, G)."""
        model = untruncated(self.synthesizer)
        of_all = getattr(model.distribution(theta, self._once_each), "masses_of", None)
        if callable(of_all):
            return np.asarray(of_all(self.lower, self.upper))
        each = [
            np.asarray(model.distribution(theta, prepared).mass(lower, upper))
            for prepared, lower, upper in self._parts
        ]
        return np.concatenate(each).reshape(-1, len(self.lower))

    def graph(self, blueprint: Blueprint, what: str, instead: str) -> Tensor:
        """The same in a model's graph, laid end to end (m G,).

        ContractError where it has none, which says that the synthesizer cannot be `what`, and what
        it takes `instead`.
        """
        from pytensor.tensor import TensorVariable

        name, (_, first) = type(self.synthesizer).__name__, self.designs
        if len(first) * len(self.lower) > _MOST:
            many = f"too many different predictors ({len(first)})"
            raise ContractError(
                f"{name} has {many} to be {what} in its graph: it takes {instead} alone"
            )
        theta: Any = {
            str(variable.name): variable
            for variable in (*blueprint.model.free_RVs, *blueprint.model.deterministics)
        }
        lower, upper = (np.tile(end, len(first)) for end in (self.lower, self.upper))
        try:
            mass = (
                untruncated(self.synthesizer)
                .distribution(theta, self._rows(np.repeat(first, len(self.lower))))
                .mass(lower, upper)
            )
        except Exception:  # whatever NumPy, SciPy or a stranger's code says to an expression
            mass = None
        if not isinstance(mass, TensorVariable):
            raise ContractError(
                f"{name} cannot be {what}: mass() of its distribution gives no expression of "
                f"PyTensor; it takes {instead} alone"
            )
        return mass
