"""The ledger of a fit under a guarantee: entropy kept with its posterior, which alone decides its L
datasets (METHODS section 9.3).
"""

import hashlib
import secrets

import numpy as np
import xarray as xr

from riskweighted.common.errors import InputError

__all__ = ["CHANGED", "LEDGER", "entropy_of", "open_ledger", "without_ledger"]

LEDGER = "ledger"  # the attribute of a posterior
CHANGED = (
    "this fit was changed after it was made under a guarantee (its draws, data, model, clip, L "
    "or ledger are others), so nothing can be "
    "drawn from it; fit again"
)
_BITS = 128
_NOT_LEAVING = "of datasets that do not leave"
# digests of the draws of this process that a guarantee was seen of: to drop it drops no draw
_GUARANTEED: set[str] = set()


def open_ledger(posterior: xr.Dataset, clip: str, random_seed: int | None, of: str) -> xr.Dataset:
    """A posterior with its ledger: fresh secret entropy, or what follows from the seed that it was
    sampled with, and a seal.

    `clip`: the digest of the mechanism, L included (`Censoring.digest`); `of`: that of the model
    and its data, which the seal holds too.
    """
    if random_seed is None:
        entropy = f"{secrets.randbits(_BITS):032x}"
    else:
        entropy = hashlib.sha256(f"ledger {random_seed} {clip}".encode()).hexdigest()[: _BITS // 4]
    return posterior.assign_attrs(
        {LEDGER: f"{entropy} {_seal(posterior, f'{clip} {of}', entropy)}"}
    )


def entropy_of(posterior: xr.Dataset, clip: str | None, of: str) -> int | None:
    """The entropy of a posterior's ledger; None without guarantee and ledger.

    InputError where one of the two is there without the other, the ledger is that of other draws,
    of another clip, model or data, or both were dropped from draws that had them.
    """
    held = str(posterior.attrs.get(LEDGER, ""))
    if clip is None and held in ("", _NOT_LEAVING):
        if not held and _GUARANTEED and _seal(posterior) in _GUARANTEED:
            raise InputError(CHANGED)
        return None
    entropy, _, seal = held.partition(" ")
    if not entropy or clip is None or seal != _seal(posterior, f"{clip} {of}", entropy):
        raise InputError(CHANGED)
    if len(posterior.data_vars):
        _GUARANTEED.add(_seal(posterior))
    return int(entropy, 16)


def without_ledger(posterior: xr.Dataset) -> xr.Dataset:
    """The posterior as that of a fit without a guarantee, for datasets that do not leave."""
    return posterior.assign_attrs({LEDGER: _NOT_LEAVING})


def _seal(posterior: xr.Dataset, made_for: str = "", entropy: str = "") -> str:
    """Of the draws, of what they were made for, and of the entropy."""
    sealed = hashlib.sha256(f"{entropy} {made_for}".encode())
    for name in sorted(map(str, posterior.data_vars)):
        values = np.array(posterior[name].values, dtype="<f8")
        values[np.isnan(values)] = np.nan  # of one bit pattern
        sealed.update(f"{name} {values.shape}".encode() + values.tobytes())
    return sealed.hexdigest()
