"""What each way of synthesizing costs: risk and utility of L synthetic datasets per label, as tidy
tables.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_given, check_names, check_seed
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns, with_columns
from riskweighted.common.html_repr import html_repr
from riskweighted.common.native import Frame, GivenFrames, as_pandas
from riskweighted.evaluation.computing import added_measures, measured_rows
from riskweighted.evaluation.main_table import SummaryColumn, build_summary, summary_columns
from riskweighted.evaluation.measure_rows import CONFIDENTIAL, as_row, as_table
from riskweighted.evaluation.mechanism import check_fits, find_mechanism
from riskweighted.evaluation.tools import Tool
from riskweighted.intruder.pairing import as_frames
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import Paired, World, make_world
from riskweighted.measures.analyses import mean_overlaps
from riskweighted.measures.context import Baseline, Context, EvaluationInputs, Mechanism, Ratios
from riskweighted.measures.cross_tables import table_columns
from riskweighted.measures.evaluation_settings import EvaluationSettings
from riskweighted.measures.survey_values import checked_design
from riskweighted.risk.matching import mean_risk_and_matches
from riskweighted.utility.combining_rules import interval_overlap
from riskweighted.utility.own_analyses import checked_own_analyses
from riskweighted.utility.regressions import Analysis, checked_analyses, checked_regression

if TYPE_CHECKING:  # at run time it would load xarray
    from riskweighted.sequence.fit import Fit

__all__ = ["Evaluation", "Once", "evaluate", "evaluate_tools", "evaluate_world"]

Frames = Sequence[pd.DataFrame]
# a part of an evaluation, a label, how it is made: what that makes
Once: TypeAlias = Callable[[str, str, Callable[[], Any]], Any]
_TABLES = ("utility", "risk")


@dataclass(frozen=True)
class Evaluation:
    """An evaluation holds the tables of risk and of utility of each label.

    Attributes
    ----------
    risk : DataFrame
        One row per (label, measure) of the records' risk.
    utility : DataFrame
        One row per (label, variable, measure): value, interval, the rule that made it, its overlap
        with the confidential one.
    records : DataFrame (n, labels)
        Identification risk of every record in these datasets (Hu et al. 2022, eq. 1). Confidential.
    expected : DataFrame (n, labels)
        Expected identification risk of every record, of the labels whose fits were given; no
        columns without any. Confidential.

    `risk` and `utility` have the columns of `riskweighted.evaluation.measure_rows.COLUMNS`, as
    `Assessment.measures` has.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario, synthetic
    >>> rw.evaluate(data, {"drawn": synthetic}, scenario, random_seed=1).records.round(2).head(2)
       confidential  drawn
    0          0.76   0.22
    1          0.73   0.45
    """

    risk: pd.DataFrame
    utility: pd.DataFrame
    records: pd.DataFrame = field(repr=False)
    expected: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)

    def __repr__(self) -> str:
        labels = list(dict.fromkeys(map(str, self.risk["label"])))
        return (
            f"{type(self).__name__}({', '.join(labels)}; {len(self.risk)} rows of risk, "
            f"{len(self.utility)} of utility)"
        )

    def _repr_html_(self) -> str:
        table = self.summary().T
        note = (
            "risk and utility say by which definition each figure was made. Confidential: "
            "records and expected are of single records."
        )
        return html_repr("Evaluation", table=table, note=note)

    def summary(self) -> pd.DataFrame:
        """The main table: one row per label, the risk and utility figures side by side."""
        return build_summary(self.risk, self.utility)

    def columns(self) -> tuple[SummaryColumn, ...]:
        """What each column of the main table is, in order."""
        return summary_columns(self.risk, self.utility)


def evaluate(
    confidential: Frame,
    synthetic: "Mapping[str, GivenFrames]",
    scenario: Scenario,
    *,
    settings: EvaluationSettings | None = None,
    fits: Mapping[str, "Fit"] | None = None,
    baseline: str | None = None,
    unaltered: Sequence[str] | None = None,
    random_seed: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Return the identification risk and the utility of synthetic datasets (METHODS sections 2 and
    6).

    At L = 20 a maximum or a count of records over datasets is mostly chance. Give the `fits` too,
    and the risk of the mechanism stands before that of these datasets: expected risk with its Monte
    Carlo error, the counts that chance makes likely, and influence.

    Parameters
    ----------
    confidential : DataFrame, n rows
    synthetic : mapping of label to a list of L DataFrames
        Each pairs with `confidential` row by row (same index). Of a sequence that makes its items
        when they are indexed, each is made once, and nothing but its columns that are measured is
        held while its label is.
    scenario : Scenario
    settings : EvaluationSettings, optional
        What is reported, and how.
    fits : mapping of label to Fit, optional
        The fits that labels of `synthetic` were drawn from.
    baseline : str, optional
        Label of the unweighted synthesizer; with it, whack-a-mole records are counted for the other
        labels.
    unaltered : sequence of str, optional
        Columns that are not synthesized, whose tables with the synthesized variables are compared
        where these are two or more; by default the known variables.
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
        If a frame does not pair with the confidential data, the baseline or that of a fit is no
        label, a fit has fewer draws than ``settings.risk_draws``, or a setting does not suit the
        data.

    Warns
    -----
    RiskWeightedWarning
        If a measure that another package registers fails; it is left out.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario, synthetic
    >>> evaluation = rw.evaluate(data, {"drawn": synthetic}, scenario, random_seed=1)
    >>> evaluation.summary()[["mean risk", "U_m of income"]].round(3)
    measure       mean risk  U_m of income
    label
    confidential      0.807            NaN
    drawn             0.193          0.097
    """
    confidential, synthetic = as_pandas(confidential), as_pandas(synthetic)
    settings = EvaluationSettings() if settings is None else settings
    if not isinstance(settings, EvaluationSettings):
        raise InputError(f"settings must be EvaluationSettings, got {type(settings).__name__}")
    if settings.cluster is not None:
        require_columns(confidential, [settings.cluster], "confidential data")
    require_columns(
        confidential,
        check_names(() if unaltered is None else unaltered, "unaltered"),
        "confidential data (unaltered)",
    )
    check_seed(random_seed)
    given = fits.values() if isinstance(fits, Mapping) else ()
    declared = (fit.synthesizer for fit in given if hasattr(fit, "synthesizer"))
    units = next(filter(None, (getattr(each, "units", None) for each in declared)), None)
    world = make_world(confidential, scenario, units)
    analysis = checked_regression(
        confidential, settings.regression, settings.coefficient, scenario.synthetic
    )
    check_given(
        synthetic,
        "synthetic",
        "items",
        "mapping of labels to datasets",
        "{LABEL: fit.synthesize(L)}",
    )
    check_fits(fits or {}, list(synthetic), confidential)
    return evaluate_world(
        world,
        synthetic,
        settings,
        analysis,
        mechanisms=None
        if fits is None
        else {
            name: find_mechanism(name, fit, world, settings, random_seed)
            for name, fit in fits.items()
        },
        fits=fits,
        baseline=baseline,
        unaltered=unaltered,
        random_seed=random_seed,
        progress=progress,
    )


