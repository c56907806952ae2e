"""An interrupt that somebody swallowed is raised after all."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from riskweighted.common.folders import opened
from riskweighted.common.interrupts import interrupts_kept


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
        with opened(tmp_path / "out", "a run") as working:
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
    except KeyboardInterrupt:
        print("swallowed")

command_line.app.registered_commands[-1].callback = synthesizers
sys.argv = ["riskweighted", "synthesizers"]
command_line.main()
"""


def test_a_command_never_ends_well_after_an_interrupt():
    done = subprocess.run([sys.executable, "-c", SWALLOWS], capture_output=True, text=True, timeout=300)
    assert done.stdout == "swallowed\n", done.stderr
    assert done.returncode == 130
    assert done.stderr.startswith("interrupted; ")
    assert "Traceback" not in done.stderr
