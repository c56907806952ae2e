"""Expected identification risk: that of the mechanism, where eq. 1 is that of the L datasets at
hand (METHODS section 2).

Given theta synthetic values are independent. So the risk of record i over all datasets that theta
could give is the probability p_i that its own value lands in its ball, times the share of the
pattern expected outside it; averaged over draws, without the chance that dominates a maximum.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_count, check_given, check_seed
from riskweighted.common.errors import InputError, listing
from riskweighted.contract.drawn_columns import spread_draws
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import World, make_world
from riskweighted.risk.balls import gives_mass

if TYPE_CHECKING:  # at run time it would load xarray
    from riskweighted.sequence.fit import Fit

__all__ = [
    "ISOLATED_SHARE",
    "TOP_SHARE",
    "ExpectedRisk",
    "count_draws",
    "expected_identification_risk",
    "expected_risk",
    "gives_masses",
    "isolated_records",
    "own_masses",
    "rank_at_cut",
    "require_equality",
    "top_values",
    "variable_terms",
]

_DRAWS = 100  # where none are asked for
_BLOCKS = 20  # of draws, over chains: batch means over them give the Monte Carlo error
ISOLATED_SHARE, TOP_SHARE = 0.05, 0.01  # shares of the records


@dataclass(frozen=True, eq=False)
class ExpectedRisk:
    """Expected identification risk of n records in B blocks of posterior draws. Confidential.

    ``blocks`` (B, n): its mean over each block; ``sizes`` (B,): draws in each; ``own_mass`` (n,):
    probability that a record's synthetic value lies in its ball; ``outside`` (n,): expected share
    of its pattern whose synthetic values lie outside its ball, given that its own lies inside.
    """

    blocks: np.ndarray = field(repr=False)
    sizes: np.ndarray
    own_mass: np.ndarray = field(repr=False)
    outside: np.ndarray = field(repr=False)

    @property
    def draws(self) -> int:
        """S."""
        return int(self.sizes.sum())

    @cached_property
    def risk(self) -> np.ndarray:
        """E[IR_i], (n,)."""
        summed = np.zeros(self.blocks.shape[1])
        # in this order, however many records there are
        for size, block in zip(self.sizes, self.blocks, strict=True):
            summed += size * block
        return summed / self.draws

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
        return np.asarray(
            (self.draws * self.risk - size * self.blocks[block]) / (self.draws - size)
        )


def expected_identification_risk(
    fit: "Fit", scenario: Scenario, draws: int = 100, random_seed: int | None = None
) -> pd.DataFrame:
    """Return the expected identification risk of each record under a fit (METHODS section 2).

    ``E[IR_i] = E_theta[p_i (1 - (1 + c_-i) / M_i)]``, with ``p_i = P(y*_i in B_i | x_i, theta)``
    from the synthesizer's ``mass`` and ``c_-i`` the number of other synthetic values of the pattern
    in the ball: y* is drawn once for each theta, which leaves the average unbiased. For a
    synthesizer without ``mass``, p_i is a share of twenty more draws.

    Of a chain p_i is the probability that all variables of the scenario land in their balls,
    estimated along one path for each theta: each variable's mass given those before it, drawn
    inside their own balls (METHODS section 12). For a scenario of some of its variables the others
    are drawn freely.

    Parameters
    ----------
    fit : Fit
    scenario : Scenario
        Its synthetic variable is the fit's; of a chain one or several of its variables.
    draws : int
        Posterior draws, spread evenly over the chains; at most as many as the fit has.
    random_seed : int, optional
        For y*.

    Returns
    -------
    DataFrame on the index of the confidential data: ``risk``, in [0, 1]; ``se``, its Monte Carlo
    standard error from means of blocks of draws (no fewer than two blocks, else NaN); ``own_mass``,
    the mean of p_i. Confidential.

    Raises
    ------
    InputError
        If the scenario does not suit the data or synthesizes other variables, or more draws are
        asked for than were sampled.

    Examples
    --------
    >>> from riskweighted.runs.examples import fit, scenario
    >>> risk = rw.expected_identification_risk(fit, scenario, random_seed=1)
    >>> risk.columns.tolist(), bool(risk["risk"].mean() < 0.25)
    (['risk', 'se', 'own_mass'], True)
    """
    check_given(fit, "fit", "blocks", "Fit", "fit(...)")
    expected = expected_risk(fit, make_world(fit.confidential, scenario), draws, random_seed)
    return pd.DataFrame(
        {"risk": expected.risk, "se": expected.error, "own_mass": expected.own_mass},
        fit.confidential.index,
    )


def expected_risk(
    fit: "Fit",
    world: World,
    draws: int | None = None,
    random_seed: int | None = None,
    *,
    each: Callable[[np.ndarray, np.ndarray], None] | None = None,
) -> ExpectedRisk:
    """`expected_identification_risk` of checked data, block by block.

    `draws`: without it 100, or as many as the fit has. `each` is given, at every draw of a fit that
    estimates anything, what the records add to the log posterior of each variable (V, n), and p_i
    (n,).
    """
    _check_target(fit, world)
    check_seed(random_seed)
    blocks = _blocks(fit, draws)
    from riskweighted.risk.ball_masses import ball_masses  # loads xarray, which a fit did

    count = sum(map(len, blocks))
    masses = ball_masses(fit, world)
    n = len(world.confidential)
    in_pattern = world.patterns.in_pattern
    one_record = 1 / in_pattern  # as a share of its pattern
    if world.scenario.singletons == "protect":
        one_record[in_pattern == 1] = 0.0  # whose IR is 1 wherever its value is drawn
    blockwise, share, own_mass = np.zeros((len(blocks), n)), np.zeros(n), np.zeros(n)
    rng = np.random.default_rng(random_seed)
    for number, block in enumerate(blocks):
        for chain, draw in block:
            theta: Any = fit.thetas(chain, draw)
            frame = fit.drawing.made(theta, rng)
            neighbours = world.find(frame)
            outside = 1 - (1 + neighbours.within - neighbours.own_inside) * one_record
            mass = masses(theta, rng, frame)
            blockwise[number] += mass * outside
            share += outside
            own_mass += mass
            if each is not None and fit.estimates:
                each(variable_terms(fit, theta), mass)
        blockwise[number] /= len(block)
    sizes = np.array([len(block) for block in blocks])
    # an estimate along a path that rules cut may exceed 1
    own_mass = np.minimum(own_mass / count, 1.0)
    return ExpectedRisk(blockwise, sizes, own_mass, share / count)


def variable_terms(fit: "Fit", theta: Any) -> np.ndarray:
    """What each record adds to the log posterior of each variable, (V, n)."""
    return np.array([fit.contributions(theta, variable) for variable in fit.variables])


def isolated_records(confidential_risk: np.ndarray, cut: float | None = None) -> np.ndarray:
    """Which of n records are isolated: the ceil(.05 n) of largest IR^c, with all ties at the cut
    (METHODS section 2.6); booleans (n,).

    `cut`: the IR^c at it, where the records are a part of a file.
    """
    return _largest(confidential_risk, ISOLATED_SHARE, cut)


def top_values(values: np.ndarray, cut: float | None = None) -> np.ndarray:
    """Which of n records hold the largest hundredth of the values, with all ties at the cut
    (METHODS section 2.6); booleans (n,).
    """
    return _largest(values, TOP_SHARE, cut)


def rank_at_cut(n: int, share: float) -> int:
    """The rank of the value at the cut among n in order, 0 the lowest, where so large a share of
    them lies at it or above.
    """
    return n - math.ceil(round(share * n, 9))


def _largest(values: np.ndarray, share: float, cut: float | None) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    if cut is None:
        rank = rank_at_cut(len(values), share)
        cut = np.partition(values, rank)[rank]
    return np.asarray(values >= cut)


def own_masses(
    fit: "Fit", world: World, places: list[tuple[int, int]], random_seed: int | None = None
) -> Iterator[np.ndarray]:
    """P(y*_i in B_i | theta_s) of every record, (n,), for the draws at these places (chain, draw),
    one after the other.

    Of a chain an estimate along one path, drawn by the seed.
    """
    _check_target(fit, world)
    if not gives_masses(fit):
        raise InputError(
            f"{type(fit.synthesizer).__name__} has no mass(), which this measure needs"
        )
    from riskweighted.risk.ball_masses import ball_masses  # loads xarray, which a fit did

    rng, masses = np.random.default_rng(random_seed), ball_masses(fit, world)

    def walk() -> Iterator[np.ndarray]:
        for draw in places:
            theta: Any = fit.thetas(*draw)
            frame = fit.confidential if len(fit.variables) == 1 else fit.drawing.made(theta, rng)
            yield masses(theta, rng, frame)

    return walk()


def gives_masses(fit: "Fit") -> bool:
    """Whether p_i is a probability given theta, rather than a share of draws."""
    return any(gives_mass(block) for block in fit.blocks.values())


def require_equality(world: World, target: str, levels: tuple[object, ...] | None) -> None:
    """Refuse a scenario that matches a target in a ball of numbers, where the synthesizer draws its
    levels.
    """
    if levels is not None and target in world.numeric:
        raise InputError(
            f"{target!r} holds numbers that are drawn as levels, so it is matched by equality: "
            "name it in scenario.categorical"
        )


def _check_target(fit: "Fit", world: World) -> None:
    """Refuse a scenario of other variables, and values that a model cannot draw."""
    asked = world.scenario.synthetic
    strange = [name for name in world.scenario.synthetic if name not in fit.variables]
    if strange:
        raise InputError(
            f"the scenario synthesizes {listing(strange)}; valid are the fit's variables "
            f"{listing(fit.variables)}"
        )
    for link in fit.prepared.links:
        missing = int(fit.confidential[link.variable].isna().sum()) if fit.prepared.of_one else 0
        if missing:
            raise InputError(
                f"{link.variable!r} is missing in {missing} of {len(fit.confidential)} records, "
                "which a fit of one variable does not draw"
            )
        if link.values is not None and link.variable in asked:
            require_equality(world, link.variable, fit.blocks[link.values.name].categories)


def count_draws(fit: "Fit", draws: int | None) -> int:
    """How many draws of a fit are meant: so many, or 100, or as many as it has."""
    available = fit.sizes["chain"] * fit.sizes["draw"]
    count = min(_DRAWS, available) if draws is None else check_count(draws, "draws")
    if count > available:
        raise InputError(f"draws must be at most the {available} that the fit has, got {count}")
    return count


def _blocks(fit: "Fit", draws: int | None) -> list[list[tuple[int, int]]]:
    """Places (chain, draw) of the draws, in stretches of neighbours within a chain."""
    if not fit.estimates:
        return [[(0, 0)] for _ in range(_BLOCKS)]
    chains, length = fit.sizes["chain"], fit.sizes["draw"]
    count = count_draws(fit, draws)
    places = spread_draws(chains, length, count)
    blocks: list[list[tuple[int, int]]] = []
    for chain in range(min(chains, count)):
        of_chain = [draw for draw in places if draw[0] == chain]
        pieces = np.array_split(
            np.arange(len(of_chain)), min(max(_BLOCKS // chains, 1), len(of_chain))
        )
        blocks += [[of_chain[at] for at in piece] for piece in pieces]
    return blocks
