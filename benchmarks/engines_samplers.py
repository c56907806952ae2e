"""The engines: each samples the same posterior and gives draws by name, with the processor seconds
of compiling and of sampling.
"""

import asyncio
import gzip
import json
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.engines_posterior import Posterior
from riskweighted import load_synthesizer
from riskweighted.sampling.sampling_settings import Sampling

__all__ = ["ENGINES", "FREE", "Sampled", "missing"]

_PROGRAM = Path(__file__).with_name("engines.stan")
FREE = ("weight", "centre", "sigma", "slope", "slope_spread", "slope_deviation")
_NEEDS = {"Stan": "httpstan", "numpyro": "numpyro", "numpyro, dense": "numpyro"}
_FUNCTION = "stan::services::sample::hmc_nuts_diag_e_adapt"


class Sampled(NamedTuple):
    """``draws`` by name, each (chains, draws, ...); processor seconds; ``apart``, how far the
    engine's log density differs from ours over some draws, beyond a constant."""

    draws: dict[str, np.ndarray]
    compiling: float
    sampling: float
    apart: float


def missing(engine: str) -> str | None:
    """A line that says how to install what an engine needs, where it is not installed."""
    package = _NEEDS.get(engine)
    return (
        f"{engine} is not installed: pip install {package}"
        if package is not None and find_spec(package) is None
        else None
    )


def _spent() -> float:
    """Processor seconds of this process and of those it has waited for."""
    return sum(os.times()[:4])


