"""Whether persons' values stand in a release of any tool that do not stand in what the tool makes
without these persons.

Of a person and a share rho of the reach of its true value, k is the number of the L released files
in which some row of the person's released pattern holds an amount so near, and m the same of the L
files that were made without the person's fold; the very values at the ends of the file are looked
for in any row. It does not matter whether rows were shuffled. Were nothing used of the person but
what the others tell as well, k and m would be alike: four tests ask that of everybody, of the ends
of the file person by person, of groups, and of single files. An honest tool that is trained once
gives L files of one fit, whose error all persons share: it is taken from the fits of the folds,
each of the persons whom it was trained on.

Amounts only: of levels, and of missing values and codes, that some row of a pattern holds them is
no copy.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import nbinom, norm, poisson, t as student

from riskweighted.design.precision import find_precision
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.comparison import LEVEL_OF_GROUPS, fisher
from riskweighted.disclosure.policy import NOT_SHOWN, REFUSE, Broken, DisclosureSettings, judge

__all__ = [
    "COPIED",
    "WARN_COPIED",
    "Present",
    "StandingOut",
    "fold_tests",
    "in_words",
    "is_present",
]

COPIED, WARN_COPIED = "copied", "warn_copied"  # rules
_REFUSED, _WARNED = 1e-3, 1e-2
_SHARES = (0.0, 0.05, 0.25, 1.0)  # rho: of the reach of a true value
_NEAREST = 2  # of these shares: those at which everybody is asked
# up to which p-values of everybody are counted, and at how many points at most
_FAR_TAIL, _TAIL_POINTS = 1e-4, 10
_AT_AN_END = 5  # persons, and as many at the other
# more files with the persons of a group than without them, below which nothing is said
_FEWEST_FILES = 3
# twenty packs show of a clean file of 900 records that it gives little away, and forty of one of
# 300
_PACKS, _FEW_RECORDS = 20, 600
_FEWEST_PACKS, _MOST_PACKS = 5, 200  # whose error is that between packs; more than anybody makes
_BEYOND_ANY_FILE = 2  # records by which one file must exceed every file of the folds


class StandingOut(NamedTuple):
    """A record whose value stands in more released files than in those made without it, Fisher's p
    < .001. Confidential.

    ``record``: its place in the file, from 0; ``share``: of the reach, within which values count;
    ``files``, ``without``: in how many.
    """

    record: int
    variable: str
    share: float
    files: int
    without: int
    p: float


class Present(NamedTuple):
    """In which files some row of a person's released pattern is near the person's amount, of n
    persons.

    ``released`` (n, L): in the released ones; ``without`` (n, L): in those made without the
    person's fold; ``fits`` (K, n): in what share of the files of each other fold, less the mean of
    these shares; NaN for the person's own fold.
    """

    released: np.ndarray
    without: np.ndarray
    fits: np.ndarray

    @property
    def copies(self) -> int:
        """L."""
        return int(self.released.shape[1])

    @property
    def k(self) -> np.ndarray:
        """In how many released files, (n,)."""
        return np.asarray(self.released.sum(axis=1))

    @property
    def m(self) -> np.ndarray:
        """In how many of those made without the person, (n,)."""
        return np.asarray(self.without.sum(axis=1))


def fold_tests(
    coding: Coding,
    released: np.ndarray,
    folds: Sequence[np.ndarray],
    of_row: np.ndarray,
    patterns: np.ndarray,
    groups: Mapping[str, np.ndarray],
    settings: DisclosureSettings | None = None,
) -> tuple[tuple[Broken, ...], tuple[StandingOut, ...]]:
    """Return what one release breaks of the four tests, refused at p < .001 and warned of at p <
    .01; and the records that stand out most.

    Parameters
    ----------
    coding : Coding
        Of V variables; those that are matched in a ball are asked.
    released : array (V, n, L)
        The released copies.
    folds : sequence of K arrays (V, n, L)
        Those made without each fold.
    of_row : array of int (n,)
        The fold of every record, from 0.
    patterns : array of int (n,)
        Released patterns.
    groups : mapping of arrays of bool (n,)
        "all", "isolated" and "top 1 %", as far as there are any.
    settings : DisclosureSettings, optional
        Limits of mean disclosure, to which groups are held.
    """
    limits = settings or DisclosureSettings()
    found: list[tuple[float, str]] = []
    records: list[StandingOut] = []
    asked = [v for v, numeric in enumerate(coding.is_numeric) if numeric]
    for v in asked:
        amounts = np.flatnonzero(coding.is_amount(coding.truth[v]) & (coding.truth[v] != 0))
        if len(amounts):
            by_share = _by_share(coding, v, amounts, released, folds, of_row, patterns)
            (anywhere,) = _by_share(
                coding, v, amounts, released, folds, of_row, np.zeros_like(patterns), _SHARES[:1]
            )
            named = _groups(
                coding.truth[v, amounts],
                {name: members[amounts] for name, members in groups.items()},
            )
            for p, text in _p_values(by_share, anywhere, named, of_row[amounts], limits):
                found.append((p * len(asked), f"{text} ({coding.names[v]})"))
            records += _standing_out(by_share, amounts, coding.names[v])
    broken = tuple(
        Broken(COPIED if p < _REFUSED else WARN_COPIED, f"{text}: p = {p:.1g}", p >= _REFUSED)
        for p, text in sorted(found)
        if p < _WARNED
    )
    return broken, tuple(sorted(records, key=lambda each: each.p)) if broken else ()


def _standing_out(
    by_share: Sequence[Present], amounts: np.ndarray, name: str
) -> Iterator[StandingOut]:
    """Of every record that stands out, by the share of the reach at which it does most."""
    values = np.stack([fisher(at.k, at.m, at.copies) for at in by_share])
    best = values.argmin(axis=0)
    for place in np.flatnonzero(values.min(axis=0) < _REFUSED):
        at, share = by_share[best[place]], _SHARES[best[place]]
        yield StandingOut(
            int(amounts[place]),
            name,
            share,
            int(at.k[place]),
            int(at.m[place]),
            float(values[best[place], place]),
        )


def _by_share(
    coding: Coding,
    v: int,
    amounts: np.ndarray,
    released: np.ndarray,
    folds: Sequence[np.ndarray],
    of_row: np.ndarray,
    patterns: np.ndarray,
    shares: Sequence[float] = _SHARES,
) -> list[Present]:
    """Who is present in which files of one variable, by share of the reach; at a share of 0 within
    half of the column's precision.
    """
    unit = find_precision(coding.world.confidential[coding.names[v]]) or 0.0
    truth, (lower, upper) = coding.truth[v, amounts], (ends[v, amounts] for ends in coding.reach)
    made = []
    for share in shares:
        low = np.minimum(truth - share * (truth - lower), truth - 0.499 * unit)
        high = np.maximum(truth + share * (upper - truth), truth + 0.499 * unit)
        of_files = [
            np.column_stack(
                [
                    is_present(values[v, :, copy], low, high, patterns, patterns[amounts])
                    for copy in range(values.shape[2])
                ]
            )
            for values in (released, *folds)
        ]
        made.append(_present(of_files[0], np.stack(of_files[1:]), of_row[amounts]))
    return made


def _present(released: np.ndarray, folds: np.ndarray, of_row: np.ndarray) -> Present:
    """Of persons (m,) in the files of the release (m, L) and of the folds (K, m, L)."""
    own = np.arange(len(folds))[:, None] == of_row
    shares = np.where(own, np.nan, folds.mean(axis=2))
    return Present(
        released,
        folds[of_row, np.arange(len(of_row))],
        shares - np.nansum(shares, axis=0) / max(len(folds) - 1, 1),
    )


def is_present(
    values: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    patterns: np.ndarray,
    asked: np.ndarray,
) -> np.ndarray:
    """Return whether some value (n,) of a pattern (n,) lies between two ends (m,) of who is asked
    for, of patterns ``asked`` (m,).
    """
    order = np.argsort(values, kind="stable")
    ordered, width = values[order], len(values) + 1
    keys = np.sort(patterns[order] * width + np.arange(len(values)))
    first, last = (
        asked * width + at
        for at in (np.searchsorted(ordered, lower), np.searchsorted(ordered, upper, "right"))
    )
    return np.asarray(np.searchsorted(keys, last) > np.searchsorted(keys, first))


def _groups(truth: np.ndarray, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The records of each group, by number: the ten at the ends, the largest hundredth but at least
    three, and those given.
    """
    order = np.argsort(truth, kind="stable")
    largest = order[-max(3, int(np.ceil(len(truth) / 100))) :]
    return {
        "the ends of the file": np.unique(np.r_[order[:_AT_AN_END], order[-_AT_AN_END:]]),
        "the largest amounts": largest,
        "isolated records": np.flatnonzero(given.get("isolated", np.zeros(len(truth), dtype=bool))),
        "all records": np.arange(len(truth)),
    }


