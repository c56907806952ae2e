"""Every coefficient of a list of regressions, without and with survey weights, and the mean overlap of each regression."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from riskweighted.measures.context import CONFIDENTIAL, Context
from riskweighted.measures.estimates import BIASED
from riskweighted.measures.measure import Disclosure, Measure, Value

__all__ = ["MEASURES", "mean_overlaps"]


def coefficients(context: Context) -> Iterator[Value]:
    """Coefficient by coefficient of each regression, without survey weights and, where there is a design, with them."""
    if not context.subject.analyses:
        return
    from riskweighted.utility.regressions import coefficient_intervals

    design, level = context.subject.design, context.settings.level
    for analysis in context.subject.analyses:
        for measure, under in ((_COEFFICIENT, None), *(() if design is None else ((_SURVEYED, design),))):
            found = coefficient_intervals(
                analysis, context.synthetic, synthetic=not context.of_data, design=under, level=level, size_ratio=context.size_ratio
            )
            for name, one in found.items():
                term = f"{name} in {analysis.formula}"
                ends, told = (one.lower, one.upper), {"formula": analysis.formula}
                yield Value(measure, one.estimate, analysis.response, term=term, interval=ends, rule=one.rule, told=told)


def mean_overlaps(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[str, Value]]:
    """By label the mean overlap of the coefficients of each regression; one that cannot be estimated counts 0."""
    overlaps_of = {_COEFFICIENT.key: _OVERLAP, _SURVEYED.key: _SURVEY_OVERLAP}
    groups: dict[tuple[str, str, str, str], list[float]] = {}
    for row in rows:
        if row["key"] in overlaps_of and row["label"] != CONFIDENTIAL:
            groups.setdefault((row["label"], row["key"], row["variable"], row["formula"]), []).append(row["overlap"])
    for (label, key, variable, formula), overlaps in groups.items():
        yield label, Value(overlaps_of[key], float(np.nan_to_num(overlaps).mean()), variable, term=formula)


_one = partial(Measure, table="utility", order=50, parameter="coefficient")
_coefficient = partial(_one, direction="neither", kind="coefficient", compute=coefficients, assess=coefficients, many=True, weighted=BIASED)
_overlap = partial(_one, source="Karr et al. 2006", direction="more useful", kind="overlap", disclosure=Disclosure.TWO_DECIMALS)
_TEXT = (
    "of {term} of the overlap of the scheme's interval and the confidential one; one that some dataset does not determine counts 0; "
    "dummies that fewer than 10 confidential records have or lack are left out"
)
_COEFFICIENT = _coefficient(
    "regression-coefficient",
    "regression coefficient {term}",
    "coefficient {term}, by complete cases: least squares, or logistic (log odds) where the response has two values",
    source="Reiter 2003; METHODS section 6",
)
_OVERLAP = _overlap("regression-overlap", "mean overlap in {term}", f"mean over the coefficients {_TEXT}")
_SURVEYED = _coefficient(
    "survey-regression-coefficient",
    "survey regression coefficient {term}",
    "survey-weighted coefficient {term}, by complete cases, with the sandwich variance of the design: least squares, or logistic (log "
    "odds) where the response has two values",
    source="Binder 1983; Reiter 2003; METHODS section 6",
)
_SURVEY_OVERLAP = _overlap(
    "survey-regression-overlap", "survey mean overlap in {term}", f"mean over the survey-weighted coefficients {_TEXT}"
)
MEASURES = (_COEFFICIENT, _OVERLAP, _SURVEYED, _SURVEY_OVERLAP)
