"""Which side of an implication is about one variable alone, and what of the variable it asks."""

from collections.abc import Iterator, Sequence

from riskweighted.sequence.condition_text import (
    ColumnComparison,
    ColumnName,
    Constant,
    JoinedConditions,
    Node,
    Not,
    Within,
)
from riskweighted.sequence.conditions import Condition
from riskweighted.sequence.edit_rule_kinds import Implied, Sum

__all__ = [
    "constrained_clause",
    "constrained_condition",
    "constrained_values",
    "constrains_by_values",
    "is_decided",
]


def is_decided(rule: object, variable: str, codes: Sequence[float], numbers: bool) -> bool:
    """Whether a rule of a variable is obeyed by what is decided, so that no draw can break it."""
    if isinstance(rule, Sum):
        return True
    if not isinstance(rule, Implied) or constrained_clause(rule, variable) is None:
        return False
    tree = constrained_condition(rule, variable).tree
    return not numbers or (
        constrains_by_values(tree, variable) and set(constrained_values(tree, variable)) <= {*codes}
    )


def constrained_clause(rule: object, variable: str) -> str | None:
    """Which of the two conditions of an implication is of the variable alone, where the other one
    does not look at it.
    """
    if not isinstance(rule, Implied):
        return None
    for side, own, other in (("then", rule.then, rule.when), ("when", rule.when, rule.then)):
        if own.names == (variable,) and variable not in other.names:
            return side
    return None


def constrained_condition(rule: object, variable: str) -> Condition:
    assert isinstance(rule, Implied)
    return rule.then if constrained_clause(rule, variable) == "then" else rule.when


def constrains_by_values(node: Node, variable: str) -> bool:
    """Whether a condition asks of a variable only whether it is missing or equals given values."""
    match node:
        case JoinedConditions(_, parts):
            return all(constrains_by_values(part, variable) for part in parts)
        case Not(part):
            return constrains_by_values(part, variable)
        case ColumnComparison(_, sign, other):
            return sign in ("==", "!=") and not isinstance(other, ColumnName)
        case _:
            return True


def constrained_values(node: Node, variable: str) -> Iterator[float]:
    """The numbers that a condition compares a variable with for equality."""
    match node:
        case JoinedConditions(_, parts):
            for part in parts:
                yield from constrained_values(part, variable)
        case Not(part):
            yield from constrained_values(part, variable)
        case Within(_, constants, _):
            yield from (float(constant) for constant in constants if not isinstance(constant, str))
        case ColumnComparison(_, "==" | "!=", Constant(value)) if not isinstance(value, str):
            yield float(value)
