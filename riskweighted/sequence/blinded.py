"""A fit that cannot see the truth: the same parameters on data whose sensitive values stand in other rows (METHODS section 9.4)."""

from dataclasses import replace

import numpy as np
import pandas as pd

from riskweighted.common.frames import with_columns
from riskweighted.contract.drawing import spread_draws
from riskweighted.contract.synthesizer import is_strange
from riskweighted.guarantee.ledger import without_ledger
from riskweighted.sampling.isolation import check_independent
from riskweighted.sequence.fit import Fit

__all__ = ["blinded", "not_leaving", "refuse_seeing"]

_PLACES = 2


def blinded(fit: Fit) -> Fit:
    """The fit with every sensitive column permuted before its models were prepared.

    Its datasets say what chance gives: they agree with the truth of a record no more than chance does, whatever a model hides.
    """
    order = np.random.default_rng(10)
    blocks = {}
    for name, block in fit.blocks.items():
        frame = _permuted(block.confidential, [block.synthesizer.target], order)
        blocks[name] = replace(block, confidential=frame, prepared=block.synthesizer.prepare(frame))
    frame = _permuted(fit.confidential, list(fit.variables), order)
    return replace(fit, prepared=replace(fit.prepared, confidential=frame), blocks=blocks)


def not_leaving(fit: Fit) -> Fit:
    """The fit without its guarantee, for datasets that say what chance gives, are compared with the truth, and leave in no form."""
    blocks = {name: replace(block, censoring=None, posterior=without_ledger(block.posterior)) for name, block in fit.blocks.items()}
    return replace(fit, blocks=blocks)


def _permuted(frame: pd.DataFrame, names: list[str], rng: np.random.Generator) -> pd.DataFrame:
    """The columns in another order of rows, all in the same one, so that what holds between them still does."""
    order = rng.permutation(len(frame))
    return with_columns(frame, {name: frame[name].array[order] for name in names})


def refuse_seeing(fit: Fit) -> None:
    """Refuse a fit of a class that is not the package's whose draws see the truth, as when it was made: what it cached since is seen."""
    for block in fit.blocks.values():
        if is_strange(block.synthesizer):
            chains, draws = block.sizes["chain"], block.sizes["draw"]
            places = spread_draws(chains, draws, min(_PLACES, chains * draws))
            thetas = [block.draw(*place) for place in places]
            guaranteed = block.censoring is not None
            check_independent(block.synthesizer, block.prepared, thetas, block.confidential, guaranteed=guaranteed, elsewhere=True)
