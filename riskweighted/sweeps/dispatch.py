"""Which worker computes which group: those that share a fit or a compiled model go where it is.

Groups of one model and seed (a family) share the unweighted fit, its datasets and its risk, so a
family stays with one worker as long as another one has something else to begin. A model is compiled
by one worker; others join in where the groups that are left are worth it.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import TypeAlias

from riskweighted.sweeps.cell_work import run_group
from riskweighted.sweeps.cells import CellGroup, Outcome, Stored, describe
from riskweighted.sweeps.scheduling import Pool, result_of

__all__ = ["run_groups"]

Family: TypeAlias = tuple[str, int]
_START = 3.0  # seconds until a process has loaded what it needs


def run_groups(pool: Pool, groups: Sequence[CellGroup]) -> Iterator[Outcome]:
    """Run groups as workers are free, each after the fits that it needs, whose posteriors are kept
    while others need them.
    """
    board = _Board(groups)
    running: dict[Future[Outcome], tuple[CellGroup, str]] = {}
    while board.waiting or running:
        for group, posteriors, worker in board.assign(
            pool.workers(), pool.ahead, Counter(worker for _, worker in running.values())
        ):
            running[pool.submit(run_group, group, posteriors, worker=worker)] = group, worker
        for done in wait(running, return_when=FIRST_COMPLETED).done:
            (group, _), outcome = running.pop(done), result_of(done)
            if isinstance(outcome, Exception):
                outcome = Outcome.failed(group, describe(outcome))
            yield outcome
            yield from board.finish(group, outcome)


class _Board:
    """Groups that wait, of them those that are ready by family; at which workers families and
    models are; how long groups take.
    """

    def __init__(self, groups: Sequence[CellGroup]) -> None:
        self._groups = groups
        self.waiting = len(groups)
        self._posteriors: dict[str, Stored | None] = {}
        self._missing = [len(group.first.needed) for group in groups]
        self._dependents: dict[str, list[int]] = defaultdict(list)
        self._unbegun: dict[str, dict[Family, None]] = defaultdict(dict)  # by model, in order
        self._ready: dict[Family, deque[int]] = defaultdict(deque)
        self._home: dict[Family, str] = {}  # of families that were begun and are not done
        self._at: dict[str, set[str]] = defaultdict(set)
        self._left = Counter(
            what for group in groups for what in (group.first.model, group.first.family)
        )
        # by model, and the seconds that they took, and their evaluation, beside compiling
        self._fits: Counter[str] = Counter()
        self._seconds: dict[str, float] = defaultdict(float)
        self._compiling: dict[str, float] = defaultdict(float)
        for number, group in enumerate(groups):
            self._unbegun[group.first.model][group.first.family] = None
            for key in group.first.needed:
                self._dependents[key].append(number)
            if not group.first.needed:
                self._ready[group.first.family].append(number)
        self._uses = Counter({key: len(places) for key, places in self._dependents.items()})

    def assign(
        self, workers: Sequence[str], ahead: int, loads: Counter[str]
    ) -> Iterator[tuple[CellGroup, dict[str, Stored | None], str]]:
        """Groups for workers that hold fewer than `ahead`, those that hold least first; one at
        least where nobody is at work.

        A worker begins no family ahead: it can have what another one began when it has nothing to
        do.
        """
        idle = not loads
        for level in range(ahead):
            for worker in workers:
                if loads[worker] == level:
                    family = self._own(worker) or (
                        self._next(worker, workers) if level == 0 else None
                    )
                    if family is not None:
                        loads[worker] += 1
                        yield self._take(family, worker)
        if idle and not loads and self.waiting:
            yield self._take(
                next(family for family, places in self._ready.items() if places), workers[0]
            )

    def _take(self, family: Family, worker: str) -> tuple[CellGroup, dict[str, Stored | None], str]:
        group = self._groups[self._ready[family].popleft()]
        posteriors = {key: self._posteriors[key] for key in group.first.needed}
        self._unbegun[family[0]].pop(family, None)
        self._home.setdefault(family, worker)
        self._leave(group)
        self._at[family[0]].add(worker)
        return group, posteriors, worker

    def _leave(self, group: CellGroup) -> None:
        """The group waits no longer, nor do the fits for it."""
        self.waiting -= 1
        for what in (group.first.model, group.first.family):
            self._left[what] -= 1
        if not self._left[group.first.family]:
            self._home.pop(group.first.family, None)
        for key in group.first.needed:
            self._uses[key] -= 1
            if not self._uses[key]:
                self._posteriors.pop(key, None)

    def _own(self, worker: str) -> Family | None:
        """A family of this worker with a group that is ready."""
        return next(
            (
                family
                for family, home in self._home.items()
                if home == worker and self._ready[family]
            ),
            None,
        )

    def _next(self, worker: str, workers: Sequence[str]) -> Family | None:
        """A family for a worker that has nothing else to do: one that nobody began, or another
        one's.

        Of models that others have compiled and this worker has not, only where that is worth it.
        """
        compiled = [model for model, at in self._at.items() if worker in at]
        free = [model for model in self._unbegun if not self._at[model] & set(workers)]
        worth = [
            model for model in self._at if self._worth(model, len(self._at[model] & set(workers)))
        ]
        for models in ([*compiled, *free], worth):
            unbegun = next((family for model in models for family in self._unbegun[model]), None)
            if unbegun is not None:
                return unbegun
            others = [
                family for family in self._home if family[0] in models and self._ready[family]
            ]
            if others:
                return max(others, key=lambda family: len(self._ready[family]))
        return None

    def _worth(self, model: str, at: int) -> bool:
        """Whether one more worker saves more time than it compiles; not known before a first fit of
        the model is done.
        """
        done = self._fits[model]
        return done > 0 and self._left[model] * self._seconds[model] / done >= at * (at + 1) * (
            _START + self._compiling[model]
        )

    def finish(self, group: CellGroup, outcome: Outcome) -> Iterator[Outcome]:
        """Note what became of a group: those that waited for its fit are ready, or have no result
        either.
        """
        model = group.first.model
        if group.first.fits_model:
            self._fits[model] += 1
            self._seconds[model] += outcome.seconds - outcome.compiling
            self._compiling[model] = max(self._compiling[model], outcome.compiling)
        places = self._dependents.pop(group.first.fit, [])
        if outcome.failure is not None:
            yield from self._fail(places, outcome.failure)
            return
        if self._uses[group.first.fit]:
            self._posteriors[group.first.fit] = outcome.posterior
        for number in places:
            self._missing[number] -= 1
            if not self._missing[number]:
                self._ready[self._groups[number].first.family].append(number)

    def _fail(self, places: Sequence[int], reason: str) -> Iterator[Outcome]:
        """The groups at these places will have no result, nor those that wait for them."""
        for number in places:
            if self._missing[number] > 0:
                self._missing[number] = 0
                group = self._groups[number]
                self._leave(group)
                outcome = Outcome.failed(group, f"a fit that it needs failed: {reason}")
                yield outcome
                yield from self._fail(
                    self._dependents.pop(group.first.fit, []), str(outcome.failure)
                )
