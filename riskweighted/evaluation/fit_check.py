"""Is a model good enough for its data? `check_fit`: posterior predictive checks judged by effect sizes (METHODS section 5.10)."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm

from riskweighted.common.checks import check_count, check_names, check_seed
from riskweighted.common.errors import InputError
from riskweighted.common.frames import require_columns
from riskweighted.contract.distribution import draw_values
from riskweighted.contract.drawing import spread_draws
from riskweighted.design.formulas import split_formula
from riskweighted.evaluation.fit_pit import pit_rows
from riskweighted.evaluation.fit_statistics import Comparison, Grouping, comparisons, groupings, level_comparisons
from riskweighted.evaluation.judgement import COST, FITS, MISFITS, MODEL
from riskweighted.intruder.scenario import Scenario
from riskweighted.measures import checks
from riskweighted.measures.registry import measures
from riskweighted.sequence.declared import refuse_chain
from riskweighted.sequence.fit import Fit

__all__ = ["COLUMNS", "COST", "FITS", "MISFITS", "MODEL", "THRESHOLDS", "check_fit", "fit_verdict"]

COLUMNS = (
    "check",
    "parameter",
    "confidential",
    "synthetic",
    "standard_error",
    "z",
    "effect",
    "threshold",
    "verdict",
    "records",
    "definition",
)

# What an effect is, the registry says.
THRESHOLDS: Mapping[str, float] = MappingProxyType({one.key: one.adequate for one in checks.MEASURES if one.adequate is not None})
_EXTREME_QUANTILES, _EXTREME_THRESHOLD = ("0.01", "0.99"), 0.1
_BY_EFFECT_ALONE = (checks.LARGEST.key,)  # an explosion makes its own standard error large
_CHANCE = 0.01  # that any row of a right model is beyond its limit (Bonferroni)
_COPY = 0.99  # rank correlation from which a column is a copy of the target (METHODS section 13)
_LARGEST = 1e150  # beyond which drawn values are cut for the statistics, so that squares stay finite
_MOST_LEVELS = 20  # of a predictor whose levels are groups


class _Row(NamedTuple):
    check: str
    parameter: str
    confidential: float
    synthetic: float
    standard_error: float
    effect: float
    records: int


def check_fit(
    fit: Fit,
    *,
    scenario: Scenario | None = None,
    by: Sequence[str] | str | None = None,
    others: Sequence[str] | None = None,
    draws: int = 100,
    precision: float | None = None,
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Compare a fit with its data: statistics of predictive datasets beside the confidential ones, each with a verdict.

    Parameters
    ----------
    fit : Fit
        Unweighted (alpha 1 everywhere, no survey weights), it is judged. Of a weighted one the distance from the data is its cost, or
        what survey weights are for, so the verdict is "cost".
    scenario : Scenario, optional
        Means are compared by its known patterns, of 50 records or more; of a categorical target the shares of its levels.
    by : column names, optional
        ... or by the combinations of these columns. Without either, by the levels of each predictor of at most 20 values.
    others : sequence of str, optional
        Numeric variables whose correlation with the target is compared; default: all of the frame but the target's own copies (a rank
        correlation of 0.99 or more), which no release holds. A categorical target has no correlations.
    draws : int
        Predictive datasets, from draws spread evenly over the posterior.
    precision : float, optional
        Drawn numbers are multiples of it; default as in `Fit.synthesize`.
    random_seed : int, optional

    Returns
    -------
    DataFrame, one row per statistic, the first one for the model: ``check`` (key of the registry of measures), ``parameter``,
    ``confidential``, ``synthetic`` (median over the predictive datasets), ``standard_error`` (half of their central 68 %), ``z``,
    ``effect``, ``threshold``, ``verdict`` ("fits", "misfits", "cost"), ``records`` (how many confidential ones the row tells of: of a share
    those that have it or those that lack it, whichever are fewer), ``definition``. Confidential; the largest value of the data is shown
    as a ratio only.

    Raises
    ------
    InputError
        If the fit is of a baseline that keeps true values, or a column or setting is not valid.

    Notes
    -----
    A row misfits where its effect exceeds the threshold AND chance does not explain the difference: with R rows, ``abs(z)`` exceeds the
    normal quantile of ``1 - 0.01 / (2 R)``. With many records every z is large, so the effect decides; with few no effect is small, so z
    does. The row of the largest value is judged by its effect alone. The model fits if every row does; the effect of its row is the
    largest ratio of effect and threshold among the rows that misfit, or among all if none does.
    """
    refuse_chain(fit.synthesizer, "check_fit")
    if fit.keeps_true_values:
        raise InputError(f"{type(fit.synthesizer).__name__} keeps true values: there is no model to judge")
    check_seed(random_seed)
    target, data = fit.variables[0], fit.confidential
    missing = int(data[target].isna().sum())
    if missing:
        raise InputError(f"{target!r} is missing in {missing} of {len(data)} records, which a fit of one variable does not draw")
    if data[target].nunique() < 2:
        raise InputError(f"{target!r} is constant: there is nothing to compare")
    own, groups, values = precision or fit.precision, _groups(fit, scenario, by), fit.numbers(data)
    if fit.categories is not None:
        own, compared = fit.precision, level_comparisons(values, fit.categories, groups)
    else:
        compared = comparisons(values, own, groups, _others(fit, others))
    rows = _judged_rows(fit, compared, own, check_count(draws, "draws"), random_seed)
    return _table(rows, unweighted=bool((fit.weights == 1).all()))


