"""One rule that was found, and what counts as one: enough records that could have broken it, and
too few that did for chance (METHODS section 16)."""

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

__all__ = [
    "CHANCE",
    "LEAST",
    "Declared",
    "RuleFinding",
    "few_enough",
    "is_surprising",
    "log_chance",
    "log_chance_of_order",
]

LEAST = 30  # records that could have broken a rule
# of one rule or more among all that are looked at, had the columns nothing to do with each other
CHANCE = 1e-3
# of the records that could have broken it, from which a rule is none; one is always named
_EXCEPTIONS = 1 / 200

Declared = tuple[Literal["implied", "order", "sums"], tuple[str, ...]]


@dataclass(frozen=True)
class RuleFinding:
    """A rule. Confidential: it may name levels and codes.

    ``kind``: "implies", "never", "order", "sum", "copy", "recode" or "bands"; ``columns``;
    ``text``; ``could``: records that could have broken it; ``exceptions``: those that do;
    ``declared``: what a chain that keeps it is told, nothing where it cannot be.
    """

    kind: str
    columns: tuple[str, ...]
    text: str
    could: int
    exceptions: int
    declared: tuple[Declared, ...] = field(default=(), repr=False)


def few_enough(exceptions: np.ndarray, could: np.ndarray) -> np.ndarray:
    """Whether so many could have broken a rule, and so few did, that it is named; a rule that is
    kept has none.
    """
    return np.asarray((could >= LEAST) & (exceptions <= np.maximum(1, could * _EXCEPTIONS)))


def log_chance(exceptions: np.ndarray, trials: np.ndarray, share: np.ndarray) -> np.ndarray:
    """An upper limit of the log probability that at most so many of the trials break a rule by
    chance, each with this probability.

    That of Chernoff for the binomial, which the hypergeometric keeps too (Hoeffding 1963, section
    6).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = exceptions / np.maximum(trials, 1)
        kept = np.where(rate < 1, (1 - rate) * np.log((1 - rate) / (1 - share)), 0.0)
        broken = np.where(rate > 0, rate * np.log(rate / share), 0.0)
    limit = np.where(rate < share, -trials * (kept + broken), 0.0)
    return np.asarray(np.where(np.isnan(limit), 0.0, limit))


def log_chance_of_order(low: np.ndarray, high: np.ndarray) -> float:
    """The log probability that low <= high in every one of m records, had the values of `high` (m,)
    been dealt at random; exact.

    The largest low value takes one of the high values that are not below it, the next one of those
    that are left, and so on.
    """
    ordered = np.sort(high)
    room = (
        len(high) - np.searchsorted(ordered, np.sort(low)[::-1], side="left") - np.arange(len(low))
    )
    if (room <= 0).any():
        return -math.inf
    return float(np.log(room / (len(low) - np.arange(len(low)))).sum())


def is_surprising(log_probability: np.ndarray | float, looked_at: int) -> np.ndarray:
    """Whether chance gives as much in less than `CHANCE` of all that are looked at together
    (Bonferroni).
    """
    return np.asarray(np.asarray(log_probability) <= math.log(CHANCE / max(looked_at, 1)))
