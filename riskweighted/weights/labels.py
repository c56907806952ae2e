"""The label of what is synthesized without weights."""

__all__ = ["UNWEIGHTED"]

UNWEIGHTED = "unweighted"  # alpha = 1: the synthesizer that whack-a-mole is measured against
