"""One source of randomness for a study, and from it a seed of its own for every purpose."""

import hashlib
import hmac
from dataclasses import dataclass, field

__all__ = ["ENTROPY_BYTES", "Streams", "seed_for"]

_SEED_BYTES = 16
# of the draws, and of the order in which rows leave: neither is derived from the other
ENTROPY_BYTES = 2 * _SEED_BYTES


def seed_for(seed: int, purpose: str, label: str) -> int:
    """A seed of its own for every purpose and scheme, so that adding a scheme changes no other
    one.
    """
    digest = hashlib.sha256(f"{seed}/{purpose}/{label}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


@dataclass(frozen=True)
class Streams:
    """Where a run's random numbers come from. Confidential: with it the noise of the draws can be
    made again.

    ``seed``: the study's. ``entropy``: 256 secret bits, half of them for the draws and half for the
    order in which rows leave; None: reproducible, so the seed alone decides. ``key``: the secret
    that every seed of a draw is made with, from entropy, seed and what the run is about, so that an
    edited study never meets the noise of an earlier release.
    """

    seed: int = field(repr=False)
    entropy: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)

    @classmethod
    def of(cls, seed: int, entropy: bytes, about: bytes) -> "Streams":
        """Secret streams of one run, which `about` identifies: its settings and its data."""
        return cls(
            seed, entropy, hmac.digest(entropy[:_SEED_BYTES], f"{seed}/".encode() + about, "sha256")
        )

    def seed_of(self, made_for: str) -> int:
        """A seed for what a fingerprint of all its inputs names, whatever else the run is about; of
        128 bits.

        So a fit of one variable stays what it is when the settings of another one change.
        """
        if self.entropy is None:
            return seed_for(self.seed, "fit", made_for)
        return _number(self.entropy[:_SEED_BYTES], f"{self.seed}/fit/{made_for}")

    def seed_for(self, purpose: str, label: str) -> int:
        """A seed for one purpose and scheme, of 128 bits; the same as the function's where the
        streams are reproducible.
        """
        if self.key is None:
            return seed_for(self.seed, purpose, label)
        return _number(self.key, f"{purpose}/{label}")

    def order_seed(self, label: str, number: int) -> int:
        """A seed for the order of the rows of one dataset as it leaves; of 128 bits that nothing
        else is made of.
        """
        if self.entropy is None:
            return seed_for(self.seed, "order", f"{label}/{number}")
        return _number(self.entropy[_SEED_BYTES:], f"order/{label}/{number}")


def _number(secret: bytes, text: str) -> int:
    """A seed of 128 bits from a secret, for what a text names."""
    return int.from_bytes(hmac.digest(secret, text.encode(), "sha256")[:_SEED_BYTES], "little")
