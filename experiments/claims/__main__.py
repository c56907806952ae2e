"""The claims of the main paper, judged by expected risk: `python -m experiments.claims --out FOLDER
[--resume]`.

Fits each case (`cases.py`) under every scheme and family, measures each fit (`measured.py`), and
writes results.csv (every number with its error), equal_risk.csv, RESULTS.md and the figures.
FOLDER/fits keeps the arrays of each fit; an interrupted run goes on with --resume.
"""

import argparse
import hashlib
import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from experiments.claims.cases import Case, ce_like, centred_of, families, simulation, weights_of
from experiments.claims.figures import draw_figures
from experiments.claims.measured import Measured, measure
from experiments.claims.tables import at_equal_risk, tidy
from experiments.claims.text import write_results
from riskweighted import compile_model
from riskweighted.common.atomic import keep, recall
from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.common.fingerprints import fingerprint
from riskweighted.common.seeds import seed_for
from riskweighted.contract.centring import CentredWeights
from riskweighted.intruder.world import make_world

SEED = 13
NOT_CONVERGED = 3  # exit code
_failed: list[str] = []  # fits that did not converge, which are not kept
CASES = {"simulation": simulation, "ce-like": ce_like}
LEVELS = {
    "of pairwise": "pairwise",
    "of scaled pairwise": "pairwise, total of marginal",
    "of marginal": "marginal",
}


def measured_fits(
    case: Case, folder: Path, weightings: Mapping[str, pd.Series | CentredWeights]
) -> dict[str, Measured]:
    """Every fit of a case, measured; those that the folder holds are not made again."""
    world, found, model = make_world(case.data, case.scenario), {}, None
    about = f"{fingerprint(case.data)} {case.scenario} {case.synthesizer} {case.sampling} {SEED}"
    for label, weights in weightings.items():
        alpha = weights.alpha if isinstance(weights, CentredWeights) else weights
        path = folder / f"{case.name}-{label.replace(' ', '_')}.npz"
        made_for = hashlib.sha256(
            f"{about} {label.endswith('+')}".encode() + alpha.to_numpy().tobytes()
        ).hexdigest()
        content = recall(path, made_for)
        if content is None:
            started = time.perf_counter()
            model = model or compile_model(case.synthesizer, case.data)
            fit = model.sample(
                weights,
                random_seed=seed_for(SEED, case.name, label) % 2**32,
                sampling=case.sampling,
            )
            sampled = time.perf_counter()
            content = measure(fit, world, random_seed=SEED).to_bytes()
            if fit.converged:
                keep(path, content, made_for)
            else:
                _failed.append(f"{case.name}, {label}")
            times = (
                f"sampled in {sampled - started:.0f} s, measured in "
                f"{time.perf_counter() - sampled:.0f} s"
            )
            print(f"{case.name}, {label}: {times}", file=sys.stderr, flush=True)
        found[label] = Measured.from_bytes(content)
    return found


def main() -> int:
    """Command line; the exit code is 3 where a fit did not converge."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.claims",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument(
        "--centred",
        action="store_true",
        help="the centred weights alone, beside the results of the others that FOLDER holds",
    )
    parser.add_argument(
        "--resume", action="store_true", help="keep the fits that FOLDER/fits holds"
    )
    given = parser.parse_args()
    fits = given.out / "fits"
    fits.mkdir(parents=True, exist_ok=True)
    for path in [] if given.resume else fits.glob("*.npz*"):
        path.unlink()
    if not given.centred:
        plain(given.out, fits)
    centred(given.out, fits)
    print(write_results(given.out))
    if _failed:
        print(f"did not converge: {'; '.join(_failed)}", file=sys.stderr)
    return NOT_CONVERGED if _failed else 0


def plain(out: Path, fits: Path) -> None:
    """The weights of the paper, and the families about them: results.csv, equal_risk.csv and the
    figures.
    """
    rows, equal = [], []
    for make in CASES.values():
        case = make()
        world = make_world(case.data, case.scenario)
        found = measured_fits(case, fits, weights_of(case))
        rows.append(tidy(found, world, case.name))
        equal.append(at_equal_risk(found, world, families(case), LEVELS).assign(case=case.name))
        draw_figures(found, world, families(case), case.name, out)
    pd.concat(rows, ignore_index=True).to_csv(out / "results.csv", index=False, float_format="%.6g")
    pd.concat(equal, ignore_index=True).to_csv(
        out / "equal_risk.csv", index=False, float_format="%.6g"
    )


def centred(out: Path, fits: Path) -> None:
    """Centred weights beside the unweighted fit: centred.csv."""
    rows = []
    for make in CASES.values():
        case = make()
        weightings = {
            "unweighted": pd.Series(1.0, case.data.index, name="alpha"),
            **centred_of(case),
        }
        rows.append(
            tidy(
                measured_fits(case, fits, weightings),
                make_world(case.data, case.scenario),
                case.name,
            )
        )
    pd.concat(rows, ignore_index=True).to_csv(out / "centred.csv", index=False, float_format="%.6g")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)  # convergence stands in the table
        sys.exit(main())
