"""Rows of the utility table from a list of regressions: every coefficient, and the mean overlap of each regression."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.evaluation.tables import CONFIDENTIAL, Statistic, measured
from riskweighted.utility.regressions import Analysis, coefficient_intervals
from riskweighted.utility.survey import SurveyDesign

__all__ = ["mean_overlaps", "regression_rows"]

_FORMULA = "formula"  # of a row of a coefficient, until its table is made
_OVERLAPS = {"regression-coefficient": "regression-overlap", "survey-regression-coefficient": "survey-regression-overlap"}


def regression_rows(
    label: str,
    analyses: Sequence[Analysis],
    frames: Sequence[pd.DataFrame],
    design: SurveyDesign | None,
    level: float,
    size_ratio: float | None = None,
) -> Iterator[dict[str, Any]]:
    """A row a coefficient of each regression, without survey weights and, where there is a design, with them.

    `size_ratio`: that of fully synthetic data, n_syn / n.
    """
    for analysis in analyses:
        for key, under in (("regression-coefficient", None), ("survey-regression-coefficient", design)):
            if under is None and key != "regression-coefficient":
                continue
            synthetic = label != CONFIDENTIAL
            found = coefficient_intervals(analysis, frames, synthetic=synthetic, design=under, level=level, size_ratio=size_ratio)
            for name, interval in found.items():
                statistic = Statistic(key, analysis.response, term=f"{name} in {analysis.formula}")
                bounds = (interval.lower, interval.upper)
                row = measured(label, statistic, interval.estimate, statistic.define(), interval=bounds, rule=interval.rule)
                yield {**row, _FORMULA: analysis.formula}


def mean_overlaps(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The mean overlap of the coefficients of each regression under each label; one that cannot be estimated counts 0."""
    groups: dict[tuple[str, str, str, str], list[float]] = {}
    for row in rows:
        if _FORMULA in row and row["label"] != CONFIDENTIAL:
            groups.setdefault((row["label"], _OVERLAPS[row["key"]], row["variable"], row[_FORMULA]), []).append(row["overlap"])
    for (label, key, variable, formula), overlaps in groups.items():
        statistic = Statistic(key, variable, term=formula)
        yield measured(label, statistic, float(np.nan_to_num(overlaps).mean()), statistic.define())
