"""Ctrl-C that somebody swallowed or made another error of.

C and Rust code print the exception of a callback and go on, Python does so in `__del__`, and numba
makes a SystemError of it.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["interrupts_kept", "raise_interrupt"]


def raise_interrupt(error: BaseException) -> None:
    """Raise KeyboardInterrupt if that is what an error comes of; for who makes something else of
    whatever is raised.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        cause = cause.__cause__ or cause.__context__


@contextmanager
def interrupts_kept() -> Iterator[Callable[[], None]]:
    """Raise KeyboardInterrupt at the end of the block if one was signalled in it, whoever swallowed
    it, and in the place of any error.

    The value, called inside the block, does so at once. Elsewhere than in the main thread, or where
    Ctrl-C is ignored, nothing is done.
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
    except Exception as error:
        raise_interrupt(error)
        if signalled:
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, before)
