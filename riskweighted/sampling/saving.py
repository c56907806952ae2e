"""A posterior as netCDF that carries its own checksum, and hashes of what it was made for."""

import hashlib
import io
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from riskweighted.common.errors import InputError
from riskweighted.contract.synthesizer import Synthesizer

__all__ = [
    "BLANK",
    "add_checksum",
    "check_checksum",
    "data_hash",
    "read_sealed",
    "seal",
    "weights_hash",
]

BLANK = b"sha256:" + b"0" * 64  # stands in the file while its checksum is computed


def seal(stored: xr.Dataset) -> bytes:
    """NetCDF with the attribute ``checksum``, the SHA-256 of the file in which 64 zeros stand for
    it; every NaN has the same bits.
    """
    gaps = {
        name: values
        for name, values in stored.data_vars.items()
        if values.dtype.kind == "f" and np.isnan(values).any()
    }
    stored = stored.assign(
        {
            name: values.copy(data=np.where(np.isnan(values), np.nan, values))
            for name, values in gaps.items()
        }
    )
    return add_checksum(
        bytes(stored.assign_attrs(checksum=BLANK.decode()).to_netcdf(engine="scipy"))
    )


def add_checksum(content: bytes) -> bytes:
    """What holds `BLANK`, with the checksum of all of it in that place."""
    return content.replace(BLANK, _checksum(content))


def check_checksum(content: bytes, name: object) -> None:
    """Refuse what `add_checksum` did not make, or any bit of which has changed since; its own
    checksum is the last one in it.
    """
    checksums = re.findall(rb"sha256:[0-9a-f]{64}", content)
    if not checksums or _checksum(content.replace(checksums[-1], BLANK)) != checksums[-1]:
        raise InputError(f"{str(name)!r} is no saved fit, or is damaged: its checksum differs")


def read_sealed(path: Path | zipfile.Path) -> xr.Dataset:
    """What `seal` made of a dataset, without the checksum; InputError where it cannot be read, or
    any bit of it has changed.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{str(path)!r} is no saved fit ({type(error).__name__})") from None
    check_checksum(content, path)
    with xr.open_dataset(io.BytesIO(content), engine="scipy") as stored:
        loaded = stored.load()
    del loaded.attrs["checksum"]
    return loaded


def _checksum(content: bytes) -> bytes:
    return b"sha256:" + hashlib.sha256(content).hexdigest().encode()


def data_hash(synthesizer: Synthesizer, fingerprint: str) -> str:
    """Of a synthesizer with its settings, and of the data by their fingerprint."""
    return hashlib.sha256(f"{synthesizer!r} {fingerprint}".encode()).hexdigest()


def weights_hash(alpha: pd.Series) -> str:
    """Of weights (n,) to one millionth, since a csv file may give them back with another last
    digit.
    """
    return hashlib.sha256(
        np.rint(alpha.to_numpy(dtype=float) * 1e6).astype("<i8").tobytes()
    ).hexdigest()
