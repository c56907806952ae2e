"""Every metric against the primer by the letter, on hundreds of random small studies with missing
values.
"""

import warnings

import brute_links
import numpy as np
import pandas as pd
import pytest

from riskweighted.reidentification import nearest as nearest_module
from riskweighted.reidentification.attack import reidentify
from riskweighted.reidentification.scores import BreakScores, PairScores

pytestmark = pytest.mark.slow

# 40 small studies at once, and 80 more.
studies = pytest.mark.parametrize(
    "seeds", [range(40), pytest.param(range(40, 120), marks=pytest.mark.long)], ids=["some", "more"]
)


def random_study(seed):
    """PUF and EIF of up to 16 records: some variables numeric (whole, so that ties are common, or
    continuous), others codes.
    """
    rng = np.random.default_rng(seed)
    v, sizes = int(rng.integers(1, 6)), rng.integers(3, 17, 2)
    linking, columns = {}, {}
    for place in range(v):
        kind = rng.choice(["category", "whole", "continuous"])
        pools = {
            "category": list("abcd")[: rng.integers(1, 5)],
            "whole": list(range(rng.integers(2, 9))),
            "continuous": None,
        }
        pool = pools[kind]
        draw = [
            list(rng.normal(size=n)) if pool is None else list(rng.choice(pool, n)) for n in sizes
        ]
        if pool is None:
            copied = rng.integers(0, sizes[0], sizes[1])
            draw[1] = [
                draw[0][j] if rng.random() < 0.5 else x
                for j, x in zip(copied, draw[1], strict=True)
            ]
        missing = rng.choice([0.0, 0.15, 0.3])
        columns[f"x{place}"] = [
            [None if rng.random() < missing else x for x in side] for side in draw
        ]
        for side in columns[f"x{place}"]:
            side[0], side[1] = (pool[0], pool[-1]) if pool is not None else (0.25, -1.5)
        linking[f"x{place}"] = "categorical" if kind == "category" else "numeric"
    frames = []
    for side in (0, 1):
        frame = pd.DataFrame({name: pd.Series(both[side]) for name, both in columns.items()})
        frame[["pufid", "eifid"][side]] = np.arange(sizes[side])
        frames.append(frame)
    partners = rng.permutation(sizes.min())
    iuf = pd.DataFrame({"pufid": np.arange(sizes.min()), "eifid": partners})
    return frames[0], frames[1], iuf, linking


