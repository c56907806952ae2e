"""What is sampled of a negative-binomial regression or a mixture of them, held to its PyMC model
and to NumPy.
"""

import numpy as np
import pandas as pd
import pytest
from posteriors import log_posterior_of
from records import terms
from riskweighted_models.common_length import CommonLength
from riskweighted_models.common_scale import scales
from riskweighted_models.kernels.count_sums import count_sum, logistic_parts, rises
from riskweighted_models.negative_binomial import NegativeBinomial
from scipy.special import digamma, expit, gammaln, logsumexp
from scipy.stats import nbinom

from riskweighted.contract.distribution import interval_masses
from riskweighted.sampling.graphs import _function
from riskweighted.sampling.laplace import begun_at_modes, mode_of
from riskweighted.sequence.fitting import compile_model

N = 400
SHAPES = [
    ("count ~ 1", {}),
    ("count ~ group + size", {}),
    ("count ~ 1", {"components": 3}),
    ("count ~ group + size", {"components": 3}),
    ("count ~ group", {"components": 2, "concentration": "gamma"}),
]


@pytest.fixture(scope="module")
def confidential():
    rng = np.random.default_rng(5)
    group = rng.choice(["a", "b", "c"], N)
    mean = np.exp(2 + 0.4 * (group == "b") + rng.choice([-1, 1], N))
    return pd.DataFrame(
        {
            "group": group,
            "size": rng.integers(1, 4, N),
            "count": rng.poisson(rng.gamma(3, mean / 3)),
        }
    )


def built(confidential, formula, settings):
    synthesizer = NegativeBinomial(formula, **settings)
    prepared = synthesizer.prepare(confidential)
    return synthesizer, prepared, synthesizer.build(prepared)


def some_vectors(layout, count, width=0.5):
    rng = np.random.default_rng(1)
    vectors = rng.normal(0, width, (count, layout.size))
    if "log_tau" in layout.places:
        vectors[:, layout.places["log_tau"]] = np.log(0.03) + 0.3 * rng.normal(size=(count, 1))
        vectors[:, layout.places["deviation"]] *= 0.05
    return vectors


def drawn(layout, vectors):
    found = layout.parameters(vectors)
    return [{name: values[row] for name, values in found.items()} for row in range(len(vectors))]


@pytest.mark.slow
@pytest.mark.parametrize(("formula", "settings"), SHAPES)
def test_the_density_is_that_of_the_model_and_its_gradient_is_right(
    confidential, formula, settings
):
    synthesizer, prepared, blueprint = built(confidential, formula, settings)
    alpha = np.where(np.arange(N) % 5 == 0, 0.0, np.random.default_rng(2).random(N))
    layout = blueprint.layout
    density, prior = blueprint.density(alpha), blueprint.density(np.zeros(N))
    vectors = np.concatenate([some_vectors(layout, 3, width) for width in (0.2, 1.5)])
    vectors[4, layout.places["log_inverse_phi"]] = -9.0
    vectors[5, layout.places["log_inverse_phi"]] = 12.0
    thetas, posterior = drawn(layout, vectors), log_posterior_of(blueprint)
    np.testing.assert_allclose(
        [layout.vector(theta) for theta in thetas], vectors, rtol=1e-10, atol=1e-10
    )
    heights = np.array([density(vector)[0] for vector in vectors])
    stated = np.array([posterior(theta, alpha) for theta in thetas]) + layout.log_jacobian(vectors)
    assert np.ptp(heights - stated) <= 1e-10 * np.abs(stated).max()
    likelihood = [alpha @ terms(synthesizer, theta, prepared, confidential) for theta in thetas]
    np.testing.assert_allclose(
        heights - [prior(vector)[0] for vector in vectors], likelihood, rtol=1e-10
    )
    for vector in vectors:
        slopes = [
            (density(vector + step)[0] - density(vector - step)[0]) / 2e-6
            for step in 1e-6 * np.eye(layout.size)
        ]
        np.testing.assert_allclose(
            density(vector)[1], slopes, rtol=1e-5, atol=1e-7 * np.abs(density(vector)[0])
        )


@pytest.mark.parametrize(("formula", "settings"), SHAPES)
def test_what_follows_from_a_vector_is_that_of_the_graph(confidential, formula, settings):
    _, _, blueprint = built(confidential, formula, settings)
    model, layout = blueprint.model, blueprint.layout
    for theta in drawn(layout, some_vectors(layout, 3)):
        for variable in model.deterministics:
            np.testing.assert_allclose(
                _function(model, variable, [])(theta, {}), theta[variable.name], rtol=1e-10
            )
        assert set(theta) == {
            variable.name for variable in (*model.free_RVs, *model.deterministics)
        }


