"""What each way of synthesizing costs: risk and utility of L synthetic datasets per label, as tidy tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_names, check_seed
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns
from riskweighted.common.native import as_pandas
from riskweighted.contract.categories import codes_in
from riskweighted.evaluation.expected import (
    Groups,
    Mechanism,
    chance_rows,
    check_fits,
    expected_rows,
    find_mechanism,
    groups_of,
    influence_rows,
)
from riskweighted.evaluation.fit_statistics import LEAST_TAIL
from riskweighted.evaluation.regressions import mean_overlaps, regression_rows
from riskweighted.evaluation.settings import EvaluationSettings
from riskweighted.evaluation.several import has_several, several_risk_rows, several_utility_rows, table_columns
from riskweighted.evaluation.summary import SummaryColumn, build_summary, summary_columns
from riskweighted.evaluation.survey import checked_design, survey_rows
from riskweighted.evaluation.tables import CONFIDENTIAL, Statistic, as_table, measured
from riskweighted.intruder.pairing import as_frames
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.statuses import MISSING, status_name
from riskweighted.intruder.world import Paired, World, make_world
from riskweighted.risk.confidential import confidential_risk
from riskweighted.risk.matching import mean_risk_and_matches
from riskweighted.risk.whack_a_mole import risk_rise, whacked
from riskweighted.utility.bootstrap import pooled_bootstrap
from riskweighted.utility.ecdf import mean_ecdf_distance, mean_total_variation
from riskweighted.utility.intervals import Interval, interval_overlap
from riskweighted.utility.regression import Regression, checked_regression, coefficient_interval
from riskweighted.utility.regressions import Analysis, checked_analyses
from riskweighted.utility.survey import SurveyDesign

if TYPE_CHECKING:  # at run time it would load xarray
    from riskweighted.sequence.fit import Fit

__all__ = ["Evaluation", "Once", "evaluate", "evaluate_world", "with_overlaps"]

Frames = Sequence[pd.DataFrame]
Once: TypeAlias = Callable[[str, str, Callable[[], Any]], Any]  # a part of an evaluation, a label, how it is made: what that makes


@dataclass(frozen=True)
class Evaluation:
    """Tables of an evaluation.

    Attributes
    ----------
    risk : DataFrame
        One row per (label, measure) of the records' risk.
    utility : DataFrame
        One row per (label, variable, measure): value, interval, the rule that made it, its overlap with the confidential one.
    records : DataFrame (n, labels)
        Identification risk of every record in these datasets (Hu et al. 2022, eq. 1). Confidential.
    expected : DataFrame (n, labels)
        Expected identification risk of every record, of the labels whose fits were given; no columns without any. Confidential.

    `risk` and `utility` have the columns of `riskweighted.evaluation.tables.COLUMNS`, as `Assessment.measures` has.
    """

    risk: pd.DataFrame
    utility: pd.DataFrame
    records: pd.DataFrame = field(repr=False)
    expected: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)

    def summary(self) -> pd.DataFrame:
        """The main table: one row per label, the risk and utility figures side by side."""
        return build_summary(self.risk, self.utility)

    def columns(self) -> tuple[SummaryColumn, ...]:
        """What each column of the main table is, in order."""
        return summary_columns(self.risk, self.utility)


def evaluate(
    confidential: pd.DataFrame,
    synthetic: Mapping[str, Frames | pd.DataFrame],
    scenario: Scenario,
    *,
    baseline: str | None = None,
    baseline_risk: pd.Series | None = None,
    quantiles: Sequence[float] = EvaluationSettings.quantiles,
    regression: str | None = EvaluationSettings.regression,
    coefficient: str | None = EvaluationSettings.coefficient,
    regressions: Sequence[str] = EvaluationSettings.regressions,
    survey: str | None = EvaluationSettings.survey,
    strata: str | None = EvaluationSettings.strata,
    resamples: int = EvaluationSettings.resamples,
    level: float = EvaluationSettings.level,
    threshold: float = EvaluationSettings.threshold,
    increase: float = EvaluationSettings.increase,
    fits: Mapping[str, "Fit"] | None = None,
    risk_draws: int | None = EvaluationSettings.risk_draws,
    cluster: str | None = EvaluationSettings.cluster,
    unaltered: Sequence[str] | None = None,
    random_seed: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Score synthetic datasets on identification risk and utility (METHODS sections 2 and 6).

    At L = 20 a maximum or a count of records over datasets is mostly chance. Give the `fits` too, and the risk of the mechanism stands
    before that of these datasets: expected risk with its Monte Carlo error, the counts that chance makes likely, and influence.

    Parameters
    ----------
    confidential : DataFrame, n rows
    synthetic : mapping of label to a list of L DataFrames
        Each pairs with `confidential` row by row (same index). Of a sequence that makes its items when they are indexed, each is made
        once, and nothing but its columns that are measured is held while its label is.
    scenario : Scenario
    baseline : str, optional
        Label of the unweighted synthesizer; with it, whack-a-mole records are counted for the other labels.
    baseline_risk : Series (n,), optional
        Risk of every record under it, where `synthetic` does not hold it.
    quantiles, regression, coefficient, regressions, survey, strata, resamples, level, threshold, increase, risk_draws, cluster
        See `EvaluationSettings`.
    unaltered : sequence of str, optional
        Columns that are not synthesized, whose tables with the synthesized variables are compared where these are two or more; by default
        the known variables.
    fits : mapping of label to Fit, optional
        The fits that labels of `synthetic` were drawn from.
    random_seed : int, optional
        For the bootstrap and the expected risk.
    progress : callable, optional
        Called with (labels done, labels in all).

    Returns
    -------
    Evaluation

    Raises
    ------
    InputError
        If a frame does not pair with the confidential data, the baseline or that of a fit is no label, a fit has fewer draws than
        `risk_draws`, or a setting is not valid.
    """
    confidential, synthetic = as_pandas(confidential), as_pandas(synthetic)
    settings = EvaluationSettings(
        quantiles=quantiles,
        regression=regression,
        coefficient=coefficient,
        regressions=regressions,
        survey=survey,
        strata=strata,
        resamples=resamples,
        level=level,
        threshold=threshold,
        increase=increase,
        risk_draws=risk_draws,
        cluster=cluster,
    )
    if cluster is not None:
        require_columns(confidential, [cluster], "confidential data")
    require_columns(confidential, check_names(() if unaltered is None else unaltered, "unaltered"), "confidential data (unaltered)")
    check_seed(random_seed)
    world = make_world(confidential, scenario)
    analysis = checked_regression(confidential, regression, coefficient, scenario.synthetic)
    check_fits(fits or {}, list(synthetic), confidential)
    return evaluate_world(
        world,
        synthetic,
        settings,
        analysis,
        mechanisms=None if fits is None else {name: find_mechanism(name, fit, world, settings, random_seed) for name, fit in fits.items()},
        baseline=baseline,
        baseline_risk=baseline_risk,
        unaltered=unaltered,
        random_seed=random_seed,
        progress=progress,
    )


