"""The chains: the one file that drives nutpie."""

import ctypes
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_limits

from riskweighted.common.interrupts import interrupts_kept
from riskweighted.synthesis.contract import Density
from riskweighted.synthesis.laplace import Coordinates, Independent, round_coordinates
from riskweighted.synthesis.sampling import Sampling

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # ArviZ 0.23 announces ArviZ 1, which we support
    import nutpie
    import nutpie.compiled_pyfunc

__all__ = ["Progress", "begun_near", "graph_density", "graph_parameters", "run_chains", "run_density", "share_of"]

Progress = Callable[[int, int], None]  # draws done, draws in all
_JITTER = 0.1  # about a place where chains begin, in unconstrained coordinates
_LOOK_EVERY = 0.5  # seconds between two looks for what nutpie swallowed
_TARGET = 0.8  # acceptance
_ROUND_TARGET, _PRIOR_TARGET = 0.7, 0.9  # of a compiled density: where the data hold it, and where all that is scaled is left to its prior
_SHORTER = 0.3  # of what a target lacks to 1, for a density whose chains diverged
_TRIES = 3
_POINTER = ctypes.POINTER(ctypes.c_double)


def run_chains(
    compiled: Any, sampling: Sampling, random_seed: int | None, progress: Progress | None, target_accept: float = _TARGET
) -> tuple[xr.Dataset, int]:
    """Sample with nutpie; BLAS is held to one thread, which the chains need for themselves and sums need to repeat."""
    seed = int(np.random.SeedSequence(random_seed).generate_state(1, np.uint32)[0])
    raised: list[BaseException] = []
    if progress is not None:
        _report_to(compiled, sampling.cores or 1, progress, raised)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = nutpie.sample(
            compiled,
            draws=sampling.draws,
            tune=sampling.tune,
            chains=sampling.chains,
            cores=sampling.cores,
            seed=seed,
            target_accept=target_accept if sampling.target_accept is None else sampling.target_accept,
            progress_bar=False,
            save_warmup=False,
            blocking=False,
        )
        trace = _wait(sampler, raised)
    posterior, stats = (group.to_dataset() if hasattr(group, "to_dataset") else group for group in (trace.posterior, trace.sample_stats))
    constrained = posterior[[name for name in posterior.data_vars if not str(name).endswith("__")]]
    return constrained.sortby("chain").drop_attrs(), int(stats["diverging"].sum())


def run_density(
    density: Density, shapes: Mapping[str, tuple[int, ...]], sampling: Sampling, random_seed: int | None, progress: Progress | None
) -> tuple[xr.Dataset, int]:
    """Sample a log density of our own in the coordinates of its Hessian at the mode; independent parts one after the other.

    Parameters
    ----------
    density : callable
        From a vector (d,) to the log density and its gradient (d,).
    shapes : mapping of name to shape
        What the vector holds, end to end.
    """
    parts = density.parts if isinstance(density, Independent) else ((sum(math.prod(shape) for shape in shapes.values()), density),)
    seeds = np.random.SeedSequence(random_seed).generate_state(len(parts), np.uint64)
    left, found, diverging = dict(shapes), [], 0
    for number, ((size, part), seed) in enumerate(zip(parts, seeds, strict=True)):
        own: dict[str, tuple[int, ...]] = {}
        while sum(math.prod(shape) for shape in own.values()) < size:
            name = next(iter(left))
            own[name] = left.pop(name)
        report = None if progress is None else share_of(progress, number, len(parts))
        with threadpool_limits(1):
            coordinates = round_coordinates(part, size)
        posterior, divergences = _run_part(_density_model(coordinates, own), coordinates.prior_share, sampling, seed, report)
        found.append(posterior)
        diverging += divergences
    return xr.merge(found), diverging


def _run_part(model: Any, prior_share: float, sampling: Sampling, seed: np.uint64, progress: Progress | None) -> tuple[xr.Dataset, int]:
    """`run_chains`, anew with shorter steps where chains diverged and no target is given."""
    lacks = 1 - (_ROUND_TARGET + (_PRIOR_TARGET - _ROUND_TARGET) * prior_share)
    for number in range(_TRIES):
        posterior, divergences = run_chains(model, sampling, int(seed) + number, progress, 1 - lacks * _SHORTER**number)
        if divergences == 0 or sampling.target_accept is not None:
            break
    return posterior, divergences


