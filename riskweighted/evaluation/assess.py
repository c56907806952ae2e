"""Every disclosure-risk measure that applies to a confidential file and synthetic versions of it, whoever made them.

Each measure also stands beside two yardsticks: the confidential data released as it is, and a release whose synthetic
values are drawn independently of the known variables (the synthetic records' own values, shuffled).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_count, check_share
from riskweighted.common.errors import InputError
from riskweighted.evaluation.tables import Statistic, as_table, measured
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
        One row per (release, measure), in the columns of `riskweighted.evaluation.tables.COLUMNS` (as the tables of `Evaluation`):
        value, interval and the rule that made it, whether higher is riskier or safer, the definition in one line; besides
        ``release``, which is the label, and ``boundary``, the boundary rule of the balls.
    contributions : DataFrame
        One row per known variable: mean identification risk and expected match risk ("matches") if the intruder did not know it,
        and the changes. For the internal reader.
    riskiest : DataFrame
        The records of highest identification risk. Confidential.
    """

    measures: pd.DataFrame
    contributions: pd.DataFrame = field(repr=False)
    riskiest: pd.DataFrame = field(repr=False)


_NONE = (np.nan, np.nan)
_THRESHOLD = 0.5  # of the identification risk over which records are counted


class _Row(NamedTuple):
    """One measure of a release; `definition` is that of the registry unless given."""

    statistic: Statistic
    value: float
    interval: tuple[float, float]
    rule: str
    definition: str | None = None

    def under(self, label: str) -> dict[str, Any]:
        definition = self.statistic.define() if self.definition is None else self.definition
        return measured(label, self.statistic, self.value, definition, interval=self.interval, rule=self.rule)


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
        If rows cannot be paired, a column is absent, or synthetic values are missing where the confidential data has none missing.
    """
    check_count(top, "top")
    check_share(level, "level")
    world = make_world(confidential, scenario)
    paired = world.pair_rows(synthetic, identifier)
    own = confidential[[*scenario.known, *scenario.synthetic]]
    releases = dict(zip(RELEASES, (paired, world.pair(own), _independent(paired, random_seed)), strict=True))
    rows = []
    for done, (release, released) in enumerate(releases.items()):
        rows += [row.under(release) for row in _measures(released, level)]
        if progress is not None:
            progress(done + 1, len(releases))
    table = as_table(rows)
    table.insert(1, "release", table["label"])
    table.insert(table.columns.get_loc("rule") + 1, "boundary", scenario.boundary)
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
    if len(paired.world.numeric) == 1:
        between = rank_shares(paired).to_numpy()
        yield _Row(Statistic("rank"), between.mean(), mean_interval(between, level=level), _BY_RECORD)
    if paired.world.scenario.known:
        yield from _attribution(paired, level)
    if paired.world.numeric:
        yield from _canonical(paired, level)


def _identification(paired: Paired, level: float) -> Iterator[_Row]:
    risk = identification_risks(paired).mean(axis=0)
    yield _Row(Statistic("identification-risk"), risk.mean(), mean_interval(risk, level=level), _BY_RECORD)
    share = float((risk > _THRESHOLD).mean())
    yield _Row(Statistic("share-over", parameter=_THRESHOLD), share, proportion_interval(share, len(risk), level=level), _SHARE)
    alone, statistic = float(paired.world.patterns.singletons), Statistic("singleton-patterns")
    yield _Row(statistic, alone, _NONE, "a count", f"{statistic.define()} (eq. 1 gives it 0)")


def _matching(paired: Paired, level: float) -> Iterator[_Row]:
    found, n = match(paired), len(paired.world.confidential)
    lower, upper = mean_interval(found.expected_by_target, level=level)
    yield _Row(Statistic("expected-match"), found.expected_match_risk, (n * lower, n * upper), _BY_RECORD)
    interval = proportion_interval(found.true_match_rate, n, level=level)
    yield _Row(Statistic("true-match-rate"), found.true_match_rate, interval, _SHARE)
    interval = proportion_interval(found.false_match_rate, found.unique_matches, level=level)
    yield _Row(Statistic("false-match-rate"), found.false_match_rate, interval, "Wilson interval over unique matches")
    yield _Row(Statistic("unique-matches"), found.unique_matches, _NONE, "a count")


def _attribution(paired: Paired, level: float) -> Iterator[_Row]:
    confidential, frames, scenario = paired.world.confidential, paired.frames, paired.world.scenario
    found = correct_attribution(confidential, frames, scenario)
    yield _Row(Statistic("dcap-zero"), found.dcap_zero, mean_interval(found.cap.to_numpy(), level=level), _BY_RECORD)
    present = correct_attribution(confidential, frames, scenario, "drop").cap.dropna().to_numpy()
    yield _Row(Statistic("dcap-drop"), found.dcap_drop, mean_interval(present, level=level), _BY_RECORD)
    interval = proportion_interval(found.tcap, found.targeted, level=level)
    yield _Row(Statistic("tcap"), found.tcap, interval, "Wilson, targeted records")
    yield _Row(Statistic("cap-baseline"), found.baseline, _NONE, "exact")
    uniques = replicated_uniques(confidential, frames, scenario)
    which = uniques.known if uniques.joint is None else uniques.joint
    on = "known variables" if uniques.joint is None else "known and synthetic variables"
    interval = proportion_interval(which.share, len(confidential), level=level)
    statistic = Statistic("replicated-uniques")
    yield _Row(statistic, which.share, interval, _SHARE, statistic.define(variables=on))


def _canonical(paired: Paired, level: float) -> Iterator[_Row]:
    """Canonical-correlation measures of the numeric synthetic variables, in the first dataset, where all are amounts in both files."""
    world, frame, names = paired.world, paired.frames[0], list(paired.world.numeric)
    both = [world.scenario.statuses(one[name]).is_amount for one in (world.confidential, frame) for name in names]
    complete = np.logical_and.reduce(both)
    try:
        found = canonical_disclosure(world.confidential[complete], frame[complete], names)
    except InputError as error:
        yield _Row(Statistic("canonical-r2"), np.nan, _NONE, "none", f"undefined: {error}")
        return
    count = len(found.probability)
    values = {
        "canonical-r2": (found.largest, _NONE, "exact"),
        "identification-probability": (found.mean_probability, mean_interval(found.probability.to_numpy(), level=level), _BY_RECORD),
        "canonical-reidentified": (found.reidentified, proportion_interval(found.reidentified, count, level=level), _SHARE),
        "midp-bound": (found.midp_bound, _NONE, "a bound"),
    }
    among = "" if complete.all() else f"; among the {count} of {len(complete)} records whose values are amounts in both files"
    for key, (value, interval, rule) in values.items():
        statistic = Statistic(key)
        yield _Row(statistic, value, interval, rule, f"{statistic.define()}{among}")


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
