"""The chains: the one file that drives nutpie."""

import copy
import ctypes
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_limits

from riskweighted.common.extras import late
from riskweighted.common.interrupts import interrupts_kept
from riskweighted.common.jit import worker_threads
from riskweighted.contract.synthesizer import Density
from riskweighted.sampling.laplace import Coordinates, NonCentredCoordinates, begun_at_modes
from riskweighted.sampling.sampling_settings import Sampling

__all__ = [
    "LOG_LIKELIHOOD",
    "SHORT_STEPS",
    "Chains",
    "DensityDraws",
    "Progress",
    "begun_near",
    "graph_density",
    "graph_parameters",
    "run_chains",
    "run_density",
    "share_of",
]

Progress = Callable[[int, int], None]  # draws done, draws in all
_JITTER = 0.1  # about a place where chains begin, in unconstrained coordinates
_LOOK_EVERY = 0.5  # seconds between two looks for what nutpie swallowed
_TARGET, SHORT_STEPS = 0.8, 0.95  # acceptance; and of a graph whose chains diverged
# of a compiled density: where the data hold it, and where all that is scaled is left to its prior
_ROUND_TARGET, _PRIOR_TARGET = 0.7, 0.9
_SHORTER = 0.3  # of what a target lacks to 1, for a density whose chains diverged
_TRIES = 3
# doublings of a trajectory at most: 7 steps, enough in round coordinates (METHODS section 5), and
# as many as it takes
_FAR, _LONG = 3, 10
_LARGE_TARGET = 0.85  # whose steps are so short that 7 of them do not go far
_SLOW = 0.1  # effective draws of a chain for each that it made
_FEWEST = 4  # draws of which anything can be told
# seconds of a gradient for each chain at a time: of shorter ones chains wait for each other longer
# than they gain
_ALONE = 3.5e-4
_TRIED = 3  # gradients that are timed
LOG_LIKELIHOOD = "log_pseudo_likelihood"  # of a compiled PyMC model, draw by draw
_VECTOR = "vector"
_POINTER = ctypes.POINTER(ctypes.c_double)


class Chains(NamedTuple):
    """What nutpie drew: the variables by (chain, draw), the log density there (chains, draws),
    ``diverging`` and ``energy`` there.
    """

    posterior: xr.Dataset
    heights: np.ndarray
    stats: xr.Dataset


class DensityDraws(NamedTuple):
    """Draws of a density of our own: vectors (chains, draws, d), the log density there (chains,
    draws), and `Chains.stats`.
    """

    vectors: np.ndarray
    heights: np.ndarray
    stats: xr.Dataset


def run_chains(
    compiled: Any,
    sampling: Sampling,
    random_seed: int | None,
    progress: Progress | None,
    target_accept: float = _TARGET,
    doublings: int = _LONG,
) -> Chains:
    """Sample with nutpie; BLAS is held to one thread, which the chains need for themselves and sums
    need to repeat.
    """
    seed = int(np.random.SeedSequence(random_seed).generate_state(1, np.uint32)[0])
    raised: list[BaseException] = []
    if progress is not None:
        compiled = _reporting(compiled, sampling.cores or 1, progress, raised)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = late("nutpie").sample(
            compiled,
            draws=sampling.draws,
            tune=sampling.tune,
            chains=sampling.chains,
            cores=sampling.cores,
            seed=seed,
            target_accept=target_accept
            if sampling.target_accept is None
            else sampling.target_accept,
            maxdepth=doublings,
            progress_bar=False,
            save_warmup=False,
            blocking=False,
        )
        trace = _wait(sampler, raised)
    posterior, stats = (
        group.to_dataset() if hasattr(group, "to_dataset") else group
        for group in (trace.posterior, trace.sample_stats)
    )
    constrained = posterior[[name for name in posterior.data_vars if not str(name).endswith("__")]]
    stats = stats.sortby("chain")
    told = xr.Dataset(
        {name: (("chain", "draw"), stats[name].values) for name in ("diverging", "energy")}
    )
    return Chains(constrained.sortby("chain").drop_attrs(), stats["logp"].values, told)


