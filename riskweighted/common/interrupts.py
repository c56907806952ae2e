"""Ctrl-C that somebody swallowed: C and Rust code print the exception of a callback and go on, and Python does so in `__del__`."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["interrupts_kept"]


@contextmanager
def interrupts_kept() -> Iterator[Callable[[], None]]:
    """Raise KeyboardInterrupt at the end of the block if one was signalled in it, whoever swallowed it.

    The value, called inside the block, does so at once. Elsewhere than in the main thread, or where Ctrl-C is ignored,
    nothing is done.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield lambda: None
        return
    signalled: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        signalled.append(number)
        before(number, frame)

    def check() -> None:
        if signalled:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield check
        check()
    finally:
        signal.signal(signal.SIGINT, before)
