"""What isolates a plug-in from the true values (METHODS section 9.4): theta and settings of few
numbers, and draws that a fresh process repeats which has the predictors, theta, and the sensitive
values in other rows only.

That a class draws what its masses say is seen in its copies
(`riskweighted.disclosure.copy_checks`); a code that no test of draws sees needs the values
themselves, and here it has none.
"""

import io
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from copy import deepcopy
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import with_columns
from riskweighted.common.groups import most_categories
from riskweighted.contract.categories import categories_of, target_numbers
from riskweighted.contract.distribution import draw_values, log_densities
from riskweighted.contract.drawn_columns import check_codes, levels_at
from riskweighted.contract.synthesizer import (
    Blueprint,
    ContractError,
    Draw,
    Synthesizer,
    data_dependent,
    keeps_true_values,
)
from riskweighted.guarantee.interval_cells import IntervalCells
from riskweighted.sampling.design_masses import DesignMasses
from riskweighted.sampling.graphs import compile_log_prior, parameters_at

__all__ = [
    "ModelQuestion",
    "ModelQuestions",
    "Task",
    "check_independent",
    "main",
    "refuse_dependence",
    "refuse_other_answers",
    "shown_elsewhere",
    "starting_parameters",
]

PERMUTED, OTHERS = "permuted", "others of a narrower range"
# of the rows that a fresh process has: at most; and one in so many is none of them
_ROWS, _LEFT_OUT = 20_000, 20
_FEW = 0.05  # the share of the rows below which those that move hold the values of a few records
_SEEDS = 20  # at every place and in every way of drawing, none of them twice
_RECORDS = 50  # from which on about n numbers are no accident
_SOME, _ENDS = 40, 10  # rows; distinct numbers of a column from which on its ends are kept
_ATOM = 0.05  # the share of the records from which a value is a status rather than an amount
_PRIORS = 4  # places at which a log prior is looked at, the first of them where chains begin
_SECONDS = 600
_PROGRAM = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); from "
    "riskweighted.sampling.isolation import main; main()"
)

# ways of drawing -> (thetas x seeds, rows); None where it refuses the data, or draws nothing of
# them
Shown = dict[str, np.ndarray] | None


class Task(NamedTuple):
    """What is to be drawn: of each frame, in their order, at all thetas; and its log priors at some
    places, if there are any.
    """

    synthesizer: Synthesizer
    frames: dict[str, pd.DataFrame]
    thetas: tuple[Draw, ...]
    places: tuple[Draw, ...] = ()

    def done(self) -> tuple[dict[str, Shown], dict[str, np.ndarray]]:
        """The draws of every frame that is prepared, and its log priors (places,)."""
        return answer_task(self)


class ModelQuestion(NamedTuple):
    """What was asked of a distribution: given parameters, for the rows of the data (None) or
    others, a method with its arguments, of which a generator is as it stood before."""

    theta: Draw
    rows: pd.DataFrame | None
    method: str
    arguments: tuple[object, ...]


class ModelQuestions(NamedTuple):
    """Questions to a synthesizer that is prepared on a frame."""

    synthesizer: Synthesizer
    frame: pd.DataFrame
    questions: tuple[ModelQuestion, ...]

    def done(self) -> list[np.ndarray]:
        """The answers, draws of levels by the levels themselves."""
        prepared = self.synthesizer.prepare(self.frame)
        return list(_answers(self.synthesizer, prepared, self.questions))


def _answers(
    synthesizer: Synthesizer, prepared: Any, questions: Sequence[ModelQuestion]
) -> Iterator[np.ndarray]:
    levels = categories_of(synthesizer, prepared)
    for theta, rows, method, arguments in questions:
        records = synthesizer.distribution(theta, prepared if rows is None else prepared.at(rows))
        answer = np.asarray(getattr(records, method)(*deepcopy(arguments)))
        yield answer if levels is None or method != "draw" else levels_at(answer, levels)


def refuse_other_answers(
    synthesizer: Synthesizer,
    prepared: Any,
    confidential: pd.DataFrame,
    questions: Sequence[ModelQuestion],
    answers: Sequence[np.ndarray],
) -> None:
    """Refuse, by ContractError, a synthesizer that gave these answers where datasets were drawn,
    and gives others in a fresh process that has the true values in other rows only. Nothing else of
    the fit is there: neither the answers nor what the class kept."""
    task = ModelQuestions(
        synthesizer, _moved(synthesizer, confidential)[PERMUTED], tuple(questions)
    )
    levels = categories_of(synthesizer, prepared)
    for question, here, there in zip(questions, answers, _elsewhere(task), strict=True):
        own = here if levels is None or question.method != "draw" else levels_at(here, levels)
        if own.shape != there.shape or _differs(own, there).any():
            raise ContractError(
                f"{type(synthesizer).__name__}: draw sees the sensitive values: a fresh process, "
                f"which has these {PERMUTED}, does not draw "
                "what is to be released from the same theta and seed"
            )


