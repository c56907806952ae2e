"""Clean small files: does the verdict let them pass, and what does it take?"""

import time
from pathlib import Path

import numpy as np
import pandas as pd

import riskweighted as rw
from riskweighted.disclosure.attribution import attribution_of_fit
from riskweighted.disclosure.attribution_inputs import AttributionRequest
from riskweighted.disclosure.leave_one_out_weights import Weighting
from riskweighted.intruder.world import make_world

__all__ = ["SMALL_FILES", "judged", "persons", "run_small_files"]

SMALL_FILES = Path(__file__).parent / "small_files.csv"
SCENARIO = rw.Scenario(known=["region", "age", "earner"], synthetic="income")
# records: files
SIZES, SCHEMES = {200: 40, 500: 20, 900: 20, 3_000: 20}, ("unweighted", "mix+(t=0.5)")
FORMULA = "income ~ C(region) + C(age) + C(earner)"
SHOWN = [
    "records", "scheme", "files", "pass", "warn", "not shown", "refuse",
    "D", "upper", "largest_upper", "isolated_upper", "failing",
    "records_per_parameter", "looks", "fit_s", "disclosure_s",
]  # fmt: skip


def persons(n: int, seed: int) -> pd.DataFrame:
    """Incomes of 24 patterns, with heavy tails."""
    rng = np.random.default_rng(seed)
    region = rng.choice(list("abcd"), n, p=[0.4, 0.3, 0.2, 0.1])
    age = rng.choice(list("ymo"), n)
    earner = rng.choice(["0", "1"], n)
    mean = 7 + 0.2 * (region == "a") + 0.3 * (age == "m") + 0.4 * (earner == "1")
    return pd.DataFrame(
        {
            "region": region,
            "age": age,
            "earner": earner,
            "income": np.exp(mean + 0.5 * rng.standard_t(4, n)).round(1).clip(0.1),
        }
    )


def judged(n: int, scheme: str, seed: int) -> dict[str, object]:
    """The verdict on one file, and what it takes in seconds of the processor."""
    data, begin = persons(n, seed), time.process_time()
    weights = rw.centred_weights if "+" in scheme else rw.scheme_weights
    kind = rw.load_synthesizer("linear-regression")(FORMULA, transform="log")
    fit = rw.fit(kind, data, weights(scheme, data, SCENARIO), random_seed=1)
    fitted = time.process_time()
    table = attribution_of_fit(
        fit,
        make_world(data, SCENARIO),
        AttributionRequest(),
        weighting=Weighting(scheme),
        random_seed=2,
    )
    whole, isolated = (
        table[(table["release"] == "shuffled") & (table["group"] == of)].iloc[0]
        for of in ("all", "isolated")
    )
    told = {of: table.attrs[of] for of in ("verdict", "failing", "records_per_parameter", "looks")}
    seconds = {"fit_s": fitted - begin, "disclosure_s": time.process_time() - fitted}
    return {
        "records": n,
        "scheme": scheme,
        "D": whole["D"],
        "upper": whole["upper"],
        "isolated_upper": isolated["upper"],
        **told,
        **seconds,
    }


def run_small_files() -> None:
    """Write the table, a row for each size and scheme; how long one of them takes is said as it
    goes. Rows that are there stay.
    """
    done = pd.read_csv(SMALL_FILES) if SMALL_FILES.exists() else pd.DataFrame(columns=SHOWN)
    for n, files in SIZES.items():
        for scheme in SCHEMES:
            if ((done["records"] == n) & (done["scheme"] == scheme)).any():
                continue
            judged(n, scheme, 0)  # compiled
            one = pd.DataFrame([judged(n, scheme, seed) for seed in range(1, files + 1)])
            means = one.drop(columns=["verdict", "scheme"]).mean().round(4)
            words = one["verdict"].value_counts()
            counts = {
                word: int(words.get(word, 0)) for word in ("pass", "warn", "not shown", "refuse")
            }
            row = {
                **means,
                "records": n,
                "scheme": scheme,
                "files": files,
                **counts,
                "largest_upper": round(one["upper"].max(), 4),
            }
            done = (
                pd.concat([done, pd.DataFrame([row])[SHOWN]])
                if len(done)
                else pd.DataFrame([row])[SHOWN]
            )
            done.to_csv(SMALL_FILES, index=False)
            print(done.tail(1).to_string(index=False), flush=True)
