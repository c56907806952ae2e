"""What is sampled of a mixture, held to its PyMC model and to NumPy."""

import numpy as np
import pandas as pd
import pytest
from posteriors import log_posterior_of
from records import terms
from riskweighted_models.column_blocks import column_blocks
from riskweighted_models.kernels.mixture_sums import mixture_sum
from riskweighted_models.kernels.vectors import BLOCK, exp_below, fast_kernel, log_above
from riskweighted_models.normal_mixture import NormalMixture
from scipy.special import logsumexp

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.sampling.graphs import _function
from riskweighted.sampling.laplace import begun_at_modes, mode_of

N = 400
SHAPES = [
    ("rent ~ group + size", {}),
    ("rent ~ group + size", {"components": 1}),
    ("rent ~ 1", {}),
    ("rent ~ 1", {"components": 1}),
    ("rent ~ group", {"components": 2, "concentration": "gamma"}),
    ("rent ~ group", {"components": 2, "gating": True}),
]


@pytest.fixture(scope="module")
def confidential():
    rng = np.random.default_rng(5)
    group = rng.choice(["a", "b", "c"], N)
    rent = np.exp(5 + 0.4 * (group == "b") + rng.choice([0.2, 0.7], N) * rng.normal(size=N))
    return pd.DataFrame(
        {"group": group, "size": rng.integers(1, 4, N), "rent": np.round(rent, -1).clip(10)}
    )


def built(confidential, formula, settings):
    synthesizer = NormalMixture(formula, **settings)
    prepared = synthesizer.prepare(confidential)
    return synthesizer, prepared, synthesizer.build(prepared)


def some_vectors(layout, count):
    rng = np.random.default_rng(1)
    vectors = rng.normal(0, 0.5, (count, layout.size))
    if "log_tau" in layout.places:
        vectors[:, layout.places["log_tau"]] = np.log(0.03) + 0.3 * rng.normal(size=(count, 1))
        vectors[:, layout.places["deviation"]] *= 0.05
    return vectors


