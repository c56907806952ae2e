"""The risk of each of several variables where the intruder looks for it alone."""

from collections.abc import Iterator
from functools import partial

from riskweighted.common.exact import ExactSum
from riskweighted.measures.context import Context
from riskweighted.measures.cuts import confidential_risk_alone
from riskweighted.measures.expected import ISOLATED_RECORDS
from riskweighted.measures.measure import Disclosure, Measure, Value
from riskweighted.measures.parts import ByParts, Tally

__all__ = ["MEASURES"]


def _tally(context: Context) -> Tally | None:
    """The risk of one variable of several, of all records and of the isolated ones."""
    if context.paired is None or context.variable is None or len(context.scenario.synthetic) == 1:
        return None
    from riskweighted.risk.identification import mean_identification_risk

    confidential = confidential_risk_alone(context)
    risk = (
        confidential
        if context.of_data
        else mean_identification_risk(context.paired.only(context.variable))
    )
    isolated = context.subject.isolated_alone(confidential, context.variable)
    return Tally(risk=ExactSum.of(risk), isolated=ExactSum.of(risk[isolated]))


def _values(total: Tally | None, context: Context) -> Iterator[Value]:
    if total is not None:
        yield Value(_MEAN, total["risk"].mean, context.variable)
        yield Value(_ISOLATED, total["isolated"].mean, context.variable)


alone = ByParts(_tally, _values)
_ALONE = "where the intruder looks for this variable alone"
_alone = partial(
    Measure,
    direction="riskier",
    kind="mean",
    disclosure=Disclosure.THREE_DECIMALS,
    order=70,
    each=True,
    compute=alone,
    pairs=True,
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
