"""RESULTS.md: the figures beside their targets, every number from the results."""

import math
from pathlib import Path

import pandas as pd

from experiments.ce.tables import as_markdown
from experiments.several.case import REGRESSIONS, SCHEMES, VARIABLES

__all__ = ["TARGETS", "Figures", "write_results"]

# Measure, variable, what is asked of the unweighted synthesizer: a number and whether it is a
# ceiling.
TARGETS = (
    ("one-way-mean", "", 2.0, True),
    ("largest one-way", "", 5.0, True),
    ("two-way-mean of synthesized pairs", "", 2.0, True),
    ("two-way-mean", "", 2.0, True),
    ("expected-match", "", 10.0, True),
    *(
        ("regression-overlap", formula, least, False)
        for formula, least in zip(REGRESSIONS, (0.85, 0.85, 0.75), strict=True)
    ),
)
_RATIO = 0.75  # top-decile risk of income, pairwise over unweighted


class Figures:
    """The tidy results, read cell by cell."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self._rows = rows.assign(variable=rows["variable"].fillna("")).drop_duplicates(
            ["scheme", "measure", "variable"]
        )
        self._by = self._rows.set_index(["scheme", "measure", "variable"])["value"]

    def value(self, scheme: str, measure: str, variable: str = "") -> float:
        """One number; a regression is found by the end of its name, which its response opens."""
        if measure == "largest one-way":
            return max(self.value(scheme, "one-way-table", name) for name in VARIABLES)
        if measure == "regression-overlap":
            own = self._rows[(self._rows["scheme"] == scheme) & (self._rows["measure"] == measure)]
            return float(own[own["variable"].str.endswith(variable)]["value"].iloc[0])
        return float(self._by[(scheme, measure, variable)])

    def largest(self, scheme: str, measure: str, count: int) -> str:
        """The variables of the largest values, in words."""
        own = self._rows[
            (self._rows["scheme"] == scheme) & (self._rows["measure"] == measure)
        ].nlargest(count, "value")
        return "; ".join(
            f"{name} {value:.2f}" for name, value in zip(own["variable"], own["value"], strict=True)
        )


def write_results(
    rows: pd.DataFrame, blocks: pd.DataFrame, missing: pd.DataFrame, records: int, path: Path
) -> str:
    """The page, which is returned too."""
    figures = Figures(rows)
    parts = [
        _opening(records),
        "## Unweighted, beside its targets\n",
        _targets(figures),
        "## By scheme\n",
        _schemes(figures),
    ]
    parts += [
        _weighting(figures),
        "## Missing values, codes and rules\n",
        _missing(missing, figures),
        "## Time\n",
        _times(blocks),
    ]
    page = "\n".join(parts)
    path.write_text(page, encoding="utf-8")
    return page


def _opening(records: int) -> str:
    return f"""# Seven variables of SD2011

