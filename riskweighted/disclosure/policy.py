"""When a release gives away too much: limits of an agency's board, and the verdict (METHODS section 13)."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import pandas as pd

from riskweighted.common.checks import check_number, check_text
from riskweighted.common.errors import InputError, listing
from riskweighted.common.settings import read_by

__all__ = [
    "ALIGNED",
    "NOT_JUDGED",
    "NOT_SHOWN",
    "NOT_SHOWN_WORD",
    "PASS",
    "REFUSE",
    "SHUFFLED",
    "TOO_FEW",
    "WARN",
    "Broken",
    "DisclosureSettings",
    "DisclosureVerdict",
    "judge",
]

_READ = read_by(why="the verdict is read off finished tables")
SHUFFLED, ALIGNED = "shuffled", "aligned"  # how rows leave
PASS, WARN, REFUSE, NOT_JUDGED = "pass", "warn", "refuse", "not judged"
NOT_SHOWN_WORD = "not shown"  # of a release of which nothing bad was found, but not that it keeps to the limits either
NOT_SHOWN, TOO_FEW = "not shown to be small", "records cannot show that it is small"
_NET, _UNKNOWN = "named", "not_judged"
_OUTSIDE = {  # what a broken rule comes to, by its limit alone: figures and names of patterns stay inside
    "mean": "mean disclosure beyond inference is not shown to be at most {:g}",
    "isolated": "disclosure of isolated records is not shown to be at most {:g}",
    "largest": "the largest disclosure of one copy is above {:g}",
    "own_value": "the own value is among the copies of more records than chance gives, by more than {:g} of them",
    _NET: "records are named beyond chance, more than {:g} of them",
    "group": "disclosure of a group of records is above {:g}",
    "warn_mean": "mean disclosure beyond inference is above {:g}",
    "warn_isolated": "disclosure of isolated records is above {:g}",
    "warn_largest": "the largest disclosure of one copy is above {:g}",
    "copied": "values of persons stand in the datasets that do not stand there without these persons",
    "warn_copied": "values of persons seem to stand in the datasets that do not stand there without these persons",
    _UNKNOWN: "what the datasets give away is not judged",
}


@dataclass(frozen=True, kw_only=True)
class DisclosureSettings:
    """Limits of what a release may give away beyond inference: a board's policy, not estimates.

    Refused is a release where the upper 95 % limit of mean D, never below the exact binomial one, lies above ``mean`` or that of isolated
    records above ``isolated``, the largest D of one copy of an own fit above ``largest``, the share of records whose own value is among
    their copies exceeds the same without them by ``own_value``, records named less those named in reverse are more than ``named`` and more
    than ``named_share`` of those named, or D of some released pattern or declared group lies above ``group``, corrected for the number of
    groups. Warned of is mean D above ``warn_mean``, of isolated records above ``warn_isolated``, the largest above ``warn_largest``.

    ``accept``: a rule by name and the reason why the board lets it be broken, which stands on the sign-off sheet; a limit that is not
    the default needs one as well. Mean D of files that do not leave, aligned ones as a rule, is held against the limits by its lower limit.

    Examples
    --------
    >>> rw.DisclosureSettings(mean=0.03, accept={"mean": "agreed by the board"}).mean
    0.03
    """

    mean: float = field(default=0.02, metadata=_READ)
    isolated: float = field(default=0.05, metadata=_READ)
    largest: float = field(default=0.20, metadata=_READ)
    own_value: float = field(default=0.05, metadata=_READ)
    named: float = field(default=3, metadata=_READ)
    named_share: float = field(default=0.05, metadata=_READ)
    group: float = field(default=0.05, metadata=_READ)
    warn_mean: float = field(default=0.005, metadata=_READ)
    warn_isolated: float = field(default=0.02, metadata=_READ)
    warn_largest: float = field(default=0.05, metadata=_READ)
    accept: Mapping[str, str] = field(default_factory=dict, hash=False, metadata=_READ)

    def __post_init__(self) -> None:
        limits = [limit.name for limit in fields(self) if limit.name != "accept"]
        for name in limits:
            check_number(getattr(self, name), f"release.disclosure.{name}", least=0)
        if not isinstance(self.accept, Mapping):
            raise InputError('release.disclosure.accept must be a table of reasons by rule, such as mean = "reason"')
        strange = [name for name in self.accept if name not in (*limits, _UNKNOWN)]
        if strange:
            raise InputError(f"release.disclosure.accept names {listing(strange)}; valid are {listing([*limits, _UNKNOWN])}")
        for name, reason in self.accept.items():
            check_text(reason, f"release.disclosure.accept.{name}")
            if not reason.strip():
                raise InputError(f"release.disclosure.accept.{name} must say the reason")
        object.__setattr__(self, "accept", dict(self.accept))
        unexplained = [f.name for f in fields(self) if f.name in limits and getattr(self, f.name) > float(str(f.default))]
        unexplained = [name for name in unexplained if name not in self.accept]
        if unexplained:
            raise InputError(f"release.disclosure: {listing(unexplained)} above the default needs a reason under accept")


class DisclosureVerdict(NamedTuple):
    """``verdict``: "pass", "warn", "refuse" or "not judged"; ``reasons``: what was broken; ``accepted``: what, and why it may be;
    ``outside``: both as they may be said outside, with limits and without figures."""

    verdict: str
    reasons: tuple[str, ...]
    accepted: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()


class Broken(NamedTuple):
    """What a release breaks: ``rule``, a key of `_OUTSIDE`; ``text``, with figures, for the inside."""

    rule: str
    text: str
    warning: bool = False


def judge(table: pd.DataFrame, settings: DisclosureSettings | None = None) -> DisclosureVerdict:
    """Return the verdict on what `riskweighted.attribution` gives: of a release as it leaves, shuffled, and of aligned files.

    "not judged" is no pass: nobody knows what the release gives away.
    """
    settings = settings or DisclosureSettings()
    untold = table.attrs.get("not_judged", ())
    if len(untold) or not len(table) or table.loc[table["group"] == "all", "D"].isna().any():
        reasons = tuple(untold) or ("what the release would be without a record is not known",)
        if _UNKNOWN in settings.accept:
            why = settings.accept[_UNKNOWN]
            return DisclosureVerdict(WARN, (), (f"not judged, {'; '.join(reasons)}: {why}",), (_accepted(_UNKNOWN, settings),))
        return DisclosureVerdict(NOT_JUDGED, reasons, (), (_OUTSIDE[_UNKNOWN],))
    broken = list(_broken(table, settings))
    taken = [one for one in broken if one.rule in settings.accept]
    accepted = tuple(f"{one.text}: {settings.accept[one.rule]}" for one in taken)
    left = [one for one in broken if one.rule not in settings.accept]
    left = [one for one in left if not one.warning] or left
    said = dict.fromkeys(_said(one.rule, settings) for one in left)
    outside = (*said, *dict.fromkeys(_accepted(one.rule, settings) for one in taken))
    word = (WARN if left[0].warning else REFUSE) if left else WARN if taken else PASS
    return DisclosureVerdict(word, tuple(one.text for one in left), accepted, outside)


def _said(rule: str, settings: DisclosureSettings) -> str:
    """A broken rule as it may be said outside."""
    return _OUTSIDE[rule].format(getattr(settings, rule, ""))


def _accepted(rule: str, settings: DisclosureSettings) -> str:
    return f"{_said(rule, settings)}, accepted: {settings.accept[rule]}"


def _broken(table: pd.DataFrame, settings: DisclosureSettings) -> Iterator[Broken]:
    leaves = table.attrs.get("leaves", SHUFFLED)
    yield from table.attrs.get("broken", ())
    for _, row in table[table["group"].isin(["all", "isolated"])].iterrows():
        of = f"{row['release']}, {row['variables']}"
        if row["group"] == "isolated":
            yield from _of_mean(row, "isolated", f"isolated records ({of})", settings, leaves)
        else:
            yield from _of_mean(row, "mean", of, settings, leaves)
            yield from _of_persons(row, of, settings)
    for worst in table.attrs.get("worst_groups", ()):
        if worst["lower"] > settings.group:
            text = f"D of a {worst['of']} is {worst['D']:.3f}, above {settings.group:g} beyond chance ({worst['release']})"
            yield Broken("group", text)


def _of_mean(row: "pd.Series[Any]", rule: str, of: str, settings: DisclosureSettings, leaves: str) -> Iterator[Broken]:
    limit, warned = getattr(settings, rule), getattr(settings, f"warn_{rule}")
    if row["release"] != leaves:  # here it must be shown to be large
        row = row.copy()
        row["D"] = row["upper"] = 2 * row["D"] - row["upper"]
    if math.isnan(row["upper"]) and row["records"]:
        yield Broken(rule, f"mean D of {of}: too few records for an error")
    elif row["upper"] > limit:
        if row["release"] != leaves:
            yield Broken(rule, f"mean D of {of} is at least {row['D']:.3f}, above {limit:g}")
            return
        advice = "" if row["D"] > limit else f": {NOT_SHOWN}, draw more packs or folds"
        if advice and 1 - 0.05 ** (1 / max(row["records"], 1)) > limit:
            advice = f": {row['records']} {TOO_FEW}"
        yield Broken(rule, f"mean D of {of} is {row['D']:.3f}, upper limit {row['upper']:.3f} above {limit:g}{advice}")
    elif row["D"] > warned:
        yield Broken(f"warn_{rule}", f"mean D of {of} is {row['D']:.3f}, above {warned:g}", warning=True)


def _of_persons(row: "pd.Series[Any]", of: str, settings: DisclosureSettings) -> Iterator[Broken]:
    if row["largest_D"] > settings.largest:
        yield Broken("largest", f"the largest D of one copy ({of}) is {row['largest_D']:.3f}, above {settings.largest:g}")
    elif row["largest_D"] > settings.warn_largest:
        yield Broken("warn_largest", f"the largest D of one copy ({of}) is {row['largest_D']:.3f}, above {settings.warn_largest:g}", True)
    beyond = row["own_value_with"] - row["own_value_out"]
    if beyond > settings.own_value:
        yield Broken("own_value", f"the own value is among the copies of {beyond:.3f} more of the records than without it ({of})")
    net = row["named"] - row["reversed"]
    if net > max(settings.named, settings.named_share * row["named"]):
        yield Broken(_NET, f"records are named beyond chance, {net:.3g} more than in reverse ({of})")
