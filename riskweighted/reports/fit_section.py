"""Does the model suit the data: quantiles against quantiles, and what predictive datasets have
beside what the data has.
"""

import numpy as np
import pandas as pd

from riskweighted.common.numbers import SHARE, exactly, format_column, shared_digits
from riskweighted.common.text import plain
from riskweighted.evaluation.fit_check import FITS, MISFITS, MODEL, fit_verdict
from riskweighted.evaluation.judgement import COST, JUDGED, told_statuses
from riskweighted.evaluation.measure_rows import Statistic
from riskweighted.measures.fit_comparisons import QUANTILE, names_values
from riskweighted.measures.measure import Disclosure
from riskweighted.reports.page_blocks import Column, DataTable, Figure, Group, Section
from riskweighted.reports.source import Source
from riskweighted.reports.variable_section import quantiles_figure
from riskweighted.reports.wording import capital, in_words, not_mended, symbol_of

__all__ = ["fit_check_section"]

_ONLY_COMPARED = "not shown"


def fit_check_section(source: Source) -> Section:
    """A verdict a fit, quantiles of every numeric variable, and one table of all checks, a column a
    fit.
    """
    verdicts = {
        str(label): fit_verdict(rows) for label, rows in source.checks.groupby("label", sort=False)
    }
    judged = {label: verdict for label, verdict in verdicts.items() if verdict in JUDGED}
    lines = [
        f"{label}: the model {'fits' if verdict == FITS else 'MISFITS'}."
        for label, verdict in judged.items()
    ]
    lines += [not_mended(source.run.schemes).strip()] if MISFITS in judged.values() else []
    lines += (
        [
            "No fit of the study is unweighted (alpha 1, no survey weights), so the model is not "
            "judged."
        ]
        if not judged
        else []
    )
    if COST in verdicts.values():
        lines += [
            "The distance of a weighted fit from the data is what its weights cost; it is shown "
            "beside, without a verdict."
        ]
    lines += [
        told_statuses(source.checks, 1 if source.view.internal else source.view.minimum_count)
    ]
    lines += _bounds(source)
    numeric = [
        (number, name) for number, name in enumerate(source.variables, 1) if source.is_numeric(name)
    ]
    figures = [quantiles_figure(source, number, name) for number, name in numeric]
    blocks: list[DataTable | Figure | Group]
    blocks = (
        [*figures]
        if len(figures) < 2
        else [Group("quantiles-group", "Quantiles, variable by variable", tuple(figures))]
    )
    checks = _table(source, list(judged))
    shown = len(checks.rows)
    every = max(source.checks[source.checks["check"] != MODEL].groupby("label").size(), default=0)
    title = (
        f"All {every} checks"
        if shown == every
        else f"{shown} checks of {every}, without those that name what few records hold"
    )
    blocks.append(Group("fit-checks-group", title, (checks,), MISFITS in judged.values()))
    text = (
        "Predictive datasets of each fit are compared with the confidential data, statistic by "
        "statistic. A row misfits where the "
        "difference is larger than an analyst would accept and chance does not explain it."
    )
    return Section(
        "fit-check",
        "Does the model suit the data?",
        (" ".join(filter(None, lines)), text),
        tuple(blocks),
    )


def _bounds(source: Source) -> list[str]:
    """Which public bounds hold the draws of a variable."""
    synthesizer = source.run.study.synthesizer
    numeric = [name for name in source.variables if source.is_numeric(name)]
    of_each = synthesizer.settings.get("variables", dict.fromkeys(numeric, synthesizer.settings))
    stated = {name: of_each.get(name, {}).get("support") for name in numeric}
    lines = []
    for name, bounds in stated.items():
        if isinstance(bounds, (list, tuple)):
            low, high = (
                "open" if end is None or np.isinf(end) else exactly(end) for end in bounds[:2]
            )
            which = (
                "the public bounds that the study states"
                if len(bounds) == 2
                else "bounds found in the data, which are not public"
            )
            shown = (
                f"{low} to {high}" if len(bounds) == 2 or source.view.internal else "and not shown"
            )
            lines.append(f"Draws of {name} lie within {which}, {shown}.")
    without = [name for name, bounds in stated.items() if not isinstance(bounds, (list, tuple))]
    if without:
        lines.append(
            f"No public bounds of {', '.join(without)} are stated: only the model limits how far "
            "such values reach."
        )
    return lines


