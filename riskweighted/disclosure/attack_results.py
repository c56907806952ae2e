"""One pack as attacks see it: with the values of its records used, or as it would be without each
of them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from riskweighted.disclosure.attacks import guesses
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.shuffle import Exchange

__all__ = ["AttackResult", "attack_result", "attack_result_by_folds", "copies_near", "permute_rows"]


class AttackResult(NamedTuple):
    """What a pack of L copies tells of n records.

    ``named`` (attacks, n): which attack names whom; ``near`` (n,): how many of a row's copies lie
    within reach of the true value; ``same`` (n,): whether the true value itself is among them;
    ``held`` (L, n): how many boxes of the pattern's copies hold each copy.
    """

    named: np.ndarray
    near: np.ndarray
    same: np.ndarray
    held: np.ndarray

    @property
    def copies(self) -> int:
        """L."""
        return len(self.held)


def attack_result(
    coding: Coding, values: np.ndarray, patterns: np.ndarray, asked: np.ndarray | None = None
) -> AttackResult:
    """Of copies (V, n, L) in released patterns (n,); where `asked` (n,) is given and false nothing
    is guessed.
    """
    near, same = copies_near(coding, values)
    made, held = guesses(coding, values, patterns, asked)
    return AttackResult(
        np.stack([coding.near(guess) for guess in made]), near, same, np.ascontiguousarray(held.T)
    )


def copies_near(coding: Coding, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many of the copies (V, n, L) lie within reach of the true value, and whether it is one of
    them; (n,) each.
    """
    near = coding.near(values.transpose(0, 2, 1)).sum(axis=0)
    same = (values == coding.truth[:, :, None]).all(axis=0).any(axis=1)
    return near, same


def attack_result_by_folds(fold_of: np.ndarray, sides: Sequence[AttackResult]) -> AttackResult:
    """Of every record that which its own fold's release tells, and no other, by the records' folds
    (n,).
    """
    made = AttackResult(*(part.copy() for part in sides[0]))
    for number, side in enumerate(sides):
        rows = fold_of == number
        for whole, part in zip(made, side, strict=True):
            whole[..., rows] = part[..., rows]
    return made


def permute_rows(values: np.ndarray, exchange: Exchange, rng: np.random.Generator) -> np.ndarray:
    """Copies (V, n, L) whose rows are shuffled within released patterns, anew for each of the L
    datasets.
    """
    made = np.empty_like(values)
    for copy in range(values.shape[2]):
        made[:, :, copy] = values[:, exchange.rows(rng), copy]
    return made
