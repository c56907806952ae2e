"""Do draws see the sensitive values? The same theta and the same seeds, on data with other values of the target (METHODS section 9.4)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import with_columns
from riskweighted.contract.categories import target_numbers
from riskweighted.contract.distribution import draw_values, log_densities
from riskweighted.contract.synthesizer import ContractError, Draw, Synthesizer, data_dependent, keeps_true_values
from riskweighted.guarantee.cells import Cells
from riskweighted.sampling.blind_process import FEW_SEEDS, WHOLE, Shown, Task, draws_of, each_draw, log_priors, show, shown_elsewhere
from riskweighted.sampling.masses import DesignMasses
from riskweighted.sampling.moves import KEPT, PERMUTED, moved_targets, some_rows

__all__ = ["check_independent", "refuse_dependence"]

_ROWS = 20_000
_LEFT_OUT = 20  # one row in so many, at least one
_FEW = 0.05  # the share of the rows below which those that move hold the values of a few records
_MANY = 20  # seeds, before draws that are the same are called the same for all
_RECORDS = 50  # from which on a parameter of about n numbers is no accident
_TRUTH = "as they are"


def check_independent(
    synthesizer: Synthesizer,
    prepared: Any,
    thetas: Sequence[Draw],
    confidential: pd.DataFrame,
    *,
    guaranteed: bool = False,
    elsewhere: bool = False,
) -> None:
    """Refuse a synthesizer whose draws, or under a guarantee whose priors, see the sensitive values.

    Parameters
    ----------
    prepared : what `prepare` made of `confidential`
    thetas : one or more places, of which the first and the last are tried
    guaranteed : whether there is a guarantee, under which nothing may be taken from the data
    elsewhere : whether it is tried in a fresh process too, which gets the permuted data first; there on some of the rows, at most 20,000,
        since a class may keep what it saw by the number of its rows; and permuted on all

    Raises
    ------
    ContractError
        Naming the class and what moves its draws; no value.
    """
    if keeps_true_values(synthesizer):
        return
    _refuse_parameters(synthesizer, thetas[0], len(confidential))
    places = (thetas[0],) if len(thetas) == 1 else (thetas[0], thetas[-1])
    _refuse_constant(synthesizer, prepared, places, confidential)
    stated = data_dependent(synthesizer)
    priors = bool(thetas[0]) and (guaranteed or stated == ())
    task = Task(synthesizer, _frames(synthesizer, confidential), places, priors)
    shown, log_priors = _shown_elsewhere(task, confidential) if elsewhere else show(task)
    whole = shown.pop(WHOLE, None)
    _judge(synthesizer, shown, guaranteed, bool(stated))
    _judge_priors(synthesizer, log_priors, guaranteed)
    if elsewhere:
        _compare_here(synthesizer, places, confidential, shown)
        _compare_whole(synthesizer, prepared, places, confidential, whole)


def refuse_dependence(
    synthesizer: Synthesizer, prepared: Any, confidential: pd.DataFrame, thetas: Sequence[Draw], cells: Cells | None = None
) -> None:
    """Refuse, by ContractError, a synthesizer that says that nothing is taken from the data, and takes something.

    It is prepared anew with the sensitive values moved (`moved_targets`): the log density of the true ones, all draws and the log prior
    must stay what they are, and so must the masses of the `cells` of a centred clip. To refuse to be prepared is to depend on the data.
    """
    name, n, places = type(synthesizer).__name__, len(confidential), None
    truth, prior = dict[str, list[np.ndarray]](), np.zeros(0)
    frames = _frames(synthesizer, confidential)
    for move, frame in {_TRUTH: frames.pop(_TRUTH), **frames}.items():
        try:
            arrays = prepared if move == _TRUTH else synthesizer.prepare(frame)
            find = log_densities(synthesizer, arrays, target_numbers(synthesizer, arrays, confidential))
            drawn = [draw_values(synthesizer, theta, arrays, np.random.default_rng(0), n) for theta in thetas]
            shown = {"the log density": [find(theta) for theta in thetas], "the draws": drawn}
            if cells is not None:
                masses = DesignMasses(synthesizer, arrays, frame, cells.lower, cells.upper)
                shown["what a centred clip takes off"] = [masses.at(theta) for theta in thetas]
            moved, places = log_priors(synthesizer, arrays, n, places)
        except InputError:
            raise ContractError(
                f"{name}: it refuses the data with the sensitive values {move}, so whether it depends on them is not known"
            ) from None
        if move == _TRUTH:
            truth, prior = shown, moved
        shown["the log prior"], truth["the log prior"] = [moved], [prior]
        for what, values in shown.items():
            if any(_differs(*pair).any() for pair in zip(truth[what], values, strict=True)):
                raise ContractError(
                    f"{name}: data_dependent says that nothing is taken from the data, yet with the sensitive values {move} {what} changes"
                )


def _shown_elsewhere(task: Task, confidential: pd.DataFrame) -> tuple[dict[str, Shown], dict[str, np.ndarray]]:
    """What it draws in a fresh process of some rows, which nothing here has prepared before; of all where these have parameters of other
    shapes, as where a level is lacking that theta has a number for."""
    frames = _frames(task.synthesizer, _rows(confidential))
    shown, log_priors = shown_elsewhere(task._replace(frames=frames, whole=task.frames[PERMUTED]))
    return (shown, log_priors) if shown[_TRUTH] is not None else shown_elsewhere(task._replace(whole=task.frames[PERMUTED]))


def _rows(confidential: pd.DataFrame) -> pd.DataFrame:
    """The rows that are tried elsewhere, a few less than there are and 20,000 at most."""
    n = len(confidential)
    return some_rows(confidential, min(_ROWS, n - max(n // _LEFT_OUT, 1)))


def _frames(synthesizer: Synthesizer, frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The data under every move, the permuted ones first and the true ones last."""
    name = synthesizer.target
    column = frame[name]
    numeric = pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)
    moved = moved_targets(column, callable(getattr(synthesizer, "categories", None)) or not numeric)
    return {**{move: with_columns(frame, {name: values}) for move, values in moved.items()}, _TRUTH: frame}


