"""What a report is made from, put together once."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_count
from riskweighted.common.errors import InputError
from riskweighted.common.frames import as_floats
from riskweighted.design.precision import find_precision
from riskweighted.evaluation.measure_rows import CONFIDENTIAL, Statistic, by_label, distinct
from riskweighted.evaluation.verdicts import OF_EACH, Verdict
from riskweighted.intruder.statuses import find_statuses
from riskweighted.measures.estimates import MEAN
from riskweighted.reports.glossary import RunGlossary
from riskweighted.reports.output_rules import (
    View,
    check_single,
    key_of,
    quantile_digits,
    releasable,
)
from riskweighted.runs.finished import FinishedRun, find_confidential
from riskweighted.runs.refusals import Outlook, outlook
from riskweighted.weights.scheme_names import UNWEIGHTED

__all__ = ["Source", "gather", "is_dominated"]

_LEAST_COUNT = 3  # with 2, each of two records of a cell learns about the other
_TOLD = 0.2  # relative: how near an amount may be told


@dataclass(frozen=True)
class Source:
    """A run, its confidential data, who reads, and the glossary that fills as the report is made.

    For a releasable report `run` holds the tables as far as they may be shown; ``withheld`` names
    by table the measures that no rule allows, "" for those that are not registered. ``verdicts``,
    ``checks``: of the thresholds and of the fits, from all tables: what is shown of them is asked
    one by one. ``coming``: what a release will do with the run.
    """

    run: FinishedRun
    confidential: pd.DataFrame
    view: View
    glossary: RunGlossary
    withheld: Mapping[str, Sequence[str]]
    verdicts: tuple[Verdict, ...]
    checks: pd.DataFrame
    coming: Outlook

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The synthesized ones."""
        return self.run.study.variables

    def codes(self, variable: str) -> tuple[float, ...]:
        """Its special codes."""
        return self.run.study.evaluating_scenario().codes_of(variable)

    def is_numeric(self, variable: str) -> bool:
        """Whether it has amounts, rather than levels."""
        return self.run.study.scenario.is_numeric(self.confidential[variable])

    def amounts(self, variable: str) -> np.ndarray:
        """The confidential amounts of a numeric variable."""
        return find_statuses(self.confidential[variable], self.codes(variable)).amounts

    @cached_property
    def labels(self) -> list[str]:
        """All labels but the confidential data."""
        return [str(name) for name in self.run.tables["summary"]["label"] if name != CONFIDENTIAL]

    @cached_property
    def records(self) -> pd.DataFrame:
        """Expected risk of every record, under the labels of the report."""
        return self.run.expected[[CONFIDENTIAL, *self.labels]]

    @property
    def baseline(self) -> str | None:
        return UNWEIGHTED if UNWEIGHTED in self.labels else None

    @cached_property
    def weights(self) -> pd.DataFrame:
        """On the index of the confidential data; of several variables a column for each."""
        return self.run.weights.set_index(self.confidential.index)

    def weights_of(self, variable: str) -> pd.DataFrame:
        """Those of one variable, (n, schemes)."""
        alphas = {scheme: self.run.alpha(scheme) for scheme in self.run.schemes}
        of_variable = {
            scheme: alpha[variable] if isinstance(alpha, pd.DataFrame) else alpha
            for scheme, alpha in alphas.items()
        }
        return pd.DataFrame(of_variable).set_index(self.confidential.index)

    def by_label(
        self, statistic: Statistic, labels: Sequence[str], *, errors: bool = False, least: int = 0
    ) -> list[str]:
        """The values of a statistic as they may be shown, by label; `errors`: with their Monte
        Carlo errors.
        """
        table = self.run.tables["utility" if statistic.of_utility else "risk"]
        values, off = (
            by_label(table, statistic, column).reindex(labels) for column in ("value", "error")
        )
        return self.view.row(statistic, values, off if errors else (), least=least)

    def least_weight(self, scheme: str) -> pd.Series:
        """Of each record the least of its weights, (n,)."""
        return pd.DataFrame(self.run.alpha(scheme)).min(axis=1)


def gather(
    run: FinishedRun,
    internal: bool,
    confidential: pd.DataFrame | str | Path | None,
    minimum_count: int,
) -> Source:
    """Check what is given and read what is needed."""
    check_count(minimum_count, "minimum_count")
    if minimum_count < _LEAST_COUNT and not internal:
        raise InputError(
            f"minimum_count of a releasable report must be at least {_LEAST_COUNT}, got "
            f"{minimum_count}"
        )
    data = (
        confidential
        if isinstance(confidential, pd.DataFrame)
        else find_confidential(run, confidential)
    )
    if len(data) != run.total:
        raise InputError(
            f"the confidential data has {len(data)} records, and the run was made from {run.total}"
        )
    if (records := run.total) < minimum_count and not internal:
        raise InputError(
            f"{records} records are fewer than minimum_count ({minimum_count}), so nothing can "
            "be shown"
        )
    check_single(run.tables)
    withheld: Mapping[str, Sequence[str]] = {}
    verdicts, checks, coming = run.verdicts, run.tables["fit_check"], outlook(run, data)
    if not internal:
        run = _without_baselines_of_few(run, data, minimum_count)
        tables, withheld = releasable(
            run.tables, (CONFIDENTIAL, *run.schemes, *run.study.baselines), data.columns
        )
        few, one = _of_few_amounts(run, data, minimum_count), _dominated(run, data)
        hidden = tables["utility"]["variable"].isin([*few, *_led(run, data, minimum_count)]) | (
            (tables["utility"]["key"] == MEAN.key) & tables["utility"]["variable"].isin(one)
        )
        of_each = {name: run.tables[name] for name in OF_EACH if name in run.tables}
        gone = {"risk": tables["risk"]["variable"].isin(few), "utility": hidden}
        withheld = {
            **withheld,
            **{
                name: [*withheld[name], *map(key_of, distinct(tables[name][rows]))]
                for name, rows in gone.items()
            },
        }
        run = run.with_tables(
            {
                **tables,
                **of_each,
                **{name: tables[name][~rows].reset_index(drop=True) for name, rows in gone.items()},
            }
        )
    codes = {name: run.study.evaluating_scenario().codes_of(name) for name in run.study.variables}
    digits = quantile_digits(run.tables["utility"], data, minimum_count, codes)
    return Source(
        run,
        data,
        View(internal, minimum_count, records, digits, _decimals(run, data)),
        RunGlossary(run, internal),
        withheld,
        verdicts,
        checks,
        coming,
    )


