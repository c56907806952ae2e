"""What a formula may say: columns, numbers, a few functions and operators. Nothing else reaches
formulaic, which runs code.
"""

import ast
import keyword
import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from riskweighted.common.errors import InputError, listing

__all__ = [
    "ALLOWED",
    "FormulaParts",
    "as_formulaic",
    "drop_splines",
    "response_name",
    "rounds_to_grid",
    "shown_name",
    "sides",
    "split_formula",
    "uses_all_records",
]

_SPLINES = {
    "bs": (
        "df",
        "knots",
        "degree",
        "include_intercept",
        "lower_bound",
        "upper_bound",
        "extrapolation",
    ),
    "cs": ("df", "knots", "lower_bound", "upper_bound", "constraints", "cyclic", "extrapolation"),
    "poly": ("degree", "raw"),
    "spline": (),
}
_WORDS = {"constraints": ("center",), "extrapolation": ("clip", "zero", "extend")}
_FUNCTIONS = ("C", "log", "log1p", "sqrt", "exp", *_SPLINES)
_CALLS = ", ".join(f"{name}()" for name in _FUNCTIONS)
ALLOWED = (
    f"column names (`quoted` where they are no plain words), numbers, {_CALLS}, + - * / ** : ( )"
)
# Words of Python are names of columns here: class, from, in.
_KEYWORDS = sorted(set(keyword.kwlist) - {"True", "False", "None"})
# Names of columns that are quoted, words of Python, and functions that are not called; a text in
# quotation marks has none.
_NAMES = re.compile(
    rf"'[^']*'|\"[^\"]*\"|`([^`]+)`"
    rf"|\b({'|'.join(_KEYWORDS)}|(?:{'|'.join(_FUNCTIONS)}|Intercept)(?!\s*\())\b"
)
_TILDE = re.compile(r"~(?=(?:[^`]*`[^`]*`)*[^`]*$)")  # that no name in backquotes holds
_MARK = "\N{INVISIBLE SEPARATOR}"  # no name of a column that anybody writes ends in it
# ":" is read as "@", which a formula cannot hold
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.MatMult)
_LONGEST = 5_000  # characters
_LARGEST_EXPONENT = 10
_ALONE = (
    "crosses a term with itself, which is that term alone; write poly(x, 2, raw=True) for x and "
    "its square"
)
_MOST_TERMS = 10_000
_MOST_BASIS = 100  # columns, or knots, of a spline
_ON_GRID = re.compile(r"\bspline\s*\(\s*(`[^`]+`|[^\W\d]\w*)\s*\)")


class FormulaParts(NamedTuple):
    """A formula taken apart: the response's column, the text of the right-hand side, and the
    columns it needs, in order.
    """

    response: str
    right: str
    names: tuple[str, ...]

    @property
    def evaluated(self) -> str:
        """The right-hand side as formulaic is given it."""
        return _NAMES.sub(
            lambda match: (
                f"`{as_formulaic(match[1] or match[2])}`" if match[1] or match[2] else match[0]
            ),
            self.right,
        )


class _NotAllowedError(Exception):
    """Something in a formula that is not on the list."""


def response_name(formula: str) -> str:
    """Return the column on the left of the formula: the sensitive variable.

    Examples
    --------
    >>> rw.response_name("income ~ C(region) + age")
    'income'
    """
    return split_formula(formula).response


def sides(formula: str) -> tuple[str, str]:
    """What stands left and right of the tilde."""
    left, right = (side.strip() for side in _TILDE.split(formula))
    return left, right


def as_formulaic(name: str) -> str:
    """What a column is called before formulaic, which takes `1` for the number and cannot call a
    function of `class`.
    """
    plain = (
        re.fullmatch(r"[^\W\d]\w*", name)
        and not keyword.iskeyword(name)
        and name not in (*_FUNCTIONS, "Intercept")
    )
    return name if plain else name + _MARK


def shown_name(name: object) -> str:
    """A name of formulaic's, of a column, term or column of the design, as people read it; a
    predictor called Intercept is quoted.
    """
    shown = str(name).replace(_MARK, "")
    return "`Intercept`" if shown == "Intercept" and name != shown else shown


