"""Weights made anew without a record: how much less the others' likelihood would weigh, had its
value not been there (METHODS 13.1).

Risk weights read everybody's values: leave record i out, and the weights of the others of its known
pattern change. Of a pattern of M records all M changes of M weights are a matrix, so that what they
do to a draw's log posterior is a product of matrices.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from riskweighted.common.errors import InputError
from riskweighted.disclosure.coding import Coding
from riskweighted.intruder.world import World
from riskweighted.weights.families import FAMILIES, family_settings
from riskweighted.weights.scheme_names import BY_RISK, FILE, UNWEIGHTED, parse_scheme

__all__ = ["MOST", "Weighting", "can_leave_one_out", "change_of_weights", "depends_on_values"]

# records of a pattern whose weights are made anew where sorted ends do not do, for marginal
# weights; for k-way ones a fifth
MOST = 20_000
_SORTED = 4_000  # records of a pattern from which on sorted ends are summed over, where they do
_COLUMNS = 2_000  # records that are left out in one product


class Weighting(NamedTuple):
    """How the weights of a fit were made: a scheme, `risk_of` of several variables, the adjustment
    clip(scale a + shift, 0, 1), and the world in which risk was measured for them, if it is not the
    one that attribution is asked in (another radius).
    """

    scheme: str
    risk_of: object = "each-variable"
    scale: float = 1.0
    shift: float = 0.0
    cluster: str | None = None
    world: World | None = None
    depends: str | None = None  # of weights of one's own, see `riskweighted.weights.user_weights`

    @property
    def untold(self) -> bool:
        """Whether nobody knows what the weights would be without a record."""
        return self.depends == FILE and parse_scheme(self.scheme).column is not None


class _Cut(NamedTuple):
    """Of `drop-riskiest`: the records' risks in order, and the share of them that is kept."""

    ordered: np.ndarray
    share: float


_ANEW = ("uniform", "mix", "power", "drop-riskiest", BY_RISK)  # families


def can_leave_one_out(weighting: Weighting) -> bool:
    """Whether weights of this kind can be made anew here; others are held as they are, which is
    said.
    """
    named = parse_scheme(weighting.scheme)
    if weighting.cluster is not None or named.centred:
        return False
    if weighting.depends is not None:
        return not weighting.untold
    if weighting.world is not None and weighting.world.others and named.name == "drop-riskiest":
        return False
    return named.name not in FAMILIES or named.name in _ANEW


def depends_on_values(weighting: Weighting) -> bool:
    """Whether a record's value has any part in the weights of others."""
    if weighting.depends is not None:
        return weighting.depends == FILE
    return parse_scheme(weighting.scheme).name not in (UNWEIGHTED, "uniform")


class _Pattern(NamedTuple):
    """Of a pattern of M records: ``inside`` (M, M), whether the value of column h lies in the ball
    of row j.
    """

    rows: np.ndarray
    inside: np.ndarray


