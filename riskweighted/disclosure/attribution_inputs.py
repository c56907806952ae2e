"""What a question of attribution is asked of: records, groups and released patterns; and the table
of its answers.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.errors import SingletonWarning
from riskweighted.common.frames import require_columns
from riskweighted.common.survey_weights import checked_survey
from riskweighted.common.units import Arrangement
from riskweighted.disclosure.attack_results import AttackResult, attack_result, permute_rows
from riskweighted.disclosure.attacks import hits
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.comparison import AttackedRecords, PackResults, compare, worst_group
from riskweighted.disclosure.policy import ALIGNED, SHUFFLED, DisclosureSettings, judge
from riskweighted.disclosure.shuffle import Exchange, released_patterns
from riskweighted.disclosure.yardstick import named_by_constant, named_without_release
from riskweighted.intruder.world import World
from riskweighted.risk.expected_identification import isolated_records, top_values
from riskweighted.risk.identification import confidential_risk

__all__ = [
    "LOOKED_AT",
    "AttributionInputs",
    "AttributionRequest",
    "MakeSides",
    "add_verdict",
    "some_rows",
    "tells_nothing",
]

# of some variables and their places among all, by release
MakeSides = Callable[[Coding, Sequence[int]], Iterator[tuple[str, PackResults]]]

# records of a fit's file whose packs are made, of one of more than twice as many
LOOKED_AT = 100_000
_HALVINGS = 50  # by which attacks are chosen
_NEARLY_ALL, _TOLD = 0.9, 0.5  # T_out at which D tells nothing, and at which it does
_NARROWER, _NARROWINGS = 1.5, 24
_FEWEST_UNITS = 10  # of a size, of which D is shown
_BESIDE = 20  # records of a pattern of which others must be looked at


class AttributionRequest(NamedTuple):
    """Of what attribution is asked besides a scenario: released unaltered columns, groups, units,
    survey weights, a board's limits, and whether rows leave shuffled within released patterns.
    ``of``: records of the file, where those of the question are known patterns of it that were
    taken at random.
    """

    released: Sequence[str] = ()
    groups: Sequence[str] = ()
    unit: str | None = None
    survey: str | None = None
    settings: DisclosureSettings | None = None
    shuffled: bool = True
    of: int | None = None


class AttributionInputs:
    """What is the same for both releases and all variables of one question. Confidential.

    `most`: of a file of more than twice as many records so many are looked at, since the packs of
    all would say no more of a mean: ``rows`` (`some_rows`), None for all; isolated records and the
    top 1 % among them. Of a large pattern a part is, among whose rows alone it is shuffled, which
    hides less than the release does.
    """

    def __init__(
        self,
        world: World,
        asked: AttributionRequest,
        rng: np.random.Generator,
        folds: np.ndarray | None = None,
        *,
        most: int | None = None,
    ) -> None:
        confidential = world.confidential
        needed = [*asked.released, *asked.groups, *([] if asked.unit is None else [asked.unit])]
        require_columns(confidential, needed, "confidential data")
        self.world, self.asked, self.rng, self.folds = world, asked, rng, folds
        entropy: Any = rng.bit_generator.seed_seq
        self._yardstick = entropy.spawn(1)[0]  # the same for all schemes, whatever was drawn before
        patterns = released_patterns(
            confidential, list(dict.fromkeys([*world.scenario.known, *asked.released]))
        )
        self.rows, stands_for = None, None
        if most is not None and asked.unit is None and len(patterns) > 2 * most:
            groups = _groups(Coding(world), ())
            wanted = groups["isolated"] | groups.get("top 1 %", groups["isolated"])
            self.rows, stands_for = some_rows(patterns, most, rng, wanted)
        self.patterns = (
            patterns
            if self.rows is None
            else np.unique(patterns[self.rows], return_inverse=True)[1]
        )
        self.units = (
            None
            if asked.unit is None
            else pd.factorize(confidential[asked.unit], use_na_sentinel=False)[0]
        )
        survey = checked_survey(asked.survey, confidential)
        self.weights = None if survey is None else self.cut(survey.to_numpy())
        if stands_for is not None:
            self.weights = stands_for * (1.0 if self.weights is None else self.weights)
        self.repeated = False  # whether the other side of every pack is one of its own
        self.worst: list[dict[str, object]] = []
        self.narrow: list[dict[str, object]] = []

    def cut(self, values: np.ndarray) -> np.ndarray:
        """What belongs to each record, (n, ...), of those that are looked at."""
        return values if self.rows is None else values[self.rows]

    @property
    def releases(self) -> tuple[str, str]:
        """How datasets leave, and the other way."""
        return (SHUFFLED, ALIGNED) if self.asked.shuffled else (ALIGNED, SHUFFLED)

    @cached_property
    def exchange(self) -> Exchange:
        """Which rows a shuffled release exchanges."""
        return Exchange(self.patterns, self.units)

    @cached_property
    def halves(self) -> np.ndarray:
        """By which the attacks on other tools' datasets are chosen, (H, n)."""
        return np.array(
            [self.rng.permutation(len(self.patterns)) % 2 == 0 for _ in range(_HALVINGS)]
        )

    @property
    def codes(self) -> dict[str, np.ndarray]:
        """Groups that are judged one by one, (n,) each: released patterns, and the levels of
        declared columns.
        """
        columns = {
            f"level of {name!r}": self.world.confidential[name] for name in self.asked.groups
        }
        levels = {
            of: self.cut(pd.factorize(column, use_na_sentinel=False)[0])
            for of, column in columns.items()
        }
        return {"released pattern": self.patterns} | levels

    def parts(self, coding: Coding) -> list[tuple[str, Coding, list[int]]]:
        """The box of all variables, and each of several: what it is called, its numbers, and the
        places of its variables.
        """
        parts = [(" and ".join(coding.names), coding, list(range(len(coding.names))))]
        if len(coding.names) > 1:
            parts += [
                (name, Coding(self.world.only(name), self.rows), [v])
                for v, name in enumerate(coding.names)
            ]
        return parts

    def look_narrower(
        self, coding: Coding, told: Callable[[Coding], pd.DataFrame], pack: np.ndarray
    ) -> None:
        """Take in the rows that are told at the largest radius, each two thirds of the one before,
        at which at most half are named without their values; nothing where no number is matched.

        `pack` (V, n, L): one of the packs, which says about where that is; from there the rows are
        told at one radius after the other.
        """
        if not any(coding.is_numeric):
            return
        shown = (
            permute_rows(pack, self.exchange, np.random.default_rng(self._yardstick))
            if self.releases[0] == SHUFFLED
            else pack
        )
        steps = range(1, _NARROWINGS + 1)
        about = next(
            (
                k
                for k in steps
                if hits(_narrowed(coding, k), shown, self.patterns).mean(axis=1).max() <= _TOLD
            ),
            _NARROWINGS,
        )
        rows = {about: told(_narrowed(coding, about))}

        def tells(k: int) -> bool:
            of_all = rows[k][rows[k]["group"] == "all"]
            return bool(of_all["out"].iloc[0] <= _TOLD)

        k, step = about, -1 if tells(about) else 1
        while k + step in steps and tells(k) == (step < 0):
            k += step
            rows[k] = told(_narrowed(coding, k))
        widest = sorted(filter(tells, rows))[:1]
        self.narrow += [
            {**row, "narrower": _NARROWER**k} for k in widest for row in rows[k].to_dict("records")
        ]

    def everyone(self, coding: Coding) -> dict[str, np.ndarray]:
        """All records of the file by group, (N,) each."""
        return _groups(Coding(coding.world), self.asked.groups)

    def records(self, coding: Coding, judged: np.ndarray) -> AttackedRecords:
        """What is the same for both releases of some variables."""
        none = named_without_release(coding, self.patterns, np.random.default_rng(self._yardstick))
        everyone = self.everyone(coding)
        groups = {name: self.cut(members) for name, members in everyone.items()}
        drawn = None if self.rows is None else self.patterns
        # which were taken at random
        drawn = drawn if self.asked.of is None else self.cut(self.world.patterns.codes)
        level = (self.asked.settings or DisclosureSettings()).level
        of_all = (self.halves, none, named_by_constant(coding), self.cut(judged), groups, everyone)
        return AttackedRecords(
            *of_all, self.weights, self.units, self.folds, drawn, self.repeated, level
        )

    def table(
        self, coding: Coding, sides: MakeSides, judged: np.ndarray, pack: np.ndarray
    ) -> pd.DataFrame:
        """All rows; `pack` (V, n, L): one of the packs."""
        rows, leaves = [], self.releases[0]
        for variables, part, which in self.parts(coding):
            records = self.records(part, judged)
            for release, both in sides(part, which):
                row, attributed = compare(both, records, release, variables)
                rows.append(row)
                self._note_worst(attributed, records, release, variables)
            if tells_nothing(rows, leaves, variables):
                self.look_narrower(
                    part, partial(self._compared, sides, which, records, variables), pack[which]
                )
        return pd.concat(rows, ignore_index=True)

    def _compared(
        self,
        sides: MakeSides,
        which: Sequence[int],
        records: AttackedRecords,
        variables: str,
        narrow: Coding,
    ) -> pd.DataFrame:
        """The rows of some variables at another radius, as datasets leave."""
        release, both = next(iter(sides(narrow, which)))  # as they leave stands first
        return compare(both, self.at(narrow, records), release, variables)[0]

    def at(self, coding: Coding, records: AttackedRecords) -> AttackedRecords:
        """The same records and groups at another radius."""
        none = named_without_release(coding, self.patterns, np.random.default_rng(self._yardstick))
        return replace(records, none=none, constant=named_by_constant(coding))

    def _note_worst(
        self, attributed: np.ndarray, records: AttackedRecords, release: str, variables: str
    ) -> None:
        if not len(attributed):
            return
        for of, code in self.codes.items():
            lower, mean, count = worst_group(attributed, code, records)
            self.worst.append(
                {
                    "of": of,
                    "release": release,
                    "variables": variables,
                    "lower": lower,
                    "D": mean,
                    "groups": count,
                }
            )

    def side(
        self, coding: Coding, values: np.ndarray, release: str, fold: int | None = None
    ) -> AttackResult:
        """What copies (V, n, L) tell, aligned or with rows exchanged within released patterns; of a
        fold's its own records are guessed.
        """
        asked = None if fold is None or self.folds is None else self.folds == fold
        return attack_result(coding, self.shown(values, release), self.patterns, asked)

    def shown(self, values: np.ndarray, release: str) -> np.ndarray:
        """Copies (V, n, L) as a release shows them."""
        return permute_rows(values, self.exchange, self.rng) if release == SHUFFLED else values

    def finished(
        self,
        table: pd.DataFrame,
        untold: Sequence[str],
        held: Sequence[str],
        packs: int,
        **further: object,
    ) -> pd.DataFrame:
        """With what is said beside the table."""
        table.attrs |= {
            "not_judged": tuple(untold),
            "worst_groups": tuple(self.worst),
            "held": tuple(held),
            "packs": packs,
        }
        table.attrs |= {"narrow": tuple(self.narrow), "leaves": self.releases[0]}
        table.attrs |= further
        add_verdict(table, self.asked.settings)
        first = table.iloc[0]
        units = first["records"] if self.units is None else len(np.unique(self.units))
        persons = max(units * max(first["upper"], 0.0), first["named"] - first["reversed"], 0.0)
        table.attrs["persons"] = float(
            persons * (self.asked.of or len(self.world.confidential)) / len(self.patterns)
        )
        return table