def _afresh(part: str, label: str, make: Callable[[], Any]) -> Any:
    return make()


def evaluate_world(
    world: World,
    synthetic: Mapping[str, Frames | pd.DataFrame],
    settings: EvaluationSettings,
    analysis: Regression | None,
    *,
    mechanisms: Mapping[str, Mechanism] | None = None,
    baseline: str | None = None,
    baseline_risk: pd.Series | None = None,
    unaltered: Sequence[str] | None = None,
    random_seed: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    once: Once = _afresh,
) -> Evaluation:
    """`evaluate` of checked confidential data and a checked regression; `mechanisms` by label, that of the baseline too.

    `once`: for whoever evaluates often what agrees in part; it may give what the same part came to before. Parts of a label: its datasets
    "paired", their "scores" (risk by record and matches), rows of "utility" (under the label's own seed), of risk on "several" variables
    one by one, and "summary", those on all.
    """
    labelled = {label: as_frames(frames) for label, frames in synthetic.items()}
    _check_labels(labelled, baseline, baseline_risk, len(world.confidential))
    check_seed(random_seed)
    records = pd.DataFrame({CONFIDENTIAL: confidential_risk(world)})
    groups = groups_of(world, records[CONFIDENTIAL].to_numpy())
    every = {CONFIDENTIAL: [world.confidential], **labelled}
    design = checked_design(world.confidential, settings, world.scenario.synthetic)
    analyses = checked_analyses(
        world.confidential, settings.regressions, {name: world.scenario.codes_of(name) for name in world.scenario.codes}
    )
    crossed = table_columns(world, unaltered) if has_several(world) else ()
    further = _further_columns(analysis, analyses, design, crossed)
    seeds = np.random.SeedSequence(random_seed).spawn(len(every))
    utility: list[dict[str, Any]] = []
    several: dict[str, list[dict[str, Any]]] = {}
    for done, ((label, given), seed) in enumerate(zip(every.items(), seeds, strict=True)):
        of_data = label == CONFIDENTIAL
        paired = Paired(world, (world.confidential,) if of_data else once("paired", label, partial(world.pair, given, further)).frames)
        risk_of_all, matches = once("scores", label, partial(mean_risk_and_matches, paired))
        if label != CONFIDENTIAL:
            records[label] = risk_of_all
        rng = np.random.default_rng(seed)
        utility += once("utility", label, partial(_label_utility, label, paired, settings, analysis, rng, design, analyses, crossed))
        if has_several(world):
            rows = several_risk_rows(label, paired, records[label].to_numpy(), matches, groups.isolated)
            several[label] = once("several", label, partial(list, rows))
        if progress is not None:
            progress(done + 1, len(every))
    against = records[baseline] if baseline is not None and baseline_risk is None else baseline_risk
    risk: list[dict[str, Any]] = []
    for label in records:
        own = _label_risk(label, world, len(every[label]), records, groups, settings, mechanisms, baseline, against)
        risk += [*once("summary", label, partial(list, own)), *several.get(label, [])]
    chosen = {label: mechanisms[label].risk.risk for label in labelled if label in mechanisms} if mechanisms else {}
    by_record = records[[CONFIDENTIAL]].assign(**chosen) if chosen else records[[]]
    compared = list(with_overlaps(utility))
    return Evaluation(as_table(risk), as_table([*compared, *mean_overlaps(compared)]), records, by_record)