def share_of(progress: Progress, number: int, parts: int) -> Progress:
    """Progress of one of several parts or blocks, as a share of all."""
    return lambda done, total: progress(number * total + done, parts * total)


def _density_model(coordinates: Coordinates, shapes: Mapping[str, tuple[int, ...]]) -> Any:
    """A model for nutpie of one log density, in round coordinates."""
    sizes = [math.prod(shape) for shape in shapes.values()]
    ends = np.cumsum(sizes)

    def named(w: np.ndarray) -> dict[str, np.ndarray]:
        vector = coordinates.vector(w)
        return {name: vector[end - size : end].reshape(shapes[name]) for name, size, end in zip(shapes, sizes, ends, strict=True)}

    return nutpie.compiled_pyfunc.from_pyfunc(
        len(coordinates.centre),
        lambda: coordinates,
        lambda *seeds: named,
        [np.dtype(float)] * len(shapes),
        list(shapes.values()),
        list(shapes),
        make_initial_point_fn=lambda seed: np.random.default_rng(seed).uniform(-1, 1, len(coordinates.centre)),
    )


def graph_density(compiled: Any) -> Density:
    """What was compiled of a PyMC model for the sampler: from its unconstrained vector (d,) to the log density and its gradient (d,)."""
    call = compiled.compiled_logp_func.ctypes

    def density(vector: np.ndarray) -> tuple[float, np.ndarray]:
        held, height, slope = np.ascontiguousarray(vector, dtype=float), np.zeros(1), np.zeros(len(vector))
        arrays = (array.ctypes.data_as(_POINTER) for array in (held, slope, height))
        failed = call(len(held), *arrays, compiled.user_data.ctypes.data)
        return (-np.inf if failed else float(height[0])), slope

    return density


def begun_near(compiled: Any, place: np.ndarray) -> Any:
    """The same compiled PyMC model, its chains begun about a place of its unconstrained vector (d,)."""
    return replace(compiled, initial_point_func=lambda seed: place + _JITTER * np.random.default_rng(seed).standard_normal(len(place)))


def graph_parameters(compiled: Any) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
    """From the unconstrained vector (d,) of a compiled PyMC model to what a fit holds of it: its variables by name."""
    call, layout = compiled.compiled_expand_func.ctypes, list(zip(*compiled.shape_info, strict=True))

    def parameters(vector: np.ndarray) -> dict[str, np.ndarray]:
        held, found = np.ascontiguousarray(vector, dtype=float), np.zeros(compiled.n_expanded)
        call(len(held), len(found), held.ctypes.data_as(_POINTER), found.ctypes.data_as(_POINTER), compiled.user_data.ctypes.data)
        return {name: found[place].reshape(shape) for name, place, shape in layout if not name.endswith("__")}

    return parameters


def _wait(sampler: Any, raised: list[BaseException]) -> Any:
    """The finished trace. Whatever the progress report raised, and an interrupt wherever it landed, stops the chains at once."""
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


def _report_to(compiled: Any, cores: int, progress: Progress, raised: list[BaseException]) -> None:
    """Have nutpie report the draws done, twice a second; it offers that to notebooks only, so we hand it our own.

    nutpie prints what its callback raises and goes on, so we keep it in `raised`.
    """

    def report(text: str) -> None:
        try:
            done, total = text.split("/")
            progress(int(done), int(total))
        except BaseException as error:
            raised.append(error)

    def make_sampler(*arguments: Any) -> Any:
        return original(*(bars if isinstance(argument, type(bars)) else argument for argument in arguments))

    kinds = nutpie._lib.ProgressType
    bars = kinds.template_callback(500, "{{ total_finished_draws }}/{{ total_draws }}", cores, report)
    original = compiled._make_sampler
    object.__setattr__(compiled, "_make_sampler", make_sampler)
