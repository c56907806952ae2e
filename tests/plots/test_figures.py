"""The figures show what their tables say, hold what they draw, and refuse what they cannot draw."""

import io
import subprocess
import sys
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.figure import Figure
from records import Asked

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.common.numbers import rounded_from
from riskweighted.plots.binning import merged_histogram
from riskweighted.plots.convergence_plot import rank_histogram
from riskweighted.plots.quantiles import shown_quantiles
from riskweighted.plots.risk_utility import pareto_front
from riskweighted.plots.style import mark_powers, printable, scheme_styles, short_names, title
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sampling.convergence import diagnose, diagnose_direct
from riskweighted.sequence.fit import Fit

pytestmark = pytest.mark.versions

SCHEMES = ["unweighted", "marginal", "pairwise", "top-coding"]
ODD = ["x" * 150 + "y" * 150, "שיטה משוקללת", '$a^2$ \N{GRINNING FACE} 漢 <b>"q"</b>', "_hidden"]
MEASURE = "mean"


def records(n=300):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {label: rng.beta(2, 3 + place, n) for place, label in enumerate(["confidential", *SCHEMES])}
    )


def utility():
    rows = [
        (label, "income", MEASURE, 10.0 + k, 9.0 + k, 12.0 + k, "a rule")
        for k, label in enumerate(["confidential", *SCHEMES])
    ]
    rows.append(("marginal", "income", "U_m", 0.1, np.nan, np.nan, np.nan))
    return pd.DataFrame(
        rows, columns=["label", "variable", "measure", "value", "lower", "upper", "rule"]
    )


def summary():
    columns = {
        "mean risk": [0.8, 0.3, 0.2, 0.25, 0.7],
        "U_m of income": [np.nan, 0.01, 0.05, 0.06, 0.02],
        "other": 1.0,
    }
    return pd.DataFrame(columns, index=pd.Index(["confidential", *SCHEMES], name="label"))


def disclosed():
    """The map's table with disclosure, which is not judged of the baseline."""
    columns = {
        "disclosure beyond inference": [np.nan, 0.003, 0.001, -0.002, np.nan],
        "se": [np.nan, 0.002, 0.001, 0.002, np.nan],
    }
    return summary().assign(**columns)


def frames(n=400):
    rng = np.random.default_rng(2)
    confidential = pd.DataFrame({"income": rng.lognormal(3, 0.6, n)})
    return confidential, {
        label: [pd.DataFrame({"income": rng.lognormal(3, 0.5, n)}) for _ in range(3)]
        for label in SCHEMES
    }


def weights(n=400):
    return pd.DataFrame(
        {label: np.random.default_rng(3).uniform(0.1, 0.9, n) for label in SCHEMES[:3]}
    )


def sweep():
    rows = [
        (r, label, "mean risk", v + r, k)
        for r in (0.1, 0.2)
        for label in SCHEMES[:3]
        for k, v in enumerate((1.0, 2.0, 6.0))
    ]
    return pd.DataFrame(rows, columns=["radius", "label", "measure", "value", "repetition"])


def rates():
    table = pd.DataFrame(
        {"stratum": ["a", "b", "c", "none"], "metric": "unicity", "suspected": [40, 30, 60, 0]}
    )
    table["confirmed"], table["puf_records"] = [3, 25, 50, 0], [200, 100, 100, 90]
    table["suspected_rate"], table["confirmed_rate"] = (
        table["suspected"] / table["puf_records"],
        table["confirmed"] / table["puf_records"],
    )
    return table.assign(conditional_rate=table["confirmed"] / table["suspected"])


def posterior():
    rng = np.random.default_rng(4)
    values = {"mean": rng.normal(size=(4, 200)), "slope": rng.normal(size=(4, 200, 2))}
    values["slope"][3, :, 1] += 3
    quantities = {
        "mean": values["mean"],
        "slope[0]": values["slope"][..., 0],
        "slope[1]": values["slope"][..., 1],
    }
    data = xr.Dataset(
        {
            "mean": (("chain", "draw"), values["mean"]),
            "slope": (("chain", "draw", "k"), values["slope"]),
        }
    )
    return data, diagnose(quantities, 0)


