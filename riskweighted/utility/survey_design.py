"""The design behind a survey file, which says how much an estimate would vary from sample to sample
(METHODS section 6).

Either strata, primary units and finite populations, by Taylor linearisation with units of the first
stage alone (Binder 1983; Lumley 2010), or replicate weights that came with the file (Wolter 2007).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_choice, check_number
from riskweighted.common.errors import InputError
from riskweighted.common.frames import require_columns
from riskweighted.common.native import Frame, as_pandas
from riskweighted.common.survey_weights import survey_weights

__all__ = ["REPLICATIONS", "SurveyDesign", "design_columns", "survey_design"]

_FAY = 0.5
_WHOLE = 1e-7  # a smaller share of units that were not drawn counts as none, as in R's survey
# by what each squared difference is multiplied, of R replicates
REPLICATIONS: Mapping[str, Callable[[int, float], float]] = {
    "brr": lambda count, fay: 1 / count,
    "fay": lambda count, fay: 1 / (count * (1 - fay) ** 2),
    "jackknife": lambda count, fay: (count - 1) / count,
    "paired-jackknife": lambda count, fay: 1.0,
    "bootstrap": lambda count, fay: 1 / count,
    "successive-difference": lambda count, fay: 4 / count,
}


@dataclass(frozen=True, eq=False)
class SurveyDesign:
    """The design of a survey: weights, and what tells of its variance. `survey_design` makes one.

    Attributes
    ----------
    weights : array (n,)
        Of mean 1.
    strata, units : integer arrays (n,)
        Codes from 0: of strata, all 0 without any, and of primary units, each in one stratum;
        records themselves without any.
    sampled : array (strata,)
        The share of each stratum's units that was drawn; 0 where they are taken as drawn with
        replacement.
    column : str
        The column of the weights.
    described : str
        The design in words, for the rule of an interval.
    columns : tuple of str
        All that it was made of, which must be the same in every dataset.
    replicates, factors : array (R, n) and array (R,), or None
        Replicate weights on the scale of `weights`, and by what each squared difference from the
        whole sample's estimate is multiplied.
    df : float
        Degrees of freedom: units less strata, of those that have a weight; of replicate weights
        their rank less one.

    Examples
    --------
    >>> from riskweighted.runs.examples import data
    >>> design = rw.survey_design(data, survey="w", strata="region")
    >>> design.df, design.columns
    (198.0, ('w', 'region'))
    """

    weights: np.ndarray = field(repr=False)
    strata: np.ndarray = field(repr=False)
    units: np.ndarray = field(repr=False)
    sampled: np.ndarray = field(repr=False)
    column: str
    described: str
    columns: tuple[str, ...]
    df: float
    replicates: np.ndarray | None = field(default=None, repr=False)
    factors: np.ndarray | None = field(default=None, repr=False)

    def covariance(
        self, scores: Callable[[], np.ndarray], again: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """Covariance (k, k) of k estimates.

        Parameters
        ----------
        scores : function
            Their linearised values (n, k): of the weighted totals z the variance is sum over strata
            h of (1 - f_h) m_h / (m_h - 1) times the sum over units of (z_u - mean_h)(z_u -
            mean_h)', f_h being the share of units drawn and m_h their number.
        again : function
            The estimates (k,) under other weights (n,), for replicate weights: sum_r factor_r (t_r
            - t)(t_r - t)'.
        """
        if self.replicates is not None and self.factors is not None:
            off = np.array([again(weights) for weights in self.replicates]) - again(self.weights)
            return np.asarray(off.T @ (self.factors[:, None] * off))
        weighted = self.weights[:, None] * scores()
        totals = np.stack([np.bincount(self.units, column) for column in weighted.T], axis=1)
        stratum = np.empty(len(totals), dtype=np.int64)
        stratum[self.units] = self.strata
        sizes = np.bincount(stratum)
        means = (
            np.stack([np.bincount(stratum, column) for column in totals.T], axis=1) / sizes[:, None]
        )
        centred = totals - means[stratum]
        return np.asarray(
            centred.T
            @ (((1 - self.sampled) * sizes / np.maximum(sizes - 1, 1))[stratum][:, None] * centred)
        )


def survey_design(
    data: Frame,
    survey: str,
    strata: str | None = None,
    *,
    psu: str | None = None,
    fpc: str | None = None,
    replicates: str | Sequence[str] | None = None,
    replication: str | None = None,
    fay: float = _FAY,
    replicate_factors: float | Sequence[float] | None = None,
) -> SurveyDesign:
    """Return the design behind a file by its columns: weights, and strata, primary units and finite
    populations, or replicate weights.

    Parameters
    ----------
    data : DataFrame, n rows
    survey : str
        Column of the weights.
    strata : str, optional
        Column of the strata, each of 2 primary units or more, or of the single one that its
        population has: such a stratum adds nothing.
    psu : str, optional
        Column of the primary sampling units (clusters). A unit that occurs in several strata is one
        in each of them.
    fpc : str, optional
        Column of the finite populations: how many units (records without `psu`) the record's
        stratum has, or the share of them drawn, if no value is above 1. Without it units count as
        drawn with replacement.
    replicates : str or sequence of str, optional
        Columns of replicate weights, or a pattern such as ``"repw*"``; they stand in place of
        strata, psu and fpc.
    replication : str, optional
        How they were made: ``"brr"``, ``"fay"``, ``"jackknife"`` (one unit left out of an
        unstratified sample), ``"paired-jackknife"``, ``"bootstrap"`` or
        ``"successive-difference"``.
    fay : float
        Of ``"fay"``, in [0, 1).
    replicate_factors : float or sequence of float, optional
        By what each squared difference is multiplied, in place of what `replication` says: for a
        stratified jackknife (m_h - 1) / m_h.

    Raises
    ------
    InputError
        As `survey_weights`, of replicate weights too; or if strata, units or populations are
        missing, a stratum holds a single unit of several, which shows no variance, or more units
        than its population, no degree of freedom is left, or replicate weights stand beside another
        design.

    Notes
    -----
    Replicate weights are whole weights, not factors of `survey`. Differences are taken from the
    estimate of the whole sample, as `survey` does in R with ``mse = TRUE``. Strata, units and
    finite populations: Lumley (2010), chapters 2 and 3; replicates: Wolter (2007), chapters 3 to 5,
    and Judkins (1990) for Fay's method.

    Examples
    --------
    >>> frame = pd.DataFrame({"w": [1.0] * 6, "h": list("aaabbb"), "unit": [1, 1, 2, 1, 2, 2]})
    >>> rw.survey_design(frame, "w", "h", psu="unit").df
    2.0
    """
    data = as_pandas(data)
    weights = survey_weights(data, survey).to_numpy()
    if len(weights) < 2:
        raise InputError("a design needs 2 records or more, got 1")
    if replicates is not None:
        if any(column is not None for column in (strata, psu, fpc)):
            raise InputError(
                "replicate weights replace strata, psu and fpc: leave these out, or the replicates"
            )
        return _replicated(data, survey, weights, replicates, replication, fay, replicate_factors)
    if replication is not None or replicate_factors is not None:
        raise InputError(
            "replication and replicate_factors are of replicate weights: name their columns in "
            "replicates"
        )
    of_strata, of_units = _codes(data, strata, "strata"), _codes(data, psu, "psu")
    units = (
        np.arange(len(data))
        if psu is None
        else np.unique(of_strata * (of_units.max() + 1) + of_units, return_inverse=True)[1]
    )
    first = np.unique(units, return_index=True)[1]
    sizes = np.bincount(of_strata[first])
    sampled = np.zeros(len(sizes)) if fpc is None else _sampled(data, fpc, of_strata, sizes)
    single = int(((sizes == 1) & (1 - sampled >= _WHOLE)).sum())
    kind = "record" if psu is None else "unit"
    if single and strata is None:
        raise InputError(f"psu {psu!r}: the file holds a single {kind}")
    if single:
        raise InputError(
            f"strata {strata!r}: {single} of {len(sizes)} hold a single {kind} and show no "
            "variance; merge strata"
        )
    weighted = weights > 0
    df = len(np.unique(units[weighted])) - len(np.unique(of_strata[weighted]))
    if not df:
        raise InputError(
            "the design leaves no degree of freedom: no stratum has two units of positive weight"
        )
    how = "with replacement" if fpc is None else f"finite populations {fpc}"
    how += "" if psu is None else f" by units of {psu}"
    described = (
        f"design-based, weights {survey}, {how} "
        f"{'without strata' if strata is None else f'within strata of {strata}'}"
    )
    columns = tuple(dict.fromkeys(name for name in (survey, strata, psu, fpc) if name is not None))
    return SurveyDesign(weights, of_strata, units, sampled, survey, described, columns, float(df))


def _codes(data: pd.DataFrame, column: str | None, what: str) -> np.ndarray:
    """Codes (n,) of a column, all 0 without one."""
    if column is None:
        return np.zeros(len(data), dtype=np.int64)
    require_columns(data, [column], f"confidential data ({what})")
    missing = int(data[column].isna().sum())
    if missing:
        raise InputError(
            f"{what} {column!r} are missing in {missing} of {len(data)} records; every record "
            "must lie in one"
        )
    return np.asarray(pd.factorize(data[column])[0])


def _sampled(data: pd.DataFrame, column: str, strata: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The share of each stratum's units that was drawn, from their number or from the share
    itself.
    """
    require_columns(data, [column], "confidential data (fpc)")
    values = pd.to_numeric(data[column], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    bad = int((~np.isfinite(values) | (values <= 0)).sum())
    if bad:
        raise InputError(
            f"fpc {column!r} must be numbers above 0, in {bad} of {len(data)} records it is not"
        )
    first = np.unique(strata, return_index=True)[1]
    if (values != values[first][strata]).any():
        raise InputError(f"fpc {column!r} must be the same for all records of a stratum")
    of_stratum = values[first]
    shares = of_stratum if (of_stratum <= 1).all() else sizes / of_stratum
    if (shares > 1).any():
        raise InputError(
            f"fpc {column!r}: {int((shares > 1).sum())} of {len(shares)} strata hold more units "
            "than their population"
        )
    return np.asarray(shares)


def design_columns(replicates: str | Sequence[str], names: Sequence[str]) -> list[str]:
    """The columns that replicate weights are named by: a list, or a pattern such as "repw*"."""
    if not isinstance(replicates, str):
        return list(replicates)
    found = [name for name in names if fnmatchcase(str(name), replicates)]
    return found or [replicates]


def _replicated(
    data: pd.DataFrame,
    survey: str,
    weights: np.ndarray,
    replicates: str | Sequence[str],
    replication: str | None,
    fay: float,
    given: float | Sequence[float] | None,
) -> SurveyDesign:
    columns = [
        name
        for name in design_columns(replicates, list(data.columns))
        if name != survey or not isinstance(replicates, str)
    ]
    require_columns(data, columns, "confidential data (replicate weights)")
    if len(columns) < 2 or len({*columns, survey}) <= len(columns):
        raise InputError(
            "replicates must be two columns or more, each named once and none of them the "
            f"survey weights, got {len(columns)}"
        )
    if given is not None and replication is not None:
        raise InputError("replication and replicate_factors say the same: give one of them")
    if given is None:
        check_choice(replication, REPLICATIONS, "replication")
    kind = replication or ""
    if kind == "fay" and not check_number(fay, "fay", least=0) < 1:
        raise InputError(f"fay must lie in [0, 1), got {fay!r}")
    if kind != "fay" and fay != _FAY:
        raise InputError(f"fay is of replication = 'fay', got {fay!r} beside {kind!r}")
    scale = data[survey].to_numpy(dtype=float).mean()
    made = np.stack(
        [
            survey_weights(data, name).to_numpy()
            * (data[name].to_numpy(dtype=float).mean() / scale)
            for name in columns
        ]
    )
    factors = (
        np.full(len(columns), REPLICATIONS[kind](len(columns), fay))
        if given is None
        else _factors(given, len(columns))
    )
    how = (
        kind.replace("-", " ") + (f" of {fay:g}" if kind == "fay" else "")
        if kind
        else "given factors"
    )
    described = f"replicate weights, {len(columns)} of {how}, weights {survey}"
    rank = np.linalg.matrix_rank(made @ made.T, hermitian=True)
    if rank < 2:
        raise InputError(
            "replicate weights are all alike and show no variance: name those that came with the "
            "file"
        )
    codes = np.zeros(len(data), dtype=np.int64)
    return SurveyDesign(
        weights,
        codes,
        np.arange(len(data)),
        np.zeros(1),
        survey,
        described,
        (survey, *columns),
        float(rank - 1),
        made,
        factors,
    )


def _factors(given: float | Sequence[float], count: int) -> np.ndarray:
    """One factor for all replicates, or one for each."""
    values = np.atleast_1d(np.asarray(given, dtype=float))
    if len(values) not in (1, count) or not (np.isfinite(values) & (values >= 0)).all():
        raise InputError(
            f"replicate_factors must be one number >= 0 or {count}, one for each replicate, got "
            f"{len(values)}"
        )
    return np.broadcast_to(values, count).copy()
