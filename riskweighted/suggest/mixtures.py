"""A mixture for a continuous variable: on which scale, and of how many components; by the values
alone, without predictors.
"""

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np

from riskweighted.contract.synthesizer import load_synthesizer, probability_mass, synthesizer_names
from riskweighted.suggest.columns import skewness

__all__ = ["Mixture", "suggest_mixture"]

_MOST, _RECORDS = 5, 5000  # components; records that are looked at
# of expectation and maximisation, and the rise per record that ends them
_STEPS, _STILL = 300, 1e-6
_LEAST_SPREAD = 0.05  # of the standard deviation of all: narrower components are heaps


class Mixture(NamedTuple):
    """A registered mixture, the ``transform`` with its constant ("" for counts), the number of
    ``components``; and why.
    """

    name: str
    transform: str
    constant: float
    components: int
    why: str


def suggest_mixture(values: np.ndarray, counts: bool) -> Mixture | None:
    """A mixture for values (n,); None where no registered synthesizer is one of their kind."""
    name = _registered(counts)
    if name is None or len(values) < 2 * _MOST or values.std() == 0:
        return None
    some = (
        values
        if len(values) <= _RECORDS
        else np.random.default_rng(0).choice(values, _RECORDS, replace=False)
    )
    transform, constant, why = ("", 1.0, "") if counts else _transform(some)
    scaled = np.sqrt(some + 3 / 8) if counts else _on_scale(some, transform, constant)
    scores = [
        _bic((scaled - scaled.mean()) / scaled.std(), number) for number in range(1, _MOST + 1)
    ]
    return Mixture(name, transform, constant, 1 + int(np.argmin(scores)), why)


def _registered(counts: bool) -> str | None:
    """The first synthesizer with a number of components; of counts one whose likelihood is a
    probability.
    """
    for name in synthesizer_names():
        kind: Any = load_synthesizer(name)
        fields = (
            {setting.name for setting in dataclasses.fields(kind)}
            if dataclasses.is_dataclass(kind)
            else set()
        )
        if (
            "components" in fields
            and counts == probability_mass(kind)
            and (counts or "transform" in fields)
        ):
            return name
    return None


def _transform(values: np.ndarray) -> tuple[str, float, str]:
    """The scale on which values are least skews, its constant, and their skewness before and after
    in words.
    """
    constant = 10.0 ** math.floor(math.log10(np.median(np.abs(values[values != 0]))))
    candidates = ("identity", "log") if values.min() > 0 else ("identity", "asinh")
    skews = {name: skewness(_on_scale(values, name, constant)) for name in candidates}
    best = min(
        skews,
        key=lambda name: (
            (abs(skews[name]) > 0.5, abs(skews[name]))
            if name != "identity"
            else (abs(skews[name]) > 0.5, 0.0)
        ),
    )
    told = ", ".join(
        f"{skews[name]:.1f} {'as recorded' if name == 'identity' else f'of the {name}'}"
        for name in candidates
    )
    return best, constant, f"skewness {told}"


def _on_scale(values: np.ndarray, transform: str, constant: float) -> np.ndarray:
    if transform == "identity":
        return values
    scaled: np.ndarray = np.log(values) if transform == "log" else np.arcsinh(values / constant)
    return scaled


def _bic(z: np.ndarray, number: int) -> float:
    """Schwarz's criterion of a normal mixture with this number of components, by EM from quantiles;
    smaller is better. z (n,).
    """
    centre = np.quantile(z, (np.arange(number) + 0.5) / number)
    spread, weight, before = np.full(number, 1 / number), np.full(number, 1 / number), -np.inf
    for _ in range(_STEPS):
        parts = np.log(weight) - np.log(spread) - 0.5 * ((z[:, None] - centre) / spread) ** 2
        total = np.logaddexp.reduce(parts, axis=1)
        height = float(total.mean())
        if height - before < _STILL:
            break
        before = height
        share = np.exp(parts - total[:, None])
        held = share.sum(0) + 1e-9
        weight, centre = held / held.sum(), share.T @ z / held
        spread = np.maximum(
            np.sqrt((share * (z[:, None] - centre) ** 2).sum(0) / held), _LEAST_SPREAD
        )
    return -2 * len(z) * height + (3 * number - 1) * math.log(len(z))
