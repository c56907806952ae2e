"""The recorded frontier keeps what is asked of centred weights, or misses it by what
docs/frontier.md says.
"""

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from experiments.claims.frontier import FRONTIER, GONE, TWICE, both, families, measured
from experiments.claims.frontier_shown import TOLD, drawn, means, shown
from riskweighted.intruder.world import make_world


@pytest.fixture(scope="module")
def table():
    return means(pd.read_csv(FRONTIER)).set_index(["data", "scheme"])


@pytest.mark.quick
def test_centred_weights_keep_what_is_asked_on_the_demo(table):
    demo = table.loc["demo"]
    assert demo.loc["marginal+", "U_m"] <= 0.024
    assert abs(demo.loc["marginal+", "z_eligible"]) <= 1.5
    assert abs(demo.loc["marginal", "z_eligible"]) > 5  # which the plain ones do not
    for scheme in ("pairwise+", "power+(g=0.5)", "mix+(t=0.5)"):
        assert demo.loc[scheme, "U_m"] <= 0.018
        assert demo.loc[scheme, "overlap"] >= 0.82


@pytest.mark.quick
def test_centred_weights_teach_as_little_as_plain_ones_and_cost_less(table):
    for name in ("demo", "SD2011"):
        part = table.loc[name]
        for scheme in ("mix(t=0.5)", "pairwise", "power(g=0.5)", "marginal"):
            plain, centred = part.loc[scheme], part.loc[both(scheme)]
            assert centred["U_m"] < plain["U_m"]
            assert centred["information_isolated"] == pytest.approx(
                plain["information_isolated"], rel=0.45
            )
            # that need not fall
            assert centred["attributable_isolated"] > plain["attributable_isolated"]


def kept_instead(part, scheme, axis):
    """The offered schemes that teach at most a fifth more than a scheme and lose, beyond error,
    neither U_m nor overlap against it.
    """
    offered = part.loc[
        [name for of in families().values() for name in of if name in part.index]
    ].dropna(subset=["U_m"])
    gone = part.loc[scheme]
    dearer = offered["U_m"] - gone["U_m"] > 2 * np.hypot(offered["U_m_error"], gone["U_m_error"])
    worse = gone["overlap"] - offered["overlap"] > 2 * np.hypot(
        offered["overlap_error"], gone["overlap_error"]
    )
    return list(
        offered.index[
            (offered[axis] <= 1.2 * gone[axis]) & ~dearer & ~worse & (offered.index != scheme)
        ]
    )


@pytest.mark.quick
def test_for_every_centred_scheme_that_is_gone_another_is_as_good(table):
    for name in ("demo", "SD2011"):
        for scheme in GONE:
            for axis in ("information_isolated", "information_largest"):
                assert kept_instead(table.loc[name], scheme, axis), (name, scheme, axis)
    # which is why it stays
    assert not kept_instead(table.loc["demo"], "budget+(b=0.5)", "information_isolated")


@pytest.mark.quick
def test_tables_and_figure_are_of_every_family(table):
    rows = table.reset_index()
    assert {scheme for of in families().values() for scheme in of} >= {
        scheme for scheme in (*TOLD, *TWICE) if scheme != "unweighted"
    }
    text = shown(rows, "demo", TOLD)
    assert text.splitlines()[2].startswith(
        f"| `unweighted` | {table.loc[('demo', 'unweighted'), 'U_m']:.4f} |"
    )
    assert len(text.splitlines()) == 2 + sum(scheme in table.loc["demo"].index for scheme in TOLD)
    assert len(drawn(rows).axes) == 4


@pytest.mark.long
def test_what_is_measured_of_a_fit():
    from riskweighted.runs.examples import data, fit, scenario

    row = measured(fit, make_world(data, scenario), "income ~ C(region)", 3)
    information = rw.influence(fit)["information"]
    assert row["information_largest"] == information.max()
    assert row["information_all"] == pytest.approx(information.mean())
    drawn_values = np.concatenate([frame["income"] for frame in fit.synthesize(100, random_seed=3)])
    assert row["q50"] == pytest.approx(
        np.median(drawn_values) / data["income"].median() - 1, abs=0.01
    )
    assert 0 < row["U_m"] < 0.3
    assert 0 <= row["overlap"] <= 1
    assert row["codes"] == 0
