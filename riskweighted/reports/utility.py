"""What the synthetic data is still good for: intervals, distributions, and whom the weights protect."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from riskweighted.common.errors import InputError
from riskweighted.common.text import plain
from riskweighted.evaluation.measures import OF_SEVERAL
from riskweighted.evaluation.tables import CONFIDENTIAL, Statistic, by_label, distinct, rows_of, statistics_of
from riskweighted.plots.binning import Histogram, binned_means, merged_histogram, shares_in_bins
from riskweighted.plots.levels import level_shares, merged_levels, plot_levels
from riskweighted.plots.utility import plot_density, plot_ecdf, plot_intervals
from riskweighted.plots.weights import plot_weights
from riskweighted.reports.blocks import DataTable, Figure, Section, Term, make_table, picture
from riskweighted.reports.disclosure import number, withheld_note
from riskweighted.reports.source import Source

__all__ = ["utility_section"]

_Shares = tuple[Histogram, dict[str, np.ndarray]]
_COEFFICIENTS = ("regression-coefficient", "survey-regression-coefficient")
_OVERLAPS = ("regression-overlap", "survey-regression-overlap")
_OF_REGRESSIONS = (*_COEFFICIENTS, *_OVERLAPS)
_MEAN_COLUMNS = ["Regression", "Label", "Mean overlap"]
_MEASURE_TERMS = {"Estimate": "estimate", "Lower": "interval", "Upper": "interval", "Overlap": "overlap"}


def utility_section(source: Source) -> Section:
    table = source.run.tables["utility"]
    estimated = [one for one in distinct(table[table["lower"].notna()]) if one.key not in _OF_REGRESSIONS]
    blocks: list[DataTable | Figure] = [_distances(source), *_regressions(source)]
    blocks += [_intervals(source, place, statistic) for place, statistic in enumerate(estimated, 1)]
    if source.run.study.scenario.is_numeric(source.confidential[source.target]):
        shares = _shares(source)
        blocks += [_density(source, shares), _ecdf(source, shares), _weights(source)]
    else:
        blocks.append(_levels(source))
    text = "How near the synthetic data comes to what the confidential data would have told."
    return Section("utility", "Utility", (text,), tuple(blocks))


def _distances(source: Source) -> DataTable:
    """Measures without interval, a row per variable, measure and label."""
    table = source.run.tables["utility"]
    rows = table[table["lower"].isna() & ~table["key"].isin((*_OF_REGRESSIONS, *OF_SEVERAL))]
    found = list(zip(statistics_of(rows), rows["label"], rows["value"], strict=True))
    cells = [(one.variable, one.label, label, source.view.show(one, value)) for one, label, value in found]
    terms = tuple(source.glossary.utility(one) for one, _, _ in found)
    shown = make_table("distances", "Distance of distributions", pd.DataFrame(cells, columns=["Variable", "Measure", "Label", "Distance"]))
    return DataTable(shown.key, shown.caption, shown.columns, shown.rows, terms, withheld_note(source.withheld.get("utility", 0)))


def _regressions(source: Source) -> list[DataTable]:
    """The mean overlap of each regression, then all their coefficients with intervals; nothing without a list of regressions."""
    view, table, shown = source.view, source.run.tables["utility"], []
    means = table[table["key"].isin(_OVERLAPS)]
    if len(means):
        found = list(zip(statistics_of(means), means["label"], means["value"], strict=True))
        cells = pd.DataFrame([(one.label, label, view.show(one, value)) for one, label, value in found], columns=_MEAN_COLUMNS)
        shown.append(make_table("regressions", "Regressions: mean overlap of the intervals of their coefficients", cells))
    rows = table[table["key"].isin(_COEFFICIENTS)]
    if len(rows):
        columns = {"Coefficient": [one.label for one in statistics_of(rows)], "Label": rows["label"].tolist()}
        for heading, name in (("Estimate", "value"), ("Lower", "lower"), ("Upper", "upper")):
            columns[heading] = [view.show(one, value) for one, value in zip(statistics_of(rows), rows[name], strict=True)]
        cells = pd.DataFrame({**columns, "Overlap": [view.overlap(value) for value in rows["overlap"]], "Rule": rows["rule"].tolist()})
        terms = source.glossary.columns(cells, _MEASURE_TERMS)
        shown.append(make_table("coefficients", "Regressions: coefficients", cells, terms))
    return shown


def _intervals(source: Source, place: int, statistic: Statistic) -> Figure:
    view, utility = source.view, source.run.tables["utility"]
    rows = rows_of(utility, statistic)
    ends = {"Estimate": "value", "Lower": "lower", "Upper": "upper"}
    estimates = {heading: [view.show(statistic, value) for value in rows[name]] for heading, name in ends.items()}
    cells = pd.DataFrame(
        {"Label": rows["label"], **estimates, "Overlap": [view.overlap(value) for value in rows["overlap"]], "Rule": rows["rule"]}
    )
    key, name = f"interval-{place}", plain(statistic.name)
    terms = source.glossary.columns(cells, _MEASURE_TERMS)
    table = make_table(f"{key}-table", f"Intervals: {name}", cells, terms, _weighted_note(source, statistic))
    listed = "; ".join(f"{row['Label']} {row['Estimate']} ({row['Lower']} to {row['Upper']})" for _, row in cells.iterrows())
    alternative = f"Estimate and interval of {name} for each label, over a band for the confidential interval: {listed}."
    coarse = view.utility(utility)

    def draw() -> Axes:
        if statistic not in distinct(coarse):
            raise InputError(f"fewer than {view.minimum_count} confidential records share the first digit of {name} or of its interval")
        return plot_intervals(rows_of(coarse, statistic), statistic.label)

    return _figure(key, f"Intervals: {name}", draw, alternative, (table,), source, (source.glossary.utility(statistic),))


def _weighted_note(source: Source, statistic: Statistic) -> str:
    """What the weights do to the interval, for the schemes that have any below 1."""
    below = [str(scheme) for scheme, alpha in source.weights.items() if (alpha < 1).any()]
    sentence = statistic.measure.weighted
    return f"{', '.join(below)}: {sentence[:1].lower()}{sentence[1:]}" if below and sentence else ""


def _figure(
    key: str,
    title: str,
    draw: Callable[[], Axes],
    alternative: str,
    tables: tuple[DataTable, ...],
    source: Source,
    terms: tuple[Term, ...] = (),
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
    terms = source.glossary.columns(cells, {"Records": "bin-records", **dict.fromkeys(shares, "bin-share")})
    what = "below the upper edge" if cumulative else "in the bin"
    return (make_table(f"{key}-table", f"Share of records {what}, {source.target}", cells, terms),)


def _means(source: Source) -> str:
    """Mean of the sensitive variable by label, in words."""
    return _listed(source, Statistic("mean", source.target))


def _listed(source: Source, statistic: Statistic) -> str:
    """A statistic by label, in words."""
    values = by_label(source.run.tables["utility"], statistic)
    return ", ".join(f"{label} {source.view.show(statistic, value)}" for label, value in values.items())


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

    gaps = _listed(source, Statistic("ecdf-maximum", source.target))
    alternative = f"Empirical distribution functions of {source.target}, confidential and synthetic. Largest differences: {gaps}."
    return _figure(
        "ecdf", f"Distribution function of {source.target}", draw, alternative, _share_tables(source, "ecdf", shares, True), source
    )


def _levels(source: Source) -> Figure:
    """Shares of the levels of a categorical variable, and the mean weight of their records."""
    values, schemes, m = source.confidential[source.target], source.run.synthetic, source.view.binned

    def draw() -> Axes:
        return plot_levels(source.confidential, schemes, source.target, minimum_count=m)

    tables: tuple[DataTable, ...] = ()
    try:
        names = merged_levels(values, m or 1)
    except InputError:
        names = {}
    if names:
        own = values.astype(object).map(names)
        shown = list(dict.fromkeys(names.values()))
        shares = {CONFIDENTIAL: level_shares(values, names)}
        shares |= {
            label: np.mean([level_shares(frame[source.target], names) for frame in frames], axis=0) for label, frames in schemes.items()
        }
        counts = {"Level": [plain(name) for name in shown], "Records": [str(int((own == name).sum())) for name in shown]}
        cells = pd.DataFrame({**counts, **{label: [f"{share:.4f}" for share in found] for label, found in shares.items()}})
        weights = {label: [f"{alpha[own == name].mean():.2f}" for name in shown] for label, alpha in source.weights.items()}
        mean_weights = pd.DataFrame({**counts, **weights})
        terms = source.glossary.columns(mean_weights, dict.fromkeys(weights, "weight"))
        tables = (
            make_table("levels-table", f"Share of records by level, {source.target}", cells),
            make_table("level-weights-table", f"Mean weight by level, {source.target}", mean_weights, terms),
        )
    alternative = f"Shares of the levels of {source.target}: a bar for the confidential data, a marker for each label."
    return _figure("levels", f"Levels of {source.target}", draw, alternative, tables, source)


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
        terms = source.glossary.columns(cells, {"Records": "bin-records", **dict.fromkeys(means, "weight")})
        tables = (make_table("weights-table", f"Mean weight by {source.target}", cells, terms),)
    listed = ", ".join(f"{scheme} {alpha.mean():.2f}" for scheme, alpha in weights.items())
    alternative = f"Weight of the likelihood against {source.target}, by scheme; a lower weight protects more. Mean weights: {listed}."
    weight = (source.glossary.fixed("weight"),)
    return _figure("weights", f"Weights against {source.target}", draw, alternative, tables, source, weight)
