"""What a measure says of itself, and what its computation gives.

A measure is found by its key. Label and definition are for people, and nothing is found by them.
They are templates, filled with ``{parameter}`` (the threshold, quantile or rise), ``{term}`` (the
coefficient or level), ``{risk}``, ``{rise}``, ``{formula}``, ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from riskweighted.measures.context import Context
    from riskweighted.utility.combining_rules import Interval

__all__ = [
    "LEAST_TAIL",
    "Aim",
    "Computation",
    "Disclosure",
    "Estimate",
    "Loss",
    "Measure",
    "Value",
    "mean_of_records",
    "share_of_records",
    "values_of",
]

Direction = Literal["riskier", "safer", "more useful", "less useful", "better", "worse", "neither"]
Kind = (
    Literal[
        "mean",
        "quantile",
        "extreme",
        "count",
        "share",
        "sum",
        "estimate",
        "coefficient",
        "distance",
        "ratio",
        "overlap",
        "bound",
    ]
    | Literal["diagnostic", "unregistered"]
)
Needs = Literal["", "fit", "pairs", "data alone"]
Parameter = Literal["", "threshold", "quantile", "increase", "coefficient", "level", "variable"]

# records on the smaller side of a share or a quantile, so that it shows no record's value
LEAST_TAIL = 10


class Disclosure(StrEnum):
    """A disclosure rule says how a value may be shown outside the agency
    (`riskweighted.reports.output_rules` does it).

    Examples
    --------
    >>> print(rw.Disclosure.TWO_DECIMALS)
    2 decimals
    """

    LEFT_OUT = "not at all: it is the value of one record"
    COUNT = (
        "a count of records: rounded to multiples of the minimum count, small ones said to be small"
    )
    TWO_DECIMALS = "2 decimals"
    THREE_DECIMALS = "3 decimals"
    THREE_DIGITS = "3 significant digits"
    FIVE_DIGITS = "5 significant digits"
    SHARED_DIGITS = (
        "as many significant digits, 3 at most, as the minimum count of confidential records share"
    )
    VERDICT = "as it is: yes or NO"
    SHARE = (
        "a share of records, 2 decimals (3 of 5,000 records); where fewer than the minimum count "
        "have it, or lack it, only that"
    )
    COMPARED = "not at all, but whether it fits"


class Value(NamedTuple):
    """A value is what a measure's computation gives, with what tells it from others of its measure.

    Attributes
    ----------
    measure : Measure
    value : float
        NaN where it is not defined; ``error``: its Monte Carlo standard error.
    variable, parameter, term
        What tells it from others of its measure (`Measure.parameter`).
    interval : (float, float)
        With the ``rule`` that made it.
    told : mapping of str to str
        Fills the definition; ``definition`` stands instead of the measure's.

    Examples
    --------
    >>> count = rw.Measure(
    ...     "rows", "rows", "number of rows", source="ours", direction="neither", kind="count"
    ... )
    >>> rw.Value(count, 12.0, variable="income").variable
    'income'
    """

    measure: Measure
    value: float
    variable: str | None = None
    parameter: float | None = None
    term: str | None = None
    error: float = np.nan
    interval: tuple[float, float] = (np.nan, np.nan)
    rule: str | None = None
    told: Mapping[str, str] = {}
    definition: str | None = None

    @classmethod
    def of(
        cls, measure: Measure, interval: Interval, variable: str | None = None, **others: Any
    ) -> Value:
        """An estimate with its interval and the rule that made it."""
        return cls(
            measure,
            interval.estimate,
            variable,
            interval=(interval.lower, interval.upper),
            rule=interval.rule,
            **others,
        )


def mean_of_records(measure: Measure, mean: float, values: np.ndarray, level: float) -> Value:
    """The mean of values of the records (n,), with its t interval."""
    from riskweighted.utility.combining_rules import mean_interval

    return Value(
        measure, mean, interval=mean_interval(values, level=level), rule="t interval over records"
    )


def share_of_records(
    measure: Measure, share: float, count: float, level: float, over: str = "records"
) -> Value:
    """A share of so many records, or of what is `over` else, with its Wilson interval."""
    from riskweighted.utility.combining_rules import proportion_interval

    return Value(
        measure,
        share,
        interval=proportion_interval(share, count, level=level),
        rule=f"Wilson interval over {over}",
    )


Computation: TypeAlias = "Callable[[Context], float | Iterable[Value]]"


class Estimate(NamedTuple):
    """A value and its Monte Carlo standard error, NaN where it is not known."""

    value: float
    error: float


class Aim(NamedTuple):
    """How a measure is a target of `riskweighted.tune`, and a constraint beside another one.

    ``name``: its short name in study files, where its key is understood too; ``of``: what it is a
    measure of, "risk", "influence" (the largest one of a record) or "information", as it falls
    along the families of weights that lower that, or "disclosure", which no family is sure to
    lower, so that it is a constraint alone; ``measure``: from a fit, the `Subject` whose risk it
    is, a number of draws and a seed to its `Estimate`; ``numeric``: whether it is one of numbers
    alone; ``of_information``: from the information of each record (n,) and the `Subject`, of a
    figure that needs no more of a fit.
    """

    name: str
    label: str
    of: str
    measure: Callable[[Any, Any, int, int], Estimate]
    numeric: bool = False
    of_information: Callable[[np.ndarray, Any], float] | None = None

    @property
    def influence(self) -> bool:
        """Whether it is one of the fit's draws, of which a mode alone says nothing."""
        return self.of != "risk" and self.of_information is None


