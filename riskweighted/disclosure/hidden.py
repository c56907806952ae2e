"""What L datasets tell of a predictor that is not released: joined by row, and after their rows are
shuffled (METHODS section 13.5).

The copies of a record are draws given its predictors, released or not, so their likelihood under
each level of a hidden one is a test of that level. With J the symmetrised Kullback-Leibler
divergence of one copy between two levels, the rest given, the best rule on L aligned copies has an
area under the curve of Phi(sqrt(L J / 2)).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import gammaln, log_expit, logit, logsumexp
from scipy.stats import norm, rankdata

from riskweighted.common.frames import with_columns
from riskweighted.disclosure.shuffle import released_patterns
from riskweighted.sequence.fit import Fit

__all__ = ["hidden_predictors", "separation"]

_MOST_LEVELS = 10
_MOST_ROWS = 5_000
_PULLED = 20  # records of the whole that a pattern's frequencies are pulled by
_SURE = 0.95  # posterior probability at which a level is named
_TIMES = 4  # that the odds must have risen by
# records of a pattern beyond which its copies, shuffled, name nobody for what is his alone
_LARGEST = 100
_SMALL = 5
_IMPOSSIBLE = -1e3


class _Levels(NamedTuple):
    """Which level each record has (n,), from 0, and a value of the column that stands for each."""

    codes: np.ndarray
    values: list[object]


def hidden_predictors(
    fit: Fit,
    datasets: Sequence[pd.DataFrame],
    hidden: Sequence[str],
    released: Sequence[str],
    random_seed: int,
) -> pd.DataFrame:
    """What a pack of L datasets (n rows each, in those of the data) tells of each hidden predictor,
    where those released are others.

    ``J``: mean symmetrised divergence of one copy; ``AUC (formula)``: Phi(sqrt(L J / 2)); ``AUC
    (aligned)``: of the likelihood ratio of the L copies of a record among pairs of one released
    pattern; ``named``: share of the records whose level has, from their pattern's copies as they
    leave, a posterior probability of at least .95, at odds of at least 4 times those before;
    ``named (aligned)``: that of datasets joined by row; ``small``: share of the records in released
    patterns of under 5. A number of more than 10 values counts by its tenths; in patterns of more
    than 100 records nobody is named. Of more than 5,000 records, patterns are taken at random.
    Confidential.
    """
    confidential, rng = fit.confidential, np.random.default_rng(random_seed)
    codes = released_patterns(confidential, released)
    rows = _sample(codes, rng)
    codes = np.unique(codes[rows], return_inverse=True)[1]
    # the posterior is all that is known of theirs
    theta = fit.thetas(*(int(rng.integers(fit.sizes[name])) for name in ("chain", "draw")))
    copies = pd.concat([frame.iloc[rows] for frame in datasets], ignore_index=True)
    small = float((np.bincount(codes)[codes] < _SMALL).mean())
    table = []
    for name in hidden:
        levels = _levels(confidential[name].iloc[rows])
        if len(levels.values) > 1:
            terms = _terms(fit, copies, name, levels, theta).reshape(
                len(levels.values), len(datasets), len(rows)
            )
            table.append(
                {
                    "column": name,
                    **_told(terms.transpose(1, 0, 2), levels.codes, codes),
                    "small": small,
                }
            )
    return pd.DataFrame(
        table,
        columns=[
            "column",
            "J",
            "AUC (formula)",
            "AUC (aligned)",
            "named",
            "named (aligned)",
            "small",
        ],
    )


def _sample(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows of whole patterns, at random: at most 5,000, or so many of the first pattern."""
    if len(codes) <= _MOST_ROWS:
        return np.arange(len(codes))
    rank = rng.permutation(codes.max() + 1)[codes]
    order = np.argsort(rank, kind="stable")
    last = rank[order[_MOST_ROWS]]
    kept = order[rank[order] < last] if last else order[rank[order] == 0][:_MOST_ROWS]
    return np.sort(kept)


