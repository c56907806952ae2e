"""A chain of many records, by the direct engine: `python benchmarks/several.py [RECORDS] [SD2011.csv]`, about a minute for 50,000.

The six variables of SD2011 that need no chains (education, marital and life satisfaction, smoking, cigarettes, depression score), predicted
by sex, age and place size. The file's 5,000 records are resampled and drawn anew from the chain, so that nearly every record is another
combination. Wall and processor time, since machines are shared.
"""

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np

VARIABLES = ("edu", "marital", "ls", "smoke", "nociga", "depress")
PREDICTORS = ("sex", "age", "placesize")
SETTINGS = {"nociga": {"when": "smoke == 'YES'", "otherwise": -8}}


def main(records: int, path: Path) -> None:
    """Print the table."""
    import riskweighted as rw
    from riskweighted.data.io import read_table
    from riskweighted.synthesis.chain import prepare_chain
    from riskweighted.synthesis.chain_fitting import fit_prepared_chain
    from riskweighted.synthesis.sampling import Sampling

    own = read_table(path)[[*PREDICTORS, *VARIABLES, "agegr"]]
    chain = rw.load_synthesizer("sequential")(VARIABLES, predictors=PREDICTORS, settings=SETTINGS, on_broken="leave-out")
    large = own.sample(records, replace=True, random_state=1).reset_index(drop=True)
    data = rw.fit(chain, large, random_seed=1).synthesize(1, random_seed=1)[0]
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{len(data):,} records, {len(data.drop_duplicates()):,} combinations")

    def timed(what: str, make):  # type: ignore[no-untyped-def]
        wall, processor = time.perf_counter(), time.process_time()
        found = make()
        print(f"{what:28}{time.perf_counter() - wall:8.1f} s wall{time.process_time() - processor:8.1f} s processor", flush=True)
        return found

    scenario = rw.Scenario(known=["sex", "agegr"], synthetic=VARIABLES, codes={"nociga": [-8]})
    prepared = timed("preparing", lambda: prepare_chain(chain, data))
    alpha = timed("pairwise weights, own balls", lambda: rw.match_weights(data, scenario))
    for scheme, weights in (("unweighted", np.ones(len(data))), ("pairwise", alpha)):
        fit = timed(f"fitting, {scheme}", lambda weights=weights: fit_prepared_chain(prepared, weights, Sampling(), 1))
        engines = fit.diagnostics["engine"].value_counts().to_dict()
        print(f"  {len(fit.fits)} blocks, parameters by engine {engines}, converged {fit.converged}")
    timed("drawing 5 datasets", lambda: fit.synthesize(5, random_seed=1))


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        count = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
        default = Path(__file__).resolve().parents[2] / "shared" / "data" / "SD2011.csv"  # not ours to publish
        main(count, Path(sys.argv[2]) if len(sys.argv) > 2 else default)
