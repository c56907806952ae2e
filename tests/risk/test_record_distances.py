"""Distances to the closest records: by hand, against every pair, and what another sample of the
population has.
"""

import numpy as np
import pandas as pd
import pytest

from riskweighted import Scenario
from riskweighted.common.errors import InputError
from riskweighted.risk import record_distances
from riskweighted.risk.record_distances import closest_records

pytestmark = pytest.mark.quick

SCENARIO = Scenario(known=("sex", "region"), synthetic=("income", "job"), codes={"income": -8})


def population(n, seed):
    rng = np.random.default_rng(seed)
    income = np.round(rng.lognormal(3, 0.5, n), 1)
    income[rng.random(n) < 0.1] = -8
    income[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(["n", "s", "w", None], n),
            "income": income,
            "job": rng.choice(list("abc"), n),
        }
    )


def every_pair(one, other, confidential):
    """Gower's distance of METHODS section 7.2, pair by pair; (m, n)."""
    amounts = confidential["income"][confidential["income"] > 0]
    unit = np.quantile(amounts, 0.95) - np.quantile(amounts, 0.05)

    def status(value):
        return "missing" if np.isnan(value) else "code" if value == -8 else "amount"

    found = np.zeros((len(one), len(other)))
    for i, own in enumerate(one.itertuples()):
        for j, theirs in enumerate(other.itertuples()):
            unequal = sum(
                (getattr(own, name) or "none") != (getattr(theirs, name) or "none")
                for name in ("sex", "region", "job")
            )
            places = [
                value if status(value) == "amount" else amounts.median()
                for value in (own.income, theirs.income)
            ]
            found[i, j] = (
                unequal
                + (status(own.income) != status(theirs.income))
                + abs(places[0] - places[1]) / unit
            ) / 4
    return found


def plain(frame):
    return (
        frame.astype({"region": object}).where(frame.notna(), None).assign(income=frame["income"])
    )


def test_distances_are_those_of_every_pair():
    confidential, holdout = population(60, 1), population(25, 2)
    frames = [
        population(40, 3),
        pd.concat([population(20, 4), confidential.iloc[:10]], ignore_index=True),
    ]
    found = closest_records(confidential, frames, SCENARIO)
    assert (found.searched, found.compared) == (60, 0)
    rows = iter(found.records.itertuples())
    for number, frame in enumerate(frames, start=1):
        nearest = np.sort(every_pair(plain(frame), plain(confidential), confidential), axis=1)[
            :, :2
        ]
        for first, second in nearest:
            row = next(rows)
            assert row.dataset == number
            assert row.distance == pytest.approx(first, abs=1e-12)
            assert row.ratio == pytest.approx(first / second if second > 1e-12 else 1.0, abs=1e-9)
    copied = [
        (found.records.loc[found.records["dataset"] == number, "distance"] == 0).mean()
        for number in (1, 2)
    ]
    assert found.copies == pytest.approx(np.mean(copied))
    assert copied[1] >= 1 / 3
    # as many: nothing is drawn
    whole = closest_records(confidential, frames, SCENARIO, holdout=pd.concat([holdout] * 3)[:60])
    assert whole.compared == 60
    distances = [
        every_pair(plain(pd.concat(frames)), plain(file), confidential).min(axis=1)
        for file in (confidential, holdout)
    ]
    expected = np.where(np.isclose(*distances, atol=1e-12), 0.5, distances[0] < distances[1])
    assert whole.records["closer"].tolist() == expected.tolist()


def test_a_number_alone_by_hand():
    confidential = pd.DataFrame({"y": np.arange(101.0)})  # 5 % and 95 % quantiles: 5 and 95
    found = closest_records(
        confidential, pd.DataFrame({"y": [10.0, 20.3, 200.0]}), Scenario(synthetic="y")
    )
    assert found.records["distance"].tolist() == pytest.approx([0, 0.3 / 90, 100 / 90])
    assert found.records["ratio"].tolist() == pytest.approx([0, 0.3 / 0.7, 100 / 101])
    assert found.quantile("distance", 0.5) == pytest.approx(0.3 / 90)
    assert found.copies == pytest.approx(1 / 3)


def test_equal_confidential_records_are_the_closest_and_the_second_closest():
    confidential = pd.DataFrame({"y": [1.0, 1.0, 5.0], "g": list("aab")})
    found = closest_records(confidential, confidential, Scenario(known="g", synthetic="y"))
    assert found.records["ratio"].tolist() == [1, 1, 0]


def test_another_sample_is_as_close_to_either_file_and_a_copy_is_closer():
    confidential, holdout = population(600, 1), population(300, 2)
    shares = [
        closest_records(confidential, population(500, seed), SCENARIO, holdout=holdout).closer
        for seed in range(3, 9)
    ]
    assert np.mean(shares) == pytest.approx(0.5, abs=0.03)
    assert closest_records(confidential, confidential, SCENARIO, holdout=holdout).closer > 0.65


def test_many_records_are_sampled(monkeypatch):
    confidential, released = population(200, 1), population(300, 2)
    everything = closest_records(confidential, released, SCENARIO)
    monkeypatch.setattr(record_distances, "_MOST_QUERIES", 100)
    fewer = closest_records(confidential, released, SCENARIO)
    assert len(fewer.records) == 100
    assert set(fewer.records["distance"]) <= set(everything.records["distance"])
    monkeypatch.setattr(record_distances, "_MOST_NUMBERS", 1000)
    assert closest_records(confidential, released, SCENARIO).searched < 200


def test_one_value_everywhere_and_what_is_refused():
    flat = pd.DataFrame({"g": ["a"] * 5, "y": ["x"] * 5})
    assert closest_records(flat, flat, Scenario(known="g", synthetic="y")).copies == 1
    confidential = population(50, 1)
    with pytest.raises(InputError, match="holdout file has no column 'job'"):
        closest_records(
            confidential, confidential, SCENARIO, holdout=confidential.drop(columns="job")
        )
    with pytest.raises(InputError, match="synthetic dataset 1: 'income' has dtype"):
        closest_records(confidential, confidential.assign(income="much"), SCENARIO)
