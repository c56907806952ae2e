"""Hand-worked studies, one per metric; and what is refused."""

import warnings

import numpy as np
import pandas as pd
import pytest

from riskweighted import BreakScores, InputError, PairScores, read_scores, reidentify
from riskweighted.common.errors import RiskWeightedWarning

pytestmark = pytest.mark.versions

SECRET = "zyx9876"
KINDS = {"age": "categorical", "sex": "categorical"}


def frames(puf, eif, iuf, columns):
    names = list(columns)
    return (
        pd.DataFrame([(i, *row) for i, row in enumerate(puf)], columns=["pufid", *names]),
        pd.DataFrame([(chr(97 + i), *row) for i, row in enumerate(eif)], columns=["eifid", *names]),
        pd.DataFrame(iuf, columns=["pufid", "eifid"]),
        columns,
    )


def pairs(found):
    return list(map(tuple, found.pairs.to_numpy().tolist()))


def test_unicity_by_hand():
    """Record 0 is unique by age alone; 1 and 2 share their age and are told apart by sex; 3 misses
    its sex and shares its age.
    """
    study = frames(
        [("30s", "f"), ("40s", "m"), ("40s", "f"), ("40s", None)],
        [("40s", "m"), ("30s", "m"), ("40s", "f")],
        [(1, "a"), (0, "c")],
        KINDS,
    )
    found = reidentify(*study)
    # {age}: 30s is unique in both: (0, b). {sex}: m is unique in the PUF (1) and not in the EIF.
    # {age, sex}: (1, a), (2, c).
    assert pairs(found) == [(0, "b"), (1, "a"), (2, "c")]
    assert found.links["interaction"].tolist() == ["age", "age + sex", "age + sex"]
    assert (found.suspected_rate, found.confirmed_rate, found.conditional_rate) == (
        3 / 4,
        1 / 4,
        1 / 3,
    )
    assert found.interactions.to_numpy().tolist() == [["age + sex", 2, 2, 1], ["age", 1, 1, 0]]


def test_taxicab_by_hand():
    """v = 4, passes below .25: at most one missing value (.125) and no mismatch (.25 does not
    pass).
    """
    kinds = dict.fromkeys("wxyz", "categorical")
    study = frames(
        [(1, 1, 1, 1), (2, 2, 2, None)],
        [(1, 1, 1, None), (1, 1, 1, 2), (2, 2, 2, 5), (2, 2, 2, 2)],
        [(0, "a")],
        kinds,
    )
    found = reidentify(*study, metric="taxicab")
    assert pairs(found) == [(0, "a"), (1, "c"), (1, "d")]
    assert found.links["score"].tolist() == [0.125] * 3
    assert found.ranks.to_numpy().tolist() == [[1, 2, 3, 1], ["crowded", 0, 0, 0]]


def test_whole_ranks_by_hand():
    """Ranks of 1, 3 and 2 pairs: the third rank would make six, so four pairs stay. A best rank of
    six keeps nothing.
    """
    kinds = dict.fromkeys("uvwxyz", "categorical")  # threshold .25: fewer than three halves of six
    zero, one, two = (1, 1, 1, 1, 1, 1), (1, 1, 1, 1, 1, None), (1, 1, 1, 1, None, None)
    study = frames([zero], [zero, one, one, one, two, two], [(0, "e")], kinds)
    found = reidentify(*study, metric="taxicab")
    assert pairs(found) == [(0, "a"), (0, "b"), (0, "c"), (0, "d")]
    assert found.links["rank"].tolist() == [1, 2, 2, 2]
    assert found.conditional_rate == 0
    crowded = reidentify(*frames([zero], [zero] * 6, [(0, "e")], kinds), metric="taxicab")
    assert len(crowded.pairs) == 0
    assert np.isnan(crowded.conditional_rate)
    assert crowded.ranks.to_numpy().tolist() == [["crowded", 1, 0, 0]]


def test_euclidean_by_hand():
    """One number: PUF mean 2, sd 1. z of 1, 2, 3 are -1, 0, 1; the score of a difference x is (1 -
    exp(-x)) / (1 + exp(-x)).
    """
    study = frames(
        [(1.0,), (2.0,), (3.0,)], [(1.1,), (3.0,), (None,)], [(0, "a"), (2, "b")], {"x": "numeric"}
    )
    found = reidentify(*study, metric="euclidean")
    # .9 and 1 from record 1 score .42 and .46; a missing value scores .5
    assert pairs(found) == [(0, "a"), (2, "b")]
    assert found.links["score"].tolist() == pytest.approx([np.tanh(0.05), 0.0], abs=1e-12)
    loose = reidentify(*study, metric="euclidean", normalization="rms")  # below .5 / sqrt(2) = .354
    assert pairs(loose) == pairs(found)


