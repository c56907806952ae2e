"""What a run takes: a small piece of each of its steps is done and timed here, and multiplied by
how often the run does it.

Seconds are those of the machine at hand. What is known beforehand are counts, of gradients above
all; they were measured, and are the same on any machine. Steps that grow with the records are tried
on some of them, with parameters in the place of a fit's.
"""

import io
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
import pandas as pd
import xarray as xr
from threadpoolctl import threadpool_limits

from riskweighted.common.datasets import Datasets
from riskweighted.common.resources import memory_peak
from riskweighted.contract.synthesizer import Density
from riskweighted.contract.vector_layout import as_posterior, layout_of
from riskweighted.data.csv_text import CsvTable
from riskweighted.disclosure.own_fit import COPIES, how_many
from riskweighted.disclosure.own_folds import K
from riskweighted.disclosure.refits import can_refit
from riskweighted.evaluation.evaluate import evaluate_world
from riskweighted.evaluation.fit_check import check_fit, draws_for
from riskweighted.evaluation.mechanism import find_mechanism
from riskweighted.intruder.world import World, make_world
from riskweighted.runs.disclosure_stage import (
    attribution_of_label,
    hidden_predictor_table,
    weighting_of,
)
from riskweighted.runs.sample_checks import sample_size
from riskweighted.runs.study import Study
from riskweighted.runs.work import Work
from riskweighted.sampling.block_fit import BlockFit, PreparedModel
from riskweighted.sampling.compilation import compile_prepared
from riskweighted.sampling.convergence import no_diagnostics
from riskweighted.sampling.laplace import Coordinates, ScaleMixtureDensity, parts_of
from riskweighted.sampling.sampling_settings import NUTS
from riskweighted.sequence.alphas import alphas_of
from riskweighted.sequence.blocks import PreparedSequence
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.prepare import prepare_sequence, sequence_of
from riskweighted.weights.scheme_names import UNWEIGHTED

__all__ = ["RunEstimate", "estimate_run"]

_ROWS = 10_000  # on which steps are tried
_DRAWS, _WALK = 20, 100  # tried; and what a run makes of expected risk
_STAND_IN = 40  # draws of what stands in for a fit: as few as disclosure is judged of
_LEAST = 0.05  # seconds that are timed
# Counts of gradients, measured at 10^3 to 10^6 records
_ROUND = 7  # an iteration of chains in round coordinates
# in those of a mixture (7, or 40 where one must go far); of few records chains run again
_COMPONENTS, _COMPONENTS_OF_FEW = 15, 40
_FEW = 30  # records for each parameter
# for each parameter, to find the mode; and to find it from several places
_SEARCH, _SEARCH_FROM_STARTS = 4.5, 18
_PROPOSED_NEAR = 2000  # the proposals with the shift of their centre
# Of a model that has a graph alone, which nothing can be timed of before it is compiled
_COMPILING, _PER_DENSITY, _OF_GRAPH = 20.0, 3e-8, 20
# Numbers that are held of every record: expected risk of a label, by block of draws and summed up;
# and while a label is measured
_OF_LABEL, _WORKING = 26, 60
_WRITTEN, _TABLES = 18, 1e5  # bytes of a number in a table by record; of tables of aggregates

Made = TypeVar("Made")


@dataclass(frozen=True)
class RunEstimate:
    """What a run takes, within a factor of two of what was measured (`benchmarks/estimates.py`):
    processor seconds by step, bytes of ``memory`` at the peak and written to ``disk``.
    """

    seconds: Mapping[str, float]
    memory: float
    disk: float

    @property
    def total(self) -> float:
        """Processor seconds of the run."""
        return sum(self.seconds.values())


