"""Logistic, ordinal and multinomial synthesizers, built directly: the contract, equations,
recovery, the exact law of weights.
"""

import tomllib
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from brute import assert_clear
from records import Asked, terms
from riskweighted_models.logistic import Logistic
from riskweighted_models.multinomial import Multinomial
from riskweighted_models.ordinal import Ordinal
from scipy import special
from scipy.linalg import helmert

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import fingerprint
from riskweighted.guarantee.ledger import open_ledger
from riskweighted.sampling.block_fit import BlockFit, prepare_model
from riskweighted.sampling.laplace import mode_of
from riskweighted.sampling.saving import data_hash
from riskweighted.sequence.fit import Fit

N = 160
LEVELS = ("low", "middle", "high")


def simulated():
    """Targets of every dtype that holds levels, and predictors of several kinds."""
    rng = np.random.default_rng(21)
    x = rng.normal(40, 8, N)
    code = np.digitize((x - 40) / 8 + rng.logistic(size=N), [0.0, 1.5])
    frame = pd.DataFrame(
        {
            "x": x,
            "region": pd.Categorical(rng.choice(["north", "south", "west"], N, p=[0.5, 0.3, 0.2])),
            "word": np.array(LEVELS, dtype=object)[code],
            "grade": pd.Categorical(
                np.array(LEVELS)[code], [*LEVELS[:2], "unused", "high"], ordered=True
            ),
            "yes": code > 0,
            "answer": np.where(code > 0, "yes", "no"),
            "code": code - 1,
        },
        index=[f"person {i}" for i in range(N)],
    )
    return frame.assign(string=frame["word"].astype("string"), maybe=frame["yes"].astype("boolean"))


MODELS = [
    Logistic("yes ~ x + C(region)"),
    Logistic("maybe ~ 1"),
    Logistic("answer ~ x", levels=["yes", "no"]),
    Ordinal("grade ~ x + C(region)"),
    Ordinal("word ~ x", levels=LEVELS),
    Ordinal("code ~ 1", levels=(-1, 0, 1)),
    Multinomial("grade ~ 1"),
    Multinomial("word ~ x * C(region)"),
    Multinomial("string ~ x", levels=("zero", *LEVELS)),
]


def coefficients(model, prepared, seed):
    mean, sd = model._prior(len(prepared.levels), prepared.rows.shape[1])
    return {"coefficient": mean + sd * np.random.default_rng(seed).normal(size=len(mean))}


def fit_at(model, frame, theta, count=1):
    """A fit whose posterior is a few draws, without sampling."""
    draws = np.stack([theta["coefficient"]] * count)[None]
    posterior = xr.Dataset(
        {"coefficient": (("chain", "draw", "place"), draws)},
        coords={"chain": [0], "draw": range(count)},
    )
    return Fit.of(
        BlockFit(
            model,
            pd.Series(1.0, frame.index),
            posterior,
            pd.DataFrame(),
            frame,
            model.prepare(frame),
        )
    )