def uses_all_records(formula: str) -> bool:
    """Whether the columns of a formula depend on how many records have a value, as the knots of a
    spline do.
    """
    calls = rf"\b({'|'.join(_SPLINES)})\s*\("
    return re.search(calls, split_formula(formula).right) is not None


def rounds_to_grid(formula: str) -> bool:
    """Whether a formula rounds a column to a grid, so that more records are alike in its columns
    than in those of the file.
    """
    return _ON_GRID.search(split_formula(formula).right) is not None


def drop_splines(formula: str) -> str:
    """The formula with every spline() of a column as the column alone."""
    return _ON_GRID.sub(r"\1", formula)


def split_formula(formula: str) -> FormulaParts:
    """A formula taken apart, once every part of it is known to be harmless; InputError says what it
    may hold.
    """
    if not isinstance(formula, str) or len(_TILDE.findall(formula)) != 1:
        odd = isinstance(formula, str) and formula.count("`") % 2
        why = "; a name that holds a backquote cannot be quoted: rename the column" if odd else ""
        raise InputError(f"formula must read 'response ~ predictors', got {formula!r}{why}")
    return _taken_apart(formula)


@lru_cache(maxsize=512)  # a chain asks for the same ones at every draw
def _taken_apart(formula: str) -> FormulaParts:
    left, right = sides(formula)
    quoted = re.fullmatch(r"`([^`]+)`", left)
    if not right:
        raise InputError(
            f"formula {formula!r} has no predictor; write '{left} ~ 1' for none on purpose"
        )
    if not quoted and not re.fullmatch(r"[^\W\d]\w*", left):
        raise InputError(
            f"formula {formula!r} must have one column name on the left; a log or other scale is "
            "set with transform="
        )
    try:
        names = _names(right)
    except _NotAllowedError as error:
        shown = formula if len(formula) <= 200 else formula[:200] + " ..."
        raise InputError(f"formula {shown!r} {error}; it may hold {ALLOWED}") from None
    return FormulaParts(quoted[1] if quoted else left, right, names)


def _names(right: str) -> tuple[str, ...]:
    """Columns of a right-hand side whose every part is allowed."""
    if len(right) > _LONGEST:
        raise _NotAllowedError(f"is longer than {_LONGEST} characters")
    quoted: list[str] = []

    def placeholder(match: re.Match[str]) -> str:
        if not (name := match[1] or match[2]):
            return match[0]
        quoted.append(name)
        return f" _quoted_{len(quoted) - 1}_ "

    plain = _NAMES.sub(placeholder, right)
    strange = re.search(r"[^\w\s.+\-*/:(),=\[\]'\"]", plain)
    if strange:
        raise _NotAllowedError(f"has {strange[0]!r}")
    try:
        tree = ast.parse(f"({' '.join(plain.replace(':', '@').split())})", mode="eval").body
        if _terms(tree) > _MOST_TERMS:
            raise _NotAllowedError(f"makes more than {_MOST_TERMS} terms")
        if any(map(_crosses_itself, _terms_under(tree))):
            raise _NotAllowedError(_ALONE)
        names = tuple(_columns(tree))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _NotAllowedError("cannot be read") from None
    places = {f"_quoted_{place}_": name for place, name in enumerate(quoted)}
    return tuple(dict.fromkeys(places.get(name, name) for name in names))


