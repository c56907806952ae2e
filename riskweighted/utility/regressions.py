"""Regressions of which every coefficient is compared: least squares, or logistic where the response has two values.

Each dataset is analysed by its complete cases. Estimates combine by Reiter's rule; under a survey design their variance is the sandwich of
its strata and units (Binder 1983), or that of replicate weights.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

from riskweighted.common.checks import check_share
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import holds_numbers, require_columns
from riskweighted.design.design import Design, build_design, response_values
from riskweighted.design.distinct import Distinct
from riskweighted.design.formulas import on_grid, response_name, split_formula
from riskweighted.sequence.conditions import Condition
from riskweighted.utility.intervals import TOO_SHORT, Interval, combined_interval, t_interval
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
]

_SCALES = {"log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "exp": np.exp}
_FEWEST = 10  # records on the smaller side of a dummy whose coefficient is reported, so that it tells of no single record
_STEPS, _PRECISE = 50, 1e-10  # of Newton's method: the largest steps in log odds below which it has arrived
_MOST_LOG_ODDS = 30.0  # beyond, the response is separated and there is no estimate


class Estimates(NamedTuple):
    """Coefficients (k,) and their variances (k,) in one dataset, NaN where they cannot be estimated; degrees of freedom; complete cases."""

    values: np.ndarray
    variances: np.ndarray
    df: float
    records: int


@dataclass(frozen=True, eq=False)
class Analysis:
    """A regression checked on the confidential data; made by `checked_analysis`, or by `checked_regression` for one coefficient.

    ``scale``: the function about the response, as in "log(income)"; ``values``: of a logistic regression the two of its response, the
    second of which has the log odds that are modelled; ``terms``: names and places of the coefficients that are reported, 0 being the
    intercept; ``where``: which records it is of; ``codes``: special codes by column, which are no values, so that records that hold one
    count as incomplete; ``left_out``: how many dummies that fewer than 10 records have, or lack, are not reported.
    """

    formula: str
    response: str
    scale: str | None
    design: Design = field(repr=False)
    terms: tuple[tuple[str, int], ...]
    values: tuple[object, ...] = field(default=(), repr=False)
    where: Condition | None = None
    codes: Mapping[str, Sequence[float]] = field(default_factory=dict, repr=False)
    left_out: int = 0

    @property
    def logistic(self) -> bool:
        return bool(self.values)

    @property
    def columns(self) -> tuple[str, ...]:
        """What it needs of a dataset."""
        conditions = () if self.where is None else self.where.names
        return (self.response, *split_formula(self.design.formula).names, *conditions)

    def target(self, frame: pd.DataFrame) -> np.ndarray:
        """The response on the scale of the formula, (n,), 1 and 0 of a logistic regression; NaN outside the domain."""
        target = _response(_uncoded(frame, self.codes)[self.response], self.scale, self.values)
        return target if self.where is None else np.where(self.where.holds(frame), target, np.nan)


def checked_analyses(
    confidential: pd.DataFrame, formulas: Sequence[str], codes: Mapping[str, Sequence[float]] | None = None
) -> tuple[Analysis, ...]:
    """The checked regressions of a list."""
    return tuple(checked_analysis(confidential, formula, codes) for formula in formulas)


def checked_analysis(confidential: pd.DataFrame, formula: str, codes: Mapping[str, Sequence[float]] | None = None) -> Analysis:
    """A regression, checked on the confidential data; an InputError says what of it cannot be read or estimated.

    `formula`: "response ~ predictors", or "response ~ predictors where CONDITION" for some of the records, such as "income > 0" (a column
    named where is quoted, `where`). The response may stand in log(), log1p(), sqrt() or exp(). A response of two values, text, truth
    values or 0 and 1, makes it logistic: log odds of the second one in the order of its categories, or of the sorted values.
    `codes`: special codes such as -8 for "does not apply", which a condition sees as numbers.
    """
    given, where = _split_where(formula)
    scale, plain = _split_response(given)
    parts = split_formula(plain)
    if on_grid(plain):
        raise InputError(
            f"regression {formula!r} has spline(), which is of models: whoever has the release cannot make it; write cs(x, df=4)"
        )
    require_columns(confidential, [parts.response, *parts.names], "confidential data (regressions)")
    inside = np.ones(len(confidential), dtype=bool) if where is None else _holds(where, confidential)
    uncoded = _uncoded(confidential, codes or {})
    column = uncoded[parts.response]
    values = (_two_values(column[inside]) if scale is None else None) or ()
    if not values and not holds_numbers(column):
        raise InputError(
            f"regression {formula!r}: the response must be numeric or have two values, got {column.nunique()} of dtype {column.dtype}"
        )
    complete = uncoded[_complete(uncoded, parts.names) & np.isfinite(_response(column, scale, values)) & inside]
    if complete.empty:
        raise InputError(f"regression {formula!r} has no complete case in the confidential data")
    if values and complete[parts.response].nunique() < 2:
        raise InputError(f"regression {formula!r}: the response has a single value among the complete cases")
    design = build_design(plain, complete)
    rare, names = _rare(design), _names(design)
    terms = (("Intercept", 0), *((name, number) for number, name in enumerate(names, 1) if not rare[number - 1]))
    analysis = Analysis(formula, parts.response, scale, design, terms, values, where, codes or {}, int(rare.sum()))
    if np.isnan(analyse(analysis, confidential).values[[column for _, column in terms]]).any():
        raise InputError(f"regression {formula!r} cannot be estimated from the confidential data: its predictors separate the response")
    return analysis


def checked_regression(confidential: pd.DataFrame, formula: str | None, coefficient: str | None, hidden: Sequence[str]) -> Analysis | None:
    """Least squares of all records, of which one coefficient is reported; None where none is asked for.

    An error names no level of a column, and of the `hidden` sensitive variables nothing.
    """
    if formula is None or coefficient is None:
        return None
    response = response_name(formula)
    missing = int(confidential[response].isna().sum()) if response in confidential else 0
    if missing:
        raise InputError(
            f"evaluation.regression: {response!r} is missing in {missing} of {len(confidential)} records; valid is a list, "
            "evaluation.regressions, whose regressions leave such records out"
        )
    response_values(formula, confidential)
    design = build_design(formula, confidential)
    names = _names(design)
    if coefficient not in names:
        seen = [name for name in names if not any(f"{variable})[" in name for variable in hidden)]
        shown = list(dict.fromkeys(re.sub(r"\[(T\.)?[^\]]*\]", r"[\1level]", name) for name in seen))
        raise InputError(f"coefficient {coefficient!r} is not in the regression; it has {listing(shown)}")
    return Analysis(formula, response, None, design, ((coefficient, 1 + names.index(coefficient)),))


def _names(design: Design) -> list[str]:
    """The columns of a model matrix, the intercept left out."""
    return [str(name) for name in design.spec.column_names if str(name) != "Intercept"]


def _split_where(formula: str) -> tuple[str, Condition | None]:
    """The formula, and the condition that follows it, if any."""
    parts = re.split(r"\s+where\s+", formula, maxsplit=1) if isinstance(formula, str) else [formula]
    return (parts[0], None) if len(parts) == 1 else (parts[0], Condition.parse(parts[1], f"the condition of regression {parts[0]!r}"))


def _holds(where: Condition, confidential: pd.DataFrame) -> np.ndarray:
    """Which records meet a condition, (n,); refuses one that compares with a text that no record has."""
    met, unknown = where.holds(confidential), where.unknown_texts(confidential)
    if unknown:
        raise InputError(f"{where.place} compares {listing(name for name, _ in unknown)} with a text that no record has")
    return met


def _split_response(formula: str) -> tuple[str | None, str]:
    """The function about the response, if any, and the formula without it."""
    left, tilde, right = formula.partition("~") if isinstance(formula, str) else ("", "", "")
    match = re.fullmatch(rf"({'|'.join(_SCALES)})\(\s*(`[^`]+`|[^\W\d]\w*)\s*\)", left.strip())
    return (None, formula) if match is None else (match[1], f"{match[2]} {tilde}{right}")


def _two_values(column: pd.Series) -> tuple[object, object] | None:
    """The two values of a column that is not numeric, or holds 0 and 1 alone; None of any other."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        levels = [level for level in column.cat.categories if (column == level).any()]
    else:
        levels = sorted(column.dropna().unique().tolist(), key=lambda value: (str(type(value)), value))
    if len(levels) != 2 or (pd.api.types.is_numeric_dtype(column.dtype) and levels != [0, 1]):
        return None
    return levels[0], levels[1]