def _decimals(run: FinishedRun, data: pd.DataFrame) -> dict[str, int]:
    """How many decimals the values of each numeric variable have."""
    scenario = run.study.evaluating_scenario()
    numeric = [name for name in run.study.variables if scenario.is_numeric(data[name])]
    precisions = {
        name: find_precision(pd.Series(scenario.statuses(data[name]).amounts)) for name in numeric
    }
    return {
        name: max(0, -round(math.log10(precision)))
        for name, precision in precisions.items()
        if precision is not None
    }


def _dominated(run: FinishedRun, data: pd.DataFrame) -> list[str]:
    """The numeric variables whose mean, or its interval, would give the largest value away, so that
    neither is shown; of a weighted mean the largest product with the weight, too.
    """
    scenario = run.study.evaluating_scenario()
    weights, dominated = _survey_weights(run, data), []
    for name in run.study.variables:
        if scenario.is_numeric(data[name]):
            statuses = scenario.statuses(data[name])
            sums = [statuses.amounts]
            sums += [] if weights is None else [statuses.amounts * weights[statuses.is_amount]]
            dominated += [name] if any(map(is_dominated, sums)) else []
    return dominated


def _led(run: FinishedRun, data: pd.DataFrame, minimum_count: int) -> list[str]:
    """The variables whose weighted estimates are mostly those of a few records, so that none is
    shown: a record has more than one part in `minimum_count` of the survey weight of those that
    count, whose value the weighted quantiles and means come near to.
    """
    weights = _survey_weights(run, data)
    if weights is None:
        return []
    scenario, led = run.study.evaluating_scenario(), []
    for name in run.study.variables:
        numeric = scenario.is_numeric(data[name])
        counted = weights[scenario.statuses(data[name]).is_amount] if numeric else weights
        if minimum_count * counted.max(initial=0.0) > counted.sum():
            led.append(name)
    return led


def _survey_weights(run: FinishedRun, data: pd.DataFrame) -> np.ndarray | None:
    """The survey weights under which utility was measured, (n,); None without any."""
    survey = run.study.evaluation.measures.survey
    return None if survey is None else data[survey].to_numpy(dtype=float)


def is_dominated(amounts: np.ndarray) -> bool:
    """Whether one amount (m,) can be told to 20 % from the sum of all, the second largest being
    known, or from the width of its interval.

    The p % rule of tabular data with p = 20, of sums of absolute amounts; and the same of the root
    of the sum of squared deviations.
    """
    if len(amounts) == 0:
        return False
    size, apart = np.sort(np.abs(amounts))[::-1], np.abs(amounts - amounts.mean())
    by_sum = size[2:].sum() < _TOLD * size[0]
    by_width = np.sqrt((apart**2).sum()) < (1 + _TOLD) * apart.max()
    return bool(size[0] > 0 and (by_sum or by_width))


def _of_few_amounts(run: FinishedRun, data: pd.DataFrame, minimum_count: int) -> list[str]:
    """The numeric variables of fewer than m amounts, none of whose estimates is shown."""
    scenario = run.study.evaluating_scenario()
    numeric = [name for name in run.study.variables if scenario.is_numeric(data[name])]
    return [
        name for name in numeric if scenario.statuses(data[name]).is_amount.sum() < minimum_count
    ]


def _without_baselines_of_few(
    run: FinishedRun, data: pd.DataFrame, minimum_count: int
) -> FinishedRun:
    """Without a baseline that altered fewer than m records: its mean tells what these few have."""
    if not run.study.baselines:
        return run
    scenario = run.study.evaluating_scenario()
    numeric = [name for name in run.study.variables if scenario.is_numeric(data[name])]

    def altered(name: str) -> int:
        """In how many records the variable has another value than the data, of the variable in
        which they are fewest.
        """
        protected = run.baseline(name)
        return min(
            (
                int((as_floats(protected[of]) != as_floats(data[of])).sum() - data[of].isna().sum())
                for of in numeric
            ),
            default=0,
        )

    few = [name for name in run.study.baselines if altered(name) < minimum_count]
    tables = {
        name: table[~table["label"].isin(few)].reset_index(drop=True)
        for name, table in run.tables.items()
    }
    return run.with_tables(tables) if few else run
