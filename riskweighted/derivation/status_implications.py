"""Implications between the states of two columns, and combinations that never occur: every pair of
columns as one table of counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from riskweighted.derivation.rule_findings import RuleFinding, few_enough, is_surprising, log_chance
from riskweighted.derivation.states import Looked

__all__ = ["implications"]

_Cells = frozenset[tuple[int, int]]
_State = tuple[str, int]  # of a column, one of its states


class _Rule(NamedTuple):
    """Of two columns: cells of their table that are empty but for the exceptions. Where `one` is in
    a state of ``when``, `other` is in none of ``out``; ``then``: the only state that is left, where
    this was what was asked; ``turned``: whether `one` is the later column."""

    cells: _Cells
    when: frozenset[int]
    out: frozenset[int]
    then: int | None
    turned: bool
    could: int
    exceptions: int


class _Found(NamedTuple):
    rule: _Rule
    one: Looked
    other: Looked


def implications(columns: Sequence[Looked], skipped: set[tuple[str, str]]) -> Iterator[RuleFinding]:
    """Every rule between two columns, but for pairs that are skipped since one is a function of the
    other.

    Columns are in the order in which they are known: what follows from rules that are checked
    earlier is left out.
    """
    found = _without_what_follows(
        list(_found(columns, skipped)), {column.name: place for place, column in enumerate(columns)}
    )
    groups: dict[tuple[object, ...], list[_Found]] = {}
    for each in found:
        rule = each.rule
        key = (
            each.one.name,
            each.other.name,
            rule.out,
            rule.then,
            *((rule.when,) if rule.exceptions else ()),
        )
        groups.setdefault(key, []).append(each)
    for group in groups.values():
        yield _finding(group)


def _found(columns: Sequence[Looked], skipped: set[tuple[str, str]]) -> Iterator[_Found]:
    """The rules of every pair of columns, the later one second."""
    if len(columns) < 2:
        return
    starts = np.cumsum([0, *(len(column.states) for column in columns)])
    total, n = int(starts[-1]), len(columns[0].state)
    places = np.column_stack(
        [column.state + start for column, start in zip(columns, starts, strict=False)]
    )
    sizes = np.bincount(places.ravel(), minlength=total)
    for number, first in enumerate(columns[:-1]):
        later = starts[number + 1]
        table = _table(first, places[:, number + 1 :] - later, total - later)
        ways = _hardly_broken(
            table, sizes[starts[number] : later], sizes[later:], n, int(2 * total**2)
        )
        for other in np.unique(
            np.searchsorted(starts, np.flatnonzero(ways.any(axis=(0, 1))) + later, side="right") - 1
        ):
            second, here = columns[other], slice(starts[other] - later, starts[other + 1] - later)
            if (first.name, second.name) not in skipped:
                yield from _of_pair(first, second, table[:, here], ways[:, :, here])


def _table(first: Looked, places: np.ndarray, total: int) -> np.ndarray:
    """How many records have each state of a column and each of the later ones, (s, total)."""
    s = len(first.states)
    counts = np.zeros(s * total, dtype=np.int64)
    for start in range(0, len(places), 50_000):
        rows = slice(start, start + 50_000)
        counts += np.bincount(
            (first.state[rows, None] * total + places[rows]).ravel(), minlength=s * total
        )
    return counts.reshape(s, total)


def _hardly_broken(
    table: np.ndarray, own: np.ndarray, sizes: np.ndarray, n: int, looked_at: int
) -> np.ndarray:
    """By which cells a rule is hardly broken, (3, s, total): that it is empty, and that one state
    implies the other, either way.
    """
    rows, columns = own[:, None], sizes[None, :]
    ways = (  # exceptions, trials, the records on the other side
        (table, rows, columns),
        (rows - table, rows, n - columns),
        (columns - table, columns, n - rows),
    )
    found = np.zeros((3, *table.shape), dtype=bool)
    for way, (exceptions, *counts) in zip(found, ways, strict=True):
        trials, against = (np.broadcast_to(count, table.shape) for count in counts)
        likely = few_enough(exceptions, np.minimum(trials, against))
        way[likely] = is_surprising(
            log_chance(exceptions[likely], trials[likely], against[likely] / n), looked_at
        )
    return found


def _of_pair(
    first: Looked, second: Looked, table: np.ndarray, ways: np.ndarray
) -> Iterator[_Found]:
    """The rules of one pair: those without exception first, and of either kind only those that say
    something new.
    """
    empty, onto_second, onto_first = ways
    rules = [
        *_implied(table, onto_second, False),
        *_implied(table.T, onto_first.T, True),
        *_empty(table, empty),
    ]
    covered: set[tuple[int, int]] = set()
    for rule in sorted(
        rules,
        key=lambda rule: (rule.exceptions > 0, rule.then is None, -len(rule.cells), -rule.could),
    ):
        if not rule.cells <= covered:
            covered |= rule.cells
            yield _Found(rule, *((second, first) if rule.turned else (first, second)))


def _implied(table: np.ndarray, hardly_broken: np.ndarray, turned: bool) -> Iterator[_Rule]:
    """Which state of one column implies which of the other."""
    n, own, other = int(table.sum()), table.sum(axis=1), table.sum(axis=0)
    for when, then in np.argwhere(hardly_broken & (table > 0)).tolist():
        exceptions, could = int(own[when] - table[when, then]), int(min(own[when], n - other[then]))
        out = frozenset(range(table.shape[1])) - {then}
        cells = frozenset((place, when) if turned else (when, place) for place in out)
        yield _Rule(cells, frozenset({when}), out, then, turned, could, exceptions)


def _empty(table: np.ndarray, hardly_any: np.ndarray) -> Iterator[_Rule]:
    """Combinations that never occur: for each state of one column those of the other that it rules
    out.
    """
    could = np.minimum(table.sum(axis=1)[:, None], table.sum(axis=0))
    for kind in (hardly_any & (table == 0), hardly_any & (table > 0)):
        cells = [(row, column) for row, column in np.argwhere(kind).tolist()]
        turned = bool(kind.any(axis=0).sum() < kind.any(axis=1).sum())
        for when in sorted({cell[turned] for cell in cells}):
            here = frozenset(cell for cell in cells if cell[turned] == when)
            out = frozenset(cell[not turned] for cell in here)
            counts = (int(sum(of[cell] for cell in here)) for of in (could, table))
            yield _Rule(here, frozenset({when}), out, None, turned, *counts)


def _without_what_follows(found: Sequence[_Found], place: Mapping[str, int]) -> list[_Found]:
    """Without implications s -> u where s -> t and t -> u hold too and the column of t is not the
    last of the three that is known.
    """
    onto: dict[_State, set[_State]] = {}
    exact = [each for each in found if each.rule.then is not None and not each.rule.exceptions]
    for each in exact:
        onto.setdefault(_ends(each)[0], set()).add(_ends(each)[1])
    follows = set()
    for each in exact:
        one, other = _ends(each)
        last = max(place[one[0]], place[other[0]])
        if any(
            place[middle[0]] < last and other in onto.get(middle, ())
            for middle in onto[one] - {other}
        ):
            follows.add(id(each))
            onto[one].remove(other)  # what follows is no reason to leave out another one
    return [each for each in found if id(each) not in follows]


def _ends(each: _Found) -> tuple[_State, _State]:
    return (each.one.name, next(iter(each.rule.when))), (each.other.name, int(each.rule.then or 0))


def _finding(group: Sequence[_Found]) -> RuleFinding:
    """Rules in words that say the same of several states: where `one` is in one of them, `other` is
    in another, or in none of some.
    """
    (rule, one, other), could = group[0], sum(each.rule.could for each in group)
    when = one.is_in({place for each in group for place in each.rule.when})
    then = other.is_not_in(rule.out) if rule.then is None else other.is_in([rule.then])
    kind = "never" if rule.then is None else "implies"
    exceptions = sum(each.rule.exceptions for each in group)
    return RuleFinding(
        kind,
        (one.name, other.name),
        f"{then} where {when}",
        could,
        exceptions,
        (("implied", (when, then)),),
    )