def estimate_run(work: Work) -> RunEstimate:
    """Time, memory and disk of a run of a checked study, without what a choice of the model or the
    search for a target adds.

    Some seconds, of which a tenth to a half is a gradient of all records, compiled where it was not
    before.
    """
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # whatever is the matter with parameters that stand in
        models = [block.model for block in work.prepared().blocks]
        seconds = {
            "compiling": _compiling(work, models),
            "fitting": sum(_fitting(work, model) for model in models),
        }
        some = _some(work)
        share = len(work.confidential) / len(some.world.confidential)
        further, written = _after(some, share)
        if some.fit is not None and some.fit.estimates and not some.fit.keeps_true_values:
            looked = len(work.confidential)
            if work.rows is not None and looked > 2 * sample_size(work.study):
                looked = sample_size(work.study)
            of_looked = looked / len(some.world.confidential)
            further |= _disclosing(work, some, some.fit, of_looked, seconds | further)
    posteriors = _posteriors(work, some.fit)
    return RunEstimate(
        seconds | further, memory_peak() + _held(work) + posteriors, written + posteriors + _TABLES
    )


# -- fits


def _compiling(work: Work, models: list[PreparedModel]) -> float:
    """Of all blocks as of the first; numba keeps what it made on disk."""
    blueprint = models[0].build()
    if blueprint is None:
        return 0.0
    if blueprint.of_vector is None or work.study.guarantee is not None:
        return _COMPILING * len(models)
    began = time.process_time()
    compile_prepared(models[0])
    return (time.process_time() - began) * len(models)


def _fitting(work: Work, model: PreparedModel) -> float:
    """All schemes of one model."""
    study, blueprint, sampling = work.study, model.build(), work.study.sampling
    if blueprint is None:
        return 0.0
    iterations = sampling.chains * (sampling.draws + sampling.tune)
    if blueprint.of_vector is None or study.guarantee is not None:
        return (
            len(study.weights.schemes)
            * iterations
            * _OF_GRAPH
            * blueprint.density_terms
            * _PER_DENSITY
        )
    weights = model.weights(pd.Series(1.0, model.confidential.index)).to_numpy()
    began = time.process_time()
    density, size = blueprint.of_vector(weights), layout_of(blueprint).size
    made = time.process_time() - began
    few, near = len(weights) < _FEW * size, sampling.engine != NUTS and blueprint.exact is None
    each = sum(
        _near(part, width)
        if near and getattr(part, "starts", None) is None
        else _by_chains(part, width, iterations, few)
        for width, part in parts_of(density, size)
    )
    return len(study.weights.schemes) * (2 * made + each)


def _by_chains(density: Density, size: int, iterations: int, few: bool) -> float:
    """The search for the mode, and the chains."""
    of_iteration = _ROUND
    if isinstance(density, ScaleMixtureDensity) and density.starts is not None:
        of_iteration = _COMPONENTS_OF_FEW if few else _COMPONENTS
    of_search = size * (
        _SEARCH if getattr(density, "starts", None) is None else _SEARCH_FROM_STARTS
    )
    if getattr(density, "rough", None) is not None:
        of_search = size * _SEARCH  # what is left of it once a share of the records was searched
    return (of_search + of_iteration * iterations) * _gradient(density, size)


def _near(density: Density, size: int) -> float:
    """The search for the mode, the shift of the centre, and the proposals, of which the fewest
    often suffice.
    """
    return (size * _SEARCH + _PROPOSED_NEAR) * _gradient(density, size)


def _gradient(density: Density, size: int) -> float:
    """One of all records, in coordinates as of the sampler."""
    coordinates, zero = Coordinates(density, np.zeros(size), np.eye(size)), np.zeros(size)
    return _timed(lambda: coordinates(zero))


def _timed(make: Callable[[], object]) -> float:
    """Processor seconds of one call; the first one, which may compile a kernel, does not count."""
    make()
    began, calls = time.process_time(), 0
    while calls == 0 or time.process_time() - began < _LEAST:
        make()
        calls += 1
    return (time.process_time() - began) / calls


# -- what comes after the fits


