"""Risk and utility of a bucket's datasets as tallies that add up over buckets, and what is kept of
its records.
"""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.datasets import Datasets
from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.common.fingerprints import file_hash
from riskweighted.common.order import OrderCounts
from riskweighted.evaluation import parts as by_parts
from riskweighted.evaluation.computing import released_tallies
from riskweighted.evaluation.expected import find_mechanism
from riskweighted.evaluation.tables import CONFIDENTIAL
from riskweighted.intruder.scenario import Scenario
from riskweighted.measures.context import Context, Cuts, Rival, Subject
from riskweighted.measures.parts import Tally
from riskweighted.parts.counting import Values
from riskweighted.parts.drawing import (
    columns_of,
    count_far,
    draw_bucket,
    drawn_of,
    part_file,
    write_part,
)
from riskweighted.parts.fitting import LightFit
from riskweighted.parts.gather import ORDER
from riskweighted.parts.job import Job
from riskweighted.parts.regressions import Regressions
from riskweighted.parts.weighing import risk_file
from riskweighted.risk.expected import ISOLATED_SHARE, TOP_SHARE, rank_at_cut
from riskweighted.risk.matching import mean_risk_and_matches
from riskweighted.runs.finished import OURS
from riskweighted.weights.names import UNWEIGHTED

__all__ = [
    "TABLES",
    "Common",
    "Measured",
    "Question",
    "again_bucket",
    "find_cuts",
    "measure_bucket",
]

TABLES = ("utility", "risk")


def find_cuts(job: Job, values: Values) -> Cuts:
    """Where isolated records and the largest values begin, from the risk that is kept of every
    bucket and from the values' counts.
    """
    risks = [risk_file(job, number) for number in job.numbers]
    total = reduce(OrderCounts.__add__, (OrderCounts.of(np.load(path)) for path in risks))
    ranks = [rank_at_cut(len(total), ISOLATED_SHARE)]
    while (bins := total.unsettled(ranks)) is not None:
        total = total.finer(
            reduce(OrderCounts.__add__, (OrderCounts.of(np.load(path), bins) for path in risks))
        )
    isolated = float(total.at(ranks)[0])
    scenario = job.study.evaluating_scenario()
    top = _largest_hundredth(scenario, values) if scenario.is_numeric(values.values) else None
    return Cuts({None: isolated, job.target: isolated}, top)


def _largest_hundredth(scenario: Scenario, values: Values) -> float:
    """The least of the largest hundredth of the amounts."""
    statuses = scenario.statuses(values.values)
    order = np.argsort(statuses.amounts, kind="stable")
    ends = np.cumsum(values.counts[statuses.is_amount][order])
    return float(
        statuses.amounts[order][
            np.searchsorted(ends, rank_at_cut(int(ends[-1]), TOP_SHARE), side="right")
        ]
    )


@dataclass(frozen=True, eq=False)
class Common:
    """What is found of the whole file before a bucket is measured: ``cuts``, and the regressions.
    Confidential.
    """

    cuts: Cuts = field(repr=False)
    regressions: Regressions = field(repr=False)

    def subject(self, job: Job, records: pd.DataFrame) -> Subject:
        """What all labels of some records have in common."""
        return self.regressions.subject(job, records, self.cuts)


class Measured(NamedTuple):
    """Of a bucket: tallies by label and table, that of what all released columns tell, how many
    drawn values lie far out by label, and the files that were written, by digest.
    """

    tallies: dict[tuple[str, str], by_parts.Tallies]
    released: Tally
    far: Tally
    files: dict[str, str]


