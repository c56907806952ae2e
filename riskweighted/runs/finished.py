"""Reading a finished run, once it is certain that it is whole, ours and as it was written."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pandas as pd

from riskweighted.common.checks import check_path
from riskweighted.common.datasets import Datasets
from riskweighted.common.errors import InputError, listing
from riskweighted.common.fingerprints import file_hash, fingerprint
from riskweighted.common.frames import with_columns
from riskweighted.common.seeds import Streams
from riskweighted.data.io import read_datasets, read_table
from riskweighted.data.parts import files_named
from riskweighted.data.variable import TEXTS
from riskweighted.data.variables import Variables
from riskweighted.design.precision import LEVELS
from riskweighted.evaluation.verdicts import OF_EACH, Verdict, find_verdicts
from riskweighted.runs.folder import (
    DATA_PATH,
    DESCRIBED,
    OWN_WEIGHTS,
    check_dataset,
    check_of_each,
    check_records,
    check_tables,
    posterior_name,
    read_posterior,
    weight_names,
)
from riskweighted.runs.randomness import FILE, load_streams
from riskweighted.runs.reasons import REASONS
from riskweighted.runs.run_html import run_card
from riskweighted.runs.study import Study, read_study
from riskweighted.weights.scheme_names import stem_of

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "TABLES",
    "FinishedRun",
    "data_file",
    "data_places",
    "find_confidential",
    "load_run",
]

TABLES = (
    "summary",
    "risk",
    "utility",
    "convergence",
    "fit_check",
    "disclosure",
    "disclosure_verdicts",
)
_RECORDS, _EXPECTED, _WEIGHTS = (
    "confidential/identification_risk",
    "confidential/expected_risk",
    "confidential/weights",
)


@dataclass(frozen=True)
class FinishedRun:
    """A finished run gives what its folder holds; what is large is read when first asked for.

    Attributes
    ----------
    folder : Path
    manifest : dict
        Settings, versions, input, SHA-256 of every file.
    tables : dict of str to DataFrame
        "summary", "risk", "utility", "convergence", "fit_check", "disclosure",
        "disclosure_verdicts", and of a run whose risk exceeds a limit "reasons": aggregates.
    study : Study
    verdicts : tuple of Verdict
        Of every label on every threshold, and on its fit.
    schemes : tuple of str
        The weighting schemes, in the study's order.
    synthetic : dict of str to sequence of L DataFrames
        By scheme; n rows each, of the types that the study's file of variables states. Unaltered
        columns are held once (`Datasets`).
    records, expected, weights : DataFrame (n, labels)
        Identification risk in these datasets, expected identification risk, and weight of every
        record. Confidential. Of several variables there are weights of each (`alpha`).
    posteriors : dict of str to xr.Dataset
        Posterior draws by scheme. Confidential.

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> rw.load_run(folder / "run").expected.columns.tolist()
    ['confidential', 'unweighted', 'marginal']
    """

    folder: Path
    manifest: dict[str, Any] = field(repr=False)
    tables: dict[str, pd.DataFrame] = field(repr=False)

    @property
    def summary(self) -> pd.DataFrame:
        """The main table, one row per label, as `Run` has it."""
        return self.tables["summary"].set_index("label")

    def _repr_html_(self) -> str:
        return run_card(self.folder, self.verdicts, self.summary)

    @property
    def total(self) -> int:
        """How many records the run was made from."""
        count: int = self.manifest["input"]["records"]
        return count

    def with_tables(self, tables: dict[str, pd.DataFrame]) -> "FinishedRun":
        """The same run with other tables; what was read of it is not read again."""
        other = replace(self, tables=tables)
        other.__dict__.update(
            {name: value for name, value in self.__dict__.items() if name not in other.__dict__}
        )
        return other

    @cached_property
    def study(self) -> Study:
        return read_study(self.manifest["settings"])

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """From the tables, as the run found them."""
        return find_verdicts(self.study.thresholds, self.tables, self.study.release.hidden)

    @property
    def reasons(self) -> pd.DataFrame:
        """Where a risk that exceeds its limit comes from; empty where none does."""
        return self.tables.get("reasons", pd.DataFrame(columns=list(REASONS)))

    @cached_property
    def streams(self) -> Streams:
        """Where its random numbers come from. Confidential."""
        return load_streams(self.folder)

    @property
    def schemes(self) -> tuple[str, ...]:
        return tuple(self.manifest["settings"]["weights"]["schemes"])

    @cached_property
    def synthetic(self) -> dict[str, Sequence[pd.DataFrame]]:
        names = {scheme: _datasets(self.manifest, scheme) for scheme in self.schemes}
        texts = None if self.described is None else self.described.of_types(TEXTS)
        first = read_table(self.folder / names[self.schemes[0]][0], variables=texts)
        scenario = self.study.scenario
        columns = list(dict.fromkeys([*first, *scenario.known, *scenario.synthetic]))
        datasets: dict[str, Sequence[pd.DataFrame]] = {}
        for scheme, files in names.items():
            paths = [self.folder / name for name in files]
            frames = _shared(first, list(read_datasets(paths, first, self.study.altered, texts)))
            for frame, name in zip(frames, files, strict=True):
                check_dataset(frame, name, columns, self._numeric, self.total)
            datasets[scheme] = frames if self.described is None else _typed(frames, self.described)
        return datasets

    @cached_property
    def described(self) -> Variables | None:
        """What is said of the columns, where the study names a file that does."""
        return (
            Variables.read(self.folder / DESCRIBED) if DESCRIBED in self.manifest["files"] else None
        )

    def baseline(self, name: str) -> pd.DataFrame:
        """The data as a baseline protects them, (n, columns). Confidential: most of its values are
        true ones.
        """
        file = f"confidential/{name}.{self.study.release.format}"
        return check_dataset(
            read_table(self.folder / file, variables=self.described),
            file,
            self.study.variables,
            self._numeric,
            self.total,
        )

    @property
    def _numeric(self) -> list[str]:
        """The synthesized variables that hold numbers."""
        return [
            name
            for name in self.study.variables
            if self.manifest.get("precision", {}).get(name) != LEVELS
        ]

    def _of_records(self, name: str, labels: Sequence[str]) -> pd.DataFrame:
        """A table (n, labels) of the records."""
        file = _file_of(self.manifest, name)
        return check_records(read_table(self.folder / file), file, labels, self.total)

    @cached_property
    def records(self) -> pd.DataFrame:
        labels = [str(label) for label in self.tables["summary"]["label"]]
        return self._of_records(_RECORDS, labels)

    @cached_property
    def expected(self) -> pd.DataFrame:
        labels = [str(label) for label in self.tables["summary"]["label"]]
        return self._of_records(_EXPECTED, labels)

    @cached_property
    def weights(self) -> pd.DataFrame:
        names = [
            name
            for scheme in self.schemes
            for name in weight_names(scheme, self.study.variables).values()
        ]
        return self._of_records(_WEIGHTS, names)

    def alpha(self, scheme: str) -> pd.DataFrame:
        """The weights of a scheme, (n, V), a column for each synthesized variable."""
        return pd.DataFrame(
            {
                variable: self.weights[name]
                for variable, name in weight_names(scheme, self.study.variables).items()
            }
        )

    @cached_property
    def posteriors(self) -> "dict[str, xr.Dataset]":
        rows = self.tables["convergence"]
        return {
            scheme: read_posterior(self.posterior_path(scheme), rows[rows["label"] == scheme])
            for scheme in self.schemes
        }

    def posterior_path(self, scheme: str) -> Path:
        """Where the fit of a scheme is stored, for `load_fit`."""
        return self.folder / "confidential" / "posterior" / posterior_name(scheme)


def load_run(path: str | Path) -> FinishedRun:
    """Return the run that left a folder.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    FinishedRun

    Raises
    ------
    InputError
        If the folder is absent or not of a run, of another version of this package, incomplete, or
        not as its manifest says: a file is missing, changed, or one too many (the message names
        it). A file that holds something else than a run writes is refused when it is read.

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> run = rw.load_run(folder / "run")
    >>> run.schemes, len(run.synthetic["marginal"])
    (('unweighted', 'marginal'), 3)
    """
    folder = check_path(path, "run")
    manifest = _read_manifest(folder)
    _check_version(folder, manifest)
    _check_complete(folder, manifest)
    _check_unchanged(folder, manifest["files"])
    tables = {name: read_table(folder / "tables" / f"{name}.csv") for name in TABLES}
    why = "tables/reasons.csv"
    tables |= {"reasons": read_table(folder / why)} if why in manifest["files"] else {}
    run = FinishedRun(folder, manifest, tables)
    names = [name for name in OF_EACH if f"tables/{name}.csv" in manifest["files"]]
    tables |= {name: read_table(folder / "tables" / f"{name}.csv") for name in names}
    check_tables(tables, run.study.weights.schemes, run.study.variables, folder)
    if run.study.intruders:
        check_of_each(tables, [each.name for each in run.study.intruders], run.schemes, folder)
    return run


def _shared(
    first: pd.DataFrame, read: Sequence[Mapping[str, pd.Series] | pd.DataFrame]
) -> Sequence[pd.DataFrame]:
    """Datasets that share all unaltered columns with the first of a run; whole frames where one
    does not, as no run leaves them.
    """
    altered = [dataset for dataset in read if not isinstance(dataset, pd.DataFrame)]
    if len(altered) == len(read):
        return Datasets(first, altered)
    return [
        dataset if isinstance(dataset, pd.DataFrame) else with_columns(first, dataset)
        for dataset in read
    ]


def _typed(datasets: Sequence[pd.DataFrame], described: Variables) -> Sequence[pd.DataFrame]:
    """Datasets of the stated types, each column of the same one, with the same levels, in all of
    them.
    """
    if not isinstance(datasets, Datasets):
        return [described.typed(frame) for frame in datasets]
    altered: list[dict[str, pd.Series]] = [{} for _ in datasets.altered]
    for name in datasets.altered[0]:
        columns = [each[name] for each in datasets.altered]
        pooled = described.typed(pd.concat(columns, ignore_index=True).to_frame(name))[name]
        for number, (each, column) in enumerate(zip(altered, columns, strict=True)):
            rows = slice(number * len(column), (number + 1) * len(column))
            each[name] = pooled.iloc[rows].set_axis(column.index)
    return Datasets(described.typed(datasets.base), altered)


def _read_manifest(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise InputError(f"there is no run folder {str(folder)!r}")
    if (folder / ".riskweighted").is_file():
        raise InputError(
            f"{str(folder)!r} is the working folder of an unfinished run; give the same command "
            "again to finish it"
        )
    if not (folder / "manifest.json").is_file():
        raise InputError(f"{str(folder)!r} is not the result of a run: it has no manifest.json")
    try:
        manifest: dict[str, Any] = json.loads(
            (folder / "manifest.json").read_text(encoding="utf-8")
        )
        settings, files = manifest["settings"], manifest["files"]
        complete = isinstance(manifest["versions"]["riskweighted"], str) and isinstance(
            manifest["input"]["records"], int
        )
        texts = [
            *files,
            *files.values(),
            *settings["weights"]["schemes"],
            settings["synthesizer"]["name"],
        ]
        understood = (
            complete and isinstance(files, dict) and all(isinstance(text, str) for text in texts)
        )
        understood = (
            understood
            and isinstance(settings["weights"]["schemes"], list)
            and isinstance(settings["release"]["L"], int)
        )
        understood = understood and len(settings["weights"]["schemes"]) > 0
    except (ValueError, KeyError, TypeError, AttributeError):
        understood = False
    if not understood:
        raise InputError(
            f"{str(folder / 'manifest.json')!r} is not the manifest of a run, or is damaged"
        )
    return manifest


def _check_version(folder: Path, manifest: Mapping[str, Any]) -> None:
    theirs, ours = manifest["versions"]["riskweighted"], version("riskweighted")
    if theirs != ours:
        raise InputError(
            f"{str(folder)!r} is of riskweighted {theirs}, and this is {ours}: run the study "
            f"again, or install {theirs}"
        )


def _datasets(manifest: Mapping[str, Any], scheme: str) -> list[str]:
    """The files of a scheme's synthetic datasets, in order; their numbers have leading zeros."""
    return sorted(
        name for name in manifest["files"] if name.startswith(f"synthetic/{stem_of(scheme)}/")
    )


