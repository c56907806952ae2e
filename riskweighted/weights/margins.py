"""What weights do to the margin of each synthesized variable, before any fit: raw shares beside
alpha-weighted ones.
"""

import warnings
from collections.abc import Mapping

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_count
from riskweighted.common.errors import InputError, MarginShiftWarning, listing
from riskweighted.common.frames import check_weights
from riskweighted.common.groups import group_codes
from riskweighted.common.native import Frame, as_pandas
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.statuses import MISSING, status_name
from riskweighted.intruder.world import World, make_world

__all__ = ["FLOOR", "margin_shift", "overfill_factor", "warn_of_shift", "world_shift"]

_GROUPS = 5  # quintiles of a numeric variable
# of its raw share: with less than a fifth of it left, a level is as good as gone from what is
# released
_ERASED = 0.2
_HELD = 10  # records of a level, from which its loss is one that users of the data would see


FLOOR = 0.45  # smallest weight that a centred scheme offered for release has
# weights of a level of .001, and how often it was released
_LEAST = (0.0, 0.0316, 0.1, 0.178, 0.26, 0.43, 0.5, 1.0)
_TIMES = (15.4, 5.7, 3.2, 2.2, 1.8, 1.4, 1.3, 1.0)


def world_shift(
    world: World, alpha: pd.Series | pd.DataFrame | np.ndarray, *, levels: bool = False
) -> pd.DataFrame:
    """`margin_shift` of checked data."""
    weights = _own_weights(world, alpha)
    tables = {name: _levels(world, name, of_variable) for name, of_variable in weights.items()}
    if levels:
        return pd.concat(tables.values(), ignore_index=True)
    return pd.DataFrame([_distance(name, table, weights[name]) for name, table in tables.items()])


def margin_shift(
    confidential: Frame,
    scenario: Scenario,
    alpha: pd.Series | pd.DataFrame | np.ndarray,
    *,
    levels: bool = False,
) -> pd.DataFrame:
    """Return the margin of every synthesized variable as it is and as the weights leave it (METHODS
    section 3.5).

    A saturated model of the variable alone releases the alpha-weighted margin; a model with
    predictors shifts it within what they explain. Shares far apart say before any fit that the
    weights would move the release, and a ratio near 0 that they erase a category.

    Parameters
    ----------
    confidential : DataFrame, n rows
    scenario : Scenario
        Numeric synthetic variables are grouped at the quintiles of their values (a value that a
        fifth of the records holds is a group of its own), missing values and special codes apart;
        the others, and those named in `categorical`, count by level.
    alpha : (n,), or (n, V) where each of the V synthetic variables has weights of its own
        A DataFrame has the synthetic variables as its columns; an array has them in the scenario's
        order.
    levels : bool, default False

    Returns
    -------
    DataFrame. Confidential.
        One row per variable: ``variable``, ``levels`` (their number), ``alpha`` (sum of the
        weights), ``total_variation`` (half the sum of the absolute differences of the shares, in
        [0, 1]), ``least_ratio`` (the smallest weighted share over its raw one; 0 is a category that
        the weights erase), ``erased`` (how many levels of 10 records or more keep less than a fifth
        of their share). With ``levels=True`` one row per level: ``variable``, ``level`` (of numbers
        "1 of 5", from the lowest; a special code; "missing"), ``raw`` and ``weighted`` (shares),
        ``ratio``.

    Raises
    ------
    InputError
        If a column is unknown, a sensitive value is infinite, or weights are of another shape or
        index, outside [0, 1] or all 0.

    Examples
    --------
    >>> from riskweighted.runs.examples import alpha, data, scenario
    >>> rw.margin_shift(data, scenario, alpha)[
    ...     ["variable", "total_variation", "least_ratio", "erased"]
    ... ].round(2)
      variable  total_variation  least_ratio  erased
    0   income             0.11         0.59       0
    """
    confidential = as_pandas(confidential)
    return world_shift(make_world(confidential, scenario), alpha, levels=levels)


def _own_weights(
    world: World, alpha: pd.Series | pd.DataFrame | np.ndarray
) -> dict[str, np.ndarray]:
    """The checked weights of each synthetic variable, (n,)."""
    names, index = world.scenario.synthetic, world.confidential.index
    if isinstance(alpha, pd.DataFrame):
        if sorted(map(str, alpha.columns)) != sorted(names):
            raise InputError(
                f"alpha has columns {listing(alpha.columns)}; they must be the synthetic "
                f"variables {listing(names)}"
            )
        columns = {name: alpha[name] for name in names}
    elif not isinstance(alpha, pd.Series) and np.ndim(alpha) == 2:
        if np.shape(alpha)[1] != len(names):
            raise InputError(
                f"alpha has {np.shape(alpha)[1]} columns for {len(names)} synthetic variables; "
                "they must be as many"
            )
        columns = dict(zip(names, np.asarray(alpha).T, strict=True))
    else:
        columns = dict.fromkeys(names, alpha)
    checked = {
        name: check_weights(of_variable, index, what="alpha").to_numpy()
        for name, of_variable in columns.items()
    }
    flat = [name for name, of_variable in checked.items() if not of_variable.any()]
    if flat:
        raise InputError(
            f"alpha is 0 for all {len(index)} records of {listing(flat)}: no margin is left, the "
            "prior alone would decide"
        )
    return checked


