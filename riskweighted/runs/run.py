"""The main job: fit, weight, synthesize, evaluate. The one place that knows every step.

Its results appear at once when the run is complete (`riskweighted.common.folders`); until then
finished fits wait in ``OUT.partial``, from which the same command goes on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_limits

from riskweighted.common.checks import check_given
from riskweighted.common.folders import WorkingFolder, open_folder
from riskweighted.common.native import Frame, as_pandas
from riskweighted.common.progress import Reporter, default_reporter
from riskweighted.evaluation.evaluate import Evaluation
from riskweighted.evaluation.fit_check import fit_verdict
from riskweighted.evaluation.judgement import FITS, JUDGED
from riskweighted.evaluation.verdicts import Verdict, find_verdicts, verdict_table
from riskweighted.runs.buckets import pool
from riskweighted.runs.check_study import check_study
from riskweighted.runs.choice import Choice, resolve_study, study_text
from riskweighted.runs.evaluation_tables import evaluate_labels
from riskweighted.runs.folder import check_replaceable, write_results
from riskweighted.runs.guarantee_checks import guarantee_table
from riskweighted.runs.randomness import counting_earlier, run_streams
from riskweighted.runs.reasons import risk_reasons
from riskweighted.runs.run_html import run_card
from riskweighted.runs.study import Study
from riskweighted.runs.tuned_scheme import TunedScheme, meet_target
from riskweighted.runs.work import Work
from riskweighted.sampling.convergence import deciding_rows
from riskweighted.sequence.fit import Fit
from riskweighted.weights.scheme_names import UNWEIGHTED
from riskweighted.weights.schemes import order_schemes

__all__ = ["Run", "run_study"]


@dataclass(frozen=True)
class Run:
    """A finished run: the folder, and its tables in memory.

    ``fit_check``: the rows of `check_fit` of every scheme, under its ``label``. ``converged``:
    whether every fit did. ``fits``: whether the model suits the data, judged on its unweighted fit;
    None where the study has none. ``choice``: how the model was chosen, where the study left that
    to the run. ``tuned``: the scheme that its target led to, where it has one. ``verdicts``: of
    every scheme on every threshold, and on its fit. ``reasons``: where a risk that exceeds its
    limit comes from. ``study``: as it was run; ``tables``: all that stand in the folder, by name;
    ``data``: the confidential records.
    """

    folder: Path
    evaluation: Evaluation = field(repr=False)
    convergence: pd.DataFrame = field(repr=False)
    summary: pd.DataFrame
    fit_check: pd.DataFrame = field(repr=False)
    choice: Choice | None = field(default=None, repr=False)
    tuned: TunedScheme | None = field(default=None, repr=False)
    verdicts: tuple[Verdict, ...] = field(default=(), repr=False)
    reasons: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    study: Study = field(kw_only=True, repr=False)
    tables: Mapping[str, pd.DataFrame] = field(kw_only=True, repr=False)
    data: pd.DataFrame = field(kw_only=True, repr=False)

    def _repr_html_(self) -> str:
        return run_card(self.folder, self.verdicts, self.summary)

    @property
    def converged(self) -> bool:
        return bool(deciding_rows(self.convergence)["converged"].all())

    @property
    def fits(self) -> bool | None:
        verdicts = {
            fit_verdict(rows) for _, rows in self.fit_check.groupby("label", sort=False)
        } & set(JUDGED)
        return None if not verdicts else verdicts == {FITS}


def run_study(
    study: Study,
    out: str | Path,
    *,
    confidential: "Frame | None" = None,
    force: bool = False,
    cores: int | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    reporter: Reporter | None = None,
    entropy: bytes | None = None,
) -> Run:
    """Return a run of a study from data to tables, which stand in a folder, too.

    Parameters
    ----------
    study : Study
        From `load_study`.
    out : str or Path
        A folder that does not exist yet; it appears when everything is done.
    confidential : DataFrame, optional
        Used instead of the study's data file.
    force : bool
        Replace an existing folder, once the new one is complete.
    cores : int, optional
        Chains sampled at once; it does not change the results.
    workers : int, optional
        Processes on this machine that draw and measure a file of which a sample is fitted; by
        default this process does. They change nothing of the results.
    scheduler : str, optional
        The address of a Dask scheduler whose workers are used instead.
    reporter : Reporter, optional
        Shows progress.
    entropy : bytes, optional
        That of an earlier run (`riskweighted.runs.randomness.read_entropy`), to repeat it;
        otherwise it is fresh, or that of the interrupted run that goes on. Not for a reproducible
        study, whose seed alone decides.

    Raises
    ------
    InputError
        If `out` exists without `force`, a command is at work there, or anything in the study or the
        data is not valid. Nothing is left then.

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> run = rw.run_study(rw.load_study(folder / "study.toml"), "results")
    >>> run.summary.index.tolist()
    ['confidential', 'unweighted', 'marginal']
    """
    check_given(study, "study", "synthesizer", "Study", "load_study(FILE)")
    confidential = as_pandas(confidential)
    # Matrices here are small: more threads of BLAS wait for each other, and a sum that is split
    # over them does not repeat.
    with (
        open_folder(
            Path(out), "a run", check_replaceable=check_replaceable, force=force
        ) as working,
        threadpool_limits(1),
    ):
        study = replace(study, sampling=replace(study.sampling, cores=cores))
        data = study.read_data() if confidential is None else study.coarsened(confidential)
        reporter = reporter or default_reporter()
        study, choice = resolve_study(study, data, working.folder, reporter)
        work = check_study(study, data, working.folder).work
        streams = run_streams(work.study, work.fingerprint, working.folder, entropy)
        study = counting_earlier(work.study, work.fingerprint, streams, Path(out))
        stages = replace(
            work.stages, study=study, streams=streams, compared=UNWEIGHTED in study.weights.schemes
        )
        with pool(workers, scheduler, working.folder, work.rows is not None) as who:
            return _run_in(
                working, replace(work, stages=stages, reporter=reporter, pool=who), choice
            )


def _run_in(working: WorkingFolder, work: Work, choice: Choice | None) -> Run:
    """Fit, draw, evaluate and write, in a working folder that keeps finished fits."""
    work.check_models()
    work, tuned = meet_target(work, working.folder)
    fits = _fit(work)
    result, tables = evaluate_labels(work)
    verdicts = find_verdicts(work.study.thresholds, tables, work.study.release.hidden)
    tables["verdicts"], reasons = verdict_table(verdicts), risk_reasons(work, verdicts)
    tables |= {"reasons": reasons} if len(reasons) else {}
    statements = {
        label: fitted.statement for label, fitted in fits.items() if fitted.statement is not None
    }
    tables |= ({"guarantee": guarantee_table(statements)} if statements else {}) | (
        {} if choice is None else {"choice": choice.table}
    )
    tables |= {} if tuned is None else tuned.judged(verdicts)
    records = {"identification_risk": result.records, "expected_risk": result.expected}
    study_file = None
    made = {"the model (tables/choice.csv)": choice, "a scheme (tables/tuning.csv)": tuned}
    chosen = [what for what, how in made.items() if how is not None]
    if chosen:
        remark = (
            f"What the run chose: {', '.join(chosen)}; it looked at the data for that. This file "
            "chooses nothing."
        )
        study_file = study_text(work.study, working.out / "confidential", remark)
    write_results(work, tables, records, working.result, study_file, tuned)
    summary = tables["summary"].set_index("label")
    judged = (tables["convergence"], summary, tables["fit_check"])
    held = {"study": work.study, "tables": tables, "data": work.confidential}
    return Run(working.out, result, *judged, choice, tuned, verdicts, reasons, **held)


def _fit(work: Work) -> dict[str, Fit]:
    """The fits of all labels; one that weights are made of comes before these."""
    schemes = order_schemes(work.study.weights.schemes)
    for number, scheme in enumerate(schemes, 1):
        work.fit(scheme, f" ({number} of {len(schemes)})")
    return {label: work.fit(label) for label in work.labels}
