"""Weights that a fit makes of values: how much a record with a value would say under it (METHODS
sections 9.2 and 15).

They are made of the length of the score of all parameters in the units of the posterior,
abs(H^(-1/2) d log p(y | x, theta)) at the mode, H being minus the second derivatives of the log
posterior there (Hampel 1974; Krasker and Welsch 1982).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.units import Arrangement
from riskweighted.contract.categories import codes_in
from riskweighted.contract.distribution import log_densities
from riskweighted.contract.synthesizer import Layout
from riskweighted.intruder.world import World
from riskweighted.sampling.block_fit import BlockFit, find_block_mode
from riskweighted.sampling.design_masses import designs_of
from riskweighted.sampling.laplace import curvature_at, root_of_inverse
from riskweighted.sequence.fit import Fit

__all__ = ["FitWeights", "Scored", "find_scored", "score_vectors", "sums_before", "weights_within"]

_STEP = 1e-5  # of a parameter, in the coordinates in which a mode is searched
_ROWS = 200_000
_ROUNDING = 1e-9
_TINY = float(np.finfo(float).tiny)
_Mode: TypeAlias = tuple[Layout, np.ndarray, np.ndarray]
_MODES: WeakKeyDictionary[BlockFit, _Mode] = WeakKeyDictionary()  # of fits that are still there
Terms = Callable[[Any], np.ndarray]  # from parameters to log densities


class Scored(NamedTuple):
    """A block of a variable's values, the records (m,) that it is of, and its parameters' places
    among those of all blocks.
    """

    block: BlockFit
    records: np.ndarray
    places: slice


def find_scored(fit: Fit, variable: str, scheme: str) -> tuple[tuple[Scored, ...], np.ndarray]:
    """The blocks of a variable, of which it has several where parts of units have one each, and the
    score of each record in units of the posterior (n, d), 0 for the parameters of other blocks;
    InputError where statuses have blocks besides.
    """
    blocks = [block for block in fit.prepared.blocks if block.variable == variable]
    if any(block.status is not None or not fit.blocks[block.name].estimates for block in blocks):
        raise InputError(
            f"scheme {scheme!r} is made of the fit of one model, and {variable!r} has "
            f"{len(blocks)}: valid are schemes of risk"
        )
    made, scores, begin = list[Scored](), list[np.ndarray](), 0
    for block in blocks:
        fitted = fit.blocks[block.name]
        scores.append(score_vectors(fitted, fitted.terms))
        places = slice(begin, begin := begin + scores[-1].shape[1])
        records = np.flatnonzero(block.member) if len(blocks) > 1 else np.arange(len(scores[-1]))
        made.append(Scored(fitted, records, places))
    vectors = np.zeros((sum(map(len, scores)), begin))
    for part, of_block in zip(made, scores, strict=True):
        vectors[part.records, part.places] = of_block
    return tuple(made), vectors


def score_vectors(block: BlockFit, terms: Terms, survey: np.ndarray | None = None) -> np.ndarray:
    """The score of each of some values in units of the posterior, times its survey weight, (m, d):
    by differences of their log densities about the mode of the fit.

    `survey`: weights of the values, (m,), where they are not the records' own. Infinite where it is
    no number, as of a value that the model cannot take.
    """
    layout, mode, root = _mode_of(block)
    changes = list[np.ndarray]()
    for place in range(layout.size):
        step = np.zeros(layout.size)
        step[place] = _STEP
        high, low = (terms(_theta(layout, mode + sign * step)) for sign in (1.0, -1.0))
        changes.append((high - low) / (2 * _STEP))
    vectors = np.array(changes).T @ root
    if survey is None and block.survey is not None:
        survey = block.survey.to_numpy()
    vectors = vectors if survey is None else vectors * survey[:, None]
    return np.where(np.isfinite(vectors).all(axis=1, keepdims=True), vectors, np.inf)


def weights_within(
    limit: np.ndarray, vectors: np.ndarray, of: Arrangement | None = None
) -> np.ndarray:
    """The largest weights (n,) in [0, 1] with which scores (n, d) are as long as limits (n,) allow.

    `of`: how the records are arranged in units; then the sum of the weighted scores of a unit's
    members up to each is that short, so that a weight is a function of its own and of earlier
    values (Krasker and Welsch 1982, member by member).
    """
    if of is None:
        return _largest(limit, vectors, np.zeros(vectors.shape[1]))
    alpha = np.empty(len(limit))
    for rows, before in _before(vectors, alpha, of):
        alpha[rows] = _largest(limit[rows], vectors[rows], before)
    return alpha


def sums_before(alpha: np.ndarray, vectors: np.ndarray, of: Arrangement) -> np.ndarray:
    """The sum of the weighted scores (n, d) of the members before each record, (n, d)."""
    sums = np.zeros(vectors.shape)
    for rows, before in _before(vectors, alpha, of):
        sums[rows] = before
    return sums


def _before(
    vectors: np.ndarray, alpha: np.ndarray, of: Arrangement
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The records at each position and the sums of the weighted scores of the members before them,
    whose weights (n,) are there by then.
    """
    total = np.zeros((len(of.sizes), vectors.shape[1]))
    for rows in of.by_position:
        yield rows, total[of.unit[rows]]
        with np.errstate(invalid="ignore"):
            weighted = np.where(alpha[rows, None] > 0, alpha[rows, None] * vectors[rows], 0.0)
        total[of.unit[rows]] += weighted


