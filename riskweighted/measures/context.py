"""What a measure is computed from: one label's datasets beside the confidential data, under a
scenario. All of it is confidential.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from riskweighted.measures.evaluation_settings import EvaluationSettings

if TYPE_CHECKING:  # the summary of a finished run must not wait for what these load
    from riskweighted.intruder.scenario import Scenario
    from riskweighted.intruder.world import Paired, World
    from riskweighted.risk.expected_identification import ExpectedRisk
    from riskweighted.utility.own_analyses import OwnAnalysis
    from riskweighted.utility.regressions import Analysis
    from riskweighted.utility.survey_design import SurveyDesign

__all__ = ["CONFIDENTIAL", "Baseline", "Context", "EvaluationInputs", "Mechanism", "Ratios"]

CONFIDENTIAL = "confidential"  # label of the confidential data's own rows


@dataclass(frozen=True, eq=False)
class Mechanism:
    """Expected risk of a fit, and the influence of its records and of their clusters
    (`riskweighted.influence`), where it has any.

    ``compared``: whether its records' risk is held against that of the baseline, as that of
    protected true values never is.
    """

    risk: "ExpectedRisk" = field(repr=False)
    influence: pd.DataFrame | None = field(default=None, repr=False)
    clusters: pd.DataFrame | None = field(default=None, repr=False)
    compared: bool = True


@dataclass(frozen=True, eq=False)
class EvaluationInputs:
    """What all labels have in common: the world, the settings, and what was checked of them.

    ``own``: analyses that are functions; ``crossed``: the columns that are not synthesized whose
    tables are compared, ``unaltered`` as declared, or as any tool left them; ``holdout``: records
    of the same population; ``seed``: of what draws records; ``expected``: whether fits were given;
    ``disclosed``: of a fit and a seed D of one copy of each record, (n,), where it is known how the
    fit's weights were made.
    """

    world: "World" = field(repr=False)
    settings: EvaluationSettings
    analysis: "Analysis | None" = field(default=None, repr=False)
    analyses: "Sequence[Analysis]" = field(default=(), repr=False)
    design: "SurveyDesign | None" = field(default=None, repr=False)
    own: "Sequence[OwnAnalysis]" = field(default=(), repr=False)
    crossed: Sequence[str] = ()
    unaltered: bool = True
    holdout: pd.DataFrame | None = field(default=None, repr=False)
    seed: int = 0
    expected: bool = False
    disclosed: "Callable[[Any, int], np.ndarray] | None" = field(default=None, repr=False)

    @cached_property
    def confidential_risk(self) -> np.ndarray:
        """IR^c of every record, (n,)."""
        from riskweighted.risk.identification import confidential_risk

        return np.asarray(confidential_risk(self.world))

    @cached_property
    def isolated(self) -> np.ndarray:
        """Which records are isolated, booleans (n,)."""
        from riskweighted.risk.expected_identification import isolated_records

        return isolated_records(self.confidential_risk)

    @cached_property
    def top(self) -> np.ndarray | None:
        """Which records hold the top 1 % of values, booleans (n,); None unless there is one numeric
        variable.
        """
        if len(self.world.numeric) != 1:
            return None
        from riskweighted.risk.expected_identification import top_values

        statuses = self.world.scenario.statuses(self.world.confidential[self.world.numeric[0]])
        top = statuses.is_amount
        top[top] = top_values(statuses.amounts)
        return top

    @cached_property
    def clusters(self) -> "SurveyDesign | None":
        """Of records in units without survey weights these as sampling units."""
        of, units = self.world.arrangement, self.world.units
        if of is None or units is None or self.design is not None or len(of.sizes) < 2:
            return None
        from riskweighted.utility.survey_design import SurveyDesign

        ones, told = np.ones(len(of.unit)), f"robust to clusters by {units.id}"
        none, df = np.zeros(len(of.unit), dtype=np.int64), float(len(of.sizes) - 1)
        return SurveyDesign(ones, none, of.unit, np.zeros(1), "", told, (), df)

    @property
    def columns(self) -> list[str]:
        """What is needed of a dataset beside the scenario's columns."""
        names = [*self.crossed, *(() if self.analysis is None else self.analysis.columns)]
        names += [name for analysis in self.analyses for name in analysis.columns]
        names += list(self.world.confidential) if self.own else []  # a function may ask for any
        names += [] if self.world.units is None else list(self.world.units.totals)
        return list(dict.fromkeys([*names, *(() if self.design is None else self.design.columns)]))


