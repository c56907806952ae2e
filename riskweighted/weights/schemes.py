"""Weights by the name of a scheme, as study files and sweeps give it."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.native import Frame, as_pandas
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import World, make_world
from riskweighted.risk.identification import confidential_risk
from riskweighted.weights.adjust import risk_weights, warn_if_flat
from riskweighted.weights.families import FAMILIES, Fits, family_alpha, family_settings
from riskweighted.weights.kway import kway_alpha
from riskweighted.weights.scheme_names import (
    BY_RISK,
    UNWEIGHTED,
    SchemeName,
    is_centred,
    is_given,
    parse_scheme,
)
from riskweighted.weights.user_weights import can_be_centred, given_alpha

if TYPE_CHECKING:
    from riskweighted.sequence.fit import Fit

__all__ = [
    "bounds_lengths",
    "is_by_risk",
    "order_schemes",
    "scheme_alpha",
    "scheme_source",
    "scheme_weights",
    "tuple_size",
    "uses_scenario",
]

_REWEIGHTED_OF = "marginal"
_WITH_SETTINGS = tuple(name for name, family in FAMILIES.items() if family.settings)


def scheme_alpha(world: World, scheme: str, fit: "Fit | Fits | None" = None) -> pd.Series:
    """Weights of a scheme as text, from checked data; `fit`: that of `scheme_source`, if there is
    one.
    """
    named = _check_scheme(parse_scheme(scheme)).plain
    if named.name in FAMILIES:
        return warn_if_flat(family_alpha(world, named.name, fit, named.settings))
    if is_given(named):
        return warn_if_flat(given_alpha(world, named))
    if named.name == UNWEIGHTED:
        return pd.Series(1.0, world.confidential.index, name="alpha")
    if named.name == "marginal":
        return risk_weights(confidential_risk(world))
    k, records = tuple_size(named.name), len(world.confidential)
    if k > max(records, 2):
        raise InputError(
            f"scheme {scheme!r} needs {k} records, and there are {records}; choose a smaller k"
        )
    return kway_alpha(world, k)


def scheme_source(scheme: str) -> str | None:
    """The scheme of whose fit a scheme's weights are made; None where they need no fit."""
    named = _check_scheme(parse_scheme(scheme)).plain
    kind = FAMILIES[named.name].fit if named.name in FAMILIES else None
    if kind not in ("weighted", "both"):
        return UNWEIGHTED if kind == "unweighted" else None
    source = named.of or _REWEIGHTED_OF
    if named.name == BY_RISK and (is_centred(source) or source == UNWEIGHTED):
        raise InputError(
            f"scheme {scheme!r}: {source!r} makes no rise that its weights could lower, or centres "
            "them; valid is a scheme without a plus, such as 'pairwise'"
        )
    if scheme_source(source) is not None:
        raise InputError(
            f"scheme {scheme!r}: {source!r} is made of a fit itself; valid is a scheme that is "
            "not, such as 'pairwise'"
        )
    return source


def bounds_lengths(scheme: str) -> bool:
    """Whether its weights bound the length of scores, which sum over the members of a unit."""
    family = FAMILIES.get(parse_scheme(scheme).plain.name)
    return family is not None and family.limit is not None


def is_by_risk(scheme: str) -> bool:
    """Whether weights are lowered where the expected risk of a fit under them rises over the
    unweighted one's, of which they are made too.
    """
    return parse_scheme(scheme).name == BY_RISK


def uses_scenario(scheme: str) -> bool:
    """Whether its weights depend on what the intruder knows and how close is close, or the weights
    of the fit that they are made of do.
    """
    named, source = _check_scheme(parse_scheme(scheme)).plain, scheme_source(scheme)
    if source is not None:
        return named.name == BY_RISK or uses_scenario(source)
    if named.name in FAMILIES:
        return FAMILIES[named.name].risk
    return named.name != UNWEIGHTED and named.column is None


def order_schemes(schemes: Sequence[str]) -> list[str]:
    """The schemes, each after the one of whose fit it is made, which must be among them."""
    sources = {scheme: scheme_source(scheme) for scheme in schemes}
    same: dict[object, str] = {}
    for scheme in sources:
        other = same.setdefault(_whole(parse_scheme(scheme)), scheme)
        if other != scheme:
            raise InputError(f"schemes {other!r} and {scheme!r} are the same: name one of them")
    for scheme, source in sources.items():
        if source is not None and source not in sources:
            raise InputError(
                f"scheme {scheme!r} is made of the fit of {source!r}: name {source!r} in "
                "weights.schemes too"
            )
    for scheme in sources:
        if is_by_risk(scheme) and UNWEIGHTED not in sources:
            raise InputError(
                f"scheme {scheme!r} is compared with the unweighted fit: name {UNWEIGHTED!r} in "
                "weights.schemes too"
            )
    return sorted(sources, key=lambda scheme: sources[scheme] is not None)


def _whole(named: SchemeName) -> object:
    """A scheme with all its settings, the same for all its spellings."""
    if named.centred:
        return "+", _whole(named.plain)
    if is_given(named):
        return named.text
    if named.name in FAMILIES:
        family = FAMILIES[named.name]
        source = (named.of or _REWEIGHTED_OF) if family.fit == "weighted" else None
        return named.name, tuple(family_settings(named.name, named.settings).items()), source
    return {"marginal": 1, UNWEIGHTED: UNWEIGHTED}.get(named.name) or tuple_size(named.name)