def _judge(synthesizer: Synthesizer, shown: dict[str, Shown], guaranteed: bool, declared: bool) -> None:
    """What moves under which move is refused, see METHODS."""
    name, truth = type(synthesizer).__name__, shown[_TRUTH]
    if truth is None:
        raise ContractError(f"{name}: it refuses where its draws are compared the data that it took before")
    others = [move for move in shown if move not in (*KEPT, _TRUTH)]
    refused = [move for move, draws in shown.items() if draws is None]
    if any(move in refused for move in KEPT) or (refused and guaranteed) or (others and not declared and set(others) <= set(refused)):
        raise ContractError(f"{name}: it refuses the data with the sensitive values {refused[0]}, so it is not known what its draws see")
    for move, draws in shown.items():
        share = 0.0 if draws is None else _moved(truth, draws)
        if move in KEPT and share > 0:
            raise ContractError(f"{name}: draw sees the sensitive values: with these {move}, the same theta and seed give other draws")
        if 0 < share < _FEW:
            raise ContractError(f"{name}: draw sees the sensitive values: with these {move}, a few rows alone get other draws")
        if share > 0 and (guaranteed or not declared):
            why = "under a guarantee nothing may be taken from the data" if guaranteed else "data_dependent does not declare it"
            raise ContractError(
                f"{name}: draw sees the sensitive values: with these {move}, the same theta and seed give other draws, and {why}"
            )


def _judge_priors(synthesizer: Synthesizer, log_priors: dict[str, np.ndarray], guaranteed: bool) -> None:
    """Refuse a prior that other sensitive values move."""
    truth = log_priors.get(_TRUTH)
    for move, values in log_priors.items():
        if truth is not None and not np.allclose(values, truth, rtol=1e-9, atol=1e-9, equal_nan=True):
            why = "a guarantee holds for no prior that is taken from them" if guaranteed else "data_dependent says that nothing is taken"
            raise ContractError(f"{type(synthesizer).__name__}: with the sensitive values {move} the log prior is another one, and {why}")


def _moved(truth: dict[str, np.ndarray], draws: dict[str, np.ndarray]) -> float:
    """The share of the rows that any way of drawing gives other values at any place and seed, the largest over the ways."""
    return max(float(_differs(truth[way], draws[way]).any(axis=0).mean()) for way in truth)


def _differs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    if first.dtype == object or second.dtype == object:
        return np.asarray(first != second)
    return np.asarray(~np.isclose(first, second, rtol=1e-9, atol=1e-12, equal_nan=True))


def _compare_here(synthesizer: Synthesizer, places: tuple[Draw, ...], confidential: pd.DataFrame, shown: dict[str, Shown]) -> None:
    """Refuse draws that differ between this process, which saw the data first, and the fresh one, which saw them permuted."""
    there, frame = shown[PERMUTED], _rows(confidential)
    if there is not None and there["prepared"].shape[1] != len(frame):
        frame = confidential
    here = draws_of(synthesizer, synthesizer.prepare(frame), frame, places)
    if there is None or _moved(here, there) > 0:
        raise _seen_first(synthesizer)


def _seen_first(synthesizer: Synthesizer) -> ContractError:
    return ContractError(
        f"{type(synthesizer).__name__}: draw sees the sensitive values: a fresh process that saw these permuted first gives other draws at "
        "the same theta and seed"
    )


def _compare_whole(synthesizer: Synthesizer, prepared: Any, places: tuple[Draw, ...], confidential: pd.DataFrame, there: Shown) -> None:
    """The same of a few draws of all records; and refuse draws of all records that move here."""
    few = draws_of(synthesizer, prepared, confidential, places, FEW_SEEDS)
    if there is None or _moved(few, there) > 0:
        raise _seen_first(synthesizer)
    permuted = _frames(synthesizer, confidential)[PERMUTED]
    given = each_draw(synthesizer, prepared, confidential, places)
    moved = each_draw(synthesizer, synthesizer.prepare(permuted), permuted, places)
    if any(_differs(one, other).any() for (_, one), (_, other) in zip(given, moved, strict=True)):
        raise ContractError(
            f"{type(synthesizer).__name__}: draw sees the sensitive values: with these permuted, the same theta and seed give other draws"
        )


def _refuse_parameters(synthesizer: Synthesizer, theta: Draw, n: int) -> None:
    """Refuse a parameter that has a number for every record: it can carry their values into the draws."""
    for parameter, value in theta.items():
        axes = [*np.shape(value), np.size(value)]
        if n >= _RECORDS and any(0.9 * n <= length <= 1.1 * n or (length > n and length % n == 0) for length in axes):
            raise ContractError(
                f"{type(synthesizer).__name__}: parameter {parameter!r} has about as many numbers as there are records, and can carry "
                "their values into the draws"
            )


def _refuse_constant(synthesizer: Synthesizer, prepared: Any, places: tuple[Draw, ...], confidential: pd.DataFrame) -> None:
    """Refuse draws that are the same for every seed: they hold no chance."""
    n = len(confidential)
    first = draw_values(synthesizer, places[0], prepared, np.random.default_rng(0), n)
    for seed in range(1, _MANY):
        if _differs(first, draw_values(synthesizer, places[0], prepared, np.random.default_rng(seed), n)).any():
            return
    raise ContractError(f"{type(synthesizer).__name__}: draw gives the same values for every seed, so they are not drawn")
