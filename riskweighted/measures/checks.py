"""What `check_fit` compares of a fit and its data: means by pattern, shares, ... A row says how
many records it tells of.
"""

from functools import partial

from riskweighted.measures.measure import Disclosure, Measure

__all__ = [
    "CORRELATION",
    "CROSSED",
    "LARGEST",
    "LEVEL",
    "LEVEL_OF_GROUP",
    "MEAN",
    "MEASURES",
    "MODEL",
    "MULTIPLE",
    "PIT_DISTANCE",
    "PIT_OUTER",
    "QUANTILE",
    "SD",
    "SPIKE",
    "STATUS",
    "TWO_WAY",
]

_D = Disclosure
_check = partial(Measure, source="METHODS section 5.10", direction="neither", table="fit")
_share = partial(_check, kind="share", disclosure=_D.SHARE)
_pit = partial(_check, symbol="PIT")
MODEL = _check(
    "check-model",
    "model verdict",
    "the model fits if every check of its unweighted fit does; effect: the largest ratio of an "
    "effect and its threshold",
    direction="worse",
    kind="diagnostic",
    limited=False,
)
LARGEST = _check(
    "check-largest",
    "largest value of a fit",
    "largest magnitude over that of the confidential data; effect: that ratio or its inverse, "
    "whichever is larger",
    kind="extreme",
    disclosure=_D.COMPARED,
    words="largest value over the largest confidential one",
    adequate=3.0,
)
STATUS = _share(
    "check-status",
    "share of a status",
    "share of the records whose value is negative, zero or positive; effect: difference of the "
    "shares",
    words="share of {term} values",
    adequate=0.01,
)
SPIKE = _share(
    "check-spike",
    "share of a single value",
    "share of the records that hold this one value, where at least 2 % do; effect: difference of "
    "the shares",
    words="share of exactly {term}",
    adequate=0.01,
)
LEVEL = _share(
    "check-level",
    "share of a level",
    "share of the records that hold this level of a categorical variable, where at least 10 do; "
    "effect: difference of the shares",
    words="share of level {term}",
    adequate=0.01,
)
LEVEL_OF_GROUP = _share(
    "check-level-of-group",
    "share of a level in a group",
    "share of this level among the records of a pattern of 50 or more; effect: difference of the "
    "shares",
    words="share where {term}",
    adequate=0.05,
)
QUANTILE = _check(
    "check-quantile",
    "quantile of a fit",
    "quantile; effect: difference as a share of the larger of its magnitude and the "
    "interquartile range",
    kind="estimate",
    boundary="Linear interpolation between neighbouring values.",
    disclosure=_D.SHARED_DIGITS,
    words="{term} quantile",
    adequate=0.05,
)
SD = _check(
    "check-sd",
    "standard deviation of a fit",
    "standard deviation; effect: difference as a share of it",
    kind="estimate",
    disclosure=_D.COMPARED,
    words="standard deviation",
    symbol="sd",
    adequate=0.1,
)
MULTIPLE = _share(
    "check-multiple",
    "share of multiples",
    "share, among values that are not zero, of multiples of this number; effect: difference of "
    "the shares",
    words="share of multiples of {term}",
    adequate=0.05,
)
MEAN = _check(
    "check-mean",
    "mean of a group",
    "mean of the records of a pattern of 50 or more; effect: difference in standard deviations "
    "of all confidential values",
    kind="mean",
    disclosure=_D.THREE_DIGITS,
    words="mean where {term}",
    adequate=0.1,
)
CORRELATION = _check(
    "check-correlation",
    "correlation with a variable",
    "Pearson correlation on the robust scale arcsinh((v - median) / (IQR / 1.349)); effect: "
    "difference of the correlations",
    kind="estimate",
    disclosure=_D.TWO_DECIMALS,
    words="correlation with {term}",
    symbol="r",
    adequate=0.05,
)
PIT_DISTANCE = _pit(
    "check-pit-distance",
    "distance of the PIT",
    "Kolmogorov distance of the randomized probability integral transform from uniform, beside "
    "its expectation; effect: the distance",
    direction="worse",
    kind="distance",
    disclosure=_D.THREE_DECIMALS,
    words="distance of the predictive probabilities from uniform",
    adequate=0.03,
)
PIT_OUTER = _pit(
    "check-pit-outer",
    "outer bin of the PIT",
    "share of the records whose randomized PIT lies in an outer bin; effect: difference from the "
    "bin's width",
    kind="share",
    disclosure=_D.TWO_DECIMALS,
    words="share of predictive probabilities {term}",
    adequate=0.015,
)
_pair = partial(
    _check, direction="worse", kind="distance", disclosure=_D.THREE_DECIMALS, adequate=0.07
)
TWO_WAY = _pair(
    "check-two-way",
    "two-way table with a variable",
    "distance of the table of the variable's fifths or levels by the values of another, and of "
    "its group means, from those of predictive "
    "datasets, beside the distance that chance gives; effect: the root of what is beyond chance, "
    "a record",
    words="distance of the two-way table with {term}",
)
CROSSED = _pair(
    "check-crossed",
    "means where two variables cross",
    "distance of the means of the combinations of two variables' values (of a categorical "
    "variable: of its shares there) from those of "
    "predictive datasets, beside the distance that chance gives; effect: the root of what is "
    "beyond chance, a record",
    words="distance of the means in groups of {term}",
)
MEASURES = (
    *(
        MODEL,
        STATUS,
        SPIKE,
        LEVEL,
        LEVEL_OF_GROUP,
        QUANTILE,
        SD,
        LARGEST,
        MULTIPLE,
        MEAN,
        CORRELATION,
    ),
    *(PIT_DISTANCE, PIT_OUTER, TWO_WAY, CROSSED),
)
