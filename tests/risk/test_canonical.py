import math
import warnings

import numpy as np
import pandas as pd
import pytest
from brute import SECRET, assert_clear
from hypothesis import given, settings as hypothesis_settings, strategies as st

from riskweighted.common.errors import InputError
from riskweighted.risk import canonical
from riskweighted.risk.canonical import (
    _pair,
    _r2,
    _standardise,
    _variates,
    canonical_disclosure,
    canonical_disclosure_by,
    idp_bounds,
    midp_bound,
)

quick = hypothesis_settings(max_examples=40)


def canonical_variates(x, y):
    names, own, masked = _pair(x, y, None)
    return _variates(_standardise(own, names, "")[0], _standardise(masked, names, "")[0])


def combination_r2(x, y, weights):
    """R^2 (c,) of linear combinations of the confidential variables on all masked ones (Tendick
    1992).
    """
    names, own, masked = _pair(x, y, None)
    own, length = _standardise(own, names, "")
    table = weights if isinstance(weights, pd.DataFrame) else pd.Series(weights).to_frame()
    numbers = table.reindex(names, fill_value=0).to_numpy(dtype=float)
    return pd.Series(
        _r2(own @ (length[:, None] * numbers), _standardise(masked, names, "")[0]), table.columns
    )


def frame(values, prefix="x", index=None):
    return pd.DataFrame(
        values, columns=[f"{prefix}{j}" for j in range(values.shape[1])], index=index
    )


def normal(rng, n, k, covariance=None):
    return rng.multivariate_normal(
        np.zeros(k), np.eye(k) if covariance is None else covariance, size=n, method="cholesky"
    )


def masked_pair(seed, n=30, k=3, noise=0.5):
    """Confidential data with unequal scales and correlated columns, and a masked copy in other
    units.
    """
    rng = np.random.default_rng(seed)
    x = normal(rng, n, k) @ rng.normal(size=(k, k)) * 10.0 ** rng.integers(
        -3, 4, size=k
    ) + rng.normal(size=k)
    y = x + noise * x.std(axis=0) * rng.normal(size=(n, k))
    index = [f"id{i}" for i in range(n)]
    return frame(x, index=index), frame(y, index=index)


def equicorrelated(k, r):
    return np.full((k, k), r) + (1 - r) * np.eye(k)


# The definitions of METHODS section 8, written out.


def blocks(x, y):
    k = x.shape[1]
    s = np.cov(np.hstack([x, y]), rowvar=False)
    return s[:k, :k], s[:k, k:], s[k:, :k], s[k:, k:]


def fuller_distances(x, y):
    """(x_i - y_j H) A^-1 (x_i - y_j H)', centred, pair by pair."""
    xx, xy, yx, yy = blocks(x, y)
    h = np.linalg.inv(yy) @ yx
    a = np.linalg.inv(xx - xy @ np.linalg.inv(yy) @ yx)
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    out = np.empty((len(x), len(x)))
    for i in range(len(x)):
        for j in range(len(x)):
            e = x[i] - y[j] @ h
            out[i, j] = e @ a @ e
    return out


def inverse_root(s):
    values, vectors = np.linalg.eigh(s)
    return vectors @ np.diag(values**-0.5) @ vectors.T


def slide_ten(x, y):
    """U, V and lambda by the eigenvectors that slide 10 of Muralidhar & Sarathy names; signs of V
    set so that cor(u, v) > 0.
    """
    xx, xy, yx, yy = blocks(x, y)
    x_root, y_root = inverse_root(xx), inverse_root(yy)
    squared, e = np.linalg.eigh(x_root @ xy @ np.linalg.inv(yy) @ yx @ x_root)
    _, f = np.linalg.eigh(y_root @ yx @ np.linalg.inv(xx) @ xy @ y_root)
    u = (x - x.mean(axis=0)) @ x_root @ e[:, ::-1]
    v = (y - y.mean(axis=0)) @ y_root @ f[:, ::-1]
    return u, v * np.sign((u * v).sum(axis=0)), squared[::-1]


def probabilities(distance):
    """P at the true record, with plain loops."""
    out = []
    for i in range(len(distance)):
        k = [math.exp(-0.5 * d) for d in distance[i]]
        out.append(k[i] / sum(k))
    return np.array(out)


# Worked by hand, and by brute force


