"""How much of the whack-a-mole is chance: `python experiments/ce/chance.py --run
results/ce-like/run`, half a minute.

The risk of a record under L = 20 datasets is a mean of 20 numbers that are mostly zero or near one,
so it differs between two sets of 20 of the same fit. Here several sets are drawn from every fit of
a run, and records whose risk rises are counted between all pairs of different sets, those of the
unweighted synthesizer against itself included.
"""

import argparse
import sys
from collections.abc import Mapping
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from experiments.ce.tables import NAMES, as_markdown
from riskweighted.common.seeds import seed_for
from riskweighted.intruder.world import make_world
from riskweighted.risk.identification import identification_risks
from riskweighted.risk.whack_a_mole_risk import whack_a_mole_records
from riskweighted.runs.finished import FinishedRun, find_confidential, load_run
from riskweighted.sequence.saved import load_fit
from riskweighted.weights.scheme_names import UNWEIGHTED


def risks_of_sets(run: FinishedRun, confidential: pd.DataFrame, sets: int) -> dict[str, np.ndarray]:
    """By scheme: identification risk (sets, n), each row from L datasets of its own."""
    synthesizer = run.study.make_synthesizer()
    world = make_world(confidential, run.study.evaluating_scenario())
    risks = {}
    for scheme in run.schemes:
        fitted = load_fit(
            run.posterior_path(scheme), synthesizer, confidential, run.weights[scheme]
        )
        seeds = [seed_for(run.streams.seed, f"chance {number}", scheme) for number in range(sets)]
        frames = (fitted.synthesize(run.study.release.L, random_seed=seed) for seed in seeds)
        risks[scheme] = np.array(
            [identification_risks(world.pair(datasets)).mean(axis=0) for datasets in frames]
        )
    return risks


def rises(risks: Mapping[str, np.ndarray], increase: float) -> pd.DataFrame:
    """Records whose risk exceeds that of the unweighted synthesizer by `increase`: one set against
    another, and the means of all sets.
    """
    rows, base = [], risks[UNWEIGHTED]
    for scheme, risk in risks.items():
        counts = [
            int(whack_a_mole_records(risk[i], base[j], increase).sum())
            for i, j in permutations(range(len(risk)), 2)
        ]
        pooled = int(whack_a_mole_records(risk.mean(axis=0), base.mean(axis=0), increase).sum())
        row = {
            "label": NAMES[scheme],
            "rises, mean of pairs": float(np.mean(counts)),
            "fewest": min(counts),
            "most": max(counts),
        }
        rows.append(
            {
                **row,
                "rises, all sets together": pooled,
                "maximum risk, all sets together": float(risk.mean(axis=0).max()),
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--run", type=Path, required=True, help="the run folder that replicate.py left: OUT/run"
    )
    parser.add_argument(
        "--sets", type=int, default=4, help="sets of L datasets per scheme, at least 2"
    )
    given = parser.parse_args()
    run = load_run(given.run)
    print(
        as_markdown(
            rises(
                risks_of_sets(run, find_confidential(run), given.sets),
                run.study.evaluation.increase,
            )
        )
    )


if __name__ == "__main__":
    main()
