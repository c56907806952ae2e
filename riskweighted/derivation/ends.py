"""Levels of a few records that are exactly those of the largest, or smallest, amounts, in all or
within groups (METHODS section 13.3).
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import gammaln

from riskweighted.derivation.candidate_columns import Columns
from riskweighted.derivation.disclosure_findings import COARSENING, Amounts, DisclosureFinding

__all__ = ["findings_of_ends"]

_FEW = 20  # records of a level, in each group: of more, bands are looked for
# of the records: a level of more says on which side of a cut its amounts lie, and singles nobody
# out
_SHARE = 0.1
# of levels that know nothing of the amounts, corrected for the levels and groupings of a column
# that are looked at
_UNLIKELY = 0.005


def findings_of_ends(
    amounts: Amounts, columns: Columns, known: Sequence[str], told: set[str]
) -> Iterator[DisclosureFinding]:
    """Columns that single out the persons of the largest or smallest amounts, such as a flag of the
    three richest of all or of each region.

    The k records of a level are the k largest of a group of m by chance with probability 1 / (m
    choose k), the hypergeometric one; over groups, such as regions, these are multiplied. Looked at
    are all records; and of flags those of the known pattern, and of each column of few levels.
    `told`: columns that are refused by themselves.
    """
    everybody = np.zeros(len(amounts.y), dtype=np.int64)
    names = [
        frozenset[str](),
        frozenset(known).intersection(columns.codes),
        *(frozenset({name}) for name in columns.grouping),
    ]
    ranked = {
        group: _ranked(amounts.y, _joined(columns, group, everybody))
        for group in dict.fromkeys(names)
    }
    for name in columns.codes:
        if name in told:
            continue
        levels = _levels(columns, name)
        # many levels of a correlated column are in order within some groups
        flags = [each for each in levels if each.max() == 1]
        groupings = [group for group in ranked if name not in group]
        few = sum(int((np.bincount(each, minlength=2) < _FEW).sum()) for each in levels)
        tests = (
            2 * max(few, 1) * np.where([len(group) > 0 for group in groupings], len(groupings), 1)
        )
        for group, correction in zip(groupings, tests, strict=True):
            codes, *ends = ranked[group]
            likely = [
                (_likely(each, codes, end), which)
                for each in (flags if group else levels)
                for end, which in zip(ends, ("largest", "smallest"), strict=True)
            ]
            least, which = min(likely, default=(1.0, ""))
            if least * correction < _UNLIKELY:
                within = f" within {' and '.join(sorted(group))}" if group else ""
                yield DisclosureFinding(
                    (name,),
                    f"one of its levels is of the {which} amounts alone{within}",
                    COARSENING,
                    1.0,
                    0.0,
                )
                break


def _levels(columns: Columns, name: str) -> list[np.ndarray]:
    """Levels of a column (n,), where it has few, and its commonest value against all others, such
    as an entry that only a few have.
    """
    codes = columns.codes[name]
    commonest = (codes != np.bincount(codes).argmax()).astype(np.int64)
    return [
        *([codes] if name in columns.grouping else []),
        *([commonest] if codes.max() > 1 else []),
    ]


def _joined(columns: Columns, names: frozenset[str], codes: np.ndarray) -> np.ndarray:
    """Codes (n,) of the records that agree in some columns, from codes (n,) of all of them."""
    for name in names:
        codes = np.unique(codes * columns.counts[name] + columns.codes[name], return_inverse=True)[
            1
        ]
    return codes


def _ranked(y: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The groups (n,), and how many others of its group have at least, and at most, the amount of a
    record (n,).
    """
    ends = []
    for values in (-y, y):
        order = np.lexsort((values, codes))
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        last = np.append(
            np.flatnonzero((np.diff(codes[order]) != 0) | (np.diff(values[order]) != 0)), len(y) - 1
        )
        place = (
            last[np.searchsorted(last, np.arange(len(y)))]
            - starts[np.searchsorted(starts, np.arange(len(y)), "right") - 1]
        )
        ranks = np.empty(len(y), dtype=np.int64)
        ranks[order] = place
        ends.append(ranks)
    return codes, ends[0], ends[1]


def _likely(levels: np.ndarray, groups: np.ndarray, ranks: np.ndarray) -> float:
    """The least probability, over levels of at most a tenth of the records and fewer than 20 of
    each group, of being at the end in each of them by chance; 1 of a level that is not."""
    kinds = int(levels.max()) + 1
    cells, cell = np.unique(groups * kinds + levels, return_inverse=True)
    k, m = np.bincount(cell), np.bincount(groups)[cells // kinds]
    highest = np.zeros(len(cells), dtype=np.int64)
    np.maximum.at(highest, cell, ranks)
    alone = k == m  # a group of one level tells nothing
    fits = alone | ((highest == k - 1) & (k < _FEW))
    logarithm = np.where(alone, 0.0, gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1))
    of_level = cells % kinds
    every = np.bincount(of_level, ~fits, minlength=kinds) == 0
    small = np.bincount(levels, minlength=kinds) <= _SHARE * len(levels)
    return float(
        np.exp(-np.bincount(of_level, logarithm, minlength=kinds)[every & small].max(initial=0.0))
    )
