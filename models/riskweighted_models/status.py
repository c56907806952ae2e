"""Which kind of value a record has (a special code, zero, negative or positive), by
continuation-ratio logits (METHODS section 5).
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pytensor.tensor as pt
from scipy.special import expit

from riskweighted.contract.synthesizer import Density, Draw, Tensor
from riskweighted_models.continuation import cell_weights, log_probabilities, log_probability_graph

__all__ = [
    "StatusCells",
    "log_status_graph",
    "probabilities",
    "slopes_can_follow",
    "status_density",
    "status_priors",
    "status_sum",
]


_INTERCEPT_MEAN, _INTERCEPT_SD = -2.2, 1.5  # a share of one tenth
# of a status, and of what is left, from which its share follows the predictors, however many these
# are
_FEWEST_EVENTS = 5


class StatusCells(NamedTuple):
    """Distinct designs ``rows`` (m, p), each record's (``which``) and its ``status``, 0, ..., S -
    1, -1 where not known. Confidential.

    ``sloped``: the statuses, but the last one, whose share follows the predictors; that of the
    others is the same for all. ``statuses``: S.
    """

    rows: np.ndarray
    which: np.ndarray
    status: np.ndarray
    sloped: tuple[int, ...]
    statuses: int

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of every parameter, in the order of the vector that is sampled."""
        p = self.rows.shape[1]
        return ({"status_intercept": (self.statuses - 1,)} if self.statuses > 1 else {}) | (
            {"status_slope": (len(self.sloped), p)} if self.sloped else {}
        )

    def weigh(self, alpha: np.ndarray) -> dict[str, np.ndarray]:
        """Sums of alpha (n,) over the records of each status and design, (S, m)."""
        sums = cell_weights(self.status, self.which, alpha, self.statuses, len(self.rows))
        return {"status_weight": sums} if self.statuses > 1 else {}


def slopes_can_follow(status: np.ndarray, count: int, predictors: int) -> tuple[int, ...]:
    """The statuses, of those that are not the last, with five records or more, and as many of what
    is left.
    """
    at_risk = [int((status >= place).sum()) for place in range(count - 1)]
    events = [int((status == place).sum()) for place in range(count - 1)]
    enough = [
        min(event, risk - event) >= _FEWEST_EVENTS
        for event, risk in zip(events, at_risk, strict=True)
    ]
    return tuple(place for place in range(count - 1) if predictors and enough[place])


def status_priors(cells: StatusCells) -> dict[str, Tensor]:
    """The parameters, as variables of the ``pm.Model`` around."""
    import pymc as pm

    moments = {"status_intercept": (_INTERCEPT_MEAN, _INTERCEPT_SD), "status_slope": (0.0, 1.0)}
    return {
        name: pm.Normal(name, *moments[name], shape=shape) for name, shape in cells.shapes.items()
    }


def status_sum(theta: dict[str, Tensor], cells: StatusCells, weight: Tensor) -> Tensor:
    """sum of alpha log P(status | x)."""
    return (weight * log_status_graph(theta, cells)).sum() if cells.statuses > 1 else pt.zeros(())


def log_status_graph(theta: Mapping[str, Tensor], cells: StatusCells) -> Tensor:
    """log P(status | design), (S, m)."""
    if cells.statuses == 1:
        return pt.zeros((1, len(cells.rows)))
    logits = []
    for place in range(cells.statuses - 1):
        logit = theta["status_intercept"][place] + pt.zeros(len(cells.rows))
        if place in cells.sloped:
            logit = (
                logit + pt.as_tensor(cells.rows) @ theta["status_slope"][cells.sloped.index(place)]
            )
        logits.append(logit)
    return log_probability_graph(pt.stack(logits), cells.statuses)


def status_density(
    cells: StatusCells, alpha: np.ndarray, expected: np.ndarray | None = None
) -> Density:
    """The posterior for weights alpha (n,): from a vector (d,) to its log density, up to a
    constant, and gradient (d,).

    Less the centring term, sum of `expected` (S, m) times P(status | design), if it is given: its
    derivatives are those of a log-likelihood with weights `expected` times P(status | design),
    held.
    """
    weight = cells.weigh(alpha)["status_weight"]
    later = np.cumsum(weight[::-1], axis=0)[::-1]
    first, p = cells.statuses - 1, cells.rows.shape[1]

    def density(vector: np.ndarray) -> tuple[float, np.ndarray]:
        gradient = -vector
        gradient[:first] = -(vector[:first] - _INTERCEPT_MEAN) / _INTERCEPT_SD**2
        height = 0.5 * float(gradient[:first] @ (vector[:first] - _INTERCEPT_MEAN)) - 0.5 * float(
            vector[first:] @ vector[first:]
        )
        begins = [
            first + cells.sloped.index(place) * p if place in cells.sloped else None
            for place in range(first)
        ]
        logits = np.empty((first, len(cells.rows)))
        for place, begin in enumerate(begins):
            logits[place] = (
                vector[place]
                if begin is None
                else vector[place] + cells.rows @ vector[begin : begin + p]
            )
        gaining, at_risk = weight, later
        if expected is not None:
            taken = expected * np.exp(log_probabilities(logits))
            height -= float(taken.sum())
            gaining, at_risk = weight - taken, later - np.cumsum(taken[::-1], axis=0)[::-1]
        for place, begin in enumerate(begins):
            logit = logits[place]
            height += float(weight[place] @ logit - later[place] @ np.logaddexp(0.0, logit))
            by_logit = gaining[place] - at_risk[place] * expit(logit)
            gradient[place] += by_logit.sum()
            if begin is not None:
                gradient[begin : begin + p] += by_logit @ cells.rows
        return height, gradient

    return density


def probabilities(theta: Draw, cells: StatusCells) -> np.ndarray:
    """P(status | x) of every distinct design, (m, S)."""
    logits = np.empty((cells.statuses - 1, len(cells.rows)))
    for place in range(cells.statuses - 1):
        logits[place] = float(theta["status_intercept"][place])
        if place in cells.sloped:
            logits[place] += cells.rows @ theta["status_slope"][cells.sloped.index(place)]
    return np.asarray(np.exp(log_probabilities(logits)).T)
