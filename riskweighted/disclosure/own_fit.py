"""A fit's release as it would be without each record: importance weights over whole datasets, and refits where they fail (METHODS 13)."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import ConvergenceWarning, FlatWeightsWarning
from riskweighted.common.frames import with_columns
from riskweighted.contract.centring import CentredWeights, OwnFunction
from riskweighted.contract.drawing import spread_draws
from riskweighted.contract.synthesizer import data_dependent, is_strange
from riskweighted.design.precision import Precision
from riskweighted.disclosure.anew import Weighting, change_of_weights, depends_on_values, is_made_anew, weights_without
from riskweighted.disclosure.coding import Coding
from riskweighted.intruder.world import World, make_world
from riskweighted.risk.expected import gives_masses
from riskweighted.risk.kernels.draws import smoothed_weights
from riskweighted.risk.masses import ball_masses
from riskweighted.sampling.loo import K_LIMIT
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.fitting import fit as fit_anew
from riskweighted.sequence.rules import any_broken
from riskweighted.weights.match import world_functions, world_weights
from riskweighted.weights.names import is_centred
from riskweighted.weights.schemes import scheme_source
from riskweighted.weights.subsets import match_subsets

__all__ = ["COPIES", "Drawn", "Without", "can_refit", "draw_copies", "how_many", "leave_out", "refit_without", "what_is_held"]

COPIES = 400
_LEAST_ESS = 30.0
_UNSEEING = "draws of a class that is not the package's, taken not to see the values: folds judge them"
_ROOM = 75_000_000  # numbers of copies that are held, at 90 bytes each while both sides are made


@dataclass(frozen=True, eq=False)
class Drawn:
    """M datasets of a fit, each of its own posterior draw. Confidential.

    ``values`` (V, m, M): the scenario's variables as numbers, of the m records that are looked at; of all n ``terms``: of each variable of
    the fit log p(y_i | theta_s), times the survey weight, (n, M); ``masses`` (n, M): the probability that the record's value lands in its
    ball, where the fit tells.
    """

    values: np.ndarray = field(repr=False)
    terms: dict[str, np.ndarray] = field(repr=False)
    masses: np.ndarray | None = field(repr=False)


@dataclass(frozen=True, eq=False)
class Without:
    """How probable each of M datasets is without each record. Confidential.

    ``weights`` (n, M) of sum 1; ``pareto_k``, ``effective`` (n,): the shape of their tail and their effective number; ``judged`` (n,):
    whether they are to be relied on; ``single`` (n,): attributable disclosure of one copy, NaN where it is not known;
    ``held``: what reads the records' values and is not made anew.
    """

    weights: np.ndarray = field(repr=False)
    pareto_k: np.ndarray = field(repr=False)
    effective: np.ndarray = field(repr=False)
    judged: np.ndarray = field(repr=False)
    single: np.ndarray = field(repr=False)
    held: tuple[str, ...] = ()


def draw_copies(fit: Fit, coding: Coding, rng: np.random.Generator, precision: Precision = None, copies: int = COPIES) -> Drawn:
    """Datasets of draws spread evenly over the chains, at most as many as the fit has and as there is room for."""
    available, n = fit.sizes["chain"] * fit.sizes["draw"], len(fit.confidential)
    count = how_many(copies, available, n) if fit.estimates else copies
    places = spread_draws(fit.sizes["chain"], fit.sizes["draw"], count) if fit.estimates else [(0, 0)] * count
    values = np.empty((count, len(coding.names), n if coding.rows is None else len(coding.rows)))
    terms = {name: np.empty((count, n)) for name in (fit.variables if fit.estimates else ())}
    masses = np.empty((count, n)) if gives_masses(fit) and fit.estimates else None
    mass = None if masses is None else ball_masses(fit, coding.world, precision)
    for s, place in enumerate(places):
        theta: Any = fit.thetas(*place)
        frame = fit.drawing.made(theta, rng, precision)
        values[s] = coding.numbers(frame)
        for name, of_variable in terms.items():
            of_variable[s] = _terms(fit, theta, name)
        if mass is not None and masses is not None:
            masses[s] = mass(theta, rng, frame)
    by_record = {name: np.ascontiguousarray(terms.pop(name).T) for name in list(terms)}
    return Drawn(np.ascontiguousarray(values.transpose(1, 2, 0)), by_record, None if masses is None else np.ascontiguousarray(masses.T))


def how_many(copies: int, available: int, records: int) -> int:
    """Of the copies that are asked for as many as there are draws, and as there is room for."""
    return max(min(copies, available, _ROOM // records), min(50, available))


def _terms(fit: Fit, theta: Any, variable: str) -> np.ndarray:
    """log p(y_i | theta) of a variable, times the survey weight; the whole contribution under a guarantee or centred weights, (n,)."""
    if _adds_more(fit):
        return fit.contributions(theta, variable)
    total = np.zeros(len(fit.confidential))
    for block in fit.prepared.blocks:
        if block.variable == variable:
            fitted = fit.blocks[block.name]
            terms = fitted.terms(theta[block.name])
            total[block.member] += terms if fitted.survey is None else terms * fitted.survey.to_numpy()
    return total


def _adds_more(fit: Fit) -> bool:
    """Whether what a record adds is no multiple of its log density: it is clipped, or centred."""
    return any(block.censoring is not None or block.centring is not None for block in fit.blocks.values())


def leave_out(fit: Fit, world: World, drawn: Drawn, weighting: Weighting | None = None, units: np.ndarray | None = None) -> Without:
    """Return the weights of the datasets without each record, others' risk weights made anew.

    `weighting`: how the fit's risk weights were made; None holds them as they are, which is said where they differ between records.
    `units` (n,), codes: records of one unit are left out together; what each does to the others' risk weights adds up.
    """
    n = len(fit.confidential)
    changes, known = np.zeros((1, drawn.values.shape[2])), np.ones(n, dtype=bool)
    for variable, terms in drawn.terms.items():
        of_variable, sure = _change(fit, world, variable, terms, weighting)
        changes = of_variable if len(changes) < n else np.add(changes, of_variable, out=changes)
        known &= sure
    if len(changes) < n:
        changes = np.repeat(changes, n, axis=0)
    if units is not None:
        together = np.zeros((int(units.max()) + 1, changes.shape[1]))
        np.add.at(together, units, changes)
        changes = together[units]
    weights, pareto_k = smoothed_weights(changes)
    effective = 1 / (weights**2).sum(axis=1)
    judged = (pareto_k <= K_LIMIT) & (effective >= _LEAST_ESS)
    single = np.full(n, np.nan) if drawn.masses is None else drawn.masses.mean(axis=1) - (weights * drawn.masses).sum(axis=1)
    if not drawn.terms:
        judged, single = np.ones(n, dtype=bool), np.zeros(n)
    return Without(weights, pareto_k, effective, judged, single, what_is_held(fit, weighting, bool(known.all())))


def _change(fit: Fit, world: World, variable: str, terms: np.ndarray, weighting: Weighting | None) -> tuple[np.ndarray, np.ndarray]:
    """By how much the log posterior of every draw changes without each record, (n, M), and where the weights were made anew, (n,)."""
    everywhere = np.ones(len(terms), dtype=bool)
    if _adds_more(fit):
        return -terms, everywhere
    alpha = fit.alphas[variable].to_numpy()
    if weighting is None or not is_made_anew(weighting):
        return -alpha[:, None] * np.where(alpha[:, None] > 0, terms, 0.0), everywhere
    return change_of_weights(_weighing(world, fit, variable, weighting), weighting, alpha, terms)


def _weighing(world: World, fit: Fit, variable: str, weighting: Weighting) -> World:
    """The world in which the weights of a variable are made."""
    world = weighting.world or world
    subset = next(names for names in match_subsets(weighting.match, world.scenario.synthetic) if variable in names)  # type: ignore[arg-type]
    return world.only(subset)


def what_is_held(fit: Fit, weighting: Weighting | None, anew: bool = True, *, refitted: bool = False) -> tuple[str, ...]:
    """What reads the records' values, by name, and stays as it is when one is left out; less where that is done by fits of their own."""
    held = []
    differ = any(fit.alphas[name].nunique() > 1 for name in fit.variables)
    if differ and (weighting is None or not is_made_anew(weighting)):
        held.append("risk weights of the other records")
    elif not anew:
        held.append("risk weights in known patterns of too many records")
    for name, block in fit.blocks.items():
        told = () if refitted else data_dependent(block.synthesizer)
        held += [fit.prepared.label_of(name, what) for what in (("whatever its preparation reads",) if told is None else told)]
        if is_strange(block.synthesizer):
            held.append(fit.prepared.label_of(name, _UNSEEING))
    if fit.prepared.scores and not refitted:
        held.append("scores of the learned part")
    if any(link.structure is not None or link.decider is not None for link in fit.prepared.links):
        held.append("rules of structure, if they were found in the data")
    held.append("the choice of the model, if it was made on these data")
    return tuple(held)