def _check_complete(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse a manifest that lacks what every run has, or names a file outside the folder."""
    files, settings = manifest["files"], manifest["settings"]
    outside = [
        name
        for name in files
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts
    ]
    if outside:
        raise InputError(
            f"the manifest of {str(folder)!r} names files outside the folder: {listing(outside)}"
        )
    posteriors = [
        f"confidential/posterior/{posterior_name(scheme)}"
        for scheme in settings["weights"]["schemes"]
    ]
    if any(
        str(PurePosixPath(name).with_suffix(".nc")) in files and name not in files
        for name in posteriors
    ):
        raise InputError(
            f"the run {str(folder)!r} has the fits of one variable in their form before 2026-11: "
            "run the study again"
        )
    of_records = [_file_of(manifest, name) for name in (_RECORDS, _EXPECTED, _WEIGHTS)]
    needed = [*(f"tables/{name}.csv" for name in TABLES), *of_records, FILE, *posteriors]
    lacking = [name for name in needed if name not in files]
    if lacking:
        raise InputError(
            f"the run {str(folder)!r} is incomplete: its manifest lacks {listing(lacking)}"
        )
    expected = settings["release"]["L"]
    for scheme in settings["weights"]["schemes"]:
        count = len(_datasets(manifest, scheme))
        if count != expected:
            raise InputError(
                f"the run {str(folder)!r} is incomplete: {count} of {expected} synthetic "
                f"datasets of scheme {scheme!r}"
            )


def _file_of(manifest: Mapping[str, Any], name: str) -> str:
    """The file of a table of the records: parquet of a large file, else csv."""
    return next(
        (file for file in (f"{name}.csv", f"{name}.parquet") if file in manifest["files"]),
        f"{name}.csv",
    )


def _check_unchanged(folder: Path, files: Mapping[str, str]) -> None:
    """Refuse missing, changed and foreign files, by name."""
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        raise InputError(
            f"the run {str(folder)!r} is incomplete: {listing(missing)} of its manifest is not "
            "there"
        )
    foreign = (
        {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
        - set(files)
        - {"manifest.json"}
    )
    if foreign:
        raise InputError(
            f"the run {str(folder)!r} holds files that its manifest does not name: "
            f"{listing(sorted(foreign))}"
        )
    changed = [name for name, digest in files.items() if file_hash(folder / name) != digest]
    if changed:
        raise InputError(
            f"the run {str(folder)!r} was changed since its manifest was written: "
            f"{listing(changed)}"
        )


def data_places(run: FinishedRun) -> list[Path]:
    """Where the data of a run may lie: beside the run, beside the folder in which it lies, and
    where they were read.
    """
    name, folder = str(run.study.data.path), run.folder.absolute().parent
    read = (
        [(run.folder / DATA_PATH).read_text(encoding="utf-8").strip()]
        if DATA_PATH in run.manifest["files"]
        else []
    )
    return [folder / name, folder.parent / name, *(folder / path for path in read)]


def _is_there(path: Path) -> bool:
    """Whether a file, or one that a pattern names, is there."""
    return any(file.is_file() for file in files_named(path))


def data_file(run: FinishedRun) -> Path:
    """The file that a run was made from, of those that are there; where none is, the first that was
    looked for.
    """
    places = data_places(run)
    files = [file for file in places if _is_there(file)]
    sha256 = run.manifest["input"].get("sha256")
    ours = [file for file in files if file.is_file() and file_hash(file) == sha256]
    return (*ours, *files, *places)[0]


def find_confidential(run: FinishedRun, path: str | Path | None = None) -> pd.DataFrame:
    """The confidential data that a run was made from: the file at `path`, else embedded data or the
    file that is found (`data_file`), or all of its parts.

    Refuses a file that is absent, or has another SHA-256 or number of records.
    """
    data, recorded = run.study.data, run.manifest["input"]
    weights = run.folder / OWN_WEIGHTS if OWN_WEIGHTS in run.manifest["files"] else None
    if path is None and data.embedded is not None:
        confidential = run.study.read_data(weights=weights)
    else:
        file = Path(path) if path is not None else data_file(run)
        if not _is_there(file):
            where = (
                "say where it is (--confidential FILE; in the study of an attack, [run] "
                "confidential)"
            )
            raise InputError(
                f"the confidential data {file.name!r} is not at {str(file)!r}: {where}"
            )
        confidential, digest = None, None
        if file.is_file() and data.units is None:
            digest = file_hash(file)
        else:
            confidential = run.study.read_data(file, run.described, weights)
            digest = fingerprint(confidential)
        if recorded.get("sha256") is not None and digest != recorded["sha256"]:
            raise InputError(
                f"{str(file)!r} is not the data that the run was made from: its SHA-256 differs "
                "from the manifest's"
            )
        if confidential is None:
            confidential = run.study.read_data(file, run.described, weights)
    if len(confidential) != recorded["records"]:
        raise InputError(
            f"the confidential data has {len(confidential)} records, and the run was made from "
            f"{recorded['records']}"
        )
    return confidential
