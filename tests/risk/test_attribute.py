import dataclasses

import brute
import numpy as np
import pandas as pd
import pytest
from brute import SECRET, assert_clear
from hypothesis import given, settings as hypothesis_settings, strategies as st

from riskweighted.common.errors import InputError
from riskweighted.intruder.scenario import Scenario
from riskweighted.risk.attribute import correct_attribution, replicated_uniques

quick = hypothesis_settings(max_examples=40)
KINDS = st.sampled_from([(True, False), (False, True), (True, True)])

# CAP


CONFIDENTIAL = pd.DataFrame(
    {"sex": ["f", "f", "f", "m", "m", None], "ill": ["yes", "no", "no", "yes", "yes", "no"]},
    index=[f"id{i}" for i in range(6)],
)
SYNTHETIC = pd.DataFrame(
    {"sex": ["f", "f", "f", "f", "m", "m"], "ill": ["no", "no", "no", "yes", "yes", "yes"]}
)
ILL = Scenario(known="sex", synthetic="ill")


def test_attribution_by_hand():
    # Key f: no in 3 of 4. Key m: yes in 2 of 2, so targeted. The missing key is not in the
    # synthetic data.
    found = correct_attribution(CONFIDENTIAL, SYNTHETIC, ILL)
    assert found.cap.tolist() == [0.25, 0.75, 0.75, 1, 1, 0]
    assert found.cap.index.equals(CONFIDENTIAL.index)
    assert found.dcap == found.dcap_zero == pytest.approx(3.75 / 6)
    assert found.dcap_drop == pytest.approx(3.75 / 5)
    assert found.absent_share == pytest.approx(1 / 6)
    assert (found.tcap, found.targeted) == (1, 2)
    assert found.baseline == 0.5  # yes and no in 3 of 6 each
    dropped = correct_attribution(CONFIDENTIAL, SYNTHETIC, ILL, absent="drop")
    assert dropped.cap.isna().tolist() == [False] * 5 + [True]
    assert dropped.dcap == dropped.dcap_drop == found.dcap_drop


def test_tau_targets_keys_whose_best_guess_is_likely_enough():
    assert correct_attribution(CONFIDENTIAL, SYNTHETIC, ILL, tau=0.76).targeted == 2
    lower = correct_attribution(CONFIDENTIAL, SYNTHETIC, ILL, tau=0.75)
    assert lower.targeted == 5
    assert lower.tcap == pytest.approx(3.75 / 5)


def test_attribution_inside_balls_by_hand():
    confidential = pd.DataFrame({"region": [1, 1, 2], "income": [100.0, 200.0, -50.0]})
    released = pd.DataFrame(
        {"region": [1, 1, 1, 1, 2, 2], "income": [80.0, 120.0, 121.0, 160.0, -55.0, -45.0]}
    )
    found = correct_attribution(
        confidential, released, Scenario(known="region", synthetic="income", radius=0.2)
    )
    assert found.cap.tolist() == [0.5, 0.25, 1]
    # region 1: no ball around a released value holds all four
    assert (found.tcap, found.targeted) == (1, 1)
    opened = correct_attribution(
        confidential, released, Scenario(known="region", synthetic="income", boundary="open")
    )
    assert opened.cap.tolist() == [0, 0, 1]


def test_a_wrong_but_unanimous_key_is_targeted_and_counts_zero():
    released = pd.DataFrame({"sex": ["m"], "ill": ["no"]})
    found = correct_attribution(CONFIDENTIAL, released, ILL)
    assert (found.tcap, found.targeted, found.dcap) == (0, 2, 0)


def test_tcap_is_undefined_where_nothing_is_targeted():
    released = pd.DataFrame({"sex": ["m", "m"], "ill": ["no", "yes"]})
    found = correct_attribution(CONFIDENTIAL, released, ILL)
    assert np.isnan(found.tcap)
    assert found.targeted == 0


def test_no_key_in_common():
    found = correct_attribution(CONFIDENTIAL, SYNTHETIC.assign(sex="x"), ILL)
    assert found.dcap_zero == 0
    assert np.isnan(found.dcap_drop)
    assert np.isnan(found.tcap)
    assert found.absent_share == 1


def test_several_datasets_are_averaged():
    other = pd.DataFrame({"sex": [None, "f"], "ill": ["no", "yes"]})
    both = correct_attribution(CONFIDENTIAL, [SYNTHETIC, other], ILL)
    assert both.by_dataset.index.tolist() == [1, 2]
    assert both.cap.tolist() == [0.625, 0.375, 0.375, 0.5, 0.5, 0.5]
    assert both.dcap_zero == pytest.approx((3.75 / 6 + 2 / 6) / 2)
    assert both.dcap_drop == pytest.approx((3.75 / 5 + 2 / 4) / 2)
    assert both.tcap == pytest.approx((1 + 2 / 4) / 2)
    dropped = correct_attribution(CONFIDENTIAL, [SYNTHETIC, other], ILL, absent="drop")
    assert dropped.cap.tolist() == [0.625, 0.375, 0.375, 1, 1, 1]


