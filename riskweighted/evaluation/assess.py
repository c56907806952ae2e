"""Disclosure risk and utility of synthetic versions of a confidential file, whoever made them.

Each measure also stands beside yardsticks: the confidential data released as it is; a release whose
synthetic values are drawn independently of the known variables; and, where a holdout file is given,
those other records of the same population.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from riskweighted.common.checks import (
    check_count,
    check_names,
    check_seed,
    check_sequence,
    check_share,
    check_text,
)
from riskweighted.common.errors import RiskWeightedWarning, SingletonWarning
from riskweighted.common.frames import require_columns
from riskweighted.common.html_repr import html_repr
from riskweighted.common.native import Frame, GivenFrames, as_pandas
from riskweighted.evaluation.evaluate import Evaluation, evaluate_tools
from riskweighted.evaluation.measure_rows import CONFIDENTIAL, Statistic, statistics_of
from riskweighted.evaluation.tools import ITSELF, YARDSTICKS, Tool, find_tools, yardsticks
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import Paired, World, make_world
from riskweighted.measures.closest import COPIES
from riskweighted.measures.context import EvaluationInputs
from riskweighted.measures.correct_attribution import DCAP
from riskweighted.measures.cross_tables import DISTANCE, table_columns
from riskweighted.measures.distributions import TOTAL_VARIATION, U_M
from riskweighted.measures.evaluation_settings import EvaluationSettings
from riskweighted.measures.identification_measures import MEAN as MEAN_RISK
from riskweighted.risk.identification import identification_risks
from riskweighted.risk.matching import match
from riskweighted.utility.own_analyses import checked_own_analyses
from riskweighted.utility.regressions import Analysis, checked_analyses

__all__ = ["Assessment", "assess"]

_FOR_MAPS = (MEAN_RISK, DCAP, COPIES)  # risk of a map: the first that all tools have


@dataclass(frozen=True)
class Assessment(Evaluation):
    """An assessment is the evaluation of each tool's data beside yardsticks.

    Attributes
    ----------
    measures, risk : DataFrame
        One row per (label, measure) of risk, as `Evaluation.risk`, with an interval; besides
        ``release``, which is the label, and ``boundary``, the boundary rule of the balls.
    utility, records : DataFrame
        As of `Evaluation`; records of the labels whose rows pair.
    contributions : DataFrame
        One row per tool whose rows pair and known variable: mean identification risk and expected
        match risk ("matches") if the intruder did not know it, and the changes. For the internal
        reader.
    riskiest : DataFrame
        The records of highest identification risk of each tool whose rows pair. Confidential.
    unpaired : dict of label to str
        Tools whose rows do not pair with the confidential ones, and why; they have no measure that
        needs pairs.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario, synthetic
    >>> rw.assess(data, synthetic, scenario).summary().shape
    (3, 19)
    """

    contributions: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    riskiest: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    unpaired: Mapping[str, str] = field(default_factory=dict)

    __repr__ = Evaluation.__repr__

    def _repr_html_(self) -> str:
        answers = [
            f"{label}: rows do not pair with the confidential ones, {why}"
            for label, why in self.unpaired.items()
        ]
        note = (
            "measures and utility say by which definition each figure was made; what it "
            "discloses needs folds. Confidential."
        )
        return html_repr("Assessment", answers, table=self.summary().T, note=note)

    @property
    def measures(self) -> pd.DataFrame:
        """The table of risk."""
        return self.risk

    @property
    def yardsticks(self) -> list[str]:
        """The labels that no tool made."""
        return [label for label in self.measures["label"].unique() if label in YARDSTICKS]

    def summary(self) -> pd.DataFrame:
        """One row per label, a column for each measure of risk and utility, but not for single
        tables and coefficients.
        """
        both = pd.concat([self.risk[self.utility.columns], self.utility], ignore_index=True)
        statistics = statistics_of(both)
        shown = both.assign(name=[statistic.name for statistic in statistics])[
            [not statistic.measure.many for statistic in statistics]
        ]
        wide = shown.pivot(index="label", columns="name", values="value")
        return wide.reindex(
            index=both["label"].unique(), columns=shown["name"].unique()
        ).rename_axis(columns="measure")

    def map_measures(self) -> tuple[str, str]:
        """A measure of risk and one of utility that all tools have: the columns of `summary` for a
        risk-utility map.
        """
        table = self.summary().drop(index=self.yardsticks)
        risk = next(
            name
            for name in (Statistic(measure.key).name for measure in _FOR_MAPS)
            if name in table and table[name].notna().all()
        )
        starts = tuple(f"{measure.label} of " for measure in (U_M, TOTAL_VARIATION))
        losses = [
            Statistic(DISTANCE.key).name,
            *(name for name in table if str(name).startswith(starts)),
        ]
        return risk, next(name for name in losses if name in table)


def assess(
    confidential: Frame,
    synthetic: "GivenFrames | Mapping[str, GivenFrames]",
    scenario: Scenario,
    *,
    holdout: "Frame | None" = None,
    unpaired: str | Sequence[str] = (),
    columns: str | Sequence[str] = (),
    regressions: Sequence[str] = (),
    analyses: Sequence[str | Callable[..., Any]] = (),
    identifier: str | None = None,
    top: int = 10,
    level: float = 0.95,
    random_seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Assessment:
    """Return disclosure risk and utility of synthetic versions of a confidential file, of one tool
    or side by side of several.

    Rows need not pair: fully synthetic data, of any number of records, have every measure but those
    that ask which synthetic record stands for which confidential one (``Measure.needs``), and the
    combining rule of fully synthetic data.

    Parameters
    ----------
    confidential : DataFrame, n rows
    synthetic : DataFrame, sequence of L DataFrames, or mapping of a tool's name to one of them
        Rows pair by `identifier`, else by equal index, else by position
        (`riskweighted.intruder.pairing.pair`); where numbers of rows or known variables differ they
        do not, which is said.
    scenario : Scenario
    holdout : DataFrame, optional
        Records of the same population that no synthesizer saw: another yardstick, and what
        distances are compared with.
    unpaired : sequence of str, optional
        Tools whose rows pair with none although their number is the same; "synthetic" where
        `synthetic` is no mapping.
    columns : sequence of str, optional
        Further columns whose tables utility compares, beside the known and the synthesized
        variables.
    regressions : sequence of str, optional
        Formulas of which every coefficient is compared, as in `EvaluationSettings`.
    analyses : sequence of str or callable, optional
        Functions whose estimates are compared, as in `EvaluationSettings`. They are given the
        known, the synthesized and the `columns`.
    identifier : str, optional
        Column of every file that pairs rows; then rows that do not pair are refused.
    top : int
        How many of the riskiest records to list.
    level : float
        Probability of the intervals.
    random_seed : int
        For the independent release, and for the records that distances look at where there are very
        many.
    progress : callable, optional
        Called with (labels done, labels in all).

    Raises
    ------
    InputError
        If a column is absent or not comparable, or synthetic values are missing where the
        confidential data has none missing.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario, synthetic
    >>> assessment = rw.assess(data, {"tool": synthetic}, scenario)
    >>> assessment.measures.query("label == 'tool'")[["measure", "value"]].round(3).head(3)
                        measure  value
    0                 mean risk  0.193
    1  risk interquartile range  0.292
    2              maximum risk  0.767
    """
    confidential = as_pandas(confidential)
    synthetic = as_pandas(synthetic)
    holdout = as_pandas(holdout)
    check_count(top, "top")
    check_share(level, "level")
    check_seed(random_seed)
    world = make_world(confidential, scenario)
    further = check_names(columns, "columns")
    require_columns(confidential, further, "confidential data (columns)")
    asked = _analyses(world, regressions)
    settings = EvaluationSettings(level=level, analyses=analyses, resamples=0)
    looked_at = list(
        dict.fromkeys([*further, *(name for analysis in asked for name in analysis.columns)])
    )
    tools = find_tools(
        world,
        synthetic,
        looked_at,
        identifier,
        [unpaired] if isinstance(unpaired, str) else unpaired,
    )
    _say_unpaired(tools)
    crossed = table_columns(
        world, [*scenario.known, *(name for name in further if name not in scenario.known)]
    )
    releases = [*tools, *yardsticks(world, tools, looked_at, holdout, random_seed)]
    seen = confidential[list(dict.fromkeys([*scenario.known, *scenario.synthetic, *looked_at]))]
    own = checked_own_analyses(seen, settings.analyses)
    subject = EvaluationInputs(
        world,
        settings,
        None,
        asked,
        own=own,
        crossed=crossed,
        unaltered=False,
        holdout=holdout,
        seed=random_seed,
    )

    def made(tool: Tool) -> Callable[[], Tool]:
        return lambda: tool

    with warnings.catch_warnings():
        # of single patterns, which weights would need to know of
        warnings.simplefilter("ignore", SingletonWarning)
        measured = evaluate_tools(
            subject,
            {CONFIDENTIAL if tool.label == ITSELF else tool.label: made(tool) for tool in releases},
            mechanisms={},
            fits={},
            baseline=None,
            baseline_risk=None,
            random_seed=random_seed,
            progress=progress,
        )
    return _assessment(scenario, tools, measured, top)


def _analyses(world: World, regressions: Sequence[str]) -> tuple[Analysis, ...]:
    """The regressions, checked on the confidential data."""
    for formula in check_sequence(regressions, "regressions"):
        check_text(formula, "each of regressions")
    return checked_analyses(
        world.confidential,
        regressions,
        {name: world.scenario.codes_of(name) for name in world.scenario.codes},
    )


def _say_unpaired(tools: Sequence[Tool]) -> None:
    for tool in tools:
        if tool.paired is None:
            warnings.warn(
                f"rows of {tool.label!r} do not pair with the confidential ones ({tool.reason}): "
                "measures that need pairs are left out",
                RiskWeightedWarning,
                stacklevel=3,
            )


def _assessment(
    scenario: Scenario, tools: Sequence[Tool], measured: Evaluation, top: int
) -> Assessment:
    """With what is told of records, and under the labels that are shown."""
    risk, utility = (
        table.assign(label=table["label"].replace({CONFIDENTIAL: ITSELF}))
        for table in (measured.risk, measured.utility)
    )
    risk.insert(1, "release", risk["label"])
    risk.insert(risk.columns.get_loc("rule") + 1, "boundary", scenario.boundary)
    paired = {tool.label: tool.paired for tool in tools if tool.paired is not None}
    contributions = [_contributions(pairs).assign(label=label) for label, pairs in paired.items()]
    riskiest = [_riskiest(pairs, top).assign(label=label) for label, pairs in paired.items()]
    return Assessment(
        risk,
        utility,
        measured.records.rename(columns={CONFIDENTIAL: ITSELF}),
        contributions=pd.concat(contributions, ignore_index=True) if paired else pd.DataFrame(),
        riskiest=pd.concat(riskiest) if paired else pd.DataFrame(),
        unpaired={tool.label: tool.reason for tool in tools if tool.paired is None},
    )


def _contributions(paired: Paired) -> pd.DataFrame:
    """What the risk would be if the intruder did not know one of the known variables."""

    def figures(seen: Paired) -> tuple[float, float]:
        return float(identification_risks(seen).mean()), match(seen).expected_match_risk

    world, scenario = paired.world, paired.world.scenario
    risk, matches = figures(paired)
    rows = []
    for name in scenario.known:
        fewer = world.under(
            replace(scenario, known=tuple(other for other in scenario.known if other != name))
        )
        without = figures(Paired(fewer, paired.frames))
        rows.append((name, without[0], risk - without[0], without[1], matches - without[1]))
    columns = ["known_variable", "risk_without", "risk_added", "matches_without", "matches_added"]
    return pd.DataFrame(rows, columns=columns)


def _riskiest(paired: Paired, top: int) -> pd.DataFrame:
    """The `top` records by identification risk (ties: by expected match), with what makes them
    so.
    """
    risk, matches = identification_risks(paired).mean(axis=0), match(paired)
    c, true = (
        matches.records[name].to_numpy(dtype=float).reshape(len(paired), -1) for name in ("c", "T")
    )
    table = pd.DataFrame(
        {
            "identification_risk": risk,
            "expected_match": matches.expected_by_target,
            "mean_matches": c.mean(axis=0),
            "share_own_value_close": true.mean(axis=0),
            "records_in_pattern": paired.world.patterns.in_pattern,
        },
        index=paired.world.confidential.index.rename("record"),
    )
    return table.sort_values(
        ["identification_risk", "expected_match"], ascending=False, kind="stable"
    ).head(top)
