"""What each way of synthesizing costs: risk and utility of L synthetic datasets per label, as tidy
tables.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_given, check_names, check_seed
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns, with_columns
from riskweighted.common.native import Frame, GivenFrames, as_pandas
from riskweighted.common.notebook import card
from riskweighted.evaluation.computing import added_measures, added_rows, measured_rows
from riskweighted.evaluation.expected import check_fits, find_mechanism
from riskweighted.evaluation.summary import SummaryColumn, build_summary, summary_columns
from riskweighted.evaluation.tables import CONFIDENTIAL, as_row, as_table
from riskweighted.intruder.pairing import as_frames
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import Paired, World, make_world
from riskweighted.measures.context import Context, Mechanism, Ratios, Rival, Subject
from riskweighted.measures.regressions import mean_overlaps
from riskweighted.measures.settings import EvaluationSettings
from riskweighted.measures.survey import checked_design
from riskweighted.measures.tables import table_columns
from riskweighted.risk.matching import mean_risk_and_matches
from riskweighted.utility.analyses import checked_own_analyses
from riskweighted.utility.intervals import interval_overlap
from riskweighted.utility.regressions import Analysis, checked_analyses, checked_regression

if TYPE_CHECKING:  # at run time it would load xarray
    from riskweighted.sequence.fit import Fit

__all__ = ["Evaluation", "Once", "evaluate", "evaluate_world", "utility_table"]

Frames = Sequence[pd.DataFrame]
# a part of an evaluation, a label, how it is made: what that makes
Once: TypeAlias = Callable[[str, str, Callable[[], Any]], Any]


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

    `risk` and `utility` have the columns of `riskweighted.evaluation.tables.COLUMNS`, as
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
            f"Evaluation({', '.join(labels)}; {len(self.risk)} rows of risk, {len(self.utility)} "
            "of utility)"
        )

    def _repr_html_(self) -> str:
        table = self.summary().T
        note = (
            "risk and utility say by which definition each figure was made. Confidential: "
            "records and expected are of single records."
        )
        return card("Evaluation", table=table, note=note)

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
    world = make_world(confidential, scenario)
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
    every: dict[str, Frames] = {CONFIDENTIAL: [world.confidential], **labelled}
    seeds = dict(zip(every, np.random.SeedSequence(random_seed).spawn(len(every)), strict=True))
    scored = {CONFIDENTIAL: subject.confidential_risk}
    against = None if baseline_risk is None else baseline_risk.to_numpy()
    risk: dict[str, list[dict[str, Any]]] = {label: [] for label in every}
    utility: dict[str, list[dict[str, Any]]] = {label: [] for label in every}
    # the baseline first: others are held against it
    for done, label in enumerate(sorted(every, key=lambda name: name != baseline)):
        given = (
            (world.confidential,)
            if label == CONFIDENTIAL
            else once("paired", label, partial(world.pair, every[label], further)).frames
        )
        paired = Paired(world, given)
        of_records, matched = once("scores", label, partial(mean_risk_and_matches, paired))
        against = of_records if label == baseline else against
        scored.setdefault(label, of_records)
        context = Context(
            label,
            subject,
            paired.frames,
            np.random.default_rng(seeds[label]),
            fit=(fits or {}).get(label),
            mechanism=(mechanisms or {}).get(label),
            paired=paired,
            risk=scored[label],
            matched=matched,
            baseline=_rival(label, baseline, against, mechanisms or {}),
            ratios=Ratios.of((fits or {}).get(label), subject),
        )
        ordered = [
            *world.numeric,
            *(name for name in world.scenario.synthetic if name not in world.numeric),
        ]
        for table, rows, names in (
            ("utility", utility, ordered),
            ("risk", risk, world.scenario.synthetic),
        ):
            rows[label] = [
                *once(table, label, partial(measured_rows, context, table, names)),
                *added_rows(context, table),
            ]
        if progress is not None:
            progress(done + 1, len(every))
    records = pd.DataFrame({label: scored[label] for label in every}, world.confidential.index)
    chosen = (
        {label: mechanisms[label].risk.risk for label in labelled if label in mechanisms}
        if mechanisms
        else {}
    )
    by_record = with_columns(records[[CONFIDENTIAL]], chosen) if chosen else records[[]]
    return Evaluation(
        as_table(row for label in every for row in risk[label]),
        utility_table(utility.values()),
        records,
        by_record,
    )


def _subject(
    world: World,
    settings: EvaluationSettings,
    analysis: Analysis | None,
    unaltered: Sequence[str] | None,
    *,
    expected: bool,
) -> Subject:
    """What all labels have in common, checked."""
    codes = {name: world.scenario.codes_of(name) for name in world.scenario.codes}
    design = checked_design(world.confidential, settings, world.scenario.synthetic)
    return Subject(
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
) -> Rival | None:
    """What a label is held against; nothing of the confidential data, the baseline itself, and what
    keeps true values.
    """
    compared = label not in mechanisms or mechanisms[label].compared
    if baseline is None or label in (CONFIDENTIAL, baseline) or not compared:
        return None
    return Rival(baseline, risk, mechanisms.get(baseline))


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


def utility_table(utility: Iterable[list[dict[str, Any]]]) -> pd.DataFrame:
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