def test_results_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        correct_attribution(CONFIDENTIAL, SYNTHETIC, ILL).tcap = 0


def loops(confidential, released, settings, tau):
    """CAP (NaN: absent), targeted and the baseline share of every record, by loops."""
    records, full = brute._setup(confidential, settings)
    candidates = brute.rows(released)

    def key(record):
        return tuple(brute.level(record[name]) for name in full["known"])

    def share(centre, group):
        return (
            sum(brute.inside(one, centre, full) for one in group) / len(group) if group else np.nan
        )

    def same(centre):
        return [one for one in candidates if key(one) == key(centre)]

    cap = [share(one, same(one)) for one in records]
    targeted = [any(share(other, same(other)) >= tau for other in same(one)) for one in records]
    return np.array(cap), np.array(targeted), np.array([share(one, records) for one in records])


@st.composite
def independent(draw, frame):
    """A synthetic file of its own length and keys, its values near the confidential ones."""
    order = draw(st.lists(st.integers(0, len(frame) - 1), min_size=1, max_size=12))
    other = draw(brute.released(frame.iloc[order].reset_index(drop=True)))
    keys = draw(st.lists(st.integers(0, len(frame) - 1), min_size=len(order), max_size=len(order)))
    return other.assign(b=frame["b"].iloc[keys].reset_index(drop=True))


def compare(found, expected, frame):
    """The mean over datasets of what the loops found."""
    caps, targeted, baseline = (np.array(each) for each in zip(*expected, strict=True))
    np.testing.assert_allclose(found.cap, np.nan_to_num(caps).mean(axis=0), rtol=0, atol=1e-12)
    assert found.cap.index.equals(frame.index)
    zero = np.nan_to_num(caps).mean()
    drop = [cap[~np.isnan(cap)].mean() for cap in caps if not np.isnan(cap).all()]
    hit = [cap[which].mean() for cap, which in zip(caps, targeted, strict=True) if which.any()]
    figures = (
        found.dcap_zero,
        found.dcap_drop,
        found.tcap,
        found.targeted,
        found.baseline,
        found.absent_share,
    )
    means = (zero, np.mean(drop) if drop else np.nan, np.mean(hit) if hit else np.nan)
    wanted = (*means, targeted.sum(axis=1).mean(), baseline.mean(), np.isnan(caps).mean())
    np.testing.assert_allclose(figures, wanted, rtol=0, atol=1e-12)


@given(
    data=st.data(),
    frame=brute.frames(),
    kind=KINDS,
    tau=st.sampled_from([1.0, 0.5, 2 / 3]),
    known=st.sampled_from(["a", ("a", "b")]),
)
@quick
def test_attribution_is_that_of_the_loops(data, frame, kind, tau, known):
    settings = data.draw(brute.settings(*kind)) | {"known": known}
    synthetic = [data.draw(independent(frame)) for _ in range(2)]
    found = correct_attribution(frame, synthetic, Scenario(**settings), tau=tau)
    compare(found, [loops(frame, one, settings, tau) for one in synthetic], frame)


@given(data=st.data(), frame=brute.frames(), dimensions=st.sampled_from([2, 3]))
@quick
def test_attribution_of_several_numbers_is_that_of_the_loops(data, frame, dimensions):
    settings = data.draw(brute.settings(True, True)) | {
        "known": ("a",),
        "radius": 0.5,
        "synthetic": ("y", "g", "u", "v")[: dimensions + 1],
    }
    values = st.sampled_from([1.0, 1.5, 2.0, 3.0])
    synthetic = data.draw(independent(frame))
    frame, synthetic = (
        one.assign(
            **{
                name: data.draw(st.lists(values, min_size=len(one), max_size=len(one)))
                for name in "uv"
            }
        )
        for one in (frame, synthetic)
    )
    found = correct_attribution(frame, synthetic, Scenario(**settings))
    compare(found, [loops(frame, synthetic, settings, 1.0)], frame)


