"""The Consumer Expenditure experiment: published numbers, tables beside them, and the report of a
run.
"""

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.ce.facts import CE_PUBLISHED, CE_REGRESSION
from experiments.ce.population import CE_CATEGORIES, simulate_ce
from riskweighted.common.errors import InputError
from riskweighted.common.settings import to_table
from riskweighted.evaluation.evaluate import evaluate
from riskweighted.measures.evaluation_settings import EvaluationSettings
from riskweighted.runs.finished import FinishedRun
from riskweighted.runs.study import load_study, make_study

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "experiments" / "ce"
sys.path.insert(0, str(ROOT))  # experiments are no part of the package
from experiments.ce import chance, replicate, tables  # noqa: E402

RECORDS = 1500  # enough for forty patterns without a single record
SCHEMES = ["unweighted", "marginal", "pairwise"]
SOURCES = {
    "gender": ("SEX_REF", ["1", "2"]),
    "education": ("EDUC_REF", ["12", "13"]),
    "region": ("REGION", ["1", "2", "3", "4"]),
    "urban": ("BLS_URBN", ["1", "2"]),
    "marital_status": ("MARITAL1", ["1", "2"]),
    "urban_type": ("POPSIZE", ["1", "3"]),
    "cbsa": ("SMSASTAT", ["1", "2"]),
    "earner": ("EARNCOMP", ["1", "5"]),
    "age_band": ("AGE_REF", ["30", "70"]),
    "family_size": ("FAM_SIZE", ["1", "2"]),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The tables of a run whose synthetic incomes are those of other records; nothing is fitted."""
    confidential, rng = simulate_ce(RECORDS), np.random.default_rng(1)
    shuffled = {
        name: [
            confidential.assign(income=rng.permutation(confidential["income"])) for _ in range(2)
        ]
        for name in SCHEMES
    }
    top_coded = confidential.assign(
        income=confidential["income"].clip(upper=confidential["income"].quantile(0.94))
    )
    study = load_study(HERE / "study.toml")
    scenario = study.evaluating_scenario()
    measures = dataclasses.asdict(study.evaluation.measures) | {"resamples": 20}
    result = evaluate(
        confidential,
        shuffled | {"top-coding": [top_coded]},
        scenario,
        settings=EvaluationSettings(**measures),
        baseline="unweighted",
        random_seed=1,
    )
    folder = tmp_path_factory.mktemp("ce") / "run"
    (folder / "confidential").mkdir(parents=True)
    result.records.rename_axis("row").to_csv(folder / "confidential" / "identification_risk.csv")
    convergence = pd.DataFrame(
        {
            "label": SCHEMES,
            "r_hat": [1.0, 1.01, 1.02],
            "ess_bulk": [300.0, 200.0, 100.0],
            "divergences": [0, 1, 2],
            "converged": [True, True, False],
        }
    )
    summary = pd.DataFrame(
        {"label": [*SCHEMES, "top-coding"], "mean weight": [1, 0.1, 0.2, np.nan]}
    )
    return FinishedRun(
        folder,
        {"input": {"records": RECORDS}, "files": {}},
        {
            "risk": result.risk,
            "utility": result.utility,
            "convergence": convergence,
            "summary": summary,
        },
    )


@pytest.mark.parametrize("table", ["table_2", "table_3"])
def test_published_records_are_ten_with_a_risk_in_every_column(table):
    published = tables.published(table)
    assert list(published) == ["income", "Data", "Synthesizer", "Marginal", "Topcoding"]
    risks = published.drop(columns="income")
    assert len(published) == 10
    assert risks.notna().all(axis=None)
    assert risks.ge(0).all(axis=None)
    assert risks.lt(1).all(axis=None)


def test_published_tables_agree_where_they_print_the_same_record():
    second, third = tables.published("table_2"), tables.published("table_3")
    assert second["Data"].is_monotonic_decreasing
    assert list(third["income"]) == ["(1000K, 2000K)"] * 3 + ["(100K, 1000K)"] * 7
    largest = second[second["income"] == "(1000K, 2000K)"]
    assert len(largest.merge(third)) == 1


def test_published_estimates_are_complete_and_those_of_the_facts():
    table = tables.published("table_4")
    assert table.groupby("measure")["label"].apply(list).map(tuple).unique().tolist() == [
        ("Data", "Synthesizer", "Marginal")
    ]
    assert (table["lower"] < table["estimate"]).all()
    assert (table["estimate"] < table["upper"]).all()
    data = table[table["label"] == "Data"].set_index("measure")
    facts = {
        "mean": "mean",
        "median": "median",
        "0.9 quantile": "90 % quantile",
        "coefficient Earner 2": "coefficient of Earner 2",
    }
    for measure, fact in facts.items():
        assert data.loc[measure, "estimate"] == CE_PUBLISHED[fact]
        half_width = (data.loc[measure, "upper"] - data.loc[measure, "lower"]) / 2
        assert half_width == pytest.approx(
            CE_PUBLISHED[f"{fact}, half-width of 95 % interval"], abs=0.01
        )


def test_published_distances_are_two_per_synthesizer():
    table = tables.published("table_7").pivot(index="label", columns="measure", values="value")
    assert set(table.index) == {"Synthesizer", "Marginal", "Pairwise"}
    # a mean square is below the square of the maximum
    assert (table["U_a"] < table["U_m"] ** 2).all()


def test_the_study_has_the_settings_of_the_paper():
    study = load_study(HERE / "study.toml")
    assert list(study.scenario.known) == ["gender", "age_band", "region"]
    assert (study.scenario.radius, study.release.L, study.evaluation.quantiles) == (
        0.2,
        20,
        (0.5, 0.9),
    )
    assert study.evaluation.regression == CE_REGRESSION
    assert study.baselines["top-coding"]["quantile"] == 0.94
    assert all(f"C({name})" in study.synthesizer.formula for name in CE_CATEGORIES)


def test_records_are_chosen_by_risk_or_by_income_the_first_of_equal_ones():
    income = pd.Series(
        [-20e3, 10e3, 50e3, 75e3, 100e3, 500e3, 1500e3, 2500e3, 60e3, 70e3, 80e3, 90e3]
    )
    risk = pd.Series([0.9, 0.1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.35, 0.3, 0.25, 0.2])
    records = pd.DataFrame(
        {label: risk if label == "confidential" else risk / 2 for label in tables.NAMES}
    )
    by_risk = tables.record_risks(income, records, "table_2")
    assert list(by_risk["Data"]) == [0.9, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.35, 0.3, 0.25]
    assert list(by_risk["income"][:4]) == [
        "below -10K",
        "(-10K, 50K)",
        "(50K, 100K)",
        "(50K, 100K)",
    ]
    by_income = tables.record_risks(income, records, "table_3")
    assert list(by_income["Pairwise"][:3]) == [0.2, 0.25, 0.3]
    assert list(by_income["income"][:3]) == ["above 2000K", "(1000K, 2000K)", "(100K, 1000K)"]
    assert list(by_income["Marginal published"]) == list(tables.published("table_3")["Marginal"])


def test_estimates_stand_beside_the_published_ones(run):
    table = tables.estimates(run.tables["utility"]).set_index(["measure", "label"])
    assert len(table) == 4 * 5 + 3
    six = table.loc[("mean", "Marginal, K = 6")]
    assert six["lower"] < 76641.95 < six["upper"]  # the published mean under marginal weights
    assert six["estimate"] > table.loc[("mean", "Data"), "estimate published"]
    assert table.loc[("mean", "Marginal"), "from Data, % published"] == pytest.approx(
        100 * (76641.95 / 72075.60 - 1)
    )
    # nearer to zero
    assert table.loc[("coefficient Earner 2", "Marginal"), "from Data, % published"] > 0
    assert np.isnan(table.loc[("mean", "Pairwise"), "estimate published"])
    ours = run.tables["utility"].set_index(["label", "measure"])["value"]
    assert table.loc[("median", "Synthesizer"), "estimate"] == ours["unweighted", "median"]
    own = ours["confidential", "median"]
    expected = 100 * (ours["unweighted", "median"] - own) / own
    assert table.loc[("median", "Synthesizer"), "from Data, %"] == pytest.approx(expected)


def test_distances_and_risk_keep_their_labels(run):
    distances = tables.empirical_distances(run.tables["utility"]).set_index(["measure", "label"])
    ours = run.tables["utility"].set_index(["label", "measure"])["value"]
    assert distances.loc[("U_m", "Pairwise"), "value"] == ours["pairwise", "U_m"]
    assert distances.loc[("U_m", "Pairwise"), "value published"] == 0.0356
    risk = tables.risk_profile(run.tables["risk"]).set_index(["measure", "label"])
    assert risk["value published"].dropna().to_dict() == {
        ("risk interquartile range", "Marginal"): 0.1534,
        ("risk interquartile range", "Pairwise"): 0.1385,
    }


def test_markdown_cells():
    table = pd.DataFrame({"name": ["a"], "large": [72075.6], "small": [3.6e-05], "none": [np.nan]})
    assert tables.as_markdown(table).splitlines()[-1] == "| a | 72,076 | 3.6e-05 |  |"
    assert tables.as_markdown(table[["small"]], 4).splitlines()[-1] == "| 0.0000 |"


def test_rises_are_counted_between_different_sets_only():
    risks = {
        "unweighted": np.array([[0.0, 0.5, 0.1], [0.3, 0.5, 0.1]]),
        "marginal": np.array([[0.3, 0.5, 0.5], [0.0, 0.8, 0.5]]),
    }
    table = chance.rises(risks, 0.25).set_index("label")
    # unweighted: set 2 against 1 one record, set 1 against 2 none; marginal: set 1 against 2 one,
    # set 2 against 1 two
    assert table.loc["Synthesizer", ["rises, mean of pairs", "fewest", "most"]].tolist() == [
        0.5,
        0,
        1,
    ]
    assert table.loc["Marginal", ["rises, mean of pairs", "fewest", "most"]].tolist() == [1.5, 1, 2]
    assert table["rises, all sets together"].tolist() == [0, 1]
    assert table["maximum risk, all sets together"].tolist() == [0.5, 0.65]


def test_report_of_a_run(run, tmp_path):
    report = tmp_path / "report"
    report.mkdir()
    (report / "stale.csv").touch()
    replicate.write_report(run, simulate_ce(RECORDS), report)
    figures = sorted(path.stem for path in report.glob("*.png"))
    assert figures == ["figure_10", "figure_2", "figure_3", "figure_8", "figure_9"]
    names = {path.stem for path in report.glob("*.csv")}
    assert names == {"facts", "fits", "table_2", "table_3", "table_4", "table_7", "risk"}
    assert len(pd.read_csv(report / "table_4.csv")) == 23
    fits = pd.read_csv(report / "fits.csv")
    assert list(fits["label"]) == ["Synthesizer", "Marginal", "Pairwise"]
    assert list(fits["converged"]) == ["yes", "yes", "NO"]
    assert (report / "tables.md").read_text(encoding="utf-8").count("\n## ") == 6
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


@pytest.mark.long
@pytest.mark.slow
def test_public_use_file_from_start_to_report_and_again(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    file = pd.DataFrame({source: rng.choice(codes, 300) for source, codes in SOURCES.values()})
    file["FINCBTXM"] = np.round(rng.lognormal(10.8, 0.9, 300), 1)
    file.to_csv(tmp_path / "fmli171x.csv", index=False)
    settings = to_table(load_study(HERE / "study.toml")) | {
        "synthesizer": {
            "name": "linear-regression",
            "formula": "income ~ C(earner)",
            "transform": "asinh",
            "transform_constant": 1e4,
        },
        "release": {"L": 2},
        "evaluation": {
            "regression": "income ~ C(earner)",
            "coefficient": "C(earner)[T.not earner]",
            "resamples": 20,
        },
    }
    study, out = make_study(settings), tmp_path / "out"
    report = replicate.replicate(study, out, pumd=tmp_path / "fmli171x.csv")
    first = (report / "tables.md").read_bytes()
    monkeypatch.setattr(
        replicate, "run_study", lambda *_, **__: pytest.fail("a finished run is not made again")
    )
    assert (
        replicate.replicate(study, out, pumd=tmp_path / "fmli171x.csv") / "tables.md"
    ).read_bytes() == first
    with pytest.raises(InputError, match="other settings"):
        replicate.replicate(dataclasses.replace(study, seed=5), out, pumd=tmp_path / "fmli171x.csv")
    with pytest.raises(InputError, match="other settings"):
        replicate.replicate(study, out)
