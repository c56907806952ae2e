"""The words of a verdict on a fit (`check_fit`), for who reads it without making one."""

from riskweighted.measures import checks

__all__ = ["COST", "FITS", "MISFITS", "MODEL"]

FITS, MISFITS, COST = "fits", "misfits", "cost"
MODEL = checks.MODEL.key  # the row of the whole model
