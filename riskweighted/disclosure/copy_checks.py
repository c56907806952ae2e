"""Do copies lie nearer to true values than the fit's own masses say? Tests whose null is exact,
given each dataset's own draw.

Given theta, draws are independent of the values and have masses that the fit states, so every count
of copies near true values is a sum of independent trials of known chances, and every copy a uniform
number of its own distribution. No refit, no simulation; that a model misfits does not matter. They
look at the datasets as they leave, before rows are exchanged, and at many draws, which is what
another run would release.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, hstack
from scipy.special import ndtri
from scipy.stats import binom, chi2, norm

from riskweighted.common.errors import InputError, SingletonWarning
from riskweighted.common.ranks import normal_scores
from riskweighted.contract.drawn_columns import spread_draws
from riskweighted.contract.synthesizer import is_strange
from riskweighted.disclosure.policy import COPIES, Broken
from riskweighted.intruder.world import World
from riskweighted.risk.balls import gives_mass
from riskweighted.risk.expected_identification import isolated_records, top_values
from riskweighted.risk.identification import confidential_risk
from riskweighted.risk.law import Law, Questions, Sets, Space, laws, not_in_closed_form
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sequence.drawing import Thetas
from riskweighted.sequence.fit import Fit

__all__ = ["Copies", "CopyTests", "copy_tests"]

_SHARES = (0.0, 0.05, 0.25, 1.0)  # of the radius
_NEAR = (0.0, 0.05)  # of the radius, around amounts at the ends
_ENDS = 5  # amounts at each end
# of each test of each of two ways of looking: the datasets as they leave have twice that
_LEVEL = 0.0005
_MANY, _FACTOR = 10_000, 1.02  # expected copies, from which on a share beyond them counts too
_DRAWS = 400
_ROOM = 800_000  # copies that are looked at, beside those that leave
# of masses of other records' values, a record; datasets in which they are asked in any case
_CALLS, _FEW = 2_000, 20
_CELLS = 100  # of a pattern, in which copies of any of its records are counted
_MOST_LEVELS = 20  # that are scored
_CLIPPED = 8.0  # standard deviations
_WIDE = 1e-3  # of a value: where not even that has a mass, a copy is impossible
COLUMNS = [
    "datasets",
    "variable",
    "test",
    "of",
    "radius",
    "found",
    "expected",
    "p",
    "level",
    "verdict",
]


class Copies(NamedTuple):
    """What the copy tests say. Confidential.

    ``broken``: findings for `riskweighted.disclosure.policy.judge`; ``untold``: which variables are
    not judged, and why; ``table``: of each test the smallest p, already times the number of its
    questions.
    """

    broken: tuple[Broken, ...]
    untold: dict[str, str]
    table: pd.DataFrame


class CopyTests:
    """The copy tests of a fit: datasets as they leave, and others, are counted one by one, and then
    it is asked what they come to.

    ``untold``: of which variables nothing can be asked, and why; ``silent``: those whose models
    give no masses. Confidential.
    """

    def __init__(
        self,
        fit: Fit,
        world: World,
        *,
        patterns: np.ndarray | None = None,
        random_seed: int | None = None,
    ) -> None:
        self._fit, self._rng = fit, np.random.default_rng(random_seed)
        variables = (
            []
            if fit.keeps_true_values
            else [name for name in fit.variables if name in world.scenario.synthetic]
        )
        unknown = not_in_closed_form(fit, variables, self._rng)
        self.silent = tuple(
            name for name in unknown if not all(gives_mass(block) for block in _blocks(fit, name))
        )
        self.untold = {
            name: f"copies of {name!r} are not compared with chance: {why}"
            for name, why in unknown.items()
        }
        links = [
            link
            for link in fit.prepared.links
            if link.variable in variables and link.variable not in unknown
        ]
        spaces = [Space(fit, link, world.scenario.codes_of(link.variable)) for link in links]
        asked = _asked(
            world, spaces, world.patterns.codes if patterns is None else patterns, self._rng
        )
        self._leaving, self._others = (_Looked(asked, self._rng) for _ in range(2))

    def leave(
        self, datasets: Iterable[pd.DataFrame], places: Sequence[Sequence[tuple[int, int]]]
    ) -> None:
        """Count datasets as they leave but for the order of rows, each with the draw of every block
        that it was made from.
        """
        for frame, place in zip(datasets, places, strict=True):
            self._leaving.see(frame, self._fit.thetas_at(place))

    def see(self, frame: pd.DataFrame, thetas: Thetas) -> None:
        """Count another dataset of the fit, which does not leave, unless there are enough of
        them.
        """
        if self._others.total < self._wanted(_DRAWS):
            self._others.see(frame, thetas)

    def draw(self, draws: int = _DRAWS) -> None:
        """Draw and count other datasets until there are so many, at most one for each posterior
        draw, spread evenly over them.
        """
        count = self._wanted(draws) - self._others.total
        if count <= 0 or not self._others.asked:
            return
        sizes = self._fit.sizes
        for place in (
            spread_draws(sizes["chain"], sizes["draw"], count)
            if self._fit.estimates
            else [(0, 0)] * count
        ):
            theta = self._fit.thetas(*place)
            # rules leave these parameters no value, so no dataset is released of them
            with suppress(InputError):
                self._others.see(self._fit.drawing.made(theta, self._rng), theta)

    def _wanted(self, draws: int) -> int:
        sizes = self._fit.sizes
        available = sizes["chain"] * sizes["draw"] if self._fit.estimates else draws
        return min(draws, available, max(_ROOM // len(self._fit.confidential), 20))

    def found(self) -> Copies:
        """What they come to."""
        rows = [
            *self._leaving.judged("as released", 2 * _LEVEL),
            *self._others.judged("other draws", _LEVEL),
        ]
        table = pd.DataFrame(rows, columns=COLUMNS)
        strange = {
            name: type(block.synthesizer).__name__
            for name in table["variable"].unique()
            for block in _blocks(self._fit, name)
            if is_strange(block.synthesizer)
        }
        return Copies(tuple(_broken(table, strange)), self.untold | _untold(table), table)


def _blocks(fit: Fit, variable: str) -> list[BlockFit]:
    return [fit.blocks[block.name] for block in fit.prepared.blocks if block.variable == variable]


def copy_tests(
    fit: Fit,
    world: World,
    datasets: Iterable[pd.DataFrame],
    places: Sequence[Sequence[tuple[int, int]]],
    *,
    patterns: np.ndarray | None = None,
    draws: int = _DRAWS,
    random_seed: int | None = None,
) -> Copies:
    """Return whether copies lie nearer to true values than chance has it, in the datasets of a fit
    and in many draws (METHODS 13.1).

    Parameters
    ----------
    world : World
        The confidential data under the scenario by which it is judged; of the fit's variables its
        synthetic ones are tested, one at a time.
    datasets : L data frames
        As they leave but for the order of rows: row i is record i's.
    places : L sequences of (chain, draw)
        Of each dataset the draw of every block, as `Fit.places` gives them.
    patterns : (n,), optional
        Codes of the patterns of columns that are released unaltered; those of the scenario's known
        variables otherwise.
    draws : int
        Posterior draws of which datasets are made besides, at most as many as the fit has, and of a
        large file fewer; 0 for none.
    random_seed : int, optional
        Of these datasets, and of where in its cell a copy lies.

    Returns
    -------
    Copies. A release of a fit that copies nothing is refused with probability .002, and with .001
    more by its other draws.

    Examples
    --------
    >>> from riskweighted.intruder.world import make_world
    >>> from riskweighted.runs.examples import fit, scenario
    >>> datasets = fit.synthesize(5, random_seed=1)
    >>> found = copy_tests(
    ...     fit,
    ...     make_world(fit.confidential, scenario),
    ...     datasets,
    ...     fit.places(5, random_seed=1),
    ...     draws=20,
    ...     random_seed=2,
    ... )
    >>> found.broken, found.untold
    ((), {})
    """
    tests = CopyTests(fit, world, patterns=patterns, random_seed=random_seed)
    tests.leave(datasets, places)
    tests.draw(draws)
    return tests.found()


def _broken(table: pd.DataFrame, strange: Mapping[str, str]) -> Iterator[Broken]:
    """Of each variable the test that tells most, of what leaves where it does, and how many others
    tell; `strange`: by variable the class of another package that draws it, which is what to mend.
    """
    # "as released" before "other draws"
    refused = table[table["verdict"] == "refuse"].sort_values(["datasets", "p"], kind="stable")
    for name, rows in refused.groupby("variable", sort=False):
        row, others = rows.iloc[0], len(rows) - 1
        figures = (
            ""
            if np.isnan(row["found"])
            else f", {row['found']:.0f} where {row['expected']:.3g} are expected"
        )
        near = "" if np.isnan(row["radius"]) else f" within {row['radius']:g} of the radius"
        more = f", and {others} more test{'s'[: others > 1]}" if others else ""
        text = (
            f"copies of {name!r} disclose the true values, {row['test']}, {row['of']}{near} "
            f"({row['datasets']}){figures}{more}"
        )
        made = strange.get(str(name))
        yield Broken(
            COPIES,
            text,
            cure=f"the class {made}: its draws of {name!r} must hold no true value" if made else "",
        )


def _untold(table: pd.DataFrame) -> dict[str, str]:
    why = (
        "masses and draws of {!r} disagree: fewer copies lie near true values than its model states"
    )
    return {
        name: why.format(name) for name in table.loc[table["verdict"] == "not judged", "variable"]
    }


class _Group(NamedTuple):
    """Records (n,) of which copies are counted together."""

    name: str
    members: np.ndarray


class _Owner(NamedTuple):
    """A union of balls: what it is of, at which share of the radius, and of whom, where it is of
    one record.
    """

    of: str
    share: float
    record: int = -1


class _CopyRequest(NamedTuple):
    """Sets that are asked of records, one for each question; ``once`` (Q,): questions that count,
    where some repeat others, None where all do. Confidential.
    """

    questions: Questions
    sets: Sets
    once: np.ndarray | None = None

    def look(self, law: Law, copies: np.ndarray) -> np.ndarray:
        """Which copies (n,) lie in them, and their masses, (2, Q); 0 of what does not count."""
        looked = np.array(
            [
                law.space.hold(self.sets, copies[self.questions.records]),
                law.of(self.questions).mass(self.sets),
            ]
        )
        return looked if self.once is None else looked * self.once


class _Unions(NamedTuple):
    """Unions of intervals in which copies of all records of a pattern are counted, several patterns
    at once.

    ``owners`` (U,); ``rows`` (U,): of the patterns concerned; ``asked``: an interval for each
    record of its pattern, disjoint within a union; ``parts`` (Q, U): of which unions each is a
    part. Confidential.
    """

    owners: tuple["_Owner", ...]
    rows: np.ndarray
    asked: _CopyRequest
    parts: csr_array


@dataclass(frozen=True, eq=False)
class _Variable:
    """What is asked of one variable, before any copy is seen; ``order``: of the records (n,), at
    random; ``once`` (n,): of what is drawn once a unit the first members, whose copies alone count.
    Confidential.
    """

    space: Space
    patterns: np.ndarray = field(repr=False)
    truth: np.ndarray = field(repr=False)
    balls: list[Sets] = field(repr=False)
    groups: list[_Group] = field(repr=False)
    order: np.ndarray = field(repr=False)
    once: np.ndarray | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return self.space.link.variable

    def _of(self, questions: Questions, sets: Sets) -> _CopyRequest:
        """Questions of records, as far as they count."""
        once = None if self.once is None else self.once[questions.records]
        return _CopyRequest(questions, sets, once)

    @cached_property
    def near(self) -> _CopyRequest:
        """The balls of all records, radius by radius, and what is asked of the amounts at the
        ends.
        """
        records = np.tile(np.arange(len(self.patterns)), len(self.balls))
        asked = self.balls if self.ends is None else [*self.balls, self.ends.asked.sets]
        records = (
            records if self.ends is None else np.append(records, self.ends.asked.questions.records)
        )
        return self._of(Questions(records), reduce(Sets.joined, asked))

    @cached_property
    def members(self) -> csr_array:
        """Which records (n,) are of which groups, the released patterns last, (n, G)."""
        n = len(self.patterns)
        patterns = csr_array((np.ones(n), (np.arange(n), self.patterns)))
        return csr_array(
            hstack(
                [
                    csr_array(
                        np.column_stack([group.members for group in self.groups]).astype(float)
                    ),
                    patterns,
                ]
            )
        )

    @cached_property
    def sizes(self) -> np.ndarray:
        """Of the groups, (G,)."""
        return np.asarray(self.members.sum(axis=0)).ravel().astype(int)

    @cached_property
    def names(self) -> list[str]:
        """What the groups are called, (G,)."""
        names = [group.name for group in self.groups]
        return names + ["a released pattern"] * (len(self.sizes) - len(names))

    @cached_property
    def amounts(self) -> np.ndarray:
        """The records whose value is an amount that can be released."""
        held = self.space.is_amount(self.truth) & ~self.balls[0].ends.empty
        return np.flatnonzero(held if self.once is None else held & self.once)

    @cached_property
    def persons(self) -> np.ndarray:
        """The records with the five lowest and the five highest amounts, ties by row, (10,) at
        most.
        """
        order = self.amounts[np.argsort(self.truth[self.amounts], kind="stable")]
        return order if len(order) <= 2 * _ENDS else np.concatenate([order[:_ENDS], order[-_ENDS:]])

    @cached_property
    def anywhere(self) -> _Unions | None:
        """The true cells of a pattern, a hundred at random where it has more, in all its rows; None
        of levels.
        """
        rows = self.order[np.isin(self.order, self.amounts)]
        cells = pd.DataFrame(
            {"pattern": self.patterns[rows], "value": self.truth[rows]}, rows
        ).drop_duplicates()
        chosen = cells.groupby("pattern").head(_CELLS).index
        return self._unions([(_Owner("the cells of all records", 0.0), row, 0) for row in chosen])

    @cached_property
    def ends(self) -> _Unions | None:
        """The five amounts at each end together, and each alone, at two radii."""
        persons, named = self.persons, []
        if len(persons) < 2 * _ENDS:
            return None
        for place, share in enumerate(_NEAR):
            for number, row in enumerate(persons):
                side = "the five lowest" if number < _ENDS else "the five highest"
                named += [
                    (_Owner(side, share), row, place),
                    (_Owner(f"one of {side}", share, number), row, place),
                ]
        return self._unions(named)

    def _unions(self, named: Sequence[tuple[_Owner, int, int]]) -> _Unions | None:
        """Of owners, each with a record in whose ball copies are counted, and the place of the
        radius.
        """
        if not named:
            return None
        owners = {
            owner: number
            for number, owner in enumerate(dict.fromkeys(owner for owner, *_ in named))
        }
        held: dict[tuple[int, int], list[tuple[float, ...]]] = {}
        for owner, row, place in named:
            sets = self.balls[place]
            ends = (sets.first[row], sets.last[row], sets.ends.lower[row], sets.ends.upper[row])
            held.setdefault((int(self.patterns[row]), owners[owner]), []).append(
                tuple(map(float, ends))
            )
        parts: dict[tuple[int, float, float], list[int]] = {}
        for (pattern, number), pieces in held.items():
            for span in _merged(pieces):
                parts.setdefault((pattern, *span), []).append(number)
        of_spans, first, last = (np.array(each) for each in zip(*parts, strict=True))
        order, sizes = np.argsort(self.patterns, kind="stable"), np.bincount(self.patterns)
        rows = np.split(order, np.cumsum(sizes)[:-1])
        # of which interval each question is
        asked = np.repeat(np.arange(len(parts)), sizes[of_spans])
        numbers = [(span, number) for span, owned in enumerate(parts.values()) for number in owned]
        owned = csr_array(
            (np.ones(len(numbers)), np.transpose(numbers)), shape=(len(parts), len(owners))
        )
        concerned = np.zeros(len(owners))
        for pattern, number in held:
            concerned[number] += sizes[pattern]
        questions = Questions(np.concatenate([rows[pattern] for pattern in of_spans]))
        return _Unions(
            tuple(owners),
            concerned,
            self._of(questions, self.space.sets(first[asked], last[asked], True)),
            owned[asked],
        )


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

    ``person`` (2, R, n): copies found, and expected, at each radius; ``groups`` (2, R, G): of
    groups; ``least`` of one dataset and group (p, group, radius, found, expected); ``ends``,
    ``anywhere``: of `_Unions` (2, U); ``first``, ``second`` (n,): sums of the normal numbers of
    copies and of their squares; ``impossible``: copies without a mass.
    """

    person: np.ndarray | float = 0.0
    groups: np.ndarray | float = 0.0
    least: tuple[float, int, int, float, float] = (1.0, 0, 0, 0.0, 0.0)
    ends: np.ndarray | float = 0.0
    anywhere: np.ndarray | float = 0.0
    anywhere_in: int = 0
    first: np.ndarray | float = 0.0
    second: np.ndarray | float = 0.0
    impossible: int = 0