def test_three_records_of_one_variable_worked_by_hand():
    # x = (1, 2, 3), y = (1, 3, 2): S_xx = S_yy = 1, S_xy = 1/2, H = 1/2, A = 3/4, lambda = 1/4.
    # Centred x = (-1, 0, 1), predicted yH = (-1/2, 1/2, 0). Squared errors / A: row 1: 1/3, 3, 4/3;
    # row 2: 1/3, 1/3, 0; row 3: 3, 1/3, 4/3.
    distance = [[1 / 3, 3, 4 / 3], [1 / 3, 1 / 3, 0], [3, 1 / 3, 4 / 3]]
    expected = []
    for i, row in enumerate(distance):
        total = 0.0
        for d in row:
            total += math.exp(-0.5 * d)
        expected.append(math.exp(-0.5 * row[i]) / total)
    index = ["a", "b", "c"]
    found = canonical_disclosure(
        pd.DataFrame({"v": [1, 2, 3]}, index=index), pd.DataFrame({"v": [1, 3, 2]}, index=index)
    )
    np.testing.assert_allclose(found.squared_correlations, [0.25], atol=1e-14)
    np.testing.assert_allclose(found.probability, expected, atol=1e-14)
    assert found.mean_probability == pytest.approx(sum(expected) / 3, abs=1e-14)
    assert found.matched.to_dict() == {"a": "a", "b": "c", "c": "b"}
    assert found.tied.tolist() == [1, 1, 1]
    assert found.reidentified == 1 / 3
    assert found.variables == ("v",)
    assert found.largest == pytest.approx(0.25, abs=1e-14)
    assert found.r2["v"] == pytest.approx(0.25, abs=1e-14)
    bc = math.sqrt((3 / 4) / (7 / 8))
    assert found.midp_bound == pytest.approx((1 - bc / 2) ** 2, abs=1e-14)
    for label, u in zip(index, (-1, 0, 1), strict=True):
        bc = math.sqrt(3 / 4) / (7 / 8) * math.exp(-0.5 * u**2 * (1 / 4) / (7 / 4))
        assert found.idp_bounds[label] == pytest.approx((1 - bc / 2) ** 2, abs=1e-14)


@pytest.mark.parametrize(("n", "k"), [(5, 1), (12, 2), (40, 3), (25, 5)])
def test_the_two_forms_of_the_distance_and_all_measures_are_those_of_the_formulas(n, k):
    x, y = masked_pair(n + k, n=n, k=k)
    # The literal inverses need columns of one scale; that scales do not matter is tested below.
    x, y = (f / f.std() for f in (x, y))
    literal = fuller_distances(x.to_numpy(), y.to_numpy())
    u, v, squared = slide_ten(x.to_numpy(), y.to_numpy())
    canonical_form = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            canonical_form[i, j] = ((u[i] - v[j] * np.sqrt(squared)) ** 2 / (1 - squared)).sum()
    np.testing.assert_allclose(canonical_form, literal, rtol=1e-9, atol=1e-9)

    variates = canonical_variates(x, y)
    np.testing.assert_allclose(variates.squared_correlations, squared, atol=1e-9)
    np.testing.assert_allclose(variates.noise, 1 - squared, atol=1e-9)
    np.testing.assert_allclose(np.abs(variates.scores), np.abs(u), atol=1e-8)
    np.testing.assert_allclose(np.abs(variates.predicted), np.abs(v * np.sqrt(squared)), atol=1e-8)
    ours = (((variates.scores[:, None] - variates.predicted[None]) ** 2) / variates.noise).sum(
        axis=2
    )
    np.testing.assert_allclose(ours, literal, rtol=1e-9, atol=1e-9)

    found = canonical_disclosure(x, y)
    np.testing.assert_allclose(found.probability, probabilities(literal), atol=1e-10)
    assert found.matched.tolist() == x.index[literal.argmin(axis=1)].tolist()
    assert found.reidentified == pytest.approx((literal.argmin(axis=1) == np.arange(n)).mean())
    assert (found.tied == 1).all()
    for name in x:
        design = np.column_stack([np.ones(n), y.to_numpy()])
        coefficients = np.linalg.lstsq(design, x[name].to_numpy(), rcond=None)[0]
        error = x[name] - design @ coefficients
        assert found.r2[name] == pytest.approx(
            1 - (error**2).sum() / ((x[name] - x[name].mean()) ** 2).sum(), abs=1e-10
        )


def test_the_bounds_are_the_printed_formulas():
    squared, u, n = np.array([0.9, 0.5, 0.0]), np.array([[0.0, 1.0, 2.0], [-3.0, 0.5, 0.0]]), 25
    bc = 1.0
    for lam in squared:
        bc *= math.sqrt((1 - lam) / (1 - lam / 2))
    assert midp_bound(squared, n) == pytest.approx((1 - bc / 2) ** (n - 1), rel=1e-12)
    for row, bound in zip(u, idp_bounds(squared, u, n), strict=True):
        bc = 1.0
        for lam, score in zip(squared, row, strict=True):
            bc *= math.sqrt(1 - lam) / (1 - lam / 2) * math.exp(-0.5 * score**2 * lam / (2 - lam))
        assert bound == pytest.approx((1 - bc / 2) ** (n - 1), rel=1e-12)


