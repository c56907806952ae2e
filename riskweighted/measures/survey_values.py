"""The design of a survey, and the estimates of one variable under its weights: the same weights in
every dataset (METHODS section 6).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import require_columns
from riskweighted.common.units import Arrangement, Units
from riskweighted.measures.context import Context
from riskweighted.measures.evaluation_settings import EvaluationSettings
from riskweighted.measures.measure import Measure, Value

if TYPE_CHECKING:
    from riskweighted.utility.survey_design import SurveyDesign
    from riskweighted.utility.survey_estimates import SurveyEstimate

__all__ = [
    "UNDER_WEIGHTS",
    "amounts_of",
    "checked_design",
    "design_of",
    "differing",
    "has_status",
    "survey_value",
]

UNDER_WEIGHTS = "under the survey weights"
DESIGN_BASED = f"design-based {UNDER_WEIGHTS}, mean over datasets"


def checked_design(
    confidential: pd.DataFrame,
    settings: EvaluationSettings,
    synthetic: Sequence[str],
    units: Units | None = None,
) -> "SurveyDesign | None":
    """The design that the settings name, None without survey weights; refused if its columns are
    among the `synthetic` ones. Of records in `units` these are the sampling units, unless psu is
    stated.
    """
    if settings.survey is None:
        return None
    from riskweighted.utility.survey_design import design_columns, survey_design

    if units is not None:
        _check_units(confidential, settings, units)
        if settings.psu is None and settings.replicates is None:
            settings = replace(settings, psu=units.id)
    named = {name: getattr(settings, name) for name in ("survey", "strata", "psu", "fpc")}
    columns = [(name, column) for name, column in named.items() if column is not None]
    if settings.replicates is not None:
        columns += [
            ("replicates", column)
            for column in design_columns(settings.replicates, list(confidential.columns))
        ]
    for name, column in columns:
        if column in synthetic:
            raise InputError(
                f"{name} names {column!r}, which is synthesized: the design must be the same in "
                "every dataset"
            )
    return survey_design(
        confidential,
        str(settings.survey),
        settings.strata,
        psu=settings.psu,
        fpc=settings.fpc,
        replicates=settings.replicates,
        replication=settings.replication,
        fay=settings.fay,
        replicate_factors=settings.replicate_factors,
    )


def differing(column: pd.Series, of: Arrangement) -> np.ndarray:
    """The units within which a column differs, by their codes."""
    codes = pd.factorize(column, use_na_sentinel=False)[0]
    return np.unique(of.unit[codes != codes[of.first]])


def _check_units(confidential: pd.DataFrame, settings: EvaluationSettings, units: Units) -> None:
    """Refuse units that lie in several strata or primary units, with weights that differ by these:
    they are no sampling units.
    """
    of, named = units.arranged(confidential), {"strata": settings.strata, "psu": settings.psu}
    require_columns(confidential, [str(settings.survey)], "confidential data (survey)")
    unlike = differing(confidential[settings.survey], of)
    for setting, column in named.items():
        apart = unlike[:0] if column not in confidential else differing(confidential[column], of)
        if both := len(np.intersect1d(unlike, apart)):
            raise InputError(
                f"evaluation.{setting} {column!r} and the survey weights differ within {both} of "
                f"{len(of.sizes)} units of {units.id!r}, which are no sampling units then: correct "
                "the data, or leave it out"
            )


def amounts_of(context: Context, column: pd.Series) -> np.ndarray:
    """The amounts of all records, (n,), NaN where there is none."""
    return context.scenario.statuses(column).numbers


def has_status(context: Context, column: pd.Series, what: Any) -> np.ndarray:
    """Which records have a status of a number, or a level, None if missing; booleans (n,)."""
    if context.is_numeric:
        return np.asarray(context.scenario.statuses(column).status == what)
    from riskweighted.contract.categories import codes_in

    return np.asarray(column.isna() if what is None else codes_in(column, [what]) == 0)


def design_of(context: Context) -> "SurveyDesign":
    """The design of a context that has one; datasets that hold another one than the confidential
    data are refused.
    """
    design = context.subject.design
    assert design is not None, "survey weights were asked for where there is no design"
    for name in design.columns:
        true = pd.Series(context.confidential[name].to_numpy())
        changed = sum(
            name in frame.columns and not pd.Series(frame[name].to_numpy()).equals(true)
            for frame in context.synthetic
        )
        if changed:
            raise InputError(
                f"{changed} datasets of {context.label!r} have another column {name!r} than the "
                "confidential data: it must be the same"
            )
    return design


def survey_value(
    context: Context,
    measure: Measure,
    estimates: "list[SurveyEstimate]",
    parameter: float | None = None,
    term: str | None = None,
) -> Value:
    """With the interval of one dataset, or that of Reiter's rule with design-based variances."""
    from riskweighted.utility.combining_rules import TOO_SHORT, combine_partially_synthetic

    described = context.subject.design.described  # type: ignore[union-attr]
    failed = sum(
        not np.isfinite([estimate.value, estimate.variance]).all() for estimate in estimates
    )
    if failed:
        told = f"not estimable in {failed} of {len(estimates)} datasets"
        return Value(
            measure, np.nan, context.variable, parameter, term, rule=told, definition=DESIGN_BASED
        )
    if len(estimates) > 1:
        variances = [estimate.variance for estimate in estimates]
        values, level = [estimate.value for estimate in estimates], context.settings.level
        combined = combine_partially_synthetic(values, variances, level=level, kappa=context.kappa)
        combined = combined._replace(rule=f"{combined.rule}, vbar {described}")
        return Value.of(
            measure,
            combined,
            context.variable,
            parameter=parameter,
            term=term,
            definition=DESIGN_BASED,
        )
    rule = f"one dataset: {described}{'' if context.of_data else TOO_SHORT}"
    (estimate,) = estimates
    return Value(
        measure,
        estimate.value,
        context.variable,
        parameter,
        term,
        interval=(estimate.lower, estimate.upper),
        rule=rule,
        definition=DESIGN_BASED,
    )
