"""What we say when something is wrong: one line, no traceback at the command line, no confidential value."""

from collections.abc import Iterable

__all__ = [
    "ConvergenceWarning",
    "ExplosionWarning",
    "FewRecordsWarning",
    "FlatWeightsWarning",
    "InputError",
    "MarginShiftWarning",
    "RiskWeightedWarning",
    "SingletonWarning",
    "SparseLevelWarning",
    "UnscoredWarning",
    "listing",
]


class InputError(ValueError):
    """Something the user gave is not valid.

    The message is one line: what was wrong, what was got, what is valid. It names columns, counts and settings,
    never a value of the data.
    """


class RiskWeightedWarning(UserWarning):
    """Base of every warning of this package."""


class SingletonWarning(RiskWeightedWarning):
    """Some known patterns hold a single record, which the pattern alone identifies."""


class UnscoredWarning(RiskWeightedWarning):
    """Some records' ball is a single point that no synthetic value hits, so their risk cannot be seen."""


class FlatWeightsWarning(RiskWeightedWarning):
    """All weights are 1, which protects nobody, or all are 0, which uses no record."""


class ConvergenceWarning(RiskWeightedWarning):
    """The chains of a fit disagree or diverged, so its draws are not to be trusted; or more datasets are asked of it than it has draws."""


class ExplosionWarning(RiskWeightedWarning):
    """Some drawn values lie far beyond all confidential ones: the model knows too little where they were drawn."""


class SparseLevelWarning(RiskWeightedWarning):
    """The weights of some levels of the predictors sum to so little that the priors decide what is drawn there."""


class MarginShiftWarning(RiskWeightedWarning):
    """The weights leave a variable so little likelihood that the prior decides its release, or nearly erase some of its levels."""


class FewRecordsWarning(RiskWeightedWarning):
    """Too few records for a part of a model; says what is done instead."""


def listing(names: Iterable[object], limit: int = 12) -> str:
    """Names for a message, quoted and separated by commas, cut after ``limit``."""
    quoted = [f"'{name}'" for name in names]
    if len(quoted) > limit:
        quoted = [*quoted[:limit], f"... ({len(quoted) - limit} more)"]
    return ", ".join(quoted) if quoted else "(none)"
