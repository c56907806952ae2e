"""What a sweep leaves: finished cells in a working folder, one file each, and in the end one tidy
table.

``OUT.partial`` knows what it was begun with, and goes on with nothing else.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from riskweighted.common.atomic import keep, recall, write_file
from riskweighted.common.errors import InputError, listing
from riskweighted.common.fingerprints import file_hash, versions
from riskweighted.common.settings import flat, to_table
from riskweighted.data.io import write_table
from riskweighted.runs.sections import DataSettings
from riskweighted.sweeps.cells import Result, SweepCell
from riskweighted.sweeps.settings_grid import GridPoint, Sweep, value_text

__all__ = [
    "SweepTables",
    "begin",
    "finished_cells",
    "is_sweep",
    "keep_cell",
    "sweep_inputs",
    "tidy_tables",
    "write_results",
]


def sweep_inputs(plan: Sweep, fingerprints: Mapping[DataSettings, str]) -> dict[str, Any]:
    """Everything that decides the results, for the manifest and to compare with what a working
    folder was begun with.
    """
    settings = to_table(plan.study)
    settings["data"] |= {
        name: Path(path).name
        for name in ("path", "variables")
        if (path := settings["data"].get(name)) is not None
    }
    if plan.study.weights.file is not None:
        settings["weights"]["file"] = plan.study.weights.file.name
    grid = {name: [_shown(name, value) for value in values] for name, values in plan.grid.items()}
    data = [
        {"name": Path(source.path).name if source.path else source.embedded, "fingerprint": mark}
        for source, mark in fingerprints.items()
    ]
    return {
        "settings": settings,
        "grid": grid,
        "repetitions": plan.repetitions,
        "data": data,
        "versions": versions(),
    }


def _shown(name: str, value: Any) -> Any:
    """A setting as the results show it: of a path its last part, since the rest is the machine's
    affair.
    """
    return Path(value).name if name == "data.path" else to_table(value)


def begin(partial: Path, inputs: Mapping[str, Any]) -> None:
    """Write down in the working folder what the sweep is begun with; refuse one that was begun with
    something else.
    """
    begun = partial / "sweep.json"
    if begun.is_file():
        try:
            before = json.loads(begun.read_text(encoding="utf-8"))
        except ValueError:
            before = None  # damaged; every cell says for itself what it was made for
        if isinstance(before, dict):
            _refuse_other_inputs(partial, before, json.loads(json.dumps(inputs)))
            return
    write_file(begun, json.dumps(inputs, indent=2, ensure_ascii=False) + "\n", private=True)


def _refuse_other_inputs(partial: Path, begun: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    before, after = (
        {name.removeprefix("settings."): value for name, value in flat(inputs)}
        for inputs in (begun, now)
    )
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if names:
        raise InputError(
            f"{str(partial)!r} was begun with other inputs: they differ in {listing(names)}; "
            "move it away, choose another --out, or restore them"
        )


def is_sweep(folder: Path) -> bool:
    """Whether a folder is the result of a sweep."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and {"grid", "repetitions", "files"} <= set(manifest)


def finished_cells(partial: Path, cells: Sequence[SweepCell]) -> dict[str, Result]:
    """Results of the cells that an earlier run of the same sweep finished; a damaged one is named
    in a warning and left out.
    """
    results = {}
    for key in {cell.key for cell in cells}:
        content = recall(_cell_path(partial, key), key)
        if content is not None:
            results[key] = Result(*json.loads(content))
    return results


def keep_cell(partial: Path, key: str, result: Result) -> None:
    """Keep a finished cell; its key says what it was made for: data, weights, seed, versions and
    all settings.
    """
    keep(_cell_path(partial, key), json.dumps(result).encode(), key)


def _cell_path(partial: Path, key: str) -> Path:
    return partial / "cells" / f"{key}.json"


_MEASURE = [
    "variable",
    "key",
    "measure",
    "parameter",
    "term",
    "value",
    "error",
    "lower",
    "upper",
    "overlap",
]
_FIT = ["mean_weight", "largest_r_hat", "smallest_ess_bulk", "divergences", "converged"]
_DEFINITION = [
    "label",
    "variable",
    "key",
    "measure",
    "parameter",
    "term",
    "higher_is",
    "rule",
    "definition",
]


class SweepTables(NamedTuple):
    """The tidy ``results``; ``definitions``, what each measure means; ``failures``, what has no
    result, and why; and as a run has them the ``disclosure_verdicts`` of every scheme, and the
    ``fit_check`` of its fit."""

    results: pd.DataFrame
    definitions: pd.DataFrame
    failures: pd.DataFrame
    disclosure_verdicts: pd.DataFrame
    fit_check: pd.DataFrame


def tidy_tables(
    points: Sequence[GridPoint],
    cells: Sequence[SweepCell],
    finished: Mapping[str, Result],
    errors: Mapping[str, str],
) -> SweepTables:
    """The tables of a sweep, each row with the settings of its cell."""
    rows, failed, disclosed, checks = [], [], [], []
    for point, cell in zip(points, cells, strict=True):
        settings = {name: value_text(_shown(name, value)) for name, value in point.settings.items()}
        where = {
            **settings,
            "repetition": point.repetition,
            "seed": point.study.seed,
            "label": point.label,
        }
        if cell.key in finished:
            result = finished[cell.key]
            rows += [{**where, **measure, **result.fit} for measure in result.measures]
            disclosed += [where | row for row in result.disclosed]
            checks += [where | row for row in result.checks]
        else:
            failed.append({**where, "error": errors[cell.key]})
    names = list(dict.fromkeys([*points[0].settings, "repetition", "seed", "label"]))
    everything = pd.DataFrame(
        rows, columns=list(dict.fromkeys([*names, *_MEASURE, *_FIT, *_DEFINITION]))
    )
    for name in points[0].settings:
        if everything[name].dtype == object:  # numbers beside text, which parquet refuses
            everything[name] = everything[name].map(str)
    everything = everything.astype(
        {"variable": "string", "term": "string", "divergences": "Int64", "converged": "boolean"}
    )
    definitions = everything[_DEFINITION].drop_duplicates(ignore_index=True)
    failures = pd.DataFrame(failed, columns=[*names, "error"])
    return SweepTables(
        everything[[*names, *_MEASURE, *_FIT]],
        definitions,
        failures,
        _of_fits(disclosed, names),
        _of_fits(checks, names),
    )


def _of_fits(rows: list[dict[str, Any]], names: Sequence[str]) -> pd.DataFrame:
    """A table of rows, or an empty one."""
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=list(names))


_GUIDE = """What is here: aggregates to decide on, no synthetic data and no value of a single
record; review before release

results.csv, results.parquet   one row per setting, repetition, label and measure
definitions.csv                what each measure means and which rule made its interval
disclosure_verdicts.csv        of each scheme, whether its datasets disclose no more than the
                               policy allows, and why not
fit_check.csv                  how each fit compares with the data
failures.csv                   settings without a result, and why (absent where there are none)
manifest.json                  settings, grid, versions, fingerprint of the data, SHA-256 of every
                               file
"""


def write_results(result: Path, tables: SweepTables, inputs: Mapping[str, Any]) -> None:
    """The files of the folder `result`, which is empty."""
    write_table(tables.results, result / "results.parquet")
    for name, table in tables._asdict().items():
        if name != "failures" or len(table):
            write_table(table, result / f"{name}.csv")
    write_file(result / "README.txt", _GUIDE)
    manifest = {
        **inputs,
        "files": {path.name: file_hash(path) for path in sorted(result.iterdir())},
    }
    write_file(result / "manifest.json", json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
