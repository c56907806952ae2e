"""Levels of a target told by columns: its status (missing, zero, a special code), its categories,
and groups of them.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

import numpy as np

from riskweighted.derivation.candidate_columns import LEAST, MOST_LEVELS, Columns
from riskweighted.derivation.disclosure_findings import (
    COARSENING,
    STATUS,
    UNIVERSE,
    WARN,
    DisclosureFinding,
    gain,
    share_finding,
)
from riskweighted.derivation.predictions import COMBINED, combine_columns, next_to

__all__ = [
    "FLAG",
    "ZEROS",
    "find_status_levels",
    "find_status_range",
    "findings_of_levels",
    "findings_of_status",
    "is_universe",
    "universe_of",
]

ZEROS = "its zeros"

_PURE = 0.01  # of the records of a level, or of the minority, that may lie on the wrong side
_SKIPPED = 0.999  # of the records of a universe that have no value
FLAG = 2  # levels, of a column that is itself what it tells
_PER_LEVEL = 5  # records of a level, from which it may be told that a column groups levels
_MOST_PAIRED = 40
_SCREENED = 1_000
_SCREENED_GAIN = 0.5
_BEST = 3
_PER_CELL = 5  # records in a cell of two columns, on average


def findings_of_status(
    status: np.ndarray,
    columns: Columns,
    words: Sequence[str],
    missing: int | None,
    codes: Collection[int] = (),
) -> Iterator[DisclosureFinding]:
    """Columns that tell which records have one of the statuses (n,), whole numbers from 0, in
    words, by levels or an interval of theirs; and universes: columns that say which records cannot
    have a value, or none but zero.

    `missing`, `codes`: the statuses that stand for missing values and for special codes, by which a
    file may say that a question was not asked. Whom it is not asked says nothing of an answer:
    where a universe tells them it is to be declared, and nothing is refused. But a column of two
    levels that tells who has a code is that code itself.
    """
    parts_of = dict[frozenset[int], tuple[np.ndarray, Columns]]()
    present = tuple(gap for gap in (missing, *codes) if gap is not None and (status == gap).any())
    for name in columns.codes:
        asks = [gap for gap in present if gap == missing or columns.counts[name] > FLAG]
        told_by = {
            gap: how
            for gap in asks
            if (how := universe_of(columns, name, status == gap)) is not None
        }
        for gap, how in told_by.items():
            base = float((status != gap).mean())
            yield DisclosureFinding(
                (name,), f"{how} {words[gap]}", UNIVERSE, 1.0, max(base, 1 - base), WARN
            )
        parts, unasked = [], frozenset(told_by)
        # elsewhere they blur what is told of those that have a value
        gaps = unasked | {gap for gap in present if gap == missing}
        for without in dict.fromkeys([unasked, gaps]):
            if without not in parts_of:
                rows = np.flatnonzero(~np.isin(status, list(without)))
                parts_of[without] = (
                    (status[rows], columns.among(rows))
                    if 0 < len(rows) < len(status)
                    else (status, columns)
                )
            parts.append(parts_of[without])
        said = set[int]()
        for asked, part in parts:
            several = np.flatnonzero(np.bincount(asked, minlength=1) >= LEAST).tolist()
            for one in [*several[1:], *several[:1]] if name in part.codes else []:
                has = (asked == one).astype(int)
                minority = min(int(has.sum()), len(has) - int(has.sum()))
                if minority < LEAST or one in said:
                    continue
                how, wrong = min(_ways(part, name, has), key=lambda way: way[1])
                told = wrong <= _PURE * minority
                skipped = (
                    None
                    if told or words[one] != ZEROS
                    else universe_of(part, name, has.astype(bool))
                )
                if told or skipped is not None:
                    said.add(one)
                    share = 1 - wrong / len(has) if told else 1.0
                    yield DisclosureFinding(
                        (name,),
                        f"{skipped or how} {words[one]}",
                        STATUS,
                        share,
                        1 - minority / len(has),
                    )


def universe_of(columns: Columns, name: str, has: np.ndarray) -> str | None:
    """How a column says which records have a status (n,) of truth, such as being missing, as it
    does where a question is not asked; None where it does not.

    At some of its levels, or on one side of a number, 99.9 % of the records have the status (of a
    number all); these are half of those that have it, and of the others half as many as of all, at
    most. Where the column itself is missing it says nothing.
    """
    codes, present = columns.codes[name], ~columns.missing[name]
    if columns.counts[name] <= MOST_LEVELS and is_universe(
        find_status_levels(codes, present, has), has
    ):
        return "its levels reveal"
    cut = name in columns.numbers and any(
        is_universe(find_status_range(sign * columns.numbers[name], present, has), has)
        for sign in (1, -1)
    )
    return "an interval of it reveals" if cut else None


def find_status_levels(codes: np.ndarray, present: np.ndarray, has: np.ndarray) -> np.ndarray:
    """The records (n,) at those levels of a column at which 99 % have a status, and 99.9 %
    together, those of least exceptions first; `codes`: which level, of those that are `present`."""
    sizes, ones = np.bincount(codes[present]), np.bincount(codes[present], has[present])
    likely = np.flatnonzero((sizes >= _PER_LEVEL) & (ones >= (1 - _PURE) * sizes))
    likely = likely[np.argsort(1 - ones[likely] / sizes[likely], kind="stable")]
    chosen = np.zeros(len(sizes), dtype=bool)
    chosen[likely[np.cumsum(ones[likely]) >= _SKIPPED * np.cumsum(sizes[likely])]] = True
    where = np.zeros(len(has), dtype=bool)
    where[present] = chosen[codes[present]]
    return where


def find_status_range(values: np.ndarray, present: np.ndarray, has: np.ndarray) -> np.ndarray:
    """The records (n,) whose number lies below those of all records without the status."""
    others = values[present & ~has & np.isfinite(values)]
    with np.errstate(invalid="ignore"):
        return present & (values < others.min()) if len(others) else np.zeros(len(has), dtype=bool)


def is_universe(where: np.ndarray, has: np.ndarray) -> bool:
    """Whether records (n,) are enough, and explain a status: half of all that have it, and of the
    others half as many as of all.
    """
    covered = int((where & has).sum())
    if where.sum() < LEAST or 2 * covered < has.sum() or where.all():
        return False
    return bool(has[~where].mean() <= has.mean() / 2)


def _ways(columns: Columns, name: str, has: np.ndarray) -> Iterator[tuple[str, int]]:
    """How a column may tell a status (n,) of 0 and 1, and the records in which it is wrong."""
    codes, missing = columns.codes[name], columns.missing[name]
    if codes.max() < MOST_LEVELS:
        yield "its levels reveal", _impure(codes, has)
        return
    if missing.any():
        yield "its missing values reveal", _impure(missing.astype(int), has)
    yield (
        "its commonest value reveals",
        _impure((codes == np.bincount(codes).argmax()).astype(int), has),
    )
    if name in columns.numbers and np.isfinite(columns.numbers[name]).mean() > 1 - _PURE:
        places = np.unique(np.nan_to_num(columns.numbers[name], nan=-np.inf), return_inverse=True)[
            1
        ]
        mostly = 2 * np.bincount(places, has) > np.bincount(places)
        # one wrong value changes it twice
        apart = max((int((np.diff(mostly) != 0).sum()) - 1) // 2, 0)
        yield "an interval of it reveals", _impure(places, has) + apart


def _impure(groups: np.ndarray, has: np.ndarray) -> int:
    """Records that differ from most of their group (n,)."""
    sizes, ones = np.bincount(groups), np.bincount(groups, has)
    return int(np.minimum(ones, sizes - ones).sum())


def findings_of_levels(
    levels: np.ndarray,
    missing: int | None,
    columns: Columns,
    patterns: np.ndarray,
    rng: np.random.Generator,
) -> Iterator[DisclosureFinding]:
    """Columns that tell the level (n,), whole numbers from 0: one or two of them, by what most
    other records of their values have, or by the next record in an order; one level alone; and
    columns whose levels group those of the target. `missing`: the level of records without one."""
    fold = rng.permutation(len(levels)) % 2
    by_pattern = _by_most(patterns, levels, fold)
    base = float(by_pattern.mean())
    for name, codes in columns.codes.items():
        asked = np.ones(len(levels), dtype=bool)
        if missing is not None and universe_of(columns, name, levels == missing) is not None:
            asked = levels != missing
        share, without = (
            float(hit[asked].mean()) for hit in (_by_most(codes, levels, fold), by_pattern)
        )
        if name in columns.numbers and columns.counts[name] > MOST_LEVELS:
            share = max(share, _by_next(columns.numbers[name][asked], levels[asked], rng))
        found = share_finding(
            (name,), "its values reveal the level", share, without, int(asked.sum())
        )
        yield from [] if found is None else [found]
    words = [
        "its missing values" if level == missing else "one of its levels"
        for level in range(int(levels.max()) + 1)
    ]
    yield from findings_of_status(levels, columns, words, missing)
    yield from _by_grouping(levels, missing, columns, base, fold)
    yield from _by_two(levels, columns, base, fold)
    yield from _by_combined(levels, columns, base, rng)


def _by_most(groups: np.ndarray, levels: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Whether each record's level is that of most records of its group in the other half (n,); of
    most of all where it has none there.
    """
    hit = np.zeros(len(levels), dtype=bool)
    for part in (0, 1):
        train, test = fold != part, fold == part
        cells, counts = np.unique(
            groups[train] * (levels.max() + 1) + levels[train], return_counts=True
        )
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


