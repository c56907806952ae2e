"""The main job: fit, weight, synthesize, evaluate. The one place that knows every step.

Its results appear at once when the run is complete (`riskweighted.common.folders`); until then finished fits wait in
``OUT.partial``, from which the same command goes on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
from threadpoolctl import threadpool_limits

from riskweighted.common.datasets import Datasets
from riskweighted.common.folders import WorkingFolder, opened
from riskweighted.common.native import as_pandas
from riskweighted.common.progress import Quiet, Reporter
from riskweighted.common.seeds import Streams
from riskweighted.evaluation.computing import released_rows
from riskweighted.evaluation.evaluate import Evaluation, evaluate_world
from riskweighted.evaluation.expected import find_mechanism
from riskweighted.evaluation.fit_check import check_fit, fit_verdict
from riskweighted.evaluation.judgement import FITS, JUDGED
from riskweighted.evaluation.summary import FIT_COLUMNS
from riskweighted.evaluation.verdicts import Verdict, find_verdicts, verdict_table
from riskweighted.runs.beyond import measure_beyond
from riskweighted.runs.checked import CheckedStudy, check_study
from riskweighted.runs.choice import Choice, resolve_study, study_text
from riskweighted.runs.fits import Fits
from riskweighted.runs.folder import check_replaceable, write_results
from riskweighted.runs.guaranteed import guarantee_table
from riskweighted.runs.randomness import run_streams
from riskweighted.runs.study import Study
from riskweighted.runs.tuned import TunedScheme, meet_target
from riskweighted.sequence.fit import Fit
from riskweighted.weights.names import UNWEIGHTED

__all__ = ["Run", "run_study"]


@dataclass(frozen=True)
class Run:
    """A finished run: the folder, and its tables in memory.

    ``fit_check``: the rows of `check_fit` of every scheme, under its ``label``. ``converged``: whether every fit did. ``fits``: whether the
    model suits the data, judged on its unweighted fit; None where the study has none. ``choice``: how the model was chosen, where the
    study left that to the run. ``tuned``: the scheme that its target led to, where it has one. ``verdicts``: of every scheme on every
    threshold, and on its fit.
    """

    folder: Path
    evaluation: Evaluation = field(repr=False)
    convergence: pd.DataFrame = field(repr=False)
    summary: pd.DataFrame
    fit_check: pd.DataFrame = field(repr=False)
    choice: Choice | None = field(default=None, repr=False)
    tuned: TunedScheme | None = field(default=None, repr=False)
    verdicts: tuple[Verdict, ...] = field(default=(), repr=False)

    @property
    def converged(self) -> bool:
        return bool(self.convergence["converged"].all())

    @property
    def fits(self) -> bool | None:
        verdicts = {fit_verdict(rows) for _, rows in self.fit_check.groupby("label", sort=False)} & set(JUDGED)
        return None if not verdicts else verdicts == {FITS}


def run_study(
    study: Study,
    out: str | Path,
    *,
    confidential: pd.DataFrame | None = None,
    force: bool = False,
    cores: int | None = None,
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
    reporter : Reporter, optional
        Shows progress.
    entropy : bytes, optional
        That of an earlier run (`riskweighted.runs.randomness.read_entropy`), to repeat it; otherwise it is fresh, or that of the
        interrupted run that goes on. Not for a reproducible study, whose seed alone decides.

    Raises
    ------
    InputError
        If `out` exists without `force`, a command is at work there, or anything in the study or the data is not valid.
        Nothing is left then.

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> run = rw.run_study(rw.load_study(folder / "study.toml"), "results")
    >>> run.summary.index.tolist()
    ['confidential', 'unweighted', 'marginal']
    """
    confidential = as_pandas(confidential)
    # Matrices here are small: more threads of BLAS wait for each other, and a sum that is split over them does not repeat.
    with opened(Path(out), "a run", check_replaceable=check_replaceable, force=force) as working, threadpool_limits(1):
        study = replace(study, sampling=replace(study.sampling, cores=cores))
        data, reporter = study.read_data() if confidential is None else confidential, reporter or Quiet()
        study, choice = resolve_study(study, data, working.folder, reporter)
        checked = check_study(study, data)
        return _run_in(working, checked, run_streams(checked, working.folder, entropy), reporter, choice)


def _run_in(working: WorkingFolder, checked: CheckedStudy, streams: Streams, reporter: Reporter, choice: Choice | None) -> Run:
    """Fit, draw, evaluate and write, in a working folder that keeps finished fits."""
    fitting = Fits(checked, streams, working.folder, reporter)
    checked, tuned = meet_target(fitting)
    fits = replace(fitting, checked=checked).all()
    datasets = _draw(checked, fits, streams, reporter)
    result = _evaluate(checked, fits, datasets, streams, reporter)
    beyond = measure_beyond(checked, fits, datasets, streams, reporter)
    shown = replace(result, risk=pd.concat([result.risk, beyond.risk], ignore_index=True))
    with reporter.step("comparing the fits with the data") as advance:
        fit_check = _check_fits(checked, fits, streams, advance)
    summary = _summary(shown, fits, fit_check)
    tables = {"summary": summary.rename_axis("label").reset_index(), **_tables(checked, fits, datasets, shown), "fit_check": fit_check}
    tables |= {"disclosure": beyond.disclosure, "disclosure_verdicts": beyond.verdicts}
    verdicts = find_verdicts(checked.study.thresholds, tables)
    tables["verdicts"] = verdict_table(verdicts)
    statements = {label: fitted.statement for label, fitted in fits.items() if fitted.statement is not None}
    tables |= ({"guarantee": guarantee_table(statements)} if statements else {}) | ({} if choice is None else {"choice": choice.table})
    tables |= {} if tuned is None else dict(tuned.tables)
    records, study_file = {"identification_risk": result.records, "expected_risk": result.expected}, None
    if choice is not None or tuned is not None:
        chosen = [
            *([] if choice is None else ["the model (tables/choice.csv)"]),
            *([] if tuned is None else ["a scheme (tables/tuning.csv)"]),
        ]
        remark = f"What the run chose: {', '.join(chosen)}; it looked at the data for that. This file chooses nothing."
        study_file = study_text(checked.study, working.out / "confidential", remark)
    write_results(checked, fits, datasets, tables, records, streams, working.result, study_file, tuned)
    return Run(working.out, result, tables["convergence"], summary, fit_check, choice, tuned, verdicts)


