"""``name = "auto"``: which of the registered synthesizers suits the data, chosen in the open
(METHODS section 5.11).
"""

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.atomic import keep, recall
from riskweighted.common.checks import check_names, path_from
from riskweighted.common.errors import ConvergenceWarning, InputError
from riskweighted.common.fingerprints import fingerprint
from riskweighted.common.native import Frame, as_pandas
from riskweighted.common.progress import Reporter, default_reporter
from riskweighted.common.seeds import Streams
from riskweighted.common.settings import as_toml, to_table
from riskweighted.contract.distribution import interval_masses
from riskweighted.contract.drawn_columns import spread_draws
from riskweighted.contract.synthesizer import chain_names, synthesizer_names
from riskweighted.evaluation.fit_check import FITS, MISFITS, check_fit, fit_verdict
from riskweighted.intruder.scenario import Scenario
from riskweighted.runs.candidates import LEARNED, Candidate, find_candidates, with_learned
from riskweighted.runs.sections import SynthesizerSettings
from riskweighted.runs.stages import Stages
from riskweighted.runs.study import AUTO, Study
from riskweighted.sampling.block_fit import PreparedModel
from riskweighted.sampling.loo import K_LIMIT, LeaveOneOut, leave_one_out
from riskweighted.sampling.sampling_settings import Sampling
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.fitting import fit_sequence
from riskweighted.sequence.prepare import sequence_of

__all__ = ["Choice", "choose_synthesizer", "resolve_study", "study_text"]

COLUMNS = (
    "synthesizer",
    "settings",
    "result",
    "why",
    "elpd",
    "difference",
    "difference_error",
    "unreliable",
    "model_fits",
    "misfits",
    "converged",
)
_NUMBERS = ("elpd", "difference", "difference_error", "unreliable", "misfits")
_DRAWS = 300  # of the posterior, for leave-one-out
_MOST_RECORDS = 4000  # whose leave-one-out probabilities are computed
_RELATIVE_WIDTH = 1e-3  # of the interval around a value where the column has no precision
_LEAST_MASS = 1e-300


class _Tried(NamedTuple):
    candidate: Candidate
    loo: LeaveOneOut
    verdict: str
    misfits: int
    converged: bool


@dataclass(frozen=True)
class Choice:
    """A choice says which synthesizer was chosen and why.

    Attributes
    ----------
    name : str
    settings : mapping
    why : str
        One sentence.
    formula : str
        Of the model chosen: the one asked for, or where that has splines perhaps the one with
        straight lines in their place; "" of a chain with a learned part.
    table : DataFrame
        One row per candidate: ``result`` ("chosen", "compared", "refused"), ``why`` it was refused,
        ``elpd`` (sum over the records of the log probability that the others give to the record's
        value), its ``difference`` from the largest with ``difference_error``, ``unreliable``
        (records whose Pareto k exceeds 0.7), ``model_fits``, the number of checks it ``misfits``,
        ``converged``.

    Examples
    --------
    >>> from riskweighted.runs.examples import data
    >>> rw.choose_synthesizer("smokes ~ region + age", data, random_seed=1).table[
    ...     "result"
    ... ].value_counts()["chosen"].item()
    1
    """

    name: str
    settings: Mapping[str, Any]
    why: str
    table: pd.DataFrame = field(repr=False)
    formula: str = ""


