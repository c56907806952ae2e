"""Linking variables as the four metrics want them: codes with quintiles of numbers, or z-scores."""

import warnings

import numpy as np

from riskweighted.common.errors import InputError, RiskWeightedWarning
from riskweighted.reidentification.files import LinkedFiles

__all__ = ["cut_points", "quintile_codes", "standardized"]


def cut_points(values: np.ndarray) -> np.ndarray:
    """The 20, 40, 60 and 80 % quantiles of the non-missing values, linear interpolation; (4,)."""
    return np.asarray(np.quantile(values[~np.isnan(values)], [0.2, 0.4, 0.6, 0.8]))


def quintile_codes(files: LinkedFiles) -> tuple[np.ndarray, np.ndarray]:
    """Every linking variable as a code, (n, v) and (m, v); NaN is missing (Census Bureau primer, section 2, METHODS section 10).

    A number becomes 1 + the number of cut points strictly below it; cut points are those of the whole PUF, also where there
    are strata. Tied cut points leave quintiles empty: equal values always fall together.
    """
    puf, eif = files.puf.to_numpy(dtype=float, copy=True), files.eif.to_numpy(dtype=float, copy=True)
    few = []
    for number, (name, kind) in enumerate(files.kinds.items()):
        if kind == "numeric":
            cuts = cut_points(puf[:, number])
            if len(np.unique(cuts)) < 4:
                few.append(name)
            for codes in (puf, eif):
                missing = np.isnan(codes[:, number])
                codes[:, number] = np.where(missing, np.nan, 1.0 + np.searchsorted(cuts, codes[:, number], side="left"))
    if few:
        warnings.warn(
            f"quintiles of {', '.join(repr(name) for name in few)} have tied cut points, so they make fewer than five categories "
            "(equal values fall together)",
            RiskWeightedWarning,
            stacklevel=2,
        )
    return puf, eif


def standardized(files: LinkedFiles) -> tuple[np.ndarray, np.ndarray]:
    """Numeric linking variables as z-scores by the PUF's mean and sd (ddof = 1, non-missing values), others as codes."""
    puf, eif = files.puf.to_numpy(dtype=float, copy=True), files.eif.to_numpy(dtype=float, copy=True)
    for number, (name, kind) in enumerate(files.kinds.items()):
        if kind == "numeric":
            present = puf[~np.isnan(puf[:, number]), number]
            if (present == present[0]).all():
                raise InputError(f"linking variable {name!r} does not vary in the PUF, so it has no z-scores; declare it categorical")
            mean, sd = np.mean(present), np.std(present, ddof=1)
            puf[:, number], eif[:, number] = (puf[:, number] - mean) / sd, (eif[:, number] - mean) / sd
    return puf, eif
