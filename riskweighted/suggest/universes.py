"""Who is asked what: a column that is empty, or holds a code or zero, for all records of some
levels of another one, or beyond a cut of it.

Questions that are asked of some people alone leave gaps that tell of nobody's secret: income of
children, months of unemployment of those who work. A file may have a code in their place ("9999999:
not in universe"). A study states them as rules (``applies_if``, ``else_value``), so that no model
has to learn them.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.frames import as_floats, holds_numbers
from riskweighted.derivation.candidate_columns import LEAST, MOST_LEVELS
from riskweighted.derivation.level_findings import (
    FLAG,
    find_status_levels,
    find_status_range,
    is_universe,
)
from riskweighted.derivation.states import quote_column, quote_value

__all__ = ["Universe", "find_universes"]

_FEW_LEVELS = 8
_NEARLY_ALL = 0.999  # of the gaps, at which the other column has a value
_OF_NUMBERS = 5  # different values, from which on zeros are looked at


class Universe(NamedTuple):
    """A rule that a column has a value only ``when`` a condition holds, and elsewhere the one of
    ``else_value``: None is a missing one.

    ``by``: the column of the condition. ``covered``: the share of such records that it explains;
    ``exceptions``: records that have another value although it does not hold. ``zeros``: whether it
    tells who has none of something.
    """

    variable: str
    by: str
    when: str
    covered: float
    exceptions: int
    else_value: float | None = None

    @property
    def zeros(self) -> bool:
        return self.else_value == 0

    def is_secret(self, values: Mapping[str, int]) -> bool:
        """Whether it may be the secret itself who has a value: that something is zero, or one of
        two levels, or a code that a column of two levels tells; `values`: how many different ones
        each column has."""
        return (
            self.zeros
            or values[self.variable] <= FLAG
            or (self.else_value is not None and values[self.by] <= FLAG)
        )

    @property
    def setting(self) -> str | int | float:
        """``else_value`` as a study states it."""
        return (
            "missing"
            if self.else_value is None
            else int(self.else_value)
            if self.else_value % 1 == 0
            else self.else_value
        )


class _Region(NamedTuple):
    """Records (n,) in which something is missing: how a condition says that a record is
    elsewhere.
    """

    inside: np.ndarray
    when: str


def find_universes(
    data: pd.DataFrame,
    variables: Sequence[str],
    askers: Iterable[str],
    codes: Mapping[str, Sequence[float]] | None = None,
    uncut: Collection[str] = (),
) -> list[Universe]:
    """Return who has a value of each variable, where another column tells: at most one rule for its
    gaps, each of its codes and its zeros.

    Parameters
    ----------
    data : DataFrame of n records
    variables : sequence of str
        Columns with gaps, codes or zeros.
    askers : iterable of str
        Columns of levels and numbers that may decide; no ids, texts or weights.
    codes : mapping of str to sequence of float
        Special codes of numbers, which are no amounts. One that is held wherever a question is not
        asked stands for a gap.
    uncut : collection of str
        Those of the askers of which no cut is made, since it would tell of a value that is to be
        synthesized.

    Notes
    -----
    What is missing in 99.9 % of the records at some levels of the other column together (99 % and 5
    records each, 20 together), or in all beyond a cut of a number, is explained, if that is half of
    what is missing and elsewhere the share is at most half of that overall. Of several columns the
    one decides that explains most, then that of fewest values, then that of fewest gaps.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame(
    ...     {"age": range(100), "income": [None if age < 16 else 100.0 for age in range(100)]}
    ... )
    >>> [rule.when for rule in find_universes(pd.concat([data] * 2), ["income"], ["age"])]
    ['age >= 16']
    """
    found, askers = list[Universe](), list(askers)
    for name in variables:
        for else_value, out in _states(data[name], (codes or {}).get(name, ())):
            if out.sum() < LEAST or out.all():
                continue
            ranked = [
                (
                    (
                        -int((region.inside & out).sum()),
                        data[by].nunique(),
                        int(data[by].isna().sum()),
                    ),
                    by,
                    region,
                )
                for by in askers
                if by != name and by in data
                for region in _regions(data[by], out, by not in uncut)
            ]
            if ranked:
                (covered, _, _), by, region = min(ranked, key=lambda each: each[0])
                exceptions = int((region.inside & ~out).sum())
                found.append(
                    Universe(
                        name, by, region.when, -covered / int(out.sum()), exceptions, else_value
                    )
                )
    return found


def _states(column: pd.Series, codes: Sequence[float]) -> Iterator[tuple[float | None, np.ndarray]]:
    """Which records are missing; and of numbers which hold each code, and zero."""
    yield None, column.isna().to_numpy()
    if holds_numbers(column) and column.nunique() >= _OF_NUMBERS:
        values = as_floats(column)
        yield from ((code, np.asarray(values == code)) for code in dict.fromkeys([*codes, 0.0]))


def _regions(by: pd.Series, out: np.ndarray, cut: bool) -> Iterator[_Region]:
    """Where nearly all records are `out`, as a universe asks it: beyond a cut of a number, or at
    some levels of a column.
    """
    present = by.notna().to_numpy()
    if present[out].mean() < _NEARLY_ALL:  # it is itself missing there
        return
    # as a cut it reads better where both tell
    if cut and holds_numbers(by) and by.nunique() > _FEW_LEVELS:
        yield from _cuts(as_floats(by), out, present, quote_column(str(by.name)))
    if by.nunique() <= MOST_LEVELS:
        yield from _levels(by, out, present)


def _levels(by: pd.Series, out: np.ndarray, present: np.ndarray) -> Iterator[_Region]:
    codes, levels = pd.factorize(by)
    inside = find_status_levels(codes, present, out)
    if not is_universe(inside, out) or (inside == present).all():
        return
    gaps, (few, other) = (
        not present.all(),
        (
            sorted(_constant(levels[code]) for code in np.unique(codes[rows]))
            for rows in (inside, present & ~inside)
        ),
    )
    left_out = gaps or len(few) <= len(other)  # by those that are out, or by the others
    said = few if left_out else other
    equal, unequal, listed = (
        ("==", "!=", said[0]) if len(said) == 1 else ("in", "not in", f"[{', '.join(said)}]")
    )
    name = quote_column(str(by.name))
    if left_out and gaps:  # a gap is none of these levels, and meets no comparison
        yield _Region(inside, f"not ({name} {equal} {listed})")
    else:
        yield _Region(inside, f"{name} {unequal if left_out else equal} {listed}")


def _cuts(values: np.ndarray, out: np.ndarray, present: np.ndarray, name: str) -> Iterator[_Region]:
    """Below the least value, and above the greatest, of the records that are not out."""
    whole = bool((values[present] % 1 == 0).all())
    or_gap = "" if present.all() else f" or missing({name})"
    for sign, turn in ((">=", 1.0), ("<=", -1.0)):
        inside = find_status_range(turn * values, present, out)
        if is_universe(inside, out):
            cut = _between(
                float((turn * values[inside]).max()),
                float((turn * values[~out & present]).min()),
                whole,
            )
            yield _Region(inside, f"{name} {sign} {quote_value(turn * cut)}{or_gap}")


def _between(low: float, high: float, whole: bool) -> float:
    """The roundest number above `low` and below `high`, of whole numbers up to it: it is nobody's
    value, where there is room.
    """
    power = math.ceil(math.log10(max(abs(low), abs(high), 1e-300)))
    for exponent in range(power, power - 18, -1):
        for step in (5, 2, 1):
            unit = step * 10.0**exponent
            number = round((math.floor(low / unit) + 1) * unit, max(0, -exponent))
            if low < number < high or (whole and number == high):
                return number
    return high


def _constant(level: object) -> str:
    if isinstance(level, str):
        return quote_value(level)
    value = bool(level) if isinstance(level, bool | np.bool_) else float(level)  # type: ignore[arg-type]
    return quote_value(value)
