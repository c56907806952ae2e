"""Simulation-based calibration (Talts et al. 2018) of every registered synthesizer: `python -m
experiments.trust.calibration`.

Parameters are drawn from the prior, data from the model given them, and the unweighted posterior of
these data is sampled as users sample it: the engine, the target acceptance and the length of
trajectories are those that `fit` chooses, and so is what it runs anew. The rank of the true value
among posterior draws is then uniform, for every function of parameters and data. Each model
compiles once: `Movable` turns the data in its graph into ``pm.Data``, which the next data set
replaces.
"""

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pytensor.graph.replace import graph_replace
from pytensor.graph.traversal import ancestors
from pytensor.tensor import TensorConstant
from riskweighted_models.level_model import LevelModel
from riskweighted_models.transformation import Transformation
from scipy import stats

from riskweighted import load_synthesizer
from riskweighted.common.errors import FewRecordsWarning, InputError
from riskweighted.common.frames import with_columns
from riskweighted.common.seeds import seed_for
from riskweighted.contract.distribution import Records
from riskweighted.contract.drawn_columns import spread_draws
from riskweighted.contract.synthesizer import Blueprint, Draw, Synthesizer
from riskweighted.contract.vector_layout import free_shapes
from riskweighted.design.precision import find_precision
from riskweighted.sampling.block_fit import BlockFit, prepare_model
from riskweighted.sampling.compilation import CompiledModel, compile_prepared
from riskweighted.sampling.sampling_settings import Sampling

__all__ = ["CASES", "FALSE_ALARM", "SAMPLING", "Case", "calibrate", "judge"]

FALSE_ALARM = 1e-3  # probability that a calibrated model fails, all its quantities together
SAMPLING = Sampling(draws=300, chains=2, cores=1)  # the rest as users get it
_RANKED = 60  # posterior draws, evenly spaced over all, that a true value is ranked among
_AT_ONCE = 500  # draws from the prior

Quantities = Callable[[Draw], Mapping[str, np.ndarray]]


def _named(*names: str) -> Quantities:
    """Parameters as they are."""
    return lambda theta: {name: theta[name] for name in names}


def _of_mixture(theta: Draw) -> dict[str, np.ndarray]:
    """What does not change when components swap labels."""
    order = np.argsort(theta["centre"])
    same = {
        name: theta[name] for name in ("predictive_mean", "predictive_sd", "slope", "slope_spread")
    }
    return {
        **same,
        "ordered centre": theta["centre"][order],
        "weight of the lowest": theta["weight"][order[0]],
    }


def _of_count_mixture(theta: Draw) -> dict[str, np.ndarray]:
    order = np.argsort(theta["intercept"])
    return {
        "slope": theta["slope"],
        "ordered intercept": theta["intercept"][order],
        "weight of the lowest": theta["weight"][order[0]],
    }


def _of_transformation(theta: Draw) -> dict[str, np.ndarray]:
    """Every kind of parameter; of the tilts a few."""
    names = (
        "intercept",
        "slope",
        "log_slope",
        "log_slope_by_place",
        "gamma_middle",
        "log_tau",
        "step",
    )
    return {**{name: theta[name] for name in names}, "tilt": theta["tilt"][10:60:10]}


