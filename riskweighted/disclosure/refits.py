"""A fit made anew without some records: for what importance weights cannot tell (METHODS section
13.1).
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import ConvergenceWarning, FlatWeightsWarning
from riskweighted.common.frames import with_columns
from riskweighted.common.progress import Advance
from riskweighted.contract.centring import CentredWeights, OwnFunction
from riskweighted.contract.synthesizer import Synthesizer, is_strange
from riskweighted.design.formulas import split_formula
from riskweighted.disclosure.leave_one_out_weights import (
    Weighting,
    can_leave_one_out,
    depends_on_values,
)
from riskweighted.intruder.world import World, make_world
from riskweighted.sampling.sampling_settings import AUTO, NUTS, Sampling
from riskweighted.sequence.edit_rules import any_broken
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.fitting import fit_sequence
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.weights.families import Fits
from riskweighted.weights.match import world_functions, world_weights
from riskweighted.weights.scheme_names import is_centred
from riskweighted.weights.schemes import is_by_risk, scheme_source

__all__ = ["REFITTED", "can_refit", "means_of_targets", "refit_without"]

# records at most of a file whose fit is made anew without some: of more a fit takes minutes
REFITTED = 200_000
# of a target, whose means a column may be
_FUNCTIONS: tuple[Callable[[pd.Series], pd.Series], ...] = (lambda values: values, np.log)
_OVER = ("mean", "sum")  # the records of a level
# of the records, twice; of the column's spread, and at most where it is rounded
_MOST, _NEAR, _ROUGH = 0.9, 1e-4, 0.1


@dataclass(frozen=True, eq=False)
class _WithoutSome:
    """Weights as functions of own values, which are 0 of the records that are gone, whatever the
    value.
    """

    function: OwnFunction
    gone: np.ndarray

    @property
    def pattern(self) -> np.ndarray:
        return self.function.pattern

    @property
    def label(self) -> str:
        return f"{self.function.label} without {self.gone.tolist()}"

    def at(self, records: np.ndarray, values: pd.Series) -> np.ndarray:
        return np.where(
            np.isin(records, self.gone)[:, None], 0.0, self.function.at(records, values)
        )


def means_of_targets(fit: Fit) -> dict[str, str]:
    """Predictors that are means or totals of a target, or of its log, over the records that share
    the predictor's value, also rounded: by name, of what. Of a class that is not the package's any
    column may be a predictor.

    Such a column holds the values of few records each, and is as much a thing made of the target as
    a learned score.
    """
    made = {}
    sources = {
        source
        for block in fit.prepared.blocks
        for source in block.sources or _read_by(fit.blocks[block.name].synthesizer, fit)
    }
    for name in fit.confidential.columns.intersection(list(sources), sort=False):
        column = fit.confidential[name]
        if (
            name in fit.variables
            or not pd.api.types.is_numeric_dtype(column.dtype)
            or pd.api.types.is_bool_dtype(column.dtype)
        ):
            continue
        for target in fit.variables:
            if next(_means(fit.confidential, name, target), None) is not None:
                made[str(name)] = target
    return made


def _read_by(synthesizer: Synthesizer, fit: Fit) -> set[str]:
    """The columns that a model may read of the file: of the package's models those that its
    settings name.
    """
    columns = {str(name) for name in fit.confidential.columns}
    if is_strange(synthesizer):
        return columns
    settings = vars(synthesizer)
    named = [value if isinstance(value, tuple) else (value,) for value in settings.values()]
    return columns & {
        *split_formula(settings["formula"]).names,
        *(name for names in named for name in names if isinstance(name, str)),
    }


def _means(
    data: pd.DataFrame, name: str, target: str
) -> Iterator[tuple[Callable[[pd.Series], pd.Series], str]]:
    """Of which functions of the target a column is the mean or the total by its own levels, and
    which of both.
    """
    if not pd.api.types.is_numeric_dtype(data[target].dtype):
        return
    held = data[name].to_numpy(dtype=float, na_value=np.nan)
    rounded = _rounding(held)
    for function in _FUNCTIONS:
        with np.errstate(divide="ignore", invalid="ignore"):
            values = function(data[target].astype(float))
        for over in _OVER:
            made = values.groupby(held).transform(over).to_numpy()
            there = np.isfinite(made) & np.isfinite(held)
            spread = np.std(held[there]) if there.any() else 0.0
            near = max(_NEAR * spread, min(rounded / 2 * (1 + _NEAR), _ROUGH * spread))
            if (
                there.mean() > _MOST
                and spread > 0
                and (np.abs(made - held)[there] <= near).mean() > _MOST
            ):
                yield function, over


def _rounding(held: np.ndarray) -> float:
    """The power of ten of which all numbers are multiples, 0 where there is none down to a
    millionth.
    """
    there = held[np.isfinite(held)]
    units = (10.0**power for power in range(6, -7, -1))
    return next(
        (unit for unit in units if (np.abs(there / unit - np.rint(there / unit)) < _NEAR).all()),
        0.0,
    )


def _donors_of(fit: Fit, name: str, donors: np.ndarray) -> np.ndarray:
    """Whose value each record has of a variable: of one that is drawn once a unit the first
    member's donor's.
    """
    members = fit.prepared.members
    once = members is not None and members.is_of_unit(name)
    return donors[members.held.first] if once and members is not None else donors


def _with_means(fit: Fit, confidential: pd.DataFrame, gone: np.ndarray) -> None:
    """Make the predictors that are means or totals of a target again, in place, of the records that
    are not gone; of whole levels those of the average record."""
    there = np.ones(len(confidential), dtype=bool)
    there[gone] = False
    for name, target in means_of_targets(fit).items():
        function, over = next(_means(fit.confidential, name, target))
        values, held = function(fit.confidential[target].astype(float)), fit.confidential[name]
        made = values[there].groupby(held[there].to_numpy()).agg(over)
        again = held.map(made).fillna(values[there].mean())
        unit = (
            _rounding(held.to_numpy(dtype=float, na_value=np.nan))
            if pd.api.types.is_integer_dtype(held.dtype)
            else 0.0
        )
        confidential[name] = (np.rint(again / unit) * unit if unit else again).astype(held.dtype)


def can_refit(weighting: Weighting | None) -> bool:
    """Whether a fit can be made anew without a record: not where its centred weights are made of
    another fit.
    """
    return (
        weighting is None
        or not is_centred(weighting.scheme)
        or scheme_source(weighting.scheme) is None
    )


def _that_fit(fit: Fit, record: int, mates: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Of the records whose values may stand in another's row those that break no rule there, as
    long as a decided variable asks for it.
    """
    if all(link.decider is None for link in fit.prepared.links):
        return mates
    for some in (mates, others):
        row = fit.confidential.iloc[np.full(len(some), record)]
        placed = with_columns(
            row, {name: fit.confidential[name].array[some] for name in fit.variables}
        )
        fitting = some[~any_broken(fit.prepared.rules.rules, placed)]
        if len(fitting):
            return np.asarray(fitting)
    return mates


