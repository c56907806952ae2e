"""Amounts of a target told by columns: by one, by all together, by pairs, by intervals (METHODS section 13)."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from riskweighted.common.ranks import order_alike
from riskweighted.derivation.columns import LEAST, MOST_LEVELS, Columns
from riskweighted.derivation.constants import KINDS, repeats_unmistakable, share_of_one, sharing_pairs
from riskweighted.derivation.judging import COARSENING, EXACT, RECOVERED, Amounts, Finding
from riskweighted.derivation.predictions import by_neighbours, combined, fitted_by_all, promising_pairs

__all__ = ["findings_of_amounts"]

_SCREENED = 1_000  # records on which pairs are screened
_MOST_PAIRED = 40  # columns, those of most values
_BEST_WITHIN = 6  # numbers within groups that are looked at on all records
_POSITIVE = 0.9  # of the records, where logarithms are fitted
_MISSING = 0.01  # of the records, from which being missing enters a fit
_DOES = 0.05  # of the reach, from which a column takes part in a fit
_SAME_ORDER = 0.99  # rank correlation
_IMPURE = 0.02  # changes of level between intervals, of the minority's records


@dataclass(frozen=True, eq=False)
class _Search:
    """Amounts, columns of the same records, and a part of the records (s,) on which pairs are screened."""

    amounts: Amounts
    columns: Columns
    part: np.ndarray
    rng: np.random.Generator


def findings_of_amounts(amounts: Amounts, columns: Columns, rng: np.random.Generator) -> Iterator[Finding]:
    """Every relation that tells the amounts, by the rules of PACK section 3; a column that tells them exactly is not looked at again."""
    part = rng.choice(len(amounts.y), min(_SCREENED, len(amounts.y)), replace=False)
    search = _Search(amounts, columns, part, rng)
    alone = [finding for finding in _by_one(search) if finding is not None]
    yield from alone
    exact = {finding.columns[0] for finding in alone if finding.rule == EXACT}
    rest = _Search(amounts, columns.without(exact), part, rng)
    for way in (_within_groups, _by_sum, _by_product, _by_pairs):
        yield from (finding for finding in way(rest) if finding is not None)
    yield from _by_intervals(rest)


def _by_one(search: _Search) -> Iterator[Finding | None]:
    """Any function of a number, levels, one order, one ratio or difference, and values that stand there again."""
    amounts, columns = search.amounts, search.columns
    nothing = np.zeros(len(amounts.y))
    for name, codes in columns.codes.items():
        if name in columns.numbers:
            values = columns.numbers[name]
            yield _of_number(search, name)
            again = repeats_unmistakable(values, amounts.y)
            yield Finding((name,), "its values stand there again", EXACT, again, amounts.base) if again else None
        if name not in columns.numbers or name in columns.grouping:
            yield amounts.judge((name,), "its levels", by_neighbours(nothing, amounts.y, codes, rng=search.rng))
        if name in columns.many:
            yield from _constant(search, (name,), columns.many[name], "it")


def _of_number(search: _Search, name: str) -> Finding | None:
    """Any function of a number; and a number of many values in the order of the target, whichever way, where it has one."""
    guess = by_neighbours(search.columns.numbers[name], search.amounts.y, rng=search.rng)
    found = search.amounts.judge((name,), "any function of it", guess)
    present = np.isfinite(search.columns.numbers[name])
    several = min(len(np.unique(column[present])) for column in (search.columns.numbers[name], search.amounts.y)) >= LEAST
    if (
        (found is not None and found.rule == EXACT)
        or not several
        or order_alike(search.columns.numbers[name], search.amounts.y) < _SAME_ORDER
    ):
        return found
    within = float((np.abs(guess - search.amounts.y) <= search.amounts.reach).mean())
    return Finding((name,), "the same order", RECOVERED, within, search.amounts.base)


def _constant(search: _Search, names: tuple[str, ...], values: np.ndarray, what: str) -> Iterator[Finding]:
    """One ratio, or difference, to numbers that many records share."""
    for kind in KINDS:
        share = share_of_one(values, search.amounts.y, kind, search.rng)
        if share > 0:
            yield Finding(names, f"one {kind} to {what}", EXACT, share, search.amounts.base)
            return


def _within_groups(search: _Search) -> Iterator[Finding | None]:
    """A function of a number within each level of another column, such as currencies by region; those that do best on a part."""
    amounts, columns, part = search.amounts, search.columns, search.part
    y, reach = amounts.y[part], amounts.reach[part]
    pairs = [(name, group) for name, group in product(columns.many, columns.grouping) if name != group]
    scores = []
    for name, group in pairs:
        guess = by_neighbours(columns.many[name][part], y, columns.grouping[group][part], rng=search.rng)
        error = np.abs(guess - y) / reach
        scores.append([(error <= limit).mean() for limit in (1, 0.05)])
    if pairs:
        ranked = np.argsort(-np.array(scores), axis=0, kind="stable")[:_BEST_WITHIN]
        for name, group in dict.fromkeys(pairs[place] for place in ranked.T.ravel()):
            guess = by_neighbours(columns.many[name], amounts.y, columns.grouping[group], rng=search.rng)
            yield amounts.judge((name, group), f"any function of {name} within {group}", guess)


def _by_sum(search: _Search) -> Iterator[Finding | None]:
    """All columns at once, linear."""
    amounts, columns = search.amounts, search.columns
    if not columns.numbers:
        return
    named = [(name, np.nan_to_num(values)) for name, values in columns.numbers.items()]
    unknown = [(name, ~np.isfinite(values)) for name, values in columns.numbers.items()]
    named += [(name, absent.astype(float)) for name, absent in unknown if absent.mean() > _MISSING]
    named += [(name, indicator) for name, indicators in columns.indicators.items() for indicator in indicators]
    guess, does = fitted_by_all(np.array([values for _, values in named]), amounts.y, amounts.reach, amounts.fold)
    yield amounts.judge(_taking_part(named, does), "a sum", guess)


def _by_product(search: _Search) -> Iterator[Finding | None]:
    """All positive columns at once, linear in the logarithms: products and ratios of any number of them."""
    amounts, columns = search.amounts, search.columns
    positive = {name: values for name, values in columns.numbers.items() if (values > 0).mean() > _POSITIVE}
    used = (amounts.y > 0) & np.all([values > 0 for values in positive.values()], axis=0) if positive else np.zeros(len(amounts.y), bool)
    if used.sum() < LEAST or (amounts.y > 0).mean() <= _POSITIVE:
        return
    named = [(name, np.log(values[used])) for name, values in positive.items()]
    named += [(name, indicator[used]) for name, indicators in columns.indicators.items() for indicator in indicators]
    logarithms = np.log(amounts.y[used])
    reach = amounts.reach[used] / amounts.y[used]
    fitted, does = fitted_by_all(np.array([values for _, values in named]), logarithms, reach, amounts.fold[used])
    guess = np.full(len(amounts.y), np.nan)
    guess[used] = np.exp(np.clip(fitted, -700, 700))
    yield amounts.judge(_taking_part(named, does), "a product", guess)


def _taking_part(named: list[tuple[str, np.ndarray]], does: np.ndarray) -> tuple[str, ...]:
    """The columns that do something to a prediction; all of them where none does much."""
    names = [name for (name, _), effect in zip(named, does, strict=True) if effect > _DOES]
    return tuple(dict.fromkeys(names or [name for name, _ in named]))


def _by_pairs(search: _Search) -> Iterator[Finding | None]:
    """Any function of two numbers combined, and one ratio or difference to two combined."""
    amounts, part = search.amounts, search.part
    names = list(search.columns.many)[:_MOST_PAIRED]
    if len(names) < 2:
        return
    columns = np.array([search.columns.many[name] for name in names])
    for one, other, how in promising_pairs(columns[:, part], amounts.y[part], amounts.reach[part]):
        guess = by_neighbours(combined(columns[one], columns[other], how), amounts.y, rng=search.rng)
        yield amounts.judge((names[one], names[other]), f"any function of {_in_words(names[one], names[other], how)}", guess)
    for one, other, how in dict.fromkeys(sharing_pairs(columns[:, part], amounts.y[part])):
        values = combined(columns[one], columns[other], how)
        yield from _constant(search, (names[one], names[other]), values, _in_words(names[one], names[other], how))


def _in_words(one: str, other: str, how: str) -> str:
    """Two columns combined, for a message."""
    if how in ("max", "min"):
        return f"{how}({one}, {other})"
    return f"{other} / {one}" if how == "\\" else f"{one} {how} {other}"


def _by_intervals(search: _Search) -> Iterator[Finding]:
    """Columns whose levels, missing values or commonest value are intervals of the target."""
    for name, codes in search.columns.codes.items():
        for what, levels in _coarse(codes, search.columns.missing[name]):
            share = _as_intervals(search.amounts.y, levels)
            if share > 0:
                yield Finding((name,), f"{what} are intervals of it", COARSENING, share, search.amounts.base)
                break


def _coarse(codes: np.ndarray, missing: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """A column as few levels: its own, whether it is missing, whether it is the commonest one."""
    if codes.max() < MOST_LEVELS:
        yield "its levels", codes
    if missing.any():
        yield "its missing and its other values", missing.astype(int)
    if codes.max() > 1:
        yield "its commonest and its other values", (codes == np.bincount(codes).argmax()).astype(int)


def _as_intervals(y: np.ndarray, codes: np.ndarray) -> float:
    """The share of the records whose level follows from the interval that their target lies in, if levels are intervals; else 0."""
    counts = np.bincount(codes)
    minority, levels = len(y) - int(counts.max()), int((counts > 0).sum())
    if levels < 2 or minority < LEAST or levels > len(np.unique(y)) / 2:
        return 0.0
    changes = _changes(y, codes)
    return 1 - changes / len(y) if changes <= levels + _IMPURE * minority else 0.0


def _changes(y: np.ndarray, codes: np.ndarray) -> int:
    """How often the level changes along the target, of equal values the commonest level, and how many of these have another one."""
    values, place = np.unique(y, return_inverse=True)
    pairs, sizes = np.unique(place * (codes.max() + 1) + codes, return_counts=True)
    at, level = np.divmod(pairs, codes.max() + 1)
    first = np.searchsorted(at, np.arange(len(values)))
    commonest = level[np.lexsort((-sizes, at))][first]
    return int((np.diff(commonest) != 0).sum()) + len(y) - int(np.maximum.reduceat(sizes, first).sum())