def test_the_bounds_at_their_ends():
    assert midp_bound([0.0, 0.0], 11) == pytest.approx(0.5**10)
    assert midp_bound([1.0, 0.3], 1000) == 1
    assert midp_bound([0.5], 1) == 1
    assert midp_bound([0.1], 10**6) == 0  # underflows, silently
    assert idp_bounds([1.0, 0.3], np.zeros((2, 2)), 1000).tolist() == [1, 1]
    assert idp_bounds([0.0], [[1e200]], 3).tolist() == [0.25]
    assert idp_bounds([0.5], [[1e200]], 3).tolist() == [1]


@given(
    squared=st.lists(st.floats(0, 1), min_size=1, max_size=5),
    n=st.integers(2, 5000),
    more=st.integers(1, 100),
    place=st.integers(0, 4),
    share=st.floats(0, 1),
)
@quick
def test_the_bounds_grow_with_lambda_and_fall_with_n(squared, n, more, place, share):
    bound = midp_bound(squared, n)
    assert 0 <= bound <= 1
    assert midp_bound(squared, n + more) <= bound
    greater = list(squared)
    greater[place % len(squared)] += share * (1 - greater[place % len(squared)])
    assert midp_bound(np.minimum(greater, 1), n) >= bound * (1 - 1e-9)
    bc = np.prod(np.sqrt((1 - np.array(squared)) / (1 - np.array(squared) / 2)))
    assert bound >= 1 - (n - 1) * bc / 2 - 1e-9  # Bernoulli: the second form in METHODS
    scores = np.array([np.zeros(len(squared)), np.ones(len(squared))])
    middle, away = idp_bounds(squared, scores, n)
    assert 0 <= middle <= away <= 1


@given(k=st.integers(2, 6), seed=st.integers(0, 10**6), d=st.floats(0.05, 2), n=st.integers(2, 200))
@quick
def test_correlated_noise_of_the_same_level_has_the_higher_bound_and_the_lower_value_risk(
    k, seed, d, n
):
    # Correlated noise (Kim 1986), covariance d S: every lambda is 1/(1+d). Independent noise of
    # variance d on standardised variables with correlation matrix S, eigenvalues e: lambda =
    # e/(e+d). log(1 + e/(2d)) is concave and mean e = 1.
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(k, k))
    covariance = loadings @ loadings.T + 0.01 * np.eye(k)
    scale = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(scale, scale)
    independent = np.clip(np.linalg.eigvalsh(correlation), 0, None)
    independent = independent / (independent + d)
    correlated = np.full(k, 1 / (1 + d))
    assert midp_bound(correlated, n) >= midp_bound(independent, n) * (1 - 1e-9)
    assert correlated.max() <= independent.max() + 1e-12  # lambda_1
    predicted = correlation @ np.linalg.inv(correlation + d * np.eye(k)) @ correlation
    assert (np.diag(predicted) >= 1 / (1 + d) - 1e-9).all()  # R^2 of every single variable
    assert correlated.mean() >= independent.mean() - 1e-12  # but not the mean lambda


# Properties


@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 4),
    extra=st.integers(1, 25),
    noise=st.sampled_from([1e-4, 0.1, 1.0, 10.0]),
)
@quick
def test_measures_keep_to_their_ranges(seed, k, extra, noise):
    x, y = masked_pair(seed, n=2 * k + extra, k=k, noise=noise)
    try:
        found = canonical_disclosure(x, y)
    except InputError:  # a random mixing matrix may be collinear
        return
    lam = found.squared_correlations
    assert (np.diff(lam) <= 0).all()
    assert lam[-1] >= 0
    assert found.largest <= 1
    assert (found.r2 <= found.largest + 1e-9).all()
    assert (found.r2 >= 0).all()
    assert found.probability.between(0, 1).all()
    assert found.mean_probability == pytest.approx(found.probability.mean())
    assert found.idp_bounds.between(0, 1).all()
    assert 0 <= found.reidentified <= 1
    # no ties in continuous data
    assert found.reidentified == pytest.approx((found.matched == x.index).mean())
    for series in (found.probability, found.matched, found.tied, found.idp_bounds):
        assert series.index.equals(x.index)
    certain = found.probability > 0.5 + 1e-9
    assert (found.matched[certain] == x.index[certain]).all()


def same(one, other, rtol=1e-6):
    np.testing.assert_allclose(one.squared_correlations, other.squared_correlations, atol=1e-9)
    np.testing.assert_allclose(one.probability, other.probability, rtol=rtol, atol=1e-9)
    np.testing.assert_allclose(one.idp_bounds, other.idp_bounds, rtol=rtol, atol=1e-9)
    assert one.midp_bound == pytest.approx(other.midp_bound, rel=rtol)
    assert one.reidentified == pytest.approx(other.reidentified)
    assert one.matched.tolist() == other.matched.tolist()


