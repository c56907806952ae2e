"""Rows of an assessment's utility: distributions, means and regressions by the combining rule that fits the data, tables of the file."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.evaluation.regressions import regression_rows
from riskweighted.evaluation.several import file_tables, table_rows
from riskweighted.evaluation.tables import CONFIDENTIAL, Statistic, measured
from riskweighted.evaluation.tools import HOLDOUT, ITSELF, Tool
from riskweighted.intruder.world import World
from riskweighted.utility.ecdf import mean_ecdf_distance, mean_total_variation
from riskweighted.utility.intervals import combine_fully_synthetic, combine_partially_synthetic, mean_interval
from riskweighted.utility.regressions import Analysis

__all__ = ["utility_rows"]


def utility_rows(world: World, tool: Tool, crossed: Sequence[str], analyses: Sequence[Analysis], level: float) -> Iterator[dict[str, Any]]:
    """All rows of one label; the confidential data's stand under the label "confidential" until overlaps are found."""
    label = CONFIDENTIAL if tool.label == ITSELF else tool.label
    ratio = None if tool.paired is not None or label == HOLDOUT else _mean_size(tool.frames) / len(world.confidential)
    for name in world.scenario.synthetic:
        yield from _of_variable(label, world, tool.frames, name, ratio, level)
    yield from regression_rows(label, analyses, tool.frames, None, level, size_ratio=ratio)
    if len(world.scenario.synthetic) + len(crossed) > 1:
        yield from _of_tables(label, world, tool, crossed)


def _mean_size(frames: Sequence[pd.DataFrame]) -> float:
    return float(np.mean([len(frame) for frame in frames]))


def _of_variable(
    label: str, world: World, frames: Sequence[pd.DataFrame], name: str, ratio: float | None, level: float
) -> Iterator[dict[str, Any]]:
    """The distribution of a synthesized variable, and the mean of a number."""
    own, theirs = world.confidential[name], [frame[name] for frame in frames]
    if name not in world.numeric:
        if label != CONFIDENTIAL:
            statistic = Statistic("total-variation", name)
            yield measured(label, statistic, mean_total_variation(own, theirs), statistic.define())
        return
    amounts, drawn = world.scenario.statuses(own).amounts, [world.scenario.statuses(column).amounts for column in theirs]
    if label != CONFIDENTIAL:
        distances = mean_ecdf_distance(amounts, drawn)
        for key, value in (("ecdf-maximum", distances.maximum), ("ecdf-mean-square", distances.mean_square)):
            yield measured(label, Statistic(key, name), value, Statistic(key, name).define())
    value, interval, rule = _mean(drawn, ratio, level, synthetic=label not in (CONFIDENTIAL, HOLDOUT))
    definition = "mean of the amounts, missing values and special codes left out; mean over datasets"
    yield measured(label, Statistic("mean", name), value, definition, interval=interval, rule=rule)


def _mean(values: Sequence[np.ndarray], ratio: float | None, level: float, *, synthetic: bool) -> tuple[float, tuple[float, float], str]:
    """A mean over L datasets, its interval and the rule that made it; `ratio`, n_syn/n, is that of fully synthetic data."""
    means = [float(own.mean()) for own in values]
    if len(values) == 1:
        note = " (no combining rule with L = 1: the variance between datasets is left out, so it is too short)" if synthetic else ""
        return means[0], mean_interval(values[0], level=level), f"t interval of one dataset{note}"
    variances = [float(own.var(ddof=1)) / len(own) if len(own) > 1 else 0.0 for own in values]
    if ratio is None:
        found = combine_partially_synthetic(means, variances, level=level)
    else:
        found = combine_fully_synthetic(means, variances, size_ratio=ratio, level=level)
    return found.estimate, (found.lower, found.upper), found.rule


def _of_tables(label: str, world: World, tool: Tool, crossed: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Two-way distances and pMSE of the scenario's and the further columns, of which those are synthesized that are not as they were."""
    statistic = Statistic("two-way-distance")
    if label == CONFIDENTIAL:
        yield measured(label, statistic, 0.0, statistic.define())
        return
    altered = [name for name in crossed if tool.paired is None or _is_altered(world.confidential[name], tool.frames, name)]
    synthesized = [*world.scenario.synthetic, *altered]
    tables = file_tables(world, tool.frames, synthesized, [name for name in crossed if name not in altered])
    count = len(world.scenario.synthetic) + len(crossed)
    yield measured(label, statistic, float(tables.two["total_variation"].sum() / (count * (count - 1) / 2)), statistic.define())
    yield from table_rows(label, tables)


def _is_altered(column: pd.Series, frames: Sequence[pd.DataFrame], name: str) -> bool:
    """Whether a column has other counts of its values in some dataset."""
    own = column.value_counts(dropna=False)
    return any(not frame[name].value_counts(dropna=False).sort_index().equals(own.sort_index()) for frame in frames)
