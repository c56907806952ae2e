"""Datasets that are made when they are asked for: each once, and none stays."""

import weakref
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from riskweighted import EvaluationSettings, Scenario, evaluate, identification_risk
from riskweighted.common.errors import InputError
from riskweighted.evaluation.computing import released_rows
from riskweighted.intruder.world import make_world

L = 5
SETTINGS = {
    "regression": "income ~ C(size)",
    "coefficient": "C(size)[T.2]",
    "regressions": ["log(income) ~ size + group where rate > 0"],
    "survey": "weight",
    "strata": "group",
}


class Made(Sequence):
    """Datasets made anew each time; it counts how often, and how many are alive at once."""

    def __init__(self, frames):
        self.frames, self.made, self.alive, self.most = frames, 0, weakref.WeakSet(), 0

    def __len__(self):
        return len(self.frames)

    def __getitem__(self, place):
        if not 0 <= place < len(self.frames):
            raise IndexError(place)
        frame = Kept(self.frames[place].copy())
        self.made += 1
        self.alive.add(frame)
        self.most = max(self.most, len(self.alive))
        return frame


class Kept(pd.DataFrame):
    """A frame that a set can refer to weakly."""

    __hash__ = object.__hash__

    @property
    def _constructor(self):
        return pd.DataFrame


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    columns = {
        "group": rng.choice(["a", "b"], 120),
        "size": rng.integers(1, 4, 120),
        "weight": rng.uniform(1, 2, 120),
    }
    return pd.DataFrame(
        columns | {"income": np.exp(rng.normal(3, 1, 120)), "rate": rng.uniform(0, 1, 120)}
    )


@pytest.fixture(scope="module")
def frames(data):
    rng = np.random.default_rng(2)
    return {
        label: [data.assign(income=rng.permutation(data["income"])) for _ in range(L)]
        for label in ("one", "two")
    }


def test_one_pass_and_the_same_tables(data, frames):
    for synthetic in ("income", ("income", "rate")):
        scenario = Scenario(known="group", synthetic=synthetic)
        lazy = {label: Made(own) for label, own in frames.items()}
        given, made = (
            evaluate(
                data,
                one,
                scenario,
                settings=EvaluationSettings(**SETTINGS),
                baseline="one",
                random_seed=3,
            )
            for one in (frames, lazy)
        )
        for table in ("risk", "utility", "records"):
            pd.testing.assert_frame_equal(getattr(given, table), getattr(made, table))
        for own in lazy.values():
            assert own.made == L
            assert own.most <= 2  # one that is made, and one that is let go


def test_who_is_alone_on_all_columns_is_counted(data):
    world = make_world(data, Scenario(known="group", synthetic="income"))
    found = released_rows(world, ["group", "size", "weight"])
    alone = ~data.duplicated(["group", "size", "weight"], keep=False)
    assert found[["label", "key"]].to_numpy().tolist() == [["confidential", "released-uniques"]]
    assert found["value"].tolist() == [alone.mean()]
    none = released_rows(world, ["group"])
    assert none["value"].tolist() == [0]


def test_an_error_names_the_dataset(data, frames):
    changed = [*frames["one"][:2], frames["one"][2].assign(group="a"), frames["one"][3]]
    with pytest.raises(
        InputError, match=r"^synthetic dataset 3: the known variables 'group' differ"
    ):
        evaluate(data, {"one": Made(changed)}, Scenario(known="group", synthetic="income"))
    with pytest.raises(InputError, match="at least one"):
        identification_risk(data, Made([]), Scenario(synthetic="income"))


def test_nothing_that_is_not_needed_is_held(data):
    values = np.column_stack([data["income"], np.ones((len(data), 3))])
    held = weakref.ref(values)
    frame = pd.DataFrame(values, columns=["income", "x", "y", "z"], copy=False).assign(
        group=data["group"].tolist()
    )
    world = make_world(data, Scenario(known="group", synthetic="income"))
    paired = world.pair(iter([frame]))
    del frame, values
    assert held() is None
    assert list(paired.frames[0].columns) == ["group", "income"]
    assert paired.frames[0]["income"].equals(data["income"])
