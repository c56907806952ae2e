"""Survey weights in the likelihood: the product with alpha is what enters, above 1 too; what is
saved, searched and refused.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.sampling.block_fit import prepare_model
from riskweighted.sampling.block_modes import block_modes
from riskweighted.sampling.compilation import compile_prepared
from riskweighted.sampling.sampling_settings import Sampling
from riskweighted.sequence.fitting import fit_sequence
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sequence.tasks import BlockTask
from tests.tools.importance import reweighted_draws

SHORT = {"draws": 300, "tune": 300, "chains": 2, "random_seed": 4}
MODEL = rw.load_synthesizer("linear-regression")("y ~ x")


def sample():
    """Large values of y are drawn four times as often, and have a quarter of the weight."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=6000)
    y = 2 + x + rng.normal(size=6000)
    drawn = rng.random(6000) < np.where(y > 2, 0.4, 0.1)
    data = pd.DataFrame({"x": x, "y": y, "w": np.where(y > 2, 2.5, 10.0)})[drawn]
    return data.set_axis([f"r{i}" for i in range(len(data))])


@pytest.fixture(scope="module")
def alpha():
    data = sample()
    return pd.Series(np.random.default_rng(1).uniform(0.2, 1, len(data)), data.index)


@pytest.fixture(scope="module")
def fitted(alpha):
    return rw.fit(MODEL, sample(), alpha, survey="w", **SHORT)


def test_the_product_enters_and_alpha_stays_what_it_is(fitted, alpha):
    data = sample()
    survey = rw.survey_weights(data, "w")
    pd.testing.assert_series_equal(fitted.alpha, alpha, check_names=False)
    pd.testing.assert_series_equal(fitted.survey, survey)
    pd.testing.assert_series_equal(fitted.weights, alpha * survey, check_names=False)
    assert fitted.weights.max() > 1.5
    theta = fitted.draw(0, 0)
    terms = fitted.block.terms(theta)
    np.testing.assert_allclose(fitted.contributions(theta), alpha * survey * terms)
    np.testing.assert_allclose(
        rw.influence(fitted, draws=5)["lipschitz"]
        <= survey * np.abs(fitted.largest_terms / survey),
        True,
    )


def test_weights_undo_a_sample_that_took_large_values_more_often():
    """The line is y = 2 + x in the population; without weights its intercept is too high, with them
    it is not.
    """
    data = sample()
    unweighted, surveyed = (rw.fit(MODEL, data, survey=survey, **SHORT) for survey in (None, "w"))
    assert unweighted.converged
    assert surveyed.converged
    at_zero = {}
    for name, found in (("unweighted", unweighted), ("surveyed", surveyed)):
        drawn = np.concatenate(
            [frame["y"] - frame["x"] for frame in found.synthesize(10, random_seed=1)]
        )
        at_zero[name] = drawn.mean()
    assert at_zero["unweighted"] > 2.2
    assert at_zero["surveyed"] == pytest.approx(2, abs=0.08)


def test_equal_survey_weights_change_nothing(alpha):
    data = sample().assign(w=5)
    plain = rw.fit(MODEL, data, alpha, **SHORT)
    surveyed = rw.fit(MODEL, data, alpha, survey="w", **SHORT)
    for name in plain.posterior:
        np.testing.assert_allclose(plain.posterior[name], surveyed.posterior[name])


def test_values_are_taken_as_a_column_is(fitted, alpha):
    data = sample()
    again = rw.fit(MODEL, data, alpha, survey=data["w"].to_numpy(), **SHORT)
    assert fitted.posterior.equals(again.posterior)


def test_a_fit_is_read_back_with_its_survey_weights_alone(fitted, alpha, tmp_path):
    data, path = sample(), tmp_path / "fit.nc"
    fitted.save(path)
    loaded = rw.load_fit(path, MODEL, data, alpha, survey="w")
    pd.testing.assert_series_equal(loaded.weights, fitted.weights)
    assert loaded.posterior.equals(fitted.posterior)
    for survey in (None, np.ones(len(data))):
        with pytest.raises(InputError, match="fit of other weights"):
            rw.load_fit(path, MODEL, data, alpha, survey=survey)


