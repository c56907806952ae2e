"""Draws of a density of independent parts: each by importance where that can be relied on, else by
chains from its mode.

A part that importance is refused for is sampled by short chains first, which in round coordinates
are often enough: what leaves is judged, and only where it fails are they longer. Where importance
was relied on and what leaves fails all the same, since a few proposals decide it, all parts have
chains. All parts end with as many draws as are asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import xarray as xr

from riskweighted.contract.synthesizer import Density
from riskweighted.sampling.importance import ImportanceProposals, Resampled, propose_about_mode
from riskweighted.sampling.laplace import parts_of
from riskweighted.sampling.nuts import DensityDraws, Progress, run_density, share_of
from riskweighted.sampling.sampling_settings import Sampling

__all__ = ["DensityParts", "PartDraws", "find_parts"]

_SHORT = ((0.15, 0.5), (0.3, 1.0))  # of the tuning steps and draws that are asked for
_LEAST_TUNED, _LEAST_DRAWS = 50, 25  # steps of a short chain, of as many as are asked for
_LAST = 2  # times the draws, of which every second one is kept


class PartDraws(NamedTuple):
    """Draws of all parts side by side: ``vectors`` (chains, draws, d) and the log density there
    (chains, draws).

    ``which`` (parts, chains x draws): the number of the proposal that each draw of a part is, its
    own number where the part has chains; ``pareto_k``: the largest of the parts drawn by
    importance; ``stats`` of the chains. None or NaN where no part is drawn so.
    """

    vectors: np.ndarray
    heights: np.ndarray
    which: np.ndarray | None
    pareto_k: float
    stats: xr.Dataset | None


@dataclass(frozen=True, eq=False)
class DensityParts:
    """The parts of a density with what importance gives of each: ``near``, None where it is not
    tried or finds no mode; ``relied``: whether parts whose proposals can be relied on are drawn by
    them.
    """

    parts: tuple[tuple[int, Density], ...]
    near: tuple[ImportanceProposals | None, ...]
    seeds: tuple[int, ...]
    relied: bool = True

    @property
    def accepted(self) -> tuple[ImportanceProposals | None, ...]:
        """The proposals of those parts that are drawn by importance."""
        return tuple(
            near if self.relied and near is not None and near.accepted else None
            for near in self.near
        )

    @property
    def of_chains(self) -> int:
        """How many parts are left to chains."""
        return self.accepted.count(None)

    @property
    def attempts(self) -> tuple["DensityParts", ...]:
        """These parts, and where any are drawn by importance, all of them by chains."""
        in_chains = (replace(self, relied=False),)
        return (self, *in_chains) if any(near is not None for near in self.accepted) else (self,)

    def lengths(self, sampling: Sampling) -> tuple[tuple[Sampling, bool], ...]:
        """How long chains run, one after the other until what leaves has converged, and whether
        they keep to short ways.
        """
        left = [
            near
            for near, accepted in zip(self.near, self.accepted, strict=True)
            if accepted is None
        ]
        if None in left or not left:
            return ((sampling, False),)
        tuned, drawn = min(_LEAST_TUNED, sampling.tune), min(_LEAST_DRAWS, sampling.draws)
        short = (
            replace(
                sampling,
                tune=max(round(tune * sampling.tune), tuned),
                draws=max(round(draws * sampling.draws), drawn),
            )
            for tune, draws in _SHORT
        )
        return (
            *((each, True) for each in short),
            (replace(sampling, draws=_LAST * sampling.draws), False),
        )

    def resampled(self, number: int, count: int) -> Resampled:
        """The draws of a part by importance, the same of the same seed."""
        near = self.near[number]
        assert near is not None
        return near.resampled(count, np.random.default_rng([self.seeds[number], 1]))

    def draw(
        self, sampling: Sampling, length: Sampling, short: bool, progress: Progress | None
    ) -> PartDraws:
        """As many draws as `sampling` says of every part, of chains of a `length`."""
        shape, stats = (sampling.chains, sampling.draws), list[xr.Dataset]()
        vectors, heights, which = [], [], []
        for number, ((width, part), near, accepted) in enumerate(
            zip(self.parts, self.near, self.accepted, strict=True)
        ):
            if accepted is not None:
                each, at, of_proposal = self.resampled(number, shape[0] * shape[1])
            else:
                report = (
                    None if progress is None else share_of(progress, len(stats), self.of_chains)
                )
                coordinates = None if near is None else near.coordinates
                sampled = _spread(
                    run_density(
                        part, width, length, self.seeds[number], report, coordinates, short=short
                    ),
                    sampling.draws,
                )
                each = sampled.vectors
                at = sampled.heights
                of_proposal = np.arange(shape[0] * shape[1])
                stats.append(sampled.stats)
            vectors.append(each.reshape(*shape, width))
            heights.append(at.reshape(shape))
            which.append(of_proposal)
        tails = [near.pareto_k for near in self.accepted if near is not None]
        return PartDraws(
            np.concatenate(vectors, axis=2),
            np.sum(heights, axis=0),
            np.array(which) if tails else None,
            max(tails, default=np.nan),
            _together(stats) if stats else None,
        )


def find_parts(
    density: Density, size: int, sampling: Sampling, random_seed: int | None, tried: bool
) -> DensityParts:
    """The parts of a log density of vectors (d,), with the proposals of each of one mode where
    importance is `tried`.
    """
    parts = parts_of(density, size)
    seeds = [
        int(seed)
        for seed in np.random.SeedSequence(random_seed).generate_state(len(parts), np.uint64)
    ]
    count, near = sampling.chains * sampling.draws, list[ImportanceProposals | None]()
    for (width, part), seed in zip(parts, seeds, strict=True):
        wanted = tried and getattr(part, "starts", None) is None
        near.append(
            propose_about_mode(part, width, count, np.random.default_rng(seed)) if wanted else None
        )
    return DensityParts(parts, tuple(near), tuple(seeds))


def _spread(sampled: DensityDraws, draws: int) -> DensityDraws:
    """So many draws of every chain: each as often as the others, to one, in the order of the
    chain.
    """
    made = sampled.vectors.shape[1]
    if made == draws:
        return sampled
    kept = np.arange(draws) * made // draws
    return DensityDraws(
        sampled.vectors[:, kept], sampled.heights[:, kept], sampled.stats.isel(draw=kept)
    )


def _together(stats: list[xr.Dataset]) -> xr.Dataset:
    """What is told of the draws of several parts: whether any diverged, and their energy in all."""
    of_all: dict[str, Callable[..., np.ndarray]] = {"diverging": np.any, "energy": np.sum}
    return xr.Dataset(
        {
            name: (("chain", "draw"), add([of[name].values for of in stats], axis=0))
            for name, add in of_all.items()
        }
    )
