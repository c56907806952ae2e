"""What the examples of docstrings are about: two hundred simulated households, a scenario, a fit,
datasets and a finished run.

``from riskweighted.runs.examples import data, scenario, fit`` gives them; each is made when it is
first asked for. The examples take ``import numpy as np``, ``import pandas as pd`` and ``import
riskweighted as rw`` for granted.
"""

import atexit
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.contract.synthesizer import load_synthesizer
from riskweighted.intruder.scenario import Scenario
from riskweighted.weights.kway import marginal_weights

STUDY = """
data = { path = "households.csv" }
scenario = { known = ["region"], synthetic = "income" }
synthesizer = { name = "linear-regression", formula = "income ~ region + age", transform = "log" }
weights = { schemes = ["unweighted", "marginal"] }
evaluation = { resamples = 50 }
[release]
L = 3
columns = ["smokes"]
[release.disclosure.accept]  # so few records never show that little is disclosed
mean = "an example"
isolated = "an example"
"""
SWEEP = """
study = "study.toml"
grid = { "release.L" = [2, 3], "weights.schemes" = ["marginal"] }
"""
ATTACK = """
run = { folder = "run" }
linking = { region = "categorical", income = "numeric" }
"""


def _data() -> pd.DataFrame:
    """Region, age, whether somebody smokes, survey weight and income in dollars of 200 simulated
    households.
    """
    rng = np.random.default_rng(1)
    columns = {"region": rng.choice(["north", "south"], 200), "age": rng.integers(20, 80, 200)}
    frame = pd.DataFrame(
        columns
        | {"smokes": np.where(rng.random(200) < 0.3, "yes", "no"), "w": rng.integers(1, 4, 200)}
    )
    return frame.assign(income=_income(frame, rng))


def _income(frame: pd.DataFrame, rng: np.random.Generator) -> pd.Series:
    """Incomes (n,) that follow region and age, in tens of dollars."""
    return np.exp(
        10
        + 0.3 * (frame["region"] == "north")
        + 0.01 * frame["age"]
        + 0.5 * rng.normal(size=len(frame))
    ).round(-1)


def _synthetic() -> list[pd.DataFrame]:
    """Three synthetic versions, whose incomes are drawn anew from what the simulated ones were
    drawn from.
    """
    return [
        _of("data").assign(income=_income(_of("data"), np.random.default_rng(seed)))
        for seed in (2, 3, 4)
    ]


def _fit() -> Any:
    # loads PyMC, for which weights and risk measures need not wait
    from riskweighted.sequence.fitting import fit

    return fit(_of("synthesizer"), _of("data"), _of("alpha"), random_seed=1)


def _folder() -> Path:
    """A folder with these households, a study of them, its run, a sweep and an attack; it is
    removed when Python ends.
    """
    from riskweighted.runs.run import run_study
    from riskweighted.runs.study import load_study

    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _of("data").to_csv(folder / "households.csv", index=False)
    for name, text in (("study", STUDY), ("sweep", SWEEP), ("attack", ATTACK)):
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    run_study(load_study(folder / "study.toml"), folder / "run")
    return folder


_MAKE = {
    "data": _data,
    "scenario": lambda: Scenario(known="region", synthetic="income"),
    "synthesizer": lambda: load_synthesizer("linear-regression")(
        "income ~ region + age", transform="log"
    ),
    "alpha": lambda: marginal_weights(_of("data"), _of("scenario")),
    "fit": _fit,
    "synthetic": _synthetic,
    "folder": _folder,
}
_made: dict[str, Any] = {}


def _of(name: str) -> Any:
    if name not in _made:
        _made[name] = _MAKE[name]()
    return _made[name]


def __getattr__(name: str) -> Any:
    if name in _MAKE:
        return _of(name)
    raise AttributeError(f"riskweighted.runs.examples has no {name!r}; it has {', '.join(_MAKE)}")
