"""One small real run, made once for all tests that read a finished run."""

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from riskweighted.common.seeds import ENTROPY_BYTES
from riskweighted.runs.run import run_study
from riskweighted.runs.study import make_study

SETTINGS = {
    "data": {"path": "data.csv"},
    "scenario": {"known": ["group"], "synthetic": "income"},
    "synthesizer": {"name": "linear-regression", "formula": "income ~ group", "transform": "log"},
    "weights": {"schemes": ["unweighted", "pairwise"]},
    "sampling": {"draws": 400, "tune": 200},
    "release": {"L": 3, "columns": ["size"]},
    "evaluation": {"regression": "income ~ group + C(size)", "coefficient": "C(size)[T.2]", "resamples": 50},
    "seed": 3,
}
ENTROPY = bytes(ENTROPY_BYTES)  # the same draws every time, in a run that may be released


def confidential_data() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b"], 120)
    income = np.round(np.exp(6.5 + (group == "b") + 0.5 * rng.normal(size=120)), 4)
    return pd.DataFrame({"id": np.arange(120), "group": group, "size": rng.integers(1, 4, 120), "income": income})


@functools.cache
def finished_run() -> Path:
    """The run folder ``results``, beside its ``data.csv``. Copy it before changing anything."""
    root = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, root)
    confidential_data().to_csv(root / "data.csv", index=False)
    run_study(make_study(SETTINGS, root), root / "results", entropy=ENTROPY)
    return root / "results"


def copied_run(folder: Path) -> Path:
    """A copy of the run and its data in another folder."""
    shutil.copytree(finished_run().parent, folder, dirs_exist_ok=True)
    return folder / "results"