@dataclass(frozen=True, eq=False)
class Baseline:
    """What a label is held against: the baseline's ``label``, the risk of its records (n,) and its
    mechanism, where they are known.
    """

    label: str
    risk: np.ndarray | None = field(default=None, repr=False)
    mechanism: Mechanism | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class Ratios:
    """By how much the centred weights of a fit enlarge the variance of estimates
    (`riskweighted.variance_ratios`), found when asked for.
    """

    fit: Any = field(repr=False)
    subject: EvaluationInputs = field(repr=False)

    @classmethod
    def of(cls, fit: Any, subject: EvaluationInputs) -> "Ratios | None":
        """Those of a fit; None where it is not centred."""
        centred = fit is not None and any(
            block.centring is not None for block in fit.blocks.values()
        )
        return cls(fit, subject) if centred else None

    @cached_property
    def table(self) -> pd.DataFrame:
        """What `variance_ratios` returns, for the regressions of the settings."""
        from riskweighted.utility.variance_ratios import ratios_of

        subject, scenario = self.subject, self.subject.world.scenario
        analyses = [*([] if subject.analysis is None else [subject.analysis]), *subject.analyses]
        codes = {name: scenario.codes_of(name) for name in scenario.codes}
        return ratios_of(self.fit, analyses, subject.settings.quantiles, codes).drop_duplicates(
            ["variable", "estimand"]
        )

    @cached_property
    def stated(self) -> float:
        """Kappa, the one that a release states; NaN where none is known."""
        from riskweighted.utility.variance_ratios import stated_ratio

        return stated_ratio(self.table)


@dataclass(frozen=True, eq=False)
class Context:
    """A context is what a measure is computed from: the datasets of one label beside the
    confidential data.

    Attributes
    ----------
    label : str
        Of the datasets; "confidential" where they are the confidential data themselves.
    subject : Subject
        What all labels have in common.
    synthetic : tuple of L DataFrames
        The scenario's columns and those that the settings name; rows need not pair.
    rng : Generator
    variable : str, optional
        The synthesized variable that is meant, of a measure that is computed for each.
    fit, mechanism : Fit, Mechanism; optional
        What they were drawn from, where it was given, and its expected risk and influence.
    paired : Paired, optional
        The datasets whose rows pair with the confidential ones.
    risk : array (n,), optional
        Identification risk of every record, mean over the datasets; ``matched``: its expected match
        T/c, likewise.
    baseline : Rival, optional
        The unweighted synthesizer, of a label that is held against it.
    size_ratio : float, optional
        Of fully synthetic data, n_syn / n; ``sampled``: whether the datasets are another sample of
        the population, and not synthetic.
    ratios : Ratios, optional
        Of a fit under centred weights, what they cost the variance of estimates.

    Examples
    --------
    >>> def rows(context: rw.Context) -> float:  # the computation of a measure
    ...     return float(np.mean([len(frame) for frame in context.synthetic]))
    """

    label: str
    subject: EvaluationInputs = field(repr=False)
    synthetic: tuple[pd.DataFrame, ...] = field(repr=False)
    rng: np.random.Generator = field(repr=False)
    variable: str | None = None
    fit: Any = field(default=None, repr=False)
    mechanism: Mechanism | None = field(default=None, repr=False)
    paired: "Paired | None" = field(default=None, repr=False)
    risk: np.ndarray | None = field(default=None, repr=False)
    matched: np.ndarray | None = field(default=None, repr=False)
    baseline: Baseline | None = field(default=None, repr=False)
    size_ratio: float | None = None
    sampled: bool = False
    ratios: Ratios | None = field(default=None, repr=False)

    @property
    def kappa(self) -> float:
        """What vbar is multiplied by in combining rules: 1 but of centred weights whose cost is
        known.
        """
        return 1.0 if self.ratios is None or np.isnan(self.ratios.stated) else self.ratios.stated

    @property
    def confidential(self) -> pd.DataFrame:
        """The confidential data, n rows."""
        return self.world.confidential

    @property
    def world(self) -> "World":
        return self.subject.world

    @property
    def scenario(self) -> "Scenario":
        return self.world.scenario

    @property
    def settings(self) -> EvaluationSettings:
        return self.subject.settings

    @property
    def of_data(self) -> bool:
        """Whether the datasets are the confidential data themselves."""
        return self.label == CONFIDENTIAL

    @property
    def true_values(self) -> pd.Series:
        """The variable that is meant in the confidential data, (n,)."""
        return self.confidential[self._named]

    @property
    def columns(self) -> list[pd.Series]:
        """The variable that is meant in each dataset."""
        return [frame[self._named] for frame in self.synthetic]

    @property
    def is_numeric(self) -> bool:
        """Whether the variable that is meant is matched in a ball."""
        return self._named in self.world.numeric

    @cached_property
    def amounts(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """Of a numeric variable its amounts, without missing values and special codes: the
        confidential ones, and those of each dataset.
        """
        true, *drawn = (
            self.scenario.statuses(column).amounts for column in (self.true_values, *self.columns)
        )
        return true, drawn

    @cached_property
    def counts(self) -> tuple[Any, list[Any]]:
        """How many records hold each amount and status, as `NumberCounts`, or each level, as
        `LevelCounts`, of the variable that is meant: in the confidential data, and in each dataset.
        """
        from riskweighted.common.value_counts import LevelCounts, NumberCounts

        def counts_of(column: pd.Series) -> NumberCounts | LevelCounts:
            if not self.is_numeric:
                return LevelCounts.of(column)
            statuses, codes = self.scenario.statuses(column), self.scenario.codes_of(self._named)
            return NumberCounts.of(statuses.amounts, statuses.status, len(codes))

        true = counts_of(self.true_values)
        return true, [true] if self.of_data else [counts_of(column) for column in self.columns]

    @property
    def _named(self) -> str:
        assert self.variable is not None, "a measure of the file asked for its variable"
        return self.variable
