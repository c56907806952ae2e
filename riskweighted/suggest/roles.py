"""Which part each column of a file may play: what is sensitive, what an intruder knows, what
predicts, what gives another away.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import as_floats, holds_numbers
from riskweighted.common.groups import group_codes
from riskweighted.common.ranks import order_alike
from riskweighted.data.io import cells_without_number
from riskweighted.derivation.candidate_columns import as_numbers
from riskweighted.derivation.derived import REFUSE, derived, how_told
from riskweighted.design.spline_basis import independent
from riskweighted.intruder.disguise import disguise_of
from riskweighted.intruder.patterns import cells, level_codes
from riskweighted.sequence.many_levels import variance_of_effects
from riskweighted.suggest.columns import ColumnSummary, hint_in, sensitive, skewness
from riskweighted.suggest.evidence import FEW, LEVELS, NUMBER, TIME
from riskweighted.suggest.texts import codes_as_text

__all__ = [
    "amounts_with_text",
    "giving_away",
    "information_by_column",
    "known_of",
    "likely_target",
    "may_leave",
    "most_columns",
    "mutual_information",
    "patterns_of",
    "predictors_of",
    "sample_records",
]

_KNOWN = (
    "sex|gender|male|female|age|birth|race|ethn|hisp|region|state|fips|county|province|marit|marr"
    "|mar|area|urban|rural|place|city|edu|school|size|family|fam|household|child|kid|occup|prof"
    "|nation|citiz|industr|naics|nace|sector|branch|legal"
)
_MOST_KNOWN, _WITHOUT_HINT = 4, 2
_LEAST_ASKED = 0.25  # of the records, that have an amount of what is synthesized unasked
_MOST_LEVELS = 100  # of a known variable
_MOST_ALONE = 0.005  # of the records, by what is known
_PER_PATTERN = 20  # records, on average
_MOST_COLUMNS, _RECORDS_PER_COLUMN = 40, 20  # of the model matrix
_LEAST_VARIANCE = 0.02  # of effects of many levels, in variances of the target
_MOST_MISSING = 0.5  # of a predictor
_FEW_CELLS = 0.1  # of a column of numbers, that hold none
_GROUPS = 10
_SAMPLE = 20_000  # records on which columns are compared
_BY_CHANCE = 0.05  # that the best of those on offer adds as much as a predictor has to
_DEPENDENT, _TINY = 1e-7, 1e-9  # of the size of a column; of its variance


def likely_target(columns: Sequence[ColumnSummary], left_out: Mapping[str, str]) -> tuple[str, ...]:
    """One variable: a number whose name says money or the like, else the most skewed of many
    values, else levels.

    Columns that do not vary within a unit are taken only if there are no others: they are no
    property of the records.
    """
    if not columns:
        reasons = "; ".join(f"{name!r}: {why}" for name, why in left_out.items())
        raise InputError(f"no column of the file can be synthesized: {reasons}")
    own = [column for column in columns if not column.found.within] or columns
    numbers = likely_numbers(own)
    if numbers:
        best = numbers[0]
    else:
        best = min(
            own,
            key=lambda column: (
                sensitive(column.name),
                column.kind == TIME,
                column.missing,
                -column.distinct,
            ),
        )
    return (best.name,)


def likely_numbers(columns: Sequence[ColumnSummary]) -> list[ColumnSummary]:
    """The numbers among them, the likeliest to be sensitive first."""
    return sorted((column for column in columns if column.kind == NUMBER), key=_by_name_or_skewness)


def _by_name_or_skewness(column: ColumnSummary) -> tuple[float, bool, float]:
    """Smaller is likelier to be sensitive; of equal names the first in the file."""
    hint, few = sensitive(column.name), column.distinct <= FEW or column.held < _LEAST_ASKED
    return (hint, False, 0.0) if hint < math.inf else (hint, few, -skewness(column.amounts))


def amounts_with_text(data: pd.DataFrame, named: Sequence[str]) -> dict[str, pd.Series]:
    """Text columns that a few cells keep from being numbers, if they are `named` or called like
    what is sensitive: these cells by name.
    """
    likely = [
        name for name in map(str, data.columns) if name in named or sensitive(name) < math.inf
    ]
    read = {
        name: cells_without_number(data[name])
        for name in likely
        if disguise_of(data[name]) == "numbers"
    }
    return {
        name: cells
        for name, cells in read.items()
        if cells is not None
        and 0 < len(cells) <= _FEW_CELLS * len(data)
        and not codes_as_text(data[name].drop(cells.index))
    }


def giving_away(
    data: pd.DataFrame, columns: Sequence[ColumnSummary], targets: Sequence[ColumnSummary]
) -> dict[str, str]:
    """The columns to leave out so that no others give a target away, alone or together, each with
    how it does.

    Of several that do so together the one that is most in the order of the target is left out.
    """
    left_out: dict[str, str] = {}
    for _ in columns:
        kept = [column.name for column in columns if column.name not in left_out]
        levels = [column.name for column in targets if column.kind == LEVELS]
        codes = {column.name: column.codes for column in targets}
        table = derived(
            data,
            [column.name for column in targets],
            released=kept,
            codes=codes,
            categorical=levels,
        )
        refused = table[table["verdict"] == REFUSE].to_dict("records")
        for row in refused:
            if not set(row["columns"]) & set(left_out):
                left_out[_likest(data, row)] = (
                    f"gives {row['target']} away{_together(row['columns'])}: {how_told(row)}"
                )
        if not refused:
            break
    return left_out


def _together(columns: Sequence[str]) -> str:
    return f", with {listing(columns)}" if len(columns) > 1 else ""


def _likest(data: pd.DataFrame, row: Mapping[str, Any]) -> str:
    """Of columns that tell a target together, the one in whose order it is most."""
    if len(row["columns"]) == 1 or not holds_numbers(data[row["target"]]):
        return str(row["columns"][0])
    target = as_floats(data[row["target"]])
    return str(max(row["columns"], key=lambda name: order_alike(as_numbers(data[name]), target)))


# -- what is known, and what predicts


def known_of(data: pd.DataFrame, columns: Sequence[ColumnSummary]) -> tuple[str, ...]:
    """Variables of levels, those with names as in a register first, as long as few records are
    alone; of a unit at most one.

    Codes of more than 20 levels are known by their groups, which need a column of their own.
    """
    few = [
        of
        for of in columns
        if of.few and (of.distinct <= FEW or (of.distinct <= _MOST_LEVELS and not of.groups))
    ]
    hints = len(_KNOWN.split("|"))
    known, units, so_far = list[str](), set[str](), 0
    for column in sorted(few, key=lambda column: (hint_in(_KNOWN, column.name), column.distinct)):
        hinted = hint_in(_KNOWN, column.name) < hints
        if (
            len(known) == _MOST_KNOWN
            or (not hinted and len(known) >= _WITHOUT_HINT)
            or units & {*column.found.within}
        ):
            continue
        patterns, alone = patterns_of(data, [*known, column.name])
        if patterns == so_far:  # whoever knows those knows it
            continue
        if alone <= _MOST_ALONE * len(data) and patterns * _PER_PATTERN <= len(data):
            known.append(column.name)
            so_far = patterns
            units.update(column.found.within)
    return tuple(known)


def patterns_of(data: pd.DataFrame, known: Sequence[str]) -> tuple[int, int]:
    """Known patterns, and records alone in theirs."""
    if not known:
        return 1, int(len(data) == 1)
    sizes = np.bincount(cells((data[name] for name in known), np.zeros(len(data), dtype=np.int64)))
    return int((sizes > 0).sum()), int((sizes == 1).sum())


def predictors_of(
    data: pd.DataFrame,
    columns: Sequence[ColumnSummary],
    targets: Sequence[ColumnSummary],
    known: Sequence[str],
    also: Sequence[str] = (),
    recodes: Collection[tuple[str, str]] = (),
) -> tuple[tuple[str, ...], dict[str, str], tuple[str, ...]]:
    """What leaves in any case (`known`, `also`), then one after the other the column that adds most
    to what these tell of the targets, where that is more than chance and few records are alone; the
    second and further ones as long as what leaves has 20 records a pattern on average. Last, of
    those of too many levels to leave, the one that tells most.

    The datasets would tell of a predictor that does not leave, it costs parameters, and nobody can
    analyse the release by it; but a level among many is hardly told, which a run judges, and may
    tell much. `recodes`: pairs of a column and one that follows from it. Of these, and of columns
    that are a combination of others, the one that tells less is left out: the second result says by
    name of what they are, the third names what stays.
    """
    taken, certain = _Taken(sample_records(data), targets, recodes), {*known, *also}
    offered = [of for of in columns if of.name in certain]
    while best := taken.best(offered):
        taken.take(best)
    together = pd.Series(
        cells((data[name] for name in certain), np.zeros(len(data), dtype=np.int64)), data.index
    )
    codes = {
        of.name: pd.Series(level_codes(data[of.name]), data.index)
        for of in columns
        if of.name not in certain and may_leave(data, of, ())
    }
    offered, before = [of for of in columns if of.name in codes], len(taken.names)
    while True:
        further = len(taken.names) > before
        offered = [
            of
            for of in offered
            if may_leave(
                pd.DataFrame({"": together, of.name: codes[of.name]}), of, [""], shared=further
            )
        ]
        best = taken.best(offered, by_chance=_BY_CHANCE)
        if best is None:
            break
        taken.take(best)
        together = pd.Series(cells([codes[best.name]], together.to_numpy()), data.index)
    many = [
        of
        for of in columns
        if _of_many_levels(of) and of not in offered and of.name not in {*certain, *taken.names}
    ]
    tells = information_by_column(taken.data, many, [of.name for of in targets])
    pool = sorted((of for of in many if tells.get(of.name, 0) > 0), key=lambda of: -tells[of.name])
    staying = next((of for of in pool if taken.best([of]) is of), None)
    if staying is not None:
        taken.take(staying)
    return (*taken.names,), taken.told_by, () if staying is None else (staying.name,)


class _Taken:
    """Predictors that are taken one by one: their ``names``, what is ``told_by`` them, and how much
    more another one tells.
    """

    def __init__(
        self,
        data: pd.DataFrame,
        targets: Sequence[ColumnSummary],
        recodes: Collection[tuple[str, str]],
    ) -> None:
        self.data, self.recodes = data, recodes
        self.chain = len(targets) > 1
        self.names, self.told_by = list[str](), dict[str, str]()
        self.columns_left = most_columns(len(data))
        # (n, k): orthonormal, of a constant and their columns
        self.basis = np.full((len(data), 1), len(data) ** -0.5)
        self.answers = _beyond(self.basis, _answers(data, targets))  # (n, q): what is left to tell

    def best(
        self, offered: Sequence[ColumnSummary], by_chance: float = 1.0
    ) -> ColumnSummary | None:
        """The column that adds most to what is told, where it adds more than any of so many does
        `by_chance` with this probability.
        """
        gains = list[tuple[float, float, ColumnSummary]]()
        names = [*self.names, *(of.name for of in offered)]
        for of in offered:
            if of.name in {*self.names, *self.told_by} or (
                of.width > self.columns_left and not _of_many_levels(of)
            ):
                continue  # of many levels each has records enough
            finer = [
                name
                for name in names
                if (name, of.name) in self.recodes
                and not any((other, name) in self.recodes for other in names)
            ]
            adds, told = self._adds(of) if not finer else (None, finer[0])
            if adds is None:
                self.told_by[of.name] = told
            else:
                gains.append((*self._gain(adds), of))
        _, probability, best = max(gains, key=lambda each: each[0], default=(0.0, 1.0, None))
        return (
            best
            if best is not None and (by_chance == 1 or probability < by_chance / len(gains))
            else None
        )

    def take(self, of: ColumnSummary) -> None:
        """One more."""
        adds, _ = self._adds(of)
        if adds is not None:
            self.basis, self.answers = (
                np.column_stack([self.basis, adds]),
                _beyond(adds, self.answers),
            )
        self.names.append(of.name)
        self.columns_left -= of.width

    def _adds(self, of: ColumnSummary) -> tuple[np.ndarray | None, str]:
        """An orthonormal basis (n, m) of what a column adds to the others; none, and what tells it,
        where that is nothing or, in the formula of a single model, not all of it."""
        own = _in_design(self.data[of.name], of)
        own = own - own.mean(axis=0)
        size = np.linalg.norm(own, axis=0)
        own = own / np.where(size > 0, size, 1.0)
        left = _beyond(self.basis, own)
        new = np.linalg.norm(left, axis=0) > _DEPENDENT
        new[new] = independent(left[:, new])
        if not new[0 : 1 if of.is_number and not of.enters_as_levels else None].any():
            return None, "other predictors"
        # a chain leaves out single columns of the matrix
        if not (new.all() or self.chain or not of.fills_formula or of.many):
            return None, "other predictors, in part"
        return np.linalg.qr(left[:, new])[0], ""

    def _gain(self, adds: np.ndarray) -> tuple[float, float]:
        """What a basis (n, m) adds to what is told: Bartlett's (1947) statistic of Wilks's Lambda
        less twice its mean by chance, and the probability of as much by chance."""
        (n, q), m = self.answers.shape, adds.shape[1]
        before = self.answers.T @ self.answers + _TINY * n * np.eye(q)
        shared = adds.T @ self.answers
        lost = np.linalg.slogdet(before)[1] - np.linalg.slogdet(before - shared.T @ shared)[1]
        statistic = float((n - self.basis.shape[1] - (m + q + 1) / 2) * lost)
        return statistic - 2 * m * q, float(chi2.sf(statistic, m * q))


def _beyond(basis: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """What of columns (n, p) is no combination of an orthonormal basis (n, k)."""
    for _ in range(2):  # twice is enough
        columns = columns - basis @ (basis.T @ columns)
    return columns


def _answers(data: pd.DataFrame, targets: Sequence[ColumnSummary]) -> np.ndarray:
    """The targets as independent columns of variance 1, (n, q): ranks of amounts, and whether there
    is none or a zero; indicators of levels."""
    each = list[np.ndarray]()
    for of in targets:
        if of.enters_as_levels or not of.is_number:
            each.append(_in_design(data[of.name], of))
            continue
        amounts = pd.Series(as_floats(data[of.name]))
        amounts = amounts.where(~amounts.isin(of.codes))
        each += [_in_design(amounts.rank(), of), np.asarray(amounts == 0, dtype=float)[:, None]]
    answers = np.hstack(each)
    answers = answers[:, independent(answers)]
    return np.asarray((answers - answers.mean(axis=0)) / answers.std(axis=0))


def sample_records(data: pd.DataFrame) -> pd.DataFrame:
    """The records on which columns are compared: all, or 20,000 of more."""
    return data.sample(_SAMPLE, random_state=0) if len(data) > _SAMPLE else data


def information_by_column(
    data: pd.DataFrame, columns: Sequence[ColumnSummary], targets: Sequence[str]
) -> dict[str, float]:
    """By column how much it tells of all targets, in nats; of columns of many gaps nothing is
    said.
    """
    answers = [_grouped(data[name]) for name in targets]
    return {
        of.name: _told_by_many(data, of, targets)
        if _of_many_levels(of)
        else sum(mutual_information(_grouped(data[of.name]), answer) for answer in answers)
        for of in columns
        if _suits(of)
    }


def may_leave(
    data: pd.DataFrame, column: ColumnSummary, leaving: Sequence[str], shared: bool = False
) -> bool:
    """Whether a column may leave unaltered beside others: complete, with few records alone; and
    where it is `shared`, or is no column of few levels, with as many records a pattern as are asked
    of what is known."""
    if not (column.fills_formula and _suits(column)):
        return False
    patterns, alone = patterns_of(data, [*leaving, column.name])
    enough = patterns * _PER_PATTERN <= len(data)
    return (
        enough or (column.few and column.distinct <= FEW and not shared)
    ) and alone <= _MOST_ALONE * len(data)


def _suits(column: ColumnSummary) -> bool:
    """Whether a column has few gaps, and levels of enough records if they are many."""
    return column.missing <= _MOST_MISSING * column.records and column.width > 0


def _in_design(column: pd.Series, of: ColumnSummary) -> np.ndarray:
    """A column as a model matrix may hold it, (n, k): a number by itself and where it is missing,
    levels by indicators.
    """
    if of.is_number and not of.enters_as_levels:
        values = as_floats(column)
        missing = np.isnan(values)
        filled = np.where(missing, np.nanmean(values), values)
        return np.column_stack([filled, missing])[:, : 1 + missing.any()]
    codes = (
        _largest_levels(column, of) if of.many else pd.factorize(column, use_na_sentinel=False)[0]
    )
    return np.asarray(codes[:, None] == np.arange(1, codes.max() + 1), dtype=float)


def most_columns(records: int) -> int:
    """How many columns of a model matrix so many records can carry."""
    return min(_MOST_COLUMNS, records // _RECORDS_PER_COLUMN)


def _of_many_levels(column: ColumnSummary) -> bool:
    """Whether so many levels hardly leave beside those of other columns, and yet may tell much."""
    return column.kind == LEVELS and column.distinct > FEW and column.fills_formula


def _told_by_many(data: pd.DataFrame, column: ColumnSummary, targets: Sequence[str]) -> float:
    """What random intercepts tell of the targets, in nats: log(1 + t^2) / 2 each, as far as t^2 is
    more than chance gives.
    """
    variances, codes = list[float](), pd.factorize(data[column.name], use_na_sentinel=False)[0]
    for name in targets:
        there = data[name].notna().to_numpy()
        variances.append(variance_of_effects(data.loc[there, name], codes[there]) or 0.0)
    return float(
        sum(np.log1p(variance) / 2 for variance in variances if variance > _LEAST_VARIANCE)
    )


def _largest_levels(column: pd.Series, of: ColumnSummary) -> np.ndarray:
    """The levels (n,) of many that have an effect of their own, as numbers, and one more for all
    others.
    """
    codes = pd.factorize(column, use_na_sentinel=False)[0]
    place = np.argsort(np.argsort(-np.bincount(codes), kind="stable"))
    return np.asarray(np.minimum(place[codes], of.width))


def _grouped(column: pd.Series) -> np.ndarray:
    return group_codes([column], _GROUPS, numeric=holds_numbers(column))[0]


def mutual_information(codes: np.ndarray, answer: np.ndarray) -> float:
    """Mutual information in nats, less twice what independence gives on average."""
    table = np.zeros((int(codes.max()) + 1, int(answer.max()) + 1))
    np.add.at(table, (codes, answer), 1.0)
    table = table[table.sum(1) > 0][:, table.sum(0) > 0]
    shares = table / table.sum()
    expected = shares.sum(1, keepdims=True) * shares.sum(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        information = float(np.nansum(shares * np.log(shares / expected)))
    by_chance: float = (table.shape[0] - 1) * (table.shape[1] - 1) / len(codes)
    return information - by_chance
