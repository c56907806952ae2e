"""A fit whose draws come from the normal approximation at the mode: nothing is compiled or
sampled.
"""

import numpy as np

from riskweighted.contract.vector_layout import as_posterior, layout_of
from riskweighted.sampling.laplace import laplace_draws
from riskweighted.sequence.alphas import alphas_of, functions_of
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sequence.tasks import block_tasks


def laplace_fit(declared, data, weights=None, *, draws=200, seed=1, survey=None):
    prepared = prepare_sequence(declared, data, survey)
    alphas = alphas_of(prepared.variables, weights, data.index)
    rng, blocks = np.random.default_rng(seed), {}
    for task in block_tasks(prepared, alphas, functions=functions_of(weights)):
        blueprint = task.block.model.build()
        layout = layout_of(blueprint)
        vectors = laplace_draws(
            blueprint.weighted(task.alpha.to_numpy(), task.centring), layout.size, draws, rng
        )
        posterior = as_posterior(layout, vectors[None])
        blocks[task.name] = task.block.model.fitted(
            task.alpha, posterior, None, centring=task.centring
        )
    return Fit(prepared, alphas, blocks)
