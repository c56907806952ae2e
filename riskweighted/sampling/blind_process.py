"""What a synthesizer draws where it saw other data first: its draws made in a fresh process, which is told nothing but by a pipe."""

import io
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.contract.categories import categories_of
from riskweighted.contract.distribution import draw_values
from riskweighted.contract.drawing import check_codes, levels_at
from riskweighted.contract.synthesizer import Blueprint, ContractError, Draw, Synthesizer
from riskweighted.sampling.graphs import compile_log_prior, parameters_at

__all__ = [
    "FEW_SEEDS",
    "SEEDS",
    "WHOLE",
    "Shown",
    "Task",
    "draws_of",
    "each_draw",
    "log_priors",
    "main",
    "near_start",
    "show",
    "shown_elsewhere",
]

SEEDS = 20  # at every place and in every way of drawing, none of them twice
FEW_SEEDS = 2  # where all of many records are drawn and sent
WHOLE = "all records"
_SECONDS = 600
_PROGRAM = "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); from riskweighted.sampling.blind_process import main; main()"
_SOME = 40  # rows
_PRIORS = 4  # places at which a log prior is looked at, the first of them where chains begin

Shown = (
    dict[str, np.ndarray] | None
)  # ways of drawing -> (thetas x seeds, rows); None where it refuses the data, or draws nothing of them at these thetas


class Task(NamedTuple):
    """What is to be drawn: of each frame, in their order, at all thetas and seeds; with the log priors, if asked for.

    ``whole``: a frame of which a few draws are made besides, before all others.
    """

    synthesizer: Synthesizer
    frames: dict[str, pd.DataFrame]
    thetas: tuple[Draw, ...]
    priors: bool = False
    whole: pd.DataFrame | None = None


def show(task: Task) -> tuple[dict[str, Shown], dict[str, np.ndarray]]:
    """The draws of every frame that is prepared, and its log priors (places,)."""
    shown, priors, places = dict[str, Shown](), dict[str, np.ndarray](), None
    frames = task.frames if task.whole is None else {WHOLE: task.whole, **task.frames}
    for name, frame in frames.items():
        try:
            prepared = task.synthesizer.prepare(frame.copy(deep=True))
            shown[name] = draws_of(task.synthesizer, prepared, frame, task.thetas, FEW_SEEDS if name == WHOLE else SEEDS)
        except Exception:  # an InputError, other knots than theta has numbers for, or whatever a stranger's code says
            shown[name] = None
            continue
        if task.priors and name != WHOLE:
            priors[name], places = log_priors(task.synthesizer, prepared, len(frame), places)
    return shown, priors


def draws_of(
    synthesizer: Synthesizer, prepared: Any, frame: pd.DataFrame, thetas: tuple[Draw, ...], seeds: int = SEEDS
) -> dict[str, np.ndarray]:
    """What it draws at the thetas and seeds, by the way of drawing: (thetas x seeds, rows)."""
    drawn = dict[str, list[np.ndarray]]()
    for way, values in each_draw(synthesizer, prepared, frame, thetas, seeds):
        drawn.setdefault(way, []).append(values)
    return {way: np.array(values) for way, values in drawn.items()}


def each_draw(
    synthesizer: Synthesizer, prepared: Any, frame: pd.DataFrame, thetas: tuple[Draw, ...], seeds: int = SEEDS
) -> Iterator[tuple[str, np.ndarray]]:
    """Draw by draw: of the data prepared, of `at` of all rows, of every second one and of the first."""
    ways = {"prepared": (prepared, len(frame))}
    if callable(getattr(prepared, "at", None)):
        asked = {"at": frame, "at of every second row": frame.iloc[::2], "at of some rows": frame.iloc[:_SOME]}
        ways |= {way: (prepared.at(rows), len(rows)) for way, rows in asked.items()}
    for number, (way, (arrays, rows)) in enumerate(ways.items()):
        for place, theta in enumerate(thetas):
            first = (number * len(thetas) + place) * SEEDS
            for seed in range(first, first + seeds):
                yield way, _values(synthesizer, theta, arrays, seed, rows)


