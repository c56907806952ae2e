"""The main job: fit, weight, synthesize, evaluate. The one place that knows every step.

Its results appear at once when the run is complete (`riskweighted.runs.folder`); until then finished fits wait in
``OUT.partial``, from which the same command goes on.
"""

import hashlib
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import fingerprint, versions
from riskweighted.common.progress import Quiet, Reporter
from riskweighted.common.seeds import seed_for
from riskweighted.evaluation.evaluate import Evaluation, evaluate
from riskweighted.evaluation.summary import CONVERGED, LARGEST_R_HAT, MEAN_WEIGHT
from riskweighted.intruder.patterns import known_patterns
from riskweighted.runs.folder import check_replaceable, opened, publish, working_folder, write_results
from riskweighted.runs.study import Study, build_synthesizer
from riskweighted.synthesis.contract import Synthesizer
from riskweighted.synthesis.design import build_design
from riskweighted.synthesis.fitting import CompiledModel, Fit, Sampling, compile_model, load_fit
from riskweighted.weights.adjust import adjust_weights
from riskweighted.weights.schemes import scheme_weights

__all__ = [
    "TOP_CODING",
    "UNWEIGHTED",
    "Plan",
    "Run",
    "check_evaluation",
    "check_scenario",
    "plan_study",
    "run_study",
    "study_weights",
    "top_coding_synthesizer",
]

TOP_CODING = "top-coding"
UNWEIGHTED = "unweighted"  # the baseline that whack-a-mole is measured against
_SECONDS_PER_DENSITY = 3e-8  # one log density and its gradient, measured on one core of the development machine


@dataclass(frozen=True)
class Plan:
    """What a study would do, found without sampling."""

    records: int
    patterns: int
    singletons: int
    predictors: int
    datasets: int
    schemes: tuple[str, ...]
    mean_weight: dict[str, float]
    seconds: tuple[float, float]


@dataclass(frozen=True)
class Run:
    """A finished run: the folder, and its tables in memory."""

    folder: Path
    evaluation: Evaluation = field(repr=False)
    convergence: pd.DataFrame = field(repr=False)
    summary: pd.DataFrame


def study_weights(study: Study, confidential: pd.DataFrame) -> dict[str, pd.Series]:
    """Weights of every scheme of the study; all but the unweighted one are adjusted by its scale and shift."""
    scenario, weights = study.weighting_scenario(), {}
    for scheme in study.weights.schemes:
        alpha = scheme_weights(scheme, confidential, scenario)
        adjusted = scheme != UNWEIGHTED
        weights[scheme] = adjust_weights(alpha, study.weights.scale, study.weights.shift) if adjusted else alpha
    for scheme, alpha in weights.items():
        if not (alpha > 0).any():
            raise InputError(
                f"scheme {scheme!r} gives every record weight zero: enlarge the radius, coarsen the known variables or raise weights.shift"
            )
    return weights


def check_scenario(study: Study, confidential: pd.DataFrame) -> None:
    """Refuse data that does not suit the scenario, and a synthesizer of another variable."""
    scenario = study.make_scenario()
    scenario.check(confidential)
    target = study.make_synthesizer().target
    if scenario.synthetic != (target,):
        raise InputError(
            f"the synthesizer replaces {target!r}, but scenario.synthetic is {', '.join(scenario.synthetic)!r}; "
            "they must be the same variable"
        )


