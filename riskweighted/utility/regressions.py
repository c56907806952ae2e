"""Regressions of which every coefficient is compared: least squares, or logistic where the response
has two values.

Each dataset is analysed by its complete cases. Estimates combine by Reiter's rule; under a survey
design their variance is the sandwich of its strata and units (Binder 1983), or that of replicate
weights.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_share
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import holds_numbers, require_columns
from riskweighted.design.design import build_design, response_values
from riskweighted.design.distinct import Distinct
from riskweighted.design.formulas import response_name, rounds_to_grid, split_formula
from riskweighted.sequence.conditions import Condition
from riskweighted.utility.combining_rules import TOO_SHORT, Interval, combined_interval, t_interval
from riskweighted.utility.newton import solve_regression
from riskweighted.utility.regression_cases import (
    SCALES,
    Analysis,
    cases_of,
    is_complete,
    response_of,
    without_codes,
)
from riskweighted.utility.survey_design import SurveyDesign

__all__ = [
    "Analysis",
    "Estimates",
    "analyse",
    "checked_analyses",
    "checked_analysis",
    "checked_regression",
    "coefficient_intervals",
    "pulls",
    "residuals_of",
    "split_regression",
]

# records on the smaller side of a dummy whose coefficient is reported, so that it tells of no
# single record
_FEWEST = 10
_NO_VARIANCE = "too few records for a variance"
_LACKING = "a level of the confidential data is lacking, or a predictor has one value"


class Estimates(NamedTuple):
    """Coefficients (k,) and their variances (k,) in one dataset, NaN where they cannot be
    estimated; degrees of freedom; complete cases; why some are NaN, in words that hold no value."""

    values: np.ndarray
    variances: np.ndarray
    df: float
    records: int
    why: str = _LACKING


class RegressionFormula(NamedTuple):
    """A regression as it is written: the ``plain`` formula, the function about its response
    (``scale``), the condition on records.
    """

    plain: str
    scale: str | None
    where: Condition | None


def checked_analyses(
    confidential: pd.DataFrame,
    formulas: Sequence[str],
    codes: Mapping[str, Sequence[float]] | None = None,
) -> tuple[Analysis, ...]:
    """The checked regressions of a list."""
    return tuple(checked_analysis(confidential, formula, codes) for formula in formulas)


def checked_analysis(
    confidential: pd.DataFrame, formula: str, codes: Mapping[str, Sequence[float]] | None = None
) -> Analysis:
    """A regression, checked on the confidential data; an InputError says what of it cannot be read
    or estimated.

    `formula`: "response ~ predictors", or "response ~ predictors where CONDITION" for some of the
    records, such as "income > 0" (a column named where is quoted, `where`). The response may stand
    in log(), log1p(), sqrt() or exp(). A response of two values, text, truth values or 0 and 1,
    makes it logistic: log odds of the second one in the order of its categories, or of the sorted
    values. `codes`: special codes such as -8 for "does not apply", which a condition sees as
    numbers.
    """
    analysis = _read(confidential, formula, codes)
    rare = np.append(False, _smaller_sides(cases_of(analysis, confidential).columns) < _FEWEST)
    terms = tuple((name, place) for name, place in analysis.terms if not rare[place])
    values = analyse(analysis, confidential).values
    if np.isnan(values[[place for _, place in terms]]).any():
        why = (
            "its predictors separate the response"
            if analysis.logistic
            else "its predictors follow from each other"
        )
        raise InputError(
            f"regression {analysis.formula!r} cannot be estimated from the confidential data: {why}"
        )
    return replace(analysis, terms=terms, left_out=int(rare.sum()))


def _smaller_sides(columns: Distinct | None) -> np.ndarray:
    """Of each column of two values how many records have the rarer one, (p,); infinite of a column
    of one value, or of more.
    """
    if columns is None:
        return np.empty(0)
    rows, sides = columns.rows, np.full(columns.rows.shape[1], np.inf)
    low, high = rows.min(axis=0), rows.max(axis=0)
    for place in np.flatnonzero(low < high):
        above = rows[:, place] == high[place]
        if (above | (rows[:, place] == low[place])).all():
            count = int(columns.counts[above].sum())
            sides[place] = min(count, int(columns.counts.sum()) - count)
    return sides


def _read(
    confidential: pd.DataFrame, formula: str, codes: Mapping[str, Sequence[float]] | None = None
) -> Analysis:
    """A regression as it is read of the confidential data, every coefficient of it."""
    plain, scale, where = split_regression(formula)
    parts = split_formula(plain)
    require_columns(confidential, [parts.response, *parts.names], "confidential data (regressions)")
    inside = (
        np.ones(len(confidential), dtype=bool) if where is None else _holds(where, confidential)
    )
    uncoded = without_codes(confidential, codes or {})
    column = uncoded[parts.response]
    values = (_two_values(column[inside]) if scale is None else None) or ()
    if not values and not holds_numbers(column):
        raise InputError(
            f"regression {formula!r}: the response must be numeric or have two values, got "
            f"{column.nunique()} of dtype {column.dtype}"
        )
    complete = uncoded[
        is_complete(uncoded, parts.names) & np.isfinite(response_of(column, scale, values)) & inside
    ]
    if complete.empty:
        raise InputError(f"regression {formula!r} has no complete case in the confidential data")
    if values and complete[parts.response].nunique() < 2:
        raise InputError(
            f"regression {formula!r}: the response has a single value among the complete cases"
        )
    design = build_design(plain, complete)
    terms = tuple((name, place) for place, name in enumerate(["Intercept", *design.names]))
    return Analysis(formula, parts.response, scale, design, terms, values, where, codes or {})


def split_regression(formula: str) -> RegressionFormula:
    """Take the text of a regression apart."""
    given, where = _split_where(formula)
    scale, plain = _splitresponse_of(given)
    if rounds_to_grid(plain):
        raise InputError(
            f"regression {formula!r} has spline(), which is for models: users of the release "
            "cannot make it; write cs(x, df=4)"
        )
    return RegressionFormula(plain, scale, where)


def checked_regression(
    confidential: pd.DataFrame, formula: str | None, coefficient: str | None, hidden: Sequence[str]
) -> Analysis | None:
    """Least squares of all records, of which one coefficient is reported; None where none is asked
    for.

    An error names no level of a column, and of the `hidden` sensitive variables nothing.
    """
    if formula is None or coefficient is None:
        return None
    response = response_name(formula)
    missing = int(confidential[response].isna().sum()) if response in confidential else 0
    if missing:
        raise InputError(
            f"evaluation.regression: {response!r} is missing in {missing} of {len(confidential)} "
            "records; valid is a list, evaluation.regressions, whose regressions leave such "
            "records out"
        )
    response_values(formula, confidential)
    design = build_design(formula, confidential)
    names = design.names
    if coefficient not in names:
        seen = [name for name in names if not any(f"{variable})[" in name for variable in hidden)]
        shown = list(
            dict.fromkeys(re.sub(r"\[(T\.)?[^\]]*\]", r"[\1level]", name) for name in seen)
        )
        raise InputError(
            f"coefficient {coefficient!r} is not in the regression; it has {listing(shown)}"
        )
    return Analysis(formula, response, None, design, ((coefficient, 1 + names.index(coefficient)),))


def _split_where(formula: str) -> tuple[str, Condition | None]:
    """The formula, and the condition that follows it, if any."""
    parts = re.split(r"\s+where\s+", formula, maxsplit=1) if isinstance(formula, str) else [formula]
    return (
        (parts[0], None)
        if len(parts) == 1
        else (parts[0], Condition.parse(parts[1], f"the condition of regression {parts[0]!r}"))
    )


def _holds(where: Condition, confidential: pd.DataFrame) -> np.ndarray:
    """Which records meet a condition, (n,); refuses one that compares with a text that no record
    has.
    """
    met, unknown = where.holds(confidential), where.unknown_texts(confidential)
    if unknown:
        raise InputError(
            f"{where.place} compares {listing(name for name, _ in unknown)} with a text that no "
            "record has"
        )
    return met


def _splitresponse_of(formula: str) -> tuple[str | None, str]:
    """The function about the response, if any, and the formula without it."""
    left, tilde, right = formula.partition("~") if isinstance(formula, str) else ("", "", "")
    match = re.fullmatch(rf"({'|'.join(SCALES)})\(\s*(`[^`]+`|[^\W\d]\w*)\s*\)", left.strip())
    return (None, formula) if match is None else (match[1], f"{match[2]} {tilde}{right}")


def _two_values(column: pd.Series) -> tuple[object, object] | None:
    """The two values of a column that is not numeric, or holds 0 and 1 alone; None of any other."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        levels = [level for level in column.cat.categories if (column == level).any()]
    else:
        levels = sorted(
            column.dropna().unique().tolist(), key=lambda value: (str(type(value)), value)
        )
    if len(levels) != 2 or (pd.api.types.is_numeric_dtype(column.dtype) and levels != [0, 1]):
        return None
    return levels[0], levels[1]


