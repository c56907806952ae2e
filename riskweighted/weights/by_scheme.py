"""The function of a record's own value that a centred scheme is made of, by the scheme's name
(METHODS section 15).
"""

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.contract.centring import OwnFunction
from riskweighted.intruder.world import World
from riskweighted.weights.families import FAMILIES, Family, family_settings
from riskweighted.weights.functions import OwnWeights
from riskweighted.weights.names import SchemeName, parse_scheme
from riskweighted.weights.schemes import tuple_size

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
    a `cluster`.
    """
    named = parse_scheme(scheme).plain
    family, least = FAMILIES.get(named.name), None
    if family is not None and family.by_length is not None:
        if (scale, shift, cluster) != (1, 0, None):
            raise InputError(
                f"scheme {scheme!r} is centred without scale, shift and cluster: leave these out"
            )
        return _of_fit(world, named, family, fit)
    shape = (
        _marginal
        if family is None or family.shape is None
        else family.shape(world, **family_settings(named.name, named.settings))
    )
    k = 1 if named.name in {"marginal", *FAMILIES} else tuple_size(named.name)
    if cluster is not None:
        assert alpha is not None
        least = _least_of_others(alpha, world.confidential[cluster])
    return OwnWeights(world, k, shape, scale, shift, least, named.text)


def _of_fit(world: World, named: SchemeName, family: Family, fit: "Fit | None") -> "FitWeights":
    """Those of a family that is made of a fit."""
    from riskweighted.weights.of_fit import FitWeights, block_of

    assert fit is not None  # asked for when the weights were made
    assert family.by_length is not None
    block = block_of(fit, world.scenario.synthetic[0], named.text)
    digest = hashlib.sha256(block.weights.to_numpy(dtype=float).tobytes())
    for name in sorted(map(str, block.posterior.data_vars)):
        digest.update(np.ascontiguousarray(block.posterior[name].to_numpy(), dtype=float).tobytes())
    label = f"{named.text} {world.scenario!r} {digest.hexdigest()}"
    risk = OwnWeights(world, 1, lambda risk, size: risk).at if family.reads_risk else None
    return FitWeights(
        world, block, family.by_length(**family_settings(named.name, named.settings)), label, risk
    )


def _marginal(risk: np.ndarray, size: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 - risk)


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
