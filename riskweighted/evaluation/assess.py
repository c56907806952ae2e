"""Disclosure risk and utility of synthetic versions of a confidential file, whoever made them.

Each measure also stands beside yardsticks: the confidential data released as it is; a release whose synthetic values are drawn
independently of the known variables; and, where a holdout file is given, those other records of the same population.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from riskweighted.common.checks import check_count, check_names, check_seed, check_sequence, check_share, check_text
from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.common.frames import require_columns
from riskweighted.common.native import as_pandas
from riskweighted.evaluation.assessed_risk import risk_rows
from riskweighted.evaluation.assessed_utility import utility_rows
from riskweighted.evaluation.evaluate import with_overlaps
from riskweighted.evaluation.regressions import mean_overlaps
from riskweighted.evaluation.several import table_columns
from riskweighted.evaluation.tables import CONFIDENTIAL, Statistic, as_table, statistics_of
from riskweighted.evaluation.tools import ITSELF, YARDSTICKS, Tool, find_tools, yardsticks
from riskweighted.intruder.pairing import Frames
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import Paired, World, make_world
from riskweighted.risk.identification import identification_risks
from riskweighted.risk.matching import match
from riskweighted.utility.regressions import Analysis, checked_analyses

__all__ = ["Assessment", "assess"]

_ONE_BY_ONE = ("one-way-table", "two-way-table", "regression-coefficient")  # rows that are many: not in the summary
_FOR_MAPS = ("identification-risk", "dcap-zero", "copied-records")  # risk of a map: the first that all tools have


@dataclass(frozen=True)
class Assessment:
    """Tables of an assessment.

    Attributes
    ----------
    measures : DataFrame
        One row per (label, measure) of risk, in the columns of `riskweighted.evaluation.tables.COLUMNS` (as the tables of `Evaluation`):
        value, interval and the rule that made it, whether higher is riskier or safer, the definition in one line; besides
        ``release``, which is the label, and ``boundary``, the boundary rule of the balls.
    utility : DataFrame
        The same of utility, with the overlap of an interval and the confidential one.
    contributions : DataFrame
        One row per tool whose rows pair and known variable: mean identification risk and expected match risk ("matches") if the intruder
        did not know it, and the changes. For the internal reader.
    riskiest : DataFrame
        The records of highest identification risk of each tool whose rows pair. Confidential.
    unpaired : dict of label to str
        Tools whose rows do not pair with the confidential ones, and why; they have no measure that needs pairs.
    """

    measures: pd.DataFrame
    utility: pd.DataFrame
    contributions: pd.DataFrame = field(repr=False)
    riskiest: pd.DataFrame = field(repr=False)
    unpaired: Mapping[str, str] = field(default_factory=dict)

    @property
    def yardsticks(self) -> list[str]:
        """The labels that no tool made."""
        return [label for label in self.measures["label"].unique() if label in YARDSTICKS]

    def summary(self) -> pd.DataFrame:
        """One row per label, a column for each measure of risk and utility, but not for single tables and coefficients."""
        both = pd.concat([self.measures[self.utility.columns], self.utility], ignore_index=True)
        names = pd.Series([statistic.name for statistic in statistics_of(both)])
        shown = both.assign(name=names)[~both["key"].isin(_ONE_BY_ONE)]
        wide = shown.pivot(index="label", columns="name", values="value")
        return wide.reindex(index=both["label"].unique(), columns=shown["name"].unique()).rename_axis(columns="measure")

    def map_measures(self) -> tuple[str, str]:
        """A measure of risk and one of utility that all tools have: the columns of `summary` for a risk-utility map."""
        table = self.summary().drop(index=self.yardsticks)
        risk = next(Statistic(key).name for key in _FOR_MAPS if Statistic(key).name in table and table[Statistic(key).name].notna().all())
        losses = [Statistic("two-way-distance").name, *(name for name in table if str(name).startswith(("U_m of ", "total variation of ")))]
        return risk, next(name for name in losses if name in table)


def assess(
    confidential: pd.DataFrame,
    synthetic: Frames | Mapping[str, Frames],
    scenario: Scenario,
    *,
    holdout: pd.DataFrame | None = None,
    unpaired: str | Sequence[str] = (),
    columns: str | Sequence[str] = (),
    regressions: Sequence[str] = (),
    identifier: str | None = None,
    top: int = 10,
    level: float = 0.95,
    random_seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Assessment:
    """Measure disclosure risk and utility of synthetic versions of a confidential file, of one tool or side by side of several.

    Rows need not pair: fully synthetic data, of any number of records, have every measure but those that ask which synthetic record stands
    for which confidential one (`riskweighted.evaluation.measures.OF_PAIRS`), and the combining rule of fully synthetic data.

    Parameters
    ----------
    confidential : DataFrame, n rows
    synthetic : DataFrame, sequence of L DataFrames, or mapping of a tool's name to one of them
        Rows pair by `identifier`, else by equal index, else by position (`riskweighted.intruder.pairing.pair`); where numbers of rows or
        known variables differ they do not, which is said.
    scenario : Scenario
    holdout : DataFrame, optional
        Records of the same population that no synthesizer saw: another yardstick, and what distances are compared with.
    unpaired : sequence of str, optional
        Tools whose rows pair with none although their number is the same; "synthetic" where `synthetic` is no mapping.
    columns : sequence of str, optional
        Further columns whose tables utility compares, beside the known and the synthesized variables.
    regressions : sequence of str, optional
        Formulas of which every coefficient is compared, as in `EvaluationSettings`.
    identifier : str, optional
        Column of every file that pairs rows; then rows that do not pair are refused.
    top : int
        How many of the riskiest records to list.
    level : float
        Probability of the intervals.
    random_seed : int
        For the independent release, and for the records that distances look at where there are very many.
    progress : callable, optional
        Called with (labels done, labels in all).

    Raises
    ------
    InputError
        If a column is absent or not comparable, or synthetic values are missing where the confidential data has none missing.
    """
    confidential, synthetic, holdout = as_pandas(confidential), as_pandas(synthetic), as_pandas(holdout)
    check_count(top, "top")
    check_share(level, "level")
    check_seed(random_seed)
    world = make_world(confidential, scenario)
    further = check_names(columns, "columns")
    require_columns(confidential, further, "confidential data (columns)")
    analyses = _analyses(world, regressions)
    looked_at = list(dict.fromkeys([*further, *(name for analysis in analyses for name in analysis.columns)]))
    tools = find_tools(world, synthetic, looked_at, identifier, [unpaired] if isinstance(unpaired, str) else unpaired)
    _say_unpaired(tools)
    crossed = table_columns(world, [*scenario.known, *(name for name in further if name not in scenario.known)])
    releases = [*tools, *yardsticks(world, tools, looked_at, holdout, random_seed)]
    risk: list[dict[str, Any]] = []
    utility: list[dict[str, Any]] = []
    for done, tool in enumerate(releases):
        risk += risk_rows(world, tool, holdout, level, random_seed)
        utility += utility_rows(world, tool, crossed, analyses, level)
        if progress is not None:
            progress(done + 1, len(releases))
    return _assessment(scenario, tools, risk, utility, top)


def _analyses(world: World, regressions: Sequence[str]) -> tuple[Analysis, ...]:
    """The regressions, checked on the confidential data."""
    for formula in check_sequence(regressions, "regressions"):
        check_text(formula, "each of regressions")
    return checked_analyses(world.confidential, regressions, {name: world.scenario.codes_of(name) for name in world.scenario.codes})


def _say_unpaired(tools: Sequence[Tool]) -> None:
    for tool in tools:
        if tool.paired is None:
            warnings.warn(
                f"rows of {tool.label!r} do not pair with the confidential ones ({tool.reason}): measures that need pairs are left out",
                RiskWeightedWarning,
                stacklevel=3,
            )


def _assessment(
    scenario: Scenario, tools: Sequence[Tool], risk: list[dict[str, Any]], utility: list[dict[str, Any]], top: int
) -> Assessment:
    """The tables, with overlaps and under the labels that are shown."""
    table = as_table(risk)
    table.insert(1, "release", table["label"])
    table.insert(table.columns.get_loc("rule") + 1, "boundary", scenario.boundary)
    compared = list(with_overlaps(utility))
    useful = as_table([*compared, *mean_overlaps(compared)])
    useful["label"] = useful["label"].replace({CONFIDENTIAL: ITSELF})
    paired = {tool.label: tool.paired for tool in tools if tool.paired is not None}
    contributions = [_contributions(own).assign(label=label) for label, own in paired.items()]
    riskiest = [_riskiest(own, top).assign(label=label) for label, own in paired.items()]
    return Assessment(
        table,
        useful,
        pd.concat(contributions, ignore_index=True) if paired else pd.DataFrame(),
        pd.concat(riskiest) if paired else pd.DataFrame(),
        {tool.label: tool.reason for tool in tools if tool.paired is None},
    )


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
