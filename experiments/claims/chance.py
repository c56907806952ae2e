"""The largest risk of any record over L datasets, as chance makes it (METHODS section 2.5; counts:
`riskweighted.risk.whack_a_mole_risk`).
"""

import numpy as np
from scipy.stats import binom

from riskweighted.risk.expected_identification import ExpectedRisk

__all__ = ["largest_of_sets"]


def largest_of_sets(fit: ExpectedRisk, L: int) -> float:  # noqa: N803
    """The median of the largest risk over L datasets: N_i ~ Bin(L, p_i) of a record's values land,
    independently, in its ball.
    """
    levels = np.unique(
        np.round(
            np.outer(np.linspace(fit.outside.min(), fit.outside.max(), 50), np.arange(L + 1) / L), 6
        )
    )
    none_above = [
        binom.logcdf(np.floor(level / fit.outside * L + 1e-9), L, fit.own_mass).sum()
        for level in levels
    ]
    return float(levels[np.searchsorted(none_above, np.log(0.5))])
