"""The text of a condition read as a tree: comparisons of columns, joined by and, or, not. Nothing
of it runs as code.
"""

import ast
import math
import re
from collections.abc import Mapping
from typing import NamedTuple

__all__ = [
    "ALLOWED",
    "ColumnComparison",
    "ColumnName",
    "Constant",
    "JoinedConditions",
    "Missing",
    "Node",
    "Not",
    "NotAllowedError",
    "Value",
    "Within",
    "parse_condition",
]

ALLOWED = (
    "comparisons (== != < <= > >=) of a column with a number, a quoted text, true, false or a "
    "column; in [...], not in [...]; "
    "missing(column); and, or, not, parentheses; column names (`quoted` where they are no plain "
    "words)"
)
_LONGEST = 5_000  # characters
_DEEPEST = 50  # of one thing within another
_TOKEN = re.compile(
    r"`(?P<quoted>[^`]+)`|'(?P<single>(?:[^']|'')*)'|\"(?P<double>(?:[^\"]|\"\")*)\""
    r"|(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![\w.])"
    r"|(?P<word>[^\W\d]\w*)|(?P<mark>[\s()\[\],+\-<>=!])"
)
_KEPT = ("and", "or", "not", "in")
_TRUTH = {"true": True, "false": False, "True": True, "False": False}
_SIGNS: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}

Value = float | str | bool


class ColumnName(NamedTuple):
    name: str


class Constant(NamedTuple):
    value: Value


class ColumnComparison(NamedTuple):
    """A column, a sign, and a constant or another column."""

    column: str
    sign: str
    other: ColumnName | Constant


class Within(NamedTuple):
    column: str
    constants: tuple[Value, ...]
    inside: bool


class Missing(NamedTuple):
    column: str


class JoinedConditions(NamedTuple):
    every: bool  # and; else or
    parts: tuple["Node", ...]


class Not(NamedTuple):
    part: "Node"


Node = ColumnComparison | Within | Missing | JoinedConditions | Not


class NotAllowedError(Exception):
    """Something in a condition that is not on the list."""


def parse_condition(text: str) -> tuple[Node, tuple[str, ...]]:
    """The tree of a condition and its columns, in the order in which they stand there;
    `NotAllowedError` says what is wrong.

    Every name, number and text becomes a placeholder before Python's parser sees any: no name of
    Python's, no attribute and no escape can reach it, and names keep their letters (the parser
    would change some of other alphabets).
    """
    if len(text) > _LONGEST:
        raise NotAllowedError(f"is longer than {_LONGEST} characters")
    operands: dict[str, ColumnName | Constant] = {}
    pieces, place = [], 0
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None:
            raise NotAllowedError(f"has {text[place]!r}, or a number or quote that does not end")
        pieces.append(_piece(token, text, operands))
        place = token.end()
    try:
        tree = ast.parse("".join(pieces).strip(), mode="eval").body
        node = _node(tree, operands, 0)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise NotAllowedError("cannot be read") from None
    names = dict.fromkeys(
        operand.name for operand in operands.values() if isinstance(operand, ColumnName)
    )
    return node, tuple(names)


def _piece(token: re.Match[str], text: str, operands: dict[str, ColumnName | Constant]) -> str:
    """One token as Python's parser may see it; names and constants are put aside under a
    placeholder.
    """
    word = token["word"]
    if token["mark"]:
        return " " if token["mark"].isspace() else token["mark"]
    if word in _KEPT:
        return f" {word} "
    if word == "missing" and re.match(r"\s*\(", text[token.end() :]):
        return " missing "
    operand: ColumnName | Constant
    if token["number"]:
        operand = Constant(_finite(token["number"]))
    elif word in _TRUTH:
        operand = Constant(_TRUTH[word])
    elif word or token["quoted"]:
        operand = ColumnName(word or token["quoted"])
    else:
        quoted = token["single"] is not None
        operand = Constant(
            token["single"].replace("''", "'") if quoted else token["double"].replace('""', '"')
        )
    key = f"_{len(operands)}_"
    operands[key] = operand
    return f" {key} "


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise NotAllowedError("has a number that is too large")
    return value


def _node(node: ast.expr, operands: Mapping[str, ColumnName | Constant], depth: int) -> Node:
    """A part that is true or false; anything that is not allowed ends the reading."""
    if depth > _DEEPEST:
        raise NotAllowedError(f"nests more than {_DEEPEST} deep")
    match node:
        case ast.BoolOp(join, values):
            return JoinedConditions(
                isinstance(join, ast.And),
                tuple(_node(value, operands, depth + 1) for value in values),
            )
        case ast.UnaryOp(ast.Not(), operand):
            return Not(_node(operand, operands, depth + 1))
        case ast.Call(ast.Name("missing"), [ast.Name(key)], []) if isinstance(
            operands.get(key), ColumnName
        ):
            return Missing(_column(node.args[0], operands))
        case ast.Call():
            raise NotAllowedError("calls something else than missing() of one column")
        case ast.Compare(left, signs, others):
            sides = [left, *others]
            parts = tuple(
                _compared(sides[k], sign, sides[k + 1], operands) for k, sign in enumerate(signs)
            )
            return parts[0] if len(parts) == 1 else JoinedConditions(True, parts)
        case ast.Name():
            raise NotAllowedError(
                "has a name or value alone, which is neither true nor false; compare it, as in x "
                "== true"
            )
        case _:
            raise NotAllowedError("has what no condition needs")


def _compared(
    left: ast.expr, sign: ast.cmpop, right: ast.expr, operands: Mapping[str, ColumnName | Constant]
) -> Node:
    if isinstance(sign, ast.In | ast.NotIn):
        if not isinstance(right, ast.List) or not right.elts:
            raise NotAllowedError("has 'in' without a list of values, such as ['A', 'B']")
        listed = [_operand(value, operands) for value in right.elts]
        constants = tuple(value.value for value in listed if isinstance(value, Constant))
        if len(constants) < len(listed):
            raise NotAllowedError("has a column in a list of values; texts must be in quotes")
        return Within(_column(left, operands), constants, isinstance(sign, ast.In))
    first, other = _operand(left, operands), _operand(right, operands)
    name = _SIGNS.get(type(sign))
    if name is None:
        raise NotAllowedError("has what no condition needs")
    if isinstance(first, ColumnName):
        return ColumnComparison(first.name, name, other)
    if isinstance(other, ColumnName):
        return ColumnComparison(other.name, _TURNED[name], first)
    raise NotAllowedError("compares no column")


def _operand(
    node: ast.expr, operands: Mapping[str, ColumnName | Constant]
) -> ColumnName | Constant:
    match node:
        case ast.Name(key) if key in operands:
            return operands[key]
        case ast.UnaryOp(ast.USub() | ast.UAdd() as sign, ast.Name(key)):
            operand = operands.get(key)
            if isinstance(operand, Constant) and isinstance(operand.value, float):
                return Constant(-operand.value if isinstance(sign, ast.USub) else operand.value)
            raise NotAllowedError("has a sign before what is no number")
        case _:
            raise NotAllowedError("compares something else than columns, numbers and texts")


def _column(node: ast.expr, operands: Mapping[str, ColumnName | Constant]) -> str:
    operand = _operand(node, operands)
    if not isinstance(operand, ColumnName):
        raise NotAllowedError("asks whether a constant is in a list; only a column can be")
    return operand.name