def _by_grouping(
    levels: np.ndarray, missing: int | None, columns: Columns, base: float, fold: np.ndarray
) -> Iterator[DisclosureFinding]:
    """Columns of which each level of the target, where several records share it, has one value; no
    level is that a question was not asked, where three others are."""
    common = np.bincount(levels)[levels] >= _PER_LEVEL
    if common.sum() < max(LEAST, len(levels) / 2) or len(np.unique(levels[common])) < 3:
        return
    has = levels == missing
    asks = len(np.unique(levels[common & ~has])) >= 3
    for name, codes in columns.grouping.items():
        several = (
            common & ~has
            if has.any() and asks and universe_of(columns, name, has) is not None
            else common
        )
        kinds, shared = np.unique(levels[several], return_inverse=True)
        of_several = codes[several]
        if of_several.max() >= len(kinds):
            continue
        table = np.bincount(
            shared * (of_several.max() + 1) + of_several,
            minlength=len(kinds) * (of_several.max() + 1),
        )
        wrong = len(of_several) - int(table.reshape(len(kinds), -1).max(axis=1).sum())
        minority = len(of_several) - int(np.bincount(of_several).max())
        if minority >= LEAST and wrong <= _PURE * minority:
            share = float(_by_most(codes, levels, fold).mean())
            yield DisclosureFinding(
                (name,), "its levels are groups of the levels", COARSENING, share, base
            )


