"""The clip of a guarantee, block by block (METHODS sections 9.3 and 12)."""

import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.guarantee.clip import Censoring
from riskweighted.guarantee.statement import Guarantee
from riskweighted.sequence.blocks import PreparedSequence

__all__ = ["censor_blocks"]


def censor_blocks(
    prepared: PreparedSequence,
    alphas: pd.DataFrame,
    guarantee: Guarantee | None,
    L: int,  # noqa: N803
) -> dict[str, Censoring | None]:
    """The clip of every block under a guarantee, by its name.

    Raises
    ------
    InputError
        If anything is taken from the data, all of which it names.
    """
    if guarantee is None:
        return dict.fromkeys(block.name for block in prepared.blocks)
    if not prepared.of_one:
        raise InputError("a guarantee is that of one variable's model: a chain looks at the data to choose its models; fit them one by one")
    (block,) = prepared.blocks
    return {block.name: block.model.censor(guarantee, alphas[block.variable], L)}
