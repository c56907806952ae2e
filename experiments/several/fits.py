"""A chain fitted block by block, with the processor time of each."""

import time
from pathlib import Path

import pandas as pd

from riskweighted.common.seeds import seed_for
from riskweighted.sampling.sampling_settings import Sampling
from riskweighted.sequence.blocks import PreparedSequence
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.saved import read_fit
from riskweighted.sequence.tasks import BlockTask, block_alpha, fit_tasks

__all__ = ["fitted", "kept_or_fitted"]


def fitted(
    prepared: PreparedSequence, alpha: pd.DataFrame, sampling: Sampling, seed: int
) -> tuple[Fit, pd.DataFrame]:
    """The fit, and a row a block: its model, what drew it, seconds of processor time."""
    fits, rows = {}, []
    for block in prepared.blocks:
        started = time.process_time()
        task = BlockTask(block, block_alpha(block, alpha), seed_for(seed, "block", block.name))
        # one at a time, so that each has a time of its own
        ((_, fit),) = fit_tasks([task], sampling)
        seconds = time.process_time() - started
        fits[block.name] = fit
        engine = str(fit.diagnostics["engine"].iloc[0]) if "engine" in fit.diagnostics else "nuts"
        rows.append(
            {
                "block": block.name,
                "model": type(block.model.synthesizer).__name__,
                "records": int(block.member.sum()),
                "predictors": 0 if block.scale is None else int((block.scale > 0).sum()),
                "engine": engine,
                "seconds": seconds,
                "converged": fit.converged,
                "weight": float(task.alpha.sum()),
            }
        )
    return Fit(prepared, alpha, fits, seed), pd.DataFrame(rows)


def kept_or_fitted(
    folder: Path,
    label: str,
    prepared: PreparedSequence,
    alpha: pd.DataFrame,
    sampling: Sampling,
    seed: int,
) -> tuple[Fit, pd.DataFrame]:
    """The fit that the folder holds under the label, or a new one, which is kept there.
    Confidential.
    """
    path, table = folder / f"{label}.zip", folder / f"{label}.csv"
    if path.is_file() and table.is_file():
        return read_fit(path, prepared, alpha), pd.read_csv(table)
    fit, blocks = fitted(prepared, alpha, sampling, seed)
    fit.save(path)
    blocks.to_csv(table, index=False)
    return fit, blocks