def quietly(*arguments, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return reidentify(*arguments, **settings)


def check(found, expected, puf, iuf):
    """`expected`: the suspected pairs."""
    assert set(map(tuple, found.pairs.to_numpy().tolist())) == set(expected)
    assert len(found.pairs) == len(expected)
    truth = set(map(tuple, iuf.to_numpy().tolist()))
    suspected, confirmed = {i for i, _ in expected}, {i for i, j in expected if (i, j) in truth}
    assert found.suspected_rate == len(suspected) / len(puf)
    assert found.confirmed_rate == len(confirmed) / len(puf)
    assert found.conditional_rate == pytest.approx(
        len(confirmed) / len(suspected) if suspected else np.nan, nan_ok=True
    )


def ranks(found):
    return dict(zip(map(tuple, found.pairs.to_numpy().tolist()), found.links["rank"], strict=True))


@studies
def test_unicity(seeds):
    for seed in seeds:
        puf, eif, iuf, linking = random_study(seed)
        expected = brute_links.unicity(puf, eif, linking)
        found = quietly(puf, eif, iuf, linking)
        check(found, expected, puf, iuf)
        names = list(linking)
        shown = dict(
            zip(
                map(tuple, found.pairs.to_numpy().tolist()), found.links["interaction"], strict=True
            )
        )
        assert shown == {
            pair: " + ".join(names[j] for j in interaction)
            for pair, interaction in expected.items()
        }


@studies
@pytest.mark.parametrize("alpha", [0.5, 0.3])
def test_taxicab(alpha, seeds):
    for seed in seeds:
        puf, eif, iuf, linking = random_study(seed)
        scores = brute_links.taxicab_scores(puf, eif, linking, alpha)
        expected = brute_links.whole_ranks(scores, lambda score: score < round(alpha / 2, 12))
        found = quietly(puf, eif, iuf, linking, metric="taxicab", alpha=alpha)
        check(found, expected, puf, iuf)
        assert ranks(found) == expected


@studies
@pytest.mark.parametrize("normalization", ["primer", "rms"])
def test_euclidean(normalization, seeds):
    for seed in seeds:
        puf, eif, iuf, linking = random_study(seed)
        scores = brute_links.euclidean_scores(puf, eif, linking, normalization=normalization)
        limit = 0.25 if normalization == "primer" else round(0.5 / 2**0.5, 12)
        expected = brute_links.whole_ranks(scores, lambda score: score < limit)  # noqa: B023
        found = quietly(puf, eif, iuf, linking, metric="euclidean", normalization=normalization)
        check(found, expected, puf, iuf)
        assert ranks(found) == expected


def random_scores(linking, rng):
    """Per variable what `reidentify` takes, and the same as a plain function."""
    given, plain = {}, {}
    for name, kind in linking.items():
        if kind == "numeric" and rng.random() < 0.6:
            breaks = tuple(
                np.sort(
                    rng.choice([0.0, 0.5, 1.0, 2.0, 3.0], rng.integers(1, 4), replace=False)
                ).tolist()
            )
            # not always falling
            steps = tuple(rng.integers(0, 6, len(breaks) + 1).astype(float).tolist())

            def by_steps(one, two, breaks=breaks, steps=steps):
                return steps[sum(abs(one - two) > b * (1 + 1e-9) for b in breaks)]

            given[name], plain[name] = BreakScores(breaks, steps), by_steps
        elif kind == "numeric":
            given[name] = plain[name] = lambda one, two: max(0.0, 5.0 - abs(one - two))
        else:
            listed = {
                (a, b): float(rng.integers(0, 6))
                for a in "abcd"
                for b in "abcd"
                if rng.random() < 0.3
            }

            def by_table(one, two, listed=listed):
                return listed.get((one, two), 5.0 if one == two else 0.0)

            given[name], plain[name] = PairScores(listed), by_table
    return given, plain


@studies
def test_adhoc(seeds):
    for seed in seeds:
        puf, eif, iuf, linking = random_study(seed)
        given, plain = random_scores(linking, np.random.default_rng(seed))
        scores = brute_links.adhoc_scores(puf, eif, plain)
        limit = 5 * len(linking) / 2
        expected = brute_links.whole_ranks(scores, lambda score: score > limit, best_is_low=False)  # noqa: B023
        found = quietly(puf, eif, iuf, linking, metric="adhoc", scores=given)
        check(found, expected, puf, iuf)
        assert ranks(found) == expected


@pytest.mark.long
def test_larger_studies_that_split_the_tree(monkeypatch):
    """260 records a side: many levels of the search tree, duplicates, crowded ranks."""
    monkeypatch.setattr(nearest_module, "_LEAF", 3)
    rng = np.random.default_rng(0)
    n = 260
    puf, eif = (
        pd.DataFrame(
            {
                "a": rng.choice(list("abc"), n),
                "b": rng.integers(0, 4, n),
                "c": rng.normal(size=n).round(1),
                "d": rng.normal(size=n),
            }
        )
        for _ in range(2)
    )
    eif.loc[:60, "d"] = puf.loc[:60, "d"]
    for frame in (puf, eif):
        for name in frame:
            frame[name] = frame[name].where(rng.random(n) > 0.1)
    puf["pufid"], eif["eifid"] = np.arange(n), np.arange(n)
    iuf = pd.DataFrame({"pufid": np.arange(n), "eifid": np.arange(n)})
    linking = {"a": "categorical", "b": "categorical", "c": "numeric", "d": "numeric"}
    low = brute_links.whole_ranks
    expected = low(brute_links.euclidean_scores(puf, eif, linking), lambda score: score < 0.25)
    assert ranks(quietly(puf, eif, iuf, linking, metric="euclidean")) == expected
    expected = low(brute_links.taxicab_scores(puf, eif, linking), lambda score: score < 0.25)
    found = quietly(puf, eif, iuf, linking, metric="taxicab")
    assert ranks(found) == expected
    assert found.ranks.set_index("rank").loc["crowded", "puf_records"] > 0
    check(quietly(puf, eif, iuf, linking), brute_links.unicity(puf, eif, linking), puf, iuf)
    given, plain = random_scores(linking, rng)
    expected = low(
        brute_links.adhoc_scores(puf, eif, plain), lambda score: score > 10, best_is_low=False
    )
    assert ranks(quietly(puf, eif, iuf, linking, metric="adhoc", scores=given)) == expected
