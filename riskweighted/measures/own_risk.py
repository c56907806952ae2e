"""The risk of each of several variables where the intruder looks for it alone."""

import warnings
from collections.abc import Iterator
from functools import partial

from riskweighted.common.errors import SingletonWarning
from riskweighted.measures.context import Context
from riskweighted.measures.expected import ISOLATED_RECORDS
from riskweighted.measures.measure import Disclosure, Measure, Value

__all__ = ["MEASURES"]


def alone(context: Context) -> Iterator[Value]:
    """Mean risk, and that of the isolated records, of one variable of several."""
    if context.paired is None or context.variable is None or len(context.scenario.synthetic) == 1:
        return
    from riskweighted.risk.expected import isolated_records
    from riskweighted.risk.identification import confidential_risk, mean_identification_risk

    paired = context.paired.only(context.variable)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingletonWarning)  # the patterns are those of all variables, of which it was said
        confidential = confidential_risk(paired.world).to_numpy()
    risk = confidential if context.of_data else mean_identification_risk(paired)
    yield Value(_MEAN, float(risk.mean()), context.variable)
    yield Value(_ISOLATED, float(risk[isolated_records(confidential)].mean()), context.variable)


_ALONE = "where the intruder looks for this variable alone"
_alone = partial(
    Measure, direction="riskier", kind="mean", disclosure=Disclosure.THREE_DECIMALS, order=70, each=True, compute=alone, pairs=True
)
_MEAN = _alone(
    "own-mean-risk",
    "own mean risk",
    f"mean over records of {{risk}}, {_ALONE}",
    source="Hu et al. 2022, eq. 1; of the confidential data eq. 2",
)
_ISOLATED = _alone(
    "own-isolated-risk",
    "own risk of isolated records",
    f"mean over the {ISOLATED_RECORDS}, of {{risk}}, {_ALONE}",
    source="METHODS section 2.6",
    share=0.05,
)
MEASURES = (_MEAN, _ISOLATED)
