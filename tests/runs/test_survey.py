"""A study with survey weights and a list of regressions: dry run, run, report, pack, sweep; and
what it refuses.
"""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from brute import assert_clear
from command_line import riskweighted
from finished_run import ACCEPTED

import riskweighted as rw
from riskweighted.common.errors import InputError, RiskWeightedWarning
from riskweighted.common.settings import as_toml
from riskweighted.evaluation.measure_rows import Statistic, by_label
from riskweighted.reports.source import gather
from riskweighted.runs.check_study import check_study
from riskweighted.runs.finished import load_run
from riskweighted.runs.plan import plan_study
from riskweighted.runs.run import run_study
from riskweighted.runs.stages import fit_key
from riskweighted.runs.study import make_study
from riskweighted.sweeps.cells import identify
from riskweighted.sweeps.settings_grid import GridPoint

N = 240
FORMULA = "log(income) ~ age + region"
SETTINGS = {
    "data": {"path": "people.csv"},
    "scenario": {"known": ["region"], "synthetic": "income"},
    "synthesizer": {
        "name": "linear-regression",
        "formula": "income ~ age + region",
        "transform": "log",
    },
    "weights": {"schemes": ["unweighted", "marginal", "lipschitz-target(D=1)"], "survey": "w"},
    "sampling": {"draws": 100, "tune": 100, "chains": 2},
    "release": {"L": 3, "columns": ["age"], "disclosure": ACCEPTED},
    "evaluation": {"resamples": 20, "survey": "w", "strata": "region", "regressions": [FORMULA]},
}


def people():
    rng = np.random.default_rng(3)
    age, region = rng.integers(20, 70, N).astype(float), rng.choice(["north", "south"], N)
    income = np.exp(8 + 0.01 * age + 0.6 * rng.normal(size=N)).round(1)
    return pd.DataFrame(
        {
            "region": region,
            "age": age,
            "income": income,
            "w": np.where(income > np.median(income), 1.0, 4.0),
        }
    )


