"""Which side of an implication is about one variable alone, and what of the variable it asks."""

from collections.abc import Iterator, Sequence

from riskweighted.sequence.condition_text import (
    Column,
    Compared,
    Constant,
    Joined,
    Node,
    Not,
    Within,
)
from riskweighted.sequence.conditions import Condition
from riskweighted.sequence.rule_kinds import Implied, Sum

__all__ = ["is_decided", "own_condition", "own_side", "tells_by_values", "values_asked"]


def is_decided(rule: object, variable: str, codes: Sequence[float], numbers: bool) -> bool:
    """Whether a rule of a variable is obeyed by what is decided, so that no draw can break it."""
    if isinstance(rule, Sum):
        return True
    if not isinstance(rule, Implied) or own_side(rule, variable) is None:
        return False
    tree = own_condition(rule, variable).tree
    return not numbers or (
        tells_by_values(tree, variable) and set(values_asked(tree, variable)) <= {*codes}
    )


def own_side(rule: object, variable: str) -> str | None:
    """Which of the two conditions of an implication is of the variable alone, where the other one
    does not look at it.
    """
    if not isinstance(rule, Implied):
        return None
    for side, own, other in (("then", rule.then, rule.when), ("when", rule.when, rule.then)):
        if own.names == (variable,) and variable not in other.names:
            return side
    return None


def own_condition(rule: object, variable: str) -> Condition:
    assert isinstance(rule, Implied)
    return rule.then if own_side(rule, variable) == "then" else rule.when


def tells_by_values(node: Node, variable: str) -> bool:
    """Whether a condition asks of a variable only whether it is missing or equals given values."""
    match node:
        case Joined(_, parts):
            return all(tells_by_values(part, variable) for part in parts)
        case Not(part):
            return tells_by_values(part, variable)
        case Compared(_, sign, other):
            return sign in ("==", "!=") and not isinstance(other, Column)
        case _:
            return True


def values_asked(node: Node, variable: str) -> Iterator[float]:
    """The numbers that a condition compares a variable with for equality."""
    match node:
        case Joined(_, parts):
            for part in parts:
                yield from values_asked(part, variable)
        case Not(part):
            yield from values_asked(part, variable)
        case Within(_, constants, _):
            yield from (float(constant) for constant in constants if not isinstance(constant, str))
        case Compared(_, "==" | "!=", Constant(value)) if not isinstance(value, str):
            yield float(value)
