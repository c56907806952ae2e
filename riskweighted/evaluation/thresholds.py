"""What an agency asks of a release: limits of the registry's measures, from a study or from a
policy that several studies share.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from riskweighted.common.checks import check_path, check_text, is_number, real_path
from riskweighted.common.errors import InputError, listing
from riskweighted.common.replaced import refuse_replaced
from riskweighted.common.settings import as_table, read_toml
from riskweighted.evaluation.measure_rows import Statistic
from riskweighted.measures.measure import Measure
from riskweighted.measures.registry import measures

__all__ = ["EXAMPLE", "Limit", "Thresholds"]

EXAMPLE = "example"  # the policy that comes with the package
_SIDES = ("at_most", "at_least")
_NAME = re.compile(r"(?P<key>[a-z0-9-]+)(\((?P<which>.+)\))?")
# by what a higher value is
_MOST, _LEAST = ("riskier", "less useful", "worse"), ("safer", "more useful", "better")


@dataclass(frozen=True)
class Limit:
    """A limit of one measure, `at_most` or `at_least` or both; either end is allowed.

    ``which``: the parameter (a threshold, quantile or rise), term or variable that is meant; all of
    the measure without it.
    """

    key: str
    which: str | None = None
    at_most: float | None = None
    at_least: float | None = None

    def __post_init__(self) -> None:
        measure = measures().get(self.key)
        if measure is not None and not measure.limited:
            raise InputError(f"{self.key!r} is judged of every run: no threshold is needed")
        if measure is None:
            refuse_replaced("measure", self.key)
            raise InputError(f"{self.key!r} is no measure; valid are {listing(_limited())}")
        given = self.to_table()
        for name, value in given.items():
            if not is_number(value):
                raise InputError(f"{name} of {self.name!r} must be a number, got {value!r}")
        if not given:
            raise InputError(f"{self.name!r} needs at_most or at_least")
        if len(given) == 2 and self.at_least > self.at_most:  # type: ignore[operator]
            raise InputError(
                f"at_least of {self.name!r} must not exceed at_most, got {self.at_least!r} and "
                f"{self.at_most!r}"
            )

    @classmethod
    def read(cls, name: str, value: object) -> "Limit":
        """From a file: ``measure = 0.05`` or ``"measure(which)" = {at_most = 0.05}``; a bare number
        is a limit on the harmful side.
        """
        match = _NAME.fullmatch(name)
        if match is None:
            raise InputError(f"{name!r} is no measure; valid are {listing(_limited())}")
        key, which = match["key"], match["which"]
        if isinstance(value, Mapping):
            unknown = [side for side in value if side not in _SIDES]
            if unknown:
                raise InputError(f"{name!r} takes {listing(_SIDES)}, got {listing(unknown)}")
            return cls(key, which, **value)
        side = _side(measures().get(key))
        if side is None:
            raise InputError(
                f"{name!r} has no harmful side: give a table, such as {{at_least = 0, at_most = 1}}"
            )
        return cls(key, which, **{side: value})  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        """As it stands in a file."""
        return self.key if self.which is None else f"{self.key}({self.which})"

    @property
    def of_cost(self) -> bool:
        """Whether it limits what a release costs in utility; a check of a fit finds gross faults
        only.
        """
        return measures()[self.key].table == "utility"

    @property
    def of_check(self) -> bool:
        """Whether it limits the effect of a check of a fit."""
        return measures()[self.key].of_check

    def takes(self, statistic: Statistic) -> bool:
        """Whether it limits this statistic."""
        if statistic.unregistered is not None or statistic.key != self.key:
            return False
        return self.which is None or self.which in _named(statistic)

    def passes(self, value: float) -> bool:
        """Whether a value keeps to it."""
        return (self.at_most is None or value <= self.at_most) and (
            self.at_least is None or value >= self.at_least
        )

    def to_table(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in _SIDES if getattr(self, name) is not None}


def _named(statistic: Statistic) -> list[str]:
    """What tells a statistic from others of its measure, as text."""
    parameter = [] if statistic.parameter is None else [f"{statistic.parameter:g}"]
    return [
        *parameter,
        *(str(name) for name in (statistic.variable, statistic.term) if name is not None),
    ]


def _limited() -> list[str]:
    """The keys that a threshold may name."""
    return [key for key, measure in measures().items() if measure.limited]


def _side(measure: Measure | None) -> str | None:
    """Which side of a measure harms: of a check of a fit its effect, whichever way the statistic
    runs.
    """
    if measure is None or measure.of_check or measure.direction in _MOST:
        return "at_most"  # of no measure: that it is none is said when the limit is made
    return "at_least" if measure.direction in _LEAST else None


@dataclass(frozen=True)
class Thresholds:
    """The section ``[thresholds]`` of a study: limits by measure, and in words who set them, or the
    name of the policy's file.

    A file may name a ``policy`` (a file of the same form, relative to the study file, or "example",
    the one that comes with the package), which is read by `with_policy`; a limit of the study's own
    stands instead of the policy's limit of the same name.
    """

    limits: tuple[Limit, ...] = ()
    source: str | None = None
    policy: str | None = None

    def __post_init__(self) -> None:
        check_text(self.source, "source", optional=True)
        check_text(self.policy, "policy", optional=True)

    def __bool__(self) -> bool:
        return bool(self.limits)

    @property
    def limit_cost(self) -> bool:
        """Whether any of them limits what a release costs in utility."""
        return any(limit.of_cost for limit in self.limits)

    @classmethod
    def from_table(cls, table: object, place: str) -> "Thresholds":
        """The section of a file; measures by their keys."""
        given = dict(as_table(table, place))
        source, policy = given.pop("source", None), given.pop("policy", None)
        try:
            read = cls(
                tuple(Limit.read(name, value) for name, value in given.items()), source, policy
            )
            return read.with_policy(None) if policy == EXAMPLE else read
        except InputError as error:
            raise InputError(f"setting '{place}': {error}") from None

    def with_policy(self, folder: Path | None) -> "Thresholds":
        """With the limits of the policy that is still to be read, its path relative to `folder`."""
        if self.policy is None:
            return self
        if self.policy == EXAMPLE:
            path = Path(str(files("riskweighted.evaluation") / "example_policy.toml"))
        else:
            named = check_path(self.policy, "policy")
            path = named if folder is None else real_path(folder / named)
        theirs = Thresholds.from_table(read_toml(path, "policy"), path.name)
        if theirs.policy is not None:
            raise InputError(f"the policy {path.name!r} names another policy; name one file only")
        replaced = {limit.name for limit in self.limits}
        kept = tuple(limit for limit in theirs.limits if limit.name not in replaced)
        return Thresholds((*kept, *self.limits), self.source or theirs.source or path.name)

    def to_table(self) -> dict[str, Any]:
        """As it stands in a file, every limit in full; a policy that was read is not named
        again.
        """
        told = {
            name: value
            for name, value in (("source", self.source), ("policy", self.policy))
            if value is not None
        }
        return {**told, **{limit.name: limit.to_table() for limit in self.limits}}
