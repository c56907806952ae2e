"""One pack as attacks see it: with the values of its records used, or as it would be without each of them."""

from typing import NamedTuple

import numpy as np

from riskweighted.disclosure.attacks import guesses
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.shuffle import shuffled_rows

__all__ = ["Side", "copies_near", "exchanged", "rows_of", "side_of"]


class Side(NamedTuple):
    """What a pack of L copies tells of n records.

    ``named`` (attacks, n): which attack names whom; ``near`` (n,): how many of a row's copies lie within reach of the true value; ``same``
    (n,): whether the true value itself is among them; ``mode`` (V, n): of each row's pattern; ``held`` (L, n): how many boxes of the
    pattern's copies hold each copy.
    """

    named: np.ndarray
    near: np.ndarray
    same: np.ndarray
    mode: np.ndarray
    held: np.ndarray

    @property
    def copies(self) -> int:
        """L."""
        return len(self.held)


def side_of(coding: Coding, values: np.ndarray, patterns: np.ndarray) -> Side:
    """Of copies (V, n, L) in released patterns (n,)."""
    near, same = copies_near(coding, values)
    made, held = guesses(coding, values, patterns)
    return Side(np.stack([coding.near(guess) for guess in made]), near, same, made[0], np.ascontiguousarray(held.T))


def copies_near(coding: Coding, values: np.ndarray, rows: np.ndarray | slice = slice(None)) -> tuple[np.ndarray, np.ndarray]:
    """How many of the copies (V, m, L) of some rows lie within reach of the true value, and whether it is one of them; (m,) each."""
    near = coding.near(values.transpose(0, 2, 1), rows).sum(axis=0)
    same = (values == coding.truth[:, rows, None]).all(axis=0).any(axis=1)
    return near, same


def exchanged(values: np.ndarray, patterns: np.ndarray, rng: np.random.Generator, units: np.ndarray | None = None) -> np.ndarray:
    """Copies (V, n, L) whose rows are shuffled within released patterns, anew for each of the L datasets."""
    made = np.empty_like(values)
    for copy in range(values.shape[2]):
        made[:, :, copy] = values[:, shuffled_rows(patterns, rng, units), copy]
    return made


def rows_of(side: Side, rows: np.ndarray) -> Side:
    """What it tells of some records."""
    return Side(*(part[..., rows] for part in side))
