"""Taxicab, euclidean and ad hoc scores: what a pair costs, which pairs pass, and the whole ranks
that stay (the primer, section 2.2).
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.checks import is_number
from riskweighted.common.errors import InputError, RiskWeightedWarning
from riskweighted.reidentification.files import LinkedFiles, quintile_codes, standardize
from riskweighted.reidentification.nearest import EQUAL, LOGISTIC, Costs, nearest
from riskweighted.reidentification.scores import HIGHEST, Score, adhoc_costs

__all__ = ["DistanceMetric", "RankedPairs", "adhoc", "euclidean", "ranked_pairs", "taxicab"]

_DIGITS = 12  # scores that agree to so many digits are ties


@dataclass(frozen=True)
class DistanceMetric:
    """A scored comparison of both files: linking variables (n, v), (m, v) as the metric wants them,
    NaN where missing, and what they cost.

    ``score`` gives the score that the primer defines from the cost of a pair, which passes where it
    is strictly better than ``threshold``; the limit of ``costs`` is the threshold on the scale of
    costs.
    """

    puf: np.ndarray = field(repr=False)
    eif: np.ndarray = field(repr=False)
    costs: Costs
    score: Callable[[np.ndarray], np.ndarray]
    threshold: float
    low_is_better: bool = True

    def passes(self, rounded: np.ndarray) -> np.ndarray:
        """Whether rounded scores are strictly better than the threshold."""
        limit = np.round(self.threshold, _DIGITS)
        return np.asarray(rounded < limit if self.low_is_better else rounded > limit)


class RankedPairs(NamedTuple):
    """Suspected pairs as rows of both files, by PUF row and rank; ``crowded``: PUF records whose
    best rank held over five pairs.
    """

    puf: np.ndarray
    eif: np.ndarray
    score: np.ndarray
    rank: np.ndarray
    crowded: int


def taxicab(files: LinkedFiles, alpha: float = 0.5) -> DistanceMetric:
    """Mean over variables of 0 (same quintile or category), 1 (another) or alpha (missing); passes
    below alpha / 2 (primer, 2.2.1).
    """
    puf, eif = quintile_codes(files)
    v = puf.shape[1]
    costs = Costs(np.full(v, EQUAL), missing=_check_alpha(alpha), limit=alpha * v / 2)
    return DistanceMetric(puf, eif, costs, lambda cost: cost / v, alpha / 2)


def euclidean(
    files: LinkedFiles, alpha: float = 0.5, normalization: Literal["primer", "rms"] = "primer"
) -> DistanceMetric:
    """Root of the sum of squared scores over v ("primer") or of their mean ("rms") (the primer,
    section 2.2.2; METHODS section 10).

    As printed, the greatest possible score is 1/sqrt(v): the threshold alpha / 2 is vacuous from v
    = 4 / alpha^2 on, more than 16 variables at alpha = 0.5, and a warning says so. "rms" has the
    threshold that follows from the definition, alpha / sqrt(2).
    """
    if normalization not in ("primer", "rms"):
        raise InputError(f"normalization must be 'primer' or 'rms', got {normalization!r}")
    puf, eif = standardize(files)
    v = puf.shape[1]
    kinds = np.array([LOGISTIC if kind == "numeric" else EQUAL for kind in files.kinds.values()])
    if normalization == "rms":
        costs = Costs(kinds, missing=_check_alpha(alpha) ** 2, limit=v * alpha**2 / 2)
        return DistanceMetric(puf, eif, costs, lambda cost: np.sqrt(cost / v), alpha / np.sqrt(2))
    costs = Costs(kinds, missing=_check_alpha(alpha) ** 2, limit=(v * alpha / 2) ** 2)
    if costs.limit > v:
        warnings.warn(
            f"the printed euclidean threshold lets every pair through with {v} linking variables "
            "(its scores end at 1/sqrt(v)); "
            "normalization='rms' has a threshold that follows from its definition",
            RiskWeightedWarning,
            stacklevel=3,
        )
    return DistanceMetric(puf, eif, costs, lambda cost: np.sqrt(cost) / v, alpha / 2)


def adhoc(files: LinkedFiles, scores: Mapping[str, Score]) -> DistanceMetric:
    """Sum of the sponsor's scores, 0 to 5 a variable and 0 where missing; passes above 5 v / 2
    (Census Bureau primer, section 2.2.3).
    """
    puf, eif, costs = adhoc_costs(files, scores)
    v = puf.shape[1]
    return DistanceMetric(
        puf, eif, costs, lambda cost: HIGHEST * v - cost, HIGHEST * v / 2, low_is_better=False
    )


def _check_alpha(alpha: float) -> float:
    if not (is_number(alpha) and 0 < alpha <= 1):
        raise InputError(f"alpha, the score of a missing value, must lie in (0, 1], got {alpha!r}")
    return float(alpha)


def _profiles(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct rows (k, v), which of them each row is (n,), rows of each (k,). A missing value
    equals a missing one.
    """
    order = np.lexsort(values.T[::-1])
    ordered = values[order]
    differs = (ordered[1:] != ordered[:-1]) & ~(np.isnan(ordered[1:]) & np.isnan(ordered[:-1]))
    new = np.concatenate([[True], differs.any(axis=1)])
    which = np.empty(len(values), dtype=np.int64)
    which[order] = np.cumsum(new) - 1
    return ordered[new], which, np.bincount(which)


def ranked_pairs(
    metric: DistanceMetric,
    puf_rows: np.ndarray,
    eif_rows: np.ndarray,
    progress: Callable[[int, int], None] | None = None,
) -> RankedPairs:
    """Pairs of some rows of both files that pass, in whole ranks with at most five pairs together
    (METHODS section 10).

    Ranks are those of distinct scores per PUF record, best first; scores equal to 12 digits are
    ties.
    """
    puf_profiles, puf_which, _ = _profiles(metric.puf[puf_rows])
    eif_profiles, eif_which, sizes = _profiles(metric.eif[eif_rows])
    candidates = nearest(puf_profiles, eif_profiles, sizes, metric.costs, progress)
    present = candidates.partner >= 0
    rounded = np.round(metric.score(np.where(present, candidates.cost, 0.0)), _DIGITS)
    passes = present & metric.passes(rounded)
    better_than_sixth = ~passes[:, -1:] | (np.abs(rounded - rounded[:, -1:]) > 0)
    kept = passes & better_than_sixth
    changes = np.ones(rounded.shape, dtype=np.int64)
    changes[:, 1:] = rounded[:, 1:] != rounded[:, :-1]
    ranks = np.cumsum(changes, axis=1)
    crowded = np.bincount(puf_which, minlength=len(kept)) @ (passes[:, 0] & ~kept[:, 0])

    # a profile stands once per record: keep its first place and put its records there
    first = kept.copy()
    first[:, 1:] &= candidates.partner[:, 1:] != candidates.partner[:, :-1]
    profile, at = np.nonzero(first)
    partner = candidates.partner[profile, at]
    of_profiles = pd.DataFrame(
        {
            "puf_profile": profile,
            "eif_profile": partner,
            "score": rounded[profile, at],
            "rank": ranks[profile, at],
        }
    )
    with_puf = of_profiles.merge(pd.DataFrame({"puf_profile": puf_which, "puf": puf_rows}))
    pairs = with_puf.merge(pd.DataFrame({"eif_profile": eif_which, "eif": eif_rows})).sort_values(
        ["puf", "rank", "eif"]
    )
    puf, eif, score, rank = (pairs[name].to_numpy() for name in ("puf", "eif", "score", "rank"))
    return RankedPairs(puf, eif, score, rank, int(crowded))