def test_log_gammas_keep_their_digits_for_any_size():
    count = np.array([0.0, 1.0, 2.0, 9.0, 10.0, 57.0, 3000.0])
    for phi in (1e-12, 1e-3, 0.3, 1.0, 9.99, 10.0, 77.0, 1e4, 1e8, 1e15, 1e120):
        steps = [np.log1p(np.arange(int(y)) / phi).sum() for y in count]
        slopes = [-(np.arange(int(y)) / (phi + np.arange(int(y)))).sum() for y in count]
        (value,), (slope,) = rises(count, np.array([phi]))
        np.testing.assert_allclose(value, steps, rtol=1e-13, atol=1e-12)
        np.testing.assert_allclose(slope, slopes, rtol=1e-12, atol=1e-12)
        if phi < 1e3:
            np.testing.assert_allclose(
                value,
                gammaln(count + phi) - gammaln(phi) - count * np.log(phi),
                rtol=1e-10,
                atol=1e-10,
            )
            np.testing.assert_allclose(
                slope, phi * (digamma(count + phi) - digamma(phi)) - count, rtol=1e-9, atol=1e-9
            )


def test_logarithms_of_one_and_more_keep_their_digits():
    eta = np.linspace(-60, 60, 201)[None] + np.zeros((2, 1))
    log_phi = np.array([-3.0, 20.0])
    grown, share = logistic_parts(eta, log_phi)
    far = eta - log_phi[:, None]
    np.testing.assert_allclose(
        grown, np.maximum(far, 0) + np.log1p(np.exp(-np.abs(far))), rtol=1e-14
    )
    np.testing.assert_allclose(share, expit(far), rtol=1e-14)


