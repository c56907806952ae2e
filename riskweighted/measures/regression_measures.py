"""The coefficient that the settings name, and how far intervals and the confidential ones overlap
(Karr et al. 2006).
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.measures import analyses
from riskweighted.measures.analyses import coefficients
from riskweighted.measures.context import Context
from riskweighted.measures.estimates import BIASED
from riskweighted.measures.measure import Disclosure, Estimate, Loss, Measure, Value

if TYPE_CHECKING:
    from riskweighted.intruder.world import World
    from riskweighted.utility.regressions import Analysis

__all__ = ["COEFFICIENT", "MEASURES", "OVERLAP", "OVERLAPS"]

# into which the datasets are split for the error of an overlap, which many of them have together
_PARTS = 5


def coefficient_values(context: Context) -> Iterator[Value]:
    """The coefficient that the settings name, with Reiter's combining rule, kappa vbar in the place
    of vbar where weights are centred.
    """
    if context.subject.analysis is not None:
        yield from coefficients(
            context, COEFFICIENT, context.subject.analysis, COEFFICIENT.definition
        )


def _lack_of_overlap(
    world: "World", analysis: "Analysis | None"
) -> tuple[str, Callable[[Sequence[pd.DataFrame]], Estimate]]:
    """1 less the overlap of the coefficient's intervals, above 1 where they are disjoint (Snoke et
    al. 2018); its error from parts.
    """
    from riskweighted.utility.combining_rules import interval_overlap
    from riskweighted.utility.regressions import coefficient_intervals

    if analysis is None:
        raise InputError(
            "loss 'overlap' is that of a regression coefficient: give regression and coefficient"
        )
    ((name, true),) = coefficient_intervals(analysis, [world.confidential], synthetic=False).items()

    def lack(frames: Sequence[pd.DataFrame]) -> float:
        drawn = coefficient_intervals(analysis, frames, synthetic=True)[name]
        return 1 - interval_overlap(
            (true.lower, true.upper), (drawn.lower, drawn.upper), clip=False
        )

    def measure(frames: Sequence[pd.DataFrame]) -> Estimate:
        each = [lack(frames[part::_PARTS]) for part in range(_PARTS)]
        return Estimate(lack(frames), float(np.std(each, ddof=1) / np.sqrt(_PARTS)))

    return f"1 - overlap of {name}", measure


_D = Disclosure
_coefficient = partial(
    Measure,
    direction="neither",
    kind="coefficient",
    table="utility",
    order=50,
    parameter="coefficient",
    weighted=BIASED,
)
_overlap = partial(
    Measure,
    source="Karr et al. 2006",
    direction="more useful",
    kind="overlap",
    disclosure=_D.TWO_DECIMALS,
    table="utility",
)
COEFFICIENT = _coefficient(
    "coefficient",
    "coefficient {term}",
    "least-squares coefficient in {formula}",
    source="Reiter 2003; METHODS section 6",
    disclosure=_D.FIVE_DIGITS,
    order=30,
    compute=coefficient_values,
    compared=True,
)
OVERLAP = _overlap(
    "overlap",
    "overlap",
    "share of the scheme's interval and the confidential one that both hold; 1 is identical, "
    "higher is more useful",
    loss=Loss("overlap", _lack_of_overlap),
)
MEASURES = (COEFFICIENT, OVERLAP)
OVERLAPS = (OVERLAP.key, analyses.MEAN_OVERLAP.key)
