"""A chain of several variables: blocks, statuses, rules, draws on synthetic predecessors, fits kept
by block.
"""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from brute import assert_clear

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import fingerprint
from riskweighted.sampling.sampling_settings import Sampling
from riskweighted.sequence.alphas import alphas_of
from riskweighted.sequence.fitting import fit_sequence
from riskweighted.sequence.outcomes import Outcomes
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sequence.recoding import make_recipes
from riskweighted.sequence.saved import read_fit

pytestmark = pytest.mark.versions

N = 600
VARIABLES = ("marital", "smoke", "cigarettes", "income", "health")
SETTINGS = {
    "cigarettes": {"applies_if": "smoke == 'YES'", "else_value": -8},
    "income": {"codes": [-9], "model": "linear-regression", "transform": "log"},
    "health": {"levels": ["bad", "fair", "good"]},
}
SHORT = Sampling(draws=400, tune=400, chains=4)


def people(n: int = N) -> pd.DataFrame:
    """Levels with gaps, a structural value, an amount with a code and gaps, an ordered level; what
    comes first moves what follows.
    """
    rng = np.random.default_rng(4)
    age = rng.integers(18, 80, n)
    marital = pd.Series(
        np.where(
            rng.random(n) < (age - 10) / 80,
            "married",
            rng.choice(["single", "widowed"], n, p=[0.8, 0.2]),
        )
    )
    marital[rng.random(n) < 0.04] = None
    smoke = np.where(rng.random(n) < np.where(marital == "married", 0.3, 0.6), "YES", "NO")
    cigarettes = np.where(smoke == "YES", rng.choice([5, 10, 20], n, p=[0.3, 0.3, 0.4]), -8)
    income = np.round(np.exp(rng.normal(7, 0.4, n) + 0.5 * (smoke == "NO")))
    income[rng.random(n) < 0.1] = -9
    income[rng.random(n) < 0.08] = np.nan
    health = pd.Series(rng.choice(["bad", "fair", "good"], n, p=[0.2, 0.3, 0.5])).astype("category")
    index = pd.Index([f"p{i}" for i in range(n)])
    frame = {
        "age": age,
        "marital": marital,
        "smoke": smoke,
        "cigarettes": cigarettes,
        "income": income,
        "health": health,
    }
    return pd.DataFrame(
        {name: np.asarray(column) if name != "health" else column for name, column in frame.items()}
    ).set_axis(index)


def chain(variables=VARIABLES, settings=SETTINGS, **more):
    own = {name: table for name, table in settings.items() if name in variables}
    return rw.load_synthesizer("sequential")(variables, predictors=["age"], settings=own, **more)


@pytest.fixture(scope="module")
def data():
    return people()


@pytest.fixture(scope="module")
def fitted(data):
    return rw.fit(chain(), data, random_seed=3, draws=400, tune=400, chains=4)


@pytest.fixture(scope="module")
def frames(fitted):
    return fitted.synthesize(20, random_seed=5)


def test_blocks_are_statuses_then_values_on_the_records_that_reach_them(data):
    prepared = prepare_sequence(chain(), data)
    members = {block.name: int(block.member.sum()) for block in prepared.blocks}
    married, income = data["marital"], data["income"]
    assert list(members) == [
        "marital is missing",
        "marital",
        "smoke",
        "cigarettes",
        "income is -9",
        "income is missing",
        "income",
        "health",
    ]
    assert members["marital is missing"] == N
    assert members["marital"] == married.notna().sum()
    assert members["cigarettes"] == (data["smoke"] == "YES").sum()
    assert members["income is missing"] == (income != -9).sum()
    assert members["income"] == (income.notna() & (income != -9)).sum()
    models = {block.name: type(block.model.synthesizer).__name__ for block in prepared.blocks}
    assert [
        models[name]
        for name in ("marital", "smoke", "cigarettes", "income", "health", "income is -9")
    ] == [
        "Multinomial",
        "Logistic",
        "CountRatio",
        "LinearRegression",
        "Ordinal",
        "Logistic",
    ]


