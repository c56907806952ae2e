import re

import numpy as np
import pandas as pd
import pytest

from experiments.ce.facts import CE_KNOWN, CE_PUBLISHED, CE_REGRESSION, CE_TOP_CODE, ce_facts
from experiments.ce.population import CALIBRATED, CE_CATEGORIES, draw_population, main, simulate_ce
from riskweighted.common.errors import InputError
from riskweighted.data.embedded import load_embedded
from riskweighted.data.io import read_table, write_table
from riskweighted.intruder.patterns import known_patterns
from riskweighted.runs.study import make_study

# Allowed differences from the published figure, relative to it: for the default seed, and for any
# other. Every count is exact.
TOLERANCES = {
    "smallest income": (0.10, 0.10),
    "largest income": (0.05, 0.05),
    "mean": (0.001, 0.002),
    "mean, half-width of 95 % interval": (0.01, 0.02),
    "median": (0.005, 0.01),
    "median, half-width of 95 % interval": (0.15, 0.15),
    "90 % quantile": (0.005, 0.01),
    "90 % quantile, half-width of 95 % interval": (0.10, 0.10),
    "97.5 % quantile": (0.005, 0.01),
    "share above the top code": (0.03, 0.03),
    "coefficient of Earner 2": (0.02, 0.06),
    "coefficient of Earner 2, half-width of 95 % interval": (0.02, 0.03),
    "largest identification risk": (0.003, 0.003),
}


@pytest.fixture(scope="module")
def population():
    return simulate_ce()


def assert_close_to_published(facts, column):
    for fact, published, achieved in facts[["fact", "published", "achieved"]].itertuples(
        index=False
    ):
        allowed = TOLERANCES.get(fact, (0, 0))[column] * abs(published)
        assert abs(achieved - published) <= allowed, fact


def test_every_tolerance_belongs_to_a_fact():
    assert set(TOLERANCES) < set(CE_PUBLISHED)


def test_default_seed_has_the_published_figures(population):
    assert_close_to_published(ce_facts(population), 0)


@pytest.mark.parametrize("seed", range(10))
def test_other_seeds_have_them_within_wider_tolerance(seed):
    assert_close_to_published(ce_facts(simulate_ce(random_seed=seed)), 1)


def test_variables_are_those_of_table_1(population):
    assert list(population) == [*CE_CATEGORIES, "income"]
    assert [len(labels) for labels in CE_CATEGORIES.values()] == [2, 5, 8, 4, 2, 5, 3, 3, 11, 2]
    for name, labels in CE_CATEGORIES.items():
        assert set(population[name]) == set(labels)
    assert not population.isna().any(axis=None)


def test_forty_patterns_and_none_of_one_record(population):
    sizes = known_patterns(population, CE_KNOWN).sizes
    assert len(sizes) == 40
    assert sizes.min() >= 10


def test_incomes_are_whole_dollars_with_zeros_losses_and_heaps(population):
    income = population["income"]
    assert (income == income.round()).all()
    assert not np.signbit(income[income == 0]).any()
    assert 3 <= (income < 0).sum() <= 10
    assert 5 <= (income == 0).sum() <= 25
    thousands = (income % 1000 == 0).mean()
    assert 0.25 < thousands < 0.35
    assert income.nunique() > 2500


def test_income_depends_on_predictors_as_expected(population):
    median = {
        name: population.groupby(name)["income"].median()
        for name in ("education", "marital_status", "age_band", "earner")
    }
    assert median["education"]["graduate degree"] > 2 * median["education"]["high school"]
    assert median["marital_status"]["married"] > 1.5 * median["marital_status"]["never married"]
    assert median["age_band"]["35-49"] > 1.5 * median["age_band"]["under 25"]
    assert median["earner"]["earner"] > 1.5 * median["earner"]["not earner"]


def test_predictors_depend_on_each_other(population):
    old = population["age_band"] == "65 and over"
    assert (
        (population["earner"][old] == "earner").mean()
        < 0.35
        < 0.7
        < (population["earner"][~old] == "earner").mean()
    )
    assert set(population["urban_type"][population["urban"] == "rural"]) == {"rural area"}
    assert (population["family_size"][population["marital_status"] == "married"] >= 2).all()


