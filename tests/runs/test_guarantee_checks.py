"""A study under a guarantee: what it refuses, what it tells before and after the run, and what the
accountant makes of it.
"""

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from brute import assert_clear
from typer.testing import CliRunner

import riskweighted as rw
from riskweighted.commands.main import app
from riskweighted.common.errors import InputError, RiskWeightedWarning
from riskweighted.common.settings import as_toml, to_table
from riskweighted.data.variable import Variable
from riskweighted.data.variables import Variables
from riskweighted.evaluation.measure_rows import Statistic, by_label
from riskweighted.release.leak_check import gather_secrets
from riskweighted.runs.check_study import check_study
from riskweighted.runs.finished import load_run
from riskweighted.runs.guarantee_checks import guarantee_statement, releases_of
from riskweighted.runs.randomness import read_entropy
from riskweighted.runs.run import run_study
from riskweighted.runs.stages import Stages, fit_key, settings_of
from riskweighted.runs.study import load_study, make_study
from riskweighted.sampling import compilation

N = 200
SETTINGS = {
    "data": {"path": "firms.csv"},
    "scenario": {"known": "region", "synthetic": "jobs"},
    "synthesizer": {"name": "negative-binomial", "formula": "jobs ~ region"},
    "weights": {"schemes": ["unweighted", "uniform(c=0.5)"]},
    "sampling": {"draws": 150, "tune": 200, "chains": 2},
    "release": {"L": 4},
    "evaluation": {"resamples": 20},
    "guarantee": {
        "epsilon": 40,
        "neighbours": "add-drop",
        "public": ["region"],
        "reference": {"distribution": "nbinom", "parameters": {"n": 1, "p": 0.05}},
    },
}
RENT = {
    "scenario": {"known": "region", "synthetic": "rent"},
    "synthesizer": {"name": "linear-regression", "formula": "rent ~ region"},
    "guarantee": {"epsilon": 2, "public": ["region"]},
}


def firms():
    rng = np.random.default_rng(4)
    region = rng.choice(["north", "south"], N)
    frame = pd.DataFrame(
        {
            "region": region,
            "jobs": 10 * rng.negative_binomial(2, 0.3, N),
            "rent": rng.normal(700, 200, N).round(1),
        }
    )
    frame.loc[np.arange(3), "jobs"] += 1  # 98.5 % are multiples of ten
    return frame


