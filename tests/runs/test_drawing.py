"""Whatever reads a fit asks its one `Drawing`: a new setting of drawing, by which every released
number lies far up, is seen by every reader.
"""

import numpy as np
import pandas as pd
import pytest
from finished_run import ACCEPTED, ENTROPY, accepting
from laplace_fit import laplace_fit
from moved_draws import MovedDrawing, are_moved
from parted import people, study_file, write_parts

import riskweighted as rw
from riskweighted.common.replaced import REPLACED
from riskweighted.disclosure.attribution_inputs import AttributionInputs, AttributionRequest
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.own_fit import draw_copies
from riskweighted.disclosure.own_folds import own_folds
from riskweighted.disclosure.own_packs import disclosure_of_copies
from riskweighted.disclosure.uniques import Persons
from riskweighted.evaluation.mechanism import find_mechanism
from riskweighted.intruder.world import make_world
from riskweighted.measures.evaluation_settings import EvaluationSettings
from riskweighted.release.pack import release_run
from riskweighted.risk.expected_identification import own_masses
from riskweighted.risk.law import Space
from riskweighted.risk.shares import RiskShares
from riskweighted.runs import buckets
from riskweighted.runs.finished import load_run
from riskweighted.runs.run import run_study
from riskweighted.runs.sections import ReleaseSettings
from riskweighted.runs.study import load_study, make_study
from riskweighted.sequence.isolated_draws import draw_without_target
from riskweighted.sweeps.settings_grid import Sweep
from riskweighted.sweeps.sweep import sweep
from riskweighted.tuning import dataset_measures

pytestmark = pytest.mark.filterwarnings("ignore")
N = 120
SCENARIO = rw.Scenario(known=["group"], synthetic="income", radius=0.3)


def households() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b"], N)
    income = np.round(np.exp(6.5 + (group == "b") + 0.3 * rng.normal(size=N)))
    return pd.DataFrame({"group": group, "size": rng.integers(1, 4, N), "income": income})


def model():
    return rw.load_synthesizer("linear-regression")("income ~ group", transform="log")


@pytest.fixture(scope="module")
def plain():
    return laplace_fit(model(), households(), draws=80)


@pytest.fixture(scope="module")
def sampled():
    """A fit that others can be made like, without a record."""
    return rw.fit(model(), households(), draws=60, tune=60, chains=2, random_seed=1)


def world_of(fit):
    return make_world(fit.confidential, SCENARIO)


def person_draws(fit):
    setting = AttributionInputs(world_of(fit), AttributionRequest(), np.random.default_rng(1))
    persons = Persons(fit, setting, np.ones((N, 1)), [(0, 0)], [], 2, None)
    return persons._drawn(np.arange(3), 2)


def values_by_given_draws(fit):
    return [fit.released(fit.draw(0, 0), np.random.default_rng(1))["income"]]


def drawn_to_tune(fit):
    """The datasets of which a measure is taken."""
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            dataset_measures, "value_on", lambda measure, subject, frames, fit: seen.extend(frames)
        )
        dataset_measures.measured_on(None, fit, None, 1)
    return seen


# what each gives of a fit; whether it was of moved values follows
VALUES = {
    "datasets": lambda fit: [frame["income"] for frame in fit.synthesize(2, random_seed=1)],
    "a dataset given parameters": values_by_given_draws,
    "a stranger's datasets drawn again": lambda fit: draw_without_target(fit, 2, 1)[1]["income"],
    "copies of packs": lambda fit: (
        draw_copies(fit, Coding(world_of(fit)), np.random.default_rng(1), copies=50).values
    ),
    "packs of persons": person_draws,
    "law that copies are held to": lambda fit: Space(fit, fit.prepared.links[0]).rounding.released(
        np.zeros(1)
    ),
    "datasets to tune by": lambda fit: [frame["income"] for frame in drawn_to_tune(fit)],
    "fit check": lambda fit: (
        rw.check_fit(fit, draws=10, random_seed=1)
        .query("check in ('check-mean', 'check-quantile') and parameter != ''")["synthetic"]
        .to_numpy()
    ),
}
# chances that a copy is near the true value: none of moved values
CHANCES = {
    "expected risk": lambda fit: rw.expected_identification_risk(fit, SCENARIO, 10, 1)["own_mass"],
    "expected risk of a label": lambda fit: (
        find_mechanism("", fit, world_of(fit), EvaluationSettings(risk_draws=10), 1).risk.own_mass
    ),
    "probability of own balls": lambda fit: next(own_masses(fit, world_of(fit), [(0, 0)], 1)),
    "sources of risk": lambda fit: (
        RiskShares(fit, world_of(fit), np.ones(N, dtype=bool), ["group"], 1).figure
    ),
    "disclosure": lambda fit: disclosure_of_copies(fit, world_of(fit), None),
}


@pytest.mark.parametrize("read", VALUES.values(), ids=VALUES)
def test_every_reader_sees_values_as_a_new_setting_releases_them(read, plain):
    assert not are_moved(read(plain))
    assert are_moved(read(plain.with_drawing(MovedDrawing())))


