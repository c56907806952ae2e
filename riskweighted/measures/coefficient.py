"""One coefficient of a regression, and how far an interval of synthetic data and the confidential one overlap (Karr et al. 2006)."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.measures.context import Context
from riskweighted.measures.estimates import BIASED
from riskweighted.measures.measure import Disclosure, Estimate, Loss, Measure, Value

if TYPE_CHECKING:
    from riskweighted.intruder.world import World
    from riskweighted.utility.regression import Regression

__all__ = ["COEFFICIENT", "MEASURES", "OVERLAP"]

_PARTS = 5  # into which the datasets are split for the error of an overlap, which many of them have together


def estimated(context: Context) -> Iterator[Value]:
    """The coefficient that the settings name, with Reiter's combining rule."""
    analysis = context.subject.analysis
    if analysis is None:
        return
    from riskweighted.utility.regression import coefficient_interval

    found = coefficient_interval(analysis, context.synthetic, synthetic=not context.of_data, level=context.settings.level)
    ends, told = (found.lower, found.upper), {"formula": analysis.formula}
    yield Value(COEFFICIENT, found.estimate, analysis.response, term=analysis.coefficient, interval=ends, rule=found.rule, told=told)


def _lack_of_overlap(world: "World", analysis: "Regression | None") -> tuple[str, Callable[[Sequence[pd.DataFrame]], Estimate]]:
    """1 less the overlap of the coefficient's intervals, above 1 where they are disjoint (Snoke et al. 2018); its error from parts."""
    from riskweighted.utility.intervals import interval_overlap
    from riskweighted.utility.regression import coefficient_interval

    if analysis is None:
        raise InputError("loss 'overlap' is that of a regression coefficient: give regression and coefficient")
    own = coefficient_interval(analysis, [world.confidential], synthetic=False)

    def of(frames: Sequence[pd.DataFrame]) -> float:
        found = coefficient_interval(analysis, frames, synthetic=True)
        return 1 - interval_overlap((own.lower, own.upper), (found.lower, found.upper), clip=False)

    def measure(frames: Sequence[pd.DataFrame]) -> Estimate:
        each = [of(frames[part::_PARTS]) for part in range(_PARTS)]
        return Estimate(of(frames), float(np.std(each, ddof=1) / np.sqrt(_PARTS)))

    return f"1 - overlap of {analysis.coefficient}", measure


COEFFICIENT = Measure(
    "coefficient",
    "coefficient {term}",
    "least-squares coefficient in {formula}",
    source="Reiter 2003; METHODS section 6",
    direction="neither",
    kind="coefficient",
    disclosure=Disclosure.FIVE_DIGITS,
    table="utility",
    order=30,
    compute=estimated,
    parameter="coefficient",
    weighted=BIASED,
    compared=True,
)
OVERLAP = Measure(
    "overlap",
    "overlap",
    "share of the scheme's interval and the confidential one that both hold; 1 is identical, higher is more useful",
    source="Karr et al. 2006",
    direction="more useful",
    kind="overlap",
    disclosure=Disclosure.TWO_DECIMALS,
    table="utility",
    loss=Loss("overlap", _lack_of_overlap),
)
MEASURES = (COEFFICIENT, OVERLAP)
