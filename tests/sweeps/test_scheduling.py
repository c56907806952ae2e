"""Workers of a sweep: processes of this machine and a real Dask cluster, killed while they work."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from riskweighted.common import cluster as clusters
from riskweighted.common.errors import InputError
from riskweighted.runs.study import make_study
from riskweighted.sweeps.scheduling import cluster_pool, local_pool, result_of
from riskweighted.sweeps.settings_grid import Sweep
from riskweighted.sweeps.sweep import sweep

SECRET = "91827.6453"
GRID = {"weights.radius": [0.3, 0.1], "release.L": [3, 2]}
REPETITIONS = 1  # several are those of test_sweep.py
SETTINGS = {
    "data": {"path": "households.csv"},
    "scenario": {"known": "group", "synthetic": "income"},
    "synthesizer": {"name": "linear-regression", "formula": "income ~ group", "transform": "log"},
    "sampling": {"draws": 60, "tune": 60, "chains": 2},
    "evaluation": {"resamples": 20},
}
# unweighted and two schemes at two radii, two L; the data once
CELLS = 2 * REPETITIONS * (1 + 2 * 2) + REPETITIONS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b"], 60)
    income = np.round(np.exp(3 + (group == "b") + rng.normal(size=60)), 3)
    income[0] = float(SECRET)
    pd.DataFrame({"group": group, "income": income}).to_csv(folder / "households.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def plan(folder):
    return Sweep(make_study(SETTINGS, folder), GRID, REPETITIONS)


@pytest.fixture(scope="module")
def whole(folder, plan):
    """The bytes of the sweep run through in this process."""
    return content(sweep(plan, folder / "whole", workers=1).folder)


def content(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


class AtFirstCells:
    """A reporter that acts once, as soon as some cells are done (more than `after`) but not all."""

    def __init__(self, act, after=0):
        self.act, self.after, self.acted_at = act, after, None

    @contextmanager
    def step(self, description):
        yield self.advance if description.startswith("fitting") else lambda done, total: None

    def advance(self, done, total):
        assert total == CELLS
        if self.acted_at is None and self.after < done < total:
            self.acted_at = done
            self.act()


# -- processes of this machine


def boom(shared, *arguments):
    os.kill(os.getpid(), signal.SIGKILL)


def threads(shared):
    import numba

    return shared, numba.config.NUMBA_NUM_THREADS, os.getpid()


@pytest.mark.long
def test_the_shared_object_reaches_every_process_and_threads_are_bounded():
    with local_pool("given", 2) as pool:
        found = [
            result_of(future)
            for future in [pool.submit(threads, worker=worker) for worker in 2 * pool.workers()]
        ]
    assert {(shared, count) for shared, count, _ in found} == {("given", 1)}
    assert os.getpid() not in {process for *_, process in found}
    assert len({process for *_, process in found}) == 2
    assert [process for *_, process in found[:2]] == [process for *_, process in found[2:]]
    with local_pool("given", 1) as pool:
        assert result_of(pool.submit(threads, worker=pool.workers()[0]))[2] == os.getpid()


def test_a_killed_process_is_reported_in_a_line():
    with (
        local_pool(None, 2) as pool,
        pytest.raises(InputError, match="a worker process ended before its work was done"),
    ):
        result_of(pool.submit(boom, worker="0"))


STARTED = """
import multiprocessing, os, sys
from riskweighted.sweeps.settings_grid import Sweep
from riskweighted.sweeps.sweep import sweep
from test_scheduling import GRID, REPETITIONS, SETTINGS, AtFirstCells
from riskweighted.runs.study import make_study
from pathlib import Path

def strike():
    children = multiprocessing.active_children()
    Path("workers").write_text(" ".join(str(child.pid) for child in children))
    os.kill(os.getpid(), int(sys.argv[1]))

if __name__ == "__main__":
    swept = Sweep(make_study(SETTINGS, Path.cwd()), GRID, REPETITIONS)
    sweep(swept, "killed", workers=2, reporter=AtFirstCells(strike, after=4))
"""


def alive(process):
    try:
        with open(f"/proc/{process}/stat") as handle:
            return handle.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_until(what, seconds):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_sweep_goes_on_with_the_same_bytes_and_leaves_no_process(folder, plan, whole, how):
    script, cells = folder / "start.py", folder / "killed.partial" / "cells"
    script.write_text(STARTED)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(
            [os.path.dirname(__file__), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
    }
    command = [sys.executable, str(script), str(int(how))]
    done = subprocess.run(
        command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True, timeout=500
    )
    shown = done.stderr
    workers = [int(process) for process in (folder / "workers").read_text().split()]
    assert done.returncode == -how, shown
    assert len(workers) == 2
    wait_until(lambda: not any(map(alive, workers)), 100)
    assert not (folder / "killed").exists()
    assert SECRET not in shown
    assert 4 < len(list(cells.glob("*.json"))) < CELLS
    done = sweep(plan, folder / "killed", workers=1)
    assert content(done.folder) == whole
    for path in done.folder.iterdir():
        path.unlink()
    done.folder.rmdir()


# -- a Dask cluster


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # distributed's own
@pytest.mark.parametrize("given", ["path", "frame"])
def test_a_cluster_loses_nothing_when_a_worker_is_killed(folder, plan, whole, capfd, given):
    from distributed import LocalCluster

    confidential = None if given == "path" else pd.read_csv(folder / "households.csv")
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        workers = [nanny.pid for nanny in cluster.workers.values()]
        killer = AtFirstCells(lambda: os.kill(workers[0], signal.SIGKILL))
        done = sweep(
            plan,
            folder / f"cluster_{given}",
            confidential=confidential,
            scheduler=cluster.scheduler_address,
            reporter=killer,
        )
        assert not alive(workers[0])
    assert 0 < killer.acted_at < CELLS
    assert content(done.folder) == whole
    shown = capfd.readouterr()
    assert SECRET not in shown.out + shown.err


@pytest.mark.filterwarnings("default")
def test_workers_that_cannot_do_the_work_are_refused(tmp_path):
    from distributed import LocalCluster

    from riskweighted.common.fingerprints import versions

    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address
        other = cluster_pool(None, address, [], versions() | {"numpy": "0"})
        with (
            pytest.raises(
                InputError, match="a worker of the cluster has other versions of 'numpy'"
            ),
            other,
        ):
            pass
        unseen = cluster_pool(None, address, [tmp_path / "absent.csv"], versions())
        with pytest.raises(InputError, match=r"does not see '.*absent\.csv'"), unseen:
            pass
        with cluster_pool("given", address, [], versions()) as pool:
            (worker,) = pool.workers()
            assert result_of(pool.submit(threads, worker=worker))[0] == "given"


@pytest.mark.filterwarnings("default")
def test_a_scheduler_that_does_not_answer_is_said_in_time(monkeypatch):
    assert clusters.ANSWER_WITHIN <= 9
    monkeypatch.setattr(clusters, "ANSWER_WITHIN", 1.0)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        for address in (
            f"tcp://127.0.0.1:{silent.getsockname()[1]}",
            "tcp://127.0.0.1:1",
            "nonsense",
            "nonsense://x:1",
        ):
            began = time.monotonic()
            with (
                pytest.raises(InputError, match=r"the scheduler at .* does not answer") as caught,
                cluster_pool(None, address, [], {}),
            ):
                pass
            # distributed's own limit is 30; a busy machine takes a few
            assert time.monotonic() - began < 20
            assert address in str(caught.value)


def test_without_distributed_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(InputError, match=r'pip install "riskweighted\[cluster\]"'),
        cluster_pool(None, "tcp://x:1", [], {}),
    ):
        pass
