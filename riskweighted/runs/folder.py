"""The folder that a run leaves: written beside its final place, checked before it replaces another, published at once.

``synthetic/`` may leave the agency once it is approved, ``tables/`` holds aggregates for that decision, ``confidential/``
(weights, per-record risk, posteriors, top-coded data) never leaves.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import file_hash, versions
from riskweighted.common.settings import to_table
from riskweighted.data.io import write_table
from riskweighted.runs.checked import CheckedStudy

if TYPE_CHECKING:  # at run time it would load PyMC
    from riskweighted.synthesis.fitting import Fit

__all__ = ["check_replaceable", "opened", "publish", "working_folder", "write_results"]

_MARK = ".riskweighted"  # stands in a working folder of ours


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


def working_folder(out: Path) -> Path:
    """OUT.partial, where finished fits wait; refused where it exists and is not ours."""
    partial = out.absolute().parent / f"{out.absolute().name}.partial"
    if partial.exists() and not (partial / _MARK).is_file():
        raise InputError(f"{str(partial)!r} exists and is not the working folder of a run; move it away or choose another --out")
    return partial


@contextmanager
def opened(partial: Path) -> Iterator[None]:
    """Make the working folder; remove it after an error, unless a finished fit is there from which a next run can go on."""
    partial.mkdir(parents=True, exist_ok=True)
    partial.chmod(0o700)
    (partial / _MARK).touch()
    try:
        yield
    except BaseException:
        if partial.is_dir() and not list(partial.glob("*.nc")):
            shutil.rmtree(partial)
        raise


_GUIDE = """What lies here

synthetic/      the synthetic datasets, one folder per scheme; may leave the agency once approved
tables/         aggregates to decide on: summary, risk, utility, convergence; review before release
confidential/   weights, risk of every record, posterior draws, the top-coded data; never leaves the agency
manifest.json   settings, seed, versions, SHA-256 of the input and of every file
"""


def write_results(
    checked: CheckedStudy,
    fits: "Mapping[str, Fit]",
    frames: Mapping[str, list[pd.DataFrame]],
    tables: Mapping[str, pd.DataFrame],
    records: pd.DataFrame,
    partial: Path,
) -> None:
    """Write the result folder inside the working one: `tables` by name, `records` the risk of every record."""
    study, result = checked.study, partial / "result"
    shutil.rmtree(result, ignore_errors=True)
    digits = len(str(study.release.L))
    for label, datasets in frames.items():
        if fits[label].keeps_true_values:
            # Not synthetic: most of its values are true ones. And one is enough, the others are the same.
            write_table(datasets[0], result / "confidential" / f"{label}.{study.release.format}")
            continue
        for number, frame in enumerate(datasets):
            write_table(frame, result / "synthetic" / label / f"synthetic_{number + 1:0{digits}d}.{study.release.format}")
    for name, table in tables.items():
        write_table(table, result / "tables" / f"{name}.csv")
    write_table(pd.DataFrame(dict(checked.weights)).rename_axis("row"), result / "confidential" / "weights.csv", index=True)
    write_table(records.rename_axis("row"), result / "confidential" / "identification_risk.csv", index=True)
    (result / "confidential" / "posterior").mkdir()
    (result / "confidential").chmod(0o700)
    for label, fitted in fits.items():
        if len(fitted.diagnostics):
            fitted.save(result / "confidential" / "posterior" / f"{label}.nc")
    (result / "README.txt").write_text(_GUIDE, encoding="utf-8")
    files = sorted(path for path in result.rglob("*") if path.is_file())
    settings = to_table(study)
    if study.data.path is not None:
        settings["data"]["path"] = study.data.path.name
    manifest = {
        "settings": settings,
        "versions": versions(),
        "input": {
            "records": len(checked.world.confidential),
            "sha256": file_hash(study.data.path) if study.data.path is not None and study.data.path.is_file() else None,
        },
        "files": {path.relative_to(result).as_posix(): file_hash(path) for path in files},
    }
    (result / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def publish(partial: Path, out: Path) -> None:
    """Put the finished folder in its place at once, and clear what led to it."""
    if out.exists():
        out.rename(partial / "replaced")
    (partial / "result").rename(out)
    shutil.rmtree(partial)
