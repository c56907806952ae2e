"""The words of a verdict on a fit (`check_fit`), for who reads it without making one."""

from riskweighted.measures import checks

__all__ = ["COST", "FITS", "JUDGED", "MISFITS", "MODEL", "UNJUDGED"]

FITS, MISFITS, COST, UNJUDGED = "fits", "misfits", "cost", "not judged"
JUDGED = (FITS, MISFITS)
MODEL = checks.MODEL.key  # the row of the whole model