def _levels(column: pd.Series) -> _Levels:
    """The levels of a column, the rarest ones together beyond the tenth; tenths of a number of many
    values.
    """
    numeric = pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(
        column.dtype
    )
    codes, values = pd.factorize(column, use_na_sentinel=False)
    if len(values) <= _MOST_LEVELS:
        return _Levels(codes, list(values))
    if numeric:
        tenth = pd.qcut(
            column.rank(method="first", na_option="top"), _MOST_LEVELS, labels=False
        ).to_numpy()
        middles = [
            column.iloc[np.flatnonzero(tenth == part)].sort_values(ignore_index=True)
            for part in range(_MOST_LEVELS)
        ]
        return _Levels(tenth, [part.iloc[len(part) // 2] for part in middles])
    common = np.argsort(-np.bincount(codes), kind="stable")
    place = np.minimum(np.argsort(common), _MOST_LEVELS - 1)
    return _Levels(place[codes], [values[code] for code in common[:_MOST_LEVELS]])


def _terms(fit: Fit, frame: pd.DataFrame, name: str, levels: _Levels, theta: object) -> np.ndarray:
    """log p(copy | level, other predictors, theta) of every level and copy, (levels, L m), of L
    datasets of m records below each other.
    """
    made = np.empty((len(levels.values), len(frame)))
    codes = np.tile(levels.codes, len(frame) // len(levels.codes))
    for number, value in enumerate(levels.values):
        other = pd.Series([value] * len(frame), frame.index, dtype=frame[name].dtype)
        # a record's own value where it has the level
        own = frame[name].where(codes == number, other).astype(frame[name].dtype)
        log_densities = fit.drawing.log_densities(with_columns(frame, {name: own}), elsewhere=True)
        densities = log_densities(theta)  # type: ignore[arg-type]
        made[number] = np.maximum(sum(densities.values()), _IMPOSSIBLE)
    return made


def _told(terms: np.ndarray, level: np.ndarray, codes: np.ndarray) -> dict[str, float]:
    """What copies with log likelihoods (L, levels, m) tell of the level (m,) of records of released
    patterns (m,).
    """
    L, count, m = terms.shape  # noqa: N806
    prior = _prior(level, codes, count)
    divergence, areas, sizes = [], [], []
    aligned, named = np.zeros(m, dtype=bool), np.zeros(m, dtype=bool)
    for one in range(count if count > 2 else 1):
        ratio = terms[:, one] - _rest(terms, prior, one)  # (L, m)
        has = level == one
        divergence.append(ratio[:, has].mean() - ratio[:, ~has].mean())
        together = terms.sum(axis=0)
        joint = together[one] - _rest(together[None], prior, one)[0]
        area, pairs = separation(joint, has, codes)
        areas.append(area * pairs)
        sizes.append(pairs)
        for sign in (1, -1) if count == 2 else (1,):
            before = logit(prior[one]) * sign
            aligned |= _is_named(before, before + sign * joint)
            named |= _is_named(before, _shuffled(sign * ratio, codes, before))
    weights = np.bincount(level, minlength=count)[: len(divergence)] / m
    J = max(float(np.average(divergence, weights=weights)), 0.0)  # noqa: N806
    return {
        "J": J,
        "AUC (formula)": float(norm.cdf(np.sqrt(L * J / 2))),
        "AUC (aligned)": float(np.sum(areas) / np.sum(sizes)) if np.sum(sizes) else np.nan,
        "named": float(named.mean()),
        "named (aligned)": float(aligned.mean()),
    }


def _prior(level: np.ndarray, codes: np.ndarray, count: int) -> np.ndarray:
    """Probability of every level of each record, (levels, m), from the others of its released
    pattern, pulled to the whole.
    """
    overall = np.bincount(level, minlength=count) / len(level)
    counts = np.zeros((count, codes.max() + 1))
    np.add.at(counts, (level, codes), 1)
    others = counts[:, codes]
    others[level, np.arange(len(level))] -= 1
    return np.asarray((others + _PULLED * overall[:, None]) / (others.sum(axis=0) + _PULLED))


def _rest(terms: np.ndarray, prior: np.ndarray, one: int) -> np.ndarray:
    """log likelihood of any other level than one, weighted by their probabilities, (L, m), of those
    of all (L, levels, m).
    """
    others = np.delete(np.arange(terms.shape[1]), one)
    share = np.log(prior[others]) - np.log(prior[others].sum(axis=0))
    return np.asarray(logsumexp(terms[:, others] + share, axis=1))


def _is_named(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Where log odds (m,) are those of a level that is named."""
    return np.asarray((after >= logit(_SURE)) & (after - before >= np.log(_TIMES)))


def separation(score: np.ndarray, has: np.ndarray, codes: np.ndarray) -> tuple[float, int]:
    """The area under the curve of a score (m,) for records that have a level, among pairs of one
    pattern, and how many pairs there are.
    """
    won, pairs = 0.0, 0
    for rows in _patterns(codes):
        with_it = int(has[rows].sum())
        if 0 < with_it < len(rows):
            won += rankdata(score[rows])[has[rows]].sum() - with_it * (with_it + 1) / 2
            pairs += with_it * (len(rows) - with_it)
    return (won / pairs if pairs else np.nan), pairs


def _patterns(codes: np.ndarray) -> Iterator[np.ndarray]:
    """The rows of every pattern."""
    order = np.argsort(codes, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def _shuffled(ratio: np.ndarray, codes: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Log odds that a record of a pattern has a level, (m,), from log likelihood ratios (L, m)
    whose rows are exchanged within patterns.

    Every record of a pattern has the same chance: the expected number of its records with the
    level, over their number. A dataset's likelihood of c such records is the mean over all choices
    of c of its rows of the product of their ratios.
    """
    after = before.copy()
    sizes = np.bincount(codes)
    order = np.argsort(codes, kind="stable")
    starts = np.append(0, np.cumsum(sizes))
    for size in np.unique(sizes[sizes <= _LARGEST]):
        # (patterns, size)
        rows = order[starts[np.flatnonzero(sizes == size)][:, None] + np.arange(size)]
        likelihood = _of_counts(ratio[:, rows])
        mean = before[rows].mean(axis=1)
        c = np.arange(size + 1)
        choices = gammaln(size + 1) - gammaln(c + 1) - gammaln(size - c + 1)
        posterior = (
            likelihood
            + choices
            + c * log_expit(mean)[:, None]
            + (size - c) * log_expit(-mean)[:, None]
        )
        share = np.exp(posterior - logsumexp(posterior, axis=1, keepdims=True)) @ (c / size)
        after[rows] = logit(np.clip(share, 1e-12, 1 - 1e-12))[:, None]
    return after


def _of_counts(ratio: np.ndarray) -> np.ndarray:
    """Log likelihood of every number of records with the level, (patterns, size + 1), from log
    ratios (L, patterns, size).
    """
    copies, patterns, size = ratio.shape
    sums = np.full((copies, patterns, size + 1), -np.inf)  # log of the elementary symmetric sums
    sums[..., 0] = 0.0
    for row in range(size):
        sums[..., 1 : row + 2] = np.logaddexp(
            sums[..., 1 : row + 2], sums[..., : row + 1] + ratio[..., row : row + 1]
        )
    c = np.arange(size + 1)
    choices = gammaln(size + 1) - gammaln(c + 1) - gammaln(size - c + 1)
    return np.asarray((sums - choices).sum(axis=0))
