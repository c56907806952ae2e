"""Expected identification risk: that of the mechanism, where eq. 1 is that of the L datasets at hand (METHODS section 2).

Given theta the synthetic values are independent. So the risk of record i, averaged over all datasets that theta could give, is the
probability p_i that its own value lands in its ball, times the share of the pattern that is expected outside it. Averaging that over
posterior draws leaves out the chance that dominates a maximum, or a count of risen records, over L = 20 datasets.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_count, check_seed
from riskweighted.common.errors import InputError, listing
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.statuses import AMOUNT, MISSING, ends_of_code, find_statuses
from riskweighted.intruder.world import World, make_world
from riskweighted.synthesis.contract import ContractError, Draw
from riskweighted.synthesis.drawing import spread_draws

if TYPE_CHECKING:  # at run time it would load xarray
    from riskweighted.synthesis.posterior import Fit

__all__ = [
    "ExpectedRisk",
    "expected_identification_risk",
    "expected_risk",
    "isolated_records",
    "own_masses",
    "require_equality",
    "top_values",
]

_DRAWS = 100  # where none are asked for
_BLOCKS = 20  # of draws, over chains: batch means over them give the Monte Carlo error
_ISOLATED, _TOP = 0.05, 0.01  # shares of the records
_ROUND_OFF = 1e-9
_REPEATS = 20  # draws of y* per theta that stand for the mass of a synthesizer without one


@dataclass(frozen=True, eq=False)
class ExpectedRisk:
    """Expected identification risk of n records in blocks of posterior draws. Confidential.

    Attributes
    ----------
    blocks : array (B, n)
        Its mean over each block of draws.
    sizes : array (B,)
        Draws in each.
    own_mass : array (n,)
        Probability that a record's synthetic value lies in its ball.
    outside : array (n,)
        Expected share of its pattern whose synthetic values lie outside its ball, given that its own lies inside.
    terms : array (n, S) or None
        alpha_i log p(y_i | theta_s), from which influence is measured; None where they were not asked for, or nothing is estimated.
    masses : array (n, S) or None
        p_i given theta_s, likewise.
    """

    blocks: np.ndarray = field(repr=False)
    sizes: np.ndarray
    own_mass: np.ndarray = field(repr=False)
    outside: np.ndarray = field(repr=False)
    terms: np.ndarray | None = field(default=None, repr=False)
    masses: np.ndarray | None = field(default=None, repr=False)

    @property
    def draws(self) -> int:
        """S."""
        return int(self.sizes.sum())

    @cached_property
    def risk(self) -> np.ndarray:
        """E[IR_i], (n,)."""
        return np.asarray(np.average(self.blocks, axis=0, weights=self.sizes))

    @property
    def error(self) -> np.ndarray:
        """Its Monte Carlo standard error, (n,); NaN for a single block."""
        count = len(self.sizes)
        if count == 1:
            return np.full(self.blocks.shape[1], np.nan)
        off = np.average((self.blocks - self.risk) ** 2, axis=0, weights=self.sizes)
        return np.asarray(np.sqrt(off / (count - 1)))

    def without(self, block: int) -> np.ndarray:
        """The risk from all blocks but one, (n,)."""
        size = self.sizes[block]
        return np.asarray((self.draws * self.risk - size * self.blocks[block]) / (self.draws - size))


class _Balls(NamedTuple):
    """Ends of the balls on the scale of unrounded draws, (n,) each, and to what these are rounded; what is drawn as each special code of
    the scenario, and the statuses of the records (n,)."""

    lower: np.ndarray
    upper: np.ndarray
    precision: float | None
    codes: Mapping[float, tuple[float, float]]
    status: np.ndarray


def expected_identification_risk(fit: "Fit", scenario: Scenario, draws: int = 100, random_seed: int | None = None) -> pd.DataFrame:
    """Expected identification risk of each record under a fit (METHODS section 2).

    E[IR_i] = E_theta[p_i (1 - (1 + c_-i) / M_i)], with p_i = P(y*_i in B_i | x_i, theta) from the synthesizer's ``mass`` and c_-i the
    number of other synthetic values of the pattern in the ball: y* is drawn once for each theta, which leaves the average unbiased. For a
    synthesizer without ``mass``, p_i is a share of twenty more draws.

    Parameters
    ----------
    fit : Fit
    scenario : Scenario
        Its synthetic variable is the fit's.
    draws : int
        Posterior draws, spread evenly over the chains; at most as many as the fit has.
    random_seed : int, optional
        For y*.

    Returns
    -------
    DataFrame on the index of the confidential data: ``risk``, in [0, 1]; ``se``, its Monte Carlo standard error from means of blocks of
    draws (no fewer than two blocks, else NaN); ``own_mass``, the mean of p_i. Confidential.

    Raises
    ------
    InputError
        If the scenario does not suit the data or synthesizes other variables, or more draws are asked for than were sampled.
    """
    found = expected_risk(fit, make_world(fit.confidential, scenario), draws, random_seed)
    return pd.DataFrame({"risk": found.risk, "se": found.error, "own_mass": found.own_mass}, fit.confidential.index)


def expected_risk(
    fit: "Fit",
    world: World,
    draws: int | None = None,
    random_seed: int | None = None,
    *,
    precision: float | None = None,
    influence: bool = False,
) -> ExpectedRisk:
    """`expected_identification_risk` of checked data, block by block; with `influence` also what that is measured from, in the same walk.

    `draws`: without it 100, or as many as the fit has. `precision`: of the released values, as in `Fit.synthesize`.
    """
    _check_target(fit, world)
    check_seed(random_seed)
    blocks, precision = _blocks(fit, draws), None if fit.keeps_true_values else precision
    count, balls, n = sum(map(len, blocks)), _balls(fit, world, precision), len(world.confidential)
    in_pattern = world.patterns.in_pattern
    protected = (in_pattern == 1) & (world.scenario.singletons == "protect")
    found, share = np.zeros((len(blocks), n)), np.zeros(n)
    terms, masses = (np.empty((n, count)) if influence and fit.estimates else None for _ in range(2))
    own = np.zeros(n)
    rng, done = np.random.default_rng(random_seed), 0
    for place, block in enumerate(blocks):
        for chain, draw in block:
            theta = fit.draw(chain, draw)
            frame = fit.released(theta, rng, precision)
            neighbours = world.find(frame)
            outside = np.where(protected, 1.0, 1 - (1 + neighbours.within - neighbours.own_inside) / in_pattern)
            mass = _own_mass(fit, theta, balls, rng, frame)
            found[place] += mass * outside
            share += outside
            own += mass
            if terms is not None and masses is not None:
                terms[:, done], masses[:, done] = fit.contributions(theta), mass
            done += 1
        found[place] /= len(block)
    sizes = np.array([len(block) for block in blocks])
    exactly = callable(getattr(fit.synthesizer, "mass", None))
    return ExpectedRisk(found, sizes, own / count, share / count, terms, masses if exactly else None)


def isolated_records(confidential_risk: np.ndarray) -> np.ndarray:
    """Which of n records are isolated: the ceil(.05 n) of largest IR^c, with all ties at the cut (METHODS section 2.6); booleans (n,)."""
    return _largest(confidential_risk, _ISOLATED)


def top_values(values: np.ndarray) -> np.ndarray:
    """Which of n records hold the largest hundredth of the values, with all ties at the cut (METHODS section 2.6); booleans (n,)."""
    return _largest(values, _TOP)


def _largest(values: np.ndarray, share: float) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    count = math.ceil(round(share * len(values), 9))
    return np.asarray(values >= np.partition(values, -count)[-count])


def own_masses(fit: "Fit", world: World, places: list[tuple[int, int]]) -> np.ndarray:
    """P(y*_i in B_i | theta_s) of every record for the draws at these places (chain, draw), (n, S)."""
    _check_target(fit, world)
    if not callable(getattr(fit.synthesizer, "mass", None)):
        raise InputError(f"{type(fit.synthesizer).__name__} has no mass(), which this measure needs")
    balls = _balls(fit, world)
    return np.array([_mass(fit, fit.draw(*place), balls) for place in places]).T


def require_equality(world: World, target: str, levels: tuple[object, ...] | None) -> None:
    """Refuse a scenario that matches a target in a ball of numbers, where the synthesizer draws its levels.

    Raises
    ------
    InputError
    """
    if levels is not None and target in world.numeric:
        raise InputError(
            f"{target!r} holds numbers that are drawn as levels, so it is matched by equality: name it in scenario.categorical"
        )


def _check_target(fit: "Fit", world: World) -> None:
    target = fit.synthesizer.target
    missing = int(fit.confidential[target].isna().sum())
    if missing:
        raise InputError(
            f"{target!r} is missing in {missing} of {len(fit.confidential)} records, which a fit of one variable does not draw"
        )
    if world.scenario.synthetic != (target,):
        raise InputError(f"the scenario synthesizes {listing(world.scenario.synthetic)}, the fit {target!r}: they must be the same")
    require_equality(world, target, fit.categories)


def _blocks(fit: "Fit", draws: int | None) -> list[list[tuple[int, int]]]:
    """Places (chain, draw) of the draws, in stretches of neighbours within a chain."""
    if not fit.estimates:
        return [[(0, 0)] for _ in range(_BLOCKS)]
    chains, length = (fit.posterior.sizes[name] for name in ("chain", "draw"))
    count = min(_DRAWS, chains * length) if draws is None else check_count(draws, "draws")
    if count > chains * length:
        raise InputError(f"draws must be at most the {chains * length} that the fit has, got {count}")
    places = spread_draws(chains, length, count)
    blocks: list[list[tuple[int, int]]] = []
    for chain in range(min(chains, count)):
        own = [place for place in places if place[0] == chain]
        pieces = np.array_split(np.arange(len(own)), min(max(_BLOCKS // chains, 1), len(own)))
        blocks += [[own[at] for at in piece] for piece in pieces]
    return blocks


def _balls(fit: "Fit", world: World, precision: float | None = None) -> _Balls:
    """The scenario's balls; where released values are multiples of a precision, all that rounds into them."""
    target = fit.synthesizer.target
    values, codes = fit.numbers(world.confidential), world.scenario.codes_of(target)
    status = find_statuses(pd.Series(values), codes).status
    lower, upper = world.scenario.balls(target, values) if world.numeric else (values, values)
    precision = precision or fit.precision
    if precision is not None:
        slack = 1e-9 * np.maximum(np.abs(values) / precision, 1.0)
        first, last = np.ceil(lower / precision - slack), np.floor(upper / precision + slack)
        lower, upper = (first - 0.5) * precision, (last + 0.5) * precision
    drawn_as = {code: ends_of_code(code, precision) for code in codes}
    for place, ends in enumerate(drawn_as.values(), start=MISSING + 1):
        for side, end in zip((lower, upper), ends, strict=True):
            side[status == place] = end
    return _Balls(lower, upper, precision, drawn_as, status)


