"""One rule that was found: what it says, how many records could have broken it, how many do, and how a chain declares it."""

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Declared", "Finding"]

Declared = tuple[Literal["implied", "order", "sums"], tuple[str, ...]]


@dataclass(frozen=True)
class Finding:
    """A rule. Confidential: it may name levels and codes.

    ``kind``: "implies", "never", "order", "sum", "copy", "recode" or "bands"; ``columns``; ``text``; ``could``: records that could have
    broken it; ``exceptions``: those that do; ``declared``: what a chain that keeps it is told, nothing where it cannot be.
    """

    kind: str
    columns: tuple[str, ...]
    text: str
    could: int
    exceptions: int
    declared: tuple[Declared, ...] = field(default=(), repr=False)
