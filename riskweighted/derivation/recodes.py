"""Columns that are a function of another one: copies, recodes, and bands of its amounts."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from riskweighted.derivation.rule_findings import (
    LEAST,
    Declared,
    RuleFinding,
    few_enough,
    is_surprising,
)
from riskweighted.derivation.states import AMOUNT, Looked, quote_column

__all__ = ["recodes"]

_MOST_LINES = 30  # levels of a recode that a chain is told of, and bands
_MOST_BANDS = 50


def recodes(columns: Sequence[Looked]) -> Iterator[RuleFinding]:
    """Every column that follows from an earlier or later one; of two that follow from each other
    the later one is named.

    A column in whose order the records are sorted is compared with all others at once: where its
    value stays the same and theirs changes, they are no function of it.
    """
    values = np.column_stack([column.values for column in columns]) if columns else np.empty((0, 0))
    distinct = np.array([column.distinct for column in columns])
    found: set[tuple[str, str]] = set()
    for place, of in enumerate(columns):
        order = np.lexsort(
            (of.values, of.values if of.numbers is None else np.nan_to_num(of.numbers, nan=np.inf))
        )
        changes = values[order][1:] != values[order][:-1]
        same = ~changes[:, place]
        n, broken, bands = len(order), (changes & same[:, None]).sum(axis=0), changes.sum(axis=0)
        for other in range(len(columns)):
            if other == place:
                continue
            column, finding = columns[other], None
            if (
                of.numbers is not None
                and distinct[other] <= min(_MOST_BANDS, distinct[place] / 2)
                and bands[other] < 4 * distinct[other] + 8
            ):
                finding = _bands(of, column, len(columns), place < other)
            if (
                finding is None
                and distinct[other] <= distinct[place]
                and few_enough(broken[other] // 2, np.array(n))
            ):
                finding = _function(of, column, len(columns))
            if finding is not None and (column.name, of.name) not in found:
                found.add((of.name, column.name))
                yield finding


def _function(of: Looked, column: Looked, count: int) -> RuleFinding | None:
    """A column that has one value for each value of another one; in many of these there are several
    records.
    """
    n = len(of.values)
    table = np.unique(of.values * column.distinct + column.values, return_counts=True)
    pairs, counts = table
    most = np.zeros(of.distinct, dtype=np.int64)
    np.maximum.at(most, pairs // column.distinct, counts)
    sizes = np.bincount(of.values)
    # one value, such as none at all, says little
    exceptions, could = n - int(most.sum()), n - of.distinct - int(sizes.max() - 1)
    share = np.bincount(column.values).max() / n
    if not few_enough(np.array(exceptions), np.array(could)):
        return _same_order(of, column)
    if not is_surprising((could - 2 * exceptions) * math.log(share), count**2):
        return None
    order = np.lexsort((counts, pairs // column.distinct))
    last = np.flatnonzero(np.append(np.diff(pairs[order] // column.distinct) != 0, True))
    # of every value of the one, the value of the other that most have
    target = pairs[order][last] % column.distinct
    both = of.distinct == column.distinct == len(np.unique(target))
    return _named(of, column, could, exceptions, both, dict(enumerate(target.tolist())))


def _same_order(of: Looked, column: Looked) -> RuleFinding | None:
    """Amounts of which hardly two are alike, in the order of others or the opposite one."""
    if of.numbers is None or column.numbers is None:
        return None
    both = ~np.isnan(of.numbers) & ~np.isnan(column.numbers)
    if both.sum() < LEAST or not np.array_equal(np.isnan(of.numbers), np.isnan(column.numbers)):
        return None
    order = np.argsort(of.numbers[both], kind="stable")
    steps, own = np.diff(column.numbers[both][order]), np.diff(of.numbers[both][order])
    if not (((steps >= 0).all() or (steps <= 0).all()) and np.array_equal(steps == 0, own == 0)):
        return None
    return _named(of, column, int(both.sum()), 0, True, {})


def _named(
    of: Looked, column: Looked, could: int, exceptions: int, both: bool, mapped: Mapping[int, int]
) -> RuleFinding:
    """A recode in words: a copy where the numbers are equal, else what each value of the one is in
    the other.
    """
    names = (of.name, column.name)
    equal = (
        of.numbers is not None
        and column.numbers is not None
        and np.array_equal(of.numbers, column.numbers, equal_nan=True)
    )
    if equal or (
        both
        and of.numbers is None
        and [s.value for s in of.states] == [s.value for s in column.states]
        and _alike(of, column)
    ):
        declared: tuple[Declared, ...] = (
            (("sums", (column.name, of.name)),) if equal else _lines(of, column, mapped)
        )
        return RuleFinding(
            "copy",
            names,
            f"{quote_column(column.name)} is {quote_column(of.name)}",
            could,
            exceptions,
            declared,
        )
    told = " and the other way round" if both else ""
    text = f"{quote_column(column.name)} follows from {quote_column(of.name)}{told}"
    return RuleFinding(
        "recode",
        names,
        text,
        could,
        exceptions,
        _lines(of, column, mapped) if not exceptions else (),
    )


def _alike(of: Looked, column: Looked) -> bool:
    return np.array_equal(of.state, column.state)


def _lines(of: Looked, column: Looked, mapped: Mapping[int, int]) -> tuple[Declared, ...]:
    """A line for each value of a recode: in which states of the other column it is; none where the
    states do not say it all.
    """
    if (
        any(state.kind == AMOUNT for state in (*of.states, *column.states))
        or not mapped
        or len(column.states) > _MOST_LINES
    ):
        return ()
    into: dict[int, set[int]] = {}
    for state, target in zip(of.state.tolist(), column.state.tolist(), strict=True):
        into.setdefault(target, set()).add(state)
    return tuple(
        ("implied", (of.is_in(places), column.is_in([target])))
        for target, places in sorted(into.items())
    )


def _bands(of: Looked, column: Looked, count: int, later: bool) -> RuleFinding | None:
    """A column whose levels are intervals of another one's amounts; `later`: whether it is known
    later, and follows then: the other way round nothing but draws again and again would find an
    amount in its band."""
    assert of.numbers is not None
    there = ~np.isnan(of.numbers)
    amounts, levels = of.numbers[there], column.values[there]
    order = np.lexsort((levels, amounts))
    amounts, levels = amounts[order], levels[order]
    begins = np.append(0, np.flatnonzero(np.diff(levels)) + 1)
    sizes, runs = np.diff(np.append(begins, len(levels))), levels[begins]
    kinds = len(np.unique(levels))
    if len(amounts) < LEAST or not 2 <= kinds <= min(_MOST_BANDS, len(np.unique(amounts)) / 2):
        return None
    main = np.array([sizes[runs == level].max() for level in np.unique(levels)])
    exceptions, could = len(levels) - int(main.sum()), len(levels) - int(sizes.max())
    shares = np.bincount(levels) / len(levels)
    chance = -len(levels) * float(
        -(shares[shares > 0] * np.log(shares[shares > 0])).sum()
    ) + kinds * math.log(max(kinds, 2) * len(levels))
    if not few_enough(np.array(exceptions), np.array(could)) or not is_surprising(chance, count**2):
        return None
    cut = (amounts[begins[1:]] == amounts[begins[1:] - 1]).any()  # a value that lies in two bands
    declared = (
        ()
        if exceptions or cut or not later or len(runs) > kinds
        else _band_lines(of, column, amounts, begins, there, order)
    )
    text = f"{quote_column(column.name)} is bands of {quote_column(of.name)}"
    return RuleFinding(
        "bands", (of.name, column.name), text, could, exceptions + int(cut), declared
    )


def _band_lines(
    of: Looked,
    column: Looked,
    amounts: np.ndarray,
    begins: np.ndarray,
    there: np.ndarray,
    order: np.ndarray,
) -> tuple[Declared, ...]:
    """A line for each band; a bound is the roundest number between the largest amount of one band
    and the least of the next.
    """
    if any(state.kind == AMOUNT for state in column.states) or len(begins) > _MOST_LINES:
        return ()
    name, state = quote_column(of.name), column.state[there][order][begins]
    ends = [_round_between(amounts[begin - 1], amounts[begin]) for begin in begins[1:]]
    low, high = [None, *ends], [*ends, None]
    apart = (
        f" and not {name} in [{', '.join(f'{code:.15g}' for code in of.codes)}]" if of.codes else ""
    )
    lines: list[Declared] = []
    for place, below, above in zip(state.tolist(), low, high, strict=True):
        band = f"{name} >= {below:.15g}" if above is None else f"{name} < {above:.15g}"
        band = (
            f"{below:.15g} <= {name} < {above:.15g}"
            if below is not None and above is not None
            else band
        )
        lines.append(("implied", (band + apart, column.is_in([place]))))
    return tuple(lines)


def _round_between(below: float, above: float) -> float:
    """The number with fewest digits that is greater than one amount and at most another."""
    for digits in range(math.floor(math.log10(max(abs(below), abs(above), 1e-300))) + 1, -16, -1):
        unit = 10.0**digits
        candidate = round(math.floor(above / unit) * unit, max(-digits, 0))
        if below < candidate <= above:
            return candidate
    return above
