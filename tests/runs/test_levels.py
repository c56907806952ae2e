"""A study whose target holds levels: dry run, run, what it leaves, report and pack; and what it
refuses.
"""

import warnings
from importlib.metadata import EntryPoint, EntryPoints, entry_points

import numpy as np
import pandas as pd
import pytest
from brute import assert_clear
from finished_run import ACCEPTED, ENTROPY

import riskweighted as rw
from riskweighted.common.errors import InputError, RiskWeightedWarning
from riskweighted.common.settings import as_toml
from riskweighted.contract import synthesizer as contract
from riskweighted.contract.synthesizer import GROUP
from riskweighted.evaluation.measure_rows import Statistic, by_label
from riskweighted.runs import candidates
from riskweighted.runs.check_study import check_study
from riskweighted.runs.finished import load_run
from riskweighted.runs.plan import plan_study
from riskweighted.runs.run import run_study
from riskweighted.runs.study import make_study

N = 200
SETTINGS = {
    "data": {"path": "jobs.csv"},
    "scenario": {"known": ["region"], "synthetic": "job"},
    "synthesizer": {"name": "multinomial", "formula": "job ~ age + region"},
    "weights": {"schemes": ["unweighted", "marginal"]},
    "sampling": {"draws": 100, "tune": 100, "chains": 2},
    "release": {"L": 3, "disclosure": ACCEPTED},
    "evaluation": {"resamples": 20},
}


@pytest.fixture(scope="module", autouse=True)
def registered():
    """The models under their names, whether or not the installed metadata have them."""
    own = [
        EntryPoint(name, f"riskweighted_models.{name}:{name.capitalize()}", GROUP)
        for name in ("logistic", "multinomial", "ordinal")
    ]

    def found(group):
        points = list(entry_points(group=group))
        return EntryPoints(
            [
                *points,
                *(
                    one
                    for one in own
                    if group == GROUP and one.name not in {point.name for point in points}
                ),
            ]
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contract, "entry_points", found)
        yield


def jobs():
    rng = np.random.default_rng(3)
    age = rng.normal(45, 10, N).round()
    scores = (
        np.outer((age - 45) / 10, [0, 0.6, -0.8])
        + np.log([0.6, 0.28, 0.12])
        + rng.gumbel(size=(N, 3))
    )
    code = scores.argmax(axis=1)
    job = np.array(["clerk", "nurse", "smith"])[code]
    return pd.DataFrame(
        {"region": rng.choice(["north", "south"], N), "age": age, "job": job, "code": code}
    )


