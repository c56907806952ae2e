"""The learned part of a chain: scores of tree ensembles, of every record by one that was fitted
without its fold (METHODS section 12.2).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from riskweighted.common.extras import optional
from riskweighted.common.ranks import normal_scores
from riskweighted.design.distinct import Distinct, distinct_records
from riskweighted.sequence.many_levels import LevelQuestion
from riskweighted.sequence.recoding import Recipe

__all__ = ["FOLDS", "Scores", "make_scores"]

FOLDS = 5
_FEWEST_TRAINING = 40  # records of the other folds that have a positive weight
# Few, small and slow trees: scores are few predictors beside others.
_ENSEMBLE = {
    "max_iter": 60,
    "learning_rate": 0.1,
    "max_leaf_nodes": 8,
    "min_samples_leaf": 20,
    "max_bins": 64,
    "early_stopping": False,
}
_STEPS = 16  # of the grid from 0 to the largest score
# score: a standard normal one of an amount, log odds of what is or is not
_LARGEST = {False: 2.0, True: 4.0}
_WHAT = "a learned part (learned)"


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of n records as k further columns, ``names``. Confidential: each is made of the
    others' values.

    ``held``: of the records, each by the ensemble of its own fold; ``inputs``: what the ensembles
    read; ``ensembles``: of every question one a fold, None where it learned nothing; ``binary``
    (k,): whose scores are log odds.
    """

    names: tuple[str, ...]
    held: Distinct = field(repr=False)
    inputs: tuple[Recipe, ...] = field(repr=False)
    ensembles: tuple[tuple[Any, ...], ...] = field(repr=False)
    binary: tuple[bool, ...]
    many = False  # they are no levels

    @property
    def straight(self) -> np.ndarray:
        """No column is a bend of another, booleans (k,)."""
        return np.ones(len(self.names), dtype=bool)

    def elsewhere(self, frame: pd.DataFrame) -> Distinct:
        """The scores of m other rows, whose fold nobody knows: the mean of the ensembles of all
        folds.
        """
        matrix = input_matrix(
            self.inputs, [recipe.table(frame[recipe.source]) for recipe in self.inputs]
        )
        each = [
            np.mean([_asked(ensemble, matrix, binary) for ensemble in of_folds], axis=0)
            for of_folds, binary in self._each()
        ]
        return _on_grid(np.column_stack(each), self.binary)

    def _each(self) -> Iterator[tuple[tuple[Any, ...], bool]]:
        return zip(self.ensembles, self.binary, strict=True)


def input_matrix(recipes: Sequence[Recipe], tables: Sequence[Distinct]) -> np.ndarray:
    """What trees read of columns, (n, q): numbers without bends, an indicator of every level, code
    and gap.
    """
    return np.hstack(
        [
            table.rows[:, recipe.straight][table.which]
            for recipe, table in zip(recipes, tables, strict=True)
        ]
    )


def make_scores(
    names: Sequence[str],
    questions: Sequence[LevelQuestion],
    recipes: Sequence[Recipe],
    matrix: np.ndarray,
    members: np.ndarray,
    weights: np.ndarray,
    units: np.ndarray | None = None,
) -> Scores:
    """The scores of n records, who do or do not reach a block.

    `matrix` (n, q): what the ensembles read; `members` (m,): the records of the block; `weights`
    (m,): of the likelihood, alpha times the survey weight. `units` (n,), codes: records of one unit
    are in one fold. Folds and ensembles follow from n and these alone: a fit without a record, or
    one that is loaded, has the same folds.
    """
    n = len(matrix)
    count = n if units is None else int(units.max()) + 1
    fold_of = np.random.default_rng(count).permutation(count) % FOLDS
    fold_of = fold_of if units is None else fold_of[units]
    scores, ensembles = np.zeros((n, len(questions))), []
    with threadpool_limits(1, user_api="openmp"):  # sums over threads would not repeat to the byte
        for column, question in zip(scores.T, questions, strict=True):
            fitted = [
                _ensemble(question, matrix[members], weights, _teaches(fold_of[members], fold))
                for fold in range(FOLDS)
            ]
            for fold, ensemble in enumerate(fitted):
                rows = fold_of == fold
                if rows.any():
                    column[rows] = _asked(ensemble, matrix[rows], question.binary)
            ensembles.append(tuple(fitted))
    binary = tuple(question.binary for question in questions)
    return Scores(tuple(names), _on_grid(scores, binary), tuple(recipes), tuple(ensembles), binary)


def _teaches(fold_of: np.ndarray, fold: int) -> np.ndarray:
    """Who teaches the ensemble that scores a fold: everybody else."""
    return np.asarray(fold_of != fold)


def _ensemble(
    question: LevelQuestion, matrix: np.ndarray, weights: np.ndarray, teaches: np.ndarray
) -> Any:
    """An ensemble fitted to some of the records of a block; None where they are too few, or all
    alike.
    """
    trees = optional("sklearn.ensemble", _WHAT)
    used = question.told & teaches & (weights > 0)
    answer = question.answer[used]
    if len(answer) < _FEWEST_TRAINING or (answer == answer[0]).all():
        return None
    kind = (
        trees.HistGradientBoostingClassifier
        if question.binary
        else trees.HistGradientBoostingRegressor
    )
    wanted = answer if question.binary else normal_scores(answer)
    return kind(random_state=0, **_ENSEMBLE).fit(matrix[used], wanted, sample_weight=weights[used])


def _asked(ensemble: Any, matrix: np.ndarray, binary: bool) -> np.ndarray:
    """The scores of some rows, (m,); 0 by an ensemble that is not there."""
    if ensemble is None:
        return np.zeros(len(matrix))
    return np.asarray(ensemble.decision_function(matrix) if binary else ensemble.predict(matrix))


def _on_grid(scores: np.ndarray, binary: Sequence[bool]) -> Distinct:
    """Scores (n, k) on a grid that is the same for all data, 33 places wide."""
    ends = np.array([_LARGEST[each] for each in binary])
    steps = _STEPS / ends
    placed = np.rint(np.clip(scores, -ends, ends) * steps) / steps + 0.0  # no minus zero
    first, which = distinct_records((pd.Series(column) for column in placed.T), len(placed))
    return Distinct(placed[first], which)
