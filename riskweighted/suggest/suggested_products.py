"""Which products a chain needs: where whether a variable is zero or missing depends on levels, but
otherwise where an earlier one is zero.

Additive slopes cannot say that of the self-employed those without a wage alone have other income
(METHODS section 12.3).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import as_floats, holds_numbers
from riskweighted.derivation.states import quote_column
from riskweighted.design.distinct import Distinct
from riskweighted.design.spline_basis import independent
from riskweighted.sequence.edit_rules import Rules
from riskweighted.sequence.products import (
    FEWEST_OF_PRODUCT,
    asks_whether,
    make_products,
    read_products,
)
from riskweighted.sequence.recoding import RECODINGS, make_recipes
from riskweighted.sequence.rule_effects import RuleEffects, make_rule_effects
from riskweighted.suggest.roles import mutual_information
from riskweighted.utility.newton import solve_regression

__all__ = ["FoundProduct", "find_products"]

_LEAST_GAIN = 0.01  # of the log loss of the other half of the records
_INTERCEPT_SD = 2.0  # of the prior; those of the slopes are 1


class FoundProduct(NamedTuple):
    """Whether ``when`` holds, times the levels of ``levels``, predicts whether ``variable`` has a
    status; ``gain``: by what share the log loss of records that were not fitted falls."""

    when: str
    levels: str
    variable: str
    gain: float


def find_products(
    data: pd.DataFrame,
    variables: Sequence[str],
    predictors: Sequence[str],
    levels: Sequence[str],
    codes: Mapping[str, Sequence[float]],
    asked: Mapping[str, np.ndarray],
    unit: str | None = None,
    rules: Rules | None = None,
) -> list[FoundProduct]:
    """Return the products by which the log loss of a status of a variable falls by 1 % and more, in
    halves of the records.

    Parameters
    ----------
    data : DataFrame of n records
    variables : sequence of str
        What is synthesized, in order.
    predictors, levels : sequence of str
        What predicts; and those of them that are levels, of which the one that tells most of a
        status is multiplied.
    codes : mapping of str to sequence of float
        Special codes of numbers, which are no amounts.
    asked : mapping of str to (n,) bool
        Of a variable with a structural rule, the records that have a value of their own.
    unit : str, optional
        Records of one unit are in the same half.
    rules : Rules, optional
        Those of the chain: a status that they settle, or rule out, is not asked of these records.

    Notes
    -----
    A status is that a variable is zero, where zeros are one (10 records and 1 %), or missing. Each
    half is predicted by the mode of a logistic regression on the other, whose slopes have the
    priors that a chain's have, N(0, 1).
    """
    if len(variables) < 2 or not levels:
        return []
    half = _halves(data, unit)
    found = list[FoundProduct]()
    for place, name in enumerate(variables[1:], 1):
        best = list[FoundProduct]()
        decider = (
            None
            if rules is None
            else make_rule_effects(rules, name, data[name], codes.get(name, ()))
        )
        for outcome, may, hit in _statuses(data[name], asked.get(name), codes.get(name, ())):
            member = may if decider is None else may & _open(decider, data, outcome)
            if not _enough(hit[member]):
                continue
            answer = hit[member].astype(np.int64)
            by = max(
                levels,
                key=lambda level: mutual_information(
                    pd.factorize(data[level][member], use_na_sentinel=False)[0], answer
                ),
            )
            columns = _columns(data, [*predictors, *variables[:place]], codes, variables)
            kept, loss = columns, _log_loss(columns[member], hit[member], half[member])
            for when in _conditions(data, variables[:place], codes):
                more = _multiplied(
                    data, when, by, name, [*predictors, *variables[: place + 1]], codes
                )
                if more is None:
                    continue
                tried = np.column_stack([kept, more])
                less = _log_loss(tried[member], hit[member], half[member])
                if less < (1 - _LEAST_GAIN) * loss:
                    best.append(FoundProduct(when, by, name, 1 - less / loss))
                    kept, loss = tried, less
        first = {product[:3]: product for product in reversed(best)}
        found += [product for product in best if first[product[:3]] is product]
    return found


def _halves(data: pd.DataFrame, unit: str | None) -> np.ndarray:
    """Which half each record is in, bool (n,)."""
    codes = (
        np.arange(len(data)) if unit is None else pd.factorize(data[unit], use_na_sentinel=False)[0]
    )
    return np.asarray(
        np.random.default_rng(0).permutation(int(codes.max(initial=0)) + 1)[codes] % 2 == 0
    )


def _open(decider: RuleEffects, data: pd.DataFrame, outcome: object) -> np.ndarray:
    """For which records rules leave open whether the variable is so, bool (n,)."""
    left = decider.left(data)
    free = left.only < 0
    return np.asarray(
        free & left.allowed[:, decider.place(outcome)] if outcome in decider.outcomes else free
    )


def _statuses(
    column: pd.Series, asked: np.ndarray | None, codes: Sequence[float]
) -> Iterator[tuple[object, np.ndarray, np.ndarray]]:
    """Each status, as an outcome, with who may have it and who has it, bool (n,) each: missing, and
    zero among the others.
    """
    member = np.ones(len(column), dtype=bool) if asked is None else asked
    missing = column.isna().to_numpy()
    if _enough(missing[member]):
        yield None, member, missing
    member = member & ~missing
    if holds_numbers(column):
        member = member & ~np.isin(as_floats(column), [code for code in codes if code != 0])
        if member.any() and asks_whether(column[member]):
            yield 0.0, member, np.asarray(as_floats(column) == 0)


def _enough(hit: np.ndarray) -> bool:
    return bool(FEWEST_OF_PRODUCT <= hit.sum() <= len(hit) - FEWEST_OF_PRODUCT)


def _conditions(
    data: pd.DataFrame, earlier: Sequence[str], codes: Mapping[str, Sequence[float]]
) -> Iterator[str]:
    """What may be so of each earlier variable: that it is zero, where that is a status, or
    missing.
    """
    for name in earlier:
        if holds_numbers(data[name]) and (
            0 in codes.get(name, ()) or asks_whether(data[name].dropna())
        ):
            yield f"{quote_column(name)} == 0"
        if data[name].isna().any():
            yield f"missing({quote_column(name)})"


def _columns(
    data: pd.DataFrame,
    sources: Sequence[str],
    codes: Mapping[str, Sequence[float]],
    variables: Sequence[str],
) -> np.ndarray:
    """The numeric columns of what predicts, (n, p), as a chain has them."""
    recipes = make_recipes(data, sources, codes, variables, RECODINGS[1])
    each = [recipe.table(data[name]) for name, recipe in recipes.items()]
    return np.hstack([table.rows[table.which] for table in each])


def _multiplied(
    data: pd.DataFrame,
    when: str,
    by: str,
    variable: str,
    sources: Sequence[str],
    codes: Mapping[str, Sequence[float]],
) -> np.ndarray | None:
    """The columns of one product, (n, k); None where too few records have it."""
    place = sources.index(variable)
    products = read_products([(when, by, variable)], sources, ())
    try:
        (recipe,) = make_products(
            products, data, make_recipes(data, sources[:place], codes, (), RECODINGS[1])
        ).values()
    except InputError:
        return None
    table = recipe.table(data)
    return np.asarray(table.rows[table.which])


def _log_loss(columns: np.ndarray, hit: np.ndarray, half: np.ndarray) -> float:
    """The mean negative log probability of what each half has, (m,), by the fit to the other;
    infinite without two halves.
    """
    total = 0.0
    if half.all() or not half.any():
        return np.inf
    for fitted in (half, ~half):
        keep = independent(columns[fitted])
        used = columns[:, keep] - columns[fitted][:, keep].mean(axis=0)
        precision = np.append(_INTERCEPT_SD**-2, np.ones(used.shape[1]))
        x = Distinct.apart(np.column_stack([np.ones(fitted.sum()), used[fitted]]))
        solved = solve_regression(
            x, hit[fitted].astype(float), np.ones(len(x.rows)), True, precision
        )
        if solved is None:
            return np.inf
        slopes = solved[0]
        signed = np.where(hit[~fitted], 1.0, -1.0) * (slopes[0] + used[~fitted] @ slopes[1:])
        total += float(np.logaddexp(0.0, -signed).sum())
    return total / len(hit)