def _narrowed(coding: Coding, k: int) -> Coding:
    """The same at a radius that was made k times narrower."""
    scenario, share = coding.world.scenario, _NARROWER**k
    numbers = [
        name for name, numeric in zip(coding.names, coding.is_numeric, strict=True) if numeric
    ]
    radius, least = (
        {name: float(of(name)) / share for name in numbers}
        for of in (scenario.radius_of, scenario.min_radius_of)
    )
    return Coding(
        coding.world.under(replace(scenario, radius=radius, min_radius=least)), coding.rows
    )


def add_verdict(table: pd.DataFrame, settings: DisclosureSettings | None) -> pd.DataFrame:
    """The table with the verdict on it among its ``attrs``."""
    verdict = judge(table, settings)
    table.attrs |= {
        "verdict": verdict.verdict,
        "reasons": verdict.reasons,
        "accepted": verdict.accepted,
        "outside": verdict.outside,
    }
    return table


def tells_nothing(rows: Sequence[pd.DataFrame], release: str, variables: str) -> bool:
    """Whether nearly everybody is named without the own value, so that D cannot be large whatever
    leaks.
    """
    for row in rows:
        of_all = row[
            (row["release"] == release) & (row["variables"] == variables) & (row["group"] == "all")
        ]
        if len(of_all):
            return bool(of_all["out"].iloc[0] >= _NEARLY_ALL)
    return False