def every_figure(names=SCHEMES, column="income", **options):
    """One call per figure, with schemes and columns renamed."""
    to = dict(zip(SCHEMES, names, strict=True))
    confidential, synthetic = frames()
    confidential = confidential.rename(columns={"income": column})
    synthetic = {
        to[label]: [frame.rename(columns={"income": column}) for frame in sets]
        for label, sets in synthetic.items()
    }
    table = records().rename(columns=to)
    values, alphas = confidential[column], weights().rename(columns=to)
    intervals, counts = utility().assign(variable=column), rates().assign(stratum=names)
    intervals["label"] = intervals["label"].replace(to)
    lines = sweep().replace({"label": to})
    draws, diagnostics = posterior()
    figures = {
        "violins": lambda: rw.plot_risk_violins(table, **options),
        "violins binned": lambda: rw.plot_risk_violins(table, minimum_count=10, **options),
        "scatter": lambda: rw.plot_whack_a_mole(table, names[1], baseline=names[0], **options),
        "scatter binned": lambda: rw.plot_whack_a_mole(
            table, names[1], baseline=names[0], minimum_count=4, **options
        ),
        "intervals": lambda: rw.plot_intervals(intervals, MEASURE, **options),
        "density": lambda: rw.plot_density(confidential, synthetic, column, **options),
        "density binned": lambda: rw.plot_density(
            confidential, synthetic, column, minimum_count=10, **options
        ),
        "ecdf": lambda: rw.plot_ecdf(confidential, synthetic, column, **options),
        "ecdf binned": lambda: rw.plot_ecdf(
            confidential, synthetic, column, minimum_count=10, **options
        ),
        "weights": lambda: rw.plot_weights(values, alphas, **options),
        "weights binned": lambda: rw.plot_weights(values, alphas, minimum_count=10, **options),
        "map": lambda: rw.plot_risk_utility(
            summary().rename(index=to), "mean risk", "U_m of income", **options
        ),
        "map of disclosure": lambda: rw.plot_risk_utility(
            disclosed().rename(index=to), None, "U_m of income", error="se", **options
        ),
        "sweep": lambda: rw.plot_sweep(lines, "radius", "mean risk", **options),
        "convergence": lambda: rw.plot_convergence(draws, diagnostics, **options),
        "rates": lambda: rw.plot_reidentification(counts, **options),
        "rates binned": lambda: rw.plot_reidentification(counts, minimum_count=10, **options),
    }
    return figures


def image(ax, dpi=50):
    out = io.BytesIO()
    ax.figure.savefig(out, dpi=dpi, format="png")
    return out.getvalue()


def texts_of(ax):
    legend = ax.get_legend()
    # those in view
    ticks = [tick.label1 for axis in (ax.xaxis, ax.yaxis) for tick in axis._update_ticks()]
    shown = [ax.xaxis.label, ax.yaxis.label, ax._left_title, *ticks, *ax.texts]
    return [
        text
        for text in shown + (legend.get_texts() if legend else [])
        if text.get_text() and text.get_visible()
    ]


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("name", every_figure())
@pytest.mark.parametrize(
    ("names", "column"), [(SCHEMES, "income"), (ODD, "$" + "z" * 300)], ids=["plain", "odd"]
)
def test_all_text_is_in_the_figure_and_none_overlaps(name, names, column):
    ax = every_figure(names, column)[name]()
    image(ax, dpi=ax.figure.dpi)  # warnings, of missing glyphs for example, are errors here
    box = ax.figure.bbox
    for text in texts_of(ax):
        extent = text.get_window_extent()
        assert extent.x0 >= box.x0 - 1, (name, text)
        assert extent.x1 <= box.x1 + 1, (name, text)
        assert extent.y0 >= box.y0 - 1, (name, text)
        assert extent.y1 <= box.y1 + 1, (name, text)
        assert text.get_fontsize() >= 10
    level = [text for text in texts_of(ax) if text.get_rotation() in (0, 90)]
    for one, other in combinations(level, 2):
        assert (
            not one.get_window_extent().padded(-1).overlaps(other.get_window_extent().padded(-1))
        ), (name, one, other)