def _asked(
    world: World, spaces: Sequence[Space], patterns: np.ndarray, rng: np.random.Generator
) -> list[_Variable]:
    """What is asked of each variable."""
    n, asked = len(world.confidential), list[_Variable]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingletonWarning)
        isolated = isolated_records(confidential_risk(world).to_numpy()) if spaces else np.empty(0)
    for space in spaces:
        name, scenario = space.link.variable, world.scenario
        truth = space.read(world.confidential[name])
        half = np.zeros(n)
        if not space.of_levels:
            half = np.full(n, float(scenario.radius_of(name)))
            half = np.maximum(
                half * np.abs(truth) if scenario.kind_of(name) == "relative" else half,
                float(scenario.min_radius_of(name)),
            )
        balls = [
            space.around(truth, share * np.nan_to_num(half))
            for share in ((0.0,) if space.of_levels else _SHARES)
        ]
        of = space.fit.prepared.arrangement
        once = of.position == 0 if of is not None and space.link.of_unit else None
        counted = np.ones(n, dtype=bool) if once is None else once
        groups = [_Group("all", counted), _Group("isolated", isolated & counted)]
        amount = np.flatnonzero(space.is_amount(truth) & counted)
        if len(amount):
            top, five = np.zeros((2, n), dtype=bool)
            top[amount] = top_values(truth[amount])
            five[amount[np.argsort(truth[amount], kind="stable")[-_ENDS:]]] = True
            groups += [_Group("top 1 %", top), _Group("top 5", five)]
        asked.append(_Variable(space, patterns, truth, balls, groups, rng.permutation(n), once))
    return asked


