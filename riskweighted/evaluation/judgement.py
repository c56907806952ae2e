"""The words of a verdict on a fit (`check_fit`), for who reads it without making one."""

__all__ = ["COST", "FITS", "MISFITS", "MODEL"]

FITS, MISFITS, COST = "fits", "misfits", "cost"
MODEL = "check-model"  # the row of the whole model
