"""Tasks of a study by parts on a Dask cluster: of every bucket, or of the whole file."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from riskweighted.common.errors import InputError
from riskweighted.common.progress import Reporter
from riskweighted.parts.gather import OFTEN_FOR_WANT_OF_MEMORY
from riskweighted.parts.job import Job

__all__ = ["Tasks"]

T = TypeVar("T")


@dataclass(frozen=True)
class Tasks:
    """Where tasks of a job are done, and who is told how far they are."""

    client: Any = field(repr=False)
    job: Job
    reporter: Reporter = field(repr=False)

    def each(
        self, what: str, function: Callable[..., T], *arguments: Any
    ) -> Iterator[tuple[int, T]]:
        """What a function of the job, a bucket's number and arguments gives of every bucket, as
        they come.
        """
        return self.done(
            what, [(function, self.job, number, *arguments) for number in self.job.numbers]
        )

    def done(
        self, what: str, tasks: Sequence[tuple[Any, ...]], at_once: int | None = None
    ) -> Iterator[tuple[int, Any]]:
        """What tasks give by their place, as they come; `at_once`: how many at most are done at the
        same time.
        """
        from distributed import KilledWorker, as_completed

        waiting = list(enumerate(tasks))[::-1]
        futures: dict[Any, int] = {}

        def submit(count: int) -> list[Any]:
            for _ in range(min(count, len(waiting))):
                place, task = waiting.pop()
                futures[self.client.submit(*task, pure=False)] = place
            return list(futures)[-count:]

        with self.reporter.step(what) as advance:
            try:
                coming = as_completed(submit(at_once or len(tasks)), loop=self.client.loop)
                for done, future in enumerate(coming, 1):
                    place, result = futures.pop(future), future.result()
                    future.release()
                    if waiting:
                        coming.update(submit(1))
                    advance(done, len(tasks))
                    yield place, result
            except KilledWorker:
                raise InputError(OFTEN_FOR_WANT_OF_MEMORY.format(what)) from None
            finally:
                self.client.cancel(list(futures))
