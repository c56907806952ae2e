import itertools
import warnings

import brute
import numpy as np
import pandas as pd
import pytest
from brute import SECRET, assert_clear
from hypothesis import given, settings as hypothesis_settings, strategies as st

import riskweighted as rw
from riskweighted.common.errors import FlatWeightsWarning, InputError, SingletonWarning
from riskweighted.common.frames import check_weights
from riskweighted.intruder.scenario import Scenario
from riskweighted.risk.identification import identification_risk
from riskweighted.runs.sections import WeightSettings
from riskweighted.weights import kway as weights
from riskweighted.weights.adjust import adjust_weights, equalize_weights, risk_weights
from riskweighted.weights.kway import kway_weights, marginal_weights, pairwise_weights
from riskweighted.weights.scheme_names import parse_scheme, scheme_text
from riskweighted.weights.schemes import order_schemes, scheme_weights

# toy data are small
pytestmark = [pytest.mark.filterwarnings("ignore::riskweighted.common.errors.FlatWeightsWarning")]

quick = hypothesis_settings(max_examples=60)
KINDS = st.sampled_from([(True, False), (False, True), (True, True)])
INCOME = Scenario(synthetic="y")


def confidential_risk(data, scenario):
    return identification_risk(data, scenario=scenario)


def quietly(function, *arguments, **options):
    """The result without the warning about singletons, which random data often cause."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingletonWarning)
        return function(*arguments, **options)


def betty():
    """The paper's example: 13 records, Betty first, ten of them outside her ball of 20 %."""
    return pd.DataFrame({"y": [100.0, 90.0, 115.0] + [40.0] + [500.0 + 200 * j for j in range(9)]})


@pytest.mark.quick
def test_betty_has_the_risk_of_ten_in_thirteen():
    data = betty()
    assert len(data) == 13
    assert confidential_risk(data, INCOME)[0] == 10 / 13
    assert marginal_weights(data, INCOME)[0] == pytest.approx(3 / 13, abs=1e-15)


@pytest.mark.quick
def test_pairwise_weights_worked_by_hand():
    # Balls of radius 1: B_1 = {1, 2}, B_2 = {1, 2}, B_3 = {5}, all three records in one pattern.
    data = pd.DataFrame({"y": [1.0, 2.0, 5.0]})
    scenario = Scenario(synthetic="y", radius=1, radius_kind="absolute")
    # IR_12 = 1/3 (5 is missed), IR_13 = IR_23 = 0: alpha_1 = alpha_2 = 1 - 1/6, alpha_3 = 1.
    np.testing.assert_allclose(pairwise_weights(data, scenario), [5 / 6, 5 / 6, 1.0], atol=1e-15)
    np.testing.assert_allclose(marginal_weights(data, scenario), [2 / 3, 2 / 3, 1 / 3], atol=1e-15)


@pytest.mark.quick
def test_three_way_weights_worked_by_hand():
    # Four records far apart: a tuple of three misses just the fourth, so every joint risk is 1/4.
    data = pd.DataFrame({"y": [1.0, 10.0, 100.0, 1000.0]})
    np.testing.assert_allclose(kway_weights(data, INCOME, k=1), np.full(4, 1 / 4), atol=1e-15)
    np.testing.assert_allclose(kway_weights(data, INCOME, k=2), np.full(4, 2 / 4), atol=1e-15)
    np.testing.assert_allclose(kway_weights(data, INCOME, k=3), np.full(4, 3 / 4), atol=1e-15)
    for k in (4, 5, 12):
        np.testing.assert_allclose(kway_weights(data, INCOME, k=k), np.ones(4), atol=1e-15)