def test_the_kernel_is_the_sum_of_log_densities():
    rng, rows, cells, counts, components = np.random.default_rng(3), 1000, 37, 21, 3
    weight, count = rng.random(rows), np.sort(rng.integers(0, 500, counts)).astype(float)
    cell, place = (
        np.sort(rng.integers(0, most, rows)).astype(np.uint32) for most in (cells, counts)
    )
    rng.shuffle(place)
    base, link, tail = (
        scale * rng.normal(size=(components, own))
        for own, scale in ((counts, 5), (cells, 0.3), (cells, 3))
    )
    value, *slopes = count_sum(weight, cell, place, count, base, link, tail)
    each = base[:, place] + count[place] * link[:, cell] - tail[:, cell]
    total = logsumexp(each, axis=0)
    part = weight * np.exp(each - total)
    assert value == pytest.approx(weight @ total, rel=1e-13)
    wanted = [
        [np.bincount(where, row, most) for row in own]
        for where, own, most in (
            (place, part, counts),
            (cell, part * count[place], cells),
            (cell, part, cells),
        )
    ]
    for found, expected in zip(slopes, wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("count", [1, 2, 5, 60])
def test_coordinates_of_a_common_scale_are_those_of_the_module(count):
    """r as it is written there, its derivative by differences, the density by its sum over sigma,
    and b back from w.
    """
    length, rng = CommonLength(count, 3.0), np.random.default_rng(count)
    log_sigma, log_weight = scales(count, 3.0)
    for rho in (1e-4, 0.03, 0.5, 1.0, 2.5, 4.0, 30.0):
        direction = rng.normal(size=count)
        w = rho * direction / np.linalg.norm(direction)
        b = length.coefficients(w[None])[0]

        def r_of(rho):
            if count == 1:
                return rho / (1 + np.log(1 + 1 / rho) * np.exp(-(rho**2)))
            return rho * (-np.expm1(-(rho**2))) ** ((count - 1) / 2)

        assert np.linalg.norm(b) == pytest.approx(r_of(rho), rel=1e-10)
        np.testing.assert_allclose(length.vector(b), w, rtol=1e-11)
        change = (r_of(rho * (1 + 1e-5)) - r_of(rho * (1 - 1e-5))) / (2e-5 * rho)
        jacobian = (count - 1) * np.log(r_of(rho) / rho) + np.log(change)
        assert length.log_jacobian(w[None])[0] == pytest.approx(jacobian, abs=1e-6)
        normal = -count * (log_sigma + 0.5 * np.log(2 * np.pi)) - 0.5 * (b @ b) * np.exp(
            -2 * log_sigma
        )
        height, slope, moved_to, pulled = length(w)
        np.testing.assert_allclose(moved_to, b, rtol=1e-12)
        assert height == pytest.approx(
            logsumexp(log_weight + normal) + length.log_jacobian(w[None])[0], rel=1e-10
        )
        step = 1e-5 * min(rho, 1)
        steps = step * np.eye(count)
        wanted = [(length(w + each)[0] - length(w - each)[0]) / (2 * step) for each in steps]
        np.testing.assert_allclose(slope, wanted, rtol=1e-5, atol=1e-5 * count / min(rho, 1))
        pull = rng.normal(size=count)
        moved = [
            (length.coefficients((w + each)[None])[0] - length.coefficients((w - each)[None])[0])
            @ pull
            / (2 * step)
            for each in steps
        ]
        np.testing.assert_allclose(pulled(pull), moved, rtol=1e-5, atol=1e-7)


def test_components_may_swap_their_labels(confidential):
    _, _, blueprint = built(confidential, "count ~ group", {"components": 3})
    layout, density = blueprint.layout, blueprint.density(np.ones(N))
    vector = some_vectors(layout, 1)[0]
    swapped = layout.relabelled(vector, np.array([2, 0, 1]))
    jacobians = layout.log_jacobian(np.array([vector, swapped]))
    assert density(swapped)[0] - jacobians[1] == pytest.approx(
        density(vector)[0] - jacobians[0], rel=1e-12
    )
    np.testing.assert_allclose(layout.relabelled(swapped, np.array([1, 2, 0])), vector, atol=1e-12)


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_a_search_begun_nowhere_finds_the_mode_of_a_regression(confidential, shift):
    """Of counts of mean 1 too, whose log mean is 0: at w = 0 the likelihood of two coefficients and
    more is flat.
    """
    rng = np.random.default_rng(8)
    data = confidential.assign(
        count=rng.poisson(rng.gamma(2, np.exp(shift + 0.3 * (confidential["group"] == "b")) / 2))
    )
    _, prepared, blueprint = built(data, "count ~ group", {})
    density, layout = blueprint.density(np.ones(N)), blueprint.layout
    mode = mode_of(density, layout.size)
    assert np.abs(density(mode)[1]).max() < 5
    theta = drawn(layout, mode[None])[0]
    assert theta["predictive_mean"] == pytest.approx(data["count"].mean(), rel=0.05)
    slope = prepared.design.turn @ theta["slope"]
    means = data.groupby("group")["count"].mean()
    np.testing.assert_allclose(slope, np.log(means[["b", "c"]] / means["a"]), atol=0.1)


def test_chains_begin_at_every_mode_that_is_found(confidential):
    rng = np.random.default_rng(7)
    data = confidential.assign(count=rng.poisson(np.repeat([2.0, 60.0], N // 2)))
    _, _, blueprint = built(data, "count ~ 1", {"components": 3})
    density, layout = blueprint.density(np.ones(N)), blueprint.layout
    starts = density.starts()
    assert 2 <= len(starts) <= 3
    heights = np.array([density(start)[0] for start in starts])
    for start, height in zip(starts, heights, strict=True):
        assert density(mode_of(density, layout.size, start))[0] == pytest.approx(height, abs=0.01)
    coordinates, places = begun_at_modes(density, layout.size)
    assert density(coordinates.vector(places[heights.argmax()]))[0] == pytest.approx(
        heights.max(), abs=0.01
    )


def test_a_thinned_density_stands_for_the_whole_one(confidential, monkeypatch):
    monkeypatch.setattr("riskweighted_models.thinning._ROUGH", 40)
    monkeypatch.setattr("riskweighted_models.mixture_layout.ROUGH_ABOVE", 45)
    _, _, blueprint = built(confidential, "count ~ group", {"components": 2})
    layout = blueprint.layout
    whole = blueprint.density(np.ones(N))
    thin, start = whole.rough(), whole.starts()[0]
    assert thin is whole.rough()
    near = [layout.parameters(place[None]) for place in (start, mode_of(whole, layout.size, start))]
    assert near[0]["predictive_mean"][0] == pytest.approx(near[1]["predictive_mean"][0], rel=0.4)
    assert thin(np.zeros(layout.size))[0] != whole(np.zeros(layout.size))[0]


def test_nothing_is_compiled_for_counts(confidential):
    (model,) = compile_model(NegativeBinomial("count ~ group"), confidential).models
    assert model.compiled is None


def test_far_out_it_is_no_number_rather_than_an_error(confidential):
    _, _, blueprint = built(confidential, "count ~ 1", {})
    vector = np.zeros(2)
    for far in (-1e4, 1e4, np.nan):
        vector[blueprint.layout.places["log_inverse_phi"]] = far
        assert not np.isfinite(blueprint.density(np.ones(N))(vector)[0])


@pytest.mark.parametrize(("formula", "settings"), SHAPES)
def test_masses_whose_ends_are_shared_are_those_of_every_record(confidential, formula, settings):
    synthesizer, prepared, blueprint = built(confidential, formula, settings)
    count = confidential["count"].to_numpy(dtype=float)
    lower, upper = 0.8 * count - 0.5, 1.3 * count + 0.5
    lower[:9], upper[5:20], lower[30:40], upper[30:40] = -np.inf, np.inf, -7.0, -3.0
    masses = interval_masses(synthesizer, prepared, lower, upper)
    for vector in some_vectors(blueprint.layout, 3):
        theta = {
            name: values[0] for name, values in blueprint.layout.parameters(vector[None]).items()
        }
        mean = synthesizer.distribution(theta, prepared).mean[prepared.cell[prepared.which]]
        phi = 1 / theta["inverse_phi"]
        laws = nbinom(phi, phi / (mean + phi))
        first, last = np.ceil(lower)[:, None] - 1, np.floor(upper)[:, None]
        near = np.where(
            laws.cdf(first) < 0.5, laws.cdf(last) - laws.cdf(first), laws.sf(first) - laws.sf(last)
        )
        assert masses(theta) == pytest.approx(
            np.maximum(near, 0) @ theta.get("weight", np.ones(1)), rel=1e-9, abs=1e-14
        )
        assert (masses(theta) == synthesizer.distribution(theta, prepared).mass(lower, upper)).all()
