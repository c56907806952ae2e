"""Where work is done: in this process, in processes of this machine, or on a Dask cluster, behind
one `submit`.

Every worker function takes the shared object (confidential data held in memory, or None) as its
first argument. It reaches each process once.
"""

import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riskweighted.common.cluster import connect_client
from riskweighted.common.errors import InputError

__all__ = ["Pool", "cluster_pool", "local_pool", "result_of"]

_HERE = "here"  # this process, as a worker
_ANY = "any"  # a cluster that has no workers yet
_THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Pool:
    """``submit(function, *arguments, worker=name)`` gives a Future; ``workers()``: the names;
    ``ahead``: how many tasks each may hold.
    """

    submit: Callable[..., "Future[Any]"]
    workers: Callable[[], Sequence[str]]
    ahead: int = 2


@contextmanager
def local_pool(
    shared: Any, workers: int, after: Callable[[], None] | None = None
) -> Iterator[Pool]:
    """This process (one worker), in the end of which `after` is called; or fresh processes of one
    thread each, which end with this one.
    """
    if workers == 1:
        try:
            yield Pool(
                lambda function, *arguments, worker: _at_once(function, shared, *arguments),
                lambda: [_HERE],
                ahead=1,
            )
        finally:
            if after is not None:
                after()
        return
    before = set(multiprocessing.active_children())
    spawn = multiprocessing.get_context("spawn")  # each starts with its first task
    executors = {
        str(number): ProcessPoolExecutor(1, spawn, _start_worker, (shared,))
        for number in range(workers)
    }
    try:
        yield Pool(
            lambda function, *arguments, worker: executors[worker].submit(
                _with_shared, function, *arguments
            ),
            lambda: list(executors),
        )
    except BaseException:
        for executor in executors.values():
            executor.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    for executor in executors.values():
        executor.shutdown()


def _at_once(function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
    done: Future[Any] = Future()
    done.set_result(function(*arguments))
    return done


_shared: Any = None


def _start_worker(shared: Any) -> None:
    """One thread per worker; Ctrl-C is the parent's to handle, and no worker outlives it."""
    global _shared
    _shared = shared
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _with_shared(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(_shared, *arguments)


@contextmanager
def cluster_pool(
    shared: Any,
    address: str,
    paths: Sequence[Path],
    versions: Mapping[str, str],
    after: Callable[[], None] | None = None,
) -> Iterator[Pool]:
    """A Dask cluster behind the scheduler at `address`, such as "tcp://host:port", whose workers
    must all see `paths` and have `versions`.

    `shared` is sent once and kept by the scheduler, so that a worker that dies takes nothing along;
    `after` is called at every worker when all is done. Refuses a scheduler that does not answer
    within 10 s.
    """
    with connect_client(address, paths, versions) as client:
        executors: dict[str, Any] = {}

        def submit(function: Callable[..., Any], *arguments: Any, worker: str) -> "Future[Any]":
            if worker not in executors:
                # others if it goes away
                there = {} if worker == _ANY else {"workers": [worker], "allow_other_workers": True}
                executors[worker] = client.get_executor(pure=False, **there)
            with warnings.catch_warnings():
                # "Sending large graph": a posterior may be large
                warnings.simplefilter("ignore", UserWarning)
                future: Future[Any] = executors[worker].submit(function, sent, *arguments)
                return future

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # once, and meant
            sent = None if shared is None else client.submit(_itself, shared, pure=False)
        try:
            yield Pool(submit, lambda: sorted(client.nthreads()) or [_ANY])
            if after is not None:
                client.run(after)
        finally:
            for executor in executors.values():
                executor.shutdown(wait=False)


def result_of(done: "Future[Any]") -> Any:
    """What a task returned, or the exception that lost it; refuses to go on where the workers
    themselves are gone.
    """
    try:
        return done.result()
    except BrokenProcessPool:
        raise InputError(
            "a worker process ended before its work was done, often for want of memory; finished "
            "cells are kept: "
            "the same command goes on from there, with fewer --workers if need be"
        ) from None
    except CancelledError:
        raise InputError(
            "the scheduler went away; finished cells are kept: the same command goes on from there"
        ) from None
    except Exception as error:
        return error


def _itself(value: Any) -> Any:
    return value
