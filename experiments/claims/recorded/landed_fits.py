"""Fits the demo's mixture as it landed: to be run by the code of commit 0e32401, not by today's
(README.md beside this file).

It leaves one file of posterior draws a scheme, which `measure.py` reads with today's definitions.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from riskweighted.datasets import load_households
from riskweighted.pseudo_posterior import Sampling, compile_model
from riskweighted.scenario import Scenario
from riskweighted_models.normal_mixture import NormalMixture

from riskweighted.weights import marginal_weights, pairwise_weights

PREDICTORS = ("married", "male", "age_band", "family_size", "eligible_401k", "has_ira")
FORMULA = "inc ~ " + " + ".join(f"C({name})" for name in PREDICTORS)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cores", type=int, default=2)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    data = load_households()
    scenario = Scenario(known=("married", "male", "age_band"), synthetic="inc", radius=0.2)
    marginal = marginal_weights(data, scenario)
    one = pd.Series(1.0, data.index)
    weights = {
        "unweighted": one,
        "marginal": marginal,
        "pairwise": pairwise_weights(data, scenario),
        "uniform .1": 0.1 * one,
        "delete 5 %": one.where(1 - marginal <= np.quantile(1 - marginal, 0.95), 0.0),
    }
    model = compile_model(NormalMixture(FORMULA, components=3, transform="log"), data)
    for scheme, alpha in weights.items():
        fitted = model.sample(
            alpha,
            random_seed=2022,
            sampling=Sampling(draws=500, tune=400, chains=4, cores=given.cores),
        )
        drawn = {str(name): values.values for name, values in fitted.posterior.items()}
        prepared = fitted.block.prepared
        np.savez(
            given.out / f"{scheme.replace(' ', '_')}.npz",
            alpha=alpha.to_numpy(),
            z=prepared.z,
            whitened=prepared.design.whitened,
            unit=np.array([prepared.location, prepared.scale]),
            r_hat=fitted.diagnostics["r_hat"].max(),
            ess=fitted.diagnostics["ess_bulk"].min(),
            divergences=fitted.diagnostics["divergences"].max(),
            **{f"draw_{name}": values for name, values in drawn.items()},
        )
        print(scheme, fitted.diagnostics.to_string(), flush=True)


if __name__ == "__main__":
    main()
