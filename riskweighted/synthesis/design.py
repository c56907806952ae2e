"""From a formula to numbers: the response, and predictors centred and whitened.

Predictors stand in a formula (formulaic); its model spec is kept. The model matrix without its intercept column is
centred, then turned so that its columns are uncorrelated with unit variance: samplers move freely there. A N(0, I) prior on
the slopes of the whitened columns is a unit-information prior on the original ones, which leaves a rare level to itself; models
whose priors stand on the columns as recorded (METHODS section 5.5) use the centred ones.
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
from riskweighted.common.frames import holds_numbers, require_columns, require_finite, require_target
from riskweighted.synthesis.formulas import ALLOWED, response_name, split_formula

__all__ = ["Design", "build_design", "response_values"]

_ANY = "response"
_FUNCTIONS = {"log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "exp": np.exp}


class Design(NamedTuple):
    """Whitened predictors.

    ``centred`` (n, p): the model matrix without its intercept, minus ``centre`` (p,); ``whitened`` (n, p):
    centred @ turn, columns of mean 0, variance 1, uncorrelated over the n records; ``turn`` (p, p), so that slopes on
    the original columns are turn @ slopes; ``spec``: the model spec, with the names of the original columns;
    ``formula``: what the spec was made from.
    """

    centred: np.ndarray
    whitened: np.ndarray
    centre: np.ndarray
    turn: np.ndarray
    spec: ModelSpec
    formula: str

    def at(self, frame: pd.DataFrame) -> "Design":
        """The same design for the m rows of another frame: confidential spec (levels, knots, ...), centre and turn.

        Slopes estimated on the confidential data mean the same there. A level that the frame lacks keeps its column.

        Raises
        ------
        InputError
            If a predictor is absent, missing or infinite, or has a level that the confidential data lack.
        """
        plain = _plain_columns(self.formula, self.spec, frame)
        if plain is not None:
            centred = plain - self.centre
            return self._replace(centred=centred, whitened=centred @ self.turn)
        _predictors(self.formula, frame, "frame")
        spec = copy.deepcopy(self.spec)  # formulaic writes in the state of what it is given
        matrix = _evaluate(self.formula, spec, frame, "frame")
        changed = [name for name, (kind, _) in self.spec.encoder_state.items() if spec.encoder_state[name][0] is not kind]
        if changed:
            raise InputError(f"frame: predictor {listing(changed)} is of another kind (numbers, levels) than in the confidential data")
        centred = _columns(self.formula, matrix) - self.centre
        return self._replace(centred=centred, whitened=centred @ self.turn)

    def response(self, frame: pd.DataFrame) -> np.ndarray:
        """The sensitive variable of another frame as floats, (m,); NaN where the frame has no such column."""
        if response_name(self.formula) in frame.columns:
            return response_values(self.formula, frame, "frame")
        return np.full(len(frame), np.nan)


@lru_cache(maxsize=256)
def _sum_of_names(formula: str) -> tuple[str, ...] | None:
    """The columns of a formula that is nothing but their sum; None for any other."""
    parts = split_formula(formula)
    terms = [term.strip() for term in parts.right.split("+")]
    return parts.names if [term.removeprefix("`").removesuffix("`") for term in terms] == list(parts.names) else None


def _plain_columns(formula: str, spec: ModelSpec, frame: pd.DataFrame) -> np.ndarray | None:
    """The predictors of a sum of columns that are all numbers and complete, as formulaic gives them, (m, p); else None."""
    names = _sum_of_names(formula)
    if names is None or not isinstance(frame, pd.DataFrame) or len(frame) == 0 or not frame.columns.is_unique:
        return None
    if [name.strip("`") for name in spec.column_names[1:]] != list(names) or not set(names) <= set(frame.columns):
        return None
    if not all(dtype == np.float64 for dtype in frame.dtypes[list(names)]):
        return None
    columns = frame[list(names)].to_numpy(dtype=float)
    return columns if np.isfinite(columns).all() else None


def response_values(formula: str, data: pd.DataFrame, what: str = "confidential data") -> np.ndarray:
    """The sensitive variable as floats, (n,); refuses text, missing and infinite values."""
    name = response_name(formula)
    require_columns(data, [name], what)
    column = data[name]
    if not holds_numbers(column):
        raise InputError(f"{name!r} must be numeric for this synthesizer, got dtype {column.dtype}")
    require_target(column, what)
    values: np.ndarray = column.to_numpy(dtype=float)
    return values


def _predictors(formula: str, data: pd.DataFrame, what: str) -> Formula:
    """The parsed right-hand side, once it is known to be harmless and its columns to be there and complete."""
    parts = split_formula(formula)
    if parts.response in parts.names:
        raise InputError(f"formula {formula!r} has the sensitive variable {parts.response!r} on both sides")
    if "Intercept" in parts.names:
        raise InputError(f"formula {formula!r}: a predictor must not be named 'Intercept'; rename the column")
    require_columns(data, parts.names, what)
    for name in parts.names:
        require_finite(data[name], f"{what}: predictor")
    unreadable = InputError(f"formula {formula!r} cannot be read; it may hold {ALLOWED}")
    try:
        parsed = Formula(parts.right)
    except (FormulaicError, SyntaxError, AttributeError, TypeError, ValueError, RecursionError):
        raise unreadable from None
    if not isinstance(parsed, SimpleFormula):
        raise unreadable
    for factor in {factor.expr for term in parsed for factor in term.factors} - set(parts.names):
        split_formula(f"{_ANY} ~ {factor}")  # what formulaic will evaluate is harmless by itself, too
    return parsed


def _evaluate(formula: str, recipe: Formula | ModelSpec, data: pd.DataFrame, what: str) -> Any:
    """The model matrix (with its spec); text in the message never comes from formulaic, which quotes data."""
    plain = {}
    for name, column in data.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            plain[name] = column.cat.remove_unused_categories()
        elif isinstance(column.dtype, pd.StringDtype) and column.dtype.na_value is pd.NA:
            plain[name] = column.astype(object)  # formulaic takes nullable text for numbers
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # log of zero: refused below, by what it gives
            warnings.simplefilter("error", DataMismatchWarning)
            return model_matrix(recipe, data.assign(**plain).reset_index(drop=True), context=_FUNCTIONS, na_action="raise")
    except DataMismatchWarning:
        raise InputError(_unseen(formula, recipe, data, what)) from None
    except Exception as error:  # formulaic passes on what its functions raise, and such text may quote data
        raise InputError(f"formula {formula!r} cannot be evaluated on the {what} ({type(error).__name__})") from None


def _unseen(formula: str, spec: ModelSpec, data: pd.DataFrame, what: str) -> str:
    """Which predictor of the frame has levels that the confidential data lack, and in how many records."""
    for expression, (_, state) in spec.encoder_state.items():
        name = re.sub(r"^C\(`?(.*?)`?(,.*)?\)$", r"\1", expression)
        if name in data.columns and "categories" in state:
            unseen = int((~data[name].isin(state["categories"])).sum())
            if unseen:
                return f"{what}: predictor {name!r} has a level that the confidential data lack in {unseen} of {len(data)} records"
    return f"formula {formula!r}: a predictor of the {what} has a level that the confidential data lack"


def _columns(formula: str, matrix: Any) -> np.ndarray:
    """The model matrix without its intercept, as finite numbers (n, p)."""
    keep = [str(name) != "Intercept" for name in matrix.columns]
    columns = np.asarray(matrix, dtype=float)[:, keep]
    if not np.isfinite(columns).all():
        raise InputError(f"formula {formula!r} gives missing or infinite predictors; check log() of zero or negative columns")
    return columns


def build_design(formula: str, data: pd.DataFrame) -> Design:
    """Evaluate the right-hand side on the data, then centre and whiten it.

    Raises
    ------
    InputError
        If the formula cannot be read, names an unknown column, a predictor is missing or infinite, or the columns
        of the design are collinear or constant (the message names the first such column).
    """
    matrix = _evaluate(formula, _predictors(formula, data, "confidential data"), data, "confidential data")
    columns = _columns(formula, matrix)
    keep = [str(name) != "Intercept" for name in matrix.columns]
    terms = {place: str(term) for term, places in matrix.model_spec.term_slices.items() for place in range(places.start, places.stop)}
    names = [terms[place] for place, kept in enumerate(keep) if kept]  # a term names no level of a variable
    if "Intercept" not in matrix.columns:
        raise InputError(f"formula {formula!r} removes the intercept; the models need one, so write it without '0 +' or '- 1'")
    empty = [str(term) for term, places in matrix.model_spec.term_slices.items() if places.start == places.stop]
    if empty:
        raise InputError(f"predictor {listing(empty)} is constant (a single level); remove it from the formula")
    centre = columns.mean(axis=0)
    constant = np.abs(columns - centre).max(axis=0) <= 1e-12 * np.abs(columns).max(axis=0)
    if constant.any():
        raise InputError(f"predictor {listing(dict.fromkeys(np.array(names)[constant]))} is constant; remove it from the formula")
    whitened, turn = _whiten(columns - centre, names, formula)
    return Design(columns - centre, whitened, centre, turn, matrix.model_spec, formula)


def _whiten(centred: np.ndarray, names: list[str], formula: str) -> tuple[np.ndarray, np.ndarray]:
    """QR of the centred design, scaled to unit variance; column by column, so that a dependent one can be named."""
    n, p = centred.shape
    if p == 0:
        return np.empty((n, 0)), np.empty((0, 0))
    if p >= n:
        raise InputError(f"formula {formula!r} makes {p} predictor columns for {n} records; there must be fewer")
    spread = np.abs(centred).max(axis=0)
    spread = spread * np.sqrt(((centred / spread) ** 2).mean(axis=0))
    orthogonal, triangle = np.linalg.qr(centred / spread)
    dependent = np.abs(np.diag(triangle)) <= 1e-9 * np.sqrt(n)
    if dependent.any():
        which = listing(dict.fromkeys(np.array(names)[dependent]))
        raise InputError(f"predictor {which} is a combination of those before it; remove it from the formula")
    turn = np.linalg.inv(triangle) * np.sqrt(n) / spread[:, None]
    return orthogonal * np.sqrt(n), turn