def _label_utility(
    label: str,
    paired: Paired,
    settings: EvaluationSettings,
    analysis: Regression | None,
    rng: np.random.Generator,
    design: SurveyDesign | None,
    analyses: Sequence[Analysis],
    crossed: Sequence[str],
) -> list[dict[str, Any]]:
    """All rows of the utility of one label."""
    world, frames = paired.world, paired.frames
    rows = list(_utility_rows(label, world, frames, settings, analysis, rng))
    if design is not None:
        rows += survey_rows(label, world, frames, settings, design)
    rows += regression_rows(label, analyses, frames, design, settings.level)
    if has_several(world):
        rows += several_utility_rows(label, world, frames, crossed)
    return rows


def _label_risk(
    label: str,
    world: World,
    datasets: int,
    records: pd.DataFrame,
    groups: Groups,
    settings: EvaluationSettings,
    mechanisms: Mapping[str, Mechanism] | None,
    baseline: str | None,
    against: pd.Series | None,
) -> Iterator[dict[str, Any]]:
    """All rows of the risk of one label on all variables; `records`: the risk of every record by label."""
    if mechanisms is not None:
        yield from _mechanism_rows(label, records[CONFIDENTIAL].to_numpy(), groups, settings, mechanisms, datasets, baseline)
    yield from _risk_rows(label, records[label], world.patterns.singletons, settings.threshold)
    compared = mechanisms is None or label not in mechanisms or mechanisms[label].compared
    if baseline is not None and against is not None and compared and label not in (CONFIDENTIAL, baseline):
        yield from _rise_rows(label, records[label].to_numpy(), baseline, against.to_numpy(), settings.increase)


def _further_columns(
    analysis: Regression | None, analyses: Sequence[Analysis], design: SurveyDesign | None, crossed: Sequence[str]
) -> list[str]:
    """What is needed of a dataset beside the scenario's columns."""
    names = [*crossed, *(() if analysis is None else analysis.columns)]
    names += [name for one in analyses for name in one.columns]
    names += [] if design is None else [name for name in (design.column, design.stratified_by) if name is not None]
    return list(dict.fromkeys(names))


