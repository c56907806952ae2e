"""Clauses of a synthesizer's contract, each tried on one class and one data set; `checking` runs
them in order.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.frames import with_columns
from riskweighted.contract.categories import categories_of, target_numbers
from riskweighted.contract.distribution import Records, draw_values, log_densities
from riskweighted.contract.drawn_columns import as_column
from riskweighted.contract.synthesizer import (
    Blueprint,
    ContractError,
    Draw,
    Synthesizer,
    data_dependent,
)
from riskweighted.guarantee.clip import record_graph
from riskweighted.sampling.agreement import check_agreement, check_records
from riskweighted.sampling.graphs import WeightedSum, compile_records
from riskweighted.sampling.isolation import check_independent, refuse_dependence

__all__ = [
    "Skipped",
    "Trial",
    "at",
    "close",
    "data_left_alone",
    "dependence_declared",
    "draws_fit",
    "frozen_value",
    "graph_agrees",
    "inverse_inverts",
    "mass_adds_up",
    "mass_is_share",
    "needs_likelihood",
    "order_is_free",
    "other_responses",
    "others_move_nothing",
    "priors_alone",
    "records_agree",
    "require",
    "same_recipe",
    "seeds_repeat",
    "true_values_declared",
    "whole_numbers_replicate",
    "without_response",
    "zero_leaves_out",
]

_MASS_DRAWS = 600
_LIMIT = 5.0  # standard errors


@dataclass(frozen=True)
class Trial:
    """What the clauses share: ``thetas`` are places near the start of the sampler, the empty one
    where nothing is estimated.
    """

    make: Callable[[], Synthesizer]
    synthesizer: Synthesizer
    data: pd.DataFrame
    prepared: Any
    blueprint: Blueprint | None
    weighted_sum: WeightedSum | None
    thetas: tuple[Draw, ...]

    @property
    def n(self) -> int:
        return len(self.data)

    @property
    def target(self) -> str:
        return self.synthesizer.target

    def terms(
        self, theta: Draw, prepared: Any = None, frame: pd.DataFrame | None = None
    ) -> np.ndarray:
        """log p(y_i | theta) of the data, or of another frame prepared, (n,)."""
        return self.terms_of(prepared, frame)(theta)

    def terms_of(
        self, prepared: Any = None, frame: pd.DataFrame | None = None
    ) -> Callable[[Draw], np.ndarray]:
        """The same as a function of theta."""
        prepared = self.prepared if prepared is None else prepared
        frame = self.data if frame is None else frame
        return log_densities(
            self.synthesizer, prepared, target_numbers(self.synthesizer, prepared, frame)
        )

    @property
    def name(self) -> str:
        return type(self.synthesizer).__name__

    def draws(
        self, seed: int, prepared: Any = None, n: int | None = None, theta: Draw | None = None
    ) -> np.ndarray:
        """One draw at the first place, or at theta, for the data or other prepared rows, (n,)."""
        prepared, n = (self.prepared, self.n) if prepared is None else (prepared, n or 0)
        return draw_values(
            self.synthesizer,
            self.thetas[0] if theta is None else theta,
            prepared,
            np.random.default_rng(seed),
            n,
        )


class Skipped(Exception):  # noqa: N818
    """The clause does not apply, and why."""


def require(condition: bool, trial: Trial, text: str) -> None:
    """Refuse, naming the class and what it breaks."""
    if not condition:
        raise ContractError(f"{trial.name}: {text}")


def close(first: np.ndarray, second: np.ndarray) -> bool:
    """Equal to six digits."""
    return bool(np.allclose(first, second, rtol=1e-6, atol=1e-6, equal_nan=True))


def needs_likelihood(trial: Trial) -> tuple[Blueprint, WeightedSum]:
    """Blueprint and weighted sum; skips the clause where nothing is estimated."""
    if trial.blueprint is None or trial.weighted_sum is None:
        raise Skipped("build() gives None: nothing to estimate")
    return trial.blueprint, trial.weighted_sum


def frozen_value(trial: Trial) -> None:
    """Made twice of the same settings it is equal and hashes alike, and no setting can be
    changed.
    """
    first, second = trial.synthesizer, trial.make()
    try:
        same = first == second and hash(first) == hash(second)
    except TypeError:
        same = False
    require(
        same,
        trial,
        "two of the same settings must be equal and hash alike (a frozen dataclass does)",
    )
    for name in list(getattr(first, "__dataclass_fields__", getattr(first, "__dict__", {}))):
        try:
            setattr(copy.copy(first), name, getattr(first, name))
        except (AttributeError, TypeError):
            continue
        require(False, trial, f"its setting {name!r} can be changed; make it a frozen dataclass")


def data_left_alone(trial: Trial) -> None:
    """prepare and build change no cell of the data."""
    before = trial.data.copy(deep=True)
    prepared = trial.synthesizer.prepare(trial.data)
    trial.synthesizer.build(prepared)
    require(before.equals(trial.data), trial, "prepare and build must not change the data")


def priors_alone(trial: Trial) -> None:
    """The blueprint's parts are what `Blueprint` says, and its data start at alpha = 1."""
    blueprint, _ = needs_likelihood(trial)
    model = blueprint.model
    require(
        not model.observed_RVs and not model.potentials,
        trial,
        "the model of build() must hold priors alone, no likelihood",
    )
    require(
        blueprint.weighted_log_likelihood.ndim == 0,
        trial,
        "weighted_log_likelihood must be a scalar",
    )
    names = {str(variable.name) for variable in (*model.free_RVs, *model.deterministics)}
    known = set(blueprint.monitored) <= names and len(blueprint.monitored) > 0
    require(known, trial, "monitored must name parameters of the model, at least one")
    require(blueprint.density_terms > 0, trial, "density_terms must be positive")
    for name, value in blueprint.weigh(np.ones(trial.n)).items():
        require(
            close(model[name].get_value(), value),
            trial,
            f"pm.Data {name!r} must start at its value for alpha = 1",
        )


