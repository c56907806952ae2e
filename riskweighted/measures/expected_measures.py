"""The mechanism's risk, that of no datasets in particular: summaries of the records' expected risk
(METHODS sections 2.4 to 2.6).
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from riskweighted.measures.context import Context, EvaluationInputs
from riskweighted.measures.measure import Aim, Disclosure, Estimate, Measure, Value

if TYPE_CHECKING:
    from riskweighted.risk.expected_identification import ExpectedRisk

__all__ = ["HARDLY_MOVES", "ISOLATED", "ISOLATED_RECORDS", "MEAN", "MEASURES", "RISES"]

RISES = (0.05, 0.1, 0.25)  # over the unweighted fit, counted
ISOLATED_RECORDS = "isolated records, the 5 % of largest IR^c with all ties at the cut"


def summaries(context: Context) -> Iterator[Value]:
    """Of the expected risk under one label, from all blocks of draws and without each of them; of
    the confidential data of IR^c.
    """
    subject, mechanism, threshold = context.subject, context.mechanism, context.settings.threshold
    isolated, top = subject.isolated, subject.top
    statistics: list[tuple[Measure, float | None, Callable[[np.ndarray], Any]]] = [
        (MEAN, None, np.mean),
        (ISOLATED, None, lambda risk: risk[isolated].mean()),
        (_MAXIMUM, None, np.max),
        (_OVER, float(threshold), lambda risk: (risk > threshold).sum()),
    ]
    if top is not None:
        statistics.append((_TOP, None, lambda risk: risk[top].mean()))
    rows = [subject.confidential_risk] if mechanism is None else _with_each_left_out(mechanism.risk)
    values = np.array([[float(of(risk)) for _, _, of in statistics] for risk in rows])
    for (measure, parameter, _), of_measure in zip(statistics, values.T, strict=True):
        value, error = _jackknife(of_measure)
        yield Value(measure, value, parameter=parameter, error=error)
    rival = None if context.baseline is None else context.baseline.mechanism
    if mechanism is not None and rival is not None:
        yield from _values_of_rises(*_rises(mechanism.risk, rival.risk))


def _with_each_left_out(risk: "ExpectedRisk") -> Iterator[np.ndarray]:
    """The risk of the records (n,) from all blocks of draws, then, of several, without each of
    them.
    """
    yield risk.risk
    if len(risk.sizes) > 1:
        yield from (risk.without(block) for block in range(len(risk.sizes)))


def _rises(risk: "ExpectedRisk", baseline: "ExpectedRisk") -> tuple[np.ndarray, np.ndarray]:
    """How many records' expected risk rises by each limit, without each block of the fit's draws,
    and of the baseline's; (1 + B, limits) each."""

    def counts(rise: np.ndarray) -> list[int]:
        return [int((rise >= limit).sum()) for limit in RISES]

    weighted = np.array([counts(values - baseline.risk) for values in _with_each_left_out(risk)])
    return weighted, np.array(
        [counts(risk.risk - values) for values in _with_each_left_out(baseline)]
    )


def _values_of_rises(weighted: np.ndarray, unweighted: np.ndarray) -> Iterator[Value]:
    """Of either fit's draws the error is its own, and they are independent."""
    for number, limit in enumerate(RISES):
        value, error = _jackknife(weighted[:, number].astype(float))
        other = _jackknife(unweighted[:, number].astype(float)).error
        yield Value(_ROSE, value, parameter=limit, error=float(np.hypot(error, other)))


def _jackknife(values: np.ndarray) -> Estimate:
    """A statistic from all blocks of draws, and its error from what it is without each of B blocks;
    (1 + B,), (1,) of a single block.
    """
    value, without, blocks = float(values[0]), values[1:], len(values) - 1
    if blocks < 1:
        return Estimate(value, np.nan)
    return Estimate(
        value, float(np.sqrt((blocks - 1) / blocks * ((without - without.mean()) ** 2).sum()))
    )


def _mean_of(
    records: Callable[[EvaluationInputs], np.ndarray | None],
) -> Callable[[Any, EvaluationInputs, int, int], Estimate]:
    """Mean expected IR of some records, with the error of means over blocks of draws."""

    def measure(fit: Any, subject: EvaluationInputs, draws: int, seed: int) -> Estimate:
        from riskweighted.risk.expected_identification import expected_risk

        risk = expected_risk(fit, subject.world, draws, seed)
        means = risk.blocks[:, records(subject)].mean(axis=1)
        value = np.average(means, weights=risk.sizes)
        off = np.average((means - value) ** 2, weights=risk.sizes)
        return Estimate(
            float(value), float(np.sqrt(off / (len(means) - 1))) if len(means) > 1 else np.nan
        )

    return measure


HARDLY_MOVES = (
    "the mean of the expected risk hardly moves under any weights, and not in one direction: "
    "mass moved out of the tail raises the risk of "
    "the bulk by about what it saves there"
)
_D = Disclosure
_risk = partial(
    Measure,
    source="METHODS section 2.4",
    direction="riskier",
    order=10,
    compute=summaries,
    needs="fit",
    mechanism=True,
)
_mean = partial(_risk, kind="mean", disclosure=_D.THREE_DECIMALS, symbol="E[IR]")
_count = partial(_risk, kind="count", disclosure=_D.COUNT)
_ISOLATION = "METHODS section 2.6"
ISOLATED = _mean(
    "expected-isolated-risk",
    "expected risk of isolated records",
    f"mean over the {ISOLATED_RECORDS}, of {{risk}}",
    source=_ISOLATION,
    share=0.05,
    words="expected risk of isolated records",
    main=10,
    aim=Aim(
        "isolated-risk",
        "mean expected risk of the isolated records",
        "risk",
        _mean_of(lambda subject: subject.isolated),
    ),
)
_TOP = _mean(
    "expected-top-risk",
    "expected risk of the top 1 %",
    "mean over the records of the largest 1 % of values, with all ties at the cut, of {risk}",
    source=_ISOLATION,
    share=0.01,
    words="expected risk of the top 1 % of values",
    main=20,
    aim=Aim(
        "top-1-percent-risk",
        "mean expected risk of the largest 1 % of values",
        "risk",
        _mean_of(lambda subject: subject.top),
        numeric=True,
    ),
)
MEAN = _mean(
    "expected-mean-risk",
    "expected mean risk",
    "mean over records of {risk}; of one dataset and an intruder who picks at random, so it is "
    "no disclosure: guesses without any release "
    "may name more (attack-success-no-release)",
    words="expected risk, mean over all",
    main=30,
    aim=HARDLY_MOVES,
)
_MAXIMUM = _risk(
    "expected-maximum-risk",
    "expected maximum risk",
    "maximum over records of {risk}",
    kind="extreme",
    disclosure=_D.LEFT_OUT,
    words="largest expected risk",
    symbol="E[IR]",
    main=40,
    aim="the maximum belongs to a record in the bulk, whose risk weights do not lower",
)
_OVER = _count(
    "expected-records-over",
    "expected risk over {parameter:g}",
    "records with {risk} > {parameter:g}",
    parameter="threshold",
    boundary="A record at the threshold itself is not counted.",
    words="records at an expected risk over {parameter:g}",
)
_ROSE = _count(
    "records-riskier",
    "expected rises of {parameter:g}",
    "records with {rise} >= {parameter:g}",
    source="METHODS section 2.5",
    parameter="increase",
    boundary="A rise of exactly the limit is counted.",
    words="records whose expected risk rises by {parameter:g}",
    main=50,
)
MEASURES = (ISOLATED, _TOP, MEAN, _MAXIMUM, _OVER, _ROSE)
