"""Do copies lie nearer to true values than the fit's own masses say? Tests whose null is exact, given each dataset's own draw.

Given theta, draws are independent of the values and have masses that the fit states, so every count of copies near true values is a sum
of independent trials of known chances, and every copy a uniform number of its own distribution. No refit, no simulation; that a model
misfits does not matter. They look at the datasets as they leave, before rows are exchanged, and at many draws, which is what another run
would release.
"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import binom, chi2, norm, rankdata

from riskweighted.common.errors import InputError, SingletonWarning
from riskweighted.contract.drawing import spread_draws
from riskweighted.design.precision import Precision
from riskweighted.disclosure.policy import Broken
from riskweighted.intruder.world import World
from riskweighted.risk.expected import isolated_records, top_values
from riskweighted.risk.identification import confidential_risk
from riskweighted.risk.law import Law, Sets, Space, laws, not_in_closed_form
from riskweighted.sequence.drawing import Thetas
from riskweighted.sequence.fit import Fit

__all__ = ["Copies", "copy_tests"]

_SHARES = (0.0, 0.05, 0.25, 1.0)  # of the radius
_NEAR = (0.0, 0.05)  # of the radius, around amounts at the ends
_ENDS = 5  # amounts at each end
_LEVEL = 0.0005  # of each test of each of two ways of looking: the datasets as they leave have twice that
_MANY, _FACTOR = 10_000, 1.02  # expected copies, from which on a share beyond them counts too
_DRAWS = 400
_ROOM = 2_000_000  # copies that are looked at
_CALLS = 5_000  # of masses of other records' values
_MOST_LEVELS = 20  # that are scored
_CLIPPED = 8.0  # standard deviations
_WIDE = 1e-3  # of a value: where not even that has a mass, a copy is impossible
_RULE = "copies"
COLUMNS = ["datasets", "variable", "test", "of", "radius", "found", "expected", "p", "level", "verdict"]


class Copies(NamedTuple):
    """What the copy tests say. Confidential.

    ``broken``: findings for `riskweighted.disclosure.policy.judge`; ``untold``: what is not judged, and why, for ``attrs["not_judged"]``;
    ``table``: of each test the smallest p, already times the number of its questions.
    """

    broken: tuple[Broken, ...]
    untold: tuple[str, ...]
    table: pd.DataFrame


def copy_tests(
    fit: Fit,
    world: World,
    datasets: Iterable[pd.DataFrame],
    places: Sequence[Sequence[tuple[int, int]]],
    precision: Precision = None,
    *,
    patterns: np.ndarray | None = None,
    draws: int = _DRAWS,
    random_seed: int | None = None,
    thetas: Thetas | None = None,
) -> Copies:
    """Return whether copies lie nearer to true values than chance has it, in the datasets of a fit and in many draws (VERDICT 2).

    Parameters
    ----------
    world : World
        The confidential data under the scenario by which it is judged; of the fit's variables its synthetic ones are tested, one at a time.
    datasets : L data frames
        As they leave but for the order of rows: row i is record i's.
    places : L sequences of (chain, draw)
        Of each dataset the draw of every block, as `Fit.places` gives them.
    precision : as in `Fit.synthesize`
    patterns : (n,), optional
        Codes of the patterns of columns that are released unaltered; those of the scenario's known variables otherwise.
    draws : int
        Posterior draws of which datasets are made besides, at most as many as the fit has; 0 for none.
    random_seed : int, optional
        Of these datasets, and of where in its cell a copy lies.
    thetas : block -> parameter name -> value, optional
        Parameters of all datasets, where they were not drawn.

    Returns
    -------
    Copies. A release of a fit that copies nothing is refused with probability .002, and with .001 more by its other draws.

    Examples
    --------
    >>> from riskweighted.intruder.world import make_world
    >>> from riskweighted.runs.examples import fit, scenario
    >>> datasets = fit.synthesize(5, random_seed=1)
    >>> found = copy_tests(fit, make_world(fit.confidential, scenario), datasets, fit.places(5, random_seed=1), draws=20, random_seed=2)
    >>> found.broken, found.untold
    ((), ())
    """
    rng, variables = np.random.default_rng(random_seed), [name for name in fit.variables if name in world.scenario.synthetic]
    if fit.keeps_true_values:
        return Copies((), (), pd.DataFrame(columns=COLUMNS))
    unknown = not_in_closed_form(fit, variables, rng, precision)
    untold = tuple(f"copies of {name!r} are not compared with chance: {why}" for name, why in unknown.items())
    spaces = _spaces(fit, world, [name for name in variables if name not in unknown], precision)
    if not spaces:
        return Copies((), untold, pd.DataFrame(columns=COLUMNS))
    looked = _Looked.at(world, spaces, world.patterns.codes if patterns is None else patterns)
    given = (fit.thetas_at(each) if thetas is None else thetas for each in places)
    rows = looked.judged("as they leave", zip(datasets, given, strict=True), len(places), 2 * _LEVEL, rng)
    count = _how_many(fit, draws, len(world.confidential)) if thetas is None else draws
    if count:
        rows += looked.judged("other draws", _drawn(fit, count, thetas, rng, precision), count, _LEVEL, rng)
    table = pd.DataFrame(rows, columns=COLUMNS)
    return Copies(tuple(_broken(table)), (*untold, *_untold(table)), table)


def _spaces(fit: Fit, world: World, variables: Sequence[str], precision: Precision) -> list[Space]:
    links = (link for link in fit.prepared.links if link.variable in variables)
    return [Space(fit, link, precision, world.scenario.codes_of(link.variable)) for link in links]


def _how_many(fit: Fit, draws: int, n: int) -> int:
    available = fit.sizes["chain"] * fit.sizes["draw"] if fit.estimates else draws
    return min(draws, available, max(_ROOM // n, 20))


def _drawn(
    fit: Fit, count: int, thetas: Thetas | None, rng: np.random.Generator, precision: Precision
) -> Iterator[tuple[pd.DataFrame, Thetas]]:
    """Datasets of draws spread evenly, with their parameters; they do not leave."""
    spread = spread_draws(fit.sizes["chain"], fit.sizes["draw"], count) if fit.estimates and thetas is None else [(0, 0)] * count
    for place in spread:
        theta = fit.thetas(*place) if thetas is None else thetas
        try:
            frame = fit.drawing.made(theta, rng, precision)
        except InputError:  # rules leave these parameters no value, so no dataset is released of them
            continue
        yield frame, theta


def _broken(table: pd.DataFrame) -> Iterator[Broken]:
    for _, row in table[table["verdict"] == "refuse"].iterrows():
        figures = "" if np.isnan(row["found"]) else f", {row['found']:.0f} where {row['expected']:.3g} are expected"
        near = "" if np.isnan(row["radius"]) else f" within {row['radius']:g} of the radius"
        yield Broken(
            _RULE, f"copies of {row['variable']!r} tell the true values, {row['test']}, {row['of']}{near} ({row['datasets']}){figures}"
        )


def _untold(table: pd.DataFrame) -> Iterator[str]:
    refused = set(table.loc[table["verdict"] == "refuse", "variable"])
    for name in dict.fromkeys(name for name in table.loc[table["verdict"] == "not judged", "variable"] if name not in refused):
        yield f"masses and draws of {name!r} disagree: fewer copies lie near true values than its model states"


class _Group(NamedTuple):
    """Records (n,) of which copies are counted together."""

    name: str
    members: np.ndarray


class _Owner(NamedTuple):
    """A union of balls: what it is of, at which share of the radius, and of whom, where it is of one record."""

    of: str
    share: float
    record: int = -1


@dataclass(frozen=True, eq=False)
class _Unions:
    """The masses and counts of unions of intervals, each for the records of a pattern, several patterns at once.

    ``layers``: of every record a set and its ``owner``, the union that it is a part of, from 1 (0: none); sets of one union are disjoint.
    ``owners`` (U,); ``rows`` (U,): of the patterns concerned. Confidential.
    """

    layers: list[tuple[Sets, np.ndarray]] = field(repr=False)
    owners: tuple["_Owner", ...]
    rows: np.ndarray = field(repr=False)

    def look(self, law: Law, copies: np.ndarray) -> np.ndarray:
        """Copies found, and expected, of every union, (2, U)."""
        total = np.zeros((2, len(self.owners)))
        for sets, owner in self.layers:
            for place, values in enumerate((law.space.hold(sets, copies), law.mass(sets))):
                total[place] += np.bincount(owner, values, len(self.owners) + 1)[1:]
        return total


@dataclass(frozen=True, eq=False)
class _Variable:
    """What is asked of one variable, before any copy is seen. Confidential."""

    space: Space
    patterns: np.ndarray = field(repr=False)
    truth: np.ndarray = field(repr=False)
    balls: list[Sets] = field(repr=False)
    groups: list[_Group] = field(repr=False)

    @property
    def name(self) -> str:
        return self.space.link.variable

    @cached_property
    def amounts(self) -> np.ndarray:
        """The records whose value is an amount that can be released."""
        return np.flatnonzero(self.space.is_amount(self.truth) & ~self.balls[0].ends.empty)

    @cached_property
    def persons(self) -> np.ndarray:
        """The records with the five lowest and the five highest amounts, ties by row, (10,) at most."""
        order = self.amounts[np.argsort(self.truth[self.amounts], kind="stable")]
        return order if len(order) <= 2 * _ENDS else np.concatenate([order[:_ENDS], order[-_ENDS:]])

    @cached_property
    def anywhere(self) -> _Unions | None:
        """All true cells of a pattern, in all its rows; None of levels."""
        return self._unions([(_Owner("the cells of all records", 0.0), row, 0) for row in self.amounts])

    @cached_property
    def ends(self) -> _Unions | None:
        """The five amounts at each end together, and each alone, at two radii."""
        persons, named = self.persons, []
        if len(persons) < 2 * _ENDS:
            return None
        for place, share in enumerate(_NEAR):
            for number, row in enumerate(persons):
                side = "the five lowest" if number < _ENDS else "the five highest"
                named += [(_Owner(side, share), row, place), (_Owner(f"one of {side}", share, number), row, place)]
        return self._unions(named)

    def _unions(self, named: Sequence[tuple[_Owner, int, int]]) -> _Unions | None:
        """Of owners, each with a record in whose ball copies are counted, and the place of the radius."""
        if not named:
            return None
        owners = {owner: number for number, owner in enumerate(dict.fromkeys(owner for owner, *_ in named))}
        held: dict[tuple[int, int], list[tuple[float, ...]]] = {}
        for owner, row, place in named:
            sets = self.balls[place]
            ends = (sets.first[row], sets.last[row], sets.ends.lower[row], sets.ends.upper[row])
            held.setdefault((int(self.patterns[row]), owners[owner]), []).append(tuple(map(float, ends)))
        parts: dict[int, list[tuple[int, float, float]]] = {}
        for (pattern, number), pieces in held.items():
            parts.setdefault(pattern, []).extend((number, first, last) for first, last in _merged(pieces))
        sizes, layers = np.bincount(self.patterns), []
        for depth in range(max(map(len, parts.values()))):
            which, first, last = np.full(len(sizes), -1), *np.full((2, len(sizes)), np.nan)
            for pattern, spans in parts.items():
                if depth < len(spans):
                    which[pattern], first[pattern], last[pattern] = spans[depth]
            layers.append((self.space.sets(first[self.patterns], last[self.patterns], True), which[self.patterns] + 1))
        rows = np.zeros(len(owners))
        for pattern, number in held:
            rows[number] += sizes[pattern]
        return _Unions(layers, tuple(owners), rows)


def _merged(pieces: list[tuple[float, ...]]) -> list[tuple[float, float]]:
    """Numbers from and to, of intervals whose draws overlap or adjoin joined."""
    joined: list[list[float]] = []
    for first, last, lower, upper in sorted(pieces):
        if joined and lower <= joined[-1][2] + 1e-3 * (upper - lower):
            joined[-1][1], joined[-1][2] = max(joined[-1][1], last), max(joined[-1][2], upper)
        else:
            joined.append([first, last, upper])
    return [(first, last) for first, last, _ in joined]


@dataclass(eq=False)
class _Counts:
    """What one variable's copies came to over S datasets. Confidential.

    ``person`` (2, R, n): copies found, and expected, at each radius; ``dataset`` (S, 2, R, G): of groups; ``unions``: of `_Unions` (2, U);
    ``first``, ``second`` (n,): sums of the normal numbers of copies and of their squares; ``impossible``: copies without a mass.
    """

    person: np.ndarray
    dataset: list[np.ndarray] = field(default_factory=list)
    ends: np.ndarray | float = 0.0
    anywhere: np.ndarray | float = 0.0
    anywhere_in: int = 0
    first: np.ndarray | float = 0.0
    second: np.ndarray | float = 0.0
    impossible: int = 0


@dataclass(frozen=True, eq=False)
class _Looked:
    """What is looked at: the variables, in order, with what is asked of each. Confidential."""

    variables: list[_Variable]
    scores: dict[str, np.ndarray] = field(repr=False)

    @classmethod
    def at(cls, world: World, spaces: Sequence[Space], patterns: np.ndarray) -> "_Looked":
        n = len(world.confidential)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SingletonWarning)
            isolated = isolated_records(confidential_risk(world).to_numpy())
        variables, scores = list[_Variable](), dict[str, np.ndarray]()
        for space in spaces:
            name, scenario = space.link.variable, world.scenario
            truth = space.read(world.confidential[name])
            shares = (0.0,) if space.of_levels else _SHARES
            half = np.zeros(n)
            if not space.of_levels:
                half = np.full(n, float(scenario.radius_of(name)))
                half = np.maximum(half * np.abs(truth) if scenario.kind_of(name) == "relative" else half, scenario.min_radius)
            balls = [space.around(truth, share * np.nan_to_num(half)) for share in shares]
            groups = [_Group("all", np.ones(n, dtype=bool)), _Group("isolated", isolated)]
            amount = np.flatnonzero(space.is_amount(truth))
            if len(amount):
                top, five = np.zeros((2, n), dtype=bool)
                top[amount] = top_values(truth[amount])
                five[amount[np.argsort(truth[amount], kind="stable")[-_ENDS:]]] = True
                groups += [_Group("top 1 %", top), _Group("top 5", five)]
            variables.append(_Variable(space, patterns, truth, balls, groups))
            scores |= _scores(space, truth)
        return cls(variables, scores)

    def judged(
        self, named: str, datasets: Iterable[tuple[pd.DataFrame, Thetas]], count: int, level: float, rng: np.random.Generator
    ) -> list[tuple[object, ...]]:
        """The rows of the table, of so many datasets as they come."""
        counts = {each.name: _Counts(np.zeros((2, len(each.balls), len(each.truth)))) for each in self.variables}
        spaces, total = [each.space for each in self.variables], 0
        for number, (frame, thetas) in enumerate(datasets):
            total += 1
            for each, law in zip(self.variables, laws(spaces, frame, thetas), strict=True):
                _count(counts[each.name], each, law, each.space.read(frame[each.name]), number, count, rng)
        level, rows = level / len(self.variables), []
        for each in self.variables:
            found = [*_in_row(each, counts[each.name], level), *_elsewhere(each, counts[each.name], level)]
            found += _pinned(counts[each.name], total, level / 4)
            rows += [(named, each.name, *row) for row in found]
        return rows + [(named, *row) for row in self._scored(counts, total, level * len(self.variables) / 4)]

    def _scored(self, counts: dict[str, _Counts], total: int, level: float) -> Iterator[tuple[object, ...]]:
        """Do copies of one column rise with the true values of the same or another one?"""
        asked = len(self.scores) * len(counts)
        for name, of_variable in counts.items():
            least = 1.0
            for weights in self.scores.values():
                score = float((weights * of_variable.first).sum() / np.sqrt(total * (weights**2).sum()))
                least = min(least, 2 * float(norm.sf(abs(score))))
            p = min(1.0, least * max(asked, 1))
            yield name, "in score", "all", np.nan, np.nan, np.nan, p, level, "refuse" if p < level else "pass"


def _scores(space: Space, truth: np.ndarray) -> dict[str, np.ndarray]:
    """Centred normal scores (n,) of true values; of levels one for each, of the commonest."""
    name, n = space.link.variable, len(truth)
    if not space.of_levels:
        weights = ndtri((rankdata(np.nan_to_num(truth, nan=-np.inf)) - 0.5) / n)
        given = {name: weights - weights.mean()}
    else:
        codes, counts = np.unique(np.nan_to_num(truth, nan=-1.0), return_counts=True)
        kept = codes[np.argsort(-counts, kind="stable")[:_MOST_LEVELS]]
        held = {f"{name} {code:.0f}": (np.nan_to_num(truth, nan=-1.0) == code).astype(float) for code in kept}
        given = {key: weights - weights.mean() for key, weights in held.items()}
    return {key: weights for key, weights in given.items() if (weights**2).sum() > 1e-9}


def _count(counts: _Counts, each: _Variable, law: Law, copies: np.ndarray, number: int, total: int, rng: np.random.Generator) -> None:
    """Add what one dataset gives."""
    space = each.space
    both = np.array([(space.hold(sets, copies).astype(float), law.mass(sets)) for sets in each.balls]).transpose(1, 0, 2)
    counts.person += both
    patterns = np.array([[np.bincount(each.patterns, values) for values in of_kind] for of_kind in both])
    groups = np.array([both[:, :, group.members].sum(axis=2) for group in each.groups]).transpose(1, 2, 0)
    counts.dataset.append(np.concatenate([groups, patterns], axis=2))
    if each.ends is not None:
        counts.ends = counts.ends + each.ends.look(law, copies)
    if each.anywhere is not None and (number == 0 or number * len(each.anywhere.layers) < _CALLS or number < min(total, 20)):
        counts.anywhere = counts.anywhere + each.anywhere.look(law, copies)
        counts.anywhere_in += 1
    normal, impossible = _normal(space, law, copies, rng)
    counts.first, counts.second = counts.first + normal, counts.second + normal**2
    counts.impossible += impossible


def _normal(space: Space, law: Law, copies: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Copies as standard normal numbers (n,), by their distribution, at random within a cell; and how many have no mass at all."""
    missing, n = np.isnan(copies), len(copies)
    low, high, share = np.where(missing, np.nan, -np.inf), np.where(missing, np.nan, np.inf), rng.random(n)
    own = space.sets(copies, copies, missing=missing)
    cell, below = law.mass(own), law.mass(space.sets(low, copies, missing=True))
    above = np.where(missing, 1.0, law.mass(space.sets(copies, high)))
    lower, upper = below - share * cell, above - (1 - share) * cell
    with np.errstate(divide="ignore", invalid="ignore"):
        normal = np.where(lower <= 0.5, ndtri(np.clip(lower, 0, 1)), -ndtri(np.clip(upper, 0, 1)))
    impossible = cell <= 0
    if impossible.any():
        wide = space.sets(copies - _WIDE * np.abs(copies), copies + _WIDE * np.abs(copies), missing=missing)
        off_grid = own.ends.empty & ~np.isin(copies, space.special)
        impossible &= off_grid | (law.mass(wide) <= 0)
    return np.clip(np.nan_to_num(normal), -_CLIPPED, _CLIPPED), int(impossible.sum())


