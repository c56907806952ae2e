"""Guesses on a pack, against a plain count, and what they attain where the answer is known."""

import numpy as np
import pandas as pd
import pytest

from riskweighted.disclosure.attacks import SHARES, best_scores, guesses, hits
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.comparison import identify_records
from riskweighted.disclosure.yardstick import named_without_release
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import make_world

RNG = np.random.default_rng(30)
N, L = 60, 5
DATA = pd.DataFrame(
    {
        "region": RNG.integers(0, 6, N),
        "income": np.where(RNG.random(N) < 0.1, np.nan, np.exp(RNG.normal(10, 0.5, N)).round(-2)),
        "debt": np.where(RNG.random(N) < 0.3, -8.0, RNG.normal(0, 100, N).round()),
        "smokes": RNG.choice(["yes", "no", "at times"], N),
    }
)
SCENARIOS = [
    Scenario(known="region", synthetic="income"),
    Scenario(known="region", synthetic="debt", codes={"debt": -8.0}, min_radius=10.0),
    Scenario(known="region", synthetic="smokes"),
    Scenario(known="region", synthetic=["income", "smokes"]),
    Scenario(known="region", synthetic=["income", "debt"], codes={"debt": -8.0}, min_radius=10.0),
]


def drawn(coding: Coding) -> np.ndarray:
    """Copies of other records of the pattern, (V, n, L)."""
    frames = [
        DATA.groupby("region", group_keys=False).sample(frac=1, random_state=copy)
        for copy in range(L)
    ]
    at = np.argsort(DATA["region"].to_numpy(), kind="stable")
    made = np.empty((len(coding.names), N, L))
    for copy, frame in enumerate(frames):
        made[:, at, copy] = coding.numbers(frame)[
            :, np.argsort(frame["region"].to_numpy(), kind="stable")
        ]
    return made


@pytest.mark.quick
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: "+".join(scenario.synthetic))
def test_guesses_attain_what_the_best_of_a_plain_search_attains(scenario: Scenario) -> None:
    world = make_world(DATA, scenario)
    coding, patterns = Coding(world), world.patterns.codes
    values = drawn(coding)
    made, _ = guesses(coding, values, patterns)
    lower, upper = coding.ends(values)

    def share(at: np.ndarray, rows: np.ndarray | list[int]) -> float:
        return float(
            np.mean(
                np.all(
                    [(lower[v][rows] <= at[v]) & (at[v] <= upper[v][rows]) for v in range(len(at))],
                    axis=0,
                )
            )
        )

    for row in range(N):
        mates = np.flatnonzero(patterns == patterns[row])
        candidates = [lower[:, i, copy] for i in mates for copy in range(L)]
        mode = max(candidates, key=lambda at: share(at, mates))
        for k, weight in enumerate(SHARES):
            worth = [
                weight * share(at, [row]) + (1 - weight) * share(at, mates)
                for at in (*lower[:, row].T, mode, made[k, :, row])
            ]
            assert worth[-1] == pytest.approx(max(worth))


def test_an_attack_that_sees_every_copy_near_names_everybody() -> None:
    rng = np.random.default_rng(1)
    n = 400
    data = pd.DataFrame({"region": rng.integers(0, 8, n), "income": np.exp(rng.normal(10, 0.7, n))})
    world = make_world(data, Scenario(known="region", synthetic="income"))
    coding = Coding(world)
    noisy = (data["income"].to_numpy()[:, None] * np.exp(rng.normal(0, 0.2, (n, 20))))[None]
    named = best_scores(hits(coding, noisy, world.patterns.codes), rng.random(n) < 0.5)
    assert named.mean() >= 0.99
    assert 0.66 < coding.near(noisy.transpose(0, 2, 1)).mean() < 0.74


def test_no_release_names_the_share_within_reach_of_the_mode() -> None:
    rng = np.random.default_rng(2)
    n = 4_000
    region = rng.integers(0, 2, n)
    data = pd.DataFrame(
        {
            "region": region,
            "income": np.where(
                rng.random(n) < 0.4, 100.0 * (1 + region), rng.uniform(1_000, 1e6, n)
            ),
        }
    )
    world = make_world(data, Scenario(known="region", synthetic="income", radius=0.001))
    named = named_without_release(Coding(world), world.patterns.codes, rng)
    assert named.mean() == pytest.approx(0.4, abs=0.03)


def test_few_records_of_a_pattern_are_pulled_to_the_mode_of_all() -> None:
    data = pd.DataFrame(
        {"region": [0] * 200 + [1] * 3, "level": ["a"] * 150 + ["b"] * 50 + ["b", "b", "a"]}
    )
    world = make_world(data, Scenario(known="region", synthetic="level"))
    named = named_without_release(Coding(world), world.patterns.codes, np.random.default_rng(3))
    assert named.tolist() == (data["level"] == "a").tolist()


def test_records_are_named_forward_and_reversed() -> None:
    near, without = np.array([20] * 10 + [3] * 90), np.array([2] * 10 + [3] * 90)
    more, fewer = identify_records(near, without, 20)
    assert (more.sum(), fewer.sum()) == (10, 0)
    assert [found.sum() for found in identify_records(without, near, 20)] == [0, 10]
