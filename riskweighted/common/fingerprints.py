"""What something was made from: hashes of frames and files, versions of the software."""

import hashlib
import platform
from collections.abc import Sequence
from importlib.machinery import SOURCE_SUFFIXES
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from riskweighted.common.frames import require_plain_values

__all__ = ["code_hash", "file_hash", "fingerprint", "versions"]

_PACKAGES = (
    "riskweighted",
    "pymc",
    "pytensor",
    "nutpie",
    "numba",
    "numpy",
    "pandas",
    "scipy",
    "arviz",
    "formulaic",
)


def versions(names: Sequence[str] = _PACKAGES) -> dict[str, str]:
    """Of Python and of packages, those that results depend on unless others are named; "" where one
    is not there.
    """
    return {"python": platform.python_version()} | {
        name: _version(name) for name in names if name != "python"
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def fingerprint(data: pd.DataFrame) -> str:
    """SHA-256 of a frame's column names, dtypes, categories, index and values; refuses cells that
    hold lists or tables.
    """
    require_plain_values(data, data.columns, "confidential data")
    dtypes = [(str(dtype), list(getattr(dtype, "categories", ()))) for dtype in data.dtypes]
    digest = hashlib.sha256(repr((list(data.columns), dtypes)).encode())
    digest.update(pd.util.hash_pandas_object(data).to_numpy().tobytes())
    return digest.hexdigest()


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def code_hash(function: str) -> str:
    """SHA-256 of the file of the module that "package.module:function" names; "" where there is no
    such file.
    """
    try:
        found = find_spec(function.partition(":")[0])
    except (ImportError, ValueError):
        return ""
    origin = None if found is None else found.origin
    return (
        file_hash(Path(origin))
        if origin is not None and Path(origin).suffix in SOURCE_SUFFIXES
        else ""
    )