def _mechanism_rows(
    label: str,
    confidential_risk: np.ndarray,
    groups: Groups,
    settings: EvaluationSettings,
    mechanisms: Mapping[str, Mechanism],
    datasets: int,
    baseline: str | None,
) -> Iterator[dict[str, Any]]:
    """Expected risk, what chance makes of it in so many datasets, and influence; nothing of a label without a fit."""
    if label != CONFIDENTIAL and label not in mechanisms:
        return
    if label == CONFIDENTIAL:
        yield from expected_rows(label, confidential_risk, groups, settings.threshold)
        return
    against = (
        (baseline, mechanisms[baseline].risk)
        if baseline is not None and baseline in mechanisms and label != baseline and mechanisms[label].compared
        else None
    )
    yield from expected_rows(label, mechanisms[label].risk, groups, settings.threshold, against)
    yield from chance_rows(label, mechanisms[label].risk, datasets, settings, against)
    yield from influence_rows(label, mechanisms[label], groups, settings.cluster)


def _check_labels(labelled: Mapping[str, Frames], baseline: str | None, baseline_risk: pd.Series | None, n: int) -> None:
    if not labelled:
        raise InputError("no synthetic data was given: pass {label: list of DataFrames}")
    if CONFIDENTIAL in labelled:
        raise InputError(f"the label {CONFIDENTIAL!r} is taken by the confidential data; choose another")
    if baseline_risk is None:
        if baseline is not None and baseline not in labelled:
            raise InputError(f"baseline {baseline!r} is no label of the synthetic data; valid are {listing(labelled)}")
        return
    if baseline is None or baseline in labelled:
        raise InputError("baseline_risk is that of a baseline which synthetic does not hold: name it in baseline")
    if len(baseline_risk) != n:
        raise InputError(f"baseline_risk must hold the risk of each of the {n} records, got {len(baseline_risk)}")


def _risk_rows(label: str, risk: pd.Series, singletons: int, threshold: float) -> Iterator[dict[str, Any]]:
    """Summaries of the risk of the records under one label."""
    q25, q50, q75, q95 = risk.quantile([0.25, 0.5, 0.75, 0.95])
    over = Statistic("records-over", parameter=float(threshold))
    values = {
        Statistic("mean-risk"): risk.mean(),
        Statistic("median-risk"): q50,
        Statistic("risk-interquartile-range"): q75 - q25,
        Statistic("risk-quantile-95"): q95,
        Statistic("maximum-risk"): risk.max(),
        over: float((risk > threshold).sum()),
        Statistic("singleton-patterns"): float(singletons),
    }
    for statistic, value in values.items():
        yield measured(label, statistic, value, statistic.define_risk(label))


def _rise_rows(label: str, risk: np.ndarray, baseline: str, against: np.ndarray, increase: float) -> Iterator[dict[str, Any]]:
    """Whose risk rose over the baseline, and the largest rise."""
    values = {
        Statistic("whack-a-mole", parameter=float(increase)): float(whacked(risk, against, increase).sum()),
        Statistic("largest-rise"): risk_rise(risk, against).max(),
    }
    for statistic, value in values.items():
        yield measured(label, statistic, value, statistic.define_risk(label, baseline))