@pytest.mark.parametrize(("formula", "settings"), SHAPES)
def test_the_density_is_that_of_the_model_and_its_gradient_is_right(
    confidential, formula, settings
):
    synthesizer, prepared, blueprint = built(confidential, formula, settings)
    alpha, layout = np.random.default_rng(2).random(N), blueprint.layout
    density = blueprint.density(alpha)
    posterior = log_posterior_of(blueprint)
    vectors = some_vectors(layout, 4)
    thetas = [
        {name: values[row] for name, values in layout.parameters(vectors).items()}
        for row in range(4)
    ]
    np.testing.assert_allclose([layout.vector(theta) for theta in thetas], vectors, atol=1e-12)
    heights = np.array([density(vector)[0] for vector in vectors])
    stated = np.array([posterior(theta, alpha) for theta in thetas]) + layout.log_jacobian(vectors)
    assert np.ptp(heights - stated) <= 1e-10 * np.abs(stated).max()
    prior = np.array([blueprint.density(np.zeros(N))(vector)[0] for vector in vectors])
    likelihood = [alpha @ terms(synthesizer, theta, prepared, confidential) for theta in thetas]
    np.testing.assert_allclose(heights - prior, likelihood, rtol=1e-10)
    slopes = [
        (density(vectors[0] + step)[0] - density(vectors[0] - step)[0]) / 2e-6
        for step in 1e-6 * np.eye(layout.size)
    ]
    np.testing.assert_allclose(density(vectors[0])[1], slopes, rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize(("formula", "settings"), SHAPES)
def test_predictive_moments_are_those_of_the_graph(confidential, formula, settings):
    _, _, blueprint = built(confidential, formula, settings)
    layout, model = blueprint.layout, blueprint.model
    found = layout.parameters(some_vectors(layout, 3))
    for row in range(3):
        theta = {name: values[row] for name, values in found.items()}
        for name in ("predictive_mean", "predictive_sd"):
            assert float(_function(model, model[name], [])(theta, {})) == pytest.approx(
                found[name][row], rel=1e-10
            )


@pytest.mark.parametrize("gated", [False, True])
def test_the_kernel_is_the_sum_of_log_densities(gated):
    rng, rows, cells, components = np.random.default_rng(3), 1000, 37, 3
    z = rng.normal(size=rows)
    weight = rng.random(rows)
    cell = np.sort(rng.integers(0, cells, rows)).astype(np.uint32)
    mean, sd = rng.normal(size=(components, cells)), np.array([0.05, 0.8, 2.5])
    log_share = np.log(
        rng.dirichlet(np.ones(components), cells).T if gated else np.array([[0.2], [0.5], [0.3]])
    )
    z[::100] = 40.0  # far out
    value, by_mean, by_log_sd, by_share = mixture_sum(
        z, weight, cell, mean, sd, np.ascontiguousarray(log_share)
    )
    standard = (z - mean[:, cell]) / sd[:, None]
    each = (
        (log_share[:, cell] if gated else log_share)
        - np.log(sd)[:, None]
        - 0.5 * np.log(2 * np.pi)
        - 0.5 * standard**2
    )
    total = logsumexp(each, axis=0)
    part = weight * np.exp(each - total)
    assert value == pytest.approx(weight @ total, rel=1e-12)
    expected = np.array([np.bincount(cell, row, cells) for row in part * standard / sd[:, None]])
    np.testing.assert_allclose(by_mean, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(by_log_sd, (part * (standard**2 - 1)).sum(axis=1), rtol=1e-10)
    shares = (
        np.array([np.bincount(cell, row, cells) for row in part])
        if gated
        else part.sum(axis=1, keepdims=True)
    )
    np.testing.assert_allclose(by_share, shares, rtol=1e-9, atol=1e-12)


@fast_kernel
def _both(below, above):
    bits, more = np.empty(BLOCK, dtype=np.int64), np.empty(BLOCK, dtype=np.int64)
    exps, logs = np.empty(BLOCK), np.empty(BLOCK)
    exp_below(below, bits, bits.view(np.float64), exps)
    log_above(above, bits, bits.view(np.float64), more, more.view(np.float64), logs)
    return exps, logs


def test_exp_and_log_of_a_block_keep_their_digits():
    rng = np.random.default_rng(4)
    for scale in (1e-9, 1e-3, 1.0, 30.0, 699.0):
        below, above = -scale * rng.random(BLOCK), 1 + scale * rng.random(BLOCK)
        below[0], above[0] = 0.0, 1.0
        exps, logs = _both(below, above)
        np.testing.assert_allclose(exps, np.exp(below), rtol=1e-15)
        np.testing.assert_allclose(logs, np.log(above), rtol=4e-16, atol=1e-18)
    assert _both(np.full(BLOCK, -1e4), np.ones(BLOCK))[0].max() < 1e-300


@pytest.mark.parametrize("most", [1, 5, 4096])
def test_blocks_of_columns_give_the_product_and_its_transpose(most):
    rng = np.random.default_rng(6)
    rows = np.column_stack(
        [rng.integers(0, 2, (300, 6)), rng.normal(size=300), rng.integers(0, 3, 300)]
    ).astype(float)
    blocks = column_blocks(rows, most)
    slopes, by_row = rng.normal(size=(3, 8)), rng.normal(size=(3, 300))
    np.testing.assert_allclose(blocks.linear(slopes), slopes @ rows.T, atol=1e-12)
    np.testing.assert_allclose(blocks.pulled(by_row), by_row @ rows, atol=1e-12)
    assert sorted(np.concatenate(blocks.columns).tolist()) == list(range(8))


@pytest.mark.parametrize("name", ["log_tau", "log_total"])
@pytest.mark.parametrize("far", [-800.0, 800.0])
def test_a_scale_that_no_number_holds_has_no_density(confidential, name, far):
    blueprint = built(confidential, "rent ~ group", {"components": 2, "concentration": "gamma"})[2]
    vector = np.zeros(blueprint.layout.size)
    vector[blueprint.layout.places[name]] = far
    # and not an OverflowError, so that a search turns back
    assert not np.isfinite(blueprint.density(np.ones(N))(vector)[0])


def test_components_may_swap_their_labels(confidential):
    _, _, blueprint = built(confidential, "rent ~ group", {"components": 3, "gating": True})
    layout, density = blueprint.layout, blueprint.density(np.ones(N))
    vector = some_vectors(layout, 1)[0]
    swapped = layout.relabelled(vector, np.array([2, 0, 1]))
    jacobians = layout.log_jacobian(np.array([vector, swapped]))
    assert density(swapped)[0] - jacobians[1] == pytest.approx(
        density(vector)[0] - jacobians[0], rel=1e-12
    )
    np.testing.assert_allclose(layout.relabelled(swapped, np.array([1, 2, 0])), vector, atol=1e-12)


def test_chains_begin_at_every_mode_that_is_found(confidential):
    """Two clusters far apart, three components: the spare one may join either."""
    rng = np.random.default_rng(7)
    z = np.concatenate([rng.normal(-4, 0.5, N // 2), rng.normal(4, 0.5, N // 2)])
    _, _, blueprint = built(
        confidential.assign(rent=np.exp(6 + z / 4)), "rent ~ 1", {"components": 3}
    )
    density, layout = blueprint.density(np.ones(N)), blueprint.layout
    starts = density.starts()
    assert 2 <= len(starts) <= 3
    assert not np.allclose(starts[0], starts[1], atol=0.05)
    heights = np.array([density(start)[0] for start in starts])
    for start, height in zip(starts, heights, strict=True):
        assert density(mode_of(density, layout.size, start))[0] == pytest.approx(height, abs=0.01)
    coordinates, places = begun_at_modes(density, layout.size)
    assert density(coordinates.vector(places[heights.argmax()]))[0] == pytest.approx(
        heights.max(), abs=0.01
    )


def test_a_thinned_density_stands_for_the_whole_one(confidential, monkeypatch):
    monkeypatch.setattr("riskweighted_models.thinning._ROUGH", 50)
    monkeypatch.setattr("riskweighted_models.mixture_layout.ROUGH_ABOVE", 60)
    _, _, blueprint = built(confidential, "rent ~ group", {"components": 2})
    layout = blueprint.layout
    whole = blueprint.density(np.ones(N))
    thin, start = whole.rough(), whole.starts()[0]
    assert thin is whole.rough()
    near = [layout.parameters(place[None]) for place in (start, mode_of(whole, layout.size, start))]
    assert abs(near[0]["predictive_mean"][0] - near[1]["predictive_mean"][0]) < 0.5
    assert thin(np.zeros(layout.size))[0] != whole(np.zeros(layout.size))[0]


# of short chains
@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.ConvergenceWarning")
def test_rounded_responses_are_sampled_in_large_files_and_the_table_says_how_far_off_that_is(
    confidential, monkeypatch
):
    monkeypatch.setattr("riskweighted_models.normal_mixture._EXACT_UP_TO", 300)
    rough = confidential.assign(rent=np.exp(5 + 0.6 * np.random.default_rng(8).normal(size=N)))
    short = {"random_seed": 1, "draws": 200, "tune": 200, "chains": 2}
    monkeypatch.setattr("riskweighted_models.normal_mixture._ROUNDED_TO", 0.1)
    fits = [
        rw.fit(NormalMixture("rent ~ 1", components=1, exact=exact), rough, **short)
        for exact in (False, True)
    ]
    off = fits[0].diagnostics["approximation"]
    assert off.nunique() == 1
    assert 0 < off.iloc[0] < 0.2
    assert fits[1].diagnostics["approximation"].isna().all()
    prepared = fits[0].block.prepared
    blueprints = [fitted.synthesizer.build(fitted.block.prepared) for fitted in fits]
    assert blueprints[1].exact is None
    vectors = some_vectors(blueprints[0].layout, 3)
    exact, rounded, other = (
        make(np.ones(N))
        for make in (blueprints[0].exact, blueprints[0].density, blueprints[1].density)
    )
    for vector in vectors:
        assert exact(vector)[0] == other(vector)[0] != rounded(vector)[0]
        theta = {
            name: values[0]
            for name, values in blueprints[0].layout.parameters(vector[None]).items()
        }
        records = fits[0].block.distribution(theta)
        moved = np.exp(prepared.location + prepared.scale * np.rint(prepared.z / 0.1) * 0.1)
        difference = records.log_density(moved).sum() - records.log_density(fits[0].block.y).sum()
        assert rounded(vector)[0] - exact(vector)[0] == pytest.approx(difference, abs=1e-8)
    with pytest.raises(InputError, match="exact must be true or false, got 1"):
        NormalMixture("rent ~ 1", exact=1)
