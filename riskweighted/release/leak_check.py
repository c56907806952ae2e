"""The last look at a release pack: it is refused where something confidential is in it.

First of all every file must be, byte for byte, what the run makes (`check_made`): then nothing can
have been put into one. Of what the run makes is refused

- a text in which `riskweighted.release.leak_text` finds confidential numbers;
- unaltered columns that are not the data's own;
- units that are not whole, or that have the ids of the data;
- rows, or an unaltered column, in an order that tells a synthesized variable
  (`riskweighted.disclosure.row_order`);
- datasets that a stranger's model drew and does not draw again, number for number, where the true
  values stand in other rows only (`riskweighted.sequence.isolated_draws`).

That copies of own models and of strangers' lie no nearer to the truth than their masses say is
asked where the run's tables are made again (`riskweighted.disclosure.copy_checks`).
"""

import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.datasets import Datasets
from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import file_hash
from riskweighted.common.folders import temporary_folder
from riskweighted.data.formats import WRITABLE
from riskweighted.data.io import DatasetWriter, read_table, write_table
from riskweighted.disclosure.row_order import UNLIKELY, order_chance
from riskweighted.disclosure.shuffle import released_patterns
from riskweighted.release.contents import PLAIN, Contents, dataset_files, write_pack
from riskweighted.release.leak_text import TextSecrets, make_text_secrets, problems_in_text
from riskweighted.release.released_datasets import leaving_datasets, rows_of
from riskweighted.release.sensitive import Sensitive, find_sensitive
from riskweighted.runs.file_order import units_together
from riskweighted.runs.finished import FinishedRun
from riskweighted.sequence.declared import Chain
from riskweighted.sequence.totals import make_totals
from riskweighted.sequence.unit_rules import make_unit_rules

__all__ = [
    "Secrets",
    "check_datasets",
    "check_made",
    "check_pack",
    "check_texts",
    "gather_secrets",
    "most_by_chance",
]

_MANIFEST, _REPORT = "manifest.json", "report.html"
_SPREADS = 6  # standard deviations


@dataclass(frozen=True)
class Secrets:
    """What a pack is checked against. Confidential.

    ``confidential`` (n, columns): of the released columns; ``fresh``: of the schemes that may be in
    the pack, and of each variable, in how many records fresh datasets have the confidential value;
    ``run``: what the files must have been made from; ``leaving``: its datasets by scheme, as they
    leave; ``report``: what makes its report, None: unknown, so that it need only be the one that
    the manifest names.
    """

    confidential: pd.DataFrame
    variables: tuple[Sensitive, ...]
    fresh: Mapping[str, tuple[np.ndarray, ...]]
    text: TextSecrets
    run: FinishedRun = field(repr=False)
    leaving: Mapping[str, Sequence[pd.DataFrame]] = field(repr=False)
    report: Callable[[FinishedRun], str] | None = field(default=None, repr=False)


def gather_secrets(
    run: FinishedRun,
    confidential: pd.DataFrame,
    schemes: Iterable[str],
    report: Callable[[FinishedRun], str] | None = None,
) -> Secrets:
    """What must not leave, and fresh datasets that say what chance gives; refuses data that is not
    the one that the run was made from.
    """
    schemes = tuple(schemes)
    variables, fresh = find_sensitive(run, confidential, schemes)
    sensitive = {
        name: column for variable in variables for name, column in variable.texts().items()
    }
    text = make_text_secrets(sensitive, _varying(run), *_told(run))
    released = confidential[run.study.released(confidential)]
    leaving = {scheme: leaving_datasets(run, confidential, scheme) for scheme in schemes}
    return Secrets(released, variables, fresh, text, run, leaving, report)


