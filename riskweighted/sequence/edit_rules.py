"""Rules that records of a file obey: structural values, orders, forbidden combinations,
implications, sums (METHODS section 12).

What rules leave a variable is decided before it is drawn where they tell it by statuses and levels;
otherwise a rule acts on draws by truncation: a value that breaks it is drawn again, never moved.
The confidential data are held to the same rules.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_choice, check_names, check_sequence, is_number
from riskweighted.common.errors import InputError, listing
from riskweighted.sequence.conditions import Condition, shown
from riskweighted.sequence.edit_rule_kinds import Forbidden, Implied, Order, Rule, Structure, Sum
from riskweighted.sequence.implications import is_decided

__all__ = ["VIOLATIONS", "Rules", "Structure", "any_broken"]

VIOLATIONS = ("error", "exclude")


@dataclass(frozen=True)
class Rules:
    """All rules of a chain of synthesized variables, which are given in the order in which they are
    drawn.

    ``order``: pairs of columns, the first at most the second where both are amounts; ``forbidden``:
    conditions that no record meets; ``implied``: pairs of conditions, of which the second is met
    wherever the first is; ``sums``: columns of which the first is the sum of the others where all
    are amounts; ``structures``: at most one a variable; ``codes``: special codes by variable, which
    pass every order and, but for 0, every sum; ``violations``: whether confidential records that
    break a rule are refused ("error"), or left out of the likelihood of the variable at which the
    rule is checked ("exclude"); ``place``: dotted name of the section, for errors. InputError
    where a setting has another form, a rule names no synthesized variable, orders lead in a circle,
    or an `applies_if` names its own variable or one that is drawn later.
    """

    variables: Sequence[str]
    order: Sequence[Sequence[str]] = ()
    forbidden: Sequence[str] = ()
    structures: Sequence[Structure] = ()
    codes: Mapping[str, Sequence[float]] = field(default_factory=dict, hash=False)
    violations: str = "error"
    place: str = field(default="synthesizer", compare=False)
    implied: Sequence[Sequence[str]] = ()
    sums: Sequence[Sequence[str]] = ()
    rules: tuple[Rule, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_choice(self.violations, VIOLATIONS, f"{self.place}.violations")
        texts = check_sequence(self.forbidden, f"{self.place}.forbidden")
        forbidden = [
            Forbidden(Condition(text, f"{self.place}.forbidden[{k}]"))  # type: ignore[arg-type]
            for k, text in enumerate(texts)
        ]
        pairs = _pairs(self.order, f"{self.place}.order")
        codes = {name: _numbers(values, name) for name, values in self.codes.items()}
        orders = [
            Order(*pair, (codes.get(pair[0], ()), codes.get(pair[1], ())), f"{self.place}.order")
            for pair in pairs
        ]
        variables = check_names(self.variables, f"{self.place}.synthetic")
        for name, value in (
            ("variables", variables),
            ("order", pairs),
            ("forbidden", texts),
            ("codes", codes),
        ):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "structures", tuple(self.structures))
        implied = [
            Implied(*conditions, f"{self.place}.implied[{k}]")
            for k, conditions in enumerate(self._conditions())
        ]
        apart = {
            name: tuple(code for code in values if code != 0) for name, values in codes.items()
        }
        sums = [
            Sum(
                names[0],
                names[1:],
                tuple(apart.get(name, ()) for name in names),
                f"{self.place}.sums",
            )
            for names in self._sums()
        ]
        object.__setattr__(self, "rules", (*self.structures, *orders, *forbidden, *implied, *sums))
        self._check_circles()
        self._check_variables()
        self._check_sums()

    def at(self, variable: str) -> tuple[Rule, ...]:
        """The rules that can be checked once this variable is drawn, and not before: it is the last
        of theirs.
        """
        return tuple(rule for rule in self.rules if self._last(rule) == variable)

    def decided(self, variable: str, numbers: bool) -> tuple[Rule, ...]:
        """Those of its rules that are obeyed by what is decided before it is drawn; `numbers`:
        whether it holds any.
        """
        return tuple(
            rule
            for rule in self.at(variable)
            if is_decided(rule, variable, self.codes.get(variable, ()), numbers)
        )

    def redrawn(self, variable: str, numbers: bool) -> tuple[Rule, ...]:
        """The others, which a draw may break."""
        return tuple(
            rule
            for rule in self.at(variable)
            if not is_decided(rule, variable, self.codes.get(variable, ()), numbers)
        )

    def total(self, variable: str) -> Sum | None:
        """The sum that a variable is computed by, since it is the last of its columns that is
        drawn.
        """
        return next((rule for rule in self.at(variable) if isinstance(rule, Sum)), None)

    def structure(self, variable: str) -> Structure | None:
        """The structural rule of a variable, if it has one."""
        return next(
            (structure for structure in self.structures if structure.variable == variable), None
        )

    def broken_by(self, frame: pd.DataFrame, variable: str) -> np.ndarray:
        """Which records break a rule that can be checked once the variable is drawn, bool (n,)."""
        return any_broken(self.at(variable), frame)

    def left_out(self, confidential: pd.DataFrame, variable: str) -> np.ndarray:
        """Which records' likelihood of the variable is left out, bool (n,): under "exclude" those
        that break a rule of it.
        """
        return any_broken(self.at(variable) if self.violations == "exclude" else (), confidential)

    def check(self, confidential: pd.DataFrame) -> None:
        """Hold the settings to the data: names, kinds of values, texts that no record has;
        InputError at the first that does not fit.
        """
        for rule in self.rules:
            unknown = [name for name in rule.names if name not in confidential.columns]
            if unknown:
                raise InputError(
                    f"{rule.place} names {listing(unknown)}, no column of the data; valid are "
                    f"{listing(confidential.columns)}"
                )
            for name, text in (
                pair
                for condition in _conditions_of(rule)
                for pair in condition.unknown_texts(confidential)
            ):
                raise InputError(
                    f"{rule.place} compares {name!r} with {shown(text)}, which is a value of no "
                    "record; is it misspelt?"
                )
            rule.broken(confidential)

    def broken(self, frame: pd.DataFrame) -> tuple[tuple[str, int], ...]:
        """The rules that records break, each in words and with their number."""
        counted = ((rule.text, int(rule.broken(frame).sum())) for rule in self.rules)
        return tuple((text, count) for text, count in counted if count)

    def refuse_broken(self, confidential: pd.DataFrame) -> None:
        """Refuse confidential data that break a rule, with the number of records for each, unless
        such records are to be left out.
        """
        broken = self.broken(confidential)
        if broken and self.violations == "error":
            raise InputError(
                f"of {len(confidential)} confidential records, {_counts(broken)}; correct the "
                "rules or the data, or leave these records "
                f"out of the variables concerned with {self.place}.violations = 'exclude'"
            )

    def unmet(self, frame: pd.DataFrame, variable: str, rounds: int) -> InputError:
        """The error of draws that still break rules of the variable after so many rounds; raise
        it.
        """
        broken = [(rule.text, int(rule.broken(frame).sum())) for rule in self.at(variable)]
        return InputError(
            f"after {rounds} rounds of draws of {variable!r}, "
            f"{_counts(pair for pair in broken if pair[1])} of {len(frame)} records: "
            "the rule restricts the model too much there; loosen it, or give the variable "
            "bounds or predictors that reflect it"
        )

    def _conditions(self) -> Iterator[tuple[Condition, Condition]]:
        """The two conditions of every implication."""
        for k, pair in enumerate(check_sequence(self.implied, f"{self.place}.implied")):
            texts = check_sequence(pair, f"each pair of {self.place}.implied")
            place = f"{self.place}.implied[{k}]"
            if len(texts) != 2:
                raise InputError(
                    f"{place} must hold two conditions, the second of which follows from the "
                    f"first, got {len(texts)}"
                )
            yield Condition(texts[0], place), Condition(texts[1], place)  # type: ignore[arg-type]  # checked there

    def _sums(self) -> Iterator[tuple[str, ...]]:
        """The columns of every sum, the total first."""
        for names in check_sequence(self.sums, f"{self.place}.sums"):
            told = check_names(names, f"each list of {self.place}.sums")
            if len(told) < 2:
                raise InputError(
                    f"{self.place}.sums must hold lists of a total and its parts, such as "
                    "['total', 'rent', 'heating']"
                )
            yield told

    def _check_sums(self) -> None:
        """At most one sum is computed at a variable."""
        computed = [self._last(rule) for rule in self.rules if isinstance(rule, Sum)]
        twice = [name for name in dict.fromkeys(computed) if computed.count(name) > 1]
        if twice:
            raise InputError(
                f"{self.place}.sums: {listing(twice)} would be computed by two sums; leave one "
                "out, or change the order of 'synthetic'"
            )

    def _last(self, rule: Rule) -> str:
        return max(
            (name for name in rule.names if name in self.variables), key=self.variables.index
        )

    def _check_circles(self) -> None:
        """No two structural rules look at each other's variable, and no order holds both ways."""
        looks = {
            rule.variable: set(rule.applies_if.names) - {rule.variable} for rule in self.structures
        }
        circle = _circle(looks)
        if circle:
            raise InputError(
                f"{self.place}: rules of {listing(circle)} refer to each other; a rule may look "
                "at earlier variables only"
            )
        below: dict[str, set[str]] = {}
        for low, high in self.order:
            below.setdefault(low, set()).add(high)
        circle = _circle(below)
        if circle:
            raise InputError(
                f"{self.place}.order: {listing(circle)} refer to each other in a circle, which "
                "only equal values obey"
            )

    def _check_variables(self) -> None:
        """Every rule has a variable at which it is checked, and a structural one all its columns by
        then.
        """
        for rule in self.rules:
            if not any(name in self.variables for name in rule.names):
                raise InputError(
                    f"{rule.place} names no synthesized variable, only {listing(rule.names)}, "
                    "which stay as they are: "
                    f"no draw can obey it; synthesized are {listing(self.variables)}"
                )
        seen: set[str] = set()
        for structure in self.structures:
            name, place = structure.variable, structure.place
            if name not in self.variables:
                raise InputError(
                    f"{place} is of {name!r}, which is not synthesized; synthesized are "
                    f"{listing(self.variables)}"
                )
            if name in seen:
                raise InputError(
                    f"{place} is a second structural rule of {name!r}; join the conditions by and"
                )
            seen.add(name)
            if name in structure.applies_if.names:
                raise InputError(
                    f"{place}.applies_if names {name!r} itself; it may name earlier variables and "
                    "columns that are not synthesized"
                )
            later = [
                other
                for other in structure.applies_if.names
                if other in self.variables[self.variables.index(name) :]
            ]
            if later:
                raise InputError(
                    f"{place}.applies_if names {listing(later)}, drawn after {name!r}; put them "
                    "before it in 'synthetic'"
                )