def _by_two(
    levels: np.ndarray, columns: Columns, base: float, fold: np.ndarray
) -> Iterator[DisclosureFinding]:
    """Two columns of few levels that tell the level together."""
    for one, other in combinations(list(columns.grouping)[:_MOST_PAIRED], 2):
        cells = np.unique(
            columns.codes[one] * columns.counts[other] + columns.codes[other], return_inverse=True
        )[1]
        if (cells.max() + 1) * _PER_CELL > len(levels):
            continue
        pairs, counts = np.unique(cells * (levels.max() + 1) + levels, return_counts=True)
        most = np.zeros(int(cells.max()) + 1, dtype=int)
        np.maximum.at(most, pairs // (levels.max() + 1), counts)
        if gain(float(most.sum()) / len(levels), base) >= _SCREENED_GAIN:
            share = float(_by_most(cells, levels, fold).mean())
            found = share_finding(
                (one, other), "their values together reveal the level", share, base, len(levels)
            )
            yield from [] if found is None else [found]


def _by_combined(
    levels: np.ndarray, columns: Columns, base: float, rng: np.random.Generator
) -> Iterator[DisclosureFinding]:
    """Two numbers combined whose order tells the level; those that do best on a part of the
    records.
    """
    names = list(columns.many)[:_MOST_PAIRED]
    part = rng.choice(len(levels), min(_SCREENED, len(levels)), replace=False)
    numbers = np.array([columns.many[name] for name in names]).reshape(len(names), len(levels))
    pairs = np.array(list(combinations(range(len(names)), 2)), dtype=int).reshape(-1, 2)
    for how in COMBINED if len(pairs) else ():
        values = combine_columns(numbers[pairs[:, 0]][:, part], numbers[pairs[:, 1]][:, part], how)
        arranged = levels[part][np.argsort(values, axis=1)]
        alike = (arranged[:, 1:] == arranged[:, :-1]).mean(axis=1)
        for place in np.argsort(-alike)[:_BEST]:
            one, other = pairs[place]
            if gain(float(alike[place]), base) >= _SCREENED_GAIN:
                share = _by_next(combine_columns(numbers[one], numbers[other], how), levels, rng)
                found = share_finding(
                    (names[one], names[other]),
                    f"the order of the two combined by {how} reveals the level",
                    share,
                    base,
                    len(levels),
                )
                yield from [] if found is None else [found]
