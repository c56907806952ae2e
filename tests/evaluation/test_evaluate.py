import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from riskweighted import EvaluationSettings, Scenario, evaluate, identification_risk
from riskweighted.common.errors import InputError, SingletonWarning
from riskweighted.intruder.world import make_world
from riskweighted.measures.context import EvaluationInputs
from riskweighted.utility.combining_rules import combine_partially_synthetic

pytestmark = pytest.mark.versions


@pytest.fixture(scope="module")
def confidential():
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b"], 200)
    return pd.DataFrame(
        {"group": group, "income": np.exp(3 + (group == "b") + rng.normal(size=200))},
        index=[f"r{i}" for i in range(200)],
    )


@pytest.fixture(scope="module")
def frames(confidential):
    rng = np.random.default_rng(2)
    return {
        label: [
            confidential.assign(
                income=confidential["income"] * np.exp(spread * rng.normal(size=200))
            )
            for _ in range(4)
        ]
        for label, spread in (("near", 0.05), ("far", 2.0))
    }


scenario = Scenario(known="group", synthetic="income")


def cell(table, label, measure, column="value"):
    (value,) = table.loc[(table["label"] == label) & (table["measure"] == measure), column]
    return value


def test_risk_table_summarises_the_records(confidential, frames):
    result = evaluate(
        confidential,
        frames,
        scenario,
        settings=EvaluationSettings(threshold=0.6),
        baseline="far",
        random_seed=0,
    )
    near, far = (
        identification_risk(confidential, frames[label], scenario) for label in ("near", "far")
    )
    pd.testing.assert_series_equal(result.records["near"], near, check_names=False)
    assert cell(result.risk, "near", "mean risk") == pytest.approx(near.mean())
    assert cell(result.risk, "near", "maximum risk") == near.max()
    assert cell(result.risk, "near", "records over 0.6") == (near > 0.6).sum() > 0
    assert cell(result.risk, "near", "whack-a-mole records") == ((near - far) >= 0.25).sum() > 0
    assert cell(result.risk, "near", "risk interquartile range") == pytest.approx(
        near.quantile(0.75) - near.quantile(0.25)
    )
    assert "whack-a-mole records" not in set(
        result.risk.loc[result.risk["label"] == "far", "measure"]
    )
    assert cell(result.risk, "confidential", "mean risk") == pytest.approx(
        identification_risk(confidential, scenario=scenario).mean()
    )


def test_less_noise_is_riskier_and_more_useful(confidential, frames):
    table = evaluate(confidential, frames, scenario, random_seed=0).summary()
    assert table.loc["near", "mean risk"] > table.loc["far", "mean risk"]
    assert table.loc["near", "U_m of income"] < table.loc["far", "U_m of income"]
    assert (
        table.loc["near", "median of income: overlap"]
        > table.loc["far", "median of income: overlap"]
    )


def test_coefficient_follows_the_combining_rule(confidential, frames):
    result = evaluate(
        confidential,
        frames,
        scenario,
        settings=EvaluationSettings(regression="income ~ group", coefficient="group[T.b]"),
        random_seed=0,
    )
    parts = []
    for frame in frames["near"]:
        fitted = sm.OLS(
            frame["income"].to_numpy(),
            sm.add_constant((frame["group"] == "b").to_numpy(dtype=float)),
        ).fit()
        parts.append((fitted.params[1], fitted.bse[1] ** 2))
    expected = combine_partially_synthetic(*zip(*parts, strict=True))
    measure = "coefficient group[T.b]"
    assert cell(result.utility, "near", measure) == pytest.approx(expected.estimate)
    assert cell(result.utility, "near", measure, "lower") == pytest.approx(expected.lower)
    assert "b/L" in cell(result.utility, "near", measure, "rule")
    own = sm.OLS(
        confidential["income"].to_numpy(),
        sm.add_constant((confidential["group"] == "b").to_numpy(dtype=float)),
    ).fit()
    assert cell(result.utility, "confidential", measure, "lower") == pytest.approx(
        own.conf_int()[1][0]
    )


def test_one_dataset_says_that_its_interval_is_too_short(confidential, frames):
    result = evaluate(
        confidential,
        {"one": frames["near"][0]},
        scenario,
        settings=EvaluationSettings(regression="income ~ group", coefficient="group[T.b]"),
        random_seed=0,
    )
    assert "L = 1" in cell(result.utility, "one", "coefficient group[T.b]", "rule")


def test_same_seed_same_tables(confidential, frames):
    one, two, other = (
        evaluate(confidential, frames, scenario, random_seed=seed).utility for seed in (5, 5, 6)
    )
    pd.testing.assert_frame_equal(one, two)
    assert not one.equals(other)


def test_every_row_has_its_definition_and_every_interval_its_rule(confidential, frames):
    result = evaluate(confidential, frames, scenario, random_seed=0)
    assert result.risk["definition"].str.len().min() > 10
    assert result.utility["definition"].str.len().min() > 10
    assert result.utility.loc[result.utility["lower"].notna(), "rule"].notna().all()