def _values(synthesizer: Synthesizer, theta: Draw, prepared: Any, seed: int, n: int) -> np.ndarray:
    """One draw (n,), of levels themselves where codes of them are drawn: a code is another level where their order follows the data."""
    values, levels = draw_values(synthesizer, theta, prepared, np.random.default_rng(seed), n), categories_of(synthesizer, prepared)
    if levels is None:
        return values.astype(float)
    check_codes(values, synthesizer.target, len(levels))
    return levels_at(values, levels)


def log_priors(synthesizer: Synthesizer, prepared: Any, n: int, places: Any) -> tuple[np.ndarray, Any]:
    """The log prior where chains begin and at jittered places near it, which are those given if any are."""
    blueprint = synthesizer.build(prepared)
    if blueprint is None:
        return np.zeros(0), places
    places = near_start(blueprint) if places is None else places
    log_prior = compile_log_prior(blueprint)
    return np.array([log_prior(theta, np.ones(n)) for theta in places]), places


def near_start(blueprint: Blueprint) -> tuple[Draw, ...]:
    """Parameters where chains begin, and at jittered places near it."""
    start, rng = blueprint.model.initial_point(), np.random.default_rng(9)
    first = [np.asarray(start[str(value.name)], dtype=float) for value in blueprint.model.value_vars]
    jittered = [[value + rng.normal(0, 0.3, value.shape) for value in first] for _ in range(_PRIORS - 1)]
    return parameters_at(blueprint, [first, *jittered])


def shown_elsewhere(task: Task) -> tuple[dict[str, Shown], dict[str, np.ndarray]]:
    """`show` in a fresh process. A class of a module that can be imported is imported there anew; one of a notebook comes as it is."""
    result = _answer(task, by_value=False)
    if result in ("ModuleNotFoundError", "ImportError", "AttributeError"):
        result = _answer(task, by_value=True)
    if isinstance(result, str):
        raise ContractError(
            f"{type(task.synthesizer).__name__}: its draws could not be made in a fresh process ({result}): what they see is not known"
        )
    shown: tuple[dict[str, Shown], dict[str, np.ndarray]] = result
    return shown


def _answer(task: Task, by_value: bool) -> Any:
    """What the fresh process says, or the name of what went wrong; `by_value`: with the class itself, rather than where it is found."""
    module = sys.modules.get(type(task.synthesizer).__module__)
    try:  # -P: a pickle.py of the folder where somebody stands is not the one that is meant
        with _sent(module if by_value else None) as dumps:
            given = pickle.dumps([path for path in sys.path if path]) + dumps(task)
        done = subprocess.run([sys.executable, "-P", "-c", _PROGRAM], input=given, capture_output=True, timeout=_SECONDS, check=False)
        return pickle.loads(done.stdout) if done.returncode == 0 else "no answer"
    except (OSError, subprocess.TimeoutExpired, pickle.PickleError, EOFError, TypeError) as error:
        return type(error).__name__


@contextmanager
def _sent(module: ModuleType | None) -> Iterator[Callable[[object], bytes]]:
    """What makes bytes of anything, and of that module's classes by what they are; those of a notebook always so."""
    import cloudpickle  # type: ignore[import-untyped]  # of PyMC

    if module is not None:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield cloudpickle.dumps
    finally:
        if module is not None:
            cloudpickle.unregister_pickle_by_value(module)


def main() -> None:
    """Read a task, do it, and write what it gave; an error by the name of its class alone, since its text may hold values."""
    import warnings

    result: Any
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = show(pickle.load(sys.stdin.buffer))
        except Exception as error:  # a stranger's code
            result = type(error).__name__
    sys.stdout.buffer.write(pickle.dumps(result))
