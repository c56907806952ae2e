"""What is asked of a search, checked before anything is sampled: a target, constraints, a family of
weights, a loss of utility.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pandas as pd

from riskweighted.common.checks import check_count, check_number
from riskweighted.common.errors import InputError, listing
from riskweighted.common.replaced import refuse_replaced
from riskweighted.intruder.world import World
from riskweighted.measures.context import EvaluationInputs
from riskweighted.measures.cross_tables import table_columns
from riskweighted.measures.evaluation_settings import EvaluationSettings
from riskweighted.measures.measure import Aim, Estimate, Loss as Declared, Measure
from riskweighted.measures.registry import measures
from riskweighted.tuning.dataset_measures import is_measured, measured_on, value_on
from riskweighted.utility.regressions import Analysis
from riskweighted.weights.families import FAMILIES, family_of
from riskweighted.weights.scheme_names import UNWEIGHTED

__all__ = [
    "Target",
    "TuningLoss",
    "TuningSettings",
    "check_measurable",
    "find_constraint",
    "find_target",
    "loss_of",
]

_WITHOUT = (UNWEIGHTED, "marginal", "pairwise")  # a parameter
_MOVING = ("drop-riskiest",)  # families whose weights move with other records' values by a jump
_NAME = re.compile(r"(?P<measure>[a-z0-9-]+)(\((?P<variable>.+)\))?")
_SHRINKING = (
    "shrinking all weights lets the prior take over, which raises the risk of isolated records "
    "again, so the target is not monotone there"
)


class Target(NamedTuple):
    """A target, or a constraint, as it was asked for: its ``aim``, of the whole file or of a
    ``variable``.
    """

    aim: Aim
    variable: str | None

    @property
    def label(self) -> str:
        """What it is, in words."""
        return (
            self.aim.label if self.variable is None else f"{self.aim.label}, {self.variable} alone"
        )

    @property
    def families(self) -> tuple[str, ...]:
        """The families of weights along which it falls, as the paper's."""
        return tuple(name for name, family in FAMILIES.items() if self.aim.of in family.lowers)

    @property
    def centred(self) -> tuple[str, ...]:
        """The families of centred weights along which it falls."""
        named = ((f"{name}+", family_of(f"{name}+")) for name in FAMILIES)
        return tuple(
            name for name, family in named if family is not None and self.aim.of in family.lowers
        )

    @property
    def walked(self) -> tuple[str, ...]:
        """The families that are searched where none is named.

        What an intruder guesses (risk) the paper's weights alone lower, by bending the model. What
        a record's own value teaches centred ones lower as well, and leave the model straight; equal
        weights have nothing to centre. A cut at a quantile of the data moves with each record and
        shows the next one to it, so that `drop-riskiest` is walked by name alone.
        """
        if self.aim.of == "risk":
            return self.families
        centred = [name for name in self.centred if name.removesuffix("+") not in _MOVING]
        # whatever the value
        same = (
            name
            for name in self.families
            if FAMILIES[name].fit is None and FAMILIES[name].shape is None
        )
        return (*centred, *same)


class TuningLoss(NamedTuple):
    """A loss: its ``label``, and ``measure`` from L synthetic datasets to its value and Monte Carlo
    error. Lower is better.
    """

    label: str
    measure: Callable[[Sequence[pd.DataFrame]], Estimate]


