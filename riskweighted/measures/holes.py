"""The hole attack: whom an intruder finds who guesses where the copies of a pattern are missing."""

import warnings
from collections.abc import Iterator
from functools import partial

from riskweighted.common.errors import SingletonWarning
from riskweighted.measures.context import Context
from riskweighted.measures.expected import ISOLATED_RECORDS
from riskweighted.measures.measure import Disclosure, Measure, Value

__all__ = ["MEASURES"]


def attacked(context: Context) -> Iterator[Value]:
    """Shares of all records and of the isolated ones, of the width that finds most of them; nothing of the confidential data."""
    if context.paired is None or context.variable is None or context.of_data or not context.is_numeric:
        return
    from riskweighted.risk.expected import isolated_records
    from riskweighted.risk.holes import found_in_holes
    from riskweighted.risk.identification import confidential_risk

    found = found_in_holes(context.paired, context.variable)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingletonWarning)  # it was said of the scenario
        isolated = isolated_records(confidential_risk(context.world.only(context.variable)).to_numpy())
    yield Value(_ALL, float(found.mean(axis=1).max()), context.variable)
    yield Value(_ISOLATED, float(found[:, isolated].mean(axis=1).max()), context.variable)


_GUESS = (
    "in whose ball lies the guess of an intruder who looks for holes: where all copies of a known pattern lie lowest under their own "
    "smooth density, by the best of three widths; the true values say which is best, so it is an upper figure"
)
_hole = partial(
    Measure,
    source="METHODS section 13.1",
    direction="riskier",
    kind="share",
    disclosure=Disclosure.SHARE,
    order=75,
    each=True,
    compute=attacked,
    pairs=True,
    limited=False,
)
_ALL = _hole("hole-attack", "hole attack", f"share of the records {_GUESS}")
_ISOLATED = _hole("hole-attack-isolated", "hole attack on isolated records", f"share of the {ISOLATED_RECORDS}, {_GUESS}", share=0.05)
MEASURES = (_ALL, _ISOLATED)
