"""Rows of an assessment's risk: of data whose rows pair, of any data, and how near records lie."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.evaluation.tables import Statistic, measured
from riskweighted.evaluation.tools import HOLDOUT, Tool
from riskweighted.intruder.world import Paired, World
from riskweighted.risk.attribute import correct_attribution, replicated_uniques
from riskweighted.risk.canonical import canonical_disclosure
from riskweighted.risk.closest import closest_records
from riskweighted.risk.identification import identification_risks
from riskweighted.risk.matching import match
from riskweighted.risk.rank import rank_shares
from riskweighted.utility.intervals import mean_interval, proportion_interval

__all__ = ["risk_rows"]

_BY_RECORD = "t interval over records"
_SHARE = "Wilson interval over records"
_NONE = (np.nan, np.nan)
_THRESHOLD = 0.5  # of the identification risk over which records are counted
_QUANTILES = (0.05, 0.5)  # of distances: the nearest, and the usual


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


def risk_rows(world: World, tool: Tool, holdout: pd.DataFrame | None, level: float, random_seed: int) -> Iterator[dict[str, Any]]:
    """Every measure that applies, in the order of the table; those of pairs only where rows pair."""
    for row in _rows(world, tool, holdout, level, random_seed):
        yield row.under(tool.label)


def _rows(world: World, tool: Tool, holdout: pd.DataFrame | None, level: float, random_seed: int) -> Iterator[_Row]:
    if tool.paired is not None:
        yield from _identification(tool.paired, level)
        yield from _matching(tool.paired, level)
        if len(world.numeric) == 1:
            between = rank_shares(tool.paired).to_numpy()
            yield _Row(Statistic("rank"), between.mean(), mean_interval(between, level=level), _BY_RECORD)
    if world.scenario.known:
        yield from _attribution(world, tool, level)
    yield from _closest(world, tool, None if tool.label == HOLDOUT else holdout, level, random_seed)
    if tool.paired is not None and world.numeric:
        yield from _canonical(tool.paired, level)


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


def _attribution(world: World, tool: Tool, level: float) -> Iterator[_Row]:
    confidential, frames, scenario = world.confidential, tool.frames, world.scenario
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


def _closest(world: World, tool: Tool, holdout: pd.DataFrame | None, level: float, random_seed: int) -> Iterator[_Row]:
    """Distances to the closest confidential records and, where there is a holdout file, whether its records are farther."""
    found = closest_records(world.confidential, tool.frames, world.scenario, holdout=holdout, random_seed=random_seed)
    n = len(world.confidential)
    among = f"among {'all ' if found.searched == n else ''}{found.searched} confidential ones"
    for key, column in (("closest-record", "distance"), ("nearest-ratio", "ratio")):
        for share in _QUANTILES:
            statistic = Statistic(key, parameter=share)
            yield _Row(statistic, found.quantile(column, share), _NONE, "none", statistic.define(among=among))
    datasets = found.records.groupby("dataset").size().min()
    shares = {"copied-records": (found.copies, datasets, among)}
    if holdout is not None:
        of_either = f"among {found.compared} records of either file"
        shares["closer-than-holdout"] = (found.closer, min(found.compared, datasets), of_either)
    for key, (value, count, where) in shares.items():
        rule = f"Wilson interval, as of {count} records"
        yield _Row(Statistic(key), value, proportion_interval(value, count, level=level), rule, Statistic(key).define(among=where))


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
