"""What releases give away beyond inference: `python -m experiments.disclosure WHAT [--data
SD2011.csv]`.

own: the package's own models by their fits (own.csv). refits: importance weights against refits
(refits.csv). tools: known tools by folds with decoys (tools.csv). poisoned, clean, pooled: a few
true rows; packs of a regression; what pooled folds would say. held: what is made of the target,
held and made again (held.csv). own-folds: what folds decide by the seed (own_folds.csv).
free-means: a free mean for each released cell of few records (free_means.csv). many-levels: a dummy
for each of many levels, and random intercepts (many_levels.csv). small-files: the verdict on clean
files of 200 to 3,000 records (small_files.csv). third-party: who is refused of one release of
simulated tools, and who is shown by several packs.
"""

import argparse
import warnings
from pathlib import Path

from experiments.disclosure.by_folds import run_clean, run_poisoned, run_pooled, run_tools
from experiments.disclosure.cases import SD2011
from experiments.disclosure.free_means import run_free_means
from experiments.disclosure.held import run_held, run_own_folds
from experiments.disclosure.many_levels import run_many_levels
from experiments.disclosure.own import run_own
from experiments.disclosure.refits import run_refits
from experiments.disclosure.small_files import run_small_files
from experiments.disclosure.third_party import run_third_party
from riskweighted.common.errors import RiskWeightedWarning

SIMPLE = {
    "refits": run_refits,
    "poisoned": run_poisoned,
    "clean": run_clean,
    "pooled": run_pooled,
    "third-party": run_third_party,
    "held": run_held,
    "many-levels": run_many_levels,
    "own-folds": run_own_folds,
    "free-means": run_free_means,
    "small-files": run_small_files,
}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.disclosure",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("what", choices=["own", "tools", *SIMPLE])
    parser.add_argument("--data", type=Path, default=SD2011, help="SD2011.csv")
    given = parser.parse_args()
    if given.what == "own":
        run_own(given.data)
    elif given.what == "tools":
        run_tools(given.data)
    else:
        SIMPLE[given.what]()


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)  # convergence stands in the table
        main()
