"""The folder that a run leaves: what is in it, whether it may replace another, and what its files
must hold when they are read.

``synthetic/`` holds every dataset in the order of the data's rows, which no pack of `riskweighted
release` has, ``tables/`` holds aggregates for that decision, ``confidential/`` (weights, per-record
risk, posteriors, top-coded data) never leaves.
"""

import io
import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from riskweighted.common.atomic import make_folder, write_file
from riskweighted.common.errors import InputError, listing
from riskweighted.common.fingerprints import file_hash, versions
from riskweighted.common.frames import holds_numbers, with_columns
from riskweighted.common.settings import to_table
from riskweighted.data.io import DatasetWriter, write_table
from riskweighted.data.parts import is_pattern
from riskweighted.data.sidecar import sidecar_text
from riskweighted.design.precision import LEVELS, in_words
from riskweighted.evaluation.main_table import CONVERGED, FIT_COLUMNS, FITS, summary_columns
from riskweighted.evaluation.measure_rows import COLUMNS, CONFIDENTIAL, Statistic
from riskweighted.evaluation.verdicts import INTRUDER, OF_EACH
from riskweighted.runs.randomness import FILE, question, streams_bytes
from riskweighted.weights.scheme_names import stem_of

if TYPE_CHECKING:  # at run time it would load PyMC
    import xarray as xr

    from riskweighted.common.seeds import Streams
    from riskweighted.runs.study import Study
    from riskweighted.runs.tuned_scheme import TunedScheme
    from riskweighted.runs.work import Work
    from riskweighted.sequence.fit import Fit

__all__ = [
    "CONCERNED",
    "DATA_PATH",
    "DESCRIBED",
    "OWN_WEIGHTS",
    "check_dataset",
    "check_of_each",
    "check_records",
    "check_replaceable",
    "check_tables",
    "posterior_name",
    "precisions",
    "read_posterior",
    "weight_names",
    "write_results",
]

_DIAGNOSTICS = ("r_hat", "ess_bulk", "ess_tail", "divergences", "pareto_k", "approximation")
_CHECKED = ("confidential", "synthetic", "standard_error", "z", "effect", "threshold", "records")
_MEASURED = ("value", "lower", "upper", "overlap")


