"""The words of a verdict on a fit (`check_fit`), for who reads it without making one."""

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from riskweighted.common.numbers import together
from riskweighted.measures import fit_comparisons, fits

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "COST",
    "FITS",
    "JUDGED",
    "MISFITS",
    "MODEL",
    "UNJUDGED",
    "judged_rows",
    "missed_checks",
    "told_statuses",
    "worst_misfits",
]

FITS, MISFITS, COST, UNJUDGED = "fits", "misfits", "cost", "not judged"
JUDGED = (FITS, MISFITS)
MODEL = fits.FITS.key  # the row of the whole model


def judged_rows(table: "pd.DataFrame") -> "pd.DataFrame":
    """The single checks of a table of `check_fit` that judge the model, as those of weighted fits
    do not.
    """
    return table[(table["verdict"] != COST) & (table["check"] != MODEL)]


def missed_checks(checks: "pd.DataFrame") -> str:
    """In how many of its checks the unweighted fit misfits, in words."""
    rows = judged_rows(checks)
    return f"the model misfits in {int((rows['verdict'] == MISFITS).sum())} of {len(rows)} checks"


def worst_misfits(checks: "pd.DataFrame", most: int) -> list[str]:
    """What the unweighted fit misses most, by its statistic, as the data and as the synthetic
    datasets have it.
    """
    missed = judged_rows(checks).query("verdict == @MISFITS")
    worst = (
        missed.assign(ratio=missed["effect"] / missed["threshold"])
        .sort_values("ratio", ascending=False)
        .head(most)
    )
    return [
        f"{_of_row(row)}: {_differing(row)}"
        for row in worst.astype(object).where(worst.notna(), "").to_dict("records")
    ]


def told_statuses(table: "pd.DataFrame", least: int = 1) -> str:
    """How often each fit draws the statuses (missing, zero, negative, a code), over how often the
    data have them, least and most; "" where there are none. `least`: records that have a status,
    and that lack it, of which the ratio is told.
    """
    rows = table[
        (table["check"] == fit_comparisons.SHARE.key)
        & ~table["parameter"]
        .map(partial(fit_comparisons.names_values, fit_comparisons.SHARE.key))
        .astype(bool)
        & (table["confidential"] > 0)
        & (table["confidential"] < 1)
    ]
    rows = rows[(rows["records"] >= least) & (rows["parameter"] != "positive")]
    told = []
    for label, of_fit in rows.groupby("label", sort=False):
        ratios = (of_fit["synthetic"] / of_fit["confidential"]).set_axis(
            [_status_of(row) for row in of_fit.to_dict("records")]
        )
        ends = {
            f"{ratios.iloc[at]:.2f} ({ratios.index[at]})": None
            for at in (int(ratios.argmin()), int(ratios.argmax()))
        }
        told.append(f"{label} {' to '.join(ends)}")
    return f"Statuses, drawn over true shares: {'; '.join(told)}." if told else ""


def _status_of(row: Mapping[str, object]) -> str:
    """A status of a row of the checks, with its variable where there are several."""
    return f"{row['variable']} {row['parameter']}" if row.get("variable") else str(row["parameter"])


def _of_row(row: Mapping[str, object]) -> str:
    """The variable of a row of the checks, where there are several, its check and what of it."""
    variable = f"{row['variable']}, " if row.get("variable") else ""
    check, parameter = str(row["check"]), row["parameter"]
    hidden = fit_comparisons.names_values(check, parameter) and check != fit_comparisons.MEAN.key
    named = "" if hidden else _columns_of(parameter)
    # what it is a share of says it
    what = "" if check == fit_comparisons.SHARE_OF_SOME.key else check.removeprefix("check-")
    return f"{variable}{what} {named}".strip()


def _columns_of(groups: object) -> str:
    """The columns of groups of records, without the levels that make them."""
    return re.sub("=[^,;]*", "", str(groups or ""))


def _differing(row: Mapping[str, object]) -> str:
    """How far a statistic is off; of a pair, where its distance from the model is largest."""
    true, synthetic = together(row["confidential"], row["synthetic"])
    if row["where"]:
        return (
            f"distance {synthetic} where chance gives {true}, most by {_columns_of(row['where'])}"
        )
    return f"{true} in the data, {synthetic} synthetic"