def study(**changes):
    sections = {
        name: {**SETTINGS.get(name, {}), **values} if isinstance(values, dict) else values
        for name, values in changes.items()
    }
    return make_study({**SETTINGS, **sections})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("survey")
    people().to_csv(root / "people.csv", index=False)
    (root / "study.toml").write_text(as_toml(SETTINGS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)
        run_study(rw.load_study(root / "study.toml"), root / "results")
    return root


def test_the_run_fits_the_products(folder):
    run, data = load_run(folder / "results"), people()
    survey = rw.survey_weights(data, "w").to_numpy()
    fits = {}
    for scheme in run.schemes:
        alpha = pd.Series(run.weights[scheme].to_numpy(), data.index)
        fits[scheme] = rw.load_fit(
            run.posterior_path(scheme), run.study.make_synthesizer(), data, alpha, survey="w"
        )
        with pytest.raises(InputError, match="other weights"):
            rw.load_fit(run.posterior_path(scheme), run.study.make_synthesizer(), data, alpha)
    assert fits["unweighted"].weights.max() == pytest.approx(survey.max())
    # of the risk weights alone
    assert run.tables["summary"].set_index("label").loc["unweighted", "mean weight"] == 1
    limited = fits["lipschitz-target(D=1)"].alpha * fits["unweighted"].largest_terms
    assert limited.max() == pytest.approx(1)  # of contributions with their survey weights
    drawn = [
        np.mean(
            [frame["income"].mean() for frame in fits["unweighted"].synthesize(3, random_seed=1)]
        )
    ]
    assert drawn[0] < data["income"].mean()  # records of small incomes have four times the weight


def test_tables_hold_weighted_estimates_and_coefficients(folder):
    utility = load_run(folder / "results").tables["utility"]
    design = rw.survey_design(people(), "w", "region")
    own = rw.survey_mean(people()["income"].to_numpy(), design)
    assert by_label(utility, Statistic("mean", "income"))["confidential"] == pytest.approx(
        own.value
    )
    overlaps = by_label(utility, Statistic("analysis-overlap", "income", term=FORMULA))
    assert list(overlaps.index) == ["unweighted", "marginal", "lipschitz-target(D=1)"]
    assert load_run(folder / "results").tables["fit_check"]["verdict"].eq("cost").all()


@pytest.mark.long
def test_report(folder):
    run = load_run(folder / "results")
    inside, outside = rw.render_report(run, internal=True), rw.render_report(run)
    sentence = (
        "The survey weights w, normalised to sum n, multiply the weights of every scheme in the "
        "likelihood"
    )
    assert sentence in inside
    assert "Their products run from the least to the largest: unweighted 0.400 to 1.600;" in inside
    assert "estimate age in" in inside
    assert sentence in outside
    assert "Their products run" not in outside
    assert "estimate age in" not in outside
    assert f"Mean overlap in {FORMULA}" in outside


@pytest.mark.long
@pytest.mark.slow
def test_pack(folder, tmp_path):
    run = load_run(folder / "results")
    report = partial(rw.render_report, internal=False)
    given = {
        "report": report,
        "accept_uniques": True,
        "accept_fail": "under survey weights no fit is unweighted",
    }
    pack = rw.release_run(run, tmp_path / "pack", schemes=["marginal"], **given)
    assert rw.check_release(pack.folder, run) is not None


def test_a_dry_run_says_which_column_and_the_range(folder):
    plan = plan_study(study(), people(), estimated=False)
    assert plan.survey["unweighted"] == pytest.approx((0.4, 1.6))
    assert plan.survey["marginal"][1] < 1.6
    told = riskweighted("run", "study.toml", "--out", "other", "--dry-run", cwd=folder)
    assert told.returncode == 0, told.stderr
    assert "survey weights" in told.stdout
    assert "w, sum n, times alpha in the likelihood: unweighted 0.400 to 1.600" in " ".join(
        told.stdout.split()
    )
    strict = riskweighted("run", "study.toml", "--out", "other", "--strict", cwd=folder)
    assert strict.returncode != 0
    assert "--strict judges a fit by its data as they were sampled" in " ".join(
        strict.stderr.split()
    )


def test_weighted_estimates_that_few_records_make_are_not_shown_outside(folder):
    run, data = load_run(folder / "results"), people()

    def shown(internal, data):
        table = gather(run, internal, data, 10).run.tables["utility"]
        return set(table.loc[table["variable"] == "income", "key"])

    assert {"mean", "quantile", "ecdf-maximum"} <= shown(False, data)
    rest = data["w"].sum() - data.loc[7, "w"]
    data.loc[7, "w"] = rest / 8.5  # more than a tenth of the weight of all
    assert not shown(False, data) & {"mean", "quantile", "ecdf-maximum"}
    assert {"mean", "quantile"} <= shown(True, data)
    # less than a tenth, and an amount that the weighted sum gives away
    data.loc[7, ["w", "income"]] = rest / 20, 20 * data["income"].max()
    assert "mean" not in shown(False, data)
    assert "ecdf-maximum" in shown(False, data)


def test_a_fit_is_kept_for_its_survey_weights():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)
        checked = check_study(study(), people()).work
        plain = check_study(study(weights={"survey": None}), people()).work
    alpha = checked.weights("unweighted")["income"]
    assert fit_key(checked.study, checked.prepared().blocks[0].model, alpha) != fit_key(
        plain.study, plain.prepared().blocks[0].model, alpha
    )
    cells = [
        identify(GridPoint({}, 1, "unweighted", one.study), "data", {}, whack_a_mole=False)
        for one in (checked, plain)
    ]
    assert cells[0].fit != cells[1].fit


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"weights": {"survey": "income"}}, ("weights.survey", "'income'", "synthesized")),
        ({"weights": {"survey": "nope"}}, ("'nope'",)),
        ({"weights": {"survey": "bad"}}, ("'bad'", "1 are missing", "2 negative")),
        ({"weights": {"survey": "none"}}, ("'none'", "all 240 are zero")),
        ({"weights": {"survey": "region"}}, ("'region'", "numbers >= 0")),
        ({"evaluation": {"survey": "income"}}, ("'income'", "synthesized")),
        ({"evaluation": {"survey": "bad"}}, ("'bad'", "1 are missing")),
        ({"evaluation": {"strata": "w2"}}, ("'w2'", "single record")),
        ({"evaluation": {"regressions": ["region ~ nope"]}}, ("'nope'",)),
    ],
)
def test_what_is_refused_before_a_fit(changes, named):
    data = people().assign(bad=1.0, none=0, w2=np.arange(N))
    data.loc[[0, 1, 2], "bad"] = [np.nan, -1.0, -2.0]
    with pytest.raises(InputError) as caught:
        check_study(study(**changes), data)
    assert_clear(caught, *named)


def test_a_guarantee_is_refused():
    with pytest.raises(InputError, match="a guarantee holds for no survey weights"):
        study(guarantee={"epsilon": 2}, weights={"schemes": ["unweighted"]})


def test_a_chain_takes_them_too():
    """Every variable's weights are multiplied; the range is over all of them."""
    data = people().assign(
        job=lambda frame: np.where(
            frame["age"] + 10 * np.random.default_rng(1).normal(size=N) > 45, "paid", "none"
        )
    )
    several = {
        "scenario": {"known": ["region"], "synthetic": ["income", "job"]},
        "synthesizer": {"name": "sequential", "predictors": ["age"]},
        "weights": {"schemes": ["unweighted", "pairwise"], "survey": "w"},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)
        plan = plan_study(make_study({**SETTINGS, **several}), data, estimated=False)
        checked = check_study(make_study({**SETTINGS, **several}), data).work
    assert plan.survey["unweighted"] == pytest.approx((0.4, 1.6))
    assert plan.survey["pairwise"][1] < 1.6
    pd.testing.assert_series_equal(
        checked.prepared().blocks[0].model.survey, rw.survey_weights(data, "w")
    )
    with pytest.raises(InputError) as caught:
        check_study(make_study({**SETTINGS, **several, "weights": {"survey": "income"}}), data)
    assert_clear(caught, "weights.survey", "'income'", "synthesized")
