"""Seven variables of one file, weighted and not: `python -m experiments.several --out FOLDER
[--data SD2011.csv] [--resume]`.

Fits the chain of `case.py` under each scheme, draws releases, measures them, and writes
results.csv, blocks.csv, missing.csv and RESULTS.md. FOLDER/fits keeps the fits, which are
confidential; with --resume those that are there are not made again.
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import riskweighted as rw
from experiments.several.case import DATA, SCHEMES, chain, read, scenario
from experiments.several.fits import kept_or_fitted
from experiments.several.measures import (
    compared,
    evaluated,
    expected_decile,
    missing_rates,
    saturated_ratio,
    top_decile,
    violations,
)
from experiments.several.text import write_results
from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.sampling.sampling_settings import Sampling
from riskweighted.sequence.prepare import prepare_sequence

SEED = 14
SAMPLING = Sampling(chains=4, draws=300, tune=300)
RELEASES = 10  # for the risk of the isolated
DATASETS = 20  # of a release
_OF = "top-decile income risk"
RISK_DRAWS = 100  # for expected risk


def figures_of(
    data: pd.DataFrame,
    folder: Path,
    sampling: Sampling = SAMPLING,
    releases: int = RELEASES,
    datasets: int = DATASETS,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Results, blocks and missing rates of every scheme; the fits lie in the folder."""
    prepared = prepare_sequence(chain(), data)
    known = scenario()
    first = {}
    blocks = []
    rows = []
    missing = []
    decile: dict[str, list[float]] = {}
    for scheme in SCHEMES:
        alpha = rw.match_weights(data, known, scheme)
        fit, own = kept_or_fitted(folder, scheme, prepared, alpha, sampling, SEED)
        blocks.append(own.assign(scheme=scheme))
        print(
            f"{scheme}: {len(own)} blocks, {own['seconds'].sum():.0f} s of processor time",
            file=sys.stderr,
            flush=True,
        )
        drawn = [fit.synthesize(datasets, random_seed=SEED + number) for number in range(releases)]
        first[scheme] = drawn[0]
        decile[scheme] = [top_decile(data, release, known) for release in drawn]
        broken = sum(violations(fit, release) for release in drawn)
        rows.append(
            {"scheme": scheme, "measure": "rule violations", "variable": "", "value": float(broken)}
        )
        most = sampling.chains * sampling.draws
        mean, error = expected_decile(fit, data, known, min(RISK_DRAWS, most), SEED)
        more = {
            "expected": mean,
            "error of expected": error,
            "saturated ratio of": saturated_ratio(data, known, alpha["income"]),
        }
        rows += [
            {"scheme": scheme, "measure": f"{name} {_OF}", "variable": "", "value": value}
            for name, value in more.items()
        ]
        missing.append(missing_rates(data, drawn[0], known.known).assign(scheme=scheme))
    measured = evaluated(data, first, known)
    found = [measured, compared(measured), pd.DataFrame([*rows, *_decile_rows(decile)])]
    return (
        pd.concat(found, ignore_index=True),
        pd.concat(blocks, ignore_index=True),
        pd.concat(missing, ignore_index=True),
    )


def _decile_rows(decile: dict[str, list[float]]) -> list[dict[str, object]]:
    """Mean over releases with its error, and the ratio to the unweighted one (delta method)."""
    rows: list[dict[str, object]] = []
    means = {
        scheme: (np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values)))
        for scheme, values in decile.items()
    }
    base, base_error = means["unweighted"]
    for scheme, (mean, error) in means.items():
        ratio = mean / base
        figures = {
            "top-decile income risk": mean,
            "error of top-decile income risk": error,
            "ratio of top-decile income risk": ratio,
            "error of the ratio of top-decile income risk": ratio
            * np.hypot(error / mean, base_error / base)
            if scheme != "unweighted"
            else 0.0,
        }
        rows += [
            {"scheme": scheme, "measure": name, "variable": "", "value": float(value)}
            for name, value in figures.items()
        ]
    return rows


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.several",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--data", type=Path, default=DATA, help="SD2011.csv")
    parser.add_argument(
        "--resume", action="store_true", help="keep the fits that FOLDER/fits holds"
    )
    given = parser.parse_args()
    fits = given.out / "fits"
    fits.mkdir(parents=True, exist_ok=True)
    for path in [] if given.resume else [*fits.glob("*.zip"), *fits.glob("*.csv")]:
        path.unlink()
    data = read(given.data)
    results, blocks, missing = figures_of(data, fits)
    for name, table in (("results", results), ("blocks", blocks), ("missing", missing)):
        table.to_csv(given.out / f"{name}.csv", index=False, float_format="%.6g")
    print(write_results(results, blocks, missing, len(data), given.out / "RESULTS.md"))


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)  # convergence stands in the table
        main()
