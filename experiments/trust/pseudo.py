"""The pseudo posterior of one model under given weights as a density, for experiments that need its
mode and curvature alone.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import riskweighted as rw
from riskweighted.contract.centring import CentredWeights
from riskweighted.contract.synthesizer import Density, Synthesizer
from riskweighted.contract.vector_layout import layout_of
from riskweighted.sampling.laplace import curvature_at, mode_of
from riskweighted.sequence.alphas import alphas_of, functions_of
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sequence.tasks import block_tasks

__all__ = ["Pseudo", "pseudo_posterior", "weights_of"]


class Pseudo(NamedTuple):
    """``density`` of one vector, how it is laid out, and the ``prepared`` data of the model."""

    density: Density
    layout: Any
    prepared: Any

    def normal(self) -> tuple[np.ndarray, np.ndarray]:
        """The mode (d,) and the covariance (d, d) of the normal approximation there."""
        mode = mode_of(self.density, self.layout.size)
        return mode, np.linalg.inv(curvature_at(self.density, mode))

    def mode(self) -> dict[str, np.ndarray]:
        """Parameters at the mode."""
        return {
            name: values[0]
            for name, values in self.layout.parameters(
                mode_of(self.density, self.layout.size)[None]
            ).items()
        }


def weights_of(
    scheme: str, data: pd.DataFrame, scenario: rw.Scenario
) -> pd.Series | CentredWeights:
    """Weights by name, centred ones where a plus stands behind it."""
    centred = scheme.partition("(")[0].endswith("+")
    return (
        rw.centred_weights(scheme, data, scenario)
        if centred
        else rw.scheme_weights(scheme, data, scenario)
    )


def pseudo_posterior(
    model: Synthesizer, data: pd.DataFrame, weights: pd.Series | CentredWeights, flat: bool = False
) -> Pseudo:
    """That of a model of one block; `flat`: without its prior."""
    prepared = prepare_sequence(model, data)
    (task,) = block_tasks(
        prepared,
        alphas_of(prepared.variables, weights, data.index),
        functions=functions_of(weights),
    )
    blueprint = task.block.model.build()
    assert blueprint is not None
    density = blueprint.weighted(task.alpha.to_numpy(), task.centring)
    assert density is not None
    if flat:
        prior = blueprint.weighted(np.zeros(len(data)))
        assert prior is not None
        density = _less(density, prior)
    return Pseudo(density, layout_of(blueprint), task.block.model.prepared)


def _less(density: Density, prior: Density) -> Density:
    def without(vector: np.ndarray) -> tuple[float, np.ndarray]:
        (height, gradient), (lower, slope) = density(vector), prior(vector)
        return height - lower, gradient - slope

    return without
