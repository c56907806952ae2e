"""Kernels on all cores, and what an interrupt does."""

import time

import numpy as np
import pytest

from riskweighted.common.jit import run_in_threads


def test_every_task_is_answered_and_reported():
    reported = []
    answers = dict(
        run_in_threads(
            lambda a, b: a * b,
            [(i, 10) for i in range(7)],
            lambda done, total: reported.append((done, total)),
        )
    )
    assert answers == {i: 10 * i for i in range(7)}
    assert reported == [(i + 1, 7) for i in range(7)]


def test_an_interrupt_stops_running_kernels_and_drops_the_rest():
    stop, begun = np.zeros(1, dtype=np.int8), []

    def kernel(number):
        begun.append(number)
        while number and not stop[0]:
            time.sleep(0.01)

    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(run_in_threads(kernel, [(i,) for i in range(100)], interrupt, stop))
    assert stop[0] == 1
    assert len(begun) < 100
