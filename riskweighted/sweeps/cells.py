"""The cells of a sweep, which of them share a fit, and what became of them.

A cell is what one label (a scheme, the confidential data, a baseline) comes to in one repetition at
one point of the grid. Its keys are those of the stages that it goes through
(`riskweighted.runs.stages`), so that points that differ in nothing relevant are one cell:
unweighted has no weighting radius. Cells of one fit form a group.
"""

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from riskweighted.common.errors import InputError
from riskweighted.evaluation.measure_rows import CONFIDENTIAL
from riskweighted.runs.stages import Stages
from riskweighted.runs.study import Study
from riskweighted.sweeps.settings_grid import GridPoint
from riskweighted.weights.scheme_names import UNWEIGHTED
from riskweighted.weights.schemes import scheme_source

__all__ = [
    "CellGroup",
    "Outcome",
    "Result",
    "Stored",
    "SweepCell",
    "describe",
    "group_cells",
    "identify",
]

Stored: TypeAlias = bytes  # a fit as its archive


@dataclass(frozen=True)
class SweepCell:
    """One label at one point of the grid in one repetition; equal keys mean equal results."""

    stages: Stages
    label: str

    @property
    def study(self) -> Study:
        """The study at the point."""
        return self.stages.study

    @property
    def data(self) -> str:
        """Fingerprint of the confidential data."""
        return self.stages.data

    @cached_property
    def key(self) -> str:
        """Of its results."""
        return self.stages.key("evaluated", self.label)

    @cached_property
    def fit(self) -> str:
        """Key of the fit; cells of the confidential data share one without sampling."""
        return self.stages.key("fit", self.label)

    @cached_property
    def model(self) -> str:
        """Key of what is compiled."""
        return self.stages.key("prepared")

    @cached_property
    def baseline(self) -> str | None:
        """Key of the unweighted fit that whack-a-mole is measured against."""
        return (
            self.stages.key("fit", UNWEIGHTED)
            if self.stages.compared and self.label not in (CONFIDENTIAL, UNWEIGHTED)
            else None
        )

    @cached_property
    def source(self) -> str | None:
        """Key of the fit that its weights are made of."""
        source = scheme_source(self.label) if self.fits_model else None
        return None if source is None else self.stages.key("fit", source)

    @property
    def family(self) -> tuple[str, int]:
        """Cells of the same model and seed: they share the unweighted fit, its datasets and its
        risk.
        """
        return self.model, self.study.seed

    @property
    def fits_model(self) -> bool:
        """Whether it is one of a scheme, for which the model is fitted."""
        return self.label != CONFIDENTIAL and self.label not in self.study.baselines

    @property
    def needed(self) -> set[str]:
        """Keys of the fits that must be there first."""
        return {key for key in (self.baseline, self.source) if key is not None}


class CellGroup(NamedTuple):
    """Cells that share a fit and a baseline.

    ``first``: any of them, all agree in what decides the fit. ``cells``: those to evaluate, none
    where only the posterior is needed. ``posterior``: whether others need it. ``cores``: chains
    sampled at once.
    """

    first: SweepCell
    cells: tuple[SweepCell, ...]
    posterior: bool = False
    cores: int = 1


def identify(
    point: GridPoint, data: str, versions: Mapping[str, str], *, whack_a_mole: bool
) -> SweepCell:
    """The cell of a point; `data`: the fingerprint of its data, `whack_a_mole`: whether it is
    measured against the unweighted fit.
    """
    return SweepCell(Stages(point.study, data, versions, whack_a_mole), point.label)


def group_cells(cells: Sequence[SweepCell], finished: set[str]) -> list[CellGroup]:
    """Groups with work left, in the order in which to start them: model by model, a baseline before
    what needs it.
    """
    groups: dict[tuple[str, str | None], dict[str, SweepCell]] = {}
    for cell in cells:
        groups.setdefault((cell.fit, cell.baseline), {}).setdefault(cell.key, cell)
    needed: set[str] = set().union(*(cell.needed for cell in cells if cell.key not in finished))
    needed |= set().union(*(cell.needed for cell in cells if cell.fit in needed))
    left = []
    for (fit, _), members in groups.items():
        missing = tuple(cell for key, cell in members.items() if key not in finished)
        if missing or fit in needed:
            left.append(CellGroup(next(iter(members.values())), missing, fit in needed))
    models = {cell.model: rank for rank, cell in reversed(list(enumerate(cells)))}
    return sorted(
        left,
        key=lambda group: (
            models[group.first.model],
            group.first.study.seed,
            len(group.first.needed),
        ),
    )


class Result(NamedTuple):
    """Rows of tables, as a run has them: ``measures`` of risk and utility; ``fit``: mean weight and
    convergence; ``disclosed``: the verdict on what the datasets give away; ``checks`` of the
    fit."""

    measures: list[dict[str, Any]]
    fit: dict[str, Any]
    disclosed: list[dict[str, Any]]
    checks: list[dict[str, Any]]


class Outcome(NamedTuple):
    """What became of a group. Confidential: it may hold a posterior.

    ``results`` and ``errors`` by cell key; ``posterior`` of a fit that others need; ``failure``:
    why there is no fit. ``seconds`` in all, and of these ``compiling`` the model.
    """

    results: dict[str, Result]
    errors: dict[str, str]
    posterior: Stored | None = None
    failure: str | None = None
    seconds: float = 0.0
    compiling: float = 0.0

    @classmethod
    def failed(cls, group: CellGroup, reason: str) -> "Outcome":
        """No cell of the group has a result, for one reason."""
        return cls({}, {cell.key: reason for cell in group.cells}, failure=reason)


def describe(error: BaseException) -> str:
    """An error in a line that quotes no data: the text of our own, the type and place of any
    other.
    """
    if isinstance(error, InputError):
        return " ".join(str(error).split())
    frames = traceback.extract_tb(error.__traceback__)
    return type(error).__name__ + (
        f" in {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    )
