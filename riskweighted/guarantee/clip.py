"""The censored pseudo posterior: contributions clipped, in the graph and in NumPy, and what would
void the proof refused.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.interrupts import raise_interrupt
from riskweighted.contract.categories import target_numbers
from riskweighted.contract.distribution import read_only
from riskweighted.contract.synthesizer import (
    Blueprint,
    ContractError,
    Synthesizer,
    Tensor,
    data_dependent,
    keeps_true_values,
    probability_mass,
)
from riskweighted.guarantee.interval_cells import IntervalCells, cells_of
from riskweighted.guarantee.statement import Guarantee, Statement

if TYPE_CHECKING:
    import pymc as pm

__all__ = [
    "DATA",
    "LOWER",
    "UPPER",
    "Censoring",
    "censor",
    "clipped_sum",
    "obstacles",
    "record_graph",
    "refusal",
]

LOWER, UPPER = "guarantee_lower", "guarantee_upper"
DATA = ("guarantee_alpha", "guarantee_reference", LOWER, UPPER)  # the pm.Data of a censored model


@dataclass(frozen=True, eq=False)
class Censoring:
    """How the contributions of a fit's records are clipped: the statement that follows, and the
    reference log density r, (n,).

    ``guarantee``: what r is of, to be asked for other values (`at`); None where r is 0. ``cells``:
    over which the term is summed that a centred clip takes off; None where it is not centred.
    """

    statement: Statement
    reference: np.ndarray = field(repr=False)
    guarantee: Guarantee | None = field(default=None, repr=False)
    cells: IntervalCells | None = field(default=None, repr=False)

    def at(self, synthesizer: Synthesizer, prepared: Any, frame: pd.DataFrame) -> "Censoring":
        """The same clip of other values of the same records: only the reference looks at them."""
        if self.guarantee is None or self.guarantee.reference is None:
            return self
        return replace(
            self, reference=_reference(synthesizer, prepared.at(frame), frame, self.guarantee)
        )

    def contributions(self, alpha: np.ndarray, terms: np.ndarray) -> np.ndarray:
        """g_i = clip(alpha_i (l_i - r_i), a, b), (n,), of terms l (n,): what of a record's
        contribution depends on its value.
        """
        weighted = alpha * (terms - self.reference)
        return np.clip(
            np.where(np.isnan(weighted), self.statement.lower, weighted),
            self.statement.lower,
            self.statement.upper,
        )

    def values(self, alpha: np.ndarray) -> dict[str, Any]:
        """Of the ``pm.Data`` that `clipped_sum` makes; the weights (n,) are all the same."""
        return dict(
            zip(
                DATA,
                (alpha[0], self.reference, self.statement.lower, self.statement.upper),
                strict=True,
            )
        )

    def digest(self) -> str:
        """Of all that decides the mechanism but alpha; the reference to one millionth."""
        statement = self.statement
        text = f"{statement.lower!r} {statement.upper!r} {statement.L} {statement.neighbours}"
        if self.cells is not None:
            text += f" centred {self.cells.label}"
        return hashlib.sha256(
            text.encode() + np.rint(self.reference * 1e6).astype("<i8").tobytes()
        ).hexdigest()


def record_graph(
    synthesizer: Synthesizer, prepared: Any, blueprint: Blueprint, confidential: pd.DataFrame
) -> Tensor:
    """log p(y_i | theta) in the graph of a model, (n,), as its distribution states it of
    expressions; None where it knows numbers alone.
    """
    from pytensor.tensor import TensorVariable

    model = blueprint.model
    theta: Any = {
        str(variable.name): variable for variable in (*model.free_RVs, *model.deterministics)
    }
    y = read_only(target_numbers(synthesizer, prepared, confidential))
    try:
        records = synthesizer.distribution(theta, prepared).log_density(y)
    except Exception:  # whatever NumPy, SciPy or a stranger's code says to an expression
        return None
    return records if isinstance(records, TensorVariable) else None


def clipped_sum(model: "pm.Model", records: Tensor, n: int) -> Tensor:
    """sum_i g_i of log-likelihoods (n,) in the graph of a model, whose bounds, weight and reference
    are ``pm.Data`` (`Censoring.values`).

    A contribution that is not a number, far out in the parameters, counts as the lower bound: any
    function of one record and theta may stand between the bounds.
    """
    import pymc as pm
    import pytensor.tensor as pt

    with model:
        alpha, reference, lower, upper = (
            pm.Data(name, value)
            for name, value in zip(DATA, (1.0, np.zeros(n), -1.0, 1.0), strict=True)
        )
        weighted = alpha * (records - reference)
        return pt.clip(pt.switch(pt.isnan(weighted), lower, weighted), lower, upper).sum()


def obstacles(synthesizer: Synthesizer, prepared: Any, confidential: pd.DataFrame) -> list[str]:
    """What of a synthesizer voids a guarantee, in words: settings taken from the data, or a
    likelihood that cannot be clipped.
    """
    name = type(synthesizer).__name__
    if keeps_true_values(synthesizer):
        return [f"{name}, whose output holds confidential values"]
    hindering, settings = [], data_dependent(synthesizer)
    if settings is None:
        hindering.append(
            f"{name}, which does not say which of its settings depend on the data (data_dependent)"
        )
    else:
        hindering += [f"{setting} of {name}" for setting in settings]
    blueprint = synthesizer.build(prepared)
    if blueprint is None:
        hindering.append(f"{name}, which estimates nothing")
    elif record_graph(synthesizer, prepared, blueprint, confidential) is None:
        hindering.append(
            f"{name}, whose log_density is of numbers alone: what is clipped in the graph is "
            "that of expressions (PyTensor)"
        )
    return hindering


def refusal(hindering: list[str]) -> InputError:
    """One error that names all that depends on the data, or else voids the guarantee."""
    counted = "is 1 such thing" if len(hindering) == 1 else f"are {len(hindering)} such things"
    return InputError(
        f"a guarantee holds for nothing that is taken from the data, and here {counted}: "
        f"{'; '.join(hindering)}; "
        "state public values instead, or leave the guarantee out"
    )


def censor(
    synthesizer: Synthesizer,
    prepared: Any,
    confidential: pd.DataFrame,
    alpha: pd.Series,
    guarantee: Guarantee,
    L: int,  # noqa: N803
    besides: Sequence[str] = (),
) -> Censoring:
    """The clip that a guarantee asks for, once nothing voids it; `besides`: what else does, in
    words.

    Raises
    ------
    InputError
        Naming all that is taken from the data: settings that the synthesizer says are, or weights
        that are not all the same; or if the synthesizer's log_density is of numbers alone, the
        reference is not finite somewhere or looks at more than each record, or a clip is to be
        centred and there is no rule for it (`riskweighted.guarantee.interval_cells`).
    """
    hindering = [*obstacles(synthesizer, prepared, confidential), *besides]
    if alpha.nunique() > 1:
        hindering.append("weights alpha that are not all the same")
    if hindering:
        raise refusal(hindering)
    statement = guarantee.statement(L, probability_mass(synthesizer))
    cells = cells_of(synthesizer, prepared, guarantee) if guarantee.centred else None
    return Censoring(
        statement, _reference(synthesizer, prepared, confidential, guarantee), guarantee, cells
    )


def _reference(
    synthesizer: Synthesizer, prepared: Any, confidential: pd.DataFrame, guarantee: Guarantee
) -> np.ndarray:
    """r(y_i, x_i), (n,), finite; the callable sees the values and what is declared public."""
    n = len(confidential)
    if guarantee.reference is None:
        return np.zeros(n)
    respond = getattr(synthesizer, "response", None)
    if not callable(respond):
        raise InputError(
            f"{type(synthesizer).__name__} has no response(prepared), the values on the model's "
            "scale, and a reference needs them; "
            "leave the reference out"
        )
    values = np.asarray(respond(prepared), dtype=float)
    public = confidential[[name for name in guarantee.public if name != synthesizer.target]]
    if values.shape != (n,):
        raise ContractError(
            f"{type(synthesizer).__name__}: response must give {n} numbers, one a record; got "
            f"shape {values.shape}"
        )
    try:
        reference = np.asarray(guarantee.reference(values.copy(), public), dtype=float)
    except InputError:
        raise
    except Exception as error:  # a user's function: its text may quote values
        raise_interrupt(error)
        raise InputError(
            f"reference raised {type(error).__name__}; it must give one number a record, {n}"
        ) from None
    if reference.shape != (n,):
        raise InputError(
            f"reference must give one number a record, {n}; got shape {reference.shape}"
        )
    unfit = int((~np.isfinite(reference)).sum())
    if unfit:
        raise InputError(
            f"reference is not finite in {unfit} of {n} records; give a log density that is "
            "finite for every possible value on the model's "
            "scale"
        )
    half = np.arange(0, n, 2)
    again = np.asarray(guarantee.reference(values[half], public.iloc[half]), dtype=float)
    if not np.allclose(again, reference[half], rtol=1e-9, atol=1e-9):
        raise InputError(
            "reference must look at each record alone: for half of the records it gives other "
            "numbers than for all of them"
        )
    return reference
