"""What `check_fit` compares of a fit and its data: means by pattern, shares, ... A row says how
many records it tells of.
"""

from functools import partial

from riskweighted.measures.measure import Disclosure, Measure

__all__ = [
    "CORRELATION",
    "EXACTLY",
    "LARGEST",
    "LEVEL",
    "MEAN",
    "MEASURES",
    "MULTIPLES",
    "PAIRS",
    "PIT_DISTANCE",
    "PIT_OUTER",
    "QUANTILE",
    "SD",
    "SHARE",
    "SHARE_OF_SOME",
    "names_values",
]

# how the parameter of a share begins where it names one value, a level, or multiples
EXACTLY, LEVEL, MULTIPLES = "exactly ", "level ", "multiples of "
_D = Disclosure
_check = partial(Measure, source="METHODS section 5.10", direction="neither", table="fit")
_share = partial(_check, kind="share", disclosure=_D.SHARE)
_pit = partial(_check, symbol="PIT")
LARGEST = _check(
    "check-largest",
    "largest value of a fit",
    "largest magnitude over that of the confidential data; effect: the larger of "
    "that ratio and its inverse",
    kind="extreme",
    disclosure=_D.COMPARED,
    words="largest value over the largest confidential one",
    adequate=3.0,
)
SHARE = _share(
    "check-share",
    "share of a value",
    "share of the records whose value is negative, zero or positive, missing or a special code; "
    "that hold exactly one value, where at least 2 % do; or that hold a level of a categorical "
    "variable, where at least 10 do; effect: difference of the shares",
    words="share of {term}",
    adequate=0.01,
)
SHARE_OF_SOME = _share(
    "check-share-of-some",
    "share among some records",
    "share of a level among the records of a pattern of 50 or more; or, among values that are not "
    "zero, of multiples of a number; effect: difference of the shares",
    words="share of {term}",
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
PAIRS = _check(
    "check-pairs",
    "table with other variables",
    "distance of the table of the variable's fifths or levels by the values of another, and of its "
    "group means, or of its means (of a categorical variable: shares) in the combinations of two "
    "others, from those of predictive datasets, beside the distance that chance gives; effect: the "
    "root of what is beyond chance, a record",
    direction="worse",
    kind="distance",
    disclosure=_D.THREE_DECIMALS,
    words="distance of the table with {term}",
    adequate=0.07,
)
MEASURES = (
    *(SHARE, SHARE_OF_SOME, QUANTILE, SD, LARGEST, MEAN, CORRELATION),
    *(PIT_DISTANCE, PIT_OUTER, PAIRS),
)


def names_values(check: str, parameter: object) -> bool:
    """Whether a row is named by a value, a level or a group of records, which few may hold."""
    text = str(parameter)
    if check == SHARE.key:
        return text.startswith((EXACTLY, LEVEL))
    return check == MEAN.key or (check == SHARE_OF_SOME.key and not text.startswith(MULTIPLES))
