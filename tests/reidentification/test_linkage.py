import logging
import sys
from itertools import product

import numpy as np
import pandas as pd
import pytest

from riskweighted.common.errors import InputError
from riskweighted.reidentification import linkage
from riskweighted.reidentification.linkage import linkage_pairs, suspected_links, threshold_sweep

pytestmark = pytest.mark.versions

pytest.importorskip("splink")

LINKING = {
    "sex": "categorical",
    "state": "categorical",
    "educ": "categorical",
    "age": "numeric",
    "income": "numeric",
    "hours": "numeric",
}


def study(n, m, seed, change=0.1, missing=0.1):
    """A PUF that is n shuffled records of the EIF with noise and gaps; ``truth`` is the EIF row of
    each.
    """
    rng = np.random.default_rng(seed)
    eif = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], m),
            "state": rng.integers(0, 50, m).astype(object),
            "educ": pd.Categorical(rng.choice(list("abcdefgh"), m)),
            "age": rng.integers(0, 95, m).astype(float),
            "income": np.round(rng.lognormal(10, 1, m)),
            "hours": np.round(rng.normal(38, 10, m)),
        }
    ).astype({"sex": object, "educ": object})
    truth = rng.permutation(m)[:n]
    puf = eif.iloc[truth].reset_index(drop=True)
    for name, kind in LINKING.items():
        hit = rng.random(n) < change
        if kind == "numeric":
            puf.loc[hit, name] += np.round(rng.normal(0, 0.2 * eif[name].std(), hit.sum()))
        else:
            puf.loc[hit, name] = rng.choice(eif[name].to_numpy(), hit.sum())
        for file in (puf, eif):
            file.loc[rng.random(len(file)) < missing, name] = np.nan
    return puf, eif, truth


def literal_weights(puf, eif, result):
    """Fellegi-Sunter by loops: log2 prior odds plus log2 m/u of each variable's level."""
    weights = {}
    levels = {
        name: list(table.itertuples()) for name, table in result.parameters.groupby("variable")
    }
    for i, j in product(range(len(puf)), range(len(eif))):
        weight = np.log2(result.prior / (1 - result.prior))
        for name, kind in LINKING.items():
            left, right = puf[name].iloc[i], eif[name].iloc[j]
            if pd.isna(left) or pd.isna(right):
                continue
            for level in levels[name]:
                distance = abs(left - right) if kind == "numeric" else float(left != right)
                if np.isnan(level.tolerance) or distance <= level.tolerance:
                    weight += np.log2(level.m / level.u)
                    break
        weights[i, j] = weight
    return weights


def agreement(puf, eif):
    """The variables on which each pair agrees: equal categories, one quintile class of the PUF,
    nothing missing.
    """
    kept = {}
    for name, kind in LINKING.items():
        cuts = np.quantile(puf[name].dropna(), [0.2, 0.4, 0.6, 0.8]) if kind == "numeric" else []
        kept[name] = [
            [x if kind == "categorical" else sum(cut < x for cut in cuts) for x in file[name]]
            for file in (puf, eif)
        ]
    found = {}
    for i, j in product(range(len(puf)), range(len(eif))):
        known = [
            name for name in LINKING if pd.notna(puf[name].iloc[i]) and pd.notna(eif[name].iloc[j])
        ]
        found[i, j] = {name for name in known if kept[name][0][i] == kept[name][1][j]}
    return found


def rows(pairs):
    return set(zip(pairs["puf_row"], pairs["eif_row"], strict=True))


def test_every_weight_is_the_literal_one(capfd):
    puf, eif, _ = study(40, 55, seed=1)
    result = linkage_pairs(puf, eif, LINKING, minimum_probability=0)
    literal = literal_weights(puf, eif, result)
    assert list(zip(result.pairs["puf_row"], result.pairs["eif_row"], strict=True)) == sorted(
        literal
    )
    np.testing.assert_allclose(
        result.pairs["match_weight"], [literal[key] for key in sorted(literal)], rtol=0, atol=1e-6
    )
    np.testing.assert_allclose(
        result.pairs["match_probability"], 1 / (1 + 2.0 ** -result.pairs["match_weight"]), rtol=1e-9
    )
    assert result.prior == 1 / 55
    assert result.compared == 40 * 55
    assert result.blocking == ((),)
    assert capfd.readouterr() == ("", "")


