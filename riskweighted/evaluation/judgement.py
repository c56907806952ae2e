"""The words of a verdict on a fit (`check_fit`), for who reads it without making one."""

from typing import TYPE_CHECKING

from riskweighted.measures import checks

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["COST", "FITS", "JUDGED", "MISFITS", "MODEL", "UNJUDGED", "judged_rows"]

FITS, MISFITS, COST, UNJUDGED = "fits", "misfits", "cost", "not judged"
JUDGED = (FITS, MISFITS)
MODEL = checks.MODEL.key  # the row of the whole model


def judged_rows(table: "pd.DataFrame") -> "pd.DataFrame":
    """The single checks of a table of `check_fit` that judge the model, as those of weighted fits do not."""
    return table[(table["verdict"] != COST) & (table["check"] != MODEL)]
