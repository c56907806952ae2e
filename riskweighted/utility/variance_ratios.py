"""What centred weights cost an estimate: the variance of the weighted estimator over that of the
unweighted one (METHODS section 15).

Both are sandwiches A^-1 B A^-1 of a block's parameters, in the direction of an estimand: A minus
the second derivatives of the log pseudo posterior at its mode, B the sum over records of the outer
product of the gradients of what each adds to it.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_given
from riskweighted.common.frames import with_columns
from riskweighted.contract.centring import Intervals
from riskweighted.contract.intervals import values_within
from riskweighted.contract.synthesizer import Density, Draw, Layout
from riskweighted.contract.vector_layout import layout_of
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sampling.centred import CentredTerm
from riskweighted.sampling.laplace import peak_of
from riskweighted.sequence.blocks import Block
from riskweighted.sequence.fit import Fit
from riskweighted.utility.regressions import Analysis, checked_analyses, pulls

__all__ = [
    "COLUMNS",
    "BlockEstimands",
    "Sums",
    "mode_variances",
    "ratios_of",
    "stated_ratio",
    "variance_ratios",
]

COLUMNS = ("variable", "estimand", "ratio", "why")
_STEP = 1e-4  # of differences, in standard deviations of the pseudo posterior
_MOST = 1_000  # records over whose predictors an estimand is averaged
_FEWEST = 10  # records on the smaller side of a share
_ROUND_OFF = 1e-6  # which is not rounded up
_FIXED = (0.5, 0.9)  # quantiles of which the shares below are in every list


def variance_ratios(
    fit: Fit,
    regressions: Sequence[str] = (),
    *,
    quantiles: Sequence[float] = _FIXED,
    codes: Mapping[str, Sequence[float]] | None = None,
) -> pd.DataFrame:
    """Return by how much weights enlarge the variance of estimates: of the weighted estimator over
    that of the unweighted one.

    The variance that a synthetic dataset shows, ``vbar``, is that of an estimate from as many
    records of weight 1. Where weights are centred the estimate has the same expectation and a
    larger variance, so that ``kappa vbar + b/L`` takes the place of Reiter's ``vbar + b/L``, kappa
    being the ratio (METHODS section 15). Of each estimand: the mean, shares below quantiles, shares
    of levels and codes, and the coefficients of regressions, as the model says them at the
    predictors of the file.

    Parameters
    ----------
    fit : Fit
    regressions : sequence of str
        Formulas, as in `EvaluationSettings`. Predictors that are synthesized must be drawn before
        the response, and count as they are.
    quantiles : sequence of float
    codes : mapping of variable to numbers, optional
        Special codes, which are no amounts.

    Returns
    -------
    DataFrame
        ``variable``, ``estimand``, ``ratio``, and ``why`` there is none, where it is NaN. Constant
        weights have the ratio 1 exactly.

    Raises
    ------
    InputError
        If a regression cannot be read or estimated.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario, synthesizer
    >>> fit = rw.fit(
    ...     synthesizer, data, rw.centred_weights("mix+(t=0.5)", data, scenario), random_seed=1
    ... )
    >>> ratios = rw.variance_ratios(fit, ["income ~ age"])
    >>> ratios["estimand"].tolist()
    ['mean', '0.5 quantile', '0.9 quantile', 'coefficient age in income ~ age']
    >>> bool(ratios["ratio"].between(1, 1.05).all())
    True
    """
    check_given(fit, "fit", "blocks", "Fit", "fit(...)")
    return ratios_of(
        fit, checked_analyses(fit.confidential, regressions, codes or {}), quantiles, codes or {}
    )


def ratios_of(
    fit: Fit,
    analyses: Sequence[Analysis],
    quantiles: Sequence[float],
    codes: Mapping[str, Sequence[float]],
) -> pd.DataFrame:
    """The same of checked regressions."""
    rows = list[tuple[str, str, float, str]]()
    for analysis in analyses:
        why = _why_not(fit, analysis)
        rows += (
            [(analysis.response, f"coefficients of {analysis.formula}", np.nan, why)] if why else []
        )
    of_model = [analysis for analysis in analyses if not _why_not(fit, analysis)]
    for block in fit.prepared.blocks:
        held = fit.blocks[block.name]
        if not held.estimates:
            continue
        lists = BlockEstimands(
            fit,
            block,
            tuple(dict.fromkeys([*_FIXED, *map(float, quantiles)])),
            codes.get(block.variable, ()),
        )
        names, ratios, why = lists.judged(
            [each for each in of_model if each.response == block.variable]
        )
        rows += [
            (block.variable, name, float(ratio), why)
            for name, ratio in zip(names, ratios, strict=True)
        ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def stated_ratio(ratios: pd.DataFrame) -> float:
    """The one that a release states: the largest, rounded up to a multiple of .1, never below 1;
    NaN where none is known.
    """
    largest = ratios["ratio"].max()
    return (
        float("nan")
        if pd.isna(largest)
        else max(1.0, math.ceil(10 * (float(largest) - _ROUND_OFF)) / 10)
    )


def _why_not(fit: Fit, analysis: Analysis) -> str:
    """Why nothing is known of a regression, or nothing."""
    variables = list(fit.variables)
    read = [
        name for name in analysis.columns if name in fit.variables and name != analysis.response
    ]
    if analysis.response not in variables:
        return "its response is not synthesized"
    later = [name for name in read if variables.index(name) > variables.index(analysis.response)]
    return f"it reads {later[0]!r}, which is drawn after its response" if later else ""


class Sums(NamedTuple):
    """Estimands that are sums of what values say: pull_i E[known(Y) (number(Y) - centre_i) | x_i],
    at some records (R,).

    ``numbers``, ``known``: by interval, (R, G) or (1, G); ``pull`` (R, K).
    """

    names: tuple[str, ...]
    numbers: np.ndarray
    known: np.ndarray
    centre: np.ndarray
    pull: np.ndarray

    def moved(self, masses: np.ndarray, which: np.ndarray) -> np.ndarray:
        """By how much they move where the masses of designs (m, G) do, (K,)."""
        each = [
            (masses @ by[0])[which] if len(by) == 1 else (masses[which] * by).sum(axis=1)
            for by in (self.numbers, self.known)
        ]
        return np.asarray(self.pull.T @ (each[0] - self.centre * each[1]))


@dataclass(frozen=True, eq=False)
class BlockEstimands:
    """The estimands of a block of a fit, and their ratios. Confidential."""

    fit: Fit = field(repr=False)
    block: Block
    quantiles: tuple[float, ...]
    codes: Sequence[float]

    @property
    def held(self) -> BlockFit:
        return self.fit.blocks[self.block.name]

    def judged(self, analyses: Sequence[Analysis]) -> tuple[list[str], np.ndarray, str]:
        """Names, ratios and, where they are NaN, why."""
        held, alpha = self.held, self.held.alpha.to_numpy()
        sums = self.sums(analyses, None if held.centring is None else held.centring.intervals)
        names = [name for each in sums for name in each.names]
        if (alpha == alpha[0]).all():
            return names, np.ones(len(names)), ""
        if held.centring is None:
            return (
                names,
                np.full(len(names), np.nan),
                "its weights are not centred: they bias the estimate, which no variance corrects",
            )
        ratios = self._ratios(sums)
        if ratios is None:
            return (
                names,
                np.full(len(names), np.nan),
                f"{type(held.synthesizer).__name__} has no density of one vector",
            )
        return names, ratios, "" if np.isfinite(ratios).all() else "its variance was not found"

    def _ratios(self, sums: Sequence["Sums"]) -> np.ndarray | None:
        """Of centred weights, (K,); None where a model has its graph alone."""
        held, blueprint = self.held, self.held.synthesizer.build(self.held.prepared)
        centred = (
            None
            if blueprint is None
            else blueprint.weighted(held.weights.to_numpy(), held.centring)
        )
        if blueprint is None or centred is None or held.centred is None:
            return None
        survey = np.ones(len(held.y)) if held.survey is None else held.survey.to_numpy()
        unweighted = blueprint.weighted(survey)
        assert unweighted is not None
        term = replace(held.centred, confidential=held.confidential.iloc[self.rows])
        layout = layout_of(blueprint)
        find = partial(
            mode_variances,
            layout=layout,
            start=layout.vector(held.draw(0, 0)),
            term=term,
            sums=sums,
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(
                find(centred, held.contributions)
                / find(unweighted, lambda theta: survey * held.terms(theta))
            )

    @cached_property
    def rows(self) -> np.ndarray:
        """The records over whose predictors an estimand is averaged, (R,)."""
        n = len(self.held.y)
        return np.unique(np.linspace(0, n - 1, min(n, _MOST)).round().astype(int))

    def sums(self, analyses: Sequence[Analysis], intervals: Intervals | None) -> list["Sums"]:
        """The estimands, by what is said of values in the intervals; without these the names alone
        count.
        """
        return list(self._sums(analyses, intervals))

    def _sums(self, analyses: Sequence[Analysis], intervals: Intervals | None) -> Iterator["Sums"]:
        held, levels, rows = self.held, self.held.categories, self.rows
        values, whose = (
            values_within(intervals, held.y)
            if intervals is not None
            else (held.y[:1], np.zeros(1, dtype=int))
        )
        share = np.zeros((len(values), int(whose.max()) + 1))
        share[np.arange(len(values)), whose] = 1 / np.bincount(whose)[whose]
        whole = np.ones((len(rows), 1)) / len(rows)

        def of_all(name: str, numbers: np.ndarray, known: np.ndarray, centre: float) -> Sums:
            return Sums(
                (name,),
                (numbers * known)[None] @ share,
                known[None] @ share,
                np.full(len(rows), centre),
                whole,
            )

        if self.block.status is not None:
            hit = float(levels.index(True)) if levels is not None else 1.0
            yield of_all(
                f"share of {self.block.status.text}",
                (values == hit).astype(float),
                np.ones(len(values)),
                0.0,
            )
            return
        if levels is not None:
            counts = np.bincount(held.y.astype(int), minlength=len(levels))
            for code in np.flatnonzero(np.minimum(counts, len(held.y) - counts) >= _FEWEST):
                yield of_all(
                    f"share of {levels[code]}",
                    (values == code).astype(float),
                    np.ones(len(values)),
                    0.0,
                )
        else:
            yield from self._of_numbers(values, of_all)
        yield from (self._of_regression(analysis, values, share) for analysis in analyses)

    def _of_numbers(self, values: np.ndarray, of_all: Callable[..., Sums]) -> Iterator[Sums]:
        """Mean and quantiles of amounts, shares of codes."""
        special = [*self.codes, *getattr(self.held.synthesizer, "codes", ())]
        y = self.held.y
        amounts, known = y[~np.isin(y, special)], (~np.isin(values, special)).astype(float)
        if len(amounts):
            yield of_all("mean", values, known, float(amounts.mean()))
            for quantile in self.quantiles:
                at = float(np.quantile(amounts, quantile))
                yield of_all(
                    f"{quantile:g} quantile", (values <= at).astype(float), known, quantile
                )
        for code in dict.fromkeys(special):
            if min((y == code).sum(), (y != code).sum()) >= _FEWEST:
                yield of_all(
                    f"share of {code:.15g}",
                    (values == code).astype(float),
                    np.ones(len(values)),
                    0.0,
                )

    def _of_regression(self, analysis: Analysis, values: np.ndarray, share: np.ndarray) -> "Sums":
        """The coefficients of a regression but the intercept, at the confidential estimates."""
        data = self.fit.confidential[self.block.member]
        levels = self.held.categories
        rows = self.rows
        names = tuple(
            f"coefficient {name} in {analysis.formula}"
            for name, place in analysis.terms
            if place > 0
        )
        pull, fitted = pulls(analysis, data)
        sloping = pull[:, [number for number, (_, place) in enumerate(analysis.terms) if place > 0]]
        asked: list[Any] = (
            list(values) if levels is None else [levels[int(value)] for value in values]
        )
        if analysis.where is None:
            column = pd.Series(asked, dtype=float if levels is None else object)
            numbers = analysis.target(pd.DataFrame({analysis.response: column}))[None]
        else:
            some = data.iloc[rows]
            numbers = np.column_stack(
                [analysis.target(with_columns(some, {analysis.response: value})) for value in asked]
            )
        known = np.isfinite(numbers).astype(float)
        made = (np.nan_to_num(numbers) @ share, known @ share)
        return Sums(names, *made, fitted[rows], sloping[rows])


def mode_variances(
    density: Density,
    contributions: Callable[[Draw], np.ndarray],
    layout: Layout,
    start: np.ndarray,
    term: CentredTerm,
    sums: Sequence[Sums],
) -> np.ndarray:
    """The sandwich variance of all estimands at the mode of a log density, (K,), to which records
    add `contributions` (n,).

    ``start`` (d,): where the mode is searched from; ``term``: what gives the masses of intervals,
    of the records of the estimands.
    """
    peak, which = peak_of(density, start), term.designs[0]

    def at(v: np.ndarray) -> dict[str, np.ndarray]:
        return {
            name: values[0]
            for name, values in layout.parameters(peak.vector(peak.place + v)[None]).items()
        }

    here = term.masses(at(np.zeros(len(peak.place))))
    # one-sided: off by 1e-4 of a standard deviation
    steps = (term.masses(at(_STEP * direction)) - here for direction in peak.root.T)
    columns = [np.concatenate([each.moved(step / _STEP, which) for each in sums]) for step in steps]
    gradients = np.array(columns).T  # in the coordinates in which the curvature is 1
    lengths = np.linalg.norm(gradients, axis=1)
    variances = np.full(len(gradients), np.nan)
    for place in np.flatnonzero(lengths > 0):
        along = _STEP * (peak.root @ gradients[place] / lengths[place])
        each = (contributions(at(along)) - contributions(at(-along))) / (2 * _STEP)
        variances[place] = lengths[place] ** 2 * (each @ each)
    return variances