def check_replaceable(out: Path) -> None:
    """Refuse to replace a folder that is not wholly the result of a run."""
    try:
        files = set(json.loads((out / "manifest.json").read_text(encoding="utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(
            f"{str(out)!r} is not the result of a run (it has no manifest.json of ours), so it "
            "is not replaced"
        ) from None
    foreign = (
        {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
        - files
        - {"manifest.json"}
    )
    if foreign:
        raise InputError(
            f"{str(out)!r} holds {len(foreign)} files that are not of a run, for example "
            f"{sorted(foreign)[0]!r}; move them away first"
        )


DATA_PATH = "confidential/data.txt"  # where the data lie, from the folder on in which the run lies
# what the data's own file, or one beside it, says of the columns; levels of its categories are
# those of confidential records
DESCRIBED = "confidential/variables.toml"
OWN_WEIGHTS = "confidential/own_weights.csv"
# by scheme the records that a broken rule of disclosure concerns, and which rule
CONCERNED = "confidential/disclosure_records.csv"
_GUIDE = """What is here

synthetic/      the synthetic datasets, one folder per scheme. Rows are in the order of the data: in
                a sorted file the number of a row discloses its values, and somebody who joins the
                datasets by row learns more of a person than from shuffled ones. So this folder must
                not leave the agency; "riskweighted release" makes the pack that may, its rows in a
                random order
tables/         aggregates to decide on: verdicts, summary, risk, utility, convergence, fit_check;
                review before release
confidential/   weights, risk of every record, the records that a refusal concerns
                (disclosure_records.csv), posterior draws, the top-coded data, where the data are,
                seed and entropy; must not leave the agency
manifest.json   settings, versions, SHA-256 of the input and of every file
"""


_STUDY_ONLY = """
This run is reproducible: its seed alone makes the noise of its datasets, so they are for study and
not for release.
"""


def write_results(
    work: "Work",
    tables: Mapping[str, pd.DataFrame],
    records: Mapping[str, pd.DataFrame],
    result: Path,
    study_file: str | None = None,
    tuned: "TunedScheme | None" = None,
) -> None:
    """Write the folder `result`, which is empty: datasets, `tables` by name, `records`
    (identification risk, expected risk) by name.

    `study_file`: text of a study file with what was chosen; `tuned`: the scheme among it.
    """
    study = work.study
    secret = result / "confidential"
    fits = {label: work.fit(label) for label in work.labels}
    make_folder(secret, private=True)
    digits, columns = len(str(study.release.L)), study.released(work.confidential)
    for label, fitted in fits.items():
        datasets = work.drawn(label)
        if fitted.keeps_true_values:
            # Not synthetic: most of its values are true ones. And one is enough, the others are the
            # same.
            write_table(
                datasets[0], secret / f"{stem_of(label)}.{study.release.format}", private=True
            )
            continue
        writer = DatasetWriter(datasets.only(columns))
        make_folder(result / "synthetic" / stem_of(label), private=True)
        for number in range(len(datasets)):
            writer.write(
                number,
                result
                / "synthetic"
                / stem_of(label)
                / f"synthetic_{number + 1:0{digits}d}.{study.release.format}",
            )
    for name, table in tables.items():
        write_table(table, result / "tables" / f"{name}.csv")
    if (described := study.data.described) is not None:
        write_file(result / DESCRIBED, sidecar_text(described, ".toml"), private=True)
    if study.weights.file is not None:
        write_file(result / OWN_WEIGHTS, study.weights.file.read_bytes(), private=True)
    weights = weights_table({scheme: work.weights(scheme) for scheme in study.weights.schemes})
    ending = "csv" if work.rows is None else "parquet"  # of a large file
    for name, table in {"weights": weights, **records}.items():
        by_row = table.rename_axis("row").reset_index()
        write_table(by_row, secret / f"{name}.{ending}", private=True)
    concerned = pd.concat(
        [
            with_columns(of.disclosed(label).concerned, {"intruder": name} if name else {})
            for name, of in work.by_each().items()
            for label in work.labels
        ],
        ignore_index=True,
    )
    write_table(concerned, result / CONCERNED, private=True)
    make_folder(secret / "posterior", private=True)
    for label, fitted in fits.items():
        if len(fitted.diagnostics):
            fitted.save(secret / "posterior" / posterior_name(label))
    if study_file is not None:
        write_file(secret / "study.toml", study_file, private=True)
    path = study.data.path
    joined = study.data.units is not None
    digest = file_hash(path) if path is not None and path.is_file() and not joined else None
    read: dict[str, object] = {
        "records": len(work.confidential),
        "sha256": work.fingerprint
        if digest is None and (joined or study.data.in_parts)
        else digest,
        "question": question(study, work.fingerprint),
    }
    if work.rows is not None:
        read["fitted"] = len(work.rows)
    _write_manifest(
        study,
        work.streams,
        result,
        precisions(fits[study.weights.schemes[0]]),
        read,
        tuned=tuned,
    )


def _write_manifest(
    study: "Study",
    streams: "Streams",
    result: Path,
    precision: Mapping[str, str],
    read: Mapping[str, object],
    *,
    tuned: "TunedScheme | None" = None,
) -> None:
    """Write what says what the folder `result` is, in the working folder beside its place, last:
    seed and entropy, where the data lie, a guide, and the manifest of all files.

    `read`: of the input.
    """
    write_file(result / FILE, streams_bytes(streams), private=True)
    if study.data.path is not None:
        write_file(
            result / DATA_PATH,
            f"{_from(result.absolute().parents[1], study.data.path)}\n",
            private=True,
        )
    write_file(result / "README.txt", _GUIDE + (_STUDY_ONLY if study.reproducible else ""))
    files = {
        path.relative_to(result).as_posix(): path
        for path in sorted(result.rglob("*"))
        if path.is_file()
    }
    settings = to_table(study)
    del settings["seed"]
    for name in ("path", "variables", "units"):
        if (path := getattr(study.data, name)) is not None:
            settings["data"][name] = (
                f"{path.parent.name}/{path.name}" if is_pattern(path) else path.name
            )
    if study.weights.file is not None:
        settings["weights"]["file"] = study.weights.file.name
    manifest = {
        "settings": settings,
        "versions": versions(),
        "precision": dict(precision),
        "tuning": None if tuned is None else {**tuned.asked, "scheme": tuned.scheme},
        "input": dict(read),
        **(
            {"guarantee": list(statement.sentences(listing(study.variables)))}
            if (statement := study.statement()) is not None
            else {}
        ),
        "files": {name: file_hash(path) for name, path in files.items()},
    }
    write_file(result / "manifest.json", json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def _from(folder: Path, path: Path) -> str:
    """A path from a folder on, so that both can be moved together; in full where they lie on
    different drives.
    """
    try:
        return Path(os.path.relpath(path.absolute(), folder)).as_posix()
    except ValueError:
        return path.absolute().as_posix()


def weights_table(alphas: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Weights (n, V) by scheme, side by side."""
    named = [
        table.rename(columns=weight_names(scheme, list(table))) for scheme, table in alphas.items()
    ]
    return pd.concat(named, axis=1)


def precisions(fit: "Fit") -> dict[str, str]:
    """How finely the released values of each variable are recorded, in words."""
    words = {}
    for link in fit.prepared.links:
        if link.values is None:  # its statuses say all
            numbers = holds_numbers(fit.confidential[link.variable])
            words[link.variable] = "-" if numbers else LEVELS
        else:
            rounding = fit.drawing.rounding(link.values)
            words[link.variable] = LEVELS if rounding.of_levels else in_words(rounding.precision)
    return words


# -- read back: whoever wrote these files can have written a manifest with their hashes too


def check_tables(
    tables: Mapping[str, pd.DataFrame],
    schemes: Sequence[str],
    variables: Sequence[str],
    folder: Path,
) -> None:
    """Refuse tables of a run that lack a column or a scheme, or hold text where numbers stand."""
    for name in ("risk", "utility"):
        if list(tables[name]) != list(COLUMNS):
            raise InputError(
                f"{str(folder)!r} holds a table {name!r} of another version of riskweighted: run "
                "the study again"
            )
        _require(tables[name], f"tables/{name}.csv", (), _MEASURED)
    needed = [column.name for column in FIT_COLUMNS]
    try:
        needed += [
            column.name
            for column in summary_columns(tables["risk"], tables["utility"])
            if _of_study(column.statistic, variables)
        ]
    except (KeyError, ValueError, TypeError):
        raise InputError(
            f"{str(folder)!r}: 'tables/risk.csv' or 'tables/utility.csv' names a measure that is "
            "none"
        ) from None
    _require(
        tables["summary"],
        "tables/summary.csv",
        ("label", *needed),
        [name for name in needed if name not in (CONVERGED.name, FITS.name)],
    )
    _require(
        tables["convergence"],
        "tables/convergence.csv",
        ("label", "quantity", "converged", "engine"),
        _DIAGNOSTICS,
    )
    _require(
        tables["fit_check"],
        "tables/fit_check.csv",
        ("label", "check", "parameter", "verdict"),
        _CHECKED,
    )
    _require(
        tables["disclosure"],
        "tables/disclosure.csv",
        ("label", "release", "group"),
        ("D", "upper", "with", "out", "none"),
    )
    _require(
        tables["disclosure_verdicts"],
        "tables/disclosure_verdicts.csv",
        ("label", "verdict", "reasons", "accepted", "outside"),
        (),
    )
    of_schemes = ("convergence", "fit_check", "disclosure", "disclosure_verdicts")
    for name, wanted in (
        ("summary", [CONFIDENTIAL, *schemes]),
        *((name, list(schemes)) for name in of_schemes),
    ):
        lacking = [label for label in wanted if label not in set(tables[name]["label"])]
        repeated = name == "summary" and tables[name]["label"].duplicated().any()
        if lacking or repeated:
            raise InputError(
                f"{str(folder)!r}: 'tables/{name}.csv' must have a row for each label; it lacks "
                f"{listing(lacking)}"
            )


def check_of_each(
    tables: Mapping[str, pd.DataFrame],
    intruders: Sequence[str],
    schemes: Sequence[str],
    folder: Path,
) -> None:
    """Refuse tables by intruder that lack a column, an intruder or a scheme."""
    further = ((*COLUMNS,), ("group", "D", "upper"), ("verdict", "reasons", "outside"))
    for name, columns in zip(OF_EACH, further, strict=True):
        table, place = tables.get(name, pd.DataFrame()), f"tables/{name}.csv"
        _require(table, place, (INTRUDER, "label", *columns), _MEASURED if "key" in columns else ())
        rows = set(zip(table[INTRUDER], table["label"], strict=True))
        if any((intruder, scheme) not in rows for intruder in intruders for scheme in schemes):
            raise InputError(
                f"{str(folder)!r}: {place!r} must have a row of each scheme by each intruder"
            )


def _of_study(statistic: Statistic, variables: Sequence[str]) -> bool:
    """Whether a measure is of the registry, and of no variable or one that the study
    synthesizes.
    """
    return statistic.unregistered is None and (
        statistic.variable is None or statistic.variable in variables
    )


def check_records(
    table: pd.DataFrame, name: str, labels: Sequence[str], records: int
) -> pd.DataFrame:
    """A table (n, labels) of the records, its rows named by the column "row"."""
    _require(table, name, ("row", *labels), labels)
    if len(table) != records:
        raise InputError(
            f"{name!r} of the run has {len(table)} rows, and the run was made from {records} "
            "records"
        )
    return table.set_index("row")


def check_dataset(
    frame: pd.DataFrame, name: str, columns: Sequence[str], targets: Sequence[str], records: int
) -> pd.DataFrame:
    """A synthetic dataset: the columns of the first one, as many rows as the run has records,
    numbers where a model drew numbers.
    """
    _require(frame, name, columns, targets)
    if len(frame) != records:
        raise InputError(
            f"{name!r} of the run has {len(frame)} rows, and the run was made from {records} "
            "records"
        )
    return frame


def weight_names(scheme: str, variables: Sequence[str]) -> dict[str, str]:
    """The columns of a scheme's weights by variable: the scheme's name, with the variable's where
    another one has weights of its own.
    """
    return {name: f"{scheme}: {name}" if len(variables) > 1 else scheme for name in variables}


def posterior_name(scheme: str) -> str:
    """The file that holds a scheme's fit, an archive of one a block."""
    return f"{stem_of(scheme)}.zip"


def read_posterior(path: Path, convergence: pd.DataFrame) -> "xr.Dataset":
    """The draws of a fit; of a chain each variable under the name of its block, as its rows of
    `convergence` give them in order.

    For reading, not for drawing.
    """
    import xarray as xr

    try:
        with zipfile.ZipFile(path) as archive:
            stored = {name: archive.read(name) for name in archive.namelist()}
        blocks = list(
            dict.fromkeys(str(quantity).rpartition(": ")[0] for quantity in convergence["quantity"])
        )
        if len(blocks) != len(stored):
            raise ValueError
        merged = {}
        for name, content in zip(blocks, stored.values(), strict=True):
            before = f"{name}: " if name else ""
            with xr.open_dataset(io.BytesIO(content), engine="scipy") as opened:
                for variable, values in opened.load().items():
                    dims = {
                        dim: f"{before}{dim}" for dim in values.dims if dim not in ("chain", "draw")
                    }
                    merged[f"{before}{variable}"] = values.rename(dims).reset_coords(drop=True)
        loaded = xr.Dataset(merged)
    except Exception as error:  # of the readers, which may quote what they read
        raise InputError(
            f"{path.name!r} of the run holds no posterior draws ({type(error).__name__})"
        ) from None
    if not {"chain", "draw"} <= set(loaded.sizes):
        raise InputError(f"{path.name!r} of the run holds no posterior draws by chain and draw")
    return loaded


def _require(
    table: pd.DataFrame, name: str, columns: Sequence[str], numbers: Sequence[str]
) -> None:
    lacking = [column for column in (*columns, *numbers) if column not in table.columns]
    if lacking:
        raise InputError(f"{name!r} of the run lacks the column {listing(dict.fromkeys(lacking))}")
    text = [
        column
        for column in numbers
        if not pd.api.types.is_numeric_dtype(table[column].dtype) and table[column].notna().any()
    ]
    if text:
        raise InputError(f"{name!r} of the run must hold numbers in {listing(text)}")
