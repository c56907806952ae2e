"""What something was made from: hashes of frames and files, versions of the software."""

import hashlib
import platform
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from riskweighted.common.frames import require_plain_values

__all__ = ["file_hash", "fingerprint", "versions"]

_PACKAGES = ("riskweighted", "pymc", "pytensor", "nutpie", "numba", "numpy", "pandas", "scipy", "arviz", "formulaic")


def versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}


def fingerprint(data: pd.DataFrame) -> str:
    """SHA-256 of a frame's column names, dtypes, categories, index and values; refuses cells that hold lists or tables."""
    require_plain_values(data, data.columns, "confidential data")
    dtypes = [(str(dtype), list(getattr(dtype, "categories", ()))) for dtype in data.dtypes]
    digest = hashlib.sha256(repr((list(data.columns), dtypes)).encode())
    digest.update(pd.util.hash_pandas_object(data).to_numpy().tobytes())
    return digest.hexdigest()


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
