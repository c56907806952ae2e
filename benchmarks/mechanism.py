"""What is measured of a fit, at 10^4 to 10^6 records: `python benchmarks/mechanism.py [RECORDS
...]`, some minutes.

Expected risk with influence over 100 draws, and `check_fit`, of the mixture and of the two-part
model, on the made-up households with ten categorical predictors. Nothing is fitted: the posterior
is a cloud of draws given by hand. Every line is a process of its own, which prints its processor
seconds, the records' worth of one draw, and the largest room it took; and that before the walk,
which is the data and what the model has prepared.
"""

import os
import resource
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np

SIZES = (10_000, 100_000, 1_000_000)
MODELS = ("normal-mixture", "two-part")
CHAINS, DRAWS = 2, 50
KNOTS = (
    2_000,
    5_000,
    10_000,
    20_000,
    30_000,
    40_000,
    50_000,
    70_000,
    100_000,
    150_000,
    250_000,
    500_000,
)
CENTRES = {
    "centre": [-0.6, 0.1, 0.5],
    "sigma": [1.2, 0.7, 0.5],
    "weight": [0.2, 0.6, 0.2],
    "slope_spread": 0.03,
    "status_intercept": -2.5,
}
OFF = 0.005  # by how much a parameter varies from draw to draw


def cloud(shapes: dict[str, tuple[int, ...]]) -> Any:
    """Draws about one place, of parameters of these shapes."""
    import xarray as xr

    rng, found = np.random.default_rng(1), {}
    for name, shape in shapes.items():
        centre = (
            np.broadcast_to(CENTRES[name], shape)
            if name in CENTRES
            else 0.1 * rng.normal(size=shape)
        )
        values = centre * (1 + OFF * rng.normal(size=(CHAINS, DRAWS, *shape)))
        values = values / values.sum(axis=-1, keepdims=True) if name == "weight" else values
        found[name] = (("chain", "draw", *(f"{name}_{axis}" for axis in range(len(shape)))), values)
    return xr.Dataset(found)


def shapes_of(model: Any, prepared: Any) -> dict[str, tuple[int, ...]]:
    """Of every parameter."""
    from riskweighted.contract.vector_layout import free_shapes

    if type(model).__name__ != "NormalMixture":
        return free_shapes(model.build(prepared).model)
    k, p = model.components, prepared.raw.distinct.rows.shape[1]
    return {
        "weight": (k,),
        "centre": (k,),
        "sigma": (k,),
        "slope": (p,),
        "slope_spread": (),
        "slope_deviation": (k, p),
    }


def given_fit(name: str, records: int) -> Any:
    """A fit of one of the models to so many households."""
    import pandas as pd
    from households import PREDICTORS, households

    import riskweighted as rw
    from riskweighted.sampling.block_fit import BlockFit
    from riskweighted.sampling.convergence import no_diagnostics
    from riskweighted.sequence.fit import Fit

    data = households(records)
    settings: dict[str, Any] = (
        {"components": 3}
        if name == "normal-mixture"
        else {"support": (0, 1e7), "value_settings": {"knots": KNOTS}}
    )
    if name == "normal-mixture":
        data = data[data["income"] > 0].reset_index(drop=True)
    model = rw.load_synthesizer(name)(
        f"income ~ {' + '.join(f'C({column})' for column in PREDICTORS)}", **settings
    )
    prepared = model.prepare(data)
    alpha = pd.Series(np.random.default_rng(2).uniform(0.3, 1, len(data)), data.index, name="alpha")
    return Fit.of(
        BlockFit(model, alpha, cloud(shapes_of(model, prepared)), no_diagnostics(), data, prepared)
    )


def room() -> float:
    """The largest resident set of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def measure(name: str, records: int) -> None:
    """Print the lines of one model and size."""
    from households import KNOWN

    import riskweighted as rw
    from riskweighted.evaluation.mechanism import find_mechanism
    from riskweighted.intruder.world import make_world
    from riskweighted.measures.evaluation_settings import EvaluationSettings

    fit = given_fit(name, records)
    scenario = rw.Scenario(known=KNOWN, synthetic="income", radius=0.2, min_radius=100.0)
    world, before, settings = make_world(fit.confidential, scenario), room(), EvaluationSettings()
    small = given_fit(name, 2_000)
    # kernels are compiled, or read from disk
    find_mechanism("x", small, make_world(small.confidential, scenario), settings, 1)
    rw.check_fit(small, scenario=scenario, random_seed=1)
    tasks = {
        "expected risk and influence": lambda: find_mechanism("x", fit, world, settings, 1),
        "check_fit": lambda: rw.check_fit(fit, scenario=scenario, random_seed=1),
    }
    for task, work in tasks.items():
        start = time.process_time()
        work()
        seconds = time.process_time() - start
        each = 1e9 * seconds / len(fit.confidential) / CHAINS / DRAWS
        print(
            f"{name:16}{len(fit.confidential):>10,}  "
            f"{task:28}{seconds:8.1f}{each:8.0f}{before:8.2f}{room():8.2f}",
            flush=True,
        )


def main(sizes: tuple[int, ...]) -> None:
    """Print the table."""
    print(
        f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} "
        "at the start\n"
    )
    print(f"{'model':16}{'records':>10}  {'':28}{'seconds':>8}{'ns each':>8}{'before':>8}{'GB':>8}")
    for name in MODELS:
        for records in sizes:
            subprocess.run([sys.executable, __file__, name, str(records)], check=True)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if len(sys.argv) == 3 and sys.argv[1] in MODELS:
            measure(sys.argv[1], int(sys.argv[2]))
        else:
            main(tuple(map(int, sys.argv[1:])) or SIZES)