def fit_verdict(table: pd.DataFrame) -> str:
    """The verdict for the model of a table of `check_fit`: "fits", "misfits", or "cost" of a weighted fit."""
    require_columns(table, ["check", "verdict"], "the table of check_fit")
    found = table.loc[table["check"] == MODEL, "verdict"]
    if len(found) != 1:
        raise InputError(f"the table of check_fit must have one row {MODEL!r}, got {len(found)}")
    return str(found.iloc[0])


def _judged_rows(fit: Fit, compared: list[Comparison], precision: float | None, count: int, random_seed: int | None) -> list[_Row]:
    """Every row, from predictive datasets that are made and measured one after the other."""
    column = fit.confidential[fit.variables[0]]
    values, block, sizes = fit.numbers(fit.confidential), fit.block, fit.sizes
    available = sizes["chain"] * sizes["draw"]
    places = spread_draws(sizes["chain"], sizes["draw"], min(count, available)) if fit.estimates else [(0, 0)] * count
    whole = pd.api.types.is_integer_dtype(column.dtype)
    unit = precision or (1.0 if whole else None)
    seeds = np.random.SeedSequence(random_seed).spawn(len(places) + 1)
    measured, below, equal = [], np.zeros(len(values)), np.zeros(len(values))
    for place, seed in zip(places, seeds, strict=False):
        drawn = draw_values(block.synthesizer, block.draw(*place), block.prepared, np.random.default_rng(seed), len(values)).astype(float)
        drawn = np.clip(drawn if unit is None else block.rounded(drawn, unit), -_LARGEST, _LARGEST)
        below += drawn < values
        equal += drawn == values
        measured.append([one.statistic(drawn) for one in compared])
    rows = [row for k, one in enumerate(compared) for row in _compared(one, values, np.array([every[k] for every in measured]))]
    ranks = (below, equal, len(places))
    pit = pit_rows(block, places, values, unit, ranks, np.random.default_rng(seeds[-1]))
    return rows + [_Row(*row, len(values)) for row in pit]