def test_u_is_the_share_among_all_pairs_of_a_small_study():
    puf, eif, _ = study(30, 40, seed=2)
    table = linkage_pairs(puf, eif, LINKING).parameters.set_index(["variable", "tolerance"])
    both = [(left, right) for left in puf["sex"].dropna() for right in eif["sex"].dropna()]
    assert table.loc[("sex", 0.0), "u"] == pytest.approx(
        np.mean([left == right for left, right in both])
    )
    near = table.loc["age"].iloc[2]
    sd = puf["age"].std()
    distances = np.abs(
        np.subtract.outer(puf["age"].dropna().to_numpy(), eif["age"].dropna().to_numpy())
    )
    assert table.loc["age"].index[2] == pytest.approx(0.25 * sd)
    assert near["u"] == pytest.approx(np.mean((distances > 0.05 * sd) & (distances <= 0.25 * sd)))


@pytest.fixture(scope="module")
def large():
    """More pairs than one EM run takes and than max_pairs: sampling, two runs and blocking are all
    in use.
    """
    puf, eif, truth = study(1500, 1600, seed=3)
    calls = []
    result = linkage_pairs(
        puf,
        eif,
        LINKING,
        max_pairs=150_000,
        random_seed=5,
        progress=lambda *call: calls.append(call),
    )
    return puf, eif, truth, result, calls


def test_most_true_links_are_recovered(large):
    puf, _, truth, result, calls = large
    sweep = threshold_sweep(
        result.pairs, len(puf), np.column_stack([np.arange(len(puf)), truth])
    ).set_index("threshold")
    assert sweep.loc[0.5, "confirmed_rate"] > 0.55
    assert sweep.loc[0.5, "conditional_rate"] > 0.9
    assert (sweep["suspected"].diff().dropna() <= 0).all()
    assert result.converged
    assert result.parameters["estimated"].all()
    assert 0 < result.compared <= 150_000
    assert calls == [(1, 1)]
    equal = result.parameters.query("tolerance == 0").set_index("variable")["m"]
    assert equal.between(0.8, 0.99).all()  # 10 % were changed, some of them to the same


@pytest.mark.long
def test_the_same_seed_gives_the_same_bytes(large):
    puf, eif, _, result, _ = large
    again, other = (
        linkage_pairs(puf, eif, LINKING, max_pairs=150_000, random_seed=seed) for seed in (5, 6)
    )
    pd.testing.assert_frame_equal(result.parameters, again.parameters, check_exact=True)
    assert (
        result.pairs.to_records(index=False).tobytes()
        == again.pairs.to_records(index=False).tobytes()
    )
    assert not np.array_equal(result.parameters["u"], other.parameters["u"])


def test_independent_files_are_not_linked():
    puf, eif, truth = study(200, 220, seed=7)
    puf = puf.apply(lambda column: column.sample(frac=1, random_state=len(column.name)).to_numpy())
    sweep = threshold_sweep(linkage_pairs(puf, eif, LINKING).pairs, 200, enumerate(truth), [0.5])
    assert sweep["confirmed_rate"].item() < 0.05


def test_default_blocking_compares_the_pairs_that_agree_on_k_variables():
    puf, eif, _ = study(60, 70, seed=4)
    found = agreement(puf, eif)
    result = linkage_pairs(puf, eif, LINKING, max_pairs=2500, minimum_probability=0)
    size = len(result.blocking[0])
    counts = {
        k: sum(len(rule & names) == k for names in found.values() for rule in rules_of(k))
        for k in (size - 1, size)
    }
    assert counts[size] == result.compared <= 2500 < counts[size - 1]
    assert rows(result.pairs) == {pair for pair, names in found.items() if len(names) >= size}


def rules_of(size):
    return [set(rule) for rule in product(LINKING, repeat=size) if list(rule) == sorted(set(rule))]


