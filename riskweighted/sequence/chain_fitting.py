"""Fitting a chain: every block on the records that reach it, with the weights of its variable (METHODS section 12)."""

import os
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_seed
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import check_weights
from riskweighted.common.seeds import seed_for
from riskweighted.guarantee.statement import Guarantee
from riskweighted.sampling.compiled import Attempt, CompiledModel
from riskweighted.sampling.fitting import compile_prepared
from riskweighted.sampling.nuts import Progress, share_of
from riskweighted.sampling.posterior import Fit
from riskweighted.sampling.settings import Sampling
from riskweighted.sequence.blocks import Block, PreparedChain, prepare_chain
from riskweighted.sequence.chain_fit import ChainFit, block_file
from riskweighted.sequence.declared import Chain

__all__ = ["BlockTask", "block_alpha", "chain_alpha", "fit_chain", "fit_prepared_chain", "fit_tasks", "load_chain_fit"]

Alpha: TypeAlias = pd.DataFrame | pd.Series | np.ndarray | None


def chain_alpha(variables: tuple[str, ...], alpha: Alpha, index: pd.Index) -> pd.DataFrame:
    """Checked weights of every variable, (n, V): given so, or one for all variables, or 1 everywhere.

    Raises
    ------
    InputError
        If they are of another shape or index, or outside [0, 1].
    """
    if isinstance(alpha, pd.DataFrame):
        if sorted(map(str, alpha.columns)) != sorted(variables):
            raise InputError(f"alpha has columns {listing(alpha.columns)}; they must be the synthesized variables {listing(variables)}")
        given: dict[str, Any] = {name: alpha[name] for name in variables}
    elif isinstance(alpha, np.ndarray) and alpha.ndim == 2:
        if alpha.shape != (len(index), len(variables)):
            raise InputError(f"alpha has shape {alpha.shape}; valid are ({len(index)},) and ({len(index)}, {len(variables)})")
        given = dict(zip(variables, alpha.T, strict=True))
    else:
        given = dict.fromkeys(variables, np.ones(len(index)) if alpha is None else alpha)
    return pd.DataFrame({name: check_weights(own, index, what="alpha") for name, own in given.items()}, index)


def block_alpha(prepared: PreparedChain, block: Block, alpha: pd.DataFrame) -> pd.Series:
    """The weights of the records that reach a block.

    Raises
    ------
    InputError
        If all of them are zero.
    """
    own = alpha[block.variable][block.member].rename("alpha")
    if not (block.model.weights(own) > 0).any():
        raise InputError(
            f"all {len(own)} weights of the records that {block.name!r} is fitted to are zero: the pseudo posterior would be the prior; "
            "valid is at least one positive weight"
        )
    return own


def fit_chain(
    chain: Chain,
    confidential: pd.DataFrame,
    alpha: Alpha,
    sampling: Sampling,
    random_seed: int | None = None,
    progress: Progress | None = None,
    guarantee: Guarantee | None = None,
    survey: str | pd.Series | np.ndarray | None = None,
) -> ChainFit:
    """Prepare a chain for its data and fit every block; what `riskweighted.fit` does with a chain."""
    if guarantee is not None:
        raise InputError("a guarantee is that of one variable's model: a chain looks at the data to choose its models; fit them one by one")
    return fit_prepared_chain(prepare_chain(chain, confidential, survey), alpha, sampling, random_seed, progress)


def fit_prepared_chain(
    prepared: PreparedChain,
    alpha: Alpha,
    sampling: Sampling,
    random_seed: int | None = None,
    progress: Progress | None = None,
    before: ChainFit | None = None,
) -> ChainFit:
    """Fit every block; those that are the same in an earlier fit (model, records, weights, sampling, seed) are taken from it.

    Parameters
    ----------
    prepared : PreparedChain
    alpha : (n,), (n, V) or None
    sampling : Sampling
    random_seed : int, optional
    progress : callable, optional
        Called with (draws done, draws in all).
    before : ChainFit, optional
    """
    check_seed(random_seed)
    checked = chain_alpha(tuple(prepared.chain.variables), alpha, prepared.confidential.index)
    fits = fit_blocks(prepared, checked, sampling, random_seed, progress, {} if before is None else before.fits)
    return ChainFit(prepared, checked, fits, random_seed)