def test_modes_and_neighbours_are_those_of_the_product(fitted, alpha):
    """The mode under alpha and survey weights is that of the same weights given as alpha, divided
    by their maximum, up to the prior.
    """
    data = sample()
    model = prepare_model(MODEL, data, "w")
    compiled = compile_prepared(model)
    modes = block_modes(compiled, replace(fitted.block, alpha=pd.Series(1.0, data.index)))
    mode = modes.parameters(modes.find(alpha.to_numpy())[None])
    unsurveyed = replace(compiled, model=replace(model, survey=None))
    plain = block_modes(
        unsurveyed, replace(fitted.block, alpha=pd.Series(1.0, data.index), survey=None)
    )
    product = fitted.weights.to_numpy()
    other = plain.parameters(plain.find(product, near=modes.start)[None])
    for name in mode:
        np.testing.assert_allclose(mode[name], other[name], rtol=1e-4, atol=1e-5)
    assert reweighted_draws(fitted, alpha).spread == 0
    nearby = (0.999 * alpha).to_numpy()
    terms = np.array(
        [fitted.block.terms(fitted.block.draw(*place)) for place in np.ndindex(2, 300)]
    )
    expected = (terms @ (-0.001 * product)).std(ddof=1)
    assert reweighted_draws(fitted, nearby).spread == pytest.approx(expected)


def test_the_compiled_model_is_shared_and_the_weights_are_not():
    data = sample()
    first, second = (compile_prepared(prepare_model(MODEL, data, survey)) for survey in ("w", None))
    assert first.blueprint is not None
    assert first.blueprint is second.blueprint
    assert first.model.survey is not None
    assert second.model.survey is None


def test_a_fit_is_judged_by_its_data_only_without_survey_weights(fitted):
    unweighted = fitted.changed(alpha=pd.Series(1.0, fitted.alpha.index))
    assert set(rw.check_fit(unweighted, draws=10, random_seed=1)["verdict"]) == {"cost"}


@pytest.mark.long
# one of 199 quantities, in short chains
@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.ConvergenceWarning")
def test_every_block_of_a_chain_has_the_weights_of_its_records():
    """Not normalised again among them; of a record that a block leaves out nothing enters."""
    rng = np.random.default_rng(2)
    data = sample().assign(b=lambda frame: np.where(rng.random(len(frame)) < 0.4, "yes", "no"))
    data.loc[data.index[:100], "y"] = np.nan
    chain = rw.load_synthesizer("sequential")(["b", "y"], predictors=["x"])
    survey = rw.survey_weights(data, "w")
    prepared = prepare_sequence(chain, data, "w")
    assert [block.name for block in prepared.blocks] == ["b", "y is missing", "y"]
    for block in prepared.blocks:
        pd.testing.assert_series_equal(block.model.survey, survey[block.member])
    assert prepared.blocks[2].model.survey.mean() != pytest.approx(1, abs=1e-6)
    short = Sampling(draws=500, tune=500, chains=2)
    block = prepared.blocks[0]
    fitted = fit_sequence(prepared, None, short, 1).blocks["b"]
    pd.testing.assert_series_equal(fitted.weights, survey, check_names=False)
    assert BlockTask(block, fitted.alpha, fitted.random_seed).is_done_by(fitted, short)
    assert not BlockTask(
        prepare_sequence(chain, data).blocks[0], fitted.alpha, fitted.random_seed
    ).is_done_by(fitted, short)
    with pytest.raises(InputError, match="survey weights 'y' are a column that is synthesized"):
        rw.fit(chain, data, survey="y")


@pytest.mark.parametrize(
    ("survey", "message"),
    [
        ("nope", "no column 'nope'"),
        ("y", "survey weights 'y' are the column that is synthesized: name another one"),
        ("negative", "0 are missing, 0 infinite and 1 negative"),
        ("text", "must be numbers >= 0, got dtype"),
        (np.zeros(3), "one weight for each of"),
        (pd.Series([1.0]), "must have the index"),
    ],
)
def test_what_is_refused(survey, message):
    data = sample().assign(text="a", negative=1.0)
    data.loc["r3", "negative"] = -1.0
    with pytest.raises(InputError, match=message):
        rw.fit(MODEL, data, survey=survey)


def test_a_product_that_is_zero_everywhere_is_refused(alpha):
    survey = pd.Series(np.where(alpha > 0.5, 1.0, 0.0), alpha.index)
    with pytest.raises(InputError, match="weights are zero"):
        rw.fit(MODEL, sample(), alpha.where(alpha <= 0.5, 0.0), survey=survey)


def test_a_guarantee_refuses_them():
    data, guarantee = sample(), rw.Guarantee(epsilon=10)
    with pytest.raises(InputError, match="a guarantee holds for no survey weights"):
        rw.fit(MODEL, data, survey="w", guarantee=guarantee)
    model = rw.compile_model(MODEL, data, survey="w")
    with pytest.raises(InputError, match="a guarantee holds for no survey weights"):
        model.sample(guarantee=guarantee)


def test_tuning_needs_an_unweighted_fit_with_the_same_survey_weights(fitted):
    unweighted = fitted.changed(alpha=pd.Series(1.0, fitted.alpha.index))
    asked = {"target": "isolated-risk", "target_max": 0.01, "fit": unweighted}
    with pytest.raises(InputError, match="fit has other survey weights than survey"):
        rw.tune(MODEL, sample(), rw.Scenario(known=(), synthetic="y"), **asked)