def run_density(
    density: Density,
    size: int,
    sampling: Sampling,
    random_seed: int,
    progress: Progress | None,
    coordinates: Coordinates | NonCentredCoordinates | None = None,
    *,
    short: bool = False,
) -> DensityDraws:
    """Sample a log density of our own that has no parts, in the coordinates of its Hessian at the
    mode, or in those that are given.

    `short`: along short ways alone, whatever comes of it.
    """
    places = np.zeros((1, size))
    with threadpool_limits(1):
        if coordinates is None:
            coordinates, places = begun_at_modes(density, size)
        at_once = _side_by_side(coordinates, places[0], sampling)
    model = _density_model(coordinates, places)
    if short:
        drawn = run_chains(
            model, at_once, random_seed, progress, _target(coordinates.prior_share), _FAR
        )
    else:
        drawn = _run_part(
            model, len(places), coordinates.prior_share, at_once, random_seed, progress
        )
    vectors = drawn.posterior[_VECTOR].values
    return DensityDraws(vectors, drawn.heights - coordinates.log_volume(vectors), drawn.stats)


def _side_by_side(density: Density, place: np.ndarray, sampling: Sampling) -> Sampling:
    """As many chains at a time as gain by it, where no number is asked for: what is no kernel
    Python lets one of them do at a time.
    """
    if sampling.cores is not None:
        return sampling
    shortest = np.inf
    for _ in range(_TRIED):
        began = time.perf_counter()
        density(place)
        shortest = min(shortest, time.perf_counter() - began)
    most = min(sampling.chains, worker_threads())
    return replace(sampling, cores=int(min(max(shortest / _ALONE, 1), most)))


def _run_part(
    model: Any,
    modes: int,
    prior_share: float,
    sampling: Sampling,
    seed: int,
    progress: Progress | None,
) -> Chains:
    """`run_chains`, anew with longer trajectories where a chain moved slowly, and with shorter
    steps where chains diverged.

    In round coordinates few steps lead to where a draw, and its square, know least of where they
    began; where the density is not round, as one of several modes is not, a chain must go farther.
    A target that is given is kept to.
    """
    given, shorter = sampling.target_accept, 0
    target = _target(prior_share)
    doublings = (
        _FAR if modes == 1 and (target if given is None else given) <= _LARGE_TARGET else _LONG
    )
    for number in count():
        drawn = run_chains(
            model,
            sampling,
            seed + number,
            progress,
            1 - (1 - target) * _SHORTER**shorter,
            doublings,
        )
        if drawn.stats["diverging"].any() and given is None and shorter < _TRIES - 1:
            shorter, doublings = shorter + 1, _LONG
        elif doublings == _FAR and _slow(drawn.posterior[_VECTOR].values):
            doublings = _LONG
        else:
            break
    return drawn


def _target(prior_share: float) -> float:
    """The acceptance that is aimed at in round coordinates where the prior has this share in what
    is known.
    """
    return _ROUND_TARGET + (_PRIOR_TARGET - _ROUND_TARGET) * prior_share


def _slow(vectors: np.ndarray) -> bool:
    """Whether a parameter of vectors (chains, draws, d) moves so slowly in a chain that its draws
    are worth few.
    """
    if vectors.shape[1] < _FEWEST:
        return False
    ess = late("arviz").ess
    with np.errstate(all="ignore"):
        worth = [
            float(ess(values[None], method="mean")) if np.ptp(values) else 0.0
            for chain in vectors
            for values in chain.T
        ]
    return bool(min(worth) < _SLOW * vectors.shape[1])


def share_of(progress: Progress, number: int, parts: int) -> Progress:
    """Progress of one of several parts or blocks, as a share of all."""
    return lambda done, total: progress(number * total + done, parts * total)


