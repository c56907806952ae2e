"""What of a centred posterior is calibrated: `python -m experiments.trust.calibrated` (METHODS
section 15).

The superpopulation of `leave_one_out`: y = 1 + x / 2 + N(0, 1), n = 200, one pattern, radius .5. By
scheme and parameter (slope on x, log sigma) over samples: bias of the posterior's centre, its sd
over the sd of its centre from sample to sample, and how often intervals of 50, 90 and 95 % hold the
truth. By the normal approximation.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from scipy.stats import norm

from experiments.trust.leave_one_out import MODEL, SCENARIO, sample
from experiments.trust.pseudo import pseudo_posterior, weights_of

__all__ = ["SCHEMES", "replicate", "summarise"]

SCHEMES = ("unweighted", "uniform(c=0.25)", "marginal", "marginal+", "pairwise+", "mix+(t=0.5)")
LEVELS = (0.5, 0.9, 0.95)
_TRUTH = {"slope": 0.5, "log sigma": 0.0}


def replicate(seed: int) -> pd.DataFrame:
    """Of one sample: centre and sd of the posterior of each parameter, by scheme."""
    data = sample(seed)
    sd_x, rows = data["x"].std(ddof=0), []
    for scheme in SCHEMES:
        mode, covariance = pseudo_posterior(
            MODEL, data, weights_of(scheme, data, SCENARIO)
        ).normal()
        sds = np.sqrt(np.diag(covariance))
        rows.append((scheme, "slope", mode[1] / sd_x, sds[1] / sd_x))
        rows.append((scheme, "log sigma", mode[2], sds[2]))
    return pd.DataFrame(rows, columns=["scheme", "parameter", "centre", "sd"])


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each scheme and parameter."""
    table = []
    for (scheme, parameter), part in rows.groupby(["scheme", "parameter"], sort=False):
        off = part["centre"] - _TRUTH[str(parameter)]
        row = {
            "scheme": scheme,
            "parameter": parameter,
            "bias": off.mean(),
            "sd ratio": part["sd"].mean() / part["centre"].std(),
        }
        row |= {
            f"{level:g}": (off.abs() <= norm.ppf((1 + level) / 2) * part["sd"]).mean()
            for level in LEVELS
        }
        table.append(row)
    return pd.DataFrame(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=400)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        summarise(pd.concat([replicate(seed) for seed in range(asked.samples)]))
        .round(3)
        .to_csv(index=False)
    )
