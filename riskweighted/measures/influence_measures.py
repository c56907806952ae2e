"""How far one record, or one cluster of records, can move the pseudo posterior: empirical, never a
guarantee (METHODS section 9.1).
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.measures.context import Context, EvaluationInputs
from riskweighted.measures.expected_measures import ISOLATED_RECORDS
from riskweighted.measures.measure import Aim, Disclosure, Estimate, Measure, Value

__all__ = [
    "ATTRIBUTABLE_ISOLATED",
    "DELTA",
    "ISOLATED",
    "LARGEST",
    "MEASURES",
    "TERM",
    "influence_by_chain",
]


def influence_values(context: Context) -> Iterator[Value]:
    """Of one label's fit; nothing of one that estimates nothing."""
    if context.mechanism is None or context.mechanism.influence is None:
        return
    records, isolated = context.mechanism.influence, context.subject.isolated
    information = records["information"].to_numpy()
    values = {
        DELTA: records["lipschitz"].to_numpy().max(),
        _RANGE: records["range"].to_numpy().max(),
        _INFORMATION: information.sum(),
        ISOLATED: information[isolated].mean(),
        LARGEST: information.max(),
    }
    if "attributable" in records:
        values[ATTRIBUTABLE_ISOLATED] = records["attributable"].to_numpy()[isolated].mean()
    for measure, value in values.items():
        yield Value(measure, float(value))
    clusters = context.mechanism.clusters
    if clusters is not None:
        named, draws = str(context.settings.cluster), context.mechanism.risk.draws
        largest = float(clusters["lipschitz"].to_numpy().max())
        defined = _OF_CLUSTER.format(cluster=named, draws=draws)
        yield Value(DELTA, largest, named, definition=defined)


def _from_draws(
    column: str, over: Callable[[np.ndarray], float], *, isolated: bool = False
) -> Callable[[Any, EvaluationInputs, int, int], Estimate]:
    """A figure of the influence of all records, or of isolated ones, from all draws; its error from
    what each chain alone would give.
    """

    def measure(fit: Any, subject: EvaluationInputs, draws: int, seed: int) -> Estimate:
        every, each = influence_by_chain(fit, subject.world.scenario.synthetic)
        rows = subject.isolated if isolated else slice(None)
        value = float(over(every[column].to_numpy()[rows]))
        alone = [over(chain[column].to_numpy()[rows]) for chain in each]
        return Estimate(
            value, float(np.std(alone, ddof=1) / np.sqrt(len(alone))) if len(alone) > 1 else np.nan
        )

    return measure


def _information(
    name: str, label: str, of: str, over: Callable[[np.ndarray], float], *, isolated: bool = False
) -> Aim:
    """A figure of the information of all records, or of isolated ones, as a target."""

    def of_information(each: np.ndarray, subject: EvaluationInputs) -> float:
        return float(over(each[subject.isolated] if isolated else each))

    return Aim(
        name,
        label,
        of,
        _from_draws("information", over, isolated=isolated),
        of_information=of_information,
    )


def influence_by_chain(
    fit: Any, variables: Sequence[str]
) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """The influence of the records on the posterior of these variables, from all draws, and from
    those of each chain.
    """
    from riskweighted.contract.drawn_columns import spread_draws
    from riskweighted.risk.expected_identification import variable_terms
    from riskweighted.risk.influence import InfluenceSums

    chains, draws, index = fit.sizes["chain"], fit.sizes["draw"], fit.confidential.index
    every = InfluenceSums(index, chains * draws, attributes=False)
    each = [InfluenceSums(index, draws, attributes=False) for _ in range(chains)]
    for chain, draw in spread_draws(chains, draws, chains * draws):
        terms = variable_terms(fit, fit.thetas(chain, draw))
        summed = (
            terms
            if len(terms) == len(variables)
            else terms[[list(fit.variables).index(name) for name in variables]]
        )
        every.add(summed)
        each[chain].add(summed)
    return every.table(), [sums.table() for sums in each]


TERM = (
    "alpha_i log p(y_i | theta_s), less its own term if centred, s over {draws} posterior draws, "
    "log density on the scale of the model"
)
_NO_GUARANTEE = "alpha held fixed; empirical, no guarantee"
_OF_CLUSTER = (
    "the largest of a cluster of records with the same {cluster}, whose contributions are summed, "
    f"|{TERM}|; {_NO_GUARANTEE}"
)
_D = Disclosure
_influence = partial(
    Measure,
    source="METHODS section 9.1",
    direction="riskier",
    order=30,
    compute=influence_values,
    needs="fit",
    unbounded=True,
)
_extreme = partial(_influence, kind="extreme", disclosure=_D.LEFT_OUT)
_estimate = partial(_influence, kind="estimate", disclosure=_D.THREE_DIGITS)
_sum = partial(_influence, kind="sum", disclosure=_D.THREE_DIGITS)
DELTA = _extreme(
    "influence-lipschitz",
    "Delta",
    f"largest |{TERM}|, over records and draws (arXiv 1909.11796); {_NO_GUARANTEE}",
    words="largest influence of a record",
    symbol="Delta",
    main=70,
    aim=Aim(
        "lipschitz",
        "largest alpha_i |log p_i| (Delta)",
        "influence",
        _from_draws("lipschitz", np.max),
    ),
)
_RANGE = _extreme(
    "influence-range",
    "range of influence",
    f"largest over records of max_s - min_s of {TERM}; {_NO_GUARANTEE}",
    words="largest range of influence of a record",
    main=80,
    aim=Aim("range", "largest range of alpha_i log p_i", "influence", _from_draws("range", np.max)),
)
_INFORMATION = _sum(
    "influence-information",
    "information",
    f"sum over records of half the variance over s of {TERM}; half of the effective parameters, "
    "p_eff",
    words="information that records give",
    main=90,
    aim=_information("information", "sum of the records' information", "information", np.sum),
)
ISOLATED = _estimate(
    "influence-information-isolated-mean",
    "information of an isolated record",
    f"mean over the {ISOLATED_RECORDS}, of half the variance over s of {TERM}",
    words="information that an isolated record gives, on average",
    share=0.05,
    main=62,
    aim=(
        _information(
            "isolated-information-mean",
            "information of an isolated record",
            "information",
            np.mean,
            isolated=True,
        ),
        _information(
            "isolated-information",
            "sum of the isolated records' information",
            "information",
            np.sum,
            isolated=True,
        ),
    ),
)
LARGEST = _extreme(
    "influence-information-largest",
    "largest information of a record",
    f"largest half variance over s, over records, of {TERM}; {_NO_GUARANTEE}",
    words="largest information that a record gives",
    main=64,
    aim=_information("largest-information", "largest information of a record", "influence", np.max),
)
_BALL = (
    "the probability that their synthetic value lies in their ball, less that without the "
    "record: importance weights of {draws} posterior "
    "draws"
)
_attributable = partial(_estimate, unbounded=False)  # of probabilities
ATTRIBUTABLE_ISOLATED = _attributable(
    "attributable-isolated",
    "attributable ball probability of isolated records",
    f"mean over the {ISOLATED_RECORDS}, of {_BALL}",
    words="attributable ball probability of isolated records",
    share=0.05,
    main=66,
)
MEASURES = (
    ISOLATED,
    LARGEST,
    ATTRIBUTABLE_ISOLATED,
    DELTA,
    _RANGE,
    _INFORMATION,
)
