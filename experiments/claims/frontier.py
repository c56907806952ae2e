"""The frontier of all families of weights, plain and centred: `python -m
experiments.claims.frontier --data demo,SD2011` (docs/frontier.md).

What a release keeps (U_m, the overlap of regression intervals, quantiles) against what a record's
own value teaches the fit (information with its own term, METHODS sections 9.1 and 15), every scheme
at full sampling. Rows are added to frontier.csv, and those that it holds are not made again, so an
interrupted run goes on. Figures are of groups, or a largest one; none is a value or names a record.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import riskweighted as rw
from experiments.disclosure.cases import SD2011, sd2011
from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.common.seeds import seed_for
from riskweighted.contract.synthesizer import Synthesizer
from riskweighted.data.embedded import load_embedded
from riskweighted.intruder.world import World, make_world
from riskweighted.measures.context import EvaluationInputs
from riskweighted.measures.evaluation_settings import EvaluationSettings
from riskweighted.runs.study import demo_study
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.fitting import compile_model
from riskweighted.tuning.tuning_settings import loss_of
from riskweighted.utility.combining_rules import interval_overlap
from riskweighted.utility.regressions import checked_analysis, coefficient_intervals
from riskweighted.weights.match import world_weighting
from riskweighted.weights.schemes import scheme_source

__all__ = ["FRONTIER", "GONE", "TWICE", "both", "families", "measured", "problem"]

FRONTIER = Path(__file__).parent / "frontier.csv"
_SAMPLING = rw.Sampling(draws=300, tune=200, chains=4, cores=1)
_L, _GROUPS = 20, 5
_ATTRIBUTION_DRAWS = 300
_FAMILIES: dict[str, tuple[str, ...]] = {
    "marginal": ("marginal",),
    "pairwise": ("pairwise",),
    "3-way": ("3-way", "4-way"),
    "mix": ("mix(t=0.25)", "mix(t=0.5)", "mix(t=0.75)", "mix(t=0.9)"),
    "power": ("power(g=0.25)", "power(g=0.5)", "power(g=2)"),
    "drop-riskiest": ("drop-riskiest(q=0.025)", "drop-riskiest(q=0.05)", "drop-riskiest(q=0.2)"),
    "others-in-ball": ("others-in-ball",),
    "lipschitz": ("lipschitz", "lipschitz(c=0.5, g=0.1)"),
    "lipschitz-target": ("lipschitz-target(D=6)", "lipschitz-target(D=4)", "lipschitz-target(D=2)"),
    "reweighted": ("reweighted(of=marginal)", "reweighted(of=pairwise)"),
    "bounded": ("bounded(b=0.3)", "bounded(b=0.1)", "bounded(b=0.03)"),
    "budget": ("budget(b=0.5)", "budget(b=0.2)", "budget(b=0.05)"),
}
_OF_INFLUENCE = ("lipschitz", "lipschitz-target", "reweighted")
GONE = (
    "4-way+",
    *(
        f"{name}+{scheme.removeprefix(name)}"
        for name in _OF_INFLUENCE
        for scheme in _FAMILIES[name]
    ),
)
# Centred schemes that were measured and are offered no more: others teach as little of isolated
# records and of the worst, and lose no more
_UNIFORM = ("uniform(c=0.5)", "uniform(c=0.2)", "uniform(c=0.1)", "uniform(c=0.03)")
TWICE = (
    "unweighted",
    "mix+(t=0.5)",
    "pairwise+",
    "power+(g=0.5)",
    "marginal+",
    "bounded+(b=0.1)",
    "uniform(c=0.2)",
    "marginal",
    "pairwise",
)


def both(scheme: str) -> str:
    """The centred scheme of a plain one."""
    name, bracket, settings = scheme.partition("(")
    return f"{name}+{bracket}{settings}"


def families() -> dict[str, tuple[str, ...]]:
    """Schemes by family, from the weakest: plain, centred, and equal weights, which are both."""
    centred = {f"{name}+": tuple(map(both, schemes)) for name, schemes in _FAMILIES.items()}
    kept = {
        name: tuple(scheme for scheme in schemes if scheme not in GONE)
        for name, schemes in centred.items()
    }
    return (
        _FAMILIES
        | {name: schemes for name, schemes in kept.items() if schemes}
        | {"uniform": _UNIFORM}
    )


def problem(
    name: str, path: Path = SD2011
) -> tuple[pd.DataFrame, rw.Scenario, Synthesizer, str] | None:
    """Data, scenario, model, and the regression that is compared: of the income on all of the
    model's predictors.
    """
    if name == "demo":
        study = demo_study()
        return (
            load_embedded("401ksubs"),
            study.scenario,
            study.make_synthesizer(),
            study.synthesizer.formula,
        )
    case = sd2011(path, codes=True)
    if case is None:
        return None
    return (
        case.data,
        case.scenario,
        rw.load_synthesizer("two-part")(case.formula, **case.two_part),
        case.formula,
    )


def measured(fit: Fit, world: World, formula: str, seed: int) -> dict[str, Any]:
    """Utility of 100 datasets in five groups of twenty, and what records teach the fit."""
    name, codes = world.scenario.synthetic[0], world.scenario.codes
    frames = fit.synthesize(_L * _GROUPS, random_seed=seed)
    loss = loss_of("U_m", world, None).measure(frames)
    analysis = checked_analysis(world.confidential, formula, codes)
    true = coefficient_intervals(analysis, [world.confidential], synthetic=False)
    found = [
        coefficient_intervals(analysis, frames[group::_GROUPS], synthetic=True)
        for group in range(_GROUPS)
    ]
    overlaps = np.array(
        [
            [_overlap(true[term], each[term]) for term in true if term != "Intercept"]
            for each in found
        ]
    )
    z = np.array(
        [[_z(true[term], each[term]) for term in true if term != "Intercept"] for each in found]
    )
    row = {
        "U_m": loss.value,
        "U_m_error": loss.error,
        "overlap": overlaps.mean(),
        "overlap_error": _error(overlaps.mean(axis=1)),
    }
    row |= {"largest_z": float(np.abs(z.mean(axis=0)).max())}
    terms = [term for term in true if term != "Intercept"]
    eligible = [place for place, term in enumerate(terms) if term.startswith("C(eligible_401k)")]
    row |= {"z_eligible": float(z.mean(axis=0)[eligible[0]]) if eligible else np.nan}
    row |= {"z_eligible_error": _error(z[:, eligible[0]]) if eligible else np.nan}
    own = world.scenario.statuses(world.confidential[name]).amounts
    drawn = [world.scenario.statuses(frame[name]).amounts for frame in frames]
    for level in (0.5, 0.9, 0.99):
        ratios = (
            np.array([np.quantile(each, level) for each in drawn]) / np.quantile(own, level) - 1
        )
        row |= {
            f"q{100 * level:g}": ratios.mean(),
            f"q{100 * level:g}_error": ratios.std(ddof=1) / np.sqrt(len(ratios)),
        }
    coded = 1 - np.array([len(each) for each in drawn]) / len(world.confidential)
    row["codes"] = float(coded.mean() - (1 - len(own) / len(world.confidential)))
    return row | _taught(fit, world)


def _overlap(true: Any, drawn: Any) -> float:
    return interval_overlap((true.lower, true.upper), (drawn.lower, drawn.upper))


def _z(true: Any, drawn: Any) -> float:
    """The released estimate less the confidential one, in standard errors of the latter."""
    return float(
        (drawn.estimate - true.estimate) / ((true.upper - true.lower) / (2 * 1.959963984540054))
    )


def _error(of_groups: np.ndarray) -> float:
    return float(np.std(of_groups, ddof=1) / np.sqrt(len(of_groups)))


def _taught(fit: Fit, world: World) -> dict[str, float]:
    """Information with the own term, attributable probability, Delta."""
    isolated = EvaluationInputs(world, EvaluationSettings()).isolated
    records = rw.influence(fit)
    attributed = rw.influence(fit, world.scenario, draws=_ATTRIBUTION_DRAWS, random_seed=1)[
        "attributable"
    ].to_numpy()
    information = records["information"].to_numpy()
    return {
        "information_largest": information.max(),
        "information_isolated": information[isolated].mean(),
        "information_all": information.mean(),
        "attributable_largest": attributed.max(),
        "attributable_isolated": attributed[isolated].mean(),
        "attributable_all": attributed.mean(),
        "Delta": records["lipschitz"].max(),
    }


def run(name: str, seed: int, out: Path, path: Path = SD2011) -> None:
    """Every scheme of one file under one seed; those of which `out` holds a row are left out,
    unless others are made of their fit.
    """
    asked = problem(name, path)
    if asked is None:
        print(
            f"{name} is left out: there is no file {path}, and it is not ours to publish",
            file=sys.stderr,
        )
        return
    data, scenario, synthesizer, formula = asked
    world = make_world(data, scenario)
    model = compile_model(synthesizer, data)
    sources = dict[str, Fit]()
    labels = {scheme: family for family, schemes in families().items() for scheme in schemes}
    schemes = TWICE if seed > 1 else dict.fromkeys((*TWICE, *reversed(labels)))

    def sampled(scheme: str) -> Fit:
        if scheme not in sources:
            source = scheme_source(scheme)
            weights = world_weighting(world, scheme, None if source is None else sampled(source))
            fit = model.sample(
                weights, random_seed=seed_for(seed, "frontier", scheme) % 2**32, sampling=_SAMPLING
            )
            if scheme not in ("unweighted", "marginal", "pairwise"):
                return fit
            sources[scheme] = fit
        return sources[scheme]

    for scheme in schemes:
        held = (
            pd.read_csv(out) if out.exists() else pd.DataFrame(columns=["data", "scheme", "seed"])
        )
        if ((held["data"] == name) & (held["scheme"] == scheme) & (held["seed"] == seed)).any():
            continue
        began = time.process_time()
        row = {
            "data": name,
            "family": labels.get(scheme, "unweighted"),
            "scheme": scheme,
            "seed": seed,
        }
        try:
            fit = sampled(scheme)
            took = time.process_time() - began
            worst = fit.diagnostics["r_hat"].max(), fit.diagnostics["ess_bulk"].min()
            row |= {
                "converged": fit.converged,
                "r_hat": worst[0],
                "ess": worst[1],
                "cpu_s": took,
                "mean_weight": float(fit.alpha.mean()),
            }
            row |= measured(fit, world, formula, seed_for(seed, "datasets", scheme) % 2**32)
        except rw.InputError as refused:
            row |= {"converged": False, "refused": str(refused)}
        pd.concat([held, pd.DataFrame([row])] if len(held) else [pd.DataFrame([row])]).to_csv(
            out, index=False, float_format="%.5g"
        )
        print(
            f"{name} {scheme} {seed}: {time.process_time() - began:.0f} CPU s",
            file=sys.stderr,
            flush=True,
        )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.claims.frontier", description=__doc__
    )
    parser.add_argument("--data", default="demo,SD2011", help="which files")
    parser.add_argument(
        "--seeds", default="1,2", help="the second one for the schemes that are judged alone"
    )
    parser.add_argument("--sd2011", type=Path, default=SD2011, help="where SD2011.csv is")
    parser.add_argument("--out", type=Path, default=FRONTIER, help="table of the results")
    given = parser.parse_args()
    for name in given.data.split(","):
        for seed in given.seeds.split(","):
            run(name, int(seed), given.out, given.sd2011)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)  # convergence stands in the table
        main()
