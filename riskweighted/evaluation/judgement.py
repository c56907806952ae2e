"""The words of a verdict on a fit (`check_fit`), for who reads it without making one."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from riskweighted.common.numbers import together
from riskweighted.measures import checks

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["COST", "FITS", "JUDGED", "MISFITS", "MODEL", "UNJUDGED", "judged_rows", "missed_checks", "worst_misfits"]

FITS, MISFITS, COST, UNJUDGED = "fits", "misfits", "cost", "not judged"
JUDGED = (FITS, MISFITS)
_NAMED_BY_VALUES = (checks.SPIKE.key, checks.LEVEL.key, checks.LEVEL_OF_GROUP.key)  # which a terminal does not show
MODEL = checks.MODEL.key  # the row of the whole model


def judged_rows(table: "pd.DataFrame") -> "pd.DataFrame":
    """The single checks of a table of `check_fit` that judge the model, as those of weighted fits do not."""
    return table[(table["verdict"] != COST) & (table["check"] != MODEL)]


def missed_checks(checks: "pd.DataFrame") -> str:
    """In how many of its checks the unweighted fit misfits, in words."""
    rows = judged_rows(checks)
    return f"the model misfits in {int((rows['verdict'] == MISFITS).sum())} of {len(rows)} checks"


def worst_misfits(checks: "pd.DataFrame", most: int) -> list[str]:
    """What the unweighted fit misses most, by its statistic, as the data and as the synthetic datasets have it."""
    missed = judged_rows(checks).query("verdict == @MISFITS")
    worst = missed.assign(ratio=missed["effect"] / missed["threshold"]).sort_values("ratio", ascending=False).head(most)
    return [f"{_of_row(row)}: {_differing(row)}" for row in worst.astype(object).where(worst.notna(), "").to_dict("records")]


def _of_row(row: Mapping[str, object]) -> str:
    """The variable of a row of the checks, where there are several, its check and what of it."""
    variable = f"{row['variable']}, " if row.get("variable") else ""
    parameter = "" if row["check"] in _NAMED_BY_VALUES else _columns_of(row["parameter"])
    return f"{variable}{str(row['check']).removeprefix('check-')} {parameter}".rstrip()


def _columns_of(groups: object) -> str:
    """The columns of groups of records, without the levels that make them."""
    return re.sub("=[^,;]*", "", str(groups or ""))


def _differing(row: Mapping[str, object]) -> str:
    """How far a statistic is off; of a pair, where its distance from the model is largest."""
    true, synthetic = together(row["confidential"], row["synthetic"])
    if row["where"]:
        return f"distance {synthetic} where chance gives {true}, most by {_columns_of(row['where'])}"
    return f"{true} in the data, {synthetic} synthetic"
