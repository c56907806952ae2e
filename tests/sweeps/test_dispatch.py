"""Which worker computes which group: fits that others need come first, families and compiled models
stay where they are.
"""

from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np
import pytest

from riskweighted.runs.study import make_study
from riskweighted.sweeps.cells import Outcome, group_cells, identify
from riskweighted.sweeps.dispatch import run_groups
from riskweighted.sweeps.scheduling import Pool
from riskweighted.sweeps.settings_grid import Sweep, expand_grid

pytestmark = pytest.mark.quick

SETTINGS = {
    "data": {"path": "households.csv"},
    "scenario": {"known": "group", "synthetic": "income"},
    "synthesizer": {"name": "linear-regression", "formula": "income ~ group", "transform": "log"},
}
RADII = [0.3, 0.2, 0.1]
MODELS = {"synthesizer.formula": ["income ~ group", "income ~ 1", "income ~ 0 + group"]}


def groups_of(grid, repetitions):
    points = expand_grid(Sweep(make_study(SETTINGS), grid, repetitions))
    return group_cells([identify(point, "data", {}, whack_a_mole=True) for point in points], set())


@dataclass
class Workers:
    """Workers without work: of those that are busy the one whose task is over first is done next, a
    group costs `seconds`.
    """

    names: list[str]
    compiling: float
    seconds: float = 1.0
    log: list = field(default_factory=list)  # worker, group
    _free: dict = field(default_factory=dict)
    _compiled: set = field(default_factory=set)
    _due: list = field(default_factory=list)
    now: float = 0.0

    def submit(self, function, group, posteriors, worker):
        assert set(posteriors) == group.first.needed
        self.log.append((worker, group))
        compiling = (
            self.compiling
            if group.first.fits_model and (worker, group.first.model) not in self._compiled
            else 0.0
        )
        if group.first.fits_model:
            self._compiled.add((worker, group.first.model))
        end = self._free[worker] = (
            max(self._free.get(worker, 0.0), self.now) + self.seconds + compiling
        )
        done = Future()
        outcome = Outcome(
            {},
            {},
            group.first.fit if group.posterior else None,
            seconds=self.seconds + compiling,
            compiling=compiling,
        )
        self._due.append((end, len(self.log), done, outcome))
        return done

    def run(self, groups, monkeypatch):
        """All outcomes; time goes on whenever the dispatcher waits."""

        def first(running, return_when):
            end, *_ = earliest = min(self._due)
            self._due.remove(earliest)
            self.now = end
            earliest[2].set_result(earliest[3])
            return type("Done", (), {"done": {earliest[2]}})

        monkeypatch.setattr("riskweighted.sweeps.dispatch.wait", first)
        return list(run_groups(Pool(self.submit, lambda: self.names), groups))

    @property
    def compilations(self):
        return len(self._compiled)

    def at(self, what):
        """Workers by model or family of the groups that they computed."""
        found = {}
        for worker, group in self.log:
            found.setdefault(getattr(group.first, what), set()).add(worker)
        return found


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_every_group_is_computed_once_and_after_what_it_needs(monkeypatch, count):
    groups = groups_of({"scenario.radius": RADII} | MODELS, 5)
    workers = Workers(list("abcdefg"[:count]), compiling=10.0)
    assert len(workers.run(groups, monkeypatch)) == len(groups)
    assert {id(group) for _, group in workers.log} == {id(group) for group in groups}
    assert len(workers.log) == len(groups)


def test_one_model_begins_at_one_worker_and_another_one_joins_where_that_is_worth_it(monkeypatch):
    groups = groups_of({"scenario.radius": RADII}, 4)  # 4 x (1 + 1 + 2 x 3) groups
    alone = Workers(["a", "b"], compiling=100.0)
    alone.run(groups, monkeypatch)
    assert alone.compilations == 1
    assert alone.at("model") == {groups[0].first.model: {"a"}}
    both = Workers(["a", "b"], compiling=5.0)
    both.run(groups, monkeypatch)
    assert both.compilations == 2
    # until it is known how long compiling takes
    assert {worker for worker, _ in both.log[:2]} == {"a"}
    assert max(both.now, 5 + len(groups) / 2) < alone.now - 100 + 5  # it did save time


def test_families_stay_with_a_worker_while_there_are_others(monkeypatch):
    groups = groups_of({"scenario.radius": RADII}, 6)
    workers = Workers(["a", "b"], compiling=0.0)
    workers.run(groups, monkeypatch)
    split = sum(len(at) > 1 for at in workers.at("family").values())
    assert split <= 1  # the last one
    shares = np.bincount([worker == "a" for worker, _ in workers.log])
    assert shares.min() >= len(groups) / 3


def test_models_are_compiled_by_one_worker_each(monkeypatch):
    groups = groups_of({"scenario.radius": RADII} | MODELS, 2)
    workers = Workers(["a", "b", "c"], compiling=1000.0)
    workers.run(groups, monkeypatch)
    assert workers.compilations == 3
    assert sorted(min(at) for at in workers.at("model").values()) == ["a", "b", "c"]


def test_families_of_a_worker_that_went_away_are_taken_over(monkeypatch):
    groups = groups_of({"scenario.radius": RADII}, 2)
    workers = Workers(["a", "b"], compiling=1000.0)
    submit = workers.submit

    def leaving(*arguments, worker):
        if len(workers.log) == 3:
            workers.names = ["b"]
        return submit(*arguments, worker=worker)

    workers.submit = leaving
    assert len(workers.run(groups, monkeypatch)) == len(groups)
    assert {worker for worker, _ in workers.log[6:]} == {"b"}
