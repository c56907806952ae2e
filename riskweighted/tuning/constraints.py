"""Figures that a setting must keep beside its target: measured at the mode, as far as that tells,
and on every fit.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.disclosure.leave_one_out_weights import Weighting
from riskweighted.disclosure.own_packs import disclosure_of_copies
from riskweighted.intruder.world import World
from riskweighted.measures.context import EvaluationInputs
from riskweighted.measures.evaluation_settings import EvaluationSettings
from riskweighted.measures.measure import Estimate
from riskweighted.sequence.fit import Fit
from riskweighted.tuning.tuning_settings import Target, TuningSettings

__all__ = ["Constraint", "Leaving", "constraints_of", "constraints_table", "load", "meets"]


class Leaving(NamedTuple):
    """How a record is left out of a fit: by what weights were made, of a scheme as text, and by
    which column records belong together.
    """

    weighting: Callable[[str], Weighting]
    unit: str | None = None


@dataclass(frozen=True, eq=False)
class Constraint:
    """A figure that a setting must keep: its ``name`` as it was asked, what it is ``at_most``, and
    whose it is.
    """

    name: str
    at_most: float
    asked: Target
    subject: EvaluationInputs = field(repr=False)
    leaving: Leaving | None = field(default=None, repr=False)

    @property
    def of_draws(self) -> bool:
        """Whether it needs draws of parameters, of which a mode alone says nothing."""
        return self.asked.aim.influence

    def measure(
        self, fit: Fit, scheme: str, draws: int, seed: int, *, at_mode: bool = False
    ) -> Estimate:
        """Of a fit whose weights are those of a scheme; around a mode importance weights are taken
        as they are.
        """
        subject = self.subject
        if self.leaving is not None and self.asked.aim.of == "disclosure":
            subject = replace(
                subject, disclosed=partial(self._disclosed, self.leaving, scheme, not at_mode)
            )
        return self.asked.aim.measure(fit, subject, draws, seed)

    def _disclosed(
        self, leaving: Leaving, scheme: str, bounded: bool, fit: Fit, seed: int
    ) -> np.ndarray:
        weighting = leaving.weighting(scheme)
        return disclosure_of_copies(
            fit, self.subject.world, weighting, leaving.unit, bounded=bounded, random_seed=seed
        )


def constraints_of(
    settings: TuningSettings, world: World, leaving: Leaving | None
) -> tuple[Constraint, ...]:
    """Those of a search, in the order in which they were asked."""
    return tuple(
        Constraint(
            name,
            at_most,
            asked,
            EvaluationInputs(
                world if asked.variable is None else world.only(asked.variable),
                EvaluationSettings(),
            ),
            leaving,
        )
        for (name, at_most), asked in zip(
            settings.constraints.items(), settings.constraint_targets, strict=True
        )
    )


def meets(figure: Estimate, at_most: float) -> bool:
    """Whether a fit keeps to what a figure shall not exceed, but for its Monte Carlo error; one
    that is not known is not kept.
    """
    return bool(figure.value <= at_most + np.nan_to_num(figure.error))


def load(figures: Iterable[Estimate], limits: Iterable[float]) -> float:
    """The largest of some figures as shares of what they shall not exceed: at most 1 where all are
    kept; unknown ones count for nothing.
    """
    shares = [figure.value / limit for figure, limit in zip(figures, limits, strict=True)]
    known = [share for share in shares if np.isfinite(share)]
    return float(max(known)) if known else np.nan


def constraints_table(
    constraints: Sequence[Constraint], unweighted: Sequence[Estimate], figures: Sequence[Estimate]
) -> pd.DataFrame:
    """See `Tuning.constraints`."""
    rows = [
        {
            "constraint": one.name,
            "label": one.asked.label,
            "at_most": one.at_most,
            "value": figure.value,
            "error": figure.error,
            "unweighted": before.value,
            "kept": meets(figure, one.at_most),
        }
        for one, before, figure in zip(constraints, unweighted, figures, strict=True)
    ]
    columns = ["constraint", "label", "at_most", "value", "error", "unweighted", "kept"]
    return pd.DataFrame(rows, columns=columns)
