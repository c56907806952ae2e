"""Ctrl-C reaches the tests that send it, and the programs that they start, also where the suite
runs in the background.

A shell without job control starts what runs in the background with Ctrl-C ignored, and every
process passes that on.
"""

import signal


def pytest_sessionstart(session):
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
