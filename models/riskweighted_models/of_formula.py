"""What every model of one variable begins with: a formula, on whose left the variable stands."""

from dataclasses import dataclass

from riskweighted.design.formulas import response_name

__all__ = ["OfFormula"]


@dataclass(frozen=True)
class OfFormula:
    """Base of the models of one variable, ``"response ~ predictors"``."""

    formula: str

    def __post_init__(self) -> None:
        response_name(self.formula)

    @property
    def target(self) -> str:
        return response_name(self.formula)
