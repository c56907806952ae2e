"""Schemes at equal total weight and at equal mean risk, on a random part of the CE-like population,
with a smaller model.

`python experiments/ce/fair_comparison.py --out results/ce-fair`. A part, because each repetition
needs 22 fits.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from experiments.ce.facts import CE_KNOWN  # noqa: E402
from experiments.ce.population import simulate_ce  # noqa: E402
from experiments.fair_comparison import MEAN_WEIGHT, plot_curves, risk_utility_curves  # noqa: E402
from experiments.simulation.fair_comparison import compare  # noqa: E402
from riskweighted import Sampling, Scenario, load_synthesizer  # noqa: E402

FORMULA = (
    "income ~ C(gender) + C(age_band) + C(education) + C(region) + C(marital_status) + C(earner)"
)
SCALES = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
FIGURES = {
    "weight": (MEAN_WEIGHT, "U_m"),
    "mean_risk": ("mean risk", "U_m"),
    "risk_95": ("risk 95 % quantile", "U_m"),
}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--records", type=int, default=1500, help="random part of the 6,208")
    parser.add_argument("--repetitions", type=int, default=2)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    curves = risk_utility_curves(
        simulate_ce().sample(given.records, random_state=1).reset_index(drop=True),
        Scenario(known=CE_KNOWN, synthetic="income", radius=0.2),
        load_synthesizer("normal-mixture")(
            FORMULA, components=2, transform="asinh", transform_constant=10_000.0
        ),
        scales=SCALES,
        repetitions=given.repetitions,
        sampling=Sampling(draws=300, tune=300, chains=2, target_accept=0.95),
        resamples=200,
        progress=lambda done, total: print(
            f"\r{done} of {total} fits", end="", file=sys.stderr, flush=True
        ),
    )
    print(file=sys.stderr)
    curves.to_csv(given.out / "curves.csv", index=False)
    for name, table in compare(curves).items():
        table.to_csv(given.out / f"{name}.csv", index=False)
        print(f"\n{name}\n{table.round(4).to_string(index=False)}")
    for name, (x, y) in FIGURES.items():
        plot_curves(curves, x, y).figure.savefig(given.out / f"fair_{name}.png", dpi=90)  # type: ignore[union-attr]
    print(
        "fits that did not converge: "
        f"{(~curves.drop_duplicates(['scheme', 'scale', 'repetition'])['converged']).sum()}"
    )


if __name__ == "__main__":
    main()
