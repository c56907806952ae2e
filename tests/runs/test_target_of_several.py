"""A target of a sequence: a run chooses a weighted scheme for several variables, samples it once
and names it.
"""

import numpy as np
import pandas as pd
import pytest

from riskweighted.common.settings import read_toml
from riskweighted.runs.finished import load_run
from riskweighted.runs.run import run_study
from riskweighted.runs.study import make_study
from riskweighted.sampling.compiled import CompiledModel


def people(n=300):
    rng = np.random.default_rng(4)
    region, smokes = rng.choice(["north", "south"], n), rng.choice(["yes", "no"], n, p=[0.3, 0.7])
    income = np.exp(
        9 + 0.4 * (region == "north") - 0.3 * (smokes == "yes") + 0.35 * rng.normal(size=n)
    ).round(-1)
    return pd.DataFrame({"region": region, "smokes": smokes, "income": income})


def study(**weights):
    return make_study(
        {
            "data": {"path": "people.csv"},
            "scenario": {"known": ["region"], "synthetic": ["smokes", "income"]},
            "synthesizer": {
                "name": "sequential",
                "predictors": ["region"],
                "variables": {"income": {"model": "linear-regression", "transform": "log"}},
            },
            "weights": {"schemes": ["unweighted"], **weights},
            "sampling": {"chains": 2, "draws": 150, "tune": 150},
            "release": {"L": 2},
            "evaluation": {"resamples": 20},
            "reproducible": True,
        }
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.ConvergenceWarning")
def test_a_run_chooses_a_weighted_scheme_for_one_variable_of_a_chain(tmp_path, monkeypatch):
    sample, sampled = CompiledModel.sample, list[float]()

    def counted(self, alpha=None, **settings):
        sampled.append(float(alpha.sum()))
        return sample(self, alpha, **settings)

    monkeypatch.setattr(CompiledModel, "sample", counted)
    asked = {"target": "isolated-risk(income)", "target_max": 0.025, "family": "mix"}
    run = run_study(study(**asked), tmp_path / "out", confidential=people())
    finished, frontier = load_run(run.folder), run.tuned.tables["frontier"]
    assert run.tuned.scheme.startswith("mix(t=")
    assert finished.schemes == ("unweighted", run.tuned.scheme)
    chosen = frontier[frontier["chosen"]].iloc[0]
    assert chosen["target"] <= 0.025 + 2 * chosen["target_error"]
    alpha = finished.alpha(run.tuned.scheme)
    assert list(alpha) == ["smokes", "income"]
    assert (alpha.mean() < 1).all()
    assert not alpha["smokes"].equals(alpha["income"])  # each by its own ball
    assert frontier.set_index("scheme")["target"]["mix(t=0)"] > 0.03  # which is unweighted
    named = read_toml(run.folder / "confidential" / "study.toml", "study")
    assert named["weights"]["schemes"] == ["unweighted", run.tuned.scheme]
    assert named["weights"].get("target") is None
    # the unweighted blocks have equal sums, and no block is sampled twice
    assert len(sampled) == len(set(sampled)) + 1
