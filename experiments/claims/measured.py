"""What one fit shows, in arrays that are kept: expected risk in blocks of draws, influence by
chain, statistics of synthetic datasets.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass, field, fields

import numpy as np
import pandas as pd

from riskweighted import influence
from riskweighted.common.errors import InputError
from riskweighted.intruder.world import World
from riskweighted.risk.expected_identification import expected_risk
from riskweighted.risk.identification import identification_risks
from riskweighted.sequence.fit import Fit
from riskweighted.utility.ecdf import ecdf_distance

__all__ = ["FEW", "INFLUENCE", "STATISTICS", "Measured", "measure"]

INFLUENCE = ("lipschitz", "range", "information")
STATISTICS = ("U_m", "mean", "q90")
FEW = 100  # draws
_QUANTILE = 0.9


@dataclass(frozen=True, eq=False)
class Measured:
    """Arrays of one fit of n records. Of simulated or public data here; confidential otherwise.

    Attributes
    ----------
    alpha : array (n,)
    blocks : array (B, n)
        Expected identification risk by block of draws.
    sizes : array (B,)
        Draws in each.
    own_mass, outside : array (n,)
        As in `riskweighted.risk.expected_identification.ExpectedRisk`.
    influence : array (1 + C, n, 3)
        `INFLUENCE` from all draws, then from each chain alone.
    attributable : array (1 + C, n)
        Attributable ball probability from some draws of all chains, then of each chain alone.
    pareto_k : array (n,)
        Pareto shapes of the first.
    p_eff : array (1 + C,)
    few : float
        Delta from 100 draws alone, since a maximum over draws grows with their number.
    risks : array (G, n)
        Identification risk (eq. 1) over each of G groups of L datasets.
    statistics : array (G L, 3)
        `STATISTICS` of each dataset.
    quality : array (3,)
        Largest R-hat, smallest bulk ESS, divergences.
    """

    alpha: np.ndarray = field(repr=False)
    blocks: np.ndarray = field(repr=False)
    sizes: np.ndarray = field(repr=False)
    own_mass: np.ndarray = field(repr=False)
    outside: np.ndarray = field(repr=False)
    influence: np.ndarray = field(repr=False)
    attributable: np.ndarray = field(repr=False)
    pareto_k: np.ndarray = field(repr=False)
    p_eff: np.ndarray = field(repr=False)
    few: np.ndarray
    risks: np.ndarray = field(repr=False)
    statistics: np.ndarray = field(repr=False)
    quality: np.ndarray = field(repr=False)

    @property
    def risk(self) -> np.ndarray:
        """E[IR_i], (n,)."""
        return np.asarray(np.average(self.blocks, axis=0, weights=self.sizes))

    def left_out(self) -> Iterator[np.ndarray]:
        """E[IR_i] without each block of draws in turn, (n,)."""
        for block in range(len(self.sizes)):
            rest = np.arange(len(self.sizes)) != block
            yield np.average(self.blocks[rest], axis=0, weights=self.sizes[rest])

    def to_bytes(self) -> bytes:
        """All of it."""
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer, **{each.name: getattr(self, each.name) for each in fields(self)}
        )  # type: ignore[arg-type]
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> "Measured":
        """Read back."""
        with np.load(io.BytesIO(content)) as stored:
            return cls(**{each.name: stored[each.name] for each in fields(cls)})


def measure(
    fit: Fit,
    world: World,
    *,
    draws: int = 400,
    groups: int = 5,
    L: int = 20,  # noqa: N803
    random_seed: int = 1,
) -> Measured:
    """Measure a fit.

    Parameters
    ----------
    fit : Fit
    world : World
    draws : int
        Posterior draws for expected risk, and for the attributable ball probability, which needs a
        weight a draw.
    groups, L : int
        Groups of L synthetic datasets each.
    random_seed : int
    """
    if fit.posterior.sizes["chain"] < 2:
        raise InputError(
            "errors come from chains beside each other: at least 2 are needed, got "
            f"{fit.posterior.sizes['chain']}"
        )
    expected = expected_risk(fit, world, draws, random_seed)
    alone = [
        fit.changed(posterior=fit.posterior.isel(chain=[chain]))
        for chain in range(fit.posterior.sizes["chain"])
    ]
    found = [influence(one) for one in (fit, *alone)]
    shares = (draws, *(draws // len(alone) for _ in alone))
    balls = [
        influence(one, world.scenario, draws=share)
        for one, share in zip((fit, *alone), shares, strict=True)
    ]
    frames = fit.synthesize(groups * L, random_seed=random_seed)
    target = fit.synthesizer.target
    own = fit.confidential[target].to_numpy(dtype=float)
    values = [frame[target].to_numpy(dtype=float) for frame in frames]
    statistics = [
        (ecdf_distance(own, each).maximum, each.mean(), np.quantile(each, _QUANTILE))
        for each in values
    ]
    risks = identification_risks(world.pair(frames)).reshape(groups, L, -1).mean(axis=1)
    return Measured(
        fit.alpha.to_numpy(),
        expected.blocks,
        expected.sizes,
        expected.own_mass,
        expected.outside,
        np.array([table[list(INFLUENCE)].to_numpy() for table in found]),
        np.array([table["attributable"].to_numpy() for table in balls]),
        balls[0]["pareto_k"].to_numpy(),
        np.array([table.attrs["p_eff"] for table in found]),
        np.array(influence(fit, draws=FEW)["lipschitz"].max()),
        risks,
        np.array(statistics),
        _quality(fit.diagnostics),
    )


def _quality(diagnostics: pd.DataFrame) -> np.ndarray:
    if diagnostics.empty:
        return np.full(3, np.nan)
    return np.array(
        [
            diagnostics["r_hat"].max(),
            diagnostics["ess_bulk"].min(),
            diagnostics["divergences"].max(),
        ],
        dtype=float,
    )
