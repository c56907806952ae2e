"""Every file of a pack must be, byte for byte, what its run makes: then nothing can have been put into one."""

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from riskweighted.common.datasets import Datasets
from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import file_hash
from riskweighted.data.formats import WRITABLE
from riskweighted.data.io import DatasetWriter
from riskweighted.release.contents import Contents, dataset_files, write_pack
from riskweighted.runs.finished import FinishedRun

__all__ = ["MadeDatasets", "check_made", "refusal"]

_MANIFEST, _REPORT = "manifest.json", "report.html"


def refusal(name: str, what: str) -> InputError:
    """The error about one file of a pack."""
    return InputError(f"nothing was released: {name!r} is or holds {what}")


class MadeDatasets:
    """The datasets that the run makes for a pack, by the names of their files; none where the manifest of the pack is none."""

    def __init__(self, folder: Path, run: FinishedRun) -> None:
        self._folder, self._run = folder, run
        try:
            contents = _contents(_read_manifest(folder), run, None)
            schemes = [scheme for scheme in contents.schemes if scheme in run.schemes]
            self._files = {file.name: (scheme, file) for scheme in schemes for file in dataset_files(contents, scheme)}
        except InputError:  # which `check_made` gives again
            self._files = {}
        self._writers: dict[str, DatasetWriter] = {}
        self.hashes: dict[str, str] = {}

    def found(self, name: str) -> tuple[pd.DataFrame, pd.DataFrame] | None:
        """The dataset that a file of the pack holds, if that is, byte for byte, what the run makes; its hash is kept.

        Also a dataset with the same unaltered columns, which is one object for all that share them.
        """
        if name not in self._files:
            return None
        scheme, file = self._files[name]
        if scheme not in self._writers:
            self._writers[scheme] = DatasetWriter(self._run.synthetic[scheme])
        if not self._writers[scheme].is_in(self._folder / name, file.place, label=file.label):
            return None
        self.hashes[name] = file_hash(self._folder / name)
        datasets = self._run.synthetic[scheme]
        table = datasets[file.place]
        return table, datasets.base if isinstance(datasets, Datasets) else table


def check_made(
    folder: Path, run: FinishedRun, report: Callable[[FinishedRun], str] | None, hashes: Mapping[str, str] | None = None
) -> None:
    """Make the files of a pack again and compare.

    Parameters
    ----------
    folder : Path
        The pack. Its manifest says which schemes, formats and units it was made with.
    run : FinishedRun
    report : callable or None
        What makes the report; without it the report is compared with the manifest's hash only.
    hashes : mapping of name to str, optional
        SHA-256 of the datasets that are known to be what the run makes (`MadeDatasets`).

    Raises
    ------
    InputError
        If a file differs, is missing, or is one too many; the message names it.
    """
    manifest = _read_manifest(folder)
    page = folder / _REPORT
    if page.is_file() and manifest["files"].get(_REPORT) != file_hash(page):
        raise refusal(_REPORT, "not what the run makes")
    makes = (report or (lambda run: page.read_text(encoding="utf-8"))) if page.is_file() else None
    contents = _contents(manifest, run, makes)
    with tempfile.TemporaryDirectory() as again:
        write_pack(contents, Path(again), hashes)
        _compare(folder, Path(again), set(hashes or ()))


def _contents(manifest: Mapping[str, Any], run: FinishedRun, report: Callable[[FinishedRun], str] | None) -> Contents:
    """What a pack with this manifest holds."""
    try:
        return Contents(run, tuple(manifest["schemes"]), tuple(manifest["formats"]), dict(manifest["units"]), report)
    except InputError as error:
        raise refusal(_MANIFEST, f"settings that no release has ({error})") from None


def _read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest, once it has what decides the files."""
    try:
        manifest: dict[str, Any] = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        known = [f".{name}" in WRITABLE for name in manifest["formats"]]
        texts = [*manifest["schemes"], *manifest["units"], *manifest["units"].values(), *manifest["files"]]
        if known and all(known) and manifest["schemes"] and all(isinstance(text, str) for text in texts):
            return manifest
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    raise refusal(_MANIFEST, "no manifest of a release")


def _compare(folder: Path, again: Path, known: set[str]) -> None:
    """Names and bytes of two folders, but of files that are known to be the same; the manifest last, since it names the others."""
    there, made = ({path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()} for root in (folder, again))
    for name in sorted({*there, *made} - known, key=lambda name: (name == _MANIFEST, name)):
        if name not in made:
            raise refusal(name, "nothing that the run makes")
        if name not in there:
            raise InputError(f"nothing was released: the pack lacks {name!r}")
        if there[name].read_bytes() != made[name].read_bytes():
            raise refusal(name, "not what the run makes")