@given(data=st.data(), frame=brute.frames(), kind=KINDS)
@quick
def test_risk_and_marginal_weights_are_those_of_the_loops(data, frame, kind):
    settings = data.draw(brute.settings(*kind))
    scenario = Scenario(**settings)
    risk = quietly(confidential_risk, frame, scenario)
    alpha = quietly(marginal_weights, frame, scenario)
    np.testing.assert_allclose(risk, brute.confidential_risk(frame, settings), rtol=0, atol=1e-12)
    np.testing.assert_allclose(alpha, brute.marginal_weights(frame, settings), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(alpha.to_numpy(), 1 - risk.to_numpy())
    assert risk.index.equals(frame.index)
    assert (risk.name, alpha.name) == ("identification_risk", "alpha")


@pytest.mark.parametrize("exact", [True, False], ids=["int64", "longdouble"])
@given(data=st.data(), frame=brute.frames(max_size=8), kind=KINDS, k=st.integers(1, 4))
@quick
def test_kway_weights_are_those_of_the_formed_tuples(exact, data, frame, kind, k):
    settings = data.draw(brute.settings(*kind))
    with pytest.MonkeyPatch.context() as patch:
        if not exact:
            patch.setattr(weights, "_EXACT_BITS", 0)
        alpha = quietly(kway_weights, frame, Scenario(**settings), k=k)
    np.testing.assert_allclose(alpha, brute.kway_weights(frame, settings, k), rtol=0, atol=1e-12)
    assert alpha.index.equals(frame.index)
    assert alpha.name == "alpha"


@given(data=st.data(), frame=brute.frames(), kind=KINDS)
@quick
def test_pairwise_weights_are_those_of_the_formed_pairs(data, frame, kind):
    settings = data.draw(brute.settings(*kind))
    alpha = quietly(pairwise_weights, frame, Scenario(**settings))
    np.testing.assert_allclose(alpha, brute.pairwise_weights(frame, settings), rtol=0, atol=1e-12)


@given(data=st.data(), frame=brute.frames())
@quick
def test_pairwise_keeps_at_least_the_marginal_weight_and_the_mean_of_the_others(data, frame):
    scenario = Scenario(**data.draw(brute.settings()) | {"known": ()})
    marginal = quietly(marginal_weights, frame, scenario).to_numpy()
    pairwise = quietly(pairwise_weights, frame, scenario).to_numpy()
    assert (pairwise >= marginal - 1e-12).all()
    if len(frame) > 1:
        assert (pairwise >= (marginal.sum() - marginal) / (len(frame) - 1) - 1e-12).all()


@given(data=st.data(), frame=brute.frames())
@quick
def test_weights_grow_with_k_and_start_at_the_marginal_ones(data, frame):
    scenario = Scenario(**data.draw(brute.settings()))
    ways = [quietly(kway_weights, frame, scenario, k=k).to_numpy() for k in range(1, 6)]
    np.testing.assert_allclose(
        ways[0], quietly(marginal_weights, frame, scenario), rtol=0, atol=1e-12
    )
    for fewer, more in itertools.pairwise(ways):
        assert (more >= fewer - 1e-12).all()
    assert all(((alpha >= 0) & (alpha <= 1)).all() for alpha in ways)


@given(data=st.data(), frame=brute.frames(), k=st.integers(1, 3))
@quick
def test_permuting_the_records_permutes_the_weights(data, frame, k):
    scenario = Scenario(**data.draw(brute.settings()))
    order = data.draw(st.permutations(range(len(frame))))
    alpha = quietly(kway_weights, frame, scenario, k=k)
    shuffled = quietly(kway_weights, frame.iloc[order], scenario, k=k)
    np.testing.assert_allclose(shuffled, alpha.iloc[order], rtol=0, atol=1e-12)
    assert shuffled.index.equals(frame.index[order])


def test_both_arithmetics_agree_on_patterns_of_many_sizes():
    rng = np.random.default_rng(5)
    data = pd.DataFrame({"a": rng.geometric(0.02, 3000), "y": rng.lognormal(10, 1, 3000)})
    scenario = Scenario(known="a", synthetic="y")
    for k in (2, 3, 4):
        exact = quietly(kway_weights, data, scenario, k=k)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(weights, "_EXACT_BITS", 0)
            floating = quietly(kway_weights, data, scenario, k=k)
        np.testing.assert_allclose(floating, exact, rtol=0, atol=1e-12)


def test_counts_too_large_for_integers_still_give_the_pairwise_formula():
    # 60 000 distant records: any k-tuple misses n - k of them, and n^4 exceeds 2^62.
    n, k = 60_000, 4
    data = pd.DataFrame({"y": 1.0 * np.arange(n)})
    alpha = kway_weights(data, Scenario(synthetic="y", radius=0.4, radius_kind="absolute"), k=k)
    np.testing.assert_allclose(alpha, np.full(n, k / n), rtol=0, atol=1e-12)


def test_weights_do_not_change_the_data():
    data = betty()
    before = data.copy()
    pairwise_weights(data, INCOME)
    pd.testing.assert_frame_equal(data, before)


SINGLES = pd.DataFrame(
    {"a": ["x", "x", "z", None], "y": [10.0, 11.0, SECRET, 5.0]}, index=["p", "q", "r", "s"]
)


@pytest.mark.parametrize(("singletons", "alone"), [("protect", 0.0), ("paper", 1.0)])
@pytest.mark.parametrize("scheme", ["marginal", "pairwise", "3-way"])
def test_a_record_alone_in_its_pattern_follows_the_policy(scheme, singletons, alone):
    scenario = Scenario(known="a", synthetic="y", singletons=singletons)
    with pytest.warns(SingletonWarning, match="2 of 3 known patterns") as caught:
        alpha = scheme_weights(scheme, SINGLES, scenario)
    assert alpha.tolist() == [1.0, 1.0, alone, alone]
    assert sum(warning.category is SingletonWarning for warning in caught) == 1
    assert singletons in str(caught[0].message)
    assert "987654" not in str(caught[0].message)


@pytest.mark.parametrize(("singletons", "alone"), [("protect", 1.0), ("paper", 0.0)])
def test_the_risk_of_a_record_alone_follows_the_policy(singletons, alone):
    scenario = Scenario(known="a", synthetic="y", singletons=singletons)
    with pytest.warns(SingletonWarning, match="2 of 3"):
        risk = confidential_risk(SINGLES, scenario)
    assert risk.tolist() == [0.0, 0.0, alone, alone]


@pytest.mark.parametrize("function", [confidential_risk, marginal_weights, pairwise_weights])
def test_a_record_alone_is_refused_on_request(function):
    with pytest.raises(InputError) as caught:
        function(SINGLES, Scenario(known="a", synthetic="y", singletons="error"))
    assert_clear(caught, "2 of 3", "'protect'", "'paper'")


def test_without_singletons_every_policy_is_the_same_and_silent():
    for singletons in ("protect", "paper", "error"):
        alpha = marginal_weights(
            SINGLES.iloc[:2], Scenario(known="a", synthetic="y", singletons=singletons)
        )
        assert alpha.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("k", [0, -1, 1.5, 2.0, "2", None, True, np.nan])
def test_k_must_be_a_whole_number_of_at_least_one(k):
    with pytest.raises(InputError) as caught:
        kway_weights(pd.DataFrame({"y": [SECRET, 1.0]}), INCOME, k=k)
    assert_clear(caught, "k ", ">= 1", repr(k))


def test_k_may_be_a_numpy_integer():
    np.testing.assert_array_equal(
        kway_weights(betty(), INCOME, k=np.int64(2)), pairwise_weights(betty(), INCOME)
    )


def test_a_very_large_k_uses_the_size_of_the_pattern():
    np.testing.assert_allclose(kway_weights(betty(), INCOME, k=1000), np.ones(13), atol=1e-12)


@pytest.mark.parametrize("function", [confidential_risk, marginal_weights, pairwise_weights])
@pytest.mark.parametrize(
    ("data", "named"),
    [
        (pd.DataFrame({"z": [SECRET]}), ["'y'", "'z'"]),
        (pd.DataFrame({"y": pd.Series([], dtype=float)}), ["no records"]),
        (pd.DataFrame([[SECRET, 1.0]], columns=["y", "y"]), ["'y'", "more than once"]),
        (pd.DataFrame({"y": [np.nan, np.nan]}), ["'y'", "missing in 2 of 2"]),
        (pd.DataFrame({"y": [SECRET, -np.inf]}), ["'y'", "infinite in 1 of 2"]),
    ],
)
def test_unusable_data_are_refused(function, data, named):
    with pytest.raises(InputError) as caught:
        function(data, INCOME)
    assert_clear(caught, *named)


@pytest.mark.quick
def test_schemes_go_by_name():
    data = betty().set_index(pd.Index([f"r{i}" for i in range(13)]))
    unweighted = scheme_weights("unweighted", data, INCOME)
    assert unweighted.tolist() == [1.0] * 13
    assert unweighted.index.equals(data.index)
    for scheme, k in (("marginal", 1), ("pairwise", 2), ("1-way", 1), ("3-way", 3), ("12-way", 12)):
        np.testing.assert_allclose(
            scheme_weights(scheme, data, INCOME),
            kway_weights(data, INCOME, k=k),
            rtol=0,
            atol=1e-15,
        )


@pytest.mark.parametrize(
    "scheme", ["Pairwise", "0-way", "03-way", "3way", "-1-way", "x3-way", "uniform2"]
)
def test_an_unknown_scheme_is_refused(scheme):
    with pytest.raises(InputError) as caught:
        scheme_weights(scheme, betty(), INCOME)
    assert_clear(caught, repr(scheme), "'unweighted'", "'marginal'", "'pairwise'", "'3-way'")


@pytest.mark.parametrize(
    ("scheme", "told"),
    [
        ("", "cannot be read"),
        ("3-way ", "cannot be read"),
        ("uniform(c)", "'c' cannot be read"),
        ("uniform(c=)", "'c=' cannot be read"),
        ("uniform(c=0.1", "cannot be read"),
        ("uniform(c=0.1, c=0.2)", "'c=0.2' cannot be read"),
        ("uniform(c=much)", "c must be a number, got 'much'"),
        ("uniform(c=nan)", "c of scheme 'uniform' must be"),
        ("uniform(c=1.5)", "at most 1"),
        ("uniform", "needs its setting c, as in 'uniform(c=0.5)'"),
        ("uniform(q=0.1)", "has no setting 'q'; valid are c"),
        ("lipschitz(c=0)", "gives every record weight zero"),
        ("lipschitz-target(D=0)", "gives every record weight zero"),
        (
            "marginal(c=0.1)",
            "has no setting 'c'; schemes with settings are mix, power, drop-riskiest, uniform",
        ),
        ("uniform(c=0.1, of=marginal)", "has no setting 'of'"),
        ("lipschitz", "is made of a fit of the unweighted model"),
        ("reweighted", "is made of a fit of the weighted model"),
    ],
)
def test_a_scheme_that_cannot_be_made_is_refused(scheme, told):
    with pytest.raises(InputError) as caught:
        scheme_weights(scheme, betty(), INCOME)
    assert_clear(caught, told)


def test_a_scheme_has_one_text():
    assert parse_scheme("uniform( c = .10 )").text == "uniform(c=0.1)"
    assert parse_scheme("lipschitz(g=0.2,c=1)").text == "lipschitz(c=1, g=0.2)"
    assert parse_scheme("reweighted(c=0.9, of=mix( t=.5))") == (
        "reweighted",
        {"c": 0.9},
        "mix(t=0.5)",
    )
    assert scheme_text("marginal") == parse_scheme("marginal()").text == "marginal"
    given = scheme_weights("mix(t=0.25)", betty(), INCOME)
    pd.testing.assert_series_equal(given, scheme_weights("mix", betty(), INCOME, t=0.25))
    with pytest.raises(InputError, match="give none beside it"):
        scheme_weights("mix(t=0.25)", betty(), INCOME, t=0.25)


def test_schemes_come_after_those_they_are_made_of():
    given = ["reweighted(of=mix(t=0.5))", "lipschitz-target(D=3)", "mix(t=0.5)", "unweighted"]
    assert order_schemes(given) == [
        "mix(t=0.5)",
        "unweighted",
        "reweighted(of=mix(t=0.5))",
        "lipschitz-target(D=3)",
    ]
    with pytest.raises(InputError, match="made of the fit of 'unweighted': name 'unweighted'"):
        order_schemes(["lipschitz", "marginal"])
    with pytest.raises(InputError, match="'lipschitz' is made of a fit itself"):
        order_schemes(["reweighted(of=lipschitz)", "lipschitz", "unweighted"])
    for one, other in (
        ("2-way", "pairwise"),
        ("lipschitz", "lipschitz(c=1, g=0)"),
        ("reweighted", "reweighted(of=marginal)"),
    ):
        with pytest.raises(InputError, match="are the same"):
            order_schemes(["unweighted", "marginal", one, other])
    with pytest.raises(InputError, match="unknown weighting scheme 'nope'"):
        order_schemes(["reweighted(of=nope)"])
    with pytest.raises(InputError, match="made of the fit of 'marginal'"):
        order_schemes(["reweighted", "unweighted"])


def test_a_cluster_has_the_smallest_weight_of_its_members():
    alpha = pd.Series([0.9, 0.2, 0.5, 0.7, 0.4], list("abcde"), name="alpha")
    houses = pd.Series([1, 2, 1, np.nan, np.nan], list("abcde"))
    assert rw.cluster_weights(alpha, houses).tolist() == [0.5, 0.2, 0.5, 0.4, 0.4]
    with pytest.raises(InputError, match="have the index of the 5 weights, got 5 on another index"):
        rw.cluster_weights(alpha, houses.reset_index(drop=True))


INDEX = pd.Index(["p", "q", "r"])


@pytest.mark.parametrize(
    "given_weights",
    [
        np.array([0.0, 0.5, 1.0]),
        [0.0, 0.5, 1.0],
        pd.Series([0.0, 0.5, 1.0], INDEX),
        pd.Series([0.0, 0.5, 1.0], INDEX, dtype="Float64"),
    ],
)
def test_good_weights_come_back_on_the_index(given_weights):
    checked = check_weights(given_weights, INDEX)
    assert checked.tolist() == [0.0, 0.5, 1.0]
    assert checked.index.equals(INDEX)
    assert checked.dtype == float


@pytest.mark.parametrize(
    ("given_weights", "named"),
    [
        ([0.5, SECRET, 1.0], ["0 are missing", "1 lie outside"]),
        ([-0.1, 0.5, 1.1], ["0 are missing", "2 lie outside"]),
        ([np.nan, 0.5, np.inf], ["1 are missing", "1 lie outside"]),
        (pd.Series([pd.NA, 0.5, pd.NA], INDEX, dtype="Float64"), ["2 are missing"]),
        ([0.5, 0.5], ["got 2 for 3 records"]),
        ([0.5] * 4, ["got 4 for 3 records"]),
        (pd.Series([0.5, 0.5], ["p", "q"]), ["got 2 for 3 records"]),
        (pd.Series([0.5] * 3), ["index"]),
        (pd.Series([0.5] * 3, ["q", "p", "r"]), ["index", "order"]),
        (["0.5", "987654.321", "1"], ["numbers"]),
        (pd.Series(["0.5", "987654.321", "1"], INDEX), ["numbers"]),
        ([[0.5, 0.5, SECRET]], ["one dimension", "2"]),
        (0.5, ["one dimension", "0"]),
    ],
)
def test_bad_weights_are_refused(given_weights, named):
    with pytest.raises(InputError) as caught:
        check_weights(given_weights, INDEX, what="user weights")
    assert_clear(caught, "user weights", *named)


def test_any_risk_gives_weights():
    risk = pd.Series([0.0, 0.25, 1.0], INDEX, name="own")
    alpha = risk_weights(risk)
    assert alpha.tolist() == [1.0, 0.75, 0.0]
    assert alpha.index.equals(INDEX)
    assert alpha.name == "alpha"
    with pytest.raises(InputError) as caught:
        risk_weights(pd.Series([0.5, SECRET]))
    assert_clear(caught, "risk", "1 lie outside")


@pytest.mark.parametrize(
    ("scale", "shift", "expected"),
    [
        (1, 0, [0.0, 0.5, 1.0]),
        (0.5, 0, [0.0, 0.25, 0.5]),
        (3, 0, [0.0, 1.0, 1.0]),
        (1, 0.25, [0.25, 0.75, 1.0]),
        (1, -0.25, [0.0, 0.25, 0.75]),
        (0.5, 0.25, [0.25, 0.5, 0.75]),
    ],
)
@pytest.mark.quick
def test_adjusted_weights_worked_by_hand(scale, shift, expected):
    alpha = pd.Series([0.0, 0.5, 1.0], INDEX)
    adjusted = adjust_weights(alpha, scale=scale, shift=shift)
    assert adjusted.tolist() == expected
    assert adjusted.index.equals(INDEX)
    assert adjusted.name == "alpha"
    assert alpha.tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("value", [np.nan, np.inf, "2", None, True])
@pytest.mark.parametrize("setting", ["scale", "shift"])
def test_adjustments_must_be_finite_numbers(setting, value):
    with pytest.raises(InputError) as caught:
        adjust_weights(pd.Series([0.5]), **{setting: value})
    assert_clear(caught, setting, repr(value))


@pytest.mark.parametrize("function", [adjust_weights, lambda alpha: equalize_weights(alpha, 1)])
@pytest.mark.parametrize(
    "alpha",
    [np.array([0.5, SECRET]), pd.Series([0.5, np.nan]), pd.Series([0.5, -SECRET]), np.ones((2, 2))],
)
def test_only_weights_can_be_changed(function, alpha):
    with pytest.raises(InputError) as caught:
        function(alpha)
    assert_clear(caught, "weights")


@pytest.mark.quick
def test_equalized_weights_worked_by_hand():
    # 2 * (0.1, 0.2, 0.5) sums to 1.6; at a total of 2.2 the largest stands at 1 and the others
    # share 1.2.
    alpha = pd.Series([0.1, 0.2, 0.5, 0.0], ["a", "b", "c", "d"])
    np.testing.assert_allclose(equalize_weights(alpha, 1.6), [0.2, 0.4, 1.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(
        equalize_weights(alpha, 1.3), [0.1625, 0.325, 0.8125, 0.0], atol=1e-15
    )
    np.testing.assert_allclose(equalize_weights(alpha, 2.2), [0.4, 0.8, 1.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(equalize_weights(alpha, 2.8), [0.8, 1.0, 1.0, 0.0], atol=1e-15)
    assert equalize_weights(alpha, 3).tolist() == [1.0, 1.0, 1.0, 0.0]
    assert equalize_weights(alpha, 0).tolist() == [0.0] * 4
    assert equalize_weights(alpha, 1).index.equals(alpha.index)
    assert equalize_weights(alpha, 1).name == "alpha"


@given(
    values=st.lists(
        st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(1e-6, 1)),
        min_size=1,
        max_size=20,
    ),
    share=st.one_of(st.sampled_from([0.0, 1.0, 1 - 2**-53]), st.floats(1e-6, 1)),
)
@hypothesis_settings(max_examples=200)
def test_equalized_weights_reach_their_total_as_one_multiple(values, share):
    alpha = np.array(values)
    total = share * (alpha > 0).sum()
    equal = equalize_weights(alpha, total).to_numpy()
    assert equal.sum() == pytest.approx(total, abs=1e-9)
    assert ((equal >= 0) & (equal <= 1)).all()
    assert (equal[alpha == 0] == 0).all()
    below = (equal < 1) & (alpha > 0)
    if below.any():
        multiple = equal[below] / alpha[below]
        np.testing.assert_allclose(multiple, multiple[0], rtol=1e-9)
        assert (multiple[0] * alpha[equal == 1] >= 1 - 1e-9).all()


def test_equal_total_compares_schemes():
    marginal, pairwise = marginal_weights(betty(), INCOME), pairwise_weights(betty(), INCOME)
    assert equalize_weights(pairwise, marginal.sum()).sum() == pytest.approx(
        marginal.sum(), abs=1e-12
    )
    np.testing.assert_allclose(equalize_weights(marginal, marginal.sum()), marginal, atol=1e-15)


@pytest.mark.parametrize("total", [-0.1, 2.0001, 4])
def test_a_total_that_no_multiple_reaches_is_refused(total):
    with pytest.raises(InputError) as caught:
        equalize_weights(pd.Series([0.0, 0.1, 0.9]), total)
    assert_clear(caught, "total", "2 records of positive weight", repr(float(total)))


@pytest.mark.parametrize("total", [np.nan, np.inf, "1", None, True])
def test_a_total_must_be_a_finite_number(total):
    with pytest.raises(InputError) as caught:
        equalize_weights(pd.Series([0.5, 0.5]), total)
    assert_clear(caught, "total", repr(total))


@pytest.mark.parametrize("k", [20, 84, 300])
def test_many_way_weights_of_a_large_pattern_stay_finite(k):
    frame = pd.DataFrame({"y": np.exp(np.random.default_rng(1).normal(size=2000))})
    alpha = kway_weights(frame, Scenario(synthetic="y"), k=k)
    assert np.isfinite(alpha).all()
    assert (alpha >= kway_weights(frame, Scenario(synthetic="y"), k=4) - 1e-9).all()


@pytest.mark.parametrize("scheme", ["marginal", "pairwise", "3-way"])
def test_weights_that_protect_nobody_are_said_loudly(scheme):
    frame = pd.DataFrame({"y": [1.0, 2.0, 3.0, 4.0]})
    with pytest.warns(FlatWeightsWarning, match="all 4 weights are 1: nobody is protected"):
        scheme_weights(scheme, frame, Scenario(synthetic="y", radius=20, allow_wide=True))


def test_weights_that_use_no_record_are_said_loudly():
    with pytest.warns(FlatWeightsWarning, match="all 3 weights are 0"):
        risk_weights(pd.Series([1.0, 1.0, 1.0]))
    with pytest.warns(FlatWeightsWarning, match="all 2 weights are 0"):
        adjust_weights(pd.Series([0.5, 0.2]), 1, -0.5)


def test_more_ways_than_records_are_refused():
    frame = pd.DataFrame({"y": np.exp(np.random.default_rng(1).normal(size=60))})
    assert len(scheme_weights("60-way", frame, INCOME)) == 60
    for scheme in ("61-way", "1000000000-way", "9" * 400 + "-way"):
        with pytest.raises(
            InputError, match=r"^scheme '\d+-way' needs \d+ records, and there are 60"
        ):
            scheme_weights(scheme, frame, INCOME)


@pytest.mark.parametrize("scale", [-1, -1e-9, np.nan, "1", None, 1j, True], ids=str)
def test_a_scale_is_a_number_that_keeps_the_order(scale):
    with pytest.raises(InputError, match=r"^scale must be a finite number >= 0, got "):
        adjust_weights(pd.Series([0.5, 0.25]), scale)
    with pytest.raises(InputError, match=r"^scale must be a finite number >= 0, got "):
        WeightSettings(scale=scale)


@pytest.mark.parametrize(
    "alpha", [pd.Series([0.5 + 0j, 0.25]), np.array([0.5, 0.25 + 1j])], ids=["series", "array"]
)
def test_complex_weights_are_refused(alpha):
    with pytest.raises(InputError, match=r"must be numbers in \[0, 1\], got dtype complex128"):
        check_weights(alpha, pd.RangeIndex(2))
