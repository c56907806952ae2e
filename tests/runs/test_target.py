"""A run that is given a target: it finds the scheme, keeps its fits, names it, and goes on where it
was stopped.
"""

import json
import tomllib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from riskweighted.common.errors import InputError
from riskweighted.evaluation.measure_rows import Statistic, by_label
from riskweighted.runs import tuned_scheme as target_module
from riskweighted.runs.finished import load_run
from riskweighted.runs.randomness import refuse_other_settings
from riskweighted.runs.run import run_study
from riskweighted.runs.study import load_study, make_study
from riskweighted.runs.tuned_scheme import asking_study
from riskweighted.sampling import compilation
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sweeps.settings_grid import Sweep

SETTINGS = {
    "data": {"path": "data.csv"},
    "scenario": {"known": "group", "synthetic": "income", "radius": 0.3},
    "synthesizer": {"name": "linear-regression", "formula": "income ~ group", "transform": "log"},
    "weights": {
        "schemes": ["unweighted"],
        "target": "isolated-risk",
        "target_max": 0.015,
        "family": "mix",
        "constraints": {"information": 50.0},
    },
    "sampling": {"draws": 150, "tune": 150, "chains": 2},
    "release": {"L": 3},
    "evaluation": {"resamples": 20},
    "seed": 7,
}


@pytest.fixture(scope="module")
def confidential():
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b"], 300)
    return pd.DataFrame(
        {"group": group, "income": np.round(np.exp(3 + (group == "b") + rng.normal(size=300)), 2)}
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.ConvergenceWarning")
def test_a_run_meets_its_target_and_goes_on_where_it_stopped(tmp_path, confidential, monkeypatch):
    study, sample, calls = make_study(SETTINGS), compilation.CompiledModel.sample, []

    def counted(self, alpha=None, **settings):
        calls.append(None if alpha is None else float(alpha.sum()))
        return sample(self, alpha, **settings)

    monkeypatch.setattr(compilation.CompiledModel, "sample", counted)
    with monkeypatch.context() as stopped:
        stopped.setattr(target_module, "keep", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run_study(study, tmp_path / "run", confidential=confidential)
    unweighted = calls[0]
    run = run_study(study, tmp_path / "run", confidential=confidential)
    assert calls.count(unweighted) == 1  # was kept, and is the one that the run releases from
    scheme = run.tuned.scheme
    assert scheme.startswith("mix(t=")
    assert list(run.summary.index) == ["confidential", "unweighted", scheme]
    reached = by_label(run.evaluation.risk, Statistic("expected-isolated-risk"))
    assert reached["unweighted"] > 0.02
    assert reached[scheme] == pytest.approx(0.015, abs=0.002)
    finished = load_run(tmp_path / "run")
    assert finished.schemes == ("unweighted", scheme)
    asked = {
        name: SETTINGS["weights"][name]
        for name in ("target", "target_max", "family", "constraints", "schemes")
    }
    assert finished.manifest["tuning"] == asked | {"scheme": scheme}
    asking = asking_study(replace(finished.study, seed=study.seed), finished.manifest["tuning"])
    data = prepare_sequence(study.make_synthesizer(), confidential).fingerprint
    refuse_other_settings(asking, data, finished.streams)
    freer = replace(asking, release=replace(study.release, unique_share=1.0))
    bare = replace(finished.streams, entropy=None, key=None)
    for other, streams in (
        (finished.study, finished.streams),
        (freer, finished.streams),
        (asking, bare),
    ):
        with pytest.raises(InputError, match="settings in the run's"):
            refuse_other_settings(other, data, streams)
    assert "Constraint 'information' is kept" in run.tuned.why
    assert pd.read_csv(tmp_path / "run" / "tables" / "frontier.csv")["information"].notna().all()
    assert {"tables/tuning.csv", "tables/frontier.csv"} <= set(finished.manifest["files"])
    named = tomllib.loads((tmp_path / "run" / "confidential" / "study.toml").read_text())["weights"]
    assert named["schemes"] == ["unweighted", scheme]
    assert "target" not in named
    assert not named["constraints"]
    assert load_study(tmp_path / "run" / "confidential" / "study.toml").weights.tuning is None
    assert "expected" not in json.dumps(finished.manifest["tuning"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target_max": None}, "target and target_max go together"),
        (
            {"target": None, "target_max": None, "constraints": {}},
            "family 'mix' is that of a target",
        ),
        ({"schemes": ["marginal"]}, "name 'unweighted' in schemes"),
        ({"target": "mean-risk"}, "mean"),
        ({"family": "uniform"}, "uniform"),
        ({"family": "marginal"}, "marginal"),
        ({"target_max": -1}, "target_max"),
        ({"loss": "overlap", "family": "mix"}, "overlap"),
        ({"loss": "beauty"}, "loss"),
        ({"constraints": {"beauty": 1.0}}, "constraint must be one of"),
        (
            {"constraints": {"isolated-information(group)": 1.0}},
            "constraint .* is of 'group', which is not synthesized",
        ),
        (
            {
                "target": None,
                "target_max": None,
                "family": None,
                "constraints": {"information": 1.0},
            },
            "constraints need a target",
        ),
    ],
)
def test_wrong_targets_are_refused_before_a_fit(
    tmp_path, confidential, monkeypatch, change, message
):
    monkeypatch.setattr(compilation.CompiledModel, "sample", None)
    weights = {
        name: value for name, value in (SETTINGS["weights"] | change).items() if value is not None
    }
    with pytest.raises(InputError, match=message):
        run_study(
            make_study(SETTINGS | {"weights": weights}), tmp_path / "run", confidential=confidential
        )
    assert not (tmp_path / "run").exists()


def test_a_sweep_goes_over_named_schemes():
    with pytest.raises(InputError, match="tune"):
        Sweep(make_study(SETTINGS), {"release.L": [2]})
    plain = make_study(SETTINGS | {"weights": {"schemes": ["unweighted"]}})
    with pytest.raises(InputError, match="tune"):
        Sweep(plain, {"weights.target_max": [0.1]})
