"""What a setting of the weights can be asked to reach: which targets there are, along which families, and why others are refused."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from riskweighted.common.errors import InputError, listing
from riskweighted.evaluation.expected import top_amounts
from riskweighted.intruder.world import World
from riskweighted.risk.confidential import confidential_risk
from riskweighted.risk.expected import expected_risk, isolated_records
from riskweighted.risk.influence import influence
from riskweighted.sequence.fit import Fit

__all__ = ["TARGETS", "Measured", "Subject", "Target", "check_family", "check_measurable", "check_target"]


class Measured(NamedTuple):
    """A value and its Monte Carlo standard error."""

    value: float
    error: float


@dataclass(frozen=True, eq=False)
class Subject:
    """Whose risk it is: checked data under the scenario that risk is measured with. Confidential."""

    world: World = field(repr=False)

    @cached_property
    def isolated(self) -> np.ndarray:
        """The isolated records, boolean (n,)."""
        return isolated_records(confidential_risk(self.world).to_numpy())

    @cached_property
    def top(self) -> np.ndarray:
        """The records with the largest hundredth of the values, boolean (n,)."""
        return top_amounts(self.world)


class Target(NamedTuple):
    """A target.

    ``label``: what it is, in words; ``families``: along which it falls as weights do; ``measure``: from a fit, whose risk it is, a number
    of draws and a seed to its value; ``influence``: whether it is one of the fit's draws, where a mode does not tell.
    """

    label: str
    families: tuple[str, ...]
    measure: Callable[[Fit, Subject, int, int], Measured]
    influence: bool


def _risk_of(records: Callable[[Subject], np.ndarray]) -> Callable[[Fit, Subject, int, int], Measured]:
    """Mean expected IR of some records, with the error of means over blocks of draws."""

    def measure(fit: Fit, subject: Subject, draws: int, seed: int) -> Measured:
        found = expected_risk(fit, subject.world, draws, seed)
        means = found.blocks[:, records(subject)].mean(axis=1)
        value = np.average(means, weights=found.sizes)
        off = np.average((means - value) ** 2, weights=found.sizes)
        return Measured(float(value), float(np.sqrt(off / (len(means) - 1))) if len(means) > 1 else np.nan)

    return measure


def _influence(column: str, over: Callable[[np.ndarray], float]) -> Callable[[Fit, Subject, int, int], Measured]:
    """A figure of the influence of all records, from all draws; its error from what each chain alone would give."""

    def measure(fit: Fit, subject: Subject, draws: int, seed: int) -> Measured:
        value = over(influence(fit)[column].to_numpy())
        chains = fit.sizes["chain"]
        if chains == 1:
            return Measured(value, np.nan)
        alone = [fit.of_chain(chain) for chain in range(chains)]
        each = [over(influence(one)[column].to_numpy()) for one in alone]
        return Measured(value, float(np.std(each, ddof=1) / np.sqrt(chains)))

    return measure


_SHAPING = ("mix", "power", "delete")
_ALL = (*_SHAPING, "uniform")
TARGETS: Mapping[str, Target] = {
    "isolated-risk": Target("mean expected risk of the isolated records", _SHAPING, _risk_of(lambda subject: subject.isolated), False),
    "top-1-percent-risk": Target("mean expected risk of the largest 1 % of values", _SHAPING, _risk_of(lambda subject: subject.top), False),
    "lipschitz": Target("largest alpha_i |log p_i| (Delta)", (*_ALL, "lipschitz-target"), _influence("lipschitz", np.max), True),
    "range": Target("largest range of alpha_i log p_i", (*_ALL, "lipschitz-target"), _influence("range", np.max), True),
    "information": Target("sum of the records' information", _ALL, _influence("information", np.sum), True),
}
_OF_NUMBERS = ("top-1-percent-risk", "U_m")  # a target and a loss
_REFUSED = {
    "mean-risk": "the mean of the expected risk hardly moves under any weights, and not in one direction: mass that leaves the tail raises "
    "the risk of the bulk by about what it saves there",
    "maximum-risk": "the maximum belongs to a record in the bulk, whose risk weights do not lower, and over the L datasets at hand it is "
    "mostly chance",
}
_SHRINKING = (
    "shrinking all weights lets the prior take over, which raises the risk of isolated records again, so the target is not monotone there"
)


def check_target(name: object) -> Target:
    """The target of that name.

    Raises
    ------
    InputError
        If there is none, or it is one that no weights can be chosen by; says why.
    """
    if isinstance(name, str) and name in _REFUSED:
        raise InputError(f"{name!r} is no target: {_REFUSED[name]}; valid are {listing(TARGETS)}")
    if not isinstance(name, str) or name not in TARGETS:
        raise InputError(f"target must be one of {listing(TARGETS)}, got {name!r}")
    return TARGETS[name]


def check_measurable(target: str, loss: str, world: World) -> None:
    """Refuse a target or a loss of numbers where the synthesized variable is matched by equality.

    Raises
    ------
    InputError
    """
    (variable,) = world.scenario.synthetic
    asked = [f"{what} {name!r}" for what, name in (("target", target), ("loss", loss)) if name in _OF_NUMBERS]
    if asked and variable not in world.numeric:
        raise InputError(
            f"{' and '.join(asked)} of numbers, and {variable!r} has none: choose another, such as 'isolated-risk' and 'overlap'"
        )


def check_family(family: object, target: str, families: Mapping[str, object], without: tuple[str, ...] = ()) -> None:
    """Refuse a family along which a target cannot be tuned.

    Parameters
    ----------
    family : object
    target : str
        Of `TARGETS`.
    families : mapping
        Those with a parameter.
    without : tuple of str
        Schemes without one.
    """
    valid = TARGETS[target].families
    if family in valid:
        return
    hint = f"valid for {target!r} are {listing(valid)}"
    if family in without or (isinstance(family, str) and family.endswith("-way")):
        raise InputError(f"family {family!r} has no parameter to tune; {hint}")
    if family not in families:
        raise InputError(f"unknown family {family!r}; {hint}")
    if not TARGETS[target].influence:
        raise InputError(f"{target!r} cannot be tuned along {family!r}: {_SHRINKING}; {hint}")
    raise InputError(f"{target!r} cannot be tuned along {family!r}: nothing bounds it there as the setting changes; {hint}")