def _response(column: pd.Series, scale: str | None, values: tuple[object, ...]) -> np.ndarray:
    """A response (n,) on its scale, or 1 and 0 for the second and the first of two values; NaN where it has none."""
    if values:
        known = column.isin(list(values)).to_numpy()
        return np.where(known, (column == values[1]).to_numpy(dtype=float, na_value=0.0), np.nan)
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    with np.errstate(all="ignore"):
        scaled = numbers if scale is None else _SCALES[scale](numbers)
    return np.where(np.isfinite(scaled), scaled, np.nan)


def _uncoded(frame: pd.DataFrame, codes: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    """A frame whose special codes are missing values."""
    coded = {name: frame[name] for name, special in codes.items() if name in frame.columns and len(special)}
    return frame.assign(**{name: column.mask(column.isin(list(codes[name]))) for name, column in coded.items()}) if coded else frame


def _complete(frame: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    """Rows (n,) without a missing or infinite predictor."""
    complete = np.ones(len(frame), dtype=bool)
    for name in names:
        complete &= frame[name].notna().to_numpy()
        if pd.api.types.is_float_dtype(frame[name].dtype):
            complete &= np.isfinite(frame[name].to_numpy(dtype=float, na_value=np.nan))
    return complete


def _rare(design: Design) -> np.ndarray:
    """Columns (p,) of two values, one of which fewer than 10 records have."""
    rare, counts = np.zeros(len(design.centre), dtype=bool), design.distinct.counts
    for number, column in enumerate(design.distinct.rows.T):
        values, which = np.unique(column, return_inverse=True)
        rare[number] = len(values) == 2 and np.bincount(which, weights=counts).min() < _FEWEST
    return rare


class _Solved(NamedTuple):
    """Of the complete cases (m,) of a dataset: their rows on the columns that are ``free`` (k,), what `_solve` gives, and their number."""

    complete: np.ndarray
    columns: Distinct
    free: np.ndarray
    coefficients: np.ndarray
    bread: np.ndarray
    residuals: np.ndarray
    target: np.ndarray


def _solved(analysis: Analysis, frame: pd.DataFrame, weights: np.ndarray) -> tuple[int, _Solved | None]:
    """How many complete cases a dataset has, and the regression of them; None where the coefficients are not determined."""
    names = split_formula(analysis.design.formula).names
    require_columns(frame, analysis.columns, "synthetic data (regressions)")
    target, frame = analysis.target(frame), _uncoded(frame, analysis.codes)
    complete = _complete(frame, names) & np.isfinite(target)
    records = int(complete.sum())
    if records == 0:
        return records, None
    try:
        centred = analysis.design.at(frame[complete]).distinct
    except InputError:  # a level that the confidential complete cases lack, or a scale that has no value there
        return records, None
    free = np.concatenate([[True], np.ptp(centred.rows, axis=0) > 1e-12 * np.abs(centred.rows).max(axis=0)])
    columns = Distinct(np.column_stack([np.ones(len(centred.rows)), centred.rows])[:, free], centred.which)
    solved = _solve(columns, target[complete], weights[complete], analysis.logistic)
    return records, None if solved is None else _Solved(complete, columns, free, *solved, target[complete])


def analyse(analysis: Analysis, frame: pd.DataFrame, design: SurveyDesign | None = None) -> Estimates:
    """The coefficients in one dataset, the intercept first, or under a survey design of its records; NaN where they are not determined."""
    weights, size = np.ones(len(frame)) if design is None else design.weights, len(analysis.design.centre) + 1
    records, solved = _solved(analysis, frame, weights)
    if solved is None:
        return Estimates(np.full(size, np.nan), np.full(size, np.nan), np.nan, records)
    free, coefficients, bread, residuals = solved.free, solved.coefficients, solved.bread, solved.residuals
    if design is not None:
        covariance, df = _of_design(design, analysis, solved), design.df
    elif analysis.logistic:
        covariance, df = bread, np.inf
    else:
        df = float(records - free.sum())
        covariance = bread * (residuals @ residuals / df if df > 0 else np.nan)
    return Estimates(*_uncentred(coefficients, covariance, free, analysis.design.centre), df, records)


def _of_design(design: SurveyDesign, analysis: Analysis, solved: "_Solved") -> np.ndarray:
    """The covariance of the coefficients that are free, (k, k): the sandwich, or that of the same regression under replicate weights."""

    def scores() -> np.ndarray:
        each = np.zeros((len(solved.complete), solved.free.sum()))  # records outside the domain add nothing but count in their stratum
        each[solved.complete] = solved.columns.spread(solved.columns.rows) * solved.residuals[:, None] @ solved.bread
        return each

    def again(weights: np.ndarray) -> np.ndarray:
        anew = _solve(solved.columns, solved.target, weights[solved.complete], analysis.logistic)
        return np.full(solved.free.sum(), np.nan) if anew is None else anew[0]

    return design.covariance(scores, again)


def pulls(analysis: Analysis, frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """How each record's response pulls at the coefficients that are reported, (n, terms), and where it would not, the fitted one, (n,).

    To first order a response y_i adds pull_i (y_i - fitted_i). Zeros of records that are not complete, NaN where nothing is determined.
    """
    size = len(analysis.design.centre) + 1
    pull, fitted = np.zeros((len(frame), size)), np.zeros(len(frame))
    solved = _solved(analysis, frame, np.ones(len(frame)))[1]
    if solved is None:
        return np.full((len(frame), len(analysis.terms)), np.nan), fitted
    turned = solved.bread.copy()
    turned[0] -= analysis.design.centre[solved.free[1:]] @ solved.bread[1:]
    pull[np.ix_(solved.complete, solved.free)] = solved.columns.spread(solved.columns.rows @ turned.T)
    fitted[solved.complete] = solved.target - solved.residuals
    return pull[:, [place for _, place in analysis.terms]], fitted


def _solve(columns: Distinct, target: np.ndarray, weights: np.ndarray, logistic: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Coefficients (k,), the inverse of the weighted information (k, k) and residuals (m,); None where they are not determined.

    Records of one row enter by their weight and the weighted sum of their targets.
    """
    weight, sums = columns.sums(weights), columns.sums(weights * target)
    scale = np.sqrt(columns.counts @ columns.rows**2 / len(target))
    x = columns.rows / scale
    if len(target) < x.shape[1] or _rank(Distinct(x, columns.which).triangle(weight), len(target)) < x.shape[1]:
        return None
    beta = np.zeros(x.shape[1])
    for _ in range(_STEPS if logistic else 1):
        mean = expit(x @ beta) if logistic else x @ beta
        information = x.T @ ((weight * (mean * (1 - mean) if logistic else 1.0))[:, None] * x)
        try:
            step = np.linalg.solve(information, x.T @ (sums - weight * mean))
        except np.linalg.LinAlgError:
            return None
        beta = beta + step
        if not np.isfinite(beta).all() or (logistic and np.abs(x @ beta).max() > _MOST_LOG_ODDS):
            return None
        if not logistic or np.abs(x @ step).max() < _PRECISE:
            mean = expit(x @ beta) if logistic else x @ beta
            spread = weight * (mean * (1 - mean) if logistic else 1.0)
            bread = np.linalg.inv(x.T @ (spread[:, None] * x)) / np.outer(scale, scale)
            return beta / scale, bread, target - columns.spread(mean)
    return None


def _rank(triangle: np.ndarray, records: int) -> int:
    """The rank of what a triangle is the QR of, judged as NumPy does with so many rows."""
    values = np.linalg.svd(triangle, compute_uv=False)
    return int((values > values.max(initial=0.0) * records * np.finfo(float).eps).sum())


def _uncentred(coefficients: np.ndarray, covariance: np.ndarray, free: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values and variances (k,) on the columns as recorded, of estimates on the centred ones that are free."""
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
    """By name every reported coefficient with its interval: by a combining rule from L >= 2 datasets, else that of the one dataset.

    NaN where some dataset does not determine the coefficient; the rule says in how many. `synthetic`: whether the datasets are, so that the
    interval of one is too short; `size_ratio`: n_syn / n of fully synthetic data, whose rule is that of Raghunathan, Reiter & Rubin (2003),
    else Reiter's (2003), vbar `kappa` times (`riskweighted.utility.variance_ratios`).
    """
    check_share(level, "level")
    estimates = [analyse(analysis, frame, design) for frame in frames]
    note, intervals = _cases(estimates, len(frames[0])), {}
    for name, column in analysis.terms:
        values, variances = [float(each.values[column]) for each in estimates], [float(each.variances[column]) for each in estimates]
        failed = int((~(np.isfinite(values) & np.isfinite(variances))).sum())
        if failed:
            rule = f"not estimable in {failed} of {len(frames)} datasets"
            intervals[name] = Interval(np.nan, np.nan, np.nan, np.nan, np.nan, rule)
        elif len(frames) > 1:
            combined = combined_interval(values, variances, level=level, size_ratio=size_ratio, kappa=kappa)
            within = "" if design is None else f", vbar {design.described}"
            intervals[name] = combined._replace(rule=f"{combined.rule}{within}{note}")
        else:
            intervals[name] = t_interval(values[0], variances[0], estimates[0].df, level, _rule(analysis, design, synthetic) + note)
    return intervals


def _rule(analysis: Analysis, design: SurveyDesign | None, synthetic: bool) -> str:
    kind = "normal interval of maximum likelihood" if analysis.logistic else "t interval of least squares"
    rule = f"one dataset: {kind if design is None else f't interval, {design.described}'}"
    return rule + (TOO_SHORT if synthetic else "")


def _cases(estimates: Sequence[Estimates], records: int) -> str:
    """From how many records, where some are incomplete or outside the condition."""
    mean = float(np.mean([estimate.records for estimate in estimates]))
    return f"; of {mean:,.0f} of {records:,} records" if mean < records else ""
