"""The chains: the one file that drives nutpie."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_limits

from riskweighted.synthesis.sampling import Sampling

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # ArviZ 0.23 announces ArviZ 1, which we support
    import nutpie

__all__ = ["Progress", "run_chains"]

Progress = Callable[[int, int], None]  # draws done, draws in all


def run_chains(compiled: Any, sampling: Sampling, random_seed: int | None, progress: Progress | None) -> tuple[xr.Dataset, int]:
    """Sample with nutpie; BLAS is held to one thread, which the chains need for themselves and sums need to repeat."""
    seed = int(np.random.SeedSequence(random_seed).generate_state(1, np.uint32)[0])
    if progress is not None:
        _report_to(compiled, sampling.cores or 1, progress)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = nutpie.sample(
            compiled,
            draws=sampling.draws,
            tune=sampling.tune,
            chains=sampling.chains,
            cores=sampling.cores,
            seed=seed,
            target_accept=sampling.target_accept,
            progress_bar=False,
            save_warmup=False,
            blocking=False,
        )
        try:
            trace = sampler.wait()
        except BaseException:
            sampler.cancel()
            raise
    posterior, stats = (group.to_dataset() if hasattr(group, "to_dataset") else group for group in (trace.posterior, trace.sample_stats))
    constrained = posterior[[name for name in posterior.data_vars if not str(name).endswith("__")]]
    return constrained.sortby("chain").drop_attrs(), int(stats["diverging"].sum())


def _report_to(compiled: Any, cores: int, progress: Progress) -> None:
    """Have nutpie report the draws done, twice a second; it offers that to notebooks only, so we hand it our own."""

    def report(text: str) -> None:
        done, total = text.split("/")
        progress(int(done), int(total))

    def make_sampler(*arguments: Any) -> Any:
        return original(*(bars if isinstance(argument, type(bars)) else argument for argument in arguments))

    kinds = nutpie._lib.ProgressType
    bars = kinds.template_callback(500, "{{ total_finished_draws }}/{{ total_draws }}", cores, report)
    original = compiled._make_sampler
    object.__setattr__(compiled, "_make_sampler", make_sampler)
