"""How much memory and disk a process can still have."""

import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import psutil

__all__ = ["Shortage", "disk_free", "memory_free", "memory_peak", "shortages", "size"]

_GROUPS = (  # limit and use of the control group that containers and batch systems put a process in
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


class Shortage(NamedTuple):
    """What does not fit: ``what``, "memory" or "disk"; bytes that it ``needs`` by an estimate that
    may be off by a factor of 2, and that are ``free``."""

    what: str
    needs: float
    free: float

    @property
    def certain(self) -> bool:
        """Whether half of the estimate does not fit either."""
        return self.needs > 2 * self.free

    def __str__(self) -> str:
        return (
            f"{self.what}: needs about {size(self.needs)}, {size(self.free)} are free, "
            f"{size(self.needs - self.free)} too few"
        )


def shortages(memory: float, disk: float, out: Path) -> list[Shortage]:
    """What of so many bytes, the peak of a process like this one and files in a folder, does not
    fit here.
    """
    needed = [
        Shortage("memory", memory, memory_free() + _held_now()),
        Shortage("disk", disk, disk_free(out)),
    ]
    return [shortage for shortage in needed if shortage.needs > shortage.free]


def size(count: float) -> str:
    """Bytes in words."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def _held_now() -> int:
    """What this process holds, which goes when it ends."""
    return int(psutil.Process().memory_info().rss)


def memory_peak() -> int:
    """The most memory that this process has held so far, in bytes."""
    if sys.platform == "win32":
        return int(psutil.Process().memory_info().peak_wset)
    import resource  # psutil knows the peak of Windows only

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def memory_free() -> int:
    """Bytes that a process started now could have: what the machine has free, or what is left under
    the limit of its control group.
    """
    limits = [int(psutil.virtual_memory().available)]
    for limit, used in _GROUPS:
        try:
            limits.append(
                int(Path(limit).read_text(encoding="ascii"))
                - int(Path(used).read_text(encoding="ascii"))
                + _cache(Path(used).parent)
            )
        except (OSError, ValueError):  # there is none, or it is "max"
            continue
    return max(min(limits), 0)


def _cache(folder: Path) -> int:
    """Bytes of files that a control group holds in memory and gives up when asked."""
    for line in (folder / "memory.stat").read_text(encoding="ascii").splitlines():
        name, value = line.split()
        if name in ("inactive_file", "total_inactive_file"):
            return int(value)
    return 0


def disk_free(path: Path) -> int:
    """Bytes that are free where a path is, or would be made."""
    there = next(
        folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists()
    )
    return shutil.disk_usage(there).free
