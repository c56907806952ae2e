"""What cells of a sweep have in common is computed once, changes nothing, and is not kept without
bound.
"""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from riskweighted.evaluation import evaluate as evaluating
from riskweighted.intruder.world import World
from riskweighted.runs import work as working
from riskweighted.runs.memo import Memo, bytes_of
from riskweighted.runs.study import make_study
from riskweighted.sampling import compilation
from riskweighted.sequence.fit import Fit
from riskweighted.sweeps import cell_work, sweep as sweeping
from riskweighted.sweeps.settings_grid import Sweep
from riskweighted.sweeps.sweep import sweep

pytestmark = pytest.mark.filterwarnings("ignore")
SETTINGS = {
    "data": {"path": "households.csv"},
    "scenario": {"known": "group", "synthetic": "income", "radius": 0.3},
    "synthesizer": {"name": "linear-regression", "formula": "income ~ group", "transform": "log"},
    "weights": {"schemes": ["unweighted", "marginal", "uniform(c=0.5)"]},
    "sampling": {"draws": 60, "tune": 60, "chains": 2},
    "evaluation": {"resamples": 20},
    "seed": 7,
}
GRID = {"scenario.radius": [0.3, 0.2, 0.1], "release.L": [3, 2]}
REPETITIONS, RADII, LS = 2, 3, 2


@pytest.fixture(scope="module")
def confidential():
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b"], 60)
    return pd.DataFrame(
        {"group": group, "income": np.exp(3 + (group == "b") + rng.normal(size=60))}
    )


@pytest.fixture
def calls(monkeypatch):
    """How often things were computed, by what and of what."""
    counted: Counter = Counter()

    def count(owner, name, what):
        original = getattr(owner, name)

        def counting(*arguments, **settings):
            counted[what(*arguments, **settings)] += 1
            return original(*arguments, **settings)

        monkeypatch.setattr(owner, name, counting)

    checking = sweeping.check_study

    def check(*arguments, **settings):  # before any worker: what it makes to check is not a cell's
        before = counted.copy()
        checked = checking(*arguments, **settings)
        counted.clear()
        counted.update(before, checks=1)
        return checked

    monkeypatch.setattr(sweeping, "check_study", check)
    count(working, "prepare_sequence", lambda *_: "prepared")
    count(working, "make_world", lambda *_: "patterns")
    count(
        working,
        "world_weights",
        lambda world, scheme, **_: ("weights", scheme, world.scenario.radius),
    )
    count(
        working,
        "find_mechanism",
        lambda label, fit, world, settings, seed: (
            "mechanism",
            label,
            world.scenario.radius,
            seed,
            fit.alpha.sum(),
        ),
    )
    count(working, "mean_risk_and_matches", lambda paired: "scores of the baseline")
    count(evaluating, "mean_risk_and_matches", lambda paired: "scores")
    count(World, "pair", lambda *_: "paired")
    count(
        evaluating,
        "measured_rows",
        lambda context, table, names, ours=True: (
            (table, context.label) if ours else "measures of other packages"
        ),
    )
    count(
        Fit,
        "synthetic",
        lambda fit, count, random_seed: (
            "datasets",
            count,
            random_seed,
            fit.alpha.sum(),
        ),
    )
    count(compilation.CompiledModel, "sample", lambda *_, **__: "fits")
    attributed, told = working.attribution_of_label, {}

    def once(label, *given):  # what is given away takes longest, and only how often is counted
        if label not in told:
            told[label] = attributed(label, *given)
        return told[label]

    monkeypatch.setattr(working, "attribution_of_label", once)
    count(
        working,
        "attribution_of_label",
        lambda label, study, *_: (
            "given away",
            label,
            study.scenario.radius,
            study.seed,
            study.release.L,
        ),
    )
    return counted