def _p_values(
    by_share: Sequence[Present],
    anywhere: Present,
    groups: Mapping[str, np.ndarray],
    of_row: np.ndarray,
    limits: DisclosureSettings,
) -> Iterator[tuple[float, str]]:
    """The p-value of each test, corrected for what it looks at, and what it says. `anywhere`: who
    is present in any row, with the very value: few of those at the ends of the file would be by
    chance."""
    said = "values appear in the datasets that do not appear without the persons"
    yield _of_everybody(by_share), f"of single persons {said}"
    ends = groups["the ends of the file"]
    yield (
        _of_one_person(by_share, anywhere, ends),
        "the value of one person at an end of the file appears in the datasets, and not without "
        "the person",
    )
    for name, members in groups.items():
        if len(members):
            limit = limits.isolated if name != "all records" else limits.mean
            yield _of_group(by_share, members, of_row, limit) * len(groups), f"of {name} {said}"
            yield _of_one_file(by_share, members) * len(groups), f"of {name} {said}, in one of them"


def _of_everybody(by_share: Sequence[Present]) -> float:
    """How many persons have tiny p-values, against a Poisson number of them."""
    least = 1.0
    for at in by_share[:_NEAREST]:
        values = fisher(at.k, at.m, at.copies)
        tiny = np.unique(values[values < _FAR_TAIL])
        for point in tiny[:_TAIL_POINTS]:
            least = min(least, float(poisson.sf((values <= point).sum() - 1, len(values) * point)))
    return min(least * _NEAREST * _TAIL_POINTS, 1.0)


