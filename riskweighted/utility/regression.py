"""Least squares on each dataset: one coefficient, its variance, degrees of freedom and interval."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from formulaic import model_matrix

from riskweighted.common.checks import check_share
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns
from riskweighted.design.design import build_design, response_values
from riskweighted.design.distinct import Distinct, distinct_records
from riskweighted.design.formulas import response_name
from riskweighted.utility.intervals import TOO_SHORT, Interval, combine_partially_synthetic, t_interval

__all__ = ["Regression", "checked_regression", "coefficient_interval"]


@dataclass(frozen=True)
class Regression:
    formula: str
    response: str
    spec: object
    coefficient: str

    @property
    def columns(self) -> tuple[str, ...]:
        """What it needs of a dataset."""
        return (self.response, *sorted(str(name) for name in self.spec.required_variables))  # type: ignore[attr-defined]

    def fit(self, frame: pd.DataFrame) -> tuple[float, float, float]:
        """Estimate, variance and residual degrees of freedom of the coefficient in one dataset."""
        require_columns(frame, self.columns[1:], "synthetic data")
        predictors = frame[list(self.columns[1:])]
        first, which = distinct_records((column for _, column in predictors.items()), len(frame))
        rows = np.asarray(model_matrix(self.spec, predictors.iloc[first].reset_index(drop=True), na_action="ignore"), dtype=float)
        if not np.isfinite(rows).all():
            raise InputError(f"the regression {self.formula!r} meets missing or infinite predictors in the synthetic data")
        response = frame[self.response].to_numpy(dtype=float)
        values, variances, df = _least_squares(Distinct(rows, which), response)
        place = list(self.spec.column_names).index(self.coefficient)  # type: ignore[attr-defined]
        return float(values[place]), float(variances[place]), df


def _least_squares(columns: Distinct, response: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Coefficients (p,), their variances (p,) and degrees of freedom: records alike in all columns enter by their number and mean."""
    root = np.sqrt(columns.counts)
    weighted = root[:, None] * columns.rows
    inverse = np.linalg.pinv(weighted)
    values = inverse @ (columns.sums(response) / root)
    residuals = response - columns.spread(columns.rows @ values)
    df = float(len(response) - np.linalg.matrix_rank(weighted))
    return values, (inverse**2).sum(axis=1) * (residuals @ residuals) / df, df


def checked_regression(
    confidential: pd.DataFrame, formula: str | None, coefficient: str | None, hidden: Sequence[str]
) -> Regression | None:
    """The checked regression; an error names no level of a column, and of the `hidden` sensitive variables nothing."""
    if formula is None or coefficient is None:
        return None
    name = response_name(formula)
    missing = int(confidential[name].isna().sum()) if name in confidential else 0
    if missing:
        raise InputError(
            f"evaluation.regression: {name!r} is missing in {missing} of {len(confidential)} records; valid is a list, "
            "evaluation.regressions, whose regressions leave such records out"
        )
    response_values(formula, confidential)
    spec = build_design(formula, confidential).spec
    names = [name for name in spec.column_names if name != "Intercept"]
    if coefficient not in names:
        seen = [name for name in names if not any(f"{variable})[" in name for variable in hidden)]
        shown = list(dict.fromkeys(re.sub(r"\[(T\.)?[^\]]*\]", r"[\1level]", name) for name in seen))
        raise InputError(f"coefficient {coefficient!r} is not in the regression; it has {listing(shown)}")
    return Regression(formula, response_name(formula), spec, coefficient)


def coefficient_interval(analysis: Regression, frames: Sequence[pd.DataFrame], *, synthetic: bool, level: float = 0.95) -> Interval:
    """The coefficient and its interval: by Reiter's rule from L >= 2 datasets, else that of least squares.

    Parameters
    ----------
    analysis : Regression
    frames : sequence of L DataFrames
    synthetic : bool
        Whether they are synthetic; with L = 1 the rule then says that its interval is too short.
    level : float
        Probability of the interval.
    """
    check_share(level, "level")
    estimates, variances, freedom = zip(*(analysis.fit(frame) for frame in frames), strict=True)
    if len(frames) > 1:
        return combine_partially_synthetic(estimates, variances, level=level)
    rule = "one dataset: t interval of least squares" + (TOO_SHORT if synthetic else "")
    return t_interval(estimates[0], variances[0], freedom[0], level, rule)