@dataclass(frozen=True)
class _Some:
    """Some of the records, and what stands in for a fit to them; None where only a compiled graph
    gives one.
    """

    study: Study
    world: World
    fit: Fit | None


def _some(work: Work) -> _Some:
    """`_ROWS` of the records, or all."""
    world, model, data = work.world(), work.prepared(), work.fitted
    if len(data) > _ROWS or work.rows is not None:
        data = data.sample(min(_ROWS, len(data)), random_state=0).sort_index()
        world = make_world(data, replace(world.scenario, singletons="protect"), world.units)
        survey = None if model.survey is None else model.survey[data.index]
        if model.of_one:
            block = model.blocks[0].model
            model = sequence_of(
                PreparedModel(block.synthesizer, data, block.prepared.at(data), survey)
            )
        else:
            model = prepare_sequence(work.study.make_synthesizer(), data, work.study.weights.survey)
    fit = _stand_in(model)
    drawing = work.study.release.drawing
    return _Some(work.study, world, None if fit is None else fit.with_drawing(drawing))


def _stand_in(prepared: PreparedSequence) -> Fit | None:
    """A fit whose draws all lie where the vector of the density is 0: what is drawn and measured of
    it takes as long as of any other.
    """
    fits = {block.name: _block_stand_in(block.model) for block in prepared.blocks}
    given = {name: fit for name, fit in fits.items() if fit is not None}
    return (
        Fit(prepared, alphas_of(prepared.variables, None, prepared.confidential.index), given, 0)
        if len(given) == len(fits)
        else None
    )


def _block_stand_in(model: PreparedModel) -> BlockFit | None:
    blueprint, alpha = model.build(), pd.Series(1.0, model.confidential.index, name="alpha")
    posterior = xr.Dataset(coords={"chain": [0], "draw": [0]})
    if blueprint is not None:
        if blueprint.of_vector is None:
            return None
        layout = layout_of(blueprint)
        posterior = as_posterior(layout, np.zeros((1, _STAND_IN, layout.size)))
    return BlockFit(
        model.synthesizer,
        alpha,
        posterior,
        no_diagnostics(),
        model.confidential,
        model.prepared,
        0,
        survey=model.survey,
    )


def _after(some: _Some, share: float) -> tuple[dict[str, float], float]:
    """Seconds of the steps after the fits, and bytes written; `share`: how many times as many
    records the run has.
    """
    study, world, fit = some.study, some.world, some.fit
    labels = len(study.weights.schemes) + len(study.baselines)
    count = study.release.L
    settings = study.evaluation.measures
    frames, seconds = [world.confidential] * 2, dict[str, float]()
    if fit is not None:
        frames, drawing = _once(lambda: list(fit.synthetic(2, random_seed=0)))
        tried = replace(settings, risk_draws=_DRAWS if fit.estimates else None)
        _, walking = _once(lambda: find_mechanism("", fit, world, tried, 0))
        _, checking = _once(
            lambda: check_fit(fit, scenario=world.scenario, draws=_DRAWS, random_seed=0)
        )
        draws = settings.risk_draws or _WALK
        seconds = {
            "drawing": labels * count * drawing / 2,
            "expected risk": labels * walking * (draws / _DRAWS if fit.estimates else 1),
            "comparing with the data": labels * checking * draws_for(len(fit.variables)) / _DRAWS,
        }
    measure = partial(
        evaluate_world,
        settings=settings,
        analysis=None,
        mechanisms={},
        unaltered=study.unaltered(world.confidential),
        random_seed=0,
    )
    _, of_one = _once(lambda: measure(world, {"": frames[:1]}))
    _, of_two = _once(lambda: measure(world, {"": frames}))
    seconds["measuring"] = labels * (of_one + (count - 1) * max(of_two - of_one, 0.0))
    written, writing = _once(lambda: _text(frames, study))
    seconds["writing"] = labels * count * writing
    numbers = _WRITTEN * (1 + 3 * labels * len(study.variables)) * len(world.confidential)
    return {step: share * taken for step, taken in seconds.items()}, share * (
        labels * count * written + numbers
    )