@pytest.mark.parametrize("name", every_figure())
def test_axes_and_size_can_be_given(name):
    figure = Figure()
    ax = figure.subplots()
    assert every_figure(ax=ax)[name]() is ax
    assert every_figure(figsize=(9, 5))[name]().figure.get_size_inches().tolist() == [9, 5]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"ax": Figure().subplots(), "figsize": (9, 5)}, "not both"),
        ({"ax": Figure()}, "got Figure"),
        ({"figsize": (0, 5)}, "inches"),
    ],
)
def test_wrong_axes_and_sizes_are_refused(options, named):
    with pytest.raises(InputError, match=named):
        rw.plot_risk_violins(records(), **options)


def test_pyplot_is_not_imported():
    code = "import sys, riskweighted.plots; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=300).returncode == 0


def test_violins_have_a_bar_at_the_mean():
    table = pd.DataFrame({"unweighted": [0.1, 0.2, 0.6], "marginal": [0.0, 0.0, 0.0]})
    ax = rw.plot_risk_violins(table, ["marginal", "unweighted"])
    bars = [
        lines.get_segments()[0][0, 1] for lines in ax.collections if hasattr(lines, "get_segments")
    ]
    np.testing.assert_allclose(bars, [0.0, 0.3])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["marginal", "unweighted"]
    assert [text.get_text() for text in ax.texts] == ["mean 0.00", "mean 0.30"]


def test_binned_violins_are_the_merged_histogram():
    risk = records()
    ax = rw.plot_risk_violins(risk, ["marginal"], minimum_count=10)
    histogram = merged_histogram(risk["marginal"], limits=(0, 1))
    np.testing.assert_allclose([bar.get_y() for bar in ax.patches], histogram.drawn_edges[:-1])
    ends, values = histogram.drawn_edges, np.sort(risk["marginal"])
    assert ends[0] <= values[9] < ends[1]  # the ninth could lie anywhere
    assert ends[-2] <= values[-10] < ends[-1] < 1
    areas = np.array([bar.get_width() * bar.get_height() for bar in ax.patches])
    np.testing.assert_allclose(areas / areas.sum(), histogram.counts / len(risk))


def test_whack_a_mole_enlarges_records_from_the_increase_on():
    table = pd.DataFrame({"unweighted": [0.0, 0.25, 0.5, 0.5], "marginal": [0.25, 0.25, 0.0, 0.9]})
    ax = rw.plot_whack_a_mole(table, "marginal")
    rest, flagged = ax.collections
    np.testing.assert_array_equal(flagged.get_offsets(), [[0, 0.25], [0.5, 0.9]])
    np.testing.assert_array_equal(rest.get_offsets(), [[0.25, 0.25], [0.5, 0]])
    assert flagged.get_sizes()[0] > rest.get_sizes()[0]
    entries = [
        "rose by less, or fell: 2",
        "risk rose by 0.25 or more: 2",
        "y = x",
        "rise of 0.25",
        "threshold 0.5",
    ]
    assert legend_of(ax) == entries


def test_binned_whack_a_mole_shows_no_point_and_states_what_is_hidden():
    ax = rw.plot_whack_a_mole(records(), "marginal", minimum_count=4)
    (mesh,) = ax.collections
    shown = mesh.get_array().compressed()
    assert shown.min() >= 4
    hidden = 300 - shown.sum()
    assert hidden >= 4
    assert f"{hidden} of 300 records" in " ".join(ax.get_title(loc="left").split())


@pytest.mark.parametrize("figure", [rw.plot_density, rw.plot_ecdf])
def test_binned_distributions_do_not_depend_on_extremes(figure):
    confidential, synthetic = frames()
    moved = confidential.copy()
    order = np.argsort(moved["income"].to_numpy())
    moved.loc[order[-9:], "income"] *= 1000
    moved.loc[order[:9], "income"] = -5.0
    assert image(figure(confidential, synthetic, "income", minimum_count=10)) == image(
        figure(moved, synthetic, "income", minimum_count=10)
    )
    assert image(figure(confidential, synthetic, "income")) != image(
        figure(moved, synthetic, "income")
    )