def test_blocks_have_names_of_their_own(data):
    """Codes that differ in their last digit, a column that is called like a status, a level called
    "missing".
    """
    rng = np.random.default_rng(2)
    income = pd.Series(rng.choice([5.0, 6.0, 99999998.0, 99999999.0, np.nan], N), data.index)
    ls = pd.Series(rng.choice(["missing", "a", "b", None], N, p=[0.2, 0.3, 0.4, 0.1]), data.index)
    told = data.assign(income=income, ls=ls).rename(columns={"smoke": "income is missing"})
    settings = {"income": {"codes": [99999998, 99999999]}, "ls": {"model": "continuation-ratio"}}
    blocks = [
        block.name
        for block in prepare_sequence(
            chain(["income", "income is missing", "ls"], settings), told
        ).blocks
    ]
    assert blocks[:4] == [
        "income is 99999998",
        "income is 99999999",
        "income is missing'",
        "income",
    ]
    assert blocks[4:] == ["income is missing", "ls is missing", "ls is missing'", "ls is a"]


def test_a_status_follows_all_predictors_from_five_records_on(data):
    def kept(missing):
        married = data["marital"].dropna().reindex(data.index).fillna("SINGLE")
        blocks = prepare_sequence(
            chain(), data.assign(marital=married.where(np.arange(len(data)) >= missing))
        ).blocks
        return {block.name: (block.scale > 0).sum() for block in blocks}

    few, enough = kept(4), kept(5)
    assert few["marital is missing"] == 0
    assert enough["marital is missing"] == enough["marital"] > 1


def test_draws_keep_rows_dtypes_levels_and_all_that_is_not_synthesized(data, frames):
    for frame in frames:
        assert frame.index.equals(data.index)
        assert list(frame) == list(data)
        assert (frame.dtypes == data.dtypes).all()
        pd.testing.assert_series_equal(frame["age"], data["age"])
        assert frame["health"].cat.categories.equals(data["health"].cat.categories)
        assert set(frame["marital"].dropna()) <= set(data["marital"].dropna())
    assert not frames[0]["income"].equals(frames[1]["income"])


def test_structural_rules_hold_in_every_dataset(frames):
    for frame in frames:
        assert (frame.loc[frame["smoke"] == "NO", "cigarettes"] == -8).all()
        assert frame.loc[frame["smoke"] == "YES", "cigarettes"].isin([5, 10, 20]).all()


def test_shares_gaps_and_codes_are_those_of_the_data(data, frames):
    """Within four standard errors of a binomial share and of its estimate."""

    def off(share: float, statistic) -> float:
        drawn = np.mean([statistic(frame) for frame in frames])
        return abs(drawn - share) / np.sqrt(share * (1 - share) / N * (1 + 1 / len(frames)) + 1e-9)

    statistics = [
        lambda frame: frame["marital"].isna().mean(),
        lambda frame: (frame["marital"] == "widowed").mean(),
        lambda frame: (frame["smoke"] == "YES").mean(),
        lambda frame: (frame["cigarettes"] == 20).mean(),
        lambda frame: (frame["income"] == -9).mean(),
        lambda frame: frame["income"].isna().mean(),
        lambda frame: (frame["health"] == "bad").mean(),
    ]
    assert max(off(statistic(data), statistic) for statistic in statistics) < 4


def test_a_variable_follows_the_synthetic_value_of_an_earlier_one(data, frames):
    """Smoking follows the synthetic marital status: the association is there, and with the
    confidential one it is not.
    """
    pooled = pd.concat(frames)
    true = pd.concat([data["marital"]] * len(frames)).to_numpy()
    own = (pooled["smoke"] == "YES").groupby(pooled["marital"] == "married").mean().diff().iloc[-1]
    given = (
        data.assign(yes=data["smoke"] == "YES", married=data["marital"] == "married")
        .groupby("married")["yes"]
        .mean()
        .diff()
        .iloc[-1]
    )
    assert own == pytest.approx(given, abs=0.1)
    held = pooled["marital"].to_numpy() == "married"
    within = [
        (pooled["smoke"].to_numpy() == "YES")[(true == "married") & (held == side)].mean()
        for side in (False, True)
    ]
    assert within[0] - within[1] > 0.1  # given the truth, the synthetic status still decides