@given(
    seed=st.integers(0, 10**6),
    factors=st.lists(st.floats(1e-3, 1e3), min_size=6, max_size=6),
    powers=st.lists(st.integers(-30, 30), min_size=6, max_size=6),
    signs=st.lists(st.sampled_from([-1, 1]), min_size=6, max_size=6),
    shift=st.floats(-3, 3),
)
@quick
def test_rescaling_and_shifting_columns_changes_nothing(seed, factors, powers, signs, shift):
    rng = np.random.default_rng(seed)
    x = frame(normal(rng, 25, 3, equicorrelated(3, 0.6)))
    y = frame(x.to_numpy() + 0.4 * rng.normal(size=(25, 3)))
    scale = np.array(factors) * 10.0 ** np.array(powers) * signs
    found = canonical_disclosure(x, y)
    scaled = canonical_disclosure((x + shift) * scale[:3], (y - shift) * scale[3:])
    same(found, scaled)
    np.testing.assert_allclose(found.r2, scaled.r2, atol=1e-9)
    mixed = frame(y.to_numpy() @ rng.permutation(np.array([[2.0, 1, 0], [0, 1, -1], [1, 0, 1]])))
    same(found, canonical_disclosure(x, mixed))


@given(seed=st.integers(0, 10**6))
@quick
def test_permuting_the_records_permutes_the_measures_and_ties_do_not_depend_on_the_order(seed):
    rng = np.random.default_rng(seed)
    x = frame(rng.integers(0, 4, size=(24, 2)).astype(float))
    y = frame(np.round((x.to_numpy() + rng.normal(size=x.shape)) / 2) * 2)
    order = rng.permutation(24)
    try:
        found = canonical_disclosure(x, y)
    except InputError:
        return
    shuffled = canonical_disclosure(x.iloc[order], y.iloc[order])
    np.testing.assert_allclose(shuffled.probability, found.probability.iloc[order], rtol=1e-9)
    assert shuffled.tied.tolist() == found.tied.iloc[order].tolist()
    assert shuffled.reidentified == pytest.approx(found.reidentified)


def test_blocks_of_any_size_give_the_same_and_never_hold_all_pairs(monkeypatch):
    x, y = masked_pair(5, n=57, k=2)
    whole = canonical_disclosure(x, y)
    sizes = []
    cdist = canonical.cdist

    def watched(a, b, metric):
        sizes.append(len(a) * len(b) * 8)
        return cdist(a, b, metric)

    monkeypatch.setattr(canonical, "cdist", watched)
    monkeypatch.setattr(canonical, "_BLOCK_BYTES", 8 * 57 * 5)
    blocked = canonical_disclosure(x, y)
    assert len(sizes) == 12
    assert max(sizes) == 8 * 57 * 5
    np.testing.assert_allclose(blocked.probability, whole.probability, rtol=1e-12)
    pd.testing.assert_series_equal(blocked.matched, whole.matched)
    assert blocked.reidentified == whole.reidentified


def test_probabilities_are_worked_in_logs():
    # Noise far below the distance between records: every k but the true one underflows, and a far
    # outlier's k all do.
    rng = np.random.default_rng(4)
    x = frame(np.vstack([normal(rng, 60, 2), [[1e4, -1e4]]]))
    y = frame(x.to_numpy() + 1e-6 * rng.normal(size=x.shape))
    found = canonical_disclosure(x, y)
    np.testing.assert_allclose(found.probability, 1, atol=1e-9)
    far = y.copy()
    far.iloc[-1] = [-1e4, -1e4]
    assert np.isfinite(canonical_disclosure(x, far).probability).all()


# Exactly recovered directions


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("release", ["identity", "rescaled", "mixed"])
def test_a_release_that_recovers_everything_identifies_everyone(k, release):
    rng = np.random.default_rng(k)
    x = frame(normal(rng, 300, k, equicorrelated(k, 0.7)) * 10.0 ** np.arange(k) + 5)
    y = x
    if release == "rescaled":
        y = -3.7 * x + 11
    if release == "mixed":
        y = frame(
            (x.to_numpy() / 10.0 ** np.arange(k)) @ (np.eye(k) + 0.3 * rng.normal(size=(k, k)))
        )
    found = canonical_disclosure(x, y)
    assert (found.squared_correlations == 1).all()
    np.testing.assert_allclose(found.r2, 1, atol=1e-14)
    assert (found.probability == 1).all()
    assert found.reidentified == 1
    assert found.matched.tolist() == x.index.tolist()
    assert found.midp_bound == 1
    assert (found.idp_bounds == 1).all()