class _Solved(NamedTuple):
    """Of the complete cases (m,) of a dataset: their rows on the columns that are ``free`` (k,),
    what `_solve` gives, and their number.
    """

    complete: np.ndarray
    columns: Distinct
    free: np.ndarray
    coefficients: np.ndarray
    bread: np.ndarray
    residuals: np.ndarray
    target: np.ndarray


def _solved(
    analysis: Analysis, frame: pd.DataFrame, weights: np.ndarray
) -> tuple[int, _Solved | None]:
    """How many complete cases a dataset has, and the regression of them; None where the
    coefficients are not determined.
    """
    complete, records, target, centred = cases_of(analysis, frame)
    if centred is None:
        return records, None
    free = np.concatenate(
        [[True], np.ptp(centred.rows, axis=0) > 1e-12 * np.abs(centred.rows).max(axis=0)]
    )
    columns = Distinct(
        np.column_stack([np.ones(len(centred.rows)), centred.rows])[:, free], centred.which
    )
    solved = solve_regression(columns, target, weights[complete], analysis.logistic)
    return records, None if solved is None else _Solved(complete, columns, free, *solved, target)


def analyse(
    analysis: Analysis, frame: pd.DataFrame, design: SurveyDesign | None = None
) -> Estimates:
    """The coefficients in one dataset, the intercept first, or under a survey design of its
    records; NaN where they are not determined.
    """
    weights = np.ones(len(frame)) if design is None else design.weights
    records, solved = _solved(analysis, frame, weights)
    if solved is None:
        return _undetermined(analysis, records, cases_of(analysis, frame).columns is None)
    if design is not None:
        covariance, df = _of_design(design, analysis, solved), design.df
    elif analysis.logistic:
        covariance, df = solved.bread, np.inf
    else:
        df = float(records - len(solved.coefficients))
        left = float(solved.residuals @ solved.residuals)
        covariance = solved.bread * (left / df if df > 0 else np.nan)
    return Estimates(
        *_uncentred(solved.coefficients, covariance, solved.free, analysis.design.centre),
        df,
        records,
    )