def _draw(checked: CheckedStudy, fits: Mapping[str, Fit], streams: Streams, reporter: Reporter) -> dict[str, Datasets]:
    """L datasets of every fit, by label."""
    study, datasets = checked.study, dict[str, Datasets]()
    precision: Any = study.release.precision  # a number of one variable, a table of several
    with reporter.step(f"drawing {study.release.L} synthetic datasets per scheme") as advance:
        for done, (label, fitted) in enumerate(fits.items(), 1):
            drawn = fitted.synthetic(study.release.L, random_seed=streams.seed_for("synthesize", label), precision=precision)
            datasets[label] = Datasets.of(checked.world.confidential, drawn, study.variables)
            advance(done, len(fits))
    return datasets


def _evaluate(
    checked: CheckedStudy, fits: Mapping[str, Fit], datasets: Mapping[str, Datasets], streams: Streams, reporter: Reporter
) -> Evaluation:
    """Expected risk, influence, and every measure of the datasets."""
    study, seed, mechanisms = checked.study, streams.seed_for("evaluate", ""), {}
    precision: Any = study.release.precision
    with reporter.step("estimating expected risk and influence") as advance:
        for done, (label, fitted) in enumerate(fits.items(), 1):
            mechanisms[label] = find_mechanism(label, fitted, checked.world, study.evaluation.measures, seed, precision)
            advance(done, len(fits))
    with reporter.step("measuring risk and utility") as advance:
        return evaluate_world(
            checked.world,
            datasets,
            study.evaluation.measures,
            checked.analysis,
            mechanisms=mechanisms,
            fits=fits,
            baseline=UNWEIGHTED if UNWEIGHTED in fits else None,
            unaltered=study.unaltered(checked.world.confidential),
            random_seed=seed,
            progress=advance,
        )


def _tables(
    checked: CheckedStudy, fits: Mapping[str, Fit], datasets: Mapping[str, Datasets], result: Evaluation
) -> dict[str, pd.DataFrame]:
    """Risk, utility and convergence of every label."""
    synthetic = {label: frames for label, frames in datasets.items() if not fits[label].keeps_true_values}
    released = released_rows(checked.world, synthetic, checked.study.unaltered(checked.world.confidential))
    return {
        "risk": pd.concat([result.risk, released], ignore_index=True),
        "utility": result.utility,
        "convergence": pd.concat({label: fitted.diagnostics for label, fitted in fits.items()}, names=["label"]).reset_index(),
    }


def _check_fits(checked: CheckedStudy, fits: Mapping[str, Fit], streams: Streams, advance: Callable[[int, int], None]) -> pd.DataFrame:
    """How every scheme's fit compares with the data, by its known patterns and with the numeric columns that are used or released."""
    data, study, tables = checked.world.confidential, checked.study, {}
    names = [*study.unaltered(data), *study.synthesizer.columns, *study.variables]
    others = [str(name) for name in data.columns if name in names and pd.api.types.is_numeric_dtype(data[name].dtype)]
    models = {label: fitted for label, fitted in fits.items() if not fitted.keeps_true_values}
    for done, (label, fitted) in enumerate(models.items()):
        seed = streams.seed_for("check", label)
        precision: Any = study.release.precision
        tables[label] = check_fit(fitted, scenario=checked.world.scenario, others=others, precision=precision, random_seed=seed)
        advance(done + 1, len(models))
    return pd.concat(tables, names=["label"]).reset_index("label").reset_index(drop=True)


def _summary(result: Evaluation, fits: Mapping[str, Fit], fit_check: pd.DataFrame) -> pd.DataFrame:
    """The main table, led by the model's verdict, how much likelihood each scheme keeps and whether its chains agree."""
    table = result.summary()
    verdicts = {label: fit_verdict(rows) for label, rows in fit_check.groupby("label", sort=False)}
    judged = {label: "yes" if verdict == FITS else "NO" for label, verdict in verdicts.items() if verdict in JUDGED}
    worst = {label: fitted.diagnostics["r_hat"].max() for label, fitted in fits.items() if len(fitted.diagnostics)}
    passed = {label: "yes" if fitted.converged else "NO" for label, fitted in fits.items() if len(fitted.diagnostics)}
    kept = pd.Series({label: fitted.alpha.to_numpy().mean() for label, fitted in fits.items() if len(fitted.diagnostics)})
    columns = (pd.Series(judged, dtype=object), kept, pd.Series(worst, dtype=float), pd.Series(passed, dtype=object))
    for position, (column, values) in enumerate(zip(FIT_COLUMNS, columns, strict=True)):
        table.insert(position, column.name, values)
    return table
