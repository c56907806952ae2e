"""The learned part of a chain: no record teaches its own score, scores follow the weights, and
nothing of them is released.
"""

import sys

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.disclosure.hidden import hidden_predictors
from riskweighted.sequence.alphas import alphas_of
from riskweighted.sequence.learning import FOLDS
from riskweighted.sequence.many_levels import questions_of
from riskweighted.sequence.prepare import add_learned_scores, prepare_sequence

pytestmark = pytest.mark.versions

pytest.importorskip("sklearn", reason="the extra 'learned' is not installed")

N = 800
PREDICTORS = ("age", "hours", "region")
OWN = {"income": {"model": "linear-regression", "transform": "log"}}
SHORT = {"draws": 300, "tune": 200, "chains": 2, "random_seed": 1}


def people(n: int = N) -> pd.DataFrame:
    """Income of an interaction that no sum of predictors tells of, and what else a chain may hold;
    the index is not unique.
    """
    rng = np.random.default_rng(7)
    age, hours = rng.integers(20, 70, n), rng.integers(0, 60, n)
    both = np.where((age < 45) == (hours < 30), 1.0, -1.0)
    income = np.round(np.exp(7 + 0.8 * both + rng.normal(0, 0.4, n)))
    health = pd.Series(
        np.where(rng.random(n) < 0.5 + 0.35 * both, "good", rng.choice(["fair", "bad"], n))
    )
    region = pd.Series(rng.choice(["north", "south", "west"], n))
    frame = pd.DataFrame(
        {
            "age": age,
            "hours": hours,
            "region": region,
            "income": income,
            "health": health,
            "weight": rng.uniform(0.5, 2, n),
        }
    )
    return frame.set_index(pd.Index(np.arange(n) // 2))


def chain(variables=("income",), learned=PREDICTORS, settings=OWN, **more):
    return rw.load_synthesizer("sequential")(
        variables, PREDICTORS, settings, recoding="statuses", learned=learned, **more
    )


@pytest.fixture(scope="module")
def data():
    return people()


@pytest.fixture(scope="module")
def fitted(data):
    return rw.fit(chain(), data, **SHORT)


def scores(prepared, source="scores of income"):
    held = prepared.scores[source].held
    return held.rows[held.which]


def folds_of(n: int) -> np.ndarray:
    return np.random.default_rng(n).permutation(n) % FOLDS


def test_the_values_of_a_fold_move_the_scores_of_others_and_none_of_its_own(data):
    before, fold = scores(prepare_sequence(chain(), data)), folds_of(N)
    for number in range(FOLDS):
        rows = np.flatnonzero(fold == number)
        changed = data.assign(income=data["income"].to_numpy())
        changed.iloc[rows, changed.columns.get_loc("income")] = (
            data["income"].iloc[rows[::-1]].to_numpy()
        )
        after = scores(prepare_sequence(chain(), changed))
        assert np.array_equal(after[rows], before[rows])
        assert not np.array_equal(after[fold != number], before[fold != number])


def test_scores_follow_the_weights(data):
    prepared, rng = prepare_sequence(chain(), data), np.random.default_rng(1)
    ones = alphas_of(("income",), None, data.index)
    assert add_learned_scores(prepared, ones) is prepared
    weighted = add_learned_scores(prepared, ones * rng.uniform(0.1, 1, (N, 1)))
    assert not np.array_equal(scores(weighted), scores(prepared))
    assert np.array_equal(scores(add_learned_scores(weighted, ones)), scores(prepared))
    # what has no weight has no part in anything
    silent = ones.assign(income=(np.arange(N) >= 100).astype(float))
    changed = data.assign(income=np.where(np.arange(N) < 100, 1e6, data["income"]))
    assert np.array_equal(
        scores(add_learned_scores(prepared, silent)),
        scores(add_learned_scores(prepare_sequence(chain(), changed), silent)),
    )


def test_survey_weights_weigh_the_scores_too(data):
    assert not np.array_equal(
        scores(prepare_sequence(chain(), data, "weight")), scores(prepare_sequence(chain(), data))
    )


def test_scores_lie_on_a_grid(data):
    prepared = prepare_sequence(chain(("income", "health")), data)
    place, odds = scores(prepared), scores(prepared, "scores of health")
    assert place.shape == (N, 1)
    assert odds.shape == (N, 2)  # of each level but the most frequent one
    for values, largest in ((place, 2.0), (odds, 4.0)):
        assert np.abs(values).max() <= largest
        assert (values * 16 / largest % 1 == 0).all()
    assert len(np.unique(place)) <= 33
    names = prepared.names_of([*prepared.recipes, *prepared.scores])
    assert len(names) == len(set(names))


def test_an_interaction_that_no_sum_tells_of_is_in_the_draws(data, fitted):
    both = np.where((data["age"] < 45) == (data["hours"] < 30), 1.0, -1.0)

    def told(fit):
        return np.mean(
            [
                np.corrcoef(both, np.log(frame["income"]))[0, 1]
                for frame in fit.synthesize(5, random_seed=2)
            ]
        )

    true = np.corrcoef(both, np.log(data["income"]))[0, 1]
    assert told(rw.fit(chain(learned=()), data, **SHORT)) < 0.3 * true
    assert told(fitted) > 0.8 * true


def test_datasets_hold_the_columns_of_the_data_and_follow_from_the_seed(data, fitted):
    first = fitted.synthesize(2, random_seed=3)
    again = rw.fit(chain(), data, **SHORT).synthesize(2, random_seed=3)
    for one, other in zip(first, again, strict=True):
        assert list(one.columns) == list(data.columns)
        pd.testing.assert_frame_equal(one, other)
        pd.testing.assert_frame_equal(one.drop(columns="income"), data.drop(columns="income"))


def test_a_saved_fit_is_read_back_with_the_scores_of_its_weights(data, tmp_path):
    alpha = np.where(np.arange(N) % 3 == 0, 0.2, 1.0)
    fit = rw.fit(chain(), data, alpha, **SHORT)
    assert not np.array_equal(scores(fit.prepared), scores(prepare_sequence(chain(), data)))
    fit.save(tmp_path / "one.fit")
    loaded = rw.load_fit(tmp_path / "one.fit", chain(), data, alpha)
    assert np.array_equal(scores(loaded.prepared), scores(fit.prepared))
    for one, other in zip(
        loaded.synthesize(2, random_seed=3), fit.synthesize(2, random_seed=3), strict=True
    ):
        pd.testing.assert_frame_equal(one, other)
    with pytest.raises(InputError):
        rw.load_fit(tmp_path / "one.fit", chain(learned=()), data, alpha)


def test_later_variables_have_scores_of_unaltered_predictors_beside_earlier_variables(data):
    prepared = prepare_sequence(chain(("health", "income")), data)
    values = prepared.links[1].values
    assert {"health", "scores of income"} <= set(values.sources)
    assert "scores of health" not in values.sources


def test_what_is_measured_at_other_predictors_has_the_mean_score_of_the_folds(data, fitted):
    held = fitted.prepared.scores["scores of income"]
    moved = data.assign(age=data["age"].to_numpy()[::-1])
    there, here = (
        table.rows[table.which][:, 0] for table in (held.elsewhere(moved), held.elsewhere(data))
    )
    assert not np.array_equal(there, here)
    assert np.corrcoef(here, scores(fitted.prepared)[:, 0])[0, 1] > 0.9
    told = hidden_predictors(
        fitted, list(fitted.synthesize(3, random_seed=4)), ["hours"], ["region"], 1
    )
    assert told.loc[0, "J"] > 0.01


@pytest.mark.parametrize(
    ("target", "binary"),
    [
        (pd.Series(np.arange(300) % 3 == 0), [True]),
        (pd.Series(np.arange(300) < 49), []),  # too few events
        (pd.Series(np.arange(300.0)), [False]),
        (pd.Series(np.arange(150.0)), []),
        (pd.Series(np.maximum(np.arange(400.0) - 100, 0)), [True, False]),  # zero is a status
        (pd.Series(["a", "b", "c"]).repeat(100), [True, True]),
        (pd.Series(["a", "b"], dtype="string").repeat(100), [True]),
        (pd.Series(pd.Categorical(["low", "high"] * 150, ["low", "high"], ordered=True)), [False]),
    ],
)
@pytest.mark.quick
def test_what_is_asked_follows_from_the_kind_of_target_and_how_many_tell(target, binary):
    assert [question.binary for question in questions_of(target)] == binary


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"learned": ["income"]}, "which is synthesized"),
        ({"learned": ["weight"]}, "no predictor"),
        ({"learned": "age, hours"}, "learned"),
        ({"settings": {"income": {"formula": "income ~ age"}}}, "formula"),
    ],
)
@pytest.mark.quick
def test_what_cannot_be_learned_of_is_refused(change, named):
    with pytest.raises(InputError, match=named) as refused:
        chain(**change)
    assert "\n" not in str(refused.value)


def test_without_its_extra_a_learned_part_is_refused_in_one_line(data, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "sklearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(InputError, match=r'pip install "riskweighted\[learned\]"') as refused:
        prepare_sequence(chain(), data)
    assert "\n" not in str(refused.value)
    prepare_sequence(chain(learned=()), data)


def test_a_guarantee_refuses_it(data):
    with pytest.raises(InputError, match="the scores of a learned part of 'income'"):
        rw.fit(chain(), data, guarantee=rw.Guarantee(epsilon=1, public=list(PREDICTORS)), L=2)