def test_the_same_seed_repeats_and_cores_do_not_matter(data, fitted, frames):
    again = rw.fit(chain(), data, random_seed=3, draws=400, tune=400, chains=4, cores=1)
    for one, other in zip(frames, again.synthesize(20, random_seed=5), strict=True):
        pd.testing.assert_frame_equal(one, other)


def test_changing_one_variable_refits_that_one_only(data, fitted):
    changed = chain(settings={**SETTINGS, "health": {"levels": ["good", "fair", "bad"]}})
    again = fit_sequence(prepare_sequence(changed, data), None, SHORT, 3, before=fitted)
    kept = [name for name in again.blocks if again.blocks[name] is fitted.blocks[name]]
    assert kept == [name for name in fitted.blocks if name != "health"]
    weights = np.ones((N, 5))
    weights[:, 1] = 0.5
    again = fit_sequence(prepare_sequence(chain(), data), weights, SHORT, 3, before=fitted)
    assert [name for name in again.blocks if again.blocks[name] is not fitted.blocks[name]] == [
        "smoke"
    ]


def test_weights_of_one_variable_move_that_variable(data):
    """All weight on non-smokers: the weighted margin is what is drawn."""
    alpha = pd.DataFrame(1.0, data.index, ["marital", "smoke"])
    alpha["smoke"] = np.where(data["smoke"] == "YES", 0.05, 1.0)
    fit = rw.fit(chain(("marital", "smoke")), data, alpha, random_seed=1, draws=200, chains=2)
    drawn = fit.synthesize(10, random_seed=1)
    share = np.mean([(frame["smoke"] == "YES").mean() for frame in drawn])
    yes, no = 0.05 * (data["smoke"] == "YES").sum(), (data["smoke"] == "NO").sum()
    assert share == pytest.approx(yes / (yes + no), abs=0.04)
    widowed = np.mean([(frame["marital"] == "widowed").mean() for frame in drawn])
    assert widowed == pytest.approx((data["marital"] == "widowed").mean(), abs=0.04)


def test_contributions_are_the_sums_over_blocks(fitted, data):
    thetas = fitted.draw(0, 7)
    total = fitted.contributions(thetas)
    parts = [fitted.contributions(thetas, variable) for variable in VARIABLES]
    np.testing.assert_allclose(total, np.sum(parts, axis=0))
    smoke = fitted.blocks["smoke"]
    np.testing.assert_allclose(parts[1], smoke.terms(thetas["smoke"]))
    # a structural value has no probability
    assert (parts[2][(data["smoke"] == "NO").to_numpy()] == 0).all()


def test_saving_and_reading(tmp_path, fitted, data):
    fitted.save(tmp_path / "fit.zip")
    prepared = prepare_sequence(chain(), data)
    again = read_fit(tmp_path / "fit.zip", prepared, None)
    pd.testing.assert_frame_equal(
        again.synthesize(2, random_seed=9)[1], fitted.synthesize(2, random_seed=9)[1]
    )
    with pytest.raises(InputError, match="other weights"):
        read_fit(tmp_path / "fit.zip", prepared, np.full(N, 0.5))
    with pytest.raises(InputError, match="another model: it has 8 blocks, not 1"):
        read_fit(tmp_path / "fit.zip", prepare_sequence(chain(("smoke",)), data), None)
    (tmp_path / "bad.zip").write_bytes((tmp_path / "fit.zip").read_bytes()[:500])
    with pytest.raises(InputError, match="no saved fit"):
        read_fit(tmp_path / "bad.zip", prepared, None)


