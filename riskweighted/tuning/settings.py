"""What is asked of a search, checked before anything is sampled."""

from dataclasses import dataclass

from riskweighted.common.checks import check_count, check_number
from riskweighted.common.errors import InputError
from riskweighted.tuning.losses import find_loss
from riskweighted.tuning.targets import Target, check_family, find_target

__all__ = ["TuningSettings"]


@dataclass(frozen=True)
class TuningSettings:
    """What is asked of a search: a target, a family or None for all along which it falls, a loss.

    ``risk_draws``: posterior draws on which the expected risk of a fit is measured. Names as in `tune`.
    """

    target: str
    at_most: float
    family: str | None = None
    loss: str = "U_m"
    risk_draws: int | None = None

    def __post_init__(self) -> None:
        find_target(self.target)
        if check_number(self.at_most, "at_most", least=0) == 0:
            raise InputError("at_most must be a number > 0, got 0")
        if self.family is not None:
            check_family(self.family, self.target)
        find_loss(self.loss)
        if self.risk_draws is not None:
            check_count(self.risk_draws, "risk_draws")

    @property
    def asked(self) -> Target:
        """The target that is meant."""
        return find_target(self.target)

    @property
    def tried(self) -> tuple[str, ...]:
        """The families that are searched."""
        return self.asked.families if self.family is None else (self.family,)
