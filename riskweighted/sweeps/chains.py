"""The fit of a chain in a sweep: blocks that several cells share are fitted once in each worker."""

import io
from collections import OrderedDict

import pandas as pd

from riskweighted.common.seeds import Streams
from riskweighted.intruder.world import make_world
from riskweighted.runs.fits import block_fingerprint
from riskweighted.runs.study import Study
from riskweighted.synthesis.chain import PreparedChain, prepare_chain
from riskweighted.synthesis.chain_fit import ChainFit
from riskweighted.synthesis.chain_fitting import BlockTask, block_alpha, fit_tasks, load_chain_fit
from riskweighted.synthesis.posterior import Fit
from riskweighted.synthesis.sampling import Sampling
from riskweighted.weights.match import world_weights

__all__ = ["fit_cell_chain", "read_cell_chain"]

_MOST = 256  # blocks that a worker keeps, the latest used
_kept: "OrderedDict[tuple[str, int], Fit]" = OrderedDict()


def fit_cell_chain(study: Study, confidential: pd.DataFrame, scheme: str, sampling: Sampling) -> ChainFit:
    """The fit of a study of several variables under one scheme: that of `run_study` for a reproducible study.

    A block that was fitted before in this process, with the same model, records, weights, sampling and seed, is taken from there: a sweep
    over a setting of one variable fits the blocks of that variable anew, and those whose predictors or weights it changes.
    """
    prepared, alpha = _prepared(study, confidential, scheme)
    streams, tasks, keys = Streams(study.seed), [], dict[str, tuple[str, int]]()
    for block in prepared.blocks:
        weights = block_alpha(prepared, block, alpha)
        made_for = block_fingerprint(study.sampling, block, weights)
        key = keys[block.name] = (made_for, streams.seed_of(made_for))
        if key not in _kept:
            tasks.append(BlockTask(block, weights, key[1]))
    for name, fitted in fit_tasks(tasks, sampling):
        _kept[keys[name]] = fitted
    for key in keys.values():
        _kept.move_to_end(key)
    fits = {name: _kept[key] for name, key in keys.items()}
    while len(_kept) > _MOST:
        _kept.popitem(last=False)
    return ChainFit(prepared, alpha, fits)


def read_cell_chain(study: Study, confidential: pd.DataFrame, scheme: str, stored: bytes) -> ChainFit:
    """The same again from what `ChainFit.to_bytes` gave."""
    prepared, alpha = _prepared(study, confidential, scheme)
    return load_chain_fit(io.BytesIO(stored), prepared, alpha)


def _prepared(study: Study, confidential: pd.DataFrame, scheme: str) -> tuple[PreparedChain, pd.DataFrame]:
    """The chain with its data, and the weights (n, V)."""
    own, world = study.weights, make_world(confidential, study.weighting_scenario())
    alpha = world_weights(world, scheme, own.match, scale=own.scale, shift=own.shift, cluster=own.cluster)
    return prepare_chain(study.make_chain(), confidential, own.survey), alpha
