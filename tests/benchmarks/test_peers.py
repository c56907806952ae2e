"""The peers of the comparison: each does what it says, on 300 simulated records; and the table and
the map are written.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from riskweighted import Scenario

# benchmarks are no part of the package
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks import peers, peers_cases, peers_measures, peers_methods

N = 300
FORMULA = "income ~ C(group) + spending"


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    group, spending = rng.choice(["a", "b", "c"], N), rng.normal(size=N)
    income = np.round(np.exp(3 + (group == "b") + 0.6 * spending + 0.5 * rng.normal(size=N)), 2)
    income[:30] = 0.0
    return pd.DataFrame({"group": group, "spending": spending, "income": income})


@pytest.fixture(scope="module")
def case(data):
    scenario = Scenario(known=["group"], synthetic="income", radius=0.2, min_radius=1.0)
    settings = ("income ~ spending", "spending", "spending", (0.0, 1000.0), {"nobody's": {}})
    return peers_cases.Case("simulated", data, scenario, FORMULA, *settings)


def drawn(method, data, seeds=20):
    return np.array([method(FORMULA, data, np.random.default_rng(seed)) for seed in range(seeds)])


@pytest.mark.parametrize("name", peers_methods.PEERS)
def test_a_peer_gives_a_value_a_record_and_the_same_for_the_same_seed(data, name):
    if name == "CART":
        pytest.importorskip("sklearn")
    method, parameters = peers_methods.PEERS[name]
    values = drawn(method, data, 3)
    assert values.shape == (3, N)
    assert np.isfinite(values).all()
    np.testing.assert_array_equal(values, drawn(method, data, 3))
    assert (values[0] == values[1]).all() == (name == "top-coding")
    assert parameters == ("none" if name in ("top-coding", "log-normal noise") else "plug-in")


def test_top_coding_and_noise(data):
    own = data["income"].to_numpy()
    top = drawn(peers_methods.top_coding, data, 1)[0]
    bound = np.quantile(own, 0.97)
    np.testing.assert_array_equal(top, np.where(own > bound, bound, own))
    noise = drawn(peers_methods.log_normal_noise, data, 200)
    np.testing.assert_allclose(noise.mean(axis=0), own, rtol=0.08)
    positive = own > 0
    assert np.log(noise[:, positive] / own[positive]).std() == pytest.approx(0.2, abs=0.005)
    assert (noise[:, ~positive] == 0).all()


def test_normal_scores_regression_keeps_margin_and_relation_and_draws_observed_values(data):
    values, own = drawn(peers_methods.normal_scores_regression, data), data["income"].to_numpy()
    assert set(values.ravel()) <= set(own)
    np.testing.assert_allclose(
        np.quantile(values, [0.3, 0.5, 0.9]), np.quantile(own, [0.3, 0.5, 0.9]), rtol=0.15
    )
    ranks = data["spending"].rank()
    kept = np.mean([pd.Series(one).rank().corr(ranks) for one in values])
    assert kept == pytest.approx(data["income"].rank().corr(ranks), abs=0.07)
    means = [
        values[:, data["group"] == group].mean() / own[data["group"] == group].mean()
        for group in "abc"
    ]
    np.testing.assert_allclose(means, 1, atol=0.25)


def test_the_copula_keeps_the_margin_and_interpolates(data):
    values, own = drawn(peers_methods.gaussian_copula, data), data["income"].to_numpy()
    assert values.min() >= own.min()
    assert values.max() <= own.max()
    assert len(set(values.ravel()) - set(own)) > 1000
    np.testing.assert_allclose(
        np.quantile(values, [0.3, 0.5, 0.9]), np.quantile(own, [0.3, 0.5, 0.9]), rtol=0.15
    )
    kept = np.mean([pd.Series(one).corr(data["spending"], method="spearman") for one in values])
    assert kept == pytest.approx(data["income"].corr(data["spending"], method="spearman"), abs=0.1)


def test_cart_draws_donors_of_the_leaf_that_has_five_records_or_more(data):
    tree = pytest.importorskip("sklearn.tree")
    values, own = drawn(peers_methods.cart, data, 100), data["income"].to_numpy()
    assert set(values.ravel()) <= set(own)
    columns = np.column_stack([pd.get_dummies(data["group"])[["b", "c"]], data["spending"]]).astype(
        float
    )
    found = tree.DecisionTreeRegressor(min_samples_leaf=5, random_state=0).fit(
        columns - columns.mean(axis=0), own
    )
    leaves = found.apply(columns - columns.mean(axis=0))
    sizes = pd.Series(leaves).groupby(leaves).transform("size").to_numpy()
    assert sizes.min() >= 5
    same = np.array(
        [(own[leaves == leaf] == value).mean() for leaf, value in zip(leaves, own, strict=True)]
    )
    # a donor is any record of the leaf, itself too
    assert (values == own).mean() == pytest.approx(same.mean(), abs=0.02)


def test_the_measures_against_their_definitions(data, case):
    frames = peers.peer_frames(case, "normal-scores regression", 4)
    found = {
        (name, parameter): value
        for name, parameter, _, value in peers_measures.measured(case, frames)
    }
    values = np.array([frame["income"] for frame in frames])
    assert found["zeros", ""] == pytest.approx((values == 0).mean())
    assert found["largest", ""] == pytest.approx(np.mean([one.max() for one in values]))
    assert found["own values copied", ""] == pytest.approx(
        (values == data["income"].to_numpy()).mean()
    )
    assert found["correlation", ""] == pytest.approx(
        np.mean([np.corrcoef(one, data["spending"])[0, 1] for one in values])
    )
    inside = (data["group"] == "b").to_numpy()
    assert found["group mean", "group=b"] == pytest.approx(values[:, inside].mean())
    grid = np.unique([*data["income"], *values.ravel()])
    own = np.searchsorted(np.sort(data["income"]), grid, side="right") / N
    largest = [
        np.abs(np.searchsorted(np.sort(one), grid, side="right") / N - own).max() for one in values
    ]
    assert found["U_m", ""] == pytest.approx(np.mean(largest))
    assert found["expected match risk", ""] >= found["identification risk", ""] > 0


def test_the_comparison_is_written_and_says_what_is_not_installed(
    case, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(
        peers, "PEERS", {name: entry for name, entry in peers.PEERS.items() if name != "CART"}
    )
    monkeypatch.setattr(peers, "SDV", {})
    (tmp_path / "out").mkdir()
    table = tmp_path / "out" / "peers.csv"
    peers.compare([case], table, quick=True)
    whole = table.read_text()
    assert "nobody's is not installed" in capsys.readouterr().err
    table.write_text(
        "".join(line for line in whole.splitlines(keepends=True) if ",Gaussian copula," not in line)
    )
    peers.compare([case], table, quick=True)  # goes on
    assert capsys.readouterr().err.count(" made in ") == 1
    assert sorted(table.read_text().splitlines()) == sorted(whole.splitlines())
    peers.write(peers.read(table, [case]), [case], tmp_path / "out", 5)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "any.png",
        "any.svg",
        "peers.csv",
        "peers.md",
        "peers.png",
    ]
    read = pd.read_csv(tmp_path / "out" / "peers.csv", keep_default_na=False)
    assert list(read) == list(peers_measures.COLUMNS)
    assert set(read["method"]) == {*peers.PEERS, *peers.SDV}
    assert not read.duplicated(["data", "method", "weights", "measure", "parameter"]).any()
    text = (tmp_path / "out" / "peers.md").read_text()
    assert text.count("| Gaussian copula |  | plug-in |") == 1
    assert "| (confidential) |" in text


def test_the_cases_hold_what_their_analyses_need():
    for case in peers_cases.cases(quick=True):
        assert len(case.frame) == 1500
        assert case.formula.startswith(f"{case.target} ~ ")
        low, high = case.support
        assert case.frame[case.target].between(low, high).all()
        assert case.numeric in case.frame
        assert set(case.models) >= {"two-part", "normal-mixture", "linear-regression"}