def _undetermined(analysis: Analysis, records: int, strange: bool) -> Estimates:
    """No coefficient at all; ``strange``: of some complete case there are no columns."""
    size = len(analysis.design.centre) + 1
    if not records:
        why = "no record is complete"
    elif strange:
        why = (
            "a predictor has a level that the confidential data lack, or a value that is no "
            "number on its scale"
        )
    elif analysis.logistic:
        why = "the response has one value, or the predictors separate it or follow from each other"
    else:
        why = "the predictors follow from each other"
    return Estimates(np.full(size, np.nan), np.full(size, np.nan), np.nan, records, why)


def _of_design(design: SurveyDesign, analysis: Analysis, solved: "_Solved") -> np.ndarray:
    """The covariance of the coefficients that are free, (k, k): the sandwich, or that of the same
    regression under replicate weights.
    """

    def scores() -> np.ndarray:
        # records outside the domain add nothing but count in their stratum
        each = np.zeros((len(solved.complete), solved.free.sum()))
        each[solved.complete] = (
            solved.columns.spread(solved.columns.rows) * solved.residuals[:, None] @ solved.bread
        )
        return each

    def again(weights: np.ndarray) -> np.ndarray:
        anew = solve_regression(
            solved.columns, solved.target, weights[solved.complete], analysis.logistic
        )
        return np.full(solved.free.sum(), np.nan) if anew is None else anew[0]

    return design.covariance(scores, again)