def _levels(world: World, name: str, alpha: np.ndarray) -> pd.DataFrame:
    """Raw and weighted share of each level that a variable has."""
    group, shown = _groups(world, name)
    raw, weighted = np.bincount(group) / len(group), np.bincount(group, weights=alpha) / alpha.sum()
    return pd.DataFrame(
        {
            "variable": name,
            "level": pd.Series(shown, dtype=object),
            "raw": raw,
            "weighted": weighted,
            "ratio": weighted / raw,
        }
    )


def _groups(world: World, name: str) -> tuple[np.ndarray, list[object]]:
    """The group of each record (n,), and what the groups are called: amounts or levels, then
    special codes, then missing.
    """
    column, scenario = world.confidential[name], world.scenario
    if name not in world.numeric:
        codes = group_codes([column], _GROUPS, numeric=False)[0]
        codes[codes == 0] = codes.max() + 1  # missing, the last one
        _, first, group = np.unique(codes, return_index=True, return_inverse=True)
        return group, [
            "missing" if pd.isna(column.iloc[row]) else column.iloc[row] for row in first
        ]
    statuses = scenario.statuses(column)
    quintile = group_codes([pd.Series(statuses.amounts)], _GROUPS, numeric=True)[0]
    group = np.empty(len(column), dtype=np.int64)
    quintiles, group[statuses.is_amount] = np.unique(quintile, return_inverse=True)
    shown: list[object] = [f"{rank} of {len(quintiles)}" for rank in range(1, len(quintiles) + 1)]
    for status in sorted(statuses.present, key=lambda status: (status == MISSING, status)):
        group[statuses.status == status] = len(shown)
        shown.append(status_name(status, scenario.codes_of(name)))
    return group, shown


def _distance(name: str, table: pd.DataFrame, alpha: np.ndarray) -> dict[str, object]:
    """One row of the table by variable."""
    return {
        "variable": name,
        "levels": len(table),
        "alpha": float(alpha.sum()),
        "total_variation": float((table["raw"] - table["weighted"]).abs().sum() / 2),
        "least_ratio": float(table["ratio"].min()),
        "erased": int(
            ((table["ratio"] < _ERASED) & (np.rint(table["raw"] * len(alpha)) >= _HELD)).sum()
        ),
    }


def warn_of_shift(
    shift: pd.DataFrame, parameters: Mapping[str, int] | None = None, scheme: str | None = None
) -> list[str]:
    """Return, and warn of, each way in which weights leave the release to the prior or nearly erase
    a level (METHODS section 3.5, 3.6).

    Parameters
    ----------
    shift : DataFrame
        Of `margin_shift`, a row per variable.
    parameters : mapping of variable to int, optional
        How many parameters its model has. A sum of weights below that number is a likelihood worth
        fewer records than it has parameters. A variable that is not among them is not judged by it.
    scheme : str, optional
        Whose weights these are, for the text.

    Returns
    -------
    list of str: what was warned of, a sentence per variable and reason.

    Raises
    ------
    InputError
        If the table has other columns, or `parameters` names another variable or holds what is no
        count.

    Warns
    -----
    MarginShiftWarning
        Once for each sentence.

    Examples
    --------
    >>> from riskweighted.runs.examples import alpha, data, scenario
    >>> rw.warn_of_shift(rw.margin_shift(data, scenario, alpha), parameters={"income": 4})
    []
    """
    lacking = [
        name for name in ("variable", "levels", "alpha", "erased") if name not in shift.columns
    ]
    if lacking:
        raise InputError(
            f"shift lacks the column {listing(lacking)}: pass the table by variable of margin_shift"
        )
    counts = {
        name: check_count(count, f"parameters of {name!r}")
        for name, count in (parameters or {}).items()
    }
    unknown = [name for name in counts if name not in set(shift["variable"])]
    if unknown:
        raise InputError(
            f"parameters names {listing(unknown)}; the variables are {listing(shift['variable'])}"
        )
    whose = "" if scheme is None else f"scheme {scheme!r}: "
    texts = []
    for row in shift.itertuples(index=False):
        if row.variable in counts and row.alpha < counts[row.variable]:
            texts.append(
                f"{whose}the weights of {row.variable!r} sum to {row.alpha:.3g}, and its model "
                f"has {counts[row.variable]} parameters: the "
                "prior would decide what is released; match variables by their own balls, "
                "enlarge the radius or coarsen the known variables"
            )
        if row.erased:
            texts.append(
                f"{whose}{row.erased} of {row.levels} levels or groups of {row.variable!r} keep "
                "less than a fifth of their share under the "
                "weights and would hardly be released; pairwise and k-way weights keep more of "
                "rare levels than marginal ones"
            )
    for text in texts:
        warnings.warn(text, MarginShiftWarning, stacklevel=2)
    return texts


def overfill_factor(least: float) -> float:
    """How many times as often as it should a level of share .001 is released by a centred fit, at
    most, under this weight of it or more.

    Measured on 4,000 records of eight levels, softmax with priors N(0, 2^2) (METHODS section 15),
    less what the prior does without weights; of steps, so that it does not tell a record's weight.
    """
    return _TIMES[max(int(np.searchsorted(_LEAST, least, side="right")) - 1, 0)]
