"""From a formula to numbers: the response, and predictors centred and whitened.

Predictors stand in a formula (formulaic); its model spec is kept. The formula is evaluated once for
all records that are alike in its columns: ten categorical predictors of 10^6 records have 10^4 to
10^5 different rows. The model matrix without its intercept column is centred, then turned so that
its columns are uncorrelated with unit variance: samplers move freely there. A N(0, I) prior on the
slopes of the whitened columns is a unit-information prior on the original ones, which leaves a rare
level to itself; models whose priors stand on the columns as recorded (METHODS section 5.5) use the
centred ones.
"""

import copy
import re
import warnings
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from formulaic import Formula, ModelSpec, SimpleFormula, model_matrix
from formulaic.errors import DataMismatchWarning, FormulaicError

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import (
    holds_numbers,
    require_columns,
    require_finite,
    require_target,
    with_columns,
)
from riskweighted.common.interrupts import raise_interrupt
from riskweighted.common.native import Frame, as_pandas
from riskweighted.design.distinct import Distinct, distinct_records
from riskweighted.design.formulas import (
    ALLOWED,
    as_formulaic,
    response_name,
    rounds_to_grid,
    shown_name,
    split_formula,
    uses_all_records,
)
from riskweighted.design.predictor_tables import Tables
from riskweighted.design.splines import bs, cs, spline

__all__ = ["Design", "build_design", "response_values"]

_ANY = "response"
_FUNCTIONS = {
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "bs": bs,
    "cs": cs,
    "spline": spline,
}