def test_adhoc_by_hand():
    """v = 2, passes above 5: sums 9, 6 pass, 5 does not."""
    scores = {"age": BreakScores((1, 5), (5, 4, 1)), "sex": PairScores({("m", "x"): 2.0})}
    study = frames(
        [(30.0, "m")],
        [(34.0, "m"), (30.0, "x"), (40.0, "m"), (30.0, None)],
        [(0, "a")],
        {"age": "numeric", "sex": "categorical"},
    )
    found = reidentify(*study, metric="adhoc", scores=scores)
    assert list(
        zip(found.pairs["eifid"], found.links["score"], found.links["rank"], strict=True)
    ) == [
        ("a", 9, 1),
        ("b", 7, 2),
        ("c", 6, 3),
    ]


def test_functions_are_asked_for_the_values_themselves():
    asked = []

    def score(one, two):
        asked.append((one, two))
        return 5.0

    study = frames([(30, "m")], [(34, "f")], [(0, "a")], {"age": "numeric", "sex": "categorical"})
    reidentify(*study, metric="adhoc", scores={"age": score, "sex": score})
    assert set(asked) == {(30.0, 34.0), ("m", "f")}


def test_composite_keys_and_strata():
    puf = pd.DataFrame(
        {"house": [1, 1, 2], "person": [1, 2, 1], "state": ["x", "x", "y"], "age": [30, 40, 40]}
    )
    eif = pd.DataFrame({"number": [7, 8, 9], "state": ["x", "y", "x"], "age": [30, 40, 50]})
    iuf = pd.DataFrame({"house": [1, 2], "person": [1, 1], "number": [7, 9]})
    found = reidentify(
        puf, eif, iuf, {"age": "categorical"}, ["house", "person"], "number", strata="state"
    )
    assert pairs(found) == [(1, 1, 7), (2, 1, 8)]
    assert found.rates["stratum"].tolist() == ["all", "x", "y"]
    assert found.rates[
        ["puf_records", "eif_records", "suspected", "confirmed"]
    ].to_numpy().tolist() == [
        [3, 3, 2, 1],
        [2, 2, 1, 1],
        [1, 1, 1, 0],
    ]


def test_linkage_gives_the_same_rates():
    rng = np.random.default_rng(1)
    n = 60
    eif = pd.DataFrame(
        {
            "a": rng.integers(0, 6, n),
            "b": rng.integers(0, 6, n),
            "c": rng.integers(0, 9, n),
            "x": rng.normal(size=n),
        }
    )
    puf = eif.assign(pufid=range(n))
    iuf = pd.DataFrame({"pufid": range(n), "eifid": range(n)})
    linking = {"a": "categorical", "b": "categorical", "c": "categorical", "x": "numeric"}
    found = reidentify(puf, eif.assign(eifid=range(n)), iuf, linking, metric="linkage")
    assert found.confirmed_rate > 0.8
    assert set(found.links) == {"pufid", "eifid", "score", "rank", "confirmed"}


def good():
    return frames(
        [(30, "f"), (40, "m")],
        [(30, SECRET), (41, "f")],
        [(0, "a")],
        {"age": "numeric", "sex": "categorical"},
    )


def refused(match, puf=None, eif=None, iuf=None, linking=None, **settings):
    study = [
        given if given is not None else base
        for given, base in zip((puf, eif, iuf, linking), good(), strict=True)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)
        with pytest.raises(InputError, match=match) as error:
            reidentify(*study, **settings)
    assert SECRET not in str(error.value)
    assert "\n" not in str(error.value)


