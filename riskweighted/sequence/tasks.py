"""What is fitted of a sequence: every block with the weights of its variable on the records that
reach it (METHODS section 12).
"""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.contract.centring import Centring, OwnFunction
from riskweighted.guarantee.clip import Censoring
from riskweighted.guarantee.interval_cells import IntervalCells
from riskweighted.guarantee.statement import Guarantee
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sampling.compilation import compile_prepared
from riskweighted.sampling.compiled import CompiledModel, Weighted
from riskweighted.sampling.nuts import Progress, share_of
from riskweighted.sampling.sampling_settings import Sampling
from riskweighted.sequence.block_centring import centring_of, weights_of_status
from riskweighted.sequence.blocks import Block, PreparedSequence
from riskweighted.sequence.clipping import censor_blocks

__all__ = ["BlockTask", "block_alpha", "block_tasks", "fit_tasks"]

_COMPARED = 50  # records whose weights are held to the function


def block_alpha(block: Block, alphas: pd.DataFrame) -> pd.Series:
    """The weights of the records that reach a block; InputError where all of them are zero."""
    alpha = alphas[block.variable].rename("alpha")
    alpha = alpha if block.whole else alpha[block.member]
    if not (block.model.weights(alpha) > 0).any():
        raise InputError(
            f"all {len(alpha)} weights are zero of the records that {block.name!r} is fitted to: "
            "the pseudo posterior would be the prior; "
            "valid is at least one positive weight"
        )
    return alpha


class BlockTask(NamedTuple):
    """A block to be fitted with weights alpha (m,) of the records that reach it; ``called``: what a
    warning begins with; ``centring``: what centred weights take off."""

    block: Block
    alpha: pd.Series
    seed: int | None
    censoring: Censoring | None = None
    called: str = ""
    centring: Centring | None = None

    @property
    def name(self) -> str:
        return self.block.name

    @property
    def cells(self) -> IntervalCells | None:
        """Over which the term of a centred clip is summed."""
        return None if self.censoring is None else self.censoring.cells

    def is_done_by(self, fit: BlockFit, sampling: Sampling) -> bool:
        """Whether a fit is what would be sampled again."""
        model, sizes = self.block.model, fit.posterior.sizes
        return (
            self.seed is not None
            and fit.random_seed == self.seed
            and fit.synthesizer == model.synthesizer
            and fit.data == model.fingerprint
            and fit.alpha.equals(self.alpha)
            and fit.weights.equals(model.weights(self.alpha))
            and (None if fit.censoring is None else fit.censoring.digest())
            == (None if self.censoring is None else self.censoring.digest())
            and (None if fit.centring is None else fit.centring.label)
            == (None if self.centring is None else self.centring.label)
            and (
                not fit.estimates
                or (sizes["chain"], sizes["draw"]) == (sampling.chains, sampling.draws)
            )
        )


def block_tasks(
    prepared: PreparedSequence,
    alphas: pd.DataFrame,
    random_seed: int | None = None,
    guarantee: Guarantee | None = None,
    L: int = 20,  # noqa: N803
    functions: Mapping[str, OwnFunction] | None = None,
) -> list[BlockTask]:
    """What is to be fitted: every block with its weights, seed, clip and centring, in the order of
    the sequence.

    `functions`: of centred weights, by variable.
    """
    clips, tasks = censor_blocks(prepared, alphas, guarantee, L), []
    if functions is not None and guarantee is not None:
        raise InputError(
            "a guarantee takes the same weight for all records, which has nothing to centre: "
            "leave out guarantee, or the plus"
        )
    if functions is not None:
        _check_functions(prepared, alphas, functions)
    for block in prepared.blocks:
        alpha = block_alpha(block, alphas)
        centring = (
            None if functions is None else centring_of(prepared, block, functions[block.variable])
        )
        if centring is not None and block.status is not None:
            alpha = pd.Series(weights_of_status(block, centring), alpha.index, name="alpha")
        tasks.append(
            BlockTask(
                block,
                alpha,
                prepared.seed_of(block, random_seed),
                clips[block.name],
                prepared.called(block),
                centring,
            )
        )
    return tasks


def _check_functions(
    prepared: PreparedSequence, alphas: pd.DataFrame, functions: Mapping[str, OwnFunction]
) -> None:
    """Refuse centred weights that lack a function, or that do not give a record's weight at its own
    value.
    """
    if lacking := [name for name in prepared.variables if name not in functions]:
        raise InputError(
            f"centred weights lack the function of a record's own value of {listing(lacking)}: "
            "rw.centred_weights makes both; weights "
            "alone are passed as an array or Series, and are then not centred"
        )
    n = len(prepared.confidential)
    some = np.unique(np.linspace(0, n - 1, min(n, _COMPARED)).astype(int))
    for name in prepared.variables:
        function, column = functions[name], prepared.confidential[name]
        own = function.at(some, column.iloc[some].reset_index(drop=True)).diagonal()
        if not np.allclose(own, alphas[name].iloc[some], rtol=0, atol=1e-6):
            raise InputError(
                f"centred weights of {name!r} differ from what their function gives for the "
                "records' own values: valid are those that "
                "rw.centred_weights makes of one function and of these data"
            )


def fit_tasks(
    tasks: Sequence[BlockTask],
    sampling: Sampling,
    progress: Progress | None = None,
    *,
    compared: bool = False,
) -> Iterator[tuple[str, BlockFit]]:
    """The fits of blocks, each as soon as it is there; a warning names the block of a chain.
    `compared`: as of `compile_prepared`.

    Importance draws for as many blocks at once as there are cores; chains, which use the cores
    themselves, run block by block. No result depends on the number of cores.
    """
    models = [
        compile_prepared(
            task.block.model,
            task.censoring is not None,
            task.centring,
            task.cells,
            compared=compared,
        )
        for task in tasks
    ]
    for place, (task, model, drawn) in enumerate(
        zip(tasks, models, _attempts(tasks, models, sampling), strict=True)
    ):
        report = (
            progress
            if progress is None or len(tasks) == 1
            else share_of(progress, place, len(tasks))
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit = model.sample(
                task.alpha,
                random_seed=task.seed,
                sampling=sampling,
                progress=report,
                censoring=task.censoring,
                attempt=drawn,
                centring=task.centring,
                compared=compared,
            )
        for warning in caught:
            warnings.warn(f"{task.called}{warning.message}", warning.category, stacklevel=4)
        yield task.name, fit


def _attempts(
    tasks: Sequence[BlockTask], models: Sequence[CompiledModel], sampling: Sampling
) -> list[Weighted | None]:
    """What importance gives for every block.

    The threads have ended before anything else is done, and the first block that has draws is tried
    before they begin: libraries import parts of themselves when these are first used, which two
    threads must not do at once.
    """
    waiting, tried = list(zip(models, tasks, strict=True)), list[Weighted | None]()
    while waiting and not any(
        weighted is not None and any(weighted.parts.near) for weighted in tried
    ):
        model, task = waiting.pop(0)
        tried.append(model.attempted(task.alpha, task.seed, sampling, task.centring))
    with ThreadPoolExecutor(sampling.cores or os.cpu_count() or 1) as pool:
        others = [
            pool.submit(model.attempted, task.alpha, task.seed, sampling, task.centring)
            for model, task in waiting
        ]
    return [*tried, *(other.result() for other in others)]