def _high(found: np.ndarray, expected: np.ndarray, trials: np.ndarray | int) -> np.ndarray:
    """The probability of so many copies or more; an upper bound whatever the single masses are (Hoeffding 1956)."""
    trials, expected = np.broadcast_to(trials, found.shape), np.maximum(expected, 0.0)
    tail = np.where(found >= expected + 1, binom.sf(found - 1, trials, np.minimum(expected / trials, 1.0)), 1.0)
    tail = np.where((found == 1) & (expected < 1), np.minimum(expected, 1.0), tail)
    return np.asarray(np.where((expected > _MANY) & (found <= _FACTOR * expected), 1.0, tail))


def _low(found: np.ndarray, expected: np.ndarray, trials: np.ndarray | int) -> np.ndarray:
    """The probability of so few copies or fewer."""
    trials = np.broadcast_to(trials, found.shape)
    tail = np.where(found <= expected - 1, binom.cdf(found, trials, np.minimum(expected / trials, 1.0)), 1.0)
    return np.asarray(np.where((expected > _MANY) & (found * _FACTOR >= expected), 1.0, tail))


def _worst(
    test: str, of: Sequence[str], radii: Sequence[float], both: np.ndarray, trials: np.ndarray | int, level: float
) -> tuple[object, ...]:
    """The row of the smallest p of copies found and expected (2, Q, R), times their number."""
    found, expected = both
    tails = _high(found, expected, trials)
    question, radius = divmod(int(tails.argmin()), tails.shape[1])
    p = min(1.0, float(tails[question, radius]) * tails.size)
    counted = float(found[question, radius]), float(expected[question, radius])
    return test, of[question] if len(of) > 1 else of[0], radii[radius], *counted, p, level, "refuse" if p < level else "pass"