def _largest(limit: np.ndarray, vectors: np.ndarray, before: np.ndarray) -> np.ndarray:
    """The largest weight in [0, 1] with which before + weight * vector is no longer than the limit,
    of arrays (..., d) and (...); 0 where none is.
    """
    with np.errstate(invalid="ignore"):
        square = (vectors**2).sum(axis=-1)
        along = (vectors * before).sum(axis=-1)
        room = limit**2 - (before**2).sum(axis=-1)
        root = np.sqrt(np.maximum(along**2 + square * room, 0.0))
        # the same number in two forms, of which one has its digits
        weight = np.where(
            along > 0, room / np.maximum(along + root, _TINY), (root - along) / square
        )
    weight = np.where(square == 0, 1.0, np.where(np.isfinite(square), weight, 0.0))
    reached = room < -_ROUNDING * limit**2  # the members before are longer than this limit
    return np.where(reached, 0.0, np.clip(np.nan_to_num(weight), 0.0, 1.0))


def _mode_of(block: BlockFit) -> _Mode:
    """The mode of the fit's pseudo posterior, and a root of the inverse of its curvature; searched
    once a fit, of which many ask.
    """
    if block not in _MODES:
        _MODES[block] = _searched(block)
    return _MODES[block]


def _searched(block: BlockFit) -> _Mode:
    found = find_block_mode(block)
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

    ``parts``: the blocks of the variable; ``limit``: from marginal risks (R, G) to how long scores
    may be; ``risk``: what gives these risks, where the limit reads them; ``label``: see
    `OwnFunction`; ``before`` (n, d): of units the sum of the weighted scores of the members before
    each record.
    """

    world: World = field(repr=False)
    parts: tuple[Scored, ...] = field(repr=False)
    limit: Callable[[np.ndarray], np.ndarray]
    label: str
    risk: Callable[[np.ndarray, pd.Series], np.ndarray] | None = None
    before: np.ndarray | None = field(default=None, repr=False)
    found: dict[bytes, np.ndarray] = field(default_factory=dict, repr=False)

    @property
    def pattern(self) -> np.ndarray:
        """The known pattern of each record, (n,)."""
        return self.world.patterns.codes

    @cached_property
    def _designs(self) -> tuple[np.ndarray, np.ndarray]:
        (part,) = self.parts
        return designs_of(part.block.synthesizer, part.block.confidential)

    def at(self, records: np.ndarray, values: pd.Series) -> np.ndarray:
        """a_i(y) of some records (R,) at values of the variable (G,), (R, G)."""
        levels = self.parts[0].block.categories
        y = (
            values.to_numpy(dtype=float)
            if levels is None
            else codes_in(values, levels).astype(float)
        )
        shape = len(records), len(y)
        limit = self.limit(np.zeros(shape) if self.risk is None else self.risk(records, values))
        if self.before is None:
            lengths = self._lengths(y)[self._designs[0][records]]
            lengths = lengths * _survey_of(self.parts[0].block, records)[:, None]
            return np.asarray(np.minimum(1.0, limit / np.maximum(lengths, _TINY)))
        step, made = max(1, _ROWS // len(y)), np.empty(shape)
        for block, of, places in self.parts:
            asked = np.flatnonzero(np.isin(records, of))
            for begin in range(0, len(asked), step):
                some = asked[begin : begin + step]
                within = np.searchsorted(of, records[some])
                vectors = np.zeros((len(some), len(y), self.before.shape[1]))
                vectors[:, :, places] = self._vectors(block, within, y)
                vectors *= _survey_of(block, within)[:, None, None]
                made[some] = _largest(limit[some], vectors, self.before[records[some], None])
        return made

    def _lengths(self, y: np.ndarray) -> np.ndarray:
        """Of every design and value, (m, G), found once."""
        key = y.tobytes()
        if key not in self.found:
            first, block = self._designs[1], self.parts[0].block
            step, parts = max(1, _ROWS // len(y)), []
            for begin in range(0, len(first), step):
                vectors = self._vectors(block, first[begin : begin + step], y)
                parts.append(np.sqrt((vectors**2).sum(axis=2)))
            self.found.clear()  # the values of one model, asked again and again
            self.found[key] = np.concatenate(parts)
        return self.found[key]

    @staticmethod
    def _vectors(block: BlockFit, records: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The scores of some records of a block at values, without survey weights, (R, G, d)."""
        frame = block.confidential.iloc[np.repeat(records, len(y))].reset_index(drop=True)
        prepared = block.prepared.at(frame.drop(columns=block.synthesizer.target))
        terms = log_densities(block.synthesizer, prepared, np.tile(y, len(records)))
        vectors = score_vectors(block, terms, np.ones(len(frame)))
        return vectors.reshape(len(records), len(y), -1)


def _survey_of(block: BlockFit, records: np.ndarray) -> np.ndarray:
    """Survey weights of some records of a block, (m,); 1 without any."""
    return np.ones(len(records)) if block.survey is None else block.survey.to_numpy()[records]
