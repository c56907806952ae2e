"""Did the chains agree: a line per scheme, and inside the agency the card of each."""

import numpy as np
import pandas as pd

from riskweighted.common.numbers import format_column
from riskweighted.evaluation.main_table import CONVERGED_WORDS
from riskweighted.plots.convergence_plot import plot_convergence
from riskweighted.reports.output_rules import MISSING
from riskweighted.reports.page_blocks import DataTable, Figure, Group, Section, make_table
from riskweighted.reports.source import Source
from riskweighted.sampling.convergence import WARN, deciding_rows, verdict_of

__all__ = ["convergence_section"]

_TERMS = {
    "Largest R-hat": "r-hat",
    "R-hat": "r-hat",
    "Least bulk ESS": "ess",
    "Least tail ESS": "ess",
    "Bulk ESS": "ess",
    "Tail ESS": "ess",
    "Divergences": "divergences",
    "Pareto k-hat": "pareto-k",
}


def convergence_section(source: Source) -> Section:
    table = _diagnostics(source)
    rows = [
        {
            "Scheme": scheme,
            "Engine": ", ".join(dict.fromkeys(fit["engine"])),
            "Quantities": len(judged),
            "Largest R-hat": _decimals(judged["r_hat"].max(), 4),
            "Least bulk ESS": f"{judged['ess_bulk'].min():,.0f}",
            "Least tail ESS": f"{judged['ess_tail'].min():,.0f}",
            "Divergences": int(fit["divergences"].max()),
            "Pareto k-hat": _decimals(fit["pareto_k"].max(), 2),
            "Converged": CONVERGED_WORDS[verdict_of(fit)[0]],
        }
        for scheme, fit in table.groupby("label", sort=False)
        for judged in (deciding_rows(fit),)
    ]
    overview = _without_empty(pd.DataFrame(rows))
    if table["approximation"].notna().any():
        off = table.groupby("label", sort=False)["approximation"].max()
        overview.insert(
            len(overview.columns) - 1,
            "Means off by at most (sd)",
            [_decimals(value, 2) for value in off],
        )
    blocks: list[DataTable | Group] = [
        make_table(
            "convergence",
            "Convergence by scheme",
            overview,
            source.glossary.columns(overview, _TERMS),
        )
    ]
    if source.view.internal:
        cards = tuple(
            _card(source, number, scheme) for number, scheme in enumerate(source.run.schemes, 1)
        )
        blocks.append(Group("cards", "Convergence cards, fit by fit", cards))
    failed = [str(row["Scheme"]) for row in rows if row["Converged"] == "NO"]
    verdict = (
        f"Not converged, so not to be released: {', '.join(failed)}."
        if failed
        else "All fits converged."
    )
    told = {str(scheme): verdict_of(fit) for scheme, fit in table.groupby("label", sort=False)}
    verdict += "".join(
        f" Warning, {scheme}: {why}." for scheme, (word, why) in told.items() if word == WARN
    )
    return Section("chains", "Convergence", (verdict,), tuple(blocks))


def _diagnostics(source: Source) -> pd.DataFrame:
    """The table of diagnostics; a file holds its verdicts as text."""
    table = source.run.tables["convergence"]
    return table.assign(converged=table["converged"].astype(str) == "True")


def _verdicts(fit: pd.DataFrame) -> list[str]:
    """What each quantity decided: nothing where it is a parameter beside what leaves."""
    decides = fit.index.isin(deciding_rows(fit).index)
    return [
        ("yes" if passed else "NO") if judged else "not judged"
        for passed, judged in zip(fit["converged"], decides, strict=True)
    ]


def _without_empty(cells: pd.DataFrame) -> pd.DataFrame:
    """Without the columns that say nothing of any row, such as k-hat where all fits have chains."""
    return cells.loc[:, [not (cells[name] == MISSING).all() for name in cells]]


def _decimals(value: float, count: int) -> str:
    """A number with so many decimals; chains have no k-hat, and other draws no R-hat."""
    return MISSING if pd.isna(value) else f"{value:.{count}f}"


def _card(source: Source, number: int, scheme: str) -> Figure:
    """Rank plots of a scheme's fit, with the whole table of its diagnostics."""
    table = _diagnostics(source)
    fit = table[table["label"] == scheme].drop(columns="label")
    axes = plot_convergence(source.run.posteriors[scheme], fit)
    cells = pd.DataFrame(
        {
            "Quantity": fit["quantity"],
            "R-hat": [_decimals(value, 4) for value in fit["r_hat"]],
            "Limit": [
                _decimals(value, 4) for value in fit.get("limit", pd.Series(np.nan, fit.index))
            ],
            "Bulk ESS": format_column(fit["ess_bulk"], 0),
            "Tail ESS": format_column(fit["ess_tail"], 0),
            "Divergences": fit["divergences"],
            "Pareto k-hat": [_decimals(value, 2) for value in fit["pareto_k"]],
            "Passed": _verdicts(fit),
        }
    )
    judged = deciding_rows(fit)
    worst = (
        judged.loc[judged["r_hat"].idxmax()] if judged["r_hat"].notna().any() else judged.iloc[0]
    )
    cells = _without_empty(cells)
    reached = f"Largest R-hat {_decimals(worst['r_hat'], 4)}, of {worst['quantity']}"
    if fit["r_hat"].isna().all():
        reached = f"Drawn without chains, Pareto k-hat {_decimals(fit['pareto_k'].max(), 2)}"
    alternative = (
        f"Rank plots by chain for the fit {scheme}: {len(judged)} quantities judged, "
        f"{int(judged['converged'].sum())} passed. "
        f"{reached}; least bulk ESS {judged['ess_bulk'].min():,.0f}."
    )
    key = f"card-{number}"
    shown = make_table(
        f"{key}-table", f"Diagnostics of {scheme}", cells, source.glossary.columns(cells, _TERMS)
    )
    terms = (source.glossary.fixed("r-hat"), source.glossary.fixed("ess"))
    return Figure(key, f"Convergence card: {scheme}", axes, alternative, (shown,), terms)
