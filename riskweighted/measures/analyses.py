"""What functions of users' own estimate, and how far the intervals and the confidential ones
overlap (Karr et al. 2006).
"""

import warnings
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.measures.context import Context
from riskweighted.measures.estimates import BIASED
from riskweighted.measures.measure import Disclosure, Measure, Value

if TYPE_CHECKING:
    from riskweighted.utility.analyses import OwnAnalysis
    from riskweighted.utility.intervals import Interval

__all__ = ["ESTIMATE", "MEAN_OVERLAP", "MEASURES"]


def estimates(context: Context) -> Iterator[Value]:
    """Estimate by estimate of each analysis; of one that the confidential data do not give, that
    its overlap is not judged.
    """
    for analysis in context.subject.own:
        if not context.of_data and not analysis.of_data:
            yield Value(
                MEAN_OVERLAP,
                np.nan,
                term=analysis.name,
                rule=f"not judged: {analysis.why} on the confidential data",
            )
        for name, interval in _intervals(context, analysis).items():
            yield Value.of(
                ESTIMATE,
                interval,
                term=f"{name} in {analysis.name}",
                told={"formula": analysis.name},
            )


def _intervals(context: Context, analysis: "OwnAnalysis") -> "dict[str, Interval]":
    from riskweighted.utility.analyses import analysis_intervals, one_interval

    level = context.settings.level
    if context.of_data or not analysis.of_data:
        return {
            name: one_interval(*pair, level, synthetic=False)
            for name, pair in analysis.of_data.items()
        }
    intervals, why = analysis_intervals(
        analysis,
        context.synthetic,
        design=context.subject.design,
        level=level,
        size_ratio=context.size_ratio,
        kappa=context.kappa,
    )
    if why:
        warnings.warn(
            f"the analysis {analysis.name!r} {why} of {context.label!r}: it is not judged",
            RiskWeightedWarning,
            stacklevel=2,
        )
    return intervals


_of_analysis = partial(Measure, table="utility", order=50, parameter="coefficient")
ESTIMATE = _of_analysis(
    "analysis-estimate",
    "estimate {term}",
    "estimate {term}, with the variance that the function gives",
    source="Reiter 2003; METHODS section 6",
    direction="neither",
    kind="coefficient",
    many=True,
    weighted=BIASED,
    compute=estimates,
    assess=estimates,
)
MEAN_OVERLAP = _of_analysis(
    "analysis-overlap",
    "mean overlap of {term}",
    "mean over the estimates of {term} of the overlap of the scheme's interval and the "
    "confidential one; not judged where the function "
    "fails on some dataset, or gives other names there",
    source="Karr et al. 2006",
    direction="more useful",
    kind="overlap",
    disclosure=Disclosure.TWO_DECIMALS,
)
MEASURES = (ESTIMATE, MEAN_OVERLAP)
