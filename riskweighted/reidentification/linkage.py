"""Record linkage attack: Fellegi-Sunter weights of record pairs (Fellegi & Sunter 1969), and what a
threshold lets through.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_seed, is_number
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns
from riskweighted.common.native import Frame, as_pandas
from riskweighted.reidentification.files import (
    Kind,
    add_rates,
    checked_kinds,
    cut_points,
    numbers_of_both,
)
from riskweighted.reidentification.splink_model import (
    TRAINING_PAIRS,
    LinkingVariable,
    engine,
    fill,
    register,
    score,
    settings,
    train,
)

__all__ = ["LinkageResult", "linkage_pairs", "suspected_links", "threshold_sweep"]

_TOLERANCES = (0.05, 0.25, 1.0)  # levels of a numeric comparison, in sds of the PUF
_THRESHOLDS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
_BLOCKING_VARIABLES = 8  # at most 70 rules: Splink's SQL grows with their square
_PAIRS_PER_RECORD = 20  # within an EM run's block, so that links are not too rare to find
_CHUNK_PAIRS = 2_000_000  # scored at a time: bounds memory
_MOST_TIES = 5  # The primer's whole-rank rule
_ROWS = ["puf_row", "eif_row"]

Rule = tuple[str, ...]


@dataclass(frozen=True)
class LinkageResult:
    """A linkage result holds scored pairs and the model that scored them.

    Attributes
    ----------
    pairs : DataFrame
        puf_row, eif_row (row positions), match_weight (log2 of the posterior odds of a link),
        match_probability; ordered by rows. Confidential.
    parameters : DataFrame
        One row per variable and level of agreement: tolerance (greatest absolute difference; 0 is
        equality, NaN all else), m and u (probability of the level among links and among random
        pairs), weight = log2(m / u), estimated (False where EM could not estimate m and Splink's
        default stands). Aggregates.
    prior : float
        Probability that a random pair is a link, 1 / max(n, m, 2): every record of the smaller file
        has one.
    blocking : tuple of tuple of str
        Compared pairs agree on all variables of one of these; an empty one lets every pair through.
    compared : int
        Pairs compared, rule by rule: an upper bound where a pair satisfies several.
    converged : bool
        Whether every EM run came to change its parameters by less than 1e-4.
    iterations : int
        Of all EM runs together.
    model : dict
        Splink's settings with the trained parameters; variable i of ``linking`` is ``v<i>``, its
        quintile class ``q<i>``.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, synthetic
    >>> rw.linkage_pairs(
    ...     synthetic[0], data, {"region": "categorical", "age": "numeric"}
    ... ).pairs.columns.tolist()
    ['puf_row', 'eif_row', 'match_weight', 'match_probability']
    """

    pairs: pd.DataFrame = field(repr=False)
    parameters: pd.DataFrame = field(repr=False)
    prior: float
    blocking: tuple[Rule, ...] = field(repr=False)
    compared: int
    converged: bool
    iterations: int
    model: dict[str, Any] = field(repr=False)


def linkage_pairs(
    puf: Frame,
    eif: Frame,
    linking: Mapping[str, Kind],
    *,
    random_seed: int | None = 0,
    blocking: Sequence[Sequence[str]] | None = None,
    max_pairs: int = 30_000_000,
    minimum_probability: float = 0.01,
    progress: Callable[[int, int], None] | None = None,
) -> LinkageResult:
    """Return Fellegi-Sunter match weights of the pairs that blocking lets through.

    Categories are equal or not; numbers are equal, within 0.05, 0.25 or 1 sd (ddof = 1) of the
    PUF's non-missing values, or further apart; a missing value weighs 0. u is counted on about 2
    million random pairs. m is estimated by EM: on every pair where there are at most 2 million,
    otherwise in two runs, each on pairs that agree on some variables (dealt in turn, the most
    selective first) and for the variables not among these. An m below half a link, 0.5 / min(n, m),
    and a u below half a counted pair are raised to that; a level seen in neither weighs 0.

    Parameters
    ----------
    puf, eif : DataFrame, n and m rows
    linking : mapping of variable to "numeric" or "categorical"
    random_seed : int or None
        Chooses the pairs on which u is counted.
    blocking : sequence of sequences of str, optional
        Compare the pairs that agree on all variables of one of these; numbers agree when in one
        quintile class (of the PUF), a missing value agrees with nothing. Default: every pair where
        there are at most ``max_pairs``; otherwise pairs that agree on k of the (at most eight) most
        selective variables, with the smallest k that keeps to ``max_pairs``.
    max_pairs : int
        Most pairs to compare, counted rule by rule.
    minimum_probability : float in [0, 1)
        Pairs of a smaller match probability are left out.
    progress : callable, optional
        Called with (parts scored, parts in all).

    Raises
    ------
    InputError
        If splink is not installed, columns cannot be compared, or blocking lets too many pairs
        through.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, synthetic
    >>> linkage = rw.linkage_pairs(
    ...     synthetic[0], data, {"region": "categorical", "age": "numeric", "income": "numeric"}
    ... )
    >>> linkage.compared
    40000
    """
    puf, eif = as_pandas(puf), as_pandas(eif)
    _check_settings(linking, random_seed, max_pairs, minimum_probability)
    for frame, what in ((puf, "PUF"), (eif, "EIF")):
        require_columns(frame, list(linking), what)
    variables = {
        name: _variable(i, name, kind, puf[name], eif[name])
        for i, (name, kind) in enumerate(linking.items())
    }
    total = len(puf) * len(eif)
    rules = (
        _default_rules(variables, total, max_pairs)
        if blocking is None
        else _given_rules(blocking, variables)
    )
    compared = sum(_count(variables, rule, total) for rule in rules)
    if compared > max_pairs:
        raise InputError(
            f"blocking lets {compared} pairs through, valid is max_pairs = {max_pairs}: block by "
            "more variables or raise it"
        )
    prior = 1 / max(len(puf), len(eif), 2)
    seed = int(np.random.default_rng(random_seed).integers(2**31))
    with engine() as (api, connection):
        tables = register(api, list(variables.values()))
        training = [
            [variables[name] for name in rule]
            for rule in _training_rules(variables, total, max(len(puf), len(eif)))
        ]
        scoring = [[variables[name] for name in rule] for rule in rules]
        model, runs = train(
            tables, settings(list(variables.values()), scoring, prior), training, seed
        )
        parameters = fill(
            model, variables, (0.5 / min(len(puf), len(eif)), 0.5 / min(total, TRAINING_PAIRS))
        )
        connection.execute("RESET threads")  # no more sums, whose last bits depend on their order
        pairs = score(
            tables, model, max(1, math.ceil(compared / _CHUNK_PAIRS)), minimum_probability, progress
        )
    converged = bool(runs) and all(done for _, done in runs)
    iterations = sum(count for count, _ in runs)
    return LinkageResult(
        pairs, parameters, prior, tuple(rules), compared, converged, iterations, model
    )


def suspected_links(pairs: pd.DataFrame, threshold: float = 0.5) -> pd.DataFrame:
    """Each PUF record's pairs of greatest match weight, where their match probability is at least
    ``threshold``.

    A record whose greatest weight more than five pairs share has none: the primer's whole-rank
    rule.
    """
    absent = [
        name for name in (*_ROWS, "match_weight", "match_probability") if name not in pairs.columns
    ]
    if absent:
        raise InputError(
            f"pairs has no column {listing(absent)}; valid is what linkage_pairs() returns as pairs"
        )
    if not is_number(threshold) or not 0 <= threshold <= 1:
        raise InputError(f"threshold must be a number from 0 to 1, got {threshold!r}")
    best = pairs[pairs["match_weight"] == pairs.groupby("puf_row")["match_weight"].transform("max")]
    few = best.groupby("puf_row")["puf_row"].transform("size") <= _MOST_TIES
    return best[few & (best["match_probability"] >= threshold)].reset_index(drop=True)


def threshold_sweep(
    pairs: pd.DataFrame,
    n_puf: int,
    truth: pd.DataFrame | np.ndarray | Iterable[tuple[int, int]],
    thresholds: Sequence[float] | None = None,
) -> pd.DataFrame:
    """Return the rates of suspected and of confirmed links at each threshold of the match
    probability (METHODS section 10).

    Parameters
    ----------
    pairs : DataFrame of `linkage_pairs`
    n_puf : int
        Records of the PUF, to which the rates refer.
    truth : DataFrame with columns puf_row and eif_row, or pairs of row positions
        The true links.
    thresholds : sequence of float in [0, 1], optional

    Returns
    -------
    DataFrame
        threshold, suspected and confirmed (PUF records), suspected_rate, confirmed_rate,
        conditional_rate (confirmed / suspected, NaN where nothing is suspected).

    Examples
    --------
    >>> pairs = pd.DataFrame(
    ...     {
    ...         "puf_row": [0, 1],
    ...         "eif_row": [0, 2],
    ...         "match_weight": [4.0, 0.0],
    ...         "match_probability": [0.94, 0.5],
    ...     }
    ... )
    >>> rw.threshold_sweep(pairs, n_puf=4, truth=[(0, 0), (1, 1)], thresholds=[0.5, 0.9])[
    ...     ["threshold", "suspected", "confirmed"]
    ... ]
       threshold  suspected  confirmed
    0        0.5          2          1
    1        0.9          1          1
    """
    truth = as_pandas(truth)
    if not isinstance(n_puf, Integral) or n_puf < 1:
        raise InputError(f"n_puf must be a whole number >= 1, got {n_puf!r}")
    links = (
        truth
        if isinstance(truth, pd.DataFrame)
        else pd.DataFrame(np.array(list(truth), dtype=np.int64).reshape(-1, 2), columns=_ROWS)
    )
    best = suspected_links(pairs, 0)
    true = pd.MultiIndex.from_frame(best[_ROWS]).isin(pd.MultiIndex.from_frame(links[_ROWS]))
    rows = []
    for threshold in _THRESHOLDS if thresholds is None else thresholds:
        passes = (best["match_probability"] >= threshold).to_numpy()
        rows.append(
            (
                float(threshold),
                *(best.loc[chosen, "puf_row"].nunique() for chosen in (passes, passes & true)),
            )
        )
    return add_rates(pd.DataFrame(rows, columns=["threshold", "suspected", "confirmed"]), n_puf)


def _check_settings(
    linking: Mapping[str, Kind], random_seed: int | None, max_pairs: int, minimum_probability: float
) -> None:
    checked_kinds(linking)
    check_seed(random_seed)
    if not isinstance(max_pairs, Integral) or isinstance(max_pairs, bool) or max_pairs < 1:
        raise InputError(f"max_pairs must be a whole number >= 1, got {max_pairs!r}")
    if not is_number(minimum_probability) or not 0 <= minimum_probability < 1:
        raise InputError(
            f"minimum_probability must be a number from 0 to below 1, got {minimum_probability!r}"
        )


def _variable(
    number: int, name: str, kind: Kind, puf: pd.Series, eif: pd.Series
) -> LinkingVariable:
    """One linking variable as Splink gets it; refuses what cannot be compared."""
    numbers = numbers_of_both(puf, eif, name, kind)
    if numbers is None:
        codes = (
            pd.factorize(pd.concat([puf.astype(object), eif.astype(object)], ignore_index=True))[0]
            + 1
        )
        values = np.where(codes == 0, np.nan, codes)
        halves = [(array[: len(puf)], array[len(puf) :]) for array in (values, codes)]
        return LinkingVariable(number, False, halves[0], halves[1], (0.0,))
    present = numbers[0][~np.isnan(numbers[0])]
    sd = np.std(present, ddof=1) if len(present) > 1 else 0.0
    cuts = cut_points(present)
    classes = [
        np.where(np.isnan(array), 0, 1 + np.searchsorted(cuts, array, side="left"))
        for array in numbers
    ]
    tolerances = (0.0, *(share * float(sd) for share in _TOLERANCES)) if sd > 0 else (0.0,)
    return LinkingVariable(number, True, numbers, (classes[0], classes[1]), tolerances)


def _count(variables: Mapping[str, LinkingVariable], rule: Rule, total: int) -> int:
    """Pairs that agree on every variable of a rule; ``total`` for the empty rule."""
    if not rule:
        return total
    sides = [
        pd.DataFrame({name: variables[name].classes[side] for name in rule}) for side in (0, 1)
    ]
    puf, eif = (codes[(codes > 0).all(axis=1)].value_counts() for codes in sides)
    return int((puf * eif).sum())  # of what one side lacks the product is missing


def _by_selectivity(variables: Mapping[str, LinkingVariable], total: int) -> list[str]:
    return sorted(variables, key=lambda name: _count(variables, (name,), total))


def _given_rules(
    blocking: Sequence[Sequence[str]], variables: Mapping[str, LinkingVariable]
) -> list[Rule]:
    valid = isinstance(blocking, Sequence) and not isinstance(blocking, str) and len(blocking) > 0
    if not valid or any(
        isinstance(rule, str) or not isinstance(rule, Sequence) or not rule for rule in blocking
    ):
        raise InputError(
            "blocking must be lists of linking variables, for example [['age', 'sex'], ['age', "
            f"'state']], got {blocking!r}"
        )
    unknown = sorted({str(name) for rule in blocking for name in rule if name not in variables})
    if unknown:
        raise InputError(
            f"blocking names {listing(unknown)}; valid are the linking variables "
            f"{listing(variables)}"
        )
    return [tuple(rule) for rule in blocking]


def _default_rules(
    variables: Mapping[str, LinkingVariable], total: int, max_pairs: int
) -> list[Rule]:
    """All sets of k of the most selective variables, with the smallest k that lets at most
    ``max_pairs`` through.
    """
    if total <= max_pairs:
        return [()]
    names = _by_selectivity(variables, total)[:_BLOCKING_VARIABLES]
    for size in range(1, len(names) + 1):
        rules = list(combinations(names, size))
        compared = sum(_count(variables, rule, total) for rule in rules)
        if compared <= max_pairs:
            return rules
    raise InputError(
        f"{compared} pairs agree on {listing(names)}, valid is max_pairs = {max_pairs}: raise "
        "it, or link within strata"
    )


def _training_rules(
    variables: Mapping[str, LinkingVariable], total: int, records: int
) -> list[Rule]:
    """Where EM runs: on all pairs, or twice, where pairs agree on variables dealt in turn, as many
    as make links frequent.
    """
    names = _by_selectivity(variables, total)
    if total <= TRAINING_PAIRS or len(names) == 1:
        return [()]
    rules = []
    for dealt in (names[0::2], names[1::2]):
        size = 1
        while (
            size < len(dealt)
            and _count(variables, tuple(dealt[:size]), total) > _PAIRS_PER_RECORD * records
        ):
            size += 1
        rules.append(tuple(dealt[:size]))
    return [rule for rule in rules if _count(variables, rule, total)]