class _Looked:
    """What the datasets of one kind come to. Confidential."""

    def __init__(self, asked: list[_Variable], rng: np.random.Generator) -> None:
        self.asked, self.total, self._rng = asked, 0, rng
        self._counts = {each.name: _Counts() for each in asked}

    def see(self, frame: pd.DataFrame, thetas: Thetas) -> None:
        """Count one dataset, of these parameters."""
        if self.asked:
            for each, law in zip(
                self.asked, laws([each.space for each in self.asked], frame, thetas), strict=True
            ):
                _count(
                    self._counts[each.name],
                    each,
                    law,
                    each.space.read(frame[each.name]),
                    self.total,
                    self._rng,
                )
        self.total += 1

    def judged(self, named: str, level: float) -> Iterator[tuple[object, ...]]:
        """The rows of the table."""
        if not self.total or not self.asked:
            return
        for each in self.asked:
            counts, of_one = self._counts[each.name], level / len(self.asked)
            found = [
                *_in_row(each, counts, self.total, of_one),
                *_elsewhere(each, counts, self.total, of_one),
            ]
            yield from (
                (named, each.name, *row)
                for row in [*found, *_pinned(counts, self.total, of_one / 4)]
            )
        yield from ((named, *row) for row in self._scored(level / 4))

    def _scored(self, level: float) -> Iterator[tuple[object, ...]]:
        """Do copies of one column rise with the true values of the same or another one?"""
        every = [weights for each in self.asked for weights in _scores(each)]
        for each in self.asked:
            name, counts = each.name, self._counts[each.name]
            scores = every if each.once is None else [weights * each.once for weights in every]
            drawn = (
                abs((weights * counts.first).sum()) / np.sqrt(self.total * (weights**2).sum())
                for weights in scores
            )
            p = min(
                1.0,
                2 * float(norm.sf(max(drawn, default=0.0))) * max(len(scores) * len(self.asked), 1),
            )
            yield (
                name,
                "in score",
                "all",
                np.nan,
                np.nan,
                np.nan,
                p,
                level,
                "refuse" if p < level else "pass",
            )