@dataclass(frozen=True)
class TuningSettings:
    """What is asked of a search: a target, a family or None for all along which it falls, a loss.

    ``risk_draws``: posterior draws on which the expected risk of a fit is measured;
    ``constraints``: what other figures shall not exceed, by name. Names as in `tune`.
    """

    target: str
    target_max: float
    family: str | None = None
    loss: str = "U_m"
    risk_draws: int | None = None
    constraints: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        find_target(self.target)
        object.__setattr__(self, "constraints", _checked_limits(self.constraints))
        if check_number(self.target_max, "target_max", least=0) == 0:
            raise InputError("target_max must be a number > 0, got 0")
        if self.target_max >= 1 and self.asked.aim.of == "risk" and self.asked.aim.name in _short():
            raise InputError(
                f"target_max of {self.target!r} must be below 1, as it is a probability (0.05 is 5 "
                f"%), got {self.target_max:g}"
            )
        if self.family is not None:
            self._check_family(self.family)
        _declared_loss(self.loss)
        if self.risk_draws is not None:
            check_count(self.risk_draws, "risk_draws")

    @property
    def asked(self) -> Target:
        """The target that is meant."""
        return find_target(self.target)

    @property
    def constraint_targets(self) -> tuple[Target, ...]:
        """What is kept beside the target, in the order of ``constraints``."""
        return tuple(find_constraint(name) for name in self.constraints)

    @property
    def tried(self) -> tuple[str, ...]:
        """The families that are searched."""
        return self.asked.walked if self.family is None else (self.family,)

    def _check_family(self, family: object) -> None:
        """Refuse a family along which the target cannot be tuned."""
        valid = (*self.asked.families, *self.asked.centred)
        if family in valid:
            return
        refuse_replaced("scheme", family)
        hint = f"valid for {self.target!r} are {listing(valid)}"
        if family in _WITHOUT or (isinstance(family, str) and family.endswith("-way")):
            raise InputError(f"family {family!r} has no parameter to tune; {hint}")
        if not isinstance(family, str) or family_of(family) is None:
            raise InputError(f"unknown family {family!r}; {hint}")
        why = (
            "nothing bounds it there as the setting changes"
            if self.asked.aim.of != "risk"
            else _SHRINKING
        )
        why = (
            "an unbiased model guesses a record that stands out as well as it would a stranger"
            if family.endswith("+")
            else why
        )
        raise InputError(f"{self.target!r} cannot be tuned along {family!r}: {why}; {hint}")


def find_target(asked: object) -> Target:
    """The target of a name: ``"isolated-risk"``, any measure's key, or either of one variable:
    ``"isolated-risk(income)"``.

    Refused if there is none, or it is one that no weights can be chosen by, with the reason.
    """
    names = [name for name, aim in _short().items() if aim.of != "disclosure"]
    found = _found(asked, "target", names)
    if found.aim.of == "disclosure":
        raise InputError(
            f"{found.aim.name!r} is no target: no family of weights is sure to lower it; it is a "
            "constraint, name it in constraints"
        )
    return found


def find_constraint(asked: object) -> Target:
    """What is kept beside a target, by its name: that of any target, or of what is a constraint
    alone, such as "disclosure-largest".
    """
    return _found(asked, "constraint", list(_short()))


def _short() -> dict[str, Aim]:
    """How measures say themselves that they are a target or constraint, by short name."""
    return {aim.name: aim for measure in measures().values() for aim in measure.aims}


def _found(asked: object, what: str, valid: Sequence[str]) -> Target:
    """The target or constraint of a name; refused with the reason if there is none."""
    match = _NAME.fullmatch(asked) if isinstance(asked, str) else None
    name = match["measure"] if match is not None else ""
    aim, measure = _short().get(name), measures().get(name)
    refuse_replaced("measure", name)
    if match is not None and aim is not None:
        return Target(aim, match["variable"])
    if match is None or measure is None:
        raise InputError(
            f"{what} must be one of {listing(valid)} or another measure's key, got {asked!r}"
        )
    if isinstance(measure.aim, str):
        raise InputError(f"{name!r} is no {what}: {measure.aim}; valid are {listing(valid)}")
    if measure.aim is None and not is_measured(measure):
        raise InputError(
            f"{name!r} is no {what}: it is no single number that a lower one is better of; valid "
            f"are {listing(valid)}"
        )
    return Target((*measure.aims, _aim_of(measure))[0], match["variable"])


