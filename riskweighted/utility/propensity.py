"""Propensity-score distance: can a model tell synthetic records from confidential ones? (Snoke et al. 2018)"""

import re
import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
import statsmodels.api as sm
from formulaic import model_matrix
from statsmodels.tools.sm_exceptions import ConvergenceWarning, PerfectSeparationWarning

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns

__all__ = ["PropensityDistance", "propensity_distance"]


class PropensityDistance(NamedTuple):
    """``pmse``; ``ratio`` to its expectation under a correct synthesis (1 is ideal); ``standardised``: (pmse - mean)/sd."""

    pmse: float
    ratio: float
    standardised: float


def propensity_distance(
    confidential: pd.DataFrame, synthetic: pd.DataFrame, predictors: str, synthesized: tuple[str, ...]
) -> PropensityDistance:
    """pMSE of a logistic regression, with its null expectation and standard deviation (METHODS section 6).

    Parameters
    ----------
    confidential, synthetic : DataFrames
    predictors : str
        Right-hand side of a formula over columns of both, for example ``"income + income:C(region)"``.
    synthesized : tuple of str
        Synthesized variables: only columns of the model matrix that involve one count in the null distribution,
        since the others are equal in both files.
    """
    for frame, what in ((confidential, "confidential data"), (synthetic, "synthetic data")):
        require_columns(frame, synthesized, what)
    both = pd.concat([confidential, synthetic], ignore_index=True)
    try:
        matrix = model_matrix(predictors, both, na_action="raise")
    except Exception as error:
        _refuse_gaps(predictors, both)
        raise InputError(
            f"propensity formula {predictors!r} cannot be evaluated ({type(error).__name__}); it needs columns of both files"
        ) from None
    columns = np.asarray(matrix, dtype=float)
    scale = np.where(np.ptp(columns, axis=0) > 0, np.ptp(columns, axis=0), 1.0)
    label = np.repeat([0.0, 1.0], [len(confidential), len(synthetic)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (ConvergenceWarning, PerfectSeparationWarning))
        scores = sm.GLM(label, columns / scale, family=sm.families.Binomial()).fit().fittedvalues
    total, share = len(both), label.mean()
    pmse = float(((scores - share) ** 2).mean())
    free = sum(bool(set(synthesized) & _variables_of(matrix.model_spec, place)) for place in range(columns.shape[1]))
    if free == 0:
        raise InputError(f"propensity formula {predictors!r} uses no synthesized variable, so it cannot tell the files apart")
    expected = free * (1 - share) ** 2 * share / total
    spread = np.sqrt(2 * free) * (1 - share) ** 2 * share / total
    return PropensityDistance(pmse, pmse / expected, (pmse - expected) / spread)


def _refuse_gaps(predictors: str, both: pd.DataFrame) -> None:
    """Say which variables of the formula are missing somewhere."""
    words = set(re.findall(r"\w+", predictors))
    gaps = [name for name in both if str(name) in words and both[name].isna().any()]
    if gaps:
        raise InputError(
            f"propensity formula {predictors!r}: {listing(gaps)} is missing in some records; fill it and add a column that "
            "says where it was"
        )


def _variables_of(spec: object, place: int) -> set[str]:
    """Variables that the column at `place` of a model matrix is made of."""
    for term, places in spec.term_slices.items():  # type: ignore[attr-defined]
        if places.start <= place < places.stop:
            return {str(variable) for variable in spec.term_variables[term]}  # type: ignore[attr-defined]
    return set()