def test_singleton_patterns_are_told_of(confidential, frames):
    alone = confidential.assign(group=["z", *confidential["group"][1:]])
    synthetic = {"near": [frame.assign(group=alone["group"]) for frame in frames["near"]]}
    with pytest.warns(SingletonWarning, match="1 of 3"):
        result = evaluate(alone, synthetic, scenario, random_seed=0)
    assert result.records.loc["r0", "confidential"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"baseline": "nope"}, "valid are 'near', 'far'"),
        ({"regression": "income ~ group"}, "go together"),
        ({"regression": "income ~ group", "coefficient": "x"}, "it has 'group"),
        ({"regression": "income ~ nope", "coefficient": "x"}, "no column 'nope'"),
        ({"level": 1.0}, "between 0 and 1"),
        ({"quantiles": [2]}, "quantile must lie"),
        ({"quantiles": [0.5, 0.5]}, "each be named once"),
        ({"threshold": "high"}, "threshold must lie"),
        ({"random_seed": -1}, "random_seed"),
        ({"resamples": -1}, "resamples"),
        ({"settings": {"level": 0.9}}, "settings must be EvaluationSettings, got dict"),
    ],
)
def test_wrong_settings(confidential, frames, change, message):
    settings = dict(change)
    of_call = {
        name: settings.pop(name)
        for name in ("baseline", "random_seed", "settings")
        if name in settings
    }
    with pytest.raises(InputError, match=message):
        evaluate(
            confidential,
            frames,
            scenario,
            **({"settings": EvaluationSettings(**settings)} | of_call),
        )


def test_wrong_labels(confidential, frames):
    with pytest.raises(InputError, match="no synthetic data"):
        evaluate(confidential, {}, scenario)
    with pytest.raises(InputError, match="is taken"):
        evaluate(confidential, {"confidential": frames["near"]}, scenario)
    with pytest.raises(InputError, match="199 records"):
        evaluate(confidential, {"short": frames["near"][0].iloc[1:]}, scenario)


@pytest.fixture(scope="module")
def gaps(confidential):
    """20 missing incomes, 15 that do not apply, 5 refused: too few to show; and 12 missing jobs."""
    income = confidential["income"].to_numpy().copy()
    income[:20], income[20:35], income[35:40] = np.nan, -8, -9
    job = np.array(["clerk", "smith"] * 100, dtype=object)
    job[:12] = None
    return confidential.assign(income=income, job=job)


CODED = Scenario(known="group", synthetic=("income", "job"), codes={"income": [-8, -9]})


def test_amounts_and_shares_of_what_is_none(gaps):
    released = gaps.assign(income=gaps["income"].to_numpy()[::-1], job=gaps["job"].to_numpy()[::-1])
    result = evaluate(
        gaps,
        {"mirror": [released, released]},
        CODED,
        settings=EvaluationSettings(resamples=400),
        random_seed=1,
    )
    amounts = gaps["income"].to_numpy()[40:]
    assert cell(result.utility, "confidential", "mean") == pytest.approx(amounts.mean(), rel=0.02)
    assert cell(result.utility, "confidential", "median") == pytest.approx(
        np.median(amounts), rel=0.05
    )
    assert cell(result.utility, "mirror", "U_m") == 0  # the same amounts, in other rows
    assert cell(result.utility, "mirror", "total variation") == 0
    shares = result.utility[result.utility["key"] == "level-share"].set_index(
        ["label", "variable", "term"]
    )["value"]
    assert sorted(shares["mirror"].index) == [
        ("income", "-8"),
        ("income", "missing"),
        ("job", "clerk"),
        ("job", "missing"),
        ("job", "smith"),
    ]
    for label in ("confidential", "mirror"):
        np.testing.assert_allclose(
            shares[label, "income"].sort_index(), [15 / 200, 20 / 200], atol=0.006
        )
        assert shares[label, "job", "missing"] == pytest.approx(12 / 200, abs=0.006)
    assert shares["mirror", "job"].drop("missing").to_dict() == pytest.approx(
        {"clerk": 94 / 200, "smith": 94 / 200}, abs=0.01
    )
    assert not any("missing" in name or "coded" in name for name in result.summary().columns)


def test_a_release_without_the_missing_values_is_seen(gaps):
    filled = gaps.assign(job=gaps["job"].where(gaps["job"].notna(), "clerk"))
    result = evaluate(
        gaps, {"filled": filled}, CODED, settings=EvaluationSettings(resamples=200), random_seed=1
    )
    assert cell(result.utility, "filled", "total variation") == pytest.approx(12 / 200)
    rows = result.utility[
        (result.utility["term"] == "missing") & (result.utility["variable"] == "job")
    ]
    assert rows.set_index("label")["value"]["filled"] == 0


def test_the_largest_hundredth_is_one_of_the_amounts(gaps):
    world = make_world(gaps, Scenario(synthetic="income", codes={"income": [-8, -9]}))
    top = EvaluationInputs(world, EvaluationSettings()).top
    assert top.sum() == 2  # of 160 amounts
    assert (gaps["income"][top].to_numpy() >= np.sort(gaps["income"].to_numpy()[40:])[-2]).all()