def some_rows(
    patterns: np.ndarray, most: int, rng: np.random.Generator, wanted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Which rows are looked at, in order, about `most`, and how many of the file each stands for.

    Whole released patterns are taken at random. Half of the rows, or fewer where that is all of
    them, are of patterns that hold `wanted` records (n,): all of these, and twenty others of each
    pattern. Of another pattern a fifth of `most` is taken at most.
    """
    size, of_wanted = np.bincount(patterns), np.bincount(patterns, wanted, int(patterns.max()) + 1)
    order = np.lexsort((rng.random(len(patterns)), ~wanted, rng.permutation(len(size))[patterns]))
    starts = np.flatnonzero(np.diff(patterns[order], prepend=-1))
    # of each row within its pattern
    place = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    taken, stands_for = list[np.ndarray](), np.zeros(len(patterns))
    for holds in (True, False):
        here = (of_wanted[patterns[order]] > 0) == holds
        if not here.any():
            continue
        most_here = (most - sum(map(len, taken))) // (2 if holds and (of_wanted == 0).any() else 1)
        cap = of_wanted + _BESIDE if holds else np.full(len(size), most // 5)
        rows = order[here & (place < cap[patterns[order]])]
        ends = np.flatnonzero(np.diff(patterns[rows], append=-1)) + 1
        rows = rows[: ends[min(int(np.searchsorted(ends, most_here)), len(ends) - 1)]]
        strata = 2 * patterns + wanted
        counted = np.bincount(strata[rows], minlength=2 * len(size))
        of_file = np.bincount(strata, minlength=2 * len(size))
        stands_for[rows] = (of_file / np.maximum(counted, 1))[strata[rows]]
        stands_for[rows] *= here.sum() / stands_for[rows].sum()
        taken.append(rows)
    chosen = np.sort(np.concatenate(taken))
    return chosen, stands_for[chosen]


def _groups(coding: Coding, columns: Sequence[str]) -> dict[str, np.ndarray]:
    """Records by the group's name, (n,) each: all, isolated, with the largest hundredth of a
    number, of units by their size, and the levels of columns.
    """
    world = coding.world
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingletonWarning)
        risk = confidential_risk(world).to_numpy()
    groups = {"all": np.ones(len(risk), dtype=bool), "isolated": isolated_records(risk)}
    top = np.zeros(len(risk), dtype=bool)
    for v in np.flatnonzero(coding.is_numeric):
        amounts = coding.is_amount(coding.truth[v])
        top[amounts] |= top_values(coding.truth[v][amounts])
    if top.any():
        groups["top 1 %"] = top
    if world.arrangement is not None:
        groups |= _of_sizes(world.arrangement)
    for name in columns:
        codes, levels = pd.factorize(world.confidential[name], use_na_sentinel=False)
        groups |= {f"{name} = {level}": codes == code for code, level in enumerate(levels)}
    return groups


def _of_sizes(of: Arrangement) -> dict[str, np.ndarray]:
    """Records by how many members their unit has, (n,) each, sizes of few units together."""
    sizes, cuts, so_far = np.bincount(of.sizes), [int(of.sizes.min()) - 1], 0
    for size, units in enumerate(sizes):
        so_far += int(units)
        if so_far >= _FEWEST_UNITS:
            cuts.append(size)
            so_far = 0
    cuts[-1] = len(sizes) - 1  # the last ones are with those before, where they are few
    if len(cuts) < 3:
        return {}
    return {
        f"units of {first + 1}" + (f" to {last}" if last > first + 1 else ""): np.asarray(
            (first < of.sizes[of.unit]) & (of.sizes[of.unit] <= last)
        )
        for first, last in pairwise(cuts)
    }