def _columns(node: ast.expr) -> Iterator[str]:
    """Names of columns under a node; anything that is not allowed ends the reading."""
    match node:
        case ast.Name(name):
            yield name
        case ast.Constant(value):
            _number(value)
        case ast.UnaryOp(ast.UAdd() | ast.USub(), operand):
            yield from _columns(operand)
        case ast.BinOp(base, ast.Pow(), exponent):
            if (
                not isinstance(exponent, ast.Constant)
                or not 0 <= _number(exponent.value) <= _LARGEST_EXPONENT
            ):
                raise _NotAllowedError(
                    f"has an exponent that is no number from 0 to {_LARGEST_EXPONENT}"
                )
            names = list(_columns(base))
            if not names:  # numbers alone grow without end: ((9**9)**9)**9
                raise _NotAllowedError("has a power of a number")
            yield from names
        case ast.BinOp(left, operator, right) if isinstance(operator, _OPERATORS):
            yield from _columns(left)
            yield from _columns(right)
        case ast.Call(ast.Name(name), [first, *others], keywords) if name in _FUNCTIONS:
            names = list(_columns(first))
            if any(isinstance(part, ast.MatMult) for part in ast.walk(first)):
                raise _NotAllowedError(f"has ':' within {name}()")
            yield from names
            _settings(name, others, keywords)
        case ast.Call(ast.Name(name)):
            raise _NotAllowedError(
                f"calls {name}()" if name not in _FUNCTIONS else f"calls {name}() without a column"
            )
        case _:
            raise _NotAllowedError(f"has what no formula needs ({type(node).__name__.lower()})")


def _settings(function: str, others: list[ast.expr], keywords: list[ast.keyword]) -> None:
    """What stands after the column in a call: numbers of a spline."""
    if (others or keywords) and function not in _SPLINES:
        raise _NotAllowedError(f"has {function}() of more than one column")
    for place, value in enumerate(others):
        _setting(
            _SPLINES[function][place] if place < len(_SPLINES[function]) else None, value, function
        )
    for given in keywords:
        _setting(given.arg if given.arg in _SPLINES[function] else None, given.value, function)


def _setting(name: str | None, value: ast.expr, function: str) -> None:
    try:
        given = ast.literal_eval(value)
    except (ValueError, TypeError):
        raise _NotAllowedError(f"sets something else than numbers in {function}()") from None
    if name is None:
        raise _NotAllowedError(
            f"sets what {function}() does not have; it has {', '.join(_SPLINES[function])}"
        )
    if isinstance(given, bool) or given is None or given in _WORDS.get(name, ()):
        return
    if isinstance(given, str) and name in _WORDS:
        raise _NotAllowedError(
            f"sets {name} in {function}() to something else than {listing(_WORDS[name])}"
        )
    numbers = [_number(number) for number in (given if isinstance(given, list) else [given])]
    if len(numbers) > _MOST_BASIS or (
        name in ("df", "degree") and max(numbers, default=0) > _MOST_BASIS
    ):
        raise _NotAllowedError(f"has more than {_MOST_BASIS} columns or knots in {function}()")


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _NotAllowedError("has a constant that is no finite number")
    return value


_COUNTS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Mult: lambda left, right: left + right + left * right,
    ast.MatMult: lambda left, right: left * right,
}


def _terms_under(node: ast.expr) -> Iterator[ast.expr]:
    """A node and what it is made of, but for what a function is given: there operators are those of
    numbers.
    """
    yield node
    for part in (getattr(node, name, None) for name in ("left", "right", "operand")):
        if part is not None:
            yield from _terms_under(part)


def _crosses_itself(node: ast.expr) -> bool:
    """Whether a node is a power of a single term, or the product of a term and itself."""
    match node:
        case ast.BinOp(base, ast.Pow(), ast.Constant(int(exponent))):
            return exponent > 1 and _terms(base) == 1
        case ast.BinOp(left, ast.Mult() | ast.MatMult() | ast.Div(), right):
            return ast.dump(left) == ast.dump(right)
    return False


def _terms(node: ast.expr) -> int:
    """No fewer terms than the node makes: a*b is a + b + a:b, and a power crosses its base with
    itself.
    """
    match node:
        case ast.BinOp(base, ast.Pow(), ast.Constant(int(exponent))) if exponent >= 0:
            n = _terms(base)
            return sum(
                math.comb(n, size) for size in range(1, min(exponent, _LARGEST_EXPONENT) + 1)
            )
        case ast.BinOp(left, operator, right):
            return _COUNTS.get(type(operator), int.__add__)(_terms(left), _terms(right))
        case ast.UnaryOp(_, operand):
            return _terms(operand)
        case _:
            return 1
