"""What long work tells while it runs: a bar per step on a terminal, a line per step in a log, or
nothing.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

from riskweighted.common.html_repr import in_notebook

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "Advance",
    "Forward",
    "LogLines",
    "Quiet",
    "Reporter",
    "Steps",
    "Stretches",
    "TerminalBars",
    "default_reporter",
    "duration",
]

Advance = Callable[[int, int], None]  # done, in all
_EVERY, _EVERY_IN_DETAIL = 60.0, 5.0  # seconds between two lines of one step
_LOOKS = 20  # times in between at which it is seen whether a line is due
_NEARLY = 0.999  # of a step that has not ended
_FINE = 100_000  # parts that stretches are told in
_STAMP = "%Y-%m-%d %H:%M:%S"


class Steps:
    """Tells of steps as they are done, ``total`` in all."""

    def __init__(self, advance: Advance | None, total: int) -> None:
        self.advance, self.total, self.done = advance, total, 0

    def __call__(self) -> None:
        """One more is done."""
        self.done += 1
        if self.advance is not None:
            self.advance(self.done, self.total)


class Stretches:
    """Tells of work in stretches, of which nobody knows how many there will be: each has half of
    what is left, the last one all.
    """

    def __init__(self, advance: Advance | None) -> None:
        self.advance, self.end, self.done = advance, 0, 0

    def begin(self, *, last: bool = False) -> Advance:
        """The next stretch, to be told how much of it is done; those before it have ended."""
        begun, width = self.end, (_FINE - self.end) // (1 if last else 2)
        self.end = begun + width

        def advance(done: int, total: int) -> None:
            self.done = max(self.done, begun + width * min(done, total) // max(total, 1))
            if self.advance is not None:
                self.advance(self.done, _FINE)

        return advance


class Reporter(Protocol):
    """Tells which step runs and how far it is."""

    def step(self, description: str) -> AbstractContextManager[Advance]:
        """Enter a step; the value is called with (done, in all)."""


class Quiet:
    """Says nothing."""

    @contextmanager
    def step(self, description: str) -> Iterator[Advance]:
        """Nothing is shown."""
        yield lambda done, total: None


class Forward:
    """How far a step is, which never falls: of work that begins again nothing is told until it is
    farther than it was.
    """

    def __init__(self, advance: Advance | None = None) -> None:
        self.advance, self.done, self.total = advance, 0, 0

    def __call__(self, done: int, total: int) -> None:
        """Take in that so much of all is done."""
        if done * max(self.total, 1) >= self.done * max(total, 1):
            self.done, self.total = done, total
            if self.advance is not None:
                self.advance(done, total)

    @property
    def share(self) -> float:
        """How far it is, of 1, which it is not before it has ended."""
        return min(self.done / max(self.total, 1), _NEARLY)

    def end(self) -> None:
        """All is done."""
        if not 0 < self.total == self.done:
            self(max(self.total, 1), max(self.total, 1))


class TerminalBars:
    """One bar per step, with elapsed time and an estimate of what is left; 100 % is shown of what
    has ended.
    """

    def __init__(self, console: "Console") -> None:
        self.console = console

    @contextmanager
    def step(self, description: str) -> Iterator[Advance]:
        """Show a bar while the step runs; it pulses until the first report."""
        from rich.progress import (
            BarColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        shown = ("{task.description}", "{task.fields[percent]}", "left")
        words, percent, left = (TextColumn(text) for text in shown)
        with Progress(
            words,
            BarColumn(),
            percent,
            TimeElapsedColumn(),
            left,
            TimeRemainingColumn(),
            console=self.console,
        ) as bars:
            task, forward = bars.add_task(description, total=None, percent=""), Forward()

            def advance(done: int, total: int) -> None:
                forward(done, total)
                bars.update(
                    task,
                    completed=forward.share,
                    total=1.0,
                    percent=f"{int(100 * forward.share):3d}%",
                )

            yield advance
            bars.update(task, completed=1.0, total=1.0, percent="100%")


class LogLines:
    """Plain lines with the time of day: one when a step is done, one a minute while it runs, none
    of a step that fails.

    With `detail` also when a step begins, how far it is every five seconds, and the most memory
    that the process has held.
    """

    def __init__(self, write: Callable[[str], object], *, detail: bool = False) -> None:
        self.write, self.detail = write, detail
        self.every = _EVERY_IN_DETAIL if detail else _EVERY

    @contextmanager
    def step(self, description: str) -> Iterator[Advance]:
        """Write lines while the step runs, also where it says nothing of how far it is."""
        began, forward = time.monotonic(), Forward()
        told, ended, one = [began], threading.Event(), threading.Lock()
        if self.detail:
            self._line(f"{description}: begins")

        def tell() -> None:
            with one:
                if not ended.is_set() and time.monotonic() - told[0] >= self.every:
                    told[0] = time.monotonic()
                    # totals differ from part to part
                    far = f"{min(round(100 * forward.share), 99)} %" if forward.total else "at work"
                    self._line(f"{description}: {far}, {duration(told[0] - began)}")

        def advance(done: int, total: int) -> None:
            forward(done, total)
            tell()

        def keep_telling() -> None:
            while not ended.wait(self.every / _LOOKS):
                tell()

        thread = threading.Thread(target=keep_telling, daemon=True)
        thread.start()
        try:
            yield advance
        finally:
            ended.set()
            thread.join()
        self._line(f"{description}: done in {duration(time.monotonic() - began)}{self._held()}")

    def _line(self, text: str) -> None:
        self.write(f"{time.strftime(_STAMP)} {text}")

    def _held(self) -> str:
        if not self.detail:
            return ""
        from riskweighted.common.resources import memory_peak, size

        return f", {size(memory_peak())} at the peak"


def default_reporter() -> Reporter:
    """Of a call that names none: a line a step in a notebook, where work takes its time, and
    nothing elsewhere.
    """
    return LogLines(print) if in_notebook() else Quiet()


def duration(seconds: float) -> str:
    """Seconds, or minutes from 90 seconds on."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