def study(**changes):
    return make_study({**SETTINGS, **changes})


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The study in a file, its run by the command line, and what that printed."""
    folder = tmp_path_factory.mktemp("guaranteed")
    firms().to_csv(folder / "firms.csv", index=False)
    (folder / "study.toml").write_text(as_toml(SETTINGS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)
        dry = CliRunner().invoke(
            app, ["run", str(folder / "study.toml"), "--out", str(folder / "out"), "--dry-run"]
        )
        assert not (folder / "out").exists()
        done = CliRunner().invoke(
            app,
            [
                "run",
                str(folder / "study.toml"),
                "--out",
                str(folder / "out"),
                "--cores",
                "1",
                "--full",
            ],
        )
    return folder / "out", " ".join(dry.output.split()), " ".join(done.output.split()), done


# What is refused


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        (
            RENT,
            [
                "location of LinearRegression",
                "scale of LinearRegression",
                "release.precision",
                "4 such things",
                "'marginal', 'pairwise'",
            ],
        ),
        (
            RENT | {"weights": {"schemes": ["unweighted"]}, "release": {"precision": 1.0}},
            ["2 such things", "location of LinearRegression"],
        ),
        (
            {"weights": {"schemes": ["unweighted", "drop-riskiest(q=0.05)", "mix(t=0.5)"]}},
            ["1 such thing", "'drop-riskiest(q=0.05)', 'mix(t=0.5)'"],
        ),
        ({"weights": {"schemes": ["3-way"]}}, ["'3-way'", "may hold 'unweighted', 'uniform'"]),
        (
            RENT | {"synthesizer": {"name": "transformation", "formula": "rent ~ region"}},
            [
                "support of Transformation",
                "knots of Transformation",
                "release.precision",
                "'marginal'",
            ],
        ),
    ],
)
def test_everything_that_depends_on_the_data_is_named_at_once(changes, named):
    given = {**SETTINGS, "weights": {}, **changes}
    with pytest.raises(InputError) as caught:
        check_study(make_study(given), firms())
    assert_clear(caught, *named)


@pytest.mark.parametrize(
    ("kind", "public"), [("", False), ("numeric", False), ("number", False), ("whole number", True)]
)
def test_whole_numbers_of_a_described_file_are_public_by_their_stated_type_alone(
    tmp_path, kind, public
):
    firms().assign(rent=lambda data: data["rent"].round()).to_stata(
        tmp_path / "firms.dta", write_index=False
    )
    Variables({"rent": Variable("Rent", type=kind)}).write(tmp_path / "firms.toml")
    given = {
        **SETTINGS,
        **RENT,
        "weights": {"schemes": ["unweighted"]},
        "data": {"path": "firms.dta", "variables": "firms.toml"},
    }
    described = make_study(given, tmp_path)
    with pytest.raises(InputError, match="location of LinearRegression") as caught:
        check_study(described, described.read_data())
    assert ("release.precision" in str(caught.value)) != public


@pytest.mark.parametrize(
    ("public", "named"),
    [
        ([], ["the columns 'region'", "not declared public", 'public = ["region"]']),
        (["jobs"], ["names 'jobs'", "its numbers are not public"]),
        (["nope"], ["names 'nope'", "'region'"]),
        (["region", "twice"], ["'twice'", "discloses", "no reason makes it public"]),
        ("region", None),
        (["region", "rent"], None),
    ],
)
def test_what_the_model_reads_is_declared_public(public, named):
    data = firms().assign(twice=lambda frame: 2 * frame["jobs"] + 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)
        if named is None:
            check_study(study(guarantee={"epsilon": 2, "public": public}), data)
            return
        with pytest.raises(InputError) as caught:
            check_study(study(guarantee={"epsilon": 2, "public": public}), data)
    assert_clear(caught, *named)


def test_an_automatic_choice_is_refused_before_it_looks_at_the_data():
    with pytest.raises(InputError) as caught:
        study(
            synthesizer={"name": "auto", "formula": "jobs ~ region"},
            weights={"schemes": ["marginal"]},
        )
    assert_clear(caught, "'auto'", "'marginal'", "2 such things")


@pytest.mark.parametrize(
    ("guarantee", "named"),
    [
        ({"epsilon": 0}, ["'guarantee.epsilon'", "> 0"]),
        ({}, ["epsilon or M"]),
        ({"epsilon": 1, "delta": 2}, ["'guarantee.delta'"]),
        ({"epsilon": 1, "neighbors": "replace"}, ["'guarantee.neighbors'", "'neighbours'"]),
        (
            {"epsilon": 1, "reference": {"distribution": "norm", "parameters": {"sd": 1}}},
            ["'guarantee.reference.parameters'", "loc, scale"],
        ),
        ({"epsilon": 1, "reference": "norm"}, ["guarantee.reference", "table"]),
    ],
)
def test_a_section_that_states_no_guarantee_is_refused(guarantee, named):
    with pytest.raises(InputError) as caught:
        study(guarantee=guarantee)
    assert_clear(caught, *named)


def test_a_reference_that_no_file_can_hold_is_refused():
    with pytest.raises(InputError, match=r"guarantee\.reference must be a distribution"):
        replace(
            study(), guarantee=rw.Guarantee(epsilon=1, reference=lambda values, frame: 0 * values)
        )


# What is told


def test_the_section_is_read_and_written():
    stated = study().guarantee
    assert stated == rw.Guarantee(
        epsilon=40,
        neighbours="add-drop",
        public=["region"],
        reference=rw.Reference("nbinom", {"n": 1, "p": 0.05}),
    )
    assert make_study(to_table(study())) == study()
    assert study(guarantee=None).statement() is None
    assert study().statement() == stated.statement(4, True)


def test_the_guarantee_and_its_number_of_datasets_decide_the_fit(monkeypatch):
    checked = check_study(study(), firms()).work
    alpha = checked.weights("unweighted")["jobs"]
    others = [
        replace(checked.study, guarantee=None),
        replace(checked.study, guarantee=rw.Guarantee(epsilon=41, public=["region"])),
        replace(checked.study, release=replace(checked.study.release, L=5)),
    ]
    prints = {
        fit_key(other, checked.prepared().blocks[0].model, alpha)
        for other in [checked.study, *others]
    }
    assert len(prints) == 4


@pytest.mark.long
@pytest.mark.slow
def test_a_study_under_a_guarantee_from_end_to_end(whole):
    folder, dry, printed, done = whole
    assert done.exit_code in (0, 3), printed  # so short a run may not have converged
    stated = study().statement()
    assert (stated.lower, stated.upper) == (-5, 5)  # 40 / 4 datasets / 2 sides
    for text in (dry, printed):
        assert "guarantee" in text.lower()
        assert "Proved: leaving out any one record's contribution of 'jobs'" in text
        assert "epsilon = 40 (10 a dataset)" in text
    assert "of each of 2 schemes; released together, their epsilons add up" in printed
    assert "the error of MCMC is outside the proof" in printed
    table = pd.read_csv(folder / "tables" / "guarantee.csv")
    assert set(table["label"]) == {"unweighted", "uniform(c=0.5)"}
    total = table[table["stated"] & (table["datasets"] == 4)]
    assert total["epsilon"].tolist() == [40, 40]
    assert table.groupby("label").size().tolist() == [4, 4]
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["settings"]["guarantee"]["epsilon"] == 40
    assert manifest["guarantee"] == list(stated.sentences("'jobs'"))
    # of the dtype; nearly all values are multiples of ten
    assert manifest["precision"] == {"jobs": "multiples of 1"}
    assert load_run(folder).study == study(data={"path": "firms.csv"})
    synthetic = load_run(folder).synthetic["unweighted"][0]
    assert (synthetic["jobs"] % 10 != 0).mean() > 0.5


@pytest.mark.long
@pytest.mark.slow
def test_a_finished_run_is_read_back_under_its_guarantee(whole):
    folder, *_ = whole
    run = load_run(folder)
    model = rw.load_synthesizer("negative-binomial")("jobs ~ region")
    alpha = run.weights["unweighted"]
    fitted = rw.load_fit(
        run.posterior_path("unweighted"), model, firms(), alpha, guarantee=run.study.guarantee, L=4
    )
    assert fitted.statement == run.study.statement()
    with pytest.raises(InputError, match="another guarantee"):
        rw.load_fit(run.posterior_path("unweighted"), model, firms(), alpha)
    assert gather_secrets(run, firms(), run.schemes).fresh.keys() == set(run.schemes)


@pytest.mark.long
@pytest.mark.slow
def test_the_accountant_adds_up_finished_runs(whole, tmp_path):
    folder, *_ = whole
    table = rw.accountant(releases_of([folder])).set_index(["neighbours", "release"])
    assert table.loc[("add-drop", "all together"), ["datasets", "epsilon"]].tolist() == [8, 80]
    assert table.loc[("replace", "all together"), "epsilon"] == 160
    printed = CliRunner().invoke(
        app,
        ["accountant", str(folder), "--scheme", "unweighted", "--delta", "1e-5"],
        env={"COLUMNS": "200"},
    )
    assert printed.exit_code == 0, printed.output
    assert "all together" in printed.output
    with pytest.raises(InputError) as caught:
        releases_of([folder], ["marginal"])
    assert_clear(caught, "none of the schemes 'marginal'", "it has 'unweighted'")


@pytest.mark.long
@pytest.mark.slow
def test_the_entropy_of_a_run_repeats_its_datasets_and_gives_no_others(
    whole, tmp_path, monkeypatch
):
    """Interrupted and resumed, too; what the study says otherwise is refused, and a repetition
    counts as what leaves twice.
    """
    folder, *_ = whole
    asked = load_study(folder.parent / "study.toml")
    sample = compilation.CompiledModel.sample
    calls = []

    def interrupted(self, *arguments, **settings):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return sample(self, *arguments, **settings)

    def repeated(given, out="again"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RiskWeightedWarning)
            return run_study(given, tmp_path / out, cores=1, entropy=read_entropy(folder))

    monkeypatch.setattr(compilation.CompiledModel, "sample", interrupted)
    with pytest.raises(KeyboardInterrupt):
        repeated(asked)
    again = repeated(asked)
    assert len(calls) == 2 + 1  # the first fit is kept
    for path in sorted(folder.glob("synthetic/*/*.csv")):
        assert path.read_bytes() == (again.folder / path.relative_to(folder)).read_bytes()
    runs = [load_run(folder), load_run(again.folder)]
    # and so what `release` makes of both
    assert len({run.streams.order_seed("unweighted", 0) for run in runs}) == 1
    changes = [
        {"release": replace(asked.release, L=5)},
        {"release": replace(asked.release, L=3)},
        {"seed": 1},
        {"guarantee": replace(asked.guarantee, epsilon=41)},
        {"release": replace(asked.release, precision=10.0)},
    ]
    for change in changes:
        with pytest.raises(InputError, match="only repeats a run") as caught:
            repeated(replace(asked, **change), "other")
        assert_clear(caught, "counts")
        assert not (tmp_path / "other").exists()
    assert sum(release.L for release in releases_of([folder, again.folder])) == 4 * 4
    assert len(calls) == 3


@pytest.mark.long
@pytest.mark.slow
def test_runs_that_prove_nothing_are_never_added_to_what_is_proved(whole, tmp_path):
    settings = {"weights": {"schemes": ["unweighted"]}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)
        known = run_study(
            study(**settings, reproducible=True), tmp_path / "known", confidential=firms()
        )
        plain = run_study(
            study(**settings, guarantee=None), tmp_path / "plain", confidential=firms()
        )
    with pytest.raises(InputError, match="is reproducible"):
        releases_of([known.folder])
    table = rw.accountant(releases_of([whole[0], plain.folder])).set_index(
        ["kind", "neighbours", "release"]
    )
    delta = by_label(plain.evaluation.risk, Statistic("influence-lipschitz"))["unweighted"]
    name = f"{plain.folder}: unweighted"
    assert table.loc[("empirical, no guarantee", "fixed alpha", name), "epsilon"] == pytest.approx(
        2 * 4 * delta
    )
    assert table.loc[("proved", "add-drop", "all together"), "epsilon"] == 80


@pytest.mark.long
@pytest.mark.slow
def test_no_chain_is_left_where_every_contribution_is_clipped(whole):
    """Far from the data the clipped likelihood is flat: chains that began there stayed, 2 fits of
    12. The model is that of the run.
    """
    synthesizer = rw.load_synthesizer("negative-binomial")("jobs ~ region")
    for seed in range(12):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rw.ConvergenceWarning)  # too short to, and not stuck
            fitted = rw.fit(
                synthesizer,
                firms(),
                random_seed=seed,
                chains=2,
                draws=150,
                tune=200,
                guarantee=study().guarantee,
                L=4,
            )
        assert fitted.diagnostics["ess_bulk"].min() > 30
        assert fitted.diagnostics["r_hat"].max() < 1.1


# A clip that is centred


@pytest.mark.quick
def test_a_study_says_whether_its_clip_is_centred_and_keeps_its_keys_where_it_does_not_ask():
    asked = {**SETTINGS["guarantee"], "centred": True}
    plain = study()
    silent = study(guarantee={**asked, "centred": False})
    centred = study(guarantee=asked)
    assert "the clip is not centred" in " ".join(guarantee_statement(plain))
    assert "the clip is centred" in " ".join(guarantee_statement(centred))
    assert "centred" not in settings_of(plain, "fit")["guarantee"]
    assert settings_of(centred, "fit")["guarantee"]["centred"] is True
    keys = [Stages(one, "data").key("fit") for one in (plain, silent, centred)]
    assert keys[0] == keys[1] != keys[2]
    assert centred.statement().epsilon() == pytest.approx(plain.statement().epsilon())
    assert centred.statement().M < plain.statement().M
    assert make_study(to_table(centred)) == centred


@pytest.mark.quick
def test_a_study_whose_clip_cannot_be_centred_is_refused_before_any_fit():
    asked = {"epsilon": 2, "public": ["region"], "centred": True}
    with pytest.raises(InputError) as caught:
        check_study(study(guarantee=asked), firms())
    assert_clear(caught, "centred of NegativeBinomial needs a reference")
    with pytest.raises(InputError) as caught:
        study(guarantee={**asked, "centred": 1})
    assert_clear(caught, "'guarantee.centred'", "true or false")
