"""A fit whose posterior draws are given by hand, so that no sampler is run."""

import numpy as np
import pandas as pd
import xarray as xr

import riskweighted as rw
from riskweighted.synthesis.posterior import Fit

__all__ = ["given_fit"]

_SHAPE = ("chain", "draw", "component")


def given_fit(confidential, alpha=1.0, *, spread=0.02, chains=2, draws=60, seed=3):
    """Of the counts ``jobs``: negative binomial, log mean about log 50 with sd `spread` over the draws, phi = 5."""
    rng = np.random.default_rng(seed)
    posterior = xr.Dataset(
        {
            "intercept": (_SHAPE, np.log(50) + spread * rng.normal(size=(chains, draws, 1))),
            "inverse_phi": (_SHAPE, np.full((chains, draws, 1), 0.2)),
        }
    )
    synthesizer = rw.load_synthesizer("negative-binomial")("jobs ~ 1", components=1)
    weights = pd.Series(alpha, confidential.index, name="alpha")
    return Fit(synthesizer, weights, posterior, pd.DataFrame(), confidential, synthesizer.prepare(confidential))
