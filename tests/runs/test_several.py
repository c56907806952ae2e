"""Runs of several variables: the folder, what a resumed run samples again, what a study file
says.
"""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.runs import work as fitting
from riskweighted.runs.check_study import check_study
from riskweighted.runs.finished import load_run
from riskweighted.runs.plan import plan_study
from riskweighted.runs.run import run_study
from riskweighted.runs.study import Study, make_study
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sequence.saved import read_fit

N = 300

# so few draws, since they are not what is asked
pytestmark = pytest.mark.filterwarnings("ignore::riskweighted.common.errors.ConvergenceWarning")


def people() -> pd.DataFrame:
    rng = np.random.default_rng(9)
    region = rng.choice(["north", "south"], N)
    smoke = rng.choice(["YES", "NO"], N, p=[0.4, 0.6])
    cigarettes = np.where(smoke == "YES", rng.choice([5, 10, 20], N), -8)
    health = pd.Series(rng.choice(["bad", "fair", "good"], N))
    health[rng.random(N) < 0.1] = None
    return pd.DataFrame(
        {
            "region": region,
            "age": rng.integers(18, 80, N),
            "smoke": smoke,
            "cigarettes": cigarettes,
            "health": health,
        }
    )


def study(health=None, **more) -> Study:
    table = {
        "data": {"path": "people.csv"},
        "scenario": {"known": ["region"], "synthetic": ["smoke", "cigarettes", "health"]},
        "synthesizer": {
            "name": "sequential",
            "predictors": ["region", "age"],
            "variables": {
                "cigarettes": {"applies_if": "smoke == 'YES'", "else_value": -8},
                "health": health or {},
            },
        },
        "weights": {"schemes": ["unweighted", "pairwise"]},
        "sampling": {"chains": 2, "draws": 30, "tune": 60},
        "release": {"L": 3},
    }
    return make_study({**table, **more})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("several") / "out"
    return run_study(study(), out, confidential=people())


def test_the_folder_is_read_back_with_weights_and_fits_of_each_variable(run):
    finished, data = load_run(run.folder), people()
    assert finished.study.variables == ("smoke", "cigarettes", "health")
    alpha = finished.alpha("pairwise")
    pd.testing.assert_frame_equal(
        alpha.reset_index(drop=True),
        rw.match_weights(data, finished.study.weighting_scenario(), "pairwise"),
        check_names=False,
    )
    chain = prepare_sequence(finished.study.make_synthesizer(), data)
    fit = read_fit(finished.posterior_path("pairwise"), chain, alpha)
    assert list(fit.blocks) == ["smoke", "cigarettes", "health is missing", "health"]
    assert {name.split(": ")[0] for name in finished.posteriors["pairwise"].data_vars} == set(
        fit.blocks
    )
    frame = finished.synthetic["pairwise"][0]
    assert (frame.loc[frame["smoke"] == "NO", "cigarettes"] == -8).all()
    assert frame["health"].isna().any()
    assert finished.manifest["precision"] == {
        "smoke": "levels",
        "cigarettes": "multiples of 1",
        "health": "levels",
    }


def test_every_variable_has_its_rows(run):
    risk, utility = run.evaluation.risk, run.evaluation.utility
    assert set(risk.loc[risk["key"] == "mean-risk", "variable"].dropna()) == {
        "smoke",
        "cigarettes",
        "health",
    }
    assert set(utility.loc[utility["key"] == "one-way-table", "variable"]) == {
        "smoke",
        "cigarettes",
        "health",
    }
    assert (
        (utility["key"] == "level-share")
        & (utility["variable"] == "cigarettes")
        & (utility["term"] == "-8")
    ).any()
    assert run.fits is True
    assert set(run.fit_check["variable"]) == {"", "smoke", "cigarettes", "health"}


