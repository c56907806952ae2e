"""Fits whose posterior draws are given by hand, so that no sampler is run."""

import numpy as np
import pandas as pd
import xarray as xr

import riskweighted as rw
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.prepare import prepare_sequence

__all__ = ["given_chain_fit", "given_fit"]

_SHAPE = ("chain", "draw", "component")


def given_fit(confidential, alpha=1.0, *, spread=0.02, chains=2, draws=60, seed=3):
    """Of the counts ``jobs``: negative binomial, log mean about log 50 with sd `spread` over the
    draws, phi = 5.
    """
    rng = np.random.default_rng(seed)
    posterior = xr.Dataset(
        {
            "intercept": (_SHAPE, np.log(50) + spread * rng.normal(size=(chains, draws, 1))),
            "inverse_phi": (_SHAPE, np.full((chains, draws, 1), 0.2)),
        }
    )
    synthesizer = rw.load_synthesizer("negative-binomial")("jobs ~ 1", components=1)
    weights = pd.Series(alpha, confidential.index, name="alpha")
    return Fit.of(
        BlockFit(
            synthesizer,
            weights,
            posterior,
            pd.DataFrame(),
            confidential,
            synthesizer.prepare(confidential),
        )
    )


def given_chain_fit(chain, confidential, alpha=1.0, *, spread=0.3, chains=2, draws=60, seed=3):
    """A chain of categorical variables and linear regressions: every coefficient about 0 with sd
    `spread` over the draws, sigma = 0.5.
    """
    prepared, rng, fits = prepare_sequence(chain, confidential), np.random.default_rng(seed), {}
    for block in prepared.blocks:
        synthesizer, own = block.model.synthesizer, block.model.prepared
        levels = hasattr(own, "levels")
        size = (
            len(synthesizer._prior(len(own.levels), own.rows.shape[1])[0])
            if levels
            else 1 + own.raw.columns.shape[1]
        )
        values = {"coefficient": (_SHAPE, spread * rng.normal(size=(chains, draws, size)))}
        if not levels:
            values["sigma"] = (_SHAPE[:2], np.full((chains, draws), 0.5))
        weights = pd.Series(alpha, confidential.index, name="alpha")[block.member]
        fits[block.name] = BlockFit(
            synthesizer, weights, xr.Dataset(values), pd.DataFrame(), block.model.confidential, own
        )
    table = pd.DataFrame(dict.fromkeys(chain.variables, pd.Series(alpha, confidential.index)))
    return Fit(prepared, table, fits)
