"""What the synthetic data is still good for: intervals, distributions, and whom the weights protect."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from riskweighted.common.errors import InputError
from riskweighted.common.text import plain
from riskweighted.evaluation.labels import CONFIDENTIAL
from riskweighted.plots.binning import Histogram, binned_means, merged_histogram, shares_in_bins
from riskweighted.plots.utility import plot_density, plot_ecdf, plot_intervals
from riskweighted.plots.weights import plot_weights
from riskweighted.reports.blocks import DataTable, Figure, Section, make_table, picture
from riskweighted.reports.disclosure import number
from riskweighted.reports.source import Source

__all__ = ["utility_section"]

_Shares = tuple[Histogram, dict[str, np.ndarray]]
_MEASURE_TERMS = {"Estimate": "estimate", "Lower": "interval", "Upper": "interval", "Overlap": "overlap"}


def utility_section(source: Source) -> Section:
    table = source.run.tables["utility"]
    keys = table.loc[table["lower"].notna(), ["variable", "measure"]].drop_duplicates()
    blocks: list[DataTable | Figure] = [_distances(source)]
    blocks += [_intervals(source, place, *key) for place, key in enumerate(keys.itertuples(index=False, name=None), 1)]
    shares = _shares(source)
    blocks += [_density(source, shares), _ecdf(source, shares), _weights(source)]
    text = "How near the synthetic data comes to what the confidential data would have told."
    return Section("utility", "Utility", (text,), tuple(blocks))


def _distances(source: Source) -> DataTable:
    """Measures without interval, a row per variable, measure and label."""
    table = source.run.tables["utility"]
    rows = table[table["lower"].isna()]
    cells = [(v, m, label, source.view.estimate(v, m, x)) for v, m, label, x in _columns(rows, "variable", "measure", "label", "estimate")]
    terms = tuple(source.glossary.utility(v, m) for v, m, _, _ in cells)
    shown = make_table("distances", "Distance of distributions", pd.DataFrame(cells, columns=["Variable", "Measure", "Label", "Distance"]))
    return DataTable(shown.key, shown.caption, shown.columns, shown.rows, terms)


def _columns(table: pd.DataFrame, *names: str) -> list[tuple]:
    return list(table[list(names)].itertuples(index=False, name=None))


def _intervals(source: Source, place: int, variable: str, measure: str) -> Figure:
    view, utility = source.view, source.run.tables["utility"]
    rows = utility[(utility["variable"] == variable) & (utility["measure"] == measure)]
    estimates = {
        name.capitalize(): [view.estimate(variable, measure, value) for value in rows[name]] for name in ("estimate", "lower", "upper")
    }
    cells = pd.DataFrame(
        {"Label": rows["label"], **estimates, "Overlap": [view.overlap(value) for value in rows["overlap"]], "Rule": rows["rule"]}
    )
    key, name = f"interval-{place}", plain(f"{measure} of {variable}")
    table = make_table(f"{key}-table", f"Intervals: {name}", cells, source.glossary.columns(cells, _MEASURE_TERMS))
    listed = "; ".join(f"{row['Label']} {row['Estimate']} ({row['Lower']} to {row['Upper']})" for _, row in cells.iterrows())
    alternative = f"Estimate and interval of {name} for each label, over a band for the confidential interval: {listed}."
    coarse = view.utility(utility)

    def draw() -> Axes:
        if measure not in set(coarse.loc[coarse["variable"] == variable, "measure"]):
            raise InputError(f"fewer than {view.minimum_count} confidential records share the first digit of {name} or of its interval")
        return plot_intervals(coarse, measure, variable=variable)

    return _figure(key, f"Intervals: {name}", draw, alternative, (table,), source, (source.glossary.utility(variable, measure),))


def _figure(
    key: str, title: str, draw: Callable[[], Axes], alternative: str, tables: tuple[DataTable, ...], source: Source, terms: tuple = ()
) -> Figure:
    """A figure, or in words why there is none."""
    try:
        image = picture(draw())
    except InputError as error:
        image, alternative = "", f"No figure: {error}."
    return Figure(key, plain(title), image, plain(alternative), tables, terms)


def _histogram(source: Source) -> Histogram | None:
    """Bins of the sensitive variable; none where too few records differ."""
    try:
        return merged_histogram(source.confidential[source.target], source.view.binned or 1)
    except InputError:
        return None


def _bounds(histogram: Histogram) -> dict[str, list[str]]:
    edges = ["open" if np.isinf(edge) else number(edge) for edge in histogram.edges]
    return {"From": edges[:-1], "Below": edges[1:]}


def _shares(source: Source) -> _Shares | None:
    """Share of records by bin in the confidential data and each scheme; none where there are no bins."""
    histogram = _histogram(source)
    if histogram is None:
        return None
    shares = {CONFIDENTIAL: histogram.counts / histogram.counts.sum()}
    for scheme, frames in source.run.synthetic.items():
        shares[scheme] = np.mean([shares_in_bins(frame[source.target], histogram) for frame in frames], axis=0)
    return histogram, shares


def _share_tables(source: Source, key: str, found: _Shares | None, cumulative: bool) -> tuple[DataTable, ...]:
    """Shares by bin, or up to the upper edge of each."""
    if found is None:
        return ()
    histogram, shares = found
    columns = {name: [f"{share:.4f}" for share in (np.cumsum(values) if cumulative else values)] for name, values in shares.items()}
    cells = pd.DataFrame({**_bounds(histogram), "Records": [str(count) for count in histogram.counts], **columns})
    terms = source.glossary.columns(cells, {"Records": "records in a bin", **dict.fromkeys(shares, "share of records")})
    what = "below the upper edge" if cumulative else "in the bin"
    return (make_table(f"{key}-table", f"Share of records {what}, {source.target}", cells, terms),)


def _means(source: Source) -> str:
    """Mean of the sensitive variable by label, in words."""
    table = source.run.tables["utility"]
    rows = table[(table["variable"] == source.target) & (table["measure"] == "mean")]
    return ", ".join(
        f"{label} {source.view.estimate(source.target, 'mean', value)}" for label, value in _columns(rows, "label", "estimate")
    )


def _density(source: Source, shares: _Shares | None) -> Figure:
    def draw() -> Axes:
        return plot_density(source.confidential, source.run.synthetic, source.target, minimum_count=source.view.binned)

    alternative = (
        f"Distribution of {source.target} in the confidential data and, laid over it, in the synthetic data. Means: {_means(source)}."
    )
    return _figure("density", f"Density of {source.target}", draw, alternative, _share_tables(source, "density", shares, False), source)


def _ecdf(source: Source, shares: _Shares | None) -> Figure:
    def draw() -> Axes:
        return plot_ecdf(source.confidential, source.run.synthetic, source.target, minimum_count=source.view.binned)

    table = source.run.tables["utility"]
    rows = table[(table["variable"] == source.target) & (table["measure"] == "U_m")]
    gaps = ", ".join(f"{label} {source.view.estimate(source.target, 'U_m', value)}" for label, value in _columns(rows, "label", "estimate"))
    alternative = f"Empirical distribution functions of {source.target}, confidential and synthetic. Largest differences: {gaps}."
    return _figure(
        "ecdf", f"Distribution function of {source.target}", draw, alternative, _share_tables(source, "ecdf", shares, True), source
    )


def _weights(source: Source) -> Figure:
    """Weights against the sensitive value: a point per record inside the agency, means by bin outside."""
    values, weights, m = source.confidential[source.target], source.weights, source.view.binned

    def draw() -> Axes:
        return plot_weights(values, weights, minimum_count=m)

    tables: tuple[DataTable, ...] = ()
    histogram = _histogram(source)
    if histogram is not None:
        means = {scheme: [f"{mean:.2f}" for mean in binned_means(values, alpha, m or 1).means] for scheme, alpha in weights.items()}
        cells = pd.DataFrame({**_bounds(histogram), "Records": [str(count) for count in histogram.counts], **means})
        terms = source.glossary.columns(cells, {"Records": "records in a bin", **dict.fromkeys(means, "weight")})
        tables = (make_table("weights-table", f"Mean weight by {source.target}", cells, terms),)
    listed = ", ".join(f"{scheme} {alpha.mean():.2f}" for scheme, alpha in weights.items())
    alternative = f"Weight of the likelihood against {source.target}, by scheme; a lower weight protects more. Mean weights: {listed}."
    weight = (source.glossary.fixed("weight"),)
    return _figure("weights", f"Weights against {source.target}", draw, alternative, tables, source, weight)