def _afresh(part: str, label: str, make: Callable[[], Any]) -> Any:
    return make()


def evaluate_world(
    world: World,
    synthetic: "Mapping[str, GivenFrames]",
    settings: EvaluationSettings,
    analysis: Analysis | None,
    *,
    mechanisms: Mapping[str, Mechanism] | None = None,
    fits: Mapping[str, "Fit"] | None = None,
    baseline: str | None = None,
    baseline_risk: pd.Series | None = None,
    unaltered: Sequence[str] | None = None,
    random_seed: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    once: Once = _afresh,
) -> Evaluation:
    """`evaluate` of checked confidential data and a checked regression.

    `mechanisms` by label, that of the baseline too; `baseline_risk`: the risk of every record under
    a baseline that `synthetic` does not hold, (n,). `once`: for whoever evaluates often what agrees
    in part; it may give what the same part came to before. Parts of a label: its datasets "paired",
    their "scores" (risk by record and matches), rows of "utility" (under the label's own seed) and
    of "risk".
    """
    labelled = {label: as_frames(frames) for label, frames in synthetic.items()}
    _check_labels(labelled, baseline, baseline_risk, len(world.confidential))
    check_seed(random_seed)
    subject = _subject(world, settings, analysis, unaltered, expected=mechanisms is not None)
    further = [*subject.columns, *((unaltered or ()) if added_measures() else ())]

    def paired(label: str) -> Tool:
        pairs = once("paired", label, partial(world.pair, labelled[label], further))
        return Tool(label, pairs.frames, Paired(world, pairs.frames))

    itself = Paired(world, (world.confidential,))
    made: dict[str, Callable[[], Tool]] = {
        CONFIDENTIAL: lambda: Tool(CONFIDENTIAL, itself.frames, itself),
        **{label: partial(paired, label) for label in labelled},
    }
    measured = evaluate_tools(
        subject,
        made,
        mechanisms=mechanisms or {},
        fits=fits or {},
        baseline=baseline,
        baseline_risk=None if baseline_risk is None else baseline_risk.to_numpy(),
        random_seed=random_seed,
        progress=progress,
        once=once,
    )
    records = measured.records
    chosen = {
        label: mechanism.risk.risk
        for label, mechanism in (mechanisms or {}).items()
        if label in labelled
    }
    by_record = with_columns(records[[CONFIDENTIAL]], chosen) if chosen else records[[]]
    return replace(measured, expected=by_record)