def _table(source: Source, judged: list[str]) -> DataTable:
    """A row a statistic, those that misfit first; the confidential value once, then that of each
    fit.
    """
    checks = source.checks[source.checks["check"] != MODEL].copy()
    checks["variable"] = checks["variable"].fillna("") if "variable" in checks else ""
    checks["parameter"] = checks["parameter"].fillna("").astype(str)
    labels = list(dict.fromkeys(checks["label"].astype(str)))
    rows, terms, symbols = [], [], []
    checks.index = pd.Index(checks["label"].astype(str))
    groups = dict(list(checks.groupby(["variable", "check", "parameter"], sort=False)))
    order = sorted(groups, key=lambda which: not (groups[which]["verdict"] == MISFITS).any())
    for variable, check, parameter in order:
        group = groups[variable, check, parameter]
        statistic = Statistic(check, variable or None, term=parameter or None)
        hidden = statistic.measure.disclosure in (None, Disclosure.LEFT_OUT) or _names_few(
            source, statistic, group
        )
        if hidden and not source.view.internal:
            continue
        cells = (*_cells(source, statistic, group, labels), *_judgement(source, group, judged))
        rows.append((plain(capital(in_words(statistic))), *cells))
        terms.append(source.glossary.check(check))
        symbols.append(symbol_of(statistic))
    names = [
        "Statistic",
        "Confidential",
        *labels,
        *(["Effect", "Threshold"] if source.view.internal else []),
        "Verdict",
    ]
    note = (
        ""
        if source.view.internal
        else f"'{_ONLY_COMPARED}': rests on one record or few, so only the verdict is shown."
    )
    columns = tuple(Column(plain(name)) for name in names)
    return DataTable(
        "fit-checks", "Checks of the fits", columns, tuple(rows), tuple(terms), note, tuple(symbols)
    )


def _names_few(source: Source, statistic: Statistic, group: pd.DataFrame) -> bool:
    """Whether the row's name is a value, a level or a group of fewer records than may be
    counted.
    """
    return (
        names_values(statistic.key, statistic.term)
        and int(group.iloc[0]["records"]) < source.view.minimum_count
    )


def _cells(
    source: Source, statistic: Statistic, group: pd.DataFrame, labels: list[str]
) -> list[str]:
    """The confidential value, then that of each fit."""
    view, first = source.view, group.iloc[0]
    digits = None
    if statistic.measure is QUANTILE and not view.internal:
        name = statistic.variable or source.variables[0]
        digits = shared_digits(
            float(first["confidential"]), source.amounts(name), view.minimum_count
        )
    values = [
        float(first["confidential"]),
        *(float(group["synthetic"].get(label, np.nan)) for label in labels),
    ]
    whole = (
        int(first["records"])
        if statistic.measure.disclosure is not Disclosure.SHARE
        else view.records
    )
    return view.checks(statistic, values, [int(first["records"]), *[whole] * len(labels)], digits)


def _judgement(source: Source, group: pd.DataFrame, judged: list[str]) -> list[str]:
    """Effect, threshold and verdict of the judged fit, the first of them; inside the agency the
    numbers too.
    """
    label = judged[0] if judged else group.index[0]
    row = group.loc[label] if label in group.index else group.iloc[0]
    numbers = (
        format_column([row["effect"], row["threshold"]], SHARE) if source.view.internal else []
    )
    return [*numbers, str(row["verdict"])]
