"""Find the constants `CALIBRATED` of experiments/ce/population.py: `python -m
experiments.ce.calibrate`, 10 to 25 seconds.

Three unknowns, three published figures (Hu et al. 2022, Table 4), each averaged over seeds 0 to 9;
the seeds stay fixed meanwhile.
"""

import numpy as np
from scipy.optimize import root

from experiments.ce.facts import CE_PUBLISHED, ce_facts
from experiments.ce.population import CE_RECORDS, Calibration, draw_population

TARGETS = ["mean", "mean, half-width of 95 % interval", "coefficient of Earner 2"]
START = np.array([92_000.0, 460_000.0, -0.7])


def misses(multiples: np.ndarray) -> np.ndarray:
    """Relative difference between achieved and published figures, at multiples of the start."""
    constants = Calibration(*(START * multiples))
    populations = (
        draw_population(CE_RECORDS, np.random.default_rng(seed), constants) for seed in range(10)
    )
    achieved = np.mean(
        [ce_facts(data).set_index("fact")["achieved"][TARGETS] for data in populations], axis=0
    )
    published = np.array([CE_PUBLISHED[fact] for fact in TARGETS])
    return achieved / published - 1


if __name__ == "__main__":
    # Rounding of incomes makes steps, so derivatives are taken over a distance of 2 %.
    solution = root(misses, np.ones(3), method="hybr", options={"eps": 4e-4, "xtol": 1e-4})
    print(solution.message)
    print(Calibration(*(START * solution.x)))
    print("relative differences left:", np.round(solution.fun, 5))
