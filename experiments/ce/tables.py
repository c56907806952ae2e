"""Tables 2, 3, 4 and 7 of the main paper (Hu et al. 2022) from a run, the published numbers beside
ours.
"""

from pathlib import Path

import numpy as np
import pandas as pd

__all__ = [
    "NAMES",
    "SIX",
    "as_markdown",
    "empirical_distances",
    "estimates",
    "published",
    "record_risks",
    "risk_profile",
    "variant_of_six",
    "with_intervals",
]

NAMES = {
    "confidential": "Data",
    "unweighted": "Synthesizer",
    "marginal": "Marginal",
    "pairwise": "Pairwise",
    "top-coding": "Topcoding",
}
_PUBLISHED = Path(__file__).parent / "published"
_RIDDLE = Path(__file__).parents[1] / "claims" / "riddle.csv"
SIX = "Marginal, K = 6"
_EDGES = {
    -10: "below -10K",
    50: "(-10K, 50K)",
    100: "(50K, 100K)",
    1000: "(100K, 1000K)",
    2000: "(1000K, 2000K)",
    np.inf: "above 2000K",
}
_EARNER_2 = "coefficient Earner 2"


def published(table: str) -> pd.DataFrame:
    """The published numbers: "table_2", "table_3", "table_4", "table_7", or "risk" for those in the
    text of section 3.2.
    """
    return pd.read_csv(_PUBLISHED / f"{table}.csv")


def record_risks(income: pd.Series, records: pd.DataFrame, table: str) -> pd.DataFrame:
    """Ten records and their risks under every label, each rank beside the published record of that
    rank.

    Table 2 takes the records of the highest confidential risk, Table 3 those of the largest income;
    of equal ones the first. A row holds two different records, ours and the paper's, which have
    nothing but their rank in common.
    """
    theirs = published(table)
    key = records["confidential"] if table == "table_2" else income
    chosen = (-key).argsort(kind="stable").to_numpy()[: len(theirs)]
    ours = records.iloc[chosen].rename(columns=NAMES)[list(NAMES.values())].reset_index(drop=True)
    bands = pd.cut(
        income.iloc[chosen],
        [-np.inf, *(1000 * edge for edge in _EDGES)],
        labels=list(_EDGES.values()),
    ).astype(str)
    columns = {
        "rank": np.arange(1, len(theirs) + 1),
        "income": bands.to_numpy(),
        "income published": theirs["income"],
    }
    for name in NAMES.values():
        columns[name] = ours[name]
        if name in theirs:
            columns[f"{name} published"] = theirs[name]
    return pd.DataFrame(columns)


def estimates(utility: pd.DataFrame) -> pd.DataFrame:
    """Table 4: estimate and interval of every label, and how far the estimate lies from that of its
    own data, in percent. Beside them the variant of `experiments.claims.riddle` whose mean rises as
    the published one does.
    """
    rows = with_intervals(utility).rename(columns={"value": "estimate"})
    rows["label"] = rows["label"].map(NAMES)
    rows = pd.concat([rows, _of_six()], ignore_index=True)
    table = rows[["measure", "label", "estimate", "lower", "upper"]].merge(
        published("table_4"), on=["measure", "label"], how="left", suffixes=("", " published")
    )
    for suffix in ("", " published"):
        own = table[table["label"] == "Data"].set_index("measure")[f"estimate{suffix}"]
        base = table["measure"].map(own)
        table[f"from Data, %{suffix}"] = 100 * (table[f"estimate{suffix}"] - base) / base.abs()
    order = {
        name: place
        for place, name in enumerate(
            [*published("table_4")["measure"].unique(), *NAMES.values(), SIX]
        )
    }
    return table.sort_values(
        ["measure", "label"], key=lambda column: column.map(order)
    ).reset_index(drop=True)


def variant_of_six() -> pd.Series:
    """Six components with slopes of their own under narrow priors, marginal weights: the row of
    riddle.csv.
    """
    rows = pd.read_csv(_RIDDLE).query("priors == 'narrow' and K == 6 and weights == 'marginal'")
    return rows.iloc[0]


def _of_six() -> pd.DataFrame:
    """The estimates of that variant, beside which the published ones of marginal weights stand."""
    variant = variant_of_six()
    return pd.DataFrame(
        {
            "measure": ["mean", "median", "0.9 quantile"],
            "label": SIX,
            "estimate": variant[["mean", "median", "q90"]].to_numpy(dtype=float),
            "lower": [variant["lower"], np.nan, np.nan],
            "upper": [variant["upper"], np.nan, np.nan],
        }
    )


def with_intervals(utility: pd.DataFrame) -> pd.DataFrame:
    """The rows of Table 4 and Figure 10, the coefficient under the paper's name."""
    rows = utility[utility["lower"].notna()]
    return rows.assign(measure=rows["measure"].where(rows["key"] != "coefficient", _EARNER_2))


def empirical_distances(utility: pd.DataFrame) -> pd.DataFrame:
    """Table 7: maximum and mean square difference of the distribution functions."""
    return _beside(utility[utility["key"].isin(["ecdf-maximum", "ecdf-mean-square"])], "table_7")


def risk_profile(risk: pd.DataFrame) -> pd.DataFrame:
    """Figures 2, 3, 8 and 9 in numbers; the paper prints only two interquartile ranges."""
    wanted = [
        "mean-risk",
        "risk-interquartile-range",
        "maximum-risk",
        "records-over",
        "whack-a-mole",
    ]
    return _beside(risk[risk["key"].isin(wanted)], "risk")


def _beside(ours: pd.DataFrame, table: str) -> pd.DataFrame:
    named = ours[["measure", "label", "value"]].assign(label=ours["label"].map(NAMES))
    joined = named.merge(
        published(table), on=["measure", "label"], how="left", suffixes=("", " published")
    )
    order = {name: place for place, name in enumerate(named["measure"].unique())}
    return joined.sort_values(
        "measure", key=lambda column: column.map(order), kind="stable", ignore_index=True
    )


def as_markdown(table: pd.DataFrame, digits: int | None = None) -> str:
    """A table in Markdown: `digits` after the point, or four significant ones; an empty cell where
    there is no number.
    """
    head = f"| {' | '.join(map(str, table.columns))} |\n|{'---|' * table.shape[1]}\n"
    return head + "".join(
        f"| {' | '.join(_cell(value, digits) for value in row)} |\n"
        for row in table.itertuples(index=False, name=None)
    )


def _cell(value: object, digits: int | None) -> str:
    if isinstance(value, float):
        if np.isnan(value):
            return ""
        return (
            f"{value:,.{digits}f}"
            if digits is not None
            else f"{value:,.0f}"
            if abs(value) >= 1000
            else f"{value:.4g}"
        )
    return str(value)
