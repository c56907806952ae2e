"""The log posterior that a blueprint's graph states, to hold densities to."""

from collections.abc import Callable

import numpy as np
import pytensor

from riskweighted.synthesis.agreement import PLAIN, log_posterior_graph
from riskweighted.synthesis.contract import Blueprint, Draw


def log_posterior_of(blueprint: Blueprint) -> Callable[[Draw, np.ndarray], float]:
    """As a function of one posterior draw and alpha (n,)."""
    model = blueprint.model
    with pytensor.config.change_flags(cxx=""):
        function = pytensor.function(*log_posterior_graph(blueprint), mode=PLAIN, on_unused_input="ignore", allow_input_downcast=True)
    unweighted = {variable.name: variable.get_value() for variable in model.data_vars}

    def log_posterior(theta: Draw, alpha: np.ndarray) -> float:
        values = unweighted | blueprint.weigh(alpha)
        return float(function(*(theta[variable.name] for variable in model.free_RVs), *(values[name] for name in unweighted)))

    return log_posterior