class Design(NamedTuple):
    """A design holds the predictors of n records, centred.

    ``distinct``: the different rows (m, p) of the model matrix without its intercept, minus
    ``centre`` (p,), and which of them each record has, (n,); ``turn`` (p, p): rows @ turn have
    columns of mean 0, variance 1, uncorrelated over the confidential records, so that slopes on the
    original columns are turn @ slopes; ``spec``: the model spec, with the names of the original
    columns; ``formula``: what the spec was made from.

    Examples
    --------
    >>> from riskweighted.runs.examples import data
    >>> design = rw.build_design("income ~ region + age", data)
    >>> design.whitened.shape, design.centre.round(2).tolist()
    ((200, 2), [0.52, 50.44])
    """

    distinct: Distinct
    centre: np.ndarray
    turn: np.ndarray
    spec: ModelSpec
    formula: str

    @property
    def names(self) -> tuple[str, ...]:
        """What the p columns are called in a model matrix, such as ``C(age_band)[T.35-44]``."""
        return tuple(
            shown_name(name) for name in self.spec.column_names if str(name) != "Intercept"
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """What the p columns are called, such as ``C(age_band)[35-44]``."""
        return tuple(name.replace("[T.", "[").replace("`", "") for name in self.names)

    @property
    def centred(self) -> np.ndarray:
        """The rows of the records, (n, p): made anew when asked for, and large for a large file."""
        return np.asarray(self.distinct.spread(self.distinct.rows))

    @property
    def whitened(self) -> np.ndarray:
        """centred @ turn, (n, p): made anew when asked for, and large for a large file."""
        return self.distinct.spread(self.distinct.rows @ self.turn)

    def at(self, frame: pd.DataFrame) -> "Design":
        """The same design for the m rows of another frame: confidential spec (levels, knots, ...),
        centre and turn.

        Slopes estimated on the confidential data mean the same there. A level that the frame lacks
        keeps its column.

        Raises
        ------
        InputError
            If a predictor is absent, missing or infinite, or has a level that the confidential data
            lack.
        """
        plain = _plain_columns(self.formula, self.spec, frame)
        if plain is not None:
            return self._replace(distinct=Distinct.apart(plain - self.centre))
        _predictors(self.formula, frame, "frame")
        needed, first, which = _alike(self.formula, frame)
        spec = copy.deepcopy(self.spec)  # formulaic writes in the state of what it is given
        matrix = _evaluate(self.formula, spec, needed.iloc[first], frame, "frame")
        changed = [
            shown_name(name)
            for name, (kind, _) in self.spec.encoder_state.items()
            if spec.encoder_state[name][0] is not kind
        ]
        if changed:
            raise InputError(
                f"frame: predictor {listing(changed)} is of another kind (numbers, levels) than "
                "in the confidential data"
            )
        distinct = _merged(self.formula, Distinct(_columns(self.formula, matrix), which))
        return self._replace(distinct=distinct._replace(rows=distinct.rows - self.centre))

    def from_tables(self, columns: Tables) -> "Design":
        """The same design for records whose model matrix without its intercept is given, (m, p),
        rather than made of a frame.
        """
        groups = columns.grouped()
        return self._replace(distinct=groups._replace(rows=groups.rows - self.centre))

    def response(self, frame: pd.DataFrame) -> np.ndarray:
        """The sensitive variable of another frame as floats, (m,); NaN where the frame has no such
        column.
        """
        if response_name(self.formula) in frame.columns:
            return response_values(self.formula, frame, "frame")
        return np.full(len(frame), np.nan)


@lru_cache(maxsize=256)
def _sum_of_names(formula: str) -> tuple[str, ...] | None:
    """The columns of a formula that is nothing but their sum; None for any other."""
    parts = split_formula(formula)
    terms = [term.strip() for term in parts.right.split("+")]
    return (
        parts.names
        if [term.removeprefix("`").removesuffix("`") for term in terms] == list(parts.names)
        else None
    )


def _plain_columns(formula: str, spec: ModelSpec, frame: pd.DataFrame) -> np.ndarray | None:
    """The predictors of a sum of columns that are all numbers and complete, as formulaic gives
    them, (m, p); else None.
    """
    names = _sum_of_names(formula)
    if (
        names is None
        or not isinstance(frame, pd.DataFrame)
        or len(frame) == 0
        or not frame.columns.is_unique
    ):
        return None
    if [name.strip("`") for name in spec.column_names[1:]] != list(
        map(as_formulaic, names)
    ) or not set(names) <= set(frame.columns):
        return None
    if not all(dtype == np.float64 for dtype in frame.dtypes[list(names)]):
        return None
    columns = (frame if list(frame.columns) == list(names) else frame[list(names)]).to_numpy(
        dtype=float
    )
    return columns if np.isfinite(columns).all() else None


def response_values(formula: str, data: Frame, what: str = "confidential data") -> np.ndarray:
    """Return the sensitive variable as floats, (n,); text, missing and infinite values are refused.

    Examples
    --------
    >>> from riskweighted.runs.examples import data
    >>> rw.response_values("income ~ age", data)[:3].tolist()
    [53450.0, 32870.0, 38970.0]
    """
    data = as_pandas(data)
    name = response_name(formula)
    require_columns(data, [name], what)
    column = data[name]
    if not holds_numbers(column):
        raise InputError(f"{name!r} must be numeric for this synthesizer, got dtype {column.dtype}")
    require_target(column, what)
    return np.asarray(column.to_numpy(dtype=float))


_GAPS = (
    ", or let a chain of one variable draw it: the name of a chain (`riskweighted synthesizers` "
    "lists them) and predictors = [...] instead "
    "of the formula, where a gap predicts as a level or by an indicator"
)


def _predictors(formula: str, data: pd.DataFrame, what: str) -> Formula:
    """The parsed right-hand side, once it is known to be harmless and its columns to be there and
    complete.
    """
    parts = split_formula(formula)
    if parts.response in parts.names:
        raise InputError(
            f"formula {formula!r} has the sensitive variable {parts.response!r} on both sides"
        )
    require_columns(data, parts.names, what)
    for name in parts.names:
        require_finite(data[name], f"{what}: predictor", _GAPS)
    unreadable = InputError(f"formula {formula!r} cannot be read; it may hold {ALLOWED}")
    try:
        parsed = Formula(parts.evaluated)
    except (FormulaicError, SyntaxError, AttributeError, TypeError, ValueError, RecursionError):
        raise unreadable from None
    if not isinstance(parsed, SimpleFormula):
        raise unreadable
    for factor in {factor.expr for term in parsed for factor in term.factors} - set(
        map(as_formulaic, parts.names)
    ):
        # what formulaic will evaluate is harmless by itself, too
        split_formula(f"{_ANY} ~ {factor}")
    return parsed


def _alike(formula: str, data: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """The columns of a formula; which records are the first of their values there, (m,), and to
    which of these each is equal, (n,).
    """
    names = list(split_formula(formula).names)
    return data[names], *distinct_records((data[name] for name in names), len(data))


def _evaluate(
    formula: str,
    recipe: Formula | ModelSpec,
    needed: pd.DataFrame,
    data: pd.DataFrame,
    what: str,
) -> Any:
    """The model matrix of the rows needed (with its spec); text in the message never comes from
    formulaic, which quotes data.
    """
    plain = {}
    for name, column in needed.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            plain[name] = column.cat.remove_unused_categories()
        elif isinstance(column.dtype, pd.StringDtype) and column.dtype.na_value is pd.NA:
            plain[name] = column.astype(object)  # formulaic takes nullable text for numbers
    try:
        with warnings.catch_warnings():
            # log of zero: refused below, by what it gives
            warnings.simplefilter("ignore", RuntimeWarning)
            warnings.simplefilter("error", DataMismatchWarning)
            columns = (
                with_columns(needed, plain).rename(columns=as_formulaic).reset_index(drop=True)
            )
            return model_matrix(recipe, columns, context=_FUNCTIONS, na_action="raise")
    except DataMismatchWarning:
        raise InputError(_unseen(formula, recipe, data, what)) from None
    # formulaic passes on what its functions raise, and such text may quote data
    except Exception as error:
        raise_interrupt(error)
        raise InputError(
            f"formula {formula!r} cannot be evaluated on the {what} ({type(error).__name__}): "
            "look for missing values, log() or sqrt() of "
            "negative numbers, and what bs(), cs() and poly() are given"
        ) from None


def _unseen(formula: str, spec: ModelSpec, data: pd.DataFrame, what: str) -> str:
    """Which predictor of the frame has levels that the confidential data lack, and in how many
    records.
    """
    for expression, (_, state) in spec.encoder_state.items():
        name = shown_name(re.sub(r"^C\(`?(.*?)`?(,.*)?\)$", r"\1", expression))
        if name in data.columns and "categories" in state:
            unseen = int((~data[name].isin(state["categories"])).sum())
            if unseen:
                return (
                    f"{what}: predictor {name!r} has a level that the confidential data lack in "
                    f"{unseen} of {len(data)} records"
                )
    return (
        f"formula {formula!r}: a predictor of the {what} has a level that the confidential data "
        "lack"
    )


def _columns(formula: str, matrix: Any) -> np.ndarray:
    """The model matrix without its intercept, as finite numbers (n, p)."""
    keep = [str(name) != "Intercept" for name in matrix.columns]
    columns = np.asarray(matrix, dtype=float)[:, keep]
    if not np.isfinite(columns).all():
        raise InputError(
            f"formula {formula!r} gives missing or infinite predictors; check log() of zero or "
            "negative columns"
        )
    return columns


def build_design(formula: str, data: Frame) -> Design:
    """Return the predictors of a formula, centred, with the turn that whitens them.

    InputError if the formula cannot be read or names an unknown column, a predictor is missing or
    infinite, or columns of the design are collinear or constant (the message names the first such
    column).

    Examples
    --------
    >>> from riskweighted.runs.examples import data
    >>> rw.build_design("income ~ C(region)", data).formula
    'income ~ C(region)'
    """
    data = as_pandas(data)
    distinct, matrix = _recorded(formula, _predictors(formula, data, "confidential data"), data)
    columns = distinct.rows
    keep = [str(name) != "Intercept" for name in matrix.columns]
    slices = {shown_name(term): places for term, places in matrix.model_spec.term_slices.items()}
    terms = {
        position: term
        for term, places in slices.items()
        for position in range(places.start, places.stop)
    }
    # a term names no level of a variable
    names = [terms[position] for position, kept in enumerate(keep) if kept]
    if "Intercept" not in matrix.columns:
        raise InputError(
            f"formula {formula!r} removes the intercept; the models need one, so write it "
            "without '0 +' or '- 1'"
        )
    empty = [term for term, places in slices.items() if places.start == places.stop]
    if empty:
        raise InputError(
            f"predictor {listing(empty)} is constant (a single level); remove it from the formula"
        )
    centre = distinct.counts @ columns / len(data)
    constant = np.abs(columns - centre).max(axis=0) <= 1e-12 * np.abs(columns).max(axis=0)
    if constant.any():
        raise InputError(
            f"predictor {listing(dict.fromkeys(np.array(names)[constant]))} is constant; remove "
            "it from the formula"
        )
    design = Design(
        distinct._replace(rows=columns - centre),
        centre,
        np.empty((0, 0)),
        matrix.model_spec,
        formula,
    )
    return design._replace(turn=_whitening(design, names))


def _recorded(formula: str, parsed: Formula, data: pd.DataFrame) -> tuple[Distinct, Any]:
    """The model matrix without its intercept, and as formulaic gives it (with its spec)."""
    needed, first, which = _alike(formula, data)
    if not uses_all_records(formula):
        matrix = _evaluate(formula, parsed, needed.iloc[first], data, "confidential data")
        return Distinct(_columns(formula, matrix), which), matrix
    matrix = _evaluate(formula, parsed, needed, data, "confidential data")
    return _merged(formula, Distinct(_columns(formula, matrix)[first], which)), matrix


def _merged(formula: str, distinct: Distinct) -> Distinct:
    """The same with equal rows as one, where a grid makes rows equal that the file's columns tell
    apart.
    """
    if not rounds_to_grid(formula):
        return distinct
    first, which = distinct_records(
        (pd.Series(column) for column in distinct.rows.T), len(distinct.rows)
    )
    return Distinct(distinct.rows[first], which[distinct.which])


def _whitening(design: Design, names: list[str]) -> np.ndarray:
    """The turn of a QR of the centred design, (p, p); column by column, so that a dependent one can
    be named.
    """
    centred, records, formula = design.distinct, design.distinct.counts, design.formula
    n, p = len(centred.which), centred.rows.shape[1]
    if p == 0:
        return np.empty((0, 0))
    if p >= n:
        raise InputError(
            f"formula {formula!r} makes {p} predictor columns for {n} records; there must be fewer"
        )
    spread = np.abs(centred.rows).max(axis=0)
    spread = spread * np.sqrt(records @ (centred.rows / spread) ** 2 / n)
    triangle = _triangle(centred._replace(rows=centred.rows / spread))
    dependent = np.abs(np.diag(triangle)) <= 1e-9 * np.sqrt(n)
    if dependent.any():
        which = listing(dict.fromkeys(np.array(names)[dependent]))
        raise InputError(
            f"predictor {which} is a combination of those before it; remove it from the formula"
        )
    return np.asarray(np.linalg.inv(triangle) * np.sqrt(n) / spread[:, None])


def _triangle(centred: Distinct) -> np.ndarray:
    """That of the QR of all records, (p, p).

    The signs of its rows come from reflections that look at the first p records one by one and at
    the others by their sums of squares and products alone.
    """
    first = centred.which[: centred.rows.shape[1]]
    others = centred.triangle(centred.counts - np.bincount(first, minlength=len(centred.rows)))
    return np.asarray(np.linalg.qr(np.vstack([centred.rows[first], others]), mode="r"))
