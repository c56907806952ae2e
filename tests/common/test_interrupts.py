"""An interrupt that somebody swallowed is raised after all."""

import os
import signal
import subprocess
import sys
import threading

import numba
import numpy as np
import pytest

from riskweighted.common.errors import InputError
from riskweighted.common.folders import open_folder
from riskweighted.common.interrupts import interrupts_kept, raise_interrupt

pytestmark = pytest.mark.versions


def swallowed():
    """Ctrl-C while C code or `__del__` is at work: the exception is printed at most."""
    try:
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(5)
    except KeyboardInterrupt:
        pass
    else:
        pytest.fail("no signal came")


def end_of_block(handler):
    """What the block raised, and the handler after it."""
    before = signal.signal(signal.SIGINT, handler)
    try:
        with interrupts_kept() as check:
            swallowed()
            with pytest.raises(KeyboardInterrupt):
                check()
    finally:
        after = signal.signal(signal.SIGINT, before)
        assert after is handler


def test_a_swallowed_interrupt_is_raised_at_the_end_of_the_block():
    with pytest.raises(KeyboardInterrupt):
        end_of_block(signal.default_int_handler)


@pytest.mark.parametrize("error", [SystemError, InputError])
def test_an_error_after_an_interrupt_is_the_interrupt(error):
    """Numba says SystemError; a worker that Ctrl-C ended is an error of the input for who waits for
    it.
    """

    def work():
        with interrupts_kept():
            swallowed()
            raise error("x")

    with pytest.raises(KeyboardInterrupt):
        work()
    with pytest.raises(error), interrupts_kept():  # nobody interrupted this one
        raise error("x")


@numba.njit
def kernel(values, turns):
    """Runs for a while, and gives arrays, which numba makes with Python's help."""
    total = 0.0
    for turn in range(turns):
        total += np.sin(values[turn % len(values)])
    return total, values, values * total


def interrupted_kernel():
    kernel(np.ones(10), 1)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    kernel(np.ones(10), 50_000_000)
    threading.Event().wait(5)


def raised_of(turn):
    """On a busy machine the signal may come before the kernel has begun."""
    try:
        interrupted_kernel()
    except (KeyboardInterrupt, SystemError) as error:
        return error


def test_what_numba_makes_of_an_interrupt_is_one():
    """It says SystemError; and who gives up on whatever is raised, as the measures of a run do,
    does not on this.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        made = next(error for error in map(raised_of, range(20)) if isinstance(error, SystemError))
        with pytest.raises(KeyboardInterrupt):
            raise_interrupt(made)
        with pytest.raises(KeyboardInterrupt), interrupts_kept():
            interrupted_kernel()
    finally:
        signal.signal(signal.SIGINT, before)
    raise_interrupt(ValueError("x"))


def test_nothing_is_raised_where_nothing_was_signalled():
    before = signal.getsignal(signal.SIGINT)
    with interrupts_kept() as check:
        assert signal.getsignal(signal.SIGINT) is not before
        check()
    assert signal.getsignal(signal.SIGINT) is before


def test_an_ignored_interrupt_stays_ignored_and_other_threads_are_left_alone():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts_kept() as check:
            os.kill(os.getpid(), signal.SIGINT)
            check()
    finally:
        signal.signal(signal.SIGINT, before)
    seen = []

    def elsewhere():
        with interrupts_kept() as check:
            check()
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [before]


def test_a_folder_is_not_published_after_a_swallowed_interrupt(tmp_path):
    def work():
        with open_folder(tmp_path / "out", "a run") as working:
            (working.result / "t.csv").write_text("x")
            swallowed()

    with pytest.raises(KeyboardInterrupt):
        work()
    assert list(tmp_path.iterdir()) == []


SWALLOWS = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from riskweighted.commands import main as command_line

def synthesizers():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    except KeyboardInterrupt as error:
        print("swallowed")
        if what == "numba":
            raise SystemError("a kernel returned a result with an exception set") from error

command_line.app.registered_commands[-1].callback = synthesizers
what, sys.argv = sys.argv[1], ["riskweighted", "synthesizers"]
command_line.main()
"""


@pytest.mark.parametrize("what", ["swallowed", "numba"])
def test_a_command_never_ends_well_after_an_interrupt(what):
    done = subprocess.run(
        [sys.executable, "-c", SWALLOWS, what], capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "swallowed\n", done.stderr
    assert done.returncode == 130
    assert done.stderr.startswith("interrupted; ")
    assert "Traceback" not in done.stderr
