"""The mechanism's risk, that of no datasets in particular: summaries of the records' expected risk (METHODS sections 2.4 to 2.6)."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from riskweighted.measures.context import Context, Subject
from riskweighted.measures.measure import Aim, Disclosure, Estimate, Measure, Value

if TYPE_CHECKING:
    from riskweighted.risk.expected import ExpectedRisk

__all__ = ["HARDLY_MOVES", "ISOLATED", "ISOLATED_RECORDS", "MEAN", "MEASURES", "RISES"]

RISES = (0.05, 0.1, 0.25)  # over the unweighted fit, counted
ISOLATED_RECORDS = "isolated records, the 5 % of largest IR^c with all ties at the cut"
_Summary = Callable[[np.ndarray], float]


def summaries(context: Context) -> Iterator[Value]:
    """Summaries of the expected risk under one label with Monte Carlo errors; of the confidential data those of IR^c."""
    subject, threshold, top = context.subject, float(context.settings.threshold), context.subject.top
    if not subject.expected or (context.mechanism is None and not context.of_data):
        return
    risk = subject.confidential_risk if context.mechanism is None else context.mechanism.risk
    chosen: list[tuple[Measure, float | None, _Summary]] = [
        (MEAN, None, np.mean),
        (ISOLATED, None, lambda values: float(values[subject.isolated].mean())),
        (_MAXIMUM, None, np.max),
        (_OVER, threshold, lambda values: float((values > threshold).sum())),
    ]
    if top is not None:
        chosen.append((_TOP, None, lambda values: float(values[top].mean())))
    for measure, parameter, summary in chosen:
        value, error = Estimate(float(summary(risk)), np.nan) if isinstance(risk, np.ndarray) else _jackknife(summary, risk)
        yield Value(measure, value, parameter=parameter, error=error)
    if context.of_data:
        yield Value(_COUNT, float(subject.isolated.sum()))
    elif context.mechanism is not None and context.baseline is not None and context.baseline.mechanism is not None:
        yield from _rises(context.mechanism.risk, context.baseline.mechanism.risk)


def _rises(risk: "ExpectedRisk", baseline: "ExpectedRisk") -> Iterator[Value]:
    """How many records' expected risk rises or falls over the baseline's, each of which errs independently."""
    for limit in RISES:
        counts: tuple[tuple[Measure, _Summary], ...] = (
            (_ROSE, lambda rise, limit=limit: float((rise >= limit).sum())),  # type: ignore[misc]
            (_FELL, lambda rise, limit=limit: float((rise <= -limit).sum())),  # type: ignore[misc]
        )
        for measure, count in counts:
            weighted = _jackknife(lambda values, count=count: count(values - baseline.risk), risk)  # type: ignore[misc]
            unweighted = _jackknife(lambda values, count=count: count(risk.risk - values), baseline)  # type: ignore[misc]
            yield Value(measure, weighted.value, parameter=limit, error=float(np.hypot(weighted.error, unweighted.error)))


def _jackknife(statistic: _Summary, risk: "ExpectedRisk") -> Estimate:
    """A statistic of the records' risk (n,), its error from leaving out each block of draws."""
    value, blocks = statistic(risk.risk), len(risk.sizes)
    if blocks == 1:
        return Estimate(value, np.nan)
    without = np.array([statistic(risk.without(block)) for block in range(blocks)])
    return Estimate(value, float(np.sqrt((blocks - 1) / blocks * ((without - without.mean()) ** 2).sum())))


def _mean_of(records: Callable[[Subject], np.ndarray | None]) -> Callable[[Any, Subject, int, int], Estimate]:
    """Mean expected IR of some records, with the error of means over blocks of draws."""

    def measure(fit: Any, subject: Subject, draws: int, seed: int) -> Estimate:
        from riskweighted.risk.expected import expected_risk

        risk = expected_risk(fit, subject.world, draws, seed)
        means = risk.blocks[:, records(subject)].mean(axis=1)
        value = np.average(means, weights=risk.sizes)
        off = np.average((means - value) ** 2, weights=risk.sizes)
        return Estimate(float(value), float(np.sqrt(off / (len(means) - 1))) if len(means) > 1 else np.nan)

    return measure


HARDLY_MOVES = (
    "the mean of the expected risk hardly moves under any weights, and not in one direction: mass that leaves the tail raises the risk of "
    "the bulk by about what it saves there"
)
_D = Disclosure
_risk = partial(Measure, source="METHODS section 2.4", direction="riskier", order=10, compute=summaries, mechanism=True)
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
    aim=Aim("isolated-risk", "mean expected risk of the isolated records", "risk", _mean_of(lambda subject: subject.isolated)),
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
        "top-1-percent-risk", "mean expected risk of the largest 1 % of values", "risk", _mean_of(lambda subject: subject.top), numeric=True
    ),
)
MEAN = _mean(
    "expected-mean-risk",
    "expected mean risk",
    "mean over records of {risk}; of one dataset and an intruder who picks at random, so it is no disclosure: guesses without any release "
    "may name more (guessed-by-constant, guessed-without-release)",
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
_COUNT = _count("isolated-records", "isolated records", f"number of {ISOLATED_RECORDS}", source=_ISOLATION, direction="neither")
_ROSE = _count(
    "expected-rises",
    "expected rises of {parameter:g}",
    "records with {rise} >= {parameter:g}",
    source="METHODS section 2.5",
    parameter="increase",
    boundary="A rise of exactly the limit is counted.",
    words="records whose expected risk rises by {parameter:g}",
    main=50,
)
_FELL = _count(
    "expected-falls",
    "expected falls of {parameter:g}",
    "records with {rise} <= -{parameter:g}",
    source="METHODS section 2.5",
    direction="safer",
    parameter="increase",
    boundary="A fall of exactly the limit is counted.",
    words="records whose expected risk falls by {parameter:g}",
    main=60,
)
MEASURES = (ISOLATED, _TOP, MEAN, _MAXIMUM, _OVER, _COUNT, _ROSE, _FELL)