def test_density_and_ecdf_curves():
    confidential = pd.DataFrame({"y": np.arange(100.0)})
    synthetic = {"marginal": [confidential, confidential + 10]}
    ecdf = rw.plot_ecdf(confidential, synthetic, "y").lines
    np.testing.assert_allclose(np.interp(49.5, *ecdf[0].get_data()), 0.5, atol=0.01)
    np.testing.assert_allclose(np.interp(49.5, *ecdf[1].get_data()), 0.45, atol=0.01)
    x, density = rw.plot_density(confidential, synthetic, "y").lines[0].get_data()
    np.testing.assert_allclose(np.trapezoid(density, x), 1.0, atol=0.03)
    binned = rw.plot_density(confidential, synthetic, "y", minimum_count=10)
    assert binned.get_ylabel() == "share of records per 5 units"


def test_intervals_stand_where_the_table_says():
    ax = rw.plot_intervals(utility(), MEASURE)
    points = {
        line.get_xdata()[0]: line.get_ydata()[0]
        for line in ax.lines
        if len(line.get_xdata()) == 1 and line.get_marker() != "_"
    }
    assert points == {0: 11, 1: 12, 2: 13, 3: 14}
    bars = [collection.get_segments()[0] for collection in ax.collections]
    np.testing.assert_array_equal(bars[0], [[0, 10], [0, 13]])
    assert legend_of(ax) == ["confidential estimate", "confidential interval"]
    assert "a rule" in ax.get_title(loc="left")


def test_pareto_front():
    assert pareto_front(np.array([1.0, 2, 3, 2, 1]), np.array([3.0, 2, 1, 3, 3])).tolist() == [
        True,
        True,
        True,
        False,
        True,
    ]
    ax = rw.plot_risk_utility(summary(), "mean risk", "U_m of income")
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[0.2, 0.05], [0.3, 0.01]])
    assert legend_of(ax) == ["Pareto front", *SCHEMES]
    from_file = summary().reset_index()
    ax = rw.plot_risk_utility(from_file, "mean risk", "U_m of income", better="higher")
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[0.2, 0.05], [0.25, 0.06]])


def test_disclosure_is_the_risk_of_a_map_where_it_was_measured():
    ax = rw.plot_risk_utility(disclosed(), None, "U_m of income", error="se")
    assert ax.get_xlabel() == "disclosure beyond inference (lower is better)"
    # without what is not judged
    np.testing.assert_array_equal(
        ax.lines[0].get_xydata(), [[-0.002, 0.06], [0.001, 0.05], [0.003, 0.01]]
    )
    assert legend_of(ax) == ["Pareto front", *SCHEMES[:3], "top-coding (not judged)"]
    assert "not judged" in [text.get_text() for text in ax.texts]
    hollow = next(
        points for points in ax.collections if points.get_label() == "top-coding (not judged)"
    )
    ((x, y),) = hollow.get_offsets()
    assert (x > 0.003, y) == (True, 0.02)
    np.testing.assert_array_equal(hollow.get_facecolor()[0], [1, 1, 1, 1])
    bars = next(lines for lines in ax.collections if hasattr(lines, "get_segments"))
    np.testing.assert_allclose(bars.get_segments()[0], [[-0.001, 0.01], [0.007, 0.01]])
    unmeasured = disclosed().assign(**{"disclosure beyond inference": np.nan})
    assert (
        rw.plot_risk_utility(unmeasured, None, "U_m of income").get_xlabel()
        == "mean risk (lower is better)"
    )
    with pytest.raises(
        InputError,
        match=r"none of 'information of an isolated record', 'disclosure beyond inference', .*: "
        r"name the risk",
    ):
        rw.plot_risk_utility(unmeasured.drop(columns="mean risk"), None, "U_m of income")


def test_information_is_the_risk_of_a_map_of_fits_and_another_can_be_named():
    told = disclosed().assign(
        **{"information of an isolated record": [np.nan, 0.02, 0.0003, 0.004, np.nan]}
    )
    ax = rw.plot_risk_utility(told, None, "U_m of income")
    assert ax.get_xlabel() == "information of an isolated record (lower is better)"
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[0.0003, 0.05], [0.02, 0.01]])
    # which is no pass
    assert legend_of(ax) == ["Pareto front", *SCHEMES[:3], "top-coding (no fit)"]
    named = rw.plot_risk_utility(told, "disclosure beyond inference", "U_m of income")
    assert "top-coding (not judged)" in legend_of(named)