def pulls(analysis: Analysis, frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """How each record's response pulls at the coefficients that are reported, (n, terms), and where
    it would not, the fitted one, (n,).

    To first order a response y_i adds pull_i (y_i - fitted_i). Zeros of records that are not
    complete, NaN where nothing is determined.
    """
    size = len(analysis.design.centre) + 1
    pull, fitted = np.zeros((len(frame), size)), np.zeros(len(frame))
    solved = _solved(analysis, frame, np.ones(len(frame)))[1]
    if solved is None:
        return np.full((len(frame), len(analysis.terms)), np.nan), fitted
    turned = solved.bread.copy()
    turned[0] -= analysis.design.centre[solved.free[1:]] @ solved.bread[1:]
    pull[np.ix_(solved.complete, solved.free)] = solved.columns.spread(
        solved.columns.rows @ turned.T
    )
    fitted[solved.complete] = solved.target - solved.residuals
    return pull[:, [place for _, place in analysis.terms]], fitted


def residuals_of(analysis: Analysis, frame: pd.DataFrame) -> np.ndarray:
    """The residual of each record's response, (n,); NaN of records that are not complete, and of
    all where the coefficients are not determined.
    """
    residuals = np.full(len(frame), np.nan)
    solved = _solved(analysis, frame, np.ones(len(frame)))[1]
    if solved is not None:
        residuals[solved.complete] = solved.residuals
    return residuals


def _uncentred(
    coefficients: np.ndarray, covariance: np.ndarray, free: np.ndarray, centre: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Values and variances (k,) on the columns as recorded, of estimates on the centred ones that
    are free.
    """
    values, variances = np.full(len(free), np.nan), np.full(len(free), np.nan)
    turn = np.eye(len(coefficients))
    turn[0, 1:] = -centre[free[1:]]
    values[free], variances[free] = turn @ coefficients, np.diag(turn @ covariance @ turn.T)
    if not free.all():
        values[0] = variances[0] = np.nan  # the intercept stands for levels that this dataset lacks
    return values, variances


def coefficient_intervals(
    analysis: Analysis,
    frames: Sequence[pd.DataFrame],
    *,
    synthetic: bool,
    design: SurveyDesign | None = None,
    level: float = 0.95,
    size_ratio: float | None = None,
    kappa: float = 1.0,
) -> dict[str, Interval]:
    """By name every reported coefficient with its interval: by a combining rule from L >= 2
    datasets, else that of the one dataset.

    NaN where some dataset does not determine the coefficient; the rule says in how many, and why.
    `synthetic`: whether the datasets are, so that the interval of one is too short; `size_ratio`:
    n_syn / n of fully synthetic data, whose rule is that of Raghunathan, Reiter & Rubin (2003),
    else Reiter's (2003), vbar `kappa` times (`riskweighted.utility.variance_ratios`).
    """
    check_share(level, "level")
    estimates = [analyse(analysis, frame, design) for frame in frames]
    note, intervals = _how_many(estimates, len(frames[0])), {}
    for name, column in analysis.terms:
        values = [float(each.values[column]) for each in estimates]
        variances = [float(each.variances[column]) for each in estimates]
        failed = np.flatnonzero(~(np.isfinite(values) & np.isfinite(variances))).tolist()
        if failed:
            whys = [
                _NO_VARIANCE if np.isfinite(values[each]) else estimates[each].why
                for each in failed
            ]
            why = " or ".join(dict.fromkeys(whys))
            rule = f"not estimable in {len(failed)} of {len(estimates)} datasets: {why}"
            intervals[name] = Interval(np.nan, np.nan, np.nan, np.nan, np.nan, rule)
        elif len(estimates) > 1:
            combined = combined_interval(
                values, variances, level=level, size_ratio=size_ratio, kappa=kappa
            )
            within = "" if design is None else f", vbar {design.described}"
            intervals[name] = combined._replace(rule=f"{combined.rule}{within}{note}")
        else:
            intervals[name] = t_interval(
                values[0],
                variances[0],
                estimates[0].df,
                level,
                _rule(analysis, design, synthetic) + note,
            )
    return intervals


def _rule(analysis: Analysis, design: SurveyDesign | None, synthetic: bool) -> str:
    kind = (
        "normal interval of maximum likelihood"
        if analysis.logistic
        else "t interval of least squares"
    )
    rule = f"one dataset: {kind if design is None else f't interval, {design.described}'}"
    return rule + (TOO_SHORT if synthetic else "")


def _how_many(estimates: Sequence[Estimates], records: int) -> str:
    """From how many records, where some are incomplete or outside the condition."""
    mean = float(np.mean([estimate.records for estimate in estimates]))
    return f"; of {mean:,.0f} of {records:,} records" if mean < records else ""