def test_equal_records_share_the_probability():
    x = pd.DataFrame(
        {"a": [1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 5.0], "b": [0.1, 0.1, 0.7, 0.2, 0.2, 0.2, 0.9]}
    )
    found = canonical_disclosure(x, x * 3.3 - 1)
    np.testing.assert_allclose(
        found.probability, [1 / 2, 1 / 2, 1, 1 / 3, 1 / 3, 1 / 3, 1], atol=1e-15
    )
    assert found.tied.tolist() == [2, 2, 1, 3, 3, 3, 1]
    assert found.matched.tolist() == [0, 0, 2, 3, 3, 3, 6]
    assert found.reidentified == pytest.approx(4 / 7)


def test_microaggregated_records_tie():
    x = pd.DataFrame({"v": [1.0, 2.0, 3.0, 11.0, 12.0, 13.0, 21.0, 22.0, 23.0]})
    y = pd.DataFrame({"v": np.repeat([2.0, 12.0, 22.0], 3)})
    found = canonical_disclosure(x, y)
    assert (found.tied == 3).all()
    assert found.matched.tolist() == [0, 0, 0, 3, 3, 3, 6, 6, 6]
    assert found.reidentified == pytest.approx(1 / 3)
    assert (found.probability <= 1 / 3).all()


def test_one_recovered_direction_leaves_the_other_to_decide():
    # a is released unmasked and holds 3 levels; b is masked: P is Fuller's of b given a, within the
    # level of a.
    rng = np.random.default_rng(8)
    a = np.repeat([0.0, 1.0, 2.0], 20)
    b = a + rng.normal(size=60)
    y = pd.DataFrame({"a": a, "b": b + 0.5 * rng.normal(size=60)})
    x = pd.DataFrame({"a": a, "b": b})
    found = canonical_disclosure(x, y)
    assert found.squared_correlations[0] == 1
    assert found.squared_correlations[1] < 0.99
    assert found.r2["a"] == pytest.approx(1, abs=1e-14)

    design = np.column_stack([np.ones(60), y.to_numpy()])
    predicted = design @ np.linalg.lstsq(design, b, rcond=None)[0]
    variance = ((b - predicted) ** 2).sum() / 59
    expected, right = [], 0.0
    for i in range(60):
        level = [j for j in range(60) if a[j] == a[i]]
        k = {j: math.exp(-0.5 * (b[i] - predicted[j]) ** 2 / variance) for j in level}
        expected.append(k[i] / sum(k.values()))
        right += max(k, key=k.get) == i
    np.testing.assert_allclose(found.probability, expected, atol=1e-9)
    assert found.reidentified == pytest.approx(right / 60)


def test_noise_far_below_the_gaps_is_already_like_none():
    a = np.arange(60.0)
    rng = np.random.default_rng(8)
    x = pd.DataFrame({"a": a, "b": rng.normal(size=60)})
    y = pd.DataFrame({"a": a + 1e-6 * rng.normal(size=60), "b": x["b"] + rng.normal(size=60)})
    nearly, exactly = canonical_disclosure(x, y), canonical_disclosure(x, y.assign(a=a))
    assert 0 < canonical_variates(x, y).noise[0] < 1e-12
    assert exactly.largest == 1
    for found in (nearly, exactly):
        np.testing.assert_allclose(found.probability, 1, atol=1e-12)
        assert found.reidentified == 1
    assert nearly.squared_correlations[1] == pytest.approx(
        exactly.squared_correlations[1], abs=1e-5
    )


# Linear combinations


def test_no_combination_is_predicted_better_than_lambda_one_and_one_reaches_it():
    rng = np.random.default_rng(11)
    x = frame(normal(rng, 80, 3, equicorrelated(3, 0.5)) * [1, 100, 0.01])
    y = frame(x.to_numpy() + 0.6 * x.std().to_numpy() * rng.normal(size=(80, 3)))
    found = canonical_disclosure(x, y)
    xx, xy, yx, yy = blocks(x.to_numpy(), y.to_numpy())
    values, vectors = np.linalg.eig(np.linalg.inv(xx) @ xy @ np.linalg.inv(yy) @ yx)
    order = np.argsort(-values.real)
    best = pd.DataFrame(
        vectors.real[:, order], index=x.columns, columns=["first", "second", "third"]
    )
    np.testing.assert_allclose(combination_r2(x, y, best), found.squared_correlations, atol=1e-9)
    assert combination_r2(x, y, best).index.tolist() == ["first", "second", "third"]
    anything = pd.DataFrame(
        rng.normal(size=(3, 200)) / x.std().to_numpy()[:, None], index=x.columns
    )
    r2 = combination_r2(x, y, anything)
    assert (r2 <= found.largest + 1e-9).all()
    assert r2.max() > found.squared_correlations[1]
    np.testing.assert_allclose(
        combination_r2(x, y, pd.DataFrame(np.eye(3), x.columns, x.columns)), found.r2, atol=1e-12
    )


