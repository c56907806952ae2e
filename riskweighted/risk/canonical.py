"""Canonical-correlation disclosure risk of masked numeric data (Muralidhar & Sarathy; METHODS
section 8).

X (n, k) are the confidential variables and Y (n, k) the masked ones, row by row, centred;
covariances divide by n - 1. *Value disclosure* is how well linear regression on Y predicts X: R^2
of each variable, and lambda_1, the largest R^2 over linear combinations. *Identity disclosure* is
how well an intruder who holds a row of X finds its masked row: Fuller's identification probability,
and the share of nearest links that are right. Both assume normality and grant the intruder the true
covariances.

The bounds on MIDP and IDP are our own, with proof below: Muralidhar & Sarathy's formulas are images
that did not survive, and no formula we could find gives the numbers printed on their slides (MIDP =
0.2375 for 25 records, ...).

Missing values are refused, and special codes are numbers: who leaves records out decides among how
many an intruder searches, so the caller does it. A direction of X that Y recovers exactly (lambda =
1) takes the limit of k_j as 1 - lambda -> 0: only masked records that agree in it to 1e-9 standard
deviations remain candidates, so distinct records released as they are have probability 1, and c
equal ones 1/c each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_complex_dtype, is_numeric_dtype
from scipy.spatial.distance import cdist

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import kind_of_values, refuse_infinite, require_columns
from riskweighted.common.native import Frame, as_pandas
from riskweighted.intruder.patterns import cells, known_patterns

__all__ = [
    "CanonicalDisclosure",
    "CanonicalVariates",
    "canonical_disclosure",
    "canonical_disclosure_by",
    "idp_bounds",
    "midp_bound",
]

Array: TypeAlias = np.ndarray
Names: TypeAlias = Sequence[str] | None

_CONSTANT = 1e-12  # range of a column, as a share of its largest absolute value
_COLLINEAR = 1e-6  # smallest singular value of the standardised columns, as a share of the largest
# standard deviations within which a recovered direction agrees; above the rounding _COLLINEAR
# allows
_EXACT = 1e-9
_TIE = 1e-12  # difference of two distances, as a share of the largest score, that is rounding
_BLOCK_BYTES = 2**23  # one block of distances, rows x n; about three live at a time


class CanonicalVariates(NamedTuple):
    """``squared_correlations`` (k,): lambda, largest first, 1 where recovered exactly; ``noise``
    (k,): 1 - lambda, accurate near 0; ``scores`` (n, k): U, variance 1; ``predicted`` (n, k): V
    lambda^0.5, the regression of U on Y."""

    squared_correlations: Array
    noise: Array
    scores: Array
    predicted: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class CanonicalDisclosure:
    """Value and identity disclosure of one masked file; Series (n,) are on the index of the data.
    Confidential.

    ``r2`` (k,): R^2 of each confidential variable on all masked ones. ``squared_correlations``
    (k,): lambda, largest first. ``probability`` (n,): Fuller's P at the true record. ``matched``
    (n,): label of the masked record at the smallest canonical distance, the first in row order
    where ``tied`` (n,) > 1 are equally near. ``reidentified``: expected share linked to their own
    masked record if ties are drawn at random. ``midp_bound``, ``idp_bounds`` (n,): lower bounds at
    these lambda. Higher is riskier.
    """

    variables: tuple[str, ...]
    r2: pd.Series
    squared_correlations: Array
    probability: pd.Series
    mean_probability: float
    matched: pd.Series
    tied: pd.Series
    reidentified: float
    midp_bound: float
    idp_bounds: pd.Series

    @property
    def largest(self) -> float:
        """lambda_1: the largest R^2 of any linear combination of the confidential variables."""
        return float(self.squared_correlations[0])


def _is_number(dtype: object) -> bool:
    return is_numeric_dtype(dtype) and not (is_bool_dtype(dtype) or is_complex_dtype(dtype))


def _pair(
    confidential: pd.DataFrame, masked: pd.DataFrame, variables: Names, by: Sequence[str] = ()
) -> tuple[list[str], Array, Array]:
    """The variables to compare, and their values in two files whose rows pair, (n, k) each."""
    require_columns(confidential, by, "confidential data")
    require_columns(masked, (), "masked data")
    if not masked.index.equals(confidential.index):
        raise InputError(
            f"masked data ({len(masked)} records) and confidential data ({len(confidential)}) "
            "need the same index: rows pair"
        )
    if variables is None:
        numeric = [
            dict.fromkeys(name for name, dtype in frame.dtypes.items() if _is_number(dtype))
            for frame in (confidential, masked)
        ]
        variables = [name for name in numeric[0] if name in numeric[1] and name not in by]
    names = [variables] if isinstance(variables, str) else list(variables)
    if not names or len(set(names)) < len(names) or set(names) & set(by):
        wanted = (
            "at least one column that is numeric in both files, each once and none of by = "
            f"{listing(by)}"
        )
        raise InputError(f"variables to compare: name {wanted}; got {listing(names)}")
    return (
        names,
        _values(confidential, names, "confidential data"),
        _values(masked, names, "masked data"),
    )


def _values(frame: pd.DataFrame, names: Sequence[str], what: str) -> Array:
    """Finite numbers of the named columns, (n, k)."""
    require_columns(frame, names, what)
    other = [name for name in names if not _is_number(frame[name].dtype)]
    if other:
        raise InputError(
            f"{what}: {listing(other)} must be numeric, got "
            f"{listing(dict.fromkeys(kind_of_values(frame[o]) for o in other))}"
        )
    numbers = pd.DataFrame(
        {name: frame[name].to_numpy(dtype=float, na_value=np.nan) for name in names}
    )
    for name in names:
        missing = int(numbers[name].isna().sum())
        if missing:
            raise InputError(
                f"{what}: {name!r} is missing in {missing} of {len(numbers)} records; regression "
                "needs complete ones: leave "
                "these out of both files"
            )
        refuse_infinite(numbers[name], what)
    return np.asarray(numbers, dtype=float)


def _standardise(values: Array, names: Sequence[str], what: str) -> tuple[Array, Array]:
    """Columns centred and of length 1, (n, k), and their lengths, (k,); refuses what makes a
    covariance singular.
    """
    n, k = values.shape
    if n <= 2 * k:
        raise InputError(
            f"{what}: {n} records are too few for {k} variables; with {2 * k} or fewer, lambda_1 "
            "is 1 by arithmetic"
        )
    peak = np.abs(values).max(axis=0)
    scaled = values / np.where(peak > 0, peak, 1.0)
    constant = np.ptp(scaled, axis=0) <= _CONSTANT
    if constant.any():
        raise InputError(
            f"{what}: {listing(compress(names, constant))} must vary between records, got a "
            "constant"
        )
    centred = scaled - scaled.mean(axis=0)
    length = np.linalg.norm(centred, axis=0)
    _, spread, loadings = np.linalg.svd(centred / length, full_matrices=False)
    if spread[-1] <= _COLLINEAR * spread[0]:
        raise InputError(
            f"{what}: {listing(compress(names, abs(loadings[-1]) > 1e-5))} are collinear; leave "
            "at least one of them out"
        )
    return centred / length, length * peak


def _combine(columns: Array, coefficients: Array) -> Array:
    """``columns @ coefficients``, but equal rows give equal bits (BLAS does not promise that), so
    that ties are ties.
    """
    return np.asarray(sum(columns[:, [j]] * coefficients[j] for j in range(columns.shape[1])))


def _variates(x: Array, y: Array) -> CanonicalVariates:
    """Canonical form of standardised columns (n, k), by the sines: they keep 1 - lambda accurate
    near 0 (Bjorck & Golub 1973).
    """
    (q_x, r_x), (q_y, r_y) = np.linalg.qr(x), np.linalg.qr(y)
    cross = q_y.T @ q_x
    _, sines, directions = np.linalg.svd(q_x - q_y @ cross, full_matrices=False)
    sines, directions = sines[::-1], directions[::-1].T * np.sqrt(len(x) - 1)
    scores = _combine(x, np.linalg.solve(r_x, directions))
    predicted = _combine(y, np.linalg.solve(r_y, cross @ directions))
    recovered = np.abs(scores - predicted).max(axis=0) <= _EXACT
    noise = np.where(recovered, 0.0, np.minimum(sines**2, 1.0))  # above 1 by rounding only
    return CanonicalVariates(1.0 - noise, noise, scores, predicted)


def _r2(columns: Array, masked: Array) -> Array:
    """R^2 (c,) of centred columns (n, c) on the masked ones (n, k)."""
    q, _ = np.linalg.qr(masked)
    residual = columns - q @ (q.T @ columns)
    # below 0 by rounding only
    return np.asarray(np.maximum(1.0 - (residual**2).sum(axis=0) / (columns**2).sum(axis=0), 0.0))


def _links(variates: CanonicalVariates) -> tuple[Array, Array, Array, Array]:
    """Of every original, (n,) each: P at the true record, the nearest masked record, how many tie,
    whether the true one does.
    """
    n = len(variates.scores)
    recovered = variates.noise == 0
    scores, predicted = (
        (v[:, ~recovered] / np.sqrt(variates.noise[~recovered]))
        for v in (variates.scores, variates.predicted)
    )
    rounding = _TIE * max(np.abs(scores).max(initial=1.0), np.abs(predicted).max(initial=1.0))
    probability = np.empty(n)
    nearest = np.empty(n, np.int64)
    tied = np.empty(n, np.int64)
    true = np.empty(n, bool)
    step = max(1, _BLOCK_BYTES // (8 * n))
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        distance = (
            cdist(scores[rows], predicted, "sqeuclidean")
            if not recovered.all()
            else np.zeros((len(rows), n))
        )
        # the true record stays a candidate: that is how `recovered` was decided
        if recovered.any():
            apart = cdist(
                variates.scores[rows][:, recovered], variates.predicted[:, recovered], "chebyshev"
            )
            distance[apart > _EXACT] = np.inf
        to_true, least = distance[np.arange(len(rows)), rows], distance.min(axis=1)
        within = (np.sqrt(least) + rounding) ** 2
        near = distance <= within[:, None]
        nearest[rows], tied[rows], true[rows] = (
            near.argmax(axis=1),
            near.sum(axis=1),
            to_true <= within,
        )
        distance -= least[:, None]  # log k_j = -0.5 distance, relative to the largest
        distance *= -0.5
        probability[rows] = np.exp(-0.5 * (to_true - least)) / np.exp(distance, out=distance).sum(
            axis=1
        )
    return probability, nearest, tied, true


def canonical_disclosure(
    confidential: Frame, masked: Frame, variables: Names = None
) -> CanonicalDisclosure:
    """Return the value and the identity disclosure of masked numeric data (Muralidhar & Sarathy;
    METHODS section 8).

    Parameters
    ----------
    confidential, masked : DataFrames, n rows each, paired by the same index in the same order
    variables : k column names, numeric, in any units; default: all columns that are numeric in both
    files

    Raises
    ------
    InputError
        If the rows do not pair; a variable is absent, not numeric, missing, infinite or constant;
        variables are collinear; or n <= 2 k: A has rank at most n - 1 - k, so that lambda_1 is then
        1 whatever the masking.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, synthetic
    >>> disclosure = rw.canonical_disclosure(data, synthetic[0], ["age", "income"])
    >>> disclosure.squared_correlations.round(2).tolist()
    [1.0, 0.04]
    """
    confidential, masked = as_pandas(confidential), as_pandas(masked)
    names, x, y = _pair(confidential, masked, variables)
    x, y = _standardise(x, names, "confidential data")[0], _standardise(y, names, "masked data")[0]
    variates = _variates(x, y)
    probability, nearest, tied, true = _links(variates)
    index, squared = confidential.index, variates.squared_correlations
    return CanonicalDisclosure(
        variables=tuple(names),
        r2=pd.Series(_r2(x, y), names, name="r2"),
        squared_correlations=squared,
        probability=pd.Series(probability, index, name="identification_probability"),
        mean_probability=float(probability.mean()),
        matched=pd.Series(index[nearest].to_numpy(), index, name="matched"),
        tied=pd.Series(tied, index, name="tied"),
        reidentified=float((true / tied).mean()),
        midp_bound=midp_bound(squared, len(index)),
        idp_bounds=pd.Series(
            idp_bounds(squared, variates.scores, len(index)), index, name="idp_bound"
        ),
    )


def canonical_disclosure_by(
    confidential: Frame, masked: Frame, by: Sequence[str], variables: Names = None
) -> pd.DataFrame:
    """Return `canonical_disclosure` of each combination of unmasked categorical variables
    (Muralidhar & Sarathy, slides 22-23).

    `by` are columns of `confidential`; where `masked` has them they must agree; a missing value is
    a level. One row per subset: `by`, ``n``, ``lambda_1``, ``mean_probability``, ``reidentified``,
    ``midp_bound``, and ``reason``: "", or why the measures are NaN.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, synthetic
    >>> rw.canonical_disclosure_by(data, synthetic[0], ["region"], ["age", "income"])[
    ...     ["region", "n", "mean_probability"]
    ... ].round(3)
      region    n  mean_probability
    0  north   96             0.485
    1  south  104             0.495
    """
    confidential, masked = as_pandas(confidential), as_pandas(masked)
    by = [by] if isinstance(by, str) else list(by)
    columns = ["n", "lambda_1", "mean_probability", "reidentified", "midp_bound", "reason"]
    if not by or len(set(by)) < len(by) or set(by) & set(columns):
        raise InputError(
            f"by must name at least one column, each once, none of them {listing(columns)}; got "
            f"{listing(by)}"
        )
    names, *_ = _pair(confidential, masked, variables, by)
    shared = [
        pd.concat([confidential[name], masked[name]], ignore_index=True)
        for name in by
        if name in masked.columns
    ]
    pairs = cells(shared, np.zeros(2 * len(masked), dtype=np.int64)).reshape(2, -1)
    if altered := int((pairs[0] != pairs[1]).sum()):
        raise InputError(
            f"masked data: {listing(by)} differ from the confidential data in {altered} records; "
            "by must not be masked"
        )
    codes, rows = known_patterns(confidential, by).codes, []
    for code in range(codes.max() + 1):
        inside = codes == code
        try:
            disclosure = canonical_disclosure(confidential[inside], masked[inside], names)
            measures = (
                disclosure.largest,
                disclosure.mean_probability,
                disclosure.reidentified,
                disclosure.midp_bound,
                "",
            )
        # all values were checked above: what is left concerns this subset alone
        except InputError as error:
            measures = (np.nan, np.nan, np.nan, np.nan, str(error))
        rows.append((int(inside.sum()), *measures))
    levels = confidential[by].iloc[np.unique(codes, return_index=True)[1]].reset_index(drop=True)
    return pd.concat(
        [levels.where(levels.notna(), np.nan), pd.DataFrame(rows, columns=columns)], axis=1
    )


# Why the bounds hold, for normal data at the true lambda. Let x_j = k_j / k_true of the n - 1 wrong
# records: P = 1 / (1 + sum x_j). Multiplied out, prod (1 + x_j) >= 1 + sum x_j, so P >= prod 1 / (1
# + x_j). Given record i's own pair the x_j are iid, so E[P | pair] >= t^(n-1), t = E[1 / (1 + x) |
# pair], and Jensen averages t over what is not given (v for IDP; u, v for MIDP). Last, 1 / (1 + x)
# = 1 - x / (1 + x) >= 1 - sqrt(x) / 2, and E sqrt(x) = E exp((d_true - d_j) / 4) is Gaussian: BC.
# Expectations, not each realised P.


def _check_lambda(squared_correlations: Sequence[float] | Array, n: int) -> Array:
    squared = np.asarray(squared_correlations, dtype=float)
    if squared.ndim != 1 or not squared.size or not ((squared >= 0) & (squared <= 1)).all():
        raise InputError(
            "squared_correlations must be a list of numbers from 0 to 1, got shape "
            f"{squared.shape} or other numbers"
        )
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
        raise InputError(f"n must be a whole number >= 1, got {n!r}")
    return squared


def midp_bound(squared_correlations: Sequence[float] | Array, n: int) -> float:
    """Return a lower bound on the expected mean identification probability of n records, from
    squared canonical correlations lambda (k,) alone (METHODS section 8).

    (1 - BC/2)^(n-1) with BC = prod_l sqrt((1 - lambda_l) / (1 - lambda_l / 2)). Weak for large n.

    Raises
    ------
    InputError
        If lambda is not in [0, 1], or n is no whole number above 0.

    Examples
    --------
    >>> round(rw.midp_bound([0.9], 20), 3)
    0.011
    """
    squared = _check_lambda(squared_correlations, n)
    with np.errstate(divide="ignore"):  # lambda = 1: BC = 0
        log_bc = 0.5 * (np.log1p(-squared) - np.log1p(-squared / 2)).sum()
    return float(np.exp((n - 1) * np.log1p(-0.5 * np.exp(log_bc))))


def idp_bounds(
    squared_correlations: Sequence[float] | Array, canonical_scores: Array, n: int
) -> Array:
    """Lower bound (m,) on the expected identification probability of records with canonical scores
    u (m, k) among n.

    (1 - BC(u)/2)^(n-1) with BC(u) = prod_l sqrt(1 - lambda_l) / (1 - lambda_l / 2) * exp(-0.5 u_l^2
    lambda_l / (2 - lambda_l)).
    """
    squared, u = _check_lambda(squared_correlations, n), np.asarray(canonical_scores, dtype=float)
    if u.ndim != 2 or u.shape[1] != len(squared) or not np.isfinite(u).all():
        raise InputError(
            f"canonical_scores must be finite, of shape (m, {len(squared)}), got shape {u.shape}"
        )
    with np.errstate(divide="ignore", over="ignore"):  # lambda = 1, or a score far out: BC = 0
        log_bc = (0.5 * np.log1p(-squared) - np.log1p(-squared / 2)).sum() - 0.5 * (
            (u * np.sqrt(squared / (2 - squared))) ** 2
        ).sum(axis=1)
    return np.asarray(np.exp((n - 1) * np.log1p(-0.5 * np.exp(log_bc))))
