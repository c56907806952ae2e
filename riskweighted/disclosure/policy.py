"""When a release gives away too much: limits of an agency's board, and the verdict (METHODS section
13.1).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import pandas as pd

from riskweighted.common.checks import check_number, check_text
from riskweighted.common.errors import InputError, listing
from riskweighted.common.settings import read_by

__all__ = [
    "ALIGNED",
    "COPIES",
    "EARLIER",
    "INSIDE",
    "NOT_JUDGED",
    "NOT_JUDGED_RULE",
    "NOT_SHOWN",
    "PASS",
    "REFUSE",
    "SHUFFLED",
    "WARN",
    "Broken",
    "Concerned",
    "DisclosureSettings",
    "DisclosureVerdict",
    "is_undecided",
    "judge",
    "unshown_by_bound",
]

_LEVEL = 0.05  # one-sided, of all looks of a first run
_READ = read_by(why="the verdict is read off finished tables")
SHUFFLED, ALIGNED = "shuffled", "aligned"  # how rows leave
# who knows others' values of a unit: a member, or whoever knows the earlier waves of a panel
INSIDE, EARLIER = "inside", "earlier"
PASS, WARN, NOT_SHOWN, NOT_JUDGED, REFUSE = "pass", "warn", "not shown", "not judged", "refuse"
_NET, NOT_JUDGED_RULE, _UNSHOWN, COPIES = "max_identified", "not_judged", "not_shown", "copies"
_WORDS = {NOT_JUDGED_RULE: NOT_JUDGED, _UNSHOWN: NOT_SHOWN}  # of broken rules that refuse nothing
# what a broken rule comes to, by its limit alone: figures and names of patterns stay inside
_OUTSIDE = {
    "mean": "mean disclosure beyond inference is above {:g}",
    "isolated": "disclosure of isolated records is above {:g}",
    "largest": "the largest disclosure of a record is above {:g}",
    "max_true_value_copies": "the own value is among the copies of more records than chance gives, "
    "by more than {:g} of them",
    _NET: "records are named beyond chance, more than {:g} of them",
    "group": "disclosure of a group of records is above {:g}",
    COPIES: "copies lie nearer to true values than the models' own chances say",
    "warn_mean": "mean disclosure beyond inference is above {:g}",
    "warn_isolated": "disclosure of isolated records is above {:g}",
    "warn_largest": "the largest disclosure of a record is above {:g}",
    "warn_group": "disclosure of a group of records is estimated above its limit, "
    "and shown to be at most twice that",
    "warn_inside": "disclosure to somebody who knows the unit's other values is not shown to be at "
    "most {:g}",
    "copied": "values of records appear in the datasets that do not appear without these records",
    "warn_copied": "values of records seem to appear in the datasets that do not appear without "
    "these records",
    NOT_JUDGED_RULE: "what the datasets disclose is not judged",
    _UNSHOWN: "disclosure beyond inference is not shown to be small",
}
_KNOWN = {INSIDE: "all other values of the unit", EARLIER: "all earlier waves"}
_FEWER_PARAMETERS = "fewer predictors, wider levels or a stronger prior"
_LONELY = "leave out or coarsen the released column that separates these records from all others"
_COPYING = (
    "a model that keeps no value: {}, such as means by levels of a few records, spikes, or a "
    "class that stores values"
)
_TOOL = "a tool that follows single records less, or fewer columns"
_CURES = {  # what lowers what breaks a rule
    "mean": _FEWER_PARAMETERS,
    "isolated": f"{_LONELY}, or {_FEWER_PARAMETERS}",
    "largest": f"{_LONELY}, or {_FEWER_PARAMETERS}",
    "group": "wider levels of the columns that part the group, or a stronger prior",
    "copies": _COPYING.format("what repeats true values"),
    "max_true_value_copies": _TOOL,
    _NET: _TOOL,
    "copied": _TOOL,
    _UNSHOWN: _FEWER_PARAMETERS,
    NOT_JUDGED_RULE: "what the reason asks for",
}


@dataclass(frozen=True, kw_only=True)
class DisclosureSettings:
    """Limits of what a release may give away beyond inference: a board's policy, not estimates.

    Refused is a release where the lower limit of mean D lies above ``mean`` or that of isolated
    records above ``isolated``, D of a person who may stand alone, or of one copy of an own fit,
    above ``largest``, or the lower limit of D of some released pattern or declared group above
    ``group``, corrected for their number. Not shown is one whose upper limit of mean D, of isolated
    records or (at twice ``group``) of a group lies above. Of datasets of other tools refused is too
    where the share of records whose own value is among their copies exceeds the same without them
    by ``max_true_value_copies``, or records named less those named in reverse are more than
    ``max_identified`` and more than ``max_identified_share`` of those named. Warned of is mean D
    above ``warn_mean``, of isolated records above ``warn_isolated``, of a person above
    ``warn_largest``, of a group above ``group`` by less than its error; and where the upper limit
    of D to an intruder who knows the other values of a unit is above ``warn_inside``.

    ``earlier``: how many runs of the same study on the same data looked before. A run counts those
    beside it itself, and whoever has others states them: limits are then held at 5 % divided by the
    square of one more, so that however many runs there are, D at a limit is shown to be small in
    hardly more than 8 %.

    ``accept``: a rule by name and the reason why the board lets it be broken, which stands on the
    sign-off sheet; a limit that is not the default needs one as well; ``copies``, ``not_shown`` and
    ``not_judged`` may be accepted so. D of files that do not leave, aligned ones as a rule, is
    refused by its lower limit and needs not be shown small.

    Examples
    --------
    >>> rw.DisclosureSettings(mean=0.03, accept={"mean": "agreed by the board"}).mean
    0.03
    """

    mean: float = field(default=0.02, metadata=_READ)
    isolated: float = field(default=0.05, metadata=_READ)
    largest: float = field(default=0.20, metadata=_READ)
    max_true_value_copies: float = field(default=0.05, metadata=_READ)
    max_identified: float = field(default=3, metadata=_READ)
    max_identified_share: float = field(default=0.05, metadata=_READ)
    group: float = field(default=0.05, metadata=_READ)
    warn_mean: float = field(default=0.005, metadata=_READ)
    warn_isolated: float = field(default=0.02, metadata=_READ)
    warn_largest: float = field(default=0.05, metadata=_READ)
    warn_inside: float = field(default=0.01, metadata=_READ)
    earlier: int = field(
        default=0, metadata=read_by("disclosed", why="the level of the limits of D")
    )
    accept: Mapping[str, str] = field(default_factory=dict, hash=False, metadata=_READ)

    def __post_init__(self) -> None:
        limits = [limit.name for limit in fields(self) if limit.name not in ("accept", "earlier")]
        for name in limits:
            check_number(getattr(self, name), f"release.disclosure.{name}", least=0)
        if check_number(self.earlier, "release.disclosure.earlier", least=0) % 1:
            raise InputError(
                f"release.disclosure.earlier must be a whole number, got {self.earlier}"
            )
        if not isinstance(self.accept, Mapping):
            raise InputError(
                "release.disclosure.accept must be a table of reasons by rule, such as mean = "
                '"reason"'
            )
        valid = [*limits, COPIES, NOT_JUDGED_RULE, _UNSHOWN]
        strange = [name for name in self.accept if name not in valid]
        if strange:
            raise InputError(
                f"release.disclosure.accept names {listing(strange)}; valid are {listing(valid)}"
            )
        for name, reason in self.accept.items():
            check_text(reason, f"release.disclosure.accept.{name}")
            if not reason.strip():
                raise InputError(f"release.disclosure.accept.{name} must say the reason")
        object.__setattr__(self, "accept", dict(self.accept))
        unexplained = [
            f.name
            for f in fields(self)
            if f.name in limits and getattr(self, f.name) > float(str(f.default))
        ]
        unexplained = [name for name in unexplained if name not in self.accept]
        if unexplained:
            raise InputError(
                f"release.disclosure: {listing(unexplained)} above the default needs a reason "
                "under accept"
            )

    @property
    def level(self) -> float:
        """Of all looks of this run together, one-sided."""
        return _LEVEL / (1 + self.earlier) ** 2


class DisclosureVerdict(NamedTuple):
    """``verdict``: "refuse", "not judged", "not shown", "warn" or "pass"; ``reasons``: what was
    broken, and ``rules``, which; ``accepted``: what, and why it may be; ``outside``: both as they
    may be said outside, with limits and without figures; ``cures``: what mends it."""

    verdict: str
    reasons: tuple[str, ...]
    accepted: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    cures: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


class Broken(NamedTuple):
    """What a release breaks: ``rule``, a key of `_OUTSIDE`; ``text``, with figures, for the inside;
    ``cure``, if not that of the rule.
    """

    rule: str
    text: str
    warning: bool = False
    cure: str = ""


class Concerned(NamedTuple):
    """A record that a broken rule concerns: its ``row`` in the file, from 0, the ``rule`` in words,
    its ``D``. Confidential.
    """

    row: int
    rule: str
    D: float


def judge(table: pd.DataFrame, settings: DisclosureSettings | None = None) -> DisclosureVerdict:
    """Return the verdict on what `riskweighted.attribution` gives: of a release as it leaves,
    shuffled, and of aligned files.

    "not judged" is no pass: nobody knows what the release gives away.
    """
    settings = settings or DisclosureSettings()
    broken = list(_broken(table, settings))
    taken = [one for one in broken if one.rule in settings.accept]
    accepted = tuple(f"{one.text}: {settings.accept[one.rule]}" for one in taken)
    left = [one for one in broken if one.rule not in settings.accept]
    words = [WARN if one.warning else _WORDS.get(one.rule, REFUSE) for one in left]
    word = next(
        (word for word in (REFUSE, NOT_JUDGED, NOT_SHOWN, WARN) if word in words),
        WARN if taken else PASS,
    )
    left = [one for one, said in zip(left, words, strict=True) if said == word]
    said = dict.fromkeys(_said(one.rule, settings) for one in left)
    outside = (*said, *dict.fromkeys(_accepted(one.rule, settings) for one in taken))
    cures = dict.fromkeys(
        one.cure or _CURES[one.rule] for one in left if word in (REFUSE, NOT_JUDGED, NOT_SHOWN)
    )
    if cures and (fewer := table.attrs.get("fewer")):
        cures = {f"fewer datasets: L = {fewer} would pass": None} | cures
    return DisclosureVerdict(
        word,
        tuple(one.text for one in left),
        accepted,
        outside,
        tuple(cures),
        tuple(dict.fromkeys(one.rule for one in left)),
    )


def _said(rule: str, settings: DisclosureSettings) -> str:
    """A broken rule as it may be said outside."""
    return _OUTSIDE[rule].format(getattr(settings, rule, ""))


def _accepted(rule: str, settings: DisclosureSettings) -> str:
    return f"{_said(rule, settings)}, accepted: {settings.accept[rule]}"


def is_undecided(
    rows: pd.DataFrame,
    groups: Sequence[Mapping[str, Any]],
    leaves: str,
    settings: DisclosureSettings | None,
) -> bool:
    """Whether more packs could decide: something is neither refused nor shown to be small, and not
    for its failing records alone.
    """
    settings = settings or DisclosureSettings()
    for _, row in rows[
        (rows["release"] == leaves) & rows["group"].isin(["all", "isolated"])
    ].iterrows():
        limit = settings.isolated if row["group"] == "isolated" else settings.mean
        if row["lower"] <= limit < row["upper"] - row["bound"]:
            return True
    return any(
        of["release"] == leaves and of["lower"] <= settings.group and of["unshown"] > of["by_bound"]
        for of in groups
    )


def unshown_by_bound(
    rows: pd.DataFrame,
    groups: Sequence[Mapping[str, Any]],
    leaves: str,
    settings: DisclosureSettings | None,
) -> bool:
    """Whether what failing records may add is all that keeps a mean from being shown small, or a
    group is not shown to be small.
    """
    settings = settings or DisclosureSettings()
    for _, row in rows[
        (rows["release"] == leaves) & rows["group"].isin(["all", "isolated"])
    ].iterrows():
        limit = settings.isolated if row["group"] == "isolated" else settings.mean
        if row["lower"] <= limit and row["upper"] - row["bound"] <= limit < row["upper"]:
            return True
    return any(
        of["release"] == leaves and of["lower"] <= settings.group and of["unshown"] for of in groups
    )


def _broken(table: pd.DataFrame, settings: DisclosureSettings) -> Iterator[Broken]:
    leaves, own = table.attrs.get("leaves", SHUFFLED), table.attrs.get("own", False)
    yield from table.attrs.get("broken", ())
    untold = tuple(table.attrs.get("not_judged", ()))
    if not untold and (not len(table) or table.loc[table["group"] == "all", "D"].isna().any()):
        untold = ("what the release would be without a record is not known",)
    yield from (Broken(NOT_JUDGED_RULE, reason) for reason in untold)
    if untold:
        return
    for row in [*table.to_dict("records"), *table.attrs.get("narrow", ())]:
        if row["group"] in (INSIDE, EARLIER) and row["upper"] > settings.warn_inside:
            text = (
                f"D of {row['variables']} to an intruder who knows {_KNOWN[row['group']]} is "
                f"{row['D']:.3f}, with an upper limit of {row['upper']:.3f}, above "
                f"{settings.warn_inside:g}"
            )
            yield Broken("warn_inside", text, warning=True)
        if row["group"] not in ("all", "isolated"):
            continue
        of = f"{row['release']}, {row['variables']}"
        of += f", at the radius divided by {row['narrower']:.3g}" if "narrower" in row else ""
        if row["group"] == "isolated":
            yield from _of_mean(row, "isolated", f"isolated records ({of})", settings, leaves)
        else:
            yield from _of_mean(row, "mean", of, settings, leaves)
            yield from _of_copy(row, of, settings) if row["release"] == leaves else ()
            yield from () if own else _of_own_values(row, of, settings)
    for worst in table.attrs.get("worst_groups", ()):
        if worst["lower"] > settings.group:
            text = (
                f"D of a {worst['of']} is {worst['D']:.3f}, above {settings.group:g} beyond "
                f"chance ({worst['release']})"
            )
            yield Broken("group", text)
        elif worst.get("unshown", 0) and worst["release"] == leaves:
            text = (
                f"D of {worst['unshown']} of {worst['groups']} groups by {worst['of']} "
                f"({worst['variables']}) is not shown to be at most {2 * settings.group:g}"
            )
            yield Broken(_UNSHOWN, text)
        elif worst.get("above", 0) and worst["release"] == leaves:
            text = (
                f"D of {worst['above']} of {worst['groups']} groups by {worst['of']} "
                f"({worst['variables']}) is above {settings.group:g}, by less than its error"
            )
            yield Broken("warn_group", text, warning=True)


def _of_mean(
    row: Mapping[str, Any], rule: str, of: str, settings: DisclosureSettings, leaves: str
) -> Iterator[Broken]:
    limit, warned = getattr(settings, rule), getattr(settings, f"warn_{rule}")
    if row["lower"] > limit:
        yield Broken(
            rule, f"mean D of {of} is {row['D']:.3f}, at least {row['lower']:.3f}, above {limit:g}"
        )
    elif row["release"] != leaves:
        return
    elif math.isnan(row["upper"]) and row["records"]:
        yield Broken(_UNSHOWN, f"mean D of {of}: too few records for an error")
    elif row["upper"] > limit:
        upper = row["upper"]
        runs = f" ({settings.earlier} earlier runs looked, too)" if settings.earlier else ""
        yield Broken(
            _UNSHOWN,
            f"mean D of {of}: upper limit {upper:.3f} at the limit {limit:g}, shown small only "
            f"from {upper:.3f}{runs}",
        )
    elif row["D"] > warned:
        yield Broken(
            f"warn_{rule}", f"mean D of {of} is {row['D']:.3f}, above {warned:g}", warning=True
        )


def _of_copy(row: Mapping[str, Any], of: str, settings: DisclosureSettings) -> Iterator[Broken]:
    """By D of one copy, which is the same however rows leave."""
    if row["largest_D"] > settings.largest:
        yield Broken(
            "largest",
            f"the largest D of one copy ({of}) is {row['largest_D']:.3f}, above "
            f"{settings.largest:g}",
        )
    elif row["largest_D"] > settings.warn_largest:
        yield Broken(
            "warn_largest",
            f"the largest D of one copy ({of}) is {row['largest_D']:.3f}, above "
            f"{settings.warn_largest:g}",
            True,
        )


def _of_own_values(
    row: Mapping[str, Any], of: str, settings: DisclosureSettings
) -> Iterator[Broken]:
    """By values that stand among copies, of other tools alone: those of a fit are tested against
    what the fit itself says of them.
    """
    beyond = row["own_value_with"] - row["own_value_out"]
    if beyond > settings.max_true_value_copies:
        yield Broken(
            "max_true_value_copies",
            f"the own value is among the copies of {beyond:.3f} more of the records than without "
            f"it ({of})",
        )
    net = row["named"] - row["reversed"]
    if net > max(settings.max_identified, settings.max_identified_share * row["named"]):
        yield Broken(
            _NET, f"records are named beyond chance, {net:.3g} more than in reverse ({of})"
        )
