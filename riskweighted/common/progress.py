"""What long work tells while it runs: a bar per step on a terminal, a line per step in a log, or nothing."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

from riskweighted.common.notebook import in_notebook

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["LogLines", "Quiet", "Reporter", "TerminalBars", "default_reporter", "duration"]

Advance = Callable[[int, int], None]  # done, in all
_EVERY, _EVERY_IN_DETAIL = 60.0, 10.0  # seconds between two lines of one step
_STAMP = "%Y-%m-%d %H:%M:%S"


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


class TerminalBars:
    """One bar per step, with elapsed time and an estimate of what is left."""

    def __init__(self, console: "Console") -> None:
        self.console = console

    @contextmanager
    def step(self, description: str) -> Iterator[Advance]:
        """Show a bar while the step runs; it pulses until the first report."""
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=self.console) as bars:
            task = bars.add_task(description, total=None)
            yield lambda done, total: bars.update(task, completed=done, total=total)
            total = bars.tasks[0].total or 1
            bars.update(task, completed=total, total=total)


class LogLines:
    """Plain lines with the time of day: one when a step is done, one a minute while it runs, none of a step that fails.

    With `detail` also when a step begins, how far it is every ten seconds, and the most memory that the process has held.
    """

    def __init__(self, write: Callable[[str], object], *, detail: bool = False) -> None:
        self.write, self.detail = write, detail
        self.every = _EVERY_IN_DETAIL if detail else _EVERY

    @contextmanager
    def step(self, description: str) -> Iterator[Advance]:
        """Write lines while the step runs."""
        began = told = time.monotonic()
        if self.detail:
            self._line(f"{description}: begins")

        def advance(done: int, total: int) -> None:
            nonlocal told
            if time.monotonic() - told >= self.every:
                told = time.monotonic()
                self._line(f"{description}: {done} of {total}, {duration(told - began)}")

        yield advance
        self._line(f"{description}: done in {duration(time.monotonic() - began)}{self._held()}")

    def _line(self, text: str) -> None:
        self.write(f"{time.strftime(_STAMP)} {text}")

    def _held(self) -> str:
        if not self.detail:
            return ""
        from riskweighted.common.room import memory_peak, size

        return f", {size(memory_peak())} at the peak"


def default_reporter() -> Reporter:
    """Of a call that names none: a line a step in a notebook, where work takes its time, and nothing elsewhere."""
    return LogLines(print) if in_notebook() else Quiet()


def duration(seconds: float) -> str:
    """Seconds, or minutes from 90 seconds on."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
