"""The package's own models: twelve packs of twenty datasets of one fit each, against the fit
without each record by importance weights.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import riskweighted as rw
from experiments.disclosure.cases import SD2011, Case, demo, sd2011
from riskweighted.common.frames import with_columns
from riskweighted.disclosure.attribution import attribution_of_fit
from riskweighted.disclosure.attribution_inputs import AttributionRequest
from riskweighted.disclosure.leave_one_out_weights import Weighting
from riskweighted.intruder.world import make_world

__all__ = ["MODELS", "OWN", "attributed_fit", "own_cases", "run_own"]

OWN = Path(__file__).parent / "own.csv"
PACKS, L, SEED = 12, 20, 30
SCHEMES = ("unweighted", "pairwise", "marginal")
MODELS: dict[str, dict[str, object]] = {
    "linear-regression": {"transform": "log"},
    "normal-mixture": {"transform": "log", "components": 3},
    "transformation": {},
    "two-part": {},
}


def own_cases(path: Path = SD2011) -> Iterator[tuple[Case, str]]:
    """Every model on the demo and, where it is there, on SD2011: amounts that are positive, for two
    parts with the code -8 too.
    """
    for model in MODELS:
        yield demo(), model
    for model in MODELS:
        case = sd2011(path, codes=model == "two-part")
        if case is None:
            print(
                f"SD2011 is left out: there is no file {path}, and it is not ours to publish",
                file=sys.stderr,
            )
            return
        yield case, model


def attributed_fit(
    case: Case, model: str, scheme: str, *, packs: int = PACKS, draws: int = 500
) -> pd.DataFrame:
    """A row for each way of leaving and group: what the packs of one fit give, each of datasets and
    attacks by a seed of its own.

    ``se``: the standard error of mean D over the packs; ``judged``: the least number of records
    whose importance weights hold; others are not among the figures, as no fit is made without a
    record here.
    """
    settings = MODELS[model] | (dict(case.two_part) if model == "two-part" else {})
    alpha = rw.scheme_weights(scheme, case.data, case.scenario)
    kind = rw.load_synthesizer(model)(case.formula, **settings)
    fit = rw.fit(kind, case.data, alpha, random_seed=SEED, draws=draws, tune=draws)
    world, asked = make_world(case.data, case.scenario), AttributionRequest(case.released)
    tables = [
        attribution_of_fit(
            fit, world, asked, L=L, weighting=Weighting(scheme), refits=0, random_seed=SEED + number
        )
        for number in range(packs)
    ]
    told = pd.concat(tables).groupby(["release", "group"], sort=False)
    made = told[
        [
            "with",
            "out",
            "none",
            "D",
            "named",
            "reversed",
            "own_value_with",
            "own_value_out",
            "copy_D",
        ]
    ].mean()
    made.insert(4, "se", told["D"].std(ddof=1) / np.sqrt(packs))
    largest, least = told[["largest_D", "above_.01", "above_.05"]].max(), told["records"].min()
    labels = {
        "data": case.name,
        "model": model,
        "weights": scheme,
        "n": len(case.data),
        "converged": fit.converged,
    }
    made = made.join(largest).assign(packs=packs, judged=least, named_most=told["named"].max())
    return with_columns(made.reset_index(), labels)[[*labels, *made.index.names, *made.columns]]


def run_own(data: Path = SD2011, out: Path = OWN) -> pd.DataFrame:
    """All of it, written as a table of group figures."""
    rows, began = [], time.process_time()
    for case, model in own_cases(data):
        for scheme in SCHEMES:
            started = time.process_time()
            rows.append(attributed_fit(case, model, scheme))
            print(
                f"{case.name} {model} {scheme}: {time.process_time() - started:.0f} CPU s",
                file=sys.stderr,
                flush=True,
            )
            pd.concat(rows, ignore_index=True).to_csv(out, index=False, float_format="%.5g")
    table = pd.concat(rows, ignore_index=True)
    shown = table[table["group"].isin(["all", "isolated"])]
    print(
        shown.drop(columns=["n", "packs", "copy_D", "own_value_with", "own_value_out"])
        .round(4)
        .to_string(index=False)
    )
    everybody = table["group"] == "all"
    print(
        f"largest |mean D| of all records {table.loc[everybody, 'D'].abs().max():.4f}, named "
        f"{table['named_most'].max():.0f}"
    )
    print(f"{time.process_time() - began:.0f} s of processor time")
    return table