def _of_one_person(by_share: Sequence[Present], anywhere: Present, ends: np.ndarray) -> float:
    """The least p-value of one of the persons at the ends of the file.

    Fisher's test takes the L files as drawn apart. Near a value no honest fit holds it in most
    files, and that is so; at wider shares of the reach it is not of a tool that is trained once,
    whose files all hold it or none: there the difference is also held to how much the other folds'
    fits, which were trained on the person, differ (Student's t). A value that stands anywhere in a
    file counts where it stands in none without the person.
    """
    values = np.stack([fisher(at.k[ends], at.m[ends], at.copies) for at in by_share])
    for number, at in enumerate(by_share):
        free = len(at.fits) - 2
        if number >= _NEAREST and free > 0:
            spread = np.sqrt(2 * np.nansum(at.fits[:, ends] ** 2, axis=0) / free)
            more = (at.k[ends] - at.m[ends]) / at.copies
            values[number] = np.maximum(
                values[number], student.sf(more / np.maximum(spread, 1e-12), free)
            )
    anew = np.where(
        anywhere.m[ends] == 0, fisher(anywhere.k[ends], anywhere.m[ends], anywhere.copies), 1.0
    )
    return float(min(min(values.min(), anew.min()) * (values.size + anew.size), 1.0))


def _of_group(
    by_share: Sequence[Present], members: np.ndarray, of_row: np.ndarray, limit: float
) -> float:
    """The least p-value of a group: the value itself against none that is used, values near it
    against the limit of disclosure.
    """
    values: list[float] = []
    for share, at in zip(_SHARES, by_share, strict=True):
        k, m, copies = at.k[members], at.m[members], at.copies
        more = float((k - m).sum())
        q = (k + m + 0.5) / (2 * copies + 1)
        alone = np.sqrt((2 * copies * q * (1 - q)).sum() * 2 * copies / (2 * copies - 1))
        fits, count = _spread_of_fits(at, members), len(at.fits)
        together = copies * np.sqrt(fits * (1 + 1 / count))
        if more < _FEWEST_FILES:
            values.append(1.0)
        elif share == 0:
            values.append(
                max(
                    float(norm.sf(more / alone)),
                    float(student.sf(more / max(together, 1e-12), count - 1)),
                )
            )
        else:
            folds = np.bincount(of_row[members], k - m, minlength=count) / np.maximum(
                np.bincount(of_row[members], minlength=count), 1
            )
            between = folds.std(ddof=1) / np.sqrt(count) * len(members)
            beyond = more - limit * copies * len(members)
            values.append(float(student.sf(beyond / max(alone, between, together), count - 1)))
    return min(min(values), 1.0)


def _spread_of_fits(at: Present, members: np.ndarray) -> float:
    """The variance over fits of the number of a group's records that a file holds.

    Each fold's fit is asked of the K - 1 in K of the records that it was trained on, and each
    record's share of files is taken less its mean over the K - 1 fits that were trained on it: so a
    sum over a group's records has 1 - 1 / (K - 1) of the deviation of its fit.
    """
    count = len(at.fits)
    if count < 3:
        return 0.0
    sums = np.nansum(at.fits[:, members], axis=1) * (count - 1) / (count - 2)
    return float(sums.var(ddof=1))


