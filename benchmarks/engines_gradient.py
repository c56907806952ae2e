"""One gradient of the mixture by our kernels and by jax: `python -m benchmarks.engines_gradient [RECORDS ...]`, three minutes.

K = 3 on the CE-like population with its ten categorical predictors, double precision; jax (`pip install numpyro`) on what device it
finds, which is printed. Milliseconds of the processor and of the clock, the least of five.
"""

import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import riskweighted as rw
from benchmarks.engines_posterior import Posterior
from riskweighted.data.ce_simulator import CE_CATEGORIES, simulate_ce

__all__ = ["ce_posterior", "least", "main"]

SIZES = (1_000, 10_000, 100_000, 1_000_000)


def ce_posterior(records: int) -> Posterior:
    """Of so many households, those with an income, under random weights."""
    data = simulate_ce(records)
    data = data[data["income"] > 0].reset_index(drop=True)
    model = rw.load_synthesizer("normal-mixture")(f"income ~ {' + '.join(f'C({name})' for name in CE_CATEGORIES)}", components=3)
    return Posterior(model.build(model.prepare(data)), np.random.default_rng(1).uniform(0.3, 1, len(data)))


def least(work: Callable[[], Any], times: int) -> tuple[float, float]:
    """Processor and clock milliseconds of one call, the least of five means over so many."""
    found = []
    for _ in range(5):
        begun = time.process_time(), time.perf_counter()
        for _ in range(times):
            work()
        found.append([1e3 * (now - then) / times for now, then in zip((time.process_time(), time.perf_counter()), begun, strict=True)])
    processor, clock = np.min(found, axis=0).tolist()
    return processor, clock


def with_jax(posterior: Posterior, theta: dict[str, np.ndarray]) -> Callable[[], Any]:
    """The same log density and gradient as jax compiles it."""
    import jax

    jax.config.update("jax_enable_x64", True)
    from numpyro.infer.util import log_density

    from benchmarks.engines_numpyro import model

    numbers = {name: jax.numpy.asarray(value) if isinstance(value, np.ndarray) else value for name, value in posterior.numbers.items()}
    gradient = jax.jit(jax.value_and_grad(lambda place: log_density(model, (), numbers, place)[0]))
    held = jax.device_put(theta)
    gradient(held)
    return lambda: jax.block_until_ready(gradient(held))


def gradients(records: int) -> tuple[int, float, float, float, float]:
    """Rows, and milliseconds of the processor and of the clock by ours and by jax."""
    posterior, times = ce_posterior(records), max(2, 200_000 // records)
    vector, density = np.zeros(posterior.layout.size), posterior.density
    parameters = posterior.layout.parameters(vector[None])
    theta = {name: values[0] for name, values in parameters.items() if not name.startswith("predictive")}
    density(vector)
    return posterior.numbers["rows"], *least(lambda: density(vector), times), *least(with_jax(posterior, theta), times)


def main(sizes: tuple[int, ...]) -> None:
    """Print the table."""
    import jax

    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, jax on {jax.devices()[0].platform}")
    print(f"{'records':>10}{'rows':>10}{'ours, ms':>10}{'clock':>8}{'jax, ms':>10}{'clock':>8}")
    for records in sizes:
        rows, *numbers = gradients(records)
        print(f"{records:>10,}{rows:>10,}{numbers[0]:10.2f}{numbers[1]:8.2f}{numbers[2]:10.2f}{numbers[3]:8.2f}", flush=True)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main(tuple(map(int, sys.argv[1:])) or SIZES)
