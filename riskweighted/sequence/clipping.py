"""The clip of a guarantee, block by block, and what of a sequence would void it (METHODS sections
9.3 and 12).
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.contract.synthesizer import Synthesizer, probability_mass
from riskweighted.guarantee.clip import Censoring, obstacles, refusal
from riskweighted.guarantee.interval_cells import cells_of
from riskweighted.guarantee.statement import OF_UNITS, Guarantee, Statement
from riskweighted.sampling.block_fit import PreparedModel, refuse_survey
from riskweighted.sequence.blocks import ChainVariable, PreparedSequence
from riskweighted.sequence.declared import Chain
from riskweighted.sequence.public import not_public

__all__ = ["censor_blocks", "sequence_obstacles", "statement_of"]


def censor_blocks(
    prepared: PreparedSequence,
    alphas: pd.DataFrame,
    guarantee: Guarantee | None,
    L: int,  # noqa: N803
) -> dict[str, Censoring | None]:
    """The clip of every block under a guarantee, by its name: each has an equal share of epsilon,
    or of M.

    A record adds at most one clipped contribution to each block, so that all that it adds lies
    within the sum of the clips. One InputError names all that is taken from the data; survey
    weights, or a reference of several variables, are refused too.
    """
    blocks = prepared.blocks
    if guarantee is None:
        return dict.fromkeys(block.name for block in blocks)
    refuse_survey(prepared.survey, guarantee)
    if prepared.of_one:
        besides = not_public(prepared, guarantee)
        return {
            block.name: block.model.censor(guarantee, alphas[block.variable], L, besides)
            for block in blocks
        }
    hindering = [
        *sequence_obstacles(prepared, guarantee),
        *(
            f"weights alpha of {name!r} that are not all the same"
            for name in alphas
            if alphas[name].nunique() > 1
        ),
    ]
    if hindering:
        raise refusal(hindering)
    if guarantee.reference is not None:
        raise InputError(
            "a reference is a density of one variable, and a chain has one of each; leave it out"
        )
    share = guarantee.shared(len(blocks))
    return {block.name: _clip_of(block.model, share, L) for block in blocks}


def _clip_of(model: PreparedModel, share: Guarantee, L: int) -> Censoring:  # noqa: N803
    """The clip of one block of several, by its share of the guarantee."""
    statement = share.statement(L, probability_mass(model.synthesizer))
    cells = cells_of(model.synthesizer, model.prepared, share) if share.centred else None
    return Censoring(statement, np.zeros(len(model.confidential)), cells=cells)


def statement_of(declared: Synthesizer | Chain, guarantee: Guarantee, L: int) -> Statement:  # noqa: N803
    """What a guarantee states of datasets of a synthesizer or a chain, before any data are seen;
    none where a chain looks at them.
    """
    if not isinstance(declared, Chain):
        return guarantee.statement(L, probability_mass(declared))
    choices = [choice for name in declared.variables for choice in _choices(declared, name)]
    if choices:
        raise refusal(choices)
    nothing, share = pd.Series(dtype=float), guarantee.shared(len(declared.variables))
    models = [
        declared.value_model(name, nothing, str(declared.formula_of(name)))
        for name in declared.variables
    ]
    return Statement.together([share.statement(L, probability_mass(model)) for model in models])


def sequence_obstacles(prepared: PreparedSequence, guarantee: Guarantee) -> list[str]:
    """What of a sequence voids a guarantee, in words: what its models, and the chain that chose
    them, take from the sensitive values, and what they read that is not declared public."""
    hindering = not_public(prepared, guarantee)
    if prepared.members is not None:
        hindering.append(OF_UNITS)
    if isinstance(prepared.declared, Chain):
        hindering += [
            text for link in prepared.links for text in _of_link(prepared, prepared.declared, link)
        ]
    for block in prepared.blocks:
        before = "" if prepared.of_one else f"{block.name!r}: "
        hindering += [
            f"{before}{text}"
            for text in obstacles(
                block.model.synthesizer, block.model.prepared, block.model.confidential
            )
        ]
    return hindering


def _choices(chain: Chain, name: str) -> list[str]:
    """What the chain says that it takes from the sensitive values for a variable."""
    choices = getattr(chain, "data_dependent_choices", None)
    if choices is None:
        return [
            f"{type(chain).__name__}, which does not say what it takes from the data for "
            f"{name!r} (data_dependent_choices)"
        ]
    return [f"{choice} of {name!r}" for choice in choices(name)]


def _of_link(prepared: PreparedSequence, chain: Chain, link: ChainVariable) -> Iterator[str]:
    """What the chain itself takes from the sensitive values for one variable."""
    name, variables = link.variable, prepared.variables
    yield from _choices(chain, name)
    if link.statuses or prepared.codes.get(name):
        yield f"which codes and gaps of {name!r} occur, each of which is a block"
    if link.constant is not None:
        yield f"the one value of {name!r} beside its statuses"
    asked = (
        []
        if link.structure is None
        else [source for source in link.structure.names if source in variables and source != name]
    )
    if asked:
        yield f"which records the rule of {name!r} selects by {listing(asked)}"
    decided = [
        source
        for rule in prepared.rules.decided(name, not link.levels)
        for source in rule.names
        if source in variables
    ]
    if decided:
        yield (
            f"which records the rules implied and sums decide of {name!r} by "
            f"{listing(dict.fromkeys(decided))}"
        )
    if prepared.aside[name].any() or (
        prepared.rules.violations == "exclude" and prepared.rules.at(name)
    ):
        yield f"which records break a rule of {name!r} and are left out"
    earlier = (
        []
        if link.values is None
        else [source for source in link.values.sources if source in variables]
    )
    if earlier and chain.formula_of(name) is not None:
        yield (
            f"levels, centre and scale of {listing(earlier)} as predictors of {name!r}: state "
            "formulas of unsynthesized columns"
        )