def choose_synthesizer(
    formula: str,
    confidential: Frame,
    *,
    settings: Mapping[str, Any] | None = None,
    scenario: Scenario | None = None,
    sampling: Sampling | None = None,
    random_seed: int = 0,
    reporter: Reporter | None = None,
) -> Choice:
    """Return which of the registered synthesizers that take the data suits them best, by their
    unweighted fits.

    Parameters
    ----------
    formula : str
    confidential : DataFrame, n rows
    settings : mapping, optional
        Given to every candidate, such as ``{"support": (0, 1e6)}``; one that has no such setting is
        refused. ``learned``: columns of the formula that tree ensembles read; the best model is
        compared with the same in a chain that has their scores as predictors.
    scenario : Scenario, optional
        Its known patterns are those whose means are compared (`check_fit`).
    sampling : Sampling, optional
    random_seed : int
    reporter : Reporter, optional

    Returns
    -------
    Choice
        Among the candidates that converged, those whose model fits every check; among these the
        largest elpd. Where none fits, or none converged, the largest elpd of the others, which
        ``why`` says.

    Raises
    ------
    InputError
        If no registered synthesizer takes the data; each with its reason.

    Examples
    --------
    >>> from riskweighted.runs.examples import data
    >>> choice = rw.choose_synthesizer("smokes ~ region + age", data, random_seed=1)
    >>> choice.name in ("logistic", "multinomial")  # of two levels these are about the same
    True
    """
    confidential = as_pandas(confidential)
    reporter, streams = reporter or default_reporter(), Streams(random_seed)
    candidates = list(find_candidates(formula, confidential, settings or {}))
    accepted = [candidate for candidate in candidates if candidate.model is not None]
    if not accepted:
        reasons = "; ".join(f"{candidate.name}: {candidate.refusal}" for candidate in candidates)
        raise InputError(f"no registered synthesizer takes the data: {reasons}")
    learned = check_names((settings or {}).get(LEARNED, ()), LEARNED)
    trials, tried = len(accepted) + (len(learned) > 0), list[_Tried]()

    def attempt(candidate: Candidate) -> None:
        with reporter.step(f"trying {candidate.name} ({len(tried) + 1} of {trials})") as advance:
            seed = streams.seed_for("choose", f"{candidate.name}/{candidate.described}")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # stands in the table
                made = candidate.chain or sequence_of(_model(candidate))
                fitted = fit_sequence(made, None, sampling or Sampling(), seed, advance)
            tried.append(_judge(candidate, fitted, scenario, seed))

    for candidate in accepted:
        attempt(candidate)
    best, why = _best(tried)
    if learned:
        taught = with_learned(best.candidate, formula, confidential, learned)
        candidates.append(taught)
        if taught.model is not None:
            attempt(taught)
            best, why = _best(tried)
    chosen = best.candidate
    return Choice(
        chosen.name,
        dict(chosen.settings),
        why,
        _table(candidates, tried, best),
        chosen.formula or ("" if chosen.chain else formula),
    )


def _model(candidate: Candidate) -> PreparedModel:
    if candidate.model is None:
        raise InputError(candidate.refusal)
    return candidate.model


def _judge(candidate: Candidate, fitted: Fit, scenario: Scenario | None, seed: int) -> _Tried:
    table = check_fit(fitted, scenario=scenario, random_seed=seed)
    missed = int((table["verdict"].iloc[1:] == MISFITS).sum())
    return _Tried(
        candidate,
        leave_one_out(_log_probabilities(fitted)),
        fit_verdict(table),
        missed,
        fitted.converged,
    )


def _log_probabilities(fitted: Fit) -> np.ndarray:
    """log P(lower_i <= Y_i <= upper_i | theta_s), (m, S): the recorded value as the interval of
    values that are recorded so, or its level.

    Of a density, of a transformed one and of a probability of grid points alike, this is a
    probability on the original scale, so no Jacobian is needed. Records beyond the first 4,000 of a
    fixed random order are left out.
    """
    (block,) = fitted.blocks.values()
    values, sizes, unit = block.numbers(block.confidential), fitted.sizes, block.precision
    magnitude = np.median(np.abs(values[values != 0])) if values.any() else 1.0
    half = (
        unit / 2
        if unit is not None
        else _RELATIVE_WIDTH / 2 * np.maximum(np.abs(values), magnitude)
    )
    rows = np.sort(np.random.default_rng(0).permutation(len(values))[:_MOST_RECORDS])
    places = spread_draws(
        sizes["chain"], sizes["draw"], min(_DRAWS, sizes["chain"] * sizes["draw"])
    )
    masses = interval_masses(block.synthesizer, block.prepared, values - half, values + half)
    probabilities = np.array([masses(block.draw(*at))[rows] for at in places]).T
    logarithms: np.ndarray = np.log(np.maximum(probabilities, _LEAST_MASS))
    return logarithms