def _utility_rows(
    label: str, world: World, frames: Frames, settings: EvaluationSettings, analysis: Regression | None, rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """Every numeric synthetic variable, every categorical one, then the regression."""
    for name in world.numeric:
        own, theirs = (world.scenario.statuses(world.confidential[name]), [world.scenario.statuses(frame[name]) for frame in frames])
        amounts = [one.amounts for one in theirs]
        ordered = [np.sort(values) for values in amounts]
        if label != CONFIDENTIAL:
            yield from _distance_rows(label, name, own.amounts, ordered)
        yield from _estimate_rows(label, name, amounts, ordered, settings, rng)
        for status in (status for status in own.present if (own.status == status).sum() >= LEAST_TAIL):
            statistic = Statistic("missing-share", name, term=status_name(status, world.scenario.codes_of(name)))
            yield _share_row(label, statistic, [one.status == status for one in theirs], settings, rng)
    for name in (name for name in world.scenario.synthetic if name not in world.numeric):
        yield from _level_rows(label, world.confidential[name], [frame[name] for frame in frames], settings, rng)
    if analysis is not None:
        statistic = Statistic("coefficient", analysis.response, term=analysis.coefficient)
        interval = coefficient_interval(analysis, frames, synthetic=label != CONFIDENTIAL, level=settings.level)
        yield _interval_row(label, statistic, interval, formula=analysis.formula)


def _distance_rows(label: str, variable: str, confidential: np.ndarray, values: list[np.ndarray]) -> Iterator[dict[str, Any]]:
    """Distances of the empirical distribution functions of one variable."""
    distance = mean_ecdf_distance(confidential, values)
    for key, value in (("ecdf-maximum", distance.maximum), ("ecdf-mean-square", distance.mean_square)):
        statistic = Statistic(key, variable)
        yield measured(label, statistic, value, statistic.define())


def _level_rows(
    label: str, confidential: pd.Series, columns: list[pd.Series], settings: EvaluationSettings, rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """Distance of the shares of the levels of one variable, then the share of each, missing too, that 10 confidential records hold."""
    name, held = str(confidential.name), confidential.value_counts() >= LEAST_TAIL
    levels = held.index[held].tolist()
    ordered = confidential.cat.categories if isinstance(confidential.dtype, pd.CategoricalDtype) else sorted(levels, key=str)
    if label != CONFIDENTIAL:
        statistic = Statistic("total-variation", name)
        yield measured(label, statistic, mean_total_variation(confidential, columns), statistic.define())
    shown = [level for level in ordered if level in levels]
    codes = [codes_in(column, shown) for column in columns]
    for place, level in enumerate(shown):
        statistic = Statistic("level-share", name, term=str(level))
        yield _share_row(label, statistic, [code == place for code in codes], settings, rng)
    if confidential.isna().sum() >= LEAST_TAIL:
        statistic = Statistic("missing-share", name, term=status_name(MISSING, ()))
        yield _share_row(label, statistic, [column.isna() for column in columns], settings, rng)


def _share_row(
    label: str, statistic: Statistic, having: Sequence[pd.Series | np.ndarray], settings: EvaluationSettings, rng: np.random.Generator
) -> dict[str, Any]:
    """The share of the records (n,) that have something, in each of L datasets."""
    counted = [np.asarray(own, dtype=float) for own in having]
    return _interval_row(label, statistic, pooled_bootstrap(counted, None, rng, resamples=settings.resamples, level=settings.level))


def _estimate_rows(
    label: str, variable: str, amounts: list[np.ndarray], ordered: list[np.ndarray], settings: EvaluationSettings, rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """Mean and quantiles of one variable; its amounts in each dataset, and the same sorted."""
    for quantile in (None, *map(float, settings.quantiles)):
        statistic = Statistic("mean", variable) if quantile is None else Statistic("quantile", variable, quantile)
        values = amounts if quantile is None else ordered
        yield _interval_row(label, statistic, pooled_bootstrap(values, quantile, rng, resamples=settings.resamples, level=settings.level))


def _interval_row(label: str, statistic: Statistic, interval: Interval, **context: str) -> dict[str, Any]:
    bounds = (interval.lower, interval.upper)
    return measured(label, statistic, interval.estimate, statistic.define(**context), interval=bounds, rule=interval.rule)


def with_overlaps(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Each interval's overlap with the confidential one of the same statistic; none where either has no length."""

    def which(row: dict[str, Any]) -> tuple[object, ...]:
        return tuple(row[name] for name in ("key", "variable", "parameter", "term"))

    own = {which(row): (row["lower"], row["upper"]) for row in rows if row["label"] == CONFIDENTIAL}
    for row in rows:
        theirs, reference = (row["lower"], row["upper"]), own.get(which(row), (np.nan, np.nan))
        compared = row["label"] != CONFIDENTIAL and theirs[0] < theirs[1] and reference[0] < reference[1]
        yield {**row, "overlap": interval_overlap(reference, theirs) if compared else np.nan}