def _checked_limits(constraints: object) -> dict[str, float]:
    """What constraints shall not exceed, by name."""
    if not isinstance(constraints, Mapping):
        raise InputError(
            "constraints must be a table of limits by measure, such as "
            f"{{ isolated-information = 0.5 }}, got {type(constraints).__name__}"
        )
    for name, at_most in constraints.items():
        find_constraint(name)
        if check_number(at_most, f"constraints.{name}", least=0) == 0:
            raise InputError(f"constraints.{name} must be a number > 0, got 0")
    return {str(name): float(at_most) for name, at_most in constraints.items()}


def _aim_of(measure: Measure) -> Aim:
    """How a measure of datasets is a target that does not say so itself."""
    label = measure.words or measure.label
    return Aim(
        measure.key,
        label,
        "risk",
        lambda fit, subject, draws, seed: measured_on(measure, fit, subject, seed),
    )


def loss_of(name: str, world: World, analysis: Analysis | None) -> TuningLoss:
    """A loss by its short name or the key of a measure of utility (`tune`); "overlap" needs a
    regression.
    """
    return TuningLoss(*_declared_loss(name).make(world, analysis))


def _declared_loss(name: object) -> Declared:
    """How a measure is a loss; refused if it is no measure of utility of which a higher value is
    better or worse.
    """
    short = {
        measure.loss.name: measure for measure in measures().values() if measure.loss is not None
    }
    measure = (short.get(name) or measures().get(name)) if isinstance(name, str) else None
    if measure is not None and measure.loss is not None:
        return measure.loss
    refuse_replaced("measure", name)
    if measure is None or measure.table != "utility" or not is_measured(measure):
        raise InputError(
            f"loss must be one of {listing(short)} or another measure of utility, got {name!r}"
        )
    return Declared(measure.key, lambda world, analysis: _undeclared_loss(measure, world, analysis))


def _undeclared_loss(
    measure: Measure, world: World, analysis: Analysis | None
) -> tuple[str, Callable[[Sequence[pd.DataFrame]], Estimate]]:
    """A measure of utility that does not say itself how it is a loss; 1 less one of which higher is
    better.
    """
    subject = EvaluationInputs(
        world, EvaluationSettings(), analysis, crossed=table_columns(world, None)
    )
    if measure.direction == "less useful":
        return measure.label, lambda frames: value_on(measure, subject, frames)

    def lack(frames: Sequence[pd.DataFrame]) -> Estimate:
        value, error = value_on(measure, subject, frames)
        return Estimate(1 - value, error)

    return f"1 - {measure.label}", lack


def check_measurable(settings: TuningSettings, world: World) -> None:
    """Refuse a target or constraint of a variable that is not synthesized, and one or a loss of
    numbers where none are matched as such.
    """
    given = [(f"target {settings.target!r}", settings.asked)]
    given += [
        (f"constraint {name!r}", asked)
        for name, asked in zip(settings.constraints, settings.constraint_targets, strict=True)
    ]
    for what, asked in given:
        _check_of_numbers(what, asked, settings.loss, world)


def _check_of_numbers(what: str, asked: Target, loss: str, world: World) -> None:
    names = world.scenario.synthetic
    if asked.variable is not None and asked.variable not in names:
        raise InputError(
            f"{what} is of {asked.variable!r}, which is not synthesized; valid are {listing(names)}"
        )
    meant = names if asked.variable is None else (asked.variable,)
    numeric = [name for name in meant if name in world.numeric]
    of_numbers = [what] if asked.aim.numeric and not numeric else []
    of_numbers += [f"loss {loss!r}"] if _declared_loss(loss).numeric and not world.numeric else []
    if of_numbers:
        raise InputError(
            f"{' and '.join(of_numbers)} of numbers, and {listing(meant)} has none: choose "
            "another, such as 'isolated-risk' and 'overlap'"
        )
    if asked.aim.numeric and len(meant) > 1:
        raise InputError(
            f"{what} is of one variable: name it, as in {f'{asked.aim.name}({numeric[0]})'!r}"
        )
