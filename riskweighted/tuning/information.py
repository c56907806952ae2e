"""What records teach a fit by their own values, beside what a search asks: the axis of its frontier
(METHODS section 11).
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from riskweighted.common.errors import InputError
from riskweighted.measures.context import EvaluationInputs
from riskweighted.measures.influence_measures import influence_by_chain
from riskweighted.risk.influence import influence
from riskweighted.sequence.fit import Fit

__all__ = ["InformationSummary", "information_at_mode", "information_of_fit", "joint_information"]


class InformationSummary(NamedTuple):
    """Information, own terms of centred weights within: ``isolated``, its mean over isolated
    records, ``largest``; ``attributable``: mean over isolated records of the attributable ball
    probability, NaN where it is not known, as at a mode."""

    isolated: float = np.nan
    largest: float = np.nan
    attributable: float = np.nan

    def over(self, other: "InformationSummary") -> "InformationSummary":
        """By what the other's figures are to be multiplied to be these; 1 where that is no
        number.
        """
        ratios = (own / found if found else np.nan for own, found in zip(self, other, strict=True))
        return InformationSummary(*(ratio if np.isfinite(ratio) else 1.0 for ratio in ratios))

    def scaled(self, by: "InformationSummary") -> "InformationSummary":
        """Multiplied figure by figure."""
        return InformationSummary(*(own * factor for own, factor in zip(self, by, strict=True)))


def joint_information(
    information: Mapping[str, np.ndarray], subject: EvaluationInputs
) -> np.ndarray:
    """That of each record, (n,), of the variables that are meant together, from that of every
    variable.
    """
    return np.asarray(
        np.sum([information[name] for name in subject.world.scenario.synthetic], axis=0)
    )


def information_at_mode(
    information: Mapping[str, np.ndarray], subject: EvaluationInputs
) -> InformationSummary:
    """What the information of each record at a mode, by variable (`Modes.information`), comes
    to.
    """
    each = joint_information(information, subject)
    return InformationSummary(float(each[subject.isolated].mean()), float(each.max()))


def information_of_fit(
    fit: Fit, subject: EvaluationInputs, draws: int, seed: int
) -> InformationSummary:
    """The same of a fit, from all of its draws; what is attributable from so many of them."""
    each = influence_by_chain(fit, subject.world.scenario.synthetic)[0]["information"].to_numpy()
    try:
        attributed = influence(fit, subject.world.scenario, draws=draws, random_seed=seed)[
            "attributable"
        ].to_numpy()
    # a model without mass(), or whose draws miss values that the scenario matches
    except InputError:
        attributed = np.full(len(each), np.nan)
    return InformationSummary(
        float(each[subject.isolated].mean()),
        float(each.max()),
        float(attributed[subject.isolated].mean()),
    )
