"""Levels of a target told by columns: its status (missing, zero, a special code), its categories, and groups of them."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from riskweighted.derivation.columns import LEAST, MOST_LEVELS, Columns
from riskweighted.derivation.judging import COARSENING, STATUS, Finding, gain, told
from riskweighted.derivation.predictions import COMBINED, combined, next_to

__all__ = ["findings_of_levels", "findings_of_status"]

_PURE = 0.01  # of the records of a level, or of the minority, that may lie on the wrong side
_PER_LEVEL = 5  # records of a level, from which it may be told that a column groups levels
_MOST_PAIRED = 40
_SCREENED = 1_000
_SCREENED_GAIN = 0.5
_BEST = 3
_PER_CELL = 5  # records in a cell of two columns, on average


def findings_of_status(status: np.ndarray, columns: Columns, words: Sequence[str]) -> Iterator[Finding]:
    """Columns that tell which records have one of the statuses (n,), whole numbers from 0, in words, by levels or an interval of theirs."""
    several = np.flatnonzero(np.bincount(status) >= LEAST).tolist()
    for one in [*several[1:], *several[:1]]:
        has = (status == one).astype(int)
        minority = min(int(has.sum()), len(has) - int(has.sum()))
        if minority < LEAST:
            continue
        for name in columns.codes:
            for how, wrong in _ways(columns, name, has):
                if wrong <= _PURE * minority:
                    yield Finding((name,), f"{how} {words[one]}", STATUS, 1 - wrong / len(has), 1 - minority / len(has))
                    break


def _ways(columns: Columns, name: str, has: np.ndarray) -> Iterator[tuple[str, int]]:
    """How a column may tell a status (n,) of 0 and 1, and the records in which it is wrong."""
    codes, missing = columns.codes[name], columns.missing[name]
    if codes.max() < MOST_LEVELS:
        yield "its levels tell", _impure(codes, has)
        return
    if missing.any():
        yield "its missing values tell", _impure(missing.astype(int), has)
    yield "its commonest value tells", _impure((codes == np.bincount(codes).argmax()).astype(int), has)
    if name in columns.numbers and np.isfinite(columns.numbers[name]).mean() > 1 - _PURE:
        arranged = has[np.lexsort((has, np.nan_to_num(columns.numbers[name], nan=-np.inf)))]
        yield "an interval of it tells", max((int((np.diff(arranged) != 0).sum()) - 1) // 2, 0)  # one wrong record changes it twice


def _impure(groups: np.ndarray, has: np.ndarray) -> int:
    """Records that differ from most of their group (n,)."""
    sizes, ones = np.bincount(groups), np.bincount(groups, has)
    return int(np.minimum(ones, sizes - ones).sum())


def findings_of_levels(levels: np.ndarray, columns: Columns, patterns: np.ndarray, rng: np.random.Generator) -> Iterator[Finding]:
    """Columns that tell the level (n,), whole numbers from 0: one or two of them, by what most other records of their values have, or by
    the next record in an order; one level alone; and columns whose levels group those of the target."""
    fold = rng.permutation(len(levels)) % 2
    base = float(_by_most(patterns, levels, fold).mean())
    for name, codes in columns.codes.items():
        share = float(_by_most(codes, levels, fold).mean())
        if name in columns.numbers and columns.counts[name] > MOST_LEVELS:
            share = max(share, _by_next(columns.numbers[name], levels, rng))
        found = told((name,), "its values tell the level", share, base, len(levels))
        yield from [] if found is None else [found]
    yield from findings_of_status(levels, columns, ["one of its levels"] * (int(levels.max()) + 1))
    yield from _by_grouping(levels, columns, base)
    yield from _by_two(levels, columns, base, fold)
    yield from _by_combined(levels, columns, base, rng)


def _by_most(groups: np.ndarray, levels: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Whether each record's level is that of most records of its group in the other half (n,); of most of all where it has none there."""
    hit = np.zeros(len(levels), dtype=bool)
    for part in (0, 1):
        train, test = fold != part, fold == part
        cells, counts = np.unique(groups[train] * (levels.max() + 1) + levels[train], return_counts=True)
        most = np.full(int(groups.max()) + 1, np.bincount(levels[train]).argmax())
        order = np.argsort(counts, kind="stable")  # the commonest is written last
        most[cells[order] // (levels.max() + 1)] = cells[order] % (levels.max() + 1)
        hit[test] = most[groups[test]] == levels[test]
    return hit


def _by_next(values: np.ndarray, levels: np.ndarray, rng: np.random.Generator) -> float:
    """The share of the records whose level the next one in the order of a column (n,) has, too."""
    order, same = next_to(values, rng=rng)
    arranged = levels[order]
    return float((same & (arranged[1:] == arranged[:-1])).sum() / len(levels))


def _by_grouping(levels: np.ndarray, columns: Columns, base: float) -> Iterator[Finding]:
    """Columns of which each level of the target, where several records share it, has one value."""
    several = np.bincount(levels)[levels] >= _PER_LEVEL
    if several.sum() < max(LEAST, len(levels) / 2) or len(np.unique(levels[several])) < 3:
        return
    kinds, shared = np.unique(levels[several], return_inverse=True)
    for name, codes in columns.grouping.items():
        of_several = codes[several]
        if of_several.max() >= len(kinds):
            continue
        table = np.bincount(shared * (of_several.max() + 1) + of_several, minlength=len(kinds) * (of_several.max() + 1))
        wrong = len(of_several) - int(table.reshape(len(kinds), -1).max(axis=1).sum())
        minority = len(of_several) - int(np.bincount(of_several).max())
        if minority >= LEAST and wrong <= _PURE * minority:
            yield Finding((name,), "its levels are groups of the levels", COARSENING, 1 - wrong / len(of_several), base)


def _by_two(levels: np.ndarray, columns: Columns, base: float, fold: np.ndarray) -> Iterator[Finding]:
    """Two columns of few levels that tell the level together."""
    for one, other in combinations(list(columns.grouping)[:_MOST_PAIRED], 2):
        cells = np.unique(columns.codes[one] * columns.counts[other] + columns.codes[other], return_inverse=True)[1]
        if (cells.max() + 1) * _PER_CELL > len(levels):
            continue
        pairs, counts = np.unique(cells * (levels.max() + 1) + levels, return_counts=True)
        most = np.zeros(int(cells.max()) + 1, dtype=int)
        np.maximum.at(most, pairs // (levels.max() + 1), counts)
        if gain(float(most.sum()) / len(levels), base) >= _SCREENED_GAIN:
            share = float(_by_most(cells, levels, fold).mean())
            found = told((one, other), "their values together tell the level", share, base, len(levels))
            yield from [] if found is None else [found]


def _by_combined(levels: np.ndarray, columns: Columns, base: float, rng: np.random.Generator) -> Iterator[Finding]:
    """Two numbers combined whose order tells the level; those that do best on a part of the records."""
    names = list(columns.many)[:_MOST_PAIRED]
    part = rng.choice(len(levels), min(_SCREENED, len(levels)), replace=False)
    numbers = np.array([columns.many[name] for name in names]).reshape(len(names), len(levels))
    pairs = np.array(list(combinations(range(len(names)), 2)), dtype=int).reshape(-1, 2)
    for how in COMBINED if len(pairs) else ():
        values = combined(numbers[pairs[:, 0]][:, part], numbers[pairs[:, 1]][:, part], how)
        arranged = levels[part][np.argsort(values, axis=1)]
        alike = (arranged[:, 1:] == arranged[:, :-1]).mean(axis=1)
        for place in np.argsort(-alike)[:_BEST]:
            one, other = pairs[place]
            if gain(float(alike[place]), base) >= _SCREENED_GAIN:
                share = _by_next(combined(numbers[one], numbers[other], how), levels, rng)
                found = told(
                    (names[one], names[other]), f"the order of the two combined by {how} tells the level", share, base, len(levels)
                )
                yield from [] if found is None else [found]