def test_a_seed_repeats_to_the_byte_and_another_differs(tmp_path, population):
    for name, data in [
        ("one", population),
        ("two", simulate_ce()),
        ("other", simulate_ce(random_seed=1)),
    ]:
        write_table(data, tmp_path / f"{name}.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    assert (tmp_path / "one.csv").read_bytes() != (tmp_path / "other.csv").read_bytes()
    pd.testing.assert_frame_equal(read_table(tmp_path / "one.csv"), population)


def test_other_sizes_keep_the_quantiles():
    for n, tolerance in ((1, None), (3_000, 0.03), (30_000, 0.01)):
        income = simulate_ce(n)["income"]
        assert len(income) == n
        assert np.isfinite(income).all()
        if tolerance:
            assert income.median() == pytest.approx(50_225, rel=tolerance)
            assert income.quantile(0.9) == pytest.approx(153_916, rel=tolerance)


def test_the_earner_effect_moves_the_coefficient():
    weaker = draw_population(6208, np.random.default_rng(1), CALIBRATED._replace(earner=-0.3))
    facts = ce_facts(weaker).set_index("fact")["achieved"]
    assert facts["coefficient of Earner 2"] > -35_000


def test_facts_of_a_hand_made_frame():
    rows = {name: [labels[0], labels[1]] * 4 for name, labels in CE_CATEGORIES.items()}
    data = pd.DataFrame(
        rows
        | {
            "region": ["Northeast", "South", "South", "Northeast"] * 2,
            "urban": ["urban"] * 4 + ["rural"] * 4,
        }
    )
    data["income"] = [100.0, 40, 100, 40, 100, 40, 100, 1_000_040]
    facts = ce_facts(data).set_index("fact")["achieved"]
    assert facts["records"] == 8
    assert facts["known patterns"] == 4
    assert facts["patterns of one record"] == 0
    assert facts["categories of family_size"] == 2
    assert facts["mean"] == (4 * 100 + 3 * 40 + 1_000_040) / 8
    assert facts["median"] == 100
    assert facts["share above the top code"] == 1 / 8
    assert facts["incomes of 1,000K and more"] == 1
    assert facts["largest income"] > CE_TOP_CODE
    # Pattern (male, under 25, Northeast) holds 100, 100; (female, 25-34, Northeast) 40, 1000040:
    # half of it is far away.
    assert facts["largest identification risk"] == 0.5
    assert np.isnan(
        ce_facts(data.assign(earner="earner")).set_index("fact")["achieved"][
            "coefficient of Earner 2"
        ]
    )


def test_bad_input(population):
    for n in (0, 2.5, True):
        with pytest.raises(InputError, match="n must be a whole number >= 1"):
            simulate_ce(n)
    with pytest.raises(InputError, match="random_seed must be a whole number"):
        simulate_ce(random_seed=-1)
    with pytest.raises(InputError, match="no column 'earner'"):
        ce_facts(population.drop(columns="earner"))
    with pytest.raises(InputError, match="'income' is missing in 1 of 6208"):
        ce_facts(population.assign(income=population["income"].where(population.index > 0)))
    with pytest.raises(InputError, match=re.escape("valid are '401ksubs', '401ksubs-assets'")):
        load_embedded("ce")


def test_a_study_names_the_file_that_the_command_writes(tmp_path, monkeypatch, population):
    monkeypatch.setattr("sys.argv", ["population", "--out", str(tmp_path / "ce-like.parquet")])
    main()
    settings = {
        "data": {"path": str(tmp_path / "ce-like.parquet")},
        "scenario": {"known": list(CE_KNOWN), "synthetic": "income"},
        "synthesizer": {
            "name": "linear-regression",
            "formula": CE_REGRESSION,
            "transform": "shifted-log",
            "transform_constant": 10_000,
        },
    }
    study = make_study(settings)
    pd.testing.assert_frame_equal(study.read_data(), population)
    assert study.make_synthesizer().prepare(study.read_data()).design.whitened.shape == (6208, 5)
