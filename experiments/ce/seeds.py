"""Whether the fits of the Consumer Expenditure study converge, whatever the seed: `python -m
experiments.ce.seeds --out seeds.csv --seeds 10`.

Fits the study as `experiments.ce.replicate` does, from one seed after the other, and adds a row a
fit to the csv: its diagnostics, and the processor time that it took. Rows that stand there already
are kept; the exit code is 3 where a fit did not converge.
"""

import argparse
import dataclasses
import sys
import time
import warnings
from pathlib import Path

import pandas as pd

from experiments.ce.population import simulate_ce
from experiments.ce.replicate import NOT_CONVERGED, STUDY
from riskweighted import load_study
from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.runs.found_bounds import add_found_bounds
from riskweighted.runs.study import Study
from riskweighted.runs.work import Work


def fitted(study: Study, data: pd.DataFrame, scheme: str) -> dict[str, object]:
    """The diagnostics of one scheme's fit, and the mean of what it draws."""
    began = time.process_time()
    fit = Work.of(study, data).fit(scheme)
    drawn, judged = fit.synthesize(study.release.L, random_seed=study.seed), fit.diagnostics
    return {
        "seed": study.seed,
        "scheme": scheme,
        "converged": "yes" if fit.converged else "NO",
        "r_hat": judged["r_hat"].max(),
        "ess_bulk": judged["ess_bulk"].min(),
        "divergences": judged["divergences"].max(),
        "mean": sum(frame[study.target].mean() for frame in drawn) / len(drawn),
        "processor seconds": time.process_time() - began,
    }


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="a csv; its rows are kept")
    parser.add_argument("--seeds", type=int, default=10, help="how many, from the study's own up")
    parser.add_argument("--scheme", action="append", help="default: marginal, the paper's weights")
    given = parser.parse_args()
    study, data = load_study(STUDY), simulate_ce()
    kept = pd.read_csv(given.out).to_dict("records") if given.out.exists() else []
    for seed in range(study.seed, study.seed + given.seeds):
        for scheme in given.scheme or ["marginal"]:
            if any((row["seed"], row["scheme"]) == (seed, scheme) for row in kept):
                continue
            again = add_found_bounds(dataclasses.replace(study, seed=seed), data)
            kept.append(fitted(again, data, scheme))
            pd.DataFrame(kept).to_csv(given.out, index=False, float_format="%.6g")
            print(kept[-1], flush=True)
    table = pd.DataFrame(kept)
    failed = table.loc[table["converged"] == "NO", "seed"].tolist()
    print(f"{len(table) - len(failed)} of {len(table)} fits converged")
    return NOT_CONVERGED if failed else 0


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)  # convergence stands in the table
        sys.exit(main())