def _best(tried: list[_Tried]) -> tuple[_Tried, str]:
    """The chosen one, and why in one sentence."""
    converged = [trial for trial in tried if trial.converged]
    fitting = [trial for trial in converged if trial.verdict == FITS]
    among = fitting or converged or tried
    best = max(among, key=lambda trial: float(trial.loo.elpd.sum()))
    if fitting:
        which = f"of the {len(fitting)} that fit the data in every check"
    elif converged:
        which = (
            f"of the {len(converged)} that converged; none fits the data in every check (it "
            f"misfits in {best.misfits})"
        )
    else:
        which = f"of {len(tried)}, none of which converged"
    better = max(tried, key=lambda trial: float(trial.loo.elpd.sum()))
    missed = ""
    if converged and not better.converged:
        missed = (
            f"; {better.candidate.name} has a larger one and did not converge: sample longer, "
            "then choose again"
        )
    return best, f"largest leave-one-out log probability {which}{missed}"


def _table(candidates: list[Candidate], tried: list[_Tried], best: _Tried) -> pd.DataFrame:
    """One row per candidate, the compared ones by their elpd, then the refused ones."""
    records = len(_model(best.candidate).confidential)
    scale, rows = records / len(best.loo.elpd), list[tuple[object, ...]]()
    top = max(tried, key=lambda trial: float(trial.loo.elpd.sum())).loo.elpd
    for trial in sorted(tried, key=lambda trial: -float(trial.loo.elpd.sum())):
        apart = trial.loo.elpd - top
        numbers = (
            scale * trial.loo.elpd.sum(),
            scale * apart.sum(),
            scale * np.sqrt(len(apart)) * apart.std(),
            int((trial.loo.pareto_k > K_LIMIT).sum()),
        )
        result = "chosen" if trial is best else "compared"
        judged = (
            "yes" if trial.verdict == FITS else "NO",
            trial.misfits,
            "yes" if trial.converged else "NO",
        )
        rows.append(
            (trial.candidate.name, trial.candidate.described, result, "", *numbers, *judged)
        )
    rows += [
        (
            candidate.name,
            candidate.described,
            "refused",
            candidate.refusal,
            *[np.nan] * 4,
            "",
            np.nan,
            "",
        )
        for candidate in candidates
        if candidate.model is None
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def resolve_study(
    study: Study, confidential: pd.DataFrame, partial: Path, reporter: Reporter
) -> tuple[Study, Choice | None]:
    """A study that names its model, and how it was chosen: as it stands, or with the choice, which
    `partial` keeps.

    The choice follows from the study's seed alone: no number of it enters the released data.
    """
    if study.synthesizer.name != AUTO:
        return study, None
    made_of = f"{Stages(study, fingerprint(confidential)).key('chosen')} {synthesizer_names()}"
    digest = hashlib.sha256(made_of.encode()).hexdigest()[:24]
    kept = recall(partial / f"{digest}.choice", digest)
    if kept is not None:
        choice = _from_json(kept)
    else:
        choice = choose_synthesizer(
            str(study.synthesizer.formula),
            confidential,
            settings=study.synthesizer.settings,
            scenario=study.scenario,
            sampling=study.sampling,
            random_seed=study.seed,
            reporter=reporter,
        )
        keep(partial / f"{digest}.choice", _as_json(choice), digest)
    formula = None if choice.name in chain_names() else choice.formula or study.synthesizer.formula
    named = SynthesizerSettings(choice.name, formula, dict(choice.settings))
    return replace(study, synthesizer=named), choice


def _as_json(choice: Choice) -> bytes:
    table = choice.table.to_csv(index=False)
    return json.dumps(
        {
            "name": choice.name,
            "settings": to_table(choice.settings),
            "why": choice.why,
            "table": table,
            "formula": choice.formula,
        }
    ).encode()


def _from_json(content: bytes) -> Choice:
    stored = json.loads(content)
    table = pd.read_csv(
        StringIO(stored.pop("table")),
        keep_default_na=False,
        na_values={name: [""] for name in _NUMBERS},
    )
    return Choice(**stored, table=table)


def study_text(study: Study, folder: Path, remark: str) -> str:
    """A study as the text of a study file that lies in `folder`; `remark` is its first line."""
    table = to_table(study)
    for name in ("path", "variables", "units"):
        if (path := getattr(study.data, name)) is not None:
            table["data"][name] = path_from(folder, path)
    return f"# {remark}\n" + as_toml(table)