def test_sweep_bands():
    ax = rw.plot_sweep(sweep(), "radius", "mean risk")
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[0.1, 3.1], [0.2, 3.2]])
    spread = 2 * np.std([1, 2, 6], ddof=1)
    heights = ax.collections[0].get_paths()[0].vertices[:, 1]
    np.testing.assert_allclose([heights.min(), heights.max()], [3.1 - spread, 3.2 + spread])
    assert "3 repetitions; bands: mean - 2 sd to mean + 2 sd" in " ".join(
        ax.get_title(loc="left").split()
    )
    ax = rw.plot_sweep(sweep(), "radius", "mean risk", quantiles=(0, 0.5))
    heights = ax.collections[0].get_paths()[0].vertices[:, 1]
    np.testing.assert_allclose([heights.min(), heights.max()], [1.1, 2.2])
    one = rw.plot_sweep(sweep().query("repetition == 0"), "radius", "mean risk")
    assert one.get_title(loc="left") == "One repetition each: no Monte Carlo band."
    table = sweep().query("repetition == 0").assign(error=0.5)
    ax = rw.plot_sweep(table, "radius", "mean risk")
    heights = ax.collections[0].get_paths()[0].vertices[:, 1]
    low, high = np.sort(ax.lines[0].get_ydata())[[0, -1]]
    np.testing.assert_allclose([heights.min(), heights.max()], [low - 1, high + 1])


def test_rank_histogram_by_hand():
    # Chain 0 holds ranks 1 to 4 of 8, chain 1 the others: each has twice its share in its half,
    # nothing in the other.
    np.testing.assert_array_equal(
        rank_histogram(np.array([[1.0, 2, 3, 4], [5, 6, 7, 8]]), 2), [[2, 0], [0, 2]]
    )
    np.testing.assert_array_equal(rank_histogram(np.zeros((2, 3)), 3), [[0, 3, 0], [0, 3, 0]])


def test_convergence_card_names_what_failed_first():
    draws, diagnostics = posterior()
    ax = rw.plot_convergence(draws, diagnostics)
    assert ax.get_yticklabels()[0].get_text() == "slope[1]"
    verdicts = [label.get_text() for label in ax.child_axes[0].get_yticklabels()]
    assert verdicts[0].startswith("FAILED: R-hat")
    assert verdicts[1].startswith("passed: R-hat 1.0")
    assert legend_of(ax) == ["chain 0", "chain 1", "chain 2", "chain 3"]
    ax = rw.plot_convergence(draws, diagnostics, most=1)
    assert len(ax.get_yticklabels()) == 1
    assert "The 1 of 3 quantities" in ax.get_title(loc="left")


def test_convergence_card_of_draws_without_chains_shows_k_hat():
    draws, _ = posterior()
    values = draws["slope"].values
    quantities = {
        "slope[0]": values[..., 0],
        "slope[1]": values[..., 1],
        "mean": draws["mean"].values,
    }
    few = np.arange(800) // 2 * 2
    ax = rw.plot_convergence(draws, diagnose_direct(quantities, few, 0.256), most=2)
    verdicts = [label.get_text() for label in ax.child_axes[0].get_yticklabels()]
    assert all(verdict.startswith("passed: k-hat 0.26\nESS bulk ") for verdict in verdicts)
    assert "The 2 of 3 quantities of least bulk ESS." in ax.get_title(loc="left")
    assert "800 draws by importance, in 4 parts;" in ax.get_title(loc="left")


def test_convergence_card_of_a_fit_computes_the_log_pseudo_likelihood():
    class Synthesizer:
        target = "y"

        def distribution(self, theta, prepared):
            return Asked(self, theta, prepared)

        def log_density(self, theta, prepared, y):
            return np.array([theta["mean"], 100.0])

    draws, _ = posterior()
    diagnostics = diagnose({"log_pseudo_likelihood": 0.5 * draws["mean"].values}, 0)
    data = pd.DataFrame({"y": [1.0, 2.0]})
    fitted = Fit.of(BlockFit(Synthesizer(), pd.Series([0.5, 0.0]), draws, diagnostics, data, None))
    ax = rw.plot_convergence(fitted)
    np.testing.assert_allclose(
        ax.patches[1].get_data().values, 0.92 - 0.42 * rank_histogram(draws["mean"].values)[0]
    )
    table = diagnostics.reset_index()
    assert "draws not stored" in [
        text.get_text() for text in rw.plot_convergence(draws, table).texts
    ]


