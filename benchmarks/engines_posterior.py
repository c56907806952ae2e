"""One weighted pseudo posterior of the normal mixture, in numbers that every engine is given, and
what is compared of its draws.
"""

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from riskweighted import InputError, Scenario, load_synthesizer, scheme_weights
from riskweighted.contract.synthesizer import Blueprint, Density
from riskweighted.contract.vector_layout import as_posterior
from riskweighted.runs.study import demo_study
from riskweighted.sampling.convergence import diagnose
from riskweighted.sampling.laplace import heights_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # ArviZ 0.23 announces ArviZ 1, which we support
    import arviz as az

__all__ = ["CASES", "SCHEMES", "Posterior", "judged", "posterior_of", "standard_errors_apart"]

COMPONENTS = 3
CASES, SCHEMES = ("401ksubs", "simulated"), ("unweighted", "marginal")
_SIMULATED = (
    Path(__file__).resolve().parents[1] / "experiments" / "simulation_data" / "nb_mixture_n1000.csv"
)


@dataclass(frozen=True, eq=False)
class Posterior:
    """A mixture made ready for one data set, ``blueprint``, and weights ``alpha`` (n,)."""

    blueprint: Blueprint = field(repr=False)
    alpha: np.ndarray = field(repr=False)

    @property
    def layout(self) -> Any:
        """What the vector of our density stands for, with the different rows of the data."""
        return self.blueprint.layout

    @cached_property
    def density(self) -> Density:
        """Ours, from a vector (d,)."""
        return self.blueprint.density(self.alpha)

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """What the model is a function of besides its parameters; rows are counted from 0."""
        layout, rows = self.layout, self.layout.rows
        return {
            "components": layout.components,
            "predictors": layout.predictors,
            "cells": len(rows.columns),
            "rows": len(rows.z),
            "columns": rows.columns,
            "cell": rows.cell.astype(int),
            "z": rows.z,
            "alpha": rows.weigh(self.alpha),
            "concentration": float(layout.concentration),
            "widest": float(layout.slope_spread),
        }

    def vectors(self, draws: dict[str, np.ndarray]) -> np.ndarray:
        """Draws by name, each (chains, draws, ...), as vectors (chains, draws, d) of our
        density.
        """
        chains, count = draws["centre"].shape[:2]
        thetas = [
            {name: values[place] for name, values in draws.items()}
            for place in np.ndindex(chains, count)
        ]
        return np.array([self.layout.vector(theta) for theta in thetas]).reshape(chains, count, -1)

    def heights(self, vectors: np.ndarray) -> np.ndarray:
        """Our log density of the parameters themselves, up to a constant, at vectors (S, d)."""
        return np.asarray(heights_of(self.density, vectors) - self.layout.log_jacobian(vectors))

    def quantities(self, vectors: np.ndarray) -> dict[str, np.ndarray]:
        """What is judged of a fit, none of which changes when components swap labels, each (chains,
        draws).
        """
        flat, shape = vectors.reshape(-1, vectors.shape[-1]), vectors.shape[:2]
        prior = self.blueprint.density(np.zeros(len(self.alpha)))
        found = {
            "log_pseudo_likelihood": (
                heights_of(self.density, flat) - heights_of(prior, flat)
            ).reshape(shape)
        }
        posterior = as_posterior(self.layout, vectors)
        for name in self.blueprint.monitored:
            values = posterior[name].values
            for place in np.ndindex(values.shape[2:]):
                found[f"{name}[{', '.join(map(str, place))}]" if place else name] = values[
                    (..., *place)
                ]
        return found

    def components(self, vectors: np.ndarray) -> dict[str, np.ndarray]:
        """Weight, centre and sd of the components of each draw in the order of their sds, each
        (chains, draws).
        """
        posterior = as_posterior(self.layout, vectors)
        order = np.argsort(posterior["sigma"].values, axis=-1)
        sorted_ = {
            name: np.take_along_axis(posterior[name].values, order, axis=-1)
            for name in ("weight", "centre", "sigma")
        }
        return {
            f"{name} of sd {k + 1}": values[..., k]
            for name, values in sorted_.items()
            for k in range(values.shape[-1])
        }


def posterior_of(case: str, scheme: str, records: int | None = None) -> Posterior:
    """One of `CASES` under one of `SCHEMES`; the first so many records, if not all."""
    if case == "401ksubs":
        study = demo_study()
        data, formula, scenario = study.read_data(), study.synthesizer.formula, study.scenario
    elif case == "simulated":
        data = pd.read_csv(_SIMULATED)
        formula = "outcome ~ 1"
        scenario = Scenario(synthetic="outcome", radius=0.2)
    else:
        raise InputError(f"data must be one of {', '.join(CASES)}, got {case!r}")
    data = data[:records]
    synthesizer = load_synthesizer("normal-mixture")(formula, components=COMPONENTS)
    alpha = scheme_weights(scheme, data, scenario).to_numpy()
    return Posterior(synthesizer.build(synthesizer.prepare(data)), alpha)


def judged(quantities: dict[str, np.ndarray]) -> pd.DataFrame:
    """Mean and sd of each quantity (chains, draws), the Monte Carlo standard errors of the mean and
    of log sd, bulk ESS and R-hat.

    Both errors are those of a mean, of the quantity and of its squared distance from it, with the
    ESS of either.
    """
    rows = {}
    for name, values in quantities.items():
        squares = (values - values.mean()) ** 2
        error, of_square = (
            each.std() / np.sqrt(float(az.ess(each, method="mean"))) for each in (values, squares)
        )
        rows[name] = {
            "mean": values.mean(),
            "sd": values.std(),
            "error": error,
            "log_sd_error": of_square / (2 * squares.mean()),
        }
    table = diagnose(quantities, 0)
    return pd.DataFrame(rows).T.assign(ess=table["ess_bulk"], r_hat=table["r_hat"])


def standard_errors_apart(one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """How far means and log sds are apart, in Monte Carlo standard errors of the difference."""
    mean = (one["mean"] - other["mean"]) / np.hypot(one["error"], other["error"])
    sd = np.log(one["sd"] / other["sd"]) / np.hypot(one["log_sd_error"], other["log_sd_error"])
    return pd.DataFrame({"mean": mean, "sd": sd})
