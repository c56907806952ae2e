"""The data on which the claims are judged, and the weights that are compared on each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from experiments.ce.population import simulate_ce
from riskweighted import (
    Sampling,
    Scenario,
    centred_weights,
    equalize_weights,
    load_study,
    load_synthesizer,
    scheme_weights,
)
from riskweighted.contract.centring import CentredWeights
from riskweighted.contract.synthesizer import Synthesizer

__all__ = ["Case", "ce_like", "centred_of", "delete_label", "families", "simulation", "weights_of"]

_HERE = Path(__file__).resolve().parents[1]
_NB_DATA = _HERE / "simulation_data" / "nb_mixture_n1000.csv"


@dataclass(frozen=True, eq=False)
class Case:
    """Data, scenario and model; ``deleted``, ``mixed`` and ``powers`` are the settings at which the
    families are fitted.
    """

    name: str
    data: pd.DataFrame = field(repr=False)
    scenario: Scenario
    synthesizer: Synthesizer
    sampling: Sampling
    deleted: tuple[float, ...] = (0.05, 0.1, 0.2)
    mixed: tuple[float, ...] = (0.9,)
    powers: tuple[int, ...] = ()
    centred: tuple[str, ...] = ("marginal+", "pairwise+", "mix 0.5+")


def simulation() -> Case:
    """The paper's simulated counts and its model (Hu et al. 2022, section 2.4), radius 20 %."""
    synthesizer = load_synthesizer("negative-binomial")("outcome ~ 1", components=1)
    data, scenario = pd.read_csv(_NB_DATA), Scenario(synthetic="outcome", radius=0.2)
    return Case(
        "simulation",
        data,
        scenario,
        synthesizer,
        Sampling(),
        (0.025, 0.05, 0.1, 0.15, 0.2, 0.3),
        (0.5, 0.75, 0.9, 0.95),
        (2, 4, 8),
        ("marginal+", "pairwise+", "mix 0.5+", "pairwise+, total of marginal+", "mix 0.9+"),
    )


def ce_like() -> Case:
    """The CE-like population under the settings of `experiments/ce/study.toml`."""
    study = load_study(_HERE / "ce" / "study.toml")
    scenario = Scenario(known=study.scenario.known, synthetic="income", radius=0.2)
    return Case("ce-like", simulate_ce(), scenario, study.make_synthesizer(), study.sampling)


def weights_of(case: Case) -> dict[str, pd.Series]:
    """Weights (n,) by label, the unweighted ones first."""

    def alpha(name: str, **settings: float) -> pd.Series:
        return scheme_weights(name, case.data, case.scenario, **settings)

    one, marginal, pairwise = alpha("unweighted"), alpha("marginal"), alpha("pairwise")
    found = {"unweighted": one, "marginal": marginal, "pairwise": pairwise}
    found |= {delete_label(q): alpha("drop-riskiest", q=q) for q in case.deleted}
    found |= {"uniform 0.1": alpha("uniform", c=0.1)}
    total = float(marginal.sum())
    found |= {
        f"{name}, total of marginal": equalize_weights(alphas, total)
        for name, alphas in (("pairwise", pairwise), ("uniform", one))
    }
    found |= {"marginal, total of pairwise": equalize_weights(marginal, float(pairwise.sum()))}
    found |= {f"mix {t:g}": alpha("mix", t=t) for t in case.mixed}
    found |= {f"pairwise ^ {g}": pairwise**g for g in case.powers}
    return found


def centred_of(case: Case) -> dict[str, CentredWeights]:
    """Centred weights by label: the schemes as used, marginal ones mixed in, and pairwise ones of
    the total of marginal ones.
    """
    totals = [
        scheme_weights(name, case.data, case.scenario).sum() for name in ("marginal", "pairwise")
    ]
    made = {
        "marginal+": ("marginal+", 1.0),
        "pairwise+": ("pairwise+", 1.0),
        "mix 0.5+": ("mix+(t=0.5)", 1.0),
        "pairwise+, total of marginal+": ("pairwise+", float(totals[0] / totals[1])),
        "mix 0.9+": ("mix+(t=0.9)", 1.0),
    }
    return {
        label: centred_weights(scheme, case.data, case.scenario, scale=scale)
        for label, (scheme, scale) in made.items()
        if label in case.centred
    }


def delete_label(q: float) -> str:
    """Of deleting the share q of largest IR^c."""
    return f"delete {100 * q:g} %"


def families(case: Case) -> Mapping[str, list[str]]:
    """Labels along each family, from the unweighted synthesizer to the one that protects most."""
    return {
        "marginal, mixed in": ["unweighted", *(f"mix {t:g}" for t in case.mixed), "marginal"],
        "pairwise to a power": [
            "unweighted",
            "pairwise",
            *(f"pairwise ^ {g}" for g in case.powers),
        ],
        "delete": ["unweighted", *(delete_label(q) for q in case.deleted)],
    }