@dataclass(frozen=True)
class Case:
    """A small model: its settings, which must not look at the response, predictors, and functions
    of theta to rank.
    """

    name: str
    settings: Mapping[str, Any]
    quantities: Quantities
    records: int = 40
    in_ci: bool = field(default=True)
    values: tuple[float, ...] = ()  # of a response that nothing depends on, in turn

    def synthesizer(self) -> Synthesizer:
        return load_synthesizer(self.name)(**self.settings)

    def frame(self) -> pd.DataFrame:
        """Fixed predictors, groups of unequal size, and a response that nothing depends on."""
        rng, n = np.random.default_rng(7), self.records
        groups = np.repeat(["a", "b", "c"], [n // 2, n // 3, n - n // 2 - n // 3])
        values = self.values or self.settings.get(
            "levels", self.settings.get("values", np.arange(1.0, n + 1))
        )
        return pd.DataFrame({"x": rng.normal(1, 2, n), "g": groups, "y": np.resize(values, n)})


_UNITS = {"location": 0.0, "scale": 1.0}  # otherwise the priors would be scaled by the data
CASES = {
    "linear-regression": Case(
        "linear-regression", {"formula": "y ~ x + C(g)", **_UNITS}, _named("coefficient", "sigma")
    ),
    "normal-mixture": Case(
        "normal-mixture",
        {
            "formula": "y ~ x",
            "components": 2,
            "transform": "identity",
            "slope_spread": 0.3,
            **_UNITS,
        },
        _of_mixture,
    ),
    "negative-binomial": Case(
        "negative-binomial", {"formula": "y ~ x"}, _named("intercept", "slope", "inverse_phi")
    ),
    "hierarchical": Case(
        "hierarchical",
        {"formula": "y ~ x", "groups": ("g",)},
        _named("common", "tau", "precision", "intercept", "slope"),
    ),
    "transformation": Case(
        "transformation",
        {
            "formula": "y ~ x",
            "support": (0, 2000),
            "knots": (20.0, 60.0, 200.0, 600.0),
            "heaping": False,
        },
        _of_transformation,
    ),
    "logistic": Case(
        "logistic", {"formula": "y ~ x + C(g)", "levels": (0, 1)}, _named("coefficient")
    ),
    "ordinal": Case(
        "ordinal", {"formula": "y ~ x + C(g)", "levels": (0, 1, 2)}, _named("coefficient")
    ),
    "multinomial": Case(
        "multinomial", {"formula": "y ~ x", "levels": (0, 1, 2)}, _named("coefficient")
    ),
    "counts": Case(
        "counts", {"formula": "y ~ x + C(g)", "values": (0, 1, 2, 3)}, _named("coefficient")
    ),
    # a tenth of the prior's data sets have as many of each kind as this model is made for; the
    # others are drawn anew
    "two-part": Case(
        "two-part",
        {
            "formula": "y ~ x",
            "value": "linear-regression",
            "value_settings": _UNITS,
            "support": (-1e12, 1e12),
        },
        _named(
            "status_intercept",
            "status_slope",
            *(
                f"{sign}::::{name}"
                for sign in ("positive", "negative")
                for name in ("coefficient", "sigma")
            ),
        ),
        records=100,
        values=(1.0, 0.0, 2.5, -1.0, 0.4, 1.5, 3.5, 2.2, 0.7, 0.0, 1.1, -2.0, 0.2),
    ),
    "negative-binomial, K = 2": Case(
        "negative-binomial",
        {"formula": "y ~ x", "components": 2, "slope_spread": 0.3},
        _of_count_mixture,
        in_ci=False,
    ),
}


@dataclass(frozen=True)
class Movable:
    """A synthesizer whose data are all given by ``weigh``, so that one compiled model serves every
    data set of the same shapes.
    """

    inner: Synthesizer

    @property
    def target(self) -> str:
        return self.inner.target

    def prepare(self, data: pd.DataFrame) -> Any:
        if isinstance(self.inner, LevelModel):  # nor may all draws be of one level
            every = np.resize(getattr(self.inner, f"{self.inner.kind}s"), len(data))
            return self.inner.prepare(with_columns(data, {self.target: every})).at(data)
        if isinstance(self.inner, Transformation):  # draws from the prior may repeat a few values
            return self.inner.prepare_part(data, find_precision(data[self.target]), few=False)
        return self.inner.prepare(data)

    def distribution(self, theta: Draw, prepared: Any) -> Records:
        return self.inner.distribution(theta, prepared)

    def build(self, prepared: Any) -> Blueprint:
        """The same model with every array of numbers of its likelihood as ``pm.Data``; as it is
        where a density of its own is sampled.
        """
        blueprint = self.inner.build(prepared)
        assert blueprint is not None
        if blueprint.density is not None:
            return blueprint
        total = blueprint.weighted_log_likelihood
        graph = ancestors([total], blockers=blueprint.model.basic_RVs)
        arrays = [
            found for found in graph if isinstance(found, TensorConstant) and found.data.size > 1
        ]
        values = {
            f"array {number}": array.data.astype(float) for number, array in enumerate(arrays)
        }
        with blueprint.model:
            held = [pm.Data(name, value) for name, value in values.items()]
        held = [
            pt.specify_shape(data, array.data.shape).astype(array.dtype)
            for data, array in zip(held, arrays, strict=True)
        ]
        moved = graph_replace(total, dict(zip(arrays, held, strict=True)))
        return blueprint._replace(
            weighted_log_likelihood=moved, weigh=lambda alpha: blueprint.weigh(alpha) | values
        )


class Trusted(CompiledModel):
    """One whose contract is not checked at every fit, in a process of its own: the class in a
    `Movable` is the package's, and tested.
    """

    def _check_contract(self, fitted: BlockFit) -> None:
        return


def calibrate(
    case: Case,
    replicates: int,
    seed: int,
    *,
    sampling: Sampling = SAMPLING,
    alpha: float = 1.0,
    broken: Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]] | None = None,
) -> pd.DataFrame:
    """Ranks of true values among posterior draws, as numbers that are uniform on (0, 1) if the
    model is calibrated.

    Parameters
    ----------
    case : Case
    replicates : int
    seed : int
    sampling : Sampling
    alpha : float
        Weight of every record; other than 1 the pseudo posterior is not calibrated, and is not
        meant to be.
    broken : callable, optional
        Changes draws from the prior, so that the prior of the data is not the one that is fitted.

    Returns
    -------
    DataFrame
        One row per replicate: a column per quantity, then "divergences" and "smallest ESS".
    """
    rows = []
    for theta, model, rng in data_sets(case, replicates, seed, broken):
        fitted = sampled(model, np.full(len(model.model.confidential), alpha), sampling, rng)
        ranks = ranked(table_of(case, fitted), scalars(case, theta, fitted), rng)
        rows.append(
            {
                **ranks,
                "divergences": fitted.diagnostics["divergences"].max(),
                "smallest ESS": fitted.diagnostics["ess_bulk"].min(),
            }
        )
    return pd.DataFrame(rows)


