"""What a report is made from, put together once."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from riskweighted.common.checks import check_count
from riskweighted.common.errors import InputError
from riskweighted.evaluation.tables import CONFIDENTIAL
from riskweighted.reports.disclosure import View, check_single, quantile_digits, releasable
from riskweighted.reports.glossary import Glossary
from riskweighted.runs.finished import FinishedRun, find_confidential
from riskweighted.weights.names import UNWEIGHTED

__all__ = ["Source", "gather"]

_LEAST_COUNT = 3  # with 2, each of two records of a cell learns about the other


@dataclass(frozen=True)
class Source:
    """A run, its confidential data, who reads, and the glossary that fills as the report is made.

    For a releasable report `run` holds the tables as far as they may be shown; ``withheld`` counts by table the measures that no
    rule allows.
    """

    run: FinishedRun
    confidential: pd.DataFrame
    view: View
    glossary: Glossary
    withheld: Mapping[str, int]

    @cached_property
    def target(self) -> str:
        return self.run.study.target

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
        """On the index of the confidential data."""
        return self.run.weights.set_index(self.confidential.index)


def gather(run: FinishedRun, internal: bool, confidential: pd.DataFrame | str | Path | None, minimum_count: int) -> Source:
    """Check what is given and read what is needed."""
    check_count(minimum_count, "minimum_count")
    if minimum_count < _LEAST_COUNT and not internal:
        raise InputError(f"minimum_count of a releasable report must be at least {_LEAST_COUNT}, got {minimum_count}")
    data = confidential if isinstance(confidential, pd.DataFrame) else find_confidential(run, confidential)
    records = run.manifest["input"]["records"]
    if len(data) != records:
        raise InputError(f"the confidential data has {len(data)} records, and the run was made from {records}")
    if records < minimum_count and not internal:
        raise InputError(f"{records} records are fewer than minimum_count ({minimum_count}), so nothing can be shown")
    check_single(run.tables)
    withheld: Mapping[str, int] = {}
    if not internal:
        run = _without_baselines_of_few(run, data, minimum_count)
        tables, withheld = releasable(run.tables, (CONFIDENTIAL, *run.schemes, *run.study.baselines), data.columns)
        run = replace(run, tables=tables)
    digits = quantile_digits(run.tables["utility"], data, minimum_count)
    return Source(run, data, View(internal, minimum_count, records, digits), Glossary(run), withheld)


def _without_baselines_of_few(run: FinishedRun, data: pd.DataFrame, minimum_count: int) -> FinishedRun:
    """Without a baseline that altered fewer than m records: its mean tells what these few have."""
    values = data[run.study.target].to_numpy()
    few = [name for name in run.study.baselines if (run.baseline(name)[run.study.target].to_numpy() != values).sum() < minimum_count]
    tables = {name: table[~table["label"].isin(few)].reset_index(drop=True) for name, table in run.tables.items()}
    return replace(run, tables=tables) if few else run
