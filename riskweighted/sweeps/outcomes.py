"""What became of a cell, and of a group of them."""

import traceback
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from riskweighted.common.errors import InputError
from riskweighted.sweeps.cells import Group

__all__ = ["Outcome", "Result", "Stored", "describe"]

Stored: TypeAlias = bytes  # a fit as its archive


class Result(NamedTuple):
    """``measures``: one dict per measure of risk and utility; ``fit``: mean weight and convergence."""

    measures: list[dict[str, Any]]
    fit: dict[str, Any]


class Outcome(NamedTuple):
    """What became of a group. Confidential: it may hold a posterior.

    ``results`` and ``errors`` by cell key; ``posterior`` of a fit that others need; ``failure``: why there is no fit. ``seconds`` in all,
    and of these ``compiling`` the model.
    """

    results: dict[str, Result]
    errors: dict[str, str]
    posterior: Stored | None = None
    failure: str | None = None
    seconds: float = 0.0
    compiling: float = 0.0

    @classmethod
    def failed(cls, group: Group, reason: str) -> "Outcome":
        """No cell of the group has a result, for one reason."""
        return cls({}, {cell.key: reason for cell in group.cells}, failure=reason)


def describe(error: BaseException) -> str:
    """An error in a line that quotes no data: the text of our own, the type and place of any other."""
    if isinstance(error, InputError):
        return " ".join(str(error).split())
    frames = traceback.extract_tb(error.__traceback__)
    return type(error).__name__ + (f" in {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "")
