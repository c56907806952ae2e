"""The recorded table: the mixture as it landed, today's mixture and today's demo model under
today's definitions.

`python -m experiments.claims.recorded.measure --landed FOLDER --out FOLDER`; how FOLDER is made
stands in README.md beside this file.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import logsumexp
from scipy.stats import norm

from experiments.ce.tables import as_markdown
from experiments.claims.measured import Measured, measure
from experiments.claims.tables import tidy
from riskweighted import Sampling, compile_model, load_synthesizer, scheme_weights
from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.contract.synthesizer import Blueprint, Draw
from riskweighted.data.embedded import load_embedded
from riskweighted.intruder.world import World, make_world
from riskweighted.runs.study import demo_study
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sequence.fit import Fit

__all__ = [
    "ISSUE",
    "SCHEMES",
    "LandedMixture",
    "LandedPrepared",
    "beside_issue",
    "landed_fit",
    "shown",
]

SEED = 2022
SCHEMES: dict[str, tuple[str, dict[str, float]]] = {
    "unweighted": ("unweighted", {}),
    "marginal": ("marginal", {}),
    "pairwise": ("pairwise", {}),
    "uniform .1": ("uniform", {"c": 0.1}),
    "delete 5 %": ("drop-riskiest", {"q": 0.05}),
}
SHOWN = {
    "mean risk": 4,
    "maximum risk": 3,
    "isolated risk": 4,
    "top 1 % risk": 4,
    "Delta": 2,
    "Delta, 100 draws": 2,
    "range": 2,
    "p_eff": 1,
    "attributable": 6,
    "attributable top 1 %": 6,
    "largest k-hat": 2,
    "U_m": 4,
    "mean": 2,
    "q90": 2,
    "rises >= 0.05": 0,
    "rises >= 0.1": 0,
    "rises >= 0.25": 0,
    "falls >= 0.05": 0,
    "r_hat": 3,
}
MODELS = ("landed", "normal-mixture", "transformation")
_HERE = Path(__file__).parent
ISSUE = _HERE / "stated.csv"
TOLERANCE = {
    "mean risk": 0.003,
    "isolated risk": 0.003,
    "top 1 % risk": 0.003,
    "maximum risk": 0.02,
    "U_m": 0.006,
}
_RELATIVE = {"Delta": 0.1, "rises >= 0.05": 0.3, "falls >= 0.05": 0.3}


class LandedPrepared(NamedTuple):
    """``z`` (n,) in standard units, ``whitened`` predictors (n, p), and the unit: location and
    scale of log income.
    """

    z: np.ndarray
    whitened: np.ndarray
    location: float
    scale: float


@dataclass(frozen=True)
class LandedMixture:
    """The likelihood of the normal mixture of commit 0e32401, given its draws; its masses are what
    today's measures need beside it.
    """

    target: str = "inc"

    def prepare(self, data: pd.DataFrame) -> Any:
        """Not here: the arrays come with the draws."""
        raise NotImplementedError("the arrays come with the draws")

    def build(self, prepared: LandedPrepared) -> Blueprint | None:
        """Not here: the draws are made."""
        return None

    def distribution(self, theta: Draw, prepared: LandedPrepared) -> "LandedRecords":
        """A mixture for each record."""
        return LandedRecords(_means(theta, prepared), theta["sigma"], theta["weight"], prepared)


class LandedRecords(NamedTuple):
    """Incomes whose logarithm is a mixture of normal distributions: ``mean`` (n, K), ``sd`` and
    ``weight`` (K,).
    """

    mean: np.ndarray
    sd: np.ndarray
    weight: np.ndarray
    prepared: LandedPrepared

    def _standard(self, y: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.asarray(
                (np.log(np.maximum(y, 0.0)) - self.prepared.location) / self.prepared.scale
            )

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """log p(z_i | theta) in standard units."""
        return np.asarray(
            logsumexp(
                norm.logpdf(self._standard(y)[:, None], self.mean, self.sd) + np.log(self.weight),
                axis=1,
            )
        )

    def mass(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """P(lower <= y_i <= upper)."""
        low, high = (
            norm.cdf(self._standard(end)[:, None], self.mean, self.sd) for end in (lower, upper)
        )
        return np.asarray((high - low) @ self.weight)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """New incomes."""
        component = rng.choice(len(self.weight), len(self.mean), p=self.weight / self.weight.sum())
        z = rng.normal(self.mean[np.arange(len(component)), component], self.sd[component])
        return np.asarray(np.exp(self.prepared.location + self.prepared.scale * z))


def _means(theta: Draw, prepared: LandedPrepared) -> np.ndarray:
    """Of every record in every component, (n, K)."""
    slopes = theta["slope"] + theta["slope_spread"] * theta["slope_deviation"]
    return np.asarray(theta["centre"] + prepared.whitened @ slopes.T)


def landed_fit(path: Path, confidential: pd.DataFrame) -> Fit:
    """A fit of today's kind from a file of `landed_fits.py`."""
    with np.load(path) as stored:
        draws = {
            name.removeprefix("draw_"): stored[name]
            for name in stored.files
            if name.startswith("draw_")
        }
        prepared = LandedPrepared(stored["z"], stored["whitened"], *map(float, stored["unit"]))
        quality = {
            "r_hat": [float(stored["r_hat"])],
            "ess_bulk": [float(stored["ess"])],
            "divergences": [int(stored["divergences"])],
        }
        alpha = pd.Series(stored["alpha"], confidential.index, name="alpha")
    dims = {
        name: ("chain", "draw", *(f"{name}_{axis}" for axis in range(values.ndim - 2)))
        for name, values in draws.items()
    }
    posterior = xr.Dataset({name: (dims[name], values) for name, values in draws.items()})
    return Fit.of(
        BlockFit(
            LandedMixture(),
            alpha,
            posterior,
            pd.DataFrame(quality).assign(converged=True),
            confidential,
            prepared,
        )
    )


