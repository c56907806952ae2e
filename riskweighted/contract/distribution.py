"""The distribution of each record's value given parameters: what everything that looks at a model
asks (METHODS section 2).
"""

import weakref
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from riskweighted.contract.synthesizer import ContractError, Draw, Records, Synthesizer

__all__ = [
    "Masses",
    "Records",
    "cached_on_arrays",
    "draw_values",
    "has_mass",
    "interval_masses",
    "is_symbolic",
    "log_densities",
    "read_only",
]

Masses = Callable[[Draw], np.ndarray]
_Found = TypeVar("_Found")


def cached_on_arrays(find: Callable[..., _Found]) -> Callable[..., _Found]:
    """The function of (prepared, array, ...) that finds what fixed arrays decide only once, for as
    long as the first of them is held.

    A distribution is made anew for every theta, and asked of the same values and intervals each
    time: `read_only` arrays, which nobody can change, are known again. Of other arrays nothing is
    kept.
    """
    known: dict[tuple[int, ...], tuple[tuple[Any, ...], _Found]] = {}

    def find_once(prepared: Any, *arrays: np.ndarray) -> _Found:
        key = (id(prepared), *map(id, arrays))
        if key in known:
            return known[key][1]
        value = find(prepared, *arrays)
        if all(isinstance(array, np.ndarray) and not array.flags.writeable for array in arrays):
            weakref.finalize(arrays[0], known.pop, key, None)
            # held, so that no other object gets their number
            known[key] = ((prepared, *arrays[1:]), value)
        return value

    return find_once


def is_symbolic(theta: Mapping[str, Any]) -> bool:
    """Whether parameters are PyTensor expressions rather than numbers."""
    return any(hasattr(value, "owner") for value in theta.values())


def read_only(values: np.ndarray) -> np.ndarray:
    """The values as an array that nobody can change: a copy, unless it is one already."""
    if isinstance(values, np.ndarray) and not values.flags.writeable:
        return values
    kept = np.array(values)
    kept.flags.writeable = False
    return kept


def has_mass(synthesizer: Synthesizer, theta: Draw, prepared: Any) -> bool:
    """Whether its distribution gives probabilities of intervals."""
    return callable(getattr(synthesizer.distribution(theta, prepared), "mass", None))


def _asked(synthesizer: Synthesizer, theta: Draw, prepared: Any, name: str) -> Callable[..., Any]:
    """A method of its distribution, refused where there is none."""
    method = getattr(synthesizer.distribution(theta, prepared), name, None)
    if not callable(method):
        raise ContractError(
            f"{type(synthesizer).__name__}: its distribution has no {name}(), which this needs"
        )
    asked: Callable[..., Any] = method
    return asked


def interval_masses(
    synthesizer: Synthesizer, prepared: Any, lower: np.ndarray, upper: np.ndarray
) -> Masses:
    """From parameters to the mass of the same intervals, (n,); what the intervals decide is found
    once.
    """
    low, high = read_only(lower), read_only(upper)
    return lambda theta: synthesizer.distribution(theta, prepared).mass(low, high)


def log_densities(
    synthesizer: Synthesizer, prepared: Any, y: np.ndarray
) -> Callable[[Draw], np.ndarray]:
    """From parameters to log p(y_i | theta) of the same values y (n,), once they are seen to be n
    numbers, (n,).
    """
    y, name, n = read_only(y), type(synthesizer).__name__, len(y)

    def terms(theta: Draw) -> np.ndarray:
        each = np.asarray(_asked(synthesizer, theta, prepared, "log_density")(y))
        if each.shape != (n,) or each.dtype.kind not in "fiu":
            raise ContractError(
                f"{name}: log_density must give {n} numbers, one a record; got shape "
                f"{each.shape}, dtype {each.dtype}"
            )
        missing = int(np.isnan(each).sum())
        if missing:
            raise ContractError(f"{name}: log_density is not a number in {missing} of {n} records")
        return each

    return terms


def draw_values(
    synthesizer: Synthesizer, theta: Draw, prepared: Any, rng: np.random.Generator, n: int
) -> np.ndarray:
    """One draw of the target for n records, (n,), once it is seen to be n numbers."""
    values = np.asarray(_asked(synthesizer, theta, prepared, "draw")(rng))
    if values.shape != (n,) or values.dtype.kind not in "fiub":
        raise ContractError(
            f"{type(synthesizer).__name__}: draw must give {n} numbers, one a record; got shape "
            f"{values.shape}, dtype {values.dtype}"
        )
    return values
