"""The one writer of files: whole under its name or not at all, private from the first byte where it
is confidential.

A file is written under a unique name beside its place, synced to the disk and renamed. Whole
folders: `common.folders`.
"""

import hashlib
import json
import os
import secrets
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from riskweighted.common.errors import InputError, RiskWeightedWarning

__all__ = [
    "has_checkpoints",
    "keep",
    "make_folder",
    "recall",
    "refuse_dangling",
    "remove_empty",
    "settle",
    "sync",
    "sync_names",
    "unlink",
    "unsettled_files",
    "whole_file",
    "write_file",
]

_SEAL = ".seal"  # ends the name of the file beside a checkpoint that says what it is


_SETTLED = 315_532_800  # 1980-01-01 UTC, the first day that every archive format can hold
_MODES = {True: 0o755, False: 0o644}  # of folders and files
# on Windows a mode closes a folder, 0700, and what is made in it
_FILES_HAVE_MODES = os.name == "posix"


# -- files


@contextmanager
def whole_file(path: Path, *, private: bool = False, replace: bool = True) -> Iterator[Path]:
    """An empty file of another name beside `path`, to be written to; it becomes `path` at the end,
    and goes after an error.

    Missing folders above it are made; of a link it is the file that it leads to. Where `private`,
    the file and every folder made for it are its owner's only (0600, 0700) from the first byte,
    whatever the umask; where files have no modes it is made in a folder that is closed, and keeps
    what it got there. Raises InputError if `path` is a link that leads nowhere, or exists without
    `replace`.
    """
    refuse_dangling(path)
    if path.is_symlink():
        path = path.resolve()
    unfinished = path.with_name(f".{path.stem}.{secrets.token_hex(8)}{path.suffix}")
    made = make_folder(path.parent, private=private)
    closed: list[Path] = []
    try:
        if private and not _FILES_HAVE_MODES:
            closed = make_folder(unfinished, private=True)
            unfinished /= path.name
        os.close(
            os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
        )
        yield unfinished
        sync(unfinished)
        _name(unfinished, path, replace)
    except BaseException as error:
        unlink(unfinished)
        remove_empty([*closed, *made])
        if isinstance(error, OSError) and error.filename == str(unfinished):
            error.filename = str(path)  # the name that the user gave
        raise
    remove_empty(closed)
    for folder in (path.parent, *(folder.parent for folder in made)):
        sync_names(folder)


def _name(unfinished: Path, path: Path, replace: bool) -> None:
    """Give a finished file its name; without `replace` the system itself refuses one that
    exists.
    """
    if not replace:
        try:
            os.link(unfinished, path)
        except OSError:
            if path.exists():
                raise InputError(
                    f"{str(path)!r} exists; choose another file or allow replacing it (--force)"
                ) from None
        else:
            unfinished.unlink()
            return
    unfinished.replace(path)


def write_file(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write text (UTF-8, ends of lines as they are) or bytes to a file, all or nothing; see
    `whole_file`.
    """
    with whole_file(path, private=private) as unfinished:
        unfinished.write_bytes(content.encode() if isinstance(content, str) else content)


def make_folder(path: Path, *, private: bool = False) -> list[Path]:
    """Make a folder and what is missing above it; returns what was made, the innermost first."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        for folder in reversed(missing):
            folder.mkdir(0o700 if private else 0o777, exist_ok=True)
    except BaseException:
        remove_empty(missing)
        raise
    return missing


def settle(folder: Path) -> None:
    """Give a folder and all in it one time and one mode, which say nothing of when and where they
    were made.
    """
    for path in [*folder.rglob("*"), folder]:
        path.chmod(_MODES[path.is_dir()])
        os.utime(path, (_SETTLED, _SETTLED))


def unsettled_files(folder: Path) -> int:
    """How many files and folders have another time or mode than `settle` gives them; none are
    counted where a system keeps no modes.
    """
    stats = [(path, path.stat()) for path in [*folder.rglob("*"), folder]]
    wrong_time = {path for path, stat in stats if stat.st_mtime != _SETTLED}
    wrong_mode = {
        path
        for path, stat in stats
        if _FILES_HAVE_MODES and stat.st_mode & 0o777 != _MODES[path.is_dir()]
    }
    return len(wrong_time | wrong_mode)


def remove_empty(folders: list[Path]) -> None:
    with suppress(OSError):
        for folder in folders:
            if folder.is_dir():
                folder.rmdir()


def unlink(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def refuse_dangling(path: Path) -> None:
    if path.is_symlink() and not path.exists():
        raise InputError(f"{str(path)!r} is a link that leads nowhere; give the place itself")


def sync(path: Path) -> None:
    """Have the system write a file to the disk."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_names(folder: Path) -> None:
    """Have the system write the names in a folder to the disk, where it can; what they name is
    whole without it.
    """
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# -- checkpoints


def keep(path: Path, content: bytes, made_for: str) -> None:
    """Keep what need not be computed again: the content, and beside it its SHA-256 and what it was
    made for, a hash of everything that decides the content. Confidential.
    """
    write_file(_seal_of(path), _seal(content, made_for), private=True)
    write_file(path, content, private=True)


def recall(path: Path, made_for: str) -> bytes | None:
    """What `keep` kept, or None: nothing is there, or, with a warning that names the file, it is
    damaged or was made for something else.
    """
    if not path.is_file():
        return None
    content = path.read_bytes()
    seal = _seal_of(path)
    if seal.is_file() and seal.read_bytes() == _seal(content, made_for).encode():
        return content
    warnings.warn(
        f"the checkpoint {path.name!r} is damaged or was made for something else, so it is made "
        "again",
        RiskWeightedWarning,
        stacklevel=2,
    )
    return None


def _seal_of(path: Path) -> Path:
    return path.with_name(path.name + _SEAL)


def _seal(content: bytes, made_for: str) -> str:
    return json.dumps({"made_for": made_for, "sha256": hashlib.sha256(content).hexdigest()}) + "\n"


def has_checkpoints(folder: Path) -> bool:
    """Whether `keep` kept anything in a folder or below."""
    return any(folder.rglob(f"*{_SEAL}"))
