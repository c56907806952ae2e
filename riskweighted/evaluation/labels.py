"""How the rows of a table are labelled that are no scheme's."""

__all__ = ["CONFIDENTIAL"]

CONFIDENTIAL = "confidential"  # the confidential data's own rows
