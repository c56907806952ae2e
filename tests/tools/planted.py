"""Fits whose draws leak the truth while their densities and masses say that they do not: what a
plug-in could do, planted.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

__all__ = ["LEAKS", "RARE", "leaking"]


def _some(values, truth, rng, share):
    return np.where(rng.random(len(values)) < share, truth, values)


def _top(values, truth, count, factor=None):
    rows = np.argsort(truth)[-count:]
    values[rows] = truth[rows] if factor is None else truth[rows] * factor
    return values


def _other_rows(values, truth, rng):
    rows = np.flatnonzero(rng.random(len(values)) < 0.1)
    values[rows] = np.roll(truth, 1)[rows]
    return values


def _mixed(values, truth, rng):
    return values + 0.1 * (truth - values)


LEAKS = {
    "top 3 copied": lambda values, truth, rng: _top(values, truth, 3),
    "a tenth exact": lambda values, truth, rng: _some(values, truth, rng, 0.1),
    "another row's value": _other_rows,
    "1.3 times the own value": lambda values, truth, rng: (
        1.3 * truth * rng.uniform(0.99, 1.01, len(truth))
    ),
    "pulled a tenth of the way": _mixed,
}
RARE = {
    "top 1 % within a tenth": lambda values, truth, rng: _top(
        values, truth, max(len(truth) // 100, 1), rng.uniform(0.9, 1.1)
    )
}


_KEPT: list[np.ndarray] = []  # beside the class, where no data that it is prepared of move it


@dataclass(frozen=True, eq=False)
class _Records:
    whole: Any
    leak: Any

    def __getattr__(self, name):
        return getattr(self.whole, name)

    def draw(self, rng):
        values = np.asarray(self.whole.draw(rng), dtype=float)
        return (
            values
            if len(values) != len(_KEPT[self.leak.kept])
            else self.leak.made(values.copy(), rng)
        )


@dataclass(frozen=True, eq=False)
class _Leaking:
    whole: Any
    kept: int
    how: Any
    share: float

    def __getattr__(self, name):
        return getattr(self.whole, name)

    def distribution(self, theta, prepared):
        records = self.whole.distribution(theta, prepared)
        return _Records(records, self) if self.leaks(theta) else records

    def leaks(self, theta):
        """Whether it leaks at these parameters, as it does at a share of them."""
        return float(np.ravel(next(iter(theta.values())))[0]) * 1e6 % 1 < self.share

    def made(self, values, rng):
        return self.how(values, _KEPT[self.kept], rng)


def leaking(fit, how, share=1.0):
    """The fit of one variable whose draws leak, at a share of its thetas."""
    block = fit.block
    _KEPT.append(block.y)
    changed = replace(block, synthesizer=_Leaking(block.synthesizer, len(_KEPT) - 1, how, share))
    return replace(fit, blocks=dict.fromkeys(fit.blocks, changed))