def _weights_of_rest(
    fit: Fit,
    world: World,
    others: np.ndarray,
    weighting: Weighting,
    sampling: Sampling,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """The weights that some records have where there are no others, made of fits to these where
    they compare two.
    """
    world = weighting.world or world
    scenarios = [each.scenario for each in world.each]
    part = make_world(world.confidential.iloc[others], scenarios, world.units)
    making: dict[str, Any] = {
        name: getattr(weighting, name) for name in ("risk_of", "scale", "shift")
    }
    made_of: Fits | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said when the weights of all were made
        if is_by_risk(weighting.scheme):
            survey = None if fit.survey is None else fit.survey.iloc[others]
            given = world_weights(part, str(scheme_source(weighting.scheme)), **making)
            fits = (
                fit_sequence(
                    prepare_sequence(fit.synthesizer, part.confidential, survey, alphas),  # type: ignore[arg-type]
                    alphas,
                    sampling,
                    int(rng.integers(2**31)),
                    compared=True,
                )
                for alphas in (given, given * 0 + 1)
            )
            made_of = Fits(*fits)
        return world_weights(part, weighting.scheme, fit=made_of, **making)


def refit_without(
    fit: Fit,
    world: World,
    gone: np.ndarray,
    weighting: Weighting | None,
    rng: np.random.Generator,
    most: int | None = None,
    progress: Advance | None = None,
) -> Fit:
    """Return the fit without a record, or those of a unit: weights are 0, and rows hold values of
    other records of their known pattern.

    So all that reads the data, bounds and knots and scales, is made of the other records' values,
    and a row is still made at its place. Risk weights are those of the other records alone. It is
    sampled as the fit was, chains as long as the fit's, or where not so many draws are needed with
    `most` in all after the warm-up; of parts that importance is refused for short ones, if they
    agree.
    """
    confidential, names = fit.confidential.copy(), list(fit.variables)
    codes, others = world.patterns.codes, np.setdiff1d(np.arange(len(confidential)), gone)
    donors = np.arange(len(confidential))
    for record in gone:
        mates = others[codes[others] == codes[record]]
        donors[record] = rng.choice(_that_fit(fit, record, mates if len(mates) else others, others))
    for name in names:
        confidential[name] = confidential[name].array[_donors_of(fit, name, donors)]
    _with_means(fit, confidential, gone)
    alphas = fit.alphas[names].copy()
    # where some parts have chains no row names importance
    engine = AUTO if fit.diagnostics["pareto_k"].notna().any() else NUTS
    chains, long = fit.sizes["chain"], fit.sizes["draw"]
    draws = long if most is None else min(-(-most // chains), long)
    sampling = Sampling(draws=draws, tune=long, chains=chains, engine=engine)
    if weighting is not None and can_leave_one_out(weighting) and depends_on_values(weighting):
        rest = _weights_of_rest(fit, world, others, weighting, sampling, rng)
        alphas.iloc[others] = rest[names].to_numpy()
    alphas.iloc[gone] = 0.0
    made: Any = alphas
    prepared = prepare_sequence(
        fit.synthesizer,  # type: ignore[arg-type]
        confidential,
        fit.survey,
        alphas,  # scores are learned once
        of_true_units=False,
    )
    if weighting is not None and is_centred(weighting.scheme):
        by_value = world_functions(
            weighting.world or world,
            weighting.scheme,
            weighting.risk_of,  # type: ignore[arg-type]
            scale=weighting.scale,
            shift=weighting.shift,
            cluster=weighting.cluster,
        )
        made = CentredWeights(
            alphas, {name: _WithoutSome(function, gone) for name, function in by_value.items()}
        )
    elif fit.prepared.of_one:
        made = alphas[names[0]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FlatWeightsWarning)
        anew = fit_sequence(
            prepared, made, sampling, int(rng.integers(2**31)), progress, compared=True
        )
    return anew.with_drawing(fit.settings)