def plan_study(study: Study, confidential: pd.DataFrame | None = None) -> Plan:
    """Check a study against its data and say what it would do (``--dry-run``).

    The time is a rough range: densities per gradient, times 7 to 63 gradients per iteration, plus compilation.
    """
    confidential = study.read_data() if confidential is None else confidential
    check_scenario(study, confidential)
    patterns = known_patterns(confidential, study.make_scenario().known)
    weights = study_weights(study, confidential)
    synthesizer = study.make_synthesizer()
    blueprint = synthesizer.build(synthesizer.prepare(confidential))
    sampling = study.sampling
    rounds = -(-sampling.chains // (os.cpu_count() or 1)) * (sampling.draws + sampling.tune) * len(weights)
    gradient = 2e-6 + (blueprint.density_terms if blueprint else 0) * _SECONDS_PER_DENSITY
    return Plan(
        records=len(confidential),
        patterns=len(patterns.sizes),
        singletons=patterns.singletons,
        predictors=check_evaluation(study, confidential),
        datasets=study.release.L,
        schemes=tuple(weights),
        mean_weight={scheme: float(alpha.mean()) for scheme, alpha in weights.items()},
        seconds=(15 + rounds * 7 * gradient, 40 + rounds * 63 * gradient),
    )


def check_evaluation(study: Study, confidential: pd.DataFrame) -> int:
    """Evaluate the confidential data alone, to find wrong evaluation settings before any fit; counts the predictors."""
    settings = study.measures() | {"resamples": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluate(confidential, {"itself": confidential}, study.evaluating_scenario(), random_seed=0, **settings)
    return build_design(study.synthesizer.formula, confidential).centred.shape[1]


def run_study(
    study: Study,
    out: str | Path,
    *,
    confidential: pd.DataFrame | None = None,
    force: bool = False,
    cores: int | None = None,
    reporter: Reporter | None = None,
) -> Run:
    """Run a study from data to tables.

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

    Raises
    ------
    InputError
        If `out` exists without `force`, or anything in the study or the data is not valid. Nothing is written then.
    """
    out, reporter = Path(out), reporter or Quiet()
    if out.exists() and not force:
        raise InputError(f"{str(out)!r} exists; choose another folder or allow replacing it (--force)")
    if out.exists():
        check_replaceable(out)
    partial = working_folder(out)
    Sampling(cores=cores, **study.sampling.model_dump())
    confidential = study.read_data() if confidential is None else confidential
    check_scenario(study, confidential)
    check_evaluation(study, confidential)
    weights = study_weights(study, confidential)
    study.make_synthesizer().prepare(confidential)

    with opened(partial):
        return _run_in(partial, study, out, confidential, weights, cores, reporter)


def _run_in(
    partial: Path,
    study: Study,
    out: Path,
    confidential: pd.DataFrame,
    weights: Mapping[str, pd.Series],
    cores: int | None,
    reporter: Reporter,
) -> Run:
    """Fit, draw, evaluate and write, in a working folder that keeps finished fits."""
    fits = _fit_all(study, confidential, weights, cores, partial, reporter)
    frames = {}
    with reporter.step(f"drawing {study.release.L} synthetic datasets per scheme") as advance:
        for done, (label, fitted) in enumerate(fits.items()):
            frames[label] = fitted.synthesize(study.release.L, random_seed=seed_for(study.seed, "synthesize", label))
            advance(done + 1, len(fits))
    with reporter.step("measuring risk and utility") as advance:
        baseline = UNWEIGHTED if UNWEIGHTED in fits else None
        seed = seed_for(study.seed, "evaluate", "")
        scenario, settings = study.evaluating_scenario(), study.measures()
        result = evaluate(confidential, frames, scenario, baseline=baseline, random_seed=seed, progress=advance, **settings)
    convergence = pd.concat({label: fitted.diagnostics for label, fitted in fits.items()}, names=["label"]).reset_index()
    summary = _summary(result, fits, weights)
    tables = {
        "summary": summary.rename_axis("label").reset_index(),
        "risk": result.risk,
        "utility": result.utility,
        "convergence": convergence,
    }
    write_results(study, confidential, weights, fits, frames, tables, result.records, partial)
    publish(partial, out)
    return Run(out, result, convergence, summary)


def _fit_all(
    study: Study, confidential: pd.DataFrame, weights: Mapping[str, pd.Series], cores: int | None, partial: Path, reporter: Reporter
) -> dict[str, Fit]:
    """Fit every scheme with one compiled model, keeping each posterior on disk as soon as it is sampled."""
    synthesizer = study.make_synthesizer()
    sampling = Sampling(cores=cores, **study.sampling.model_dump())
    compiled: CompiledModel | None = None
    fits: dict[str, Fit] = {}
    for number, (scheme, alpha) in enumerate(weights.items()):
        seed = seed_for(study.seed, "fit", scheme)
        kept = partial / f"{_fingerprint(study, confidential, alpha, seed)}.nc"
        if kept.is_file():
            with reporter.step(f"reading the finished fit {scheme}"):
                fits[scheme] = load_fit(kept, synthesizer, confidential, alpha)
            continue
        if compiled is None:
            with reporter.step(f"compiling {study.synthesizer.name}"):
                compiled = compile_model(synthesizer, confidential)
        with reporter.step(f"fitting {scheme} ({number + 1} of {len(weights)})") as advance:
            fits[scheme] = compiled.sample(alpha, random_seed=seed, sampling=sampling, progress=advance)
        fits[scheme].save(kept.with_suffix(".tmp"))
        kept.with_suffix(".tmp").replace(kept)
    if study.top_coding is not None:
        fits[TOP_CODING] = compile_model(top_coding_synthesizer(study), confidential).sample(None)
    return fits


def top_coding_synthesizer(study: Study) -> Synthesizer:
    """The study's top-coding baseline for the variable that its synthesizer replaces."""
    assert study.top_coding is not None
    return build_synthesizer(TOP_CODING, f"{study.synthesizer.formula.split('~')[0]} ~ 1", study.top_coding.model_dump())


def _fingerprint(study: Study, confidential: pd.DataFrame, alpha: pd.Series, seed: int) -> str:
    """Everything that decides a posterior: model, data, weights, sampling, seed, versions."""
    parts = [study.synthesizer.model_dump_json(), study.sampling.model_dump_json(), seed, versions(), fingerprint(confidential)]
    digest = hashlib.sha256(repr(parts).encode())
    digest.update(alpha.to_numpy().tobytes())
    return digest.hexdigest()[:24]


def _summary(result: Evaluation, fits: Mapping[str, Fit], weights: Mapping[str, pd.Series]) -> pd.DataFrame:
    """The main table, with how much likelihood each scheme keeps and whether its chains agree."""
    table = result.summary()
    table.insert(0, MEAN_WEIGHT.name, pd.Series({scheme: alpha.mean() for scheme, alpha in weights.items()}))
    worst = {label: fitted.diagnostics["r_hat"].max() for label, fitted in fits.items() if len(fitted.diagnostics)}
    passed = {label: "yes" if fitted.converged else "NO" for label, fitted in fits.items() if len(fitted.diagnostics)}
    table.insert(1, LARGEST_R_HAT.name, pd.Series(worst, dtype=float))
    table.insert(2, CONVERGED.name, pd.Series(passed, dtype=object))
    return table
