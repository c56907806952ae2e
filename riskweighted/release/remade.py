"""Every file of a pack must be, byte for byte, what its run makes: then nothing can have been put into one."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import file_hash
from riskweighted.data.formats import WRITABLE
from riskweighted.release.contents import Contents, write_pack
from riskweighted.runs.finished import FinishedRun

__all__ = ["check_made", "refusal"]

_MANIFEST, _REPORT = "manifest.json", "report.html"


def refusal(name: str, what: str) -> InputError:
    """The error about one file of a pack."""
    return InputError(f"nothing was released: {name!r} is or holds {what}")


def check_made(folder: Path, run: FinishedRun, report: Callable[[FinishedRun], str] | None) -> None:
    """Make the files of a pack again and compare.

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
        If a file differs, is missing, or is one too many; the message names it.
    """
    manifest = _read_manifest(folder)
    page = folder / _REPORT
    if page.is_file() and manifest["files"].get(_REPORT) != file_hash(page):
        raise refusal(_REPORT, "not what the run makes")
    makes = (report or (lambda run: page.read_text(encoding="utf-8"))) if page.is_file() else None
    try:
        contents = Contents(run, tuple(manifest["schemes"]), tuple(manifest["formats"]), dict(manifest["units"]), makes)
    except InputError as error:
        raise refusal(_MANIFEST, f"settings that no release has ({error})") from None
    with tempfile.TemporaryDirectory() as again:
        write_pack(contents, Path(again))
        _compare(folder, Path(again))


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


def _compare(folder: Path, again: Path) -> None:
    """Names and bytes of two folders; the manifest last, since it names the others."""
    there, made = ({path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()} for root in (folder, again))
    for name in sorted({*there, *made}, key=lambda name: (name == _MANIFEST, name)):
        if name not in made:
            raise refusal(name, "nothing that the run makes")
        if name not in there:
            raise InputError(f"nothing was released: the pack lacks {name!r}")
        if there[name].read_bytes() != made[name].read_bytes():
            raise refusal(name, "not what the run makes")
