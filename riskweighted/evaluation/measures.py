"""Every measure of risk and utility, once: its identifier, what it is called and means, and how it may be shown outside.

A measure is found by its key. Label and definition are for people, and nothing is found by them. They are templates, filled with
``{parameter}`` (the threshold, quantile or rise), ``{term}`` (the coefficient or level), ``{risk}``, ``{rise}`` and ``{formula}``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Literal

__all__ = [
    "CONFIDENTIAL_RISK",
    "EXPECTED_RISK",
    "MEASURES",
    "OF_MECHANISM",
    "OF_PAIRS",
    "OF_SEVERAL",
    "OF_UTILITY",
    "SYNTHETIC_RISK",
    "Disclosure",
    "Measure",
]

Direction = Literal["riskier", "safer", "more useful", "less useful", "better", "worse", "neither"]
Kind = (
    Literal["mean", "quantile", "extreme", "count", "share", "sum", "estimate", "coefficient", "distance", "ratio", "overlap", "bound"]
    | Literal["diagnostic", "unregistered"]
)
Parameter = Literal["", "threshold", "quantile", "increase", "coefficient", "level", "variable"]


class Disclosure(StrEnum):
    """How a value may be shown outside the agency (`riskweighted.reports.disclosure` does it)."""

    LEFT_OUT = "not at all: it is the value of one record"
    COUNT = "a count of records: rounded to multiples of the minimum count, small ones said to be small"
    TWO_DECIMALS = "2 decimals"
    THREE_DECIMALS = "3 decimals"
    THREE_DIGITS = "3 significant digits"
    FIVE_DIGITS = "5 significant digits"
    SHARED_DIGITS = "as many significant digits, 3 at most, as the minimum count of confidential records share"
    VERDICT = "as it is: yes or NO"
    SHARE = "a share of records, 2 decimals; where fewer than the minimum count have it, or lack it, only that"
    COMPARED = "not at all, but whether it fits"


@dataclass(frozen=True)
class Measure:
    """One measure of the registry.

    Attributes
    ----------
    key : str
        Its identifier, in tables and in code.
    label, definition : str
        For people; templates (see the module).
    source : str
        Paper and equation, or section of METHODS.
    direction : str
        What a higher value is; "neither" where nearness to the confidential value counts.
    kind : str
    disclosure : Disclosure or None
        How it may be shown outside the agency; None: no rule, so not at all.
    parameter : str
        What distinguishes rows of this measure: a number in the column "parameter", or a coefficient, a level or another
        variable in the column "term".
    boundary : str
        What counts at the edge, as a sentence.
    share : float
        The share of the records, at the least, that it is computed from.
    words, symbol : str
        For a page: the label in words where it is a symbol or terse, a template too, and the symbol, shown small beside.
    weighted : str
        What weights below 1 do to its interval, as a sentence; none where it has no interval.
    """

    key: str
    label: str
    definition: str
    source: str
    direction: Direction
    kind: Kind
    disclosure: Disclosure | None = None
    parameter: Parameter = ""
    boundary: str = ""
    weighted: str = ""
    share: float = 1.0
    words: str = ""
    symbol: str = ""

    def takes(self, parameter: float | None, term: str | None) -> bool:
        """Whether a row of this measure has just these."""
        named = self.parameter in ("coefficient", "level", "variable")
        return (parameter is not None) == (self.parameter != "" and not named) and (term is not None) == named


SYNTHETIC_RISK = "IR in these L datasets, averaged over them (Hu et al. 2022, eq. 1)"
EXPECTED_RISK = "E[IR], the expectation of IR (Hu et al. 2022, eq. 1) over {draws} posterior draws and all datasets that each could give"
CONFIDENTIAL_RISK = "IR^c (Hu et al. 2022, eq. 2)"

_IR = "Hu et al. 2022, eq. 1; of the confidential data eq. 2"
_TWO, _SIX, _TAUB = "METHODS section 2", "METHODS section 6", "Taub & Elliot"
_WHAT_LEAVES = "METHODS section 13"
_NEAREST = "METHODS section 7.2; Zhao et al. 2021"
_CAP = "CAP, the share of the key's synthetic records that match the target"
_ECDF = "of the difference of empirical distribution functions, mean over datasets (Woo et al. 2009)"
_AMOUNTS = "Missing values and special codes are no amounts and do not count."
_ECDF_EDGE = f"Values up to and including x count in a distribution function. {_AMOUNTS}"
_BOOTSTRAP = "mean over datasets of the bootstrap estimates"
_LINEAR = "Linear interpolation between neighbouring values."
_FIRST = "first dataset (Muralidhar & Sarathy)"
_WIDE = "Weights below 1 bias it; the pooled bootstrap is wide enough to hide a small bias, but its level is not assured (docs/trust.md)."
_BIASED = "Weights below 1 bias it, so its interval holds the truth less often than its level says, often much less (docs/trust.md)."
_D = Disclosure

# Risk of the records, as `evaluate` summarises it.
_RISK = (
    Measure(
        "mean-risk",
        "mean risk",
        "mean over records of {risk}",
        _IR,
        "riskier",
        "mean",
        _D.THREE_DECIMALS,
        words="mean risk in these datasets",
    ),
    Measure(
        "median-risk",
        "median risk",
        "median over records of {risk}",
        _IR,
        "riskier",
        "quantile",
        _D.TWO_DECIMALS,
        words="median risk in these datasets",
    ),
    Measure(
        "risk-interquartile-range",
        "risk interquartile range",
        "75 % minus 25 % quantile over records of {risk}",
        _IR,
        "riskier",
        "quantile",
        _D.TWO_DECIMALS,
        words="interquartile range of risk in these datasets",
    ),
    Measure(
        "risk-quantile-95",
        "risk 95 % quantile",
        "95 % quantile over records of {risk}",
        _IR,
        "riskier",
        "quantile",
        _D.TWO_DECIMALS,
        words="95 % quantile of risk in these datasets",
    ),
    Measure(
        "maximum-risk",
        "maximum risk",
        "maximum over records of {risk}",
        _IR,
        "riskier",
        "extreme",
        _D.LEFT_OUT,
        words="largest risk in these datasets",
    ),
    Measure(
        "records-over",
        "records over {parameter:g}",
        "records with {risk} > {parameter:g}",
        _IR,
        "riskier",
        "count",
        _D.COUNT,
        "threshold",
        "A record at the threshold itself is not counted.",
        words="records at risk over {parameter:g} in these datasets",
    ),
    Measure(
        "singleton-patterns",
        "singleton patterns",
        "known patterns of one record, which the pattern alone identifies",
        _TWO,
        "riskier",
        "count",
        _D.COUNT,
    ),
    Measure(
        "whack-a-mole",
        "whack-a-mole records",
        "records with {rise} >= {parameter:g}",
        _TWO,
        "riskier",
        "count",
        _D.COUNT,
        "increase",
        "A rise of exactly the limit is counted.",
        words="records whose risk rose by {parameter:g} in these datasets",
    ),
    Measure(
        "largest-rise",
        "largest rise",
        "maximum over records of {rise}",
        _TWO,
        "riskier",
        "extreme",
        _D.LEFT_OUT,
        words="largest rise of risk in these datasets",
    ),
)
# The mechanism's risk: that of no datasets in particular.
_EXPECTED = "METHODS section 2.4"
_ISOLATED, _CHANCE = "METHODS section 2.6", "METHODS section 2.5"
_ISOLATED_RECORDS = "isolated records, the 5 % of largest IR^c with all ties at the cut"
_MECHANISM = (
    Measure(
        "expected-isolated-risk",
        "expected risk of isolated records",
        f"mean over the {_ISOLATED_RECORDS}, of {{risk}}",
        _ISOLATED,
        "riskier",
        "mean",
        _D.THREE_DECIMALS,
        share=0.05,
        words="expected risk of isolated records",
        symbol="E[IR]",
    ),
    Measure(
        "expected-top-risk",
        "expected risk of the top 1 %",
        "mean over the records of the largest 1 % of values, with all ties at the cut, of {risk}",
        _ISOLATED,
        "riskier",
        "mean",
        _D.THREE_DECIMALS,
        share=0.01,
        words="expected risk of the top 1 % of values",
        symbol="E[IR]",
    ),
    Measure(
        "expected-mean-risk",
        "expected mean risk",
        "mean over records of {risk}",
        _EXPECTED,
        "riskier",
        "mean",
        _D.THREE_DECIMALS,
        words="expected risk, mean over all",
        symbol="E[IR]",
    ),
    Measure(
        "expected-maximum-risk",
        "expected maximum risk",
        "maximum over records of {risk}",
        _EXPECTED,
        "riskier",
        "extreme",
        _D.LEFT_OUT,
        words="largest expected risk",
        symbol="E[IR]",
    ),
    Measure(
        "expected-records-over",
        "expected risk over {parameter:g}",
        "records with {risk} > {parameter:g}",
        _EXPECTED,
        "riskier",
        "count",
        _D.COUNT,
        "threshold",
        "A record at the threshold itself is not counted.",
        words="records at an expected risk over {parameter:g}",
    ),
    Measure("isolated-records", "isolated records", f"number of {_ISOLATED_RECORDS}", _ISOLATED, "neither", "count", _D.COUNT),
    Measure(
        "expected-rises",
        "expected rises of {parameter:g}",
        "records with {rise} >= {parameter:g}",
        _CHANCE,
        "riskier",
        "count",
        _D.COUNT,
        "increase",
        "A rise of exactly the limit is counted.",
        words="records whose expected risk rises by {parameter:g}",
    ),
    Measure(
        "expected-falls",
        "expected falls of {parameter:g}",
        "records with {rise} <= -{parameter:g}",
        _CHANCE,
        "safer",
        "count",
        _D.COUNT,
        "increase",
        "A fall of exactly the limit is counted.",
        words="records whose expected risk falls by {parameter:g}",
    ),
    Measure(
        "chance-records-over",
        "by chance over {parameter:g}",
        "records whose IR over {datasets} datasets exceeds {parameter:g} that the expected risks make likely: a binomial sum",
        _CHANCE,
        "neither",
        "count",
        _D.COUNT,
        "threshold",
        words="records over {parameter:g} that chance makes likely",
    ),
    Measure(
        "chance-whack-a-mole",
        "by chance whack-a-mole",
        "records whose IR over {datasets} datasets rises by {parameter:g} or more over as many of the unweighted fit that the expected "
        "risks of both fits make likely: a double binomial sum",
        _CHANCE,
        "neither",
        "count",
        _D.COUNT,
        "increase",
        words="rises of {parameter:g} that chance makes likely",
    ),
)
# How far one record moves the pseudo posterior: empirical, never a guarantee.
_INFLUENCES = "METHODS section 9.1"
_TERM = "alpha_i log p(y_i | theta_s), s over {draws} posterior draws, log density on the scale of the model"
_SUMMED = "of a cluster of records with the same {cluster}, whose contributions are summed,"
_NO_GUARANTEE = "alpha held fixed; empirical, no guarantee"
_INFLUENCE = (
    Measure(
        "influence-lipschitz",
        "Delta",
        f"largest |{_TERM}|, over records and draws (arXiv 1909.11796); {_NO_GUARANTEE}",
        _INFLUENCES,
        "riskier",
        "extreme",
        _D.LEFT_OUT,
        words="largest influence of a record",
        symbol="Delta",
    ),
    Measure(
        "influence-range",
        "range of influence",
        f"largest over records of max_s - min_s of {_TERM}; {_NO_GUARANTEE}",
        _INFLUENCES,
        "riskier",
        "extreme",
        _D.LEFT_OUT,
        words="largest range of influence of a record",
    ),
    Measure(
        "influence-information",
        "information",
        f"sum over records of half the variance over s of {_TERM}",
        _INFLUENCES,
        "riskier",
        "sum",
        _D.THREE_DIGITS,
        words="information that records give",
    ),
    Measure(
        "p-eff",
        "effective parameters",
        f"p_eff, sum over records of the variance over s of {_TERM}",
        _INFLUENCES,
        "neither",
        "sum",
        _D.THREE_DIGITS,
        words="effective parameters",
        symbol="p_eff",
    ),
    Measure(
        "attributable-mean",
        "attributable ball probability",
        "mean over records of the probability that their synthetic value lies in their ball, less the same without the record: importance "
        "weights of {draws} posterior draws",
        _INFLUENCES,
        "riskier",
        "estimate",
        _D.THREE_DIGITS,
    ),
    Measure(
        "attributable-top",
        "attributable ball probability of the top 1 %",
        "the same, mean over the records of the largest 1 % of values; importance weights of {draws} posterior draws",
        _INFLUENCES,
        "riskier",
        "estimate",
        _D.THREE_DIGITS,
        share=0.01,
    ),
    Measure(
        "attributable-unreliable",
        "unreliable attributions",
        "records whose importance weights over {draws} posterior draws have a Pareto k above 0.7, so that they are not to be relied on",
        _INFLUENCES,
        "worse",
        "count",
        _D.COUNT,
    ),
    Measure(
        "cluster-lipschitz",
        "Delta of a cluster",
        f"the largest {_SUMMED} |{_TERM}|; {_NO_GUARANTEE}",
        _INFLUENCES,
        "riskier",
        "extreme",
        _D.LEFT_OUT,
        words="largest influence of a cluster",
        symbol="Delta",
    ),
    Measure(
        "cluster-range",
        "range of influence of a cluster",
        f"the largest {_SUMMED} max_s - min_s of {_TERM}; {_NO_GUARANTEE}",
        _INFLUENCES,
        "riskier",
        "extreme",
        _D.LEFT_OUT,
    ),
    Measure(
        "cluster-information",
        "information of clusters",
        f"sum over clusters of half the variance, {_SUMMED} over s of {_TERM}",
        _INFLUENCES,
        "riskier",
        "sum",
        _D.THREE_DIGITS,
    ),
)
# What an intruder has who knows every released unaltered column.
_ALL = "where the intruder knows every released unaltered column"
_RELEASED = (
    Measure("released-patterns", "patterns of all columns", f"patterns {_ALL}", _WHAT_LEAVES, "riskier", "count", _D.COUNT),
    Measure(
        "released-uniques",
        "unique on all columns",
        f"share of records that are alone in their pattern {_ALL}",
        _WHAT_LEAVES,
        "riskier",
        "share",
        _D.THREE_DECIMALS,
    ),
    Measure(
        "released-mean-risk",
        "mean risk on all columns",
        f"mean over records of {{risk}}, {_ALL}",
        _WHAT_LEAVES,
        "riskier",
        "mean",
        _D.THREE_DECIMALS,
    ),
    Measure(
        "released-match-risk",
        "expected match risk on all columns",
        f"sum over records of T/c (Hu's lecture), mean over datasets, {_ALL}",
        _WHAT_LEAVES,
        "riskier",
        "sum",
        _D.THREE_DIGITS,
    ),
)
# The same under survey weights. What has no rule is not shown outside: a record of large weight could be told from two such numbers.
_SURVEY = "design-based under survey weights, mean over datasets"
_SURVEY_ECDF = "of the difference of survey-weighted empirical distribution functions, mean over datasets (Woo et al. 2009)"
_SURVEYED = (
    Measure(
        "survey-ecdf-maximum",
        "survey U_m",
        f"maximum {_SURVEY_ECDF}",
        _SIX,
        "less useful",
        "distance",
        _D.THREE_DIGITS,
        "",
        _ECDF_EDGE,
        words="largest distance of distribution functions under survey weights",
        symbol="U_m",
    ),
    Measure(
        "survey-ecdf-mean-square",
        "survey U_a",
        f"mean square, over the weight of both, {_SURVEY_ECDF}",
        _SIX,
        "less useful",
        "distance",
        _D.THREE_DIGITS,
        "",
        _ECDF_EDGE,
        words="mean square distance of distribution functions under survey weights",
        symbol="U_a",
    ),
    Measure(
        "survey-total-variation",
        "survey total variation",
        "half the sum over the levels of the absolute differences of their shares of the survey weight, mean over datasets",
        _SIX,
        "less useful",
        "distance",
        _D.THREE_DIGITS,
    ),
    Measure("survey-level-share", "survey share of {term}", _SURVEY, _SIX, "neither", "share", None, "level", weighted=_BIASED),
    Measure(
        "survey-missing-share",
        "survey share coded {term}",
        f"share of the records whose value is missing, or is this special code; {_SURVEY}",
        _SIX,
        "neither",
        "share",
        None,
        "level",
        weighted=_BIASED,
    ),
    Measure("survey-mean", "survey mean", _SURVEY, _SIX, "neither", "estimate", weighted=_BIASED),
    Measure(
        "survey-quantile",
        "survey {parameter!r} quantile",
        f"{_SURVEY}; interval of Woodruff (1952)",
        _SIX,
        "neither",
        "estimate",
        None,
        "quantile",
        "The smallest value up to which at least this share of the survey weight lies.",
        _BIASED,
    ),
    Measure(
        "survey-regression-coefficient",
        "survey regression coefficient {term}",
        "survey-weighted coefficient {term}, by complete cases, with the sandwich variance of the design: least squares, or logistic (log "
        "odds) where the response has two values",
        "Binder 1983; Reiter 2003; METHODS section 6",
        "neither",
        "coefficient",
        None,
        "coefficient",
        weighted=_BIASED,
    ),
    Measure(
        "survey-regression-overlap",
        "survey mean overlap in {term}",
        "mean over the survey-weighted coefficients of {term} of the overlap of the scheme's interval and the confidential one; one that "
        "some dataset does not determine counts 0; dummies that fewer than 10 confidential records have or lack are left out",
        "Karr et al. 2006",
        "more useful",
        "overlap",
        _D.TWO_DECIMALS,
        "coefficient",
    ),
)
# Where several variables are synthesized: the risk of finding all of them together, and each alone.
_ALONE = "where the intruder looks for this variable alone"
_SEVERAL_RISK = (
    Measure(
        "expected-match",
        "expected match risk",
        "sum over records of T/c, mean over datasets (Hu's lecture)",
        "Hu's lecture on matching-based risk",
        "riskier",
        "sum",
        _D.THREE_DIGITS,
    ),
    Measure(
        "isolated-risk",
        "risk of isolated records",
        f"mean over the {_ISOLATED_RECORDS}, of {{risk}}",
        _ISOLATED,
        "riskier",
        "mean",
        _D.THREE_DECIMALS,
        share=0.05,
    ),
    Measure("own-mean-risk", "own mean risk", f"mean over records of {{risk}}, {_ALONE}", _IR, "riskier", "mean", _D.THREE_DECIMALS),
    Measure(
        "own-isolated-risk",
        "own risk of isolated records",
        f"mean over the {_ISOLATED_RECORDS}, of {{risk}}, {_ALONE}",
        _ISOLATED,
        "riskier",
        "mean",
        _D.THREE_DECIMALS,
        share=0.05,
    ),
)
# What the synthetic data still tells, as `evaluate` measures it.
_UTILITY = (
    Measure(
        "ecdf-maximum",
        "U_m",
        f"maximum {_ECDF}",
        _SIX,
        "less useful",
        "distance",
        _D.THREE_DIGITS,
        "",
        _ECDF_EDGE,
        words="largest distance of distribution functions",
        symbol="U_m",
    ),
    Measure(
        "ecdf-mean-square",
        "U_a",
        f"mean square {_ECDF}",
        _SIX,
        "less useful",
        "distance",
        _D.THREE_DIGITS,
        "",
        _ECDF_EDGE,
        words="mean square distance of distribution functions",
        symbol="U_a",
    ),
    Measure(
        "total-variation",
        "total variation",
        "half the sum over the levels of the absolute differences of their shares, mean over datasets",
        _SIX,
        "less useful",
        "distance",
        _D.THREE_DIGITS,
        words="distance of the shares of levels",
        symbol="total variation",
    ),
    Measure("level-share", "share of {term}", _BOOTSTRAP, _SIX, "neither", "share", None, "level", weighted=_BIASED),
    Measure(
        "missing-share",
        "share coded {term}",
        f"share of the records whose value is missing, or is this special code; {_BOOTSTRAP}",
        _SIX,
        "neither",
        "share",
        None,
        "level",
        weighted=_BIASED,
    ),
    Measure("mean", "mean", _BOOTSTRAP, _SIX, "neither", "estimate", _D.FIVE_DIGITS, "", _AMOUNTS, _WIDE),
    Measure(
        "quantile",
        "{parameter!r} quantile",
        _BOOTSTRAP,
        _SIX,
        "neither",
        "estimate",
        _D.SHARED_DIGITS,
        "quantile",
        f"{_LINEAR} {_AMOUNTS}",
        _WIDE,
    ),
    Measure(
        "coefficient",
        "coefficient {term}",
        "least-squares coefficient in {formula}",
        "Reiter 2003; METHODS section 6",
        "neither",
        "coefficient",
        _D.FIVE_DIGITS,
        "coefficient",
        weighted=_BIASED,
    ),
    Measure(
        "regression-coefficient",
        "regression coefficient {term}",
        "coefficient {term}, by complete cases: least squares, or logistic (log odds) where the response has two values",
        "Reiter 2003; METHODS section 6",
        "neither",
        "coefficient",
        None,
        "coefficient",
        weighted=_BIASED,
    ),
    Measure(
        "regression-overlap",
        "mean overlap in {term}",
        "mean over the coefficients of {term} of the overlap of the scheme's interval and the confidential one; one that some dataset does "
        "not determine counts 0; dummies that fewer than 10 confidential records have or lack are left out",
        "Karr et al. 2006",
        "more useful",
        "overlap",
        _D.TWO_DECIMALS,
        "coefficient",
    ),
    *_SURVEYED,
    Measure(
        "overlap",
        "overlap",
        "share of the scheme's interval and the confidential one that both hold; 1 is identical, higher is more useful",
        "Karr et al. 2006",
        "more useful",
        "overlap",
        _D.TWO_DECIMALS,
    ),
)
# The same of several synthesized variables at once, of any type.
_GROUPED = "numbers in fifths of the confidential values, a missing value apart"
_IDEAL = "mean over datasets; 1 where synthetic values are drawn from what the confidential data show, 2 where parameters are drawn too"
_RAAB = "Raab, Nowok & Dibben 2021; METHODS section 6"
_SEVERAL_UTILITY = (
    Measure(
        "one-way-table",
        "one-way S_pMSE",
        f"pMSE of the table of one variable ({_GROUPED}) over its expectation by chance, {_IDEAL}",
        _RAAB,
        "less useful",
        "ratio",
        _D.THREE_DIGITS,
        words="distance of its table over chance",
        symbol="S_pMSE",
    ),
    Measure(
        "two-way-table",
        "two-way S_pMSE with {term}",
        f"pMSE of the table with {{term}} ({_GROUPED}) over its expectation by chance, {_IDEAL}",
        _RAAB,
        "less useful",
        "ratio",
        _D.THREE_DIGITS,
        "variable",
        words="distance of its table with {term} over chance",
        symbol="S_pMSE",
    ),
    Measure(
        "one-way-mean",
        "mean one-way S_pMSE",
        f"mean over the synthesized variables of pMSE of their tables ({_GROUPED}) over its expectation by chance, {_IDEAL}",
        _RAAB,
        "less useful",
        "ratio",
        _D.THREE_DIGITS,
        words="distance of tables of one variable over chance, mean",
        symbol="S_pMSE",
    ),
    Measure(
        "two-way-mean",
        "mean two-way S_pMSE",
        "mean over the pairs of a synthesized variable with another one, or with an unaltered column, of pMSE of their tables "
        f"({_GROUPED}) over its expectation by chance, {_IDEAL}",
        _RAAB,
        "less useful",
        "ratio",
        _D.THREE_DIGITS,
        words="distance of tables of two variables over chance, mean",
        symbol="S_pMSE",
    ),
    Measure(
        "two-way-worst",
        "worst two-way S_pMSE",
        f"the largest over these pairs of pMSE of their tables ({_GROUPED}) over its expectation by chance, {_IDEAL}",
        _RAAB,
        "less useful",
        "ratio",
        _D.THREE_DIGITS,
        words="distance of tables of two variables over chance, largest",
        symbol="S_pMSE",
    ),
    Measure(
        "file-propensity",
        "pMSE ratio of the file",
        "pMSE of a logistic regression on the groups of all variables and the products of the group numbers of pairs, over its "
        f"expectation by chance, {_IDEAL}",
        "Snoke et al. 2018; METHODS section 6",
        "less useful",
        "ratio",
        _D.THREE_DIGITS,
        words="how well a model tells the files apart, over chance",
        symbol="pMSE ratio",
    ),
)
# Whether the model suits the data, how much of the likelihood a fit kept, and whether its chains agree.
_FIT = (
    Measure(
        "fits",
        "model fits",
        "every check of the unweighted fit passes (tables/fit_check.csv); a weighted fit is not judged by its distance from the data",
        "METHODS section 5.10",
        "better",
        "diagnostic",
        _D.VERDICT,
    ),
    Measure(
        "mean-weight",
        "mean weight",
        "mean over records of the weight alpha of the likelihood; 1 keeps all of it",
        "METHODS section 3",
        "neither",
        "mean",
        _D.THREE_DECIMALS,
        words="mean weight of the likelihood",
        symbol="alpha",
    ),
    Measure(
        "r-hat",
        "largest R-hat",
        "rank-normalised split R-hat, the largest of the fit's quantities; at most 1.02 is converged; none where no chains were run",
        "Vehtari et al. 2021",
        "worse",
        "diagnostic",
        _D.THREE_DECIMALS,
        words="largest disagreement of chains",
        symbol="R-hat",
    ),
    Measure(
        "converged",
        "converged",
        "R-hat at most 1.02, bulk effective sample size at least 100, no divergence; without chains Pareto k-hat at most 0.7 instead",
        "Vehtari et al. 2021",
        "better",
        "diagnostic",
        _D.VERDICT,
    ),
)
# What `check_fit` compares of a fit and its data: means by pattern, shares, ... A row says how many records it tells of.
_CHECK = "METHODS section 5.10"
_CHECKED = (
    Measure(
        "check-model",
        "model verdict",
        "the model fits if every check of its unweighted fit does; effect: the largest ratio of an effect and its threshold",
        _CHECK,
        "worse",
        "diagnostic",
    ),
    Measure(
        "check-status",
        "share of a status",
        "share of the records whose value is negative, zero or positive; effect: difference of the shares",
        _CHECK,
        "neither",
        "share",
        disclosure=_D.SHARE,
        words="share of {term} values",
    ),
    Measure(
        "check-spike",
        "share of a single value",
        "share of the records that hold this one value, where at least 2 % do; effect: difference of the shares",
        _CHECK,
        "neither",
        "share",
        disclosure=_D.SHARE,
        words="share of exactly {term}",
    ),
    Measure(
        "check-level",
        "share of a level",
        "share of the records that hold this level of a categorical variable, where at least 10 do; effect: difference of the shares",
        _CHECK,
        "neither",
        "share",
        disclosure=_D.SHARE,
        words="share of level {term}",
    ),
    Measure(
        "check-level-of-group",
        "share of a level in a group",
        "share of this level among the records of a pattern of 50 or more; effect: difference of the shares",
        _CHECK,
        "neither",
        "share",
        disclosure=_D.SHARE,
        words="share where {term}",
    ),
    Measure(
        "check-quantile",
        "quantile of a fit",
        "quantile; effect: difference as a share of the larger of its magnitude and the interquartile range",
        _CHECK,
        "neither",
        "estimate",
        boundary=_LINEAR,
        disclosure=_D.SHARED_DIGITS,
        words="{term} quantile",
    ),
    Measure(
        "check-sd",
        "standard deviation of a fit",
        "standard deviation; effect: difference as a share of it",
        _CHECK,
        "neither",
        "estimate",
        disclosure=_D.COMPARED,
        words="standard deviation",
        symbol="sd",
    ),
    Measure(
        "check-largest",
        "largest value of a fit",
        "largest magnitude over that of the confidential data; effect: that ratio or its inverse, whichever is larger",
        _CHECK,
        "neither",
        "extreme",
        disclosure=_D.COMPARED,
        words="largest value over the largest confidential one",
    ),
    Measure(
        "check-multiple",
        "share of multiples",
        "share, among values that are not zero, of multiples of this number; effect: difference of the shares",
        _CHECK,
        "neither",
        "share",
        disclosure=_D.SHARE,
        words="share of multiples of {term}",
    ),
    Measure(
        "check-mean",
        "mean of a group",
        "mean of the records of a pattern of 50 or more; effect: difference in standard deviations of all confidential values",
        _CHECK,
        "neither",
        "mean",
        disclosure=_D.THREE_DIGITS,
        words="mean where {term}",
    ),
    Measure(
        "check-correlation",
        "correlation with a variable",
        "Pearson correlation on the robust scale arcsinh((v - median) / (IQR / 1.349)); effect: difference of the correlations",
        _CHECK,
        "neither",
        "estimate",
        disclosure=_D.TWO_DECIMALS,
        words="correlation with {term}",
        symbol="r",
    ),
    Measure(
        "check-pit-distance",
        "distance of the PIT",
        "Kolmogorov distance of the randomized probability integral transform from uniform, beside its expectation; effect: the distance",
        _CHECK,
        "worse",
        "distance",
        disclosure=_D.THREE_DECIMALS,
        words="distance of the predictive probabilities from uniform",
        symbol="PIT",
    ),
    Measure(
        "check-pit-outer",
        "outer bin of the PIT",
        "share of the records whose randomized PIT lies in an outer bin; effect: difference from the bin's width",
        _CHECK,
        "neither",
        "share",
        disclosure=_D.TWO_DECIMALS,
        words="share of predictive probabilities {term}",
        symbol="PIT",
    ),
)
# What `assess` measures of any synthetic file. Nothing shows these outside the agency, so none has a rule for it.
_GOWER = "Gower's distance on the known and synthesized variables, {among}; mean over datasets"
_OVER = "quantile {parameter:g} over synthetic records of"
_CLOSEST = (
    Measure(
        "closest-record",
        "DCR, {parameter:g} quantile",
        f"{_OVER} the distance to the closest confidential record, {_GOWER}",
        _NEAREST,
        "safer",
        "quantile",
        parameter="quantile",
    ),
    Measure(
        "nearest-ratio",
        "NNDR, {parameter:g} quantile",
        f"{_OVER} the distance to the closest over that to the second closest confidential record, {_GOWER}",
        _NEAREST,
        "safer",
        "quantile",
        parameter="quantile",
    ),
    Measure(
        "copied-records",
        "copied records",
        "share of synthetic records that equal a confidential one in every known and synthesized variable, {among}; mean over datasets",
        _NEAREST,
        "riskier",
        "share",
    ),
    Measure(
        "closer-than-holdout",
        "closer than to the holdout",
        "share of synthetic records whose closest confidential record is closer than their closest holdout record, ties 1/2, {among}; 1/2 "
        "is what another sample of the population has, and more is expected where known variables are released unaltered",
        "METHODS section 7.2; Platzer & Reutterer 2021",
        "riskier",
        "share",
    ),
)
_ASSESSED = (
    Measure(
        "identification-risk",
        "identification risk",
        "mean over records of IR, averaged over datasets (Hu et al. 2022, eq. 1)",
        "Hu et al. 2022, eq. 1",
        "riskier",
        "mean",
    ),
    Measure(
        "share-over",
        "share at identification risk over {parameter:g}",
        "share of records with IR > {parameter:g} (Hu et al. 2022, eq. 1)",
        "Hu et al. 2022, eq. 1",
        "riskier",
        "share",
        parameter="threshold",
    ),
    Measure(
        "true-match-rate",
        "true match rate",
        "share of records whose unique match is the true one, mean over datasets (Hu's lecture)",
        "Hu's lecture on matching-based risk",
        "riskier",
        "share",
    ),
    Measure(
        "false-match-rate",
        "false match rate",
        "share of false ones among the unique matches, mean over datasets (Hu's lecture); undefined without a unique match",
        "Hu's lecture on matching-based risk",
        "safer",
        "share",
    ),
    Measure(
        "unique-matches",
        "unique matches",
        "records with exactly one match, mean over datasets (Hu's lecture)",
        "Hu's lecture on matching-based risk",
        "riskier",
        "count",
    ),
    Measure(
        "rank",
        "rank measure",
        "mean over records of the share of the pattern's synthetic values between true and own synthetic value (Kleisle-Murphy 2020)",
        "Kleisle-Murphy 2020",
        "safer",
        "mean",
    ),
    Measure("dcap-zero", "DCAP, absent keys 0", f"mean over records of {_CAP}; an absent key counts 0", _TAUB, "riskier", "mean"),
    Measure(
        "dcap-drop", "DCAP, absent keys dropped", f"mean over records of {_CAP}; records of absent keys left out", _TAUB, "riskier", "mean"
    ),
    Measure(
        "tcap",
        "TCAP",
        "mean of CAP over the records whose key has one single synthetic target (Taub & Elliot); undefined without such a key",
        _TAUB,
        "riskier",
        "mean",
    ),
    Measure(
        "cap-baseline",
        "CAP baseline",
        "mean share of confidential records that match the target: a guess without a key, to compare DCAP and TCAP with",
        _TAUB,
        "riskier",
        "mean",
    ),
    Measure(
        "replicated-uniques",
        "replicated uniques",
        "share of records unique on the {variables} in the confidential and in the synthetic data (repU)",
        "Raab, Nowok & Dibben 2024",
        "riskier",
        "share",
    ),
    *_CLOSEST,
    Measure(
        "canonical-r2",
        "largest canonical R^2",
        f"lambda_1, the largest R^2 of a linear combination of confidential variables on the synthetic ones, {_FIRST}",
        "Muralidhar & Sarathy",
        "riskier",
        "extreme",
    ),
    Measure(
        "identification-probability",
        "mean identification probability",
        f"mean over records of Fuller's P at the true record, {_FIRST}",
        "Muralidhar & Sarathy",
        "riskier",
        "mean",
    ),
    Measure(
        "canonical-reidentified",
        "re-identified by canonical distance",
        f"share of records linked to their own synthetic record by the canonical distance, {_FIRST}",
        "Muralidhar & Sarathy",
        "riskier",
        "share",
    ),
    Measure(
        "midp-bound",
        "MIDP bound",
        f"lower bound of the mean identification probability for normal data, {_FIRST}",
        "Muralidhar & Sarathy",
        "riskier",
        "bound",
    ),
)
_ASSESSED_UTILITY = (
    Measure(
        "two-way-distance",
        "two-way total variation",
        f"mean over all pairs of variables of half the sum over the cells of their table ({_GROUPED}) of the absolute differences of "
        "shares, mean over datasets; 0 is identical, 1 disjoint, and a pair that is unaltered counts 0",
        _SIX,
        "less useful",
        "distance",
        _D.THREE_DIGITS,
    ),
)
# Those for which it must be known which synthetic record stands for which confidential one.
OF_PAIRS = frozenset(measure.key for measure in (*_RISK, *_RELEASED, *_SEVERAL_RISK)) - {"singleton-patterns", "released-patterns"} | {
    *("identification-risk", "share-over", "true-match-rate", "false-match-rate", "unique-matches", "rank"),
    *("canonical-r2", "identification-probability", "canonical-reidentified", "midp-bound"),
}
_OF_RISK = (*_RISK, *_MECHANISM, *_INFLUENCE, *_RELEASED, *_SEVERAL_RISK)
MEASURES: Mapping[str, Measure] = MappingProxyType(
    {measure.key: measure for measure in (*_OF_RISK, *_UTILITY, *_SEVERAL_UTILITY, *_ASSESSED_UTILITY, *_FIT, *_CHECKED, *_ASSESSED)}
)
OF_MECHANISM = frozenset(measure.key for measure in _MECHANISM)
OF_UTILITY = frozenset(
    measure.key for measure in (*_UTILITY, *_SEVERAL_UTILITY, *_ASSESSED_UTILITY)
)  # the table that a row stands in; else that of risk
OF_SEVERAL = frozenset(measure.key for measure in (*_SEVERAL_RISK, *_SEVERAL_UTILITY))
