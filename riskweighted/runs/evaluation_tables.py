"""What the fits of a study come to: the evaluation of their datasets, and the tables by which a run
is judged.
"""

from collections.abc import Collection, Mapping, Sequence

import pandas as pd

from riskweighted.evaluation.computing import released_rows
from riskweighted.evaluation.evaluate import Evaluation
from riskweighted.evaluation.fit_check import fit_verdict
from riskweighted.evaluation.judgement import FITS, JUDGED
from riskweighted.evaluation.main_table import CONVERGED_WORDS, FIT_COLUMNS
from riskweighted.runs.disclosure_stage import disclosure_tables
from riskweighted.runs.intruder_tables import tables_by_intruder
from riskweighted.runs.work import Work
from riskweighted.sampling.convergence import deciding_rows, verdict_of
from riskweighted.sequence.fit import Fit
from riskweighted.weights.scheme_names import UNWEIGHTED

__all__ = ["evaluate_labels", "summary_table"]


def evaluate_labels(
    work: Work, labels: Sequence[str] | None = None
) -> tuple[Evaluation, dict[str, pd.DataFrame]]:
    """The evaluation of the datasets of some labels, by default all, and the tables that a run
    judges them by, from their fits.
    """
    labels = work.labels if labels is None else labels
    fits = {label: work.fit(label) for label in labels}
    _draw(work, labels)
    result = work.evaluated(labels)
    fit_check = _check_fits(
        work,
        dict.fromkeys(
            [*(scheme for scheme in work.study.weights.schemes if scheme == UNWEIGHTED), *labels]
        ),
    )
    fitted = {label: fit for label, fit in fits.items() if len(fit.diagnostics)}
    means = {label: float(work.weights(label).to_numpy().mean()) for label in fitted}
    summary = summary_table(
        result, {label: fit.diagnostics for label, fit in fitted.items()}, means, fit_check
    )
    tables = {
        "summary": summary.rename_axis("label").reset_index(),
        **_tables(work, fits, result),
        "fit_check": fit_check,
    }
    if work.study.intruders:
        of_each, disclosed = tables_by_intruder(work, labels, result)
        return result, tables | disclosure_tables(disclosed) | of_each
    return result, tables | disclosure_tables({label: work.disclosed(label) for label in labels})


def _draw(work: Work, labels: Sequence[str]) -> None:
    """L datasets of every label, which the store keeps."""
    with work.reporter.step(
        f"drawing {work.study.release.L} synthetic datasets per scheme"
    ) as advance:
        for done, label in enumerate(labels, 1):
            work.drawn(label)
            advance(done, len(labels))


def _tables(work: Work, fits: Mapping[str, Fit], result: Evaluation) -> dict[str, pd.DataFrame]:
    """Risk, utility and convergence of every label."""
    released = released_rows(work.world(), work.study.unaltered(work.confidential))
    return {
        "risk": pd.concat([result.risk, released], ignore_index=True),
        "utility": result.utility,
        "convergence": pd.concat(
            {label: fitted.diagnostics for label, fitted in fits.items()}, names=["label"]
        ).reset_index(),
    }


def _check_fits(work: Work, labels: Collection[str]) -> pd.DataFrame:
    """How the fits of some labels compare with the data; the model is judged by the unweighted
    one.
    """
    tables = []
    with work.reporter.step("comparing the fits with the data") as advance:
        for done, label in enumerate(labels, 1):
            tables.append(work.fit_check(label))
            advance(done, len(labels))
    return pd.concat([table for table in tables if len(table)], ignore_index=True)


def summary_table(
    result: Evaluation,
    diagnostics: Mapping[str, pd.DataFrame],
    means: Mapping[str, float],
    fit_check: pd.DataFrame,
) -> pd.DataFrame:
    """The main table, led by the model's verdict, how much likelihood each scheme keeps (`means`)
    and whether its chains agree.
    """
    table = result.summary()
    verdicts = {label: fit_verdict(rows) for label, rows in fit_check.groupby("label", sort=False)}
    judged = {
        label: "yes" if verdict == FITS else "NO"
        for label, verdict in verdicts.items()
        if verdict in JUDGED
    }
    worst = {label: deciding_rows(each)["r_hat"].max() for label, each in diagnostics.items()}
    passed = {label: CONVERGED_WORDS[verdict_of(each)[0]] for label, each in diagnostics.items()}
    columns = (
        pd.Series(judged, dtype=object),
        pd.Series(means, dtype=float),
        pd.Series(worst, dtype=float),
        pd.Series(passed, dtype=object),
    )
    for position, (column, values) in enumerate(zip(FIT_COLUMNS, columns, strict=True)):
        table.insert(position, column.name, values)
    return table
