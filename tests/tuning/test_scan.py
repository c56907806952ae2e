"""Searches along a path whose targets and losses are known, and the losses themselves."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.intruder.world import make_world
from riskweighted.measures.measure import Estimate
from riskweighted.tuning.scan import Path, Scan, ScannedSetting
from riskweighted.tuning.search import _Search
from riskweighted.tuning.tuning_settings import TuningSettings, loss_of
from riskweighted.tuning.tuning_tables import SampledSetting
from riskweighted.utility.regressions import checked_regression


def scan_of(target, loss, points=(0, 0.2, 0.4, 0.6, 0.8, 1.0), error=0.0):
    scored = []

    def score(setting, near):
        scored.append(setting)
        return ScannedSetting(
            setting, Estimate(target(setting), 0.0), Estimate(loss(setting), error), np.zeros(1)
        )

    scan = Scan(Path("mix", "t", points), tuple(score(setting, None) for setting in points), score)
    scored.clear()
    return scan, scored


def test_the_crossing_is_found_in_few_steps_from_below():
    scan, scored = scan_of(lambda t: 0.06 * np.exp(-2 * t**3), lambda t: t)
    found = scan.meet(0.03)
    exact = (np.log(2) / 2) ** (1 / 3)
    assert scan.monotone
    assert exact <= found.setting < exact + 0.003
    assert found.target.value <= 0.03
    assert len(scored) <= 5
    assert found.setting == float(f"{found.setting:.4g}")


def test_a_family_that_steps_ends_at_the_first_step_that_meets_the_target():
    scan, scored = scan_of(lambda t: 0.06 if t < 0.37 else 0.02, lambda t: t)
    assert scan.meet(0.03).setting == pytest.approx(0.37, abs=0.02)
    assert len(scored) <= 10


def test_a_target_that_rises_again_leaves_the_cheapest_point_that_meets_it():
    scan, _ = scan_of(lambda t: 0.06 - 0.2 * t * (0.8 - t), lambda t: abs(t - 0.6), error=1.0)
    assert not scan.monotone
    assert scan.rise == 0.6
    assert scan.meet(0.045).setting == 0.6
    assert scan.meet(0.02) is None


def test_a_stronger_setting_is_taken_where_it_costs_less_by_more_than_chance():
    scan, _ = scan_of(lambda t: 0.06 - 0.05 * t, lambda t: (t - 0.8) ** 2, error=0.001)
    assert scan.meet(0.05).setting == 0.8
    unsure, _ = scan_of(lambda t: 0.06 - 0.05 * t, lambda t: (t - 0.8) ** 2, error=1.0)
    assert unsure.meet(0.05).setting == pytest.approx(0.2, abs=0.02)


@pytest.fixture(scope="module")
def incomes():
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b"], 500)
    return pd.DataFrame(
        {"group": group, "income": np.exp(3 + 0.5 * (group == "b") + 0.5 * rng.normal(size=500))}
    )


def frames(incomes, shift, count=20):
    rng, moved = np.random.default_rng(2), np.exp(shift * (incomes["group"] == "b"))
    return [
        incomes.assign(income=incomes["income"] * moved * np.exp(0.1 * rng.normal(size=500)))
        for _ in range(count)
    ]


def test_losses_are_those_of_the_evaluation(incomes):
    scenario = rw.Scenario(known=["group"], synthetic="income", radius=0.2)
    world = make_world(incomes, scenario)
    analysis = checked_regression(incomes, "income ~ group", "group[T.b]", ["income"])
    near, far = frames(incomes, 0.0), frames(incomes, 0.05)
    regression = {"regression": "income ~ group", "coefficient": "group[T.b]"}
    scored = rw.evaluate(
        incomes,
        {"far": far},
        scenario,
        settings=rw.EvaluationSettings(**regression, resamples=20),
        random_seed=1,
    )
    rows = scored.utility[scored.utility["label"] == "far"].set_index("key")
    distance, overlap = loss_of("U_m", world, None), loss_of("overlap", world, analysis)
    assert distance.measure(far).value == pytest.approx(rows.loc["ecdf-maximum", "value"])
    assert overlap.measure(far).value == pytest.approx(1 - rows.loc["coefficient", "overlap"])
    for loss in (distance, overlap):
        assert loss.measure(near).value < loss.measure(far).value
        assert 0 < loss.measure(near).error < 0.2
    assert overlap.measure(frames(incomes, 1.5)).value > 1  # disjoint: how far apart still counts


@pytest.mark.parametrize(
    ("measured", "fitted", "best"),
    [
        # far dearer than at the mode: the next family is sampled too
        ({"power": 0.34, "drop-riskiest": 0.11}, ["power", "drop-riskiest"], "drop-riskiest"),
        ({"power": 0.34, "drop-riskiest": 0.50}, ["power", "drop-riskiest"], "power"),
        ({"power": 0.08, "drop-riskiest": 0.11}, ["power"], "power"),  # about as its mode said
    ],
)
def test_a_fit_far_dearer_than_its_mode_is_compared_with_the_next_family(
    monkeypatch, measured, fitted, best
):
    def sampled(search, path, setting):
        return SampledSetting(
            path.family,
            setting,
            None,
            Estimate(0.0295, 0.0001),
            Estimate(measured[path.family], 0.001),
        )

    monkeypatch.setattr(_Search, "_fitted", sampled)
    search = _Search(*[None] * 3, TuningSettings("isolated-risk", 0.03), *[None] * 4)
    scans = {family: SimpleNamespace(path=SimpleNamespace(family=family)) for family in measured}
    points = {
        family: ScannedSetting(1.0, Estimate(0.029, 0), Estimate(loss, 0), None)
        for family, loss in {"power": 0.07, "drop-riskiest": 0.10}.items()
    }
    found = search._sampled(scans, points)
    assert [one.scheme for _, one in found] == fitted
    assert min(found, key=lambda one: search._worth(one[1]))[0].family == best
