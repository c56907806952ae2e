"""One seed for a study, and from it a seed of its own for every purpose."""

import hashlib

__all__ = ["seed_for"]


def seed_for(seed: int, purpose: str, label: str) -> int:
    """A seed of its own for every purpose and scheme, so that adding a scheme changes no other one."""
    digest = hashlib.sha256(f"{seed}/{purpose}/{label}".encode()).digest()
    return int.from_bytes(digest[:8], "little")
