"""Survey weights: a column of the data, checked once and normalised to sum n. No message shows a
value.
"""

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import require_columns
from riskweighted.common.native import Frame, as_pandas

__all__ = ["checked_survey", "survey_weights"]


def survey_weights(confidential: Frame, column: str) -> pd.Series:
    """Return the survey weights of a column, normalised to sum n (METHODS section 12).

    Parameters
    ----------
    confidential : DataFrame, n rows
    column : str
        For example the inverse of the probability that a record came into the sample.

    Returns
    -------
    Series (n,) on the index of `confidential`, >= 0, of mean 1.

    Raises
    ------
    InputError
        If there is no such column, it is not numeric, or holds values that are missing, infinite or
        negative, or none above 0.

    Examples
    --------
    >>> rw.survey_weights(pd.DataFrame({"w": [1, 1, 2]}), "w").tolist()
    [0.75, 0.75, 1.5]
    """
    confidential = as_pandas(confidential)
    if not isinstance(column, str):
        raise InputError(f"survey must be the name of a column, got {type(column).__name__}")
    require_columns(confidential, [column], "confidential data (survey weights)")
    return _normalised(confidential[column], f"survey weights {column!r}")


def checked_survey(
    survey: "str | pd.Series | np.ndarray | None", confidential: pd.DataFrame
) -> pd.Series | None:
    """Normalised survey weights of a column by its name, or of values on the index of the data;
    None where there are none.
    """
    if survey is None or isinstance(survey, str):
        return None if survey is None else survey_weights(confidential, survey)
    if isinstance(survey, pd.Series):
        column: pd.Series = survey
    else:
        values = np.asarray(survey)
        if values.ndim != 1 or len(values) != len(confidential):
            raise InputError(
                f"survey must be a column's name or one weight for each of {len(confidential)} "
                "records"
            )
        column = pd.Series(values, confidential.index)
    if not column.index.equals(confidential.index):
        raise InputError(
            "survey weights must have the index of the confidential data, in its order; "
            "got another index"
        )
    return _normalised(column, "survey weights")


def _normalised(column: pd.Series, what: str) -> pd.Series:
    """A column divided by its mean."""
    kind = column.dtype
    if (
        not pd.api.types.is_numeric_dtype(kind)
        or pd.api.types.is_bool_dtype(kind)
        or pd.api.types.is_complex_dtype(kind)
    ):
        raise InputError(f"{what} must be numbers >= 0, got dtype {kind}")
    values = column.to_numpy(dtype=float, na_value=np.nan)
    missing = int(np.isnan(values).sum())
    infinite = int(np.isinf(values).sum())
    negative = int((np.isfinite(values) & (values < 0)).sum())
    if missing or infinite or negative:
        raise InputError(
            f"{what} must be finite and >= 0: {missing} are missing, {infinite} infinite and "
            f"{negative} negative, of {len(values)}"
        )
    if not (values > 0).any():
        raise InputError(f"{what}: all {len(values)} are zero; valid is at least one above 0")
    scaled = values / values.max()  # very large ones would add up to infinity
    return pd.Series(scaled / scaled.mean(), column.index, name="survey")
