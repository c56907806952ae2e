"""Does what a plug-in makes of the target, besides its parameters, tell of single records?
Importance weights would not see it.
"""

from typing import Any

import numpy as np

from riskweighted.contract.categories import categories_of
from riskweighted.contract.distribution import interval_masses
from riskweighted.contract.drawn_columns import spread_draws
from riskweighted.contract.synthesizer import is_strange
from riskweighted.sampling.block_fit import BlockFit

__all__ = ["keeps_values"]

_FOLDS = 5
_PLACES = 4
_WIDTHS = (1e-6, 1e-3, 0.02, 0.2)  # of the standard deviation of the target
_LEAST = 1e-15
# folds of noise: what is made of all records moves the chances of everybody's value alike
_TIMES = 3.0


def keeps_values(fit: BlockFit, rng: np.random.Generator | None = None) -> bool:
    """Whether a model that is prepared without a fifth of the records, at the same parameters,
    gives these records' own values less chance, beyond what it changes of the values of all others.

    A location, a scale, knots and bounds that are made of many records move everybody's chances
    alike; an atom, a spike or a kernel at a record's value moves that record's. The change of a
    chance p to q of an interval about a value is p log(p / q) - p + q, the information that as many
    Poisson counts give. True where this cannot be tried, unless the class takes from the data what
    one of the package's does.
    """
    synthesizer, n = fit.synthesizer, len(fit.confidential)
    if _takes_what_ours_takes(synthesizer):
        return False
    fold_of = (np.random.default_rng(5) if rng is None else rng).permutation(n) % _FOLDS
    try:
        held = _chances(fit, fit.prepared)
        own, others = np.zeros((2, len(_WIDTHS), _FOLDS, 2))
        for fold in range(_FOLDS):
            rest = np.flatnonzero(fold_of != fold)
            prepared = synthesizer.prepare(fit.confidential.iloc[rest])
            if categories_of(synthesizer, prepared) != fit.categories:
                return True
            told = _told(held, _chances(fit, prepared.at(fit.confidential)))
            for of, rows in ((own, fold_of == fold), (others, fold_of != fold)):
                of[:, fold] = np.stack(
                    [told[:, rows].max(axis=1), told[:, rows].mean(axis=1)], axis=1
                )
    # whatever a stranger's code says of other records, such as levels that they lack
    except Exception:
        return True
    largest, mean = (
        np.array([of[:, :, 0].max(axis=1), of[:, :, 1].mean(axis=1)]) for of in (own, others)
    )
    return bool((largest > _TIMES * mean + _LEAST).any())


def _takes_what_ours_takes(synthesizer: Any) -> bool:
    """Whether a stranger's class prepares data, and draws of them, by the methods of one of the
    package's that it extends.
    """
    made, methods = type(synthesizer), ("prepare", "distribution")
    ours = [
        base
        for base in made.__mro__[1:]
        if all(hasattr(base, name) for name in methods) and not is_strange(base)
    ]
    own = any(name in getattr(synthesizer, "__dict__", {}) for name in methods)
    return not own and any(
        all(getattr(made, name) is getattr(base, name) for name in methods) for base in ours
    )


def _chances(fit: BlockFit, prepared: Any) -> np.ndarray:
    """The mass of intervals of every width around the record's own value, at some parameters,
    (widths, n, places).
    """
    y = fit.y
    places = spread_draws(
        fit.sizes["chain"],
        fit.sizes["draw"],
        min(_PLACES, fit.sizes["chain"] * fit.sizes["draw"]),
    )
    whole, spread = bool((y == np.rint(y)).all()), float(np.std(y))
    chances = []
    for width in _WIDTHS:
        half = max(width * spread, 0.5 if whole else 0.0)
        mass = interval_masses(fit.synthesizer, prepared, y - half, y + half)
        chances.append(
            np.stack([np.asarray(mass(fit.draw(*place)), dtype=float) for place in places], axis=1)
        )
    return np.array(chances)


def _told(held: np.ndarray, without: np.ndarray) -> np.ndarray:
    """The information of each width and record, mean over parameters, (widths, n)."""
    with_it, less = np.maximum(held, _LEAST), np.maximum(without, _LEAST)
    return np.asarray((with_it * np.log(with_it / less) - with_it + less).mean(axis=2))