def _scores(each: _Variable) -> list[np.ndarray]:
    """Centred normal scores (n,) of true values; of levels one for each, of the commonest."""
    truth = np.nan_to_num(each.truth, nan=-np.inf)
    if not each.space.of_levels:
        given = [normal_scores(truth)]
    else:
        codes, counts = np.unique(truth, return_counts=True)
        given = [
            (truth == code).astype(float)
            for code in codes[np.argsort(-counts, kind="stable")[:_MOST_LEVELS]]
        ]
    centred = [weights - weights.mean() for weights in given]
    return [weights for weights in centred if (weights**2).sum() > 1e-9]


def _count(
    counts: _Counts,
    each: _Variable,
    law: Law,
    copies: np.ndarray,
    number: int,
    rng: np.random.Generator,
) -> None:
    """Add what one dataset gives."""
    n, radii = len(copies), len(each.balls)
    both = each.near.look(law, copies)
    person = both[:, : radii * n].reshape(2, radii, n)
    counts.person = counts.person + person
    groups = (person.reshape(-1, n) @ each.members).reshape(2, radii, -1)
    counts.groups = counts.groups + groups
    tails = _high(groups[0], groups[1], each.sizes)
    radius, group = divmod(int(tails.argmin()), len(each.sizes))
    if tails[radius, group] < counts.least[0]:
        counts.least = (
            float(tails[radius, group]),
            group,
            radius,
            *groups[:, radius, group].tolist(),
        )
    if each.ends is not None:
        counts.ends = counts.ends + both[:, radii * n :] @ each.ends.parts
    if each.anywhere is not None and (
        number * each.anywhere.parts.shape[0] < _CALLS * n or number < _FEW
    ):
        counts.anywhere = (
            counts.anywhere + each.anywhere.asked.look(law, copies) @ each.anywhere.parts
        )
        counts.anywhere_in += 1
    normal, impossible = _normal(each.space, law, copies, rng)
    counts.first, counts.second = counts.first + normal, counts.second + normal**2
    counts.impossible += impossible


