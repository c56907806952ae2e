"""How often one small run, and the release of it, does the same thing: function calls counted by a
tracer.

``python -m tests.tools.trace_run [--json]`` from the root of the repository. The study has 2
schemes, L = 3 and a linear regression of 120 made-up records. Functions are found by their names,
wherever they live, and everything is reached through the public names of ``riskweighted``: so
``python PATH/trace_run.py`` measures whatever version ``PYTHONPATH`` leads to, older ones too.
"""

import argparse
import importlib
import json
import pkgutil
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType, ModuleType

import numpy as np
import pandas as pd

from tests.tools.study_text import study_text

FUNCTIONS = (
    "make_world",
    "known_patterns",
    "sort_centres",
    "Centres.find",
    "Scenario.check",
    "require_columns",
    "build_design",
    "fingerprint",
    "load_fit",
)
PREPARE, BUILT, FILES = "Synthesizer.prepare", "synthesizers built", "files entered"

STUDY = study_text(
    '[weights]\nschemes = ["unweighted", "pairwise"]',
    '[evaluation]\nregression = "income ~ group + C(size)"\ncoefficient = '
    '"C(size)[T.2]"\nresamples = 50',
)


@dataclass
class Trace:
    """``calls``: of each function by qualified name; ``files``: those of the framework in which any
    function was called.
    """

    calls: Counter[str] = field(default_factory=Counter)
    files: set[str] = field(default_factory=set)


@contextmanager
def traced(
    framework: Path, models: Path, functions: tuple[str, ...] = FUNCTIONS
) -> Iterator[Trace]:
    """Count calls, in every thread, of functions defined below the folders `framework` and
    `models`.

    A `prepare` of a model that calls its base class's counts once.
    """
    trace = Trace()
    # code: what it counts as, and its file in the framework
    ours: dict[CodeType, tuple[str | None, str | None]] = {}

    def classify(code: CodeType) -> tuple[str | None, str | None]:
        path = Path(code.co_filename)
        inside = path.is_relative_to(framework)
        label = (
            code.co_qualname
            if code.co_qualname in functions and (inside or path.is_relative_to(models))
            else None
        )
        if code.co_name == "prepare" and path.is_relative_to(models):
            label = PREPARE
        return label, path.relative_to(framework).as_posix() if inside else None

    def note(frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        code = frame.f_code
        if code not in ours:
            ours[code] = classify(code)
        label, file = ours[code]
        if file is not None:
            trace.files.add(file)
        if label is not None and not (
            label == PREPARE and frame.f_back and frame.f_back.f_code.co_name == "prepare"
        ):
            trace.calls[label] += 1

    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield trace
    finally:
        sys.setprofile(before)
        threading.setprofile(before)


@contextmanager
def counted_instances(kind: type, calls: Counter[str]) -> Iterator[None]:
    """Count the instances of a class that are made."""
    original = kind.__init__

    def counting(self: object, *arguments: object, **settings: object) -> None:
        calls[BUILT] += 1
        original(self, *arguments, **settings)

    kind.__init__ = counting  # type: ignore[misc]
    try:
        yield
    finally:
        kind.__init__ = original  # type: ignore[misc]


def confidential_data() -> pd.DataFrame:
    """The records of ``tests/tools/finished_run.py``; written out here because older versions are
    measured, too.
    """
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b"], 120)
    income = np.round(np.exp(6.5 + (group == "b") + 0.5 * rng.normal(size=120)), 4)
    return pd.DataFrame(
        {"id": np.arange(120), "group": group, "size": rng.integers(1, 4, 120), "income": income}
    )


def import_all(package: ModuleType) -> None:
    """Import every module of a package first, so that nothing is called because it is imported
    while we count.
    """
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__"):
            with suppress(ModuleNotFoundError):  # of an optional dependency
                importlib.import_module(module.name)


def trace_run(folder: Path) -> dict[str, dict[str, int]]:
    """Calls, by function, of the run ("run") and of the release of one of its schemes ("release");
    writes to `folder`.
    """
    import riskweighted as rw

    model = rw.load_synthesizer("linear-regression")
    framework = Path(rw.__file__).parent
    models = Path(sys.modules[model.__module__].__file__ or "").parent
    import_all(rw)
    confidential_data().to_csv(folder / "data.csv", index=False)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    study = rw.load_study(folder / "study.toml")
    steps = {
        "run": lambda: rw.run_study(study, folder / "results"),
        "release": lambda: rw.release_run(
            folder / "results", folder / "pack", schemes=["pairwise"]
        ),
    }
    table = {}
    for step, act in steps.items():
        with traced(framework, models) as trace, counted_instances(model, trace.calls):
            act()
        table[step] = {name: trace.calls[name] for name in (*FUNCTIONS, PREPARE, BUILT)} | {
            FILES: len(trace.files)
        }
    return table


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.trace_run", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        table = trace_run(Path(folder))
    if options.json:
        print(json.dumps(table, indent=2))
        return
    print(f"{'calls of':<26}" + "".join(f"{step:>9}" for step in table))
    for name in table["run"]:
        print(f"{name:<26}" + "".join(f"{counts[name]:>9}" for counts in table.values()))


if __name__ == "__main__":
    main()
