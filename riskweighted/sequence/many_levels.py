"""Levels that are too many for a dummy each: effects of levels about a common mean, drawn with all
other parameters (METHODS section 12).

Of level g in a block of records the linear predictor has an effect u_g ~ N(0, t^2), a random
intercept: what few records say of a level is pulled towards the others. It is a slope N(0, 1) on a
column that is t at the level and 0 elsewhere, so that nothing that is made of the target is held
but t. A level of too few records has no effect of its own: it has that of its group of the code, or
none. How far effects spread is read off what is asked of the block's target (`questions_of`).
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.frames import as_floats, holds_numbers
from riskweighted.common.ranks import normal_scores
from riskweighted.design.spline_basis import zero_is_status

__all__ = [
    "FEWEST",
    "LevelQuestion",
    "are_many",
    "groups_of_code",
    "indicators_of_many",
    "questions_of",
    "spread_of_effects",
    "variance_of_effects",
]

_FEWEST_AMOUNTS = 200  # amounts that tell enough
_FEWEST_EVENTS = 50  # of a status or level, and as many without


class LevelQuestion(NamedTuple):
    """What is asked of the m records of a block: a place of amounts, or the log odds of what is or
    is not.

    ``told`` (m,): the records that it is asked of; ``answer`` (m,): amounts, or 1 and 0;
    ``binary``: which of both.
    """

    told: np.ndarray
    answer: np.ndarray
    binary: bool


def questions_of(target: pd.Series) -> Iterator[LevelQuestion]:
    """What is asked of the target (m,) of a block: of a status whether, of levels whether each but
    the most frequent one, of ordered ones and amounts where they lie, and where zero is a status
    whether they are zero; nothing of which too few records tell."""
    everybody = np.ones(len(target), dtype=bool)
    if isinstance(target.dtype, pd.CategoricalDtype) and target.cat.ordered:
        asked = [LevelQuestion(everybody, target.cat.codes.to_numpy().astype(float), False)]
    elif not holds_numbers(target):
        counts = target.value_counts()
        held = sorted(
            counts[counts > 0].index.tolist(), key=lambda level: (-counts[level], str(level))
        )
        asked = [
            LevelQuestion(everybody, (target == level).to_numpy(dtype=float), True)
            for level in held[1:]
        ]
    else:
        amounts = as_floats(target)
        zero = (amounts == 0) & zero_is_status(amounts)
        asked = [
            LevelQuestion(everybody, zero.astype(float), True),
            LevelQuestion(~zero, amounts, False),
        ]
    for question in asked:
        count = int(question.told.sum())
        if (
            question.binary
            and min(question.answer.sum(), count - question.answer.sum()) >= _FEWEST_EVENTS
        ):
            yield question
        if not question.binary and count >= _FEWEST_AMOUNTS:
            yield question


FEWEST = 10  # records of a level, or group of levels, that has an effect of its own
# levels that each have a dummy, at most; of small files one in so many records
_MANY, _PER_LEVEL = 30, 20
_MOST_COLUMNS = 300  # of one predictor: draws about the mode of more take minutes
_SPREADS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
_UNTOLD = 0.3  # the spread where the records tell nothing of it
_CODE = re.compile(r"[A-Za-z]{0,2}\d[\d.]*")


def are_many(levels: int, records: int) -> bool:
    """Whether so many levels are too many for a dummy each."""
    return levels > min(_MANY, records // _PER_LEVEL)


def groups_of_code(levels: Sequence[str]) -> list[dict[str, list[int]]]:
    """The groups of levels that begin alike, coarse ones first: by prefix the places of its levels;
    [] where the levels are no codes.

    Codes are whole numbers, which are filled with zeros from the left, or one or two letters before
    digits; points do not count.

    Examples
    --------
    >>> from riskweighted.sequence.many_levels import groups_of_code
    >>> [list(groups) for groups in groups_of_code(["A01.1", "A01.2", "A02.1", "C10.1"])]
    [['A', 'C'], ['A01', 'A02', 'C10']]
    """
    plain = [level.replace(".", "") for level in levels]
    if not all(_CODE.fullmatch(level) for level in levels) or max(map(len, plain), default=0) < 2:
        return []
    if all(text.isdigit() for text in plain):
        width = max(map(len, plain))
        plain = [text.zfill(width) for text in plain]
    groups: list[dict[str, list[int]]] = []
    for length in range(1, max(map(len, plain))):
        of_length: dict[str, list[int]] = {}
        for place, text in enumerate(plain):
            of_length.setdefault(text[:length], []).append(place)
        if (len(groups[-1]) if groups else 1) < len(of_length) < len(levels):
            groups.append(of_length)
    return groups


def indicators_of_many(levels: Sequence[str], records: np.ndarray) -> tuple[list[str], np.ndarray]:
    """What the columns of many levels are called, and which of them each level has, floats (levels,
    k).

    First come groups of the code that hold levels of too few records, coarse ones first, then
    levels, each of ten records at least, those of most records first: where columns run out, or are
    more than 300, the last ones go. `records` (levels,): how many have each level.
    """
    columns: dict[str, list[int]] = {}
    rare = records < FEWEST
    # a gap is no code
    coded = [place for place, level in enumerate(levels) if _CODE.fullmatch(level)]
    for groups in (
        groups_of_code([levels[place] for place in coded]) if len(coded) >= len(levels) - 1 else []
    ):
        of_length = {
            f"{prefix}..": [coded[place] for place in places] for prefix, places in groups.items()
        }
        told = {
            name: places
            for name, places in of_length.items()
            if rare[places].any() and records[places].sum() >= FEWEST
        }
        columns |= dict(sorted(told.items(), key=lambda group: -records[group[1]].sum()))
    by_size = np.argsort(-records, kind="stable")
    own = by_size[~rare[by_size]][: max(_MOST_COLUMNS - len(columns), 0)]
    members = [*columns.values(), *([place] for place in own.tolist())]
    indicators = np.zeros((len(levels), len(members)))
    for column, places in enumerate(members):
        indicators[places, column] = 1.0
    return [*columns, *(levels[place] for place in own)], indicators


def spread_of_effects(target: pd.Series, level: np.ndarray) -> float:
    """The standard deviation t of the effects of levels (n,) on a target (n,), on the scale of its
    model, by moments; one of .1, .2, .3, .5, .7 and 1, so that no single record decides it."""
    variance = variance_of_effects(target, level)
    if variance is None:
        return _UNTOLD
    spread = float(np.sqrt(variance))
    return min(_SPREADS, key=lambda each: float(abs(np.log(each / max(spread, _SPREADS[0])))))


def variance_of_effects(target: pd.Series, level: np.ndarray) -> float | None:
    """t^2 of levels (n,) on a target (n,), None where the records are too few to tell.

    With a one-way analysis of variance of n records, G levels and mean squares between B and within
    W, t^2 = (B - W) / n_0 where n_0 = (n - sum_g n_g^2 / n) / (G - 1) (Searle, Casella & McCulloch
    1992, section 3.6). Amounts are taken as normal scores; what is or is not, with share p, in
    units of p (1 - p), which is on the log odds. Of several levels of the target the one that
    differs most decides.
    """
    found = [_moment(_scores(question), level[question.told]) for question in questions_of(target)]
    return max(found, default=None)


def _scores(question: LevelQuestion) -> np.ndarray:
    answer = question.answer[question.told]
    if question.binary:
        share = answer.mean()
        return np.asarray((answer - share) / (share * (1 - share)))
    return normal_scores(answer)


def _moment(scores: np.ndarray, level: np.ndarray) -> float:
    """t^2 of scores (m,) by their levels (m,), 0 at least."""
    sizes = np.bincount(level)
    sums = np.bincount(level, scores)[sizes > 0]
    sizes, n = sizes[sizes > 0], len(scores)
    groups = len(sizes)
    if groups < 2 or groups == n:
        return 0.0
    between = float((sums**2 / sizes).sum() - sums.sum() ** 2 / n)
    within = (float(((scores - scores.mean()) ** 2).sum()) - between) / (n - groups)
    return max(
        float((between - (groups - 1) * within) / (n - (sizes.astype(float) ** 2).sum() / n)), 0.0
    )
