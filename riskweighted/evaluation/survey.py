"""Rows of the utility table under survey weights, beside those without: the same weights in every dataset (METHODS section 6)."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.evaluation.fit_statistics import LEAST_TAIL
from riskweighted.evaluation.settings import EvaluationSettings
from riskweighted.evaluation.tables import CONFIDENTIAL, Statistic, measured
from riskweighted.intruder.statuses import MISSING, Statuses, status_name
from riskweighted.intruder.world import World
from riskweighted.utility.intervals import Interval, combine_partially_synthetic
from riskweighted.utility.survey import (
    SurveyDesign,
    SurveyEstimate,
    survey_design,
    survey_mean,
    survey_quantile,
    weighted_ecdf_distance,
    weighted_total_variation,
)

__all__ = ["checked_design", "survey_rows"]

Frames = Sequence[pd.DataFrame]
_SHORT = "no combining rule with L = 1: the variance between datasets is left out, so it is too short"


def checked_design(confidential: pd.DataFrame, settings: EvaluationSettings, synthetic: Sequence[str]) -> SurveyDesign | None:
    """The design that the settings name, checked; None without survey weights.

    Raises
    ------
    InputError
        As `survey_design`; or if its columns are among the `synthetic` ones.
    """
    if settings.survey is None:
        return None
    for name, column in (("survey", settings.survey), ("strata", settings.strata)):
        if column in synthetic:
            raise InputError(f"{name} names {column!r}, which is synthesized: the design must be the same in every dataset")
    return survey_design(confidential, settings.survey, settings.strata)


def survey_rows(label: str, world: World, frames: Frames, settings: EvaluationSettings, design: SurveyDesign) -> Iterator[dict[str, Any]]:
    """Every numeric synthetic variable, then every categorical one."""
    _check_same(label, world.confidential, frames, design)
    for name in world.numeric:
        own, theirs = world.scenario.statuses(world.confidential[name]), [world.scenario.statuses(frame[name]) for frame in frames]
        values = [_amounts(one) for one in theirs]
        if label != CONFIDENTIAL:
            yield from _distances(label, name, _amounts(own), values, design)
        for quantile in (None, *map(float, settings.quantiles)):
            yield _estimated(
                label, _statistic(name, quantile), _estimates(values, quantile, design, settings.level), design, settings.level
            )
        for status in (status for status in own.present if (own.status == status).sum() >= LEAST_TAIL):
            statistic = Statistic("survey-missing-share", name, term=status_name(status, world.scenario.codes_of(name)))
            yield _share(label, statistic, [one.status == status for one in theirs], design, settings.level)
    for name in (name for name in world.scenario.synthetic if name not in world.numeric):
        yield from _levels(label, world.confidential[name], [frame[name] for frame in frames], design, settings.level)


def _amounts(found: Statuses) -> np.ndarray:
    """The amounts of all records, (n,), NaN where there is none."""
    return np.where(found.is_amount, found.values, np.nan)


def _share(
    label: str, statistic: Statistic, having: Sequence[pd.Series | np.ndarray], design: SurveyDesign, level: float
) -> dict[str, Any]:
    """The weighted share of the records (n,) that have something, in each of L datasets."""
    counted = [np.asarray(own, dtype=float) for own in having]
    return _estimated(label, statistic, _estimates(counted, None, design, level), design, level)


def _check_same(label: str, confidential: pd.DataFrame, frames: Frames, design: SurveyDesign) -> None:
    """Refuse datasets that hold other survey weights or strata than the confidential data."""
    for name in filter(None, (design.column, design.stratified_by)):
        own = confidential[name].to_numpy()
        changed = sum(name in frame.columns and not pd.Series(frame[name].to_numpy()).equals(pd.Series(own)) for frame in frames)
        if changed:
            raise InputError(
                f"{changed} datasets of {label!r} have another column {name!r} than the confidential data: it must be the same"
            )


def _distances(
    label: str, variable: str, confidential: np.ndarray, values: list[np.ndarray], design: SurveyDesign
) -> Iterator[dict[str, Any]]:
    """Distances of the weighted distribution functions of one variable, mean over datasets."""
    found = np.array([weighted_ecdf_distance(confidential, one, design.weights) for one in values]).mean(axis=0)
    for key, value in zip(("survey-ecdf-maximum", "survey-ecdf-mean-square"), found, strict=True):
        statistic = Statistic(key, variable)
        yield measured(label, statistic, float(value), statistic.define())


def _statistic(variable: str, quantile: float | None) -> Statistic:
    return Statistic("survey-mean", variable) if quantile is None else Statistic("survey-quantile", variable, quantile)


def _estimates(values: list[np.ndarray], quantile: float | None, design: SurveyDesign, level: float) -> list[SurveyEstimate]:
    """The weighted mean or quantile of each dataset."""
    if quantile is None:
        return [survey_mean(one, design, level=level) for one in values]
    return [survey_quantile(one, quantile, design, level=level) for one in values]


def _levels(label: str, confidential: pd.Series, columns: list[pd.Series], design: SurveyDesign, level: float) -> Iterator[dict[str, Any]]:
    """Distance of the weighted shares of the levels, then the share of each, missing too, that 10 confidential records hold."""
    name, held = str(confidential.name), confidential.value_counts() >= LEAST_TAIL
    levels = held.index[held].tolist()
    ordered = confidential.cat.categories if isinstance(confidential.dtype, pd.CategoricalDtype) else sorted(levels, key=str)
    if label != CONFIDENTIAL:
        statistic = Statistic("survey-total-variation", name)
        distance = np.mean([weighted_total_variation(confidential, one, design.weights) for one in columns])
        yield measured(label, statistic, float(distance), statistic.define())
    for one in (one for one in ordered if one in levels):
        statistic = Statistic("survey-level-share", name, term=str(one))
        yield _share(label, statistic, [column.astype(object) == one for column in columns], design, level)
    if confidential.isna().sum() >= LEAST_TAIL:
        statistic = Statistic("survey-missing-share", name, term=status_name(MISSING, ()))
        yield _share(label, statistic, [column.isna() for column in columns], design, level)


def _estimated(label: str, statistic: Statistic, found: list[SurveyEstimate], design: SurveyDesign, level: float) -> dict[str, Any]:
    """A row with the interval of one dataset, or that of Reiter's rule with design-based variances."""
    interval = _combined(found, design, level, synthetic=label != CONFIDENTIAL)
    bounds = (interval.lower, interval.upper)
    return measured(label, statistic, interval.estimate, statistic.define(), interval=bounds, rule=interval.rule)


def _combined(found: list[SurveyEstimate], design: SurveyDesign, level: float, *, synthetic: bool) -> Interval:
    if len(found) > 1:
        combined = combine_partially_synthetic([one.value for one in found], [one.variance for one in found], level=level)
        return combined._replace(rule=f"{combined.rule}, vbar {design.described}")
    rule = f"one dataset: {design.described}{f' ({_SHORT})' if synthetic else ''}"
    (one,) = found
    return Interval(one.value, one.lower, one.upper, one.variance, one.df, rule)