def test_a_combination_is_the_regression_of_the_weighted_sum():
    x, y = masked_pair(3, n=40, k=3)
    target = (2 * x["x0"] - x["x2"]).to_numpy()
    scaled = (y / y.std()).to_numpy()
    design = np.column_stack([np.ones(40), scaled])
    error = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    expected = 1 - error @ error / ((target - target.mean()) ** 2).sum()
    for weights in ({"x0": 2, "x2": -1}, pd.Series({"x2": -1.0, "x0": 2.0})):
        found = combination_r2(x, y, weights)
        assert len(found) == 1
        assert found.iloc[0] == pytest.approx(expected, abs=1e-9)


# Subsets


def test_subsets_are_the_measures_of_each_subset():
    x, y = masked_pair(9, n=60, k=2)
    rng = np.random.default_rng(2)
    sex, age = rng.choice(["f", "m"], 60), rng.integers(1, 4, size=60)
    x = x.assign(sex=sex, age=age)
    y = y.assign(age=age)  # where the masked file has them, they agree
    table = canonical_disclosure_by(x, y, by=["sex", "age"])
    assert table.columns.tolist() == [
        "sex",
        "age",
        "n",
        "lambda_1",
        "mean_probability",
        "reidentified",
        "midp_bound",
        "reason",
    ]
    assert len(table) == 6
    assert table["n"].sum() == 60
    for _, row in table.iterrows():
        inside = (sex == row["sex"]) & (age == row["age"])
        found = canonical_disclosure(x.loc[inside, ["x0", "x1"]], y.loc[inside, ["x0", "x1"]])
        assert row["n"] == inside.sum()
        assert row["lambda_1"] == found.largest
        assert row["mean_probability"] == found.mean_probability
        assert row["reidentified"] == found.reidentified
        assert row["midp_bound"] == found.midp_bound
        assert row["reason"] == ""


def test_subsets_that_cannot_be_measured_say_why():
    x, y = masked_pair(12, n=40, k=2)
    group = np.repeat(["fine", "small", "flat", None, "line"], [12, 4, 8, 8, 8])
    x, y = x.assign(g=group), y.assign(g=group)
    y.loc[x["g"] == "flat", "x1"] = SECRET
    x.loc[x["g"] == "line", "x1"] = 3 * x["x0"] + 1
    table = canonical_disclosure_by(x, y, by="g").set_index("g")
    table = table.loc[["fine", "small", "flat", np.nan, "line"]]
    assert table["n"].tolist() == [12, 4, 8, 8, 8]
    measures = table[["lambda_1", "mean_probability", "reidentified", "midp_bound"]].notna()
    assert measures.all(axis=1).tolist() == [True, False, False, True, False]
    assert measures.any(axis=1).tolist() == [True, False, False, True, False]
    assert (table["reason"] == "").tolist() == [True, False, False, True, False]
    assert "4 records are too few for 2 variables" in table.loc["small", "reason"]
    assert "masked data: 'x1' must vary" in table.loc["flat", "reason"]
    assert "'x0', 'x1' are collinear" in table.loc["line", "reason"]
    assert "987" not in "".join(table["reason"])


# Refusals


def refusals():
    x, y = masked_pair(1, n=20, k=3)
    x.iloc[0, 0] = SECRET
    even = x / x.std()
    line = even.assign(x2=2 * even["x0"] - even["x1"] + SECRET)
    missing, infinite = x.astype("Float64"), y.copy()
    missing.iloc[3, 1], infinite.iloc[3, 1] = pd.NA, np.inf
    return {
        "length": (x, y.iloc[1:], None, ["19 records", "20"]),
        "index": (x, y.iloc[::-1], None, ["same index"]),
        "absent": (x, y, ["x0", "w"], ["no column 'w'", "'x2'"]),
        "text": (
            x.assign(x1=x["x1"].astype(str)),
            y,
            ["x0", "x1"],
            ["'x1'", "must be numeric", "str"],
        ),
        "boolean": (x, y.assign(x1=y["x1"] > 0), ["x0", "x1"], ["masked data", "'x1'", "bool"]),
        "missing": (missing, y, None, ["confidential data", "'x1'", "1 of 20"]),
        "infinite": (x, infinite, None, ["masked data", "'x1'", "1 of 20"]),
        "constant": (x.assign(x1=SECRET), y, None, ["confidential data", "'x1'", "must vary"]),
        "nearly constant": (
            x,
            y.assign(x2=SECRET + 1e-10 * np.arange(20)),
            None,
            ["masked data", "'x2'", "must vary"],
        ),
        "collinear": (line, y, None, ["confidential data", "'x0', 'x1', 'x2'", "collinear"]),
        "repeated variable": (x, y, ["x0", "x0"], ["each once", "'x0'"]),
        "no variable": (x, y, [], ["at least one column"]),
        "none common": (x, y.add_prefix("m"), None, ["at least one column"]),
        "twice in the file": (
            x,
            pd.concat([y, y[["x0"]]], axis=1),
            None,
            ["masked data", "'x0'", "more than once"],
        ),
        "few records": (x.iloc[:6], y.iloc[:6], None, ["6 records", "3 variables"]),
        "no records": (x.iloc[:0], y.iloc[:0], None, ["no records"]),
        "no frame": (x.to_numpy(), y, None, ["DataFrame"]),
    }


