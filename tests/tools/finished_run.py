"""Small real runs, each made once for all tests that read a finished run, whichever process of the
session they run in.
"""

import atexit
import functools
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from filelock import FileLock
from shared_runs import SHARED

from riskweighted.common.seeds import ENTROPY_BYTES
from riskweighted.release.contents import failing_schemes
from riskweighted.runs.finished import FinishedRun, load_run
from riskweighted.runs.run import run_study
from riskweighted.runs.study import make_study

_SMALL = dict.fromkeys(
    (
        "mean",
        "isolated",
        "largest",
        "max_true_value_copies",
        "max_identified",
        "group",
        "not_judged",
        "not_shown",
    ),
    "a few records of a test",
)
ACCEPTED = {"accept": _SMALL}  # so few records never show that little is disclosed
SETTINGS = {
    "data": {"path": "data.csv"},
    "scenario": {"known": ["group"], "synthetic": "income"},
    "synthesizer": {"name": "linear-regression", "formula": "income ~ group", "transform": "log"},
    "weights": {"schemes": ["unweighted", "pairwise"]},
    # so that there is a disagreement of chains to tell
    "sampling": {"draws": 400, "tune": 200, "engine": "nuts"},
    "release": {"L": 3, "columns": ["size"], "disclosure": ACCEPTED},
    "evaluation": {
        "regression": "income ~ group + C(size)",
        "coefficient": "C(size)[T.2]",
        "resamples": 50,
    },
    "seed": 3,
}
ENTROPY = bytes(ENTROPY_BYTES)  # the same draws every time, in a run that may be released


def accepting(run: Path | FinishedRun, *schemes: str) -> dict[str, str]:
    """The setting with which schemes of a run are released whether or not they fail by chance: by
    default all of the run's.
    """
    finished = run if isinstance(run, FinishedRun) else load_run(run)
    return {
        "accept_fail": "a test" if failing_schemes(finished, schemes or finished.schemes) else ""
    }


def confidential_data() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b"], 120)
    income = np.round(np.exp(6.5 + (group == "b") + 0.5 * rng.normal(size=120)), 4)
    return pd.DataFrame(
        {"id": np.arange(120), "group": group, "size": rng.integers(1, 4, 120), "income": income}
    )


def _made_once(name: str, settings: dict[str, Any], data: Callable[[], pd.DataFrame]) -> Path:
    """The run folder ``results``, beside its ``data.csv``; a process that finds another making it
    waits.
    """
    root = _shared() / name
    with FileLock(_shared() / f"{name}.lock"):
        if not (root / "results").exists():  # a run appears whole
            root.mkdir(exist_ok=True)
            data().to_csv(root / "data.csv", index=False)
            run_study(make_study(settings, root), root / "results", entropy=ENTROPY)
    return root / "results"


@functools.cache
def _shared() -> Path:
    """The folder of the session that pytest was started as, or one of this process."""
    if folder := os.environ.get(SHARED):
        return Path(folder)
    made = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, made)
    return made


@functools.cache
def finished_run() -> Path:
    """The run folder ``results``, beside its ``data.csv``. Copy it before changing anything."""
    return _made_once("one", SETTINGS, confidential_data)


def copied_run(folder: Path) -> Path:
    """A copy of the run and its data in another folder."""
    shutil.copytree(finished_run().parent, folder, dirs_exist_ok=True)
    return folder / "results"


CHAIN = {
    "data": {"path": "data.csv"},
    "scenario": {"known": ["region"], "synthetic": ["marital", "income", "smoke", "cigs"]},
    "synthesizer": {
        "name": "sequential",
        "predictors": ["region", "age"],
        "variables": {
            "income": {"codes": [-8], "model": "linear-regression", "transform": "log"},
            "cigs": {"model": "counts", "applies_if": "smoke == 'YES'", "else_value": -8},
        },
    },
    "weights": {"schemes": ["unweighted", "pairwise"]},
    "sampling": {"draws": 300, "tune": 200},
    "release": {"L": 3, "disclosure": ACCEPTED},
    "evaluation": {"resamples": 50},
    "seed": 3,
}


def chain_data() -> pd.DataFrame:
    """Four variables to synthesize: levels with gaps, amounts with gaps and a code, two levels, and
    a count that a rule leaves out.
    """
    rng = np.random.default_rng(5)
    n = 300
    age, region = rng.integers(20, 80, n), rng.choice(["n", "s", "w"], n)
    smoke = np.where(rng.random(n) < 1 / (1 + np.exp((age - 45) / 15)), "YES", "NO")
    income = np.exp(rng.normal(7 + 0.01 * (age - 45), 0.6, n)).round(2)
    income = np.where(rng.random(n) < 0.1, -8.0, income)
    income[rng.random(n) < 0.06] = np.nan
    marital = pd.Series(rng.choice(["married", "single", "widowed"], n, p=[0.55, 0.3, 0.15]))
    marital[rng.choice(n, 5, replace=False)] = None
    cigs = np.where(smoke == "YES", rng.poisson(4, n) + 1, -8)
    return pd.DataFrame(
        {
            "region": region,
            "age": age,
            "marital": marital,
            "income": income,
            "smoke": smoke,
            "cigs": cigs,
        }
    )


@functools.cache
def finished_chain() -> Path:
    """The run folder ``results`` of a study of several variables, beside its ``data.csv``. Copy it
    before changing anything.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _made_once("several", CHAIN, chain_data)