def _in_row(each: _Variable, counts: _Counts, level: float) -> Iterator[tuple[object, ...]]:
    """Copies in the record's own row: of groups, of the ends, of every person over all datasets, of groups in every dataset."""
    radii, dataset = _SHARES[: len(each.balls)], np.array(counts.dataset)  # (S, 2, R, G)
    total, quarter = len(dataset), level / 4
    sizes = np.concatenate([[group.members.sum() for group in each.groups], np.bincount(each.patterns)]).astype(int)
    names = [*(group.name for group in each.groups), *["a released pattern"] * (len(sizes) - len(each.groups))]
    trials = np.broadcast_to(sizes[:, None], (len(sizes), len(radii)))
    pooled = dataset.sum(axis=0).transpose(0, 2, 1)  # (2, G, R)
    yield _worst("in the row itself", names, radii, pooled, trials * total, quarter)
    if len(each.persons):
        yield _worst("in the row itself", ["one at the ends"], radii, counts.person[:, :, each.persons].transpose(0, 2, 1), total, quarter)
    yield _worst("in the row itself", ["one record"], radii, counts.person.transpose(0, 2, 1), total, quarter)
    single = dataset.transpose(1, 0, 3, 2).reshape(2, -1, len(radii))
    yield _worst("in a dataset", [f"{name} in one dataset" for name in names] * total, radii, single, np.tile(trials, (total, 1)), quarter)
    p = float(min(1.0, _low(pooled[0], pooled[1], trials * total).min() * pooled[0].size))
    verdict = "not judged" if p < level else "pass"
    yield "too few in the row itself", "all groups", np.nan, np.nan, np.nan, p, level, verdict
    yield "without a mass", "all", np.nan, float(counts.impossible), 0.0, np.nan, level, "refuse" if counts.impossible else "pass"


