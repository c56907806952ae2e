"""The modes of a sequence's pseudo posterior under any weights: a mode of every block."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.contract.centring import Centring
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sampling.block_modes import BlockModes, block_modes
from riskweighted.sampling.compilation import compile_prepared
from riskweighted.sequence.alphas import Alpha, alphas_of, functions_of
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.tasks import block_tasks

__all__ = ["Modes", "Vectors", "modes_of"]

Vectors = Mapping[str, np.ndarray]  # the mode (d,) of every block


@dataclass(frozen=True, eq=False)
class Modes:
    """What finds the modes of all blocks that estimate anything, under other weights than those of
    the unweighted fit. Confidential.
    """

    fit: Fit = field(repr=False)
    blocks: Mapping[str, BlockModes] = field(repr=False)

    def find(self, alphas: Alpha, near: Vectors | None = None) -> dict[str, np.ndarray]:
        """The modes under weights (n,) or (n, V), searched from some that are near."""
        weights = self._weights(alphas)
        return {
            name: modes.find(
                weights[name][0], None if near is None else near[name], weights[name][1]
            )
            for name, modes in self.blocks.items()
        }

    def plug_in(self, alphas: Alpha, vectors: Vectors, count: int) -> Fit:
        """A fit whose `count` draws are all the mode, so that only synthetic values vary."""
        return self._fit(
            alphas,
            lambda name, modes, weights: modes.plug_in(
                weights[0], vectors[name], count, weights[1]
            ),
        )

    def laplace(self, alphas: Alpha, vectors: Vectors, count: int, rng: np.random.Generator) -> Fit:
        """A fit of `count` draws from the normal approximations at the modes."""
        return self._fit(
            alphas,
            lambda name, modes, weights: modes.laplace(
                weights[0], vectors[name], count, rng, weights[1]
            ),
        )

    def information(self, alphas: Alpha, vectors: Vectors) -> dict[str, np.ndarray]:
        """The information of each record by variable, (n,) each, summed over its blocks; see
        `BlockModes.information`.
        """
        weights = self._weights(alphas)
        of_block = {block.name: block for block in self.fit.prepared.blocks}
        found = {variable: np.zeros(len(self.fit.confidential)) for variable in self.fit.variables}
        for name, modes in self.blocks.items():
            found[of_block[name].variable][of_block[name].member] += modes.information(
                weights[name][0], vectors[name], weights[name][1]
            )
        return found

    def _weights(self, alphas: Alpha) -> dict[str, tuple[np.ndarray, Centring | None]]:
        """Alpha of the records of every block, and what centring takes off."""
        tasks = block_tasks(self.fit.prepared, self._table(alphas), functions=functions_of(alphas))
        return {task.name: (task.alpha.to_numpy(), task.centring) for task in tasks}

    def _table(self, alphas: Alpha) -> pd.DataFrame:
        return alphas_of(self.fit.variables, alphas, self.fit.confidential.index)

    def _fit(
        self,
        alphas: Alpha,
        make: Callable[[str, BlockModes, tuple[np.ndarray, Centring | None]], BlockFit],
    ) -> Fit:
        weights = self._weights(alphas)
        made = {name: make(name, modes, weights[name]) for name, modes in self.blocks.items()}
        return replace(
            self.fit,
            alphas=self._table(alphas),
            blocks={**self.fit.blocks, **made},
            random_seed=None,
        )


def modes_of(fit: Fit) -> Modes:
    """The pseudo posterior of every block, and where to begin: the draw of its unweighted fit of
    highest density.
    """
    if not fit.estimates:
        raise InputError(
            f"{type(fit.synthesizer).__name__} estimates nothing: no weights act on it"
        )
    models = {
        block.name: compile_prepared(block.model)
        for block in fit.prepared.blocks
        if fit.blocks[block.name].estimates
    }
    return Modes(
        fit, {name: block_modes(model, fit.blocks[name]) for name, model in models.items()}
    )
