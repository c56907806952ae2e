"""The one writer of folders: a folder OUT appears whole, from its working folder OUT.partial.

The working folder is its owner's only, is locked while a command is at work there, and keeps the
checkpoints of one that was interrupted. The result is built in a new folder inside it, so that
nothing that lay there before is published.
"""

import errno
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from riskweighted.common.atomic import (
    has_checkpoints,
    make_folder,
    refuse_dangling,
    remove_empty,
    sync,
    sync_names,
    unlink,
    write_file,
)
from riskweighted.common.checks import check_path, real_path
from riskweighted.common.errors import InputError
from riskweighted.common.interrupts import interrupts_kept

__all__ = [
    "CLAIM",
    "LOCK",
    "MARK",
    "BusyError",
    "WorkingFolder",
    "open_folder",
    "refuse_inside_result",
    "scratch",
    "take_lock",
    "temporary_folder",
]


MARK = ".riskweighted"  # stands in a working folder of ours and says of what
LOCK = ".lock"
CLAIM = ".claim"  # in its place, only where the file system has no locks
_OURS = {MARK, LOCK, CLAIM}
# of some network file systems
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}


class BusyError(Exception):
    """Another process, or another thread of this one, holds the lock; the text says what to do
    about it.
    """


def take_lock(path: Path) -> Callable[[], None]:
    """Create a file where it is absent, readable for its owner only, and lock it; returns what
    releases it and takes the file away.

    The system drops the lock with the process, whatever ends it. Where a file system has no such
    locks, a second file claims the place instead, with the number of its process: one that a killed
    process left is taken over on the same machine, and on others the error names it. Raises
    BusyError if it is locked, FileNotFoundError if its folder was removed in this moment.
    """
    from filelock import FileLock, SoftFileLock, Timeout

    lock: FileLock | SoftFileLock = FileLock(
        path, mode=0o600, thread_local=False, fallback_to_soft=False
    )
    hint = "wait for it"
    try:
        try:
            lock.acquire(timeout=0)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            unlink(path)
            claim = path.with_name(CLAIM)
            hint = f"wait for it, or remove {str(claim)!r} if it was killed"
            lock = SoftFileLock(claim, mode=0o600, thread_local=False)
            lock.acquire(timeout=1)  # the second attempt finds gone what a killed process left
    except Timeout:
        raise BusyError(hint) from None

    def release() -> None:
        unlink(path)  # while it is held: whoever has opened it meanwhile sees that it is gone
        lock.release()

    return release


_RESULT, _REPLACED, _MOMENT = "result-", "replaced", "moment-"
_at: ContextVar[Path | None] = ContextVar("the working folder of the command", default=None)


@dataclass(frozen=True)
class WorkingFolder:
    """Where a command builds the folder `out`: `folder` is OUT.partial, its owner's only, for
    checkpoints; what is written to `result`, new and empty, becomes `out`.
    """

    out: Path
    folder: Path
    result: Path


@contextmanager
def open_folder(
    out: Path,
    what: str,
    *,
    check_replaceable: Callable[[Path], None] | None = None,
    force: bool = False,
) -> Iterator[WorkingFolder]:
    """Build a folder: it appears, whole, when the block ends; after an error only checkpoints are
    left, if there are any.

    `what` says whose working folder it is, "a run": only the same kind goes on from its
    checkpoints. With `force` an existing folder is replaced, unless `check_replaceable` refuses it.
    Raises InputError if `out` may not be written or lies in a finished result, OUT.partial is not a
    working folder of this kind, or a command is at work there.
    """

    check_path(out, "out")
    refuse_inside_result(out)

    def check_out() -> None:
        refuse_dangling(out)
        if not out.exists():
            return
        if not force or check_replaceable is None:
            allow = " or allow replacing it (--force)" if check_replaceable is not None else ""
            raise InputError(f"{str(out)!r} exists; choose another folder{allow}")
        if out.is_symlink():
            raise InputError(
                f"{str(out)!r} is a link, which is not replaced; give the folder itself"
            )
        check_replaceable(out)

    check_out()
    final = out.absolute()
    folder = final.with_name(f"{final.name}.partial")
    with _at_work(folder, final, what):
        result = folder / f"{_RESULT}{secrets.token_hex(8)}"
        try:
            _tidy(folder, final, what)
            check_out()
            result.mkdir()
            with interrupts_kept(), _there(folder):
                yield WorkingFolder(out, folder, result)
            check_out()
            _publish(result, final)
        except BaseException:
            _restore(folder, final)
            shutil.rmtree(result, ignore_errors=True)
            if not has_checkpoints(folder):
                _clear(folder)
            raise
        _clear(folder)


