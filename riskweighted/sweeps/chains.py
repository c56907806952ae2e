"""The fit of a chain in a sweep: blocks that several cells share are fitted once in each worker."""

from collections import OrderedDict

import pandas as pd

from riskweighted.common.seeds import Streams
from riskweighted.runs.stages import fit_key
from riskweighted.runs.study import Study
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sampling.settings import Sampling
from riskweighted.sequence.blocks import PreparedSequence
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.tasks import BlockTask, block_alpha, fit_tasks

__all__ = ["fit_cell_chain", "forget_blocks"]

_MOST = 256  # blocks that a worker keeps, the latest used
_kept: "OrderedDict[tuple[str, int], BlockFit]" = OrderedDict()


def fit_cell_chain(study: Study, prepared: PreparedSequence, alpha: pd.DataFrame, sampling: Sampling) -> Fit:
    """The fit of a study of several variables under weights (n, V): that of `run_study` for a reproducible study.

    A block that was fitted before in this process, with the same model, records, weights, sampling and seed, is taken from there: a sweep
    over a setting of one variable fits the blocks of that variable anew, and those whose predictors or weights it changes.
    """
    streams, keys, tasks = Streams(study.seed), dict[str, tuple[str, int]](), list[BlockTask]()
    for block in prepared.blocks:
        weights = block_alpha(block, alpha)
        made_for = fit_key(study, block.model, weights)
        key = keys[block.name] = (made_for, streams.seed_of(made_for))
        if key not in _kept:
            tasks.append(BlockTask(block, weights, key[1], called=prepared.called(block)))
    made = dict(fit_tasks(tasks, sampling))
    fits = {name: made[name] if name in made else _kept[key] for name, key in keys.items()}
    for name, key in keys.items():
        _kept[key] = fits[name]
        _kept.move_to_end(key)
    while len(_kept) > _MOST:
        _kept.popitem(last=False)
    return Fit(prepared, alpha, fits)


def forget_blocks() -> None:
    """Let go of the blocks that are kept."""
    _kept.clear()