def test_rules_are_obeyed_by_drawing_again_not_by_moving():
    """Start <= end and a forbidden combination: uniform counts restricted to what is allowed keep
    their relative shares.
    """
    rng = np.random.default_rng(8)
    start, end = np.sort(rng.integers(1, 7, (2, 900)), axis=0)
    data = pd.DataFrame({"start": start, "end": end, "x": rng.normal(size=900)})
    make = rw.load_synthesizer("sequential")
    made = make(
        ("start", "end"),
        predictors=["x"],
        order=[["start", "end"]],
        forbidden=["start == 3 and end == 4"],
        violations="exclude",
    )
    fit = rw.fit(made, data, random_seed=1, draws=100, chains=2)
    pooled = pd.concat(fit.synthesize(20, random_seed=2))
    assert (pooled["start"] <= pooled["end"]).all()
    assert not ((pooled["start"] == 3) & (pooled["end"] == 4)).any()
    free = rw.fit(
        make(("start", "end"), predictors=["x"]), data, random_seed=1, draws=100, chains=2
    )
    assert (pd.concat(free.synthesize(20, random_seed=2)).eval("start > end")).any()
    ends = pooled[pooled["start"] == 3]["end"].value_counts(normalize=True)
    assert set(ends.index) == {3, 5, 6}


@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.ConvergenceWarning")
@pytest.mark.parametrize("order", [["cost", "output"], ["output", "cost"]])
def test_an_order_that_hardly_any_draw_keeps_ends_nothing(order):
    rng, sign = np.random.default_rng(6), 1 if order[0] == "cost" else -1
    firms = pd.DataFrame({"output": np.exp(rng.normal(5, 0.3, 200)).round(2)})
    firms["cost"] = (firms["output"] * rng.uniform(0.3, 0.9, 200) ** sign).round(2)
    firms.loc[7, ["output", "cost"]] = np.exp(5 - 3 * sign).round(2)
    settings = {"cost": {"model": "transformation", "support": [0, 1e5]}}
    made = rw.load_synthesizer("sequential")(
        ["cost"], predictors=[], settings=settings, order=[order]
    )
    fit = rw.fit(made, firms, random_seed=1, draws=100, tune=100, chains=2)
    for frame in fit.synthesize(2, random_seed=2):
        assert (frame[order[0]] <= frame[order[1]]).all()


def test_records_that_break_a_rule_are_counted_or_left_out(data):
    broken = data.copy()
    broken.loc[broken.index[broken["smoke"] == "NO"][:3], "cigarettes"] = 10
    with pytest.raises(InputError, match="3 break the rule") as error:
        prepare_sequence(chain(), broken)
    assert_clear(error)
    prepared = prepare_sequence(chain(violations="exclude"), broken)
    assert prepared.aside["cigarettes"].sum() == 3


@pytest.mark.parametrize(
    ("alpha", "message"),
    [
        (np.ones(3), "one value per record"),
        (np.ones((N, 2)), r"alpha has shape \(600, 2\); valid are"),
        (np.full((N, 5), 1.5), "must lie in"),
        (pd.DataFrame({"smoke": np.ones(N)}), "they must be the synthesized variables"),
        (
            np.zeros(N),
            "all 600 weights are zero of the records that 'marital is missing' is fitted to",
        ),
    ],
)
def test_alpha_of_another_shape_is_refused(data, alpha, message):
    if isinstance(alpha, pd.DataFrame):
        alpha.index = data.index
    with pytest.raises(InputError, match=message):
        rw.fit(chain(), data, alpha)