def evaluate_tools(
    subject: EvaluationInputs,
    made: Mapping[str, Callable[[], Tool]],
    *,
    mechanisms: Mapping[str, Mechanism],
    fits: Mapping[str, "Fit"],
    baseline: str | None,
    baseline_risk: np.ndarray | None,
    random_seed: int | None,
    progress: Callable[[int, int], None] | None,
    once: Once = _afresh,
) -> Evaluation:
    """The one evaluation: every measure of the registry that a label has what it needs for, of the
    datasets of each label, which are made when it is their turn; records of those whose rows pair.
    """
    world = subject.world
    seeds = dict(zip(made, np.random.SeedSequence(random_seed).spawn(len(made)), strict=True))
    scored = dict[str, np.ndarray]()
    rows = {table: {label: list[dict[str, Any]]() for label in made} for table in _TABLES}
    # numbers first in the table of utility
    ordered = [
        *world.numeric,
        *(name for name in world.scenario.synthetic if name not in world.numeric),
    ]
    # the baseline first: others are held against it
    for done, label in enumerate(sorted(made, key=lambda name: name != baseline)):
        tool = made[label]()
        of_records = matched = None
        if tool.paired is not None:
            of_records, matched = once("scores", label, partial(mean_risk_and_matches, tool.paired))
            scored[label] = subject.confidential_risk if label == CONFIDENTIAL else of_records
            baseline_risk = of_records if label == baseline else baseline_risk
        context = Context(
            label,
            replace(subject, holdout=None) if tool.sampled else subject,
            tool.frames,
            np.random.default_rng(seeds[label]),
            fit=fits.get(label),
            mechanism=mechanisms.get(label),
            paired=tool.paired,
            risk=scored.get(label),
            matched=matched,
            baseline=_rival(label, baseline, baseline_risk, mechanisms),
            size_ratio=tool.size_ratio(len(world.confidential)),
            sampled=tool.sampled,
            ratios=Ratios.of(fits.get(label), subject),
        )
        for table, names in zip(_TABLES, (ordered, world.scenario.synthetic), strict=True):
            rows[table][label] = [
                *once(table, label, partial(measured_rows, context, table, names)),
                *measured_rows(context, table, names, ours=False),
            ]
        if progress is not None:
            progress(done + 1, len(made))
    of_labels = {label: scored[label] for label in made if label in scored}
    return Evaluation(
        as_table(row for label in made for row in rows["risk"][label]),
        _utility_table(rows["utility"].values()),
        pd.DataFrame(of_labels, world.confidential.index),
    )


def _subject(
    world: World,
    settings: EvaluationSettings,
    analysis: Analysis | None,
    unaltered: Sequence[str] | None,
    *,
    expected: bool,
) -> EvaluationInputs:
    """What all labels have in common, checked."""
    codes = {name: world.scenario.codes_of(name) for name in world.scenario.codes}
    design = checked_design(world.confidential, settings, world.scenario.synthetic, world.units)
    return EvaluationInputs(
        world,
        settings,
        analysis,
        checked_analyses(world.confidential, settings.regressions, codes),
        design,
        checked_own_analyses(world.confidential, settings.analyses, design),
        table_columns(world, unaltered) if len(world.scenario.synthetic) > 1 else (),
        expected=expected,
    )


def _rival(
    label: str, baseline: str | None, risk: np.ndarray | None, mechanisms: Mapping[str, Mechanism]
) -> Baseline | None:
    """What a label is held against; nothing of the confidential data, the baseline itself, and what
    keeps true values.
    """
    compared = label not in mechanisms or mechanisms[label].compared
    if baseline is None or label in (CONFIDENTIAL, baseline) or not compared:
        return None
    return Baseline(baseline, risk, mechanisms.get(baseline))


def _check_labels(
    labelled: Mapping[str, Frames], baseline: str | None, baseline_risk: pd.Series | None, n: int
) -> None:
    if not labelled:
        raise InputError("no synthetic data was given: pass {label: list of DataFrames}")
    if CONFIDENTIAL in labelled:
        raise InputError(
            f"the label {CONFIDENTIAL!r} is taken by the confidential data; choose another"
        )
    if baseline_risk is None:
        if baseline is not None and baseline not in labelled:
            raise InputError(
                f"baseline {baseline!r} is no label of the synthetic data; valid are "
                f"{listing(labelled)}"
            )
        return
    if baseline is None or baseline in labelled:
        raise InputError(
            "baseline_risk is that of a baseline which synthetic does not hold: name it in baseline"
        )
    if len(baseline_risk) != n:
        raise InputError(
            f"baseline_risk must hold the risk of each of the {n} records, got {len(baseline_risk)}"
        )


def _utility_table(utility: Iterable[list[dict[str, Any]]]) -> pd.DataFrame:
    """The table of utility of all labels' rows: with the overlaps of their intervals, and the mean
    overlap of each regression.
    """
    compared = list(_with_overlaps([row for rows in utility for row in rows]))
    return as_table(
        [*compared, *(as_row(label, value) for label, value in mean_overlaps(compared))]
    )


def _with_overlaps(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Each interval's overlap with the confidential one of the same statistic; none where either
    has no length.
    """

    def which(row: dict[str, Any]) -> tuple[object, ...]:
        return tuple(row[name] for name in ("key", "variable", "parameter", "term"))

    ends = {
        which(row): (row["lower"], row["upper"]) for row in rows if row["label"] == CONFIDENTIAL
    }
    for row in rows:
        theirs, reference = (row["lower"], row["upper"]), ends.get(which(row), (np.nan, np.nan))
        compared = (
            row["label"] != CONFIDENTIAL and theirs[0] < theirs[1] and reference[0] < reference[1]
        )
        yield {**row, "overlap": interval_overlap(reference, theirs) if compared else np.nan}
