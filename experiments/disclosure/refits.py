"""Importance weights without a record against fits without it, whose weights are made anew."""

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import riskweighted as rw
from riskweighted.contract.synthesizer import Synthesizer
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.leave_one_out_weights import Weighting
from riskweighted.disclosure.own_fit import draw_copies, leave_out
from riskweighted.disclosure.refits import refit_without
from riskweighted.intruder.world import make_world
from riskweighted.weights.scheme_names import is_centred

__all__ = ["REFITS", "households", "off_from_refits", "run_refits"]

REFITS = Path(__file__).parent / "refits.csv"
SCENARIO = rw.Scenario(known="region", synthetic="income")
SCHEMES = (
    "unweighted",
    "marginal",
    "pairwise",
    "drop-riskiest(q=0.05)",
    "mix+(t=0.5)",
    "pairwise+",
    "marginal+",
)
FITS, RECORDS, DRAWS = 5, 20, 2_000
SAMPLING: Mapping[str, Any] = {"draws": 500, "tune": 300, "engine": "nuts"}


def households(n: int = 300) -> pd.DataFrame:
    """Simulated incomes in three regions."""
    rng = np.random.default_rng(9)
    region = rng.choice(["n", "s", "w"], n)
    return pd.DataFrame(
        {
            "region": region,
            "income": np.exp(9 + 0.4 * (region == "n") + 0.6 * rng.normal(size=n)).round(1),
        }
    )


def off_from_refits(data: pd.DataFrame, scheme: str, records: int, seed: int) -> pd.DataFrame:
    """Return a row for each of some random records: one copy's D by weights and by refits, and z of
    their difference.

    One copy's D is how much likelier it lands in the record's ball because the record's value was
    used. The error of z is that of both means over draws, which are those of chains: draws by
    importance are worth fewer than there are.
    """
    world = make_world(data, SCENARIO)
    weighting = Weighting(scheme)
    rng = np.random.default_rng(seed)
    kind = rw.load_synthesizer("linear-regression")("income ~ C(region)", transform="log")
    weigh = rw.centred_weights if is_centred(scheme) else rw.scheme_weights
    fit = rw.fit(kind, data, weigh(scheme, data, SCENARIO), random_seed=seed, **SAMPLING)
    coding = Coding(world)
    drawn = draw_copies(fit, coding, rng, copies=DRAWS)
    without = leave_out(fit, world, drawn, weighting)
    rows = []
    for record in rng.choice(len(data), records, replace=False):
        if is_centred(scheme):  # whose weights are held by the package's own refits
            left = _mass_of_others(kind, data, scheme, int(record), int(rng.integers(2**31)))
        else:
            anew = draw_copies(
                refit_without(fit, world, np.array([record]), weighting, rng),
                coding,
                rng,
                copies=DRAWS,
            )
            left = anew.masses[record]
        own, share = drawn.masses[record], without.weights[record]
        error = np.hypot(left.std() / np.sqrt(len(left)), own.std() / np.sqrt(1 / (share**2).sum()))
        by_weights, by_refit = own.mean() - share @ own, own.mean() - left.mean()
        rows.append(
            {
                "D_weights": by_weights,
                "D_refit": by_refit,
                "z": (by_weights - by_refit) / error,
                "k": without.pareto_k[record],
            }
        )
    return pd.DataFrame(rows)


def _mass_of_others(
    kind: Synthesizer, data: pd.DataFrame, scheme: str, record: int, seed: int
) -> np.ndarray:
    """The probability of a record's ball by draw of a fit to the other records alone, their centred
    weights made anew, (S,).
    """
    others, y = data.drop(index=record), float(data["income"][record])
    fit = rw.fit(
        kind,
        others,
        rw.centred_weights(scheme, others, SCENARIO),
        random_seed=seed,
        **SAMPLING,
    )
    (block,) = fit.blocks.values()
    row = block.prepared.at(data.loc[[record], ["region"]])
    ends = (np.array([0.8 * y]), np.array([1.2 * y]))
    thetas = (block.draw(*place) for place in np.ndindex(*block.sizes.values()))
    return np.array([block.synthesizer.distribution(theta, row).mass(*ends)[0] for theta in thetas])


def run_refits(out: Path = REFITS) -> None:
    """Every scheme, some fits of other seeds and some records of each; what they share is the fit's
    draws, so fits tell the error.
    """
    data, rows, began = households(), [], time.process_time()
    for scheme in SCHEMES:
        each = [off_from_refits(data, scheme, RECORDS, 2 + number) for number in range(FITS)]
        found = pd.concat(each, ignore_index=True)
        squares = np.array([(one["z"] ** 2).mean() for one in each])
        rms = float(np.sqrt(squares.mean()))
        row = {"weights": scheme, "n": len(data), "fits": FITS, "records": len(found), "rms_z": rms}
        row |= {
            "se": squares.std(ddof=1) / np.sqrt(FITS) / (2 * rms),
            "largest_z": found["z"].abs().max(),
        }
        row |= {"D_weights": found["D_weights"].mean(), "D_refit": found["D_refit"].mean()}
        rows.append(
            row
            | {
                "correlation": found["D_weights"].corr(found["D_refit"]),
                "largest_k": found["k"].max(),
            }
        )
        print(
            f"{scheme}: {time.process_time() - began:.0f} s of processor time so far",
            file=sys.stderr,
            flush=True,
        )
        pd.DataFrame(rows).to_csv(out, index=False, float_format="%.4g")
    print(pd.DataFrame(rows).to_string(index=False))
