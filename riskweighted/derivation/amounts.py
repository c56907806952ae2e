"""Amounts of a target told by columns: by one, within patterns, by all together, by pairs (METHODS
section 13.3).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from riskweighted.derivation.candidate_columns import LEAST, Columns
from riskweighted.derivation.constants import (
    KINDS,
    repeats_unmistakable,
    share_of_one,
    sharing_pairs,
)
from riskweighted.derivation.disclosure_findings import (
    EXACT,
    PREDICTED,
    REFUSE,
    WARN,
    Amounts,
    DisclosureFinding,
)
from riskweighted.derivation.ends import findings_of_ends
from riskweighted.derivation.pattern_findings import findings_within_patterns
from riskweighted.derivation.predictions import (
    combine_columns,
    predict_by_all,
    predict_by_neighbours,
    promising_pairs,
)

__all__ = ["findings_of_amounts"]

_SCREENED = 1_000  # records on which pairs are screened
_MOST_PAIRED = 40  # columns, those of most values
_POSITIVE = 0.9  # of the records, where logarithms are fitted
_MISSING = 0.01  # of the records, from which being missing enters a fit
_DOES = 0.05  # of the reach, from which a column takes part in a fit


@dataclass(frozen=True, eq=False)
class _AmountSearch:
    """Amounts, columns of the same records, and a part of the records (s,) on which pairs are
    screened.
    """

    amounts: Amounts
    columns: Columns
    part: np.ndarray
    rng: np.random.Generator


def findings_of_amounts(
    amounts: Amounts, columns: Columns, known: Sequence[str], rng: np.random.Generator
) -> Iterator[DisclosureFinding]:
    """Every relation that tells the amounts; a column that tells them exactly is not looked at
    again.

    `known`: columns by whose joint values the base guesses.
    """
    part = rng.choice(len(amounts.y), min(_SCREENED, len(amounts.y)), replace=False)
    search = _AmountSearch(amounts, columns, part, rng)
    alone = [finding for finding in _by_one(search) if finding is not None]
    yield from alone
    if amounts.told_anyway:
        radius = (
            f"the best guess is within the radius of {100 * amounts.base:.0f} % of the records: "
            "no prediction can be judged"
        )
        yield DisclosureFinding(
            (),
            f"{radius}; radius or min_radius is too wide",
            PREDICTED,
            amounts.base,
            amounts.base,
            WARN,
        )
    exact = {finding.columns[0] for finding in alone if finding.rule == EXACT}
    refused = {finding.columns[0] for finding in alone if finding.verdict == REFUSE}
    yield from findings_within_patterns(amounts, columns, known, refused, rng)
    yield from findings_of_ends(amounts, columns, known, refused)
    rest = _AmountSearch(amounts, columns.without(exact), part, rng)
    for way in (_by_sum, _by_product, _by_pairs):
        yield from (finding for finding in way(rest) if finding is not None)


def _by_one(search: _AmountSearch) -> Iterator[DisclosureFinding | None]:
    """Any function of a number, levels, one ratio or difference, and values that stand there
    again.
    """
    amounts, columns = search.amounts, search.columns
    nothing = np.zeros(len(amounts.y))
    for name, codes in columns.codes.items():
        if name in columns.numbers:
            values = columns.numbers[name]
            yield amounts.judge(
                (name,),
                "any function of it",
                predict_by_neighbours(values, amounts.y, rng=search.rng),
            )
            again = repeats_unmistakable(values, amounts.y)
            yield (
                DisclosureFinding(
                    (name,), "its values recur there", EXACT, again, amounts.base_exact
                )
                if again
                else None
            )
        if name not in columns.numbers or name in columns.grouping:
            yield amounts.judge(
                (name,),
                "its levels",
                predict_by_neighbours(nothing, amounts.y, codes, rng=search.rng),
            )
        if name in columns.many:
            yield from _constant(search, (name,), columns.many[name], "it")


def _constant(
    search: _AmountSearch, names: tuple[str, ...], values: np.ndarray, what: str
) -> Iterator[DisclosureFinding]:
    """One ratio, or difference, to numbers that many records share."""
    for kind in KINDS:
        share = share_of_one(values, search.amounts.y, kind, search.rng)
        if share > 0:
            yield DisclosureFinding(
                names, f"one {kind} to {what}", EXACT, share, search.amounts.base_exact
            )
            return


def _by_sum(search: _AmountSearch) -> Iterator[DisclosureFinding | None]:
    """All columns at once, linear."""
    amounts, columns = search.amounts, search.columns
    if not columns.numbers:
        return
    named = [(name, np.nan_to_num(values)) for name, values in columns.numbers.items()]
    unknown = [(name, ~np.isfinite(values)) for name, values in columns.numbers.items()]
    named += [(name, absent.astype(float)) for name, absent in unknown if absent.mean() > _MISSING]
    named += [
        (name, indicator)
        for name, indicators in columns.indicators.items()
        for indicator in indicators
    ]
    guess, does = predict_by_all(
        np.array([values for _, values in named]), amounts.y, amounts.reach, amounts.fold
    )
    yield amounts.judge(_taking_part(named, does), "a sum", guess)


def _by_product(search: _AmountSearch) -> Iterator[DisclosureFinding | None]:
    """All positive columns at once, linear in the logarithms: products and ratios of any number of
    them.
    """
    amounts, columns = search.amounts, search.columns
    positive = {
        name: values for name, values in columns.numbers.items() if (values > 0).mean() > _POSITIVE
    }
    used = (
        (amounts.y > 0) & np.all([values > 0 for values in positive.values()], axis=0)
        if positive
        else np.zeros(len(amounts.y), bool)
    )
    if used.sum() < LEAST or (amounts.y > 0).mean() <= _POSITIVE:
        return
    named = [(name, np.log(values[used])) for name, values in positive.items()]
    named += [
        (name, indicator[used])
        for name, indicators in columns.indicators.items()
        for indicator in indicators
    ]
    logarithms = np.log(amounts.y[used])
    reach = amounts.reach[used] / amounts.y[used]
    fitted, does = predict_by_all(
        np.array([values for _, values in named]), logarithms, reach, amounts.fold[used]
    )
    guess = np.full(len(amounts.y), np.nan)
    guess[used] = np.exp(np.clip(fitted, -700, 700))
    yield amounts.judge(_taking_part(named, does), "a product", guess)


def _taking_part(named: list[tuple[str, np.ndarray]], does: np.ndarray) -> tuple[str, ...]:
    """The columns that do something to a prediction; all of them where none does much."""
    names = [name for (name, _), effect in zip(named, does, strict=True) if effect > _DOES]
    return tuple(dict.fromkeys(names or [name for name, _ in named]))


def _by_pairs(search: _AmountSearch) -> Iterator[DisclosureFinding | None]:
    """Any function of two numbers combined, and one ratio or difference to two combined."""
    amounts, part = search.amounts, search.part
    names = list(search.columns.many)[:_MOST_PAIRED]
    if len(names) < 2:
        return
    columns = np.array([search.columns.many[name] for name in names])
    for one, other, how in promising_pairs(columns[:, part], amounts.y[part], amounts.reach[part]):
        guess = predict_by_neighbours(
            combine_columns(columns[one], columns[other], how), amounts.y, rng=search.rng
        )
        yield amounts.judge(
            (names[one], names[other]),
            f"any function of {_in_words(names[one], names[other], how)}",
            guess,
        )
    for one, other, how in dict.fromkeys(sharing_pairs(columns[:, part], amounts.y[part])):
        values = combine_columns(columns[one], columns[other], how)
        yield from _constant(
            search, (names[one], names[other]), values, _in_words(names[one], names[other], how)
        )


def _in_words(one: str, other: str, how: str) -> str:
    """Two columns combined, for a message."""
    if how in ("max", "min"):
        return f"{how}({one}, {other})"
    return f"{other} / {one}" if how == "\\" else f"{one} {how} {other}"
