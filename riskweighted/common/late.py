"""Libraries that take seconds to import, and that a study which is only checked does not need."""

import warnings
from importlib import import_module
from typing import Any

__all__ = ["late"]


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
