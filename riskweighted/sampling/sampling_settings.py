"""How long a fit samples."""

from dataclasses import dataclass, field

from riskweighted.common.checks import check_choice, check_count, is_number
from riskweighted.common.errors import InputError
from riskweighted.common.replaced import refuse_replaced
from riskweighted.common.settings import APART, read_by

__all__ = ["AUTO", "DIRECT", "NUTS", "Sampling"]

AUTO, NUTS = "auto", "nuts"
DIRECT = "direct"  # what diagnostics call draws without chains; nobody asks for it


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Sampling settings say how to sample: draws and tuning steps per chain, chains, processor
    cores, target acceptance rate, engine.

    How a model is sampled is chosen for it. Where it offers a density whose mode and curvature are
    quickly found, chains x draws draws are made about the mode by importance
    (`riskweighted.sampling.importance`); compiled densities of one mode, such as those of the
    transformation model and of two parts, are drawn so part by part
    (`riskweighted.sampling.density_parts`). A part for which the weights fail has chains, short
    ones first (.15 of the tuning steps, half of the draws), then twice as long, then all tuning
    steps and twice the draws, until what leaves has converged; of every part as many draws are kept
    as are asked for. All else has chains. The engine "nuts" runs chains whatever the model, for who
    must have them; "auto" is the choice told above.

    Cores of None are as many as there are chains and as the machine has; for a compiled density one
    for each third of a millisecond that a gradient takes, since shorter ones would wait for each
    other. The draws are the same.

    A target of None is 0.8; for a compiled density (`Blueprint.density`), whose coordinates are
    round, 0.7 to 0.9: the more of it is left to the prior of what is scaled, the shorter its steps;
    where chains diverge they are run again with shorter ones.

    Examples
    --------
    >>> rw.Sampling(draws=1_000, chains=2).draws
    1000
    """

    draws: int = 250
    tune: int = 500
    chains: int = 4
    cores: int | None = field(
        default=None, metadata={**APART, **read_by(why="the draws are the same")}
    )
    target_accept: float | None = None
    engine: str = AUTO

    def __post_init__(self) -> None:
        for name in ("draws", "tune"):
            check_count(getattr(self, name), name, most=10_000_000)
        check_count(self.chains, "chains", most=1000)
        if self.cores is not None:
            check_count(self.cores, "cores", most=10_000)
        if self.target_accept is not None and not (
            is_number(self.target_accept) and 0 < self.target_accept < 1
        ):
            raise InputError(f"target_accept must lie between 0 and 1, got {self.target_accept!r}")
        refuse_replaced("engine", self.engine)
        check_choice(self.engine, (AUTO, NUTS), "engine")