@pytest.mark.parametrize("case", refusals())
def test_what_cannot_be_measured_is_refused(case):
    x, y, variables, named = refusals()[case]
    with pytest.raises(InputError) as caught:
        canonical_disclosure(x, y, variables)
    assert_clear(caught, *named)


def test_seven_records_of_three_variables_are_the_fewest():
    # With n <= 2k two subspaces of dimension k in n - 1 dimensions meet: lambda_1 would be 1 even
    # for unrelated data.
    rng = np.random.default_rng(0)
    found = canonical_disclosure(frame(normal(rng, 7, 3)), frame(normal(rng, 7, 3)))
    assert found.largest < 1
    x, y = normal(rng, 6, 3), normal(rng, 6, 3)
    q_x, q_y = (np.linalg.qr(v - v.mean(axis=0))[0] for v in (x, y))
    assert np.linalg.svd(q_x.T @ q_y)[1][0] == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("by", [[], ["g", "g"], ["n"], ["w"], ["x0"]])
def test_subset_variables_that_are_none_are_refused(by):
    x, y = masked_pair(1)
    with pytest.raises(InputError) as caught:
        canonical_disclosure_by(x.assign(g=1, n=2), y, by, variables=["x0", "x1"])
    assert_clear(caught, "by" if by != ["w"] else "no column 'w'")


def test_subsets_by_a_masked_variable_are_refused_and_a_wrong_file_still_fails():
    x, y = masked_pair(1)
    g = np.arange(30) % 2
    with pytest.raises(InputError) as caught:
        canonical_disclosure_by(x.assign(g=g), y.assign(g=1 - g), ["g"])
    assert_clear(caught, "'g'", "30 records")
    y.iloc[0, 0] = np.nan
    with pytest.raises(InputError) as caught:
        canonical_disclosure_by(x.assign(g=g), y, ["g"])
    assert_clear(caught, "'x0'", "missing in 1 of 30")


@pytest.mark.parametrize("squared", [[], [1.1], [-0.1], [np.nan], [[0.5]], 0.5])
def test_bounds_refuse_what_is_no_squared_correlation(squared):
    with pytest.raises(InputError, match="squared_correlations"):
        midp_bound(squared, 10)


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "3"])
def test_bounds_refuse_what_is_no_count(n):
    with pytest.raises(InputError, match="n must be a whole number"):
        midp_bound([0.5], n)


@pytest.mark.parametrize("scores", [[0.0], [[0.0, 1.0]], [[np.nan]]])
def test_idp_bounds_refuse_scores_of_another_shape(scores):
    with pytest.raises(InputError, match="canonical_scores"):
        idp_bounds([0.5], scores, 10)


