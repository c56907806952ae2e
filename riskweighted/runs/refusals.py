"""What `riskweighted release` refuses of a run, and what mends it: said by the run itself, and
asked again before anything leaves.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import own_value_for_each
from riskweighted.evaluation.main_table import CONVERGED
from riskweighted.evaluation.measure_rows import CONFIDENTIAL, Statistic, by_label
from riskweighted.evaluation.verdicts import (
    FAIL,
    LEAVES,
    NOT_JUDGED,
    NOT_SHOWN,
    REFUSE,
    WARN,
    Verdict,
    find_failures,
    is_of_disclosure,
    overall,
)
from riskweighted.measures import disclosure_measures
from riskweighted.measures.released import UNIQUES
from riskweighted.runs.derivation import refuse_derived
from riskweighted.runs.folder import CONCERNED
from riskweighted.runs.study import Study
from riskweighted.weights.scheme_names import UNWEIGHTED

__all__ = [
    "CHECKS",
    "COARSEN",
    "Accepted",
    "Outlook",
    "find_failing",
    "find_unaccepted",
    "identifying_columns",
    "outlook",
    "refusal",
    "share_of_uniques",
]

_LONGEST_REASON = 300
# what makes units less rare, in a message
COARSEN = (
    "[units] coarsen merges levels and cuts large units, as { relation = { other = [...] }, "
    "most_members = 6 }"
)
_UNKEPT = {FAIL: "it does not keep to", NOT_JUDGED: "not judged is"}


class Accepted(NamedTuple):
    """What somebody takes on himself: more records that are alone than the study allows, a
    reproducible run of public data, and, by a reason, schemes that do not pass."""

    uniques: bool = False
    demonstration: bool = False
    fail: str = ""


class JudgedRun(Protocol):
    """A run, just made or read back."""

    @property
    def study(self) -> Study: ...
    @property
    def verdicts(self) -> tuple[Verdict, ...]: ...
    @property
    def tables(self) -> Mapping[str, pd.DataFrame]: ...


Check = Callable[[JudgedRun, pd.DataFrame | None, Sequence[str], Accepted], str | None]


def _reproducible(
    run: JudgedRun, data: pd.DataFrame | None, schemes: Sequence[str], accepted: Accepted
) -> str | None:
    """A run whose noise a seed makes again."""
    public = run.study.data.embedded is not None
    if not run.study.reproducible or (accepted.demonstration and public):
        return None
    return (
        "the run is reproducible, so somebody who knows its seed can remove the noise of its "
        "datasets: run it again without reproducible = true"
        + (", or release it as a demonstration of public data (--demonstration)" if public else "")
    )


def _uniques(
    run: JudgedRun, data: pd.DataFrame | None, schemes: Sequence[str], accepted: Accepted
) -> str | None:
    """A run that leaves too many records alone."""
    share, most = share_of_uniques(run), run.study.release.unique_share
    if not share > most or accepted.uniques:
        return None
    naming = (
        []
        if data is None
        else identifying_columns(data[run.study.unaltered(data)], run.study.variables)
    )
    do = (
        f"leave {listing(naming)} out, whose values name the records"
        if naming
        else "release or know fewer columns, coarsen them"
    )
    who = "alone on the unaltered released columns"
    if run.study.units is not None:
        do, who = f"{do} or the units ({COARSEN})", "of units with a unique composition"
    return (
        f"{100 * share:.1f} % of the records are {who}, more than release.unique_share "
        f"({100 * most:g} %): {do}, or accept it explicitly (--accept-uniques)"
    )


def _convergence(
    run: JudgedRun, data: pd.DataFrame | None, schemes: Sequence[str], accepted: Accepted
) -> str | None:
    """Fits whose draws are not those of their posterior."""
    failed = {
        each.label
        for each in run.verdicts
        if each.statistic == CONVERGED.statistic and each.verdict == FAIL
    }
    named = [scheme for scheme in schemes if scheme in failed]
    return (
        f"the fit of {listing(named)} did not converge, so it is not released; sample longer or "
        "simplify the model"
        if named
        else None
    )


def _disclosure(
    run: JudgedRun, data: pd.DataFrame | None, schemes: Sequence[str], accepted: Accepted
) -> str | None:
    """Schemes that give away more than the policy allows, or of which that is not judged, unless
    the study accepts it with a reason.
    """
    for each in run.verdicts:
        if (
            each.label not in schemes
            or not is_of_disclosure(each)
            or each.verdict not in (REFUSE, NOT_JUDGED, NOT_SHOWN)
        ):
            continue
        if each.statistic.key == disclosure_measures.HIDDEN.key:
            return each.why
        mends = (
            f"; what corrects it: {each.cure} (the records concerned: {CONCERNED})"
            if each.cure
            else ""
        )
        return (
            f"the datasets of {each.label!r} are "
            f"{'refused' if each.verdict == REFUSE else each.verdict} for disclosure beyond "
            f"inference: {each.why}{mends}; or accept it with a reason ([release.disclosure] "
            "accept)"
        )
    return None


def _derived(
    run: JudgedRun, data: pd.DataFrame | None, schemes: Sequence[str], accepted: Accepted
) -> str | None:
    """Columns that give a synthesized variable away; a run has refused them before its fits."""
    try:
        if data is not None:
            refuse_derived(run.study, data)
    except InputError as error:
        return str(error)
    return None


def find_failing(run: JudgedRun, schemes: Sequence[str]) -> list[str]:
    """The schemes that do not keep to the thresholds, whose model misfits, or that a limit could
    not judge.
    """
    return [scheme for scheme in schemes if overall(run.verdicts, scheme) not in LEAVES]


def find_unaccepted(
    run: JudgedRun, data: pd.DataFrame | None, schemes: Sequence[str], accepted: Accepted
) -> str | None:
    """Schemes that do not pass, unless somebody accepted that with a reason; and a reason where
    there is nothing to accept.
    """
    named, reason = find_failing(run, schemes), accepted.fail
    if reason and schemes and not named:
        return (
            f"accept-fail has a reason, and {listing(schemes)} "
            f"{'does' if len(schemes) == 1 else 'do'} not fail: leave it out"
        )
    if len(reason) > _LONGEST_REASON or "\n" in reason:
        return (
            f"the reason of accept-fail must be one line of at most {_LONGEST_REASON} "
            f"characters, got {len(reason)}"
        )
    if not named or reason.strip():
        return None
    missed = [each for each in find_failures(run.verdicts, named[0]) if each.verdict not in LEAVES]
    why = dict.fromkeys(
        f"{_UNKEPT.get(each.verdict, each.verdict)} "
        f"{each.limit.name if each.limit else each.statistic.label}"
        for each in missed
    )
    return (
        f"{named[0]!r}{f' (and {len(named) - 1} more)' if len(named) > 1 else ''} does not pass: "
        f"{', '.join(why) or NOT_JUDGED}; release a "
        "scheme that passes, or accept it with a reason that the sign-off sheet then holds "
        '(--accept-fail "REASON")'
    )


CHECKS: tuple[Check, ...] = (
    _reproducible,
    _uniques,
    _convergence,
    _disclosure,
    find_unaccepted,
    _derived,
)


def refusal(
    run: JudgedRun,
    data: pd.DataFrame | None,
    schemes: Sequence[str],
    accepted: Accepted | None = None,
) -> str | None:
    """Why some schemes of a run may not leave; None where nothing stands against it.

    `data`: the confidential ones; what cannot be seen without them is not looked at without.
    """
    return next(
        (why for check in CHECKS if (why := check(run, data, schemes, accepted or Accepted()))),
        None,
    )


class Outlook(NamedTuple):
    """``scheme``: the one that a release takes, weighted ones first and those that are warned of
    last; None: it takes none. ``flags``: what its command needs besides. ``why``: what stands
    against the run, whichever scheme is taken, "" where nothing does."""

    scheme: str | None
    flags: str = ""
    why: str = ""


def outlook(run: JudgedRun, data: pd.DataFrame | None = None) -> Outlook:
    """What `riskweighted release` will do with a run, asked as it asks; `data`: as in `refusal`."""
    study, schemes = run.study, run.study.weights.schemes
    shown = study.reproducible and study.data.embedded is not None
    accepted = Accepted(demonstration=shown)
    # once, of all schemes: what looks at the data takes seconds
    against = refusal(run, data, [], accepted) or ""
    leaving = [
        scheme
        for scheme in ([] if against else schemes)
        if not refusal(run, None, [scheme], accepted)
    ]
    leaving.sort(key=lambda scheme: (overall(run.verdicts, scheme) == WARN, scheme == UNWEIGHTED))
    return Outlook(leaving[0] if leaving else None, " --demonstration" if shown else "", against)


def share_of_uniques(run: JudgedRun) -> float:
    """Share of the records that are alone in their pattern of all unaltered released columns."""
    return float(by_label(run.tables["risk"], Statistic(UNIQUES.key))[CONFIDENTIAL])


def identifying_columns(frame: pd.DataFrame, variables: Sequence[str]) -> list[str]:
    """The columns that are not synthesized and have a value of its own for each record."""
    return [
        str(name) for name in frame if name not in variables and own_value_for_each(frame[name])
    ]