def test_alpha_of_one_vector_holds_for_all_variables(data):
    alpha = alphas_of(VARIABLES, np.linspace(0, 1, N), data.index)
    assert (alpha.to_numpy() == np.linspace(0, 1, N)[:, None]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.assign(smoke="YES"), "'cigarettes'|'smoke' has one value in all 600 records"),
        (lambda d: d.assign(marital=None), "missing in all 600 records"),
        (
            lambda d: d.assign(income=np.where(np.arange(N) < 2, np.inf, d["income"])),
            "infinite in 2 of 600 records",
        ),
        (
            lambda d: d.assign(marital=[f"level {i}" for i in range(N)]),
            "600 levels for 600 records",
        ),
        (lambda d: d.drop(columns="smoke"), "no column 'smoke'"),
        (lambda d: d.assign(health="good"), "'health'"),
    ],
)
def test_data_that_cannot_be_synthesized_are_refused(data, change, message):
    with pytest.raises(InputError, match=message) as error:
        prepare_sequence(chain(), change(data))
    assert_clear(error)


def test_bounds_that_exclude_confidential_values_are_refused_with_the_variable(data):
    settings = {**SETTINGS, "income": {"codes": [-9], "support": [0, 900]}}
    with pytest.raises(InputError, match=r"variable .income.: .*support") as error:
        prepare_sequence(chain(settings=settings), data)
    assert_clear(error)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"variables": ()}, "variables names none"),
        ({"predictors": ["age", "smoke"]}, "'smoke' cannot be both a predictor and synthesized"),
        ({"settings": {"nope": {}}}, "settings name 'nope', which is not synthesized"),
        (
            {"predictors": ["age"], "settings": {"age": {"codes": [99], "model": "logistic"}}},
            "'age', which predicts and is not synthesized",
        ),
        ({"settings": {"smoke": 3}}, "must be a mapping"),
        ({"settings": {"smoke": {"model": "nope"}}}, "unknown synthesizer 'nope'"),
        ({"settings": {"smoke": {"model": "sequential"}}}, "is of several variables"),
        (
            {"settings": {"smoke": {"formula": "income ~ age"}}},
            "its formula must have it on the left",
        ),
        ({"settings": {"smoke": {"applies_if": "age > 3"}}}, "without 'else_value'"),
        ({"settings": {"smoke": {"codes": ["a"]}}}, "codes must be different finite numbers"),
        (
            {"settings": {"smoke": {"model": "logistic", "nonsense": 1}}},
            "has no setting 'nonsense'; valid are",
        ),
        (
            {"settings": {"smoke": {"applies_if": "cigarettes > 3", "else_value": "NO"}}},
            "drawn after 'smoke'",
        ),
        ({"order": [["smoke"]]}, "pairs of two different columns"),
        ({"forbidden": ["age >"]}, "forbidden"),
        ({"violations": "ignore"}, "violations"),
    ],
)
def test_settings_that_are_wrong_are_refused_when_the_chain_is_made(arguments, message):
    with pytest.raises(InputError, match=message):
        rw.load_synthesizer("sequential")(**{"variables": VARIABLES, **arguments})


def test_a_formula_of_ones_own_sees_gaps_as_a_level_and_nothing_later(data):
    own = chain(settings={**SETTINGS, "smoke": {"formula": "smoke ~ C(marital) + age"}})
    block = {block.name: block for block in prepare_sequence(own, data).blocks}["smoke"]
    # married, single, widowed, missing less one; age
    assert block.model.prepared.design.centred.shape == (N, 4)
    with pytest.raises(InputError, match="names 'income', which is not synthesized before it"):
        prepare_sequence(chain(settings={**SETTINGS, "smoke": {"formula": "smoke ~ income"}}), data)