def fit_blocks(
    prepared: PreparedChain,
    alpha: pd.DataFrame,
    sampling: Sampling,
    random_seed: int | None,
    progress: Progress | None = None,
    before: Mapping[str, Fit] | None = None,
) -> dict[str, Fit]:
    """The fit of every block, by name in the order of the chain."""
    wanted = [
        BlockTask(block, block_alpha(prepared, block, alpha), None if random_seed is None else seed_for(random_seed, "block", block.name))
        for block in prepared.blocks
    ]
    earlier = before or {}
    kept = {task.name: earlier[task.name] for task in wanted if task.name in earlier and task.is_done_by(earlier[task.name], sampling)}
    made = dict(fit_tasks([task for task in wanted if task.name not in kept], sampling, progress))
    return {task.name: kept[task.name] if task.name in kept else made[task.name] for task in wanted}


class BlockTask(NamedTuple):
    """A block to be fitted with weights alpha (m,) of the records that reach it."""

    block: Block
    alpha: pd.Series
    seed: int | None

    @property
    def name(self) -> str:
        """The block's."""
        return self.block.name

    def is_done_by(self, fit: Fit, sampling: Sampling) -> bool:
        """Whether a fit is what would be sampled again."""
        model, sizes = self.block.model, fit.posterior.sizes
        return (
            self.seed is not None
            and fit.random_seed == self.seed
            and fit.synthesizer == model.synthesizer
            and fit.data == model.fingerprint
            and fit.alpha.equals(self.alpha)
            and fit.weights.equals(model.weights(self.alpha))
            and (not fit.estimates or (sizes["chain"], sizes["draw"]) == (sampling.chains, sampling.draws))
        )


def fit_tasks(tasks: Sequence[BlockTask], sampling: Sampling, progress: Progress | None = None) -> Iterator[tuple[str, Fit]]:
    """The fits of blocks, each as soon as it is there; a warning names its block.

    The direct engine draws for as many blocks at once as there are cores; chains, which use the cores themselves, run block by block.
    No result depends on the number of cores.
    """
    models = [compile_prepared(task.block.model) for task in tasks]
    for place, (task, model, drawn) in enumerate(zip(tasks, models, _attempts(tasks, models, sampling), strict=True)):
        report = None if progress is None else share_of(progress, place, len(tasks))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = model.sample(task.alpha, random_seed=task.seed, sampling=sampling, progress=report, attempt=drawn)
        for one in caught:
            warnings.warn(f"block {task.name!r}: {one.message}", one.category, stacklevel=2)
        yield task.name, found


def _attempts(tasks: Sequence[BlockTask], models: Sequence[CompiledModel], sampling: Sampling) -> list[Attempt]:
    """What the direct engine gives for every block.

    The threads have ended before anything else is done, and the first block that has draws is tried before they begin: libraries import
    parts of themselves when these are first used, which two threads must not do at once.
    """
    waiting, found = list(zip(models, tasks, strict=True)), list[Attempt]()
    while waiting and not any(attempt.draws is not None for attempt in found):
        model, task = waiting.pop(0)
        found.append(model.attempted(task.alpha, task.seed, sampling))
    with ThreadPoolExecutor(sampling.cores or os.cpu_count() or 1) as pool:
        others = [pool.submit(model.attempted, task.alpha, task.seed, sampling) for model, task in waiting]
    return [*found, *(other.result() for other in others)]


def load_chain_fit(path: str | Path | BinaryIO, prepared: PreparedChain, alpha: Alpha) -> ChainFit:
    """Read back what `ChainFit.save` wrote, for the same chain, data and weights.

    Raises
    ------
    InputError
        If the file is absent or damaged, or of another chain, other data or other weights.
    """
    checked = chain_alpha(tuple(prepared.chain.variables), alpha, prepared.confidential.index)
    try:
        with zipfile.ZipFile(path) as archive:
            wanted = [block_file(place) for place in range(len(prepared.blocks))]
            if archive.namelist() != wanted:
                raise InputError(f"{str(path)!r} is the fit of another chain: it has {len(archive.namelist())} blocks, not {len(wanted)}")
            fits = {
                block.name: block.model.load(zipfile.Path(archive, name), block_alpha(prepared, block, checked))
                for name, block in zip(wanted, prepared.blocks, strict=True)
            }
    except (OSError, zipfile.BadZipFile, KeyError, RuntimeError) as error:
        raise InputError(f"{str(path)!r} is no saved fit of a chain ({type(error).__name__})") from None
    return ChainFit(prepared, checked, fits)
