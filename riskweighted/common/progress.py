"""What long work tells while it runs: a bar per step on a terminal, nothing anywhere else."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Quiet", "Reporter", "TerminalBars", "reporter_for"]

Advance = Callable[[int, int], None]  # done, in all


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


def reporter_for(console: "Console") -> Reporter:
    """Bars on a terminal, silence in a pipe or a file."""
    return TerminalBars(console) if console.is_terminal else Quiet()