`python -m experiments.several --out FOLDER` writes this page, `results.csv`, `blocks.csv` (every
block with its engine and processor time) and `missing.csv`. The data, SD2011 of the R package
synthpop, are not ours to publish: `--data` says where they lie. {records:,} records; known: sex
and age group; predictors: sex, age, place size; chain: edu, marital, income (special code -8), ls
(ordered, slopes that drift), smoke, nociga (where smoke is YES, otherwise -8), depress; radius
20 %; L = 20; weights by own balls. Measured with 4 chains of 300 draws on 2 cores that others used
too, so time is processor time.
"""


def _targets(figures: Figures) -> str:
    rows = []
    for measure, variable, limit, ceiling in TARGETS:
        value = figures.value("unweighted", measure, variable)
        met = value <= limit if ceiling else value >= limit
        name = f"{measure}: {variable}" if variable else measure
        rows.append(
            {
                "figure": name,
                "asked": f"{'<=' if ceiling else '>='} {limit:g}",
                "found": f"{value:.2f}",
                "met": "yes" if met else "no",
            }
        )
    note = (
        "S_pMSE of a synthesizer that draws the parameters of a perfect model has expectation 2 "
        "at equal sizes, less what kept "
        "predictors explain (METHODS section 6); 1 is that of resampled records. The second "
        "two-way mean counts the pairs with sex, "
        "age group, age and place size too. The pairs that are held least: "
        f"{figures.largest('unweighted', 'two-way-table', 6)}.\n"
    )
    return as_markdown(pd.DataFrame(rows)) + "\n" + note


def _schemes(figures: Figures) -> str:
    measures = [("one-way-table", name) for name in VARIABLES]
    measures += [
        (name, "")
        for name in (
            "one-way-mean",
            "two-way-mean of synthesized pairs",
            "two-way-mean",
            "two-way-worst",
            "file-propensity",
        )
    ]
    measures += [("expected-match", "")]
    measures += [("regression-overlap", formula) for formula in REGRESSIONS]
    rows = []
    for measure, variable in measures:
        cells = {scheme: f"{figures.value(scheme, measure, variable):.2f}" for scheme in SCHEMES}
        rows.append({"figure": f"{measure}: {variable}" if variable else measure} | cells)
    return as_markdown(pd.DataFrame(rows))


def _weighting(figures: Figures) -> str:
    cells = {
        s: (
            figures.value(s, "top-decile income risk"),
            figures.value(s, "error of top-decile income risk"),
        )
        for s in SCHEMES
    }
    listed = ", ".join(
        f"{value:.4f} ({error:.4f}) {scheme}" for scheme, (value, error) in cells.items()
    )
    ratio, error = (
        figures.value("pairwise", f"{what} of top-decile income risk")
        for what in ("ratio", "error of the ratio")
    )
    met = "met" if ratio <= _RATIO else "missed"
    met += ", within its error" if abs(ratio - _RATIO) <= 2 * error else ""
    of = "top-decile income risk"
    exact = {
        s: (figures.value(s, f"expected {of}"), figures.value(s, f"error of expected {of}"))
        for s in SCHEMES
    }
    expected = ", ".join(
        f"{value:.4f} ({error:.4f}) {scheme}" for scheme, (value, error) in exact.items()
    )
    (own, own_error), (base, base_error) = exact["pairwise"], exact["unweighted"]
    share, saturated = own / base, figures.value("pairwise", f"saturated ratio of {of}")
    off = share * math.hypot(own_error / own, base_error / base)
    return f"""
**Income of the isolated.** Mean identification risk of the tenth of the records whose income has
the largest confidential risk (own ball), 10 releases of L = 20 from one fit a scheme, standard
error over the releases in brackets: {listed}.
Pairwise over unweighted: {ratio:.2f} ({error:.2f}); asked is at most {_RATIO:g}: {met}.

The mechanism's risk of these records, over all releases that a fit could give, has less chance in
it (Monte Carlo error in brackets): {expected};
pairwise over unweighted {share:.3f} ({off:.3f}). A model that held the income of every
pattern of sex and age group as it is would come to {saturated:.2f} under these weights: what lies
between is the price of a model that borrows across patterns and smooths, and so keeps mass in tails
that the weights thin out.
"""


def _missing(missing: pd.DataFrame, figures: Figures) -> str:
    own = missing[missing["scheme"] == "unweighted"].drop(columns="scheme")
    shown = own.assign(
        confidential=own["confidential"].map("{:.4f}".format),
        synthetic=own["synthetic"].map("{:.4f}".format),
        z=own["z"].map("{:.1f}".format),
        worst_z=own["worst_z"].map(lambda value: "" if pd.isna(value) else f"{value:.1f}"),
    )
    broken = ", ".join(
        f"{figures.value(scheme, 'rule violations'):.0f} {scheme}" for scheme in SCHEMES
    )
    note = (
        "Shares of the unweighted releases. z: their distance in standard errors of two samples; "
        "worst_z: in the patterns of sex and age "
        "group where 5 records or more are expected with and without the status (`patterns` of "
        "them)."
    )
    return f"{as_markdown(shown)}\n{note}\n\nReleased records that break a rule: {broken}.\n"


def _times(blocks: pd.DataFrame) -> str:
    rows = []
    for scheme, own in blocks.groupby("scheme", sort=False):
        direct = own["engine"] == "direct"
        chains = ", ".join(
            f"{name} {seconds:.0f}"
            for name, seconds in zip(own["block"][~direct], own["seconds"][~direct], strict=True)
        )
        rows.append(
            {
                "scheme": scheme,
                "direct blocks": int(direct.sum()),
                "seconds, direct": f"{own['seconds'][direct].sum():.1f}",
                "seconds, chains": chains or "none",
                "not converged": ", ".join(own["block"][~own["converged"]]) or "none",
            }
        )
    total = blocks["seconds"][blocks["engine"] == "direct"].sum()
    note = (
        f"Processor seconds. Direct blocks of all schemes: {total:.0f} s (asked: at most 60 s); "
        "chains: asked are at most 180 s a scheme."
    )
    return f"{as_markdown(pd.DataFrame(rows))}\n{note}\n"
