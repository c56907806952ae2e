"""A study that leaves the model to the run: what is compared, what is chosen, and where that is
written.
"""

import importlib
import json
import math
import stat
import tomllib
from functools import partial

import numpy as np
import pandas as pd
import pytest

from riskweighted import InputError, Scenario, choose_synthesizer, load_study, load_synthesizer
from riskweighted.commands import run as command_run
from riskweighted.common.progress import Quiet
from riskweighted.common.settings import as_toml, to_table
from riskweighted.runs import candidates, choice
from riskweighted.runs.finished import load_run
from riskweighted.runs.run import run_study
from riskweighted.runs.study import make_study, read_study
from riskweighted.sampling.sampling_settings import Sampling
from riskweighted.sequence.fitting import fit
from riskweighted.sweeps.settings_grid import names_of_settings

N = 150
NAMES = ["hierarchical", "linear-regression", "negative-binomial", "top-coding"]
SAMPLING = Sampling(draws=300, tune=200)


@pytest.fixture(scope="module")
def confidential():
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b"], N)
    return pd.DataFrame(
        {
            "group": group,
            "income": np.round(np.exp(3 + (group == "b") + 0.7 * rng.normal(size=N)), 2),
        }
    )


@pytest.fixture(scope="module")
def few():
    """Names of a few models that compile fast, so that the tests do not wait for every registered
    one.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice, "synthesizer_names", lambda: NAMES)
        patch.setattr(candidates, "synthesizer_names", lambda: NAMES)
        yield


def settings(**changes):
    return {
        "data": {"path": "households.csv"},
        "scenario": {"known": "group", "synthetic": "income"},
        "synthesizer": {"name": "auto", "formula": "income ~ group"},
        "weights": {"schemes": ["unweighted", "pairwise"]},
        "sampling": {"draws": 100, "tune": 100, "chains": 2},
        "release": {"L": 3},
        "evaluation": {"resamples": 20},
        "seed": 5,
        "reproducible": True,
        **changes,
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory, confidential, few):
    """A run that chose its model, at ``results``, and what the command said."""
    root = tmp_path_factory.mktemp("auto")
    confidential.to_csv(root / "households.csv", index=False)
    (root / "study.toml").write_text(as_toml(settings()))
    run_study(load_study(root / "study.toml"), root / "results")
    return root


def test_every_registered_model_is_compared_or_refused_with_its_reason(confidential, few):
    found = list(candidates.find_candidates("income ~ group", confidential, {}))
    assert [(one.name, one.settings, one.model is None) for one in found] == [
        ("hierarchical", {}, True),
        ("hierarchical", {"transform": "log"}, True),
        ("linear-regression", {}, False),
        ("linear-regression", {"transform": "log"}, False),
        ("negative-binomial", {}, True),
    ]
    assert "groups must name at least one column" in found[0].refusal
    zeros = confidential.assign(
        income=confidential["income"].where(confidential.index > 5, 0.0) * 100
    )
    scales = [
        one.settings
        for one in candidates.find_candidates("income ~ group", zeros, {})
        if one.name == "linear-regression"
    ]
    assert scales == [{}, {"transform": "asinh", "transform_constant": 1000.0}]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            candidates, "load_synthesizer", lambda name: importlib.import_module("nobodys_package")
        )
        broken = list(candidates.find_candidates("income ~ group", confidential, {}))
    assert {one.refusal for one in broken} == {"its package cannot be loaded (ModuleNotFoundError)"}
    given = list(
        candidates.find_candidates(
            "income ~ group", confidential, {"transform": "log", "groups": ("group",)}
        )
    )
    assert {one.name: one.refusal for one in given if one.model is None}[
        "linear-regression"
    ].startswith("synthesizer 'linear-regression' has no setting 'groups'")


@pytest.mark.slow
def test_splines_are_compared_with_straight_lines_by_the_same_score(few):
    rng = np.random.default_rng(3)
    age = rng.uniform(20, 80, 300)
    bent = pd.DataFrame(
        {
            "group": "a",
            "age": age,
            "income": np.round(60 - ((age - 50) / 6) ** 2 + rng.normal(0, 3, 300), 2),
        }
    )
    straight = bent.assign(income=np.round(100 + age + rng.normal(0, 3, 300), 2))
    for data, formula in ((bent, "income ~ spline(age)"), (straight, "income ~ age")):
        chosen = choose_synthesizer("income ~ spline(age)", data, sampling=SAMPLING, random_seed=1)
        compared = chosen.table[chosen.table["result"] != "refused"]
        assert chosen.formula == formula
        assert compared["settings"].str.startswith("straight lines").sum() == len(compared) / 2
    assert choice._from_json(choice._as_json(chosen)).formula == "income ~ age"


@pytest.mark.slow
def test_the_right_scale_is_chosen_and_the_table_says_by_how_much(confidential, few):
    scenario = Scenario(known="group", synthetic="income")
    chosen = choose_synthesizer(
        "income ~ group", confidential, scenario=scenario, sampling=SAMPLING, random_seed=2
    )
    assert (chosen.name, chosen.settings) == ("linear-regression", {"transform": "log"})
    assert "leave-one-out" in chosen.why
    assert tuple(chosen.table) == choice.COLUMNS
    assert chosen.table["result"].tolist() == [
        "chosen",
        "compared",
        "refused",
        "refused",
        "refused",
    ]
    first, second = chosen.table.iloc[0], chosen.table.iloc[1]
    assert first["difference"] == 0
    assert first["model_fits"] == "yes"
    assert second["model_fits"] == "NO"
    assert second["difference"] < -4 * second["difference_error"] < 0
    refused = chosen.table[chosen.table["result"] == "refused"]
    assert refused["why"].str.len().min() > 10
    assert refused["elpd"].isna().all()

    # On one scale: the log density of the values in dollars (Jacobian and all) times the width of a
    # recorded value.
    y = confidential["income"].to_numpy()
    columns = np.column_stack([np.ones(N), confidential["group"] == "b"])
    for row, values, jacobian in ((first, np.log(y), -np.log(y).sum()), (second, y, 0.0)):
        off = values - columns @ np.linalg.lstsq(columns, values, rcond=None)[0]
        variance = off.var()
        density = -0.5 * N * np.log(2 * np.pi * variance) - 0.5 * N + jacobian
        # three parameters cost about one half each, twice
        assert row["elpd"] == pytest.approx(density + N * np.log(0.01) - 3, abs=3)
    with pytest.raises(
        InputError, match="no registered synthesizer takes the data: hierarchical: "
    ):
        choose_synthesizer("income ~ group", confidential, settings={"nobody's": 1})


def test_a_fit_that_converged_and_suits_the_data_comes_before_a_larger_probability():
    def tried(name, elpd, fits, converged):
        loo = choice.LeaveOneOut(np.full(10, elpd / 10), np.zeros(10))
        return choice._Tried(
            candidates.Candidate(name, {}, None),
            loo,
            "fits" if fits else "misfits",
            0 if fits else 3,
            converged,
        )

    every = [
        tried("wild", 9.0, True, False),
        tried("wrong", 5.0, False, True),
        tried("right", 3.0, True, True),
        tried("less", 2.0, True, True),
    ]
    for count, name, said in (
        (4, "right", "of the 2 that fit"),
        (2, "wrong", "none fits the data"),
        (1, "wild", "none of which converged"),
    ):
        best, why = choice._best(every[:count])
        assert best.candidate.name == name
        assert said in why
        assert ("wild has a larger one and did not converge" in why) == (count > 1)


def test_the_probabilities_need_no_jacobian_and_no_precision(confidential):
    """The same value in other units, or on no grid: differences between models stay."""
    model = load_synthesizer("linear-regression")
    differences = []
    for factor in (1.0, np.pi):
        data = confidential.assign(income=confidential["income"] * factor)
        fits = [
            fit(model("income ~ group", transform=scale), data, random_seed=1, draws=200, tune=200)
            for scale in ("log", "identity")
        ]
        terms = [choice._log_probabilities(one) for one in fits]
        assert terms[0].shape == (N, 300)
        differences.append(np.subtract(*(term.mean(axis=1).sum() for term in terms)))
    assert differences[0] == pytest.approx(differences[1], abs=2)
    assert differences[0] > 10


@pytest.mark.slow
def test_a_run_says_what_it_chose_and_leaves_a_study_file_that_names_it(folder, confidential):
    run = load_run(folder / "results")
    assert run.study.synthesizer.name == "linear-regression"
    assert run.study.synthesizer.settings["transform"] == "log"
    table = pd.read_csv(folder / "results" / "tables" / "choice.csv")
    assert table["result"].iloc[0] == "chosen"
    text = folder / "results" / "confidential" / "study.toml"
    assert stat.S_IMODE(text.stat().st_mode) == 0o600
    named = load_study(text)
    found = run.study.synthesizer.settings["support"]
    assert named.make_synthesizer() == load_synthesizer("linear-regression")(
        "income ~ group", transform="log", support=found
    )
    assert named.data.path == (folder / "households.csv").resolve()
    assert (named.seed, named.scenario, named.weights) == (5, run.study.scenario, run.study.weights)
    run_study(named, folder / "again")
    ours, theirs = (
        json.loads((folder / name / "manifest.json").read_text())["files"]
        for name in ("results", "again")
    )
    assert {name: digest for name, digest in ours.items() if name.startswith("synthetic/")} == {
        name: digest for name, digest in theirs.items() if name.startswith("synthetic/")
    }
    assert set(ours) - set(theirs) == {"tables/choice.csv", "confidential/study.toml"}


@pytest.mark.long
@pytest.mark.slow
def test_the_command_prints_the_choice_and_a_dry_run_the_candidates(folder, capsys):
    study = load_study(folder / "study.toml")
    options = {"force": False, "strict": False, "full": True, "seed": None, "entropy": None}
    doing = partial(command_run._at_once, cores=None)
    command_run._run(study, folder / "dry", doing, dry_run=True, **options)
    # the width of the terminal decides where lines break
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "compared, each by an unweighted fit: linear-regression; linear-regression (transform = "
        "'log')" in said
    )
    assert "not hierarchical: groups must name" in said
    assert not (folder / "dry").exists()
    command_run._run(study, folder / "said", doing, dry_run=False, **options)
    said = capsys.readouterr().out
    assert "Model chosen: linear-regression, transform = 'log': largest leave-one-out" in said
    assert said.index("Model chosen") < said.index("Risk and utility")


@pytest.mark.long
@pytest.mark.slow
def test_an_interrupted_run_keeps_its_choice(folder, confidential, tmp_path, monkeypatch, few):
    study = load_study(folder / "study.toml")
    named, made = choice.resolve_study(study, confidential, tmp_path, Quiet())
    monkeypatch.setattr(choice, "choose_synthesizer", lambda *_, **__: pytest.fail("chosen twice"))
    again, kept = choice.resolve_study(study, confidential, tmp_path, Quiet())
    assert again == named
    assert (kept.name, kept.settings, kept.why) == (made.name, made.settings, made.why)
    pd.testing.assert_frame_equal(kept.table, made.table, check_dtype=False)
    resolved = choice.resolve_study(named, confidential, tmp_path, Quiet())
    assert resolved == (named, None)


def test_a_study_that_names_no_model_is_refused_where_one_is_needed():
    study = make_study(settings())
    with pytest.raises(InputError, match=r"names no model.*`run` it"):
        study.make_synthesizer()
    with pytest.raises(InputError, match="names no model"):
        names_of_settings("auto")
    with pytest.raises(InputError, match="replaces 'wealth'"):
        make_study(settings(synthesizer={"name": "auto", "formula": "wealth ~ group"}))


def test_settings_survive_as_a_study_file():
    table = settings(
        scenario={
            "known": ["group"],
            "synthetic": 'a "b" ü\x7f\n',
            "radius": {'a "b" ü\x7f\n': 0.25},
            "singletons": "paper",
        },
        synthesizer={
            "name": "auto",
            "formula": "income ~ group",
            "support": [0, 1e6],
            "transform_constant": 1e-7,
        },
    )
    study = read_study(table)
    text = as_toml(to_table(study))
    assert read_study(tomllib.loads(text)) == study
    assert "None" not in text


@pytest.mark.parametrize(
    ("support", "plain"),
    [
        ([0, math.inf], [0, None]),
        ([-math.inf, 5], [None, 5]),
        ([0, None], [0, None]),
        ((None, None), [None, None]),
    ],
)
def test_open_ends_survive_as_a_study_file_and_as_json(support, plain):
    named = {"name": "linear-regression", "formula": "income ~ group", "support": support}
    study = make_study(settings(synthesizer=named))
    table = to_table(study)
    assert table["synthesizer"]["support"] == plain
    for read in (tomllib.loads(as_toml(table)), json.loads(json.dumps(table, allow_nan=False))):
        assert make_study(read).make_synthesizer() == study.make_synthesizer()
        assert to_table(make_study(read)) == table


@pytest.mark.slow
def test_a_learned_part_is_compared_by_the_same_score_and_chosen_where_it_tells_more(few, tmp_path):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    rng = np.random.default_rng(4)
    x, z = rng.uniform(-2, 2, (2, 600)).round(3)
    data = pd.DataFrame(
        {
            "x": x,
            "z": z,
            "income": np.exp(3 + np.sign(x) * np.sign(z) + 0.3 * rng.normal(size=600)).round(2),
        }
    )
    asked = {"learned": ["x", "z"]}
    chosen = choose_synthesizer(
        "income ~ x + z", data, settings=asked, sampling=SAMPLING, random_seed=1
    )
    first = chosen.table.iloc[0]
    assert (first["result"], chosen.name, chosen.formula) == ("chosen", "sequential", "")
    assert first["settings"].startswith("linear-regression with learned = ")
    assert chosen.table["difference"].iloc[1] < -4 * chosen.table["difference_error"].iloc[1]
    auto = {"name": "auto", "formula": "income ~ x + z", **asked}
    study = make_study(settings(scenario={"synthetic": "income"}, synthesizer=auto))
    named, _ = choice.resolve_study(study, data, tmp_path, Quiet())
    assert named.make_synthesizer().learned == ("x", "z")
    noise = data.assign(income=np.exp(3 + 0.1 * x + 0.3 * rng.normal(size=600)).round(2))
    assert (
        choose_synthesizer(
            "income ~ x + z", noise, settings=asked, sampling=SAMPLING, random_seed=1
        ).name
        == "linear-regression"
    )
    best = candidates.Candidate("linear-regression", {}, None)
    assert "learned names 'w'" in candidates.with_learned(best, "income ~ x", noise, ["w"]).refusal
