"""How near synthetic records lie to confidential ones, in any synthetic file (Zhao et al. 2021;
Platzer & Reutterer 2021).
"""

from collections.abc import Iterator
from functools import partial

from riskweighted.measures.context import Context
from riskweighted.measures.measure import Measure, Value

__all__ = ["COPIES", "MEASURES"]

_QUANTILES = (0.05, 0.5)  # of distances: the nearest, and the usual


def distances(context: Context) -> Iterator[Value]:
    """Distances to the closest confidential records and, where there is a holdout file, whether its
    records are farther.
    """
    from riskweighted.risk.record_distances import closest_records
    from riskweighted.utility.combining_rules import proportion_interval

    subject, n, level = context.subject, len(context.confidential), context.settings.level
    nearest = closest_records(
        context.confidential,
        context.synthetic,
        context.scenario,
        holdout=subject.holdout,
        random_seed=subject.seed,
    )
    among = f"among {'all ' if nearest.searched == n else ''}{nearest.searched} confidential ones"
    for share in _QUANTILES:
        yield Value(
            _DISTANCE,
            nearest.quantile("distance", share),
            parameter=share,
            rule="none",
            told={"among": among},
        )
    datasets = nearest.records.groupby("dataset").size().min()
    shares = [(COPIES, nearest.copies, datasets, among)]
    if subject.holdout is not None:
        either = f"among {nearest.compared} records of either file"
        shares.append((_CLOSER, nearest.closer, min(nearest.compared, datasets), either))
    for measure, value, count, where in shares:
        interval = proportion_interval(value, count, level=level)
        rule = f"Wilson interval, as of {count} records"
        yield Value(measure, value, interval=interval, rule=rule, told={"among": where})


_GOWER = "Gower's distance on the known and synthesized variables, {among}; mean over datasets"
_OVER = "quantile {parameter:g} over synthetic records of"
_near = partial(
    Measure,
    source="METHODS section 7.2; Zhao et al. 2021",
    direction="riskier",
    kind="share",
    order=100,
    compute=distances,
    needs="data alone",
)
_quantile = partial(_near, direction="safer", kind="quantile", parameter="quantile")
_DISTANCE = _quantile(
    "closest-record",
    "DCR, {parameter:g} quantile",
    f"{_OVER} the distance to the closest confidential record, {_GOWER}",
)
COPIES = _near(
    "copied-records",
    "copied records",
    "share of synthetic records that equal a confidential one in every known and synthesized "
    "variable, {among}; mean over datasets",
)
_CLOSER = _near(
    "closer-than-holdout",
    "closer than to the holdout",
    "share of synthetic records whose closest confidential record is closer than their closest "
    "holdout record, ties 1/2, {among}; 1/2 "
    "is what another sample of the population has, and more is expected where known variables "
    "are released unaltered",
    source="METHODS section 7.2; Platzer & Reutterer 2021",
)
MEASURES = (_DISTANCE, COPIES, _CLOSER)
