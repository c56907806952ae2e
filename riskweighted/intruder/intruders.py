"""Several intruders of one study: each knows other columns, or finds other values close (METHODS
section 1.1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from riskweighted.common.checks import check_names, check_text
from riskweighted.common.errors import InputError, listing
from riskweighted.common.settings import read_by
from riskweighted.intruder.scenario import Scenario

__all__ = ["WORST", "Intruder", "check_intruders", "union_of"]

WORST = "worst"  # in place of an intruder's name: the largest risk over all of them

Radius = float | Mapping[str, float]
_IN_SCENARIO = read_by(why="stages read the scenario that is made of it")


@dataclass(frozen=True, kw_only=True)
class Intruder:
    """An intruder is one of several against whom a study protects, by what only this one knows.

    What is common to all, the synthesized variables among it, stands in the study's `Scenario`.

    Parameters
    ----------
    name : str
        As tables, reports and ``weights.intruder`` call this one.
    known : str or sequence of str
        The columns whose true values this one holds.
    radius, min_radius : float or mapping of str to float, optional
        As of a `Scenario`; by default those of the common one.
    union : bool
        Whether this one knows all that the others know together; then `known` is left out.

    Examples
    --------
    >>> neighbour = rw.Intruder(name="neighbour", known=["region"], radius=0.1)
    >>> neighbour.within(rw.Scenario(synthetic="income")).radius
    0.1
    """

    name: str = field(metadata=_IN_SCENARIO)
    known: Sequence[str] = field(default=(), metadata=_IN_SCENARIO)
    radius: Radius | None = field(default=None, metadata=_IN_SCENARIO)
    min_radius: Radius | None = field(default=None, metadata=_IN_SCENARIO)
    union: bool = field(default=False, metadata=_IN_SCENARIO)

    def __post_init__(self) -> None:
        check_text(self.name, "name")
        if not self.name.strip() or self.name == WORST:
            raise InputError(f"name must not be blank or {WORST!r}, got {self.name!r}")
        object.__setattr__(self, "known", check_names(self.known, "known"))
        if not isinstance(self.union, bool) or (self.union and self.known):
            raise InputError(
                f"union must be true or false, and true of {self.name!r} says what known would: "
                "leave one out"
            )

    def within(self, common: Scenario, union: Sequence[str] = ()) -> Scenario:
        """The scenario of this one alone; `union`: all that any of several knows."""
        own = {"radius": self.radius, "min_radius": self.min_radius}
        own = {what: given for what, given in own.items() if given is not None}
        try:
            return replace(common, known=tuple(union) if self.union else self.known, **own)  # type: ignore[arg-type]  # it is checked there
        except InputError as error:
            raise InputError(f"intruder {self.name!r}: {error}") from None


def union_of(intruders: Sequence[Intruder]) -> tuple[str, ...]:
    """All that any of them knows, in the order in which it is named."""
    return tuple(dict.fromkeys(name for each in intruders for name in each.known))


def check_intruders(intruders: Sequence[Intruder], common: Scenario) -> None:
    """Refuse intruders of one name, or who know what is synthesized, or all of whom know what the
    others do.
    """
    names = [each.name for each in intruders]
    twice = list(dict.fromkeys(name for name in names if names.count(name) > 1))
    if twice:
        raise InputError(f"intruders names {listing(twice)} more than once: name each otherwise")
    if all(each.union for each in intruders):
        raise InputError(f"union of {names[0]!r} is all that others know, and there are no others")
    for each in intruders:
        both = [name for name in each.known if name in common.synthetic]
        if both:
            raise InputError(
                f"intruder {each.name!r} knows {listing(both)}, which scenario.synthetic names: "
                "leave it out of one"
            )
        each.within(common, union_of(intruders))