def check_independent(
    synthesizer: Synthesizer,
    prepared: Any,
    thetas: Sequence[Draw],
    confidential: pd.DataFrame,
    *,
    guaranteed: bool = False,
    elsewhere: bool = False,
) -> None:
    """Refuse a synthesizer whose draws, or under a guarantee whose priors, see the sensitive
    values.

    Parameters
    ----------
    prepared : what `prepare` made of `confidential` thetas : one or more places, of which the first
    and the last are tried guaranteed : whether there is a guarantee, under which nothing may be
    taken from the data elsewhere : whether what it is compared with is drawn in a fresh process,
    which never has the data as they are; of some of the rows, at
        most 20,000, since a class may keep what it saw by the number of its rows

    Raises
    ------
    ContractError
        Naming the class and what moves its draws; no value.
    """
    if keeps_true_values(synthesizer):
        return
    _refuse_many_numbers(synthesizer, thetas[0], len(confidential))
    places = (thetas[0],) if len(thetas) == 1 else (thetas[0], thetas[-1])
    _refuse_constant(synthesizer, prepared, places, confidential)
    stated, rows = data_dependent(synthesizer), confidential
    if elsewhere:
        rows = _some_rows(
            confidential, min(_ROWS, len(confidential) - max(len(confidential) // _LEFT_OUT, 1))
        )
    blueprint = synthesizer.build(prepared) if thetas[0] and (guaranteed or stated == ()) else None
    looked_at = () if blueprint is None else starting_parameters(blueprint)
    ask = shown_elsewhere if elsewhere else answer_task
    moved = _moved(synthesizer, rows)
    shown, priors = ask(Task(synthesizer, moved, places, looked_at))
    # as where the rows lack a level that theta has a number for
    if elsewhere and shown[PERMUTED] is None:
        rows, moved = confidential, _moved(synthesizer, confidential)
        shown, priors = ask(Task(synthesizer, moved, places, looked_at))
    whole = rows is confidential
    here = _draws_of(synthesizer, prepared if whole else synthesizer.prepare(rows), rows, places)
    if elsewhere:
        _refuse_memory(
            synthesizer,
            answer_task(Task(synthesizer, {OTHERS: moved[OTHERS]}, places))[0][OTHERS],
            shown[OTHERS],
        )
    _judge(synthesizer, here, shown, guaranteed, bool(stated))
    if looked_at:
        own = _log_priors(
            synthesizer, prepared if whole else synthesizer.prepare(rows), len(rows), looked_at
        )
        _judge_priors(synthesizer, own, priors, guaranteed)


def refuse_dependence(
    synthesizer: Synthesizer,
    prepared: Any,
    confidential: pd.DataFrame,
    thetas: Sequence[Draw],
    cells: IntervalCells | None = None,
) -> None:
    """Refuse, by ContractError, a synthesizer that says that nothing is taken from the data, and
    takes something.

    It is prepared anew with the sensitive values moved (permuted, and others): the log density of
    the true ones, draws and the log prior must stay what they are, and so must the masses of the
    `cells` of a centred clip. To refuse to be prepared is to depend on the data.
    """
    name, n, truth = type(synthesizer).__name__, len(confidential), dict[str, list[np.ndarray]]()
    blueprint = synthesizer.build(prepared)
    places = () if blueprint is None else starting_parameters(blueprint)
    for move, frame in {"": confidential, **_moved(synthesizer, confidential)}.items():
        try:
            arrays = synthesizer.prepare(frame) if move else prepared
            find = log_densities(
                synthesizer, arrays, target_numbers(synthesizer, arrays, confidential)
            )
            drawn = [
                draw_values(synthesizer, theta, arrays, np.random.default_rng(0), n)
                for theta in thetas
            ]
            shown = {"the log density": [find(theta) for theta in thetas], "the draws": drawn}
            if cells is not None:
                masses = DesignMasses(synthesizer, arrays, frame, cells.lower, cells.upper)
                shown["what a centred clip takes off"] = [masses.at(theta) for theta in thetas]
            shown["the log prior"] = [_log_priors(synthesizer, arrays, n, places)]
        except InputError:
            raise ContractError(
                f"{name}: it refuses the data with the sensitive values {move}, so whether it "
                "depends on them is not known"
            ) from None
        truth = truth or shown
        for what, values in shown.items():
            if any(_differs(*pair).any() for pair in zip(truth[what], values, strict=True)):
                raise ContractError(
                    f"{name}: data_dependent says that nothing is taken from the data, yet with "
                    f"the sensitive values {move} {what} changes"
                )


def _refuse_memory(synthesizer: Synthesizer, here: Shown, there: Shown) -> None:
    """Refuse a class that draws otherwise of the same data in this process, which has seen the true
    values, than in one that has not.
    """
    if (here is None) != (there is None) or any(
        _differs(values, there[way]).any() for way, values in (here or {}).items() if there
    ):
        raise ContractError(
            f"{type(synthesizer).__name__}: draw sees the sensitive values: prepared on other "
            "data it draws otherwise than in a fresh "
            "process, so the class keeps something of the data that it was prepared on before"
        )


def _judge(
    synthesizer: Synthesizer,
    here: dict[str, np.ndarray],
    shown: Mapping[str, Shown],
    guaranteed: bool,
    declared: bool,
) -> None:
    """What moves is refused: always of the same values in other rows; of other ones where a few
    rows do, or nothing of it is declared.
    """
    name, sees = type(synthesizer).__name__, "draw sees the sensitive values"
    for move in (PERMUTED, OTHERS):
        draws = shown[move]
        if draws is None and (move == PERMUTED or guaranteed or not declared):
            raise ContractError(
                f"{name}: it refuses the data with the sensitive values {move}, so it is not "
                "known what its draws see"
            )
        share = (
            0.0
            if draws is None
            else max(float(_differs(here[way], draws[way]).any(axis=0).mean()) for way in here)
        )
        if move == PERMUTED and share > 0:
            raise ContractError(
                f"{name}: {sees}: with these {move}, the same theta and seed give other draws"
            )
        if 0 < share < _FEW:
            raise ContractError(
                f"{name}: {sees}: with these {move}, a few rows alone get other draws"
            )
        if share > 0 and (guaranteed or not declared):
            why = (
                "under a guarantee nothing may be taken from the data"
                if guaranteed
                else "data_dependent does not declare it"
            )
            raise ContractError(
                f"{name}: {sees}: with these {move}, the same theta and seed give other draws, "
                f"and {why}"
            )


def _judge_priors(
    synthesizer: Synthesizer, own: np.ndarray, priors: Mapping[str, np.ndarray], guaranteed: bool
) -> None:
    """Refuse a prior that other sensitive values move."""
    for move, values in priors.items():
        if not np.allclose(values, own, rtol=1e-9, atol=1e-9, equal_nan=True):
            why = (
                "a guarantee holds for no prior that is taken from them"
                if guaranteed
                else "data_dependent says that nothing is taken"
            )
            raise ContractError(
                f"{type(synthesizer).__name__}: with the sensitive values {move} the log prior "
                f"is another one, and {why}"
            )


def _differs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    if first.dtype == object or second.dtype == object:
        return np.asarray(first != second)
    return np.asarray(~np.isclose(first, second, rtol=1e-9, atol=1e-12, equal_nan=True))


def _refuse_many_numbers(synthesizer: Synthesizer, theta: Draw, n: int) -> None:
    """Refuse a parameter, or a setting, that has a number for every record: it can carry their
    values into the draws.
    """
    held = {
        f"parameter {name!r}": [*np.shape(value), np.size(value)] for name, value in theta.items()
    }
    settings = getattr(synthesizer, "__dict__", {}).items()
    held |= {f"setting {name!r}": [_numbers_in(value)] for name, value in settings}
    for what, lengths in held.items():
        if n >= _RECORDS and any(
            0.9 * n <= length <= 1.1 * n or (length > n and length % n == 0) for length in lengths
        ):
            raise ContractError(
                f"{type(synthesizer).__name__}: {what} has about as many numbers as there are "
                "records, and can carry their values into the "
                "draws"
            )


def _numbers_in(value: object) -> int:
    """How many numbers a setting holds."""
    if isinstance(value, np.ndarray | pd.Series | pd.DataFrame):
        return int(np.size(value))
    if isinstance(value, Mapping):
        return sum(map(_numbers_in, value.values()))
    if isinstance(value, tuple | list | set | frozenset):
        return sum(map(_numbers_in, value))
    return int(isinstance(value, int | float | np.number))


def _refuse_constant(
    synthesizer: Synthesizer, prepared: Any, places: tuple[Draw, ...], confidential: pd.DataFrame
) -> None:
    """Refuse draws that are the same for every seed: they hold no chance."""
    n = len(confidential)
    first = draw_values(synthesizer, places[0], prepared, np.random.default_rng(0), n)
    for seed in range(1, _SEEDS):
        if _differs(
            first, draw_values(synthesizer, places[0], prepared, np.random.default_rng(seed), n)
        ).any():
            return
    raise ContractError(
        f"{type(synthesizer).__name__}: draw gives the same values for every seed, so they are "
        "not drawn"
    )


def answer_task(task: Task) -> tuple[dict[str, Shown], dict[str, np.ndarray]]:
    """The draws of every frame that is prepared, and its log priors (places,)."""
    shown, priors = dict[str, Shown](), dict[str, np.ndarray]()
    for name, frame in task.frames.items():
        try:
            prepared = task.synthesizer.prepare(frame.copy(deep=True))
            shown[name] = _draws_of(task.synthesizer, prepared, frame, task.thetas)
        # an InputError, other knots than theta has numbers for, or whatever a stranger's code says
        except Exception:
            shown[name] = None
            continue
        if task.places:
            priors[name] = _log_priors(task.synthesizer, prepared, len(frame), task.places)
    return shown, priors


def _draws_of(
    synthesizer: Synthesizer, prepared: Any, frame: pd.DataFrame, thetas: tuple[Draw, ...]
) -> dict[str, np.ndarray]:
    """What it draws at the thetas, (thetas x seeds, rows): of the data prepared, of `at` of all
    rows, of every second one, of the first.
    """
    ways = {"prepared": (prepared, len(frame))}
    if callable(getattr(prepared, "at", None)):
        asked = {
            "at": frame,
            "at of every second row": frame.iloc[::2],
            "at of some rows": frame.iloc[:_SOME],
        }
        ways |= {way: (prepared.at(rows), len(rows)) for way, rows in asked.items()}
    drawn = {}
    for number, (way, (arrays, rows)) in enumerate(ways.items()):
        first = number * len(thetas) * _SEEDS
        seeds = (
            (theta, first + place * _SEEDS + seed)
            for place, theta in enumerate(thetas)
            for seed in range(_SEEDS)
        )
        drawn[way] = np.array(
            [_values(synthesizer, theta, arrays, seed, rows) for theta, seed in seeds]
        )
    return drawn


def _values(synthesizer: Synthesizer, theta: Draw, prepared: Any, seed: int, n: int) -> np.ndarray:
    """One draw (n,), of levels themselves where codes of them are drawn: a code is another level
    where their order follows the data.
    """
    values = draw_values(synthesizer, theta, prepared, np.random.default_rng(seed), n)
    levels = categories_of(synthesizer, prepared)
    if levels is None:
        return values.astype(float)
    check_codes(values, synthesizer.target, len(levels))
    return levels_at(values, levels)


def _log_priors(
    synthesizer: Synthesizer, prepared: Any, n: int, places: Sequence[Draw]
) -> np.ndarray:
    """The log prior at the places, (places,)."""
    blueprint = synthesizer.build(prepared)
    if blueprint is None or not places:
        return np.zeros(0)
    log_prior = compile_log_prior(blueprint)
    return np.array([log_prior(theta, np.ones(n)) for theta in places])


def starting_parameters(blueprint: Blueprint) -> tuple[Draw, ...]:
    """Parameters where chains begin, and at jittered places near it."""
    start, rng = blueprint.model.initial_point(), np.random.default_rng(9)
    first = [
        np.asarray(start[str(value.name)], dtype=float) for value in blueprint.model.value_vars
    ]
    jittered = [
        [value + rng.normal(0, 0.3, value.shape) for value in first] for _ in range(_PRIORS - 1)
    ]
    return parameters_at(blueprint, [first, *jittered])


def shown_elsewhere(task: Task) -> tuple[dict[str, Shown], dict[str, np.ndarray]]:
    """`answer_task` in a fresh process."""
    shown: tuple[dict[str, Shown], dict[str, np.ndarray]] = _elsewhere(task)
    return shown


def _elsewhere(task: Task | ModelQuestions) -> Any:
    """A task done in a fresh process. A class of a module that can be imported is imported there
    anew; one of a notebook comes as it is.
    """
    result = _answer(task, by_value=False)
    if result in ("ModuleNotFoundError", "ImportError", "AttributeError"):
        result = _answer(task, by_value=True)
    if isinstance(result, str):
        raise ContractError(
            f"{type(task.synthesizer).__name__}: its draws could not be made in a fresh process "
            f"({result}): what they see is not known"
        )
    return result


def _answer(task: Task | ModelQuestions, by_value: bool) -> Any:
    """What the fresh process says, or the name of what went wrong; `by_value`: with the class
    itself, rather than where it is found.
    """
    module = sys.modules.get(type(task.synthesizer).__module__)
    try:  # -P: a pickle.py of the folder where somebody stands is not the one that is meant
        with _sent(module if by_value else None) as dumps:
            given = pickle.dumps([path for path in sys.path if path]) + dumps(task)
        done = subprocess.run(
            [sys.executable, "-P", "-c", _PROGRAM],
            input=given,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
        return pickle.loads(done.stdout) if done.returncode == 0 else "no answer"
    except (OSError, subprocess.TimeoutExpired, pickle.PickleError, EOFError, TypeError) as error:
        return type(error).__name__


@contextmanager
def _sent(module: ModuleType | None) -> Iterator[Callable[[object], bytes]]:
    """What makes bytes of anything, and of that module's classes by what they are; those of a
    notebook always so.
    """
    import cloudpickle  # type: ignore[import-untyped]  # of PyMC

    if module is not None:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield cloudpickle.dumps
    finally:
        if module is not None:
            cloudpickle.unregister_pickle_by_value(module)


def main() -> None:
    """Read a task, do it, and write what it gave; an error by the name of its class alone, since
    its text may hold values.
    """
    import warnings

    result: Any
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = pickle.load(sys.stdin.buffer).done()
        except Exception as error:  # a stranger's code
            result = type(error).__name__
    sys.stdout.buffer.write(pickle.dumps(result))


def _moved(synthesizer: Synthesizer, frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The data with the sensitive values in other rows, and with other values; gaps stay where they
    are.
    """
    column, rng = frame[synthesizer.target], np.random.default_rng(7)
    there = column.notna().to_numpy()
    numeric = pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(
        column.dtype
    )
    present = column[there]
    permuted = present.array[rng.permutation(len(present))]
    if callable(getattr(synthesizer, "categories", None)) or not numeric:
        codes, named = pd.factorize(present, sort=False)
        drawn = rng.integers(len(named), size=len(codes))
        drawn[: len(named)] = np.arange(len(named))[: len(drawn)]
        others: Any = pd.Series(named.take(drawn)).astype(column.dtype).array
    else:
        others = pd.Series(_inner(present.to_numpy(dtype=float), rng)).astype(column.dtype).array
    # The true values come last: a class that keeps what it was first prepared on is then seen.
    moved = {OTHERS: others, PERMUTED: permuted}
    frames = {}
    for move, values in moved.items():
        other = column.copy()
        other[there] = values
        frames[move] = with_columns(frame, {synthesizer.target: other})
    return frames


def _inner(numbers: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Other amounts, of a narrower range; values that many records share stay, as zeros of a model
    of two parts do. Whole numbers of few values take these alone, and never one of them all: a
    model of counts may refuse others, whatever it depends on."""
    held, place, count = np.unique(numbers, return_inverse=True, return_counts=True)
    free = count[place] <= max(_ATOM * len(numbers), 1)
    if free.sum() < _ENDS:
        free[:] = True
    amounts, whole = numbers[free], bool((held == np.rint(held)).all())

    def spread(low: float, high: float) -> np.ndarray:
        values = rng.permutation(np.linspace(low, high, len(amounts)))
        values = np.rint(values) if whole else values
        few = whole and len(held) <= most_categories(len(numbers))
        return held[np.searchsorted((held[1:] + held[:-1]) / 2, values)] if few else values

    inner = spread(*np.quantile(amounts, [0.3, 0.7]))
    moved = numbers.copy()
    moved[free] = inner if np.ptp(inner) else spread(amounts.min(), amounts.max())
    return moved


def _some_rows(frame: pd.DataFrame, count: int) -> pd.DataFrame:
    """That many rows or a few more, in their order: at random, the ends of every numeric column,
    and a row of every level.
    """
    if len(frame) <= count:
        return frame
    rows = set(np.random.default_rng(8).choice(len(frame), count, replace=False).tolist())
    for _, column in frame.items():
        if (
            pd.api.types.is_numeric_dtype(column.dtype)
            and not pd.api.types.is_bool_dtype(column.dtype)
            and column.nunique() > _ENDS
        ):
            numbers = column.to_numpy(dtype=float, na_value=np.nan)
            if not np.isnan(numbers).all():
                rows |= {int(np.nanargmin(numbers)), int(np.nanargmax(numbers))}
        else:
            rows |= set(np.flatnonzero(~column.duplicated().to_numpy()).tolist())
    return frame.iloc[sorted(rows)]
