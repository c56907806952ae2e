"""What is asked of the target of a block, so that its records can say how predictors tell of it."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.frames import as_floats, holds_numbers
from riskweighted.design.bends import zero_is_status

__all__ = ["Question", "questions_of"]

_FEWEST = 200  # amounts that tell enough
_FEWEST_EVENTS = 50  # of a status or level, and as many without


class Question(NamedTuple):
    """What is asked of the m records of a block: a place of amounts, or the log odds of what is or
    is not.

    ``told`` (m,): the records that it is asked of; ``answer`` (m,): amounts, or 1 and 0;
    ``binary``: which of both.
    """

    told: np.ndarray
    answer: np.ndarray
    binary: bool


def questions_of(target: pd.Series) -> Iterator[Question]:
    """What is asked of the target (m,) of a block: of a status whether, of levels whether each but
    the most frequent one, of ordered ones and amounts where they lie, and where zero is a status
    whether they are zero; nothing of which too few records tell."""
    everybody = np.ones(len(target), dtype=bool)
    if isinstance(target.dtype, pd.CategoricalDtype) and target.cat.ordered:
        asked = [Question(everybody, target.cat.codes.to_numpy().astype(float), False)]
    elif not holds_numbers(target):
        counts = target.value_counts()
        held = sorted(
            counts[counts > 0].index.tolist(), key=lambda level: (-counts[level], str(level))
        )
        asked = [
            Question(everybody, (target == level).to_numpy(dtype=float), True) for level in held[1:]
        ]
    else:
        amounts = as_floats(target)
        zero = (amounts == 0) & zero_is_status(amounts)
        asked = [Question(everybody, zero.astype(float), True), Question(~zero, amounts, False)]
    for question in asked:
        count = int(question.told.sum())
        if (
            question.binary
            and min(question.answer.sum(), count - question.answer.sum()) >= _FEWEST_EVENTS
        ):
            yield question
        if not question.binary and count >= _FEWEST:
            yield question
