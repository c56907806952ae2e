"""What an intruder has who knows ALL released unaltered columns, not only those of the scenario (METHODS section 13)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from riskweighted.evaluation.tables import CONFIDENTIAL, as_row, as_table
from riskweighted.intruder.world import World
from riskweighted.measures.released import of_patterns, of_scheme

__all__ = ["released_rows"]


def released_rows(world: World, synthetic: Mapping[str, Sequence[pd.DataFrame]], unaltered: Sequence[str]) -> pd.DataFrame:
    """Patterns and share of unique records on all unaltered released columns; identification and match risk of each scheme.

    In the columns of `riskweighted.evaluation.tables.COLUMNS`; what is of the patterns stands under the confidential label.
    """
    wide = world.under(replace(world.scenario, known=tuple(unaltered)))
    rows = [as_row(CONFIDENTIAL, value) for value in of_patterns(wide)]
    return as_table([*rows, *(as_row(label, value) for label, frames in synthetic.items() for value in of_scheme(wide, frames))])