def test_rates_and_what_is_withheld():
    ax = rw.plot_reidentification(rates())
    assert [text.get_text() for text in ax.texts][:4] == [
        "20 % (40 of 200)",
        "30 % (30 of 100)",
        "60 % (60 of 100)",
        "0 % (0 of 90)",
    ]
    assert ax.texts[-1].get_text() == "none suspected"
    ax = rw.plot_reidentification(rates(), minimum_count=10)
    texts = [text.get_text() for text in ax.texts]
    assert texts[4:8] == ["withheld", "withheld", "50 % (50 of 100)", "0 % (0 of 90)"]
    assert texts[8:] == ["withheld", "withheld", "83.3 % (50 of 60)", "none suspected"]
    assert ax.patches[4].get_width() == 0
    assert ax.get_title(loc="left").startswith("Metric: unicity. 4 rates are withheld")


def test_a_scheme_looks_the_same_everywhere_and_unlike_the_others():
    assert (
        scheme_styles(["pairwise"])["pairwise"] == scheme_styles(["a", "b", "pairwise"])["pairwise"]
    )
    styles = scheme_styles(["confidential", *SCHEMES, "3-way", "4-way", *range(20)])
    assert len({(style.colour, style.marker) for style in styles.values()}) == len(styles)
    assert len({str(style) for style in styles.values()}) == len(styles)


def test_names_are_text():
    names = short_names([*ODD, "x" * 150 + "!" + "y" * 150])
    assert [len(name) <= 28 for name in names.values()] == [True] * 5
    assert len(set(names.values())) == 5
    assert names[ODD[0]].count("…") == 1
    assert printable("a\nb $x$ 漢") == r"a b \$x\$ " + "\N{WHITE SQUARE}"