def _compared(one: Comparison, values: np.ndarray, drawn: np.ndarray) -> Iterator[_Row]:
    """The rows of a comparison; `drawn` (datasets, k)."""
    own = one.statistic(values)
    low, middle, high = np.quantile(drawn, norm.cdf([-1, 0, 1]), axis=0)
    effects = one.effect(own, middle)
    rows = zip(one.parameters, own, middle, (high - low) / 2, effects, one.records, strict=True)
    for parameter, confidential, synthetic, error, effect, records in rows:
        yield _Row(one.check, parameter, float(confidential), float(synthetic), float(error), float(effect), records)


def _table(rows: list[_Row], *, unweighted: bool) -> pd.DataFrame:
    """Rows with z, threshold and verdict, the model's own first."""
    limit, ratios, lines = float(norm.isf(_CHANCE / (2 * len(rows)))), [], []
    for row in rows:
        difference = row.synthetic - row.confidential
        z = difference / row.standard_error if row.standard_error > 0 else np.copysign(np.inf, difference) if difference else 0.0
        extreme = row.check == checks.QUANTILE.key and row.parameter in _EXTREME_QUANTILES
        threshold = _EXTREME_THRESHOLD if extreme else THRESHOLDS[row.check]
        misfits = row.effect > threshold and (row.check in _BY_EFFECT_ALONE or abs(z) > limit)
        ratios.append((misfits, row.effect / threshold))
        verdict = COST if not unweighted else MISFITS if misfits else FITS
        lines.append((*row[:5], z, row.effect, threshold, verdict, row.records, measures()[row.check].definition))
    misfit, worst = max(ratios)
    verdict = COST if not unweighted else MISFITS if misfit else FITS
    model = (MODEL, "", np.nan, np.nan, np.nan, np.nan, worst, 1.0, verdict, max(row.records for row in rows), checks.MODEL.definition)
    return pd.DataFrame([model, *lines], columns=list(COLUMNS))


def _predictors(fit: Fit) -> list[str]:
    """The columns of the formula, or all others of the frame where the synthesizer has none."""
    formula: Any = getattr(fit.synthesizer, "formula", None)
    names = split_formula(formula).names if isinstance(formula, str) else tuple(map(str, fit.confidential.columns))
    return [name for name in names if name != fit.variables[0]]


def _groups(fit: Fit, scenario: Scenario | None, by: Sequence[str] | str | None) -> list[Grouping]:
    """Known patterns, combinations of given columns, or the levels of each predictor that has few."""
    if scenario is not None and by is not None:
        raise InputError("give scenario or by, not both: each says by which columns means are compared")
    if scenario is not None or by is not None:
        names = tuple(scenario.known) if scenario is not None else check_names(by, "by")
        require_columns(fit.confidential, names, "confidential data")
        return list(groupings(fit.confidential, [names] if names else []))
    few = [name for name in _predictors(fit) if fit.confidential[name].nunique() <= _MOST_LEVELS]
    return list(groupings(fit.confidential, [[name] for name in few]))


def _others(fit: Fit, names: Sequence[str] | None) -> dict[str, np.ndarray]:
    """The other numeric variables without gaps, as floats."""
    data, target = fit.confidential, fit.variables[0]
    if names is not None:
        require_columns(data, check_names(names, "others"), "confidential data")
    asked = [str(name) for name in data.columns if pd.api.types.is_numeric_dtype(data[name].dtype)] if names is None else list(names)
    numeric = {name: pd.to_numeric(data[name], errors="coerce").to_numpy(dtype=float, na_value=np.nan) for name in asked if name != target}
    complete = {name: values for name, values in numeric.items() if np.isfinite(values).all()}
    return complete if names is not None else {name: values for name, values in complete.items() if not _copies(values, data[target])}


def _copies(values: np.ndarray, target: pd.Series) -> bool:
    """Whether a column has the order of the target, to a rank correlation of 0.99, whatever its scale."""
    ranks, own = pd.Series(values).rank(), target.reset_index(drop=True).astype(float).rank()
    return bool(ranks.std() > 0 and abs(ranks.corr(own)) >= _COPY)
