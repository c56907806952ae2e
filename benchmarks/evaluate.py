"""Weights, identification risk and evaluation of large files: `python benchmarks/evaluate.py
[MOST]`, about a minute for 10 million.

Made-up households (`simulate_ce`), 40 known patterns, income synthesized: L = 20 datasets that are
made when they are asked for, whose time is not counted; evaluation of three labels with a mean, two
quantiles and, at last, a regression. Each line is a process of its own, so that its peak memory is
its own; processor time of the second call, a small one having loaded what is compiled. "Growth" is
the exponent from the line before.
"""

import math
import resource
import sys
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd

L, LABELS = 20, 3
REGRESSION = {"regression": "income ~ C(earner)", "coefficient": "C(earner)[T.not earner]"}
CASES = {
    "marginal weights": (10**4, 10**5, 10**6, 10**7),
    "pairwise weights": (10**4, 10**5, 10**6, 10**7),
    "identification risk, L = 20": (10**4, 10**5, 10**6),
    "evaluate, L = 20, 3 labels": (10**4, 10**5, 10**6),
    "the same with a regression": (10**4, 10**5, 10**6),
}


class Made(Sequence[pd.DataFrame]):
    """L synthetic datasets, made anew whenever one is asked for."""

    def __init__(self, data: pd.DataFrame, spread: float) -> None:
        self.data, self.spread, self.seconds = data, spread, 0.0

    def __len__(self) -> int:
        return L

    def __getitem__(self, place):  # type: ignore[no-untyped-def]
        if not 0 <= place < L:
            raise IndexError(place)
        began, rng = time.process_time(), np.random.default_rng(place)
        noise = np.exp(self.spread * rng.standard_normal(len(self.data)))
        frame = self.data.assign(income=np.rint(self.data["income"].to_numpy() * noise))
        self.seconds += time.process_time() - began
        return frame


def measure(what: str, n: int) -> tuple[float, float]:
    """Processor seconds and peak memory in GB."""
    import riskweighted as rw

    # experiments are no part of the package
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from experiments.ce.population import simulate_ce

    scenario = rw.Scenario(
        known=["gender", "age_band", "region"], synthetic="income", radius=0.2, min_radius=500.0
    )

    def once(data: pd.DataFrame) -> float:
        made = {f"label {label}": Made(data, 0.2 * label) for label in range(1, LABELS + 1)}
        began = time.process_time()
        if "weights" in what:
            (rw.pairwise_weights if "pairwise" in what else rw.marginal_weights)(data, scenario)
        elif "risk" in what:
            rw.identification_risk(data, made["label 1"], scenario)
        else:
            rw.evaluate(
                data,
                made,
                scenario,
                settings=rw.EvaluationSettings(**REGRESSION if "regression" in what else {}),
                baseline="label 1",
                random_seed=1,
            )
        return time.process_time() - began - sum(own.seconds for own in made.values())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        once(simulate_ce(2000))
        return once(simulate_ce(n)), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main(most: int) -> None:
    """Print the table."""
    print(f"{'':30}{'records':>12}{'processor s':>13}{'peak GB':>9}{'growth':>8}")
    for what, sizes in CASES.items():
        before = None
        for n in (size for size in sizes if size <= most):
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
                seconds, peak = alone.submit(measure, what, n).result()
            growth = (
                ""
                if before is None
                else f"{math.log(seconds / before[1]) / math.log(n / before[0]):8.2f}"
            )
            print(f"{what:30}{n:12,}{seconds:13.3f}{peak:9.2f}{growth}", flush=True)
            before = n, seconds


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**7)
