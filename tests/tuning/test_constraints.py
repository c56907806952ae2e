"""Constraints that a setting must keep beside its target: along known paths, and on few counts."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.intruder.world import make_world
from riskweighted.measures.context import EvaluationInputs
from riskweighted.measures.evaluation_settings import EvaluationSettings
from riskweighted.measures.measure import Estimate
from riskweighted.tuning import scan as scanning
from riskweighted.tuning.constraints import load, meets
from riskweighted.tuning.tuning_settings import TuningSettings, find_constraint
from riskweighted.tuning.tuning_tables import unreachable

DATA = (
    Path(__file__).resolve().parents[2] / "experiments" / "simulation_data" / "nb_mixture_n1000.csv"
)
SCENARIO = rw.Scenario(known=(), synthetic="outcome", radius=0.2)
SHORT = {"draws": 100, "tune": 100, "chains": 2}


def scan_of(target, kept, points=(0, 0.2, 0.4, 0.6, 0.8, 1.0)):
    def score(setting, near):
        return scanning.ScannedSetting(
            setting,
            Estimate(target(setting), 0.0),
            Estimate(setting, 0.0),
            {},
            (Estimate(kept(setting), 0.0),),
        )

    return scanning.Scan(
        scanning.Path("mix", "t", points), tuple(score(setting, None) for setting in points), score
    )


@pytest.mark.parametrize(
    ("limit", "crossing"),
    # the target binds, or the constraint does
    [(4.0, np.log(2)), (2.0, np.log(2)), (1.5, np.log(10 / 1.5) / 2)],
)
def test_the_weakest_setting_that_meets_all_is_found(limit, crossing):
    scan = scan_of(lambda t: 0.06 * np.exp(-t), lambda t: 10 * np.exp(-2 * t) if limit < 2 else 1.0)
    found = scan.meet(0.03, [limit])
    assert crossing <= found.setting < crossing + 0.02
    assert found.kept[0].value <= limit
    assert scan.meet(0.03, [0.1]) is None


def test_a_constraint_that_rises_along_the_path_leaves_what_keeps_it():
    scan = scan_of(lambda t: 0.06 * np.exp(-t), lambda t: 1 + t)
    assert scan.meet(0.05, [1.5]).setting == pytest.approx(np.log(1.2), abs=0.02)
    assert scan.meet(0.03, [1.5]) is None  # the target asks for more than the constraint lets
    settings = TuningSettings(
        "isolated-risk", 0.03, "mix", constraints={"isolated-information": 1.5}
    )
    assert unreachable(settings, [scan], [1.0, 1.0]) == (
        "no setting both brings 'isolated-risk' to at most 0.03 and keeps 'isolated-information' "
        "at most 1.5"
    )


def test_what_is_not_known_is_not_kept_but_decides_no_scan():
    assert load([Estimate(1.0, 0.1), Estimate(np.nan, 0.0)], [2.0, 1.0]) == 0.5
    assert not meets(Estimate(np.nan, np.nan), 1.0)
    assert meets(Estimate(1.05, 0.1), 1.0)


@pytest.fixture(scope="module")
def counts():
    return pd.read_csv(DATA).iloc[:150].reset_index(drop=True)


@pytest.fixture(scope="module")
def synthesizer():
    return rw.load_synthesizer("negative-binomial")("outcome ~ 1", components=1)


@pytest.fixture(scope="module")
def unweighted(counts, synthesizer):
    return rw.fit(synthesizer, counts, random_seed=1, **SHORT)


@pytest.fixture(scope="module")
def tuned(counts, synthesizer, unweighted):
    def call(**settings):
        given = {
            "target": "isolated-risk",
            "target_max": 0.03,
            "family": "mix",
            "random_seed": 3,
            **SHORT,
        }
        return rw.tune(synthesizer, counts, SCENARIO, fit=unweighted, **(given | settings))

    return call


@pytest.fixture(scope="module")
def free(tuned):
    return tuned()


def isolated_information(fit, counts):
    isolated = EvaluationInputs(make_world(counts, SCENARIO), EvaluationSettings()).isolated
    return rw.influence(fit)["information"].to_numpy()[isolated].sum()


def test_without_constraints_none_is_said(free):
    assert free.met
    assert free.constraints.empty
    assert "onstraint" not in free.why


def test_the_information_of_isolated_records_is_kept(free, tuned, counts):
    without = isolated_information(free.fit, counts)
    limit = without / 4
    found = tuned(constraints={"isolated-information": limit})
    (row,) = found.constraints.itertuples()
    assert row.constraint == "isolated-information"
    assert row.at_most == limit
    assert row.value == pytest.approx(isolated_information(found.fit, counts))
    assert row.value <= limit + row.error
    assert row.unweighted > without
    assert row.kept
    assert found.met
    assert found.settings["t"] > free.settings["t"]  # more than the target asks for
    assert found.reached < free.reached
    assert "Constraint 'isolated-information' is kept" in found.why
    frontier = found.frontier
    assert (frontier.loc[frontier["feasible"], "isolated-information"] <= limit + row.error).all()
    assert not frontier.loc[frontier["scheme"] == free.scheme, "feasible"].any()


@pytest.mark.slow
def test_the_largest_disclosure_is_that_of_attribution(tuned, counts):
    found = tuned(constraints={"disclosure-largest": 0.9})
    told = rw.attribution(counts, None, SCENARIO, fit=found.fit, scheme=found.scheme, random_seed=1)
    (row,) = found.constraints.itertuples()
    assert row.kept
    assert 0 < row.value < 0.9
    assert row.value == pytest.approx(told.loc[0, "largest_D"], rel=0.3)  # other draws
    assert found.frontier["disclosure-largest"].gt(0).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["isolated-information", "disclosure-largest"])
def test_a_constraint_that_no_setting_keeps_is_refused_in_one_line(tuned, name):
    with pytest.raises(
        InputError,
        match=rf"^constraint '{name}' cannot be kept at most 0.00001: it goes along 'mix' from "
        r"about [\d.]+ to [\d.]+$",
    ):
        tuned(constraints={name: 0.00001})


def test_one_that_is_not_judged_is_refused(tuned, monkeypatch):
    monkeypatch.setattr(
        "riskweighted.tuning.constraints.disclosure_of_copies",
        lambda fit, *_, **__: np.full(len(fit.confidential), np.nan),
    )
    with pytest.raises(
        InputError, match="'disclosure-largest' is not judged on the unweighted fit"
    ):
        tuned(constraints={"disclosure-largest": 0.5})


@pytest.mark.slow
def test_a_fit_that_breaks_what_the_mode_promised_says_so(tuned, monkeypatch):
    from riskweighted.tuning import constraints

    measured = constraints.disclosure_of_copies

    def beyond(fit, *given, bounded, **others):
        found = measured(fit, *given, bounded=bounded, **others)
        weighted = bounded and not (fit.alphas == 1).all(axis=None)
        return found + 0.5 if weighted else found

    monkeypatch.setattr(constraints, "disclosure_of_copies", beyond)
    found = tuned(constraints={"disclosure-largest": 0.4})
    assert not found.met
    assert not found.constraints["kept"].any()
    assert "Constraint 'disclosure-largest' is NOT kept" in found.why
    assert not found.frontier.loc[found.frontier["chosen"], "feasible"].any()


def test_whatever_is_a_target_is_a_constraint():
    assert find_constraint("lipschitz(income)").variable == "income"
    assert find_constraint("influence-information-isolated-mean") == find_constraint(
        "isolated-information-mean"
    )
    assert find_constraint("disclosure-largest").families == ()
    assert "mix" in find_constraint("isolated-information").families
