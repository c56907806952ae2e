"""A finished run judged again, from its fits, its datasets and the confidential data: what its
tables say is held to that, not believed.
"""

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, RiskWeightedWarning, listing
from riskweighted.common.folders import temporary_folder
from riskweighted.common.progress import Reporter
from riskweighted.common.replaced import REPLACED
from riskweighted.data.io import DatasetWriter, read_table, write_table
from riskweighted.measures.registry import measures
from riskweighted.runs.evaluation_tables import evaluate_labels
from riskweighted.runs.finished import FinishedRun
from riskweighted.runs.folder import precisions, weights_table
from riskweighted.runs.memo import Memo, Store
from riskweighted.runs.randomness import refuse_other_settings
from riskweighted.runs.reasons import risk_reasons
from riskweighted.runs.stages import Stages
from riskweighted.runs.tuned_scheme import asking_study
from riskweighted.runs.work import Work
from riskweighted.sampling.saved_diagnostics import refuse_other_diagnostics
from riskweighted.weights.scheme_names import UNWEIGHTED, stem_of

__all__ = ["not_made", "refuse_other_tables", "refuse_what_is_not_made", "work_of"]

_ROUNDING = 1e-6  # relative: of numbers that another machine makes again
_made = Memo(room=0, few=2)  # a second pack of a run need not make its tables again


def refuse_what_is_not_made(
    run: FinishedRun, confidential: pd.DataFrame, reporter: Reporter
) -> None:
    """Refuse a run that holds datasets, weights, risks or tables that its fits and the confidential
    data do not make.

    Everything is computed as the run computed it, so this takes as long as the run did without its
    fits.
    """
    rows = pd.util.hash_pandas_object(confidential.astype(str), index=False).to_numpy()
    key = hashlib.sha256(
        json.dumps(run.manifest, sort_keys=True).encode() + rows.tobytes()
    ).hexdigest()
    refuse_other_tables(run, _made.once(key, lambda: _tables_again(run, confidential, reporter)))


def refuse_other_tables(run: FinishedRun, made: Mapping[str, pd.DataFrame]) -> None:
    """Refuse a run whose tables are not those that were `made`, but for rounding."""
    for name, table in made.items():
        if name not in run.tables or not alike(table, run.tables[name]):
            raise not_made(f"tables/{name}.csv", _lacking(run))
    if other := set(run.tables) - set(made):
        raise not_made(f"tables/{min(other)}.csv")


def _tables_again(
    run: FinishedRun, confidential: pd.DataFrame, reporter: Reporter
) -> dict[str, pd.DataFrame]:
    """The tables by which a run is judged, once its datasets and what it holds of the records are
    seen to be what it makes.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)  # the run has said it
        return _made_of_fits(run, confidential, work_of(run, confidential, reporter))


def _made_of_fits(
    run: FinishedRun, confidential: pd.DataFrame, work: Work
) -> dict[str, pd.DataFrame]:
    with work.reporter.step("reading the fits"):
        for scheme in run.schemes:
            for block in work.fit(scheme).blocks.values():  # which refuses other data
                refuse_other_diagnostics(block, work.study.sampling)
    # a target changed the settings after the random numbers were made
    tuned = run.manifest["tuning"]
    refuse_other_settings(
        work.study if tuned is None else asking_study(work.study, tuned),
        work.fingerprint,
        run.streams,
    )
    for scheme in run.schemes:
        datasets = work.drawn(scheme)
        writer = DatasetWriter(datasets.only(work.study.released(confidential)))
        for number, path in enumerate(
            sorted((run.folder / "synthetic" / stem_of(scheme)).iterdir())
        ):
            if not writer.is_in(path, number):
                raise not_made(path.relative_to(run.folder).as_posix())
    if precisions(work.fit(run.schemes[0])) != run.manifest["precision"]:
        raise not_made("the precision in manifest.json")
    result, tables = evaluate_labels(work)
    verdicts_of = replace(run, tables=tables).verdicts
    reasons = risk_reasons(work, verdicts_of)
    held = {
        "identification_risk": (result.records, run.records),
        "expected_risk": (result.expected, run.expected),
    }
    held["weights"] = (
        weights_table({scheme: work.weights(scheme) for scheme in run.schemes}),
        run.weights,
    )
    for name, (made, stored) in held.items():
        if not np.allclose(
            made.to_numpy(dtype=float),
            stored[list(made)].to_numpy(dtype=float),
            rtol=_ROUNDING,
            equal_nan=True,
        ):
            raise not_made(f"confidential/{name}.csv")
    return {
        name: round_trip(table)
        for name, table in (tables | ({"reasons": reasons} if len(reasons) else {})).items()
    }


def work_of(run: FinishedRun, confidential: pd.DataFrame, reporter: Reporter) -> Work:
    """The stages of a run, whose fits are those in its folder."""
    study = replace(run.study, seed=run.streams.seed)
    stages = Stages(
        study, repr(study.data), compared=UNWEIGHTED in run.schemes, streams=run.streams
    )
    archives = {
        stages.key("fit", scheme): run.posterior_path(scheme).read_bytes() for scheme in run.schemes
    }
    return Work(stages, confidential, Store(archives=archives), reporter)


def round_trip(table: pd.DataFrame) -> pd.DataFrame:
    """A table as its file is read."""
    with temporary_folder() as folder:
        path = folder / "table.csv"
        write_table(table, path, private=True)
        return read_table(path)


def alike(made: pd.DataFrame, stored: pd.DataFrame) -> bool:
    """Whether two tables hold the same, but for rounding."""
    if list(made) != list(stored) or len(made) != len(stored):
        return False
    return all(_columns_alike(made[name], stored[name]) for name in made)


def _columns_alike(made: pd.Series, stored: pd.Series) -> bool:
    """Whether two columns hold the same texts, or the same numbers but for rounding."""
    if all(
        pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)
        for column in (made, stored)
    ):
        mine, theirs = (column.to_numpy(dtype=float, na_value=np.nan) for column in (made, stored))
        return bool(np.allclose(mine, theirs, rtol=_ROUNDING, atol=1e-12, equal_nan=True))
    return bool(
        (
            made.astype(object).fillna("").astype(str).to_numpy()
            == stored.astype(object).fillna("").astype(str).to_numpy()
        ).all()
    )


def not_made(what: str, why: str = "") -> InputError:
    """The error about one file of a run."""
    why = why or "it was changed after the run, or is of other versions: run the study again"
    return InputError(
        f"nothing was released: {what!r} of the run is not what its fits and the confidential "
        f"data make; {why}"
    )


def _lacking(run: FinishedRun) -> str:
    """Which measures of a run no installed package registers, so that its tables are not made
    again.
    """
    keys = dict.fromkeys(
        str(key) for name in ("risk", "utility") for key in run.tables[name]["key"]
    )
    missing = [key for key in keys if key not in measures()]
    if not missing:
        return ""
    if went := [key for key in missing if key in REPLACED["measure"]]:
        return (
            f"the run is of an earlier version, of whose measures {listing(went)} are gone: run "
            "the study again"
        )
    some, they = ("the measure", "it comes") if len(missing) == 1 else ("the measures", "they come")
    return (
        f"the run holds {some} {listing(missing)}, which no installed package registers here; "
        f"install what {they} from"
    )
