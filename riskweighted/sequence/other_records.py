"""A fit for other records of the file: the same posterior draws, and of every block the model's
arrays of those records that reach it.

So a model that was fitted to a sample draws for the whole file, and says of each record what it
says of those that it was fitted to.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import require_columns, with_columns
from riskweighted.contract.centring import OwnFunction
from riskweighted.design.distinct import Distinct
from riskweighted.sampling.block_fit import BlockFit, PreparedModel
from riskweighted.sequence.block_centring import centring_of
from riskweighted.sequence.blocks import Block, PreparedSequence
from riskweighted.sequence.declared import Chain
from riskweighted.sequence.drawing import Drawing

__all__ = ["blocks_of_others"]


def blocks_of_others(
    drawing: Drawing,
    records: pd.DataFrame,
    alphas: pd.DataFrame,
    functions: Mapping[str, OwnFunction] | None = None,
    survey: pd.Series | None = None,
) -> tuple[PreparedSequence, dict[str, BlockFit]]:
    """The sequence and its blocks of other records (m rows) with risk weights (m, V), and survey
    weights (m,) of mean 1 over the file, where the fit has any; `drawing`: that of the fit.

    `functions`: the weights of each variable as functions of a record's own value, of a fit under
    centred weights. Whom a block knows nothing of (a level that no record of the fit has) does not
    reach it.
    """
    prepared, blocks = drawing.prepared, drawing.blocks
    require_columns(records, [str(name) for name in prepared.confidential.columns], "records")
    if prepared.members is not None:
        raise InputError("other records are of a fit without units, whose members are whole ones")
    sequence = _prepared(prepared, records, survey)
    if any(block.censoring is not None for block in blocks.values()):
        raise InputError(
            "other records are of a fit without a guarantee, which is stated of the records that "
            "it was fitted to"
        )
    if functions is None and any(block.centring is not None for block in blocks.values()):
        raise InputError(
            "the weights of this fit are centred: those of other records must be too, as "
            "rw.centred_weights makes them"
        )
    made, links = dict[str, BlockFit](), []
    reached = dict(_reached(drawing, sequence))
    for link in prepared.links:
        held = dict[str, Block]()
        for block in link.blocks:
            member, frame = reached[block.name]
            rows = np.flatnonzero(member)
            fitted = blocks[block.name].of_other(frame, alphas[link.variable].iloc[rows])
            weights = None if survey is None else survey.iloc[rows]
            model = PreparedModel(fitted.synthesizer, frame, fitted.prepared, weights)
            held[block.name] = replace(block, member=member, model=model)
            made[block.name] = replace(fitted, survey=weights)
        links.append(
            replace(
                link,
                statuses=tuple(held[block.name] for block in link.statuses),
                values=None if link.values is None else held[link.values.name],
            )
        )
    sequence = replace(sequence, links=tuple(links))
    if functions is None:
        return sequence, made
    for block in sequence.blocks:
        fitted = made[block.name]
        if fitted.centring is not None and fitted.file is not None:
            function, places = functions[block.variable], fitted.file.places
            centring = centring_of(sequence, block, function, places)
            made[block.name] = replace(fitted, centring=centring)
    return sequence, made


def _prepared(
    prepared: PreparedSequence, records: pd.DataFrame, survey: pd.Series | None
) -> PreparedSequence:
    """The sequence without its links, of other records."""
    scores = {
        name: replace(each, held=each.elsewhere(records)) for name, each in prepared.scores.items()
    }
    rules = prepared.rules
    aside = {name: rules.left_out(records, name) for name in prepared.aside}
    return replace(
        prepared,
        confidential=records,
        aside=aside,
        survey=survey,
        scores=scores,
        taught=None,
    )


def _reached(
    held: Drawing, sequence: PreparedSequence
) -> Iterator[tuple[str, tuple[np.ndarray, pd.DataFrame]]]:
    """Of every block by name which of the records reach it, (m,), and what its model reads of
    them.
    """
    records, prepared = sequence.confidential, held.prepared
    if not isinstance(prepared.declared, Chain):
        for block in prepared.blocks:
            yield block.name, (np.ones(len(records), dtype=bool), records)
        return
    encoded: dict[str, Distinct] = dict(sequence.encoded)
    for link in prepared.links:
        if link.variable in sequence.recipes:
            sequence.encode(encoded, link.variable, records)
    drawing = replace(held, prepared=sequence)
    for link in prepared.links:
        aside = sequence.aside[link.variable]
        for each, rows, values in drawing.reached(link, records, None):
            if each is None:
                continue
            levels = held.blocks[each.name].categories
            unknown = np.isnan(values) | (False if levels is None else values < 0)
            member = np.zeros(len(records), dtype=bool)
            member[rows[~unknown & ~aside[rows]]] = True
            target = (
                records[link.variable]
                if each.status is None
                else pd.Series(_scattered(rows, values, len(records)), records.index)
            )
            kept = np.flatnonzero(member)
            frame = with_columns(
                sequence.columns_of(each, records, encoded, kept),
                {each.name: target.iloc[kept].rename(each.name)},
            )
            yield each.name, (member, frame)


def _scattered(rows: np.ndarray, values: np.ndarray, n: int) -> np.ndarray:
    """Which of n records have the status that some of them are asked for, booleans (n,)."""
    having = np.zeros(n, dtype=bool)
    having[rows] = values == 1
    return having
