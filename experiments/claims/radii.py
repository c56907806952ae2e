"""The paper's claims on r and L (Hu et al. 2022, sections 2.4.2 to 2.4.4) and on whack-a-mole, at
every radius: `python -m experiments.claims.radii --out FOLDER [--case simulation] [--resume]`.

Fits the unweighted model twice (the second fit is the control), the model under marginal and
pairwise weights of every radius, and under `reweighted(by=risk)` where that lowers a weight. Writes
radii.csv, lengths.csv, the page RADII.md and Figure 5b; the exit code is 3 where a fit did not
converge.
"""

import argparse
import dataclasses
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.claims.__main__ import CASES, NOT_CONVERGED, SEED
from experiments.claims.cases import Case
from experiments.claims.radii_text import page
from experiments.claims.tables import Number, jackknife, mean_of
from riskweighted import compile_model, plot_whack_a_mole, scheme_weights
from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.common.seeds import seed_for
from riskweighted.intruder.world import World, make_world
from riskweighted.risk.expected_identification import ExpectedRisk, expected_risk, isolated_records
from riskweighted.risk.identification import confidential_risk, identification_risks
from riskweighted.sequence.fit import Fit
from riskweighted.utility.bootstrap import pooled_bootstrap
from riskweighted.utility.ecdf import ecdf_distance
from riskweighted.weights.schemes import is_by_risk

RADII = (0.15, 0.1, 0.05, 0.2, 0.3, 0.7)  # first those of the paper's whack-a-mole
SCHEMES = ("unweighted", "control", "marginal", "reweighted(by=risk, of=marginal)", "pairwise")
SCHEMES += ("reweighted(by=risk, of=pairwise)",)
COUNTS = (1, 5, 10, 20, 30, 50)
RISE, SHARE = 0.02, 0.2  # a rise in expected risk, and in its share, that is counted
DRAWS, DATASETS, SETS = 400, 20, 10
_OF_L = 0.2  # radius at which L is judged, as in Table 6


