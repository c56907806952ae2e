"""Small multiples, guesses by what an intruder has, coefficients in one figure, a variable by
another: they show what their tables say, and no more of few records.
"""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import riskweighted as rw
from riskweighted.measures.analyses import ESTIMATE
from riskweighted.plots.attack_success import SIDES
from riskweighted.plots.style import MULTIPLES
from riskweighted.reports.svg import inline_svg

SCHEMES = ("unweighted", "marginal", "mix+(t=0.5)")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {"income": rng.exponential(20, 400), "region": rng.choice(["n", "s", "w"], 400)}
    )


@pytest.fixture(scope="module")
def synthetic(data):
    return {scheme: [data.sample(frac=1, random_state=k) for k in (1, 2)] for scheme in SCHEMES}


@pytest.mark.parametrize("plot", [rw.plot_density, rw.plot_ecdf, rw.plot_quantiles])
def test_each_scheme_has_a_panel_on_one_scale_and_axes_given_hold_all(plot, data, synthetic):
    figure = plot(data, synthetic, "income").get_figure(root=True)
    assert [ax.get_title(loc="left") for ax in figure.axes] == list(SCHEMES)
    assert len({(ax.get_xlim(), ax.get_ylim()) for ax in figure.axes}) == 1
    alone = Figure().subplots()
    assert plot(data, synthetic, "income", ax=alone) is alone
    labels = [text.get_text() for text in alone.get_legend().get_texts()]
    assert set(SCHEMES) < set(labels)


def test_a_narrow_page_gets_every_panel_and_the_remark_alone(data, synthetic):
    figure = rw.plot_ecdf(data, synthetic, "income").get_figure(root=True)
    assert figure.get_label() == MULTIPLES
    page = inline_svg(figure, "ecdf", "what is seen")
    assert page.count('class="part"') == len(SCHEMES)
    assert page.count('href="#ecdf-drawing"') == len(SCHEMES)
    assert page.count('role="img"') == 1
    assert "Mean over 2 synthetic datasets" in page


def test_a_density_has_nothing_below_a_bound_and_all_of_its_mass(data):
    x, y = rw.plot_density(data, {"same": data}, "income").lines[0].get_data()
    assert (y[x < data["income"].min()] == 0).all()
    np.testing.assert_allclose(np.trapezoid(y, x), 1, atol=0.02)
    # an exponential density is highest at its bound
    assert y[x > data["income"].min()].argmax() < 20


def test_guesses_stand_as_in_the_table_and_what_is_not_judged_is_left_out():
    shares = dict(zip(SIDES, (0.33, 0.32, 0.3), strict=True))
    rows = [(label, key, value) for label in ("a", "b") for key, value in shares.items()]
    risk = pd.DataFrame(rows, columns=["label", "key", "value"])
    risk.loc[(risk["label"] == "b") & (risk["key"] == list(SIDES)[1]), "value"] = np.nan
    ax = rw.plot_attack_success(risk)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a"]
    assert [bar.get_width() for bar in ax.patches] == list(shares.values())
    with pytest.raises(rw.InputError, match="'b' was not judged"):
        rw.plot_attack_success(risk, ["b"])


def test_coefficients_are_distances_in_half_lengths_of_the_confidential_interval():
    rows = [("confidential", 2.0, 1.0, 3.0), ("marginal", 4.0, 3.5, 4.5)]
    table = pd.DataFrame(rows, columns=["label", "value", "lower", "upper"])
    table = table.assign(key=ESTIMATE.key, variable="y", term="x in y ~ x")
    ax = rw.plot_coefficients(table)
    (bar,) = ax.containers
    point, _, (interval,) = bar
    assert point.get_xdata().tolist() == [2.0]
    assert interval.get_segments()[0][:, 0].tolist() == [1.5, 2.5]
    with pytest.raises(rw.InputError, match="no coefficient"):
        rw.plot_coefficients(table[table["label"] == "marginal"])


def test_shares_within_groups_round_counts_of_confidential_records(data, synthetic):
    few = data.assign(region=["x"] * 3 + ["n"] * 197 + ["s"] * 200)
    drawn = {label: [few] for label in SCHEMES}
    figure = rw.plot_conditional(few, drawn, "region", "income", minimum_count=10).get_figure(
        root=True
    )
    shown = {text.get_text() for ax in figure.axes for text in ax.get_xticklabels()}
    assert "x" not in shown
    inner = [ax for ax in figure.axes if ax.patches]
    assert len(inner) >= 4
    counts = np.array([[bar.get_height() for bar in ax.patches] for ax in inner])
    exact = rw.plot_conditional(few, drawn, "region", "income").get_figure(root=True)
    whole = np.array([sum(bar.get_height() for bar in ax.patches) for ax in exact.axes])
    np.testing.assert_allclose(whole, 1)
    assert not np.allclose(counts.sum(axis=1), 1, atol=1e-9)  # as rounded
