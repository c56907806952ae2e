"""What centred weights cost the variance of estimates, and the one number that a release states of
it (METHODS section 15).
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from riskweighted.measures.context import Context
from riskweighted.measures.measure import Disclosure, Measure, Value

__all__ = ["KAPPA", "MEASURES", "RATIO"]


def ratios(context: Context) -> Iterator[Value]:
    """The number that is stated, then that of each estimand; of fits under centred weights
    alone.
    """
    if context.ratios is None:
        return
    table = context.ratios.table
    nothing = (
        f"not judged: {'; '.join(dict.fromkeys(table['why']))}"
        if np.isnan(context.ratios.stated)
        else None
    )
    yield Value(KAPPA, context.ratios.stated, definition=nothing)
    for variable, estimand, ratio, why in table.itertuples(index=False):
        yield Value(
            RATIO,
            float(ratio),
            variable,
            term=str(estimand),
            definition=f"not judged: {why}" if why else None,
        )


_LARGEST = (
    "sandwich variance of the estimator under the centred weights over that of the unweighted one"
)
_ratio = partial(
    Measure,
    source="METHODS section 15",
    direction="less useful",
    kind="ratio",
    table="utility",
    order=60,
    compute=ratios,
    unbounded=True,
)
KAPPA = _ratio(
    "variance-ratio",
    "kappa",
    f"kappa: {_LARGEST}, the largest over means, shares and the coefficients of the study's "
    "regressions, rounded up to .1, at least 1; "
    "intervals take kappa vbar + b/L instead of vbar + b/L",
    disclosure=Disclosure.TWO_DECIMALS,
    words="by how much weights enlarge variances",
    symbol="kappa",
)
RATIO = _ratio(
    "variance-ratio-of",
    "variance ratio of the {term}",
    f"{_LARGEST}, at the predictors of the file",
    parameter="coefficient",
    many=True,
)
MEASURES = (KAPPA, RATIO)