class Fits:
    """The fits of a case, each sampled when it is first asked for."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.model = compile_model(case.synthesizer, case.data)
        self._kept: dict[str, Fit] = {}
        self._risks: dict[tuple[str, float], ExpectedRisk] = {}

    def of(self, label: str, radius: float) -> Fit | None:
        """The fit of a scheme at a radius; None where its weights are those of its source."""
        plain = label in SCHEMES[:2]
        name = label if plain else f"{label} {radius:g}"
        if name not in self._kept:
            alpha = None if plain else self._weights(label, radius)
            source = label.removesuffix(")").rpartition("=")[2]
            if is_by_risk(label) and self._kept[f"{source} {radius:g}"].alpha.equals(alpha):
                return None
            seed = seed_for(SEED, self.case.name, name) % 2**32
            self._kept[name] = self.model.sample(
                alpha, random_seed=seed, sampling=self.case.sampling
            )
        return self._kept[name]

    def risk(self, label: str, radius: float) -> ExpectedRisk:
        """The expected risk of a fit that there is."""
        fit = self.of(label, radius)
        assert fit is not None
        if (label, radius) not in self._risks:
            self._risks[label, radius] = expected_risk(fit, self.world(radius), DRAWS, SEED)
        return self._risks[label, radius]

    def world(self, radius: float) -> World:
        """The data under a radius."""
        return make_world(self.case.data, dataclasses.replace(self.case.scenario, radius=radius))

    def _weights(self, label: str, radius: float) -> pd.Series:
        made_of: Any = None
        if is_by_risk(label):
            source = label.removesuffix(")").rpartition("=")[2]
            made_of = (self.of(source, radius), self.of("unweighted", radius))
        scenario = dataclasses.replace(self.case.scenario, radius=radius)
        return scheme_weights(label, self.case.data, scenario, made_of)


def at_radius(fits: Fits, radius: float, label: str) -> dict[str, object] | None:
    """A row of radii.csv: expected risk and its rises over the unweighted fit, and U_m, each with
    its error; None where there is no such fit.
    """
    fit, case = fits.of(label, radius), fits.case
    if fit is None:
        return None
    isolated = isolated_records(confidential_risk(fits.world(radius)).to_numpy())
    risks = fits.risk(label, radius), fits.risk("unweighted", radius)
    numbers = {
        "mean risk": judged(lambda after, base: after.mean(), *risks),
        "isolated risk": judged(lambda after, base: after[isolated].mean(), *risks),
        "risk 95 % quantile": judged(lambda after, base: np.quantile(after, 0.95), *risks),
        f"rises >= {RISE:g}": judged(lambda after, base: (after - base >= RISE).sum(), *risks),
        "rises by a fifth": judged(lambda after, base: (after >= (1 + SHARE) * base).sum(), *risks),
        "largest rise": judged(lambda after, base: (after - base).max(), *risks),
        "mean weight": Number(float(fit.alpha.mean())),
        "U_m": mean_of(_distances(case, fit)),
    }
    row: dict[str, object] = {"case": case.name, "radius": radius, "fit": label}
    for name, number in numbers.items():
        row |= {name: number.value, f"{name} error": number.error}
    return row | {
        "r_hat": fit.diagnostics["r_hat"].max(),
        "ess_bulk": fit.diagnostics["ess_bulk"].min(),
        "divergences": fit.diagnostics["divergences"].max(),
        "converged": "yes" if fit.converged else "NO",
    }


def judged(
    statistic: Callable[[np.ndarray, np.ndarray], float], after: ExpectedRisk, before: ExpectedRisk
) -> Number:
    """A statistic of the expected risks of two fits, and its error: each block of draws of either
    left out in turn.
    """
    errors = (
        jackknife([statistic(after.without(block), before.risk) for block in _blocks(after)]),
        jackknife([statistic(after.risk, before.without(block)) for block in _blocks(before)]),
    )
    return Number(float(statistic(after.risk, before.risk)), float(np.hypot(*errors)))


def _blocks(risk: ExpectedRisk) -> range:
    return range(len(risk.sizes))


def _distances(case: Case, fit: Fit) -> np.ndarray:
    """U_m of each dataset."""
    target = case.scenario.synthetic[0]
    own = case.data[target].to_numpy(dtype=float)
    return np.array(
        [
            ecdf_distance(own, frame[target].to_numpy(dtype=float)).maximum
            for frame in fit.synthesize(DATASETS, random_seed=SEED)
        ]
    )


def by_count(fits: Fits) -> Iterator[dict[str, object]]:
    """Rows of lengths.csv: the mean of ten releases of L datasets and its 95 % interval, by the
    paper's pooled bootstrap.
    """
    target = fits.case.scenario.synthetic[0]
    for label in ("unweighted", "marginal"):
        fit = fits.of(label, _OF_L)
        assert fit is not None
        for count in COUNTS:
            rng = np.random.default_rng(SEED)
            found = []
            for release in range(SETS):
                frames = fit.synthesize(count, random_seed=SEED + release)
                values = [frame[target].to_numpy(dtype=float) for frame in frames]
                found.append(pooled_bootstrap(values, None, rng)[:3])
            mean, lower, upper = np.array(found).T
            length = upper - lower
            yield {
                "case": fits.case.name,
                "fit": label,
                "L": count,
                "mean": mean.mean(),
                "mean sd": mean.std(ddof=1),
                "length": length.mean(),
                "length sd": length.std(ddof=1),
            }


def figure_5b(fits: Fits, radius: float = 0.15) -> Figure:
    """Figure 5b as the paper draws it, risks of L = 20 datasets at r = 15 % with every record
    enlarged whose risk is larger than under the unweighted synthesizer, and the control beside it.
    """
    fitted = {label: fits.of(label, radius) for label in ("unweighted", "marginal", "control")}
    records = pd.DataFrame(
        {
            label: identification_risks(
                fits.world(radius).pair(fit.synthesize(DATASETS, random_seed=SEED + place))
            ).mean(axis=0)
            for place, (label, fit) in enumerate(fitted.items())
            if fit is not None
        }
    )
    figure = Figure(figsize=(13, 6.5), layout="constrained")
    for ax, label in zip(figure.subplots(1, 2), ("marginal", "control"), strict=True):
        plot_whack_a_mole(records, label, increase=1e-9, ax=ax)
    return figure


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.claims.radii",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--case", choices=sorted(CASES), action="append", help="default: all")
    parser.add_argument("--radius", type=float, action="append", help="default: all six")
    parser.add_argument("--scheme", choices=SCHEMES, action="append", help="default: all")
    parser.add_argument("--resume", action="store_true", help="keep the rows that FOLDER holds")
    given = parser.parse_args()
    (given.out / "figures").mkdir(parents=True, exist_ok=True)
    files = {name: given.out / f"{name}.csv" for name in ("radii", "lengths")}
    kept = {
        name: pd.read_csv(path).to_dict("records") if given.resume and path.exists() else []
        for name, path in files.items()
    }
    for name in given.case or CASES:
        fits = Fits(CASES[name]())
        rows = kept["radii"]
        for label in given.scheme or SCHEMES:
            for radius in given.radius or RADII:
                if any(
                    (row["case"], row["radius"], row["fit"]) == (name, radius, label)
                    for row in rows
                ):
                    continue
                row = at_radius(fits, radius, label)
                if row is not None:
                    rows.append(row)
                    print(
                        {key: row[key] for key in ("case", "radius", "fit", "converged")},
                        flush=True,
                    )
                    _write(rows, files["radii"])
        if not any(row["case"] == name for row in kept["lengths"]):
            kept["lengths"] += by_count(fits)
            _write(kept["lengths"], files["lengths"])
            figure_5b(fits).savefig(given.out / "figures" / f"figure_5b_{name}.png", dpi=80)
    tables = {name: pd.read_csv(path) for name, path in files.items()}
    text = page(tables["radii"], tables["lengths"])
    (given.out / "RADII.md").write_text(text, encoding="utf-8")
    print(text)
    return NOT_CONVERGED if (tables["radii"]["converged"] == "NO").any() else 0


def _write(rows: list[Any], path: Path) -> None:
    """A table, in the order of cases, radii and schemes."""
    table = pd.DataFrame(rows)
    if "radius" in table:
        place = table["fit"].map({label: place for place, label in enumerate(SCHEMES)})
        table = table.assign(place=place).sort_values(
            ["case", "radius", "place"], ascending=[False, True, True], ignore_index=True
        )
        table = table.drop(columns="place")
    table.to_csv(path, index=False, float_format="%.6g")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)  # convergence stands in the table
        sys.exit(main())