def _disclosing(
    work: Work, some: _Some, fit: Fit, share: float, before: Mapping[str, float]
) -> dict[str, float]:
    """Seconds of what the datasets give away beyond inference, and of the fits without a fold where
    it takes any.

    `before`: seconds of other steps. A copy of a dataset takes what it takes to draw one and to
    find the probabilities of its balls.
    """
    study, world, schemes, L = (  # noqa: N806
        work.study,
        some.world,
        work.study.weights.schemes,
        work.study.release.L,
    )
    labels = len(schemes) + len(study.baselines)
    of_copy = (
        before["drawing"] / L
        + before["expected risk"] / (study.evaluation.measures.risk_draws or _WALK)
    ) / labels
    seed = work.streams.seed_for("synthesize", UNWEIGHTED)
    drawn = Datasets.of(
        world.confidential,
        fit.synthetic(L, random_seed=seed),
        study.altered,
    )
    worlds = world, world.under(replace(study.weighting_scenario(), singletons="protect"))
    began = time.process_time()
    attribution_of_label(UNWEIGHTED, study, fit, worlds, drawn, work.streams, refits=0)
    attributing = share * (time.process_time() - began)
    began = time.process_time()
    list(hidden_predictor_table(UNWEIGHTED, study, fit, drawn, work.streams))
    telling = time.process_time() - began
    copies = how_many(COPIES, study.sampling.chains * study.sampling.draws, len(work.confidential))
    each = max(attributing - _STAND_IN * of_copy, 0.0) + telling
    weightings = [weighting_of(scheme, study, worlds[1]) for scheme in schemes]
    if fit.prepared.scores:  # folds in the place of copies
        folds = sum(can_refit(weighting) for weighting in weightings)
        anew = (before["compiling"] + before["fitting"]) / len(schemes)
        found = len(schemes) * each + (len(schemes) - folds) * copies * of_copy
        return {
            "disclosure": found,
            "fits without a fold": folds * K * (anew + before["drawing"] / labels),
        }
    return {"disclosure": len(schemes) * (each + copies * of_copy)}


def _text(frames: list[pd.DataFrame], study: Study) -> int:
    """How long a dataset is as it would be written; of the formats of other packages, as a csv."""
    columns = study.released(frames[0])
    if study.release.format == "parquet":
        file = io.BytesIO()
        frames[0][columns].to_parquet(file)
        return len(file.getvalue())
    chunks = CsvTable(frames[0][columns], list(study.altered)).chunks(frames[0][columns])
    return (
        sum(map(len, chunks))
        if chunks is not None
        else len(frames[0][columns].to_csv(index=False).encode())
    )


def _once(make: Callable[[], Made]) -> tuple[Made, float]:
    """What a call gives, and its processor seconds the second time: the first may compile
    kernels.
    """
    make()
    began = time.process_time()
    return make(), time.process_time() - began


def _posteriors(work: Work, fit: Fit | None) -> float:
    """Bytes of the draws of all schemes."""
    sampling, fits = work.study.sampling, [] if fit is None else list(fit.blocks.values())
    of_draw = sum(fitted.posterior.nbytes for fitted in fits) / _STAND_IN
    return len(work.study.weights.schemes) * sampling.chains * sampling.draws * of_draw


def _held(work: Work) -> float:
    """Bytes that a run holds beyond these and what it has checked: datasets, expected risk, and
    what one label is measured with.
    """
    study = work.study
    labels = len(study.weights.schemes) + len(study.baselines)
    datasets = study.release.L * len(study.variables)
    return (
        8.0 * (labels * (datasets + _OF_LABEL) + 3 * datasets + _WORKING) * len(work.confidential)
    )
