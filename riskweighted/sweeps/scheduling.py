"""Where work is done: in this process, in processes of this machine, or on a Dask cluster, behind one `submit`.

Every worker function takes the shared object (confidential data held in memory, or None) as its first argument. It
reaches each process once.
"""

import asyncio
import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riskweighted.common.errors import InputError, listing
from riskweighted.common.extras import optional

__all__ = ["Pool", "cluster_pool", "local_pool", "result_of"]

ANSWER_WITHIN = 8.0  # seconds a scheduler has to answer, so that the user hears of it within 10
_HERE = "here"  # this process, as a worker
_ANY = "any"  # a cluster that has no workers yet
_THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Pool:
    """``submit(function, *arguments, worker=name)`` gives a Future; ``workers()``: the names; ``ahead``: how many tasks each may hold."""

    submit: Callable[..., "Future[Any]"]
    workers: Callable[[], Sequence[str]]
    ahead: int = 2


@contextmanager
def local_pool(shared: Any, workers: int, after: Callable[[], None] | None = None) -> Iterator[Pool]:
    """This process (one worker), in the end of which `after` is called; or fresh processes of one thread each, which end with this one."""
    if workers == 1:
        try:
            yield Pool(lambda function, *arguments, worker: _at_once(function, shared, *arguments), lambda: [_HERE], ahead=1)
        finally:
            if after is not None:
                after()
        return
    before = set(multiprocessing.active_children())
    spawn = multiprocessing.get_context("spawn")  # each starts with its first task
    executors = {str(number): ProcessPoolExecutor(1, spawn, _start_worker, (shared,)) for number in range(workers)}
    try:
        yield Pool(
            lambda function, *arguments, worker: executors[worker].submit(_with_shared, function, *arguments), lambda: list(executors)
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
    shared: Any, address: str, paths: Sequence[Path], versions: Mapping[str, str], after: Callable[[], None] | None = None
) -> Iterator[Pool]:
    """A Dask cluster behind the scheduler at `address`, such as "tcp://host:port", whose workers must all see `paths` and have `versions`.

    `shared` is sent once and kept by the scheduler, so that a worker that dies takes nothing along; `after` is called at every worker when
    all is done. Refuses a scheduler that does not answer within 10 s.
    """
    distributed = optional("distributed", "a scheduler")
    try:
        _greet(address)
        client = distributed.Client(address, timeout=ANSWER_WITHIN, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"the scheduler at {address!r} does not answer ({type(error).__name__}); valid is the address of a running "
            "dask scheduler, tcp://host:port"
        ) from None
    with client:
        _check_workers(client, paths, versions)
        executors: dict[str, Any] = {}

        def submit(function: Callable[..., Any], *arguments: Any, worker: str) -> "Future[Any]":
            if worker not in executors:
                there = {} if worker == _ANY else {"workers": [worker], "allow_other_workers": True}  # others if it goes away
                executors[worker] = client.get_executor(pure=False, **there)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # "Sending large graph": a posterior may be large
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
    """What a task returned, or the exception that lost it; refuses to go on where the workers themselves are gone."""
    try:
        return done.result()
    except BrokenProcessPool:
        raise InputError(
            "a worker process ended before its work was done, often for want of memory; finished cells are kept: "
            "the same command goes on from there, with fewer --workers if need be"
        ) from None
    except CancelledError:
        raise InputError("the scheduler went away; finished cells are kept: the same command goes on from there") from None
    except Exception as error:
        return error


def _greet(address: str) -> None:
    """Shake hands within the time: `Client` waits for ever on whoever accepts a connection and then says nothing."""
    from distributed import Security
    from distributed.comm import connect

    async def greet() -> None:
        arguments = Security().get_connection_args("client")
        comm = await asyncio.wait_for(connect(address, timeout=ANSWER_WITHIN, **arguments), ANSWER_WITHIN)
        comm.abort()

    with ThreadPoolExecutor(1) as thread:  # a notebook has a running loop of its own
        thread.submit(asyncio.run, greet()).result()


def _itself(value: Any) -> Any:
    return value


def _check_workers(client: Any, paths: Sequence[Path], versions: Mapping[str, str]) -> None:
    try:
        facts = client.run(_worker_facts, list(paths))
    except Exception as error:
        raise InputError(f"a worker of the cluster cannot run riskweighted ({type(error).__name__}); install this version there") from None
    for theirs, unseen in facts.values():
        other = [name for name in versions if theirs.get(name) != versions[name]]
        if other:
            raise InputError(f"a worker of the cluster has other versions of {listing(other)}; results would depend on who computes them")
        if unseen:
            raise InputError(f"a worker of the cluster does not see {listing(unseen)}; put the data where every worker reads it")


def _worker_facts(paths: Sequence[Path]) -> tuple[dict[str, str], list[str]]:
    from riskweighted.common.fingerprints import versions

    return versions(), [str(path) for path in paths if not path.is_file()]