def data_sets(
    case: Case,
    count: int,
    seed: int,
    broken: Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]] | None = None,
) -> Iterator[tuple[dict[str, np.ndarray], CompiledModel, np.random.Generator]]:
    """Parameters from the prior, the model of data given them, and what is random from there on, so
    many times.

    Data that make another model than the case's (two parts, of which one is empty) are drawn anew
    with their parameters: given the data, the posterior is the same.
    """
    compiled = compile_prepared(prepare_model(Movable(case.synthesizer()), case.frame()))
    model = Trusted(**{part.name: getattr(compiled, part.name) for part in fields(compiled)})
    assert model.blueprint is not None
    drawn, shapes = _prior_draws(model, seed), free_shapes(model.blueprint.model)
    for number in range(count):
        rng = np.random.default_rng(seed_for(seed, "calibration", f"{case.name} {number}"))
        moved = None
        while moved is None:
            theta = next(drawn) if broken is None else broken(next(drawn))
            y = model.model.synthesizer.distribution(theta, model.model.prepared).draw(rng)
            moved = _moved(
                model,
                shapes,
                with_columns(model.model.confidential, {model.model.synthesizer.target: y}),
            )
        yield theta, moved, rng


def _prior_draws(model: CompiledModel, seed: int) -> Iterator[dict[str, np.ndarray]]:
    """Draws from the prior, by name: free variables and what follows from them."""
    assert model.blueprint is not None
    variables = [*model.blueprint.model.free_RVs, *model.blueprint.model.deterministics]
    for number in itertools.count():
        with pytensor.config.change_flags(cxx="", mode="FAST_COMPILE"):
            drawn = pm.draw(variables, draws=_AT_ONCE, random_seed=seed + 1000 * number)
        for place in range(_AT_ONCE):
            yield {
                str(variable.name): values[place]
                for variable, values in zip(variables, drawn, strict=True)
            }