def test_given_blocking_compares_the_pairs_that_agree_on_one_rule():
    puf, eif, _ = study(60, 70, seed=4)
    found = agreement(puf, eif)
    blocking = [["sex", "age"], ["educ"]]
    result = linkage_pairs(puf, eif, LINKING, blocking=blocking, minimum_probability=0)
    assert rows(result.pairs) == {
        pair for pair, names in found.items() if any(set(rule) <= names for rule in blocking)
    }
    assert result.compared == sum(
        set(rule) <= names for names in found.values() for rule in blocking
    )
    assert result.blocking == (("sex", "age"), ("educ",))


@pytest.mark.parametrize("seed", [0, 1, 5, 7])
def test_tiny_files_have_finite_weights(seed):
    puf, eif, _ = study(3 + seed // 4, 4, seed=seed, change=0.3)
    linking = {
        name: kind
        for name, kind in LINKING.items()
        if puf[name].notna().any() and eif[name].notna().any()
    }
    result = linkage_pairs(puf, eif, linking, minimum_probability=0)
    assert len(result.pairs) == len(puf) * 4
    assert np.isfinite(result.pairs["match_weight"]).all()


def test_single_records_and_single_values():
    one = pd.DataFrame({"x": [1.0], "k": ["a"]})
    result = linkage_pairs(one, one, {"x": "numeric", "k": "categorical"}, minimum_probability=0)
    assert result.prior == 0.5
    assert np.isfinite(result.pairs["match_weight"]).all()
    puf = pd.DataFrame({"x": [1.0, 2.0, 3.0] * 4, "one": ["a"] * 12})
    result = linkage_pairs(puf, puf, {"x": "numeric", "one": "categorical"}, minimum_probability=0)
    weight = result.parameters.set_index(["variable", "tolerance"])["weight"]
    assert weight["one", 0.0] == pytest.approx(0, abs=1e-9)
    assert weight["x", 0.0] > 0


def test_variables_that_em_cannot_train_keep_the_default(monkeypatch):
    """EM blocks by k, on which no pair agrees, and by x: it can train k but not x."""
    monkeypatch.setattr(linkage, "TRAINING_PAIRS", 100)
    puf = pd.DataFrame({"k": [f"p{i}" for i in range(20)], "x": np.arange(20.0)})
    eif = puf.assign(k=[f"e{i}" for i in range(20)])
    result = linkage_pairs(puf, eif, {"k": "categorical", "x": "numeric"}, minimum_probability=0)
    table = result.parameters.set_index(["variable", "tolerance"])
    assert table["estimated"].groupby("variable").all().to_dict() == {"k": True, "x": False}
    assert table.loc[("x", 0.0), "m"] == 0.95
    assert np.isfinite(table["weight"]).all()


def test_mixed_dtypes_agree_by_value():
    puf = pd.DataFrame(
        {"k": pd.Categorical(["a", "b", None, "c"]), "x": pd.array([1, 2, None, 4], dtype="Int64")}
    )
    eif = pd.DataFrame({"k": ["b", "a", "c", None], "x": [2.0, 1.0, np.nan, 4.0]})
    blocked = linkage_pairs(
        puf, eif, {"k": "categorical", "x": "numeric"}, blocking=[["k"]], minimum_probability=0
    )
    assert rows(blocked.pairs) == {(0, 1), (1, 0), (3, 2)}


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    level = logging.getLogger("splink").level
    puf, eif, _ = study(20, 20, seed=1)
    linkage_pairs(puf, eif, LINKING)
    assert list(tmp_path.iterdir()) == []
    assert logging.getLogger("splink").level == level


PAIRS = pd.DataFrame(
    [
        (0, 0, 5.0, 0.97),
        (0, 1, 1.0, 0.67),
        (1, 1, 0.0, 0.5),
        (1, 2, 0.0, 0.5),
        (2, 0, -1.0, 0.33),
        *((3, j, 9.0, 0.998) for j in range(6)),
    ],
    columns=["puf_row", "eif_row", "match_weight", "match_probability"],
)


def test_suspected_links_by_hand():
    """Record 0 keeps its best pair, 1 both ties, 2 is below 0.5, 3 has six ties and so none."""
    assert rows(suspected_links(PAIRS)) == {(0, 0), (1, 1), (1, 2)}
    assert rows(suspected_links(PAIRS, 0.6)) == {(0, 0)}
    assert rows(suspected_links(PAIRS, 0.3)) == {(0, 0), (1, 1), (1, 2), (2, 0)}


@pytest.mark.parametrize(
    "form",
    [
        set,
        lambda x: np.array(sorted(x)),
        lambda x: pd.DataFrame(sorted(x), columns=["puf_row", "eif_row"]),
    ],
)
def test_sweep_by_hand(form):
    """Five PUF records, true links 0-0, 1-2, 2-3, 3-1."""
    sweep = threshold_sweep(PAIRS, 5, form({(0, 0), (1, 2), (2, 3), (3, 1)}), [0.3, 0.5, 0.6, 0.99])
    assert sweep["suspected"].tolist() == [3, 2, 1, 0]
    assert sweep["confirmed"].tolist() == [2, 2, 1, 0]
    assert sweep["suspected_rate"].tolist() == [0.6, 0.4, 0.2, 0]
    assert sweep["confirmed_rate"].tolist() == [0.4, 0.4, 0.2, 0]
    np.testing.assert_array_equal(sweep["conditional_rate"], [2 / 3, 1, 1, np.nan])


def test_sweep_without_links_or_pairs():
    assert threshold_sweep(PAIRS, 5, [])["confirmed"].eq(0).all()
    assert threshold_sweep(PAIRS.head(0), 5, [(0, 0)])["suspected"].eq(0).all()


GOOD = pd.DataFrame({"x": [1.0, 2.0, 3.0], "k": ["a", "b", "a"]})


@pytest.mark.parametrize(
    ("puf", "change", "message"),
    [
        (GOOD, {"linking": {}}, "linking must name"),
        (GOOD, {"linking": {"x": "number"}}, "'x' must be 'numeric', 'categorical', got 'number'"),
        (GOOD, {"linking": {"y": "numeric"}}, "PUF has no column 'y'"),
        (GOOD, {"linking": {"k": "numeric"}}, "'k' is declared numeric, but is"),
        (GOOD.assign(x=np.nan), {}, "'x' is missing in every record of the PUF"),
        (GOOD.assign(x=[1.0, np.inf, 2.0]), {}, "'x' has 1 infinite values in the PUF"),
        (
            GOOD,
            {"blocking": [["y"]]},
            "blocking names 'y'; valid are the linking variables 'x', 'k'",
        ),
        (GOOD, {"blocking": "x"}, "blocking must be lists"),
        (GOOD, {"blocking": [[]]}, "blocking must be lists"),
        (GOOD, {"blocking": [["k"]], "max_pairs": 4}, "blocking lets 5 pairs through"),
        (GOOD, {"max_pairs": 2, "linking": {"k": "categorical"}}, "5 pairs agree on 'k'"),
        (GOOD, {"max_pairs": 0}, "max_pairs must be"),
        (GOOD, {"minimum_probability": 1}, "minimum_probability must be"),
        (GOOD, {"random_seed": -1}, "random_seed must be"),
    ],
)
def test_bad_input(puf, change, message):
    with pytest.raises(InputError, match=message):
        linkage_pairs(puf, GOOD, **{"linking": {"x": "numeric", "k": "categorical"}, **change})


def test_bad_input_of_the_sweep():
    with pytest.raises(InputError, match="n_puf must be"):
        threshold_sweep(PAIRS, 0, [])
    with pytest.raises(InputError, match="threshold must be"):
        suspected_links(PAIRS, 1.5)
    with pytest.raises(InputError, match="pairs has no column 'eif_row'"):
        suspected_links(PAIRS.drop(columns="eif_row"))


def test_splink_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "splink", None)
    with pytest.raises(InputError, match=r'pip install "riskweighted\[linkage\]"'):
        linkage_pairs(GOOD, GOOD, {"x": "numeric"})