CONFIDENTIAL, SYNTHETIC = frames()
BAD = pd.Series([0.5, np.nan])


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (
            lambda: rw.plot_risk_violins(records(), ["nobody"]),
            "no column 'nobody'; it has 'confidential', 'unweighted'",
        ),
        (lambda: rw.plot_risk_violins(records(), []), "at least one of"),
        (lambda: rw.plot_risk_violins(records(), "marginal"), "labels must be a list"),
        (lambda: rw.plot_risk_violins(records().iloc[:0]), "records has no records"),
        (lambda: rw.plot_risk_violins(pd.DataFrame({"a": BAD})), "1 of 2 are missing or infinite"),
        (lambda: rw.plot_risk_violins(pd.DataFrame({"a": ["x"]})), "risk of 'a' must be numbers"),
        (lambda: rw.plot_risk_violins(2 * records()), "must lie in [0, 1]"),
        (lambda: rw.plot_whack_a_mole(records(), "nobody"), "no column 'nobody'"),
        (lambda: rw.plot_whack_a_mole(records(), "marginal", baseline="marginal"), "each once"),
        (
            lambda: rw.plot_whack_a_mole(records(), "marginal", increase=2),
            "increase must lie between 0 and 1",
        ),
        (lambda: rw.plot_whack_a_mole(records(), "marginal", minimum_count=0), "minimum_count"),
        (lambda: rw.plot_intervals(utility().drop(columns="upper"), MEASURE), "no column 'upper'"),
        (
            lambda: rw.plot_intervals(utility(), "U_m"),
            "no intervals of the measure 'U_m'; valid are 'mean'",
        ),
        (
            lambda: rw.plot_intervals(utility(), MEASURE, variable="x"),
            "not given for 'x'; valid are 'income'",
        ),
        (
            lambda: rw.plot_intervals(
                pd.concat([utility(), utility().assign(variable="b")]), MEASURE
            ),
            "set variable to one of",
        ),
        (lambda: rw.plot_intervals(pd.concat([utility(), utility()]), MEASURE), "more than once"),
        (
            lambda: rw.plot_intervals(utility().query("label != 'confidential'"), MEASURE),
            "compared with that of 'confidential'",
        ),
        (lambda: rw.plot_intervals(utility().replace(12.0, np.inf), MEASURE), "must be finite"),
        (
            lambda: rw.plot_density(CONFIDENTIAL, SYNTHETIC, "x"),
            "confidential data has no column 'x'",
        ),
        (lambda: rw.plot_density(CONFIDENTIAL, {}, "income"), "at least one label"),
        (
            lambda: rw.plot_density(CONFIDENTIAL, {"confidential": CONFIDENTIAL}, "income"),
            "is taken",
        ),
        (
            lambda: rw.plot_density(CONFIDENTIAL, {"a": 0 * CONFIDENTIAL}, "income"),
            "constant in a dataset of 'a'",
        ),
        (
            lambda: rw.plot_ecdf(CONFIDENTIAL, {"a": CONFIDENTIAL / 0}, "income"),
            "400 of 400 are missing or infinite",
        ),
        (lambda: rw.plot_weights([1.0], weights()), "must be a pandas Series"),
        (lambda: rw.plot_weights(CONFIDENTIAL["income"], {}), "at least one scheme"),
        (
            lambda: rw.plot_weights(CONFIDENTIAL["income"], 2 * weights()),
            "weights 'unweighted' must lie in [0, 1]",
        ),
        (lambda: rw.plot_weights(CONFIDENTIAL["income"], weights(5)), "got 5 for 400 records"),
        (
            lambda: rw.plot_risk_utility(summary(), "x", "other"),
            "no column 'x'; it has 'mean risk'",
        ),
        (
            lambda: rw.plot_risk_utility(summary(), "mean risk", "other"),
            "set better to 'lower' or 'higher'",
        ),
        (
            lambda: rw.plot_risk_utility(summary().iloc[:1], "mean risk", "U_m of income"),
            "choose other measures",
        ),
        (
            lambda: rw.plot_risk_utility(
                pd.concat([summary(), summary()]), "mean risk", "U_m of income"
            ),
            "more than once",
        ),
        (lambda: rw.plot_sweep(sweep(), "r", "mean risk"), "no column 'r'"),
        (lambda: rw.plot_sweep(sweep(), "radius", "x"), "no measure 'x'; valid are 'mean risk'"),
        (lambda: rw.plot_sweep(sweep(), "radius", "mean risk", quantiles=(1, 0)), "low < high"),
        (
            lambda: rw.plot_sweep(pd.concat([sweep(), sweep()]), "radius", "mean risk"),
            "18 rows of 'mean risk' repeat",
        ),
        (
            lambda: rw.plot_sweep(sweep().replace(1.1, np.nan), "radius", "mean risk"),
            "3 of 18 are missing",
        ),
        (lambda: rw.plot_convergence(posterior()[0]), "needs its diagnostics"),
        (
            lambda: rw.plot_convergence(pd.DataFrame()),
            "expected a Fit or an xarray Dataset, got DataFrame",
        ),
        (
            lambda: rw.plot_convergence(posterior()[0], posterior()[1].drop(columns="r_hat")),
            "no column 'r_hat'",
        ),
        (
            lambda: rw.plot_convergence(posterior()[0], posterior()[1].iloc[:0]),
            "diagnostics has no records",
        ),
        (
            lambda: rw.plot_convergence(posterior()[0], posterior()[1].rename(index={"mean": "x"})),
            "no quantity 'x'",
        ),
        (
            lambda: rw.plot_convergence(
                posterior()[0], posterior()[1].rename(index={"slope[1]": "slope[2]"})
            ),
            "no quantity 'slope[2]'",
        ),
        (
            lambda: rw.plot_convergence(posterior()[0], pd.concat([posterior()[1]] * 2)),
            "rows of one label",
        ),
        (
            lambda: rw.plot_convergence(posterior()[0].isel(chain=0), posterior()[1]),
            "dimensions 'chain' and 'draw'",
        ),
        (
            lambda: rw.plot_reidentification(rates().drop(columns="confirmed")),
            "no column 'confirmed'",
        ),
        (lambda: rw.plot_reidentification(rates(), "x"), "no metric 'x'; valid are 'unicity'"),
        (
            lambda: rw.plot_reidentification(pd.concat([rates(), rates().assign(metric="b")])),
            "set metric to one of 'unicity', 'b'",
        ),
        (
            lambda: rw.plot_reidentification(pd.concat([rates(), rates()])),
            "occurs more than once",
        ),
        (
            lambda: rw.plot_reidentification(rates().assign(suspected_rate=2.0)),
            "suspected_rate must lie in [0, 1]",
        ),
        (
            lambda: rw.plot_reidentification(rates().assign(conditional_rate=np.nan)),
            "conditional_rate must be finite: 3 of 4",
        ),
    ],
)
def test_bad_input_is_named(call, named):
    with pytest.raises(InputError) as error:
        call()
    assert named in str(error.value)
    assert "\n" not in str(error.value)


