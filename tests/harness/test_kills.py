"""Ten kills of commands; `python -m tests.harness.kills` does more of them, each of a process that
loads all packages itself.
"""

import contextlib
import os

import numpy as np
import pytest
from command_line import Command
from kills import IN_CI, Bench


class Forked(Command):
    """As `Started`, from loaded packages; a command that works on one core is one process."""

    def poll(self):
        return self.returncode

    def strike(self, number):
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.kill(self.pid, number)

    def ended(self):
        with self:
            done = super().ended()
        return done.returncode, done.stderr


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench.made(tmp_path_factory.mktemp("kills"), Forked)


@pytest.mark.long
@pytest.mark.slow
def test_ten_kills_change_nothing(bench):
    rng = np.random.default_rng(1)
    for command, kills in IN_CI:
        bench.chain(command, kills, rng)
    struck = sum(
        count
        for (_, name, what), count in bench.counts.items()
        if name != "-" and what != "too late"
    )
    assert sum(len(kills) for _, kills in IN_CI) == 10
    assert struck >= 9, bench.counts  # a machine may be quicker than we look


@pytest.mark.long
@pytest.mark.slow
def test_a_killed_run_goes_on_with_its_entropy(bench):
    bench.keep_entropy()
    assert bench.counts["run", "KILL", "its entropy used again"] == 1