@pytest.mark.parametrize("read", CHANCES.values(), ids=CHANCES)
def test_every_reader_finds_chances_as_a_new_setting_makes_them(read, plain):
    assert np.nanmax(read(plain)) > 0
    assert np.nanmax(read(plain.with_drawing(MovedDrawing()))) == 0


def test_fits_without_some_records_draw_as_the_fit_does(sampled):
    """Own folds, and with them what is fitted anew without a record or a unit."""
    moved, rng = sampled.with_drawing(MovedDrawing()), np.random.default_rng(1)
    packs = own_folds(moved, world_of(moved), None, None, 2, rng)[1]
    assert len(packs) == 6
    assert all(are_moved(pack) for of_fit in packs for pack in of_fit)


def test_a_search_tunes_by_datasets_as_they_are_released(sampled):
    """The loss, the distance of the distribution functions, is 1 at every mode and of every fit."""
    tuning = rw.tune(
        model(),
        households(),
        SCENARIO,
        target="lipschitz",
        target_max=3.0,
        family="uniform",
        fit=sampled.with_drawing(MovedDrawing()),
        draws=60,
        tune=60,
        chains=2,
        random_seed=1,
    )
    assert tuning.fit is not tuning.unweighted
    assert are_moved(tuning.fit.synthesize(1, random_seed=1)[0]["income"])
    np.testing.assert_array_equal(tuning.frontier["loss"], 1.0)


SETTINGS = {
    "data": {"path": "data.csv"},
    "scenario": {"known": ["group"], "synthetic": "income", "radius": 0.3},
    "synthesizer": {"name": "linear-regression", "formula": "income ~ group", "transform": "log"},
    "weights": {"schemes": ["unweighted", "marginal"]},
    "sampling": {"chains": 2, "draws": 60, "tune": 100},
    "release": {"L": 3, "columns": ["size"], "disclosure": ACCEPTED},
    "evaluation": {"resamples": 20, "risk_draws": 20},
    "seed": 3,
}


@pytest.fixture
def moving(monkeypatch):
    """A study whose settings of drawing are those of this package and the new one."""
    drawing = ReleaseSettings.drawing.fget
    monkeypatch.setattr(
        ReleaseSettings, "drawing", property(lambda self: MovedDrawing(drawing(self).precision))
    )


def assert_seen(run):
    """In the datasets and the tables of a finished run."""
    for frames in run.synthetic.values():
        assert all(are_moved(frame["income"]) for frame in frames)
    disclosed, checked = run.tables["disclosure"], run.tables["fit_check"]
    assert not disclosed[["with", "largest_D"]].to_numpy().any()
    assert are_moved(checked.loc[checked["check"] == "check-mean", "synthetic"])
    assert checked.loc[checked["check"] == "check-pit-outer", "synthetic"].isin([0, 1]).all()
    risk = run.tables["risk"].query("label != 'confidential'").groupby("key")["value"]
    for key in ("expected-mean-risk", "attributable-isolated", "mean-risk", "disclosure-largest"):
        assert not risk.get_group(key).any(), key


@pytest.mark.slow
def test_a_run_and_what_is_released_of_it_see_a_new_setting(moving, tmp_path):
    households().to_csv(tmp_path / "data.csv", index=False)
    run_study(make_study(SETTINGS, tmp_path), tmp_path / "out", entropy=ENTROPY)
    run = load_run(tmp_path / "out")
    assert_seen(run)
    accepted = accepting(run, "marginal")
    pack = release_run(run, tmp_path / "pack", schemes=["marginal"], **accepted).folder
    left = [pd.read_csv(path) for path in sorted(pack.rglob("*.csv")) if path.parent.name != "pack"]
    assert all(are_moved(frame["income"]) for frame in left if "income" in frame)
    assert sum("income" in frame for frame in left) == 3


@pytest.mark.slow
def test_the_cells_of_a_sweep_see_a_new_setting(moving, tmp_path):
    plan = Sweep(make_study(SETTINGS, tmp_path), {"release.L": [2, 3]})
    done = sweep(plan, tmp_path / "out", confidential=households(), workers=1)
    values = done.results[done.results["label"] != "confidential"].groupby("key")["value"]
    for key in ("expected-mean-risk", "mean-risk", "disclosure-largest"):
        assert not values.get_group(key).any(), key
    checked = done.fit_check.query("label == 'unweighted' and check == 'check-mean'")
    assert (checked["verdict"] == "misfits").all()


@pytest.mark.long
@pytest.mark.slow
def test_the_buckets_of_a_file_see_a_new_setting(moving, tmp_path, monkeypatch):
    monkeypatch.setattr(buckets, "ROOM", 250)
    write_parts(tmp_path, people(), [500])
    file = study_file(tmp_path, identified='id = "hh"\nfitted = 400')
    assert_seen(load_run(run_study(load_study(file), tmp_path / "out").folder))


def test_a_call_of_old_with_a_precision_is_told_what_to_write(plain):
    assert set(REPLACED["argument"]) == {"precision"}
    with pytest.raises(rw.InputError, match="with_drawing"):
        plain.synthesize(2, precision=1.0)
    with pytest.raises(rw.InputError, match="with_drawing"):
        rw.check_fit(plain, precision=1.0)
