"""How each synthesized variable is distributed: amounts, levels, what is neither, and the weights
of the records.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from riskweighted.common.errors import InputError
from riskweighted.common.numbers import SHARE, decimals_for_digits, exactly, format_column
from riskweighted.common.text import plain
from riskweighted.evaluation.fit_statistics import QUANTILES
from riskweighted.evaluation.measure_rows import CONFIDENTIAL, Statistic, by_label
from riskweighted.intruder.statuses import find_statuses, status_name
from riskweighted.measures.distributions import U_M
from riskweighted.measures.estimates import MEAN
from riskweighted.plots.binning import Histogram, binned_means, merged_histogram, shares_in_bins
from riskweighted.plots.level_plot import level_shares, merged_levels, named_levels, plot_levels
from riskweighted.plots.quantiles import plot_quantiles, shown_quantiles
from riskweighted.plots.utility_plots import plot_density, plot_ecdf
from riskweighted.plots.weight_plot import plot_weights
from riskweighted.reports.page_blocks import DataTable, Figure, Term, make_table
from riskweighted.reports.source import Source

__all__ = ["quantiles_figure", "try_figure", "variable_blocks"]


def variable_blocks(source: Source, number: int, variable: str) -> list[DataTable | Figure]:
    """The figures of one variable, the `number`-th."""
    shown = _Shown(source, number, variable)
    if not source.is_numeric(variable):
        return [shown.levels(source.confidential[variable], "levels", f"Levels of {variable}")]
    apart = (
        [
            shown.levels(
                shown.statuses, "statuses", f"Amounts, missing values and codes of {variable}"
            )
        ]
        if shown.has_statuses
        else []
    )
    return [*apart, shown.density(), shown.ecdf(), shown.weights()]


def quantiles_figure(source: Source, number: int, variable: str) -> Figure:
    """Synthetic against confidential quantiles of one variable, the `number`-th."""
    return _Shown(source, number, variable).quantiles()


def try_figure(
    key: str,
    title: str,
    draw: Callable[[], Axes],
    alternative: str,
    tables: tuple[DataTable, ...],
    terms: tuple[Term, ...] = (),
) -> Figure:
    """A figure, or in words why there is none."""
    try:
        axes: Axes | None = draw()
    except InputError as error:
        axes, alternative = None, f"No figure: {error}."
    return Figure(key, plain(title), axes, plain(alternative), tables, terms)


@dataclass(frozen=True)
class _Shown:
    """One variable of a report; its amounts are those records that neither miss the value nor hold
    a special code.
    """

    source: Source
    number: int
    variable: str

    def _key(self, name: str) -> str:
        """That of a block: of the first variable the name alone."""
        return name if self.number == 1 else f"{name}-{self.number}"

    def _statuses_in(self, frame: pd.DataFrame) -> pd.Series:
        column, codes = frame[self.variable], self.source.codes(self.variable)
        present, which = np.unique(find_statuses(column, codes).status, return_inverse=True)
        names = np.array([status_name(int(status), codes) for status in present], dtype=object)
        return pd.Series(names[which], column.index, dtype=object, name=column.name)

    @cached_property
    def statuses(self) -> pd.Series:
        """What each confidential value is, in words, (n,)."""
        return self._statuses_in(self.source.confidential)

    @property
    def has_statuses(self) -> bool:
        """Whether a value is no amount, in the confidential data or in a synthetic dataset."""
        frames = (frame for frames in self.source.run.synthetic.values() for frame in frames)
        columns = itertools.chain([self.source.confidential], frames)
        codes = self.source.codes(self.variable)
        return any(
            np.ptp(find_statuses(frame[self.variable], codes).status) > 0 for frame in columns
        )

    def _amounts_in(self, frame: pd.DataFrame) -> pd.DataFrame:
        amounts = find_statuses(frame[self.variable], self.source.codes(self.variable)).is_amount
        return frame[[self.variable]] if amounts.all() else frame[[self.variable]][amounts]

    @cached_property
    def amounts(self) -> pd.DataFrame:
        """The confidential amounts, a frame of one column."""
        return self._amounts_in(self.source.confidential)

    @cached_property
    def synthetic(self) -> dict[str, list[pd.DataFrame]]:
        """The amounts of every scheme's datasets."""
        return {
            scheme: [self._amounts_in(frame) for frame in frames]
            for scheme, frames in self.source.run.synthetic.items()
        }

    @property
    def coarse(self) -> bool:
        """Whether exact counts of the amounts would tell how many records, fewer than may be
        counted, have none.
        """
        view, others = self.source.view, len(self.source.confidential) - len(self.amounts)
        return not view.internal and 0 < others < view.minimum_count

    def _counts(self, counts: Sequence[int] | np.ndarray) -> list[str]:
        return [
            self.source.view.counted(count) if self.coarse else f"{int(count):,}"
            for count in counts
        ]

    @cached_property
    def histogram(self) -> Histogram | None:
        """Bins of the amounts; none where too few records differ."""
        try:
            return merged_histogram(self.amounts[self.variable], self.source.view.binned or 1)
        except InputError:
            return None

    def _bounds(self, histogram: Histogram) -> dict[str, list[str]]:
        edges = format_column(["open" if np.isinf(edge) else edge for edge in histogram.edges])
        return {"From": edges[:-1], "Below": edges[1:], "Records": self._counts(histogram.counts)}

    @cached_property
    def shares(self) -> dict[str, np.ndarray]:
        """Share of the amounts by bin in the confidential data and each scheme; none where there
        are no bins.
        """
        if self.histogram is None:
            return {}
        shares = {CONFIDENTIAL: self.histogram.counts / self.histogram.counts.sum()}
        for scheme, frames in self.synthetic.items():
            held = [
                shares_in_bins(frame[self.variable], self.histogram)
                for frame in frames
                if len(frame)
            ]
            shares[scheme] = np.mean(held, axis=0) if held else np.zeros(len(self.histogram.counts))
        return shares

    def _share_tables(self, key: str, cumulative: bool) -> tuple[DataTable, ...]:
        """Shares by bin, or up to the upper edge of each."""
        if self.histogram is None:
            return ()
        decimals = 2 if self.coarse else SHARE
        columns = {
            name: format_column(np.cumsum(held) if cumulative else held, decimals)
            for name, held in self.shares.items()
        }
        cells = pd.DataFrame({**self._bounds(self.histogram), **columns})
        terms = self.source.glossary.columns(
            cells, {"Records": "bin-records", **dict.fromkeys(self.shares, "bin-share")}
        )
        what = "below the upper edge" if cumulative else "in the bin"
        return (
            make_table(f"{key}-table", f"Share of records {what}, {self.variable}", cells, terms),
        )

    def _listed(self, statistic: Statistic) -> str:
        """A statistic by label, in words."""
        values = by_label(self.source.run.tables["utility"], statistic)
        return ", ".join(
            map(
                " ".join,
                zip(map(str, values.index), self.source.view.row(statistic, values), strict=True),
            )
        )

    def quantiles(self) -> Figure:
        """Synthetic against confidential quantiles, on a logarithmic scale."""
        key = self._key("quantiles")
        view = self.source.view
        amounts = self.amounts[self.variable].to_numpy(dtype=float)
        shown = shown_quantiles(amounts, view.minimum_count)
        if view.internal:
            shown = {q: (float(np.quantile(amounts, q)),) * 2 for q in QUANTILES}
        places = decimals_for_digits(np.ravel(list(shown.values())))
        true = [
            " to ".join(
                dict.fromkeys(format_column(ends, places) if view.internal else map(exactly, ends))
            )
            for ends in shown.values()
        ]
        columns = {"Quantile": [f"{q:g}" for q in shown], "Confidential": true}
        for scheme, frames in self.synthetic.items():
            values = (
                np.mean(
                    [
                        np.quantile(frame[self.variable], list(shown))
                        for frame in frames
                        if len(frame)
                    ],
                    axis=0,
                )
                if shown
                else []
            )
            columns[scheme] = format_column(values, places)
        table = make_table(f"{key}-table", f"Quantiles of {self.variable}", pd.DataFrame(columns))
        ends = "; ".join(
            f"{scheme} {cells[-1]}"
            for scheme, cells in columns.items()
            if scheme != "Quantile" and cells
        )
        alternative = (
            f"Quantiles of {self.variable} in the synthetic data against those of the "
            f"confidential data. At the last one: {ends}."
        )
        return try_figure(
            key,
            f"Quantiles of {self.variable}, synthetic against confidential",
            lambda: plot_quantiles(
                self.amounts, self.synthetic, self.variable, minimum_count=view.binned
            ),
            alternative,
            (table,) if shown else (),
        )

    def density(self) -> Figure:
        """How the amounts are distributed."""
        key, means = self._key("density"), self._listed(Statistic(MEAN.key, self.variable))
        alternative = (
            f"Distribution of {self.variable} in the confidential data and, laid over it, in the "
            f"synthetic data. Means: {means}."
        )
        return try_figure(
            key,
            f"Histogram of {self.variable}",
            lambda: plot_density(
                self.amounts,
                self.synthetic,
                self.variable,
                minimum_count=self.source.view.binned or 1,
            ),
            alternative,
            self._share_tables(key, False),
        )

    def ecdf(self) -> Figure:
        """The distribution functions of the amounts."""
        key, gaps = self._key("ecdf"), self._listed(Statistic(U_M.key, self.variable))
        alternative = (
            f"Empirical distribution functions of {self.variable}, confidential and synthetic. "
            f"Largest differences: {gaps}."
        )
        return try_figure(
            key,
            f"Distribution function of {self.variable}",
            lambda: plot_ecdf(
                self.amounts, self.synthetic, self.variable, minimum_count=self.source.view.binned
            ),
            alternative,
            self._share_tables(key, True),
        )

    def levels(self, values: pd.Series, name: str, title: str) -> Figure:
        """Shares of the levels of a categorical variable, or of the statuses of a number, and the
        mean weight of their records.
        """
        m, key = self.source.view.binned, self._key(name)
        schemes: Mapping[str, Sequence[pd.DataFrame]] = self.source.run.synthetic
        if name == "statuses":
            schemes = {
                label: [self._statuses_in(frame).to_frame() for frame in frames]
                for label, frames in schemes.items()
            }
        alternative = (
            f"Shares of the levels of {self.variable}: a bar for the confidential data, a marker "
            "for each label."
        )
        if name == "statuses":
            alternative = (
                f"Shares of the records whose {self.variable} is an amount, missing or a special "
                "code, by label."
            )
        return try_figure(
            key,
            title,
            lambda: plot_levels(values.to_frame(), schemes, self.variable, minimum_count=m),
            alternative,
            self._level_tables(values, schemes, key),
        )

    def _level_tables(
        self, values: pd.Series, schemes: Mapping[str, Sequence[pd.DataFrame]], key: str
    ) -> tuple[DataTable, ...]:
        """Shares by level, and mean weights; none where too few records are of another level."""
        try:
            names = merged_levels(values, self.source.view.binned or 1)
        except InputError:
            return ()
        shown, named = list(dict.fromkeys(names.values())), named_levels(values, names)
        shares = {CONFIDENTIAL: level_shares(values, names)}
        for label, frames in schemes.items():
            shares[label] = np.mean(
                [level_shares(frame[self.variable], names) for frame in frames], axis=0
            )
        counts = {
            "Level": [plain(name) for name in shown],
            "Records": [f"{int((named == name).sum()):,}" for name in shown],
        }
        cells = pd.DataFrame(
            {**counts, **{label: format_column(share, SHARE) for label, share in shares.items()}}
        )
        means = {
            label: [f"{alpha[named == name].mean():.2f}" for name in shown]
            for label, alpha in self._alpha.items()
        }
        weights = pd.DataFrame({**counts, **means})
        terms = self.source.glossary.columns(weights, dict.fromkeys(means, "weight"))
        stem = key.replace("levels", "level")
        return (
            make_table(f"{key}-table", f"Share of records by level, {self.variable}", cells),
            make_table(
                f"{stem}-weights-table", f"Mean weight by level, {self.variable}", weights, terms
            ),
        )

    @cached_property
    def _alpha(self) -> pd.DataFrame:
        """The weights of the variable, (n, schemes)."""
        return self.source.weights_of(self.variable)

    def weights(self) -> Figure:
        """Weights against the amount: a point per record inside the agency, means by bin
        outside.
        """
        values, m, key = self.amounts[self.variable], self.source.view.binned, self._key("weights")
        weights = self._alpha[
            find_statuses(
                self.source.confidential[self.variable], self.source.codes(self.variable)
            ).is_amount
        ]
        tables: tuple[DataTable, ...] = ()
        if self.histogram is not None:
            means = {
                scheme: [f"{mean:.2f}" for mean in binned_means(values, alpha, m or 1).means]
                for scheme, alpha in weights.items()
            }
            cells = pd.DataFrame({**self._bounds(self.histogram), **means})
            terms = self.source.glossary.columns(
                cells, {"Records": "bin-records", **dict.fromkeys(map(str, means), "weight")}
            )
            tables = (make_table(f"{key}-table", f"Mean weight by {self.variable}", cells, terms),)
        listed = ", ".join(f"{scheme} {alpha.mean():.2f}" for scheme, alpha in weights.items())
        alternative = (
            f"Weight of the likelihood against {self.variable}, by scheme; lower ones let the "
            f"model learn less. Mean weights: {listed}."
        )
        term = (self.source.glossary.fixed("weight"),)
        return try_figure(
            key,
            f"Weights against {self.variable}",
            lambda: plot_weights(values, weights, minimum_count=m),
            alternative,
            tables,
            term,
        )
