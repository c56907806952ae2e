"""What we say when something is wrong: one line, no traceback at the command line, no confidential
value.
"""

from collections.abc import Iterable

__all__ = [
    "ConvergenceWarning",
    "DerivedWarning",
    "ExplosionWarning",
    "FewRecordsWarning",
    "FlatWeightsWarning",
    "InputError",
    "MarginShiftWarning",
    "OverfillWarning",
    "RiskWeightedWarning",
    "SingletonWarning",
    "SparseLevelWarning",
    "UnitsWarning",
    "UnscoredWarning",
    "listing",
]


class InputError(ValueError):
    """An input error says that something the user gave is not valid.

    The message is one line: what was wrong, what was got, what is valid. It names columns, counts
    and settings, never a value of the data.

    Examples
    --------
    >>> rw.Scenario(known="region", synthetic="income", radius=-0.2)
    Traceback (most recent call last):
        ...
    riskweighted.common.errors.InputError: radius must be a finite number >= 0, got -0.2
    """


class RiskWeightedWarning(UserWarning):
    """Base of every warning of this package."""


class SingletonWarning(RiskWeightedWarning):
    """Some known patterns hold a single record, which the pattern alone identifies.

    Examples
    --------
    >>> import warnings
    >>> from riskweighted.runs.examples import data
    >>> with warnings.catch_warnings(record=True, action="always") as said:
    ...     alpha = rw.marginal_weights(
    ...         data, rw.Scenario(known=["region", "age"], synthetic="income")
    ...     )
    >>> said[0].category.__name__, float(alpha.min())
    ('SingletonWarning', 0.0)
    """


class UnscoredWarning(RiskWeightedWarning):
    """Some records' ball is a single point that no synthetic value hits, so their risk cannot be
    seen.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", rw.UnscoredWarning)  # stop there
    """


class FlatWeightsWarning(RiskWeightedWarning):
    """All weights are 1, which protects nobody, or all are 0, which uses no record.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True, action="always") as said:
    ...     alpha = rw.risk_weights(pd.Series([0.0, 0.0]))
    >>> print(str(said[0].message).split(";")[0])
    all 2 weights are 1: nobody is protected
    """


class ConvergenceWarning(RiskWeightedWarning):
    """The chains of a fit disagree or diverged, or more datasets are asked of it than it has draws.

    Examples
    --------
    >>> import warnings
    >>> from riskweighted.runs.examples import data, synthesizer
    >>> with warnings.catch_warnings(record=True, action="always") as said:
    ...     fit = rw.fit(synthesizer, data, draws=10, tune=10, random_seed=1)
    >>> fit.converged, said[0].category.__name__
    (False, 'ConvergenceWarning')
    """


class DerivedWarning(RiskWeightedWarning):
    """Columns that leave unaltered predict a synthesized variable well, or give it away as the
    study declares.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", rw.DerivedWarning)  # stop there
    """


class ExplosionWarning(RiskWeightedWarning):
    """Some drawn values lie far beyond all confidential ones: the model knows too little where they
    were drawn.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", rw.ExplosionWarning)  # stop there
    """


class SparseLevelWarning(RiskWeightedWarning):
    """The weights of some levels of the predictors sum to so little that the priors decide what is
    drawn there.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", rw.SparseLevelWarning)  # stop there
    """


class MarginShiftWarning(RiskWeightedWarning):
    """The weights leave a variable so little likelihood that the prior decides its release, or
    nearly erase some of its levels.

    Examples
    --------
    >>> import warnings
    >>> from riskweighted.runs.examples import data, scenario
    >>> shift = rw.margin_shift(data, scenario, pd.Series(0.001, data.index))
    >>> with warnings.catch_warnings(record=True, action="always") as said:
    ...     sentences = rw.warn_of_shift(shift, parameters={"income": 4})
    >>> print(str(said[0].message).split(":")[0])
    the weights of 'income' sum to 0.2, and its model has 4 parameters
    """


class OverfillWarning(RiskWeightedWarning):
    """Centred weights come near 0, where the mean of the posterior overfills what is rare (METHODS
    section 15).

    Examples
    --------
    >>> issubclass(rw.OverfillWarning, UserWarning)
    True
    """


class FewRecordsWarning(RiskWeightedWarning):
    """A part of a model has too few records, and the message says what is done instead.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", rw.FewRecordsWarning)  # stop there
    """


class UnitsWarning(RiskWeightedWarning):
    """The units of a study tell little of its file, or something of them is not modelled.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", rw.UnitsWarning)  # stop there
    """


def listing(names: Iterable[object], limit: int = 12) -> str:
    """Names for a message, quoted and separated by commas, cut after ``limit``."""
    quoted = [f"'{name}'" for name in names]
    if len(quoted) > limit:
        quoted = [*quoted[:limit], f"... ({len(quoted) - limit} more)"]
    return ", ".join(quoted) if quoted else "(none)"
