"""The one scheme that others are compared with, by its name; apart, so that a reader of tables waits for no kernel."""

__all__ = ["UNWEIGHTED"]

UNWEIGHTED = "unweighted"  # alpha = 1: the synthesizer that whack-a-mole is measured against
