"""What a setting of the weights can be asked to reach: any measure of the registry, of the whole file or of one variable of several."""

import re
from typing import NamedTuple

from riskweighted.common.errors import InputError, listing
from riskweighted.intruder.world import World
from riskweighted.measures.measure import Aim, Measure
from riskweighted.measures.registry import measures
from riskweighted.tuning.datasets import is_measured, measured_on
from riskweighted.tuning.losses import find_loss
from riskweighted.weights.families import FAMILIES
from riskweighted.weights.names import UNWEIGHTED

__all__ = ["Target", "check_family", "check_measurable", "find_target", "target_names"]

_NAME = re.compile(r"(?P<measure>[a-z0-9-]+)(\((?P<variable>.+)\))?")
_WITHOUT = (UNWEIGHTED, "marginal", "pairwise")  # a parameter
_SHRINKING = (
    "shrinking all weights lets the prior take over, which raises the risk of isolated records again, so the target is not monotone there"
)


class Target(NamedTuple):
    """A target as it was asked for: its ``aim``, of the whole file or of a ``variable``."""

    aim: Aim
    variable: str | None

    @property
    def label(self) -> str:
        """What it is, in words."""
        return self.aim.label if self.variable is None else f"{self.aim.label}, {self.variable} alone"

    @property
    def families(self) -> tuple[str, ...]:
        """The families of weights along which it falls."""
        return tuple(name for name, family in FAMILIES.items() if self.aim.of in family.lowers)


def target_names() -> list[str]:
    """The short names of the measures that say how they are a target."""
    return [one.aim.name for one in measures().values() if isinstance(one.aim, Aim)]


def find_target(asked: object) -> Target:
    """The target of a name: ``"isolated-risk"``, any measure's key, or either of one variable: ``"isolated-risk(income)"``.

    Raises
    ------
    InputError
        If there is none, or it is one that no weights can be chosen by; says why.
    """
    found = _NAME.fullmatch(asked) if isinstance(asked, str) else None
    name = found["measure"] if found is not None else ""
    short = {one.aim.name: one for one in measures().values() if isinstance(one.aim, Aim)}
    measure = short.get(name) or measures().get(name)
    if found is None or measure is None:
        raise InputError(f"target must be one of {listing(short)} or another measure's key, got {asked!r}")
    if isinstance(measure.aim, str):
        raise InputError(f"{name!r} is no target: {measure.aim}; valid are {listing(short)}")
    if measure.aim is None and not is_measured(measure):
        raise InputError(f"{name!r} is no target: it is no single number that a lower one is better of; valid are {listing(short)}")
    return Target(measure.aim or _aim_of(measure), found["variable"])


def _aim_of(measure: Measure) -> Aim:
    """How a measure of datasets is a target that does not say so itself."""
    label = measure.words or measure.label
    return Aim(measure.key, label, "risk", lambda fit, subject, draws, seed: measured_on(measure, fit, subject, seed))


def check_measurable(target: str, loss: str, world: World) -> None:
    """Refuse a target of a variable that is not synthesized, and one or a loss of numbers where none are matched as such.

    Raises
    ------
    InputError
    """
    asked, names = find_target(target), world.scenario.synthetic
    if asked.variable is not None and asked.variable not in names:
        raise InputError(f"target {target!r} is of {asked.variable!r}, which is not synthesized; valid are {listing(names)}")
    meant = names if asked.variable is None else (asked.variable,)
    numeric = [name for name in meant if name in world.numeric]
    of_numbers = [f"target {target!r}"] if asked.aim.numeric and not numeric else []
    of_numbers += [f"loss {loss!r}"] if find_loss(loss).numeric and not world.numeric else []
    if of_numbers:
        raise InputError(
            f"{' and '.join(of_numbers)} of numbers, and {listing(meant)} has none: choose another, such as 'isolated-risk' and 'overlap'"
        )
    if asked.aim.numeric and len(meant) > 1:
        raise InputError(f"target {target!r} is of one variable: name it, as in {f'{asked.aim.name}({numeric[0]})'!r}")


def check_family(family: object, target: str) -> None:
    """Refuse a family along which a target cannot be tuned.

    Raises
    ------
    InputError
    """
    asked = find_target(target)
    if family in asked.families:
        return
    hint = f"valid for {target!r} are {listing(asked.families)}"
    if family in _WITHOUT or (isinstance(family, str) and family.endswith("-way")):
        raise InputError(f"family {family!r} has no parameter to tune; {hint}")
    if family not in FAMILIES:
        raise InputError(f"unknown family {family!r}; {hint}")
    if not asked.aim.influence:
        raise InputError(f"{target!r} cannot be tuned along {family!r}: {_SHRINKING}; {hint}")
    raise InputError(f"{target!r} cannot be tuned along {family!r}: nothing bounds it there as the setting changes; {hint}")