def measure_bucket(job: Job, number: int, fits: Mapping[str, LightFit], common: Common) -> Measured:
    """Draw the datasets of every label, write them, measure them, and write what is known of each
    record.
    """
    records = job.records(number)
    tallies, kept, paths, drawn = {}, {ORDER: records[ORDER]}, list[Path](), dict[str, Datasets]()
    unaltered = job.study.unaltered(records)
    paths.append(write_part(records[unaltered], job.result / "synthetic" / "unaltered", number))
    with warnings.catch_warnings():
        # of the model, which are told once, of the whole file
        warnings.simplefilter("ignore", RiskWeightedWarning)
        for context, datasets in _contexts(job, number, records, fits, common):
            for table in TABLES:
                tallies[context.label, table] = by_parts.tallies(
                    context, job.study.variables, table
                )
            kept |= _of_records(job, number, context)
            if datasets is not None:
                drawn[context.label] = datasets
                columns = pd.DataFrame(columns_of(datasets, job.target))
                paths.append(write_part(columns, job.result / "synthetic" / context.label, number))
        released = released_tallies(job.world(records), drawn, unaltered)
        far = Tally(
            {
                label: count_far(fits[label].light(), datasets, job.target)
                for label, datasets in drawn.items()
            }
        )
    paths.append(write_part(pd.DataFrame(kept), job.result / "confidential" / "records", number))
    return Measured(
        tallies,
        released,
        far,
        {path.relative_to(job.result).as_posix(): file_hash(path) for path in paths},
    )


def _of_records(job: Job, number: int, context: Context) -> dict[str, Any]:
    """What is kept of each record: its weight, its risk in these datasets, and its expected
    risk.
    """
    kept: dict[str, Any] = {f"{OURS}risk {context.label}": context.risk}
    if context.label != CONFIDENTIAL:
        kept[f"{OURS}weight {context.label}"] = job.weights(number, context.label)
        if context.mechanism is not None:
            kept[f"{OURS}expected {context.label}"] = context.mechanism.risk.risk
    return kept


def _contexts(
    job: Job, number: int, records: pd.DataFrame, fits: Mapping[str, LightFit], common: Common
) -> Iterator[tuple[Context, Datasets | None]]:
    """The context of every label, the unweighted fit first, against which others are held; with its
    datasets.
    """
    study, subject = job.study, common.subject(job, records)
    world, further = subject.world, _further(subject, records)
    rng = np.random.default_rng(0)  # no tally draws any
    yield Context(CONFIDENTIAL, subject, (records,), rng, risk=subject.confidential_risk), None
    baseline: Context | None = None
    weighing = job.world(records, weighing=True)
    for label in sorted(fits, key=lambda name: name != UNWEIGHTED):
        fit = fits[label].on(records, job.weights(number, label), weighing, study.weights.making)
        datasets = draw_bucket(job, number, label, fit)
        paired = world.pair(datasets, further)
        risk, matched = mean_risk_and_matches(paired)
        seed = job.seed("evaluate", label, number)
        mechanism = find_mechanism(label, fit, world, study.evaluation.measures, seed)
        rival = None if baseline is None else Rival(UNWEIGHTED, baseline.risk, baseline.mechanism)
        context = Context(
            label,
            subject,
            paired.frames,
            rng,
            fit=fit,
            mechanism=mechanism,
            paired=paired,
            risk=risk,
            matched=matched,
            baseline=rival,
        )
        yield context, datasets
        baseline = context if label == UNWEIGHTED else baseline


def _further(subject: Subject, records: pd.DataFrame) -> list[str]:
    """The columns that the evaluation reads besides the scenario's."""
    return [name for name in subject.columns if name in records]


@dataclass(frozen=True, eq=False)
class Question:
    """What buckets are told for another look, by label and table. Confidential: it says where
    single risks lie.
    """

    told: Mapping[tuple[str, str], Mapping[Any, Any]] = field(repr=False)


def again_bucket(
    job: Job, number: int, common: Common, question: Question
) -> dict[tuple[str, str], by_parts.Tallies]:
    """What a bucket tells when its datasets and its records' risk are looked at again."""
    told = question.told
    records = job.records(number)
    kept = pd.read_parquet(part_file(job.result / "confidential" / "records", number))
    subject, rng, found = common.subject(job, records), np.random.default_rng(0), {}
    further = _further(subject, records)
    labels = dict.fromkeys(label for label, _ in told if label != CONFIDENTIAL)
    paired = {
        label: subject.world.pair(drawn_of(job, number, label, records), further)
        for label in labels
    }
    for (label, table), asked in told.items():
        of_label = paired.get(label)
        frames = (records,) if of_label is None else of_label.frames
        context = Context(
            label,
            subject,
            frames,
            rng,
            paired=of_label,
            risk=kept[f"{OURS}risk {label}"].to_numpy(),
        )
        found[label, table] = by_parts.again(context, asked, job.study.variables, table)
    return found