def fits_of_landed(folder: Path, confidential: pd.DataFrame) -> Iterator[tuple[str, Fit]]:
    """Every scheme's."""
    for scheme in SCHEMES:
        yield scheme, landed_fit(folder / f"{scheme.replace(' ', '_')}.npz", confidential)


def fits_of_today(name: str, world: World, cores: int) -> Iterator[tuple[str, Fit]]:
    """The demo's model, or today's mixture on the demo's formula."""
    study = demo_study()
    synthesizer = study.make_synthesizer()
    if name != study.synthesizer.name:
        synthesizer = load_synthesizer(name)(
            study.synthesizer.formula, components=3, transform="log", support=synthesizer.support
        )
    model = compile_model(synthesizer, world.confidential)
    sampling = Sampling(draws=300, tune=300, chains=4, cores=cores)
    for scheme, (family, settings) in SCHEMES.items():
        alpha = scheme_weights(family, world.confidential, world.scenario, **settings)
        yield scheme, model.sample(alpha, random_seed=SEED, sampling=sampling)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--landed", type=Path, required=True, help="what landed_fits.py left")
    parser.add_argument(
        "--out", type=Path, required=True, help="folder of measured.csv and table.md"
    )
    parser.add_argument(
        "--models", default=",".join(MODELS), help="only these; others keep their rows"
    )
    parser.add_argument("--cores", type=int, default=2)
    given = parser.parse_args()
    study, data = demo_study(), load_embedded("401ksubs")
    world, table = make_world(data, study.scenario), given.out / "measured.csv"
    given.out.mkdir(parents=True, exist_ok=True)
    for model in given.models.split(","):
        found: dict[str, Measured] = {}
        for scheme, fit in (
            fits_of_landed(given.landed, data)
            if model == "landed"
            else fits_of_today(model, world, given.cores)
        ):
            started = time.perf_counter()
            found[scheme] = measure(fit, world, random_seed=SEED)
            print(
                f"{model}, {scheme}: measured in {time.perf_counter() - started:.0f} s",
                file=sys.stderr,
                flush=True,
            )
            rows = tidy(found, world, model)
            kept = pd.read_csv(table).query("case != @model") if table.exists() else rows.iloc[:0]
            pd.concat([kept, rows] if len(kept) else [rows]).to_csv(
                table, index=False, float_format="%.6g"
            )
    text = shown(pd.read_csv(table))
    (given.out / "table.md").write_text(text, encoding="utf-8")
    print(text)


def shown(rows: pd.DataFrame) -> str:
    """Every model's table, each number with its error, and the landed one beside the stated
    numbers.
    """
    parts = []
    for model in [name for name in MODELS if (rows["case"] == name).any()]:
        part = rows[rows["case"] == model]
        table = [
            {"weights": label} | _printed(each) for label, each in part.groupby("label", sort=False)
        ]
        parts.append(f"## {model}\n\n{as_markdown(pd.DataFrame(table))}")
    if (rows["case"] == "landed").any():
        parts.append(f"## landed beside what was stated\n\n{as_markdown(beside_issue(rows))}")
    return "\n".join(parts)


def _printed(rows: pd.DataFrame) -> dict[str, str]:
    numbers = rows.set_index("measure")
    found = {}
    for name, digits in SHOWN.items():
        value, error = numbers.loc[name, ["value", "error"]]
        found[name] = f"{value:.{digits}f}" + (
            "" if np.isnan(error) or error == 0 else f" ({error:.1g})"
        )
    return found


def beside_issue(rows: pd.DataFrame) -> pd.DataFrame:
    """The landed numbers beside the stated ones of `stated.csv`: difference, tolerance, and whether
    it holds.
    """
    landed = rows[rows["case"] == "landed"].merge(pd.read_csv(ISSUE), on=["label", "measure"])
    limit = [
        TOLERANCE.get(name, _RELATIVE.get(name, np.nan) * stated)
        for name, stated in zip(landed["measure"], landed["stated"], strict=True)
    ]
    table = landed[["label", "measure", "stated", "value", "error"]].assign(
        difference=landed["value"] - landed["stated"], tolerance=limit
    )
    held = np.where(
        table["tolerance"].isna(),
        "",
        np.where(table["difference"].abs() <= table["tolerance"], "yes", "NO"),
    )
    return table.assign(within=held)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)  # convergence stands in the table
        main()
