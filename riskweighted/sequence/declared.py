"""What the framework asks of a sequence of synthesizers: `Chain`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from riskweighted.common.checks import is_number
from riskweighted.common.errors import InputError
from riskweighted.common.found import FoundNumbers, found_numbers
from riskweighted.common.units import Units
from riskweighted.contract.synthesizer import Synthesizer
from riskweighted.sequence.edit_rules import Rules
from riskweighted.sequence.products import Product
from riskweighted.sequence.recoding import RECODINGS

__all__ = [
    "Chain",
    "SideBySide",
    "check_declared",
    "is_chain",
    "learned_of",
    "products_of",
    "recoding_of",
    "stated_codes",
    "units_of",
]


@runtime_checkable
class Chain(Protocol):
    """A sequence of synthesizers: what the framework asks of one.

    It names no model itself: ``status_model`` and ``value_model`` of the chain choose them. A
    guarantee also asks for ``data_dependent_choices(variable)``: in words what the chain takes from
    the sensitive values for a variable, () for nothing. A chain may say how predictors become
    numeric columns, ``recoding``: one of `riskweighted.sequence.recoding.RECODINGS`; of which
    predictors scores are learned, ``learned``; which products predict, ``multiplied``; and which
    records belong together, ``units``.
    """

    @property
    def variables(self) -> tuple[str, ...]:
        """The synthesized variables, in order."""

    @property
    def predictors(self) -> tuple[str, ...]:
        """Unsynthesized columns that predict every variable."""

    @property
    def codes(self) -> Mapping[str, tuple[float, ...]]:
        """Values of numeric variables that have a share of their own, special codes and spikes; of
        predictors those that are no amounts.
        """

    @property
    def rules(self) -> Rules:
        """Structural values, and what holds between variables."""

    def formula_of(self, variable: str) -> str | None:
        """The user's formula for a variable; None: all predictors and all earlier variables."""

    def one_by_one(self, variable: str, values: pd.Series, predictors: int) -> tuple[object, ...]:
        """The levels of a variable in the order in which each is modelled by itself, by
        continuation ratios; () for one model of all.

        `values`: without gaps; `predictors`: the numeric columns that there are for it.
        """

    def status_model(self, formula: str) -> Synthesizer:
        """The model of a binary status."""

    def value_model(self, variable: str, amounts: pd.Series, formula: str) -> Synthesizer:
        """The model of a variable's amounts or levels, chosen by their type."""


@dataclass(frozen=True)
class SideBySide:
    """Synthesizers of one variable each, none of which looks at the variable of another: what
    baselines of several variables are.
    """

    synthesizers: tuple[Synthesizer, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """The variable of each."""
        return tuple(synthesizer.target for synthesizer in self.synthesizers)


def check_declared(declared: object) -> None:
    """Refuse what is neither a synthesizer nor a chain: a name, settings, a class that was not made
    yet.
    """
    made = isinstance(declared, (Chain, SideBySide)) or callable(getattr(declared, "prepare", None))
    if isinstance(declared, type) or not made:
        got = (
            f"the class {declared.__name__}"
            if isinstance(declared, type)
            else type(declared).__name__
        )
        raise InputError(
            "synthesizer must be a synthesizer or a chain, as load_synthesizer(NAME)(FORMULA) "
            f"makes them, got {got}"
        )


def is_chain(synthesizer: object) -> bool:
    """Whether it synthesizes several variables, one after the other."""
    return isinstance(synthesizer, Chain)


def recoding_of(chain: Chain) -> str:
    """How the predictors of a chain become numeric columns; "plain" where it does not say."""
    return str(getattr(chain, "recoding", RECODINGS[0]))


def learned_of(chain: Chain) -> tuple[str, ...]:
    """The predictors that the learned part of a chain reads; none where it does not say."""
    return tuple(getattr(chain, "learned", ()))


def products_of(chain: Chain) -> tuple[Product, ...]:
    """The products that predict beside the predictors of a chain; none where it does not say."""
    return tuple(getattr(chain, "multiplied", ()))


def units_of(chain: Chain) -> Units | None:
    """Which records belong together; None where a chain does not say, so that all are alone."""
    units: Units | None = getattr(chain, "units", None)
    return units


def stated_codes(variable: str, settings: Mapping[str, Any]) -> tuple[float, ...]:
    """Those of ``codes``, different finite numbers, and the number that a structural rule gives
    ``else_value``; those found in the data keep their mark.
    """
    given, found = found_numbers(settings.get("codes", ()))
    codes = list(given) if isinstance(given, (list, tuple, np.ndarray)) else [given]
    if not all(is_number(code) for code in codes) or len(set(codes)) < len(codes):
        raise InputError(
            f"variable {variable!r}: codes must be different finite numbers, got {codes!r}"
        )
    else_value = settings.get("else_value")
    stated = dict.fromkeys(
        float(code) for code in ([*codes, else_value] if is_number(else_value) else codes)
    )
    return FoundNumbers(stated) if found else tuple(stated)
