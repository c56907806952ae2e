"""What an intruder has who knows ALL released unaltered columns, not only those of the scenario (METHODS section 13)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from riskweighted.evaluation.tables import CONFIDENTIAL, as_row, as_table
from riskweighted.intruder.world import World
from riskweighted.measures.released import of_patterns, of_scheme

__all__ = ["released_rows"]


def released_rows(world: World, synthetic: Mapping[str, Sequence[pd.DataFrame]], unaltered: Sequence[str]) -> pd.DataFrame:
    """Patterns and share of unique records on all unaltered released columns; identification and match risk of each scheme.

    Parameters
    ----------
    world : World
    synthetic : mapping of label to L DataFrames
        Paired with the confidential data.
    unaltered : sequence of str
        Every column that is released as it is.

    Returns
    -------
    DataFrame in the columns of `riskweighted.evaluation.tables.COLUMNS`; the rows of the records' patterns stand under the confidential
    label.
    """
    wide = world.under(replace(world.scenario, known=tuple(unaltered)))
    return as_table(_rows(wide, synthetic))


def _rows(wide: World, synthetic: Mapping[str, Sequence[pd.DataFrame]]) -> Iterator[dict[str, Any]]:
    yield from (as_row(CONFIDENTIAL, value) for value in of_patterns(wide))
    for label, frames in synthetic.items():
        yield from (as_row(label, value) for value in of_scheme(wide, frames))
