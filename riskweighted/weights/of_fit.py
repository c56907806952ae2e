"""Weights that a fit makes of values: how much a record with a value would say under it (METHODS
sections 9.2 and 15).

They are made of the length of the score of all parameters in the units of the posterior,
abs(H^(-1/2) d log p(y | x, theta)) at the mode, H being minus the second derivatives of the log
posterior there (Hampel 1974; Krasker and Welsch 1982).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.contract.categories import codes_in
from riskweighted.contract.distribution import log_densities
from riskweighted.contract.synthesizer import Layout
from riskweighted.intruder.world import World
from riskweighted.sampling.block_fit import BlockFit, at_mode
from riskweighted.sampling.laplace import curvature_at, root_of_inverse
from riskweighted.sampling.masses import designs_of
from riskweighted.sequence.fit import Fit

__all__ = ["FitWeights", "block_of", "scores"]

_STEP = 1e-5  # of a parameter, in the coordinates in which a mode is searched
_ROWS = 200_000
_Mode: TypeAlias = tuple[Layout, np.ndarray, np.ndarray]
_MODES: WeakKeyDictionary[BlockFit, _Mode] = WeakKeyDictionary()  # of fits that are still there
Terms = Callable[[Any], np.ndarray]  # from parameters to log densities


def block_of(fit: Fit, variable: str, scheme: str) -> BlockFit:
    """The one block of a variable; InputError where it has several."""
    blocks = [fit.blocks[block.name] for block in fit.prepared.blocks if block.variable == variable]
    if len(blocks) > 1 or not blocks[0].estimates:
        raise InputError(
            f"scheme {scheme!r} is made of the fit of one model, and {variable!r} has "
            f"{len(blocks)}: valid are schemes of risk"
        )
    return blocks[0]


def scores(block: BlockFit, terms: Terms) -> np.ndarray:
    """The length of the score of each of some values, (m,), by differences of their log densities
    about the mode of the fit.

    Infinite where it is no number, as of a value that the model cannot take.
    """
    layout, mode, root = _mode_of(block)
    changes = list[np.ndarray]()
    for place in range(layout.size):
        step = np.zeros(layout.size)
        step[place] = _STEP
        high, low = (terms(_theta(layout, mode + sign * step)) for sign in (1.0, -1.0))
        changes.append((high - low) / (2 * _STEP))
    lengths = np.sqrt(((root.T @ np.array(changes)) ** 2).sum(axis=0))
    return np.where(np.isfinite(lengths), lengths, np.inf)


def _mode_of(block: BlockFit) -> _Mode:
    """The mode of the fit's pseudo posterior, and a root of the inverse of its curvature; searched
    once a fit, of which many ask.
    """
    if block not in _MODES:
        _MODES[block] = _searched(block)
    return _MODES[block]


def _searched(block: BlockFit) -> _Mode:
    found = at_mode(block)
    if found is None:
        raise InputError(
            f"scores need a density of one vector, which {type(block.synthesizer).__name__} has "
            "not; valid is another scheme"
        )
    layout, density, mode = found
    return layout, mode, root_of_inverse(curvature_at(density, mode))


def _theta(layout: Layout, vector: np.ndarray) -> dict[str, np.ndarray]:
    return {name: values[0] for name, values in layout.parameters(vector[None]).items()}


@dataclass(frozen=True, eq=False)
class FitWeights:
    """Weights of one variable's records as functions of their own values, by the length of a
    value's score under a fit. Confidential.

    ``shape``: from lengths and marginal risks, both (R, G), to weights; ``risk``: what gives these
    risks, where the shape reads them; ``label``: see `OwnFunction`.
    """

    world: World = field(repr=False)
    block: BlockFit = field(repr=False)
    shape: Callable[[np.ndarray, Any], np.ndarray]
    label: str
    risk: Callable[[np.ndarray, pd.Series], np.ndarray] | None = None
    found: dict[bytes, np.ndarray] = field(default_factory=dict, repr=False)

    @property
    def pattern(self) -> np.ndarray:
        """The known pattern of each record, (n,)."""
        return self.world.patterns.codes

    @cached_property
    def _designs(self) -> tuple[np.ndarray, np.ndarray]:
        return designs_of(self.block.synthesizer, self.block.confidential)

    def at(self, records: np.ndarray, values: pd.Series) -> np.ndarray:
        """a_i(y) of some records (R,) at values of the variable (G,), (R, G)."""
        levels = self.block.categories
        y = (
            values.to_numpy(dtype=float)
            if levels is None
            else codes_in(values, levels).astype(float)
        )
        lengths = self._lengths(y)[self._designs[0][records]]
        if self.block.survey is not None:
            lengths = lengths * self.block.survey.to_numpy()[records, None]
        return self.shape(lengths, 0.0 if self.risk is None else self.risk(records, values))

    def _lengths(self, y: np.ndarray) -> np.ndarray:
        """Of every design and value, (m, G), found once."""
        key = y.tobytes()
        if key not in self.found:
            first, block = self._designs[1], self.block
            step, parts = max(1, _ROWS // len(y)), []
            for begin in range(0, len(first), step):
                some = first[begin : begin + step]
                frame = block.confidential.iloc[np.repeat(some, len(y))].reset_index(drop=True)
                prepared = block.prepared.at(frame.drop(columns=block.synthesizer.target))
                parts.append(
                    scores(block, log_densities(block.synthesizer, prepared, np.tile(y, len(some))))
                )
            self.found.clear()  # the values of one model, asked again and again
            self.found[key] = np.concatenate(parts).reshape(-1, len(y))
        return self.found[key]
