"""The sweep: check every cell, compute those that are not done, and write one tidy table.

Finished cells wait in ``OUT.partial/cells``, one file each, from which the same command goes on
after an interruption. Nothing in the results depends on how often that happened, on the number of
workers or on who computed what.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from riskweighted.common.checks import check_count, check_given
from riskweighted.common.errors import InputError
from riskweighted.common.extras import optional
from riskweighted.common.fingerprints import fingerprint, versions
from riskweighted.common.folders import WorkingFolder, open_folder
from riskweighted.common.jit import worker_threads
from riskweighted.common.native import Frame, as_pandas
from riskweighted.common.progress import Reporter, default_reporter
from riskweighted.evaluation.measure_rows import CONFIDENTIAL
from riskweighted.intruder.world import make_world
from riskweighted.runs.check_study import check_study
from riskweighted.runs.folder import check_replaceable
from riskweighted.runs.found_bounds import add_found_bounds
from riskweighted.runs.guarantee_checks import refuse_data_dependent
from riskweighted.runs.sections import DataSettings
from riskweighted.runs.stages import Stages
from riskweighted.runs.work import Work
from riskweighted.sweeps.cell_work import forget
from riskweighted.sweeps.cells import CellGroup, Result, SweepCell, group_cells, identify
from riskweighted.sweeps.dispatch import run_groups
from riskweighted.sweeps.results import (
    begin,
    finished_cells,
    keep_cell,
    sweep_inputs,
    tidy_tables,
    write_results,
)
from riskweighted.sweeps.scheduling import Pool, cluster_pool, local_pool
from riskweighted.sweeps.settings_grid import GridPoint, Sweep, expand_grid, place_text
from riskweighted.weights.match import world_weights
from riskweighted.weights.scheme_names import UNWEIGHTED
from riskweighted.weights.schemes import order_schemes, scheme_source

__all__ = ["CellCounts", "SweepResult", "count_cells", "sweep"]


class CellCounts(NamedTuple):
    """Of a sweep: ``cells`` in its results, of which ``different`` are computed (the confidential
    data have no radius of weights, and no L), and the ``fits`` of these.
    """

    cells: int
    different: int
    fits: int

    def __str__(self) -> str:
        same = (
            ""
            if self.cells == self.different
            else f", of which {self.different:,} differ and are computed"
        )
        return f"{self.cells:,} cells{same}, by {self.fits:,} fit{'s' if self.fits != 1 else ''}"


def _counted(cells: Sequence[SweepCell]) -> CellCounts:
    return CellCounts(
        len(cells),
        len({cell.key for cell in cells}),
        len({cell.fit for cell in cells if cell.fits_model}),
    )


@dataclass(frozen=True)
class SweepResult:
    """A sweep result holds the tables of a finished sweep.

    Attributes
    ----------
    folder : Path
    results : DataFrame
        One row per setting of the grid, repetition, label and measure: value, interval and its
        overlap with the confidential one, mean weight and convergence of the fit.
    failures : DataFrame
        One row per setting, repetition and label that has no result, with the reason.
    disclosure_verdicts, fit_check : DataFrame
        Of each setting, repetition and scheme what a run judges it by: whether its datasets give
        away no more than the policy allows, and how its fit compares with the data.

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> len(rw.sweep(rw.load_sweep(folder / "sweep.toml"), "swept", workers=1, force=True).failures)
    0
    """

    folder: Path
    results: pd.DataFrame = field(repr=False)
    failures: pd.DataFrame = field(repr=False)
    disclosure_verdicts: pd.DataFrame = field(repr=False)
    fit_check: pd.DataFrame = field(repr=False)


def sweep(
    plan: Sweep,
    out: str | Path,
    *,
    confidential: "Frame | None" = None,
    force: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    reporter: Reporter | None = None,
) -> SweepResult:
    """Return the results of a study at every point of a grid, with repetitions.

    Cells that differ only in the number of datasets or in the evaluation share a fit, fits of one
    model and data share its compilation.

    Parameters
    ----------
    plan : Sweep
        From `load_sweep`, or built from a study and a grid.
    out : str or Path
        A folder that does not exist yet; it appears when everything is done.
    confidential : DataFrame, optional
        Used instead of the study's data file.
    force : bool
        Replace an existing folder, once the new one is complete.
    workers : int, optional
        Processes on this machine; default: its cores. 1 works in this process. They do not change
        the results. A script that uses more must stand under ``if __name__ == "__main__":``.
    scheduler : str, optional
        Address of a Dask scheduler, ``"tcp://host:port"``, used instead of processes of this
        machine.
    reporter : Reporter, optional
        Shows progress.

    Raises
    ------
    InputError
        If a setting at any point of the grid or the data is not valid, `out` exists without
        `force`, another sweep is at work there, ``OUT.partial`` was begun with other inputs, or the
        scheduler does not answer. A cell that fails later stands in `failures`.

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> rw.sweep(rw.load_sweep(folder / "sweep.toml"), "swept", workers=1).results[
    ...     "release.L"
    ... ].unique().tolist()
    [2, 3]
    """
    check_given(plan, "plan", "grid", "Sweep", "load_sweep(FILE)")
    confidential = as_pandas(confidential)
    if workers is not None:
        check_count(workers, "workers")
        if scheduler is not None:
            raise InputError(
                f"give workers or a scheduler, not both; got workers {workers} and scheduler "
                f"{scheduler!r}"
            )
    if scheduler is not None:
        optional("distributed", "a scheduler")
    if confidential is not None and any(name.startswith("data.") for name in plan.grid):
        raise InputError(
            "the grid names a setting of 'data', but the data are given as a DataFrame; give one "
            "of them"
        )
    with open_folder(
        Path(out), "a sweep", check_replaceable=check_replaceable, force=force
    ) as working:
        return _sweep_in(
            working, plan, confidential, workers, scheduler, reporter or default_reporter()
        )


def _sweep_in(
    working: WorkingFolder,
    plan: Sweep,
    confidential: pd.DataFrame | None,
    workers: int | None,
    scheduler: str | None,
    reporter: Reporter,
) -> SweepResult:
    """Check, compute and write, in a working folder that keeps finished cells."""
    points, cells, inputs = _checked(plan, confidential, reporter)
    begin(working.folder, inputs)
    finished = finished_cells(working.folder, cells)
    errors = _compute(cells, finished, working.folder, confidential, workers, scheduler, reporter)
    tables = tidy_tables(points, cells, finished, errors)
    write_results(working.result, tables, inputs)
    return SweepResult(
        working.out, tables.results, tables.failures, tables.disclosure_verdicts, tables.fit_check
    )


def count_cells(plan: Sweep, *, reporter: Reporter | None = None) -> CellCounts:
    """Check every cell of a sweep and say how many there are; nothing is fitted or written."""
    return _counted(_checked(plan, None, reporter or default_reporter())[1])


def _checked(
    plan: Sweep, confidential: pd.DataFrame | None, reporter: Reporter
) -> tuple[list[GridPoint], list[SweepCell], dict[str, Any]]:
    """The points of a sweep, the cell of each, and all that decides the results; refuses what can
    be known to be wrong.
    """
    with reporter.step("checking every cell") as advance:
        order_schemes(plan.schemes)
        points, fingerprints = _check_points(expand_grid(plan), confidential, advance)
    inputs = sweep_inputs(plan, fingerprints)
    whack_a_mole = UNWEIGHTED in plan.schemes
    cells = [
        identify(
            point, fingerprints[point.study.data], inputs["versions"], whack_a_mole=whack_a_mole
        )
        for point in points
    ]
    return points, cells, inputs


def _check_points(
    points: Sequence[GridPoint],
    confidential: pd.DataFrame | None,
    advance: Callable[[int, int], None],
) -> tuple[list[GridPoint], dict[DataSettings, str]]:
    """Refuse what can be known to be wrong before anything runs; the points, with the bounds of
    runs, and each source's fingerprint.
    """
    data: dict[DataSettings, pd.DataFrame] = {}
    checked: set[str] = set()
    for done, point in enumerate(points):
        if point.study.data not in data:
            data[point.study.data] = (
                point.study.with_weights(point.study.data.read())
                if confidential is None
                else confidential
            )
        if point.repetition == 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for name, check in _checks(point, data[point.study.data]):
                    if name not in checked:
                        _at_point(check, point)
                    checked.add(name)
        advance(done + 1, len(points))
    held = [
        point._replace(study=add_found_bounds(point.study, data[point.study.data]))
        for point in points
    ]
    return held, {source: fingerprint(frame) for source, frame in data.items()}


def _checks(point: GridPoint, data: pd.DataFrame) -> Iterator[tuple[str, Callable[[], object]]]:
    """What is to be checked at a point, each with a name that is the same where the check is the
    same: not how wide balls are.
    """
    study, label, scenario = point.study, point.label, point.study.weighting_scenario()
    stages = Stages(study, repr(study.data))
    radii = sorted(scenario.radius) if isinstance(scenario.radius, Mapping) else None
    if label in study.baselines:
        yield (
            f"{label} {stages.key('prepared', label)}",
            lambda: Work.of(study, data).prepared(label),
        )
        return
    common = f"{label} {stages.key('checked')} {radii}"
    if label == CONFIDENTIAL:
        unweighted = replace(
            study, weights=replace(study.weights, schemes=(UNWEIGHTED,)), baselines={}
        )
        yield common, lambda: check_study(unweighted, data)
        return
    if study.guarantee is not None:
        alone = replace(study, weights=replace(study.weights, schemes=(label,)))
        yield (
            f"guarantee {common}",
            lambda: refuse_data_dependent(alone, Work.of(alone, data).prepared()),
        )
    if scheme_source(label) is None:
        yield (
            common,
            lambda: world_weights(make_world(data, scenario), label, study.weights.risk_of),
        )


def _at_point(check: Callable[[], object], point: GridPoint) -> None:
    try:
        check()
    except InputError as error:
        raise InputError(f"at the grid point {place_text(point.settings)}: {error}") from None


def _compute(
    cells: Sequence[SweepCell],
    finished: dict[str, Result],
    partial: Path,
    confidential: pd.DataFrame | None,
    workers: int | None,
    scheduler: str | None,
    reporter: Reporter,
) -> dict[str, str]:
    """Compute and keep the cells that are not finished; the reasons of those that cannot be."""
    groups = group_cells(cells, set(finished))
    errors: dict[str, str] = {}
    if not groups:
        return errors
    in_all = len({cell.key for cell in cells})
    step = reporter.step(f"fitting and evaluating {_counted(cells)}")
    with step as advance, _pool(cells, groups, confidential, workers, scheduler) as (pool, cores):
        for outcome in run_groups(pool, [group._replace(cores=cores) for group in groups]):
            for key, result in outcome.results.items():
                keep_cell(partial, key, result)
                finished[key] = result
            errors |= outcome.errors
            advance(len(finished) + len(errors), in_all)
    return errors


@contextmanager
def _pool(
    cells: Sequence[SweepCell],
    groups: Sequence[CellGroup],
    confidential: pd.DataFrame | None,
    workers: int | None,
    scheduler: str | None,
) -> Iterator[tuple[Pool, int]]:
    """The workers, and how many chains each may sample at once."""
    if scheduler is not None:
        paths = sorted(
            {
                cell.study.data.path
                for cell in cells
                if confidential is None and cell.study.data.path is not None
            }
        )
        with cluster_pool(confidential, scheduler, paths, versions(), forget) as pool:
            yield pool, 1
        return
    cores = worker_threads() if workers is None else workers
    used = min(cores, len(groups))
    with local_pool(confidential, used, forget) as pool:
        yield pool, cores // used