def study(**changes):
    return make_study({**SETTINGS, **changes})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("levels")
    jobs().to_csv(root / "jobs.csv", index=False)
    (root / "study.toml").write_text(as_toml(SETTINGS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)
        run_study(rw.load_study(root / "study.toml"), root / "results", entropy=ENTROPY)
    return root


def test_a_run_goes_from_levels_to_tables(folder):
    run, data = load_run(folder / "results"), jobs()
    assert run.manifest["precision"] == {"job": "levels"}
    for frames in run.synthetic.values():
        for frame in frames:
            assert set(frame["job"]) <= set(data["job"])
            pd.testing.assert_series_equal(frame["region"], data["region"], check_dtype=False)
    utility = run.tables["utility"]
    shares = by_label(utility, Statistic("level-share", "job", term="smith"))
    assert shares["confidential"] == pytest.approx((data["job"] == "smith").mean(), abs=0.05)
    assert shares["marginal"] < shares["unweighted"]
    distances = by_label(utility, Statistic("total-variation", "job"))
    shares = [
        frame["job"].value_counts(normalize=True) for frame in (data, *run.synthetic["marginal"])
    ]
    each = [
        sum(abs(one.get(level, 0) - shares[0][level]) for level in shares[0].index) / 2
        for one in shares[1:]
    ]
    assert distances["marginal"] == pytest.approx(np.mean(each), rel=1e-9)
    assert utility["key"].isin(["level-share", "total-variation"]).all()
    assert "total variation of job" in run.tables["summary"].columns
    assert "half the sum over the levels" in rw.to_markdown(rw.summary_table(run))
    checks = run.tables["fit_check"]
    assert set(checks.loc[checks["label"] == "unweighted", "verdict"]) == {"fits"}


def test_the_tables_say_which_engine_drew(folder):
    run = load_run(folder / "results")
    table = run.tables["convergence"]
    assert set(table["engine"]) == {"direct"}
    assert table["r_hat"].isna().all()
    assert table["pareto_k"].le(0.7).all()
    report = rw.render_report(run)
    assert "Pareto k-hat" in report
    assert "nan" not in report.split("Convergence by scheme")[1].split("</table>")[0]
    with pytest.raises(InputError) as caught:
        study(sampling={"engine": "gibbs"})
    assert_clear(caught, "sampling.engine", "'auto'", "'nuts'")


@pytest.mark.long
@pytest.mark.slow
def test_the_report_and_the_pack_hold_levels(folder, tmp_path):
    run = load_run(folder / "results")
    assert "share of smith" in rw.render_report(run, internal=True)
    outside = rw.render_report(run)
    assert "share of smith of job" not in outside  # a share of one level has no rule for outside
    assert "Levels of job" in outside
    assert "No figure" not in outside.split("Levels of job")[1][:400]
    assert "smith" in outside  # 10 records and more hold it
    assert "smith" not in rw.render_report(run, minimum_count=60)
    pack = rw.release_run(
        run,
        tmp_path / "pack",
        schemes=["marginal"],
        formats=("csv", "dta"),
        report=lambda one: rw.render_report(one),
        accept_uniques=True,
    )
    codebook = pd.read_csv(pack.folder / "codebook.csv").set_index("variable")
    assert codebook.loc["job", ["values", "precision"]].tolist() == [
        "clerk; nurse; smith",
        "levels",
    ]
    assert rw.check_release(pack.folder, run) is not None
    released = next(pack.folder.rglob("*.csv*"))
    assert released.exists()


def test_a_dry_run_plans_it_and_settings_of_numbers_are_refused():
    data = jobs()
    plan = plan_study(study(), data, estimated=False)
    assert plan.records == N
    shift = rw.margin_shift(
        data, study().scenario, rw.marginal_weights(data, study().scenario)
    ).iloc[0]
    assert plan.shift["marginal"].iloc[0].equals(shift)
    assert plan.shift["unweighted"].iloc[0]["total_variation"] == 0
    assert shift["total_variation"] > 0.05
    assert shift["least_ratio"] < 0.6
    ordinal = {"name": "ordinal", "formula": "code ~ age", "levels": [0, 1, 2]}
    coded = {"known": ["region"], "synthetic": "code"}
    for changes, named in (
        ({"release": {"precision": 0.1}}, ("release.precision", "levels")),
        ({"scenario": coded, "synthesizer": ordinal}, ("'code'", "scenario.categorical")),
        ({"release": {"columns": ["code"]}}, ("'code'", "'job'", "reveal the level")),
        (
            {"weights": {"target": "top-1-percent-risk", "target_max": 0.1}},
            ("top-1-percent-risk", "U_m", "'job'"),
        ),
        (
            {"synthesizer": {"name": "linear-regression", "formula": "job ~ age"}},
            ("'job'", "numeric"),
        ),
        ({"synthesizer": {"name": "logistic", "formula": "job ~ age"}}, ("'job'", "3 levels")),
        ({"top_coding": {"quantile": 0.9}}, ("'job'", "numeric")),
        (
            {"guarantee": {"epsilon": 2}, "weights": {"schemes": ["unweighted"]}},
            (
                "levels of Multinomial",
                "the columns 'region', 'age'",
                "levels of 'job'",
                'public = ["region", "age", "job"]',
            ),
        ),
    ):
        with pytest.raises(InputError) as caught:
            check_study(study(**changes), data)
        assert_clear(caught, *named)
    plan_study(
        study(scenario={**coded, "categorical": ["code"]}, synthesizer=ordinal),
        data,
        estimated=False,
    )
    fine = {"name": "multinomial", "formula": "job ~ age", "levels": ["clerk", "nurse", "smith"]}
    check_study(
        study(
            synthesizer=fine,
            guarantee={"epsilon": 2, "public": ["age", "job"]},
            weights={"schemes": ["unweighted"]},
        ),
        data,
    )


def test_a_column_that_tells_the_level_is_found_and_a_number_of_ones_own_is_not():
    data, rng = jobs(), np.random.default_rng(1)

    def tells(column):
        told = rw.derived(data.assign(other=column), "job", released=["other"], categorical=["job"])
        return (told["verdict"] == "refuse").any()

    assert tells(data["job"] + rng.choice([" 1", " 2"], N))
    assert tells(data["code"].where(np.arange(N) > 0, 2))
    assert not tells(np.arange(N))
    assert not tells(data["region"])


def test_auto_compares_the_models_of_levels_with_each_other_only():
    found = {one.name: one for one in candidates.find_candidates("job ~ age", jobs(), {})}
    assert [name for name, one in found.items() if one.model is not None] == ["multinomial"]
    assert "order" in found["ordinal"].refusal
    assert "numeric" in found["linear-regression"].refusal
    numbers = {
        one.name
        for one in candidates.find_candidates("age ~ region", jobs(), {})
        if one.model is not None
    }
    assert numbers.isdisjoint({"logistic", "multinomial", "ordinal"})