def test_a_hundred_thousand_records():
    rng = np.random.default_rng(1)
    n = 100_000
    frame = pd.DataFrame(
        {"a": rng.integers(0, 500, n), "y": rng.lognormal(size=n), "z": rng.lognormal(size=n)}
    )
    other = frame.assign(y=rng.lognormal(size=n), z=rng.lognormal(size=n)).iloc[: n // 2]
    found = correct_attribution(frame, other, Scenario(known="a", synthetic=("y", "z"), radius=0.2))
    # y and z are drawn without regard to the key
    assert found.dcap == pytest.approx(found.baseline, rel=0.02)


# replicated uniques


def test_replicated_uniques_by_hand():
    confidential = pd.DataFrame({"age": [1, 2, 3, 3, 4], "ill": ["y", "n", "y", "n", "y"]})
    released = pd.DataFrame({"age": [1, 2, 2, 3, 4, 5], "ill": ["y", "n", "n", "y", "n", "n"]})
    found = replicated_uniques(confidential, released, Scenario(known="age", synthetic="ill"))
    # 1, 2, 4 are unique; 2 is twice in the released data
    assert found.known == (3, 2, 2 / 5, 2 / 3)
    assert found.joint == (5, 2, 2 / 5, 2 / 5)  # (1, y) and (3, y); (4, y) is not there
    twice = replicated_uniques(
        confidential, [released, confidential], Scenario(known="age", synthetic="ill")
    )
    assert twice.known == (3, 2.5, 0.5, 2.5 / 3)
    numeric = replicated_uniques(
        confidential.assign(ill=1.0),
        released.assign(ill=1.0),
        Scenario(known="age", synthetic="ill"),
    )
    assert numeric.joint is None
    none = replicated_uniques(
        confidential.assign(age=1), released, Scenario(known="age", synthetic="ill")
    )
    assert none.known[:3] == (0, 0, 0)
    assert np.isnan(none.known.share_of_uniques)


@given(data=st.data(), frame=brute.frames(), known=st.sampled_from(["a", ("a", "b")]))
@quick
def test_replicated_uniques_are_those_of_the_loops(data, frame, known):
    synthetic = data.draw(independent(frame))
    scenario = Scenario(known=known, synthetic="g", categorical="g")
    found = replicated_uniques(frame, synthetic, scenario)
    for names, one in ((scenario.known, found.known), ((*scenario.known, "g"), found.joint)):
        mine, theirs = (
            [tuple(brute.level(r[name]) for name in names) for r in brute.rows(file)]
            for file in (frame, synthetic)
        )
        unique = [key for key in mine if mine.count(key) == 1]
        count = sum(theirs.count(key) == 1 for key in unique)
        assert one[:3] == (len(unique), count, count / len(frame))
        if unique:
            assert one.share_of_uniques == count / len(unique)


# refusals


@pytest.mark.parametrize("measure", [correct_attribution, replicated_uniques])
def test_unusable_files_are_refused(measure):
    frame = pd.DataFrame({"a": [1, 2], "y": [SECRET, 1.0]})
    scenario = Scenario(known="a", synthetic="y")
    cases = [
        ((frame, frame, Scenario(synthetic="y")), ["known"]),
        ((frame.drop(columns="y"), frame, scenario), ["'y'", "no column"]),
        ((frame, frame.drop(columns="a"), scenario), ["synthetic dataset 1", "'a'"]),
        ((frame, [frame, frame.iloc[:0]], scenario), ["synthetic dataset 2", "no records"]),
        ((frame, [], scenario), ["no synthetic dataset"]),
        ((frame, frame.assign(y=[SECRET, np.nan]), scenario), ["'y'", "missing"]),
        ((frame, frame.assign(y=[SECRET, np.inf]), scenario), ["'y'", "infinite"]),
        ((frame, frame.assign(y=frame["y"].astype(str)), scenario), ["'y'", "not comparable"]),
        ((frame, frame.assign(a=["1", "2"]), scenario), ["'a'", "not comparable"]),
        ((frame, frame.assign(a=pd.Categorical(["1", "2"])), scenario), ["'a'", "not comparable"]),
    ]
    for arguments, named in cases:
        with pytest.raises(InputError) as caught:
            measure(*arguments)
        assert_clear(caught, *named)


def test_numbers_pair_across_dtypes():
    frame = pd.DataFrame({"a": [1, 2], "y": [5.0, 1.0]})
    for dtype in ("category", "Int64", "float64", object):
        assert correct_attribution(
            frame, frame.astype({"a": dtype}), Scenario(known="a", synthetic="y")
        ).cap.tolist() == [1, 1]


@pytest.mark.parametrize(
    "settings",
    [{"absent": "skip"}, {"tau": 0}, {"tau": 1.1}, {"tau": "all"}, {"tau": True}, {"tau": np.nan}],
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(InputError) as caught:
        correct_attribution(CONFIDENTIAL, SYNTHETIC, ILL, **settings)
    assert_clear(caught, *settings)