def graph_agrees(trial: Trial) -> None:
    """The sampled graph is alpha @ log_density, for alpha = 1 and two others."""
    _, weighted_sum = needs_likelihood(trial)
    rng = np.random.default_rng(2)
    alphas = {
        "alpha = 1": np.ones(trial.n),
        "another alpha": rng.random(trial.n),
        "a third alpha": rng.random(trial.n),
    }
    check_agreement(trial.name, trial.terms_of(), weighted_sum, trial.thetas, alphas)


def records_agree(trial: Trial) -> None:
    """The log_density of expressions, where there is one, is that of numbers, one by one."""
    blueprint, _ = needs_likelihood(trial)
    records = record_graph(trial.synthesizer, trial.prepared, blueprint, trial.data)
    if records is None:
        raise Skipped("no log_density of expressions, which is optional; a guarantee needs it")
    check_records(
        trial.name, trial.terms_of(), compile_records(blueprint, records), trial.thetas, trial.n
    )


def dependence_declared(trial: Trial) -> str:
    """What is taken from the data is declared; where nothing is, values of other records move no
    term and no draw.
    """
    needs_likelihood(trial)
    settings = data_dependent(trial.synthesizer)
    if settings is None:
        raise Skipped("no data_dependent, which is optional; a guarantee needs it")
    if settings:
        return f"declared: {', '.join(settings)}"
    refuse_dependence(trial.synthesizer, trial.prepared, trial.data, trial.thetas)
    respond = getattr(trial.synthesizer, "response", None)
    if callable(respond):
        require(
            np.shape(respond(trial.prepared)) == (trial.n,),
            trial,
            f"response must give {trial.n} numbers, one a record",
        )
    return ""