def _normal(
    space: Space, law: Law, copies: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """Copies as standard normal numbers (n,), by their distribution, at random within a cell; and
    how many have no mass at all.
    """
    missing, share = np.isnan(copies), rng.random(len(copies))
    own = space.sets(copies, copies, missing=missing)
    cell, below = law.mass(own), law.mass(space.up_to(own))
    lower, upper = below - share * cell, 1 - below + share * cell
    with np.errstate(divide="ignore", invalid="ignore"):
        normal = np.where(lower <= 0.5, ndtri(np.clip(lower, 0, 1)), -ndtri(np.clip(upper, 0, 1)))
    impossible = cell <= 0
    if impossible.any():
        wide = space.sets(
            copies - _WIDE * np.abs(copies), copies + _WIDE * np.abs(copies), missing=missing
        )
        off_grid = own.ends.empty & ~np.isin(copies, space.special)
        impossible &= off_grid | (law.mass(wide) <= 0)
    return np.clip(np.nan_to_num(normal), -_CLIPPED, _CLIPPED), int(impossible.sum())


def _high(found: np.ndarray, expected: np.ndarray, trials: np.ndarray | int) -> np.ndarray:
    """The probability of so many copies or more; an upper bound whatever the single masses are
    (Hoeffding 1956).
    """
    trials, tail = np.broadcast_to(trials, found.shape), np.ones(found.shape)
    asked = (found >= expected + 1) & ((expected <= _MANY) | (found > _FACTOR * expected))
    tail[asked] = binom.sf(
        found[asked] - 1, trials[asked], np.clip(expected[asked] / trials[asked], 0.0, 1.0)
    )
    first = (found == 1) & (expected < 1)
    tail[first] = np.maximum(expected[first], 0.0)
    return tail


def _low(found: np.ndarray, expected: np.ndarray, trials: np.ndarray | int) -> np.ndarray:
    """The probability of so few copies or fewer."""
    trials, tail = np.broadcast_to(trials, found.shape), np.ones(found.shape)
    asked = found <= expected - 1
    tail[asked] = binom.cdf(
        found[asked], trials[asked], np.minimum(expected[asked] / trials[asked], 1.0)
    )
    return np.asarray(np.where((expected > _MANY) & (found * _FACTOR >= expected), 1.0, tail))


def _worst(
    test: str,
    of: Sequence[str],
    radii: Sequence[float],
    both: np.ndarray,
    trials: np.ndarray | int,
    level: float,
) -> tuple[object, ...]:
    """The row of the smallest p of copies found and expected (2, Q, R), times their number."""
    found, expected = both
    tails = _high(found, expected, trials)
    question, radius = divmod(int(tails.argmin()), tails.shape[1])
    p = min(1.0, float(tails[question, radius]) * tails.size)
    counted = float(found[question, radius]), float(expected[question, radius])
    return (
        test,
        of[question] if len(of) > 1 else of[0],
        radii[radius],
        *counted,
        p,
        level,
        "refuse" if p < level else "pass",
    )


def _in_row(
    each: _Variable, counts: _Counts, total: int, level: float
) -> Iterator[tuple[object, ...]]:
    """Copies in the record's own row: of groups, of the ends, of every person over all datasets, of
    groups in every dataset.
    """
    radii, quarter, names = _SHARES[: len(each.balls)], level / 4, each.names
    # (2, G, R), (2, n, R)
    pooled = np.asarray(counts.groups).transpose(0, 2, 1)
    person = np.asarray(counts.person).transpose(0, 2, 1)
    trials = each.sizes[:, None] * total
    yield _worst("in the row itself", names, radii, pooled, trials, quarter)
    if len(each.persons):
        yield _worst(
            "in the row itself", ["one at the ends"], radii, person[:, each.persons], total, quarter
        )
    yield _worst("in the row itself", ["one record"], radii, person, total, quarter)
    least, group, radius, *figures = counts.least
    p = min(1.0, least * pooled[0].size * total)
    yield (
        "in a dataset",
        f"{names[group]} in one dataset",
        radii[radius],
        *figures,
        p,
        quarter,
        "refuse" if p < quarter else "pass",
    )
    p = float(min(1.0, _low(pooled[0], pooled[1], trials).min() * pooled[0].size))
    verdict = "not judged" if p < level else "pass"
    yield "too few in the row itself", "all groups", np.nan, np.nan, np.nan, p, level, verdict
    yield (
        "without a mass",
        "all",
        np.nan,
        float(counts.impossible),
        0.0,
        np.nan,
        level,
        "refuse" if counts.impossible else "pass",
    )


def _elsewhere(
    each: _Variable, counts: _Counts, total: int, level: float
) -> Iterator[tuple[object, ...]]:
    """Copies of true amounts anywhere in their pattern."""
    for test, unions, both, times in (
        ("anywhere in the pattern", each.anywhere, counts.anywhere, counts.anywhere_in),
        ("anywhere in the pattern", each.ends, counts.ends, total),
    ):
        if unions is not None:
            found, expected = np.asarray(both)
            tails = _high(found, expected, unions.rows * times)
            at, p = int(tails.argmin()), min(1.0, float(tails.min()) * len(tails))
            owner = unions.owners[at]
            yield (
                test,
                owner.of,
                owner.share,
                float(found[at]),
                float(expected[at]),
                p,
                level / 4,
                "refuse" if p < level / 4 else "pass",
            )


def _pinned(counts: _Counts, total: int, level: float) -> Iterator[tuple[object, ...]]:
    """Copies of a record that stay together over datasets, or all of them too close or too far."""
    if total < 2:
        return
    spread = np.maximum(counts.second - np.asarray(counts.first) ** 2 / total, 0.0)
    p = float(min(1.0, chi2.cdf(spread, total - 1).min() * len(spread)))
    yield (
        "pinned",
        "one record",
        np.nan,
        np.nan,
        np.nan,
        p,
        level / 2,
        "refuse" if p < level / 2 else "pass",
    )
    freedom = len(spread) * (total - 1)
    p = float(min(1.0, 2 * min(chi2.cdf(spread.sum(), freedom), chi2.sf(spread.sum(), freedom))))
    yield (
        "pinned",
        "all",
        np.nan,
        np.nan,
        np.nan,
        p,
        level / 2,
        "refuse" if p < level / 2 else "pass",
    )
