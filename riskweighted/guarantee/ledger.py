"""The ledger of a fit under a guarantee: entropy kept with its posterior, which alone decides its L datasets (METHODS section 9.3)."""

import hashlib
import secrets

import numpy as np
import xarray as xr

from riskweighted.common.errors import InputError

__all__ = ["LEDGER", "entropy_of", "opened", "without_ledger"]

LEDGER = "ledger"  # the attribute of a posterior
_BITS = 128


def opened(posterior: xr.Dataset, clip: str, random_seed: int | None) -> xr.Dataset:
    """A posterior with its ledger: fresh secret entropy, or what follows from the seed that it was sampled with, and a seal.

    `clip`: the digest of the mechanism, L included (`Censoring.digest`).
    """
    if random_seed is None:
        entropy = f"{secrets.randbits(_BITS):032x}"
    else:
        entropy = hashlib.sha256(f"ledger {random_seed} {clip}".encode()).hexdigest()[: _BITS // 4]
    return posterior.assign_attrs({LEDGER: f"{entropy} {_seal(posterior, clip, entropy)}"})


def entropy_of(posterior: xr.Dataset, clip: str | None) -> int | None:
    """The entropy of a posterior's ledger; None without guarantee and ledger.

    InputError where one of the two is there without the other, or the ledger is that of other draws or of another clip.
    """
    entropy, _, seal = str(posterior.attrs.get(LEDGER, "")).partition(" ")
    if not entropy and clip is None:
        return None
    if not entropy or clip is None or seal != _seal(posterior, clip, entropy):
        raise InputError(
            "this fit was changed after it was made under a guarantee (its draws, clip, L or ledger are others), so nothing can be drawn "
            "from it; fit anew"
        )
    return int(entropy, 16)


def without_ledger(posterior: xr.Dataset) -> xr.Dataset:
    """The posterior as that of a fit without a guarantee, for datasets that do not leave."""
    bare = posterior.copy()
    bare.attrs.pop(LEDGER, None)
    return bare


def _seal(posterior: xr.Dataset, clip: str, entropy: str) -> str:
    """Of the draws, the clip and the entropy."""
    sealed = hashlib.sha256(f"{entropy} {clip}".encode())
    for name in sorted(map(str, posterior.data_vars)):
        values = np.array(posterior[name].values, dtype="<f8")
        values[np.isnan(values)] = np.nan  # of one bit pattern
        sealed.update(f"{name} {values.shape}".encode() + values.tobytes())
    return sealed.hexdigest()
