"""The engine "jax": the same log density and gradient as the kernels give, the same posterior, and a plain no where it cannot be."""

import sys

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.contract.layout import layout_of
from riskweighted.contract.synthesizer import Synthesizer
from riskweighted.sampling.jaxed import jax_density
from riskweighted.sampling.laplace import Independent, Scaled
from riskweighted.sequence.fitting import compile_model

pytest.importorskip("jax", reason="JAX is not installed")
N = 150


def records(seed: int = 1) -> pd.DataFrame:
    """Records with an amount, zeros, a count and levels."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c"], N)
    amount = np.exp(rng.normal(10, 1, N) + 0.3 * (group == "b"))
    frame = pd.DataFrame({"group": group, "age": rng.normal(size=N), "amount": amount, "count": rng.poisson(amount / 20_000)})
    frame["income"] = np.where(rng.random(N) < 0.2, 0.0, frame["amount"])
    frame["smoke"] = rng.choice(["no", "yes"], N)
    frame["level"] = pd.Categorical(rng.choice([1, 2, 3], N), ordered=True)
    return frame


def synthesizer(name: str, target: str, **settings: object) -> Synthesizer:
    return rw.load_synthesizer(name)(f"{target} ~ C(group) + age", **settings)


MODELS = {
    "mixture": ("normal-mixture", "amount", {"components": 2}),
    "gates": ("normal-mixture", "amount", {"components": 2, "gating": True, "concentration": "gamma"}),
    "counts of components": ("negative-binomial", "count", {"components": 2}),
    "one negative binomial": ("negative-binomial", "count", {"components": 1}),
    "regression": ("linear-regression", "amount", {}),
    "two parts": ("two-part", "income", {}),
    "ordinal": ("ordinal", "level", {}),
}


@pytest.mark.parametrize("model", MODELS)
def test_log_density_and_gradient_are_those_of_the_kernels(model: str) -> None:
    name, target, settings = MODELS[model]
    own, data, rng = synthesizer(name, target, **settings), records(), np.random.default_rng(2)
    blueprint = own.build(own.prepare(data))
    assert blueprint is not None
    assert blueprint.of_vector is not None
    alpha = np.where(rng.random(N) < 0.1, 0.0, rng.uniform(0.1, 1, N))
    given, computed, size = blueprint.of_vector(alpha), jax_density(blueprint)(alpha), layout_of(blueprint).size
    assert [isinstance(computed, form) for form in (Independent, Scaled)] == [isinstance(given, form) for form in (Independent, Scaled)]
    vectors = rng.normal(0, 0.1, (3, size))
    pairs = [(given(vector), computed(vector)) for vector in vectors]
    constant = pairs[0][1][0] - pairs[0][0][0]
    for (height, gradient), (other, slope) in pairs:
        assert other - height == pytest.approx(constant, abs=1e-10 * abs(height))
        np.testing.assert_allclose(slope, gradient, rtol=1e-9, atol=1e-9 * np.abs(gradient).max())


def test_a_fit_has_the_posterior_of_the_other_engine_and_says_which_it_was() -> None:
    data = records()
    model = synthesizer("normal-mixture", "amount", components=1)
    fits = {engine: rw.fit(model, data, random_seed=1, engine=engine) for engine in ("nuts", "jax")}
    assert set(fits["jax"].diagnostics["engine"]) == {"jax"}
    assert fits["jax"].converged
    means = {engine: fit.posterior["predictive_mean"].values.ravel() for engine, fit in fits.items()}
    assert means["jax"].mean() == pytest.approx(means["nuts"].mean(), abs=5 * means["nuts"].std() / np.sqrt(400))
    assert means["jax"].std() == pytest.approx(means["nuts"].std(), rel=0.2)


def test_weights_act_and_one_compilation_serves_them_all() -> None:
    data = records()
    (model,) = compile_model(synthesizer("linear-regression", "amount"), data).models
    assert model.computed is not None
    assert model.computed.of_vector is model.computed.of_vector
    few = rw.fit(synthesizer("linear-regression", "amount"), data, np.full(N, 0.05), random_seed=1, engine="jax", draws=200, tune=200)
    all_of_it = rw.fit(synthesizer("linear-regression", "amount"), data, random_seed=1, engine="jax", draws=200, tune=200)
    assert float(few.posterior["coefficient"].std()) > 2 * float(all_of_it.posterior["coefficient"].std(("chain", "draw")).max())


def test_a_chain_is_fitted_by_it_block_by_block() -> None:
    chain = rw.load_synthesizer("sequential")(["smoke"], predictors=["group"])
    fitted = rw.fit(chain, records(), random_seed=1, engine="jax", draws=600, tune=300, chains=2)
    assert {engine for fit in fitted.blocks.values() for engine in fit.diagnostics["engine"]} == {"jax"}


def test_what_it_cannot_do_is_refused_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    data, guarantee = records(), rw.Guarantee(epsilon=1.0, reference=rw.Reference("norm", {"loc": 0, "scale": 1}))
    with pytest.raises(rw.InputError, match="a guarantee censors the model; valid are 'auto' and 'nuts'"):
        rw.fit(synthesizer("linear-regression", "amount", location=10.0, scale=1.0), data, engine="jax", guarantee=guarantee)
    with pytest.raises(rw.InputError, match="Hierarchical has no density of one vector"):
        rw.fit(rw.load_synthesizer("hierarchical")("amount ~ age", groups=["group"]), data, engine="jax")
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(rw.InputError, match=r"needs jax, which is not installed: pip install 'riskweighted\[jax\]'"):
        rw.fit(synthesizer("linear-regression", "amount"), data, engine="jax")
