"""Orders between amounts, a <= b, and amounts that are the sum of others."""

from collections.abc import Iterator, Sequence

import numpy as np

from riskweighted.derivation.rule_findings import (
    LEAST,
    RuleFinding,
    few_enough,
    is_surprising,
    log_chance_of_order,
)
from riskweighted.derivation.states import Looked, quote_column

__all__ = ["holds_sum", "orders", "sums"]

_SCREENED = 24  # records by which candidate sums are found
_KNOWN = 8  # of them, in which all three are amounts
_MOST_PARTS = 8
_LONGEST = 4_000  # records by which sums of three parts and more are found
_ROUND_OFF = 1e-9


def orders(columns: Sequence[Looked]) -> Iterator[RuleFinding]:
    """Pairs of which the first is never greater than the second, where both are amounts and their
    ranges overlap.
    """
    named = [column for column in columns if column.numbers is not None]
    if len(named) < 2:
        return
    amounts = np.array([column.numbers for column in named])
    looked_at, found = len(named) ** 2, dict[tuple[int, int], RuleFinding]()
    for place, high in enumerate(amounts):
        with np.errstate(invalid="ignore"):
            broken = (amounts > high).sum(axis=1)
        both = (~np.isnan(amounts) & ~np.isnan(high)).sum(axis=1)
        for other in np.flatnonzero(few_enough(broken, both)):
            finding = None if other == place else _order(named[other], named[place], looked_at)
            if finding is not None:
                found[int(other), place] = finding
    exact = {pair for pair, finding in found.items() if not finding.exceptions}
    for (low, top), finding in found.items():  # without what follows from two that are known before
        between = (
            middle
            for middle in range(max(low, top))
            if (low, middle) in exact and (middle, top) in exact
        )
        if finding.exceptions or next(between, None) is None:
            yield finding


def _order(low: Looked, high: Looked, looked_at: int) -> RuleFinding | None:
    low_amounts, high_amounts = np.asarray(low.numbers), np.asarray(high.numbers)
    both = ~np.isnan(low_amounts) & ~np.isnan(high_amounts)
    lows, highs = low_amounts[both], high_amounts[both]
    could, broken = int(min((lows > highs.min()).sum(), (highs < lows.max()).sum())), lows > highs
    exceptions = int(broken.sum())
    if not few_enough(np.array(exceptions), np.array(could)) or (lows == highs).all():
        return None
    if not is_surprising(log_chance_of_order(lows[~broken], highs[~broken]), looked_at):
        return None
    names = (low.name, high.name)
    return RuleFinding(
        "order",
        names,
        f"{quote_column(low.name)} <= {quote_column(high.name)}",
        could,
        exceptions,
        (("order", names),),
    )


def sums(columns: Sequence[Looked], rng: np.random.Generator) -> Iterator[RuleFinding]:
    """Amounts that are the sum of two others in every record in which all are amounts; and of three
    to eight others.

    Candidates of two parts come from a few records, on which all pairs are added; those of more
    from the columns that are linear in the others. Each is then counted on all records.
    """
    named = [column for column in columns if column.numbers is not None and column.distinct > 2]
    if len(named) < 3:
        return
    amounts, found = np.array([column.numbers for column in named]), set[frozenset[int]]()
    for total, *parts in [*_pairs(amounts, rng), *_several(amounts, rng)]:
        names = frozenset((total, *parts))
        if any(known <= names for known in found):
            continue
        finding = _sum(named[total], [named[part] for part in parts], len(named) ** 3)
        if finding is not None:
            found.add(names)
            yield finding


def _pairs(amounts: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[int, ...]]:
    """Totals and two parts that a few records do not contradict more than once."""
    count = len(amounts)
    for total, values in enumerate(amounts):
        there = np.flatnonzero(~np.isnan(values) & (values != 0))
        if len(there) < LEAST:
            continue
        rows = rng.choice(there, min(_SCREENED, len(there)), replace=False)
        parts, wanted = amounts[:, rows], values[rows]
        away = np.abs(parts[:, None, :] + parts[None, :, :] - wanted)
        known, wrong = ~np.isnan(away), away > _ROUND_OFF * np.abs(wanted)
        likely = (known.sum(axis=2) >= _KNOWN) & ((wrong & known).sum(axis=2) <= 1)
        likely[total, :] = likely[:, total] = False
        likely &= np.triu(np.ones((count, count), dtype=bool), 1)
        yield from (
            (total, int(one), int(other)) for one, other in zip(*np.nonzero(likely), strict=True)
        )


def _several(amounts: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[int, ...]]:
    """Totals and their parts among the columns that are never missing, by which of them are
    combinations of those before them.
    """
    whole = np.flatnonzero(~np.isnan(amounts).any(axis=1))
    rows = rng.choice(amounts.shape[1], min(_LONGEST, amounts.shape[1]), replace=False)
    design = amounts[np.ix_(whole, rows)].T
    size = np.sqrt((design**2).mean(axis=0))
    kept: list[int] = []
    basis = np.empty((len(rows), 0))
    for place in np.flatnonzero(size > 0).tolist():
        left = design[:, place] / size[place]
        for _ in range(2):
            left = left - basis @ (basis.T @ left)
        if np.linalg.norm(left) > 1e-7 * np.sqrt(len(rows)):
            basis, kept = np.column_stack([basis, left / np.linalg.norm(left)]), [*kept, place]
            continue
        solved = (
            np.linalg.lstsq(design[:, kept] / size[kept], design[:, place], rcond=None)[0]
            / size[kept]
        )
        signs = np.rint(solved).astype(int)
        if (
            np.abs(solved - signs).max() < 1e-5
            and np.abs(signs).max() == 1
            and 3 <= np.abs(signs).sum() <= _MOST_PARTS
        ):
            plus = [int(whole[part]) for part, sign in zip(kept, signs, strict=True) if sign > 0]
            minus = [int(whole[part]) for part, sign in zip(kept, signs, strict=True) if sign < 0]
            if not minus:
                yield (int(whole[place]), *plus)
            elif len(plus) == 1:
                yield (plus[0], int(whole[place]), *minus)


def holds_sum(total: np.ndarray, parts: Sequence[np.ndarray]) -> np.ndarray:
    """In which records (n,) the parts add up to the total, but for rounding; those in which one is
    no amount do.
    """
    size = np.abs(total) + sum(np.abs(part) for part in parts)
    away = np.abs(total - sum(parts))
    return np.asarray(~(away > _ROUND_OFF * size))


def _sum(total: Looked, parts: Sequence[Looked], looked_at: int) -> RuleFinding | None:
    """The sum on all records; those in which a part is 0 could not have broken it."""
    whole, others = np.asarray(total.numbers), [np.asarray(part.numbers) for part in parts]
    there = ~np.isnan(whole + sum(others))
    at_work = there & np.all([other != 0 for other in others], axis=0)
    exceptions, could = int((~holds_sum(whole, others) & there).sum()), int(at_work.sum())
    if not few_enough(np.array(exceptions), np.array(could)):
        return None
    most = np.unique(whole[at_work], return_counts=True)[1].max() / could
    if most == 1 or not is_surprising((could - exceptions) * np.log(most), looked_at):
        return None
    names = (total.name, *(part.name for part in parts))
    text = f"{quote_column(total.name)} = {' + '.join(quote_column(part.name) for part in parts)}"
    return RuleFinding("sum", names, text, could, exceptions, (("sums", names),))