def test_a_confidential_quantile_that_is_shown_coarsely_is_the_interval_it_was_rounded_from():
    """1, 2, ..., 2,000, of which the last hundred are 142,503: to one digit 100,000, which would
    read as a misfit beside the exact ones.
    """
    values = np.append(np.arange(1.0, 1901.0), np.linspace(96_000, 142_503, 100))
    shown = shown_quantiles(values, 10)
    assert all(low <= np.quantile(values, q) <= high for q, (low, high) in shown.items())
    assert all(((low <= values) & (values <= high)).sum() >= 10 for low, high in shown.values())
    assert max(high - low for low, high in shown.values()) >= 10_000
    data = pd.DataFrame({"income": values})
    ax = rw.plot_quantiles(data, {"same": data}, "income", minimum_count=10)
    line = next(line for line in ax.get_lines() if line.get_label() == "same")
    bars = [path for collection in ax.collections for path in collection.get_segments()]
    for y, bar in zip(line.get_ydata(), bars, strict=True):
        assert bar[0][0] <= y <= bar[1][0], (
            "a dataset that is the data itself must not look like a misfit"
        )


@pytest.mark.quick
@pytest.mark.parametrize(
    ("value", "digits", "ends"),
    [
        (142_503, 1, (95_000, 150_000)),
        (0.0234, 2, (0.0225, 0.0235)),
        (-99.6, 1, (-150, -95)),
        (0, 1, (0, 0)),
        (1000, 3, (999.5, 1005)),
    ],
)
def test_what_a_number_is_rounded_from(value, digits, ends):
    assert rounded_from(value, digits) == ends
    inside = np.linspace(*ends, 9)[1:-1] if value else [0.0]
    assert len({f"{each:.{digits - 1}e}" for each in [value, *inside]}) == 1


def test_the_legend_of_a_map_says_the_word_of_each_label_that_was_judged():
    words = {"unweighted": "refuse"}
    ax = rw.plot_risk_utility(summary(), "mean risk", "U_m of income", verdicts=words)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "unweighted: refuse" in texts
    assert sum(": " in text for text in texts) == 1
    assert "no disclosure beyond inference" in " ".join(ax.get_title(loc="left").split())


def test_the_name_of_a_measure_is_whole_and_a_logarithmic_axis_has_plain_numbers():
    assert (
        title("largest distance of distribution functions of wage")
        == "largest distance of distribution functions of wage"
    )
    assert len(title("x" * 50)) < 50
    ax = Figure().subplots()
    ax.set_xscale("log")
    ax.set_xlim(8, 4000)
    mark_powers(ax.xaxis, 8, 4000)
    ax.figure.canvas.draw()
    assert shown_ticks(ax, 8, 4000) == ["10", "100", "1,000"]
    mark_powers(ax.xaxis, 10, 40)
    ax.set_xlim(10, 40)
    ax.figure.canvas.draw()
    assert shown_ticks(ax, 10, 40) == ["10", "20", "30", "40"]


def shown_ticks(ax, low, high):
    """Names of the marks inside an axis: how many lie beyond its ends differs between versions of
    Matplotlib.
    """
    return [
        text.get_text() for text in ax.get_xticklabels() if low <= text.get_position()[0] <= high
    ]