def test_many_unordered_levels_are_modelled_one_by_one():
    rng = np.random.default_rng(2)
    age = rng.integers(18, 80, 900)
    job = np.array(list("abcdefgh"))[np.minimum(rng.geometric(0.3, 900) - 1, 7)]
    data = pd.DataFrame({"age": age, "job": job, "y": rng.normal(size=900)})
    asked = rw.load_synthesizer("sequential")(
        ["job"], predictors=["age"], settings={"job": {"model": "continuation-ratio"}}
    )
    prepared = prepare_sequence(asked, data)
    counts = data["job"].value_counts()
    assert [block.status.outcome for block in prepared.blocks] == list(
        counts.sort_values(kind="stable").index[:-1]
    ) or len(prepared.blocks) == 7
    fit = rw.fit(asked, data, random_seed=1, draws=100, chains=2)
    shares = pd.concat(fit.synthesize(20, random_seed=1))["job"].value_counts(normalize=True)
    assert np.abs(shares - counts / 900).max() < 0.03
    plain = prepare_sequence(rw.load_synthesizer("sequential")(["job"], predictors=["age"]), data)
    assert [type(block.model.synthesizer).__name__ for block in plain.blocks] == ["Multinomial"]


def test_precision_is_that_of_the_amounts_or_given(fitted, data):
    frame = fitted.synthesize(1, random_seed=1)[0]
    amounts = frame["income"].dropna()
    assert (amounts == amounts.round()).all()
    tens = fitted.with_drawing(rw.DrawingSettings({"income": 100}))
    coarse = tens.synthesize(1, random_seed=1)[0]["income"].dropna()
    assert (coarse[coarse != -9] % 100 == 0).all()
    for precision, message in (
        ({"marital": 1}, "precision names 'marital'"),
        ({"income": 0}, "must be a number > 0"),
    ):
        with pytest.raises(InputError, match=message):
            fitted.with_drawing(rw.DrawingSettings(precision))


def test_an_integer_column_stays_one_and_data_are_not_touched(fitted, data, frames):
    assert frames[0]["cigarettes"].dtype == data["cigarettes"].dtype
    assert fingerprint(data) == fingerprint(people())
    assert dataclasses.is_dataclass(fitted)


def test_a_drawn_value_without_room_in_its_dtype_is_refused_not_wrapped_round():
    column = pd.Series([1, 2, 3], dtype="int8", name="x")
    assert Outcomes(column).column(np.array([127.0, -128.0, 2.6])).tolist() == [127, -128, 3]
    with pytest.raises(InputError, match="1 values of 'x' that do not fit dtype int8"):
        Outcomes(column).column(np.array([999.0, 1.0, 2.0]))
    gaps = Outcomes(column.astype("Int16")).column(np.array([999.0, np.nan, 2.0]))
    assert gaps.dtype == "Int16"
    assert gaps.isna().tolist() == [False, True, False]


@pytest.mark.parametrize("dtype", ["object", "string", "category"])
def test_levels_are_numbers_while_they_are_drawn_and_come_back_in_their_dtype(dtype):
    """Categories of the model first, then further outcomes, then what else the column holds; -1 is
    a missing one.
    """
    column = pd.Series(["b", np.nan, "a", "code"], dtype=dtype, name="x", index=[7, 5, 3, 1])
    outcomes = Outcomes(column, ("b", "c"), ("code", None))
    values = outcomes.numbers(column)
    assert [outcomes.number(level) for level in ("b", "c", "code", "a", None)] == [0, 1, 2, 3, -1]
    assert values.tolist() == [0, -1, 3, 2]
    pd.testing.assert_series_equal(outcomes.column(values), column)
    pd.testing.assert_series_equal(
        outcomes.column(values[[2, 0]], np.array([2, 0])), column.iloc[[2, 0]]
    )
    assert outcomes.column(outcomes.empty(4)).isna().all()


def test_the_table_of_drawn_levels_is_that_of_their_column():
    column = pd.Series(["b", None, "a", "code", "a"], dtype="string", name="x")
    recipe = make_recipes(pd.DataFrame({"x": column}), ["x"], {})["x"]
    outcomes = Outcomes(column, ("b", "a"), ("code",))
    for values in ([0, -1, 1, 2, 1], [1, 1, 1, 0, 0]):
        found = outcomes.table(np.array(values), outcomes.column(np.array(values)), recipe)
        np.testing.assert_array_equal(
            found.rows[found.which], recipe.columns(outcomes.column(np.array(values)))
        )


