"""What is asked of the records that are looked at: what each release gives away, and whether each
fit suits the data.
"""

import warnings
from collections.abc import Mapping

import numpy as np
import pandas as pd

from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.disclosure.anew import Weighting
from riskweighted.disclosure.attribution import attribution_of_fit
from riskweighted.disclosure.setting import Asked
from riskweighted.evaluation.fit_check import check_fit
from riskweighted.measures.context import Ratios
from riskweighted.parts.fitting import LightFit
from riskweighted.parts.gather import ORDER
from riskweighted.parts.job import Job
from riskweighted.parts.looking import STANDS_FOR, Looked, drawn_apart, join_looked
from riskweighted.parts.regressions import Regressions
from riskweighted.runs.beyond import Disclosed
from riskweighted.weights.match import world_weights
from riskweighted.weights.names import UNWEIGHTED
from riskweighted.weights.schemes import scheme_source

__all__ = ["check_looked", "disclose_looked", "ratios_looked"]

# records at most that are left out by a fit of their own, of a file that is looked at whole
_REFITS = 3
_OF_RATIOS = 20_000  # records on which ratios of variances are found


def disclose_looked(
    job: Job, label: str, fits: Mapping[str, LightFit], looked: list[Looked]
) -> Disclosed:
    """What the datasets of a label give away beyond inference, measured on the records that are
    looked at.

    Their weights are made anew of their own known patterns, so that those of the others can be
    without a record. The records concerned are told by their identifier, or by their place among
    all records.
    """
    study, records = job.study, join_looked(looked)[0]
    data, drawn = drawn_apart(records, label, job.target)
    world, weighing = job.world(data), job.world(data, weighing=True)
    total = job.gathered.records
    asked = Asked(
        study.unaltered(data),
        survey=None if (data[STANDS_FOR] == 1).all() else STANDS_FOR,
        settings=study.release.disclosure,
        shuffled=study.release.shuffle,
        of=None if len(data) == total else total,
    )
    weighting = Weighting(label, world=weighing, **study.weights.making)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)  # told of the whole file
        source = scheme_source(label)
        made_of = None if source is None else fits[source].on(data, np.ones(len(data)))
        alpha = world_weights(weighing, label, fit=made_of, **study.weights.making)[
            job.target
        ].to_numpy()
        held = fits[label].on(data, alpha, weighing, study.weights.making)
        seed = job.streams.seed_for("disclosure", "")
        places = held.places(len(drawn), random_seed=job.streams.seed_for("synthesize", label))
        refits = _REFITS if len(data) == total else 0
        table = attribution_of_fit(
            held,
            world,
            asked,
            [drawn],
            weighting=weighting,
            refits=refits,
            places=places,
            random_seed=seed,
        )
        disclosed = Disclosed.of(label, study, held, drawn, job.streams, table)
        concerned = disclosed.concerned
        return disclosed._replace(
            concerned=concerned.assign(row=data[ORDER].to_numpy()[concerned["row"].astype(int)])
        )


def check_looked(job: Job, label: str, fit: LightFit, looked: list[Looked]) -> pd.DataFrame:
    """The rows of `check_fit` of a label, on records taken at random."""
    study, records = job.study, join_looked(looked)[1]
    names = [*study.unaltered(records), *study.synthesizer.columns, *study.variables]
    others = [
        str(name)
        for name in records
        if name in names and pd.api.types.is_numeric_dtype(records[name].dtype)
    ]
    weighing = job.world(records, weighing=True)
    # a fit that is weighted is not judged
    alpha = np.full(len(records), 1.0 if label == UNWEIGHTED else 0.5)
    held = fit.on(records, alpha, weighing, study.weights.making)
    return check_fit(
        held,
        scenario=job.world(records).scenario,
        others=others,
        random_seed=job.streams.seed_for("check", label),
    )


def ratios_looked(
    job: Job, label: str, fit: LightFit, looked: list[Looked], regressions: Regressions
) -> pd.DataFrame:
    """What the centred weights of a label cost the variance of estimates, on records taken at
    random.
    """
    study, records = job.study, join_looked(looked)[1].iloc[:_OF_RATIOS]
    weighing = job.world(records, weighing=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)
        alpha = world_weights(weighing, label, **study.weights.making)[job.target].to_numpy()
        held = fit.on(records, alpha, weighing, study.weights.making)
    return Ratios(held, regressions.subject(job, records)).table