def test_bad_files_are_refused_naming_the_column():
    puf, eif, iuf, _ = good()
    refused("'pufid' of the PUF must be unique: 1 repeated", puf=puf.assign(pufid=0))
    refused("'eifid' of the EIF must be unique: 1 missing", eif=eif.assign(eifid=["a", None]))
    refused("IUF points nowhere: 1 of 1 rows have a 'eifid'", iuf=iuf.assign(eifid=SECRET))
    refused(
        "name each record once: 1 rows repeat a 'pufid'",
        iuf=pd.DataFrame({"pufid": [0, 0], "eifid": ["a", "b"]}),
    )
    refused(
        "name each record once: 1 rows repeat a 'eifid'",
        iuf=pd.DataFrame({"pufid": [0, 1], "eifid": ["a", "a"]}),
    )
    refused("'pufid' is numbers in the PUF and text in the IUF", iuf=iuf.assign(pufid="0"))
    refused("PUF.*'sex'|'sex'.*PUF", puf=puf.drop(columns="sex"))
    refused("'age' is declared numeric, but is .* in the EIF", eif=eif.assign(age=["30", SECRET]))
    refused("'sex' is text in the PUF and numbers in the EIF", eif=eif.assign(sex=[1, 2]))
    refused("'sex' is missing in every record of the PUF", puf=puf.assign(sex=None))
    refused("'age' has 1 infinite values in the EIF", eif=eif.assign(age=[np.inf, 1.0]))
    refused("'age' does not vary in the PUF", puf=puf.assign(age=30), metric="euclidean")
    refused("at least one record", iuf=iuf.iloc[:0])


def test_bad_settings_are_refused():
    puf, eif, _, _ = good()
    refused("must be 'numeric', 'categorical', got 'number'", linking={"age": "number"})
    refused("linking must name", linking={})
    refused("'pufid' is a key", linking={"pufid": "numeric"})
    refused("metric must be one of 'unicity'", metric="cosine")
    refused("alpha.*got 0", metric="taxicab", alpha=0)
    refused("normalization must be", metric="euclidean", normalization="l1")
    refused("'adhoc' needs scores", metric="adhoc")
    refused(
        "scores must be given for every linking variable: 'age', 'sex'",
        metric="adhoc",
        scores={"age": BreakScores((), (5,))},
    )
    strata = {"puf": puf.assign(state=["x", "y"]), "eif": eif.assign(state="x"), "strata": "state"}
    refused("strata of 'state'.*: 1 are empty in the EIF", **strata)
    found = reidentify(
        strata["puf"],
        strata["eif"],
        *good()[2:],
        strata="state",
        empty_strata="allow",
        metric="taxicab",
    )
    assert found.rates["eif_records"].tolist() == [2, 2, 0]


@pytest.mark.parametrize("score", [6.0, -1.0, np.nan, SECRET])
def test_scores_outside_0_to_5_are_refused(score, tmp_path):
    match = PairScores({})
    refused(
        "scores of 'age' must lie between 0 and 5",
        metric="adhoc",
        scores={"age": lambda one, two: score, "sex": match},
    )
    if score != SECRET:
        refused(
            "scores of 'age' must lie",
            metric="adhoc",
            scores={"age": BreakScores((1,), (5, score)), "sex": match},
        )
    path = tmp_path / "scores.csv"
    pd.DataFrame({"puf": ["a"], "eif": ["b"], "score": [score]}).to_csv(path, index=False)
    with pytest.raises(InputError, match=r"scores of 'scores\.csv' must lie between 0 and 5"):
        read_scores(path)


def test_score_files(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("up_to,score\n0,5\n2,3\n,0\n")
    assert read_scores(path) == BreakScores((0.0, 2.0), (5.0, 3.0, 0.0))
    path.write_text("puf,eif,score\nm,f,1\n")
    assert read_scores(path) == PairScores({("m", "f"): 1.0})
    path.write_text("up_to,score\n0,5\n2,3\n")
    with pytest.raises(InputError, match="up_to must be numbers in all rows but the last"):
        read_scores(path)


def test_few_distinct_values_are_said():
    with pytest.warns(RiskWeightedWarning, match="quintiles of 'age' have tied cut points"):
        reidentify(
            *frames([(1,), (1,), (2,)], [(1,), (2,), (2,)], [(0, "a")], {"age": "numeric"}),
            metric="taxicab",
        )


def test_the_vacuous_printed_threshold_is_said():
    kinds = {f"x{i}": "categorical" for i in range(17)}
    study = frames([tuple(range(17))], [tuple(range(1, 18))], [(0, "a")], kinds)
    with pytest.warns(
        RiskWeightedWarning, match="lets every pair through with 17 linking variables"
    ):
        found = reidentify(*study, metric="euclidean")
    assert found.suspected_rate == 1.0
    assert reidentify(*study, metric="euclidean", normalization="rms").suspected_rate == 0.0
