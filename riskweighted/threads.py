"""How many threads our own kernels use."""

import os

__all__ = ["worker_threads"]


def worker_threads() -> int:
    """The cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