class Loss(NamedTuple):
    """How a measure is a loss of `riskweighted.tune`.

    ``name``: its short name in study files, where its key is understood too; ``make``: from the
    world and the regression of the settings, or None, to a label and a function of L datasets to
    the `Estimate` of the loss, of which lower is better; ``numeric`` as of `Aim`.
    """

    name: str
    make: Callable[[Any, Any], tuple[str, Callable[[Sequence[Any]], Estimate]]]
    numeric: bool = False


@dataclass(frozen=True, eq=False)
class Measure:
    """A measure says its names, its source and how it may be shown, and computes; packages add
    theirs (docs/own-measure.md).

    They register it under the entry point group ``riskweighted.measures``.

    Attributes
    ----------
    key : str
        Its identifier, in tables and in code.
    label, definition : str
        For people; templates (see the module).
    source : str
        Paper and equation, or section of METHODS.
    direction : str
        What a higher value is; "neither" where nearness to the confidential value counts.
    kind : str
    disclosure : Disclosure or None
        How it may be shown outside the agency; None: no rule, so not at all.
    compute : callable, optional
        From a `Context` to the value, or to `Value` after `Value`. Measures that share a
        computation name the same function, which is called once.
    needs : {"", "fit", "pairs", "data alone"}
        What a label must have beside datasets, so that it is computed: the fit they were drawn
        from, or that it is known which synthetic record stands for which confidential one. "data
        alone": it tells of datasets what a fit tells better, so it is left out where fits are
        given.
    table : {"risk", "utility", "fit"}
        Where it stands.
    each : bool
        Whether it is computed for each synthesized variable (``context.variable``), not once for
        the file.
    order : int
        Lower ones stand first in their table.
    main : int
        Its place among the risks of the main table; 0: not there. Of utility all stand there but
        those with ``many``.
    many : bool
        Whether it gives a row for each level, pair or coefficient.
    parameter : str
        What distinguishes rows of this measure: a number in the column "parameter", or a
        coefficient, a level or another variable in the column "term".
    boundary : str
        What counts at the edge, as a sentence.
    share : float
        The share of the records, at the least, that it is computed from.
    words, symbol : str
        For a page: the label in words where it is a symbol or terse, a template too, and the
        symbol, shown small beside.
    weighted : str
        What weights below 1 do to its interval, as a sentence; none where it has no interval.
    mechanism : bool
        Whether it is of expected risk, that of no datasets in particular.
    unbounded : bool
        Whether it is of log densities, without a bound, where others of its kind lie between 0 and
        1.
    limited, compared : bool
        Whether a threshold may name it; whether the overlap of its intervals is held against
        thresholds.
    adequate : float, optional
        Of a check of a fit, the largest effect that is called adequate.
    aim, loss : Aim or several of them or str, Loss; optional
        How it is a target of `tune`, or why it is none; how it is a loss.

    Examples
    --------
    >>> told = {"source": "our handbook", "direction": "riskier", "kind": "share"}
    >>> rw.Measure(
    ...     "alone", "alone", "share of the records that are alone in their pattern", **told
    ... ).takes(None, None)
    True
    """

    key: str
    label: str
    definition: str
    _: KW_ONLY
    source: str
    direction: Direction
    kind: Kind
    disclosure: Disclosure | None = None
    compute: Computation | None = field(default=None, repr=False)
    needs: Needs = ""
    table: Literal["risk", "utility", "fit"] = "risk"
    each: bool = False
    order: int = 1000
    main: int = 0
    many: bool = False
    parameter: Parameter = ""
    boundary: str = ""
    share: float = 1.0
    words: str = ""
    symbol: str = ""
    weighted: str = ""
    mechanism: bool = False
    unbounded: bool = False
    limited: bool = True
    adequate: float | None = None
    compared: bool = False
    aim: Aim | tuple[Aim, ...] | str | None = field(default=None, repr=False)
    loss: Loss | None = field(default=None, repr=False)

    def is_met(self, context: Context) -> bool:
        """Whether a label has what it needs."""
        return {
            "": True,
            "fit": context.mechanism is not None or (context.of_data and context.subject.expected),
            "pairs": context.paired is not None,
            "data alone": not context.subject.expected,
        }[self.needs]

    @property
    def aims(self) -> tuple[Aim, ...]:
        """How it is a target of `tune`, the first by its key."""
        if isinstance(self.aim, Aim):
            return (self.aim,)
        return () if self.aim is None or isinstance(self.aim, str) else self.aim

    @property
    def of_check(self) -> bool:
        """Whether it is a check of a fit, which is judged by its effect."""
        return self.adequate is not None

    def takes(self, parameter: float | None, term: str | None) -> bool:
        """Whether a row of this measure has just these."""
        named = self.parameter in ("coefficient", "level", "variable")
        return (parameter is not None) == (self.parameter != "" and not named) and (
            term is not None
        ) == named


def values_of(measure: Measure, given: Any, variable: str | None) -> list[Value]:
    """The values that a computation gave: those it made, or its one number of a variable, or of the
    file, as one.
    """
    return [Value(measure, float(given), variable)] if isinstance(given, Real) else list(given)
