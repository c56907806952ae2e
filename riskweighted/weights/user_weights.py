"""Weights of one's own: a column of the file, and schemes that installed packages add
(`riskweighted.schemes`).
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_choice
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import check_weights, require_columns, with_columns
from riskweighted.data.io import read_table
from riskweighted.intruder.world import World, make_world
from riskweighted.weights.functions import GivenWeights
from riskweighted.weights.scheme_names import (
    DEPENDS,
    FILE,
    GROUP,
    OWN,
    PUBLIC,
    SchemeName,
    is_given,
    package_schemes,
    parse_scheme,
)

__all__ = [
    "can_be_centred",
    "depends_of",
    "given_alpha",
    "given_function",
    "id_of_weights",
    "joined_weights",
    "source_of",
]

_TRIED = 20  # records that are left out to see whether the weights of others change
_SAME = 1e-9


class _Scheme(NamedTuple):
    """What a package adds: weights (n,) of a `World`, a function of rows (m) and values (G) to
    weights (m, G), or both; and on what the weights depend, as it says.
    """

    alpha: Callable[[World], Any] | None
    at: Callable[[pd.DataFrame, pd.Series], np.ndarray] | None
    depends: str


def _scheme(named: SchemeName) -> _Scheme:
    """The scheme of a package, with its settings."""
    name, settings = named.plain.name, dict(named.settings)
    try:
        kind = package_schemes()[name].load()
        made = kind(**settings) if isinstance(kind, type) else partial(kind, **settings)
    except Exception as error:
        raise InputError(
            f"scheme {name!r} of {GROUP} cannot be loaded with the settings "
            f"{', '.join(settings) or 'none'}: {type(error).__name__}"
        ) from error
    alpha = getattr(made, "alpha", None) if isinstance(kind, type) else made
    scheme = _Scheme(alpha, getattr(made, "at", None), getattr(kind, "depends", FILE))
    if not callable(scheme.alpha) and not callable(scheme.at):
        raise InputError(
            f"scheme {name!r} of {GROUP} must be a function of a World, or a class with "
            "alpha(world) or at(rows, values)"
        )
    check_choice(scheme.depends, DEPENDS, f"depends of scheme {name!r}")
    return scheme


def given_alpha(world: World, named: SchemeName) -> pd.Series:
    """The weights of a column or of a package's scheme, (n,), checked."""
    data, what = world.confidential, f"weights of scheme {named.text!r}"
    if named.column is not None:
        require_columns(data, [named.column], f"confidential data ({named.text})")
        alpha = check_weights(data[named.column].rename("alpha"), data.index, what=what)
        if len(alpha) > 1 and alpha.nunique() == 1:
            raise InputError(f"{what} are the same for all records: write 'uniform(c=...)'")
        return alpha
    scheme = _scheme(named)
    try:
        if scheme.alpha is not None:
            made = np.asarray(scheme.alpha(world))
        else:
            made = given_function(world, named).alpha().to_numpy()
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"scheme {named.text!r} of {GROUP} raised {type(error).__name__}"
        ) from error
    return check_weights(made, data.index, what=what).rename("alpha")


def given_function(world: World, named: SchemeName) -> GivenWeights:
    """The weights of a package's scheme as a function of the records' own values."""
    at = _scheme(named).at
    assert at is not None  # asked for when the scheme was checked
    return GivenWeights(world, at)


def can_be_centred(named: SchemeName) -> bool:
    """Whether there is a function of the record's own value to centre."""
    return named.column is None and _scheme(named).at is not None


def source_of(scheme: str) -> str | None:
    """Where weights of one's own come from, in words; None of a scheme of ours."""
    named = parse_scheme(scheme)
    if not is_given(named):
        return None
    if named.column is not None:
        return f"column {named.column!r}"
    package = package_schemes()[named.plain.name].dist
    return "a package" if package is None else f"package {package.name} {package.version}"


def id_of_weights(file: Path) -> str:
    """The first column of a csv of weights, which tells the records apart."""
    return str(read_table(file).columns[0])


def joined_weights(data: pd.DataFrame, file: Path) -> pd.DataFrame:
    """The data with the other columns of a csv, whose first column is an id of the records."""
    table = read_table(file)
    key, place = str(table.columns[0]), f"weights.file {file.name!r}"
    columns = [str(name) for name in table.columns[1:]]
    require_columns(data, [key], f"confidential data (the id of {place})")
    if both := [name for name in columns if name in data]:
        raise InputError(f"{place} has {listing(both)}, which the data have too: name one of them")
    repeated = int(table[key].duplicated().sum()) + int(data[key].duplicated().sum())
    if repeated:
        raise InputError(
            f"{place}: {key!r} must identify records, and {repeated} of its values repeat"
        )
    lacking = int((~data[key].isin(table[key])).sum())
    if lacking:
        raise InputError(f"{place} has no row for {lacking:,} of {len(data):,} records, by {key!r}")
    rows = table.set_index(key)[columns].reindex(data[key]).set_axis(data.index)
    return pd.concat([data, rows], axis=1)


def depends_of(world: World, scheme: str, stated: str | None = None) -> str | None:
    """Whether weights of one's own are "public", depend on the record's "own" value, or on others'
    ("file"); None of a scheme of ours.

    A column depends on what is stated, "file" by default. A package's scheme is held to what is
    stated, or what it says itself: it is asked without each of twenty records, and with their
    values exchanged.
    """
    named = parse_scheme(scheme)
    if not is_given(named):
        return None
    if named.column is not None:
        return stated or FILE
    worlds = [each.only(name) for each in world.each for name in world.scenario.synthetic]
    seen = [_seen(alone, named) for alone in worlds]
    return max([stated or _scheme(named).depends, *seen], key=DEPENDS.index)


def _seen(world: World, named: SchemeName) -> str:
    """What the weights of a package's scheme are seen to depend on, of one variable."""
    data, (name,) = world.confidential, world.scenario.synthetic
    alpha, n = given_alpha(world, named).to_numpy(), len(data)
    tried = np.unique(np.linspace(0, n - 1, _TRIED).astype(int))
    for record in tried:
        others = np.delete(np.arange(n), record)
        without = given_alpha(make_world(data.iloc[others], world.scenario), named).to_numpy()
        if np.abs(without - alpha[others]).max(initial=0.0) > _SAME:
            return FILE
    moved = data[name].copy()
    moved.iloc[tried] = data[name].iloc[np.roll(tried, 1)].array
    change = (
        given_alpha(make_world(with_columns(data, {name: moved}), world.scenario), named) - alpha
    )
    others = np.delete(np.arange(n), tried)
    if change.iloc[others].abs().max() > _SAME:
        return FILE
    return OWN if change.abs().max() > _SAME else PUBLIC