def zero_leaves_out(trial: Trial) -> None:
    """Records of weight zero add nothing."""
    _, weighted_sum = needs_likelihood(trial)
    single = np.zeros(trial.n)
    single[trial.n // 2] = 1.0
    alphas = {
        "alpha = 0 for every other record": np.arange(trial.n) % 2.0,
        "alpha = 0 for all records but one": single,
    }
    check_agreement(trial.name, trial.terms_of(), weighted_sum, trial.thetas, alphas)
    nothing = weighted_sum(trial.thetas[0], np.zeros(trial.n))
    require(
        abs(nothing) <= 1e-8,
        trial,
        "alpha = 0 everywhere must leave the prior: a weighted log-likelihood of 0",
    )


def at(trial: Trial, frame: pd.DataFrame) -> Any:
    """The prepared value at another frame."""
    require(
        callable(getattr(trial.prepared, "at", None)),
        trial,
        f"prepare gives a {type(trial.prepared).__name__} without at(frame)",
    )
    return trial.prepared.at(frame)


def whole_numbers_replicate(trial: Trial) -> None:
    """A weight of k counts as k records."""
    _, weighted_sum = needs_likelihood(trial)
    times = np.random.default_rng(3).integers(0, 4, trial.n)
    rows = np.repeat(np.arange(trial.n), times)
    replicated = trial.data.iloc[rows]
    for theta in trial.thetas:
        terms = trial.terms(theta, at(trial, replicated), replicated)
        same = abs(weighted_sum(theta, times.astype(float)) - terms.sum()) <= 1e-6 * (
            np.abs(terms).sum() + 1e-3
        )
        require(same, trial, "a weight of 2 must count as the record standing there twice")


def order_is_free(trial: Trial) -> None:
    """Records in another order keep their terms."""
    needs_likelihood(trial)
    order = np.random.default_rng(4).permutation(trial.n)
    moved = trial.data.iloc[order]
    for theta in trial.thetas:
        same = close(trial.terms(theta, at(trial, moved), moved), trial.terms(theta)[order])
        require(same, trial, "records in another order must keep their log_density")


def same_recipe(trial: Trial) -> None:
    """at() of the data, of half of them and of one row gives the terms they have in the data."""
    last = trial.data.iloc[[trial.n - 1]]
    single = at(trial, last)
    require(trial.draws(0, single, 1).shape == (1,), trial, "at() must take one row")
    if trial.blueprint is None:
        again = trial.draws(0, at(trial, trial.data), trial.n)
        require(close(again, trial.draws(0)), trial, "at(data) must draw as the prepared data do")
        return
    theta, terms = trial.thetas[0], trial.terms(trial.thetas[0])
    require(
        close(trial.terms(theta, at(trial, trial.data)), terms),
        trial,
        "at(data) must give the same log_density",
    )
    require(
        close(trial.terms(theta, single, last), terms[-1:]),
        trial,
        "at(one row) must give that row's log_density",
    )
    half = trial.data.iloc[: trial.n // 2]
    same = close(trial.terms(theta, at(trial, half), half), terms[: len(half)])
    require(
        same,
        trial,
        "at(some rows) must give their log_density: the recipe is that of the confidential data",
    )


def other_responses(trial: Trial) -> None:
    """at() with other responses moves only the rows that have them."""
    needs_likelihood(trial)
    values = trial.data[trial.target].to_numpy()
    moved = np.arange(trial.n) % 2 == 0
    other = with_columns(trial.data, {trial.target: np.where(moved, values[moved][-1], values)})
    for theta in trial.thetas:
        same = close(
            trial.terms(theta, at(trial, other), other)[~moved], trial.terms(theta)[~moved]
        )
        require(same, trial, "at() must not change a row when the responses of other rows change")


def without_response(trial: Trial) -> None:
    """at() of a frame without the target draws the same."""
    needs_likelihood(trial)
    bare = at(trial, trial.data.drop(columns=trial.target))
    same = close(trial.draws(5, bare, trial.n), trial.draws(5))
    require(
        same, trial, "draw must not use the response: at() of a frame without it must draw the same"
    )


def others_move_nothing(trial: Trial) -> None:
    """Draws are those of any other sensitive values: of the same ones in another order always, of
    others where it is not declared.
    """
    check_independent(trial.synthesizer, trial.prepared, trial.thetas[:2], trial.data)


def _first_rows(trial: Trial) -> tuple[Any, int, Records]:
    """Some rows prepared, how many they are, and their distribution at the first place; skips the
    clause where that has no mass.
    """
    needs_likelihood(trial)
    rows = trial.data.iloc[:500]
    prepared = at(trial, rows)
    records = trial.synthesizer.distribution(trial.thetas[0], prepared)
    if not callable(getattr(records, "mass", None)):
        raise Skipped("its distribution has no mass, which is optional")
    return prepared, len(rows), records


def mass_is_share(trial: Trial) -> None:
    """mass is the share of draws between bounds that earlier draws gave, and 1 over everything."""
    prepared, n, records = _first_rows(trial)
    everywhere = np.full(n, np.inf)
    bounding, draws = np.split(
        np.stack([trial.draws(seed, prepared, n) for seed in range(2 + _MASS_DRAWS)]), [2]
    )
    ends = np.sort(bounding, axis=0)
    ends = ends + np.array([[-0.5], [0.5]]) if (draws == np.rint(draws)).all() else ends
    for lower, upper in ((ends[0], ends[1]), (-everywhere, ends[1]), (ends[0], everywhere)):
        mass = _checked_mass(trial, records, lower, upper)
        inside = ((lower <= draws) & (draws <= upper)).mean(axis=0)
        variance = np.clip(mass * (1 - mass), 1e-3, None) / _MASS_DRAWS
        off = (inside - mass) / np.sqrt(variance)
        total = abs((inside - mass).sum()) / np.sqrt(variance.sum())
        require(
            total <= _LIMIT and np.abs(off).max() <= _LIMIT + 2,
            trial,
            "mass must be the share of draws between the bounds",
        )
    total = _checked_mass(trial, records, -everywhere, everywhere)
    require(close(total, np.ones(n)), trial, "mass from -inf to inf must be 1")


def mass_adds_up(trial: Trial) -> None:
    """The masses below, of and above an interval that draws gave add up to 1."""
    prepared, n, records = _first_rows(trial)
    low, high = np.sort([trial.draws(seed, prepared, n) for seed in range(2)], axis=0)
    whole = (low == np.rint(low)).all() and (high == np.rint(high)).all()
    # no value that can be drawn
    beside = 0.5 if whole else 1e-7 * max(np.median(np.abs(low)), 1e-9) + 1e-7 * np.abs([low, high])
    low, high = np.stack([low, high]) + np.array([[-1], [1]]) * beside
    everywhere = np.full(n, np.inf)
    before, after = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    parts = [
        _checked_mass(trial, records, *ends)
        for ends in ((-everywhere, before), (low, high), (after, everywhere))
    ]
    require(
        close(np.sum(parts, axis=0), np.ones(n)),
        trial,
        "the masses below, of and above an interval must add up to 1",
    )


def inverse_inverts(trial: Trial) -> None:
    """Up to what inverse gives, an interval has at least the share of its mass, and short of it no
    more.
    """
    prepared, n, records = _first_rows(trial)
    if not callable(getattr(records, "inverse", None)):
        raise Skipped("its distribution has no inverse, which is optional")
    low, high = np.sort([trial.draws(seed, prepared, n) for seed in range(2)], axis=0)
    low, high, share = low - 0.5, high + 0.5, np.random.default_rng(6).uniform(0.05, 0.95, n)
    value, whole = records.inverse(low, high, share), _checked_mass(trial, records, low, high)
    there = whole > 1e-9
    fine = np.isfinite(value[there]).all() and ((low <= value) & (value <= high))[there].all()
    require(bool(fine), trial, "inverse must give a value in every interval that has a mass")
    slack = 1e-6 * np.maximum(np.abs(value), np.abs(high - low))
    end = np.where(there, value, low)
    up_to = _checked_mass(trial, records, low, end + slack)
    short = _checked_mass(trial, records, low, np.maximum(end - slack, low)) * (end - slack > low)
    fits = (up_to >= (share - 1e-5) * whole) & (short <= (share + 1e-5) * whole)
    require(
        bool(fits[there].all()),
        trial,
        "mass up to what inverse gives must be the share that it was asked for",
    )


def _checked_mass(
    trial: Trial, records: Records, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """The mass of intervals, once it is seen to be a probability for each of the rows, (m,)."""
    mass = np.asarray(records.mass(lower, upper))
    fine = mass.shape == lower.shape and bool(((mass >= 0) & (mass <= 1 + 1e-9)).all())
    require(fine, trial, f"mass must give {len(lower)} numbers in [0, 1], got shape {mass.shape}")
    return mass


def seeds_repeat(trial: Trial) -> None:
    """The same seed gives the same bytes, another one other values."""
    first, again, other = (trial.draws(seed) for seed in (7, 7, 8))
    require(
        first.tobytes() == again.tobytes(),
        trial,
        "draw must give the same bytes for the same state of rng",
    )
    needs_likelihood(trial)
    require(
        first.tobytes() != other.tobytes(),
        trial,
        "draw must use rng: two seeds gave the same values",
    )


def draws_fit(trial: Trial) -> None:
    """Draws are finite and take the dtype, index and name of the confidential column; codes of
    levels become these.
    """
    column, levels = trial.data[trial.target], categories_of(trial.synthesizer, trial.prepared)
    for theta in trial.thetas:
        values = trial.draws(9, theta=theta)
        require(bool(np.isfinite(values).all()), trial, "draw must give finite values")
        drawn = as_column(values, column, levels)
        same = (
            drawn.dtype == column.dtype
            and drawn.index.equals(column.index)
            and drawn.name == column.name
        )
        require(same, trial, "a draw must fit the dtype and index of the confidential column")
        require(
            not drawn.isna().any(),
            trial,
            "every level must be a value that the confidential column can hold",
        )


def true_values_declared(trial: Trial) -> str:
    """A class whose draws are mostly the true values says so."""
    declared = getattr(trial.synthesizer, "keeps_true_values", False)
    require(
        isinstance(declared, bool),
        trial,
        f"keeps_true_values must be True or False, got {type(declared).__name__}",
    )
    if declared:
        return "declared: its output is confidential"
    column, levels = trial.data[trial.target], categories_of(trial.synthesizer, trial.prepared)
    same = float((as_column(trial.draws(10), column, levels) == column).mean())
    rare = column.nunique() > 0.5 * trial.n
    require(
        not (rare and same > 0.5),
        trial,
        "most drawn values are the true ones: declare keeps_true_values = True",
    )
    return ""
