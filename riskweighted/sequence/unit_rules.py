"""Rules between members of a unit, ``[units.rules]``: gaps between a member's value and another
one's, steps of a panel, combinations that never are (METHODS section 12.5).

They act as rules of one record do: a value that breaks one is drawn again, given the members before
it. A step leaves nothing to draw but its first value.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_number, check_sequence, check_text
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import as_floats, holds_numbers, require_columns
from riskweighted.common.settings import as_table
from riskweighted.common.units import Arrangement, Units
from riskweighted.sequence.conditions import Condition
from riskweighted.sequence.declared import Chain

__all__ = ["FIRST", "LAST", "PREVIOUS", "Between", "UnitRules", "make_unit_rules"]

FIRST, LAST, PREVIOUS = "first", "last", "previous"
_EXACT = 1e-9  # of a value that goes up by steps
_DIGITS = 8  # after the point: what adding takes off numbers that have fewer
_KINDS = ("gaps", "steps", "forbidden")
_OF_GAP = ("of", "from", "where", "least", "most")
# texts and quoted names, which stay; `who.column`, which becomes a quoted name
_OTHERS = re.compile(
    r"(?P<kept>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`(?!\.))"
    r"|(?:(?P<who>[^\W\d]\w*)|`(?P<quoted>[^`]+)`)\.(?:(?P<name>[^\W\d]\w*)|`(?P<other>[^`]+)`)"
)


class Between:
    """What every rule between members is: of one's own columns, ``own``, and columns of others by
    who they are, ``others``.
    """

    text: str
    own: tuple[str, ...]
    others: Mapping[str, tuple[str, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """Its columns, those of others too."""
        others = [name for names in self.others.values() for name in names]
        return tuple(dict.fromkeys([*self.own, *others]))

    def met(self, frame: pd.DataFrame) -> np.ndarray:
        """Which records (m,) break it, whose frame has others' columns as ``who.column``."""
        raise NotImplementedError

    def broken(
        self, frame: pd.DataFrame, of: Arrangement, last: str | None, rows: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Which members break it, and whose value comes last of those that it looks at, (k,) each:
        of the variable that is drawn last. `rows`: where these are the last alone.
        """
        found = {who: _find(who, of) for who in self.others}
        own = np.flatnonzero(np.all([each >= 0 for each in found.values()], axis=0))
        member = {who: each[own] for who, each in found.items()}
        having = [own] if last is None or last in self.own else []
        having += [member[who] for who, names in self.others.items() if last in names]
        places = np.argmax([of.position[each] for each in having], axis=0)
        latest = np.choose(places, having)
        if rows is not None:
            asked = np.zeros(len(frame), dtype=bool)
            asked[rows] = True
            here = asked[latest]
            own, latest = own[here], latest[here]
            member = {who: each[here] for who, each in member.items()}
        columns = {name: frame[name].array.take(own) for name in self.own}
        for who, names in self.others.items():
            columns |= {f"{who}.{name}": frame[name].array.take(member[who]) for name in names}
        met = self.met(pd.DataFrame(columns)) if len(own) else np.zeros(0, dtype=bool)
        return own[met], latest[met]


@dataclass(frozen=True)
class Gap(Between):
    """A member's amount less that of another one, between ``least`` and ``most``, for members who
    meet ``where``; missing values and ``codes`` pass.
    """

    of: str
    who: str
    least: float
    most: float
    where: Condition | None = None
    codes: tuple[float, ...] = ()

    @property
    def text(self) -> str:  # type: ignore[override]
        """It in words."""
        sides = [f"{self.least:g} <= "] if np.isfinite(self.least) else []
        sides += [f"{self.of} - {self.who}.{self.of}"]
        sides += [f" <= {self.most:g}"] if np.isfinite(self.most) else []
        return "".join(sides) + ("" if self.where is None else f" where {self.where.text}")

    @property
    def own(self) -> tuple[str, ...]:  # type: ignore[override]
        """Its columns of the member itself."""
        asked = () if self.where is None else self.where.names
        return tuple(dict.fromkeys([self.of, *asked]))

    @property
    def others(self) -> Mapping[str, tuple[str, ...]]:  # type: ignore[override]
        """Those of the other one."""
        return {self.who: (self.of,)}

    def met(self, frame: pd.DataFrame) -> np.ndarray:
        amounts = [as_floats(frame[name]) for name in (self.of, f"{self.who}.{self.of}")]
        own, other = (np.where(np.isin(each, self.codes), np.nan, each) for each in amounts)
        gap = own - other
        asked = True if self.where is None else self.where.holds(frame)
        room = _EXACT * np.maximum(np.abs(own), np.abs(other))
        return np.asarray(((gap < self.least - room) | (gap > self.most + room)) & asked)


@dataclass(frozen=True)
class Never(Between):
    """No member meets the condition, in which ``who.column`` is that of another one."""

    text: str
    condition: Condition
    own: tuple[str, ...]
    others: Mapping[str, tuple[str, ...]] = field(hash=False)

    @classmethod
    def parse(cls, text: object, place: str) -> "Never":
        """That of a text."""
        check_text(text, place)
        others = dict[str, list[str]]()

        def quoted(match: re.Match[str]) -> str:
            if match["kept"]:
                return match["kept"]
            who, name = match["who"] or match["quoted"], match["name"] or match["other"]
            others.setdefault(who, []).append(name)
            return f"`{who}.{name}`"

        condition = Condition.parse(_OTHERS.sub(quoted, str(text)), place)
        if not others:
            raise InputError(f"{place} names no other member: say it in synthesizer.forbidden")
        theirs = {f"{who}.{name}" for who, names in others.items() for name in names}
        own = tuple(name for name in condition.names if name not in theirs)
        named = {who: tuple(dict.fromkeys(names)) for who, names in others.items()}
        return cls(f"never {text}", condition, own, named)

    def met(self, frame: pd.DataFrame) -> np.ndarray:
        return self.condition.holds(frame)


@dataclass(frozen=True)
class UnitRules:
    """All rules between members of units, of variables in the order in which they are drawn.

    ``rules``: gaps and combinations; ``steps``: by variable by how much it goes up in a unit of
    time; ``codes`` by variable; ``violations`` as of `Rules`.
    """

    variables: tuple[str, ...]
    rules: tuple[Between, ...] = ()
    steps: Mapping[str, float] = field(default_factory=dict, hash=False)
    codes: Mapping[str, tuple[float, ...]] = field(default_factory=dict, hash=False)
    violations: str = "error"

    def last(self, rule: Between) -> str:
        """The variable at which a rule can be checked, the last of its columns that is drawn."""
        return max(
            (name for name in rule.names if name in self.variables), key=self.variables.index
        )

    def at(self, variable: str) -> tuple[Between, ...]:
        """The rules that can be checked once this variable is drawn, and not before."""
        return tuple(rule for rule in self.rules if self.last(rule) == variable)

    def again(
        self, variable: str, frame: pd.DataFrame, of: Arrangement, rows: np.ndarray, once: bool
    ) -> dict[str, np.ndarray]:
        """By rule which records (k,) of some that were drawn are to be drawn again; `once`: where
        the variable is drawn once a unit, the first members.
        """
        asked = None if once else rows
        latest = {
            rule.text: rule.broken(frame, of, variable, asked)[1] for rule in self.at(variable)
        }
        return {text: np.unique(of.first[at] if once else at) for text, at in latest.items()}

    def stepped(self, variable: str, first: np.ndarray, of: Arrangement) -> np.ndarray:
        """The numbers (n,) of a variable by those of the first members: with its steps, or the
        same.
        """
        if variable not in self.steps or of.times is None:
            return first
        since = self.steps[variable] * (of.times - of.times[of.first])
        later = np.round(first + since, _DIGITS)
        return np.where(np.isin(first, self.codes.get(variable, ())), first, later)

    def broken_units(
        self, frame: pd.DataFrame, of: Arrangement
    ) -> dict[tuple[str, str], np.ndarray]:
        """By rule, in words and with the variable at which it is checked, the units that break it,
        where any does.
        """
        found = dict[tuple[str, str], np.ndarray]()
        for rule in self.rules:
            own = rule.broken(frame, of, None, None)[0]
            found[rule.text, self.last(rule)] = np.unique(of.unit[own])
        for name, step in self.steps.items():
            values = as_floats(frame[name])
            due = self.stepped(name, values[of.first], of)
            off = ~np.isclose(values, due, rtol=_EXACT, atol=_EXACT, equal_nan=True)
            found[f"{name} goes up by {step:g} per time", name] = np.unique(of.unit[off])
        return {told: units for told, units in found.items() if len(units)}

    def check(self, confidential: pd.DataFrame, of: Arrangement) -> None:
        """Refuse data in which units break a rule, with their number, unless such units are to be
        left out of the likelihood.
        """
        broken = self.broken_units(confidential, of)
        if broken and self.violations == "error":
            counts = ", ".join(
                f"{len(units)} break {text!r}" for (text, _), units in broken.items()
            )
            raise InputError(
                f"of {len(of.sizes)} units of the confidential data, {counts} (units.rules): "
                "correct rules or data, or say synthesizer.violations = 'exclude'"
            )

    def left_out(self, confidential: pd.DataFrame, of: Arrangement, variable: str) -> np.ndarray:
        """Which records' likelihood of the variable is left out, (n,): all of a unit that breaks a
        rule of it.
        """
        found = self.broken_units(confidential, of).items()
        units = [units for (_, name), units in found if name == variable]
        return np.isin(of.unit, np.concatenate([*units, np.empty(0)]))


def make_unit_rules(
    units: Units, chain: Chain, confidential: pd.DataFrame, of: Arrangement
) -> UnitRules:
    """The rules that units state, for a chain; refuses what no draw could obey, and who is no
    member.
    """
    place = "units.rules"
    given = _known(units.rules, place, _KINDS)
    gaps = check_sequence(given.get("gaps", ()), f"{place}.gaps")
    texts = check_sequence(given.get("forbidden", ()), f"{place}.forbidden")
    rules: list[Between] = [_gap(gap, f"{place}.gaps[{k}]", chain) for k, gap in enumerate(gaps)]
    rules += [Never.parse(text, f"{place}.forbidden[{k}]") for k, text in enumerate(texts)]
    steps = dict(as_table(given.get("steps", {}), f"{place}.steps"))
    for name, step in steps.items():
        check_number(step, f"{place}.steps.{name}")
    made = UnitRules(
        tuple(chain.variables), tuple(rules), steps, chain.codes, chain.rules.violations
    )
    named = [*steps, *(name for rule in rules for name in rule.names)]
    require_columns(confidential, list(dict.fromkeys(named)), f"confidential data ({place})")
    for name in steps:
        if (
            units.time is None
            or name not in chain.variables
            or name in units.unit_level
            or not holds_numbers(confidential[name])
        ):
            raise InputError(
                f"{place}.steps names {name!r}; valid are synthesized numbers of units with a time "
                "that are not of unit_level"
            )
    for rule in rules:
        _check_rule(rule, units, of, chain.variables, confidential)
    return made


def _known(table: object, place: str, valid: Sequence[str]) -> Mapping[str, Any]:
    """A table of these settings alone."""
    given = as_table(table, place)
    if unknown := [name for name in given if name not in valid]:
        raise InputError(f"unknown setting '{place}.{unknown[0]}'; valid here are {listing(valid)}")
    return given


def _gap(table: object, place: str, chain: Chain) -> Gap:
    given = _known(table, place, _OF_GAP)
    for name in ("of", "from"):
        check_text(given.get(name), f"{place}.{name}")
    ends = {"least": -np.inf, "most": np.inf}
    for name in [name for name in ends if name in given]:
        ends[name] = check_number(given[name], f"{place}.{name}")
    if not ends["least"] < ends["most"] or not np.isfinite([*ends.values()]).any():
        raise InputError(f"{place} must have least, most, or least below most")
    where = given.get("where")
    return Gap(
        str(given["of"]),
        str(given["from"]),
        ends["least"],
        ends["most"],
        None if where is None else Condition.parse(where, f"{place}.where"),
        tuple(chain.codes.get(str(given["of"]), ())),
    )


def _check_rule(
    rule: Between,
    units: Units,
    of: Arrangement,
    variables: Sequence[str],
    confidential: pd.DataFrame,
) -> None:
    """Refuse a rule that no draw could obey, of a member who is none, or who stands in a random
    order.
    """
    place = f"units.rules: {rule.text!r}"
    if not any(name in variables for name in rule.names):
        raise InputError(
            f"{place} names no synthesized variable, only {listing(rule.names)}: leave it out"
        )
    if isinstance(rule, Gap) and not holds_numbers(confidential[rule.of]):
        raise InputError(f"{place}: {rule.of!r} holds no numbers")
    single = [str(of.roles[role]) for role in range(len(of.roles)) if of.alone_in_role(role)]
    single = single if units.role is not None else []
    for who in rule.others:
        if who not in (FIRST, LAST, PREVIOUS, *single):
            raise InputError(
                f"{place} names {who!r}; valid are {FIRST}, {LAST}, {PREVIOUS} (of the same role) "
                f"and roles that no unit holds twice ({listing(single) or 'none'})"
            )
        if of.ties and (who in (LAST, PREVIOUS) or (who == FIRST and not single)):
            raise InputError(
                f"{place}: {of.ties} records are in a random order within their unit, so that "
                f"nobody is {who!r}: name order, or time"
            )


def _find(who: str, of: Arrangement) -> np.ndarray:
    """The other member of each record's unit, (n,); -1 where there is none, or it is itself."""
    if who == LAST:
        return of.previous
    if who == PREVIOUS:
        return of.previous_alike
    if who == FIRST:
        return np.where(of.position == 0, -1, of.first)
    role = next((k for k, level in enumerate(of.roles) if str(level) == who), -1)
    return of.holder(role, earlier=False)
