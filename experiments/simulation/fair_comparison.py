"""Schemes at equal total weight and at equal mean risk, on the paper's simulated data: table and
figures.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from experiments.fair_comparison import (  # noqa: E402
    MEAN_WEIGHT,
    SCHEMES,
    at_equal,
    plot_curves,
    risk_utility_curves,
    scaled_weights,
    summarize,
    whacked_records,
)
from riskweighted import Sampling, Scenario, equalize_weights, load_synthesizer  # noqa: E402
from riskweighted.contract.synthesizer import Synthesizer  # noqa: E402

DATA = ROOT / "experiments" / "simulation_data" / "nb_mixture_n1000.csv"
RADIUS = 0.2
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)  # total weights compared, as shares of n
# between the least that a scheme reaches and the unweighted 0.21
MEAN_RISKS = (0.198, 0.2, 0.202, 0.205, 0.208)
SHOWN = [
    "mean risk",
    "risk 95 % quantile",
    "maximum risk",
    "whack-a-mole records",
    "U_m",
    "mean overlap",
    "median overlap",
]
FIGURES = {
    "mean_risk": ("mean risk", "U_m"),
    "risk_95": ("risk 95 % quantile", "U_m"),
    "weight": (MEAN_WEIGHT, "U_m"),
}


def compare(
    curves: pd.DataFrame, mean_risks: Sequence[float] | None = None
) -> dict[str, pd.DataFrame]:
    """The tables: schemes as the paper uses them (c = 1), at equal total weight, and at equal mean
    risk.

    Without `mean_risks`, five levels between the least and the greatest mean risk of any scheme and
    scale are taken.
    """
    if mean_risks is None:
        means = (
            curves[curves["measure"] == "mean risk"].groupby(["scheme", "scale"])["value"].mean()
        )
        mean_risks = np.linspace(means.min(), means.max(), 7)[1:-1].round(4).tolist()
    plain = summarize(curves[curves["scale"] == 1], ["scheme"])
    wide = plain.pivot(index="scheme", columns="measure", values=["mean", "sd"]).reindex(
        dict.fromkeys(curves["scheme"])
    )
    measures = [MEAN_WEIGHT, *SHOWN]
    both = {
        f"{m}{end}": wide[(kind, m)]
        for m in measures
        for kind, end in (("mean", ""), ("sd", " sd"))
    }
    return {
        "as_used": pd.DataFrame(both).reset_index(),
        "equal_weight": at_equal(curves, MEAN_WEIGHT, list(SHARES), ["scale", *SHOWN]),
        "equal_mean_risk": at_equal(
            curves, "mean risk", mean_risks, ["scale", MEAN_WEIGHT, *SHOWN[1:]]
        ),
    }


def whacked(
    confidential: pd.DataFrame, scenario: Scenario, synthesizer: Synthesizer
) -> pd.DataFrame:
    """Records whacked by each scheme as used, and brought to the total weight of the marginal
    one.
    """
    used = {
        scheme: scaled_weights(scheme, confidential, scenario, [1.0])[1.0] for scheme in SCHEMES
    }
    total = float(used["marginal"].sum())
    equal = {
        f"{scheme}, total of marginal": equalize_weights(alpha, total)
        for scheme, alpha in used.items()
        if scheme != "marginal"
    }
    return whacked_records(confidential, scenario, synthesizer, {**used, **equal})


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/simulation_fair"))
    parser.add_argument("--repetitions", type=int, default=10)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    scenario = Scenario(synthetic="outcome", radius=RADIUS)
    synthesizer = load_synthesizer("negative-binomial")("outcome ~ 1")
    data = pd.read_csv(DATA)
    curves = risk_utility_curves(
        data,
        scenario,
        synthesizer,
        repetitions=given.repetitions,
        sampling=Sampling(draws=250, tune=300),
        quantiles=[0.5],
        resamples=200,
        progress=lambda done, total: print(
            f"\r{done} of {total} fits", end="", file=sys.stderr, flush=True
        ),
    )
    print(file=sys.stderr)
    curves.to_csv(given.out / "curves.csv", index=False)
    tables = {
        **compare(curves, MEAN_RISKS),
        "whacked_records": whacked(data, scenario, synthesizer),
    }
    for name, table in tables.items():
        table.to_csv(given.out / f"{name}.csv", index=False)
        print(f"\n{name}\n{table.round(4).to_string(index=False)}")
    for name, (x, y) in FIGURES.items():
        plot_curves(curves, x, y).figure.savefig(given.out / f"fair_{name}.png", dpi=90)  # type: ignore[union-attr]
    print(
        f"\n{int((~curves['converged']).sum())} rows of fits that did not converge; tables and "
        f"figures: {given.out}"
    )


if __name__ == "__main__":
    main()
