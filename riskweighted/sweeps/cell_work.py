"""How a worker computes a group of cells. What several cells have in common is computed once, as
long as the worker keeps it.
"""

import threading
import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import fingerprint
from riskweighted.evaluation.measure_rows import CONFIDENTIAL
from riskweighted.runs.disclosure_stage import disclosure_tables
from riskweighted.runs.memo import Memo, Store
from riskweighted.runs.sections import DataSettings
from riskweighted.runs.work import Work
from riskweighted.sampling.convergence import deciding_rows, no_diagnostics
from riskweighted.sequence.fit import Fit
from riskweighted.sweeps.cells import CellGroup, Outcome, Result, Stored, describe
from riskweighted.weights.user_weights import joined_weights

__all__ = ["forget", "run_group"]

_memo = Memo(room=2**29)
# compiled models, warnings and thread limits belong to the process
_one_at_a_time = threading.Lock()


def forget() -> None:
    """Let go of all that this process keeps for further cells, but the compiled models."""
    _memo.clear()
    _read.cache_clear()


def run_group(
    given: pd.DataFrame | None, group: CellGroup, posteriors: Mapping[str, Stored | None]
) -> Outcome:
    """Fit once and evaluate every cell of a group; errors are values, since schedulers log what a
    worker raises.

    `given`: the confidential data, None where the study's path is read; `posteriors`: by key the
    fits that the group needs (`Fit.to_bytes`).
    """
    with _one_at_a_time, threadpool_limits(1), warnings.catch_warnings():
        # what they say stands in the results: convergence, singleton patterns
        warnings.simplefilter("ignore")
        began, first = time.perf_counter(), group.first
        try:
            read = partial(_read, first.study.data, first.study.weights.file, first.data)
            confidential = read() if given is None else given
            work = Work(
                first.stages,
                confidential,
                Store(_memo, archives=posteriors, passing=()),
                cores=group.cores,
            )
            fit = None if first.label == CONFIDENTIAL else work.fit(first.label)
        except Exception as error:
            return Outcome.failed(group, describe(error))
        results, errors = {}, {}
        for cell in group.cells:
            try:
                results[cell.key] = _result(replace(work, stages=cell.stages), cell.label)
            except Exception as error:
                errors[cell.key] = describe(error)
        posterior = fit.to_bytes() if fit is not None and group.posterior else None
    return Outcome(
        results,
        errors,
        posterior,
        seconds=time.perf_counter() - began,
        compiling=sum(work.compiled),
    )


@lru_cache(maxsize=2)
def _read(source: DataSettings, weights: Path | None, expected: str) -> pd.DataFrame:
    """The data of a study, once per process; refuses other data than the sweep was started with."""
    data = source.read() if weights is None else joined_weights(source.read(), weights)
    if fingerprint(data) != expected:
        raise InputError(
            "the data that this worker reads differ from those that the sweep was started with"
        )
    return data


def _result(work: Work, label: str) -> Result:
    """Risk and utility of one label, as the table of results has them, and what a run judges its
    fit and its datasets by.
    """
    evaluated = work.evaluated([label])
    rows = [
        row
        for table in (evaluated.risk, evaluated.utility)
        for row in table.to_dict("records")
        if row["label"] == label
    ]
    measures = [{name: row[name] for name in row if name != "label"} for row in rows]
    if label == CONFIDENTIAL:
        return Result(measures, _convergence(None, of_baseline=False), [], [])
    told = disclosure_tables({label: work.disclosed(label)})["disclosure_verdicts"]
    checks = work.fit_check(label).filter(
        items=["check", "variable", "parameter", "effect", "threshold", "verdict"]
    )
    tables = [table.to_dict("records") for table in (told.drop(columns="label"), checks)]
    return Result(measures, _convergence(work.fit(label), label in work.study.baselines), *tables)


def _convergence(fit: "Fit | None", of_baseline: bool) -> dict[str, Any]:
    """Mean weight and convergence, as they stand in the results."""
    mean_weight = np.nan if fit is None or of_baseline else float(fit.alphas.to_numpy().mean())
    table = fit.diagnostics if fit is not None else no_diagnostics()
    if len(table) == 0:
        return {"mean_weight": mean_weight}
    judged = deciding_rows(table)
    worst = {
        "largest_r_hat": float(judged["r_hat"].max()),
        "smallest_ess_bulk": float(judged["ess_bulk"].min()),
    }
    verdict = {
        "divergences": int(table["divergences"].max()),
        "converged": bool(judged["converged"].all()),
    }
    return {"mean_weight": mean_weight, **worst, **verdict}
