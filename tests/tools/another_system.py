"""One process as the package would meet it on Windows: what of Python is there, what files allow,
how text is written.

Our modules, and whatever else is no part of Python, find no module that only POSIX has; `os`,
`sys`, `signal` and `psutil` are for our modules alone what Windows makes of them, since Python
itself needs the real ones. A file that is open is not renamed or deleted.
"""

import builtins
import os
import pathlib
import signal
import sys
import types
import warnings

import psutil

POSIX_MODULES = {
    "crypt",
    "fcntl",
    "grp",
    "nis",
    "ossaudiodev",
    "posix",
    "pty",
    "pwd",
    "resource",
    "spwd",
    "syslog",
    "termios",
    "tty",
}
_LISTED = """
    chown chroot ctermid fchdir fchmod fchown fork forkpty getegid geteuid getgid getgroups
    getloadavg getpgid getpgrp getpriority getresgid getresuid getsid getuid initgroups killpg
    lchown lockf mkfifo mknod nice openpty posix_fadvise posix_fallocate posix_spawn pread pwrite
    register_at_fork sched_getaffinity sched_setaffinity sendfile setegid seteuid setgid setgroups
    setpgid setpriority setsid setuid statvfs sysconf tcgetpgrp ttyname uname wait wait3 wait4
    O_CLOEXEC O_DIRECTORY O_NOCTTY O_NOFOLLOW O_NONBLOCK O_SYNC WNOHANG
"""
POSIX_NAMES = _LISTED.split()
SIGNALS = {
    "SIGABRT",
    "SIGBREAK",
    "SIGFPE",
    "SIGILL",
    "SIGINT",
    "SIGSEGV",
    "SIGTERM",
    "SIG_DFL",
    "SIG_IGN",
}
OURS = ("riskweighted", "riskweighted_models")


class _Less(types.ModuleType):
    """A module with other values under some names, and without others."""

    def __init__(self, real, lacking, **other):
        super().__init__(real.__name__)
        vars(self).update(other, _real=real, _lacking=frozenset(lacking))

    def __getattr__(self, name):
        if name in self._lacking:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self._real, name)


def _open(path, flags, mode=0o777, **settings):
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", str(path))
    return os.open(path, flags, mode, **settings)


class _Process(psutil.Process):
    def memory_info(self):
        held = super().memory_info()
        return types.SimpleNamespace(rss=held.rss, vms=held.vms, peak_wset=held.rss)


def _held_open():
    """The files that this process has open or mapped."""
    mapped = {
        line.split(maxsplit=5)[-1].strip()
        for line in pathlib.Path("/proc/self/maps").read_text().splitlines()
        if "/" in line
    }
    for number in os.listdir("/proc/self/fd"):
        try:
            mapped.add(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:  # the one that listed them
            continue
    return mapped


def _refuse_open(path):
    whole = os.path.realpath(path)
    for name in _held_open():
        if name == whole or name.startswith(f"{whole}{os.sep}"):
            raise PermissionError(
                13,
                "The process cannot access the file because it is being used by another process",
                str(path),
            )


def _closed_first(method):
    def careful(self, *others, **settings):
        for path in (self, *(other for other in others if isinstance(other, pathlib.Path))):
            _refuse_open(path)
        return method(self, *others, **settings)

    return careful


def enter():
    """From now on this process is such a one; before anything of ours is imported."""
    assert not [name for name in sys.modules if name.partition(".")[0] in OURS]
    signals = {name for name in vars(signal) if name.startswith("SIG") and name.isupper()} - SIGNALS
    lacking = signals | {
        "alarm",
        "pause",
        "pthread_sigmask",
        "set_wakeup_fd",
        "setitimer",
        "sigwait",
    }
    instead = {
        "os": _Less(os, POSIX_NAMES, name="nt", open=_open),
        "sys": _Less(sys, {"abiflags"}, platform="win32"),
        "signal": _Less(signal, lacking),
        "psutil": _Less(psutil, set(), Process=_Process),
    }
    real = builtins.__import__

    def importing(name, globals=None, locals=None, fromlist=(), level=0):
        importer = str((globals or {}).get("__name__", "")).partition(".")[0]
        if (
            level == 0
            and name.partition(".")[0] in POSIX_MODULES
            and importer not in {*sys.stdlib_module_names, "psutil"}
        ):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return (
            instead[name]
            if level == 0 and importer in OURS and name in instead
            else real(name, globals, locals, fromlist, level)
        )

    builtins.__import__ = importing
    os.linesep = "\r\n"  # what pandas ends a line with where it is not told
    for name in ("rename", "replace", "unlink", "rmdir"):
        setattr(pathlib.Path, name, _closed_first(getattr(pathlib.Path, name)))
    for name in OURS:  # a file that is read or written in the encoding of the system
        warnings.filterwarnings("error", category=EncodingWarning, module=rf"{name}(\..*)?$")
