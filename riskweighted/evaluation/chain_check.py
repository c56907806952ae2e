"""Are the models of a chain good enough for their data? `check_fit` of every block of values (METHODS sections 5.10 and 12)."""

import numpy as np
import pandas as pd

from riskweighted.evaluation.fit_check import COLUMNS, COST, FITS, MISFITS, MODEL, check_fit, fit_verdict
from riskweighted.measures import checks
from riskweighted.sequence.fit import Fit

__all__ = ["check_chain_fit"]


def check_chain_fit(fit: Fit, *, draws: int = 30, random_seed: int | None = None) -> pd.DataFrame:
    """Compare every variable of a chain with its data, given the confidential predecessors.

    Parameters
    ----------
    fit : Fit
    draws : int
        Predictive datasets of each variable.
    random_seed : int, optional

    Returns
    -------
    DataFrame: the rows of `check_fit` of every variable, whose name stands in a last column ``variable``; the first row, of no variable,
    is for the chain, which fits if every model does. Confidential.
    """
    values = [link.values for link in fit.prepared.links if link.values is not None]
    seeds = np.random.SeedSequence(random_seed).generate_state(max(len(values), 1), np.uint32)
    tables = [
        check_fit(Fit.of(fit.blocks[block.name]), by=(), others=(), draws=draws, random_seed=int(seed)).assign(variable=block.variable)
        for block, seed in zip(values, seeds, strict=False)
    ]
    verdicts = [fit_verdict(table) for table in tables]
    worst = max((float(table.loc[table["check"] == MODEL, "effect"].iloc[0]) for table in tables), default=np.nan)
    verdict = COST if (fit.alpha.to_numpy() != 1).any() else MISFITS if MISFITS in verdicts else FITS
    whole = pd.DataFrame([(MODEL, "", np.nan, np.nan, np.nan, np.nan, worst, 1.0, verdict, len(fit.alpha), checks.MODEL.definition, "")])
    whole.columns = pd.Index([*COLUMNS, "variable"])
    rows = [table[table["check"] != MODEL] for table in tables]
    return pd.concat([whole, *rows], ignore_index=True)