def _conditions_of(rule: Rule) -> tuple[Condition, ...]:
    """The conditions that a rule states."""
    if isinstance(rule, Implied):
        return rule.conditions
    return (
        (rule.applies_if,)
        if isinstance(rule, Structure)
        else (rule.condition,)
        if isinstance(rule, Forbidden)
        else ()
    )


def _pairs(order: object, place: str) -> tuple[tuple[str, str], ...]:
    pairs = []
    for pair in check_sequence(order, place):
        names = check_sequence(pair, f"each pair of {place}")
        if (
            len(names) != 2
            or not all(isinstance(name, str) for name in names)
            or names[0] == names[1]
        ):
            raise InputError(
                f"{place} must hold pairs of two different columns, such as ['start', 'end']"
            )
        pairs.append((str(names[0]), str(names[1])))
    return tuple(pairs)


def _numbers(values: Sequence[float], name: str) -> tuple[float, ...]:
    codes = check_sequence(values, f"codes of {name!r}")
    if not all(is_number(code) for code in codes):
        raise InputError(
            f"codes of {name!r} must be numbers, got "
            f"{listing(type(code).__name__ for code in codes)}"
        )
    return tuple(float(code) for code in codes)  # type: ignore[arg-type]


def _circle(arrows: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Names along a circle of arrows; empty where there is none."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return tuple(error.args[1][:-1])
    return ()


def any_broken(rules: Sequence[Rule], frame: pd.DataFrame) -> np.ndarray:
    """Which records break one of some rules, bool (n,)."""
    broken = np.zeros(len(frame), dtype=bool)
    for rule in rules:
        broken |= rule.broken(frame)
    return broken


def _counts(broken: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{count} break the rule {shown(text)}" for text, count in broken)