@pytest.mark.long
def test_a_resumed_run_fits_the_changed_variable_only(tmp_path, monkeypatch):
    fitted: list[str] = []
    plain = fitting.fit_tasks

    def told(tasks, *rest):
        fitted.extend(task.name for task in tasks)
        return plain(tasks, *rest)

    def interrupted(*_args, **_more):
        raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "fit_tasks", told)
    with monkeypatch.context() as patch:
        patch.setattr(fitting, "evaluate_world", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_study(study(), tmp_path / "out", confidential=people())
    assert sorted(fitted) == sorted(2 * ["smoke", "cigarettes", "health is missing", "health"])
    fitted.clear()
    ordered = {"model": "ordinal", "levels": ["bad", "fair", "good"]}
    run_study(study(health=ordered), tmp_path / "out", confidential=people())
    assert fitted == ["health", "health"]


def test_codes_of_the_synthesizer_are_those_of_the_scenario():
    assert study().scenario.codes == {}
    assert study().evaluating_scenario().codes_of("cigarettes") == (-8.0,)
    assert study().to_table()["synthesizer"]["variables"]["cigarettes"]["else_value"] == -8


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"synthesizer": {"name": "sequential", "formula": "smoke ~ age"}},
            "leave out synthesizer.formula",
        ),
        ({"synthesizer": {"name": "logistic"}}, "synthesizer.formula' is missing"),
        (
            {"synthesizer": {"name": "sequential", "nonsense": 1}},
            "has no setting 'nonsense'; valid are",
        ),
        (
            {"synthesizer": {"name": "sequential", "variables": {"smoke": 3}}},
            "synthesizer.variables.smoke",
        ),
        ({"weights": {"risk_of": "near"}}, "risk_of must be 'each-variable', 'joint' or"),
        ({"weights": {"risk_of": [["smoke"]]}}, "in no subset"),
        ({"release": {"precision": {"cigarettes": 0}}}, "precision must be a number > 0"),
        (
            {"synthesizer": {"name": "sequential", "predictors": ["smoke"]}},
            "cannot be both a predictor and synthesized",
        ),
        (
            {"scenario": {"known": ["smoke"], "synthetic": ["smoke", "health"]}},
            "both known and synthetic",
        ),
    ],
)
def test_a_study_file_that_is_wrong_is_refused(more, message):
    with pytest.raises(InputError, match=message):
        study(**more)


def test_a_guarantee_names_at_once_what_the_chain_and_the_study_take_from_the_data():
    with pytest.raises(InputError) as caught:
        check_study(study(guarantee={"epsilon": 1.0}), people())
    for named in (
        "the weights of 'pairwise'",
        "the model, chosen by the values of 'smoke'",
        "predictors, their levels",
    ):
        assert named in str(caught.value), named


def test_codes_that_are_wrong_are_not_said_to_be_a_radius():
    scenario = {
        "known": ["region"],
        "synthetic": ["smoke", "cigarettes", "health"],
        "categorical": ["cigarettes"],
    }
    with pytest.raises(
        InputError, match=r"^codes names 'cigarettes', which categorical matches by equality"
    ):
        study(scenario=scenario)


def test_one_variable_is_a_sequence_of_one():
    """What several variables take it takes too: its own box is the joint one, and a table may give
    its precision.
    """
    one = {
        "scenario": {"synthetic": "smoke"},
        "synthesizer": {"name": "logistic", "formula": "smoke ~ age"},
    }
    assert study(**one, weights={"risk_of": "joint"}).weights.risk_of == "joint"
    assert study(**one, release={"precision": {"smoke": 1}}).release.precision_of("smoke") == 1
    with pytest.raises(InputError, match="which is not synthetic"):
        study(**one, weights={"risk_of": [["smoke", "age"]]})
    with pytest.raises(InputError, match=r"release\.precision names 'age'"):
        study(**one, release={"precision": {"age": 1}})
    assert dataclasses.replace(study(**one)).target == "smoke"
    with pytest.raises(InputError, match="this is for studies of one variable"):
        _ = study().target


def test_a_dry_run_counts_values_that_one_or_two_records_hold():
    data = people()
    data.loc[data.index[:2], "health"] = "a condition of two"
    assert plan_study(study(), data, estimated=False).rare == {"health": 1}
    assert (
        plan_study(
            study(
                health={"model": "ordinal", "levels": ["a condition of two", "bad", "fair", "good"]}
            ),
            data,
            estimated=False,
        ).rare
        == {}
    )


def test_a_single_value_of_one_record_beside_gaps_is_refused():
    data = people()
    data["health"] = np.where(np.arange(N) == 5, "alone", None)
    with pytest.raises(
        InputError, match="'health' has one value beside its statuses, in 1 records"
    ) as error:
        plan_study(study(), data)
    assert "alone" not in str(error.value)