def change_of_weights(
    world: World, weighting: Weighting, alpha: np.ndarray, terms: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return sum_{j != i} (a_j^-i - a_j) l_js - a_i l_is of every record i, (n, S), and of which
    records it is known, (n,).

    Parameters
    ----------
    world : World
        Under the scenario that the weights were made for.
    weighting : Weighting
    alpha : array (n,)
        The weights; InputError where the scheme gives others.
    terms : array (n, S)
        log p(y_i | theta_s), times the survey weight where there is one.
    """
    changes = -alpha[:, None] * np.where(alpha[:, None] > 0, terms, 0.0)
    known = np.ones(len(alpha), dtype=bool)
    if not depends_on_values(weighting):
        return changes, known
    if world.others:
        for rows, made in _change_of_least(world.each, weighting, alpha, terms):
            known[rows] = made is not None
            changes[rows] = changes[rows] if made is None else made
        return changes, known
    coding, k = Coding(world), _tuple_size(weighting)
    cut, order = _cut_of(world, weighting), np.argsort(world.patterns.codes, kind="stable")
    kept = None if cut is None else _Kept(world, alpha, terms)
    intervals = k == 1 and cut is None and len(coding.truth) == 1
    for rows in np.split(order, np.cumsum(world.patterns.sizes)[:-1]):
        if intervals and len(rows) > _SORTED:
            changes[rows] = _change_by_ends(coding, weighting, alpha[rows], rows, terms[rows])
            continue
        if len(rows) > (MOST if k == 1 else MOST // 5):
            known[rows] = False
            continue
        pattern = _Pattern(rows, _inside(coding, rows))
        _require_same(weighting, _alpha(weighting, _risks(world, pattern, k), cut), alpha[rows])
        for start in range(0, len(rows), _COLUMNS):
            left = np.arange(start, min(start + _COLUMNS, len(rows)))
            risks = _risks_without(world, pattern, k, left)
            cuts = (
                None
                if cut is None
                else _cuts_without(cut, alpha[rows], _risks(world, pattern, k), risks, left)
            )
            made = _alpha(weighting, risks, cut if cuts is None else cuts)
            made[left, np.arange(len(left))] = 0.0  # the record's own, which goes altogether
            changes[rows[left]] = (made - alpha[rows][:, None]).T @ terms[rows]
            if kept is not None and cuts is not None:
                changes[rows[left]] += kept.beyond(rows, _risks(world, pattern, k), cuts)
    return changes, known


def _change_of_least(
    worlds: Sequence[World], weighting: Weighting, alpha: np.ndarray, terms: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
    """`change_of_weights` of the smallest weights over several intruders: some records and the
    changes without each of them, None where there are too many.

    Without a record, whoever shares a known pattern with it under any of them may weigh otherwise.
    """
    k, group = _tuple_size(weighting), _joined(worlds)
    most, order = (MOST if k == 1 else MOST // 5) // len(worlds), np.argsort(group, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(group))[:-1]):
        if len(rows) > most:
            yield rows, None
            continue
        patterns = [list(_patterns_within(world, rows)) for world in worlds]
        held = np.empty((len(worlds), len(rows)))
        for w, world in enumerate(worlds):
            for members, pattern in patterns[w]:
                held[w, members] = _alpha(weighting, _risks(world, pattern, k), None)
        _require_same(weighting, held.min(axis=0), alpha[rows])
        for start in range(0, len(rows), _COLUMNS):
            left = np.arange(start, min(start + _COLUMNS, len(rows)))
            least = np.full((len(rows), len(left)), np.inf)
            for w, world in enumerate(worlds):
                made = np.repeat(held[w][:, None], len(left), axis=1)
                for members, pattern in patterns[w]:
                    gone = np.flatnonzero(np.isin(members, left))
                    if len(gone):
                        risks = _risks_without(world, pattern, k, gone)
                        made[np.ix_(members, members[gone] - start)] = _alpha(
                            weighting, risks, None
                        )
                np.minimum(least, made, out=least)
            least[left, np.arange(len(left))] = 0.0  # the record's own
            yield rows[left], (least - alpha[rows][:, None]).T @ terms[rows]


def _joined(worlds: Sequence[World]) -> np.ndarray:
    """Groups (n,) of records that known patterns of any world join, directly or by others."""
    n, codes = len(worlds[0].confidential), [world.patterns.codes for world in worlds]
    begins = n + np.cumsum([0, *(of.max() + 1 for of in codes)])
    ends = np.concatenate([of + begin for of, begin in zip(codes, begins[:-1], strict=True)])
    places = (np.tile(np.arange(n), len(worlds)), ends)
    graph = coo_array((np.ones(len(ends)), places), shape=(begins[-1], begins[-1]))
    return np.asarray(connected_components(graph, directed=False)[1][:n])


def _patterns_within(world: World, rows: np.ndarray) -> Iterator[tuple[np.ndarray, _Pattern]]:
    """The known patterns of some records, whole ones: places among the rows, and the pattern."""
    codes, coding = world.patterns.codes[rows], Coding(world)
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        yield members, _Pattern(rows[members], _inside(coding, rows[members]))


def _require_same(weighting: Weighting, made: np.ndarray, alpha: np.ndarray) -> None:
    if not np.allclose(made, alpha, atol=1e-9):
        raise InputError(
            f"the weights of the fit are not those of scheme {weighting.scheme!r} under this "
            "scenario"
        )


def _change_by_ends(
    coding: Coding, weighting: Weighting, alpha: np.ndarray, rows: np.ndarray, terms: np.ndarray
) -> np.ndarray:
    """`change_of_weights` of a pattern's M records, (M, S), for weights that are a function of a
    record's own risk, of one variable.

    Without record i, record j has one of two weights: that where i's value lay in its ball, or that
    where it lay outside. Who has i's value in its ball are those whose lower end is at most that
    value, less those whose upper end lies below it.
    """
    y, size = coding.truth[0, rows], len(rows)
    lower, upper = (ends[0, rows] for ends in coding.reach)
    ordered = np.sort(y)
    outside = size - (
        np.searchsorted(ordered, upper, "right") - np.searchsorted(ordered, lower, "left")
    )
    _require_same(weighting, _alpha(weighting, outside / size, None), alpha)
    was_near = _alpha(weighting, outside / (size - 1), None)
    was_far = _alpha(weighting, np.maximum(outside - 1, 0) / (size - 1), None)
    moved = (was_near - was_far)[:, None] * terms
    near = _sum_below(lower, moved, y, "right") - _sum_below(upper, moved, y, "left")
    return np.asarray((was_far - alpha) @ terms + near - was_near[:, None] * terms)


def _sum_below(
    ends: np.ndarray, values: np.ndarray, y: np.ndarray, side: Literal["left", "right"]
) -> np.ndarray:
    """Sums of values (M, S) over the ends (M,) that lie below each y (M,), (M, S); "right" counts
    those at y too.
    """
    order = np.argsort(ends, kind="stable")
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values[order], axis=0)])
    return np.asarray(sums[np.searchsorted(ends[order], y, side)])


def _tuple_size(weighting: Weighting) -> int:
    """k of k-way weights; 1 where they are a function of a record's own risk."""
    name = parse_scheme(weighting.scheme).name
    return 2 if name == "pairwise" else int(name.split("-")[0]) if name.endswith("-way") else 1


def _inside(coding: Coding, rows: np.ndarray) -> np.ndarray:
    """Whether the value of column h lies in the box of row j, (M, M)."""
    lower, upper = (ends[:, rows] for ends in coding.reach)
    truth = coding.truth[:, rows]
    by_variable = [
        (low[:, None] <= y) & (y <= up[:, None])
        for low, up, y in zip(lower, upper, truth, strict=True)
    ]
    return np.asarray(np.logical_and.reduce(by_variable))


def _joint(outside: np.ndarray, missing: np.ndarray, size: int, k: int) -> np.ndarray:
    """The mean k-way risk from who lies outside whose box (M, M) and how many boxes miss each
    candidate (M, m), in a pattern of `size`.
    """
    k = min(k, size)
    value = np.ones_like(missing, dtype=float)
    tuples = 1.0
    for t in range(1, k):
        value *= np.maximum(missing - t, 0)
        tuples *= size - t
    return np.asarray(outside @ value / (size * tuples))


def _policy(world: World, risks: np.ndarray, size: int) -> np.ndarray:
    """Risks of a pattern of one record are what the scenario says of singletons."""
    if size > 1:
        return risks
    return np.full_like(risks, 0.0 if world.scenario.singletons == "paper" else 1.0)


def _risks(world: World, pattern: _Pattern, k: int) -> np.ndarray:
    """The risks of a pattern's records, (M,)."""
    size, outside = len(pattern.rows), 1.0 - pattern.inside
    risks = outside.sum(axis=1) / size if k == 1 else _joint(outside, outside.sum(axis=0), size, k)
    return _policy(world, risks, size)


def _risks_without(world: World, pattern: _Pattern, k: int, left: np.ndarray) -> np.ndarray:
    """The risks of a pattern's records without each of some, (M, m)."""
    size, outside = len(pattern.rows) - 1, 1.0 - pattern.inside
    if size == 0:
        return np.ones((1, len(left)))
    if k == 1:
        risks = (outside.sum(axis=1)[:, None] - outside[:, left]) / size
        return _policy(world, risks, size)
    missing = outside.sum(axis=0)[:, None] - outside[left].T
    gone = np.zeros_like(missing)
    gone[left, np.arange(len(left))] = 1.0
    k = min(k, size)
    value, tuples = 1.0 - gone, 1.0
    for t in range(1, k):
        value *= np.maximum(missing - t, 0)
        tuples *= size - t
    return _policy(world, np.asarray(outside @ value / (size * tuples)), size)


def _alpha(
    weighting: Weighting, risks: np.ndarray, cut: _Cut | float | np.ndarray | None
) -> np.ndarray:
    """Weights from risks."""
    named = parse_scheme(weighting.scheme)
    settings = family_settings(named.name, named.settings) if named.name in FAMILIES else {}
    if isinstance(cut, _Cut):
        cut = np.quantile(cut.ordered, cut.share)
    if named.name == "drop-riskiest":
        made = (risks <= cut).astype(float)
    elif named.name == "power":
        made = (1 - risks) ** settings["g"]
    elif named.name == "mix":
        made = 1 - settings["t"] * risks
    else:
        made = np.clip(1 - risks, 0.0, 1.0)
    return np.asarray(np.clip(weighting.scale * made + weighting.shift, 0.0, 1.0))


def _all_risks(world: World) -> np.ndarray:
    from riskweighted.risk.identification import confidential_risk

    return np.asarray(confidential_risk(world))


def _cut_of(world: World, weighting: Weighting) -> _Cut | None:
    named = parse_scheme(weighting.scheme)
    if named.name != "drop-riskiest":
        return None
    return _Cut(
        np.sort(_all_risks(world)), 1 - family_settings("drop-riskiest", named.settings)["q"]
    )


def _cuts_without(
    cut: _Cut, alpha: np.ndarray, risks: np.ndarray, without: np.ndarray, left: np.ndarray
) -> np.ndarray:
    """The quantile of the risks without each of some records of a pattern, (m,): those of other
    patterns stay what they are.
    """
    ordered = cut.ordered
    others = np.delete(
        ordered, np.searchsorted(ordered, np.sort(risks)) + _among_equals(np.sort(risks))
    )
    cuts = np.empty(len(left))
    for at, record in enumerate(left):
        cuts[at] = np.quantile(np.append(others, np.delete(without[:, at], record)), cut.share)
    return cuts


def _among_equals(ordered: np.ndarray) -> np.ndarray:
    """The number of each value among those equal to it, from 0."""
    first = np.searchsorted(ordered, ordered)
    return np.arange(len(ordered)) - first


class _Kept:
    """What the records of other patterns add where the cut of `drop-riskiest` moves."""

    def __init__(self, world: World, alpha: np.ndarray, terms: np.ndarray) -> None:
        risks = _all_risks(world)
        self._order = np.argsort(risks, kind="stable")
        self._ordered, self._terms = risks[self._order], terms
        self._cut = math.nan if not (alpha > 0).any() else float(risks[alpha > 0].max())

    def beyond(self, rows: np.ndarray, risks: np.ndarray, cuts: np.ndarray) -> np.ndarray:
        """Sum over records outside a pattern of the change of their weight times their terms, (m,
        S).
        """
        made = np.zeros((len(cuts), self._terms.shape[1]))
        here = np.zeros(len(self._order), dtype=bool)
        here[rows] = True
        start = int(np.searchsorted(self._ordered, self._cut, "right"))
        for cut in np.unique(cuts):
            end = int(np.searchsorted(self._ordered, cut, "right"))
            moved = self._order[min(start, end) : max(start, end)]
            total = self._terms[moved[~here[moved]]].sum(axis=0)
            made[cuts == cut] = total if end > start else -total
        return made
