"""Our own kernels: compiled functions, typed as what they compute, on all cores. They release the
interpreter's lock, so threads do.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, TypeVar, cast

import numpy as np

__all__ = ["kernel", "run_in_threads", "worker_threads"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def kernel(function: _Function) -> _Function:
    """Compile a function with numba at its first call and keep the machine code beside its file.

    It releases the interpreter's lock, so that it may run in threads. Its arguments are numbers,
    arrays and NamedTuples of them.
    """
    import numba  # which takes a second, and whoever only asks for threads need not wait for

    return cast(_Function, numba.njit(cache=True, nogil=True)(function))


def worker_threads() -> int:
    """The cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_in_threads(
    function: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    progress: Callable[[int, int], None] | None = None,
    stop: np.ndarray | None = None,
) -> Iterator[tuple[int, Any]]:
    """(number of the task, function(*task)) for every task, as they end; what has not begun is
    dropped on an interrupt.

    `stop` (1,) becomes 1 then, for kernels that run long and look at it.
    """
    with ThreadPoolExecutor(worker_threads()) as pool:
        numbers = {pool.submit(function, *task): number for number, task in enumerate(tasks)}
        try:
            for done, future in enumerate(as_completed(list(numbers))):
                yield numbers.pop(future), future.result()
                if progress is not None:
                    progress(done + 1, len(tasks))
        finally:
            if stop is not None:
                stop[0] = 1
            pool.shutdown(wait=False, cancel_futures=True)
