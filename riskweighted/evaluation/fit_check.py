"""Is a model good enough for its data? `check_fit`: posterior predictive checks judged by effect
sizes (METHODS section 5.10).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm

from riskweighted.common.checks import check_count, check_given, check_names, check_seed
from riskweighted.common.errors import InputError
from riskweighted.common.frames import require_columns
from riskweighted.common.replaced import refuse_replaced
from riskweighted.contract.drawn_columns import spread_draws
from riskweighted.design.formulas import split_formula
from riskweighted.design.precision import round_to
from riskweighted.evaluation.fit_pairs import Pairs, pairs_of
from riskweighted.evaluation.fit_pit import pit_rows, randomized_pit
from riskweighted.evaluation.fit_statistics import (
    Comparison,
    RecordGroups,
    comparisons,
    groupings,
    level_comparisons,
    normal_quantile,
    status_comparison,
)
from riskweighted.evaluation.judgement import COST, FITS, MISFITS, MODEL, UNJUDGED
from riskweighted.intruder.scenario import Scenario
from riskweighted.measures import fit_comparisons, fits
from riskweighted.measures.registry import measures
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sequence.blocks import Block
from riskweighted.sequence.fit import Fit

__all__ = [
    "COLUMNS",
    "COST",
    "FITS",
    "MISFITS",
    "MODEL",
    "THRESHOLDS",
    "UNJUDGED",
    "check_fit",
    "draws_for",
    "fit_verdict",
]

_STATISTIC = ("check", "parameter", "confidential", "synthetic", "standard_error")
COLUMNS = (*_STATISTIC, "z", "effect", "threshold", "verdict", "records", "definition", "where")

# What an effect is, the registry says.
THRESHOLDS: Mapping[str, float] = MappingProxyType(
    {check.key: check.adequate for check in fit_comparisons.MEASURES if check.adequate is not None}
)
_EXTREME_QUANTILES, _EXTREME_THRESHOLD = ("0.01", "0.99"), 0.1
_BY_EFFECT_ALONE = (fit_comparisons.LARGEST.key,)  # an explosion makes its own standard error large
_CHANCE = 0.01  # that any row of a right model is beyond its limit (Bonferroni)
_COPY = 0.99  # rank correlation from which a column is a copy of the target (METHODS section 5.10)
# beyond which drawn values are cut for the statistics, so that squares stay finite
_LARGEST = 1e150
_MOST_LEVELS = 20  # of a predictor whose levels are groups
_DRAWS, _LEAST_DRAWS = 100, 30  # predictive datasets, of all variables and of each


class _Row(NamedTuple):
    check: str
    parameter: str
    confidential: float
    synthetic: float
    standard_error: float
    effect: float
    records: int
    where: str
    variable: str
    judged: bool
    datasets: int  # that the standard error is taken from; 0 where z is normal as it is


def check_fit(
    fit: Fit,
    *,
    scenario: Scenario | None = None,
    by: Sequence[str] | str | None = None,
    others: Sequence[str] | None = None,
    draws: int | None = None,
    random_seed: int | None = None,
    precision: None = None,
) -> pd.DataFrame:
    """Return how a fit compares with its data: statistics of predictive datasets beside the
    confidential ones, each with a verdict.

    Parameters
    ----------
    fit : Fit
        Of any number of variables: who has a status, and the values of each, are checked given the
        confidential values of those before it. Unweighted (alpha 1 everywhere, no survey weights),
        it is judged. Of a weighted variable the distance from the data is its cost, or what survey
        weights are for, so the verdict is "cost".
    scenario : Scenario, optional
        Means are compared by its known patterns, of 50 records or more; of a categorical target the
        shares of its levels.
    by : column names, optional
        ... or by the combinations of these columns. Without either, by the levels of each predictor
        of at most 20 values.
    others : sequence of str, optional
        Numeric variables whose correlation with the target is compared; default: all of the frame
        but the target's own copies (a rank correlation of 0.99 or more), which no release holds. Of
        a sequence, variables that are drawn later are no others: they follow the target. A
        categorical target has no correlations.
    draws : int, optional
        Predictive datasets, from draws spread evenly over the posterior; default 100, shared by
        several variables, and 30 at least.
    random_seed : int, optional
    precision : None
        Refused: see `Fit.with_drawing`.

    Returns
    -------
    DataFrame, one row per statistic, the first one for the model: ``check`` (key of the registry of
    measures), ``parameter``, ``confidential``, ``synthetic`` (median over the predictive datasets),
    ``standard_error`` (half of their central 68 %), ``z``, ``effect``, ``threshold``, ``verdict``
    ("fits", "misfits", "cost"), ``records`` (how many confidential ones the row tells of: of a
    share those that have it or those that lack it, whichever are fewer), ``definition``, ``where``
    (of a pair, the group that differs most); of a chain ``variable``, "" in the row for the model.
    Confidential; the largest value of the data is shown as a ratio only.

    Raises
    ------
    InputError
        If the fit is of a baseline that keeps true values, or a column or setting is not valid.

    Notes
    -----
    A row misfits where its effect exceeds the threshold AND chance does not explain the difference:
    with R rows, ``abs(z)`` exceeds the normal quantile of ``1 - 0.01 / (2 R)``. With many records
    every z is large, so the effect decides; with few no effect is small, so z does. The row of the
    largest value is judged by its effect alone. The model fits if every row does, and is "not
    judged" where there is none; the effect of its row is the largest ratio of effect and threshold
    among the rows that misfit, or among all if none does.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, synthesizer
    >>> fit = rw.fit(synthesizer, data, random_seed=1)
    >>> rw.fit_verdict(rw.check_fit(fit, random_seed=1))
    'fits'
    """
    check_given(fit, "fit", "blocks", "Fit", "fit(...)")
    if precision is not None:
        refuse_replaced("argument", "precision")
    if scenario is not None:
        check_given(scenario, "scenario", "is_numeric", "Scenario", "Scenario(...)")
    if fit.keeps_true_values:
        raise InputError(
            f"{type(fit.synthesizer).__name__} keeps true values: there is no model to judge"
        )
    check_seed(random_seed)
    if scenario is not None and by is not None:
        raise InputError(
            "give scenario or by, not both: each says by which columns means are compared"
        )
    grouped = (
        tuple(scenario.known)
        if scenario is not None
        else None
        if by is None
        else check_names(by, "by")
    )
    named = None if others is None else check_names(others, "others")
    require_columns(fit.confidential, [*(grouped or ()), *(named or ())], "confidential data")
    count = draws_for(len(fit.variables)) if draws is None else check_count(draws, "draws")
    variables = [link.parts for link in fit.prepared.links if link.parts]
    seeds = [random_seed]
    if len(variables) != 1:
        seeds = [
            int(seed)
            for seed in np.random.SeedSequence(random_seed).generate_state(
                max(len(variables), 1), np.uint32
            )
        ]
    rows = list[_Row]()
    for parts, seed in zip(variables, seeds, strict=False):
        subject = _Subject(fit, parts, grouped, named)
        rows += _judged_rows(subject, count, seed)
    statuses = [
        block
        for block in fit.prepared.blocks
        if block.status is not None and not block.status.of_level
    ]
    for block, sequence in zip(
        statuses, np.random.SeedSequence(random_seed).spawn(len(statuses)), strict=True
    ):
        rows += _status_rows(fit, block, count, sequence)
    table = _table(
        rows, judged=bool((np.asarray(fit.weights) == 1).all()), records=len(fit.confidential)
    )
    return table.drop(columns="variable") if fit.prepared.of_one else table


def draws_for(variables: int) -> int:
    """How many predictive datasets of each of so many variables `check_fit` makes where none are
    asked for.
    """
    return max(_DRAWS // variables, _LEAST_DRAWS)


def fit_verdict(table: pd.DataFrame) -> str:
    """Return the verdict for the model of a table of `check_fit`: "fits", "misfits", or "cost" of a
    weighted fit.

    Examples
    --------
    >>> from riskweighted.runs.examples import fit
    >>> rw.fit_verdict(rw.check_fit(fit, random_seed=1))
    'cost'
    """
    require_columns(table, ["check", "verdict"], "the table of check_fit")
    verdicts = table.loc[table["check"] == MODEL, "verdict"]
    if len(verdicts) != 1:
        raise InputError(f"the table of check_fit must have one row {MODEL!r}, got {len(verdicts)}")
    return str(verdicts.iloc[0])


@dataclass(frozen=True, eq=False)
class _Subject:
    """A variable's values that are compared with their data, on the records that reach them; of
    units their parts one after the other.
    """

    fit: Fit
    parts: tuple[Block, ...]
    # by combinations of these columns; None: by each predictor that has few values
    grouped: tuple[str, ...] | None
    named: tuple[str, ...] | None  # with whose numbers correlations are compared; None: with all

    @property
    def variable(self) -> str:
        return self.parts[0].variable

    @cached_property
    def fits(self) -> list[BlockFit]:
        """Of each part."""
        return [self.fit.blocks[block.name] for block in self.parts]

    @cached_property
    def data(self) -> pd.DataFrame:
        """The records of the file."""
        whole = self.fit.confidential
        held = [whole if block.whole else whole[block.member] for block in self.parts]
        return held[0] if len(held) == 1 else pd.concat(held)

    @property
    def drawn_later(self) -> tuple[str, ...]:
        """The variable, and those that follow it."""
        variables = self.fit.variables
        return variables[variables.index(self.variable) :]

    def compared(self, values: np.ndarray, precision: float | None) -> list[Comparison]:
        """What is compared of values (m,)."""
        columns = [fit.confidential[fit.synthesizer.target] for fit in self.fits]
        column = columns[0] if len(columns) == 1 else pd.concat(columns)
        missing = int(column.isna().sum())
        if missing:
            raise InputError(
                f"{self.variable!r} is missing in {missing} of {len(column)} records, "
                "which a fit of one variable does not draw"
            )
        if column.nunique() < 2:
            raise InputError(f"{self.variable!r} is constant: there is nothing to compare")
        groups = self._groups()
        if self.fits[0].categories is not None:
            return level_comparisons(values, self.fits[0].categories, groups)
        return comparisons(values, precision, groups, self._others(column))

    def _groups(self) -> list[RecordGroups]:
        """Known patterns, combinations of given columns, or the levels of each predictor that has
        few.
        """
        if self.grouped is not None:
            names = [name for name in self.grouped if name not in self.drawn_later]
            return list(groupings(self.data, [names] if names else []))
        few = [name for name in self._predictors() if self.data[name].nunique() <= _MOST_LEVELS]
        return list(groupings(self.data, [[name] for name in few]))

    def pairs(self, values: np.ndarray) -> Pairs:
        """Values (m,) beside each predictor, each variable before this one and what groups were
        asked for, and these crossed.
        """
        earlier = [name for name in self.fit.variables if name not in self.drawn_later]
        asked = [name for name in self.grouped or () if name not in self.drawn_later]
        levels = self.fits[0].categories
        columns = list(dict.fromkeys([*self._predictors(), *earlier, *asked]))
        return pairs_of(values, None if levels is None else len(levels), self.data, columns)

    def _predictors(self) -> list[str]:
        """The columns that predict, or all others of the frame where the synthesizer has no
        formula.
        """
        formula: Any = getattr(self.fits[0].synthesizer, "formula", None)
        named = (
            split_formula(formula).names
            if isinstance(formula, str)
            else tuple(map(str, self.data.columns))
        )
        return [
            name
            for name in dict.fromkeys(
                name for block in self.parts for name in (block.sources or named)
            )
            if name in self.data.columns and name not in self.drawn_later
        ]

    def _others(self, column: pd.Series) -> dict[str, np.ndarray]:
        """The other numeric variables without gaps, as floats."""
        numeric = [
            str(name)
            for name in self.data.columns
            if pd.api.types.is_numeric_dtype(self.data[name].dtype)
        ]
        asked = [
            name
            for name in (numeric if self.named is None else self.named)
            if name not in self.drawn_later
        ]
        numbers = {
            name: pd.to_numeric(self.data[name], errors="coerce").to_numpy(
                dtype=float, na_value=np.nan
            )
            for name in asked
        }
        complete = {name: values for name, values in numbers.items() if np.isfinite(values).all()}
        return (
            complete
            if self.named is not None
            else {name: values for name, values in complete.items() if not _copies(values, column)}
        )


def _judged_rows(subject: _Subject, count: int, random_seed: int | None) -> list[_Row]:
    """Every row of a variable, from predictive datasets that are made and measured one after the
    other.
    """
    fits, first = subject.fits, subject.fits[0]
    values = np.concatenate([fit.numbers(fit.confidential) for fit in fits])
    # as they would be released, so that values that many records share are one
    if first.categories is None and first.precision is None:
        values = round_to(values, None)
    drawing, sizes = subject.fit.drawing, first.sizes
    rounding = drawing.rounding(subject.parts[0])
    compared = subject.compared(values, rounding.precision)
    available = sizes["chain"] * sizes["draw"]
    places = (
        spread_draws(sizes["chain"], sizes["draw"], min(count, available))
        if first.estimates
        else [(0, 0)] * count
    )
    seeds = np.random.SeedSequence(random_seed).spawn(len(places) + 1)
    measured, below, equal = [], np.zeros(len(values)), np.zeros(len(values))
    pairs, counted = subject.pairs(values), list[list[np.ndarray]]()
    for draw, seed in zip(places, seeds, strict=False):
        rng = np.random.default_rng(seed)
        drawn = np.concatenate(
            [
                drawing.of_members(block, fit.draw(*draw), rng)
                for block, fit in zip(subject.parts, fits, strict=True)
            ]
        )
        drawn = np.clip(drawn, -_LARGEST, _LARGEST)
        below += drawn < values
        equal += drawn == values
        measured.append([comparison.statistic(drawn) for comparison in compared])
        counted.append(pairs.counted(drawn))
    rows = [
        row
        for k, comparison in enumerate(compared)
        for row in _compared(comparison, values, np.array([every[k] for every in measured]))
    ]
    cuts, rng = (
        np.cumsum([len(fit.confidential) for fit in fits])[:-1],
        np.random.default_rng(seeds[-1]),
    )
    split = (np.split(each, cuts) for each in (values, below, equal))
    pit = np.concatenate(
        [
            randomized_pit(fit, rounding, places, own, (under, at, len(places)), rng)
            for fit, own, under, at in zip(fits, *split, strict=True)
        ]
    )
    judged, variable = all((fit.weights == 1).all() for fit in fits), subject.variable
    beside = (
        pairs.rows_of(
            pairs.counted(values), [np.array(each) for each in zip(*counted, strict=True)]
        )
        if len(places) > 1
        else ()
    )
    every = [*((*row, len(values), "") for row in pit_rows(pit)), *beside]
    return [
        *(_Row._make((*row, "", variable, judged, len(places))) for row in rows),
        *(_Row._make((*row, variable, judged, 0)) for row in every),
    ]


def _status_rows(
    fit: Fit, block: Block, count: int, seed: np.random.SeedSequence
) -> Iterator[_Row]:
    """How many of those who reach a status have it, in the data and in predictive datasets."""
    held, others = fit.blocks[block.name], fit.prepared.codes.get(block.variable, ())
    what = (
        "missing"
        if block.outcome is None
        else "code zero"
        if block.outcome == 0
        else f"code {others.index(block.outcome) + 1}"
    )
    sizes, rng = held.sizes, np.random.default_rng(seed)
    places = spread_draws(sizes["chain"], sizes["draw"], min(count, sizes["chain"] * sizes["draw"]))
    true = held.numbers(held.confidential)
    comparison = status_comparison(what, true)
    each = (fit.drawing.of_members(block, held.draw(*place), rng) for place in places)
    drawn = np.array([comparison.statistic(values) for values in each])
    judged = bool((held.weights == 1).all())
    for row in _compared(comparison, true, drawn):
        yield _Row._make((*row, "", block.variable, judged, len(places)))


def _compared(
    comparison: Comparison, values: np.ndarray, drawn: np.ndarray
) -> Iterator[tuple[Any, ...]]:
    """The rows of a comparison; `drawn` (datasets, k)."""
    true = comparison.statistic(values)
    low, middle, high = np.quantile(drawn, norm.cdf([-1, 0, 1]), axis=0)
    numbers = np.column_stack(
        [true, middle, (high - low) / 2, comparison.effect(true, middle)]
    ).tolist()
    for parameter, row, records in zip(
        comparison.parameters, numbers, comparison.records, strict=True
    ):
        yield comparison.check, parameter, *row, records


def _table(rows: list[_Row], *, judged: bool, records: int) -> pd.DataFrame:
    """Rows with z, threshold and verdict, the model's own first; `judged`: whether every variable
    of the fit is.
    """
    limit, ratios, lines = float(norm.isf(_CHANCE / (2 * max(len(rows), 1)))), [], []
    for row in rows:
        z = _z(row)
        extreme = row.check == fit_comparisons.QUANTILE.key and row.parameter in _EXTREME_QUANTILES
        threshold = _EXTREME_THRESHOLD if extreme else THRESHOLDS[row.check]
        misfits = row.effect > threshold and (row.check in _BY_EFFECT_ALONE or abs(z) > limit)
        ratios.append((misfits, row.effect / threshold))
        verdict = COST if not row.judged else MISFITS if misfits else FITS
        lines.append(
            (
                *row[:5],
                z,
                row.effect,
                threshold,
                verdict,
                row.records,
                measures()[row.check].definition,
                row.where,
                row.variable,
            )
        )
    misfit, worst = max(ratios, default=(False, np.nan))
    verdict = COST if not judged else UNJUDGED if not rows else MISFITS if misfit else FITS
    most = max((row.records for row in rows), default=records)
    model = (
        MODEL,
        "",
        np.nan,
        np.nan,
        np.nan,
        np.nan,
        worst,
        1.0,
        verdict,
        most,
        fits.FITS.definition,
        "",
        "",
    )
    return pd.DataFrame([model, *lines], columns=[*COLUMNS, "variable"])


def _z(row: _Row) -> float:
    """How far the synthetic statistic lies from the confidential one, as a normal quantile."""
    difference = row.synthetic - row.confidential
    if not row.standard_error > 0:
        return float(np.copysign(np.inf, difference)) if difference else 0.0
    ratio = difference / row.standard_error
    return float(normal_quantile(ratio, row.datasets)) if row.datasets else ratio


def _copies(values: np.ndarray, target: pd.Series) -> bool:
    """Whether a column has the order of the target, to a rank correlation of 0.99, whatever its
    scale.
    """
    ranks, of_target = pd.Series(values).rank(), target.reset_index(drop=True).astype(float).rank()
    return bool(ranks.std() > 0 and abs(ranks.corr(of_target)) >= _COPY)
