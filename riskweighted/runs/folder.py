"""The folder that a run leaves: what is in it, and whether it may replace another.

``synthetic/`` holds every dataset in the rows of the data, which `riskweighted release` shuffles before they leave, ``tables/`` holds
aggregates for that decision, ``confidential/`` (weights, per-record risk, posteriors, top-coded data) never leaves.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from riskweighted.common.atomic import make_folder, write_file
from riskweighted.common.errors import InputError, listing
from riskweighted.common.fingerprints import file_hash, versions
from riskweighted.common.frames import holds_numbers
from riskweighted.common.settings import to_table
from riskweighted.data.io import DatasetWriter, write_table
from riskweighted.design.precision import LEVELS, in_words
from riskweighted.runs.contents import posterior_name, weight_names
from riskweighted.runs.randomness import FILE, streams_bytes

if TYPE_CHECKING:  # at run time it would load PyMC
    from riskweighted.runs.study import Study
    from riskweighted.runs.tuned import TunedScheme
    from riskweighted.runs.work import Work
    from riskweighted.sequence.fit import Fit

__all__ = ["check_replaceable", "write_results"]


def check_replaceable(out: Path) -> None:
    """Refuse to replace a folder that is not wholly the result of a run."""
    try:
        files = set(json.loads((out / "manifest.json").read_text(encoding="utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{str(out)!r} is not the result of a run (it has no manifest.json of ours), so it is not replaced") from None
    foreign = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()} - files - {"manifest.json"}
    if foreign:
        raise InputError(
            f"{str(out)!r} holds {len(foreign)} files that are not of a run, for example {sorted(foreign)[0]!r}; move them away first"
        )


_GUIDE = """What lies here

synthetic/      the synthetic datasets, one folder per scheme, in the rows of the data: who joins them by row learns more of a person than
                the datasets shuffled tell, so this folder must not leave the agency; "riskweighted release" makes the pack that may
tables/         aggregates to decide on: verdicts, summary, risk, utility, convergence, fit_check; review before release
confidential/   weights, risk of every record, posterior draws, the top-coded data, seed and entropy; never leaves the agency
manifest.json   settings, versions, SHA-256 of the input and of every file
"""


_STUDY_ONLY = """
This run is reproducible: its seed alone makes the noise of its datasets, so they are for study and not for release.
"""


def write_results(
    work: "Work",
    tables: Mapping[str, pd.DataFrame],
    records: Mapping[str, pd.DataFrame],
    result: Path,
    study_file: str | None = None,
    tuned: "TunedScheme | None" = None,
) -> None:
    """Write the folder `result`, which is empty: datasets, `tables` by name, `records` (identification risk, expected risk) by name.

    `study_file`: text of a study file with what was chosen; `tuned`: the scheme among it.
    """
    study, secret, fits = work.study, result / "confidential", {label: work.fit(label) for label in work.labels}
    make_folder(secret, private=True)
    digits, columns = len(str(study.release.L)), study.released(work.confidential)
    for label, fitted in fits.items():
        datasets = work.drawn(label)
        if fitted.keeps_true_values:
            # Not synthetic: most of its values are true ones. And one is enough, the others are the same.
            write_table(datasets[0], secret / f"{label}.{study.release.format}", private=True)
            continue
        writer = DatasetWriter(datasets.only(columns))
        for number in range(len(datasets)):
            writer.write(number, result / "synthetic" / label / f"synthetic_{number + 1:0{digits}d}.{study.release.format}")
    for name, table in tables.items():
        write_table(table, result / "tables" / f"{name}.csv")
    weights = weights_table({scheme: fits[scheme].alphas for scheme in study.weights.schemes})
    write_table(weights.rename_axis("row"), secret / "weights.csv", index=True, private=True)
    for name, table in records.items():
        write_table(table.rename_axis("row"), secret / f"{name}.csv", index=True, private=True)
    make_folder(secret / "posterior", private=True)
    for label, fitted in fits.items():
        if len(fitted.diagnostics):
            fitted.save(secret / "posterior" / posterior_name(label))
    write_file(result / FILE, streams_bytes(work.streams), private=True)
    if study_file is not None:
        write_file(secret / "study.toml", study_file, private=True)
    write_file(result / "README.txt", _GUIDE + (_STUDY_ONLY if study.reproducible else ""))
    files = sorted(path for path in result.rglob("*") if path.is_file())
    settings = to_table(study)
    del settings["seed"]
    if study.data.path is not None:
        settings["data"]["path"] = study.data.path.name
    manifest = {
        "settings": settings,
        "versions": versions(),
        "precision": _precisions(study, fits[study.weights.schemes[0]]),
        "tuning": None if tuned is None else {name: getattr(tuned, name) for name in ("target", "at_most", "scheme")},
        "input": {
            "records": len(work.confidential),
            "sha256": file_hash(study.data.path) if study.data.path is not None and study.data.path.is_file() else None,
        },
        **({"guarantee": list(statement.sentences(listing(study.variables)))} if (statement := study.statement()) is not None else {}),
        "files": {path.relative_to(result).as_posix(): file_hash(path) for path in files},
    }
    write_file(result / "manifest.json", json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def weights_table(alphas: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Weights (n, V) by scheme, side by side."""
    named = [table.rename(columns=weight_names(scheme, list(table))) for scheme, table in alphas.items()]
    return pd.concat(named, axis=1)


def _precisions(study: "Study", fit: "Fit") -> dict[str, str]:
    """How finely the released values of each variable are recorded, in words."""
    words = {}
    for variable, block_fit in fit.value_fits().items():
        given = study.release.precision_of(variable)
        if block_fit is None:  # its statuses say all
            words[variable] = "-" if holds_numbers(fit.confidential[variable]) else LEVELS
        else:
            words[variable] = LEVELS if block_fit.categories is not None else in_words(given or block_fit.precision)
    return words
