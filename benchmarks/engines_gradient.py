"""One gradient of the mixture by our kernels and by the engine "jax": `python -m benchmarks.engines_gradient [RECORDS ...]`, three minutes.

K = 3 on the CE-like population with its ten categorical predictors, double precision; JAX on what device it finds, which is printed.
Milliseconds of the processor and of the clock, the least of five. "rounded" is what a fit samples above 100,000 records: rows of
responses in bins of .01 standard deviations; JAX has the records as they are.
"""

import os
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import riskweighted as rw
from benchmarks.engines_posterior import Posterior
from experiments.ce.population import CE_CATEGORIES, simulate_ce
from riskweighted.sampling.jaxed import jax_density

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


def gradients(records: int) -> list[float]:
    """Milliseconds of the processor and of the clock of the kernels, of what a fit samples and of all rows, and of JAX."""
    posterior, times = ce_posterior(records), max(2, 200_000 // records)
    blueprint, vector = posterior.blueprint, np.zeros(posterior.layout.size)
    densities = [posterior.density, (blueprint.exact or blueprint.density)(posterior.alpha), jax_density(blueprint)(posterior.alpha)]
    found: list[float] = []
    for density in densities:
        density(vector)
        found += least(partial(density, vector), times)
    return found


def main(sizes: tuple[int, ...]) -> None:
    """Print the table."""
    import jax

    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, jax on {jax.devices()[0].platform}")
    print(f"{'records':>10}{'rounded, ms':>13}{'clock':>9}{'exact, ms':>11}{'clock':>9}{'jax, ms':>10}{'clock':>9}")
    for records in sizes:
        rounded, clock, exact, exact_clock, computed, computed_clock = gradients(records)
        print(f"{records:>10,}{rounded:13.2f}{clock:9.2f}{exact:11.2f}{exact_clock:9.2f}{computed:10.2f}{computed_clock:9.2f}", flush=True)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main(tuple(map(int, sys.argv[1:])) or SIZES)