def test_a_level_that_the_data_lack_is_told_with_the_number_of_records():
    column = pd.Series(["b", "a", "a", "b", "a"], name="x")
    recipe = make_recipes(pd.DataFrame({"x": column}), ["x"], {})["x"]
    outcomes = Outcomes(column, ("b", "a"), ("new",))
    values = np.array([2, 2, 2, 0, 1])
    with pytest.raises(
        InputError, match="'x' has a level that the confidential data lack in 3 of 5 records"
    ):
        outcomes.table(values, outcomes.column(values), recipe)


def test_text_with_gaps_may_be_modelled_level_by_level():
    """Of the nullable dtype a comparison with a gap is neither true nor false."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 300),
            "job": pd.Series(rng.choice(["a", "b", "c", None], 300), dtype="string"),
        }
    )
    asked = rw.load_synthesizer("sequential")(
        ["job"], predictors=["age"], settings={"job": {"model": "continuation-ratio"}}
    )
    names = [block.name for block in prepare_sequence(asked, data).blocks]
    assert "job is missing" in names
    assert len(names) == 3


def test_a_guarantee_is_refused(data):
    with pytest.raises(
        InputError, match="a guarantee holds for nothing that is taken from the data"
    ):
        rw.fit(chain(), data, guarantee=rw.Guarantee(epsilon=1.0))


def test_an_error_names_its_variable_once(data):
    wrong = chain(settings={**SETTINGS, "smoke": {"model": "continuation-ratio"}})
    with pytest.raises(InputError) as error:
        prepare_sequence(wrong, data)
    assert str(error.value).count("variable 'smoke'") == 1


@pytest.mark.parametrize(("holders", "columns"), [(9, 0), (10, 2), (20, 3), (49, 5)])
def test_an_amount_that_few_of_its_records_have_predicts_by_as_many_columns_as_ten_have_each(
    holders, columns
):
    rng = np.random.default_rng(4)
    has = np.arange(1000) < 300
    aid = np.where(
        (np.arange(1000) < holders) | (np.arange(1000) >= 700), rng.gamma(3, 40, 1000), 0
    )
    data = pd.DataFrame(
        {
            "aid": aid.round(),
            "age": rng.integers(18, 80, 1000),
            "wage": np.where(has, rng.lognormal(7, 0.6, 1000).round(), np.nan),
        }
    )
    made = rw.load_synthesizer("sequential")(["wage"], ["aid", "age"], recoding="statuses")
    block = prepare_sequence(made, data).blocks[-1]
    kept = dict(
        zip(
            ["aid", "aid_bend_1", "aid_bend_2", "aid_bend_3", "aid_is_0"], block.scale, strict=False
        )
    )
    assert sum(scale > 0 for scale in kept.values()) == columns
    assert (block.scale[5:] > 0).all()


def test_with_statuses_bends_are_left_out_before_lines_are():
    rng = np.random.default_rng(6)
    n = 400
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "hours": np.where(rng.random(n) < 0.4, 0.0, rng.integers(5, 60, n)),
        }
    )
    frame["benefit"] = pd.Series(rng.lognormal(5, 0.5, n).round(2)).where(np.arange(n) < 45)

    def kept(recoding):
        made = rw.load_synthesizer("sequential")(
            ["hours", "benefit"], predictors=["age"], recoding=recoding
        )
        prepared = prepare_sequence(made, frame)
        amounts = next(block for block in prepared.blocks if block.name == "benefit")
        names = [name for source in amounts.sources for name in prepared.recipes[source].names]
        return [name for name, kept in zip(names, amounts.scale > 0, strict=True) if kept]

    assert kept("plain") == []
    assert kept("statuses") == ["age", "hours", "hours_is_0"]


def test_a_chain_that_does_not_say_how_it_recodes_is_plain(data):
    assert chain() == chain(recoding="plain")
    with pytest.raises(InputError, match="recoding"):
        chain(recoding="fancy")
