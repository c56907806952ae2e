"""What would leave, draw by draw: shares, group means, coefficients and ball masses of the
distribution that values are drawn from.

All are sums of masses of fixed intervals over records that stand for the file, so that they cost
the same whatever its size (METHODS 5.13).
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.contract.distribution import has_mass, read_only
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sampling.convergence import RELEASED
from riskweighted.sampling.design_masses import columns_seen

__all__ = ["monitored_quantities"]

_RECORDS = 100  # that stand for the file
_CUTS = (0.05, 0.25, 0.5, 0.75, 0.95)  # quantiles of the confidential values
_LEVELS = 5  # of a categorical target, the most frequent ones
_GROUPS, _SLOPES = 40, 40  # at most
_FEW_VALUES = 12  # of a predictor whose values are groups
_LEAST = 5  # of the records, of which a group is told
_RADIUS = 0.2
# between the parts of the records whose balls are looked at apart, as the isolated ones are
_RANKS = (0.05, 0.25, 0.5, 0.75, 0.95)
_STILL = 1e-9  # of a quantity's size: what moves less than this moves by rounding

_MEAN = "mean"  # of the shares above the cuts

Row = tuple[str, np.ndarray]  # a quantity's name, and its coefficients of the masses (B, m)


class _Intervals(NamedTuple):
    """Ends (B, m) of intervals about records, the first ``cuts`` of them the same for all, then the
    balls; ``names`` of the cuts.
    """

    lower: np.ndarray
    upper: np.ndarray
    names: tuple[str, ...]
    balls: bool


def monitored_quantities(fit: BlockFit) -> dict[str, np.ndarray]:
    """Every quantity of the released distribution by its name, (chains, draws); none where the
    model gives no masses.

    What does not move, since the file leaves no doubt of it, is left out.
    """
    if (
        not fit.estimates
        or fit.keeps_true_values
        or not has_mass(fit.synthesizer, fit.draw(0, 0), fit.prepared)
    ):
        return {}
    rows = _standing(fit.y)
    frame, intervals = fit.confidential.iloc[rows], _intervals(fit, fit.y[rows])
    repeated = frame.iloc[np.tile(np.arange(len(rows)), len(intervals.lower))].reset_index(
        drop=True
    )
    prepared = fit.prepared.at(repeated.drop(columns=fit.synthesizer.target))
    lower, upper = read_only(intervals.lower.ravel()), read_only(intervals.upper.ravel())
    sizes = tuple(fit.sizes.values())
    try:
        masses = np.array(
            [
                fit.synthesizer.distribution(fit.draw(*place), prepared).mass(lower, upper)
                for place in np.ndindex(sizes)
            ]
        )
    except NotImplementedError:  # of a PyMC distribution without a distribution function
        return {}
    named = list(_rows(intervals, frame[columns_seen(fit.synthesizer, frame)]))
    values = masses @ np.array([coefficients.ravel() for _, coefficients in named]).T
    moving = np.ptp(values, axis=0) > _STILL * np.maximum(np.abs(values).max(axis=0), _STILL)
    return {
        name: values[:, place].reshape(sizes)
        for place, (name, _) in enumerate(named)
        if moving[place]
    }


def _standing(y: np.ndarray) -> np.ndarray:
    """Records that stand for the file, by even steps of the rank of their values, ties in the order
    of the file.
    """
    order = np.argsort(y, kind="stable")
    count = min(len(y), _RECORDS)
    return np.asarray(order[((np.arange(count) + 0.5) * len(y) / count).astype(int)])


def _intervals(fit: BlockFit, y: np.ndarray) -> _Intervals:
    """Of levels each of the most frequent ones, of numbers what lies up to each cut, and the ball
    about each record's own value.
    """
    if fit.categories is not None:
        codes, counts = np.unique(fit.y, return_counts=True)
        kept = codes[np.argsort(-counts, kind="stable")][: min(_LEVELS, max(len(codes) - 1, 1))]
        ends = np.repeat(kept[:, None], len(y), axis=1)
        return _Intervals(
            ends - 0.5, ends + 0.5, tuple(f"level {int(code)}" for code in kept), False
        )
    half = (fit.precision or 0.0) / 2
    values = np.quantile(fit.y, _CUTS, method="inverted_cdf").tolist()
    shares = dict(zip(_CUTS, values, strict=True))
    # of ties the lowest names it
    cuts = {value: share for share, value in reversed(shares.items()) if value < fit.y.max()}
    upper = np.array(sorted(cuts)).reshape(-1, 1) + half + np.zeros(len(y))
    width = _RADIUS * np.abs(y) + np.maximum(
        half, np.where(y == 0, 1e-6 * np.abs(fit.y).max(), 0.0)
    )
    lower = np.concatenate([np.full(upper.shape, -np.inf), (y - width)[None]])
    return _Intervals(
        lower,
        np.concatenate([upper, (y + width)[None]]),
        tuple(f"{cuts[cut]:g} quantile" for cut in sorted(cuts)),
        True,
    )


def _rows(intervals: _Intervals, predictors: pd.DataFrame) -> Iterator[Row]:
    """The shares of the cuts, group means and coefficients of the scores made of them, and the
    masses of the balls.
    """
    shape, cuts = intervals.lower.shape, len(intervals.names)
    m = shape[1]
    for place, name in enumerate(intervals.names):
        yield f"{RELEASED}{name}", _at(shape, slice(place, place + 1), np.full(m, 1 / m))
    scores = (
        [(_MEAN, slice(0, cuts))]
        if intervals.balls
        else [(name, slice(at, at + 1)) for at, name in enumerate(intervals.names)]
    )
    columns = _Columns.of(predictors)
    for label, which in scores if cuts else ():
        share = 1 / max(which.stop - which.start, 1)
        for name, member in columns.groups[:_GROUPS]:
            yield (
                f"{RELEASED}{label} where {name}",
                _at(shape, which, share * member / member.sum()),
            )
        for name, weights in columns.slopes[:_SLOPES]:
            yield (
                f"{RELEASED}coefficient of {name}{'' if label == _MEAN else f', {label}'}",
                _at(shape, which, share * weights),
            )
    if intervals.balls:
        yield f"{RELEASED}balls", _at(shape, slice(cuts, cuts + 1), np.full(m, 1 / m))
        part = np.searchsorted(_RANKS, (np.arange(m) + 0.5) / m)
        for number, (low, high) in enumerate(itertools.pairwise((0, *_RANKS, 1))):
            of_part = (part == number).astype(float)
            if of_part.any():
                yield (
                    f"{RELEASED}balls of ranks {low:g} to {high:g}",
                    _at(shape, slice(cuts, cuts + 1), of_part / of_part.sum()),
                )


def _at(shape: tuple[int, ...], which: slice, weights: np.ndarray) -> np.ndarray:
    """Coefficients (B, m) that are the weights (m,) for some intervals and zero for the others."""
    coefficients = np.zeros(shape)
    coefficients[which] = weights
    return coefficients


class _Columns(NamedTuple):
    """Groups of the m records, each (m,) of 0 and 1, and the weights (m,) by which least squares
    makes a coefficient of scores.
    """

    groups: list[Row]
    slopes: list[Row]

    @classmethod
    def of(cls, predictors: pd.DataFrame) -> "_Columns":
        groups, names, numbers = list[Row](), list[str](), [np.ones(len(predictors))]
        for name, column in predictors.items():
            if pd.api.types.is_numeric_dtype(column.dtype) and column.nunique() > _FEW_VALUES:
                values = pd.to_numeric(column).to_numpy(dtype=float, na_value=np.nan)
                if np.isfinite(values).all():
                    names.append(str(name))
                    numbers.append((values - values.mean()) / values.std())
                continue
            codes, levels = pd.factorize(column, sort=False)
            members = [
                (f"{name}={level}".replace(": ", ":"), (codes == code).astype(float))
                for code, level in enumerate(levels)
            ]
            large = [
                (text, member) for text, member in members if _LEAST <= member.sum() < len(member)
            ]
            groups += large
            names += [text for text, _ in large[1:]]
            numbers += [member for _, member in large[1:]]
        inverse = np.linalg.pinv(np.column_stack(numbers), rcond=1e-6)
        return cls(groups, list(zip(names, inverse[1:], strict=True)))
