"""The randomized probability integral transform of a fit: where each confidential value lies in its
own predictive distribution.
"""

import math
from collections.abc import Sequence

import numpy as np

from riskweighted.contract.distribution import has_mass, interval_masses
from riskweighted.measures import fit_comparisons
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sequence.rounding import Rounding

__all__ = ["OUTER", "pit_rows", "randomized_pit"]

OUTER = 0.05  # the bin at either end
_MOST_DRAWS = 25  # of the posterior, over which a closed-form distribution is averaged

Row = tuple[str, str, float, float, float, float]


def pit_rows(pit: np.ndarray) -> list[Row]:
    """Kolmogorov distance of a PIT (n,) from uniform, and the shares in its outer bins: check,
    parameter, expected, found, error, effect.

    Expectation and standard error are those of n independent uniform numbers.
    """
    u, n = np.sort(pit), len(pit)
    steps = np.arange(n + 1) / n
    distance = float(np.maximum(steps[1:] - u, u - steps[:-1]).max())
    # Mean and standard deviation of Kolmogorov's distribution: sqrt(pi / 2) log 2 and sqrt(pi^2 /
    # 12 - mean^2).
    mean = math.sqrt(math.pi / 2) * math.log(2)
    spread = math.sqrt(math.pi**2 / 12 - mean**2)
    rows = [
        (
            fit_comparisons.PIT_DISTANCE.key,
            "",
            mean / math.sqrt(n),
            distance,
            spread / math.sqrt(n),
            distance,
        )
    ]
    error = math.sqrt(OUTER * (1 - OUTER) / n)
    for name, share in (
        (f"below {OUTER:g}", float((u < OUTER).mean())),
        (f"above {1 - OUTER:g}", float((u > 1 - OUTER).mean())),
    ):
        rows.append((fit_comparisons.PIT_OUTER.key, name, OUTER, share, error, abs(share - OUTER)))
    return rows


def randomized_pit(
    fit: BlockFit,
    rounding: Rounding,
    places: Sequence[tuple[int, int]],
    values: np.ndarray,
    ranks: tuple[np.ndarray, np.ndarray, int],
    rng: np.random.Generator,
) -> np.ndarray:
    """u_i = P(Y_i < y_i) + v_i P(Y_i = y_i), v_i uniform, averaged over posterior draws, (n,) in
    [0, 1]; uniform if the model is right.

    `rounding` of the draws of the fit, by which y_i stands for an interval; `places`: (chain, draw)
    pairs; `ranks`: how many of how many predictive datasets lie below, and at, each value, used
    where the synthesizer has no ``mass``.
    """
    random = rng.random(len(values))
    if not has_mass(fit.synthesizer, fit.draw(0, 0), fit.prepared):
        below, equal, count = ranks
        return np.asarray((below + random * (equal + 1)) / (count + 1))
    lower, upper = rounding.around(values)
    total, used = np.zeros(len(values)), places[:: math.ceil(len(places) / _MOST_DRAWS)]
    up_to = interval_masses(fit.synthesizer, fit.prepared, np.full(len(values), -np.inf), upper)
    around = interval_masses(fit.synthesizer, fit.prepared, lower, upper)
    for draw in used:
        theta = fit.draw(*draw)
        total += up_to(theta) - (1 - random) * around(theta)
    return np.clip(total / len(used), 0, 1)
