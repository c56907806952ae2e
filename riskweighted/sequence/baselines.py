"""Protection without a model, column by column: amounts by a baseline; special codes, missing
values and levels stay as they are.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import holds_numbers
from riskweighted.contract.distribution import draw_values
from riskweighted.contract.synthesizer import Draw, Synthesizer
from riskweighted.sampling.block_fit import PreparedModel
from riskweighted.sequence.blocks import PreparedSequence
from riskweighted.sequence.declared import SideBySide
from riskweighted.sequence.outcomes import Outcomes
from riskweighted.sequence.prepare import side_by_side

__all__ = ["prepare_baseline"]


class _Column(NamedTuple):
    """A column as numbers (n,), as `Outcomes` has them, which of them are amounts (n,), and what
    the baseline makes of these.
    """

    numbers: np.ndarray
    is_amount: np.ndarray
    baseline: Synthesizer | None
    prepared: Any

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """The column (n,) with its amounts as the baseline protects them."""
        values = self.numbers.copy()
        if self.baseline is not None:
            values[self.is_amount] = draw_values(
                self.baseline, {}, self.prepared, rng, int(self.is_amount.sum())
            )
        return values


@dataclass(frozen=True)
class ColumnBaseline:
    """A baseline of one column of several; None where the column has levels, which it leaves as
    they are.
    """

    keeps_true_values: ClassVar[bool] = True

    target: str
    baseline: Synthesizer | None
    codes: tuple[float, ...] = ()

    def prepare(self, data: pd.DataFrame) -> _Column:
        """The column, its amounts prepared for the baseline."""
        column = data[self.target]
        is_amount = (column.notna() & ~column.isin(self.codes)).to_numpy()
        prepared = None if self.baseline is None else self.baseline.prepare(data[is_amount])
        return _Column(Outcomes(column).numbers(column), is_amount, self.baseline, prepared)

    def build(self, prepared: _Column) -> None:
        """Nothing to estimate."""

    def distribution(self, theta: Draw, prepared: _Column) -> _Column:
        """What draws the column: no probability model."""
        return prepared


def prepare_baseline(
    baselines: Mapping[str, Synthesizer],
    confidential: pd.DataFrame,
    codes: Mapping[str, Any],
    levels: Collection[str] = (),
) -> PreparedSequence:
    """A baseline of each variable, prepared for the data; `levels`: variables of numbers that are
    codes of levels.

    Raises
    ------
    InputError
        If no variable holds amounts, or the baseline refuses those of one, which the message names.
    """
    models = []
    for name, baseline in baselines.items():
        of_amounts = holds_numbers(confidential[name]) and name not in levels
        declared = ColumnBaseline(
            name, baseline if of_amounts else None, tuple(codes.get(name, ()))
        )
        try:
            models.append(PreparedModel(declared, confidential, declared.prepare(confidential)))  # type: ignore[arg-type]
        except InputError as error:
            raise InputError(f"variable {name!r}: {error}") from None
    if all(model.synthesizer.baseline is None for model in models):  # type: ignore[attr-defined]
        raise InputError(
            f"a baseline protects amounts, and none of {listing(baselines)} holds any: leave it out"
        )
    return side_by_side(SideBySide(tuple(model.synthesizer for model in models)), models)