def check_pack(folder: Path, secrets: Secrets) -> pd.DataFrame:
    """How many rows of every dataset of a pack equal the confidential ones, once every file of it
    has been read and nothing was found.

    One row per dataset file and synthesized variable, with the number expected by chance and the
    most allowed: for the agency, not part of the pack. Where anything is found, an InputError names
    the file and what it is, never a value.
    """
    contents = check_made(folder, secrets.run, secrets.leaving, secrets.report)
    check_texts(
        folder,
        {file.name for scheme in contents.schemes for file in dataset_files(contents, scheme)},
        secrets.text,
    )
    return check_datasets(contents, secrets)


def check_texts(folder: Path, datasets: Container[str], secrets: TextSecrets) -> None:
    """Refuse a pack of which a file that is none of its `datasets` holds confidential numbers."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if name not in datasets and (
            problems := problems_in_text(path.read_text(encoding="utf-8"), secrets)
        ):
            raise refusal(name, "; ".join(problems))


def _varying(run: FinishedRun) -> dict[str, np.ndarray]:
    """Weights and risks that differ between records, (n,) by name."""
    tables = {f"weights {name}": column for name, column in run.weights.items()}
    tables |= {f"risks {name}": column for name, column in run.records.items()}
    tables |= {f"expected risks {name}": column for name, column in run.expected.items()}
    return {
        name: column.to_numpy(dtype=float)
        for name, column in tables.items()
        if column.nunique() > 1
    }


def _told(run: FinishedRun) -> tuple[np.ndarray, np.ndarray]:
    """All posterior draws, and all numbers of the tables of aggregates."""
    draws = [
        variable.to_numpy().ravel()
        for fit in run.posteriors.values()
        for variable in fit.values()
        if "draw" in variable.dims
    ]
    published = [
        table.select_dtypes("number").to_numpy(dtype=float).ravel() for table in run.tables.values()
    ]
    return np.concatenate(draws), np.concatenate(published)


def check_datasets(contents: Contents, secrets: Secrets) -> pd.DataFrame:
    """`check_pack` of what the run makes, whatever the files of a pack: in the rows of the data,
    where a true value shows.
    """
    rows = []
    _check_order(secrets)
    for scheme in contents.schemes:
        _check_units(scheme, secrets)
        files = list(dataset_files(contents, scheme))
        datasets = contents.run.synthetic[scheme]
        for number, table in enumerate(
            [datasets.base] if isinstance(datasets, Datasets) else datasets
        ):
            named = next(file.name for file in files if file.number == number)
            _check_unaltered(table, named, secrets)
        for number, table in enumerate(datasets):
            of_number = [file for file in files if file.number == number]
            equal = _equal_rows(table, of_number[0].name, secrets, secrets.fresh[scheme])
            rows += [
                {"file": file.name, **row}
                for file in of_number
                for row in equal
                if row["variable"] in contents.parts[file.part]
            ]
    return pd.DataFrame(rows)


def _check_order(secrets: Secrets) -> None:
    """That the rows as they leave do not tell a synthesized variable; whether an unaltered column
    does is asked before (`refuse_order`).
    """
    study, confidential = secrets.run.study, secrets.confidential
    rows, units = rows_of(secrets.run, confidential), units_together(study, confidential)
    patterns = released_patterns(confidential, study.unaltered(confidential))
    places = np.argsort(rows)
    for variable in study.variables:
        if order_chance(confidential[variable], places, patterns, units) < UNLIKELY:
            raise refusal(
                "data",
                f"rows in an order that is that of {variable!r}, by chance once in "
                f"{1 / UNLIKELY:,.0f} runs: run again",
            )


def _check_units(scheme: str, secrets: Secrets) -> None:
    """That units leave whole, with numbers that are not theirs, and that in every dataset what is
    of the unit is the same for its members, and totals and rules hold.
    """
    study, units = secrets.run.study, secrets.run.study.units
    if units is None:
        return
    datasets, what = secrets.leaving[scheme], f"the units of {units.id!r} of {scheme}"
    held = secrets.confidential[units.id].to_numpy()[rows_of(secrets.run, secrets.confidential)]
    anew = datasets[0][units.id]
    unit, now = pd.factorize(held)[0], pd.factorize(anew)[0]
    if not np.array_equal(unit, now):
        raise refusal(what, "units that are not those of the data")
    firsts = np.unique(now, return_index=True)[1]
    survived = int((anew.astype(str).to_numpy() == held.astype(str))[firsts].sum())
    if survived > most_by_chance(np.ones(2), len(firsts)):
        raise refusal(what, f"{survived} of {len(firsts)} ids that are those of the data")
    of_unit = [name for name in study.altered if name in (*units.unit_level, *units.totals)]
    chain = study.make_synthesizer()
    assert isinstance(chain, Chain)
    totals = make_totals(units, chain, {}, secrets.confidential)
    # rules that ask for an order that does not leave are refused before
    told = replace(units, order=[name for name in units.order if name in secrets.confidential])
    like = told.arranged(secrets.confidential)
    rules = make_unit_rules(told, chain, secrets.confidential, like)
    for table in datasets:
        for name in of_unit:
            codes = pd.factorize(table[name], use_na_sentinel=False)[0]
            if (codes != codes[firsts][now]).any():
                raise refusal(what, f"{name!r}, which is of the unit, differing within units")
        for total in totals:
            if broken := int(total.broken(table, now).sum()):
                raise refusal(what, f"{broken} units in which {total.text!r} does not hold")
        of = told.arranged(table, like) if units.rules else like
        for (text, _), some in rules.broken_units(table, of).items():
            raise refusal(what, f"{len(some)} units that break {text!r}")


def _check_unaltered(table: pd.DataFrame, name: str, secrets: Secrets) -> None:
    """That the columns and rows of a dataset are those of the data, spelled alike."""
    confidential = secrets.confidential
    if list(table.columns) != [str(column) for column in confidential.columns]:
        raise refusal(
            name,
            f"other columns than the data: it has {len(table.columns)} and the data "
            f"{len(confidential.columns)}",
        )
    if len(table) != len(confidential):
        raise refusal(name, f"{len(table)} rows, and the data has {len(confidential)}")
    synthesized = list(secrets.run.study.altered)
    with temporary_folder() as folder:
        path = folder / "unaltered.csv"
        write_table(confidential.drop(columns=synthesized), path)
        writer = DatasetWriter([table.drop(columns=synthesized)])
        if not writer.is_in(path, 0) and not (
            table.shape[1] > len(synthesized) and _same_once_read(path, writer)
        ):
            raise refusal(name, "unaltered columns that are not those of the data")


def _same_once_read(path: Path, writer: DatasetWriter) -> bool:
    """Whether a csv of the data is, once it was read and written again as the files of a run are,
    what `writer` makes.
    """
    again = path.with_name("again.csv")
    write_table(read_table(path), again)
    return writer.is_in(again, 0)


def _equal_rows(
    table: pd.DataFrame, name: str, secrets: Secrets, fresh: Sequence[np.ndarray]
) -> list[dict[str, object]]:
    """How many values of each synthesized column are the confidential ones, beside what chance
    gives.
    """
    rows = []
    for variable, by_chance in zip(secrets.variables, fresh, strict=True):
        try:
            equal = variable.equal(variable.numbers(table[variable.name]))
        except InputError as error:
            raise refusal(name, str(error)) from None
        row = {
            "variable": variable.name,
            "rows": len(table),
            "equal to the confidential value": equal,
        }
        rows.append(
            row
            | {
                "expected by chance": float(by_chance.mean()),
                "at most": most_by_chance(by_chance, len(table)),
            }
        )
    return rows


def most_by_chance(counts: np.ndarray, records: int) -> float:
    """The largest count, of so many records, that fresh ones (F,) explain; a share of them spreads
    as a binomial.
    """
    mean = float(counts.mean())
    return float(
        mean
        + _SPREADS * max(counts.std(ddof=1), np.sqrt(mean * max(1 - mean / max(records, 1), 0.0)))
        + 3
    )


def refusal(name: str, what: str) -> InputError:
    """The error about one file of a pack."""
    return InputError(f"nothing was released: {name!r} is or holds {what}")


def check_made(
    folder: Path,
    run: FinishedRun,
    leaving: Mapping[str, Sequence[pd.DataFrame]],
    report: Callable[[FinishedRun], str] | None,
) -> Contents:
    """What a pack holds, once every file of it is what the run makes of that; its manifest says
    which schemes, formats and units it was made with.

    `leaving`: the datasets by scheme, as they leave. Without `report`, what makes the report, that
    is compared with the manifest's hash only. Raises InputError, which names the file, if one
    differs, is missing, is a link, or is one too many.
    """
    there = {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }
    for name, path in sorted(there.items()):
        if path.is_symlink() or not path.is_file():
            raise refusal(name, "no file of its own, such as a link")
    parents = {parent for name in there for parent in Path(name).parents}
    for path in sorted(
        path.relative_to(folder)
        for path in folder.rglob("*")
        if path.is_dir() and not path.is_symlink()
    ):
        if path not in parents:
            raise refusal(path.as_posix(), "an empty folder, which no release makes")
    manifest = read_manifest(folder)
    page = there.get(_REPORT)
    if page is not None and manifest["files"].get(_REPORT) != file_hash(page):
        raise refusal(_REPORT, "not what the run makes")
    makes = None if page is None else report or (lambda run: page.read_text(encoding="utf-8"))
    try:
        plain = manifest.get("csv") == PLAIN
        schemes = tuple(manifest["schemes"])
        formats = tuple(manifest["formats"])
        units = dict(manifest["units"])
        contents = Contents(
            run,
            leaving,
            schemes,
            formats,
            units,
            makes,
            str(manifest.get("accepted_fail", "")),
            plain,
        )
    except InputError as error:
        raise refusal(_MANIFEST, f"settings that no release has ({error})") from None
    hashes = _hashes_of_datasets(contents, there)
    with temporary_folder() as again:
        write_pack(contents, again, hashes)
        made = {
            path.relative_to(again).as_posix(): path for path in again.rglob("*") if path.is_file()
        }
        for name in sorted(set(there) - set(made) - set(hashes)):
            raise refusal(name, "nothing that the run makes")
        # the manifest last: it names the others
        for name in sorted(made, key=lambda name: (name == _MANIFEST, name)):
            if _file(there, name).read_bytes() != made[name].read_bytes():
                raise refusal(name, "not what the run makes")
    return contents


def _hashes_of_datasets(contents: Contents, there: Mapping[str, Path]) -> dict[str, str]:
    """SHA-256 of the datasets by name, once each is what the run makes: they are compared where
    they are.
    """
    hashes = {}
    for scheme in contents.schemes:
        files = list(dataset_files(contents, scheme)) if scheme in contents.run.schemes else []
        if scheme not in contents.datasets:
            raise refusal(
                files[0].name if files else _MANIFEST, "a dataset of a scheme that is not released"
            )
        writer = cache(partial(contents.writer, scheme))
        for file in files:
            if not writer(file.part).is_in(_file(there, file.name), file.number, label=file.label):
                raise refusal(file.name, "not what the run makes")
            hashes[file.name] = file_hash(there[file.name])
    return hashes


def _file(there: Mapping[str, Path], name: str) -> Path:
    if name not in there:
        raise InputError(f"nothing was released: the pack lacks {name!r}")
    return there[name]


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest, once it has what decides the files."""
    try:
        manifest: dict[str, Any] = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        known = [f".{name}" in WRITABLE for name in manifest["formats"]]
        texts = [
            *manifest["schemes"],
            *manifest["units"],
            *manifest["units"].values(),
            *manifest["files"],
        ]
        if (
            known
            and all(known)
            and manifest["schemes"]
            and all(isinstance(text, str) for text in texts)
        ):
            return manifest
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    raise refusal(_MANIFEST, "no manifest of a release")
