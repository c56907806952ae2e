"""Of a regression, the response and the predictors of a dataset's complete cases."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import require_columns, with_columns
from riskweighted.design.design import Design
from riskweighted.design.distinct import Distinct
from riskweighted.design.formulas import split_formula
from riskweighted.sequence.conditions import Condition

__all__ = ["SCALES", "Analysis", "Cases", "cases_of", "is_complete", "response_of", "without_codes"]

SCALES = {"log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "exp": np.exp}


@dataclass(frozen=True, eq=False)
class Analysis:
    """A regression checked on the confidential data; made by `checked_analysis`, or by
    `checked_regression` for one coefficient.

    ``scale``: the function about the response, as in "log(income)"; ``values``: of a logistic
    regression the two of its response, the second of which has the log odds that are modelled;
    ``terms``: names and places of the coefficients that are reported, 0 being the intercept;
    ``where``: which records it is of; ``codes``: special codes by column, which are no values, so
    that records that hold one count as incomplete; ``left_out``: how many dummies that fewer than
    10 records have, or lack, are not reported.
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
        """The response on the scale of the formula, (n,), 1 and 0 of a logistic regression; NaN
        outside the domain.
        """
        target = response_of(
            without_codes(frame, self.codes)[self.response], self.scale, self.values
        )
        return target if self.where is None else np.where(self.where.holds(frame), target, np.nan)


class Cases(NamedTuple):
    """The complete cases of a dataset, (m,): which records they are, their number, their response,
    and their centred columns, None where one has a level, or a value, that no column stands for."""

    complete: np.ndarray
    records: int
    target: np.ndarray
    columns: Distinct | None


def cases_of(analysis: Analysis, frame: pd.DataFrame) -> Cases:
    require_columns(frame, analysis.columns, "synthetic data (regressions)")
    target, frame = analysis.target(frame), without_codes(frame, analysis.codes)
    complete = is_complete(frame, split_formula(analysis.design.formula).names) & np.isfinite(
        target
    )
    columns = None
    if complete.any():
        # a level that the confidential complete cases lack, or a scale that has no value there
        with contextlib.suppress(InputError):
            columns = analysis.design.at(frame[complete]).distinct
    return Cases(complete, int(complete.sum()), target[complete], columns)


def response_of(column: pd.Series, scale: str | None, values: tuple[object, ...]) -> np.ndarray:
    """A response (n,) on its scale, or 1 and 0 for the second and the first of two values; NaN
    where it has none.
    """
    if values:
        known = column.isin(list(values)).to_numpy()
        return np.where(known, (column == values[1]).to_numpy(dtype=float, na_value=0.0), np.nan)
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    with np.errstate(all="ignore"):
        scaled = numbers if scale is None else SCALES[scale](numbers)
    return np.where(np.isfinite(scaled), scaled, np.nan)


def without_codes(frame: pd.DataFrame, codes: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    """A frame whose special codes are missing values."""
    coded = {
        name: frame[name]
        for name, special in codes.items()
        if name in frame.columns and len(special)
    }
    return (
        with_columns(
            frame,
            {name: column.mask(column.isin(list(codes[name]))) for name, column in coded.items()},
        )
        if coded
        else frame
    )


def is_complete(frame: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    """Rows (n,) without a missing or infinite predictor."""
    complete = np.ones(len(frame), dtype=bool)
    for name in names:
        complete &= frame[name].notna().to_numpy()
        if pd.api.types.is_float_dtype(frame[name].dtype):
            complete &= np.isfinite(frame[name].to_numpy(dtype=float, na_value=np.nan))
    return complete
