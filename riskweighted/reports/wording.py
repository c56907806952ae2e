"""What the measures of a run are called and mean, for the reports and for the main table."""

from collections.abc import Iterable, Mapping

import pandas as pd

from riskweighted.common.found import NOT_SHOWN, is_found
from riskweighted.common.numbers import exactly
from riskweighted.evaluation.main_table import (
    FIT_COLUMNS,
    SummaryColumn,
    build_summary,
    summary_columns,
)
from riskweighted.evaluation.measure_rows import CONFIDENTIAL, Statistic, by_label, rows_of
from riskweighted.intruder.scenario import Scenario
from riskweighted.measures.measure import Kind
from riskweighted.runs.finished import FinishedRun
from riskweighted.weights.scheme_names import UNWEIGHTED, is_centred

__all__ = [
    "capital",
    "define",
    "define_confidential",
    "half_width",
    "in_words",
    "main_columns",
    "main_table",
    "not_mended",
    "rules",
    "scale",
    "symbol_of",
]

_UNIT_INTERVAL: tuple[Kind, ...] = ("mean", "quantile", "extreme", "share", "distance", "overlap")
_WIDTH = {
    "relative": "times the absolute confidential value",
    "absolute": "in the variable's units",
}


def main_columns(run: FinishedRun) -> tuple[SummaryColumn, ...]:
    """What the main table of a run holds, in order."""
    return (*FIT_COLUMNS, *summary_columns(run.tables["risk"], run.tables["utility"]))


def main_table(run: FinishedRun) -> pd.DataFrame:
    """The main table from the tables of risk and utility, a row per label, columns by the names of
    `main_columns`.
    """
    table = build_summary(run.tables["risk"], run.tables["utility"])
    fits = run.tables["summary"].set_index("label").reindex(table.index)
    return pd.concat([fits[[column.name for column in FIT_COLUMNS]], table], axis=1)


def define(run: FinishedRun, statistic: Statistic) -> str:
    """The definition of a statistic of synthetic data; of an unregistered one what its row says."""
    if statistic.unregistered is not None:
        table = run.tables["utility" if statistic.of_utility else "risk"]
        return str(rows_of(table, statistic)["definition"].iloc[0])
    return statistic.define("scheme", UNWEIGHTED, formula=str(run.study.evaluation.regression))


def define_confidential(run: FinishedRun, statistic: Statistic) -> str | None:
    """The definition of a measure of risk in the confidential data, if it is given for them."""
    if (
        statistic.unregistered is not None
        or CONFIDENTIAL not in by_label(run.tables["risk"], statistic).index
    ):
        return None
    return statistic.define(CONFIDENTIAL)


def rules(run: FinishedRun, statistic: Statistic) -> dict[str, str]:
    """By label, the rule that made the interval of a statistic of utility."""
    return {
        str(label): str(rule)
        for label, rule in by_label(run.tables["utility"], statistic, "rule").dropna().items()
    }


def scale(column: SummaryColumn, records: int, unit: str = "") -> str:
    """What the numbers of a column are counted in: between 0 and 1, of how many records, or the
    `unit` of its variable.
    """
    kind = column.measure.kind
    if kind in _UNIT_INTERVAL and not column.measure.unbounded:
        return "0 to 1"
    if kind == "count":
        return f"of {records:,} records"
    return unit if kind == "estimate" else ""  # the unit of a coefficient depends on its predictor


def in_words(statistic: Statistic, *, alone: bool = False) -> str:
    """What a statistic is called on a page: in words, with its variable unless it stands alone."""
    measure = statistic.measure
    if statistic.unregistered is not None or not measure.words:
        return statistic.label if alone else statistic.name
    told = measure.words.format(
        parameter=statistic.parameter, term="any" if statistic.term is None else statistic.term
    )
    told = f"median{told.removeprefix('0.5 quantile')}" if told.startswith("0.5 quantile") else told
    return told if statistic.variable is None or alone else f"{told} of {statistic.variable}"


def symbol_of(statistic: Statistic) -> str:
    """The symbol beside it, or nothing."""
    return "" if statistic.unregistered is not None else statistic.measure.symbol


def not_mended(labels: Iterable[str]) -> str:
    """What is to be said, where a model misfits, of the labels whose weights are centred; nothing
    where none is.
    """
    centred = [label for label in labels if is_centred(label)]
    if not centred:
        return ""
    return (
        f"Centring does not correct that ({', '.join(centred)}): centred weights still fit "
        "the model where they are large. "
    )


def capital(text: str) -> str:
    """Begun with a capital letter, unless with a symbol such as p_eff."""
    if "_" in text.split(" ", 1)[0]:
        return text
    return text[:1].upper() + text[1:]


def half_width(scenario: Scenario, internal: bool = True) -> str:
    """How wide balls are; `internal`: with numbers that were found in the data."""
    numeric = scenario.radius if isinstance(scenario.radius, Mapping) else scenario.synthetic
    radii = {name: scenario.radius_of(name) for name in numeric}
    told = {
        name: f"{NOT_SHOWN}," if is_found(radius) and not internal else exactly(radius)
        for name, radius in radii.items()
    }
    widths = {name: f"{told[name]} {_WIDTH[scenario.kind_of(name)]}" for name in numeric}
    alike = len(set(widths.values())) == 1
    return (
        next(iter(widths.values()))
        if alike
        else ", ".join(f"{text} for {name}" for name, text in widths.items())
    )
