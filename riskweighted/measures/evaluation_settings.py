"""What an evaluation reports, and how: declared and checked once, for `evaluate` and for study
files.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from riskweighted.common.checks import (
    MOST_RESAMPLES,
    check_count,
    check_function,
    check_sequence,
    check_share,
    check_text,
    function_name,
    is_number,
)
from riskweighted.common.errors import InputError, listing
from riskweighted.common.settings import UNSAID, read_by

__all__ = ["EvaluationSettings"]

_REPORTED = read_by(
    "paired",
    "utility",
    "evaluated",
    "checked",
    why="expected risk and influence are summed before they are reported",
)
_SUMMED = read_by("expected", "checked", why="what of a fit's draws is summed")


def _with_code(analyses: Sequence[str]) -> list[tuple[str, str]]:
    """Functions as they stand in keys: by name, and what their module holds, since another function
    may come by the same name.
    """
    from riskweighted.common.fingerprints import code_hash

    return [(str(name), code_hash(str(name))) for name in analyses]


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """Evaluation settings say what is reported, and how; they are the table ``[evaluation]`` of a
    study file.

    Parameters
    ----------
    quantiles : sequence of float
        Quantiles reported beside the mean, with pooled bootstrap intervals.
    regression : str, optional
        Formula of a least-squares regression, for example ``"income ~ C(earner)"``, and
    coefficient : str, optional
        the column of its model matrix that is reported, with Reiter's combining rule.
    regressions : sequence of str
        Formulas of which every coefficient is reported, and its mean overlap: ``["log(income) ~ age
        + C(edu)", "smoke ~ age"]``. Least squares, or logistic where the response has two values;
        ``"... where income > 0"`` names some of the records. Of these, dataset by dataset, those
        with a missing value in it are left out, and those where the scale of the response has no
        value, as log() of 0.
    analyses : sequence of str or callable
        Functions that users of the data would run, as ``"package.module:function"``, or in Python
        any callable. Each takes a dataset, a DataFrame, and, if it has a parameter ``weights``,
        survey weights of mean 1 (None without `survey`). It returns estimates and their variances
        by name, a mapping of pairs or a DataFrame with the columns estimate and variance and the
        names as its index. They combine and overlap as the coefficients of regressions do. One that
        raises, gives no finite estimate, a variance below 0 or other names for some dataset is
        named in a warning and not judged.
    survey : str, optional
        A column of survey weights: what is reported is reported under them, too, with design-based
        variances.
    strata, psu, fpc : str, optional
        Columns of their design: strata, primary sampling units, and how many units the stratum's
        population has (or the share drawn).
    replicates : str or sequence of str, optional
        Columns of replicate weights, or a pattern such as ``"repw*"``, in place of strata, psu and
        fpc, and
    replication, fay, replicate_factors
        how they were made (`riskweighted.survey_design`).
    resamples : int
        Bootstrap resamples per dataset, at most 1,000,000. 0: no bootstrap; means and shares have
        the interval of the rule by which the datasets combine, as in `assess`, and quantiles none.
    level : float
        Probability of every interval.
    threshold, increase : float
        Risk over which a record is counted, and rise over the baseline at which it is flagged.
    risk_draws : int, optional
        Posterior draws over which expected risk and influence are measured, at most as many as a
        fit has. Default: 100, or all there are.
    cluster : str, optional
        A column whose equal values make a cluster of records, such as a household, whose influence
        is measured too.

    Examples
    --------
    >>> rw.EvaluationSettings(quantiles=[0.1, 0.9], regressions=["log(income) ~ age"]).level
    0.95
    """

    quantiles: Sequence[float] = field(default=(0.5, 0.9), metadata=_REPORTED)
    regression: str | None = field(default=None, metadata=_REPORTED)
    coefficient: str | None = field(default=None, metadata=_REPORTED)
    regressions: Sequence[str] = field(default=(), metadata=_REPORTED)
    analyses: Sequence[str | Callable[..., Any]] = field(
        default=(), metadata=_REPORTED | UNSAID | {"in_key": _with_code}
    )
    survey: str | None = field(default=None, metadata=_REPORTED)
    strata: str | None = field(default=None, metadata=_REPORTED)
    psu: str | None = field(default=None, metadata=_REPORTED)
    fpc: str | None = field(default=None, metadata=_REPORTED)
    replicates: str | Sequence[str] | None = field(default=None, metadata=_REPORTED)
    replication: str | None = field(default=None, metadata=_REPORTED)
    fay: float = field(default=0.5, metadata=_REPORTED)
    replicate_factors: float | Sequence[float] | None = field(default=None, metadata=_REPORTED)
    resamples: int = field(default=1000, metadata=_REPORTED)
    level: float = field(default=0.95, metadata=_REPORTED)
    threshold: float = field(default=0.5, metadata=_REPORTED)
    increase: float = field(default=0.25, metadata=_REPORTED)
    risk_draws: int | None = field(default=None, metadata=_SUMMED)
    cluster: str | None = field(default=None, metadata=_SUMMED)

    def __post_init__(self) -> None:
        object.__setattr__(self, "quantiles", check_sequence(self.quantiles, "quantiles"))
        check_count(self.resamples, "resamples", most=MOST_RESAMPLES, least=0)
        shares = (("quantile", q) for q in self.quantiles)
        for name, share in (
            ("level", self.level),
            ("threshold", self.threshold),
            ("increase", self.increase),
            *shares,
        ):
            check_share(share, name)
        if len(set(self.quantiles)) < len(self.quantiles):
            raise InputError(f"quantiles must each be named once, got {list(self.quantiles)}")
        if (self.regression is None) != (self.coefficient is None):
            raise InputError("regression and coefficient go together: give both, or neither")
        if self.risk_draws is not None:
            check_count(self.risk_draws, "risk_draws")
        self._check_analyses()
        for name in ("regression", "coefficient", "cluster"):
            check_text(getattr(self, name), name, optional=True)

    def _check_analyses(self) -> None:
        """Check the list of regressions and the design."""
        for name in ("survey", "strata", "psu", "fpc", "replication"):
            check_text(getattr(self, name), name, optional=True)
        for name in ("replicates", "replicate_factors"):
            if isinstance(getattr(self, name), list):
                object.__setattr__(self, name, check_sequence(getattr(self, name), name))
        if not isinstance(self.replicates, (str, tuple, type(None))):
            raise InputError(
                "replicates must be a pattern or a list of columns, got "
                f"{type(self.replicates).__name__}"
            )
        factors = (
            self.replicate_factors
            if isinstance(self.replicate_factors, tuple)
            else (self.replicate_factors,)
        )
        if not all(factor is None or is_number(factor) for factor in factors):
            raise InputError(
                "replicate_factors must be a number or a list of numbers, one for each replicate"
            )
        of_design = ("strata", "psu", "fpc", "replicates", "replication", "replicate_factors")
        given = [name for name in of_design if getattr(self, name) is not None]
        if given and self.survey is None:
            raise InputError(
                f"{listing(given)} belong to survey weights: give survey too, or leave "
                f"{'it' if len(given) == 1 else 'them'} out"
            )
        object.__setattr__(self, "regressions", check_sequence(self.regressions, "regressions"))
        for formula in self.regressions:
            check_text(formula, "each of regressions")
        if len(set(self.regressions)) < len(self.regressions):
            raise InputError("regressions must each be named once")
        object.__setattr__(self, "analyses", check_sequence(self.analyses, "analyses"))
        for analysis in self.analyses:
            check_function(analysis, "each of analyses")
        if len(set(map(function_name, self.analyses))) < len(self.analyses):
            raise InputError("analyses must each have a name of their own")
