"""A chain of many records, by the direct engine: `python benchmarks/several.py [RECORDS ...] [SD2011.csv]`; 10,000 and 100,000.

The six variables of SD2011 that need no chains (education, marital and life satisfaction, smoking, cigarettes, depression score), predicted
by sex, age and place size. The file's 5,000 records are resampled and drawn anew from the chain, so that nearly every record is another
combination. Processor time, since machines are shared, and its growth: the exponent e of n^e from the first number of records to the
last. A run of three schemes prepares once, fits three times, draws 60 datasets and walks 300 times down the chain for the mechanism's risk.
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


STEPS = {"preparing": 1, "weights": 1, "fitting": 3, "drawing": 60, "risk, one draw": 300}  # how often a run of three schemes takes each


def measured(records: int, path: Path) -> dict[str, float]:
    """Processor seconds of every step, once."""
    import riskweighted as rw
    from riskweighted.data.io import read_table
    from riskweighted.synthesis.chain import prepare_chain
    from riskweighted.synthesis.chain_fitting import fit_prepared_chain
    from riskweighted.synthesis.sampling import Sampling

    own = read_table(path)[[*PREDICTORS, *VARIABLES, "agegr"]]
    chain = rw.load_synthesizer("sequential")(VARIABLES, predictors=PREDICTORS, settings=SETTINGS, on_broken="leave-out")
    large = own.sample(records, replace=True, random_state=1).reset_index(drop=True)
    data = rw.fit(chain, large, random_seed=1).synthesize(1, random_seed=1)[0]
    print(f"{len(data):,} records, {len(data.drop_duplicates()):,} combinations", flush=True)
    found: dict[str, float] = {}

    def timed(what: str, make, times: int = 1):  # type: ignore[no-untyped-def]
        processor = time.process_time()
        made = [make() for _ in range(times)]
        found[what] = (time.process_time() - processor) / times
        return made[-1]

    scenario = rw.Scenario(known=["sex", "agegr"], synthetic=VARIABLES, codes={"nociga": [-8]})
    prepared = timed("preparing", lambda: prepare_chain(chain, data))
    alpha = timed("weights", lambda: rw.match_weights(data, scenario))
    fit = timed("fitting", lambda: fit_prepared_chain(prepared, alpha, Sampling(), 1))
    engines = fit.diagnostics["engine"].value_counts().to_dict()
    print(f"  {len(fit.fits)} blocks, parameters by engine {engines}, converged {fit.converged}", flush=True)
    timed("drawing", lambda: fit.synthesize(1, random_seed=1), 3)
    for draws in (2, 12):  # the data are checked once, however many draws there are
        timed(f"risk of {draws}", lambda draws=draws: rw.expected_identification_risk(fit, scenario, draws=draws, random_seed=1))
    found["risk, one draw"] = (found.pop("risk of 12") - found.pop("risk of 2")) / 10
    return found


def main(records: list[int], path: Path) -> None:
    """Print the table."""
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    found = [measured(count, path) for count in records]
    print(f"{'processor seconds':20}" + "".join(f"{count:>12,}" for count in records) + f"{'times a run':>14}{'exponent':>10}")
    totals = [sum(times * seconds[step] for step, times in STEPS.items()) for seconds in found]
    growth = np.log(records[-1] / records[0]) if len(records) > 1 else np.nan
    for step, times in STEPS.items():
        line = "".join(f"{seconds[step]:12.2f}" for seconds in found)
        print(f"{step:20}{line}{times:14}{np.log(found[-1][step] / found[0][step]) / growth:10.2f}")
    print(
        f"{'three schemes':20}" + "".join(f"{total:12.0f}" for total in totals) + f"{'':14}{np.log(totals[-1] / totals[0]) / growth:10.2f}"
    )


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        counts = [int(text) for text in sys.argv[1:] if text.isdecimal()] or [10_000, 100_000]
        files = [text for text in sys.argv[1:] if not text.isdecimal()]
        default = Path(__file__).resolve().parents[2] / "shared" / "data" / "SD2011.csv"  # not ours to publish
        main(counts, Path(files[0]) if files else default)
