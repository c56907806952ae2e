"""A fit's datasets as they would be without each record: how probable each of them is (METHODS
section 13.1).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.progress import Steps
from riskweighted.contract.drawn_columns import spread_draws
from riskweighted.contract.synthesizer import data_dependent, is_strange
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.leave_one_out_weights import (
    Weighting,
    can_leave_one_out,
    change_of_weights,
)
from riskweighted.intruder.world import World
from riskweighted.risk.ball_masses import ball_masses
from riskweighted.risk.expected_identification import gives_masses
from riskweighted.risk.kernels.draws import smoothed_weights
from riskweighted.sequence.drawing import Thetas
from riskweighted.sequence.fit import Fit
from riskweighted.weights.subsets import match_subsets

__all__ = [
    "COPIES",
    "FAILING",
    "CopyDraws",
    "LeaveOneOutWeights",
    "draw_copies",
    "effective_draws",
    "how_many",
    "leave_out",
    "terms_of",
    "weighing_of",
    "what_is_held",
]

COPIES = 400
FAILING = 1.0  # Pareto shape beyond which a record's weights tell nothing: their mean is infinite
_UNSEEING = (
    "draws of a class that is not the package's, taken not to see the values: folds judge them"
)
_ROOM = 75_000_000  # numbers of copies that are held, at 90 bytes each while both sides are made


@dataclass(frozen=True, eq=False)
class CopyDraws:
    """M datasets of a fit, each of its own posterior draw. Confidential.

    ``values`` (V, m, M): the scenario's variables as numbers, of the m records that are looked at;
    of all n ``terms``: of each variable of the fit log p(y_i | theta_s), times the survey weight,
    (n, M); ``masses`` (n, M): the probability that the record's value lands in its ball, where the
    fit tells.
    """

    values: np.ndarray = field(repr=False)
    terms: dict[str, np.ndarray] = field(repr=False)
    masses: np.ndarray | None = field(repr=False)

    def joined(self, other: "CopyDraws") -> "CopyDraws":
        """With further datasets behind these."""
        terms = {name: np.hstack([of, other.terms[name]]) for name, of in self.terms.items()}
        masses = (
            None
            if self.masses is None or other.masses is None
            else np.hstack([self.masses, other.masses])
        )
        return CopyDraws(np.concatenate([self.values, other.values], axis=2), terms, masses)


@dataclass(frozen=True, eq=False)
class LeaveOneOutWeights:
    """How probable each of M datasets is without each record. Confidential.

    ``weights`` (n, M) of sum 1; ``pareto_k`` (n,): the shape of their tail; ``single`` (n,):
    attributable disclosure of one copy, NaN where it is not known; ``told`` (n,): whether weights
    tell it, or a fit without the record; ``mass`` (n,): the probability that a copy lands in the
    ball; ``held``: what reads the records' values and is not made anew.
    """

    weights: np.ndarray = field(repr=False)
    pareto_k: np.ndarray = field(repr=False)
    single: np.ndarray = field(repr=False)
    told: np.ndarray = field(repr=False)
    mass: np.ndarray = field(repr=False)
    held: tuple[str, ...] = ()

    @property
    def bounded(self) -> np.ndarray:
        """D of one copy, (n,); of records of which nothing tells it what it is at most."""
        return np.where(self.told, self.single, self.mass)

    def refitted(self, records: np.ndarray, single: np.ndarray) -> "LeaveOneOutWeights":
        """With D of one copy of some records by fits without them."""
        made = replace(self, single=self.single.copy(), told=self.told.copy())
        made.single[records], made.told[records] = single, True
        return made


def draw_copies(
    fit: Fit,
    coding: Coding,
    rng: np.random.Generator,
    copies: int = COPIES,
    places: Sequence[tuple[int, int]] | None = None,
    told: Steps | None = None,
    *,
    values_alone: bool = False,
    see: Callable[[pd.DataFrame, Thetas], None] | None = None,
) -> CopyDraws:
    """Datasets of draws spread evenly over the chains, at most as many as the fit has and as there
    is room for; or of given draws; with `values_alone` without what weights are made of. `see`: is
    shown every dataset and its parameters.
    """
    available, n = fit.sizes["chain"] * fit.sizes["draw"], len(fit.confidential)
    if places is None:
        count = how_many(copies, available, n) if fit.estimates else copies
        places = (
            spread_draws(fit.sizes["chain"], fit.sizes["draw"], count)
            if fit.estimates
            else [(0, 0)] * count
        )
    count = len(places)
    values = np.empty((count, len(coding.names), n if coding.rows is None else len(coding.rows)))
    told_of = fit.estimates and not values_alone
    terms = {name: np.empty((count, n)) for name in (fit.variables if told_of else ())}
    masses = np.empty((count, n)) if told_of and gives_masses(fit) else None
    mass = None if masses is None else ball_masses(fit, coding.world)
    for s, place in enumerate(places):
        theta: Any = fit.thetas(*place)
        frame = fit.drawing.made(theta, rng)
        values[s] = coding.numbers(frame)
        if see is not None:
            see(frame, theta)
        for name, of_variable in terms.items():
            of_variable[s] = terms_of(fit, theta, name)
        if mass is not None and masses is not None:
            masses[s] = mass(theta, rng, frame)
        if told is not None:
            told()
    by_record = {name: np.ascontiguousarray(terms.pop(name).T) for name in list(terms)}
    return CopyDraws(
        np.ascontiguousarray(values.transpose(1, 2, 0)),
        by_record,
        None if masses is None else np.ascontiguousarray(masses.T),
    )


def effective_draws(fit: Fit) -> int:
    """As many draws that do not depend on one another would tell as much of the log density; all of
    them where that is not known.
    """
    sizes, draws = fit.diagnostics["ess_bulk"], math.prod(fit.sizes.values())
    least = float(sizes["lp"].min()) if "lp" in sizes.index else float(sizes.min())
    return max(int(least), 1) if np.isfinite(least) else draws


def how_many(copies: int, available: int, records: int) -> int:
    """Of the copies that are asked for as many as there are draws, and as there is room for."""
    return max(min(copies, available, _ROOM // records), min(50, available))


def terms_of(fit: Fit, theta: Any, variable: str) -> np.ndarray:
    """log p(y_i | theta) of a variable, times the survey weight; the whole contribution under a
    guarantee or centred weights, (n,).
    """
    if _adds_more(fit):
        return fit.contributions(theta, variable)
    total = np.zeros(len(fit.confidential))
    for block in fit.prepared.blocks:
        if block.variable == variable:
            fitted = fit.blocks[block.name]
            terms = fitted.terms(theta[block.name])
            total[block.member] += (
                terms if fitted.survey is None else terms * fitted.survey.to_numpy()
            )
    return total


def _adds_more(fit: Fit) -> bool:
    """Whether what a record adds is no multiple of its log density: it is clipped, or centred."""
    return any(
        block.censoring is not None or block.centring is not None for block in fit.blocks.values()
    )


def leave_out(
    fit: Fit,
    world: World,
    drawn: CopyDraws,
    weighting: Weighting | None = None,
    units: np.ndarray | None = None,
) -> LeaveOneOutWeights:
    """Return the weights of the datasets without each record, others' risk weights made anew.

    `weighting`: how the fit's risk weights were made; None holds them as they are, which is said
    where they differ between records. `units` (n,), codes: records of one unit are left out
    together; what each does to the others' risk weights adds up.
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
    mass = np.full(n, np.nan) if drawn.masses is None else drawn.masses.mean(axis=1)
    single = mass if drawn.masses is None else mass - (weights * drawn.masses).sum(axis=1)
    if not drawn.terms:
        single = np.zeros(n)
    told = np.full(n, drawn.masses is None) | ~(pareto_k > FAILING)  # no shape where none varies
    return LeaveOneOutWeights(
        weights, pareto_k, single, told, mass, what_is_held(fit, weighting, bool(known.all()))
    )


