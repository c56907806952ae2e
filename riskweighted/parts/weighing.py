"""Weights and confidential risk of a bucket's records, which depend on their known patterns alone;
and what the target holds.
"""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.atomic import whole_file
from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.parts.counting import Values, values_of
from riskweighted.parts.fitting import LightFit
from riskweighted.parts.job import Job
from riskweighted.parts.regressions import witnesses_by_formula
from riskweighted.risk.identification import confidential_risk
from riskweighted.weights.match import world_weights
from riskweighted.weights.schemes import scheme_source

__all__ = ["Weighed", "risk_file", "save", "weigh_bucket", "weigh_by_fit"]


class Weighed(NamedTuple):
    """Of a bucket: the ``values`` of the target, the sum of the weights by scheme, and records of
    which each regression of the evaluation is read. Confidential."""

    values: Values
    sums: dict[str, float]
    witnesses: dict[str, pd.DataFrame]


def risk_file(job: Job, number: int) -> Path:
    """Where IR^c of a bucket's records is kept, (n,)."""
    return job.folder / "weights" / f"{number:06d}-risk.npy"


def weigh_bucket(job: Job, number: int) -> Weighed:
    """Weights of the schemes that are made of the data alone, and IR^c, which are kept in files."""
    records = job.records(number)
    with warnings.catch_warnings():
        # of single patterns and flat weights, which are told of the whole file
        warnings.simplefilter("ignore", RiskWeightedWarning)
        save(risk_file(job, number), confidential_risk(job.world(records)).to_numpy())
        schemes = [scheme for scheme in job.study.weights.schemes if scheme_source(scheme) is None]
        return Weighed(
            values_of(records, job.target),
            _weigh(job, number, records, schemes, {}),
            witnesses_by_formula(job, records),
        )


def weigh_by_fit(
    job: Job, number: int, schemes: Sequence[str], fits: Mapping[str, LightFit]
) -> dict[str, float]:
    """Weights of schemes that are made of the fits of others, by scheme; returns their sums."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)
        return _weigh(job, number, job.records(number), schemes, fits)


def _weigh(
    job: Job,
    number: int,
    records: pd.DataFrame,
    schemes: Sequence[str],
    fits: Mapping[str, LightFit],
) -> dict[str, float]:
    world, sums = job.world(records, weighing=True), dict[str, float]()
    for scheme in schemes:
        source = scheme_source(scheme)
        fit = None if source is None else fits[source].on(records, job.weights(number, source))
        alpha = world_weights(world, scheme, fit=fit, **job.study.weights.making)[
            job.target
        ].to_numpy()
        save(job.weights_file(number, scheme), alpha)
        sums[scheme] = float(alpha.sum())
    return sums


def save(path: Path, values: np.ndarray) -> None:
    """Write numbers of the records to a file of their owner's only."""
    with whole_file(path, private=True) as unfinished, unfinished.open("wb") as handle:
        np.save(handle, values)
