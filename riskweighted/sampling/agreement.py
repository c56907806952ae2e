"""Do a model's graph, which is sampled, and its distribution, which is reported, say the same? Does
alpha act?

A plug-in whose ``weigh`` ignores alpha samples an unprotected posterior and looks converged; only
this comparison tells. What fails is refused by a `ContractError`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.contract.centring import Centring
from riskweighted.contract.distribution import draw_values
from riskweighted.contract.synthesizer import (
    Blueprint,
    ContractError,
    Draw,
    Synthesizer,
    keeps_true_values,
)
from riskweighted.contract.vector_layout import layout_of
from riskweighted.sampling.graphs import Records, WeightedSum
from riskweighted.sampling.laplace import heights_of

__all__ = [
    "check_agreement",
    "check_censored",
    "check_centred",
    "check_density",
    "check_draws",
    "check_records",
    "check_weighted",
]

_DIRECT_TOLERANCE = 1e-10  # of a log density by which proposals are weighted
# of sum_i alpha_i |log p_i|: sufficient statistics and single precision pass, a lost constant does
# not
_TOLERANCE = 1e-6

Terms = Callable[[Draw], np.ndarray]


def check_density(
    synthesizer: Synthesizer,
    blueprint: Blueprint,
    log_posterior: np.ndarray,
    alpha: np.ndarray,
    thetas: Sequence[Draw],
    centring: Centring | None = None,
) -> None:
    """Refuse a blueprint whose density of a vector is not, up to a constant, that of its model, at
    two draws or more.

    `log_posterior`: the model's at these draws under alpha (n,), less what a `centring` takes off;
    draws at which it is not finite, since a record is impossible, are not compared.
    """
    possible = np.isfinite(log_posterior)
    thetas = [theta for theta, there in zip(thetas, possible, strict=True) if there]
    log_posterior = log_posterior[possible]
    make, layout = blueprint.exact if centring is None else None, layout_of(blueprint)
    density = blueprint.weighted(alpha, centring) if make is None else make(alpha)
    if density is None or len(thetas) < 2:
        return
    vectors = np.array([layout.vector(theta) for theta in thetas])
    stated = log_posterior + layout.log_jacobian(vectors)
    off = (
        np.array([[density(vector)[0] for vector in vectors], heights_of(density, vectors)])
        - stated
    )
    tolerance = (
        _TOLERANCE if blueprint.direct is None or centring is not None else _DIRECT_TOLERANCE
    )
    if not np.ptp(off) <= tolerance * (np.abs(stated).max() + 1e-3):
        raise ContractError(
            f"{type(synthesizer).__name__}: the density that build() gives the sampler is not "
            "that of its model, from which it "
            "may differ by a constant only"
        )


def check_agreement(
    name: str,
    terms: Terms,
    weighted_sum: WeightedSum,
    thetas: Sequence[Draw],
    alphas: Mapping[str, np.ndarray],
) -> np.ndarray:
    """What the graph of a class gives, (draws, alphas), once it is seen to be alpha @ log_density.

    `terms` of `log_densities`, `weighted_sum` of `compile_weighted_sum`; `alphas`: weights (n,) by
    a label for the message.
    """
    sums = np.empty((len(thetas), len(alphas)))
    for row, theta in zip(sums, thetas, strict=True):
        each = terms(theta)
        for place, (label, alpha) in enumerate(alphas.items()):
            graph = row[place] = weighted_sum(theta, alpha)
            parts = np.where(alpha > 0, alpha * np.where(alpha > 0, each, 0.0), 0.0)
            if not np.isfinite(parts).all():
                continue  # an impossible record: nothing to compare
            near = _TOLERANCE * (np.abs(parts).sum() + 1e-3)
            if not abs(graph - parts.sum()) <= near:
                unweighted = weighted_sum(theta, np.ones(len(alpha)))
                wrong = _difference(label, graph, parts.sum(), unweighted, near)
                raise ContractError(f"{name}: {wrong}")
    return sums


def check_centred(
    name: str, in_graph: Sequence[float], stated: Sequence[float], alpha: np.ndarray
) -> None:
    """Refuse a synthesizer whose graph has another centring term than its distribution, at some
    draws.
    """
    if not np.abs(np.subtract(in_graph, stated)).max() <= _TOLERANCE * (np.abs(alpha).sum() + 1e-3):
        raise ContractError(
            f"{name}: the centring term of its graph is not that of mass() of its distribution"
        )


def check_records(
    name: str, terms: Terms, records: Records, thetas: Sequence[Draw], n: int
) -> None:
    """Refuse a synthesizer whose log_density of expressions is not that of numbers, record by
    record.
    """
    for theta in thetas:
        each, stated = terms(theta), records(theta)
        if stated.shape != (n,):
            raise ContractError(
                f"{name}: log_density of expressions must give {n} numbers, one a record; got "
                f"shape {stated.shape}"
            )
        finite = np.isfinite(each)
        off = int((np.abs(stated - each)[finite] > _TOLERANCE * (1 + np.abs(each[finite]))).sum())
        if off:
            raise ContractError(
                f"{name}: log_density of expressions is not that of numbers: they differ in "
                f"{off} of {n} records"
            )


def check_censored(
    name: str,
    terms: Terms,
    contributions: Callable[[Draw], np.ndarray],
    values: Mapping[str, Any],
    thetas: Sequence[Draw],
    records: Records,
    clipped: Callable[[Draw, Mapping[str, Any]], float],
) -> None:
    """What a fit under a guarantee is asked besides: what was sampled is the sum of clipped
    contributions of log_density.

    `contributions`: of the records at a draw, (n,), less the term of a centred clip by mass();
    `values` of the ``pm.Data`` of `clipped`.
    """
    n = len(contributions(thetas[0]))
    check_records(name, terms, records, thetas, n)
    for theta in thetas:
        parts = contributions(theta)
        if not abs(clipped(theta, values) - parts.sum()) <= _TOLERANCE * (
            np.abs(parts).sum() + 1e-3
        ):
            raise ContractError(
                f"{name}: the censored sum that is sampled is not that of log_density, clipped"
            )


def check_weighted(
    name: str, terms: Terms, alpha: np.ndarray, thetas: Sequence[Draw], weighted_sum: WeightedSum
) -> np.ndarray:
    """What the graph gives at the draws for alpha (n,), once graph and log_density agree and alpha
    acts (tried at one draw).
    """
    other = np.random.default_rng(0).uniform(0.1, 1.0, len(alpha))
    given = "alpha = 1" if (alpha == 1).all() else "the given alpha"
    sums = check_agreement(name, terms, weighted_sum, thetas, {given: alpha})[:, 0]
    for theta in thetas:
        if np.isfinite(
            check_agreement(name, terms, weighted_sum, [theta], {"another alpha": other})
        ).all():
            break  # the graph takes long, and compares as well at one draw
    return sums


def check_draws(
    synthesizer: Synthesizer, prepared: Any, thetas: Sequence[Draw], confidential: pd.DataFrame
) -> None:
    """What every fit is asked of its draws: n finite values."""
    n = len(confidential)
    # which it may keep, too
    gaps = (
        confidential[synthesizer.target].isna().to_numpy()
        if keeps_true_values(synthesizer)
        else False
    )
    for theta in thetas:
        values = draw_values(synthesizer, theta, prepared, np.random.default_rng(0), n)
        unusable = int((~np.isfinite(values) & ~np.asarray(gaps)).sum())
        if unusable:
            raise ContractError(
                f"{type(synthesizer).__name__}: draw gave {unusable} of {n} values that are "
                "missing or infinite; "
                "check the model, the transform and the weights"
            )


def _difference(label: str, graph: float, expected: float, unweighted: float, near: float) -> str:
    """What may be wrong, without a number: they are sums over confidential records."""
    text = (
        f"for {label} the weighted log-likelihood that build() gives the sampler is not alpha @ "
        "log_density(y) of its distribution"
    )
    if not np.isfinite(graph):
        return f"{text}: it is no finite number"
    if abs(graph + expected) <= near:
        return f"{text}: it has the opposite sign"
    if abs(graph - unweighted) <= near and label != "alpha = 1":
        return (
            f"{text}: it is the unweighted one, so weigh(alpha) does not reach it and nothing "
            "would be protected"
        )
    return f"{text}: the two must be the same number, constants included"
