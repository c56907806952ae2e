"""Weights of one's own: columns, files of them, and schemes that packages add."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.disclosure.leave_one_out_weights import (
    Weighting,
    change_of_weights,
    depends_on_values,
)
from riskweighted.intruder.world import make_world
from riskweighted.weights import scheme_names, user_weights
from riskweighted.weights.scheme_names import parse_scheme, stem_of

pytestmark = pytest.mark.quick

N = 60
SCENARIO = rw.Scenario(known="region", synthetic="income")


@pytest.fixture
def data():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"id": rng.permutation(N), "region": rng.choice(["n", "s"], N)})
    return frame.assign(income=rng.lognormal(3, 0.6, N).round(1), own=rng.uniform(0.1, 1, N))


def by_region(world):
    return np.where(world.confidential["region"] == "n", 0.3, 0.9)


def by_rank(world, floor=0.1):
    return np.maximum(1 - world.confidential["income"].rank(pct=True).to_numpy(), floor)


def raising(world):
    raise ValueError("12345.6 is the income of somebody")


def one_too_few(world):
    return np.full(len(world.confidential) - 1, 0.5)


class ByValue:
    """1 below the cut and ``low`` above it."""

    depends = "public"  # which is not so

    def __init__(self, low=0.2):
        self.low = low

    def at(self, rows, values):
        weights = np.where(values.to_numpy(dtype=float) > 20, self.low, 1.0)
        return np.broadcast_to(weights, (len(rows), len(values)))


class Nothing:
    depends = "own"


SCHEMES = {
    "by-region": by_region,
    "by-rank": by_rank,
    "raising": raising,
    "short": one_too_few,
    "by-value": ByValue,
    "nothing": Nothing,
}


@pytest.fixture(autouse=True)
def packages(monkeypatch):
    """The schemes as packages register them; one has the name of ours."""
    points = [
        SimpleNamespace(name=name, load=lambda made=made: made, dist=None)
        for name, made in {**SCHEMES, "marginal": by_region}.items()
    ]
    monkeypatch.setattr(scheme_names, "entry_points", lambda group: points)
    scheme_names.package_schemes.cache_clear()
    yield
    scheme_names.package_schemes.cache_clear()


def test_a_column_and_packages_give_weights(data):
    own = rw.scheme_weights("column:own", data, SCENARIO)
    assert own.tolist() == data["own"].tolist()
    assert rw.scheme_weights("by-rank(floor=0.4)", data, SCENARIO).min() == 0.4
    pd.testing.assert_series_equal(
        rw.scheme_weights("marginal", data, SCENARIO), rw.marginal_weights(data, SCENARIO)
    )
    both = rw.Scenario(known="region", synthetic=["income", "own"])
    table = rw.match_weights(data.assign(w=data["own"]), both, "column:w", scale=0.5)
    assert table["income"].tolist() == (0.5 * data["own"]).tolist() == table["own"].tolist()
    named = parse_scheme("column:my + weight, of 2024+")
    assert (named.column, named.centred) == ("my + weight, of 2024+", False)
    assert stem_of("column:a/b") == "column-a-b"


@pytest.mark.parametrize(
    ("scheme", "changes", "says"),
    [
        ("column:own", {"own": [1.5, np.nan, -1, *[0.5] * (N - 3)]}, "1 are missing and 2 lie"),
        ("column:own", {"own": 0.5}, "are the same for all records"),
        ("column:own", {"own": "high"}, "must be numbers"),
        ("column:mine", {}, "mine"),
        ("raising", {}, "'raising' of riskweighted.schemes raised ValueError$"),
        ("short", {}, "got 59 for 60 records"),
        ("by-rank(roof=2)", {}, "raised TypeError"),
        ("by-value(roof=2)", {}, "cannot be loaded with the settings roof: TypeError"),
        ("nothing", {}, "or a class with alpha"),
    ],
)
def test_weights_that_are_none_are_refused(data, scheme, changes, says):
    with pytest.raises(InputError, match=says):
        rw.scheme_weights(scheme, data.assign(**changes), SCENARIO)


def test_what_packages_say_of_their_weights_is_held_to_them(data):
    world = make_world(data, SCENARIO)
    depends = {
        (scheme, stated): user_weights.depends_of(world, scheme, stated)
        for scheme in ("by-region", "by-value", "by-rank", "column:own", "pairwise")
        for stated in (None, "public")
    }
    assert depends == {
        ("by-region", None): "file",  # which it does not deny
        ("by-region", "public"): "public",
        ("by-value", None): "own",
        ("by-value", "public"): "own",
        ("by-rank", None): "file",
        ("by-rank", "public"): "file",
        ("column:own", None): "file",
        ("column:own", "public"): "public",
        ("pairwise", None): None,
        ("pairwise", "public"): None,
    }


def test_weights_of_own_values_are_held_where_a_record_is_left_out(data):
    world, terms = make_world(data, SCENARIO), np.random.default_rng(1).normal(size=(N, 7))
    weighting = Weighting("column:own", depends="own")
    change, known = change_of_weights(world, weighting, data["own"].to_numpy(), terms)
    assert known.all()
    np.testing.assert_array_equal(change, -data["own"].to_numpy()[:, None] * terms)
    assert depends_on_values(Weighting("by-rank", depends="file"))


def test_a_packages_function_of_the_value_is_centred(data):
    made = rw.centred_weights("by-value+(low=0.3)", data, SCENARIO)
    expected = rw.centred_weights(ByValue(low=0.3).at, data, SCENARIO)
    pd.testing.assert_frame_equal(made.alpha, expected.alpha)
    values = pd.Series([10.0, 30.0])
    np.testing.assert_array_equal(made.functions["income"].at(np.arange(2), values), [[1, 0.3]] * 2)
    for scheme, says in [
        ("by-rank+", "gives no at"),
        ("by-value+", "without scale, shift and cluster"),
    ]:
        with pytest.raises(InputError, match=says):
            rw.centred_weights(scheme, data, SCENARIO, shift=0.1)


def test_a_file_of_weights_is_joined_by_its_id(data, tmp_path):
    file = tmp_path / "weights.csv"
    table = data[["id"]].assign(mine=data["own"].round(3)).sample(frac=1, random_state=2)
    table.to_csv(file, index=False)
    joined = user_weights.joined_weights(data, file)
    assert joined["mine"].tolist() == data["own"].round(3).tolist()
    for wrong, says in [
        (table.iloc[3:], "no row for 3 of 60 records, by 'id'"),
        (pd.concat([table, table.head(2)]), "2 of its values repeat"),
        (table.rename(columns={"mine": "income"}), "'income', which the data have too"),
        (table.rename(columns={"id": "nobody"}), "nobody"),
    ]:
        wrong.to_csv(file, index=False)
        with pytest.raises(InputError, match=says):
            user_weights.joined_weights(data, file)