@contextmanager
def scratch(out: Path, what: str) -> Iterator[WorkingFolder]:
    """A working folder from which nothing is published: it goes at the end, and what a killed
    command left in it at the next beginning.
    """
    folder = out.absolute().with_name(f"{out.name}.partial")
    with _at_work(folder, out, what):
        try:
            _clear(folder)
            write_file(folder / MARK, what, private=True)
            result = folder / f"{_RESULT}{secrets.token_hex(8)}"
            result.mkdir()
            with _there(folder):
                yield WorkingFolder(out, folder, result)
        finally:
            _clear(folder)


@contextmanager
def _there(folder: Path) -> Iterator[None]:
    token = _at.set(folder)
    try:
        yield
    finally:
        _at.reset(token)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for files that go at the end of the block, in the working folder of the command if
    it has one; its owner's only.
    """
    with tempfile.TemporaryDirectory(prefix=_MOMENT, dir=_at.get()) as folder:
        yield Path(folder)


@contextmanager
def _at_work(folder: Path, out: Path, what: str) -> Iterator[None]:
    """Hold the lock on a working folder, which is made where it is absent; take away at the end
    what stands empty.
    """
    made = make_folder(folder.parent)
    try:
        release = _lock(folder, out, what)
    except BaseException:
        remove_empty(made)
        raise
    try:
        yield
    finally:
        if folder.is_dir() and {path.name for path in folder.iterdir()} <= _OURS:
            unlink(folder / MARK)  # last, so that nobody meets a working folder without its mark
        release()
        if _is_empty(folder):  # else it has a new owner already
            remove_empty([folder])
        if not out.exists():
            remove_empty(made)


def _lock(folder: Path, out: Path, what: str) -> Callable[[], None]:
    for _ in range(100):
        foreign = folder.is_symlink() or (
            folder.exists() and not (folder / MARK).is_file() and not _is_empty(folder)
        )
        if foreign:
            raise InputError(
                f"{str(folder)!r} exists and is not the working folder of {what}; move it away "
                "or choose another --out"
            )
        folder.mkdir(0o700, exist_ok=True)
        try:
            return take_lock(folder / LOCK)
        except BusyError as error:
            raise InputError(
                f"a command is at work on {str(out)!r} already: {error}, or choose another --out"
            ) from None
        except FileNotFoundError:
            continue  # its last owner has just taken it away
        except BaseException:
            remove_empty([folder])
            raise
    raise InputError(f"{str(folder)!r} cannot be locked; choose another --out")


def refuse_inside_result(out: Path) -> None:
    """Refuse a place inside a finished result of ours, whose manifest would no longer say all that
    it holds.
    """
    for folder in real_path(out).parents:
        try:
            manifest = json.loads((folder / "manifest.json").read_bytes())
        except (OSError, ValueError):
            continue
        if (
            isinstance(manifest, dict)
            and isinstance(manifest.get("versions"), dict)
            and "riskweighted" in manifest["versions"]
        ):
            raise InputError(
                f"{str(out)!r} lies in the finished result {str(folder)!r}, which must stay as "
                "it was written; choose another --out"
            )


def _is_empty(folder: Path) -> bool:
    """Whether nothing lies there, but perhaps the lock of who comes or goes."""
    return folder.is_dir() and {path.name for path in folder.iterdir()} <= {LOCK, CLAIM}


def _tidy(folder: Path, out: Path, what: str) -> None:
    """Of what a killed command left, keep the checkpoints only; refuse those of another kind of
    command.
    """
    folder.chmod(0o700)
    _restore(folder, out)
    if not has_checkpoints(folder):
        _clear(folder)
    elif (folder / MARK).read_bytes() != what.encode():
        raise InputError(
            f"{str(folder)!r} exists and is not the working folder of {what}; move it away or "
            "choose another --out"
        )
    for left in (*folder.glob(f"{_RESULT}*"), *folder.glob(f"{_MOMENT}*"), folder / _REPLACED):
        shutil.rmtree(left, ignore_errors=True)
    write_file(folder / MARK, what, private=True)


def _clear(folder: Path) -> None:
    """Everything of a working folder but the mark and the lock."""
    for path in folder.iterdir():
        if path.name not in _OURS:
            shutil.rmtree(
                path, ignore_errors=True
            ) if path.is_dir() and not path.is_symlink() else unlink(path)


def _publish(result: Path, out: Path) -> None:
    """Give a finished folder its name at once, in the place of one that may be replaced."""
    for folder, _, names in os.walk(result, topdown=False):
        for name in names:
            sync(Path(folder, name))
        sync_names(Path(folder))
    if out.exists():
        out.rename(result.parent / _REPLACED)
    result.rename(out)
    sync_names(out.parent)


def _restore(folder: Path, out: Path) -> None:
    """Put back what was to be replaced, where nothing took its place."""
    if (folder / _REPLACED).exists() and not out.exists():
        (folder / _REPLACED).rename(out)