def _change(
    fit: Fit, world: World, variable: str, terms: np.ndarray, weighting: Weighting | None
) -> tuple[np.ndarray, np.ndarray]:
    """By how much the log posterior of every draw changes without each record, (n, M), and where
    the weights were made anew, (n,).
    """
    everywhere = np.ones(len(terms), dtype=bool)
    if _adds_more(fit):
        return -terms, everywhere
    alpha = fit.alphas[variable].to_numpy()
    if weighting is None or not can_leave_one_out(weighting):
        return -alpha[:, None] * np.where(alpha[:, None] > 0, terms, 0.0), everywhere
    return change_of_weights(weighing_of(world, fit, variable, weighting), weighting, alpha, terms)


def weighing_of(world: World, fit: Fit, variable: str, weighting: Weighting) -> World:
    """The world in which the weights of a variable are made."""
    world = weighting.world or world
    subsets = match_subsets(weighting.risk_of, world.scenario.synthetic)  # type: ignore[arg-type]
    return world.only(next(names for names in subsets if variable in names))


def what_is_held(
    fit: Fit, weighting: Weighting | None, anew: bool = True, *, refitted: bool = False
) -> tuple[str, ...]:
    """What reads the records' values, by name, and stays as it is when one is left out; less where
    that is done by fits of their own.
    """
    held = []
    differ = any(fit.alphas[name].nunique() > 1 for name in fit.variables)
    if differ and (weighting is None or not can_leave_one_out(weighting)):
        held.append("risk weights of the other records")
    elif not anew:
        held.append("risk weights in known patterns of too many records")
    for name, block in fit.blocks.items():
        told = () if refitted else data_dependent(block.synthesizer)
        held += [
            fit.prepared.label_of(name, what)
            for what in (("whatever its preparation reads",) if told is None else told)
        ]
        if is_strange(block.synthesizer):
            held.append(fit.prepared.label_of(name, _UNSEEING))
    if fit.prepared.scores and not refitted:
        held.append("scores of the learned part")
    if any(recipe.many for recipe in fit.prepared.recipes.values()) and not refitted:
        held.append("how far the effects of many levels spread, to one of six figures")
    if any(link.structure is not None or link.decider is not None for link in fit.prepared.links):
        held.append("rules of structure, if they were found in the data")
    held.append("the choice of the model, if it was made on these data")
    return tuple(held)
