"""Whether unaltered columns give a sensitive variable away, alone or together: the table of what
does (METHODS section 13.3).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from riskweighted.common.checks import check_names, check_number
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import as_floats, holds_numbers, require_columns
from riskweighted.common.native import Frame, as_pandas
from riskweighted.derivation.amounts import findings_of_amounts
from riskweighted.derivation.candidate_columns import Columns
from riskweighted.derivation.disclosure_findings import (
    EXACT,
    FEWEST,
    NOT_JUDGED,
    PREDICTED,
    RECOVERED,
    REFUSE,
    STATUS,
    WARN,
    Amounts,
    DisclosureFinding,
)
from riskweighted.derivation.level_findings import ZEROS, findings_of_levels, findings_of_status
from riskweighted.intruder.patterns import known_patterns

__all__ = ["COLUMNS", "REFUSE", "WARN", "derived", "how_told"]

COLUMNS = ("target", "columns", "rule", "relation", "recovered", "base", "verdict")
_MOST_ROWS = 20_000
_SEED = 20_000  # the same part of the records every time
_DIGITS = 2  # of a share
_MORE = 0.05  # that a second prediction must tell beyond the best one before it
_LEAST_REACH = 0.01  # of the value: what is that near is told, however small the radius
_STRENGTH = {EXACT: 2, RECOVERED: 1}
_MISSING = 1
_WORDS = ("its amounts", "its missing values", ZEROS)


def derived(
    data: Frame,
    target: str | Sequence[str],
    known: str | Sequence[str] = (),
    released: Sequence[str] | None = None,
    *,
    radius: float | Mapping[str, float] = 0.2,
    min_radius: float | Mapping[str, float] = 0.0,
    codes: Mapping[str, Sequence[float]] | None = None,
    categorical: Sequence[str] = (),
) -> pd.DataFrame:
    """Return how columns that leave unaltered tell a sensitive variable, before anything is fitted
    (METHODS section 13.3).

    A column that is the variable in other units, its sum with another one, its order, or its bands
    makes every synthetic value of it idle. Looked for are any function of one column; sums and
    products of any number of columns; any function of two combined (sum, difference, product,
    ratio, maximum, minimum); one ratio or difference that many records share; what tells its zeros,
    missing values, special codes, or a level; and, within the records that agree in other columns
    (the known ones, all of few levels, each, each two), levels of any code that are intervals of
    it, its order, and functions of one column. No prediction of a record uses its own value.

    Parameters
    ----------
    data : DataFrame
        The confidential data; of more than 20,000 records a random 20,000, always the same, are
        looked at.
    target : str or sequence of str
        The variables to be synthesized; each is looked at by itself.
    known : str or sequence of str
        What an intruder knows; its best guess by pattern is the base that a relation is compared
        with.
    released : sequence of str, optional
        The other columns that leave unaltered; without them every other column of the data.
    radius : float or mapping of variable to float
        Recovered is what is within this part of the value, or within a hundredth where that is
        more.
    min_radius : float or mapping of variable to float
        Recovered is also what is within this distance.
    codes : mapping of variable to sequence of float, optional
        Special codes, which are no amounts.
    categorical : sequence of str
        Targets of numbers whose values are levels.

    Returns
    -------
    DataFrame
        A row for each relation: ``target``, ``columns`` (a tuple), ``rule``, ``relation`` in words,
        ``recovered`` (the share of the records for which the target is told, to a percent),
        ``base`` (the share without these columns, by the same standard), ``verdict``. Refused
        ("refuse"): "exact" (a relation holds for a tenth of the records and more, and half of what
        the base misses), "recovered" (within a radius at which the known pattern tells half at
        most), "order", "coarsening" (also a flag of exactly the few largest or smallest), "status".
        Warned of ("warn"): "coarsening" by two levels that tell less than half and are not cut
        apart in each known pattern, "universe" (who is not asked: to be stated as ``applies_if``),
        "predicted" (a quarter of what the base misses), and, without columns, a base from which
        nothing is predicted, and "not judged" (fewer than 40 amounts). No value of the data is in
        it.

    Examples
    --------
    >>> from riskweighted.runs.examples import data
    >>> rng = np.random.default_rng(1)
    >>> wages = (data["income"] * rng.uniform(0.2, 0.8, len(data))).round(2)
    >>> parts = data.assign(wages=wages, other=data["income"] - wages)
    >>> rw.derived(parts, "income", known="region", released=["wages", "other"])[
    ...     ["columns", "rule", "relation", "verdict"]
    ... ]
              columns   rule relation verdict
    0  (wages, other)  exact    a sum  refuse
    """
    data, targets = as_pandas(data), check_names(target, "target")
    require_columns(data, targets, "data")
    known = check_names(known, "known")
    others = (
        [str(name) for name in data.columns if name not in targets]
        if released is None
        else check_names(released, "released")
    )
    tested = [name for name in dict.fromkeys([*known, *others]) if name not in targets]
    require_columns(data, list(dict.fromkeys([*targets, *known, *others])), "data")
    reaches = zip(
        _by_target(radius, "radius", targets),
        _by_target(min_radius, "min_radius", targets),
        strict=True,
    )
    if len(data) > _MOST_ROWS:
        data = data.iloc[
            np.sort(np.random.default_rng(_SEED).choice(len(data), _MOST_ROWS, replace=False))
        ]
    columns = Columns.of({name: data[name] for name in tested})
    patterns = known_patterns(data, [name for name in known if name not in targets]).codes
    rows: list[tuple[object, ...]] = []
    for name, reach in zip(targets, reaches, strict=True):
        levels = name in categorical or not holds_numbers(data[name])
        stated = None if levels else np.asarray((codes or {}).get(name, ()), dtype=float)
        with threadpool_limits(1):  # small matrices: several threads would wait for each other
            rows += [
                (name, *row)
                for row in _of_target(data[name], stated, columns, patterns, reach, known)
            ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def how_told(row: Mapping[str, Any]) -> str:
    """A row of the table in words."""
    return (
        f"{row['relation']} ({row['rule']}; {100 * row['recovered']:.0f} % of the records, "
        f"{100 * row['base']:.0f} % without)"
    )


def _by_target(
    given: float | Mapping[str, float], what: str, targets: Sequence[str]
) -> list[float]:
    """A checked number for each target."""
    lacking = [name for name in targets if name not in given] if isinstance(given, Mapping) else []
    if lacking:
        raise InputError(
            f"{what} has none for {listing(lacking)}; give one number, or one for each target"
        )
    return [
        check_number(given[name] if isinstance(given, Mapping) else given, what, least=0)
        for name in targets
    ]


def _of_target(
    column: pd.Series,
    codes: np.ndarray | None,
    columns: Columns,
    patterns: np.ndarray,
    reach: tuple[float, float],
    known: Sequence[str],
) -> Iterator[tuple[object, ...]]:
    """The rows of one target; `codes`: None for one of levels."""
    rng = np.random.default_rng(_SEED)
    if codes is None:
        found = list(_of_levels(column, columns, patterns, rng))
    else:
        found = list(_of_numbers(as_floats(column), codes, columns, patterns, reach, known, rng))
    for finding in _without_repetition(found):
        shares = (round(finding.recovered, _DIGITS), round(finding.base, _DIGITS))
        yield finding.columns, finding.rule, finding.relation, *shares, finding.verdict


def _of_levels(
    column: pd.Series, columns: Columns, patterns: np.ndarray, rng: np.random.Generator
) -> Iterator[DisclosureFinding]:
    """What tells levels."""
    levels = np.asarray(pd.factorize(column, use_na_sentinel=False)[0])
    if levels.max() == 0:
        return
    if len(levels) < FEWEST:
        yield _too_few(len(levels), "records")
        return
    missing = int(levels[column.isna().to_numpy().argmax()]) if column.isna().any() else None
    yield from findings_of_levels(
        levels, missing, columns.among(np.arange(len(levels))), patterns, rng
    )


def _of_numbers(
    values: np.ndarray,
    codes: np.ndarray,
    columns: Columns,
    patterns: np.ndarray,
    reach: tuple[float, float],
    known: Sequence[str],
    rng: np.random.Generator,
) -> Iterator[DisclosureFinding]:
    """What tells the status of numbers (n,), and what their amounts."""
    status = np.where(~np.isfinite(values), _MISSING, np.where(values == 0, 2, 0))
    for number, code in enumerate(codes):
        status[values == code] = len(_WORDS) + number
    words = [*_WORDS, *["one of its special codes"] * len(codes)]
    yield from findings_of_status(
        status,
        columns.among(np.arange(len(values))),
        words,
        _MISSING,
        range(len(_WORDS), len(words)),
    )
    rows = np.flatnonzero(status == 0)
    y = values[rows]
    if not len(rows) or np.ptp(y) == 0:
        return
    if len(rows) < FEWEST:
        yield _too_few(len(rows), "amounts")
        return
    within = np.maximum(max(reach[0], _LEAST_REACH) * np.abs(y), reach[1])
    amounts = Amounts.of(y, within, np.unique(patterns[rows], return_inverse=True)[1], rng)
    yield from findings_of_amounts(amounts, columns.among(rows), known, rng)


def _too_few(count: int, what: str) -> DisclosureFinding:
    relation = f"{count} {what}, of which no column can be judged: {FEWEST} are needed"
    return DisclosureFinding((), relation, NOT_JUDGED, np.nan, np.nan, WARN)


def _without_repetition(found: Iterable[DisclosureFinding]) -> Iterator[DisclosureFinding]:
    """Each relation once: not what a part of its columns tells as well, and of predictions only
    those that tell more.
    """
    refused = [finding for finding in found if finding.verdict == REFUSE]
    for finding in refused:
        clearest = max(
            (
                other
                for other in refused
                if other.columns == finding.columns and other.rule == finding.rule
            ),
            key=_share,
        )
        if clearest is finding and not any(_tells_as_much(other, finding) for other in refused):
            yield finding
    most = 0.0
    predicted = sorted((finding for finding in found if finding.rule == PREDICTED), key=_share)
    best = {frozenset(finding.columns): finding for finding in predicted}
    for finding in sorted(best.values(), key=lambda finding: len(finding.columns)):
        refused_alone = any(
            set(other.columns) <= set(finding.columns) and other.rule in _STRENGTH
            for other in refused
        )
        if not refused_alone and (len(finding.columns) <= 1 or finding.recovered > most + _MORE):
            most = max(most, finding.recovered) if finding.columns else most
            yield finding
    for finding in found:
        refused_too = any(other.columns == finding.columns for other in refused)
        if finding.verdict == WARN and finding.rule != PREDICTED and not refused_too:
            yield finding


def _share(finding: DisclosureFinding) -> float:
    return finding.recovered


def _tells_as_much(one: DisclosureFinding, other: DisclosureFinding) -> bool:
    """Whether a relation makes another one superfluous: it tells as much from fewer columns, or
    more from the same ones.
    """
    stronger = _STRENGTH.get(one.rule, 0) - _STRENGTH.get(other.rule, 0)
    if other.rule == STATUS or one.rule not in _STRENGTH:
        return False
    return (set(one.columns) < set(other.columns) and stronger >= 0) or (
        set(one.columns) == set(other.columns) and stronger > 0
    )
