"""The normal mixture as a numpyro model: the same priors, and alpha * log-likelihood of each
different row.
"""

from typing import Any

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax.nn import logsumexp

__all__ = ["model"]


def model(
    *,
    components: int,
    predictors: int,
    columns: Any,
    cell: Any,
    z: Any,
    alpha: Any,
    concentration: float,
    widest: float,
    **sizes: int,
) -> None:
    """See `Posterior.numbers`."""
    weight = numpyro.sample("weight", dist.Dirichlet(jnp.full(components, concentration)))
    centre = numpyro.sample("centre", dist.Normal().expand([components]))
    sigma = numpyro.sample("sigma", dist.HalfNormal().expand([components]))
    mean = centre[:, None]
    if predictors:
        slope = numpyro.sample("slope", dist.Normal().expand([predictors]))
        if components > 1:
            spread = numpyro.sample("slope_spread", dist.HalfNormal(widest))
            slope = slope + spread * numpyro.sample(
                "slope_deviation", dist.Normal().expand([components, predictors])
            )
        mean = mean + jnp.atleast_2d(slope) @ columns.T
    level = jnp.log(weight) - jnp.log(sigma) - 0.5 * jnp.log(2 * jnp.pi)
    off = (z - (mean[:, cell] if predictors else mean)) / sigma[:, None]
    numpyro.factor("likelihood", alpha @ logsumexp(level[:, None] - 0.5 * off**2, axis=0))