def test_defaults_take_what_is_numeric_in_both_files():
    x, y = masked_pair(2, k=2)
    x = x.assign(name="n", flag=True, only=1.0, banded=1.0).astype({"x0": "Float64"})
    y = y.assign(name="n", flag=False, banded="0-10", other=2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert canonical_disclosure(x, y).variables == ("x0", "x1")
    assert canonical_disclosure(x, y, "x1").variables == ("x1",)


# Simulation: the bounds hold, and Muralidhar & Sarathy's findings


CORRELATION = equicorrelated(3, 0.6)


def noisy(rng, n, d, noise_covariance, covariance=CORRELATION):
    x = normal(rng, n, len(covariance), covariance)
    return frame(x), frame(x + math.sqrt(d) * normal(rng, n, len(covariance), noise_covariance))


@pytest.mark.parametrize(
    "noise_covariance", [np.eye(3), CORRELATION], ids=["independent", "correlated"]
)
@pytest.mark.parametrize(("n", "d"), [(25, 0.1), (25, 0.45), (100, 0.1)])
def test_the_bounds_hold_for_normal_data(n, d, noise_covariance):
    # What the proof says, at the true lambda and true covariances: E[P] >= MIDP bound, E[P | u] >=
    # IDP bound.
    covariance = CORRELATION
    total = covariance + d * noise_covariance
    h = np.linalg.inv(total) @ covariance
    a = covariance - covariance @ h
    root = inverse_root(covariance)
    squared, e = np.linalg.eigh(root @ covariance @ h @ root)
    rng = np.random.default_rng(n)
    mean, gap, norm, plug_in = [], [], [], []
    for _ in range(60):
        x, y = noisy(rng, n, d, noise_covariance)
        error = x.to_numpy()[:, None] - (y.to_numpy() @ h)[None]
        logs = -0.5 * np.einsum("ijl,lm,ijm->ij", error, np.linalg.inv(a), error)
        p = np.exp(np.diag(logs) - np.logaddexp.reduce(logs, axis=1))
        u = x.to_numpy() @ root @ e
        mean.append(p.mean())
        gap.append(p - idp_bounds(squared, u, n))
        norm.append((u**2).sum(axis=1))
        found = canonical_disclosure(x, y)
        plug_in.append(
            (
                found.mean_probability,
                found.midp_bound,
                (found.probability - found.idp_bounds).mean(),
            )
        )
    bound = midp_bound(squared, n)
    assert np.mean(mean) >= bound
    assert 0.02 < np.mean(mean) < 1  # not an empty statement: neither side is at its end
    gap, norm = np.concatenate(gap), np.concatenate(norm)
    # given u, from the middle of the data to its edge
    for quarter in np.array_split(np.argsort(norm), 4):
        assert gap[quarter].mean() >= -3 * gap[quarter].std() / math.sqrt(len(quarter))
    # The package estimates lambda and the covariances from the file itself: the bounds still lie
    # below, on average and in nearly every file. They are bounds on expectations: a single small
    # file may have less.
    p, bound, mean_gap = np.array(plug_in).T
    for below in (p - bound, mean_gap):
        assert below.mean() > 0.02
        assert (below >= 0).mean() >= 0.95


def simulate(rng, n, d, noise_covariance, repeats):
    """Means over repeats: mean P, share re-identified, lambda_1, largest R^2 of a variable, mean
    lambda.
    """
    rows = []
    for _ in range(repeats):
        found = canonical_disclosure(*noisy(rng, n, d, noise_covariance))
        rows.append(
            [
                found.mean_probability,
                found.reidentified,
                found.largest,
                found.r2.max(),
                found.squared_correlations.mean(),
            ]
        )
    return np.mean(rows, axis=0)


@pytest.mark.parametrize("d", [0.1, 0.3, 1.0])
def test_correlated_noise_has_more_identity_risk_and_less_value_risk_than_independent_noise(d):
    # Slide 20 of Muralidhar & Sarathy. Value risk: lambda_1, and R^2 of each variable. The mean
    # lambda goes with identity risk.
    rng = np.random.default_rng(20)
    correlated, independent = (
        simulate(rng, 100, d, noise, 40) for noise in (CORRELATION, np.eye(3))
    )
    assert correlated[0] > 1.05 * independent[0]
    assert correlated[1] > 1.05 * independent[1]
    assert correlated[2] < independent[2]
    assert correlated[3] < independent[3]
    assert correlated[4] > independent[4]


def test_identity_risk_falls_with_noise_and_with_the_number_of_records():
    rng = np.random.default_rng(21)
    by_noise = np.array([simulate(rng, 50, d, np.eye(3), 30) for d in (0.1, 0.3, 0.6, 1.5)])
    assert (np.diff(by_noise, axis=0) < 0).all()  # value risk too
    by_size = np.array([simulate(rng, n, 0.3, np.eye(3), 30) for n in (20, 60, 180, 540)])
    assert (np.diff(by_size[:, :2], axis=0) < 0).all()
    large = [simulate(rng, n, 0.3, np.eye(3), 10)[2] for n in (500, 1500)]
    assert large[0] == pytest.approx(large[1], abs=0.02)  # value risk does not depend on n


def test_the_bound_is_weak_for_large_n():
    # Muralidhar & Sarathy, slide 28 on its own bound; ours is far below the truth as well.
    rng = np.random.default_rng(22)
    found = canonical_disclosure(*noisy(rng, 1000, 0.3, np.eye(3)))
    assert found.midp_bound < 1e-9 < 0.01 < found.mean_probability < found.reidentified


def test_unrelated_data_identify_by_chance():
    rng = np.random.default_rng(23)
    shares = []
    for _ in range(20):
        found = canonical_disclosure(frame(normal(rng, 400, 2)), frame(normal(rng, 400, 2)))
        assert found.mean_probability == pytest.approx(1 / 400, rel=0.2)
        assert found.largest < 0.05
        shares.append(found.reidentified)
    assert np.mean(shares) < 4 / 400