def _moved(
    model: CompiledModel, shapes: Mapping[str, tuple[int, ...]], frame: pd.DataFrame
) -> CompiledModel | None:
    """The model of other values of its response; None where these make another model, of other
    shapes.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewRecordsWarning)
        try:
            prepared = model.model.synthesizer.prepare(frame)
        except InputError:
            return None
    blueprint = model.model.synthesizer.build(prepared)
    assert blueprint is not None
    if free_shapes(blueprint.model) != shapes:
        return None
    data = replace(model.model, confidential=frame, prepared=prepared)
    return replace(model, model=data, blueprint=blueprint, weighted_sum=None, log_prior=None)


def sampled(
    model: CompiledModel, alpha: np.ndarray, sampling: Sampling, rng: np.random.Generator
) -> BlockFit:
    """The fit under weights alpha (n,), as `fit` makes it but for the comparison of its graph,
    which is of the case's first data.
    """
    weights = pd.Series(alpha, model.model.confidential.index, name="alpha")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.sample(weights, sampling=sampling, random_seed=int(rng.integers(2**31)))


def table_of(case: Case, fitted: BlockFit, count: int = _RANKED) -> pd.DataFrame:
    """A row for each of as many draws, evenly spaced over all of a fit, of the numbers that are
    ranked.
    """
    return pd.DataFrame(
        [
            scalars(case, fitted.draw(*place), fitted)
            for place in spread_draws(*fitted.sizes.values(), count)
        ]
    )


def scalars(case: Case, theta: Draw, fitted: BlockFit) -> dict[str, float]:
    """The numbers that are ranked, by name: the quantities of the case and the log-likelihood of
    the data.
    """
    found = {
        **case.quantities(theta),
        "log-likelihood": fitted.distribution(theta).log_density(fitted.y).sum(),
    }
    return {
        name if values.ndim == 0 else f"{name}[{place}]": value
        for name, values in ((name, np.asarray(values)) for name, values in found.items())
        for place, value in enumerate(values.reshape(-1))
    }


def ranked(
    table: pd.DataFrame, true: Mapping[str, float], rng: np.random.Generator
) -> dict[str, float]:
    """The ranks of true values among draws, as numbers between 0 and 1."""
    ranks = (table < pd.Series(true)).sum()
    return dict(((ranks + rng.random(len(ranks))) / (len(table) + 1)).to_dict())


def judge(uniform: pd.DataFrame) -> pd.DataFrame:
    """Per quantity the largest difference of the ECDF from uniform with its exact p-value, and a
    chi-square of ten bins.

    A quantity passes unless the smaller p-value, times twice the number of quantities, is below
    `FALSE_ALARM`.
    """
    rows, columns = {}, uniform.drop(columns=["divergences", "smallest ESS"])
    for name, values in columns.items():
        largest = stats.kstest(values, "uniform")
        counts = np.bincount(np.minimum((values * 10).astype(int), 9), minlength=10)
        p_values = (largest.pvalue, stats.chisquare(counts).pvalue)
        rows[name] = (
            largest.statistic,
            *p_values,
            bool(min(p_values) * 2 * columns.shape[1] >= FALSE_ALARM),
        )
    return pd.DataFrame.from_dict(
        rows, orient="index", columns=["ECDF difference", "p", "chi-square p", "passed"]
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", choices=list(CASES), action="append", help="default: all")
    given = parser.parse_args()
    for name in given.case or CASES:
        start = time.perf_counter()
        uniform = calibrate(CASES[name], given.replicates, given.seed)
        diverged, ess = uniform["divergences"] > 0, uniform["smallest ESS"]
        print(
            f"## {name}: {given.replicates} replicates, {time.perf_counter() - start:.0f} s, "
            f"{diverged.sum()} with divergences, ",
            end="",
        )
        print(
            f"{uniform['divergences'].sum()} in all; smallest ESS: median {ess.median():.0f}, "
            f"least {ess.min():.0f}"
        )
        print(judge(uniform).round(4).to_string(), flush=True)


if __name__ == "__main__":
    main()
