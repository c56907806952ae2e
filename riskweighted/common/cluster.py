"""A Dask cluster behind the address of its scheduler, seen to answer and to have what the work
needs; or workers on this machine.
"""

import asyncio
import gc
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from riskweighted.common.errors import InputError, listing
from riskweighted.common.extras import optional

__all__ = ["ANSWER_WITHIN", "connect_client", "greet", "own_workers", "workers_of"]

ANSWER_WITHIN = 8.0  # seconds a scheduler has to answer, so that the user hears of it within 10
# times, since every other second distributed replaces the answer by one that names no workers, at
# times before it is read
_ASKED = 5
# seconds between two looks for workers that are lost and not started again by their nannies
_LOOKED_AFTER = 5
_FAILURES = 10  # workers that may end while they are at one task
# of our workers: one thread each, and what is freed goes back to the system, as Dask has it unless
# told otherwise
_ENVIRONMENT = {
    **dict.fromkeys(
        ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
    ),
    "MALLOC_TRIM_THRESHOLD_": "65536",
}


@contextmanager
def connect_client(
    address: str, paths: Sequence[Path], versions: Mapping[str, str]
) -> Iterator[Any]:
    """A client of the scheduler at `address`, such as "tcp://host:port", whose workers must all see
    `paths` and have `versions`.

    Refuses a scheduler that does not answer within 10 s.
    """
    distributed = optional("distributed", "a scheduler")
    # a client that was refused stops with a lock held that the next one's start holds too, if it is
    # collected then
    gc.collect()
    try:
        greet(address)
        client = distributed.Client(address, timeout=ANSWER_WITHIN, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"the scheduler at {address!r} does not answer ({type(error).__name__}); valid is "
            "the address of a running "
            "dask scheduler, tcp://host:port"
        ) from None
    with client:
        _check_workers(client, paths, versions)
        yield client


@contextmanager
def own_workers(count: int, folder: Path) -> Iterator[Any]:
    """A client of so many worker processes on this machine, of one thread each, which write what
    they spill below `folder`.

    Whoever reaches a scheduler runs what they like as its owner, so this one speaks with those
    alone who hold keys that are made here.
    """
    distributed = optional("distributed", "data in parts")
    optional("cryptography", "data in parts")
    import dask

    quiet = {
        "distributed.nanny.pre-spawn-environ": _ENVIRONMENT,
        "temporary-directory": str(folder),
        "distributed.worker.daemon": True,
        "distributed.scheduler.allowed-failures": _FAILURES,
        "distributed.scheduler.http.routes": [],  # pages that answer whoever asks
        "distributed.worker.http.routes": [],
        "distributed.nanny.http.routes": [],
    }
    with (
        dask.config.set(quiet),
        distributed.LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            security=True,
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            local_directory=str(folder),
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        _kept_at(cluster, count),
    ):
        yield client


@contextmanager
def _kept_at(cluster: Any, count: int) -> Iterator[None]:
    """Start a worker anew that its nanny gave up, as where it is killed while it starts."""
    ended = threading.Event()

    def keep() -> None:
        while not ended.wait(_LOOKED_AFTER):
            cluster.scale(count)

    thread = threading.Thread(target=keep, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def greet(address: str) -> None:
    """Shake hands with a scheduler within the time: `Client` waits for ever on whoever accepts a
    connection and then says nothing.
    """
    from distributed import Security
    from distributed.comm import connect

    async def shake() -> None:
        arguments = Security().get_connection_args("client")
        comm = await asyncio.wait_for(
            connect(address, timeout=ANSWER_WITHIN, **arguments), ANSWER_WITHIN
        )
        comm.abort()

    with ThreadPoolExecutor(1) as thread:  # a notebook has a running loop of its own
        thread.submit(asyncio.run, shake()).result()


def _check_workers(client: Any, paths: Sequence[Path], versions: Mapping[str, str]) -> None:
    workers_of(client)
    try:
        facts = client.run(_worker_facts, list(paths), list(versions))
    except Exception as error:
        raise InputError(
            f"a worker of the cluster cannot run riskweighted ({type(error).__name__}); install "
            "this version there"
        ) from None
    for theirs, unseen in facts.values():
        other = [name for name in versions if theirs.get(name) != versions[name]]
        if other:
            raise InputError(
                f"a worker of the cluster has other versions of {listing(other)}; results would "
                "depend on who computes them"
            )
        if unseen:
            raise InputError(
                f"a worker of the cluster does not see {listing(unseen)}; put the data where "
                "every worker reads it"
            )


def workers_of(client: Any) -> dict[str, Any]:
    """What the scheduler knows of each worker; refuses one that has none."""
    for _ in range(_ASKED):
        known: dict[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
        if known:
            return known
    raise InputError(
        "the scheduler has no workers; start some, such as with dask worker and its address"
    )


def _worker_facts(paths: Sequence[Path], names: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    from riskweighted.common.fingerprints import versions

    return versions(names), [str(path) for path in paths if not path.exists()]
