"""A lock on a file that vanishes with the process that holds it."""

import errno
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

__all__ = ["CLAIM", "BusyError", "take_lock"]

CLAIM = ".claim"  # only where the system has no locks
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}  # of some network file systems


class BusyError(Exception):
    """Another process, or another thread of this one, holds the lock; the text says what to do about it."""


def take_lock(path: Path) -> Callable[[], None]:
    """Create a file where it is absent, readable for its owner only, and lock it; returns what releases it.

    The system drops the lock with the process, whatever ends it. Where it has no such locks (Windows, some network file systems) a
    second file claims the place instead; a killed process leaves that one behind, and the error names it. Raises BusyError if it is
    locked, FileNotFoundError if its last owner removed the file, or the folder, in this moment.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        locked = _flock(descriptor)
        if locked and not os.path.samestat(os.fstat(descriptor), os.stat(path)):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    except BaseException as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise BusyError("wait for it") from None
        raise
    if locked:
        return partial(os.close, descriptor)
    os.close(descriptor)
    return _claim(path.with_name(CLAIM))


def _flock(descriptor: int) -> bool:
    """Lock an open file, or raise BlockingIOError; False where there are no locks that vanish with their process."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return False
        raise
    return True


def _claim(path: Path) -> Callable[[], None]:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        raise BusyError(f"wait for it, or remove {str(path)!r} if it was killed") from None
    return partial(path.unlink, missing_ok=True)
