"""The datasets that a stranger's model drew, drawn again where the truth is not (METHODS section
9.4).
"""

import math
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.contract.drawn_columns import spread_draws
from riskweighted.contract.synthesizer import Draw, Synthesizer, is_strange
from riskweighted.design.distinct import Distinct
from riskweighted.guarantee.ledger import without_ledger
from riskweighted.sampling.isolation import ModelQuestion, check_independent, refuse_other_answers
from riskweighted.sequence.blocks import Block
from riskweighted.sequence.drawing import Drawing
from riskweighted.sequence.fit import Fit

__all__ = ["draw_without_target", "drop_guarantee"]


def draw_without_target(
    fit: Fit,
    L: int,  # noqa: N803
    random_seed: int,
    part: int | None = None,
) -> list[pd.DataFrame]:
    """Return the L datasets of `Fit.synthetic`, once every stranger's model was tried as when it
    was fitted (what it cached since is seen), and once all that it was asked for them was asked
    again in a fresh process, which has the true values of its target in other rows only, and was
    answered alike; ContractError where it was not.
    """
    watched = _Watched(fit.prepared, fit.blocks, fit.settings)
    frames = [*_with_drawing(fit, watched).synthetic(L, random_seed=random_seed, part=part)]
    for name, asked in watched.asked.items():
        block = fit.blocks[name]
        places = spread_draws(
            fit.sizes["chain"], fit.sizes["draw"], min(2, math.prod(fit.sizes.values()))
        )
        guaranteed, thetas = block.censoring is not None, [block.draw(*place) for place in places]
        check_independent(
            block.synthesizer,
            block.prepared,
            thetas,
            block.confidential,
            guaranteed=guaranteed,
            elsewhere=True,
        )
        refuse_other_answers(
            block.synthesizer, block.prepared, block.confidential, asked.questions, asked.answers
        )
    return frames


def drop_guarantee(fit: Fit) -> Fit:
    """The fit without its guarantee, for datasets that say what chance gives, are compared with the
    truth, and leave in no form.
    """
    blocks = {
        name: replace(block, censoring=None, posterior=without_ledger(block.posterior))
        for name, block in fit.blocks.items()
    }
    return replace(fit, blocks=blocks)


def _with_drawing(fit: Fit, drawing: Drawing) -> Fit:
    """A copy of the fit that draws so."""
    copied = replace(fit)
    copied.__dict__["drawing"] = drawing
    return copied


@dataclass
class _ModelRequests:
    """What the distributions of one block were asked, and what they said. Confidential."""

    questions: list[ModelQuestion] = field(default_factory=list)
    answers: list[np.ndarray] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class _Watched(Drawing):
    """Draws as `Drawing` does, and notes what is asked of strangers' models; ``rows_of``: of arrays
    by their number the rows, without the target. Confidential."""

    asked: dict[str, _ModelRequests] = field(default_factory=dict)
    rows_of: dict[int, tuple[Any, pd.DataFrame]] = field(default_factory=dict)

    def model_of(self, block: Block) -> Synthesizer:
        """The synthesizer of a block; a stranger's is listened to."""
        model = super().model_of(block)
        if not is_strange(model):
            return model
        return _Heard(model, self.asked.setdefault(block.name, _ModelRequests()), self.rows_of)  # type: ignore[return-value]

    def _at(
        self, block: Block, frame: pd.DataFrame, encoded: Mapping[str, Distinct], rows: np.ndarray
    ) -> Any:
        arrays = super()._at(block, frame, encoded, rows)
        if is_strange(model := super().model_of(block)):
            columns = (
                frame.iloc[rows]
                if self.prepared.of_one
                else self.prepared.columns_of(block, frame, encoded, rows)
            )
            # held, so that no other has its number
            self.rows_of[id(arrays)] = arrays, columns.drop(columns=model.target, errors="ignore")
        return arrays


@dataclass(frozen=True)
class _Heard:
    """A synthesizer whose distributions note what they are asked."""

    model: Synthesizer
    asked: _ModelRequests
    rows_of: Mapping[int, tuple[Any, pd.DataFrame]]

    def distribution(self, theta: Draw, prepared: Any) -> "_HeardRecords":
        """That of the model."""
        _, rows = self.rows_of.get(id(prepared), (None, None))
        return _HeardRecords(self.model.distribution(theta, prepared), theta, rows, self.asked)


@dataclass(frozen=True)
class _HeardRecords:
    records: Any
    theta: Draw
    rows: pd.DataFrame | None
    asked: _ModelRequests

    def __getattr__(self, name: str) -> Callable[..., np.ndarray]:
        method = getattr(self.records, name)

        def heard(*arguments: object) -> np.ndarray:
            self.asked.questions.append(
                ModelQuestion(self.theta, self.rows, name, deepcopy(arguments))
            )
            self.asked.answers.append(np.array(method(*arguments)))
            return self.asked.answers[-1].copy()

        return heard
