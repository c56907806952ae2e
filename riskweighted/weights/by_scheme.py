"""The function of a record's own value that a centred scheme is made of, by the scheme's name
(METHODS section 15).
"""

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.units import Arrangement
from riskweighted.contract.centring import OwnFunction
from riskweighted.intruder.world import World
from riskweighted.risk.identification import confidential_risk
from riskweighted.weights.families import FAMILIES, Family, family_settings
from riskweighted.weights.functions import OwnWeights
from riskweighted.weights.scheme_names import SchemeName, is_given, parse_scheme
from riskweighted.weights.schemes import tuple_size
from riskweighted.weights.user_weights import given_function

if TYPE_CHECKING:
    from riskweighted.sequence.fit import Fit
    from riskweighted.weights.of_fit import FitWeights

__all__ = ["own_weights"]


def own_weights(
    world: World,
    scheme: str,
    fit: "Fit | None" = None,
    *,
    scale: float = 1,
    shift: float = 0,
    cluster: str | None = None,
    alpha: np.ndarray | None = None,
) -> OwnFunction:
    """Return the weights of a centred scheme as a function of the records' own values.

    `world`: under the scenario that synthesizes the variable alone; `fit`: that of `scheme_source`,
    if there is one; `alpha` (n,): the weights before the smallest of a cluster is taken, needed for
    a `cluster` and in a world of units.
    """
    named = parse_scheme(scheme).plain
    if is_given(named):
        _refuse_adjusted(scheme, scale, shift, cluster)
        return given_function(world, named)
    family, least = FAMILIES.get(named.name), None
    if family is not None and family.limit is not None:
        _refuse_adjusted(scheme, scale, shift, cluster if world.arrangement is None else None)
        return _of_fit(world, named, family, fit)
    shape = (
        _marginal
        if family is None or family.shape is None
        else family.shape(world, **family_settings(named.name, named.settings))
    )
    k = 1 if named.name in {"marginal", *FAMILIES} else tuple_size(named.name)
    if world.arrangement is not None:
        assert alpha is not None
        least = _least_of_earlier(alpha, world.arrangement)
    elif cluster is not None:
        assert alpha is not None
        least = _least_of_others(alpha, world.confidential[cluster])
    return OwnWeights(world, k, shape, scale, shift, least, named.text)


def _refuse_adjusted(scheme: str, scale: float, shift: float, cluster: str | None) -> None:
    if (scale, shift, cluster) != (1, 0, None):
        raise InputError(
            f"scheme {scheme!r} is centred without scale, shift and cluster: leave these out"
        )


def _of_fit(world: World, named: SchemeName, family: Family, fit: "Fit | None") -> "FitWeights":
    """Those of a family that is made of a fit."""
    from riskweighted.weights.of_fit import (
        FitWeights,
        find_scored,
        sums_before,
        weights_within,
    )

    assert fit is not None  # asked for when the weights were made
    assert family.limit is not None
    parts, vectors = find_scored(fit, world.scenario.synthetic[0], named.text)
    digest = hashlib.sha256()
    for block, *_ in parts:
        digest.update(block.weights.to_numpy(dtype=float).tobytes())
        for name in sorted(map(str, block.posterior.data_vars)):
            draws = np.ascontiguousarray(block.posterior[name].to_numpy(), dtype=float)
            digest.update(draws.tobytes())
    label = f"{named.text} {world.units!r} {world.scenario!r} {digest.hexdigest()}"
    risk = OwnWeights(world, 1, lambda risk, size: risk).at if family.reads_risk else None
    limit, before = family.limit(**family_settings(named.name, named.settings)), None
    if world.arrangement is not None:
        held = (
            confidential_risk(world).to_numpy()
            if family.reads_risk
            else np.zeros(len(world.confidential))
        )
        alpha = weights_within(limit(held), vectors, world.arrangement)
        before = sums_before(alpha, vectors, world.arrangement)
    return FitWeights(world, parts, limit, label, risk, before)


def _marginal(risk: np.ndarray, size: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 - risk)


def _least_of_earlier(alpha: np.ndarray, of: Arrangement) -> np.ndarray:
    """The smallest weight of the members before each record, (n,); infinite of a first one.

    Later members' weights read their own values, which depend on the record's: held, they would
    tell of it, and the term taken off would not be what is expected.
    """
    least = np.full(len(alpha), np.inf)
    for rows in of.by_position[1:]:
        before = of.previous[rows]
        least[rows] = np.minimum(least[before], alpha[before])
    return least


def _least_of_others(alpha: np.ndarray, clusters: pd.Series) -> np.ndarray:
    """The smallest weight of the other members of each record's cluster, (n,); infinite of a record
    alone.
    """
    codes, _ = pd.factorize(clusters, use_na_sentinel=False)
    order = np.lexsort((alpha, codes))
    begins = np.flatnonzero(np.append(True, np.diff(codes[order]) != 0))
    smallest, second = np.full(codes.max() + 1, np.inf), np.full(codes.max() + 1, np.inf)
    smallest[codes[order][begins]] = alpha[order][begins]
    more = begins[begins + 1 < len(order)]
    more = more[codes[order][more] == codes[order][more + 1]]
    second[codes[order][more]] = alpha[order][more + 1]
    holder = np.zeros(len(alpha), dtype=bool)
    holder[order[begins]] = True
    return np.asarray(np.where(holder, second[codes], smallest[codes]))