def _some(posterior: Posterior, draws: dict[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    """A few draws."""
    chains, count = draws["centre"].shape[:2]
    places = [(chain, draw) for chain in range(chains) for draw in (0, count - 1)]
    return [{name: values[place] for name, values in draws.items()} for place in places]


def _apart(
    posterior: Posterior, thetas: list[dict[str, np.ndarray]], heights: list[float]
) -> float:
    """The range of the differences between log densities and ours."""
    vectors = np.array([posterior.layout.vector(theta) for theta in thetas])
    return float(np.ptp(np.array(heights) - posterior.heights(vectors)))


def ours(posterior: Posterior, sampling: Sampling, seed: int) -> Sampled:
    """The density of the mixture in NumPy and numba kernels, as `fit` samples it."""
    from riskweighted.contract.vector_layout import as_posterior
    from riskweighted.sampling.nuts import run_density

    begun, size = _spent(), posterior.layout.size
    run_density(posterior.density, size, Sampling(draws=5, tune=5, chains=1, cores=1), seed, None)
    compiled = _spent()
    vectors = run_density(
        posterior.blueprint.density(posterior.alpha), size, sampling, seed, None
    ).vectors
    done = _spent()
    drawn = as_posterior(posterior.layout, vectors)
    return Sampled(
        {name: drawn[name].values for name in FREE if name in drawn},
        compiled - begun,
        done - compiled,
        0.0,
    )


def graph(posterior: Posterior, sampling: Sampling, seed: int) -> Sampled:
    """The PyMC model compiled by nutpie, in the coordinates of its geometry: what plug-ins are
    sampled by.
    """
    import pymc as pm

    from riskweighted.sampling.compilation import _compile
    from riskweighted.sampling.graphs import compile_log_prior, compile_weighted_sum
    from riskweighted.sampling.nuts import run_chains

    blueprint = posterior.blueprint
    log_prior = compile_log_prior(blueprint)
    weighted_sum = compile_weighted_sum(
        load_synthesizer("normal-mixture")("y ~ 1"), blueprint, len(posterior.alpha)
    )
    with blueprint.model:
        pm.Potential("weighted_log_likelihood", blueprint.weighted_log_likelihood)
    begun = _spent()
    compiled = _compile(blueprint.model)
    ready = _spent()
    geometry = {} if blueprint.geometry is None else blueprint.geometry(posterior.alpha)
    drawn, _, _ = run_chains(
        compiled.with_data(**blueprint.weigh(posterior.alpha), **geometry), sampling, seed, None
    )
    done = _spent()
    draws = {name: drawn[name].values for name in FREE if name in drawn}
    thetas = _some(posterior, draws)
    heights = [
        log_prior(theta, posterior.alpha) + weighted_sum(theta, posterior.alpha) for theta in thetas
    ]
    return Sampled(draws, ready - begun, done - ready, _apart(posterior, thetas, heights))


def stan(posterior: Posterior, sampling: Sampling, seed: int) -> Sampled:
    """`engines.stan` by httpstan's own functions, without its server: NUTS with a diagonal mass
    matrix, the only one offered.
    """
    from httpstan import cache, models, services_stub

    begun, program = _spent(), _PROGRAM.read_text()
    asyncio.run(models.build_services_extension_module(program))
    compiled, name, data = _spent(), models.calculate_model_name(program), _stan_data(posterior)
    lengths = {"num_warmup": sampling.tune, "num_samples": sampling.draws}
    settings = {
        "data": data,
        "init": {},
        "random_seed": seed,
        "save_warmup": False,
        "refresh": 0,
        **lengths,
    }
    if sampling.target_accept is not None:
        settings["delta"] = sampling.target_accept

    async def run() -> list[str]:
        fits = [f"{name}/fits/chain{chain}" for chain in range(1, sampling.chains + 1)]
        for chain, fit in enumerate(fits, 1):
            await services_stub.call(_FUNCTION, name, fit, chain=chain, **settings)
        return fits

    fits = asyncio.run(run())
    # the processes that sampled have ended, and their time counts
    services_stub.executor.shutdown()
    done = _spent()
    draws = _stan_draws([cache.load_fit(fit) for fit in fits], posterior)
    module, thetas = models.import_services_extension_module(name), _some(posterior, draws)
    places = [module.transform_inits(data, _stan_parameters(theta)) for theta in thetas]
    heights = [module.log_prob(data, place, False) for place in places]
    return Sampled(draws, compiled - begun, done - compiled, _apart(posterior, thetas, heights))


def _stan_data(posterior: Posterior) -> dict[str, Any]:
    """The numbers as httpstan takes them; Stan counts from 1."""
    numbers = posterior.numbers | {"cell": posterior.numbers["cell"] + 1}
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in numbers.items()
    }


def _stan_parameters(theta: dict[str, np.ndarray]) -> dict[str, Any]:
    """Our parameters as those of the program: matrices by column, and a vector of one number for
    one that may be absent.
    """
    found = dict(theta)
    if "slope_spread" in found:
        found |= {
            "slope_spread": np.atleast_1d(theta["slope_spread"]),
            "slope_deviation": theta["slope_deviation"].T,
        }
    return {name: np.asarray(value).tolist() for name, value in found.items()}


def _stan_draws(fits: list[bytes], posterior: Posterior) -> dict[str, np.ndarray]:
    """Draws by name from httpstan's messages, of which those on samples hold every parameter by
    name and place.
    """
    layout, chains = posterior.layout, []
    for text in fits:
        messages = (json.loads(line) for line in gzip.decompress(text).splitlines())
        rows = [
            message["values"]
            for message in messages
            if message["topic"] == "sample" and isinstance(message["values"], dict)
        ]
        rows = [row for row in rows if "lp__" in row]
        chains.append(
            np.array(
                [[value for key, value in row.items() if not key.endswith("__")] for row in rows]
            )
        )
    k, p = layout.components, layout.predictors
    shapes = {"weight": (k,), "centre": (k,), "sigma": (k,)} | ({"slope": (p,)} if p else {})
    shapes |= {"slope_spread": (), "slope_deviation": (k, p)} if p and k > 1 else {}
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
    parts = np.split(np.array(chains), ends[:-1], axis=2)
    return {
        name: part.reshape(*part.shape[:2], *shape)
        for (name, shape), part in zip(shapes.items(), parts, strict=True)
    }


def numpyro(posterior: Posterior, sampling: Sampling, seed: int, dense: bool = False) -> Sampled:
    """The model written for numpyro, double precision on processors, chains one after the other;
    the second run compiles nothing.
    """
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    from numpyro.infer import MCMC, NUTS
    from numpyro.infer.util import log_density

    from benchmarks.engines_numpyro import model

    numbers = {
        name: jax.numpy.asarray(value) if isinstance(value, np.ndarray) else value
        for name, value in posterior.numbers.items()
    }
    kernel = NUTS(model, dense_mass=dense, target_accept_prob=sampling.target_accept or 0.8)
    lengths = {
        "num_warmup": sampling.tune,
        "num_samples": sampling.draws,
        "num_chains": sampling.chains,
    }
    chains = MCMC(kernel, **lengths, chain_method="sequential", progress_bar=False)
    times = [_spent()]
    for _ in range(2):
        chains.run(jax.random.PRNGKey(seed), **numbers)
        found = jax.device_get(chains.get_samples(group_by_chain=True))
        times.append(_spent())
    first, second = np.diff(times)
    draws = {name: np.asarray(found[name]) for name in FREE if name in found}
    thetas = _some(posterior, draws)
    heights = [float(log_density(model, (), numbers, theta)[0]) for theta in thetas]
    return Sampled(draws, first - second, second, _apart(posterior, thetas, heights))


ENGINES: dict[str, Callable[[Posterior, Sampling, int], Sampled]] = {
    "ours": ours,
    "PyMC graph": graph,
    "Stan": stan,
    "numpyro": numpyro,
    "numpyro, dense": lambda posterior, sampling, seed: numpyro(
        posterior, sampling, seed, dense=True
    ),
}