def _elsewhere(each: _Variable, counts: _Counts, level: float) -> Iterator[tuple[object, ...]]:
    """Copies of true amounts anywhere in their pattern."""
    total = len(counts.dataset)
    for test, unions, both, times in (
        ("anywhere in the pattern", each.anywhere, counts.anywhere, counts.anywhere_in),
        ("anywhere in the pattern", each.ends, counts.ends, total),
    ):
        if unions is not None:
            found, expected = np.asarray(both)
            tails = _high(found, expected, unions.rows * times)
            at, p = int(tails.argmin()), min(1.0, float(tails.min()) * len(tails))
            owner = unions.owners[at]
            yield test, owner.of, owner.share, float(found[at]), float(expected[at]), p, level / 4, "refuse" if p < level / 4 else "pass"


def _pinned(counts: _Counts, total: int, level: float) -> Iterator[tuple[object, ...]]:
    """Copies of a record that stay together over datasets, or all of them too close or too far."""
    if total < 2:
        return
    spread = np.maximum(counts.second - np.asarray(counts.first) ** 2 / total, 0.0)
    p = float(min(1.0, chi2.cdf(spread, total - 1).min() * len(spread)))
    yield "pinned", "one record", np.nan, np.nan, np.nan, p, level / 2, "refuse" if p < level / 2 else "pass"
    freedom = len(spread) * (total - 1)
    p = float(min(1.0, 2 * min(chi2.cdf(spread.sum(), freedom), chi2.sf(spread.sum(), freedom))))
    yield "pinned", "all", np.nan, np.nan, np.nan, p, level / 2, "refuse" if p < level / 2 else "pass"
