"""The clause of counted rows: what is found of them, and their likelihood, are those of the file
that they stand for.
"""

from typing import Any

import numpy as np

from riskweighted.common.errors import InputError
from riskweighted.conformance.clauses import Skipped, Trial, close, needs_likelihood, require
from riskweighted.contract.synthesizer import takes_counts
from riskweighted.sampling.graphs import compile_weighted_sum
from riskweighted.sampling.isolation import near_start

__all__ = ["counts_replicate"]


def counts_replicate(trial: Trial) -> None:
    """Rows with how many records each stands for are prepared as the file in which each is repeated
    so often.
    """
    needs_likelihood(trial)
    if not takes_counts(trial.synthesizer):
        raise Skipped("prepare has no parameter counts, which is optional")
    counts = np.random.default_rng(12).integers(1, 5, trial.n)
    records = trial.data.iloc[np.repeat(np.arange(trial.n), counts)].reset_index(drop=True)
    prepare: Any = trial.synthesizer.prepare
    try:
        counted = prepare(trial.data, counts=counts)
    # a model that it holds takes none, or its formula looks at every record
    except InputError as error:
        raise Skipped(str(error)) from None
    whole = trial.synthesizer.prepare(records)
    blueprint, of_file = trial.synthesizer.build(counted), trial.synthesizer.build(whole)
    assert blueprint is not None
    assert of_file is not None
    shapes = [
        {name: np.shape(value) for name, value in made.model.initial_point().items()}
        for made in (blueprint, of_file)
    ]
    require(
        shapes[0] == shapes[1],
        trial,
        "prepare of counted rows must find the parameters of the file that they stand for",
    )
    theta = near_start(blueprint)[1]
    terms = trial.terms(theta, counted.at(records), records)
    same = close(terms, trial.terms(theta, whole, records))
    require(
        same,
        trial,
        "prepare of counted rows must find what it finds of the file that they stand for: "
        "log_density differs",
    )
    total = compile_weighted_sum(trial.synthesizer, blueprint, trial.n)(theta, counts.astype(float))
    near = abs(total - terms.sum()) <= 1e-6 * (np.abs(terms).sum() + 1e-3)
    require(near, trial, "a row that stands for k records must count as k of them")
