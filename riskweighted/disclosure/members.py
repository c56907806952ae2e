"""What a fit discloses of one value of a unit to somebody who knows the other values: a member of
the unit, or of a panel whoever knows the earlier waves (METHODS section 13.1).

The value is predicted from the true other values, by the fit with the unit and without it. What the
prediction with the unit adds is disclosure; what others' values tell of it anyway is inference.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.frames import with_columns
from riskweighted.common.units import Arrangement
from riskweighted.contract.drawn_columns import spread_draws
from riskweighted.design.precision import unit_of
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.comparison import clustered_variance
from riskweighted.disclosure.leave_one_out_weights import Weighting
from riskweighted.disclosure.own_fit import (
    FAILING,
    CopyDraws,
    effective_draws,
    how_many,
    leave_out,
    terms_of,
)
from riskweighted.disclosure.policy import EARLIER, INSIDE
from riskweighted.intruder.world import World
from riskweighted.sequence.blocks import ChainVariable
from riskweighted.sequence.drawing import Thetas
from riskweighted.sequence.fit import Fit

__all__ = ["BEST", "Told", "known_by_others", "of_mass", "told_of"]

BEST = ", best guess"  # behind the name of an intruder
_DRAWS = 100  # posterior draws that predict
_ROWS = 100_000  # of copies of units, for each variable and intruder
_OWN, _OF_COLUMN = 24, 24  # values that are tried: what the model draws, quantiles of the column
_SURE = 1.6448536269514722  # the 95 % point of a normal distribution


class _Tried(NamedTuple):
    """Values that are tried for each of T records, G each (T, G): ``numbers``, as they are while
    they are drawn; ``width``: of the draws that each stands for, 1 of what is no amount.
    """

    numbers: np.ndarray
    width: np.ndarray


class Told(NamedTuple):
    """Of T records, under S draws: ``mass`` (T, S), the probability of the true value's ball;
    ``right`` (2, T): whether the best guess lies in it, with the unit and without.
    """

    mass: np.ndarray
    right: np.ndarray


def known_by_others(
    fit: Fit,
    world: World,
    weighting: Weighting | None,
    release: str,
    rng: np.random.Generator,
) -> list[dict[str, object]]:
    """Rows of the table of disclosure, for each variable and each intruder of the scenario who
    knows others' values: by the mass that the prediction gives to the ball, and by its best guess.

    Records are a random sample, of as many as `_ROWS` rows of copies have room for. D is the mean
    difference between the prediction of the fit and that without the unit, by importance weights;
    records whose weights fail count in the bound. Variables of the unit are known to every member.
    """
    members, scenario = fit.prepared.members, world.scenario
    assert members is not None
    of, sizes = members.held, fit.sizes
    count = how_many(_DRAWS, math.prod(sizes.values()), len(of.unit))
    thetas: list[Thetas] = [
        fit.thetas(*place) for place in spread_draws(sizes["chain"], sizes["draw"], count)
    ]
    terms = {
        name: np.column_stack([terms_of(fit, theta, name) for theta in thetas])
        for name in fit.variables
    }
    drawn = CopyDraws(np.empty((0, 0, count)), terms, None)
    without = leave_out(fit, world, drawn, weighting, of.unit)
    inefficiency, rows = max(count / effective_draws(fit), 1.0), list[dict[str, object]]()
    for link in fit.prepared.links:
        if link.variable not in scenario.synthetic or link.of_unit:
            continue
        for who, known in ((INSIDE, of.sizes[of.unit] > 1), (EARLIER, of.position > 0)):
            if not getattr(scenario, who) or not known.any():
                continue
            records = _sample(of, np.flatnonzero(known), _how_many_tried(fit, link), rng)
            told = told_of(fit, world, link, who, records, thetas, without.weights[records], rng)
            fails = (without.pareto_k > FAILING)[records] | np.isnan(told.mass).any(axis=1)
            left = 1 - len(records) / int(known.sum())
            by_mass = of_mass(told.mass, without.weights[records], fails, inefficiency)
            # whether a guess is right is a matter of chance, of which all records are a sample
            by_guess = _of_guess(told.right, fails)
            said = {"variables": link.variable, "release": release, "records": len(records)}
            rows += [
                said | {"group": who} | _row(*by_mass, of.unit[records], left),
                said | {"group": f"{who}{BEST}"} | _row(*by_guess, of.unit[records], 1.0),
            ]
    return rows


def _sample(
    of: Arrangement, records: np.ndarray, tried: int, rng: np.random.Generator
) -> np.ndarray:
    """Records at random, as many as there is room for copies of their units, ten at least."""
    order = rng.permutation(records)
    rows = np.cumsum(of.sizes[of.unit[order]]) * tried
    return np.sort(order[: max(int(np.searchsorted(rows, _ROWS)), 10)])


def told_of(
    fit: Fit,
    world: World,
    link: ChainVariable,
    who: str,
    records: np.ndarray,
    thetas: Sequence[Thetas],
    weights: np.ndarray,
    rng: np.random.Generator,
) -> Told:
    """What an intruder who knows others' values can say of some records; `weights` (T, S): of the
    draws without the unit of each. Of a unit one record at a time is tried, in copies of the unit.
    """
    units = fit.prepared.members.held.unit[records]  # type: ignore[union-attr]
    turns = pd.Series(units).groupby(units).cumcount().to_numpy()
    own, coding = _drawn_of(fit, link, records, thetas, rng), Coding(world.only(link.variable))
    lower, upper = (ends[0, records, None] for ends in coding.reach)
    mass, right = np.empty((len(records), len(thetas))), np.empty((2, len(records)), dtype=bool)
    for number in range(int(turns.max(initial=-1)) + 1):
        here = np.flatnonzero(turns == number)
        tried = _tried(fit, world, link, records[here], own[:, here])
        chances, numbers = _predicted(fit, coding, link, who, records[here], tried, thetas)
        near = (lower[here] <= numbers) & (numbers <= upper[here])
        mass[here] = np.einsum("tgs,tg->ts", chances, near)
        both = chances.mean(axis=2), np.einsum("tgs,ts->tg", chances, weights[here])
        right[:, here] = [near[np.arange(len(here)), _best(coding, numbers, of)] for of in both]
    return Told(mass, right)


def _predicted(
    fit: Fit,
    coding: Coding,
    link: ChainVariable,
    who: str,
    records: np.ndarray,
    tried: _Tried,
    thetas: Sequence[Thetas],
) -> tuple[np.ndarray, np.ndarray]:
    """The probability of each value that is tried, (T, G, S), and how near the values are to each
    other, as numbers of the coding (T, G).

    A member knows the whole unit but the value: its probability is that of the unit with it, in
    which it also predicts later members and variables. Who knows the earlier waves has the model's
    own law of the value.
    """
    shape, name = tried.numbers.shape, link.variable
    drawing = fit.drawing.of_records(np.repeat(records, shape[1]))
    frame, asked = drawing.rows
    assert drawing.arrangement is not None
    unit, outcomes = drawing.arrangement.unit, drawing.outcomes[name]
    numbers = outcomes.numbers(frame[name])
    numbers[asked] = tried.numbers.ravel()
    frame = with_columns(frame, {name: outcomes.column(numbers)})
    densities = drawing.log_densities(frame, since=name)
    chances = np.empty((*shape, len(thetas)), dtype=np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):  # of a value that is impossible
        width = np.log(tried.width)
        for s, theta in enumerate(thetas):
            each = densities(theta)
            of_value = (
                each[name][asked]
                if who == EARLIER
                else np.bincount(unit, np.sum([*each.values()], axis=0))[unit[asked]]
            )
            logs = of_value.reshape(shape) + width
            made = np.exp(logs - logs.max(axis=1, keepdims=True))
            chances[:, :, s] = made / made.sum(axis=1, keepdims=True)
    return chances, coding.numbers(frame.iloc[asked])[0].reshape(shape)


def _best(coding: Coding, numbers: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """Which of the values (T, G) lies in the balls of most of the probability (T, G), (T,)."""
    lower, upper = (ends[0, :, :, None] for ends in coding.ends(numbers[None]))
    reached = (lower <= numbers[:, None]) & (numbers[:, None] <= upper)
    return np.asarray(np.einsum("tg,tgc->tc", chances, reached).argmax(axis=1))


def of_mass(
    mass: np.ndarray, weights: np.ndarray, fails: np.ndarray, inefficiency: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """With the unit's values, and D, (T,) each, by the mass of the ball; what failing records may
    add, (T,), and the error of mean D over the draws.
    """
    count, using = mass.shape[1], np.nan_to_num(mass.mean(axis=1))
    off = np.where(fails[:, None], 0.0, (mass - using[:, None]) * (1 - count * weights))
    of_draw = off.mean(axis=0)
    error = float(of_draw.std(ddof=1)) * math.sqrt(inefficiency / count)
    return using, off.mean(axis=1), np.where(fails, using, 0.0), error


def _of_guess(
    right: np.ndarray, fails: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """The same by whether the best guess is right."""
    using, out = right.astype(float)
    return using, np.where(fails, 0.0, using - out), np.where(fails, using, 0.0), 0.0


def _row(
    using: np.ndarray,
    off: np.ndarray,
    most: np.ndarray,
    error: float,
    units: np.ndarray,
    left: float,
) -> dict[str, float]:
    """The figures of a row; `units` (T,): which records go together, `left`: the share of those
    that are not in the sample.
    """
    D, bound = float(off.mean()), float(most.mean())  # noqa: N806
    se = math.sqrt(error**2 + left * clustered_variance(off - D, units) / len(off) ** 2)
    limits = {"upper": D + _SURE * se + bound, "lower": D - _SURE * se}
    out = float(using.mean()) - D
    return {"with": out + D, "out": out, "D": D, "se": se} | limits | {"bound": bound}


def _drawn_of(
    fit: Fit,
    link: ChainVariable,
    records: np.ndarray,
    thetas: Sequence[Thetas],
    rng: np.random.Generator,
) -> np.ndarray:
    """What the model draws for some records given the true other values, as numbers, (_OWN, T)."""
    prepared, frame = fit.prepared, fit.confidential
    encoded = prepared.encoded | prepared.of_members(frame)
    for before in prepared.links:
        if before.variable == link.variable:
            break
        prepared.encode(encoded, before.variable, frame)
    some = np.linspace(0, len(thetas) - 1, _OWN).astype(int)
    draw = fit.drawing.values_at
    return np.stack([draw(link, frame, encoded, thetas[place], rng, records, []) for place in some])


def _apart(fit: Fit, link: ChainVariable) -> tuple[np.ndarray, bool]:
    """The values of a variable that are tried one by one, levels and statuses, as numbers, and
    whether there are no others.
    """
    others, block = [each.outcome for each in link.statuses], link.values
    if link.structure is not None:
        others.append(link.structure.value(fit.confidential[link.variable]))
    levels = None if block is None else fit.blocks[block.name].categories
    others += [link.constant] if block is None else list(levels or ())
    number = fit.drawing.outcomes[link.variable].number
    return np.array(list(dict.fromkeys(map(number, others)))), block is None or levels is not None


def _how_many_tried(fit: Fit, link: ChainVariable) -> int:
    apart, alone = _apart(fit, link)
    return len(apart) if alone else len(apart) + _OWN + _OF_COLUMN + 6


def _tried(
    fit: Fit, world: World, link: ChainVariable, records: np.ndarray, own: np.ndarray
) -> _Tried:
    """The values that are tried for some records; `own` (_OWN, T): what the model draws for them.

    Levels and statuses are tried one by one. Amounts are what the model draws and quantiles of the
    column; and the first and last of the ball with their neighbours beyond it, so that it is a
    union of cells.
    """
    (apart, alone), several = _apart(fit, link), len(records)
    if alone:
        numbers = np.tile(apart, (several, 1))
        return _Tried(numbers, np.ones(numbers.shape))
    assert link.values is not None
    rounding = fit.drawing.rounding(link.values, fit.confidential[link.variable].dtype)
    column = fit.drawing.outcomes[link.variable].numbers(fit.confidential[link.variable])
    amounts = column[~np.isnan(column) & ~np.isin(column, apart)]
    shared = np.quantile(amounts, (np.arange(_OF_COLUMN) + 0.5) / _OF_COLUMN)
    shared = np.concatenate([shared, [amounts.min(), amounts.max()]])
    truth = column[records]
    is_amount = ~np.isnan(truth) & ~np.isin(truth, apart)
    lower, upper = world.scenario.balls(link.variable, np.where(is_amount, truth, shared[0]))
    made = np.vstack([own, np.tile(shared[:, None], (1, several))])
    made = np.where(np.isnan(made) | np.isin(made, apart), shared[0], made)
    made = rounding.released(made.ravel()).reshape(made.shape)
    ends = []
    for end, beyond in ((lower, -1), (upper, 1)):
        last = rounding.released(end)
        unit = unit_of(last, rounding.precision)
        last = last - beyond * unit * (beyond * (last - end) > 1e-9 * unit)  # rounded out of it
        ends += [rounding.released(last), rounding.released(last + beyond * unit)]
    made = np.sort(np.vstack([made, *ends]).T, axis=1)
    middle = (made[:, 1:] + made[:, :-1]) / 2
    width = np.diff(middle, axis=1, prepend=made[:, :1], append=made[:, -1:])
    width[np.isin(made, apart)] = 0.0
    return _Tried(
        np.hstack([made, np.tile(apart, (several, 1))]),
        np.hstack([width, np.ones((several, len(apart)))]),
    )