def _mass(fit: "Fit", theta: Draw, balls: _Balls) -> np.ndarray:
    """P(y*_i in B_i | theta) by the synthesizer's ``mass``, without the special codes that stand among amounts, (n,)."""
    mass: Callable[..., object] = fit.synthesizer.mass  # type: ignore[attr-defined]
    found = _checked(mass(theta, fit.prepared, balls.lower, balls.upper), fit)
    for low, high in balls.codes.values():
        among = (balls.status == AMOUNT) & (balls.lower <= low) & (high <= balls.upper)
        if among.any():
            ends = np.full(len(found), low), np.full(len(found), high)
            found = np.where(among, np.maximum(found - _checked(mass(theta, fit.prepared, *ends), fit), 0.0), found)
    return found


def _own_mass(fit: "Fit", theta: Draw, balls: _Balls, rng: np.random.Generator, frame: pd.DataFrame) -> np.ndarray:
    """P(y*_i in B_i | theta), (n,); without ``mass`` a share of more draws, where nothing is estimated of the one that each turn makes."""
    if callable(getattr(fit.synthesizer, "mass", None)):
        return _mass(fit, theta, balls)
    inside, repeats = np.zeros(len(frame)), _REPEATS if fit.estimates else 1
    for _ in range(repeats):
        values = fit.numbers(fit.released(theta, rng, balls.precision))
        near = (values >= balls.lower) & (values <= balls.upper)
        inside += near & (find_statuses(pd.Series(values), tuple(balls.codes)).status == balls.status)
    return inside / repeats


def _checked(mass: object, fit: "Fit") -> np.ndarray:
    """What a synthesizer's ``mass`` gives, once it is seen to be n probabilities, (n,)."""
    found, n = np.asarray(mass, dtype=float), len(fit.confidential)
    name = type(fit.synthesizer).__name__
    if found.shape != (n,):
        raise ContractError(f"{name}: mass must give {n} probabilities, one a record; got shape {found.shape}")
    wrong = int((~((found >= -_ROUND_OFF) & (found <= 1 + _ROUND_OFF))).sum())
    if wrong:
        raise ContractError(f"{name}: mass must give probabilities; {wrong} of {n} are none")
    return np.asarray(np.clip(found, 0.0, 1.0))