def test_the_models_are_registered_and_have_an_example():
    points = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"][
        "entry-points"
    ]["riskweighted.synthesizers"]
    kinds = {
        name: getattr(import_module(points[name].split(":")[0]), points[name].split(":")[1])
        for name in ("logistic", "ordinal", "multinomial")
    }
    assert kinds == {"logistic": Logistic, "ordinal": Ordinal, "multinomial": Multinomial}
    assert {type(model) for model in MODELS} == set(kinds.values())


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_whole_contract_holds(model):
    table = rw.check_synthesizer(model, simulated()).set_index("clause")
    assert set(table["result"]) == {"passed"}
    declared = table.loc["what is taken from the data is declared", "why"]
    assert declared == ("" if model.levels else "declared: levels")
    assert model.probability_mass is True


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_log_likelihood_mass_and_draws_are_those_of_the_equations(model):
    frame = simulated()
    prepared = model.prepare(frame)
    levels, theta = list(prepared.levels), coefficients(model, prepared, 1)
    columns = prepared.raw.columns
    if isinstance(model, Multinomial):
        scores = (
            np.column_stack([np.ones(N), columns])
            @ (helmert(len(levels)).T @ theta["coefficient"].reshape(len(levels) - 1, -1)).T
        )
        share = special.softmax(scores, axis=1)
    else:
        intercept, slope = np.split(theta["coefficient"], [len(levels) - 1])
        going_on = special.expit(intercept + (columns @ slope)[:, None])
        reached = np.column_stack([np.ones(N), np.cumprod(going_on, axis=1)])
        share = reached * np.column_stack([1 - going_on, np.ones(N)])
    target = frame[model.target].astype(object).tolist()
    own = np.array([levels.index(value) for value in target])
    np.testing.assert_allclose(
        terms(model, theta, prepared, frame), np.log(share[np.arange(N), own]), rtol=1e-9
    )
    np.testing.assert_array_equal(model.response(prepared), own)
    np.testing.assert_allclose(
        model.distribution(theta, prepared).mass(own - 0.5, own + 0.5),
        share[np.arange(N), own],
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        model.distribution(theta, prepared).mass(0.5, np.inf), share[:, 1:].sum(axis=1), rtol=1e-12
    )
    draws = np.stack(
        [
            model.distribution(theta, prepared).draw(np.random.default_rng(seed))
            for seed in range(2000)
        ]
    )
    for code in range(len(levels)):
        off = ((draws == code).mean(axis=0) - share[:, code]).sum() / np.sqrt(
            (share[:, code] * (1 - share[:, code])).sum() / 2000
        )
        assert abs(off) < 5
    with pytest.raises(InputError) as caught:
        model.distribution(theta, prepared).mass(np.where(np.arange(N) == 3, np.nan, 1.0), 2.0)
    assert_clear(caught, "bounds", "1 of 160")


def test_priors_start_at_equally_likely_levels_and_two_levels_are_one_model():
    for levels in (2, 3, 7):
        mean, sd = Ordinal("y ~ x", levels=LEVELS)._prior(levels, 2)
        share = np.exp(
            Ordinal("y ~ x", levels=LEVELS)._log_probabilities(mean, np.zeros((1, 2)), levels)
        )
        np.testing.assert_allclose(share, 1 / levels, rtol=1e-12)
        np.testing.assert_array_equal(sd, [*[2.0] * (levels - 1), 1, 1])
    # Of the softmax the log odds of any two levels have standard deviation 2 at the centre and 1
    # for each slope.
    model, rng = Multinomial("y ~ x"), np.random.default_rng(3)
    mean, sd = model._prior(4, 1)
    drawn = mean + sd * rng.normal(size=(20_000, len(mean)))
    at_zero, at_one = (
        np.array([model._log_probabilities(one, np.array([[x]]), 4)[:, 0] for one in drawn])
        for x in (0.0, 1.0)
    )
    for k, other in ((0, 1), (3, 1), (2, 3)):
        assert np.std(at_zero[:, k] - at_zero[:, other]) == pytest.approx(2.0, abs=0.05)
        assert np.std((at_one - at_zero)[:, k] - (at_one - at_zero)[:, other]) == pytest.approx(
            1.0, abs=0.03
        )
    frame, alpha = simulated(), np.random.default_rng(4).random(N)
    modes = []
    for kind in (Logistic, Multinomial, Ordinal):
        one = kind("answer ~ x + C(region)", levels=("no", "yes"))
        prepared = one.prepare(frame)
        mode = mode_of(one._density(prepared, alpha), 4)
        modes.append(one._log_probabilities(mode, prepared.rows, 2))
    np.testing.assert_allclose(modes[1], modes[0], atol=1e-3)
    np.testing.assert_allclose(modes[2], modes[0], atol=1e-12)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[3], MODELS[7]], ids=repr)