def _density_model(coordinates: Coordinates | NonCentredCoordinates, places: np.ndarray) -> Any:
    """A model for nutpie of one log density, in round coordinates; chains begin about one of the
    places (S, d) there.
    """
    size = places.shape[1]

    def begin(seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        place = places[rng.integers(len(places)) if len(places) > 1 else 0]
        return np.asarray(place + rng.uniform(-1, 1, size))

    return late("nutpie.compiled_pyfunc").from_pyfunc(
        size,
        lambda: coordinates,
        lambda *seeds: lambda w: {_VECTOR: coordinates.vector(w)},
        [np.dtype(float)],
        [(size,)],
        [_VECTOR],
        make_initial_point_fn=begin,
    )


def graph_density(compiled: Any) -> Density:
    """What was compiled of a PyMC model for the sampler: from its unconstrained vector (d,) to the
    log density and its gradient (d,).
    """
    call = compiled.compiled_logp_func.ctypes

    def density(vector: np.ndarray) -> tuple[float, np.ndarray]:
        held = np.ascontiguousarray(vector, dtype=float)
        height = np.zeros(1)
        slope = np.zeros(len(vector))
        arrays = (array.ctypes.data_as(_POINTER) for array in (held, slope, height))
        failed = call(len(held), *arrays, compiled.user_data.ctypes.data)
        return (-np.inf if failed else float(height[0])), slope

    return density


def begun_near(compiled: Any, places: np.ndarray) -> Any:
    """The same compiled PyMC model, its chains begun each about one of the places (S, d) of its
    unconstrained vector.
    """

    def begin(seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        place = places[rng.integers(len(places)) if len(places) > 1 else 0]
        return np.asarray(place + _JITTER * rng.standard_normal(len(place)))

    return replace(compiled, initial_point_func=begin)


def graph_parameters(compiled: Any) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
    """From unconstrained vectors (S, d) of a compiled PyMC model to what a fit holds of them: its
    variables by name, each (S, ...).
    """
    call = compiled.compiled_expand_func.ctypes
    layout = list(zip(*compiled.shape_info, strict=True))

    def parameters(vectors: np.ndarray) -> dict[str, np.ndarray]:
        expanded = np.zeros((len(vectors), compiled.n_expanded))
        for vector, row in zip(np.ascontiguousarray(vectors, dtype=float), expanded, strict=True):
            call(
                len(vector),
                len(row),
                vector.ctypes.data_as(_POINTER),
                row.ctypes.data_as(_POINTER),
                compiled.user_data.ctypes.data,
            )
        named = ((name, expanded[:, place].reshape(-1, *shape)) for name, place, shape in layout)
        return {
            name: values
            for name, values in named
            if not name.endswith("__") and name != LOG_LIKELIHOOD
        }

    return parameters


def _wait(sampler: Any, raised: list[BaseException]) -> Any:
    """The finished trace. Whatever the progress report raised, and an interrupt wherever it landed,
    stops the chains at once.
    """
    try:
        with interrupts_kept() as check:
            while True:
                try:
                    trace = sampler.wait(timeout=_LOOK_EVERY)
                except TimeoutError:
                    trace = None
                check()
                if raised:
                    raise raised[0]
                if trace is not None:
                    return trace
    except BaseException:
        sampler.cancel()
        raise


def _reporting(compiled: Any, cores: int, progress: Progress, raised: list[BaseException]) -> Any:
    """The same model, of which nutpie reports the draws done, twice a second; it offers that to
    notebooks only, so we hand it our own.

    nutpie prints what its callback raises and goes on, so we keep it in `raised`.
    """

    def report(text: str) -> None:
        try:
            done, total = text.split("/")
            progress(int(done), int(total))
        except BaseException as error:
            raised.append(error)

    def make_sampler(*arguments: Any) -> Any:
        return original(
            *(bars if isinstance(argument, type(bars)) else argument for argument in arguments)
        )

    kinds = late("nutpie")._lib.ProgressType
    bars = kinds.template_callback(
        500, "{{ total_finished_draws }}/{{ total_draws }}", cores, report
    )
    original, reporting = compiled._make_sampler, copy.copy(compiled)
    object.__setattr__(reporting, "_make_sampler", make_sampler)
    return reporting