@dataclass(frozen=True, eq=False)
class _WithoutSome:
    """Weights as functions of own values, which are 0 of the records that are gone, whatever the value."""

    function: OwnFunction
    gone: np.ndarray

    @property
    def pattern(self) -> np.ndarray:
        return self.function.pattern

    @property
    def later(self) -> tuple[str, ...]:
        return self.function.later

    @property
    def label(self) -> str:
        return f"{self.function.label} without {self.gone.tolist()}"

    def at(self, records: np.ndarray, values: pd.Series) -> np.ndarray:
        return np.where(np.isin(records, self.gone)[:, None], 0.0, self.function.at(records, values))


def can_refit(weighting: Weighting | None) -> bool:
    """Whether a fit can be made anew without a record: not where its centred weights are made of another fit."""
    return weighting is None or not is_centred(weighting.scheme) or scheme_source(weighting.scheme) is None


def _that_fit(fit: Fit, record: int, mates: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Of the records whose values may stand in another's row those that break no rule there, as long as a decided variable asks for it."""
    if all(link.decider is None for link in fit.prepared.links):
        return mates
    for some in (mates, others):
        row = fit.confidential.iloc[np.full(len(some), record)]
        placed = with_columns(row, {name: fit.confidential[name].array[some] for name in fit.variables})
        fitting = some[~any_broken(fit.prepared.rules.rules, placed)]
        if len(fitting):
            return np.asarray(fitting)
    return mates


def _weights_of_rest(world: World, others: np.ndarray, weighting: Weighting) -> pd.DataFrame:
    """The weights that some records have where there are no others."""
    world = weighting.world or world
    part = make_world(world.confidential.iloc[others], world.scenario)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said when the weights of all were made
        return world_weights(part, weighting.scheme, weighting.match, scale=weighting.scale, shift=weighting.shift)  # type: ignore[arg-type]


def refit_without(
    fit: Fit, world: World, gone: np.ndarray, weighting: Weighting | None, rng: np.random.Generator, *, together: bool = False
) -> Fit:
    """Return the fit without a record, or those of a unit: weights are 0, and rows hold values of other records of their known pattern.

    So all that reads the data, bounds and knots and scales, is made of the other records' values, and a row is still made at its place.
    Risk weights are those made anew, record by record, or `together`, as of the other records alone. Chains are as long as the fit's.
    """
    confidential, names = fit.confidential.copy(), list(fit.variables)
    codes, others = world.patterns.codes, np.setdiff1d(np.arange(len(confidential)), gone)
    donors = np.arange(len(confidential))
    for record in gone:
        mates = others[codes[others] == codes[record]]
        donors[record] = rng.choice(_that_fit(fit, record, mates if len(mates) else others, others))
    for name in names:
        confidential[name] = confidential[name].array[donors]
    anew = weighting if weighting is not None and is_made_anew(weighting) and depends_on_values(weighting) else None
    rest = _weights_of_rest(world, others, anew) if anew is not None and together else None
    alphas = {}
    for name in names:
        alpha = fit.alphas[name].to_numpy().copy()
        if rest is not None:
            alpha[others] = rest[name].to_numpy()
        elif anew is not None:
            changes = [weights_without(_weighing(world, fit, name, anew), anew, alpha, record) - alpha for record in gone.tolist()]
            alpha = np.clip(alpha + np.sum(changes, axis=0), 0.0, 1.0)
        alpha[gone] = 0.0
        alphas[name] = alpha
    made: Any = pd.DataFrame(alphas, fit.confidential.index)
    if weighting is not None and is_centred(weighting.scheme):
        by_value = world_functions(
            weighting.world or world,
            weighting.scheme,
            weighting.match,  # type: ignore[arg-type]
            scale=weighting.scale,
            shift=weighting.shift,
            cluster=weighting.cluster,
        )
        made = CentredWeights(made, {name: _WithoutSome(function, gone) for name, function in by_value.items()})
    elif fit.prepared.of_one:
        made = made[names[0]]
    sizes, seed = fit.sizes, int(rng.integers(2**31))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FlatWeightsWarning)
        return fit_anew(
            fit.synthesizer,  # type: ignore[arg-type]
            confidential,
            made,
            random_seed=seed,
            draws=sizes["draw"],
            tune=sizes["draw"],
            chains=sizes["chain"],
            survey=fit.survey,
        )