def test_the_gradient_that_coordinates_follow_is_that_of_the_density(model):
    prepared, rng = model.prepare(simulated()), np.random.default_rng(5)
    density = model._density(prepared, rng.random(N))
    place = coefficients(model, prepared, 2)["coefficient"]
    gradient = density(place)[1]
    for direction in np.eye(len(place)):
        slope = (density(place + 1e-5 * direction)[0] - density(place - 1e-5 * direction)[0]) / 2e-5
        assert gradient @ direction == pytest.approx(slope, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_released_columns_keep_dtype_categories_order_and_index(model):
    frame = simulated()
    fitted = fit_at(model, frame, coefficients(model, model.prepare(frame), 3))
    (synthetic,) = fitted.synthesize(1, random_seed=4)
    target = model.target
    assert synthetic[target].dtype == frame[target].dtype  # categories and their order included
    assert set(synthetic[target].astype(object)) <= set(fitted.categories)
    assert not synthetic[target].equals(frame[target])
    pd.testing.assert_frame_equal(synthetic.drop(columns=target), frame.drop(columns=target))
    with pytest.raises(InputError) as caught:
        fitted.with_drawing(rw.DrawingSettings(0.1))
    assert_clear(caught, "precision", "levels")


# Sampled


def many(n, seed=6):
    """Levels by known log odds of x and a group."""
    rng = np.random.default_rng(seed)
    x, g = rng.normal(size=n), rng.choice(["a", "b"], n)
    slopes = {"a": (0.0, 0.0), "b": (1.0, 0.5), "c": (-1.2, -0.4)}
    scores = np.stack(
        [
            np.log(share) + slopes[level][0] * x + slopes[level][1] * (g == "b")
            for level, share in zip("abc", (0.5, 0.3, 0.2), strict=True)
        ]
    )
    level = np.array(list("abc"))[(scores + rng.gumbel(size=scores.shape)).argmax(axis=0)]
    going_on = special.expit(np.array([[1.0], [0.2]]) + 0.8 * x - 0.6 * (g == "b"))
    up = rng.random((2, n)) < going_on
    step = np.where(~up[0], 0, np.where(~up[1], 1, 2))
    return pd.DataFrame(
        {
            "x": x,
            "g": g,
            "kind": level,
            "step": np.array(LEVELS)[step],
            "flag": rng.random(n) < special.expit(-1 + x),
        }
    )


@pytest.fixture(scope="module")
def fits():
    """Short fits of one simulated data set, unweighted and with weights that leave half of the
    records out.
    """
    frame = many(400)
    left = np.r_[np.ones(200), np.zeros(200)]
    models = {
        "logistic": Logistic("flag ~ x", levels=(False, True)),
        "ordinal": Ordinal("step ~ x + g", levels=LEVELS),
        "multinomial": Multinomial("kind ~ x + g"),
    }
    return {
        name: tuple(
            rw.fit(model, frame, alpha, random_seed=7, draws=300, tune=200, chains=4)
            for alpha in (None, left)
        )
        for name, model in models.items()
    }


def test_parameters_are_recovered_and_the_chains_agree(fits):
    assert all(fitted.converged for pair in fits.values() for fitted in pair)
    drawn = {
        name: pair[0].posterior["coefficient"].values.reshape(1200, -1)
        for name, pair in fits.items()
    }
    frame = many(400)
    spread = frame["x"].std(ddof=0)
    found = {
        "logistic slope": (drawn["logistic"][:, 1] / spread, 1.0),
        "ordinal slope of x": (drawn["ordinal"][:, 2] / spread, 0.8),
        "ordinal slope of b": (drawn["ordinal"][:, 3], -0.6),
    }
    by_level = np.einsum("kc,scj->skj", helmert(3).T, drawn["multinomial"].reshape(1200, 2, 3))
    for place, true in ((1, (1.0, -1.2)), (2, (0.5, -0.4))):
        unit = spread if place == 1 else 1.0
        for level in (1, 2):
            found[f"multinomial {place} {level}"] = (
                (by_level[:, level, place] - by_level[:, 0, place]) / unit,
                true[level - 1],
            )
    for name, (values, true) in found.items():
        assert abs(values.mean() - true) < 3.5 * values.std(), name
        assert values.std() < 0.5, name


@pytest.mark.parametrize("name", ["logistic", "ordinal", "multinomial"])
def test_records_of_weight_zero_are_left_out(fits, name):
    """The posterior is that of the other half alone, on the design of all: mode and spread of the
    exact density.
    """
    fitted = fits[name][1]
    model, prepared = fitted.synthesizer, fitted.block.prepared
    half = prepared.at(fitted.confidential.iloc[:200])
    size = fitted.posterior["coefficient"].shape[-1]
    alone = mode_of(model._density(half, np.ones(200)), size)
    drawn = fitted.posterior["coefficient"].values.reshape(-1, size)
    assert (np.abs(drawn.mean(axis=0) - alone) < 0.35 * drawn.std(axis=0)).all()
    theta = fitted.block.draw(0, 0)
    np.testing.assert_array_equal(fitted.contributions(theta)[200:], 0.0)


def test_a_fit_is_saved_and_read_back_and_draws_the_same(fits, tmp_path):
    fitted = fits["multinomial"][0]
    fitted.save(tmp_path / "fit.nc")
    again = rw.load_fit(
        tmp_path / "fit.nc", fitted.synthesizer, fitted.confidential, fitted.alpha, random_seed=7
    )
    for one, other in zip(
        fitted.synthesize(3, random_seed=1), again.synthesize(3, random_seed=1), strict=True
    ):
        pd.testing.assert_frame_equal(one, other)


def test_expected_risk_is_the_mass_of_the_own_level(fits):
    fitted = fits["multinomial"][0]
    scenario = rw.Scenario(known="g", synthetic="kind")
    found = rw.expected_identification_risk(fitted, scenario, draws=100, random_seed=2)
    masses = np.zeros(400)
    for draw in range(25):
        for chain in range(4):
            theta = fitted.block.draw(chain, 12 * draw)
            masses += np.exp(fitted.block.terms(theta)) / 100
    frames = fitted.synthesize(100, random_seed=3)
    risks = rw.identification_risk(fitted.confidential, frames, scenario)
    assert np.abs(found["own_mass"] - masses).max() < 0.03
    assert abs(found["risk"].mean() - np.asarray(risks).mean()) < 0.01
    influence = rw.influence(fitted, scenario=scenario)
    assert influence["attributable"].abs().max() < 0.2
    assert (influence["range"] > 0).all()


def test_a_level_is_compared_in_all_and_by_group(fits):
    fitted, frame = fits["multinomial"][0], fits["multinomial"][0].confidential
    table = rw.check_fit(fitted, scenario=rw.Scenario(known="g", synthetic="kind"), random_seed=1)
    assert rw.fit_verdict(table) == "fits"
    rows = table.set_index(["check", "parameter"])["confidential"]
    assert rows["check-share", "level c"] == (frame["kind"] == "c").mean()
    assert (
        rows["check-share-of-some", "g=b: a"]
        == (frame.loc[frame["g"] == "b", "kind"] == "a").mean()
    )
    assert set(table["check"]) == {
        "fits",
        "check-share",
        "check-share-of-some",
        "check-pit-distance",
        "check-pit-outer",
        "check-pairs",
    }
    constant = fit_at(
        fitted.synthesizer, frame, {"coefficient": np.array([3.0, 0, 0, 3.0, 0, 0])}, count=20
    )
    assert rw.fit_verdict(rw.check_fit(constant, random_seed=1)) == "misfits"


def test_marginal_weights_release_squared_shares():
    """METHODS section 3.5: one pattern, saturated model; the prior is worth less than a record
    among 20,000.
    """
    share = np.array([0.6, 0.255, 0.1, 0.045])
    frame = pd.DataFrame({"level": np.repeat(list("abcd"), (20_000 * share).astype(int))})
    alpha = rw.marginal_weights(frame, rw.Scenario(synthetic="level"))
    np.testing.assert_allclose(alpha.groupby(frame["level"]).first(), share, atol=1e-9)
    pairwise = (
        rw.pairwise_weights(frame, rw.Scenario(synthetic="level")).groupby(frame["level"]).first()
    )
    np.testing.assert_allclose(pairwise, (share**2).sum() + share * (1 - share), atol=1e-3)
    for model in (Multinomial("level ~ 1"), Ordinal("level ~ 1", levels=tuple("dbca"))):
        prepared = model.prepare(frame)
        for weights in (
            alpha.to_numpy(),
            np.ones(len(frame)),
            np.repeat(pairwise.to_numpy(), (20_000 * share).astype(int)),
        ):
            mode = mode_of(model._density(prepared, weights), 3)
            released = np.exp(model._log_probabilities(mode, prepared.rows, 4))[:, 0]
            kept = np.array(
                [(weights * (frame["level"] == level)).sum() for level in prepared.levels]
            )
            np.testing.assert_allclose(released, kept / kept.sum(), atol=5e-4)
        squared = dict(zip("abcd", share**2 / (share**2).sum(), strict=True))
        mode = mode_of(model._density(prepared, alpha.to_numpy()), 3)
        fitted = fit_at(model, frame, {"coefficient": mode}, count=20)
        held = pd.concat(fitted.synthesize(20, random_seed=1))["level"].value_counts(normalize=True)
        for level, expected in squared.items():
            error = np.sqrt(expected * (1 - expected) / 400_000)
            assert abs(held[level] - expected) < 5 * error + 5e-4


# Refusals


def refused(model, frame, *named):
    with pytest.raises(InputError) as caught:
        model.prepare(frame)
    assert_clear(caught, *named)


def test_bad_targets_are_refused():
    frame = simulated()
    one = frame.assign(
        word="low", grade=pd.Categorical(["low"] * N, LEVELS, ordered=True), yes=True
    )
    refused(Multinomial("word ~ x"), one, "'word'", "constant")
    refused(Ordinal("grade ~ x"), one, "'grade'", "constant")
    refused(Logistic("yes ~ x"), one, "'yes'", "constant")
    many_levels = frame.assign(word=[f"level {i}" for i in range(N)])
    refused(Multinomial("word ~ x"), many_levels, "'word'", "160 levels", "160 records")
    refused(
        Multinomial("word ~ x"),
        frame.assign(word=frame["word"].where(np.arange(N) > 1)),
        "'word'",
        "missing in 2 of 160",
    )
    refused(
        Multinomial("grade ~ x"),
        frame.assign(grade=frame["grade"].where(np.arange(N) > 1)),
        "'grade'",
        "missing in 2 of 160",
    )
    refused(
        Logistic("maybe ~ x"),
        frame.assign(maybe=frame["maybe"].where(np.arange(N) > 1)),
        "'maybe'",
        "missing in 2 of 160",
    )
    refused(Logistic("word ~ x"), frame, "'word'", "3 levels", "two")
    refused(Logistic("code ~ x"), frame, "'code'", "levels")
    refused(Multinomial("x ~ 1"), frame, "'x'", "levels")
    refused(Ordinal("word ~ x"), frame, "'word'", "order")
    refused(
        Ordinal("grade ~ x"),
        frame.assign(grade=frame["grade"].cat.as_unordered()),
        "'grade'",
        "order",
    )
    refused(
        Multinomial("word ~ x", levels=("low", "high")),
        frame,
        "'word'",
        "does not name",
        f"{(frame['word'] == 'middle').sum()} of 160",
    )
    refused(Multinomial("grade ~ x", levels=("low", "middle", "top")), frame, "'grade'", "dtype")
    refused(Multinomial("string ~ x", levels=(1, 2)), frame, "'string'", "dtype")


def test_an_unseen_or_missing_level_of_another_frame_is_refused():
    frame, model = simulated(), Multinomial("word ~ x")
    prepared = model.prepare(frame)
    other = frame.assign(word=frame["word"].where(np.arange(N) > 2, "elsewhere"))
    for changed, named in (
        (other, "lack in 3 of 160"),
        (frame.assign(word=frame["word"].where(np.arange(N) > 2)), "missing in 3 of 160"),
    ):
        with pytest.raises(InputError) as caught:
            prepared.at(changed)
        assert_clear(caught, "'word'", named)
    bare = prepared.at(frame.drop(columns="word"))
    unknown = model.distribution(coefficients(model, prepared, 1), bare).log_density(
        np.full(N, np.nan)
    )
    assert np.isnan(unknown).all()
    assert np.isneginf(
        model.distribution(coefficients(model, prepared, 1), bare).log_density(np.full(N, 0.5))
    ).all()


@pytest.mark.parametrize(
    "levels", [(), ("a",), ("a", "a"), "ab", 3, ("a", None), ("a", 1.5), (0, False)]
)
def test_levels_that_make_no_variable_are_refused_at_once(levels):
    with pytest.raises(InputError) as caught:
        Multinomial("y ~ x", levels=levels)
    assert_clear(caught, "levels")


def test_a_guarantee_needs_public_levels_and_clips_every_record():
    frame, guarantee = many(400), rw.Guarantee(epsilon=40, public=["x", "flag"])
    with pytest.raises(InputError) as caught:
        rw.fit(Logistic("flag ~ x"), frame, guarantee=guarantee, random_seed=1)
    assert_clear(caught, "levels of Logistic")
    model = Logistic("flag ~ x", levels=(False, True))
    prepared = prepare_model(model, frame)
    theta = coefficients(model, prepared.prepared, 1)
    fitted = fit_at(model, frame, theta, count=2)
    censoring = prepared.censor(guarantee, fitted.alpha, 2)
    ledger = open_ledger(
        fitted.posterior, censoring.digest(), 1, data_hash(model, fingerprint(frame))
    )
    fitted = fitted.changed(censoring=censoring, posterior=ledger)
    assert fitted.statement.upper == 0.0  # a probability
    found = fitted.contributions(fitted.draw(0, 0))
    np.testing.assert_allclose(
        found, np.clip(terms(model, theta, prepared.prepared, frame), fitted.statement.lower, 0.0)
    )
    assert len(fitted.synthesize(2, random_seed=1)) == 2  # no precision is asked for


def test_numbers_that_are_levels_are_matched_by_equality():
    frame = simulated()
    model = Ordinal("code ~ x", levels=(-1, 0, 1))
    fitted = fit_at(model, frame, coefficients(model, model.prepare(frame), 1), count=20)
    with pytest.raises(InputError) as caught:
        rw.expected_identification_risk(fitted, rw.Scenario(synthetic="code", radius=0.1))
    assert_clear(caught, "'code'", "categorical")
    found = rw.expected_identification_risk(
        fitted, rw.Scenario(synthetic="code", categorical="code"), draws=20, random_seed=1
    )
    own = np.exp(fitted.block.terms(fitted.block.draw(0, 0)))
    np.testing.assert_allclose(found["own_mass"], own, rtol=1e-9)


@dataclass(frozen=True)
class Shifted(Logistic):
    """Codes from one on."""

    def distribution(self, theta, prepared):
        return Asked(self, theta, prepared)

    def draw(self, theta, prepared, rng):
        return super().distribution(theta, prepared).draw(rng) + 1


@dataclass(frozen=True)
class Listed(Logistic):
    """Levels as a list."""

    def categories(self, prepared):
        return list(super().categories(prepared))


@dataclass(frozen=True)
class Ordering(Ordinal):
    """Levels in the order of their frequency in the data, though it says that nothing is taken from
    them.
    """

    def prepare(self, data):
        super().prepare(data)
        held = data[self.target].value_counts()
        return Ordinal(
            self.formula, levels=tuple(sorted(self.levels, key=lambda level: held.get(level, 0)))
        ).prepare(data)


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (Shifted("yes ~ x"), ("'yes'", "no code: 0 to 1")),
        (Listed("yes ~ x"), ("Listed", "tuple")),
        (Ordering("word ~ x", levels=LEVELS), ("Ordering", "data_dependent")),
    ],
    ids=["codes from one on", "a list", "an order found in the data"],
)
def test_a_class_that_breaks_the_contract_of_levels_is_found(model, named):
    with pytest.raises(rw.ContractError) as caught:
        rw.check_synthesizer(model, simulated())
    assert all(word in str(caught.value) for word in named)