@pytest.mark.slow
def test_nothing_is_computed_twice(tmp_path, confidential, calls):
    plan = Sweep(make_study(SETTINGS), GRID, REPETITIONS)
    done = sweep(plan, tmp_path / "out", confidential=confidential, workers=1)
    assert len(done.failures) == 0
    fits = REPETITIONS * (1 + RADII + 1)  # unweighted and uniform weights know no radius
    assert calls["fits"] == fits
    assert (calls["prepared"], calls["patterns"]) == (1, 1)
    assert calls["checks"] == 1  # a radius is right or wrong whatever the data
    once = {
        key: times
        for key, times in calls.items()
        if isinstance(key, tuple) and key[0] not in ("utility", "risk")
    }
    assert set(once.values()) == {1}
    assert sum(key[0] == "datasets" for key in once) == fits * LS
    assert sum(key[0] == "mechanism" for key in once) == REPETITIONS * RADII * 3
    assert sum(key[0] == "weights" for key in once) == 1 + RADII + 1
    assert sum(key[0] == "given away" for key in once) == REPETITIONS * RADII * 3 * LS
    # the data as their own release, whatever the seed
    assert calls["paired"] == fits * LS + 1
    # the data, and as their own release
    assert calls["scores"] == REPETITIONS * RADII * 3 * LS + RADII + RADII
    assert calls["scores of the baseline"] == 0  # they are those of the unweighted cells
    assert calls["utility", "marginal"] == REPETITIONS * RADII * LS
    assert calls["utility", "unweighted"] == calls["utility", "uniform(c=0.5)"] == REPETITIONS * LS
    assert calls["utility", "confidential"] == calls["utility", "itself"] == REPETITIONS


@pytest.mark.long
@pytest.mark.slow
def test_what_is_shared_changes_no_result(tmp_path, confidential, monkeypatch):
    """The slow twin keeps nothing, so that every cell computes all that it needs."""
    study = make_study(
        SETTINGS | {"weights": {"schemes": ["unweighted", "marginal", "reweighted"]}}
    )
    grid = {
        "scenario.radius": [0.3, 0.1],
        "evaluation.threshold": [0.5, 0.3],
        "release.L": [2],
        "top_coding.quantile": [0.9],
    }
    fast = sweep(Sweep(study, grid), tmp_path / "fast", confidential=confidential, workers=1)
    monkeypatch.setattr(cell_work, "_memo", Memo(room=0, few=0))
    slow = sweep(Sweep(study, grid), tmp_path / "slow", confidential=confidential, workers=1)
    assert (len(fast.failures), len(slow.failures)) == (0, 0)
    for name in ("results.csv", "definitions.csv"):
        assert (fast.folder / name).read_bytes() == (slow.folder / name).read_bytes()


def test_nothing_is_kept_when_a_sweep_has_ended(tmp_path, confidential):
    sweep(
        Sweep(make_study(SETTINGS), {"release.L": [2]}),
        tmp_path / "out",
        confidential=confidential,
        workers=1,
    )
    assert (len(cell_work._memo), cell_work._memo.held) == (0, 0)


def test_the_memo_keeps_what_was_used_last_within_its_room():
    memo, made = Memo(room=1000, few=2), []

    def once(key, count):
        return memo.once(key, lambda: made.append(key) or np.zeros(count))

    for key in ("a", "b", "c"):
        once(key, 40)  # 320 bytes each
    once("a", 40)
    once("d", 40)  # "b" was used longest ago
    assert [key in memo for key in "abcd"] == [True, False, True, True]
    assert (made, memo.held) == (["a", "b", "c", "d"], 960)
    once("large", 1000)
    once("larger", 2000)  # the last few stay, whatever they weigh
    assert (len(memo), memo.held) == (2, 8 * 3000)
    assert memo.once("larger", lambda: None) is not None
    memo.clear()
    assert (len(memo), memo.held) == (0, 0)


def test_bytes_are_those_of_arrays_without_the_confidential_data(confidential):
    assert (
        bytes_of(np.zeros(10))
        == bytes_of(pd.Series(np.zeros(10))) - bytes_of(pd.Series(np.zeros(0)))
        == 80
    )
    assert bytes_of([np.zeros(10), {"a": np.zeros(5)}]) == pytest.approx(120, abs=300)
    model = working.prepare_sequence(make_study(SETTINGS).make_synthesizer(), confidential)
    assert 0 < bytes_of(model) < 20 * 60 * 8
