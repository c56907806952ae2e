"""Every file of a pack must be, byte for byte, what its run makes: then nothing can have been put into one."""

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import file_hash
from riskweighted.data.formats import WRITABLE
from riskweighted.data.io import DatasetWriter
from riskweighted.release.contents import Contents, dataset_files, write_pack
from riskweighted.runs.finished import FinishedRun

__all__ = ["check_made", "refusal"]

_MANIFEST, _REPORT = "manifest.json", "report.html"


def refusal(name: str, what: str) -> InputError:
    """The error about one file of a pack."""
    return InputError(f"nothing was released: {name!r} is or holds {what}")


def check_made(folder: Path, run: FinishedRun, report: Callable[[FinishedRun], str] | None) -> Contents:
    """What a pack holds, once every file of it is what the run makes of that.

    Parameters
    ----------
    folder : Path
        The pack. Its manifest says which schemes, formats and units it was made with.
    run : FinishedRun
    report : callable or None
        What makes the report; without it the report is compared with the manifest's hash only.

    Raises
    ------
    InputError
        If a file differs, is missing, is a link, or is one too many; the message names it.
    """
    there = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()}
    for name, path in sorted(there.items()):
        if path.is_symlink() or not path.is_file():
            raise refusal(name, "no file of its own, such as a link")
    manifest = _read_manifest(folder)
    page = there.get(_REPORT)
    if page is not None and manifest["files"].get(_REPORT) != file_hash(page):
        raise refusal(_REPORT, "not what the run makes")
    makes = None if page is None else report or (lambda run: page.read_text(encoding="utf-8"))
    try:
        contents = Contents(run, tuple(manifest["schemes"]), tuple(manifest["formats"]), dict(manifest["units"]), makes)
    except InputError as error:
        raise refusal(_MANIFEST, f"settings that no release has ({error})") from None
    hashes = _hashes_of_datasets(contents, there)
    with tempfile.TemporaryDirectory() as again:
        write_pack(contents, Path(again), hashes)
        made = {path.relative_to(again).as_posix(): path for path in Path(again).rglob("*") if path.is_file()}
        for name in sorted(set(there) - set(made) - set(hashes)):
            raise refusal(name, "nothing that the run makes")
        for name in sorted(made, key=lambda name: (name == _MANIFEST, name)):  # the manifest last: it names the others
            if _file(there, name).read_bytes() != made[name].read_bytes():
                raise refusal(name, "not what the run makes")
    return contents


def _hashes_of_datasets(contents: Contents, there: Mapping[str, Path]) -> dict[str, str]:
    """SHA-256 of the datasets by name, once each is what the run makes: they are compared where they are."""
    hashes = {}
    for scheme in contents.schemes:
        writer = DatasetWriter(contents.run.synthetic[scheme])
        for file in dataset_files(contents, scheme):
            if not writer.is_in(_file(there, file.name), file.place, label=file.label):
                raise refusal(file.name, "not what the run makes")
            hashes[file.name] = file_hash(there[file.name])
    return hashes


def _file(there: Mapping[str, Path], name: str) -> Path:
    if name not in there:
        raise InputError(f"nothing was released: the pack lacks {name!r}")
    return there[name]


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
