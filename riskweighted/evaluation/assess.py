"""Every disclosure-risk measure that applies to a confidential file and synthetic versions of it, whoever made them.

Each measure also stands beside two yardsticks: the confidential data released as it is, and a release whose synthetic
values are drawn independently of the known variables (the synthetic records' own values, shuffled).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_count
from riskweighted.common.errors import InputError
from riskweighted.intruder.pairing import Frames
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import Paired, make_world
from riskweighted.risk.attribute import correct_attribution, replicated_uniques
from riskweighted.risk.canonical import canonical_disclosure
from riskweighted.risk.identification import identification_risks
from riskweighted.risk.matching import match
from riskweighted.risk.rank import rank_shares
from riskweighted.utility.intervals import mean_interval, proportion_interval

__all__ = ["Assessment", "assess"]

RELEASES = ("synthetic", "confidential itself", "independent of known")
_BY_RECORD = "t interval over records"
_SHARE = "Wilson interval over records"


@dataclass(frozen=True)
class Assessment:
    """Tables of an assessment.

    Attributes
    ----------
    measures : DataFrame
        One row per (release, measure): value, interval and the rule that made it, the boundary rule of the balls, whether
        higher is riskier or safer, the definition in one line.
    contributions : DataFrame
        One row per known variable: mean identification risk and expected match risk ("matches") if the intruder did not know it,
        and the changes. For the internal reader.
    riskiest : DataFrame
        The records of highest identification risk. Confidential.
    """

    measures: pd.DataFrame
    contributions: pd.DataFrame = field(repr=False)
    riskiest: pd.DataFrame = field(repr=False)


class _Row(NamedTuple):
    measure: str
    value: float
    interval: tuple[float, float]
    rule: str
    higher_is: str
    definition: str


_NONE = (np.nan, np.nan)


def assess(
    confidential: pd.DataFrame,
    synthetic: Frames,
    scenario: Scenario,
    *,
    identifier: str | None = None,
    top: int = 10,
    level: float = 0.95,
    random_seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Assessment:
    """Measure the disclosure risk of L synthetic versions of a confidential file.

    Parameters
    ----------
    confidential : DataFrame, n rows
    synthetic : DataFrame or sequence of L DataFrames
        Rows pair by `identifier`, else by equal index, else by position (`riskweighted.intruder.pairing.pair`).
    scenario : Scenario
    identifier : str, optional
        Column of every file that pairs rows.
    top : int
        How many of the riskiest records to list.
    level : float
        Probability of the intervals.
    random_seed : int
        For the independent release.
    progress : callable, optional
        Called with (releases done, releases in all).

    Raises
    ------
    InputError
        If rows cannot be paired, a column is absent, or sensitive values are missing.
    """
    check_count(top, "top")
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, got {level!r}")
    world = make_world(confidential, scenario)
    paired = world.pair_rows(synthetic, identifier)
    own = confidential[[*scenario.known, *scenario.synthetic]]
    releases = dict(zip(RELEASES, (paired, world.pair(own), _independent(paired, random_seed)), strict=True))
    rows = []
    for done, (release, released) in enumerate(releases.items()):
        rows += [{"release": release, **row._asdict()} for row in _measures(released, level)]
        if progress is not None:
            progress(done + 1, len(releases))
    table = pd.DataFrame(rows)
    bounds = pd.DataFrame(table.pop("interval").tolist(), columns=["lower", "upper"])
    for place, name in enumerate(("lower", "upper")):
        table.insert(3 + place, name, bounds[name])
    table.insert(6, "boundary", scenario.boundary)
    return Assessment(table, _contributions(paired), _riskiest(paired, top))


def _independent(paired: Paired, random_seed: int) -> Paired:
    """Each synthetic dataset with its synthetic values, jointly, given to other records at random."""
    names, shuffled = paired.world.scenario.synthetic, []
    for frame, seed in zip(paired.frames, np.random.SeedSequence(random_seed).spawn(len(paired)), strict=True):
        order = np.random.default_rng(seed).permutation(len(frame))
        shuffled.append(frame.assign(**{name: frame[name].array[order] for name in names}))
    return Paired(paired.world, tuple(shuffled))


def _measures(paired: Paired, level: float) -> Iterator[_Row]:
    """Every measure that applies, in the order of the table."""
    yield from _identification(paired, level)
    yield from _matching(paired, level)
    numeric = paired.world.numeric
    if len(numeric) == 1:
        between = rank_shares(paired).to_numpy()
        what = "mean over records of the share of the pattern's synthetic values between true and own synthetic value (S001)"
        yield _Row("rank measure", between.mean(), mean_interval(between, level=level), _BY_RECORD, "safer", what)
    if paired.world.scenario.known:
        yield from _attribution(paired, level)
    if numeric:
        yield from _canonical(paired, level)


def _identification(paired: Paired, level: float) -> Iterator[_Row]:
    risk = identification_risks(paired).mean(axis=0)
    what = "mean over records of IR, averaged over datasets (S003 eq. 1)"
    yield _Row("identification risk", risk.mean(), mean_interval(risk, level=level), _BY_RECORD, "riskier", what)
    share = float((risk > 0.5).mean())
    interval = proportion_interval(share, len(risk), level=level)
    yield _Row("share at identification risk over 0.5", share, interval, _SHARE, "riskier", "share of records with IR > 0.5 (S003 eq. 1)")
    alone = float(paired.world.patterns.singletons)
    what = "known patterns of one record, which the pattern alone identifies (eq. 1 gives it 0)"
    yield _Row("singleton patterns", alone, _NONE, "a count", "riskier", what)


def _matching(paired: Paired, level: float) -> Iterator[_Row]:
    found = match(paired)
    n = len(paired.world.confidential)
    interval = tuple(n * bound for bound in mean_interval(found.expected_by_target, level=level))
    what = "sum over records of T/c, mean over datasets (S000)"
    yield _Row("expected match risk", found.expected_match_risk, interval, _BY_RECORD, "riskier", what)  # type: ignore[arg-type]
    interval = proportion_interval(found.true_match_rate, n, level=level)
    what = "share of records whose unique match is the true one, mean over datasets (S000)"
    yield _Row("true match rate", found.true_match_rate, interval, _SHARE, "riskier", what)
    interval = proportion_interval(found.false_match_rate, found.unique_matches, level=level)
    what = "share of false ones among the unique matches, mean over datasets (S000); undefined without a unique match"
    yield _Row("false match rate", found.false_match_rate, interval, "Wilson interval over unique matches", "safer", what)
    what = "records with exactly one match, mean over datasets (S000)"
    yield _Row("unique matches", found.unique_matches, _NONE, "a count", "riskier", what)


def _attribution(paired: Paired, level: float) -> Iterator[_Row]:
    confidential, frames, scenario = paired.world.confidential, paired.frames, paired.world.scenario
    found = correct_attribution(confidential, frames, scenario)
    cap = found.cap.to_numpy()
    what = "mean over records of CAP, the share of the key's synthetic records that match the target"
    yield _Row(
        "DCAP, absent keys 0", found.dcap_zero, mean_interval(cap, level=level), _BY_RECORD, "riskier", f"{what}; an absent key counts 0"
    )
    present = correct_attribution(confidential, frames, scenario, "drop").cap.dropna().to_numpy()
    dropped = f"{what}; records of absent keys left out"
    yield _Row("DCAP, absent keys dropped", found.dcap_drop, mean_interval(present, level=level), _BY_RECORD, "riskier", dropped)
    what = "mean of CAP over the records whose key has one single synthetic target (Taub & Elliot); undefined without such a key"
    yield _Row(
        "TCAP", found.tcap, proportion_interval(found.tcap, found.targeted, level=level), "Wilson, targeted records", "riskier", what
    )
    what = "mean share of confidential records that match the target: a guess without a key, to compare DCAP and TCAP with"
    yield _Row("CAP baseline", found.baseline, _NONE, "exact", "riskier", what)
    uniques = replicated_uniques(confidential, frames, scenario)
    which = uniques.known if uniques.joint is None else uniques.joint
    on = "known variables" if uniques.joint is None else "known and synthetic variables"
    interval = proportion_interval(which.share, len(confidential), level=level)
    what = f"share of records unique on the {on} in the confidential and in the synthetic data (repU)"
    yield _Row("replicated uniques", which.share, interval, _SHARE, "riskier", what)


def _canonical(paired: Paired, level: float) -> Iterator[_Row]:
    """Canonical-correlation measures of the numeric synthetic variables, in the first dataset."""
    try:
        found = canonical_disclosure(paired.world.confidential, paired.frames[0], list(paired.world.numeric))
    except InputError as error:
        yield _Row("largest canonical R^2", np.nan, _NONE, "none", "riskier", f"undefined: {error}")
        return
    first = "first dataset (S002)"
    what = f"lambda_1, the largest R^2 of a linear combination of confidential variables on the synthetic ones, {first}"
    yield _Row("largest canonical R^2", found.largest, _NONE, "exact", "riskier", what)
    probability = found.probability.to_numpy()
    what = f"mean over records of Fuller's P at the true record, {first}"
    interval = mean_interval(probability, level=level)
    yield _Row("mean identification probability", found.mean_probability, interval, _BY_RECORD, "riskier", what)
    interval = proportion_interval(found.reidentified, len(probability), level=level)
    what = f"share of records linked to their own synthetic record by the canonical distance, {first}"
    yield _Row("re-identified by canonical distance", found.reidentified, interval, _SHARE, "riskier", what)
    what = f"lower bound of the mean identification probability for normal data, {first}"
    yield _Row("MIDP bound", found.midp_bound, _NONE, "a bound", "riskier", what)


def _contributions(paired: Paired) -> pd.DataFrame:
    """What the risk would be if the intruder did not know one of the known variables."""

    def figures(seen: Paired) -> tuple[float, float]:
        return float(identification_risks(seen).mean()), match(seen).expected_match_risk

    world, scenario = paired.world, paired.world.scenario
    risk, matches = figures(paired)
    rows = []
    for name in scenario.known:
        fewer = world.under(replace(scenario, known=tuple(other for other in scenario.known if other != name)))
        without = figures(Paired(fewer, paired.frames))
        rows.append((name, without[0], risk - without[0], without[1], matches - without[1]))
    columns = ["known_variable", "risk_without", "risk_added", "matches_without", "matches_added"]
    return pd.DataFrame(rows, columns=columns)


def _riskiest(paired: Paired, top: int) -> pd.DataFrame:
    """The `top` records by identification risk (ties: by expected match), with what makes them so."""
    risk, found = identification_risks(paired).mean(axis=0), match(paired)
    c, true = (found.records[name].to_numpy(dtype=float).reshape(len(paired), -1) for name in ("c", "T"))
    table = pd.DataFrame(
        {
            "identification_risk": risk,
            "expected_match": found.expected_by_target,
            "mean_matches": c.mean(axis=0),
            "share_own_value_close": true.mean(axis=0),
            "records_in_pattern": paired.world.patterns.in_pattern,
        },
        index=paired.world.confidential.index.rename("record"),
    )
    return table.sort_values(["identification_risk", "expected_match"], ascending=False, kind="stable").head(top)
