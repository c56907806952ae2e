"""The public cells over which a centred clip is summed, and what the reference gives each; none of
it is confidential (METHODS 9.3).
"""

import hashlib
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.contract.categories import categories_of
from riskweighted.contract.synthesizer import ContractError, Synthesizer, probability_mass
from riskweighted.guarantee.statement import Guarantee, Reference

__all__ = ["IntervalCells", "cells_of"]

_CELLS = 128  # of equal reference probability; how exact that is stands in METHODS 9.3


class IntervalCells(NamedTuple):
    """Disjoint intervals of a target, on the scale of a model's numbers, and what the ``reference``
    gives each, > 0; (G,) each.
    """

    lower: np.ndarray
    upper: np.ndarray
    reference: np.ndarray

    @property
    def label(self) -> str:
        """What tells them from others."""
        return hashlib.sha256(np.concatenate(self).astype("<f8").tobytes()).hexdigest()


def cells_of(synthesizer: Synthesizer, prepared: Any, guarantee: Guarantee) -> IntervalCells:
    """The levels where a model has levels, else intervals that the reference cuts; they follow from
    public settings alone.

    InputError where there is no such rule: numbers without a `Reference`, or one of another kind
    than the model's.
    """
    reference, name = guarantee.reference, type(synthesizer).__name__
    levels = _levels_of(synthesizer, prepared)
    if levels is not None and reference is None:
        return IntervalCells(levels, levels, np.ones(len(levels)))
    if not isinstance(reference, Reference):
        missing = (
            "a reference"
            if reference is None
            else "a reference that is a distribution with its parameters, and no function"
        )
        raise InputError(
            f"centred of {name} needs {missing}, whose cells the integral of the clip is summed "
            "over: give one, or leave centred out"
        )
    if reference.discrete != (levels is not None or probability_mass(synthesizer)):
        kind = "has a probability mass" if reference.discrete else "has a density"
        raise InputError(
            f"centred of {name} needs a reference of its own kind, and "
            f"{reference.distribution!r} {kind}"
        )
    if levels is not None:
        shares = np.exp(reference(levels, pd.DataFrame(index=range(len(levels)))))
        if not (shares > 0).all():
            raise InputError(
                "centred needs a reference that gives every level some probability, and "
                f"{reference.distribution!r} does not"
            )
        return IntervalCells(levels, levels, shares)
    ends, shares = reference.cut(_CELLS)
    values = _values_at(synthesizer, prepared, ends)
    return IntervalCells(np.append(-np.inf, values), np.append(values, np.inf), shares)


def _levels_of(synthesizer: Synthesizer, prepared: Any) -> np.ndarray | None:
    """The numbers of the levels, where values are levels."""
    named = getattr(synthesizer, "intervals", None)
    if callable(named):
        lower, upper, _ = (np.asarray(part, dtype=float) for part in named(prepared))
        return lower if np.array_equal(lower, upper) else None
    levels = categories_of(synthesizer, prepared)
    return None if levels is None else np.arange(len(levels), dtype=float)


def _values_at(synthesizer: Synthesizer, prepared: Any, responses: np.ndarray) -> np.ndarray:
    """Ends on the model's scale as values of the target, (G - 1,)."""
    find = getattr(synthesizer, "from_response", None)
    if not callable(find):
        raise InputError(
            f"{type(synthesizer).__name__} has no from_response(responses, prepared), the values "
            "of the target at these on the model's "
            "scale, and centred needs them; leave centred out"
        )
    values = np.asarray(find(responses, prepared), dtype=float)
    if values.shape != responses.shape or not (values[1:] >= values[:-1]).all():
        raise ContractError(
            f"{type(synthesizer).__name__}: from_response must give {len(responses)} numbers in "
            "the order of the responses"
        )
    return values