def _check_scheme(named: SchemeName) -> SchemeName:
    """Refuse a scheme that is not known, or has other settings than it takes, or that cannot be
    centred.
    """
    if named.centred:
        _check_centred(_check_scheme(named.plain))
        return named
    if named.name in FAMILIES:
        family_settings(named.name, named.settings)
        if named.of is not None and FAMILIES[named.name].fit not in ("weighted", "both"):
            raise InputError(
                f"scheme {named.name!r} has no setting 'of', which is that of 'reweighted'"
            )
        return named
    if is_given(named):
        return named
    if named.name not in (UNWEIGHTED, "marginal"):
        tuple_size(named.name)
    if named.settings or named.of:
        setting = next(iter(named.settings), "of")
        raise InputError(
            f"scheme {named.name!r} has no setting {setting!r}; schemes with settings are "
            f"{', '.join(_WITH_SETTINGS)}"
        )
    return named


def _check_centred(plain: SchemeName) -> None:
    """Refuse to centre what is the same for every value."""
    family, name = FAMILIES.get(plain.name), f"{plain.name}+"
    if is_given(plain):
        if not can_be_centred(plain):
            raise InputError(
                f"scheme {name!r}: its package gives no at(rows, values), a function of the "
                f"record's own value to be centred; valid is {plain.text!r}"
            )
        return
    if plain.name == UNWEIGHTED or (
        family is not None and family.limit is None and family.shape is None
    ):
        raise InputError(
            f"scheme {name!r}: its weight is the same for every value: there is nothing to "
            f"centre; valid is {plain.text!r}"
        )


def tuple_size(name: str) -> int:
    """k of "pairwise", "3-way", ..."""
    if name == "pairwise":
        return 2
    match = re.fullmatch(r"([1-9]\d{0,999})-way", name)
    if match is None:
        raise InputError(
            f"unknown weighting scheme {name!r}; valid are 'unweighted', 'marginal', 'pairwise', "
            "'3-way', '4-way', ..., 'column:NAME' of a column with weights, what packages add, "
            f"and with settings {', '.join(FAMILIES)}"
        )
    return int(match[1])


def scheme_weights(
    name: str,
    confidential: Frame,
    scenario: Scenario,
    fit: "Fit | tuple[Fit, Fit] | None" = None,
    **settings: float,
) -> pd.Series:
    """Return weights by the name of a scheme (METHODS sections 3 and 9.2).

    - "unweighted", "marginal", "pairwise", or "3-way", "4-way", ...
    - "uniform": c for all. "drop-riskiest": 0 for records whose IR^c lies above its 1 - q quantile,
      1 for the others. "power": marginal weights to the power g. "mix": 1 - t (1 - alpha), alpha
      being the marginal weights.
    - "lipschitz": clip(c (1 - (f_i - min f) / (max f - min f)) + g, 0, 1), f_i = max_s abs(log
      p(y_i | theta_s)) under the unweighted `fit`, times the survey weight if it has any; c = 1, g
      = 0 by default. "lipschitz-target": min(1, D / f_i).
    - "reweighted": clip(c alpha_i Delta / Delta_i, 0, 1), alpha and Delta being those of a weighted
      `fit`; c = 0.95 by default, 0 stays 0. The influence of its refit must be measured again:
      nothing bounds it.
    - "reweighted(by=risk)": alpha_i min(1, E0[IR_i] / E1[IR_i]) where the expected risk E1 of a
      weighted fit exceeds that of the unweighted one, E0, by ``rise`` or more; 0.02 by default. One
      step; of the pair of fits (weighted, unweighted).
    - "column:NAME": a column of the data with weights of your own, and what packages add under the
      entry points ``riskweighted.schemes``.

    Parameters
    ----------
    name : str
        The settings may stand in it: "uniform(c=0.1)".
    confidential : DataFrame, n rows
    scenario : Scenario
    fit : Fit, optional
        For "lipschitz", "lipschitz-target" (unweighted) and "reweighted".
    **settings
        c, q, g, t or D, as above.

    Returns
    -------
    Series alpha on the index of `confidential`, in [0, 1].

    Raises
    ------
    InputError
        If the scheme is unknown, lacks a setting or a fit or has one that it does not know, or
        needs more records than there are; or as for `kway_weights`.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario
    >>> rw.scheme_weights("mix(t=0.5)", data, scenario).round(2).head(4).tolist()
    [0.62, 0.63, 0.63, 0.53]
    """
    confidential = as_pandas(confidential)
    world, named = make_world(confidential, scenario), parse_scheme(str(name))
    fit = Fits(*fit) if isinstance(fit, tuple) else fit
    if settings and named.settings:
        raise InputError(
            f"scheme {name!r} has its settings in its text: give none beside it, got "
            f"{', '.join(settings)}"
        )
    if settings:
        named = _check_scheme(named._replace(settings=settings))
        return warn_if_flat(family_alpha(world, named.name, fit, settings))
    return scheme_alpha(world, named.text, fit)
