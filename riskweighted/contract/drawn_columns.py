"""From posterior draws to L synthetic datasets that look like the confidential one."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_count
from riskweighted.common.errors import InputError
from riskweighted.contract.synthesizer import ContractError

__all__ = ["as_column", "check_codes", "check_room", "levels_at", "random_draws", "spread_draws"]


def spread_draws(chains: int, draws: int, count: int) -> list[tuple[int, int]]:
    """`count` distinct (chain, draw) pairs, always the same ones: chains in turn, and within a
    chain evenly spaced.
    """
    check_count(count, most=chains * draws)
    return _in_turn(
        chains,
        count,
        lambda share: np.floor((np.arange(share) + 0.5) * draws / max(share, 1)).astype(int),
    )


def random_draws(
    chains: int, draws: int, count: int, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """`count` distinct (chain, draw) pairs at random: chains in turn, and within a chain one draw
    of every stretch (METHODS section 5.4).

    Each chain is a ring cut at a random place into stretches of equal length, to a draw. So every
    pair is as likely as any other.
    """
    check_count(count, most=chains * draws)

    def places(share: int) -> np.ndarray:
        ends = np.arange(share + 1) * draws // max(share, 1)
        return np.sort((rng.integers(draws) + rng.integers(ends[:-1], ends[1:])) % draws)

    # the first ones give one more where count is no multiple of chains
    order = rng.permutation(chains)
    return [(int(order[turn]), draw) for turn, draw in _in_turn(chains, count, places)]


def _in_turn(chains: int, count: int, places: Callable[[int], np.ndarray]) -> list[tuple[int, int]]:
    """(chain, draw) pairs, chains in turn; `places` gives the draws of a chain for its share of
    `count`.
    """
    rows = [
        [(chain, int(draw)) for draw in places(count // chains + (chain < count % chains))]
        for chain in range(chains)
    ]
    longest = max(len(row) for row in rows)
    return [row[turn] for turn in range(longest) for row in rows if turn < len(row)]


def as_column(
    values: np.ndarray, original: pd.Series, levels: Sequence[object] | None = None
) -> pd.Series:
    """Drawn values, or codes of levels, with the dtype, index and name of the confidential column;
    whole-number columns are rounded.

    InputError if one does not fit the dtype (a model far from its data), or is the code of no
    level.
    """
    if levels is not None:
        return _as_levels(values, original, levels)
    values = np.rint(values) if pd.api.types.is_integer_dtype(original.dtype) else values
    check_room(values, original)
    return pd.Series(values, original.index, name=original.name).astype(original.dtype)


def check_room(values: np.ndarray, original: pd.Series) -> None:
    """Refuse drawn values (m,), whole ones for a column of whole numbers, that its dtype has no
    room for: casting would wrap them round.
    """
    numpy_dtype = getattr(original.dtype, "numpy_dtype", original.dtype)
    if pd.api.types.is_integer_dtype(original.dtype):
        limits = np.iinfo(numpy_dtype)
        # max + 1 is a power of two: exact
        fits = (values >= limits.min) & (values < float(limits.max) + 1)
    else:
        fits = np.abs(values) <= np.finfo(numpy_dtype).max
    unusable = int((~fits).sum())
    if unusable:
        raise InputError(
            f"the model drew {unusable} values of {original.name!r} that do not fit dtype "
            f"{original.dtype}; "
            "set support within its range or widen the dtype; else check convergence, the "
            "transform and the weights"
        )


def _as_levels(codes: np.ndarray, original: pd.Series, levels: Sequence[object]) -> pd.Series:
    """The levels of codes (n,) in the dtype of the confidential column, its categories and their
    order included.
    """
    check_codes(codes, original.name, len(levels))
    return pd.Series(
        levels_at(codes, levels), original.index, name=original.name, dtype=object
    ).astype(original.dtype)


def check_codes(codes: np.ndarray, name: object, levels: int) -> None:
    """Refuse drawn values (n,) of which some are the code of no level."""
    unknown = int((~np.isin(codes, np.arange(levels))).sum())
    if unknown:
        raise ContractError(
            f"draw gave {unknown} values of {name!r} that are no code: 0 to {levels - 1}, one "
            "for each level"
        )


def levels_at(codes: np.ndarray, levels: Sequence[object]) -> np.ndarray:
    """The levels that codes (n,) stand for, (n,) objects."""
    names = np.empty(len(levels), dtype=object)
    names[:] = levels
    return np.asarray(names[codes.astype(int)])