def _of_one_file(by_share: Sequence[Present], members: np.ndarray) -> float:
    """The least p-value of a file that holds more records of a group than the files made without
    them would.
    """
    values: list[float] = []
    for at in by_share:
        copies = at.copies
        held, without = at.released[members].sum(axis=0), at.without[members].sum(axis=0)
        near = at.without[members].sum(axis=1)
        # half a file more and half a file less for each person, as long as that adds: of few files
        # that nearly all hold it would take away
        mean = float(max(((near + 0.5) / (copies + 1)).sum(), near.sum() / copies))
        variance = max(float(without.var(ddof=1)) if copies > 1 else 0.0, mean) + _spread_of_fits(
            at, members
        )
        for count in held[held >= without.max() + _BEYOND_ANY_FILE]:
            values.append(_tail(int(count), mean, variance))
    return min(min(values, default=1.0) * by_share[0].copies * len(by_share), 1.0)


def _tail(count: int, mean: float, variance: float) -> float:
    """The chance of so many, of a negative binomial number, or of a Poisson one where the variance
    is no larger than the mean.
    """
    if variance <= mean * (1 + 1e-9):
        return float(poisson.sf(count - 1, mean))
    size = mean**2 / (variance - mean)
    return float(nbinom.sf(count - 1, size, mean / variance))


def in_words(
    table: pd.DataFrame, packs: int, settings: DisclosureSettings | None = None
) -> pd.DataFrame:
    """Return a judged table of folds, "not shown" where it was refused for mean D alone, which is
    not above its limits at p < .001.

    One release of a small file, of one fit that all its records share, says little of mean D.
    `packs`: of each training. Then ``attrs["packs_needed"]`` is how many would show that it is
    small, 0 where more would hardly do.
    """
    limits = settings or DisclosureSettings()
    said, needed, within = list[str](), list[int](), _unless_sure(table, limits)
    if (
        table.attrs["verdict"] not in (REFUSE, NOT_SHOWN)
        or judge(within, settings).verdict == REFUSE
    ):
        return table
    for group, limit, of in (
        ("all", limits.mean, "mean D"),
        ("isolated", limits.isolated, "D of isolated records"),
    ):
        rows = table[
            (table["release"] == table.attrs["leaves"])
            & (table["group"] == group)
            & (table["upper"] > limit)
        ]
        if len(rows):
            said.append(
                f"{of} may be as large as {rows['upper'].max():.3f}, and the limit is {limit:g}"
            )
            needed += [
                _packs_needed(row["D"], row["upper"], limit, packs, int(table["records"].max()))
                for _, row in rows.iterrows()
            ]
    most = 0 if 0 in needed else max(needed, default=0)
    cure = (
        f"give {most} packs (riskweighted folds --packs {most})"
        if most
        else "more packs will hardly show it, fewer datasets or predictors may"
    )
    none = (
        ""
        if table.attrs.get("broken")
        else "no leak was found, no person's value appears in the files more often than without "
        "the person; "
    )
    reasons = (f"{none}{'; '.join(said)}: {cure}",) if said else table.attrs["reasons"]
    table.attrs |= {"verdict": NOT_SHOWN, "reasons": reasons, "packs_needed": most}
    return table


def _unless_sure(table: pd.DataFrame, limits: DisclosureSettings) -> pd.DataFrame:
    """The table as it is judged where nothing is above a limit that is not so at p < .001."""
    within, sure = table.copy(), float(norm.isf(_REFUSED))
    for group, limit in (("all", limits.mean), ("isolated", limits.isolated)):
        rows = (table["group"] == group) & (table["D"] - sure * table["se"] <= limit)
        leaving = rows & (table["release"] == table.attrs["leaves"])
        within.loc[leaving, ["lower", "upper"]] = table.loc[leaving, ["lower", "upper"]].clip(
            upper=limit
        )
        others = rows & ~leaving  # of which only that they are large is judged
        within.loc[others, "lower"] = -1.0
    within.attrs = table.attrs | {
        "worst_groups": tuple(
            each for each in table.attrs["worst_groups"] if _is_sure(each, limits.group)
        )
    }
    return within


def _is_sure(worst: Mapping[str, float], limit: float) -> bool:
    """Whether D of the worst of some groups is above a limit at p < .001, corrected for their
    number as `worst_group` does.
    """
    count = max(int(worst["groups"]), 1)
    return bool(
        worst["D"]
        - (worst["D"] - worst["lower"])
        * norm.isf(_REFUSED / count)
        / norm.isf(LEVEL_OF_GROUPS / count)
        > limit
    )


def _packs_needed(mean: float, upper: float, limit: float, packs: int, records: int) -> int:
    """How many packs bring the upper limit of mean D down to a limit, in tens; of one release a
    number that is known from simulation.
    """
    if packs < _FEWEST_PACKS:
        return _PACKS if records >= _FEW_RECORDS else 2 * _PACKS
    most = packs * ((upper - mean) / (limit - mean)) ** 2 if mean < limit else math.inf
    return 0 if most > _MOST_PACKS else 10 * math.ceil(most / 10)
